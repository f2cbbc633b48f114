/*  describe.h - the command convert, and what info prints of a table. */
#ifndef TOOL_DESCRIBE_H
#define TOOL_DESCRIBE_H

#include "files.h"
#include "report.h"

/* ---- what a table holds ---- */

/*  Reads all blocks, which checks them, and all rows, whose cells must be what their columns hold. */
static void describe_check(const table *t)
{
	stored *s = t->stored;
	if (s->table && odvt_check(s->table)) die(BAD_INPUT, "%s", s->table->error);
	for (ptrdiff_t i = 0, n; i < t->rows; i += n) {
		n = smaller(s->room, t->rows - i);
		if (stored_rows(s, i, n, s->window, 0)) die(FAILED, "%s", s->error);
	}
	s->count = 0;
}

enum { DESCRIBE_LEVELS = 8 };

static void describe_column(bytes *b, const table *t, int k)
{
	const table_column *c = &t->column[k];
	char low[40], high[40];
	int some = c->low <= c->high;
	bytes_print(b, "%-8d %s%s", k, c->name && *c->name ? NAME(c->name) : "",
			c->name && *c->name ? ": " : "");
	if (c->text) {
		bytes_print(b, "%d texts: ", c->level_count);
		for (int i = 0; i < c->level_count && i < DESCRIBE_LEVELS; i++)
			bytes_print(b, "%s%s", i ? ", " : "", NAME(c->levels[i]));
		if (c->level_count > DESCRIBE_LEVELS) bytes_print(b, ", ...");
	} else if (!some) bytes_print(b, "no values");
	else if (c->date)
		bytes_print(b, "dates from %s to %s", days_text(low, c->low), days_text(high, c->high));
	else bytes_print(b, "numbers from %.6g to %.6g", c->low, c->high);
	if (c->missing)
		bytes_print(b, "; %td missing, the first in line %ld", c->missing, c->missing_line);
	if (c->odd_line) bytes_print(b, "; line %ld does not fit: '%s'", c->odd_line, c->odd);
	bytes_print(b, "\n");
}

static void describe_text(bytes *b, const table *t, const char *path)
{
	const stored *s = t->stored;
	bytes_print(b, "table    %s: %td rows, %d columns, %.4g MB\n", NAME(path), t->rows, t->columns,
			bytes_of_file(path) / 1e6);
	if (s->table)
		bytes_print(b, "rows     %s%td differ; blocks 0 to %llu are whole\n",
				t->distinct_more ? "more than " : "", t->distinct,
				(unsigned long long)odvt__blocks(s->table) - 1);
	for (int k = 0; k < t->columns; k++) describe_column(b, t, k);
}

static void describe_json(bytes *b, const table *t, const char *path)
{
	bytes_print(b, "{");
	json_text(b, "table", path);
	json_count(b, "n", t->rows);
	json_number(b, "distinct", t->distinct && !t->distinct_more ? (double)t->distinct : NAN);
	json_number(b, "file_bytes", bytes_of_file(path));
	json_key(b, "columns");
	for (int k = 0; k < t->columns; k++) {
		const table_column *c = &t->column[k];
		bytes one = {NULL, 0, 0};
		bytes_print(&one, "{");
		if (c->name) json_text(&one, "name", c->name);
		json_text(&one, "kind", c->text ? "text" : c->date ? "date" : "number");
		json_number(&one, "low", c->text ? NAN : c->low);
		json_number(&one, "high", c->text ? NAN : c->high);
		json_count(&one, "missing", c->missing);
		if (c->text) json_count(&one, "levels", c->level_count);
		bytes_print(b, "%s%s}", k ? ", " : "[", one.at);
		free(one.at);
	}
	bytes_print(b, "]");
	json_finish(b);
}

/*  info FILE, for a table or an array. */
static int run_info_table(const options *o, const char *path)
{
	table t = {0};
	bytes b = {NULL, 0, 0};
	stored_open(&t, path);
	describe_check(&t);
	if (o->given[OPT_JSON]) describe_json(&b, &t, path);
	else {
		describe_text(&b, &t, path);
		write_report(&b);
		free(b.at);
	}
	table_free(&t);
	return 0;
}

/* ---- convert ---- */

/*  The file that is written: until it is whole it has another name, which the end removes. */
typedef struct convert_output {
	char *target, *partial;
} convert_output;

static void convert_lost(void *user, const char *sentence)
{
	const convert_output *out = user;
	(void)sentence;
	remove(out->partial);
}

/*  Refuses to write over an input, or over a file that is no table: it may be the last input of a
    command without an output. */
static void convert_check(const options *o, const char *out)
{
	file_role to = file_role_of(OPT_OUT, out, "");
	int there = file_identify(&to, out) && !to.name;
	if (strcmp(out, "-") == 0 || is_device(out)) die(BAD_INPUT, "%s: a table needs a file", out);
	for (int i = 0; i < o->files - 1; i++) {
		file_role from = file_role_of(OPT_DATA, o->file[i], "");
		if (file_identify(&from, o->file[i]) && same_file(&from, &to))
			die(BAD_INPUT, "%s: is read and would be written", out);
		file_role_free(&from);
	}
	if (there && (!is_stored(out) || bytes_of_file(out) < ODVT_BLOCK))
		die(BAD_INPUT, "%s: is there already, and is no table of odvgp: name a new file", out);
	file_role_free(&to);
}

static int run_convert(options *o)
{
	if (o->files < 2) die(BAD_INPUT, "convert needs two files: odvgp convert data.csv data.odvt");
	const char *out = o->file[o->files - 1];
	knowledge known = {o, NULL};
	table_options how = table_how(&known);
	conversion c;
	convert_output to = {resolve_path(out), NULL};
	bytes name = {NULL, 0, 0};
	struct stat before;
	convert_check(o, out);
	bytes_print(&name, "%s.XXXXXX", to.target);
	int file = mkstemp(name.at), there = stat(to.target, &before) == 0;
	if (file < 0) die(BAD_INPUT, "%s: cannot be written: %s", out, strerror(errno));
	to.partial = name.at;
	die_first = convert_lost;
	die_user = &to;
	catch_signals();
#if !defined(_WIN32)
	mode_t mask = umask(0);
	umask(mask);
	if (fchmod(file, there ? before.st_mode & 0777 : 0666 & ~mask) && there)
		die(FAILED, "%s: cannot have the rights of the file before it", out);
#endif
	memset(&c, 0, sizeof c);
	c.path = (const char *const *)o->file;
	c.files = o->files - 1;
	c.how = &how;
	c.watch = watch_make(o);
	convert_all(&c, file, out);
	if (close(file)) die(FAILED, "%s: cannot be written: %s", out, strerror(errno));
#if defined(_WIN32)
	if (there) remove(to.target);
#endif
	(void)there;
	if (rename(to.partial, to.target))
		die(FAILED, "%s: cannot be written: %s", out, strerror(errno));
	die_first = NULL;
	bytes notes = {NULL, 0, 0};
	note_table(&c.all, c.path[0], o, &notes);
	if (notes.used && !o->given[OPT_QUIET]) tell_text(notes.at);
	printf("saved    %s: %td rows, %d columns, %.4g MB\n", NAME(out), c.all.rows, c.all.columns,
			bytes_of_file(out) / 1e6);
	table_free(&c.all);
	free(c.watch);
	free(to.target);
	free(name.at);
	free(notes.at);
	return 0;
}

#endif
