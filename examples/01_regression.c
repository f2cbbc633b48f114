/*  Regression: 300 noisy measurements of a curve, and how sure the model is where there are none.

        cc -O2 -I. examples/01_regression.c -o build/01_regression -lm && build/01_regression

    Output:
           x    truth    mean   +- 2 sd of the curve, of a measurement
         0.0     0.50    0.53      0.13    0.36
         1.0     0.35    0.36      0.06    0.34
         2.0     1.39    1.41      0.06    0.34
         3.0    -0.31   -0.32      0.07    0.34
         4.0    -0.33   -0.28      0.34    0.48
         5.0    -1.34   -1.32      0.09    0.34
         6.0     0.05    0.04      0.06    0.34
         7.0     0.38    0.37      0.21    0.40
         8.0     1.20   -0.04      1.53    1.56
        noise: standard deviation 0.17, in truth 0.15
        build/01_regression.odvgp holds the model
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <stdlib.h>

enum { N = 300, BETA = 10, GAMMA = 40, ROWS = 9 };

static double curve(double x) { return sin(x) + 0.5 * cos(3 * x); }

/*  A random number in [0, 1): enough for an example. */
static double uniform(void)
{
	static unsigned state = 1;
	state = state * 1664525u + 1013904223u;
	return (state >> 8) / 16777216.0;
}

int main(void)
{
	static double X[N], y[N];
	for (int i = 0; i < N; i++) {
		X[i] = 6 * uniform();
		/* No data lie between 3.5 and 4.5. */
		if (X[i] > 3.5) X[i] += 1;
		y[i] = curve(X[i]) + 0.3 * (uniform() + uniform() + uniform() - 1.5);
	}

	/* 10 beta points carry mean and variance; 40 gamma points refine the mean. Hyperparameters that
       the kernel does not give start from the data and are then learned with everything else. */
	odvgp_config cfg = odvgp_config_defaults(N, 1, 1, BETA, GAMMA);
	cfg.layer[0].kernel = "rbf";
	odvgp_model *model;
	/* When a call fails, it writes here a sentence that says why. */
	odvgp_info info;
	odvgp_status status = odvgp_model_create(&model, &cfg, X, y, NULL, &info);
	if (!status) status = odvgp_fit(model, X, y, 2000, NULL, &info);

	double x[ROWS], mean[ROWS], var[ROWS], var_y[ROWS];
	for (int i = 0; i < ROWS; i++) x[i] = i;
	/* var is that of the curve; var_y that of a new measurement, with the noise. */
	if (!status) status = odvgp_predict_once(model, x, ROWS, mean, var, var_y, &info);
	if (status) {
		fprintf(stderr, "%s\n", info.text);
		return 1;
	}
	printf("   x    truth    mean   +- 2 sd of the curve, of a measurement\n");
	for (int i = 0; i < ROWS; i++)
		printf("%4.1f  %7.2f %7.2f   %7.2f %7.2f\n", x[i], curve(x[i]), mean[i], 2 * sqrt(var[i]),
				2 * sqrt(var_y[i]));

	double noise;
	char kernel[200];
	odvgp_get(model, "noise_variance", &noise, 1, NULL);
	odvgp_kernel_text(model, kernel, sizeof kernel);
	printf("noise: standard deviation %.2f, in truth 0.15\n", sqrt(noise));

	/* Example 04 predicts from this file. */
	const char *path = "build/01_regression.odvgp";
	status = odvgp_save_file(model, path, &info);
	if (status) fprintf(stderr, "%s: %s\n", path, info.text);
	else printf("%s holds the model\n", path);
	odvgp_model_free(model);
	return status != ODVGP_OK;
}
