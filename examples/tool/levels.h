/*  levels.h - what texts become (--levels): indicators, 0 or 1 for each level; those of a column with
    one lengthscale, so that all of its levels are equally far apart; or the mean target of a level. */
#ifndef TOOL_LEVELS_H
#define TOOL_LEVELS_H

#include "probe.h"

static const char *const level_words[] = {"auto", "indicators", "shared", "means", "mixed"};

/*  With mixed, columns of more levels become means. */
enum { MANY_LEVELS = 12 };

/*  A text column whose levels have no order: of how many? */
static int levels_of(const field *f) { return f->ordinal ? 0 : f->level_count; }

static int becomes_means(const field *f, int kind)
{
	return (kind == LEVELS_MEANS && levels_of(f) > 2) ||
		   (kind == LEVELS_MIXED && levels_of(f) > MANY_LEVELS);
}

/*  Means are those of one column of numbers. */
static int has_means(const schema *s)
{
	return s->target_count == 1 && (!has_classes(s->likelihood) || s->targets[0].level_count == 2);
}

/*  The input of the model that is resumed; NULL: there is none. */
static const field *input_of(const schema *before, int column)
{
	for (int i = 0; before && i < before->input_count; i++)
		if (before->inputs[i].column == column) return &before->inputs[i];
	return NULL;
}

/*  Prepares the inputs: a level's mean is its code first. Of two levels the second one is 1, in one
    input, unless they are to be indicators. before: the schema of the model that is resumed, which
    says what they are, or NULL. */
static void levels_begin(schema *s, int kind, const schema *before)
{
	int means = 0;
	for (int i = 0; i < s->input_count; i++) {
		field *f = &s->inputs[i];
		const field *old = input_of(before, f->column);
		int mean = old ? old->means != NULL : becomes_means(f, kind);
		if (old ? old->ordinal : kind != LEVELS_INDICATORS && levels_of(f) == 2) f->ordinal = 1;
		else if (mean && levels_of(f)) {
			f->means = take_doubles((ptrdiff_t)f->level_count + 1, 1);
			for (int k = 0; k <= f->level_count; k++) f->means[k] = k;
			means++;
		}
	}
	if (means && !has_means(s))
		die(BAD_INPUT, "--levels %s: only for one target, of numbers or two classes",
				level_words[kind]);
}

/*  Gives text columns the numbers of --levels means: those of training rows come from the other
    folds of five. Their codes were encoded as if they were ordinal. */
static void levels_make(dataset *d, const options *o)
{
	enum { LEVEL_FOLDS = 5 };
	schema *s = &d->s;
	part *p = &d->train;
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX) ^ 0x6c6576656cu;
	char *fold = NULL;
	double *y = NULL, **means = take((size_t)s->input_count, sizeof *means);
	ptrdiff_t at = 0;
	for (int i = 0; i < s->input_count; at += field_inputs(&s->inputs[i]), i++) {
		field *f = &s->inputs[i];
		if (!f->means) continue;
		if (!fold) {
			fold = take((size_t)p->n, 1);
			y = train_numbers(d, TILE_Y, 0);
			for (ptrdiff_t k = 0; k < p->n; k++)
				fold[k] = (char)(permute(seed, p->n, k) % LEVEL_FOLDS);
		}
		double *code = train_numbers(d, TILE_X, at);
		means[i] = take_doubles(LEVEL_FOLDS, (ptrdiff_t)f->level_count + 1);
		for (int j = 0; j <= LEVEL_FOLDS; j++) {
			int last = j == LEVEL_FOLDS;
			level_means(f, code, y, p->n, last ? NULL : fold, j, f->means);
			if (!last)
				memcpy(means[i] + j * (f->level_count + 1), f->means,
						((size_t)f->level_count + 1) * sizeof *y);
			for (ptrdiff_t k = 0; k < p->n && !last && p->X; k++)
				if (fold[k] == j) p->X[k * s->D + at] = f->means[(int)code[k]];
		}
		free(code);
	}
	free(y);
	if (d->disk && fold) {
		d->disk->fold = fold;
		d->disk->means = means;
		return;
	}
	for (int i = 0; i < s->input_count; i++) free(means[i]);
	free(means);
	free(fold);
}

/*  Inputs that are neither centred nor scaled: indicators with one lengthscale. */
static int input_stays(const field *f, int kind)
{
	return !has_numbers(f) && kind != LEVELS_INDICATORS;
}

static void indicators_stay(dataset *d)
{
	ptrdiff_t at = 0;
	for (int i = 0; i < d->s.input_count; i++) {
		const field *f = &d->s.inputs[i];
		for (ptrdiff_t k = field_inputs(f); k > 0; k--, at++)
			if (input_stays(f, d->levels)) d->s.x_mean[at] = 0, d->s.x_scale[at] = 1;
	}
}

/* ---- the kernel ---- */

/*  Groups of lengthscales in a term of a kernel expression: the library has room for so many. */
enum { MOST_SHARED = 16 };

/*  "=2:5+7:9": the indicators of a column share a lengthscale, those of the columns of most levels where
    there are more than MOST_SHARED; else NULL. */
static char *levels_groups(const schema *s, int kind)
{
	bytes b = {NULL, 0, 0};
	char *shares = take((size_t)s->input_count, 1);
	for (int count = 0, best = 0; count < MOST_SHARED && best >= 0; count++) {
		best = -1;
		for (int i = 0; i < s->input_count; i++)
			if (!shares[i] && input_stays(&s->inputs[i], kind) && field_inputs(&s->inputs[i]) > 1 &&
					(best < 0 || field_inputs(&s->inputs[i]) > field_inputs(&s->inputs[best])))
				best = i;
		if (best >= 0) shares[best] = 1;
	}
	ptrdiff_t at = 0;
	for (int i = 0; i < s->input_count; i++) {
		ptrdiff_t end = at + field_inputs(&s->inputs[i]);
		if (shares[i]) bytes_print(&b, "%s%td:%td", b.used ? "+" : "=", at, end);
		at = end;
	}
	free(shares);
	return b.at;
}

/*  Does "ard" stand here, alone, in a term of all inputs? With dims the groups are the caller's. */
static int is_ard(const char *text, const char *p)
{
	if (strncmp(p, "ard", 3) != 0 || p == text || isalnum((unsigned char)p[-1])) return 0;
	const char *next = p + 3 + strspn(p + 3, " \t"), *begin = p, *end = p + strcspn(p, ")");
	if (*next != ')' && *next != ',') return 0;
	while (begin > text && *begin != '(') begin--;
	const char *dims = strstr(begin, "dims");
	return !dims || dims > end;
}

/*  The kernel in which they do: "ard" becomes "ard=2:5+7:9". */
static char *levels_kernel(const char *text, const schema *s, int kind)
{
	bytes kernel = {NULL, 0, 0};
	char *groups = levels_groups(s, kind);
	for (const char *p = text; *p;) {
		int word = groups && is_ard(text, p);
		bytes_print(&kernel, "%.*s", word ? 3 : 1, p);
		if (word) bytes_print(&kernel, "%s", groups);
		p += word ? 3 : 1;
	}
	bytes_add(&kernel, "", 1);
	free(groups);
	return kernel.at;
}

/* ---- --levels auto ---- */

/*  Steps of L-BFGS of a probe. */
enum { LEVEL_STEPS = 25 };

/*  Training rows that are drawn, in the order of the table, and the place of each: the last quarter is
    held out. */
typedef struct level_rows {
	rows r;
	ptrdiff_t *place;
} level_rows;

static int by_row(const void *a, const void *b)
{
	const ptrdiff_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static level_rows level_rows_draw(const rows *train, ptrdiff_t n, uint64_t seed)
{
	level_rows d = {{n, take((size_t)n, sizeof *d.r.row)}, take((size_t)n, sizeof *d.place)};
	ptrdiff_t(*pair)[2] = take((size_t)n, sizeof *pair);
	for (ptrdiff_t i = 0; i < n; i++) {
		pair[i][0] = train->row[permute(seed, train->n, i)];
		pair[i][1] = i;
	}
	qsort(pair, (size_t)n, sizeof *pair, by_row);
	for (ptrdiff_t i = 0; i < n; i++) d.r.row[i] = pair[i][0], d.place[i] = pair[i][1];
	free(pair);
	return d;
}

/*  Inputs and targets of drawn rows, in memory or on the disk, at their places. */
static void level_rows_encode(const schema *s, const table *t, const char *path,
		const level_rows *drawn, probe_rows *to)
{
	const ptrdiff_t n = drawn->r.n, D = s->D, *row = drawn->r.row, *place = drawn->place;
	if (!t->values) {
		rows copy = {n, take((size_t)n, sizeof *copy.row)};
		memcpy(copy.row, row, (size_t)n * sizeof *row);
		large *l = large_make(t, s, path, &copy);
		for (ptrdiff_t i = 0; i < n; i++)
			large_need(l, i, 1, to->X + place[i] * D, to->Y + place[i]);
		large_free(l);
		return;
	}
	binding b = bind_columns(s, t, path, MISFIT_FATAL);
	for (ptrdiff_t i = 0; i < n; i++)
		encode_row(s, &b, table_row(t, row[i]), to->X + place[i] * D, to->Y + place[i]);
	binding_free(&b, s);
}

/*  The drawn rows with texts as `kind` says, and the kernel for them. */
static probe_rows levels_rows(const dataset *d, const table *t, const options *o,
		const level_rows *drawn, int kind, char **kernel)
{
	dataset own = {.s = d->s, .levels = kind};
	schema *s = &own.s;
	ptrdiff_t n = drawn->r.n, held = n / 4;
	s->inputs = take((size_t)s->input_count, sizeof *s->inputs);
	memcpy(s->inputs, d->s.inputs, (size_t)s->input_count * sizeof *s->inputs);
	levels_begin(s, kind, NULL);
	ptrdiff_t D = s->D = first_input(s, s->input_count);
	probe_rows r = {n, held, D, 1, take_doubles(n, D), take_doubles(n, 1)};
	level_rows_encode(s, t, o->value[OPT_DATA], drawn, &r);
	own.train = (part){n - held, r.X, r.Y, NULL};
	levels_make(&own, o);
	char *stays = take((size_t)D, 1);
	for (ptrdiff_t i = 0, at = 0; i < s->input_count; i++) {
		const field *f = &s->inputs[i];
		for (ptrdiff_t k = n - held; k < n && f->means; k++)
			r.X[k * D + at] = f->means[(int)r.X[k * D + at]];
		for (ptrdiff_t k = field_inputs(f); k > 0; k--) stays[at++] = (char)input_stays(f, kind);
	}
	probe_scale(&r, stays);
	*kernel = levels_kernel("matern52(ard)", s, kind);
	for (int i = 0; i < s->input_count; i++) free(s->inputs[i].means);
	free(s->inputs), free(stays);
	return r;
}

/*  log p of the rows held out, with texts as `kind` says, or NULL; *D: the inputs. */
static double *levels_probe(dataset *d, const table *t, const options *o,
		const level_rows *drawn, int kind, ptrdiff_t *D)
{
	char *kernel = NULL;
	probe_rows r = levels_rows(d, t, o, drawn, kind, &kernel);
	double *logp = probe_logp(&r, kernel, LEVEL_STEPS, isa_of(o), &d->notes);
	*D = r.D;
	free(kernel), free(r.X), free(r.Y);
	return logp;
}

/*  Do means, in place of levels that share a lengthscale, gain more than a standard error on rows held
    out? Where they halve the inputs, they need only lose no more than one. Of two that do the one
    that gains more is chosen. */
static int levels_compare(dataset *d, const table *t, const options *o,
		const level_rows *drawn, const int *kind, int count)
{
	ptrdiff_t held = drawn->r.n / 4, D, fewer;
	int best = LEVELS_SHARED;
	double most = -HUGE_VAL, *shared = levels_probe(d, t, o, drawn, LEVELS_SHARED, &D);
	for (int k = 0; k < count && shared; k++) {
		double error, *logp = levels_probe(d, t, o, drawn, kind[k], &fewer);
		if (!logp) continue;
		double gain = paired_difference(logp, shared, held, &error);
		bytes_print(&d->notes,
				"note: --levels %s: %+.3g nats a held row beside shared, standard error %.2g\n",
				level_words[kind[k]], gain, error);
		if (gain > (2 * fewer <= D ? -error : error) && gain > most) best = kind[k], most = gain;
		free(logp);
	}
	free(shared);
	return best;
}

/*  How many of n rows are drawn: less than a second for each model, and of --minutes below ten seconds
    a part. */
enum { LEAST_DRAWN = 80 };
static ptrdiff_t levels_drawn(const schema *s, const options *o, ptrdiff_t n)
{
	static const double NUMBERS = 1e6;
	double room = NUMBERS / (double)larger(1, first_input(s, s->input_count));
	if (o->value[OPT_MINUTES]) room *= fmin(1, 6 * option_positive(o, OPT_MINUTES));
	return smaller(n, (ptrdiff_t)fmin(PROBE_ROWS, fmax(LEAST_DRAWN, room)));
}

/*  What --levels auto stands for; of other words the word. */
static int levels_choose(dataset *d, const table *t, const options *o, const rows *train)
{
	const schema *s = &d->s;
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX) ^ 0x6c6576656cu;
	int kind = option_choice(o, OPT_LEVELS), few = 0, many = 0, most = 0, kinds[2], count = 0;
	if (kind != LEVELS_AUTO) return kind;
	for (int i = 0; i < s->input_count; i++) {
		few += levels_of(&s->inputs[i]) > 2 && levels_of(&s->inputs[i]) <= MANY_LEVELS;
		many += levels_of(&s->inputs[i]) > MANY_LEVELS;
		most = (int)larger(most, levels_of(&s->inputs[i]));
	}
	ptrdiff_t n = levels_drawn(s, o, train->n);
	if (!(few + many) || !has_means(s) || n < LEAST_DRAWN) return LEVELS_SHARED;
	/* Rows that are drawn have too few of each level to tell. */
	if (n < train->n && n < (ptrdiff_t)KNOT_ROWS * most) return few ? LEVELS_MIXED : LEVELS_MEANS;
	level_rows drawn = level_rows_draw(train, n, seed);
	if (few && many) kinds[count++] = LEVELS_MIXED;
	kinds[count++] = LEVELS_MEANS;
	kind = levels_compare(d, t, o, &drawn, kinds, count);
	free(drawn.r.row), free(drawn.place);
	return kind;
}

/*  Keeps what auto has become. */
static void levels_settle(options *o, const dataset *d)
{
	for (int i = 0; i < d->s.input_count; i++)
		if (d->s.inputs[i].level_count) {
			option_store(o, OPT_LEVELS, copy_text(level_words[d->levels]));
			return;
		}
}

#endif
