/*  A simulated arm, for examples: two rods of 1 kg and 1 m, the angle of the second relative to the
    first, gravity downwards, both angles 0 where the arm hangs. A state x is the angles, velocities
    and accelerations of shoulder and elbow. */
#ifndef ARM_H
#define ARM_H

#include "lesson.h"

enum { JOINTS = 2, STATE = 6 };
static const double arm_noise[JOINTS] = {0.5, 0.2}; /* standard deviations of measured torques */

/*  Torques at x, with a load in kg at the arm's end. */
static inline void arm_torques(const double *x, double load, double *torque)
{
	double c = cos(x[1]), s = sin(x[1]), g = 9.81, both = sin(x[0] + x[1]),
		   turning = x[3] * (2 * x[2] + x[3]);
	torque[0] = (5.0 / 3 + c) * x[4] + (1.0 / 3 + 0.5 * c) * x[5] - 0.5 * s * turning +
				1.5 * g * sin(x[0]) + 0.5 * g * both;
	torque[1] = (1.0 / 3 + 0.5 * c) * x[4] + x[5] / 3 + 0.5 * s * x[2] * x[2] + 0.5 * g * both;
	torque[0] +=
			load * ((2 + 2 * c) * x[4] + (1 + c) * x[5] - s * turning + g * (sin(x[0]) + both));
	torque[1] += load * ((1 + c) * x[4] + x[5] + s * x[2] * x[2] + g * both);
}

/*  Measured torques y at x. */
static inline void arm_measure(const double *x, double load, double *y)
{
	arm_torques(x, load, y);
	for (int j = 0; j < JOINTS; j++) y[j] += arm_noise[j] * normal();
}

/*  n random states of an arm without a load, and their measured torques. */
static inline void arm_rows(int n, double (*X)[STATE], double (*Y)[JOINTS])
{
	static const double range[STATE] = {1.5, 1.8, 2, 3, 3, 6};
	for (int i = 0; i < n; i++) {
		for (int d = 0; d < STATE; d++) X[i][d] = range[d] * (2 * uniform() - 1);
		arm_measure(X[i], 0, Y[i]);
	}
}

/*  A movement: angles of two sines, and their derivatives. */
static inline void arm_movement(double t, double *x)
{
	for (int j = 0; j < JOINTS; j++) {
		double size = j ? 1.1 : 0.9, speed = j ? 2.1 : 1.3, angle = speed * t + j;
		x[j] = size * sin(angle), x[2 + j] = size * speed * cos(angle);
		x[4 + j] = -speed * speed * x[j];
	}
}

#endif
