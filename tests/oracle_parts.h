/*  Case files of tests/oracle about parts below the public interface: kernels, patches,
    likelihoods, quadrature, Adam, and initial values. */
#ifndef ORACLE_PARTS_H
#define ORACLE_PARTS_H

#include "oracle_world.h"

/* ---- kernels, likelihoods, Adam: below the public interface ---- */

/*  Compares gradients of all hyperparameters that the library has. */
static void compare_hyper(ocase *c, const gp__kernel *k, const char *head, const odvgp_real *dhyp,
		const char *variant)
{
	uint32_t i, j;
	for (i = 0; i < k->base_kernels; i++) {
		const gp__base_kernel *l = &k->base[i];
		const char *names[3] = {
				"lengthscale", "variance", gp__base_kernel_kinds[l->type].shape_param};
		uint32_t at[3] = {l->ls, l->var, l->shape_param},
				 count[3] = {l->nls, l->nvar, names[2] ? 1 : 0};
		for (j = 0; j < 3; j++) {
			char name[100];
			if (!count[j]) continue;
			sprintf(name, "%sgrad_kernel.%d.%s", head, (int)i, names[j]);
			compare(c, name, dhyp + at[j], (ptrdiff_t)count[j], variant);
		}
	}
}
/*  Compares the kernel matrix, its diagonal and their adjoints on each instruction set; K(X,X)
    also as a lower triangle, K(X,Z) also through products. */
static void compare_kernel(ocase *c, const gp__kernel *k, const odvgp_real *hyp,
		const odvgp_blas *blas, const char *isa)
{
	tensor *X = need(c, "X"), *Z = need(c, "Z"), *Wxz = need(c, "W_xz"), *Wxx = need(c, "W_xx"),
		   *Wd = need(c, "W_diag");
	static const char *const heads[] = {"xz.", "xx.", "xx.", "xz."},
							 *const ways[] = {
									 "K(X,Z)", "K(X,X)", "lower K(X,X)", "products with K(X,Z)"};
	ptrdiff_t n, m, D, i, j, h, nhyp = (ptrdiff_t)k->nhyp;
	int way;
	if (!X || !Z || !Wxz || !Wxx || !Wd) return;
	n = X->dim[0];
	D = X->dim[1];
	m = Z->dim[0];
	for (way = 0; way < 4; way++) {
		int lower = way == 2, vec = way == 3, xz = way == 0 || way == 3;
		ptrdiff_t cols = xz ? m : n;
		odvgp_real *K = NEW(odvgp_real, n * cols), *W = NEW(odvgp_real, n * cols),
				   *dhyp = NEW(odvgp_real, nhyp), *dX = NEW(odvgp_real, n * D),
				   *dZ = NEW(odvgp_real, m * D), *I = NEW(odvgp_real, m * m),
				   *out = NEW(odvgp_real, m * n), sum = 0;
		gp__kjob job;
		gp__kernel_job(&job, blas, k, hyp, X->r, n, xz ? Z->r : X->r, cols);
		gp__arena a;
		size_t bytes;
		void *block;
		char name[100], variant[100];
		sprintf(variant, "%s, %s", ways[way], isa);
		gp__arena_init(&a, NULL, 0);
		gp__kernel_scratch(&a, k, n, cols, gp__tasks(&blas->threads), 1, &job);
		gp__kernel_scratch(&a, k, n, cols, gp__tasks(&blas->threads), 0, &job);
		bytes = a.used + 64;
		block = test_alloc(bytes);
		gp__arena_init(&a, block, bytes);
		for (i = 0; i < n * D; i++) dX[i] = 0;
		for (i = 0; i < m * D; i++) dZ[i] = 0;
		for (h = 0; h < nhyp; h++) dhyp[h] = 0;
		for (i = 0; i < m * m; i++) I[i] = i % (m + 1) == 0;
		for (i = 0; i < n; i++)
			for (j = 0; j < cols; j++)
				W[i * cols + j] = !lower   ? (xz ? Wxz : Wxx)->r[i * cols + j]
								  : j > i  ? (odvgp_real)NAN
								  : j == i ? Wxx->r[i * n + i]
										   : Wxx->r[i * n + j] + Wxx->r[j * n + i];
		job.lower = lower;
		/* a = I: out [m,n] = K^T. */
		if (vec) {
			job.a = I;
			job.lda = m;
			job.P = m;
			job.out = out;
			job.ldo = n;
		} else {
			job.K = K;
			job.ldk = cols;
		}
		gp__kernel_run(&job, a);
		for (i = 0; i < n && vec; i++)
			for (j = 0; j < m; j++) K[i * m + j] = out[j * n + i];
		for (i = 0; i < n; i++)
			for (j = i + 1; j < cols && lower; j++) {
				if (K[i * n + j] != 0) fail(c, "%s: not 0 above the diagonal", variant);
				K[i * n + j] = K[j * n + i];
			}
		compare(c, xz ? "K_xz" : "K_xx", K, n * cols, variant);
		for (i = 0; i < n; i++)
			for (j = 0; j < cols; j++) sum += K[i * cols + j] * (xz ? Wxz : Wxx)->r[i * cols + j];
		compare(c, xz ? "xz" : "xx", &sum, 1, variant);
		/* The adjoint. */
		job.K = NULL;
		job.out = NULL;
		if (vec) {
			for (i = 0; i < n; i++)
				for (j = 0; j < m; j++) out[j * n + i] = W[i * m + j];
			job.dout = out;
		} else {
			job.dK = W;
			job.lddk = cols;
		}
		job.dhyp = dhyp;
		job.dX1 = dX;
		job.dX2 = xz ? dZ : dX;
		gp__kernel_adjoint_run(&job, a);
#define NAME(s) (snprintf(name, sizeof name, "%s%s", heads[way], s), name)
		compare(c, NAME("grad_X"), dX, n * D, variant);
		if (xz) compare(c, NAME("grad_Z"), dZ, m * D, variant);
		compare_hyper(c, k, heads[way], dhyp, variant);
		free(K), free(W), free(dhyp), free(dX), free(dZ), free(I), free(out), free(block);
	}
	{
		/* The diagonal. */
		odvgp_real value[GP__MAX_NODES], sum = 0;
		odvgp_real *diag = NEW(odvgp_real, n), *dX = NEW(odvgp_real, n * D),
				   *dhyp = NEW(odvgp_real, nhyp);
		for (i = 0; i < n * D; i++) dX[i] = 0;
		for (h = 0; h < nhyp; h++) dhyp[h] = 0;
		for (i = 0; i < n; i++) {
			diag[i] = gp__kernel_diag(k, hyp, X->r + i * D, value);
			sum += Wd->r[i] * diag[i];
			gp__kernel_diag_adjoint(k, hyp, X->r + i * D, Wd->r[i], dhyp, dX + i * D);
		}
		compare(c, "K_diag", diag, n, "");
		compare(c, "diag", &sum, 1, "");
		compare(c, "diag.grad_X", dX, n * D, "");
		compare_hyper(c, k, "diag.", dhyp, "");
		free(diag), free(dX), free(dhyp);
	}
#undef NAME
}
static void run_kernel(ocase *c)
{
	ref_kernel spelled;
	gp__kernel k;
	char text[4000];
	double value[GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_status s;
	odvgp_real *hyp;
	tensor *X = need(c, "X");
	uint32_t i, d;
	int v;
	if (!X || !read_kernel(c, "", &spelled, text, sizeof text)) {
		fail(c, "kernel \"%s\" cannot be read", say(c, "kernel"));
		return;
	}
	s = gp__kernel_parse(&k, text, X->dim[1], value, &info);
	if (!good(c, s, "the kernel's expression", &info)) return;
	hyp = NEW(odvgp_real, k.nhyp);
	for (i = 0; i < k.base_kernels; i++) {
		for (d = 0; d < k.base[i].nls; d++)
			hyp[k.base[i].ls + d] = (odvgp_real)spelled.base[i].lengthscale[d];
		for (d = 0; d < k.base[i].nvar; d++)
			hyp[k.base[i].var + d] = (odvgp_real)spelled.base[i].variance[d];
		if (gp__base_kernel_kinds[k.base[i].type].shape_param)
			hyp[k.base[i].shape_param] = (odvgp_real)spelled.base[i].shape_param;
	}
	for (v = 0; v < test_isas.count; v++) {
		odvgp_blas blas;
		size_t bytes = odvgp_blas_size(NULL, NULL);
		void *block = test_alloc(bytes);
		if (good(c, odvgp_blas_init(&blas, NULL, test_isas.isa[v], block, bytes, NULL),
					test_isas.name[v], NULL))
			compare_kernel(c, &k, hyp, &blas, test_isas.name[v]);
		free(block);
	}
	free(hyp);
}

/* ---- patches ---- */

/*  A tensor of n rows and m columns made of others; it need not be compared. */
static tensor *add_tensor(ocase *c, const char *name, ptrdiff_t n, ptrdiff_t m)
{
	tensor t;
	memset(&t, 0, sizeof t);
	t.name = copy_text(name, strlen(name));
	t.rank = 2;
	t.dim[0] = n;
	t.dim[1] = m;
	t.count = n * m;
	t.seen = 1;
	t.v = NEW(double, t.count);
	t.r = NEW(odvgp_real, t.count);
	c->t = (tensor *)realloc(c->t, (size_t)(c->tensors + 1) * sizeof(tensor));
	if (!c->t) exit(3);
	c->t[c->tensors] = t;
	return &c->t[c->tensors++];
}
static void put(tensor *t, ptrdiff_t i, double v)
{
	t->v[i] = v;
	t->r[i] = (odvgp_real)v;
}
/*  Locations are two more columns of patches and inducing patches, and their kernel is a second
    base kernel: loc.kernel.0 becomes kernel.1, Z_beta_loc part of Z_beta. */
static void join_locations(ocase *c)
{
	static const char loc[] = "loc.kernel.0";
	ptrdiff_t d, i, j;
	tensor *t, *shape = need(c, "shape");
	int k;
	if (strcmp(say(c, "tick"), "yes") || !shape) return;
	d = (ptrdiff_t)(shape->v[2] * shape->v[3] * shape->v[4]);
	for (k = 0; k < c->tensors; k++) {
		char *at = strstr(c->t[k].name, loc);
		if (!at) continue;
		memcpy(at, "kernel.1", 8);
		memmove(at + 8, at + sizeof loc - 1, strlen(at + sizeof loc - 1) + 1);
	}
	for (k = 0; k < c->words; k++)
		if (!strcmp(c->w[k].key, "kernel")) {
			free(c->w[k].value);
			c->w[k].value = copy_text("rbf * matern32", 14);
		}
	t = add_tensor(c, "kernel.0.active_dims", 1, d);
	for (i = 0; i < d; i++) put(t, i, (double)i);
	t = add_tensor(c, "kernel.1.active_dims", 1, 2);
	for (i = 0; i < 2; i++) put(t, i, (double)(d + i));
	for (k = 0; k < 3; k++) {
		static const char *const heads[] = {"", "uu.grad_", "uf.grad_"};
		char name[40];
		sprintf(name, "%sZ_beta_loc", heads[k]);
		const tensor *second = find(c, name), *first;
		if (!second) continue;
		sprintf(name, "%sZ_beta", heads[k]);
		first = find(c, name);
		ptrdiff_t M = first->dim[0];
		sprintf(name, "%spoints", heads[k]);
		t = add_tensor(c, name, M, d + 2);
		sprintf(name, "%sZ_beta", heads[k]);
		first = find(c, name);
		sprintf(name, "%sZ_beta_loc", heads[k]);
		second = find(c, name);
		for (i = 0; i < M; i++)
			for (j = 0; j < d + 2; j++)
				put(t, i * (d + 2) + j, j < d ? first->v[i * d + j] : second->v[i * 2 + j - d]);
	}
}

typedef struct conv_world {
	odvgp_config cfg;
	gp__patches patches;
	gp__kernel kernel;
	odvgp_real *hyp, *dhyp, *dweights;
	const tensor *images, *weights, *Z;
	ptrdiff_t n, T, D, M;
	gp__arena scratch;
} conv_world;
static void conv_job(const conv_world *w, const odvgp_blas *blas, gp__kjob *job,
		const odvgp_real *Z, ptrdiff_t M, ptrdiff_t image, ptrdiff_t images)
{
	ptrdiff_t size = w->images->dim[1];
	gp__kernel_job(job, blas, &w->kernel, w->hyp, Z, M, w->images->r + image * size, images);
	job->patches = &w->patches;
	job->weights = w->weights->r;
	job->dhyp = w->dhyp;
	job->dweights = w->dweights;
}
static void conv_clear(const conv_world *w)
{
	uint32_t h;
	ptrdiff_t t;
	for (h = 0; h < w->kernel.nhyp; h++) w->dhyp[h] = 0;
	for (t = 0; t < w->T; t++) w->dweights[t] = 0;
}
static void compare_conv(ocase *c, const conv_world *w, const odvgp_blas *blas, const char *isa)
{
	const char *points = find(c, "points") ? "points" : "Z_beta";
	ptrdiff_t n = w->n, M = w->M, T = w->T, i, j, t, D = w->D;
	odvgp_real *K = NEW(odvgp_real, (M + n) * (M + n)), *dZ = NEW(odvgp_real, M * D), sum,
			   *all = NEW(odvgp_real, T * D), *column = NEW(odvgp_real, T),
			   *Kw = NEW(odvgp_real, n * T), *diag = NEW(odvgp_real, n),
			   *dK = NEW(odvgp_real, M * n + T), g;
	tensor *Wuu = need(c, "W_uu"), *Wuf = need(c, "W_uf"), *Wff = need(c, "W_ff");
	char name[60];
	gp__kjob job;
	/* The patches of the first image. */
	gp__patches_move(&w->patches, w->images->r, NULL, all);
	{
		const tensor *patches = need(c, "patches0"), *at = need(c, "patch_locations");
		ptrdiff_t d = patches->dim[1];
		odvgp_real *got = NEW(odvgp_real, T * (d + 2));
		for (t = 0; t < T; t++)
			for (j = 0; j < d; j++) got[t * d + j] = all[t * D + j];
		compare(c, "patches0", got, T * d, isa);
		for (t = 0; t < T && D > d; t++)
			for (j = 0; j < 2; j++) got[t * 2 + j] = all[t * D + d + j];
		if (D > d) compare(c, "patch_locations", got, T * 2, isa);
		(void)at;
		free(got);
	}
	/* K_uu. */
	conv_clear(w);
	gp__kernel_job(&job, blas, &w->kernel, w->hyp, w->Z->r, M, w->Z->r, M);
	job.K = K;
	job.ldk = M;
	gp__kernel_run(&job, w->scratch);
	compare(c, "K_uu", K, M * M, isa);
	for (i = 0, sum = 0; i < M * M; i++) sum += K[i] * Wuu->r[i];
	compare(c, "uu", &sum, 1, isa);
	for (i = 0; i < M * D; i++) dZ[i] = 0;
	job.dK = Wuu->r;
	job.lddk = M;
	job.dhyp = w->dhyp;
	job.dX1 = job.dX2 = dZ;
	gp__kernel_adjoint_run(&job, w->scratch);
	compare_hyper(c, &w->kernel, "uu.", w->dhyp, isa);
	sprintf(name, "uu.grad_%s", points);
	compare(c, name, dZ, M * D, isa);
	compare(c, "uu.grad_weights", w->dweights, T, isa);
	/* K_uf. */
	conv_clear(w);
	conv_job(w, blas, &job, w->Z->r, M, 0, n);
	job.K = K;
	job.ldk = n;
	gp__kernel_matrix(&job, w->scratch, 0);
	compare(c, "K_uf", K, M * n, isa);
	for (i = 0, sum = 0; i < M * n; i++) sum += K[i] * Wuf->r[i];
	compare(c, "uf", &sum, 1, isa);
	for (i = 0; i < M * D; i++) dZ[i] = 0;
	job.dK = Wuf->r;
	job.lddk = n;
	job.dX1 = dZ;
	gp__kernel_matrix(&job, w->scratch, 1);
	compare_hyper(c, &w->kernel, "uf.", w->dhyp, isa);
	sprintf(name, "uf.grad_%s", points);
	compare(c, name, dZ, M * D, isa);
	compare(c, "uf.grad_weights", w->dweights, T, isa);
	/* K_ff: the diagonal, and K(patches of i, image j) for the rest. */
	conv_clear(w);
	sum = 0;
	conv_job(w, blas, &job, NULL, 0, 0, n);
	gp__images_diag(&job, diag, Kw, w->scratch, 0);
	for (i = 0; i < n; i++) dK[i] = Wff->r[i * n + i];
	gp__images_diag(&job, dK, Kw, w->scratch, 1);
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++) {
			if (i == j) {
				K[i * n + i] = diag[i];
				continue;
			}
			gp__patches_move(&w->patches, w->images->r + i * w->images->dim[1], NULL, all);
			conv_job(w, blas, &job, all, T, j, 1);
			job.K = column;
			job.ldk = job.lddk = 1;
			gp__kernel_matrix(&job, w->scratch, 0);
			g = Wff->r[i * n + j];
			for (t = 0, K[i * n + j] = 0; t < T; t++) {
				K[i * n + j] += w->weights->r[t] * column[t];
				w->dweights[t] += g * column[t];
				dK[t] = g * w->weights->r[t];
			}
			job.dK = dK;
			gp__kernel_matrix(&job, w->scratch, 1);
		}
	compare(c, "K_ff", K, n * n, isa);
	for (i = 0; i < n * n; i++) sum += K[i] * Wff->r[i];
	compare(c, "ff", &sum, 1, isa);
	compare_hyper(c, &w->kernel, "ff.", w->dhyp, isa);
	compare(c, "ff.grad_weights", w->dweights, T, isa);
	for (i = 0; i < M * D; i++) dZ[i] = 0;
	compare(c, "ff.grad_Z_beta", dZ, M * need(c, "Z_beta")->dim[1], isa);
	if (find(c, "ff.grad_Z_beta_loc")) compare(c, "ff.grad_Z_beta_loc", dZ, M * 2, isa);
	if (find(c, "uu.grad_Z_beta_loc")) {
		find(c, "uf.grad_Z_beta_loc");
		find(c, "uf.grad_Z_beta");
		find(c, "uu.grad_Z_beta");
	}
	free(K), free(dZ), free(all), free(column), free(Kw), free(diag), free(dK);
}
/*  Compares kernel matrices of patches and images, and their adjoints. */
static void run_conv_kernel(ocase *c)
{
	static const ptrdiff_t rows = 40;
	conv_world w;
	ref_kernel spelled;
	char text[4000];
	double value[GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	gp__images_work work;
	gp__kjob job;
	size_t used;
	uint32_t i;
	int v;
	memset(&w, 0, sizeof w);
	join_locations(c);
	w.images = need(c, "images");
	w.weights = need(c, "weights");
	w.Z = find(c, "points") ? find(c, "points") : need(c, "Z_beta");
	if (!w.images || !w.weights || !w.Z || !read_kernel(c, "", &spelled, text, sizeof text)) {
		fail(c, "the case cannot be read");
		return;
	}
	w.n = w.images->dim[0];
	w.cfg = odvgp_config_defaults(w.n, w.images->dim[1], 1, 4, 0);
	read_patches(c, &w.cfg);
	w.patches = gp__patches_of(&w.cfg, 0);
	w.T = gp__patches_count(&w.patches);
	w.D = gp__patch_columns(&w.patches, 0);
	w.M = w.Z->dim[0];
	if (w.T != w.weights->count || w.D != w.Z->dim[1]) {
		fail(c, "%d patches of %d numbers", (int)w.T, (int)w.D);
		return;
	}
	if (!good(c, gp__kernel_parse(&w.kernel, text, w.D, value, &info), "the kernel", &info)) return;
	w.hyp = NEW(odvgp_real, w.kernel.nhyp);
	w.dhyp = NEW(odvgp_real, w.kernel.nhyp);
	w.dweights = NEW(odvgp_real, w.T);
	for (i = 0; i < w.kernel.base_kernels; i++) {
		w.hyp[w.kernel.base[i].ls] = (odvgp_real)spelled.base[i].lengthscale[0];
		w.hyp[w.kernel.base[i].var] = (odvgp_real)spelled.base[i].variance[0];
	}
	for (v = 0; v < test_isas.count; v++) {
		odvgp_blas blas;
		size_t bytes = odvgp_blas_size(NULL, NULL);
		void *block = test_alloc(bytes), *scratch;
		gp__arena_init(&w.scratch, NULL, 0);
		gp__images_layout(&w.scratch, &w.patches, 0, &work);
		gp__images_layout(&w.scratch, &w.patches, rows, &work);
		job.kept = 0;
		gp__kernel_scratch(&w.scratch, &w.kernel, rows, w.T, 1, 1, &job);
		gp__kernel_scratch(&w.scratch, &w.kernel, rows, w.T, 1, 0, &job);
		used = w.scratch.used + 64;
		scratch = test_alloc(used);
		gp__arena_init(&w.scratch, scratch, used);
		if (good(c, odvgp_blas_init(&blas, NULL, test_isas.isa[v], block, bytes, NULL),
					test_isas.name[v], NULL))
			compare_conv(c, &w, &blas, test_isas.name[v]);
		free(block);
		free(scratch);
	}
	free(w.hyp), free(w.dhyp), free(w.dweights);
}

/*  Equal; registers with more digits than a real (x87) round wherever the compiler stores them. */
static int same_value(odvgp_real a, odvgp_real b)
{
	return a == b || (FLT_EVAL_METHOD == 2 &&
							 fabs((double)a - (double)b) <= 64 * EPS * (fabs((double)b) + 1));
}
/*  A likelihood at the moments of a file, with H nodes: one call for each row, then one for all
    rows. Tensors begin with `pre`; what the file lacks is not compared. */
static void compare_likelihood(ocase *c, const char *pre, ptrdiff_t H, double jitter)
{
	const gp__likelihood *lik = likelihood_of(c);
	tensor *y = need(c, "y"), *mean = need(c, "mean"), *var = need(c, "var");
	odvgp_real par[4], *rule = NEW(odvgp_real, 1 + 2 * H), *work, *out[7], *Y, *m, *v;
	odvgp_blas blas;
	size_t bytes = odvgp_blas_size(NULL, NULL);
	void *block = test_alloc(bytes);
	gp__lik_job job;
	ptrdiff_t n = y->count, F = mean->count / n, T = 1, R, i, q;
	double *dpar = NEW(double, 4 * (n + 1)), sum = 0, whole;
	char name[100];
	int k;
	for (k = 0; k < lik->params; k++)
		par[k] = (odvgp_real)scalar(c, lik->param[k].name, lik->param[k].start);
	good(c, odvgp_blas_init(&blas, NULL, test_isa(), block, bytes, NULL), "odvgp_blas_init", NULL);
	rule[0] = (odvgp_real)jitter;
	gp__gauss_hermite(H, rule + 1, rule + 1 + H);
	work = NEW(odvgp_real, gp__lik_work(lik, F));
	memset(&job, 0, sizeof job);
	job.lik = lik;
	job.isa = blas.isa;
	job.F = F;
	job.T = T;
	job.classes = gp__classes(lik, F, 0);
	job.par = par;
	job.rule = rule;
	job.H = H;
	job.work = work;
	R = job.classes ? job.classes : T;
	Y = NEW(odvgp_real, n), m = NEW(odvgp_real, F * n), v = NEW(odvgp_real, F * n);
	for (k = 0; k < 7; k++) out[k] = NEW(odvgp_real, (F + 1) * n);
	/* Files hold rows of functions. */
	for (i = 0; i < n; i++)
		for (q = 0; q < F; q++) {
			Y[i] = y->r[i];
			m[q * n + i] = mean->r[i * F + q];
			v[q * n + i] = var->r[i * F + q];
		}
	for (i = 0; i < 4 * (n + 1); i++) dpar[i] = 0;
	for (i = 0; i < n; i++) {
		/* volatile keeps the value in memory: a register may hold more digits. */
		volatile odvgp_real none;
		job.n = job.ld = 1;
		job.Y = y->r + i;
		job.mean = mean->r + i * F;
		job.var = var->r + i * F;
		job.dmean = job.dvar = NULL;
		job.dpar = NULL;
		none = (odvgp_real)lik->expect(&job);
		gp__log_density(&job, out[4] + i);
		lik->y_moments(&job, out[6] + i * R, out[5] + i * R);
		job.dmean = out[1] + i * F;
		job.dvar = out[2] + i * F;
		job.dpar = dpar + 4 * i;
		out[0][i] = (odvgp_real)lik->expect(&job);
		sum += (double)out[0][i];
		if (none != out[0][i]) fail(c, "row %ld: another value without derivatives", (long)i);
	}
#define NAME(what) (snprintf(name, sizeof name, "%s.%s", pre, what), name)
	compare(c, NAME("var_exp"), out[0], n, pre);
	compare(c, NAME("d_mean"), out[1], F * n, pre);
	compare(c, NAME("d_var"), out[2], F * n, pre);
	for (k = 0; k < lik->params; k++) {
		for (i = 0; i < n; i++) out[3][i] = (odvgp_real)dpar[4 * i + k];
		compare(c, (snprintf(name, sizeof name, "%s.d_%s", pre, lik->param[k].name), name), out[3],
				n, pre);
	}
	if (strcmp(pre, "exact")) replace_densities(c, NAME(""), "", jitter, y, mean, var, 1);
	compare(c, NAME("log_density"), out[4], n, pre);
	compare(c, R > 1 ? NAME("y_mean") : "y_mean", out[6], R * n, pre);
	compare(c, R > 1 ? NAME("y_var") : "y_var", out[5], R * n, pre);
	if (R > 1 && find(c, NAME("prob_largest"))) {
		double e = (double)par[0], miss = e / (double)(F - 1);
		for (i = 0; i < n; i++)
			out[3][i] = (odvgp_real)((exp((double)out[4][i]) - miss) / (1 - e - miss));
		compare(c, NAME("prob_largest"), out[3], n, pre);
	}
#undef NAME
	/* All rows at once: the sum, and each derivative at its place. */
	job.n = job.ld = n;
	job.Y = Y;
	job.mean = m;
	job.var = v;
	job.dmean = out[3];
	job.dvar = out[4];
	job.dpar = dpar + 4 * n;
	whole = lik->expect(&job);
	if (!(fabs(whole - sum) <= 1e-12 * fabs(sum) * (EPS / DBL_EPSILON)))
		fail(c, "sum over rows %.17g, not %.17g", whole, sum);
	for (i = 0; i < n; i++)
		for (q = 0; q < F; q++)
			if (!same_value(out[3][q * n + i], out[1][i * F + q]) ||
					!same_value(out[4][q * n + i], out[2][i * F + q]))
				fail(c, "row %ld: another derivative with all rows", (long)i);
	for (k = 0; k < lik->params; k++) {
		for (i = 0, sum = 0; i < n; i++) sum += dpar[4 * i + k];
		if (!(fabs(dpar[4 * n + k] - sum) <= 1e-12 * fabs(sum) * (EPS / DBL_EPSILON)))
			fail(c, "d_%s %.17g, not %.17g", lik->param[k].name, dpar[4 * n + k], sum);
	}
	for (k = 0; k < 7; k++) free(out[k]);
	free(rule), free(work), free(block), free(dpar), free(Y), free(m), free(v);
}
static void run_likelihood(ocase *c)
{
	static const struct {
		const char *pre;
		ptrdiff_t H;
		double squash;
	} rules[] = {{"gh20", 20, 1e-6}, {"gh20old", 20, 1e-4}, {"plain20", 20, 0}, {"gh200", 200, 0}};
	char name[100];
	double link = scalar(c, "link_jitter", 0);
	size_t k;
	const char *lik = say(c, "likelihood");
	if (!likelihood_of(c)) return;
	for (k = 0; k < sizeof rules / sizeof *rules; k++) {
		sprintf(name, "%s.var_exp", rules[k].pre);
		if (find(c, name))
			compare_likelihood(
					c, rules[k].pre, rules[k].H, strcmp(lik, "robustmax") ? link : rules[k].squash);
	}
	find(c, "num_classes");
	find(c, "mc.var_exp");
	find(c, "mc.stderr");
	if (!strcmp(lik, "gaussian") || !strcmp(lik, "softmax"))
		compare_likelihood(c, "exact", strcmp(lik, "gaussian") ? 100 : 1, link);
}

static void run_gauss_hermite(ocase *c)
{
	static const ptrdiff_t sizes[] = {20, 32};
	char name[20];
	int k;
	for (k = 0; k < 2; k++) {
		odvgp_real t[32], w[32];
		gp__gauss_hermite(sizes[k], t, w);
		sprintf(name, "gh%ld.t", (long)sizes[k]);
		compare(c, name, t, sizes[k], "");
		sprintf(name, "gh%ld.w", (long)sizes[k]);
		compare(c, name, w, sizes[k], "");
	}
}
static void run_adam(ocase *c)
{
	tensor *x0 = need(c, "x0"), *g = need(c, "g");
	int inside;
	if (!x0 || !g) return;
	for (inside = 0; inside < 2; inside++) {
		ptrdiff_t n = x0->count, steps = g->dim[0], t, i;
		odvgp_real *x = NEW(odvgp_real, n), *m1 = NEW(odvgp_real, n), *m2 = NEW(odvgp_real, n),
				   *all = NEW(odvgp_real, n * steps);
		gp__adam adam;
		adam.lr = scalar(c, "lr", 0);
		adam.beta1 = 0.9;
		adam.beta2 = 0.999;
		adam.eps = 1e-8;
		adam.eps_inside = inside;
		for (i = 0; i < n; i++) {
			x[i] = x0->r[i];
			m1[i] = m2[i] = 0;
		}
		for (t = 0; t < steps; t++) {
			adam.t = (uint64_t)t + 1;
			gp__adam_update(&adam, n, x, g->r + t * n, NULL, m1, m2);
			memcpy(all + t * n, x, (size_t)n * sizeof *x);
		}
		compare(c, inside ? "paper.x" : "tf.x", all, n * steps, "");
		free(x), free(m1), free(m2), free(all);
	}
}

/*  Takes lengthscale and variance from a model that starts this way, gaps and steps from the
    functions that initialisation calls. */
static void run_ulapane(ocase *c)
{
	tensor *X = need(c, "X"), *y = need(c, "y");
	odvgp_model *m = NULL;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_real *d_x, *d_y, *used, v;
	ptrdiff_t N, D, d, i, *row;
	odvgp_config cfg;
	if (!X || !y) return;
	N = X->dim[0], D = X->dim[1];
	cfg = odvgp_config_defaults(N, D, 1, 2, 0);
	cfg.layer[0].kernel = "rbf";
	cfg.init.hyperparams = ODVGP_INIT_HYPER_ULAPANE;
	cfg.isa = test_isa();
	if (!good(c, odvgp_model_create(&m, &cfg, X->r, y->r, NULL, &info), "odvgp_model_create",
				&info))
		return;
	good(c, odvgp_get(m, "kernel.0.lengthscale", &v, 1, NULL), "odvgp_get", NULL);
	compare(c, "lengthscale", &v, 1, "");
	good(c, odvgp_get(m, "kernel.0.variance", &v, 1, NULL), "odvgp_get", NULL);
	compare(c, "variance", &v, 1, "");
	v = (odvgp_real)sqrt((double)v);
	compare(c, "amplitude", &v, 1, "");
	odvgp_model_free(m);
	d_x = NEW(odvgp_real, D), d_y = NEW(odvgp_real, D), used = NEW(odvgp_real, D);
	row = NEW(ptrdiff_t, N);
	for (d = 0; d < D; d++) {
		/* The order of the rows does not matter. */
		for (i = 0; i < N; i++) row[i] = N - 1 - i;
		gp__sort(row, N, X->r + d, D);
		d_x[d] = (odvgp_real)gp__mean_gap(X->r + d, D, row, N);
		used[d] = d_x[d] > 0;
		d_y[d] = used[d] > 0 ? (odvgp_real)gp__mean_gap(y->r, 1, row, N) : 0;
	}
	compare(c, "d_x", d_x, D, "");
	compare(c, "d_y", d_y, D, "");
	compare(c, "used", used, D, "");
	free(d_x), free(d_y), free(used), free(row);
}
static void run_standardise(ocase *c)
{
	tensor *X = need(c, "X"), *want = need(c, "X_std");
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_real *mean, *scale, *out;
	ptrdiff_t N, D, i;
	if (!X || !want) return;
	N = X->dim[0], D = X->dim[1];
	mean = NEW(odvgp_real, D), scale = NEW(odvgp_real, D), out = NEW(odvgp_real, N * D);
	good(c, odvgp_column_scales(X->r, N, D, mean, scale, &info), "odvgp_column_scales", &info);
	good(c, odvgp_standardise(X->r, N, D, mean, scale, out, NULL), "odvgp_standardise", NULL);
	compare(c, "mean", mean, D, "");
	compare(c, "scale", scale, D, "");
	/* In float a number is accurate up to its rounding, in units of its column's scale. */
	for (i = 0; i < N * D; i++)
		if (sizeof(odvgp_real) == 4 &&
				fabs((double)out[i] - want->v[i]) <= 2 * EPS * fabs(X->v[i]) / (double)scale[i % D])
			out[i] = (odvgp_real)want->v[i];
	compare(c, "X_std", out, N * D, "");
	free(mean), free(scale), free(out);
}

#endif
