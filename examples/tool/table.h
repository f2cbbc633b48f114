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
    line end and empty lines after it are accepted; rows of different lengths are not.

    A column holds numbers or text; its first cell with a value decides. Numbers are exact to the
    last bit. The values of a text column are positions in its levels, in order of appearance.
    Missing cells (empty, NA, nan, ?) are NaN. A cell that does not fit its column (text among
    numbers, 1e999) is NaN too, and only remembered: it matters only if the column is used.
    table_check makes the sentence.

    In calls, columns and rows count from 0; in sentences, lines and columns count from 1. Numbers
    beyond 19 digits go through strtod, so LC_NUMERIC must stay in the C locale. */
#ifndef TABLE_H
#define TABLE_H

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

typedef struct table_column {
    /* From the header; NULL without one. */
    char *name;
    /* 1: values are positions in levels. */
    int text;
    /* [level_count] texts, and the line where each appeared first. */
    char **levels;
    long *level_lines;
    int level_count;
    /* Cells without a value, and the line of the first of them; 0: none. */
    ptrdiff_t missing;
    long missing_line;
    /* The line of the first cell that does not fit, and the cell's beginning; 0: none. */
    long odd_line;
    char odd[40];
    /* Hash table of positions in levels; -1: free. */
    int *buckets;
    int bucket_count;
    /* Who decided `text`: 1 a cell, 2 the caller; 0: undecided. */
    int settled;
} table_column;

typedef struct table {
    ptrdiff_t rows;
    int columns;
    /* 1: the first line held names. */
    int header;
    /* ',' ';' '\t' or ' ' (any run of spaces and tabs). */
    char separator;
    /* [rows, columns] */
    double *values;
    table_column *column;
} table;

typedef struct table_options {
    /* 1: there is a header, -1: there is none, 0: guess. */
    int header;
    /* 0: guess. */
    char separator;
    /* Called for each column before its cells are read (name is NULL without a header); 1 makes the
       column text whatever it holds. NULL: no column is made text. */
    int (*is_text)(const void *user, int columns, int column, const char *name);
    const void *user;
} table_options;

/* ---- numbers ---- */

/*  The double nearest to digits * 10^power, or NaN if this short way cannot be sure of the last
    bit. Needs |power| <= 22, so that 10^|power| is exact. Digits beyond 2^53 are split into two
    doubles, and the product or quotient is formed with its rounding error; only sums close to the
    middle between two doubles remain undecided. */
static inline double table__scale(uint64_t digits, int power)
{
    /* clang-format off */
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    /* clang-format on */
    double p = tens[power < 0 ? -power : power];
    /* Registers wider than double round twice. */
#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0
    return NAN;
#endif
    if (digits <= (uint64_t)1 << 53) return power < 0 ? (double)digits / p : (double)digits * p;
    /* The rest has at most 53 bits. */
    uint64_t low = digits & 0x7FF;
    double hi = (double)(digits - low), lo = (double)low, near, rest;
    if (power < 0) {
        near = hi / p;
        rest = (fma(-near, p, hi) + lo) / p;
    } else {
        near = hi * p;
        rest = fma(hi, p, -near) + lo * p;
    }
    double sum = near + rest, error = rest - (sum - near);
    /* Half the gap below `sum`; above a power of two the gap is twice as wide. */
    double half = 0.5 * (sum - sum * (1 - DBL_EPSILON / 2));
    for (int i = 0; i < 2; i++, half *= 2)
        if (fabs(fabs(error) - half) < 1e-9 * half) return NAN;
    return sum;
}

/*  Reads the decimal number at s. Returns the character after it, or NULL if there is no number. */
static inline const char *table__number(const char *s, double *value)
{
    const char *start = s;
    int negative = *s == '-', count = 0, power = 0, exact = 1;
    uint64_t digits = 0;
    if (*s == '-' || *s == '+') s++;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (digits < UINT64_C(999999999999999999)) digits = digits * 10 + (unsigned)(*s - '0');
        else exact = 0;
        count++;
    }
    if (*s == '.') {
        for (s++; *s >= '0' && *s <= '9'; s++) {
            if (digits < UINT64_C(999999999999999999))
                digits = digits * 10 + (unsigned)(*s - '0'), power--;
            else exact = 0;
            count++;
        }
    }
    if (!count) return NULL;
    if (*s == 'e' || *s == 'E') {
        const char *e = s + 1;
        int minus = *e == '-', exponent = 0;
        if (*e == '-' || *e == '+') e++;
        if (!(*e >= '0' && *e <= '9')) return NULL;
        for (; *e >= '0' && *e <= '9'; e++)
            if (exponent < 10000) exponent = exponent * 10 + (*e - '0');
        power += minus ? -exponent : exponent;
        s = e;
    }
    double v = NAN;
    if (digits == 0 && exact) v = 0;
    else if (exact && power >= -22 && power <= 22) v = table__scale(digits, power);
    if (v == v) *value = negative ? -v : v;
    else *value = strtod(start, NULL);
    return s;
}

/* ---- cells ---- */

typedef struct table__cell {
    /* Without quotes and without spaces around it. */
    const char *begin, *end;
    /* Does it hold doubled quotes? */
    int doubled;
} table__cell;

static inline int table__ends_line(char c) { return c == '\n' || c == '\r' || c == 0; }

static inline const char *table__skip_spaces(const char *s, char separator)
{
    while (*s == ' ' || (*s == '\t' && separator != '\t')) s++;
    return s;
}

/*  Skips one line end: LF, CRLF or CR. Stays at the end of the text. */
static inline const char *table__skip_line_end(const char *s)
{
    if (s[0] == '\r') return s + (s[1] == '\n' ? 2 : 1);
    return s + (*s == '\n');
}

/*  Skips what follows a cell. Returns 1 with *s after the separator, 0 with *s at the line's end,
    or -1 if something else follows. */
static inline int table__next(const char **s, char separator)
{
    const char *p = table__skip_spaces(*s, separator);
    int gap = p > *s;
    *s = p;
    if (table__ends_line(*p)) return 0;
    if (separator == ' ') return gap ? 1 : -1;
    if (*p != separator) return -1;
    *s = p + 1;
    return 1;
}

/*  Reads the cell at *s, whatever it holds, and adds line ends inside quotes to *lines. Returns
    NULL, or what is wrong with the cell. */
static inline const char *table__scan(
        const char **s, char separator, table__cell *cell, long *lines)
{
    const char *p = table__skip_spaces(*s, separator);
    cell->doubled = 0;
    if (*p == '"') {
        cell->begin = ++p;
        for (;; p++) {
            if (*p == 0) return "a quote is opened and never closed";
            if (*p == '\n' || (*p == '\r' && p[1] != '\n')) ++*lines;
            if (*p != '"') continue;
            if (p[1] != '"') break;
            cell->doubled = 1;
            p++;
        }
        cell->end = p++;
        const char *after = p;
        if (table__next(&after, separator) < 0) return "text after a closing quote";
    } else {
        cell->begin = p;
        while (!table__ends_line(*p) && *p != separator && !(separator == ' ' && *p == '\t')) p++;
        cell->end = p;
    }
    while (cell->begin < cell->end && (*cell->begin == ' ' || *cell->begin == '\t')) cell->begin++;
    while (cell->begin < cell->end && (cell->end[-1] == ' ' || cell->end[-1] == '\t')) cell->end--;
    *s = p;
    return NULL;
}

static inline int table__is_word(const table__cell *c, const char *word)
{
    const char *s = c->begin;
    for (; s < c->end && *word; s++, word++)
        if ((*s | 32) != *word) return 0;
    return s == c->end && !*word;
}

static inline int table__is_missing(const table__cell *c)
{
    return c->begin == c->end || (c->end - c->begin == 1 && *c->begin == '?') ||
           table__is_word(c, "na") || table__is_word(c, "nan");
}

/*  Is the whole cell a number? It may be infinite. */
static inline int table__is_number(const table__cell *c, double *value)
{
    table__cell rest = *c;
    const char *end = table__number(c->begin, value);
    if (end) return end == c->end;
    *value = HUGE_VAL;
    if (rest.begin < rest.end && (*rest.begin == '-' || *rest.begin == '+')) rest.begin++;
    return table__is_word(&rest, "inf") || table__is_word(&rest, "infinity");
}

/*  A copy of the cell's text with single quotes for doubled ones; NULL: no memory. */
static inline char *table__copy(const table__cell *c)
{
    char *text = (char *)malloc((size_t)(c->end - c->begin) + 1), *to = text;
    if (!text) return NULL;
    for (const char *s = c->begin; s < c->end; s++) {
        *to++ = *s;
        if (*s == '"' && c->doubled) s++;
    }
    *to = 0;
    return text;
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
    /* The next character. */
    const char *s;
    long line;
    char *error;
    size_t error_size;
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

/*  Reads the whole file and ends it with a zero; "-" is standard input. NULL: failed, with a
    sentence. */
static inline char *table__load(table__reader *r, const char *path)
{
    int standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "rb");
    if (!f) return table__fail(r, "cannot be opened: %s", strerror(errno)), (char *)NULL;
    size_t size = 0, room = (size_t)1 << 16;
    long length = -1;
    /* The zero, and one more than the file, so that the first read meets its end. */
    if (!standard && fseek(f, 0, SEEK_END) == 0 && (length = ftell(f)) >= 0 &&
            fseek(f, 0, SEEK_SET) == 0 && length < LONG_MAX - 2)
        room = (size_t)length + 2;
    char *text = NULL;
    for (;;) {
        char *more = (char *)realloc(text, room);
        if (!more) {
            table__fail(r, "too large for the memory");
            break;
        }
        text = more;
        size += fread(text + size, 1, room - 1 - size, f);
        if (ferror(f)) {
            table__fail(r, "cannot be read: %s", strerror(errno));
            break;
        }
        if (size < room - 1) {
            text[size] = 0;
            if (!standard) fclose(f);
            if (size >= 2 && (unsigned char)text[0] == 0x1F && (unsigned char)text[1] == 0x8B)
                table__fail(r, "is compressed; unpack it first (gunzip)");
            else if (memchr(text, 0, size)) table__fail(r, "is not a text file");
            else return text;
            free(text);
            return NULL;
        }
        room += room / 2;
    }
    if (!standard) fclose(f);
    free(text);
    return NULL;
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

/*  Guesses the separator from the first lines: the character that all lines have equally often, or
    else one that all lines have, so that a short row is reported as such. A space comes last, since
    texts contain spaces. */
static inline char table__guess_separator(const char *text)
{
    static const char candidates[] = {'\t', ';', ',', ' '};
    char best = ',';
    int best_score = 0;
    for (int k = 0; k < 4; k++) {
        const char *s = text, *end;
        int first = table__count(s, candidates[k], &end), equal = 1, everywhere = first > 0;
        for (int lines = 1; lines < 32; lines++) {
            s = table__skip_line_end(end);
            const char *ink = table__skip_spaces(s, ' ');
            if (!*s || table__ends_line(*ink)) break;
            int count = table__count(s, candidates[k], &end);
            if (count != first) equal = 0;
            if (!count) everywhere = 0;
        }
        int space = candidates[k] == ' ';
        int score = !first                ? 0
                    : everywhere && equal ? (space ? 3 : 5)
                    : everywhere          ? (space ? 2 : 4)
                                          : 1;
        if (score > best_score) best_score = score, best = candidates[k];
    }
    return best;
}

/*  The number of cells in the line at s; -1: failed, with a sentence. */
static inline int table__count_cells(table__reader *r, const char *s)
{
    int n = 0, more = 1;
    for (; more; n++) {
        table__cell cell;
        long lines = 0;
        const char *wrong = table__scan(&s, r->t->separator, &cell, &lines);
        if (wrong) return table__fail(r, "line %ld, column %d: %s", r->line, n + 1, wrong), -1;
        more = table__next(&s, r->t->separator);
    }
    return n;
}

/*  Guesses whether the first line is a header: one of its cells is text where the column below
    begins with a number, or all its cells are text and different. first [columns]: the cells of the
    first line; s: the second line. */
static inline int table__guess_header(
        const table__reader *r, const table__cell *first, const char *s)
{
    int columns = r->t->columns, texts = 0, repeats = 0;
    double value;
    for (int i = 0; i < columns; i++) {
        size_t length = (size_t)(first[i].end - first[i].begin);
        texts += !table__is_missing(&first[i]) && !table__is_number(&first[i], &value);
        for (int k = 0; k < i && !repeats; k++)
            repeats = (size_t)(first[k].end - first[k].begin) == length &&
                      (length == 0 || memcmp(first[k].begin, first[i].begin, length) == 0);
    }
    if (!texts) return 0;
    for (int lines = 0; lines < 1000 && *s; lines++) {
        for (int i = 0, more = 1; i < columns && more == 1; i++) {
            table__cell cell;
            long inside = 0;
            if (table__scan(&s, r->t->separator, &cell, &inside)) break;
            if (!table__is_missing(&first[i]) && !table__is_number(&first[i], &value) &&
                    table__is_number(&cell, &value))
                return 1;
            more = table__next(&s, r->t->separator);
        }
        while (!table__ends_line(*s)) s++;
        s = table__skip_line_end(s);
    }
    return texts == columns && !repeats;
}

/*  Skips empty lines. Returns 1 at the end of the text. */
static inline int table__skip_empty_lines(table__reader *r)
{
    for (;;) {
        const char *ink = table__skip_spaces(r->s, r->t->separator);
        if (!table__ends_line(*ink)) return 0;
        if (!*ink) return 1;
        r->s = table__skip_line_end(ink);
        r->line++;
    }
}

/*  Finds separator, number of columns, header and names, and moves r->s to the first row. */
static inline int table__begin(table__reader *r)
{
    table *t = r->t;
    if (strncmp(r->s, "\xEF\xBB\xBF", 3) == 0) r->s += 3;
    if (table__skip_empty_lines(r)) return table__fail(r, "is empty");
    t->separator = r->options->separator ? r->options->separator : table__guess_separator(r->s);
    if ((t->columns = table__count_cells(r, r->s)) < 0) return 1;
    t->column = (table_column *)calloc((size_t)t->columns, sizeof *t->column);
    table__cell *first = (table__cell *)calloc((size_t)t->columns, sizeof *first);
    int bad = !t->column || !first;
    const char *s = r->s;
    long line = r->line;
    for (int i = 0; i < t->columns && !bad; i++) {
        table__scan(&s, t->separator, &first[i], &line);
        table__next(&s, t->separator);
    }
    s = table__skip_line_end(s);
    if (!bad)
        t->header = r->options->header ? r->options->header > 0 : table__guess_header(r, first, s);
    if (t->header) {
        r->s = s;
        r->line = line + 1;
        for (int i = 0; i < t->columns && !bad; i++)
            bad = !(t->column[i].name = table__copy(&first[i]));
    }
    free(first);
    if (bad) return table__fail(r, "too large for the memory");
    for (int i = 0; i < t->columns && r->options->is_text; i++) {
        table_column *c = &t->column[i];
        if (r->options->is_text(r->options->user, t->columns, i, c->name))
            c->text = 1, c->settled = 2;
    }
    return 0;
}

/*  The value of a cell, in the cases that table__row does not shorten. Returns 1 if there is no
    memory. */
static inline int table__value(table_column *c, const table__cell *cell, long line, double *value)
{
    double number;
    *value = NAN;
    if (table__is_missing(cell)) {
        if (!c->missing++) c->missing_line = line;
        return 0;
    }
    int is_number = table__is_number(cell, &number);
    if (!c->settled) c->settled = 1, c->text = !is_number;
    int fits = c->text ? !is_number || c->settled == 2 : is_number && fabs(number) <= DBL_MAX;
    if (!fits) {
        ptrdiff_t length = cell->end - cell->begin, most = (ptrdiff_t)sizeof c->odd - 1;
        if (!c->odd_line)
            snprintf(c->odd, sizeof c->odd, "%.*s", (int)(length < most ? length : most),
                    cell->begin);
        if (!c->odd_line) c->odd_line = line;
    } else if (c->text) {
        int level = table__level(c, cell, line);
        if (level < 0) return 1;
        *value = level;
    } else *value = number;
    return 0;
}

/*  Reads one line into row [columns]. */
static inline int table__row(table__reader *r, double *row)
{
    table *t = r->t;
    long line = r->line;
    const char *s = r->s;
    for (int i = 0; i < t->columns; i++) {
        table_column *c = &t->column[i];
        table__cell cell;
        int more = -1;
        /* The quick way, for most cells of most files. */
        if (!c->text && c->settled) {
            const char *end = table__number(table__skip_spaces(s, t->separator), &row[i]);
            if (end && fabs(row[i]) <= DBL_MAX && (more = table__next(&end, t->separator)) >= 0)
                s = end;
        }
        if (more < 0) {
            const char *wrong = table__scan(&s, t->separator, &cell, &r->line);
            if (wrong) return table__fail(r, "line %ld, column %d: %s", line, i + 1, wrong);
            if (table__value(c, &cell, line, &row[i]))
                return table__fail(r, "too large for the memory");
            more = table__next(&s, t->separator);
        }
        if (!more && i + 1 < t->columns)
            return table__fail(r, "line %ld has %d cell%s where the first line has %d", line, i + 1,
                    i ? "s" : "", t->columns);
        if (more && i + 1 == t->columns)
            return table__fail(
                    r, "line %ld has more cells than the %d of the first line", line, t->columns);
    }
    r->s = table__skip_line_end(s);
    r->line++;
    return 0;
}

static inline int table__rows(table__reader *r, const char *end)
{
    table *t = r->t;
    size_t width = (size_t)t->columns * sizeof *t->values, room = 0;
    const char *start = r->s;
    while (*r->s) {
        long line = r->line;
        if (table__skip_empty_lines(r)) break;
        if (r->line > line && t->rows) return table__fail(r, "line %ld is empty", line);
        /* As many rows as the rest of the file holds, by the mean length so far. */
        if ((size_t)t->rows == room) {
            double left = (double)(end - r->s),
                   length = t->rows ? (double)(r->s - start) / (double)t->rows : left;
            room = room ? room + 64 + (size_t)(1.05 * left / length) : 1;
            double *more =
                    room > SIZE_MAX / width ? NULL : (double *)realloc(t->values, room * width);
            if (!more) return table__fail(r, "too large for the memory");
            t->values = more;
        }
        if (table__row(r, t->values + (size_t)t->rows * (size_t)t->columns)) return 1;
        t->rows++;
    }
    if (!t->rows) return table__fail(r, t->header ? "has a header and no rows" : "has no rows");
    double *less = (double *)realloc(t->values, (size_t)t->rows * width);
    if (less) t->values = less;
    return 0;
}

static inline void table_free(table *t)
{
    for (int i = 0; i < t->columns && t->column; i++) {
        table_column *c = &t->column[i];
        for (int k = 0; k < c->level_count; k++) free(c->levels[k]);
        free(c->levels);
        free(c->level_lines);
        free(c->buckets);
        free(c->name);
    }
    free(t->column);
    free(t->values);
    memset(t, 0, sizeof *t);
}

/*  Reads a whole file; path "-" is standard input, options NULL guesses everything. Returns 0, or 1
    with one sentence in error [size] and an empty *t. */
static inline int table_read(
        table *t, const char *path, const table_options *options, char *error, size_t size)
{
    static const table_options guess = {0, 0, NULL, NULL};
    table__reader r = {t, options ? options : &guess, strcmp(path, "-") ? path : "standard input",
            NULL, 1, error, size};
    memset(t, 0, sizeof *t);
    char *text = table__load(&r, path);
    if (!text) return 1;
    r.s = text;
    int bad = table__begin(&r) || table__rows(&r, text + strlen(text));
    free(text);
    if (bad) table_free(t);
    return bad;
}

/*  The first column of this name at position `from` or later; -1: none. */
static inline int table_find(const table *t, const char *name, int from)
{
    for (int i = from; i < t->columns && t->header; i++)
        if (strcmp(t->column[i].name, name) == 0) return i;
    return -1;
}

/*  Returns 0 if all cells of the column fit it, else 1 with a sentence that names the first
    misfit. */
static inline int table_check(
        const table *t, int column, const char *path, char *error, size_t size)
{
    const table_column *c = &t->column[column];
    if (!c->odd_line) return 0;
    double number;
    const char *end = table__number(c->odd, &number), *what = "is not a number";
    if (c->text) what = "is a number in a column of texts";
    else if ((end && !*end) || strchr("iI", c->odd[strspn(c->odd, "+-")]))
        what = "is not a finite number";
    snprintf(error, size, "%s: line %ld, column %d%s%s%s: '%s' %s",
            strcmp(path, "-") ? path : "standard input", c->odd_line, column + 1,
            c->name ? " (" : "", c->name ? c->name : "", c->name ? ")" : "", c->odd, what);
    return 1;
}

#endif
