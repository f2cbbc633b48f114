/*  Models by the words of their settings, rows for them, and what such a model has become. Tests of
    readers and of ranks share them. */
#ifndef SETUPS_H
#define SETUPS_H

/*  Settings in the words of odvgp_config_set. `whole`: targets are counts below this number. */
typedef struct setup {
	const char *settings;
	ptrdiff_t outputs, columns;
	int whole;
} setup;

/*  X [rows, inputs] and Y [rows, columns]: targets, or of three columns a target, its weight and its
    noise. */
static void setup_rows(
		const setup *s, odvgp_real *X, odvgp_real *Y, ptrdiff_t rows, ptrdiff_t inputs)
{
	ptrdiff_t i, d;
	for (i = 0; i < rows * inputs; i++) X[i] = (odvgp_real)test_normal();
	for (i = 0; i < rows; i++)
		for (d = 0; d < s->columns; d++) {
			double y = sin((double)X[i * inputs + d % inputs]) + 0.1 * test_normal();
			if (s->whole) y = floor(fmin(fmax(0.5 * y + 0.5, 0), 0.999) * s->whole);
			if (s->columns == 3 && d) y = 1 + 0.1 * y;
			Y[i * s->columns + d] = (odvgp_real)y;
		}
	if (strstr(s->settings, "missing"))
		for (i = 0; i < rows; i += 37) Y[i] = (odvgp_real)NAN;
}

/*  Sets the words; the status of the first that is refused. Threads call it. */
static odvgp_status setup_words(const setup *s, odvgp_config *c, odvgp_info *info)
{
	char word[100];
	const char *at = s->settings;
	odvgp_status status = ODVGP_OK;
	int n;
	for (; !status && sscanf(at, " %99s%n", word, &n) == 1; at += n)
		status = odvgp_config_set(c, word, info);
	return status;
}

/*  What a model has become: parameters, Adam's moments, steps done; the caller frees it. */
typedef struct bytes {
	void *at;
	size_t count;
} bytes;
static bytes parameters(const odvgp_model *m)
{
	ptrdiff_t n = m->par.count, k = m->par.positive, a = m->par.adam;
	bytes b;
	b.count = (size_t)(n + k + 2 * a + 1) * sizeof(odvgp_real);
	b.at = malloc(b.count);
	odvgp_real *to = (odvgp_real *)b.at;
	memcpy(to, m->par.theta, (size_t)n * sizeof *to);
	memcpy(to + n, m->par.value, (size_t)k * sizeof *to);
	if (a) memcpy(to + n + k, m->m1, (size_t)a * sizeof *to);
	if (a) memcpy(to + n + k + a, m->m2, (size_t)a * sizeof *to);
	to[n + k + 2 * a] = (odvgp_real)odvgp_steps_done(m);
	return b;
}

#endif
