/*  The model that a case file of tests/oracle describes, and gradients of its bound. */
#ifndef ORACLE_WORLD_H
#define ORACLE_WORLD_H

#include "oracle_case.h"

/*  Returns NULL if the case is skipped. */
static const gp__likelihood *likelihood_of(ocase *c)
{
	size_t i;
	for (i = 0; i < sizeof gp__likelihoods / sizeof *gp__likelihoods; i++)
		if (!strcmp(gp__likelihoods[i].name, say(c, "likelihood"))) return &gp__likelihoods[i];
	skip(c, "likelihood %s is not known to this version", say(c, "likelihood"));
	return NULL;
}

/*  Reads the kernel of a file, or of one of its layers: its expression and the values of its base
    kernels. Returns 0 on failure. */
static int read_kernel(ocase *c, const char *prefix, ref_kernel *k, char *text, size_t size)
{
	int i, j;
	char name[64];
	tensor *t;
	sprintf(name, "%skernel", prefix);
	if (!ref_kernel_read(k, say(c, name))) return 0;
	for (i = 0; i < k->base_kernels; i++) {
		ref_base *l = &k->base[i];
		sprintf(name, "%skernel.%d.active_dims", prefix, i);
		if ((t = find(c, name))) {
			if (t->count > REF_DIMS) return 0;
			l->ndims = (int)t->count;
			for (j = 0; j < l->ndims; j++) l->dims[j] = (int)t->v[j];
		}
		sprintf(name, "%skernel.%d.lengthscale", prefix, i);
		if ((t = find(c, name))) {
			if (t->count > REF_DIMS) return 0;
			l->ard = t->count > 1;
			for (j = 0; j < t->count; j++) l->lengthscale[j] = (wide)t->v[j];
		}
		sprintf(name, "%skernel.%d.variance", prefix, i);
		if ((t = find(c, name))) {
			if (t->count > REF_DIMS) return 0;
			l->ard |= t->count > 1;
			for (j = 0; j < t->count; j++) l->variance[j] = (wide)t->v[j];
		}
		for (j = 0; j < 3; j++) {
			static const char *const extras[3] = {"alpha", "period", "offset"};
			sprintf(name, "%skernel.%d.%s", prefix, i, extras[j]);
			if ((t = find(c, name))) l->shape_param = (wide)t->v[0];
		}
		sprintf(name, "%skernel.%d.degree", prefix, i);
		if ((t = find(c, name))) l->degree = (int)t->v[0];
	}
	ref_kernel_spell(k, text, size);
	return 1;
}

typedef struct world {
	ref_kernel kernel;
	char kernel_text[4000];
	odvgp_config cfg;
	tensor *X, *Y, *Zb, *Zg;
	ptrdiff_t B, D, P, T, M, Mg;
	odvgp_model *model;
	void *block;
} world;

/*  With patches: their sizes. */
static void read_patches(ocase *c, odvgp_config *cfg)
{
	const tensor *shape = find(c, "shape");
	if (!shape || shape->count != 6) return;
	cfg->layer[0].patches.image_height = (ptrdiff_t)shape->v[0];
	cfg->layer[0].patches.image_width = (ptrdiff_t)shape->v[1];
	cfg->layer[0].patches.channels = (ptrdiff_t)shape->v[2];
	cfg->layer[0].patches.height = (ptrdiff_t)shape->v[3];
	cfg->layer[0].patches.width = (ptrdiff_t)shape->v[4];
	cfg->layer[0].patches.stride = (ptrdiff_t)shape->v[5];
	cfg->layer[0].patches.locations = !strcmp(say(c, "tick"), "yes");
}

/*  Reads sizes, kernel and config from the file. Returns 0 if the case is skipped or failed. */
static int read_world(ocase *c, world *w)
{
	const char *mean = say(c, "mean");
	memset(w, 0, sizeof *w);
	const gp__likelihood *lik = likelihood_of(c);
	tensor *mu;
	if (!lik) return 0;
	if (!read_kernel(c, "", &w->kernel, w->kernel_text, sizeof w->kernel_text)) {
		fail(c, "kernel \"%s\" cannot be read", say(c, "kernel"));
		return 0;
	}
	w->X = need(c, "X");
	w->Y = need(c, "Y");
	w->Zb = need(c, "Z_beta");
	w->Zg = find(c, find(c, "Z_alpha") ? "Z_alpha" : "Z_gamma");
	if (!w->X || !w->Y || !w->Zb) return 0;
	w->B = w->X->dim[0];
	w->D = w->X->dim[1];
	mu = find(c, "q_mu");
	if (!mu) mu = find(c, "a_beta");
	w->T = w->Y->dim[1];
	w->P = gp__lik_targets(lik, 2) == 2 || !mu ? w->T : mu->dim[0];
	w->M = w->Zb->dim[0];
	w->Mg = w->Zg ? w->Zg->dim[0] : 0;
	w->cfg = odvgp_config_defaults((ptrdiff_t)scalar(c, "N_data", 0), w->D, w->P, w->M, w->Mg);
	/* The code that made the cases uses softplus. */
	w->cfg.positive_transform = ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
	w->cfg.layer[0].kernel = w->kernel_text;
	w->cfg.lik.kind = (odvgp_likelihood)(lik - gp__likelihoods);
	w->cfg.lik.nodes = (ptrdiff_t)scalar(c, "quad_points", 20);
	w->cfg.lik.link_jitter = (odvgp_real)scalar(c, "link_jitter", scalar(c, "squash", 0));
	find(c, "num_classes");
	read_patches(c, &w->cfg);
	w->cfg.isa = test_isa();
	w->cfg.jitter.absolute = (odvgp_real)scalar(c, "jitter", 0);
	w->cfg.jitter.relative = 0;
	w->cfg.layer[0].mean_part = w->Zg ? ODVGP_MEAN_PART_ORTH : ODVGP_MEAN_PART_BETA;
	w->cfg.layer[0].mean_function = !strcmp(mean, "constant") ? ODVGP_MEAN_FUNCTION_CONSTANT
									: !strcmp(mean, "linear") ? ODVGP_MEAN_FUNCTION_LINEAR
															  : ODVGP_MEAN_FUNCTION_ZERO;
	if (*mean && strcmp(mean, "zero") && strcmp(mean, "constant") && strcmp(mean, "linear")) {
		skip(c, "mean function %s is not known to this version", mean);
		return 0;
	}
	if (*say(c, "gamma_precondition")) {
		if (strcmp(say(c, "gamma_precondition"), "D")) {
			skip(c, "gamma_precondition %s is not known to this version",
					say(c, "gamma_precondition"));
			return 0;
		}
		w->cfg.reproduce.gamma_coords = ODVGP_GAMMA_COORDS_DIFFERENTIATED;
	}
	/* This is the paper's estimator. */
	if (find(c, "gamma_idx")) w->cfg.reproduce.gamma_kl = ODVGP_GAMMA_KL_COLUMNS;
	return 1;
}
/*  Makes a model of w->cfg and sets every slot for which the file has a tensor. Returns 0 if the
    case is skipped or failed. */
static int make_model(ocase *c, world *w)
{
	size_t bytes;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_status s = sized(&bytes, odvgp_model_size(&w->cfg, &info), &info);
	int i;
	if (!good(c, s, "odvgp_model_size", &info)) return 0;
	w->block = test_alloc(bytes);
	if (!good(c, odvgp_model_init(&w->model, &w->cfg, w->block, bytes, &info), "odvgp_model_init",
				&info))
		return 0;
	for (i = 0; i < odvgp_slot_count(w->model); i++) {
		const odvgp_slot *slot = odvgp_slot_at(w->model, i);
		tensor *t = find(c, slot->name);
		if (!t) continue;
		if (!good(c, odvgp_set(w->model, slot->name, t->r, t->count, &info), slot->name, &info))
			return 0;
	}
	return 1;
}
/*  Does the same for a model that has inducing points of its own: slots of other sizes than the
    file's are not set. */
static int make_partly(ocase *c, world *w)
{
	size_t bytes;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	int i;
	if (!good(c, sized(&bytes, odvgp_model_size(&w->cfg, &info), &info), "odvgp_model_size", &info))
		return 0;
	w->block = test_alloc(bytes);
	if (!good(c, odvgp_model_init(&w->model, &w->cfg, w->block, bytes, &info), "odvgp_model_init",
				&info))
		return 0;
	for (i = 0; i < odvgp_slot_count(w->model); i++) {
		const odvgp_slot *slot = odvgp_slot_at(w->model, i);
		tensor *t = find(c, slot->name);
		if (t && t->count == slot->count && strncmp(slot->name, "q_", 2) &&
				!good(c, odvgp_set(w->model, slot->name, t->r, t->count, &info), slot->name, &info))
			return 0;
	}
	return 1;
}
/*  Compares every tensor grad_BOUND.SLOT. */
static void compare_bound_grads(ocase *c, world *w, const char *prefix, const odvgp_real *grad)
{
	int i;
	size_t n = strlen(prefix);
	for (i = 0; i < c->tensors; i++) {
		const odvgp_slot *slot;
		if (strncmp(c->t[i].name, prefix, n)) continue;
		slot = odvgp_slot_find(w->model, c->t[i].name + n);
		if (slot) compare(c, c->t[i].name, grad + slot->offset, slot->count, "");
		else fail(c, "the model has no slot for %s", c->t[i].name);
	}
}
static void drop_model(world *w)
{
	free(w->block);
	w->block = NULL;
	w->model = NULL;
}

/*  Compares every tensor PREFIX + "grad_" + slot. */
static void compare_grads(
		ocase *c, world *w, const char *prefix, const odvgp_real *grad, const char *variant)
{
	int i;
	size_t n = strlen(prefix);
	for (i = 0; i < c->tensors; i++) {
		const odvgp_slot *slot;
		if (strncmp(c->t[i].name, prefix, n) || strncmp(c->t[i].name + n, "grad_", 5)) continue;
		slot = odvgp_slot_find(w->model, c->t[i].name + n + 5);
		if (slot) compare(c, c->t[i].name, grad + slot->offset, slot->count, variant);
		else if (c->t[i].count == 0) c->t[i].seen = 1;
		else fail(c, "the model has no slot for %s", c->t[i].name);
	}
}

#endif
