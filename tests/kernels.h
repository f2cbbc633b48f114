/*  Kernel expressions of three columns: all base kernels, with one lengthscale or one for each
    column, on some columns or all, some of them together, in sums and products. */
#ifndef KERNELS_H
#define KERNELS_H

static const char *const expressions[] = {"rbf", "matern12", "matern32", "matern52", "rbf(1, ard)",
		"matern12(1, ard)", "matern32(1, ard)", "matern52(1, ard)", "matern52 + rbf",
		"rbf * matern32", "(rbf + matern12(1, ard)) * matern52",
		"rbf(1, dims=0+2) * matern32(1, dims=1)",
		"matern52(1, ard, dims=1:3) + rbf(1, dims=0) * matern12(1, ard, dims=2) + matern32", "rq",
		"rq(1, ard) + rbf", "periodic", "periodic(1, ard, dims=0+2) * rq", "linear",
		"linear(1, ard)", "linear * linear(1, dims=1) + rbf(1, ard)", "polynomial(1, degree=3)",
		"polynomial(1, degree=1, dims=1) + linear(1, ard, dims=1)", "constant + rbf(1, dims=0)",
		"white + constant * rbf",
		"(linear + periodic(1, dims=0)) * (polynomial + white) + constant", "additive",
		"additive(1, ard) * rbf", "additive(1, ard=0:2) + matern52(1, ard=1:3)",
		"(additive(1, dims=0+2) + constant) * rbf(1, ard=0:2, dims=2+0:2)", "laplacian",
		"laplacian(1, ard) * rbf + matern12", "laplacian(1, ard=0:2) * matern52(1, ard=1:3)",
		"laplacian(1, dims=0+2) + laplacian(2, dims=0+2) * (constant + linear)"};
#define EXPRESSIONS (sizeof expressions / sizeof *expressions)

#endif
