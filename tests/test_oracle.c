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
#include "reference.h"
#include <dirent.h>

/* ---- case files ---- */

#define RANK 16
typedef struct tensor {
	char *name;
	int rank;
	ptrdiff_t dim[RANK], count;
	double *v;
	/* The same values, rounded. */
	odvgp_real *r;
	int seen;
} tensor;
typedef struct word {
	char *key, *value;
} word;
typedef struct ocase {
	const char *file;
	tensor *t;
	word *w;
	int tensors, words;
	/* The largest condition number in the comment (0 if there is none), and their product, which
       approximates that of both sets of points together. */
	double condition, joint;
	/* max |grad_*|. */
	double grads;
	double worst;
	char worst_name[120];
	int bad, compared;
	char skip[300];
} ocase;

static char *copy_text(const char *s, size_t n)
{
	char *p = NEW(char, n + 1);
	memcpy(p, s, n);
	p[n] = 0;
	return p;
}
static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	size_t n = 0, room = 0;
	if (!f) return NULL;
	for (;;) {
		size_t got;
		if (n + 65536 > room) {
			room = 2 * room + 65536 + 1;
			text = (char *)realloc(text, room);
			if (!text) exit(3);
		}
		got = fread(text + n, 1, room - n - 1, f);
		if (!got) break;
		n += got;
	}
	fclose(f);
	text[n] = 0;
	return text;
}
/*  Cuts off the next line; NULL at the end. */
static char *next_line(char **rest)
{
	char *line = *rest, *end;
	if (!*line) return NULL;
	end = strchr(line, '\n');
	if (end) {
		*rest = end + 1;
		*end = 0;
		if (end > line && end[-1] == '\r') end[-1] = 0;
	} else *rest = line + strlen(line);
	return line;
}
static void fail(ocase *c, const char *format, ...) TEST_PRINTF(2, 3);
static void fail(ocase *c, const char *format, ...)
{
	va_list args;
	if (++c->bad > 10) return;
	printf("%s: ", c->file);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}
static int starts(const char *s, const char *head) { return strncmp(s, head, strlen(head)) == 0; }

/*  Returns 0 if the text is not in the format, and reports where. */
static int parse(ocase *c, char *text)
{
	char *rest = text, *line;
	int number = 0, i;
	while ((line = next_line(&rest))) {
		char *s = line;
		number++;
		while (*s == ' ' || *s == '\t') s++;
		if (*s == '#') {
			char *p = strstr(s, "condition number");
			for (; p && *p; p++)
				if (isdigit((unsigned char)*p) && (p[-1] == ' ')) {
					double v = strtod(p, &p);
					if (v > c->condition) c->condition = v;
					c->joint = (c->joint > 0 ? c->joint : 1) * v;
					if (!*p) break;
				}
			continue;
		}
		if (!*s) continue;
		if (starts(s, "string ")) {
			char *key = s + 7, *end;
			while (*key == ' ') key++;
			for (end = key; *end && *end != ' '; end++) {}
			c->w = (word *)realloc(c->w, (size_t)(c->words + 1) * sizeof(word));
			if (!c->w) exit(3);
			c->w[c->words].key = copy_text(key, (size_t)(end - key));
			while (*end == ' ') end++;
			i = (int)strlen(end);
			while (i > 0 && isspace((unsigned char)end[i - 1])) i--;
			c->w[c->words++].value = copy_text(end, (size_t)i);
		} else if (starts(s, "tensor ")) {
			tensor t;
			char *name = s + 7, *end;
			ptrdiff_t n = 0;
			memset(&t, 0, sizeof t);
			while (*name == ' ') name++;
			for (end = name; *end && *end != ' '; end++) {}
			t.name = copy_text(name, (size_t)(end - name));
			t.count = 1;
			for (;;) {
				char *stop;
				long d = strtol(end, &stop, 10);
				if (stop == end) break;
				if (t.rank == RANK || d < 0) {
					fail(c, "line %d: tensor %s: bad dimensions", number, t.name);
					return 0;
				}
				t.dim[t.rank++] = d;
				t.count *= d;
				end = stop;
			}
			while (isspace((unsigned char)*end)) end++;
			if (*end) {
				fail(c, "line %d: tensor %s: bad dimensions", number, t.name);
				return 0;
			}
			do {
				line = next_line(&rest);
				number++;
			} while (line && *line == '#');
			t.v = NEW(double, t.count);
			t.r = NEW(odvgp_real, t.count);
			for (s = line; s && *s;) {
				char *stop;
				double v = strtod(s, &stop);
				if (stop == s) break;
				if (n < t.count) {
					t.v[n] = v;
					t.r[n] = (odvgp_real)v;
				}
				n++;
				s = stop;
			}
			while (s && isspace((unsigned char)*s)) s++;
			if (n != t.count || (s && *s)) {
				fail(c, "line %d: tensor %s has %ld numbers, not %ld", number, t.name, (long)n,
						(long)t.count);
				return 0;
			}
			if (strstr(t.name, "grad_"))
				for (i = 0; i < t.count; i++)
					if (fabs(t.v[i]) > c->grads) c->grads = fabs(t.v[i]);
			c->t = (tensor *)realloc(c->t, (size_t)(c->tensors + 1) * sizeof(tensor));
			if (!c->t) exit(3);
			c->t[c->tensors++] = t;
		} else {
			fail(c, "line %d is neither comment, string nor tensor", number);
			return 0;
		}
	}
	return 1;
}
static void drop(ocase *c)
{
	int i;
	for (i = 0; i < c->tensors; i++) {
		free(c->t[i].name);
		free(c->t[i].v);
		free(c->t[i].r);
	}
	for (i = 0; i < c->words; i++) {
		free(c->w[i].key);
		free(c->w[i].value);
	}
	free(c->t);
	free(c->w);
}
/*  Returns "" if the key is missing. */
static const char *say(const ocase *c, const char *key)
{
	int i;
	for (i = 0; i < c->words; i++)
		if (!strcmp(c->w[i].key, key)) return c->w[i].value;
	return "";
}
/*  Returns NULL if the tensor is missing; marks it as seen. */
static tensor *find(ocase *c, const char *name)
{
	int i;
	for (i = 0; i < c->tensors; i++)
		if (!strcmp(c->t[i].name, name)) {
			c->t[i].seen = 1;
			return &c->t[i];
		}
	return NULL;
}
static tensor *need(ocase *c, const char *name)
{
	tensor *t = find(c, name);
	if (!t) fail(c, "has no tensor %s", name);
	return t;
}
static double scalar(ocase *c, const char *name, double otherwise)
{
	tensor *t = find(c, name);
	return t && t->count == 1 ? t->v[0] : otherwise;
}
static void skip(ocase *c, const char *format, ...) TEST_PRINTF(2, 3);
static void skip(ocase *c, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(c->skip, sizeof c->skip, format, args);
	va_end(args);
}

/* ---- comparison ---- */

/*  In double: |got - want| <= 1e-9 max|tensor|, and for gradients + 1e-11 max|all gradients of
    the file|. In float these are 1e-4 and 1e-5. */
#define ALLOWED       BY_PRECISION(1e-9, 1e-4)
#define ALLOWED_GRADS BY_PRECISION(1e-11, 1e-5)

/*  The library's density of studentt is exact in f; the cases have that of 20 nodes, up to 0.02 off.
    Truth by the trapezoid rule, which for "lik_studentt" agrees with the case's exact.log_density. */
static void replace_studentt_densities(ocase *c)
{
	tensor *t = find(c, "log_density_s"), *y = find(c, "Ys"), *mean = find(c, "f_mean_s"),
		   *var = find(c, "f_var_s");
	double s = scalar(c, "scale", 0), df = scalar(c, "df", 0),
		   base = lgamma((df + 1) / 2) - lgamma(df / 2) - 0.5 * log(df) - log(s);
	ptrdiff_t i, k;
	enum { STEPS = 20000 };
	for (i = 0; t && i < t->count; i++) {
		double sum = 0, step = 24.0 / STEPS;
		for (k = 0; k <= STEPS; k++) {
			double z = -12 + step * (double)k, u = (y->v[i] - mean->v[i] - sqrt(var->v[i]) * z) / s;
			sum += step * exp(-0.5 * z * z - (df + 1) / 2 * log1p(u * u / df));
		}
		/* 1 / (pi sqrt(2)), of both densities */
		t->v[i] = base + log(sum * 0.22507907903927651);
	}
}

static void compare_wide(
		ocase *c, const char *name, const wide *got, ptrdiff_t count, const char *variant)
{
	tensor *t = find(c, name);
	double most = 0, worst = 0, scale;
	ptrdiff_t i, at = 0;
	if (!t) return;
	if (t->count != count) {
		fail(c, "%s has %ld numbers, the library's has %ld", name, (long)t->count, (long)count);
		return;
	}
	c->compared++;
	if (!count) return;
	for (i = 0; i < count; i++)
		if (fabs(t->v[i]) > most) most = fabs(t->v[i]);
	scale = most + (strstr(name, "grad_") ? ALLOWED_GRADS / ALLOWED * c->grads : 0);
	for (i = 0; i < count; i++) {
		double e = (double)fabsl(got[i] - (wide)t->v[i]);
		if (e == 0) continue;
		e = scale > 0 ? e / scale : HUGE_VAL;
		if (worst == worst && !(e <= worst)) worst = e, at = i;
		if (e != e) break;
	}
	if (!(worst <= c->worst)) {
		c->worst = worst;
		snprintf(c->worst_name, sizeof c->worst_name, "%s", name);
	}
	if (!(worst <= ALLOWED))
		fail(c, "%s[%ld] is %.17Lg, not %.17g: relative error %.2e%s%s", name, (long)at, got[at],
				t->v[at], worst, *variant ? ", " : "", variant);
}
static void compare(
		ocase *c, const char *name, const odvgp_real *got, ptrdiff_t count, const char *variant)
{
	wide *w = ref_copy(got, count);
	compare_wide(c, name, w, count, variant);
	free(w);
}
static int good(ocase *c, odvgp_status status, const char *call, const odvgp_info *info)
{
	if (status == ODVGP_OK) return 1;
	fail(c, "%s: %s%s%s", call, odvgp_status_text(status), info && info->text[0] ? ": " : "",
			info ? info->text : "");
	return 0;
}

/* ---- models ---- */

/*  Returns NULL if the case is skipped. */
static const gp__likelihood *likelihood_of(ocase *c)
{
	size_t i;
	for (i = 0; i < sizeof gp__likelihoods / sizeof *gp__likelihoods; i++)
		if (!strcmp(gp__likelihoods[i].name, say(c, "likelihood"))) return &gp__likelihoods[i];
	skip(c, "likelihood %s is not known to this version", say(c, "likelihood"));
	return NULL;
}

/*  Reads the kernel of a file, or of one of its layers: its expression and the values of its base
    kernels. Returns 0 on failure. */
static int read_kernel(ocase *c, const char *prefix, ref_kernel *k, char *text, size_t size)
{
	int i, j;
	char name[64];
	tensor *t;
	sprintf(name, "%skernel", prefix);
	if (!ref_kernel_read(k, say(c, name))) return 0;
	for (i = 0; i < k->base_kernels; i++) {
		ref_base *l = &k->base[i];
		sprintf(name, "%skernel.%d.active_dims", prefix, i);
		if ((t = find(c, name))) {
			if (t->count > REF_DIMS) return 0;
			l->ndims = (int)t->count;
			for (j = 0; j < l->ndims; j++) l->dims[j] = (int)t->v[j];
		}
		sprintf(name, "%skernel.%d.lengthscale", prefix, i);
		if ((t = find(c, name))) {
			if (t->count > REF_DIMS) return 0;
			l->ard = t->count > 1;
			for (j = 0; j < t->count; j++) l->lengthscale[j] = (wide)t->v[j];
		}
		sprintf(name, "%skernel.%d.variance", prefix, i);
		if ((t = find(c, name))) {
			if (t->count > REF_DIMS) return 0;
			l->ard |= t->count > 1;
			for (j = 0; j < t->count; j++) l->variance[j] = (wide)t->v[j];
		}
		for (j = 0; j < 3; j++) {
			static const char *const extras[3] = {"alpha", "period", "offset"};
			sprintf(name, "%skernel.%d.%s", prefix, i, extras[j]);
			if ((t = find(c, name))) l->shape_param = (wide)t->v[0];
		}
		sprintf(name, "%skernel.%d.degree", prefix, i);
		if ((t = find(c, name))) l->degree = (int)t->v[0];
	}
	ref_kernel_spell(k, text, size);
	return 1;
}

typedef struct world {
	ref_kernel kernel;
	char kernel_text[4000];
	odvgp_config cfg;
	tensor *X, *Y, *Zb, *Zg;
	ptrdiff_t B, D, P, T, M, Mg;
	odvgp_model *model;
	void *block;
} world;

/*  With patches: their sizes. */
static void read_patches(ocase *c, odvgp_config *cfg)
{
	const tensor *shape = find(c, "shape");
	if (!shape || shape->count != 6) return;
	cfg->layer[0].patches.image_height = (ptrdiff_t)shape->v[0];
	cfg->layer[0].patches.image_width = (ptrdiff_t)shape->v[1];
	cfg->layer[0].patches.channels = (ptrdiff_t)shape->v[2];
	cfg->layer[0].patches.height = (ptrdiff_t)shape->v[3];
	cfg->layer[0].patches.width = (ptrdiff_t)shape->v[4];
	cfg->layer[0].patches.stride = (ptrdiff_t)shape->v[5];
	cfg->layer[0].patches.locations = !strcmp(say(c, "tick"), "yes");
}

/*  Reads sizes, kernel and config from the file. Returns 0 if the case is skipped or failed. */
static int read_world(ocase *c, world *w)
{
	const char *mean = say(c, "mean");
	memset(w, 0, sizeof *w);
	const gp__likelihood *lik = likelihood_of(c);
	tensor *mu;
	if (!lik) return 0;
	if (!read_kernel(c, "", &w->kernel, w->kernel_text, sizeof w->kernel_text)) {
		fail(c, "kernel \"%s\" cannot be read", say(c, "kernel"));
		return 0;
	}
	w->X = need(c, "X");
	w->Y = need(c, "Y");
	w->Zb = need(c, "Z_beta");
	w->Zg = find(c, find(c, "Z_alpha") ? "Z_alpha" : "Z_gamma");
	if (!w->X || !w->Y || !w->Zb) return 0;
	w->B = w->X->dim[0];
	w->D = w->X->dim[1];
	mu = find(c, "q_mu");
	if (!mu) mu = find(c, "a_beta");
	w->T = w->Y->dim[1];
	w->P = gp__lik_targets(lik, 2) == 2 || !mu ? w->T : mu->dim[0];
	w->M = w->Zb->dim[0];
	w->Mg = w->Zg ? w->Zg->dim[0] : 0;
	w->cfg = odvgp_config_defaults((ptrdiff_t)scalar(c, "N_data", 0), w->D, w->P, w->M, w->Mg);
	/* The code that made the cases uses softplus. */
	w->cfg.positive_transform = ODVGP_POSITIVE_TRANSFORM_SOFTPLUS;
	w->cfg.layer[0].kernel = w->kernel_text;
	w->cfg.lik.kind = (odvgp_likelihood)(lik - gp__likelihoods);
	w->cfg.lik.nodes = (ptrdiff_t)scalar(c, "quad_points", 20);
	w->cfg.lik.link_jitter = (odvgp_real)scalar(c, "link_jitter", scalar(c, "squash", 0));
	find(c, "num_classes");
	read_patches(c, &w->cfg);
	w->cfg.isa = test_isa();
	w->cfg.jitter.absolute = (odvgp_real)scalar(c, "jitter", 0);
	w->cfg.jitter.relative = 0;
	w->cfg.layer[0].mean_part = w->Zg ? ODVGP_MEAN_PART_ORTH : ODVGP_MEAN_PART_BETA;
	w->cfg.layer[0].mean_function = !strcmp(mean, "constant") ? ODVGP_MEAN_FUNCTION_CONSTANT
									: !strcmp(mean, "linear") ? ODVGP_MEAN_FUNCTION_LINEAR
															  : ODVGP_MEAN_FUNCTION_ZERO;
	if (*mean && strcmp(mean, "zero") && strcmp(mean, "constant") && strcmp(mean, "linear")) {
		skip(c, "mean function %s is not known to this version", mean);
		return 0;
	}
	if (*say(c, "gamma_precondition")) {
		if (strcmp(say(c, "gamma_precondition"), "D")) {
			skip(c, "gamma_precondition %s is not known to this version",
					say(c, "gamma_precondition"));
			return 0;
		}
		w->cfg.reproduce.gamma_coords = ODVGP_GAMMA_COORDS_DIFFERENTIATED;
	}
	/* This is the paper's estimator. */
	if (find(c, "gamma_idx")) w->cfg.reproduce.gamma_kl = ODVGP_GAMMA_KL_COLUMNS;
	return 1;
}
/*  Makes a model of w->cfg and sets every slot for which the file has a tensor. Returns 0 if the
    case is skipped or failed. */
static int make_model(ocase *c, world *w)
{
	size_t bytes;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_status s = odvgp_model_size(&w->cfg, &bytes, &info);
	int i;
	if (!good(c, s, "odvgp_model_size", &info)) return 0;
	w->block = test_alloc(bytes);
	if (!good(c, odvgp_model_init(&w->model, &w->cfg, w->block, bytes, &info), "odvgp_model_init",
				&info))
		return 0;
	for (i = 0; i < odvgp_slot_count(w->model); i++) {
		const odvgp_slot *slot = odvgp_slot_at(w->model, i);
		tensor *t = find(c, slot->name);
		if (!t) continue;
		if (!good(c, odvgp_set(w->model, slot->name, t->r, t->count, &info), slot->name, &info))
			return 0;
	}
	return 1;
}
/*  Does the same for a model that has inducing points of its own: slots of other sizes than the
    file's are not set. */
static int make_partly(ocase *c, world *w)
{
	size_t bytes;
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	int i;
	if (!good(c, odvgp_model_size(&w->cfg, &bytes, &info), "odvgp_model_size", &info)) return 0;
	w->block = test_alloc(bytes);
	if (!good(c, odvgp_model_init(&w->model, &w->cfg, w->block, bytes, &info), "odvgp_model_init",
				&info))
		return 0;
	for (i = 0; i < odvgp_slot_count(w->model); i++) {
		const odvgp_slot *slot = odvgp_slot_at(w->model, i);
		tensor *t = find(c, slot->name);
		if (t && t->count == slot->count && strncmp(slot->name, "q_", 2) &&
				!good(c, odvgp_set(w->model, slot->name, t->r, t->count, &info), slot->name, &info))
			return 0;
	}
	return 1;
}
/*  Compares every tensor grad_BOUND.SLOT. */
static void compare_bound_grads(ocase *c, world *w, const char *prefix, const odvgp_real *grad)
{
	int i;
	size_t n = strlen(prefix);
	for (i = 0; i < c->tensors; i++) {
		const odvgp_slot *slot;
		if (strncmp(c->t[i].name, prefix, n)) continue;
		slot = odvgp_slot_find(w->model, c->t[i].name + n);
		if (slot) compare(c, c->t[i].name, grad + slot->offset, slot->count, "");
		else fail(c, "the model has no slot for %s", c->t[i].name);
	}
}
static void drop_model(world *w)
{
	free(w->block);
	w->block = NULL;
	w->model = NULL;
}

/*  Compares every tensor PREFIX + "grad_" + slot. */
static void compare_grads(
		ocase *c, world *w, const char *prefix, const odvgp_real *grad, const char *variant)
{
	int i;
	size_t n = strlen(prefix);
	for (i = 0; i < c->tensors; i++) {
		const odvgp_slot *slot;
		if (strncmp(c->t[i].name, prefix, n) || strncmp(c->t[i].name + n, "grad_", 5)) continue;
		slot = odvgp_slot_find(w->model, c->t[i].name + n + 5);
		if (slot) compare(c, c->t[i].name, grad + slot->offset, slot->count, variant);
		else if (c->t[i].count == 0) c->t[i].seen = 1;
		else fail(c, "the model has no slot for %s", c->t[i].name);
	}
}

/*  Compares predictions at X and Xs, `rows` of them at a time. */
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
static void compare_predictions(ocase *c, world *w, ptrdiff_t rows, const char *variant)
{
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	size_t bytes = odvgp_predictor_size(w->model), scratch_bytes;
	void *block = test_alloc(bytes), *scratch;
	odvgp_server server, *p = &server;
	tensor *Xs = find(c, "Xs"), *Ys = find(c, "Ys");
	ptrdiff_t n = Xs ? Xs->dim[0] : 0, P = w->P, most = n > w->B ? n : w->B;
	odvgp_real *mean = NEW(odvgp_real, P * most), *var = NEW(odvgp_real, P * most),
			   *var_y = NEW(odvgp_real, P * most), *cov = NEW(odvgp_real, P * n * n),
			   *logp = NEW(odvgp_real, n);
	if (good(c, serve(w->model, NULL, block, bytes, p, &info), "odvgp_freeze", &info)) {
		scratch_bytes = odvgp_predict_scratch(p, rows);
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
		if (Xs && good(c, odvgp_predict_y(p, Xs->r, n, mean, var_y, scratch, scratch_bytes, NULL),
						  "odvgp_predict_y", NULL)) {
			compare_y(c, "y_mean_s", mean, server.y_rows, n, variant);
			compare_y(c, "y_var_s", var_y, server.y_rows, n, variant);
		}
		if (!strcmp(say(c, "likelihood"), "studentt")) replace_studentt_densities(c);
		if (Xs && Ys &&
				good(c, odvgp_predict_logp(p, Xs->r, Ys->r, n, logp, scratch, scratch_bytes, NULL),
						"odvgp_predict_logp", NULL))
			compare(c, "log_density_s", logp, n, variant);
		free(scratch);
		if (Xs && find(c, "f_cov_s")) {
			scratch_bytes = odvgp_predict_scratch(p, n);
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
		if (good(c,
					odvgp_elbo_columns(w->model, w->X->r, w->Y->r, w->B,
							&(odvgp_columns){columns, idx->count}, &report, grad, &info),
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
			if (!good(c,
						odvgp_elbo_columns(w->model, w->X->r, w->Y->r, w->B,
								&(odvgp_columns){columns, all->dim[1]}, &report, NULL, &info),
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
		size_t bytes = odvgp_predictor_size(w->model);
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
	size_t bytes = odvgp_predictor_size(w->model), scratch_bytes;
	void *block = test_alloc(bytes), *scratch;
	odvgp_server server, *p = &server;
	ptrdiff_t n = w->B, P = w->P, i, q;
	odvgp_real *mean = NEW(odvgp_real, P * n), *var = NEW(odvgp_real, P * n),
			   *dm = NEW(odvgp_real, P * n), *dv = NEW(odvgp_real, P * n),
			   *y = NEW(odvgp_real, w->T * n);
	double scale = (double)w->cfg.N / (double)n;
	if (good(c, serve(w->model, NULL, block, bytes, p, NULL), "odvgp_freeze", NULL)) {
		scratch_bytes = odvgp_predict_scratch(p, n);
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
	size_t bytes = odvgp_predictor_size(w->model), scratch_bytes;
	void *block = test_alloc(bytes), *scratch;
	odvgp_server server, *p = &server;
	tensor *Xs = need(c, "Xs");
	ptrdiff_t n = Xs ? Xs->dim[0] : 0;
	odvgp_real *mean = NEW(odvgp_real, n), *cov = NEW(odvgp_real, n * n);
	char name[60];
	if (Xs && good(c, serve(w->model, NULL, block, bytes, p, &info), "odvgp_freeze", &info)) {
		scratch_bytes = odvgp_predict_scratch(p, n);
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
		bytes = odvgp_fit_q_scratch(w.model);
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
								w.model, w.X->r, w.Y->r, work, bytes, &upper, &lower, &info),
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
		gp__kernel_scratch(&a, k, n, cols, m, gp__tasks(&blas->threads), 1, &job);
		gp__kernel_scratch(&a, k, n, cols, 0, gp__tasks(&blas->threads), 0, &job);
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
		size_t bytes = odvgp_blas_size(NULL);
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
static void run_conv_solve(ocase *c)
{
	join_locations(c);
	run_basis(c);
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
		size_t bytes = odvgp_blas_size(NULL);
		void *block = test_alloc(bytes), *scratch;
		gp__arena_init(&w.scratch, NULL, 0);
		gp__images_layout(&w.scratch, &w.patches, 0, &work);
		gp__images_layout(&w.scratch, &w.patches, rows, &work);
		job.kept = 0;
		gp__kernel_scratch(&w.scratch, &w.kernel, rows, w.T, 1, 1, 1, &job);
		gp__kernel_scratch(&w.scratch, &w.kernel, rows, w.T, 1, 1, 0, &job);
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
	size_t bytes = odvgp_blas_size(NULL);
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
		lik->log_density(&job, out[4] + i);
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
	find(c, NAME("log_density"));
	if (!strcmp(lik->name, "studentt")) pre = "exact"; /* see replace_studentt_densities */
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
