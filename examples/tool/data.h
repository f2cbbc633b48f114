/*  data.h - from CSV tables to rows of inputs and targets: the columns that options select, text as
    numbers, missing cells, the test part, standardisation. */
#ifndef TOOL_DATA_H
#define TOOL_DATA_H

#include "numpy.h"
#include "schema.h"

/*  Rows in the layout of the library. */
typedef struct part {
    ptrdiff_t n;
    /* [n,D], [n,P]; Y may be NULL. */
    double *X, *Y;
} part;

static void part_free(part *p)
{
    free(p->X);
    free(p->Y);
    memset(p, 0, sizeof *p);
}

/*  "column 3 (depth)" for messages, which count columns from 1. */
static const char *column_text(char *text, size_t size, int column, const char *name)
{
    if (name) snprintf(text, size, "column %d (%s)", column + 1, name);
    else snprintf(text, size, "column %d", column + 1);
    return text;
}
#define COLUMN_TEXT(column, name) column_text((char[120]){""}, 120, column, name)

static const char *path_text(const char *path)
{
    return strcmp(path, "-") ? path : "standard input";
}

/*  A list of columns. */
typedef struct selection {
    int *column, count;
} selection;

static void select_column(selection *s, int column)
{
    s->column = resize(s->column, (size_t)s->count + 1, sizeof *s->column);
    s->column[s->count++] = column;
}

/*  Adds one item of a list: a name, an index, a range of indices, or "last". */
static void select_item(selection *s, const table *t, int id, const char *item)
{
    const char *p = item;
    int from = table_find(t, item, 0), to = from;
    if (from < 0 && strcmp(item, "last") == 0) from = to = t->columns - 1;
    if (from < 0) {
        from = to = parse_index(&p);
        if (from >= 0 && *p == '-') {
            p++;
            to = parse_index(&p);
        }
        if (from < 0 || to < 0 || *p)
            die(BAD_INPUT, "--%s: there is no column '%s'", option_list[id].name, item);
        if (to < from)
            die(BAD_INPUT, "--%s: the range %s runs backwards", option_list[id].name, item);
        if (to >= t->columns)
            die(BAD_INPUT, "--%s %s: the last index is %d, counted from 0", option_list[id].name,
                    item, t->columns - 1);
    }
    for (; from <= to; from++) {
        for (int k = 0; k < s->count; k++)
            if (s->column[k] == from)
                die(BAD_INPUT, "--%s: %s is named twice", option_list[id].name,
                        COLUMN_TEXT(from, t->column[from].name));
        select_column(s, from);
    }
}

static selection select_list(const table *t, const options *o, int id)
{
    selection s = {NULL, 0};
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

static int selected(const selection *s, int column)
{
    for (int i = 0; i < s->count; i++)
        if (s->column[i] == column) return 1;
    return 0;
}

/*  The levels "a,b,c" that --ordinal gives a column, up to a line end; or NULL. */
static const char *ordinal_levels(const options *o, int column, const char *name)
{
    for (const char *s = o->value[OPT_ORDINAL]; s && *s; s = next_line(s)) {
        size_t length = strcspn(s, "=\n");
        const char *p = s;
        if (name && is_word(s, length, name)) return s + length + 1;
        if (parse_index(&p) == column && p == s + length) return s + length + 1;
    }
    return NULL;
}

static void check_ordinals(const options *o, const table *t)
{
    for (const char *s = o->value[OPT_ORDINAL]; s && *s; s = next_line(s)) {
        int length = (int)strcspn(s, "=\n"), column = 0;
        if (s[length] != '=' || !s[length + 1] || s[length + 1] == '\n')
            die(BAD_INPUT, "--ordinal %.*s: must look like NAME=a,b,c", length, s);
        while (column < t->columns &&
                ordinal_levels(o, column, t->column[column].name) != s + length + 1)
            column++;
        if (column == t->columns) die(BAD_INPUT, "--ordinal: there is no column '%.*s'", length, s);
    }
}

static int ordinal_is_text(const void *user, int columns, int column, const char *name)
{
    (void)columns;
    return ordinal_levels(user, column, name) != NULL;
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
enum { MOST_LEVELS = 1000 };

static void field_levels(field *f, const table *t, const options *o)
{
    const table_column *c = &t->column[f->column];
    const char *s = ordinal_levels(o, f->column, c->name);
    if (s) {
        f->ordinal = 1;
        for (;; s++) {
            size_t n = strcspn(s, ",\n");
            add_level(f, s, n);
            s += n;
            if (*s != ',') return;
        }
    }
    if (c->level_count > MOST_LEVELS)
        die(BAD_INPUT, "%s: %s has %d different texts; leave it out with --ignore",
                path_text(o->value[OPT_DATA]), COLUMN_TEXT(f->column, c->name), c->level_count);
    for (int k = 0; k < c->level_count; k++) add_level(f, c->levels[k], strlen(c->levels[k]));
    if (f->levels) qsort(f->levels, (size_t)f->level_count, sizeof *f->levels, by_text);
}

static field *fields_make(const selection *s, const table *t, const options *o)
{
    field *fields = take((size_t)s->count, sizeof *fields);
    for (int i = 0; i < s->count; i++) {
        field *f = &fields[i];
        const table_column *c = &t->column[s->column[i]];
        f->column = s->column[i];
        f->name = copy_text(c->name);
        for (int k = c->name ? table_find(t, c->name, 0) : f->column; k < f->column;
                k = table_find(t, c->name, k + 1))
            f->repeat++;
        if (c->text) field_levels(f, t, o);
    }
    return fields;
}

/*  data/bike.csv -> bike */
static char *dataset_name(const char *path)
{
    if (strcmp(path, "-") == 0) return copy_text("stdin");
    const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path,
               *dot = strrchr(start, '.');
    size_t n = dot && dot > start ? (size_t)(dot - start) : strlen(start);
    bytes name = {NULL, 0, 0};
    bytes_add(&name, start, n);
    return name.at;
}

/*  Which columns are inputs and which are targets. */
static void schema_columns(schema *s, const table *t, const options *o)
{
    selection targets = select_list(t, o, OPT_TARGET), ignored = select_list(t, o, OPT_IGNORE),
              inputs = select_list(t, o, OPT_FEATURES);
    if (!o->value[OPT_FEATURES])
        for (int i = 0; i < t->columns; i++)
            if (!selected(&targets, i) && !selected(&ignored, i)) select_column(&inputs, i);
    const char *path = path_text(o->value[OPT_DATA]);
    for (int i = 0; i < inputs.count; i++)
        if (selected(&targets, inputs.column[i]) || selected(&ignored, inputs.column[i]))
            die(BAD_INPUT, "--features: %s is a target or ignored",
                    COLUMN_TEXT(inputs.column[i], t->column[inputs.column[i]].name));
    for (int i = 0; i < targets.count; i++) {
        const table_column *c = &t->column[targets.column[i]];
        if (selected(&ignored, targets.column[i]))
            die(BAD_INPUT, "--ignore: %s is the target", COLUMN_TEXT(targets.column[i], c->name));
        if (c->text)
            die(BAD_INPUT, "%s: line %ld, %s: '%s' is text, and the target must be numbers", path,
                    c->level_lines[0], COLUMN_TEXT(targets.column[i], c->name), c->levels[0]);
    }
    if (!inputs.count) die(BAD_INPUT, "%s: no input column besides the target", path);
    s->dataset = dataset_name(o->value[OPT_DATA]);
    s->columns = t->columns;
    s->inputs = fields_make(&inputs, t, o);
    s->input_count = inputs.count;
    s->targets = fields_make(&targets, t, o);
    s->target_count = targets.count;
    for (int i = 0; i < s->input_count; i++) s->D += field_inputs(&s->inputs[i]);
    bytes text = {NULL, 0, 0};
    for (int i = 0; i < s->target_count; i++) {
        if (s->targets[i].name) bytes_print(&text, "%s%s", i ? ", " : "", s->targets[i].name);
        else bytes_print(&text, "%s%d", i ? ", " : "column ", s->targets[i].column);
    }
    s->target_text = text.at;
    free(targets.column);
    free(ignored.column);
    free(inputs.column);
}

/*  Where the columns of a schema stand in a table. */
typedef struct binding {
    /* [input_count] columns of the table. */
    int *input;
    /* [target_count] columns; NULL: the table has no targets. */
    int *target;
    /* [input_count]; for text, the field's level for each level of the table's column. */
    int **code;
} binding;

static int position_of(const schema *s, const table *t, const field *f, int nth_input)
{
    if (t->header && f->name) {
        int column = table_find(t, f->name, 0);
        for (int k = 0; k < f->repeat && column >= 0; k++)
            column = table_find(t, f->name, column + 1);
        return column;
    }
    if (t->columns == s->columns) return f->column;
    return t->columns == s->input_count ? nth_input : -1;
}

static void bind_text(binding *b, const field *f, int i, const table *t, const char *path)
{
    const table_column *c = &t->column[b->input[i]];
    b->code[i] = take((size_t)c->level_count, sizeof **b->code);
    for (int k = 0; k < c->level_count; k++) {
        int level = 0;
        while (level < f->level_count && strcmp(f->levels[level], c->levels[k]) != 0) level++;
        if (level == f->level_count)
            die(BAD_INPUT, "%s: line %ld, %s: '%s' is none of the %d levels of this column",
                    path_text(path), c->level_lines[k], COLUMN_TEXT(b->input[i], c->name),
                    c->levels[k], f->level_count);
        b->code[i][k] = level;
    }
}

/*  Refuses cells that do not fit their column, and text where the schema has numbers. */
static void check_kind(const table *t, int column, const field *f, const char *path)
{
    char error[400];
    const table_column *c = &t->column[column];
    if (table_check(t, column, path, error, sizeof error)) die(BAD_INPUT, "%s", error);
    if (c->text && !f->level_count)
        die(BAD_INPUT, "%s: line %ld, %s: '%s' is not a number", path_text(path), c->level_lines[0],
                COLUMN_TEXT(column, c->name), c->levels[0]);
}

static binding bind_columns(const schema *s, const table *t, const char *path)
{
    binding b;
    b.input = take((size_t)s->input_count, sizeof *b.input);
    b.target = take((size_t)s->target_count, sizeof *b.target);
    b.code = take((size_t)s->input_count, sizeof *b.code);
    for (int i = 0; i < s->input_count; i++) {
        const field *f = &s->inputs[i];
        b.input[i] = position_of(s, t, f, i);
        if (b.input[i] < 0 && t->header && f->name)
            die(BAD_INPUT, "%s: line 1: there is no column '%s'", path_text(path), f->name);
        if (b.input[i] < 0)
            die(BAD_INPUT,
                    "%s: line 1: %d columns; the model has %d inputs, from a file of %d columns",
                    path_text(path), t->columns, s->input_count, s->columns);
        check_kind(t, b.input[i], f, path);
        if (f->level_count) bind_text(&b, f, i, t, path);
    }
    for (int i = 0; i < s->target_count && b.target; i++) {
        b.target[i] = position_of(s, t, &s->targets[i], -1);
        if (b.target[i] >= 0) check_kind(t, b.target[i], &s->targets[i], path);
        else {
            free(b.target);
            b.target = NULL;
        }
    }
    return b;
}

static void binding_free(binding *b, const schema *s)
{
    for (int i = 0; i < s->input_count; i++) free(b->code[i]);
    free(b->code);
    free(b->input);
    free(b->target);
}

/*  Does the schema have text here? Numbers that are levels are then read as text. */
static int schema_is_text(const void *user, int columns, int column, const char *name)
{
    const schema *s = user;
    for (int i = 0; i < s->input_count; i++) {
        const field *f = &s->inputs[i];
        int here = name && f->name         ? strcmp(name, f->name) == 0
                   : columns == s->columns ? f->column == column
                                           : i == column;
        if (here && f->level_count) return 1;
    }
    return 0;
}

/*  A list of row numbers. */
typedef struct rows {
    ptrdiff_t n, *row;
} rows;

static void refuse_missing(const table *t, int column, const char *path, const char *advice)
{
    const table_column *c = &t->column[column];
    if (c->missing)
        die(BAD_INPUT, "%s: line %ld, %s: the value is missing%s", path_text(path), c->missing_line,
                COLUMN_TEXT(column, c->name), advice);
}

static int row_complete(
        const schema *s, const table *t, const binding *b, ptrdiff_t row, int targets_too)
{
    const double *cell = t->values + row * t->columns;
    for (int i = 0; i < s->input_count; i++)
        if (isnan(cell[b->input[i]])) return 0;
    for (int i = 0; i < s->target_count && targets_too && b->target; i++)
        if (isnan(cell[b->target[i]])) return 0;
    return 1;
}

/*  The rows without missing cells. A missing cell is an error unless `drop`. */
static rows complete_rows(const schema *s, const table *t, const binding *b, const char *path,
        int drop, int targets_too)
{
    const char *advice = "; --missing drop leaves out such rows";
    for (int i = 0; i < s->input_count && !drop; i++) refuse_missing(t, b->input[i], path, advice);
    for (int i = 0; i < s->target_count && !drop && targets_too && b->target; i++)
        refuse_missing(t, b->target[i], path, advice);
    rows r = {0, take((size_t)t->rows, sizeof *r.row)};
    for (ptrdiff_t i = 0; i < t->rows; i++)
        if (!drop || row_complete(s, t, b, i, targets_too)) r.row[r.n++] = i;
    return r;
}

static part encode(const schema *s, const table *t, const binding *b, const rows *r)
{
    part p = {
            r->n, take_doubles(r->n, s->D), b->target ? take_doubles(r->n, s->target_count) : NULL};
    for (ptrdiff_t k = 0; k < r->n; k++) {
        const double *cell = t->values + r->row[k] * t->columns;
        double *x = p.X + k * s->D;
        for (int i = 0; i < s->input_count; i++) {
            const field *f = &s->inputs[i];
            double v = cell[b->input[i]];
            if (!f->level_count) *x++ = v;
            else if (f->ordinal) *x++ = b->code[i][(int)v];
            else {
                /* The other levels' inputs are 0 already. */
                x[b->code[i][(int)v]] = 1;
                x += f->level_count;
            }
        }
        for (int i = 0; i < s->target_count && b->target; i++)
            p.Y[k * s->target_count + i] = cell[b->target[i]];
    }
    return p;
}

static void read_table(table *t, const char *path, const options *o,
        int (*is_text)(const void *, int, int, const char *), const void *user)
{
    char error[400];
    table_options how = {0, option_separator(o), is_text, user};
    static const int header[] = {0, 1, -1};
    how.header = header[option_choice(o, OPT_HEADER)];
    if (table_read(t, path, &how, error, sizeof error)) die(BAD_INPUT, "%s", error);
}

/* ---- standardisation ---- */

/*  Standardisation overflows where the range of a column exceeds the largest double. */
static void check_finite(const part *p, const schema *s, const char *path)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < p->n * s->D; i++) sum += p->X[i] * 0;
    for (ptrdiff_t i = 0; i < p->n * s->target_count; i++) sum += p->Y[i] * 0;
    if (isnan(sum))
        die(BAD_INPUT, "%s: a column has numbers too far apart to standardise", path_text(path));
}

static void schema_scales(schema *s, const part *train)
{
    s->x_mean = take_doubles(s->D, 1);
    s->x_scale = take_doubles(s->D, 1);
    s->y_mean = take_doubles(s->target_count, 1);
    s->y_scale = take_doubles(s->target_count, 1);
    odvgp_info info = no_info;
    odvgp_status bad = odvgp_column_scales(train->X, train->n, s->D, s->x_mean, s->x_scale, &info);
    if (!bad)
        bad = odvgp_column_scales(
                train->Y, train->n, s->target_count, s->y_mean, s->y_scale, &info);
    if (bad) die_of(bad, &info, NULL);
}

static odvgp_scales scales_of(const schema *s)
{
    odvgp_scales scales = {s->x_mean, s->x_scale, s->y_mean, s->y_scale};
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
    table_options how = {-1, 0, NULL, NULL};
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
        die(BAD_INPUT, "%s: line 1, column %d: must be 0 or 1", path, column + 1);
    char *mask = take((size_t)t.rows, 1);
    for (ptrdiff_t i = 0; i < t.rows; i++) {
        double v = t.values[i * t.columns + column];
        if (v != 0 && v != 1)
            die(BAD_INPUT, "%s: line %td, column %d: must be 0 or 1", path, i + 1, column + 1);
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

/*  A flag for each of n rows: 1 for a test row. NumPy's permutation has its training rows first, as
    many as its users take with int(n * share). */
static char *draw_test_rows(const options *o, ptrdiff_t n)
{
    double fraction = test_fraction(o);
    int64_t numpy = numpy_seed_of(o);
    char *tested = take((size_t)n, 1);
    if (numpy < 0) {
        uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX);
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

/*  Splits the rows into training rows and test rows as the options say. */
static void split_rows(const options *o, const rows *all, ptrdiff_t data_rows, rows part_rows[2])
{
    const char *mask = o->value[OPT_TEST_MASK];
    char *tested = mask ? read_mask(mask, data_rows) : draw_test_rows(o, all->n);
    for (int k = 0; k < 2; k++) {
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
static part read_test_file(const schema *s, const options *o, const char *path, int drop)
{
    table t = {0};
    read_table(&t, path, o, schema_is_text, s);
    binding b = bind_columns(s, &t, path);
    if (!b.target)
        die(BAD_INPUT, "%s: line 1: no target; in the training data it is %s", path_text(path),
                COLUMN_TEXT(s->targets[0].column, s->targets[0].name));
    rows all = complete_rows(s, &t, &b, path, drop, 1);
    part p = encode(s, &t, &b, &all);
    free(all.row);
    binding_free(&b, s);
    table_free(&t);
    return p;
}

/*  The data of a training: schema, and both parts standardised. */
typedef struct dataset {
    schema s;
    part train, test;
    ptrdiff_t dropped;
} dataset;

static void dataset_read(dataset *d, const options *o)
{
    const char *path = option_needed(o, OPT_DATA);
    int drawn = test_fraction(o) > 0;
    if (o->given[OPT_TEST] + drawn + o->given[OPT_TEST_MASK] > 1)
        die(BAD_INPUT, "--test, --test-fraction and --test-mask exclude each other");
    if (numpy_seed_of(o) >= 0 && !drawn)
        die(BAD_INPUT, "--split %s: needs --test-fraction", o->value[OPT_SPLIT]);
    int drop = option_choice(o, OPT_MISSING);
    table t = {0};
    memset(d, 0, sizeof *d);
    read_table(&t, path, o, ordinal_is_text, o);
    check_ordinals(o, &t);
    schema *s = &d->s;
    schema_columns(s, &t, o);
    binding b = bind_columns(s, &t, path);
    rows all = complete_rows(s, &t, &b, path, drop, 1), cut[2];
    if (!all.n) die(BAD_INPUT, "%s: no row is complete", path_text(path));
    d->dropped = t.rows - all.n;
    split_rows(o, &all, t.rows, cut);
    d->train = encode(s, &t, &b, &cut[0]);
    d->test = encode(s, &t, &b, &cut[1]);
    free(all.row);
    free(cut[0].row);
    free(cut[1].row);
    binding_free(&b, s);
    table_free(&t);
    if (o->value[OPT_TEST]) {
        part_free(&d->test);
        d->test = read_test_file(s, o, o->value[OPT_TEST], drop);
    }
    s->n_train = d->train.n;
    s->checksum = hash_doubles(hash_doubles((uint64_t)s->D, d->train.X, d->train.n * s->D),
            d->train.Y, d->train.n * s->target_count);
    schema_scales(s, &d->train);
    for (int k = 0; k < 2; k++) {
        part *p = k ? &d->test : &d->train;
        odvgp_standardise(p->X, p->n, s->D, s->x_mean, s->x_scale, p->X);
        odvgp_standardise(p->Y, p->n, s->target_count, s->y_mean, s->y_scale, p->Y);
        check_finite(p, s, k && o->value[OPT_TEST] ? o->value[OPT_TEST] : path);
    }
}

static void dataset_free(dataset *d)
{
    schema_free(&d->s);
    part_free(&d->train);
    part_free(&d->test);
}

#endif
