/*  plot.h - line pictures as SVG files. C99, no dependencies, everything static.

        plot_lines    one panel of lines
        plot_panels   panels of lines beside each other
        plot_scenes   panels that also hold bands, points, and marks along the bottom
        plot_grid     the same in rows
        plot_same_y   one range of y for several scenes

    All but the last return 0, or 1 if the file cannot be written: what is in it then is incomplete.

    Names, titles and labels are UTF-8 and may be NULL; of those too long for their place, an
    ellipsis stands for the middle. The legend stands above the panels, each
    name once, so that it never covers data. Values that are not finite leave a gap. The colours are
    those of Okabe and Ito, which colour-blind readers can tell apart; lines also differ by their
    dashes. A panel that holds only lines takes its range of y from their later part if they begin
    far away from it; which values are good says which of the others it keeps. Numbers are written with printf, so LC_NUMERIC must stay in the C locale. */
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
	/* A map: (x, y) are the middles of the cells of a grid with `dash` columns, y2 their values, as
       colours from dark to light with a bar beside the panel. */
	PLOT_MAP
} plot_kind;

typedef struct plot_item {
	plot_kind kind;
	/* In the legend; NULL: not there. Of maps: NULL, or the names of the values 0, 1, ..., which the
	   bar shows in place of numbers, with a line end after each. */
	const char *name;
	/* [n] */
	const double *x, *y, *y2;
	int n;
	/* 0 blue, 1 vermilion, 2 green, 3 purple, 4 orange, 5 sky blue, 6 black, 7 grey; 8 is 0
       again. */
	int colour;
	/* Of lines: 0 none, 1 dashes, 2 dots, 3 dash and dot, 4 long dashes. */
	int dash;
} plot_item;

/*  Logarithmic axes; linear nevertheless if the values span less than a decade. Small or large values
    of y are good: a panel of lines shows the best ones. */
enum { PLOT_LOGX = 1, PLOT_LOGY = 2, PLOT_SMALL_IS_GOOD = 4, PLOT_LARGE_IS_GOOD = 8 };

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
	PLOT__BAR = 72,
	PLOT__BAR_GAP = 10,
	PLOT__BAR_WIDTH = 14,
	PLOT__BAR_NAME = 110,
	PLOT__TEXT = 256,
	PLOT__MOST_POINTS = 1500,
	PLOT__TICKS = 12
};

typedef struct plot__axis {
	/* The range of the data, or of its logarithm to base 10; the same in SVG units. */
	double lo, hi;
	double from, to;
	/* Between ticks of a linear axis. */
	double step;
	/* Tick labels are in units of this power of ten. */
	double unit;
	int decimals;
	int log;
} plot__axis;

static const char *plot__colour(int i)
{
	/* clang-format off */
    static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                          "#E69F00", "#56B4E9", "#000000", "#777777"};
	/* clang-format on */
	return colours[(unsigned)i % (sizeof colours / sizeof *colours)];
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

/*  The width of a text in SVG units, estimated generously: fonts differ. */
static double plot__width(const char *s)
{
	double em = 0;
	for (; s && *s; s++) {
		unsigned char c = (unsigned char)*s;
		/* Inside a UTF-8 character. */
		if ((c & 0xC0) == 0x80) continue;
		em += strchr("iljt.,:;|!' ()[]fr1", c)      ? 0.36
			  : strchr("mwMW@=+<>", c) || c >= 0xE0 ? 0.92
			  : c >= 'A' && c <= 'Z'                ? 0.7
													: 0.62;
	}
	return em * PLOT__FONT;
}

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
	const double both = width - PLOT__FONT;
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

/* ---- ranges and ticks ---- */

static void plot__widen(double *lo, double *hi, double v)
{
	if (!plot__finite(v)) return;
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
		y->lo -= margin, y->hi += margin;
	}
}

static void plot__range(const plot_scene *s, plot__axis *x, plot__axis *y)
{
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
	/* No data, only one value, or a range too small for ticks. */
	for (int i = 0; i < 2; i++) {
		plot__axis *a = both[i];
		if (!plot__finite(a->hi - a->lo)) a->lo = 0, a->hi = 1;
		double middle = 0.5 * (a->lo + a->hi), least = fmax(1e-9 * fabs(middle), 1e-200);
		if (a->hi - a->lo < least) {
			double half = middle == 0 ? 1 : 0.5 * fabs(middle);
			a->lo = middle - half, a->hi = middle + half;
		}
	}
}

/*  Gives scenes the range of y of all of them together, so that a glance compares them. */
static inline void plot_same_y(plot_scene *scenes, int count)
{
	double lo = HUGE_VAL, hi = -HUGE_VAL;
	for (int i = 0; i < count; i++) {
		plot__axis x = {0, 0, 0, 0, 0, 0, 0, 0}, y = x;
		plot__range(&scenes[i], &x, &y);
		lo = fmin(lo, y.log ? pow(10, y.lo) : y.lo), hi = fmax(hi, y.log ? pow(10, y.hi) : y.hi);
	}
	for (int i = 0; i < count; i++) scenes[i].ymin = lo, scenes[i].ymax = hi;
}

/*  Sets ticks at multiples of 1, 2, 2.5 or 5 times a power of ten, at most `most` intervals. */
static void plot__ticks(plot__axis *a, int most)
{
	double raw = (a->hi - a->lo) / most, power = pow(10, floor(log10(raw)));
	double ratio = raw / power;
	a->step = power * (ratio <= 1.0001          ? 1
							  : ratio <= 2.0001 ? 2
							  : ratio <= 2.5001 ? 2.5
							  : ratio <= 5.0001 ? 5
												: 10);
	double largest = fmax(fabs(a->lo), fabs(a->hi));
	a->unit = 1;
	if (largest >= 1e5 || largest < 1e-2) a->unit = pow(10, 3 * floor(log10(largest) / 3 + 1e-9));
	double step = a->step / a->unit;
	for (a->decimals = 0; a->decimals < 9; a->decimals++) {
		double scaled = step * pow(10, a->decimals);
		if (fabs(scaled - floor(scaled + 0.5)) < 1e-6 * scaled) break;
	}
}

static double plot__at(const plot__axis *a, double v)
{
	double p = a->from + (plot__scaled(a, v) - a->lo) / (a->hi - a->lo) * (a->to - a->from);
	/* What is far outside stays on its side, with a number that every viewer can read. */
	return p < -9999 ? -9999 : p > 9999 ? 9999 : p;
}

static void plot__tick_text(const plot__axis *a, double value, char *text, size_t size)
{
	if (!a->log && fabs(value) < 1e-9 * a->step) value = 0;
	char number[64];
	if (a->log) {
		double power = floor(log10(value) + 1e-9);
		if (power < -3 || power > 4)
			snprintf(text, size, "%.0fe%.0f", value / pow(10, power), power);
		else snprintf(text, size, "%.*f", power < 0 ? (int)-power : 0, value);
		return;
	}
	snprintf(number, sizeof number, "%.*f", a->decimals, fabs(value) / a->unit);
	/* A minus sign, not a hyphen. */
	snprintf(text, size, "%s%s", value < 0 ? "\xE2\x88\x92" : "", number);
}

/*  The axis' label, with the power of ten that its ticks leave out. */
static void plot__axis_text(const plot__axis *a, const char *label, char *text, size_t size)
{
	if (a->unit == 1 || !label) snprintf(text, size, "%s", label ? label : "");
	else snprintf(text, size, "%s (1e%d)", label, (int)floor(log10(a->unit) + 0.5));
}

/* ---- drawing ---- */

static void plot__draw_dot(FILE *f, int colour, double cx, double cy)
{
	fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"%s\" fill-opacity=\"0.55\"/>\n",
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
					"<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2.4\" "
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
			fprintf(f, "<polygon fill=\"%s\" fill-opacity=\"0.2\" points=\"",
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

static void plot__draw_mark(FILE *f, const plot_item *t, double cx, double cy)
{
	if (t->kind == PLOT_PLUS)
		fprintf(f, "<path d=\"M%.1f %.1fh12m-6 -6v12\" stroke=\"%s\" stroke-width=\"2.6\"/>\n",
				cx - 6, cy, plot__colour(t->colour));
	else
		fprintf(f, "<path d=\"M%.1f %.1fv11\" stroke=\"%s\" stroke-width=\"1.2\"/>\n", cx, cy - 5.5,
				plot__colour(t->colour));
}

static int plot__is_mark(const plot_item *t) { return t->kind == PLOT_PLUS || t->kind == PLOT_RUG; }

/*  A colour of the scale "viridis" for v from 0 to 1, between eight of its colours. */
static void plot__map_colour(double v, char *text, size_t size)
{
	static const unsigned char scale[8][3] = {{68, 1, 84}, {70, 50, 127}, {54, 92, 141},
			{39, 127, 142}, {31, 161, 135}, {74, 194, 109}, {159, 218, 58}, {253, 231, 37}};
	double at = 7 * fmin(1, fmax(0, v));
	int k = at < 7 ? (int)at : 6;
	int colour[3];
	for (int i = 0; i < 3; i++)
		colour[i] = (int)(scale[k][i] + (at - k) * (scale[k + 1][i] - scale[k][i]) + 0.5);
	snprintf(text, size, "#%02x%02x%02x", colour[0], colour[1], colour[2]);
}

/*  How many names a map has. */
static int plot__names(const plot_item *t)
{
	int n = 0;
	for (const char *s = t->name; s && *s; s++) n += *s == '\n';
	return n;
}

static void plot__map_range(const plot_item *t, plot__axis *z)
{
	z->lo = HUGE_VAL, z->hi = -HUGE_VAL;
	if (t->name) {
		z->lo = 0, z->hi = fmax(1, plot__names(t) - 1);
		return;
	}
	for (int k = 0; k < t->n; k++) plot__widen(&z->lo, &z->hi, t->y2[k]);
	if (!(z->hi > z->lo))
		z->lo -= 1e-3 * fabs(z->lo) + 1e-12, z->hi = z->lo + 2e-3 * fabs(z->lo) + 2e-12;
}

static void plot__draw_map(FILE *f, const plot_item *t, const plot__axis *x, const plot__axis *y)
{
	plot__axis z = {0, 0, 0, 0, 0, 0, 0, 0};
	plot__map_range(t, &z);
	double width = fabs(plot__at(x, t->x[1]) - plot__at(x, t->x[0])),
		   height = fabs(plot__at(y, t->y[t->dash]) - plot__at(y, t->y[0]));
	fputs("<g shape-rendering=\"crispEdges\">\n", f);
	for (int k = 0; k < t->n; k++) {
		char colour[24];
		if (!plot__finite(t->y2[k])) continue;
		plot__map_colour((t->y2[k] - z.lo) / (z.hi - z.lo), colour, sizeof colour);
		fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
				plot__at(x, t->x[k]) - 0.5 * width, plot__at(y, t->y[k]) - 0.5 * height,
				width + 0.3, height + 0.3, colour);
	}
	fputs("</g>\n", f);
}

/*  The positions of ticks: multiples of the step, or 1, 1 and 3, or 1, 2 and 5 times powers of ten.
    Returns how many there are. */
static int plot__tick_values(const plot__axis *a, double *value)
{
	int n = 0;
	if (!a->log) {
		double first = ceil(a->lo / a->step - 1e-9);
		while (n < PLOT__TICKS && (first + n) * a->step <= a->hi + 1e-9 * a->step)
			value[n] = (first + n) * a->step, n++;
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

/*  Draws grid lines and numbers of one axis; the lines run over [from, to] of the other. Returns
    the width of the widest number. */
static double plot__draw_ticks(FILE *f, const plot__axis *a, int vertical, double from, double to)
{
	double value[PLOT__TICKS], widest = 0;
	int n = plot__tick_values(a, value);
	for (int k = 0; k < n; k++) {
		char text[80];
		double p = plot__at(a, value[k]);
		plot__tick_text(a, value[k], text, sizeof text);
		widest = fmax(widest, plot__width(text));
		fprintf(f, vertical ? "<path d=\"M%.1f %.1fH%.1f\"" : "<path d=\"M%.1f %.1fV%.1f\"",
				vertical ? from : p, vertical ? p : to, vertical ? to : from);
		fputs(" stroke=\"#e2e2e2\"/>\n", f);
		if (vertical) plot__label(f, from - 7, p + 0.35 * PLOT__FONT, "end", "", text);
		else plot__label(f, p, to + PLOT__FONT + 5, "middle", "", text);
	}
	return widest;
}

/*  Copies the name at s, shortened, and returns the next one; text: [PLOT__TEXT]. */
static const char *plot__next_name(const char *s, char *text)
{
	char copy[PLOT__TEXT];
	size_t n = strcspn(s, "\n"), kept = n < PLOT__TEXT - 1 ? n : PLOT__TEXT - 1;
	memcpy(copy, s, kept);
	copy[kept] = 0;
	const char *fitted = plot__fit(copy, PLOT__BAR_NAME, text);
	if (fitted != text) memcpy(text, fitted, kept + 1);
	return s + n + (s[n] == '\n');
}

/*  The width of the bar beside a map, with its texts. */
static double plot__bar(const plot_item *t)
{
	double widest = 0;
	char text[PLOT__TEXT];
	for (const char *s = t->name; s && *s;) {
		s = plot__next_name(s, text);
		widest = fmax(widest, plot__width(text));
	}
	return t->name ? PLOT__BAR_GAP + PLOT__BAR_WIDTH + 5 + widest : PLOT__BAR;
}

/*  Draws the names beside the colours of a bar, or every so many if they are too close. */
static void plot__draw_names(FILE *f, const plot_item *t, double left, double top, double bottom)
{
	int count = plot__names(t), every = 1;
	double height = (bottom - top) / count;
	char text[PLOT__TEXT];
	while (every * height < 1.2 * PLOT__FONT) every++;
	const char *s = t->name;
	for (int k = 0; k < count; k++) {
		s = plot__next_name(s, text);
		if (k % every == 0)
			plot__label(
					f, left, bottom - (k + 0.5) * height + 0.35 * PLOT__FONT, "start", "", text);
	}
}

/*  Draws the colours of a map and their values in a bar with this left edge. */
static void plot__draw_bar(FILE *f, const plot_item *t, double left, double top, double bottom)
{
	enum { STEPS = 40 };
	plot__axis z = {0, 0, 0, 0, 0, 0, 0, 0};
	int steps = t->name ? plot__names(t) : STEPS;
	double value[PLOT__TICKS], height = (bottom - top) / steps, right = left + PLOT__BAR_WIDTH + 5;
	char text[80];
	plot__map_range(t, &z);
	z.from = bottom, z.to = top;
	plot__ticks(&z, 5);
	for (int k = 0; k < steps; k++) {
		plot__map_colour(t->name ? k / z.hi : (k + 0.5) / steps, text, sizeof text);
		fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" fill=\"%s\"/>\n", left,
				bottom - (k + 1) * height, PLOT__BAR_WIDTH, height + 0.3, text);
	}
	if (t->name) {
		plot__draw_names(f, t, right, top, bottom);
		return;
	}
	int n = plot__tick_values(&z, value);
	for (int k = 0; k < n; k++) {
		plot__tick_text(&z, value[k], text, sizeof text);
		plot__label(f, right, plot__at(&z, value[k]) + 0.35 * PLOT__FONT, "start", "", text);
	}
	plot__axis_text(&z, "", text, sizeof text);
	plot__label(f, left + PLOT__BAR_WIDTH, top - 9, "middle", "", text);
}

/*  Draws one panel, whose frame has the corners (left, top) and (right, bottom) and whose texts are
    at most this wide. */
static void plot__draw_scene(FILE *f, const plot_scene *s, int index, double left, double top,
		double right, double bottom, double width)
{
	plot__axis x = {0, 0, 0, 0, 0, 0, 0, 0}, y = x;
	int strips = 0;
	const plot_item *map = NULL;
	for (int i = 0; i < s->count; i++) {
		strips += plot__is_mark(&s->items[i]);
		if (s->items[i].kind == PLOT_MAP) map = &s->items[i];
	}
	if (map) right -= plot__bar(map);
	plot__range(s, &x, &y);
	x.from = left, x.to = right, y.from = bottom - strips * PLOT__MARK, y.to = top;
	if (x.log) {
		x.unit = 1;
		x.hi += 0.01 * (x.hi - x.lo);
	} else {
		plot__ticks(&x, 5);
		/* The axis of x ends on a tick if one is near. */
		double next = ceil(x.hi / x.step - 1e-9) * x.step;
		if (next - x.hi < 0.02 * (x.hi - x.lo) && !map) x.hi = next;
	}
	if (y.log) y.unit = 1;
	else plot__ticks(&y, 6);

	plot__draw_ticks(f, &x, 0, top, bottom);
	double numbers = plot__draw_ticks(f, &y, 1, left, right);

	fprintf(f,
			"<clipPath id=\"panel%d\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			"height=\"%.1f\"/></clipPath>\n",
			index, left, top, right - left, bottom - top);
	fprintf(f, "<g clip-path=\"url(#panel%d)\">\n", index);
	int strip = 0;
	for (int i = 0; i < s->count; i++) {
		const plot_item *t = &s->items[i];
		if (t->kind == PLOT_LINE) plot__draw_line(f, t, &x, &y);
		if (t->kind == PLOT_BAND) plot__draw_band(f, t, &x, &y);
		if (t->kind == PLOT_MAP) plot__draw_map(f, t, &x, &y);
		for (int k = 0; t->kind == PLOT_POINTS && k < t->n; k++)
			if (plot__drawn(t, k, &x, &y))
				plot__draw_dot(f, t->colour, plot__at(&x, t->x[k]), plot__at(&y, t->y[k]));
		if (!plot__is_mark(t)) continue;
		double cy = bottom - (strips - ++strip + 0.5) * PLOT__MARK;
		for (int k = 0; k < t->n; k++)
			if (plot__finite(t->x[k])) plot__draw_mark(f, t, plot__at(&x, t->x[k]), cy);
	}
	fputs("</g>\n", f);
	fprintf(f,
			"<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#333333\" "
			"stroke-width=\"1.4\"/>\n",
			left, top, bottom, right);
	if (map) plot__draw_bar(f, map, right + PLOT__BAR_GAP, top, bottom);
	if (x.log) plot__draw_minor(f, &x, 0, bottom);
	if (y.log) plot__draw_minor(f, &y, 1, left);

	char text[PLOT__TEXT], fitted[PLOT__TEXT];
	plot__label(f, 0.5 * (left + right), top - 9, "middle", " font-weight=\"bold\"",
			plot__fit(s->title, width, fitted));
	plot__axis_text(&x, s->xlabel, text, sizeof text);
	plot__label(f, 0.5 * (left + right), bottom + 2.6 * PLOT__FONT, "middle", "",
			plot__fit(text, width, fitted));
	plot__axis_text(&y, s->ylabel, text, sizeof text);
	if (*text) {
		fprintf(f, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">",
				left - 7 - numbers - 0.6 * PLOT__FONT, 0.5 * (top + bottom));
		plot__label(f, 0, 0, "middle", "", plot__fit(text, bottom - top + 4 * PLOT__FONT, fitted));
		fputs("</g>\n", f);
	}
}

/*  Draws the legend, each name once, in centred rows of this width. Returns the number of rows. f
    NULL: only counts them. */
static int plot__legend(FILE *f, const plot_scene *scenes, int count, double width, double top)
{
	enum { MOST = 32 };
	const plot_item *entry[MOST];
	int entries = 0, rows = 0;
	for (int p = 0; p < count; p++)
		for (int i = 0; i < scenes[p].count; i++) {
			const plot_item *t = &scenes[p].items[i];
			int known = !t->name || !*t->name || t->kind == PLOT_MAP || entries == MOST;
			for (int e = 0; e < entries && !known; e++) known = !strcmp(entry[e]->name, t->name);
			if (!known) entry[entries++] = t;
		}
	const double sample = 38, space = 20, room = width - 2 * PLOT__PAD, widest = 0.45 * room;
	char text[PLOT__TEXT];
	for (int e = 0, end; e < entries; e = end, rows++) {
		double used = 0;
		for (end = e; end < entries; end++) {
			double next =
					sample + 7 + plot__width(plot__fit(entry[end]->name, widest, text)) + space;
			if (end > e && used + next - space > room) break;
			used += next;
		}
		if (!f) continue;
		double left = 0.5 * (width - (used - space)), y = top + rows * 1.5 * PLOT__FONT;
		for (int k = e; k < end; k++) {
			const plot_item *t = entry[k];
			double middle = y - 0.34 * PLOT__FONT;
			if (t->kind == PLOT_LINE)
				fprintf(f,
						"<path d=\"M%.1f %.1fh%.1f\" stroke=\"%s\" stroke-width=\"2.8\" "
						"stroke-dasharray=\"%s\"/>\n",
						left, middle, sample, plot__colour(t->colour),
						*plot__dash(t->dash) ? plot__dash(t->dash) : "none");
			else if (t->kind == PLOT_BAND)
				fprintf(f,
						"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\" fill=\"%s\" "
						"fill-opacity=\"0.2\"/>\n",
						left, middle - 7, sample, plot__colour(t->colour));
			else if (t->kind == PLOT_POINTS)
				for (int i = 1; i <= 3; i++)
					plot__draw_dot(
							f, t->colour, left + 0.25 * sample * i, middle + (i == 2 ? -4 : 3));
			else
				for (int i = 1; i <= (t->kind == PLOT_RUG ? 5 : 1); i++)
					plot__draw_mark(f, t,
							left + sample * (t->kind == PLOT_RUG ? 0.4 + 0.1 * i : 0.7), middle);
			const char *name = plot__fit(t->name, widest, text);
			plot__label(f, left + sample + 7, y, "start", "", name);
			left += sample + 7 + plot__width(name) + space;
		}
	}
	return rows;
}

static void plot__write(
		FILE *f, const char *title, const plot_scene *scenes, int count, int columns)
{
	const double panel_w = count > 1 ? 410 : 560, panel_h = count > 1 ? 330 : 350,
				 axis_left = 5.4 * PLOT__FONT;
	double width = columns * panel_w, top = PLOT__PAD;
	int titles = 0, rows = plot__legend(NULL, scenes, count, width, 0),
		lines = (count + columns - 1) / columns;
	for (int p = 0; p < count; p++) titles += scenes[p].title && *scenes[p].title;
	double title_y = top + PLOT__FONT;
	if (title && *title) top += 1.7 * PLOT__FONT;
	double legend_y = top + PLOT__FONT;
	double above = titles ? 1.7 * PLOT__FONT : 0.5 * PLOT__FONT, inside = panel_h - 4 * PLOT__FONT,
		   below = 3.3 * PLOT__FONT;
	top += rows * 1.5 * PLOT__FONT + above;
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
			plot__fit(title, width - 2 * PLOT__PAD, text));
	plot__legend(f, scenes, count, width, legend_y);
	for (int p = 0; p < count; p++) {
		int line = p / columns;
		double left = p % columns * panel_w, y = top + line * (above + inside + below);
		plot__draw_scene(f, &scenes[p], p, left + axis_left, y, left + panel_w - 2.2 * PLOT__PAD,
				y + inside, panel_w - PLOT__PAD);
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
