/*  The model against brute force: joint Gaussians written out in long double, finite differences of the whole bound, averages over all
    subsets; and what training promises: the bound rises, frozen slots stay, seeds and numbers of tasks decide the bits or do not. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "reference.h"

/* ---- models of the tests ---- */

typedef struct made {
    odvgp_model *m;
    void *block;
    ref_kernel k;
    char text[1000];
    odvgp_real *X, *Y; /* [N,D], [N,P] */
    ptrdiff_t N, D, P, M, Mg;
} made;

static const char *const kernels[] = {"matern52 + rbf", "rbf", "matern12", "(rbf + matern32) * matern52"};

static void run_mixed(void *user, int n, void (*task)(void *arg, int i), void *arg) {
    int i;
    (void)user;
    for (i = n - 1; i >= 0; i -= 2) task(arg, i);
    for (i = n - 2; i >= 0; i -= 2) task(arg, i);
}
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
static void assign_number(made *a, const char *name, double x) {
    odvgp_real v = (odvgp_real)x;
    assign(a, name, &v);
}
static const char *mean_slot(const made *a) { return slot(a, "a_beta") ? "a_beta" : "q_mu"; }

static odvgp_config config(ptrdiff_t N, ptrdiff_t D, ptrdiff_t P, ptrdiff_t M, ptrdiff_t Mg) {
    odvgp_config c = odvgp_config_defaults(N, D, P, M, Mg);
    c.jitter = BY_PRECISION((odvgp_real)1e-3, (odvgp_real)1e-3); /* visible, so that it must stand in its places and no others */
    c.jitter_rel = 0;
    return c;
}
/*  The model with data: X in [-2,2], Y a smooth function with noise. All slots random. */
static made make(const odvgp_config *cfg, const char *kernel) {
    made a;
    odvgp_config c = *cfg;
    odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
    size_t bytes;
    ptrdiff_t i, p, d;
    int s, l;
    memset(&a, 0, sizeof a);
    a.N = c.N, a.D = c.D, a.P = c.P, a.M = c.M, a.Mg = c.mean_part == ODVGP_MEAN_ORTH ? c.M_gamma : 0;
    CHECK(ref_kernel_read(&a.k, kernel));
    for (l = 0; l < a.k.leaves; l++) a.k.leaf[l].ard = l % 2;
    ref_kernel_spell(&a.k, a.text, sizeof a.text);
    c.kernel = a.text;
    CHECK_SAY(odvgp_model_size(&c, &bytes, &info) == ODVGP_OK, "size: %s", info.text);
    a.block = test_alloc(bytes);
    CHECK_SAY(odvgp_model_init(&a.m, &c, a.block, bytes, &info) == ODVGP_OK, "init: %s", info.text);
    a.X = NEW(odvgp_real, a.N * a.D);
    a.Y = NEW(odvgp_real, a.N * a.P);
    for (i = 0; i < a.N; i++) {
        double sum = 0;
        for (d = 0; d < a.D; d++) sum += (double)(a.X[i * a.D + d] = (odvgp_real)test_between(-2, 2));
        for (p = 0; p < a.P; p++) a.Y[i * a.P + p] = (odvgp_real)(sin(1.5 * sum + (double)p) + 0.2 * test_normal());
    }
    for (s = 0; s < odvgp_slot_count(a.m); s++) {
        const odvgp_slot *t = odvgp_slot_at(a.m, s);
        odvgp_real *v = NEW(odvgp_real, t->count);
        for (i = 0; i < t->count; i++) {
            ptrdiff_t row = i / t->shape[2] % t->shape[1], col = i % t->shape[2];
            v[i] = (odvgp_real)(t->positive ? test_between(0.6, 1.4) : t->name[0] == 'Z' ? test_between(-2, 2) : t->lower ? (col > row ? 0 : col == row ? test_between(0.4, 0.9) : test_between(-0.3, 0.3)) : test_between(-0.7, 0.7));
            if (t->lower && col == row && test_below(4) == 0) v[i] = -v[i]; /* diagonals of any sign */
        }
        assign(&a, t->name, v);
        free(v);
    }
    assign_number(&a, "noise_variance", 0.15);
    return a;
}
static void drop(made *a) {
    free(a->block);
    free(a->X);
    free(a->Y);
    memset(a, 0, sizeof *a);
}
/*  The values of the kernel's leaves as the model has them now. */
static void read_kernel(made *a) {
    int l, i;
    char name[60];
    for (l = 0; l < a->k.leaves; l++) {
        odvgp_real *v;
        sprintf(name, "kernel.%d.lengthscale", l);
        v = values(a, name);
        for (i = 0; i < slot(a, name)->count; i++) a->k.leaf[l].lengthscale[i] = (wide)v[i];
        free(v);
        sprintf(name, "kernel.%d.variance", l);
        v = values(a, name);
        a->k.leaf[l].variance = (wide)v[0];
        free(v);
    }
}
static double elbo_of(made *a, double *kl, odvgp_real *grad) {
    odvgp_real e = 0, k = 0;
    odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
    odvgp_status s = odvgp_elbo(a->m, a->X, a->Y, a->N, &e, &k, grad, &info);
    CHECK_SAY(s == ODVGP_OK, "odvgp_elbo: %s: %s", odvgp_status_text(s), info.text);
    if (kl) *kl = (double)k;
    return (double)e;
}
static void predict(made *a, const odvgp_real *X, ptrdiff_t n, odvgp_real *mean, odvgp_real *var, odvgp_real *cov) {
    size_t bytes = odvgp_predictor_size(a->m), need;
    void *block = test_alloc(bytes), *scratch;
    const odvgp_predictor *p = NULL;
    CHECK_STATUS(odvgp_freeze(a->m, NULL, block, bytes, &p, NULL), ODVGP_OK);
    need = odvgp_predict_scratch(p, n);
    scratch = test_alloc(need);
    if (mean || var) CHECK_STATUS(odvgp_predict(p, X, n, mean, var, NULL, scratch, need), ODVGP_OK);
    if (cov) CHECK_STATUS(odvgp_predict_cov(p, X, n, NULL, cov, scratch, need), ODVGP_OK);
    free(scratch);
    free(block);
}

/* ---- the joint Gaussian by brute force ---- */

/*  p and q over (u, f at gamma, f at X): prior [n,n], condition number, mean and covariance of q, KL(q||p). u = f(Z_beta) + jitter noise. */
typedef struct joint {
    ptrdiff_t M, Mg, B, n;
    wide *prior, *mean, *cov, kl;
    double condition;
} joint;

/*  m and S of output p in the model's parametrisation, and a. */
static void moments(made *a, ptrdiff_t p, const wide *Kb, wide *m, wide *S) {
    ptrdiff_t M = a->M, i;
    odvgp_real *mu = values(a, mean_slot(a)), *root = values(a, "q_sqrt");
    wide *r = ref_copy(root + p * M * M, M * M), *L = ref_new(M * M), *t = ref_new(M * M), *v = ref_copy(mu + p * M, M);
    CHECK(ref_chol(M, Kb, L));
    switch (odvgp_model_config(a->m)->param) {
    case ODVGP_WHITENED:
        ref_mul(0, 0, M, 1, M, L, v, m);
        ref_mul(0, 0, M, M, M, L, r, t);
        break;
    case ODVGP_PRIMAL:
        for (i = 0; i < M; i++) m[i] = v[i];
        memcpy(t, r, (size_t)(M * M) * sizeof *t);
        break;
    default:
        ref_mul(0, 0, M, 1, M, Kb, v, m);
        memcpy(t, r, (size_t)(M * M) * sizeof *t);
    }
    ref_mul(0, 1, M, M, M, t, t, S);
    free(mu), free(root), free(r), free(L), free(t), free(v);
}
/*  a_gamma as the mean uses it: with ODVGP_GAMMA_DIFFERENTIATED the slot holds D a. */
static joint joint_of(made *a, ptrdiff_t p, const odvgp_real *X, ptrdiff_t B) {
    joint g;
    ptrdiff_t M = a->M, Mg = a->Mg, n = M + Mg + B, D = a->D, i, j, l;
    const odvgp_config *cfg = odvgp_model_config(a->m);
    odvgp_real *Zb = values(a, "Z_beta"), *Zg = Mg ? values(a, "Z_gamma") : NULL, *ag = Mg ? values(a, "a_gamma") : NULL;
    wide *all = ref_new(n * D), *Kb = ref_new(M * M), *Kbi, *m = ref_new(M), *S = ref_new(M * M), *H = ref_new(n * M), *C = ref_new(n * Mg), *mid = ref_new(M * M), *t = ref_new(n * M), jitter = (wide)cfg->jitter;
    wide *inverse, trace = 0, quad = 0, *Pm;
    read_kernel(a);
    g.M = M, g.Mg = Mg, g.B = B, g.n = n;
    for (i = 0; i < n; i++)
        for (j = 0; j < D; j++) all[i * D + j] = (wide)(i < M ? Zb[i * D + j] : i < M + Mg ? Zg[(i - M) * D + j] : X[(i - M - Mg) * D + j]);
    g.prior = ref_K(&a->k, D, all, n, all, n);
    {
        wide diag = 0;
        for (i = 0; i < M; i++) diag += g.prior[i * n + i];
        jitter += (wide)cfg->jitter_rel * diag / (wide)M;
    }
    for (i = 0; i < M; i++) g.prior[i * n + i] += jitter;
    for (i = 0; i < M; i++)
        for (j = 0; j < M; j++) Kb[i * M + j] = g.prior[i * n + j];
    Kbi = ref_inverse_spd(M, Kb);
    moments(a, p, Kb, m, S);
    for (i = 0; i < n; i++) /* H = P[:,u] Kb^-1 */
        for (j = 0; j < M; j++)
            for (l = 0; l < M; l++) H[i * M + j] += g.prior[i * n + l] * Kbi[l * M + j];
    g.mean = ref_new(n);
    g.cov = ref_new(n * n);
    for (i = 0; i < M * M; i++) mid[i] = Kb[i] - S[i];
    ref_mul(0, 0, n, M, M, H, mid, t);
    ref_mul(0, 1, n, n, M, t, H, g.cov);
    for (i = 0; i < n * n; i++) g.cov[i] = g.prior[i] - g.cov[i];
    for (i = 0; i < n; i++) {
        for (j = 0; j < M; j++) g.mean[i] += H[i * M + j] * m[j];
        for (j = 0; j < Mg; j++) { /* residual covariance with gamma */
            C[i * Mg + j] = g.prior[i * n + M + j];
            for (l = 0; l < M; l++) C[i * Mg + j] -= H[i * M + l] * g.prior[l * n + M + j];
        }
    }
    for (j = 0; j < Mg; j++) {
        wide w = (wide)ag[p * Mg + j];
        if (cfg->gamma_coords == ODVGP_GAMMA_DIFFERENTIATED) w /= C[(M + j) * Mg + j];
        for (i = 0; i < n; i++) g.mean[i] += C[i * Mg + j] * w;
    }
    inverse = ref_inverse_spd(n, g.prior);
    g.condition = (double)(ref_norm1(n, g.prior) * ref_norm1(n, inverse));
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) trace += inverse[i * n + j] * g.cov[j * n + i];
    Pm = ref_new(n);
    ref_mul(0, 0, n, 1, n, inverse, g.mean, Pm);
    for (i = 0; i < n; i++) quad += Pm[i] * g.mean[i];
    g.kl = (trace + quad - (wide)n + ref_solve_spd(n, 0, g.prior, NULL) - ref_solve_spd(n, 0, g.cov, NULL)) / 2;
    free(Zb), free(Zg), free(ag), free(all), free(Kb), free(Kbi), free(m), free(S), free(H), free(C), free(mid), free(t), free(inverse), free(Pm);
    return g;
}
static void drop_joint(joint *g) {
    free(g->prior);
    free(g->mean);
    free(g->cov);
}
static wide mean_function(made *a, const odvgp_real *x, ptrdiff_t p) {
    wide sum = 0;
    ptrdiff_t d;
    if (slot(a, "mean.c")) {
        odvgp_real *c = values(a, "mean.c");
        sum = (wide)c[p];
        free(c);
    }
    if (slot(a, "mean.A")) {
        odvgp_real *A = values(a, "mean.A"), *b = values(a, "mean.b");
        sum = (wide)b[p];
        for (d = 0; d < a->D; d++) sum += (wide)x[d] * (wide)A[d * a->P + p];
        free(A), free(b);
    }
    return sum;
}

/*  KL, moments and bound of every member, in each parametrisation, are those of its own q, to 1e-13 of the joint condition number. */
TEST(every_member_is_its_own_gaussian) {
    int orth, param, round, worst_condition = 0;
    test_seed = 201;
    for (orth = 0; orth < 2; orth++)
        for (param = ODVGP_WHITENED; param <= ODVGP_A_BETA; param++)
            for (round = 0; round < 8; round++) {
                const ptrdiff_t N = 5, D = 2, P = 2, M = 1 + round % 4, Mg = orth ? 1 + (round * 3) % 4 : 0;
                odvgp_config c = config(N, D, P, M, Mg);
                made a;
                ptrdiff_t p, i, j;
                double kl, elbo = 0, expect = 0, kl_sum = 0, condition = 0, tol, most = 0;
                odvgp_real *mean = NEW(odvgp_real, P * N), *var = NEW(odvgp_real, P * N), *cov = NEW(odvgp_real, P * N * N);
                c.param = (odvgp_param)param;
                c.mean_function = (odvgp_mean_function)(round % 3);
                c.gamma_coords = (odvgp_gamma_coords)(round % 3);
                c.tile = round % 2 ? 2 : 0;
                if (round >= 4) {
                    c.jitter = 0;
                    c.jitter_rel = (odvgp_real)0.01;
                }
                a = make(&c, kernels[round % 4]);
                elbo = elbo_of(&a, &kl, NULL);
                predict(&a, a.X, N, mean, var, cov);
                for (p = 0; p < P; p++) {
                    joint g = joint_of(&a, p, a.X, N);
                    tol = 1e-13 * (EPS / DBL_EPSILON) * g.condition;
                    if (g.condition > condition) condition = g.condition;
                    kl_sum += (double)g.kl;
                    for (i = 0; i < N; i++) {
                        ptrdiff_t at = M + g.Mg + i;
                        double f = (double)(g.mean[at] + mean_function(&a, a.X + i * D, p)), v = (double)g.cov[at * g.n + at], d = (double)a.Y[i * P + p] - f;
                        double noise = (double)(odvgp_real)0.15;
                        CHECK_SAY(fabs((double)mean[p * N + i] - f) <= tol * (1 + fabs(f)), "orth %d param %d round %d: mean %.15g, not %.15g", orth, param, round, (double)mean[p * N + i], f);
                        CHECK_NEAR(var[p * N + i], v, tol * (1 + v));
                        expect += -0.5 * (log(2 * 3.14159265358979323846 * noise) + (d * d + v) / noise);
                        for (j = 0; j < N; j++) CHECK_NEAR(cov[(p * N + i) * N + j], (double)g.cov[at * g.n + M + g.Mg + j], tol * 4);
                    }
                    drop_joint(&g);
                }
                tol = 1e-13 * (EPS / DBL_EPSILON) * condition;
                most = fabs(expect) + fabs(kl_sum) + 1;
                CHECK_SAY(fabs(kl - kl_sum) <= tol * most, "orth %d param %d round %d: KL %.15g, its q's %.15g (condition %.3g)", orth, param, round, kl, kl_sum, condition);
                CHECK_SAY(fabs(elbo - (expect - kl_sum)) <= tol * most, "orth %d param %d round %d: elbo %.15g, not %.15g", orth, param, round, elbo, expect - kl_sum);
                if (condition > worst_condition) worst_condition = (int)condition;
                free(mean), free(var), free(cov);
                drop(&a);
            }
    test_note("condition numbers to %d", worst_condition);
}

/*  No gamma: ORTH is COUPLED, in its value, its gradients, and through training. */
TEST(orth_without_gamma_is_coupled) {
    int param, i;
    for (param = ODVGP_WHITENED; param <= ODVGP_A_BETA; param++) {
        odvgp_config c = config(12, 2, 2, 4, 0);
        made a, b;
        odvgp_real *ga, *gb;
        c.param = (odvgp_param)param;
        c.batch = 5;
        c.mean_part = ODVGP_MEAN_ORTH;
        test_seed = 202;
        a = make(&c, kernels[0]);
        c.mean_part = ODVGP_MEAN_BETA;
        test_seed = 202;
        b = make(&c, kernels[0]);
        ga = NEW(odvgp_real, odvgp_param_count(a.m));
        gb = NEW(odvgp_real, odvgp_param_count(b.m));
        CHECK_INT(odvgp_param_count(a.m), odvgp_param_count(b.m));
        CHECK(elbo_of(&a, NULL, ga) == elbo_of(&b, NULL, gb));
        CHECK_BITS(ga, gb, (size_t)odvgp_param_count(a.m) * sizeof *ga);
        for (i = 0; i < 30; i++) {
            CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_step(b.m, b.X, b.Y, NULL, NULL), ODVGP_OK);
        }
        for (i = 0; i < odvgp_slot_count(a.m); i++) {
            const odvgp_slot *s = odvgp_slot_at(a.m, i);
            odvgp_real *va, *vb;
            if (!s->count) continue;
            va = values(&a, s->name);
            vb = values(&b, s->name);
            CHECK_SAY(memcmp(va, vb, (size_t)s->count * sizeof *va) == 0, "%s differs after training", s->name);
            free(va), free(vb);
        }
        free(ga), free(gb);
        drop(&a);
        drop(&b);
    }
}

/* ---- gradients ---- */

/*  d(-elbo) / d(entry): central difference of fourth order. */
static double slope(made *a, const char *name, ptrdiff_t entry, const ptrdiff_t *columns, ptrdiff_t count, double h) {
    static const double weight[4] = {-1.0 / 12, 8.0 / 12, 8.0 / 12, -1.0 / 12}, place[4] = {2, 1, -1, -2};
    odvgp_real *v = values(a, name), keep = v[entry], e;
    double sum = 0;
    int k;
    for (k = 0; k < 4; k++) {
        double step;
        v[entry] = (odvgp_real)((double)keep + place[k] * h);
        step = ((double)v[entry] - (double)keep) / fabs(place[k]);
        assign(a, name, v);
        if (count) CHECK_STATUS(odvgp_elbo_columns(a->m, a->X, a->Y, a->N, columns, count, &e, NULL, NULL, NULL), ODVGP_OK);
        else e = (odvgp_real)elbo_of(a, NULL, NULL);
        sum -= weight[k] * (double)e / (step * (fabs(place[k]) > 1 ? 1 : 1)) * 1.0;
    }
    v[entry] = keep;
    assign(a, name, v);
    free(v);
    return sum;
}
TEST(gradients_are_those_of_the_bound) {
    int orth, param, round, s;
    ptrdiff_t i;
    static const ptrdiff_t columns[] = {3, 0};
    test_seed = 203;
    for (orth = 0; orth < 2; orth++)
        for (param = ODVGP_WHITENED; param <= ODVGP_A_BETA; param++)
            for (round = 0; round < 4; round++) {
                odvgp_config c = config(7, 2, 2, 3, orth ? 4 : 0);
                made a;
                odvgp_real *grad, e;
                double most = 0, elbo, worst = 0;
                ptrdiff_t count = orth && round >= 2 ? 2 : 0;
                char words[100] = "";
                c.param = (odvgp_param)param;
                c.mean_function = (odvgp_mean_function)(round % 3);
                c.gamma_coords = (odvgp_gamma_coords)((round + 2) % 3);
                c.tile = round % 2 ? 3 : 0;
                c.positive = round % 2 ? ODVGP_EXP : ODVGP_SOFTPLUS;
                c.N = round == 1 ? 50 : 7; /* a minibatch's scale */
                c.jitter = (odvgp_real)(round == 2 ? 0 : 1e-3);
                c.jitter_rel = (odvgp_real)(round >= 2 ? 1e-2 : 0); /* its derivative is part of the kernel's */
                a = make(&c, kernels[(round + 1) % 4 == 2 ? 0 : (round + 1) % 4]); /* without Matern 1/2, which has kinks */
                a.N = 7;
                grad = NEW(odvgp_real, odvgp_param_count(a.m));
                if (count) {
                    CHECK_STATUS(odvgp_elbo_columns(a.m, a.X, a.Y, a.N, columns, count, &e, NULL, grad, NULL), ODVGP_OK);
                    elbo = (double)e;
                } else
                    elbo = elbo_of(&a, NULL, grad);
                for (i = 0; i < odvgp_param_count(a.m); i++)
                    if (fabs((double)grad[i]) > most) most = fabs((double)grad[i]);
                for (s = 0; s < odvgp_slot_count(a.m); s++) {
                    const odvgp_slot *t = odvgp_slot_at(a.m, s);
                    for (i = 0; i < t->count; i++) {
                        double want, got = (double)grad[t->offset + i], off;
                        if (t->lower && i % t->shape[2] > i / t->shape[2] % t->shape[1]) {
                            CHECK(got == 0);
                            continue;
                        }
                        want = slope(&a, t->name, i, columns, count, BY_PRECISION(1e-3, 0.02));
                        off = fabs(got - want);
                        if (!(off <= worst)) {
                            worst = off;
                            snprintf(words, sizeof words, "%s[%ld]: %.10g, difference %.10g", t->name, (long)i, got, want);
                        }
                    }
                }
                CHECK_SAY(worst <= BY_PRECISION(2e-9, 1e-3) * (most + fabs(elbo)), "orth %d param %d round %d: %s, of %.3g", orth, param, round, words, most);
                free(grad);
                drop(&a);
            }
}

/* ---- averages over all subsets ---- */

static int next_subset(ptrdiff_t *s, ptrdiff_t k, ptrdiff_t n) {
    ptrdiff_t i = k - 1, j;
    while (i >= 0 && s[i] == n - k + i) i--;
    if (i < 0) return 0;
    s[i]++;
    for (j = i + 1; j < k; j++) s[j] = s[j - 1] + 1;
    return 1;
}
TEST(sampled_columns_are_unbiased) {
    int coords, param;
    ptrdiff_t k, i, n;
    test_seed = 204;
    for (coords = 0; coords < 3; coords++)
        for (param = ODVGP_WHITENED; param <= ODVGP_A_BETA; param++)
            for (k = 1; k <= 5; k++) {
                odvgp_config c = config(6, 2, 2, 3, 5);
                made a;
                odvgp_real *full, *grad, e, kl;
                double *mean, kl_full, elbo_full, kl_mean = 0, elbo_mean = 0, most = 0, spread = 0;
                ptrdiff_t subset[5] = {0, 1, 2, 3, 4}, sets = 0;
                c.param = (odvgp_param)param;
                c.gamma_coords = (odvgp_gamma_coords)coords;
                a = make(&c, kernels[1]);
                n = odvgp_param_count(a.m);
                full = NEW(odvgp_real, n);
                grad = NEW(odvgp_real, n);
                mean = NEW(double, n);
                for (i = 0; i < n; i++) mean[i] = 0;
                elbo_full = elbo_of(&a, &kl_full, full);
                do {
                    CHECK_STATUS(odvgp_elbo_columns(a.m, a.X, a.Y, a.N, subset, k, &e, &kl, grad, NULL), ODVGP_OK);
                    elbo_mean += (double)e;
                    kl_mean += (double)kl;
                    for (i = 0; i < n; i++) {
                        mean[i] += (double)grad[i];
                        if (fabs((double)grad[i]) > most) most = fabs((double)grad[i]);
                    }
                    if (fabs((double)kl - kl_full) > spread) spread = fabs((double)kl - kl_full);
                    sets++;
                } while (next_subset(subset, k, 5));
                CHECK_NEAR(kl_mean / (double)sets, kl_full, 60 * EPS * (fabs(kl_full) + spread + fabs(elbo_full)));
                CHECK_NEAR(elbo_mean / (double)sets, elbo_full, 60 * EPS * (fabs(elbo_full) + spread));
                for (i = 0; i < n; i++) CHECK_NEAR(mean[i] / (double)sets, full[i], 200 * EPS * most);
                CHECK(k == 5 ? spread <= 20 * EPS * (1 + fabs(kl_full) + fabs(elbo_full)) : spread > 1e-3); /* the subsets do differ */
                free(full), free(grad), free(mean);
                drop(&a);
            }
}
TEST(minibatches_are_unbiased) {
    int orth;
    ptrdiff_t i, j, n;
    test_seed = 205;
    for (orth = 0; orth < 2; orth++) {
        odvgp_config c = config(6, 2, 2, 3, orth ? 4 : 0);
        made a = make(&c, kernels[0]);
        odvgp_real *full, *grad, e, Xb[4], Yb[4];
        double *mean, elbo_full, elbo_mean = 0, most = 0;
        ptrdiff_t subset[2] = {0, 1}, sets = 0;
        n = odvgp_param_count(a.m);
        full = NEW(odvgp_real, n);
        grad = NEW(odvgp_real, n);
        mean = NEW(double, n);
        for (i = 0; i < n; i++) mean[i] = 0;
        elbo_full = elbo_of(&a, NULL, full);
        do {
            for (i = 0; i < 2; i++)
                for (j = 0; j < 2; j++) {
                    Xb[i * 2 + j] = a.X[subset[i] * 2 + j];
                    Yb[i * 2 + j] = a.Y[subset[i] * 2 + j];
                }
            CHECK_STATUS(odvgp_elbo(a.m, Xb, Yb, 2, &e, NULL, grad, NULL), ODVGP_OK);
            elbo_mean += (double)e;
            for (i = 0; i < n; i++) {
                mean[i] += (double)grad[i];
                if (fabs((double)grad[i]) > most) most = fabs((double)grad[i]);
            }
            sets++;
        } while (next_subset(subset, 2, 6));
        CHECK_INT(sets, 15);
        CHECK_NEAR(elbo_mean / (double)sets, elbo_full, 100 * EPS * fabs(elbo_full));
        for (i = 0; i < n; i++) CHECK_NEAR(mean[i] / (double)sets, full[i], 200 * EPS * most);
        free(full), free(grad), free(mean);
        drop(&a);
    }
}
/*  The steps' own minibatches: with everything frozen, the reports of an epoch average to the bound; each epoch has another order; batches
    and sampled columns are drawn from streams of their own. */
TEST(steps_see_every_row_once_an_epoch) {
    odvgp_config c = config(12, 2, 1, 3, 5);
    made a;
    odvgp_report r;
    double full, kl, sum, first[3] = {0, 0, 0}, kl_sum = 0, kl_square = 0, sd;
    int epoch, i, other = 0;
    test_seed = 206;
    c.batch = 4;
    c.gamma_batch = 0;
    a = make(&c, kernels[0]);
    CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0), ODVGP_OK);
    full = elbo_of(&a, &kl, NULL);
    for (epoch = 0; epoch < 5; epoch++) {
        sum = 0;
        for (i = 0; i < 3; i++) {
            CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
            sum += (double)r.elbo;
            CHECK_NEAR(r.elbo, (double)r.expected_loglik - (double)r.kl, 8 * EPS * (fabs((double)r.expected_loglik) + fabs((double)r.kl)));
            CHECK_NEAR(r.kl, kl, 20 * EPS * fabs(kl));
            CHECK_INT(r.step, 3 * epoch + i + 1);
            if (!epoch) first[i] = (double)r.elbo;
            else other += (double)r.elbo != first[i];
        }
        CHECK_NEAR(sum / 3, full, 100 * EPS * fabs(full));
    }
    CHECK(other > 6);
    CHECK_INT(odvgp_steps_done(a.m), 15);
    drop(&a);
    c.gamma_batch = 2; /* 2 of 5 columns: the average of the KL tends to the KL */
    test_seed = 206;
    a = make(&c, kernels[0]);
    CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0), ODVGP_OK);
    for (i = 0; i < 3000; i++) {
        CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
        kl_sum += (double)r.kl;
        kl_square += ((double)r.kl - kl) * ((double)r.kl - kl);
    }
    sd = sqrt(kl_square / 3000);
    CHECK(sd > 0);
    CHECK_NEAR(kl_sum / 3000, kl, 4 * sd / sqrt(3000.0));
    drop(&a);
}

/* ---- natural gradients ---- */

/*  Titsias' optimum for residual targets r = y - mean function - (K_Xg - K_Xb Kb^-1 K_bg) a, per output. */
TEST(a_unit_natural_step_lands_on_the_optimum) {
    int orth, param, round;
    test_seed = 207;
    for (orth = 0; orth < 2; orth++)
        for (param = ODVGP_WHITENED; param <= ODVGP_A_BETA; param++)
            for (round = 0; round < 3; round++) {
                const ptrdiff_t N = 20, M = 4, P = 2, D = 2, Mg = orth ? 5 : 0;
                odvgp_config c = config(N, D, P, M, Mg);
                made a;
                ptrdiff_t p, i, j, l;
                wide *Zb, *X, *Zg, *Kb, *Kxb, *Kxg = NULL, *Kbg = NULL, noise, *Kbi;
                odvgp_real *zb, *zg = NULL, *ag = NULL, e;
                odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
                double before, bound = 0;
                c.param = (odvgp_param)param;
                c.mean_function = (odvgp_mean_function)round;
                c.tile = round == 1 ? 6 : 0;
                c.gamma_coords = ODVGP_GAMMA_PLAIN;
                a = make(&c, kernels[round]);
                before = elbo_of(&a, NULL, NULL);
                CHECK_SAY(odvgp_natgrad_step(a.m, a.X, a.Y, N, 1, &e, &info) == ODVGP_OK, "%s", info.text);
                CHECK_NEAR(e, before, 60 * EPS * fabs(before));
                read_kernel(&a);
                zb = values(&a, "Z_beta");
                Zb = ref_copy(zb, M * D);
                X = ref_copy(a.X, N * D);
                noise = (wide)(odvgp_real)0.15;
                Kb = ref_K(&a.k, D, Zb, M, Zb, M);
                for (i = 0; i < M; i++) Kb[i * M + i] += (wide)c.jitter;
                Kbi = ref_inverse_spd(M, Kb);
                Kxb = ref_K(&a.k, D, X, N, Zb, M);
                if (Mg) {
                    zg = values(&a, "Z_gamma");
                    ag = values(&a, "a_gamma");
                    Zg = ref_copy(zg, Mg * D);
                    Kxg = ref_K(&a.k, D, X, N, Zg, Mg);
                    Kbg = ref_K(&a.k, D, Zb, M, Zg, Mg);
                    free(Zg);
                }
                for (p = 0; p < P; p++) {
                    wide *A = ref_new(M * M), *y = ref_new(N), *b = ref_new(M), *m = ref_new(M), *S = ref_new(M * M), *Ai, *m0 = ref_new(M), *S0 = ref_new(M * M), *t = ref_new(M * M), *H = ref_new(N * M);
                    double scale = 0, tol;
                    ref_mul(0, 0, N, M, M, Kxb, Kbi, H);
                    for (i = 0; i < N; i++) {
                        y[i] = (wide)a.Y[i * P + p] - mean_function(&a, a.X + i * D, p);
                        for (j = 0; j < Mg; j++) {
                            wide r = Kxg[i * Mg + j];
                            for (l = 0; l < M; l++) r -= H[i * M + l] * Kbg[l * Mg + j];
                            y[i] -= r * (wide)ag[p * Mg + j];
                        }
                    }
                    for (i = 0; i < M; i++) {
                        for (j = 0; j < M; j++) {
                            A[i * M + j] = Kb[i * M + j];
                            for (l = 0; l < N; l++) A[i * M + j] += Kxb[l * M + i] * Kxb[l * M + j] / noise;
                        }
                        for (l = 0; l < N; l++) b[i] += Kxb[l * M + i] * y[l] / noise;
                    }
                    Ai = ref_inverse_spd(M, A);
                    ref_mul(0, 0, M, 1, M, Ai, b, t);
                    ref_mul(0, 0, M, 1, M, Kb, t, m);
                    ref_mul(0, 0, M, M, M, Kb, Ai, t);
                    ref_mul(0, 0, M, M, M, t, Kb, S);
                    moments(&a, p, Kb, m0, S0);
                    tol = 100 * EPS * ref_condition(M, A) * ref_condition(M, Kb);
                    for (i = 0; i < M; i++)
                        if (fabs((double)m[i]) > scale) scale = fabs((double)m[i]);
                    for (i = 0; i < M; i++) CHECK_NEAR(m0[i], m[i], tol * scale);
                    for (i = 0; i < M * M; i++) CHECK_NEAR(S0[i], S[i], tol * (double)ref_norm1(M, S));
                    {   /* the collapsed bound: log N(r; 0, Q + noise I) - tr(K - Q) / (2 noise), less what a costs in the KL */
                        wide *Q = ref_new(N * N), *w = ref_new(N), quad = 0, trace = 0, logdet, xx[2] = {0, 0}, k0 = ref_k(&a.k, D, xx, xx), cost = 0;
                        ref_mul(0, 1, N, N, M, H, Kxb, Q);
                        for (i = 0; i < N; i++) {
                            trace += k0 - Q[i * N + i];
                            Q[i * N + i] += noise;
                            w[i] = y[i];
                        }
                        logdet = ref_solve_spd(N, 1, Q, w);
                        for (i = 0; i < N; i++) quad += w[i] * y[i];
                        if (Mg) {
                            wide *Zg2 = ref_copy(zg, Mg * D), *Kg = ref_K(&a.k, D, Zg2, Mg, Zg2, Mg), *T = ref_new(M * Mg);
                            ref_mul(0, 0, M, Mg, M, Kbi, Kbg, T);
                            for (i = 0; i < Mg; i++)
                                for (j = 0; j < Mg; j++) {
                                    wide cc = Kg[i * Mg + j];
                                    for (l = 0; l < M; l++) cc -= Kbg[l * Mg + i] * T[l * Mg + j];
                                    cost += (wide)ag[p * Mg + i] * cc * (wide)ag[p * Mg + j] / 2;
                                }
                            free(Zg2), free(Kg), free(T);
                        }
                        bound += (double)(-(logdet + quad + (wide)N * logl(2 * 3.14159265358979323846264338L)) / 2 - trace / (2 * noise) - cost);
                        free(Q), free(w);
                    }
                    free(A), free(y), free(b), free(m), free(S), free(Ai), free(m0), free(S0), free(t), free(H);
                }
                CHECK_NEAR(elbo_of(&a, NULL, NULL), bound, 1e4 * EPS * fabs(bound));
                CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, N, 1, NULL, &info), ODVGP_OK); /* and stays there */
                CHECK_NEAR(elbo_of(&a, NULL, NULL), bound, 1e4 * EPS * fabs(bound));
                CHECK_INT(odvgp_model_events(a.m).step_shortened, 0);
                free(Zb), free(X), free(Kb), free(Kbi), free(Kxb), free(Kxg), free(Kbg), free(zb), free(zg), free(ag);
                drop(&a);
            }
}
/*  With an inducing point on every row and no jitter, the optimum is exact GP regression. */
TEST(all_rows_as_inducing_points_give_the_exact_gp) {
    const ptrdiff_t N = 8;
    odvgp_config c = config(N, 2, 1, N, 0);
    made a;
    wide *X, *K, *w, quad = 0, logdet, noise = (wide)(odvgp_real)0.15;
    double want, condition;
    ptrdiff_t i;
    test_seed = 208;
    c.jitter = 0;
    a = make(&c, "matern12");
    assign(&a, "Z_beta", a.X);
    CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, N, 1, NULL, NULL), ODVGP_OK);
    read_kernel(&a);
    X = ref_copy(a.X, N * 2);
    K = ref_K(&a.k, 2, X, N, X, N);
    condition = ref_condition(N, K);
    w = ref_copy(a.Y, N);
    for (i = 0; i < N; i++) K[i * N + i] += noise;
    logdet = ref_solve_spd(N, 1, K, w);
    for (i = 0; i < N; i++) quad += w[i] * (wide)a.Y[i];
    want = (double)(-(logdet + quad + (wide)N * logl(2 * 3.14159265358979323846264338L)) / 2);
    CHECK_NEAR(elbo_of(&a, NULL, NULL), want, 50 * EPS * condition * (1 + fabs(want)));
    CHECK_INT(odvgp_model_events(a.m).jitter_raised, 0);
    free(X), free(K), free(w);
    drop(&a);
}
//MORE
