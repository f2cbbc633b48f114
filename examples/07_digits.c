/*  Handwritten digits: 8 x 8 pixels, ten classes, learned from 400 images (examples/DATA.md). The
    picture has the test images of which the model is least sure.

        cc -O2 -I. examples/07_digits.c -o build/07_digits -lm && build/07_digits

    Output:
        200 test images: 167 right, mean log p(class) -0.47
        104 of them with a probability above 0.9: 103 right
        picture: build/07_digits.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lessons/lesson.h"

enum { SIDE = 8, D = SIDE * SIDE, K = 10, TRAIN = 400, TEST = 200, STEPS = 300, SHOWN = 8 };

static double X[TRAIN + TEST][D], y[TRAIN + TEST], p[K][TEST], column[2][D];

/*  A line of the file: a letter for each pixel, from A (0) to Q (16), and the label. */
static void read_digits(const char *path)
{
	char pixels[D + 1];
	int label;
	FILE *file = fopen(path, "r");
	for (int i = 0; i < TRAIN + TEST; i++) {
		if (!file || fscanf(file, "%64[A-Q] %d ", pixels, &label) != 2) {
			fprintf(stderr, "%s: cannot be read; run this program where examples/ is\n", path);
			exit(1);
		}
		for (int d = 0; d < D; d++) X[i][d] = (pixels[d] - 'A') / 16.0;
		y[i] = label;
	}
	fclose(file);
}

static int winner(int i)
{
	int k = 0;
	for (int j = 1; j < K; j++)
		if (p[j][i] > p[k][i]) k = j;
	return k;
}

int main(void)
{
	read_digits("examples/digits.txt");
	odvgp_config cfg = odvgp_config_defaults(TRAIN, D, K, 80, 0);
	cfg.lik.kind = ODVGP_LIKELIHOOD_ROBUSTMAX;
	cfg.layer[0].kernel = "rbf(2, variance=4)";
	cfg.optim.lr = odvgp_falling(0.01, 0.001, STEPS);
	cfg.optim.natgrad_step = odvgp_rising(1e-5, 0.1, 50, 0.05, STEPS - 50);
	odvgp_info info;
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, &X[0][0], y, NULL, &info), &info);
	must(odvgp_fit(gp, &X[0][0], y, STEPS, NULL, &info), &info);

	service s;
	int sure = 0, sure_right = 0, right = 0, order[TEST];
	serve(&s, gp, NULL);
	serve_y(&s, X[TRAIN], TEST, &p[0][0], NULL);
	for (int i = 0; i < TEST; i++) {
		int k = winner(i), ok = k == (int)y[TRAIN + i], at = i;
		right += ok;
		sure += p[k][i] > 0.9;
		sure_right += ok && p[k][i] > 0.9;
		/* The least certain first. */
		for (; at > 0 && p[winner(order[at - 1])][order[at - 1]] > p[k][i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	printf("%d test images: %d right, mean log p(class) %.2f\n", TEST, right,
			serve_logp(&s, X[TRAIN], y + TRAIN, TEST));
	printf("%d of them with a probability above 0.9: %d right\n", sure, sure_right);
	serve_end(&s);
	odvgp_model_free(gp);

	static char titles[SHOWN][60];
	static plot_item items[SHOWN];
	plot_scene scenes[SHOWN];
	for (int d = 0; d < D; d++) {
		int line = d / SIDE;
		column[0][d] = d % SIDE + 0.5;
		column[1][d] = SIDE - line - 0.5;
	}
	for (int i = 0; i < SHOWN; i++) {
		int at = order[i], k = winner(at);
		snprintf(titles[i], sizeof titles[i], "%d, p = %.2f; it is %d", k, p[k][at],
				(int)y[TRAIN + at]);
		plot_item image = {PLOT_MAP, NULL, column[0], column[1], X[TRAIN + at], D, 0, SIDE};
		items[i] = image;
		plot_scene scene = {titles[i], NULL, NULL, &items[i], 1, 0, SIDE, 0, SIDE, 0};
		scenes[i] = scene;
	}
	const char *path = "build/07_digits.svg";
	return drawn(plot_grid(path, NULL, scenes, SHOWN, 4), path);
}
