/*  The library built for kernels of at most two terms, without matern32, additive and laplacian,
    without likelihoods but two and members but two, for test_base_kernels.c, which has the usual build;
    OTHERS builds it with the rows that this one lacks, without those that it has. */
#ifdef OTHERS
#define ODVGP_KERNELS     (ODVGP_KERNEL_MATERN32 | ODVGP_KERNEL_ADDITIVE | ODVGP_KERNEL_LAPLACIAN)
#define ODVGP_LIKELIHOODS (0x3fffu & ~(ODVGP_LIK_GAUSSIAN | ODVGP_LIK_POISSON))
#define ODVGP_MEMBERS     (0x3fu & ~(ODVGP_MEMBER_COUPLED | ODVGP_MEMBER_ORTH))
#define ODVGP_NO_SIMD     /* it is only asked what it has */
#define two_model_size    others_model_size
#define two_from_block    others_from_block
#define two_from_file     others_from_file
#define two_train         others_train
#else
#define ODVGP_MAX_BASE_KERNELS 2
#define ODVGP_KERNELS          \
	(0xfffu & ~(ODVGP_KERNEL_MATERN32 | ODVGP_KERNEL_ADDITIVE | ODVGP_KERNEL_LAPLACIAN))
#define ODVGP_LIKELIHOODS      (ODVGP_LIK_GAUSSIAN | ODVGP_LIK_POISSON)
#define ODVGP_MEMBERS          (ODVGP_MEMBER_COUPLED | ODVGP_MEMBER_ORTH)
#endif
#define ODVGP_STATIC
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "base_kernels.h"

size_t two_model_size(const odvgp_config *config, odvgp_info *info)
{
	return odvgp_model_size(config, info);
}
odvgp_status two_from_block(
		const void *block, size_t bytes, odvgp_isa isa, odvgp_server *server, odvgp_info *info)
{
	return odvgp_server_from_block(server, block, bytes, isa, info);
}
odvgp_status two_from_file(const void *file, size_t bytes, odvgp_isa isa, void *block, size_t size,
		odvgp_server *server, odvgp_info *info)
{
	return odvgp_server_from_memory(server, file, bytes, isa, block, size, info);
}
#ifndef OTHERS
odvgp_status two_predict(const odvgp_server *server, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean, odvgp_real *var)
{
	size_t bytes = odvgp_predict_scratch(server, n, NULL);
	void *scratch = malloc(bytes);
	odvgp_status s =
			scratch ? odvgp_predict(server, X, n, mean, var, scratch, bytes, NULL) : ODVGP_E_MEMORY;
	free(scratch);
	return s;
}
#endif
odvgp_status two_train(const void *file, size_t bytes, odvgp_isa isa, const odvgp_real *X,
		const odvgp_real *Y, ptrdiff_t steps, void *again, odvgp_info *info)
{
	odvgp_model *m = NULL;
	void *block;
	size_t need = odvgp_load_size(file, bytes, NULL, isa, info);
	if (!need) return info->status;
	block = malloc(need);
	odvgp_status s = block ? odvgp_load_memory(&m, file, bytes, NULL, isa, block, need, info)
						   : ODVGP_E_MEMORY;
	if (!s) s = odvgp_fit(m, X, Y, steps, NULL, info);
	if (!s) s = odvgp_save_memory(m, NULL, NULL, 0, again, bytes, info);
	free(block);
	return s;
}
