/*  tables.h - tables that are not CSV: those of odvgp convert, and NumPy's .npy; in memory, or with
    rows that stay on the disk.

    What asks for a kind of column that the file does not have, as a model or --ordinal does, gets
    what a CSV file with these cells would give: numbers in texts, or misfits. A number as text is
    written with as many digits as it needs. */
#ifndef TOOL_TABLES_H
#define TOOL_TABLES_H

#include "odvt.h"
#include "watch.h"

/* ---- NumPy's arrays ---- */

typedef struct npy {
	int file;
	char *path;
	/* Where the numbers begin, and bytes of each. */
	uint64_t start;
	int size;
	struct stat is;
} npy;

static const char npy_magic[] = "\x93NUMPY";

/*  What follows 'KEY': in the header. */
static const char *npy_value(const char *header, const char *key)
{
	const char *s = strstr(header, key);
	if (!s) return "";
	s += strlen(key);
	return s + strspn(s, "'\": ");
}

/*  The file's sizes: [rows] or [rows,columns] of '<f4' or '<f8', by rows. Ends the program if it is
    another array. */
static void npy_open(npy *a, int file, const char *path, table *t)
{
	enum { MOST = 1 << 16 };
	unsigned char head[12] = {0};
	a->file = file;
	a->path = copy_text(path);
	if (fstat(file, &a->is) || lseek(file, 0, SEEK_SET) || read(file, head, 12) != 12)
		die(BAD_INPUT, "%s: is truncated", path);
	size_t length = head[8] + 256u * head[9], begin = head[6] > 1 ? 12 : 10;
	if (head[6] > 1) length += 65536u * head[10] + 16777216u * head[11];
	if (head[6] < 1 || head[6] > 3 || length > MOST)
		die(BAD_INPUT, "%s: is a NumPy file of an unknown version", path);
	char *header = take(length + 1, 1);
	if (lseek(file, (off_t)begin, SEEK_SET) < 0 ||
			read(file, header, (unsigned)length) != (ptrdiff_t)length)
		die(BAD_INPUT, "%s: is truncated", path);
	const char *type = npy_value(header, "descr"), *order = npy_value(header, "fortran_order"),
			   *shape = npy_value(header, "shape");
	char *end = NULL;
	a->size = strncmp(type, "<f8'", 4) == 0 ? 8 : strncmp(type, "<f4'", 4) == 0 ? 4 : 0;
	if (!a->size)
		die(BAD_INPUT, "%s: holds '%.*s', and must hold float32 or float64, '<f4' or '<f8'", path,
				(int)smaller(12, (ptrdiff_t)strcspn(type, "'")), type);
	if (strncmp(order, "False", 5) != 0)
		die(BAD_INPUT, "%s: is stored by columns: save numpy.ascontiguousarray(x)", path);
	errno = 0;
	long long rows = *shape == '(' ? strtoll(shape + 1, &end, 10) : -1, columns = 1;
	if (end && *end == ',' && end[1 + strspn(end + 1, " ")] != ')')
		columns = strtoll(end + 1, &end, 10);
	if (end && *end == ',') end++;
	if (!end || *end != ')' || errno || rows < 1 || columns < 1 || columns > TABLE_MOST_COLUMNS ||
			rows > INT64_C(1) << 48 || rows > (INT64_C(1) << 48) / columns ||
			rows > PTRDIFF_MAX / 8 / columns)
		die(BAD_INPUT, "%s: has the shape %.40s, and must have rows and columns", path, shape);
	a->start = begin + length;
	uint64_t need = a->start + (uint64_t)rows * (uint64_t)columns * (unsigned)a->size;
	if ((uint64_t)a->is.st_size < need)
		die(BAD_INPUT, "%s: is truncated: it has %llu bytes of %llu", path,
				(unsigned long long)a->is.st_size, (unsigned long long)need);
	free(header);
	t->rows = (ptrdiff_t)rows;
	t->columns = (int)columns;
	t->column = take((size_t)columns, sizeof *t->column);
	for (int i = 0; i < t->columns; i++) t->column[i].next = -1;
	t->gap = take(1, sizeof *t->gap);
	t->gap[0].line = 1;
	t->gaps = 1;
}

/*  Reads `count` numbers from number `first` on. Returns 1, with a sentence, if that fails. */
static int npy_numbers(npy *a, uint64_t first, size_t count, double *to, char *error, size_t size)
{
	struct stat is;
	size_t need = count * (unsigned)a->size;
	/* The numbers begin at the end, and are widened from the front. */
	unsigned char *raw = (unsigned char *)(void *)to + count * 8 - need, *from = raw;
	if (fstat(a->file, &is) || !odvt__same_time(&is, &a->is)) {
		snprintf(error, size, "%s: was changed while it was read", a->path);
		return 1;
	}
	ptrdiff_t n = odvt__pread(a->file, raw, a->start + first * (unsigned)a->size, need);
	if (n < (ptrdiff_t)need) {
		snprintf(error, size, "%s: %s", a->path, n < 0 ? strerror(errno) : "is truncated");
		return 1;
	}
	for (size_t i = 0; i < count; i++, from += a->size) {
		uint64_t bits = 0;
		for (int k = 0; k < a->size; k++) bits |= (uint64_t)from[k] << (8 * k);
		if (a->size == 8) to[i] = odvt__bits_real(bits);
		else {
			uint32_t narrow = (uint32_t)bits;
			float v;
			memcpy(&v, &narrow, sizeof v);
			to[i] = (double)v;
		}
		/* As a CSV file has it. */
		if (isinf(to[i])) to[i] = HUGE_VAL;
	}
	return 0;
}

/* ---- cells as texts ---- */

/*  The fewest digits that make the number. */
static const char *number_text(char text[40], double v)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, 40, "%.*g", digits, v);
		if (strtod(text, NULL) >= v && strtod(text, NULL) <= v) break;
	}
	return text;
}

/*  The year of a day since 1970. */
static int year_of(double days)
{
	int year = 1970 + (int)floor(days / 365.2425);
	while (table_days(year, 1, 1) > days) year--;
	while (table_days(year + 1, 1, 1) <= days) year++;
	return year;
}

/*  Days since 1970 as a date, with a time if they are not whole. */
static const char *days_text(char text[40], double v)
{
	double day = floor(v), seconds = floor((v - day) * 86400 + 0.5);
	if (seconds >= 86400) day++, seconds = 0;
	int year = year_of(day), month = 12, clock = (int)seconds;
	while (table_days(year, month, 1) > day) month--;
	int n = snprintf(
			text, 40, "%04d-%02d-%02d", year, month, 1 + (int)(day - table_days(year, month, 1)));
	if (clock)
		snprintf(text + n, 40 - (size_t)n, "T%02d:%02d:%02d", clock / 3600, clock / 60 % 60,
				clock % 60);
	return text;
}

/*  A cell as it would stand in a CSV file; NULL: it is missing. */
static const char *cell_text(const table_column *c, double v, char text[40])
{
	if (isnan(v)) return NULL;
	if (!isfinite(v)) return c->odd;
	if (c->text) return c->levels[(int)v];
	return c->date ? days_text(text, v) : number_text(text, v);
}

/* ---- rows ---- */

enum { AS_STORED, TO_ODD, TO_NUMBER, TO_TEXT };

/*  What a column's cells become; number [levels] of those that are texts. */
typedef struct recast {
	int to;
	double *number;
} recast;

/*  A table whose rows are read when they are asked for. */
typedef struct stored {
	/* One of the two. */
	odvt *table;
	npy array;
	/* As the caller sees the columns; and as the file has them. */
	table_column *column, *kind;
	ptrdiff_t rows;
	int columns;
	/* [columns]; NULL: they stay as they are. */
	recast *recast;
	/* [room, columns] the rows from `first` on; how many there are. */
	double *window;
	ptrdiff_t first, count, room;
	char error[400];
} stored;

/*  Bytes of rows that are kept from a table on disk. */
enum { STORED_WINDOW = 1 << 18, STORED_MOST_LEVELS = 100000 };

/*  A number becomes a level, which is new in the first pass. */
static double recast_text(stored *s, int column, double v)
{
	char text[40];
	const char *cell = cell_text(&s->kind[column], v, text);
	table__cell whole = {cell, cell + strlen(cell), 0};
	int level = table__level(&s->column[column], &whole, 0);
	if (level < 0) die(FAILED, "out of memory");
	return level;
}

/*  Reads rows into cell [count, columns]. Returns 1, with a sentence in s->error, if that fails. */
static int stored_rows(stored *s, ptrdiff_t first, ptrdiff_t count, double *cell, int random)
{
	if (!s->table && npy_numbers(&s->array, (uint64_t)first * (unsigned)s->columns,
							 (size_t)count * (unsigned)s->columns, cell, s->error, sizeof s->error))
		return 1;
	if (s->table && odvt_rows(s->table, s->kind, first, count, cell, random)) {
		snprintf(s->error, sizeof s->error, "%s", s->table->error);
		return 1;
	}
	for (int k = 0; k < s->columns && s->recast; k++) {
		const recast *r = &s->recast[k];
		for (double *v = cell + k; v < cell + count * s->columns && r->to; v += s->columns) {
			if (!isfinite(*v)) continue;
			*v = r->to == TO_ODD      ? HUGE_VAL
				 : r->to == TO_NUMBER ? r->number[(int)*v]
									  : recast_text(s, k, *v);
		}
	}
	return 0;
}

/*  One row, for passes in order; NULL: failed, with a sentence. */
static const double *stored_next(stored *s, ptrdiff_t row)
{
	if (row < s->first || row >= s->first + s->count) {
		s->first = row;
		s->count = smaller(s->room, s->rows - row);
		if (stored_rows(s, row, s->count, s->window, 0)) {
			s->count = 0;
			return NULL;
		}
	}
	return s->window + (row - s->first) * s->columns;
}

/*  Before a training a failure ends the program. */
static const double *stored_row(void *from, ptrdiff_t row)
{
	stored *s = from;
	const double *cell = stored_next(s, row);
	if (!cell) die(FAILED, "%s", s->error);
	return cell;
}

static void stored_close(void *from)
{
	stored *s = from;
	odvt_close(s->table);
	if (!s->table) close(s->array.file);
	free(s->array.path);
	for (int k = 0; k < s->columns && s->recast; k++) {
		table_column *kind = &s->kind[k];
		if (s->recast[k].to == AS_STORED || s->recast[k].to == TO_TEXT) continue;
		for (int i = 0; i < kind->level_count; i++) free(kind->levels[i]);
		free(kind->levels);
		free(kind->level_lines);
		free(s->recast[k].number);
	}
	free(s->recast);
	free(s->kind);
	free(s->window);
	free(s);
}

/*  Missing cells, misfits and ranges of an array, which only its numbers tell. */
static void npy_scan(const table *t)
{
	for (ptrdiff_t i = 0; i < t->rows; i++) {
		const double *cell = table_row(t, i);
		for (int k = 0; k < t->columns; k++) {
			table_column *c = &t->column[k];
			if (isnan(cell[k]) && !c->missing++) c->missing_line = table_line(t, i);
			if (isinf(cell[k]) && !c->odd_line) {
				c->odd_line = table_line(t, i);
				snprintf(c->odd, sizeof c->odd, "inf");
			}
			if (!isfinite(cell[k])) continue;
			/* low > high: none yet. */
			if (cell[k] < c->low) c->low = cell[k];
			if (cell[k] > c->high) c->high = cell[k];
		}
	}
}

/*  Does the file begin as a table or an array? */
static int is_stored(const char *path)
{
	char head[8] = {0};
	if (strcmp(path, "-") == 0 || is_device(path)) return 0;
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(head, 1, 8, f) : 0;
	if (f) fclose(f);
	return n == 8 && (memcmp(head, odvt_magic, 8) == 0 || memcmp(head, npy_magic, 6) == 0);
}

/*  The table in an open file, which becomes its own; rows are read when they are asked for. */
static void stored_open_file(table *t, int file, const char *path)
{
	char error[400];
	stored *s = take(1, sizeof *s);
	memset(t, 0, sizeof *t);
	unsigned char head[8] = {0};
	if (lseek(file, 0, SEEK_SET) || read(file, head, 8) != 8)
		die(BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
	int is_array = memcmp(head, npy_magic, 6) == 0;
	if (is_array) npy_open(&s->array, file, path, t);
	else s->table = odvt_open(file, path, t, error, sizeof error);
	if (!is_array && !s->table) die(BAD_INPUT, "%s", error);
	s->rows = t->rows;
	s->columns = t->columns;
	s->column = t->column;
	s->room = larger(1, smaller(t->rows, STORED_WINDOW / 8 / t->columns));
	s->window = take_doubles(s->room, t->columns);
	t->fetch = stored_row;
	t->close = stored_close;
	t->stored = s;
	if (is_array) {
		for (int k = 0; k < t->columns; k++)
			t->column[k].low = HUGE_VAL, t->column[k].high = -HUGE_VAL;
		npy_scan(t);
	}
	s->kind = take((size_t)t->columns, sizeof *s->kind);
	memcpy(s->kind, t->column, (size_t)t->columns * sizeof *s->kind);
}

static void stored_open(table *t, const char *path)
{
	int file = open(path, O_RDONLY | O_BINARY);
	if (file < 0) die(BAD_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
	stored_open_file(t, file, path);
}

/* ---- kinds of columns that are asked for ---- */

/*  The first row with a value. */
static ptrdiff_t first_value(const table *t, int column)
{
	ptrdiff_t i = 0;
	while (i < t->rows - 1 && isnan(table_row(t, i)[column])) i++;
	return i;
}

/*  The levels that are numbers, where numbers are asked for. */
static void recast_numbers(recast *r, table_column *c, const table_column *kind)
{
	r->to = TO_NUMBER;
	r->number = take_doubles(kind->level_count, 1);
	for (int k = 0; k < kind->level_count; k++) {
		table__cell cell = {kind->levels[k], kind->levels[k] + strlen(kind->levels[k]), 0};
		table__style plain = {'.', 0};
		if (table__is_number(&cell, &plain, &r->number[k]) && fabs(r->number[k]) <= DBL_MAX)
			continue;
		r->number[k] = HUGE_VAL;
		if (c->odd_line && c->odd_line <= kind->level_lines[k]) continue;
		c->odd_line = kind->level_lines[k];
		snprintf(c->odd, sizeof c->odd, "%s", kind->levels[k]);
	}
}

/*  The texts of a column's numbers, where texts are asked for. */
static void recast_levels(const table *t, int column, const char *path)
{
	stored *s = t->stored;
	table_column *c = &t->column[column];
	s->recast[column].to = AS_STORED; /* the window is not rewritten in this pass */
	for (ptrdiff_t i = 0; i < t->rows; i++) {
		double v = table_row(t, i)[column];
		int known = c->level_count;
		if (!isfinite(v)) continue;
		recast_text(s, column, v);
		if (c->level_count > known) c->level_lines[known] = table_line(t, i);
		if (c->level_count > STORED_MOST_LEVELS)
			die(BAD_INPUT, "%s: column %d holds more than %d different numbers, too many for texts",
					path, column, STORED_MOST_LEVELS);
	}
	s->recast[column].to = TO_TEXT;
	s->count = 0;
}

static void recast_column(const table *t, int column, const char *path)
{
	stored *s = t->stored;
	table_column *c = &t->column[column];
	const table_column *kind = &s->kind[column];
	recast *r = &s->recast[column];
	c->mixed = 0;
	if (kind->text && !c->date) recast_numbers(r, c, kind);
	else if (c->text) recast_levels(t, column, path);
	else {
		char text[40];
		ptrdiff_t i = first_value(t, column);
		double v = table_row(t, i)[column];
		r->to = TO_ODD;
		if (isfinite(v) && !(c->odd_line && c->odd_line < table_line(t, i))) {
			c->odd_line = table_line(t, i);
			snprintf(c->odd, sizeof c->odd, "%s", cell_text(kind, v, text));
		}
	}
	if (c->text) return;
	/* They stay where `kind` has them. */
	c->levels = NULL;
	c->level_lines = NULL;
	c->level_count = 0;
}

/*  Makes the kinds of columns what `how` asks for. */
static void stored_settle(table *t, const char *path, const table_options *how)
{
	stored *s = t->stored;
	if (!how->settle) return;
	how->settle(how->user, t);
	for (int k = 0; k < t->columns; k++) {
		table_column *c = &t->column[k];
		const table_column *kind = &s->kind[k];
		c->keep = 0; /* cell_text gives the cells */
		if (c->settled != 2 || (c->text == kind->text && c->date == kind->date)) {
			c->text = kind->text;
			c->date = kind->date;
			continue;
		}
		if (!s->recast) s->recast = take((size_t)t->columns, sizeof *s->recast);
		recast_column(t, k, path);
	}
	s->count = 0;
}

/*  Reads a table. on_disk: its rows stay there. */
static void stored_read(table *t, const char *path, const table_options *how, int on_disk)
{
	stored_open(t, path);
	stored_settle(t, path, how);
	if (on_disk) return;
	stored *s = t->stored;
	double *values = take_doubles(t->rows, t->columns);
	if (stored_rows(s, 0, t->rows, values, 0)) die(FAILED, "%s", s->error);
	t->values = values;
	stored_close(s);
	t->stored = NULL;
	t->close = NULL;
}

#endif
