/*  base.h - what all parts of the tool use: errors that end the program, memory, growing texts,
    lists in options, files, the clock. */
#ifndef TOOL_BASE_H
#define TOOL_BASE_H

#include "../../odvgp.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "on_windows.h"

#if defined(__MINGW32__)
#define PRINTF_LIKE(text, rest) __attribute__((format(gnu_printf, text, rest)))
#define NO_RETURN               __attribute__((noreturn))
#elif defined(__GNUC__)
#define PRINTF_LIKE(text, rest) __attribute__((format(printf, text, rest)))
#define NO_RETURN               __attribute__((noreturn))
#else
#define PRINTF_LIKE(text, rest)
#define NO_RETURN
#endif

/*  The layer that the likelihood sees; its type has no name. */
#define LAST_LAYER(config) ((config)->layer[(config)->layers - 1])

/* ---- errors ---- */

/*  Exit codes. */
enum { FAILED = 1, BAD_INPUT = 2 };

/*  What the sentences of die are about where they do not name it, such as an item of a list; NULL:
    they stand alone. */
static const char *die_about;

/*  Called by die with its sentence, before the end: for results that should not be lost. */
static void (*die_first)(void *user, const char *sentence);
static void *die_user;

/*  The bytes of the UTF-8 character at s; 1 for a byte that is none. */
static int character_bytes(const unsigned char *s)
{
	int n = *s >= 0xF0 ? 4 : *s >= 0xE0 ? 3 : *s >= 0xC2 ? 2 : 1;
	for (int i = 1; i < n; i++)
		if ((s[i] & 0xC0) != 0x80) return 1;
	return n;
}

/*  Control characters, which would command the terminal, become spaces: those of ASCII but for line
    ends where these stay, and those of Latin-1, bare or as UTF-8. */
static void clean_text(char *text, int lines_stay)
{
	unsigned char *s = (unsigned char *)text;
	for (int n; *s; s += n) {
		n = character_bytes(s);
		int bare = n == 1 && (iscntrl(*s) || (*s >= 0x80 && *s < 0xA0)),
			is_line_end = *s == '\n' && lines_stay;
		if (n == 2 && *s == 0xC2 && s[1] < 0xA0) memset(s, ' ', 2);
		else if (bare && !is_line_end) *s = ' ';
	}
}

/*  A name from a file, as messages and reports show it: in one line, without control characters, at
    most 119 bytes. */
static const char *shown_name(char text[120], const char *name)
{
	snprintf(text, 120, "%s", name);
	clean_text(text, 0);
	return text;
}
#define NAME(name) shown_name((char[120]){""}, name)

/*  Prints on stderr, without control characters but line ends. */
static void tell_text(char *text)
{
	clean_text(text, 1);
	fputs(text, stderr);
}

/*  Prints one line on stderr and ends the program. Control characters of names and cells become
    spaces. */
NO_RETURN PRINTF_LIKE(2, 3) static void die(int code, const char *format, ...)
{
	char text[1000];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	clean_text(text, 0);
	fprintf(stderr, "odvgp: %s%s%s\n", die_about ? die_about : "", die_about ? ": " : "", text);
	void (*first)(void *user, const char *sentence) = die_first;
	die_first = NULL;
	if (first) first(die_user, text);
	exit(code);
}

/* ---- memory ---- */

static ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
static ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/*  What a user may do about a lack of memory; begins with "; ". */
static const char *memory_advice = "";

/*  Ends the program, which needs this much more memory. */
NO_RETURN static void no_memory(size_t count, size_t size)
{
	double need = (double)count * (double)size;
	die(FAILED, "out of memory: %.3g %s more are needed%s", need < 1e6 ? need : need / 1e6,
			need < 1e6 ? "bytes" : "MB", memory_advice);
}

/*  Zeroed memory; never NULL. */
static void *take(size_t count, size_t size)
{
	void *block = calloc(count ? count : 1, size ? size : 1);
	if (!block) no_memory(count, size);
	return block;
}

/*  Is there as much memory now? */
static int has_memory(double bytes)
{
	void *volatile block = bytes < (double)SIZE_MAX ? malloc((size_t)bytes) : NULL;
	int there = block != NULL;
	free(block);
	return there;
}

/*  The number behind `name` in a file of the system, in its units; HUGE_VAL: there is none. */
static double system_number(const char *path, const char *name)
{
	char line[200], *end;
	double found = HUGE_VAL;
	size_t length = strlen(name);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f)) {
		if (strncmp(line, name, length) != 0) continue;
		double value = strtod(line + length, &end);
		if (end > line + length) found = value;
	}
	if (f) fclose(f);
	return found;
}

/*  Memory that is free, of the machine's and of what Linux allows the program; 0: not known. */
static double free_bytes(void)
{
#ifdef _SC_PHYS_PAGES
	double all = fmax(0, (double)sysconf(_SC_PHYS_PAGES)) * fmax(0, (double)sysconf(_SC_PAGESIZE)),
		   allowed = fmin(system_number("/sys/fs/cgroup/memory.max", ""),
				   system_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", ""));
	return fmin(fmin(all, allowed), 1024 * system_number("/proc/meminfo", "MemAvailable:"));
#else
	return 0;
#endif
}

static double *take_doubles(ptrdiff_t rows, ptrdiff_t columns)
{
	if (columns > 0 && rows > PTRDIFF_MAX / 8 / columns)
		die(FAILED, "out of memory (%td x %td numbers)", rows, columns);
	return take((size_t)(rows * columns), sizeof(double));
}

/*  The block, enlarged or shrunk to `count` elements. */
static void *resize(void *block, size_t count, size_t size)
{
	void *moved = count > SIZE_MAX / size ? NULL : realloc(block, count * size);
	if (!moved) no_memory(count, size);
	return moved;
}

static char *copy_text(const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	return text ? memcpy(take(size, 1), text, size) : NULL;
}

/*  A growing block of bytes, with a zero after the last one. Text, JSON and model file blobs are
    collected in one and written at once. */
typedef struct bytes {
	char *at;
	size_t used, room;
} bytes;

static void bytes_add(bytes *b, const void *from, size_t n)
{
	if (!b->at || b->room - b->used <= n) {
		b->room = b->room + b->room / 2 + n + 256;
		b->at = resize(b->at, b->room, 1);
	}
	if (n && from) memcpy(b->at + b->used, from, n);
	b->used += n;
	b->at[b->used] = 0;
}

PRINTF_LIKE(2, 3) static void bytes_print(bytes *b, const char *format, ...)
{
	char text[400];
	va_list list;
	va_start(list, format);
	int n = vsnprintf(text, sizeof text, format, list);
	va_end(list);
	if (n < 0) return;
	if ((size_t)n < sizeof text) {
		bytes_add(b, text, (size_t)n);
		return;
	}
	char *longer = take((size_t)n + 1, 1);
	va_start(list, format);
	vsnprintf(longer, (size_t)n + 1, format, list);
	va_end(list);
	bytes_add(b, longer, (size_t)n);
	free(longer);
}

/* ---- words and lists ---- */

/*  Is the text of this length the word? */
static int is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && strncmp(text, word, length) == 0;
}

/*  Returns the first item of the list *rest, ended with a zero in place of its separator, and moves
    *rest to the next item, or to NULL after the last one. Returns NULL where *rest is NULL. */
static char *next_item(char **rest, char separator)
{
	char *item = *rest, *end = item ? strchr(item, separator) : NULL;
	if (end) *end = 0;
	*rest = end ? end + 1 : NULL;
	return item;
}

/*  The text without blanks at its ends. */
static char *trim(char *text)
{
	text += strspn(text, " ");
	size_t n = strlen(text);
	while (n && text[n - 1] == ' ') n--;
	text[n] = 0;
	return text;
}

/*  The line after the one at s, or NULL. */
static const char *next_line(const char *s)
{
	s = strchr(s, '\n');
	return s && s[1] ? s + 1 : NULL;
}

/*  Reads the whole number at *s and moves *s past it; -1 if there is none or it exceeds 1e8. */
static int parse_index(const char **s)
{
	int v = 0;
	const char *start = *s;
	for (; isdigit((unsigned char)**s) && v < 100000000; ++*s) v = v * 10 + (**s - '0');
	return *s == start ? -1 : v;
}

/* ---- what was meant ---- */

/*  The known word that is nearest to one that is not known. */
typedef struct guess {
	char word[40];
	const char *best;
	int distance;
} guess;

typedef struct guess_clause {
	char text[80];
} guess_clause;

/*  Words of up to 39 letters, without a difference between capitals and small ones. */
static void guess_fold(char to[40], const char *from, size_t length)
{
	size_t n = length < 39 ? length : 39;
	for (size_t i = 0; i < n; i++) to[i] = (char)tolower((unsigned char)from[i]);
	to[n] = 0;
}

static guess guess_of(const char *word, size_t length)
{
	guess g;
	memset(&g, 0, sizeof g);
	guess_fold(g.word, word, length);
	g.distance = 1 + (int)strlen(g.word) / 4;
	return g;
}

/*  How many letters to add, leave out, replace or swap with their neighbour turn a into b. */
static int word_distance(const char *a, const char *b)
{
	int n = (int)strlen(a), m = (int)strlen(b), d[41][41];
	for (int i = 0; i <= n; i++)
		for (int k = 0; k <= m; k++) {
			if (!i || !k) {
				d[i][k] = i + k;
				continue;
			}
			int best = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
			if (d[i - 1][k] + 1 < best) best = d[i - 1][k] + 1;
			if (d[i][k - 1] + 1 < best) best = d[i][k - 1] + 1;
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
					d[i - 2][k - 2] + 1 < best)
				best = d[i - 2][k - 2] + 1;
			d[i][k] = best;
		}
	return d[n][m];
}

/*  A candidate is near if few letters differ, or if it begins with the word. */
static void guess_try(guess *g, const char *candidate)
{
	char folded[40];
	guess_fold(folded, candidate, strlen(candidate));
	int distance = word_distance(g->word, folded);
	if (strlen(g->word) > 2 && strncmp(g->word, folded, strlen(g->word)) == 0) distance = 1;
	if (distance > g->distance || (g->best && distance == g->distance)) return;
	g->distance = distance;
	g->best = candidate;
}

/*  "; did you mean matern52?", or nothing. */
static guess_clause guess_text(const guess *g)
{
	guess_clause c = {""};
	if (g->best) snprintf(c.text, sizeof c.text, "; did you mean %.50s?", g->best);
	return c;
}

/* ---- files ---- */

/*  A file's name in messages. */
static const char *path_text(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

/*  Devices and pipes are written in place; files are replaced. */
static int is_device(const char *path)
{
	struct stat s;
	return stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
}

/*  The path with symbolic links of its last component followed, also to a file that is not there
    yet: writing replaces the file, not the link. The caller frees it. */
static char *resolve_path(const char *path)
{
	enum { MOST_LINKS = 40 };
	char *name = copy_text(path), to[4096];
	for (int i = 0; i < MOST_LINKS; i++) {
		ptrdiff_t n = (ptrdiff_t)readlink(name, to, sizeof to - 1);
		if (n < 0) return name;
		to[n] = 0;
		bytes next = {NULL, 0, 0};
		const char *slash = strrchr(name, '/');
		if (*to != '/' && slash) bytes_add(&next, name, (size_t)(slash + 1 - name));
		bytes_add(&next, to, (size_t)n);
		free(name);
		name = next.at;
	}
	die(BAD_INPUT, "%s: its symbolic links lead nowhere", path);
}

/*  Writes the whole file or leaves it as it was. Returns 0, or errno's reason. */
static int try_write_file(const char *path, const void *block, size_t n)
{
	char *target = resolve_path(path);
	errno = 0;
	int reason = odvgp_file_write(target, block, n, NULL) == ODVGP_OK ? 0 : errno ? errno : EIO;
	free(target);
	return reason;
}

static void write_file(const char *path, const void *block, size_t n)
{
	int reason = try_write_file(path, block, n);
	if (reason) die(FAILED, "%s: cannot be written: %s", path, strerror(reason));
}

/*  The whole of an open file, from its beginning; NULL: it cannot be read. */
static char *read_back(FILE *f, size_t *n)
{
	long length = fflush(f) || ferror(f) || fseek(f, 0, SEEK_END) ? -1 : ftell(f);
	if (length < 0 || fseek(f, 0, SEEK_SET)) return NULL;
	char *text = take((size_t)length, 1);
	*n = (size_t)length;
	if (fread(text, 1, *n, f) == *n) return text;
	free(text);
	return NULL;
}

static void write_stdout(const bytes *b)
{
	if (fwrite(b->at, 1, b->used, stdout) != b->used || fflush(stdout))
		die(FAILED, "standard output cannot be written: %s", strerror(errno));
}

/*  Prints a report on stdout, without control characters but line ends. */
static void write_report(bytes *b)
{
	clean_text(b->at, 1);
	write_stdout(b);
}

static void *read_file(const char *path, size_t *n)
{
	struct stat s;
	if (stat(path, &s)) die(BAD_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
	if (!S_ISREG(s.st_mode)) die(BAD_INPUT, "%s: is not a file", path);
	*n = (size_t)s.st_size;
	void *block = take(*n, 1);
	if (odvgp_file_read(path, n, block, *n, NULL))
		die(BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
	return block;
}

/* ---- clock ---- */

/*  Seconds on a clock that only runs forward. */
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
