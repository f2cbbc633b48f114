/*  choose.h - --basis auto with --auto-tries above 1, as by default: candidates for these data, and
    the race between them (race.h).

    The first candidate is what plan.h says. The others are rows of one table: other members, sizes
    and kernels, with the same warm starts, and as many steps as take the same counted operations;
    of a skewed target or one with far values also its logarithm or asinh. After the first round one
    more may take a place: Student's t where the best one's 50 % bands hold too many rows, matern12
    where matern32 is clearly the best. All score by the log density of the target itself,
    standardised, counts by their probability. With --minutes there is a race where they have room
    for the sizes that are chosen without, or for an exact model, which is the first candidate where it
    has all rows; each may take all that is left of them.

    An exact candidate begins with the evidence of 1,000 to 1,500 rows. Of more than 4,000 rows it
    races on 3,000, and what it learns there goes to a model of all rows, or of exact_rows: an exact
    model of these is often better than a sparse one of all. Short --minutes have room for a brief
    race, with the evidence of 700 and models of 1,500.

    Fewer than FOLDS_ROWS rows are all trained on, and score by FOLDS folds, which the seed draws. Of
    more rows, and of classes or many inputs, some are held out and score: a tenth, or up to a fifth
    of few, at most MOST_VALID. Then a model of all rows gets the winner's parameters and does the
    rest of its steps. */
#ifndef TOOL_CHOOSE_H
#define TOOL_CHOOSE_H

#include "race.h"
#include "train.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

enum {
	MOST_TRIES = 8,
	MOST_ENTRIES = MOST_TRIES + 4,
	LEAST_VALID = 200,
	RACE_LEAST_ROWS = 500,
	MOST_WARM = 8
};
/*  Twice the steps over which natural steps grow (plan_classes). */
enum { CLASSES_LEAST = 40 };
enum { FOLDS = 5, FOLDS_LEAST_ROWS = 100, FOLDS_TRIES = 7, EXACT_TRIES = 5, BRIEF_TRIES = 3 };
/*  SHORT: where validation may end the winner's training long before its last step. */
static const double RACE_SHARE = 1.0 / 3, RACE_SHARE_SHORT = 0.15;
/*  Operations that a race may add even where that is more than its share: by folds five eighths of FLOPS;
    of more rows, while exact models are candidates, about as many as SGPR's training takes. */
static const double RACE_LEAST = 1.5e12, RACE_LEAST_EXACT = 4.6e12;
/*  Of a candidate's operations, in those of the first one. */
static const double MOST_COSTS = 1.2;
/*  With --minutes it is planned in counted operations, whose time is uncertain: after ENOUGH of the
    seconds no entry begins a round, and after MOST none goes on; and of a brief race. */
static const double RACE_ENOUGH_TIME[] = {0.4, 0.6}, RACE_MOST_TIME[] = {0.6, 0.7};
/*  An exact candidate of many rows to fit races on some of them, a few steps, and its training goes on
    with all, or with those of exact_rows, at most AFTER_STEPS. Other candidates see all rows to fit: it
    must win with fewer. */
enum { AFTER_STEPS = 10 };

typedef struct choice {
	/* Its options before plan.h, and of each candidate. */
	options before, o[MOST_ENTRIES];
	race_entry list[MOST_ENTRIES];
	char name[MOST_ENTRIES][100];
	/* Of its training with all rows. */
	double bytes[MOST_ENTRIES];
	odvgp_warm warm[MOST_ENTRIES][MOST_WARM];
	odvgp_likelihood likelihood[MOST_ENTRIES];
	race r;
	/* All rows of training; those to fit, with folds the same ones, and those held out; Y as the
	   library takes it. */
	ptrdiff_t rows;
	dataset fit;
	part held;
	double *held_Y;
	/* The fold of each row; NULL: none. And are the dataset's rows on the disk? */
	int *fold, stored;
	/* Training rows of an exact candidate. */
	ptrdiff_t exact_rows;
	const workers *w;
	odvgp_isa isa;
	int quiet;
	/* What was tried, a line each; is there a winner? */
	bytes table;
	int raced;
	/* With --minutes: operations of the winner's training, else 0. Exact candidates' rows, and their
	   place in exact_races. */
	double budget;
	const exact_race *cut;
	ptrdiff_t some;
	int brief;
	/* How many candidates take too much memory, and the bytes of the smallest of them. */
	int large;
	double least_large;
	/* Training rows whose inputs differ; has a column of numbers long tails? */
	ptrdiff_t distinct;
	int tails;
	/* Both parts' rows of candidates that transform columns, else NULL. */
	double *X[MOST_ENTRIES], *X_valid[MOST_ENTRIES];
	/* Inputs and targets of exact candidates that race on some of the rows to fit, else NULL; the
	   steps that follow on all rows. */
	double *some_X[MOST_ENTRIES], *some_Y[MOST_ENTRIES];
	ptrdiff_t after[MOST_ENTRIES];
	/* What learns a transform of the target has targets of its own, and their mean and scale. */
	const dataset *d;
	double *Y[MOST_ENTRIES], *Y_valid[MOST_ENTRIES], y_scales[MOST_ENTRIES][2];
	odvgp_transform target[MOST_ENTRIES];
	/* Of transform_words: what may help the target; are there whole numbers from 0 on? */
	int target_kind, counts;
	/* At the last score: squared errors of the means [valid]; rows inside the 50 % bands. */
	double *squares[MOST_ENTRIES];
	ptrdiff_t inside[MOST_ENTRIES];
} choice;

/* ---- rows ---- */

/*  An exact candidate predicts a row as slowly as its own rows are many. */
static ptrdiff_t rows_held(const dataset *d)
{
	ptrdiff_t n = d->train.n, most = has_exact(d) ? EXACT_VALID : MOST_VALID;
	return smaller(most, larger(n / 10, smaller(LEAST_VALID, n / 5)));
}

/*  Only a Gaussian's q is a formula. */
static int has_folds(const dataset *d)
{
	return d->s.likelihood == ODVGP_LIKELIHOOD_GAUSSIAN && d->train.n < FOLDS_ROWS &&
		   has_rows_enough(d);
}

/*  How many candidates there are at most: a training of few rows is short enough for more. */
static int choice_tries(const options *o, const dataset *d)
{
	if (has_folds(d) && !o->given[OPT_AUTO_TRIES]) return FOLDS_TRIES;
	return (int)option_integer(o, OPT_AUTO_TRIES, 1, MOST_TRIES);
}

/*  The part of all operations that a race may add. */
static double race_share(const dataset *d)
{
	/* of many rows plan_patience has held some out, too */
	int ends_late = !d->valid.n || (d->calibrates && d->train.n < MANY_ROWS);
	return ends_late ? RACE_SHARE : RACE_SHARE_SHORT;
}

/*  From how many rows on there is a race. */
static ptrdiff_t race_begins(const dataset *d)
{
	return has_folds(d) ? FOLDS_LEAST_ROWS : RACE_LEAST_ROWS;
}

/*  Copies the `count` rows with this flag of a table with so many columns. */
static double *choose_rows(
		const double *from, ptrdiff_t columns, const char *held, int flag, ptrdiff_t count)
{
	double *to = take_doubles(count, columns), *end = to + count * columns;
	for (double *next = to; next < end; held++, from += columns) {
		if (*held != flag) continue;
		memcpy(next, from, (size_t)columns * sizeof *to);
		next += columns;
	}
	return to;
}

/*  The same of rows on the disk: X and Y of those held out, or of all (NULL). */
static void choose_stored(const dataset *d, const char *held, double *X, double *Y)
{
	ptrdiff_t T = y_columns(d), D = d->s.D;
	for (ptrdiff_t k = 0; k < d->train.n; k++) {
		if (held && !held[k]) continue;
		if (!large_for_library(d->disk, &k, 1, X, Y)) die(FAILED, "%s", table_failure);
		X += D;
		Y += T;
	}
}

/*  Few rows come into memory for the race. */
static void hold_few(choice *c, const dataset *d, uint64_t seed)
{
	ptrdiff_t n = c->rows;
	c->r.folds = FOLDS;
	c->r.fold = c->fold = take((size_t)n, sizeof *c->fold);
	for (ptrdiff_t i = 0; i < n; i++) c->fold[i] = (int)(permute(seed, n, i) % FOLDS);
	if (!c->stored) return;
	c->fit.disk = NULL;
	c->fit.train.X = take_doubles(n, d->s.D);
	c->fit.Y = take_doubles(n, y_columns(d));
	choose_stored(d, NULL, c->fit.train.X, c->fit.Y);
}

/*  A candidate's model has the bounds of the winner's, as its file has, and may read its rows. */
static odvgp_status choice_made(void *user, odvgp_model *model, int of_file, odvgp_info *info)
{
	const choice *c = user;
	odvgp_status s = of_file ? ODVGP_OK : model_bounds(model, exact_most(c->rows), info);
	return s || !c->fit.disk ? s : large_try_reader(c->fit.disk, model, large_for_library, info);
}

static void hold_rows(choice *c, const options *o, const dataset *d)
{
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX) ^ 0x72616365u;
	ptrdiff_t n = d->train.n, count = rows_held(d), rest = n - count, T = y_columns(d);
	c->rows = c->r.valid = n;
	c->stored = d->disk != NULL;
	c->fit = *d;
	if (has_folds(d)) {
		hold_few(c, d, seed);
		return;
	}
	c->r.valid = count;
	char *held = take((size_t)n, 1);
	for (ptrdiff_t i = 0; i < n; i++) held[i] = permute(seed, n, i) < count;
	c->fit.train.n = rest;
	c->held.n = count;
	if (d->disk) {
		c->held.X = take_doubles(count, d->s.D);
		c->held_Y = take_doubles(count, T);
		choose_stored(d, held, c->held.X, c->held_Y);
		c->fit.disk = large_without(d->disk, held);
		free(held);
		return;
	}
	c->fit.train.X = choose_rows(d->train.X, d->s.D, held, 0, rest);
	c->fit.Y = choose_rows(d->Y, T, held, 0, rest);
	c->fit.train.Y = c->fit.Y;
	c->held.X = choose_rows(d->train.X, d->s.D, held, 1, count);
	c->held_Y = choose_rows(d->Y, T, held, 1, count);
	free(held);
}

/*  Gives parts of standardised rows, the first of which is d->train, other scales of their columns of
    numbers; schema and rows are then as dataset_make leaves them. kind: of transform_words. */
static void choose_transform(dataset *d, part **parts, int count, int kind)
{
	schema *s = &d->s;
	ptrdiff_t D = s->D;
	for (int p = 0; p < count; p++)
		for (ptrdiff_t i = 0; i < parts[p]->n * D; i++)
			parts[p]->X[i] = parts[p]->X[i] * s->x_scale[i % D] + s->x_mean[i % D];
	s->transforms = take((size_t)D, sizeof *s->transforms);
	for (int i = 0; i < s->input_count; i++)
		for (ptrdiff_t k = first_input(s, i), end = k + field_inputs(&s->inputs[i]); k < end; k++)
			if (has_scale(&s->inputs[i]) && transform_input(d, k, kind))
				transform_input(d, k, ODVGP_TRANSFORM_NONE);
	for (int p = 0; p < count; p++)
		odvgp_transform_columns(parts[p]->X, parts[p]->n, D, s->transforms, parts[p]->X, NULL);
	odvgp_column_scales(parts[0]->X, parts[0]->n, D, s->x_mean, s->x_scale, NULL);
	indicators_stay(d);
	for (int p = 0; p < count; p++)
		odvgp_standardise(parts[p]->X, parts[p]->n, D, s->x_mean, s->x_scale, parts[p]->X, NULL);
}

/*  The same of copies of the rows of a candidate. */
static void candidate_transform(choice *c, int k, int kind)
{
	dataset d = c->fit;
	part valid = c->held, *parts[2] = {&d.train, &valid};
	ptrdiff_t D = d.s.D;
	c->X[k] = d.train.X = take_doubles(d.train.n, D);
	c->X_valid[k] = valid.X = take_doubles(valid.n, D);
	memcpy(d.train.X, c->fit.train.X, (size_t)(d.train.n * D) * sizeof(double));
	if (valid.n) memcpy(valid.X, c->held.X, (size_t)(valid.n * D) * sizeof(double));
	d.s.x_mean = take_doubles(D, 2);
	d.s.x_scale = d.s.x_mean + D;
	memcpy(d.s.x_mean, c->fit.s.x_mean, (size_t)D * sizeof(double));
	memcpy(d.s.x_scale, c->fit.s.x_scale, (size_t)D * sizeof(double));
	choose_transform(&d, parts, 2, kind);
	transforms_free(d.s.transforms, D);
	free(d.s.x_mean);
	c->list[k].X = c->X[k];
	c->list[k].X_valid = c->X_valid[k];
}

/*  Standard deviations from the mean beyond which a column has long tails: of ten thousand numbers
    of a normal distribution the largest one stands at 4. */
static const double LONG_TAIL = 7;

static int has_tails(const dataset *d)
{
	const schema *s = &d->s;
	for (int i = 0; i < s->input_count; i++)
		for (ptrdiff_t k = first_input(s, i), end = k + field_inputs(&s->inputs[i]); k < end; k++)
			for (ptrdiff_t row = 0; has_scale(&s->inputs[i]) && row < d->train.n; row++)
				if (fabs(d->train.X[row * s->D + k]) > LONG_TAIL) return 1;
	return 0;
}

/* ---- targets ---- */

/*  The training targets in their units, sorted; NULL: they are on the disk. */
static double *sorted_targets(const dataset *d)
{
	if (d->disk) return NULL;
	double *y = take_doubles(d->train.n, 1);
	for (ptrdiff_t i = 0; i < d->train.n; i++)
		y[i] = d->s.y_mean[0] + d->s.y_scale[0] * d->train.Y[i];
	qsort(y, (size_t)d->train.n, sizeof *y, by_number);
	return y;
}

/*  Skewed targets may become logarithms, those with far values asinh. Of normal ones none is either: a
    million have a range of about seven times that of their middle half. */
static int target_kind_of(const double *y, ptrdiff_t n)
{
	double low = y[n / 2] - y[0], high = y[n - 1] - y[n / 2], middle = y[n - 1 - n / 4] - y[n / 4];
	return high > 5 * low            ? ODVGP_TRANSFORM_LOG
		   : low + high > 8 * middle ? ODVGP_TRANSFORM_ASINH
									 : ODVGP_TRANSFORM_NONE;
}

/*  Whole numbers from 0 on, not just two. */
static int are_counts(const double *y, ptrdiff_t n, double unit)
{
	int values = 1;
	for (ptrdiff_t i = 0; i < n; i++) {
		if (fabs(y[i] - round(y[i])) > 1e-9 * unit || y[i] < -0.5) return 0;
		values += i && y[i] > y[i - 1] + 0.5;
	}
	return values > 2;
}

static void choice_targets(choice *c)
{
	const dataset *d = c->d;
	const schema *s = &d->s;
	double *y = s->likelihood == ODVGP_LIKELIHOOD_GAUSSIAN ? sorted_targets(d) : NULL;
	if (!y) return;
	if (!s->y.kind) c->target_kind = target_kind_of(y, d->train.n);
	c->counts = !s->y.kind && are_counts(y, d->train.n, fabs(s->y_mean[0]) + s->y_scale[0]);
	free(y);
}

/*  Are all of a part's targets where the transform is? In their units they are shift + scale y. */
static int target_takes(const schema *s, const part *p, double shift, double scale)
{
	for (ptrdiff_t i = 0; i < p->n; i++)
		if (isnan(target_of(s, shift + scale * p->Y[i]))) return 0;
	return 1;
}

/*  Gives parts of standardised targets, the first of which is fitted, the transform s->y, and s its mean
    and scale. */
static void target_change(schema *s, part **parts, int count)
{
	double shift = s->y_mean[0], scale = s->y_scale[0];
	for (int p = 0; p < count; p++)
		for (ptrdiff_t i = 0; i < parts[p]->n; i++)
			parts[p]->Y[i] = target_of(s, shift + scale * parts[p]->Y[i]);
	odvgp_column_scales(parts[0]->Y, parts[0]->n, 1, s->y_mean, s->y_scale, NULL);
	for (int p = 0; p < count; p++)
		odvgp_standardise(parts[p]->Y, parts[p]->n, 1, s->y_mean, s->y_scale, parts[p]->Y, NULL);
}

/*  Candidate k learns a transform of the target. Returns 0 if there is none for some row. */
static int candidate_target(choice *c, int k, int kind)
{
	const dataset *d = c->d;
	schema s = c->fit.s;
	part fit = c->fit.train, held = c->held, *parts[2] = {&fit, &held};
	double scales[2] = {s.y_mean[0], s.y_scale[0]}, *y = sorted_targets(&c->fit);
	const char *none = transform_fit(&s.y, kind, y, fit.n);
	free(y);
	held.Y = c->held_Y;
	if (none || !target_takes(&s, &d->train, scales[0], scales[1]) ||
			!target_takes(&s, &d->test, scales[0], scales[1]) ||
			!target_takes(&s, &d->valid, scales[0], scales[1]))
		return 0;
	c->Y[k] = take_doubles(fit.n, 1);
	c->Y_valid[k] = take_doubles(held.n, 1);
	memcpy(c->Y[k], c->fit.Y, (size_t)fit.n * sizeof(double));
	if (held.n) memcpy(c->Y_valid[k], held.Y, (size_t)held.n * sizeof(double));
	fit.Y = c->Y[k];
	held.Y = c->Y_valid[k];
	s.y_mean = scales;
	s.y_scale = scales + 1;
	target_change(&s, parts, 2);
	c->target[k] = s.y;
	memcpy(c->y_scales[k], scales, sizeof scales);
	c->list[k].Y = c->Y[k];
	c->list[k].Y_valid = c->Y_valid[k];
	return 1;
}

/*  The same of the dataset, for the winner. */
static void choose_target(dataset *d, int kind)
{
	schema *s = &d->s;
	part *parts[3] = {&d->train, &d->test, &d->valid};
	double *y = sorted_targets(d);
	odvgp_column_scales(y, d->train.n, 1, &s->y_raw[0], &s->y_raw[1], NULL);
	transform_fit(&s->y, kind, y, d->train.n);
	free(y);
	target_change(s, parts, 3);
}

/*  log P(low < Z < high) of a standard normal Z. Where that underflows, the density falls from the
    nearer end a on about as exp(-a z). */
static double log_between(double low, double high)
{
	double side = low + high > 0 ? 1 : -1, a = side > 0 ? low : -high, b = side > 0 ? high : -low,
		   p = 0.5 * (erfc(a / sqrt(2)) - erfc(b / sqrt(2)));
	if (p > 1e-280) return log(p);
	double width = a > 0 ? -expm1(-a * (b - a)) / a : b - a;
	return log(width) - 0.5 * (log(6.283185307179586477) + a * a);
}

/*  Within this of the mean, in standard deviations, is half of a normal distribution. */
static const double HALF_BAND = 0.674489750196082;

/*  Gives an exact candidate's rows the variances that --calibrate will give it: its targets Y on the
    scale of its moments. */
static void judge_exact(race_entry *e, const double *Y, ptrdiff_t n)
{
	double *mean = e->moments, *var = e->moments + n, squares = 0;
	for (ptrdiff_t i = 0; i < n; i++) squares += (Y[i] - mean[i]) * (Y[i] - mean[i]) / var[i];
	double scale = loo_scale(squares / (double)n, (double)n);
	for (ptrdiff_t i = 0; i < n; i++) {
		double square = (Y[i] - mean[i]) * (Y[i] - mean[i]) / var[i];
		e->logp[i] -= 0.5 * (log(scale) + square * (1 / scale - 1));
		var[i] *= scale;
	}
}

/*  Student's t gains where most errors are small and a few are huge, and its variance says little about
    those. Many read means and standard deviations alone: what a normal distribution of these loses
    must be less than what its density gains over the entry that it follows. */
static const char *judge_student(const race *r, const race_entry *e)
{
	ptrdiff_t n = r->valid;
	const double *Y = r->Y_valid, *mean = e->moments, *var = e->moments + n;
	const race_entry *first = &r->list[e->from];
	double gain = 0;
	if (!isfinite(first->mean)) return NULL;
	for (ptrdiff_t i = 0; i < n; i++) {
		double square = (Y[i] - mean[i]) * (Y[i] - mean[i]) / var[i],
			   normal = -0.5 * (log(6.283185307179586477 * var[i]) + square);
		gain += e->logp[i] - first->logp[i] + normal - first->logp[i];
	}
	return gain > 0 ? NULL : "a normal distribution of its means and variances loses more than it gains";
}

/*  A score is the log density of the standardised target itself, of counts log P(y - 1/2 < Y < y + 1/2);
    a transform of the target is refused where its means are off by more, as exp of a large variance
    makes them. */
static const char *choice_judge(void *user, const race *r, race_entry *e)
{
	choice *c = user;
	ptrdiff_t n = r->valid, k = e - r->list;
	schema s = c->fit.s;
	const double *Y = c->fold ? c->fit.Y : c->held_Y;
	double shift = s.y_mean[0], scale = s.y_scale[0], g_shift = shift, g_scale = scale, sum = 0,
		   squares = 0;
	if (!e->moments) return NULL;
	if (c->likelihood[k] == ODVGP_LIKELIHOOD_STUDENTT) return judge_student(r, e);
	if (scales_exact(&c->o[k])) {
		const double *own = e->Y_valid ? e->Y_valid : r->Y_valid, *all = e->Y ? e->Y : r->Y;
		judge_exact(e, c->fold ? all : own, n);
	}
	if (c->target[k].kind) {
		s.y = c->target[k];
		g_shift = c->y_scales[k][0];
		g_scale = c->y_scales[k][1];
	}
	if (!c->squares[k]) c->squares[k] = take_doubles(n, 1);
	c->inside[k] = 0;
	for (ptrdiff_t i = 0; i < n; i++) {
		double y = shift + scale * Y[i], mean = g_shift + g_scale * e->moments[i],
			   var = g_scale * g_scale * e->moments[n + i], sd = sqrt(var), m = mean, v = var;
		c->inside[k] += fabs(target_of(&s, y) - mean) <= HALF_BAND * sd;
		if (c->counts) {
			double low = target_of(&s, y - 0.5);
			e->logp[i] = log(scale) + log_between(isnan(low) ? -HUGE_VAL : (low - mean) / sd,
											  (target_of(&s, y + 0.5) - mean) / sd);
		} else if (s.y.kind) e->logp[i] += log(target_slope(&s, y) * scale / g_scale);
		target_moments(&s, &m, &v);
		c->squares[k][i] = (m - y) * (m - y) / (scale * scale);
		sum += c->squares[k][i] - (c->squares[0] ? c->squares[0][i] : 0);
	}
	if (!c->target[k].kind || !c->squares[0]) return NULL;
	for (ptrdiff_t i = 0; i < n; i++) {
		double more = c->squares[k][i] - c->squares[0][i] - sum / (double)n;
		squares += more * more;
	}
	return sum <= sqrt(squares) ? NULL : "its means are worse than those of the target itself";
}

/*  Heavy tails call for Student's t, steps that matern32 has seen for matern12. */
static int choice_joins(void *user, const race *r, const int *order, int left)
{
	const choice *c = user;
	int best = order[0];
	double n = (double)r->valid, error = 0, gain = 0;
	/* One that has failed may have no densities. */
	if (!isfinite(r->list[best].mean)) return -1;
	if (left > 1 && isfinite(r->list[order[1]].mean))
		gain = race_difference(r, &r->list[best], &r->list[order[1]], &error);
	const char *kernel = c->o[best].value[OPT_KERNEL], *basis = c->o[best].value[OPT_BASIS];
	int rough = strcmp(kernel, "matern32(ard)") == 0 && gain > fmax(error, RACE_TIE),
		wide = r->list[best].moments && !c->counts &&
			   (double)c->inside[best] > 0.5 * n + 1.5 * sqrt(n);
	for (int k = 0; k < r->count; k++) {
		int student = c->likelihood[k] == ODVGP_LIKELIHOOD_STUDENTT;
		if (r->list[k].late &&
				(student ? wide : rough && strcmp(c->o[k].value[OPT_BASIS], basis) == 0))
			return k;
	}
	return -1;
}

/* ---- candidates ---- */

/*  Options on their own memory. */
static options options_copy(const options *o)
{
	options copy = options_borrow(o);
	for (int i = 0; i < OPTION_COUNT; i++)
		if (o->owned[i]) copy.value[i] = copy.owned[i] = copy_text(o->owned[i]);
	return copy;
}

/*  What a candidate has besides the plan's: NULL, 0. `rows`: of training, from and to. */
typedef struct variant {
	int classes;
	/* 1: only of fewer than MANY_CLASSES. */
	int few_classes;
	ptrdiff_t from, to;
	/* 1: only where folds score. */
	int folds;
	const char *basis, *kernel;
	ptrdiff_t beta, gamma;
	/* 1: begins with the first candidate's hyperparameters, whose slots have the same names. */
	int follows;
	const char *warm;
	/* 1: natural steps as those of many classes. */
	int fast;
	/* Of --transform, for all columns of numbers: only where one of them has long tails. */
	const char *transform;
	/* Of --target-transform: only where the target calls for it. */
	int target;
	/* It joins after the first round if choice_joins says so: STUDENT with this likelihood. */
	int late;
} variant;
enum { LATE_STUDENT = 1, LATE_KERNEL };

/*  The best come first: a race has choice_tries - 1 of those that fit the data. What cannot win
    within the same operations stands behind; bench/results/auto.txt has the races. */
#define EXACT      .to = MANY_ROWS, .basis = "exact"
#define SMALL      EXACT, .folds = 1
#define FEW        .to = SGPR_ROWS, .follows = 1
#define MANY       .from = SGPR_ROWS, .to = PTRDIFF_MAX, .follows = 1
#define ANY        .to = PTRDIFF_MAX, .follows = 1
#define CLASSES    .classes = 1, .to = PTRDIFF_MAX
#define SOLVE      .basis = "solve", .beta = 300, .gamma = 300
#define ORTH       .basis = "orth", .beta = 300, .gamma = 700
#define RBF        .kernel = "rbf(ard)"
#define MATERN32   .kernel = "matern32(ard)"
#define MATERN12   .kernel = "matern12(ard)", .late = LATE_KERNEL
#define SHORT      .kernel = "matern52(ard) + matern32(0.3, variance=0.1, ard)"
#define ROUGH      .kernel = "matern32(ard) + matern32(0.3, variance=0.1, ard)"
#define LAPLACIAN  .kernel = "laplacian(ard)"
#define STEEP      .kernel = "matern52(ard) + laplacian(variance=0.1, ard)"
#define ADDITIVE   .kernel = "matern52(ard) + additive(variance=0.1, ard)"
#define LINEAR     .kernel = "matern52(ard) + linear"
#define ASINH      .transform = "all=asinh"
#define LOG_OF_Y   .target = ODVGP_TRANSFORM_LOG
#define ASINH_OF_Y .target = ODVGP_TRANSFORM_ASINH
static const variant variants[] = {
		{EXACT, STEEP},
		{EXACT},
		{EXACT, LOG_OF_Y},
		{EXACT, ASINH_OF_Y},
		{ANY, LOG_OF_Y},
		{ANY, ASINH_OF_Y},
		{EXACT, ASINH},
		{EXACT, LAPLACIAN},
		{SMALL, SHORT},
		{SMALL, ROUGH},
		{EXACT, RBF},
		{EXACT, MATERN32},
		{FEW, ASINH},
		{FEW, MATERN32},
		{FEW, RBF},
		{MANY, SOLVE},
		{MANY, SOLVE, ASINH},
		{MANY, ORTH},
		{MANY, ASINH},
		{MANY, SOLVE, MATERN32},
		{MANY, SOLVE, RBF},
		{FEW, ADDITIVE},
		{MANY, SOLVE, ADDITIVE},
		{FEW, SOLVE},
		{FEW, SHORT},
		{FEW, LINEAR},
		{CLASSES, .few_classes = 1, .kernel = "matern52(ard)"},
		{CLASSES, .kernel = "matern52(ard, variance=50)", .warm = "off", .fast = 1},
		{CLASSES, .kernel = "laplacian(ard, variance=50)", .warm = "off", .fast = 1},
		{CLASSES, .kernel = "matern52(ard, variance=200)", .warm = "off", .fast = 1},
		{CLASSES, .transform = "all=linear"},
		{CLASSES, .fast = 1},
		{FEW, ORTH, .late = LATE_STUDENT},
		{MANY, SOLVE, .late = LATE_STUDENT},
		{EXACT, MATERN12},
		{FEW, MATERN12},
		{MANY, SOLVE, MATERN12},
};
#undef EXACT
#undef SMALL
#undef FEW
#undef MANY
#undef ANY
#undef CLASSES
#undef SOLVE
#undef ORTH
#undef RBF
#undef MATERN32
#undef MATERN12
#undef SHORT
#undef ROUGH
#undef LAPLACIAN
#undef STEEP
#undef ADDITIVE
#undef LINEAR
#undef ASINH
#undef LOG_OF_Y
#undef ASINH_OF_Y
enum { VARIANTS = sizeof variants / sizeof *variants };

static void variant_store(options *o, int id, const char *text)
{
	if (text && !o->given[id]) option_store(o, id, copy_text(text));
}

/*  Of a prediction of mean and variance. */
static double row_flops(const odvgp_config *c)
{
	double R = (double)(c->layer[0].M + c->layer[0].M_gamma);
	return R * (2 * (double)c->layer[0].P * R + 50 + 13 * config_width(c));
}

/*  Of the factors of a predictor. */
static double predictor_flops(const odvgp_config *c)
{
	double R = (double)(c->layer[0].M + c->layer[0].M_gamma);
	if (c->objective == ODVGP_OBJECTIVE_EXACT) return R * R * R;
	return 4 * (double)c->layer[0].P * R * R * R;
}

/*  Of a score: q's optimum, a predictor, predictions, of numbers also of y's moments. */
static double score_flops(const odvgp_config *c, int fit_q, ptrdiff_t rows)
{
	int exact = c->objective == ODVGP_OBJECTIVE_EXACT,
		times = has_classes(c->lik.kind) ? 1 : 2;
	return (fit_q && !exact ? fit_q_flops(c) : 0) + predictor_flops(c) +
		   times * (double)rows * row_flops(c);
}

/*  The same of an entry, by held-out rows or folds, and of the file as which it waits. */
static double entry_score_flops(const choice *c, const race_entry *e)
{
	ptrdiff_t n = c->r.valid;
	double file = predictor_flops(&e->config);
	if (!c->fold) return file + score_flops(&e->config, e->fit_q, n);
	odvgp_config part = race_resize(&e->config, n - n / FOLDS);
	if (e->config.objective == ODVGP_OBJECTIVE_COLLAPSED) file += fit_q_flops(&e->config);
	return file + FOLDS * (init_flops(&part) + score_flops(&part, e->fit_q, n / FOLDS + 1));
}

static void candidate_name(choice *c, int k)
{
	const odvgp_config *g = &c->list[k].config;
	const options *o = &c->o[k], *first = &c->o[0];
	bytes b = {NULL, 0, 0};
	bytes_print(&b, "%s", basis_of(o)->name);
	if (!is_exact(basis_of(o))) bytes_print(&b, " %td", g->layer[0].M);
	if (g->layer[0].M_gamma) bytes_print(&b, "+%td", g->layer[0].M_gamma);
	if (k && strcmp(o->value[OPT_KERNEL], first->value[OPT_KERNEL]) != 0)
		bytes_print(&b, " %s", o->value[OPT_KERNEL]);
	if (strcmp(o->value[OPT_TRANSFORM], first->value[OPT_TRANSFORM]) != 0)
		bytes_print(&b, " %s", o->value[OPT_TRANSFORM]);
	if (c->target[k].kind) bytes_print(&b, " %s of the target", o->value[OPT_TARGET_TRANSFORM]);
	if (c->likelihood[k] != c->fit.s.likelihood)
		bytes_print(&b, " %s", likelihood_text(c->likelihood[k]));
	if (k && c->likelihood[k] == c->fit.s.likelihood && o->value[OPT_NATGRAD_WARMUP] &&
			!same_value(o->value[OPT_NATGRAD_STEP], first->value[OPT_NATGRAD_STEP]))
		bytes_print(&b, " natgrad %s", o->value[OPT_NATGRAD_STEP]);
	if (k && c->list[k].from < 0 && strcmp(first->value[OPT_WARM], "off") != 0 &&
			strcmp(o->value[OPT_WARM], "off") == 0)
		bytes_print(&b, " cold");
	snprintf(c->name[k], sizeof c->name[k], "%s", b.at);
	free(b.at);
	c->list[k].name = c->name[k];
}

/*  The default of --warm, for which the library looks at a model. */
static void candidate_warm(choice *c, int k)
{
	race_entry *e = &c->list[k];
	options *o = &c->o[k];
	odvgp_model *model;
	if (!o->value[OPT_WARM]) {
		size_t size = odvgp_model_size(&e->config, NULL);
		void *block = malloc(size);
		if (block && !odvgp_model_init(&model, &e->config, block, size, NULL))
			warm_settle(o, model, c->w, sizes_given(o), 0);
		else option_store(o, OPT_WARM, copy_text("off"));
		free(block);
	}
	char *list = warm_list(o), *rest = list;
	odvgp_warm warm;
	e->warm = c->warm[k];
	e->warm_count = 0;
	while (e->warm_count < MOST_WARM && warm_next(&rest, &warm)) {
		warm.rows = smaller(warm.rows, c->fit.train.n);
		warm.M = smaller(warm.M, warm.rows);
		c->warm[k][e->warm_count++] = warm;
	}
	free(list);
}

/*  Does an exact candidate race on some of the rows to fit? */
static int candidate_has_some(const choice *c, int k)
{
	return is_exact(basis_of(&c->o[k])) && !c->fold && c->fit.train.n > larger(c->cut->whole, c->some);
}

/*  An exact candidate's operations as --minutes count them. */
static double exact_part(const choice *c, int k)
{
	return is_exact(basis_of(&c->o[k])) && c->budget > 0 ? EXACT_PART : 1;
}

static ptrdiff_t steps_within(double flops, double step, ptrdiff_t most)
{
	return (ptrdiff_t)fmin((double)most, fmax(0, floor(flops / step)));
}

/*  Steps of its race, those that follow on all rows in what is left of `flops`, and what these take
    with the factors of the posterior. */
static void candidate_rest(choice *c, int k, double flops)
{
	race_entry *e = &c->list[k];
	odvgp_config all = race_resize(&e->config, c->exact_rows);
	double part = exact_part(c, k), end = part * (predictor_flops(&all) + 0.1 * step_flops(&all)),
		   each = part * step_flops(&all), left = fmax(c->budget, flops) - e->start_flops - end;
	e->steps = c->budget > 0 ? steps_within(left, e->step_flops, c->cut->steps) : c->cut->steps;
	c->after[k] = steps_within(left - (double)e->steps * e->step_flops, each, AFTER_STEPS);
	e->rest_flops = end + (double)c->after[k] * each;
}

/*  Its random rows, of what the candidate has of all to fit. */
static void candidate_some(choice *c, int k)
{
	race_entry *e = &c->list[k];
	const double *X = e->X ? e->X : c->fit.train.X, *Y = e->Y ? e->Y : c->fit.Y;
	ptrdiff_t n = c->fit.train.n, D = c->fit.s.D;
	c->some_X[k] = take_doubles(c->some, D);
	c->some_Y[k] = take_doubles(c->some, 1);
	for (ptrdiff_t i = 0; i < c->some; i++) {
		ptrdiff_t row = permute((uint64_t)n, n, i);
		memcpy(c->some_X[k] + i * D, X + row * D, (size_t)D * sizeof *X);
		c->some_Y[k][i] = Y[row];
	}
	e->X = c->some_X[k];
	e->Y = c->some_Y[k];
}

/*  A candidate's config for all rows. */
static odvgp_config candidate_config(const choice *c, int k)
{
	return race_resize(&c->list[k].config,
			is_exact(basis_of(&c->o[k])) ? c->exact_rows : c->rows);
}

/*  Operations of --mode after its steps. */
static double candidate_mode(const choice *c, const options *o, const odvgp_config *g)
{
	if (!mode_follows(o, c->d) || c->budget > 0) return 0;
	double n = (double)g->N;
	ptrdiff_t points = mode_points(g, c->fit.s.likelihood, n, MODE_FLOPS);
	return points ? MODE_SEARCHES * mode_flops(g, n, (double)points) : 0;
}

/*  Makes candidate k of its options, in about `flops` operations (0: as many steps as they say).
    follows: it takes the first one's warm starts. */
static void candidate_make(choice *c, int k, double flops, int follows)
{
	race_entry *e = &c->list[k];
	options *o = &c->o[k];
	bytes unused = {NULL, 0, 0};
	dataset fit = c->fit;
	int from = follows && c->fit.s.likelihood == ODVGP_LIKELIHOOD_GAUSSIAN;
	fit.s.likelihood = c->likelihood[k];
	if (candidate_has_some(c, k)) fit.train.n = c->some;
	options_settle(o);
	odvgp_config g = model_config(o, &fit, c->w, c->isa, &unused);
	double many = candidate_mode(c, o, &g), grain = many > 0 ? 50 : 100;
	if (flops > 0) {
		double start = init_flops(&g) + (from ? c->list[0].start_flops : warm_flops(o, &g)),
			   most = g.optim.kind == ODVGP_OPTIMIZER_LBFGS ? 200 : 5000,
			   least = g.objective == ODVGP_OBJECTIVE_EXACT    ? 8
					   : g.optim.kind == ODVGP_OPTIMIZER_LBFGS ? 20
															   : (double)least_steps(many > 0),
			   steps = fmin(most, fmax(least, (flops - start - many) / step_flops(&g)));
		plan_number(o, OPT_ITERS, (ptrdiff_t)(steps >= 100 ? floor(steps / grain) * grain : steps));
	}
	likelihood_settle(o, &fit);
	e->config = model_config(o, &fit, c->w, c->isa, &unused);
	free(unused.at);
	candidate_warm(c, k);
	e->bytes = 0;
	e->fit_q = fit.s.likelihood == ODVGP_LIKELIHOOD_GAUSSIAN;
	e->from = from ? 0 : -1;
	e->steps = iters_of(o, c->fit.train.n);
	e->least = has_classes(fit.s.likelihood) ? smaller(e->steps, CLASSES_LEAST) : 0;
	e->no_step = c->budget > 0 && is_exact(basis_of(o)) && e->warm_count && !from;
	double part = exact_part(c, k);
	e->step_flops = part * step_flops(&e->config);
	e->start_flops = init_flops(&e->config);
	if (e->from < 0) e->start_flops += part * warm_flops(o, &e->config);
	else if (e->config.objective == ODVGP_OBJECTIVE_ELBO) e->start_flops += fit_q_flops(&e->config);
	e->rest_flops = many;
	if (candidate_has_some(c, k)) candidate_rest(c, k, flops);
	e->score_flops = part * entry_score_flops(c, e);
	odvgp_config whole = candidate_config(c, k);
	e->serve_flops = row_flops(&whole);
	candidate_name(c, k);
}

/*  Bytes of a model's file, without what the tool keeps in it, of its predictor and of the memory for
    q's optimum; 0: the model cannot be made. */
typedef struct model_bytes {
	double file, predictor, fit_q;
} model_bytes;

static model_bytes model_bytes_made(const odvgp_config *g)
{
	odvgp_model *model;
	model_bytes b = {0, 0, 0};
	size_t size = odvgp_model_size(g, NULL);
	void *block = size ? malloc(size) : NULL;
	if (block && !odvgp_model_init(&model, g, block, size, NULL)) {
		b.file = (double)odvgp_save_size(model, 0, NULL);
		b.predictor = (double)odvgp_predictor_size(model, NULL);
		if (g->objective != ODVGP_OBJECTIVE_EXACT) b.fit_q = (double)odvgp_fit_q_scratch(model, NULL);
	}
	free(block);
	return b;
}

/*  The same. A large exact model's, which would take longer to make, follow from those of three small
    ones: they are quadratic in the rows. */
static model_bytes model_bytes_of(const odvgp_config *g)
{
	static const double rows[] = {256, 512, 1024};
	model_bytes all = {0, 0, 0};
	if (g->objective != ODVGP_OBJECTIVE_EXACT || g->N <= (ptrdiff_t)rows[2]) return model_bytes_made(g);
	for (int i = 0; i < 3; i++) {
		odvgp_config some = race_resize(g, (ptrdiff_t)rows[i]);
		model_bytes of = model_bytes_made(&some);
		double part = 1;
		for (int k = 0; k < 3; k++)
			if (k != i) part *= ((double)g->N - rows[k]) / (rows[i] - rows[k]);
		all.file += part * of.file;
		all.predictor += part * of.predictor;
	}
	return all;
}

/*  Of its training with all rows: the model, with a copy for evaluations or the best step, and with
    q's optimum and a predictor, or a file. */
static double candidate_bytes(const choice *c, int k)
{
	const dataset *d = c->d;
	odvgp_config g = candidate_config(c, k);
	int copies =
			d->test.n + d->valid.n > 0 &&
			(without_q(basis_of(&c->o[k])) || option_integer(&c->o[k], OPT_PATIENCE, 0, INT_MAX));
	double size = (double)odvgp_model_size(&g, NULL);
	model_bytes of = model_bytes_of(&g);
	return size + of.fit_q + fmax(of.file, (copies ? size : 0) + of.predictor);
}

/*  Is there memory for its race and its training? Counts those without. */
static int candidate_fits(choice *c, int k)
{
	double file;
	c->bytes[k] = candidate_bytes(c, k);
	double most = fmax(race_entry_bytes(&c->r, &c->list[k], &file), c->bytes[k]);
	if ((!is_exact(basis_of(&c->o[k])) || most <= exact_bytes_allowed()) && has_memory(most)) return 1;
	c->least_large = c->large++ ? fmin(c->least_large, most) : most;
	return 0;
}

/*  Adds a variant of the options before plan.h that takes as long as the first candidate. */
static void candidate_add(choice *c, const variant *v)
{
	int k = c->r.count;
	options *o = &c->o[k];
	const odvgp_config *first = &c->list[0].config;
	const char *basis = v->basis ? v->basis : c->o[0].value[OPT_BASIS];
	ptrdiff_t beta = v->basis ? v->beta : first->layer[0].M,
			  gamma = v->basis ? v->gamma : first->layer[0].M_gamma;
	beta = smaller(beta, larger(first->layer[0].M, share_of(c->distinct, 3)));
	gamma = smaller(gamma, larger(0, c->distinct - beta));
	*o = options_copy(&c->before);
	c->likelihood[k] = v->late == LATE_STUDENT ? ODVGP_LIKELIHOOD_STUDENTT : c->fit.s.likelihood;
	c->list[k].late = v->late;
	if (v->target)
		variant_store(o, OPT_TARGET_TRANSFORM, v->target == ODVGP_TRANSFORM_LOG ? "log" : "asinh");
	if (v->late == LATE_STUDENT) {
		variant_store(o, OPT_LIKELIHOOD, "studentt");
		variant_store(o, OPT_NATGRAD_WARMUP, "10:1e-2");
	}
	option_store(o, OPT_BASIS, copy_text(basis));
	if (beta) plan_number(o, OPT_BETA, beta);
	if (gamma) plan_number(o, OPT_GAMMA, gamma);
	variant_store(o, OPT_KERNEL, v->kernel);
	if (v->classes && !v->kernel && !has_many_classes(&c->fit.s))
		variant_store(o, OPT_KERNEL, c->o[0].value[OPT_KERNEL]);
	/* An exact one of few rows begins as the first one does, unless its lengthscales mean another
	   distance; of more rows with the evidence of some. */
	int exact = is_exact(basis_of(o)), city = v->kernel && strstr(v->kernel, "laplacian"),
		follows = v->follows || v->late || (exact && c->fold && !city);
	char of_exact[40] = "off";
	/* With --minutes that of few, for more candidates. */
	ptrdiff_t of = c->budget > 0 ? smaller(c->fit.train.n, c->cut->warm)
								 : exact_warm_rows(c->fit.train.n);
	if (!c->fold && !v->late) exact_warm(of_exact, sizeof of_exact, of);
	const char *warm = exact ? of_exact : v->warm;
	variant_store(o, OPT_WARM, warm ? warm : c->o[0].value[OPT_WARM]);
	if (v->fast) fast_steps(o, c->rows);
	if (exact) variant_store(o, OPT_CALIBRATE, "on");
	/* also where more are given, for which there is no room */
	if (exact && c->rows > c->exact_rows) number_store(o, OPT_TRAIN_ROWS, c->exact_rows);
	variant_store(o, OPT_TRANSFORM, v->transform);
	/* As it is scored. */
	if (follows && !without_q(basis_of(o)) && v->late != LATE_STUDENT)
		variant_store(o, OPT_FIT_Q, "end");
	double flops = fmax(c->budget, race_total(&c->r, &c->list[0]));
	candidate_make(c, k, flops, follows);
	/* Its least steps are too many operations. */
	int large = race_total(&c->r, &c->list[k]) > MOST_COSTS * flops;
	/* The plan's itself. */
	large |= !v->transform && !v->target && strcmp(c->name[k], c->name[0]) == 0;
	if (large || !candidate_fits(c, k) || (v->target && !candidate_target(c, k, v->target))) {
		options_free(o);
		return;
	}
	candidate_name(c, k);
	if (v->transform)
		candidate_transform(c, k, position_in(transform_words, strchr(v->transform, '=') + 1));
	if (candidate_has_some(c, k)) candidate_some(c, k);
	c->r.count++;
}

/*  Does a row of the table fit the data and the options? */
static int variant_fits(const choice *c, const variant *v)
{
	const options *o = &c->before;
	int targets = c->target_kind && !o->given[OPT_TARGET_TRANSFORM];
	int exact = v->basis && strcmp(v->basis, "exact") == 0;
	if (exact && (c->stored || !has_exact(c->d))) return 0;
	/* Rows at the same few points are as well served by these. */
	if (exact && !c->fold && c->distinct <= c->fit.train.n / 2) return 0;
	if (v->classes != has_classes(c->fit.s.likelihood) || c->rows <= v->from || c->rows > v->to ||
			(v->folds && !c->fold) || (v->few_classes && has_many_classes(&c->fit.s)))
		return 0;
	for (int k = 0; k < c->r.count; k++) targets &= !c->target[k].kind;
	if (v->target && (!targets || v->target != c->target_kind)) return 0;
	/* Its q is no formula, so that it has no folds. */
	if (v->late == LATE_STUDENT &&
			(c->fold || c->stored || o->given[OPT_LIKELIHOOD] || c->fit.s.y.kind))
		return 0;
	if ((v->kernel && o->given[OPT_KERNEL]) ||
			(v->transform && (o->given[OPT_TRANSFORM] || !c->tails)))
		return 0;
	return !v->basis || v->kernel || v->transform || v->target || v->late ||
		   strcmp(v->basis, c->o[0].value[OPT_BASIS]) != 0;
}

/*  Those of the table, and those that may join them. Exact ones of rows that are held out let one more
    race, and with the first of them the race may take longer. */
static void candidates_add(choice *c, int tries)
{
	for (int i = 0; i < VARIANTS && c->r.count < tries; i++) {
		int before = c->r.count;
		if (variants[i].late || !variant_fits(c, &variants[i])) continue;
		candidate_add(c, &variants[i]);
		if (c->fold || c->r.count == before || !is_exact(basis_of(&c->o[before]))) continue;
		if (!c->before.given[OPT_AUTO_TRIES])
			tries = c->brief ? BRIEF_TRIES + (c->target_kind > 0) : EXACT_TRIES;
		if (!(c->budget > 0)) c->r.most = RACE_LEAST_EXACT;
	}
	/* There is no second round of two. */
	for (int i = 0; i < VARIANTS && c->r.count > 2 && c->r.count < MOST_ENTRIES; i++)
		if (variants[i].late && variant_fits(c, &variants[i])) candidate_add(c, &variants[i]);
}

/* ---- the race ---- */

/*  Shows the progress of the race; the scores, too, once it takes longer than the first second. */
static void choice_tell(void *user, const race *r, int entry, race_phase phase)
{
	static const char *const words[] = {"starts", "trains", "is scored"};
	choice *c = user;
	const race_entry *e = &r->list[entry];
	watch_end(c->w->watch);
	if (phase != RACE_SCORED) watch_begin(c->w->watch, "race: %s %s", e->name, words[phase]);
	else if (!c->quiet && now() - c->w->watch->start >= 1) {
		fprintf(stderr, "race: %s has loglik %.5f", e->name, e->mean);
		if (e->steps) fprintf(stderr, " after %td of %td steps", e->done, e->steps);
		fputc('\n', stderr);
	}
}

/*  The clock at this part of --minutes. */
static double choice_clock(const choice *c, double part)
{
	return c->w->watch->start + part * 60 * option_positive(&c->before, OPT_MINUTES);
}

static int choice_over(void *user, const race *r)
{
	(void)r;
	const choice *c = user;
	return !stop_signal && now() > choice_clock(c, RACE_ENOUGH_TIME[c->brief > 0]);
}

/*  Of the program itself. */
static const double PROGRAM_BYTES = 5e6;

/*  Bytes of rows and models at the most, whoever wins. */
static double choice_bytes(const choice *c, const dataset *d)
{
	double row = 8 * (double)(d->s.D + y_columns(d)),
		   all = (double)(c->rows + d->test.n + d->valid.n),
		   held = c->stored ? (double)c->held.n : (double)c->rows, most = race_bytes(&c->r);
	for (int k = 0; k < c->r.count; k++) {
		most = fmax(most, c->bytes[k]);
		if (c->X[k]) held += (double)c->rows;
	}
	return PROGRAM_BYTES + most + row * (held + (c->stored ? 0 : all));
}

/*  Says about how long race and training take, as plan_print does, and how much memory. */
static void choice_announce(const choice *c, const dataset *d)
{
	double flops = race_total(&c->r, &c->list[0]) + race_adds(&c->r);
	const char *minutes = c->before.value[OPT_MINUTES];
	/* L-BFGS often converges before its last iteration: it is not counted a fifth longer than its
	   products, as steps are (bench/results/said.txt). */
	double longer = c->list[0].config.optim.kind == ODVGP_OPTIMIZER_LBFGS ? 1 : 1.2;
	int order[MOST_ENTRIES], count = race_choose(&c->r, order);
	if (c->quiet) return;
	double seconds = minutes ? 60 * option_positive(&c->before, OPT_MINUTES)
							 : 0.8 + longer * flops / fmax(1, measured_rate(c->w, 1)),
		   most = choice_bytes(c, d) / 1e6;
	fprintf(stderr,
			"auto: a race of %d candidates; with its winner's training %s %.*f s, less if it "
			"converges, and at most about %.*f MB\n",
			count, about_of(&c->o[0]), seconds < 9.95, seconds, most < 9.95, most);
}

/*  A line for each candidate. */
static void choice_table(choice *c)
{
	const race *r = &c->r;
	bytes *b = &c->table;
	double total = race_total(r, &r->list[r->winner]) + r->added;
	int width = 40;
	for (int i = 0; i < r->count; i++)
		if (r->list[i].rounds) width = (int)larger(width, (ptrdiff_t)strlen(r->list[i].name));
	if (c->fold)
		bytes_print(b, "race by %d folds of %td rows, less a nat for each hyperparameter", FOLDS,
				c->rows);
	else bytes_print(b, "race on %td rows held out", c->held.n);
	bytes_print(
			b, "; it adds %.0f %% to the operations\n", 100 * r->added / fmax(1, total - r->added));
	for (int i = 0; i < r->count; i++) {
		const race_entry *e = &r->list[i];
		if (!e->rounds && e->late) continue;
		if (!e->rounds || e->info.status == ODVGP_E_STOPPED)
			bytes_print(b, "  %-*s left out: %s\n", width, e->name,
					r->early ? "out of time" : "there is no room for it");
		else if (e->info.status == ODVGP_E_MEMORY)
			bytes_print(b, "  %-*s left out: out of memory\n", width, e->name);
		else if (e->info.status)
			bytes_print(b, "  %-*s failed: %s\n", width, e->name,
					reason_of(e->info.status, &e->info));
		else
			bytes_print(b, "  %-*s step %5td of %5td  loglik %9.5f%s\n", width, e->name,
					e->done, e->steps, e->mean, i == r->winner ? "  chosen" : "");
	}
	if (c->large)
		bytes_print(b, "  left out: %d of at least %.3g MB each, too much for this machine\n",
				c->large, c->least_large / 1e6);
	if (r->winner && r->error > 0)
		bytes_print(b, "  %s the first by %.5f +- %.5f a row\n",
				r->gain > r->error ? "better than"
				: race_is_costlier(r, &r->list[0], &r->list[r->winner])
						? "takes fewer operations, and differs from"
						: "differs from",
				r->gain, r->error);
}

/*  An exact model holds every row: says what that costs afterwards, beside the sparse candidate that
    came closest. */
static void choice_cost(const choice *c)
{
	const race *r = &c->r;
	const race_entry *list = r->list;
	int of[2] = {r->winner, -1};
	if (c->quiet || !is_exact(basis_of(&c->o[r->winner])) || !c->raced) return;
	for (int i = 0; i < r->count; i++)
		if (list[i].rounds && !list[i].info.status && !is_exact(basis_of(&c->o[i])) &&
				(of[1] < 0 || list[i].mean > list[of[1]].mean))
			of[1] = i;
	double rate = measured_rate(c->w, 1);
	for (int k = 0; k < 2 && of[k] >= 0; k++) {
		odvgp_config g = candidate_config(c, of[k]);
		fprintf(stderr, "%s%s: a file of %.3g MB, about %.3g us a row",
				k ? "; " : "note: ", list[of[k]].name, model_bytes_of(&g).file / 1e6,
				1e6 * row_flops(&g) / fmax(1, rate));
		if (k)
			fprintf(stderr, ", loglik %.4f lower (--basis %s --beta %td)",
					list[of[0]].mean - list[of[1]].mean, c->o[of[1]].value[OPT_BASIS],
					g.layer[0].M);
	}
	fputc('\n', stderr);
}

/*  An exact winner that goes on with some of the rows has as many as the rest of --minutes allow. */
static void choice_resize(choice *c, const plan *p)
{
	int k = c->r.winner;
	if (!(c->budget > 0) || !c->some_X[k] || stop_signal) return;
	double left = choice_clock(c, 1) - now(), D = config_width(&c->list[k].config);
	ptrdiff_t rows = exact_rows(c->rows, D, fmax(1, EFFICIENCY * p->rate * left), 0);
	while (rows > c->exact_rows && !(exact_fits(rows) && has_memory(exact_bytes(rows))))
		rows = larger(c->exact_rows, rows - rows / 20);
	c->exact_rows = rows;
	if (rows < c->rows || c->before.given[OPT_TRAIN_ROWS])
		number_store(&c->o[k], OPT_TRAIN_ROWS, rows);
	else option_store(&c->o[k], OPT_TRAIN_ROWS, NULL);
}

/*  The winner's options become those of the training: all of its steps, until choice_continue. */
static void choice_store(const choice *c, options *o)
{
	const options *from = &c->o[c->r.winner];
	for (int i = 0; i < OPTION_COUNT; i++)
		if (from->value[i] && (!o->value[i] || strcmp(from->value[i], o->value[i]) != 0))
			option_store(o, i, copy_text(from->value[i]));
}

/*  The option, if there is one, that decides what a race would choose, or when it ends. */
static const char *choice_decided(const options *o, const dataset *d)
{
	static const int whole[] = {OPT_LAYERS, OPT_BASIS},
					 parts[] = {OPT_FREEZE, OPT_BETA};
	int classes = has_classes(d->s.likelihood);
	if (o->given[OPT_RESUME]) return option_list[OPT_RESUME].name;
	for (size_t i = 0; i < sizeof whole / sizeof *whole && !is_auto(o); i++)
		if (o->given[whole[i]]) return option_list[whole[i]].name;
	for (size_t i = 0; i < sizeof step_options / sizeof *step_options && !is_auto(o); i++)
		if (o->given[step_options[i]]) return option_list[step_options[i]].name;
	if (option_choice(o, OPT_RECIPE) != RECIPE_DEFAULT) return option_list[OPT_RECIPE].name;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (o->given[parts[i]]) return option_list[parts[i]].name;
	return classes && o->given[OPT_KERNEL] ? option_list[OPT_KERNEL].name : NULL;
}

/*  May there be a race for these data and options? If not, a note says why. */
static int choice_due(const options *o, const dataset *d, int tries, bytes *notes)
{
	const char *option = choice_decided(o, d), *likelihood = likelihood_text(d->s.likelihood);
	int gaussian = d->s.likelihood == ODVGP_LIKELIHOOD_GAUSSIAN;
	bytes why = {NULL, 0, 0};
	if (gaussian && d->calibrates) bytes_print(&why, "--calibrate is given");
	else if (option) bytes_print(&why, "--%s is given", option);
	else if (d->s.target_count > 1) bytes_print(&why, "there are %d targets", d->s.target_count);
	else if (!gaussian && !has_classes(d->s.likelihood))
		bytes_print(&why, "the likelihood is %s", likelihood);
	else if (d->train.n < race_begins(d))
		bytes_print(&why, "there are %td training rows, and it begins at %td", d->train.n,
				race_begins(d));
	if (tries > 1 && why.used && o->given[OPT_AUTO_TRIES])
		bytes_print(notes, "note: --auto-tries %d: no race, because %s\n", tries, why.at);
	int due = tries > 1 && !why.used;
	free(why.at);
	return due;
}

/*  Before plan_make, which decides options; NULL: there is no race. */
static choice *choice_begin(
		const options *o, const dataset *d, const workers *w, odvgp_isa isa, bytes *notes)
{
	int tries = choice_tries(o, d);
	if (!choice_due(o, d, tries, notes)) return NULL;
	choice *c = take(1, sizeof *c);
	c->before = options_copy(o);
	c->w = w;
	c->isa = isa;
	c->quiet = o->given[OPT_QUIET];
#ifdef __GLIBC__
	/* otherwise up to 64 MB of what one model gives back stay beside the next */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
	return c;
}

static void choice_end(choice *c)
{
	if (!c) return;
	race_free(&c->r);
	for (int i = 0; i < c->r.count; i++) {
		options_free(&c->o[i]);
		free(c->X[i]);
		free(c->X_valid[i]);
		free(c->Y[i]);
		free(c->Y_valid[i]);
		free(c->some_X[i]);
		free(c->some_Y[i]);
		free(c->squares[i]);
	}
	options_free(&c->before);
	if (!c->fold || c->stored) {
		large_free(c->fit.disk);
		free(c->fit.train.X);
		free(c->fit.Y);
	}
	free(c->fold);
	free(c->held.X);
	free(c->held_Y);
	free(c->table.at);
	free(c);
}

/*  After plan_make: without room for a race in --minutes there is none. */
static choice *choice_timely(choice *c, const options *o, const plan *p, bytes *notes)
{
	if (!c || !o->value[OPT_MINUTES] || p->both > 0) return c;
	if (o->given[OPT_AUTO_TRIES])
		bytes_print(notes, "note: --auto-tries %s: no race, because --minutes has no room for one%s\n",
				o->value[OPT_AUTO_TRIES], o->given[OPT_WARM] ? " that keeps --warm" : "");
	choice_end(c);
	return NULL;
}

/*  A brief race scores the plan's SGPR after few steps, beside exact models that have been fit to some
    rows: it begins with some, too, more quickly than it would alone, which costs it nothing in the end
    (bench/results/auto.txt). */
enum { BRIEF_WARM_ROWS = 1000, BRIEF_WARM_STEPS = 20, BRIEF_STEPS = 12 };
static int brief_warm(const choice *c, options *o)
{
	char text[40];
	if (o->given[OPT_WARM] || c->rows <= BRIEF_WARM_ROWS || strcmp(o->value[OPT_BASIS], "sgpr") != 0)
		return 0;
	snprintf(text, sizeof text, "%d:%d", BRIEF_WARM_ROWS, BRIEF_WARM_STEPS);
	variant_store(o, OPT_WARM, text);
	return 1;
}

/*  After it: races, and stores the winner's options. */
static void choice_make(choice *c, options *o, dataset *d, const plan *p)
{
	int tries = choice_tries(o, d);
	hold_rows(c, o, d);
	c->r.list = c->list;
	c->r.made = choice_made;
	c->brief = p->brief;
	c->cut = &exact_races[c->brief];
	c->some = p->some;
	c->r.share = p->share;
	c->r.most = p->both > 0 ? c->r.share * p->both : c->fold ? RACE_LEAST : 0;
	c->budget = p->both > 0 ? p->both - c->r.most : 0;
	/* A sum of two kernels fits, too. */
	c->exact_rows = exact_rows(
			c->rows, 2 * kernel_width(o->value[OPT_KERNEL], (double)d->s.D), c->budget, c->cut->warm);
	if (is_exact(basis_of(o))) c->exact_rows = c->rows; /* the plan's, with all */
	c->r.X = c->fit.train.X;
	c->r.Y = c->fit.Y;
	c->r.X_valid = c->held.X;
	c->r.Y_valid = c->held_Y;
	c->d = d;
	c->likelihood[0] = d->s.likelihood;
	c->o[0] = options_copy(o);
	int warms = c->brief && brief_warm(c, &c->o[0]);
	candidate_make(c, 0, 0, 0);
	if (warms) c->list[0].most = BRIEF_STEPS;
	c->bytes[0] = candidate_bytes(c, 0);
	if (candidate_has_some(c, 0)) candidate_some(c, 0);
	c->r.count = 1;
	/* Whoever makes the model says what is wrong with its options. */
	if (!(model_bytes_of(&c->list[0].config).file > 0)) return;
	c->distinct = distinct_rows(&c->fit);
	/* Another scale of inputs makes a copy of the rows, which are in memory then. */
	c->tails = !is_image(o) && !c->stored && has_tails(&c->fit);
	choice_targets(c);
	candidates_add(c, tries);
	if (c->r.count == 1 && c->large && !c->quiet)
		fprintf(stderr,
				"auto: no race: each of the other candidates takes at least %.3g MB, too much for "
				"this machine\n",
				c->least_large / 1e6);
	if (c->r.count == 1) return;
	if (!c->quiet) print_data_notes(d);
	choice_announce(c, d);
	odvgp_watch watch = library_watch(c->w->watch);
	c->r.watch = &watch;
	c->r.tell = choice_tell;
	if (d->s.likelihood == ODVGP_LIKELIHOOD_GAUSSIAN && !d->s.y.kind) {
		c->r.judge = choice_judge;
		c->r.joins = choice_joins;
	}
	c->r.user = c;
	if (p->both > 0) {
		c->r.over = choice_over;
		watch_allow(c->w->watch, choice_clock(c, RACE_MOST_TIME[c->brief > 0]), 0);
	}
	watch_begin(c->w->watch, "race");
	odvgp_status s = race_run(&c->r);
	watch_end(c->w->watch);
	watch_allow(c->w->watch, HUGE_VAL, 0);
	c->r.watch = NULL;
	if (s && s != ODVGP_E_STOPPED) die(FAILED, "race: %s", odvgp_status_text(s));
	race_entry *winner = &c->list[c->r.winner];
	c->raced = winner->model || winner->file;
	if (s && !c->raced) return;
	if (c->raced && !c->fold && race_settle(&c->r, winner, &winner->info))
		die_of(winner->info.status, &winner->info, "race");
	if (!s) {
		choice_table(c);
		if (!c->quiet) fputs(c->table.at, stderr);
	}
	choice_resize(c, p);
	if (!s) choice_cost(c);
	choice_store(c, o);
	/* What ended the race leaves no time for initial values that its own replace. */
	if (s) option_store(o, OPT_INIT, copy_text("random"));
	if (s) option_store(o, OPT_INIT_GAMMA, copy_text("random"));
	d->s.likelihood = c->likelihood[c->r.winner];
	if (is_exact(basis_of(o)) && c->rows > c->exact_rows) dataset_keep(d, c->exact_rows, o);
	if (c->target[c->r.winner].kind) choose_target(d, c->target[c->r.winner].kind);
	if (!c->X[c->r.winner]) return;
	const char *list = o->value[OPT_TRANSFORM];
	part *parts[] = {&d->train, &d->test, &d->valid};
	choose_transform(d, parts, 3, position_in(transform_words, strchr(list, '=') + 1));
}

/*  The model becomes the winner's, which has seen all rows: training goes on as if it had never
    stopped. */
static odvgp_status choice_take(const race_entry *e, training *t, odvgp_info *info)
{
	const odvgp_threads *threads = &e->config.threads;
	odvgp_status s =
			e->file ? odvgp_load_memory(&t->model, e->file, e->file_bytes, threads, e->config.isa,
							  t->block.at, t->block.size, info)
					: odvgp_model_copy(&t->model, e->model, t->block.at, t->block.size, info);
	if (!s && t->d->disk) s = large_try_reader(t->d->disk, t->model, large_for_library, info);
	return s;
}

/*  Gives the model of all rows what the winner has learned, and the training the rest of its steps.
    Returns 0 if there was no race, so that it starts as any other. */
static int choice_continue(choice *c, odvgp_model *model, training *t, options *o)
{
	char text[24];
	odvgp_info info = no_info;
	if (!c || !c->raced) return 0;
	race_entry *e = &c->list[c->r.winner];
	odvgp_status s = c->fold ? choice_take(e, t, &info) : race_continue(e, model, &info);
	if (s) die_of(s, &info, "race");
	race_leave(e);
	t->step = t->first_step = odvgp_steps_done(t->model);
	ptrdiff_t left = c->some_X[c->r.winner] ? c->after[c->r.winner] : e->steps - e->done;
	/* L-BFGS has to learn the curvature of further rows once more. */
	if (e->config.optim.kind == ODVGP_OPTIMIZER_LBFGS && left && !c->fold && !c->some_X[c->r.winner])
		left += (e->steps + 9) / 10;
	if (by_clock(o)) left = larger(1, left);
	t->iters = t->first_step + left;
	t->evaluate_every = larger(1, left / 50);
	t->warm_starts = warm_count(o);
	/* For --resume. */
	snprintf(text, sizeof text, "%td", t->iters);
	option_store(o, OPT_ITERS, copy_text(text));
	return 1;
}

/*  Says what was chosen, as options that train it without a race. */
static void choice_print(const choice *c)
{
	const options *o = &c->o[c->r.winner];
	const int ids[] = {OPT_LIKELIHOOD, OPT_BASIS, OPT_BETA, OPT_GAMMA, OPT_KERNEL, OPT_LEVELS,
			OPT_TRANSFORM, OPT_TARGET_TRANSFORM, OPT_TRAIN_ROWS, OPT_CALIBRATE,
			by_clock(o) ? OPT_MINUTES : OPT_ITERS, OPT_WARM, OPT_FIT_Q,
			OPT_NATGRAD_STEP, OPT_NATGRAD_WARMUP};
	int some = is_exact(basis_of(o)) && c->exact_rows < c->rows;
	if (c->quiet) return;
	if (stop_signal) {
		fprintf(stderr, "race: stopped; the best so far is kept: %s\n", c->name[c->r.winner]);
		return;
	}
	fprintf(stderr, "auto: %td rows:", c->rows);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		const char *value = o->value[ids[i]], *quote = "";
		int natural = ids[i] == OPT_NATGRAD_STEP || ids[i] == OPT_NATGRAD_WARMUP,
			usual = (ids[i] == OPT_KERNEL || ids[i] == OPT_TRANSFORM || ids[i] == OPT_FIT_Q ||
							ids[i] == OPT_LEVELS) &&
					same_value(value, option_list[ids[i]].preset);
		usual |= ids[i] == OPT_TARGET_TRANSFORM && same_value(value, option_list[ids[i]].preset);
		usual |= ids[i] == OPT_LIKELIHOOD && c->likelihood[c->r.winner] == c->fit.s.likelihood;
		if (!value || usual || (natural && !natgrad_of(o, basis_of(o)))) continue;
		if (ids[i] == OPT_GAMMA && !basis_of(o)->gamma) continue;
		/* It begins without a warm start then, and ends when it converges. */
		if (is_exact(basis_of(o)) && (ids[i] == OPT_ITERS || ids[i] == OPT_BETA)) continue;
		if (!is_exact(basis_of(o)) && ids[i] == OPT_CALIBRATE) {
			if (c->d->calibrates) fputs(" --calibrate on", stderr);
			continue;
		}
		if (strpbrk(value, " ()*")) quote = "\"";
		fprintf(stderr, " --%s %s%s%s", option_list[ids[i]].name, quote, value, quote);
	}
	if (some) fprintf(stderr, "; goes on with %td of them\n", c->exact_rows);
	else fputs(c->fold ? "; goes on\n" : "; goes on with all rows\n", stderr);
}

/*  Keeps what was tried among the settings of the model. */
static void choice_note(const choice *c, schema *s)
{
	if (!c || !c->table.used) return;
	settings_add(s, "tried", c->table.at);
}

#endif
