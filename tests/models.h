/*  A model with its data, and what the tests do with it: access to slots by name, derivatives by
    differences, subsets of gamma, predictions. */
#ifndef MODELS_H
#define MODELS_H

#include "reference.h"

typedef struct made {
    odvgp_model *m;
    void *block;
    ref_kernel k;
    /* The kernel as the library prints it. */
    char text[1000];
    /* [N,D], [N,P]. */
    odvgp_real *X, *Y;
    ptrdiff_t N, D, P, M, Mg;
    /* Its parts, as indices into the lists of the test. */
    int mean, cov;
} made;

TEST_UNUSED static const odvgp_slot *slot(const made *a, const char *name)
{
    return odvgp_slot_find(a->m, name);
}
/*  Returns the values of a slot; the caller frees them. */
TEST_UNUSED static odvgp_real *values(const made *a, const char *name)
{
    const odvgp_slot *s = slot(a, name);
    odvgp_real *v = NEW(odvgp_real, s ? s->count : 0);
    CHECK_SAY(s != NULL, "no slot %s", name);
    if (s) CHECK_STATUS(odvgp_get(a->m, name, v, s->count), ODVGP_OK);
    return v;
}
TEST_UNUSED static void assign(made *a, const char *name, const odvgp_real *v)
{
    const odvgp_slot *s = slot(a, name);
    odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
    if (CHECK_SAY(s != NULL, "no slot %s", name))
        CHECK_SAY(odvgp_set(a->m, name, v, s->count, &info) == ODVGP_OK, "%s: %s", name, info.text);
}
TEST_UNUSED static void drop(made *a)
{
    free(a->block);
    free(a->X);
    free(a->Y);
    memset(a, 0, sizeof *a);
}
/*  Reads the current values of the base kernels from the model. */
TEST_UNUSED static void read_kernel(made *a) { ref_kernel_take(&a->k, a->m); }
TEST_UNUSED static double elbo_of(made *a, double *kl, odvgp_real *grad)
{
    odvgp_real e = 0, k = 0;
    odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
    odvgp_status s = odvgp_elbo(a->m, a->X, a->Y, a->N, &e, &k, grad, &info);
    CHECK_SAY(s == ODVGP_OK, "odvgp_elbo: %s: %s", odvgp_status_text(s), info.text);
    if (kl) *kl = (double)k;
    return (double)e;
}
/*  Differentiates the bound with respect to one element of a slot by a difference of fourth
    order; if count > 0, the bound with only these columns of gamma. */
TEST_UNUSED static double difference(made *a, const char *name, ptrdiff_t entry,
        const ptrdiff_t *columns, ptrdiff_t count, double h)
{
    static const double weight[4] = {-1.0 / 12, 8.0 / 12, 8.0 / 12, -1.0 / 12},
                        place[4] = {2, 1, -1, -2};
    odvgp_real *v = values(a, name), keep = v[entry], e;
    double sum = 0;
    int k;
    for (k = 0; k < 4; k++) {
        double step;
        v[entry] = (odvgp_real)((double)keep + place[k] * h);
        /* The step after rounding, with its sign. */
        step = ((double)v[entry] - (double)keep) / fabs(place[k]);
        assign(a, name, v);
        if (count)
            CHECK_STATUS(odvgp_elbo_columns(
                                 a->m, a->X, a->Y, a->N, columns, count, &e, NULL, NULL, NULL),
                    ODVGP_OK);
        else e = (odvgp_real)elbo_of(a, NULL, NULL);
        sum -= weight[k] * (double)e / step;
    }
    v[entry] = keep;
    assign(a, name, v);
    free(v);
    return sum;
}
/*  Compares the gradient of the bound (if count > 0, with only these columns of gamma) with
    differences, element by element. The allowed error is `allowed` times the sum of the bound
    and its largest derivative. Above the diagonal of triangles the gradient is 0, and no slot
    has a gradient that is 0 everywhere. With `finer` smaller steps are tried if the first
    disagrees: the bound has large curvature where points are close to each other. */
TEST_UNUSED static void check_gradient(made *a, const ptrdiff_t *columns, ptrdiff_t count,
        double allowed, int finer, const char *where)
{
    ptrdiff_t n = odvgp_param_count(a->m), i;
    odvgp_real *grad = NEW(odvgp_real, n), e = 0;
    double scale = 0, worst = 0, h;
    char words[160] = "";
    int s;
    if (count)
        CHECK_STATUS(
                odvgp_elbo_columns(a->m, a->X, a->Y, a->N, columns, count, &e, NULL, grad, NULL),
                ODVGP_OK);
    else e = (odvgp_real)elbo_of(a, NULL, grad);
    for (i = 0; i < n; i++) scale = test_worse(scale, fabs((double)grad[i]));
    scale += fabs((double)e);
    for (s = 0; s < odvgp_slot_count(a->m); s++) {
        const odvgp_slot *t = odvgp_slot_at(a->m, s);
        double size = 0;
        for (i = 0; i < t->count; i++) {
            double want, got = (double)grad[t->offset + i], off;
            if (t->lower && i % t->shape[2] > i / t->shape[2] % t->shape[1]) {
                CHECK(got == 0);
                continue;
            }
            size = test_worse(size, fabs(got));
            /* In proportion to 1/noise. */
            h = BY_PRECISION(1e-3, 0.02) * (!strcmp(t->name, "noise_variance") ? 0.15 : 1);
            want = difference(a, t->name, i, columns, count, h);
            off = fabs(got - want);
            for (h = BY_PRECISION(3e-4, 0.01);
                    finer && h > BY_PRECISION(3e-5, 0.004) && !(off <= allowed * scale);
                    h *= BY_PRECISION(0.33, 0.7)) {
                want = difference(a, t->name, i, columns, count, h);
                off = fabs(got - want);
            }
            if (worst == worst && !(off <= worst)) {
                worst = off;
                snprintf(words, sizeof words, "%s[%ld]: %.10g, difference %.10g", t->name, (long)i,
                        got, want);
            }
        }
        CHECK_SAY(size > 0, "%s: the bound does not depend on %s", where, t->name);
    }
    CHECK_SAY(worst <= allowed * scale, "%s: %s, of %.3g", where, words, scale);
    free(grad);
}
/*  Advances to the next subset of k of n in ascending order; returns 0 after the last. */
TEST_UNUSED static int next_subset(ptrdiff_t *s, ptrdiff_t k, ptrdiff_t n)
{
    ptrdiff_t i = k - 1, j;
    while (i >= 0 && s[i] == n - k + i) i--;
    if (i < 0) return 0;
    s[i]++;
    for (j = i + 1; j < k; j++) s[j] = s[j - 1] + 1;
    return 1;
}
/*  Averages the bound with k of gamma's five columns, and its gradient, over all subsets: the
    averages equal the values with all columns, up to `loose` times some rounding errors. Subsets
    of fewer than all columns give different values. */
TEST_UNUSED static void check_subsets(made *a, ptrdiff_t k, double loose)
{
    ptrdiff_t subset[5] = {0, 1, 2, 3, 4}, sets = 0, n = odvgp_param_count(a->m), i;
    odvgp_real *full = NEW(odvgp_real, n), *grad = NEW(odvgp_real, n), e, kl;
    double *average = NEW(double, n), kl_full, elbo_full = elbo_of(a, &kl_full, full), kl_mean = 0,
           elbo_mean = 0, most = 0, spread = 0;
    double size = fabs(kl_full) + fabs(elbo_full);
    for (i = 0; i < n; i++) average[i] = 0;
    do {
        CHECK_STATUS(odvgp_elbo_columns(a->m, a->X, a->Y, a->N, subset, k, &e, &kl, grad, NULL),
                ODVGP_OK);
        elbo_mean += (double)e;
        kl_mean += (double)kl;
        for (i = 0; i < n; i++) {
            average[i] += (double)grad[i];
            most = test_worse(most, fabs((double)grad[i]));
        }
        spread = test_worse(spread, fabs((double)kl - kl_full));
        sets++;
    } while (next_subset(subset, k, 5));
    CHECK_NEAR(kl_mean / (double)sets, kl_full, 50 * loose * EPS * (size + spread));
    CHECK_NEAR(elbo_mean / (double)sets, elbo_full, 50 * loose * EPS * (fabs(elbo_full) + spread));
    for (i = 0; i < n; i++)
        CHECK_NEAR(average[i] / (double)sets, full[i], 200 * loose * EPS * most);
    CHECK(k == 5 ? spread <= 20 * loose * EPS * (1 + size) : spread > 1e-3);
    free(full), free(grad), free(average);
}
/*  Any of the outputs may be NULL. Bytes after the predictor's block must keep their contents. */
TEST_UNUSED static void predict(made *a, const odvgp_real *X, ptrdiff_t n, odvgp_real *mean,
        odvgp_real *var, odvgp_real *cov)
{
    size_t bytes = odvgp_predictor_size(a->m), need, i;
    unsigned char *block = NEW(unsigned char, bytes + 64);
    void *scratch;
    odvgp_server server, *p = &server;
    memset(block, 0x5a, bytes + 64);
    if (!CHECK_STATUS(serve(a->m, NULL, block, bytes, p, NULL), ODVGP_OK)) {
        free(block);
        return;
    }
    for (i = 0; i < 64; i++)
        if (!CHECK_SAY(block[bytes + i] == 0x5a, "odvgp_freeze writes beyond its block")) break;
    need = odvgp_predict_scratch(p, n);
    scratch = test_alloc(need);
    if (mean || var) CHECK_STATUS(odvgp_predict(p, X, n, mean, var, NULL, scratch, need), ODVGP_OK);
    if (cov) CHECK_STATUS(odvgp_predict_cov(p, X, n, NULL, cov, scratch, need), ODVGP_OK);
    free(scratch);
    free(block);
}

#endif
