/*  schema.h - what the tool itself keeps in a model file: the columns of the training file, their
    scales, and the options that define the model. */
#ifndef TOOL_SCHEMA_H
#define TOOL_SCHEMA_H

#include "files.h"

/*  A column of the training file that is an input or a target. */
typedef struct field {
	/* NULL without a header. */
	char *name;
	/* The column's index in the training file. */
	int column;
	/* How many columns before it have its name. */
	int repeat;
	int ordinal;
	/* 0: numbers. Otherwise text: an input for each level, or one input if ordinal. */
	int level_count;
	char **levels;
	/* NULL, or the input of each level, and of others (--levels means) [level_count + 1]. */
	double *means;
	/* 0: no dates. Otherwise an input for each bit, in the order of date_words. */
	int date_parts;
} field;

/*  The numbers that a date becomes: days since 1970, day of the year, day of the week. */
static const char date_words[] = "days|yearday|weekday";

typedef struct schema {
	/* Names to show. */
	char *dataset, *target_text;
	/* Columns of the training file. */
	int columns;
	int input_count, target_count;
	field *inputs, *targets;
	/* Inputs of the model: each level of a text column is one. */
	ptrdiff_t D;
	double *x_mean, *x_scale, *y_mean, *y_scale;
	/* The range of each input in training; NULL: written by version 1. */
	double *x_low, *x_high;
	/* [D] (--transform), or NULL: none. That of the target, whose scales are then those of T(y);
	   y_raw: mean and scale of y itself. */
	odvgp_transform *transforms, y;
	double y_raw[2];
	ptrdiff_t n_train;
	/* Hash of the training rows, before they are standardised. */
	uint64_t checksum;
	/* KEPT options: "name=value", each ended with a zero, then an empty one. */
	char *settings;
	/* Of the targets; a file has its name among the settings. */
	odvgp_likelihood likelihood;
} schema;

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t hash_bytes(const void *at, size_t n)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
	for (size_t i = 0; i < n; i++) h = mix(h ^ ((const unsigned char *)at)[i]);
	return h;
}

static uint64_t hash_doubles(uint64_t h, const double *x, ptrdiff_t n)
{
	for (ptrdiff_t i = 0; i < n; i++) {
		double positive_zero = x[i] + 0.0;
		uint64_t bits;
		memcpy(&bits, &positive_zero, sizeof bits);
		h = mix((h + UINT64_C(0x9e3779b97f4a7c15)) ^ bits);
	}
	return h;
}

/*  One function walks over the fields both to write and to read, so that the two cannot disagree.
    Numbers are little-endian. */
typedef struct archive {
	/* What is written. */
	bytes out;
	/* What is read, and the bytes left of it; NULL when writing. */
	const unsigned char *in;
	size_t left;
	int bad;
	uint64_t version;
} archive;

static void walk_u64(archive *a, uint64_t *v)
{
	unsigned char raw[8];
	if (a->in) {
		if (a->left < sizeof raw) {
			a->bad = 1;
			*v = 0;
			return;
		}
		*v = 0;
		for (int i = 0; i < 8; i++) *v |= (uint64_t)a->in[i] << (8 * i);
		a->in += sizeof raw;
		a->left -= sizeof raw;
	} else {
		for (int i = 0; i < 8; i++) raw[i] = (unsigned char)(*v >> (8 * i));
		bytes_add(&a->out, raw, sizeof raw);
	}
}

/*  A whole number from 0 to most. */
static ptrdiff_t walk_count(archive *a, ptrdiff_t v, ptrdiff_t most)
{
	uint64_t u = (uint64_t)v;
	walk_u64(a, &u);
	if (u > (uint64_t)most) a->bad = 1;
	return a->bad ? 0 : (ptrdiff_t)u;
}

static void walk_int(archive *a, int *v) { *v = (int)walk_count(a, *v, INT_MAX); }

static void walk_doubles(archive *a, double **x, ptrdiff_t n)
{
	if (a->in && (size_t)n > a->left / 8) a->bad = 1;
	if (a->bad) return;
	if (a->in) *x = take_doubles(n, 1);
	for (ptrdiff_t i = 0; i < n; i++) {
		uint64_t bits = 0;
		memcpy(&bits, *x + i, sizeof bits);
		walk_u64(a, &bits);
		memcpy(*x + i, &bits, sizeof bits);
	}
}

/*  `size` bytes after their length. NULL and an empty block stay distinct. */
static void walk_block(archive *a, char **block, size_t size)
{
	uint64_t length = *block ? size + 1 : 0;
	walk_u64(a, &length);
	if (a->in && length > (uint64_t)a->left + 1) a->bad = 1;
	if (a->bad || !length) return;
	size = (size_t)length - 1;
	if (a->in) {
		/* Two zeros more: settings end with them whatever the file says. */
		*block = take(size + 2, 1);
		memcpy(*block, a->in, size);
		a->in += size;
		a->left -= size;
	} else bytes_add(&a->out, *block, size);
}

static void walk_text(archive *a, char **text) { walk_block(a, text, *text ? strlen(*text) : 0); }

static void walk_fields(archive *a, field **fields, int *count)
{
	walk_int(a, count);
	if (a->in && (size_t)*count > a->left) a->bad = 1;
	if (a->bad) return;
	if (a->in) *fields = take((size_t)*count, sizeof **fields);
	for (int i = 0; i < *count && !a->bad; i++) {
		field *f = *fields + i;
		walk_text(a, &f->name);
		walk_int(a, &f->column);
		walk_int(a, &f->repeat);
		walk_int(a, &f->ordinal);
		walk_int(a, &f->level_count);
		if (a->in && (size_t)f->level_count > a->left) a->bad = 1;
		if (a->bad) return;
		if (a->in) f->levels = take((size_t)f->level_count, sizeof *f->levels);
		for (int k = 0; k < f->level_count && !a->bad; k++) {
			walk_text(a, &f->levels[k]);
			if (!f->levels[k]) a->bad = 1;
		}
		if (a->version > 1) walk_int(a, &f->date_parts);
		if (f->date_parts > 7) a->bad = 1;
		int means = f->means != NULL;
		if (a->version > 2) walk_int(a, &means);
		if (means && !f->level_count) a->bad = 1;
		if (means) walk_doubles(a, &f->means, (ptrdiff_t)f->level_count + 1);
	}
}

static void walk_transform(archive *a, odvgp_transform *t)
{
	int kind = (int)t->kind;
	double own[4] = {t->c, t->s, t->low, t->high}, *numbers = own, *knots = NULL;
	walk_int(a, &kind);
	if (kind >= ODVGP_TRANSFORM_COUNT) a->bad = 1;
	if (!kind || a->bad) return;
	walk_doubles(a, &numbers, 4);
	t->knots = walk_count(a, t->knots, ODVGP_MOST_KNOTS);
	if (a->bad) return;
	if (a->in) {
		t->kind = (odvgp_transform_kind)kind;
		t->c = numbers[0], t->s = numbers[1], t->low = numbers[2], t->high = numbers[3];
		free(numbers);
	} else {
		knots = take_doubles(2, t->knots);
		for (ptrdiff_t k = 0; k < 2 * t->knots; k++)
			knots[k] = k < t->knots ? t->from[k] : t->to[k - t->knots];
	}
	walk_doubles(a, &knots, 2 * t->knots);
	if (a->in && !a->bad) t->from = knots, t->to = knots + t->knots;
	else free(knots);
}

/*  Has the schema what version 2 cannot tell? */
static int schema_is_new(const schema *s)
{
	int has = s->transforms || s->y.kind;
	for (int i = 0; i < s->input_count; i++) has |= s->inputs[i].means != NULL;
	return has;
}

static size_t settings_size(const char *settings)
{
	const char *s = settings;
	while (*s) s += strlen(s) + 1;
	return (size_t)(s - settings) + 1;
}

static const char schema_magic[8] = {'o', 'd', 'v', 'g', 'p', 'c', 's', 'v'};
/*  1: without dates and ranges; 2: without transforms and levels' means, written where there are
    none. */
enum { SCHEMA_VERSION = 3 };

static void walk_schema(archive *a, schema *s)
{
	walk_text(a, &s->dataset);
	walk_text(a, &s->target_text);
	walk_int(a, &s->columns);
	walk_fields(a, &s->inputs, &s->input_count);
	walk_fields(a, &s->targets, &s->target_count);
	s->D = walk_count(a, s->D, PTRDIFF_MAX);
	walk_doubles(a, &s->x_mean, s->D);
	walk_doubles(a, &s->x_scale, s->D);
	walk_doubles(a, &s->y_mean, s->target_count);
	walk_doubles(a, &s->y_scale, s->target_count);
	if (a->version > 1) {
		walk_doubles(a, &s->x_low, s->D);
		walk_doubles(a, &s->x_high, s->D);
	}
	if (a->version > 2) {
		int there = s->transforms != NULL;
		double *raw = s->y_raw;
		walk_int(a, &there);
		if (a->in && (size_t)s->D > a->left) a->bad = 1;
		if (a->in && there && !a->bad) s->transforms = take((size_t)s->D, sizeof *s->transforms);
		for (ptrdiff_t d = 0; there && d < s->D && !a->bad; d++)
			walk_transform(a, &s->transforms[d]);
		walk_transform(a, &s->y);
		walk_doubles(a, &raw, 2);
		if (a->in && !a->bad) {
			memcpy(s->y_raw, raw, sizeof s->y_raw);
			free(raw);
		}
	}
	s->n_train = walk_count(a, s->n_train, PTRDIFF_MAX);
	walk_u64(a, &s->checksum);
	walk_block(a, &s->settings, s->settings ? settings_size(s->settings) : 0);
}

/*  Magic, version, fields, and a checksum of all these. */
static bytes schema_write(schema *s)
{
	archive a;
	memset(&a, 0, sizeof a);
	a.version = schema_is_new(s) ? SCHEMA_VERSION : 2;
	bytes_add(&a.out, schema_magic, sizeof schema_magic);
	walk_u64(&a, &a.version);
	walk_schema(&a, s);
	uint64_t sum = hash_bytes(a.out.at, a.out.used);
	walk_u64(&a, &sum);
	return a.out;
}

/*  Is it a column of numbers, whose scale may change? */
static int has_numbers(const field *f) { return !f->level_count || f->ordinal || f->means; }

/*  The same, without 0 and 1 of two texts, on which other scales have nothing to do. */
static int has_scale(const field *f)
{
	return has_numbers(f) && !(f->ordinal && f->level_count == 2);
}

static ptrdiff_t field_inputs(const field *f)
{
	int parts = f->date_parts;
	if (parts) return (parts & 1) + (parts >> 1 & 1) + (parts >> 2);
	return has_numbers(f) ? 1 : f->level_count;
}

/*  The inputs of a field begin here. */
static ptrdiff_t first_input(const schema *s, int i)
{
	ptrdiff_t at = 0;
	for (int k = 0; k < i; k++) at += field_inputs(&s->inputs[k]);
	return at;
}

static void schema_read(schema *s, const char *path, const void *block, size_t size)
{
	archive a;
	memset(&a, 0, sizeof a);
	memset(s, 0, sizeof *s);
	a.in = block;
	a.left = size;
	if (size < sizeof schema_magic + 16 || memcmp(block, schema_magic, sizeof schema_magic) != 0)
		die(BAD_INPUT, "%s: not written by the tool: the file does not describe columns", path);
	a.in += sizeof schema_magic;
	a.left -= sizeof schema_magic;
	uint64_t sum = 0;
	walk_u64(&a, &a.version);
	if (a.version < 1 || a.version > SCHEMA_VERSION)
		die(BAD_INPUT, "%s: written by a newer version of the tool", path);
	walk_schema(&a, s);
	walk_u64(&a, &sum);
	ptrdiff_t D = 0;
	for (int i = 0; i < s->input_count && !a.bad; i++) {
		D += field_inputs(&s->inputs[i]);
		if (s->inputs[i].column >= s->columns) a.bad = 1;
	}
	for (int i = 0; i < s->target_count && !a.bad; i++)
		if (s->targets[i].column >= s->columns) a.bad = 1;
	if (a.bad || a.left || sum != hash_bytes(block, size - 8) || D != s->D || !s->dataset ||
			!s->target_text || !s->settings)
		die(BAD_INPUT, "%s: damaged: its description of columns is inconsistent", path);
}

static void field_free(field *f)
{
	for (int k = 0; k < f->level_count; k++) free(f->levels[k]);
	free(f->levels);
	free(f->means);
	free(f->name);
}

static void fields_free(field *fields, int count)
{
	for (int i = 0; i < count; i++) field_free(&fields[i]);
	free(fields);
}

/*  Transforms [D] whose knots are their own; NULL: none. */
static void transforms_free(odvgp_transform *t, ptrdiff_t D)
{
	for (ptrdiff_t d = 0; t && d < D; d++) free((double *)(uintptr_t)t[d].from);
	free(t);
}

static void schema_free(schema *s)
{
	fields_free(s->inputs, s->input_count);
	fields_free(s->targets, s->target_count);
	free(s->x_mean);
	free(s->x_scale);
	free(s->y_mean);
	free(s->y_scale);
	free(s->x_low);
	free(s->x_high);
	transforms_free(s->transforms, s->D);
	free((double *)(uintptr_t)s->y.from);
	free(s->dataset);
	free(s->target_text);
	free(s->settings);
	memset(s, 0, sizeof *s);
}

/* ---- settings: the options that a model file keeps ---- */

/*  Steps that were given are not kept: a later training may do more. */
static char *settings_make(const options *o)
{
	bytes b = {NULL, 0, 0};
	for (int i = 0; i < OPTION_COUNT; i++)
		if ((option_list[i].where & KEPT) && o->value[i] && !(i == OPT_ITERS && o->given[i])) {
			bytes_print(&b, "%s=%s", option_list[i].name, o->value[i]);
			bytes_add(&b, "", 1);
		}
	bytes_add(&b, "", 1);
	return b.at;
}

static const char *settings_find(const char *settings, const char *name)
{
	size_t n = strlen(name);
	for (const char *s = settings; *s; s += strlen(s) + 1)
		if (strncmp(s, name, n) == 0 && s[n] == '=') return s + n + 1;
	return NULL;
}

/*  A setting that is a whole number; 0: there is none. */
static ptrdiff_t setting_count(const schema *s, const char *name)
{
	const char *text = settings_find(s->settings, name);
	long long v = text ? strtoll(text, NULL, 10) : 0;
	return v < 0 || v > PTRDIFF_MAX ? 0 : (ptrdiff_t)v;
}

/*  Adds one. */
static void settings_add(schema *s, const char *name, const char *value)
{
	bytes b = {NULL, 0, 0};
	bytes_add(&b, s->settings, settings_size(s->settings) - 1);
	bytes_print(&b, "%s=%s", name, value);
	/* Its zero, and the empty one at the end. */
	bytes_add(&b, "\0", 2);
	free(s->settings);
	s->settings = b.at;
}

/*  Takes one out; NULL: it is not there. */
static char *settings_take(schema *s, const char *name)
{
	const char *found = settings_find(s->settings, name);
	if (!found) return NULL;
	char *value = copy_text(found), *from = s->settings + (found - s->settings) - strlen(name) - 1;
	const char *next = found + strlen(found) + 1;
	memmove(from, next, settings_size(next));
	return value;
}

/*  Reads R or FROM-TO, where R stands for R-R; returns 0 if the text is neither. */
static int parse_range(const char *text, double *from, double *to)
{
	const char *p = table__number(text, from);
	*to = *from;
	if (p && p > text && *p == '-') p = table__number(p + 1, to);
	return p && !*p;
}

/*  Equal as texts or as numbers: 1e-3 is 0.001. */
static int same_value(const char *a, const char *b)
{
	double x[2], y[2];
	if (!a || !b) return a == b;
	return strcmp(a, b) == 0 ||
		   (parse_range(a, &x[0], &x[1]) && parse_range(b, &y[0], &y[1]) && x[0] >= y[0] &&
				   x[0] <= y[0] && x[1] >= y[1] && x[1] <= y[1]);
}

/*  Takes the settings of the model that is resumed. An option given again must agree with it. */
static void settings_apply(options *o, const char *settings)
{
	for (int i = 0; i < OPTION_COUNT; i++) {
		if (!(option_list[i].where & KEPT)) continue;
		const char *name = option_list[i].name, *kept = settings_find(settings, name);
		/* A file from before --levels has indicators. */
		if (!kept) kept = i == OPT_LEVELS ? "indicators" : option_list[i].preset;
		if (i == OPT_ITERS && (o->given[i] || !kept)) continue;
		if (o->given[i] && !same_value(o->value[i], kept))
			die(BAD_INPUT, "--%s %s: the model was made with %s, and --resume keeps that", name,
					o->value[i], kept ? kept : "none");
		option_store(o, i, copy_text(kept));
	}
}

#endif
