/*  A build for kernels of one term, which has the smallest tables; these do not depend on the
    instruction set. */
#define ODVGP_MAX_BASE_KERNELS 1
#define ODVGP_NO_SIMD
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "tables.h"

TEST(one_term_fits_every_member) { tables_hold("rq(ard)"); }

TEST(two_terms_are_refused)
{
	odvgp_config c = odvgp_config_defaults(8, 2, 1, 3, 2);
	odvgp_info info;
	size_t bytes = 7;
	c.layer[0].kernel = "rq + rbf";
	CHECK(sized(&bytes, odvgp_model_size(&c, &info), &info) == ODVGP_E_KERNEL && bytes == 7 &&
			strstr(info.text, "ODVGP_MAX_BASE_KERNELS"));
}

/*  A model is laid out twice, to measure and to carve: the counts of the first pass match what
    the second fills, for either optimiser and with natural steps. */
TEST(both_passes_agree)
{
	static const char *const kernels[] = {"rbf", "rq(ard)", "white", "polynomial(1, degree=2)"};
	static const char *const ways[] = {"Adam", "natural steps", "L-BFGS"};
	int kernel, way;
	ptrdiff_t gamma;
	CHECK(sizeof(odvgp_model) < 2048);
	for (kernel = 0; kernel < 4; kernel++)
		for (gamma = 0; gamma < 3; gamma += 2)
			for (way = 0; way < 3; way++) {
				odvgp_config c = odvgp_config_defaults(8, 2, 1, 3, gamma);
				odvgp_model *m = NULL;
				size_t bytes = 0;
				void *block;
				char where[100];
				sprintf(where, "%s, %d points of gamma, %s", kernels[kernel], (int)gamma,
						ways[way]);
				c.layer[0].kernel = kernels[kernel];
				c.optim.kind = way == 2 ? ODVGP_OPTIMIZER_LBFGS : ODVGP_OPTIMIZER_ADAM;
				c.optim.natgrad = way == 1;
				c.isa = test_isa();
				CHECK_STATUS(sized(&bytes, odvgp_model_size(&c, NULL), NULL), ODVGP_OK);
				block = test_alloc(bytes);
				if (CHECK_STATUS(odvgp_model_init(&m, &c, block, bytes, NULL), ODVGP_OK))
					check_counts(m, &c, bytes, where);
				free(block);
			}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(one_term_fits_every_member);
	RUN(two_terms_are_refused);
	RUN(both_passes_agree);
	return test_end();
}
