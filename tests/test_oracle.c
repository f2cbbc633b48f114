/*  test_oracle [--strict] [DIR]: compares the library with every case file DIR/NAME.txt (DIR:
    tests/oracle). tests/oracle/README.md describes the format. Prints one line per case, with
    the worst error relative to its tensor's largest element, or with the reason why this version
    skips the case; then `N passed, N failed, N skipped`. The exit status is non-zero after a
    failure. With --strict, or without DIR, a tensor that no check has read is a failure too;
    otherwise it is only named. */
#define _POSIX_C_SOURCE 200809L
/*  On machines with 32-bit pointers this lets the program read folders whose entries have larger
    numbers. */
#define _FILE_OFFSET_BITS 64
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "oracle_parts.h"
#include <dirent.h>

/* ---- predictions and bounds ---- */

/*  Moments of y [rows,n]: files have a row for each input where columns are classes. */
static void compare_y(ocase *c, const char *name, const odvgp_real *got, ptrdiff_t rows,
		ptrdiff_t n, const char *variant)
{
	const tensor *t = find(c, name);
	odvgp_real *turned = NEW(odvgp_real, rows * n);
	int turn =
			t && t->dim[0] == n && t->dim[1] == rows && !strcmp(say(c, "likelihood"), "robustmax");
	ptrdiff_t i, k;
	for (k = 0; k < rows; k++)
		for (i = 0; i < n; i++) turned[turn ? i * rows + k : k * n + i] = got[k * n + i];
	compare(c, name, turned, rows * n, variant);
	free(turned);
}
/*  Compares predictions at X and Xs, `rows` of them at a time. */
static void compare_predictions(ocase *c, world *w, ptrdiff_t rows, const char *variant)
{
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	size_t bytes = odvgp_predictor_size(w->model, NULL), scratch_bytes;
	void *block = test_alloc(bytes), *scratch;
	odvgp_server server, *p = &server;
	tensor *Xs = find(c, "Xs"), *Ys = find(c, "Ys");
	ptrdiff_t n = Xs ? Xs->dim[0] : 0, P = w->P, most = n > w->B ? n : w->B;
	odvgp_real *mean = NEW(odvgp_real, P * most), *var = NEW(odvgp_real, P * most),
			   *var_y = NEW(odvgp_real, P * most), *cov = NEW(odvgp_real, P * n * n),
			   *logp = NEW(odvgp_real, n);
	if (good(c, serve(w->model, NULL, block, bytes, p, &info), "odvgp_freeze", &info)) {
		scratch_bytes = odvgp_predict_scratch(p, rows, NULL);
		scratch = test_alloc(scratch_bytes);
		if (good(c, odvgp_predict(p, w->X->r, w->B, mean, var, scratch, scratch_bytes, NULL),
					"odvgp_predict", NULL)) {
			compare(c, "f_mean", mean, P * w->B, variant);
			compare(c, "f_var", var, P * w->B, variant);
		}
		if (Xs && good(c, odvgp_predict(p, Xs->r, n, mean, var, scratch, scratch_bytes, NULL),
						  "odvgp_predict", NULL)) {
			compare(c, "f_mean_s", mean, P * n, variant);
			compare(c, "f_var_s", var, P * n, variant);
		}
		replace_densities(c, "", "_s", scalar(c, "squash", 0), Ys, find(c, "f_mean_s"),
				find(c, "f_var_s"), n);
		if (Xs && good(c, odvgp_predict_y(p, Xs->r, n, mean, var_y, scratch, scratch_bytes, NULL),
						  "odvgp_predict_y", NULL)) {
			compare_y(c, "y_mean_s", mean, server.y_rows, n, variant);
			compare_y(c, "y_var_s", var_y, server.y_rows, n, variant);
		}
		if (Xs && Ys &&
				good(c, odvgp_predict_logp(p, Xs->r, Ys->r, n, logp, scratch, scratch_bytes, NULL),
						"odvgp_predict_logp", NULL))
			compare(c, "log_density_s", logp, n, variant);
		free(scratch);
		if (Xs && find(c, "f_cov_s")) {
			scratch_bytes = odvgp_predict_scratch(p, n, NULL);
			scratch = test_alloc(scratch_bytes);
			if (good(c, odvgp_predict_cov(p, Xs->r, n, mean, cov, scratch, scratch_bytes, NULL),
						"odvgp_predict_cov", NULL)) {
				compare(c, "f_cov_s", cov, P * n * n, variant);
				compare(c, "f_mean_s", mean, P * n, variant);
			}
			free(scratch);
		}
	}
	free(block);
	free(mean);
	free(var);
	free(var_y);
	free(cov);
	free(logp);
}

/*  Compares elbo, kl, var_exp per row, gradients, and predictions. */
static void compare_bound(ocase *c, world *w, const char *variant)
{
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_real elbo, kl, *grad = NEW(odvgp_real, odvgp_param_count(w->model)),
						 *rows = NEW(odvgp_real, w->B);
	ptrdiff_t i;
	double N = scalar(c, "N_data", 0);
	if (good(c, odvgp_elbo(w->model, w->X->r, w->Y->r, w->B, &elbo, &kl, grad, &info), "odvgp_elbo",
				&info)) {
		compare(c, "elbo", &elbo, 1, variant);
		compare(c, "kl", &kl, 1, variant);
		compare_grads(c, w, "", grad, variant);
	}
	if (good(c, odvgp_elbo(w->model, w->X->r, w->Y->r, w->B, &elbo, NULL, NULL, &info),
				"odvgp_elbo without gradient", &info))
		compare(c, "elbo", &elbo, 1, variant);
	/* The bound on one row is N var_exp - kl. */
	for (i = 0; i < w->B; i++) {
		if (!good(c,
					odvgp_elbo(w->model, w->X->r + i * w->D, w->Y->r + i * w->T, 1, &elbo, &kl,
							NULL, &info),
					"odvgp_elbo of a row", &info))
			break;
		rows[i] = (odvgp_real)(((double)elbo + (double)kl) / N);
	}
	if (i == w->B) compare(c, "var_exp", rows, w->B, variant);
	free(grad);
	free(rows);
}

/*  orth_subsample: compares sub.* on the columns gamma_idx, and all_kl on each of the sets
    all_idx and on average. */
static void compare_columns(ocase *c, world *w, const char *variant)
{
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	tensor *idx = find(c, "gamma_idx"), *all = find(c, "all_idx");
	odvgp_real *grad = NEW(odvgp_real, odvgp_param_count(w->model));
	odvgp_report report;
	ptrdiff_t j, s, *columns = NEW(ptrdiff_t, w->Mg + 1);
	int i;
	/* This is the published code's estimate, which the library does not offer. */
	for (i = 0; i < c->tensors; i++)
		if (starts(c->t[i].name, "authors.")) c->t[i].seen = 1;
	if (idx && idx->count <= w->Mg) {
		for (j = 0; j < idx->count; j++) columns[j] = (ptrdiff_t)idx->v[j];
		odvgp_columns some = {columns, idx->count};
		if (good(c,
					odvgp_elbo_columns(
							w->model, w->X->r, w->Y->r, w->B, &some, &report, grad, &info),
					"odvgp_elbo_columns", &info)) {
			compare(c, "sub.elbo", &report.elbo, 1, variant);
			compare(c, "sub.kl", &report.kl, 1, variant);
			compare_grads(c, w, "sub.", grad, variant);
		}
	}
	if (all && all->rank == 2 && all->dim[1] <= w->Mg) {
		odvgp_real *each = NEW(odvgp_real, all->dim[0]), mean;
		wide sum = 0;
		for (s = 0; s < all->dim[0]; s++) {
			for (j = 0; j < all->dim[1]; j++) columns[j] = (ptrdiff_t)all->v[s * all->dim[1] + j];
			odvgp_columns some = {columns, all->dim[1]};
			if (!good(c,
						odvgp_elbo_columns(
								w->model, w->X->r, w->Y->r, w->B, &some, &report, NULL, &info),
						"odvgp_elbo_columns", &info))
				break;
			each[s] = report.kl;
			sum += (wide)each[s];
		}
		mean = (odvgp_real)(sum / (wide)all->dim[0]);
		if (s == all->dim[0]) {
			compare(c, "all_kl", each, s, variant);
			compare(c, "mean_kl", &mean, 1, variant);
		}
		free(each);
	}
	free(grad);
	free(columns);
}

/*  The members of the files, and their parts. */
static const struct member {
	const char *kind;
	odvgp_mean_part mean;
	odvgp_cov_part cov;
	/* 1 if the member has a natural step. */
	int natural;
} members[] = {{"coupled", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, 1},
		{"orth", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, 1},
		{"hybrid", ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, 1},
		{"decoupled", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_INVERSE, 0},
		{"solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 1},
		{"diagonal", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, 1},
		{"conv_solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, 1}};
static const struct member *member_of(const char *kind)
{
	size_t i;
	for (i = 0; i < sizeof members / sizeof *members; i++)
		if (!strcmp(members[i].kind, kind)) return &members[i];
	return NULL;
}
static int param_of(const char *text, odvgp_parametrisation *param)
{
	static const struct {
		const char *text;
		odvgp_parametrisation param;
	} known[] = {{"whitened", ODVGP_PARAMETRISATION_WHITENED},
			{"primal", ODVGP_PARAMETRISATION_PRIMAL}, {"m_beta", ODVGP_PARAMETRISATION_PRIMAL},
			{"a_beta", ODVGP_PARAMETRISATION_A_BETA}, {"inverse", ODVGP_PARAMETRISATION_WHITENED},
			{"mu_g", ODVGP_PARAMETRISATION_WHITENED}};
	size_t i;
	for (i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(known[i].text, text)) {
			*param = known[i].param;
			return 1;
		}
	return 0;
}

/*  Compares the two parts of SOLVE-GP's KL, ORTH's coefficients that give the same mean, and the
    joint Gaussian of all inducing variables. */
static void compare_blocks(ocase *c, world *w)
{
	tensor *t;
	/* Their sum is kl. */
	if ((t = find(c, "kl_u"))) t->seen = 1;
	if ((t = find(c, "kl_v"))) t->seen = 1;
	/* The predictor's coefficients of gamma. */
	if ((t = find(c, "equiv.a_gamma"))) {
		size_t bytes = odvgp_predictor_size(w->model, NULL);
		void *block = test_alloc(bytes);
		odvgp_server server, *p = &server;
		if (good(c, serve(w->model, NULL, block, bytes, p, NULL), "odvgp_freeze", NULL)) {
			odvgp_real *a = NEW(odvgp_real, w->P * w->Mg);
			ptrdiff_t q, F = w->M + w->Mg;
			for (q = 0; q < w->P; q++)
				memcpy(a + q * w->Mg,
						gp__view_of((const gp__predictor *)p->block, 0).alpha + q * F + w->M,
						(size_t)w->Mg * sizeof *a);
			compare(c, "equiv.a_gamma", a, w->P * w->Mg, "");
			free(a);
		}
		free(block);
	}
	/* These moments follow from the slots; test_members computes them by brute force. */
	if ((t = find(c, "joint.m"))) t->seen = 1;
	if ((t = find(c, "joint.S"))) t->seen = 1;
	if ((t = find(c, "equiv.m"))) t->seen = 1;
	if ((t = find(c, "equiv.S"))) t->seen = 1;
	/* With S_v = C the model is ORTH. */
	if ((t = find(c, "orth.elbo"))) {
		odvgp_real elbo;
		if (good(c, odvgp_elbo(w->model, w->X->r, w->Y->r, w->B, &elbo, NULL, NULL, NULL),
					"odvgp_elbo", NULL))
			compare(c, "orth.elbo", &elbo, 1, "");
	}
}

static void run_basis(ocase *c)
{
	static const struct {
		const char *name;
		ptrdiff_t tile, rows;
		int natgrad, mixed;
	} variants[] = {
			{"", 0, 100, 0, 0}, {"tiles of 3 rows, natgrad, a hook of 3 tasks", 3, 2, 1, 3}};
	const struct member *member = member_of(say(c, "kind"));
	size_t v;
	for (v = 0; v < sizeof variants / sizeof *variants; v++) {
		world w;
		if (!read_world(c, &w)) return;
		w.cfg.layer[0].mean_part = member->mean;
		w.cfg.layer[0].cov_part = member->cov;
		if (!param_of(say(c, "param"), &w.cfg.reproduce.parametrisation)) {
			skip(c, "param %s is not known to this version", say(c, "param"));
			return;
		}
		w.cfg.tile = variants[v].tile;
		w.cfg.optim.natgrad = variants[v].natgrad && member->natural;
		if (variants[v].mixed) {
			w.cfg.threads.run = run_mixed;
			w.cfg.threads.count = variants[v].mixed;
		}
		if (make_model(c, &w)) {
			compare_bound(c, &w, variants[v].name);
			compare_columns(c, &w, variants[v].name);
			compare_blocks(c, &w);
			compare_predictions(c, &w, variants[v].rows, variants[v].name);
		}
		drop_model(&w);
		if (c->skip[0] || c->bad) return;
		/* Without gamma the coupled model is the same. */
		if (find(c, "coupled.elbo") && w.Mg == 0) {
			w.cfg.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
			if (make_model(c, &w)) {
				odvgp_real elbo;
				if (good(c, odvgp_elbo(w.model, w.X->r, w.Y->r, w.B, &elbo, NULL, NULL, NULL),
							"odvgp_elbo", NULL))
					compare(c, "coupled.elbo", &elbo, 1, "as COUPLED");
				compare_bound(c, &w, "as COUPLED");
			}
			drop_model(&w);
		}
	}
}

/* ---- natural gradients ---- */

/*  Compares dE_dmean and dE_dvar: the likelihood's derivatives at the predicted moments, times
    N_data/B. */
static void compare_derivatives(ocase *c, world *w, const char *variant)
{
	size_t bytes = odvgp_predictor_size(w->model, NULL), scratch_bytes;
	void *block = test_alloc(bytes), *scratch;
	odvgp_server server, *p = &server;
	ptrdiff_t n = w->B, P = w->P, i, q;
	odvgp_real *mean = NEW(odvgp_real, P * n), *var = NEW(odvgp_real, P * n),
			   *dm = NEW(odvgp_real, P * n), *dv = NEW(odvgp_real, P * n),
			   *y = NEW(odvgp_real, w->T * n);
	double scale = (double)w->cfg.N / (double)n;
	if (good(c, serve(w->model, NULL, block, bytes, p, NULL), "odvgp_freeze", NULL)) {
		scratch_bytes = odvgp_predict_scratch(p, n, NULL);
		scratch = test_alloc(scratch_bytes);
		if (good(c, odvgp_predict(p, w->X->r, n, mean, var, scratch, scratch_bytes, NULL),
					"odvgp_predict", NULL)) {
			const gp__tape *t = &w->model->tape;
			odvgp_real *par = NEW(odvgp_real, 4),
					   *work = NEW(odvgp_real, gp__lik_work(t->y->lik, P));
			gp__lik_job job;
			memset(&job, 0, sizeof job);
			for (q = 0; q < t->y->lik->params; q++)
				par[q] = (odvgp_real)scalar(c, t->y->lik->param[q].name, 0);
			for (q = 0; q < w->T; q++)
				for (i = 0; i < n; i++) y[q * n + i] = w->Y->r[i * w->T + q];
			job.lik = t->y->lik;
			job.isa = t->blas.isa;
			job.n = job.ld = n;
			job.F = P;
			job.T = w->T;
			job.classes = t->y->classes;
			job.Y = y;
			job.mean = mean;
			job.var = var;
			job.par = par;
			job.rule = t->rule;
			job.H = t->lik_nodes;
			job.work = work;
			job.dmean = dm;
			job.dvar = dv;
			job.lik->expect(&job);
			free(par), free(work);
			for (i = 0; i < P * n; i++) {
				dm[i] = (odvgp_real)(scale * (double)dm[i]);
				dv[i] = (odvgp_real)(scale * (double)dv[i]);
			}
			compare(c, "dE_dmean", dm, P * n, variant);
			compare(c, "dE_dvar", dv, P * n, variant);
		}
		free(scratch);
	}
	free(block), free(mean), free(var), free(dm), free(dv), free(y);
}

static void run_natgrad(ocase *c)
{
	static const char *const names[] = {"whitened", "primal", "a_beta"};
	const struct member *member = member_of(say(c, "kind") + strlen("natgrad_"));
	const char *moves = say(c, "gamma");
	int orth = member->mean != ODVGP_MEAN_PART_BETA, param;
	tensor *taus = find(c, "taus"), *mu = find(c, orth ? "a_beta" : "q_mu"),
		   *sqrt_ = find(c, "q_sqrt");
	ptrdiff_t i, p, M, P;
	wide *Kb, *L, *Z;
	world w;
	/* These files hold no predictions. */
	find(c, "Xs");
	find(c, "Ys");
	if (!read_world(c, &w)) return;
	w.cfg.layer[0].mean_part = member->mean;
	w.cfg.optim.gamma_step_ratio = 1;
	w.cfg.optim.gamma_step = !strcmp(moves, "exact")  ? ODVGP_GAMMA_STEP_EXACT
							 : !strcmp(moves, "diag") ? ODVGP_GAMMA_STEP_DIAGONAL
													  : ODVGP_GAMMA_STEP_ADAM;
	if (find(c, "eps")) w.cfg.reproduce.gamma_eps = (odvgp_real)scalar(c, "eps", 0);
	if (!taus || !mu || !sqrt_) {
		fail(c, "has no taus, no %s or no q_sqrt", orth ? "a_beta" : "q_mu");
		return;
	}
	M = w.M;
	P = w.P;
	Z = ref_copy(w.Zb->r, M * w.D);
	Kb = ref_K(&w.kernel, w.D, Z, M, Z, M);
	L = ref_new(M * M);
	for (i = 0; i < M; i++) Kb[i * M + i] += (wide)w.cfg.jitter.absolute;
	if (!ref_chol(M, Kb, L)) {
		fail(c, "Kb of this file is not positive definite");
		goto end;
	}
	for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA; param++) {
		const char *mean_slot = param == ODVGP_PARAMETRISATION_A_BETA ? "a_beta" : "q_mu";
		wide *m0 = ref_copy(mu->r, P * M), *s0 = ref_copy(sqrt_->r, P * M * M), *t = ref_new(M),
			 *S = ref_new(P * M * M);
		odvgp_real *q_mu = NEW(odvgp_real, P * M), *q_sqrt = NEW(odvgp_real, P * M * M),
				   *a_gamma = NEW(odvgp_real, P * w.Mg);
		ptrdiff_t k;
		if (param == ODVGP_PARAMETRISATION_A_BETA && !orth) {
			free(m0), free(s0), free(t), free(S), free(q_mu), free(q_sqrt), free(a_gamma);
			break;
		}
		/* Convert the file's initial q to the coordinates of this parametrisation. */
		for (p = 0; p < P; p++) {
			wide *m = m0 + p * M;
			if (orth && param == ODVGP_PARAMETRISATION_PRIMAL) {
				ref_mul(0, 0, M, 1, M, Kb, m, t);
				memcpy(m, t, (size_t)M * sizeof(wide));
			} else if (orth && param == ODVGP_PARAMETRISATION_WHITENED) {
				ref_mul(1, 0, M, 1, M, L, m, t);
				memcpy(m, t, (size_t)M * sizeof(wide));
			} else if (!orth && param == ODVGP_PARAMETRISATION_WHITENED)
				ref_solve_lower(0, M, 1, L, m);
			if (param == ODVGP_PARAMETRISATION_WHITENED)
				ref_solve_lower(0, M, M, L, s0 + p * M * M);
		}
		for (k = 0; k < taus->count && !c->bad; k++) {
			odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
			int step;
			w.cfg.reproduce.parametrisation = (odvgp_parametrisation)param;
			w.cfg.optim.natgrad = 1;
			w.cfg.tile = k % 2 ? 5 : 0;
			if (!make_model(c, &w)) {
				drop_model(&w);
				break;
			}
			ref_round(m0, q_mu, P * M);
			ref_round(s0, q_sqrt, P * M * M);
			if (!good(c, odvgp_set(w.model, mean_slot, q_mu, P * M, &info), mean_slot, &info) ||
					!good(c, odvgp_set(w.model, "q_sqrt", q_sqrt, P * M * M, &info), "q_sqrt",
							&info)) {
				drop_model(&w);
				break;
			}
			if (k == 0) compare_derivatives(c, &w, names[param]);
			for (step = 1; step <= 3; step++) {
				odvgp_real elbo;
				char name[100], head[60];
				if (!good(c,
							odvgp_natgrad_step(
									w.model, w.X->r, w.Y->r, w.B, taus->r[k], &elbo, &info),
							"odvgp_natgrad_step", &info))
					break;
				if (step == 1) compare(c, "elbo", &elbo, 1, names[param]);
				if (step == 2) continue;
				sprintf(head, "t%ld.step%d.", (long)k, step);
#define NAME(s) (snprintf(name, sizeof name, "%s%s", head, s), name)
				if (!good(c, odvgp_elbo(w.model, w.X->r, w.Y->r, w.B, &elbo, NULL, NULL, &info),
							"odvgp_elbo", &info) ||
						!good(c, odvgp_get(w.model, mean_slot, q_mu, P * M, NULL), mean_slot,
								NULL) ||
						!good(c, odvgp_get(w.model, "q_sqrt", q_sqrt, P * M * M, NULL), "q_sqrt",
								NULL))
					break;
				compare(c, NAME("elbo"), &elbo, 1, names[param]);
				if (orth && w.Mg &&
						good(c, odvgp_get(w.model, "a_gamma", a_gamma, P * w.Mg, NULL), "a_gamma",
								NULL))
					compare(c, NAME("a_gamma"), a_gamma, P * w.Mg, names[param]);
				{
					/* The state, and its moments m and S. */
					wide *m = ref_copy(q_mu, P * M), *s = ref_copy(q_sqrt, P * M * M),
						 *ls = ref_new(M * M);
					if (param == ODVGP_PARAMETRISATION_WHITENED) {
						compare(c, NAME("whitened.q_mu"), q_mu, P * M, names[param]);
						compare(c, NAME("whitened.q_sqrt"), q_sqrt, P * M * M, names[param]);
					} else {
						const char *mean_name =
								param == ODVGP_PARAMETRISATION_PRIMAL ? "m_beta" : "a_beta";
						compare(c, NAME(orth ? mean_name : "q_mu"), q_mu, P * M, names[param]);
						compare(c, NAME("q_sqrt"), q_sqrt, P * M * M, names[param]);
					}
					for (p = 0; p < P; p++) {
						wide *sp = s + p * M * M;
						if (param == ODVGP_PARAMETRISATION_WHITENED) {
							ref_mul(0, 0, M, M, M, L, sp, ls);
							memcpy(sp, ls, (size_t)(M * M) * sizeof(wide));
							ref_mul(0, 0, M, 1, M, L, m + p * M, t);
							memcpy(m + p * M, t, (size_t)M * sizeof(wide));
						} else if (param == ODVGP_PARAMETRISATION_A_BETA) {
							ref_mul(0, 0, M, 1, M, Kb, m + p * M, t);
							memcpy(m + p * M, t, (size_t)M * sizeof(wide));
						}
						ref_mul(0, 1, M, M, M, sp, sp, S + p * M * M);
					}
					compare_wide(c, NAME("S"), S, P * M * M, names[param]);
					compare_wide(c, NAME(orth ? "m_beta" : "q_mu"), m, P * M, names[param]);
					if (taus->v[k] == 1 && step == 1 && !orth) {
						compare_wide(c, "optimum.m", m, P * M, names[param]);
						compare_wide(c, "optimum.S", S, P * M * M, names[param]);
					}
					free(m), free(s), free(ls);
				}
#undef NAME
			}
			drop_model(&w);
		}
		free(m0), free(s0), free(t), free(S), free(q_mu), free(q_sqrt), free(a_gamma);
		if (c->bad) break;
	}
end:
	free(Kb), free(L), free(Z);
}

/*  Compares one prefix of tensors after steps of every size: the slots, and the bound. */
static void compare_steps(ocase *c, world *w, const char *head, const char *const *white)
{
	tensor *taus = need(c, "taus");
	ptrdiff_t k;
	for (k = 0; taus && k < taus->count && !c->bad; k++) {
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		odvgp_real elbo;
		char name[100], start[60];
		int step, i;
		if (!make_model(c, w)) return;
		if (k == 0 && !*head && w->cfg.reproduce.parametrisation == ODVGP_PARAMETRISATION_PRIMAL)
			compare_derivatives(c, w, "");
		if (k == 0 && w->cfg.layer[0].cov_part == ODVGP_COV_PART_DIAGONAL)
			compare_derivatives(c, w, head);
		for (step = 1; step <= 3; step++) {
			if (!good(c,
						odvgp_natgrad_step(
								w->model, w->X->r, w->Y->r, w->B, taus->r[k], &elbo, &info),
						"odvgp_natgrad_step", &info))
				break;
			if (step == 1) compare(c, "elbo", &elbo, 1, head);
			if (step == 2) continue;
			snprintf(start, sizeof start, "%st%ld.step%d.", head, (long)k, step);
			if (!good(c, odvgp_elbo(w->model, w->X->r, w->Y->r, w->B, &elbo, NULL, NULL, &info),
						"odvgp_elbo", &info))
				break;
			snprintf(name, sizeof name, "%selbo", start);
			compare(c, name, &elbo, 1, "");
			for (i = 0; i < odvgp_slot_count(w->model); i++) {
				const odvgp_slot *slot = odvgp_slot_at(w->model, i);
				odvgp_real *x;
				int whitened = 0, q;
				for (q = 0; white && white[q]; q++) whitened |= !strcmp(white[q], slot->name);
				snprintf(name, sizeof name, "%s%s%s", start, whitened ? "whitened." : "",
						slot->name);
				if (!find(c, name)) continue;
				x = NEW(odvgp_real, slot->count);
				if (good(c, odvgp_get(w->model, slot->name, x, slot->count, NULL), slot->name,
							NULL))
					compare(c, name, x, slot->count, "");
				free(x);
			}
		}
		drop_model(w);
	}
}

/*  S_u and S_v are products of what the steps compare, so mark them as seen: the check squares
    the factors. */
static void seen_squares(ocase *c)
{
	int i;
	for (i = 0; i < c->tensors; i++) {
		const char *name = c->t[i].name;
		size_t n = strlen(name);
		if (n > 4 && (!strcmp(name + n - 4, ".S_u") || !strcmp(name + n - 4, ".S_v")))
			c->t[i].seen = 1;
	}
}

/*  Compares steps of both blocks of SOLVE-GP together, in primal and in whitened coordinates. */
static void run_natgrad_solve(ocase *c)
{
	static const char *const white[] = {"q_mu", "q_sqrt", "v_mu", "v_sqrt", NULL};
	world w;
	find(c, "Xs");
	find(c, "Ys");
	if (!read_world(c, &w)) return;
	w.cfg.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS;
	w.cfg.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
	w.cfg.reproduce.parametrisation = ODVGP_PARAMETRISATION_PRIMAL;
	compare_steps(c, &w, "", NULL);
	/* Compute the whitened initial q, L^-1 of the primal one, with the library's own tape. */
	if (!c->bad && !c->skip[0]) {
		odvgp_real *start[4];
		ptrdiff_t count[4];
		int q, b;
		if (!make_model(c, &w)) return;
		if (good(c, gp__run_head(w.model, NULL), "the head", NULL)) {
			for (b = 0; b < 2; b++)
				for (q = 0; q < 2; q++) {
					const gp__block *block = &w.model->unit[0].block[b];
					const gp__node *nd =
							&w.model->tape.node[(q ? block->white_sqrt : block->white_mu).id];
					count[2 * b + q] = nd->rows * nd->cols;
					start[2 * b + q] = NEW(odvgp_real, nd->rows * nd->cols);
					memcpy(start[2 * b + q], nd->v,
							(size_t)(nd->rows * nd->cols) * sizeof(odvgp_real));
				}
			drop_model(&w);
			w.cfg.reproduce.parametrisation = ODVGP_PARAMETRISATION_WHITENED;
			for (q = 0; q < 4; q++) {
				tensor *t = find(c, white[q]);
				if (t && t->count == count[q])
					memcpy(t->r, start[q], (size_t)count[q] * sizeof(odvgp_real));
				free(start[q]);
			}
			compare_steps(c, &w, "", white);
		} else drop_model(&w);
	}
	seen_squares(c);
}

static void run_optima(ocase *c);

/*  Compares bounds without q: value and gradients, in one tile and in several; and the optima
    that odvgp_fit_q finds. */
static void run_closed(ocase *c)
{
	static const struct {
		const char *name;
		odvgp_mean_part mean;
		odvgp_cov_part cov;
		odvgp_objective objective;
	} bounds[] = {{"exact", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, ODVGP_OBJECTIVE_EXACT},
			{"titsias", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_COLLAPSED},
			{"solve", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_OBJECTIVE_PARTLY},
			{"solve_eq10", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_PARTLY},
			{"solve_opt", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_OBJECTIVE_COLLAPSED},
			{"eq14", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_TIGHT}};
	size_t k;
	int tile;
	for (k = 0; k < sizeof bounds / sizeof *bounds; k++)
		for (tile = 0; tile < 2; tile++) {
			world w;
			odvgp_real elbo, *grad;
			char name[60];
			odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
			if (!read_world(c, &w)) return;
			w.cfg.layer[0].mean_part = bounds[k].mean;
			w.cfg.layer[0].cov_part = bounds[k].cov;
			w.cfg.objective = bounds[k].objective;
			w.cfg.reproduce.parametrisation = ODVGP_PARAMETRISATION_PRIMAL;
			w.cfg.tile = tile ? 3 : 0;
			if (bounds[k].mean == ODVGP_MEAN_PART_FREE) {
				w.cfg.layer[0].M = w.cfg.N;
				w.cfg.layer[0].M_gamma = 0;
				if (!make_partly(c, &w)) return;
			} else if (!make_model(c, &w)) return;
			grad = NEW(odvgp_real, odvgp_param_count(w.model));
			if (good(c, odvgp_elbo(w.model, w.X->r, w.Y->r, w.B, &elbo, NULL, grad, &info),
						"odvgp_elbo", &info)) {
				sprintf(name, "bound.%s", bounds[k].name);
				compare(c, name, &elbo, 1, tile ? "tiles of 3 rows" : "");
				sprintf(name, "grad_%s.", bounds[k].name);
				compare_bound_grads(c, &w, name, grad);
			}
			free(grad);
			drop_model(&w);
		}
	find(c, "Ys");
	run_optima(c);
}

/*  Compares a slot, or (square) its product with its own transpose. */
static void compare_slot(ocase *c, world *w, const char *slot_name, const char *name, int square)
{
	const odvgp_slot *slot = odvgp_slot_find(w->model, slot_name);
	odvgp_real *x;
	ptrdiff_t M, i, j, k;
	if (!slot || !find(c, name)) {
		fail(c, "no slot %s or no tensor %s", slot_name, name);
		return;
	}
	x = NEW(odvgp_real, slot->count);
	M = slot->shape[2];
	if (good(c, odvgp_get(w->model, slot_name, x, slot->count, NULL), slot_name, NULL)) {
		if (square) {
			wide *S = ref_new(slot->count);
			for (i = 0; i < M; i++)
				for (j = 0; j < M; j++)
					for (k = 0; k < M; k++) S[i * M + j] += (wide)x[i * M + k] * (wide)x[j * M + k];
			compare_wide(c, name, S, slot->count, "odvgp_fit_q");
			free(S);
		} else compare(c, name, x, slot->count, "odvgp_fit_q");
	}
	free(x);
}

/*  Compares predictions at Xs with PREFIXf_mean_s and PREFIXf_cov_s. */
static void compare_optimum(ocase *c, world *w, const char *prefix)
{
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	size_t bytes = odvgp_predictor_size(w->model, NULL), scratch_bytes;
	void *block = test_alloc(bytes), *scratch;
	odvgp_server server, *p = &server;
	tensor *Xs = need(c, "Xs");
	ptrdiff_t n = Xs ? Xs->dim[0] : 0;
	odvgp_real *mean = NEW(odvgp_real, n), *cov = NEW(odvgp_real, n * n);
	char name[60];
	if (Xs && good(c, serve(w->model, NULL, block, bytes, p, &info), "odvgp_freeze", &info)) {
		scratch_bytes = odvgp_predict_scratch(p, n, NULL);
		scratch = test_alloc(scratch_bytes);
		if (good(c, odvgp_predict_cov(p, Xs->r, n, mean, cov, scratch, scratch_bytes, NULL),
					"odvgp_predict_cov", NULL)) {
			sprintf(name, "%sf_mean_s", prefix);
			compare(c, name, mean, n, "odvgp_fit_q");
			sprintf(name, "%sf_cov_s", prefix);
			compare(c, name, cov, n * n, "odvgp_fit_q");
		}
		free(scratch);
	}
	free(block), free(mean), free(cov);
}

/*  Compares the optimum of each member: its slots, its bound, and its predictions. */
static void run_optima(ocase *c)
{
	static const struct {
		const char *prefix, *bound;
		odvgp_mean_part mean;
		odvgp_cov_part cov;
		odvgp_objective objective;
		odvgp_parametrisation param;
		const char *slot[5], *tensor[5];
	} optima[] = {{"titsias.", "bound.titsias", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE,
						  ODVGP_OBJECTIVE_ELBO, ODVGP_PARAMETRISATION_PRIMAL, {"q_mu", "q_sqrt"},
						  {"m", "S"}},
			{"titsias.", "bound.titsias", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE,
					ODVGP_OBJECTIVE_COLLAPSED, ODVGP_PARAMETRISATION_WHITENED, {NULL}, {NULL}},
			{"solve_opt.", "bound.solve_opt", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS,
					ODVGP_OBJECTIVE_ELBO, ODVGP_PARAMETRISATION_PRIMAL,
					{"q_mu", "q_sqrt", "v_mu", "v_sqrt"}, {"m_u", "S_u", "m_v", "S_v"}},
			{"solve_opt.", "bound.solve_opt", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS,
					ODVGP_OBJECTIVE_COLLAPSED, ODVGP_PARAMETRISATION_WHITENED, {NULL}, {NULL}},
			{"odvgp.", "odvgp.elbo", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE,
					ODVGP_OBJECTIVE_ELBO, ODVGP_PARAMETRISATION_A_BETA,
					{"a_gamma", "a_beta", "q_sqrt"}, {"orth_a_gamma", "orth_a_beta", "S"}},
			{"odvgp.", "odvgp.elbo", ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE,
					ODVGP_OBJECTIVE_ELBO, ODVGP_PARAMETRISATION_A_BETA,
					{"a_gamma", "a_beta", "q_sqrt"}, {"hybrid_a_gamma", "hybrid_a_beta", "S"}},
			{"odvgp.", "odvgp.elbo", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_INVERSE,
					ODVGP_OBJECTIVE_ELBO, ODVGP_PARAMETRISATION_WHITENED, {"a", "B_sqrt"},
					{"a", "B"}},
			{"exact.", "bound.exact", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL,
					ODVGP_OBJECTIVE_EXACT, ODVGP_PARAMETRISATION_WHITENED, {NULL}, {NULL}}};
	size_t k;
	int q;
	for (k = 0; k < sizeof optima / sizeof *optima; k++) {
		world w;
		odvgp_real elbo, upper, lower;
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		size_t bytes;
		void *work;
		tensor *Zg = find(c, "Z_gamma"), *Zb = find(c, "Z_beta");
		if (!read_world(c, &w)) return;
		w.cfg.layer[0].mean_part = optima[k].mean;
		w.cfg.layer[0].cov_part = optima[k].cov;
		w.cfg.objective = optima[k].objective;
		w.cfg.reproduce.parametrisation = optima[k].param;
		w.cfg.optim.natgrad = 0;
		w.cfg.tile = 3;
		/* The file's a belongs to K_alpha without jitter. */
		if (!strcmp(optima[k].prefix, "odvgp.")) w.cfg.jitter.absolute = 0;
		if (optima[k].mean == ODVGP_MEAN_PART_FREE) {
			int exact = optima[k].cov == ODVGP_COV_PART_DIAGONAL;
			w.cfg.layer[0].M = exact ? w.cfg.N : w.M;
			w.cfg.layer[0].M_gamma = exact ? 0 : w.M + w.Mg;
		}
		if (!make_partly(c, &w)) return;
		/* alpha = [Z_gamma; Z_beta]. */
		if (optima[k].cov == ODVGP_COV_PART_INVERSE) {
			odvgp_real *Z = NEW(odvgp_real, Zg->count + Zb->count);
			memcpy(Z, Zg->r, (size_t)Zg->count * sizeof *Z);
			memcpy(Z + Zg->count, Zb->r, (size_t)Zb->count * sizeof *Z);
			good(c, odvgp_set(w.model, "Z_alpha", Z, Zg->count + Zb->count, &info), "Z_alpha",
					&info);
			free(Z);
		}
		bytes = odvgp_fit_q_scratch(w.model, NULL);
		work = test_alloc(bytes);
		if (good(c, odvgp_fit_q(w.model, w.X->r, w.Y->r, NULL, work, bytes, &info), "odvgp_fit_q",
					&info) &&
				good(c, odvgp_elbo(w.model, w.X->r, w.Y->r, w.B, &elbo, NULL, NULL, &info),
						"odvgp_elbo", &info)) {
			compare(c, optima[k].bound, &elbo, 1, "odvgp_fit_q");
			compare_optimum(c, &w, optima[k].prefix);
			for (q = 0; q < 5 && optima[k].slot[q]; q++) {
				char name[60];
				sprintf(name, "%s%s", optima[k].prefix, optima[k].tensor[q]);
				compare_slot(
						c, &w, optima[k].slot[q], name, strstr(optima[k].slot[q], "sqrt") != NULL);
			}
		}
		if (optima[k].objective <= ODVGP_OBJECTIVE_COLLAPSED &&
				good(c,
						odvgp_upper_bound(
								w.model, w.X->r, w.Y->r, &upper, &lower, work, bytes, &info),
						"odvgp_upper_bound", &info)) {
			compare(c, "bound.titsias", &lower, 1, "odvgp_upper_bound");
			if (!((double)upper >= scalar(c, "bound.exact", 0)))
				fail(c, "the upper bound %.17g is below log p(y)", (double)upper);
		}
		free(work);
		drop_model(&w);
	}
}

/*  Compares the three steps of O(M). */
static void run_natgrad_diagonal(ocase *c)
{
	static const struct {
		const char *head;
		odvgp_diag_step step;
	} ways[] = {{"mu_g.", ODVGP_DIAG_STEP_EXACT}, {"affine.", ODVGP_DIAG_STEP_AFFINE},
			{"eq320.", ODVGP_DIAG_STEP_PROJECTED}};
	size_t k;
	find(c, "Xs");
	find(c, "Ys");
	for (k = 0; k < 3; k++) {
		world w;
		if (!read_world(c, &w)) return;
		w.cfg.layer[0].mean_part = ODVGP_MEAN_PART_FREE;
		w.cfg.layer[0].cov_part = ODVGP_COV_PART_DIAGONAL;
		w.cfg.reproduce.diag_step = ways[k].step;
		compare_steps(c, &w, ways[k].head, NULL);
	}
}

/* ---- patches ---- */

static void run_conv_solve(ocase *c)
{
	join_locations(c);
	run_basis(c);
}

/* ---- two layers ---- */

/*  Reads the two layers' sizes and members, and the rest, into w->cfg. text: the kernels'
    expressions. Returns 0 if the case is skipped or failed. */
static int read_deep(ocase *c, world *w, char text[2][4000])
{
	static const char *const means[] = {"zero", "constant", "linear", "identity"};
	char name[64];
	int l, k;
	const gp__likelihood *lik = likelihood_of(c);
	memset(w, 0, sizeof *w);
	if (!lik) return 0;
	w->X = need(c, "X");
	w->Y = need(c, "Y");
	if (!w->X || !w->Y) return 0;
	w->B = w->X->dim[0];
	w->D = w->X->dim[1];
	w->T = w->Y->dim[1];
	w->cfg = odvgp_config_defaults((ptrdiff_t)scalar(c, "N_data", 0), w->D, 1, 1, 0);
	w->cfg.layers = 2;
	for (l = 0; l < 2; l++) {
#define IN_LAYER(s) (sprintf(name, "layer%d.%s", l, s), name)
		const struct member *member = member_of(say(c, IN_LAYER("kind")));
		tensor *Zb = need(c, IN_LAYER("Z_beta")), *mu = need(c, IN_LAYER("q_mu")),
			   *Zg = find(c, IN_LAYER("Z_gamma"));
		ref_kernel kernel;
		char prefix[16];
		if (!member || !Zb || !mu) return 0;
		sprintf(prefix, "layer%d.", l);
		if (!read_kernel(c, prefix, &kernel, text[l], 4000)) {
			fail(c, "the kernel of layer %d cannot be read", l);
			return 0;
		}
		w->cfg.layer[l].D = Zb->dim[1];
		w->cfg.layer[l].P = mu->dim[0];
		w->cfg.layer[l].M = Zb->dim[0];
		w->cfg.layer[l].M_gamma = Zg ? Zg->dim[0] : 0;
		w->cfg.layer[l].kernel = text[l];
		w->cfg.layer[l].mean_part = member->mean;
		w->cfg.layer[l].cov_part = member->cov;
		if (!param_of(say(c, IN_LAYER("param")), &w->cfg.layer[l].parametrisation)) return 0;
		for (k = 0; k < 4 && strcmp(say(c, IN_LAYER("mean")), means[k]); k++) {}
		if (k == 4) {
			skip(c, "mean function %s is not known to this version", say(c, IN_LAYER("mean")));
			return 0;
		}
		w->cfg.layer[l].mean_function = (odvgp_mean_function)k;
#undef IN_LAYER
	}
	w->P = w->cfg.layer[1].P;
	w->cfg.optim.gamma_batch = 0;
	w->cfg.positive_transform = ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
	w->cfg.lik.kind = (odvgp_likelihood)(lik - gp__likelihoods);
	w->cfg.lik.nodes = (ptrdiff_t)scalar(c, "quad_points", 20);
	w->cfg.lik.link_jitter = (odvgp_real)scalar(c, "squash", 0);
	find(c, "num_classes");
	w->cfg.isa = test_isa();
	w->cfg.jitter.absolute = (odvgp_real)scalar(c, "jitter", 0);
	w->cfg.jitter.relative = 0;
	return 1;
}

/*  Compares what the tape holds after a look at all rows: the hidden layer and each layer's KL. */
static void compare_layers(ocase *c, world *w)
{
	const gp__node *node = w->model->tape.node, *mean = &node[w->model->unit[0].mean.id],
				   *var = &node[w->model->unit[0].var.id], *X = &node[w->model->unit[1].X.id];
	odvgp_real kl[2] = {0, 0};
	int i;
	compare(c, "layer0.f_mean", mean->v, mean->rows * mean->cols, "");
	compare(c, "layer0.f_var", var->v, var->rows * var->cols, "");
	compare(c, "hidden", X->v, X->rows * X->cols, "");
	for (i = 1; i <= w->model->tape.nodes; i++)
		if (gp__is_kl_term(&node[i])) kl[node[i].of->number] += node[i].v[0];
	compare(c, "layer0.kl", &kl[0], 1, "");
	compare(c, "layer1.kl", &kl[1], 1, "");
}

static void run_deep(ocase *c)
{
	static const struct {
		const char *name;
		ptrdiff_t tile;
		int natgrad, mixed;
	} variants[] = {{"", 0, 0, 0}, {"tiles of 3 rows, natgrad, a hook of 3 tasks", 3, 1, 3}};
	static char text[2][4000];
	tensor *eps = need(c, "eps");
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_real elbo, kl, *rows;
	ptrdiff_t i, S;
	size_t v;
	world w;
	if (!eps) return;
	S = eps->dim[0];
	for (v = 0; v < sizeof variants / sizeof *variants; v++) {
		if (!read_deep(c, &w, text)) return;
		w.cfg.deep.samples = S;
		w.cfg.tile = variants[v].tile ? variants[v].tile : w.B;
		w.cfg.optim.natgrad = variants[v].natgrad;
		if (variants[v].mixed) {
			w.cfg.threads.run = run_mixed;
			w.cfg.threads.count = variants[v].mixed;
		}
		if (make_model(c, &w)) {
			odvgp_real *grad = NEW(odvgp_real, odvgp_param_count(w.model));
			w.model->unit[1].normals = eps->r;
			w.model->unit[1].normal_rows = w.B;
			if (good(c, odvgp_elbo(w.model, w.X->r, w.Y->r, w.B, &elbo, &kl, grad, &info),
						"odvgp_elbo", &info)) {
				compare(c, "elbo", &elbo, 1, variants[v].name);
				compare_grads(c, &w, "", grad, variants[v].name);
				if (!v) compare_layers(c, &w);
			}
			free(grad);
		}
		drop_model(&w);
		if (c->bad) return;
	}
	/* The bound on one row and one sample is N var_exp - kl. */
	w.cfg.deep.samples = 1;
	rows = NEW(odvgp_real, S * w.B);
	if (make_model(c, &w))
		for (i = 0; i < S * w.B; i++) {
			w.model->unit[1].normals = eps->r + i * eps->dim[2];
			if (!good(c,
						odvgp_elbo(w.model, w.X->r + i % w.B * w.D, w.Y->r + i % w.B * w.T, 1,
								&elbo, &kl, NULL, &info),
						"odvgp_elbo of a row", &info))
				break;
			rows[i] = (odvgp_real)(((double)elbo + (double)kl) / (double)w.cfg.N);
		}
	compare(c, "var_exp", rows, S * w.B, "");
	drop_model(&w);
	free(rows);
}

/* ---- all of them ---- */

static const struct {
	const char *kind;
	void (*run)(ocase *c);
} kinds[] = {{"kernel", run_kernel}, {"likelihood", run_likelihood}, {"coupled", run_basis},
		{"orth", run_basis}, {"hybrid", run_basis}, {"decoupled", run_basis}, {"solve", run_basis},
		{"diagonal", run_basis}, {"adam", run_adam}, {"gauss_hermite", run_gauss_hermite},
		{"natgrad_coupled", run_natgrad}, {"natgrad_orth", run_natgrad},
		{"natgrad_hybrid", run_natgrad}, {"natgrad_solve", run_natgrad_solve},
		{"natgrad_diagonal", run_natgrad_diagonal}, {"closed", run_closed}, {"deep", run_deep},
		{"ulapane", run_ulapane}, {"standardise", run_standardise},
		{"conv_kernel", run_conv_kernel}, {"conv_solve", run_conv_solve}};

/*  Returns 0 if the case passed, 1 if it failed, 2 if it is skipped. */
static int run_case(const char *path, const char *file, int strict)
{
	ocase c;
	char *text, left[400] = "";
	size_t k, at = 0;
	int i, unseen = 0, result;
	memset(&c, 0, sizeof c);
	c.file = file;
	text = read_file(path);
	if (!text) {
		printf("FAIL  %s: cannot be read\n", file);
		return 1;
	}
	if (parse(&c, text)) {
		if (!c.words || strcmp(c.w[0].key, "kind")) fail(&c, "does not say its kind");
		else {
			for (k = 0; k < sizeof kinds / sizeof *kinds; k++)
				if (!strcmp(kinds[k].kind, c.w[0].value)) break;
			if (k == sizeof kinds / sizeof *kinds)
				skip(&c, "kind %s is not known to this version", c.w[0].value);
			else if (sizeof(odvgp_real) == 4 &&
					 (c.condition >= 300 || (!strcmp(c.w[0].value, "closed") && c.joint >= 300)))
				/* closed: the case factors K of gamma and beta together. */
				skip(&c, "condition number %g is too much for float",
						c.condition >= 300 ? c.condition : c.joint);
			else kinds[k].run(&c);
		}
	}
	if (!c.skip[0] && !c.bad) {
		for (i = 0; i < c.tensors; i++)
			if (!c.t[i].seen) {
				unseen++;
				if (at + strlen(c.t[i].name) + 2 < sizeof left)
					at += (size_t)sprintf(left + at, " %s", c.t[i].name);
			}
		if (unseen && strict) fail(&c, "not compared:%s", left);
		if (!c.compared) fail(&c, "nothing was compared");
	}
	if (c.bad) {
		printf("FAIL  %s: %s, %d tensors do not agree, worst relative error %.1e (%s)\n", file,
				say(&c, "kind"), c.bad, c.worst, c.worst_name);
		result = 1;
	} else if (c.skip[0]) {
		printf("skip  %s: %s\n", file, c.skip);
		result = 2;
	} else {
		printf("ok    %s: %s, worst relative error %.1e%s%s%s%s%s\n", file, say(&c, "kind"),
				c.worst, c.worst > 0 ? " (" : "", c.worst > 0 ? c.worst_name : "",
				c.worst > 0 ? ")" : "", unseen ? "; not compared:" : "", left);
		result = 0;
	}
	drop(&c);
	free(text);
	return result;
}
static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
	const char *dir = NULL;
	int strict = 0, i, n = 0, counts[3] = {0, 0, 0};
	char **files = NULL;
	DIR *d;
	struct dirent *entry;
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--strict")) strict = 1;
		else if (argv[i][0] == '-' || dir) {
			fprintf(stderr, "usage: test_oracle [--strict] [DIR]\n");
			return 2;
		} else dir = argv[i];
	}
	if (!dir) dir = "tests/oracle", strict = 1;
	test_begin(1, argv);
	d = opendir(dir);
	if (!d) {
		fprintf(stderr, "test_oracle: cannot open directory %s\n", dir);
		return 2;
	}
	while ((entry = readdir(d))) {
		size_t len = strlen(entry->d_name);
		if (len < 5 || strcmp(entry->d_name + len - 4, ".txt")) continue;
		files = (char **)realloc(files, (size_t)(n + 1) * sizeof *files);
		if (!files) return 3;
		files[n++] = copy_text(entry->d_name, len);
	}
	closedir(d);
	if (n) qsort(files, (size_t)n, sizeof *files, by_name);
	for (i = 0; i < n; i++) {
		char *path = NEW(char, strlen(dir) + strlen(files[i]) + 2);
		sprintf(path, "%s/%s", dir, files[i]);
		counts[run_case(path, files[i], strict)]++;
		free(path);
		free(files[i]);
	}
	free(files);
	if (!n) printf("no case file NAME.txt in %s\n", dir);
	printf("%d passed, %d failed, %d skipped\n", counts[0], counts[1], counts[2]);
	return counts[1] > 0 || !n;
}
