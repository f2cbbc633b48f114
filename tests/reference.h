/*  Plain counterparts of the library's functions, written to be read and not to be fast:
    products, factors, kernels and the members' Gaussians by brute force. Products are summed in
    double with a bound of their rounding error; everything small is long double. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "test.h"
#include <ctype.h>

typedef long double wide;

/* ---- products, with the sum of absolute terms from which a rounding bound follows ---- */

/*  want <- alpha op(A) op(B) + beta C, size <- |alpha| |op(A)| |op(B)| + |beta| |C|; beta = 0
    ignores C. */
TEST_UNUSED static void ref_gemm(int ta, int tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,
		double alpha, const odvgp_real *A, ptrdiff_t lda, const odvgp_real *B, ptrdiff_t ldb,
		double beta, const odvgp_real *C, ptrdiff_t ldc, double *want, double *size)
{
	ptrdiff_t i, j, l;
	for (i = 0; i < m; i++)
		for (j = 0; j < n; j++) want[i * n + j] = size[i * n + j] = 0;
	for (i = 0; i < m; i++)
		for (l = 0; l < k; l++) {
			double a = (double)(ta ? A[l * lda + i] : A[i * lda + l]);
			for (j = 0; j < n; j++) {
				double t = a * (double)(tb ? B[j * ldb + l] : B[l * ldb + j]);
				want[i * n + j] += t;
				size[i * n + j] += fabs(t);
			}
		}
	for (i = 0; i < m; i++)
		for (j = 0; j < n; j++) {
			double c = beta == 0 ? 0 : beta * (double)C[i * ldc + j];
			want[i * n + j] = alpha * want[i * n + j] + c;
			size[i * n + j] = fabs(alpha) * size[i * n + j] + fabs(c);
		}
}

/* ---- small dense algebra in long double, row-major without padding ---- */

TEST_UNUSED static wide *ref_new(ptrdiff_t n)
{
	wide *p = NEW(wide, n);
	ptrdiff_t i;
	for (i = 0; i < n; i++) p[i] = 0;
	return p;
}
TEST_UNUSED static wide *ref_copy(const odvgp_real *a, ptrdiff_t n)
{
	wide *p = ref_new(n);
	ptrdiff_t i;
	for (i = 0; i < n; i++) p[i] = (wide)a[i];
	return p;
}
TEST_UNUSED static void ref_round(const wide *a, odvgp_real *out, ptrdiff_t n)
{
	ptrdiff_t i;
	for (i = 0; i < n; i++) out[i] = (odvgp_real)a[i];
}
/*  C [m,n] <- op(A) op(B). */
TEST_UNUSED static void ref_mul(int ta, int tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,
		const wide *A, const wide *B, wide *C)
{
	ptrdiff_t i, j, l;
	for (i = 0; i < m; i++)
		for (j = 0; j < n; j++) {
			wide s = 0;
			for (l = 0; l < k; l++)
				s += (ta ? A[l * m + i] : A[i * k + l]) * (tb ? B[j * k + l] : B[l * n + j]);
			C[i * n + j] = s;
		}
}
/*  L L^T = A. Returns 0 if A is not positive definite. Elements above the diagonal become 0. */
TEST_UNUSED static int ref_chol(ptrdiff_t n, const wide *A, wide *L)
{
	ptrdiff_t i, j, k;
	for (i = 0; i < n; i++) {
		for (j = 0; j <= i; j++) {
			wide s = A[i * n + j];
			for (k = 0; k < j; k++) s -= L[i * n + k] * L[j * n + k];
			if (i == j) {
				if (!(s > 0)) return 0;
				L[i * n + i] = sqrtl(s);
			} else L[i * n + j] = s / L[j * n + j];
		}
		for (; j < n; j++) L[i * n + j] = 0;
	}
	return 1;
}
/*  B [m,n] <- op(L)^-1 B. */
TEST_UNUSED static void ref_solve_lower(int trans, ptrdiff_t m, ptrdiff_t n, const wide *L, wide *B)
{
	ptrdiff_t i, j, k, r;
	for (r = 0; r < m; r++) {
		i = trans ? m - 1 - r : r;
		for (j = 0; j < n; j++) {
			wide s = B[i * n + j];
			if (trans)
				for (k = i + 1; k < m; k++) s -= L[k * m + i] * B[k * n + j];
			else
				for (k = 0; k < i; k++) s -= L[i * m + k] * B[k * n + j];
			B[i * n + j] = s / L[i * m + i];
		}
	}
}
/*  B [n,m] <- A^-1 B for symmetric positive definite A. Returns log det A. */
TEST_UNUSED static wide ref_solve_spd(ptrdiff_t n, ptrdiff_t m, const wide *A, wide *B)
{
	wide *L = ref_new(n * n), logdet = 0;
	ptrdiff_t i;
	CHECK(ref_chol(n, A, L));
	for (i = 0; i < n; i++) logdet += 2 * logl(L[i * n + i]);
	if (B) {
		ref_solve_lower(0, n, m, L, B);
		ref_solve_lower(1, n, m, L, B);
	}
	free(L);
	return logdet;
}
TEST_UNUSED static wide *ref_inverse_spd(ptrdiff_t n, const wide *A)
{
	wide *X = ref_new(n * n);
	ptrdiff_t i;
	for (i = 0; i < n; i++) X[i * n + i] = 1;
	ref_solve_spd(n, n, A, X);
	return X;
}
TEST_UNUSED static wide ref_norm1(ptrdiff_t n, const wide *A)
{
	wide most = 0;
	ptrdiff_t i, j;
	for (i = 0; i < n; i++) {
		wide s = 0;
		for (j = 0; j < n; j++) s += fabsl(A[i * n + j]);
		if (s > most) most = s;
	}
	return most;
}
TEST_UNUSED static double ref_condition(ptrdiff_t n, const wide *A)
{
	wide *X = ref_inverse_spd(n, A), c = ref_norm1(n, A) * ref_norm1(n, X);
	free(X);
	return (double)c;
}

/* ---- kernels: an expression of plain names, and the values of each base apart ---- */

#define REF_BASE_KERNELS 16
#define REF_DIMS         64
typedef struct ref_base {
	char name[32];
	/* ndims = 0 means all columns. */
	int ard, ndims;
	int dims[REF_DIMS];
	/* shape_param is alpha, period or offset. */
	wide lengthscale[REF_DIMS], variance[REF_DIMS], shape_param;
	int degree;
} ref_base;
typedef struct ref_kernel {
	/* Names, + * ( ). */
	char text[400];
	int base_kernels;
	ref_base base[REF_BASE_KERNELS];
} ref_kernel;

/*  Reads names from the text; numbers are 1, the degree is 2, and all columns are used. Returns
    0 if there are too many base kernels. */
TEST_UNUSED static int ref_kernel_read(ref_kernel *k, const char *text)
{
	const char *s = text;
	int i;
	memset(k, 0, sizeof *k);
	if (strlen(text) >= sizeof k->text) return 0;
	strcpy(k->text, text);
	while (*s) {
		if (isalpha((unsigned char)*s)) {
			size_t n = 0;
			if (k->base_kernels == REF_BASE_KERNELS) return 0;
			while (isalnum((unsigned char)*s)) {
				if (n + 1 < sizeof k->base[0].name) k->base[k->base_kernels].name[n++] = *s;
				s++;
			}
			for (i = 0; i < REF_DIMS; i++)
				k->base[k->base_kernels].lengthscale[i] = k->base[k->base_kernels].variance[i] = 1;
			k->base[k->base_kernels].shape_param = 1;
			k->base[k->base_kernels].degree = 2;
			k->base_kernels++;
		} else s++;
	}
	return k->base_kernels > 0;
}
/*  Returns 1 if a base kernel can have a number for each column. */
TEST_UNUSED static int ref_can_be_ard(const ref_base *l)
{
	return strcmp(l->name, "polynomial") && strcmp(l->name, "constant") && strcmp(l->name, "white");
}
/*  Reads the current values of the base kernels from a model. */
TEST_UNUSED static void ref_kernel_take(ref_kernel *k, const odvgp_model *m)
{
	int s, l;
	ptrdiff_t i;
	for (s = 0; s < odvgp_slot_count(m); s++) {
		const odvgp_slot *slot = odvgp_slot_at(m, s);
		char what[40];
		odvgp_real v[REF_DIMS];
		if (sscanf(slot->name, "kernel.%d.%39s", &l, what) != 2) continue;
		CHECK(l < k->base_kernels && odvgp_get(m, slot->name, v, slot->count, NULL) == ODVGP_OK);
		for (i = 0; i < slot->count; i++) {
			if (!strcmp(what, "lengthscale")) k->base[l].lengthscale[i] = (wide)v[i];
			else if (!strcmp(what, "variance")) k->base[l].variance[i] = (wide)v[i];
			else k->base[l].shape_param = (wide)v[i];
		}
	}
}
/*  Prints the kernel as the library does: each name with its arguments. */
TEST_UNUSED static void ref_kernel_spell(const ref_kernel *k, char *out, size_t size)
{
	const char *s = k->text;
	size_t n = 0;
	int base = 0, i;
	while (*s && n + 200 < size) {
		if (isalpha((unsigned char)*s)) {
			const ref_base *l = &k->base[base++];
			while (isalnum((unsigned char)*s)) out[n++] = *s++;
			n += (size_t)sprintf(out + n, "(1%s", l->ard ? ", ard" : "");
			for (i = 0; i < l->ndims && n + 30 < size; i++) {
				int from = i;
				while (i + 1 < l->ndims && l->dims[i + 1] == l->dims[i] + 1) i++;
				n += (size_t)sprintf(
						out + n, "%s%d:%d", from ? "+" : ", dims=", l->dims[from], l->dims[i] + 1);
			}
			if (!strcmp(l->name, "polynomial"))
				n += (size_t)sprintf(out + n, ", degree=%d", l->degree);
			out[n++] = ')';
		} else out[n++] = *s++;
	}
	out[n] = 0;
}
TEST_UNUSED static wide ref_base_value(const ref_base *l, ptrdiff_t D, const wide *x, const wide *z)
{
	wide r2 = 0, r, s, product = 0, sines = 0, parts = 0, city = 0, v = l->variance[0];
	int i, n = l->ndims ? l->ndims : (int)D;
	for (i = 0; i < n; i++) {
		int d = l->ndims ? l->dims[i] : i;
		wide scale = l->lengthscale[l->ard ? i : 0], t = (x[d] - z[d]) / scale,
			 sine = sinl(acosl(-1) * (x[d] - z[d]) / l->shape_param) / scale;
		r2 += t * t;
		city += fabsl(t);
		sines += sine * sine;
		product += x[d] * z[d] * l->variance[l->ard ? i : 0];
		s = sqrtl(5.0L) * fabsl(t);
		parts += l->variance[l->ard ? i : 0] * (1 + s + s * s / 3) * expl(-s);
	}
	r = sqrtl(r2);
	if (!strcmp(l->name, "rbf")) return v * expl(-r2 / 2);
	if (!strcmp(l->name, "matern12")) return v * expl(-r);
	if (!strcmp(l->name, "matern32")) return s = sqrtl(3.0L) * r, v * (1 + s) * expl(-s);
	if (!strcmp(l->name, "matern52"))
		return s = sqrtl(5.0L) * r, v * (1 + s + s * s / 3) * expl(-s);
	if (!strcmp(l->name, "rq")) return v * powl(1 + r2 / (2 * l->shape_param), -l->shape_param);
	if (!strcmp(l->name, "periodic")) return v * expl(-2 * sines);
	if (!strcmp(l->name, "linear")) return product;
	if (!strcmp(l->name, "additive")) return parts;
	if (!strcmp(l->name, "laplacian")) return v * expl(-city);
	if (!strcmp(l->name, "polynomial")) return powl(product + l->shape_param, l->degree);
	if (!strcmp(l->name, "constant")) return v;
	/* This means the same row of the same array. */
	if (!strcmp(l->name, "white")) return x == z ? v : 0;
	CHECK_SAY(0, "reference.h knows no kernel %s", l->name);
	return 0;
}
/*  sum := product {+ product};  product := factor {* factor};  factor := name | ( sum ) */
static wide ref_kernel_sum(
		const ref_kernel *k, const char **s, int *base, ptrdiff_t D, const wide *x, const wide *z);
static void ref_blank(const char **s)
{
	while (isspace((unsigned char)**s)) ++*s;
}
static wide ref_kernel_factor(
		const ref_kernel *k, const char **s, int *base, ptrdiff_t D, const wide *x, const wide *z)
{
	wide v;
	ref_blank(s);
	if (**s == '(') {
		++*s;
		v = ref_kernel_sum(k, s, base, D, x, z);
		ref_blank(s);
		if (**s == ')') ++*s;
	} else {
		while (isalnum((unsigned char)**s)) ++*s;
		v = ref_base_value(&k->base[(*base)++], D, x, z);
	}
	ref_blank(s);
	return v;
}
static wide ref_kernel_product(
		const ref_kernel *k, const char **s, int *base, ptrdiff_t D, const wide *x, const wide *z)
{
	wide v = ref_kernel_factor(k, s, base, D, x, z);
	while (**s == '*') {
		++*s;
		v *= ref_kernel_factor(k, s, base, D, x, z);
	}
	return v;
}
static wide ref_kernel_sum(
		const ref_kernel *k, const char **s, int *base, ptrdiff_t D, const wide *x, const wide *z)
{
	wide v = ref_kernel_product(k, s, base, D, x, z);
	while (**s == '+') {
		++*s;
		v += ref_kernel_product(k, s, base, D, x, z);
	}
	return v;
}
TEST_UNUSED static wide ref_k(const ref_kernel *k, ptrdiff_t D, const wide *x, const wide *z)
{
	const char *s = k->text;
	int base = 0;
	return ref_kernel_sum(k, &s, &base, D, x, z);
}
/*  K [n,m] of X [n,D] and Z [m,D]. */
TEST_UNUSED static wide *ref_K(
		const ref_kernel *k, ptrdiff_t D, const wide *X, ptrdiff_t n, const wide *Z, ptrdiff_t m)
{
	wide *K = ref_new(n * m);
	ptrdiff_t i, j;
	for (i = 0; i < n; i++)
		for (j = 0; j < m; j++) K[i * m + j] = ref_k(k, D, X + i * D, Z + j * D);
	return K;
}

#endif
