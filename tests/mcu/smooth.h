/*  smooth.h - the data that cases.c and costs.c train on: a smooth function of all inputs. */
#ifndef SMOOTH_H
#define SMOOTH_H

static float uniform(void)
{
	static uint32_t state = 3;
	state = state * 1664525u + 1013904223u;
	return (float)(state >> 8) / 16777216.0f;
}

/*  Draws a row x [D] in [-1.5, 1.5], and returns the function, of variance about 1/2, there. */
static float smooth_row(float *x, ptrdiff_t D)
{
	float sum = 0;
	for (ptrdiff_t d = 0; d < D; d++) {
		x[d] = 3 * uniform() - 1.5f;
		sum += sinf((1 + 0.3f * (float)d) * x[d]);
	}
	return sum / sqrtf((float)D);
}

/*  A unit and an offset of its own for each column. */
static void smooth_units(float *x_mean, float *x_scale, ptrdiff_t D)
{
	for (ptrdiff_t d = 0; d < D; d++) {
		x_mean[d] = (float)d;
		x_scale[d] = 1 + (float)d / 2;
	}
}

#endif
