/*  data.h - makes the data of a training from a table and the options. */
#ifndef TOOL_DATA_H
#define TOOL_DATA_H

#include "scales.h"

/*  Options that contradict each other. */
static void dataset_check(const options *o)
{
	int drawn = test_fraction(o) > 0;
	if (o->given[OPT_TEST] + drawn + o->given[OPT_TEST_MASK] > 1)
		die(BAD_INPUT, "--test, --test-fraction and --test-mask exclude each other");
	if (numpy_seed_of(o) >= 0 && !drawn)
		die(BAD_INPUT, "--split %s: needs --test-fraction", o->value[OPT_SPLIT]);
}

/*  The classes of these rows; NULL: the targets are no classes. */
static int *classes_of(const schema *s, const table *t, const binding *b, const rows *r)
{
	if (!has_classes(s->likelihood)) return NULL;
	int *class = take((size_t)r->n, sizeof *class);
	for (ptrdiff_t i = 0; i < r->n; i++)
		class[i] = (int)target_value(s, b, table_row(t, r->row[i])[b->target[0]]);
	return class;
}

/*  --image: the scale of all pixels. */
static void dataset_images(dataset *d, const options *o)
{
	schema *s = &d->s;
	if (d->disk && is_image(o))
		die(BAD_INPUT, "--image: its rows have to be in memory: --memory %.0fM allows that",
				1 + (double)d->disk->t.rows * d->disk->t.columns * 8 / 1048576);
	images_scales(o, d->train.X, d->train.n, s->D, s->x_mean, s->x_scale);
}

/*  Reads the sample of training rows on the disk. */
static void dataset_sample(dataset *d)
{
	const schema *s = &d->s;
	large *l = d->disk;
	ptrdiff_t n = smaller(d->train.n, SAMPLE_MOST);
	part p = {n, take_doubles(n, s->D), take_doubles(n, s->target_count),
			take((size_t)n, sizeof *p.line)};
	for (ptrdiff_t i = 0; i < n; i++) {
		ptrdiff_t k = (ptrdiff_t)((double)i * (double)d->train.n / (double)n);
		large_need(l, k, 1, p.X + i * s->D, p.Y + i * s->target_count);
		p.line[i] = train_line(d, k);
	}
	d->sample = p;
}

/*  The columns of the schema, and the rows of each part; constant columns go. */
static void dataset_cut(
		dataset *d, const table *t, const options *o, const schema *before, rows cut[PARTS])
{
	const char *path = o->value[OPT_DATA];
	schema *s = &d->s;
	note_table(t, path, o, &d->notes);
	note_repeats(t, path, &d->notes);
	schema_columns(s, t, o);
	note_mixed(s, t, &d->notes);
	note_likelihood(s, t, o, &d->notes);
	binding b = bind_columns(s, t, path, MISFIT_FATAL);
	rows all = complete_rows(s, t, &b, path, option_choice(o, OPT_MISSING), 1);
	int *class = classes_of(s, t, &b, &all);
	binding_free(&b, s);
	if (!all.n) die(BAD_INPUT, "%s: no row is complete", path_text(path));
	d->dropped = t->rows - all.n;
	split_rows(o, &all, class, t->rows, cut);
	free(class);
	d->calibrates = calibrates(o, s, cut[PART_TRAIN].n);
	if (d->calibrates && !t->values) {
		if (o->given[OPT_CALIBRATE]) die(BAD_INPUT, "--calibrate: not where rows stay on the disk");
		d->calibrates = 0;
	}
	split_validation(o, d->calibrates, cut);
	if (!is_image(o)) {
		drop_constants(d, t, o->value[OPT_FOLDS] ? &all : &cut[PART_TRAIN], before);
		find_outliers(d, t, &cut[PART_TRAIN]);
	}
	rows_free(&all);
}

/*  The parts as numbers, in the units of the data, and the checksum of the training part. */
static void dataset_encode(
		dataset *d, const table *t, const options *o, const schema *before, rows cut[PARTS])
{
	const char *path = o->value[OPT_DATA];
	schema *s = &d->s;
	d->levels = levels_choose(d, t, o, &cut[PART_TRAIN]);
	levels_begin(s, d->levels, before);
	s->D = first_input(s, s->input_count);
	images_check(o, s->D);
	binding b = bind_columns(s, t, path, MISFIT_FATAL);
	if (has_classes(s->likelihood) && is_constant(t, &cut[PART_TRAIN], s->targets[0].column))
		die(BAD_INPUT, "%s: %s has one class only in the training rows", path_text(path),
				COLUMN_TEXT(s->targets[0].column, s->targets[0].name));
	if (t->values) d->train = encode(s, t, &b, &cut[PART_TRAIN]);
	else {
		d->train.n = cut[PART_TRAIN].n;
		d->disk = large_make(t, s, path, &cut[PART_TRAIN]);
	}
	levels_make(d, o);
	d->valid = encode(s, t, &b, &cut[PART_VALID]);
	if (o->value[OPT_TEST])
		d->test =
				read_test_file(s, o, o->value[OPT_TEST], option_choice(o, OPT_MISSING), &d->notes);
	else d->test = encode(s, t, &b, &cut[PART_TEST]);
	binding_free(&b, s);
	s->n_train = d->train.n + (d->calibrates ? d->valid.n : 0);
	s->checksum = (uint64_t)s->D;
	for (tile k = {0}; next_tile(&k, &d->train, d->disk, TILE_X);)
		s->checksum = hash_doubles(s->checksum, k.X, k.n * s->D);
	for (tile k = {0}; next_tile(&k, &d->train, d->disk, TILE_Y);)
		s->checksum = hash_doubles(s->checksum, k.Y, k.n * s->target_count);
	schema_ranges(s, &d->train, d->disk);
}

/*  The file that the rows of a part are from. */
static const char *part_path(const dataset *d, const part *p, const options *o)
{
	return p == &d->test && o->value[OPT_TEST] ? o->value[OPT_TEST] : o->value[OPT_DATA];
}

/*  A part's rows with the transforms of the schema. */
static void part_transform(const dataset *d, part *p, const options *o)
{
	const schema *s = &d->s;
	if (s->transforms) odvgp_transform_columns(p->X, p->n, s->D, s->transforms, p->X, NULL);
	for (ptrdiff_t i = 0; i < p->n && s->y.kind; i++) {
		double y = p->Y[i];
		p->Y[i] = target_of(s, y);
		if (isnan(p->Y[i]))
			die(BAD_INPUT,
					"%s: line %ld, %s: %g is too far below the training rows for "
					"--target-transform log; asinh takes all numbers",
					path_text(part_path(d, p, o)), p->line[i],
					COLUMN_TEXT(s->targets[0].column, s->targets[0].name), y);
	}
}

/*  Fits transforms of columns and target, or takes those of `before`, and applies them. */
static void dataset_transform(dataset *d, const table *t, const options *o, const schema *before)
{
	const char *list = o->value[OPT_TRANSFORM];
	char *chosen = NULL;
	if (is_image(o) && strcmp(list, "none") != 0)
		die(BAD_INPUT, "--transform: pixels of --image share one scale");
	if (before) transforms_copy(&d->s, before);
	else {
		if (strcmp(list, "auto") == 0) list = chosen = transform_choose(d, t, o);
		transforms_fit(d, t, list);
		free(chosen);
	}
	target_make(d, o);
	if (!d->disk) part_transform(d, &d->train, o);
	part_transform(d, &d->test, o);
	part_transform(d, &d->valid, o);
}

/*  Standardises all parts by the training part. */
static void dataset_scale(dataset *d, const options *o)
{
	schema *s = &d->s;
	part *parts[PARTS] = {&d->train, &d->test, &d->valid};
	if (d->disk) d->disk->stage = LARGE_TRANSFORMED;
	schema_scales(s, &d->train, d->disk);
	dataset_images(d, o);
	indicators_stay(d);
	if (d->disk) d->disk->stage = LARGE_SCALED;
	for (int k = 0; k < PARTS; k++) {
		part *p = parts[k];
		large *disk = p == &d->train ? d->disk : NULL;
		if (!disk) {
			odvgp_standardise(p->X, p->n, s->D, s->x_mean, s->x_scale, p->X, NULL);
			odvgp_standardise(p->Y, p->n, s->target_count, s->y_mean, s->y_scale, p->Y, NULL);
		}
		check_finite(p, disk, s, part_path(d, p, o));
	}
}

/*  Keeps at most so many of the training rows, which the seed draws, on the scales of all. */
static void dataset_keep(dataset *d, ptrdiff_t rows, const options *o)
{
	part *p = &d->train;
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX) ^ 0x726f7773u;
	ptrdiff_t n = p->n, D = d->s.D, T = d->s.target_count;
	if (rows >= n) return;
	if (d->disk) die(BAD_INPUT, "--train-rows: not where rows stay on the disk");
	p->n = 0;
	for (ptrdiff_t i = 0; i < n; i++) {
		if (permute(seed, n, i) >= rows) continue;
		memmove(p->X + p->n * D, p->X + i * D, (size_t)D * sizeof *p->X);
		memmove(p->Y + p->n * T, p->Y + i * T, (size_t)T * sizeof *p->Y);
		p->line[p->n++] = p->line[i];
	}
	d->s.n_train += p->n - n;
}

/*  Makes the data of a training from the table of --data. before: the schema of the model that is
    resumed, or NULL. */
static void dataset_make(dataset *d, const table *t, const options *o, const schema *before)
{
	rows cut[PARTS];
	memset(d, 0, sizeof *d);
	dataset_cut(d, t, o, before, cut);
	dataset_encode(d, t, o, before, cut);
	for (int k = 0; k < PARTS; k++) rows_free(&cut[k]);
	dataset_transform(d, t, o, before);
	dataset_scale(d, o);
	if (d->s.transforms || d->s.y.kind) {
		bytes_print(&d->notes, "note: the model learns ");
		transforms_note(&d->s, &d->notes);
		bytes_print(&d->notes, "\n");
	}
	if (o->value[OPT_TRAIN_ROWS])
		dataset_keep(d, (ptrdiff_t)option_integer(o, OPT_TRAIN_ROWS, 1, INT_MAX), o);
	if (d->disk) dataset_sample(d);
	d->absent = note_absent_classes(d);
	weigh_classes(d, o);
}

/*  The validation rows become training rows, the last ones. */
static void dataset_give_back(dataset *d)
{
	part *to = &d->train, *from = &d->valid;
	ptrdiff_t n = to->n, more = from->n, D = d->s.D, T = d->s.target_count;
	double *weighed = d->class_weight ? resize(d->Y, (size_t)(2 * (n + more)), sizeof *d->Y) : NULL;
	to->X = resize(to->X, (size_t)((n + more) * D), sizeof *to->X);
	to->Y = resize(to->Y, (size_t)((n + more) * T), sizeof *to->Y);
	to->line = resize(to->line, (size_t)(n + more), sizeof *to->line);
	memcpy(to->X + n * D, from->X, (size_t)(more * D) * sizeof *to->X);
	memcpy(to->Y + n * T, from->Y, (size_t)(more * T) * sizeof *to->Y);
	memcpy(to->line + n, from->line, (size_t)more * sizeof *to->line);
	to->n += more;
	d->Y = library_targets(d, to->Y, to->n, weighed);
	from->n = 0;
}

static void dataset_read(dataset *d, const options *o, const schema *before)
{
	const char *path = option_needed(o, OPT_DATA);
	table t = {0};
	dataset_check(o);
	read_table(&t, path, o, NULL);
	dataset_make(d, &t, o, before);
	if (d->disk) d->disk->owned = 1;
	else table_free(&t);
}

static void dataset_free(dataset *d)
{
	large_free(d->disk);
	schema_free(&d->s);
	part_free(&d->sample);
	if (d->Y != d->train.Y) free(d->Y);
	free(d->class_weight);
	part_free(&d->train);
	part_free(&d->test);
	part_free(&d->valid);
	free(d->notes.at);
}

#endif
