/*  Case files of tests/oracle: reading one, and comparing numbers with its tensors. */
#ifndef ORACLE_CASE_H
#define ORACLE_CASE_H

#include "reference.h"

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

/*  The library's densities, and probabilities of classes, are exact in f; the cases have those of
    20 nodes, up to 0.08 off. Truth for one row by the trapezoid rule; numbers of f are `stride`
    apart. */
static double exact_density(ocase *c, double y, double jitter, const double *mean,
		const double *var, ptrdiff_t F, ptrdiff_t stride)
{
	const char *lik = say(c, "likelihood");
	double s = scalar(c, "scale", 1), df = scalar(c, "df", 1), e = scalar(c, "epsilon", 1e-3),
		   miss = F > 1 ? e / (double)(F - 1) : 0, sum = 0;
	ptrdiff_t own = F > 1 ? (ptrdiff_t)y : 0, step, k;
	enum { STEPS = 4000 };
	for (step = 0; step <= STEPS; step++) {
		double z = -12 + 24.0 * (double)step / STEPS, logp = 0,
			   f = mean[own * stride] + sqrt(var[own * stride]) * z;
		if (!strcmp(lik, "poisson")) logp = y * f - exp(f) - lgamma(y + 1);
		if (!strcmp(lik, "studentt"))
			logp = lgamma((df + 1) / 2) - lgamma(df / 2) - log(s) -
				   0.5 * log(df * 3.14159265358979323846) -
				   (df + 1) / 2 * log1p((y - f) / s * (y - f) / s / df);
		for (k = 0; k < F; k++) {
			double d = (f - mean[k * stride]) / sqrt(2 * var[k * stride]);
			if (k != own) logp += log(jitter + (0.5 - jitter) * erfc(-d));
		}
		sum += 24.0 / STEPS * exp(logp - 0.5 * z * z) * 0.39894228040143267794;
	}
	return F > 1 ? miss + (1 - e - miss) * sum : sum;
}
/*  Replaces the densities of n rows of targets y, whose f are `stride` apart, and the probabilities
    of classes [n,F], of tensors that begin with `pre` and end with `post`. */
static void replace_densities(ocase *c, const char *pre, const char *post, double jitter,
		const tensor *y, const tensor *mean, const tensor *var, ptrdiff_t stride)
{
	static const char *const names[] = {"log_density", "prob_largest", "y_mean", "y_var"};
	const char *lik = say(c, "likelihood");
	int classes = !strcmp(lik, "robustmax"), what;
	ptrdiff_t n, F, i, k;
	char name[100];
	if (!y || !mean || !var) return;
	if (!classes && strcmp(lik, "studentt") && strcmp(lik, "poisson")) return;
	n = y->count;
	F = mean->count / n;
	for (what = 0; what < (classes ? 4 : 1); what++) {
		tensor *t;
		snprintf(name, sizeof name, "%s%s%s", pre, names[what], post);
		t = find(c, name);
		for (i = 0; t && i < n; i++)
			for (k = 0; k < (what < 2 ? 1 : F); k++) {
				ptrdiff_t at = stride == 1 ? i * F : i;
				double e = scalar(c, "epsilon", 1e-3), miss = F > 1 ? e / (double)(F - 1) : 0,
					   p = exact_density(c, what < 2 ? y->v[i] : (double)k, jitter, mean->v + at,
							   var->v + at, F, stride);
				if (what == 0) t->v[i] = log(p);
				if (what == 1) t->v[i] = (p - miss) / (1 - e - miss);
				if (what == 2) t->v[i * F + k] = p;
				if (what == 3) t->v[i * F + k] = p - p * p;
			}
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

#endif
