/*  Models that L-BFGS trains, and steps of them. */
#ifndef LBFGS_H
#define LBFGS_H

#include "models.h"

static odvgp_config lbfgs_config(ptrdiff_t N, ptrdiff_t D, ptrdiff_t P, ptrdiff_t M, ptrdiff_t Mg)
{
	odvgp_config c = odvgp_config_defaults(N, D, P, M, Mg);
	c.layer[0].kernel = "matern52(0.8) + rbf(1.5, variance=0.5, ard)";
	c.lik.noise_variance = (odvgp_real)0.1;
	c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
	c.optim.natgrad = 0;
	c.optim.batch = N;
	c.tile = 16;
	c.jitter.relative = (odvgp_real)BY_PRECISION(1e-6, 1e-4);
	c.isa = test_isa();
	return c;
}
static fixture make_seeded(const odvgp_config *c, uint64_t seed)
{
	test_seed = seed;
	return make(c);
}
static odvgp_report step(fixture *a)
{
	odvgp_report r;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	memset(&r, 0, sizeof r);
	CHECK_SAY(odvgp_step(a->m, a->X, a->Y, &r, &info) == ODVGP_OK, "%s", info.text);
	return r;
}
static void same_parameters(const odvgp_model *a, const odvgp_model *b)
{
	CHECK_BITS(a->par.theta, b->par.theta, (size_t)a->par.count * sizeof(odvgp_real));
	CHECK_BITS(a->par.value, b->par.value, (size_t)a->par.positive * sizeof(odvgp_real));
}

#endif
