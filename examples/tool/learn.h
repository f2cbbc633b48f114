/*  learn.h - a model that learns further rows one by one: for update and predict --learn.

    odvgp_online answers. Its block has no way back to the slots of a model, so another model, the
    pupil, learns the same rows by natural steps, and its q is what a model file gets. With N = 1, a
    step of length tau on n rows of weights w is

        P <- (1 - tau) P + tau I + tau / n sum_i w_i (-2 g_v) a_i a_i^T,

    so that 1 - tau = lambda^n and w_i = lambda^(n-1-i) n / tau learn them as n calls with forgetting
    lambda do. Without forgetting tau is so small that 1 - tau rounds to 1. Gaussian rows are learned
    in blocks; of other likelihoods g_v depends on q, and each row is a step. Where g_v > 0, as at an
    outlier of studentt, odvgp_online moves its mean only, while the pupil's variance grows. */
#ifndef TOOL_LEARN_H
#define TOOL_LEARN_H

#include "report.h"

enum { LEARN_ROWS = 256 };

typedef struct learner {
	const model_file *f;
	/* Its server may predict between two rows. */
	odvgp_online online;
	/* The model of the file, and what learns beside `online`. */
	odvgp_model *model, *pupil;
	model_block model_block, pupil_block;
	void *block, *scratch;
	size_t scratch_size;
	double forget;
	/* Weights of classes, or NULL. */
	double *class_weight;
	/* Standardised rows [waiting] that only `online` has learned: X, Y with weights. */
	double *X, *Y;
	ptrdiff_t waiting;
	/* Rows: learned; refused by the likelihood, and why the first one was; whose step the pupil
	   could not take. */
	ptrdiff_t learned, refused, left_out;
	char reason[200];
	/* The file that was saved. */
	void *file;
	size_t file_size;
} learner;

/* ---- models with the same q ---- */

static int has_blocks(const odvgp_config *c)
{
	return c->layer[0].cov_part == ODVGP_COV_PART_BLOCKS;
}

/*  A block of SOLVE-GP's q in that of COUPLED, whose points are both sets: from [P,m] or [P,m,m]. */
static void learn_place(const odvgp_slot *to, const odvgp_slot *from, ptrdiff_t at,
		const double *values, double *all)
{
	ptrdiff_t M = to->shape[1], m = from->shape[1], columns = from->dims > 2 ? m : 1;
	for (ptrdiff_t i = 0; i < from->count; i++) {
		ptrdiff_t column = i % columns, row = i / columns % m, p = i / columns / m;
		all[from->dims > 2 ? (p * M + at + row) * M + at + column : p * M + at + row] = values[i];
	}
}

/*  Gives a slot the value of another model's. Of SOLVE-GP both blocks become one: its kernel matrix
    of all points has the factor [L, 0; W^T, L_v]. */
static void learn_copy(odvgp_model *to, const odvgp_slot *slot, const odvgp_model *from)
{
	const char *dot = strrchr(slot->name, '.'), *own = dot ? dot + 1 : slot->name;
	int prefix = (int)(own - slot->name), points = strcmp(own, "Z_beta") == 0,
		joined = has_blocks(odvgp_model_config(from)) &&
				 (points || strcmp(own, "q_mu") == 0 || strcmp(own, "q_sqrt") == 0);
	const odvgp_slot *part = odvgp_slot_find(from, slot->name);
	double *all = take_doubles(slot->count, 1);
	ptrdiff_t at = 0, done = 0;
	for (int k = 0; k < 1 + joined && part; k++) {
		double *values = take_doubles(part->count, 1);
		odvgp_get(from, part->name, values, part->count, NULL);
		if (joined && !points) learn_place(slot, part, at, values, all);
		else if (done + part->count <= slot->count)
			memcpy(all + done, values, (size_t)part->count * sizeof *all);
		free(values);
		done += part->count;
		at += part->shape[1];
		bytes name = {NULL, 0, 0};
		bytes_print(&name, "%.*s%s", prefix, slot->name,
				points                     ? "Z_gamma"
				: strcmp(own, "q_mu") == 0 ? "v_mu"
										   : "v_sqrt");
		if (joined) part = odvgp_slot_find(from, name.at);
		free(name.at);
	}
	odvgp_info info = no_info;
	odvgp_status s = odvgp_set(to, slot->name, all, slot->count, &info);
	if (s) die_of(s, &info, "model");
	free(all);
}

/*  A model with the parameters of another one and a q that natural steps move: the pupil, or what is
    saved in place of a model of a bound without q, or of SOLVE-GP's blocks, whose rows correlate. */
static odvgp_model *learn_model(
		const odvgp_model *from, int pupil, const char *path, model_block *block)
{
	odvgp_info info = no_info;
	odvgp_model *model;
	odvgp_config c = *odvgp_model_config(from);
	odvgp_events events = odvgp_model_events(from);
	/* Of independent functions the text has one for each; slots replace its numbers. */
	char *kernel = kernel_text(from);
	kernel[strcspn(kernel, ";")] = 0;
	c.layer[0].kernel = kernel;
	c.objective = ODVGP_OBJECTIVE_ELBO;
	c.optim.kind = ODVGP_OPTIMIZER_ADAM;
	c.optim.natgrad = 1;
	c.optim.gamma_step = ODVGP_GAMMA_STEP_ADAM;
	if (has_blocks(&c)) {
		c.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
		c.layer[0].cov_part = ODVGP_COV_PART_DENSE;
		c.layer[0].M += c.layer[0].M_gamma;
		c.layer[0].M_gamma = c.optim.gamma_batch = 0;
	}
	if (events.jitter_raised) {
		c.jitter.absolute = events.jitter;
		c.jitter.relative = 0;
	}
	if (pupil) {
		c.N = c.optim.batch = 1;
		c.lik.weights = c.lik.missing = 1;
	}
	block->size = odvgp_model_size(&c, &info);
	if (!block->size) die_of(info.status, &info, path);
	block->at = take(block->size, 1);
	odvgp_status s = odvgp_model_init(&model, &c, block->at, block->size, &info);
	if (s) die_of(s, &info, path);
	for (int i = 0; i < odvgp_slot_count(model); i++)
		learn_copy(model, odvgp_slot_at(model, i), from);
	free(kernel);
	return model;
}

/* ---- beginning ---- */

/*  Weights of classes; those that training took from its rows are not known any more: 1. */
static double *learn_weights(const schema *s)
{
	const char *text = weights_text(s);
	const field *f = &s->targets[0];
	if (!text) return NULL;
	double *weight = take_doubles(f->level_count, 1);
	for (int k = 0; k < f->level_count; k++) weight[k] = 1;
	if (strcmp(text, "balanced") != 0) weights_parse(text, f, weight);
	return weight;
}

/*  Learns in memory; `server` is not needed afterwards. */
static learner *learner_begin(
		const model_file *f, const odvgp_server *server, const workers *w, double forget)
{
	odvgp_info info = no_info;
	learner *l = take(1, sizeof *l);
	const schema *s = &f->s;
	l->f = f;
	l->forget = forget;
	l->model = model_load(f, w, ODVGP_ISA_AUTO, &l->model_block);
	const odvgp_config *c = odvgp_model_config(l->model);
	ptrdiff_t M = c->layer[0].M + (has_blocks(c) ? c->layer[0].M_gamma : 0);
	int refused = c->reproduce.parametrisation != ODVGP_PARAMETRISATION_WHITENED;
	size_t size = refused ? 0 : odvgp_online_size(server, M, &info);
	const char *colon = strchr(info.text, ':');
	if (!size)
		die(BAD_INPUT,
				"%s: cannot learn further rows: it %s; train a model of --basis coupled, orth, "
				"hybrid, "
				"sgpr or solve",
				path_text(f->path),
				refused ? "has --param other than whitened"
				: colon ? colon + 2
						: info.text);
	l->block = take(size, 1);
	l->scratch_size = odvgp_online_scratch(server, M, &info);
	l->scratch = take(l->scratch_size, 1);
	odvgp_status bad = odvgp_online_start(
			&l->online, server, M, l->block, size, l->scratch, l->scratch_size, &info);
	if (bad) die_of(bad, &info, f->path);
	l->pupil = learn_model(l->model, 1, f->path, &l->pupil_block);
	l->class_weight = learn_weights(s);
	l->X = take_doubles(LEARN_ROWS, s->D);
	l->Y = take_doubles(LEARN_ROWS, s->target_count + 1);
	return l;
}

static void learner_end(learner *l)
{
	if (!l) return;
	free(l->model_block.at);
	free(l->pupil_block.at);
	free(l->block);
	free(l->scratch);
	free(l->class_weight);
	free(l->X);
	free(l->Y);
	free(l->file);
	free(l);
}

/* ---- learning ---- */

/*  The pupil learns the waiting rows, in one step. */
static void learn_waiting(learner *l)
{
	odvgp_info info = no_info;
	ptrdiff_t n = l->waiting, columns = l->f->s.target_count + 1;
	double tau = l->forget < 1 ? 1 - pow(l->forget, (double)n) : 1e-15 * (double)n, weight = 1;
	l->waiting = 0;
	if (!n) return;
	for (ptrdiff_t i = n; i-- > 0; weight *= l->forget)
		l->Y[(i + 1) * columns - 1] *= weight * (double)n / tau;
	odvgp_status s = odvgp_natgrad_step(l->pupil, l->X, l->Y, n, tau, NULL, &info);
	if (s == ODVGP_E_NOT_PD) l->left_out += n;
	else if (s) die_of(s, &info, l->f->path);
}

/*  Learns a row in the units of the data; NaN: a missing target. Returns 0 if the likelihood refuses
    it; a row without targets is none. */
static int learn_row(learner *l, const double *x, const double *y)
{
	odvgp_info info = no_info;
	const schema *s = &l->f->s;
	int T = s->target_count, there = 0;
	double *X = l->X + l->waiting * s->D, *Y = l->Y + l->waiting * (T + 1), weight = 1;
	double *told = take_doubles(T + 1, 1);
	memcpy(Y, y, (size_t)T * sizeof *y);
	for (int k = 0; k < T; k++) there |= !isnan(y[k]);
	if (there && l->class_weight) weight = l->class_weight[(int)y[0]];
	odvgp_standardise(x, 1, s->D, s->x_mean, s->x_scale, X, NULL);
	odvgp_standardise(Y, 1, T, s->y_mean, s->y_scale, Y, NULL);
	Y[T] = weight;
	memcpy(told, s->likelihood == ODVGP_LIKELIHOOD_HETEROSCEDASTIC ? Y : y, (size_t)T * sizeof *y);
	told[T] = weight;
	odvgp_status bad = ODVGP_OK;
	if (there)
		bad = odvgp_online_update(
				&l->online, x, told, 1, l->forget, l->scratch, l->scratch_size, &info);
	free(told);
	if (bad && !l->refused++) snprintf(l->reason, sizeof l->reason, "%s", reason_of(bad, &info));
	if (bad || !there) return !bad;
	l->learned++;
	if (++l->waiting == LEARN_ROWS || s->likelihood != ODVGP_LIKELIHOOD_GAUSSIAN) learn_waiting(l);
	return 1;
}

/* ---- saving ---- */

/*  Replaces a setting, or adds it. */
static void setting_set(schema *s, const char *name, const char *value)
{
	bytes b = {NULL, 0, 0};
	size_t n = strlen(name);
	for (const char *at = s->settings; *at; at += strlen(at) + 1)
		if (strncmp(at, name, n) != 0 || at[n] != '=') bytes_add(&b, at, strlen(at) + 1);
	bytes_print(&b, "%s=%s", name, value);
	bytes_add(&b, "\0", 2);
	free(s->settings);
	s->settings = b.at;
}

/*  Adds to a setting that is a number. */
static void setting_add(schema *s, const char *name, ptrdiff_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%td", setting_count(s, name) + value);
	setting_set(s, name, text);
}

/*  The file of a model with the pupil's q. */
static void learner_save(learner *l, schema *s, const char *path)
{
	odvgp_info info = no_info;
	model_block block = {NULL, 0};
	learn_waiting(l);
	const odvgp_config *c = odvgp_model_config(l->model);
	int other = c->objective != ODVGP_OBJECTIVE_ELBO || has_blocks(c);
	ptrdiff_t steps = odvgp_steps_done(l->model);
	odvgp_model *model = other ? learn_model(l->model, 0, l->f->path, &block) : l->model;
	for (int i = 0; i < odvgp_slot_count(model); i++) {
		const odvgp_slot *slot = odvgp_slot_at(model, i);
		const char *dot = strrchr(slot->name, '.'), *own = dot ? dot + 1 : slot->name;
		if (strcmp(own, "q_mu") == 0 || strcmp(own, "q_sqrt") == 0)
			learn_copy(model, slot, l->pupil);
	}
	if (other) {
		setting_set(s, "basis", "coupled");
		setting_add(s, "steps", steps);
	}
	setting_add(s, "updated", l->learned);
	setting_add(s, "updates", l->learned > 0);
	bytes user = schema_write(s);
	odvgp_scales scales = scales_of(s);
	l->file_size = odvgp_save_size(model, user.used, NULL);
	l->file = take(l->file_size, 1);
	odvgp_status bad =
			odvgp_save_memory(model, &scales, user.at, user.used, l->file, l->file_size, &info);
	if (bad) die_of(bad, &info, path);
	write_file(path, l->file, l->file_size);
	free(user.at);
	free(block.at);
}

#endif
