/*  Expressions of kernels: what is refused, where their numbers arrive, how they are written. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"
#include "tables.h"

TEST(bad_kernel_expressions_are_refused)
{
	static const char *const bad[] = {"", " ", "RBF", "rbf +", "+ rbf", "rbf rbf", "rbf ++ rbf",
			"rbf * * rbf", "rbf(", "rbf)", "(rbf", "()", "rbf()x", "rbf(0)", "rbf(-1)",
			"rbf(1e400)", "rbf(1e40)", "rbf(nan)", "rbf(inf)", "rbf(1,)", "rbf(,1)", "rbf(1 2)",
			"rbf(1, 2)", "rbf(1, variance=0)", "rbf(1, variance=-2)", "rbf(1, variance=)",
			"rbf(1, variance)", "rbf(1, variance=1, variance=2)", "rbf(1, dims=3)",
			"rbf(1, dims=0:4)", "rbf(1, dims=2:1)", "rbf(1, dims=1:1)", "rbf(1, dims=)",
			"rbf(1, dims=-1)", "rbf(1, dims=0.5)", "rbf(1, dims=0+)",
			"rbf(1, dims=99999999999999999999)", "rbf(1, foo=2)", "rbf(1, ardx)", "rbf(1e)",
			"rbf(.)", "rbf;", "rbf + rbf\nrbf", "rbf(0x10)", "rbf+rbf+rbf+rbf+rbf+rbf+rbf+rbf+rbf",
			"linear(1", "\xff\xfe", "linear(lengthscale=1)", "linear(1, variance=2)",
			"polynomial(ard)", "polynomial(degree=0)", "polynomial(degree=2.5)",
			"polynomial(degree=17)", "polynomial(degree=2, degree=2)", "polynomial(degree=)",
			"rbf(degree=2)", "rbf(alpha=1)", "rq(period=1)", "rq(alpha=0)",
			"periodic(1, period=1, period=1)", "periodic(period)", "constant(dims=0)", "white(ard)",
			"white(0)", "constant(1, 2)", "rq(1, alpha=-2)", "rbf(dims=0, dims=1)", "linear(foo=1)",
			"constant(-.5)", "white(+1)", "rbf(dims=0+0:2)", "rbf(dims=1+1)", "rbf(dims=0:2+1:3)",
			"rbf(dims=1+0:3)", "rbf(dims=2+0+2)", "rbf(ard=)", "rbf(ard=3)", "rbf(ard=0:4)",
			"rbf(ard=0:2+1:3)", "rbf(ard=0:2+)", "rbf(ard=2:1)", "rbf(ard=0:3, dims=0+2+1)",
			"rbf(dims=0:2, ard=1:3)", "rbf(ard=0:2, ard)", "rbf(ard=0.5)", "rbf(ard=0:2 1)",
			"white(ard=0:2)", "polynomial(ard=0:2)", "additive(alpha=1)", "additive(degree=2)",
			"additive(0)",
			/* These are above 0, but in this precision they or their inverses are not. */
			BY_PRECISION("rbf(1e-310)", "rbf(1e-46)"),
			BY_PRECISION("rbf(1e-330, ard)", "rbf(1e-300, ard)"),
			BY_PRECISION("linear(1e-320)", "linear(1e-40)"),
			BY_PRECISION("rq(alpha=1e-330)", "rq(alpha=1e-50)")};
	static const struct {
		const char *text;
		ptrdiff_t at;
	} unknown[] = {{"foo", 0}, {"rbf32", 0}, {"matern42", 0}, {"whitening", 0}, {"rbf + foo(1)", 6},
			{"rbf * (rbf + rb)", 13}};
	static const char *const fine[] = {"rbf", " rbf ", "rbf()", "rbf( )", "((rbf))", "rbf(1)",
			"rbf(lengthscale=2)", "rbf(1.5e-3,variance=.5)", "rbf(ard)", "rbf(1,ard,dims=0+2)",
			"rbf(dims=0:3)", "rbf(2, dims=1, variance=3.)", "(rbf+matern12)*matern32",
			"rbf*matern52+rbf", "rbf+rbf+rbf+rbf+rbf+rbf+rbf+rbf", "rbf(1, dims=2+0)",
			"rbf(dims=1:3+0)", "rbf(dims=0) + rbf(dims=0:2)", "\trbf\t+\tmatern12", "rq",
			"rq(0.5, alpha=2, variance=3, ard)", "periodic(period=7, dims=0)", "linear",
			"linear(0.5)", "linear(ard, variance=2)", "linear(3, ard, dims=1:3)", "polynomial",
			"polynomial(0.3, offset=2, degree=3, dims=1)", "constant(2) * white()", "white(0.1)",
			"additive", "additive(1, variance=2, ard, dims=0+2)", "rbf(ard=0:2)",
			"rbf(ard = 2 + 0:2)", "periodic(dims=2+0:2, ard=0:2, period=2)", "linear(ard=0:3)",
			"additive(ard=1:3)*rbf", BY_PRECISION("rbf(1e-300, ard)", "rbf(1e-37, ard)")};
	size_t i, bytes = 7;
	char deep[300];
	odvgp_config c = config(10, 3, 1, 3, 0);
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		odvgp_info info = no_info();
		odvgp_status s;
		c.layer[0].kernel = bad[i];
		s = sized(&bytes, odvgp_model_size(&c, &info), &info);
		CHECK_SAY(s == ODVGP_E_KERNEL && bytes == 7, "\"%s\": %s", bad[i], odvgp_status_text(s));
		CHECK_SAY(info.text[0] && info.row >= 0 && (size_t)info.row <= strlen(bad[i]),
				"\"%s\": place %ld", bad[i], (long)info.row);
	}
	for (i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		odvgp_info info = no_info();
		c.layer[0].kernel = unknown[i].text;
		CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_NAME);
		CHECK_INT(info.row, unknown[i].at);
	}
	memset(deep, '(', 200);
	strcpy(deep + 200, "rbf");
	memset(deep + 203, ')', 90);
	deep[293] = 0;
	c.layer[0].kernel = deep;
	REFUSED(sized(&bytes, odvgp_model_size(&c, &info), &info), ODVGP_E_KERNEL);
	for (i = 0; i < sizeof fine / sizeof *fine; i++) {
		odvgp_info info = no_info();
		c.layer[0].kernel = fine[i];
		CHECK_SAY(sized(&bytes, odvgp_model_size(&c, &info), &info) == ODVGP_OK, "\"%s\": %s",
				fine[i], info.text);
	}
}

/*  This kernel has the largest number of terms, with three values each. */
TEST(kernels_of_eight_terms_fit_every_member)
{
	tables_hold("rq + rq * rq + periodic(ard) + rq(ard) * (rq + rq) + rq");
}

/*  Each number of the expression arrives in its slot. */
TEST(kernel_numbers_arrive)
{
	static const struct {
		const char *text, *slot;
		double value;
	} list[] = {{"linear(.5)", "kernel.0.variance", 0.5},
			{"constant(.25)", "kernel.0.variance", 0.25},
			{"white(.125)", "kernel.0.variance", 0.125},
			{"polynomial(.5, degree=3)", "kernel.0.variance", 0.5},
			{"polynomial(offset=3)", "kernel.0.offset", 3},
			{"rq(.5, alpha=2)", "kernel.0.alpha", 2},
			{"rq(.5, alpha=2)", "kernel.0.lengthscale", 0.5},
			{"rbf + periodic(2, variance=3, period=.75)", "kernel.1.period", 0.75},
			{"rbf + periodic(2, variance=3, period=.75)", "kernel.1.variance", 3},
			{"additive(.5, variance=2)", "kernel.0.lengthscale", 0.5},
			{"additive(.5, variance=2)", "kernel.0.variance", 2}};
	size_t i, bytes = 0;
	for (i = 0; i < sizeof list / sizeof *list; i++) {
		odvgp_config c = config(5, 3, 1, 2, 0);
		odvgp_model *m;
		odvgp_real v = 0;
		void *block;
		c.layer[0].kernel = list[i].text;
		CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
		block = test_alloc(bytes);
		CHECK_STATUS(odvgp_model_init(&m, &c, block, bytes, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_get(m, list[i].slot, &v, 1, NULL), ODVGP_OK);
		CHECK_SAY(fabs((double)v - list[i].value) <= 4 * EPS * list[i].value, "%s: %s is %g",
				list[i].text, list[i].slot, (double)v);
		free(block);
	}
}

/*  The text of a kernel parses to the same kernel, up to the six digits that it prints. The text
    is cut where the buffer ends. */
TEST(kernel_text_can_be_read_back)
{
	static const char *const list[] = {"rbf", "matern12(0.125, variance=3e-7, dims=2)",
			"(rbf(1e7) + matern32(2, dims=0:2)) * matern52(0.3, variance=12345.5)",
			"rbf * (matern12 + matern32 * (rbf + rbf(0.5)))",
			"rbf(1.5, dims=0+2, variance=2) + rbf",
			"rq(0.5, variance=3, alpha=2, ard) + periodic(2, period=7, dims=0) * linear(0.25, ard)",
			"polynomial(0.3, offset=2, degree=3, dims=1) * constant(4) + white(0.125) + linear(2)",
			"additive(0.5, variance=2) + rbf(2, variance=3, ard=0:2)",
			"additive(ard=1:3) * linear(0.5, dims=2+0:2, ard=0:2)"};
	size_t i, bytes = 0;
	for (i = 0; i < sizeof list / sizeof *list; i++) {
		odvgp_config c = config(5, 3, 1, 2, 0);
		char text[2][600], cut[20];
		odvgp_model *m;
		void *block;
		int pass;
		size_t n = 0;
		c.layer[0].kernel = list[i];
		for (pass = 0; pass < 2; pass++) {
			CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
			block = test_alloc(bytes);
			CHECK_STATUS(odvgp_model_init(&m, &c, block, bytes, NULL), ODVGP_OK);
			n = odvgp_kernel_text(m, text[pass], sizeof text[pass]);
			CHECK_INT(n, strlen(text[pass]));
			memset(cut, PATTERN, sizeof cut);
			CHECK_INT(odvgp_kernel_text(m, cut, 10), n);
			CHECK(strlen(cut) == 9 && !strncmp(cut, text[pass], 9) && untouched(cut + 10, 10));
			CHECK_INT(odvgp_kernel_text(m, NULL, 0), n);
			free(block);
			c.layer[0].kernel = text[0];
		}
		CHECK_SAY(!strcmp(text[0], text[1]), "%s: %s, then %s", list[i], text[0], text[1]);
	}
}

/*  With ard, the text prints one number for several: their geometric mean. */
TEST(kernel_text_of_many_lengthscales)
{
	odvgp_config c = config(5, 3, 1, 2, 0);
	const odvgp_real lengthscale[3] = {(odvgp_real)0.01, 1, 800},
					 variance[3] = {4, 1, (odvgp_real)0.25};
	char text[200];
	odvgp_model *m;
	size_t bytes = 0;
	void *block;
	c.layer[0].kernel = "matern52(ard) + linear(ard)";
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
	block = test_alloc(bytes);
	CHECK_STATUS(odvgp_model_init(&m, &c, block, bytes, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_set(m, "kernel.0.lengthscale", lengthscale, 3, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_set(m, "kernel.0.variance", lengthscale + 1, 1, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_set(m, "kernel.1.variance", variance, 3, NULL), ODVGP_OK);
	odvgp_kernel_text(m, text, sizeof text);
	CHECK_SAY(!strcmp(text, "matern52(2, variance=1, ard) + linear(1, ard)"), "%s", text);
	free(block);
}

/*  odvgp_kernel_column returns the column of each lengthscale, with ranges in any order, and -1
    for every other value. */
TEST(kernel_columns)
{
	odvgp_config c = config(5, 4, 1, 2, 0);
	static const int column[3] = {3, 0, 1};
	odvgp_model *m;
	size_t bytes = 0;
	ptrdiff_t k;
	void *block;
	c.layer[0].kernel = "matern52(ard, dims=3+0:2) * rbf + linear(ard) + constant";
	CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
	block = test_alloc(bytes);
	CHECK_STATUS(odvgp_model_init(&m, &c, block, bytes, NULL), ODVGP_OK);
	for (k = 0; k < 3; k++) CHECK_INT(odvgp_kernel_column(m, 0, k), column[k]);
	for (k = 0; k < 4; k++) CHECK_INT(odvgp_kernel_column(m, 2, k), k);
	CHECK_INT(odvgp_kernel_column(m, 0, 3), -1);
	CHECK_INT(odvgp_kernel_column(m, 0, -1), -1);
	CHECK_INT(odvgp_kernel_column(m, 1, 0), -1);
	CHECK_INT(odvgp_kernel_column(m, 3, 0), -1);
	CHECK_INT(odvgp_kernel_column(m, 4, 0), -1);
	CHECK_INT(odvgp_kernel_column(m, -1, 0), -1);
	CHECK_INT(odvgp_kernel_column(NULL, 0, 0), -1);
	free(block);
}

/*  Columns that share a number: those of the expression, and the predictions of a kernel in which
    each has the same number of its own. */
TEST(columns_share_numbers)
{
	static const struct {
		const char *shared, *own;
	} list[] = {{"rbf(ard=1:3)", "rbf(ard)"}, {"linear(ard=0:2) + rbf", "linear(ard) + rbf"},
			{"additive(ard=1:3, dims=3+1:3)", "additive(ard, dims=3+1:3)"},
			{"periodic(ard=0:2+2:4)", "periodic(ard)"}};
	static const int column[4][5] = {
			{0, 1, 3, -1, -1}, {0, 2, 3, -1, -1}, {3, 1, -1, -1, -1}, {0, 2, -1, -1, -1}};
	static const int number[4][4] = {{0, 1, 1, 2}, {0, 0, 1, 2}, {0, 1, 1, -1}, {0, 0, 1, 1}};
	const odvgp_real values[2][3] = {{1, 2, 3}, {GP__R(0.5), GP__R(0.25), 1}};
	for (int e = 0; e < 4; e++) {
		odvgp_config c = random_config(30, 4, 1, 6, 5);
		odvgp_real mean[2][6], var[2][6], own[4], all[64];
		test_seed = 790 + (uint64_t)e;
		fixture f[2] = {make_kernel(&c, list[e].shared), make_kernel(&c, list[e].own)};
		for (int i = 0; i < 5; i++) CHECK_INT(odvgp_kernel_column(f[0].m, 0, i), column[e][i]);
		for (int i = 0; i < odvgp_slot_count(f[0].m); i++) {
			const odvgp_slot *one = odvgp_slot_at(f[0].m, i), *of = odvgp_slot_at(f[1].m, i);
			int d = 0;
			CHECK(!strcmp(one->name, of->name) && one->count <= of->count && of->count <= 64);
			for (; d < 4 && one->count < of->count && number[e][d] >= 0; d++)
				own[d] = values[i % 2][number[e][d]];
			if (d)
				CHECK_STATUS(
						odvgp_set(f[0].m, one->name, values[i % 2], one->count, NULL), ODVGP_OK);
			else CHECK_STATUS(odvgp_get(f[0].m, one->name, all, one->count, NULL), ODVGP_OK);
			CHECK_INT(of->count, d ? d : one->count);
			CHECK_STATUS(odvgp_set(f[1].m, of->name, d ? own : all, of->count, NULL), ODVGP_OK);
		}
		for (int k = 0; k < 2; k++) {
			served p = serve_rows(&f[k], NULL, 6);
			CHECK_STATUS(odvgp_predict(&p.s, f[0].X, 6, mean[k], var[k], p.scratch, p.bytes, NULL),
					ODVGP_OK);
			unserve(&p);
		}
		CHECK_BITS(mean[0], mean[1], sizeof mean[0]);
		CHECK_BITS(var[0], var[1], sizeof var[0]);
		drop(&f[0]), drop(&f[1]);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(bad_kernel_expressions_are_refused);
	RUN(kernels_of_eight_terms_fit_every_member);
	RUN(kernel_numbers_arrive);
	RUN(kernel_text_can_be_read_back);
	RUN(kernel_text_of_many_lengthscales);
	RUN(kernel_columns);
	RUN(columns_share_numbers);
	return test_end();
}
