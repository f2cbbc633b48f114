/*  Inverse dynamics: the torques of the two joints of an arm, from its angles, their velocities and
    accelerations. The arm is simulated; the model sees 800 random states with noisy torques, and
    is then asked for a smooth movement. Both outputs share inducing points and kernel.

        cc -O2 -I. examples/10_robot_arm.c -o build/10_robot_arm -lm && build/10_robot_arm

    Output:
        joint      rms torque  rms error  inside 2 sd  noise sd  (truth)
        shoulder      8.07 Nm    0.11 Nm        100 %   0.55 Nm     0.50
        elbow         2.23 Nm    0.06 Nm         96 %   0.21 Nm     0.20
        picture: build/10_robot_arm.svg
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lessons/arm.h"
#include "lessons/lesson.h"

enum { N = 800, D = STATE, TIMES = 241, STEPS = 800 };

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

	/* Predictions take inputs as they are and give torques in Nm. */
	static double t[TIMES], states[TIMES][D], truth[JOINTS][TIMES], mean[JOINTS][TIMES],
			var[JOINTS][TIMES], low[JOINTS][TIMES], high[JOINTS][TIMES];
	odvgp_scales scales = {x_mean, x_scale, y_mean, y_scale};
	service s;
	spread(t, TIMES, 0, 12);
	for (int i = 0; i < TIMES; i++) {
		double torque[JOINTS];
		arm_movement(t[i], states[i]);
		arm_torques(states[i], 0, torque);
		for (int j = 0; j < JOINTS; j++) truth[j][i] = torque[j];
	}
	serve(&s, gp, &scales);
	if (odvgp_predict(
				&s.server, &states[0][0], TIMES, &mean[0][0], &var[0][0], s.scratch, s.bytes, NULL))
		return 1;
	serve_end(&s);

	static const char *const names[JOINTS] = {"shoulder", "elbow"};
	static plot_item items[JOINTS][3];
	plot_scene scenes[JOINTS];
	double noise_variance[JOINTS];
	odvgp_get(gp, "noise_variance", noise_variance, JOINTS, NULL);
	printf("joint      rms torque  rms error  inside 2 sd  noise sd  (truth)\n");
	for (int j = 0; j < JOINTS; j++) {
		double squares = 0, all = 0;
		int inside = 0;
		for (int i = 0; i < TIMES; i++) {
			double e = truth[j][i] - mean[j][i];
			squares += e * e / TIMES;
			all += truth[j][i] * truth[j][i] / TIMES;
			inside += fabs(e) < 2 * sqrt(var[j][i]);
		}
		printf("%-9s %8.2f Nm %7.2f Nm %10.0f %% %6.2f Nm %8.2f\n", names[j], sqrt(all),
				sqrt(squares), 100.0 * inside / TIMES, sqrt(noise_variance[j]) * y_scale[j],
				arm_noise[j]);
		band(mean[j], var[j], TIMES, low[j], high[j]);
		plot_item panel[3] = {
				{PLOT_BAND, TWO_SD " of f", t, low[j], high[j], TIMES, 0, 0},
				{PLOT_LINE, "truth", t, truth[j], NULL, TIMES, 6, 2},
				{PLOT_LINE, "mean", t, mean[j], NULL, TIMES, 0, 0},
		};
		memcpy(items[j], panel, sizeof panel);
		plot_scene scene = {names[j], "seconds", "torque, Nm", items[j], 3, 0, 12, 0, 0, 0};
		scenes[j] = scene;
	}
	odvgp_model_free(gp);
	const char *path = "build/10_robot_arm.svg";
	return drawn(plot_scenes(path, NULL, scenes, JOINTS), path);
}
