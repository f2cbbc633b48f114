/*  scales.h - fits to the training rows what transform.h applies: --levels, --transform,
    --target-transform; --transform auto compares on rows held out. */
#ifndef TOOL_SCALES_H
#define TOOL_SCALES_H

#include "dataset.h"

/* ---- levels, columns, the target ---- */

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

/*  Prepares --levels means: a level's number is its code first. */
static void levels_begin(schema *s, const options *o)
{
	int means = 0;
	if (option_choice(o, OPT_LEVELS) != LEVELS_MEANS) return;
	for (int i = 0; i < s->input_count; i++) {
		field *f = &s->inputs[i];
		if (!f->level_count || f->ordinal) continue;
		f->means = take_doubles((ptrdiff_t)f->level_count + 1, 1);
		for (int k = 0; k <= f->level_count; k++) f->means[k] = k;
		means++;
	}
	if (means &&
			(s->target_count > 1 || (has_classes(s->likelihood) && s->targets[0].level_count > 2)))
		die(BAD_INPUT, "--levels means: only for one target, of numbers or two classes");
}

/*  The inputs of a field begin here. */
static ptrdiff_t first_input(const schema *s, int i)
{
	ptrdiff_t at = 0;
	for (int k = 0; k < i; k++) at += field_inputs(&s->inputs[k]);
	return at;
}

/*  Fits one transform to the training rows of an input; returns why there is none, or NULL. */
static const char *transform_input(dataset *d, ptrdiff_t input, int kind)
{
	schema *s = &d->s;
	const part *p = &d->train;
	double *sorted = train_numbers(d, TILE_X, input);
	odvgp_transform *t = &s->transforms[input];
	qsort(sorted, (size_t)p->n, sizeof *sorted, by_number);
	free((double *)(uintptr_t)t->from);
	const char *reason = transform_fit(t, kind, sorted, p->n);
	odvgp_real any = 0;
	odvgp_info info = no_info;
	if (!reason && odvgp_transform_columns(&any, 1, 1, t, &any, &info))
		reason = "has values too far apart or too near to each other";
	free(sorted);
	return reason;
}

/*  Is it a column of numbers, whose scale may change? */
static int has_numbers(const field *f) { return !f->level_count || f->ordinal || f->means; }

/*  One item of --transform, "NAME=KIND". */
static void transform_item(dataset *d, const table *t, const char *item)
{
	schema *s = &d->s;
	const char *equals = strrchr(item, '=');
	int kind = equals ? position_in(transform_words, equals + 1) : -1, found = 0;
	if (kind < 0)
		die(BAD_INPUT, "--transform %s: must be none, auto, or NAME=log, asinh or linear", item);
	char *name = copy_text(item);
	name[equals - item] = 0;
	int all = strcmp(name, "all") == 0 && table_find(t, name, 0) < 0;
	selection chosen = {NULL, 0, 0, NULL};
	if (!all) select_item(&chosen, t, OPT_TRANSFORM, name);
	for (int i = 0; i < s->input_count; i++) {
		const field *f = &s->inputs[i];
		if (!all && !selected(&chosen, f->column)) continue;
		found = 1;
		if (!has_numbers(f)) {
			if (all) continue;
			die(BAD_INPUT, "--transform %s: %s is text: --levels says what texts become", item,
					COLUMN_TEXT(f->column, f->name));
		}
		for (ptrdiff_t k = 0; k < field_inputs(f); k++) {
			ptrdiff_t input = first_input(s, i) + k;
			const char *reason = transform_input(d, input, kind);
			if (!reason) continue;
			if (!all)
				die(BAD_INPUT, "--transform %s: %s %s", item, COLUMN_TEXT(f->column, f->name),
						reason);
			transform_input(d, input, ODVGP_TRANSFORM_NONE);
		}
	}
	if (!found) die(BAD_INPUT, "--transform %s: is no input of the model", item);
	selection_free(&chosen);
	free(name);
}

/*  Fits the transforms of inputs that a list names. t: for the names. */
static void transforms_fit(dataset *d, const table *t, const char *list)
{
	schema *s = &d->s;
	int any = 0;
	if (strcmp(list, "none") == 0) return;
	s->transforms = take((size_t)s->D, sizeof *s->transforms);
	char *copy = copy_text(list), *rest = copy, *item;
	while ((item = next_item(&rest, ',')) != NULL) transform_item(d, t, item);
	free(copy);
	for (ptrdiff_t k = 0; k < s->D; k++) any |= s->transforms[k].kind != ODVGP_TRANSFORM_NONE;
	if (any) return;
	transforms_free(s->transforms, s->D);
	s->transforms = NULL;
}

/*  "a is log(a + 1)", a line. */
static void transforms_note(const schema *s, bytes *b)
{
	enum { SHOWN = 8 };
	int shown = 0;
	for (int i = 0; i < s->input_count && s->transforms; i++)
		for (ptrdiff_t k = first_input(s, i), end = k + field_inputs(&s->inputs[i]); k < end; k++) {
			char text[24];
			const field *f = &s->inputs[i];
			if (!s->transforms[k].kind) continue;
			if (shown++ < SHOWN) {
				snprintf(text, sizeof text, "column %d", f->column);
				bytes_print(b, "%s", shown > 1 ? ", " : "");
				transform_print(b, &s->transforms[k], f->name ? NAME(f->name) : text);
			}
		}
	if (shown > SHOWN) bytes_print(b, ", ...");
	if (s->y.kind) {
		bytes_print(b, "%s", shown ? "; " : "");
		transform_print(b, &s->y, s->targets[0].name ? NAME(s->targets[0].name) : "target");
	}
}

/*  The target as --target-transform says. */
static void target_make(dataset *d, const options *o)
{
	schema *s = &d->s;
	int kind = option_choice(o, OPT_TARGET_TRANSFORM);
	if (!kind) return;
	const char *name = o->value[OPT_TARGET_TRANSFORM];
	if (s->target_count > 1 || s->likelihood != ODVGP_LIKELIHOOD_GAUSSIAN)
		die(BAD_INPUT, "--target-transform %s: only for one target and --likelihood gaussian",
				name);
	double *sorted = train_numbers(d, TILE_Y, 0);
	odvgp_column_scales(sorted, d->train.n, 1, &s->y_raw[0], &s->y_raw[1], NULL);
	qsort(sorted, (size_t)d->train.n, sizeof *sorted, by_number);
	const char *reason = transform_fit(&s->y, kind, sorted, d->train.n);
	free(sorted);
	if (reason)
		die(BAD_INPUT, "--target-transform %s: %s %s", name,
				COLUMN_TEXT(s->targets[0].column, s->targets[0].name), reason);
}

/*  Indicators of texts stay 0 and 1 (--levels shared). */
static void indicators_stay(schema *s, const options *o)
{
	ptrdiff_t at = 0;
	if (option_choice(o, OPT_LEVELS) != LEVELS_SHARED) return;
	for (int i = 0; i < s->input_count; i++)
		for (ptrdiff_t k = field_inputs(&s->inputs[i]); k > 0; k--, at++)
			if (!has_numbers(&s->inputs[i])) s->x_mean[at] = 0, s->x_scale[at] = 1;
}

/*  Columns of one field's indicators share a lengthscale: "ard" of the kernel becomes
    "ard=2:5+7:9" (--levels shared). */
static void levels_kernel(options *o, const schema *s)
{
	bytes groups = {NULL, 0, 0}, kernel = {NULL, 0, 0};
	const char *text = o->value[OPT_KERNEL];
	if (option_choice(o, OPT_LEVELS) != LEVELS_SHARED || !text) return;
	for (int i = 0; i < s->input_count; i++) {
		ptrdiff_t at = first_input(s, i), n = field_inputs(&s->inputs[i]);
		if (!has_numbers(&s->inputs[i]) && n > 1)
			bytes_print(&groups, "%s%td:%td", groups.used ? "+" : "=", at, at + n);
	}
	for (const char *p = text; *p && groups.used;) {
		int word = strncmp(p, "ard", 3) == 0 && (p[3] == ')' || p[3] == ',') && p > text &&
				   !isalnum((unsigned char)p[-1]);
		bytes_print(&kernel, "%.*s", word ? 3 : 1, p);
		if (word) bytes_print(&kernel, "%s", groups.at);
		p += word ? 3 : 1;
	}
	if (kernel.used) option_store(o, OPT_KERNEL, kernel.at);
	free(groups.at);
}

/* ---- --transform auto: by validation ---- */

/*  Skewed columns become logarithms, those with far values asinh: "0=log,3=asinh"; NULL: none is. */
static char *transform_proposal(const dataset *d)
{
	const schema *s = &d->s;
	ptrdiff_t n = d->train.n;
	bytes b = {NULL, 0, 0};
	for (int i = 0; i < s->input_count; i++) {
		if (!has_numbers(&s->inputs[i]) || field_inputs(&s->inputs[i]) > 1) continue;
		double *sorted = train_numbers(d, TILE_X, first_input(s, i));
		qsort(sorted, (size_t)n, sizeof *sorted, by_number);
		double low = sorted[n / 2] - sorted[0], high = sorted[n - 1] - sorted[n / 2],
			   middle = sorted[n - 1 - n / 4] - sorted[n / 4];
		int skewed = high > 5 * low, far = low + high > 10 * middle;
		if (skewed || far)
			bytes_print(&b, "%s%d=%s", b.used ? "," : "", s->inputs[i].column,
					skewed ? "log" : "asinh");
		free(sorted);
	}
	return b.at;
}

/*  Rows of a probe, in the units of the data, and what its model says of the last `held` of them. */
typedef struct probe {
	ptrdiff_t n, held, P;
	double *X, *Y;
} probe;

/*  At most this many rows, of which every fourth is held out; steps and points of its models. */
enum { PROBE_ROWS = 2000, PROBE_STEPS = 40, PROBE_POINTS = 100, PROBE_CLASSES = 10 };

/*  Draws the rows, and gives classes a column each: 0 and 1. */
static probe probe_make(const dataset *d, uint64_t seed)
{
	const schema *s = &d->s;
	const part *p = &d->train;
	int classes = has_classes(s->likelihood) ? s->targets[0].level_count : 0;
	probe r = {smaller(p->n, PROBE_ROWS), 0,
			classes ? smaller(classes, PROBE_CLASSES) : s->target_count, NULL, NULL};
	r.held = r.n / 4;
	r.X = take_doubles(r.n, s->D);
	r.Y = take_doubles(r.n, r.P);
	for (tile t = {0}; next_tile(&t, p, d->disk, TILE_X | TILE_Y);)
		for (ptrdiff_t i = 0, to; i < t.n; i++) {
			if ((to = permute(seed, p->n, t.first + i)) >= r.n) continue;
			memcpy(r.X + to * s->D, t.X + i * s->D, (size_t)s->D * sizeof *r.X);
			for (ptrdiff_t k = 0; k < r.P; k++)
				r.Y[to * r.P + k] = classes ? (double)((ptrdiff_t)t.Y[i] == k) : t.Y[i * r.P + k];
		}
	return r;
}

/*  log p of the held rows by a sparse model of the others whose columns are transformed as the list
    says; NULL: there is no such model. */
static double *probe_run(const probe *r, const dataset *d, const table *t, const char *list)
{
	ptrdiff_t D = d->s.D, P = r->P, n = r->n - r->held;
	dataset own;
	memset(&own, 0, sizeof own);
	own.s = d->s;
	own.s.transforms = NULL;
	own.train.n = n;
	own.train.X = r->X;
	transforms_fit(&own, t, list);
	double *X = take_doubles(r->n, D), *Y = take_doubles(r->n, P), *mean = take_doubles(D + P, 1),
		   *scale = take_doubles(D + P, 1), *logp = take_doubles(r->held, 1);
	memcpy(X, r->X, (size_t)(r->n * D) * sizeof *X);
	if (own.s.transforms) odvgp_transform_columns(X, r->n, D, own.s.transforms, X, NULL);
	odvgp_column_scales(X, n, D, mean, scale, NULL);
	odvgp_standardise(X, r->n, D, mean, scale, X, NULL);
	odvgp_column_scales(r->Y, n, P, mean + D, scale + D, NULL);
	odvgp_standardise(r->Y, r->n, P, mean + D, scale + D, Y, NULL);
	odvgp_config c = odvgp_config_defaults(n, D, P, smaller(PROBE_POINTS, n / 4), 0);
	c.layer[0].kernel = "matern52(ard)";
	c.objective = ODVGP_OBJECTIVE_COLLAPSED;
	c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
	odvgp_model *m = NULL;
	odvgp_status bad = odvgp_model_create(&m, &c, X, Y, NULL, NULL);
	if (!bad) bad = odvgp_fit(m, X, Y, PROBE_STEPS, NULL, NULL);
	size_t size = bad ? 0 : odvgp_fit_q_scratch(m, NULL),
		   block_size = bad ? 0 : odvgp_predictor_size(m, NULL);
	void *scratch = take(size, 1), *block = take(block_size, 1);
	odvgp_server server;
	if (!bad) bad = odvgp_fit_q(m, X, Y, NULL, scratch, size, NULL);
	if (!bad) bad = odvgp_freeze(m, NULL, block, block_size, NULL);
	if (!bad) bad = odvgp_server_from_block(&server, block, block_size, ODVGP_ISA_AUTO, NULL);
	free(scratch);
	size = bad ? 0 : odvgp_predict_scratch(&server, 256, NULL);
	scratch = take(size, 1);
	if (!bad)
		bad = odvgp_predict_logp(&server, X + n * D, Y + n * P, r->held, logp, scratch, size, NULL);
	if (m) odvgp_model_free(m);
	transforms_free(own.s.transforms, D);
	free(scratch), free(block), free(X), free(Y), free(mean), free(scale);
	if (!bad) return logp;
	free(logp);
	return NULL;
}

/*  The list that --transform auto stands for: none, unless one is better on held rows by more than two
    standard errors of the mean of the rows' differences. The best of these. */
static char *transform_choose(dataset *d, const table *t, const options *o)
{
	enum { LISTS = 4 };
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX) ^ 0x7472616e73u;
	char *list[LISTS] = {copy_text("none"), transform_proposal(d),
			copy_text("all=asinh"), copy_text("all=linear")};
	int best = 0;
	double most = 0;
	probe r = probe_make(d, seed);
	double *without = r.held >= 10 ? probe_run(&r, d, t, list[0]) : NULL;
	for (int k = 1; k < LISTS && without; k++) {
		double *logp = list[k] ? probe_run(&r, d, t, list[k]) : NULL, sum = 0, squares = 0;
		if (!logp) continue;
		for (ptrdiff_t i = 0; i < r.held; i++) sum += (logp[i] - without[i]) / (double)r.held;
		for (ptrdiff_t i = 0; i < r.held; i++)
			squares += (logp[i] - without[i] - sum) * (logp[i] - without[i] - sum);
		double error = sqrt(squares) / (double)r.held;
		bytes_print(&d->notes, "note: --transform %s: %+.3g nats a held row, standard error %.2g\n",
				list[k], sum, error);
		if (sum > 2 * error && sum > most) best = k, most = sum;
		free(logp);
	}
	free(without), free(r.X), free(r.Y);
	for (int k = 0; k < LISTS; k++)
		if (k != best) free(list[k]);
	return list[best];
}

/*  The transforms of a model that is resumed. */
static void transforms_copy(schema *s, const schema *before)
{
	if (!before->transforms || before->D != s->D) return;
	s->transforms = take((size_t)s->D, sizeof *s->transforms);
	for (ptrdiff_t d = 0; d < s->D; d++) {
		odvgp_transform *to = &s->transforms[d];
		*to = before->transforms[d];
		double *knots = to->knots ? take_doubles(2, to->knots) : NULL;
		for (ptrdiff_t k = 0; k < 2 * to->knots; k++)
			knots[k] = k < to->knots ? to->from[k] : to->to[k - to->knots];
		to->from = knots;
		to->to = knots ? knots + to->knots : NULL;
	}
}

#endif
