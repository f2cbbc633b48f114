/*  Dense linear algebra against plain twins, on every instruction set that this machine can run, serial and cut into tasks:
    rounding within a few n eps of the twin, padding and the other triangle untouched, and the same bits for any number of tasks. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "reference.h"

/* ---- every instruction set, every way of cutting ---- */

typedef struct engine {
    odvgp_blas blas;
    void *block;
    int there;
} engine;

static int task_calls;
/*  Tasks one after another in a mixed order, each exactly once: what a hook may do, without threads. */
static void run_mixed(void *user, int n, void (*task)(void *arg, int i), void *arg) {
    int i;
    (void)user;
    for (i = n - 1; i >= 0; i -= 2) task(arg, i), task_calls++;
    for (i = n - 2; i >= 0; i -= 2) task(arg, i), task_calls++;
}

/*  Those of this machine, or the one that ODVGP_ISA names. */
#define ISAS     test_isas.count
#define isa_of   test_isas.isa
#define isa_name test_isas.name
#define CUTS 4
static const int cut_of[CUTS] = {1, 2, 3, 7};
static engine engines[TEST_ISAS][CUTS];

static void start_engines(void) {
    int i, t;
    for (i = 0; i < ISAS; i++)
        for (t = 0; t < CUTS; t++) {
            engine *e = &engines[i][t];
            odvgp_threads hook = {NULL, NULL, 0};
            size_t bytes;
            odvgp_status s;
            if (cut_of[t] > 1) {
                hook.run = run_mixed;
                hook.count = cut_of[t];
            }
            bytes = odvgp_blas_size(&hook);
            e->block = test_alloc(bytes);
            s = odvgp_blas_init(&e->blas, &hook, isa_of[i], e->block, bytes);
            e->there = s == ODVGP_OK;
            if (!e->there) {
                free(e->block);
                e->block = NULL;
            }
        }
}
static void stop_engines(void) {
    int i, t;
    for (i = 0; i < ISAS; i++)
        for (t = 0; t < CUTS; t++) free(engines[i][t].block);
}

TEST(instruction_sets) {
    static const struct { odvgp_isa isa; const char *name; } known[] = {{ODVGP_ISA_C, "c"}, {ODVGP_ISA_AVX2, "avx2"}, {ODVGP_ISA_AVX512, "avx512"}};
    int i, t, there = 0;
    size_t k;
    char text[100] = "";
    odvgp_blas blas;
    odvgp_threads serial = {NULL, NULL, 0};
    size_t bytes = odvgp_blas_size(&serial);
    void *block = test_alloc(bytes);
    for (i = 0; i < ISAS; i++) {
        for (t = 0; t < CUTS; t++) CHECK_SAY(engines[i][t].there, "%s is there only sometimes", isa_name[i]);
        CHECK_SAY(!strcmp(odvgp_blas_isa(&engines[i][0].blas), isa_name[i]), "asked for %s, got %s", isa_name[i], odvgp_blas_isa(&engines[i][0].blas));
        strcat(strcat(text, i ? ", " : ""), isa_name[i]);
    }
    for (k = 0; k < sizeof known / sizeof *known; k++) {
        odvgp_status s = odvgp_blas_init(&blas, &serial, known[k].isa, block, bytes);
        if (s == ODVGP_OK) CHECK_SAY(!strcmp(odvgp_blas_isa(&blas), known[k].name), "%s is called %s", known[k].name, odvgp_blas_isa(&blas));
        else CHECK_STATUS(s, ODVGP_E_UNSUPPORTED);
        for (i = 0, there = 0; i < ISAS; i++) there |= isa_of[i] == known[k].isa;
        CHECK(test_isas.forced || there == (s == ODVGP_OK));
    }
    CHECK_STATUS(odvgp_blas_init(&blas, &serial, ODVGP_ISA_AUTO, block, bytes), ODVGP_OK);
    CHECK_STATUS(odvgp_blas_init(&blas, &serial, ODVGP_ISA_AUTO, block, bytes - 1), ODVGP_E_MEMORY);
    CHECK_STATUS(odvgp_blas_init(&blas, &serial, ODVGP_ISA_AUTO, NULL, bytes), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_blas_init(NULL, &serial, ODVGP_ISA_AUTO, block, bytes), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_blas_init(&blas, &serial, (odvgp_isa)99, block, bytes), ODVGP_E_UNSUPPORTED);
    CHECK_STATUS(odvgp_blas_init(&blas, NULL, ODVGP_ISA_C, block, bytes), ODVGP_OK); /* NULL is serial */
    test_note("%s", text);
    free(block);
}

/* ---- matrices with padding that must stay ---- */

#define PAD ((odvgp_real)-12345.5)
static odvgp_real *matrix(ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld) {
    odvgp_real *a = NEW(odvgp_real, rows * ld + 1);
    ptrdiff_t i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < ld; j++) a[i * ld + j] = j < cols ? (odvgp_real)test_between(-1, 1) : PAD;
    a[rows * ld] = PAD;
    return a;
}
static odvgp_real *twin(const odvgp_real *a, ptrdiff_t rows, ptrdiff_t ld) {
    odvgp_real *b = NEW(odvgp_real, rows * ld + 1);
    memcpy(b, a, (size_t)(rows * ld + 1) * sizeof *b);
    return b;
}
static int padding_is_whole(const odvgp_real *a, ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld) {
    ptrdiff_t i, j;
    for (i = 0; i < rows; i++)
        for (j = cols; j < ld; j++)
            if (a[i * ld + j] != PAD) return 0;
    return a[rows * ld] == PAD;
}
/*  Lower triangular with a diagonal that keeps it well conditioned; what lies above is NaN and must not be read. */
static odvgp_real *triangle(ptrdiff_t n, ptrdiff_t ld) {
    odvgp_real *L = matrix(n, n, ld);
    ptrdiff_t i, j;
    for (i = 0; i < n; i++) {
        for (j = 0; j < i; j++) L[i * ld + j] *= (odvgp_real)(1 / sqrt((double)n + 1.0));
        L[i * ld + i] = (odvgp_real)((test_below(2) ? 1 : -1) * test_between(0.8, 1.6));
        for (j = i + 1; j < n; j++) L[i * ld + j] = (odvgp_real)NAN;
    }
    return L;
}
static int tight; /* no padding at all */
static ptrdiff_t padded(ptrdiff_t cols) { return tight ? cols + (cols == 0) : cols + (test_below(3) ? test_below(6) : 0) + (cols == 0); }
/*  0 ... 70, so that every remainder of the micro-kernels is met, and some to 300. */
static ptrdiff_t some_size(int round) { return round % 8 == 7 ? test_below(301) : test_below(71); }

/* ---- gemm ---- */

static void try_gemm(int ta, int tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, double beta, int nan_in_c) {
    ptrdiff_t lda = padded(ta ? m : k), ldb = padded(tb ? k : n), ldc = padded(n), i, j;
    ptrdiff_t ra = ta ? k : m, rb = tb ? n : k;
    odvgp_real *A = matrix(ra, ta ? m : k, lda), *B = matrix(rb, tb ? k : n, ldb), *C = matrix(m, n, ldc);
    odvgp_real *A0, *B0, *out[CUTS];
    double *want = NEW(double, m * n), *size = NEW(double, m * n);
    int isa, t;
    if (nan_in_c)
        for (i = 0; i < m; i++)
            for (j = 0; j < n; j++) C[i * ldc + j] = (odvgp_real)NAN;
    A0 = twin(A, ra, lda);
    B0 = twin(B, rb, ldb);
    alpha = (double)(odvgp_real)alpha;
    beta = (double)(odvgp_real)beta;
    ref_gemm(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, want, size);
    for (isa = 0; isa < ISAS; isa++) {
        if (!engines[isa][0].there) continue;
        for (t = 0; t < CUTS; t++) {
            double worst = 0;
            out[t] = twin(C, m, ldc);
            odvgp_gemm(&engines[isa][t].blas, ta, tb, m, n, k, (odvgp_real)alpha, A, lda, B, ldb, (odvgp_real)beta, out[t], ldc);
            if (t == 0) {
                for (i = 0; i < m; i++)
                    for (j = 0; j < n; j++) {
                        double e = fabs((double)out[0][i * ldc + j] - want[i * n + j]) / (size[i * n + j] + TINY);
                        if (!(e <= worst)) worst = e;
                    }
                CHECK_SAY(worst <= ((double)k + 4) * EPS, "%s: gemm ta %d tb %d m %ld n %ld k %ld alpha %g beta %g: error %.2g eps of the size", isa_name[isa], ta,
                          tb, (long)m, (long)n, (long)k, alpha, beta, worst / EPS);
                CHECK(padding_is_whole(out[0], m, n, ldc));
            } else
                CHECK_SAY(memcmp(out[t], out[0], (size_t)(m * ldc + 1) * sizeof(odvgp_real)) == 0, "%s: gemm m %ld n %ld k %ld: %d tasks give other bits than 1",
                          isa_name[isa], (long)m, (long)n, (long)k, cut_of[t]);
        }
        for (t = 0; t < CUTS; t++) free(out[t]);
    }
    CHECK_BITS(A, A0, (size_t)(ra * lda + 1) * sizeof *A);
    CHECK_BITS(B, B0, (size_t)(rb * ldb + 1) * sizeof *B);
    free(A), free(B), free(C), free(A0), free(B0), free(want), free(size);
}

TEST(gemm_of_all_forms_and_sizes) {
    static const double alphas[] = {1, -1, 0.7}, betas[] = {0, 1, -0.3};
    int round;
    test_seed = 11;
    for (round = 0; round < 700; round++)
        try_gemm(round & 1, (round >> 1) & 1, some_size(round), some_size(round / 8), some_size(round / 64), alphas[test_below(3)], betas[test_below(3)], 0);
}
TEST(gemm_of_every_small_size) { /* edges of every micro-tile, k from nothing to a few */
    ptrdiff_t m, n;
    test_seed = 12;
    for (m = 0; m <= 26; m++)
        for (n = 0; n <= 50; n += m % 2 ? 3 : 1) try_gemm((int)(m & 1), (int)(n & 1), m, n, (m * 7 + n) % 10, 1, m % 3 ? 0 : 1, 0);
}
TEST(gemm_of_tall_and_wide) {
    test_seed = 13;
    try_gemm(0, 0, 700, 9, 300, 1, 0, 0);
    try_gemm(0, 1, 9, 700, 300, 1, 1, 0);
    try_gemm(1, 0, 300, 280, 1100, 1, 0, 0);
    try_gemm(1, 1, 1, 1, 2000, -1, 1, 0);
    try_gemm(0, 0, 1, 900, 64, 1, 0, 0);
    try_gemm(0, 0, 900, 1, 64, 1, 0, 0);
    try_gemm(0, 1, 260, 260, 700, 0.5, 1, 0);
}
TEST(gemm_of_vectors_without_padding) { /* leading dimensions of 1, where a transpose cannot be told from the strides */
    int form;
    test_seed = 16;
    tight = 1;
    for (form = 0; form < 4; form++) {
        try_gemm(form & 1, form >> 1, 1, 300, 300, 1, 0, 0);
        try_gemm(form & 1, form >> 1, 300, 1, 300, 1, 1, 0);
        try_gemm(form & 1, form >> 1, 300, 300, 1, -1, 0, 0);
        try_gemm(form & 1, form >> 1, 1, 1, 40000, 1, 0, 0);
        try_gemm(form & 1, form >> 1, 100, 100, 100, 1, 0, 0);
    }
    tight = 0;
}
TEST(gemm_with_beta_zero_forgets_nan) {
    int form;
    test_seed = 14;
    for (form = 0; form < 4; form++) {
        try_gemm(form & 1, form >> 1, 37, 41, 29, 1, 0, 1);
        try_gemm(form & 1, form >> 1, 3, 5, 0, 1, 0, 1); /* k = 0: C becomes 0 */
        try_gemm(form & 1, form >> 1, 130, 120, 110, 2, 0, 1);
    }
}
TEST(gemm_carries_nan_and_infinity) { /* NaN in one entry of A reaches its row of C and no other */
    int isa, t;
    test_seed = 15;
    for (isa = 0; isa < ISAS; isa++)
        for (t = 0; t < CUTS; t += 3) {
            ptrdiff_t n = 45, i, j, bad = 0;
            odvgp_real *A = matrix(n, n, n), *B = matrix(n, n, n), *C = matrix(n, n, n);
            if (engines[isa][t].there) {
                A[17 * n + 20] = (odvgp_real)NAN;
                odvgp_gemm(&engines[isa][t].blas, 0, 0, n, n, n, 1, A, n, B, n, 0, C, n);
                for (i = 0; i < n; i++)
                    for (j = 0; j < n; j++) bad += (C[i * n + j] != C[i * n + j]) != (i == 17);
                CHECK_INT(bad, 0);
            }
            free(A), free(B), free(C);
        }
}

/* ---- syrk ---- */

static void try_syrk(int ta, ptrdiff_t n, ptrdiff_t k, double alpha, double beta, int weights, int nan_in_c) {
    ptrdiff_t lda = padded(ta ? n : k), ra = ta ? k : n, ldc = padded(n), i, j, l;
    odvgp_real *A = matrix(ra, ta ? n : k, lda), *C = matrix(n, n, ldc), *w = NEW(odvgp_real, k), *out[CUTS];
    double *want = NEW(double, n * n), *size = NEW(double, n * n);
    int isa, t;
    for (i = 0; i < k; i++) w[i] = (odvgp_real)(weights == 1 ? test_between(0.1, 2) : i % 5 == 3 ? 0.0 : test_between(-2, 2));
    alpha = (double)(odvgp_real)alpha;
    beta = (double)(odvgp_real)beta;
    if (nan_in_c)
        for (i = 0; i < n; i++)
            for (j = 0; j <= i; j++) C[i * ldc + j] = (odvgp_real)NAN;
    /* the twin by the definition, in double */
    for (i = 0; i < n; i++)
        for (j = 0; j <= i; j++) {
            double s = 0, a = 0, c = beta == 0 ? 0 : beta * (double)C[i * ldc + j];
            for (l = 0; l < k; l++) {
                double x = (double)(ta ? A[l * lda + i] : A[i * lda + l]) * (double)(ta ? A[l * lda + j] : A[j * lda + l]);
                if (weights) x *= (double)w[l];
                s += x;
                a += fabs(x);
            }
            want[i * n + j] = alpha * s + c;
            size[i * n + j] = fabs(alpha) * a + fabs(c);
        }
    for (isa = 0; isa < ISAS; isa++) {
        if (!engines[isa][0].there) continue;
        for (t = 0; t < CUTS; t++) {
            double worst = 0;
            ptrdiff_t above = 0;
            out[t] = twin(C, n, ldc);
            odvgp_syrk(&engines[isa][t].blas, ta, n, k, (odvgp_real)alpha, A, lda, weights ? w : NULL, (odvgp_real)beta, out[t], ldc);
            if (t == 0) {
                for (i = 0; i < n; i++) {
                    for (j = 0; j <= i; j++) {
                        double e = fabs((double)out[0][i * ldc + j] - want[i * n + j]) / (size[i * n + j] + TINY);
                        if (!(e <= worst)) worst = e;
                    }
                    for (; j < n; j++) above += out[0][i * ldc + j] != C[i * ldc + j];
                }
                CHECK_SAY(worst <= ((double)k + 5) * EPS, "%s: syrk ta %d n %ld k %ld weights %d: error %.2g eps of the size", isa_name[isa], ta, (long)n, (long)k,
                          weights, worst / EPS);
                CHECK_SAY(above == 0, "%s: syrk n %ld k %ld writes above the diagonal", isa_name[isa], (long)n, (long)k);
                CHECK(padding_is_whole(out[0], n, n, ldc));
            } else
                CHECK_SAY(memcmp(out[t], out[0], (size_t)(n * ldc + 1) * sizeof(odvgp_real)) == 0, "%s: syrk n %ld k %ld: %d tasks give other bits than 1",
                          isa_name[isa], (long)n, (long)k, cut_of[t]);
        }
        for (t = 0; t < CUTS; t++) free(out[t]);
    }
    free(A), free(C), free(w), free(want), free(size);
}
TEST(syrk_with_weights_of_any_sign) {
    static const double betas[] = {0, 1, 0.95};
    int round;
    test_seed = 21;
    for (round = 0; round < 400; round++)
        try_syrk(round & 1, some_size(round), some_size(round / 8), round % 3 ? 1 : -2, betas[test_below(3)], (round >> 1) % 3, 0);
    try_syrk(1, 150, 1030, -2, 0.9, 2, 0);
    try_syrk(0, 260, 530, 1, 0, 0, 0);
    for (round = 0; round < 6; round++) {
        try_syrk(round & 1, 45, 33, 1, 0, round >> 1, 1);
        try_syrk(round & 1, 9, 0, 1, 0, round >> 1, 1);
    }
}

/* ---- trsm ---- */

/*  Backward error: op(L) X = B means |B - op(L) X| <= c n eps |op(L)| |X|. */
static void try_trsm(int right, int trans, ptrdiff_t m, ptrdiff_t n) {
    ptrdiff_t s = right ? n : m, ldl = padded(s), ldb = padded(n), i, j, l;
    odvgp_real *L = triangle(s, ldl), *B = matrix(m, n, ldb), *L0 = twin(L, s, ldl), *out[CUTS];
    int isa, t;
    for (isa = 0; isa < ISAS; isa++) {
        if (!engines[isa][0].there) continue;
        for (t = 0; t < CUTS; t++) {
            out[t] = twin(B, m, ldb);
            odvgp_trsm(&engines[isa][t].blas, right, trans, m, n, L, ldl, out[t], ldb);
            if (t)
                CHECK_SAY(memcmp(out[t], out[0], (size_t)(m * ldb + 1) * sizeof(odvgp_real)) == 0, "%s: trsm right %d trans %d m %ld n %ld: %d tasks give other bits than 1",
                          isa_name[isa], right, trans, (long)m, (long)n, cut_of[t]);
            else {
                double worst = 0;
                const odvgp_real *X = out[0];
                for (i = 0; i < m; i++)
                    for (j = 0; j < n; j++) {
                        double r = (double)B[i * ldb + j], a = fabs(r), e;
                        ptrdiff_t row = right ? j : i;
                        /* row of op(L): entries l <= row when the triangle stays lower on this side */
                        for (l = 0; l < s; l++) {
                            double q;
                            ptrdiff_t p = trans ? l : row, c = trans ? row : l; /* left: op(L)[row,l] */
                            if (right) p = trans ? row : l, c = trans ? l : row; /* right: op(L)[l,row] */
                            if (c > p) continue;
                            q = (double)L[p * ldl + c] * (double)(right ? X[i * ldb + l] : X[l * ldb + j]);
                            r -= q;
                            a += fabs(q);
                        }
                        e = fabs(r) / (a + TINY);
                        if (!(e <= worst)) worst = e;
                    }
                CHECK_SAY(worst <= (2 * (double)s + 8) * EPS, "%s: trsm right %d trans %d m %ld n %ld: residual %.2g eps of the size", isa_name[isa], right, trans, (long)m,
                          (long)n, worst / EPS);
                CHECK(padding_is_whole(out[0], m, n, ldb));
            }
        }
        for (t = 0; t < CUTS; t++) free(out[t]);
    }
    CHECK_BITS(L, L0, (size_t)(s * ldl + 1) * sizeof *L);
    free(L), free(B), free(L0);
}
TEST(trsm_of_four_forms) {
    int round, form;
    test_seed = 31;
    for (round = 0; round < 300; round++) try_trsm(round & 1, (round >> 1) & 1, some_size(round), some_size(round / 8));
    for (form = 0; form < 4; form++) {
        try_trsm(form & 1, form >> 1, 280, 17);
        try_trsm(form & 1, form >> 1, 17, 280);
        try_trsm(form & 1, form >> 1, 200, 210);
        try_trsm(form & 1, form >> 1, 64, 0);
        try_trsm(form & 1, form >> 1, 0, 64);
    }
}

/* ---- potrf ---- */

/*  Symmetric positive definite with a condition number of about `condition`; the upper triangle is NaN. */
static odvgp_real *definite(ptrdiff_t n, ptrdiff_t ld, double ridge) {
    odvgp_real *G = matrix(n, n + 3, n + 3), *A = matrix(n, n, ld);
    ptrdiff_t i, j, k;
    for (i = 0; i < n; i++) {
        for (j = 0; j <= i; j++) {
            double s = 0;
            for (k = 0; k < n + 3; k++) s += (double)G[i * (n + 3) + k] * (double)G[j * (n + 3) + k];
            A[i * ld + j] = (odvgp_real)(s + (i == j ? ridge : 0));
        }
        for (; j < n; j++) A[i * ld + j] = (odvgp_real)NAN;
    }
    free(G);
    return A;
}
static void try_potrf(ptrdiff_t n) {
    ptrdiff_t ld = padded(n), i, j, k;
    odvgp_real *A = definite(n, ld, 0.1), *out[CUTS];
    int isa, t;
    for (isa = 0; isa < ISAS; isa++) {
        if (!engines[isa][0].there) continue;
        for (t = 0; t < CUTS; t++) {
            odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
            out[t] = twin(A, n, ld);
            CHECK_STATUS(odvgp_potrf(&engines[isa][t].blas, n, out[t], ld, &info), ODVGP_OK);
            if (t)
                CHECK_SAY(memcmp(out[t], out[0], (size_t)(n * ld + 1) * sizeof(odvgp_real)) == 0, "%s: potrf n %ld: %d tasks give other bits than 1", isa_name[isa], (long)n,
                          cut_of[t]);
            else {
                double worst = 0;
                const odvgp_real *L = out[0];
                ptrdiff_t above = 0;
                for (i = 0; i < n; i++) {
                    for (j = 0; j <= i; j++) {
                        double r = (double)A[i * ld + j], a = fabs(r), e;
                        for (k = 0; k <= j; k++) {
                            double q = (double)L[i * ld + k] * (double)L[j * ld + k];
                            r -= q;
                            a += fabs(q);
                        }
                        e = fabs(r) / (a + TINY);
                        if (!(e <= worst)) worst = e;
                    }
                    CHECK(L[i * ld + i] > 0);
                    for (; j < n; j++) above += L[i * ld + j] == L[i * ld + j]; /* still NaN */
                }
                CHECK_SAY(worst <= (2 * (double)n + 8) * EPS, "%s: potrf n %ld: residual %.2g eps of the size", isa_name[isa], (long)n, worst / EPS);
                CHECK_SAY(above == 0, "%s: potrf n %ld writes above the diagonal", isa_name[isa], (long)n);
                CHECK(padding_is_whole(L, n, n, ld));
            }
        }
        for (t = 0; t < CUTS; t++) free(out[t]);
    }
    free(A);
}
TEST(potrf_of_all_sizes) {
    ptrdiff_t n;
    test_seed = 41;
    for (n = 0; n <= 70; n++) try_potrf(n);
    for (n = 71; n <= 300; n += 13) try_potrf(n);
    try_potrf(256);
    try_potrf(300);
}
TEST(potrf_reports_the_first_bad_pivot) {
    static const double bad[] = {-1, 0, NAN, -HUGE_VAL};
    int isa, t, kind;
    ptrdiff_t n, row;
    test_seed = 42;
    for (n = 1; n <= 170; n += n < 12 ? 1 : 31)
        for (kind = 0; kind < 4; kind++) {
            odvgp_real *A = definite(n, n, 0.5);
            row = test_below(n);
            A[row * n + row] = (odvgp_real)(kind == 1 ? -1e-3 : bad[kind]); /* a diagonal entry <= 0 cannot be passed */
            if (row == 0 && kind == 1) A[0] = 0;
            for (isa = 0; isa < ISAS; isa++)
                for (t = 0; t < CUTS; t++) {
                    odvgp_info info = {ODVGP_OK, NULL, -7, 0, ""};
                    odvgp_real *out;
                    if (!engines[isa][t].there) continue;
                    out = twin(A, n, n);
                    CHECK_STATUS(odvgp_potrf(&engines[isa][t].blas, n, out, n, &info), ODVGP_E_NOT_PD);
                    CHECK_SAY(info.row == row, "%s: n %ld: pivot %ld reported, %ld is bad (kind %d)", isa_name[isa], (long)n, (long)info.row, (long)row, kind);
                    CHECK(!(info.value > 0));
                    CHECK_INT(info.status, ODVGP_E_NOT_PD);
                    CHECK(info.text[0] != 0);
                    memcpy(out, A, (size_t)(n * n) * sizeof *out);
                    CHECK_STATUS(odvgp_potrf(&engines[isa][t].blas, n, out, n, NULL), ODVGP_E_NOT_PD); /* without info */
                    free(out);
                }
            free(A);
        }
}
TEST(potrf_does_not_take_nan_below_the_diagonal_for_success) {
    int isa, t;
    ptrdiff_t n = 90;
    test_seed = 43;
    for (isa = 0; isa < ISAS; isa++)
        for (t = 0; t < CUTS; t++) {
            odvgp_real *A = definite(n, n, 0.5);
            odvgp_info info = {ODVGP_OK, NULL, -7, 0, ""};
            if (engines[isa][t].there) {
                A[50 * n + 20] = (odvgp_real)NAN;
                CHECK_STATUS(odvgp_potrf(&engines[isa][t].blas, n, A, n, &info), ODVGP_E_NOT_PD);
                CHECK_INT(info.row, 50); /* the first pivot that NaN reaches */
            }
            free(A);
        }
}

TEST(large_operations_are_cut) { /* the hook is really used, and every task runs once: sizes of a training step */
    int isa;
    ptrdiff_t n = 300, k = 256;
    test_seed = 51;
    for (isa = 0; isa < ISAS; isa++) {
        odvgp_real *A, *B, *C;
        if (!engines[isa][3].there) continue;
        A = matrix(n, k, k);
        B = matrix(k, n, n);
        C = matrix(n, n, n);
        task_calls = 0;
        odvgp_gemm(&engines[isa][3].blas, 0, 0, n, n, k, 1, A, k, B, n, 0, C, n);
#ifndef ODVGP_USE_CBLAS /* which has threads of its own */
        CHECK(task_calls > 1);
#endif
        task_calls = 0;
        odvgp_syrk(&engines[isa][3].blas, 0, n, k, 1, A, k, NULL, 0, C, n);
        CHECK(task_calls > 1);
        free(A), free(B), free(C);
    }
}
/* ---- below the public interface: triangles in products, the reversed factor, the inverse, the adjoint ---- */

/*  op(A) lower or upper triangular, its other entries zeros in memory; with and without weights, whole C and its lower triangle. */
static void try_parts(int ta, int tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, int a_part, int b_part, int c_lower, int weights) {
    ptrdiff_t lda = padded(ta ? m : k), ldb = padded(tb ? k : n), ldc = padded(n), ra = ta ? k : m, rb = tb ? n : k, i, j, p;
    odvgp_real *A = matrix(ra, ta ? m : k, lda), *B = matrix(rb, tb ? k : n, ldb), *C = matrix(m, n, ldc), *WB, *w = NEW(odvgp_real, k), *out[CUTS];
    double *want = NEW(double, m * n), *size = NEW(double, m * n), alpha = -0.5, beta = test_below(3) - 1.0;
    int isa, t;
    for (i = 0; i < m; i++)
        for (p = 0; p < k; p++)
            if ((a_part == ODVGP__LOWER && p > i) || (a_part == ODVGP__UPPER && p < i)) A[ta ? p * lda + i : i * lda + p] = 0;
    for (p = 0; p < k; p++)
        for (j = 0; j < n; j++)
            if ((b_part == ODVGP__LOWER && j > p) || (b_part == ODVGP__UPPER && j < p)) B[tb ? j * ldb + p : p * ldb + j] = 0;
    WB = twin(B, rb, ldb);
    for (p = 0; p < k; p++) {
        w[p] = (odvgp_real)test_between(-2, 2);
        for (j = 0; j < n && weights; j++) WB[tb ? j * ldb + p : p * ldb + j] *= w[p];
    }
    ref_gemm(ta, tb, m, n, k, alpha, A, lda, WB, ldb, beta, C, ldc, want, size);
    for (isa = 0; isa < ISAS; isa++) {
        if (!engines[isa][0].there) continue;
        for (t = 0; t < CUTS; t++) {
            double worst = 0;
            ptrdiff_t other = 0;
            odvgp__mm g;
            out[t] = twin(C, m, ldc);
            g = odvgp__mm_make(ta, tb, m, n, k, (odvgp_real)alpha, A, lda, B, ldb, (odvgp_real)beta, out[t], ldc);
            g.a_part = a_part;
            g.b_part = b_part;
            g.c_part = c_lower ? ODVGP__LOWER : ODVGP__FULL;
            g.w = weights ? w : NULL;
            odvgp__mm_run(&engines[isa][t].blas, &g);
            if (t) {
                CHECK_SAY(memcmp(out[t], out[0], (size_t)(m * ldc + 1) * sizeof(odvgp_real)) == 0, "%s: m %ld n %ld k %ld parts %d %d %d: %d tasks give other bits than 1",
                          isa_name[isa], (long)m, (long)n, (long)k, a_part, b_part, c_lower, cut_of[t]);
                continue;
            }
            for (i = 0; i < m; i++)
                for (j = 0; j < n; j++) {
                    double e = fabs((double)out[0][i * ldc + j] - want[i * n + j]) / (size[i * n + j] + TINY);
                    if (c_lower && j > i)
                        other += out[0][i * ldc + j] != C[i * ldc + j];
                    else if (!(e <= worst))
                        worst = e;
                }
            CHECK_SAY(worst <= ((double)k + 6) * EPS, "%s: ta %d tb %d m %ld n %ld k %ld parts %d %d %d weights %d: error %.2g eps of the size", isa_name[isa], ta, tb, (long)m,
                      (long)n, (long)k, a_part, b_part, c_lower, weights, worst / EPS);
            CHECK_INT(other, 0);
            CHECK(padding_is_whole(out[0], m, n, ldc));
        }
        for (t = 0; t < CUTS; t++) free(out[t]);
    }
    free(A), free(B), free(C), free(WB), free(w), free(want), free(size);
}
TEST(products_with_triangles) {
    int round;
    test_seed = 61;
    for (round = 0; round < 300; round++) {
        ptrdiff_t m = some_size(round), n = some_size(round / 8), k = some_size(round / 64), part = round % 3;
        int c_lower = round % 2 && m <= n + 40;
        if (c_lower) n = m; /* a lower triangle is square */
        if (part) k = m;    /* so is a triangular factor */
        try_parts((round >> 1) & 1, (round >> 2) & 1, m, n, k, (int)part, 0, c_lower, (round >> 3) & 1);
    }
    for (round = 0; round < 40; round++) {
        ptrdiff_t n = some_size(round * 5), m = some_size(round);
        try_parts(round & 1, (round >> 1) & 1, m, n, n, 0, 1 + round % 2, 0, 0);
    }
    for (round = 0; round < 12; round++) try_parts(round & 1, (round >> 1) & 1, 280 + round, 130, 280 + round, 1 + (round & 1), 0, 0, 0);
}
TEST(trmm) { /* C <- alpha op(L) B + beta C against the twin on the same, zero-filled L */
    int round, isa;
    test_seed = 62;
    for (round = 0; round < 60; round++) {
        ptrdiff_t m = some_size(round), n = some_size(round * 3), i, j;
        odvgp_real *L = triangle(m, m + 1), *B = matrix(m, n, n + 2), *C = matrix(m, n, n + 1);
        double *want = NEW(double, m * n), *size = NEW(double, m * n), alpha = round % 3 - 0.5, beta = round % 2;
        for (i = 0; i < m; i++)
            for (j = i + 1; j < m; j++) L[i * (m + 1) + j] = 0;
        ref_gemm(round & 1, 0, m, n, m, alpha, L, m + 1, B, n + 2, beta, C, n + 1, want, size);
        for (isa = 0; isa < ISAS; isa++) {
            odvgp_real *out = twin(C, m, n + 1);
            double worst = 0;
            if (engines[isa][0].there) {
                odvgp_trmm(&engines[isa][0].blas, round & 1, m, n, (odvgp_real)alpha, L, m + 1, B, n + 2, (odvgp_real)beta, out, n + 1);
                for (i = 0; i < m; i++)
                    for (j = 0; j < n; j++) {
                        double e = fabs((double)out[i * (n + 1) + j] - want[i * n + j]) / (size[i * n + j] + TINY);
                        if (!(e <= worst)) worst = e;
                    }
                CHECK_SAY(worst <= ((double)m + 5) * EPS, "%s: trmm trans %d m %ld n %ld: error %.2g eps of the size", isa_name[isa], round & 1, (long)m, (long)n, worst / EPS);
                CHECK(padding_is_whole(out, m, n, n + 1));
            }
            free(out);
        }
        free(L), free(B), free(C), free(want), free(size);
    }
}
TEST(reversed_factor) { /* P = R^T R with R lower; then R^-1 is the Cholesky factor of P^-1 */
    ptrdiff_t n, i, j, k;
    int isa, t;
    test_seed = 63;
    for (n = 0; n <= 300; n += n < 70 ? 1 : 46) {
        ptrdiff_t ld = padded(n);
        odvgp_real *P = definite(n, ld, 0.3), *out[CUTS];
        for (isa = 0; isa < ISAS; isa++) {
            double worst = 0;
            ptrdiff_t above = 0;
            if (!engines[isa][0].there) continue;
            for (t = 0; t < CUTS; t++) {
                out[t] = twin(P, n, ld);
                CHECK_STATUS(odvgp_potrf_reverse(&engines[isa][t].blas, n, out[t], ld, NULL), ODVGP_OK);
                CHECK_BITS(out[t], out[0], (size_t)(n * ld + 1) * sizeof(odvgp_real));
            }
            for (i = 0; i < n; i++) {
                for (j = 0; j <= i; j++) {
                    double r = (double)P[i * ld + j], a = fabs(r), e;
                    for (k = i; k < n; k++) {
                        double q = (double)out[0][k * ld + i] * (double)out[0][k * ld + j];
                        r -= q;
                        a += fabs(q);
                    }
                    e = fabs(r) / (a + TINY);
                    if (!(e <= worst)) worst = e;
                }
                CHECK(out[0][i * ld + i] > 0);
                for (; j < n; j++) above += out[0][i * ld + j] == out[0][i * ld + j];
            }
            CHECK_SAY(worst <= (2 * (double)n + 8) * EPS, "%s: n %ld: residual %.2g eps of the size", isa_name[isa], (long)n, worst / EPS);
            CHECK_INT(above, 0);
            for (t = 0; t < CUTS; t++) free(out[t]);
        }
        if (n) { /* a bad pivot anywhere is seen */
            ptrdiff_t bad = test_below(n);
            P[bad * ld + bad] = (odvgp_real)(n % 2 ? NAN : -1.0);
            for (isa = 0; isa < ISAS; isa++) {
                odvgp_real *copy = twin(P, n, ld);
                if (engines[isa][0].there) CHECK_STATUS(odvgp_potrf_reverse(&engines[isa][0].blas, n, copy, ld, NULL), ODVGP_E_NOT_PD);
                free(copy);
            }
        }
        free(P);
    }
}
TEST(triangular_inverse) {
    ptrdiff_t n, i, j, k;
    int isa, t;
    test_seed = 64;
    for (n = 0; n <= 300; n += n < 70 ? 1 : 46) {
        ptrdiff_t ld = padded(n);
        odvgp_real *L = triangle(n, ld), *out[CUTS];
        for (isa = 0; isa < ISAS; isa++) {
            double worst = 0;
            ptrdiff_t above = 0;
            if (!engines[isa][0].there) continue;
            for (t = 0; t < CUTS; t++) {
                out[t] = twin(L, n, ld);
                odvgp_trtri(&engines[isa][t].blas, n, out[t], ld);
                CHECK_BITS(out[t], out[0], (size_t)(n * ld + 1) * sizeof(odvgp_real));
            }
            for (i = 0; i < n; i++) {
                for (j = 0; j <= i; j++) {
                    double r = i == j, a = 0, e;
                    for (k = j; k <= i; k++) {
                        double q = (double)L[i * ld + k] * (double)out[0][k * ld + j];
                        r -= q;
                        a += fabs(q);
                    }
                    e = fabs(r) / (a + TINY);
                    if (!(e <= worst)) worst = e;
                }
                for (; j < n; j++) above += out[0][i * ld + j] == out[0][i * ld + j];
            }
            CHECK_SAY(worst <= (8 * (double)n + 8) * EPS, "%s: n %ld: residual %.2g eps of the size", isa_name[isa], (long)n, worst / EPS);
            CHECK_INT(above, 0);
            for (t = 0; t < CUTS; t++) free(out[t]);
        }
        free(L);
    }
}
/*  Adjoint of A = L L^T: with T = L^-T Phi(L^T dL) L^-1, Phi the lower triangle with half the diagonal, the derivative for the entries
    of the lower triangle is T + T^T below the diagonal and T on it. */
TEST(cholesky_adjoint) {
    static const ptrdiff_t sizes[] = {0, 1, 2, 3, 5, 8, 13, 23, 24, 25, 31, 47, 48, 49, 64, 73, 96, 97, 130, 200};
    size_t s;
    ptrdiff_t i, j, k;
    int isa, t;
    test_seed = 65;
    for (s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        ptrdiff_t n = sizes[s], ld = padded(n), ldg = padded(n);
        odvgp_real *L = triangle(n, ld), *G = matrix(n, n, ldg), *out[CUTS];
        wide *Lw = ref_new(n * n), *T = ref_new(n * n), *X = ref_new(n * n), most = 0;
        for (i = 0; i < n; i++) {
            L[i * ld + i] = (odvgp_real)fabs((double)L[i * ld + i]);
            for (j = 0; j <= i; j++) Lw[i * n + j] = (wide)L[i * ld + j];
            for (j = i + 1; j < n; j++) G[i * ldg + j] = (odvgp_real)NAN;
        }
        for (i = 0; i < n; i++)
            for (j = 0; j <= i; j++) {
                wide sum = 0;
                for (k = i; k < n; k++) sum += Lw[k * n + i] * (wide)G[k * ldg + j];
                T[i * n + j] = i == j ? sum / 2 : sum;
            }
        ref_solve_lower(1, n, n, Lw, T); /* L^-T Phi */
        for (i = 0; i < n; i++)
            for (j = 0; j < n; j++) X[i * n + j] = T[j * n + i];
        ref_solve_lower(1, n, n, Lw, X); /* X = L^-T T^T = (T L^-1)^T */
        for (i = 0; i < n; i++)
            for (j = 0; j <= i; j++) {
                T[i * n + j] = i == j ? X[i * n + i] : X[i * n + j] + X[j * n + i];
                if (fabsl(T[i * n + j]) > most) most = fabsl(T[i * n + j]);
            }
        for (isa = 0; isa < ISAS; isa++) {
            double worst = 0;
            ptrdiff_t above = 0;
            if (!engines[isa][0].there) continue;
            for (t = 0; t < CUTS; t++) {
                out[t] = twin(G, n, ldg);
                odvgp_potrf_adjoint(&engines[isa][t].blas, n, L, ld, out[t], ldg);
                CHECK_BITS(out[t], out[0], (size_t)(n * ldg + 1) * sizeof(odvgp_real));
            }
            for (i = 0; i < n; i++) {
                for (j = 0; j <= i; j++) {
                    double e = (double)(fabsl((wide)out[0][i * ldg + j] - T[i * n + j]) / most);
                    if (!(e <= worst)) worst = e;
                }
                for (; j < n; j++) above += out[0][i * ldg + j] == out[0][i * ldg + j];
            }
            CHECK_SAY(worst <= (4 * (double)n + 8) * EPS, "%s: n %ld: error %.2g eps of the largest", isa_name[isa], (long)n, worst / EPS);
            CHECK_INT(above, 0);
            CHECK(padding_is_whole(out[0], n, n, ldg));
            for (t = 0; t < CUTS; t++) free(out[t]);
        }
        free(L), free(G), free(Lw), free(T), free(X);
    }
}

int main(int argc, char **argv) {
    test_begin(argc, argv);
    start_engines();
    RUN(instruction_sets);
    RUN(gemm_of_all_forms_and_sizes);
    RUN(gemm_of_every_small_size);
    RUN(gemm_of_tall_and_wide);
    RUN(gemm_of_vectors_without_padding);
    RUN(gemm_with_beta_zero_forgets_nan);
    RUN(gemm_carries_nan_and_infinity);
    RUN(syrk_with_weights_of_any_sign);
    RUN(trsm_of_four_forms);
    RUN(potrf_of_all_sizes);
    RUN(potrf_reports_the_first_bad_pivot);
    RUN(potrf_does_not_take_nan_below_the_diagonal_for_success);
    RUN(large_operations_are_cut);
    RUN(products_with_triangles);
    RUN(trmm);
    RUN(reversed_factor);
    RUN(triangular_inverse);
    RUN(cholesky_adjoint);
    stop_engines();
    return test_end();
}
