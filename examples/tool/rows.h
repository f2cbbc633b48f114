/*  rows.h - from lines of a table to rows of inputs and targets: missing cells, what is noted about a
    file, standardisation. */
#ifndef TOOL_ROWS_H
#define TOOL_ROWS_H

#include "columns.h"
#include "transform.h"

/*  Rows in the layout of the library. */
typedef struct part {
	ptrdiff_t n;
	/* [n,D], [n,P]; Y may be NULL. Training rows that stay on the disk: all are NULL. */
	double *X, *Y;
	/* [n] lines of the file. */
	long *line;
} part;

static void part_free(part *p)
{
	free(p->X);
	free(p->Y);
	free(p->line);
	memset(p, 0, sizeof *p);
}

/*  n of the rows of p, [n,D] and [n,P], evenly spaced. */
static part part_spaced(const part *p, ptrdiff_t n, ptrdiff_t D, ptrdiff_t P)
{
	part r = {n, take_doubles(n, D), take_doubles(n, P), take((size_t)n, sizeof *r.line)};
	for (ptrdiff_t i = 0; i < n; i++) {
		ptrdiff_t k = (ptrdiff_t)((double)i * (double)p->n / (double)n);
		memcpy(r.X + i * D, p->X + k * D, (size_t)D * sizeof *r.X);
		memcpy(r.Y + i * P, p->Y + k * P, (size_t)P * sizeof *r.Y);
		r.line[i] = p->line[k];
	}
	return r;
}

/*  A list of row numbers. */
typedef struct rows {
	ptrdiff_t n, *row;
} rows;

static void rows_free(rows *r) { free(r->row); }

static void refuse_missing(const table *t, int column, const char *path, const char *advice)
{
	const table_column *c = &t->column[column];
	if (c->missing)
		die(BAD_INPUT, "%s: line %ld, %s: the value is missing%s", path_text(path), c->missing_line,
				COLUMN_TEXT(column, c->name), advice);
}

/*  A target's number: of a class target, its class. Infinite if it does not fit. */
static double target_value(const schema *s, const binding *b, double v)
{
	if (!s->targets[0].level_count || !isfinite(v)) return v;
	int class = b->class_code ? b->class_code[(int)v] : class_of_number(&s->targets[0], v);
	return class < 0 ? HUGE_VAL : (double)class;
}

static int row_complete(
		const schema *s, const table *t, const binding *b, ptrdiff_t row, int targets_too)
{
	const double *cell = table_row(t, row);
	for (int i = 0; i < s->input_count; i++) {
		double v = cell[b->input[i]];
		if (!isfinite(v) || (b->code[i] && b->code[i][(int)v] < 0)) return 0;
	}
	for (int i = 0; i < s->target_count && b->target; i++) {
		double y = target_value(s, b, cell[b->target[i]]);
		if (isnan(y) ? targets_too : isinf(y)) return 0;
	}
	return 1;
}

/*  Ends the program with the first line that has a cell which does not fit, or is missing, unless
    such rows are dropped. */
static void refuse_first(const schema *s, const table *t, const binding *b, const char *path,
		int drop, int targets_too)
{
	int columns = s->input_count + (targets_too && b->target ? s->target_count : 0), column = -1;
	long line = b->misfit && b->misfits != MISFIT_DROP ? b->misfit_line : LONG_MAX;
	for (int i = 0; i < columns && !drop; i++) {
		int k = i < s->input_count ? b->input[i] : b->target[i - s->input_count];
		if (!t->column[k].missing || t->column[k].missing_line >= line) continue;
		line = t->column[k].missing_line;
		column = k;
	}
	const char *advice = targets_too ? drop_advice : missing_advice;
	if (column >= 0) refuse_missing(t, column, path, advice);
	if (line < LONG_MAX)
		die(BAD_INPUT, "%s%s", b->misfit, b->misfits == MISFIT_REFUSE ? advice : "");
}

/*  The rows from `first` to `end` whose cells fit, and are not missing (a target may be, unless
    `targets_too`). A missing cell of the table is an error unless `drop`. */
static rows complete_between(const schema *s, const table *t, const binding *b, const char *path,
		int drop, int targets_too, ptrdiff_t first, ptrdiff_t end)
{
	refuse_first(s, t, b, path, drop, targets_too);
	rows r = {0, take((size_t)(end - first), sizeof *r.row)};
	for (ptrdiff_t i = first; i < end; i++)
		if (!drop || row_complete(s, t, b, i, targets_too)) r.row[r.n++] = i;
	return r;
}

static rows complete_rows(const schema *s, const table *t, const binding *b, const char *path,
		int drop, int targets_too)
{
	return complete_between(s, t, b, path, drop, targets_too, 0, t->rows);
}

/*  Days since 1970 as the numbers that the field asks for; returns the place after them. A day of
    the year is 1 on January 1, a day of the week 1 on Monday; both with the time as a fraction. */
static double *encode_date(const field *f, double days, double *x)
{
	if (f->date_parts & 1) *x++ = days;
	if (f->date_parts & 2) *x++ = 1 + days - table_days(year_of(days), 1, 1);
	if (f->date_parts & 4) *x++ = 1 + days + 3 - 7 * floor((days + 3) / 7);
	return x;
}

/*  A row's inputs into x, which is 0, and targets into y; y may be NULL. */
static void encode_row(const schema *s, const binding *b, const double *cell, double *x, double *y)
{
	for (int i = 0; i < s->input_count; i++) {
		const field *f = &s->inputs[i];
		double v = cell[b->input[i]];
		if (f->date_parts) x = encode_date(f, v, x);
		else if (!f->level_count) *x++ = v;
		else if (f->means) *x++ = f->means[b->code[i][(int)v]];
		else if (f->ordinal) *x++ = b->code[i][(int)v];
		else {
			/* The other levels' inputs are 0 already. */
			x[b->code[i][(int)v]] = 1;
			x += f->level_count;
		}
	}
	for (int i = 0; i < s->target_count && y; i++) y[i] = target_value(s, b, cell[b->target[i]]);
}

static part encode(const schema *s, const table *t, const binding *b, const rows *r)
{
	part p = {r->n, take_doubles(r->n, s->D),
			b->target ? take_doubles(r->n, s->target_count) : NULL,
			take((size_t)r->n, sizeof *p.line)};
	for (ptrdiff_t k = 0; k < r->n; k++) {
		encode_row(s, b, table_row(t, r->row[k]), p.X + k * s->D,
				p.Y ? p.Y + k * s->target_count : NULL);
		p.line[k] = table_line(t, r->row[k]);
	}
	return p;
}

/*  How the options say that a table is read. */
static table_options table_how(const knowledge *known)
{
	const options *o = known->o;
	const int header = option_choice(o, OPT_HEADER); /* auto|yes|no */
	table_options how;
	memset(&how, 0, sizeof how);
	how.header = header == 2 ? -1 : header;
	how.separator = option_separator(o);
	how.decimal = option_choice(o, OPT_DECIMAL) ? ',' : '.';
	how.thousands = option_thousands(o);
	if (how.decimal == how.thousands)
		die(BAD_INPUT, "--thousands %s: is the decimal point, too", o->value[OPT_THOUSANDS]);
	how.is_header = known->s ? schema_is_header : NULL;
	how.settle = settle_columns;
	how.user = known;
	return how;
}

/*  Refuses a guessed header that may be a row with a broken cell, where no names tell. */
static void check_header(const table *t, const char *path, const schema *s)
{
	if (!s || !t->odd_header || !by_place(s, t)) return;
	die(BAD_INPUT,
			"%s: the first line has texts above numbers, and numbers: --header yes reads it as "
			"names, --header no as a row",
			path_text(path));
}

static int has_places(const schema *s, int columns)
{
	int *places = places_of(s, columns), there = places != NULL;
	free(places);
	return there;
}

/*  Forgets the last columns without name and values; where columns are found by their place, as many as
    the places of the others call for. */
static void drop_trailing(table *t, const schema *s)
{
	int least = t->columns, keep;
	/* Tables that were converted have none, in memory or not. */
	if (t->fetch) return;
	while (table_trails(t, least - 1)) least--;
	keep = least;
	if (s && by_place(s, t)) {
		for (keep = t->columns; keep > least && !has_places(s, keep);) keep--;
		if (!has_places(s, keep)) return;
	}
	while (t->columns > keep)
		if (table_drop_last(t)) die(FAILED, "out of memory");
}

/*  A CSV file that does not fit the memory becomes a table on the disk, beside the model that is
    trained, else in the current folder, which the end of the program removes. */
static void read_large(table *t, const char *path, const table_options *how, const options *o)
{
	const char *beside =
			o->value[OPT_MODEL] && !is_device(o->value[OPT_MODEL]) ? o->value[OPT_MODEL] : "odvgp";
	stored_temporary(t, path, how, beside, o);
}

static void read_table(table *t, const char *path, const options *o, const schema *s)
{
	char error[400];
	knowledge known = {o, s};
	table_options how = table_how(&known);
	int large = bytes_of_file(path) > option_bytes(o, OPT_MEMORY);
	if (is_stored(path)) stored_read(t, path, &how, large);
	else if (large) read_large(t, path, &how, o);
	else if (table_read(t, path, &how, error, sizeof error)) die(BAD_INPUT, "%s", error);
	drop_trailing(t, s);
	check_header(t, path, s);
}

/*  Notes lines that are no rows. */
static void note_lines(const table *t, const char *path, bytes *notes)
{
	if (t->comments)
		bytes_print(notes,
				"note: %s: %ld line%s before the first row begin%s with # and %s "
				"skipped\n",
				path_text(path), t->comments, t->comments > 1 ? "s" : "",
				t->comments > 1 ? "" : "s", t->comments > 1 ? "are" : "is");
	if (t->trailed == 1)
		bytes_print(notes,
				"note: %s: each line ends with a separator; the empty column %d is left out\n",
				path_text(path), t->columns);
	if (t->trailed > 1)
		bytes_print(notes,
				"note: %s: each line ends with %d separators; the empty columns %d to %d are left "
				"out\n",
				path_text(path), t->trailed, t->columns, t->columns + t->trailed - 1);
	if (t->odd_header)
		bytes_print(notes,
				"note: %s: header: yes, though its first line holds a number; --header no if it is "
				"a row\n",
				path_text(path));
}

/*  Notes names that several columns have, which options and predict tell apart by their order. */
static void note_repeats(const table *t, const char *path, bytes *notes)
{
	enum { SHOWN = 3 };
	for (int i = 0, shown = 0; i < t->columns && t->header && shown < SHOWN; i++) {
		const table_column *c = &t->column[i];
		if (c->next < 0 || c->repeat || !*c->name) continue;
		shown++;
		bytes_print(notes,
				"note: %s: the columns %d and %d are both named '%s'; predict finds them by their "
				"order\n",
				path_text(path), i, c->next, NAME(c->name));
	}
}

/*  Notes what was guessed about a table. */
static void note_table(const table *t, const char *path, const options *o, bytes *notes)
{
	int guessed = option_choice(o, OPT_HEADER) == 0;
	note_lines(t, path, notes);
	if (t->unlike)
		bytes_print(notes,
				"note: %s: header: no, but its first line looks unlike the rows below; --header "
				"yes "
				"if it holds names\n",
				path_text(path));
	else if (guessed && !t->header)
		bytes_print(notes, "note: %s: header: no; its first line is data\n", path_text(path));
}

#include "large.h"

/* ---- standardisation ---- */

/*  Rows of a part: of one in memory all, of one on the disk a tile. */
typedef struct tile {
	const double *X, *Y;
	ptrdiff_t first, n;
} tile;

/*  The next tile; begins with {0}. wants: a part that is on the disk is not read for what is not
    wanted. */
enum { TILE_X = 1, TILE_Y = 2 };
static int next_tile(tile *t, const part *p, large *disk, int wants)
{
	t->first += t->n;
	t->n = 0;
	if (t->first >= p->n) return 0;
	t->X = p->X;
	t->Y = p->Y;
	t->n = p->n;
	if (p->X || !disk) return 1;
	t->n = smaller(large_tile(disk->s), p->n - t->first);
	large_need(
			disk, t->first, t->n, wants & TILE_X ? disk->X : NULL, wants & TILE_Y ? disk->Y : NULL);
	t->X = disk->X;
	t->Y = disk->Y;
	return 1;
}

/*  Standardisation overflows where the range of a column exceeds the largest double. */
static void check_finite(const part *p, large *disk, const schema *s, const char *path)
{
	double sum = 0;
	for (tile t = {0}; next_tile(&t, p, disk, TILE_X | TILE_Y);) {
		for (ptrdiff_t i = 0; i < t.n * s->D; i++) sum += t.X[i] * 0;
		for (ptrdiff_t i = 0; i < t.n * s->target_count; i++) sum += t.Y[i] * 0;
	}
	if (isnan(sum))
		die(BAD_INPUT, "%s: a column has numbers too far apart to standardise", path_text(path));
}

static void schema_scales(schema *s, const part *train, large *disk)
{
	s->x_mean = take_doubles(s->D, 1);
	s->x_scale = take_doubles(s->D, 1);
	s->y_mean = take_doubles(s->target_count, 1);
	s->y_scale = take_doubles(s->target_count, 1);
	odvgp_info info = no_info;
	odvgp_status bad = ODVGP_OK;
	if (disk) {
		ptrdiff_t D = s->D, T = s->target_count;
		double *mean = take_doubles(D + T, 1), *scale = take_doubles(D + T, 1);
		large_scales(disk, mean, scale);
		memcpy(s->x_mean, mean, (size_t)D * sizeof *mean);
		memcpy(s->x_scale, scale, (size_t)D * sizeof *mean);
		memcpy(s->y_mean, mean + D, (size_t)T * sizeof *mean);
		memcpy(s->y_scale, scale + D, (size_t)T * sizeof *mean);
		free(mean);
		free(scale);
	} else {
		bad = odvgp_column_scales(train->X, train->n, s->D, s->x_mean, s->x_scale, &info);
		if (!bad)
			bad = odvgp_column_scales(
					train->Y, train->n, s->target_count, s->y_mean, s->y_scale, &info);
	}
	if (bad) die_of(bad, &info, NULL);
	for (int i = 0; i < s->target_count && !has_real_targets(s->likelihood); i++) {
		s->y_mean[i] = 0;
		s->y_scale[i] = 1;
	}
	for (int i = 0; i < s->target_count; i++)
		if (!isfinite(100 * s->y_scale[i] * s->y_scale[i]))
			die(BAD_INPUT, "%s: with numbers as large as %g its variance cannot be computed",
					COLUMN_TEXT(s->targets[i].column, s->targets[i].name), s->y_scale[i]);
}

/*  The smallest and the largest value of each input in training. */
static void schema_ranges(schema *s, const part *train, large *disk)
{
	s->x_low = take_doubles(s->D, 1);
	s->x_high = take_doubles(s->D, 1);
	for (tile t = {0}; next_tile(&t, train, disk, TILE_X);)
		for (ptrdiff_t i = 0; i < t.n * s->D; i++) {
			ptrdiff_t k = i % s->D;
			double v = t.X[i];
			int first = !t.first && i < s->D;
			if (first || v < s->x_low[k]) s->x_low[k] = v;
			if (first || v > s->x_high[k]) s->x_high[k] = v;
		}
}

/*  Only likelihoods of which f has the unit of y take scales of y. */
static odvgp_scales scales_of(const schema *s)
{
	int scaled =
			has_real_targets(s->likelihood) && s->likelihood != ODVGP_LIKELIHOOD_HETEROSCEDASTIC;
	odvgp_scales scales = {
			s->x_mean, s->x_scale, scaled ? s->y_mean : NULL, scaled ? s->y_scale : NULL};
	return scales;
}

/*  The number of distinct rows of X. */
static ptrdiff_t count_distinct(const double *X, ptrdiff_t n, ptrdiff_t D)
{
	size_t room = 16, mask;
	while (room < 2 * (size_t)n) room *= 2;
	mask = room - 1;
	/* Row + 1; 0: a free slot. */
	ptrdiff_t *slot = take(room, sizeof *slot), count = 0;
	for (ptrdiff_t i = 0; i < n; i++) {
		size_t at = (size_t)hash_doubles(0, X + i * D, D) & mask;
		for (; slot[at]; at = (at + 1) & mask) {
			const double *a = X + i * D, *b = X + (slot[at] - 1) * D;
			ptrdiff_t k = 0;
			while (k < D && a[k] >= b[k] && a[k] <= b[k]) k++;
			if (k == D) break;
		}
		if (slot[at]) continue;
		slot[at] = i + 1;
		count++;
	}
	free(slot);
	return count;
}

/*  The same of rows on the disk, of which at most DISTINCT_MOST are counted. Their hashes stand for
    them. */
static ptrdiff_t count_distinct_tiles(const part *p, large *disk)
{
	uint64_t *slot = take(DISTINCT_SLOTS, sizeof *slot);
	ptrdiff_t count = 0, D = disk->s->D;
	for (tile t = {0}; count < DISTINCT_MOST && next_tile(&t, p, disk, TILE_X);)
		for (ptrdiff_t i = 0; i < t.n && count < DISTINCT_MOST; i++)
			count += distinct_add(slot, hash_doubles(0, t.X + i * D, D));
	free(slot);
	return count;
}

#endif
