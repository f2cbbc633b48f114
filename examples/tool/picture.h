/*  picture.h - what a model has learned, as panels of a picture: for one input the data, the mean
    and its band; for two, maps of mean and standard deviation; for more, slices along the most
    important inputs; and predicted against true. Of classes, their regions and probabilities
    instead, and how often the most probable class is right: a class has one colour everywhere, and
    of more than PICTURE_CLASSES, those after them are grey. Of several targets the first, which the
    texts name. */
#ifndef TOOL_PICTURE_H
#define TOOL_PICTURE_H

#include "plot.h"
#include "report.h"

enum { PICTURE_SCENES = 12, PICTURE_ITEMS = 64, PICTURE_POINTS = 1500, PICTURE_MARKS = 300 };

typedef struct picture {
	plot_scene scene[PICTURE_SCENES];
	plot_item item[PICTURE_ITEMS];
	int scenes, items;
	/* The numbers of all items. */
	double *numbers[4 * PICTURE_ITEMS];
	int blocks;
} picture;

static void picture_free(picture *p)
{
	for (int i = 0; i < p->blocks; i++) free(p->numbers[i]);
}

static double *picture_numbers(picture *p, ptrdiff_t n)
{
	return p->numbers[p->blocks++] = take_doubles(n, 1);
}

/*  A new panel, to which items are added. Its texts stay the caller's. */
static plot_scene *picture_scene(
		picture *p, const char *title, const char *xlabel, const char *ylabel)
{
	plot_scene scene = {title, xlabel, ylabel, &p->item[p->items], 0, 0, 0, 0, 0, 0};
	p->scene[p->scenes] = scene;
	return &p->scene[p->scenes++];
}

/*  Which values of the first quality are good. */
static int quality_good(odvgp_likelihood kind)
{
	return has_classes(kind) ? PLOT_LARGE_IS_GOOD : PLOT_SMALL_IS_GOOD;
}

/*  Gives scenes of shares one range of y, inside 0 and 1. */
static void picture_shares(plot_scene *scenes, int count)
{
	plot_same_y(scenes, count);
	for (int i = 0; i < count; i++) {
		/* A line at 0 or 1 keeps its width. */
		double edge = 0.02 * (fmin(1, scenes[i].ymax) - fmax(0, scenes[i].ymin));
		scenes[i].ymin = fmax(-edge, scenes[i].ymin);
		scenes[i].ymax = fmin(1 + edge, scenes[i].ymax);
	}
}

static void picture_item(picture *p, plot_kind kind, const char *name, const double *x,
		const double *y, const double *y2, ptrdiff_t n, int colour, int dash)
{
	plot_item item = {kind, name, x, y, y2, (int)n, colour, dash};
	p->item[p->items++] = item;
	p->scene[p->scenes - 1].count++;
}

/*  What is drawn: a model that can predict, in standardised units, and its data. */
typedef struct subject {
	const dataset *d;
	odvgp_model *model;
	const workers *w;
	odvgp_server server;
	void *block;
	/* Names of the first three inputs that matter, and of the target; titles of the two maps; what
	   probabilities are of; labels of predictions against targets; of classes that share a
	   colour. */
	char *input[3], *target, *map[2], *share, *truth[2], *others;
	ptrdiff_t important[3];
	int chosen;
	/* Are they known to be the most important ones? */
	int ranked;
} subject;

static double raw_x(const subject *s, double v, ptrdiff_t input)
{
	const schema *k = &s->d->s;
	v = k->x_mean[input] + k->x_scale[input] * v;
	return k->transforms ? transform_back(&k->transforms[input], v) : v;
}

/*  A value or a quantile of the first target as the file has it. */
static double raw_y(const subject *s, double v)
{
	const schema *k = &s->d->s;
	return target_back(k, k->y_mean[0] + k->y_scale[0] * v);
}

/*  For the flags of a scene: those of an input that is a date. */
static int date_flag(const subject *s, ptrdiff_t input, int flag)
{
	const char *part;
	const field *f = field_of_input(&s->d->s, input, &part);
	return (f->date_parts & 1) && (!part || !strcmp(part, "days")) ? flag : 0;
}

/*  Every so many rows are drawn. */
static ptrdiff_t stride_of(ptrdiff_t n, ptrdiff_t most)
{
	return n > most ? (n + most - 1) / most : 1;
}

/*  Column `input` of rows X [n,D] in its own units, at most so many. */
static double *picked_x(picture *p, const subject *s, const double *X, ptrdiff_t n, ptrdiff_t input,
		ptrdiff_t most, ptrdiff_t *count)
{
	ptrdiff_t D = s->d->s.D, stride = stride_of(n, most);
	double *x = picture_numbers(p, n / stride + 1);
	*count = 0;
	for (ptrdiff_t i = 0; i < n; i += stride) x[(*count)++] = raw_x(s, X[i * D + input], input);
	return x;
}

/*  The target of rows, picked in the same way. */
static double *picked_y(picture *p, const subject *s, const double *Y, ptrdiff_t n, ptrdiff_t most)
{
	ptrdiff_t P = s->d->s.target_count, stride = stride_of(n, most), count = 0;
	double *y = picture_numbers(p, n / stride + 1);
	for (ptrdiff_t i = 0; i < n; i += stride) y[count++] = raw_y(s, Y[i * P]);
	return y;
}

/*  The inducing points of a slot as marks below a panel: plus signs, or strokes for many. */
static void picture_points(picture *p, const subject *s, plot_kind kind, const char *slot,
		const char *name, int colour)
{
	char unit[24], full[64]; /* the panels show the first target */
	snprintf(full, sizeof full, "%s%s", unit_text(s->model, 0, unit), slot);
	const odvgp_slot *points = odvgp_slot_find(s->model, full);
	ptrdiff_t D = s->d->s.D, count;
	if (!points || !points->count || points->shape[1] != D) return;
	odvgp_real *Z = take((size_t)points->count, sizeof *Z);
	double *copy = take_doubles(points->count, 1);
	if (odvgp_get(s->model, full, Z, points->count, NULL) == ODVGP_OK) {
		for (ptrdiff_t i = 0; i < points->count; i++) copy[i] = (double)Z[i];
		double *x = picked_x(p, s, copy, points->count / D, 0, PICTURE_MARKS, &count);
		picture_item(p, kind, name, x, x, NULL, count, colour, 0);
	}
	free(copy);
	free(Z);
}

/*  The smallest and largest value of an input in training, standardised. */
static void input_range(const subject *s, ptrdiff_t input, double *low, double *high)
{
	const schema *k = &s->d->s;
	*low = k->x_low[input], *high = k->x_high[input];
	if (k->transforms) {
		*low = transform_of(&k->transforms[input], *low);
		*high = transform_of(&k->transforms[input], *high);
	}
	*low = (*low - k->x_mean[input]) / k->x_scale[input];
	*high = (*high - k->x_mean[input]) / k->x_scale[input];
	if (!(*high > *low)) *high = *low + 1;
}

enum { SLICE_STEPS = 161, PICTURE_CLASSES = 12 };

static int of_classes(const subject *s) { return has_classes(s->d->s.likelihood); }

/*  The colour of a class: neither black nor grey, but for those that share one. */
static int class_colour(int k) { return k >= PICTURE_CLASSES ? 7 : k < 6 ? k : k + 2; }

/*  Mean and band of y, where y can be, at the points x of a slice. */
static void picture_band(picture *p, const subject *s, const forecast *f, const double *x)
{
	const odvgp_likelihood kind = s->d->s.likelihood;
	const double least = has_real_targets(kind) ? -HUGE_VAL : 0,
				 most = kind == ODVGP_LIKELIHOOD_BETA ? 1 : HUGE_VAL;
	int P = s->d->s.target_count;
	double *mean = picture_numbers(p, SLICE_STEPS), *lower = picture_numbers(p, SLICE_STEPS),
		   *upper = picture_numbers(p, SLICE_STEPS);
	for (int i = 0; i < SLICE_STEPS; i++) {
		double half = 2 * sqrt(f->var_y[i * P]);
		mean[i] = raw_y(s, f->mean[i * P]);
		lower[i] = fmax(least, raw_y(s, f->mean[i * P] - half));
		upper[i] = fmin(most, raw_y(s, f->mean[i * P] + half));
	}
	const int mapped = s->d->s.y.kind != ODVGP_TRANSFORM_NONE; /* of T(y), back to y */
	picture_item(p, PLOT_BAND, mapped ? "95 % of y" : "mean \302\261 2 sd of y", x, lower, upper,
			SLICE_STEPS, 0, 0);
	picture_item(p, PLOT_LINE, mapped ? "median" : "mean", x, mean, NULL, SLICE_STEPS, 0, 0);
}

/*  The probabilities of classes there; of two, of the second one. */
static void picture_probabilities(picture *p, const subject *s, const forecast *f, const double *x)
{
	const field *target = &s->d->s.targets[0];
	for (int k = target->level_count == 2; k < target->level_count && k < PICTURE_CLASSES; k++) {
		double *y = picture_numbers(p, SLICE_STEPS);
		for (int i = 0; i < SLICE_STEPS; i++) y[i] = class_probability(f->mean, f->P, i, k);
		picture_item(
				p, PLOT_LINE, target->levels[k], x, y, NULL, SLICE_STEPS, class_colour(k), k % 5);
	}
	p->scene[p->scenes - 1].ymin = -0.02;
	p->scene[p->scenes - 1].ymax = 1.02;
}

/*  What is predicted along an input; the others stay as in `row` [D]. */
static void picture_slice(picture *p, const subject *s, const double *row, ptrdiff_t input)
{
	enum { STEPS = SLICE_STEPS };
	ptrdiff_t D = s->d->s.D;
	double low, high, *X = take_doubles(STEPS, D), *x = picture_numbers(p, STEPS);
	input_range(s, input, &low, &high);
	for (int i = 0; i < STEPS; i++) {
		memcpy(X + i * D, row, (size_t)D * sizeof *X);
		X[i * D + input] = low + (high - low) * (-0.05 + 1.1 * i / (STEPS - 1));
		x[i] = raw_x(s, X[i * D + input], input);
	}
	forecast f = forecast_make(STEPS, &s->d->s);
	forecast_run(&f, &s->server, s->w, X, STEPS);
	/* An inducing point far outside is not drawn. */
	p->scene[p->scenes - 1].xmin = x[0];
	p->scene[p->scenes - 1].xmax = x[STEPS - 1];
	p->scene[p->scenes - 1].flags |= date_flag(s, input, PLOT_DATEX);
	if (of_classes(s)) picture_probabilities(p, s, &f, x);
	else picture_band(p, s, &f, x);
	forecast_free(&f);
	free(X);
}

/*  Training rows in the colours of their classes: along one input at the bottom, or over two. */
static void picture_labels(picture *p, const subject *s, ptrdiff_t input, ptrdiff_t second)
{
	const part *from = rows_in_memory(s->d);
	const field *target = &s->d->s.targets[0];
	ptrdiff_t D = s->d->s.D, stride = stride_of(from->n, PICTURE_MARKS);
	for (int k = 0; k < target->level_count && k <= PICTURE_CLASSES; k++) {
		ptrdiff_t n = 0;
		double *x = picture_numbers(p, PICTURE_MARKS), *y = picture_numbers(p, PICTURE_MARKS);
		for (ptrdiff_t i = 0; i < from->n; i += stride) {
			if (from->Y[i] < PICTURE_CLASSES ? (int)from->Y[i] != k : k < PICTURE_CLASSES) continue;
			x[n] = raw_x(s, from->X[i * D + input], input);
			y[n++] = second < 0 ? 0 : raw_x(s, from->X[i * D + second], second);
		}
		picture_item(p, second < 0 ? PLOT_RUG : PLOT_POINTS,
				k < PICTURE_CLASSES ? target->levels[k] : s->others, x, y, NULL, n, class_colour(k),
				0);
	}
}

static void picture_one_input(picture *p, const subject *s)
{
	const dataset *d = s->d;
	const part *rows = rows_in_memory(d);
	double zero = 0;
	ptrdiff_t n;
	picture_scene(p, "Data and fit", s->input[0], of_classes(s) ? s->share : s->target);
	double *x = picked_x(p, s, rows->X, rows->n, 0, PICTURE_POINTS, &n);
	/* The legend shows what comes first: of classes, lines. */
	if (of_classes(s)) picture_slice(p, s, &zero, 0);
	if (of_classes(s)) picture_labels(p, s, 0, -1);
	else
		picture_item(p, PLOT_POINTS, "training rows", x,
				picked_y(p, s, rows->Y, rows->n, PICTURE_POINTS), NULL, n, 7, 0);
	if (d->test.n && !of_classes(s)) {
		x = picked_x(p, s, d->test.X, d->test.n, 0, PICTURE_POINTS, &n);
		picture_item(p, PLOT_POINTS, "test rows", x,
				picked_y(p, s, d->test.Y, d->test.n, PICTURE_POINTS), NULL, n, 1, 0);
	}
	if (!of_classes(s)) picture_slice(p, s, &zero, 0);
	picture_points(p, s, PLOT_PLUS, "Z_beta", "beta points", 0);
	picture_points(p, s, PLOT_RUG, "Z_gamma", "gamma points", 4);
}

/*  Cells over the range of two inputs and a little more, so that rows at its ends are seen. */
typedef struct cells {
	int side, n;
	double low[2], high[2];
	/* Inputs [n,2], standardised; their coordinates and two values of each. */
	double *X, *x, *y, *value[2];
} cells;

static cells cells_make(picture *p, const subject *s)
{
	/* Regions have edges, mean and standard deviation are smooth. */
	const int side = of_classes(s) ? 80 : 50, n = side * side;
	cells c = {side, n, {0, 0}, {0, 0}, take_doubles(n, 2), picture_numbers(p, n),
			picture_numbers(p, n), {picture_numbers(p, n), picture_numbers(p, n)}};
	for (int k = 0; k < 2; k++) {
		input_range(s, k, &c.low[k], &c.high[k]);
		double margin = 0.03 * (c.high[k] - c.low[k]);
		c.low[k] -= margin, c.high[k] += margin;
	}
	for (int i = 0; i < n; i++) {
		int line = i / side;
		c.X[2 * i] = c.low[0] + (c.high[0] - c.low[0]) * (i % side + 0.5) / side;
		c.X[2 * i + 1] = c.low[1] + (c.high[1] - c.low[1]) * (line + 0.5) / side;
		c.x[i] = raw_x(s, c.X[2 * i], 0);
		c.y[i] = raw_x(s, c.X[2 * i + 1], 1);
	}
	return c;
}

/*  The values of cells: mean and standard deviation; of two classes, the second's probability and
    that of the more probable one; of more, the most probable one's colour and its probability. */
static void cells_values(cells *c, const subject *s, const forecast *f)
{
	const schema *k = &s->d->s;
	int P = k->target_count, of_f = k->likelihood == ODVGP_LIKELIHOOD_GAUSSIAN,
		classes = of_classes(s) ? k->targets[0].level_count : 0;
	for (int i = 0; i < c->n && !classes; i++) {
		double mean = k->y_mean[0] + k->y_scale[0] * f->mean[i * P],
			   var = k->y_scale[0] * k->y_scale[0] * (of_f ? f->var_f[i * P] : f->var_y[i * P]);
		target_moments(k, &mean, &var);
		c->value[0][i] = mean;
		c->value[1][i] = sqrt(var);
	}
	for (int i = 0; i < c->n && classes; i++) {
		int best = class_predicted(f->mean, f->P, i, classes, 0.5);
		c->value[1][i] = class_probability(f->mean, f->P, i, best);
		c->value[0][i] = classes == 2 ? class_probability(f->mean, f->P, i, 1) : class_colour(best);
	}
}

/*  Maps over the range of two inputs, with training rows. */
static void picture_two_inputs(picture *p, const subject *s)
{
	const dataset *d = s->d;
	const part *rows = rows_in_memory(d);
	const int classes = of_classes(s) ? d->s.targets[0].level_count : 0;
	cells c = cells_make(p, s);
	forecast f = forecast_make(c.n, &d->s);
	forecast_run(&f, &s->server, s->w, c.X, c.n);
	cells_values(&c, s, &f);
	ptrdiff_t n;
	double *rows_x = picked_x(p, s, rows->X, rows->n, 0, PICTURE_MARKS, &n),
		   *rows_y = picked_x(p, s, rows->X, rows->n, 1, PICTURE_MARKS, &n);
	for (int k = 0; k < 2; k++) {
		plot_scene *scene = picture_scene(p, s->map[k], s->input[0], s->input[1]);
		scene->xmin = raw_x(s, c.low[0], 0), scene->xmax = raw_x(s, c.high[0], 0);
		scene->ymin = raw_x(s, c.low[1], 1), scene->ymax = raw_x(s, c.high[1], 1);
		scene->flags = date_flag(s, 0, PLOT_DATEX) | date_flag(s, 1, PLOT_DATEY);
		picture_item(p, classes > 2 && !k ? PLOT_REGIONS : PLOT_MAP, NULL, c.x, c.y, c.value[k],
				c.n,
				!classes ? PLOT_VIRIDIS
				: k      ? PLOT_GREY
						 : PLOT_SHARE,
				c.side);
		if (classes) picture_labels(p, s, 0, 1);
		else
			picture_item(p, PLOT_POINTS,
					d->train.n > PICTURE_MARKS ? "some training rows" : "training rows", rows_x,
					rows_y, NULL, n, 6, 0);
	}
	forecast_free(&f);
	free(c.X);
}

/*  The training row nearest to the means of all inputs; its levels occur together. */
static const double *typical_row(const subject *s)
{
	const part *p = rows_in_memory(s->d);
	ptrdiff_t D = s->d->s.D, best = 0;
	double least = HUGE_VAL;
	for (ptrdiff_t i = 0; i < p->n; i++) {
		double sum = 0;
		for (ptrdiff_t k = 0; k < D && sum < least; k++) sum += p->X[i * D + k] * p->X[i * D + k];
		if (sum < least) {
			least = sum;
			best = i;
		}
	}
	return p->X + best * D;
}

static void picture_slices(picture *p, const subject *s)
{
	static const char *const titles[] = {"Most important input", "Second input", "Third input"};
	const part *rows = rows_in_memory(s->d);
	const double *row = typical_row(s);
	for (int k = 0; k < 3; k++) {
		ptrdiff_t n;
		picture_scene(
				p, s->ranked ? titles[k] : NULL, s->input[k], of_classes(s) ? s->share : s->target);
		picture_slice(p, s, row, s->important[k]);
		double *x = picked_x(p, s, rows->X, rows->n, s->important[k], PICTURE_MARKS, &n);
		picture_item(p, PLOT_RUG, "training rows", x, x, NULL, n, 7, 0);
	}
	plot_same_y(&p->scene[p->scenes - 3], 3);
}

/*  Predicted means against targets: of the test part, if there is one. */
static void picture_truth(picture *p, const subject *s)
{
	const dataset *d = s->d;
	const part *from = d->test.n ? &d->test : rows_in_memory(d);
	ptrdiff_t D = d->s.D, stride = stride_of(from->n, PICTURE_POINTS), count = 0;
	int P = d->s.target_count;
	double *X = take_doubles(from->n / stride + 1, D),
		   *mean = picture_numbers(p, from->n / stride + 1), *ends = picture_numbers(p, 2),
		   *y = picked_y(p, s, from->Y, from->n, PICTURE_POINTS);
	for (ptrdiff_t i = 0; i < from->n; i += stride)
		memcpy(X + count++ * D, from->X + i * D, (size_t)D * sizeof *X);
	forecast f = forecast_make(count, &d->s);
	forecast_run(&f, &s->server, s->w, X, count);
	ends[0] = HUGE_VAL, ends[1] = -HUGE_VAL;
	for (ptrdiff_t i = 0; i < count; i++) {
		mean[i] = raw_y(s, f.mean[i * P]);
		plot__widen(&ends[0], &ends[1], mean[i]);
		plot__widen(&ends[0], &ends[1], y[i]);
	}
	plot_scene *scene =
			picture_scene(p, d->test.n ? "Test rows" : "Training rows", s->truth[0], s->truth[1]);
	double margin = 0.03 * (ends[1] - ends[0]);
	/* One value only, but for rounding. */
	if (margin <= 1e-9 * fabs(ends[0])) margin = fmax(0.1 * fabs(ends[0]), 1e-6);
	ends[0] -= margin, ends[1] += margin;
	scene->xmin = scene->ymin = ends[0];
	scene->xmax = scene->ymax = ends[1];
	picture_item(p, PLOT_POINTS, NULL, y, mean, NULL, count, 0, 0);
	picture_item(p, PLOT_LINE, NULL, ends, ends, NULL, 2, 6, 1);
	forecast_free(&f);
	free(X);
}

/*  How often the most probable class is right, over bins of its probability, of which only those
    with enough rows are joined: of the test part, if there is one. */
enum { CALIBRATION_ROWS = 10 };
static void picture_calibration(picture *p, const subject *s)
{
	const dataset *d = s->d;
	const part *from = d->test.n ? &d->test : rows_in_memory(d);
	ptrdiff_t count = 0, few = 0;
	double *x = picture_numbers(p, ECE_BINS), *y = picture_numbers(p, ECE_BINS),
		   *few_x = picture_numbers(p, ECE_BINS), *few_y = picture_numbers(p, ECE_BINS),
		   *ends = picture_numbers(p, 2);
	forecast f = forecast_make(from->n, &d->s);
	scores sums = scores_make(d->s.targets[0].level_count);
	forecast_run(&f, &s->server, s->w, from->X, from->n);
	scores_add(&sums, f.mean, f.P, from->Y, from->n, 0.5);
	for (int k = 0; k < ECE_BINS; k++) {
		double rows = fmax(1, sums.bin_rows[k]), probability = sums.bin_p[k] / rows,
			   right = sums.bin_right[k] / rows;
		if (sums.bin_rows[k] >= CALIBRATION_ROWS) x[count] = probability, y[count++] = right;
		else if (sums.bin_rows[k] > 0) few_x[few] = probability, few_y[few++] = right;
	}
	ends[1] = 1;
	plot_scene *scene =
			picture_scene(p, d->test.n ? "Calibration, test rows" : "Calibration, training rows",
					"probability of the label", "share that is right");
	scene->xmin = scene->ymin = -0.03;
	scene->xmax = scene->ymax = 1.03;
	picture_item(p, PLOT_LINE, NULL, ends, ends, NULL, 2, 7, 1);
	picture_item(p, PLOT_LINE, NULL, x, y, NULL, count, 6, 0);
	picture_item(p, PLOT_POINTS, NULL, x, y, NULL, count, 6, 0);
	if (few)
		picture_item(p, PLOT_POINTS, "shares of fewer than 10 rows", few_x, few_y, NULL, few, 7, 0);
	scores_free(&sums);
	forecast_free(&f);
}

/*  Takes an input, unless it is taken or there are three. levels: only inputs that are levels of a
    text column; otherwise only others. */
static void choose_input(subject *s, ptrdiff_t input, int levels)
{
	const char *level;
	if (s->chosen == 3) return;
	field_of_input(&s->d->s, input, &level);
	if ((level != NULL) != levels) return;
	for (int i = 0; i < s->chosen; i++)
		if (s->important[i] == input) return;
	s->important[s->chosen++] = input;
}

/*  Numbers before levels; of both, those first that have the shortest lengthscales in the first
    term of the kernel. Up to two inputs stay in their order. */
static void choose_inputs(subject *s)
{
	const schema *k = &s->d->s;
	ptrdiff_t count = 0;
	char unit[24];
	ranked *r = rank_inputs(s->model, unit_text(s->model, 0, unit), 0, k->D, &count);
	for (int levels = 0; levels < 2; levels++) {
		for (ptrdiff_t i = 0; i < count && k->D > 2; i++) choose_input(s, r[i].input, levels);
		for (ptrdiff_t i = 0; i < k->D; i++) choose_input(s, i, levels);
	}
	s->ranked = count > 0;
	free(r);
	for (int i = 0; i < 3; i++) {
		bytes name = {NULL, 0, 0};
		if (i < s->chosen && !k->inputs[0].name) bytes_print(&name, "column ");
		if (i < s->chosen) print_input(&name, k, s->important[i], 0);
		s->input[i] = name.at;
	}
}

PRINTF_LIKE(1, 2) static char *picture_text(const char *format, ...)
{
	char text[400];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	return copy_text(text);
}

/*  The texts about a class target. */
static void class_texts(subject *s)
{
	const field *f = &s->d->s.targets[0];
	const int more = f->level_count - PICTURE_CLASSES;
	s->share = more > 0 ? picture_text(
								  "probability, %d of %d classes", PICTURE_CLASSES, f->level_count)
			   : f->level_count == 2 ? picture_text("probability of %s", f->levels[1])
									 : copy_text("probability");
	if (more > 0) s->others = picture_text("%d other class%s", more, more > 1 ? "es" : "");
	s->map[0] = f->level_count == 2 ? picture_text("Probability of %s", f->levels[1])
									: copy_text("Most probable class");
	s->map[1] = copy_text("Probability of the label");
}

/*  The texts about targets that are numbers. Of several, they name the first. */
static void number_texts(subject *s)
{
	const schema *k = &s->d->s;
	const char *of = k->likelihood == ODVGP_LIKELIHOOD_GAUSSIAN ? "f" : "y",
			   *name = k->target_count > 1 ? s->target : "";
	s->map[0] = picture_text("Mean%s%s", *name ? " of " : "", name);
	s->map[1] = picture_text("Standard deviation of %s%s%s", of, *name ? ", " : "", name);
	s->truth[0] = picture_text("true%s%s", *name ? " " : "", name);
	s->truth[1] = picture_text("predicted%s%s", *name ? " " : "", name);
}

static void subject_texts(subject *s)
{
	const field *f = &s->d->s.targets[0];
	s->target = f->name ? copy_text(f->name) : picture_text("column %d", f->column);
	if (of_classes(s)) class_texts(s);
	else number_texts(s);
}

/*  Prepares a model for its picture. Returns 0 if it cannot predict. */
static int subject_begin(subject *s, const dataset *d, odvgp_model *model, const workers *w)
{
	memset(s, 0, sizeof *s);
	s->d = d;
	s->model = model;
	s->w = w;
	size_t size = odvgp_predictor_size(model, NULL);
	s->block = take(size, 1);
	choose_inputs(s);
	subject_texts(s);
	return !odvgp_freeze(model, NULL, s->block, size, NULL) &&
		   !odvgp_server_from_block(&s->server, s->block, size, ODVGP_ISA_AUTO, NULL);
}

static void subject_end(subject *s)
{
	for (int i = 0; i < 3; i++) free(s->input[i]);
	for (int i = 0; i < 2; i++) {
		free(s->map[i]);
		free(s->truth[i]);
	}
	free(s->target);
	free(s->share);
	free(s->others);
	free(s->block);
}

static void picture_fit(picture *p, const subject *s)
{
	ptrdiff_t D = s->d->s.D;
	if (D == 1) picture_one_input(p, s);
	else if (D == 2) picture_two_inputs(p, s);
	else picture_slices(p, s);
	if (of_classes(s)) picture_calibration(p, s);
	else if (D > 1) picture_truth(p, s);
}

#endif
