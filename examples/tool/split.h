/*  split.h - which rows are tested or held out: --test, --test-mask, --test-fraction, --split, folds,
    validation rows. */
#ifndef TOOL_SPLIT_H
#define TOOL_SPLIT_H

#include "numpy.h"
#include "rows.h"

/*  Element i of a random permutation of [0, n): a Feistel network on the next power of four,
    applied until the result is below n. */
static ptrdiff_t permute(uint64_t seed, ptrdiff_t n, ptrdiff_t i)
{
	int half = 1;
	while (((uint64_t)1 << (2 * half)) < (uint64_t)n) half++;
	uint64_t key = mix(seed + UINT64_C(0x5851f42d4c957f2d)), mask = ((uint64_t)1 << half) - 1,
			 x = (uint64_t)i;
	do {
		uint64_t left = x >> half, right = x & mask;
		for (uint64_t round = 0; round < 6; round++) {
			uint64_t next = left ^ (mix(key + right * 8 + round) & mask);
			left = right;
			right = next;
		}
		x = left << half | right;
	} while (x >= (uint64_t)n);
	return (ptrdiff_t)x;
}

/*  Reads FILE:COLUMN into a flag for each data row. */
static char *read_mask(const char *argument, ptrdiff_t data_rows)
{
	char *path = copy_text(argument), *colon = strrchr(path, ':'), error[400];
	const char *digits = colon ? colon + 1 : NULL;
	int column = digits ? parse_index(&digits) : -1;
	if (column < 0 || *digits)
		die(BAD_INPUT, "--test-mask %s: must be FILE:COLUMN, a column's index counted from 0",
				argument);
	*colon = 0;
	table t = {0};
	table_options how;
	memset(&how, 0, sizeof how);
	how.header = -1;
	if (table_read(&t, path, &how, error, sizeof error)) die(BAD_INPUT, "%s", error);
	if (column >= t.columns)
		die(BAD_INPUT, "--test-mask %s: the last index is %d, counted from 0", argument,
				t.columns - 1);
	if (t.rows != data_rows)
		die(BAD_INPUT, "--test-mask %s: %td rows for the %td of the data", argument, t.rows,
				data_rows);
	if (table_check(&t, column, path, error, sizeof error)) die(BAD_INPUT, "%s", error);
	refuse_missing(&t, column, path, "");
	if (t.column[column].text)
		die(BAD_INPUT, "%s: line 1, column %d: must be 0 or 1", path, column);
	char *mask = take((size_t)t.rows, 1);
	for (ptrdiff_t i = 0; i < t.rows; i++) {
		double v = t.values[i * t.columns + column];
		if (v != 0 && v != 1)
			die(BAD_INPUT, "%s: line %ld, column %d: must be 0 or 1", path, t.lines[i], column);
		mask[i] = v == 1;
	}
	table_free(&t);
	free(path);
	return mask;
}

static double test_fraction(const options *o)
{
	return option_real(o, OPT_TEST_FRACTION, 0, 1 - DBL_EPSILON, "from 0 to below 1");
}

/*  The seed of --split numpy:SEED; -1 without the option. */
static int64_t numpy_seed_of(const options *o)
{
	const char *text = o->value[OPT_SPLIT];
	int64_t seed = 0;
	if (!text) return -1;
	const char *s = strncmp(text, "numpy:", 6) == 0 ? text + 6 : "";
	int digits = 0;
	for (; isdigit((unsigned char)*s) && digits < 11; s++, digits++) seed = seed * 10 + (*s - '0');
	if (!digits || *s || seed > UINT32_MAX)
		die(BAD_INPUT, "--split %s: must be numpy:SEED, with a SEED from 0 to 4294967295", text);
	return seed;
}

/*  A flag for each of n rows: 1 for a row of the current fold. A permutation deals the rows to the
    folds in turn; with classes (NULL: none) class by class, so that each fold has its share of each. */
static char *draw_fold(const options *o, ptrdiff_t n, const int *class)
{
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX);
	int folds = (int)option_integer(o, OPT_FOLDS, 2, 1000);
	if (n < folds) die(BAD_INPUT, "--folds %d: there are only %td rows", folds, n);
	char *tested = take((size_t)n, 1);
	ptrdiff_t *order = take((size_t)n, sizeof *order), next[MOST_CLASSES + 1] = {0};
	for (ptrdiff_t i = 0; i < n; i++) order[permute(seed, n, i)] = i;
	/* The place of each class's first row, then of its next one. */
	for (ptrdiff_t i = 0; i < n && class; i++) next[class[i] + 1]++;
	for (int k = 0; k < MOST_CLASSES; k++) next[k + 1] += next[k];
	for (ptrdiff_t k = 0; k < n; k++) {
		ptrdiff_t place = class ? next[class[order[k]]]++ : k;
		tested[order[k]] = place % folds == o->fold;
	}
	free(order);
	return tested;
}

/*  A flag for each of n rows: 1 for a test row. NumPy's permutation has its training rows first, as
    many as its users take with int(n * share). */
static char *draw_test_rows(const options *o, ptrdiff_t n)
{
	double fraction = test_fraction(o);
	int64_t numpy = numpy_seed_of(o);
	char *tested = take((size_t)n, 1);
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX);
	if (numpy < 0) {
		ptrdiff_t count = (ptrdiff_t)(fraction * (double)n + 0.5);
		if (fraction > 0 && !count) count = 1;
		for (ptrdiff_t i = 0; i < n; i++) tested[i] = permute(seed, n, i) < count;
		return tested;
	}
	if ((uint64_t)(n - 1) > UINT32_MAX) die(BAD_INPUT, "--split numpy: at most 4294967296 rows");
	ptrdiff_t *order = take((size_t)n, sizeof *order);
	numpy_random random;
	numpy_seed(&random, (uint32_t)numpy);
	numpy_permutation(&random, n, order);
	for (ptrdiff_t i = (ptrdiff_t)((double)n * (1 - fraction)); i < n; i++) tested[order[i]] = 1;
	free(order);
	return tested;
}

/*  Training rows, test rows, and with --patience or --calibrate validation rows. */
enum { PART_TRAIN, PART_TEST, PART_VALID, PARTS };

/*  Moves a tenth of the training rows, at most MOST_VALID, to the validation rows, with --patience or
    if `calibrate`. */
enum { MOST_VALID = 5000 };
static void split_validation(const options *o, int calibrate, rows part_rows[PARTS])
{
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX) ^ 0x76616c6964u;
	rows *train = &part_rows[PART_TRAIN], *valid = &part_rows[PART_VALID];
	ptrdiff_t n = train->n, count = smaller((n + 9) / 10, MOST_VALID);
	if (!option_integer(o, OPT_PATIENCE, 0, INT_MAX) && !calibrate) return;
	if (n < 2)
		die(BAD_INPUT, "--%s: there are too few rows for validation",
				calibrate ? "calibrate" : "patience");
	train->n = 0;
	for (ptrdiff_t i = 0; i < n; i++) {
		rows *to = permute(seed, n, i) < count ? valid : train;
		to->row[to->n++] = train->row[i];
	}
}

/*  Splits the rows into parts as the options say; class: those of the rows, or NULL. */
static void split_rows(const options *o, const rows *all, const int *class, ptrdiff_t data_rows,
		rows part_rows[PARTS])
{
	const char *mask = o->value[OPT_TEST_MASK];
	char *tested = mask                  ? read_mask(mask, data_rows)
				   : o->value[OPT_FOLDS] ? draw_fold(o, all->n, class)
										 : draw_test_rows(o, all->n);
	for (int k = 0; k < PARTS; k++) {
		part_rows[k].row = take((size_t)all->n, sizeof *part_rows[k].row);
		part_rows[k].n = 0;
	}
	for (ptrdiff_t i = 0; i < all->n; i++) {
		rows *to = &part_rows[(int)tested[mask ? all->row[i] : i]];
		to->row[to->n++] = all->row[i];
	}
	free(tested);
	if (!part_rows[0].n)
		die(BAD_INPUT, "--%s: no row is left to train on", mask ? "test-mask" : "test-fraction");
}

/*  The test rows of --test, with targets. */
static part read_test_file(
		const schema *s, const options *o, const char *path, int drop, bytes *notes)
{
	table t = {0};
	read_table(&t, path, o, s);
	note_table(&t, path, o, notes);
	binding b = bind_columns(s, &t, path, drop);
	if (!b.target)
		die(BAD_INPUT, "%s: line 1: no target; in the training data it is %s", path_text(path),
				COLUMN_TEXT(s->targets[0].column, s->targets[0].name));
	rows all = complete_rows(s, &t, &b, path, drop, 1);
	part p = encode(s, &t, &b, &all);
	if (all.n < t.rows)
		bytes_print(notes, "note: %s: %td of %td rows are left out%s%s\n", path_text(path),
				t.rows - all.n, t.rows, b.misfit ? "; " : "", b.misfit ? b.misfit : "");
	rows_free(&all);
	binding_free(&b, s);
	table_free(&t);
	return p;
}

#endif
