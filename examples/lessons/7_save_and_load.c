/*  Lesson 7: save, and load in another program. The first run of this program trains a model half
    of the way and writes a file. The second run knows nothing but this file and the data: it
    predicts from the file, loads the model, and trains the other half. A model that was never
    interrupted ends with the same bits.

        cc -O2 -I. examples/lessons/7_save_and_load.c -o build/lesson7 -lm && \
            build/lesson7 save && build/lesson7 load

    Output:
        saved after 6 steps
        loaded after 6 steps
        steps done: 12 with a break, 12 without; predictions have the same bits: yes
        picture: build/lesson7.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lesson.h"

enum { N = 300, HALF = 6, GRID = 201, ROOM = 1 << 20 };

static double X[N], y[N], grid[GRID];
static const char path[] = "build/lesson7.odvgp", picture[] = "build/lesson7.svg";
/*  The file in memory, the predictor, and scratch. Such blocks stand where numbers can. */
static double file[ROOM / 8], frozen[ROOM / 8], scratch[ROOM / 8];

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "%s %s\n", what, why);
	return 1;
}

static odvgp_model *create(odvgp_info *info)
{
	odvgp_config cfg = odvgp_config_defaults(N, 1, 1, 10, 30);
	cfg.layer[0].kernel = "rbf";
	cfg.optim.batch = 100;
	cfg.optim.lr = odvgp_falling(0.05, 0.005, 2 * HALF);
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, X, y, NULL, info), info);
	return gp;
}

/*  Half of the training. */
static void train(odvgp_model *gp)
{
	odvgp_info info;
	for (int i = 0; i < HALF; i++) must(odvgp_step(gp, X, y, NULL, &info), &info);
}

static int save(void)
{
	odvgp_info info;
	odvgp_model *gp = create(&info);
	train(gp);
	must(odvgp_save_file(gp, path, &info), &info);
	odvgp_model_free(gp);
	printf("saved after %d steps\n", HALF);
	return 0;
}

static int load(void)
{
	odvgp_info info = {0};
	size_t bytes;
	if (odvgp_file_read(path, &bytes, file, sizeof file, NULL))
		return complain(path, "cannot be read: run this program with `save` first");

	/* To predict, a program needs a server and no model. */
	odvgp_server server;
	must(odvgp_server_from_memory(
				 &server, file, bytes, ODVGP_ISA_AUTO, frozen, sizeof frozen, &info),
			&info);
	static double half[GRID], var[GRID], mean[2][GRID], low[GRID], high[GRID];
	if (odvgp_predict(&server, grid, GRID, half, NULL, scratch, sizeof scratch, NULL)) return 1;

	/* To train further, it loads the model. */
	odvgp_model *gp;
	must(odvgp_load_file(&gp, path, NULL, &info), &info);
	printf("loaded after %td steps\n", odvgp_steps_done(gp));
	train(gp);
	must(odvgp_predict_once(gp, grid, GRID, mean[0], var, NULL, &info), &info);

	odvgp_model *whole = create(&info);
	train(whole);
	train(whole);
	must(odvgp_predict_once(whole, grid, GRID, mean[1], NULL, NULL, &info), &info);
	printf("steps done: %td with a break, %td without; predictions have the same bits: %s\n",
			odvgp_steps_done(gp), odvgp_steps_done(whole),
			memcmp(mean[0], mean[1], sizeof mean[0]) ? "no" : "yes");
	odvgp_model_free(gp);
	odvgp_model_free(whole);

	band(mean[0], var, GRID, low, high);
	plot_item items[4] = {
			{PLOT_BAND, TWO_SD, grid, low, high, GRID, 0, 0},
			{PLOT_POINTS, "data", X, y, NULL, N, 7, 0},
			{PLOT_LINE, "as saved", grid, half, NULL, GRID, 1, 1},
			{PLOT_LINE, "trained further", grid, mean[0], NULL, GRID, 0, 0},
	};
	plot_scene scene = {NULL, "x", "y", items, 4, 0, 6, 0, 0, 0};
	return drawn(plot_scenes(picture, NULL, &scene, 1), picture);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < N; i++) {
		X[i] = 6 * uniform();
		y[i] = sin(3 * X[i]) + 0.3 * X[i] + 0.3 * normal();
	}
	spread(grid, GRID, 0, 6);
	if (argc == 2 && !strcmp(argv[1], "save")) return save();
	if (argc == 2 && !strcmp(argv[1], "load")) return load();
	return complain("usage:", "lesson7 save, then lesson7 load");
}
