/*  export.h - the command export: a model as one C header, with its columns in a comment. */
#ifndef TOOL_EXPORT_H
#define TOOL_EXPORT_H

#include "cores.h"
#include "report.h"

static int export_write(void *user, const char *text, size_t bytes)
{
	bytes_add((struct bytes *)user, text, bytes);
	return 0;
}

/*  A name in a comment: in one line, and without its end. */
static const char *export_name(char text[120], const field *f)
{
	if (f->name) shown_name(text, f->name);
	else snprintf(text, 120, "column %d", f->column);
	for (char *s = text; *s; s++)
		if ((*s == '*' && s[1] == '/') || (*s == '/' && s[1] == '*') || (*s == '?' && s[1] == '?'))
			*s = ' ';
	return text;
}

/*  One constant of the enumeration: prefix, number and a text whose other characters become _. */
static void export_constant(bytes *b, const char *prefix, const char *text, long value)
{
	bytes_print(b, "\t%s_", prefix);
	for (const char *s = text; *s && s - text < 60; s++) {
		int is_letter = isalnum((unsigned char)*s) && (unsigned char)*s < 128;
		bytes_print(b, "%c", is_letter ? *s : '_');
	}
	bytes_print(b, " = %ld,\n", value);
}

/*  The numbers of a column's levels (--levels means), by code. */
static void export_means(bytes *b, const field *f, const char *name, ptrdiff_t input)
{
	char text[120];
	bytes_print(b, "\n/* %s: the number of each code, and of other texts. */\n",
			export_name(text, f));
	bytes_print(b, "static const double %s_x%td[%d] = {", name, input, f->level_count + 1);
	for (int k = 0; k <= f->level_count; k++)
		bytes_print(b, "%s%s%.17g", k ? "," : "", k % 4 ? " " : "\n\t", f->means[k]);
	bytes_print(b, "\n};\n");
}

/*  The inputs as lines of a comment; codes of texts and classes as constants. */
static void export_columns(const model_file *f, const char *name, bytes *about, bytes *constants)
{
	const schema *s = &f->s;
	char text[120], prefix[100];
	bytes codes = {NULL, 0, 0}, means = {NULL, 0, 0};
	ptrdiff_t at = 0;
	for (int i = 0; i < s->input_count; i++) {
		const field *x = &s->inputs[i];
		export_name(text, x);
		for (int k = 0; k < 3 && x->date_parts; k++) {
			static const char *const parts[] = {
					"days since 1970-01-01", "day of the year from 1", "day of the week, Monday 1"};
			static const char *const words[] = {"days", "yearday", "weekday"};
			if (!(x->date_parts >> k & 1)) continue;
			bytes_print(about, "   x[%td] %s: %s\n", at, text, parts[k]);
			snprintf(prefix, sizeof prefix, "%s_x%td", name, at);
			export_constant(&codes, prefix, words[k], (long)at++);
		}
		if (x->date_parts) continue;
		if (x->means)
			bytes_print(about, "   x[%td] %s: %s_x%td[code], codes below\n", at, text, name, at);
		else if (has_numbers(x))
			bytes_print(about, "   x[%td] %s%s\n", at, text,
					x->ordinal ? ": one of the codes below" : "");
		for (int k = 0; k < x->level_count; k++) {
			ptrdiff_t own = at + (has_numbers(x) ? 0 : k);
			field level = {.name = x->levels[k]};
			char shown[120];
			if (!has_numbers(x))
				bytes_print(about, "   x[%td] %s is %s: 1, else 0\n", own, text,
						export_name(shown, &level));
			snprintf(prefix, sizeof prefix, "%s_x%td_%d", name, own, k);
			export_constant(&codes, prefix, x->levels[k], has_numbers(x) ? k : (long)own);
		}
		if (x->means) export_means(&means, x, name, at);
		at += field_inputs(x);
	}
	for (int i = 0; i < s->target_count; i++) {
		const field *y = &s->targets[i];
		bytes_print(about, "   y[%d] ", i);
		if (s->y.kind == ODVGP_TRANSFORM_LOG) bytes_print(about, "log(y + %.9g) of ", s->y.c);
		if (s->y.kind == ODVGP_TRANSFORM_ASINH)
			bytes_print(about, "asinh((y - %.9g) / %.9g) of ", s->y.c, s->y.s);
		bytes_print(about, "%s\n", export_name(text, y));
		for (int k = 0; k < y->level_count; k++) {
			snprintf(prefix, sizeof prefix, "%s_y%d_%d", name, i, k);
			export_constant(&codes, prefix, y->levels[k], k);
		}
	}
	export_name(text, &(field){.name = s->dataset});
	const char *likelihood = settings_find(s->settings, "likelihood");
	bytes_print(about, "   Trained on %td rows of %s, likelihood %s.\n", s->n_train, text,
			likelihood ? likelihood : "gaussian");
	if (f->results) bytes_print(about, "   Results: %s.\n", f->results);
	if (codes.used)
		bytes_print(constants,
				"\n/* Places in x of texts, or their codes if they are ordered, and of parts of "
				"dates; "
				"classes of y. */\n"
				"enum {\n%s};\n",
				codes.at);
	if (means.used) bytes_print(constants, "%s", means.at);
	free(codes.at);
	free(means.at);
}

/*  Ends if the prefix of all names is none of C. */
static void export_name_check(const options *o)
{
	const char *name = o->value[OPT_NAME];
	size_t n = strlen(name);
	int ok = n > 0 && n <= 40 && !isdigit((unsigned char)*name);
	for (size_t k = 0; k < n; k++)
		ok &= (unsigned char)name[k] < 128 && (isalnum((unsigned char)name[k]) || name[k] == '_');
	if (!ok) die(BAD_INPUT, "--name %s: must be a name in C of at most 40 characters", name);
}

/*  What the header needs, before it is written. */
static void print_estimate(const model_file *f, const options *o)
{
	workers none;
	model_block block;
	int core = option_choice(o, OPT_CORE), wide = option_choice(o, OPT_REAL),
		libm = !o->given[OPT_NO_LIBM];
	memset(&none, 0, sizeof none);
	const odvgp_model *model = model_load(f, &none, ODVGP_ISA_AUTO, &block);
	char *kernel = kernel_text(model);
	core_estimate e =
			core_estimate_of(odvgp_model_config(model), kernel, f->s.transforms, wide, libm, core);
	const struct {
		const char *function;
		double flash, stack, instructions;
	} lines[] = {{"predict, the mean alone", e.flash, e.stack, e.mean},
			{"predict, mean and variance", e.flash, e.stack, e.moments},
			{"and predict_y", e.flash_y, e.stack_y, e.y},
			{"and predict_gradient", e.flash_all, e.stack_gradient, e.gradient}};
	fprintf(stderr,
			"%s on a %s, by gcc -Os, %s libm, estimated: bytes of flash with what stands above, "
			"bytes of stack, instructions\n%-27s %8s %8s %13s\n",
			o->value[OPT_NAME], cores[core].name, libm ? "with" : "without", "", "flash", "stack",
			"instructions");
	for (int i = 0; i < 4; i++)
		fprintf(stderr, "%-27s %8.0f %8.0f %13.0f\n", lines[i].function, lines[i].flash,
				lines[i].stack, lines[i].instructions);
	if (e.ram > 0) fprintf(stderr, "libm's variables: %.0f bytes of RAM\n", e.ram);
	else fprintf(stderr, "no other RAM\n");
	free(kernel);
	free(block.at);
}

static int run_export(const options *o)
{
	model_file f;
	odvgp_info info = no_info;
	odvgp_server server;
	odvgp_export_settings e;
	bytes text = {NULL, 0, 0}, about = {NULL, 0, 0}, constants = {NULL, 0, 0};
	const char *out = o->value[OPT_OUT];
	option_needed(o, OPT_MODEL);
	export_name_check(o);
	files_check(o, NULL);
	model_file_read(&f, o->value[OPT_MODEL]);
	void *block = take(f.predictor_size, 1);
	odvgp_status s = odvgp_server_from_memory(
			&server, f.content, f.size, ODVGP_ISA_AUTO, block, f.predictor_size, &info);
	if (s) die_of(s, &info, f.path);
	memset(&e, 0, sizeof e);
	e.name = o->value[OPT_NAME];
	e.real = option_choice(o, OPT_REAL) ? 8 : 4;
	e.no_libm = o->given[OPT_NO_LIBM];
	export_columns(&f, e.name, &about, &constants);
	e.about = about.at;
	e.constants = constants.at;
	e.write = export_write;
	e.user = &text;
	size_t size = odvgp_export_scratch(&server, &info);
	void *scratch = size ? take(size, 1) : NULL;
	if (!size) die_of(info.status, &info, f.path);
	s = odvgp_export(&server, &e, NULL, scratch, size, &info);
	if (s) die_of(s, &info, f.path);
	print_estimate(&f, o);
	if (!out || strcmp(out, "-") == 0) write_stdout(&text);
	else write_file(out, text.at, text.used);
	free(scratch);
	free(block);
	free(text.at);
	free(about.at);
	free(constants.at);
	model_file_free(&f);
	return 0;
}

#endif
