/*  table.h - reads CSV files of numbers and texts. C99, no dependencies, everything static.

        table t;
        char error[400];
        if (table_read(&t, "data.csv", NULL, error, sizeof error)) return fail(error);
        double cell = t.values[row * t.columns + column];
        table_free(&t);

    `error` is one sentence that names file, line and column.

    A line is a row; its cells stand between commas, semicolons, tabs or spaces. The separator is
    guessed unless given, and so is whether the first line is a header. Cells may have quotes around
    them, with doubled quotes and line ends inside. CRLF, a byte order mark, a last row without a
    line end and empty lines are accepted; rows of different lengths are not. A file that gzip packed
    is read through a pipe from gzip (POSIX).

    A line that begins with # is a comment if no row stands before it and it cannot be a row itself:
    it has another number of cells, or only texts (below a header: # and a blank). Afterwards #DIV/0!
    is a cell like others.

    A column holds numbers, dates or text; its first cell with a value decides. A column of numbers
    and texts is text if it has at most 20 different numbers and no text only once, or more texts
    than numbers. Numbers are exact to the last bit. Dates and times (2024-05-31, 2024/5/31, 31 May
    2024, May 31, 2024, May 2024 for its first day, 2024-05-31T12:30:00Z, 12:30) are days since 1970,
    UTC unless they name another zone; a time without a date is a part of a day. The values of a text
    column are positions in its levels, in order of appearance. Missing cells (empty, NA, N/A, nan,
    null, none, ?, -) are NaN. A cell that does not fit its column (text among numbers, 1e999) is
    infinite, and only remembered: it matters only if the column is used. table_check makes the
    sentence.

    Columns count from 0, as options do, lines from 1. Numbers
    beyond 19 digits go through strtod, so LC_NUMERIC must stay in the C locale. */
#ifndef TABLE_H
#define TABLE_H

#include "cells.h"
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 200112L
#include <unistd.h>
#endif

/*  A file with more is no table, or has another separator. */
enum { TABLE_MOST_COLUMNS = 200000 };

typedef struct table_column {
	/* From the header; NULL without one. */
	char *name;
	/* The next column of the same name, -1: none; and how many before this one have it. */
	int next, repeat;
	/* 1: values are positions in levels. */
	int text;
	/* 1: values are days since 1970-01-01. */
	int date;
	/* [level_count] texts, and the line where each appeared first. */
	char **levels;
	long *level_lines;
	int level_count;
	/* 1: `cells` [rows] are the texts of all its cells; set before the rows are read. */
	int keep;
	char **cells;
	/* Cells without a value, how many of them are empty, and the line of the first; 0: none. */
	ptrdiff_t missing, empty;
	long missing_line;
	/* The line of the first cell that does not fit, and the cell's beginning; 0: none. */
	long odd_line;
	char odd[40];
	/* Hash table of positions in levels; -1: free. */
	int *buckets;
	int bucket_count;
	/* Who decided `text` and `date`: 1 a cell, 2 the caller or all cells; 0: undecided. */
	int settled;
	/* 1: text, with numbers among its levels. */
	int mixed;
	/* Of a table on disk: the range of its finite numbers. */
	double low, high;
} table_column;

typedef struct table {
	ptrdiff_t rows;
	int columns;
	/* 1: the first line held names. */
	int header;
	/* 1: no header was found, but the first row looks unlike its columns. 1: a header was found, but
	   it holds a number or a date. */
	int unlike, odd_header;
	/* ',' ';' '\t' or ' ' (any run of spaces and tabs). */
	char separator;
	/* Another character that would cut the first lines into as many cells each, where `separator`
	   does not cut them; 0: there is none. */
	char other;
	/* How many comments were skipped. */
	long comments;
	/* With how many separators each line ended; the columns after them are forgotten. */
	int trailed;
	/* [rows] the line of each row; NULL: `gap` says it. */
	long *lines;
	/* Of a table on disk: how many rows differ; 1: more do, which were not counted. */
	ptrdiff_t distinct;
	int distinct_more;
	/* [gaps] rows whose line is not the next one's of the row before; the first is row 0. */
	struct table_gap {
		ptrdiff_t row;
		long line;
	} * gap;
	ptrdiff_t gaps;
	/* The header's place in the text. */
	size_t head, head_end;
	/* [rows, columns]; NULL: `fetch` gives a row, which stays until its next call. */
	double *values;
	const double *(*fetch)(void *stored, ptrdiff_t row);
	void (*close)(void *stored);
	void *stored;
	table_column *column;
	/* Hash table of the first column of each name; -1: free. */
	int *buckets;
	int bucket_count;
} table;

typedef struct table_options {
	/* 1: there is a header, -1: there is none, 0: guess. */
	int header;
	/* 0: guess. */
	char separator;
	/* Called with the cells of the first line as names: 1 if it is a header for sure. May be
       NULL. */
	int (*is_header)(const void *user, const table *t);
	/* Called before the rows are read: sets `text` of columns that are text whatever they hold. May
       be NULL. */
	void (*settle)(const void *user, table *t);
	const void *user;
	/* 1: a table may have no rows. */
	int rows_optional;
	/* 1: the text continues a table whose first rows have been read: it has no comments. */
	int continues;
	/* The decimal point, 0: '.'; and what may stand between groups of three digits, 0: nothing. */
	char decimal, thousands;
} table_options;

/*  The cells of a row. */
static inline const double *table_row(const table *t, ptrdiff_t row)
{
	return t->values ? t->values + row * t->columns : t->fetch(t->stored, row);
}

static inline long table_line(const table *t, ptrdiff_t row)
{
	ptrdiff_t low = 0, high = t->gaps;
	if (t->lines) return t->lines[row];
	while (high - low > 1) {
		ptrdiff_t middle = low + (high - low) / 2;
		if (t->gap[middle].row <= row) low = middle;
		else high = middle;
	}
	return t->gap[low].line + (long)(row - t->gap[low].row);
}

/* ---- levels of a text column ---- */

static inline uint32_t table__hash(const char *text)
{
	uint32_t h = 2166136261u;
	for (; *text; text++) h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
}

/*  Doubles the buckets, and makes room for half as many levels. */
static inline int table__grow_levels(table_column *c)
{
	int count = c->bucket_count ? 2 * c->bucket_count : 16;
	char **levels = (char **)realloc(c->levels, (size_t)count / 2 * sizeof *levels);
	if (levels) c->levels = levels;
	long *lines = (long *)realloc(c->level_lines, (size_t)count / 2 * sizeof *lines);
	if (lines) c->level_lines = lines;
	int *buckets = (int *)realloc(c->buckets, (size_t)count * sizeof *buckets);
	if (buckets) c->buckets = buckets;
	if (!levels || !lines || !buckets) return 1;
	c->bucket_count = count;
	for (int i = 0; i < count; i++) buckets[i] = -1;
	for (int i = 0; i < c->level_count; i++) {
		uint32_t at = table__hash(c->levels[i]) & (uint32_t)(count - 1);
		while (buckets[at] >= 0) at = (at + 1) & (uint32_t)(count - 1);
		buckets[at] = i;
	}
	return 0;
}

/*  The position of the cell's text among the column's levels, to which a new text is added;
    -1: no memory. */
static inline int table__level(table_column *c, const table__cell *cell, long line)
{
	char *text = table__copy(cell);
	if (!text) return -1;
	if (2 * c->level_count >= c->bucket_count && table__grow_levels(c)) {
		free(text);
		return -1;
	}
	uint32_t mask = (uint32_t)(c->bucket_count - 1), at = table__hash(text) & mask;
	for (; c->buckets[at] >= 0; at = (at + 1) & mask) {
		int i = c->buckets[at];
		if (strcmp(c->levels[i], text) == 0) {
			free(text);
			return i;
		}
	}
	c->buckets[at] = c->level_count;
	c->levels[c->level_count] = text;
	c->level_lines[c->level_count] = line;
	return c->level_count++;
}

/* ---- reading ---- */

/*  The state of reading. */
typedef struct table__reader {
	table *t;
	const table_options *options;
	/* The name in messages. */
	const char *path;
	/* The text. */
	const char *text;
	size_t size;
	table__style style;
	/* The next character. */
	const char *s;
	long line;
	char *error;
	size_t error_size;
	/* Where the rows begin. */
	const char *rows;
	long rows_line;
} table__reader;

/*  Writes the sentence and returns 1, so that callers can `return table__fail(...)`. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline int
table__fail(table__reader *r, const char *format, ...)
{
	va_list list;
	int n = snprintf(r->error, r->error_size, "%s: ", r->path);
	va_start(list, format);
	if (n > 0 && (size_t)n < r->error_size)
		vsnprintf(r->error + n, r->error_size - (size_t)n, format, list);
	va_end(list);
	return 1;
}

/*  What a file that is no text begins with, and what to do with it. */
static inline const char *table__foreign(const char *text, size_t size)
{
	if (size >= 4 && memcmp(text, "PK\3\4", 4) == 0)
		return "is a ZIP archive or a workbook; save the table as CSV";
	if (size >= 4 && memcmp(text, "PAR1", 4) == 0) return "is a Parquet file; save it as CSV";
	if (size >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0))
		return "is UTF-16 text; save it as UTF-8";
	return memchr(text, 0, size) ? "is not a text file: it holds zero bytes" : NULL;
}

static inline int table__is_packed(const char *text, size_t size)
{
	return size >= 2 && (unsigned char)text[0] == 0x1F && (unsigned char)text[1] == 0x8B;
}

static inline char *table__slurp(table__reader *r, FILE *f, const char *head, size_t size, int raw);

#if defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 200112L
/*  Runs gzip with this file, from its beginning, as its standard input. Returns what it unpacks;
    NULL: it cannot be run. */
static inline FILE *table__gzip(int file)
{
	FILE *pipe = NULL;
	int standard = dup(0);
	if (lseek(file, 0, SEEK_SET) == 0 && dup2(file, 0) == 0)
		pipe = popen("gzip -dc 2>/dev/null", "r");
	if (standard >= 0) {
		dup2(standard, 0);
		close(standard);
	}
	return pipe;
}
#endif

/*  Reads a packed file, whose beginning is in head [size], through gzip. A file of its own takes
    the bytes. */
static inline char *table__unpack(table__reader *r, FILE *f, const char *head, size_t size)
{
#if defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 200112L
	char *packed = table__slurp(r, f, head, size, 1), *text = NULL;
	FILE *file = packed ? tmpfile() : NULL, *pipe = NULL;
	if (file && fwrite(packed, 1, r->size, file) == r->size && !fflush(file))
		pipe = table__gzip(fileno(file));
	if (pipe) {
		text = table__slurp(r, pipe, NULL, 0, 0);
		if (pclose(pipe) && text) {
			free(text);
			text = NULL;
			table__fail(r, "is compressed, and gzip cannot unpack it");
		}
	} else if (packed) table__fail(r, "is compressed, and gzip cannot be run");
	if (file) fclose(file);
	free(packed);
	return text;
#else
	(void)f, (void)head, (void)size;
	return table__fail(r, "is compressed; unpack it first (gunzip)"), (char *)NULL;
#endif
}

/*  Reads the rest of a file after its head [size] and ends it with a zero; the size goes to r. raw:
    whatever it holds. NULL: failed, with a sentence. */
static inline char *table__slurp(table__reader *r, FILE *f, const char *head, size_t size, int raw)
{
	size_t room = ((size_t)1 << 16) + size;
	char *text = NULL;
	for (int first = 1;; first = 0, room += room / 2) {
		char *more = (char *)realloc(text, room);
		if (!more) {
			table__fail(r, "too large for the memory");
			break;
		}
		text = more;
		if (first && size) memcpy(text, head, size);
		size_t got = fread(text + size, 1, room - 1 - size, f);
		if (ferror(f)) {
			table__fail(r, "cannot be read: %s", strerror(errno));
			break;
		}
		size += got;
		if (!raw && table__is_packed(text, size)) {
			char *unpacked = table__unpack(r, f, text, size);
			free(text);
			return unpacked;
		}
		/* Each piece at once: a device of zeros has no end. */
		const char *foreign = raw     ? NULL
							  : first ? table__foreign(text, size)
									  : table__foreign(text + size - got, got);
		if (foreign) {
			table__fail(r, "%s", foreign);
			break;
		}
		if (size < room - 1) {
			text[size] = 0;
			r->size = size;
			return text;
		}
	}
	free(text);
	return NULL;
}

/*  Reads the whole file; "-" is standard input. NULL: failed, with a sentence. */
static inline char *table__load(table__reader *r, const char *path)
{
	int standard = strcmp(path, "-") == 0;
	FILE *f = standard ? stdin : fopen(path, "rb");
	if (!f) return table__fail(r, "cannot be opened: %s", strerror(errno)), (char *)NULL;
	char *text = table__slurp(r, f, NULL, 0, 0);
	if (!standard) fclose(f);
	return text;
}

/*  Skips empty lines, and adds their number to *empty (NULL: not counted). */
static inline const char *table__skip_empty(const char *s, char separator, long *empty)
{
	for (;;) {
		const char *ink = table__skip_spaces(s, separator);
		if (!table__ends_line(*ink) || !*ink) return *ink ? s : ink;
		if (empty) ++*empty;
		s = table__skip_line_end(ink);
	}
}

/*  Skips one line that begins with #; NULL: there is none at s. */
static inline const char *table__skip_comment(const char *s, char separator)
{
	s = table__skip_spaces(s, separator);
	if (*s != '#') return NULL;
	while (!table__ends_line(*s)) s++;
	return table__skip_line_end(s);
}

/*  Skips empty lines and lines that begin with #. Adds their number to *lines (NULL: not
    counted). */
static inline const char *table__skip_idle(const char *s, char separator, long *lines)
{
	for (;;) {
		s = table__skip_empty(s, separator, lines);
		const char *next = table__skip_comment(s, separator);
		if (!next) return s;
		if (lines) ++*lines;
		s = next;
	}
}

/*  Counts the character in the line, outside quotes; a run of spaces counts once. Sets *end to the
    line's end. */
static inline int table__count(const char *s, char separator, const char **end)
{
	int count = 0, quoted = 0;
	s = table__skip_spaces(s, separator);
	for (; *s && (quoted || !table__ends_line(*s)); s++) {
		if (*s == '"') quoted = !quoted;
		if (quoted || (*s != separator && !(separator == ' ' && *s == '\t'))) continue;
		if (separator == ' ') {
			while (s[1] == ' ' || s[1] == '\t') s++;
			/* Spaces at the line's end separate nothing. */
			if (table__ends_line(s[1])) continue;
		}
		count++;
	}
	*end = s;
	return count;
}

/*  How well the character separates cells in the first lines: 3 all have it equally often, 2 all
    have it, 1 the first one has it. */
static inline int table__score(const char *s, char separator)
{
	const char *end;
	int first = table__count(s, separator, &end), equal = 1, everywhere = 1;
	for (int lines = 1; lines < 32; lines++) {
		s = table__skip_idle(table__skip_line_end(end), ' ', NULL);
		if (!*s) break;
		int count = table__count(s, separator, &end);
		if (count != first) equal = 0;
		if (!count) everywhere = 0;
	}
	return !first ? 0 : !everywhere ? 1 : equal ? 3 : 2;
}

/*  Guesses the separator from the first lines: the character that all lines have equally often, or
    else one that all lines have, so that a short row is reported as such. A space comes last, since
    texts contain spaces. */
static inline char table__guess_separator(const char *text, const table__style *style)
{
	static const char candidates[] = {'\t', ';', ',', ' '};
	char best = ',';
	int best_score = 0;
	for (int k = 0; k < 4; k++) {
		if (candidates[k] == style->decimal || candidates[k] == style->thousands) continue;
		int score = table__score(text, candidates[k]), space = candidates[k] == ' ';
		if (score > 1 && !space) score += 2;
		if (score > best_score) best_score = score, best = candidates[k];
	}
	return best;
}

/*  A character that all first lines have equally often, where the separator is in none of them. */
static inline char table__other_separator(const char *text, char separator)
{
	static const char candidates[] = "|:;,\t ";
	const char *end;
	if (separator != ' ' && table__count(text, separator, &end)) return 0;
	for (const char *c = candidates; *c; c++)
		if (*c != separator && table__score(text, *c) == 3) return *c;
	return 0;
}

/*  The number of cells in the line at s; -1: failed, with a sentence. */
static inline int table__count_cells(table__reader *r, const char *s)
{
	int n = 0, more = 1;
	for (; more; n++) {
		table__cell cell;
		long lines = 0;
		if (n == TABLE_MOST_COLUMNS)
			return table__fail(r, "line %ld has more than %d cells", r->line, TABLE_MOST_COLUMNS),
				   -1;
		const char *wrong = table__scan(&s, r->t->separator, &cell, &lines);
		if (wrong) return table__fail(r, "line %ld, column %d: %s", r->line, n, wrong), -1;
		more = table__next(&s, r->t->separator);
	}
	return n;
}

/*  Is the cell a number or a date? Jan 2020 may name a column. */
static inline int table__is_value(const table__reader *r, const table__cell *c)
{
	double value;
	return table__is_number(c, &r->style, &value) ||
		   (table__is_iso(c) && table__is_date(c, &value));
}

/*  Guesses whether the first line is a header: one of its cells is text where the column below
    begins with a number or a date, or all its cells are text and different. first [columns]: the
    cells of the first line; s: the second line. */
static inline int table__guess_header(
		const table__reader *r, const table__cell *first, const char *s)
{
	const table *t = r->t;
	int columns = t->columns, texts = 0, repeats = 0;
	for (int i = 0; i < columns; i++) {
		texts += !table__is_missing(&first[i]) && !table__is_value(r, &first[i]);
		repeats |= t->column[i].repeat > 0 || first[i].begin == first[i].end;
	}
	if (!texts) return 0;
	for (int lines = 0; lines < 1000 && *s; lines++) {
		s = table__skip_idle(s, t->separator, NULL);
		for (int i = 0, more = 1; i < columns && more == 1; i++) {
			table__cell cell;
			long inside = 0;
			if (table__scan(&s, t->separator, &cell, &inside)) break;
			if (!table__is_missing(&first[i]) && !table__is_value(r, &first[i]) &&
					table__is_value(r, &cell))
				return 1;
			more = table__next(&s, t->separator);
		}
		while (!table__ends_line(*s)) s++;
		s = table__skip_line_end(s);
	}
	return texts == columns && !repeats;
}

/*  Is the cell what a spreadsheet writes in place of a number: #DIV/0!, #NAME?, #N/A? */
static inline int table__is_sheet_error(const table__cell *c)
{
	return c->end - c->begin > 2 && *c->begin == '#' &&
		   (c->end[-1] == '!' || c->end[-1] == '?' || table__is_word(c, "#n/a"));
}

/*  Can the line at s, which begins with #, be a row? */
static inline int table__is_row(const table__reader *r, const char *s)
{
	int cells = 0, values = 0, more = 1, columns = r->t->columns;
	for (; more == 1 && cells <= columns; cells++) {
		table__cell cell;
		long lines = 0;
		if (table__scan(&s, r->t->separator, &cell, &lines)) return 0;
		values += cells          ? table__is_value(r, &cell)
				  : r->t->header ? cell.end - cell.begin > 1 && !strchr(" \t#", cell.begin[1])
								 : table__is_sheet_error(&cell);
		more = table__next(&s, r->t->separator);
	}
	return more == 0 && cells == columns && values > 0;
}

/*  Skips empty lines and, with `comments`, these. Returns the first empty line; 0: there is none. */
static inline long table__skip_lines(table__reader *r, int comments)
{
	long first = 0;
	for (;;) {
		long empty = 0;
		r->s = table__skip_empty(r->s, r->t->separator, &empty);
		if (empty && !first) first = r->line;
		r->line += empty;
		const char *next = comments ? table__skip_comment(r->s, r->t->separator) : NULL;
		if (!next || table__is_row(r, r->s)) return first;
		r->s = next;
		r->line++;
		r->t->comments++;
	}
}

/*  In a table of one column an empty line before a row may be a row without a value. */
static inline int table__check_gap(table__reader *r, long line)
{
	if (!line || !*r->s || r->t->columns > 1) return 0;
	return table__fail(r, "line %ld is empty, in a table of one column", line);
}

/*  Makes the index of names. Returns 1 if there is no memory. */
static inline int table__index(table *t)
{
	t->bucket_count = 16;
	while (t->bucket_count < 2 * t->columns) t->bucket_count *= 2;
	t->buckets = (int *)malloc((size_t)t->bucket_count * sizeof *t->buckets);
	/* The last column of each name so far, at the position of the first. */
	int *last = (int *)malloc((size_t)t->columns * sizeof *last);
	for (int i = 0; i < t->bucket_count && t->buckets; i++) t->buckets[i] = -1;
	for (int i = 0; i < t->columns && t->buckets && last; i++) {
		table_column *c = &t->column[i];
		uint32_t mask = (uint32_t)(t->bucket_count - 1), at = table__hash(c->name) & mask;
		int first = t->buckets[at];
		while (first >= 0 && strcmp(t->column[first].name, c->name) != 0)
			first = t->buckets[at = (at + 1) & mask];
		c->next = -1;
		if (first < 0) t->buckets[at] = first = i;
		else {
			c->repeat = t->column[last[first]].repeat + 1;
			t->column[last[first]].next = i;
		}
		last[first] = i;
	}
	free(last);
	return !t->buckets || !last;
}

/*  The first line is no header: takes the names back. */
static inline void table__forget_names(table *t)
{
	for (int i = 0; i < t->columns; i++) {
		free(t->column[i].name);
		t->column[i].name = NULL;
		t->column[i].repeat = 0;
		t->column[i].next = -1;
	}
}

/*  Finds separator, number of columns, header and names, and moves r->s to the first row. */
static inline int table__begin(table__reader *r)
{
	table *t = r->t;
	const table_options *o = r->options;
	r->style.decimal = o->decimal ? o->decimal : '.';
	r->style.thousands = o->thousands;
	if (strncmp(r->s, "\xEF\xBB\xBF", 3) == 0) r->s += 3;
	const char *start = r->s;
	long start_line = r->line;
	r->s = o->continues ? table__skip_empty(r->s, ' ', &r->line)
						: table__skip_idle(r->s, ' ', &r->line);
	if (!*r->s)
		return table__fail(r, start_line < r->line && strchr(start, '#')
									  ? "has only lines that begin with #"
									  : "is empty");
	t->separator = o->separator ? o->separator : table__guess_separator(r->s, &r->style);
	t->other = table__other_separator(r->s, t->separator);
	if ((t->columns = table__count_cells(r, r->s)) < 0) return t->columns = 0, 1;
	t->column = (table_column *)calloc((size_t)t->columns, sizeof *t->column);
	table__cell *first = (table__cell *)calloc((size_t)t->columns, sizeof *first);
	int bad = !t->column || !first;
	const char *s = r->s;
	long line = r->line;
	for (int i = 0; i < t->columns && !bad; i++) {
		table__scan(&s, t->separator, &first[i], &line);
		table__next(&s, t->separator);
		bad = !(t->column[i].name = table__copy(&first[i]));
	}
	s = table__skip_line_end(s);
	bad = bad || table__index(t);
	if (!bad)
		t->header = o->header                                  ? o->header > 0
					: o->is_header && o->is_header(o->user, t) ? 1
															   : table__guess_header(r, first, s);
	for (int i = 0; i < t->columns && !bad && !o->header; i++)
		t->odd_header |= t->header && table__is_value(r, &first[i]);
	if (t->header) {
		t->head = (size_t)(r->s - r->text);
		t->head_end = (size_t)(s - r->text);
		while ((start = table__skip_comment(table__skip_empty(start, ' ', NULL), ' ')) != NULL)
			t->comments++;
		r->s = s;
		r->line = line + 1;
	} else if (!bad) {
		table__forget_names(t);
		/* One of the lines that begin with # may be the first row. */
		r->s = start;
		r->line = start_line;
	}
	free(first);
	if (bad) return table__fail(r, "too large for the memory");
	if (!o->continues) {
		long gap = table__skip_lines(r, 1);
		if (t->header && table__check_gap(r, gap)) return 1;
	}
	if (o->settle) o->settle(o->user, t);
	for (int i = 0; i < t->columns; i++)
		if (t->column[i].text) t->column[i].settled = 2;
	r->rows = r->s;
	r->rows_line = r->line;
	return 0;
}

/*  The value of a cell, in the cases that table__row does not shorten. Returns 1 if there is no
    memory. */
static inline int table__value(table_column *c, const table__style *style, const table__cell *cell,
		long line, double *value)
{
	double number, days;
	*value = NAN;
	if (table__is_missing(cell)) {
		if (!c->missing++) c->missing_line = line;
		c->empty += cell->begin == cell->end;
		return 0;
	}
	int is_number = table__is_number(cell, style, &number), is_date = table__is_date(cell, &days);
	if (!c->settled) c->settled = 1, c->date = is_date, c->text = !is_number && !is_date;
	int fits = c->text   ? !is_number || c->settled == 2
			   : c->date ? is_date
						 : is_number && fabs(number) <= DBL_MAX;
	if (!fits) {
		ptrdiff_t length = cell->end - cell->begin, most = (ptrdiff_t)sizeof c->odd - 1;
		if (!c->odd_line)
			snprintf(c->odd, sizeof c->odd, "%.*s", (int)(length < most ? length : most),
					cell->begin);
		if (!c->odd_line) c->odd_line = line;
		*value = HUGE_VAL;
	} else if (c->text) {
		int level = table__level(c, cell, line);
		if (level < 0) return 1;
		*value = level;
	} else *value = c->date ? days : number;
	return 0;
}

/*  "; --sep '|' cuts the lines into cells", or nothing. */
typedef struct table_clause {
	char text[48];
} table_clause;

static inline table_clause table_sep_clause(const table *t)
{
	table_clause c = {""};
	const char *word = t->other == '\t' ? "tab" : t->other == ' ' ? "space" : NULL;
	if (word) snprintf(c.text, sizeof c.text, "; --sep %s cuts the lines into cells", word);
	else if (t->other)
		snprintf(c.text, sizeof c.text, "; --sep '%c' cuts the lines into cells", t->other);
	return c;
}

static inline int table__is_nameless(const table *t, int column)
{
	return !t->column[column].name || !*t->column[column].name;
}

/*  Reads one line into row [columns]. */
static inline int table__row(table__reader *r, double *row)
{
	table *t = r->t;
	long line = r->line;
	const char *s = r->s;
	int plain = table__is_plain(&r->style);
	for (int i = 0; i < t->columns; i++) {
		table_column *c = &t->column[i];
		table__cell cell;
		int more = -1;
		/* The quick way, for most cells of most files. */
		if (plain && !c->text && !c->date && c->settled && !c->keep) {
			const char *end = table__number(table__skip_spaces(s, t->separator), &row[i]);
			if (end && fabs(row[i]) <= DBL_MAX && (more = table__next(&end, t->separator)) >= 0)
				s = end;
		}
		if (more < 0) {
			const char *wrong = table__scan(&s, t->separator, &cell, &r->line);
			if (wrong) return table__fail(r, "line %ld, column %d: %s", line, i, wrong);
			if (table__value(c, &r->style, &cell, line, &row[i]))
				return table__fail(r, "too large for the memory");
			if (c->keep && !(c->cells[t->rows] = table__copy(&cell)))
				return table__fail(r, "too large for the memory");
			more = table__next(&s, t->separator);
		}
		if (!more && i + 1 < t->columns)
			return table__fail(r, "line %ld has %d cell%s where the first line has %d%s%s", line,
					i + 1, i ? "s" : "", t->columns,
					table__is_nameless(t, t->columns - 1) ? ", of which the last one is empty" : "",
					table_sep_clause(t).text);
		if (more && i + 1 == t->columns)
			return table__fail(r, "line %ld has more cells than the %d of the first line%s%s", line,
					t->columns,
					table__ends_line(*table__skip_spaces(s, t->separator))
							? ": it ends with a separator"
							: "",
					table_sep_clause(t).text);
	}
	r->s = table__skip_line_end(s);
	r->line++;
	return 0;
}

/*  Makes room for the cells of columns that are kept. Returns 1 if there is no memory. */
static inline int table__keep_room(table *t, size_t room)
{
	for (int i = 0; i < t->columns; i++) {
		table_column *c = &t->column[i];
		char **more = c->keep ? (char **)realloc(c->cells, room * sizeof *more) : NULL;
		if (c->keep && !more) return 1;
		/* A row that fails leaves its cells NULL. */
		for (size_t k = (size_t)t->rows; k < room && more; k++) more[k] = NULL;
		c->cells = more;
	}
	return 0;
}

/*  Frees what the rows have left in the columns. */
static inline void table__forget_rows(table *t)
{
	for (int i = 0; i < t->columns && t->column; i++) {
		table_column *c = &t->column[i];
		for (int k = 0; k < c->level_count; k++) free(c->levels[k]);
		for (ptrdiff_t k = 0; k <= t->rows && c->cells; k++) free(c->cells[k]);
		free(c->cells);
		free(c->levels);
		free(c->level_lines);
		free(c->buckets);
		c->cells = c->levels = NULL;
		c->level_lines = NULL;
		c->buckets = NULL;
		c->level_count = c->bucket_count = 0;
		c->missing = c->empty = c->missing_line = c->odd_line = 0;
	}
	t->rows = 0;
}

/*  Reads the rows up to the end of the text; those before it stay. */
static inline int table__more_rows(table__reader *r, const char *end)
{
	table *t = r->t;
	size_t width = (size_t)t->columns * sizeof *t->values, room = (size_t)t->rows;
	const char *start = r->s;
	ptrdiff_t before = t->rows;
	for (;;) {
		long gap = table__skip_lines(r, 0);
		if (!*r->s) return 0;
		if ((t->rows || r->options->continues) && table__check_gap(r, gap)) return 1;
		/* As many rows as the rest of the file holds, by the mean length so far. */
		if ((size_t)t->rows + 1 >= room) {
			ptrdiff_t rows = t->rows - before;
			double left = (double)(end - r->s),
				   length = rows ? (double)(r->s - start) / (double)rows : left;
			room = room ? room + 65 + (size_t)(1.05 * left / length) : 2;
			double *more =
					room > SIZE_MAX / width ? NULL : (double *)realloc(t->values, room * width);
			if (more) t->values = more;
			long *lines = more ? (long *)realloc(t->lines, room * sizeof *lines) : NULL;
			if (lines) t->lines = lines;
			if (!lines || table__keep_room(t, room))
				return table__fail(r, "too large for the memory");
		}
		t->lines[t->rows] = r->line;
		if (table__row(r, t->values + (size_t)t->rows * (size_t)t->columns)) return 1;
		t->rows++;
	}
}

/*  Reads all rows, perhaps again. */
static inline int table__rows(table__reader *r, const char *end)
{
	table *t = r->t;
	table__forget_rows(t);
	r->s = r->rows;
	r->line = r->rows_line;
	if (table__more_rows(r, end)) return 1;
	if (!t->rows && r->options->rows_optional) return 0;
	if (!t->rows) return table__fail(r, t->header ? "has a header and no rows" : "has no rows");
	double *less =
			(double *)realloc(t->values, (size_t)t->rows * (size_t)t->columns * sizeof *t->values);
	if (less) t->values = less;
	return 0;
}

/* ---- columns of numbers and texts ---- */

/*  Does it look like a date of another form: 31.12.2020, 12/31/20, 2020/31/12, perhaps with a time? */
static inline int table__other_date(const char *s)
{
	size_t digits[3];
	char separator = 0;
	for (int k = 0; k < 3; k++) {
		digits[k] = strspn(s, "0123456789");
		s += digits[k];
		if (k == 2) break;
		if (!*s || !strchr("./-", *s) || (k && *s != separator)) return 0;
		separator = *s++;
	}
	int year_first = digits[0] == 4 && digits[2] >= 1 && digits[2] <= 2,
		year_last = digits[0] >= 1 && digits[0] <= 2 && (digits[2] == 2 || digits[2] == 4);
	return (year_first || year_last) && digits[1] >= 1 && digits[1] <= 2 && (!*s || *s == ' ');
}

/*  The options that would read the text as a number, in a clause; "" if none would. */
static inline const char *table_hint(const char *text)
{
	static const struct {
		table__style style;
		const char *clause;
	} styles[] = {
			{{'.', ','}, "; --thousands , reads it as a number"},
			{{',', 0}, "; --decimal , reads it as a number"},
			{{',', '.'}, "; --decimal , --thousands . reads it as a number"},
			{{'.', '\''}, "; --thousands \"'\" reads it as a number"},
			{{'.', ' '}, "; --thousands space reads it as a number"},
			{{',', ' '}, "; --decimal , --thousands space reads it as a number"},
	};
	table__cell c = {text, text + strlen(text), 0};
	table__style plain = {'.', 0};
	double value;
	int known[2] = {0, 0};
	if (table__is_number(&c, &plain, &value))
		return fabs(value) <= DBL_MAX ? "; --decimal . reads it as a number" : "";
	for (int k = 0; k < 2; k++) known[k] = table__is_number(&c, &styles[k].style, &value);
	if (known[0] && known[1]) return "; --decimal , or --thousands , reads it as a number";
	for (size_t k = 0; k < sizeof styles / sizeof *styles; k++)
		if (table__is_number(&c, &styles[k].style, &value)) return styles[k].clause;
	if (table__other_date(text))
		return "; dates are read as 2020-12-31, 2020/12/31, 31 Dec 2020 or 2020-12-31T23:59:59";
	return "";
}

/*  A column of numbers and texts with more different numbers holds numbers. */
enum { TABLE_MIXED_NUMBERS = 20 };

/*  Finds out with the rows of the table, after `count` different numbers in `seen` of rows before. */
static inline int table__has_many_numbers(
		const table *t, int column, double seen[TABLE_MIXED_NUMBERS], int *count)
{
	int k;
	for (ptrdiff_t i = 0; i < t->rows && *count <= TABLE_MIXED_NUMBERS; i++) {
		double v = t->values[i * t->columns + column];
		for (k = 0; k < *count && v != seen[k];) k++;
		if (k < *count || !(fabs(v) <= DBL_MAX)) continue;
		if (*count < TABLE_MIXED_NUMBERS) seen[*count] = v;
		++*count;
	}
	return *count > TABLE_MIXED_NUMBERS;
}

/*  What the levels of a column are. */
typedef struct table__census {
	/* Rows with a text, and with anything else: a number, perhaps of another style, or a date. */
	ptrdiff_t texts, others;
	/* Different finite numbers. */
	int numbers;
	/* Has a text only one row? Are there others than finite numbers? */
	int rare, odd;
} table__census;

/*  rows: how many rows the level has. */
static inline void table__count_level(
		table__census *all, const char *level, ptrdiff_t rows, const table__style *style)
{
	table__cell cell = {level, level + strlen(level), 0};
	double number, days;
	int is_number = table__is_number(&cell, style, &number);
	if (is_number && fabs(number) <= DBL_MAX) all->numbers++;
	else if (is_number || table__is_date(&cell, &days) || *table_hint(level)) all->odd = 1;
	else {
		all->texts += rows;
		all->rare |= rows == 1;
		return;
	}
	all->others += rows;
}

/*  Is a column that was read as text one of texts and few numbers? rows [levels]: how many have
    each. */
static inline int table__is_mixed(
		const table_column *c, const ptrdiff_t *rows, const table__style *style)
{
	table__census all = {0, 0, 0, 0, 0};
	for (int k = 0; k < c->level_count; k++) table__count_level(&all, c->levels[k], rows[k], style);
	return all.numbers <= TABLE_MIXED_NUMBERS && all.texts &&
		   (all.texts > all.others || !(all.rare || all.odd));
}

/*  The same; -1: no memory. */
static inline int table__is_mixed_column(const table__reader *r, int column)
{
	const table *t = r->t;
	const table_column *c = &t->column[column];
	ptrdiff_t *rows = (ptrdiff_t *)calloc((size_t)c->level_count, sizeof *rows);
	if (!rows) return -1;
	for (ptrdiff_t i = 0; i < t->rows; i++) {
		double v = t->values[i * t->columns + column];
		if (v == v) rows[(int)v]++;
	}
	int mixed = table__is_mixed(c, rows, &r->style);
	free(rows);
	return mixed;
}

/*  May a column that has been read once be one of numbers and texts? */
static inline int table__may_be_mixed(const table_column *c, int many_numbers)
{
	return c->settled == 1 && !c->date && c->odd_line && (c->text || !many_numbers);
}

/*  Where a column has both numbers and texts, all its cells decide what it holds: reads them as
    text to see, and once more as numbers if that is wrong. */
static inline int table__settle_mixed(table__reader *r, const char *end)
{
	table *t = r->t;
	int mixed = 0, wrong = 0;
	for (int i = 0; i < t->columns; i++) {
		table_column *c = &t->column[i];
		double seen[TABLE_MIXED_NUMBERS];
		int count = 0;
		c->mixed = table__may_be_mixed(c, 0) &&
				   (c->text || !table__has_many_numbers(t, i, seen, &count));
		if (c->mixed) mixed = c->text = 1, c->settled = 2;
	}
	if (!mixed) return 0;
	if (table__rows(r, end)) return 1;
	for (int i = 0; i < t->columns; i++) {
		table_column *c = &t->column[i];
		int is_mixed = c->mixed ? table__is_mixed_column(r, i) : 1;
		if (is_mixed < 0) return table__fail(r, "too large for the memory");
		if (!is_mixed) wrong = 1, c->mixed = c->text = 0;
	}
	return wrong ? table__rows(r, end) : 0;
}

/*  Does the first row look unlike its columns? It does where most of its numbers are far outside
    the range of those below, or whole among fractions: a header of numbers. */
static inline int table__first_row_unlike(const table *t)
{
	int unlike = 0, columns = 0;
	ptrdiff_t rows = t->rows < 1000 ? t->rows : 1000;
	for (int i = 0; i < t->columns && rows > 3; i++) {
		double first = t->values[i], low = HUGE_VAL, high = -HUGE_VAL;
		int whole = 0;
		if (t->column[i].text || first != first) continue;
		for (ptrdiff_t k = 1; k < rows; k++) {
			double v = t->values[k * t->columns + i];
			if (v < low) low = v;
			if (v > high) high = v;
			whole += v == floor(v);
		}
		double width = high - low;
		columns++;
		unlike += first < low - 2 * width || first > high + 2 * width ||
				  (first == floor(first) && !whole);
	}
	return 2 * unlike > columns;
}

static inline void table_free(table *t)
{
	table__forget_rows(t);
	for (int i = 0; i < t->columns && t->column; i++) free(t->column[i].name);
	free(t->column);
	if (t->close) t->close(t->stored);
	free(t->values);
	free(t->lines);
	free(t->gap);
	free(t->buckets);
	memset(t, 0, sizeof *t);
}

/*  Reads a text that ends with a zero and whose first line has this number; `name` is that of the
    file in messages. Returns as table_read does. */
static inline int table_parse(table *t, const char *text, size_t length, const char *name,
		long line, const table_options *options, char *error, size_t size)
{
	table__reader r = {
			t, options, name, text, length, {'.', 0}, text, line, error, size, text, line};
	memset(t, 0, sizeof *t);
	int bad = table__begin(&r) || table__rows(&r, text + length) ||
			  table__settle_mixed(&r, text + length);
	if (bad) table_free(t);
	else t->unlike = !t->header && !options->header && table__first_row_unlike(t);
	return bad;
}

/*  Reads a whole file; path "-" is standard input, options NULL guesses everything. Returns 0, or 1
    with one sentence in error [size] and an empty *t. */
static inline int table_read(
		table *t, const char *path, const table_options *options, char *error, size_t size)
{
	static const table_options all_guessed = {0};
	const char *name = strcmp(path, "-") ? path : "standard input";
	table__reader r = {t, &all_guessed, name, NULL, 0, {'.', 0}, NULL, 1, error, size, NULL, 1};
	memset(t, 0, sizeof *t);
	char *text = table__load(&r, path);
	if (!text) return 1;
	int bad = table_parse(t, text, r.size, name, 1, options ? options : &all_guessed, error, size);
	free(text);
	return bad;
}

/*  Has the column neither a name nor a value? Such are the last ones where each line ends with
    separators. */
static inline int table_trails(const table *t, int column)
{
	return column > 0 && t->rows && table__is_nameless(t, column) &&
		   t->column[column].empty == t->rows;
}

/*  Forgets the last column, which has no values. Returns 1 if there is no memory. */
static inline int table_drop_last(table *t)
{
	table_column *c = &t->column[t->columns - 1];
	for (ptrdiff_t i = 0; i < t->rows && c->cells; i++) free(c->cells[i]);
	free(c->cells);
	c->cells = NULL;
	for (ptrdiff_t i = 0; i < t->rows; i++)
		memmove(t->values + i * (t->columns - 1), t->values + i * t->columns,
				(size_t)(t->columns - 1) * sizeof *t->values);
	free(c->name);
	t->columns--;
	t->trailed++;
	if (!t->header) return 0;
	free(t->buckets);
	return table__index(t);
}

/*  The first column of this name at position `from` or later; -1: none. */
static inline int table_find(const table *t, const char *name, int from)
{
	if (!t->header && !t->column[0].name) return -1;
	uint32_t mask = (uint32_t)(t->bucket_count - 1), at = table__hash(name) & mask;
	int i = t->buckets[at];
	while (i >= 0 && strcmp(t->column[i].name, name) != 0) i = t->buckets[at = (at + 1) & mask];
	while (i >= 0 && i < from) i = t->column[i].next;
	return i;
}

/*  Returns 0 if all cells of the column fit it, else 1 with a sentence that names the first
    misfit. */
static inline int table_check(
		const table *t, int column, const char *path, char *error, size_t size)
{
	const table_column *c = &t->column[column];
	if (!c->odd_line) return 0;
	table__cell cell = {c->odd, c->odd + strlen(c->odd), 0};
	table__style plain = {'.', 0};
	double number;
	const char *what = "is not a number";
	if (c->date) what = "is not a date or time";
	else if (table__is_number(&cell, &plain, &number) && fabs(number) > DBL_MAX)
		what = "is not a finite number";
	int named = !table__is_nameless(t, column);
	snprintf(error, size, "%s: line %ld, column %d%s%s%s: '%s' %s%s",
			strcmp(path, "-") ? path : "standard input", c->odd_line, column, named ? " (" : "",
			named ? c->name : "", named ? ")" : "", c->odd, what,
			c->date ? "" : table_hint(c->odd));
	return 1;
}

#endif
