/*  kobe2021_figs.c - figures 4.1 to 4.9 of Kobe (Efficiently-Parametrised Approximate Posteriors in
    Pseudo-Point Approximations to Gaussian Processes, MPhil thesis, 2021): natural gradients beside
    Adam on one-dimensional sets and on naval, and the O(M) covariance with its natural steps.

        make kobe2021-figs DATA=dir
        build/kobe2021_figs run | report  [options], see --help

    run       trains what kobe2021_settings.h lists, one run after the other. NAME.csv receives rows
              during a run, and rows.csv a line at its end; what stands there is not run again
    report    prints a table for each figure and whether the statements of the text hold, and draws
              figure-4.1.svg and so on, from the runs there are

    The thesis prints pictures and no numbers, so that only its statements about them can be
    compared. What it does not say was chosen as follows. q starts at the prior in whitened
    coordinates, as GPflow's does (unit covariance); "Adam, u" is Adam on the mean and the root of
    the covariance of u themselves. Natural steps are 0.1 unless a number is given. Inducing inputs
    stay at their k-means: the text counts lengthscale, variance and noise as hyperparameters, and
    O(M) does not survive training of the inputs (4.7Z is figure 4.7 with it). O(M)'s mu starts at
    0, g at 1. Hyperparameters move first, then q. 0.112 and 0.5 are taken for the kernel's
    variance, not for its root. "Projected" is the thesis' natural step, eq. 3.20, in (mu, g); "of
    S^-1 m" the same in (S^-1 m, g).

    Bounds are of all rows, also where training saw minibatches. The bound at the end is the median
    of the last rows of the curve, up to eleven. Steps to a bound count to the first row that is not
    below it; rows are 7 % of the steps or a hundredth of the run apart. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "plot.h"
#include "table.h"
#include <stdarg.h>
#include <time.h>
#include "figure_data.h"
#include "kobe2021_settings.h"
#include "kobe2021_report.h"
#include "kobe2021_pictures.h"

/* clang-format off */
static const char usage[] =
    "usage: kobe2021_figs run|report [PREFIX...] [--data FILE] [--out DIR]\n"
    "  PREFIX        only runs whose names begin so, as 4.7 or 4.3-N100; default all\n"
    "  --data FILE   naval as a CSV file whose last column is the target; "
    "without it naval is left out\n"
    "  --out DIR     where everything is kept, default build/kobe2021-figs; it must exist\n";
/* clang-format on */

/* ---- training ---- */

static const char *kernel_of(const setting *s, int m)
{
	if (s->data == NAVAL) return "matern52(4, variance=2)";
	if (hyper_fixed(s)) return "rbf(0.813, variance=0.112)";
	return m == BEST_OM_2 ? "rbf(0.05, variance=0.05)"
		   : is_best(m)   ? "rbf(0.1, variance=0.5)"
						  : "rbf";
}

static odvgp_config config_of(const setting *s, int m, const dataset *d)
{
	const method *how = &methods[m];
	odvgp_config cfg = odvgp_config_defaults(d->N, d->D, 1, s->M, 0);
	/* The paper's. */
	cfg.positive_transform = ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
	cfg.layer[0].cov_part = how->cov;
	cfg.reproduce.parametrisation = how->param;
	cfg.reproduce.diag_step = how->diag;
	if (how->cov == ODVGP_COV_PART_DIAGONAL) cfg.layer[0].mean_part = ODVGP_MEAN_PART_FREE;
	cfg.layer[0].kernel = kernel_of(s, m);
	cfg.init.hyperparams = ODVGP_INIT_HYPER_ULAPANE;
	cfg.lik.noise_variance = hyper_fixed(s)   ? 0.045
							 : m == BEST_OM_2 ? 0.02
							 : is_best(m)     ? s->noise
											  : 0.1;
	cfg.reproduce.q_init = ODVGP_Q_INIT_IDENTITY;
	/* With the thesis' jitter the search for O(M)'s optimum stops early on some sets. */
	cfg.jitter.absolute = is_best(m) && !hyper_fixed(s) ? 1e-6 : 1e-10, cfg.jitter.relative = 0;
	cfg.optim.batch = s->batch;
	cfg.optim.lr = odvgp_constant(0.01);
	cfg.optim.natgrad = how->step > 0;
	/* On naval the step rises. */
	if (cfg.optim.natgrad)
		cfg.optim.natgrad_step =
				s->data == NAVAL ? odvgp_falling(1e-4, how->step, 40) : odvgp_constant(how->step);
	cfg.reproduce.update = ODVGP_UPDATE_ADAM_FIRST;
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
		/* The thesis adds its jitter to g; without it, components whose best value is 0
           underflow. */
		check(odvgp_set_bounds(model, "q_diag", least_g, HUGE_VAL, NULL), "q_diag", NULL);
	}
	if (hyper_fixed(s)) {
		odvgp_set_trainable(model, "kernel.*", 0, NULL);
		odvgp_set_trainable(model, "noise_variance", 0, NULL);
	}
	if (!inputs_move(s)) odvgp_set_trainable(model, "Z_*", 0, NULL);
	return model;
}

static odvgp_status point_write(FILE *f, odvgp_model *model, const dataset *d, double step,
		double seconds, odvgp_info *info)
{
	point p = {step, seconds, 0, 0, 0, 0};
	odvgp_status status = odvgp_elbo(model, d->X, d->y, d->N, &p.bound, NULL, NULL, info);
	if (status) return status;
	check(odvgp_get(model, "kernel.0.lengthscale", &p.lengthscale, 1, NULL), "lengthscale", NULL);
	check(odvgp_get(model, "kernel.0.variance", &p.variance, 1, NULL), "variance", NULL);
	check(odvgp_get(model, "noise_variance", &p.noise, 1, NULL), "noise", NULL);
	fprintf(f, "%.0f,%.4f,%.9g,%.6g,%.6g,%.6g\n", p.step, p.seconds, p.bound / (double)d->N,
			p.lengthscale, p.variance, p.noise);
	fflush(f);
	return ODVGP_OK;
}

/*  The next recorded step, at first the next one, then further on: a bound of all rows takes longer
    than a step. */
static ptrdiff_t next_row(ptrdiff_t step, const setting *s)
{
	ptrdiff_t apart = step / 15, most = s->steps / (s->M < 1000 ? 100 : 20);
	if (apart > most) apart = most;
	return step + (apart < 1 ? 1 : apart);
}

/*  Writes rows to f and returns the steps done. */
static ptrdiff_t train(odvgp_model *model, const setting *s, const dataset *d, FILE *f,
		double *seconds, odvgp_info *info)
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

/*  -bound, and its gradient in the logarithms of the hyperparameters. */
static double loss_of(odvgp_model *model, const dataset *d, double slope[3])
{
	odvgp_info info;
	double *grad = reserve_reals(odvgp_param_count(model)), value, elbo = 0;
	odvgp_status status = odvgp_elbo(model, d->X, d->y, d->N, &elbo, NULL, grad, &info);
	for (int i = 0; i < 3 && !status; i++) {
		check(odvgp_get(model, hyper[i], &value, 1, NULL), hyper[i], NULL);
		slope[i] = value * grad[odvgp_slot_find(model, hyper[i])->offset];
	}
	free(grad);
	return status ? HUGE_VAL : -elbo;
}

static double largest(const double v[3]) { return fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2]))); }

/*  The same at the best q for the hyperparameters e^t. The gradient is that of the maximum over q,
    since q is at its optimum. */
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

/*  Updates H of BFGS by a step s and the change y of the gradient. */
static void bfgs_update(double H[3][3], const double s[3], const double y[3])
{
	double sy = 0, Hy[3] = {0, 0, 0}, yHy = 0;
	for (int i = 0; i < 3; i++) sy += s[i] * y[i];
	if (!(sy > 0)) return;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) Hy[i] += H[i][j] * y[j];
	for (int i = 0; i < 3; i++) yHy += y[i] * Hy[i];
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			H[i][j] += (1 + yHy / sy) * s[i] * s[j] / sy - (Hy[i] * s[j] + s[i] * Hy[j]) / sy;
}

/*  Maximises over hyperparameters and q together, by BFGS over the hyperparameters. Returns the
    number of evaluations. */
static ptrdiff_t maximise(odvgp_model *model, const dataset *d)
{
	double t[3], g[3], H[3][3] = {{1e-3, 0, 0}, {0, 1e-3, 0}, {0, 0, 1e-3}};
	for (int i = 0; i < 3; i++) {
		check(odvgp_get(model, hyper[i], &t[i], 1, NULL), hyper[i], NULL);
		t[i] = log(t[i]);
	}
	double loss = best_loss(model, d, t, g);
	ptrdiff_t looks = 1;
	while (looks < 150 && largest(g) > 1e-3) {
		double p[3], at[3], there[3], slope = 0, length = 1, next = HUGE_VAL;
		for (int i = 0; i < 3; i++)
			p[i] = -(H[i][0] * g[0] + H[i][1] * g[1] + H[i][2] * g[2]), slope += p[i] * g[i];
		if (largest(p) > 0.5) length = 0.5 / largest(p);
		for (; length > 1e-6; length /= 2) {
			for (int i = 0; i < 3; i++) at[i] = t[i] + length * p[i];
			next = best_loss(model, d, at, there);
			looks++;
			if (next <= loss + 1e-4 * length * slope) break;
		}
		if (!(length > 1e-6)) break;
		double s[3], y[3];
		for (int i = 0; i < 3; i++)
			s[i] = at[i] - t[i], y[i] = there[i] - g[i], t[i] = at[i], g[i] = there[i];
		loss = next;
		bfgs_update(H, s, y);
	}
	best_loss(model, d, t, g);
	return looks;
}

static ptrdiff_t find_best(odvgp_model *model, const setting *s, const dataset *d, FILE *f,
		double *seconds, odvgp_info *info)
{
	double from = cpu_seconds();
	ptrdiff_t looks = 1;
	if (hyper_fixed(s)) fit_q(model, d);
	else looks = maximise(model, d);
	*seconds = cpu_seconds() - from;
	return point_write(f, model, d, (double)looks, *seconds, info) ? 0 : looks;
}

/*  The grid on which predictions are drawn. */
static void predictions_write(odvgp_model *model, const char *name)
{
	static double x[GRID], mean[GRID], var[GRID];
	odvgp_info info;
	for (int i = 0; i < GRID; i++) x[i] = -1.1 + 2.2 * i / (GRID - 1);
	check(odvgp_predict_once(model, x, GRID, mean, var, NULL, &info), "prediction", &info);
	FILE *f = file_open(name, ".grid.csv", "w");
	fprintf(f, "x,mean,sd\n");
	for (int i = 0; i < GRID; i++) fprintf(f, "%.6g,%.9g,%.9g\n", x[i], mean[i], sqrt(var[i]));
	fclose(f);
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
	e.done = (int)(is_best(m) ? find_best(model, s, d, f, &e.seconds, &info)
							  : train(model, s, d, f, &e.seconds, &info));
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
	if (fresh)
		fprintf(rows, "name,steps,done,numbers,cpu_seconds,jitter_raised,shortened,undone,slope\n");
	fprintf(rows, "%s,%d,%d,%d,%.3f,%.0f,%.0f,%.0f,%.4g\n", name, e.asked, e.done, e.numbers,
			e.seconds, e.jitter_raised, e.shortened, e.undone, e.slope);
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

/* ---- main ---- */

static void report(void)
{
	read_all();
	printf("steps and seconds of one core to within 0.01 nats per row (figure 4.1: 0.001, naval: "
		   "0.1) of the best bound of the "
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
	else fail("kobe2021_figs", "run or report; see --help");
	return 0;
}
