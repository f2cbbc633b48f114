/*  report.h - results as JSON and as text: what a model is, what training made of it, how well it
    predicts. */
#ifndef TOOL_REPORT_H
#define TOOL_REPORT_H

#include "data.h"
#include "models.h"
#include "plot.h"
#include "predict.h"

/* ---- JSON ---- */

static void json_key(bytes *b, const char *key)
{
	bytes_print(b, "%s\"%s\": ", b->used > 1 ? ", " : "", key);
}

/*  The one place that writes numbers with a fraction: JSON has none that are not finite. */
static void json_value(bytes *b, double v)
{
	if (isfinite(v)) bytes_print(b, "%.10g", v);
	else bytes_print(b, "null");
}

static void json_number(bytes *b, const char *key, double v)
{
	json_key(b, key);
	json_value(b, v);
}

static void json_numbers(bytes *b, const char *key, const double *v, ptrdiff_t n)
{
	json_key(b, key);
	for (ptrdiff_t i = 0; i < n; i++) {
		bytes_print(b, i ? ", " : "[");
		json_value(b, v[i]);
	}
	bytes_print(b, n ? "]" : "[]");
}

static void json_count(bytes *b, const char *key, int64_t v)
{
	json_key(b, key);
	bytes_print(b, "%lld", (long long)v);
}

static void json_flag(bytes *b, const char *key, int v)
{
	json_key(b, key);
	bytes_print(b, v ? "true" : "false");
}

/*  Reads bytes that are not UTF-8 as Latin-1, so that the object stays valid. */
static void json_string(bytes *b, const char *text)
{
	bytes_add(b, "\"", 1);
	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		int n = plot_utf8_length(s);
		if (*s == '"' || *s == '\\') bytes_print(b, "\\%c", *s);
		else if (*s < 32 || *s == 127 || !n) bytes_print(b, "\\u%04x", *s);
		else bytes_add(b, s, (size_t)n);
		s += n ? n : 1;
	}
	bytes_add(b, "\"", 1);
}

static void json_text(bytes *b, const char *key, const char *text)
{
	json_key(b, key);
	json_string(b, text);
}

static void json_data(bytes *b, const dataset *d)
{
	json_text(b, "dataset", d->s.dataset);
	json_count(b, "n_train", d->train.n);
	json_count(b, "n_test", d->test.n);
	if (d->valid.n) json_count(b, "n_validation", d->valid.n);
	json_count(b, "d", d->s.D);
	json_count(b, "p", d->s.target_count);
	if (d->class_weight)
		json_numbers(b, "class_weights", d->class_weight, d->s.targets[0].level_count);
}

static void json_outliers(bytes *b, const dataset *d)
{
	json_key(b, "outliers");
	bytes_print(b, "[");
	for (int i = 0; i < d->outlier_count; i++) {
		const outlier *o = &d->outliers[i];
		bytes one = {NULL, 0, 0};
		bytes_print(&one, "{");
		json_count(&one, "line", o->line);
		json_count(&one, "column", o->column);
		json_number(&one, "value", o->value);
		json_number(&one, "distance", o->distance);
		bytes_print(b, "%s%s}", i ? ", " : "", one.at);
		free(one.at);
	}
	bytes_print(b, "]");
}

static void text_outliers(bytes *b, const dataset *d)
{
	for (int i = 0; i < d->outlier_count; i++) {
		const outlier *o = &d->outliers[i];
		char distance[40];
		bytes_print(b, "outlier  line %ld, column %d: %g, %s the width of its column away\n",
				o->line, o->column, o->value, distance_text(distance, o->distance));
	}
}

/*  Standard error of the coverage of 95 % bands that are right. */
static double coverage_error(const metrics *m)
{
	return m->n ? sqrt(0.95 * 0.05 / (double)m->n) : NAN;
}

static void json_class_metrics(bytes *b, const metrics *m)
{
	json_number(b, "accuracy", m->accuracy);
	json_number(b, "loglik", m->loglik);
	json_number(b, "brier", m->brier);
	json_number(b, "ece", m->ece);
	json_count(b, "ece_bins", ECE_BINS);
}

static void json_errors(bytes *b, const metrics *m)
{
	json_number(b, "rmse", m->rmse);
	json_number(b, "mae", m->mae);
	json_number(b, "loglik", m->loglik);
	json_number(b, "rmse_raw", m->rmse_raw);
	json_number(b, "mae_raw", m->mae_raw);
	json_number(b, "loglik_raw", m->loglik_raw);
	if (isnan(m->coverage)) return;
	json_number(b, "coverage", m->coverage);
	json_number(b, "coverage_error", coverage_error(m));
}

/*  The metrics that suit the targets, null where there are none. */
static void json_metrics(bytes *b, odvgp_likelihood kind, const metrics *m)
{
	if (has_classes(kind)) json_class_metrics(b, m);
	else json_errors(b, m);
}

/*  The metrics of each target. */
static void json_targets(bytes *b, const schema *s, const metric_sums *sums)
{
	json_key(b, "targets");
	for (int p = 0; p < s->target_count; p++) {
		metrics m = metrics_mean(&sums[p], 1, target_scale(s) + p);
		bytes one = {NULL, 0, 0};
		bytes_print(&one, "{");
		json_count(&one, "column", s->targets[p].column);
		if (s->targets[p].name) json_text(&one, "target", s->targets[p].name);
		json_count(&one, "n_test", m.n);
		json_errors(&one, &m);
		bytes_print(b, "%s%s}", p ? ", " : "[", one.at);
		free(one.at);
	}
	bytes_print(b, "]");
}

/*  The likelihood, and the labels of its classes. */
static void json_likelihood(bytes *b, const schema *s)
{
	json_text(b, "likelihood", likelihood_text(s->likelihood));
	if (!has_classes(s->likelihood)) return;
	const field *f = &s->targets[0];
	json_key(b, "classes");
	for (int k = 0; k < f->level_count; k++) {
		bytes_print(b, k ? ", " : "[");
		json_string(b, f->levels[k]);
	}
	bytes_print(b, "]");
}

/*  A row for each true class, with counts of predicted classes. */
static void json_confusion(bytes *b, const scores *s)
{
	json_key(b, "confusion");
	if (!s->n) {
		bytes_print(b, "null");
		return;
	}
	for (int y = 0; y < s->classes; y++) {
		bytes_print(b, y ? ", " : "[");
		for (int k = 0; k < s->classes; k++)
			bytes_print(b, "%s%td", k ? ", " : "[", s->confusion[y * s->classes + k]);
		bytes_print(b, "]");
	}
	bytes_print(b, "]");
}

static void json_events(bytes *b, const odvgp_events *e)
{
	json_number(b, "jitter", e->jitter);
	json_count(b, "jitter_raised", (int64_t)e->jitter_raised);
	json_count(b, "step_shortened", (int64_t)e->step_shortened);
	json_count(b, "variance_clamped", (int64_t)e->variance_clamped);
	json_count(b, "step_undone", (int64_t)e->step_undone);
}

/*  The bound of n training rows, and how far log p(y) can be above it. */
static void json_bound(bytes *b, double elbo, double upper, ptrdiff_t n)
{
	json_number(b, "elbo", elbo);
	json_number(b, "elbo_per_row", elbo / (double)n);
	json_number(b, "upper_bound", upper);
}

/*  Prints the object on stdout. */
static void json_finish(bytes *b)
{
	bytes_print(b, "}\n");
	write_stdout(b);
	free(b->at);
}

/* ---- what a model is ---- */

static const char *basis_text(const odvgp_config *c, ptrdiff_t l)
{
	for (int i = 0; i < BASIS_COUNT; i++)
		if (basis_list[i].mean_part == c->layer[l].mean_part &&
				basis_list[i].cov_part == c->layer[l].cov_part &&
				basis_list[i].objective == c->objective)
			return basis_list[i].name;
	return "unknown";
}

static const char *objective_text(const odvgp_config *c)
{
	return c->objective == ODVGP_OBJECTIVE_ELBO    ? "elbo"
		   : c->objective == ODVGP_OBJECTIVE_EXACT ? "exact"
												   : "collapsed";
}

static const char *optimizer_text(const odvgp_config *c)
{
	return c->optim.kind == ODVGP_OPTIMIZER_LBFGS ? "lbfgs" : "adam";
}

static const char *training_text(const odvgp_config *c)
{
	return c->optim.natgrad                         ? "natural gradients"
		   : c->optim.kind == ODVGP_OPTIMIZER_LBFGS ? "L-BFGS"
													: "Adam only";
}

/*  The option that chooses this model's natural step, and its word in `value`; NULL: there is
    none. */
static const char *natgrad_way_text(const odvgp_config *c, char value[24])
{
	if (!c->optim.natgrad) return NULL;
	int id = LAST_LAYER(c).cov_part == ODVGP_COV_PART_BLOCKS     ? OPT_NATGRAD_BLOCKS
			 : LAST_LAYER(c).cov_part == ODVGP_COV_PART_DIAGONAL ? OPT_NATGRAD_DIAG
			 : LAST_LAYER(c).M_gamma                             ? OPT_NATGRAD_GAMMA
																 : -1;
	if (id < 0) return NULL;
	const char *word = option_list[id].argument;
	int which = id == OPT_NATGRAD_BLOCKS ? (int)c->reproduce.blocks_step
				: id == OPT_NATGRAD_DIAG ? (int)c->reproduce.diag_step
										 : (int)c->optim.gamma_step;
	for (; which; which--) word = strchr(word, '|') + 1;
	snprintf(value, 24, "%.*s", (int)strcspn(word, "|"), word);
	return option_list[id].name;
}

/*  A step size as --lr and --natgrad-step write it: its initial value, and those that it rises or
    falls to. */
static void print_schedule(bytes *b, const char *before, const odvgp_schedule *s)
{
	bytes_print(b, "%s%.6g", before, (double)s->start);
	if (s->kind != ODVGP_SCHEDULE_CONSTANT) bytes_print(b, "-%.6g", (double)s->end);
	if (s->decay_steps > 0) bytes_print(b, "-%.6g", (double)s->final);
}

/*  Objective, natural gradients and step sizes in the words of the options. */
static void text_method(bytes *b, const odvgp_config *c)
{
	char value[24];
	const char *way = natgrad_way_text(c, value);
	bytes_print(b, "method   objective %s, optimizer %s, natgrad %s", objective_text(c),
			optimizer_text(c), c->optim.natgrad ? "on" : "off");
	if (way) bytes_print(b, ", %s %s", way, value);
	if (c->optim.kind == ODVGP_OPTIMIZER_ADAM) print_schedule(b, ", lr ", &c->optim.lr);
	if (c->optim.natgrad) print_schedule(b, ", natgrad-step ", &c->optim.natgrad_step);
	bytes_print(b, "\n");
}

static void json_schedule(bytes *b, const char *key, const odvgp_schedule *s)
{
	json_key(b, key);
	print_schedule(b, "\"", s);
	bytes_print(b, "\"");
}

static void json_method(bytes *b, const odvgp_config *c)
{
	char value[24];
	const char *way = natgrad_way_text(c, value);
	json_text(b, "objective", objective_text(c));
	json_text(b, "optimizer", optimizer_text(c));
	json_flag(b, "natgrad", c->optim.natgrad);
	if (c->optim.kind == ODVGP_OPTIMIZER_ADAM) json_schedule(b, "lr", &c->optim.lr);
	if (c->optim.natgrad) json_schedule(b, "natgrad_step", &c->optim.natgrad_step);
	if (!way) return;
	char key[40];
	snprintf(key, sizeof key, "%s", way);
	for (char *k = key; *k; k++)
		if (*k == '-') *k = '_';
	json_text(b, key, value);
}

/*  The noise variance, of standardised targets; of several noises their mean. NAN: there is none. */
static double noise_of(const odvgp_model *model)
{
	const odvgp_slot *slot = odvgp_slot_find(model, "noise_variance");
	double sum = 0, *v = slot ? take_doubles(slot->count, 1) : NULL;
	if (!slot || odvgp_get(model, "noise_variance", v, slot->count, NULL)) sum = NAN;
	for (ptrdiff_t i = 0; slot && i < slot->count; i++) sum += v[i] / (double)slot->count;
	free(v);
	return sum;
}

/*  Is it a parameter of the likelihood, or of mixtures? Names of the others have a dot, or are among
    those that odvgp_slot lists. */
static int is_of_likelihood(const odvgp_slot *slot)
{
	static const char units[] = "weights|Z_beta|q_mu|a_beta|q_sqrt|B_sqrt|q_diag|Z_gamma|a_gamma|"
								"v_mu|v_sqrt|Z_alpha|a";
	return !strchr(slot->name, '.') && position_in(units, slot->name) < 0;
}

static double *slot_values(const odvgp_model *model, const odvgp_slot *slot)
{
	double *v = take_doubles(slot->count, 1);
	if (odvgp_get(model, slot->name, v, slot->count, NULL))
		die(FAILED, "%s cannot be read", slot->name);
	return v;
}

/*  "0.1, 0.2, 0.3": at most ten values. */
static void text_values(bytes *b, const odvgp_model *model, const odvgp_slot *slot)
{
	enum { SHOWN = 10 };
	double *v = slot_values(model, slot);
	for (ptrdiff_t i = 0; i < smaller(slot->count, SHOWN); i++)
		bytes_print(b, "%s%.4g", i ? ", " : "", v[i]);
	if (slot->count > SHOWN) bytes_print(b, ", ...");
	free(v);
}

/*  A line with the parameters of the likelihood besides the noise variance. */
static void text_parameters(bytes *b, const odvgp_model *model, const schema *s)
{
	int count = 0;
	for (int i = 0; i < odvgp_slot_count(model); i++) {
		const odvgp_slot *slot = odvgp_slot_at(model, i);
		if (!is_of_likelihood(slot) || strcmp(slot->name, "noise_variance") == 0) continue;
		bytes_print(b, "%s%s ", count++ ? "; " : "params   ", slot->name);
		text_values(b, model, slot);
	}
	if (count)
		bytes_print(b, "%s\n", has_real_targets(s->likelihood) ? " (standardised targets)" : "");
}

static void json_parameters(bytes *b, const odvgp_model *model)
{
	bytes own = {NULL, 0, 0};
	bytes_print(&own, "{");
	json_key(b, "likelihood_parameters");
	for (int i = 0; i < odvgp_slot_count(model); i++) {
		const odvgp_slot *slot = odvgp_slot_at(model, i);
		if (!is_of_likelihood(slot)) continue;
		double *v = slot_values(model, slot);
		json_numbers(&own, slot->name, v, slot->count);
		free(v);
	}
	bytes_print(b, "%s}", own.at);
	free(own.at);
}

/*  The smallest noise variance, of standardised targets. */
static double noise_floor_of(const odvgp_config *c)
{
	return c->lik.noise_floor > 0 ? (double)c->lik.noise_floor : 1e-10;
}

static char *kernel_text(const odvgp_model *model)
{
	size_t size = odvgp_kernel_text(model, NULL, 0) + 1;
	char *text = take(size, 1);
	odvgp_kernel_text(model, text, size);
	return text;
}

/*  The column that an input comes from; *level is the input's level of a text column, or its part
    of a date, else NULL. */
static const field *field_of_input(const schema *s, ptrdiff_t input, const char **level)
{
	static const char *const parts[] = {"days", "yearday", "weekday"};
	const field *f = s->inputs;
	for (; input >= field_inputs(f); f++) input -= field_inputs(f);
	*level = has_numbers(f) ? NULL : f->levels[input];
	for (int k = 0; k < 3 && field_inputs(f) > 1; k++)
		if ((f->date_parts >> k & 1) && input-- == 0) *level = parts[k];
	return f;
}

/*  whole: the column, of whose levels it is one. */
static void print_input(bytes *b, const schema *s, ptrdiff_t input, int whole)
{
	const char *level;
	const field *f = field_of_input(s, input, &level);
	if (whole) level = NULL;
	if (f->name) bytes_print(b, "%s", NAME(f->name));
	else bytes_print(b, "%d", f->column);
	if (f->repeat) bytes_print(b, " (column %d)", f->column);
	if (level) bytes_print(b, "=%s", NAME(level));
}

typedef struct ranked {
	/* The first of the inputs that share it. */
	ptrdiff_t input, columns;
	/* NAN: constant columns, which teach nothing. */
	double lengthscale;
} ranked;

static int by_lengthscale(const void *a, const void *b)
{
	const ranked *x = a, *y = b;
	int x_last = isnan(x->lengthscale), y_last = isnan(y->lengthscale);
	int longer = x_last || y_last
						 ? x_last - y_last
						 : (x->lengthscale > y->lengthscale) - (x->lengthscale < y->lengthscale);
	return longer ? longer : (x->input > y->input) - (x->input < y->input);
}

/*  Do all inducing points have the same value of this input? They start on the data, and move only
    where that changes the bound. */
static int same_everywhere(const odvgp_real *Z, ptrdiff_t M, ptrdiff_t D, ptrdiff_t input)
{
	odvgp_real low = Z[input], high = Z[input];
	for (ptrdiff_t i = 1; i < M; i++) {
		if (Z[i * D + input] < low) low = Z[i * D + input];
		if (Z[i * D + input] > high) high = Z[i * D + input];
	}
	return M > 1 && high - low < 1e-9;
}

/*  The slots' prefix of function i if each has its own kernel; "" for all, if i is 0; else NULL. */
static const char *unit_text(const odvgp_model *model, ptrdiff_t i, char text[24])
{
	const odvgp_config *c = odvgp_model_config(model);
	ptrdiff_t count = c->independent ? LAST_LAYER(c).P : 1;
	text[0] = '\0';
	if (c->independent) snprintf(text, 24, "unit%td.", i);
	return i < count ? text : NULL;
}

/*  The inputs of a term of a unit's kernel by their lengthscales, the shortest first, constant
    columns last. NULL if the term does not have a lengthscale for each input. */
static ranked *rank_inputs(
		const odvgp_model *model, const char *unit, int term, ptrdiff_t D, ptrdiff_t *count)
{
	char name[80], Z_name[40];
	snprintf(name, sizeof name, "%skernel.%d.lengthscale", unit, term);
	int length = snprintf(Z_name, sizeof Z_name, "%sZ_", unit);
	const odvgp_slot *slot = odvgp_slot_find(model, name), *points = NULL;
	if (!slot || odvgp_kernel_column(model, term, 0) < 0) return NULL;
	for (int i = 0; i < odvgp_slot_count(model) && !points; i++)
		if (!strncmp(odvgp_slot_at(model, i)->name, Z_name, (size_t)length))
			points = odvgp_slot_at(model, i);
	/* Columns of patches are not inputs. */
	if (points && points->shape[1] != D) return NULL;
	odvgp_real *value = take((size_t)slot->count, sizeof *value),
			   *Z = points ? take((size_t)points->count, sizeof *Z) : NULL;
	ranked *r = take((size_t)slot->count, sizeof *r);
	char *kernel = kernel_text(model);
	int groups = strstr(kernel, "ard=") != NULL;
	free(kernel);
	*count = slot->count;
	if (points && odvgp_get(model, points->name, Z, points->count, NULL))
		die(FAILED, "%s cannot be read", points->name);
	if (odvgp_get(model, name, value, *count, NULL)) die(FAILED, "%s cannot be read", name);
	for (ptrdiff_t k = 0; k < *count; k++) {
		r[k].input = odvgp_kernel_column(model, term, k);
		ptrdiff_t next = k + 1 < *count ? odvgp_kernel_column(model, term, k + 1) : D;
		r[k].columns = groups ? larger(1, next - r[k].input) : 1;
		int same = Z != NULL;
		for (ptrdiff_t d = 0; d < r[k].columns && same; d++)
			same = same_everywhere(Z, points->count / D, D, r[k].input + d);
		r[k].lengthscale = same ? NAN : (double)value[k];
	}
	qsort(r, (size_t)*count, sizeof *r, by_lengthscale);
	free(value);
	free(Z);
	return r;
}

/*  A line for each term of a unit's kernel with ard. */
static void text_unit_lengthscales(
		bytes *b, const odvgp_model *model, const char *unit, const schema *s)
{
	enum { SHOWN = 6 };
	for (int term = 0; term < ODVGP_MAX_BASE_KERNELS; term++) {
		ptrdiff_t count, finite = 0;
		ranked *r = rank_inputs(model, unit, term, s->D, &count);
		if (!r) continue;
		while (finite < count && !isnan(r[finite].lengthscale)) finite++;
		bytes_print(b, "%slengths%d", unit, term);
		for (ptrdiff_t k = 0; k < smaller(finite, SHOWN); k++) {
			bytes_print(b, k ? ", " : " ");
			print_input(b, s, r[k].input, r[k].columns > 1);
			bytes_print(b, " %.3g", r[k].lengthscale);
		}
		if (finite > SHOWN)
			bytes_print(b, ", %td more, up to %.3g", finite - SHOWN, r[finite - 1].lengthscale);
		for (ptrdiff_t k = finite; k < count; k++) {
			bytes_print(b, k > finite ? ", " : finite ? "; constant: " : " constant: ");
			print_input(b, s, r[k].input, r[k].columns > 1);
		}
		bytes_print(b, "\n");
		free(r);
	}
}

static void text_lengthscales(bytes *b, const odvgp_model *model, const schema *s)
{
	char text[24];
	const char *unit;
	for (ptrdiff_t i = 0; (unit = unit_text(model, i, text)) != NULL; i++)
		text_unit_lengthscales(b, model, unit, s);
}

static void json_unit_lengthscales(bytes *b, const odvgp_model *model, ptrdiff_t i,
		const char *unit, int *any, const schema *s)
{
	for (int term = 0; term < ODVGP_MAX_BASE_KERNELS; term++) {
		ptrdiff_t count = 0;
		ranked *r = rank_inputs(model, unit, term, s->D, &count);
		for (ptrdiff_t k = 0; k < count; k++) {
			const char *level;
			const field *f = field_of_input(s, r[k].input, &level);
			bytes_print(b, "%s{\"term\": %d", (*any)++ ? ", " : "", term);
			if (*unit) json_count(b, "function", i);
			json_count(b, "column", f->column);
			if (f->name) json_text(b, "input", f->name);
			if (level && r[k].columns == 1) json_text(b, "level", level);
			json_number(b, "lengthscale", r[k].lengthscale);
			bytes_print(b, "}");
		}
		free(r);
	}
}

static void json_lengthscales(bytes *b, const odvgp_model *model, const schema *s)
{
	char text[24];
	const char *unit;
	int any = 0;
	json_key(b, "lengthscales");
	bytes_print(b, "[");
	for (ptrdiff_t i = 0; (unit = unit_text(model, i, text)) != NULL; i++)
		json_unit_lengthscales(b, model, i, unit, &any, s);
	bytes_print(b, "]");
}

/* ---- what commands have in common ---- */

/*  Basis, sizes and patches of a layer. */
static void json_layer(bytes *b, const odvgp_config *c, ptrdiff_t l)
{
	bytes own = {NULL, 0, 0};
	bytes_print(&own, "{");
	json_text(&own, "basis", basis_text(c, l));
	json_count(&own, "inputs", c->layer[l].D);
	json_count(&own, "outputs", c->layer[l].P);
	json_count(&own, "beta", c->layer[l].M);
	json_count(&own, "gamma", c->layer[l].M_gamma);
	if (c->layer[l].patches.image_height) {
		json_count(&own, "image_height", c->layer[l].patches.image_height);
		json_count(&own, "image_width", c->layer[l].patches.image_width);
		json_count(&own, "channels", larger(1, c->layer[l].patches.channels));
		json_count(&own, "patch_height", c->layer[l].patches.height);
		json_count(&own, "patch_width", c->layer[l].patches.width);
		json_count(&own, "stride", larger(1, c->layer[l].patches.stride));
	}
	bytes_print(b, "%s%s}", l ? ", " : "[", own.at);
	free(own.at);
}

/*  Basis, method and sizes. */
static void json_model(bytes *b, const char *name, const odvgp_config *c)
{
	json_key(b, "layer_sizes");
	for (ptrdiff_t l = 0; l < c->layers; l++) json_layer(b, c, l);
	bytes_print(b, "]");
	json_text(b, "basis", name);
	json_method(b, c);
	json_count(b, "beta", LAST_LAYER(c).M);
	json_count(b, "gamma", LAST_LAYER(c).M_gamma);
	if (c->layers > 1) json_count(b, "layers", c->layers);
}

/*  What training made of the model. */
static void json_learned(bytes *b, const odvgp_model *model, const schema *s, const odvgp_events *e)
{
	char *kernel = kernel_text(model);
	json_text(b, "kernel", kernel);
	json_lengthscales(b, model, s);
	json_parameters(b, model);
	json_number(b, "noise_variance", noise_of(model));
	json_events(b, e);
	free(kernel);
}

/*  --class-weights; NULL: none. */
static const char *weights_text(const schema *s)
{
	return s->settings ? settings_find(s->settings, "class-weights") : NULL;
}

/*  The likelihood, and the labels of its classes. */
static void text_likelihood(bytes *b, const schema *s)
{
	enum { SHOWN = 8 };
	bytes_print(b, "targets  likelihood %s", likelihood_text(s->likelihood));
	if (has_classes(s->likelihood)) {
		const field *f = &s->targets[0];
		bytes_print(b, ", %d classes: ", f->level_count);
		for (int k = 0; k < f->level_count && k < SHOWN; k++)
			bytes_print(b, "%s%s", k ? ", " : "", NAME(f->levels[k]));
		if (f->level_count > SHOWN) bytes_print(b, ", ...");
	}
	const char *weights = weights_text(s);
	bytes_print(b, "%s%s\n", weights ? "; weights " : "", weights ? weights : "");
}

/*  The noise of each output, or the mean of more than ten. */
static void text_noise(bytes *b, const odvgp_model *model)
{
	enum { FEW = 10 };
	double mean = noise_of(model);
	const odvgp_slot *slot = odvgp_slot_find(model, "noise_variance");
	bytes_print(b, "noise    variance ");
	if (slot && slot->count <= FEW) text_values(b, model, slot);
	else bytes_print(b, "%.4g, the mean", mean);
	bytes_print(b, "%s\n",
			mean <= 1.01 * noise_floor_of(odvgp_model_config(model))
					? ", its lower bound: the targets look free of noise"
					: "");
}

/*  The same in lines of text. */
static void text_model(bytes *b, const char *name, const odvgp_model *model, const schema *s)
{
	const odvgp_config *c = odvgp_model_config(model);
	char *kernel = kernel_text(model);
	bytes_print(b, "model    %s, beta %td, gamma %td, %s\n", name, LAST_LAYER(c).M,
			LAST_LAYER(c).M_gamma, training_text(c));
	for (ptrdiff_t l = 0; l + 1 < c->layers; l++)
		bytes_print(b, "layer %td  below it: %s, %td inputs, %td outputs, beta %td, gamma %td\n", l,
				basis_text(c, l), c->layer[l].D, c->layer[l].P, c->layer[l].M, c->layer[l].M_gamma);
	text_method(b, c);
	images_text(b, model);
	bytes_print(b, "kernel   %s\n", kernel);
	text_lengthscales(b, model, s);
	if (s->likelihood != ODVGP_LIKELIHOOD_GAUSSIAN) text_likelihood(b, s);
	else text_noise(b, model);
	text_parameters(b, model, s);
	free(kernel);
}

/*  How many targets lie inside the 95 % bands; and why, where it is not 93 to 97 % by more than two
    errors. */
static void text_coverage(bytes *b, const metrics *m)
{
	double error = coverage_error(m);
	if (isnan(m->coverage)) return;
	bytes_print(b, "%-8s %.1f %% of targets inside the 95 %% bands, +- %.1f %%\n", "",
			100 * m->coverage, 100 * error);
	if (m->coverage < 0.93 - 2 * error)
		bytes_print(b,
				"%-8s the bands are too narrow: these rows are unlike the training rows, or "
				"errors have heavy tails\n",
				"");
	if (m->coverage > 0.97 + 2 * error)
		bytes_print(b,
				"%-8s the bands are too wide: errors are not normal (a few large ones raise "
				"the noise), or it has not settled\n",
				"");
}

/*  The metrics of one target. */
static void text_errors(bytes *b, const char *title, const metrics *m)
{
	/* Counts, for example, are not standardised. */
	int same = m->rmse >= m->rmse_raw && m->rmse <= m->rmse_raw;
	if (!same)
		bytes_print(b, "%-8s rmse %.5g  mae %.5g  loglik %.5g  (standardised)\n", title, m->rmse,
				m->mae, m->loglik);
	bytes_print(b, "%-8s rmse %.5g  mae %.5g  loglik %.5g  (units of the target)\n",
			same ? title : "", m->rmse_raw, m->mae_raw, m->loglik_raw);
	text_coverage(b, m);
}

/*  The metrics of several targets: means, and a line for each target in its own units. */
static void text_targets(
		bytes *b, const char *title, const metrics *m, const schema *s, const metric_sums *sums)
{
	enum { SHOWN = 12 };
	int standardised = has_real_targets(s->likelihood), shown = 0, there = 0;
	bytes_print(b, "%-8s rmse %.5g  mae %.5g  loglik %.5g  (%smeans of %d targets)\n", title,
			m->rmse, m->mae, m->loglik, standardised ? "standardised, " : "", s->target_count);
	for (int p = 0; p < s->target_count; p++) {
		const field *f = &s->targets[p];
		metrics one = metrics_mean(&sums[p], 1, target_scale(s) + p);
		there += one.n > 0;
		if (!one.n || there > SHOWN) continue;
		shown++;
		if (f->name) bytes_print(b, "%-8s %s", "", NAME(f->name));
		else bytes_print(b, "%-8s column %d", "", f->column);
		bytes_print(b, ": rmse %.5g  mae %.5g  loglik %.5g%s\n", one.rmse_raw, one.mae_raw,
				one.loglik_raw, shown == 1 ? "  (in its own units)" : "");
	}
	if (there > shown)
		bytes_print(b, "%-8s %d more targets: --json prints them\n", "", there - shown);
	text_coverage(b, m);
}

/*  The metrics that suit the targets. */
static void text_metrics(
		bytes *b, const char *title, const metrics *m, const schema *s, const metric_sums *sums)
{
	if (s->target_count > 1) text_targets(b, title, m, s, sums);
	else if (!has_classes(s->likelihood)) text_errors(b, title, m);
	else
		bytes_print(b, "%-8s accuracy %.5g  loglik %.5g  Brier score %.5g  ECE %.5g (%d bins)\n",
				title, m->accuracy, m->loglik, m->brier, m->ece, ECE_BINS);
}

/*  The confusion matrix, unless it is too wide to read. */
static void text_confusion(bytes *b, const scores *s, const field *f)
{
	enum { SHOWN = 12, WIDTH = 9 };
	if (s->classes > SHOWN) {
		bytes_print(b, "confusion of %d classes: --json prints it\n", s->classes);
		return;
	}
	bytes_print(b, "confusion: rows are true classes, columns predicted ones\n%*s", WIDTH, "");
	for (int k = 0; k < s->classes; k++) bytes_print(b, " %*.*s", WIDTH, WIDTH, NAME(f->levels[k]));
	for (int y = 0; y < s->classes; y++) {
		bytes_print(b, "\n%-*.*s", WIDTH, WIDTH, NAME(f->levels[y]));
		for (int k = 0; k < s->classes; k++)
			bytes_print(b, " %*td", WIDTH, s->confusion[y * s->classes + k]);
	}
	bytes_print(b, "\n");
}

#endif
