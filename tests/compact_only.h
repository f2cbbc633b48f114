/*  What tests/compact_only.c, a build with ODVGP_PREDICT_ONLY, does for tests/test_compact.c. */
#ifndef COMPACT_ONLY_H
#define COMPACT_ONLY_H

odvgp_status only_open(odvgp_server *server, const void *block, size_t bytes, odvgp_info *info);
size_t only_scratch(const odvgp_server *server, int gradients);
odvgp_status only_predict(const odvgp_server *server, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean, odvgp_real *var, void *scratch, size_t bytes, odvgp_info *info);
odvgp_status only_predict_y(const odvgp_server *server, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean, odvgp_real *var, void *scratch, size_t bytes, odvgp_info *info);
odvgp_status only_gradient(const odvgp_server *server, const odvgp_real *X, ptrdiff_t n,
		const odvgp_gradient *to, void *scratch, size_t bytes, odvgp_info *info);
/*  A build with fewer base kernels, members and likelihoods, and one with the others. */
odvgp_status few_open(odvgp_server *server, const void *block, size_t bytes, odvgp_info *info);
odvgp_status others_open(odvgp_server *server, const void *block, size_t bytes, odvgp_info *info);

#endif
