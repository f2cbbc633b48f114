/*  Expectations over normal variables by rules, as references for moments of y. */
#ifndef INTEGRALS_H
#define INTEGRALS_H

/*  Nodes and weights of an expectation over a standard normal. */
typedef struct nodes {
	int n;
	double t[400], w[400];
} nodes;

/*  From -9 to 9. For a function whose nearest pole is at distance d from the reals the error is about
    e^(-2 pi d / step): for the softmax of functions f, d = pi / sd(f). */
static nodes trapezoid_nodes(double step)
{
	nodes rule;
	rule.n = 2 * (int)(9 / step + 0.5) + 1;
	for (int h = 0; h < rule.n; h++) {
		const double t = step * (h - rule.n / 2);
		rule.t[h] = t;
		rule.w[h] = step * exp(-0.5 * t * t) / sqrt(2 * acos(-1));
	}
	return rule;
}

/*  y = E[softmax(f)] of K <= 4 functions by a product of rules over the differences from the first. */
static void softmax_by(const nodes *rule, int K, const double *m, const double *v, double *y)
{
	double L[3][3] = {{0}}, z[3];
	int at[3] = {0}, d;
	for (int i = 0; i < K - 1; i++)
		for (int j = 0; j <= i; j++) {
			double s = v[0] + (i == j ? v[i + 1] : 0);
			for (int k = 0; k < j; k++) s -= L[i][k] * L[j][k];
			L[i][j] = i == j ? sqrt(s) : s / L[j][j];
		}
	for (int i = 0; i < K; i++) y[i] = 0;
	do {
		double weight = 1, f[4] = {0}, top = 0, sum = 0;
		for (d = 0; d < K - 1; d++) z[d] = rule->t[at[d]], weight *= rule->w[at[d]];
		for (int i = 1; i < K; i++) {
			f[i] = m[i] - m[0];
			for (int j = 0; j < i; j++) f[i] += L[i - 1][j] * z[j];
			top = fmax(top, f[i]);
		}
		for (int i = 0; i < K; i++) sum += f[i] = exp(f[i] - top);
		for (int i = 0; i < K; i++) y[i] += weight * f[i] / sum;
		for (d = 0; d < K - 1 && ++at[d] == rule->n; d++) at[d] = 0;
	} while (d < K - 1);
}

#endif
