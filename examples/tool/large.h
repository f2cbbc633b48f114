/*  large.h - training rows that stay on the disk: a part of rows.h, which includes it where rows and
    their columns are known.

    The library reads them through a callback, a minibatch or at most 256 rows at a time, and has the
    bits of the same rows in memory. What the tool itself looks at in all rows it reads a tile at a
    time (next_tile). */
#ifndef TOOL_LARGE_H
#define TOOL_LARGE_H

enum { LARGE_TILE = 4096 };

enum { LARGE_RAW, LARGE_TRANSFORMED, LARGE_SCALED };

typedef struct large {
	table t;
	/* Is it freed with the rows? */
	int owned;
	const schema *s;
	binding b;
	/* Its training rows; row NULL: all. */
	rows r;
	/* What inputs and targets have: LARGE_RAW and so on. [classes] weights, or NULL. */
	int stage;
	const double *weight;
	/* --levels means, else NULL: the fold of each row; [input_count] [folds, levels + 1] of a column
	   of texts. */
	char *fold;
	double **means;
	/* Do they belong to another one? */
	int borrows;
	/* [columns], [D], [targets]: one row. */
	double *cell, *x, *y;
	/* [large_tile,...] */
	double *X, *Y;
	/* Memory of the library's readers. */
	void **reader;
	int readers;
} large;

static ptrdiff_t large_row(const large *l, ptrdiff_t k) { return l->r.row ? l->r.row[k] : k; }

/*  Rows that X and Y have room for. */
static ptrdiff_t large_tile(const schema *s)
{
	return larger(1, smaller(LARGE_TILE, STORED_WINDOW / 8 / larger(1, s->D)));
}

/*  Takes the rows out of *r. */
static large *large_make(const table *t, const schema *s, const char *path, rows *r)
{
	large *l = take(1, sizeof *l);
	l->t = *t;
	l->s = s;
	l->b = bind_columns(s, t, path, MISFIT_FATAL);
	l->r = *r;
	r->row = NULL;
	if (l->r.n == t->rows) {
		rows_free(&l->r);
		l->r.row = NULL;
	} else l->r.row = resize(l->r.row, (size_t)larger(1, l->r.n), sizeof *l->r.row);
	ptrdiff_t tile = large_tile(s);
	l->cell = take_doubles(t->columns, 1);
	l->x = take_doubles(s->D, 1);
	l->y = take_doubles(s->target_count, 1);
	l->X = take_doubles(tile, s->D);
	l->Y = take_doubles(tile, s->target_count);
	return l;
}

static void large_free(large *l)
{
	if (!l) return;
	for (int i = 0; i < l->readers; i++) free(l->reader[i]);
	free(l->reader);
	for (int i = 0; i < l->s->input_count && l->means && !l->borrows; i++) free(l->means[i]);
	if (!l->borrows) free(l->means);
	free(l->fold);
	free(l->cell);
	free(l->x);
	free(l->y);
	free(l->X);
	free(l->Y);
	rows_free(&l->r);
	binding_free(&l->b, l->s);
	if (l->owned) table_free(&l->t);
	free(l);
}

/*  Training row k into x and y, which has no weight. Rows that are read in order share a window.
    Returns 0 if it cannot be read; table_failure says why. */
static int large_one(large *l, ptrdiff_t k, int in_order, double *x, double *y)
{
	const schema *s = l->s;
	stored *from = l->t.stored;
	ptrdiff_t row = large_row(l, k);
	const double *cell = l->cell;
	if (in_order || (row >= from->first && row < from->first + from->count))
		cell = stored_next(from, row);
	else if (stored_rows(from, row, 1, l->cell, 1)) cell = NULL;
	if (!cell) {
		table_failure = from->error;
		return 0;
	}
	memset(x, 0, (size_t)s->D * sizeof *x);
	encode_row(s, &l->b, cell, x, y);
	ptrdiff_t at = 0;
	for (int i = 0; i < s->input_count && l->fold; at += field_inputs(&s->inputs[i]), i++) {
		if (!l->means[i]) continue;
		int code = l->b.code[i][(int)cell[l->b.input[i]]];
		x[at] = l->means[i][l->fold[k] * (s->inputs[i].level_count + 1) + code];
	}
	if (l->stage == LARGE_RAW) return 1;
	if (s->transforms) odvgp_transform_columns(x, 1, s->D, s->transforms, x, NULL);
	if (s->y.kind) y[0] = target_of(s, y[0]);
	if (l->stage == LARGE_TRANSFORMED) return 1;
	odvgp_standardise(x, 1, s->D, s->x_mean, s->x_scale, x, NULL);
	odvgp_standardise(y, 1, s->target_count, s->y_mean, s->y_scale, y, NULL);
	return 1;
}

/*  n training rows from `first` on, once there are scales with these; X [n,D], Y [n,targets], each
    may be NULL. A failure ends the program. */
static void large_need(large *l, ptrdiff_t first, ptrdiff_t n, double *X, double *Y)
{
	ptrdiff_t D = l->s->D, T = l->s->target_count;
	for (ptrdiff_t i = 0; i < n; i++)
		if (!large_one(l, first + i, 1, X ? X + i * D : l->x, Y ? Y + i * T : l->y))
			die(FAILED, "%s", table_failure);
}

/* ---- the library's readers ---- */

static int rows_in_order(const ptrdiff_t *rows, ptrdiff_t n)
{
	return n > 1 && rows[n - 1] == rows[0] + n - 1 && rows[1] == rows[0] + 1;
}

static ptrdiff_t large_for_library(
		void *user, const ptrdiff_t *rows, ptrdiff_t n, odvgp_real *X, odvgp_real *Y)
{
	large *l = user;
	ptrdiff_t D = l->s->D, T = l->s->target_count;
	int in_order = rows_in_order(rows, n);
	for (ptrdiff_t i = 0; i < n; i++) {
		if (!large_one(l, rows[i], in_order, X ? X + i * D : l->x, l->y)) return i;
		if (!Y) continue;
		if (!l->weight) memcpy(Y + i * T, l->y, (size_t)T * sizeof *Y);
		else {
			Y[2 * i] = l->y[0];
			Y[2 * i + 1] = l->weight[(int)l->y[0]];
		}
	}
	return n;
}

/*  Inputs and targets as the inputs of one row. */
static ptrdiff_t large_joint(
		void *user, const ptrdiff_t *rows, ptrdiff_t n, odvgp_real *X, odvgp_real *Y)
{
	large *l = user;
	ptrdiff_t D = l->s->D, T = l->s->target_count;
	int in_order = rows_in_order(rows, n);
	if (Y) memset(Y, 0, (size_t)n * sizeof *Y);
	for (ptrdiff_t i = 0; i < n && X; i++, X += D + T)
		if (!large_one(l, rows[i], in_order, X, X + D)) return i;
	return n;
}

typedef ptrdiff_t large_reader(
		void *user, const ptrdiff_t *rows, ptrdiff_t n, odvgp_real *X, odvgp_real *Y);

static odvgp_status large_try_reader(
		large *l, odvgp_model *model, large_reader *read, odvgp_info *info)
{
	const odvgp_reader reader = {read, l};
	size_t size = odvgp_reader_size(model, info);
	if (!size) return info->status;
	l->reader = resize(l->reader, (size_t)l->readers + 1, sizeof *l->reader);
	void *block = l->reader[l->readers++] = take(size, 1);
	return odvgp_set_reader(model, &reader, block, size, info);
}

static void large_set_reader(large *l, odvgp_model *model, large_reader *read)
{
	odvgp_info info = no_info;
	odvgp_status s = large_try_reader(l, model, read, &info);
	if (s) die_of(s, &info, NULL);
}

/*  The same training rows without those that are held out, for as long as `l` is there. */
static large *large_without(const large *l, const char *held)
{
	rows left = {0, take((size_t)l->r.n, sizeof *left.row)};
	char *fold = l->fold ? take((size_t)l->r.n, 1) : NULL;
	for (ptrdiff_t k = 0; k < l->r.n; k++) {
		if (held[k]) continue;
		if (fold) fold[left.n] = l->fold[k];
		left.row[left.n++] = large_row(l, k);
	}
	large *part_of_it = large_make(&l->t, l->s, "", &left);
	part_of_it->stage = l->stage;
	part_of_it->weight = l->weight;
	part_of_it->fold = fold;
	part_of_it->means = l->means;
	part_of_it->borrows = 1;
	return part_of_it;
}

/*  Means and scales of inputs and targets [D + targets], by a model that has both as inputs. */
static void large_scales(large *l, double *mean, double *scale)
{
	odvgp_info info = no_info;
	odvgp_config c = odvgp_config_defaults(l->r.n, l->s->D + l->s->target_count, 1, 1, 0);
	odvgp_model *model = NULL;
	c.optim.batch = 1;
	odvgp_status s = odvgp_model_create(&model, &c, NULL, NULL, NULL, &info);
	if (s) die_of(s, &info, NULL);
	large_set_reader(l, model, large_joint);
	s = odvgp_reader_scales(model, mean, scale, &info);
	if (s) die_of(s, &info, NULL);
	odvgp_model_free(model);
}

#endif
