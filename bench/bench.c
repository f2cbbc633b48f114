/*  bench.c - how long a training step takes, and how fast the linear algebra is. Prints tables; nothing is checked.

        make bench      or      build/bench [steps] [blas] [--isa c|avx2|avx512] [--repeats N] [--large off]

    A step is timed from outside, as a caller sees it: batch, bound, gradient, natural step, Adam. The members take turns, so that what
    else the machine does meets all of them; the smallest and the middle time of the repeats are printed. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *reserve(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (p) return p;
    fprintf(stderr, "bench: not enough memory\n");
    exit(2);
}

static void check(odvgp_status status, const char *what, const odvgp_info *info)
{
    if (!status) return;
    fprintf(stderr, "bench: %s: %s\n", what, info ? info->text : odvgp_status_text(status));
    exit(2);
}

static double uniform(void)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) / 9007199254740992.0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*  Threads, 1 or more; {0} for one. */
typedef struct crew {
    odvgp_pool *pool;
    void *block;
    odvgp_threads hook;
} crew;

static crew crew_start(int count)
{
    crew c;
    memset(&c, 0, sizeof c);
    if (count < 2) return c;
    size_t bytes = odvgp_pool_size(count);
    c.block = reserve(bytes);
    check(odvgp_pool_start(&c.pool, count, c.block, bytes, &c.hook), "threads", NULL);
    return c;
}

static void crew_stop(crew *c)
{
    if (c->pool) odvgp_pool_stop(c->pool);
    free(c->block);
}

static odvgp_isa isa = ODVGP_ISA_AUTO;
enum { MOST_REPEATS = 99 };
static int repeats = 7;

/* ---- training steps ---- */

typedef struct member {
    const char *name;
    int orth, natgrad;
} member;

static const member members[] = {{"COUPLED", 0, 0}, {"COUPLEDNAT", 0, 1}, {"ORTH", 1, 0}, {"ORTHNAT", 1, 1}};
enum { MEMBERS = 4 };

/*  Steps on N standardised rows of a smooth function with the paper's settings: Matern 5/2 plus RBF, 64 gamma columns. */
static void bench_steps(ptrdiff_t M, ptrdiff_t Mg, ptrdiff_t B, ptrdiff_t D, int threads)
{
    const ptrdiff_t N = 20 * B;
    double *X = (double *)reserve((size_t)(N * D) * sizeof *X), *y = (double *)reserve((size_t)N * sizeof *y);
    double times[MEMBERS][MOST_REPEATS];
    odvgp_model *model[MEMBERS];
    crew c = crew_start(threads);
    odvgp_info info;
    for (ptrdiff_t i = 0; i < N; i++) {
        for (ptrdiff_t d = 0; d < D; d++) X[i * D + d] = 3.4 * uniform() - 1.7;
        y[i] = sin(2 * X[i * D]) + 0.5 * cos(3 * X[i * D + D - 1]) + 0.4 * (uniform() - 0.5);
    }
    for (int k = 0; k < MEMBERS; k++) {
        char kernel[100];
        odvgp_config cfg = odvgp_config_defaults(N, D, 1, M, members[k].orth ? Mg : 0);
        snprintf(kernel, sizeof kernel, "matern52(%.17g, variance=1) + rbf(%.17g, variance=1)", 0.1 * sqrt((double)D),
                 sqrt((double)D));
        cfg.kernel = kernel;
        cfg.noise_variance = 0.1;
        cfg.batch = B;
        cfg.gamma_batch = 64;
        cfg.natgrad = members[k].natgrad;
        cfg.threads = c.hook;
        cfg.isa = isa;
        check(odvgp_model_create(&model[k], &cfg, X, y, NULL, &info), members[k].name, &info);
        check(odvgp_step(model[k], X, y, NULL, &info), members[k].name, &info); /* the first touches the memory */
    }
    int count = 1; /* steps per repeat: enough to be well above the clock's resolution */
    double from = now();
    check(odvgp_step(model[0], X, y, NULL, &info), "step", &info);
    while (count < 50 && count * (now() - from) < 0.05) count++;
    for (int r = 0; r < repeats; r++)
        for (int k = 0; k < MEMBERS; k++) {
            from = now();
            for (int s = 0; s < count; s++) check(odvgp_step(model[k], X, y, NULL, &info), members[k].name, &info);
            times[k][r] = 1e3 * (now() - from) / count;
        }
    for (int k = 0; k < MEMBERS; k++) {
        qsort(times[k], (size_t)repeats, sizeof times[k][0], by_size);
        printf("%-11s %6td %7td %6td %3td %8d %9.1f %9.1f\n", members[k].name, M, members[k].orth ? Mg : (ptrdiff_t)0, B, D,
               threads, times[k][0], times[k][repeats / 2]);
        odvgp_model_free(model[k]);
    }
    fflush(stdout);
    crew_stop(&c);
    free(X);
    free(y);
}

/* ---- linear algebra ---- */

typedef struct problem {
    odvgp_blas blas;
    ptrdiff_t n;
    double *A, *B, *C, *L, *S; /* [n,n]: two random ones, a result, a lower triangle, a positive definite one */
} problem;

static void run_gemm(problem *p) { odvgp_gemm(&p->blas, 0, 1, p->n, p->n, p->n, 1, p->A, p->n, p->B, p->n, 0, p->C, p->n); }
static void run_syrk(problem *p) { odvgp_syrk(&p->blas, 0, p->n, p->n, 1, p->A, p->n, NULL, 0, p->C, p->n); }
static void run_potrf(problem *p)
{
    memcpy(p->C, p->S, (size_t)(p->n * p->n) * sizeof *p->C);
    check(odvgp_potrf(&p->blas, p->n, p->C, p->n, NULL), "potrf", NULL);
}
static void run_trsm(problem *p)
{
    memcpy(p->C, p->B, (size_t)(p->n * p->n) * sizeof *p->C);
    odvgp_trsm(&p->blas, 0, 0, p->n, p->n, p->L, p->n, p->C, p->n);
}

typedef struct routine {
    const char *name;
    void (*run)(problem *p);
    double flops; /* times n^3 */
} routine;

static const routine routines[] = {
    {"gemm", run_gemm, 2}, {"syrk", run_syrk, 1}, {"trsm", run_trsm, 1}, {"potrf", run_potrf, 1.0 / 3}};
enum { ROUTINES = 4 };

/*  GFLOP/s of the fastest repeat. */
static double bench_routine(const routine *r, problem *p)
{
    double work = r->flops * (double)p->n * (double)p->n * (double)p->n, best = 1e300;
    int count = work < 2e7 ? (int)(2e7 / work) + 1 : 1;
    for (int k = 0; k < repeats; k++) {
        double from = now();
        for (int i = 0; i < count; i++) r->run(p);
        double seconds = (now() - from) / count;
        if (seconds < best) best = seconds;
    }
    return 1e-9 * work / best;
}

static void bench_blas(int threads)
{
    static const ptrdiff_t sizes[] = {64, 128, 256, 512, 1024};
    crew c = crew_start(threads);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        problem p;
        ptrdiff_t n = p.n = sizes[s];
        size_t bytes = odvgp_blas_size(&c.hook), area = (size_t)(n * n) * sizeof(double);
        void *block = reserve(bytes);
        double *all = (double *)reserve(5 * area);
        check(odvgp_blas_init(&p.blas, &c.hook, isa, block, bytes), "instruction set", NULL);
        p.A = all, p.B = all + n * n, p.C = all + 2 * n * n, p.L = all + 3 * n * n, p.S = all + 4 * n * n;
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = 0; j < n; j++) {
                p.A[i * n + j] = uniform() - 0.5;
                p.B[i * n + j] = uniform() - 0.5;
                p.L[i * n + j] = i == j ? 2 : j < i ? (uniform() - 0.5) / (double)n : 0;
                p.S[i * n + j] = i == j ? (double)n : 1 / (1 + (double)(i > j ? i - j : j - i));
            }
        printf("%5td %8d", n, threads);
        for (int r = 0; r < ROUTINES; r++) printf(" %8.1f", bench_routine(&routines[r], &p));
        printf("\n");
        fflush(stdout);
        free(all);
        free(block);
    }
    crew_stop(&c);
}

/* ---- the program ---- */

static void print_machine(void)
{
    char line[300], model[300] = "unknown processor";
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(model, sizeof model, "%s", colon + 2);
        break;
    }
    if (f) fclose(f);
    odvgp_blas blas;
    odvgp_threads serial = {NULL, NULL, 0};
    size_t bytes = odvgp_blas_size(&serial);
    void *block = reserve(bytes);
    check(odvgp_blas_init(&blas, &serial, isa, block, bytes), "instruction set", NULL);
#if defined(__clang__)
    const char *compiler = "clang " __clang_version__;
#elif defined(__VERSION__)
    const char *compiler = "gcc " __VERSION__;
#else
    const char *compiler = "unknown compiler";
#endif
#ifdef __OPTIMIZE__
    const char *optimised = "optimised";
#else
    const char *optimised = "NOT OPTIMISED";
#endif
    printf("odvgp.h %d.%d.%d, double; %s, %s\n%s, %ld cores online; instruction set %s; %d repeats\n", ODVGP_VERSION / 10000,
           ODVGP_VERSION / 100 % 100, ODVGP_VERSION % 100, compiler, optimised, model, sysconf(_SC_NPROCESSORS_ONLN),
           odvgp_blas_isa(&blas), repeats);
    free(block);
}

static int usage(void)
{
    fprintf(stderr, "usage: bench [steps] [blas] [--isa c|avx2|avx512] [--repeats N] [--large off]\n");
    return 2;
}

int main(int argc, char **argv)
{
    int steps = 0, algebra = 0, large = 1;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "steps")) steps = 1;
        else if (!strcmp(argv[i], "blas")) algebra = 1;
        else if (!strcmp(argv[i], "--isa") && ++i) {
            if (!strcmp(value, "c")) isa = ODVGP_ISA_C;
            else if (!strcmp(value, "avx2")) isa = ODVGP_ISA_AVX2;
            else if (!strcmp(value, "avx512")) isa = ODVGP_ISA_AVX512;
            else return usage();
        } else if (!strcmp(argv[i], "--repeats") && ++i) {
            repeats = atoi(value);
            if (repeats < 1 || repeats > MOST_REPEATS) return usage();
        } else if (!strcmp(argv[i], "--large") && ++i) {
            if (strcmp(value, "off")) return usage();
            large = 0;
        } else return usage();
    }
    if (!steps && !algebra) steps = algebra = 1;
    print_machine();
    if (steps) {
        printf("\nTraining step, milliseconds\n%-11s %6s %7s %6s %3s %8s %9s %9s\n", "member", "|beta|", "|gamma|", "B", "D",
               "threads", "least", "median");
        for (int threads = 1; threads <= 2; threads++) bench_steps(300, 700, 1024, 8, threads);
        for (int threads = 1; threads <= 2 && large; threads++) bench_steps(1500, 3500, 1024, 3, threads);
    }
    if (algebra) {
        printf("\nLinear algebra, GFLOP/s of the fastest repeat\n%5s %8s", "n", "threads");
        for (int r = 0; r < ROUTINES; r++) printf(" %8s", routines[r].name);
        printf("\n");
        for (int threads = 1; threads <= 2; threads++) bench_blas(threads);
    }
    return 0;
}
