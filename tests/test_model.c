/*  The model against brute force: joint Gaussians written out in long double, finite differences
    of the bound, and averages over all subsets. Also what training promises: the bound rises,
    frozen slots stay, and the bits depend on seeds but not on numbers of tasks. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "members.h"

static const char *const kernels[] = {
        "matern52 + rbf", "rbf", "matern12", "(rbf + matern32) * matern52"};

static const char *mean_slot(const fixture *a) { return slot(a, "a_beta") ? "a_beta" : "q_mu"; }

static wide mean_function(fixture *a, const odvgp_real *x, ptrdiff_t p)
{
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

/*  KL, moments and bound of every member, in each parametrisation, equal those of its own q to
    1e-13 of the joint condition number. */
TEST(every_member_is_its_own_gaussian)
{
    int orth, param, round, worst_condition = 0;
    test_seed = 201;
    for (orth = 0; orth < 2; orth++)
        for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
            for (round = 0; round < 8; round++) {
                const ptrdiff_t N = 5, D = 2, P = 2, M = 1 + round % 4,
                                Mg = orth ? 1 + (round * 3) % 4 : 0;
                odvgp_config c = random_config(N, D, P, M, Mg);
                fixture a;
                ptrdiff_t p, i, j;
                double kl, elbo = 0, expect = 0, kl_sum = 0, condition = 0, tol, most = 0;
                odvgp_real *mean = NEW(odvgp_real, P * N), *var = NEW(odvgp_real, P * N),
                           *cov = NEW(odvgp_real, P * N * N);
                c.reproduce.parametrisation = (odvgp_parametrisation)param;
                c.layer[0].mean_function = (odvgp_mean_function)(round % 3);
                c.reproduce.gamma_coords = (odvgp_gamma_coords)(round % 3);
                c.reproduce.gamma_kl = (odvgp_gamma_kl)(round / 2 % 2);
                c.tile = round % 2 ? 2 : 0;
                if (round >= 4) {
                    c.jitter.absolute = 0;
                    c.jitter.relative = (odvgp_real)0.01;
                }
                a = make_pair(orth ? ORTH : BETA, ODVGP_COV_PART_DENSE, &c, kernels[round % 4]);
                elbo = elbo_of(&a, &kl, NULL);
                predict(&a, a.X, N, mean, var, cov);
                for (p = 0; p < P; p++) {
                    joint g = joint_of(&a, p, a.X, N);
                    tol = 1e-13 * (EPS / DBL_EPSILON) * g.condition;
                    if (g.condition > condition) condition = g.condition;
                    kl_sum += (double)g.kl;
                    for (i = 0; i < N; i++) {
                        ptrdiff_t at = g.x + i;
                        double f = (double)(g.mean[at] + mean_function(&a, a.X + i * D, p)),
                               v = (double)g.cov[at * g.n + at], d = (double)a.Y[i * P + p] - f;
                        double noise = (double)(odvgp_real)0.15;
                        CHECK_SAY(fabs((double)mean[p * N + i] - f) <= tol * (1 + fabs(f)),
                                "orth %d param %d round %d: mean %.15g, not %.15g", orth, param,
                                round, (double)mean[p * N + i], f);
                        CHECK_NEAR(var[p * N + i], v, tol * (1 + v));
                        expect += -0.5 *
                                  (log(2 * 3.14159265358979323846 * noise) + (d * d + v) / noise);
                        for (j = 0; j < N; j++)
                            CHECK_NEAR(cov[(p * N + i) * N + j], (double)g.cov[at * g.n + g.x + j],
                                    tol * 4);
                    }
                    drop_joint(&g);
                }
                tol = 1e-13 * (EPS / DBL_EPSILON) * condition;
                most = fabs(expect) + fabs(kl_sum) + 1;
                CHECK_SAY(fabs(kl - kl_sum) <= tol * most,
                        "orth %d param %d round %d: KL %.15g, its q's %.15g (condition %.3g)", orth,
                        param, round, kl, kl_sum, condition);
                CHECK_SAY(fabs(elbo - (expect - kl_sum)) <= tol * most,
                        "orth %d param %d round %d: elbo %.15g, not %.15g", orth, param, round,
                        elbo, expect - kl_sum);
                if (condition > worst_condition) worst_condition = (int)condition;
                free(mean), free(var), free(cov);
                drop(&a);
            }
    test_note("condition numbers to %d", worst_condition);
}

/*  Without gamma ORTH is COUPLED: its value, its gradients and its training are the same. */
TEST(orth_without_gamma_is_coupled)
{
    int param, i;
    for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++) {
        odvgp_config c = random_config(12, 2, 2, 4, 0);
        fixture a, b;
        odvgp_real *ga, *gb;
        c.reproduce.parametrisation = (odvgp_parametrisation)param;
        c.optim.batch = 5;
        c.layer[0].mean_part = ODVGP_MEAN_PART_ORTH;
        test_seed = 202;
        a = make_random(&c, kernels[0]);
        c.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
        test_seed = 202;
        b = make_random(&c, kernels[0]);
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
            CHECK_SAY(memcmp(va, vb, (size_t)s->count * sizeof *va) == 0,
                    "%s differs after training", s->name);
            free(va), free(vb);
        }
        free(ga), free(gb);
        drop(&a);
        drop(&b);
    }
}

/* ---- gradients ---- */

TEST(gradients_are_those_of_the_bound)
{
    int orth, param, round;
    static const ptrdiff_t columns[] = {3, 0};
    test_seed = 203;
    for (orth = 0; orth < 2; orth++)
        for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
            for (round = 0; round < 4; round++) {
                odvgp_config c = random_config(7, 2, 2, 3, orth ? 4 : 0);
                fixture a;
                char where[100];
                c.reproduce.parametrisation = (odvgp_parametrisation)param;
                c.layer[0].mean_function = (odvgp_mean_function)(round % 3);
                c.reproduce.gamma_coords = (odvgp_gamma_coords)((round + 2) % 3);
                c.reproduce.gamma_kl = (odvgp_gamma_kl)(round % 2);
                c.tile = round % 2 ? 3 : 0;
                c.positive_transform = round % 2 ? ODVGP_POSITIVE_TRANSFORM_EXP
                                                 : ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
                /* The factor N/B of a minibatch differs from 1. */
                c.N = round == 1 ? 50 : 7;
                c.jitter.absolute = (odvgp_real)(round == 2 ? 0 : 1e-3);
                /* The derivative of a relative jitter is part of the kernel's derivative. */
                c.jitter.relative = (odvgp_real)(round >= 2 ? 1e-2 : 0);
                /* This leaves out Matern 1/2, which is not differentiable at r = 0. */
                a = make_random(&c, kernels[(round + 1) % 4 == 2 ? 0 : (round + 1) % 4]);
                a.N = 7;
                snprintf(where, sizeof where, "orth %d param %d round %d", orth, param, round);
                check_gradient(&a, columns, orth && round >= 2 ? 2 : 0, BY_PRECISION(2e-9, 1e-3), 0,
                        where);
                drop(&a);
            }
}

/*  If k(x,x) depends on x, the D of each gamma point is computed from its own k(x,x). Where D is
    0 it is replaced by a floor, which is relative to all of them. D scales Adam's steps and
    divides in the differentiated coordinates. */
TEST(scales_of_kernels_that_are_not_stationary)
{
    int way;
    for (way = 0; way < 2; way++) {
        odvgp_config c = random_config(9, 2, 1, 3, 4);
        fixture a;
        wide *Zb, *Zg, *Kb, *Kbg, unit, floor_ = 0;
        odvgp_real *values_of_Zg, *grad;
        ptrdiff_t i, j;
        test_seed = 214;
        c.reproduce.gamma_coords =
                way ? ODVGP_GAMMA_COORDS_DIFFERENTIATED : ODVGP_GAMMA_COORDS_SCALED;
        c.optim.natgrad = 0;
        /* The step is so short that the values read after it are those it was computed from. */
        c.optim.lr = odvgp_constant((odvgp_real)1e-12);
        a = make_random(&c, "linear * rbf");
        values_of_Zg = values(&a, "Z_gamma");
        values_of_Zg[0] = values_of_Zg[1] = 0;
        values_of_Zg[2] *= 20;
        assign(&a, "Z_gamma", values_of_Zg);
        grad = NEW(odvgp_real, odvgp_param_count(a.m));
        CHECK(elbo_of(&a, NULL, grad) < 0);
        CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
        read_kernel(&a);
        Zb = ref_copy(a.m->tape.node[a.m->unit[0].Z_beta.id].v, 6), Zg = ref_copy(values_of_Zg, 8);
        Kb = ref_K(&a.k, 2, Zb, 3, Zb, 3), Kbg = ref_K(&a.k, 2, Zb, 3, Zg, 4);
        for (i = 0; i < 3; i++) Kb[4 * i] += (wide)c.jitter.absolute;
        {
            wide ones[2] = {1, 1}, *W = ref_new(12);
            memcpy(W, Kbg, 12 * sizeof *W);
            ref_solve_spd(3, 4, Kb, W);
            unit = ref_k(&a.k, 2, ones, ones);
            for (j = 0; j < 4; j++)
                floor_ += way ? ref_k(&a.k, 2, Zg + 2 * j, Zg + 2 * j) / 4 : unit / 4;
            for (j = 0; j < 4; j++) {
                wide D = ref_k(&a.k, 2, Zg + 2 * j, Zg + 2 * j), want;
                for (i = 0; i < 3; i++) D -= Kbg[i * 4 + j] * W[i * 4 + j];
                want = D > floor_ / 100 ? D : floor_ / 100;
                if (way)
                    CHECK_NEAR(a.m->tape.node[a.m->unit[0].gamma_residual.id].v[j], want,
                            1e4 * EPS * (double)(want + D));
                else
                    CHECK_NEAR(
                            a.m->unit[0].scales[j], want / sqrtl(unit), 1e4 * EPS * (double)want);
            }
            free(W);
        }
        free(Zb), free(Zg), free(Kb), free(Kbg), free(values_of_Zg), free(grad);
        drop(&a);
    }
}
/*  A gamma point that coincides with a beta point has D = 0 up to jitter. The slot is divided by
    the floor of D, and the gradient is that of this floored bound. */
TEST(gamma_on_beta_has_a_floor)
{
    odvgp_config c = random_config(7, 2, 2, 3, 4);
    fixture a;
    odvgp_real *Z, *Zg;
    double elbo;
    ptrdiff_t j;
    int floored = 0;
    test_seed = 211;
    c.reproduce.gamma_coords = ODVGP_GAMMA_COORDS_DIFFERENTIATED;
    c.jitter.absolute = (odvgp_real)BY_PRECISION(1e-10, 1e-5);
    a = make_random(&c, kernels[0]);
    Z = values(&a, "Z_beta"), Zg = values(&a, "Z_gamma");
    /* The first two points coincide. */
    memcpy(Zg, Z, 4 * sizeof *Z);
    assign(&a, "Z_gamma", Zg);
    elbo = elbo_of(&a, NULL, NULL);
    CHECK_SAY(elbo > -1e4, "the bound is %g", elbo);
    for (j = 0; j < 4; j++) {
        double D = (double)a.m->tape.node[a.m->unit[0].gamma_residual.id].v[j], k = 0;
        int l;
        read_kernel(&a);
        for (l = 0; l < a.k.base_kernels; l++) k += (double)a.k.base[l].variance[0];
        CHECK(D >= 0.01 * k * (1 - 1e-5));
        if (j < 2) CHECK_NEAR(D, 0.01 * k, 1e-5 * k);
        floored += D < 0.0101 * k;
    }
    /* The floor is a choice of the model and not counted as a rounding error. */
    CHECK_INT(odvgp_model_events(a.m).variance_clamped, 0);
    check_gradient(&a, NULL, 0, BY_PRECISION(1e-8, 3e-3), 0, "at the floor");
    test_note("%d of 4 points at the floor", floored);
    free(Z), free(Zg);
    drop(&a);
}

/* ---- averages over all subsets ---- */

TEST(sampled_columns_are_unbiased)
{
    int coords, param;
    ptrdiff_t k;
    test_seed = 204;
    for (coords = 0; coords < 3; coords++)
        for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
            for (k = 1; k <= 5; k++) {
                odvgp_config c = random_config(6, 2, 2, 3, 5);
                fixture a;
                c.reproduce.parametrisation = (odvgp_parametrisation)param;
                c.reproduce.gamma_coords = (odvgp_gamma_coords)coords;
                c.reproduce.gamma_kl = (odvgp_gamma_kl)((k + param) % 2);
                a = make_random(&c, kernels[1]);
                check_subsets(&a, k, 1);
                drop(&a);
            }
}
TEST(minibatches_are_unbiased)
{
    int orth;
    ptrdiff_t i, j, n;
    test_seed = 205;
    for (orth = 0; orth < 2; orth++) {
        odvgp_config c = random_config(6, 2, 2, 3, orth ? 4 : 0);
        fixture a = make_random(&c, kernels[0]);
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
/*  With all parameters frozen, the reports of one epoch average to the bound. Each epoch has
    another order; batches and sampled columns come from separate random streams. */
TEST(steps_see_every_row_once_an_epoch)
{
    odvgp_config c = random_config(12, 2, 1, 3, 5);
    fixture a;
    odvgp_report r;
    double full, kl, sum, first[3] = {0, 0, 0}, kl_sum = 0, kl_square = 0, sd;
    int epoch, i, other = 0;
    test_seed = 206;
    c.optim.batch = 4;
    c.optim.gamma_batch = 0;
    a = make_random(&c, kernels[0]);
    CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0), ODVGP_OK);
    full = elbo_of(&a, &kl, NULL);
    for (epoch = 0; epoch < 5; epoch++) {
        sum = 0;
        for (i = 0; i < 3; i++) {
            CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
            sum += (double)r.elbo;
            CHECK_NEAR(r.elbo, (double)r.expected_loglik - (double)r.kl,
                    8 * EPS * (fabs((double)r.expected_loglik) + fabs((double)r.kl)));
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
    /* With 2 of 5 columns, the average of the KL converges to the KL. */
    c.optim.gamma_batch = 2;
    test_seed = 206;
    a = make_random(&c, kernels[0]);
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

/*  Titsias' optimum of q for the residual targets r = y - mean function - (K_Xg - K_Xb Kb^-1
    K_bg) a, per output. */
TEST(a_unit_natural_step_lands_on_the_optimum)
{
    int orth, param, round;
    test_seed = 207;
    for (orth = 0; orth < 2; orth++)
        for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++)
            for (round = 0; round < 3; round++) {
                const ptrdiff_t N = 20, M = 4, P = 2, D = 2, Mg = orth ? 5 : 0;
                odvgp_config c = random_config(N, D, P, M, Mg);
                fixture a;
                ptrdiff_t p, i, j, l;
                wide *Zb, *X, *Zg, *Kb, *Kxb, *Kxg = NULL, *Kbg = NULL, noise, *Kbi;
                odvgp_real *zb, *zg = NULL, *ag = NULL, e;
                odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
                double before, bound = 0;
                c.reproduce.parametrisation = (odvgp_parametrisation)param;
                c.layer[0].mean_function = (odvgp_mean_function)round;
                c.tile = round == 1 ? 6 : 0;
                c.reproduce.gamma_coords = ODVGP_GAMMA_COORDS_PLAIN;
                a = make_random(&c, kernels[round]);
                before = elbo_of(&a, NULL, NULL);
                CHECK_SAY(odvgp_natgrad_step(a.m, a.X, a.Y, N, 1, &e, &info) == ODVGP_OK, "%s",
                        info.text);
                CHECK_NEAR(e, before, 60 * EPS * fabs(before));
                read_kernel(&a);
                zb = values(&a, "Z_beta");
                Zb = ref_copy(zb, M * D);
                X = ref_copy(a.X, N * D);
                noise = (wide)(odvgp_real)0.15;
                Kb = ref_K(&a.k, D, Zb, M, Zb, M);
                for (i = 0; i < M; i++) Kb[i * M + i] += (wide)c.jitter.absolute;
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
                    wide *A = ref_new(M * M), *y = ref_new(N), *b = ref_new(M), *m = ref_new(M),
                         *S = ref_new(M * M), *Ai, *m0 = ref_new(M), *S0 = ref_new(M * M),
                         *t = ref_new(M * M), *H = ref_new(N * M);
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
                            for (l = 0; l < N; l++)
                                A[i * M + j] += Kxb[l * M + i] * Kxb[l * M + j] / noise;
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
                    for (i = 0; i < M * M; i++)
                        CHECK_NEAR(S0[i], S[i], tol * (double)ref_norm1(M, S));
                    {
                        /* The collapsed bound: log N(r; 0, Q + noise I) - tr(K - Q) / (2 noise),
                           minus the KL term of a. */
                        wide *Q = ref_new(N * N), *w = ref_new(N), quad = 0, trace = 0, logdet,
                             xx[2] = {0, 0}, k0 = ref_k(&a.k, D, xx, xx), cost = 0;
                        ref_mul(0, 1, N, N, M, H, Kxb, Q);
                        for (i = 0; i < N; i++) {
                            trace += k0 - Q[i * N + i];
                            Q[i * N + i] += noise;
                            w[i] = y[i];
                        }
                        logdet = ref_solve_spd(N, 1, Q, w);
                        for (i = 0; i < N; i++) quad += w[i] * y[i];
                        if (Mg) {
                            wide *Zg2 = ref_copy(zg, Mg * D),
                                 *Kg = ref_K(&a.k, D, Zg2, Mg, Zg2, Mg), *T = ref_new(M * Mg);
                            ref_mul(0, 0, M, Mg, M, Kbi, Kbg, T);
                            for (i = 0; i < Mg; i++)
                                for (j = 0; j < Mg; j++) {
                                    wide cc = Kg[i * Mg + j];
                                    for (l = 0; l < M; l++) cc -= Kbg[l * Mg + i] * T[l * Mg + j];
                                    cost += (wide)ag[p * Mg + i] * cc * (wide)ag[p * Mg + j] / 2;
                                }
                            free(Zg2), free(Kg), free(T);
                        }
                        bound += (double)(-(logdet + quad +
                                                  (wide)N *
                                                          logl(2 * 3.14159265358979323846264338L)) /
                                                  2 -
                                          trace / (2 * noise) - cost);
                        free(Q), free(w);
                    }
                    free(A), free(y), free(b), free(m), free(S), free(Ai), free(m0), free(S0),
                            free(t), free(H);
                }
                CHECK_NEAR(elbo_of(&a, NULL, NULL), bound, 1e4 * EPS * fabs(bound));
                /* A second natural step changes nothing. */
                CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, N, 1, NULL, &info), ODVGP_OK);
                CHECK_NEAR(elbo_of(&a, NULL, NULL), bound, 1e4 * EPS * fabs(bound));
                CHECK_INT(odvgp_model_events(a.m).step_shortened, 0);
                free(Zb), free(X), free(Kb), free(Kbi), free(Kxb), free(Kxg), free(Kbg), free(zb),
                        free(zg), free(ag);
                drop(&a);
            }
}
/*  With an inducing point on every row and no jitter, the optimum is exact GP regression. */
TEST(all_rows_as_inducing_points_give_the_exact_gp)
{
    const ptrdiff_t N = 8;
    odvgp_config c = random_config(N, 2, 1, N, 0);
    fixture a;
    wide *X, *K, *w, quad = 0, logdet, noise = (wide)(odvgp_real)0.15;
    double want, condition;
    ptrdiff_t i;
    test_seed = 208;
    c.jitter.absolute = 0;
    a = make_random(&c, "matern12");
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

/* ---- one model, used again and again: nothing stale ---- */

static void clone_values(fixture *to, const fixture *from)
{
    int i;
    for (i = 0; i < odvgp_slot_count(from->m); i++) {
        const odvgp_slot *s = odvgp_slot_at(from->m, i);
        odvgp_real *v = values(from, s->name);
        if (s->count) assign(to, s->name, v);
        free(v);
    }
}
/*  After any sequence of calls, a model gives the bits of a new model with the same values. */
TEST(values_set_are_values_used)
{
    int round, param;
    for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++) {
        odvgp_config c = random_config(9, 2, 2, 4, 5);
        fixture a, b;
        odvgp_real *ga, *gb, ea, eb, ka, kb, ma[18], mb[18], va[18], vb[18], *v;
        ptrdiff_t columns[2], n, i;
        c.reproduce.parametrisation = (odvgp_parametrisation)param;
        c.tile = 4;
        c.optim.gamma_batch = 3;
        c.optim.batch = 6;
        test_seed = 210;
        a = make_random(&c, kernels[3]);
        test_seed = 210;
        b = make_random(&c, kernels[3]);
        n = odvgp_param_count(a.m);
        ga = NEW(odvgp_real, n);
        gb = NEW(odvgp_real, n);
        for (round = 0; round < 60; round++) {
            const odvgp_slot *s = odvgp_slot_at(a.m, (int)test_below(odvgp_slot_count(a.m)));
            switch (test_below(6)) {
            /* Set some values. */
            case 0:
                v = values(&a, s->name);
                for (i = 0; i < s->count; i++) v[i] *= (odvgp_real)test_between(0.95, 1.05);
                assign(&a, s->name, v);
                free(v);
                break;
            case 1: CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK); break;
            case 2:
                CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, a.N, (odvgp_real)0.1, NULL, NULL),
                        ODVGP_OK);
                break;
            case 3:
                CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 3, &ea, NULL, NULL, NULL), ODVGP_OK);
                break;
            case 4:
                columns[0] = test_below(5);
                columns[1] = (columns[0] + 1) % 5;
                CHECK_STATUS(odvgp_elbo_columns(a.m, a.X, a.Y, 5, columns, 2, &ea, NULL, ga, NULL),
                        ODVGP_OK);
                break;
            default: predict(&a, a.X, 9, ma, va, NULL);
            }
            clone_values(&b, &a);
            /* Natural steps also start from the set values, not from the state of earlier steps. */
            if (round % 3 == 2) {
                CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, a.N, (odvgp_real)0.2, NULL, NULL),
                        ODVGP_OK);
                CHECK_STATUS(odvgp_natgrad_step(b.m, b.X, b.Y, b.N, (odvgp_real)0.2, NULL, NULL),
                        ODVGP_OK);
                for (i = 0; i < 2; i++) {
                    const char *name = i ? "q_sqrt" : mean_slot(&a);
                    odvgp_real *x = values(&a, name), *y = values(&b, name);
                    ptrdiff_t count = slot(&a, name)->count;
                    CHECK_SAY(test_max_diff(x, y, count) <=
                                      BY_PRECISION(1e-10, 1e-2) * test_max_abs(y, count),
                            "param %d round %d: after natural steps %s differs by %.3g of %.3g",
                            param, round, name, test_max_diff(x, y, count), test_max_abs(y, count));
                    free(x), free(y);
                }
                clone_values(&b, &a);
            }
            CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 9, &ea, &ka, ga, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_elbo(b.m, b.X, b.Y, 9, &eb, &kb, gb, NULL), ODVGP_OK);
            CHECK(ea == eb && ka == kb);
            CHECK_BITS(ga, gb, (size_t)n * sizeof *ga);
            if (round % 4 == 0) {
                predict(&a, a.X, 9, ma, va, NULL);
                predict(&b, a.X, 9, mb, vb, NULL);
                CHECK_BITS(ma, mb, sizeof ma);
                CHECK_BITS(va, vb, sizeof va);
            }
        }
        free(ga), free(gb);
        drop(&a);
        drop(&b);
    }
}
/*  Names of slots without repeats; the number of a kernel's term is replaced by 0. */
enum { MOST_NAMES = 64 };
typedef struct names {
    char name[MOST_NAMES][32];
    int count;
} names;
static int has_name(const names *n, const char *name)
{
    int i;
    for (i = 0; i < n->count; i++)
        if (!strcmp(n->name[i], name)) return 1;
    return 0;
}
static void add_name(names *n, const char *from, size_t length)
{
    char name[32];
    size_t digits;
    if (!CHECK(length < sizeof name && n->count < MOST_NAMES)) return;
    memcpy(name, from, length);
    name[length] = 0;
    if (!strncmp(name, "kernel.", 7) && (digits = strspn(name + 7, "0123456789")) > 0) {
        memmove(name + 8, name + 7 + digits, strlen(name + 7 + digits) + 1);
        name[7] = '0';
    }
    if (!has_name(n, name)) strcpy(n->name[n->count++], name);
}

/*  Collects the quoted words of the header's comment that begins with `from`. */
static names read_names(const char *from)
{
    static char text[1 << 20];
    names n;
    char *at, *end, *close;
    FILE *f = fopen("odvgp.h", "rb");
    n.count = 0;
    if (!CHECK_SAY(f != NULL, "the test must run in the folder of odvgp.h")) return n;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    at = strstr(text, "typedef struct odvgp_events");
    at = at ? strstr(at, from) : NULL;
    if (!CHECK_SAY(at != NULL, "no field is %s", from)) return n;
    /* The comment stands above the declaration, or else behind it. */
    for (end = at; end > text && (end[-1] == ' ' || end[-1] == '\n'); end--) {}
    if (end - text > 2 && end[-1] == '/' && end[-2] == '*')
        for (at = end -= 2; at > text && strncmp(at, "/*", 2); at--) {}
    else end = strstr(at, "*/");
    if (!CHECK_SAY(end != NULL, "no comment says what %s is", from)) return n;
    for (*end = 0; (at = strchr(at, '"')) != NULL && (close = strchr(at + 1, '"')) != NULL;
            at = close + 1)
        add_name(&n, at + 1, (size_t)(close - at - 1));
    return n;
}

/*  Collects the slots of every kernel, and of every member in each of its coordinates and mean
    functions. */
static names all_slot_names(void)
{
    names n;
    odvgp_config c = random_config(9, 1, 1, 2, 0);
    int kernel, mean, cov, param, function, gamma, i;
    n.count = 0;
    for (kernel = 0; kernel < ODVGP__BASE_KERNEL_TYPES; kernel++)
        for (mean = 0; mean < ODVGP__COUNT(odvgp__mean_parts); mean++)
            for (cov = 0; cov < ODVGP__COUNT(odvgp__cov_parts); cov++)
                for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA;
                        param++)
                    for (function = ODVGP_MEAN_FUNCTION_ZERO;
                            function <= ODVGP_MEAN_FUNCTION_LINEAR; function++)
                        for (gamma = 0; gamma < 4; gamma += 3) {
                            size_t bytes;
                            void *block;
                            odvgp_model *m;
                            c.layer[0].kernel = odvgp__base_kernel_kinds[kernel].name;
                            c.layer[0].mean_part = (odvgp_mean_part)mean;
                            c.layer[0].cov_part = (odvgp_cov_part)cov;
                            c.reproduce.parametrisation = (odvgp_parametrisation)param;
                            c.layer[0].mean_function = (odvgp_mean_function)function;
                            c.layer[0].M_gamma = gamma;
                            c.optim.natgrad = 0;
                            if (odvgp_model_size(&c, &bytes, NULL)) continue;
                            block = test_alloc(bytes);
                            CHECK_STATUS(odvgp_model_init(&m, &c, block, bytes, NULL), ODVGP_OK);
                            for (i = 0; i < odvgp_slot_count(m); i++)
                                add_name(&n, odvgp_slot_at(m, i)->name,
                                        strlen(odvgp_slot_at(m, i)->name));
                            free(block);
                        }
    return n;
}

TEST(the_header_lists_all_slots_and_matrices)
{
    names said = read_names("const char *name;"), real = all_slot_names();
    names matrices = read_names("const char *matrix;");
    int i;
    for (i = 0; i < real.count; i++)
        CHECK_SAY(has_name(&said, real.name[i]), "the list does not have %s", real.name[i]);
    for (i = 0; i < said.count; i++)
        CHECK_SAY(has_name(&real, said.name[i]), "no model has %s", said.name[i]);
    for (i = 0; i < ODVGP__JITTERS; i++)
        CHECK_SAY(has_name(&matrices, odvgp__jitter_matrices[i]), "%s gets jitter",
                odvgp__jitter_matrices[i]);
    CHECK_INT(matrices.count, ODVGP__JITTERS);
    test_note("%d names", real.count);
}

TEST(memory_grows_with_N_only_where_the_manual_says)
{
    static const struct {
        odvgp_objective objective;
        odvgp_mean_part mean;
        odvgp_cov_part cov;
        int grows;
    } row[] = {{ODVGP_OBJECTIVE_ELBO, ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 0},
            {ODVGP_OBJECTIVE_COLLAPSED, ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 0},
            {ODVGP_OBJECTIVE_COLLAPSED, ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 0},
            {ODVGP_OBJECTIVE_PARTLY, ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 0},
            {ODVGP_OBJECTIVE_TIGHT, ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 1},
            {ODVGP_OBJECTIVE_EXACT, ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, 1}};
    size_t i, bytes[2], k;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        for (k = 0; k < 2; k++) {
            /* These are more rows than initialisation looks at. */
            ptrdiff_t N = k ? 10000 : 5000;
            odvgp_config c = odvgp_config_defaults(
                    N, 1, 1, row[i].objective == ODVGP_OBJECTIVE_EXACT ? N : 4, 0);
            c.layer[0].M_gamma =
                    row[i].mean == ODVGP_MEAN_PART_ORTH || row[i].mean == ODVGP_MEAN_PART_BLOCKS
                            ? 5
                            : 0;
            c.layer[0].mean_part = row[i].mean;
            c.layer[0].cov_part = row[i].cov;
            c.objective = row[i].objective;
            c.optim.batch = row[i].objective == ODVGP_OBJECTIVE_ELBO ? 100 : N;
            CHECK_STATUS(odvgp_model_size(&c, &bytes[k], NULL), ODVGP_OK);
        }
        CHECK_SAY((bytes[0] < bytes[1]) == row[i].grows,
                "objective %d: %lu bytes, %lu for twice the rows", (int)row[i].objective,
                (unsigned long)bytes[0], (unsigned long)bytes[1]);
    }
}

TEST(slots_tell_the_truth)
{
    odvgp_config c = random_config(9, 3, 2, 4, 5);
    fixture a;
    int i;
    ptrdiff_t at = 0, j;
    c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
    test_seed = 211;
    a = make_random(&c, kernels[0]);
    for (i = 0; i < odvgp_slot_count(a.m); i++) {
        const odvgp_slot *s = odvgp_slot_at(a.m, i);
        CHECK_INT(s->offset, at);
        CHECK_INT(s->count, s->shape[0] * s->shape[1] * s->shape[2]);
        CHECK(odvgp_slot_find(a.m, s->name) == s);
        CHECK(s->trainable == 1 &&
                s->natgrad == (!strcmp(s->name, "q_mu") || !strcmp(s->name, "q_sqrt")));
        at += s->count;
    }
    CHECK_INT(at, odvgp_param_count(a.m));
    CHECK(!odvgp_slot_at(a.m, -1) && !odvgp_slot_at(a.m, i) && !odvgp_slot_find(a.m, "kernel") &&
            !odvgp_slot_find(a.m, ""));
    {
        static const struct {
            const char *name;
            int dims;
            ptrdiff_t shape[3];
            int positive, lower;
        } want[] = {{"kernel.0.lengthscale", 1, {1, 1, 1}, 1, 0},
                {"kernel.0.variance", 1, {1, 1, 1}, 1, 0},
                {"kernel.1.lengthscale", 1, {3, 1, 1}, 1, 0},
                {"noise_variance", 1, {1, 1, 1}, 1, 0}, {"mean.A", 2, {3, 2, 1}, 0, 0},
                {"mean.b", 1, {2, 1, 1}, 0, 0}, {"Z_beta", 2, {4, 3, 1}, 0, 0},
                {"Z_gamma", 2, {5, 3, 1}, 0, 0}, {"a_gamma", 2, {2, 5, 1}, 0, 0},
                {"q_mu", 2, {2, 4, 1}, 0, 0}, {"q_sqrt", 3, {2, 4, 4}, 0, 1}};
        for (j = 0; j < (ptrdiff_t)(sizeof want / sizeof *want); j++) {
            const odvgp_slot *s = slot(&a, want[j].name);
            if (!CHECK_SAY(s != NULL, "no slot %s", want[j].name)) continue;
            CHECK_SAY(s->dims == want[j].dims &&
                              !memcmp(s->shape, want[j].shape, sizeof s->shape) &&
                              s->positive == want[j].positive && s->lower == want[j].lower,
                    "shape of %s", want[j].name);
        }
    }
    {
        /* odvgp_get returns what odvgp_set was given, to the last bit. Elements above the
           diagonal are ignored, even NaN. */
        odvgp_real v[32], w[32];
        const odvgp_slot *q = slot(&a, "q_sqrt");
        for (j = 0; j < 32; j++)
            v[j] = j % 4 > j / 4 % 4 ? (odvgp_real)NAN : (odvgp_real)(0.1 * (double)j + 0.3);
        CHECK_STATUS(odvgp_set(a.m, "q_sqrt", v, q->count, NULL), ODVGP_OK);
        CHECK_STATUS(odvgp_get(a.m, "q_sqrt", w, q->count), ODVGP_OK);
        for (j = 0; j < 32; j++) CHECK(w[j] == (j % 4 > j / 4 % 4 ? 0 : v[j]));
        v[0] = (odvgp_real)1.2345678901234567e-7;
        CHECK_STATUS(odvgp_set(a.m, "noise_variance", v, 1, NULL), ODVGP_OK);
        CHECK_STATUS(odvgp_get(a.m, "noise_variance", w, 1), ODVGP_OK);
        CHECK(w[0] == v[0]);
    }
    drop(&a);
}

/* ---- training ---- */

static double rmse(fixture *a)
{
    odvgp_real *mean = NEW(odvgp_real, a->P * a->N);
    double sum = 0;
    ptrdiff_t i, p;
    predict(a, a->X, a->N, mean, NULL, NULL);
    for (p = 0; p < a->P; p++)
        for (i = 0; i < a->N; i++) {
            double d = (double)mean[p * a->N + i] - (double)a->Y[i * a->P + p];
            sum += d * d;
        }
    free(mean);
    return sqrt(sum / (double)(a->N * a->P));
}
TEST(training_raises_the_bound)
{
    int orth, natgrad, update, param, coords = 0;
    double worst = 0;
    test_seed = 220;
    for (orth = 0; orth < 2; orth++)
        for (natgrad = 0; natgrad < 2; natgrad++)
            for (update = ODVGP_UPDATE_JOINT; update <= ODVGP_UPDATE_ADAM_FIRST; update++)
                for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA;
                        param++) {
                    odvgp_config c = random_config(60, 1, 1, 6, orth ? 10 : 0);
                    fixture a;
                    double before, after, error;
                    int i;
                    c.jitter.absolute = 0;
                    c.jitter.relative = (odvgp_real)1e-4;
                    c.optim.natgrad = natgrad;
                    c.reproduce.update = (odvgp_update)update;
                    c.reproduce.parametrisation = (odvgp_parametrisation)param;
                    c.reproduce.gamma_coords = (odvgp_gamma_coords)(coords++ % 3);
                    c.optim.batch = 20;
                    c.optim.gamma_batch = 4;
                    c.optim.lr = odvgp_constant((odvgp_real)0.02);
                    c.optim.natgrad_step = odvgp_constant((odvgp_real)0.1);
                    a = make_random(&c, "rbf");
                    CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
                    before = elbo_of(&a, NULL, NULL);
                    for (i = 0; i < 400; i++)
                        CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
                    after = elbo_of(&a, NULL, NULL);
                    error = rmse(&a);
                    CHECK_SAY(after > before + 20,
                            "orth %d natgrad %d update %d param %d: from %.4g to %.4g", orth,
                            natgrad, update, param, before, after);
                    /* The standard deviation of the noise is 0.2, that of the targets 0.7. */
                    CHECK_SAY(error < 0.5, "orth %d natgrad %d update %d param %d: rmse %.3g", orth,
                            natgrad, update, param, error);
                    if (error > worst) worst = error;
                    CHECK_INT(odvgp_model_events(a.m).step_undone, 0);
                    drop(&a);
                }
    test_note("root mean square errors to %.2f, noise 0.2", worst);
}
TEST(frozen_slots_keep_their_bits)
{
    int frozen, s, natgrad;
    for (natgrad = 0; natgrad < 2; natgrad++) {
        int count = 1;
        for (frozen = 0; frozen < count; frozen++) {
            odvgp_config c = random_config(30, 2, 2, 4, 5);
            fixture a;
            odvgp_real **old;
            const char *name;
            c.optim.natgrad = natgrad;
            c.optim.batch = 10;
            c.optim.gamma_batch = 2;
            c.layer[0].mean_function =
                    frozen % 2 ? ODVGP_MEAN_FUNCTION_LINEAR : ODVGP_MEAN_FUNCTION_CONSTANT;
            test_seed = 221;
            a = make_random(&c, kernels[0]);
            count = odvgp_slot_count(a.m);
            if (frozen >= count) {
                drop(&a);
                break;
            }
            name = odvgp_slot_at(a.m, frozen)->name;
            CHECK_STATUS(odvgp_set_trainable(a.m, name, 0), ODVGP_OK);
            CHECK_INT(odvgp_slot_at(a.m, frozen)->trainable, 0);
            old = NEW(odvgp_real *, count);
            for (s = 0; s < count; s++) old[s] = values(&a, odvgp_slot_at(a.m, s)->name);
            for (s = 0; s < 5; s++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
            for (s = 0; s < count; s++) {
                const odvgp_slot *t = odvgp_slot_at(a.m, s);
                odvgp_real *v = values(&a, t->name);
                int same = memcmp(v, old[s], (size_t)t->count * sizeof *v) == 0;
                /* A natural step moves q_mu and q_sqrt together or not at all. */
                int still = s == frozen ||
                            (natgrad && t->natgrad && odvgp_slot_at(a.m, frozen)->natgrad);
                CHECK_SAY(same == still, "with %s frozen, %s %s", name, t->name,
                        same ? "does not move" : "moves");
                free(v), free(old[s]);
            }
            free(old);
            drop(&a);
        }
    }
    {
        /* A star at the end of a name matches all slots that begin with it. */
        odvgp_config c = random_config(30, 2, 2, 4, 5);
        fixture a = make_random(&c, kernels[0]);
        CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.*", 0), ODVGP_OK);
        for (s = 0; s < odvgp_slot_count(a.m); s++)
            CHECK_INT(odvgp_slot_at(a.m, s)->trainable,
                    strncmp(odvgp_slot_at(a.m, s)->name, "kernel.", 7) != 0);
        CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.1*", 1), ODVGP_OK);
        CHECK(slot(&a, "kernel.1.variance")->trainable &&
                !slot(&a, "kernel.0.variance")->trainable);
        CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.", 0), ODVGP_E_NAME);
        CHECK_STATUS(odvgp_set_trainable(a.m, "x*", 0), ODVGP_E_NAME);
        drop(&a);
    }
}
/*  A value that is set and then frozen is not recomputed from its logarithm, which changes one
    value in ten. */
TEST(frozen_values_stay_as_given)
{
    enum { VALUES = 50 };
    odvgp_config c = random_config(30, 2, 1, 4, 0);
    fixture a;
    int i, positive;
    test_seed = 222;
    for (positive = 0; positive < 2; positive++) {
        c.positive_transform =
                positive ? ODVGP_POSITIVE_TRANSFORM_EXP : ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
        a = make_random(&c, kernels[1]);
        CHECK_STATUS(odvgp_set_trainable(a.m, "noise_variance", 0), ODVGP_OK);
        for (i = 0; i < VALUES; i++) {
            odvgp_real given = (odvgp_real)(0.1 + 0.037 * i), now = 0;
            CHECK_STATUS(odvgp_set(a.m, "noise_variance", &given, 1, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_get(a.m, "noise_variance", &now, 1), ODVGP_OK);
            CHECK_SAY(now == given, "%.17g has become %.17g", (double)given, (double)now);
        }
        drop(&a);
    }
}
/*  Collects the final theta, a bound with its gradient, and predictions in one buffer. */
static size_t run_bits(const odvgp_config *cfg, int steps, uint64_t data_seed, odvgp_real **bits)
{
    fixture a;
    size_t n, at = 0;
    odvgp_real *b, e, kl;
    int i, s;
    test_seed = data_seed;
    a = make_random(cfg, kernels[0]);
    CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
    for (i = 0; i < steps; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
    n = 2 * (size_t)odvgp_param_count(a.m) + 2 + 2 * (size_t)(a.P * a.N) + 400 * (size_t)a.P;
    b = *bits = NEW(odvgp_real, n);
    for (s = 0; s < odvgp_slot_count(a.m); s++) {
        const odvgp_slot *t = odvgp_slot_at(a.m, s);
        if (t->count) CHECK_STATUS(odvgp_get(a.m, t->name, b + at, t->count), ODVGP_OK);
        at += (size_t)t->count;
    }
    CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, a.N, &e, &kl, b + at, NULL), ODVGP_OK);
    at += (size_t)odvgp_param_count(a.m);
    b[at++] = e;
    b[at++] = kl;
    predict(&a, a.X, a.N, b + at, b + at + a.P * a.N, NULL);
    at += 2 * (size_t)(a.P * a.N);
    predict(&a, a.X, 20, NULL, NULL, b + at);
    at += 400 * (size_t)a.P;
    CHECK(at == n);
    drop(&a);
    return n;
}
TEST(the_same_seed_gives_the_same_bits)
{
    odvgp_config c = random_config(50, 2, 2, 6, 8);
    odvgp_real *a, *b;
    size_t n;
    c.optim.batch = 16;
    c.optim.gamma_batch = 3;
    c.optim.lr = odvgp_constant((odvgp_real)0.01);
    c.seed = 5;
    n = run_bits(&c, 20, 222, &a);
    CHECK_INT(run_bits(&c, 20, 222, &b), n);
    CHECK_BITS(a, b, n * sizeof *a);
    free(b);
    c.seed = 6;
    run_bits(&c, 20, 222, &b);
    CHECK(memcmp(a, b, n * sizeof *a) != 0);
    free(a), free(b);
}
/*  The sizes are large enough that operations are cut into tasks. The number of tasks does not
    change the bits. */
TEST(any_number_of_tasks_gives_the_same_bits)
{
    static const int counts[] = {1, 2, 3, 7};
    int orth, natgrad, t;
    for (orth = 0; orth < 2; orth++)
        for (natgrad = 0; natgrad < 2; natgrad++) {
            odvgp_config c = random_config(300, 3, 2, 70, orth ? 150 : 0);
            odvgp_real *first = NULL, *bits;
            size_t n = 0;
            c.jitter.relative = (odvgp_real)1e-4;
            c.optim.natgrad = natgrad;
            c.reproduce.parametrisation =
                    orth == natgrad ? ODVGP_PARAMETRISATION_WHITENED : ODVGP_PARAMETRISATION_PRIMAL;
            c.optim.batch = 200;
            c.tile = 150;
            c.optim.gamma_batch = 90;
            for (t = 0; t < 4; t++) {
                c.threads.run = run_mixed;
                c.threads.count = counts[t];
                n = run_bits(&c, 3, 223, t ? &bits : &first);
                if (!t) continue;
                CHECK_SAY(memcmp(bits, first, n * sizeof *bits) == 0,
                        "orth %d natgrad %d: %d tasks give other bits than 1", orth, natgrad,
                        counts[t]);
                free(bits);
            }
            /* Compare with the serial hook. */
            memset(&c.threads, 0, sizeof c.threads);
            run_bits(&c, 3, 223, &bits);
            CHECK_BITS(bits, first, n * sizeof *bits);
            free(bits);
            free(first);
        }
}
/*  The cached parts of K(X, Z_gamma) and of its products with each q_sqrt change the memory and
    the time, but no bit of the result. */
TEST(kept_and_computed_again_are_the_same_bits)
{
    static const char *const expressions[] = {"matern52 + rbf", "rbf(ard) * (matern32 + matern12)"};
    int k, natgrad;
    /* Test with and without gamma. */
    for (k = 0; k < 4; k++)
        for (natgrad = 0; natgrad < 2; natgrad++) {
            odvgp_config c = random_config(300, 3, 2, 10, k < 2 ? 150 : 0);
            odvgp_real *kept, *again;
            size_t with, without, n;
            c.layer[0].kernel = expressions[k % 2];
            /* The rows need more than one block. */
            c.tile = 300;
            c.optim.natgrad = natgrad;
            CHECK_STATUS(odvgp_model_size(&c, &with, NULL), ODVGP_OK);
            n = run_bits(&c, 5, 226, &kept);
            c.kernel_cache_bytes = 0;
            CHECK_STATUS(odvgp_model_size(&c, &without, NULL), ODVGP_OK);
            CHECK_SAY(without < with, "%ld bytes with what is kept, %ld without", (long)with,
                    (long)without);
            CHECK_INT(run_bits(&c, 5, 226, &again), n);
            CHECK_BITS(kept, again, n * sizeof *kept);
            free(kept), free(again);
        }
}
TEST(every_instruction_set_and_every_tile_agree)
{
    static const ptrdiff_t tiles[] = {0, 1, 7, 64, 1000};
    size_t i, n = 0, j, sets = (size_t)test_isas.count;
    odvgp_real *first = NULL, *other;
    odvgp_config c = random_config(130, 3, 2, 30, 40);
    c.jitter.relative = (odvgp_real)1e-4;
    c.optim.lr = odvgp_constant((odvgp_real)1e-3);
    for (i = 0; i < sets + 5; i++) {
        double worst = 0, most = 0;
        c.isa = i < sets ? test_isas.isa[i] : test_isa();
        c.tile = i < sets ? 0 : tiles[i - sets];
        c.layer[0].kernel = "rbf";
        n = run_bits(&c, 0, 224, i ? &other : &first);
        if (!i) continue;
        for (j = 0; j < n; j++) {
            double d = fabs((double)first[j] - (double)other[j]);
            if (fabs((double)first[j]) > most) most = fabs((double)first[j]);
            if (worst == worst && !(d <= worst)) worst = d;
        }
        CHECK_SAY(worst <= 1e5 * EPS * most,
                "instruction set %d, tile %ld: differs by %.3g of %.3g", (int)c.isa, (long)c.tile,
                worst, most);
        free(other);
    }
    free(first);
}

/* ---- the order of updates, schedules, Adam's coordinates ---- */

/*  JOINT computes both updates at the old parameters; NATGRAD_FIRST gives Adam the new q,
    ADAM_FIRST gives the natural step the other new slots. */
TEST(orders_of_updates)
{
    int update, i;
    for (update = ODVGP_UPDATE_JOINT; update <= ODVGP_UPDATE_ADAM_FIRST; update++) {
        odvgp_config c = random_config(20, 2, 2, 4, 5);
        fixture a, b, d;
        c.optim.gamma_batch = 0;
        c.optim.natgrad_step = odvgp_constant((odvgp_real)0.3);
        c.optim.lr = odvgp_constant((odvgp_real)0.05);
        c.reproduce.update = (odvgp_update)update;
        test_seed = 230;
        a = make_random(&c, kernels[0]);
        c.reproduce.update = ODVGP_UPDATE_JOINT;
        test_seed = 230;
        b = make_random(&c, kernels[0]);
        test_seed = 230;
        d = make_random(&c, kernels[0]);
        CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
        /* The same by hand: only Adam, on a model whose q is frozen, then only the natural step. */
        CHECK_STATUS(odvgp_set_trainable(b.m, "q_*", 0), ODVGP_OK);
        if (update == ODVGP_UPDATE_NATGRAD_FIRST)
            CHECK_STATUS(
                    odvgp_natgrad_step(b.m, b.X, b.Y, b.N, (odvgp_real)0.3, NULL, NULL), ODVGP_OK);
        CHECK_STATUS(odvgp_step(b.m, b.X, b.Y, NULL, NULL), ODVGP_OK);
        if (update == ODVGP_UPDATE_ADAM_FIRST)
            CHECK_STATUS(
                    odvgp_natgrad_step(b.m, b.X, b.Y, b.N, (odvgp_real)0.3, NULL, NULL), ODVGP_OK);
        /* This model is for JOINT. */
        CHECK_STATUS(odvgp_natgrad_step(d.m, d.X, d.Y, d.N, (odvgp_real)0.3, NULL, NULL), ODVGP_OK);
        for (i = 0; i < odvgp_slot_count(a.m); i++) {
            const odvgp_slot *s = odvgp_slot_at(a.m, i);
            odvgp_real *va = values(&a, s->name),
                       *vb = values(update == ODVGP_UPDATE_JOINT && s->natgrad ? &d : &b, s->name);
            CHECK_SAY(test_max_diff(va, vb, s->count) <= 100 * EPS * test_max_abs(va, s->count),
                    "update order %d: %s differs by %.3g", update, s->name,
                    test_max_diff(va, vb, s->count));
            free(va), free(vb);
        }
        drop(&a);
        drop(&b);
        drop(&d);
    }
}
TEST(schedules)
{
    odvgp_config c = random_config(10, 1, 1, 3, 0);
    fixture a;
    odvgp_report r;
    int i;
    /* The step size rises. */
    c.optim.natgrad_step = odvgp_falling((odvgp_real)1e-4, (odvgp_real)0.1, 6);
    c.optim.lr = odvgp_falling(0, (odvgp_real)0.01, 5);
    c.optim.lr.kind = ODVGP_SCHEDULE_LINEAR;
    test_seed = 231;
    a = make_random(&c, "rbf");
    for (i = 0; i < 10; i++) {
        CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
        CHECK_NEAR(r.lr, i < 5 ? 0.01 * i / 5 : 0.01, 4 * EPS);
        CHECK_NEAR(r.natgrad_step, i < 6 ? 1e-4 * pow(1000, i / 6.0) : 0.1, 20 * EPS);
        CHECK_INT(r.step, i + 1);
    }
    drop(&a);
}
/*  The first Adam step with eps = 0 moves each number by the learning rate, against its
    gradient: positive values in their unbounded coordinate, a_gamma in D a, and so by lr / D
    with D = diag(K_gamma - K_gb Kb^-1 K_bg). */
TEST(adam_moves_in_its_coordinates)
{
    int coords, positive, i;
    ptrdiff_t j;
    for (coords = 0; coords < 2; coords++)
        for (positive = 0; positive < 2; positive++) {
            odvgp_config c = random_config(20, 2, 1, 4, 6);
            fixture a;
            odvgp_real *grad, *D = NEW(odvgp_real, 6);
            const double lr = 0.01;
            c.optim.adam_eps = 0;
            c.optim.lr = odvgp_constant((odvgp_real)lr);
            c.optim.natgrad = 0;
            c.optim.gamma_batch = 0;
            c.reproduce.gamma_coords =
                    coords ? ODVGP_GAMMA_COORDS_SCALED : ODVGP_GAMMA_COORDS_PLAIN;
            c.positive_transform = (odvgp_positive_transform)positive;
            test_seed = 232;
            a = make_random(&c, kernels[0]);
            for (j = 0; j < 6; j++) D[j] = 1;
            /* Compute the residual variance at gamma from the joint prior. */
            if (coords) {
                odvgp_real *zg = values(&a, "Z_gamma"), *zb = values(&a, "Z_beta");
                wide *b, *g, *K, *C, *L, prior;
                read_kernel(&a);
                b = ref_copy(zb, 4 * 2), g = ref_copy(zg, 6 * 2);
                K = ref_K(&a.k, 2, b, 4, b, 4);
                for (i = 0; i < 4; i++) K[i * 4 + i] += (wide)c.jitter.absolute;
                L = ref_new(16);
                CHECK(ref_chol(4, K, L));
                C = ref_K(&a.k, 2, b, 4, g, 6);
                ref_solve_lower(0, 4, 6, L, C);
                prior = ref_k(&a.k, 2, g, g);
                for (j = 0; j < 6; j++) {
                    wide d = prior;
                    for (i = 0; i < 4; i++) d -= C[i * 6 + j] * C[i * 6 + j];
                    D[j] = (odvgp_real)((d > prior / 100 ? d : prior / 100) / sqrtl(prior));
                }
                free(zg), free(zb), free(b), free(g), free(K), free(L), free(C);
            }
            grad = NEW(odvgp_real, odvgp_param_count(a.m));
            elbo_of(&a, NULL, grad);
            for (i = 0; i < odvgp_slot_count(a.m); i++) {
                const odvgp_slot *s = odvgp_slot_at(a.m, i);
                odvgp_real *before = values(&a, s->name), *after;
                fixture b;
                test_seed = 232;
                b = make_random(&c, kernels[0]);
                CHECK_STATUS(odvgp_step(b.m, b.X, b.Y, NULL, NULL), ODVGP_OK);
                after = values(&b, s->name);
                for (j = 0; j < s->count; j++) {
                    double g = (double)grad[s->offset + j], x = (double)before[j],
                           y = (double)after[j],
                           move = lr / (!strcmp(s->name, "a_gamma") ? (double)D[j] : 1.0);
                    if (s->lower && j % 4 > j / 4 % 4) {
                        CHECK(y == 0);
                        continue;
                    }
                    if (s->positive) {
                        x = positive == ODVGP_POSITIVE_TRANSFORM_EXP ? log(x) : log(expm1(x));
                        y = positive == ODVGP_POSITIVE_TRANSFORM_EXP ? log(y) : log(expm1(y));
                    }
                    if (fabs(g) > 1e-3)
                        CHECK_SAY(fabs(y - x + (g > 0 ? move : -move)) <= 2e3 * EPS * (1 + fabs(x)),
                                "%s[%ld] moves by %.9g, not %.9g", s->name, (long)j, y - x,
                                g > 0 ? -move : move);
                }
                free(before), free(after);
                drop(&b);
            }
            free(grad), free(D);
            drop(&a);
        }
}
static int stop_at_seven(void *user, const odvgp_report *report)
{
    ++*(int *)user;
    return report->step == 7;
}
TEST(fit_can_be_stopped)
{
    odvgp_config c = random_config(10, 1, 1, 3, 0);
    fixture a;
    odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
    int calls = 0;
    test_seed = 233;
    a = make_random(&c, "rbf");
    CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 100, stop_at_seven, &calls, &info), ODVGP_E_STOPPED);
    CHECK_SAY(info.status == ODVGP_E_STOPPED && !strcmp(info.what, "watch") &&
                      strstr(info.text, "stopped"),
            "%s", info.text);
    CHECK_INT(calls, 7);
    CHECK_INT(odvgp_steps_done(a.m), 7);
    CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 3, NULL, NULL, NULL), ODVGP_OK);
    CHECK_INT(odvgp_steps_done(a.m), 10);
    CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 0, NULL, NULL, NULL), ODVGP_OK);
    drop(&a);
}

/* ---- the start ---- */

static int row_among(const odvgp_real *row, const odvgp_real *rows, ptrdiff_t n, ptrdiff_t D)
{
    ptrdiff_t i, hits = 0;
    for (i = 0; i < n; i++) hits += memcmp(row, rows + i * D, (size_t)D * sizeof *row) == 0;
    return (int)hits;
}
TEST(a_start_from_the_data)
{
    int repeat;
    for (repeat = 0; repeat < 2; repeat++) {
        odvgp_config c = random_config(80, 2, 1, 10, 20);
        fixture a;
        odvgp_real *zb, *zg, *ls, *v;
        ptrdiff_t i, j;
        double median, low = 1e300;
        test_seed = 240;
        c.lik.noise_variance = (odvgp_real)0.2;
        a = make_random(&c, kernels[0]);
        /* Repeat each of 20 distinct rows four times. */
        for (i = 0; repeat && i < 80; i++) memcpy(a.X + i * 2, a.X + i % 20 * 2, 2 * sizeof *a.X);
        CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
        zb = values(&a, "Z_beta");
        zg = values(&a, "Z_gamma");
        for (i = 0; i < 20; i++) {
            /* The point is a row of the data. */
            CHECK(row_among(zg + i * 2, a.X, 80, 2) >= 1);
            /* No point occurs twice. */
            CHECK_INT(row_among(zg + i * 2, zg, 20, 2), 1);
        }
        for (i = 0; i < 10; i++)
            for (j = 0; j < i; j++) {
                double d = hypot(
                        (double)(zb[i * 2] - zb[j * 2]), (double)(zb[i * 2 + 1] - zb[j * 2 + 1]));
                if (d < low) low = d;
            }
        CHECK_SAY(low > 0.1, "two inducing points are %.3g apart", low);
        /* Lengthscales are between a twentieth of the spread of the data and the whole of it; a
           lengthscale that the expression gives (here 1) stays. */
        ls = values(&a, "kernel.0.lengthscale");
        CHECK(slot(&a, "kernel.0.lengthscale")->count == 1 && ls[0] > 0);
        v = values(&a, "noise_variance");
        CHECK(repeat || v[0] == (odvgp_real)0.15 || v[0] == (odvgp_real)0.2);
        median = (double)ls[0];
        CHECK(median == median);
        free(zb), free(zg), free(ls), free(v);
        drop(&a);
    }
}
TEST(hyperparameters_that_are_not_given_come_from_the_data)
{
    odvgp_config c = odvgp_config_defaults(200, 3, 1, 10, 0);
    odvgp_model *m;
    odvgp_real X[600], Y[200], v;
    int i;
    double sum = 0, square = 0, variance;
    test_seed = 241;
    for (i = 0; i < 600; i++) X[i] = (odvgp_real)(100 * test_normal());
    for (i = 0; i < 200; i++) {
        Y[i] = (odvgp_real)(7 + 3 * test_normal());
        sum += (double)Y[i] / 200;
    }
    for (i = 0; i < 200; i++) square += ((double)Y[i] - sum) * ((double)Y[i] - sum);
    variance = square / 200;
    c.layer[0].kernel = "matern52(12.5) + rbf(variance=2.25) + rbf";
    CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_get(m, "kernel.0.lengthscale", &v, 1), ODVGP_OK);
    CHECK(v == (odvgp_real)12.5);
    CHECK_STATUS(odvgp_get(m, "kernel.1.variance", &v, 1), ODVGP_OK);
    CHECK(v == (odvgp_real)2.25);
    CHECK_STATUS(odvgp_get(m, "kernel.0.variance", &v, 1), ODVGP_OK);
    CHECK_NEAR(v, variance, 1e-5 * variance);
    /* The value has the order of the median distance, 237. */
    CHECK_STATUS(odvgp_get(m, "kernel.2.lengthscale", &v, 1), ODVGP_OK);
    CHECK_SAY(v > 20 && v < 500, "lengthscale %.3g", (double)v);
    CHECK_STATUS(odvgp_get(m, "noise_variance", &v, 1), ODVGP_OK);
    CHECK_NEAR(v, variance / 10, 1e-5 * variance);
    odvgp_model_free(m);
    c.lik.noise_variance = (odvgp_real)0.5;
    CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_get(m, "noise_variance", &v, 1), ODVGP_OK);
    CHECK(v == (odvgp_real)0.5);
    odvgp_model_free(m);
}
TEST(training_starts_at_the_prior)
{
    int orth, param;
    test_seed = 242;
    for (orth = 0; orth < 2; orth++)
        for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA;
                param++) {
            odvgp_config c = random_config(20, 2, 2, 5, orth ? 6 : 0);
            fixture a;
            double kl;
            odvgp_real mean[40], var[40], *q;
            ptrdiff_t i;
            wide x[2] = {0, 0};
            c.reproduce.parametrisation = (odvgp_parametrisation)param;
            c.jitter.absolute = (odvgp_real)1e-5;
            a = make_random(&c, kernels[0]);
            CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
            elbo_of(&a, &kl, NULL);
            CHECK_NEAR(kl, 0, BY_PRECISION(1e-9, 1e-3));
            predict(&a, a.X, 20, mean, var, NULL);
            read_kernel(&a);
            for (i = 0; i < 40; i++) {
                CHECK(mean[i] == 0);
                CHECK_NEAR(var[i], ref_k(&a.k, 2, x, x), BY_PRECISION(1e-9, 1e-3));
            }
            drop(&a);
            c.reproduce.q_init = ODVGP_Q_INIT_IDENTITY;
            a = make_random(&c, kernels[0]);
            CHECK_STATUS(odvgp_init_q(a.m, NULL), ODVGP_OK);
            q = values(&a, "q_sqrt");
            for (i = 0; i < 50; i++) CHECK(q[i] == (i % 5 == i / 5 % 5));
            free(q);
            drop(&a);
        }
}

/* ---- the ways to start ---- */

static int same_row(const odvgp_real *a, const odvgp_real *b, ptrdiff_t D)
{
    ptrdiff_t d;
    for (d = 0; d < D; d++)
        if (a[d] != b[d]) return 0;
    return 1;
}
/*  Counts the rows that differ from all rows before them and from those of `other`. */
static int new_rows(
        const odvgp_real *Z, ptrdiff_t n, const odvgp_real *other, ptrdiff_t others, ptrdiff_t D)
{
    ptrdiff_t i, j;
    int count = 0, seen;
    for (i = 0; i < n; i++) {
        for (seen = 0, j = 0; j < i; j++) seen |= same_row(Z + i * D, Z + j * D, D);
        for (j = 0; j < others; j++) seen |= same_row(Z + i * D, other + j * D, D);
        count += !seen;
    }
    return count;
}
/*  The data have few distinct rows, constant columns, or a column that the kernel ignores. */
TEST(inducing_points_are_rows_that_differ)
{
    /* More than M + Mg, as many, fewer, one more than M, fewer than M, one: */
    static const int distinct[] = {80, 24, 20, 11, 3, 1};
    int beta, gamma, hyper, k, flat;
    for (beta = ODVGP_INIT_BETA_KMEANS; beta <= ODVGP_INIT_BETA_FARTHEST; beta++)
        for (gamma = ODVGP_INIT_GAMMA_RANDOM; gamma <= ODVGP_INIT_GAMMA_RESIDUAL; gamma++)
            for (k = 0; k < 6; k++)
                for (flat = 0; flat < 2; flat++) {
                    odvgp_config c = random_config(80, 3, 1, 10, 14);
                    fixture a;
                    odvgp_real *zb, *zg, *zb2, *zg2;
                    ptrdiff_t i;
                    int n = distinct[k];
                    test_seed = 250 + (uint64_t)k;
                    hyper = (k + beta) % 2;
                    c.init.beta = (odvgp_init_beta)beta;
                    c.init.gamma = (odvgp_init_gamma)gamma;
                    c.init.hyperparams = (odvgp_init_hyper)hyper;
                    a = make_random(&c, kernels[k % 4]);
                    /* Make pairs of rows so close that beta explains both equally well. */
                    for (i = 0; k == 1 && i < 24; i += 2) {
                        memcpy(a.X + 3 * i + 3, a.X + 3 * i, 3 * sizeof *a.X);
                        a.X[3 * i + 3] += (odvgp_real)1e-6;
                    }
                    for (i = 0; i < 80; i++) {
                        memcpy(a.X + 3 * i, a.X + 3 * (i % n), 3 * sizeof *a.X);
                        /* Make one column constant. */
                        if (flat) a.X[3 * i + 1] = 5;
                        if (a.X[3 * i + 2] == 0) a.X[3 * i + 2] = 1;
                    }
                    CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
                    zb = values(&a, "Z_beta"), zg = values(&a, "Z_gamma");
                    for (i = 0; beta != ODVGP_INIT_BETA_KMEANS && i < 10; i++)
                        CHECK(new_rows(zb + 3 * i, 1, a.X, 80, 3) == 0);
                    for (i = 0; i < 14; i++) CHECK(new_rows(zg + 3 * i, 1, a.X, 80, 3) == 0);
                    if (beta != ODVGP_INIT_BETA_KMEANS)
                        CHECK_INT(new_rows(zb, 10, NULL, 0, 3), n < 10 ? n : 10);
                    /* Rows of beta repeat only if there are no others. */
                    if (beta != ODVGP_INIT_BETA_KMEANS)
                        CHECK_INT(new_rows(zg, 14, zb, 10, 3), n >= 24 ? 14 : n > 10 ? n - 10 : 0);
                    CHECK_INT(new_rows(zg, 14, NULL, 0, 3), n < 14 ? n : 14);
                    /* A second initialisation gives the same values. */
                    CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
                    zb2 = values(&a, "Z_beta"), zg2 = values(&a, "Z_gamma");
                    CHECK_BITS(zb, zb2, 30 * sizeof *zb);
                    CHECK_BITS(zg, zg2, 42 * sizeof *zg);
                    free(zb), free(zg), free(zb2), free(zg2);
                    drop(&a);
                }
}
/*  Computes k(x,x) - k(x,Z) (K(Z,Z) + jitter I)^-1 k(Z,x) for all rows of the data. */
static void residuals(const fixture *a, const odvgp_real *Z, ptrdiff_t n, double jitter, double *v)
{
    wide *K = ref_new(n * n), *Zw = ref_copy(Z, n * a->D), *Xw = ref_copy(a->X, a->N * a->D),
         *b = ref_new(n), *w = ref_new(n);
    ptrdiff_t i, j, r;
    for (r = 0; r < a->N; r++) {
        wide k = ref_k(&a->k, (int)a->D, Xw + r * a->D, Xw + r * a->D);
        for (i = 0; i < n; i++) {
            w[i] = b[i] = ref_k(&a->k, (int)a->D, Zw + i * a->D, Xw + r * a->D);
            for (j = 0; j < n; j++)
                K[i * n + j] = ref_k(&a->k, (int)a->D, Zw + i * a->D, Zw + j * a->D) +
                               (i == j ? (wide)jitter : 0);
        }
        if (n) ref_solve_spd(n, 1, K, w);
        for (i = 0; i < n; i++) k -= b[i] * w[i];
        v[r] = (double)k;
    }
    free(K), free(Zw), free(Xw), free(b), free(w);
}
static ptrdiff_t row_of(const fixture *a, const odvgp_real *z)
{
    ptrdiff_t i = 0;
    while (i < a->N - 1 && !same_row(a->X + i * a->D, z, a->D)) i++;
    return i;
}
/*  Compares each method with its definition; the sample contains all rows. */
TEST(points_are_chosen_as_the_methods_say)
{
    int k, r;
    for (k = 0; k < 4; k++) {
        odvgp_config c = random_config(60, 2, 1, 25, 12);
        double v[60], tolerance = BY_PRECISION(1e-9, 1e-3);
        fixture a;
        odvgp_real *z;
        ptrdiff_t i, j, g;
        test_seed = 260 + (uint64_t)k;
        c.init.beta = ODVGP_INIT_BETA_GREEDY;
        c.init.gamma = ODVGP_INIT_GAMMA_RESIDUAL;
        a = make_random(&c, kernels[k]);
        /* Repeat some rows. */
        for (i = 0; i < 5; i++) memcpy(a.X + 2 * (i + 5), a.X + 2 * i, 2 * sizeof *a.X);
        CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
        read_kernel(&a);
        z = values(&a, "Z_beta");
        /* Greedy selection takes the row with the largest variance given the points before it. */
        for (i = 0; i < 25; i++) {
            double most = 0;
            residuals(&a, z, i, 0, v);
            for (r = 0; r < 60; r++) most = v[r] > most ? v[r] : most;
            CHECK_SAY(v[row_of(&a, z + 2 * i)] >= most - tolerance * v[0] - tolerance * most,
                    "kernel %d: point %d has variance %.6g, another %.6g", k, (int)i,
                    v[row_of(&a, z + 2 * i)], most);
        }
        /* Residual selection: no row that is left out has a larger residual variance. */
        residuals(&a, z, 25, (double)c.jitter.absolute, v);
        {
            odvgp_real *zg = values(&a, "Z_gamma");
            double least = HUGE_VAL, left = 0;
            int chosen[60] = {0};
            for (g = 0; g < 12; g++) {
                r = (int)row_of(&a, zg + 2 * g);
                least = v[r] < least ? v[r] : least;
                for (j = 0; j < 60; j++) chosen[j] |= same_row(a.X + 2 * j, zg + 2 * g, 2);
                CHECK(g == 0 || v[r] <= v[row_of(&a, zg + 2 * g - 2)] + tolerance);
            }
            for (j = 0; j < 60; j++)
                if (!chosen[j] && new_rows(a.X + 2 * j, 1, z, 25, 2) && v[j] > left) left = v[j];
            CHECK_SAY(least >= left - tolerance, "kernel %d: %.6g was taken and %.6g left", k,
                    least, left);
            free(zg);
        }
        free(z);
        drop(&a);
        c.init.beta = ODVGP_INIT_BETA_FARTHEST;
        a = make_random(&c, kernels[k]);
        CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
        z = values(&a, "Z_beta");
        /* Each point is the row farthest from its nearest earlier point. */
        for (i = 1; i < 25; i++) {
            double most = 0;
            for (r = 0; r < 60; r++) {
                v[r] = HUGE_VAL;
                for (j = 0; j < i; j++) {
                    double d = hypot((double)(a.X[2 * r] - z[2 * j]),
                            (double)(a.X[2 * r + 1] - z[2 * j + 1]));
                    v[r] = d < v[r] ? d : v[r];
                }
                most = v[r] > most ? v[r] : most;
            }
            CHECK_NEAR(v[row_of(&a, z + 2 * i)], most, 1e-5 * most);
        }
        free(z);
        drop(&a);
    }
}
/*  If few rows explain all others up to rounding, the remaining points are random and the model
    still works. */
TEST(greedy_ends_where_all_is_explained)
{
    odvgp_config c = random_config(50, 1, 1, 30, 0);
    fixture a;
    odvgp_real *z;
    int i;
    test_seed = 265;
    c.init.beta = ODVGP_INIT_BETA_GREEDY;
    a = make_random(&c, "rbf");
    /* The lengthscale is a quarter of this range. */
    for (i = 0; i < 50; i++) a.X[i] = (odvgp_real)(1000 + 0.001 * i);
    CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
    z = values(&a, "Z_beta");
    CHECK_INT(new_rows(z, 30, NULL, 0, 1), 30);
    (void)elbo_of(&a, NULL, NULL);
    free(z);
    drop(&a);
    /* Ask for more points than there are rows. */
    c.N = 9;
    a = make_random(&c, "rbf");
    CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
    z = values(&a, "Z_beta");
    CHECK_INT(new_rows(z, 30, NULL, 0, 1), 9);
    free(z);
    drop(&a);
}
/*  Almost all rows are equal, so that the sample for k-means has fewer distinct rows than points
    although the data have more; or rows lie on a coarse grid, where the means of different
    clusters can coincide. */
TEST(centres_differ_while_there_are_rows_that_do)
{
    enum { N = 9000, M = 60, DISTINCT = 90 };
    odvgp_real *X = NEW(odvgp_real, N), *Y = NEW(odvgp_real, N), z[M];
    int kind, seed, i;
    for (kind = 0; kind < 2; kind++)
        for (seed = 0; seed < 6; seed++) {
            ptrdiff_t n = kind ? 150 : N;
            odvgp_config c = odvgp_config_defaults(n, 1, 1, M, 0);
            odvgp_model *m;
            test_seed = 270 + (uint64_t)seed;
            c.seed = (uint64_t)seed;
            c.isa = test_isa();
            for (i = 0; i < n; i++) {
                X[i] = kind                 ? (odvgp_real)test_below(64)
                       : i % (N / DISTINCT) ? 0
                                            : (odvgp_real)test_between(1, 2);
                Y[i] = (odvgp_real)test_normal();
            }
            if (!CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK)) continue;
            CHECK_STATUS(odvgp_get(m, "Z_beta", z, M), ODVGP_OK);
            if (new_rows(X, n, NULL, 0, 1) < M)
                CHECK_INT(new_rows(z, M, NULL, 0, 1), new_rows(X, n, NULL, 0, 1));
            else CHECK_INT(new_rows(z, M, NULL, 0, 1), M);
            odvgp_model_free(m);
        }
    free(X), free(Y);
}
/*  If the kernel is 0 or infinite at all points, no row explains another; initialisation still
    returns distinct rows of the data. */
TEST(a_start_returns_whatever_the_kernel_is)
{
    enum { N = 40, M = 6, MG = 9 };
    static const char *const expressions[] = {"linear(dims=0)", "rbf(dims=1) * matern32(dims=1)"};
    int k, beta;
    for (k = 0; k < 2; k++)
        for (beta = ODVGP_INIT_BETA_KMEANS; beta <= ODVGP_INIT_BETA_FARTHEST; beta++) {
            odvgp_config c = odvgp_config_defaults(N, 2, 1, M, MG);
            odvgp_real X[2 * N], Y[N], z[2 * MG];
            odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
            odvgp_model *m;
            int i;
            test_seed = 269;
            for (i = 0; i < N; i++) {
                X[2 * i] = 0, X[2 * i + 1] = (odvgp_real)test_between(-2, 2);
                Y[i] = (odvgp_real)((k ? BY_PRECISION(1e100, 1e15) : 1) *
                                    sin(2 * (double)X[2 * i + 1]));
            }
            c.layer[0].kernel = expressions[k];
            c.init.beta = (odvgp_init_beta)beta;
            c.init.gamma = ODVGP_INIT_GAMMA_RESIDUAL;
            c.isa = test_isa();
            if (!CHECK_SAY(odvgp_model_create(&m, &c, X, Y, NULL, &info) == ODVGP_OK, "%s: %s",
                        expressions[k], info.text))
                continue;
            CHECK_STATUS(odvgp_get(m, "Z_gamma", z, 2 * MG), ODVGP_OK);
            CHECK_INT(new_rows(z, MG, NULL, 0, 2), MG);
            odvgp_model_free(m);
        }
}
/*  Every member has points to choose, under any name. */
TEST(every_member_can_be_started_by_the_kernel)
{
    static const struct {
        odvgp_mean_part mean;
        odvgp_cov_part cov;
        const char *gamma;
    } pair[] = {{ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, NULL},
            {ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, "Z_gamma"},
            {ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, "Z_gamma"},
            {ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_INVERSE, "Z_alpha"},
            {ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, "Z_gamma"},
            {ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, NULL}};
    size_t k;
    for (k = 0; k < sizeof pair / sizeof *pair; k++) {
        odvgp_config c = odvgp_config_defaults(60, 2, 1, 8, pair[k].gamma ? 12 : 0);
        odvgp_real X[120], Y[60], z[40];
        odvgp_model *m;
        odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
        int i;
        test_seed = 268;
        for (i = 0; i < 120; i++) X[i] = (odvgp_real)test_between(-2, 2);
        for (i = 0; i < 60; i++) Y[i] = (odvgp_real)sin((double)X[2 * i] + (double)X[2 * i + 1]);
        c.layer[0].mean_part = pair[k].mean, c.layer[0].cov_part = pair[k].cov, c.optim.natgrad = 0;
        c.init.beta = ODVGP_INIT_BETA_GREEDY, c.init.gamma = ODVGP_INIT_GAMMA_RESIDUAL,
        c.init.hyperparams = ODVGP_INIT_HYPER_ULAPANE;
        c.layer[0].kernel = "matern32(0.7)";
        c.isa = test_isa();
        if (!CHECK_SAY(odvgp_model_create(&m, &c, X, Y, NULL, &info) == ODVGP_OK, "member %d: %s",
                    (int)k, info.text))
            continue;
        CHECK_STATUS(odvgp_get(m, "Z_beta", z, 16), ODVGP_OK);
        if (pair[k].gamma) CHECK_STATUS(odvgp_get(m, pair[k].gamma, z + 16, 24), ODVGP_OK);
        CHECK_INT(new_rows(z, pair[k].gamma ? 20 : 8, NULL, 0, 2), pair[k].gamma ? 20 : 8);
        CHECK_SAY(odvgp_fit(m, X, Y, 5, NULL, NULL, NULL) == ODVGP_OK, "member %d", (int)k);
        odvgp_model_free(m);
    }
}
/*  The sample is smaller than the data, and the work is cut into tasks. */
TEST(starts_have_the_same_bits_for_any_number_of_tasks)
{
    static const int counts[] = {0, 1, 7};
    int beta, t;
    for (beta = ODVGP_INIT_BETA_KMEANS; beta <= ODVGP_INIT_BETA_FARTHEST; beta++) {
        odvgp_real *first = NULL;
        for (t = 0; t < 3; t++) {
            odvgp_config c = random_config(4500, 2, 1, 70, 90);
            fixture a;
            odvgp_real *z;
            size_t n = (size_t)(160 * 2);
            test_seed = 266;
            c.init.beta = (odvgp_init_beta)beta;
            c.init.gamma = ODVGP_INIT_GAMMA_RESIDUAL;
            c.threads.run = counts[t] ? run_mixed : NULL;
            c.threads.count = counts[t];
            a = make_random(&c, kernels[beta]);
            CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
            z = (odvgp_real *)realloc(values(&a, "Z_beta"), n * sizeof *z);
            CHECK_STATUS(odvgp_get(a.m, "Z_gamma", z + 140, 180), ODVGP_OK);
            CHECK_INT(new_rows(z, 160, NULL, 0, 2), 160);
            if (!first) first = z;
            else {
                CHECK_SAY(!memcmp(z, first, n * sizeof *z), "method %d: %d tasks give other bits",
                        beta, counts[t]);
                free(z);
            }
            drop(&a);
        }
        free(first);
    }
}
/*  Ulapane's values use the base kernel's own columns, apply only where the expression gives no
    number, and are 1 where the data do not determine them. */
TEST(gaps_and_steps_make_hyperparameters)
{
    /* The gaps are 1, 2, 1 in the first column, and 2, 2 in the second. */
    static const double x[5][2] = {{0, 3}, {4, 3}, {1, 3}, {1, 5}, {3, 1}};
    /* In the order of x0 the first target is 1 3 3 6 4, in the order of x1 it is 6 1 4 3 3. */
    static const double y[5][2] = {{1, 0}, {4, 0}, {3, 0}, {3, 0}, {6, 2}};
    odvgp_config c = odvgp_config_defaults(5, 2, 2, 2, 0);
    odvgp_real X[10], Y[10], v, both[2];
    odvgp_model *m;
    int i;
    double d_y[2][2] = {{7.0 / 3, 3}, {2, 2}}, variance, all;
    for (i = 0; i < 10; i++) X[i] = (odvgp_real)x[i / 2][i % 2], Y[i] = (odvgp_real)y[i / 2][i % 2];
    c.init.hyperparams = ODVGP_INIT_HYPER_ULAPANE;
    c.isa = test_isa();
    c.layer[0].kernel = "rbf(dims=0) * rbf(7, dims=1) + rbf(ard, variance=3)";
    CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_get(m, "kernel.0.lengthscale", &v, 1), ODVGP_OK);
    CHECK_NEAR(v, 4.0 / 3, 1e-5);
    variance = (d_y[0][0] * d_y[0][0] + d_y[1][0] * d_y[1][0]) / 2;
    CHECK_STATUS(odvgp_get(m, "kernel.0.variance", &v, 1), ODVGP_OK);
    CHECK_NEAR(v, variance, 1e-4);
    CHECK_STATUS(odvgp_get(m, "kernel.1.lengthscale", &v, 1), ODVGP_OK);
    CHECK_NEAR(v, 7, 1e-5);
    CHECK_STATUS(odvgp_get(m, "kernel.1.variance", &v, 1), ODVGP_OK);
    CHECK_NEAR(v, (d_y[0][1] * d_y[0][1] + d_y[1][1] * d_y[1][1]) / 2, 1e-4);
    /* The last of three base kernels gets ten times the mean gap. */
    CHECK_STATUS(odvgp_get(m, "kernel.2.lengthscale", both, 2), ODVGP_OK);
    CHECK_NEAR(both[0], 10 * (4.0 / 3 + 2) / 2, 1e-4);
    CHECK(both[0] == both[1]);
    CHECK_STATUS(odvgp_get(m, "kernel.2.variance", &v, 1), ODVGP_OK);
    CHECK_NEAR(v, 3, 1e-5);
    odvgp_model_free(m);
    c.layer[0].kernel = "rbf";
    /* Constant targets, constant inputs, or both: */
    for (i = 0; i < 3; i++) {
        odvgp_real flat[10] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
        CHECK_STATUS(
                odvgp_model_create(&m, &c, i ? flat : X, i == 1 ? Y : flat, NULL, NULL), ODVGP_OK);
        CHECK_STATUS(odvgp_get(m, "kernel.0.lengthscale", &v, 1), ODVGP_OK);
        CHECK_NEAR(v, i ? 1 : 5.0 / 3, 1e-5);
        CHECK_STATUS(odvgp_get(m, "kernel.0.variance", &v, 1), ODVGP_OK);
        CHECK_NEAR(v, 1, 1e-5);
        odvgp_model_free(m);
    }
    /* Lengthscales have the units of x, and variances those of y squared. */
    CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_get(m, "kernel.0.variance", &v, 1), ODVGP_OK);
    all = (double)v;
    odvgp_model_free(m);
    for (i = 0; i < 10; i++) X[i] *= 8, Y[i] *= 4;
    CHECK_STATUS(odvgp_model_create(&m, &c, X, Y, NULL, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_get(m, "kernel.0.variance", &v, 1), ODVGP_OK);
    CHECK_NEAR(v, 16 * all, 1e-5 * 16 * all);
    CHECK_STATUS(odvgp_get(m, "kernel.0.lengthscale", &v, 1), ODVGP_OK);
    CHECK_NEAR(v, 8 * 5.0 / 3, 1e-4);
    odvgp_model_free(m);
}
TEST(columns_are_standardised)
{
    double big = BY_PRECISION(1e300, 1e37), small = BY_PRECISION(1e-300, 1e-37);
    odvgp_real X[50 * 5], out[50 * 5], mean[5], scale[5];
    ptrdiff_t i, d;
    test_seed = 267;
    for (i = 0; i < 50; i++) {
        X[5 * i] = (odvgp_real)test_normal();
        X[5 * i + 1] = (odvgp_real)(big * test_between(-1, 1));
        X[5 * i + 2] = (odvgp_real)(small * test_between(1, 2));
        /* This column is constant. */
        X[5 * i + 3] = (odvgp_real)0.1;
        /* This column is constant up to rounding. */
        X[5 * i + 4] = (odvgp_real)(1 + (double)(i % 2) * EPS);
    }
    CHECK_STATUS(odvgp_column_scales(X, 50, 5, mean, scale, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_standardise(X, 50, 5, mean, scale, out), ODVGP_OK);
    for (d = 0; d < 5; d++) {
        double sum = 0, squares = 0;
        for (i = 0; i < 50; i++) sum += (double)out[5 * i + d] / 50;
        for (i = 0; i < 50; i++) squares += (double)out[5 * i + d] * (double)out[5 * i + d] / 50;
        CHECK_NEAR(sum, 0, 100 * EPS);
        CHECK_NEAR(squares, d < 3 ? 1 : 0, 1000 * EPS);
    }
    CHECK(scale[3] == 1 && scale[4] == 1 && mean[3] == (odvgp_real)0.1);
    for (i = 0; i < 50; i++) CHECK(out[5 * i + 3] == 0);
    /* The output may be the input. */
    CHECK_STATUS(odvgp_standardise(X, 50, 5, mean, scale, X), ODVGP_OK);
    CHECK_BITS(X, out, sizeof X);
    /* A single row has a spread of 0. */
    CHECK_STATUS(odvgp_column_scales(out, 1, 5, mean, scale, NULL), ODVGP_OK);
    CHECK_BITS(mean, out, sizeof mean);
    for (d = 0; d < 5; d++) CHECK(scale[d] == 1);
}

/* ---- prediction ---- */

TEST(scales_are_undone)
{
    odvgp_config c = random_config(30, 2, 2, 5, 6);
    fixture a;
    odvgp_real xm[2] = {(odvgp_real)3.5, (odvgp_real)-0.25}, xs[2] = {2, (odvgp_real)0.5},
               ym[2] = {10, -7}, ys[2] = {(odvgp_real)1.5, (odvgp_real)0.25}, raw[60], Yraw[60],
               m0[60], v0[60], y0[60], l0[30], m1[60], v1[60], y1[60], l1[30],
               *c0 = NEW(odvgp_real, 1800), *c1 = NEW(odvgp_real, 1800);
    odvgp_scales scales = {xm, xs, ym, ys};
    odvgp_server servers[2], *p0 = &servers[0], *p1 = &servers[1];
    size_t bytes, need;
    void *b0, *b1, *scratch;
    ptrdiff_t i, q;
    test_seed = 250;
    c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
    a = make_random(&c, kernels[0]);
    bytes = odvgp_predictor_size(a.m);
    b0 = test_alloc(bytes), b1 = test_alloc(bytes);
    CHECK_STATUS(serve(a.m, NULL, b0, bytes, p0, NULL), ODVGP_OK);
    CHECK_STATUS(serve(a.m, &scales, b1, bytes, p1, NULL), ODVGP_OK);
    CHECK_INT(p1->D, 2);
    CHECK_INT(p1->P, 2);
    for (i = 0; i < 60; i++) {
        raw[i] = xm[i % 2] + xs[i % 2] * a.X[i];
        Yraw[i] = ym[i % 2] + ys[i % 2] * a.Y[i];
    }
    need = odvgp_predict_scratch(p0, 30);
    CHECK(need == odvgp_predict_scratch(p1, 30));
    scratch = test_alloc(need);
    CHECK_STATUS(odvgp_predict(p0, a.X, 30, m0, v0, y0, scratch, need), ODVGP_OK);
    CHECK_STATUS(odvgp_predict(p1, raw, 30, m1, v1, y1, scratch, need), ODVGP_OK);
    CHECK_STATUS(odvgp_predict_logp(p0, a.X, a.Y, 30, l0, scratch, need), ODVGP_OK);
    CHECK_STATUS(odvgp_predict_logp(p1, raw, Yraw, 30, l1, scratch, need), ODVGP_OK);
    CHECK_STATUS(odvgp_predict_cov(p0, a.X, 30, NULL, c0, scratch, need), ODVGP_OK);
    CHECK_STATUS(odvgp_predict_cov(p1, raw, 30, NULL, c1, scratch, need), ODVGP_OK);
    for (q = 0; q < 2; q++)
        for (i = 0; i < 30; i++) {
            double s = (double)ys[q], logp = 0;
            ptrdiff_t k = q * 30 + i, j;
            CHECK_NEAR(m1[k], (double)ym[q] + s * (double)m0[k], 400 * EPS * 10);
            CHECK_NEAR(v1[k], s * s * (double)v0[k], 400 * EPS * s * s);
            CHECK_NEAR(y0[k], (double)v0[k] + 0.15, 40 * EPS);
            CHECK_NEAR(y1[k], s * s * (double)y0[k], 400 * EPS * s * s);
            for (j = 0; j < 30; j++) {
                CHECK_NEAR(c1[k * 30 + j], s * s * (double)c0[k * 30 + j], 400 * EPS * s * s);
                /* The covariance is symmetric. */
                CHECK(c0[k * 30 + j] == c0[(q * 30 + j) * 30 + i]);
            }
            CHECK_NEAR(c0[k * 30 + i], v0[k], 400 * EPS);
            if (q) continue;
            /* log N(y; mean, var_y), summed over outputs. */
            for (j = 0; j < 2; j++) {
                double v = (double)y0[j * 30 + i],
                       d = (double)a.Y[i * 2 + j] - (double)m0[j * 30 + i];
                logp -= 0.5 * (log(2 * 3.14159265358979323846 * v) + d * d / v);
            }
            CHECK_NEAR(l0[i], logp, 400 * EPS * (1 + fabs(logp)));
            CHECK_NEAR(l1[i], logp - log(1.5) - log(0.25), 4000 * EPS * (1 + fabs(logp)));
        }
    free(b0), free(b1), free(scratch), free(c0), free(c1);
    drop(&a);
}
/*  Scratch may have room for 1, 2, 7 or 100 rows. */
TEST(turns_do_not_change_predictions)
{
    static const ptrdiff_t rows_at_once[] = {1, 2, 7, 100, 600};
    odvgp_config c = random_config(40, 3, 2, 30, 70);
    fixture a;
    const ptrdiff_t n = 550;
    odvgp_real *X = NEW(odvgp_real, n * 3), *Y = NEW(odvgp_real, n * 2),
               *m0 = NEW(odvgp_real, n * 2), *v0 = NEW(odvgp_real, n * 2),
               *m1 = NEW(odvgp_real, n * 2), *v1 = NEW(odvgp_real, n * 2), *l0 = NEW(odvgp_real, n),
               *l1 = NEW(odvgp_real, n);
    odvgp_server server, *p = &server;
    size_t bytes, need;
    void *block, *scratch;
    ptrdiff_t i, t, rows;
    test_seed = 251;
    a = make_random(&c, kernels[3]);
    for (i = 0; i < n * 3; i++) X[i] = (odvgp_real)test_between(-2, 2);
    for (i = 0; i < n * 2; i++) Y[i] = (odvgp_real)test_between(-2, 2);
    bytes = odvgp_predictor_size(a.m);
    block = test_alloc(bytes);
    CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
    for (t = 0; t < 5; t++) {
        need = odvgp_predict_scratch(p, rows_at_once[t]);
        scratch = test_alloc(need);
        CHECK_STATUS(
                odvgp_predict(p, X, n, t ? m1 : m0, t ? v1 : v0, NULL, scratch, need), ODVGP_OK);
        CHECK_STATUS(odvgp_predict_logp(p, X, Y, n, t ? l1 : l0, scratch, need), ODVGP_OK);
        if (t) {
            CHECK(test_max_diff(m0, m1, n * 2) <= 500 * EPS * (1 + test_max_abs(m0, n * 2)));
            CHECK(test_max_diff(v0, v1, n * 2) <= 2000 * EPS * test_max_abs(v0, n * 2));
            CHECK(test_max_diff(l0, l1, n) <= 4000 * EPS * test_max_abs(l0, n));
        }
        /* Few rows use another code path. */
        for (rows = 1; rows <= 9; rows += t == 4 ? 1 : 9) {
            CHECK_STATUS(odvgp_predict(p, X, rows, m1, v1, NULL, scratch, need), ODVGP_OK);
            for (i = 0; i < rows; i++) {
                CHECK_NEAR(m1[rows + i], m0[n + i], 500 * EPS * (1 + test_max_abs(m0, n * 2)));
                CHECK_NEAR(v1[rows + i], v0[n + i], 2000 * EPS * test_max_abs(v0, n * 2));
            }
        }
        /* Ask for only the mean, then for only the variance. */
        CHECK_STATUS(odvgp_predict(p, X, 20, m1, NULL, NULL, scratch, need), ODVGP_OK);
        CHECK_STATUS(odvgp_predict(p, X, 20, NULL, v1, NULL, scratch, need), ODVGP_OK);
        for (i = 0; i < 20; i++) {
            CHECK_NEAR(m1[i], m0[i], 500 * EPS * (1 + test_max_abs(m0, n * 2)));
            CHECK_NEAR(v1[i], v0[i], 2000 * EPS * test_max_abs(v0, n * 2));
        }
        free(scratch);
    }
    CHECK_STATUS(odvgp_predict(p, NULL, 0, NULL, NULL, NULL, NULL, 0), ODVGP_OK);
    free(X), free(Y), free(m0), free(v0), free(m1), free(v1), free(l0), free(l1), free(block);
    drop(&a);
}
TEST(samples_have_the_predicted_moments)
{
    enum { n = 7, S = 6000 };
    odvgp_config c = random_config(30, 2, 2, 5, 6);
    fixture a;
    odvgp_real X[2 * n], mean[2 * n], cov[2 * n * n], *f = NEW(odvgp_real, S * 2 * n),
                                                      *g = NEW(odvgp_real, S * 2 * n);
    odvgp_server server, *p = &server;
    size_t bytes, need;
    void *block, *scratch;
    ptrdiff_t i, j, q, s;
    test_seed = 252;
    a = make_random(&c, kernels[0]);
    for (i = 0; i < 2 * n; i++) X[i] = (odvgp_real)test_between(-2, 2);
    /* Row 2 equals row 0, so the covariance is singular. */
    X[4] = X[0], X[5] = X[1];
    bytes = odvgp_predictor_size(a.m);
    block = test_alloc(bytes);
    CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
    need = odvgp_sample_scratch(p, n);
    scratch = test_alloc(need);
    CHECK_STATUS(odvgp_predict_cov(p, X, n, mean, cov, scratch, need), ODVGP_OK);
    CHECK_STATUS(odvgp_sample(p, X, n, S, 9, f, scratch, need), ODVGP_OK);
    for (q = 0; q < 2; q++)
        for (i = 0; i < n; i++)
            for (j = 0; j <= i; j++) {
                double m = 0, v = 0, si = sqrt((double)cov[(q * n + i) * n + i]),
                       sj = sqrt((double)cov[(q * n + j) * n + j]);
                for (s = 0; s < S; s++) {
                    double x = (double)f[(s * 2 + q) * n + i] - (double)mean[q * n + i],
                           y = (double)f[(s * 2 + q) * n + j] - (double)mean[q * n + j];
                    m += x / S;
                    v += x * y / S;
                }
                CHECK_NEAR(m, 0, 4.5 * si / sqrt((double)S));
                CHECK_NEAR(
                        v, cov[(q * n + i) * n + j], 4.5 * sqrt(2.0) * si * sj / sqrt((double)S));
            }
    /* Outputs are independent of each other, and so are their samples. */
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            double across = 0, along = 0, si = sqrt((double)cov[i * n + i]),
                   sj = sqrt((double)cov[j * n + j]), other = sqrt((double)cov[(n + j) * n + j]);
            for (s = 0; s + 1 < S; s++) {
                double x = (double)f[s * 2 * n + i] - (double)mean[i];
                across += x * ((double)f[(s * 2 + 1) * n + j] - (double)mean[n + j]) / S;
                along += x * ((double)f[(s + 1) * 2 * n + j] - (double)mean[j]) / S;
            }
            CHECK_NEAR(across, 0, 4.5 * si * other / sqrt((double)S));
            CHECK_NEAR(along, 0, 4.5 * si * sj / sqrt((double)S));
        }
    /* Equal rows have equal samples. */
    for (s = 0; s < 50; s++) CHECK_NEAR(f[s * 2 * n], f[s * 2 * n + 2], BY_PRECISION(1e-6, 2e-2));
    CHECK_STATUS(odvgp_sample(p, X, n, 3, 9, g, scratch, need), ODVGP_OK);
    /* Sample s depends only on the seed and on s. */
    CHECK_BITS(f, g, 3 * 2 * n * sizeof *f);
    CHECK_STATUS(odvgp_sample(p, X, n, 3, 10, g, scratch, need), ODVGP_OK);
    CHECK(memcmp(f, g, 3 * 2 * n * sizeof *f) != 0);
    free(f), free(g), free(block), free(scratch);
    drop(&a);
}
/*  The prior variance of one point is a million times that of another. Samples of both have the
    predicted variance. */
TEST(samples_of_points_of_unlike_variance)
{
    enum { n = 12, S = 3000 };
    odvgp_config c = random_config(20, 2, 1, 3, 2);
    fixture a;
    odvgp_real X[2 * n], mean[n], var[n], *f = NEW(odvgp_real, S * n);
    void *block, *scratch;
    odvgp_server server, *p = &server;
    size_t bytes, need;
    ptrdiff_t i, k;
    test_seed = 224;
    a = make_random(&c, "polynomial + white + rbf");
    for (i = 0; i < n; i++) {
        X[2 * i] = (odvgp_real)(i < 6 ? 0.1 * (double)i : 40 + 3 * (double)i);
        X[2 * i + 1] = (odvgp_real)(i < 6 ? -0.2 : 30);
    }
    bytes = odvgp_predictor_size(a.m);
    block = test_alloc(bytes);
    CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
    need = odvgp_sample_scratch(p, n);
    if (odvgp_predict_scratch(p, n) > need) need = odvgp_predict_scratch(p, n);
    scratch = test_alloc(need);
    CHECK_STATUS(odvgp_predict(p, X, n, mean, var, NULL, scratch, need), ODVGP_OK);
    CHECK_STATUS(odvgp_sample(p, X, n, S, 5, f, scratch, need), ODVGP_OK);
    CHECK(var[n - 1] > 1e5 * (double)var[0]);
    for (i = 0; i < n; i++) {
        double sum = 0, squares = 0, v;
        for (k = 0; k < S; k++) sum += (double)f[k * n + i] / S;
        for (k = 0; k < S; k++)
            squares += ((double)f[k * n + i] - sum) * ((double)f[k * n + i] - sum) / (S - 1);
        v = (double)var[i];
        CHECK_SAY(fabs(squares / v - 1) < 6 * sqrt(2.0 / S),
                "point %ld: variance %.6g, of samples %.6g", (long)i, v, squares);
    }
    free(f), free(block), free(scratch);
    drop(&a);
}
TEST(predict_once_is_freeze_and_predict)
{
    odvgp_config c = random_config(30, 2, 2, 5, 6);
    fixture a;
    odvgp_real m0[60], v0[60], m1[60] = {0}, v1[60] = {0};
    test_seed = 253;
    a = make_random(&c, kernels[0]);
    predict(&a, a.X, 30, m0, v0, NULL);
    CHECK_STATUS(odvgp_predict_once(a.m, a.X, 30, m1, v1, NULL), ODVGP_OK);
    CHECK_BITS(m0, m1, sizeof m0);
    CHECK_BITS(v0, v1, sizeof v0);
    CHECK_STATUS(odvgp_predict_once(a.m, a.X, 30, m1, NULL, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_predict_once(a.m, a.X, 0, m1, v1, NULL), ODVGP_OK);
    drop(&a);
}

int main(int argc, char **argv)
{
    test_begin(argc, argv);
    RUN(every_member_is_its_own_gaussian);
    RUN(orth_without_gamma_is_coupled);
    RUN(gradients_are_those_of_the_bound);
    RUN(scales_of_kernels_that_are_not_stationary);
    RUN(gamma_on_beta_has_a_floor);
    RUN(sampled_columns_are_unbiased);
    RUN(minibatches_are_unbiased);
    RUN(steps_see_every_row_once_an_epoch);
    RUN(a_unit_natural_step_lands_on_the_optimum);
    RUN(all_rows_as_inducing_points_give_the_exact_gp);
    RUN(values_set_are_values_used);
    RUN(the_header_lists_all_slots_and_matrices);
    RUN(memory_grows_with_N_only_where_the_manual_says);
    RUN(slots_tell_the_truth);
    RUN(training_raises_the_bound);
    RUN(frozen_slots_keep_their_bits);
    RUN(frozen_values_stay_as_given);
    RUN(the_same_seed_gives_the_same_bits);
    RUN(any_number_of_tasks_gives_the_same_bits);
    RUN(kept_and_computed_again_are_the_same_bits);
    RUN(every_instruction_set_and_every_tile_agree);
    RUN(orders_of_updates);
    RUN(schedules);
    RUN(adam_moves_in_its_coordinates);
    RUN(fit_can_be_stopped);
    RUN(a_start_from_the_data);
    RUN(hyperparameters_that_are_not_given_come_from_the_data);
    RUN(training_starts_at_the_prior);
    RUN(inducing_points_are_rows_that_differ);
    RUN(points_are_chosen_as_the_methods_say);
    RUN(greedy_ends_where_all_is_explained);
    RUN(every_member_can_be_started_by_the_kernel);
    RUN(a_start_returns_whatever_the_kernel_is);
    RUN(centres_differ_while_there_are_rows_that_do);
    RUN(starts_have_the_same_bits_for_any_number_of_tasks);
    RUN(gaps_and_steps_make_hyperparameters);
    RUN(columns_are_standardised);
    RUN(scales_are_undone);
    RUN(turns_do_not_change_predictions);
    RUN(samples_have_the_predicted_moments);
    RUN(samples_of_points_of_unlike_variance);
    RUN(predict_once_is_freeze_and_predict);
    return test_end();
}
