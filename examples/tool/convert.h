/*  convert.h - makes one table on disk of CSV files, tables and arrays, of which a window at a time is
    in memory.

    Each file alone says what its columns hold, as table.h reads it; all must agree. What only the
    whole of a CSV file tells, a column of numbers and texts or a last column that is empty, is known
    after it has been read: then all is read again. Kept in memory besides the window are the texts
    of columns, and lines that do not follow each other. */
#ifndef TOOL_CONVERT_H
#define TOOL_CONVERT_H

#include "tables.h"
#if !defined(_WIN32)
#include <sys/statvfs.h>
#endif

enum {
	/* Bytes of a window; of the first, which tells separator and header: at most. */
	CONVERT_WINDOW = 1 << 20,
	CONVERT_FIRST = 1 << 26,
	/* Lines that table.h looks at to guess a header, and some. */
	CONVERT_LINES = 1100,
	/* Bytes of the longest row. */
	CONVERT_LONGEST = 1 << 30,
	CONVERT_ROWS = 4096
};

/*  What is known of a column after a file has been read once. */
enum { UNDECIDED, OF_TEXTS_AND_NUMBERS, OF_NUMBERS };

/*  The column of the file that is being read. */
typedef struct convert_column {
	/* [levels] of the whole table for those of the file; how many are known. */
	int *level;
	int known;
	/* Rows of each level, where these decide what the column holds. */
	ptrdiff_t *rows;
	int room;
	/* Different numbers. */
	double seen[TABLE_MIXED_NUMBERS];
	int count;
	/* Cells that are not missing. */
	ptrdiff_t values;
} convert_column;

typedef struct conversion {
	const char *const *path;
	int files;
	const table_options *how;
	watch *watch;
	/* The table that is written, all but its rows; where they go, its name in sentences; [columns]
	   has a column had a value? */
	table all;
	odvt_writer to;
	const char *name;
	char *known;
	/* [files][columns] of decisions, and how many of the last columns are left out. */
	char **decided;
	int *drop;
	/* Of the current file: its columns, the lines of all files before it. Bytes of all files, and
	   those that have been read. */
	convert_column *column;
	long lines;
	double bytes, done;
	ptrdiff_t gap_room;
	/* Hashes of different rows, 0: free. */
	uint64_t *distinct;
	/* May be NULL: called once with the table's bytes, about. */
	void (*room)(void *user, double size);
	void *user;
} conversion;

/* ---- rows ---- */

/*  Rows that differ are counted up to here; a set of their hashes. */
enum { DISTINCT_MOST = 100000, DISTINCT_SLOTS = 1 << 18 };

/*  Puts a hash into a set [DISTINCT_SLOTS], whose free slots are 0. Returns 1 if it is new. */
static int distinct_add(uint64_t *slot, uint64_t h)
{
	h |= !h;
	size_t at = (size_t)h % DISTINCT_SLOTS;
	while (slot[at] && slot[at] != h) at = (at + 1) % DISTINCT_SLOTS;
	if (slot[at]) return 0;
	slot[at] = h;
	return 1;
}

static void convert_distinct(conversion *c, const double *cell)
{
	uint64_t h = 1;
	if (c->all.distinct_more) return;
	for (int k = 0; k < c->all.columns; k++)
		h = odvt__mix(h ^ odvt__real_bits(isnan(cell[k]) ? NAN : cell[k] + 0.0)) + 1;
	if (!distinct_add(c->distinct, h)) return;
	if (c->all.distinct == DISTINCT_MOST) c->all.distinct_more = 1;
	else c->all.distinct++;
}

static void convert_line(conversion *c, long line)
{
	table *t = &c->all;
	if (t->gaps && table_line(t, t->rows) == line) return;
	if (t->gaps == c->gap_room) {
		c->gap_room = 2 * c->gap_room + 16;
		t->gap = resize(t->gap, (size_t)c->gap_room, sizeof *t->gap);
	}
	t->gap[t->gaps].row = t->rows;
	t->gap[t->gaps++].line = line;
}

/*  The levels of the file that are new. */
static void convert_levels(conversion *c, const table_column *from, int k)
{
	convert_column *own = &c->column[k];
	if (own->known == from->level_count) return;
	own->level = resize(own->level, (size_t)from->level_count, sizeof *own->level);
	for (; own->known < from->level_count; own->known++) {
		const char *text = from->levels[own->known];
		table__cell cell = {text, text + strlen(text), 0};
		int level =
				table__level(&c->all.column[k], &cell, from->level_lines[own->known] + c->lines);
		if (level < 0) die(FAILED, "out of memory");
		own->level[own->known] = level;
	}
}

/*  Writes `n` rows of the file, of `width` cells each, of which the table may have one fewer; line
    [n]. */
static void convert_rows(conversion *c, const table *from, const double *cells, const long *line,
		ptrdiff_t n, double *row)
{
	table *t = &c->all;
	for (int k = 0; k < t->columns; k++) convert_levels(c, &from->column[k], k);
	for (ptrdiff_t i = 0; i < n; i++, cells += from->columns) {
		convert_line(c, line[i] + c->lines);
		for (int k = 0; k < t->columns; k++) {
			table_column *to = &t->column[k];
			double v = row[k] = cells[k];
			if (isnan(v)) {
				if (!to->missing++) to->missing_line = line[i] + c->lines;
				continue;
			}
			c->column[k].values++;
			if (isinf(v)) {
				if (!to->odd_line) {
					to->odd_line = line[i] + c->lines;
					memcpy(to->odd, from->column[k].odd, sizeof to->odd);
				}
			} else if (from->column[k].text) row[k] = c->column[k].level[(int)v];
			else {
				if (v < to->low) to->low = v;
				if (v > to->high) to->high = v;
			}
		}
		convert_distinct(c, row);
		odvt_write_cells(&c->to, row, t->columns);
		t->rows++;
	}
	if (c->to.failed) die(FAILED, "%s: cannot be written: %s", c->name, strerror(c->to.failed));
	watch_look(c->watch, c->done, c->bytes);
	if (stop_signal) die(signal_code(), "stopped by a signal: nothing is converted");
}

/* ---- what files must agree in ---- */

static const char *kind_text(int text, int date)
{
	return text ? "texts" : date ? "dates" : "numbers";
}

/*  Begins a file whose columns are known: the first one makes the table's. */
static void convert_begin(conversion *c, const table *from, int k)
{
	table *t = &c->all;
	int columns = from->columns - c->drop[k];
	if (!t->column) {
		t->columns = columns;
		t->header = from->header;
		t->separator = from->separator;
		t->other = from->other;
		t->odd_header = from->odd_header;
		t->trailed = from->trailed + c->drop[k];
		t->column = take((size_t)columns, sizeof *t->column);
		c->known = take((size_t)columns, 1);
		for (int i = 0; i < columns; i++) {
			t->column[i].name = copy_text(from->column[i].name);
			t->column[i].low = HUGE_VAL;
			t->column[i].high = -HUGE_VAL;
		}
	}
	t->comments += from->comments;
	if (columns != t->columns)
		die(BAD_INPUT, "%s: has %d columns, and %s has %d", c->path[k], columns, c->path[0],
				t->columns);
	if (from->header != t->header)
		die(BAD_INPUT, "%s: has %s header, and %s has %s; --header says it", c->path[k],
				from->header ? "a" : "no", c->path[0], t->header ? "one" : "none");
	for (int i = 0; i < columns && t->header; i++)
		if (strcmp(from->column[i].name, t->column[i].name) != 0)
			die(BAD_INPUT, "%s: column %d is '%.100s', and in %s '%.100s'", c->path[k], i,
					from->column[i].name, c->path[0], t->column[i].name);
	c->column = take((size_t)columns, sizeof *c->column);
}

/*  Ends it: the kinds of its columns are known now. */
static void convert_end(conversion *c, const table *from, int k)
{
	table *t = &c->all;
	for (int i = 0; i < t->columns; i++) {
		const table_column *a = &from->column[i];
		table_column *b = &t->column[i];
		if (c->column[i].values && c->known[i] && (a->text != b->text || a->date != b->date))
			die(BAD_INPUT, "%s: column %d holds %s, and in the files before %s", c->path[k], i,
					kind_text(a->text, a->date), kind_text(b->text, b->date));
		if (c->column[i].values && !c->known[i]) {
			b->text = a->text;
			b->date = a->date;
			c->known[i] = 1;
		}
		b->mixed |= a->mixed;
		b->empty += a->empty;
		free(c->column[i].level);
		free(c->column[i].rows);
	}
	free(c->column);
	c->column = NULL;
	if (t->rows) c->lines = table_line(t, t->rows - 1);
}

/* ---- CSV, a window at a time ---- */

typedef struct csv_stream {
	const char *path;
	FILE *file;
	int is_pipe, ended;
	/* With a zero at the end. */
	char *text;
	size_t used, room;
	long newlines;
} csv_stream;

/*  Opens a file, perhaps through gzip. */
static csv_stream csv_open(const char *path)
{
	csv_stream s;
	unsigned char head[2];
	memset(&s, 0, sizeof s);
	s.path = path_text(path);
	s.file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	if (!s.file) die(BAD_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
	s.room = CONVERT_WINDOW + 1;
	s.text = take(s.room, 1);
	s.used = fread(s.text, 1, 2, s.file);
	memcpy(head, s.text, 2);
	if (s.used < 2 || !table__is_packed((const char *)head, 2)) return s;
#if defined(_WIN32)
	die(BAD_INPUT, "%s: is compressed; unpack it first (gunzip)", s.path);
#else
	if (fseek(s.file, 0, SEEK_SET))
		die(BAD_INPUT, "%s: is compressed; unpack it first (gunzip)", s.path);
	FILE *pipe = table__gzip(fileno(s.file));
	if (!pipe) die(FAILED, "%s: is compressed, and gzip cannot be run", s.path);
	if (s.file != stdin) fclose(s.file);
	s.file = pipe;
	s.is_pipe = 1;
	s.used = 0;
	return s;
#endif
}

static void csv_close(csv_stream *s)
{
	if (s->is_pipe) {
#if !defined(_WIN32)
		if (pclose(s->file))
			die(BAD_INPUT, "%s: is compressed, and gzip cannot unpack it", s->path);
#endif
	} else if (s->file != stdin) fclose(s->file);
	free(s->text);
}

/*  Reads what there is room for. */
static void csv_fill(csv_stream *s)
{
	size_t got = 0, before = s->used, most = s->room - 1 - s->used;
	do {
		clearerr(s->file);
		errno = 0;
		got += fread(s->text + s->used + got, 1, most - got, s->file);
		if (stop_signal) die(signal_code(), "stopped by a signal: nothing is converted");
	} while (ferror(s->file) && errno == EINTR);
	if (ferror(s->file)) die(BAD_INPUT, "%s: cannot be read: %s", s->path, strerror(errno));
	s->ended = s->used + got < s->room - 1;
	s->used += got;
	s->text[s->used] = 0;
	const char *foreign =
			table__foreign(s->newlines ? s->text + before : s->text, s->newlines ? got : s->used);
	if (foreign) die(BAD_INPUT, "%s: %s", s->path, foreign);
	for (size_t i = before; i < s->used; i++) s->newlines += s->text[i] == '\n';
}

static void csv_grow(csv_stream *s)
{
	if (s->room > CONVERT_LONGEST)
		die(BAD_INPUT, "%s: a row has more than %d bytes", s->path, CONVERT_LONGEST);
	s->room *= 2;
	s->text = resize(s->text, s->room, 1);
}

/*  The end of the last complete row with ink at s or behind it; NULL: none is complete. */
static char *csv_complete(csv_stream *in, char *s, char separator)
{
	char *end = in->text + in->used, *complete = NULL;
	int quotes = memchr(s, '"', (size_t)(end - s)) != NULL;
	if (in->ended) return end;
	while (s < end) {
		const char *p = table__skip_spaces(s, separator);
		int ink = !table__ends_line(*p);
		while (quotes && !table__ends_line(*p)) {
			table__cell cell;
			long lines = 0;
			/* Whoever reads the row says what is wrong with it. */
			if (table__scan(&p, separator, &cell, &lines)) {
				while (!table__ends_line(*p)) p++;
				break;
			}
			if (table__next(&p, separator) < 0) break;
		}
		while (!table__ends_line(*p)) p++;
		/* A CR may be half of a line end. */
		if (p >= end || (*p == '\r' && p + 1 >= end)) break;
		s += table__skip_line_end(p) - s;
		if (ink) complete = s;
	}
	return complete;
}

/*  What is known of the columns before the rows are read. */
typedef struct csv_settling {
	const conversion *c;
	int file;
} csv_settling;

static int csv_is_header(const void *user, const table *t)
{
	const table_options *how = ((const csv_settling *)user)->c->how;
	return how->is_header(how->user, t);
}

static void csv_settle(const void *user, table *t)
{
	const csv_settling *s = user;
	const table_options *how = s->c->how;
	const char *decided = s->c->decided[s->file];
	if (how->settle) how->settle(how->user, t);
	for (int i = 0; i < t->columns; i++) {
		table_column *c = &t->column[i];
		c->keep = 0;
		if (!decided || !decided[i]) continue;
		c->text = c->mixed = decided[i] == OF_TEXTS_AND_NUMBERS;
		c->settled = 2;
	}
}

/*  What the rows of a window say of columns whose kind is not sure. */
static void csv_note(conversion *c, const table *t)
{
	for (int k = 0; k < c->all.columns; k++) {
		const table_column *from = &t->column[k];
		convert_column *own = &c->column[k];
		if (from->settled == 1 && !from->text && !from->date)
			table__has_many_numbers(t, k, own->seen, &own->count);
		if (!from->mixed) continue;
		if (own->room < from->level_count) {
			own->rows = resize(own->rows, (size_t)from->level_count, sizeof *own->rows);
			for (; own->room < from->level_count; own->room++) own->rows[own->room] = 0;
		}
		for (ptrdiff_t i = 0; i < t->rows; i++) {
			double v = t->values[i * t->columns + k];
			if (v == v) own->rows[(int)v]++;
		}
	}
}

/*  After the last row. Returns 1 if the file has to be read again, because a column holds something
    else. */
static int csv_decide(
		conversion *c, const table *t, const table__style *style, int file, ptrdiff_t rows)
{
	int again = 0;
	char *decided = c->decided[file];
	if (!decided) decided = c->decided[file] = take((size_t)t->columns, 1);
	for (int k = 0; k < c->all.columns; k++) {
		const table_column *from = &t->column[k];
		convert_column *own = &c->column[k];
		if (decided[k] == OF_TEXTS_AND_NUMBERS && !table__is_mixed(from, own->rows, style))
			decided[k] = OF_NUMBERS, again = 1;
		if (decided[k] || !table__may_be_mixed(from, own->count > TABLE_MIXED_NUMBERS)) continue;
		decided[k] = OF_TEXTS_AND_NUMBERS;
		again = 1;
	}
	for (int last = t->columns - 1 - c->drop[file];
			last > 0 && table__is_nameless(t, last) && t->column[last].empty == rows; last--)
		c->drop[file]++, again = 1;
	return again;
}

/*  Reads a CSV file. Returns 1 if all has to be read again. */
static int convert_csv(conversion *c, int file)
{
	char error[400];
	const char *path = c->path[file];
	csv_stream in = csv_open(path);
	csv_settling settling = {c, file};
	table_options how = *c->how;
	table t;
	how.settle = csv_settle;
	if (how.is_header) how.is_header = csv_is_header;
	how.user = &settling;
	memset(&t, 0, sizeof t);
	csv_fill(&in);
	while (!in.ended && in.newlines < CONVERT_LINES && in.used < CONVERT_FIRST) {
		csv_grow(&in);
		csv_fill(&in);
	}
	table__reader r = {&t, &how, in.path, in.text, in.used, {'.', 0}, in.text, 1, error,
			sizeof error, NULL, 1};
	if (table__begin(&r)) die(BAD_INPUT, "%s", error);
	convert_begin(c, &t, file);
	double *row = take_doubles(t.columns, 1);
	ptrdiff_t rows = 0;
	for (int first = 1;; first = 0) {
		char *end = csv_complete(&in, in.text + (r.s - in.text), t.separator);
		if (end) {
			char saved = *end;
			*end = 0;
			t.rows = 0;
			if (table__more_rows(&r, end)) die(BAD_INPUT, "%s", error);
			*end = saved;
			c->done += (double)(r.s - in.text);
			if (first && t.rows && c->room && !in.is_pipe)
				c->room(c->user,
						(double)t.rows / (double)(r.s - in.text) * c->bytes * t.columns * 8);
			if (!file && !rows && t.rows && !t.header && !c->how->header)
				c->all.unlike = table__first_row_unlike(&t);
			rows += t.rows;
			how.continues |= rows > 0;
			csv_note(c, &t);
			convert_rows(c, &t, t.values, t.lines, t.rows, row);
		}
		if (in.ended) break;
		size_t gone = (size_t)(r.s - in.text);
		in.used -= gone;
		memmove(in.text, r.s, in.used);
		if (in.used > in.room / 2) csv_grow(&in);
		r.s = in.text;
		csv_fill(&in);
	}
	if (!rows)
		die(BAD_INPUT, "%s: %s", in.path, t.header ? "has a header and no rows" : "has no rows");
	int again = csv_decide(c, &t, &r.style, file, rows);
	if (again && strcmp(path, "-") == 0)
		die(BAD_INPUT,
				"standard input: has to be read twice, for columns of numbers and texts or an "
				"empty last one: save it as a file");
	csv_close(&in);
	convert_end(c, &t, file);
	table_free(&t);
	free(row);
	return again;
}

/*  Reads a table or an array. */
static void convert_stored(conversion *c, int file)
{
	table t;
	long line[CONVERT_ROWS];
	stored_open(&t, c->path[file]);
	convert_begin(c, &t, file);
	double *row = take_doubles(t.columns, 1);
	stored *s = t.stored;
	ptrdiff_t most = smaller(s->room, CONVERT_ROWS);
	if (!file) c->all.unlike = t.unlike;
	for (ptrdiff_t first = 0, n; first < t.rows; first += n) {
		n = smaller(most, t.rows - first);
		for (ptrdiff_t i = 0; i < n; i++) line[i] = table_line(&t, first + i);
		if (stored_rows(s, first, n, s->window, 0)) die(FAILED, "%s", s->error);
		c->done += (double)n * (double)t.columns * 8;
		convert_rows(c, &t, s->window, line, n, row);
	}
	convert_end(c, &t, file);
	free(row);
	table_free(&t);
}

/* ---- the whole ---- */

static double bytes_of_file(const char *path)
{
	struct stat s;
	return strcmp(path, "-") && stat(path, &s) == 0 && S_ISREG(s.st_mode) ? (double)s.st_size : 0;
}

/*  Writes all files as one table into this one, which has this name in messages; what it says of
    itself stays in c->all. */
static void convert_all(conversion *c, int to, const char *name)
{
	int again = 1;
	c->name = name;
	c->decided = take((size_t)c->files, sizeof *c->decided);
	c->drop = take((size_t)c->files, sizeof *c->drop);
	c->distinct = take(DISTINCT_SLOTS, sizeof *c->distinct);
	watch_begin(c->watch, "converting");
	while (again) {
		table_free(&c->all);
		free(c->known);
		c->known = NULL;
		c->lines = 0;
		c->gap_room = 0;
		c->done = c->bytes = 0;
		memset(c->distinct, 0, DISTINCT_SLOTS * sizeof *c->distinct);
		for (int i = 0; i < c->files; i++) c->bytes += bytes_of_file(c->path[i]);
		if (lseek(to, 0, SEEK_SET) || ftruncate(to, 0) || odvt_write_begin(&c->to, to))
			die(FAILED, "%s: cannot be written: %s", name, strerror(errno));
		again = 0;
		for (int i = 0; i < c->files && !again; i++) {
			if (is_stored(c->path[i])) convert_stored(c, i);
			else again = convert_csv(c, i);
		}
		if (again) free(c->to.piece);
	}
	watch_end(c->watch);
	for (int k = 0; k < c->all.columns; k++)
		c->all.column[k].text = c->all.column[k].level_count > 0;
	int reason = odvt_write_end(&c->to, &c->all);
	if (reason) die(FAILED, "%s: cannot be written: %s", name, strerror(reason));
	free(c->distinct);
	free(c->known);
	for (int i = 0; i < c->files; i++) free(c->decided[i]);
	free(c->decided);
	free(c->drop);
}

/* ---- a temporary table ---- */

typedef struct temporary {
	const char *path;
	double limit;
	int file, quiet;
} temporary;

/*  Says what comes; the disk must have room for it. */
static void temporary_room(void *user, double size)
{
	const temporary *t = user;
	double need = 1.002 * size, there = HUGE_VAL;
#if !defined(_WIN32)
	struct statvfs s;
	if (fstatvfs(t->file, &s) == 0) there = (double)s.f_bavail * (double)s.f_frsize;
#endif
	if (need > there)
		die(FAILED,
				"%s: is above --memory, and a temporary table takes about %.3g MB where the disk "
				"has "
				"%.3g MB left",
				path_text(t->path), need / 1e6, there / 1e6);
	if (!t->quiet)
		fprintf(stderr,
				"note: %s: is above --memory %.4g MB: its rows stay on the disk, in a temporary "
				"table of about %.3g MB\n",
				path_text(t->path), t->limit / 1e6, need / 1e6);
}

#if defined(_WIN32)
/*  There an open file cannot be removed. */
static char *temporary_name;
static void temporary_remove(void) { remove(temporary_name); }
#endif

/*  Converts a CSV file to a table beside another file, and opens it. The table has no name any more
    when it is written: whatever ends the program removes it. */
static void stored_temporary(
		table *t, const char *path, const table_options *how, const char *beside, const options *o)
{
	conversion c;
	temporary room = {path, option_bytes(o, OPT_MEMORY), -1, o->given[OPT_QUIET]};
	bytes name = {NULL, 0, 0};
	memset(&c, 0, sizeof c);
	bytes_print(&name, "%s.XXXXXX", beside);
	room.file = mkstemp(name.at);
	if (room.file < 0) die(FAILED, "%s: cannot be written: %s", name.at, strerror(errno));
#if defined(_WIN32)
	temporary_name = name.at;
	atexit(temporary_remove);
#else
	remove(name.at);
#endif
	c.path = &path;
	c.files = 1;
	c.how = how;
	c.watch = watch_make(o);
	c.room = temporary_room;
	c.user = &room;
	convert_all(&c, room.file, "the temporary table");
	stored_open_file(t, room.file, path);
	stored_settle(t, path, how);
	table_free(&c.all);
	free(c.watch);
#if !defined(_WIN32)
	free(name.at);
#endif
}

#endif
