/*  start.c FILE WAY   trains on the columns of a CSV file as they are, with the library's defaults
    but for sizes, and prints RMSE and mean log density of standardised targets on the last fifth of
    the rows. WAY: warm or cold. bench/start.sh runs it; compiled with another odvgp.h it measures
    that one. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 3000, MOST_COLUMNS = 400, STEPS = 1000 };
static odvgp_real X[MOST_ROWS * MOST_COLUMNS], Y[MOST_ROWS], mean[MOST_ROWS], var[MOST_ROWS],
		var_y[MOST_ROWS];

/*  Fills X and Y. Returns the number of rows, and that of inputs in *D. */
static ptrdiff_t read_rows(FILE *f, ptrdiff_t *D)
{
	static char line[1 << 16];
	ptrdiff_t n = 0;
	while (n < MOST_ROWS && fgets(line, sizeof line, f)) {
		ptrdiff_t columns = 0;
		double row[MOST_COLUMNS + 1];
		for (char *at = line, *end; columns <= MOST_COLUMNS; at = end + (*end == ',')) {
			row[columns] = strtod(at, &end);
			if (end == at) break;
			columns++;
		}
		*D = columns - 1;
		for (ptrdiff_t d = 0; d < *D; d++) X[n * *D + d] = (odvgp_real)row[d];
		Y[n++] = (odvgp_real)row[*D];
	}
	return n;
}

int main(int argc, char **argv)
{
	FILE *f = argc == 3 ? fopen(argv[1], "r") : NULL;
	ptrdiff_t D = 0, n = f ? read_rows(f, &D) : 0, N = n - n / 5;
	odvgp_real center, scale;
	odvgp_model *m;
	odvgp_info info;
	double squares = 0, density = 0;
	if (N < 10 || D < 1) return fprintf(stderr, "usage: start ROWS.csv warm|cold\n"), 2;
	odvgp_config c = odvgp_config_defaults(N, D, 1, N < 400 ? N / 4 : 100, N < 400 ? N / 4 : 100);
	c.optim.batch = N < 500 ? N : 500;
	c.optim.lr = odvgp_falling((odvgp_real)0.01, (odvgp_real)0.001, STEPS);
	c.init.warm = !strcmp(argv[2], "warm");
	odvgp_column_scales(Y, N, 1, &center, &scale, NULL);
	for (ptrdiff_t i = 0; i < n; i++) Y[i] = (Y[i] - center) / scale;
	if (odvgp_model_create(&m, &c, X, Y, NULL, &info) || odvgp_fit(m, X, Y, STEPS, NULL, &info) ||
			odvgp_predict_once(m, X + N * D, n - N, mean, var, var_y, &info))
		return fprintf(stderr, "start: %s\n", info.text), 1;
	for (ptrdiff_t i = 0; i < n - N; i++) {
		double e = (double)(Y[N + i] - mean[i]), v = (double)var_y[i];
		squares += e * e;
		density -= 0.5 * (log(6.283185307179586 * v) + e * e / v);
	}
	printf("%.5f %.5f\n", sqrt(squares / (double)(n - N)), density / (double)(n - N));
	odvgp_model_free(m);
	return 0;
}
