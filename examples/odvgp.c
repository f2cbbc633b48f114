/*  odvgp.c - the command-line tool of odvgp.h: trains sparse Gaussian processes on CSV files and
    predicts with them.

        cc -O2 examples/odvgp.c -o build/odvgp -lm
        build/odvgp train --data train.csv --model out.odvgp --test-fraction 0.1
        build/odvgp compare --data train.csv --test-fraction 0.1 --bases coupled,orth,sgpr
        build/odvgp predict --model out.odvgp --data new.csv --out pred.csv
        build/odvgp update --model out.odvgp --data newer.csv
        build/odvgp info --model out.odvgp

    With -DODVGP_USE_PTHREADS -pthread it uses all cores; `make` builds it so.

    Results go to stdout, progress and notes to stderr. Exit codes: 0 done; 1 something failed on the
    way (memory, disk, a matrix); 2 bad input, with one line that names the option, or file, line and
    column; 130 (Ctrl-C), 143 (SIGTERM) or 129 (SIGHUP) after a signal, with what could be saved
    saved. Nothing is written
    before all input has been checked, and no file is left half-written; only the trace grows row by
    row, so that it can be watched.

    Text columns become one input per level, or one ordered input (--ordinal). Columns are
    standardised by the training part, and the model file keeps all that is needed to do the same to
    new rows. It holds only those training rows on which inducing points stand: with --basis exact,
    all of them.

    This file has the help and the commands. The parts are in examples/tool/, in this order, and
    each uses only those above it:

        base.h      errors, memory, growing texts, files, the clock
        cells.h     numbers and dates in CSV files
        table.h     CSV files
        plot.h      SVG pictures
        numpy.h     the permutations of NumPy
        options.h   options, recipes, bases
        images.h    rows that are images
        watch.h     signals, time limits, progress
        odvt.h      tables on the disk
        tables.h    these and NumPy's arrays as tables
        convert.h   makes a table on the disk
        files.h     what is read and what is written
        schema.h    what a model file keeps of data and options
        classes.h   likelihoods, labels of classes, scores of probabilities
        transform.h other scales of columns and of the target
        columns.h   columns that options select, and those of other tables
        rows.h      rows of inputs and targets, and their scales
        large.h     rows that stay on the disk
        split.h     which rows are tested or held out
        dataset.h   the data of a training
        probe.h     a small model of some rows, and what it says of others
        levels.h    what texts become
        scales.h    other scales, fitted to the training rows
        data.h      from a table and options to the data of a training
        predict.h   threads, predictions, metrics
        cost.h      counted operations
        models.h    models from options, and model files
        interval.h  limits of y
        warm.h      warm starts
        kernels.h   the kernel that classes begin with
        plan.h      --basis auto
        report.h    results as JSON and text
        picture.h   what a model has learned, as a picture
        race.h      chooses between models by rows held out; without options and printing
        train.h     one training
        choose.h    --auto-tries: candidates, and their race
        compare.h   several trainings, one table
        folds.h     trainings without each part of the rows in turn
        learn.h     a model that learns further rows
        apply.h     the commands predict and sample
        update.h    the command update
        cores.h     what exported headers need on a core
        export.h    the command export
        budget.h    the command budget
        describe.h  the command convert, and what info prints of a table

    on_windows.h stands in for POSIX there. */
#define _POSIX_C_SOURCE 200809L
/* SIGXFSZ. */
#define _XOPEN_SOURCE 700
/* Where pointers have 32 bits: stat() of files whose size or number is above that. */
#define _FILE_OFFSET_BITS 64
#define ODVGP_IMPLEMENTATION
#include "../odvgp.h"
#include <fcntl.h>
#include "tool/compare.h"
#include "tool/apply.h"
#include "tool/update.h"
#include "tool/export.h"
#include "tool/budget.h"
#include "tool/folds.h"
#include "tool/choose.h"
#include "tool/describe.h"

/* ---- help ---- */

static const char usage[] =
		"odvgp trains sparse Gaussian processes on CSV files and predicts with them.\n"
		"\n"
		"  odvgp train   --data train.csv --model out.odvgp [options]\n"
		"  odvgp compare --data train.csv --bases coupled,orth [options]\n"
		"  odvgp predict --model out.odvgp --data new.csv [--out pred.csv] [options]\n"
		"  odvgp sample  --model out.odvgp --data grid.csv [--samples 10] [options]\n"
		"  odvgp update  --model out.odvgp --data new.csv [--forget 0.999] [--follow 0.1]\n"
		"  odvgp export  --model out.odvgp --name arm [--real double] [--out arm.h]\n"
		"  odvgp budget  --data train.csv --flash 32k --us 500 --name arm [--out arm.h] [options]\n"
		"  odvgp info    out.odvgp [--json]\n"
		"  odvgp convert data.csv data.odvt\n"
		"  odvgp help    [train|compare|predict|sample|update|export|budget|info|convert]\n"
		"  odvgp --version\n";

static const char train_help[] =
		"odvgp train learns the last column of a CSV file (or --target) from the others and\n"
		"writes a model file. A column is given by its name in the header or by its index from 0;\n"
		"a name goes before an index. Messages count lines from 1.\n"
		"\n"
		"Ctrl-C, SIGTERM and a hang-up of the terminal end the training within a second: the tool\n"
		"saves the model as it is after its last whole step or warm start, of a race the best so\n"
		"far, prints what it can compute in half a second, and ends with 130, 143 or 129, so that\n"
		"`train && next` stops; before the first of them it saves none. Bases without q set it\n"
		"once more before, which takes a pass over the rows. A second signal ends the program at\n"
		"once.\n"
		"\n"
		"A text column becomes an input of 0 and 1 for each of its texts, one input for two texts,\n"
		"or one of their mean targets (--levels); as the target, its texts are classes. A column of\n"
		"numbers and texts is a text column if it has at most 20 different numbers and no text\n"
		"only once, or more texts than numbers.\n"
		"\n"
		"Numbers are standardised; lengthscales, noise and bounds are in these units.\n"
		"The tool evaluates the test part fifty times in --iters steps, less often where that\n"
		"would take more than a twentieth of the time; with --patience the validation part, less\n"
		"often where that would take more than a twentieth of the operations. sgpr, solve-collapsed and exact train\n"
		"without q; the tool sets q to its optimum for evaluations and at the end. After --fit-q\n"
		"end, or with L-BFGS after exact, --resume does not repeat the bits of a training without "
		"a\n"
		"pause.\n"
		"\n"
		"--basis auto, the default, chooses a member, its sizes, warm starts and steps from rows,\n"
		"columns and targets, by counted operations and never by the clock, and prints and keeps\n"
		"them as options; --minutes lets it time a few steps. --iters, --batch and other options\n"
		"of steps mean --basis orth. A warm start is L-BFGS, or with a RATE Adam, on a random\n"
		"subset of the rows; a list of ROWS:STEPS[:M[:RATE]] does several, with M points in place\n"
		"of --beta's (0: --beta). By default there is none for heteroscedastic, --layers,\n"
		"--outputs independent and bases without q; and with --beta, --gamma, --batch or --iters\n"
		"warm starts take at most a quarter of the training's counted operations: fewer rows,\n"
		"points and iterations, or where that has no room for ten iterations of L-BFGS none.\n"
		"From 100,000 rows on solve trains on minibatches, and --patience 5 ends its steps.\n"
		"Classes begin with laplacian in place of matern52 where a small regression on labels of\n"
		"up to 3,200 rows predicts those held out better with it, by more than a standard error.\n"
		"From 100 rows on, or 500 for classes and fewer than ten rows an input, up to\n"
		"--auto-tries candidates race: the above, other members and kernels, exact regression\n"
		"with ten rows an input or more and at most 100,000, of more than 12,000 on 10,000 of\n"
		"them (--train-rows), while half of the free memory or 2.5 GB (some 8,800 rows) hold it,\n"
		"sums of two kernels and laplacian, other scales of columns with long tails (--transform)\n"
		"and of a skewed target (--target-transform), and for classes a larger variance at the\n"
		"start and quicker natural steps. Of fewer than 2,000 of regression all train, and five\n"
		"folds score, with the hyperparameters of all, for each of which a nat is taken off;\n"
		"seven race by default. Else a tenth of the training rows, a fifth of few, up to 5,000\n"
		"(1,000 beside exact candidates) drawn by --seed, are held out; a model of all rows then\n"
		"takes the winner's parameters and does the rest of its steps, with L-BFGS a tenth more.\n"
		"Exact ones race on 3,000 rows of more than 4,000, and the winner's model of all rows\n"
		"takes up to ten steps. Each does a part of its training, and the better half by mean log\n"
		"density (of a count: log probability) goes on until one is left. Of the last two the\n"
		"costlier one - to predict with, else to train - must be better by more than a standard\n"
		"error, and another target must not have worse means. With three candidates or more the\n"
		"last one that goes on from the first round gives its place to studentt, if more rows\n"
		"held out than chance allows are inside the best one's 50 % bands, or to matern12, if\n"
		"matern32 is clearly the best. studentt is refused where a normal distribution of its\n"
		"means and variances loses more than it gains. An exact winner's sd_y get the size of the\n"
		"errors of its rows, each left out (--calibrate). The mean of classes of 2,000 rows or more\n"
		"gets up to 6,000 gamma points, and its kernel shorter lengthscales, after the last step\n"
		"where rows held out gain (--mode).\n"
		"The race adds at most a third of all counted operations, beside --patience 15 %, or\n"
		"where that is more by folds 1.5e12 and with exact candidates 4.6e12 (some ten to thirty\n"
		"seconds), and has one model in memory at a time. What was tried is printed and kept, with\n"
		"log-likelihoods from before rows came back, and for an exact model also what its\n"
		"predictions cost. --auto-tries 1 is the first candidate without a race. There is none,\n"
		"and with --auto-tries a note says why, with a --basis, --layers, --recipe or option of\n"
		"steps, --beta, --freeze, --resume, --kernel of classes, several targets, or other\n"
		"likelihoods than gaussian and those of classes. With --minutes there is one where the\n"
		"time has room for the sizes that are chosen without, or for exact regression of 2,000 to\n"
		"20,000 rows at points of their own. Where it has room for all of them exact is the first\n"
		"candidate; else it gets as many rows, 3,000 or more, as the rest of the time has room for.\n"
		"The race gets a third of the time, ends after two fifths with the scores that are there,\n"
		"and the winner trains until the time is over. A brief race, of some ten seconds, gets half\n"
		"of them: its exact candidates have seen 700 or 1,000 rows and hold up to 3,000. An exact\n"
		"winner with time left learns from up to 2,000 once more; a step by all comes last.\n"
		"--minutes is kept within 5 % and two seconds; sizes that are given and leave it no room\n"
		"for five steps are refused with those that do. The bound on all rows is left out where\n"
		"it would take more than a tenth of the time, and of test rows as many are scored, evenly\n"
		"spaced, as it leaves time for.\n"
		"\n"
		"Checkpoints go to MODEL.part, which the end removes. --resume MODEL takes the one with\n"
		"more steps and says which; no training writes over a checkpoint that no model has\n"
		"reached. What cannot be written on the way is tried again with the next checkpoint or\n"
		"row of --trace.\n";

static const char compare_help[] =
		"odvgp compare trains several bases on the same rows and prints one table. All bases see\n"
		"the same minibatches and start from the same hyperparameters and, where sizes agree,\n"
		"from the same inducing points, unless --warm is given. They are trained one after\n"
		"another. No model is saved.\n"
		"\n"
		"elbo is the bound on all training rows at the end. In --trace and --plot, without a test\n"
		"part, it is the mean of the minibatch estimates since the previous row. Seconds are\n"
		"those of training steps, without evaluations. Evaluations come at the same steps for all\n"
		"bases: close to each other at first, then forty evenly spread. rmse, mae and loglik are\n"
		"those of the test part, on standardised targets. An item of --bases may have its own\n"
		"keys: coupled:beta=800,orth,orth:natgrad=off. All items are checked before one is\n"
		"trained. If the training of an item fails, its row says why, the other items continue,\n"
		"and the exit code is 1. A signal ends all of them; the table then has what there is, and\n"
		"the exit code is 130 for Ctrl-C. The same holds for --folds.\n";

static const char predict_help[] =
		"odvgp predict writes CSV: for each row the mean and the standard deviations of f and of\n"
		"y = f + noise, in the units of the targets, the limits of --interval (the quantiles of\n"
		"(1 - P) / 2 and (1 + P) / 2), and in the column\n"
		"range how many inputs are outside their range in training. It finds columns by name if\n"
		"both files have headers, else by their place in the training file (all columns of that\n"
		"file, all but the targets, or only the inputs). If the file has the target, it prints\n"
		"metrics too. For classes it writes the label and p_NAME, the probability of each class;\n"
		"for other likelihoods than the Gaussian mean and sd_y. Of several targets each column\n"
		"ends in the target's name, mean_NAME, or without a header in its number, mean_0.\n"
		"With --missing drop, rows with missing inputs, or with cells that do not fit (texts or\n"
		"labels that training has not seen, a target that is no number), get NA. --stream, or\n"
		"--data -, answers each row of standard input when it arrives.\n"
		"\n"
		"--learn learns each row after its prediction, as odvgp update does, if the row has its\n"
		"target; a row with an empty target is only answered. At the end of the input, after\n"
		"Ctrl-C, SIGTERM or a hang-up, and after a row that ends the program, the model with what\n"
		"it has learned goes to --out-model.\n";

static const char sample_help[] =
		"odvgp sample draws functions f from the model: for each row of the data a number of\n"
		"each sample. The numbers of a sample belong together. For gaussian, studentt, laplace\n"
		"and heteroscedastic f is the mean of y, in its units; heteroscedastic has log_noise,\n"
		"too, the logarithm of the noise variance. For poisson and negative_binomial f is the\n"
		"logarithm of the mean, for exponential of the rate, for gamma of the scale; for beta\n"
		"the mean is Phi(f). Probabilities of classes follow from f as odvgp help train says.\n"
		"Columns are sample_K; of several targets, and of each class of robustmax and softmax,\n"
		"sample_K_NAME.\n";

static const char update_help[] =
		"odvgp update learns the rows of a CSV file without the rows of training, and writes a\n"
		"model that predicts, is exported and is updated again as any other; --resume does not\n"
		"continue it. Kernel and noise stay, and without --follow inducing points: rows outside the\n"
		"range of training then change little. When many have come, train again on all. Columns are\n"
		"found as in odvgp predict. The result has three scores of the new rows: before, by the\n"
		"model that was read; ahead, each row just before it is learned; after, by the model that\n"
		"is saved.\n"
		"\n"
		"Without --forget a Gaussian model is what the best q of all rows together is. With\n"
		"--forget L rows count half after log(0.5) / log(L) further ones (0.999: 693), and where\n"
		"no new rows come predictions return to the prior. With --follow V a row of whose prior\n"
		"variance the inducing points leave more than a part V unexplained becomes one of them,\n"
		"and the point that tells least goes, so that the model stays as large as it is; points of\n"
		"images and of independent outputs stay. A Gaussian row takes the time of a few\n"
		"predictions, a row of another likelihood that of a natural step. Nothing is written if a\n"
		"row does not fit or a signal comes; --missing drop leaves out such rows. Rows in which\n"
		"some of several targets are missing then teach the others. --basis exact becomes coupled,\n"
		"with a point at each of its rows. --basis decoupled and diagonal, --layers, --outputs lmc\n"
		"and --param other than whitened cannot learn so.\n";

static const char export_help[] =
		"odvgp export writes the model as one header for C99 and C++17, of constant tables and\n"
		"functions that allocate nothing: NAME_predict(x, mean, var), NAME_predict_gradient,\n"
		"NAME_predict_y, and NAME_self_test, which returns the largest error at ten rows. x has\n"
		"the units of the data; texts have constants. What each function needs on a core (--core)\n"
		"goes to stderr: estimates for gcc -Os, with the libm of newlib (RISC-V: picolibc) unless\n"
		"--no-libm is given. Instructions are within about 10 % of what qemu counts, with libm 20 %,\n"
		"as its functions' depend on their arguments. Without libm a header takes less flash, and no\n"
		"RAM but stack.\n"
		"Layers, images and softmax of more than four classes are refused.\n";

static const char budget_help[] =
		"odvgp budget tries members, sizes and precisions that fit a controller: --flash and --ram\n"
		"(stack; there are no variables) for all functions of the header, which is written without\n"
		"libm, --us for a mean and a variance; 25 % of code, 10 % of time and 32 bytes of stack are\n"
		"left to spare. It trains each, 1000 steps unless --iters is given, on four fifths of the\n"
		"rows (or by --test, --test-fraction), without members that were beaten at two smaller\n"
		"sizes, and prints the front: those than which nothing cheaper predicts better. Then it\n"
		"trains the best one on all rows, as --model or NAME.odvgp, and exports it to --out or\n"
		"NAME.h. Bytes and instructions are estimates for gcc -Os, the latter within about 10 % of\n"
		"what qemu counts; microseconds are instructions times --cpi. Floats get the --jitter-rel\n"
		"that they need, 2e-6 for each point; loglik is computed in double.\n";

static const char info_help[] =
		"odvgp info prints what a model file holds, or a table of odvgp convert, whose blocks it\n"
		"checks, or a NumPy array.\n";

static const char convert_help[] =
		"odvgp convert CSV... TABLE.odvt makes a table on disk of CSV files, other tables and NumPy\n"
		"arrays (.npy of float32 or float64, by rows), in their order; it needs a few MB of memory.\n"
		"Names and kinds of columns must agree; lines count on from file to file. All commands\n"
		"take tables and arrays as --data and --test, with the results of the CSV file, bit for\n"
		"bit for numbers of 64 bits. A number that is asked for as a text is written with as many\n"
		"digits as it needs: 1 for 1.0. Each block of 4 KB has a checksum; a block that is damaged\n"
		"is named when it is read. Up to 100,000 different rows are counted.\n"
		"\n"
		"Files above --memory stay on the disk: training reads a minibatch at a time, and has the\n"
		"bits of rows in memory. A CSV file is first made a temporary table beside the model, which\n"
		"the end of the program removes. In memory are then the rows to test and to validate, and\n"
		"8 bytes a training row if there are others. --basis exact and --image need rows in\n"
		"memory, and so do the candidates of auto that are exact or have other scales of inputs.\n"
		"To predict many rows, give predict a table, a part of it to each machine if there are\n"
		"several: rows do not depend on each other.\n";

static const char split_help[] =
		"\n"
		"Split\n"
		"  --split numpy:SEED splits as Python code often does: numpy.random.seed(SEED) shuffles\n"
		"  numpy.arange(n); the first int(n * (1 - F)) rows are for training, the others for\n"
		"  testing. With --test-fraction 0.1 it is split SEED of bayesian_benchmarks, which\n"
		"  ODVGP's authors use, if the file has its rows in their original order.\n";

static const char likelihoods_help[] =
		"\n"
		"Likelihoods\n"
		"  bernoulli, logit      two classes: p is Phi(f), or 1 / (1 + exp(-f))\n"
		"  robustmax, softmax    2 to 200 classes, a function f for each\n"
		"  ordinal               classes in the order of --ordinal, else of their labels\n"
		"  gaussian, studentt, laplace, heteroscedastic     numbers; studentt and laplace for\n"
		"                        outliers, heteroscedastic for noise that depends on inputs\n"
		"  poisson, negative_binomial                       counts 0, 1, 2, ... of mean exp(f)\n"
		"  exponential, gamma    numbers above 0\n"
		"  beta                  numbers between 0 and 1\n"
		"  Without --likelihood it is bernoulli if the target has two values, softmax (--recipe\n"
		"  odvgp: robustmax) if it holds more texts, ordinal if --ordinal gives it an order, else\n"
		"  gaussian. All but gaussian need a basis with q, such as coupled, orth and solve, and\n"
		"  their natural steps begin with --natgrad-warmup 100:1e-5 unless --natgrad-step is\n"
		"  given. Examples:\n"
		"    odvgp train --data iris.csv --target species --test-fraction 0.2\n"
		"    odvgp train --data visits.csv --target visits --likelihood poisson\n"
		"    odvgp predict --model iris.odvgp --data new.csv\n";

static const char kernels_help[] =
		"\n"
		"Kernels\n"
		"  rbf, matern12, matern32, matern52(lengthscale, variance=1, ard, dims=0:3+5)\n"
		"  rq(lengthscale, alpha=1, ...), periodic(lengthscale, period=1, ...)\n"
		"  linear(variance, ard, dims=...), polynomial(variance, offset=1, degree=2, dims=...)\n"
		"  constant(variance), white(variance)\n"
		"  additive(lengthscale, variance=1, ard, dims=...): a sum of a matern52 of each column, as\n"
		"  in \"additive(ard) + matern52(ard)\"\n"
		"  laplacian(lengthscale, variance=1, ard, dims=...): a product of a matern12 of each column,\n"
		"  for functions with steps along columns, as trees have them\n"
		"  ard: a lengthscale (for linear a variance, for additive both) for each column; with\n"
		"  ard=2:5+7:9 columns 2, 3, 4 share one, and 7, 8. Numbers that are not given are\n"
		"  estimated from the data, except alpha and period, which start at 1 (standardised\n"
		"  inputs).\n"
		"  Example: \"rbf(ard) * linear(0.5, dims=0) + periodic(1, period=0.4, dims=1)\"\n";

/*  In the order of command_words. */
static const char *const command_help[COMMAND_COUNT] = {train_help, compare_help, predict_help,
		sample_help, update_help, export_help, budget_help, info_help, convert_help};

/*  TRAIN and so on. */
static int command_by_name(const char *name)
{
	guess meant = guess_of(name, strlen(name));
	for (int i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(name, command_words[i].name) == 0) return command_words[i].command;
		guess_try(&meant, command_words[i].name);
	}
	const char *all = commands_text(~0).at;
	if (!*name) die(BAD_INPUT, "no command; there are help, %s", all);
	die(BAD_INPUT, "unknown command '%s'; there are help, %s%s", name, all,
			guess_text(&meant).text);
}

static void print_options(int command)
{
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
		snprintf(left, sizeof left, "--%s%s%s", o->name, o->argument ? " " : "",
				o->argument ? o->argument : "");
		printf("  %-42s %s", left, o->help);
		printf(o->preset ? " [%s]\n" : "\n", o->preset);
	}
}

static void print_help(int command)
{
	for (int i = 0; i < COMMAND_COUNT; i++)
		if (command_words[i].command == command) fputs(command_help[i], stdout);
	print_options(command);
	if (!(command & FIT)) return;
	fputs(split_help, stdout);
	if (command == TRAIN) fputs(likelihoods_help, stdout);
	fputs(kernels_help, stdout);
	printf("\nRecipes\n");
	for (int i = 0; i < RECIPE_COUNT; i++) printf("  %s\n", recipe_about[i]);
	printf("\nBases\n");
	for (int i = 0; i < BASIS_COUNT; i++)
		printf("  %-16s %s%s\n", basis_list[i].name, basis_list[i].help,
				basis_list[i].natgrad ? "" : "; no natural step");
	if (command != COMPARE) return;
	bytes names = own_names();
	printf("\nKeys of --bases\n  %s\n", names.at);
	free(names.at);
}

/* ---- train ---- */

/*  Where train writes the model. */
static bytes model_path_of(const options *o)
{
	bytes path = {NULL, 0, 0};
	char *name = dataset_name(o->value[OPT_DATA]);
	if (o->value[OPT_MODEL]) bytes_print(&path, "%s", o->value[OPT_MODEL]);
	else bytes_print(&path, "%s.odvgp", name);
	free(name);
	return path;
}

static int run_train(options *o)
{
	dataset d;
	table read = {0};
	workers w;
	training t;
	model_file before;
	odvgp_model *model;
	model_block block;
	bytes user = {NULL, 0, 0}, path, notes = {NULL, 0, 0};
	const char *resume = o->value[OPT_RESUME];
	char *part = NULL, *resumed = resume ? part_of(resume) : NULL;
	double begin = now();
	int ready = 1;
	option_needed(o, OPT_DATA);
	odvgp_isa isa = isa_of(o);
	recipe_settle(o);
	merge_whiten(o);
	memset(&before, 0, sizeof before);
	if (resume) {
		resume_read(&before, resume, resumed, &notes);
		settings_apply(o, before.s.settings);
	}
	layers_settle(o);
	plan_settle(o);
	calibrate_settle(o);
	training_check(o);
	path = model_path_of(o);
	files_check(o, path.at);
	if (!is_device(path.at)) part = part_of(path.at);
	if (part) check_part(path.at, part, &before);
	dataset_check(o);
	read_table(&read, o->value[OPT_DATA], o, NULL);
	plan_patience(o, read.rows);
	dataset_make(&d, &read, o, resume ? &before.s : NULL);
	if (d.disk) d.disk->owned = 1;
	else table_free(&read);
	levels_settle(o, &d);
	mode_check(o, &d);
	workers_start(&w, o);
	w.watch->start = begin;
	choice *race = choice_begin(o, &d, &w, isa, &notes);
	plan p = plan_make(o, &d, &w, race ? race_share(&d) : 0);
	race = choice_timely(race, o, &p, &notes);
	if (race) catch_signals();
	if (race) choice_make(race, o, &d, &p);
	/* Sizes of the tool's own choice are not refused, whatever a race has taken of the time and
	   where the machine has become slower. */
	if (p.made && !sizes_given(o)) w.watch->start = 0;
	options_settle(o);
	training_options(&t, o);
	t.begin = begin;
	training_iters(&t, d.train.n);
	likelihood_settle(o, &d);
	if (resume) check_same_data(&before, &d);
	model = resume ? model_load(&before, &w, isa, &block)
				   : model_make(o, &d, &w, isa, &block, &notes);
	if (resume && d.disk) large_set_reader(d.disk, model, large_for_library);
	if (resume) minutes_check(o, odvgp_model_config(model), &w);
	/* --calibrate makes another one when the time is nearly over. */
	w.watch->start = 0;
	catch_signals();
	if (t.limit > 0) watch_allow(w.watch, begin + t.limit + 1, 0);
	/* What a race has learned before a signal needs a model. */
	if (race && race->raced && stop_signal) watch_allow(w.watch, HUGE_VAL, GRACE);
	if (!resume) ready = model_start(model, o, &d, &w);
	training_begin(&t, &d, &w, model, block);
	training_calibrates(&t, &d, o, isa);
	t.rate = p.rate;
	mode_begin(&t);
	print_start(&t, &d, &notes);
	/* With a checkpoint beside the model --quiet says, too, which was taken. */
	if (t.quiet && resume && file_exists(resumed)) tell_text(notes.at);
	if (resume) print_step_sizes(&t);
	if (!resume) {
		int raced = ready && choice_continue(race, model, &t, o);
		if (raced) choice_print(race);
		else {
			if (ready) plan_minutes(&p, o, &d, model, &w, begin);
			p.whole &= warm_settle(o, model, &w, sizes_given(o), now() - begin);
			warm_note(o, p.whole);
			if (ready) plan_print(&p, o, &d, &w);
		}
		if (!p.made && ready) warm_announce(o, model, &w);
		allow_warm_starts(&t);
		if (ready && !raced) t.warm_starts = warm_start(model, o, &d, &w);
		if (ready) print_warm_starts(&t);
		exact_seconds(&t);
		if (p.made) exact_again(&t, o, warm_rows(o));
	}
	/* Unchanged, as if there had been no pause. */
	d.s.settings = settings_make(o);
	choice_note(race, &d.s);
	if (resume) bytes_add(&user, before.user, before.user_size);
	else user = schema_write(&d.s);
	t.user = user;
	t.part_path = part;
	t.part_ours = resume && part && strcmp(before.path, part) == 0;
	int code = ready ? train_and_report(&t, path.at) : train_nothing(&t);
	if (trace_close(&t.trace) && !code) code = FAILED;
	training_end(&t);
	choice_end(race);
	workers_stop(&w);
	dataset_free(&d);
	model_file_free(&before);
	free(t.block.at);
	free(user.at);
	free(path.at);
	free(part);
	free(resumed);
	free(notes.at);
	return code;
}

/* ---- compare ---- */

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
	layers_settle(o);
	candidates_parse(&all);
	files_check(o, NULL);
	dataset_read(&all.d, o, NULL);
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
	if (o->given[OPT_JSON]) print_compare_json(&all);
	else print_compare_text(&all);
	if (trace_close(&all.trace)) failed = 1;
	if (o->value[OPT_PLOT] && plot_compare(&all, o->value[OPT_PLOT])) failed = 1;
	workers_stop(&all.w);
	candidates_free(&all);
	dataset_free(&all.d);
	free(notes.at);
	return failed ? FAILED : 0;
}

/* ---- budget ---- */

static int run_budget(options *o)
{
	comparison all;
	bytes notes = {NULL, 0, 0};
	budget b = budget_of(o);
	memset(&all, 0, sizeof all);
	all.o = o;
	all.warms = 1; /* as the model that is exported */
	option_needed(o, OPT_DATA);
	budget_check(o);
	all.isa = isa_of(o);
	if (!o->given[OPT_ITERS]) option_set(o, OPT_ITERS, "1000");
	int splits = !o->value[OPT_TEST] && !o->given[OPT_TEST_FRACTION] && !o->value[OPT_TEST_MASK];
	if (splits) option_set(o, OPT_TEST_FRACTION, "0.2");
	recipe_settle(o);
	merge_whiten(o);
	layers_settle(o);
	bytes path = {NULL, 0, 0};
	if (o->value[OPT_MODEL]) bytes_print(&path, "%s", o->value[OPT_MODEL]);
	else bytes_print(&path, "%s.odvgp", o->value[OPT_NAME]);
	files_check(o, path.at);
	dataset_read(&all.d, o, NULL);
	levels_settle(o, &all.d);
	workers_start(&all.w, o);
	b.transforms = all.d.s.transforms;
	budget_candidates(&all);
	candidates_check(&all, &notes);
	budget_drop(&all, &b);
	all.w.watch->quiet = 1; /* a line for each training */
	compare_start(&all, &notes);
	catch_signals();
	budget_train(&all, &b);
	FILE *out = o->given[OPT_JSON] ? stderr : stdout;
	const candidate *best = budget_choose(&all, &b, out);
	fflush(out);
	if (stop_signal) exit(128 + (int)stop_signal);
	if (!best) die(FAILED, "budget: no training succeeds");
	fprintf(out, "chosen: %s, %s\n", best->label, best->wide ? "double" : "float");
	fflush(out);
	options chosen = options_borrow(&best->o);
	option_set(&chosen, OPT_MODEL, path.at);
	if (splits) option_set(&chosen, OPT_TEST_FRACTION, "0");
	chosen.given[OPT_ITERS] = 1; /* whatever a recipe or --minutes says */
	chosen.value[OPT_OUT] = NULL;
	chosen.given[OPT_QUIET] = o->given[OPT_QUIET] || !isatty(STDERR_FILENO);
	int code = run_train(&chosen);
	bytes header = {NULL, 0, 0};
	bytes_print(&header, "%s.h", o->value[OPT_NAME]);
	option_set(&chosen, OPT_OUT, o->value[OPT_OUT] ? o->value[OPT_OUT] : header.at);
	free(header.at);
	option_set(&chosen, OPT_REAL, best->wide ? "double" : "float");
	chosen.given[OPT_NO_LIBM] = 1;
	if (!code) code = run_export(&chosen);
	options_free(&chosen);
	workers_stop(&all.w);
	candidates_free(&all);
	dataset_free(&all.d);
	free(path.at);
	free(notes.at);
	return code;
}

/* ---- info ---- */

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

/*  The name of the basis in training: without gamma points, several bases are the same model. */
static const char *basis_of_file(const model_file *f, const odvgp_config *c)
{
	const char *name = settings_find(f->s.settings, "basis");
	return name ? name : basis_text(c, c->layers - 1);
}

/*  Steps of training: a model that was updated may be another one. */
static ptrdiff_t steps_of(const model_file *f, const odvgp_model *model)
{
	ptrdiff_t kept = setting_count(&f->s, "steps");
	return kept ? kept : odvgp_steps_done(model);
}

static void print_info_json(const model_file *f, const odvgp_model *model)
{
	const odvgp_config *c = odvgp_model_config(model);
	odvgp_events events = odvgp_model_events(model);
	bytes b = {NULL, 0, 0};
	bytes_print(&b, "{");
	json_text(&b, "dataset", f->s.dataset);
	json_count(&b, "n_train", f->s.n_train);
	json_count(&b, "d", f->s.D);
	json_count(&b, "p", f->s.target_count);
	json_model(&b, basis_of_file(f, c), c);
	json_count(&b, "iters", steps_of(f, model));
	json_count(&b, "n_updated", setting_count(&f->s, "updated"));
	json_learned(&b, model, &f->s, &events);
	json_likelihood(&b, &f->s);
	if (weights_text(&f->s)) json_text(&b, "class_weights", weights_text(&f->s));
	if (settings_find(f->s.settings, "tried"))
		json_text(&b, "tried", settings_find(f->s.settings, "tried"));
	if (settings_find(f->s.settings, "mode"))
		json_text(&b, "mode", settings_find(f->s.settings, "mode"));
	if (f->results) json_text(&b, "results", f->results);
	json_fields(&b, "inputs", f->s.inputs, f->s.input_count);
	json_fields(&b, "targets", f->s.targets, f->s.target_count);
	json_count(&b, "parameters", odvgp_param_count(model));
	json_count(&b, "file_bytes", (int64_t)f->size);
	json_count(&b, "predictor_bytes", (int64_t)f->predictor_size);
	json_finish(&b);
}

static void print_info_text(const model_file *f, const odvgp_model *model)
{
	odvgp_events e = odvgp_model_events(model);
	bytes b = {NULL, 0, 0};
	bytes_print(&b, "data     %s: %td training rows, %td inputs, target %s\n", NAME(f->s.dataset),
			f->s.n_train, f->s.D, NAME(f->s.target_text));
	text_model(&b, basis_of_file(f, odvgp_model_config(model)), model, &f->s);
	bytes_print(&b, "steps    %td\n", steps_of(f, model));
	ptrdiff_t updated = setting_count(&f->s, "updated"), updates = setting_count(&f->s, "updates");
	if (updates)
		bytes_print(&b, "updated  with %td row%s, in %td update%s\n", updated,
				updated > 1 ? "s" : "", updates, updates > 1 ? "s" : "");
	if (f->results) bytes_print(&b, "results  %s\n", f->results);
	bytes_print(&b, "events   jitter %.3g, raised %llu times; steps shortened %llu, undone %llu\n",
			e.jitter, (unsigned long long)e.jitter_raised, (unsigned long long)e.step_shortened,
			(unsigned long long)e.step_undone);
	bytes_print(&b, "inputs  ");
	for (int i = 0; i < f->s.input_count; i++) {
		const field *x = &f->s.inputs[i];
		if (x->name) bytes_print(&b, " %s", NAME(x->name));
		else bytes_print(&b, " %d", x->column);
		if (x->level_count)
			bytes_print(&b, "(%d %slevels%s)", x->level_count,
					x->ordinal && x->level_count > 2 ? "ordered " : "", x->means ? ", means" : "");
	}
	if (f->s.transforms || f->s.y.kind) {
		bytes_print(&b, "\nscales   ");
		transforms_note(&f->s, &b);
	}
	if (settings_find(f->s.settings, "tried"))
		bytes_print(&b, "\ntried    %s", settings_find(f->s.settings, "tried"));
	if (settings_find(f->s.settings, "mode"))
		bytes_print(&b, "\nmode     --mode %s", settings_find(f->s.settings, "mode"));
	bytes_print(&b, "\nsize     %td parameters, %zu bytes; to predict %zu\n",
			odvgp_param_count(model), f->size, f->predictor_size);
	write_report(&b);
	free(b.at);
}

static int run_info(options *o)
{
	model_file f;
	workers none;
	model_block block;
	memset(&none, 0, sizeof none);
	option_needed(o, OPT_MODEL);
	files_check(o, NULL);
	if (is_stored(o->value[OPT_MODEL])) return run_info_table(o, o->value[OPT_MODEL]);
	model_file_read(&f, o->value[OPT_MODEL]);
	odvgp_model *model = model_load(&f, &none, ODVGP_ISA_AUTO, &block);
	if (o->given[OPT_JSON]) print_info_json(&f, model);
	else print_info_text(&f, model);
	free(block.at);
	model_file_free(&f);
	return 0;
}

/* ---- main ---- */

/*  A stream that was closed would be given to the first file that is opened: it becomes one that
    cannot be read or written. Writing to a closed pipe and beyond the limit on files are errors. */
static void prepare_streams(void)
{
	for (int i = 0; i < 3; i++)
		if (fcntl(i, F_GETFD) < 0 && open("/dev/null", i ? O_RDONLY : O_WRONLY) != i) exit(FAILED);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

static int finish(int code)
{
	if (fflush(stdout) || ferror(stdout))
		die(FAILED, "standard output cannot be written: %s", strerror(errno));
	return code;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	prepare_streams();
	options_prepare();
	if (strcmp(word, "--version") == 0) {
		printf("odvgp %d.%d.%d\n", ODVGP_VERSION / 10000, ODVGP_VERSION / 100 % 100,
				ODVGP_VERSION % 100);
		return finish(0);
	}
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		int topic = argc > 2 ? command_by_name(argv[2]) : 0;
		if (topic) print_help(topic);
		else fputs(usage, stdout);
		return finish(0);
	}
	int command = command_by_name(word);
	options o;
	if (options_parse(&o, command, argc - 2, argv + 2)) {
		print_help(command);
		options_free(&o);
		return finish(0);
	}
	int folds = (command & FIT) && o.value[OPT_FOLDS], code = folds ? run_folds(&o, command)
															  : command == TRAIN   ? run_train(&o)
															  : command == COMPARE ? run_compare(&o)
															  : command == PREDICT ? run_predict(&o)
															  : command == SAMPLE  ? run_sample(&o)
															  : command == UPDATE  ? run_update(&o)
															  : command == EXPORT  ? run_export(&o)
															  : command == BUDGET  ? run_budget(&o)
															  : command == CONVERT ? run_convert(&o)
																				   : run_info(&o);
	options_free(&o);
	return finish(stop_signal ? signal_code() : code);
}
