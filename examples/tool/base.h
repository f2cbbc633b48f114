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

/* ---- errors ---- */

/*  Exit codes. */
enum { FAILED = 1, BAD_INPUT = 2 };

/*  Prints one line on stderr and ends the program. Control characters of names and cells become
    spaces. */
NO_RETURN PRINTF_LIKE(2, 3) static void die(int code, const char *format, ...)
{
    char text[1000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (char *s = text; *s; s++)
        if (iscntrl((unsigned char)*s)) *s = ' ';
    fprintf(stderr, "odvgp: %s\n", text);
    exit(code);
}

/* ---- memory ---- */

static ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
static ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/*  Zeroed memory; never NULL. */
static void *take(size_t count, size_t size)
{
    void *block = calloc(count ? count : 1, size ? size : 1);
    if (!block) die(FAILED, "out of memory (%zu times %zu bytes)", count, size);
    return block;
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
    if (!moved) die(FAILED, "out of memory (%zu times %zu bytes)", count, size);
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

/* ---- files ---- */

/*  Devices and pipes are written in place; files are replaced. */
static int is_device(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
}

/*  Ends the program if the file cannot be written, or if it is the data file: before an hour of
    training, not after it. */
static void check_writable(const char *option, const char *path, const char *data)
{
    struct stat s, d;
    int there = stat(path, &s) == 0;
    if (there && S_ISDIR(s.st_mode)) die(BAD_INPUT, "--%s %s: is a directory", option, path);
    if (there && S_ISREG(s.st_mode) && stat(data, &d) == 0 && s.st_dev == d.st_dev &&
            s.st_ino == d.st_ino)
        die(BAD_INPUT, "--%s %s: is the data file", option, path);
    if (is_device(path)) return;
    bytes beside = {NULL, 0, 0};
    bytes_print(&beside, "%s.XXXXXX", path);
    int f = mkstemp(beside.at);
    if (f < 0) die(BAD_INPUT, "--%s %s: cannot be written: %s", option, path, strerror(errno));
    close(f);
    remove(beside.at);
    free(beside.at);
}

static void write_file(const char *path, const void *block, size_t n)
{
    int bad;
    if (is_device(path)) {
        FILE *f = fopen(path, "wb");
        bad = !f || fwrite(block, 1, n, f) != n;
        if (f && fclose(f)) bad = 1;
    } else bad = odvgp_file_write(path, block, n) != ODVGP_OK;
    if (bad) die(FAILED, "%s: cannot be written: %s", path, strerror(errno));
}

static void write_stdout(const bytes *b)
{
    if (fwrite(b->at, 1, b->used, stdout) != b->used || fflush(stdout))
        die(FAILED, "standard output cannot be written");
}

static void *read_file(const char *path, size_t *n)
{
    struct stat s;
    if (stat(path, &s)) die(BAD_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(s.st_mode)) die(BAD_INPUT, "%s: is not a file", path);
    if (odvgp_file_read(path, NULL, 0, n))
        die(BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    void *block = take(*n, 1);
    if (odvgp_file_read(path, block, *n, n))
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
