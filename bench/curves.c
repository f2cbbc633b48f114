/*  curves.c - draws columns of the tool's trace files (--trace) beside each other.

        build/curves OUT.svg TITLE -- PANEL X Y LABEL=FILE... [-- PANEL X Y LABEL=FILE...]...

    X and Y are names of columns, or log:NAME for log10 of their magnitude. Panels stand in rows of
    two. Files that do not exist yet are left out, so that pictures can be drawn during runs. */
#define _POSIX_C_SOURCE 200809L
#include "plot.h"
#include "table.h"

enum { MOST_PANELS = 64, MOST_LINES = 1024, COLUMNS = 2 };

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "curves: %s: %s\n", what, why);
	exit(2);
}

/*  The column of this name; the caller frees it. */
static double *column_of(const table *t, const char *name, const char *path)
{
	int log = !strncmp(name, "log:", 4), column = table_find(t, log ? name + 4 : name, 0);
	if (column < 0) fail(path, "has no such column");
	double *v = (double *)malloc((size_t)t->rows * sizeof *v);
	if (!v) fail("memory", "there is not enough");
	for (ptrdiff_t i = 0; i < t->rows; i++) {
		double value = t->values[i * t->columns + column];
		v[i] = !log ? value : value != 0 ? log10(fabs(value)) : NAN;
	}
	return v;
}

/*  Reads LABEL=FILE into a line. Returns 0 if there are no rows yet. */
static int line_read(plot_item *line, char *argument, const char *x, const char *y)
{
	table t;
	char error[400], *file = strchr(argument, '=');
	if (!file) fail(argument, "is not LABEL=FILE");
	*file++ = 0;
	FILE *there = fopen(file, "r");
	if (!there) return 0;
	fclose(there);
	/* No row yet, or the last one is being written. */
	if (table_read(&t, file, NULL, error, sizeof error)) {
		fprintf(stderr, "curves: left out: %s\n", error);
		return 0;
	}
	line->name = argument, line->n = (int)t.rows;
	if (t.rows) line->x = column_of(&t, x, file), line->y = column_of(&t, y, file);
	table_free(&t);
	return line->n > 0;
}

int main(int argc, char **argv)
{
	static plot_item lines[MOST_LINES];
	static plot_scene panels[MOST_PANELS];
	int count = 0, used = 0;
	if (argc < 4) fail("usage", "curves OUT.svg TITLE -- PANEL X Y LABEL=FILE... [-- ...]");
	for (int i = 3; i < argc;) {
		if (strcmp(argv[i], "--") || i + 3 >= argc) fail(argv[i], "-- PANEL X Y is expected");
		if (count == MOST_PANELS) fail("panels", "there are too many");
		plot_scene *p = &panels[count++];
		p->title = argv[i + 1], p->xlabel = argv[i + 2], p->ylabel = argv[i + 3],
		p->items = lines + used;
		int place = 0;
		for (i += 4; i < argc && strcmp(argv[i], "--"); i++) {
			if (used == MOST_LINES) fail("lines", "there are too many");
			plot_item *line = &lines[used];
			/* The same for a label in each panel. */
			line->colour = place, line->dash = place / 7 + place % 2, place++;
			if (line_read(line, argv[i], p->xlabel, p->ylabel)) used++, p->count++;
		}
	}
	if (plot_grid(argv[1], argv[2], panels, count, count > 1 ? COLUMNS : 1))
		fail(argv[1], "cannot be written");
	return 0;
}
