/*  Models as C code: decimals, templates and refusals here; with a folder the models are written
    there with what the library predicts, and tests/checks/export.sh compiles and runs them
    (ODVGP_EXPORT_TO is the folder). */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "images.h"
#include "members.h"
#include "conditions.h"
#include "integrals.h"
#include "mcu/shapes.h"
#include "cores.h"

enum { ROWS = 16, MOST = 40 };

static const char *folder; /* NULL: nothing is written */
static FILE *all;          /* the program that runs the exports */
static int cases;

/* ---- text ---- */

typedef struct {
	char *at;
	size_t used, size, pieces, stop; /* stop: the piece that is refused, counted from 1 */
} text;

static int put(void *user, const char *s, size_t bytes)
{
	text *t = (text *)user;
	if (++t->pieces == t->stop) return 1;
	if (t->used + bytes + 1 > t->size) {
		t->size = 2 * (t->used + bytes + 1);
		t->at = (char *)realloc(t->at, t->size);
		CHECK(t->at != NULL);
	}
	memcpy(t->at + t->used, s, bytes);
	t->at[t->used += bytes] = 0;
	return 0;
}

static odvgp_status export_to(text *t, const odvgp_server *s, odvgp_export_settings *o,
		odvgp_export_costs *costs, odvgp_info *info)
{
	size_t bytes = odvgp_export_scratch(s, NULL);
	void *scratch = test_alloc(bytes ? bytes : 1);
	o->write = put;
	o->user = t;
	odvgp_status status = odvgp_export(s, o, costs, scratch, bytes, info);
	free(scratch);
	return status;
}

static odvgp_export_settings options(const char *name, int real)
{
	odvgp_export_settings o;
	memset(&o, 0, sizeof o);
	o.name = name;
	o.real = real;
	return o;
}

/* ---- what the library says ---- */

static nodes nodes_of_export(void)
{
	odvgp_real t[GP__EXPORT_NODES], w[GP__EXPORT_NODES];
	nodes rule = {GP__EXPORT_NODES, {0}, {0}};
	gp__gauss_hermite(rule.n, t, w);
	for (int h = 0; h < rule.n; h++) rule.t[h] = (double)t[h], rule.w[h] = (double)w[h];
	return rule;
}

static double normal_cdf(double x) { return 0.5 * erfc(-x * sqrt(0.5)); }

/*  How far 20 nodes may be from the integral in moments of y, where sd(f) is up to 1.1; 0: an export
    needs no rule. */
static double rule_off(const gp__predictor *p)
{
	switch ((odvgp_likelihood)p->likelihood) {
	case ODVGP_LIKELIHOOD_LOGIT: return 6e-10;
	case ODVGP_LIKELIHOOD_BETA: return 5e-8;
	case ODVGP_LIKELIHOOD_ROBUSTMAX: return 9e-7;
	case ODVGP_LIKELIHOOD_SOFTMAX: return 2e-9;
	default: return 0;
	}
}

/*  Moments y, vy [K] of such a likelihood by its definition, from those of f. */
static void y_by(const nodes *rule, const gp__predictor *p, int K, const double *m, const double *v,
		double *y, double *vy)
{
	const gp__view view = gp__view_of(p, 0);
	const double a = p->lik_params ? (double)view.lik_params[0] : 0,
				 jitter = p->likelihood == ODVGP_LIKELIHOOD_ROBUSTMAX ? (double)view.rule[0] : 0;
	if (p->likelihood == ODVGP_LIKELIHOOD_SOFTMAX) softmax_by(rule, K, m, v, y);
	for (int i = 0; i < K; i++) {
		double first = 0, second = 0, sd = sqrt(v[i]);
		for (int h = 0; h < rule->n; h++) {
			double f = m[i] + sd * rule->t[h], w = rule->w[h];
			if (p->likelihood == ODVGP_LIKELIHOOD_LOGIT) first += w / (1 + exp(-f));
			else if (p->likelihood == ODVGP_LIKELIHOOD_BETA)
				second += w * normal_cdf(f) * normal_cdf(f);
			else if (p->likelihood == ODVGP_LIKELIHOOD_ROBUSTMAX) {
				for (int k = 0; k < K; k++)
					if (k != i)
						w *= jitter + (1 - 2 * jitter) * normal_cdf((f - m[k]) / sqrt(v[k]));
				first += w;
			}
		}
		if (p->likelihood == ODVGP_LIKELIHOOD_LOGIT) y[i] = first;
		if (p->likelihood == ODVGP_LIKELIHOOD_ROBUSTMAX)
			y[i] = (1 - a) * first + a / (K - 1) * (1 - first);
		vy[i] = y[i] * (1 - y[i]);
		if (p->likelihood == ODVGP_LIKELIHOOD_BETA) {
			y[i] = normal_cdf(m[i] / sqrt(1 + v[i]));
			vy[i] = (y[i] - second) / (1 + a) + second - y[i] * y[i];
		}
	}
}

/*  The library's predictions of rows X [n,D], with the tolerances, as a table of C. An export is
    accurate to 1e-11 (1e-5 in float) of the prior's sd times the condition. Where it takes moments
    of y by 20 nodes and the library by integrals, the table has what these nodes give for the
    library's moments of f; the library is compared with the integral here, and the nodes too, with
    rule_off. The self-test has the library's answers, and y's largest as units: up to four times
    that. */
static void write_case(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n, const double *unit,
		int real, int no_libm, const char *what)
{
	const gp__predictor *p = gp__layer_of(s);
	ptrdiff_t D = s->D, F = s->F, Y = s->y_rows;
	const int rule = rule_off(p) > 0;
	const nodes few = nodes_of_export(), many = trapezoid_nodes(0.1);
	size_t bytes = odvgp_predict_gradient_scratch(s, 1, NULL);
	void *scratch = test_alloc(bytes);
	odvgp_real mean[MOST], var[MOST], dmean[MOST], dvar[MOST], y[MOST], vy[MOST], x[MOST] = {0};
	const odvgp_gradient to = {mean, var, dmean, dvar, NULL, NULL};
	char name[60], path[300];
	text t = {NULL, 0, 0, 0, 0};
	snprintf(name, sizeof name, "m%d", cases++);
	odvgp_export_settings o = options(name, real);
	o.no_libm = no_libm;
	CHECK_STATUS(export_to(&t, s, &o, NULL, NULL), ODVGP_OK);
	CHECK(t.at && strstr(t.at, "#endif"));
	if (folder && t.at) {
		snprintf(path, sizeof path, "%s/%s.h", folder, name);
		FILE *file = fopen(path, "wb");
		CHECK(file && fwrite(t.at, 1, t.used, file) == t.used && fclose(file) == 0);
		const double eps = real == 4 || sizeof(odvgp_real) == 4 ? 1e-5 : 1e-11;
		const conditions of = conditions_of(s, X, n);
		const double of_y = fmax(1, of.sd * of.sd) * fmax(of.mean, of.var);
		double off = 0;
		CHECK(GP__EXPORT_NODES <= 20 && MOST >= F * D && MOST >= Y);
		fprintf(all, "#include \"%s.h\"\n/* %s */\nstatic const double want_%s[] = {\n", name, what,
				name);
		for (ptrdiff_t d = 0; d < D; d++) fprintf(all, "%.17g, ", unit[d]);
		for (ptrdiff_t k2 = 0; k2 < F * (2 + 2 * D); k2++) {
			int is_var = (k2 >= F && k2 < 2 * F) || k2 >= F * (2 + D);
			double tolerance = eps * (is_var ? of.sd * of.sd * of.var : of.sd * of.mean);
			if (k2 >= 2 * F) tolerance *= of.inputs / unit[(k2 - 2 * F) % D];
			fprintf(all, "%.17g, ", tolerance);
		}
		/* of y's moments, relative to 1 and their size */
		for (ptrdiff_t k2 = 0; k2 < 2 * Y; k2++) fprintf(all, "%.17g, ", eps * of_y);
		for (ptrdiff_t i = 0; i < n; i++) {
			double f[2][MOST], by[2][MOST], integral[2][MOST];
			for (ptrdiff_t d = 0; d < D; d++)
				x[d] = real == 4 ? (odvgp_real)(float)X[i * D + d] : X[i * D + d];
			CHECK_STATUS(odvgp_predict_gradient(s, x, 1, &to, scratch, bytes, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_predict_y(s, x, 1, y, vy, scratch, bytes, NULL), ODVGP_OK);
			for (ptrdiff_t k = 0; k < F; k++) f[0][k] = (double)mean[k], f[1][k] = (double)var[k];
			for (ptrdiff_t k = 0; k < Y; k++) by[0][k] = (double)y[k], by[1][k] = (double)vy[k];
			if (rule) {
				y_by(&many, p, (int)Y, f[0], f[1], integral[0], integral[1]);
				y_by(&few, p, (int)Y, f[0], f[1], by[0], by[1]);
				for (ptrdiff_t k = 0; k < Y; k++) {
					CHECK_NEAR((double)y[k], integral[0][k], eps * of_y);
					CHECK_NEAR((double)vy[k], integral[1][k], eps * of_y);
					off = fmax(off, fabs(by[0][k] - integral[0][k]));
					off = fmax(off, fabs(by[1][k] - integral[1][k]));
				}
			}
			fprintf(all, "\n");
			for (ptrdiff_t d = 0; d < D; d++) fprintf(all, "%.17g, ", (double)x[d]);
			for (ptrdiff_t k = 0; k < F; k++) fprintf(all, "%.17g, ", (double)mean[k]);
			for (ptrdiff_t k = 0; k < F; k++) fprintf(all, "%.17g, ", (double)var[k]);
			for (ptrdiff_t k = 0; k < F * D; k++) fprintf(all, "%.17g, ", (double)dmean[k]);
			for (ptrdiff_t k = 0; k < F * D; k++) fprintf(all, "%.17g, ", (double)dvar[k]);
			for (ptrdiff_t k = 0; k < 2 * Y; k++) fprintf(all, "%.17g, ", by[k / Y][k % Y]);
		}
		/* in float the nodes are rounded, too */
		CHECK_SAY(off <= rule_off(p) + BY_PRECISION(0, 6e-9), "%s: 20 nodes are off by %.2g", what, off);
		/* the self-test's bar */
		fprintf(all, "\n};\nCASE(%s, %s, %d, %d, %d, %d, %g, \"%s\")\n", name,
				real == 4 ? "float" : "double", (int)n, (int)D, (int)F, (int)Y,
				eps * of_y + 4 * rule_off(p), what);
	}
	free(t.at);
	free(scratch);
}

/*  In both precisions: with libm in one, without it in the other; every other time the reverse. */
static void write_cases(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n, const double *unit,
		const char *what)
{
	int other = cases / 2 % 2;
	write_case(s, X, n, unit, 8, other, what);
	write_case(s, X, n, unit, 4, !other, what);
}

static const double one[] = {1, 1, 1, 1};

/* ---- models ---- */

TEST(every_member_and_factor)
{
	int mean, cov;
	EACH_PAIR(mean, cov)
	{
		char what[40];
		test_seed = 700 + (uint64_t)(mean * COVS + cov);
		fixture a = make_sloped_pair(mean, cov, 3, 7, 9, "matern52 + rbf", what);
		served p = serve_rows(&a, NULL, ROWS);
		write_cases(&p.s, a.X, ROWS, one, what);
		unserve(&p);
		drop(&a);
	}
}

TEST(every_kernel)
{
	static const char *const kernels[] = {"rbf", "rbf(ard)", "rq", "periodic(ard)", "matern12",
			"matern32", "matern52(ard)", "rq(ard)", "periodic", "linear", "linear(ard) * rbf",
			"polynomial(degree=3) + rbf", "polynomial(degree=1)", "constant * rbf + white",
			"constant + white", "(rbf(dims=0) + matern32(ard)) * matern52 + linear(dims=1)",
			"periodic(ard, dims=0) * rq(dims=1) + polynomial * matern52",
			"rbf(dims=1+0) * matern12", "additive",
			"matern52(ard) + additive(ard) * rbf + periodic * linear(ard=0:2)",
			"rbf(ard=0:2) * additive(dims=1)", "laplacian", "laplacian(ard) * linear + rbf",
			"laplacian(dims=1) + laplacian(2, dims=1) * matern12"};
	for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
		odvgp_config c = random_config(30, 2, 1, 6, 9);
		test_seed = 720 + (uint64_t)k;
		fixture a = make_kernel(&c, kernels[k]);
		served p = serve_rows(&a, NULL, ROWS);
		write_cases(&p.s, a.X, ROWS, one, kernels[k]);
		unserve(&p);
		drop(&a);
	}
}

TEST(outputs_in_their_units)
{
	static const odvgp_mean_function functions[] = {
			ODVGP_MEAN_FUNCTION_CONSTANT, ODVGP_MEAN_FUNCTION_LINEAR, ODVGP_MEAN_FUNCTION_LINEAR};
	static const char *const names[] = {"shared", "mixed", "independent"};
	for (int k = 0; k < 3; k++) {
		odvgp_config c = random_config(30, 2, k == 1 ? 2 : 3, 6, 8);
		odvgp_real X[2 * ROWS];
		if (k == 1) c.functions = 3;
		c.independent = k == 2;
		c.layer[0].mean_function = functions[k];
		test_seed = 740 + (uint64_t)k;
		fixture a = make_random(&c, k == 2 ? "matern52 * rbf + linear + periodic" : "matern52");
		served p = serve_rows(&a, &units_of_data, ROWS);
		to_units(a.X, ROWS, X);
		write_cases(&p.s, X, ROWS, units_of_x, names[k]);
		unserve(&p);
		drop(&a);
	}
}

/*  All kinds, beyond their ranges too. */
TEST(transformed_columns)
{
	static const odvgp_real from[] = {GP__R(-1.9), GP__R(-0.4), GP__R(0.5), GP__R(1.7)},
							to[] = {-3, GP__R(-0.6), 1, GP__R(1.5)};
	const odvgp_transform t[3][2] = {
			{{ODVGP_TRANSFORM_LOG, GP__R(2.5), 0, GP__R(-1.5), GP__R(1.3), 0, NULL, NULL},
					{ODVGP_TRANSFORM_ASINH, GP__R(0.3), GP__R(0.5), GP__R(-1.7), GP__R(1.6), 0,
							NULL, NULL}},
			{{ODVGP_TRANSFORM_LINEAR, 0, 0, 0, 0, 4, from, to},
					{ODVGP_TRANSFORM_NONE, 0, 0, 0, 0, 0, NULL, NULL}},
			/* steep: units of the self-test */
			{{ODVGP_TRANSFORM_NONE, 0, 0, 0, 0, 0, NULL, NULL},
					{ODVGP_TRANSFORM_ASINH, 0, GP__R(1e-3), -2, 2, 0, NULL, NULL}}};
	for (int k = 0; k < 3; k++) {
		odvgp_config c = random_config(30, 2, 2, 6, 8);
		if (k == 1) c.functions = 3;
		c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
		test_seed = 750 + (uint64_t)k;
		fixture a = make_random(&c, k == 2 ? "periodic + rbf" : "matern52");
		for (int i = 0; i < 2 * ROWS; i++) /* differences do not cross knots */
			for (int j = 0; j < 4; j++)
				if (fabs((double)a.X[i] - (double)from[j]) < 1e-3) a.X[i] += GP__R(0.01);
		CHECK_STATUS(odvgp_set_transforms(a.m, t[k], NULL), ODVGP_OK);
		served p = serve_rows(&a, NULL, ROWS);
		static const double steep[] = {1, 1e-3};
		write_cases(&p.s, a.X, ROWS, k == 2 ? steep : one, "transformed columns");
		unserve(&p);
		drop(&a);
	}
}

TEST(every_likelihood)
{
	for (int lik = 0; lik < ODVGP_LIKELIHOOD_COUNT; lik++) {
		int classes = lik == ODVGP_LIKELIHOOD_ROBUSTMAX || lik == ODVGP_LIKELIHOOD_SOFTMAX,
			P = classes                                   ? 3
				: lik == ODVGP_LIKELIHOOD_HETEROSCEDASTIC ? 4
				: lik == ODVGP_LIKELIHOOD_ORDINAL         ? 1
														  : 2;
		odvgp_config c = random_config(30, 2, P, 6, 8);
		fixture a;
		memset(&a, 0, sizeof a);
		test_seed = 760 + (uint64_t)lik;
		c.lik.kind = (odvgp_likelihood)lik;
		if (lik == ODVGP_LIKELIHOOD_ORDINAL) c.lik.classes = 4;
		c.layer[0].kernel = "rbf(1, variance=0.5)";
		make_block(&a, &c);
		make_data(&a, c.N, 2, P, 1.5, 0.2);
		randomise_slots(&a);
		if (slot(&a, "df")) set_number(a.m, "df", 3.5);
		served p = serve_rows(&a, NULL, ROWS);
		write_cases(&p.s, a.X, ROWS, one, gp__likelihoods[lik].name);
		unserve(&p);
		drop(&a);
	}
}

/* ---- estimates ---- */

/*  A row of tests/mcu/table.txt. */
typedef struct {
	char kind[8], core[8], name[40];
	double n[10];
} measured;

static void check_estimate(const measured *m, const char *what, double is, double want, double more)
{
	CHECK_SAY(fabs(is - want) <= 0.1 * want + more, "%s on %s: %s is %.0f, measured are %.0f",
			m->name, m->core, what, is, want);
}

/*  Instructions and flash within a tenth of what is measured; stack, and a few registers. */
TEST(estimates_are_those_of_qemu)
{
	FILE *table = fopen("tests/mcu/table.txt", "r");
	char line[300];
	int rows = 0;
	CHECK(table != NULL);
	while (table && fgets(line, sizeof line, table)) {
		measured m;
		memset(&m, 0, sizeof m);
		if (sscanf(line, "%7s %7s %39s %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf", m.kind, m.core,
					m.name, &m.n[0], &m.n[1], &m.n[2], &m.n[3], &m.n[4], &m.n[5], &m.n[6], &m.n[7],
					&m.n[8], &m.n[9]) < 8)
			continue;
		char *end = strstr(m.name, ".export");
		if (!end || *line == '#') continue;
		*end = 0;
		int core = 0, k = 0;
		while (core < CORES && strcmp(cores[core].word, m.core) != 0) core++;
		while (k < MCU_SHAPES && strcmp(mcu_shapes[k].name, m.name) != 0) k++;
		CHECK_SAY(core < CORES && k < MCU_SHAPES, "%s on %s: not known", m.name, m.core);
		if (core == CORES || k == MCU_SHAPES) continue;
		odvgp_config c = mcu_config(&mcu_shapes[k]);
		core_estimate e = core_estimate_of(&c, c.layer[0].kernel, NULL, mcu_shapes[k].wide, 0, core);
		rows++;
		if (!strcmp(m.kind, "code"))
			check_estimate(&m, "flash", e.flash, m.n[0] + m.n[1] + m.n[3], 0);
		else {
			check_estimate(&m, "mean", e.mean, m.n[7], 0);
			check_estimate(&m, "mean and variance", e.moments, m.n[8], 0);
			check_estimate(&m, "with gradients", e.gradient, m.n[9], 0);
			check_estimate(&m, "stack", e.stack, m.n[4], 48);
			check_estimate(&m, "stack with gradients", e.stack_gradient, m.n[5], 48);
		}
	}
	CHECK_SAY(rows == 2 * CORES * MCU_SHAPES, "%d rows of exports", rows);
	if (table) fclose(table);
}

TEST(tables_have_the_size_that_is_estimated)
{
	for (int k = 0; k < MCU_SHAPES; k++) {
		odvgp_config c = mcu_config(&mcu_shapes[k]);
		test_seed = 780 + (uint64_t)k;
		c.N = 90; /* data of a test */
		fixture a = make_kernel(&c, c.layer[0].kernel);
		served p = serve_rows(&a, NULL, 1);
		odvgp_export_settings o = options("f", mcu_shapes[k].wide ? 8 : 4);
		odvgp_export_costs costs;
		text t = {NULL, 0, 0, 0, 0};
		CHECK_STATUS(export_to(&t, &p.s, &o, &costs, NULL), ODVGP_OK);
		core_counts n = core_counts_of(&c, c.layer[0].kernel, NULL);
		double bytes = (n.tables + core_y_numbers(&c)) * o.real;
		CHECK_SAY(bytes >= (double)costs.tables && bytes <= (double)costs.tables,
				"%s: %.0f, not %zu", mcu_shapes[k].name, bytes, costs.tables);
		free(t.at);
		unserve(&p);
		drop(&a);
	}
}

/* ---- decimals, refusals ---- */

TEST(decimals_give_the_same_bits)
{
	static const double hard[] = {0, 1, 0.1, 1e23, 9007199254740993.0, DBL_MAX, DBL_MIN, 5e-324,
			2.2250738585072011e-308, 123456789.0, 0.5, 1e-5, FLT_MIN, FLT_MAX, 9.9999999e9};
	for (int k = 0; k < 2000; k++) {
		gp__export e;
		memset(&e, 0, sizeof e);
		double v = k < 15 ? hard[k] : ldexp(test_normal(), (int)test_below(400) - 200);
		e.wide = k % 2;
		if (!e.wide && !(fabs(v) <= FLT_MAX)) continue;
		gp__emit_real(&e, v);
		e.buffer[e.used] = 0;
		if (e.wide) CHECK_SAY(strtod(e.buffer, NULL) == v, "%.17g became %s", v, e.buffer);
		else CHECK_SAY(strtof(e.buffer, NULL) == (float)v, "%.9g became %s", v, e.buffer);
	}
}

TEST(bad_arguments_are_refused)
{
	odvgp_config c = random_config(30, 2, 2, 9, 11), deep;
	test_seed = 790;
	fixture a = make_random(&c, "rbf"), b;
	served p = serve_rows(&a, NULL, ROWS), q;
	odvgp_export_settings o = options("arm", 0);
	odvgp_export_costs costs;
	text t = {NULL, 0, 0, 0, 0};
	size_t bytes = odvgp_export_scratch(&p.s, NULL);
	void *scratch = test_alloc(bytes);
	NO_SIZE(odvgp_export_scratch(NULL, &info), ODVGP_E_ARG, "server");
	REFUSED_FOR(odvgp_export(NULL, &o, NULL, scratch, bytes, &info), ODVGP_E_ARG, "server");
	REFUSED_FOR(odvgp_export(&p.s, NULL, NULL, scratch, bytes, &info), ODVGP_E_ARG, "settings");
	REFUSED_FOR(odvgp_export(&p.s, &o, NULL, scratch, bytes - 1, &info), ODVGP_E_MEMORY, "scratch");
	CHECK_STATUS(odvgp_export(&p.s, &o, &costs, scratch, bytes, NULL), ODVGP_OK);
	CHECK_STATUS(export_to(&t, &p.s, &o, NULL, NULL), ODVGP_OK);
	CHECK(costs.text_bytes == t.used && costs.tables > 0);
	t.pieces = 0, t.stop = 3;
	REFUSED_FOR(export_to(&t, &p.s, &o, NULL, &info), ODVGP_E_STOPPED, "write");
	o.name = "1arm";
	REFUSED_FOR(export_to(&t, &p.s, &o, NULL, &info), ODVGP_E_ARG, "settings.name");
	o.name = "arm", o.real = 3;
	REFUSED_FOR(export_to(&t, &p.s, &o, NULL, &info), ODVGP_E_ARG, "settings.real");
	static const char *const bad[] = {"a */ b", "a /* b", "a\r", "\033[1m", "\177"};
	o.real = 0;
	for (int k = 0; k < 5; k++) {
		o.about = bad[k];
		REFUSED_FOR(export_to(&t, &p.s, &o, NULL, &info), ODVGP_E_ARG, "settings.about");
	}
	o.about = "   rmse\t0.1 \303\251\n";
	t.used = 0;
	CHECK_STATUS(export_to(&t, &p.s, &o, NULL, NULL), ODVGP_OK);
	CHECK(strstr(t.at, o.about));
	deep = random_config(30, 2, 2, 5, 0);
	deep.layers = 2;
	deep.layer[1] = deep.layer[0];
	deep.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	b = make(&deep);
	q = serve_rows(&b, NULL, 1);
	NO_SIZE(odvgp_export_scratch(&q.s, &info), ODVGP_E_UNSUPPORTED, "server");
	REFUSED_FOR(odvgp_export(&q.s, &o, NULL, scratch, bytes, &info), ODVGP_E_UNSUPPORTED, "server");
	free(scratch);
	unserve(&p), unserve(&q);
	drop(&a), drop(&b);
	static const char *const reasons[] = {"images", "SOFTMAX"};
	for (int k = 0; k < 2; k++) {
		odvgp_config bad_one = random_config(30, k ? 2 : 9, k ? 5 : 1, 5, 0);
		const shape s = {3, 3, 1, 2, 2, 1, 0, 1};
		if (k) bad_one.lik.kind = ODVGP_LIKELIHOOD_SOFTMAX;
		else set_shape(&bad_one, 0, &s);
		memset(&a, 0, sizeof a);
		make_block(&a, &bad_one);
		make_data(&a, 30, bad_one.layer[0].D, bad_one.layer[0].P, 1.5, 0.2);
		randomise_slots(&a);
		p = serve_rows(&a, NULL, 1);
		odvgp_info why;
		CHECK(odvgp_export_scratch(&p.s, &why) == 0 && why.status == ODVGP_E_UNSUPPORTED);
		CHECK_SAY(strstr(why.text, reasons[k]) != NULL, "%s", why.text);
		unserve(&p);
		drop(&a);
	}
	free(t.at);
}

int main(int argc, char **argv)
{
	char path[300];
	test_begin(argc, argv);
	folder = getenv("ODVGP_EXPORT_TO");
	if (folder) {
		snprintf(path, sizeof path, "%s/all.c", folder);
		all = fopen(path, "wb");
		if (!all) return 1;
		fprintf(all, "#include \"export_run.h\"\n");
	}
	RUN(every_member_and_factor);
	RUN(every_kernel);
	RUN(outputs_in_their_units);
	RUN(transformed_columns);
	RUN(every_likelihood);
	RUN(estimates_are_those_of_qemu);
	RUN(tables_have_the_size_that_is_estimated);
	RUN(decimals_give_the_same_bits);
	RUN(bad_arguments_are_refused);
	if (folder) {
		fprintf(all, "int main(void)\n{\n");
		for (int k = 0; k < cases; k++) fprintf(all, "\trun_m%d();\n", k);
		fprintf(all, "\treturn end();\n}\n");
		fclose(all);
	}
	return test_end();
}
