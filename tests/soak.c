/*  soak.c - 2,000 steps of each member of the family, with natural gradients and without, on data of very different scale, dimension and
    noise. Step sizes are the defaults; exact natural steps of gamma have the learning rate that their documentation asks for. Not part
    of `make test`: six minutes.

        make soak      or      build/soak FILE [words]

    One line for each (member, data), as it finishes, to the screen and to FILE; those that stand there as passed are not run again.
    Words choose: a run must contain one of them in "member data".

    What must hold: no call returns an error (a NaN, a factorisation past the largest jitter); no step is undone; the predictor made at
    the end is finite and explains the training targets better than their mean; and the bound rises. That is: the bound on all rows
    with all of gamma is looked at before the first step and every 50 steps; of these the mean over 5 in a row (200 steps) is formed, and
    none may lie below an earlier one by more than the allowance. A step of Adam follows the gradient of a minibatch, with its momentum,
    and all points and hyperparameters move at once, so that the bound does not rise with each one: the allowance is 0.5 % of the rise from
    step 200 to the best and 0.001 nats for each row; twice both where a minibatch is not all rows. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include <time.h>

enum { STEPS = 2000, EVERY = 50, LOOKS = STEPS / EVERY + 1, WINDOW = 5 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- data ---- */

typedef struct dataset {
    const char *name;
    ptrdiff_t N, D, M, Mg;
    void (*make)(struct dataset *d);
    odvgp_real *X, *y;
} dataset;

static void fill(dataset *d, double lo, double hi) {
    for (ptrdiff_t i = 0; i < d->N * d->D; i++) d->X[i] = (odvgp_real)test_between(lo, hi);
}
static void smooth(dataset *d) {
    fill(d, -3, 3);
    for (ptrdiff_t i = 0; i < d->N; i++) {
        double x = (double)d->X[i];
        d->y[i] = (odvgp_real)(sin(2 * x) + 0.3 * cos(5 * x) + 0.05 * test_normal());
    }
}
static void waves(dataset *d) {
    fill(d, -1.7, 1.7);
    for (ptrdiff_t i = 0; i < d->N; i++) {
        const odvgp_real *x = d->X + i * d->D;
        d->y[i] = (odvgp_real)(sin(2 * (double)x[0]) + 0.5 * cos(3 * (double)x[d->D - 1]) + 0.3 * (double)(x[1] * x[2]) + 0.1 * test_normal());
    }
}
static void far_scales(dataset *d) {
    waves(d);
    for (ptrdiff_t i = 0; i < d->N * d->D; i++) d->X[i] *= (odvgp_real)1e6;
    for (ptrdiff_t i = 0; i < d->N; i++) d->y[i] *= (odvgp_real)1e-9;
}
/*  Each row twice, with another target: noise makes them differ by 0.1. */
static void repeated(dataset *d) {
    waves(d);
    for (ptrdiff_t i = 0, half = d->N / 2; i < half; i++) {
        memcpy(d->X + (half + i) * d->D, d->X + i * d->D, (size_t)d->D * sizeof *d->X);
        d->y[half + i] = d->y[i] + (odvgp_real)(0.1 * test_normal());
    }
}
static void constant_columns(dataset *d) {
    waves(d);
    for (ptrdiff_t i = 0; i < d->N; i++) {
        d->X[i * d->D + 1] = 0;
        d->X[i * d->D + 3] = 1000;
    }
}
static void nearly_linear(dataset *d) {
    for (ptrdiff_t i = 0; i < d->N * d->D; i++) d->X[i] = (odvgp_real)test_normal();
    for (ptrdiff_t i = 0; i < d->N; i++) {
        double f = 0;
        for (ptrdiff_t k = 0; k < d->D; k++) f += (double)d->X[i * d->D + k] * (k % 2 ? 0.2 : -0.15);
        d->y[i] = (odvgp_real)(f + 0.1 * f * f + 2 * test_normal());
    }
}
static dataset sets[] = {{"smooth-1d", 200, 1, 15, 30, smooth, NULL, NULL},
                         {"waves-8d", 2000, 8, 40, 80, waves, NULL, NULL},
                         {"far-scales-3d", 600, 3, 30, 70, far_scales, NULL, NULL},
                         {"repeated-3d", 600, 3, 30, 70, repeated, NULL, NULL},
                         {"constant-columns-5d", 400, 5, 30, 60, constant_columns, NULL, NULL},
                         {"noisy-linear-30d", 1500, 30, 40, 80, nearly_linear, NULL, NULL}};
enum { SETS = sizeof sets / sizeof *sets };

/* ---- members ---- */

typedef struct member {
    const char *name;
    odvgp_mean_part mean;
    odvgp_cov_part cov;
    int natgrad, gamma; /* gamma: has points of that name */
    odvgp_gamma_step gamma_step;
    odvgp_blocks_step blocks_step;
    double lr; /* 0: the default */
} member;

static const member members[] = {
    {"coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 1, 0, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"coupled:adam", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 0, 0, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"orth", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 1, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"orth:adam", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 0, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"orth:gamma-diagonal", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 1, 1, ODVGP_GAMMA_STEP_DIAGONAL, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"orth:gamma-exact", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 1, 1, ODVGP_GAMMA_STEP_EXACT, ODVGP_BLOCKS_STEP_TOGETHER, 0.001},
    {"hybrid", ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, 1, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"hybrid:adam", ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, 0, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"decoupled:adam", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_INVERSE, 0, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 1, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"solve:alternate", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 1, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_ALTERNATE, 0},
    {"solve:adam", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 0, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"om", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, 1, 0, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"om:adam", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, 0, 0, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"beta+blocks", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_BLOCKS, 1, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"blocks+dense", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_DENSE, 1, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"orth+blocks", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_BLOCKS, 1, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"orth+inverse:adam", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_INVERSE, 0, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"free+dense:adam", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DENSE, 0, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0},
    {"hybrid+diagonal:adam", ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DIAGONAL, 0, 1, ODVGP_GAMMA_STEP_ADAM, ODVGP_BLOCKS_STEP_TOGETHER, 0}};
enum { MEMBERS = sizeof members / sizeof *members };

/* ---- one run ---- */

typedef struct outcome {
    double look[LOOKS]; /* the bound on all rows, for each row */
    double rise, dip, allowed, rmse, seconds;
    odvgp_events events;
    const char *why; /* it failed, or NULL */
    char text[300];
} outcome;

/*  The largest fall of the moving mean below an earlier one. */
static void judge(outcome *o, int minibatches) {
    double best = o->look[WINDOW - 1], top = -HUGE_VAL;
    for (int i = WINDOW; i < LOOKS; i++) best = o->look[i] > best ? o->look[i] : best;
    o->rise = best - o->look[WINDOW - 1];
    for (int i = 0; i + WINDOW <= LOOKS; i++) {
        double mean = 0;
        for (int k = 0; k < WINDOW; k++) mean += o->look[i + k] / WINDOW;
        if (top - mean > o->dip) o->dip = top - mean;
        if (mean > top) top = mean;
    }
    o->allowed = (minibatches ? 2 : 1) * (0.005 * o->rise + 0.001);
    if (!(o->dip <= o->allowed)) o->why = "the bound fell";
}

static const char *train(const member *who, const dataset *d, odvgp_model *model, outcome *o) {
    odvgp_info info;
    odvgp_report report;
    odvgp_real elbo, *mean = NEW(odvgp_real, 2 * d->N);
    double sum = 0, ymean = 0, squares = 0, total = 0;
    (void)who;
    for (int i = 0; i < LOOKS; i++) {
        for (int k = 0; k < EVERY && i; k++)
            if (odvgp_step(model, d->X, d->y, &report, &info)) goto failed;
        if (odvgp_elbo(model, d->X, d->y, d->N, &elbo, NULL, NULL, &info)) goto failed;
        o->look[i] = (double)elbo / (double)d->N;
        if (getenv("SOAK_CURVE")) fprintf(stderr, "%d %.6f\n", i * EVERY, o->look[i]);
    }
    o->events = odvgp_model_events(model);
    if (odvgp_predict_once(model, d->X, d->N, mean, mean + d->N, &info)) goto failed;
    for (ptrdiff_t i = 0; i < d->N; i++) ymean += (double)d->y[i] / (double)d->N;
    for (ptrdiff_t i = 0; i < d->N; i++) {
        double e = (double)d->y[i] - (double)mean[i], t = (double)d->y[i] - ymean;
        squares += e * e;
        total += t * t;
        sum += (double)mean[d->N + i];
    }
    o->rmse = sqrt(squares / total);
    free(mean);
    if (sum - sum != 0 || squares - squares != 0) return "a prediction is not finite";
    return o->events.step_undone ? "steps were undone" : !(o->rmse < 1) ? "nothing was learnt" : NULL;
failed:
    free(mean);
    snprintf(o->text, sizeof o->text, "step %ld: %s", (long)odvgp_steps_done(model), info.text);
    return o->text;
}

static void run(const member *who, const dataset *d, outcome *o) {
    odvgp_model *model = NULL;
    odvgp_info info;
    odvgp_config cfg = odvgp_config_defaults(d->N, d->D, 1, d->M, who->gamma ? d->Mg : 0);
    double from = now();
    const char *why;
    memset(o, 0, sizeof *o);
    cfg.layer[0].mean_part = who->mean;
    cfg.layer[0].cov_part = who->cov;
    cfg.optim.natgrad = who->natgrad;
    cfg.optim.gamma_step = who->gamma_step;
    cfg.reproduce.blocks_step = who->blocks_step;
    cfg.isa = test_isa();
    if (who->lr > 0) cfg.optim.lr = odvgp_constant((odvgp_real)who->lr);
    if (getenv("SOAK_LR")) cfg.optim.lr = odvgp_constant((odvgp_real)atof(getenv("SOAK_LR")));
    if (getenv("SOAK_JITTER")) cfg.jitter.relative = (odvgp_real)atof(getenv("SOAK_JITTER"));
    if (odvgp_model_create(&model, &cfg, d->X, d->y, NULL, &info)) {
        snprintf(o->text, sizeof o->text, "no model: %s", info.text);
        o->why = o->text;
        return;
    }
    why = train(who, d, model, o);
    if (!why) judge(o, cfg.optim.batch < d->N);
    if (why) o->why = why;
    o->seconds = now() - from;
    odvgp_model_free(model);
}

/* ---- the program ---- */

static const char heading[] = "member                data                 bound/row: first     last  fell by allowed   rmse/sd  jitter raised  shortened  undone  seconds";

static int passed_before(const char *path, const char *key) {
    char line[600];
    int found = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key)) && strstr(line, " ok")) found = 1;
    if (f) fclose(f);
    return found;
}

static int chosen(const char *key, int argc, char **argv) {
    int wanted = argc <= 2;
    for (int i = 2; i < argc; i++) wanted |= strstr(key, argv[i]) != NULL;
    return wanted;
}

int main(int argc, char **argv) {
    int ran = 0, failed = 0, before = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: soak FILE [words]\n");
        return 2;
    }
    test_begin(1, argv);
    printf("%s\n", heading);
    for (int s = 0; s < SETS; s++) {
        dataset *d = &sets[s];
        test_seed = 1000 + (uint64_t)s;
        d->X = NEW(odvgp_real, d->N * d->D);
        d->y = NEW(odvgp_real, d->N);
        d->make(d);
        for (int k = 0; k < MEMBERS; k++) {
            char key[80], line[700];
            outcome o;
            FILE *f;
            snprintf(key, sizeof key, "%-21s %-20s ", members[k].name, d->name);
            if (!chosen(key, argc, argv)) continue;
            if (passed_before(argv[1], key)) {
                before++;
                continue;
            }
            run(&members[k], d, &o);
            snprintf(line, sizeof line, "%s%16.4f %8.4f %8.5f %7.5f %9.4f %14lu %10lu %7lu %8.1f  %s%s\n", key, o.look[0], o.look[LOOKS - 1], o.dip, o.allowed, o.rmse,
                     (unsigned long)o.events.jitter_raised, (unsigned long)o.events.step_shortened, (unsigned long)o.events.step_undone, o.seconds, o.why ? "FAIL: " : "ok", o.why ? o.why : "");
            fputs(line, stdout);
            fflush(stdout);
            ran++;
            failed += o.why != NULL;
            f = fopen(argv[1], "a");
            if (!f || fputs(line, f) < 0 || fclose(f)) {
                fprintf(stderr, "soak: %s cannot be written\n", argv[1]);
                return 2;
            }
        }
        free(d->X);
        free(d->y);
    }
    printf("%d passed, %d failed, %d passed before\n", ran - failed, failed, before);
    return failed > 0;
}
