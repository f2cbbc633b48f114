/*  plot.h - line pictures as SVG files. C99, no dependencies, everything static.

        plot_lines    one panel of lines
        plot_panels   panels of lines beside each other
        plot_scenes   panels that also hold bands, points, and marks along the bottom
        plot_grid     the same in rows
        plot_same_y   one range of y for several scenes

    All but the last return 0, or 1 if the file cannot be written: what is in it then is incomplete.

    Names, titles and labels are UTF-8 and may be NULL; of those too long for their place, an
    ellipsis stands for the middle. No text lies on another one: the frames of all panels leave room
    for the widest numbers beside them. The legend stands above the panels, each name once, so that
    it never covers data. Values that are not finite leave a gap. The first eight colours are those
    of Okabe and Ito, which colour-blind readers can tell apart; lines also differ by their dashes.
    A panel that holds only lines takes its range of y from their later part if they begin far away
    from it; which values are good says which of the others it keeps. What all numbers of an axis
    have in common, an offset or a power of ten, stands in its title: "time - 1700000000 (1e3)".
    Numbers are written with printf, so LC_NUMERIC must stay in the C locale. */
#ifndef PLOT_H
#define PLOT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct plot_series {
	const char *name;
	const double *x, *y;
	int n;
} plot_series;

typedef struct plot_panel {
	const char *title, *xlabel, *ylabel;
	const plot_series *series;
	int count;
} plot_panel;

typedef enum plot_kind {
	/* (x, y) joined. */
	PLOT_LINE,
	/* (x, y) as dots. */
	PLOT_POINTS,
	/* Between (x, y) and (x, y2), shaded. */
	PLOT_BAND,
	/* x as plus signs in a strip along the bottom; y is not used. */
	PLOT_PLUS,
	/* x as thin strokes in a strip along the bottom; y is not used. */
	PLOT_RUG,
	/* A map: (x, y) are the middles of the cells of a grid with `dash` columns, y2 their values, in
       the plot_scale `colour` with a bar beside the panel. */
	PLOT_MAP,
	/* The same cells, but y2 is the number of a colour, drawn pale: points of that colour can lie
	   on it and stand in the legend. */
	PLOT_REGIONS
} plot_kind;

typedef enum plot_scale {
	/* viridis, from dark to light. */
	PLOT_VIRIDIS,
	/* From grey to white, for points of any colour. */
	PLOT_GREY,
	/* From 0, colour 0, over white to 1, colour 1. */
	PLOT_SHARE
} plot_scale;

typedef struct plot_item {
	plot_kind kind;
	/* In the legend; NULL: not there. */
	const char *name;
	/* [n] */
	const double *x, *y, *y2;
	int n;
	/* 0 blue, 1 vermilion, 2 green, 3 purple, 4 orange, 5 sky blue, 6 black, 7 grey, 8 wine,
       9 indigo, 10 olive, 11 brown, 12 rose, 13 dark green; 14 is 0 again. */
	int colour;
	/* Of lines: 0 none, 1 dashes, 2 dots, 3 dash and dot, 4 long dashes. */
	int dash;
} plot_item;

/*  Logarithmic axes; linear nevertheless if the values span less than a decade. Small or large
    values of y are good: a panel of lines shows the best ones. Axes of dates, in days since
    1970. */
enum {
	PLOT_LOGX = 1,
	PLOT_LOGY = 2,
	PLOT_SMALL_IS_GOOD = 4,
	PLOT_LARGE_IS_GOOD = 8,
	PLOT_DATEX = 16,
	PLOT_DATEY = 32
};

typedef struct plot_scene {
	const char *title, *xlabel, *ylabel;
	/* Drawn in this order. */
	const plot_item *items;
	int count;
	/* min >= max: from the data. */
	double xmin, xmax, ymin, ymax;
	/* PLOT_LOGX and so on, their sum, or 0. */
	int flags;
} plot_scene;

/*  Sizes in SVG units. Letters are large, so that a picture 400 pixels wide is readable. */
enum {
	PLOT__FONT = 17,
	PLOT__PAD = 12,
	PLOT__MARK = 16,
	PLOT__BAR_GAP = 10,
	PLOT__BAR_WIDTH = 14,
	/* Between neighbouring texts. */
	PLOT__GAP = 8,
	PLOT__TEXT = 256,
	PLOT__MOST_POINTS = 1500,
	PLOT__TICKS = 12
};

/*  What the ticks of an axis of dates are. */
typedef enum plot__calendar {
	PLOT__NO_DATES,
	PLOT__TIMES,
	PLOT__DAYS,
	PLOT__MONTHS,
	PLOT__YEARS
} plot__calendar;

typedef struct plot__axis {
	/* The range of the data, or of its logarithm to base 10; the same in SVG units. */
	double lo, hi;
	double from, to;
	/* Between ticks of a linear axis, or of dates, in days, months or years. */
	double step;
	/* Tick labels are differences from base in units of this power of ten. */
	double base, unit;
	int decimals;
	int log;
	plot__calendar calendar;
} plot__axis;

typedef struct plot__rgb {
	double red, green, blue;
} plot__rgb;

enum { PLOT__COLOURS = 14, PLOT__STOPS = 9 };

static plot__rgb plot__rgb_of(int i)
{
	static const unsigned hex[PLOT__COLOURS] = {0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00,
			0x56B4E9, 0x000000, 0x777777, 0x882255, 0x332288, 0x999933, 0x7A4419, 0xF4A6B8,
			0x0B5D1E};
	unsigned c = hex[(unsigned)i % PLOT__COLOURS];
	plot__rgb rgb = {(double)(c >> 16), (double)(c >> 8 & 255), (double)(c & 255)};
	return rgb;
}

/*  From a to b, as t goes from 0 to 1. */
static plot__rgb plot__mixed(plot__rgb a, plot__rgb b, double t)
{
	plot__rgb c = {a.red + t * (b.red - a.red), a.green + t * (b.green - a.green),
			a.blue + t * (b.blue - a.blue)};
	return c;
}

static unsigned plot__hex(plot__rgb c)
{
	return (unsigned)(c.red + 0.5) << 16 | (unsigned)(c.green + 0.5) << 8 |
		   (unsigned)(c.blue + 0.5);
}

static unsigned plot__colour(int i) { return plot__hex(plot__rgb_of(i)); }

/*  Colour `stop` of a scale, of PLOT__STOPS evenly spaced ones. */
static plot__rgb plot__stop(int scale, int stop)
{
	static const plot__rgb viridis[PLOT__STOPS] = {{68, 1, 84}, {71, 45, 123}, {59, 82, 139},
			{44, 114, 142}, {33, 144, 140}, {39, 173, 129}, {93, 200, 99}, {170, 220, 50},
			{253, 231, 37}};
	static const plot__rgb white = {255, 255, 255}, grey = {105, 105, 105};
	double v = (double)stop / (PLOT__STOPS - 1);
	if (scale == PLOT_GREY) return plot__mixed(grey, white, v);
	if (scale == PLOT_SHARE) return plot__mixed(white, plot__rgb_of(v > 0.5), 1.4 * fabs(v - 0.5));
	return viridis[stop];
}

/*  The colour of v, from 0 to 1. */
static unsigned plot__scale_colour(int scale, double v)
{
	double at = (PLOT__STOPS - 1) * fmin(1, fmax(0, v));
	int k = at < PLOT__STOPS - 1 ? (int)at : PLOT__STOPS - 2;
	return plot__hex(plot__mixed(plot__stop(scale, k), plot__stop(scale, k + 1), at - k));
}

static const char *plot__dash(int i)
{
	static const char *const dashes[] = {"", "9 5", "2.5 4", "11 4 2.5 4", "17 5"};
	return dashes[(unsigned)i % (sizeof dashes / sizeof *dashes)];
}

static int plot__finite(double v) { return v - v == 0; }

/*  Length of the UTF-8 character at s; 0 if the bytes are not UTF-8 (RFC 3629: no detours, no
    surrogates, at most U+10FFFF). */
static inline int plot_utf8_length(const unsigned char *s)
{
	int n = s[0] < 0x80                    ? 1
			: s[0] >= 0xC2 && s[0] < 0xE0  ? 2
			: s[0] >= 0xE0 && s[0] < 0xF0  ? 3
			: s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
										   : 0;
	for (int i = 1; i < n; i++)
		if ((s[i] & 0xC0) != 0x80) return 0;
	if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
			(s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
		return 0;
	return n;
}

/*  Writes text: escapes the five characters of XML, leaves out those that XML does not have, and
    reads bytes that are not UTF-8 as Latin-1. */
static void plot__text(FILE *f, const char *text)
{
	for (const unsigned char *s = (const unsigned char *)text; s && *s;) {
		int n = plot_utf8_length(s);
		switch (*s) {
		case '&': fputs("&amp;", f); break;
		case '<': fputs("&lt;", f); break;
		case '>': fputs("&gt;", f); break;
		case '"': fputs("&quot;", f); break;
		case '\'': fputs("&#39;", f); break;
		default:
			if (!n) fprintf(f, "&#%d;", *s);
			else if (*s >= 32 && !(n == 3 && memcmp(s, "\xEF\xBF", 2) == 0 && s[2] > 0xBD))
				fwrite(s, 1, (size_t)n, f);
		}
		s += n ? n : 1;
	}
}

/*  The width of a text in SVG units: that of DejaVu Sans or Liberation Sans, whichever is wider,
    and of the fonts that the pictures name they are the widest. */
static double plot__width(const char *s)
{
	/* Of the characters from the space on, in hundredths of the size of letters. */
	static const unsigned char width[95] = {32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37,
			32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 56, 102, 69, 69, 73,
			78, 67, 62, 78, 76, 30, 50, 67, 56, 87, 75, 79, 67, 79, 73, 67, 62, 74, 69, 99, 69, 67,
			69, 40, 34, 40, 84, 56, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62,
			64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84};
	int sum = 0;
	for (; s && *s; s++) {
		unsigned char c = (unsigned char)*s;
		/* Inside a UTF-8 character. */
		if ((c & 0xC0) == 0x80) continue;
		sum += c < 0x80 ? (c >= 32 && c < 127 ? width[c - 32] : 0) : c < 0xE0 ? 84 : 104;
	}
	return 0.01 * sum * PLOT__FONT;
}

/*  How much wider bold letters are, at most. */
#define PLOT__BOLD 1.2

/*  The bytes of the character at s. */
static size_t plot__character(const char *s)
{
	int n = plot_utf8_length((const unsigned char *)s);
	return (size_t)(n ? n : 1);
}

/*  The text, or as much of its beginning and of its end as fits into this width, with an ellipsis
    between them; text: [PLOT__TEXT]. */
static const char *plot__fit(const char *s, double width, char *text)
{
	const double both = width - plot__width("\xE2\x80\xA6");
	size_t head = 0, most = PLOT__TEXT / 2 - 4;
	if (!s || (plot__width(s) <= width && strlen(s) < PLOT__TEXT)) return s;
	for (size_t next; (next = head + plot__character(s + head)) <= most; head = next) {
		memcpy(text, s, next);
		text[next] = 0;
		if (plot__width(text) > 0.6 * both) break;
	}
	text[head] = 0;
	const char *tail = s + head;
	double room = both - plot__width(text);
	while (plot__width(tail) > room || strlen(tail) > most) tail += plot__character(tail);
	snprintf(text + head, PLOT__TEXT - head, "\xE2\x80\xA6%s", tail);
	return text;
}

static void plot__label(
		FILE *f, double x, double y, const char *anchor, const char *style, const char *s)
{
	if (!s || !*s) return;
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, style);
	plot__text(f, s);
	fputs("</text>\n", f);
}

/* ---- ranges ---- */

static const plot__axis plot__no_axis = {0, 0, 0, 0, 0, 0, 1, 0, 0, PLOT__NO_DATES};

static void plot__widen(double *lo, double *hi, double v)
{
	if (!plot__finite(v)) return;
	/* Of the largest numbers of all, the difference would not be finite. */
	v = fmin(8e307, fmax(-8e307, v));
	if (v < *lo) *lo = v;
	if (v > *hi) *hi = v;
}

/*  A value, or its logarithm on a logarithmic axis. */
static double plot__scaled(const plot__axis *a, double v)
{
	return !a->log ? v : v > 0 ? log10(v) : -HUGE_VAL;
}

/*  Can point k be drawn? */
static int plot__drawn(const plot_item *t, int k, const plot__axis *x, const plot__axis *y)
{
	return plot__finite(plot__scaled(x, t->x[k])) && plot__finite(plot__scaled(y, t->y[k])) &&
		   (t->kind != PLOT_BAND || plot__finite(plot__scaled(y, t->y2[k])));
}

/*  The range of y from x = start on, both in the scale of their axes. */
static void plot__range_from(const plot_scene *s, const plot__axis *x, const plot__axis *y,
		double start, double *lo, double *hi)
{
	*lo = HUGE_VAL, *hi = -HUGE_VAL;
	for (int i = 0; i < s->count; i++) {
		const plot_item *t = &s->items[i];
		if (t->kind == PLOT_PLUS || t->kind == PLOT_RUG) continue;
		for (int k = 0; k < t->n; k++) {
			if (!(plot__scaled(x, t->x[k]) >= start)) continue;
			plot__widen(lo, hi, plot__scaled(y, t->y[k]));
			if (t->kind == PLOT_BAND) plot__widen(lo, hi, plot__scaled(y, t->y2[k]));
		}
	}
}

static void plot__xrange(const plot_scene *s, plot__axis *x)
{
	x->lo = HUGE_VAL, x->hi = -HUGE_VAL;
	for (int i = 0; i < s->count; i++)
		for (int k = 0; k < s->items[i].n; k++)
			plot__widen(&x->lo, &x->hi, plot__scaled(x, s->items[i].x[k]));
	if (s->xmin < s->xmax) x->lo = plot__scaled(x, s->xmin), x->hi = plot__scaled(x, s->xmax);
}

static void plot__yrange(const plot_scene *s, const plot__axis *x, plot__axis *y)
{
	int lines_only = 1;
	for (int i = 0; i < s->count; i++)
		if (s->items[i].kind != PLOT_LINE) lines_only = 0;
	plot__range_from(s, x, y, x->lo, &y->lo, &y->hi);
	if (lines_only && !y->log && y->lo < y->hi) {
		/* Of training curves the later part matters, and some of the way to it: a hundredth of the
		   values at least, where they hardly change any more. */
		double lo, hi;
		plot__range_from(s, x, y, x->lo + (x->log ? 0.75 : 0.25) * (x->hi - x->lo), &lo, &hi);
		double room = fmax(1.5 * (hi - lo), 0.01 * fmax(fabs(lo), fabs(hi)));
		if (hi > lo && y->hi - y->lo > 4 * (hi - lo)) {
			if (!(s->flags & PLOT_SMALL_IS_GOOD)) y->lo = fmax(y->lo, lo - room);
			if (!(s->flags & PLOT_LARGE_IS_GOOD)) y->hi = fmin(y->hi, hi + room);
		}
	}
	if (s->ymin < s->ymax) {
		y->lo = plot__scaled(y, s->ymin), y->hi = plot__scaled(y, s->ymax);
	} else {
		double margin = 0.04 * (y->hi - y->lo);
		/* Curves that do not change look as if they did not. */
		if (lines_only && !y->log && y->lo < y->hi)
			margin = fmax(margin, 5e-4 * fmax(fabs(y->lo), fabs(y->hi)));
		y->lo -= margin, y->hi += margin;
	}
}

static void plot__range(const plot_scene *s, plot__axis *x, plot__axis *y)
{
	x->calendar = s->flags & PLOT_DATEX ? PLOT__DAYS : PLOT__NO_DATES;
	y->calendar = s->flags & PLOT_DATEY ? PLOT__DAYS : PLOT__NO_DATES;
	x->log = (s->flags & PLOT_LOGX) != 0;
	plot__xrange(s, x);
	/* A decade or less has too few round numbers for a logarithmic axis. */
	if (x->log && !(x->hi - x->lo > 1)) {
		x->log = 0;
		plot__xrange(s, x);
	}
	y->log = (s->flags & PLOT_LOGY) != 0;
	plot__yrange(s, x, y);
	if (y->log && !(y->hi - y->lo > 1)) {
		y->log = 0;
		plot__yrange(s, x, y);
	}
	plot__axis *both[2] = {x, y};
	/* No data, only one value, or a range that rounding fills. */
	for (int i = 0; i < 2; i++) {
		plot__axis *a = both[i];
		if (!plot__finite(a->hi - a->lo)) a->lo = 0, a->hi = 1;
		double middle = 0.5 * (a->lo + a->hi), least = fmax(1e-12 * fabs(middle), 1e-290);
		if (a->hi - a->lo < least) {
			double half = middle == 0 || a->calendar ? 1 : 0.5 * fabs(middle);
			a->lo = middle - half, a->hi = middle + half;
		}
	}
}

/*  Gives scenes the range of y of all of them together, so that a glance compares them. */
static inline void plot_same_y(plot_scene *scenes, int count)
{
	double lo = HUGE_VAL, hi = -HUGE_VAL;
	for (int i = 0; i < count; i++) {
		plot__axis x = plot__no_axis, y = x;
		plot__range(&scenes[i], &x, &y);
		lo = fmin(lo, y.log ? pow(10, y.lo) : y.lo), hi = fmax(hi, y.log ? pow(10, y.hi) : y.hi);
	}
	for (int i = 0; i < count; i++) scenes[i].ymin = lo, scenes[i].ymax = hi;
}

/* ---- ticks ---- */

/*  The rounder of the numbers that are close to all values of an axis, for labels that would have
    too many digits otherwise. */
static double plot__base(const plot__axis *a, double largest)
{
	double span = a->hi - a->lo;
	if (largest < 1e5 * a->step) return 0;
	double power = pow(10, ceil(log10(largest)));
	while (power > a->step) {
		double multiple = ceil((a->lo - span) / power) * power;
		if (multiple <= a->hi) return multiple;
		power /= 10;
	}
	return a->lo;
}

/*  Sets ticks at multiples of 1, 2, 2.5 or 5 times a power of ten, at most `most` intervals. */
static void plot__decimal_ticks(plot__axis *a, int most)
{
	double raw = (a->hi - a->lo) / most, power = pow(10, floor(log10(raw)));
	double ratio = raw / power;
	a->step = power * (ratio <= 1.0001          ? 1
							  : ratio <= 2.0001 ? 2
							  : ratio <= 2.5001 ? 2.5
							  : ratio <= 5.0001 ? 5
												: 10);
	a->base = plot__base(a, fmax(fabs(a->lo), fabs(a->hi)));
	double largest = fmax(fabs(a->lo - a->base), fabs(a->hi - a->base));
	a->unit = 1;
	if (largest >= 1e5 || largest < 1e-2) a->unit = pow(10, 3 * floor(log10(largest) / 3 + 1e-9));
	double step = a->step / a->unit;
	for (a->decimals = 0; a->decimals < 9; a->decimals++) {
		double scaled = step * pow(10, a->decimals);
		if (fabs(scaled - floor(scaled + 0.5)) < 1e-6 * scaled) break;
	}
}

/*  A date of the Gregorian calendar, from its days since 1970-01-01. Years begin in March here, so
    that the leap day is the last one. */
static void plot__date(double days, int *year, int *month, int *day)
{
	double shifted = floor(days) + 719468, era = floor(shifted / 146097);
	int of_era = (int)(shifted - 146097 * era),
		y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365,
		of_year = of_era - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153;
	*day = of_year - (153 * m + 2) / 5 + 1;
	*month = m < 10 ? m + 3 : m - 9;
	*year = y + 400 * (int)era + (*month <= 2);
}

/*  Days from 1970-01-01 to the first day of a month, which counts from year 0 on. */
static double plot__month_start(double months)
{
	double march = months - 2, year = floor(march / 12), m = march - 12 * year;
	return 365 * year + floor(year / 4) - floor(year / 100) + floor(year / 400) +
		   floor((153 * m + 2) / 5) - 719468;
}

static double plot__months_until(double days)
{
	int year, month, day;
	plot__date(days, &year, &month, &day);
	return 12.0 * year + month - 1;
}

/*  Sets ticks at round times, days, months or years, about `most` intervals at most. */
static void plot__date_ticks(plot__axis *a, int most)
{
	static const struct {
		plot__calendar calendar;
		double step, days;
	} steps[] = {{PLOT__TIMES, 1 / 86400.0, 1 / 86400.0}, {PLOT__TIMES, 5 / 86400.0, 5 / 86400.0},
			{PLOT__TIMES, 15 / 86400.0, 15 / 86400.0}, {PLOT__TIMES, 1 / 1440.0, 1 / 1440.0},
			{PLOT__TIMES, 5 / 1440.0, 5 / 1440.0}, {PLOT__TIMES, 15 / 1440.0, 15 / 1440.0},
			{PLOT__TIMES, 1 / 24.0, 1 / 24.0}, {PLOT__TIMES, 3 / 24.0, 3 / 24.0},
			{PLOT__TIMES, 6 / 24.0, 6 / 24.0}, {PLOT__TIMES, 12 / 24.0, 12 / 24.0},
			{PLOT__DAYS, 1, 1}, {PLOT__DAYS, 2, 2}, {PLOT__DAYS, 7, 7}, {PLOT__DAYS, 14, 14},
			{PLOT__MONTHS, 1, 30.4}, {PLOT__MONTHS, 2, 60.9}, {PLOT__MONTHS, 3, 91.3},
			{PLOT__MONTHS, 6, 182.6}, {PLOT__YEARS, 1, 365.2}};
	const int count = (int)(sizeof steps / sizeof *steps);
	double span = a->hi - a->lo;
	int k = 0;
	while (k < count - 1 && steps[k].days * most < span) k++;
	a->calendar = steps[k].calendar, a->step = steps[k].step;
	if (a->calendar != PLOT__YEARS) return;
	plot__axis years = *a;
	years.lo = plot__months_until(a->lo) / 12, years.hi = plot__months_until(a->hi) / 12;
	plot__decimal_ticks(&years, most);
	a->step = fmax(1, floor(years.step + 0.5));
}

/*  The positions of ticks of dates. Returns how many there are. */
static int plot__date_values(const plot__axis *a, double *value)
{
	int n = 0, months = a->calendar >= PLOT__MONTHS;
	double step = a->calendar == PLOT__YEARS ? 12 * a->step : a->step,
		   first = ceil((months ? plot__months_until(a->lo) : a->lo) / step - 1e-9);
	for (int k = 0; n < PLOT__TICKS; k++) {
		double v = (first + k) * step;
		if (months) v = plot__month_start(v);
		if (v > a->hi) break;
		if (v >= a->lo) value[n++] = v;
	}
	return n;
}

/*  Are these times without a date? They are parts of the first day. */
static int plot__only_times(const plot__axis *a)
{
	return a->calendar == PLOT__TIMES && a->lo > -0.5 && a->hi < 1.5;
}

static void plot__date_text(const plot__axis *a, double value, char *text, size_t size)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int year, month, day, seconds = (int)((value - floor(value)) * 86400 + 0.5);
	/* A time that rounding has moved before midnight. */
	if (seconds == 86400) value = ceil(value), seconds = 0;
	/* The end of a day without a date is 24:00. */
	const int timed = plot__only_times(a);
	if (timed && value == 1) seconds = 86400;
	plot__date(value, &year, &month, &day);
	if (a->calendar == PLOT__YEARS) snprintf(text, size, "%d", year);
	else if (a->calendar == PLOT__MONTHS) snprintf(text, size, "%d-%02d", year, month);
	else if (a->calendar == PLOT__DAYS || (seconds == 0 && a->hi - a->lo > 1 && !timed))
		snprintf(text, size, "%d %.3s", day, months + 3 * (month - 1));
	else if (a->step < 1 / 1441.0)
		snprintf(text, size, "%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
	else snprintf(text, size, "%02d:%02d", seconds / 3600, seconds / 60 % 60);
}

/*  What the labels of dates leave out: the year, or the day of times. */
static void plot__date_rest(const plot__axis *a, char *text, size_t size)
{
	int year[2], month[2], day[2];
	for (int k = 0; k < 2; k++) plot__date(k ? a->hi : a->lo, &year[k], &month[k], &day[k]);
	*text = 0;
	if (a->calendar >= PLOT__MONTHS || plot__only_times(a)) return;
	if (floor(a->lo) >= floor(a->hi))
		snprintf(text, size, " (%d-%02d-%02d)", year[0], month[0], day[0]);
	else if (year[0] == year[1]) snprintf(text, size, " (%d)", year[0]);
	else snprintf(text, size, " (%d to %d)", year[0], year[1]);
}

static double plot__at(const plot__axis *a, double v)
{
	double p = a->from + (plot__scaled(a, v) - a->lo) / (a->hi - a->lo) * (a->to - a->from);
	/* What is far outside stays on its side, with a number that every viewer can read. */
	return p < -9999 ? -9999 : p > 9999 ? 9999 : p;
}

static void plot__tick_text(const plot__axis *a, double value, char *text, size_t size)
{
	char number[64];
	if (a->calendar) {
		plot__date_text(a, value, text, size);
		return;
	}
	if (a->log) {
		double power = floor(log10(value) + 1e-9);
		if (power < -3 || power > 4)
			snprintf(text, size, "%.0fe%.0f", value / pow(10, power), power);
		else snprintf(text, size, "%.*f", power < 0 ? (int)-power : 0, value);
		return;
	}
	value -= a->base;
	if (fabs(value) < 1e-6 * a->step) value = 0;
	snprintf(number, sizeof number, "%.*f", a->decimals, fabs(value) / a->unit);
	/* A minus sign, not a hyphen. */
	snprintf(text, size, "%s%s", value < 0 ? "\xE2\x88\x92" : "", number);
}

/*  The axis' label, with what its ticks leave out: the base, the power of ten, the year. */
static void plot__axis_text(const plot__axis *a, const char *label, char *text, size_t size)
{
	char base[48] = "", rest[32] = "";
	if (a->base != 0)
		snprintf(base, sizeof base, " %s %.12g", a->base < 0 ? "+" : "\xE2\x88\x92", fabs(a->base));
	if (a->calendar) plot__date_rest(a, rest, sizeof rest);
	else if (a->unit != 1) snprintf(rest, sizeof rest, " (1e%d)", (int)floor(log10(a->unit) + 0.5));
	snprintf(text, size, "%s%s%s", label ? label : "", base, rest);
}

/*  The positions of ticks: multiples of the step, or 1, 1 and 3, or 1, 2 and 5 times powers of ten.
    Returns how many there are. */
static int plot__tick_values(const plot__axis *a, double *value)
{
	int n = 0;
	if (a->calendar) return plot__date_values(a, value);
	if (!a->log) {
		double first = ceil((a->lo - a->base) / a->step - 1e-9);
		while (n < PLOT__TICKS && a->base + (first + n) * a->step <= a->hi + 1e-9 * a->step)
			value[n] = a->base + (first + n) * a->step, n++;
		return n;
	}
	static const double factors[3][3] = {{1, 0, 0}, {1, 3, 0}, {1, 2, 5}};
	double span = a->hi - a->lo;
	int every = (int)ceil(span / 7);
	const double *factor = factors[span > 3 ? 0 : span > 1.7 ? 1 : 2];
	for (int power = (int)floor(a->lo); power <= a->hi; power += every)
		for (int k = 0; k < 3 && factor[k] > 0; k++) {
			double v = factor[k] * pow(10, power), p = log10(v);
			if (n < PLOT__TICKS && p >= a->lo - 1e-9 && p <= a->hi + 1e-9) value[n++] = v;
		}
	return n;
}

/*  The largest number that the labels of neighbouring ticks are too close by; at most 0: all have
    room. *widest: the width of the widest label. */
static double plot__crowded(const plot__axis *a, int vertical, double *widest)
{
	double value[PLOT__TICKS], most = -HUGE_VAL, before = 0;
	int n = plot__tick_values(a, value);
	*widest = 0;
	for (int k = 0; k < n; k++) {
		char text[80];
		plot__tick_text(a, value[k], text, sizeof text);
		double width = plot__width(text);
		double need = vertical ? 1.3 * PLOT__FONT : 0.5 * (before + width) + PLOT__GAP;
		if (k) most = fmax(most, need - fabs(plot__at(a, value[k]) - plot__at(a, value[k - 1])));
		*widest = fmax(*widest, width);
		before = width;
	}
	return most;
}

/*  Sets ticks whose labels do not touch, at most `most` intervals. Returns the width of the widest
    label. */
static double plot__fit_ticks(plot__axis *a, int vertical, int most)
{
	double widest, crowded;
	do {
		if (a->calendar) plot__date_ticks(a, most);
		else if (!a->log) plot__decimal_ticks(a, most);
		crowded = plot__crowded(a, vertical, &widest);
	} while (crowded > 0 && --most > 0);
	return widest;
}

/* ---- drawing ---- */

static void plot__draw_dot(FILE *f, int colour, double cx, double cy)
{
	fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"#%06X\" fill-opacity=\"0.55\"/>\n",
			cx, cy, plot__colour(colour));
}

/*  A dot on a map, seen on every colour. */
static void plot__draw_pin(FILE *f, int colour, double cx, double cy)
{
	fprintf(f,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#%06X\" stroke=\"#ffffff\" "
			"stroke-width=\"0.8\"/>\n",
			cx, cy, plot__colour(colour));
}

static void plot__draw_line(FILE *f, const plot_item *t, const plot__axis *x, const plot__axis *y)
{
	int stride = t->n > PLOT__MOST_POINTS ? (t->n + PLOT__MOST_POINTS - 1) / PLOT__MOST_POINTS : 1,
		open = 0;
	for (int k = 0; k < t->n; k = k + stride < t->n || k == t->n - 1 ? k + stride : t->n - 1) {
		int good = plot__drawn(t, k, x, y);
		/* A point without a neighbour is a dot. */
		if (good && !open &&
				!(k + 1 < t->n &&
						plot__drawn(t, k + stride < t->n ? k + stride : t->n - 1, x, y))) {
			plot__draw_dot(f, t->colour, plot__at(x, t->x[k]), plot__at(y, t->y[k]));
			continue;
		}
		if (good && !open) {
			fprintf(f,
					"<polyline fill=\"none\" stroke=\"#%06X\" stroke-width=\"2.4\" "
					"stroke-linejoin=\"round\"",
					plot__colour(t->colour));
			if (*plot__dash(t->dash)) fprintf(f, " stroke-dasharray=\"%s\"", plot__dash(t->dash));
			fputs(" points=\"", f);
		}
		if (good) fprintf(f, "%.1f,%.1f ", plot__at(x, t->x[k]), plot__at(y, t->y[k]));
		if (!good && open) fputs("\"/>\n", f);
		open = good;
	}
	if (open) fputs("\"/>\n", f);
}

static void plot__draw_band(FILE *f, const plot_item *t, const plot__axis *x, const plot__axis *y)
{
	for (int k = 0; k < t->n;) {
		int end = k;
		while (end < t->n && plot__drawn(t, end, x, y)) end++;
		if (end > k) {
			fprintf(f, "<polygon fill=\"#%06X\" fill-opacity=\"0.2\" points=\"",
					plot__colour(t->colour));
			for (int i = k; i < end; i++)
				fprintf(f, "%.1f,%.1f ", plot__at(x, t->x[i]), plot__at(y, t->y[i]));
			for (int i = end - 1; i >= k; i--)
				fprintf(f, "%.1f,%.1f ", plot__at(x, t->x[i]), plot__at(y, t->y2[i]));
			fputs("\"/>\n", f);
		}
		k = end + 1;
	}
}

/*  Draws a mark in a strip of this height. */
static void plot__draw_mark(FILE *f, const plot_item *t, double cx, double cy, double height)
{
	double arm = 0.375 * height;
	if (t->kind == PLOT_PLUS)
		fprintf(f,
				"<path d=\"M%.1f %.1fh%.1fm-%.1f -%.1fv%.1f\" stroke=\"#%06X\" "
				"stroke-width=\"2.6\"/>\n",
				cx - arm, cy, 2 * arm, arm, arm, 2 * arm, plot__colour(t->colour));
	else
		fprintf(f, "<path d=\"M%.1f %.1fv%.1f\" stroke=\"#%06X\" stroke-width=\"1.2\"/>\n", cx,
				cy - 0.35 * height, 0.7 * height, plot__colour(t->colour));
}

static int plot__is_mark(const plot_item *t) { return t->kind == PLOT_PLUS || t->kind == PLOT_RUG; }

static int plot__is_map(const plot_item *t)
{
	return t->kind == PLOT_MAP || t->kind == PLOT_REGIONS;
}

/*  The range of a map's values; lo = hi if they are equal but for rounding. */
static void plot__map_range(const plot_item *t, plot__axis *z)
{
	z->lo = HUGE_VAL, z->hi = -HUGE_VAL;
	for (int k = 0; k < t->n; k++) plot__widen(&z->lo, &z->hi, t->y2[k]);
	if (t->colour == PLOT_SHARE) z->lo = 0, z->hi = 1;
	if (!plot__finite(z->hi - z->lo)) z->lo = z->hi = 0;
	double middle = 0.5 * z->lo + 0.5 * z->hi;
	if (z->hi - z->lo <= 1e-9 * fabs(middle)) z->lo = z->hi = middle;
}

/*  The colour of a cell, which has a value. */
static unsigned plot__cell_colour(const plot_item *t, const plot__axis *z, double v)
{
	static const plot__rgb white = {255, 255, 255};
	if (t->kind == PLOT_REGIONS) return plot__hex(plot__mixed(white, plot__rgb_of((int)v), 0.45));
	return plot__scale_colour(t->colour, z->hi > z->lo ? (v - z->lo) / (z->hi - z->lo) : 0.5);
}

/*  Draws the cells, those of one colour beside each other as one. */
static void plot__draw_map(FILE *f, const plot_item *t, const plot__axis *x, const plot__axis *y)
{
	plot__axis z = plot__no_axis;
	const int columns = t->dash;
	if (t->kind == PLOT_MAP) plot__map_range(t, &z);
	double width = fabs(plot__at(x, t->x[1]) - plot__at(x, t->x[0])),
		   height = fabs(plot__at(y, t->y[columns]) - plot__at(y, t->y[0]));
	fputs("<g shape-rendering=\"crispEdges\">\n", f);
	for (int k = 0, end; k < t->n; k = end) {
		end = k + 1;
		if (!plot__finite(t->y2[k])) continue;
		unsigned colour = plot__cell_colour(t, &z, t->y2[k]);
		while (end % columns && plot__finite(t->y2[end]) &&
				plot__cell_colour(t, &z, t->y2[end]) == colour)
			end++;
		fprintf(f,
				"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
				"fill=\"#%06X\"/>\n",
				plot__at(x, t->x[k]) - 0.5 * width, plot__at(y, t->y[k]) - 0.5 * height,
				(end - k) * width + 0.3, height + 0.3, colour);
	}
	fputs("</g>\n", f);
}

/*  Draws the short strokes of a logarithmic axis, outside the frame, at whole multiples of powers
    of ten. */
static void plot__draw_minor(FILE *f, const plot__axis *a, int vertical, double edge)
{
	for (int power = (int)floor(a->lo); power <= a->hi && a->hi - a->lo < 9; power++)
		for (int k = 1; k <= 9; k++) {
			double v = k * pow(10, power), p = log10(v);
			if (p < a->lo - 1e-9 || p > a->hi + 1e-9) continue;
			fprintf(f, vertical ? "<path d=\"M%.1f %.1fh-%d\"" : "<path d=\"M%.1f %.1fv%d\"",
					vertical ? edge : plot__at(a, v), vertical ? plot__at(a, v) : edge,
					k == 1 ? 6 : 4);
			fputs(" stroke=\"#333333\"/>\n", f);
		}
}

/*  Draws grid lines and numbers of one axis; the lines run over [from, to] of the other. Numbers
    that would touch the one before are left out. */
static void plot__draw_ticks(FILE *f, const plot__axis *a, int vertical, double from, double to)
{
	double value[PLOT__TICKS], free_from = -HUGE_VAL;
	int n = plot__tick_values(a, value);
	for (int k = 0; k < n; k++) {
		char text[80];
		double p = plot__at(a, value[k]);
		plot__tick_text(a, value[k], text, sizeof text);
		fprintf(f, vertical ? "<path d=\"M%.1f %.1fH%.1f\"" : "<path d=\"M%.1f %.1fV%.1f\"",
				vertical ? from : p, vertical ? p : to, vertical ? to : from);
		fputs(" stroke=\"#e2e2e2\"/>\n", f);
		/* Numbers go up, and so their places along the axis. */
		double half = 0.5 * (vertical ? 1.3 * PLOT__FONT : plot__width(text) + PLOT__GAP),
			   along = vertical ? -p : p;
		if (along - half < free_from) continue;
		free_from = along + half;
		if (vertical) plot__label(f, from - 7, p + 0.35 * PLOT__FONT, "end", "", text);
		else plot__label(f, p, to + 1.5 * PLOT__FONT, "middle", "", text);
	}
}

/* ---- panels ---- */

/*  A scene and its place. */
typedef struct plot__panel {
	const plot_scene *scene;
	/* NULL: there is none with a bar. */
	const plot_item *map;
	/* z: of the map's values. */
	plot__axis x, y, z;
	/* The ends of what belongs to the panel, and the frame, between which its texts stand. */
	double from, to, left, top, right, bottom;
	/* The widths of the widest numbers of y and z. */
	double y_numbers, z_numbers;
	/* Of the strips along the bottom. */
	int strips;
	double strip;
} plot__panel;

/*  The number beside the bar of a map of equal values. */
static const char *plot__only_value(const plot__axis *z, char *text, size_t size)
{
	snprintf(text, size, "%s%.4g", z->lo < 0 ? "\xE2\x88\x92" : "", fabs(z->lo));
	return text;
}

/*  What does not depend on where the panel's sides are: ranges, and the vertical axes' numbers. */
static plot__panel plot__panel_begin(const plot_scene *s, double top, double bottom)
{
	plot__panel p = {s, NULL, plot__no_axis, plot__no_axis, plot__no_axis, 0, 0, 0, top, 0, bottom,
			0, 0, 0, 0};
	char text[48];
	for (int i = 0; i < s->count; i++) {
		p.strips += plot__is_mark(&s->items[i]);
		if (s->items[i].kind == PLOT_MAP) p.map = &s->items[i];
	}
	if (p.strips) p.strip = fmin(PLOT__MARK, 0.4 * (bottom - top) / p.strips);
	plot__range(s, &p.x, &p.y);
	p.y.from = bottom - p.strips * p.strip, p.y.to = top;
	p.y_numbers = plot__fit_ticks(&p.y, 1, 6);
	if (!p.map) return p;
	plot__map_range(p.map, &p.z);
	p.z.from = bottom, p.z.to = top;
	p.z_numbers = p.z.hi > p.z.lo ? plot__fit_ticks(&p.z, 1, 5)
								  : plot__width(plot__only_value(&p.z, text, sizeof text));
	return p;
}

/*  The room that the numbers and the title of the axis of y take. */
static double plot__room_left(const plot__panel *p)
{
	return 0.5 * PLOT__PAD + (p->scene->ylabel ? 1.5 * PLOT__FONT : 0) + p->y_numbers + 7;
}

/*  The axis of x ends on a tick if one is near. */
static void plot__end_on_tick(plot__axis *x)
{
	if (x->log) x->hi += 0.01 * (x->hi - x->lo);
	if (x->log || x->calendar) return;
	double next = x->base + ceil((x->hi - x->base) / x->step - 1e-9) * x->step;
	if (next - x->hi < 0.02 * (x->hi - x->lo)) x->hi = next;
}

/*  Places the frame between from + margin and `to`, as wide as the bar, or the last number of x,
    leaves it. */
static void plot__place(plot__panel *p, double from, double to, double margin)
{
	double value[PLOT__TICKS], most = to - 1.2 * PLOT__PAD, beyond = 0;
	char text[80];
	p->from = from, p->to = to, p->left = from + margin;
	p->right = p->map ? most - PLOT__BAR_GAP - PLOT__BAR_WIDTH - 5 - p->z_numbers
					  : to - 2.2 * PLOT__PAD;
	for (int pass = 0; pass < 3; pass++) {
		p->right -= beyond;
		p->x.from = p->left, p->x.to = p->right;
		plot__fit_ticks(&p->x, 0, 5);
		if (!p->map && !pass) plot__end_on_tick(&p->x);
		int n = plot__tick_values(&p->x, value);
		if (!n) return;
		plot__tick_text(&p->x, value[n - 1], text, sizeof text);
		beyond = plot__at(&p->x, value[n - 1]) + 0.5 * plot__width(text) - (to - 4);
		if (beyond <= 0) return;
	}
}

/*  Draws the colours of a map and their values in a bar beside the frame. */
static void plot__draw_bar(FILE *f, const plot__panel *p, int index)
{
	double value[PLOT__TICKS], left = p->right + PLOT__BAR_GAP,
							   numbers = left + PLOT__BAR_WIDTH + 5, down = 0.35 * PLOT__FONT;
	int several = p->z.hi > p->z.lo;
	char text[80];
	fprintf(f, "<linearGradient id=\"bar%d\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">\n", index);
	for (int k = 0; k < PLOT__STOPS; k++) {
		double v = (double)k / (PLOT__STOPS - 1);
		fprintf(f, "<stop offset=\"%.4f\" stop-color=\"#%06X\"/>\n", v,
				plot__scale_colour(p->map->colour, several ? v : 0.5));
	}
	fprintf(f,
			"</linearGradient>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" "
			"fill=\"url(#bar%d)\"/>\n",
			left, p->top, PLOT__BAR_WIDTH, p->bottom - p->top, index);
	if (!several)
		plot__label(f, numbers, 0.5 * (p->top + p->bottom) + down, "start", "",
				plot__only_value(&p->z, text, sizeof text));
	int n = several ? plot__tick_values(&p->z, value) : 0;
	for (int k = 0; k < n; k++) {
		plot__tick_text(&p->z, value[k], text, sizeof text);
		plot__label(f, numbers, plot__at(&p->z, value[k]) + down, "start", "", text);
	}
}

/*  Draws the titles of a panel and of its axes. */
static void plot__draw_titles(FILE *f, const plot__panel *p)
{
	const plot_scene *s = p->scene;
	char text[PLOT__TEXT], fitted[PLOT__TEXT];
	double middle = 0.5 * (p->left + p->right),
		   width = 2 * fmin(middle - p->from, p->to - middle) - PLOT__GAP;
	plot__axis_text(&p->z, s->title, text, sizeof text);
	plot__label(f, middle, p->top - 0.7 * PLOT__FONT, "middle", " font-weight=\"bold\"",
			plot__fit(text, width / PLOT__BOLD, fitted));
	plot__axis_text(&p->x, s->xlabel, text, sizeof text);
	plot__label(
			f, middle, p->bottom + 2.75 * PLOT__FONT, "middle", "", plot__fit(text, width, fitted));
	plot__axis_text(&p->y, s->ylabel, text, sizeof text);
	if (!*text) return;
	fprintf(f, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">",
			p->left - 7 - p->y_numbers - 0.6 * PLOT__FONT, 0.5 * (p->top + p->bottom));
	plot__label(f, 0, 0, "middle", "", plot__fit(text, p->bottom - p->top, fitted));
	fputs("</g>\n", f);
}

/*  Draws items one after the other inside the frame. */
static void plot__draw_items(FILE *f, const plot__panel *p)
{
	const plot_scene *s = p->scene;
	const plot__axis *x = &p->x, *y = &p->y;
	int strip = 0, mapped = 0;
	for (int i = 0; i < s->count; i++) {
		const plot_item *t = &s->items[i];
		if (t->kind == PLOT_LINE) plot__draw_line(f, t, x, y);
		if (t->kind == PLOT_BAND) plot__draw_band(f, t, x, y);
		if (plot__is_map(t)) plot__draw_map(f, t, x, y), mapped = 1;
		for (int k = 0; t->kind == PLOT_POINTS && k < t->n; k++)
			if (plot__drawn(t, k, x, y))
				(mapped ? plot__draw_pin : plot__draw_dot)(
						f, t->colour, plot__at(x, t->x[k]), plot__at(y, t->y[k]));
		if (!plot__is_mark(t)) continue;
		double cy = p->bottom - (p->strips - ++strip + 0.5) * p->strip;
		for (int k = 0; k < t->n; k++)
			if (plot__finite(t->x[k])) plot__draw_mark(f, t, plot__at(x, t->x[k]), cy, p->strip);
	}
}

static void plot__draw_panel(FILE *f, const plot__panel *p, int index)
{
	plot__draw_ticks(f, &p->x, 0, p->top, p->bottom);
	plot__draw_ticks(f, &p->y, 1, p->left, p->right);
	fprintf(f,
			"<clipPath id=\"panel%d\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			"height=\"%.1f\"/></clipPath>\n",
			index, p->left, p->top, p->right - p->left, p->bottom - p->top);
	fprintf(f, "<g clip-path=\"url(#panel%d)\">\n", index);
	plot__draw_items(f, p);
	fputs("</g>\n", f);
	fprintf(f,
			"<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#333333\" "
			"stroke-width=\"1.4\"/>\n",
			p->left, p->top, p->bottom, p->right);
	if (p->map) plot__draw_bar(f, p, index);
	if (p->x.log) plot__draw_minor(f, &p->x, 0, p->bottom);
	if (p->y.log) plot__draw_minor(f, &p->y, 1, p->left);
	plot__draw_titles(f, p);
}

/* ---- the legend ---- */

enum { PLOT__ENTRIES = 32 };

typedef struct plot__legend {
	const plot_item *entry[PLOT__ENTRIES];
	/* Does it lie on a map? */
	int on_map[PLOT__ENTRIES];
	int count;
	/* The width of the picture, of one name at most, and of one row at most. */
	double width, widest, room;
} plot__legend;

/*  The width of the sample before a name. */
static double plot__sample(const plot_item *t)
{
	return t->kind == PLOT_LINE || t->kind == PLOT_BAND ? 38 : t->kind == PLOT_PLUS ? 14 : 26;
}

/*  The width of a sample, its name, and the space to the next one. */
static double plot__entry_width(const plot__legend *l, int e)
{
	char text[PLOT__TEXT];
	return plot__sample(l->entry[e]) + 7 +
		   plot__width(plot__fit(l->entry[e]->name, l->widest, text)) + 22;
}

/*  The end of the row that begins with entry e, and its width. */
static int plot__row_end(const plot__legend *l, int e, double *width)
{
	*width = plot__entry_width(l, e++);
	for (; e < l->count; e++) {
		double next = plot__entry_width(l, e);
		if (*width + next > l->room) break;
		*width += next;
	}
	return e;
}

static int plot__rows(const plot__legend *l)
{
	int rows = 0;
	double width;
	for (int e = 0; e < l->count; e = plot__row_end(l, e, &width)) rows++;
	return rows;
}

/*  Takes each name once, and makes the rows about equally wide. */
static plot__legend plot__legend_begin(const plot_scene *scenes, int count, double width)
{
	plot__legend l = {{NULL}, {0}, 0, width, 0.45 * width - PLOT__PAD, width - PLOT__PAD};
	for (int p = 0; p < count; p++)
		for (int i = 0, mapped = 0; i < scenes[p].count; i++) {
			const plot_item *t = &scenes[p].items[i];
			mapped |= plot__is_map(t);
			int known = !t->name || !*t->name || plot__is_map(t) || l.count == PLOT__ENTRIES;
			for (int e = 0; e < l.count && !known; e++) known = !strcmp(l.entry[e]->name, t->name);
			if (known) continue;
			l.on_map[l.count] = mapped;
			l.entry[l.count++] = t;
		}
	plot__legend narrower = l;
	for (int rows = plot__rows(&l); rows > 1 && plot__rows(&narrower) == rows; narrower.room -= 10)
		l = narrower;
	return l;
}

static void plot__draw_sample(FILE *f, const plot_item *t, int on_map, double left, double middle)
{
	double width = plot__sample(t);
	if (t->kind == PLOT_LINE)
		fprintf(f,
				"<path d=\"M%.1f %.1fh%.1f\" stroke=\"#%06X\" stroke-width=\"2.8\" "
				"stroke-dasharray=\"%s\"/>\n",
				left, middle, width, plot__colour(t->colour),
				*plot__dash(t->dash) ? plot__dash(t->dash) : "none");
	else if (t->kind == PLOT_BAND)
		fprintf(f,
				"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\" fill=\"#%06X\" "
				"fill-opacity=\"0.2\"/>\n",
				left, middle - 7, width, plot__colour(t->colour));
	else if (t->kind == PLOT_POINTS)
		for (int i = 1; i <= 3; i++)
			(on_map ? plot__draw_pin : plot__draw_dot)(
					f, t->colour, left + 0.25 * width * i, middle + (i == 2 ? -4 : 3));
	else
		for (int i = 1; i <= (t->kind == PLOT_RUG ? 5 : 1); i++)
			plot__draw_mark(f, t, left + width * (t->kind == PLOT_RUG ? 0.16 * i : 0.5), middle,
					PLOT__MARK);
}

/*  Draws the legend in centred rows, the first of them at the height y. */
static void plot__draw_legend(FILE *f, const plot__legend *l, double y)
{
	char text[PLOT__TEXT];
	double width;
	for (int e = 0, end; e < l->count; e = end, y += 1.5 * PLOT__FONT) {
		end = plot__row_end(l, e, &width);
		double left = 0.5 * (l->width - width + 22);
		for (; e < end; e++) {
			const plot_item *t = l->entry[e];
			plot__draw_sample(f, t, l->on_map[e], left, y - 0.34 * PLOT__FONT);
			plot__label(f, left + plot__sample(t) + 7, y, "start", "",
					plot__fit(t->name, l->widest, text));
			left += plot__entry_width(l, e);
		}
	}
}

/* ---- the picture ---- */

static void plot__write(
		FILE *f, const char *title, const plot_scene *scenes, int count, int columns)
{
	const double panel_w = count > 1 ? 410 : 560, panel_h = count > 1 ? 330 : 350,
				 width = columns * panel_w, inside = panel_h - 4 * PLOT__FONT,
				 below = 3.3 * PLOT__FONT, title_y = PLOT__PAD + PLOT__FONT;
	const plot__legend legend = plot__legend_begin(scenes, count, width);
	int titles = 0, lines = (count + columns - 1) / columns;
	double top = PLOT__PAD, margin = 4 * PLOT__FONT;
	for (int p = 0; p < count; p++) {
		titles += scenes[p].title && *scenes[p].title;
		plot__panel panel = plot__panel_begin(&scenes[p], 0, inside);
		margin = fmax(margin, plot__room_left(&panel));
	}
	if (title && *title) top += 1.7 * PLOT__FONT;
	double legend_y = top + PLOT__FONT, above = (titles ? 1.8 : 0.6) * PLOT__FONT;
	top += plot__rows(&legend) * 1.5 * PLOT__FONT + above;
	double height = top - above + lines * (above + inside + below);
	fprintf(f,
			"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
			"height=\"%.0f\" role=\"img\" "
			"font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\" "
			"font-size=\"%d\" fill=\"#222222\">\n",
			width, height, width, height, PLOT__FONT);
	fputs("<title>", f);
	plot__text(f, title && *title ? title : "plot");
	fprintf(f, "</title>\n<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n", width,
			height);
	char text[PLOT__TEXT];
	plot__label(f, 0.5 * width, title_y, "middle", " font-weight=\"bold\"",
			plot__fit(title, (width - 2 * PLOT__PAD) / PLOT__BOLD, text));
	plot__draw_legend(f, &legend, legend_y);
	for (int p = 0; p < count; p++) {
		int row = p / columns, column = p % columns;
		double left = column * panel_w, y = top + row * (above + inside + below);
		plot__panel panel = plot__panel_begin(&scenes[p], y, y + inside);
		plot__place(&panel, left, left + panel_w, margin);
		plot__draw_panel(f, &panel, p);
	}
	fputs("</svg>\n", f);
}

static inline int plot_grid(
		const char *path, const char *title, const plot_scene *scenes, int count, int columns)
{
	if (!path || !scenes || count < 1 || columns < 1) return 1;
	/* No temporary file stands in between: a picture that is lost can be drawn again. */
	FILE *f = fopen(path, "w");
	if (!f) return 1;
	plot__write(f, title, scenes, count, columns);
	int failed = ferror(f) != 0;
	if (fclose(f)) failed = 1;
	return failed;
}

static inline int plot_scenes(
		const char *path, const char *title, const plot_scene *scenes, int count)
{
	return plot_grid(path, title, scenes, count, count);
}

static inline int plot_panels(
		const char *path, const char *title, const plot_panel *panels, int count)
{
	if (!panels || count < 1) return 1;
	size_t total = 0, used = 0;
	for (int p = 0; p < count; p++) total += panels[p].count > 0 ? (size_t)panels[p].count : 0;
	plot_scene *scenes = (plot_scene *)calloc((size_t)count, sizeof *scenes);
	plot_item *items = (plot_item *)calloc(total + 1, sizeof *items);
	int failed = !scenes || !items;
	for (int p = 0; p < count && !failed; p++) {
		plot_scene *s = &scenes[p];
		s->title = panels[p].title, s->xlabel = panels[p].xlabel, s->ylabel = panels[p].ylabel;
		s->items = items + used, s->count = panels[p].count;
		for (int i = 0; i < panels[p].count; i++) {
			plot_item *t = &items[used++];
			const plot_series *from = &panels[p].series[i];
			t->kind = PLOT_LINE, t->name = from->name, t->x = from->x, t->y = from->y,
			t->n = from->n;
			t->colour = i, t->dash = i;
		}
	}
	if (!failed) failed = plot_scenes(path, title, scenes, count);
	free(scenes);
	free(items);
	return failed;
}

static inline int plot_lines(const char *path, const char *title, const char *xlabel,
		const char *ylabel, const plot_series *series, int count)
{
	plot_panel panel = {NULL, xlabel, ylabel, series, count};
	return plot_panels(path, title, &panel, 1);
}

#endif
