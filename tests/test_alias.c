/*  The rules for aliases are asserted: every call that they forbid trips ODVGP_ASSERT, which
    here only counts, and no call that they allow does. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "hooks.h"
#include "test.h"

static int tripped;
static void count_assertion(void) { tripped++; }

#define ROOM 100
static odvgp_real X[ROOM * ROOM], Y[ROOM * ROOM], Z[ROOM * ROOM];
static odvgp_blas blas;

static void fresh(void)
{
	ptrdiff_t i, j;
	for (i = 0; i < ROOM; i++)
		for (j = 0; j < ROOM; j++)
			X[i * ROOM + j] = Y[i * ROOM + j] = Z[i * ROOM + j] =
					(odvgp_real)(i == j  ? 2
								 : j < i ? 0.1 / (double)(1 + i - j)
										 : 0);
	tripped = 0;
}
#define FORBIDDEN(n, call) \
	(fresh(), (call), CHECK_SAY(tripped > 0, "n %ld: no assertion for %s", (long)(n), #call))
#define ALLOWED(n, call) \
	(fresh(), (call), CHECK_SAY(tripped == 0, "n %ld: an assertion for %s", (long)(n), #call))

static const ptrdiff_t sizes[] = {1, 2, 3, 8, 24, 25, 33, 70};
#define EACH_SIZE(n) \
	for (size_t at = 0; at < sizeof sizes / sizeof *sizes && ((n) = sizes[at]) != 0; at++)

TEST(aliases_are_refused)
{
	ptrdiff_t n;
	EACH_SIZE(n)
	{
		FORBIDDEN(n, odvgp_gemm(&blas, 0, 1, n, n, n, 1, X, ROOM, Y, ROOM, 0, X, ROOM));
		FORBIDDEN(n, odvgp_gemm(&blas, 1, 0, n, n, n, 1, X, ROOM, Y, ROOM, 1, Y, ROOM));
		FORBIDDEN(n, odvgp_gemmt(&blas, 0, 0, n, n, 1, X, ROOM, Y, ROOM, 0, X, ROOM));
		FORBIDDEN(n, odvgp_gemmt(&blas, 0, 0, n, n, 1, X, ROOM, Y, ROOM, 0, Y, ROOM));
		FORBIDDEN(n, odvgp_syrk(&blas, 0, n, n, 1, X, ROOM, NULL, 0, X, ROOM));
		FORBIDDEN(n, odvgp_trmm(&blas, 0, n, n, 1, X, ROOM, Y, ROOM, 0, X, ROOM));
		FORBIDDEN(n, odvgp_trmm(&blas, 1, n, n, 1, X, ROOM, Y, ROOM, 0, Y, ROOM));
		FORBIDDEN(n, odvgp_lauum(&blas, n, X, ROOM, X, ROOM));
		FORBIDDEN(n, odvgp_trsm(&blas, 0, 0, n, n, X, ROOM, X, ROOM));
		FORBIDDEN(n, odvgp_trsm(&blas, 1, 1, n, n, X, ROOM, X, ROOM));
		FORBIDDEN(n, odvgp_potrf_adjoint(&blas, n, X, ROOM, X, ROOM));
	}
}
/*  Operands that are only read may be the same. */
TEST(operands_may_be_one)
{
	ptrdiff_t n;
	EACH_SIZE(n)
	{
		ALLOWED(n, odvgp_gemm(&blas, 0, 1, n, n, n, 1, X, ROOM, X, ROOM, 0, Y, ROOM));
		ALLOWED(n, odvgp_gemmt(&blas, 0, 1, n, n, 1, X, ROOM, X, ROOM, 0, Y, ROOM));
		ALLOWED(n, odvgp_syrk(&blas, 1, n, n, 1, X, ROOM, X, 0, Y, ROOM));
		ALLOWED(n, odvgp_trmm(&blas, 1, n, n, 1, X, ROOM, X, ROOM, 0, Y, ROOM));
		ALLOWED(n, odvgp_lauum(&blas, n, X, ROOM, Y, ROOM));
		ALLOWED(n, odvgp_trsm(&blas, 1, 1, n, n, X, ROOM, Y, ROOM));
		ALLOWED(n, odvgp_potrf_adjoint(&blas, n, X, ROOM, Y, ROOM));
	}
}
/*  Operands without elements may be NULL or any address. */
TEST(nothing_is_no_alias)
{
	fresh();
	odvgp_gemm(&blas, 0, 0, 0, 5, 5, 1, NULL, 5, NULL, 5, 0, NULL, 5);
	odvgp_gemm(&blas, 0, 0, 5, 0, 5, 1, NULL, 5, NULL, 1, 0, NULL, 1);
	odvgp_gemm(&blas, 0, 0, 5, 5, 0, 1, NULL, 1, NULL, 5, 0, X, ROOM);
	odvgp_gemm(&blas, 0, 0, 5, 5, 0, 1, X, 1, X, 5, 0, X, ROOM);
	odvgp_syrk(&blas, 0, 0, 5, 1, NULL, 5, NULL, 0, NULL, 1);
	odvgp_gemmt(&blas, 0, 0, 0, 5, 1, NULL, 5, NULL, 1, 0, NULL, 1);
	odvgp_trmm(&blas, 0, 0, 0, 1, NULL, 1, NULL, 1, 0, NULL, 1);
	odvgp_lauum(&blas, 0, NULL, 1, NULL, 1);
	odvgp_trsm(&blas, 0, 0, 0, 5, NULL, 1, NULL, 5);
	odvgp_trsm(&blas, 1, 0, 5, 0, NULL, 1, NULL, 1);
	odvgp_trtri(&blas, 0, NULL, 1);
	odvgp_potrf_adjoint(&blas, 0, NULL, 1, NULL, 1);
	CHECK_STATUS(odvgp_potrf(&blas, 0, NULL, 1, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_potrf_reverse(&blas, 0, NULL, 1, NULL), ODVGP_OK);
	CHECK_INT(tripped, 0);
}

int main(int argc, char **argv)
{
	size_t bytes = odvgp_blas_size(NULL, NULL);
	void *block = test_alloc(bytes);
	test_begin(argc, argv);
	if (odvgp_blas_init(&blas, NULL, ODVGP_ISA_AUTO, block, bytes, NULL)) return 1;
	test_tripped = count_assertion;
	RUN(aliases_are_refused);
	RUN(operands_may_be_one);
	RUN(nothing_is_no_alias);
	free(block);
	return test_end();
}
