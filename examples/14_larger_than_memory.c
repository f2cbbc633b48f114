/*  Rows that stay on the disk: a callback reads those that a step needs. Memory and the cost of a
    step do not depend on their number.

        cc -O2 -I. examples/14_larger_than_memory.c -o build/14_larger_than_memory -lm && \
            build/14_larger_than_memory

    Output:
        200000 rows of 5 numbers, 8000 KB on the disk
        1200 steps of 200 rows; model and reader have 2 MB
        RMSE on 1000 new rows 0.10, of the targets 1.24, of their noise 0.10
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 200000, INPUTS = 4, COLUMNS = INPUTS + 1, BETA = 60, GAMMA = 120, NEW = 1000 };

static double uniform(void)
{
	static unsigned state = 7;
	state = state * 1664525u + 1013904223u;
	return (state >> 8) / 16777216.0;
}

/*  Inputs of different units, and a target with noise of standard deviation 0.1. */
static void make_row(double *row)
{
	double noise = uniform() + uniform() + uniform() - 1.5;
	for (int d = 0; d < INPUTS; d++) row[d] = 10 * d + (d + 1) * uniform();
	row[INPUTS] = sin(6 * row[0]) + (row[1] - 11) * (row[2] - 20) + 0.2 * noise;
}

/*  The file, and the mean and scale of each input: 0 and 1 until they are known. */
typedef struct {
	FILE *file;
	double mean[INPUTS], scale[INPUTS];
} table;

/*  odvgp_reader says what is asked: X or Y may be NULL. */
static ptrdiff_t read_rows(void *user, const ptrdiff_t *rows, ptrdiff_t n, double *X, double *Y)
{
	table *t = (table *)user;
	for (ptrdiff_t i = 0; i < n; i++) {
		double row[COLUMNS];
		/* A jump even to where the file stands would empty its buffer. */
		if (i == 0 || rows[i] != rows[i - 1] + 1)
			if (fseek(t->file, (long)(rows[i] * (ptrdiff_t)sizeof row), SEEK_SET)) return i;
		if (fread(row, sizeof row, 1, t->file) != 1) return i;
		for (int d = 0; d < INPUTS && X; d++)
			X[i * INPUTS + d] = (row[d] - t->mean[d]) / t->scale[d];
		if (Y) Y[i] = row[INPUTS];
	}
	return n;
}

static int write_table(FILE *f)
{
	double row[COLUMNS];
	int written = 1;
	for (int i = 0; i < ROWS && written; i++) {
		make_row(row);
		written = fwrite(row, sizeof row, 1, f) == 1;
	}
	return written && !fflush(f);
}

/*  Root mean squares of the targets, and of their differences from the predicted means. */
static odvgp_status judge(odvgp_model *model, const table *t, odvgp_info *info)
{
	static double X[NEW * INPUTS], y[NEW], mean[NEW];
	double errors = 0, targets = 0;
	for (int i = 0; i < NEW; i++) {
		double row[COLUMNS];
		make_row(row);
		for (int d = 0; d < INPUTS; d++) X[i * INPUTS + d] = (row[d] - t->mean[d]) / t->scale[d];
		y[i] = row[INPUTS];
	}
	odvgp_status status = odvgp_predict_once(model, X, NEW, mean, NULL, NULL, info);
	for (int i = 0; i < NEW; i++) {
		errors += (y[i] - mean[i]) * (y[i] - mean[i]) / NEW;
		targets += y[i] * y[i] / NEW;
	}
	printf("RMSE on %d new rows %.2f, of the targets %.2f, of their noise 0.10\n", NEW,
			sqrt(errors), sqrt(targets));
	return status;
}

int main(void)
{
	table t = {tmpfile(), {0}, {1, 1, 1, 1}};
	if (!t.file || !write_table(t.file)) return 1;
	printf("%d rows of %d numbers, %d KB on the disk\n", ROWS, COLUMNS, ROWS / 1000 * COLUMNS * 8);

	odvgp_config cfg = odvgp_config_defaults(ROWS, INPUTS, 1, BETA, GAMMA);
	cfg.optim.batch = 200;
	cfg.optim.lr = odvgp_falling(0.02, 0.002, 1200);
	odvgp_model *model = NULL;
	odvgp_info info;
	/* Without data the model is not initialised: odvgp_init_data follows, when it can read. */
	odvgp_status status = odvgp_model_create(&model, &cfg, NULL, NULL, NULL, &info);
	size_t bytes = status ? 0 : odvgp_reader_size(model, &info);
	void *block = bytes ? malloc(bytes) : NULL;
	const odvgp_reader reader = {read_rows, &t};
	double mean[INPUTS], scale[INPUTS];
	if (!status) status = block ? ODVGP_OK : ODVGP_E_MEMORY;
	if (!status) status = odvgp_set_reader(model, &reader, block, bytes, &info);
	if (!status) status = odvgp_reader_scales(model, mean, scale, &info);
	for (int d = 0; d < INPUTS && !status; d++) t.mean[d] = mean[d], t.scale[d] = scale[d];
	/* From here on the reader's rows are standardised; NULL, NULL stands for them. */
	if (!status) status = odvgp_init_data(model, NULL, NULL, NULL, &info);
	if (!status) status = odvgp_fit(model, NULL, NULL, 1200, NULL, &info);
	if (!status)
		printf("%td steps of %td rows; model and reader have %.0f MB\n", odvgp_steps_done(model),
				cfg.optim.batch, ((double)odvgp_model_size(&cfg, NULL) + (double)bytes) / 1e6);
	if (!status) status = judge(model, &t, &info);
	if (status) fprintf(stderr, "%s\n", info.text);
	odvgp_model_free(model);
	free(block);
	fclose(t.file);
	return status != ODVGP_OK;
}
