/*  columns.h - the columns that options select, as inputs and targets: text as numbers, the likelihood,
    labels of classes; and where the columns of a schema stand in another table. */
#ifndef TOOL_COLUMNS_H
#define TOOL_COLUMNS_H

#include "classes.h"
#include "convert.h"
#include "images.h"

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

/*  Refuses a text column that holds numbers in another style. */
static void check_levels(const field *f, const table *t, const options *o)
{
	const table_column *c = &t->column[f->column];
	int numbers = 0;
	while (numbers < c->level_count && *table_hint(c->levels[numbers])) numbers++;
	if (numbers && numbers == c->level_count)
		die(BAD_INPUT, "%s: line %ld, %s: '%s' is text%s", path_text(o->value[OPT_DATA]),
				c->level_lines[0], COLUMN_TEXT(f->column, c->name), c->levels[0],
				table_hint(c->levels[0]));
}

/*  Levels in more than half of its rows say nothing about other rows. */
static int is_identifier(const table *t, int column, const options *o)
{
	const table_column *c = &t->column[column];
	if (!c->text || ordinal_levels(o, t, column)) return 0;
	return c->level_count > MOST_LEVELS ||
		   (c->level_count > FEW_LEVELS && 2 * (ptrdiff_t)c->level_count > t->rows - c->missing);
}

/*  Appends a column to a list of columns, as --ignore reads it. */
static void list_column(bytes *list, const table *t, int column)
{
	const table_column *c = &t->column[column];
	const char *comma = list->used ? "," : "";
	int plain = c->name && *c->name && !strchr(c->name, ',') && c->next < 0 && !c->repeat;
	if (plain) bytes_print(list, "%s%s", comma, c->name);
	else bytes_print(list, "%s%d", comma, column);
}

/*  Refuses such columns, all at once: names what --ignore has to hold, so many that they fit a line. */
static void check_identifiers(
		const selection *inputs, const selection *ignored, const table *t, const options *o)
{
	enum { LINE = 500 };
	int first = -1, others = 0, left = 0, named = o->value[OPT_FEATURES] != NULL;
	bytes all = {NULL, 0, 0};
	for (int i = 0; i < ignored->count && !named; i++) list_column(&all, t, ignored->column[i]);
	size_t before = all.used;
	for (int i = 0; i < inputs->count; i++) {
		int column = inputs->column[i];
		if (!is_identifier(t, column, o)) continue;
		if (first < 0) first = column;
		else others++;
		if (all.used - before < LINE) list_column(&all, t, column);
		else left++;
	}
	if (first < 0) {
		free(all.at);
		return;
	}
	char as[40] = "";
	const table_column *c = &t->column[first];
	if (others) snprintf(as, sizeof as, ", as do %d others", others);
	die(BAD_INPUT,
			"%s: %s has %d different texts in %td rows and looks like an identifier%s: %s %s leaves "
			"%s out%s",
			path_text(o->value[OPT_DATA]), COLUMN_TEXT(first, c->name), c->level_count,
			t->rows - c->missing, as, named ? "--features without" : "--ignore", all.at,
			others ? "them" : "it", left ? ", but for some" : "");
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

/*  Are they whole numbers from 0 on, small ones, and would a normal distribution reach below 0? */
static int may_be_counts(const table *t, int column)
{
	const double MOST_MEAN = 100;
	double n = 0, sum = 0, squares = 0;
	for (ptrdiff_t i = 0; i < t->rows; i++) {
		double v = table_row(t, i)[column];
		if (!isfinite(v)) continue;
		if (v < 0 || v > floor(v)) return 0;
		n++;
		sum += v;
		squares += v * v;
	}
	double mean = sum / fmax(1, n);
	return n > 0 && mean <= MOST_MEAN && mean * mean < 9 * (squares / n - mean * mean);
}

/*  Notes that a target holds whole numbers which may be classes - a few, each twice or more on average -
    or counts, of which 0 is one. Ratings and counts look alike, so nobody decides but the user. */
static void note_whole_numbers(const schema *s, const table *t, const options *o, bytes *notes)
{
	enum { LEAST = 3, MOST = 20 };
	double number[MOST];
	const field *f = &s->targets[0];
	if (s->target_count > 1 || t->column[f->column].date || t->column[f->column].text) return;
	int count = distinct_numbers(t, f->column, number, MOST), few = count <= MOST;
	if (count < LEAST || 2 * count > t->rows) return;
	for (int k = 0; k < count && few; k++)
		if (number[k] > floor(number[k])) return;
	int counts = may_be_counts(t, f->column) && !(few && number[0] > 0);
	if (!few && !counts) return;
	bytes_print(notes, "note: %s has ", COLUMN_TEXT(f->column, f->name));
	if (few) bytes_print(notes, "only %d ", count);
	bytes_print(notes, "whole numbers%s, and the likelihood is gaussian; --likelihood ",
			counts ? " from 0 on" : "");
	if (counts) bytes_print(notes, "poisson learns them as counts%s", few ? ", " : "");
	if (few)
		bytes_print(notes, "%s %sas classes, ordinal as classes in order",
				likelihood_text(classes_likelihood(o)), counts ? "" : "learns them ");
	bytes_print(notes, "\n");
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
		note_whole_numbers(s, t, o, notes);
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
	check_identifiers(&inputs, &ignored, t, o);
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
/*  Of predictions, which have a line for each row. */
static const char missing_advice[] = "; --missing drop writes NA for such rows";

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

#endif
