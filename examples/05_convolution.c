/*  Convolution: is a rectangle wide or tall? A Gaussian process over patches of an image, against
    one over all its pixels, with as many inducing inputs.

        cc -O2 -I. examples/05_convolution.c -o build/05_convolution -lm && build/05_convolution

    Output:
        300 images to learn from, 1000 to test: share of wrong answers
          all pixels, rbf      31.8 %
          3 x 3 patches, rbf    0.0 %
        build/05_convolution.svg shows the inducing patches
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 12, PIXELS = SIDE * SIDE, TRAIN = 300, TEST = 1000, POINTS = 12, PATCH = 3 };

/*  A whole number in [0, n): enough for an example. */
static int below(int n)
{
	static unsigned state = 1;
	state = state * 1664525u + 1013904223u;
	return (int)((state >> 8) % (unsigned)n);
}

/*  The outline of a rectangle whose sides differ, anywhere in the image, on a noisy ground. Returns
    1 if it is wide. */
static double draw(double *x)
{
	int w = 0, h = 0, left, top;
	while (w == h) w = 3 + below(SIDE - 3), h = 3 + below(SIDE - 3);
	left = below(SIDE - w + 1), top = below(SIDE - h + 1);
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++) {
			int inside = i >= top && i < top + h && j >= left && j < left + w;
			int edge = i == top || i == top + h - 1 || j == left || j == left + w - 1;
			x[i * SIDE + j] = (inside && edge) + 0.002 * below(100);
		}
	return w > h;
}

static void check(odvgp_status status, const odvgp_info *info)
{
	if (!status) return;
	fprintf(stderr, "%s: %s\n", odvgp_status_text(status), info->text);
	exit(1);
}

/*  The inducing patches, white where a pixel is 1. */
static void draw_patches(const odvgp_model *model, const char *path)
{
	double Z[POINTS * PATCH * PATCH];
	FILE *file = fopen(path, "w");
	if (!file || odvgp_get(model, "Z_beta", Z, POINTS * PATCH * PATCH, NULL)) exit(1);
	fprintf(file, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d 80' width='%d'>\n",
			POINTS * 70 + 10, POINTS * 70 + 10);
	fprintf(file, "<rect width='100%%' height='100%%' fill='#357'/>\n");
	for (int m = 0; m < POINTS; m++)
		for (int k = 0; k < PATCH * PATCH; k++) {
			double v = Z[m * PATCH * PATCH + k];
			int grey = v <= 0 ? 0 : v >= 1 ? 255 : (int)(255 * v);
			fprintf(file, "<rect x='%d' y='%d' width='20' height='20' fill='rgb(%d,%d,%d)'/>\n",
					10 + 70 * m + 20 * (k % PATCH), 10 + 20 * (k / PATCH), grey, grey, grey);
		}
	fprintf(file, "</svg>\n");
	fclose(file);
}

/*  Trains a model, and returns the share of wrong answers in percent. */
static double errors(odvgp_config *cfg, const double *X, const double *y, const double *X_test,
		const double *y_test, const char *picture)
{
	odvgp_model *model;
	odvgp_info info;
	static double mean[TEST];
	int wrong = 0;
	cfg->lik.kind = ODVGP_LIKELIHOOD_BERNOULLI;
	cfg->layer[0].kernel = "rbf";
	cfg->optim.batch = 50;
	check(odvgp_model_create(&model, cfg, X, y, NULL, &info), &info);
	check(odvgp_fit(model, X, y, 300, NULL, &info), &info);
	check(odvgp_predict_once(model, X_test, TEST, mean, NULL, NULL, &info), &info);
	for (int i = 0; i < TEST; i++) wrong += (mean[i] > 0) != (y_test[i] > 0);
	if (picture) draw_patches(model, picture);
	odvgp_model_free(model);
	return 100.0 * wrong / TEST;
}

int main(void)
{
	static double X[TRAIN * PIXELS], y[TRAIN], X_test[TEST * PIXELS], y_test[TEST];
	for (int i = 0; i < TRAIN; i++) y[i] = draw(X + i * PIXELS);
	for (int i = 0; i < TEST; i++) y_test[i] = draw(X_test + i * PIXELS);
	printf("%d images to learn from, %d to test: share of wrong answers\n", TRAIN, TEST);

	odvgp_config cfg = odvgp_config_defaults(TRAIN, PIXELS, 1, POINTS, 0);
	printf("  all pixels, rbf     %5.1f %%\n", errors(&cfg, X, y, X_test, y_test, NULL));

	/* f(image) is a weighted sum of g(patch) over all 100 patches, and g is the Gaussian process:
       what it learns at one place holds everywhere. */
	cfg.layer[0].patches.image_height = cfg.layer[0].patches.image_width = SIDE;
	cfg.layer[0].patches.height = cfg.layer[0].patches.width = PATCH;
	printf("  3 x 3 patches, rbf  %5.1f %%\n",
			errors(&cfg, X, y, X_test, y_test, "build/05_convolution.svg"));
	printf("build/05_convolution.svg shows the inducing patches\n");
	return 0;
}
