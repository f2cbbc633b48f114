/* A sparse Gaussian process, written by odvgp.h: 9 inputs, 1 functions, 4 inducing points.
   model_predict(x, mean, var) for x [9], mean and var [1], in units of the data. Kernel of standardised inputs:
   matern52(1.58893, variance=0.826968, ard)
   x[0] carat
   x[1] cut
   x[2] color
   x[3] clarity
   x[4] depth
   x[5] table
   x[6] x
   x[7] y
   x[8] z
   y[0] log_price
   Trained on 2999 rows of d, likelihood gaussian.
 */
#ifndef model_INCLUDED
#define model_INCLUDED
#include <math.h>

static const float model_scales[] = {
	9.82684553e-1f, 2.89859772f, 3.77731419f, 1.23202527f, 4.38843155f, 8.10215592e-1f,
	3.92722631f, 8.45297813e-1f, 6.14570732e1f, 9.42639828e-1f, 5.7842598e1f, 6.20952308e-1f,
	6.18396997f, 1.29976928f, 6.18756294f, 1.35147262f, 3.8025806f, 1.99873161f,
};

static const float model_constants[] = {
	8.26968193e-1f, 5.0f, 0.0f,
};

static const float model_points[] = {
	-1.4508599e-1f, 2.62113482e-1f, 1.7874217e-1f, -3.43651772e-2f, 7.21401095e-1f, -7.4170506e-1f,
	7.08127096e-2f, 8.46530572e-2f, 1.48752689e-1f, -1.92519188f, 3.42826545e-1f, 1.16145805e-1f,
	5.16322434e-1f, 2.78601289e-1f, -5.3354919e-1f, -2.20137215f, -2.28133702f, -2.05684662f,
	-2.43753895e-1f, -6.3286829e-1f, 4.95641947e-1f, -1.25856295e-1f, -1.13180661f, 1.4327774f,
	1.62235163e-2f, 1.5807813e-2f, -1.35217801e-1f, 2.3140316f, 2.79286746e-2f, -7.90530503e-1f,
	-3.56101334e-1f, 1.3180916e-1f, -1.57523409e-1f, 2.11433578f, 2.18087482f, 2.04331136f,
};

static const float model_factor[] = {
	1.09965229f, 1.32467344e-1f, 1.11150813f, 3.11830699e-1f, 4.8791308e-2f, 1.17254162f,
	1.261563e-1f, -1.30945686e-2f, 3.82047556e-2f, 1.11150742f,
};

static const float model_weights[] = {
	1.13124895f, -3.02384996f, 3.22632253e-1f, 3.85036159f,
};

static const float model_bias[] = {
	7.8021903f,
};

static const float model_variances[] = {
	1.04417229f,
};

static const float model_root[] = {
	3.45439352e-2f, -9.24342219e-3f, -2.526474e-2f, -1.68832298e-2f, 2.69419551e-2f, -9.89714079e-3f,
	3.6293345e-3f, 5.10806404e-2f, -8.61257501e-3f, 4.89896238e-2f,
};

/* a <- L^-1 a */ static inline const float *model_solve(const float *l, float *a) {
	for (int i = 0; i < 4; i++) {
		float t = a[i];
		for (int j = 0; j < i; j++) t -= *l++ * a[j];
		a[i] = t * *l++;
	}
	return l;
}

static inline void model_inputs(const float *x, float *u, const float *s) {
	(void)x, (void)u, (void)s;
	for (int i = 0; i < 9; i++, s += 2) u[0 + i] = (x[0 + i] - s[0]) * s[1];
}

static inline float model_kernel(const float *c, const float *u, const float *z) {
	(void)c, (void)u, (void)z;
	float s0 = 0;
	for (int i = 0; i < 9; i++) s0 += (u[i] - z[i]) * (u[i] - z[i]);
	const float t0 = s0;
	const float r0 = sqrtf(t0), e0 = c[0] * expf(-r0), k0 = (1 + r0 + t0 / 3) * e0;
	return k0;
}

static inline float model_prior(const float *c, const float *u, const float *z) {
	(void)c, (void)u, (void)z;
	const float k0 = c[0];
	return k0;
}

static inline void model_predict(const float *x, float *mean, float *var) {
	const float *z = model_points, *w = model_weights, *s = model_scales, *l = model_factor, *r = model_root, *c = model_constants;
	float u[9], a[4];
	for (int f = 0; f < 1; f += 1, s += 18, c += 3) {
		model_inputs(x, u, s);
		for (int p = 0; p < 1; p++) mean[f + p] = 0;
		for (int j = 0; j < 4; j++, z += 9, w += 1) {
			const float k = model_kernel(c, u, z);
			for (int p = 0; p < 1; p++) mean[f + p] += w[p] * k;
			if (j < 4) a[j] = k;
		}
		for (int p = 0; p < 1; p++) {
			mean[f + p] += model_bias[f + p];
		}
		if (!var) continue;
		float e = model_prior(c, u, u);
		l = model_solve(l, a);
		for (int i = 0; i < 4; i++) e -= a[i] * a[i];
		if (e < 0) e = 0;
		for (int p = 0; p < 1; p++) {
			float v = e;
			for (int i = 0; i < 4; i++) {
				const int n = (4) - i;
				float t = 0;
				for (int j = 0; j < n; j++) t += r[j] * a[i + j];
				v += t * t;
				r += n;
			}
			var[f + p] = v * model_variances[f + p];
		}
	}
}

/* g += w dk(x,z)/du */ static inline void model_add(float w, const float *h, const float *u, const float *z, float *g) {
	(void)w, (void)h, (void)u, (void)z, (void)g;
	for (int i = 0; i < 9; i++) g[i] += w * h[0] * 2 * (u[i] - z[i]);
}

/* dx += derivatives in x from those in u */ static inline void model_back(const float *u, const float *g, const float *s, float *dx) {
	(void)u, (void)g, (void)s, (void)dx;
	for (int i = 0; i < 9; i++, s += 2) dx[0 + i] += s[1] * g[0 + i];
}

/* a <- L^-T a, l is the end of L */ static inline void model_unsolve(const float *l, float *a) {
	for (int i = 4; i-- > 0;) {
		l -= i + 1;
		a[i] *= l[i];
		for (int j = 0; j < i; j++) a[j] -= l[j] * a[i];
	}
}

static inline float model_kernel_slopes(const float *c, const float *u, const float *z, float *h) {
	(void)c, (void)u, (void)z, (void)h;
	float s0 = 0;
	for (int i = 0; i < 9; i++) s0 += (u[i] - z[i]) * (u[i] - z[i]);
	const float t0 = s0;
	const float r0 = sqrtf(t0), e0 = c[0] * expf(-r0), k0 = (1 + r0 + t0 / 3) * e0;
	h[0] = 0 + ((1 + r0) * e0 / -6);
	return k0;
}

static inline float model_prior_slopes(const float *c, const float *u, const float *z, float *h) {
	(void)c, (void)u, (void)z, (void)h;
	const float k0 = c[0];
	h[0] = 0;
	return k0;
}

static inline void model_predict_gradient(const float *x, float *mean, float *var, float *dmean, float *dvar) {
	const float *z = model_points, *w = model_weights, *s = model_scales, *l = model_factor, *r = model_root, *c = model_constants;
	float u[9], a[4], y[4], h[1], g[1 * 9], H[4 * 1];
	for (int f = 0; f < 1; f += 1, s += 18, c += 3) {
		const float *beta = z;
		for (int i = 0; i < 1 * 9; i++) g[i] = 0;
		model_inputs(x, u, s);
		for (int p = 0; p < 1; p++) mean[f + p] = 0;
		for (int j = 0; j < 4; j++, z += 9, w += 1) {
			float *to = j < 4 ? H + j * 1 : h;
			const float k = model_kernel_slopes(c, u, z, to);
			for (int p = 0; p < 1; p++) mean[f + p] += w[p] * k;
			for (int p = 0; p < 1; p++) model_add(w[p], to, u, z, g + p * 9);
			if (j < 4) a[j] = k;
		}
		for (int p = 0; p < 1; p++) {
			mean[f + p] += model_bias[f + p];
			for (int d = 0; d < 9; d++) dmean[(f + p) * 9 + d] = 0;
			model_back(u, g + p * 9, s, dmean + (f + p) * 9);
		}
		float e = model_prior_slopes(c, u, u, h);
		l = model_solve(l, a);
		for (int i = 0; i < 4; i++) e -= a[i] * a[i];
		if (e < 0) e = 0;
		for (int p = 0; p < 1; p++) {
			float v = e;
			for (int j = 0; j < 4; j++) y[j] = e > 0 ? -a[j] : 0;
			for (int i = 0; i < 4; i++) {
				const int n = (4) - i;
				float t = 0;
				for (int j = 0; j < n; j++) t += r[j] * a[i + j];
				for (int j = 0; j < n; j++) y[i + j] += r[j] * t;
				v += t * t;
				r += n;
			}
			model_unsolve(l, y);
			var[f + p] = v * model_variances[f + p];
			for (int i = 0; i < 9; i++) g[i] = 0;
			for (int j = 0; j < 4; j++) model_add(2 * y[j], H + j * 1, u, beta + j * 9, g);
			if (e > 0) model_add(2, h, u, u, g);
			for (int d = 0; d < 9; d++) dvar[(f + p) * 9 + d] = 0;
			model_back(u, g, s, dvar + (f + p) * 9);
			for (int d = 0; d < 9; d++) dvar[(f + p) * 9 + d] *= model_variances[f + p];
		}
	}
}

static const float model_y[] = {
	1.25005797e-1f,
};

/* Mean and variance of y, 1 numbers each. */ static inline void model_predict_y(const float *x, float *mean, float *var) {
	float m[1], v[1];
	model_predict(x, m, v);
	for (int i = 0; i < 1; i++) {
		mean[i] = m[i];
		var[i] = v[i] + model_y[i];
	}
}

static const float model_rows[] = {
	1.07614183f, 1.15808129f, 7.48392701e-1f, 4.00971794f, 4.58586454f, 4.08201313f,
	6.20814476e1f, 5.67486992e1f, 5.71400738f, 5.724998f, 3.54595423f, 7.96931648f,
	2.97904968e-1f, 7.48392701e-1f, 4.00971794f, 4.58586454f, 4.08201313f, 6.20814476e1f,
	5.67486992e1f, 5.71400738f, 5.724998f, 3.54595423f, 7.96931648f, 2.97904968e-1f,
	7.48392701e-1f, 4.00971794f, 4.58586454f, 4.08201313f, 6.20814476e1f, 5.67486992e1f,
	5.71400738f, 5.724998f, 3.54595423f, 7.96931648f, 2.97904968e-1f, 4.92530137e-1f,
	3.81799364f, 4.67229986f, 4.31013155f, 6.13037567e1f, 5.7933342e1f, 5.00215006f,
	5.00944567f, 3.06193185f, 6.35627174f, 3.54153097e-1f, 4.92530137e-1f, 3.81799364f,
	4.67229986f, 4.31013155f, 6.13037567e1f, 5.7933342e1f, 5.00215006f, 5.00944567f,
	3.06193185f, 6.35627174f, 3.54153097e-1f, 1.16331732f, 3.4245379f, 4.52393913f,
	3.69662142f, 6.06585464e1f, 5.93816643e1f, 6.68071747f, 6.67986155f, 4.0619154f,
	9.03086758f, 3.69299591e-1f, 1.16331732f, 3.4245379f, 4.52393913f, 3.69662142f,
	6.06585464e1f, 5.93816643e1f, 6.68071747f, 6.67986155f, 4.0619154f, 9.03086758f,
	3.69299591e-1f, 1.16331732f, 3.4245379f, 4.52393913f, 3.69662142f, 6.06585464e1f,
	5.93816643e1f, 6.68071747f, 6.67986155f, 4.0619154f, 9.03086758f, 3.69299591e-1f,
	1.52649796f, 3.8570075f, 3.77162194f, 3.62013865f, 6.17845421e1f, 5.73066826e1f,
	7.33900499f, 7.33594608f, 4.54052067f, 1.05573788e1f, 3.11126024e-1f, 1.52649796f,
	3.8570075f, 3.77162194f, 3.62013865f, 6.17845421e1f, 5.73066826e1f, 7.33900499f,
	7.33594608f, 4.54052067f, 1.05573788e1f, 3.11126024e-1f,
};

/* The largest error at 10 reference rows: of means in standard deviations of the prior, of variances in its variances. */ static inline float model_self_test(void) {
	const float *unit = model_rows, *row = unit + 2 * 1;
	float worst = 0, got[2 * 1];
	for (int i = 0; i < 10; i++) {
		model_predict(row, got, got + 1);
		row += 9;
		for (int k = 0; k < 2 * 1; k++, row++) {
			const float off = (got[k] - *row) * unit[k], size = off < 0 ? -off : off;
			if (size > worst || size != size) worst = size;
		}
	}
	return worst;
}

#endif
