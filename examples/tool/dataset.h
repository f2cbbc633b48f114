/*  dataset.h - the data of a training, and what is remarkable about them: constant columns, cells far
    from the others, classes and their weights. */
#ifndef TOOL_DATASET_H
#define TOOL_DATASET_H

#include "split.h"

/*  A cell so far from the others that it decides the scale of its column. */
typedef struct outlier {
	long line;
	int column;
	/* Its distance from the median, in units of the spread of the column. */
	double value, distance;
} outlier;

enum { MOST_OUTLIERS = 5 };

/*  The data of a training: schema, and both parts standardised. */
typedef struct dataset {
	schema s;
	part train, test, valid;
	/* Training targets as the library takes them: train.Y, or with --class-weights [n,2], the class
       and its weight; and these weights [classes], or NULL. */
	double *Y, *class_weight;
	/* Training rows that stay on the disk, where train.X and Y are NULL; else NULL. Of these rows at
	   most SAMPLE_MOST, for what needs some in memory: all, if they are no more. */
	large *disk;
	part sample;
	outlier outliers[MOST_OUTLIERS];
	int outlier_count;
	ptrdiff_t dropped;
	/* Classes without a training row. */
	int absent;
	/* Are the validation rows given back? */
	int calibrates;
	/* What texts have become, of LEVELS_. */
	int levels;
	/* What is remarkable about the data, a line each; is it said? */
	bytes notes;
	int told;
} dataset;

enum { SAMPLE_MOST = 20000 };

/*  Training rows in memory: all, or of those on the disk the sample. */
static const part *rows_in_memory(const dataset *d) { return d->disk ? &d->sample : &d->train; }

static long train_line(const dataset *d, ptrdiff_t k)
{
	return d->disk ? table_line(&d->disk->t, large_row(d->disk, k)) : d->train.line[k];
}

/*  The number of distinct training rows. */
static ptrdiff_t distinct_rows(const dataset *d)
{
	return d->disk ? count_distinct_tiles(&d->train, d->disk)
				   : count_distinct(d->train.X, d->train.n, d->s.D);
}

/*  The columns of Y. */
static int y_columns(const dataset *d) { return d->class_weight ? 2 : d->s.target_count; }

/*  Do all these rows have the same value in this column? */
static int is_constant(const table *t, const rows *r, int column)
{
	double first = r->n ? table_row(t, r->row[0])[column] : 0;
	for (ptrdiff_t i = 1; i < r->n; i++) {
		double v = table_row(t, r->row[i])[column];
		if (v < first || v > first) return 0;
	}
	return 1;
}

/*  Is the column an input of this model? */
static int has_input(const schema *s, int column)
{
	for (int i = 0; i < s->input_count; i++)
		if (s->inputs[i].column == column) return 1;
	return 0;
}

/*  Drops inputs that are constant in the training rows, with --folds in all rows, which they teach
    nothing, unless all are or the model that is resumed has them (`before`, or NULL). */
static void drop_constants(dataset *d, const table *t, const rows *train, const schema *before)
{
	schema *s = &d->s;
	int kept = 0, dropped = 0;
	bytes names = {NULL, 0, 0};
	char *constant = take((size_t)s->input_count, 1);
	for (int i = 0; i < s->input_count; i++) {
		int column = s->inputs[i].column;
		constant[i] = train->n > 1 && is_constant(t, train, column) &&
					  !(before && has_input(before, column));
		dropped += constant[i];
	}
	if (dropped == s->input_count) dropped = 0;
	for (int i = 0, shown = 0; i < s->input_count && dropped; i++) {
		field f = s->inputs[i];
		if (!constant[i]) s->inputs[kept++] = f;
		else {
			if (shown++ < 8)
				bytes_print(&names, "%s%s", shown > 1 ? ", " : "", COLUMN_TEXT(f.column, f.name));
			field_free(&f);
		}
	}
	if (dropped) {
		s->input_count = kept;
		bytes_print(&d->notes, "note: constant in the training rows, and left out: %s%s\n",
				names.at, dropped > 8 ? ", ..." : "");
	}
	free(names.at);
	free(constant);
}

/*  Columns that are looked at in one pass over the rows. */
enum { OUTLIER_COLUMNS = 64, OUTLIER_ROWS = 10000 };

/*  Finds the farthest cell of each of these columns of numbers. The spread is the range without the
    tenths at both ends, of at most 10,000 rows. */
static void find_outliers_of(
		dataset *d, const table *t, const rows *train, const int *column, int count)
{
	enum { DISTANT = 1000 };
	ptrdiff_t n = smaller(train->n, OUTLIER_ROWS), farthest[OUTLIER_COLUMNS] = {0};
	double *sorted = take_doubles(n, count), median[OUTLIER_COLUMNS], spread[OUTLIER_COLUMNS],
		   most[OUTLIER_COLUMNS] = {0}, value[OUTLIER_COLUMNS] = {0};
	for (ptrdiff_t i = 0; i < n; i++) {
		ptrdiff_t k = (ptrdiff_t)((double)i * (double)train->n / (double)n);
		const double *cell = table_row(t, train->row[k]);
		for (int c = 0; c < count; c++) sorted[c * n + i] = cell[column[c]];
	}
	for (int c = 0; c < count; c++) {
		double *own = sorted + c * n;
		qsort(own, (size_t)n, sizeof *own, by_number);
		median[c] = own[n / 2];
		spread[c] = own[n - 1 - n / 10] - own[n / 10];
	}
	free(sorted);
	for (ptrdiff_t i = 0; i < train->n; i++) {
		const double *cell = table_row(t, train->row[i]);
		for (int c = 0; c < count; c++) {
			double distance = fabs(cell[column[c]] - median[c]);
			if (!(distance > most[c])) continue;
			most[c] = distance;
			farthest[c] = train->row[i];
			value[c] = cell[column[c]];
		}
	}
	for (int c = 0; c < count; c++) {
		if (d->outlier_count == MOST_OUTLIERS || train->n < 10 || !(spread[c] > 0) ||
				!(most[c] > DISTANT * spread[c]))
			continue;
		outlier o = {table_line(t, farthest[c]), column[c], value[c], most[c] / spread[c]};
		d->outliers[d->outlier_count++] = o;
	}
}

/*  The distance in words; it overflows where a column is less than 1e-308 wide. */
static const char *distance_text(char text[40], double distance)
{
	if (isfinite(distance)) snprintf(text, 40, "%.3g times", distance);
	else snprintf(text, 40, "more than 1e308 times");
	return text;
}

static void find_outliers(dataset *d, const table *t, const rows *train)
{
	const schema *s = &d->s;
	int column[OUTLIER_COLUMNS], count = 0;
	for (int i = 0; i < s->input_count + s->target_count; i++) {
		const field *f = i < s->input_count ? &s->inputs[i] : &s->targets[i - s->input_count];
		if (i < s->input_count && f->level_count) continue;
		column[count++] = f->column;
		if (count < OUTLIER_COLUMNS) continue;
		find_outliers_of(d, t, train, column, count);
		count = 0;
	}
	if (count) find_outliers_of(d, t, train, column, count);
	for (int i = 0; i < d->outlier_count; i++) {
		const outlier *o = &d->outliers[i];
		char distance[40];
		bytes_print(&d->notes,
				"note: line %ld, %s: %g is %s as far from the median as the column is "
				"wide; it decides the scale of the column\n",
				o->line, COLUMN_TEXT(o->column, t->column[o->column].name), o->value,
				distance_text(distance, o->distance));
	}
}

/*  The class whose name stands before a = at s; level_count: there is none. */
static int weights_class(const char *s, const field *f)
{
	int k = 0;
	for (; k < f->level_count; k++) {
		size_t n = strlen(f->levels[k]);
		if (strncmp(s, f->levels[k], n) == 0 && s[n] == '=') break;
	}
	return k;
}

/*  Products of larger or smaller weights with other numbers may overflow. */
static const double LEAST_WEIGHT = 1e-6, MOST_WEIGHT = 1e6;

/*  Reads NAME=W,...; names may hold commas. Classes that are not named have weight 1. */
static void weights_parse(const char *text, const field *f, double *weight)
{
	char *named = take((size_t)f->level_count, 1);
	bytes all = {NULL, 0, 0};
	for (int k = 0; k < f->level_count; k++) bytes_print(&all, "%s%s", k ? ", " : "", f->levels[k]);
	for (const char *s = text; s;) {
		int k = weights_class(s, f);
		const char *equals = strchr(s, '='), *end = NULL;
		if (k == f->level_count && equals)
			die(BAD_INPUT, "--class-weights %s: '%.*s' is no class; classes: %s", text,
					(int)(equals - s), s, all.at);
		if (equals && named[k]++)
			die(BAD_INPUT, "--class-weights %s: '%s' is named twice", text, f->levels[k]);
		if (equals) end = table__number(s + strlen(f->levels[k]) + 1, &weight[k]);
		if (!end || (*end && *end != ',') ||
				!(weight[k] == 0 || (weight[k] >= LEAST_WEIGHT && weight[k] <= MOST_WEIGHT)))
			die(BAD_INPUT,
					"--class-weights %s: must be balanced, or NAME=W,... with weights from %g to "
					"%.0f, or 0; classes: %s",
					text, LEAST_WEIGHT, MOST_WEIGHT, all.at);
		s = *end ? end + 1 : NULL;
	}
	free(named);
	free(all.at);
}

/*  Notes classes that have no training row, and returns their number. */
static int note_absent_classes(dataset *d)
{
	enum { SHOWN = 8 };
	const field *f = &d->s.targets[0];
	int absent = 0;
	if (!has_classes(d->s.likelihood)) return 0;
	char *present = take((size_t)f->level_count, 1);
	for (tile t = {0}; next_tile(&t, &d->train, d->disk, TILE_Y);)
		for (ptrdiff_t i = 0; i < t.n; i++) present[(int)t.Y[i]] = 1;
	for (int k = 0; k < f->level_count; k++) {
		if (present[k] || absent++ >= SHOWN) continue;
		bytes_print(&d->notes, "%s%s",
				absent > 1 ? ", " : "note: classes without a training row: ", NAME(f->levels[k]));
	}
	if (absent) bytes_print(&d->notes, "%s\n", absent > SHOWN ? ", ..." : "");
	free(present);
	return absent;
}

/*  What the library sees of n targets y: y, or if there are weights of classes [n,2] to Y, each with
    its own. */
static double *library_targets(const dataset *d, double *y, ptrdiff_t n, double *Y)
{
	if (!d->class_weight) return y;
	for (ptrdiff_t i = 0; i < n; i++) {
		Y[2 * i] = y[i];
		Y[2 * i + 1] = d->class_weight[(int)y[i]];
	}
	return Y;
}

/*  Makes what the library sees of the training targets. */
static void weigh_classes(dataset *d, const options *o)
{
	const char *text = o->value[OPT_CLASS_WEIGHTS];
	const field *f = &d->s.targets[0];
	ptrdiff_t n = d->train.n;
	d->Y = d->train.Y;
	if (!text) return;
	if (!has_classes(d->s.likelihood))
		die(BAD_INPUT, "--class-weights: only for classes; the likelihood is %s",
				likelihood_text(d->s.likelihood));
	int classes = f->level_count, balanced = strcmp(text, "balanced") == 0;
	double sum = 0, *weight = d->class_weight = take_doubles(classes, 1);
	for (int k = 0; k < classes; k++) weight[k] = !balanced;
	for (tile t = {0}; balanced && next_tile(&t, &d->train, d->disk, TILE_Y);)
		for (ptrdiff_t i = 0; i < t.n; i++) weight[(int)t.Y[i]]++;
	for (int k = 0; k < classes && balanced; k++)
		weight[k] = weight[k] > 0 ? (double)n / (classes * weight[k]) : 1;
	if (!balanced) weights_parse(text, f, weight);
	if (!d->disk) d->Y = take_doubles(n, 2);
	for (tile t = {0}; next_tile(&t, &d->train, d->disk, TILE_Y);)
		for (ptrdiff_t i = 0; i < t.n; i++) sum += weight[(int)t.Y[i]];
	if (!d->disk) library_targets(d, d->train.Y, n, d->Y);
	if (d->disk) d->disk->weight = weight;
	if (!(sum > 0)) die(BAD_INPUT, "--class-weights %s: all training rows have weight 0", text);
	bytes_print(&d->notes, "note: weights of classes:");
	for (int k = 0; k < classes; k++)
		bytes_print(&d->notes, "%s %s %.4g", k ? "," : "", NAME(f->levels[k]), weight[k]);
	bytes_print(&d->notes, "\n");
}

/*  One input of all training rows, or the first target. */
static double *train_numbers(const dataset *d, int which, ptrdiff_t input)
{
	ptrdiff_t stride = which == TILE_X ? d->s.D : d->s.target_count;
	double *to = take_doubles(d->train.n, 1), *next = to;
	for (tile t = {0}; next_tile(&t, &d->train, d->disk, which);)
		for (ptrdiff_t k = 0; k < t.n; k++)
			*next++ = (which == TILE_X ? t.X : t.Y)[k * stride + input];
	return to;
}

#endif
