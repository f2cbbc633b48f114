/*  Every pair of a mean part and a covariance part: against joint Gaussians written out in long double, against finite differences, against
    each other where the mathematics says that they are equal; and what their natural steps and their training promise. */
#include <stdlib.h>
static int allocations;
static void *counted_malloc(size_t bytes) {
    allocations++;
    return malloc(bytes);
}
#define malloc counted_malloc
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#undef malloc
#include "test.h"
#include "reference.h"

/* ---- the members ---- */

enum { BETA, ORTH, HYBRID, FREE, TIED, BLOCKS, MEANS }; /* TIED is FREE on Z_beta */
enum { COVS = 4 };
static const odvgp_mean_part mean_part[MEANS] = {ODVGP_MEAN_BETA, ODVGP_MEAN_ORTH, ODVGP_MEAN_HYBRID, ODVGP_MEAN_FREE, ODVGP_MEAN_FREE, ODVGP_MEAN_BLOCKS};
static const char *const mean_name[MEANS] = {"beta", "orth", "hybrid", "free", "tied", "blocks"}, *const cov_name[COVS] = {"dense", "inverse", "diagonal", "blocks"};

/*  A tied mean has no second set of points, so blocks are one block there: dense. */
static int is_a_pair(int mean, int cov) { return !(mean == TIED && cov == ODVGP_COV_BLOCKS); }
#define EACH_PAIR(mean, cov)           \
    for (mean = 0; mean < MEANS; mean++) \
        for (cov = 0; cov < COVS; cov++) \
            if (is_a_pair(mean, cov))
/*  Whether a natural step exists: of a Gaussian block on beta, or of O(M). */
static int is_natural(int mean, int cov) {
    if (mean == TIED) return cov == ODVGP_COV_DIAGONAL;
    return mean != FREE && (cov == ODVGP_COV_DENSE || cov == ODVGP_COV_BLOCKS);
}
static int has_A_BETA(int mean) { return mean == BETA || mean == ORTH || mean == HYBRID; }
static int has_v(int mean, int cov) { return mean == BLOCKS || cov == ODVGP_COV_BLOCKS; }

static odvgp_config config(int mean, int cov, ptrdiff_t N, ptrdiff_t P, ptrdiff_t M, ptrdiff_t Mg) {
    odvgp_config c = odvgp_config_defaults(N, 2, P, M, mean == TIED ? 0 : Mg);
    c.mean_part = mean_part[mean];
    c.cov_part = (odvgp_cov_part)cov;
    c.natgrad = is_natural(mean, cov);
    c.jitter = (odvgp_real)0.03; /* visible, so that it must stand in its places and no others */
    c.jitter_rel = 0;
    c.isa = test_isa();
    return c;
}

typedef struct made {
    odvgp_model *m;
    void *block;
    ref_kernel k;
    odvgp_real *X, *Y; /* [N,2], [N,P] */
    ptrdiff_t N, P, M, Mg;
    int mean, cov;
} made;

static const odvgp_slot *slot(const made *a, const char *name) { return odvgp_slot_find(a->m, name); }
static odvgp_real *values(const made *a, const char *name) { /* to be freed */
    const odvgp_slot *s = slot(a, name);
    odvgp_real *v = NEW(odvgp_real, s ? s->count : 0);
    CHECK_SAY(s != NULL, "no slot %s", name);
    if (s) CHECK_STATUS(odvgp_get(a->m, name, v, s->count), ODVGP_OK);
    return v;
}
static void assign(made *a, const char *name, const odvgp_real *v) {
    const odvgp_slot *s = slot(a, name);
    odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
    if (CHECK_SAY(s != NULL, "no slot %s", name)) CHECK_SAY(odvgp_set(a->m, name, v, s->count, &info) == ODVGP_OK, "%s: %s", name, info.text);
}
static void assign_wide(made *a, const char *name, const wide *v) {
    const odvgp_slot *s = slot(a, name);
    odvgp_real *x = NEW(odvgp_real, s->count);
    ref_round(v, x, s->count);
    assign(a, name, x);
    free(x);
}
static wide *wide_values(const made *a, const char *name) {
    odvgp_real *v = values(a, name);
    wide *w = ref_copy(v, slot(a, name)->count);
    free(v);
    return w;
}
static void copy_slot(made *to, const made *from, const char *name) {
    odvgp_real *v = values(from, name);
    assign(to, name, v);
    free(v);
}

/*  The model with data: X in [-2,2]^2, Y a smooth function with noise. All slots random, diagonals of any sign. */
static made make(int mean, int cov, const odvgp_config *cfg, const char *kernel) {
    made a;
    odvgp_config c = *cfg;
    odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
    size_t bytes = 0;
    char text[1000];
    ptrdiff_t i, p;
    int s, l;
    memset(&a, 0, sizeof a);
    a.mean = mean, a.cov = cov, a.N = c.N, a.P = c.P, a.M = c.M;
    CHECK(ref_kernel_read(&a.k, kernel));
    for (l = 0; l < a.k.leaves; l++) a.k.leaf[l].ard = l % 2;
    ref_kernel_spell(&a.k, text, sizeof text);
    c.kernel = text;
    CHECK_SAY(odvgp_model_size(&c, &bytes, &info) == ODVGP_OK, "%s + %s: size: %s", mean_name[mean], cov_name[cov], info.text);
    a.block = test_alloc(bytes);
    if (!CHECK_SAY(odvgp_model_init(&a.m, &c, a.block, bytes, &info) == ODVGP_OK, "%s + %s: init: %s", mean_name[mean], cov_name[cov], info.text)) exit(3);
    a.Mg = odvgp_model_config(a.m)->M_gamma;
    a.X = NEW(odvgp_real, a.N * 2);
    a.Y = NEW(odvgp_real, a.N * a.P);
    for (i = 0; i < a.N; i++) {
        double u = test_between(-2, 2), v = test_between(-2, 2);
        a.X[i * 2] = (odvgp_real)u, a.X[i * 2 + 1] = (odvgp_real)v;
        for (p = 0; p < a.P; p++) a.Y[i * a.P + p] = (odvgp_real)(sin(1.5 * (u + v) + (double)p) + 0.2 * test_normal());
    }
    for (s = 0; s < odvgp_slot_count(a.m); s++) {
        const odvgp_slot *t = odvgp_slot_at(a.m, s);
        odvgp_real *v = NEW(odvgp_real, t->count);
        for (i = 0; i < t->count; i++) {
            ptrdiff_t row = i / t->shape[2] % t->shape[1], col = i % t->shape[2];
            v[i] = (odvgp_real)(t->positive ? test_between(0.6, 1.4) : t->name[0] == 'Z' ? test_between(-2, 2) : t->lower ? (col > row ? 0 : col == row ? test_between(0.4, 0.9) : test_between(-0.3, 0.3)) : test_between(-0.7, 0.7));
            if (t->lower && col == row && test_below(4) == 0) v[i] = -v[i];
        }
        if (!strcmp(t->name, "noise_variance")) v[0] = (odvgp_real)0.15;
        assign(&a, t->name, v);
        free(v);
    }
    return a;
}
static void drop(made *a) {
    free(a->block);
    free(a->X);
    free(a->Y);
    memset(a, 0, sizeof *a);
}
static void read_kernel(made *a) {
    int l, i;
    char name[60];
    for (l = 0; l < a->k.leaves; l++) {
        wide *v;
        sprintf(name, "kernel.%d.lengthscale", l);
        v = wide_values(a, name);
        for (i = 0; i < slot(a, name)->count; i++) a->k.leaf[l].lengthscale[i] = v[i];
        free(v);
        sprintf(name, "kernel.%d.variance", l);
        v = wide_values(a, name);
        a->k.leaf[l].variance = v[0];
        free(v);
    }
}
static double elbo_of(made *a, double *kl, odvgp_real *grad) {
    odvgp_real e = 0, k = 0;
    odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
    CHECK_SAY(odvgp_elbo(a->m, a->X, a->Y, a->N, &e, &k, grad, &info) == ODVGP_OK, "%s + %s: elbo: %s", mean_name[a->mean], cov_name[a->cov], info.text);
    if (kl) *kl = (double)k;
    return (double)e;
}
/*  Between bytes that must stay as they are. */
static void predict(made *a, const odvgp_real *X, ptrdiff_t n, odvgp_real *mean, odvgp_real *var, odvgp_real *cov) {
    size_t bytes = odvgp_predictor_size(a->m), need, i;
    unsigned char *block = NEW(unsigned char, bytes + 64);
    void *scratch;
    const odvgp_predictor *p = NULL;
    memset(block, 0x5a, bytes + 64);
    if (!CHECK_STATUS(odvgp_freeze(a->m, NULL, block, bytes, &p, NULL), ODVGP_OK)) {
        free(block);
        return;
    }
    for (i = 0; i < 64; i++)
        if (!CHECK_SAY(block[bytes + i] == 0x5a, "%s + %s: odvgp_freeze writes beyond its block", mean_name[a->mean], cov_name[a->cov])) break;
    need = odvgp_predict_scratch(p, n);
    scratch = test_alloc(need);
    if (mean || var) CHECK_STATUS(odvgp_predict(p, X, n, mean, var, NULL, scratch, need), ODVGP_OK);
    if (cov) CHECK_STATUS(odvgp_predict_cov(p, X, n, NULL, cov, scratch, need), ODVGP_OK);
    free(scratch);
    free(block);
}

/* ---- joint Gaussians by brute force ---- */

/*  p and q over u, v, f at gamma (or alpha) and f at rows of X: u = f(Z_beta) + noise, v = f(Z_gamma) + noise, the noise as large as the
    jitter of Kb and of C. v only where the member has a second block, f at gamma only where its mean has coefficients there. */
typedef struct joint {
    ptrdiff_t M, V, G, n, x; /* sizes; where X begins */
    wide *prior, *mean, *cov, kl;
    double condition;
} joint;

static void drop_joint(joint *g) {
    free(g->prior);
    free(g->mean);
    free(g->cov);
}
static wide *block_of(const wide *A, ptrdiff_t lda, ptrdiff_t row, ptrdiff_t rows, ptrdiff_t col, ptrdiff_t cols) {
    wide *B = ref_new(rows * cols);
    ptrdiff_t i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < cols; j++) B[i * cols + j] = A[(row + i) * lda + col + j];
    return B;
}
/*  S of a triangle, whatever it stands for; K = L L^T is the prior's covariance. */
static wide *covariance(const made *a, const wide *K, ptrdiff_t M, const wide *root) {
    wide *S = ref_new(M * M), *T = ref_new(M * M), *L = ref_new(M * M);
    CHECK(ref_chol(M, K, L));
    if (odvgp_model_config(a->m)->param == ODVGP_WHITENED) ref_mul(0, 0, M, M, M, L, root, T);
    else memcpy(T, root, (size_t)(M * M) * sizeof *T);
    ref_mul(0, 1, M, M, M, T, T, S);
    free(T), free(L);
    return S;
}
/*  K^-1 m of a block's mean. */
static wide *coefficients(const made *a, const wide *K, ptrdiff_t M, const wide *mu) {
    wide *w = ref_new(M), *L = ref_new(M * M);
    odvgp_param param = odvgp_model_config(a->m)->param;
    memcpy(w, mu, (size_t)M * sizeof *w);
    CHECK(ref_chol(M, K, L));
    if (param == ODVGP_PRIMAL) ref_solve_lower(0, M, 1, L, w);
    if (param != ODVGP_A_BETA) ref_solve_lower(1, M, 1, L, w);
    free(L);
    return w;
}
/*  A Gaussian's mean gets columns [at, at + count) of C times w. */
static void add_columns(joint *g, const wide *C, ptrdiff_t at, ptrdiff_t count, const wide *w) {
    ptrdiff_t i, j;
    for (i = 0; i < g->n; i++)
        for (j = 0; j < count; j++) g->mean[i] += C[i * g->n + at + j] * w[j];
}
/*  cov <- cov - H (K - S) H^T, H = C[:, at..] K^-1, K = C[at.., at..]; returns K^-1 C[at.., :], [count, n]. */
static wide *condition_on(joint *g, const wide *C, ptrdiff_t at, ptrdiff_t count, const wide *S, wide *cov) {
    ptrdiff_t n = g->n, i;
    wide *K = block_of(C, n, at, count, at, count), *H = block_of(C, n, at, count, 0, n), *D = ref_new(count * count), *T = ref_new(count * n), *U = ref_new(n * n);
    ref_solve_spd(count, n, K, H);
    for (i = 0; i < count * count; i++) D[i] = K[i] - (S ? S[i] : 0);
    ref_mul(0, 0, count, n, count, D, H, T);
    ref_mul(1, 0, n, n, count, H, T, U);
    for (i = 0; i < n * n; i++) cov[i] -= U[i];
    free(K), free(D), free(T), free(U);
    return H;
}
static joint joint_of(made *a, ptrdiff_t p, const odvgp_real *X, ptrdiff_t B) {
    joint g;
    const odvgp_config *cfg = odvgp_model_config(a->m);
    ptrdiff_t M = a->M, Mg = a->Mg, i, j;
    const char *points = a->mean == FREE ? "Z_alpha" : "Z_gamma";
    wide *all, *R, *Kb, *S = NULL, *inverse, *t, trace = 0, quad = 0;
    read_kernel(a);
    g.M = M;
    g.V = has_v(a->mean, a->cov) ? Mg : 0;
    g.G = a->mean == ORTH || a->mean == HYBRID || a->mean == FREE ? Mg : 0;
    g.x = M + g.V + g.G;
    g.n = g.x + B;
    all = ref_new(g.n * 2);
    t = wide_values(a, "Z_beta");
    memcpy(all, t, (size_t)(2 * M) * sizeof *t);
    free(t);
    if (Mg) {
        t = wide_values(a, points);
        memcpy(all + 2 * M, t, (size_t)(2 * g.V) * sizeof *t);
        memcpy(all + 2 * (M + g.V), t, (size_t)(2 * g.G) * sizeof *t);
        free(t);
    }
    for (i = 0; i < 2 * B; i++) all[2 * g.x + i] = (wide)X[i];
    g.prior = ref_K(&a->k, 2, all, g.n, all, g.n);
    for (i = 0; i < M + g.V; i++) g.prior[i * g.n + i] += (wide)cfg->jitter + (wide)cfg->jitter_rel * ref_k(&a->k, 2, all, all);
    g.mean = ref_new(g.n);
    g.cov = ref_new(g.n * g.n);
    R = ref_new(g.n * g.n); /* prior, given u */
    memcpy(g.cov, g.prior, (size_t)(g.n * g.n) * sizeof *R);
    memcpy(R, g.prior, (size_t)(g.n * g.n) * sizeof *R);
    Kb = block_of(g.prior, g.n, 0, M, 0, M);
    free(condition_on(&g, g.prior, 0, M, NULL, R));
    /* covariance of u, then of what is left of v */
    if (a->cov == ODVGP_COV_DENSE || a->cov == ODVGP_COV_BLOCKS) {
        t = wide_values(a, "q_sqrt");
        S = covariance(a, Kb, M, t + p * M * M);
        free(t);
    } else { /* (Kb^-1 + B B^T)^-1 */
        wide *Q = ref_inverse_spd(M, Kb), *BB = ref_new(M * M);
        if (a->cov == ODVGP_COV_INVERSE) {
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
    if (a->cov == ODVGP_COV_BLOCKS) {
        wide *C = block_of(R, g.n, M, Mg, M, Mg);
        t = wide_values(a, "v_sqrt");
        S = covariance(a, C, Mg, t + p * Mg * Mg);
        free(condition_on(&g, R, M, Mg, S, g.cov));
        free(C), free(S), free(t);
    }
    /* the mean */
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
    /* KL(q||p) */
    inverse = ref_inverse_spd(g.n, g.prior);
    g.condition = (double)(ref_norm1(g.n, g.prior) * ref_norm1(g.n, inverse));
    for (i = 0; i < g.n; i++)
        for (j = 0; j < g.n; j++) {
            trace += inverse[i * g.n + j] * g.cov[j * g.n + i];
            quad += g.mean[i] * inverse[i * g.n + j] * g.mean[j];
        }
    g.kl = (trace + quad - (wide)g.n + ref_solve_spd(g.n, 0, g.prior, NULL) - ref_solve_spd(g.n, 0, g.cov, NULL)) / 2;
    free(all), free(R), free(Kb), free(inverse);
    return g;
}

/*  KL, bound, mean, variance and covariance of every pair, in each parametrisation that it has, are those of its own q: to 1e-13 of the
    joint condition number in double, 5e-5 of it in float. */
TEST(every_pair_is_its_own_gaussian) {
    int mean, cov, param, round, worst_condition = 0;
    test_seed = 301;
    EACH_PAIR(mean, cov)
        for (param = ODVGP_WHITENED; param <= ODVGP_A_BETA; param++)
            for (round = 0; round < 3; round++) {
                const ptrdiff_t N = 7, P = 1 + round % 2, M = 4;
                odvgp_config c = config(mean, cov, N, P, M, 3);
                made a;
                ptrdiff_t p, i, j;
                double kl, elbo, expect = 0, kl_sum = 0, condition = 0, tol, most;
                odvgp_real *m = NEW(odvgp_real, P * N), *var = NEW(odvgp_real, P * N), *C = NEW(odvgp_real, P * N * N);
                if (param == ODVGP_A_BETA && !has_A_BETA(mean)) {
                    free(m), free(var), free(C);
                    continue;
                }
                c.param = (odvgp_param)param;
                c.gamma_coords = ODVGP_GAMMA_PLAIN;
                c.gamma_kl = (odvgp_gamma_kl)(round % 2);
                c.tile = round == 1 ? 3 : 0;
                if (round == 2) c.jitter = 0, c.jitter_rel = (odvgp_real)0.02;
                a = make(mean, cov, &c, round ? "matern52 + rbf" : "matern32");
                elbo = elbo_of(&a, &kl, NULL);
                predict(&a, a.X, N, m, var, C);
                for (p = 0; p < P; p++) {
                    joint g = joint_of(&a, p, a.X, N);
                    tol = 1e-13 * (EPS / DBL_EPSILON) * g.condition;
                    if (g.condition > condition) condition = g.condition;
                    kl_sum += (double)g.kl;
                    for (i = 0; i < N; i++) {
                        double f = (double)g.mean[g.x + i], v = (double)g.cov[(g.x + i) * g.n + g.x + i], d = (double)a.Y[i * P + p] - f, noise = (double)(odvgp_real)0.15;
                        CHECK_SAY(fabs((double)m[p * N + i] - f) <= tol * (1 + fabs(f)), "%s + %s, param %d, round %d: mean %.15g, not %.15g", mean_name[mean], cov_name[cov], param, round, (double)m[p * N + i], f);
                        CHECK_SAY(fabs((double)var[p * N + i] - v) <= tol * (1 + v), "%s + %s, param %d, round %d: variance %.15g, not %.15g", mean_name[mean], cov_name[cov], param, round, (double)var[p * N + i], v);
                        expect += -0.5 * (log(2 * 3.14159265358979323846 * noise) + (d * d + v) / noise);
                        for (j = 0; j < N; j++) CHECK_NEAR(C[(p * N + i) * N + j], (double)g.cov[(g.x + i) * g.n + g.x + j], tol * (1 + v));
                    }
                    drop_joint(&g);
                }
                tol = 1e-13 * (EPS / DBL_EPSILON) * condition;
                most = fabs(expect) + fabs(kl_sum) + 1;
                CHECK_SAY(fabs(kl - kl_sum) <= tol * most, "%s + %s, param %d, round %d: KL %.15g, its q's %.15g (condition %.3g)", mean_name[mean], cov_name[cov], param, round, kl, kl_sum, condition);
                CHECK_SAY(fabs(elbo - (expect - kl_sum)) <= tol * most, "%s + %s, param %d, round %d: elbo %.15g, not %.15g", mean_name[mean], cov_name[cov], param, round, elbo, expect - kl_sum);
                if (condition > worst_condition) worst_condition = (int)condition;
                free(m), free(var), free(C);
                drop(&a);
            }
    test_note("condition numbers to %d", worst_condition);
}

/*  Every pair is made, with Adam; with natural gradients or in coordinates that it does not have, it is refused in a sentence. */
TEST(what_does_not_exist_is_refused_and_nothing_else) {
    int mean, cov, param, natgrad, step, coords;
    for (mean = 0; mean < MEANS; mean++)
        for (cov = 0; cov < COVS; cov++)
            for (param = ODVGP_WHITENED; param <= ODVGP_A_BETA; param++)
                for (natgrad = 0; natgrad < 2; natgrad++)
                    for (step = ODVGP_GAMMA_ADAM; step <= ODVGP_GAMMA_EXACT; step++)
                        for (coords = ODVGP_GAMMA_PLAIN; coords <= ODVGP_GAMMA_DIFFERENTIATED; coords++) {
                            odvgp_config c = config(mean, cov, 7, 2, 4, 3);
                            odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
                            size_t bytes;
                            int weights = mean == ORTH || mean == HYBRID, want = 1;
                            c.param = (odvgp_param)param;
                            c.natgrad = natgrad;
                            c.gamma_step = (odvgp_gamma_step)step;
                            c.gamma_coords = (odvgp_gamma_coords)coords;
                            if (natgrad && is_a_pair(mean, cov) && !is_natural(mean, cov)) want = 0;
                            if (natgrad && !is_a_pair(mean, cov)) want = 0; /* dense then, which a tied mean has no step for */
                            if (param == ODVGP_A_BETA && !has_A_BETA(mean)) want = 0;
                            if (step != ODVGP_GAMMA_ADAM && (!natgrad || !weights || coords == ODVGP_GAMMA_DIFFERENTIATED)) want = 0;
                            CHECK_SAY(odvgp_model_size(&c, &bytes, &info) == (want ? ODVGP_OK : ODVGP_E_UNSUPPORTED), "%s + %s, param %d, natgrad %d, gamma_step %d, gamma_coords %d: \"%s\"", mean_name[mean], cov_name[cov], param, natgrad, step, coords, info.text);
                            if (!want) CHECK(strlen(info.text) > 20 && info.what && strstr(info.text, info.what));
                        }
}

/* ---- gradients ---- */

/*  d(-elbo) / d(entry): central difference of fourth order. */
static double slope(made *a, const char *name, ptrdiff_t entry, double h) {
    static const double weight[4] = {-1.0 / 12, 8.0 / 12, 8.0 / 12, -1.0 / 12}, place[4] = {2, 1, -1, -2};
    odvgp_real *v = values(a, name), keep = v[entry];
    double sum = 0;
    int k;
    for (k = 0; k < 4; k++) {
        double step;
        v[entry] = (odvgp_real)((double)keep + place[k] * h);
        step = ((double)v[entry] - (double)keep) / fabs(place[k]); /* as rounded, with its sign */
        assign(a, name, v);
        sum -= weight[k] * elbo_of(a, NULL, NULL) / step;
    }
    v[entry] = keep;
    assign(a, name, v);
    free(v);
    return sum;
}
TEST(every_pair_has_the_gradient_of_its_bound) {
    int mean, cov, param, round, s;
    test_seed = 302;
    EACH_PAIR(mean, cov)
        for (param = ODVGP_WHITENED; param <= ODVGP_A_BETA; param++)
            for (round = 0; round < 2; round++) {
                odvgp_config c = config(mean, cov, 7, 1 + (param + round) % 2, 4, 3);
                made a;
                odvgp_real *grad, *again;
                double most = 0, elbo, worst = 0, h, allowed = BY_PRECISION(2e-9, 2e-3);
                ptrdiff_t i, n;
                char words[100] = "";
                if (param == ODVGP_A_BETA && !has_A_BETA(mean)) continue;
                c.param = (odvgp_param)param;
                c.gamma_coords = round ? ODVGP_GAMMA_PLAIN : ODVGP_GAMMA_DIFFERENTIATED;
                c.gamma_kl = (odvgp_gamma_kl)(round % 2);
                c.mean_function = round ? ODVGP_MEANFN_LINEAR : ODVGP_MEANFN_CONSTANT;
                c.tile = round ? 3 : 0;
                c.N = round ? 7 : 30; /* a minibatch's scale */
                c.jitter = 0;
                c.jitter_rel = (odvgp_real)(round ? BY_PRECISION(1e-3, 1e-2) : 0.1); /* its derivative is part of the kernel's */
                a = make(mean, cov, &c, round ? "matern52 + rbf" : "rbf");
                a.N = 7;
                n = odvgp_param_count(a.m);
                grad = NEW(odvgp_real, n);
                again = NEW(odvgp_real, n);
                elbo = elbo_of(&a, NULL, grad);
                elbo_of(&a, NULL, again);
                CHECK_SAY(!memcmp(grad, again, (size_t)n * sizeof *grad), "%s + %s, param %d: the gradient asked for again is another", mean_name[mean], cov_name[cov], param);
                for (i = 0; i < n; i++) most = test_worse(most, fabs((double)grad[i]));
                for (s = 0; s < odvgp_slot_count(a.m); s++) {
                    const odvgp_slot *t = odvgp_slot_at(a.m, s);
                    double size = 0;
                    for (i = 0; i < t->count; i++) {
                        double want, got = (double)grad[t->offset + i], off;
                        if (t->lower && i % t->shape[2] > i / t->shape[2] % t->shape[1]) {
                            CHECK(got == 0);
                            continue;
                        }
                        size = test_worse(size, fabs(got));
                        want = slope(&a, t->name, i, BY_PRECISION(1e-3, 0.02) * (!strcmp(t->name, "noise_variance") ? 0.15 : 1));
                        off = fabs(got - want);
                        for (h = BY_PRECISION(3e-4, 0.01); h > BY_PRECISION(3e-5, 0.004) && !(off <= allowed * (most + fabs(elbo))); h *= BY_PRECISION(0.33, 0.7)) { /* points close to each other bend the bound */
                            want = slope(&a, t->name, i, h);
                            off = fabs(got - want);
                        }
                        if (worst == worst && !(off <= worst)) {
                            worst = off;
                            snprintf(words, sizeof words, "%s[%ld]: %.10g, difference %.10g", t->name, (long)i, got, want);
                        }
                    }
                    CHECK_SAY(size > 0, "%s + %s: the bound does not depend on %s", mean_name[mean], cov_name[cov], t->name);
                }
                CHECK_SAY(worst <= allowed * (most + fabs(elbo)), "%s + %s, param %d, round %d: %s, of %.3g", mean_name[mean], cov_name[cov], param, round, words, most);
                free(grad), free(again);
                drop(&a);
            }
}

int main(int argc, char **argv) {
    test_begin(argc, argv);
    RUN(every_pair_is_its_own_gaussian);
    RUN(what_does_not_exist_is_refused_and_nothing_else);
    RUN(every_pair_has_the_gradient_of_its_bound);
    return test_end();
}
