/*  The library as a controller has it, for test_compact.c, which has the usual build. FEW builds it
    with fewer base kernels, members and likelihoods, OTHERS with those that FEW lacks. */
#define ODVGP_PREDICT_ONLY
#ifdef FEW
#define ODVGP_KERNELS     (ODVGP_KERNEL_RBF | ODVGP_KERNEL_MATERN52)
#define ODVGP_MEMBERS     (ODVGP_MEMBER_COUPLED | ODVGP_MEMBER_ORTH)
#define ODVGP_LIKELIHOODS (ODVGP_LIK_GAUSSIAN | ODVGP_LIK_POISSON)
#define only_open         few_open
#elif defined(OTHERS)
#define ODVGP_KERNELS     (0xfffu & ~(ODVGP_KERNEL_RBF | ODVGP_KERNEL_MATERN52))
#define ODVGP_LIKELIHOODS (0x3fffu & ~(ODVGP_LIK_GAUSSIAN | ODVGP_LIK_POISSON))
#define only_open         others_open
#else
#define ODVGP_TRANSFORMS
#endif
#define ODVGP_STATIC
#define ODVGP_IMPLEMENTATION
#include "../odvgp.h"
#include "compact_only.h"

odvgp_status only_open(odvgp_server *server, const void *block, size_t bytes, odvgp_info *info)
{
	return odvgp_server_from_block(server, block, bytes, ODVGP_ISA_AUTO, info);
}
#if !defined(FEW) && !defined(OTHERS)
size_t only_scratch(const odvgp_server *server, int gradients)
{
	return gradients ? odvgp_predict_gradient_scratch(server, 1, NULL)
					 : odvgp_predict_scratch(server, 1, NULL);
}
odvgp_status only_predict(const odvgp_server *server, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean, odvgp_real *var, void *scratch, size_t bytes, odvgp_info *info)
{
	return odvgp_predict(server, X, n, mean, var, scratch, bytes, info);
}
odvgp_status only_predict_y(const odvgp_server *server, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean, odvgp_real *var, void *scratch, size_t bytes, odvgp_info *info)
{
	return odvgp_predict_y(server, X, n, mean, var, scratch, bytes, info);
}
odvgp_status only_gradient(const odvgp_server *server, const odvgp_real *X, ptrdiff_t n,
		const odvgp_gradient *to, void *scratch, size_t bytes, odvgp_info *info)
{
	return odvgp_predict_gradient(server, X, n, to, scratch, bytes, info);
}
#endif
