/*  odvgp.c - the command-line tool of odvgp.h: trains sparse Gaussian processes on CSV files and predicts with them.

        cc -O2 -I. -DODVGP_USE_PTHREADS examples/odvgp.c -o build/odvgp -lm -pthread
        build/odvgp train --data train.csv --model out.odvgp --test-fraction 0.1
        build/odvgp compare --data train.csv --test-fraction 0.1 --bases coupled,orth,sgpr --plot curves.svg
        build/odvgp predict --model out.odvgp --data new.csv --out pred.csv
        build/odvgp info --model out.odvgp

    Results go to stdout, progress and notes to stderr. Exit codes: 0 done (also when Ctrl-C ended the training and the model
    was saved), 1 something failed on the way (memory, disk, a matrix), 2 bad input: one line that names the option, or file,
    line and column. Nothing is written before all input has been checked, and no file is left half-written; the trace alone
    grows row by row, so that it can be watched.

    What happens to data: text columns become one input per level (or one ordered input, --ordinal), columns are standardised by
    the training part, and the model file keeps all that is needed to do the same to new rows. It holds no training rows but those that inducing
    points stand on, which are all with --basis exact. */
#define _POSIX_C_SOURCE   200809L
#define _FILE_OFFSET_BITS 64 /* where pointers have 32 bits: stat() of files whose size or number is above that */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "plot.h"
#include "table.h"
#include <ctype.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__GNUC__)
#define PRINTF_LIKE(text, rest) __attribute__((format(printf, text, rest)))
#define NO_RETURN               __attribute__((noreturn))
#else
#define PRINTF_LIKE(text, rest)
#define NO_RETURN
#endif

/*  The only global: set by SIGINT and SIGTERM, read after each training step. */
static volatile sig_atomic_t stop_signal;

/* ----------------------------------------------------------------------------------------------------------------------- */
/*  Errors, memory, bytes                                                                                                  */
/* ----------------------------------------------------------------------------------------------------------------------- */
enum { FAILED = 1, BAD_INPUT = 2 };

/*  One line on stderr, whatever names and cells hold, and the end of the program. */
NO_RETURN PRINTF_LIKE(2, 3) static void die(int code, const char *format, ...)
{
    char text[1000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (char *s = text; *s; s++)
        if (iscntrl((unsigned char)*s)) *s = ' ';
    fprintf(stderr, "odvgp: %s\n", text);
    exit(code);
}

static void *take(size_t count, size_t size)
{
    void *block = calloc(count ? count : 1, size ? size : 1);
    if (!block) die(FAILED, "out of memory (%zu times %zu bytes)", count, size);
    return block;
}

static double *take_doubles(ptrdiff_t rows, ptrdiff_t columns)
{
    if (columns > 0 && rows > PTRDIFF_MAX / 8 / columns) die(FAILED, "out of memory (%td x %td numbers)", rows, columns);
    return take((size_t)(rows * columns), sizeof(double));
}

static char *copy_text(const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    return text ? memcpy(take(size, 1), text, size) : NULL;
}

/*  A growing block of bytes: model file blobs, CSV and JSON are made in one and written at once. */
typedef struct bytes {
    char *at;
    size_t used, room;
} bytes;

static void bytes_add(bytes *b, const void *from, size_t n)
{
    if (!b->at || b->room - b->used <= n) {
        b->room = b->room + b->room / 2 + n + 256;
        b->at = realloc(b->at, b->room);
        if (!b->at) die(FAILED, "out of memory (%zu bytes)", b->room);
    }
    if (n && from) memcpy(b->at + b->used, from, n);
    b->used += n;
    b->at[b->used] = 0;
}

PRINTF_LIKE(2, 3) static void bytes_print(bytes *b, const char *format, ...)
{
    char text[400];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (n < 0) return;
    if ((size_t)n < sizeof text) {
        bytes_add(b, text, (size_t)n);
        return;
    }
    char *longer = take((size_t)n + 1, 1);
    va_start(list, format);
    vsnprintf(longer, (size_t)n + 1, format, list);
    va_end(list);
    bytes_add(b, longer, (size_t)n);
    free(longer);
}

/* ----------------------------------------------------------------------------------------------------------------------- */
/*  Files                                                                                                                  */
/* ----------------------------------------------------------------------------------------------------------------------- */
/*  /dev/null and pipes are written in place, never replaced. */
static int is_device(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
}

/*  Ends the program now rather than after an hour of training, and before data are written over. */
static void check_writable(const char *option, const char *path, const char *data)
{
    struct stat s, d;
    int there = stat(path, &s) == 0;
    if (there && S_ISDIR(s.st_mode)) die(BAD_INPUT, "--%s %s: is a directory", option, path);
    if (there && S_ISREG(s.st_mode) && stat(data, &d) == 0 && s.st_dev == d.st_dev && s.st_ino == d.st_ino)
        die(BAD_INPUT, "--%s %s: is the data file", option, path);
    if (is_device(path)) return;
    bytes beside = {NULL, 0, 0};
    bytes_print(&beside, "%s.XXXXXX", path);
    int f = mkstemp(beside.at);
    if (f < 0) die(BAD_INPUT, "--%s %s: cannot be written: %s", option, path, strerror(errno));
    close(f);
    remove(beside.at);
    free(beside.at);
}

static void write_file(const char *path, const void *block, size_t n)
{
    int bad;
    if (is_device(path)) {
        FILE *f = fopen(path, "wb");
        bad = !f || fwrite(block, 1, n, f) != n;
        if (f && fclose(f)) bad = 1;
    } else bad = odvgp_file_write(path, block, n) != ODVGP_OK;
    if (bad) die(FAILED, "%s: cannot be written: %s", path, strerror(errno));
}

static void write_stdout(const bytes *b)
{
    if (fwrite(b->at, 1, b->used, stdout) != b->used || fflush(stdout)) die(FAILED, "standard output cannot be written");
}

static void *read_file(const char *path, size_t *n)
{
    struct stat s;
    if (stat(path, &s)) die(BAD_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(s.st_mode)) die(BAD_INPUT, "%s: is not a file", path);
    if (odvgp_file_read(path, NULL, 0, n)) die(BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    void *block = take(*n, 1);
    if (odvgp_file_read(path, block, *n, n)) die(BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    return block;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ----------------------------------------------------------------------------------------------------------------------- */
/*  Options                                                                                                                */
/*      One list makes the enum, the parser, the help and what a model file remembers. All values are texts until they are */
/*      used. Those marked KEPT make the model what it is: its file keeps them, and --resume takes them from there.        */
/* ----------------------------------------------------------------------------------------------------------------------- */
enum { TRAIN = 1, PREDICT = 2, INFO = 4, COMPARE = 8, FIT = TRAIN | COMPARE, KEPT = 16 };

/* clang-format off */
/*    id, name, argument, default, commands and KEPT, help */
#define OPTIONS(X)                                                                                                             \
    X(DATA, "data", "FILE", NULL, FIT | PREDICT, "CSV file, or - for standard input")                                          \
    X(MODEL, "model", "FILE", NULL, TRAIN | PREDICT | INFO, "model file; train writes it (default: the data's name.odvgp)")    \
    X(OUT, "out", "FILE", NULL, PREDICT, "where predictions go; without it to standard output")                                \
    X(TARGET, "target", "LIST", "last", FIT | KEPT, "column(s) to predict: last, or names, indices and ranges A-B")            \
    X(FEATURES, "features", "LIST", NULL, FIT | KEPT, "input columns (default: all others)")                                   \
    X(IGNORE, "ignore", "LIST", NULL, FIT | KEPT, "columns to leave out")                                                      \
    X(ORDINAL, "ordinal", "NAME=a,b,c", NULL, FIT | KEPT, "levels of a text column in order (may be repeated)")                \
    X(MISSING, "missing", "error|drop", "error", FIT | PREDICT | KEPT, "rows with empty cells, NA, nan or ?")                  \
    X(HEADER, "header", "auto|yes|no", "auto", FIT | PREDICT, "is the first line names?")                                      \
    X(SEP, "sep", "auto|CHAR", "auto", FIT | PREDICT, "separator: comma, semicolon, tab, space, or the character itself")      \
    X(TEST, "test", "FILE", NULL, FIT, "test rows in a file of their own")                                                     \
    X(TEST_FRACTION, "test-fraction", "F", "0", FIT | KEPT, "share of rows, drawn by --seed, kept out for testing")            \
    X(TEST_MASK, "test-mask", "FILE:COLUMN", NULL, FIT, "test rows have a 1 in this column of a file without header")          \
    X(LIKELIHOOD, "likelihood", "gaussian", "gaussian", FIT | KEPT, "of the targets given f")                                  \
    X(BASIS, "basis", "NAME", "orth", TRAIN | KEPT, "one of the bases below")                                                  \
    X(BASES, "bases", "LIST", "coupled,orth", COMPARE, "what to compare: NAME[:KEY=VALUE]...,NAME... (keys: below)")        \
    X(BETA, "beta", "M", NULL, FIT | KEPT, "inducing points of mean and covariance (default: min(300, n/2))")                  \
    X(GAMMA, "gamma", "M", NULL, FIT | KEPT, "further ones of the mean (default: min(700, n - beta))")                         \
    X(KERNEL, "kernel", "EXPR", "matern52(ard)", FIT | KEPT, "sums, products of name(lengthscale, variance, ard, dims=0:7)")  \
    X(NOISE, "noise", "V", NULL, FIT | KEPT, "noise variance at the start, of standardised targets (default: 0.1)")            \
    X(MEAN, "mean", "zero|constant|linear", "zero", FIT | KEPT, "mean function")                                               \
    X(PARAM, "param", "whitened|primal|a_beta", "whitened", FIT | KEPT, "parameters of q(u)")                                  \
    X(WHITEN, "whiten", "on|off", NULL, FIT, "off is --param primal")                                                          \
    X(GAMMA_COORDS, "gamma-coords", "plain|scaled|differentiated", "scaled", FIT | KEPT, "how Adam moves gamma's weights")     \
    X(POSITIVE, "positive", "softplus|exp", "exp", FIT | KEPT, "how optimisers see positive numbers")                          \
    X(Q_INIT, "q-init", "prior|identity", "prior", FIT | KEPT, "where q(u) starts")                                            \
    X(RECIPE, "recipe", "default|odvgp|solve-gp|kobe", "default", FIT, "the settings of a paper, for what is not given (below)")\
    X(ITERS, "iters", "N|Nepochs", NULL, FIT, "steps in all, those before --resume too (20000; all rows: 1000 of Adam, 200 of L-BFGS)") \
    X(MINUTES, "minutes", "T", NULL, FIT, "end after this time; compare: each of them")                                        \
    X(PATIENCE, "patience", "N", "0", TRAIN, "end after N evaluations without a better test loglik or ELBO")                   \
    X(BATCH, "batch", "B", "1024", FIT | KEPT, "rows of a minibatch")                                                          \
    X(GAMMA_BATCH, "gamma-batch", "B", "64", FIT | KEPT, "gamma points sampled for the KL of a step; 0: all")                  \
    X(OPTIMIZER, "optimizer", "adam|lbfgs", NULL, FIT | KEPT, "L-BFGS uses all rows in each step (default of sgpr, ..., exact)") \
    X(LR, "lr", "R|FROM-TO", NULL, FIT | KEPT, "Adam's rate (default 0.01-0.001; all rows 0.01; natgrad-gamma exact 0.001)")  \
    X(NATGRAD, "natgrad", "on|off", "on", FIT | KEPT, "natural gradients for q(u), or --optimizer for everything")             \
    X(NATGRAD_GAMMA, "natgrad-gamma", "adam|diagonal|exact", "adam", FIT | KEPT, "how gamma moves then, of orth and hybrid")     \
    X(NATGRAD_BLOCKS, "natgrad-blocks", "together|alternate", "together", FIT | KEPT, "which block of solve a step moves")     \
    X(NATGRAD_DIAG, "natgrad-diag", "exact|affine|projected|projected-mu", "affine", FIT | KEPT, "diagonal's natural step")    \
    X(NATGRAD_STEP, "natgrad-step", "R|FROM-TO", NULL, FIT | KEPT, "natural step size (default: 0.1-0.01)")                    \
    X(NATGRAD_WARMUP, "natgrad-warmup", "STEPS:START[:KIND]", NULL, FIT | KEPT, "grow it from START; a later fall is of the same kind")\
    X(SCHEDULE, "schedule", "SPEC", NULL, FIT | KEPT, "lr or natgrad:linear|loglinear:START:END:STEPS (may be repeated)")      \
    X(UPDATE, "update", "joint|natgrad-first|adam-first", "joint", FIT | KEPT, "both at once, or one after the other")         \
    X(FIT_Q, "fit-q", "none|start|end|both", "none", FIT, "put q to its optimum at the start or end of the training")          \
    X(INIT, "init", "kmeans|random|greedy|farthest", "kmeans", FIT | KEPT, "where beta points start")                          \
    X(INIT_GAMMA, "init-gamma", "random|residual", "random", FIT | KEPT, "where gamma points start")                           \
    X(INIT_HYPER, "init-hyper", "median|ulapane", "median", FIT | KEPT, "how hyperparameters not given start")                 \
    X(FREEZE, "freeze", "LIST", NULL, FIT | KEPT, "parameters that stay: noise_variance, Z_beta, kernel.*, ...")               \
    X(JITTER, "jitter", "V", "0", FIT | KEPT, "added to the diagonal of Kb")                                                   \
    X(JITTER_REL, "jitter-rel", "V", "1e-6", FIT | KEPT, "the same, times its mean diagonal")                                  \
    X(SEED, "seed", "N", "0", FIT | KEPT, "of everything random")                                                              \
    X(RESUME, "resume", "MODEL", NULL, TRAIN, "go on with this model, on the same data")                                       \
    X(THREADS, "threads", "N", "0", FIT | PREDICT, "0: as many as the machine has cores")                                      \
    X(ISA, "isa", "NAME", "auto", FIT, "instructions: auto, or c, sse2, neon, avx2, avx512; else what ODVGP_ISA names")        \
    X(TRACE, "trace", "FILE", NULL, FIT, "CSV file that gets a row per evaluation")                                            \
    X(PLOT, "plot", "FILE", NULL, FIT, "SVG picture of the training curves")                                                   \
    X(JSON, "json", NULL, NULL, FIT | PREDICT | INFO, "print one JSON object")                                                 \
    X(QUIET, "quiet", NULL, NULL, FIT | PREDICT, "print no progress and no notes")
/* clang-format on */
#define OPTION_ID(id, name, argument, preset, where, help) OPT_##id,
enum { OPTIONS(OPTION_ID) OPTION_COUNT };

typedef struct option {
    const char *name, *argument, *preset; /* argument NULL: a flag */
    int where;                            /* the commands that take it, and KEPT */
    const char *help;
} option;

#define OPTION_ROW(id, name, argument, preset, where, help) {name, argument, preset, where, help},
static const option option_list[OPTION_COUNT] = {OPTIONS(OPTION_ROW)};

static const struct {
    int first;
    const char *title;
} option_groups[] = {
    {OPT_DATA, "Data"}, {OPT_TEST, "Test part"}, {OPT_LIKELIHOOD, "Model"}, {OPT_RECIPE, "Training"}, {OPT_TRACE, "Output"}};

typedef struct options {
    const char *value[OPTION_COUNT]; /* NULL: not given and no default */
    int given[OPTION_COUNT];
    char *owned[OPTION_COUNT]; /* values that are not defaults */
} options;

static int command_by_name(const char *name)
{
    static const struct {
        const char *name;
        int command;
    } commands[] = {{"train", TRAIN}, {"compare", COMPARE}, {"predict", PREDICT}, {"info", INFO}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0) return commands[i].command;
    return 0;
}

/*  What an item of --bases may have for itself. */
static const int own_options[] = {OPT_NATGRAD,      OPT_BETA,         OPT_GAMMA,      OPT_NATGRAD_GAMMA, OPT_NATGRAD_BLOCKS,
                                  OPT_NATGRAD_DIAG, OPT_NATGRAD_STEP, OPT_LR,         OPT_ITERS,         OPT_FIT_Q,
                                  OPT_OPTIMIZER,    OPT_INIT,         OPT_INIT_GAMMA, OPT_INIT_HYPER};
enum { OWN_COUNT = sizeof own_options / sizeof *own_options, OWN_SHOWN = 3 /* those with a column in the table */ };

static bytes own_names(void)
{
    bytes names = {NULL, 0, 0};
    for (int i = 0; i < OWN_COUNT; i++) bytes_print(&names, "%s%s", i ? ", " : "", option_list[own_options[i]].name);
    return names;
}

/* ---- recipes: what a paper's settings say. $x stands for x times the root of the number of inputs ---- */

enum { RECIPE_DEFAULT, RECIPE_ODVGP, RECIPE_SOLVE, RECIPE_KOBE, RECIPE_COUNT };
static const char recipe_names[] = "default|odvgp|solve-gp|kobe";
static const char *const recipe_about[RECIPE_COUNT] = {
    "default    the defaults above", "odvgp      Salimbeni et al. 2018, appendix E; 300 + 700 points, 10 % for testing",
    "solve-gp   Shi et al. 2020: Matern 3/2, 1024 + 1024 points, not whitened, Adam alone, 100 epochs, 64 % for training",
    "kobe       Kobe 2021, the naval set: Matern 5/2, 100 points, batches of 256, natural steps that grow to 0.1"};

static const struct {
    int recipe, id;
    const char *value;
} recipe_list[] = {
    {RECIPE_ODVGP, OPT_KERNEL, "matern52($0.1) + rbf($1)"},
    {RECIPE_ODVGP, OPT_NOISE, "0.1"},
    {RECIPE_ODVGP, OPT_BETA, "300"},
    {RECIPE_ODVGP, OPT_GAMMA, "700"},
    {RECIPE_ODVGP, OPT_TEST_FRACTION, "0.1"},
    {RECIPE_ODVGP, OPT_BATCH, "1024"},
    {RECIPE_ODVGP, OPT_GAMMA_BATCH, "64"},
    {RECIPE_ODVGP, OPT_LR, "0.001"},
    {RECIPE_ODVGP, OPT_NATGRAD_STEP, "0.005"},
    {RECIPE_ODVGP, OPT_POSITIVE, "softplus"},
    {RECIPE_ODVGP, OPT_ITERS, "20000"},
    {RECIPE_SOLVE, OPT_KERNEL, "matern32"},
    {RECIPE_SOLVE, OPT_BETA, "1024"},
    {RECIPE_SOLVE, OPT_GAMMA, "1024"},
    {RECIPE_SOLVE, OPT_TEST_FRACTION, "0.36"},
    {RECIPE_SOLVE, OPT_PARAM, "primal"},
    {RECIPE_SOLVE, OPT_NATGRAD, "off"},
    {RECIPE_SOLVE, OPT_BATCH, "1024"},
    {RECIPE_SOLVE, OPT_GAMMA_BATCH, "1024"},
    {RECIPE_SOLVE, OPT_LR, "0.01"},
    {RECIPE_SOLVE, OPT_POSITIVE, "softplus"},
    {RECIPE_SOLVE, OPT_ITERS, "100epochs"},
    {RECIPE_KOBE, OPT_KERNEL, "matern52($1, variance=2)"},
    {RECIPE_KOBE, OPT_NOISE, "0.1"},
    {RECIPE_KOBE, OPT_BETA, "100"},
    {RECIPE_KOBE, OPT_BATCH, "256"},
    {RECIPE_KOBE, OPT_LR, "0.01"},
    {RECIPE_KOBE, OPT_NATGRAD_STEP, "0.1"},
    {RECIPE_KOBE, OPT_NATGRAD_WARMUP, "40:0.0001:loglinear"},
    {RECIPE_KOBE, OPT_NATGRAD_DIAG, "projected-mu"},
    {RECIPE_KOBE, OPT_UPDATE, "adam-first"},
    {RECIPE_KOBE, OPT_JITTER, "1e-10"},
    {RECIPE_KOBE, OPT_JITTER_REL, "0"},
    {RECIPE_KOBE, OPT_POSITIVE, "softplus"},
    {RECIPE_KOBE, OPT_ITERS, "20000"},
};

/* ---- bases: one row for each member of the family ---- */

typedef struct basis {
    const char *name;
    odvgp_mean_part mean_part;
    odvgp_cov_part cov_part;
    odvgp_objective objective;
    int gamma;   /* takes gamma points */
    int natgrad; /* has a natural step */
    const char *help;
} basis;

/* clang-format off */
static const basis basis_list[] = {
    {"coupled",   ODVGP_MEAN_BETA,   ODVGP_COV_DENSE,    ODVGP_OBJECTIVE_ELBO, 0, 1, "beta points for mean and covariance (SVGP)"},
    {"orth",      ODVGP_MEAN_ORTH,   ODVGP_COV_DENSE,    ODVGP_OBJECTIVE_ELBO, 1, 1, "gamma points for the mean beside them, orthogonal to them"},
    {"hybrid",    ODVGP_MEAN_HYBRID, ODVGP_COV_DENSE,    ODVGP_OBJECTIVE_ELBO, 1, 1, "gamma points for the mean beside them, not orthogonal"},
    {"decoupled", ODVGP_MEAN_FREE,   ODVGP_COV_INVERSE,  ODVGP_OBJECTIVE_ELBO, 1, 0, "gamma points for the mean, beta points for the covariance"},
    {"solve",     ODVGP_MEAN_BLOCKS, ODVGP_COV_BLOCKS,   ODVGP_OBJECTIVE_ELBO, 1, 1, "gamma points as a second block of mean and covariance (SOLVE-GP)"},
    {"diagonal",  ODVGP_MEAN_FREE,   ODVGP_COV_DIAGONAL, ODVGP_OBJECTIVE_ELBO, 0, 1, "beta points with one number each for mean and covariance"},
    {"sgpr",      ODVGP_MEAN_BETA,   ODVGP_COV_DENSE,    ODVGP_OBJECTIVE_COLLAPSED, 0, 0, "coupled with its best q at every step (Titsias' bound); all rows"},
    {"solve-collapsed", ODVGP_MEAN_BLOCKS, ODVGP_COV_BLOCKS, ODVGP_OBJECTIVE_COLLAPSED, 1, 0, "solve with its best q at every step; all rows"},
    {"exact",     ODVGP_MEAN_FREE,   ODVGP_COV_DIAGONAL, ODVGP_OBJECTIVE_EXACT, 0, 0, "exact GP regression: every row is a beta point; up to 5000 rows"},
};
/* clang-format on */
enum { BASIS_COUNT = sizeof basis_list / sizeof *basis_list, EXACT_ROWS = 5000 };

/*  Training that has no q: each step uses all rows, and q is put where the bound has it before it is used. */
static int without_q(const basis *b) { return b->objective != ODVGP_OBJECTIVE_ELBO; }
static int is_exact(const basis *b) { return b->objective == ODVGP_OBJECTIVE_EXACT; }

static const basis *basis_find(const char *name, size_t length)
{
    for (int i = 0; i < BASIS_COUNT; i++)
        if (strlen(basis_list[i].name) == length && strncmp(basis_list[i].name, name, length) == 0) return &basis_list[i];
    return NULL;
}

/*  The basis that an option names; an error that lists what there is. */
static const basis *basis_named(int id, const char *name, size_t length)
{
    const basis *found = basis_find(name, length);
    if (found) return found;
    bytes names = {NULL, 0, 0};
    for (int i = 0; i < BASIS_COUNT; i++) bytes_print(&names, "%s%s", i ? ", " : "", basis_list[i].name);
    die(BAD_INPUT, "--%s %.*s: there is no such basis; there are %s", option_list[id].name, (int)length, name, names.at);
}

static void print_usage(FILE *f)
{
    fputs("odvgp trains sparse Gaussian processes on CSV files and predicts with them.\n\n"
          "  odvgp train   --data train.csv --model out.odvgp [options]\n"
          "  odvgp compare --data train.csv --bases coupled,orth [options]\n"
          "  odvgp predict --model out.odvgp --data new.csv [--out pred.csv] [options]\n"
          "  odvgp info    --model out.odvgp [--json]\n"
          "  odvgp help    [train|compare|predict|info]\n"
          "  odvgp --version\n",
          f);
}

static const char kernels_help[] =
    "\nKernels\n"
    "  rbf, matern12, matern32, matern52(lengthscale, variance=1, ard, dims=0:3+5)\n"
    "  rq(lengthscale, alpha=1, ...), periodic(lengthscale, period=1, ...)\n"
    "  linear(variance, ard, dims=...), polynomial(variance, offset=1, degree=2, dims=...), "
    "constant(variance), white(variance)\n"
    "  ard: a lengthscale (of linear a variance) for each column. Numbers that are not given are found "
    "from the data, but\n"
    "  alpha and period, which begin at 1 (of standardised inputs).\n"
    "  Example: \"rbf(ard) * linear(0.5, dims=0) + periodic(1, period=0.4, dims=1)\"\n";

static void print_help(int command)
{
    static const char *const about[] = {
        "odvgp train: learns the last column of a CSV file (or --target) from the others and writes a model file.\n"
        "Columns are names from the header, or indices from 0; a name goes before an index. Ctrl-C saves the model so far.\n"
        "Inputs and targets are standardised; lengthscales, noise and bounds are in these units. The test part is evaluated\n"
        "fifty times in --iters steps, less often where that would take more than a twentieth of the time. sgpr, "
        "solve-collapsed\n"
        "and exact have no q while they train; it is put to its optimum for evaluations and at the end. A training that goes "
        "on\n"
        "from --fit-q end, or with L-BFGS from one of these, is not, to the bit, one without a pause.\n",
        "odvgp compare: trains several bases on the same rows and prints one table. All see the same minibatches and start "
        "from\n"
        "the same hyperparameters and, where sizes agree, the same inducing points; they are trained one after another.\n"
        "elbo is the bound on all training rows at the end; in --trace and --plot, where there is no test part, it is the mean "
        "of\n"
        "the minibatch estimates since the row before. Seconds are those of training steps, without evaluations, which come "
        "at\n"
        "the same steps for all: close to each other at first, then forty evenly spread. rmse, mae and loglik are of the test\n"
        "part, on standardised targets. An item of --bases may have keys of its own: coupled:beta=800,orth,\n"
        "orth:natgrad=off. One that fails gets its reason for a row, the others go on, and the exit code is 1. No model is "
        "saved.\n",
        "odvgp predict: mean, standard deviation of f and of y = f + noise for each row, as CSV, in the units of the targets.\n"
        "Columns are found by name if both files have headers, else by position (with or without the target). If the target "
        "is\n"
        "there, metrics are printed too. With --missing drop, rows with missing inputs get NA.\n",
        "odvgp info: what a model file holds.\n"};
    fputs(about[command == TRAIN ? 0 : command == COMPARE ? 1 : command == PREDICT ? 2 : 3], stdout);
    size_t group = 0;
    const char *title = NULL;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const option *o = &option_list[i];
        if (group < sizeof option_groups / sizeof *option_groups && option_groups[group].first == i)
            title = option_groups[group++].title;
        if (!(o->where & command)) continue;
        if (title) printf("\n%s\n", title);
        title = NULL;
        char left[80];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        printf("  %-42s %s", left, o->help);
        printf(o->preset ? " [%s]\n" : "\n", o->preset);
    }
    if (command & FIT) fputs(kernels_help, stdout);
    if (command & FIT) printf("\nRecipes\n");
    for (int i = 0; i < RECIPE_COUNT && (command & FIT); i++) printf("  %s\n", recipe_about[i]);
    if (command & FIT) printf("\nBases\n");
    for (int i = 0; i < BASIS_COUNT && (command & FIT); i++)
        printf("  %-16s %s%s\n", basis_list[i].name, basis_list[i].help, basis_list[i].natgrad ? "" : "; no natural step");
    if (command != COMPARE) return;
    bytes names = own_names();
    printf("\nKeys of --bases\n  %s\n", names.at);
    free(names.at);
}

/*  Repeated --ordinal and --schedule options are joined by line ends; of others the last one counts. */
static void option_set(options *o, int id, const char *value)
{
    bytes text = {NULL, 0, 0};
    if ((id == OPT_ORDINAL || id == OPT_SCHEDULE) && o->given[id]) bytes_print(&text, "%s\n", o->value[id]);
    bytes_print(&text, "%s", value);
    free(o->owned[id]);
    o->value[id] = o->owned[id] = text.at;
    o->given[id] = 1;
}

static void options_free(options *o)
{
    for (int i = 0; i < OPTION_COUNT; i++) free(o->owned[i]);
}

static void options_parse(options *o, int command, int argc, char **argv)
{
    memset(o, 0, sizeof *o);
    for (int i = 0; i < OPTION_COUNT; i++) o->value[i] = option_list[i].preset;
    for (int i = 0; i < argc; i++) {
        const char *name = argv[i] + 2, *value = NULL;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(command);
            exit(0);
        }
        if (strncmp(argv[i], "--", 2) != 0 || !*name)
            die(BAD_INPUT, "unexpected argument '%s'; options begin with --", argv[i]);
        size_t length = strcspn(name, "=");
        if (name[length]) value = name + length + 1;
        int id = 0;
        while (id < OPTION_COUNT &&
               (strlen(option_list[id].name) != length || strncmp(option_list[id].name, name, length) != 0))
            id++;
        if (id == OPTION_COUNT) die(BAD_INPUT, "unknown option --%.*s; see odvgp help", (int)length, name);
        if (!(option_list[id].where & command)) die(BAD_INPUT, "--%s is not an option of this command", option_list[id].name);
        if (!option_list[id].argument) {
            if (value) die(BAD_INPUT, "--%s takes no value", option_list[id].name);
            value = "";
        } else if (!value) {
            if (++i == argc) die(BAD_INPUT, "--%s needs a value: %s", option_list[id].name, option_list[id].argument);
            value = argv[i];
        }
        option_set(o, id, value);
    }
}

static long long option_integer(const options *o, int id, long long least, long long most)
{
    char *end;
    errno = 0;
    long long v = strtoll(o->value[id], &end, 10);
    if (end == o->value[id] || *end || errno || v < least || v > most)
        die(BAD_INPUT, "--%s %s: must be a whole number from %lld to %lld", option_list[id].name, o->value[id], least, most);
    return v;
}

static double option_real(const options *o, int id, double least, double most, const char *range)
{
    double v = NAN;
    const char *end = table__number(o->value[id], &v);
    if (!end || *end || !(v >= least && v <= most))
        die(BAD_INPUT, "--%s %s: must be a number %s", option_list[id].name, o->value[id], range);
    return v;
}

static double option_positive(const options *o, int id) { return option_real(o, id, DBL_MIN, DBL_MAX, "above 0"); }

/*  The position of the value among the words of the list "a|b|c". */
static int option_choice(const options *o, int id, const char *words)
{
    const char *value = o->value[id];
    size_t length = strlen(value);
    int position = 0;
    for (const char *s = words;; position++) {
        size_t n = strcspn(s, "|");
        if (n == length && strncmp(s, value, n) == 0) return position;
        if (!s[n]) break;
        s += n + 1;
    }
    die(BAD_INPUT, "--%s %s: must be one of %s", option_list[id].name, value, words);
}

/*  The same, with words that other versions of the tool have. */
static int option_choice_so_far(const options *o, int id, const char *words, const char *later)
{
    size_t length = strlen(o->value[id]);
    for (const char *s = later; s; s = strchr(s, '|') ? strchr(s, '|') + 1 : NULL)
        if (strcspn(s, "|") == length && strncmp(s, o->value[id], length) == 0)
            die(BAD_INPUT, "--%s %s: not in this version, which has %s", option_list[id].name, o->value[id], words);
    return option_choice(o, id, words);
}

static const char *option_needed(const options *o, int id)
{
    if (!o->value[id]) die(BAD_INPUT, "--%s is needed: %s", option_list[id].name, option_list[id].help);
    return o->value[id];
}

static char option_separator(const options *o)
{
    static const struct {
        const char *name;
        char character;
    } names[] = {{"auto", 0},   {"comma", ','}, {",", ','},    {"semicolon", ';'}, {";", ';'},
                 {"tab", '\t'}, {"\t", '\t'},   {"\\t", '\t'}, {"space", ' '},     {" ", ' '}};
    const char *value = o->value[OPT_SEP];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(value, names[i].name) == 0) return names[i].character;
    if (value[0] && !value[1] && ispunct((unsigned char)value[0]) && !strchr("\"+-.", value[0])) return value[0];
    die(BAD_INPUT, "--sep %s: must be auto, comma, semicolon, tab, space or one character", value);
}

/* ----------------------------------------------------------------------------------------------------------------------- */
/*  Schema: what the tool itself keeps in a model file                                                                     */
/* ----------------------------------------------------------------------------------------------------------------------- */
/*  A column of the training file that is an input or a target. */
typedef struct field {
    char *name; /* NULL without a header */
    int column; /* in the training file */
    int repeat; /* how many columns before it have its name */
    int ordinal;
    int level_count; /* 0: numbers; else text, one input per level, or one in all if ordinal */
    char **levels;
} field;

typedef struct schema {
    char *dataset, *target_text; /* names to show */
    int columns;                 /* of the training file */
    int input_count, target_count;
    field *inputs, *targets;
    ptrdiff_t D; /* inputs, levels counted */
    double *x_mean, *x_scale, *y_mean, *y_scale;
    ptrdiff_t n_train;
    uint64_t checksum; /* of the training part, before it is standardised */
    char *settings;    /* KEPT options, "name=value" each with a zero behind it, then an empty one */
} schema;

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t hash_bytes(const void *at, size_t n)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < n; i++) h = mix(h ^ ((const unsigned char *)at)[i]);
    return h;
}

static uint64_t hash_doubles(uint64_t h, const double *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double positive_zero = x[i] + 0.0;
        uint64_t bits;
        memcpy(&bits, &positive_zero, sizeof bits);
        h = mix((h + UINT64_C(0x9e3779b97f4a7c15)) ^ bits);
    }
    return h;
}

/*  Writing and reading go over the same fields by the same function, so that they cannot disagree. Little-endian. */
typedef struct archive {
    bytes out;               /* writing */
    const unsigned char *in; /* reading: NULL when writing */
    size_t left;
    int bad;
} archive;

static void walk_u64(archive *a, uint64_t *v)
{
    unsigned char raw[8];
    if (a->in) {
        if (a->left < sizeof raw) {
            a->bad = 1;
            *v = 0;
            return;
        }
        *v = 0;
        for (int i = 0; i < 8; i++) *v |= (uint64_t)a->in[i] << (8 * i);
        a->in += sizeof raw;
        a->left -= sizeof raw;
    } else {
        for (int i = 0; i < 8; i++) raw[i] = (unsigned char)(*v >> (8 * i));
        bytes_add(&a->out, raw, sizeof raw);
    }
}

/*  A whole number from 0 to most. */
static ptrdiff_t walk_count(archive *a, ptrdiff_t v, ptrdiff_t most)
{
    uint64_t u = (uint64_t)v;
    walk_u64(a, &u);
    if (u > (uint64_t)most) a->bad = 1;
    return a->bad ? 0 : (ptrdiff_t)u;
}

static void walk_int(archive *a, int *v) { *v = (int)walk_count(a, *v, INT_MAX); }

static void walk_doubles(archive *a, double **x, ptrdiff_t n)
{
    if (a->in && (size_t)n > a->left / 8) a->bad = 1;
    if (a->bad) return;
    if (a->in) *x = take_doubles(n, 1);
    for (ptrdiff_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, *x + i, sizeof bits);
        walk_u64(a, &bits);
        memcpy(*x + i, &bits, sizeof bits);
    }
}

/*  `size` bytes with their length before them; NULL is told apart from nothing. */
static void walk_block(archive *a, char **block, size_t size)
{
    uint64_t length = *block ? size + 1 : 0;
    walk_u64(a, &length);
    if (a->in && length > (uint64_t)a->left + 1) a->bad = 1;
    if (a->bad || !length) return;
    size = (size_t)length - 1;
    if (a->in) {
        *block = take(size + 2, 1); /* settings end with two zeros whatever the file says */
        memcpy(*block, a->in, size);
        a->in += size;
        a->left -= size;
    } else bytes_add(&a->out, *block, size);
}

static void walk_text(archive *a, char **text) { walk_block(a, text, *text ? strlen(*text) : 0); }

static void walk_fields(archive *a, field **fields, int *count)
{
    walk_int(a, count);
    if (a->in && (size_t)*count > a->left) a->bad = 1;
    if (a->bad) return;
    if (a->in) *fields = take((size_t)*count, sizeof **fields);
    for (int i = 0; i < *count && !a->bad; i++) {
        field *f = *fields + i;
        walk_text(a, &f->name);
        walk_int(a, &f->column);
        walk_int(a, &f->repeat);
        walk_int(a, &f->ordinal);
        walk_int(a, &f->level_count);
        if (a->in && (size_t)f->level_count > a->left) a->bad = 1;
        if (a->bad) return;
        if (a->in) f->levels = take((size_t)f->level_count, sizeof *f->levels);
        for (int k = 0; k < f->level_count && !a->bad; k++) {
            walk_text(a, &f->levels[k]);
            if (!f->levels[k]) a->bad = 1;
        }
    }
}

static size_t settings_size(const char *settings)
{
    const char *s = settings;
    while (*s) s += strlen(s) + 1;
    return (size_t)(s - settings) + 1;
}

static const char schema_magic[8] = {'o', 'd', 'v', 'g', 'p', 'c', 's', 'v'};
enum { SCHEMA_VERSION = 1 };

static void walk_schema(archive *a, schema *s)
{
    walk_text(a, &s->dataset);
    walk_text(a, &s->target_text);
    walk_int(a, &s->columns);
    walk_fields(a, &s->inputs, &s->input_count);
    walk_fields(a, &s->targets, &s->target_count);
    s->D = walk_count(a, s->D, PTRDIFF_MAX);
    walk_doubles(a, &s->x_mean, s->D);
    walk_doubles(a, &s->x_scale, s->D);
    walk_doubles(a, &s->y_mean, s->target_count);
    walk_doubles(a, &s->y_scale, s->target_count);
    s->n_train = walk_count(a, s->n_train, PTRDIFF_MAX);
    walk_u64(a, &s->checksum);
    walk_block(a, &s->settings, s->settings ? settings_size(s->settings) : 0);
}

/*  Magic, version, fields, checksum of all that. */
static bytes schema_write(schema *s)
{
    archive a;
    memset(&a, 0, sizeof a);
    uint64_t version = SCHEMA_VERSION;
    bytes_add(&a.out, schema_magic, sizeof schema_magic);
    walk_u64(&a, &version);
    walk_schema(&a, s);
    uint64_t sum = hash_bytes(a.out.at, a.out.used);
    walk_u64(&a, &sum);
    return a.out;
}

static ptrdiff_t field_inputs(const field *f) { return f->level_count && !f->ordinal ? f->level_count : 1; }

static void schema_read(schema *s, const char *path, const void *block, size_t size)
{
    archive a;
    memset(&a, 0, sizeof a);
    memset(s, 0, sizeof *s);
    a.in = block;
    a.left = size;
    if (size < sizeof schema_magic + 16 || memcmp(block, schema_magic, sizeof schema_magic) != 0)
        die(BAD_INPUT, "%s: this model was not written by the tool: it says nothing about columns", path);
    a.in += sizeof schema_magic;
    a.left -= sizeof schema_magic;
    uint64_t version, sum = 0;
    walk_u64(&a, &version);
    if (version != SCHEMA_VERSION) die(BAD_INPUT, "%s: written by another version of the tool", path);
    walk_schema(&a, s);
    walk_u64(&a, &sum);
    ptrdiff_t D = 0;
    for (int i = 0; i < s->input_count && !a.bad; i++) {
        D += field_inputs(&s->inputs[i]);
        if (s->inputs[i].column >= s->columns) a.bad = 1;
    }
    for (int i = 0; i < s->target_count && !a.bad; i++)
        if (s->targets[i].column >= s->columns) a.bad = 1;
    if (a.bad || a.left || sum != hash_bytes(block, size - 8) || D != s->D || !s->dataset || !s->target_text || !s->settings)
        die(BAD_INPUT, "%s: damaged: what it says about columns does not fit together", path);
}

static void fields_free(field *fields, int count)
{
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < fields[i].level_count; k++) free(fields[i].levels[k]);
        free(fields[i].levels);
        free(fields[i].name);
    }
    free(fields);
}

static void schema_free(schema *s)
{
    fields_free(s->inputs, s->input_count);
    fields_free(s->targets, s->target_count);
    free(s->x_mean);
    free(s->x_scale);
    free(s->y_mean);
    free(s->y_scale);
    free(s->dataset);
    free(s->target_text);
    free(s->settings);
    memset(s, 0, sizeof *s);
}

/* ---- settings: the options that a model keeps ---- */

static char *settings_make(const options *o)
{
    bytes b = {NULL, 0, 0};
    for (int i = 0; i < OPTION_COUNT; i++)
        if ((option_list[i].where & KEPT) && o->value[i]) {
            bytes_print(&b, "%s=%s", option_list[i].name, o->value[i]);
            bytes_add(&b, "", 1);
        }
    bytes_add(&b, "", 1);
    return b.at;
}

static const char *settings_find(const char *settings, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = settings; *s; s += strlen(s) + 1)
        if (strncmp(s, name, n) == 0 && s[n] == '=') return s + n + 1;
    return NULL;
}

/*  Is the text R or FROM-TO? Of R both are the same. */
static int parse_range(const char *text, double *from, double *to)
{
    const char *p = table__number(text, from);
    *to = *from;
    if (p && p > text && *p == '-') p = table__number(p + 1, to);
    return p && !*p;
}

/*  Equal as texts, or as numbers: 1e-3 is 0.001. */
static int same_value(const char *a, const char *b)
{
    double x[2], y[2];
    if (!a || !b) return a == b;
    return strcmp(a, b) == 0 || (parse_range(a, &x[0], &x[1]) && parse_range(b, &y[0], &y[1]) && x[0] >= y[0] && x[0] <= y[0] &&
                                 x[1] >= y[1] && x[1] <= y[1]);
}

/*  A resumed training goes on with the model's own settings; one that is given again must be the same. */
static void settings_apply(options *o, const char *settings)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (!(option_list[i].where & KEPT)) continue;
        const char *name = option_list[i].name, *kept = settings_find(settings, name);
        if (!kept) kept = option_list[i].preset;
        if (o->given[i] && !same_value(o->value[i], kept))
            die(BAD_INPUT, "--%s %s: the model was made with %s, and --resume keeps that", name, o->value[i],
                kept ? kept : "none");
        free(o->owned[i]);
        o->value[i] = o->owned[i] = copy_text(kept);
    }
}

/* ----------------------------------------------------------------------------------------------------------------------- */
/*  From tables to inputs and targets                                                                                      */
/* ----------------------------------------------------------------------------------------------------------------------- */
/*  Rows as the library wants them. */
typedef struct part {
    ptrdiff_t n;
    double *X, *Y; /* [n,D], [n,P]; Y may be NULL */
} part;

static void part_free(part *p)
{
    free(p->X);
    free(p->Y);
    memset(p, 0, sizeof *p);
}

/*  "column 3 (depth)" for messages. */
static const char *column_text(char *text, size_t size, int column, const char *name)
{
    if (name) snprintf(text, size, "column %d (%s)", column, name);
    else snprintf(text, size, "column %d", column);
    return text;
}
#define COLUMN_TEXT(column, name) column_text((char[120]){""}, 120, column, name)

static const char *path_text(const char *path) { return strcmp(path, "-") ? path : "standard input"; }

/*  A list of columns. */
typedef struct selection {
    int *column, count;
} selection;

static void select_column(selection *s, int column)
{
    s->column = realloc(s->column, ((size_t)s->count + 1) * sizeof *s->column);
    if (!s->column) die(FAILED, "out of memory");
    s->column[s->count++] = column;
}

/*  A whole number at s, -1 if there is none or it is absurd. */
static int parse_index(const char **s)
{
    int v = 0;
    const char *start = *s;
    for (; isdigit((unsigned char)**s) && v < 100000000; ++*s) v = v * 10 + (**s - '0');
    return *s == start ? -1 : v;
}

/*  One item of a list: a name, an index, a range of indices, or "last". */
static void select_item(selection *s, const table *t, int id, const char *item)
{
    const char *p = item;
    int from = table_find(t, item, 0), to = from;
    if (from < 0 && strcmp(item, "last") == 0) from = to = t->columns - 1;
    if (from < 0) {
        from = to = parse_index(&p);
        if (from >= 0 && *p == '-') {
            p++;
            to = parse_index(&p);
        }
        if (from < 0 || to < 0 || *p) die(BAD_INPUT, "--%s: there is no column '%s'", option_list[id].name, item);
        if (to < from) die(BAD_INPUT, "--%s: the range %s runs backwards", option_list[id].name, item);
        if (to >= t->columns)
            die(BAD_INPUT, "--%s %s: the last column is %d, counted from 0", option_list[id].name, item, t->columns - 1);
    }
    for (; from <= to; from++) {
        for (int k = 0; k < s->count; k++)
            if (s->column[k] == from)
                die(BAD_INPUT, "--%s: %s is named twice", option_list[id].name, COLUMN_TEXT(from, t->column[from].name));
        select_column(s, from);
    }
}

static selection select_list(const table *t, const options *o, int id)
{
    selection s = {NULL, 0};
    if (!o->value[id]) return s;
    if (table_find(t, o->value[id], 0) >= 0) { /* a name may hold commas */
        select_item(&s, t, id, o->value[id]);
        return s;
    }
    char *list = copy_text(o->value[id]), *item = list;
    while (item) {
        char *comma = strchr(item, ',');
        if (comma) *comma = 0;
        select_item(&s, t, id, item);
        item = comma ? comma + 1 : NULL;
    }
    free(list);
    return s;
}

static int selected(const selection *s, int column)
{
    for (int i = 0; i < s->count; i++)
        if (s->column[i] == column) return 1;
    return 0;
}

/*  The levels that --ordinal gives to a column, "a,b,c", or NULL. */
static const char *ordinal_levels(const options *o, int column, const char *name)
{
    for (const char *s = o->value[OPT_ORDINAL]; s && *s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL) {
        size_t length = strcspn(s, "=\n");
        const char *p = s;
        if (name && strlen(name) == length && strncmp(s, name, length) == 0) return s + length + 1;
        if (parse_index(&p) == column && p == s + length) return s + length + 1;
    }
    return NULL;
}

static void check_ordinals(const options *o, const table *t)
{
    for (const char *s = o->value[OPT_ORDINAL]; s && *s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL) {
        int length = (int)strcspn(s, "=\n"), column = 0;
        if (s[length] != '=' || !s[length + 1] || s[length + 1] == '\n')
            die(BAD_INPUT, "--ordinal %.*s: must look like NAME=a,b,c", length, s);
        while (column < t->columns && ordinal_levels(o, column, t->column[column].name) != s + length + 1) column++;
        if (column == t->columns) die(BAD_INPUT, "--ordinal: there is no column '%.*s'", length, s);
    }
}

static int ordinal_is_text(const void *user, int columns, int column, const char *name)
{
    (void)columns;
    return ordinal_levels(user, column, name) != NULL;
}

static void add_level(field *f, const char *text, size_t length)
{
    f->levels = realloc(f->levels, ((size_t)f->level_count + 1) * sizeof *f->levels);
    if (!f->levels) die(FAILED, "out of memory");
    char *copy = take(length + 1, 1);
    memcpy(copy, text, length);
    f->levels[f->level_count++] = copy;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/*  One-hot inputs beyond this many are an identifier, not a category. */
enum { MOST_LEVELS = 1000 };

static void field_levels(field *f, const table *t, const options *o)
{
    const table_column *c = &t->column[f->column];
    const char *s = ordinal_levels(o, f->column, c->name);
    if (s) {
        f->ordinal = 1;
        for (;; s++) {
            size_t n = strcspn(s, ",\n");
            add_level(f, s, n);
            s += n;
            if (*s != ',') return;
        }
    }
    if (c->level_count > MOST_LEVELS)
        die(BAD_INPUT, "%s: %s has %d different texts; leave it out with --ignore", path_text(o->value[OPT_DATA]),
            COLUMN_TEXT(f->column, c->name), c->level_count);
    for (int k = 0; k < c->level_count; k++) add_level(f, c->levels[k], strlen(c->levels[k]));
    if (f->levels) qsort(f->levels, (size_t)f->level_count, sizeof *f->levels, by_text);
}

static field *fields_make(const selection *s, const table *t, const options *o)
{
    field *fields = take((size_t)s->count, sizeof *fields);
    for (int i = 0; i < s->count; i++) {
        field *f = &fields[i];
        const table_column *c = &t->column[s->column[i]];
        f->column = s->column[i];
        f->name = copy_text(c->name);
        for (int k = c->name ? table_find(t, c->name, 0) : f->column; k < f->column; k = table_find(t, c->name, k + 1))
            f->repeat++;
        if (c->text) field_levels(f, t, o);
    }
    return fields;
}

/*  data/bike.csv -> bike */
static char *dataset_name(const char *path)
{
    if (strcmp(path, "-") == 0) return copy_text("stdin");
    const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path, *dot = strrchr(start, '.');
    size_t n = dot && dot > start ? (size_t)(dot - start) : strlen(start);
    bytes name = {NULL, 0, 0};
    bytes_add(&name, start, n);
    return name.at;
}

/*  Which columns are inputs and which are targets. */
static void schema_columns(schema *s, const table *t, const options *o)
{
    selection targets = select_list(t, o, OPT_TARGET), ignored = select_list(t, o, OPT_IGNORE),
              inputs = select_list(t, o, OPT_FEATURES);
    if (!o->value[OPT_FEATURES])
        for (int i = 0; i < t->columns; i++)
            if (!selected(&targets, i) && !selected(&ignored, i)) select_column(&inputs, i);
    const char *path = path_text(o->value[OPT_DATA]);
    for (int i = 0; i < inputs.count; i++)
        if (selected(&targets, inputs.column[i]) || selected(&ignored, inputs.column[i]))
            die(BAD_INPUT, "--features: %s is a target or ignored",
                COLUMN_TEXT(inputs.column[i], t->column[inputs.column[i]].name));
    for (int i = 0; i < targets.count; i++) {
        const table_column *c = &t->column[targets.column[i]];
        if (selected(&ignored, targets.column[i]))
            die(BAD_INPUT, "--ignore: %s is the target", COLUMN_TEXT(targets.column[i], c->name));
        if (c->text)
            die(BAD_INPUT, "%s: line %ld, %s: '%s' is text, and the target must be numbers", path, c->level_lines[0],
                COLUMN_TEXT(targets.column[i], c->name), c->levels[0]);
    }
    if (!inputs.count) die(BAD_INPUT, "%s: no input column beside the target", path);
    s->dataset = dataset_name(o->value[OPT_DATA]);
    s->columns = t->columns;
    s->inputs = fields_make(&inputs, t, o);
    s->input_count = inputs.count;
    s->targets = fields_make(&targets, t, o);
    s->target_count = targets.count;
    for (int i = 0; i < s->input_count; i++) s->D += field_inputs(&s->inputs[i]);
    bytes text = {NULL, 0, 0};
    for (int i = 0; i < s->target_count; i++) {
        if (s->targets[i].name) bytes_print(&text, "%s%s", i ? ", " : "", s->targets[i].name);
        else bytes_print(&text, "%s%d", i ? ", " : "column ", s->targets[i].column);
    }
    s->target_text = text.at;
    free(targets.column);
    free(ignored.column);
    free(inputs.column);
}

/*  How the columns of a table serve a schema. */
typedef struct binding {
    int *input;  /* [input_count] columns */
    int *target; /* [target_count] columns; NULL: not there */
    int **code;  /* [input_count]: for text, from the column's levels to the field's */
} binding;

static int position_of(const schema *s, const table *t, const field *f, int nth_input)
{
    if (t->header && f->name) {
        int column = table_find(t, f->name, 0);
        for (int k = 0; k < f->repeat && column >= 0; k++) column = table_find(t, f->name, column + 1);
        return column;
    }
    if (t->columns == s->columns) return f->column;
    return t->columns == s->input_count ? nth_input : -1;
}

static void bind_text(binding *b, const field *f, int i, const table *t, const char *path)
{
    const table_column *c = &t->column[b->input[i]];
    b->code[i] = take((size_t)c->level_count, sizeof **b->code);
    for (int k = 0; k < c->level_count; k++) {
        int level = 0;
        while (level < f->level_count && strcmp(f->levels[level], c->levels[k]) != 0) level++;
        if (level == f->level_count)
            die(BAD_INPUT, "%s: line %ld, %s: '%s' is none of the %d levels of this column", path_text(path), c->level_lines[k],
                COLUMN_TEXT(b->input[i], c->name), c->levels[k], f->level_count);
        b->code[i][k] = level;
    }
}

/*  Numbers where the schema has numbers, text where it has text. */
static void check_kind(const table *t, int column, const field *f, const char *path)
{
    char error[400];
    const table_column *c = &t->column[column];
    if (table_check(t, column, path, error, sizeof error)) die(BAD_INPUT, "%s", error);
    if (c->text && !f->level_count)
        die(BAD_INPUT, "%s: line %ld, %s: '%s' is not a number", path_text(path), c->level_lines[0],
            COLUMN_TEXT(column, c->name), c->levels[0]);
}

static binding bind_columns(const schema *s, const table *t, const char *path)
{
    binding b;
    b.input = take((size_t)s->input_count, sizeof *b.input);
    b.target = take((size_t)s->target_count, sizeof *b.target);
    b.code = take((size_t)s->input_count, sizeof *b.code);
    for (int i = 0; i < s->input_count; i++) {
        const field *f = &s->inputs[i];
        b.input[i] = position_of(s, t, f, i);
        if (b.input[i] < 0 && t->header && f->name)
            die(BAD_INPUT, "%s: line 1: there is no column '%s'", path_text(path), f->name);
        if (b.input[i] < 0)
            die(BAD_INPUT, "%s: line 1: %d columns where the model knows %d inputs in a file of %d columns", path_text(path),
                t->columns, s->input_count, s->columns);
        check_kind(t, b.input[i], f, path);
        if (f->level_count) bind_text(&b, f, i, t, path);
    }
    for (int i = 0; i < s->target_count && b.target; i++) {
        b.target[i] = position_of(s, t, &s->targets[i], -1);
        if (b.target[i] >= 0) check_kind(t, b.target[i], &s->targets[i], path);
        else {
            free(b.target);
            b.target = NULL;
        }
    }
    return b;
}

static void binding_free(binding *b, const schema *s)
{
    for (int i = 0; i < s->input_count; i++) free(b->code[i]);
    free(b->code);
    free(b->input);
    free(b->target);
}

/*  Is a text column expected here? Numbers that serve as levels are then read as text. */
static int schema_is_text(const void *user, int columns, int column, const char *name)
{
    const schema *s = user;
    for (int i = 0; i < s->input_count; i++) {
        const field *f = &s->inputs[i];
        int here = name && f->name ? strcmp(name, f->name) == 0 : columns == s->columns ? f->column == column : i == column;
        if (here && f->level_count) return 1;
    }
    return 0;
}

/*  A list of row numbers. */
typedef struct rows {
    ptrdiff_t n, *row;
} rows;

static void refuse_missing(const table *t, int column, const char *path, const char *advice)
{
    const table_column *c = &t->column[column];
    if (c->missing)
        die(BAD_INPUT, "%s: line %ld, %s: the value is missing%s", path_text(path), c->missing_line,
            COLUMN_TEXT(column, c->name), advice);
}

static int row_complete(const schema *s, const table *t, const binding *b, ptrdiff_t row, int targets_too)
{
    const double *cell = t->values + row * t->columns;
    for (int i = 0; i < s->input_count; i++)
        if (isnan(cell[b->input[i]])) return 0;
    for (int i = 0; i < s->target_count && targets_too && b->target; i++)
        if (isnan(cell[b->target[i]])) return 0;
    return 1;
}

/*  The rows in which nothing is missing; if something is, that is an error unless drop says otherwise. */
static rows complete_rows(const schema *s, const table *t, const binding *b, const char *path, int drop, int targets_too)
{
    const char *advice = "; --missing drop leaves such rows out";
    for (int i = 0; i < s->input_count && !drop; i++) refuse_missing(t, b->input[i], path, advice);
    for (int i = 0; i < s->target_count && !drop && targets_too && b->target; i++)
        refuse_missing(t, b->target[i], path, advice);
    rows r = {0, take((size_t)t->rows, sizeof *r.row)};
    for (ptrdiff_t i = 0; i < t->rows; i++)
        if (!drop || row_complete(s, t, b, i, targets_too)) r.row[r.n++] = i;
    return r;
}

static part encode(const schema *s, const table *t, const binding *b, const rows *r)
{
    part p = {r->n, take_doubles(r->n, s->D), b->target ? take_doubles(r->n, s->target_count) : NULL};
    for (ptrdiff_t k = 0; k < r->n; k++) {
        const double *cell = t->values + r->row[k] * t->columns;
        double *x = p.X + k * s->D;
        for (int i = 0; i < s->input_count; i++) {
            const field *f = &s->inputs[i];
            double v = cell[b->input[i]];
            if (!f->level_count) *x++ = v;
            else if (f->ordinal) *x++ = b->code[i][(int)v];
            else {
                x[b->code[i][(int)v]] = 1; /* the others are 0 already */
                x += f->level_count;
            }
        }
        for (int i = 0; i < s->target_count && b->target; i++) p.Y[k * s->target_count + i] = cell[b->target[i]];
    }
    return p;
}

static void read_table(table *t, const char *path, const options *o, int (*is_text)(const void *, int, int, const char *),
                       const void *user)
{
    char error[400];
    table_options how = {0, option_separator(o), is_text, user};
    static const int header[] = {0, 1, -1};
    how.header = header[option_choice(o, OPT_HEADER, "auto|yes|no")];
    if (table_read(t, path, &how, error, sizeof error)) die(BAD_INPUT, "%s", error);
}

/* ---- standardisation ---- */

/*  A range of more than the largest double cannot be standardised. */
static void check_finite(const part *p, const schema *s, const char *path)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < p->n * s->D; i++) sum += p->X[i] * 0;
    for (ptrdiff_t i = 0; i < p->n * s->target_count; i++) sum += p->Y[i] * 0;
    if (isnan(sum)) die(BAD_INPUT, "%s: a column has numbers too far apart to be standardised", path_text(path));
}

static void schema_scales(schema *s, const part *train)
{
    s->x_mean = take_doubles(s->D, 1);
    s->x_scale = take_doubles(s->D, 1);
    s->y_mean = take_doubles(s->target_count, 1);
    s->y_scale = take_doubles(s->target_count, 1);
    odvgp_info info;
    odvgp_status bad = odvgp_column_scales(train->X, train->n, s->D, s->x_mean, s->x_scale, &info);
    if (!bad) bad = odvgp_column_scales(train->Y, train->n, s->target_count, s->y_mean, s->y_scale, &info);
    if (bad) die(BAD_INPUT, "%s", info.text);
}

static odvgp_scales scales_of(const schema *s)
{
    odvgp_scales scales = {s->x_mean, s->x_scale, s->y_mean, s->y_scale};
    return scales;
}

/*  Rows of X that differ. */
static ptrdiff_t count_distinct(const double *X, ptrdiff_t n, ptrdiff_t D)
{
    size_t room = 16, mask;
    while (room < 2 * (size_t)n) room *= 2;
    mask = room - 1;
    ptrdiff_t *slot = take(room, sizeof *slot), count = 0; /* row + 1, 0: free */
    for (ptrdiff_t i = 0; i < n; i++) {
        size_t at = (size_t)hash_doubles(0, X + i * D, D) & mask;
        for (; slot[at]; at = (at + 1) & mask) {
            const double *a = X + i * D, *b = X + (slot[at] - 1) * D;
            ptrdiff_t k = 0;
            while (k < D && a[k] >= b[k] && a[k] <= b[k]) k++;
            if (k == D) break;
        }
        if (slot[at]) continue;
        slot[at] = i + 1;
        count++;
    }
    free(slot);
    return count;
}

/* ---- the test part ---- */

/*  Element i of a permutation of [0, n): a Feistel network on the next power of four, walked until it falls below n. */
static ptrdiff_t permute(uint64_t seed, ptrdiff_t n, ptrdiff_t i)
{
    int half = 1;
    while (((uint64_t)1 << (2 * half)) < (uint64_t)n) half++;
    uint64_t key = mix(seed + UINT64_C(0x5851f42d4c957f2d)), mask = ((uint64_t)1 << half) - 1, x = (uint64_t)i;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t round = 0; round < 6; round++) {
            uint64_t next = left ^ (mix(key + right * 8 + round) & mask);
            left = right;
            right = next;
        }
        x = left << half | right;
    } while (x >= (uint64_t)n);
    return (ptrdiff_t)x;
}

/*  FILE:COLUMN into a flag per data row. */
static char *read_mask(const char *argument, ptrdiff_t data_rows)
{
    char *path = copy_text(argument), *colon = strrchr(path, ':'), error[400];
    const char *digits = colon ? colon + 1 : NULL;
    int column = digits ? parse_index(&digits) : -1;
    if (column < 0 || *digits)
        die(BAD_INPUT, "--test-mask %s: must be FILE:COLUMN, with the column's index counted from 0", argument);
    *colon = 0;
    table t = {0};
    table_options how = {-1, 0, NULL, NULL};
    if (table_read(&t, path, &how, error, sizeof error)) die(BAD_INPUT, "%s", error);
    if (column >= t.columns) die(BAD_INPUT, "--test-mask %s: the last column is %d, counted from 0", argument, t.columns - 1);
    if (t.rows != data_rows) die(BAD_INPUT, "--test-mask %s: %td rows for the %td of the data", argument, t.rows, data_rows);
    if (table_check(&t, column, path, error, sizeof error)) die(BAD_INPUT, "%s", error);
    refuse_missing(&t, column, path, "");
    if (t.column[column].text) die(BAD_INPUT, "%s: line 1, column %d: must be 0 or 1", path, column);
    char *mask = take((size_t)t.rows, 1);
    for (ptrdiff_t i = 0; i < t.rows; i++) {
        double v = t.values[i * t.columns + column];
        if (v != 0 && v != 1) die(BAD_INPUT, "%s: line %td, column %d: must be 0 or 1", path, i + 1, column);
        mask[i] = v == 1;
    }
    table_free(&t);
    free(path);
    return mask;
}

/*  Cuts the rows in two as the options say: training rows, test rows. */
static void split_rows(const options *o, const rows *all, ptrdiff_t data_rows, rows part_rows[2])
{
    double fraction = option_real(o, OPT_TEST_FRACTION, 0, 1 - DBL_EPSILON, "from 0 to below 1");
    char *mask = o->value[OPT_TEST_MASK] ? read_mask(o->value[OPT_TEST_MASK], data_rows) : NULL;
    uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX);
    ptrdiff_t tested = (ptrdiff_t)(fraction * (double)all->n + 0.5);
    if (fraction > 0 && !tested) tested = 1;
    for (int k = 0; k < 2; k++) {
        part_rows[k].row = take((size_t)all->n, sizeof *part_rows[k].row);
        part_rows[k].n = 0;
    }
    for (ptrdiff_t i = 0; i < all->n; i++) {
        rows *to = &part_rows[mask ? mask[all->row[i]] : permute(seed, all->n, i) < tested];
        to->row[to->n++] = all->row[i];
    }
    free(mask);
    if (!part_rows[0].n) die(BAD_INPUT, "--%s: no row is left to train on", mask ? "test-mask" : "test-fraction");
}

/*  Rows of a file of their own, with targets. */
static part read_test_file(const schema *s, const options *o, const char *path, int drop)
{
    table t = {0};
    read_table(&t, path, o, schema_is_text, s);
    binding b = bind_columns(s, &t, path);
    if (!b.target) die(BAD_INPUT, "%s: line 1: there is no target (%s)", path_text(path), s->target_text);
    rows all = complete_rows(s, &t, &b, path, drop, 1);
    part p = encode(s, &t, &b, &all);
    free(all.row);
    binding_free(&b, s);
    table_free(&t);
    return p;
}

/*  Everything about the data of a training: schema, training and test part, both standardised. */
typedef struct dataset {
    schema s;
    part train, test;
    ptrdiff_t dropped;
} dataset;

static void dataset_read(dataset *d, const options *o)
{
    const char *path = option_needed(o, OPT_DATA);
    if (o->given[OPT_TEST] + (option_real(o, OPT_TEST_FRACTION, 0, 1 - DBL_EPSILON, "from 0 to below 1") > 0) +
            o->given[OPT_TEST_MASK] >
        1)
        die(BAD_INPUT, "--test, --test-fraction and --test-mask exclude each other");
    int drop = option_choice(o, OPT_MISSING, "error|drop");
    table t = {0};
    memset(d, 0, sizeof *d);
    read_table(&t, path, o, ordinal_is_text, o);
    check_ordinals(o, &t);
    schema *s = &d->s;
    schema_columns(s, &t, o);
    binding b = bind_columns(s, &t, path);
    rows all = complete_rows(s, &t, &b, path, drop, 1), cut[2];
    if (!all.n) die(BAD_INPUT, "%s: no row is complete", path_text(path));
    d->dropped = t.rows - all.n;
    split_rows(o, &all, t.rows, cut);
    d->train = encode(s, &t, &b, &cut[0]);
    d->test = encode(s, &t, &b, &cut[1]);
    free(all.row);
    free(cut[0].row);
    free(cut[1].row);
    binding_free(&b, s);
    table_free(&t);
    if (o->value[OPT_TEST]) {
        part_free(&d->test);
        d->test = read_test_file(s, o, o->value[OPT_TEST], drop);
    }
    s->n_train = d->train.n;
    s->checksum =
        hash_doubles(hash_doubles((uint64_t)s->D, d->train.X, d->train.n * s->D), d->train.Y, d->train.n * s->target_count);
    schema_scales(s, &d->train);
    for (int k = 0; k < 2; k++) {
        part *p = k ? &d->test : &d->train;
        odvgp_standardise(p->X, p->n, s->D, s->x_mean, s->x_scale, p->X);
        odvgp_standardise(p->Y, p->n, s->target_count, s->y_mean, s->y_scale, p->Y);
        check_finite(p, s, k && o->value[OPT_TEST] ? o->value[OPT_TEST] : path);
    }
}

static void dataset_free(dataset *d)
{
    schema_free(&d->s);
    part_free(&d->train);
    part_free(&d->test);
}

/* ----------------------------------------------------------------------------------------------------------------------- */
/*  Threads and predictions                                                                                                */
/* ----------------------------------------------------------------------------------------------------------------------- */
typedef struct workers {
    odvgp_threads threads;
#ifdef ODVGP_USE_PTHREADS
    odvgp_pool *pool;
    void *block;
#endif
} workers;

static void workers_start(workers *w, const options *o)
{
    int count = (int)option_integer(o, OPT_THREADS, 0, 256);
    memset(w, 0, sizeof *w);
#ifdef ODVGP_USE_PTHREADS
    if (!count) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        count = online < 1 ? 1 : online > 256 ? 256 : (int)online;
    }
    if (count == 1) return;
    size_t size = odvgp_pool_size(count);
    w->block = take(size, 1);
    if (odvgp_pool_start(&w->pool, count, w->block, size, &w->threads))
        die(FAILED, "--threads %d: the threads cannot be started", count);
#else
    if (count > 1) die(BAD_INPUT, "--threads %d: this program was built without threads", count);
#endif
}

static void workers_stop(workers *w)
{
#ifdef ODVGP_USE_PTHREADS
    odvgp_pool_stop(w->pool);
    free(w->block);
#endif
    memset(w, 0, sizeof *w);
}

/*  Mean, variance of f and variance of y of all rows, [n,P] each, made in blocks of rows that the threads share out. */
typedef struct forecast {
    double *mean, *var_f, *var_y;
} forecast;

static forecast forecast_make(ptrdiff_t n, ptrdiff_t P)
{
    forecast f = {take_doubles(n, P), take_doubles(n, P), take_doubles(n, P)};
    return f;
}

static void forecast_free(forecast *f)
{
    free(f->mean);
    free(f->var_f);
    free(f->var_y);
}

enum { FORECAST_ROWS = 256 };

typedef struct forecast_job {
    const odvgp_server *server;
    const double *X;
    ptrdiff_t n, D, P;
    const forecast *to;
    int tasks;
    unsigned char *scratch; /* [tasks][scratch_size] */
    size_t scratch_size;
    odvgp_status *status; /* [tasks] */
} forecast_job;

static void forecast_task(void *arg, int task)
{
    const forecast_job *job = arg;
    ptrdiff_t P = job->P, blocks = (job->n + FORECAST_ROWS - 1) / FORECAST_ROWS;
    size_t table_size = (size_t)(3 * P * FORECAST_ROWS) * sizeof(double);
    unsigned char *scratch = job->scratch + (size_t)task * job->scratch_size;
    double *local = (double *)(void *)scratch; /* three tables [P][rows] */
    for (ptrdiff_t k = blocks * task / job->tasks; k < blocks * (task + 1) / job->tasks; k++) {
        ptrdiff_t from = k * FORECAST_ROWS, m = job->n - from < FORECAST_ROWS ? job->n - from : FORECAST_ROWS;
        odvgp_status s = odvgp_predict(job->server, job->X + from * job->D, m, local, local + P * m, local + 2 * P * m,
                                       scratch + table_size, job->scratch_size - table_size);
        if (s) {
            job->status[task] = s;
            return;
        }
        for (ptrdiff_t p = 0; p < P; p++)
            for (ptrdiff_t i = 0; i < m; i++) {
                job->to->mean[(from + i) * P + p] = local[p * m + i];
                job->to->var_f[(from + i) * P + p] = local[(P + p) * m + i];
                job->to->var_y[(from + i) * P + p] = local[(2 * P + p) * m + i];
            }
    }
}

static void forecast_run(const forecast *f, const odvgp_server *server, const workers *w, const double *X, ptrdiff_t n)
{
    forecast_job job;
    memset(&job, 0, sizeof job);
    job.server = server;
    job.X = X;
    job.n = n;
    job.D = server->D;
    job.P = server->P;
    job.to = f;
    job.tasks = 1;
    if (w->threads.run && w->threads.count > 1) job.tasks = w->threads.count;
    size_t need = (size_t)(3 * job.P * FORECAST_ROWS) * sizeof(double) + odvgp_predict_scratch(server, FORECAST_ROWS);
    job.scratch_size = (need + 63) / 64 * 64;
    job.scratch = take((size_t)job.tasks, job.scratch_size);
    job.status = take((size_t)job.tasks, sizeof *job.status);
    if (job.tasks > 1) w->threads.run(w->threads.user, job.tasks, forecast_task, &job);
    else forecast_task(&job, 0);
    for (int i = 0; i < job.tasks; i++)
        if (job.status[i]) die(FAILED, "prediction: %s", odvgp_status_text(job.status[i]));
    free(job.status);
    free(job.scratch);
}

/*  Of standardised targets and, with _raw, in their own units; several targets are averaged. NAN: not available. */
typedef struct metrics {
    double rmse, mae, loglik, rmse_raw, mae_raw, loglik_raw;
    ptrdiff_t n; /* rows with a target */
} metrics;

static const metrics no_metrics = {NAN, NAN, NAN, NAN, NAN, NAN, 0};

/*  Everything standardised; targets that are NaN do not count. */
static metrics metrics_of(const forecast *f, const double *Y, ptrdiff_t n, int P, const double *y_scale)
{
    metrics m = {0, 0, 0, 0, 0, 0, 0};
    for (int p = 0; p < P; p++) {
        double squares = 0, sizes = 0, logs = 0;
        ptrdiff_t count = 0;
        for (ptrdiff_t i = p; i < n * P; i += P) {
            double e = Y[i] - f->mean[i], v = f->var_y[i];
            if (isnan(Y[i])) continue;
            squares += e * e;
            sizes += fabs(e);
            logs -= 0.5 * (log(6.283185307179586477 * v) + e * e / v);
            count++;
        }
        if (!count) return no_metrics;
        double rmse = sqrt(squares / (double)count), mae = sizes / (double)count, loglik = logs / (double)count;
        m.rmse += rmse / P;
        m.mae += mae / P;
        m.loglik += loglik / P;
        m.rmse_raw += rmse * y_scale[p] / P;
        m.mae_raw += mae * y_scale[p] / P;
        m.loglik_raw += (loglik - log(y_scale[p])) / P;
        m.n = count;
    }
    return m;
}

/* ----------------------------------------------------------------------------------------------------------------------- */
/*  JSON                                                                                                                   */
/* ----------------------------------------------------------------------------------------------------------------------- */
static void json_key(bytes *b, const char *key) { bytes_print(b, "%s\"%s\": ", b->used > 1 ? ", " : "", key); }

static void json_number(bytes *b, const char *key, double v)
{
    json_key(b, key);
    if (isfinite(v)) bytes_print(b, "%.10g", v);
    else bytes_print(b, "null");
}

static void json_count(bytes *b, const char *key, int64_t v)
{
    json_key(b, key);
    bytes_print(b, "%lld", (long long)v);
}

static void json_flag(bytes *b, const char *key, int v)
{
    json_key(b, key);
    bytes_print(b, v ? "true" : "false");
}

/*  Length of the UTF-8 character at s, 0 if there is none. */
static int utf8_length(const unsigned char *s)
{
    int n = 0;
    if (s[0] < 0x80) n = 1;
    else if (s[0] >= 0xC2 && s[0] < 0xE0) n = 2;
    else if (s[0] >= 0xE0 && s[0] < 0xF0) n = 3;
    else if (s[0] >= 0xF0 && s[0] < 0xF5) n = 4;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    return n;
}

/*  Bytes that are not UTF-8 are taken for Latin-1, so that the object stays valid. */
static void json_string(bytes *b, const char *text)
{
    bytes_add(b, "\"", 1);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = utf8_length(s);
        if (*s == '"' || *s == '\\') bytes_print(b, "\\%c", *s);
        else if (*s < 32 || !n) bytes_print(b, "\\u%04x", *s);
        else bytes_add(b, s, (size_t)n);
        s += n ? n : 1;
    }
    bytes_add(b, "\"", 1);
}

static void json_text(bytes *b, const char *key, const char *text)
{
    json_key(b, key);
    json_string(b, text);
}

static void json_metrics(bytes *b, const metrics *m)
{
    json_number(b, "rmse", m->rmse);
    json_number(b, "mae", m->mae);
    json_number(b, "loglik", m->loglik);
    json_number(b, "rmse_raw", m->rmse_raw);
    json_number(b, "mae_raw", m->mae_raw);
    json_number(b, "loglik_raw", m->loglik_raw);
}

static void json_events(bytes *b, const odvgp_events *e)
{
    json_number(b, "jitter", e->jitter);
    json_count(b, "jitter_raised", (int64_t)e->jitter_raised);
    json_count(b, "step_shortened", (int64_t)e->step_shortened);
    json_count(b, "variance_clamped", (int64_t)e->variance_clamped);
    json_count(b, "step_undone", (int64_t)e->step_undone);
}

/*  Writes what was collected as the one object on stdout. */
static void json_finish(bytes *b)
{
    bytes_print(b, "}\n");
    write_stdout(b);
    free(b->at);
}

/* ----------------------------------------------------------------------------------------------------------------------- */
/*  Models                                                                                                                 */
/* ----------------------------------------------------------------------------------------------------------------------- */
static const char *basis_text(const odvgp_config *c)
{
    for (int i = 0; i < BASIS_COUNT; i++)
        if (basis_list[i].mean_part == c->mean_part && basis_list[i].cov_part == c->cov_part &&
            basis_list[i].objective == c->objective)
            return basis_list[i].name;
    return "unknown";
}

static const char *objective_text(const odvgp_config *c)
{
    return c->objective == ODVGP_OBJECTIVE_ELBO ? "elbo" : c->objective == ODVGP_OBJECTIVE_EXACT ? "exact" : "collapsed";
}

static const char *optimizer_text(const odvgp_config *c) { return c->optimizer == ODVGP_LBFGS ? "lbfgs" : "adam"; }

static const char *training_text(const odvgp_config *c)
{
    return c->natgrad ? "natural gradients" : c->optimizer == ODVGP_LBFGS ? "L-BFGS" : "Adam alone";
}

static ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
static ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/*  The option that says how this model's natural step goes, and which of its words; NULL: it has no such option. */
static const char *natgrad_way_text(const odvgp_config *c, char value[24])
{
    if (!c->natgrad) return NULL;
    int id = c->cov_part == ODVGP_COV_BLOCKS     ? OPT_NATGRAD_BLOCKS
             : c->cov_part == ODVGP_COV_DIAGONAL ? OPT_NATGRAD_DIAG
             : c->M_gamma                        ? OPT_NATGRAD_GAMMA
                                                 : -1;
    if (id < 0) return NULL;
    const char *word = option_list[id].argument;
    int which = id == OPT_NATGRAD_BLOCKS ? (int)c->blocks_step
                : id == OPT_NATGRAD_DIAG ? (int)c->diag_step
                                         : (int)c->gamma_step;
    for (; which; which--) word = strchr(word, '|') + 1;
    snprintf(value, 24, "%.*s", (int)strcspn(word, "|"), word);
    return option_list[id].name;
}

/*  A step size in the words of --lr and --natgrad-step, with what it warms up from and decays to. */
static void print_schedule(bytes *b, const char *before, const odvgp_schedule *s)
{
    bytes_print(b, "%s%.6g", before, (double)s->start);
    if (s->kind != ODVGP_CONSTANT) bytes_print(b, "-%.6g", (double)s->end);
    if (s->decay_steps > 0) bytes_print(b, "-%.6g", (double)s->final);
}

/*  Objective, natural gradients and step sizes in the words of the options. */
static void text_method(bytes *b, const odvgp_config *c)
{
    char value[24];
    const char *way = natgrad_way_text(c, value);
    bytes_print(b, "method   objective %s, optimizer %s, natgrad %s", objective_text(c), optimizer_text(c),
                c->natgrad ? "on" : "off");
    if (way) bytes_print(b, ", %s %s", way, value);
    if (c->optimizer == ODVGP_ADAM) print_schedule(b, ", lr ", &c->lr);
    if (c->natgrad) print_schedule(b, ", natgrad-step ", &c->natgrad_step);
    bytes_print(b, "\n");
}

static void json_schedule(bytes *b, const char *key, const odvgp_schedule *s)
{
    json_key(b, key);
    print_schedule(b, "\"", s);
    bytes_print(b, "\"");
}

static void json_method(bytes *b, const odvgp_config *c)
{
    char value[24];
    const char *way = natgrad_way_text(c, value);
    json_text(b, "objective", objective_text(c));
    json_text(b, "optimizer", optimizer_text(c));
    json_flag(b, "natgrad", c->natgrad);
    if (c->optimizer == ODVGP_ADAM) json_schedule(b, "lr", &c->lr);
    if (c->natgrad) json_schedule(b, "natgrad_step", &c->natgrad_step);
    if (!way) return;
    char key[40];
    snprintf(key, sizeof key, "%s", way);
    for (char *k = key; *k; k++)
        if (*k == '-') *k = '_';
    json_text(b, key, value);
}

static double noise_of(const odvgp_model *model)
{
    odvgp_real v = 0;
    return odvgp_get(model, "noise_variance", &v, 1) ? NAN : (double)v;
}

static char *kernel_text(const odvgp_model *model)
{
    size_t size = odvgp_kernel_text(model, NULL, 0) + 1;
    char *text = take(size, 1);
    odvgp_kernel_text(model, text, size);
    return text;
}

/*  The column that an input is made of; of text *level is which of its levels, else NULL. */
static const field *field_of_input(const schema *s, ptrdiff_t input, const char **level)
{
    const field *f = s->inputs;
    for (; input >= field_inputs(f); f++) input -= field_inputs(f);
    *level = field_inputs(f) > 1 ? f->levels[input] : NULL;
    return f;
}

static void print_input(bytes *b, const schema *s, ptrdiff_t input)
{
    const char *level;
    const field *f = field_of_input(s, input, &level);
    if (f->name) bytes_print(b, "%s", f->name);
    else bytes_print(b, "%d", f->column);
    if (f->repeat) bytes_print(b, " (column %d)", f->column);
    if (level) bytes_print(b, "=%s", level);
}

typedef struct ranked {
    ptrdiff_t input;
    double lengthscale; /* NAN: a constant column, of which nothing is learned */
} ranked;

static int by_lengthscale(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    int x_last = isnan(x->lengthscale), y_last = isnan(y->lengthscale);
    int longer = x_last || y_last ? x_last - y_last : (x->lengthscale > y->lengthscale) - (x->lengthscale < y->lengthscale);
    return longer ? longer : (x->input > y->input) - (x->input < y->input);
}

/*  Has this input the same value at all inducing points? They start on the data and move where that makes a difference. */
static int same_everywhere(const odvgp_real *Z, ptrdiff_t M, ptrdiff_t D, ptrdiff_t input)
{
    odvgp_real low = Z[input], high = Z[input];
    for (ptrdiff_t i = 1; i < M; i++) {
        if (Z[i * D + input] < low) low = Z[i * D + input];
        if (Z[i * D + input] > high) high = Z[i * D + input];
    }
    return M > 1 && high - low < 1e-9;
}

/*  The inputs of a term of the kernel by their lengthscales, the shortest first, constant ones last; NULL where the term has one
    for all, or none. */
static ranked *rank_inputs(const odvgp_model *model, int term, ptrdiff_t D, ptrdiff_t *count)
{
    char name[40];
    snprintf(name, sizeof name, "kernel.%d.lengthscale", term);
    const odvgp_slot *slot = odvgp_slot_find(model, name), *points = NULL;
    if (!slot || odvgp_kernel_column(model, term, 0) < 0) return NULL;
    for (int i = 0; i < odvgp_slot_count(model) && !points; i++)
        if (!strncmp(odvgp_slot_at(model, i)->name, "Z_", 2)) points = odvgp_slot_at(model, i);
    odvgp_real *value = take((size_t)slot->count, sizeof *value), *Z = points ? take((size_t)points->count, sizeof *Z) : NULL;
    ranked *r = take((size_t)slot->count, sizeof *r);
    *count = slot->count;
    if (points && odvgp_get(model, points->name, Z, points->count)) die(FAILED, "%s cannot be read", points->name);
    if (odvgp_get(model, name, value, *count)) die(FAILED, "%s cannot be read", name);
    for (ptrdiff_t k = 0; k < *count; k++) {
        r[k].input = odvgp_kernel_column(model, term, k);
        r[k].lengthscale = Z && same_everywhere(Z, points->count / D, D, r[k].input) ? NAN : (double)value[k];
    }
    qsort(r, (size_t)*count, sizeof *r, by_lengthscale);
    free(value);
    free(Z);
    return r;
}

/*  A line for each term of the kernel that has ard. */
static void text_lengthscales(bytes *b, const odvgp_model *model, const schema *s)
{
    enum { SHOWN = 6 };
    for (int term = 0; term < ODVGP_MAX_LEAVES; term++) {
        ptrdiff_t count, finite = 0;
        ranked *r = rank_inputs(model, term, s->D, &count);
        if (!r) continue;
        while (finite < count && !isnan(r[finite].lengthscale)) finite++;
        bytes_print(b, "lengths%d", term);
        for (ptrdiff_t k = 0; k < smaller(finite, SHOWN); k++) {
            bytes_print(b, k ? ", " : " ");
            print_input(b, s, r[k].input);
            bytes_print(b, " %.3g", r[k].lengthscale);
        }
        if (finite > SHOWN) bytes_print(b, ", %td more, up to %.3g", finite - SHOWN, r[finite - 1].lengthscale);
        for (ptrdiff_t k = finite; k < count; k++) {
            bytes_print(b, k > finite ? ", " : finite ? "; constant: " : " constant: ");
            print_input(b, s, r[k].input);
        }
        bytes_print(b, "\n");
        free(r);
    }
}

static void json_lengthscales(bytes *b, const odvgp_model *model, const schema *s)
{
    int any = 0;
    json_key(b, "lengthscales");
    bytes_print(b, "[");
    for (int term = 0; term < ODVGP_MAX_LEAVES; term++) {
        ptrdiff_t count = 0;
        ranked *r = rank_inputs(model, term, s->D, &count);
        for (ptrdiff_t k = 0; k < count; k++) {
            const char *level;
            const field *f = field_of_input(s, r[k].input, &level);
            bytes_print(b, "%s{\"term\": %d", any++ ? ", " : "", term);
            json_count(b, "column", f->column);
            if (f->name) json_text(b, "input", f->name);
            if (level) json_text(b, "level", level);
            json_number(b, "lengthscale", r[k].lengthscale);
            bytes_print(b, "}");
        }
        free(r);
    }
    bytes_print(b, "]");
}

/*  A status of making or loading a model, as an exit. */
NO_RETURN static void die_of(odvgp_status status, const odvgp_info *info, const char *where)
{
    int ours = status == ODVGP_E_MEMORY || status == ODVGP_E_NOT_PD || status == ODVGP_E_IO;
    die(ours ? FAILED : BAD_INPUT, "%s: %s", where, info->text[0] ? info->text : odvgp_status_text(status));
}

/*  R, or FROM-TO, which goes from one to the other in equal ratios over this many steps. */
static odvgp_schedule option_step_size(const options *o, int id, double most, ptrdiff_t iters)
{
    const char *text = o->value[id];
    double from, to;
    if (!parse_range(text, &from, &to) || !(from > 0 && from <= most && to > 0 && to <= most))
        die(BAD_INPUT, "--%s %s: must be a number above 0, at most %.6g, or two, FROM-TO", option_list[id].name, text, most);
    return from < to || from > to ? odvgp_falling(from, to, larger(1, iters)) : odvgp_constant(from);
}

static odvgp_schedule natgrad_schedule(const options *o, ptrdiff_t iters)
{
    odvgp_schedule s = option_step_size(o, OPT_NATGRAD_STEP, 1, iters);
    const char *text = o->value[OPT_NATGRAD_WARMUP], *p = text;
    if (!text) return s;
    double start = NAN, begin = s.start;
    ptrdiff_t steps = parse_index(&p);
    const char *end = steps > 0 && *p == ':' ? table__number(p + 1, &start) : NULL;
    int linear = end && strcmp(end, ":linear") == 0, loglinear = end && (!*end || strcmp(end, ":loglinear") == 0);
    if (!(linear || loglinear) || !(start > 0 && start <= 1))
        die(BAD_INPUT, "--natgrad-warmup %s: must be STEPS:START[:linear|loglinear], with a START above 0, at most 1", text);
    if (s.kind != ODVGP_CONSTANT) { /* up to FROM, and then down to TO */
        s.final = s.end;
        s.decay_from = steps;
        s.decay_steps = larger(1, s.steps - steps);
    }
    s.start = start;
    s.end = begin;
    s.steps = steps;
    s.kind = linear ? ODVGP_LINEAR : ODVGP_LOGLINEAR;
    return s;
}

/*  The --schedule after this one (NULL: the first) that is for `what` (NULL: for anything), up to a line end; or NULL. */
static const char *schedule_next(const options *o, const char *what, const char *last)
{
    size_t length = what ? strlen(what) : 0;
    const char *t = last ? strchr(last, '\n') : o->value[OPT_SCHEDULE];
    while (t && *t) {
        if (*t == '\n') t++;
        if (!what || (strncmp(t, what, length) == 0 && t[length] == ':')) return t;
        t = strchr(t, '\n');
    }
    return NULL;
}

/*  One --schedule, WHAT:KIND:START:END:STEPS up to a line end, into `s`. */
static void schedule_parse(const char *text, odvgp_schedule *s, double most)
{
    int length = (int)strcspn(text, "\n");
    char copy[120];
    snprintf(copy, sizeof copy, "%.*s", length, text);
    const char *p = strchr(copy, ':') + 1, *rest = strchr(p, ':');
    size_t n = strcspn(p, ":");
    double start = NAN, end = NAN;
    ptrdiff_t steps = 0;
    s->kind = n == 6 && strncmp(p, "linear", n) == 0 ? ODVGP_LINEAR : ODVGP_LOGLINEAR;
    if (n != 6 && !(n == 9 && strncmp(p, "loglinear", n) == 0)) rest = NULL;
    if (rest) rest = table__number(rest + 1, &start);
    if (rest && *rest == ':') rest = table__number(rest + 1, &end);
    else rest = NULL;
    if (rest && *rest == ':') {
        rest++;
        steps = parse_index(&rest);
    }
    if (!rest || *rest || steps < 1)
        die(BAD_INPUT, "--schedule %.*s: must be lr or natgrad:linear|loglinear:START:END:STEPS", length, text);
    int start_ok = start > 0 || (start >= 0 && s->kind == ODVGP_LINEAR);
    if (!(start_ok && start <= most && end > 0 && end <= most))
        die(BAD_INPUT, "--schedule %.*s: START and END must be above 0%s, at most %.0f", length, text,
            s->kind == ODVGP_LINEAR ? " (START may be 0)" : "", most);
    s->start = start;
    s->end = end;
    s->steps = steps;
}

/*  What --schedule says of `what`; without it, `s` stays. The other options that set it contradict. */
static void schedule_apply(const options *o, const char *what, odvgp_schedule *s, double most, const int *others, int count)
{
    int found = 0;
    for (const char *t = NULL; (t = schedule_next(o, what, t)) != NULL;) {
        if (found++) die(BAD_INPUT, "--schedule %s: is given twice", what);
        schedule_parse(t, s, most);
    }
    for (int i = 0; i < count && found; i++)
        if (o->given[others[i]]) die(BAD_INPUT, "--schedule %s and --%s exclude each other", what, option_list[others[i]].name);
}

/*  Both step sizes of a training of this length; a schedule of anything else is an error. */
static void schedules_of(const options *o, ptrdiff_t iters, odvgp_schedule *lr, odvgp_schedule *natgrad)
{
    static const int lr_options[] = {OPT_LR}, natgrad_options[] = {OPT_NATGRAD_STEP, OPT_NATGRAD_WARMUP};
    for (const char *t = NULL; (t = schedule_next(o, NULL, t)) != NULL;)
        if (strncmp(t, "lr:", 3) != 0 && strncmp(t, "natgrad:", 8) != 0)
            die(BAD_INPUT, "--schedule %.*s: must begin with lr: or natgrad:", (int)strcspn(t, "\n"), t);
    *lr = option_step_size(o, OPT_LR, 1e6, iters);
    *natgrad = natgrad_schedule(o, iters);
    schedule_apply(o, "lr", lr, 1e6, lr_options, 1);
    schedule_apply(o, "natgrad", natgrad, 1, natgrad_options, 2);
}

static int is_lbfgs(const options *o) { return option_choice(o, OPT_OPTIMIZER, "adam|lbfgs") == 1; }

/*  Natural gradients unless switched off, where the basis has a natural step. */
static int natgrad_of(const options *o, const basis *b)
{
    int on = option_choice(o, OPT_NATGRAD, "on|off") == 0;
    if (on && !b->natgrad && o->given[OPT_NATGRAD]) die(BAD_INPUT, "--natgrad on: the basis %s has no natural step", b->name);
    if (on && o->given[OPT_NATGRAD] && is_lbfgs(o)) die(BAD_INPUT, "--natgrad on: --optimizer lbfgs has no natural step");
    return on && b->natgrad && !is_lbfgs(o);
}

static const basis *basis_of(const options *o)
{
    return basis_named(OPT_BASIS, o->value[OPT_BASIS], strlen(o->value[OPT_BASIS]));
}

static void option_default(options *o, int id, const char *text)
{
    if (!o->value[id]) o->value[id] = o->owned[id] = copy_text(text);
}

static int all_rows(const options *o) { return without_q(basis_of(o)) || is_lbfgs(o); }

/*  Steps in all, with n rows to learn from; 0: they are not known yet, and epochs count as steps. */
static ptrdiff_t iters_of(const options *o, ptrdiff_t n)
{
    const char *text = o->value[OPT_ITERS];
    char *end;
    long long count = strtoll(text, &end, 10);
    if (end == text || (*end && strcmp(end, "epochs") != 0) || count < 0 || count > INT_MAX)
        die(BAD_INPUT, "--iters %s: must be a number of steps, or of epochs: 20000, 100epochs", text);
    double batch = all_rows(o) ? (double)n : fmin((double)n, (double)option_integer(o, OPT_BATCH, 1, INT_MAX));
    double steps = *end && n ? (double)count * ceil((double)n / batch) : (double)count;
    if (steps > INT_MAX) die(BAD_INPUT, "--iters %s: that is %.3g steps", text, steps);
    return (ptrdiff_t)steps;
}

/*  In place of defaults: what the recipe says, where the command line does not. A test part that was given is the only one. */
static void recipe_settle(options *o)
{
    int recipe = option_choice(o, OPT_RECIPE, recipe_names), tests = o->given[OPT_TEST] || o->given[OPT_TEST_MASK];
    for (size_t i = 0; i < sizeof recipe_list / sizeof *recipe_list; i++) {
        int id = recipe_list[i].id, replaced = id == OPT_TEST_FRACTION ? tests : id == OPT_PARAM && o->given[OPT_WHITEN];
        if (id == OPT_LR) replaced = schedule_next(o, "lr", NULL) != NULL;
        if (id == OPT_NATGRAD_STEP || id == OPT_NATGRAD_WARMUP) replaced = schedule_next(o, "natgrad", NULL) != NULL;
        if (recipe_list[i].recipe != recipe || o->given[id] || replaced) continue;
        free(o->owned[id]);
        o->value[id] = o->owned[id] = copy_text(recipe_list[i].value);
    }
}

/*  A recipe's kernel, once the number of inputs is known. */
static void kernel_settle(options *o, ptrdiff_t D)
{
    bytes text = {NULL, 0, 0};
    if (o->given[OPT_KERNEL] || !strchr(o->value[OPT_KERNEL], '$')) return;
    for (const char *s = o->value[OPT_KERNEL]; *s;) {
        if (*s == '$') bytes_print(&text, "%.6g", strtod(s + 1, (char **)&s) * sqrt((double)D));
        else bytes_add(&text, s++, 1);
    }
    bytes_add(&text, "", 1);
    free(o->owned[OPT_KERNEL]);
    o->value[OPT_KERNEL] = o->owned[OPT_KERNEL] = text.at;
}

/*  A way of the natural step that only some bases have; elsewhere it is an error if it was asked for, and else the first one. */
static int natgrad_way(const options *o, int id, int there)
{
    int way = option_choice(o, id, option_list[id].argument);
    const basis *b = basis_of(o);
    if (way && o->given[id] && !there)
        die(BAD_INPUT, "--%s %s: the basis %s has no such natural step", option_list[id].name, o->value[id], b->name);
    if (way && o->given[id] && !natgrad_of(o, b))
        die(BAD_INPUT, "--%s %s: needs --natgrad on", option_list[id].name, o->value[id]);
    return there && natgrad_of(o, b) ? way : 0;
}

static odvgp_gamma_step gamma_way(const options *o, const basis *b)
{
    return (odvgp_gamma_step)natgrad_way(o, OPT_NATGRAD_GAMMA,
                                         b->mean_part == ODVGP_MEAN_ORTH || b->mean_part == ODVGP_MEAN_HYBRID);
}

/*  Defaults that depend on others: where all rows are used, gradients have no noise; and eq. 15a wants a kernel that moves slowly. */
static void options_settle(options *o)
{
    int whole = without_q(basis_of(o));
    option_default(o, OPT_OPTIMIZER, whole ? "lbfgs" : "adam");
    int exact = gamma_way(o, basis_of(o)) == ODVGP_GAMMA_EXACT;
    option_default(o, OPT_ITERS, is_lbfgs(o) ? "200" : whole ? "1000" : "20000");
    option_default(o, OPT_LR, whole || is_lbfgs(o) ? "0.01" : exact ? "0.001" : "0.01-0.001");
    option_default(o, OPT_NATGRAD_STEP, whole || is_lbfgs(o) ? "0.01" : "0.1-0.01");
}

static void natgrad_ways(odvgp_config *c, const options *o)
{
    int elbo = !without_q(basis_of(o));
    c->gamma_step = gamma_way(o, basis_of(o));
    c->blocks_step = (odvgp_blocks_step)natgrad_way(o, OPT_NATGRAD_BLOCKS, elbo && c->cov_part == ODVGP_COV_BLOCKS);
    c->diag_step = (odvgp_diag_step)natgrad_way(o, OPT_NATGRAD_DIAG, elbo && c->cov_part == ODVGP_COV_DIAGONAL);
}

/*  --whiten is another way to say --param. */
static void merge_whiten(options *o)
{
    if (!o->value[OPT_WHITEN]) return;
    int off = option_choice(o, OPT_WHITEN, "on|off");
    int agrees = off ? strcmp(o->value[OPT_PARAM], "whitened") != 0 : strcmp(o->value[OPT_PARAM], "whitened") == 0;
    if (o->given[OPT_PARAM] && !agrees)
        die(BAD_INPUT, "--whiten %s: contradicts --param %s", o->value[OPT_WHITEN], o->value[OPT_PARAM]);
    if (!o->given[OPT_PARAM]) option_set(o, OPT_PARAM, off ? "primal" : "whitened");
}

/*  The config that the options ask for, sizes aside. */
static odvgp_config config_of(const options *o, const dataset *d)
{
    option_choice_so_far(o, OPT_LIKELIHOOD, "gaussian", "bernoulli|robustmax|softmax|student-t|poisson");
    const basis *b = basis_of(o);
    odvgp_config c = odvgp_config_defaults(d->train.n, d->s.D, d->s.target_count, 1, 0);
    c.mean_part = b->mean_part;
    c.cov_part = b->cov_part;
    c.objective = b->objective;
    c.kernel = o->value[OPT_KERNEL];
    if (o->value[OPT_NOISE]) c.noise_variance = option_positive(o, OPT_NOISE);
    c.mean_function = (odvgp_mean_function)option_choice(o, OPT_MEAN, "zero|constant|linear");
    c.param = (odvgp_param)option_choice(o, OPT_PARAM, "whitened|primal|a_beta");
    c.gamma_coords = (odvgp_gamma_coords)option_choice(o, OPT_GAMMA_COORDS, "plain|scaled|differentiated");
    c.positive = (odvgp_positive)option_choice(o, OPT_POSITIVE, "softplus|exp");
    c.q_init = (odvgp_q_init)option_choice(o, OPT_Q_INIT, "prior|identity");
    c.update = (odvgp_update)option_choice(o, OPT_UPDATE, "joint|natgrad-first|adam-first");
    c.init_beta = (odvgp_init_beta)option_choice(o, OPT_INIT, "kmeans|random|greedy|farthest");
    c.init_gamma = (odvgp_init_gamma)option_choice(o, OPT_INIT_GAMMA, "random|residual");
    c.init_hyper = (odvgp_init_hyper)option_choice(o, OPT_INIT_HYPER, "median|ulapane");
    if (is_exact(b)) c.init_beta = ODVGP_INIT_RANDOM; /* the cheapest, for they are not used */
    c.natgrad = natgrad_of(o, b);
    c.optimizer = is_lbfgs(o) ? ODVGP_LBFGS : ODVGP_ADAM;
    natgrad_ways(&c, o);
    schedules_of(o, iters_of(o, d->train.n), &c.lr, &c.natgrad_step);
    c.jitter = option_real(o, OPT_JITTER, 0, DBL_MAX, "not below 0");
    c.jitter_rel = option_real(o, OPT_JITTER_REL, 0, DBL_MAX, "not below 0");
    c.seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX);
    return c;
}

/*  A size that was not given becomes one of the model's settings. */
static void size_settle(options *o, int id, ptrdiff_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%td", v);
    option_default(o, id, text);
}

/*  A size that was asked for must be there; a default, or a recipe's, shrinks to the data. */
static ptrdiff_t inducing_size(const options *o, int id, ptrdiff_t least, ptrdiff_t preset, ptrdiff_t room, ptrdiff_t distinct)
{
    ptrdiff_t v = o->value[id] ? (ptrdiff_t)option_integer(o, id, least, INT_MAX) : preset;
    if (!o->given[id]) return smaller(v, room);
    if (v > distinct) die(BAD_INPUT, "--%s %td: there are only %td distinct training rows", option_list[id].name, v, distinct);
    return v;
}

/*  Exact regression takes several matrices of rows by rows. */
static void refuse_many_rows(odvgp_config c, ptrdiff_t n)
{
    size_t size = 0;
    if (n <= EXACT_ROWS) return;
    c.M = c.batch = n;
    if (odvgp_model_size(&c, &size, NULL)) size = 0;
    die(BAD_INPUT, "--basis exact: %td training rows would take %.3g GB of memory; it is for at most %d", n,
        fmax((double)size, 24.0 * (double)n * (double)n) / 1e9, EXACT_ROWS);
}

/*  Options of others that this basis has no use for; one with all rows in each step has neither batches nor, if it is exact, a choice
    of points. */
static void note_unused(const options *o, const basis *b, bytes *notes)
{
    const char *text = "note: the basis %s has %s; --%s is not used\n";
    if (!b->gamma && o->given[OPT_GAMMA]) bytes_print(notes, text, b->name, "no gamma points", "gamma");
    if (!b->gamma && o->given[OPT_INIT_GAMMA]) bytes_print(notes, text, b->name, "no gamma points", "init-gamma");
    if (is_exact(b) && o->given[OPT_INIT]) bytes_print(notes, text, b->name, "a beta point at each row", "init");
    if (is_exact(b) && o->given[OPT_BETA]) bytes_print(notes, text, b->name, "a beta point at each row", "beta");
    if (all_rows(o) && o->given[OPT_BATCH]) bytes_print(notes, "note: all rows are used in each step; --batch is not used\n");
}

/*  Sizes as the options and the data have them; what is worth telling goes into the notes. */
static void config_sizes(odvgp_config *c, options *o, const dataset *d, bytes *notes)
{
    ptrdiff_t n = d->train.n, distinct = count_distinct(d->train.X, n, d->s.D);
    const basis *b = basis_of(o);
    if (is_exact(b)) refuse_many_rows(*c, n);
    c->M = is_exact(b) ? n : inducing_size(o, OPT_BETA, 1, 300, larger(1, distinct / 2), distinct);
    c->M_gamma = b->gamma ? inducing_size(o, OPT_GAMMA, 0, 700, larger(0, distinct - c->M), distinct) : 0;
    ptrdiff_t batch = (ptrdiff_t)option_integer(o, OPT_BATCH, 1, INT_MAX),
              gamma_batch = (ptrdiff_t)option_integer(o, OPT_GAMMA_BATCH, 0, INT_MAX);
    c->batch = all_rows(o) ? n : smaller(batch, n);
    c->gamma_batch = smaller(gamma_batch, c->M_gamma);
    int shrunk =
        !is_exact(b) && ((!o->value[OPT_BETA] && c->M < 300) || (b->gamma && !o->value[OPT_GAMMA] && c->M_gamma < 700));
    note_unused(o, b, notes);
    if (shrunk) bytes_print(notes, "note: %td distinct rows: beta %td, gamma %td\n", distinct, c->M, c->M_gamma);
    if (o->given[OPT_BATCH] && batch > n && !all_rows(o)) bytes_print(notes, "note: the batch is all %td rows\n", n);
    if (c->mean_part == ODVGP_MEAN_ORTH && !c->M_gamma) {
        c->mean_part = ODVGP_MEAN_BETA; /* the same model */
        c->gamma_step = ODVGP_GAMMA_ADAM;
    }
    size_settle(o, OPT_BETA, c->M);
    size_settle(o, OPT_GAMMA, c->M_gamma);
}

static void freeze_slots(odvgp_model *model, const char *names)
{
    char *list = copy_text(names), *item = list;
    while (item) {
        char *comma = strchr(item, ',');
        if (comma) *comma = 0;
        if (odvgp_set_trainable(model, item, 0)) {
            bytes all = {NULL, 0, 0};
            for (int i = 0; i < odvgp_slot_count(model); i++) bytes_print(&all, " %s", odvgp_slot_at(model, i)->name);
            die(BAD_INPUT, "--freeze: there is no parameter '%s'; this model has%s", item, all.at);
        }
        item = comma ? comma + 1 : NULL;
    }
    free(list);
}

/*  The names are the library's own, of the instruction sets that this machine and this build have. The option goes before the
    environment, which is for those who cannot change the command: tests, and comparisons of whole scripts. */
static odvgp_isa isa_of(const options *o)
{
    const char *environment = getenv("ODVGP_ISA"), *name = o->value[OPT_ISA];
    int from_option = o->given[OPT_ISA] || !environment || !*environment;
    if (!from_option) name = environment;
    if (strcmp(name, "auto") == 0) return ODVGP_ISA_AUTO;
    odvgp_isa found = ODVGP_ISA_AUTO;
    size_t size = odvgp_blas_size(NULL);
    void *block = take(size, 1);
    bytes there = {NULL, 0, 0};
    for (int i = ODVGP_ISA_AUTO + 1; i < 16; i++) { /* there are fewer; the library knows which of them are numbers of none */
        odvgp_blas blas;
        if (odvgp_blas_init(&blas, NULL, (odvgp_isa)i, block, size) != ODVGP_OK) continue;
        if (strcmp(name, odvgp_blas_isa(&blas)) == 0) found = (odvgp_isa)i;
        bytes_print(&there, ", %s", odvgp_blas_isa(&blas));
    }
    if (found == ODVGP_ISA_AUTO)
        die(BAD_INPUT, "%s%s: no such instruction set; this machine and this build have auto%s",
            from_option ? "--isa " : "ODVGP_ISA=", name, there.at ? there.at : "");
    free(there.at);
    free(block);
    return found;
}

/*  The memory that a model lives in, all of it. */
typedef struct model_block {
    void *at;
    size_t size;
} model_block;

/*  A new model, all of whose options are good; odvgp_init_data is to follow. */
static odvgp_model *model_make(options *o, const dataset *d, const workers *w, odvgp_isa isa, model_block *block, bytes *notes)
{
    odvgp_info info = {ODVGP_OK, NULL, -1, 0, ""};
    odvgp_model *model;
    kernel_settle(o, d->s.D);
    odvgp_config c = config_of(o, d);
    config_sizes(&c, o, d, notes);
    if (c.M_gamma && c.gamma_step == ODVGP_GAMMA_EXACT && fmax((double)c.lr.start, (double)c.lr.end) > 0.001 * (1 + 1e-6))
        bytes_print(
            notes,
            "note: exact natural steps of gamma want a learning rate of 0.001 at most; with this one the bound may fall\n");
    c.threads = w->threads;
    c.isa = isa;
    odvgp_status s = odvgp_model_size(&c, &block->size, &info);
    char with[40];
    snprintf(with, sizeof with, "--basis %.20s", basis_of(o)->name);
    if (s) die_of(s, &info, s == ODVGP_E_KERNEL ? "--kernel" : s == ODVGP_E_UNSUPPORTED ? with : "model");
    block->at = take(block->size, 1);
    if ((s = odvgp_model_init(&model, &c, block->at, block->size, &info)) != ODVGP_OK) die_of(s, &info, "model");
    if (o->value[OPT_FREEZE]) freeze_slots(model, o->value[OPT_FREEZE]);
    return model;
}

static void model_start(odvgp_model *model, const dataset *d)
{
    odvgp_info info = {ODVGP_OK, NULL, -1, 0, ""};
    odvgp_status s = odvgp_init_data(model, d->train.X, d->train.Y, &info);
    if (s) die_of(s, &info, "model");
}

/*  A model file and what the tool itself put into it. */
typedef struct model_file {
    const char *path;
    void *content;
    size_t size;
    const void *user; /* inside content */
    size_t user_size, predictor_size;
    schema s;
} model_file;

static void model_file_read(model_file *f, const char *path)
{
    odvgp_info info = {ODVGP_OK, NULL, -1, 0, ""};
    memset(f, 0, sizeof *f);
    f->path = path;
    f->content = read_file(path, &f->size);
    odvgp_status s = odvgp_server_size(f->content, f->size, &f->predictor_size, &f->user, &f->user_size, &info);
    if (s) die_of(s, &info, path);
    schema_read(&f->s, path, f->user, f->user_size);
}

static void model_file_free(model_file *f)
{
    free(f->content);
    schema_free(&f->s);
}

static odvgp_model *model_load(const model_file *f, const workers *w, odvgp_isa isa, model_block *block)
{
    odvgp_info info = {ODVGP_OK, NULL, -1, 0, ""};
    odvgp_model *model;
    odvgp_status s = odvgp_load_size(f->content, f->size, &w->threads, isa, &block->size, NULL, NULL, NULL, &info);
    if (s) die_of(s, &info, f->path);
    block->at = take(block->size, 1);
    if ((s = odvgp_load(f->content, f->size, &w->threads, isa, block->at, block->size, &model, &info)) != ODVGP_OK)
        die_of(s, &info, f->path);
    return model;
}

/*  --resume on other data would be another model. */
static void check_same_data(const model_file *f, const dataset *d)
{
    const schema *a = &f->s, *b = &d->s;
    if (a->n_train != b->n_train || a->D != b->D || a->target_count != b->target_count)
        die(BAD_INPUT, "--resume %s: trained on %td rows of %td inputs and %d target(s), the data have %td, %td and %d",
            f->path, a->n_train, a->D, a->target_count, b->n_train, b->D, b->target_count);
    if (a->checksum != b->checksum) die(BAD_INPUT, "--resume %s: the training rows are not those of the model", f->path);
}

/* ----------------------------------------------------------------------------------------------------------------------- */
/*  Training                                                                                                               */
/* ----------------------------------------------------------------------------------------------------------------------- */
typedef enum stop_reason { RUNNING, ALL_STEPS, TIME_OVER, INTERRUPTED, NO_PROGRESS, STEP_FAILED, CONVERGED, STUCK } stop_reason;
static const char *const stop_words[] = {"", "iters", "minutes", "signal", "patience", "error", "converged", "stuck"};

/*  One row of the trace. */
typedef struct evaluation {
    double step, seconds, elbo, noise; /* elbo: mean of the minibatch estimates since the last row */
    metrics test;
} evaluation;

static const double MOST_UPPER_BOUND = 1e11; /* rows times points squared: some ten seconds */

typedef struct training {
    const char *label; /* of one among several that are compared; NULL: the only one */
    const char *name;  /* of that, in trace and table */
    const options *o;
    const basis *basis;
    const dataset *d;
    const workers *w;
    odvgp_model *model;
    model_block block; /* the model's */
    void *copy;        /* of that, while q is made for an evaluation */
    bytes work;        /* of odvgp_fit_q */
    ptrdiff_t iters, patience, first_step, step;
    /* clock */
    double begin, start, limit;            /* of the program's work, of the first step; seconds allowed since begin */
    double step_seconds, evaluate_seconds; /* spent so far */
    /* the bound */
    double elbo_sum, elbo_mean; /* since the last evaluation; a running mean for the bar */
    ptrdiff_t elbo_count;
    odvgp_events events;
    uint64_t events_told; /* how many of them stderr has seen */
    /* evaluations */
    void *predictor_block;
    size_t predictor_size;
    forecast forecast;
    evaluation *history;
    int history_count, history_room;
    ptrdiff_t evaluate_every; /* steps */
    ptrdiff_t evaluate_next;  /* compare: the step of the next one */
    double best;
    int worse; /* evaluations since the best one */
    FILE *trace;
    /* progress */
    int quiet, terminal;
    double drawn;     /* when the bar was last drawn */
    int fitted;       /* q is at its optimum, since the last step */
    char reason[300]; /* why a step failed */
} training;

static void on_signal(int number)
{
    (void)number;
    stop_signal = 1;
}

/*  The first Ctrl-C ends the training in good order, a second one the program. */
static void catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static const char *duration(double seconds, char *text, size_t size)
{
    if (seconds < 99.5) snprintf(text, size, "%.0f s", seconds);
    else if (seconds < 5400) snprintf(text, size, "%.0f min", seconds / 60);
    else snprintf(text, size, "%.1f h", seconds / 3600);
    return text;
}

static const char *label_of(const training *t) { return t->label ? t->label : ""; }

static void print_bar(training *t)
{
    char left[32], bar[21], test[80] = "";
    double elapsed = now() - t->begin, done = (double)(t->step - t->first_step), total = (double)(t->iters - t->first_step);
    if (t->label) elapsed = t->step_seconds;
    double rest = done > 0 ? (now() - t->start) / done * (total - done) : 0;
    if (t->limit > 0) rest = fmin(rest, fmax(0, t->limit - elapsed));
    int filled = (int)(20 * fmax(done / total, t->limit > 0 ? fmin(1, elapsed / t->limit) : 0));
    for (int i = 0; i < 20; i++) bar[i] = i < filled ? '#' : '.';
    bar[20] = 0;
    if (t->history_count && t->d->test.n) {
        const metrics *m = &t->history[t->history_count - 1].test;
        snprintf(test, sizeof test, "  rmse %.4f  loglik %.4f", m->rmse, m->loglik);
    }
    fprintf(stderr, "\r%s%s[%s] %td/%td  %.3g ms  ETA %s  elbo/n %.4f%s\033[K", label_of(t), t->label ? "  " : "", bar, t->step,
            t->iters, 1e3 * t->step_seconds / fmax(1, done), duration(rest, left, sizeof left),
            t->elbo_mean / (double)t->d->train.n, test);
    fflush(stderr);
    t->drawn = now();
}

static void clear_bar(const training *t)
{
    if (t->terminal && !t->quiet) fputs("\r\033[K", stderr);
}

/*  Raised jitter and undone steps are told once for each evaluation before which they occurred. */
static void print_events(training *t)
{
    const odvgp_events *e = &t->events;
    uint64_t count = e->jitter_raised + e->step_undone;
    if (count == t->events_told || t->quiet) return;
    t->events_told = count;
    clear_bar(t);
    fprintf(stderr, "note: %s%sby step %td: jitter raised %llu time(s), now %.3g; %llu step(s) undone", label_of(t),
            t->label ? ": " : "", t->step, (unsigned long long)e->jitter_raised, e->jitter, (unsigned long long)e->step_undone);
    if (e->matrix) fprintf(stderr, "; last at pivot %td of %s: %s", e->pivot, e->matrix, e->cause ? e->cause : "cause unknown");
    fputc('\n', stderr);
}

static void print_line(const training *t, const evaluation *v)
{
    fprintf(stderr, "%s%sstep %td/%td  %.1f s  elbo/n %.5g", label_of(t), t->label ? "  " : "", t->step, t->iters, v->seconds,
            v->elbo / (double)t->d->train.n);
    if (v->test.n) fprintf(stderr, "  rmse %.5g  loglik %.5g", v->test.rmse, v->test.loglik);
    fprintf(stderr, "  noise %.4g\n", v->noise);
}

/* ---- trace ---- */

/*  A resumed training adds its rows to the trace of the first one. */
static void trace_open(training *t)
{
    const char *path = t->o->value[OPT_TRACE];
    if (!path) return;
    t->trace = fopen(path, t->o->value[OPT_RESUME] ? "ab" : "wb");
    if (!t->trace) die(BAD_INPUT, "--trace %s: cannot be written: %s", path, strerror(errno));
    if (fseek(t->trace, 0, SEEK_END) || ftell(t->trace) <= 0)
        fputs("step,seconds,elbo,test_rmse,test_loglik,noise_variance,jitter,jitter_raised,step_shortened,variance_clamped,"
              "step_undone\n",
              t->trace);
}

static const char compare_header[] =
    "basis,natgrad,beta,gamma,step,seconds,elbo,test_rmse,test_mae,test_loglik,noise_variance\n";

static void trace_flush(const training *t)
{
    if (fflush(t->trace)) die(FAILED, "--trace %s: cannot be written: %s", t->o->value[OPT_TRACE], strerror(errno));
}

/*  One among several: which it is, and no events. */
static void compare_row(const training *t, const evaluation *v)
{
    const odvgp_config *c = odvgp_model_config(t->model);
    fprintf(t->trace, "%s,%s,%td,%td,%.0f,%.6f,", t->name, c->natgrad ? "on" : "off", c->M, c->M_gamma, v->step, v->seconds);
    if (isfinite(v->elbo)) fprintf(t->trace, "%.12g", v->elbo);
    if (v->test.n) fprintf(t->trace, ",%.9g,%.9g,%.9g", v->test.rmse, v->test.mae, v->test.loglik);
    else fputs(",,,", t->trace);
    fprintf(t->trace, ",%.9g\n", v->noise);
    trace_flush(t);
}

static void trace_row(const training *t, const evaluation *v)
{
    if (!t->trace) return;
    if (t->label) {
        compare_row(t, v);
        return;
    }
    const odvgp_events *e = &t->events;
    fprintf(t->trace, "%.0f,%.6f,", v->step, v->seconds);
    if (isfinite(v->elbo)) fprintf(t->trace, "%.12g", v->elbo);
    if (v->test.n) fprintf(t->trace, ",%.9g,%.9g", v->test.rmse, v->test.loglik);
    else fputs(",,", t->trace);
    fprintf(t->trace, ",%.9g,%.9g,%llu,%llu,%llu,%llu\n", v->noise, e->jitter, (unsigned long long)e->jitter_raised,
            (unsigned long long)e->step_shortened, (unsigned long long)e->variance_clamped, (unsigned long long)e->step_undone);
    trace_flush(t);
}

/* ---- the best q ---- */

/*  Memory for odvgp_fit_q and odvgp_upper_bound. Exact regression needs none. */
static void make_work(training *t)
{
    if (t->work.at || is_exact(t->basis)) return;
    t->work.used = odvgp_fit_q_size(t->model);
    if (!t->work.used) die(FAILED, "out of memory: q's optimum is too large");
    t->work.at = take(t->work.used, 1);
}

/*  q to its optimum for the parameters of now; 0: it cannot be had, `info` says why. */
static int fit_q(training *t, odvgp_info *info)
{
    const part *p = &t->d->train;
    make_work(t);
    odvgp_status s = odvgp_fit_q(t->model, p->X, p->Y, t->work.at, t->work.used, info);
    if (s && !info->text[0]) snprintf(info->text, sizeof info->text, "%s", odvgp_status_text(s));
    return !s;
}

enum { FIT_NONE, FIT_START, FIT_END, FIT_BOTH };
static int fit_q_when(const options *o) { return option_choice(o, OPT_FIT_Q, "none|start|end|both"); }

/*  What --fit-q asks for at one end of the training, FIT_START or FIT_END; bases without q have it at the end whatever it says.
    0: it failed, and t->reason says why. */
static int fit_q_if_due(training *t, int end)
{
    odvgp_info info = {ODVGP_OK, NULL, -1, 0, ""};
    int due = (fit_q_when(t->o) & end) || (end == FIT_END && without_q(t->basis));
    if (!due) return 1;
    if (fit_q(t, &info)) {
        t->fitted = end == FIT_END;
        return 1;
    }
    snprintf(t->reason, sizeof t->reason, "q cannot be put to its optimum: %s", info.text);
    return 0;
}

/*  How far the bound can be below log p(y): with the cost of a last evaluation or two, NAN where that is much. */
static double upper_bound_of(training *t)
{
    const odvgp_config *c = odvgp_model_config(t->model);
    const part *p = &t->d->train;
    double points = (double)(c->M + c->M_gamma), upper = NAN;
    if (is_exact(t->basis) || points * points * (double)p->n > MOST_UPPER_BOUND) return NAN;
    make_work(t);
    return odvgp_upper_bound(t->model, p->X, p->Y, t->work.at, t->work.used, &upper, NULL, NULL) ? NAN : upper;
}

/* ---- evaluation ---- */

static metrics predict_test(training *t)
{
    const part *test = &t->d->test;
    odvgp_server server;
    odvgp_info info = {ODVGP_OK, NULL, -1, 0, ""};
    odvgp_status s = odvgp_freeze(t->model, NULL, t->predictor_block, t->predictor_size, &info);
    if (!s) s = odvgp_server_from_block(&server, t->predictor_block, t->predictor_size, ODVGP_ISA_AUTO, &info);
    if (s) return no_metrics; /* the next step takes care of such parameters */
    forecast_run(&t->forecast, &server, t->w, test->X, test->n);
    return metrics_of(&t->forecast, test->Y, test->n, t->d->s.target_count, t->d->s.y_scale);
}

/*  Where training has no q, one is made for the evaluation, and the training goes on with the bytes that it had. */
static metrics evaluate_test(training *t)
{
    odvgp_info info = {ODVGP_OK, NULL, -1, 0, ""};
    if (!without_q(t->basis)) return predict_test(t);
    if (!t->copy) t->copy = take(t->block.size, 1);
    memcpy(t->copy, t->block.at, t->block.size);
    metrics m = fit_q(t, &info) ? predict_test(t) : no_metrics;
    memcpy(t->block.at, t->copy, t->block.size);
    return m;
}

/*  The step of the next evaluation of one among several: a fifth further on, or a fortieth of all steps. */
static ptrdiff_t next_evaluation(const training *t) { return t->step + larger(1, smaller(t->step / 5, t->evaluate_every)); }

static void evaluate(training *t)
{
    double before = now();
    evaluation v;
    v.test = t->d->test.n ? evaluate_test(t) : no_metrics;
    v.step = (double)t->step;
    v.elbo = t->elbo_count ? t->elbo_sum / (double)t->elbo_count : NAN;
    v.noise = noise_of(t->model);
    v.seconds = t->label ? t->step_seconds : now() - t->start;
    t->evaluate_seconds += now() - before;
    t->elbo_sum = 0;
    t->elbo_count = 0;
    if (t->history_count == t->history_room) {
        t->history_room = 2 * t->history_room + 64;
        t->history = realloc(t->history, (size_t)t->history_room * sizeof *t->history);
        if (!t->history) die(FAILED, "out of memory");
    }
    t->history[t->history_count++] = v;
    t->evaluate_next = next_evaluation(t);
    double score = v.test.n ? v.test.loglik : v.elbo;
    if (score > t->best) {
        t->best = score;
        t->worse = 0;
    } else t->worse++;
    trace_row(t, &v);
    print_events(t);
    if (!t->quiet && !t->terminal) print_line(t, &v);
}

/*  At every multiple of iters/50, but not while evaluations have taken more than a twentieth of the time. */
static int evaluation_due(const training *t)
{
    if (t->label) return t->step >= t->evaluate_next;
    if (t->step % t->evaluate_every != 0) return 0;
    return !t->history_count || t->evaluate_seconds <= 0.05 * (now() - t->start);
}

static stop_reason train_step(training *t)
{
    odvgp_report report;
    odvgp_info info = {ODVGP_OK, NULL, -1, 0, ""};
    double before = now();
    odvgp_status s = odvgp_step(t->model, t->d->train.X, t->d->train.Y, &report, &info);
    t->step_seconds += now() - before;
    if (s) {
        snprintf(t->reason, sizeof t->reason, "step %td: %s", t->step + 1, info.text[0] ? info.text : odvgp_status_text(s));
        return STEP_FAILED;
    }
    t->step = report.step;
    t->events = report.events;
    t->elbo_sum += report.elbo;
    t->elbo_count++;
    double done = (double)(t->step - t->first_step);
    t->elbo_mean += (report.elbo - t->elbo_mean) / fmin(done, 50);
    return report.converged ? CONVERGED : report.stuck ? STUCK : RUNNING;
}

static stop_reason train_loop(training *t)
{
    stop_reason reason = t->step >= t->iters ? ALL_STEPS : RUNNING;
    while (reason == RUNNING) {
        if (stop_signal) return INTERRUPTED;
        if (t->limit > 0 && (t->label ? t->step_seconds : now() - t->begin) >= t->limit) return TIME_OVER;
        reason = train_step(t);
        if (reason != RUNNING) return reason;
        if (t->step >= t->iters) return ALL_STEPS;
        if (evaluation_due(t)) {
            evaluate(t);
            if (t->patience && t->worse >= t->patience) return NO_PROGRESS;
        }
        if (t->terminal && !t->quiet && now() - t->drawn > 0.1) print_bar(t);
    }
    return reason;
}

/*  Steps in all, with n rows to learn from; 0: they are not known yet. */
static void training_iters(training *t, ptrdiff_t n)
{
    t->iters = iters_of(t->o, n);
    t->evaluate_every = larger(1, t->iters / 50);
}

/*  What the options say, before data are read: mistakes in them should not cost time. */
static void training_options(training *t, const options *o)
{
    odvgp_schedule lr, natgrad;
    memset(t, 0, sizeof *t);
    t->begin = now();
    t->o = o;
    training_iters(t, 0);
    schedules_of(o, t->iters, &lr, &natgrad);
    fit_q_when(o);
    t->patience = (ptrdiff_t)option_integer(o, OPT_PATIENCE, 0, INT_MAX);
    t->limit = o->value[OPT_MINUTES] ? 60 * option_positive(o, OPT_MINUTES) : 0;
    t->best = -HUGE_VAL;
    t->quiet = o->given[OPT_QUIET];
    t->terminal = isatty(STDERR_FILENO);
}

static void training_begin(training *t, const dataset *d, const workers *w, odvgp_model *model, model_block block)
{
    t->block = block;
    t->basis = basis_of(t->o);
    t->d = d;
    t->w = w;
    t->model = model;
    t->step = t->first_step = odvgp_steps_done(model);
    t->events = odvgp_model_events(model);
    t->events_told = t->events.jitter_raised + t->events.step_undone;
    if (d->test.n) {
        t->predictor_size = odvgp_predictor_size(model);
        t->predictor_block = take(t->predictor_size, 1);
        t->forecast = forecast_make(d->test.n, d->s.target_count);
    }
}

static void trace_close(training *t)
{
    if (t->trace && fclose(t->trace)) die(FAILED, "--trace %s: cannot be written", t->o->value[OPT_TRACE]);
    t->trace = NULL;
}

static void training_end(training *t)
{
    forecast_free(&t->forecast);
    free(t->predictor_block);
    free(t->copy);
    free(t->work.at);
    free(t->history);
}

/* ---- results ---- */

static void save_model(const training *t, const char *path, const void *user, size_t user_size)
{
    odvgp_info info = {ODVGP_OK, NULL, -1, 0, ""};
    odvgp_scales scales = scales_of(&t->d->s);
    size_t size = odvgp_save_size(t->model, user_size);
    void *block = take(size, 1);
    odvgp_status s = odvgp_save(t->model, &scales, user, user_size, block, size, &info);
    if (s) die_of(s, &info, path);
    write_file(path, block, size);
    free(block);
}

/*  Panels: the bound per row, then test RMSE and log-likelihood if there is a test part. */
static void plot_curves(const training *t, const char *path)
{
    int n = t->history_count, panels = t->d->test.n ? 3 : 1;
    double *x = take_doubles(n, 1), *y = take_doubles(n, 3);
    for (int i = 0; i < n; i++) {
        const evaluation *v = &t->history[i];
        x[i] = v->step;
        y[i] = v->elbo / (double)t->d->train.n;
        y[n + i] = v->test.rmse;
        y[2 * n + i] = v->test.loglik;
    }
    plot_series series[3] = {{NULL, x, y, n}, {NULL, x, y + n, n}, {NULL, x, y + 2 * n, n}};
    plot_panel panel[3] = {{"Evidence lower bound", "step", "nats per row", &series[0], 1},
                           {"Test RMSE", "step", "target sd", &series[1], 1},
                           {"Test log-likelihood", "step", "nats per row", &series[2], 1}};
    if (plot_panels(path, t->d->s.dataset, panel, panels)) die(FAILED, "--plot %s: cannot be written", path);
    free(x);
    free(y);
}

/*  What a training leads to, besides the model. */
typedef struct outcome {
    stop_reason reason;
    double seconds, ms, elbo, upper;
    const char *path;
} outcome;

static void json_data(bytes *b, const dataset *d)
{
    json_text(b, "dataset", d->s.dataset);
    json_count(b, "n_train", d->train.n);
    json_count(b, "n_test", d->test.n);
    json_count(b, "d", d->s.D);
    json_count(b, "p", d->s.target_count);
}

static void print_train_json(const training *t, const outcome *r)
{
    const odvgp_config *c = odvgp_model_config(t->model);
    const dataset *d = t->d;
    const metrics *m = &t->history[t->history_count - 1].test;
    char *kernel = kernel_text(t->model);
    bytes b = {NULL, 0, 0};
    bytes_print(&b, "{");
    json_data(&b, d);
    json_text(&b, "basis", t->o->value[OPT_BASIS]);
    json_method(&b, c);
    json_count(&b, "beta", c->M);
    json_count(&b, "gamma", c->M_gamma);
    json_count(&b, "batch", c->batch);
    json_count(&b, "seed", (int64_t)c->seed);
    json_count(&b, "iters", t->step);
    json_text(&b, "stopped", stop_words[r->reason]);
    json_number(&b, "seconds", r->seconds);
    json_number(&b, "ms_per_iter", r->ms);
    json_count(&b, "threads", t->w->threads.run ? t->w->threads.count : 1);
    json_number(&b, "elbo", r->elbo);
    json_number(&b, "elbo_per_row", r->elbo / (double)d->train.n);
    json_number(&b, "upper_bound", r->upper);
    json_metrics(&b, m);
    json_text(&b, "kernel", kernel);
    json_lengthscales(&b, t->model, &d->s);
    json_number(&b, "noise_variance", noise_of(t->model));
    json_events(&b, &t->events);
    json_text(&b, "model", r->path);
    json_finish(&b);
    free(kernel);
}

static void print_train_text(const training *t, const outcome *r)
{
    const odvgp_config *c = odvgp_model_config(t->model);
    const dataset *d = t->d;
    const metrics *m = &t->history[t->history_count - 1].test;
    char *kernel = kernel_text(t->model);
    bytes b = {NULL, 0, 0};
    bytes_print(&b, "data     %s: %td training rows, %td test rows, %td inputs, target %s\n", d->s.dataset, d->train.n,
                d->test.n, d->s.D, d->s.target_text);
    bytes_print(&b, "model    %s, beta %td, gamma %td, %s\n", t->basis->name, c->M, c->M_gamma, training_text(c));
    text_method(&b, c);
    bytes_print(&b, "kernel   %s\n", kernel);
    text_lengthscales(&b, t->model, &d->s);
    bytes_print(&b, "noise    variance %.4g\n", noise_of(t->model));
    bytes_print(&b, "steps    %td in %.1f s", t->step - t->first_step, r->seconds);
    if (isfinite(r->ms)) bytes_print(&b, ", %.3g ms each", r->ms);
    bytes_print(&b, "\nelbo     %.6g, per row %.5g", r->elbo, r->elbo / (double)d->train.n);
    if (isfinite(r->upper)) bytes_print(&b, "; log p(y) is below %.6g", r->upper);
    bytes_print(&b, "\n");
    if (m->n) {
        bytes_print(&b, "test     rmse %.5g  mae %.5g  loglik %.5g  (standardised)\n", m->rmse, m->mae, m->loglik);
        bytes_print(&b, "         rmse %.5g  mae %.5g  loglik %.5g  (units of the target)\n", m->rmse_raw, m->mae_raw,
                    m->loglik_raw);
    }
    if (t->events.jitter_raised + t->events.step_shortened + t->events.step_undone)
        bytes_print(&b, "events   jitter raised %llu times, now %.3g; steps shortened %llu, undone %llu\n",
                    (unsigned long long)t->events.jitter_raised, t->events.jitter, (unsigned long long)t->events.step_shortened,
                    (unsigned long long)t->events.step_undone);
    bytes_print(&b, "saved    %s\n", r->path);
    write_stdout(&b);
    free(b.at);
    free(kernel);
}

/*  What is worth knowing about the data before a training. */
static void print_notes(const dataset *d, const bytes *notes)
{
    if (notes->used) fputs(notes->at, stderr);
    if (d->dropped) fprintf(stderr, "note: %td rows with missing values dropped\n", d->dropped);
    for (int k = 0; k < d->s.target_count; k++) {
        ptrdiff_t i = 1;
        while (i < d->train.n && fabs(d->train.Y[i * d->s.target_count + k] - d->train.Y[k]) <= 0) i++;
        if (i == d->train.n)
            fprintf(stderr, "note: %s is constant\n", COLUMN_TEXT(d->s.targets[k].column, d->s.targets[k].name));
    }
    if (!d->test.n) fprintf(stderr, "note: no test part, so no test metrics (--test-fraction, --test or --test-mask)\n");
}

static void print_start(const training *t, const dataset *d, const bytes *notes)
{
    const odvgp_config *c = odvgp_model_config(t->model);
    if (t->quiet) return;
    print_notes(d, notes);
    fprintf(stderr, "%s: %td rows, %td inputs; %s, beta %td, gamma %td, %s, %d thread(s)\n", d->s.dataset, d->train.n, d->s.D,
            t->basis->name, c->M, c->M_gamma, training_text(c), t->w->threads.run ? t->w->threads.count : 1);
}

static void print_stop(const training *t, stop_reason reason)
{
    static const char *const sentence[] = {
        "",         "", "the time is over", "stopped by a signal", "no better for --patience evaluations", "a step failed",
        "converged", "stuck: no step lowers the loss"};
    clear_bar(t);
    if (reason == STEP_FAILED) fprintf(stderr, "odvgp: %s%s%s\n", label_of(t), t->label ? ": " : "", t->reason);
    if (!t->quiet && *sentence[reason])
        fprintf(stderr, "note: %s%s%s after %td steps\n", label_of(t), t->label ? ": " : "", sentence[reason], t->step);
    if (!t->quiet && t->first_step >= t->iters && t->first_step)
        fprintf(stderr, "note: the model has %td steps already; --iters counts all of them\n", t->first_step);
}

/*  A training that goes on beyond what its step sizes were made for. */
static void print_step_sizes(const training *t)
{
    const odvgp_config *c = odvgp_model_config(t->model);
    ptrdiff_t end = c->lr.kind == ODVGP_CONSTANT ? 0 : c->lr.steps;
    if (!t->quiet && c->optimizer == ODVGP_ADAM && end && end < t->iters)
        fprintf(stderr, "note: the learning rate was made to fall over %td steps; it is %.4g after them\n", end,
                (double)c->lr.end);
}

/*  The bound itself, on all rows: a minibatch estimate would be too noisy to compare. */
static double final_elbo(const training *t)
{
    double elbo;
    const part *p = &t->d->train;
    return odvgp_elbo(t->model, p->X, p->Y, p->n, &elbo, NULL, NULL, NULL) ? NAN : elbo;
}

static void check_outputs(const options *o, const char *model_path)
{
    const char *data = o->value[OPT_DATA];
    if (model_path) check_writable("model", model_path, data);
    if (o->value[OPT_TRACE]) check_writable("trace", o->value[OPT_TRACE], data);
    if (!o->value[OPT_PLOT]) return;
    check_writable("plot", o->value[OPT_PLOT], data);
    if (is_device(o->value[OPT_PLOT])) die(BAD_INPUT, "--plot %s: is not a file", o->value[OPT_PLOT]);
}

/*  A model that was trained without q cannot predict without it; another one is saved as it is. */
static void train_end_q(training *t, stop_reason reason)
{
    if (reason == STEP_FAILED && !without_q(t->basis)) return;
    if (fit_q_if_due(t, FIT_END)) return;
    clear_bar(t);
    if (without_q(t->basis)) die(FAILED, "no model is saved: %s", t->reason);
    fprintf(stderr, "note: --fit-q: %s\n", t->reason);
}

/*  The last evaluation, unless it is there already. */
static void evaluate_end(training *t)
{
    int there = t->history_count && t->history[t->history_count - 1].step >= (double)t->step;
    if (!there || t->fitted) evaluate(t);
}

/*  The loop and all that follows from it; the exit code. */
static int train_and_report(training *t, const char *model_path, const void *user, size_t user_size)
{
    outcome r = {RUNNING, 0, NAN, NAN, NAN, model_path};
    trace_open(t);
    t->start = now();
    if (!fit_q_if_due(t, FIT_START)) die(FAILED, "--fit-q: %s", t->reason);
    r.reason = train_loop(t);
    r.seconds = now() - t->start;
    if (t->step > t->first_step) r.ms = 1e3 * t->step_seconds / (double)(t->step - t->first_step);
    train_end_q(t, r.reason);
    save_model(t, model_path, user, user_size); /* before anything that takes time, or may fail */
    t->events = odvgp_model_events(t->model);
    print_stop(t, r.reason);
    evaluate_end(t);
    r.elbo = final_elbo(t);
    r.upper = upper_bound_of(t);
    if (t->o->value[OPT_PLOT]) plot_curves(t, t->o->value[OPT_PLOT]);
    if (t->o->given[OPT_JSON]) print_train_json(t, &r);
    else print_train_text(t, &r);
    return r.reason == STEP_FAILED ? FAILED : 0;
}

static int run_train(options *o)
{
    dataset d;
    workers w;
    training t;
    model_file before;
    odvgp_model *model;
    model_block block;
    bytes user = {NULL, 0, 0}, path = {NULL, 0, 0}, notes = {NULL, 0, 0};
    const char *resume = o->value[OPT_RESUME];
    option_needed(o, OPT_DATA);
    odvgp_isa isa = isa_of(o);
    recipe_settle(o);
    merge_whiten(o);
    memset(&before, 0, sizeof before);
    if (resume) {
        model_file_read(&before, resume);
        settings_apply(o, before.s.settings);
    }
    options_settle(o);
    training_options(&t, o);
    dataset_read(&d, o);
    training_iters(&t, d.train.n);
    if (resume) check_same_data(&before, &d);
    if (o->value[OPT_MODEL]) bytes_print(&path, "%s", o->value[OPT_MODEL]);
    else bytes_print(&path, "%s.odvgp", d.s.dataset);
    check_outputs(o, path.at);
    workers_start(&w, o);
    model = resume ? model_load(&before, &w, isa, &block) : model_make(o, &d, &w, isa, &block, &notes);
    if (!resume) model_start(model, &d);
    if (resume) bytes_add(&user, before.user, before.user_size); /* unchanged, as if there had been no pause */
    else {
        d.s.settings = settings_make(o);
        user = schema_write(&d.s);
    }
    training_begin(&t, &d, &w, model, block);
    print_start(&t, &d, &notes);
    if (resume) print_step_sizes(&t);
    catch_signals();
    int code = train_and_report(&t, path.at, user.at, user.used);
    trace_close(&t);
    training_end(&t);
    workers_stop(&w);
    dataset_free(&d);
    model_file_free(&before);
    free(block.at);
    free(user.at);
    free(path.at);
    free(notes.at);
    return code;
}

/* ----------------------------------------------------------------------------------------------------------------------- */
/*  Comparing                                                                                                              */
/*      Each basis is trained as train would, with the options of all and its own, on the same data; its model is gone     */
/*      before the next one's is made.                                                                                     */
/* ----------------------------------------------------------------------------------------------------------------------- */
enum { MOST_BASES = 32 };

typedef struct candidate {
    char *label; /* its item of --bases */
    char *name;  /* the basis, with what the table has no column for */
    const basis *basis;
    options o; /* the options of all and its own */
    /* what came out */
    odvgp_config config; /* without its pointers */
    ptrdiff_t steps;
    stop_reason stopped;
    double seconds, ms, elbo, upper, noise;
    metrics test;
    evaluation *history;
    int history_count;
    char reason[300]; /* why it failed; empty: it did not */
} candidate;

typedef struct comparison {
    const options *o;
    dataset d;
    workers w;
    odvgp_isa isa;
    candidate *list;
    int count;
    FILE *trace;
} comparison;

/*  One KEY=VALUE of an item, up to its end. */
static void candidate_option(candidate *c, const char *text, bytes *name)
{
    for (int i = 0; i < OWN_COUNT; i++) {
        int id = own_options[i];
        size_t length = strlen(option_list[id].name);
        if (strncmp(text, option_list[id].name, length) != 0 || text[length] != '=') continue;
        if (id == OPT_GAMMA && !c->basis->gamma)
            die(BAD_INPUT, "--bases %s: the basis %s has no gamma points", c->label, c->basis->name);
        if (id == OPT_BETA && is_exact(c->basis))
            die(BAD_INPUT, "--bases %s: the basis %s has a beta point at each row", c->label, c->basis->name);
        option_set(&c->o, id, text + length + 1);
        if (i >= OWN_SHOWN) bytes_print(name, ":%s", text);
        return;
    }
    die(BAD_INPUT, "--bases %s: '%s' must be KEY=VALUE with a key of %s", c->label, text, own_names().at);
}

/*  NAME[:KEY=VALUE]... */
static void candidate_parse(candidate *c, const options *o, const char *item)
{
    char *copy = copy_text(item), *colon = strchr(copy, ':');
    bytes name = {NULL, 0, 0};
    training t;
    c->label = copy_text(item);
    if (colon) *colon = 0;
    c->basis = basis_named(OPT_BASES, copy, strlen(copy));
    c->o = *o;
    memset(c->o.owned, 0, sizeof c->o.owned);
    for (int i = 0; i < OWN_COUNT; i++) /* those of all are used where they can be; step sizes are checked against schedules */
        if (own_options[i] != OPT_LR && own_options[i] != OPT_NATGRAD_STEP) c->o.given[own_options[i]] = 0;
    option_set(&c->o, OPT_BASIS, c->basis->name);
    bytes_print(&name, "%s", c->basis->name);
    while (colon) {
        char *text = colon + 1;
        colon = strchr(text, ':');
        if (colon) *colon = 0;
        candidate_option(c, text, &name);
    }
    c->name = name.at;
    options_settle(&c->o);
    natgrad_of(&c->o, c->basis);
    training_options(&t, &c->o);
    free(copy);
}

static void candidates_parse(comparison *all)
{
    char *list = copy_text(all->o->value[OPT_BASES]), *item = list;
    all->list = take(MOST_BASES, sizeof *all->list);
    while (item) {
        char *comma = strchr(item, ',');
        if (comma) *comma = 0;
        if (!*item) die(BAD_INPUT, "--bases '%s': a name is missing", all->o->value[OPT_BASES]);
        if (all->count == MOST_BASES) die(BAD_INPUT, "--bases: at most %d can be compared", MOST_BASES);
        candidate_parse(&all->list[all->count++], all->o, item);
        item = comma ? comma + 1 : NULL;
    }
    free(list);
}

static void candidates_free(comparison *all)
{
    for (int i = 0; i < all->count; i++) {
        candidate *c = &all->list[i];
        options_free(&c->o);
        free(c->label);
        free(c->name);
        free(c->history);
    }
    free(all->list);
}

/*  Of the same basis with the same sizes, natural gradients and values of its own keys. */
static int same_candidate(const candidate *a, const candidate *b)
{
    int same = a->basis == b->basis && a->config.M == b->config.M && a->config.M_gamma == b->config.M_gamma &&
               a->config.natgrad == b->config.natgrad;
    for (int i = OWN_SHOWN; i < OWN_COUNT; i++) same &= same_value(a->o.value[own_options[i]], b->o.value[own_options[i]]);
    return same;
}

/*  Makes each model once before the first one is trained: mistakes in options end the program here, and sizes are settled. */
static void candidates_check(comparison *all, bytes *notes)
{
    for (int i = 0; i < all->count; i++) {
        candidate *c = &all->list[i];
        model_block block;
        c->config = *odvgp_model_config(model_make(&c->o, &all->d, &all->w, all->isa, &block, notes));
        free(block.at);
        for (int k = 0; k < i; k++) {
            const candidate *b = &all->list[k];
            if (same_candidate(b, c)) die(BAD_INPUT, "--bases: %s and %s are the same", b->label, c->label);
        }
    }
}

/*  What is left to find out when the steps are done. */
static void candidate_finish(candidate *c, training *t)
{
    c->steps = t->step;
    c->seconds = t->step_seconds;
    if (t->step) c->ms = 1e3 * t->step_seconds / (double)t->step;
    c->noise = noise_of(t->model);
    if (!*c->reason) {
        evaluate_end(t);
        c->test = t->history[t->history_count - 1].test;
        c->elbo = final_elbo(t);
        c->upper = upper_bound_of(t);
        if (isnan(c->elbo)) snprintf(c->reason, sizeof c->reason, "step %td: the bound cannot be evaluated", t->step);
        else if (t->d->test.n && !c->test.n)
            snprintf(c->reason, sizeof c->reason, "step %td: the model cannot predict", t->step);
    }
    c->history = t->history;
    c->history_count = t->history_count;
    t->history = NULL;
}

static void candidate_train(comparison *all, candidate *c)
{
    training t;
    model_block block;
    bytes notes = {NULL, 0, 0};
    odvgp_info info = {ODVGP_OK, NULL, -1, 0, ""};
    training_options(&t, &c->o);
    training_iters(&t, all->d.train.n);
    t.label = c->label;
    t.name = c->name;
    t.trace = all->trace;
    t.evaluate_every = larger(1, t.iters / 40);
    t.evaluate_next = 1;
    odvgp_model *model = model_make(&c->o, &all->d, &all->w, all->isa, &block, &notes);
    training_begin(&t, &all->d, &all->w, model, block);
    if (!t.quiet)
        fprintf(stderr, "%s: beta %td, gamma %td, %s, %td steps\n", c->label, c->config.M, c->config.M_gamma,
                training_text(&c->config), t.iters);
    odvgp_status s = odvgp_init_data(model, all->d.train.X, all->d.train.Y, &info);
    if (s) snprintf(c->reason, sizeof c->reason, "start: %s", info.text[0] ? info.text : odvgp_status_text(s));
    else {
        t.start = now();
        if (fit_q_if_due(&t, FIT_START)) c->stopped = train_loop(&t);
        if (c->stopped != STEP_FAILED && !*t.reason) fit_q_if_due(&t, FIT_END);
        snprintf(c->reason, sizeof c->reason, "%s", t.reason);
        print_stop(&t, c->stopped);
    }
    candidate_finish(c, &t);
    training_end(&t);
    free(block.at);
    free(notes.at);
}

/* ---- the table ---- */

enum { TABLE_COLUMNS = 10, TABLE_COMMON = 5 /* those that a failed basis has, too */ };

typedef char table_cells[TABLE_COLUMNS][120];

static void number_cell(char *cell, const char *format, double v)
{
    if (isfinite(v)) snprintf(cell, sizeof(table_cells) / TABLE_COLUMNS, format, v);
    else snprintf(cell, sizeof(table_cells) / TABLE_COLUMNS, "-");
}

static void candidate_cells(const candidate *c, table_cells cells)
{
    snprintf(cells[0], sizeof cells[0], "%s", c->name);
    snprintf(cells[1], sizeof cells[1], "%s", c->config.natgrad ? "on" : "off");
    snprintf(cells[2], sizeof cells[2], "%td", c->config.M);
    snprintf(cells[3], sizeof cells[3], "%td", c->config.M_gamma);
    snprintf(cells[4], sizeof cells[4], "%td", c->steps);
    number_cell(cells[5], "%.3g", c->ms);
    number_cell(cells[6], fabs(c->elbo) < 1e7 ? "%.2f" : "%.6g", c->elbo);
    number_cell(cells[7], "%.5f", c->test.rmse);
    number_cell(cells[8], "%.5f", c->test.mae);
    number_cell(cells[9], "%.5f", c->test.loglik);
}

static void print_compare_text(const comparison *all)
{
    static const char *const titles[TABLE_COLUMNS] = {"basis",   "natgrad", "beta", "gamma", "iters",
                                                      "ms/iter", "elbo",    "rmse", "mae",   "loglik"};
    table_cells *cells = take((size_t)all->count + 1, sizeof *cells);
    int width[TABLE_COLUMNS] = {0};
    bytes b = {NULL, 0, 0};
    for (int k = 0; k < TABLE_COLUMNS; k++) snprintf(cells[0][k], sizeof cells[0][k], "%s", titles[k]);
    for (int i = 0; i < all->count; i++) candidate_cells(&all->list[i], cells[i + 1]);
    for (int i = 0; i <= all->count; i++)
        for (int k = 0; k < TABLE_COLUMNS; k++) width[k] = (int)larger(width[k], (ptrdiff_t)strlen(cells[i][k]));
    for (int i = 0; i <= all->count; i++) {
        const char *reason = i ? all->list[i - 1].reason : "";
        bytes_print(&b, "%-*s", width[0], cells[i][0]);
        for (int k = 1; k < (*reason ? TABLE_COMMON : TABLE_COLUMNS); k++) bytes_print(&b, "  %*s", width[k], cells[i][k]);
        bytes_print(&b, "%s%s\n", *reason ? "  failed: " : "", reason);
    }
    write_stdout(&b);
    free(b.at);
    free(cells);
}

static void json_candidate(bytes *b, const candidate *c, const dataset *d)
{
    bytes own = {NULL, 0, 0};
    bytes_print(&own, "{");
    json_text(&own, "basis", c->basis->name);
    json_text(&own, "item", c->label);
    json_method(&own, &c->config);
    json_count(&own, "beta", c->config.M);
    json_count(&own, "gamma", c->config.M_gamma);
    json_count(&own, "iters", c->steps);
    json_text(&own, "stopped", *c->reason ? stop_words[STEP_FAILED] : stop_words[c->stopped]);
    json_number(&own, "seconds", c->seconds);
    json_number(&own, "ms_per_iter", c->ms);
    json_number(&own, "elbo", c->elbo);
    json_number(&own, "elbo_per_row", c->elbo / (double)d->train.n);
    json_number(&own, "upper_bound", c->upper);
    json_metrics(&own, &c->test);
    json_number(&own, "noise_variance", c->noise);
    if (*c->reason) json_text(&own, "error", c->reason);
    bytes_print(&own, "}");
    bytes_add(b, own.at, own.used);
    free(own.at);
}

static void print_compare_json(const comparison *all)
{
    const dataset *d = &all->d;
    bytes b = {NULL, 0, 0};
    bytes_print(&b, "{");
    json_data(&b, d);
    json_count(&b, "batch", all->list[0].config.batch);
    json_count(&b, "seed", (int64_t)all->list[0].config.seed);
    json_count(&b, "threads", all->w.threads.run ? all->w.threads.count : 1);
    json_text(&b, "kernel", all->o->value[OPT_KERNEL]);
    json_key(&b, "bases");
    for (int i = 0; i < all->count; i++) {
        bytes_print(&b, i ? ", " : "[");
        json_candidate(&b, &all->list[i], d);
    }
    bytes_print(&b, "]");
    json_finish(&b);
}

/* ---- the picture ---- */

/*  A value of a curve: 0 test RMSE, 1 test log-likelihood, 2 bound per row. */
static double curve_value(const evaluation *v, int which, const dataset *d)
{
    return which == 0 ? v->test.rmse : which == 1 ? v->test.loglik : v->elbo / (double)d->train.n;
}

/*  One panel: one of these against steps or seconds, a line for each basis. `room` keeps x and y of all of them. Three powers of
    ten at most: what comes before the last one decides little, and would take the most room. */
static plot_scene compare_scene(const comparison *all, int which, int by_seconds, plot_item *items, double *room)
{
    static const char *const titles[] = {"Test RMSE", "Test log-likelihood", "Evidence lower bound"}, *const units[] = {
                                                                                                          "target sd",
                                                                                                          "nats per row",
                                                                                                          "nats per row"};
    double first = HUGE_VAL, last = 0;
    for (int i = 0; i < all->count; i++) {
        const candidate *c = &all->list[i];
        double *x = room, *y = room + c->history_count;
        plot_item item = {PLOT_LINE, c->label, x, y, NULL, c->history_count, i, i};
        for (int k = 0; k < c->history_count; k++) {
            x[k] = by_seconds ? c->history[k].seconds : c->history[k].step;
            y[k] = curve_value(&c->history[k], which, &all->d);
            first = fmin(first, x[k]);
            last = fmax(last, x[k]);
        }
        items[i] = item;
        room = y + c->history_count;
    }
    plot_scene scene = {titles[which],
                        by_seconds ? "seconds of training" : "step",
                        units[which],
                        items,
                        all->count,
                        fmax(first, last / 1000),
                        last,
                        0,
                        0,
                        PLOT_LOGX};
    return scene;
}

static void plot_compare(const comparison *all, const char *path)
{
    int first = all->d.test.n ? 0 : 2, panels = all->d.test.n ? 4 : 2;
    ptrdiff_t points = 0;
    for (int i = 0; i < all->count; i++) points += all->list[i].history_count;
    double *room = take_doubles(points, 2 * panels);
    plot_item *items = take((size_t)(panels * all->count), sizeof *items);
    plot_scene scenes[4];
    for (int p = 0; p < panels; p++)
        scenes[p] = compare_scene(all, first + p / 2, p % 2, items + p * all->count, room + p * 2 * points);
    for (int p = 0; p < panels; p += 2) plot_same_y(&scenes[p], 2);
    if (plot_grid(path, all->d.s.dataset, scenes, panels, 2)) die(FAILED, "--plot %s: cannot be written", path);
    free(items);
    free(room);
}

/* ---- the command ---- */

static void compare_start(comparison *all, const bytes *notes)
{
    const options *o = all->o;
    if (!o->given[OPT_QUIET]) {
        print_notes(&all->d, notes);
        fprintf(stderr, "%s: %td training rows, %td test rows, %td inputs; %d bases, %d thread(s)\n", all->d.s.dataset,
                all->d.train.n, all->d.test.n, all->d.s.D, all->count, all->w.threads.run ? all->w.threads.count : 1);
    }
    if (!o->value[OPT_TRACE]) return;
    all->trace = fopen(o->value[OPT_TRACE], "wb");
    if (!all->trace || fputs(compare_header, all->trace) < 0)
        die(BAD_INPUT, "--trace %s: cannot be written: %s", o->value[OPT_TRACE], strerror(errno));
}

static int run_compare(options *o)
{
    comparison all;
    bytes notes = {NULL, 0, 0};
    memset(&all, 0, sizeof all);
    all.o = o;
    option_needed(o, OPT_DATA);
    all.isa = isa_of(o);
    recipe_settle(o);
    merge_whiten(o);
    candidates_parse(&all);
    dataset_read(&all.d, o);
    check_outputs(o, NULL);
    workers_start(&all.w, o);
    candidates_check(&all, &notes);
    compare_start(&all, &notes);
    catch_signals();
    int failed = 0;
    for (int i = 0; i < all.count; i++) {
        candidate *c = &all.list[i];
        c->ms = c->elbo = c->upper = c->noise = NAN;
        c->test = no_metrics;
        if (stop_signal) snprintf(c->reason, sizeof c->reason, "not trained: stopped by a signal");
        else candidate_train(&all, c);
        if (*c->reason) failed = 1;
    }
    if (all.trace && fclose(all.trace)) die(FAILED, "--trace %s: cannot be written", o->value[OPT_TRACE]);
    if (o->value[OPT_PLOT]) plot_compare(&all, o->value[OPT_PLOT]);
    if (o->given[OPT_JSON]) print_compare_json(&all);
    else print_compare_text(&all);
    workers_stop(&all.w);
    candidates_free(&all);
    dataset_free(&all.d);
    free(notes.at);
    return failed ? FAILED : 0;
}

/* ----------------------------------------------------------------------------------------------------------------------- */
/*  Predicting                                                                                                             */
/* ----------------------------------------------------------------------------------------------------------------------- */
/*  A row per data row; rows that were dropped get NA. */
static bytes predictions_csv(const forecast *f, const rows *r, ptrdiff_t data_rows, int P)
{
    bytes b = {NULL, 0, 0};
    for (int p = 0; p < P; p++) {
        if (P == 1) bytes_print(&b, "mean,sd_f,sd_y");
        else bytes_print(&b, "%smean_%d,sd_f_%d,sd_y_%d", p ? "," : "", p, p, p);
    }
    bytes_add(&b, "\n", 1);
    for (ptrdiff_t i = 0, k = 0; i < data_rows; i++) {
        int there = k < r->n && r->row[k] == i;
        for (int p = 0; p < P; p++) {
            ptrdiff_t at = k * P + p;
            if (p) bytes_add(&b, ",", 1);
            if (there) bytes_print(&b, "%.10g,%.10g,%.10g", f->mean[at], sqrt(f->var_f[at]), sqrt(f->var_y[at]));
            else bytes_add(&b, "NA,NA,NA", 8);
        }
        bytes_add(&b, "\n", 1);
        k += there;
    }
    return b;
}

static void print_predict_json(const metrics *m, const schema *s, const options *o, ptrdiff_t n, double seconds)
{
    char *name = dataset_name(o->value[OPT_DATA]);
    bytes b = {NULL, 0, 0};
    bytes_print(&b, "{");
    json_text(&b, "dataset", name);
    json_text(&b, "model", o->value[OPT_MODEL]);
    json_count(&b, "n", n);
    json_count(&b, "n_test", m->n);
    json_count(&b, "d", s->D);
    json_count(&b, "p", s->target_count);
    json_number(&b, "seconds", seconds);
    json_metrics(&b, m);
    json_finish(&b);
    free(name);
}

/*  Forecasts and targets are in the target's units; metrics want them standardised. */
static metrics raw_metrics(forecast *f, part *p, const schema *s)
{
    int P = s->target_count;
    for (ptrdiff_t i = 0; i < p->n * P; i++) {
        f->mean[i] = (f->mean[i] - s->y_mean[i % P]) / s->y_scale[i % P];
        f->var_y[i] /= s->y_scale[i % P] * s->y_scale[i % P];
    }
    odvgp_standardise(p->Y, p->n, P, s->y_mean, s->y_scale, p->Y);
    return metrics_of(f, p->Y, p->n, P, s->y_scale);
}

static int run_predict(options *o)
{
    double begin = now();
    const char *path = option_needed(o, OPT_DATA), *out = o->value[OPT_OUT];
    int to_stdout = !out || strcmp(out, "-") == 0, json = o->given[OPT_JSON];
    if (out && to_stdout && json) die(BAD_INPUT, "--out -: with --json the predictions need a file of their own");
    model_file f;
    model_file_read(&f, option_needed(o, OPT_MODEL));
    odvgp_info info = {ODVGP_OK, NULL, -1, 0, ""};
    void *block = take(f.predictor_size, 1);
    odvgp_server server;
    odvgp_status status = odvgp_server_from_file(&server, f.content, f.size, ODVGP_ISA_AUTO, block, f.predictor_size, &info);
    if (status) die_of(status, &info, f.path);
    if (server.D != f.s.D || server.T != f.s.target_count)
        die(BAD_INPUT, "%s: damaged: its columns are not those of its model", f.path);
    table t = {0};
    read_table(&t, path, o, schema_is_text, &f.s);
    binding b = bind_columns(&f.s, &t, path);
    rows r = complete_rows(&f.s, &t, &b, path, option_choice(o, OPT_MISSING, "error|drop"), 0);
    part p = encode(&f.s, &t, &b, &r);
    if (!to_stdout) check_writable("out", out, path);
    workers w;
    workers_start(&w, o);
    forecast fc = forecast_make(r.n, f.s.target_count);
    forecast_run(&fc, &server, &w, p.X, r.n);
    if (!to_stdout || !json) {
        bytes csv = predictions_csv(&fc, &r, t.rows, f.s.target_count);
        if (to_stdout) write_stdout(&csv);
        else write_file(out, csv.at, csv.used);
        free(csv.at);
    }
    metrics m = p.Y ? raw_metrics(&fc, &p, &f.s) : no_metrics;
    if (json) print_predict_json(&m, &f.s, o, t.rows, now() - begin);
    else if (m.n && !(to_stdout && o->given[OPT_QUIET])) {
        FILE *to = to_stdout ? stderr : stdout;
        fprintf(to, "metrics  rmse %.5g  mae %.5g  loglik %.5g  (standardised)\n", m.rmse, m.mae, m.loglik);
        fprintf(to, "         rmse %.5g  mae %.5g  loglik %.5g  (units of the target)\n", m.rmse_raw, m.mae_raw, m.loglik_raw);
    }
    workers_stop(&w);
    forecast_free(&fc);
    part_free(&p);
    free(r.row);
    binding_free(&b, &f.s);
    table_free(&t);
    free(block);
    model_file_free(&f);
    return 0;
}

/* ----------------------------------------------------------------------------------------------------------------------- */
/*  Info                                                                                                                   */
/* ----------------------------------------------------------------------------------------------------------------------- */
static void json_fields(bytes *b, const char *key, const field *fields, int count)
{
    json_key(b, key);
    bytes_add(b, "[", 1);
    for (int i = 0; i < count; i++) {
        if (i) bytes_add(b, ", ", 2);
        if (fields[i].name) json_string(b, fields[i].name);
        else bytes_print(b, "%d", fields[i].column);
    }
    bytes_add(b, "]", 1);
}

/*  By the name that it was trained with: without gamma points, several are the same model. */
static const char *basis_of_file(const model_file *f, const odvgp_config *c)
{
    const char *name = settings_find(f->s.settings, "basis");
    return name ? name : basis_text(c);
}

static void print_info_json(const model_file *f, const odvgp_model *model, const char *kernel)
{
    const odvgp_config *c = odvgp_model_config(model);
    odvgp_events events = odvgp_model_events(model);
    bytes b = {NULL, 0, 0};
    bytes_print(&b, "{");
    json_text(&b, "dataset", f->s.dataset);
    json_count(&b, "n_train", f->s.n_train);
    json_count(&b, "d", f->s.D);
    json_count(&b, "p", f->s.target_count);
    json_text(&b, "basis", basis_of_file(f, c));
    json_method(&b, c);
    json_count(&b, "beta", c->M);
    json_count(&b, "gamma", c->M_gamma);
    json_count(&b, "iters", odvgp_steps_done(model));
    json_text(&b, "kernel", kernel);
    json_lengthscales(&b, model, &f->s);
    json_number(&b, "noise_variance", noise_of(model));
    json_events(&b, &events);
    json_fields(&b, "inputs", f->s.inputs, f->s.input_count);
    json_fields(&b, "targets", f->s.targets, f->s.target_count);
    json_count(&b, "parameters", odvgp_param_count(model));
    json_count(&b, "file_bytes", (int64_t)f->size);
    json_count(&b, "predictor_bytes", (int64_t)f->predictor_size);
    json_finish(&b);
}

static void print_info_text(const model_file *f, const odvgp_model *model, const char *kernel)
{
    const odvgp_config *c = odvgp_model_config(model);
    odvgp_events e = odvgp_model_events(model);
    bytes b = {NULL, 0, 0};
    bytes_print(&b, "data     %s: %td training rows, %td inputs, target %s\n", f->s.dataset, f->s.n_train, f->s.D,
                f->s.target_text);
    bytes_print(&b, "model    %s, beta %td, gamma %td, %s\n", basis_of_file(f, c), c->M, c->M_gamma, training_text(c));
    text_method(&b, c);
    bytes_print(&b, "kernel   %s\n", kernel);
    text_lengthscales(&b, model, &f->s);
    bytes_print(&b, "noise    variance %.4g\n", noise_of(model));
    bytes_print(&b, "steps    %td\n", odvgp_steps_done(model));
    bytes_print(&b, "events   jitter %.3g, raised %llu times; steps shortened %llu, undone %llu\n", e.jitter,
                (unsigned long long)e.jitter_raised, (unsigned long long)e.step_shortened, (unsigned long long)e.step_undone);
    bytes_print(&b, "inputs  ");
    for (int i = 0; i < f->s.input_count; i++) {
        const field *x = &f->s.inputs[i];
        if (x->name) bytes_print(&b, " %s", x->name);
        else bytes_print(&b, " %d", x->column);
        if (x->level_count) bytes_print(&b, "(%d %slevels)", x->level_count, x->ordinal ? "ordered " : "");
    }
    bytes_print(&b, "\nsize     %td parameters, %zu bytes; to predict %zu\n", odvgp_param_count(model), f->size,
                f->predictor_size);
    write_stdout(&b);
    free(b.at);
}

static int run_info(options *o)
{
    model_file f;
    workers none;
    model_block block;
    memset(&none, 0, sizeof none);
    model_file_read(&f, option_needed(o, OPT_MODEL));
    odvgp_model *model = model_load(&f, &none, ODVGP_ISA_AUTO, &block);
    char *kernel = kernel_text(model);
    if (o->given[OPT_JSON]) print_info_json(&f, model, kernel);
    else print_info_text(&f, model, kernel);
    free(kernel);
    free(block.at);
    model_file_free(&f);
    return 0;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--version") == 0) {
        printf("odvgp %d.%d.%d\n", ODVGP_VERSION / 10000, ODVGP_VERSION / 100 % 100, ODVGP_VERSION % 100);
        return 0;
    }
    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        int topic = argc > 2 ? command_by_name(argv[2]) : 0;
        if (argc > 2 && !topic)
            die(BAD_INPUT, "unknown command '%s'; there are train, compare, predict, info and help", argv[2]);
        if (topic) print_help(topic);
        else print_usage(stdout);
        return 0;
    }
    int command = command_by_name(word);
    if (!*word) die(BAD_INPUT, "no command; there are train, compare, predict, info and help");
    if (!command) die(BAD_INPUT, "unknown command '%s'; there are train, compare, predict, info and help", word);
    options o;
    options_parse(&o, command, argc - 2, argv + 2);
    int code = command == TRAIN     ? run_train(&o)
               : command == COMPARE ? run_compare(&o)
               : command == PREDICT ? run_predict(&o)
                                    : run_info(&o);
    options_free(&o);
    return code;
}
