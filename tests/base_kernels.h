/*  The library built for kernels of at most two terms, as test_base_kernels.c calls it. Include
    odvgp.h before this file. */
#ifndef BASE_KERNELS_H
#define BASE_KERNELS_H

/*  odvgp_server_from_block and odvgp_server_from_memory. */
size_t two_model_size(const odvgp_config *config, odvgp_info *info);
odvgp_status two_from_block(
		const void *block, size_t bytes, odvgp_isa isa, odvgp_server *server, odvgp_info *info);
odvgp_status two_from_file(const void *file, size_t bytes, odvgp_isa isa, void *block, size_t size,
		odvgp_server *server, odvgp_info *info);
/*  odvgp_predict of mean and variance, with scratch of its own. */
odvgp_status two_predict(const odvgp_server *server, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean, odvgp_real *var);
/*  Loads a file, continues training, and saves into a block of the same size. */
odvgp_status two_train(const void *file, size_t bytes, odvgp_isa isa, const odvgp_real *X,
		const odvgp_real *Y, ptrdiff_t steps, void *again, odvgp_info *info);
/*  The same in the build with the other rows, for ODVGP_ISA_C. */
size_t others_model_size(const odvgp_config *config, odvgp_info *info);
odvgp_status others_from_block(
		const void *block, size_t bytes, odvgp_isa isa, odvgp_server *server, odvgp_info *info);
odvgp_status others_from_file(const void *file, size_t bytes, odvgp_isa isa, void *block,
		size_t size, odvgp_server *server, odvgp_info *info);
odvgp_status others_train(const void *file, size_t bytes, odvgp_isa isa, const odvgp_real *X,
		const odvgp_real *Y, ptrdiff_t steps, void *again, odvgp_info *info);

#endif
