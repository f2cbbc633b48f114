/*  A learned model in a solver: an external function with CasADi's C interface, for a horizon of 40
    points, with its sparse Jacobian. In CasADi:

        gp = external('gp', './build/casadi.so')
        mean, var = gp(X)                # X [3,40], a column for each point; mean and var [40,2]

    ODVGP_MODEL names the model file. Evaluations do not allocate: the solver's work vector is the
    scratch. Compiled as a program, the file trains the model (a pendulum: angle, velocity, torque
    to their change in 50 ms), opens the function as CasADi does, and tests its Jacobian.

        cc -O2 -I. -DEXTERNAL -DODVGP_NO_TRAINING -shared -fPIC examples/casadi.c \
            -o build/casadi.so -lm && \
            cc -O2 -I. examples/casadi.c -o build/casadi -lm -ldl && build/casadi

    Output:
        gp: 1 input 3 x 40, 2 outputs 40 x 2
        jac_gp: 80 x 120, 240 entries of 9600 for each output
        mean: rms error 0.001 of changes of 0.221
        largest error of the Jacobian's entries, beside differences: 0.00000, 0.00000
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 3, F = 2, HORIZON = 40, ENTRIES = D * F * HORIZON };
typedef long long int casadi_int; /* as CasADi has them by default */

#ifdef EXTERNAL

#define EXPORT __attribute__((visibility("default")))

/* ---- the model, read when the solver takes its first reference ---- */

static odvgp_server server;
static void *block, *file;
static int references;

static int read_model(const char *path)
{
	size_t bytes = odvgp_file_size(path, NULL), used;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_status s = bytes && (file = malloc(bytes)) ? ODVGP_OK : ODVGP_E_IO;
	if (!s) s = odvgp_file_read(path, &used, file, bytes, &info);
	size_t size = s ? 0 : odvgp_server_size(file, bytes, &info);
	if (!s && !size) s = info.status;
	if (!s) s = (block = malloc(size)) ? ODVGP_OK : ODVGP_E_MEMORY;
	if (!s) s = odvgp_server_from_memory(&server, file, bytes, ODVGP_ISA_AUTO, block, size, &info);
	if (!s && (server.D != D || server.F != F)) s = ODVGP_E_ARG;
	if (s) fprintf(stderr, "%s: %s %s\n", path, odvgp_status_text(s), info.text);
	return s != ODVGP_OK;
}

EXPORT void gp_incref(void)
{
	const char *path = getenv("ODVGP_MODEL");
	if (!references++) read_model(path ? path : "build/casadi.odvgp");
}
EXPORT void gp_decref(void)
{
	if (--references) return;
	free(block), free(file);
	memset(&server, 0, sizeof server);
}
EXPORT void jac_gp_incref(void) { gp_incref(); }
EXPORT void jac_gp_decref(void) { gp_decref(); }

/* ---- shapes: rows, columns, then 1 for a dense matrix, or column starts and row numbers ---- */

static const casadi_int points[] = {D, HORIZON, 1}, outputs[] = {HORIZON, F, 1};

/*  An output depends on its own point only: column D i + d holds rows i, HORIZON + i, ... */
static const casadi_int *jacobian(void)
{
	static casadi_int shape[2 + D * HORIZON + 1 + ENTRIES] = {F * HORIZON, D * HORIZON};
	casadi_int *start = shape + 2, *row = start + D * HORIZON + 1;
	for (int c = 0; c <= D * HORIZON; c++) start[c] = F * c;
	for (int k = 0; k < ENTRIES; k++) row[k] = k % F * HORIZON + k / F / D;
	return shape;
}

EXPORT casadi_int gp_n_in(void) { return 1; }
EXPORT casadi_int gp_n_out(void) { return 2; }
EXPORT const char *gp_name_in(casadi_int i) { return i ? NULL : "X"; }
EXPORT const char *gp_name_out(casadi_int i) { return i ? "var" : "mean"; }
EXPORT const casadi_int *gp_sparsity_in(casadi_int i) { return i ? NULL : points; }
EXPORT const casadi_int *gp_sparsity_out(casadi_int i) { return i < 2 ? outputs : NULL; }
EXPORT casadi_int jac_gp_n_in(void) { return 3; } /* X, and the outputs, which it ignores */
EXPORT casadi_int jac_gp_n_out(void) { return 2; }
EXPORT const casadi_int *jac_gp_sparsity_in(casadi_int i) { return i ? outputs : points; }
EXPORT const casadi_int *jac_gp_sparsity_out(casadi_int i) { return i < 2 ? jacobian() : NULL; }

/* ---- work and evaluation ---- */

static int work(
		casadi_int *args, casadi_int *results, casadi_int *ints, casadi_int *reals, size_t bytes)
{
	*args = 3;
	*results = 2;
	*ints = 0;
	*reals = (casadi_int)(bytes / sizeof(double) + 1);
	return !bytes;
}
EXPORT int gp_work(casadi_int *args, casadi_int *results, casadi_int *ints, casadi_int *reals)
{
	return work(args, results, ints, reals, odvgp_predict_scratch(&server, HORIZON, NULL));
}
EXPORT int jac_gp_work(casadi_int *args, casadi_int *results, casadi_int *ints, casadi_int *reals)
{
	size_t bytes = odvgp_predict_gradient_scratch(&server, HORIZON, NULL);
	return work(args, results, ints, reals, bytes ? bytes + 2 * ENTRIES * sizeof(double) : 0);
}

EXPORT int gp(const double **arg, double **res, casadi_int *ints, double *w, int mem)
{
	size_t bytes = odvgp_predict_scratch(&server, HORIZON, NULL);
	(void)ints, (void)mem;
	return odvgp_predict(&server, arg[0], HORIZON, res[0], res[1], w, bytes, NULL) != ODVGP_OK;
}

EXPORT int jac_gp(const double **arg, double **res, casadi_int *ints, double *w, int mem)
{
	size_t bytes = odvgp_predict_gradient_scratch(&server, HORIZON, NULL);
	double *slope[2] = {res[0] ? w : NULL, res[1] ? w + ENTRIES : NULL};
	const odvgp_gradient to = {NULL, NULL, slope[0], slope[1], NULL, NULL};
	(void)ints, (void)mem;
	if (odvgp_predict_gradient(&server, arg[0], HORIZON, &to, w + 2 * ENTRIES, bytes, NULL))
		return 1;
	for (int o = 0; o < 2; o++)
		for (int k = 0; k < ENTRIES && slope[o]; k++) {
			int f = k % F, point = k / F / D, d = k / F % D;
			res[o][k] = slope[o][(f * HORIZON + point) * D + d];
		}
	return 0;
}

#else /* the program that trains the model and uses the function */

#include <dlfcn.h>
#include "lessons/lesson.h"

static void swing(const double *x, double *change)
{
	double angle = x[0], velocity = x[1];
	for (int i = 0; i < 50; i++) {
		velocity += 1e-3 * (x[2] - 9.81 * sin(angle) - 0.5 * velocity);
		angle += 1e-3 * velocity;
	}
	change[0] = angle - x[0];
	change[1] = velocity - x[1];
}

static void make_model(const char *path)
{
	enum { N = 500, STEPS = 1000 };
	static double X[N][D], Y[N][F];
	static const double range[D] = {3, 6, 5};
	double x_mean[D], x_scale[D], y_mean[F], y_scale[F];
	const odvgp_scales scales = {x_mean, x_scale, y_mean, y_scale};
	odvgp_info info;
	odvgp_model *model;
	for (int i = 0; i < N; i++) {
		for (int d = 0; d < D; d++) X[i][d] = range[d] * (2 * uniform() - 1);
		swing(X[i], Y[i]);
		for (int f = 0; f < F; f++) Y[i][f] += 0.01 * normal();
	}
	standardise(&X[0][0], N, D, x_mean, x_scale);
	standardise(&Y[0][0], N, F, y_mean, y_scale);
	odvgp_config cfg = odvgp_config_defaults(N, D, F, 50, 100);
	cfg.layer[0].kernel = "rbf(ard)";
	cfg.lik.noise_per_output = 1;
	must(odvgp_model_create(&model, &cfg, &X[0][0], &Y[0][0], NULL, &info), &info);
	must(odvgp_fit(model, &X[0][0], &Y[0][0], STEPS, NULL, &info), &info);
	size_t bytes = odvgp_save_size(model, 0, &info);
	void *memory = malloc(bytes);
	must(odvgp_save_memory(model, &scales, NULL, 0, memory, bytes, &info), &info);
	must(odvgp_file_write(path, memory, bytes, &info), &info);
	free(memory);
	odvgp_model_free(model);
}

typedef int evaluate(const double **, double **, casadi_int *, double *, int);
typedef int measure(casadi_int *, casadi_int *, casadi_int *, casadi_int *);
typedef const casadi_int *shape_of(casadi_int);

/*  A function of the library, through a pointer that ISO C can copy. */
static void find(void *library, const char *name, void *function)
{
	void *at = dlsym(library, name);
	if (!at) exit(fprintf(stderr, "%s is missing\n", name));
	memcpy(function, &at, sizeof at);
}

static double *work_of(void *library, const char *name)
{
	casadi_int args, results, ints, reals;
	measure *of;
	find(library, name, &of);
	if (of(&args, &results, &ints, &reals)) exit(1);
	return (double *)malloc((size_t)reals * sizeof(double));
}

int main(void)
{
	static double X[HORIZON][D], out[2][F * HORIZON], near[2][2][F * HORIZON], slope[2][ENTRIES];
	make_model("build/casadi.odvgp");
	void *library = dlopen("./build/casadi.so", RTLD_NOW);
	if (!library) return fprintf(stderr, "%s\n", dlerror());
	void (*incref)(void), (*decref)(void);
	evaluate *gp, *jac;
	shape_of *in, *outs, *jacs;
	find(library, "gp_incref", &incref), find(library, "gp_decref", &decref);
	find(library, "gp", &gp), find(library, "jac_gp", &jac);
	find(library, "gp_sparsity_in", &in), find(library, "gp_sparsity_out", &outs);
	find(library, "jac_gp_sparsity_out", &jacs);
	incref();
	double *w = work_of(library, "gp_work"), *jac_w = work_of(library, "jac_gp_work");
	const casadi_int *shape = jacs(0), *start = shape + 2, *row = start + shape[1] + 1;
	printf("gp: 1 input %lld x %lld, 2 outputs %lld x %lld\n", in(0)[0], in(0)[1], outs(0)[0],
			outs(0)[1]);
	printf("jac_gp: %lld x %lld, %lld entries of %lld for each output\n", shape[0], shape[1],
			start[shape[1]], shape[0] * shape[1]);

	double squares = 0, changes = 0, worst[2] = {0, 0};
	for (int i = 0; i < HORIZON; i++) {
		X[i][0] = 2 * sin(0.1 * i);
		X[i][1] = 4 * cos(0.13 * i);
		X[i][2] = 3 * sin(0.07 * i + 1);
	}
	const double *arg[3] = {&X[0][0], NULL, NULL};
	double *res[2] = {out[0], out[1]}, *jac_res[2] = {slope[0], slope[1]};
	if (gp(arg, res, NULL, w, 0) || jac(arg, jac_res, NULL, jac_w, 0)) return 1;
	for (int i = 0; i < HORIZON; i++) {
		double change[F];
		swing(X[i], change);
		for (int f = 0; f < F; f++) {
			double e = out[0][f * HORIZON + i] - change[f];
			squares += e * e / (F * HORIZON);
			changes += change[f] * change[f] / (F * HORIZON);
		}
	}
	for (casadi_int c = 0; c < shape[1]; c++) {
		double *x = &X[0][0] + c, keep = *x;
		for (int k = 0; k < 2; k++) {
			double *to[2] = {near[k][0], near[k][1]};
			*x = keep + (k ? 1e-4 : -1e-4);
			if (gp(arg, to, NULL, w, 0)) return 1;
		}
		*x = keep;
		for (int o = 0; o < 2; o++)
			for (casadi_int k = start[c]; k < start[c + 1]; k++) {
				double want = (near[1][o][row[k]] - near[0][o][row[k]]) / 2e-4;
				worst[o] = fmax(worst[o], fabs(slope[o][k] - want));
			}
	}
	printf("mean: rms error %.3f of changes of %.3f\n", sqrt(squares), sqrt(changes));
	printf("largest error of the Jacobian's entries, beside differences: %.5f, %.5f\n", worst[0],
			worst[1]);
	decref();
	free(w), free(jac_w);
	return dlclose(library);
}

#endif
