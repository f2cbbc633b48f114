/*  scales.h - fits to the training rows what transform.h applies: --transform, --target-transform;
    --transform auto compares on rows held out. */
#ifndef TOOL_SCALES_H
#define TOOL_SCALES_H

#include "levels.h"

/* ---- columns, the target ---- */

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
		if (!has_scale(f)) {
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

/* ---- --transform auto: by validation ---- */

/*  Skewed columns become logarithms, those with far values asinh: "0=log,3=asinh"; NULL: none is. */
static char *transform_proposal(const dataset *d)
{
	const schema *s = &d->s;
	ptrdiff_t n = d->train.n;
	bytes b = {NULL, 0, 0};
	for (int i = 0; i < s->input_count; i++) {
		if (!has_scale(&s->inputs[i]) || field_inputs(&s->inputs[i]) > 1) continue;
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

enum { TRANSFORM_STEPS = 40, PROBE_CLASSES = 10 };

/*  log p of the held rows by a sparse model of the others whose columns are transformed as the list
    says, or NULL. */
static double *probe_transformed(
		const probe_rows *r, dataset *d, const table *t, const char *list, odvgp_isa isa)
{
	ptrdiff_t D = r->D;
	dataset own;
	memset(&own, 0, sizeof own);
	own.s = d->s;
	own.s.transforms = NULL;
	own.train.n = r->n - r->held;
	own.train.X = r->X;
	transforms_fit(&own, t, list);
	probe_rows scaled = *r;
	scaled.X = take_doubles(r->n, D);
	scaled.Y = take_doubles(r->n, r->P);
	memcpy(scaled.X, r->X, (size_t)(r->n * D) * sizeof *r->X);
	memcpy(scaled.Y, r->Y, (size_t)(r->n * r->P) * sizeof *r->Y);
	if (own.s.transforms)
		odvgp_transform_columns(scaled.X, r->n, D, own.s.transforms, scaled.X, NULL);
	probe_scale(&scaled, NULL);
	double *logp = probe_logp(&scaled, "matern52(ard)", TRANSFORM_STEPS, isa, &d->notes);
	transforms_free(own.s.transforms, D);
	free(scaled.X), free(scaled.Y);
	return logp;
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
	probe_rows r = probe_make(d, PROBE_ROWS, PROBE_CLASSES, seed);
	double *without = r.held >= 10 ? probe_transformed(&r, d, t, list[0], isa_of(o)) : NULL;
	for (int k = 1; k < LISTS && without; k++) {
		double *logp = list[k] ? probe_transformed(&r, d, t, list[k], isa_of(o)) : NULL, error;
		if (!logp) continue;
		double gain = paired_difference(logp, without, r.held, &error);
		bytes_print(&d->notes, "note: --transform %s: %+.3g nats a held row, standard error %.2g\n",
				list[k], gain, error);
		if (gain > 2 * error && gain > most) best = k, most = gain;
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
