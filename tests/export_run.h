/*  What runs the headers that tests/test_export.c writes, as C99 and C++17: predictions, gradients
    and moments of y against the library's, gradients against differences, the self-test. A table has
    units of the inputs, tolerances, then rows: x, mean, var, dmean, dvar, mean and var of y. SELF is
    the tolerance of the self-test. Differences over 2h have errors in h^2, up to 4e-6 here, and of
    predictions over h. */
#ifndef EXPORT_RUN_H
#define EXPORT_RUN_H

#include <stdio.h>

static int failures, checks;
static double worst_ratio;

static void compare(const char *name, const char *what, const char *quantity, double got,
		double want, double tolerance)
{
	double off = got > want ? got - want : want - got;
	checks++;
	if (off / tolerance > worst_ratio) worst_ratio = off / tolerance;
	if (off <= tolerance) return;
	if (failures++ < 40)
		printf("%s (%s): %s is %.10g, not %.10g: off by %.2g, allowed %.2g\n", name, what, quantity,
				got, want, off, tolerance);
}

static int end(void)
{
	printf("%d checks, %d failed; the largest error is %.2g of what is allowed\n", checks, failures,
			worst_ratio);
	return failures != 0;
}

#define CASE(N, REAL, ROWS, D, F, Y, SELF, WHAT) \
	static void run_##N(void) \
	{ \
		const int width = F * (2 + 2 * D); \
		const double *unit = want_##N, *allowed = unit + D, *row = allowed + width + 2 * Y; \
		for (int i = 0; i < ROWS; i++, row += D + width + 2 * Y) { \
			REAL x[D], m[F], m2[F], v[F], dm[F * D], dv[F * D], y[Y], vy[Y]; \
			const double *want = row + D; \
			for (int d = 0; d < D; d++) x[d] = (REAL)row[d]; \
			N##_predict(x, m2, 0); \
			N##_predict_gradient(x, m, v, dm, dv); \
			for (int f = 0; f < F; f++) \
				compare(#N, WHAT, "mean alone", (double)m2[f], want[f], allowed[f]); \
			for (int k = 0; k < width; k++) { \
				const int part = k < F ? 0 : k < 2 * F ? 1 : k < F * (2 + D) ? 2 : 3; \
				static const char *const parts[] = {"mean", "var", "dmean", "dvar"}; \
				compare(#N, WHAT, parts[part], \
						(double)(part == 0   ? m[k] \
								 : part == 1 ? v[k - F] \
								 : part == 2 ? dm[k - 2 * F] \
											 : dv[k - F * (2 + D)]), \
						want[k], allowed[k]); \
			} \
			N##_predict(x, m, v); \
			N##_predict_y(x, y, vy); \
			for (int f = 0; f < F; f++) \
				compare(#N, WHAT, "var again", (double)v[f], want[F + f], allowed[F + f]); \
			for (int k = 0; k < Y; k++) { \
				compare(#N, WHAT, "mean of y", (double)y[k], want[width + k], \
						allowed[width + k] * \
								(1 + (want[width + k] < 0 ? -want[width + k] : want[width + k]))); \
				compare(#N, WHAT, "var of y", (double)vy[k], want[width + Y + k], \
						allowed[width + Y + k] * (1 + want[width + Y + k])); \
			} \
			for (int d = 0; d < D && sizeof(REAL) == 8; d++) { \
				REAL up[F], vu[F], down[F], vd[F], h = (REAL)(1e-4 * unit[d]); \
				x[d] = (REAL)row[d] + h, N##_predict(x, up, vu); \
				x[d] = (REAL)row[d] - h, N##_predict(x, down, vd); \
				x[d] = (REAL)row[d]; \
				for (int f = 0; f < F; f++) { \
					compare(#N, WHAT, "dmean by differences", \
							(double)(dm[f * D + d] * (REAL)unit[d]), \
							(double)((up[f] - down[f]) / (2 * h) * (REAL)unit[d]), \
							1e-5 + allowed[f] * 1e4); \
					compare(#N, WHAT, "dvar by differences", \
							(double)(dv[f * D + d] * (REAL)unit[d]), \
							(double)((vu[f] - vd[f]) / (2 * h) * (REAL)unit[d]), \
							1e-5 + allowed[F + f] * 1e4); \
				} \
			} \
		} \
		compare(#N, WHAT, "the self-test", (double)N##_self_test(), 0, SELF); \
	}

#endif
