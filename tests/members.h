/*  The pairs of a mean part and a covariance part, models of them, and their joint Gaussians by
    brute force. */
#ifndef MEMBERS_H
#define MEMBERS_H

#include "models.h"

/* ---- the members ---- */

/*  TIED is FREE on Z_beta. */
enum { BETA, ORTH, HYBRID, FREE, TIED, BLOCKS, MEANS };
enum { COVS = 4 };
TEST_UNUSED static const odvgp_mean_part mean_part[MEANS] = {ODVGP_MEAN_PART_BETA,
		ODVGP_MEAN_PART_ORTH, ODVGP_MEAN_PART_HYBRID, ODVGP_MEAN_PART_FREE, ODVGP_MEAN_PART_FREE,
		ODVGP_MEAN_PART_BLOCKS};
TEST_UNUSED static const char *const mean_name[MEANS] = {
		"beta", "orth", "hybrid", "free", "tied", "blocks"};
TEST_UNUSED static const char *const cov_name[COVS] = {"dense", "inverse", "diagonal", "blocks"};

/*  A tied mean has no second set of points, so with it the covariance part `blocks` has only one
    block and is dense. */
TEST_UNUSED static int is_a_pair(int mean, int cov)
{
	return !(mean == TIED && cov == ODVGP_COV_PART_BLOCKS);
}
#define EACH_PAIR(mean, cov) \
	for (mean = 0; mean < MEANS; mean++) \
		for (cov = 0; cov < COVS; cov++) \
			if (is_a_pair(mean, cov))
/*  Returns 1 if a natural step exists: for a dense block on beta, or for O(M). */
TEST_UNUSED static int is_natural(int mean, int cov)
{
	if (mean == TIED) return cov == ODVGP_COV_PART_DIAGONAL;
	return mean != FREE && (cov == ODVGP_COV_PART_DENSE || cov == ODVGP_COV_PART_BLOCKS);
}
TEST_UNUSED static int has_A_BETA(int mean)
{
	return mean == BETA || mean == ORTH || mean == HYBRID;
}
TEST_UNUSED static int has_v(int mean, int cov)
{
	return mean == BLOCKS || cov == ODVGP_COV_PART_BLOCKS;
}

TEST_UNUSED static odvgp_config pair_config(
		int mean, int cov, ptrdiff_t N, ptrdiff_t P, ptrdiff_t M, ptrdiff_t Mg)
{
	odvgp_config c = odvgp_config_defaults(N, 2, P, M, mean == TIED ? 0 : Mg);
	c.layer[0].mean_part = mean_part[mean];
	c.layer[0].cov_part = (odvgp_cov_part)cov;
	c.optim.natgrad = is_natural(mean, cov);
	/* The jitter is large enough to show if it is used in a wrong place. */
	c.jitter.absolute = (odvgp_real)0.03;
	c.jitter.relative = 0;
	c.isa = test_isa();
	return c;
}

/*  A model of the pair with data and random values in all slots, as make_random does it. */
TEST_UNUSED static fixture make_pair(int mean, int cov, const odvgp_config *cfg, const char *kernel)
{
	fixture a = make_random(cfg, kernel);
	a.mean = mean, a.cov = cov;
	return a;
}

/*  The same of 30 rows and two inputs, with linear mean functions for two means of three; what [40]:
    its name. */
TEST_UNUSED static fixture make_sloped_pair(
		int mean, int cov, ptrdiff_t P, ptrdiff_t M, ptrdiff_t Mg, const char *kernel, char *what)
{
	odvgp_config c = pair_config(mean, cov, 30, P, M, Mg);
	c.layer[0].mean_function =
			(odvgp_mean_function)(mean % 3 ? ODVGP_MEAN_FUNCTION_LINEAR : ODVGP_MEAN_FUNCTION_ZERO);
	snprintf(what, 40, "%s + %s", mean_name[mean], cov_name[cov]);
	return make_pair(mean, cov, &c, kernel);
}

/* ---- slots in long double ---- */

TEST_UNUSED static void assign_wide(fixture *a, const char *name, const wide *v)
{
	const odvgp_slot *s = slot(a, name);
	odvgp_real *x = NEW(odvgp_real, s->count);
	ref_round(v, x, s->count);
	assign(a, name, x);
	free(x);
}
TEST_UNUSED static wide *wide_values(const fixture *a, const char *name)
{
	odvgp_real *v = values(a, name);
	wide *w = ref_copy(v, slot(a, name)->count);
	free(v);
	return w;
}
TEST_UNUSED static void copy_slot(fixture *to, const fixture *from, const char *name)
{
	odvgp_real *v = values(from, name);
	assign(to, name, v);
	free(v);
}

/* ---- joint Gaussians by brute force ---- */

/*  p and q over u, v, f at gamma (or alpha) and f at rows of X: u = f(Z_beta) + noise, v =
    f(Z_gamma) + noise, where the noise has the variance of the jitter of Kb and of C. v exists
    only if the member has a second block, f at gamma only if the mean has coefficients there. */
typedef struct joint {
	/* The sizes, and the index at which X begins. */
	ptrdiff_t M, V, G, n, x;
	wide *prior, *mean, *cov, kl;
	double condition;
} joint;

TEST_UNUSED static void drop_joint(joint *g)
{
	free(g->prior);
	free(g->mean);
	free(g->cov);
}
TEST_UNUSED static wide *block_of(
		const wide *A, ptrdiff_t lda, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t col, ptrdiff_t cols)
{
	wide *B = ref_new(rows * cols);
	ptrdiff_t i, j;
	for (i = 0; i < rows; i++)
		for (j = 0; j < cols; j++) B[i * cols + j] = A[(row + i) * lda + col + j];
	return B;
}
/*  Computes S from a triangle in any parametrisation; K = L L^T is the prior covariance. */
TEST_UNUSED static wide *covariance(
		const fixture *a, const wide *K, ptrdiff_t M, const wide *factor)
{
	wide *S = ref_new(M * M), *T = ref_new(M * M), *L = ref_new(M * M);
	CHECK(ref_chol(M, K, L));
	if (odvgp_model_config(a->m)->reproduce.parametrisation == ODVGP_PARAMETRISATION_WHITENED)
		ref_mul(0, 0, M, M, M, L, factor, T);
	else memcpy(T, factor, (size_t)(M * M) * sizeof *T);
	ref_mul(0, 1, M, M, M, T, T, S);
	free(T), free(L);
	return S;
}
/*  Computes K^-1 m from the mean of a block. */
TEST_UNUSED static wide *coefficients(const fixture *a, const wide *K, ptrdiff_t M, const wide *mu)
{
	wide *w = ref_new(M), *L = ref_new(M * M);
	odvgp_parametrisation param = odvgp_model_config(a->m)->reproduce.parametrisation;
	memcpy(w, mu, (size_t)M * sizeof *w);
	CHECK(ref_chol(M, K, L));
	if (param == ODVGP_PARAMETRISATION_PRIMAL) ref_solve_lower(0, M, 1, L, w);
	if (param != ODVGP_PARAMETRISATION_A_BETA) ref_solve_lower(1, M, 1, L, w);
	free(L);
	return w;
}
/*  Computes mean and covariance of u for output p from the model's parametrisation. */
TEST_UNUSED static void moments(fixture *a, ptrdiff_t p, const wide *Kb, wide *m, wide *S)
{
	ptrdiff_t M = a->M;
	wide *mu = wide_values(a, slot(a, "a_beta") ? "a_beta" : "q_mu"),
		 *factor = wide_values(a, "q_sqrt"), *w = coefficients(a, Kb, M, mu + p * M),
		 *cov = covariance(a, Kb, M, factor + p * M * M);
	ref_mul(0, 0, M, 1, M, Kb, w, m);
	memcpy(S, cov, (size_t)(M * M) * sizeof *S);
	free(mu), free(factor), free(w), free(cov);
}
/*  Adds columns [at, at + count) of C times w to the mean of a Gaussian. */
TEST_UNUSED static void add_columns(
		joint *g, const wide *C, ptrdiff_t at, ptrdiff_t count, const wide *w)
{
	ptrdiff_t i, j;
	for (i = 0; i < g->n; i++)
		for (j = 0; j < count; j++) g->mean[i] += C[i * g->n + at + j] * w[j];
}
/*  cov <- cov - H (K - S) H^T, H = C[:, at..] K^-1, K = C[at.., at..]; returns K^-1 C[at.., :],
    [count, n]. */
TEST_UNUSED static wide *condition_on(
		joint *g, const wide *C, ptrdiff_t at, ptrdiff_t count, const wide *S, wide *cov)
{
	ptrdiff_t n = g->n, i;
	wide *K = block_of(C, n, at, count, at, count), *H = block_of(C, n, at, count, 0, n),
		 *D = ref_new(count * count), *T = ref_new(count * n), *U = ref_new(n * n);
	ref_solve_spd(count, n, K, H);
	for (i = 0; i < count * count; i++) D[i] = K[i] - (S ? S[i] : 0);
	ref_mul(0, 0, count, n, count, D, H, T);
	ref_mul(1, 0, n, n, count, H, T, U);
	for (i = 0; i < n * n; i++) cov[i] -= U[i];
	free(K), free(D), free(T), free(U);
	return H;
}
TEST_UNUSED static joint joint_of(fixture *a, ptrdiff_t p, const odvgp_real *X, ptrdiff_t B)
{
	joint g;
	const odvgp_config *cfg = odvgp_model_config(a->m);
	ptrdiff_t M = a->M, Mg = a->Mg, D = a->D, i, j;
	const char *points = a->mean == FREE ? "Z_alpha" : "Z_gamma";
	wide *all, *R, *Kb, *S = NULL, *inverse, *t, trace = 0, quad = 0;
	read_kernel(a);
	g.M = M;
	g.V = has_v(a->mean, a->cov) ? Mg : 0;
	g.G = a->mean == ORTH || a->mean == HYBRID || a->mean == FREE ? Mg : 0;
	g.x = M + g.V + g.G;
	g.n = g.x + B;
	all = ref_new(g.n * D);
	t = wide_values(a, "Z_beta");
	memcpy(all, t, (size_t)(D * M) * sizeof *t);
	free(t);
	if (Mg) {
		t = wide_values(a, points);
		memcpy(all + D * M, t, (size_t)(D * g.V) * sizeof *t);
		memcpy(all + D * (M + g.V), t, (size_t)(D * g.G) * sizeof *t);
		free(t);
	}
	for (i = 0; i < D * B; i++) all[D * g.x + i] = (wide)X[i];
	g.prior = ref_K(&a->k, D, all, g.n, all, g.n);
	/* The jitter is relative to the mean diagonal of its own set of points. */
	for (i = 0; i < M + g.V; i++) {
		ptrdiff_t from = i < M ? 0 : M, rows = i < M ? M : g.V;
		wide mean = 0;
		for (j = from; j < from + rows; j++)
			mean += ref_k(&a->k, D, all + D * j, all + D * j) / (wide)rows;
		g.prior[i * g.n + i] += (wide)cfg->jitter.absolute + (wide)cfg->jitter.relative * mean;
	}
	g.mean = ref_new(g.n);
	g.cov = ref_new(g.n * g.n);
	/* The prior given u. */
	R = ref_new(g.n * g.n);
	memcpy(g.cov, g.prior, (size_t)(g.n * g.n) * sizeof *R);
	memcpy(R, g.prior, (size_t)(g.n * g.n) * sizeof *R);
	Kb = block_of(g.prior, g.n, 0, M, 0, M);
	free(condition_on(&g, g.prior, 0, M, NULL, R));
	/* The covariance of u, then that of the rest of v. */
	if (a->cov == ODVGP_COV_PART_DENSE || a->cov == ODVGP_COV_PART_BLOCKS) {
		t = wide_values(a, "q_sqrt");
		S = covariance(a, Kb, M, t + p * M * M);
		free(t);
	} else {
		/* (Kb^-1 + B B^T)^-1. */
		wide *Q = ref_inverse_spd(M, Kb), *BB = ref_new(M * M);
		if (a->cov == ODVGP_COV_PART_INVERSE) {
			t = wide_values(a, "B_sqrt");
			ref_mul(0, 1, M, M, M, t + p * M * M, t + p * M * M, BB);
		} else {
			t = wide_values(a, "q_diag");
			for (i = 0; i < M; i++) BB[i * M + i] = t[p * M + i];
		}
		for (i = 0; i < M * M; i++) Q[i] += BB[i];
		S = ref_inverse_spd(M, Q);
		free(t), free(Q), free(BB);
	}
	free(condition_on(&g, g.prior, 0, M, S, g.cov));
	free(S);
	if (a->cov == ODVGP_COV_PART_BLOCKS) {
		wide *C = block_of(R, g.n, M, Mg, M, Mg);
		t = wide_values(a, "v_sqrt");
		S = covariance(a, C, Mg, t + p * Mg * Mg);
		free(condition_on(&g, R, M, Mg, S, g.cov));
		free(C), free(S), free(t);
	}
	/* The mean. */
	if (a->mean == TIED) {
		t = wide_values(a, "q_mu");
		add_columns(&g, g.prior, 0, M, t + p * M);
		free(t);
	} else if (a->mean != FREE) {
		wide *w;
		t = wide_values(a, slot(a, "a_beta") ? "a_beta" : "q_mu");
		w = coefficients(a, Kb, M, t + p * M);
		add_columns(&g, g.prior, 0, M, w);
		free(t), free(w);
	}
	if (g.G) {
		t = wide_values(a, a->mean == FREE ? "a" : "a_gamma");
		/* In differentiated coordinates the slot holds D a. */
		for (i = 0, j = M + g.V; i < Mg && a->mean == ORTH &&
								 cfg->reproduce.gamma_coords == ODVGP_GAMMA_COORDS_DIFFERENTIATED;
				i++, j++)
			t[p * Mg + i] /= R[j * g.n + j];
		add_columns(&g, a->mean == ORTH ? R : g.prior, M + g.V, Mg, t + p * Mg);
		free(t);
	}
	if (a->mean == BLOCKS) {
		wide *C = block_of(R, g.n, M, Mg, M, Mg), *w;
		t = wide_values(a, "v_mu");
		w = coefficients(a, C, Mg, t + p * Mg);
		add_columns(&g, R, M, Mg, w);
		free(t), free(w), free(C);
	}
	/* KL(q||p). */
	inverse = ref_inverse_spd(g.n, g.prior);
	g.condition = (double)(ref_norm1(g.n, g.prior) * ref_norm1(g.n, inverse));
	for (i = 0; i < g.n; i++)
		for (j = 0; j < g.n; j++) {
			trace += inverse[i * g.n + j] * g.cov[j * g.n + i];
			quad += g.mean[i] * inverse[i * g.n + j] * g.mean[j];
		}
	g.kl = (trace + quad - (wide)g.n + ref_solve_spd(g.n, 0, g.prior, NULL) -
				   ref_solve_spd(g.n, 0, g.cov, NULL)) /
		   2;
	free(all), free(R), free(Kb), free(inverse);
	return g;
}

/* ---- natural steps ---- */

/*  L, W, L_v and A, A_v by definition. */
typedef struct features {
	wide *Kb, *L, *Kbg, *W, *C, *Lv, *A, *Av;
	double condition;
} features;
static features features_of(fixture *a)
{
	features f;
	const odvgp_config *cfg = odvgp_model_config(a->m);
	ptrdiff_t M = a->M, Mg = a->Mg, N = a->N, i;
	wide *Zb = wide_values(a, "Z_beta"), *Zg = wide_values(a, "Z_gamma"),
		 *X = ref_copy(a->X, 2 * N), *T = ref_new(Mg * (Mg > N ? Mg : N)), jitter;
	read_kernel(a);
	jitter = (wide)cfg->jitter.absolute + (wide)cfg->jitter.relative * ref_k(&a->k, 2, Zb, Zb);
	f.Kb = ref_K(&a->k, 2, Zb, M, Zb, M);
	for (i = 0; i < M; i++) f.Kb[i * M + i] += jitter;
	f.L = ref_new(M * M);
	CHECK(ref_chol(M, f.Kb, f.L));
	f.Kbg = ref_K(&a->k, 2, Zb, M, Zg, Mg);
	f.W = ref_K(&a->k, 2, Zb, M, Zg, Mg);
	ref_solve_lower(0, M, Mg, f.L, f.W);
	f.C = ref_K(&a->k, 2, Zg, Mg, Zg, Mg);
	ref_mul(1, 0, Mg, Mg, M, f.W, f.W, T);
	for (i = 0; i < Mg * Mg; i++) f.C[i] -= T[i];
	for (i = 0; i < Mg; i++) f.C[i * Mg + i] += jitter;
	f.Lv = ref_new(Mg * Mg);
	CHECK(ref_chol(Mg, f.C, f.Lv));
	f.A = ref_K(&a->k, 2, Zb, M, X, N);
	ref_solve_lower(0, M, N, f.L, f.A);
	f.Av = ref_K(&a->k, 2, Zg, Mg, X, N);
	ref_mul(1, 0, Mg, N, M, f.W, f.A, T);
	for (i = 0; i < Mg * N; i++) f.Av[i] -= T[i];
	ref_solve_lower(0, Mg, N, f.Lv, f.Av);
	f.condition = ref_condition(M, f.Kb) * ref_condition(Mg, f.C);
	free(Zb), free(Zg), free(X), free(T);
	return f;
}
TEST_UNUSED static void drop_features(features *f)
{
	free(f->Kb), free(f->L), free(f->Kbg), free(f->W), free(f->C), free(f->Lv), free(f->A),
			free(f->Av);
}

/*  The members that have natural steps, with the settings of these steps. */
typedef struct natural {
	int mean, cov;
	odvgp_gamma_step gamma;
	odvgp_blocks_step blocks;
	odvgp_diag_step diag;
} natural;
TEST_UNUSED static int naturals(natural *list)
{
	int mean, cov, n = 0, way, ways;
	EACH_PAIR(mean, cov)
	{
		if (!is_natural(mean, cov)) continue;
		ways = mean == TIED                                     ? 4
			   : mean == ORTH || mean == HYBRID                 ? 3
			   : mean == BLOCKS && cov == ODVGP_COV_PART_BLOCKS ? 2
																: 1;
		for (way = 0; way < ways; way++, n++) {
			memset(&list[n], 0, sizeof list[n]);
			list[n].mean = mean, list[n].cov = cov;
			if (mean == ORTH || mean == HYBRID) list[n].gamma = (odvgp_gamma_step)way;
			if (mean == BLOCKS) list[n].blocks = (odvgp_blocks_step)way;
			if (mean == TIED) list[n].diag = (odvgp_diag_step)way;
		}
	}
	return n;
}
enum { NATURALS = 40 };
TEST_UNUSED static odvgp_config natural_config(const natural *w, int large)
{
	odvgp_config c = large ? pair_config(w->mean, w->cov, 200, 2, 40, 70)
						   : pair_config(w->mean, w->cov, 60, 2, 9, 12);
	c.optim.gamma_step = w->gamma;
	c.optim.gamma_step_ratio = (odvgp_real)0.05;
	c.reproduce.blocks_step = w->blocks;
	c.reproduce.diag_step = w->diag;
	c.optim.batch = large ? 150 : 25;
	c.tile = large ? 100 : 0;
	c.optim.gamma_batch = 5;
	c.optim.natgrad_step = odvgp_constant((odvgp_real)0.1);
	c.optim.lr = odvgp_constant((odvgp_real)0.01);
	return c;
}

#endif
