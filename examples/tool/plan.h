/*  plan.h - --basis auto: member, sizes, warm starts and steps from rows, columns and targets, and
    about how long they take.

    The choice is a formula in counted operations, never in seconds, unless --minutes is given: the
    same data get the same options on every machine, but for what a race (choose.h) makes of them and
    the kernel of classes (kernels.h), which few rows decide.
    bench/first_hour.md has the experiments.

    A pass of the collapsed bound over n rows with M points takes about 8 n M^2 operations. SGPR
    gets the M for which 60 passes take FLOPS, up to five times as many from 20,000 to 100,000 rows,
    but at most a third of the rows: with more points than that L-BFGS has nothing left to choose.
    From MANY_ROWS rows on SOLVE-GP on minibatches follows warm starts, and ends when validation rows
    say so; with --minutes that give SGPR few points, or have no room for a race of many distinct rows,
    it does from SGPR_ROWS on. Other likelihoods, mixed and independent outputs get COUPLED, ORTH or
    SOLVE-GP by the number of rows. */
#ifndef TOOL_PLAN_H
#define TOOL_PLAN_H

#include "kernels.h"

enum {
	LEAST_SGPR = 256,
	MOST_SGPR = 1000,
	SGPR_ROWS = 20000,
	MANY_ROWS = 100000,
	FEW_POINTS = 200,
	MORE_ROWS = 12000,
	SOLVE_STEPS = 2000
};
static const double FLOPS = 2.4e12;

typedef struct plan {
	/* Does it decide anything? */
	int made;
	/* Operations of warm starts and training. */
	double flops;
	/* Of warm starts; 0: the model's. */
	ptrdiff_t points;
	/* Are warm starts what they are without given sizes? */
	int whole;
	/* SGPR: is its warm start the evidence of some rows, each of them a point? */
	int evidence;
	/* SGPR: the operations of a pass over those of a pass of the first warm start. */
	double pass;
	/* How many leading entries of class_options it sets; operations that may choose the first one. */
	int classes;
	double room;
	/* With --minutes that have room for a race before the training: operations for both, else 0, and
	   the race's share; with exact candidates, which of exact_races, and the rows on which they race. */
	double both, share;
	int brief;
	ptrdiff_t some;
	/* With --minutes: operations a second of products, else 0. */
	double rate;
} plan;

/*  Options of training by steps: with one of them --basis auto means orth, as it was before. */
static const int step_options[] = {OPT_ITERS, OPT_GAMMA, OPT_BATCH, OPT_GAMMA_BATCH, OPT_LR,
		OPT_NATGRAD, OPT_NATGRAD_GAMMA, OPT_NATGRAD_BLOCKS, OPT_NATGRAD_DIAG, OPT_NATGRAD_STEP,
		OPT_NATGRAD_WARMUP, OPT_SCHEDULE, OPT_UPDATE, OPT_FIT_Q, OPT_PARAM, OPT_WHITEN, OPT_Q_INIT,
		OPT_GAMMA_COORDS, OPT_INIT_GAMMA, OPT_OPTIMIZER, OPT_IMAGE};

static int is_auto(const options *o) { return strcmp(o->value[OPT_BASIS], "auto") == 0; }

/*  Before the data are read: replaces auto by orth where an option of steps is given. */
static void plan_settle(options *o)
{
	if (!is_auto(o)) return;
	int steps = option_choice(o, OPT_RECIPE) != RECIPE_DEFAULT;
	for (size_t i = 0; i < sizeof step_options / sizeof *step_options; i++)
		steps |= o->given[step_options[i]];
	if (!steps) return;
	option_store(o, OPT_BASIS, copy_text("orth"));
	o->given[OPT_BASIS] = 0;
}

static void number_store(options *o, int id, ptrdiff_t v)
{
	char text[24];
	snprintf(text, sizeof text, "%td", v);
	option_store(o, id, copy_text(text));
}

/*  The same, unless it is given. */
static void plan_number(options *o, int id, ptrdiff_t v)
{
	if (!o->given[id]) number_store(o, id, v);
}

/*  A race counts steps also where the clock decides afterwards how many there are. */
static void plan_steps(const plan *p, options *o, double steps)
{
	if (p->both > 0 || !by_clock(o)) plan_number(o, OPT_ITERS, (ptrdiff_t)steps);
}

/*  The warm starts before SGPR or SOLVE-GP, as --warm takes them, in at most `room` operations; counts
    theirs. Where L-BFGS's would be the training itself, there is only Adam's. */
static void plan_warm(plan *p, options *o, ptrdiff_t n, double D, ptrdiff_t points, double room)
{
	ptrdiff_t M = smaller(WARM_POINTS, points), few = smaller(n, WARM_ROWS),
			  more = n > 2 * WARM_ROWS ? smaller(n, MORE_ROWS) : 0;
	warm_plan w = {few, M, pass_flops((double)few, (double)M, D), 0, {NULL, 0, 0}, 0, 1};
	p->points = M;
	if (o->given[OPT_WARM]) return;
	warm_within(&w, room, n > WARM_ROWS || points > WARM_POINTS);
	if (more) warm_more(&w, room, more, pass_flops((double)more, (double)M, D));
	p->flops += w.flops;
	p->whole = warm_store(o, &w);
}

/*  Operations that the training may take without --minutes; and with them, at `rate` operations a
    second. */
static double plan_usual(double n) { return FLOPS * fmin(5, fmax(1, n / 20000)); }
static double plan_budget(const options *o, double n, double rate)
{
	if (o->value[OPT_MINUTES]) return EFFICIENCY * 60 * option_positive(o, OPT_MINUTES) * rate;
	return plan_usual(n);
}

/*  SGPR's points for so many operations, which have room for PASSES. */
enum { PASSES = 60 };
static double plan_points(double budget, ptrdiff_t n)
{
	return sqrt(budget / (PASSES * 8 * (double)n));
}
static ptrdiff_t plan_whole_points(double most, ptrdiff_t distinct)
{
	ptrdiff_t points = (ptrdiff_t)fmin(most, MOST_SGPR) / 8 * 8;
	return smaller(larger(points, 8), share_of(distinct, 3));
}

/*  Lengthscales of many inputs fit the rows that they have seen (bench/results/auto.txt: slice). */
enum { ROWS_AN_INPUT = 10 };
static int has_rows_enough(const dataset *d) { return d->train.n >= ROWS_AN_INPUT * d->s.D; }

/*  Are exact models candidates? They keep their rows in memory. Of more than EXACT_ROWS they have
    EXACT_SOME: a file of 800 MB. */
enum { EXACT_SOME = 10000 };
static int has_exact(const dataset *d)
{
	return d->s.likelihood == ODVGP_LIKELIHOOD_GAUSSIAN && d->s.target_count == 1 && !d->disk &&
		   d->train.n <= MANY_ROWS && has_rows_enough(d);
}

/*  An exact model may take this part of the memory that is free, or EXACT_BYTES where that is more or
    not known. */
static const double EXACT_MEMORY = 0.5, EXACT_BYTES = 2.5e9;
static double exact_bytes_allowed(void) { return fmax(EXACT_BYTES, EXACT_MEMORY * free_bytes()); }

/*  The model, a predictor and a file have four matrices of all rows. */
static double exact_bytes(ptrdiff_t n) { return 32 * (double)n * (double)n; }
static int exact_fits(ptrdiff_t n) { return exact_bytes(n) <= exact_bytes_allowed(); }

/*  An exact model begins with the evidence of some rows, which is cheap, and needs no step of all rows
    where --calibrate gives it the scale of its variances (bench/results/auto.txt). */
enum { EXACT_WARM_LEAST = 1000, EXACT_WARM_MOST = 1500, EXACT_WARM_STEPS = 40 };
static ptrdiff_t exact_warm_rows(ptrdiff_t n)
{
	return smaller(n, smaller(EXACT_WARM_MOST, larger(EXACT_WARM_LEAST, n / 5)));
}
static void exact_warm(char *text, size_t size, ptrdiff_t rows)
{
	snprintf(text, size, "%td:%d", rows, EXACT_WARM_STEPS);
}

/*  A race with exact candidates: the rows of their warm starts, at least; from how many to fit they race
    on some, the least of these, and the most steps. Short --minutes have room for a brief one, which
    takes half of them. */
typedef struct exact_race {
	ptrdiff_t warm, whole, some, steps;
} exact_race;
static const exact_race exact_races[] = {
		{EXACT_WARM_LEAST, 4000, 3000, 6}, {EXACT_WARM_LEAST, 2500, 2000, 0}, {700, 2000, 1500, 0}};
enum { EXACT_RACES = sizeof exact_races / sizeof *exact_races };
enum { SOME_MOST = 3000 };
static const double BRIEF_SHARE = 0.5;
/*  What a sparse model that wins a brief one has of the time at least: the exact ones take less than
    their share, and its own steps are not lost. */
static const double BRIEF_SPARSE = 0.7;

static double exact_start(ptrdiff_t rows, double D)
{
	return EXACT_PART * 1.25 * EXACT_WARM_STEPS * exact_flops((double)rows, D);
}
static double exact_least(ptrdiff_t n, double D, ptrdiff_t warm)
{
	return exact_start(smaller(n, warm), D) + exact_end((double)n, D);
}

/*  Rows of an exact model of n: all, or above EXACT_ROWS EXACT_SOME; of --minutes (budget above 0)
    no more than they have room for, but at least EXACT_LEAST. */
enum { EXACT_LEAST = 3000, EXACT_VALID = 1000 };
static ptrdiff_t exact_most(ptrdiff_t n) { return n > EXACT_ROWS ? EXACT_SOME : n; }
static ptrdiff_t exact_rows(ptrdiff_t n, double D, double budget, ptrdiff_t warm)
{
	ptrdiff_t rows = exact_most(n);
	while (budget > 0 && rows > EXACT_LEAST && exact_least(rows, D, warm) > budget)
		rows = larger(EXACT_LEAST, rows - rows / 20);
	return rows;
}

/*  L-BFGS's passes in so many operations. */
static double plan_passes(double budget, double pass) { return fmin(200, fmax(PASSES, budget / pass)); }

static void plan_sgpr(plan *p, options *o, double budget, ptrdiff_t n, double D, ptrdiff_t M)
{
	option_store(o, OPT_BASIS, copy_text("sgpr"));
	plan_number(o, OPT_BETA, M);
	double pass = pass_flops((double)n, (double)M, D), passes = plan_passes(budget, pass);
	plan_steps(p, o, passes);
	p->flops += 1.2 * passes * pass;
	p->pass = pass / pass_flops((double)smaller(n, WARM_ROWS), (double)smaller(M, WARM_POINTS), D);
}

/*  Too many rows for folds, most of them at points of their own. */
enum { FOLDS_ROWS = 2000, EXACT_STEPS = 30 };
static int exact_suits(const dataset *d, ptrdiff_t distinct)
{
	return has_exact(d) && d->train.n >= FOLDS_ROWS && distinct > d->train.n / 2;
}

/*  With --minutes, which decide how many points SGPR has, in its place an exact model of all rows. */
static int plan_is_exact(const options *o, const dataset *d, double D, double budget,
		ptrdiff_t distinct, ptrdiff_t warm)
{
	ptrdiff_t n = d->train.n;
	return o->value[OPT_MINUTES] && !o->given[OPT_BETA] && exact_suits(d, distinct) &&
		   n <= EXACT_ROWS && exact_fits(n) && exact_least(n, D, warm) <= budget;
}

static void plan_exact(plan *p, options *o, ptrdiff_t n, double D, ptrdiff_t rows)
{
	char warm[40];
	exact_warm(warm, sizeof warm, smaller(n, rows));
	option_store(o, OPT_BASIS, copy_text("exact"));
	if (!o->given[OPT_CALIBRATE] && !o->given[OPT_FREEZE])
		option_store(o, OPT_CALIBRATE, copy_text("on"));
	if (!o->given[OPT_WARM]) option_store(o, OPT_WARM, copy_text(warm));
	plan_steps(p, o, EXACT_STEPS);
	p->flops += exact_least(n, D, rows);
}

/*  Without a race beside it an exact model needs the evidence of all rows: that of a few alone is worse
    than SGPR that begins with it (bench/results/auto.txt). */
static int plan_has_evidence(ptrdiff_t n, double D, double budget, ptrdiff_t warm)
{
	return exact_least(n, D, warm) + EXACT_STEPS * EXACT_PART * exact_flops((double)n, D) <= budget;
}

/*  SGPR's warm start where every row is a point. */
static void plan_evidence(plan *p, options *o, double D)
{
	enum { EVIDENCE_ROWS = 700, EVIDENCE_STEPS = 30 };
	char warm[40];
	snprintf(warm, sizeof warm, "%d:%d:%d", EVIDENCE_ROWS, EVIDENCE_STEPS, EVIDENCE_ROWS);
	option_store(o, OPT_WARM, copy_text(warm));
	p->evidence = 1;
	p->flops += 1.25 * EVIDENCE_STEPS * pass_flops(EVIDENCE_ROWS, EVIDENCE_ROWS, D);
}

/*  Of --minutes that have room for a race it has the steps that `budget` allows after warm starts, which
    get MANY_WARM of it. */
static const double MANY_WARM = 1.0 / 3;
static void plan_solve(
		plan *p, options *o, double budget, ptrdiff_t n, double D, ptrdiff_t distinct)
{
	ptrdiff_t beta = smaller(WARM_POINTS, larger(1, distinct / 2));
	/* as layer_flops counts both blocks */
	double M = (double)beta,
		   step = 2 * pass_flops(1024, M, D) + 8 * 1024 * M * M + 20 * M * M * M,
		   within = floor((1 - MANY_WARM) * budget / step / 100) * 100,
		   steps = p->both > 0 ? fmin(SOLVE_STEPS, fmax(100, within)) : SOLVE_STEPS;
	option_store(o, OPT_BASIS, copy_text("solve"));
	plan_number(o, OPT_BETA, beta);
	plan_number(o, OPT_GAMMA, smaller(WARM_POINTS, larger(1, distinct - beta)));
	plan_steps(p, o, steps);
	/* Step sizes still fall where validation ends the steps: what q lacks is a formula. */
	if (!o->given[OPT_FIT_Q]) option_store(o, OPT_FIT_Q, copy_text("end"));
	p->flops += steps * step + pass_flops((double)n, M, D);
}

/*  Other likelihoods than the Gaussian need q, and so do several targets, each with a noise of its
    own. Few rows get COUPLED with up to half of them as points; more get ORTH, whose mean uses gamma
    points at little cost; from MANY_ROWS on SOLVE-GP, whose variance uses them, too. After warm
    starts some hundred steps settle q and kernel (bench/first_hour.md). After a race RACED_STEPS are
    enough, as counted, which is three times too much for several functions. Where --mode follows, half
    of the operations are its. */
enum { FEW_ROWS = 600, Q_POINTS = 200, LEAST_STEPS = 300, RACED_STEPS = 100 };

/*  Is --mode auto tried after the steps, if the model suits? */
static int mode_follows(const options *o, const dataset *d)
{
	return d->calibrates && strcmp(o->value[OPT_MODE], "auto") == 0 &&
		   d->s.likelihood != ODVGP_LIKELIHOOD_ROBUSTMAX && !is_independent(o) &&
		   d->train.n > FEW_ROWS && d->train.n < MANY_ROWS;
}

/*  Of a training that operations decide. */
static ptrdiff_t least_steps(int many) { return many ? LEAST_STEPS / 2 : LEAST_STEPS; }

/*  Operations of --mode, as mode_points decides; 0: there is none. */
static double plan_mode(const options *o, const dataset *d, ptrdiff_t beta, ptrdiff_t gamma)
{
	double n = (double)d->train.n, M = (double)beta, P = functions_of(&d->s),
		   D = kernel_width(o->value[OPT_KERNEL], (double)d->s.D),
		   least = mode_flops_of(n, M, fmax((double)gamma, MODE_LEAST), P, D),
		   most = mode_flops_of(n, M, fmin(MODE_GAMMA, n), P, D);
	if (!mode_follows(o, d) || !gamma || least > MODE_FLOPS) return 0;
	return MODE_SEARCHES * fmin(MODE_FLOPS, most);
}

/*  Natural steps that follow a kernel of a large variance. A step forgets the batches before it by its
    size, and a batch counts N / B times: with larger ones q is that of a few batches, far from all
    rows' one, and does not come back while steps fall (bench/results/classes.txt). */
enum { STEP_ROWS = 4 * 1024 };
static void fast_steps(options *o, ptrdiff_t rows)
{
	double from = fmin(0.5, STEP_ROWS / (double)rows);
	char steps[40];
	snprintf(steps, sizeof steps, "%.2g-%.2g", from, fmin(0.05, from / 4));
	option_store(o, OPT_NATGRAD_STEP, copy_text(steps));
	option_store(o, OPT_NATGRAD_WARMUP, copy_text("20:1e-3"));
}

/*  The part of the operations that choosing the kernel of classes may take. */
static const double KERNEL_SHARE = 0.15;

/*  Options that a plan sets for classes; all of them where there are many. Those begin with a kernel
    of a large variance, without a warm start, whose regression on labels makes it too small. */
static const int class_options[] = {OPT_KERNEL, OPT_NATGRAD_STEP, OPT_NATGRAD_WARMUP};
enum { CLASS_OPTIONS = sizeof class_options / sizeof *class_options };

static int begins_large(const options *o, const dataset *d)
{
	return has_many_classes(&d->s) && !o->given[OPT_WARM];
}

/*  Chooses the kernel of classes and stores it. Is it another one than the default? */
static int plan_kernel(options *o, const dataset *d, const workers *w, double room)
{
	char text[60];
	double limit = o->value[OPT_MINUTES] ? 60 * option_positive(o, OPT_MINUTES) : HUGE_VAL;
	watch_allow(w->watch, now() + 2 * KERNEL_SHARE * limit, 0);
	const char *kernel = kernel_choose(o, d, w, room);
	watch_allow(w->watch, HUGE_VAL, 0);
	snprintf(text, sizeof text, "%.*s%s)", (int)strlen(kernel) - 1, kernel,
			begins_large(o, d) ? ", variance=50" : "");
	option_store(o, OPT_KERNEL, copy_text(text));
	return kernel != class_kernels[0];
}

/*  What is left of the operations once it is chosen. */
static double plan_classes(
		plan *p, options *o, const dataset *d, const workers *w, double budget)
{
	p->room = KERNEL_SHARE * budget;
	p->classes = plan_kernel(o, d, w, p->room);
	if (begins_large(o, d)) {
		p->classes = CLASS_OPTIONS;
		option_store(o, OPT_WARM, copy_text("off"));
		fast_steps(o, d->train.n);
	}
	return o->value[OPT_MINUTES] ? budget - kernel_flops(d, (double)kernel_rows(d, p->room)) : budget;
}

/*  Operations of a step. */
static double q_step_flops(const options *o, const dataset *d, ptrdiff_t beta, ptrdiff_t gamma)
{
	double F = functions_of(&d->s), D = kernel_width(o->value[OPT_KERNEL], (double)d->s.D),
		   kernels = is_independent(o) ? F : 1, rows = (double)smaller(d->train.n, 1024),
		   points = (double)(beta + gamma), M = (double)beta;
	return kernels * pass_flops(rows, M, D) + 6 * (F - 1) * rows * M * M + 10 * F * M * M * M +
		   (kernels * pair_flops(D) + 4 * F) * rows * points;
}

/*  Points for each member of plan_q. */
static void plan_q_points(ptrdiff_t n, ptrdiff_t distinct, ptrdiff_t *beta, ptrdiff_t *gamma)
{
	ptrdiff_t most = share_of(distinct, 2);
	*beta = smaller(Q_POINTS, most);
	*gamma = n <= FEW_ROWS ? 0
						   : smaller(n < MANY_ROWS ? 500 : Q_POINTS, smaller(most, distinct - *beta));
}

/*  Operations of a training that does well: with the sizes that are chosen without --minutes, since
    with fewer points a race costs more than it finds, or of few rows with an exact model; of more than
    SGPR_ROWS, of which an exact model of some may be far better, with LEAST_SGPR. */
enum { FEW_EVALUATIONS = 30 };
static double plan_least(const options *o, const dataset *d, double D, ptrdiff_t distinct)
{
	ptrdiff_t n = d->train.n, beta, gamma;
	if (d->s.likelihood == ODVGP_LIKELIHOOD_GAUSSIAN) {
		double usual = plan_usual((double)n);
		int many = n > SGPR_ROWS && exact_suits(d, distinct);
		ptrdiff_t M = plan_whole_points(many ? LEAST_SGPR : plan_points(usual, n), distinct);
		double pass = pass_flops((double)n, (double)M, D),
			   few = FEW_EVALUATIONS * EXACT_PART * exact_flops((double)n, D);
		return fmin((many ? PASSES : plan_passes(usual, pass)) * pass,
				n < FOLDS_ROWS && has_exact(d) ? few : HUGE_VAL);
	}
	plan_q_points(n, distinct, &beta, &gamma);
	return RACED_STEPS * q_step_flops(o, d, beta, gamma);
}

/*  Do so many operations have room for a race of two exact candidates, one with a sum of two kernels,
    with half of their steps and three scores, two of these in a second round that has steps, and for
    an exact model of EXACT_LEAST rows? */
static int plan_has_exact_race(const dataset *d, double D, ptrdiff_t distinct, double budget,
		double share, const exact_race *race, ptrdiff_t some)
{
	ptrdiff_t n = d->train.n, least = smaller(n, EXACT_LEAST);
	double sum = 2 * D, rows = (double)smaller(n, some),
		   starts = exact_start(race->warm, D) + exact_start(race->warm, sum),
		   steps = 1.2 * EXACT_PART * (double)race->steps * exact_flops(rows, sum),
		   scores = (race->steps ? 5 : 3) * EXACT_PART * 2 * rows * rows * (rows + EXACT_VALID);
	return exact_suits(d, distinct) && exact_fits(least) && starts + steps + scores <= share * budget &&
		   exact_least(least, sum, race->warm) <= (1 - share) * budget;
}

/*  Is there room in --minutes for a race before the training, and for which? Exact candidates of more
    rows are more like what they become. Above SGPR_ROWS rows a sparse model needs its operations, of
    which a brief race takes few (bench/results/auto.txt): where plan_least has no room, it is brief. */
static void plan_race(plan *p, const options *o, const dataset *d, double D, ptrdiff_t distinct,
		double budget, double share)
{
	ptrdiff_t n = d->train.n;
	int found = (1 - share) * budget >= plan_least(o, d, D, distinct);
	p->share = share;
	int brief = !o->given[OPT_WARM];
	for (int k = n > SGPR_ROWS; k < (brief ? EXACT_RACES : 1) && !found; k++) {
		p->brief = k;
		p->share = k ? BRIEF_SHARE : share;
		p->some = exact_races[k].some;
		found = plan_has_exact_race(d, D, distinct, budget, p->share, &exact_races[k], p->some);
	}
	while (found && p->brief && p->some < SOME_MOST &&
			plan_has_exact_race(d, D, distinct, 0.8 * budget, p->share, &exact_races[p->brief],
					p->some + 100))
		p->some += 100;
	if (found) p->both = budget;
	else p->brief = 0;
}

static void plan_q(plan *p, options *o, double budget, const dataset *d, ptrdiff_t distinct)
{
	ptrdiff_t n = d->train.n, beta, gamma;
	plan_q_points(n, distinct, &beta, &gamma);
	double usual = n <= FEW_ROWS ? 600 : n < MANY_ROWS ? 1000 : 3000;
	double mode = plan_mode(o, d, beta, gamma);
	int many = mode > 0, grain = many ? 50 : 100;
	if (many && !o->value[OPT_MINUTES]) budget /= 2;
	/* fewer points where many functions would leave no time for steps */
	int least = p->both > 0 ? RACED_STEPS : LEAST_STEPS;
	for (; o->value[OPT_MINUTES] && beta > 10; beta /= 2, gamma /= 2)
		if (least * q_step_flops(o, d, beta, gamma) <= budget) break;
	const char *name = !gamma ? "coupled" : n < MANY_ROWS ? "orth" : "solve";
	double step = q_step_flops(o, d, beta, gamma),
		   steps = fmin(usual, fmax((double)least_steps(many), budget / step));
	option_store(o, OPT_BASIS, copy_text(name));
	plan_number(o, OPT_BETA, beta);
	if (gamma) plan_number(o, OPT_GAMMA, gamma);
	plan_steps(p, o, floor(steps / grain) * grain);
	p->flops += steps * step + mode;
}

/*  Before rows are split: --patience for many rows, which plan_make then finds. */
enum { SOLVE_PATIENCE = 5 };
static void plan_patience(options *o, ptrdiff_t rows)
{
	int decided = o->given[OPT_PATIENCE] || o->given[OPT_BETA] || o->value[OPT_MINUTES] ||
				  o->value[OPT_RESUME];
	if (is_auto(o) && !decided && rows >= MANY_ROWS) plan_number(o, OPT_PATIENCE, SOLVE_PATIENCE);
}

/*  Replaces --basis auto by explicit options for this data. race: the share of all operations that a
    race adds, but for a brief one; 0: there is none. */
static plan plan_make(options *o, const dataset *d, const workers *w, double race)
{
	plan p;
	memset(&p, 0, sizeof p);
	p.whole = 1;
	p.share = race;
	p.some = exact_races[0].some;
	if (!is_auto(o)) return p;
	p.made = 1;
	ptrdiff_t n = d->train.n, distinct = distinct_rows(d);
	if (o->value[OPT_MINUTES]) p.rate = measured_rate(w, 0);
	double budget = plan_budget(o, (double)n, p.rate);
	if (kernel_is_open(o, d)) budget = plan_classes(&p, o, d, w, budget);
	double D = kernel_width(o->value[OPT_KERNEL], (double)d->s.D);
	if (o->value[OPT_MINUTES] && race > 0) plan_race(&p, o, d, D, distinct, budget, race);
	double all = budget;
	if (p.both > 0) budget *= 1 - p.share;
	double sparse = p.brief ? BRIEF_SPARSE * all : budget;
	double most = plan_points(sparse, n);
	ptrdiff_t points = plan_whole_points(most, distinct);
	if (o->given[OPT_BETA]) points = (ptrdiff_t)option_integer(o, OPT_BETA, 1, INT_MAX);
	if (d->s.likelihood != ODVGP_LIKELIHOOD_GAUSSIAN || d->s.target_count > 1) {
		plan_q(&p, o, budget, d, distinct);
		return p;
	}
	/* bench/results/auto.txt; of a few hundred distinct rows SOLVE-GP has all as points */
	int distinct_few = distinct <= SGPR_ROWS && (double)share_of(distinct, 3) >= most;
	int few = o->value[OPT_MINUTES] ? p.both > 0 || distinct_few : n < MANY_ROWS && !d->valid.n;
	few |= o->given[OPT_PATIENCE];
	ptrdiff_t warm = p.brief ? exact_races[p.brief].warm : exact_warm_rows(n);
	int exact = plan_is_exact(o, d, D, budget, distinct, warm);
	if (exact && (p.both > 0 || plan_has_evidence(n, D, budget, warm))) {
		plan_exact(&p, o, n, D, warm);
		return p;
	}
	if ((few && most >= LEAST_SGPR) || n <= SGPR_ROWS || o->given[OPT_BETA])
		plan_sgpr(&p, o, sparse, n, D, points);
	else {
		points = smaller(WARM_POINTS, larger(1, distinct));
		plan_solve(&p, o, sparse, n, D, distinct);
	}
	if (exact && !o->given[OPT_WARM]) {
		plan_evidence(&p, o, D);
		return p;
	}
	double room = !o->value[OPT_MINUTES]            ? WARM_SHARE * p.flops
				  : n > SGPR_ROWS && p.both > 0 ? MANY_WARM * sparse
											   : WARM_SHARE * budget;
	if (!sizes_given(o) && !(p.both > 0)) room = HUGE_VAL;
	plan_warm(&p, o, n, D, points, room);
	return p;
}

/*  A warm start that is timed and stopped. */
enum { TIMED_STEPS = 3 };
typedef struct timing {
	watch *watch;
	double begin, seconds;
} timing;

static int look_at_timing(void *user, const odvgp_progress *p)
{
	timing *t = user;
	int done = p->phase == ODVGP_PHASE_WARM_LBFGS && p->done == TIMED_STEPS;
	if (done) t->seconds = now() - t->begin;
	return watch_look(t->watch, (double)p->done, TIMED_STEPS) || done;
}

/*  Seconds of an iteration of a warm start on so many rows with M points, found in at most `most`
    seconds; 0: there is none, or they were too few. end: the iterations that take as long as what a
    warm start ends with. Leaves the model as it was. */
static double warm_seconds(odvgp_model *model, const dataset *d, ptrdiff_t rows, ptrdiff_t M,
		const workers *w, double most, double *end)
{
	odvgp_warm some = {rows, smaller(M, rows), TIMED_STEPS + 1, 0};
	*end = 0;
	size_t size = odvgp_warm_start_scratch(model, &some, NULL);
	if (!size) return 0;
	void *work = take(size, 1);
	timing t = {w->watch, now(), 0};
	odvgp_watch watch = {look_at_timing, &t};
	watch_allow(w->watch, t.begin + most, 0);
	watch_begin(w->watch, "timing");
	odvgp_warm_start(model, d->train.X, d->Y, &some, &watch, work, size, NULL);
	watch_end(w->watch);
	watch_allow(w->watch, HUGE_VAL, 0);
	free(work);
	const odvgp_config *c = odvgp_model_config(model);
	/* Trainings of few rows with classes have been timed. */
	*end = c->lik.kind == ODVGP_LIKELIHOOD_GAUSSIAN
				   ? warm_end_flops(c, some.rows) / (1.25 * warm_of(c, some.rows, some.M).pass)
				   : 0;
	return t.seconds / (TIMED_STEPS + 1);
}

/*  What Adam's warm start on `few` rows takes, in iterations with *M points, of `room`: a third of it
    at most, or with FEW_POINTS, which *M becomes, half. 0: it does not fit. */
static double adam_iterations(ptrdiff_t few, ptrdiff_t *M, double D, double room)
{
	if (ADAM_STEPS < room / 3) return ADAM_STEPS;
	if (*M <= FEW_POINTS) return 0;
	double part = ADAM_STEPS * pass_flops((double)few, FEW_POINTS, D) /
				  pass_flops((double)few, (double)*M, D);
	if (part >= room / 2) return 0;
	*M = FEW_POINTS;
	return part;
}

/*  Rows and points of warm starts with --minutes. Steps without one end far below those after a small
    one (bench/results/warm-minutes.txt); SGPR does as well without. */
static const ptrdiff_t warm_sizes[][2] = {{WARM_ROWS, WARM_POINTS}, {2000, 100}, {1000, 50}};
enum { WARM_SIZES = sizeof warm_sizes / sizeof *warm_sizes };

/*  A last one before minibatches is that of all rows, if they are in memory, where ALL_SHARE of the time
    has room for so many steps: it is SGPR itself, to whose optimum minibatches do not come as close on
    some sets (bench/results/auto.txt). All of them keep away from the time at which they are stopped
    (allow_warm_starts). */
enum { ALL_LEAST = 20, ALL_MOST = 60 };
static const double ALL_SHARE = 0.4, ALL_END = 0.55;

/*  Appends those of a size that fit in a third of the time, of a small one in half: L-BFGS's, and of
    the first size before it Adam's. SGPR has Adam's alone where its own passes cost no more than a few
    of these iterations. */
static void plan_warm_size(const plan *p, int size, const dataset *d, odvgp_model *model,
		const workers *w, double left, double most, bytes *list)
{
	ptrdiff_t n = d->train.n, few = smaller(n, warm_sizes[size][0]), more = smaller(n, MORE_ROWS),
			  all = p->points || !size ? p->points : odvgp_model_config(model)->layer[0].M,
			  M = smaller(all, warm_sizes[size][1]), of_adam = M;
	double D = (double)d->s.D, begin = now(), end,
		   each = warm_seconds(model, d, few, M, w, most, &end),
		   room = (left - (now() - begin)) / fmax(1e-9, each),
		   further = 1.25 * MORE_STEPS * (double)more / (double)few + end;
	if (!(each > 0)) return;
	int sgpr = p->pass > 0, least = sgpr ? 5 : 20;
	double adam = size ? 0 : adam_iterations(few, &of_adam, D, room - 3 * end),
		   alone = room / (size ? 2 : 3) - end, steps = alone - adam - end;
	if (sgpr && p->pass < 4) steps = alone = 0;
	if (adam > 0 && (sgpr || steps >= least)) warm_item(list, few, ADAM_STEPS, of_adam, 1);
	else steps = alone, adam = 0;
	if (steps < least) return;
	warm_item(list, few, (ptrdiff_t)fmin(WARM_STEPS, steps), M, 0);
	if (size || n <= 2 * WARM_ROWS || steps < WARM_STEPS) return;
	double before = 1.25 * WARM_STEPS + adam + 2 * end,
		   left_over = fmin(ALL_SHARE * room, ALL_END * room - before) - end,
		   whole = left_over * (double)few / (1.25 * (double)n);
	int all_rows = !sgpr && !d->disk && d->s.likelihood == ODVGP_LIKELIHOOD_GAUSSIAN;
	if (all_rows && whole >= ALL_LEAST)
		warm_item(list, n, (ptrdiff_t)fmin(ALL_MOST, whole), M, 0);
	else if (steps >= WARM_STEPS + further) warm_item(list, more, MORE_STEPS, M, 0);
}

/*  With --minutes: the warm starts that fit. */
static void plan_minutes(const plan *p, options *o, const dataset *d, odvgp_model *model,
		const workers *w, double begin)
{
	int off = o->value[OPT_WARM] && strcmp(o->value[OPT_WARM], "off") == 0;
	if (!o->value[OPT_MINUTES] || o->given[OPT_WARM] || off || p->evidence || sizes_given(o) ||
			is_exact(basis_of(o)) ||
			(all_rows(o) && !p->made) || !warm_helps(d->s.likelihood) ||
			warm_harms(odvgp_model_config(model)))
		return;
	double limit = 60 * option_positive(o, OPT_MINUTES);
	bytes list = {NULL, 0, 0};
	for (int i = 0; i < (p->pass > 0 ? 1 : WARM_SIZES) && !list.used; i++)
		plan_warm_size(p, i, d, model, w, limit - (now() - begin), 0.1 * limit, &list);
	option_store(o, OPT_WARM, list.used ? list.at : copy_text("off"));
}

/*  What stands before the time that is said: --patience may end the steps long before. */
static const char *about_of(const options *o)
{
	return option_integer(o, OPT_PATIENCE, 0, INT_MAX) ? "at most about" : "about";
}

/*  Says what was chosen, as options that repeat it, and about how long it takes: products at the
    rate of a free machine, and a fifth as long for all else (bench/first_hour.md has what that
    gives). */
static void plan_print(const plan *p, const options *o, const dataset *d, const workers *w)
{
	const int ids[] = {OPT_BASIS, OPT_BETA, OPT_GAMMA, by_clock(o) ? OPT_MINUTES : OPT_ITERS,
			OPT_WARM, OPT_PATIENCE, OPT_FIT_Q};
	if (!p->made || o->given[OPT_QUIET]) return;
	fprintf(stderr, "auto: %td rows:", d->train.n);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		if (o->value[ids[i]] && !(ids[i] == OPT_GAMMA && !basis_of(o)->gamma) &&
				!same_value(o->value[ids[i]], option_list[ids[i]].preset))
			fprintf(stderr, " --%s %s", option_list[ids[i]].name, o->value[ids[i]]);
	if (scales_exact(o) || d->calibrates) fprintf(stderr, " --calibrate on");
	for (int i = 0; i < p->classes; i++)
		fprintf(stderr, " --%s \"%s\"", option_list[class_options[i]].name,
				o->value[class_options[i]]);
	double seconds = 0.5 + 1.2 * p->flops / fmax(1, measured_rate(w, 1)),
		   limit = o->value[OPT_MINUTES] ? 60 * option_positive(o, OPT_MINUTES) : HUGE_VAL;
	if (by_clock(o)) seconds = limit;
	seconds = fmin(seconds, limit);
	fprintf(stderr, "; %s %.*f s, less if it converges\n", about_of(o), seconds < 9.95, seconds);
}

#endif
