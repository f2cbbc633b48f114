/*  An extended Kalman filter whose model of the motion is learned: a pendulum with friction that no
    formula knows. The filter's step needs three things, which one call gives without allocating:
    the mean of the next state, its Jacobian, and how uncertain the model is there.

        cc -O2 -I. examples/11_kalman_filter.c -o build/11_kalman_filter -lm && \
            build/11_kalman_filter

    Output:
        rms error of          angle    velocity
        measurements          0.103           -
        model alone           0.395       0.908
        filter                0.035       0.099
        inside 2 sd            92 %        91 %
*/
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "lessons/lesson.h"

enum { N = 600, D = 3, S = 2, STEPS = 1500, TIMES = 400 };

/*  The state (angle, velocity) after 50 ms under a torque, in 50 steps. */
static void swing(const double *x, double torque, double *next)
{
	double angle = x[0], velocity = x[1];
	for (int i = 0; i < 50; i++) {
		double friction = 0.3 * velocity + 0.8 * tanh(5 * velocity);
		velocity += 1e-3 * (torque - 9.81 * sin(angle) - friction);
		angle += 1e-3 * velocity;
	}
	next[0] = angle;
	next[1] = velocity;
}

static double torque_at(int time) { return 3 * sin(0.13 * time) + 2 * sin(0.05 * time); }

/*  The filter: a Gaussian of the state. */
typedef struct filter {
	double mean[S], cov[S][S];
} filter;

/*  mean <- f(mean), cov <- J cov J^T + the model's variance + its noise. Scratch for 256
    predictions is more than enough for one gradient. */
static void filter_move(filter *k, service *s, double torque, const double *noise)
{
	double x[D] = {k->mean[0], k->mean[1], torque}, change[S], var[S], slope[S][D], cov[S][S];
	const odvgp_gradient to = {change, var, &slope[0][0], NULL, NULL, NULL};
	if (odvgp_predict_gradient(&s->server, x, 1, &to, s->scratch, s->bytes, NULL)) return;
	for (int i = 0; i < S; i++) slope[i][i] += 1; /* the model's output is the change */
	for (int i = 0; i < S; i++)
		for (int j = 0; j < S; j++) {
			cov[i][j] = i == j ? var[i] + noise[i] : 0;
			for (int a = 0; a < S; a++)
				for (int b = 0; b < S; b++) cov[i][j] += slope[i][a] * k->cov[a][b] * slope[j][b];
		}
	for (int i = 0; i < S; i++) k->mean[i] += change[i];
	memcpy(k->cov, cov, sizeof cov);
}

/*  An angle is measured. */
static void filter_measure(filter *k, double angle, double variance)
{
	double total = k->cov[0][0] + variance, off = angle - k->mean[0];
	double gain[S] = {k->cov[0][0] / total, k->cov[1][0] / total};
	double row[S] = {k->cov[0][0], k->cov[0][1]};
	for (int i = 0; i < S; i++) {
		k->mean[i] += gain[i] * off;
		for (int j = 0; j < S; j++) k->cov[i][j] -= gain[i] * row[j];
	}
}

int main(void)
{
	static double X[N][D], Y[N][S];
	double x_mean[D], x_scale[D], y_mean[S], y_scale[S], noise[S];
	for (int i = 0; i < N; i++) {
		double next[S];
		X[i][0] = 3 * (2 * uniform() - 1);
		X[i][1] = 6 * (2 * uniform() - 1);
		X[i][2] = 5 * (2 * uniform() - 1);
		swing(X[i], X[i][2], next);
		for (int j = 0; j < S; j++) Y[i][j] = next[j] - X[i][j] + (j ? 0.02 : 0.005) * normal();
	}
	odvgp_info info;
	standardise(&X[0][0], N, D, x_mean, x_scale);
	standardise(&Y[0][0], N, S, y_mean, y_scale);

	odvgp_config cfg = odvgp_config_defaults(N, D, S, 60, 120);
	cfg.layer[0].kernel = "rbf(ard)";
	cfg.lik.noise_per_output = 1;
	cfg.optim.lr = odvgp_falling(0.01, 0.001, STEPS);
	cfg.optim.natgrad_step = odvgp_falling(0.1, 0.01, STEPS);
	odvgp_model *gp;
	must(odvgp_model_create(&gp, &cfg, &X[0][0], &Y[0][0], NULL, &info), &info);
	must(odvgp_fit(gp, &X[0][0], &Y[0][0], STEPS, NULL, &info), &info);
	odvgp_get(gp, "noise_variance", noise, S, NULL);
	for (int j = 0; j < S; j++) noise[j] *= y_scale[j] * y_scale[j];

	odvgp_scales scales = {x_mean, x_scale, y_mean, y_scale};
	service s;
	serve(&s, gp, &scales);

	double truth[S] = {0.5, 0}, measured = 0, error[2][S] = {{0}}, inside[S] = {0};
	filter alone = {{0.5, 0}, {{0}}}, k = {{0, 0}, {{1, 0}, {0, 1}}};
	for (int t = 0; t < TIMES; t++) {
		double angle;
		swing(truth, torque_at(t), truth);
		angle = truth[0] + 0.1 * normal();
		filter_move(&alone, &s, torque_at(t), noise);
		filter_move(&k, &s, torque_at(t), noise);
		filter_measure(&k, angle, 0.01);
		measured += (angle - truth[0]) * (angle - truth[0]) / TIMES;
		for (int j = 0; j < S; j++) {
			double e = k.mean[j] - truth[j], f = alone.mean[j] - truth[j];
			error[0][j] += f * f / TIMES;
			error[1][j] += e * e / TIMES;
			inside[j] += (e * e < 4 * k.cov[j][j]) * 100.0 / TIMES;
		}
	}
	printf("rms error of          angle    velocity\n");
	printf("measurements        %7.3f           -\n", sqrt(measured));
	printf("model alone         %7.3f %11.3f\n", sqrt(error[0][0]), sqrt(error[0][1]));
	printf("filter              %7.3f %11.3f\n", sqrt(error[1][0]), sqrt(error[1][1]));
	printf("inside 2 sd         %5.0f %%  %8.0f %%\n", inside[0], inside[1]);
	serve_end(&s);
	odvgp_model_free(gp);
	return 0;
}
