/*  shapes.h - the models of `make mcu` by their sizes: cases.c trains them, tests/test_export.c
    compares estimates with the rows that tests/mcu/table.txt has of their exports. */
#ifndef SHAPES_H
#define SHAPES_H

enum { MCU_N = 600 };

typedef struct {
	const char *name;
	ptrdiff_t M, M_gamma, D, P;
	odvgp_mean_part mean_part;
	odvgp_cov_part cov_part;
	const char *kernel;
	/* Of f, more than P if they are mixed; 0: P. */
	ptrdiff_t functions;
	int independent;
	odvgp_mean_function mean_function;
	/* Is it only exported, and then in double? */
	int exported, wide;
} mcu_shape;

#define MCU_MEMBER(mean, cov) ODVGP_MEAN_PART_##mean, ODVGP_COV_PART_##cov
#define MCU_ORTH              MCU_MEMBER(ORTH, DENSE)
#define MCU_COUPLED           MCU_MEMBER(BETA, DENSE)
#define MCU_SOLVE             MCU_MEMBER(BLOCKS, BLOCKS)
#define MCU_ZERO              ODVGP_MEAN_FUNCTION_ZERO
#define MCU_LINEAR            ODVGP_MEAN_FUNCTION_LINEAR
static const mcu_shape mcu_shapes[] = {
		{"orth_12_24", 12, 24, 2, 1, MCU_ORTH, "rbf(ard)", 0, 0, MCU_ZERO, 0, 0},
		{"orth_32_128", 32, 128, 6, 1, MCU_ORTH, "rbf(ard)", 0, 0, MCU_ZERO, 0, 0},
		{"orth_80_160", 80, 160, 8, 1, MCU_ORTH, "rbf(ard)", 0, 0, MCU_ZERO, 0, 0},
		{"matern52_12_24", 12, 24, 2, 1, MCU_ORTH, "matern52(ard)", 0, 0, MCU_ZERO, 0, 0},
		{"solve_12_24", 12, 24, 2, 1, MCU_SOLVE, "rbf(ard)", 0, 0, MCU_ZERO, 0, 0},
		{"coupled_24", 24, 0, 2, 1, MCU_COUPLED, "rbf(ard)", 0, 0, MCU_ZERO, 0, 0},
		{"decoupled_12_24", 12, 24, 2, 1, MCU_MEMBER(FREE, INVERSE), "rbf(ard)", 0, 0, MCU_ZERO, 1,
				0},
		{"diagonal_24", 24, 0, 2, 1, MCU_MEMBER(FREE, DIAGONAL), "rbf(ard)", 0, 0, MCU_ZERO, 1, 0},
		{"matern12", 16, 0, 3, 1, MCU_COUPLED, "matern12(ard)", 0, 0, MCU_ZERO, 1, 0},
		{"matern32", 8, 32, 10, 1, MCU_ORTH, "matern32(ard)", 0, 0, MCU_ZERO, 1, 0},
		{"rq", 12, 24, 2, 1, MCU_ORTH, "rq(ard)", 0, 0, MCU_ZERO, 1, 0},
		{"periodic", 12, 24, 2, 1, MCU_ORTH, "periodic(ard) * rbf(ard)", 0, 0, MCU_ZERO, 1, 0},
		{"polynomial", 16, 0, 4, 1, MCU_COUPLED, "linear(ard) + polynomial(degree=3) + constant", 0,
				0, MCU_LINEAR, 1, 0},
		{"shared", 16, 32, 4, 1, MCU_ORTH, "rbf + matern52 * linear(dims=0)", 0, 0, MCU_ZERO, 1, 0},
		{"outputs", 16, 32, 3, 3, MCU_ORTH, "rbf(ard)", 0, 0, MCU_ZERO, 1, 0},
		{"independent", 12, 24, 3, 2, MCU_ORTH, "rbf(ard)", 0, 1, MCU_ZERO, 1, 0},
		{"mixed", 16, 32, 3, 2, MCU_ORTH, "rbf(ard)", 3, 0, MCU_ZERO, 1, 0},
		{"double_12_24", 12, 24, 2, 1, MCU_ORTH, "rbf(ard)", 0, 0, MCU_ZERO, 1, 1},
		{"double_32_128", 32, 128, 6, 1, MCU_ORTH, "rbf(ard)", 0, 0, MCU_ZERO, 1, 1},
		{"double_solve", 12, 24, 2, 1, MCU_SOLVE, "matern52(ard)", 0, 0, MCU_ZERO, 1, 1},
		{"double_rq", 16, 32, 4, 1, MCU_ORTH, "rq + periodic(dims=0)", 0, 0, MCU_ZERO, 1, 1},
		{"sum_12_24", 12, 24, 2, 1, MCU_ORTH, "rbf(ard) + matern52(ard)", 0, 0, MCU_ZERO, 0, 0},
		{"matern52_32_128", 32, 128, 6, 1, MCU_ORTH, "matern52(ard)", 0, 0, MCU_ZERO, 0, 0},
		/* 7, 5 and 4 columns */
		{"columns_8_16", 8, 16, 7, 1, MCU_ORTH, "rbf(ard) + matern52(dims=0:5) + matern32(dims=2:6)", 0,
				0, MCU_ZERO, 0, 0},
		{"tree_12_24", 12, 24, 2, 1, MCU_ORTH, "rbf * matern12(dims=0) + matern32 * matern52(dims=1)", 0,
				0, MCU_ZERO, 0, 0},
};
enum { MCU_SHAPES = sizeof mcu_shapes / sizeof *mcu_shapes };

static odvgp_config mcu_config(const mcu_shape *s)
{
	odvgp_config config = odvgp_config_defaults(MCU_N, s->D, s->P, s->M, s->M_gamma);
	config.layer[0].mean_part = s->mean_part;
	config.layer[0].cov_part = s->cov_part;
	config.layer[0].kernel = s->kernel;
	config.layer[0].mean_function = s->mean_function;
	config.functions = s->functions;
	config.independent = s->independent;
	config.optim.natgrad = s->mean_part != ODVGP_MEAN_PART_FREE;
	config.optim.batch = 100;
	config.isa = ODVGP_ISA_C;
	return config;
}

#endif
