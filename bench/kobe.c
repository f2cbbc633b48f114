/*  kobe.c - figures 4.1 to 4.9 of Kobe (Efficiently-Parametrised Approximate Posteriors in Pseudo-Point Approximations to Gaussian
    Processes, MPhil thesis, 2021): natural gradients beside Adam on one-dimensional sets and on naval, and the O(M) covariance
    with its natural steps.

        make figures-kobe DATA=dir          or          build/kobe run | report  [options], see --help

    run       trains what is listed in `settings` below, one run after the other. NAME.csv receives rows as a run goes on, and rows.csv a
              line when it has ended; what stands there is not run again
    report    prints a table for each figure and whether the statements of the text hold, and draws figure-4.1.svg and so on, from
              whatever runs there are

    The thesis prints pictures and no numbers, so that what can be compared is what it says of them. What it does not say was chosen
    as follows. q starts at the prior in whitened coordinates, as GPflow's does (unit covariance); "Adam, u" is Adam on the mean and
    the root of the covariance of u themselves. Natural steps are of 0.1 unless a number is given. Inducing inputs stay at their
    k-means: the text counts lengthscale, variance and noise as hyperparameters, and O(M) does not survive their training (4.7Z is
    figure 4.7 with it). O(M)'s mu starts at 0, g at 1. Hyperparameters move first, then q. 0.112 and 0.5 are taken for the kernel's
    variance, not for its root. "Projected" is the thesis' natural step, eq. 3.20, in (mu, g), "of S^-1 m" the same in (S^-1 m, g).

    Bounds are of all rows of data, also where training saw minibatches. The bound at the end is the median of the last rows of the
    curve, up to eleven. Steps to a bound count to the first row that is not below it; rows are 7 % of the steps or a hundredth of
    the run apart. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "plot.h"
#include "table.h"
#include <stdarg.h>
#include <time.h>
#include "figure_data.h"

static const char usage[] =
    "usage: kobe run|report [PREFIX...] [--data FILE] [--out DIR]\n"
    "  PREFIX        only runs whose names begin so, as 4.7 or 4.3-N100; default all\n"
    "  --data FILE   naval as a CSV file whose last column is the target; without it naval is left out\n"
    "  --out DIR     where everything is kept, default build/figures-kobe; it must exist\n";

static struct {
    const char *out, *data;
} option = {"build/figures-kobe", NULL};

/* ---- what is run ---- */

typedef enum method_id {
    NATURAL,
    NATURAL_1,
    ADAM,
    ADAM_U,
    OM_AFFINE,
    OM_EXACT,
    OM_PROJECTED,
    OM_PROJECTED_LAMBDA,
    OM_AFFINE_LARGER,
    OM_EXACT_LARGER,
    BEST,
    BEST_OM,
    BEST_OM_2,
    METHODS
} method_id;

/*  BEST is what can be reached: the bound with the best q as a function of the hyperparameters, maximised from the true ones; q's
    optimum alone where hyperparameters are fixed. BEST_OM is that of O(M)'s bound, BEST_OM_2 the same from another start,
    which has the short lengthscale and the small variance that training comes by. */
typedef struct method {
    const char *id, *title;
    odvgp_cov_part cov;
    odvgp_diag_step diag;
    odvgp_param param;
    double step; /* of natural gradients; 0: Adam alone */
} method;

static const method methods[METHODS] = {
    {"natural", "natural", ODVGP_COV_DENSE, ODVGP_DIAG_AFFINE, ODVGP_WHITENED, 0.1},
    {"natural-1", "natural, 1", ODVGP_COV_DENSE, ODVGP_DIAG_AFFINE, ODVGP_WHITENED, 1},
    {"adam", "Adam", ODVGP_COV_DENSE, ODVGP_DIAG_AFFINE, ODVGP_WHITENED, 0},
    {"adam-u", "Adam, u", ODVGP_COV_DENSE, ODVGP_DIAG_AFFINE, ODVGP_PRIMAL, 0},
    {"om-affine", "O(M) affine", ODVGP_COV_DIAGONAL, ODVGP_DIAG_AFFINE, ODVGP_WHITENED, 0.1},
    {"om-exact", "O(M) exact", ODVGP_COV_DIAGONAL, ODVGP_DIAG_EXACT, ODVGP_WHITENED, 0.1},
    {"om-projected", "O(M) projected", ODVGP_COV_DIAGONAL, ODVGP_DIAG_PROJECTED_MU, ODVGP_WHITENED, 0.1},
    {"om-lambda", "the same of S^-1 m", ODVGP_COV_DIAGONAL, ODVGP_DIAG_PROJECTED, ODVGP_WHITENED, 0.1},
    {"om-affine-0.3", "O(M) affine, 0.3", ODVGP_COV_DIAGONAL, ODVGP_DIAG_AFFINE, ODVGP_WHITENED, 0.3},
    {"om-exact-0.3", "O(M) exact, 0.3", ODVGP_COV_DIAGONAL, ODVGP_DIAG_EXACT, ODVGP_WHITENED, 0.3},
    {"best", "best, dense", ODVGP_COV_DENSE, ODVGP_DIAG_AFFINE, ODVGP_WHITENED, 0},
    {"best-om", "best, O(M)", ODVGP_COV_DIAGONAL, ODVGP_DIAG_AFFINE, ODVGP_WHITENED, 0.1},
    {"best-om-2", "the same, 2nd start", ODVGP_COV_DIAGONAL, ODVGP_DIAG_AFFINE, ODVGP_WHITENED, 0.1},
};

typedef enum source { SINUSOID, GP_DRAW, NAVAL } source;

enum {
    PAIR = 1 << NATURAL | 1 << ADAM,
    THREE = PAIR | 1 << ADAM_U,
    FAMILY = PAIR | 1 << OM_AFFINE | 1 << OM_EXACT | 1 << OM_PROJECTED | 1 << OM_PROJECTED_LAMBDA,
    LARGER = 1 << NATURAL_1 | 1 << OM_AFFINE_LARGER | 1 << OM_EXACT_LARGER,
    OPTIMA = 1 << BEST | 1 << BEST_OM | 1 << BEST_OM_2
};

typedef struct setting {
    const char *figure;
    source data;
    int N, M, batch;
    double noise; /* variance, of the data */
    int seed, steps;
    unsigned methods;
} setting;

/*  Figures 4.3 to 4.5 are a grid over N, M, batch and noise, of which this has every corner and the middle. With M = 1000 a step takes
    up to a second, so that these runs are shorter than what they need, as is one of M = 100. Figure 4.6 is the dense part of 4.9, figure 4.8 shows the
    predictions of 4.7, whose further seeds answer the question about the kernel's variance. */
static const setting settings[] = {
    {"4.1", SINUSOID, 300, 10, 300, 0.01, 1, 10000, THREE | 1 << NATURAL_1 | 1 << BEST},
    {"4.2", SINUSOID, 100, 10, 100, 0.01, 1, 10000, THREE | 1 << NATURAL_1},
    {"4.3", SINUSOID, 100, 10, 10, 0.1, 1, 5000, PAIR},
    {"4.3", SINUSOID, 100, 10, 10, 0.01, 1, 5000, PAIR},
    {"4.3", SINUSOID, 100, 10, 10, 0.001, 1, 5000, PAIR},
    {"4.3", SINUSOID, 100, 10, 100, 0.1, 1, 5000, PAIR | 1 << NATURAL_1},
    {"4.3", SINUSOID, 100, 10, 100, 0.01, 1, 5000, PAIR | 1 << NATURAL_1},
    {"4.3", SINUSOID, 100, 10, 100, 0.001, 1, 5000, PAIR | 1 << NATURAL_1},
    {"4.3", SINUSOID, 1000, 10, 100, 0.01, 1, 5000, PAIR},
    {"4.3", SINUSOID, 1000, 10, 1000, 0.01, 1, 5000, PAIR | 1 << NATURAL_1},
    {"4.3", SINUSOID, 10000, 10, 10, 0.1, 1, 5000, PAIR},
    {"4.3", SINUSOID, 10000, 10, 10, 0.001, 1, 5000, PAIR},
    {"4.3", SINUSOID, 10000, 10, 10000, 0.1, 1, 3000, PAIR | 1 << NATURAL_1},
    {"4.3", SINUSOID, 10000, 10, 10000, 0.001, 1, 3000, PAIR | 1 << NATURAL_1},
    {"4.4", SINUSOID, 1000, 100, 1000, 0.1, 1, 3000, PAIR | 1 << NATURAL_1},
    {"4.4", SINUSOID, 1000, 100, 1000, 0.01, 1, 3000, PAIR | 1 << NATURAL_1},
    {"4.4", SINUSOID, 1000, 100, 1000, 0.001, 1, 3000, PAIR | 1 << NATURAL_1},
    {"4.4", SINUSOID, 10000, 100, 10000, 0.01, 1, 1000, PAIR | 1 << NATURAL_1},
    {"4.4", SINUSOID, 10000, 1000, 10000, 0.1, 1, 60, PAIR},
    {"4.4", SINUSOID, 10000, 1000, 10000, 0.001, 1, 60, PAIR},
    {"4.5", SINUSOID, 1000, 100, 10, 0.1, 1, 5000, PAIR},
    {"4.5", SINUSOID, 1000, 100, 10, 0.001, 1, 5000, PAIR},
    {"4.5", SINUSOID, 1000, 100, 100, 0.01, 1, 5000, PAIR},
    {"4.5", SINUSOID, 10000, 100, 100, 0.01, 1, 5000, PAIR},
    {"4.5", SINUSOID, 10000, 1000, 10, 0.1, 1, 500, PAIR},
    {"4.5", SINUSOID, 10000, 1000, 10, 0.001, 1, 500, PAIR},
    {"4.7", GP_DRAW, 1000, 50, 1000, 0.01, 1, 10000, FAMILY | 1 << ADAM_U | LARGER | OPTIMA},
    {"4.7", GP_DRAW, 1000, 50, 1000, 0.01, 2, 10000, FAMILY | LARGER | OPTIMA},
    {"4.7", GP_DRAW, 1000, 50, 1000, 0.01, 3, 10000, FAMILY | LARGER | OPTIMA},
    {"4.7", GP_DRAW, 1000, 50, 1000, 0.01, 4, 10000, FAMILY | LARGER | OPTIMA},
    {"4.7", GP_DRAW, 1000, 50, 1000, 0.01, 5, 10000, FAMILY | LARGER | OPTIMA},
    {"4.7Z", GP_DRAW, 1000, 50, 1000, 0.01, 1, 5000, FAMILY},
    {"4.9", NAVAL, 11000, 100, 256, 0, 1, 20000, FAMILY | 1 << ADAM_U | 1 << BEST | 1 << BEST_OM},
};
enum { SETTINGS = sizeof settings / sizeof *settings, GRID = 401 };

static const double true_lengthscale = 0.1, true_variance = 0.5, least_g = 1e-10;

static void name_of(char *name, size_t size, const setting *s, int m)
{
    snprintf(name, size, "%s-N%d-M%d-b%d-n%g-s%d-%s", s->figure, s->N, s->M, s->batch, s->noise, s->seed, methods[m].id);
}

static FILE *file_open(const char *name, const char *end, const char *mode)
{
    char *path = path_in(option.out, name, end);
    FILE *f = fopen(path, mode);
    if (!f && *mode != 'r') fail(path, "cannot be written");
    free(path);
    return f;
}

/* ---- data ---- */

static double uniform(int seed, ptrdiff_t i)
{
    const uint64_t many = UINT64_C(1) << 53;
    return ((double)random_below((uint64_t)seed, (uint64_t)i, many) + 0.5) / (double)many;
}

/*  Of two uniform numbers, Box and Muller's way. */
static double normal(int seed, ptrdiff_t i)
{
    const double turn = 6.283185307179586;
    return sqrt(-2 * log(uniform(seed, 2 * i))) * cos(turn * uniform(seed, 2 * i + 1));
}

static double rbf(double x, double z, double lengthscale, double variance)
{
    double r = (x - z) / lengthscale;
    return variance * exp(-0.5 * r * r);
}

/*  y = L e with L L^T = K + noise I: exact, and positive definite without help. */
static void draw_gp(const dataset *d, double noise, int seed)
{
    odvgp_blas blas;
    odvgp_info info;
    size_t bytes = odvgp_blas_size(NULL);
    void *block = reserve(bytes);
    double *K = reserve_reals(d->N * d->N);
    for (ptrdiff_t i = 0; i < d->N; i++) {
        for (ptrdiff_t j = 0; j <= i; j++) K[i * d->N + j] = rbf(d->X[i], d->X[j], true_lengthscale, true_variance);
        K[i * d->N + i] += noise;
    }
    check(odvgp_blas_init(&blas, NULL, ODVGP_ISA_AUTO, block, bytes), "blas", NULL);
    check(odvgp_potrf(&blas, d->N, K, d->N, &info), "covariance of the data", &info);
    for (ptrdiff_t i = 0; i < d->N; i++)
        for (ptrdiff_t j = 0; j <= i; j++) d->y[i] += K[i * d->N + j] * normal(seed + 200, j);
    free(K);
    free(block);
}

static dataset data_of(const setting *s)
{
    const double pi = 3.141592653589793;
    if (s->data == NAVAL) {
        dataset naval = dataset_read(option.data, s->N, 1, (uint64_t)s->seed);
        if (naval.N != s->N) fail(option.data, "has fewer rows than the thesis trains on");
        return naval;
    }
    dataset d = {s->N, 1, reserve_reals(s->N), reserve_reals(s->N)};
    for (ptrdiff_t i = 0; i < d.N; i++) d.X[i] = 2 * uniform(s->seed, i) - 1;
    if (s->data == GP_DRAW) {
        draw_gp(&d, s->noise, s->seed);
        return d;
    }
    for (ptrdiff_t i = 0; i < d.N; i++) {
        double x = pi * d.X[i];
        d.y[i] = sin(3 * x) + 0.3 * cos(9 * x) + 0.5 * sin(7 * x) + sqrt(s->noise) * normal(s->seed + 100, i);
    }
    return d;
}

static void data_free(dataset *d)
{
    free(d->X);
    free(d->y);
    d->X = d->y = NULL;
}

/* ---- training ---- */

static int is_best(int m) { return m == BEST || m == BEST_OM || m == BEST_OM_2; }

static int hyper_fixed(const setting *s) { return !strcmp(s->figure, "4.1"); }
static int inputs_move(const setting *s) { return !strcmp(s->figure, "4.7Z"); }

static const char *kernel_of(const setting *s, int m)
{
    if (s->data == NAVAL) return "matern52(4, variance=2)";
    if (hyper_fixed(s)) return "rbf(0.813, variance=0.112)";
    return m == BEST_OM_2 ? "rbf(0.05, variance=0.05)" : is_best(m) ? "rbf(0.1, variance=0.5)" : "rbf";
}

static odvgp_config config_of(const setting *s, int m, const dataset *d)
{
    const method *how = &methods[m];
    odvgp_config cfg = odvgp_config_defaults(d->N, d->D, 1, s->M, 0);
    cfg.cov_part = how->cov, cfg.param = how->param, cfg.diag_step = how->diag;
    if (how->cov == ODVGP_COV_DIAGONAL) cfg.mean_part = ODVGP_MEAN_FREE;
    cfg.kernel = kernel_of(s, m);
    cfg.init_hyper = ODVGP_HYPER_ULAPANE;
    cfg.noise_variance = hyper_fixed(s) ? 0.045 : m == BEST_OM_2 ? 0.02 : is_best(m) ? s->noise : 0.1;
    cfg.q_init = ODVGP_Q_IDENTITY;
    /* with the thesis' jitter the search for O(M)'s optimum stops early on some sets */
    cfg.jitter = is_best(m) && !hyper_fixed(s) ? 1e-6 : 1e-10, cfg.jitter_rel = 0;
    cfg.batch = s->batch;
    cfg.lr = odvgp_constant(0.01);
    cfg.natgrad = how->step > 0;
    if (cfg.natgrad)
        cfg.natgrad_step = s->data == NAVAL ? odvgp_falling(1e-4, how->step, 40) : odvgp_constant(how->step); /* rises */
    cfg.update = ODVGP_ADAM_FIRST;
    cfg.seed = (uint64_t)s->seed;
    return cfg;
}

static odvgp_model *model_of(const setting *s, int m, const dataset *d)
{
    odvgp_model *model;
    odvgp_info info;
    odvgp_config cfg = config_of(s, m, d);
    check(odvgp_model_create(&model, &cfg, d->X, d->y, NULL, &info), "model", &info);
    if (odvgp_slot_find(model, "q_diag")) {
        double *g = reserve_reals(s->M);
        for (int i = 0; i < s->M; i++) g[i] = 1;
        check(odvgp_set(model, "q_diag", g, s->M, &info), "q_diag", &info);
        free(g);
        /* the thesis adds its jitter to g; without it components whose best value is 0 fall past the smallest number */
        check(odvgp_set_bounds(model, "q_diag", least_g, HUGE_VAL), "q_diag", NULL);
    }
    if (hyper_fixed(s)) {
        odvgp_set_trainable(model, "kernel.*", 0);
        odvgp_set_trainable(model, "noise_variance", 0);
    }
    if (!inputs_move(s)) odvgp_set_trainable(model, "Z_*", 0);
    return model;
}

/*  One row of a curve. */
typedef struct point {
    double step, seconds, bound, lengthscale, variance, noise; /* bound: nats per row of data */
} point;

static odvgp_status point_write(FILE *f, odvgp_model *model, const dataset *d, double step, double seconds, odvgp_info *info)
{
    point p = {step, seconds, 0, 0, 0, 0};
    odvgp_status status = odvgp_elbo(model, d->X, d->y, d->N, &p.bound, NULL, NULL, info);
    if (status) return status;
    check(odvgp_get(model, "kernel.0.lengthscale", &p.lengthscale, 1), "lengthscale", NULL);
    check(odvgp_get(model, "kernel.0.variance", &p.variance, 1), "variance", NULL);
    check(odvgp_get(model, "noise_variance", &p.noise, 1), "noise", NULL);
    fprintf(f, "%.0f,%.4f,%.9g,%.6g,%.6g,%.6g\n", p.step, p.seconds, p.bound / (double)d->N, p.lengthscale, p.variance,
            p.noise);
    fflush(f);
    return ODVGP_OK;
}

/*  Steps with a row each at first, then wider apart; a bound of all rows takes as long as a step and more. */
static ptrdiff_t next_row(ptrdiff_t step, const setting *s)
{
    ptrdiff_t apart = step / 15, most = s->steps / (s->M < 1000 ? 100 : 20);
    if (apart > most) apart = most;
    return step + (apart < 1 ? 1 : apart);
}

/*  Returns the steps done; rows go to f. */
static ptrdiff_t train(odvgp_model *model, const setting *s, const dataset *d, FILE *f, double *seconds, odvgp_info *info)
{
    ptrdiff_t done = 0, next = 0;
    for (;; done++) {
        if (done == next || done == s->steps) {
            if (point_write(f, model, d, (double)done, *seconds, info)) break;
            next = next_row(done, s);
        }
        if (done == s->steps) break;
        double from = cpu_seconds();
        odvgp_status status = odvgp_step(model, d->X, d->y, NULL, info);
        *seconds += cpu_seconds() - from;
        if (status) break;
    }
    return done;
}

static const char *const hyper[3] = {"kernel.0.lengthscale", "kernel.0.variance", "noise_variance"};

/*  -bound, and its slopes in the logarithms of the hyperparameters. */
static double loss_of(odvgp_model *model, const dataset *d, double slope[3])
{
    odvgp_info info;
    double *grad = reserve_reals(odvgp_param_count(model)), value, elbo = 0;
    odvgp_status status = odvgp_elbo(model, d->X, d->y, d->N, &elbo, NULL, grad, &info);
    for (int i = 0; i < 3 && !status; i++) {
        check(odvgp_get(model, hyper[i], &value, 1), hyper[i], NULL);
        slope[i] = value * grad[odvgp_slot_find(model, hyper[i])->offset];
    }
    free(grad);
    return status ? HUGE_VAL : -elbo;
}

static double largest(const double v[3]) { return fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2]))); }

/*  The same at the best q for the hyperparameters e^t; the slopes are those of the maximum over q, since q is at its optimum. */
static double best_loss(odvgp_model *model, const dataset *d, const double t[3], double slope[3])
{
    odvgp_info info;
    for (int i = 0; i < 3; i++) {
        double value = exp(t[i]);
        check(odvgp_set(model, hyper[i], &value, 1, &info), hyper[i], &info);
    }
    fit_q(model, d);
    return loss_of(model, d, slope);
}

/*  H of BFGS from a step s and the change y of the slopes. */
static void bfgs_update(double H[3][3], const double s[3], const double y[3])
{
    double sy = 0, Hy[3] = {0, 0, 0}, yHy = 0;
    for (int i = 0; i < 3; i++) sy += s[i] * y[i];
    if (!(sy > 0)) return;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) Hy[i] += H[i][j] * y[j];
    for (int i = 0; i < 3; i++) yHy += y[i] * Hy[i];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) H[i][j] += (1 + yHy / sy) * s[i] * s[j] / sy - (Hy[i] * s[j] + s[i] * Hy[j]) / sy;
}

/*  To the optimum over hyperparameters and q together, by BFGS over the former. Returns how many points were looked at. */
static ptrdiff_t maximise(odvgp_model *model, const dataset *d)
{
    double t[3], g[3], H[3][3] = {{1e-3, 0, 0}, {0, 1e-3, 0}, {0, 0, 1e-3}};
    for (int i = 0; i < 3; i++) {
        check(odvgp_get(model, hyper[i], &t[i], 1), hyper[i], NULL);
        t[i] = log(t[i]);
    }
    double loss = best_loss(model, d, t, g);
    ptrdiff_t looks = 1;
    while (looks < 150 && largest(g) > 1e-3) {
        double p[3], at[3], there[3], slope = 0, length = 1, next = HUGE_VAL;
        for (int i = 0; i < 3; i++) p[i] = -(H[i][0] * g[0] + H[i][1] * g[1] + H[i][2] * g[2]), slope += p[i] * g[i];
        if (largest(p) > 0.5) length = 0.5 / largest(p);
        for (; length > 1e-6; length /= 2) {
            for (int i = 0; i < 3; i++) at[i] = t[i] + length * p[i];
            next = best_loss(model, d, at, there);
            looks++;
            if (next <= loss + 1e-4 * length * slope) break;
        }
        if (!(length > 1e-6)) break;
        double s[3], y[3];
        for (int i = 0; i < 3; i++) s[i] = at[i] - t[i], y[i] = there[i] - g[i], t[i] = at[i], g[i] = there[i];
        loss = next;
        bfgs_update(H, s, y);
    }
    best_loss(model, d, t, g);
    return looks;
}

static ptrdiff_t find_best(odvgp_model *model, const setting *s, const dataset *d, FILE *f, double *seconds, odvgp_info *info)
{
    double from = cpu_seconds();
    ptrdiff_t looks = 1;
    if (hyper_fixed(s)) fit_q(model, d);
    else looks = maximise(model, d);
    *seconds = cpu_seconds() - from;
    return point_write(f, model, d, (double)looks, *seconds, info) ? 0 : looks;
}

/*  The grid that predictions are drawn on. */
static void predictions_write(odvgp_model *model, const char *name)
{
    static double x[GRID], mean[GRID], var[GRID];
    odvgp_info info;
    for (int i = 0; i < GRID; i++) x[i] = -1.1 + 2.2 * i / (GRID - 1);
    check(odvgp_predict_once(model, x, GRID, mean, var, &info), "prediction", &info);
    FILE *f = file_open(name, ".grid.csv", "w");
    fprintf(f, "x,mean,sd\n");
    for (int i = 0; i < GRID; i++) fprintf(f, "%.6g,%.9g,%.9g\n", x[i], mean[i], sqrt(var[i]));
    fclose(f);
}

/*  A line of rows.csv: what a curve does not say. */
typedef struct ending {
    int asked, done, numbers; /* steps; numbers that q consists of */
    double seconds, jitter_raised, shortened, undone, slope;
} ending;

static int ending_read(const char *name, ending *e)
{
    char line[400], path_name[200];
    FILE *f = file_open("rows", ".csv", "r");
    int found = 0;
    while (f && fgets(line, sizeof line, f)) {
        ending r;
        if (sscanf(line, "%199[^,],%d,%d,%d,%lf,%lf,%lf,%lf,%lf", path_name, &r.asked, &r.done, &r.numbers, &r.seconds,
                   &r.jitter_raised, &r.shortened, &r.undone, &r.slope) == 9 &&
            !strcmp(path_name, name))
            *e = r, found = 1; /* the last one counts */
    }
    if (f) fclose(f);
    return found;
}

static int numbers_of_q(const odvgp_model *model, int M)
{
    return odvgp_slot_find(model, "q_diag") ? 2 * M : M + M * (M + 1) / 2;
}

static void run(const setting *s, int m, const dataset *d)
{
    char name[120];
    double slope[3];
    odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
    name_of(name, sizeof name, s, m);
    odvgp_model *model = model_of(s, m, d);
    FILE *f = file_open(name, ".csv", "w");
    fprintf(f, "step,cpu_seconds,bound_per_row,lengthscale,kernel_variance,noise_variance\n");
    ending e = {s->steps, 0, numbers_of_q(model, s->M), 0, 0, 0, 0, 0};
    e.done = (int)(is_best(m) ? find_best(model, s, d, f, &e.seconds, &info) : train(model, s, d, f, &e.seconds, &info));
    fclose(f);
    if (info.status) fprintf(stderr, "%s: ended after %d steps: %s\n", name, e.done, info.text);
    else if (isfinite(loss_of(model, d, slope))) e.slope = largest(slope);
    odvgp_events events = odvgp_model_events(model);
    e.jitter_raised = (double)events.jitter_raised, e.shortened = (double)events.step_shortened;
    e.undone = (double)events.step_undone;
    if (s->data == GP_DRAW && !info.status) predictions_write(model, name);
    char *path = path_in(option.out, "rows", ".csv");
    FILE *rows = fopen(path, "r");
    int fresh = !rows;
    if (rows) fclose(rows);
    rows = fopen(path, "a");
    if (!rows) fail(path, "cannot be written");
    if (fresh) fprintf(rows, "name,steps,done,numbers,cpu_seconds,jitter_raised,shortened,undone,slope\n");
    fprintf(rows, "%s,%d,%d,%d,%.3f,%.0f,%.0f,%.0f,%.4g\n", name, e.asked, e.done, e.numbers, e.seconds, e.jitter_raised,
            e.shortened, e.undone, e.slope);
    fclose(rows);
    free(path);
    fprintf(stderr, "%-45s %6d steps, %7.1f s\n", name, e.done, e.seconds);
    odvgp_model_free(model);
}

static int is_chosen(const char *name, char **prefix, int count)
{
    for (int i = 0; i < count; i++)
        if (!strncmp(name, prefix[i], strlen(prefix[i]))) return 1;
    return !count;
}

static void run_all(char **prefix, int count)
{
    char name[120];
    for (int i = 0; i < SETTINGS; i++) {
        const setting *s = &settings[i];
        dataset d = {0, 0, NULL, NULL};
        if (s->data == NAVAL && !option.data) {
            fprintf(stderr, "%s: left out, --data is not given\n", s->figure);
            continue;
        }
        for (int m = 0; m < METHODS; m++) {
            ending e;
            name_of(name, sizeof name, s, m);
            if (!(s->methods & 1U << m) || !is_chosen(name, prefix, count)) continue;
            if (ending_read(name, &e) && e.asked == s->steps) continue;
            if (!d.N) d = data_of(s);
            run(s, m, &d);
        }
        data_free(&d);
    }
}

/* ---- what the runs say ---- */

enum { LATE = 11 };

/*  A run as it was kept; its last row, the best of its rows. */
typedef struct result {
    int there, n;
    point *rows;
    const point *last, *best;
    double late; /* median bound of the last rows: minibatches make bounds jump */
    ending end;
} result;

static result results[SETTINGS][METHODS];

static double median_of_last(const result *r)
{
    double sorted[LATE];
    int n = r->n / 10 < LATE ? r->n / 10 + 1 : LATE;
    for (int k = 0; k < n; k++) {
        double v = r->rows[r->n - n + k].bound;
        int at = k;
        for (; at > 0 && sorted[at - 1] > v; at--) sorted[at] = sorted[at - 1];
        sorted[at] = v;
    }
    return sorted[n / 2];
}

static void result_read(result *r, const char *name)
{
    char line[400];
    point p;
    FILE *f = ending_read(name, &r->end) ? file_open(name, ".csv", "r") : NULL;
    int room = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf", &p.step, &p.seconds, &p.bound, &p.lengthscale, &p.variance, &p.noise) != 6)
            continue;
        if (r->n == room) {
            room = 2 * room + 64;
            point *more = (point *)realloc(r->rows, (size_t)room * sizeof p);
            if (!more) fail("memory", "there is not enough");
            r->rows = more;
        }
        r->rows[r->n++] = p;
    }
    if (f) fclose(f);
    r->there = r->n > 0;
    if (!r->there) return;
    r->last = r->best = &r->rows[r->n - 1];
    for (int k = 0; k < r->n; k++)
        if (r->rows[k].bound > r->best->bound) r->best = &r->rows[k];
    r->late = median_of_last(r);
}

static void read_all(void)
{
    char name[120];
    for (int i = 0; i < SETTINGS; i++)
        for (int m = 0; m < METHODS; m++) {
            if (!(settings[i].methods & 1U << m)) continue;
            name_of(name, sizeof name, &settings[i], m);
            result_read(&results[i][m], name);
        }
}

static const result *found(int i, method_id m) { return results[i][m].there ? &results[i][m] : NULL; }

/*  The best bound that any training reached; where hyperparameters are fixed, the optimum. */
static double best_of(int i)
{
    double best = -HUGE_VAL;
    for (int m = 0; m < METHODS; m++)
        if (results[i][m].there && (!is_best(m) || hyper_fixed(&settings[i]))) best = fmax(best, results[i][m].best->bound);
    return best;
}

/*  The first row that is within reach of a bound, NULL if there is none. */
static const point *arrival(const result *r, double bound, double within)
{
    for (int k = 0; k < r->n; k++)
        if (r->rows[k].bound >= bound - within) return &r->rows[k];
    return NULL;
}

static const double close_to = 0.01; /* nats per row */

/*  On naval, where bounds are of 3 and jump by a tenth with the minibatches, ten times that. */
static double within_of(const setting *s) { return hyper_fixed(s) ? 0.001 : s->data == NAVAL ? 0.1 : close_to; }

/*  Steps until the best bound of the setting is near, HUGE_VAL if that never was. */
static double steps_of(int i, method_id m)
{
    const result *r = found(i, m);
    const point *p = r ? arrival(r, best_of(i), within_of(&settings[i])) : NULL;
    return p ? p->step : HUGE_VAL;
}

/*  A number of steps in words; good until the function is called eight times more. */
static const char *said(double steps)
{
    static char text[8][24];
    static int next;
    char *to = text[next++ % 8];
    if (steps < HUGE_VAL) snprintf(to, sizeof text[0], "%.0f", steps);
    else snprintf(to, sizeof text[0], "never");
    return to;
}

/*  Runs that were too short to arrive anywhere: what is said of them is not held against the thesis. */
static int is_short(const setting *s) { return s->steps < 2000; }

static void print_arrival(const point *p)
{
    if (p) printf(" %7.0f %7.2f", p->step, p->seconds);
    else printf(" %7s %7s", "-", "-");
}

static void print_run(int i, int m)
{
    char label[80];
    const setting *s = &settings[i];
    const result *r = &results[i][m];
    snprintf(label, sizeof label, "%d/%d/%d/%g/%d%s", s->N, s->M, s->batch, s->noise, s->seed, is_short(s) ? " *" : "");
    printf("%-26s %-19s %6d %6d", label, methods[m].title, r->end.numbers, r->end.done);
    print_arrival(arrival(r, best_of(i), within_of(s)));
    print_arrival(arrival(r, r->best->bound, within_of(s)));
    printf(r->late > -1e6 ? " %9.4f" : " %9.1e", r->late);
    printf(" %8.4f %8.4g %8.2g %7.0f %7.0f %7.0f %8.1e\n", r->last->lengthscale, r->last->variance, r->last->noise,
           r->end.jitter_raised, r->end.shortened, r->end.undone, r->end.slope);
}

static void print_runs(const char *figure, const char *title)
{
    int rows = 0;
    for (int i = 0; i < SETTINGS; i++)
        for (int m = 0; m < METHODS; m++) {
            if (strcmp(settings[i].figure, figure) || !results[i][m].there) continue;
            if (!rows++) {
                printf("\nFigure %s: %s\n", figure, title);
                printf("%-26s %-19s %6s %6s %15s %15s %9s %8s %8s %8s %7s %7s %7s %8s\n", "", "", "", "", "to the best",
                       "to its own", "bound/row", "length-", "kernel", "noise", "jitter", "steps", "steps", "slope");
                printf("%-26s %-19s %6s %6s %7s %7s %7s %7s %9s %8s %8s %8s %7s %7s %7s %8s\n", "N/M/batch/noise/seed",
                       "method", "q has", "steps", "steps", "seconds", "steps", "seconds", "at end", "scale", "variance",
                       "variance", "raised", "shorter", "undone", "at end");
            }
            print_run(i, m);
        }
}

/* ---- statements ---- */

static void claim(const char *figure, const char *text, int holds, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("%-5s %-9s %s: ", figure, holds ? "holds" : "fails", text);
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

/*  The setting of a figure with this seed, -1 if it has not all of two methods' runs. */
static int setting_of(const char *figure, int seed, method_id a, method_id b)
{
    for (int i = 0; i < SETTINGS; i++)
        if (!strcmp(settings[i].figure, figure) && settings[i].seed == seed && found(i, a) && found(i, b)) return i;
    return -1;
}

static void claims_of_fixed(void)
{
    int i = setting_of("4.1", 1, NATURAL_1, ADAM);
    if (i < 0) return;
    double natural = steps_of(i, NATURAL_1), adam = steps_of(i, ADAM), slope = found(i, NATURAL_1)->end.slope;
    claim("4.1", "one natural step of size 1 is at the optimum", natural == 1, "within 0.001 after %s", said(natural));
    claim("4.1", "Adam takes thousands of steps", adam >= 1000, "%s; on u itself %s", said(adam), said(steps_of(i, ADAM_U)));
    claim("4.1", "the hyperparameters are the best ones", slope < 1, "the bound has a slope of %.0f nats there", slope);
}

/*  The largest factor by which a hyperparameter changed after the bound was near. */
static double moved_after(const result *r, const point *p)
{
    double most = 0;
    if (!p) return 1;
    most = fmax(most, fabs(log(r->last->lengthscale / p->lengthscale)));
    most = fmax(most, fabs(log(r->last->variance / p->variance)));
    return exp(fmax(most, fabs(log(r->last->noise / p->noise))));
}

static void claims_of_joint(void)
{
    int i = setting_of("4.2", 1, NATURAL, ADAM);
    if (i < 0) return;
    const result *natural = found(i, NATURAL), *adam = found(i, ADAM);
    double n = steps_of(i, NATURAL), a = steps_of(i, ADAM), apart = natural->late - adam->late;
    double move = moved_after(natural, arrival(natural, best_of(i), close_to));
    claim("4.2", "natural arrives in under 1000 steps", n < 1000, "%s; with steps of 1 in %s", said(n),
          said(steps_of(i, NATURAL_1)));
    claim("4.2", "natural arrives before Adam", n < a, "%s and %s steps; Adam on u %s", said(n), said(a),
          said(steps_of(i, ADAM_U)));
    claim("4.2", "both reach the same bound", fabs(apart) < close_to, "natural - Adam = %.4f per row", apart);
    claim("4.2", "hyperparameters still move a lot when the bound has arrived", move > 1.25, "by a factor of %.2f", move);
}

/*  How natural gradients and Adam compare in the settings of a figure. */
typedef struct tally {
    int settings, first, together, last, level, better, ahead;
    double least, most; /* natural's steps over Adam's */
} tally;

static tally tally_of(const char *figure, method_id m)
{
    tally t = {0, 0, 0, 0, 0, 0, 0, HUGE_VAL, 0};
    for (int i = 0; i < SETTINGS; i++) {
        const result *natural = found(i, m), *adam = found(i, ADAM);
        if (strcmp(settings[i].figure, figure) || !natural || !adam || is_short(&settings[i])) continue;
        double n = steps_of(i, m), a = steps_of(i, ADAM), apart = natural->late - adam->late;
        t.settings++;
        t.together += n < HUGE_VAL && n <= 1.2 * a && a <= 1.2 * n;
        t.first += n<a, t.last += n> a;
        t.level += fabs(apart)<close_to, t.better += apart> - close_to;
        for (int k = 0; k < natural->n && k < adam->n; k++)
            if (natural->rows[k].step == 10) t.ahead += natural->rows[k].bound > adam->rows[k].bound;
        if (n < HUGE_VAL && a < HUGE_VAL) t.least = fmin(t.least, n / a), t.most = fmax(t.most, n / a);
    }
    return t;
}

/*  Said for natural steps of this size; those of 1 are in settings without minibatches alone. */
static void claims_of_grid(method_id m)
{
    tally t = tally_of("4.3", m);
    if (t.settings) {
        printf("4.3   %s, M = 10, %d settings\n", methods[m].title, t.settings);
        claim("", "natural is always faster", t.first == t.settings, "first in %d; its steps %.2f to %.2f of Adam's", t.first,
              t.least, t.most);
        claim("", "its bound at the end is the same or better", t.better == t.settings, "in %d", t.better);
    }
    t = tally_of("4.4", m);
    if (t.settings) {
        printf("4.4   %s, M = 100, all rows, %d settings\n", methods[m].title, t.settings);
        claim("", "natural is ahead at first", t.ahead == t.settings, "after 10 steps in %d", t.ahead);
        claim("", "both arrive after the same number of steps (to 20 %)", t.together == t.settings,
              "in %d; natural first in %d, Adam in %d", t.together, t.first, t.last);
        claim("", "both reach the same bound", t.level == t.settings, "in %d, natural's the same or better in %d", t.level,
              t.better);
    }
    t = tally_of("4.5", m);
    if (t.settings) {
        printf("4.5   %s, M = 100, minibatches, %d settings\n", methods[m].title, t.settings);
        claim("", "natural is slower", t.last == t.settings, "in %d", t.last);
        claim("", "both reach the same bound", t.level == t.settings, "at the end in %d, natural's the same or better in %d",
              t.level, t.better);
    }
}

static void claims_of_naval(void)
{
    int i = setting_of("4.9", 1, NATURAL, ADAM);
    if (i < 0) return;
    const result *natural = found(i, NATURAL), *adam = found(i, ADAM), *u = found(i, ADAM_U);
    double within = within_of(&settings[i]);
    const point *own = arrival(natural, natural->best->bound, within), *other = arrival(adam, adam->best->bound, within);
    claim("4.6", "natural has converged after 8,000 steps", own->step <= 8000, "within 0.1 of its own best after %.0f",
          own->step);
    claim("4.6", "Adam has not after 20,000, and is below natural", adam->late < natural->late,
          "natural ends at %.4f, Adam at %.4f, within 0.1 of its own best after %.0f", natural->late, adam->late, other->step);
    if (u) claim("4.6", "the same of Adam on u", u->late < natural->late, "it ends at %.4f", u->late);
    for (method_id m = OM_AFFINE; m <= OM_PROJECTED; m++) {
        const result *r = found(i, m);
        if (!r) continue;
        const point *p = arrival(r, r->best->bound, within);
        printf("4.9   %s%s\n", methods[m].title, r->end.undone > 0 ? "; the library took steps back" : "");
        claim("", "is the first to converge, natural the second", p->step < own->step && own->step < other->step,
              "to within 0.1 of its own best after %.0f, natural %.0f, Adam %.0f", p->step, own->step, other->step);
        claim("", "ends at a lower bound than natural", natural->late - r->late > close_to, "%.4f and %.4f", r->late,
              natural->late);
        claim("", "its kernel variance is smaller", r->last->variance < natural->last->variance, "%.3g and %.3g",
              r->last->variance, natural->last->variance);
        claim("", "its noise is larger", r->last->noise > natural->last->noise, "%.3g and %.3g", r->last->noise,
              natural->last->noise);
    }
}

/*  Mean and standard error over seeds. */
typedef struct average {
    double sum, squares;
    int n;
} average;

static void add(average *a, double v) { a->sum += v, a->squares += v * v, a->n++; }
static double mean_of(const average *a) { return a->sum / a->n; }
static double error_of(const average *a)
{
    return a->n > 1 ? sqrt(fmax(a->squares - a->sum * a->sum / a->n, 0) / (a->n - 1) / a->n) : 0;
}

/*  The mean's bend, root mean squared second derivative over the data; 0 if there is no file. */
static double bend_of(int i, method_id m, double *x, double *mean, double *sd)
{
    char name[120], line[200];
    int n = 0;
    double sum = 0, used = 0;
    name_of(name, sizeof name, &settings[i], (int)m);
    FILE *f = file_open(name, ".grid.csv", "r");
    while (f && n < GRID && fgets(line, sizeof line, f)) n += sscanf(line, "%lf,%lf,%lf", &x[n], &mean[n], &sd[n]) == 3;
    if (f) fclose(f);
    for (int k = 1; k + 1 < n; k++) {
        double h = x[k] - x[k - 1], bend = (mean[k + 1] - 2 * mean[k] + mean[k - 1]) / (h * h);
        if (fabs(x[k]) < 1) sum += bend * bend, used++;
    }
    return used > 0 ? sqrt(sum / used) : 0;
}

static void claims_of_gp(method_id m)
{
    static double x[GRID], mean[GRID], sd[GRID];
    int seeds = 0, undone = 0, first = 0, level = 0, shorter = 0, smaller = 0, noise = 0, rougher = 0;
    average below = {0, 0, 0}, bend = {0, 0, 0};
    for (int seed = 1; seed <= 5; seed++) {
        int i = setting_of("4.7", seed, NATURAL, m);
        if (i < 0 || !found(i, ADAM)) continue;
        const result *r = found(i, m), *dense = found(i, NATURAL);
        double ratio = bend_of(i, m, x, mean, sd) / bend_of(i, NATURAL, x, mean, sd);
        seeds++, undone += r->end.undone > 0;
        first += steps_of(i, m) < steps_of(i, NATURAL) && steps_of(i, m) < steps_of(i, ADAM);
        add(&below, dense->late - r->late);
        level += fabs(dense->late - r->late) < close_to;
        shorter += r->last->lengthscale < dense->last->lengthscale, smaller += r->last->variance < dense->last->variance;
        noise += fabs(r->last->noise / settings[i].noise - 1) < 0.1;
        add(&bend, ratio), rougher += ratio > 1;
    }
    if (!seeds) return;
    printf("4.7   %s, %d seeds%s\n", methods[m].title, seeds, undone ? "; the library took steps back" : "");
    claim("", "is the first to come near the best bound", first == seeds, "in %d", first);
    claim("", "ends at natural's bound", level == seeds, "in %d; %.4f below it on average", level, mean_of(&below));
    claim("", "its lengthscale is shorter than natural's", shorter == seeds, "in %d", shorter);
    claim("", "its kernel variance is smaller than natural's", smaller == seeds, "in %d", smaller);
    claim("", "finds the noise to a tenth", noise == seeds, "in %d", noise);
    claim("4.8", "its mean is less smooth than natural's", rougher == seeds, "in %d; bend %.3f of natural's", rougher,
          mean_of(&bend));
}

/*  Where training stands and where the optimum is, as ratios to the best of the dense bound on the same data. */
static void print_variances(void)
{
    int rows = 0;
    for (int m = 0; m < METHODS; m++) {
        average at[4] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
        for (int seed = 1; seed <= 5; seed++) {
            int i = setting_of("4.7", seed, (method_id)m, BEST);
            if (i < 0) continue;
            const point *p = found(i, (method_id)m)->last, *best = found(i, BEST)->last;
            add(&at[0], p->variance / best->variance), add(&at[1], p->lengthscale / best->lengthscale);
            add(&at[2], p->noise / best->noise), add(&at[3], best->bound - p->bound);
        }
        if (at[0].n < 2) continue;
        if (!rows++)
            printf("\nFigure 4.7, over the optimum of the dense bound on the same data; means over seeds with standard errors\n"
                   "%-19s %5s %17s %17s %17s %17s\n",
                   "", "seeds", "kernel variance", "lengthscale", "noise", "bound/row below");
        printf("%-19s %5d", methods[m].title, at[0].n);
        for (int k = 0; k < 4; k++) printf("  %8.4f %6.4f", mean_of(&at[k]), error_of(&at[k]));
        printf("\n");
    }
}

/* ---- pictures ---- */

enum { SCENES = 16 };

/*  What a panel shows against steps. */
typedef enum quantity { BOUND, LENGTHSCALE, VARIANCE, NOISE, GAP } quantity;

static double shown(const point *p, quantity what, double best)
{
    switch (what) {
    case BOUND: return p->bound;
    case LENGTHSCALE: return log10(p->lengthscale);
    case VARIANCE: return log10(p->variance);
    case NOISE: return log10(p->noise);
    default: return log10(fmax(best - p->bound, 1e-8));
    }
}

/*  One panel of some methods' curves; memory for it is not given back. */
static plot_scene scene_of(int i, unsigned which, quantity what, const char *title)
{
    static const char *const labels[] = {"bound, nats per row", "log10 lengthscale", "log10 kernel variance",
                                         "log10 noise variance", "log10 of the gap, nats per row"};
    plot_item *items = (plot_item *)reserve(METHODS * sizeof *items);
    plot_scene s = {title, "steps", labels[what], items, 0, 1, settings[i].steps, 0, 0, 1};
    double best = best_of(i), low = HUGE_VAL, from = HUGE_VAL, to = -HUGE_VAL;
    for (int m = 0; m < METHODS; m++) {
        const result *r = &results[i][m];
        if (!(which & 1U << m) || !r->there) continue;
        double *x = reserve_reals(r->n), *y = reserve_reals(r->n);
        for (int k = 0; k < r->n; k++) {
            x[k] = r->rows[k].step, y[k] = shown(&r->rows[k], what, best);
            from = fmin(from, y[k]), to = fmax(to, y[k]);
        }
        low = fmin(low, r->rows[0].bound);
        plot_item line = {PLOT_LINE, methods[m].title, x, y, NULL, r->n, m, m % 5};
        items[s.count++] = line;
    }
    if (what == BOUND) s.ymin = fmax(low, best - 3), s.ymax = best + 0.05 * (best - s.ymin);
    else if (what == GAP) s.ymin = -8.3, s.ymax = 4; /* the gap is drawn down to 1e-8 */
    else s.ymin = from - 0.04 * (to - from), s.ymax = to + 0.04 * (to - from);
    return s;
}

static void draw(const char *figure, const char *title, const plot_scene *scenes, int count, int columns)
{
    char name[40];
    if (!count || !scenes[0].count) return;
    snprintf(name, sizeof name, "figure-%s", figure);
    char *path = path_in(option.out, name, ".svg");
    if (plot_grid(path, title, scenes, count, columns)) fail(path, "cannot be written");
    printf("%s\n", path);
    free(path);
}

/*  Bound and hyperparameters of one setting. */
static void draw_joint(const char *figure, int i, unsigned which)
{
    plot_scene scenes[4];
    if (i < 0) return;
    for (int k = 0; k < 4; k++) scenes[k] = scene_of(i, which, (quantity)k, NULL);
    draw(figure, NULL, scenes, 4, 2);
}

static void draw_grid(const char *figure)
{
    static char titles[SCENES][80];
    plot_scene scenes[SCENES];
    int count = 0;
    for (int i = 0; i < SETTINGS && count < SCENES; i++) {
        const setting *s = &settings[i];
        if (strcmp(s->figure, figure) || !found(i, NATURAL)) continue;
        snprintf(titles[count], sizeof titles[count], "%d, %d, %d, %g", s->N, s->M, s->batch, s->noise);
        scenes[count] = scene_of(i, PAIR | 1 << NATURAL_1, BOUND, titles[count]);
        count++;
    }
    draw(figure, "N, M, rows of a batch, noise variance", scenes, count, count < 3 ? count : 3);
}

/*  Predictions of figure 4.7's first set. */
static void draw_predictions(void)
{
    static const method_id which[] = {OM_EXACT, OM_PROJECTED, ADAM, NATURAL};
    enum { PANELS = sizeof which / sizeof *which, DOTS = 250 };
    static double x[PANELS][GRID], mean[PANELS][GRID], low[PANELS][GRID], high[PANELS][GRID];
    static plot_item items[PANELS][3];
    plot_scene scenes[PANELS];
    int i = setting_of("4.7", 1, NATURAL, ADAM), count = 0;
    if (i < 0) return;
    dataset d = data_of(&settings[i]);
    for (int p = 0; p < PANELS; p++) {
        double sd[GRID], bend = found(i, which[p]) ? bend_of(i, which[p], x[count], mean[count], sd) : 0;
        if (!(bend > 0)) continue;
        for (int k = 0; k < GRID; k++) low[count][k] = mean[count][k] - 2 * sd[k], high[count][k] = mean[count][k] + 2 * sd[k];
        const plot_item all[3] = {
            {PLOT_POINTS, "a quarter of the data", d.X, d.y, NULL, DOTS, 7, 0},
            {PLOT_BAND, "\xC2\xB1 2 sd of f", x[count], low[count], high[count], GRID, 0, 0},
            {PLOT_LINE, "mean", x[count], mean[count], NULL, GRID, 0, 0},
        };
        memcpy(items[count], all, sizeof all);
        plot_scene s = {methods[which[p]].title, "x", "y", items[count], 3, x[count][0], x[count][GRID - 1], 0, 0, 0};
        scenes[count++] = s;
    }
    plot_same_y(scenes, count);
    draw("4.8", NULL, scenes, count, 2);
    data_free(&d);
}

static void draw_all(void)
{
    int i = setting_of("4.1", 1, NATURAL_1, ADAM);
    if (i >= 0) {
        plot_scene s = scene_of(i, THREE | 1 << NATURAL_1, GAP, NULL);
        draw("4.1", NULL, &s, 1, 1);
    }
    draw_joint("4.2", setting_of("4.2", 1, NATURAL, ADAM), THREE | 1 << NATURAL_1);
    draw_grid("4.3");
    draw_grid("4.4");
    draw_grid("4.5");
    draw_joint("4.6", setting_of("4.9", 1, NATURAL, ADAM), THREE);
    draw_joint("4.7", setting_of("4.7", 1, NATURAL, ADAM), FAMILY | LARGER);
    draw_joint("4.7Z", setting_of("4.7Z", 1, NATURAL, ADAM), FAMILY);
    draw_predictions();
    draw_joint("4.9", setting_of("4.9", 1, NATURAL, ADAM), FAMILY);
}

static void report(void)
{
    read_all();
    printf("steps and seconds of one core to within 0.01 nats per row (figure 4.1: 0.001, naval: 0.1) of the best bound of the "
           "setting and of\nthe run's own best; *: shorter than the run would need\n");
    print_runs("4.1", "sinusoid, hyperparameters fixed");
    print_runs("4.2", "sinusoid");
    print_runs("4.3", "sinusoid, M = 10");
    print_runs("4.4", "sinusoid, M >= 100, all rows");
    print_runs("4.5", "sinusoid, M >= 100, minibatches");
    print_runs("4.7", "GP set; `steps` of the last three are evaluations");
    print_runs("4.7Z", "the same, inducing inputs trained");
    print_runs("4.9", "naval, and 4.6");
    print_variances();
    printf("\nWhat the thesis says\n");
    claims_of_fixed();
    claims_of_joint();
    claims_of_grid(NATURAL);
    claims_of_grid(NATURAL_1);
    for (method_id m = OM_AFFINE; m <= OM_PROJECTED; m++) claims_of_gp(m);
    claims_of_naval();
    printf("\n");
    draw_all();
}

int main(int argc, char **argv)
{
    int count = 0;
    const char *command = argc > 1 ? argv[1] : "";
    if (!strcmp(command, "--help") || !strcmp(command, "-h")) return fputs(usage, stdout) < 0;
    for (int i = 2; i < argc; i++) {
        if (!strncmp(argv[i], "--", 2) && i + 1 < argc) {
            const char *name = argv[i], *value = argv[++i];
            if (!strcmp(name, "--data")) option.data = value;
            else if (!strcmp(name, "--out")) option.out = value;
            else fail(name, "not understood; see --help");
        } else argv[2 + count++] = argv[i];
    }
    if (!strcmp(command, "run")) run_all(argv + 2, count);
    else if (!strcmp(command, "report")) report();
    else fail("kobe", "run or report; see --help");
    return 0;
}
