/*  learn.h - a model that learns further rows one by one: for update and predict --learn. odvgp_online
    answers and learns; odvgp_online_store puts its q into a model for the file. An exact model becomes
    COUPLED before it learns. */
#ifndef TOOL_LEARN_H
#define TOOL_LEARN_H

#include "report.h"

typedef struct learner {
	const model_file *f;
	/* Its server may predict between two rows. */
	odvgp_online online;
	/* The model of the file. */
	odvgp_model *model;
	model_block model_block;
	void *block, *scratch;
	size_t scratch_size;
	/* follow: 0, or what a row's k(x,x) must leave unexplained, of 1, to become a point */
	double forget, follow;
	/* Weights of classes, or NULL. */
	double *class_weight;
	/* Rows: learned; refused by the likelihood, and why the first one was. */
	ptrdiff_t learned, refused;
	char reason[200];
	/* The file that was saved. */
	void *file;
	size_t file_size;
} learner;

/* ---- models that a file can have ---- */

static int has_blocks(const odvgp_config *c)
{
	return c->layer[0].cov_part == ODVGP_COV_PART_BLOCKS;
}

/*  Gives a slot the value of another model's. COUPLED gets both sets of SOLVE-GP's points. */
static void learn_copy(odvgp_model *to, const odvgp_slot *slot, const odvgp_model *from)
{
	const char *dot = strrchr(slot->name, '.'), *own = dot ? dot + 1 : slot->name;
	const odvgp_slot *part = odvgp_slot_find(from, slot->name), *more = NULL;
	odvgp_info info = no_info;
	odvgp_status s = ODVGP_OK;
	if (strcmp(own, "Z_beta") == 0 && has_blocks(odvgp_model_config(from))) {
		bytes name = {NULL, 0, 0};
		bytes_print(&name, "%.*sZ_gamma", (int)(own - slot->name), slot->name);
		more = odvgp_slot_find(from, name.at);
		free(name.at);
	}
	ptrdiff_t count = part ? part->count : 0, behind = more ? more->count : 0;
	if (count + behind != slot->count) return; /* of q, which odvgp_online_store sets */
	double *all = take_doubles(slot->count, 1);
	odvgp_get(from, part->name, all, count, NULL);
	if (more) odvgp_get(from, more->name, all + count, behind, NULL);
	s = odvgp_set(to, slot->name, all, slot->count, &info);
	if (s) die_of(s, &info, "model");
	free(all);
}

static int has_rows(const odvgp_config *c) { return c->objective == ODVGP_OBJECTIVE_EXACT; }

/*  What is saved in place of a model of a bound without q, or of SOLVE-GP's blocks, whose rows
    correlate: COUPLED, or ORTH, with the same parameters. Of an exact one q is still to be set. */
static odvgp_model *learn_model(const odvgp_model *from, const char *path, model_block *block)
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
	if (has_rows(odvgp_model_config(from))) {
		c.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
		c.layer[0].cov_part = ODVGP_COV_PART_DENSE;
		c.jitter = odvgp_config_defaults(c.N, c.layer[0].D, c.layer[0].P, c.layer[0].M, 0).jitter;
	}
	if (events.jitter_raised) {
		c.jitter.absolute = events.jitter;
		c.jitter.relative = 0;
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

/* ---- exact models ---- */

/*  The targets of an exact model's rows, as it was trained on them: (K + 1 / q_diag) q_mu = y - m. */
static double *exact_targets(odvgp_model *model, const double *X, const char *path)
{
	const odvgp_config *c = odvgp_model_config(model);
	ptrdiff_t N = c->N, P = c->layer[0].P;
	odvgp_server server;
	odvgp_info info = no_info;
	size_t size = odvgp_predictor_size(model, &info), scratch_size = 0;
	void *block = take(size, 1), *scratch = NULL;
	double *q = take_doubles(N, 4 * P), *precision = q + N * P, *mean = precision + N * P,
		   *Y = take_doubles(N, P);
	odvgp_set_transforms(model, NULL, NULL);
	odvgp_status s = odvgp_freeze(model, NULL, block, size, &info);
	if (!s) s = odvgp_server_from_block(&server, block, size, ODVGP_ISA_AUTO, &info);
	if (!s) scratch_size = odvgp_predict_scratch(&server, N, &info);
	if (!s) scratch = take(scratch_size, 1);
	if (!s) s = odvgp_predict(&server, X, N, mean, mean + N * P, scratch, scratch_size, &info);
	if (!s) s = odvgp_get(model, "q_mu", q, N * P, &info);
	if (!s) s = odvgp_get(model, "q_diag", precision, N * P, &info);
	if (s) die_of(s, &info, path);
	for (ptrdiff_t i = 0; i < N * P; i++) Y[i % N * P + i / N] = mean[i] + q[i] / precision[i];
	free(q);
	free(block);
	free(scratch);
	return Y;
}

/*  COUPLED with a point at each row of an exact model, and the same posterior. */
static odvgp_model *exact_model(odvgp_model *from, const char *path, model_block *block)
{
	odvgp_info info = no_info;
	odvgp_model *model = learn_model(from, path, block);
	const odvgp_config *c = odvgp_model_config(from);
	double *X = take_doubles(c->N, c->layer[0].D);
	odvgp_status s = odvgp_get(from, "Z_beta", X, c->N * c->layer[0].D, &info);
	if (s) die_of(s, &info, path);
	double *Y = exact_targets(from, X, path);
	size_t size = odvgp_fit_q_scratch(model, &info);
	void *scratch = take(size, 1);
	s = odvgp_fit_q(model, X, Y, NULL, scratch, size, &info);
	if (s) die_of(s, &info, path);
	free(scratch);
	free(X);
	free(Y);
	return model;
}

/*  Replaces a setting, or adds it. */
static void setting_set(schema *s, const char *name, const char *value)
{
	free(settings_take(s, name));
	settings_add(s, name, value);
}

/*  Adds to a setting that is a number. */
static void setting_add(schema *s, const char *name, ptrdiff_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%td", setting_count(s, name) + value);
	setting_set(s, name, text);
}

/*  Makes the file of an exact model one of COUPLED. Returns its points; 0: it is another model. */
static ptrdiff_t learn_exact(model_file *f, const workers *w)
{
	odvgp_info info = no_info;
	model_block block, block_coupled;
	odvgp_model *from = model_load(f, w, ODVGP_ISA_AUTO, &block);
	const odvgp_config *c = odvgp_model_config(from);
	int other = !has_rows(c) || c->independent || c->lik.weights || c->lik.known_noise;
	ptrdiff_t N = other ? 0 : c->N;
	if (N) {
		odvgp_model *model = exact_model(from, f->path, &block_coupled);
		setting_set(&f->s, "basis", "coupled");
		setting_add(&f->s, "steps", odvgp_steps_done(from));
		bytes user = schema_write(&f->s);
		odvgp_scales scales = scales_of(&f->s);
		odvgp_set_transforms(model, f->s.transforms, NULL);
		free(f->content);
		f->size = odvgp_save_size(model, user.used, NULL);
		f->content = take(f->size, 1);
		odvgp_status s =
				odvgp_save_memory(model, &scales, user.at, user.used, f->content, f->size, &info);
		if (s) die_of(s, &info, f->path);
		free(f->kept.at);
		f->kept = user;
		f->user = user.at;
		f->user_size = user.used;
		free(block_coupled.at);
	}
	free(block.at);
	return N;
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
static learner *learner_begin(const model_file *f, const odvgp_server *server, const workers *w,
		double forget, double follow)
{
	odvgp_info info = no_info;
	learner *l = take(1, sizeof *l);
	const schema *s = &f->s;
	l->f = f;
	l->forget = forget;
	l->follow = follow;
	l->model = model_load(f, w, ODVGP_ISA_AUTO, &l->model_block);
	const odvgp_config *c = odvgp_model_config(l->model);
	ptrdiff_t M = c->layer[0].M + (has_blocks(c) ? c->layer[0].M_gamma : 0);
	int refused = c->reproduce.parametrisation != ODVGP_PARAMETRISATION_WHITENED;
	/* one point comes before one goes */
	ptrdiff_t most = M + (follow > 0);
	size_t size = refused ? 0 : odvgp_online_size(server, most, &info);
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
	l->scratch_size = odvgp_online_scratch(server, most, &info);
	l->scratch = take(l->scratch_size, 1);
	odvgp_status bad = odvgp_online_start(
			&l->online, server, most, l->block, size, l->scratch, l->scratch_size, &info);
	if (bad) die_of(bad, &info, f->path);
	l->online.novelty = follow;
	double none = 0;
	if (odvgp_online_update(&l->online, &none, &none, 0, 1, l->scratch, l->scratch_size, &info))
		die(BAD_INPUT, "%s: --follow: %s", path_text(f->path), strchr(info.text, ':') + 2);
	l->class_weight = learn_weights(s);
	return l;
}

static void learner_end(learner *l)
{
	if (!l) return;
	free(l->model_block.at);
	free(l->block);
	free(l->scratch);
	free(l->class_weight);
	free(l->file);
	free(l);
}

/* ---- learning ---- */

/*  Learns a row in the units of the data; NaN: a missing target. Returns 0 if the likelihood refuses
    it; a row without targets is none. */
static int learn_row(learner *l, const double *x, const double *y)
{
	odvgp_info info = no_info;
	const schema *s = &l->f->s;
	int T = s->target_count, there = 0;
	double *told = take_doubles(T + 1, 1);
	for (int k = 0; k < T; k++) there |= !isnan(y[k]);
	memcpy(told, y, (size_t)T * sizeof *y);
	if (s->likelihood == ODVGP_LIKELIHOOD_HETEROSCEDASTIC)
		odvgp_standardise(told, 1, T, s->y_mean, s->y_scale, told, NULL);
	if (s->y.kind) told[0] = target_of(s, y[0]);
	told[T] = there && l->class_weight ? l->class_weight[(int)y[0]] : 1;
	odvgp_status bad = ODVGP_OK;
	if (there)
		bad = odvgp_online_update(
				&l->online, x, told, 1, l->forget, l->scratch, l->scratch_size, &info);
	free(told);
	if (bad && !l->refused++) snprintf(l->reason, sizeof l->reason, "%s", reason_of(bad, &info));
	l->learned += !bad && there;
	return !bad && there;
}

/* ---- saving ---- */

/*  Makes the file of a model with the q that was learned; `path` is for messages. */
static void learner_file(learner *l, schema *s, const char *path)
{
	odvgp_info info = no_info;
	model_block block = {NULL, 0};
	const odvgp_config *c = odvgp_model_config(l->model);
	int other = c->objective != ODVGP_OBJECTIVE_ELBO || has_blocks(c);
	ptrdiff_t steps = odvgp_steps_done(l->model);
	odvgp_model *model = other ? learn_model(l->model, l->f->path, &block) : l->model;
	odvgp_status bad = odvgp_online_store(&l->online, model, &info);
	if (bad) die_of(bad, &info, path);
	if (other) {
		setting_set(s, "basis", "coupled");
		setting_add(s, "steps", steps);
	}
	setting_add(s, "updated", l->learned);
	setting_add(s, "updates", l->learned > 0);
	bytes user = schema_write(s);
	odvgp_scales scales = scales_of(s);
	odvgp_set_transforms(model, s->transforms, NULL);
	l->file_size = odvgp_save_size(model, user.used, NULL);
	l->file = take(l->file_size, 1);
	bad = odvgp_save_memory(model, &scales, user.at, user.used, l->file, l->file_size, &info);
	if (bad) die_of(bad, &info, path);
	free(user.at);
	free(block.at);
}

#endif
