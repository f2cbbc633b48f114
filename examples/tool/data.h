/*  data.h - from CSV tables to rows of inputs and targets: the columns that options select, text as
    numbers, missing cells, the test part, standardisation. */
#ifndef TOOL_DATA_H
#define TOOL_DATA_H

#include "classes.h"
#include "convert.h"
#include "images.h"
#include "numpy.h"
#include "transform.h"

/*  Rows in the layout of the library. */
typedef struct part {
	ptrdiff_t n;
	/* [n,D], [n,P]; Y may be NULL. Training rows that stay on the disk: all are NULL. */
	double *X, *Y;
	/* [n] lines of the file. */
	long *line;
} part;

static void part_free(part *p)
{
	free(p->X);
	free(p->Y);
	free(p->line);
	memset(p, 0, sizeof *p);
}

/*  "column 3 (depth)". Messages count columns from 0, as options do, and lines from 1. */
static const char *column_text(char *text, size_t size, int column, const char *name)
{
	if (name && *name) snprintf(text, size, "column %d (%s)", column, NAME(name));
	else snprintf(text, size, "column %d", column);
	return text;
}
#define COLUMN_TEXT(column, name) column_text((char[120]){""}, 120, column, name)

/*  A list of columns. */
typedef struct selection {
	int *column, count, room;
	/* [columns of the table]: is it in the list? NULL: the list is empty. */
	char *has;
} selection;

static void select_column(selection *s, const table *t, int column)
{
	if (!s->has) s->has = take((size_t)t->columns, 1);
	if (s->count == s->room) {
		s->room = 2 * s->room + 16;
		s->column = resize(s->column, (size_t)s->room, sizeof *s->column);
	}
	s->column[s->count++] = column;
	s->has[column] = 1;
}

static int selected(const selection *s, int column) { return s->has && s->has[column]; }

static void selection_free(selection *s)
{
	free(s->column);
	free(s->has);
}

/*  Ends the program: there is no such column. Names the columns, and the one that may be meant. */
NO_RETURN static void die_no_column(const table *t, int id, const char *name)
{
	enum { SHOWN = 20 };
	bytes all = {NULL, 0, 0};
	guess meant = guess_of(name, strlen(name));
	for (int i = 0; i < t->columns && t->header; i++) {
		guess_try(&meant, t->column[i].name);
		if (i < SHOWN) bytes_print(&all, "%s%s", i ? ", " : "; columns: ", t->column[i].name);
		if (i == SHOWN) bytes_print(&all, ", ...");
	}
	if (!t->header)
		bytes_print(&all, "; the file has no header, and columns 0 to %d", t->columns - 1);
	die(BAD_INPUT, "--%s: there is no column '%s'%s%s%s", option_list[id].name, name,
			guess_text(&meant).text, all.at, table_sep_clause(t).text);
}

/*  Adds one item of a list: a name, an index, a range of indices, or "last". */
static void select_item(selection *s, const table *t, int id, const char *item)
{
	const char *p = item;
	int from = table_find(t, item, 0), to = from;
	if (from >= 0 && t->column[from].next >= 0)
		die(BAD_INPUT, "--%s: the columns %d and %d are named '%s': give an index",
				option_list[id].name, from, t->column[from].next, item);
	if (from < 0 && strcmp(item, "last") == 0) from = to = t->columns - 1;
	if (from < 0) {
		from = to = parse_index(&p);
		if (from >= 0 && *p == '-') {
			p++;
			to = parse_index(&p);
		}
		if (from < 0 || to < 0 || *p) die_no_column(t, id, item);
		if (to < from)
			die(BAD_INPUT, "--%s: the range %s runs backwards", option_list[id].name, item);
		if (to >= t->columns)
			die(BAD_INPUT, "--%s %s: the last index is %d, counted from 0%s", option_list[id].name,
					item, t->columns - 1, table_sep_clause(t).text);
	}
	for (; from <= to; from++) {
		if (selected(s, from))
			die(BAD_INPUT, "--%s: %s is named twice", option_list[id].name,
					COLUMN_TEXT(from, t->column[from].name));
		select_column(s, t, from);
	}
}

static selection select_list(const table *t, const options *o, int id)
{
	selection s = {NULL, 0, 0, NULL};
	if (!o->value[id]) return s;
	/* A name may hold commas. */
	if (table_find(t, o->value[id], 0) >= 0) {
		select_item(&s, t, id, o->value[id]);
		return s;
	}
	char *list = copy_text(o->value[id]), *rest = list, *item;
	while ((item = next_item(&rest, ',')) != NULL) select_item(&s, t, id, item);
	free(list);
	return s;
}

/*  The first column that the item of --ordinal names, "NAME=a,b,c": a name goes before an index.
    -1: there is none. */
static int ordinal_column(const table *t, const char *item)
{
	char *name = copy_text(item);
	const char *digits = name;
	name[strcspn(name, "=\n")] = 0;
	int column = table_find(t, name, 0);
	if (column < 0) {
		column = parse_index(&digits);
		if (*digits || column >= t->columns) column = -1;
	}
	free(name);
	return column;
}

/*  Makes the columns of --ordinal text. */
static void ordinal_settle(const options *o, table *t)
{
	for (const char *s = o->value[OPT_ORDINAL]; s && *s; s = next_line(s)) {
		size_t length = strcspn(s, "=\n");
		int column = ordinal_column(t, s);
		if (s[length] != '=' || !s[length + 1] || s[length + 1] == '\n')
			die(BAD_INPUT, "--ordinal %.*s: must look like NAME=a,b,c", (int)length, s);
		if (column < 0) {
			char *name = copy_text(s);
			name[length] = 0;
			die_no_column(t, OPT_ORDINAL, name);
		}
		for (; column >= 0; column = t->header ? t->column[column].next : -1)
			t->column[column].text = 1, t->column[column].settled = 2;
	}
}

/*  The levels "a,b,c" that --ordinal gives a column, up to a line end; or NULL. */
static const char *ordinal_levels(const options *o, const table *t, int column)
{
	for (const char *s = o->value[OPT_ORDINAL]; s && *s; s = next_line(s)) {
		int at = ordinal_column(t, s);
		while (at >= 0 && at != column) at = t->header ? t->column[at].next : -1;
		if (at == column) return s + strcspn(s, "=") + 1;
	}
	return NULL;
}

static void add_level(field *f, const char *text, size_t length)
{
	f->levels = resize(f->levels, (size_t)f->level_count + 1, sizeof *f->levels);
	char *copy = take(length + 1, 1);
	memcpy(copy, text, length);
	f->levels[f->level_count++] = copy;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*  A text column with more levels than this is an identifier, not a category. */
enum { MOST_LEVELS = 1000, FEW_LEVELS = 3 };

/*  Refuses a text column that holds numbers in another style, or identifiers: levels in more than
    half of its rows say nothing about other rows. */
static void check_levels(const field *f, const table *t, const options *o)
{
	const table_column *c = &t->column[f->column];
	const char *path = path_text(o->value[OPT_DATA]);
	int numbers = 0;
	while (numbers < c->level_count && *table_hint(c->levels[numbers])) numbers++;
	if (numbers && numbers == c->level_count)
		die(BAD_INPUT, "%s: line %ld, %s: '%s' is text%s", path, c->level_lines[0],
				COLUMN_TEXT(f->column, c->name), c->levels[0], table_hint(c->levels[0]));
	ptrdiff_t rows = t->rows - c->missing;
	if (c->level_count <= MOST_LEVELS &&
			(c->level_count <= FEW_LEVELS || 2 * (ptrdiff_t)c->level_count <= rows))
		return;
	bytes name = {NULL, 0, 0};
	if (c->name && *c->name && !strchr(c->name, ',')) bytes_print(&name, "%s", c->name);
	else bytes_print(&name, "%d", f->column);
	die(BAD_INPUT,
			"%s: %s has %d different texts in %td rows and looks like an identifier: "
			"--ignore %s leaves it out",
			path, COLUMN_TEXT(f->column, c->name), c->level_count, rows, name.at);
}

static void field_levels(field *f, const table *t, const options *o)
{
	const table_column *c = &t->column[f->column];
	const char *s = ordinal_levels(o, t, f->column);
	if (s) {
		f->ordinal = 1;
		for (;; s++) {
			size_t n = strcspn(s, ",\n");
			add_level(f, s, n);
			s += n;
			if (*s != ',') return;
		}
	}
	check_levels(f, t, o);
	for (int k = 0; k < c->level_count; k++) add_level(f, c->levels[k], strlen(c->levels[k]));
	if (f->levels) qsort(f->levels, (size_t)f->level_count, sizeof *f->levels, by_text);
}

/*  The numbers that --dates makes of a date. */
static int date_parts_of(const options *o)
{
	char *list = copy_text(o->value[OPT_DATES]), *rest = list, *item;
	int parts = 0;
	while ((item = next_item(&rest, '+')) != NULL) {
		int k = position_in(date_words, item);
		if (k < 0)
			die(BAD_INPUT, "--dates %s: must be %s, or several joined by +", o->value[OPT_DATES],
					date_words);
		parts |= 1 << k;
	}
	free(list);
	return parts;
}

/*  levels: with the levels of text columns. */
static field *fields_make(const selection *s, const table *t, const options *o, int levels)
{
	field *fields = take((size_t)s->count, sizeof *fields);
	int parts = date_parts_of(o);
	for (int i = 0; i < s->count; i++) {
		field *f = &fields[i];
		const table_column *c = &t->column[s->column[i]];
		f->column = s->column[i];
		f->name = copy_text(c->name);
		f->repeat = c->repeat;
		if (c->text && levels) field_levels(f, t, o);
		if (c->date) f->date_parts = parts;
	}
	return fields;
}

/* ---- the likelihood, and the labels of a class target ---- */

/*  The first level of a text column that is no number. */
static int first_text(const table_column *c)
{
	int k = 0;
	while (c->mixed && *table_hint(c->levels[k])) k++;
	return k;
}

/*  The likelihood of three classes and more. Softmax has the better probabilities where classes
    overlap (bench/first_hour.md); ODVGP's paper uses robust-max. */
static odvgp_likelihood classes_likelihood(const options *o)
{
	return option_choice(o, OPT_RECIPE) == RECIPE_ODVGP ? ODVGP_LIKELIHOOD_ROBUSTMAX
														: ODVGP_LIKELIHOOD_SOFTMAX;
}

/*  The likelihood that the options name, or the one that one target suggests: texts and exactly two
    values are classes. */
static odvgp_likelihood likelihood_of(const options *o, const table *t, const selection *targets)
{
	double two[2];
	if (o->value[OPT_LIKELIHOOD]) return likelihood_named(o->value[OPT_LIKELIHOOD]);
	int column = targets->column[0];
	const table_column *c = &t->column[column];
	if (targets->count > 1 || c->date) return ODVGP_LIKELIHOOD_GAUSSIAN;
	if (ordinal_levels(o, t, column)) return ODVGP_LIKELIHOOD_ORDINAL;
	if (c->text && c->level_count != 2)
		return *table_hint(c->levels[first_text(c)]) ? ODVGP_LIKELIHOOD_GAUSSIAN
													 : classes_likelihood(o);
	return c->text || distinct_numbers(t, column, two, 2) == 2 ? ODVGP_LIKELIHOOD_BERNOULLI
															   : ODVGP_LIKELIHOOD_GAUSSIAN;
}

/*  Ends the program if a column of a target does not suit the likelihood. */
static void check_target(odvgp_likelihood kind, const table *t, int column, const options *o)
{
	const table_column *c = &t->column[column];
	const char *path = path_text(o->value[OPT_DATA]);
	if (ordinal_levels(o, t, column) && !has_classes(kind))
		die(BAD_INPUT,
				"--ordinal: makes classes of %s, and --likelihood %s needs numbers: leave out one "
				"of the two",
				COLUMN_TEXT(column, c->name), likelihood_text(kind));
	if (c->date)
		die(BAD_INPUT, "%s: %s holds dates, and the target must be numbers", path,
				COLUMN_TEXT(column, c->name));
	if (c->text && !has_classes(kind)) {
		int k = first_text(c);
		die(BAD_INPUT, "%s: line %ld, %s: '%s' is text, and the target must be numbers%s", path,
				c->level_lines[k], COLUMN_TEXT(column, c->name), c->levels[k],
				table_hint(c->levels[k]));
	}
}

/*  The labels of the class target, sorted, or in the order of --ordinal. */
static void class_labels(schema *s, const table *t, const options *o)
{
	field *f = &s->targets[0];
	const char *path = path_text(o->value[OPT_DATA]), *kind = likelihood_text(s->likelihood);
	const table_column *c = &t->column[f->column];
	double numbers[MOST_CLASSES];
	int count = c->level_count;
	if (s->target_count > 1)
		die(BAD_INPUT, "--likelihood %s: classes are one target, and there are %d", kind,
				s->target_count);
	if (!c->text) count = distinct_numbers(t, f->column, numbers, MOST_CLASSES);
	if (count > MOST_CLASSES)
		die(BAD_INPUT, "%s: %s has more than %d different values, too many for classes", path,
				COLUMN_TEXT(f->column, c->name), MOST_CLASSES);
	if (ordinal_levels(o, t, f->column)) field_levels(f, t, o);
	for (int k = 0; k < count && !f->ordinal; k++) {
		char text[32];
		if (!c->text) snprintf(text, sizeof text, "%.15g", numbers[k]);
		add_level(f, c->text ? c->levels[k] : text, strlen(c->text ? c->levels[k] : text));
	}
	if (c->text && !f->ordinal && count)
		qsort(f->levels, (size_t)count, sizeof *f->levels, by_text);
	if (f->level_count < 2)
		die(BAD_INPUT, "%s: %s has one class only%s%s", path, COLUMN_TEXT(f->column, c->name),
				count ? ": " : "", count ? f->levels[0] : "");
	if (has_two_classes(s->likelihood) && f->level_count > 2)
		die(BAD_INPUT,
				"--likelihood %s: is for two classes, and %s has %d; robustmax and softmax take "
				"them",
				kind, COLUMN_TEXT(f->column, c->name), f->level_count);
}

/*  Notes that a target has few whole numbers, each twice or more on average, and may hold classes.
    Ratings and counts look alike, so nobody decides but the user. */
static void note_few_numbers(const schema *s, const table *t, const options *o, bytes *notes)
{
	enum { LEAST = 3, MOST = 20 };
	double number[MOST];
	const field *f = &s->targets[0];
	if (s->target_count > 1 || t->column[f->column].date || t->column[f->column].text) return;
	int count = distinct_numbers(t, f->column, number, MOST);
	if (count < LEAST || count > MOST || 2 * count > t->rows) return;
	for (int k = 0; k < count; k++)
		if (number[k] > floor(number[k])) return;
	bytes_print(notes,
			"note: %s has only %d whole numbers, and the likelihood is gaussian; --likelihood %s "
			"learns them as classes, ordinal as classes in order\n",
			COLUMN_TEXT(f->column, f->name), count, likelihood_text(classes_likelihood(o)));
}

/*  Notes the order of classes that nobody chose. */
static void note_order(const schema *s, bytes *notes)
{
	enum { SHOWN = 8 };
	const field *f = &s->targets[0];
	if (s->likelihood != ODVGP_LIKELIHOOD_ORDINAL || f->ordinal || has_number_labels(f)) return;
	bytes_print(notes,
			"note: %s: classes are in alphabetical order: ", COLUMN_TEXT(f->column, f->name));
	for (int k = 0; k < f->level_count && k < SHOWN; k++)
		bytes_print(notes, "%s%s", k ? ", " : "", NAME(f->levels[k]));
	bytes_print(notes, "%s; --ordinal COLUMN=a,b,c gives another\n",
			f->level_count > SHOWN ? ", ..." : "");
}

/*  Notes text columns that hold numbers, too. */
static void note_mixed(const schema *s, const table *t, bytes *notes)
{
	for (int i = 0; i < s->input_count + s->target_count; i++) {
		const field *f = i < s->input_count ? &s->inputs[i] : &s->targets[i - s->input_count];
		const table_column *c = &t->column[f->column];
		if (!c->mixed) continue;
		int k = first_text(c);
		bytes_print(notes,
				"note: line %ld, %s: '%s' is text, so the numbers of this column are "
				"levels, too\n",
				c->level_lines[k], COLUMN_TEXT(f->column, f->name), NAME(c->levels[k]));
	}
}

/*  Notes a likelihood that was found, with the remedy. */
static void note_likelihood(const schema *s, const table *t, const options *o, bytes *notes)
{
	note_order(s, notes);
	if (o->value[OPT_LIKELIHOOD]) return;
	if (s->likelihood == ODVGP_LIKELIHOOD_GAUSSIAN) {
		note_few_numbers(s, t, o, notes);
		return;
	}
	const field *f = &s->targets[0];
	bytes_print(notes, "note: %s has %d classes, so the likelihood is %s; %s\n",
			COLUMN_TEXT(f->column, f->name), f->level_count, likelihood_text(s->likelihood),
			!has_number_labels(f) ? "--target names another column"
			: f->ordinal          ? "without --ordinal they are numbers"
								  : "--likelihood gaussian learns them as numbers");
}

/*  data/bike.csv -> bike; data/bike.csv.gz too. */
static char *dataset_name(const char *path)
{
	if (strcmp(path, "-") == 0) return copy_text("stdin");
	const char *slash = strrchr(path, '/');
	char *name = copy_text(slash ? slash + 1 : path), *dot = strrchr(name, '.');
	if (dot && dot > name && strcmp(dot, ".gz") == 0) {
		*dot = 0;
		dot = strrchr(name, '.');
	}
	if (dot && dot > name) *dot = 0;
	return name;
}

/*  Which columns are inputs and which are targets. */
static void schema_columns(schema *s, const table *t, const options *o)
{
	selection targets = select_list(t, o, OPT_TARGET), ignored = select_list(t, o, OPT_IGNORE),
			  inputs = select_list(t, o, OPT_FEATURES);
	if (!o->value[OPT_FEATURES])
		for (int i = 0; i < t->columns; i++)
			if (!selected(&targets, i) && !selected(&ignored, i)) select_column(&inputs, t, i);
	const char *path = path_text(o->value[OPT_DATA]);
	s->likelihood = likelihood_of(o, t, &targets);
	for (int i = 0; i < inputs.count; i++) {
		const table_column *c = &t->column[inputs.column[i]];
		if (selected(&targets, inputs.column[i]) || selected(&ignored, inputs.column[i]))
			die(BAD_INPUT, "--features: %s is a target or ignored",
					COLUMN_TEXT(inputs.column[i], c->name));
		if (c->missing == t->rows)
			die(BAD_INPUT, "%s: %s has no values: --ignore it", path,
					COLUMN_TEXT(inputs.column[i], c->name));
	}
	for (int i = 0; i < targets.count; i++) {
		const table_column *c = &t->column[targets.column[i]];
		if (selected(&ignored, targets.column[i]))
			die(BAD_INPUT, "--ignore: %s is the target", COLUMN_TEXT(targets.column[i], c->name));
		check_target(s->likelihood, t, targets.column[i], o);
	}
	if (!inputs.count)
		die(BAD_INPUT, "%s: no input column besides the target%s", path, table_sep_clause(t).text);
	s->dataset = dataset_name(o->value[OPT_DATA]);
	s->columns = t->columns;
	s->inputs = fields_make(&inputs, t, o, 1);
	s->input_count = inputs.count;
	s->targets = fields_make(&targets, t, o, 0);
	s->target_count = targets.count;
	if (has_classes(s->likelihood)) class_labels(s, t, o);
	bytes text = {NULL, 0, 0};
	for (int i = 0; i < s->target_count; i++) {
		if (s->targets[i].name) bytes_print(&text, "%s%s", i ? ", " : "", s->targets[i].name);
		else bytes_print(&text, "%s%d", i ? ", " : "column ", s->targets[i].column);
	}
	s->target_text = text.at;
	selection_free(&targets);
	selection_free(&ignored);
	selection_free(&inputs);
}

/* ---- where the columns of a schema stand in a table ---- */

/*  The columns of a table without names for those of the training file, -1: not there. The table
    has all columns of the training file, all but the targets, or only the inputs, in its order.
    NULL if it has another number of columns. */
static int *places_of(const schema *s, int columns)
{
	char *kept = take((size_t)s->columns, 1);
	int *place = take((size_t)s->columns, sizeof *place), at = 0;
	memset(kept, columns != s->input_count || columns == s->columns, (size_t)s->columns);
	for (int i = 0; i < s->input_count; i++) kept[s->inputs[i].column] = 1;
	for (int i = 0; i < s->target_count && columns != s->columns; i++)
		kept[s->targets[i].column] = 0;
	for (int i = 0; i < s->columns; i++) place[i] = kept[i] ? at++ : -1;
	free(kept);
	if (at == columns) return place;
	free(place);
	return NULL;
}

/*  Finds a field by name, or else by place. */
static int position_of(const table *t, const field *f, const int *places)
{
	if (!t->header || !f->name) return places ? places[f->column] : -1;
	int column = table_find(t, f->name, 0);
	for (int k = 0; k < f->repeat && column >= 0; k++) column = t->column[column].next;
	return column;
}

/*  Are columns found by their place, because the table or the model has no names? */
static int by_place(const schema *s, const table *t) { return !t->header || !s->inputs[0].name; }

/*  What is known of a table before it is read; s is NULL for the training data. */
typedef struct knowledge {
	const options *o;
	const schema *s;
} knowledge;

/*  Does the first line hold the names of all inputs? */
static int schema_is_header(const void *user, const table *t)
{
	const schema *s = ((const knowledge *)user)->s;
	for (int i = 0; i < s->input_count; i++)
		if (!s->inputs[i].name || table_find(t, s->inputs[i].name, 0) < 0) return 0;
	return 1;
}

/*  The kinds of columns are those of the training file. */
static void schema_settle(const schema *s, table *t)
{
	int *places = by_place(s, t) ? places_of(s, t->columns) : NULL;
	/* The last one may be what follows a separator at each line's end. */
	if (by_place(s, t) && !places) places = places_of(s, t->columns - 1);
	for (int i = 0; i < s->input_count + s->target_count; i++) {
		const field *f = i < s->input_count ? &s->inputs[i] : &s->targets[i - s->input_count];
		int column = position_of(t, f, places);
		if (column < 0) continue;
		t->column[column].text =
				f->level_count > 0 && (i < s->input_count || !has_number_labels(f));
		t->column[column].date = f->date_parts > 0;
		t->column[column].settled = 2;
	}
	free(places);
}

/*  Sets the kinds of columns that are known, and which cells --keep keeps. */
static void settle_columns(const void *user, table *t)
{
	const knowledge *k = user;
	if (k->s) schema_settle(k->s, t);
	else ordinal_settle(k->o, t);
	selection kept = select_list(t, k->o, OPT_KEEP);
	for (int i = 0; i < kept.count; i++) t->column[kept.column[i]].keep = 1;
	selection_free(&kept);
}

typedef struct binding {
	/* [input_count] columns of the table. */
	int *input;
	/* [target_count] columns; NULL: the table has no targets. */
	int *target;
	/* [input_count]; for text, the field's level for each level of the table's column; -1: the
       training data have no such level. */
	int **code;
	/* The same of a class target that is text; NULL: there is none. */
	int *class_code;
	/* The first cell that does not fit, in a sentence, and its line; NULL: all fit. What becomes of
	   such rows: MISFIT_REFUSE and so on. */
	char *misfit;
	long misfit_line;
	int misfits;
} binding;

/*  What becomes of rows whose cells do not fit: they end the program, with --missing drop as the
    remedy; they are dropped; or they end the program without a remedy. */
enum { MISFIT_REFUSE, MISFIT_DROP, MISFIT_FATAL };

static const char drop_advice[] = "; --missing drop leaves out such rows";

/*  Keeps the sentence about a cell that does not fit if it is the first one of the file. */
static void bind_misfit(binding *b, long line, const char *sentence)
{
	if (b->misfit && line >= b->misfit_line) return;
	free(b->misfit);
	b->misfit = copy_text(sentence);
	b->misfit_line = line;
}

static int *bind_text(binding *b, const field *f, int column, const table *t, const char *path)
{
	const table_column *c = &t->column[column];
	int *code = take((size_t)c->level_count, sizeof *code);
	for (int k = 0; k < c->level_count; k++) {
		code[k] = class_of_text(f, c->levels[k]);
		if (code[k] >= 0) continue;
		if (f->means) { /* a level that is not known has the mean of all */
			code[k] = f->level_count;
			continue;
		}
		char text[400];
		snprintf(text, sizeof text,
				"%s: line %ld, %s: '%s' is none of the %d levels of this column", path_text(path),
				c->level_lines[k], COLUMN_TEXT(column, c->name), c->levels[k], f->level_count);
		bind_misfit(b, c->level_lines[k], text);
	}
	return code;
}

/*  Says which numbers of a class target are none of its labels. */
static void bind_numbers(binding *b, const field *f, const table *t, const char *path)
{
	int column = b->target[0];
	for (ptrdiff_t i = 0; i < t->rows; i++) {
		double v = table_row(t, i)[column];
		char text[400];
		if (!isfinite(v) || class_of_number(f, v) >= 0) continue;
		snprintf(text, sizeof text, "%s: line %ld, %s: %.15g is none of the %d classes of training",
				path_text(path), table_line(t, i), COLUMN_TEXT(column, t->column[column].name), v,
				f->level_count);
		bind_misfit(b, table_line(t, i), text);
	}
}

/*  How many columns have this name; how many the model knows. */
static int count_named(const table *t, const char *name)
{
	int count = 0;
	for (int i = table_find(t, name, 0); i >= 0; i = t->column[i].next) count++;
	return count;
}

static int known_named(const schema *s, const char *name)
{
	int most = 0;
	for (int i = 0; i < s->input_count + s->target_count; i++) {
		const field *f = i < s->input_count ? &s->inputs[i] : &s->targets[i - s->input_count];
		if (f->name && strcmp(f->name, name) == 0 && f->repeat >= most) most = f->repeat + 1;
	}
	return most;
}

NO_RETURN static void die_no_input(
		const schema *s, const table *t, const field *f, const char *path)
{
	int count = count_named(t, f->name);
	if (!count)
		die(BAD_INPUT, "%s: line 1: there is no column '%s'%s", path_text(path), f->name,
				table_sep_clause(t).text);
	die(BAD_INPUT, "%s: line 1: '%s' is the name of %d column%s, and of %d in the training file",
			path_text(path), f->name, count, count > 1 ? "s" : "", known_named(s, f->name));
}

/*  Finds the columns. misfits: MISFIT_REFUSE and so on; complete_rows does it. */
static binding bind_columns(const schema *s, const table *t, const char *path, int misfits)
{
	binding b;
	char text[400];
	memset(&b, 0, sizeof b);
	b.misfits = misfits;
	b.input = take((size_t)s->input_count, sizeof *b.input);
	b.target = take((size_t)s->target_count, sizeof *b.target);
	b.code = take((size_t)s->input_count, sizeof *b.code);
	int *places = by_place(s, t) ? places_of(s, t->columns) : NULL;
	for (int i = 0; i < s->input_count; i++) {
		const field *f = &s->inputs[i];
		b.input[i] = position_of(t, f, places);
		if (b.input[i] < 0 && t->header && f->name) die_no_input(s, t, f, path);
		if (b.input[i] < 0)
			die(BAD_INPUT,
					"%s: line 1: %d column%s; the model has %d input%s, from a file of %d "
					"columns%s",
					path_text(path), t->columns, t->columns > 1 ? "s" : "", s->input_count,
					s->input_count > 1 ? "s" : "", s->columns, table_sep_clause(t).text);
		if (table_check(t, b.input[i], path, text, sizeof text))
			bind_misfit(&b, t->column[b.input[i]].odd_line, text);
		if (f->level_count) b.code[i] = bind_text(&b, f, b.input[i], t, path);
	}
	for (int i = 0; i < s->target_count && b.target; i++) {
		b.target[i] = position_of(t, &s->targets[i], places);
		if (b.target[i] < 0) {
			free(b.target);
			b.target = NULL;
		} else if (table_check(t, b.target[i], path, text, sizeof text))
			bind_misfit(&b, t->column[b.target[i]].odd_line, text);
	}
	if (b.target && s->targets[0].level_count) {
		const field *f = &s->targets[0];
		if (t->column[b.target[0]].text) b.class_code = bind_text(&b, f, b.target[0], t, path);
		else bind_numbers(&b, f, t, path);
	}
	free(places);
	return b;
}

static void binding_free(binding *b, const schema *s)
{
	for (int i = 0; i < s->input_count; i++) free(b->code[i]);
	free(b->code);
	free(b->class_code);
	free(b->input);
	free(b->target);
	free(b->misfit);
}

/* ---- rows ---- */

/*  A list of row numbers. */
typedef struct rows {
	ptrdiff_t n, *row;
} rows;

static void rows_free(rows *r) { free(r->row); }

static void refuse_missing(const table *t, int column, const char *path, const char *advice)
{
	const table_column *c = &t->column[column];
	if (c->missing)
		die(BAD_INPUT, "%s: line %ld, %s: the value is missing%s", path_text(path), c->missing_line,
				COLUMN_TEXT(column, c->name), advice);
}

/*  A target's number: of a class target, its class. Infinite if it does not fit. */
static double target_value(const schema *s, const binding *b, double v)
{
	if (!s->targets[0].level_count || !isfinite(v)) return v;
	int class = b->class_code ? b->class_code[(int)v] : class_of_number(&s->targets[0], v);
	return class < 0 ? HUGE_VAL : (double)class;
}

static int row_complete(
		const schema *s, const table *t, const binding *b, ptrdiff_t row, int targets_too)
{
	const double *cell = table_row(t, row);
	for (int i = 0; i < s->input_count; i++) {
		double v = cell[b->input[i]];
		if (!isfinite(v) || (b->code[i] && b->code[i][(int)v] < 0)) return 0;
	}
	for (int i = 0; i < s->target_count && b->target; i++) {
		double y = target_value(s, b, cell[b->target[i]]);
		if (isnan(y) ? targets_too : isinf(y)) return 0;
	}
	return 1;
}

/*  Ends the program with the first line that has a cell which does not fit, or is missing, unless
    such rows are dropped. */
static void refuse_first(const schema *s, const table *t, const binding *b, const char *path,
		int drop, int targets_too)
{
	int columns = s->input_count + (targets_too && b->target ? s->target_count : 0), column = -1;
	long line = b->misfit && b->misfits != MISFIT_DROP ? b->misfit_line : LONG_MAX;
	for (int i = 0; i < columns && !drop; i++) {
		int k = i < s->input_count ? b->input[i] : b->target[i - s->input_count];
		if (!t->column[k].missing || t->column[k].missing_line >= line) continue;
		line = t->column[k].missing_line;
		column = k;
	}
	if (column >= 0) refuse_missing(t, column, path, drop_advice);
	if (line < LONG_MAX)
		die(BAD_INPUT, "%s%s", b->misfit, b->misfits == MISFIT_REFUSE ? drop_advice : "");
}

/*  The rows from `first` to `end` whose cells fit, and are not missing (a target may be, unless
    `targets_too`). A missing cell of the table is an error unless `drop`. */
static rows complete_between(const schema *s, const table *t, const binding *b, const char *path,
		int drop, int targets_too, ptrdiff_t first, ptrdiff_t end)
{
	refuse_first(s, t, b, path, drop, targets_too);
	rows r = {0, take((size_t)(end - first), sizeof *r.row)};
	for (ptrdiff_t i = first; i < end; i++)
		if (!drop || row_complete(s, t, b, i, targets_too)) r.row[r.n++] = i;
	return r;
}

static rows complete_rows(const schema *s, const table *t, const binding *b, const char *path,
		int drop, int targets_too)
{
	return complete_between(s, t, b, path, drop, targets_too, 0, t->rows);
}

/*  Days since 1970 as the numbers that the field asks for; returns the place after them. A day of
    the year is 1 on January 1, a day of the week 1 on Monday; both with the time as a fraction. */
static double *encode_date(const field *f, double days, double *x)
{
	if (f->date_parts & 1) *x++ = days;
	if (f->date_parts & 2) *x++ = 1 + days - table_days(year_of(days), 1, 1);
	if (f->date_parts & 4) *x++ = 1 + days + 3 - 7 * floor((days + 3) / 7);
	return x;
}

/*  A row's inputs into x, which is 0, and targets into y; y may be NULL. */
static void encode_row(const schema *s, const binding *b, const double *cell, double *x, double *y)
{
	for (int i = 0; i < s->input_count; i++) {
		const field *f = &s->inputs[i];
		double v = cell[b->input[i]];
		if (f->date_parts) x = encode_date(f, v, x);
		else if (!f->level_count) *x++ = v;
		else if (f->means) *x++ = f->means[b->code[i][(int)v]];
		else if (f->ordinal) *x++ = b->code[i][(int)v];
		else {
			/* The other levels' inputs are 0 already. */
			x[b->code[i][(int)v]] = 1;
			x += f->level_count;
		}
	}
	for (int i = 0; i < s->target_count && y; i++) y[i] = target_value(s, b, cell[b->target[i]]);
}

static part encode(const schema *s, const table *t, const binding *b, const rows *r)
{
	part p = {r->n, take_doubles(r->n, s->D),
			b->target ? take_doubles(r->n, s->target_count) : NULL,
			take((size_t)r->n, sizeof *p.line)};
	for (ptrdiff_t k = 0; k < r->n; k++) {
		encode_row(s, b, table_row(t, r->row[k]), p.X + k * s->D,
				p.Y ? p.Y + k * s->target_count : NULL);
		p.line[k] = table_line(t, r->row[k]);
	}
	return p;
}

/*  How the options say that a table is read. */
static table_options table_how(const knowledge *known)
{
	const options *o = known->o;
	const int header = option_choice(o, OPT_HEADER); /* auto|yes|no */
	table_options how;
	memset(&how, 0, sizeof how);
	how.header = header == 2 ? -1 : header;
	how.separator = option_separator(o);
	how.decimal = option_choice(o, OPT_DECIMAL) ? ',' : '.';
	how.thousands = option_thousands(o);
	if (how.decimal == how.thousands)
		die(BAD_INPUT, "--thousands %s: is the decimal point, too", o->value[OPT_THOUSANDS]);
	how.is_header = known->s ? schema_is_header : NULL;
	how.settle = settle_columns;
	how.user = known;
	return how;
}

/*  Refuses a guessed header that may be a row with a broken cell, where no names tell. */
static void check_header(const table *t, const char *path, const schema *s)
{
	if (!s || !t->odd_header || !by_place(s, t)) return;
	die(BAD_INPUT,
			"%s: the first line has texts above numbers, and numbers: --header yes reads it as "
			"names, --header no as a row",
			path_text(path));
}

/*  Forgets a last column without name and values; where columns are found by their place, only if
    these places are those of the others. */
static void drop_trailing(table *t, const schema *s)
{
	/* Tables that were converted have none, in memory or not. */
	if (t->fetch || !table_trails(t)) return;
	if (s && by_place(s, t)) {
		int *as_it_is = places_of(s, t->columns), *without = places_of(s, t->columns - 1),
			drop = !as_it_is && without;
		free(as_it_is);
		free(without);
		if (!drop) return;
	}
	if (table_drop_last(t)) die(FAILED, "out of memory");
}

/*  A CSV file that does not fit the memory becomes a table on the disk, beside the model that is
    trained, else in the current folder, which the end of the program removes. */
static void read_large(table *t, const char *path, const table_options *how, const options *o)
{
	const char *beside =
			o->value[OPT_MODEL] && !is_device(o->value[OPT_MODEL]) ? o->value[OPT_MODEL] : "odvgp";
	stored_temporary(t, path, how, beside, o);
}

static void read_table(table *t, const char *path, const options *o, const schema *s)
{
	char error[400];
	knowledge known = {o, s};
	table_options how = table_how(&known);
	int large = bytes_of_file(path) > option_bytes(o, OPT_MEMORY);
	if (is_stored(path)) stored_read(t, path, &how, large);
	else if (large) read_large(t, path, &how, o);
	else if (table_read(t, path, &how, error, sizeof error)) die(BAD_INPUT, "%s", error);
	drop_trailing(t, s);
	check_header(t, path, s);
}

/*  Notes lines that are no rows. */
static void note_lines(const table *t, const char *path, bytes *notes)
{
	if (t->comments)
		bytes_print(notes,
				"note: %s: %ld line%s before the first row begin%s with # and %s "
				"skipped\n",
				path_text(path), t->comments, t->comments > 1 ? "s" : "",
				t->comments > 1 ? "" : "s", t->comments > 1 ? "are" : "is");
	if (t->trailed)
		bytes_print(notes,
				"note: %s: each line ends with a separator; the empty column %d is left out\n",
				path_text(path), t->columns);
	if (t->odd_header)
		bytes_print(notes,
				"note: %s: header: yes, though its first line holds a number; --header no if it is "
				"a row\n",
				path_text(path));
}

/*  Notes names that several columns have, which options and predict tell apart by their order. */
static void note_repeats(const table *t, const char *path, bytes *notes)
{
	enum { SHOWN = 3 };
	for (int i = 0, shown = 0; i < t->columns && t->header && shown < SHOWN; i++) {
		const table_column *c = &t->column[i];
		if (c->next < 0 || c->repeat || !*c->name) continue;
		shown++;
		bytes_print(notes,
				"note: %s: the columns %d and %d are both named '%s'; predict finds them by their "
				"order\n",
				path_text(path), i, c->next, NAME(c->name));
	}
}

/*  Notes what was guessed about a table. */
static void note_table(const table *t, const char *path, const options *o, bytes *notes)
{
	int guessed = option_choice(o, OPT_HEADER) == 0;
	note_lines(t, path, notes);
	if (t->unlike)
		bytes_print(notes,
				"note: %s: header: no, but its first line looks unlike the rows below; --header "
				"yes "
				"if it holds names\n",
				path_text(path));
	else if (guessed && !t->header)
		bytes_print(notes, "note: %s: header: no; its first line is data\n", path_text(path));
}

#include "large.h"

/* ---- standardisation ---- */

/*  Rows of a part: of one in memory all, of one on the disk a tile. */
typedef struct tile {
	const double *X, *Y;
	ptrdiff_t first, n;
} tile;

/*  The next tile; begins with {0}. wants: a part that is on the disk is not read for what is not
    wanted. */
enum { TILE_X = 1, TILE_Y = 2 };
static int next_tile(tile *t, const part *p, large *disk, int wants)
{
	t->first += t->n;
	t->n = 0;
	if (t->first >= p->n) return 0;
	t->X = p->X;
	t->Y = p->Y;
	t->n = p->n;
	if (p->X || !disk) return 1;
	t->n = smaller(large_tile(disk->s), p->n - t->first);
	large_need(
			disk, t->first, t->n, wants & TILE_X ? disk->X : NULL, wants & TILE_Y ? disk->Y : NULL);
	t->X = disk->X;
	t->Y = disk->Y;
	return 1;
}

/*  Standardisation overflows where the range of a column exceeds the largest double. */
static void check_finite(const part *p, large *disk, const schema *s, const char *path)
{
	double sum = 0;
	for (tile t = {0}; next_tile(&t, p, disk, TILE_X | TILE_Y);) {
		for (ptrdiff_t i = 0; i < t.n * s->D; i++) sum += t.X[i] * 0;
		for (ptrdiff_t i = 0; i < t.n * s->target_count; i++) sum += t.Y[i] * 0;
	}
	if (isnan(sum))
		die(BAD_INPUT, "%s: a column has numbers too far apart to standardise", path_text(path));
}

static void schema_scales(schema *s, const part *train, large *disk)
{
	s->x_mean = take_doubles(s->D, 1);
	s->x_scale = take_doubles(s->D, 1);
	s->y_mean = take_doubles(s->target_count, 1);
	s->y_scale = take_doubles(s->target_count, 1);
	odvgp_info info = no_info;
	odvgp_status bad = ODVGP_OK;
	if (disk) {
		ptrdiff_t D = s->D, T = s->target_count;
		double *mean = take_doubles(D + T, 1), *scale = take_doubles(D + T, 1);
		large_scales(disk, mean, scale);
		memcpy(s->x_mean, mean, (size_t)D * sizeof *mean);
		memcpy(s->x_scale, scale, (size_t)D * sizeof *mean);
		memcpy(s->y_mean, mean + D, (size_t)T * sizeof *mean);
		memcpy(s->y_scale, scale + D, (size_t)T * sizeof *mean);
		free(mean);
		free(scale);
	} else {
		bad = odvgp_column_scales(train->X, train->n, s->D, s->x_mean, s->x_scale, &info);
		if (!bad)
			bad = odvgp_column_scales(
					train->Y, train->n, s->target_count, s->y_mean, s->y_scale, &info);
	}
	if (bad) die_of(bad, &info, NULL);
	for (int i = 0; i < s->target_count && !has_real_targets(s->likelihood); i++) {
		s->y_mean[i] = 0;
		s->y_scale[i] = 1;
	}
	for (int i = 0; i < s->target_count; i++)
		if (!isfinite(100 * s->y_scale[i] * s->y_scale[i]))
			die(BAD_INPUT, "%s: with numbers as large as %g its variance cannot be computed",
					COLUMN_TEXT(s->targets[i].column, s->targets[i].name), s->y_scale[i]);
}

/*  The smallest and the largest value of each input in training. */
static void schema_ranges(schema *s, const part *train, large *disk)
{
	s->x_low = take_doubles(s->D, 1);
	s->x_high = take_doubles(s->D, 1);
	for (tile t = {0}; next_tile(&t, train, disk, TILE_X);)
		for (ptrdiff_t i = 0; i < t.n * s->D; i++) {
			ptrdiff_t k = i % s->D;
			double v = t.X[i];
			int first = !t.first && i < s->D;
			if (first || v < s->x_low[k]) s->x_low[k] = v;
			if (first || v > s->x_high[k]) s->x_high[k] = v;
		}
}

/*  Only likelihoods of which f has the unit of y take scales of y. */
static odvgp_scales scales_of(const schema *s)
{
	int scaled =
			has_real_targets(s->likelihood) && s->likelihood != ODVGP_LIKELIHOOD_HETEROSCEDASTIC;
	odvgp_scales scales = {
			s->x_mean, s->x_scale, scaled ? s->y_mean : NULL, scaled ? s->y_scale : NULL};
	return scales;
}

/*  The number of distinct rows of X. */
static ptrdiff_t count_distinct(const double *X, ptrdiff_t n, ptrdiff_t D)
{
	size_t room = 16, mask;
	while (room < 2 * (size_t)n) room *= 2;
	mask = room - 1;
	/* Row + 1; 0: a free slot. */
	ptrdiff_t *slot = take(room, sizeof *slot), count = 0;
	for (ptrdiff_t i = 0; i < n; i++) {
		size_t at = (size_t)hash_doubles(0, X + i * D, D) & mask;
		for (; slot[at]; at = (at + 1) & mask) {
			const double *a = X + i * D, *b = X + (slot[at] - 1) * D;
			ptrdiff_t k = 0;
			while (k < D && a[k] >= b[k] && a[k] <= b[k]) k++;
			if (k == D) break;
		}
		if (slot[at]) continue;
		slot[at] = i + 1;
		count++;
	}
	free(slot);
	return count;
}

/*  The same of rows on the disk, of which at most DISTINCT_MOST are counted. Their hashes stand for
    them. */
static ptrdiff_t count_distinct_tiles(const part *p, large *disk)
{
	uint64_t *slot = take(DISTINCT_SLOTS, sizeof *slot);
	ptrdiff_t count = 0, D = disk->s->D;
	for (tile t = {0}; count < DISTINCT_MOST && next_tile(&t, p, disk, TILE_X);)
		for (ptrdiff_t i = 0; i < t.n && count < DISTINCT_MOST; i++)
			count += distinct_add(slot, hash_doubles(0, t.X + i * D, D));
	free(slot);
	return count;
}

/* ---- the test part ---- */

/*  Element i of a random permutation of [0, n): a Feistel network on the next power of four,
    applied until the result is below n. */
static ptrdiff_t permute(uint64_t seed, ptrdiff_t n, ptrdiff_t i)
{
	int half = 1;
	while (((uint64_t)1 << (2 * half)) < (uint64_t)n) half++;
	uint64_t key = mix(seed + UINT64_C(0x5851f42d4c957f2d)), mask = ((uint64_t)1 << half) - 1,
			 x = (uint64_t)i;
	do {
		uint64_t left = x >> half, right = x & mask;
		for (uint64_t round = 0; round < 6; round++) {
			uint64_t next = left ^ (mix(key + right * 8 + round) & mask);
			left = right;
			right = next;
		}
		x = left << half | right;
	} while (x >= (uint64_t)n);
	return (ptrdiff_t)x;
}

/*  Reads FILE:COLUMN into a flag for each data row. */
static char *read_mask(const char *argument, ptrdiff_t data_rows)
{
	char *path = copy_text(argument), *colon = strrchr(path, ':'), error[400];
	const char *digits = colon ? colon + 1 : NULL;
	int column = digits ? parse_index(&digits) : -1;
	if (column < 0 || *digits)
		die(BAD_INPUT, "--test-mask %s: must be FILE:COLUMN, a column's index counted from 0",
				argument);
	*colon = 0;
	table t = {0};
	table_options how;
	memset(&how, 0, sizeof how);
	how.header = -1;
	if (table_read(&t, path, &how, error, sizeof error)) die(BAD_INPUT, "%s", error);
	if (column >= t.columns)
		die(BAD_INPUT, "--test-mask %s: the last index is %d, counted from 0", argument,
				t.columns - 1);
	if (t.rows != data_rows)
		die(BAD_INPUT, "--test-mask %s: %td rows for the %td of the data", argument, t.rows,
				data_rows);
	if (table_check(&t, column, path, error, sizeof error)) die(BAD_INPUT, "%s", error);
	refuse_missing(&t, column, path, "");
	if (t.column[column].text)
		die(BAD_INPUT, "%s: line 1, column %d: must be 0 or 1", path, column);
	char *mask = take((size_t)t.rows, 1);
	for (ptrdiff_t i = 0; i < t.rows; i++) {
		double v = t.values[i * t.columns + column];
		if (v != 0 && v != 1)
			die(BAD_INPUT, "%s: line %ld, column %d: must be 0 or 1", path, t.lines[i], column);
		mask[i] = v == 1;
	}
	table_free(&t);
	free(path);
	return mask;
}

static double test_fraction(const options *o)
{
	return option_real(o, OPT_TEST_FRACTION, 0, 1 - DBL_EPSILON, "from 0 to below 1");
}

/*  The seed of --split numpy:SEED; -1 without the option. */
static int64_t numpy_seed_of(const options *o)
{
	const char *text = o->value[OPT_SPLIT];
	int64_t seed = 0;
	if (!text) return -1;
	const char *s = strncmp(text, "numpy:", 6) == 0 ? text + 6 : "";
	int digits = 0;
	for (; isdigit((unsigned char)*s) && digits < 11; s++, digits++) seed = seed * 10 + (*s - '0');
	if (!digits || *s || seed > UINT32_MAX)
		die(BAD_INPUT, "--split %s: must be numpy:SEED, with a SEED from 0 to 4294967295", text);
	return seed;
}

/*  A flag for each of n rows: 1 for a row of the current fold. A permutation deals the rows to the
    folds in turn; with classes (NULL: none) class by class, so that each fold has its share of each. */
static char *draw_fold(const options *o, ptrdiff_t n, const int *class)
{
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX);
	int folds = (int)option_integer(o, OPT_FOLDS, 2, 1000);
	if (n < folds) die(BAD_INPUT, "--folds %d: there are only %td rows", folds, n);
	char *tested = take((size_t)n, 1);
	ptrdiff_t *order = take((size_t)n, sizeof *order), next[MOST_CLASSES + 1] = {0};
	for (ptrdiff_t i = 0; i < n; i++) order[permute(seed, n, i)] = i;
	/* The place of each class's first row, then of its next one. */
	for (ptrdiff_t i = 0; i < n && class; i++) next[class[i] + 1]++;
	for (int k = 0; k < MOST_CLASSES; k++) next[k + 1] += next[k];
	for (ptrdiff_t k = 0; k < n; k++) {
		ptrdiff_t place = class ? next[class[order[k]]]++ : k;
		tested[order[k]] = place % folds == o->fold;
	}
	free(order);
	return tested;
}

/*  A flag for each of n rows: 1 for a test row. NumPy's permutation has its training rows first, as
    many as its users take with int(n * share). */
static char *draw_test_rows(const options *o, ptrdiff_t n)
{
	double fraction = test_fraction(o);
	int64_t numpy = numpy_seed_of(o);
	char *tested = take((size_t)n, 1);
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX);
	if (numpy < 0) {
		ptrdiff_t count = (ptrdiff_t)(fraction * (double)n + 0.5);
		if (fraction > 0 && !count) count = 1;
		for (ptrdiff_t i = 0; i < n; i++) tested[i] = permute(seed, n, i) < count;
		return tested;
	}
	if ((uint64_t)(n - 1) > UINT32_MAX) die(BAD_INPUT, "--split numpy: at most 4294967296 rows");
	ptrdiff_t *order = take((size_t)n, sizeof *order);
	numpy_random random;
	numpy_seed(&random, (uint32_t)numpy);
	numpy_permutation(&random, n, order);
	for (ptrdiff_t i = (ptrdiff_t)((double)n * (1 - fraction)); i < n; i++) tested[order[i]] = 1;
	free(order);
	return tested;
}

/*  Training rows, test rows, and with --patience or --calibrate validation rows. */
enum { PART_TRAIN, PART_TEST, PART_VALID, PARTS };

/*  Moves a tenth of the training rows, at most MOST_VALID, to the validation rows, with --patience or
    if `calibrate`. */
enum { MOST_VALID = 5000 };
static void split_validation(const options *o, int calibrate, rows part_rows[PARTS])
{
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX) ^ 0x76616c6964u;
	rows *train = &part_rows[PART_TRAIN], *valid = &part_rows[PART_VALID];
	ptrdiff_t n = train->n, count = smaller((n + 9) / 10, MOST_VALID);
	if (!option_integer(o, OPT_PATIENCE, 0, INT_MAX) && !calibrate) return;
	if (n < 2)
		die(BAD_INPUT, "--%s: there are too few rows for validation",
				calibrate ? "calibrate" : "patience");
	train->n = 0;
	for (ptrdiff_t i = 0; i < n; i++) {
		rows *to = permute(seed, n, i) < count ? valid : train;
		to->row[to->n++] = train->row[i];
	}
}

/*  Splits the rows into parts as the options say; class: those of the rows, or NULL. */
static void split_rows(const options *o, const rows *all, const int *class, ptrdiff_t data_rows,
		rows part_rows[PARTS])
{
	const char *mask = o->value[OPT_TEST_MASK];
	char *tested = mask                  ? read_mask(mask, data_rows)
				   : o->value[OPT_FOLDS] ? draw_fold(o, all->n, class)
										 : draw_test_rows(o, all->n);
	for (int k = 0; k < PARTS; k++) {
		part_rows[k].row = take((size_t)all->n, sizeof *part_rows[k].row);
		part_rows[k].n = 0;
	}
	for (ptrdiff_t i = 0; i < all->n; i++) {
		rows *to = &part_rows[(int)tested[mask ? all->row[i] : i]];
		to->row[to->n++] = all->row[i];
	}
	free(tested);
	if (!part_rows[0].n)
		die(BAD_INPUT, "--%s: no row is left to train on", mask ? "test-mask" : "test-fraction");
}

/*  The test rows of --test, with targets. */
static part read_test_file(
		const schema *s, const options *o, const char *path, int drop, bytes *notes)
{
	table t = {0};
	read_table(&t, path, o, s);
	note_table(&t, path, o, notes);
	binding b = bind_columns(s, &t, path, drop);
	if (!b.target)
		die(BAD_INPUT, "%s: line 1: no target; in the training data it is %s", path_text(path),
				COLUMN_TEXT(s->targets[0].column, s->targets[0].name));
	rows all = complete_rows(s, &t, &b, path, drop, 1);
	part p = encode(s, &t, &b, &all);
	if (all.n < t.rows)
		bytes_print(notes, "note: %s: %td of %td rows are left out%s%s\n", path_text(path),
				t.rows - all.n, t.rows, b.misfit ? "; " : "", b.misfit ? b.misfit : "");
	rows_free(&all);
	binding_free(&b, s);
	table_free(&t);
	return p;
}

/*  A cell so far from the others that it decides the scale of its column. */
typedef struct outlier {
	long line;
	int column;
	/* Its distance from the median, in units of the spread of the column. */
	double value, distance;
} outlier;

enum { MOST_OUTLIERS = 5 };

/*  The data of a training: schema, and both parts standardised. */
typedef struct dataset {
	schema s;
	part train, test, valid;
	/* Training targets as the library takes them: train.Y, or with --class-weights [n,2], the class
       and its weight; and these weights [classes], or NULL. */
	double *Y, *class_weight;
	/* Training rows that stay on the disk, where train.X and Y are NULL; else NULL. Of these rows at
	   most SAMPLE_MOST, for what needs some in memory: all, if they are no more. */
	large *disk;
	part sample;
	outlier outliers[MOST_OUTLIERS];
	int outlier_count;
	ptrdiff_t dropped;
	/* Classes without a training row. */
	int absent;
	/* Are the validation rows given back? */
	int calibrates;
	/* What is remarkable about the data, a line each. */
	bytes notes;
} dataset;

enum { SAMPLE_MOST = 20000 };

/*  Training rows in memory: all, or of those on the disk the sample. */
static const part *rows_in_memory(const dataset *d) { return d->disk ? &d->sample : &d->train; }

static long train_line(const dataset *d, ptrdiff_t k)
{
	return d->disk ? table_line(&d->disk->t, large_row(d->disk, k)) : d->train.line[k];
}

/*  The number of distinct training rows. */
static ptrdiff_t distinct_rows(const dataset *d)
{
	return d->disk ? count_distinct_tiles(&d->train, d->disk)
				   : count_distinct(d->train.X, d->train.n, d->s.D);
}

/*  The columns of Y. */
static int y_columns(const dataset *d) { return d->class_weight ? 2 : d->s.target_count; }

/*  Do all these rows have the same value in this column? */
static int is_constant(const table *t, const rows *r, int column)
{
	double first = r->n ? table_row(t, r->row[0])[column] : 0;
	for (ptrdiff_t i = 1; i < r->n; i++) {
		double v = table_row(t, r->row[i])[column];
		if (v < first || v > first) return 0;
	}
	return 1;
}

/*  Is the column an input of this model? */
static int has_input(const schema *s, int column)
{
	for (int i = 0; i < s->input_count; i++)
		if (s->inputs[i].column == column) return 1;
	return 0;
}

/*  Drops inputs that are constant in the training rows, with --folds in all rows, which they teach
    nothing, unless all are or the model that is resumed has them (`before`, or NULL). */
static void drop_constants(dataset *d, const table *t, const rows *train, const schema *before)
{
	schema *s = &d->s;
	int kept = 0, dropped = 0;
	bytes names = {NULL, 0, 0};
	char *constant = take((size_t)s->input_count, 1);
	for (int i = 0; i < s->input_count; i++) {
		int column = s->inputs[i].column;
		constant[i] = train->n > 1 && is_constant(t, train, column) &&
					  !(before && has_input(before, column));
		dropped += constant[i];
	}
	if (dropped == s->input_count) dropped = 0;
	for (int i = 0, shown = 0; i < s->input_count && dropped; i++) {
		field f = s->inputs[i];
		if (!constant[i]) s->inputs[kept++] = f;
		else {
			if (shown++ < 8)
				bytes_print(&names, "%s%s", shown > 1 ? ", " : "", COLUMN_TEXT(f.column, f.name));
			field_free(&f);
		}
	}
	if (dropped) {
		s->input_count = kept;
		bytes_print(&d->notes, "note: constant in the training rows, and left out: %s%s\n",
				names.at, dropped > 8 ? ", ..." : "");
	}
	free(names.at);
	free(constant);
}

/*  Columns that are looked at in one pass over the rows. */
enum { OUTLIER_COLUMNS = 64, OUTLIER_ROWS = 10000 };

/*  Finds the farthest cell of each of these columns of numbers. The spread is the range without the
    tenths at both ends, of at most 10,000 rows. */
static void find_outliers_of(
		dataset *d, const table *t, const rows *train, const int *column, int count)
{
	enum { DISTANT = 1000 };
	ptrdiff_t n = smaller(train->n, OUTLIER_ROWS), farthest[OUTLIER_COLUMNS] = {0};
	double *sorted = take_doubles(n, count), median[OUTLIER_COLUMNS], spread[OUTLIER_COLUMNS],
		   most[OUTLIER_COLUMNS] = {0}, value[OUTLIER_COLUMNS] = {0};
	for (ptrdiff_t i = 0; i < n; i++) {
		ptrdiff_t k = (ptrdiff_t)((double)i * (double)train->n / (double)n);
		const double *cell = table_row(t, train->row[k]);
		for (int c = 0; c < count; c++) sorted[c * n + i] = cell[column[c]];
	}
	for (int c = 0; c < count; c++) {
		double *own = sorted + c * n;
		qsort(own, (size_t)n, sizeof *own, by_number);
		median[c] = own[n / 2];
		spread[c] = own[n - 1 - n / 10] - own[n / 10];
	}
	free(sorted);
	for (ptrdiff_t i = 0; i < train->n; i++) {
		const double *cell = table_row(t, train->row[i]);
		for (int c = 0; c < count; c++) {
			double distance = fabs(cell[column[c]] - median[c]);
			if (!(distance > most[c])) continue;
			most[c] = distance;
			farthest[c] = train->row[i];
			value[c] = cell[column[c]];
		}
	}
	for (int c = 0; c < count; c++) {
		if (d->outlier_count == MOST_OUTLIERS || train->n < 10 || !(spread[c] > 0) ||
				!(most[c] > DISTANT * spread[c]))
			continue;
		outlier o = {table_line(t, farthest[c]), column[c], value[c], most[c] / spread[c]};
		d->outliers[d->outlier_count++] = o;
	}
}

/*  The distance in words; it overflows where a column is less than 1e-308 wide. */
static const char *distance_text(char text[40], double distance)
{
	if (isfinite(distance)) snprintf(text, 40, "%.3g times", distance);
	else snprintf(text, 40, "more than 1e308 times");
	return text;
}

static void find_outliers(dataset *d, const table *t, const rows *train)
{
	const schema *s = &d->s;
	int column[OUTLIER_COLUMNS], count = 0;
	for (int i = 0; i < s->input_count + s->target_count; i++) {
		const field *f = i < s->input_count ? &s->inputs[i] : &s->targets[i - s->input_count];
		if (i < s->input_count && f->level_count) continue;
		column[count++] = f->column;
		if (count < OUTLIER_COLUMNS) continue;
		find_outliers_of(d, t, train, column, count);
		count = 0;
	}
	if (count) find_outliers_of(d, t, train, column, count);
	for (int i = 0; i < d->outlier_count; i++) {
		const outlier *o = &d->outliers[i];
		char distance[40];
		bytes_print(&d->notes,
				"note: line %ld, %s: %g is %s as far from the median as the column is "
				"wide; it decides the scale of the column\n",
				o->line, COLUMN_TEXT(o->column, t->column[o->column].name), o->value,
				distance_text(distance, o->distance));
	}
}

/*  The class whose name stands before a = at s; level_count: there is none. */
static int weights_class(const char *s, const field *f)
{
	int k = 0;
	for (; k < f->level_count; k++) {
		size_t n = strlen(f->levels[k]);
		if (strncmp(s, f->levels[k], n) == 0 && s[n] == '=') break;
	}
	return k;
}

/*  Products of larger or smaller weights with other numbers may overflow. */
static const double LEAST_WEIGHT = 1e-6, MOST_WEIGHT = 1e6;

/*  Reads NAME=W,...; names may hold commas. Classes that are not named have weight 1. */
static void weights_parse(const char *text, const field *f, double *weight)
{
	char *named = take((size_t)f->level_count, 1);
	bytes all = {NULL, 0, 0};
	for (int k = 0; k < f->level_count; k++) bytes_print(&all, "%s%s", k ? ", " : "", f->levels[k]);
	for (const char *s = text; s;) {
		int k = weights_class(s, f);
		const char *equals = strchr(s, '='), *end = NULL;
		if (k == f->level_count && equals)
			die(BAD_INPUT, "--class-weights %s: '%.*s' is no class; classes: %s", text,
					(int)(equals - s), s, all.at);
		if (equals && named[k]++)
			die(BAD_INPUT, "--class-weights %s: '%s' is named twice", text, f->levels[k]);
		if (equals) end = table__number(s + strlen(f->levels[k]) + 1, &weight[k]);
		if (!end || (*end && *end != ',') ||
				!(weight[k] == 0 || (weight[k] >= LEAST_WEIGHT && weight[k] <= MOST_WEIGHT)))
			die(BAD_INPUT,
					"--class-weights %s: must be balanced, or NAME=W,... with weights from %g to "
					"%.0f, or 0; classes: %s",
					text, LEAST_WEIGHT, MOST_WEIGHT, all.at);
		s = *end ? end + 1 : NULL;
	}
	free(named);
	free(all.at);
}

/*  Notes classes that have no training row, and returns their number. */
static int note_absent_classes(dataset *d)
{
	enum { SHOWN = 8 };
	const field *f = &d->s.targets[0];
	int absent = 0;
	if (!has_classes(d->s.likelihood)) return 0;
	char *present = take((size_t)f->level_count, 1);
	for (tile t = {0}; next_tile(&t, &d->train, d->disk, TILE_Y);)
		for (ptrdiff_t i = 0; i < t.n; i++) present[(int)t.Y[i]] = 1;
	for (int k = 0; k < f->level_count; k++) {
		if (present[k] || absent++ >= SHOWN) continue;
		bytes_print(&d->notes, "%s%s",
				absent > 1 ? ", " : "note: classes without a training row: ", NAME(f->levels[k]));
	}
	if (absent) bytes_print(&d->notes, "%s\n", absent > SHOWN ? ", ..." : "");
	free(present);
	return absent;
}

/*  What the library sees of n targets y: y, or if there are weights of classes [n,2] to Y, each with
    its own. */
static double *library_targets(const dataset *d, double *y, ptrdiff_t n, double *Y)
{
	if (!d->class_weight) return y;
	for (ptrdiff_t i = 0; i < n; i++) {
		Y[2 * i] = y[i];
		Y[2 * i + 1] = d->class_weight[(int)y[i]];
	}
	return Y;
}

/*  Makes what the library sees of the training targets. */
static void weigh_classes(dataset *d, const options *o)
{
	const char *text = o->value[OPT_CLASS_WEIGHTS];
	const field *f = &d->s.targets[0];
	ptrdiff_t n = d->train.n;
	d->Y = d->train.Y;
	if (!text) return;
	if (!has_classes(d->s.likelihood))
		die(BAD_INPUT, "--class-weights: only for classes; the likelihood is %s",
				likelihood_text(d->s.likelihood));
	int classes = f->level_count, balanced = strcmp(text, "balanced") == 0;
	double sum = 0, *weight = d->class_weight = take_doubles(classes, 1);
	for (int k = 0; k < classes; k++) weight[k] = !balanced;
	for (tile t = {0}; balanced && next_tile(&t, &d->train, d->disk, TILE_Y);)
		for (ptrdiff_t i = 0; i < t.n; i++) weight[(int)t.Y[i]]++;
	for (int k = 0; k < classes && balanced; k++)
		weight[k] = weight[k] > 0 ? (double)n / (classes * weight[k]) : 1;
	if (!balanced) weights_parse(text, f, weight);
	if (!d->disk) d->Y = take_doubles(n, 2);
	for (tile t = {0}; next_tile(&t, &d->train, d->disk, TILE_Y);)
		for (ptrdiff_t i = 0; i < t.n; i++) sum += weight[(int)t.Y[i]];
	if (!d->disk) library_targets(d, d->train.Y, n, d->Y);
	if (d->disk) d->disk->weight = weight;
	if (!(sum > 0)) die(BAD_INPUT, "--class-weights %s: all training rows have weight 0", text);
	bytes_print(&d->notes, "note: weights of classes:");
	for (int k = 0; k < classes; k++)
		bytes_print(&d->notes, "%s %s %.4g", k ? "," : "", NAME(f->levels[k]), weight[k]);
	bytes_print(&d->notes, "\n");
}

/*  Options that contradict each other. */
static void dataset_check(const options *o)
{
	int drawn = test_fraction(o) > 0;
	if (o->given[OPT_TEST] + drawn + o->given[OPT_TEST_MASK] > 1)
		die(BAD_INPUT, "--test, --test-fraction and --test-mask exclude each other");
	if (numpy_seed_of(o) >= 0 && !drawn)
		die(BAD_INPUT, "--split %s: needs --test-fraction", o->value[OPT_SPLIT]);
}

/*  The classes of these rows; NULL: the targets are no classes. */
static int *classes_of(const schema *s, const table *t, const binding *b, const rows *r)
{
	if (!has_classes(s->likelihood)) return NULL;
	int *class = take((size_t)r->n, sizeof *class);
	for (ptrdiff_t i = 0; i < r->n; i++)
		class[i] = (int)target_value(s, b, table_row(t, r->row[i])[b->target[0]]);
	return class;
}

/*  --image: the scale of all pixels. */
static void dataset_images(dataset *d, const options *o)
{
	schema *s = &d->s;
	if (d->disk && is_image(o))
		die(BAD_INPUT, "--image: its rows have to be in memory: --memory %.0fM allows that",
				1 + (double)d->disk->t.rows * d->disk->t.columns * 8 / 1048576);
	images_scales(o, d->train.X, d->train.n, s->D, s->x_mean, s->x_scale);
}

/*  Reads the sample of training rows on the disk. */
static void dataset_sample(dataset *d)
{
	const schema *s = &d->s;
	large *l = d->disk;
	ptrdiff_t n = smaller(d->train.n, SAMPLE_MOST);
	part p = {n, take_doubles(n, s->D), take_doubles(n, s->target_count),
			take((size_t)n, sizeof *p.line)};
	for (ptrdiff_t i = 0; i < n; i++) {
		ptrdiff_t k = (ptrdiff_t)((double)i * (double)d->train.n / (double)n);
		large_need(l, k, 1, p.X + i * s->D, p.Y + i * s->target_count);
		p.line[i] = train_line(d, k);
	}
	d->sample = p;
}

/* ---- other scales ---- */

/*  One input of all training rows, or the first target. */
static double *train_numbers(const dataset *d, int which, ptrdiff_t input)
{
	ptrdiff_t stride = which == TILE_X ? d->s.D : d->s.target_count;
	double *to = take_doubles(d->train.n, 1), *next = to;
	for (tile t = {0}; next_tile(&t, &d->train, d->disk, which);)
		for (ptrdiff_t k = 0; k < t.n; k++)
			*next++ = (which == TILE_X ? t.X : t.Y)[k * stride + input];
	return to;
}

/*  Gives text columns the numbers of --levels means: those of training rows come from the other
    folds of five. Their codes were encoded as if they were ordinal. */
static void levels_make(dataset *d, const options *o)
{
	enum { LEVEL_FOLDS = 5 };
	schema *s = &d->s;
	part *p = &d->train;
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX) ^ 0x6c6576656cu;
	char *fold = NULL;
	double *y = NULL, **means = take((size_t)s->input_count, sizeof *means);
	ptrdiff_t at = 0;
	for (int i = 0; i < s->input_count; at += field_inputs(&s->inputs[i]), i++) {
		field *f = &s->inputs[i];
		if (!f->means) continue;
		if (!fold) {
			fold = take((size_t)p->n, 1);
			y = train_numbers(d, TILE_Y, 0);
			for (ptrdiff_t k = 0; k < p->n; k++)
				fold[k] = (char)(permute(seed, p->n, k) % LEVEL_FOLDS);
		}
		double *code = train_numbers(d, TILE_X, at);
		means[i] = take_doubles(LEVEL_FOLDS, (ptrdiff_t)f->level_count + 1);
		for (int j = 0; j <= LEVEL_FOLDS; j++) {
			int last = j == LEVEL_FOLDS;
			level_means(f, code, y, p->n, last ? NULL : fold, j, f->means);
			if (!last)
				memcpy(means[i] + j * (f->level_count + 1), f->means,
						((size_t)f->level_count + 1) * sizeof *y);
			for (ptrdiff_t k = 0; k < p->n && !last && p->X; k++)
				if (fold[k] == j) p->X[k * s->D + at] = f->means[(int)code[k]];
		}
		free(code);
	}
	free(y);
	if (d->disk && fold) {
		d->disk->fold = fold;
		d->disk->means = means;
		return;
	}
	for (int i = 0; i < s->input_count; i++) free(means[i]);
	free(means);
	free(fold);
}

/*  Prepares --levels means: a level's number is its code first. */
static void levels_begin(schema *s, const options *o)
{
	int means = 0;
	if (option_choice(o, OPT_LEVELS) != LEVELS_MEANS) return;
	for (int i = 0; i < s->input_count; i++) {
		field *f = &s->inputs[i];
		if (!f->level_count || f->ordinal) continue;
		f->means = take_doubles((ptrdiff_t)f->level_count + 1, 1);
		for (int k = 0; k <= f->level_count; k++) f->means[k] = k;
		means++;
	}
	if (means &&
			(s->target_count > 1 || (has_classes(s->likelihood) && s->targets[0].level_count > 2)))
		die(BAD_INPUT, "--levels means: only for one target, of numbers or two classes");
}

/*  The inputs of a field begin here. */
static ptrdiff_t first_input(const schema *s, int i)
{
	ptrdiff_t at = 0;
	for (int k = 0; k < i; k++) at += field_inputs(&s->inputs[k]);
	return at;
}

/*  Fits one transform to the training rows of an input; returns why there is none, or NULL. */
static const char *transform_input(dataset *d, ptrdiff_t input, int kind)
{
	schema *s = &d->s;
	const part *p = &d->train;
	double *sorted = train_numbers(d, TILE_X, input);
	odvgp_transform *t = &s->transforms[input];
	qsort(sorted, (size_t)p->n, sizeof *sorted, by_number);
	free((double *)(uintptr_t)t->from);
	const char *reason = transform_fit(t, kind, sorted, p->n);
	odvgp_real any = 0;
	odvgp_info info = no_info;
	if (!reason && odvgp_transform_columns(&any, 1, 1, t, &any, &info))
		reason = "has values too far apart or too near to each other";
	free(sorted);
	return reason;
}

/*  Is it a column of numbers, whose scale may change? */
static int has_numbers(const field *f) { return !f->level_count || f->ordinal || f->means; }

/*  One item of --transform, "NAME=KIND". */
static void transform_item(dataset *d, const table *t, const char *item)
{
	schema *s = &d->s;
	const char *equals = strrchr(item, '=');
	int kind = equals ? position_in(transform_words, equals + 1) : -1, found = 0;
	if (kind < 0)
		die(BAD_INPUT, "--transform %s: must be none, auto, or NAME=log, asinh or linear", item);
	char *name = copy_text(item);
	name[equals - item] = 0;
	int all = strcmp(name, "all") == 0 && table_find(t, name, 0) < 0;
	selection chosen = {NULL, 0, 0, NULL};
	if (!all) select_item(&chosen, t, OPT_TRANSFORM, name);
	for (int i = 0; i < s->input_count; i++) {
		const field *f = &s->inputs[i];
		if (!all && !selected(&chosen, f->column)) continue;
		found = 1;
		if (!has_numbers(f)) {
			if (all) continue;
			die(BAD_INPUT, "--transform %s: %s is text: --levels says what texts become", item,
					COLUMN_TEXT(f->column, f->name));
		}
		for (ptrdiff_t k = 0; k < field_inputs(f); k++) {
			ptrdiff_t input = first_input(s, i) + k;
			const char *reason = transform_input(d, input, kind);
			if (!reason) continue;
			if (!all)
				die(BAD_INPUT, "--transform %s: %s %s", item, COLUMN_TEXT(f->column, f->name),
						reason);
			transform_input(d, input, ODVGP_TRANSFORM_NONE);
		}
	}
	if (!found) die(BAD_INPUT, "--transform %s: is no input of the model", item);
	selection_free(&chosen);
	free(name);
}

/*  Fits the transforms of inputs that a list names. t: for the names. */
static void transforms_fit(dataset *d, const table *t, const char *list)
{
	schema *s = &d->s;
	int any = 0;
	if (strcmp(list, "none") == 0) return;
	s->transforms = take((size_t)s->D, sizeof *s->transforms);
	char *copy = copy_text(list), *rest = copy, *item;
	while ((item = next_item(&rest, ',')) != NULL) transform_item(d, t, item);
	free(copy);
	for (ptrdiff_t k = 0; k < s->D; k++) any |= s->transforms[k].kind != ODVGP_TRANSFORM_NONE;
	if (any) return;
	transforms_free(s->transforms, s->D);
	s->transforms = NULL;
}

/*  "a is log(a + 1)", a line. */
static void transforms_note(const schema *s, bytes *b)
{
	enum { SHOWN = 8 };
	int shown = 0;
	for (int i = 0; i < s->input_count && s->transforms; i++)
		for (ptrdiff_t k = first_input(s, i), end = k + field_inputs(&s->inputs[i]); k < end; k++) {
			char text[24];
			const field *f = &s->inputs[i];
			if (!s->transforms[k].kind) continue;
			if (shown++ < SHOWN) {
				snprintf(text, sizeof text, "column %d", f->column);
				bytes_print(b, "%s", shown > 1 ? ", " : "");
				transform_print(b, &s->transforms[k], f->name ? NAME(f->name) : text);
			}
		}
	if (shown > SHOWN) bytes_print(b, ", ...");
	if (s->y.kind) {
		bytes_print(b, "%s", shown ? "; " : "");
		transform_print(b, &s->y, s->targets[0].name ? NAME(s->targets[0].name) : "target");
	}
}

/*  The target as --target-transform says. */
static void target_make(dataset *d, const options *o)
{
	schema *s = &d->s;
	int kind = option_choice(o, OPT_TARGET_TRANSFORM);
	if (!kind) return;
	const char *name = o->value[OPT_TARGET_TRANSFORM];
	if (s->target_count > 1 || s->likelihood != ODVGP_LIKELIHOOD_GAUSSIAN)
		die(BAD_INPUT, "--target-transform %s: only for one target and --likelihood gaussian",
				name);
	double *sorted = train_numbers(d, TILE_Y, 0);
	odvgp_column_scales(sorted, d->train.n, 1, &s->y_raw[0], &s->y_raw[1], NULL);
	qsort(sorted, (size_t)d->train.n, sizeof *sorted, by_number);
	const char *reason = transform_fit(&s->y, kind, sorted, d->train.n);
	free(sorted);
	if (reason)
		die(BAD_INPUT, "--target-transform %s: %s %s", name,
				COLUMN_TEXT(s->targets[0].column, s->targets[0].name), reason);
}

/*  Indicators of texts stay 0 and 1 (--levels shared). */
static void indicators_stay(schema *s, const options *o)
{
	ptrdiff_t at = 0;
	if (option_choice(o, OPT_LEVELS) != LEVELS_SHARED) return;
	for (int i = 0; i < s->input_count; i++)
		for (ptrdiff_t k = field_inputs(&s->inputs[i]); k > 0; k--, at++)
			if (!has_numbers(&s->inputs[i])) s->x_mean[at] = 0, s->x_scale[at] = 1;
}

/*  Columns of one field's indicators share a lengthscale: "ard" of the kernel becomes
    "ard=2:5+7:9" (--levels shared). */
static void levels_kernel(options *o, const schema *s)
{
	bytes groups = {NULL, 0, 0}, kernel = {NULL, 0, 0};
	const char *text = o->value[OPT_KERNEL];
	if (option_choice(o, OPT_LEVELS) != LEVELS_SHARED || !text) return;
	for (int i = 0; i < s->input_count; i++) {
		ptrdiff_t at = first_input(s, i), n = field_inputs(&s->inputs[i]);
		if (!has_numbers(&s->inputs[i]) && n > 1)
			bytes_print(&groups, "%s%td:%td", groups.used ? "+" : "=", at, at + n);
	}
	for (const char *p = text; *p && groups.used;) {
		int word = strncmp(p, "ard", 3) == 0 && (p[3] == ')' || p[3] == ',') && p > text &&
				   !isalnum((unsigned char)p[-1]);
		bytes_print(&kernel, "%.*s", word ? 3 : 1, p);
		if (word) bytes_print(&kernel, "%s", groups.at);
		p += word ? 3 : 1;
	}
	if (kernel.used) option_store(o, OPT_KERNEL, kernel.at);
	free(groups.at);
}

/* ---- --transform auto: by validation ---- */

/*  Skewed columns become logarithms, those with far values asinh: "0=log,3=asinh"; NULL: none is. */
static char *transform_proposal(const dataset *d)
{
	const schema *s = &d->s;
	ptrdiff_t n = d->train.n;
	bytes b = {NULL, 0, 0};
	for (int i = 0; i < s->input_count; i++) {
		if (!has_numbers(&s->inputs[i]) || field_inputs(&s->inputs[i]) > 1) continue;
		double *sorted = train_numbers(d, TILE_X, first_input(s, i));
		qsort(sorted, (size_t)n, sizeof *sorted, by_number);
		double low = sorted[n / 2] - sorted[0], high = sorted[n - 1] - sorted[n / 2],
			   middle = sorted[n - 1 - n / 4] - sorted[n / 4];
		int skewed = high > 5 * low, far = low + high > 10 * middle;
		if (skewed || far)
			bytes_print(&b, "%s%d=%s", b.used ? "," : "", s->inputs[i].column,
					skewed ? "log" : "asinh");
		free(sorted);
	}
	return b.at;
}

/*  Rows of a probe, in the units of the data, and what its model says of the last `held` of them. */
typedef struct probe {
	ptrdiff_t n, held, P;
	double *X, *Y;
} probe;

/*  At most this many rows, of which every fourth is held out; steps and points of its models. */
enum { PROBE_ROWS = 2000, PROBE_STEPS = 40, PROBE_POINTS = 100, PROBE_CLASSES = 10 };

/*  Draws the rows, and gives classes a column each: 0 and 1. */
static probe probe_make(const dataset *d, uint64_t seed)
{
	const schema *s = &d->s;
	const part *p = &d->train;
	int classes = has_classes(s->likelihood) ? s->targets[0].level_count : 0;
	probe r = {smaller(p->n, PROBE_ROWS), 0,
			classes ? smaller(classes, PROBE_CLASSES) : s->target_count, NULL, NULL};
	r.held = r.n / 4;
	r.X = take_doubles(r.n, s->D);
	r.Y = take_doubles(r.n, r.P);
	for (tile t = {0}; next_tile(&t, p, d->disk, TILE_X | TILE_Y);)
		for (ptrdiff_t i = 0, to; i < t.n; i++) {
			if ((to = permute(seed, p->n, t.first + i)) >= r.n) continue;
			memcpy(r.X + to * s->D, t.X + i * s->D, (size_t)s->D * sizeof *r.X);
			for (ptrdiff_t k = 0; k < r.P; k++)
				r.Y[to * r.P + k] = classes ? (double)((ptrdiff_t)t.Y[i] == k) : t.Y[i * r.P + k];
		}
	return r;
}

/*  log p of the held rows by a sparse model of the others whose columns are transformed as the list
    says; NULL: there is no such model. */
static double *probe_run(const probe *r, const dataset *d, const table *t, const char *list)
{
	ptrdiff_t D = d->s.D, P = r->P, n = r->n - r->held;
	dataset own;
	memset(&own, 0, sizeof own);
	own.s = d->s;
	own.s.transforms = NULL;
	own.train.n = n;
	own.train.X = r->X;
	transforms_fit(&own, t, list);
	double *X = take_doubles(r->n, D), *Y = take_doubles(r->n, P), *mean = take_doubles(D + P, 1),
		   *scale = take_doubles(D + P, 1), *logp = take_doubles(r->held, 1);
	memcpy(X, r->X, (size_t)(r->n * D) * sizeof *X);
	if (own.s.transforms) odvgp_transform_columns(X, r->n, D, own.s.transforms, X, NULL);
	odvgp_column_scales(X, n, D, mean, scale, NULL);
	odvgp_standardise(X, r->n, D, mean, scale, X, NULL);
	odvgp_column_scales(r->Y, n, P, mean + D, scale + D, NULL);
	odvgp_standardise(r->Y, r->n, P, mean + D, scale + D, Y, NULL);
	odvgp_config c = odvgp_config_defaults(n, D, P, smaller(PROBE_POINTS, n / 4), 0);
	c.layer[0].kernel = "matern52(ard)";
	c.objective = ODVGP_OBJECTIVE_COLLAPSED;
	c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
	odvgp_model *m = NULL;
	odvgp_status bad = odvgp_model_create(&m, &c, X, Y, NULL, NULL);
	if (!bad) bad = odvgp_fit(m, X, Y, PROBE_STEPS, NULL, NULL);
	size_t size = bad ? 0 : odvgp_fit_q_scratch(m, NULL),
		   block_size = bad ? 0 : odvgp_predictor_size(m, NULL);
	void *scratch = take(size, 1), *block = take(block_size, 1);
	odvgp_server server;
	if (!bad) bad = odvgp_fit_q(m, X, Y, NULL, scratch, size, NULL);
	if (!bad) bad = odvgp_freeze(m, NULL, block, block_size, NULL);
	if (!bad) bad = odvgp_server_from_block(&server, block, block_size, ODVGP_ISA_AUTO, NULL);
	free(scratch);
	size = bad ? 0 : odvgp_predict_scratch(&server, 256, NULL);
	scratch = take(size, 1);
	if (!bad)
		bad = odvgp_predict_logp(&server, X + n * D, Y + n * P, r->held, logp, scratch, size, NULL);
	if (m) odvgp_model_free(m);
	transforms_free(own.s.transforms, D);
	free(scratch), free(block), free(X), free(Y), free(mean), free(scale);
	if (!bad) return logp;
	free(logp);
	return NULL;
}

/*  The list that --transform auto stands for: none, unless one is better on held rows by more than two
    standard errors of the mean of the rows' differences. The best of these. */
static char *transform_choose(dataset *d, const table *t, const options *o)
{
	enum { LISTS = 4 };
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX) ^ 0x7472616e73u;
	char *list[LISTS] = {copy_text("none"), transform_proposal(d),
			copy_text("all=asinh"), copy_text("all=linear")};
	int best = 0;
	double most = 0;
	probe r = probe_make(d, seed);
	double *without = r.held >= 10 ? probe_run(&r, d, t, list[0]) : NULL;
	for (int k = 1; k < LISTS && without; k++) {
		double *logp = list[k] ? probe_run(&r, d, t, list[k]) : NULL, sum = 0, squares = 0;
		if (!logp) continue;
		for (ptrdiff_t i = 0; i < r.held; i++) sum += (logp[i] - without[i]) / (double)r.held;
		for (ptrdiff_t i = 0; i < r.held; i++)
			squares += (logp[i] - without[i] - sum) * (logp[i] - without[i] - sum);
		double error = sqrt(squares) / (double)r.held;
		bytes_print(&d->notes, "note: --transform %s: %+.3g nats a held row, standard error %.2g\n",
				list[k], sum, error);
		if (sum > 2 * error && sum > most) best = k, most = sum;
		free(logp);
	}
	free(without), free(r.X), free(r.Y);
	for (int k = 0; k < LISTS; k++)
		if (k != best) free(list[k]);
	return list[best];
}

/*  The transforms of a model that is resumed. */
static void transforms_copy(schema *s, const schema *before)
{
	if (!before->transforms || before->D != s->D) return;
	s->transforms = take((size_t)s->D, sizeof *s->transforms);
	for (ptrdiff_t d = 0; d < s->D; d++) {
		odvgp_transform *to = &s->transforms[d];
		*to = before->transforms[d];
		double *knots = to->knots ? take_doubles(2, to->knots) : NULL;
		for (ptrdiff_t k = 0; k < 2 * to->knots; k++)
			knots[k] = k < to->knots ? to->from[k] : to->to[k - to->knots];
		to->from = knots;
		to->to = knots ? knots + to->knots : NULL;
	}
}

/*  Makes the data of a training from the table of --data. before: the schema of the model that is
    resumed, or NULL. */
static void dataset_make(dataset *d, const table *t, const options *o, const schema *before)
{
	const char *path = o->value[OPT_DATA];
	int drop = option_choice(o, OPT_MISSING);
	memset(d, 0, sizeof *d);
	note_table(t, path, o, &d->notes);
	note_repeats(t, path, &d->notes);
	schema *s = &d->s;
	schema_columns(s, t, o);
	note_mixed(s, t, &d->notes);
	note_likelihood(s, t, o, &d->notes);
	binding b = bind_columns(s, t, path, MISFIT_FATAL);
	rows all = complete_rows(s, t, &b, path, drop, 1), cut[PARTS];
	int *class = classes_of(s, t, &b, &all);
	binding_free(&b, s);
	if (!all.n) die(BAD_INPUT, "%s: no row is complete", path_text(path));
	d->dropped = t->rows - all.n;
	split_rows(o, &all, class, t->rows, cut);
	free(class);
	d->calibrates = calibrates(o, s, cut[PART_TRAIN].n);
	if (d->calibrates && !t->values) {
		if (o->given[OPT_CALIBRATE])
			die(BAD_INPUT, "--calibrate: not where rows stay on the disk");
		d->calibrates = 0;
	}
	split_validation(o, d->calibrates, cut);
	if (!is_image(o)) {
		drop_constants(d, t, o->value[OPT_FOLDS] ? &all : &cut[0], before);
		find_outliers(d, t, &cut[0]);
	}
	levels_begin(s, o);
	for (int i = 0; i < s->input_count; i++) s->D += field_inputs(&s->inputs[i]);
	images_check(o, s->D);
	b = bind_columns(s, t, path, MISFIT_FATAL);
	if (has_classes(s->likelihood) && is_constant(t, &cut[0], s->targets[0].column))
		die(BAD_INPUT, "%s: %s has one class only in the training rows", path_text(path),
				COLUMN_TEXT(s->targets[0].column, s->targets[0].name));
	if (t->values) d->train = encode(s, t, &b, &cut[PART_TRAIN]);
	else {
		d->train.n = cut[PART_TRAIN].n;
		d->disk = large_make(t, s, path, &cut[PART_TRAIN]);
	}
	levels_make(d, o);
	d->test = encode(s, t, &b, &cut[PART_TEST]);
	d->valid = encode(s, t, &b, &cut[PART_VALID]);
	binding_free(&b, s);
	rows_free(&all);
	for (int k = 0; k < PARTS; k++) rows_free(&cut[k]);
	if (o->value[OPT_TEST]) {
		part_free(&d->test);
		d->test = read_test_file(s, o, o->value[OPT_TEST], drop, &d->notes);
	}
	s->n_train = d->train.n + (d->calibrates ? d->valid.n : 0);
	s->checksum = (uint64_t)s->D;
	for (tile k = {0}; next_tile(&k, &d->train, d->disk, TILE_X);)
		s->checksum = hash_doubles(s->checksum, k.X, k.n * s->D);
	for (tile k = {0}; next_tile(&k, &d->train, d->disk, TILE_Y);)
		s->checksum = hash_doubles(s->checksum, k.Y, k.n * s->target_count);
	schema_ranges(s, &d->train, d->disk);
	if (is_image(o) && strcmp(o->value[OPT_TRANSFORM], "none") != 0)
		die(BAD_INPUT, "--transform: pixels of --image share one scale");
	char *list = !before && strcmp(o->value[OPT_TRANSFORM], "auto") == 0 ? transform_choose(d, t, o)
																		 : NULL;
	if (before) transforms_copy(s, before);
	else transforms_fit(d, t, list ? list : o->value[OPT_TRANSFORM]);
	free(list);
	target_make(d, o);
	part *parts[PARTS] = {&d->train, &d->test, &d->valid};
	for (int k = 0; k < PARTS; k++) {
		part *p = parts[k];
		if (k == PART_TRAIN && d->disk) continue;
		if (s->transforms) odvgp_transform_columns(p->X, p->n, s->D, s->transforms, p->X, NULL);
		for (ptrdiff_t i = 0; i < p->n && s->y.kind; i++) {
			double y = p->Y[i];
			p->Y[i] = target_of(s, y);
			if (isnan(p->Y[i]))
				die(BAD_INPUT,
						"%s: line %ld, %s: %g is too far below the training rows for "
						"--target-transform log; asinh takes all numbers",
						path_text(k == PART_TEST && o->value[OPT_TEST] ? o->value[OPT_TEST] : path),
						p->line[i], COLUMN_TEXT(s->targets[0].column, s->targets[0].name), y);
		}
	}
	if (d->disk) d->disk->stage = LARGE_TRANSFORMED;
	schema_scales(s, &d->train, d->disk);
	dataset_images(d, o);
	indicators_stay(s, o);
	if (schema_is_new(s)) {
		bytes_print(&d->notes, "note: the model learns ");
		transforms_note(s, &d->notes);
		bytes_print(&d->notes, "\n");
	}
	for (int k = 0; k < PARTS; k++) {
		part *p = parts[k];
		large *disk = k == PART_TRAIN ? d->disk : NULL;
		if (disk) disk->stage = LARGE_SCALED;
		else {
			odvgp_standardise(p->X, p->n, s->D, s->x_mean, s->x_scale, p->X, NULL);
			odvgp_standardise(p->Y, p->n, s->target_count, s->y_mean, s->y_scale, p->Y, NULL);
		}
		check_finite(p, disk, s, k == PART_TEST && o->value[OPT_TEST] ? o->value[OPT_TEST] : path);
	}
	if (d->disk) dataset_sample(d);
	d->absent = note_absent_classes(d);
	weigh_classes(d, o);
}

/*  The validation rows become training rows, the last ones. */
static void dataset_give_back(dataset *d)
{
	part *to = &d->train, *from = &d->valid;
	ptrdiff_t n = to->n, more = from->n, D = d->s.D, T = d->s.target_count;
	double *weighed = d->class_weight ? resize(d->Y, (size_t)(2 * (n + more)), sizeof *d->Y) : NULL;
	to->X = resize(to->X, (size_t)((n + more) * D), sizeof *to->X);
	to->Y = resize(to->Y, (size_t)((n + more) * T), sizeof *to->Y);
	to->line = resize(to->line, (size_t)(n + more), sizeof *to->line);
	memcpy(to->X + n * D, from->X, (size_t)(more * D) * sizeof *to->X);
	memcpy(to->Y + n * T, from->Y, (size_t)(more * T) * sizeof *to->Y);
	memcpy(to->line + n, from->line, (size_t)more * sizeof *to->line);
	to->n += more;
	d->Y = library_targets(d, to->Y, to->n, weighed);
	from->n = 0;
}

static void dataset_read(dataset *d, const options *o, const schema *before)
{
	const char *path = option_needed(o, OPT_DATA);
	table t = {0};
	dataset_check(o);
	read_table(&t, path, o, NULL);
	dataset_make(d, &t, o, before);
	if (d->disk) d->disk->owned = 1;
	else table_free(&t);
}

static void dataset_free(dataset *d)
{
	large_free(d->disk);
	schema_free(&d->s);
	part_free(&d->sample);
	if (d->Y != d->train.Y) free(d->Y);
	free(d->class_weight);
	part_free(&d->train);
	part_free(&d->test);
	part_free(&d->valid);
	free(d->notes.at);
}

#endif
