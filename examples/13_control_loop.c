/*  A control loop at 1 kHz without allocation. The torques of an arm are learned from 800 noisy
    rows; then each tick asks the model for the torque of the acceleration that brings the arm back
    to its path, and for its gradient, whose columns for the accelerations are the arm's inertia.
    Where the model is unsure, or this matrix is not positive definite, the tick does without the
    model. The loop's memory is static.

        cc -O2 -I. examples/13_control_loop.c -o build/13_control_loop -lm && build/13_control_loop

    Output:
        rms error of angles, mrad     shoulder    elbow   ticks without the model
        springs and dampers alone         47.9     68.8    10000
        with the model                     1.8      5.2        0
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lessons/arm.h"
#include "lessons/lesson.h"

enum { N = 800, D = STATE, STEPS = 800, TICKS = 10000 };
static double block[200000], scratch[200000];

/*  The acceleration of the arm by its torques, which are linear in it. */
static void accelerate(double *x, const double *torque)
{
	double at_rest[JOINTS], inertia[JOINTS][JOINTS];
	x[4] = x[5] = 0;
	arm_torques(x, 0, at_rest);
	for (int j = 0; j < JOINTS; j++) {
		double moved[JOINTS];
		x[4 + j] = 1;
		arm_torques(x, 0, moved);
		x[4 + j] = 0;
		for (int i = 0; i < JOINTS; i++) inertia[i][j] = moved[i] - at_rest[i];
	}
	double a = torque[0] - at_rest[0], b = torque[1] - at_rest[1],
		   det = inertia[0][0] * inertia[1][1] - inertia[0][1] * inertia[1][0];
	x[4] = (inertia[1][1] * a - inertia[0][1] * b) / det;
	x[5] = (inertia[0][0] * b - inertia[1][0] * a) / det;
}

/*  The model's torque at x. Returns whether it may be trusted: a standard deviation below 1 Nm, and
    an inertia that is symmetric to 30 % and positive definite. */
static int model_torque(const odvgp_server *s, const double *x, double *torque)
{
	double var[JOINTS], dmean[JOINTS][D], dvar[JOINTS][D];
	const odvgp_gradient to = {torque, var, &dmean[0][0], &dvar[0][0], NULL, NULL};
	if (odvgp_predict_gradient(s, x, 1, &to, scratch, sizeof scratch, NULL)) return 0;
	double a = dmean[0][4], b = dmean[0][5], c = dmean[1][4], d = dmean[1][5], off = 0.5 * (b + c);
	return var[0] < 1 && var[1] < 1 && fabs(b - c) < 0.3 * (a + d) && a > 0 && a * d > off * off;
}

/*  Follows the movement for TICKS ticks. rms [JOINTS]: of the errors in mrad. Returns the number of
    ticks that did without the model. */
static int follow(const odvgp_server *s, double *rms)
{
	double x[D], path[D], sum[JOINTS] = {0, 0};
	int without = 0;
	arm_movement(0, x);
	for (int tick = 0; tick < TICKS; tick++) {
		double torque[JOINTS], wanted[D];
		arm_movement(1e-3 * tick, path);
		for (int j = 0; j < JOINTS; j++) {
			double error = path[j] - x[j], velocity = path[2 + j] - x[2 + j];
			sum[j] += error * error;
			wanted[j] = x[j], wanted[2 + j] = x[2 + j];
			wanted[4 + j] = path[4 + j] + 100 * error + 20 * velocity;
		}
		if (!s || !model_torque(s, wanted, torque)) {
			without++;
			for (int j = 0; j < JOINTS; j++)
				torque[j] =
						(j ? 30 : 150) * (path[j] - x[j]) + (j ? 6 : 30) * (path[2 + j] - x[2 + j]);
		}
		accelerate(x, torque);
		for (int j = 0; j < JOINTS; j++) {
			x[2 + j] += 1e-3 * x[4 + j];
			x[j] += 1e-3 * x[2 + j];
		}
	}
	for (int j = 0; j < JOINTS; j++) rms[j] = 1000 * sqrt(sum[j] / TICKS);
	return without;
}

int main(void)
{
	static double X[N][D], Y[N][JOINTS], x_mean[D], x_scale[D], y_mean[JOINTS], y_scale[JOINTS];
	arm_rows(N, X, Y);
	odvgp_info info;
	standardise(&X[0][0], N, D, x_mean, x_scale);
	standardise(&Y[0][0], N, JOINTS, y_mean, y_scale);
	odvgp_config cfg = odvgp_config_defaults(N, D, JOINTS, 80, 160);
	cfg.layer[0].kernel = "rbf(ard)";
	cfg.lik.noise_per_output = 1;
	cfg.optim.lr = odvgp_falling(0.01, 0.001, STEPS);
	cfg.optim.natgrad_step = odvgp_falling(0.1, 0.01, STEPS);
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, &X[0][0], &Y[0][0], NULL, &info), &info);
	must(odvgp_fit(gp, &X[0][0], &Y[0][0], STEPS, NULL, &info), &info);
	const odvgp_scales scales = {x_mean, x_scale, y_mean, y_scale};
	odvgp_server server;
	must(odvgp_freeze(gp, &scales, block, sizeof block, &info), &info);
	must(odvgp_server_from_block(&server, block, sizeof block, ODVGP_ISA_AUTO, &info), &info);
	odvgp_model_free(gp);

	printf("rms error of angles, mrad     shoulder    elbow   ticks without the model\n");
	for (int with = 0; with < 2; with++) {
		double rms[JOINTS];
		int without = follow(with ? &server : NULL, rms);
		printf("%-29s %8.1f %8.1f %8d\n", with ? "with the model" : "springs and dampers alone",
				rms[0], rms[1], without);
	}
	return 0;
}
