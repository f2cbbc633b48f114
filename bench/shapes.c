/*  shapes.c - generated rows to train on: inputs uniform in [0, 1], then a target of variance 1 and
    noise.

        cc -O2 bench/shapes.c -o build/shapes -lm
        build/shapes smooth 20000 8 0.1 1 >smooth.csv

    The arguments are the shape, rows, inputs, the noise's standard deviation in units of the
    function's, and a seed. Shapes: smooth, a sum of slow waves; rough, of waves whose frequencies
    have a heavy tail; additive, a sum of functions of one input each; steps, a tree of constants on
    a slow wave. bench/results/auto.txt has what was trained on them. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAVES = 64, INPUTS = 64, DEPTH = 7, LEAVES = 1 << DEPTH };
static const double PI = 3.14159265358979323846;

typedef struct shape {
	const char *kind;
	int D;
	double w[WAVES][INPUTS], phase[WAVES], height[WAVES];
	/* A tree, whose node k has the children 2 k and 2 k + 1. */
	int input[LEAVES];
	double cut[LEAVES], leaf[LEAVES];
} shape;

static uint64_t state;

/*  splitmix64, in (0, 1). */
static double uniform(void)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(2 * PI * uniform()); }

/*  Waves of all inputs, or, for `additive`, of one each. A rough one has frequencies of Student's t
    with three degrees of freedom, as Matern 3/2 has. */
static void shape_make(shape *s, const char *kind, int D)
{
	int rough = !strcmp(kind, "rough"), additive = !strcmp(kind, "additive");
	double speed = rough ? 3 : additive ? 12 : 4;
	memset(s, 0, sizeof *s);
	s->kind = kind;
	s->D = D;
	for (int k = 0; k < WAVES; k++) {
		double a = normal(), b = normal(), c = normal(),
			   wide = rough ? sqrt(3 / (a * a + b * b + c * c)) : 1;
		for (int j = 0; j < D; j++)
			if (!additive || k % D == j) s->w[k][j] = speed * wide * normal() / (1 + 0.3 * j);
		s->phase[k] = 2 * PI * uniform();
		s->height[k] = normal();
	}
	for (int k = 1; k < LEAVES; k++) {
		s->input[k] = (int)(uniform() * fmin(D, 5));
		s->cut[k] = 0.2 + 0.6 * uniform();
		s->leaf[k] = normal();
	}
	s->leaf[0] = normal();
}

static double shape_at(const shape *s, const double *x)
{
	double y = 0;
	int node = 1;
	for (int k = 0; k < WAVES; k++) {
		double angle = s->phase[k];
		for (int j = 0; j < s->D; j++) angle += s->w[k][j] * x[j];
		y += s->height[k] * cos(angle) * sqrt(2.0 / WAVES);
	}
	if (strcmp(s->kind, "steps") != 0) return y;
	for (int d = 0; d < DEPTH; d++) node = 2 * node + (x[s->input[node]] > s->cut[node]);
	return 0.5 * y + s->leaf[node - LEAVES];
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = {"smooth", "rough", "additive", "steps"};
	static shape s;
	double x[INPUTS], sum = 0, squares = 0;
	int known = 0, many = 10000;
	for (int i = 0; i < 4 && argc == 6; i++) known |= !strcmp(argv[1], kinds[i]);
	long rows = argc == 6 ? atol(argv[2]) : 0;
	int D = argc == 6 ? atoi(argv[3]) : 0;
	if (!known || rows < 1 || D < 1 || D > INPUTS) {
		fprintf(stderr, "usage: shapes smooth|rough|additive|steps ROWS INPUTS NOISE SEED\n");
		return 2;
	}
	double noise = atof(argv[4]);
	state = (uint64_t)atol(argv[5]);
	shape_make(&s, argv[1], D);
	for (int i = 0; i < many; i++) {
		for (int j = 0; j < D; j++) x[j] = uniform();
		double y = shape_at(&s, x);
		sum += y;
		squares += y * y;
	}
	double mean = sum / many, sd = sqrt(squares / many - mean * mean);
	for (long i = 0; i < rows; i++) {
		for (int j = 0; j < D; j++) printf("%.6f,", x[j] = uniform());
		printf("%.6f\n", (shape_at(&s, x) - mean) / sd + noise * normal());
	}
	return 0;
}
