/*  odvt.h - tables on disk, as odvgp convert writes them: numbers that any row can be read from, and
    what table.h knows of their columns. C99, everything static; failures are sentences.

    A file is blocks of 4096 bytes: 4088 of content, and a hash of them and of the block's number.
    Block 0 says how large the table is and holds a hash of all others' hashes, which tells two
    tables apart. Then come the rows, 8 bytes a cell without regard to blocks, and from the next
    block on the columns: names, kinds, levels, ranges. Numbers are little-endian.

    Blocks are read by pread and checked each time. A map would be no quicker for rows in random
    order, and a file that is cut while it is mapped ends the program by a signal; here it is an
    error that names the block. Before each read the file's size and time are compared; if they have
    changed, block 0 must still be the same. */
#ifndef ODVT_H
#define ODVT_H

#include "table.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef _WIN32
#include <io.h>
#endif
#ifndef O_BINARY
#define O_BINARY 0
#endif

enum {
	ODVT_BLOCK = 4096,
	ODVT_CONTENT = ODVT_BLOCK - 8,
	ODVT_HEADER = 56,
	ODVT_VERSION = 1,
	/* Blocks that are read or written at once. */
	ODVT_PIECE = 64
};
static const char odvt_magic[] = "ODVTABLE";
/*  Bounds of dates: the years 0 to 9999, and a time zone. */
static const double ODVT_FIRST_DAY = -719530, ODVT_LAST_DAY = 2932900;

/* ---- numbers, hashes ---- */

static inline void odvt__put64(unsigned char *to, uint64_t v)
{
	for (int i = 0; i < 8; i++) to[i] = (unsigned char)(v >> (8 * i));
}

static inline uint64_t odvt__get64(const unsigned char *from)
{
	uint64_t v = 0;
	for (int i = 0; i < 8; i++) v |= (uint64_t)from[i] << (8 * i);
	return v;
}

static inline uint64_t odvt__real_bits(double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof bits);
	return bits;
}

static inline double odvt__bits_real(uint64_t bits)
{
	double v;
	memcpy(&v, &bits, sizeof v);
	return v;
}

static inline uint64_t odvt__mix(uint64_t h)
{
	h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
	return h ^ h >> 31;
}

/*  Of a block's content and number. Seven lanes, so that a processor need not wait for products; any
    change of one word changes its lane. */
static inline uint64_t odvt__hash(const unsigned char *block, uint64_t number)
{
	enum { LANES = 7 };
	uint64_t lane[LANES], h = odvt__mix(number + 1);
	for (int k = 0; k < LANES; k++) lane[k] = h + (uint64_t)k;
	for (int i = 0; i < ODVT_CONTENT; i += 8 * LANES)
		for (int k = 0; k < LANES; k++)
			lane[k] = (lane[k] ^ odvt__get64(block + i + 8 * k)) * UINT64_C(0x9e3779b97f4a7c15);
	for (int k = 0; k < LANES; k++) h = odvt__mix(h ^ lane[k]);
	return h;
}

/* ---- writing ---- */

typedef struct odvt_writer {
	int file;
	/* [ODVT_PIECE] blocks, of which `full` are; bytes of content of the next one. */
	unsigned char *piece;
	int full;
	size_t used;
	/* Of the next block of the piece; the hash of all hashes so far; bytes of content since the rows. */
	uint64_t number, digest, content;
	/* errno of the first failure. */
	int failed;
} odvt_writer;

static inline void odvt__write(odvt_writer *w, const unsigned char *from, size_t n)
{
	while (n && !w->failed) {
		errno = 0;
		ptrdiff_t done = (ptrdiff_t)write(w->file, from, (unsigned)n);
		if (done <= 0 && errno != EINTR) w->failed = errno ? errno : ENOSPC;
		if (done <= 0) continue;
		from += done;
		n -= (size_t)done;
	}
}

static inline void odvt__flush(odvt_writer *w)
{
	odvt__write(w, w->piece, (size_t)w->full * ODVT_BLOCK);
	w->full = 0;
}

/*  Ends the current block, if it holds anything. */
static inline void odvt__seal(odvt_writer *w)
{
	unsigned char *block = w->piece + (size_t)w->full * ODVT_BLOCK;
	if (!w->used) return;
	memset(block + w->used, 0, ODVT_CONTENT - w->used);
	uint64_t h = odvt__hash(block, w->number);
	odvt__put64(block + ODVT_CONTENT, h);
	w->digest = odvt__mix(w->digest ^ h);
	w->number++;
	w->used = 0;
	if (++w->full == ODVT_PIECE) odvt__flush(w);
}

static inline void odvt__put(odvt_writer *w, const void *from, size_t n)
{
	const unsigned char *s = (const unsigned char *)from;
	w->content += n;
	while (n) {
		size_t part = n < ODVT_CONTENT - w->used ? n : ODVT_CONTENT - w->used;
		memcpy(w->piece + (size_t)w->full * ODVT_BLOCK + w->used, s, part);
		w->used += part;
		s += part;
		n -= part;
		if (w->used == ODVT_CONTENT) odvt__seal(w);
	}
}

/*  The rows that are given from now on become a table in this file, which is empty. Returns 1 if
    there is no memory. */
static inline int odvt_write_begin(odvt_writer *w, int file)
{
	memset(w, 0, sizeof *w);
	w->file = file;
	w->piece = (unsigned char *)calloc(ODVT_PIECE, ODVT_BLOCK);
	if (!w->piece) return 1;
	/* The place of block 0. */
	odvt__write(w, w->piece, ODVT_BLOCK);
	w->number = 1;
	return 0;
}

static inline void odvt_write_cells(odvt_writer *w, const double *cell, ptrdiff_t n)
{
	for (ptrdiff_t i = 0; i < n; i++) {
		unsigned char raw[8];
		odvt__put64(raw, odvt__real_bits(cell[i]));
		odvt__put(w, raw, sizeof raw);
	}
}

/* ---- what a table says of itself: one function walks over it to write and to read ---- */

typedef struct odvt__walk {
	/* NULL: reads from `from` to `end`. */
	odvt_writer *to;
	const unsigned char *from, *end;
	/* What does not fit; NULL: nothing so far. */
	const char *wrong;
} odvt__walk;

static inline uint64_t odvt__word(odvt__walk *w, uint64_t v)
{
	unsigned char raw[8];
	odvt__put64(raw, v);
	if (w->to) odvt__put(w->to, raw, 8);
	else if (w->wrong || w->end - w->from < 8) w->wrong = w->wrong ? w->wrong : "it ends early";
	else {
		v = odvt__get64(w->from);
		w->from += 8;
	}
	return v;
}

/*  A whole number from `least` to `most`, which is `least` where the file has another. */
static inline int64_t odvt__whole(
		odvt__walk *w, int64_t v, int64_t least, int64_t most, const char *what)
{
	v = (int64_t)odvt__word(w, (uint64_t)v);
	if (!w->to && (w->wrong || v < least || v > most)) {
		if (!w->wrong) w->wrong = what;
		return least;
	}
	return v;
}

static inline void odvt__int(odvt__walk *w, int *v, int most, const char *what)
{
	*v = (int)odvt__whole(w, *v, 0, most, what);
}

static inline void odvt__long(odvt__walk *w, long *v, const char *what)
{
	*v = (long)odvt__whole(w, *v, 0, LONG_MAX, what);
}

static inline void odvt__real(odvt__walk *w, double *v)
{
	*v = odvt__bits_real(odvt__word(w, odvt__real_bits(*v)));
}

/*  A text without zero bytes, or NULL. */
static inline void odvt__text(odvt__walk *w, char **text)
{
	int64_t n = *text ? (int64_t)strlen(*text) : -1;
	n = odvt__whole(w, n, -1, w->to ? INT64_MAX : (int64_t)(w->end - w->from), "a text's length");
	if (n < 0 || w->wrong) return;
	if (w->to) {
		odvt__put(w->to, *text, (size_t)n);
		return;
	}
	/* What was measured may have been the length itself. */
	if (n > w->end - w->from || memchr(w->from, 0, (size_t)n)) {
		w->wrong = "a text";
		return;
	}
	*text = (char *)malloc((size_t)n + 1);
	if (!*text) {
		w->wrong = "too large for the memory";
		return;
	}
	memcpy(*text, w->from, (size_t)n);
	(*text)[n] = 0;
	w->from += n;
}

/*  Room for `count` things of which each has at least 8 bytes in the file. */
static inline void *odvt__room(odvt__walk *w, ptrdiff_t count, size_t size)
{
	if (w->wrong || count > (w->end - w->from) / 8) {
		if (!w->wrong) w->wrong = "a number of things";
		return NULL;
	}
	void *room = calloc((size_t)count + 1, size);
	if (!room) w->wrong = "too large for the memory";
	return room;
}

static inline void odvt__walk_levels(odvt__walk *w, table_column *c)
{
	int count = c->level_count;
	odvt__int(w, &count, INT_MAX - 1, "a number of levels");
	if (!w->to) {
		c->levels = (char **)odvt__room(w, count, sizeof *c->levels);
		if (c->levels) c->level_lines = (long *)odvt__room(w, count, sizeof *c->level_lines);
		c->level_count = c->level_lines ? count : 0;
	}
	for (int k = 0; k < c->level_count && !w->wrong; k++) {
		odvt__text(w, &c->levels[k]);
		odvt__long(w, &c->level_lines[k], "a level's line");
		if (!c->levels[k] && !w->wrong) w->wrong = "a level";
	}
}

static inline void odvt__walk_column(odvt__walk *w, const table *t, table_column *c)
{
	char odd[sizeof c->odd], *text = odd;
	memcpy(odd, c->odd, sizeof odd);
	odvt__text(w, &c->name);
	odvt__int(w, &c->text, 1, "a kind");
	odvt__int(w, &c->date, 1, "a kind");
	odvt__int(w, &c->mixed, 1, "a kind");
	c->missing = (ptrdiff_t)odvt__whole(w, c->missing, 0, t->rows, "a number of missing cells");
	c->empty = (ptrdiff_t)odvt__whole(w, c->empty, 0, c->missing, "a number of empty cells");
	odvt__long(w, &c->missing_line, "a line");
	odvt__long(w, &c->odd_line, "a line");
	if (!w->to) text = NULL;
	odvt__text(w, &text);
	if (!w->to && text) {
		if (strlen(text) >= sizeof c->odd) w->wrong = "a text";
		else memcpy(c->odd, text, strlen(text) + 1);
		free(text);
	}
	odvt__real(w, &c->low);
	odvt__real(w, &c->high);
	odvt__walk_levels(w, c);
}

static inline void odvt__walk_table(odvt__walk *w, table *t)
{
	int separator = (unsigned char)t->separator, other = (unsigned char)t->other;
	odvt__int(w, &t->header, 1, "its header");
	odvt__int(w, &t->odd_header, 1, "its header");
	odvt__int(w, &t->unlike, 1, "its header");
	odvt__int(w, &t->trailed, TABLE_MOST_COLUMNS, "its last column");
	odvt__int(w, &separator, 255, "its separator");
	odvt__int(w, &other, 255, "its separator");
	odvt__long(w, &t->comments, "its comments");
	t->separator = (char)separator;
	t->other = (char)other;
	t->distinct = (ptrdiff_t)odvt__whole(w, t->distinct, 0, t->rows, "its distinct rows");
	odvt__int(w, &t->distinct_more, 1, "its distinct rows");
	t->gaps = (ptrdiff_t)odvt__whole(w, t->gaps, 1, t->rows, "its lines");
	if (!w->to) t->gap = (struct table_gap *)odvt__room(w, t->gaps, sizeof *t->gap);
	for (ptrdiff_t i = 0; i < t->gaps && !w->wrong; i++) {
		struct table_gap *g = &t->gap[i];
		int64_t least = i ? g[-1].row + 1 : 0;
		g->row = (ptrdiff_t)odvt__whole(w, g->row, least, i ? t->rows - 1 : 0, "a line");
		odvt__long(w, &g->line, "a line");
		if (g->line > LONG_MAX - t->rows) w->wrong = "a line";
	}
	for (int i = 0; i < t->columns && !w->wrong; i++) odvt__walk_column(w, t, &t->column[i]);
}

/*  Do the parts agree with each other? What uses a table relies on it. */
static inline const char *odvt__disagree(const table *t)
{
	for (int i = 0; i < t->columns; i++) {
		const table_column *c = &t->column[i];
		int texts = 0;
		if ((c->name != NULL) != t->header) return "a name";
		if (c->text && c->date) return "a kind";
		if (c->date && c->low <= c->high &&
				!(c->low >= ODVT_FIRST_DAY && c->high <= ODVT_LAST_DAY))
			return "a range";
		if (!c->missing != !c->missing_line) return "a missing cell";
		if (c->text != (c->level_count > 0)) return "a number of levels";
		for (int k = 0; k < c->level_count && c->mixed && !texts; k++)
			texts = !*table_hint(c->levels[k]);
		if (c->mixed && !texts) return "a kind";
	}
	return NULL;
}

/*  Writes what stands behind the rows, and block 0. Returns 0, or errno's reason. */
static inline int odvt_write_end(odvt_writer *w, table *t)
{
	unsigned char block[ODVT_BLOCK] = {0};
	odvt__walk walk = {w, NULL, NULL, NULL};
	odvt__seal(w);
	uint64_t data = w->number - 1;
	w->content = 0;
	odvt__walk_table(&walk, t);
	odvt__seal(w);
	odvt__flush(w);
	memcpy(block, odvt_magic, 8);
	odvt__put64(block + 8, ODVT_VERSION);
	odvt__put64(block + 16, (uint64_t)t->rows);
	odvt__put64(block + 24, (uint64_t)t->columns);
	odvt__put64(block + 32, data);
	odvt__put64(block + 40, w->content);
	odvt__put64(block + 48, w->digest);
	odvt__put64(block + ODVT_CONTENT, odvt__hash(block, 0));
	if (!w->failed && lseek(w->file, 0, SEEK_SET) != 0) w->failed = errno;
	odvt__write(w, block, ODVT_BLOCK);
#if !defined(_WIN32)
	/* A full disk may say so only now. */
	if (!w->failed && fsync(w->file) && errno != EINVAL) w->failed = errno;
#endif
	free(w->piece);
	w->piece = NULL;
	return w->failed;
}

/* ---- reading ---- */

typedef struct odvt {
	int file;
	/* Its name in sentences; what failed. */
	char *path;
	char error[400];
	ptrdiff_t rows;
	int columns;
	/* Blocks of rows; bytes of content behind them. */
	uint64_t data, content;
	/* As it was opened. */
	struct stat is;
	unsigned char first[ODVT_BLOCK];
	/* [ODVT_PIECE] blocks; those that are in it: the first one's number, and how many. */
	unsigned char *piece;
	uint64_t at;
	int there;
} odvt;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline int
odvt__fail(odvt *o, const char *format, ...)
{
	va_list list;
	int n = snprintf(o->error, sizeof o->error, "%s: ", o->path);
	va_start(list, format);
	if (n > 0 && (size_t)n < sizeof o->error)
		vsnprintf(o->error + n, sizeof o->error - (size_t)n, format, list);
	va_end(list);
	return 1;
}

/*  Reads `need` bytes from byte `at` on. Returns how many there are; -1: failed, see errno. */
static inline ptrdiff_t odvt__pread(int file, void *to, uint64_t at, size_t need)
{
	size_t done = 0;
#ifdef _WIN32
	if (lseek(file, (off_t)at, SEEK_SET) < 0) return -1;
#endif
	while (done < need) {
#ifdef _WIN32
		ptrdiff_t n = (ptrdiff_t)read(file, (char *)to + done, (unsigned)(need - done));
#else
		ptrdiff_t n = (ptrdiff_t)pread(file, (char *)to + done, need - done, (off_t)(at + done));
#endif
		if (n < 0 && errno == EINTR) continue;
		if (n < 0) return -1;
		if (!n) break;
		done += (size_t)n;
	}
	return (ptrdiff_t)done;
}

static inline uint64_t odvt__blocks(const odvt *o)
{
	return 1 + o->data + (o->content + ODVT_CONTENT - 1) / ODVT_CONTENT;
}

/*  Reads blocks and checks each. */
static inline int odvt__load(odvt *o, unsigned char *to, uint64_t block, int count)
{
	ptrdiff_t n = odvt__pread(o->file, to, block * ODVT_BLOCK, (size_t)count * ODVT_BLOCK);
	unsigned long long all = (unsigned long long)odvt__blocks(o) - 1;
	if (n < 0)
		return odvt__fail(o, "block %llu of %llu cannot be read: %s", (unsigned long long)block,
				all, strerror(errno));
	for (int i = 0; i < count; i++, to += ODVT_BLOCK) {
		unsigned long long number = (unsigned long long)block + (unsigned)i;
		if ((ptrdiff_t)(i + 1) * ODVT_BLOCK > n)
			return odvt__fail(o, "is truncated: block %llu of %llu is not there", number, all);
		if (odvt__hash(to, number) != odvt__get64(to + ODVT_CONTENT))
			return odvt__fail(
					o, "block %llu of %llu is damaged: convert the data again", number, all);
	}
	return 0;
}

static inline int odvt__same_time(const struct stat *a, const struct stat *b)
{
	if (a->st_size != b->st_size || a->st_mtime != b->st_mtime) return 0;
#if defined(__linux__)
	return a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
#else
	return 1;
#endif
}

/*  Is it still the table that was opened? */
static inline int odvt__check_same(odvt *o)
{
	struct stat is;
	unsigned char first[ODVT_BLOCK];
	if (fstat(o->file, &is)) return odvt__fail(o, "cannot be read: %s", strerror(errno));
	if (odvt__same_time(&is, &o->is)) return 0;
	o->there = 0;
	if (odvt__pread(o->file, first, 0, sizeof first) == ODVT_BLOCK &&
			memcmp(first, o->first, sizeof first) != 0)
		return odvt__fail(o, "was replaced by another table while it was read");
	/* A file that is cut, or partly written, is found by its blocks. */
	o->is = is;
	return 0;
}

/*  Reads content of the rows' blocks, or of those behind them, from a byte on. random: it will not go
    on from there. */
static inline int odvt__content(odvt *o, uint64_t from, size_t n, unsigned char *to, int random)
{
	uint64_t end = odvt__blocks(o);
	while (n) {
		uint64_t block = 1 + from / ODVT_CONTENT;
		size_t skip = (size_t)(from % ODVT_CONTENT),
			   part = n < ODVT_CONTENT - skip ? n : ODVT_CONTENT - skip;
		if (block < o->at || block >= o->at + (uint64_t)o->there) {
			int count = random ? (int)((skip + n + ODVT_CONTENT - 1) / ODVT_CONTENT) : ODVT_PIECE;
			if (count > ODVT_PIECE) count = ODVT_PIECE;
			if ((uint64_t)count > end - block) count = (int)(end - block);
			o->there = 0;
			if (odvt__load(o, o->piece, block, count)) return 1;
			o->at = block;
			o->there = count;
		}
		memcpy(to, o->piece + (size_t)(block - o->at) * ODVT_BLOCK + skip, part);
		to += part;
		from += part;
		n -= part;
	}
	return 0;
}

/*  Could a reader of this column have found the value? */
static inline int odvt__fits(const table_column *c, double v)
{
	if (v != v) return c->missing > 0;
	if (v > DBL_MAX) return c->odd_line > 0;
	if (c->text) return v >= 0 && v < c->level_count && v == floor(v);
	return c->date ? v >= ODVT_FIRST_DAY && v <= ODVT_LAST_DAY : v >= -DBL_MAX;
}

/*  Reads `count` rows from `first` on into cell [count, columns], and checks that their columns, as the
    file describes them, may hold them. */
static inline int odvt_rows(odvt *o, const table_column *column, ptrdiff_t first, ptrdiff_t count,
		double *cell, int random)
{
	size_t width = (size_t)o->columns * 8;
	unsigned char *raw = (unsigned char *)(void *)cell;
	if (odvt__check_same(o)) return 1;
	for (ptrdiff_t i = 0; i < count; i++, cell += o->columns, raw += width) {
		uint64_t from = (uint64_t)(first + i) * width;
		if (odvt__content(o, from, width, raw, random)) return 1;
		for (int k = 0; k < o->columns; k++) {
			cell[k] = odvt__bits_real(odvt__get64(raw + 8 * k));
			if (!odvt__fits(&column[k], cell[k]))
				return odvt__fail(o,
						"block %llu is damaged: row %lld has a cell that column %d cannot hold",
						(unsigned long long)(1 + (from + 8 * (unsigned)k) / ODVT_CONTENT),
						(long long)(first + i), k);
		}
	}
	return 0;
}

/*  Do the hashes of all blocks make the one that block 0 holds? Then none is another table's. */
static inline int odvt_check(odvt *o)
{
	uint64_t digest = 0, end = odvt__blocks(o);
	o->there = 0;
	for (uint64_t block = 1; block < end; block += ODVT_PIECE) {
		int count = end - block < ODVT_PIECE ? (int)(end - block) : ODVT_PIECE;
		if (odvt__load(o, o->piece, block, count)) return 1;
		for (int i = 0; i < count; i++)
			digest = odvt__mix(digest ^ odvt__get64(o->piece + i * ODVT_BLOCK + ODVT_CONTENT));
	}
	if (digest != odvt__get64(o->first + 48))
		return odvt__fail(o, "has blocks of another table: convert the data again");
	return 0;
}

static inline void odvt_close(odvt *o)
{
	if (!o) return;
	if (o->file >= 0) close(o->file);
	free(o->piece);
	free(o->path);
	free(o);
}

/*  Block 0. */
static inline int odvt__read_first(odvt *o)
{
	const unsigned char *b = o->first;
	uint64_t rows, columns, most = (uint64_t)1 << 48;
	ptrdiff_t n = odvt__pread(o->file, o->first, 0, sizeof o->first);
	if (n < 0) return odvt__fail(o, "cannot be read: %s", strerror(errno));
	if (n < 16 || memcmp(b, odvt_magic, 8) != 0) return odvt__fail(o, "is no table of odvgp");
	if (odvt__get64(b + 8) != ODVT_VERSION)
		return odvt__fail(o, "is a table of another version of odvgp: convert the data again");
	if (n < ODVT_BLOCK) return odvt__fail(o, "is truncated: block 0 is not there");
	if (odvt__hash(b, 0) != odvt__get64(b + ODVT_CONTENT))
		return odvt__fail(o, "block 0 is damaged: convert the data again");
	rows = odvt__get64(b + 16);
	columns = odvt__get64(b + 24);
	o->data = odvt__get64(b + 32);
	o->content = odvt__get64(b + 40);
	if (rows < 1 || rows > most || columns < 1 || columns > TABLE_MOST_COLUMNS ||
			rows > most / columns || rows > PTRDIFF_MAX / 8 / columns || o->content > most ||
			o->data != (rows * columns * 8 + ODVT_CONTENT - 1) / ODVT_CONTENT)
		return odvt__fail(o, "block 0 is damaged: its sizes are impossible");
	o->rows = (ptrdiff_t)rows;
	o->columns = (int)columns;
	unsigned long long need = (unsigned long long)odvt__blocks(o) * ODVT_BLOCK,
					   there = (unsigned long long)o->is.st_size;
	if (there != need)
		return odvt__fail(o, "is %s: it has %llu bytes of %llu",
				there < need ? "truncated" : "damaged", there, need);
	return 0;
}

/*  Opens a table from a file, which from now on is its own: what it says of itself goes to *t, whose
    rows odvt_rows reads. NULL: failed, with a sentence. */
static inline odvt *odvt_open(int file, const char *path, table *t, char *error, size_t size)
{
	odvt *o = (odvt *)calloc(1, sizeof *o);
	unsigned char *content = NULL;
	int bad = 1;
	memset(t, 0, sizeof *t);
	if (o) {
		o->file = file;
		o->path = (char *)malloc(strlen(path) + 1);
		o->piece = (unsigned char *)malloc((size_t)ODVT_PIECE * ODVT_BLOCK);
	} else close(file);
	if (!o || !o->path || !o->piece) snprintf(error, size, "%s: too large for the memory", path);
	else {
		memcpy(o->path, path, strlen(path) + 1);
		bad = fstat(file, &o->is) ? odvt__fail(o, "cannot be read: %s", strerror(errno))
								  : odvt__read_first(o);
		if (!bad) {
			t->rows = o->rows;
			t->columns = o->columns;
			content = (unsigned char *)malloc((size_t)o->content + 1);
			t->column = (table_column *)calloc((size_t)o->columns, sizeof *t->column);
			bad = content && t->column
						  ? odvt__content(o, o->data * ODVT_CONTENT, (size_t)o->content, content, 0)
						  : odvt__fail(o, "too large for the memory");
		}
		if (!bad) {
			odvt__walk walk = {NULL, content, content + o->content, NULL};
			odvt__walk_table(&walk, t);
			if (!walk.wrong && walk.from != walk.end) walk.wrong = "it goes on";
			if (!walk.wrong) walk.wrong = odvt__disagree(t);
			if (walk.wrong)
				bad = odvt__fail(o, "what it says of its columns is damaged: %s", walk.wrong);
		}
		if (!bad && t->header) bad = table__index(t) && odvt__fail(o, "too large for the memory");
		for (int i = 0; i < t->columns && !t->header && !bad; i++) t->column[i].next = -1;
		if (bad) snprintf(error, size, "%s", o->error);
	}
	free(content);
	if (!bad) return o;
	table_free(t);
	odvt_close(o);
	return NULL;
}

#endif
