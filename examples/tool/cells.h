/*  cells.h - a cell of a CSV file as a number or a date. C99, no dependencies, everything static.
    table.h describes the formats. Numbers are exact to the last bit. */
#ifndef CELLS_H
#define CELLS_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
	static const char *const words[] = {"na", "nan", "n/a", "null", "none"};
	if (c->begin == c->end) return 1;
	if (c->end - c->begin == 1) return *c->begin == '?' || *c->begin == '-';
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (table__is_word(c, words[i])) return 1;
	return 0;
}

/*  How numbers are written. */
typedef struct table__style {
	char decimal, thousands;
} table__style;

static inline int table__is_plain(const table__style *style)
{
	return style->decimal == '.' && !style->thousands;
}

static inline int table__digits(const char *s, const char *end)
{
	const char *start = s;
	while (s < end && *s >= '0' && *s <= '9') s++;
	return (int)(s - start);
}

/*  Rewrites a number of this style with a decimal point and without thousands separators; 0 if it
    has another style. */
static inline int table__plain_number(
		const table__cell *c, const table__style *style, char *to, size_t size)
{
	size_t used = 0;
	for (const char *s = c->begin; s < c->end; s++) {
		char next = *s;
		if (used + 1 >= size) return 0;
		if (style->thousands && *s == style->thousands) {
			int group = table__digits(s + 1, c->end);
			if (s == c->begin || !table__digits(s - 1, c->end) || group != 3) return 0;
			continue;
		}
		if (*s == style->decimal) next = '.';
		else if (*s == '.') return 0;
		to[used++] = next;
	}
	to[used] = 0;
	return used > 0;
}

/*  Is the whole cell a number? It may be infinite. */
static inline int table__is_number(const table__cell *c, const table__style *style, double *value)
{
	table__cell rest = *c;
	char plain[64];
	if (!table__is_plain(style) && table__plain_number(c, style, plain, sizeof plain)) {
		const char *last = table__number(plain, value);
		return last && !*last;
	}
	const char *end = table__is_plain(style) ? table__number(c->begin, value) : NULL;
	if (end) return end == c->end;
	*value = HUGE_VAL;
	if (rest.begin < rest.end && (*rest.begin == '-' || *rest.begin == '+')) rest.begin++;
	return table__is_word(&rest, "inf") || table__is_word(&rest, "infinity");
}

/*  Reads `count` digits. Returns the character after them, or NULL. */
static inline const char *table__fixed(const char *s, const char *end, int count, int *value)
{
	*value = 0;
	if (!s || table__digits(s, end) < count) return NULL;
	for (int i = 0; i < count; i++) *value = 10 * *value + (s[i] - '0');
	return s + count;
}

/*  Reads two digits, or one. */
static inline const char *table__short(const char *s, const char *end, int *value)
{
	const char *after = table__fixed(s, end, 2, value);
	return after ? after : table__fixed(s, end, 1, value);
}

/*  Days from 1970-01-01 to a date of the Gregorian calendar. Years begin in March, so that the leap
    day is their last. */
static inline double table_days(int year, int month, int day)
{
	int y = year - (month <= 2), m = month + (month > 2 ? -3 : 9);
	int leap = y / 4 - y / 100 + y / 400, months = (153 * m + 2) / 5;
	return 365.0 * y + leap + months + day - 1 - 719468;
}

static inline int table__month_days(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return days[month - 1] + (month == 2 && leap);
}

/*  Reads HH:MM[:SS[.sss]], or H:MM, as a part of a day. Returns the character after it, or NULL. */
static inline const char *table__time(const char *s, const char *end, double *value)
{
	int hour, minute, second = 0;
	double part = 0, unit = 1;
	s = table__short(s, end, &hour);
	if (!s || s == end || *s != ':' || !(s = table__fixed(s + 1, end, 2, &minute))) return NULL;
	if (s < end && *s == ':' && !(s = table__fixed(s + 1, end, 2, &second))) return NULL;
	if (s + 1 < end && (*s == '.' || *s == ',') && s[-3] == ':')
		for (s++; s < end && *s >= '0' && *s <= '9'; s++) part += (unit /= 10) * (*s - '0');
	if (hour > 24 || minute > 59 || second > 60) return NULL;
	*value = (3600.0 * hour + 60.0 * minute + second + part) / 86400;
	return s;
}

/*  Reads Z, +HH, +HHMM or +HH:MM as a part of a day. Returns the character after it, or NULL. */
static inline const char *table__zone(const char *s, const char *end, double *value)
{
	int hours, minutes = 0, west = *s == '-';
	*value = 0;
	if (*s == 'Z' || *s == 'z') return s + 1;
	if (*s != '+' && *s != '-') return NULL;
	if (!(s = table__fixed(s + 1, end, 2, &hours))) return NULL;
	if (s < end && *s == ':') s++;
	if (s < end && !(s = table__fixed(s, end, 2, &minutes))) return NULL;
	*value = (west ? -1 : 1) * (60.0 * hours + minutes) / 1440;
	return s;
}

/*  Reads the name of a month, whole or its first three letters. Returns the character after it, or
    NULL. */
static inline const char *table__month(const char *s, const char *end, int *month)
{
	static const char names[12][10] = {"january", "february", "march", "april", "may", "june", "july",
			"august", "september", "october", "november", "december"};
	for (int m = 0; m < 12; m++) {
		size_t n = 0, room = (size_t)(end - s);
		while (n < room && names[m][n] && (s[n] | 0x20) == names[m][n]) n++;
		if (n != 3 && !(n == 4 && m == 8) && !(n && !names[m][n])) continue;
		*month = m + 1;
		return s + n;
	}
	return NULL;
}

/*  Skips a blank, -, comma or what else stands between the parts of a date; NULL: there is none. */
static inline const char *table__gap(const char *s, const char *end)
{
	if (!s || s == end) return NULL;
	if (*s != ' ' && *s != '-' && *s != ',' && *s != '.' && *s != '/') return NULL;
	return s + 1 < end && s[1] == ' ' ? s + 2 : s + 1;
}

/*  Reads 31 Jan 2020, 31-January-2020, Jan 31, 2020 or Jan 2020, its first day. */
static inline const char *table__named_date(
		const char *s, const char *end, int *year, int *month, int *day)
{
	const char *next;
	*day = 1;
	if (*s >= '0' && *s <= '9') {
		s = table__gap(table__short(s, end, day), end);
		s = s ? table__gap(table__month(s, end, month), end) : NULL;
		return table__fixed(s, end, 4, year);
	}
	if (!(s = table__gap(table__month(s, end, month), end))) return NULL;
	if ((next = table__fixed(s, end, 4, year)) != NULL) return next;
	return table__fixed(table__gap(table__short(s, end, day), end), end, 4, year);
}

/*  Reads 2020-01-31, 2020/1/31 or 2020.1.31. */
static inline const char *table__numbered_date(
		const char *s, const char *end, int *year, int *month, int *day)
{
	s = table__fixed(s, end, 4, year);
	char separator = s && s < end ? *s : 0;
	if (separator != '-' && separator != '/' && separator != '.') return NULL;
	s = table__short(s + 1, end, month);
	return s && s < end && *s == separator ? table__short(s + 1, end, day) : NULL;
}

/*  Is it written as ISO 8601 writes dates and times? */
static inline int table__is_iso(const table__cell *c)
{
	const char *s = c->begin;
	return c->end - s >= 5 && *s >= '0' && *s <= '9' && (s[2] == ':' || s[4] == '-');
}

/*  Is the whole cell a date, a time or both, as ISO 8601 writes them, or a date in one of the forms
    above? Where numbers alone stand the year comes first, which tells what the others are. Other
    forms than ISO's have years that are likely: MAR-1000 is a part. */
static inline int table__is_date(const table__cell *c, double *value)
{
	const char *s = c->begin, *end = c->end;
	int year, month, day;
	double clock = 0, zone = 0;
	*value = 0;
	if (end - s < 5) return 0;
	if (*s >= '0' && *s <= '9' && s[2] == ':') return table__time(s, end, value) == end;
	const char *after = table__numbered_date(s, end, &year, &month, &day);
	if (!after && !(after = table__named_date(s, end, &year, &month, &day))) return 0;
	if (month < 1 || month > 12 || day < 1 || day > table__month_days(year, month)) return 0;
	if (!table__is_iso(c) && (year < 1600 || year > 2399)) return 0;
	if (after < end && (*after == 'T' || *after == 't' || *after == ' ')) {
		if (!(after = table__time(after + 1, end, &clock))) return 0;
		if (after < end && !(after = table__zone(after, end, &zone))) return 0;
	}
	*value = table_days(year, month, day) + clock - zone;
	return after == end;
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

#endif
