/*  options.h - the options of all commands, errors of the library in their words, the recipes, the
    bases, and how values are read.

    One list makes the enum, the parser, the help and what a model file keeps. Values stay text
    until they are used. The options marked KEPT define a model: its file keeps them, and --resume
    takes them from there. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include "base.h"
#include "table.h"

enum {
	TRAIN = 1,
	PREDICT = 2,
	INFO = 4,
	COMPARE = 8,
	KEPT = 16,
	SAMPLE = 32,
	EXPORT = 64,
	BUDGET = 128,
	UPDATE = 256,
	CONVERT = 512,
	FIT = TRAIN | COMPARE | BUDGET,
	USE = PREDICT | SAMPLE,
	/* Commands that read rows. */
	ROWS = FIT | USE | UPDATE
};

/* clang-format off */
/*    id, name, argument (words: the choices; "=field": those of the library's config), default,
      commands and KEPT, help */
#define OPTIONS(X) \
    X(DATA, "data", "FILE", NULL, ROWS, \
      "CSV file, - for standard input, table of odvgp convert, or NumPy's .npy") \
    X(MODEL, "model", "FILE", NULL, TRAIN | USE | UPDATE | INFO | EXPORT | BUDGET, \
      "model file; train writes it (default: the data's name.odvgp), and budget (NAME.odvgp)") \
    X(OUT, "out", "FILE", NULL, USE | UPDATE | EXPORT | BUDGET, \
      "predictions, samples or header (default: standard output); update: the new model " \
      "(default: --model)") \
    X(STREAM, "stream", NULL, NULL, PREDICT, \
      "answer each row of standard input when it arrives, as --data - does") \
    X(LEARN, "learn", NULL, NULL, PREDICT, \
      "learn each row that has its target, after its prediction") \
    X(OUT_MODEL, "out-model", "FILE", NULL, PREDICT, \
      "with --learn: the model that has learned the rows (may be --model)") \
    X(FORGET, "forget", "L", "1", PREDICT | UPDATE, \
      "after each row earlier ones count L times as much, such as 0.999; 1: nothing is forgotten") \
    X(FOLLOW, "follow", "V", NULL, PREDICT | UPDATE, \
      "a row of which the inducing points leave more than V unexplained, such as 0.1, becomes one, " \
      "and that of least loss goes") \
    X(REAL, "real", "float|double", "float", EXPORT | BUDGET, \
      "numbers of the header; budget tries both unless it is given") \
    X(FLASH, "flash", "BYTES", NULL, BUDGET, "most bytes of code and tables, such as 32k") \
    X(RAM, "ram", "BYTES", NULL, BUDGET, "most bytes of stack") \
    X(US, "us", "T", NULL, BUDGET, "most microseconds for a mean and a variance") \
    X(MHZ, "mhz", "F", "168", BUDGET, "clock of the core") \
    X(CORE, "core", "m4f|m7|m3|m0|rv32|rv32f", "m4f", EXPORT | BUDGET, \
      "core; m7 has doubles, m3, m0 and rv32 no FPU") \
    X(CPI, "cpi", "C", NULL, BUDGET, \
      "cycles per instruction (default by core: 0.9 of m7 to 1.5 of m0; not measured)") \
    X(NAME, "name", "NAME", "model", EXPORT | BUDGET, "prefix of all names in the header") \
    X(NO_LIBM, "no-libm", NULL, NULL, EXPORT | BUDGET, "write exp and others, too: nothing is included (budget always does)") \
    X(INTERVAL, "interval", "P", NULL, PREDICT, \
      "limits between which y is with probability P: 0.95") \
    X(THRESHOLD, "threshold", "P", NULL, PREDICT, \
      "of two classes, print the second one where its probability is at least P (0.5)") \
    X(KEEP, "keep", "LIST", NULL, USE, "columns of the data to repeat before the predictions") \
    X(SAMPLES, "samples", "N", "10", SAMPLE, "functions to draw") \
    X(TARGET, "target", "LIST", "last", FIT | KEPT, \
      "columns to predict: last, or names, indices and ranges A-B") \
    X(FEATURES, "features", "LIST", NULL, FIT | KEPT, "input columns (default: all others)") \
    X(IGNORE, "ignore", "LIST", NULL, FIT | KEPT, "columns to leave out") \
    X(ORDINAL, "ordinal", "NAME=a,b,c", NULL, FIT | KEPT, \
      "levels of a column in order (may be repeated)") \
    X(MISSING, "missing", "error|drop", "error", ROWS | KEPT, \
      "what to do with rows that hold empty cells, NA, nan, null, none or ?") \
    X(HEADER, "header", "auto|yes|no", "auto", ROWS | CONVERT, "does the first line hold names?") \
    X(SEP, "sep", "auto|CHAR", "auto", ROWS | CONVERT, \
      "separator: comma, semicolon, tab, space, or the character itself") \
    X(DECIMAL, "decimal", ".|,", ".", ROWS | CONVERT, "decimal point of the numbers") \
    X(THOUSANDS, "thousands", "none|CHAR", "none", ROWS | CONVERT, \
      "between groups of three digits: , . ' _ or space") \
    X(MEMORY, "memory", "BYTES", "1G", ROWS, \
      "a data file that is larger stays on the disk, a CSV file as a temporary table") \
    X(DATES, "dates", "LIST", "days", FIT | KEPT, \
      "what dates (2024-05-31, 2024/5/31, 31 May 2024, 12:30) become: days, yearday and weekday, " \
      "joined by +") \
    X(TRANSFORM, "transform", "LIST", "none", FIT | KEPT, \
      "other scales of inputs: none, auto, or NAME=log|asinh|linear,... (all=: of all numbers)") \
    X(TARGET_TRANSFORM, "target-transform", "none|log|asinh", "none", FIT | KEPT, \
      "learn this of the target (one, gaussian); predictions stay those of the target") \
    X(LEVELS, "levels", "auto|indicators|shared|means|mixed", "auto", FIT | KEPT, \
      "what texts become: standardised indicators, 0 and 1 with one lengthscale for a column, " \
      "the level's mean target, or that for more than 12 levels; auto: the best of the last three " \
      "on rows held out") \
    X(TEST, "test", "FILE", NULL, FIT, "file of test rows") \
    X(TEST_FRACTION, "test-fraction", "F", "0", FIT | KEPT, "share of the rows to test on") \
    X(SPLIT, "split", "numpy:SEED", NULL, FIT | KEPT, \
      "draw the test rows as NumPy does (below; default: by --seed)") \
    X(TRAIN_ROWS, "train-rows", "N", NULL, FIT | KEPT, \
      "train on at most N of the training rows, drawn by --seed (default: on all)") \
    X(TEST_MASK, "test-mask", "FILE:COLUMN", NULL, FIT, \
      "test rows have a 1 in this column of a file without header") \
    X(FOLDS, "folds", "K", NULL, FIT, \
      "train K times, each without a Kth of the rows; prints means, saves no model") \
    X(LIKELIHOOD, "likelihood", "NAME", NULL, FIT | KEPT, \
      "distribution of the targets given f (default: by the target, see below)") \
    X(OUTPUTS, "outputs", "shared|independent|lmc:P", "shared", FIT | KEPT, \
      "several targets: functions that share a kernel, with own kernels, or mixtures of P") \
    X(CLASS_WEIGHTS, "class-weights", "balanced|NAME=W,...", NULL, FIT | KEPT, \
      "weights of rows by class: balanced is rows / (classes x rows of the class)") \
    X(BASIS, "basis", "NAME", "auto", TRAIN | KEPT, \
      "one of the bases below, or auto: by the data's size (orth with options of its steps)") \
    X(AUTO_TRIES, "auto-tries", "N", "4", TRAIN, \
      "--basis auto: race at most N candidates on rows held out (1: none, at most 8; by default 7 " \
      "where folds score: regression, fewer than 2,000 rows; 5 with exact ones of more): " \
      "members, kernels, scales of columns and target; from 3 on Student's t or matern12 may join") \
    X(LAYERS, "layers", "LIST", NULL, FIT | KEPT, \
      "deep model, from the inputs up: BASIS[:KEY=VALUE,...]; ...; BASIS " \
      "(keys: beta, gamma, dim, patch=hxw, stride)") \
    X(BASES, "bases", "LIST", "coupled,orth", COMPARE, \
      "bases to compare: NAME[:KEY=VALUE]...,NAME... (keys: below)") \
    X(BETA, "beta", "M", NULL, FIT | KEPT, \
      "inducing points of mean and covariance (default: min(300, n/2))") \
    X(GAMMA, "gamma", "M", NULL, FIT | KEPT, \
      "further inducing points of the mean (default: min(700, n - beta))") \
    X(KERNEL, "kernel", "EXPR", "matern52(ard)", FIT | KEPT, \
      "sums, products of name(lengthscale, variance, ard, dims=0:7)") \
    X(IMAGE, "image", "HxW or HxWxC", NULL, FIT | KEPT, \
      "inputs are images: pixel (i, j) of channel c is column (i W + j) C + c") \
    X(PATCH, "patch", "hxw", NULL, FIT | KEPT, "inducing points are patches of this size") \
    X(STRIDE, "stride", "S", NULL, FIT | KEPT, "pixels from patch to patch (default: 1)") \
    X(TICK, "tick", NULL, NULL, FIT | KEPT, \
      "patches have two more columns: their row and column among the patches") \
    X(NOISE, "noise", "V", NULL, FIT | KEPT, \
      "initial noise variance, of standardised targets (default: 0.1)") \
    X(MEAN, "mean", "zero|constant|linear", "zero", FIT | KEPT, "mean function") \
    X(PARAM, "param", "=reproduce.parametrisation", "whitened", FIT | KEPT, "parameters of q(u)") \
    X(WHITEN, "whiten", "on|off", NULL, FIT, "on is --param whitened, off is --param primal") \
    X(GAMMA_COORDS, "gamma-coords", "=reproduce.gamma_coords", "scaled", FIT | KEPT, \
      "coordinates in which Adam moves gamma's weights") \
    X(POSITIVE, "positive", "=positive_transform", "exp", FIT | KEPT, \
      "map from an optimiser's coordinate to a positive number") \
    X(Q_INIT, "q-init", "=reproduce.q_init", "prior", FIT | KEPT, "initial q(u)") \
    X(RECIPE, "recipe", "default|odvgp|solve-gp|kobe", "default", FIT, \
      "a paper's settings for all options that are not given (below)") \
    X(ITERS, "iters", "N|Nepochs", NULL, FIT | KEPT, \
      "steps, with those before --resume (20000; all rows: 1000 of Adam, 200 of L-BFGS)") \
    X(MINUTES, "minutes", "T", NULL, FIT, \
      "end after this time; without --iters, falling step sizes fall over it; compare: each item") \
    X(PATIENCE, "patience", "N", "0", TRAIN | KEPT, \
      "take a tenth of the training rows, at most 5000, for validation, stop after N evaluations " \
      "in which they have no better loglik, and keep the best model") \
    X(CALIBRATE, "calibrate", "auto|on|off", "auto", TRAIN, \
      "classes: hold out as many rows, scale f's mean and sd by their likelihood, " \
      "and give them back for a tenth more steps, with --minutes up to half; --basis exact: " \
      "scale sd_y by leave-one-out errors; auto: on for exact models that --basis auto chooses, and for classes of 2000 " \
      "or more rows") \
    X(MODE, "mode", "auto|off|GAMMA:VARIANCE[:LENGTH]", "auto", TRAIN, \
      "classes by orth or hybrid: after the last step, GAMMA gamma points for the mean, at the " \
      "posterior's mode for kernel variances and lengthscales so many times as large; auto: " \
      "with --calibrate, where the rows held out gain") \
    X(BATCH, "batch", "B", "1024", FIT | KEPT, "rows of a minibatch") \
    X(GAMMA_BATCH, "gamma-batch", "B", "64", FIT | KEPT, \
      "gamma points sampled for the KL of a step; 0: all") \
    X(OPTIMIZER, "optimizer", "=optim.kind", NULL, FIT | KEPT, \
      "L-BFGS uses all rows in each step (default of sgpr, solve-collapsed, exact)") \
    X(LR, "lr", "R|FROM-TO", NULL, FIT | KEPT, \
      "Adam's learning rate (0.01-0.001; all rows: 0.01; --natgrad-gamma exact: 0.001)") \
    X(NATGRAD, "natgrad", "on|off", "on", FIT | KEPT, \
      "natural gradients for q(u); off: --optimizer moves all parameters") \
    X(NATGRAD_GAMMA, "natgrad-gamma", "=optim.gamma_step", "adam", FIT | KEPT, \
      "how gamma of orth and hybrid moves beside natural gradients") \
    X(NATGRAD_BLOCKS, "natgrad-blocks", "=reproduce.blocks_step", "together", FIT | KEPT, \
      "blocks of solve that a natural step moves") \
    X(NATGRAD_DIAG, "natgrad-diag", "=reproduce.diag_step", "affine", FIT | KEPT, \
      "form of the natural step of diagonal") \
    X(NATGRAD_STEP, "natgrad-step", "R|FROM-TO", NULL, FIT | KEPT, \
      "natural step size (default: 0.1-0.01)") \
    X(NATGRAD_WARMUP, "natgrad-warmup", "STEPS:START[:KIND]", NULL, FIT | KEPT, \
      "raise the step size from START first; a later fall has the same KIND") \
    X(SCHEDULE, "schedule", "SPEC", NULL, FIT | KEPT, \
      "lr or natgrad:linear|loglinear:START:END:STEPS (may be repeated)") \
    X(UPDATE, "update", "=reproduce.update", "joint", FIT | KEPT, \
      "natural step and Adam step together, or one after the other") \
    X(FIT_Q, "fit-q", "none|start|end|both", "none", FIT, \
      "set q to its optimum at the start or end of training") \
    X(INIT, "init", "=init.beta", "kmeans", FIT | KEPT, "initial beta points") \
    X(INIT_GAMMA, "init-gamma", "=init.gamma", "random", FIT | KEPT, "initial gamma points") \
    X(INIT_HYPER, "init-hyper", "=init.hyperparams", "median", FIT | KEPT, \
      "initial hyperparameters that are not given") \
    X(WARM, "warm", "off|ROWS:STEPS[:M[:RATE]],...", NULL, FIT | KEPT, \
      "L-BFGS, with RATE Adam, on a random subset before training (default: by the data's size; " \
      "--recipe: off)") \
    X(FREEZE, "freeze", "LIST", NULL, FIT | KEPT, \
      "parameters that stay constant: noise_variance, Z_beta, kernel.*, ...") \
    X(JITTER, "jitter", "V", "0", FIT | KEPT, "added to the diagonal of Kb") \
    X(JITTER_REL, "jitter-rel", "V", "1e-6", FIT | KEPT, \
      "the same, in units of the mean of the diagonal") \
    X(SEED, "seed", "N", "0", FIT | SAMPLE | KEPT, "seed of all random numbers") \
    X(SET, "set", "NAME=VALUE", NULL, FIT | KEPT, \
      "a field of odvgp.h's config that has no option of its own (may be repeated)") \
    X(RESUME, "resume", "MODEL", NULL, TRAIN, "continue this model on the same data") \
    X(CHECKPOINT, "checkpoint", "SECONDS", "60", TRAIN, \
      "save MODEL.part this often while training, for --resume; 0: never") \
    X(THREADS, "threads", "N", "0", ROWS, "number of threads; 0: one for each core") \
    X(ISA, "isa", "NAME", "auto", FIT, \
      "instruction set: auto, c, sse2, neon, avx2 or avx512 (default: ODVGP_ISA, else auto)") \
    X(TRACE, "trace", "FILE", NULL, FIT, "CSV file with a row for each evaluation") \
    X(PLOT, "plot", "FILE", NULL, FIT, "SVG of what was learned, and of the training curves") \
    X(JSON, "json", NULL, NULL, FIT | PREDICT | UPDATE | INFO, "print one JSON object") \
    X(QUIET, "quiet", NULL, NULL, ROWS | CONVERT, "print no progress and no notes")
/* clang-format on */
#define OPTION_ID(id, name, argument, preset, where, help) OPT_##id,
enum { OPTIONS(OPTION_ID) OPTION_COUNT };

typedef struct option {
	/* `argument` NULL: a flag. */
	const char *name, *argument, *preset;
	/* The commands that take it, and KEPT. */
	int where;
	const char *help;
} option;

#define OPTION_ROW(id, name, argument, preset, where, help) {name, argument, preset, where, help},
static option option_list[OPTION_COUNT] = {OPTIONS(OPTION_ROW)};

static const struct {
	int first;
	const char *title;
} option_groups[] = {
		{OPT_DATA, "Data"},
		{OPT_TEST, "Test part"},
		{OPT_LIKELIHOOD, "Model"},
		{OPT_RECIPE, "Training"},
		{OPT_TRACE, "Output"},
};

typedef struct options {
	/* NULL: not given, and without a default. */
	const char *value[OPTION_COUNT];
	int given[OPTION_COUNT];
	/* The values that are not defaults. */
	char *owned[OPTION_COUNT];
	/* The kernel as --levels groups its lengthscales; NULL: not made. */
	char *kernel;
	/* With --folds: the fold that is the test part. */
	int fold;
	/* --out is a model, which may replace that of --model. */
	int updates;
	/* convert: its files, in a list that is the caller's. */
	char **file;
	int files;
} options;

/*  The options that an item of --bases may set; the first OWN_SHOWN have a column in the table. */
static const int own_options[] = {OPT_NATGRAD, OPT_BETA, OPT_GAMMA, OPT_NATGRAD_GAMMA,
		OPT_NATGRAD_BLOCKS, OPT_NATGRAD_DIAG, OPT_NATGRAD_STEP, OPT_LR, OPT_ITERS, OPT_FIT_Q,
		OPT_OPTIMIZER, OPT_INIT, OPT_INIT_GAMMA, OPT_INIT_HYPER};
enum { OWN_COUNT = sizeof own_options / sizeof *own_options, OWN_SHOWN = 3 };

static bytes own_names(void)
{
	bytes names = {NULL, 0, 0};
	for (int i = 0; i < OWN_COUNT; i++)
		bytes_print(&names, "%s%s", i ? ", " : "", option_list[own_options[i]].name);
	return names;
}

/* ---- errors of the library ---- */

/*  The option that sets a field of the config. A field without an option is missing here. */
static const struct {
	const char *field;
	int id;
} option_fields[] = {
		{"mean_part", OPT_BASIS},
		{"cov_part", OPT_BASIS},
		{"objective", OPT_BASIS},
		{"M", OPT_BETA},
		{"M_gamma", OPT_GAMMA},
		{"kernel", OPT_KERNEL},
		{"mean_function", OPT_MEAN},
		{"layers", OPT_LAYERS},
		{"functions", OPT_OUTPUTS},
		{"independent", OPT_OUTPUTS},
		{"patches.height", OPT_PATCH},
		{"patches.width", OPT_PATCH},
		{"lik.kind", OPT_LIKELIHOOD},
		{"lik.noise_variance", OPT_NOISE},
		{"positive_transform", OPT_POSITIVE},
		{"reproduce.parametrisation", OPT_PARAM},
		{"reproduce.gamma_coords", OPT_GAMMA_COORDS},
		{"reproduce.q_init", OPT_Q_INIT},
		{"reproduce.update", OPT_UPDATE},
		{"reproduce.blocks_step", OPT_NATGRAD_BLOCKS},
		{"reproduce.diag_step", OPT_NATGRAD_DIAG},
		{"optim.kind", OPT_OPTIMIZER},
		{"optim.batch", OPT_BATCH},
		{"optim.gamma_batch", OPT_GAMMA_BATCH},
		{"optim.lr", OPT_LR},
		{"optim.natgrad", OPT_NATGRAD},
		{"optim.natgrad_step", OPT_NATGRAD_STEP},
		{"optim.gamma_step", OPT_NATGRAD_GAMMA},
		{"init.beta", OPT_INIT},
		{"init.gamma", OPT_INIT_GAMMA},
		{"init.hyperparams", OPT_INIT_HYPER},
		{"jitter.absolute", OPT_JITTER},
		{"jitter.relative", OPT_JITTER_REL},
		{"seed", OPT_SEED},
		{"isa", OPT_ISA},
};

static const odvgp_info no_info = {ODVGP_OK, NULL, -1, 0, ""};

/*  Why rows could not be read from the disk, which the library does not know; NULL: they could. */
static const char *table_failure;

/*  Returns the reason why a call of the library failed. Where the library names a field of the
    config, the text names the option that sets it. The text is valid until the next call, and as
    long as `info`. */
static const char *reason_of(odvgp_status status, const odvgp_info *info)
{
	static char text[sizeof info->text + 40];
	const char *reason = info->text[0] ? info->text : odvgp_status_text(status);
	if (status == ODVGP_E_IO && table_failure) return table_failure;
	size_t length = strcspn(reason, ":");
	for (size_t i = 0; i < sizeof option_fields / sizeof *option_fields; i++)
		if (reason[length] && is_word(reason, length, option_fields[i].field)) {
			const char *name = option_list[option_fields[i].id].name;
			snprintf(text, sizeof text, "--%s%s", name, reason + length);
			return text;
		}
	return reason;
}

/*  Ends the program because the library could not make or load a model. `where` may be NULL. */
NO_RETURN static void die_of(odvgp_status status, const odvgp_info *info, const char *where)
{
	int ours = status == ODVGP_E_MEMORY || status == ODVGP_E_NOT_PD || status == ODVGP_E_IO ||
			   status == ODVGP_E_NAN;
	die(ours ? FAILED : BAD_INPUT, "%s%s%s", where ? where : "", where ? ": " : "",
			reason_of(status, info));
}

/* ---- recipes: a paper's settings; $x stands for x times the root of the number of inputs ---- */

enum { RECIPE_DEFAULT, RECIPE_ODVGP, RECIPE_SOLVE, RECIPE_KOBE, RECIPE_COUNT };
static const char *const recipe_about[RECIPE_COUNT] = {
		"default    the defaults above",
		"odvgp      Salimbeni et al. 2018, appendix E; 300 + 700 points, 10 % for testing; "
		"kernels of variance 5 for classes",
		"solve-gp   Shi et al. 2020: Matern 3/2, 1024 + 1024 points, not whitened, Adam only, "
		"100 epochs, 36 % for testing",
		"kobe       Kobe 2021, the naval set: Matern 5/2, 100 points, batches of 256, "
		"natural steps that grow to 0.1",
};

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

/* ---- bases: a row for each member of the family ---- */

typedef struct basis {
	const char *name;
	odvgp_mean_part mean_part;
	odvgp_cov_part cov_part;
	odvgp_objective objective;
	/* Does it take gamma points? */
	int gamma;
	/* Does it have a natural step? */
	int natgrad;
	const char *help;
} basis;

/* clang-format off */
static const basis basis_list[] = {
    {"coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_ELBO, 0, 1,
     "beta points for mean and covariance (SVGP)"},
    {"orth", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_ELBO, 1, 1,
     "coupled, and gamma points for the mean, orthogonal to beta"},
    {"hybrid", ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_ELBO, 1, 1,
     "coupled, and gamma points for the mean, not orthogonal"},
    {"decoupled", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_INVERSE, ODVGP_OBJECTIVE_ELBO, 1, 0,
     "gamma points for the mean, beta points for the covariance"},
    {"solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_OBJECTIVE_ELBO, 1, 1,
     "gamma points as a second block of mean and covariance (SOLVE-GP)"},
    {"diagonal", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, ODVGP_OBJECTIVE_ELBO, 0, 1,
     "beta points with one number each for mean and covariance"},
    {"sgpr", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_COLLAPSED, 0, 0,
     "coupled with its best q at every step (Titsias' bound); all rows"},
    {"solve-collapsed", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_OBJECTIVE_COLLAPSED,
     1, 0, "solve with its best q at every step; all rows"},
    {"exact", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, ODVGP_OBJECTIVE_EXACT, 0, 0,
     "exact GP regression: every row is a beta point; up to 12000 rows"},
};
/* clang-format on */
enum { BASIS_COUNT = sizeof basis_list / sizeof *basis_list, EXACT_ROWS = 12000 };

/*  Does training leave q out? Each step then uses all rows, and q is set to its optimum where
    predictions need it. */
static int without_q(const basis *b) { return b->objective != ODVGP_OBJECTIVE_ELBO; }
static int is_exact(const basis *b) { return b->objective == ODVGP_OBJECTIVE_EXACT; }

static const basis *basis_find(const char *name, size_t length)
{
	for (int i = 0; i < BASIS_COUNT; i++)
		if (is_word(name, length, basis_list[i].name)) return &basis_list[i];
	return NULL;
}

/*  The basis that an option names; the error lists all bases. */
static const basis *basis_named(int id, const char *name, size_t length)
{
	const basis *found = basis_find(name, length);
	if (found) return found;
	bytes names = {NULL, 0, 0};
	for (int i = 0; i < BASIS_COUNT; i++)
		bytes_print(&names, "%s%s", i ? ", " : "", basis_list[i].name);
	guess meant = guess_of(name, length);
	for (int i = 0; i < BASIS_COUNT; i++) guess_try(&meant, basis_list[i].name);
	die(BAD_INPUT, "--%s %.*s: there is no such basis; there are %s%s", option_list[id].name,
			(int)length, name, names.at, guess_text(&meant).text);
}

/* ---- reading ---- */

/*  Stores a value that is not counted as given; `text` now belongs to `o`. */
static void option_store(options *o, int id, char *text)
{
	free(o->owned[id]);
	o->value[id] = o->owned[id] = text;
}

static void option_default(options *o, int id, const char *text)
{
	if (!o->value[id]) option_store(o, id, copy_text(text));
}

/*  Repeated --ordinal, --schedule and --set options are joined by line ends; of others the last one
    counts. */
static void option_set(options *o, int id, const char *value)
{
	bytes text = {NULL, 0, 0};
	if ((id == OPT_ORDINAL || id == OPT_SCHEDULE || id == OPT_SET) && o->given[id])
		bytes_print(&text, "%s\n", o->value[id]);
	bytes_print(&text, "%s", value);
	option_store(o, id, text.at);
	o->given[id] = 1;
}

/*  A copy that owns nothing yet: its values are those of o, which has to stay. */
static options options_borrow(const options *o)
{
	options copy = *o;
	memset(copy.owned, 0, sizeof copy.owned);
	copy.kernel = NULL;
	return copy;
}

static void options_free(options *o)
{
	for (int i = 0; i < OPTION_COUNT; i++) free(o->owned[i]);
	free(o->kernel);
}

static const struct {
	const char *name;
	int command;
} command_words[] = {{"train", TRAIN}, {"compare", COMPARE}, {"predict", PREDICT},
		{"sample", SAMPLE}, {"update", UPDATE}, {"export", EXPORT}, {"budget", BUDGET}, {"info", INFO},
		{"convert", CONVERT}};
enum { COMMAND_COUNT = sizeof command_words / sizeof *command_words };

/*  The names of these commands: "train, compare and info". */
static bytes commands_text(int commands)
{
	bytes b = {NULL, 0, 0};
	int left = 0;
	for (int i = 0; i < COMMAND_COUNT; i++) left += (command_words[i].command & commands) != 0;
	for (int i = 0; i < COMMAND_COUNT; i++)
		if (command_words[i].command & commands) {
			left--;
			bytes_print(&b, "%s%s", command_words[i].name,
					left > 1    ? ", "
					: left == 1 ? " and "
								: "");
		}
	return b;
}

NO_RETURN static void die_unknown_option(const char *name, size_t length, int command)
{
	guess meant = guess_of(name, length);
	for (int i = 0; i < OPTION_COUNT; i++)
		if (option_list[i].where & command) guess_try(&meant, option_list[i].name);
	const char *commands = commands_text(command).at;
	if (meant.best)
		die(BAD_INPUT, "unknown option --%.*s; did you mean --%s? (odvgp help %s)", (int)length,
				name, meant.best, commands);
	die(BAD_INPUT, "unknown option --%.*s; odvgp help %s lists all", (int)length, name, commands);
}

/*  The argument is no option; where it is a file, the option that takes it is named. */
NO_RETURN static void die_stray(const options *o, const char *argument, int command)
{
	size_t n = strlen(argument);
	int is_model = n > 6 && strcmp(argument + n - 6, ".odvgp") == 0, id = OPT_DATA;
	FILE *f = fopen(argument, "rb");
	if (is_model || !(option_list[id].where & command))
		id = command == TRAIN ? OPT_RESUME : OPT_MODEL;
	if (f && (option_list[id].where & command) && !o->given[id])
		die(BAD_INPUT, "unexpected argument '%s'; did you mean --%s %s?", argument,
				option_list[id].name, argument);
	die(BAD_INPUT, "unexpected argument '%s'; options begin with --", argument);
}

/*  Reads the arguments of a command up to --help; returns 1 if that was met. */
static int options_parse(options *o, int command, int argc, char **argv)
{
	memset(o, 0, sizeof *o);
	for (int i = 0; i < OPTION_COUNT; i++) o->value[i] = option_list[i].preset;
	o->file = argv;
	for (int i = 0; i < argc; i++) {
		const char *name = argv[i] + 2, *value = NULL;
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return 1;
		/* info FILE */
		if (command == INFO && *argv[i] != '-' && !o->given[OPT_MODEL]) {
			option_set(o, OPT_MODEL, argv[i]);
			continue;
		}
		/* convert FILE... */
		if (command == CONVERT && (*argv[i] != '-' || !argv[i][1])) {
			argv[o->files++] = argv[i];
			continue;
		}
		if (strncmp(argv[i], "--", 2) != 0 || !*name) die_stray(o, argv[i], command);
		size_t length = strcspn(name, "=");
		if (name[length]) value = name + length + 1;
		int id = 0;
		while (id < OPTION_COUNT && !is_word(name, length, option_list[id].name)) id++;
		if (id == OPTION_COUNT) die_unknown_option(name, length, command);
		if (!(option_list[id].where & command))
			die(BAD_INPUT, "--%s is not an option of this command; it is one of %s",
					option_list[id].name, commands_text(option_list[id].where).at);
		if (!option_list[id].argument) {
			if (value) die(BAD_INPUT, "--%s takes no value", option_list[id].name);
			value = "";
		} else if (!value) {
			if (++i == argc || strncmp(argv[i], "--", 2) == 0)
				die(BAD_INPUT, "--%s needs a value: %s", option_list[id].name,
						option_list[id].argument);
			value = argv[i];
		}
		option_set(o, id, value);
	}
	return 0;
}

static long long option_integer(const options *o, int id, long long least, long long most)
{
	char *end;
	errno = 0;
	long long v = strtoll(o->value[id], &end, 10);
	double whole = NAN;
	const char *after = table__number(o->value[id], &whole);
	/* 1e4 */
	if (*end && after && !*after && whole == floor(whole) && fabs(whole) < 9e15) {
		v = (long long)whole;
		end = strchr(end, 0);
	}
	if (end == o->value[id] || *end || errno || v < least || v > most)
		die(BAD_INPUT, "--%s %s: must be a whole number from %lld to %lld", option_list[id].name,
				o->value[id], least, most);
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

static double option_positive(const options *o, int id)
{
	return option_real(o, id, DBL_MIN, DBL_MAX, "above 0");
}

/*  A number of bytes, such as 300M. */
static double option_bytes(const options *o, int id)
{
	static const char units[] = "kMGT";
	double v = NAN, unit = 1;
	const char *end = table__number(o->value[id], &v);
	for (const char *u = units; end && *end && *u; u++) {
		unit *= 1024;
		if (toupper((unsigned char)*end) != toupper((unsigned char)*u) || end[1]) continue;
		v *= unit;
		end++;
	}
	if (!end || *end || !(v >= 0))
		die(BAD_INPUT, "--%s %s: must be a number of bytes, such as 300M or 2G", option_list[id].name,
				o->value[id]);
	return v;
}

/*  Words of the library as the tool writes them: "joint|natgrad-first|adam-first". */
static const char *words_of_field(const char *field)
{
	char *words = copy_text(odvgp_config_words(field));
	for (char *p = words; *p; p++) *p = *p == ' ' ? '|' : *p == '_' ? '-' : *p;
	return words;
}

/*  Before any other use of option_list. */
static void options_prepare(void)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		if (option_list[i].argument && option_list[i].argument[0] == '=')
			option_list[i].argument = words_of_field(option_list[i].argument + 1);
}

/*  Is it this word, with '-' or '_'? */
static int is_choice(const char *text, size_t length, const char *word)
{
	for (size_t i = 0; i < length; i++)
		if ((text[i] == '_' ? '-' : text[i]) != (word[i] == '_' ? '-' : word[i])) return 0;
	return !word[length];
}

/*  The position of a word in the list "a|b|c", or -1. */
static int position_in(const char *words, const char *word)
{
	for (int position = 0;; position++) {
		size_t n = strcspn(words, "|");
		if (is_choice(words, n, word)) return position;
		if (!words[n]) return -1;
		words += n + 1;
	}
}

/*  The word of the list "a|b|c" that may be meant: "; did you mean a?", or nothing. */
static guess_clause guess_in(const char *words, const char *word)
{
	guess meant = guess_of(word, strlen(word));
	char *list = copy_text(words), *rest = list, *item;
	while ((item = next_item(&rest, '|')) != NULL) guess_try(&meant, item);
	guess_clause clause = guess_text(&meant);
	free(list);
	return clause;
}

/*  The position of the value among the words of the option's argument, "a|b|c". */
static int option_choice(const options *o, int id)
{
	int position = position_in(option_list[id].argument, o->value[id]);
	if (position < 0)
		die(BAD_INPUT, "--%s %s: must be one of %s%s", option_list[id].name, o->value[id],
				option_list[id].argument, guess_in(option_list[id].argument, o->value[id]).text);
	return position;
}

static const char *option_needed(const options *o, int id)
{
	if (!o->value[id])
		die(BAD_INPUT, "--%s is needed: %s", option_list[id].name, option_list[id].help);
	return o->value[id];
}

/*  The character, or 0 for auto. */
static char option_separator(const options *o)
{
	static const char words[] = "auto|comma|semicolon|tab|\\t|space", characters[] = "\0,;\t\t ";
	const char *value = o->value[OPT_SEP];
	int word = position_in(words, value);
	if (word >= 0) return characters[word];
	int allowed = *value == ' ' || *value == '\t' || ispunct((unsigned char)*value);
	if (allowed && !value[1] && !strchr("\"+-.", *value)) return *value;
	die(BAD_INPUT, "--sep %s: must be auto, comma, semicolon, tab, space or one character", value);
}

/*  The character, or 0 for none. */
static char option_thousands(const options *o)
{
	static const char words[] = "none|,|.|'|_|space", characters[] = "\0,.'_ ";
	int word = position_in(words, o->value[OPT_THOUSANDS]);
	if (word >= 0) return characters[word];
	die(BAD_INPUT, "--thousands %s: must be one of %s", o->value[OPT_THOUSANDS], words);
}

/*  The instruction set, by the library's own name for it. The option goes before ODVGP_ISA, which
    is for whoever cannot change the command: tests, and comparisons of whole scripts. */
static odvgp_isa isa_of(const options *o)
{
	const char *environment = getenv("ODVGP_ISA"), *name = o->value[OPT_ISA];
	int from_option = o->given[OPT_ISA] || !environment || !*environment;
	if (!from_option) name = environment;
	if (strcmp(name, "auto") == 0) return ODVGP_ISA_AUTO;
	odvgp_isa found = ODVGP_ISA_AUTO;
	size_t size = odvgp_blas_size(NULL, NULL);
	void *block = take(size, 1);
	bytes there = {NULL, 0, 0};
	/* There are fewer than 16; the library refuses the other numbers. */
	for (int i = ODVGP_ISA_AUTO + 1; i < 16; i++) {
		odvgp_blas blas;
		if (odvgp_blas_init(&blas, NULL, (odvgp_isa)i, block, size, NULL) != ODVGP_OK) continue;
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

#endif
