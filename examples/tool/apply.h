/*  apply.h - predictions for the rows of a table: columns beside the means, metrics, notes.

    A file is one block of rows. Standard input is a stream: each block holds the rows that have
    arrived, and its predictions are written before the next one is read. */
#ifndef TOOL_APPLY_H
#define TOOL_APPLY_H

#include "interval.h"
#include "learn.h"

typedef struct application {
	const options *o;
	model_file f;
	odvgp_server server;
	void *block;
	workers w;
	/* What is known of the table; its name in messages. */
	knowledge known;
	const char *path;
	/* --missing drop; predictions go to standard output. */
	int drop, to_stdout;
	/* --interval, 0: none; half its width in sd of a Gaussian; parameters of other likelihoods. */
	double interval, half_width, par[2];
	/* Predictions that wait to be written; notes about lines that are no rows. */
	bytes csv, notes;
	/* Of two classes, the second one is printed from this probability on. */
	double threshold;
	/* [targets] */
	metric_sums *sums;
	/* Of classes, instead of the sums. */
	scores scores;
	/* Rows: all, without a prediction, outside the training range. */
	ptrdiff_t rows, lost, outside;
	/* The first cell that does not fit, in a sentence. */
	char *misfit;
	int has_target, noted_place;
	/* Learns rows after their predictions; NULL: none does. It has a watch without output, since
	   rows come one by one. */
	learner *learner;
	watch row_watch;
} application;

/* ---- the table of predictions ---- */

static void csv_text(bytes *b, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		bytes_add(b, text, strlen(text));
		return;
	}
	bytes_add(b, "\"", 1);
	for (const char *s = text; *s; s++) bytes_add(b, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
	bytes_add(b, "\"", 1);
}

static int is_gaussian(const application *a)
{
	return a->f.s.likelihood == ODVGP_LIKELIHOOD_GAUSSIAN;
}

/*  The names of the columns of a class target: label, p_NAME, ... */
static void csv_class_names(bytes *b, const field *f)
{
	bytes_print(b, "label,");
	for (int k = 0; k < f->level_count; k++) {
		bytes name = {NULL, 0, 0};
		bytes_print(&name, "p_%s", f->levels[k]);
		csv_text(b, name.at);
		bytes_add(b, ",", 1);
		free(name.at);
	}
}

/*  Label and probabilities of row k of a forecast; k < 0: NA. */
static void csv_classes(const application *a, bytes *b, const forecast *f, ptrdiff_t k)
{
	const field *target = &a->f.s.targets[0];
	int classes = target->level_count;
	if (k < 0) bytes_print(b, "NA");
	else csv_text(b, target->levels[class_predicted(f->mean, f->P, k, classes, a->threshold)]);
	for (int class = 0; class < classes; class ++) {
		if (k < 0) bytes_print(b, ",NA");
		else bytes_print(b, ",%.10g", class_probability(f->mean, f->P, k, class));
	}
	bytes_add(b, ",", 1);
}

/*  The kept cells of a row, or their names (row -1). */
static void csv_kept(const selection *kept, const table *t, ptrdiff_t row, bytes *b)
{
	for (int i = 0; i < kept->count; i++) {
		const table_column *c = &t->column[kept->column[i]];
		char text[40];
		if (row >= 0 && c->cells) csv_text(b, c->cells[row]);
		else if (row >= 0) {
			const char *cell = cell_text(c, table_row(t, row)[kept->column[i]], text);
			csv_text(b, cell ? cell : "");
		}
		else if (c->name) csv_text(b, c->name);
		else bytes_print(b, "column_%d", kept->column[i]);
		bytes_add(b, ",", 1);
	}
}

/*  Does each target have a name of its own? */
static int has_target_names(const schema *s)
{
	for (int p = 0; p < s->target_count; p++)
		if (!s->targets[p].name || !*s->targets[p].name || s->targets[p].repeat) return 0;
	return 1;
}

/*  The name of a column about target p: with its name, or its number, if there are several. */
static void csv_target(const application *a, bytes *b, const char *what, int p)
{
	const schema *s = &a->f.s;
	bytes name = {NULL, 0, 0};
	bytes_print(&name, "%s", what);
	if (s->target_count > 1 && has_target_names(s)) bytes_print(&name, "_%s", s->targets[p].name);
	else if (s->target_count > 1) bytes_print(&name, "_%d", p);
	csv_text(b, name.at);
	bytes_add(b, ",", 1);
	free(name.at);
}

static void csv_header(const application *a, const selection *kept, const table *t, bytes *b)
{
	int P = a->f.s.target_count;
	csv_kept(kept, t, -1, b);
	if (has_classes(a->f.s.likelihood)) {
		csv_class_names(b, &a->f.s.targets[0]);
		P = 0;
	}
	for (int p = 0; p < P; p++) {
		csv_target(a, b, "mean", p);
		if (is_gaussian(a)) csv_target(a, b, "sd_f", p);
		csv_target(a, b, "sd_y", p);
		if (a->interval > 0) csv_target(a, b, "lower", p);
		if (a->interval > 0) csv_target(a, b, "upper", p);
	}
	bytes_print(b, "range\n");
}

/*  Is it the number of texts that training has not seen? In older files known levels may have it. */
static int is_unknown(const field *f, double v)
{
	double unknown = f->means[f->level_count];
	if (v < unknown || v > unknown) return 0;
	for (int k = 0; k < f->level_count; k++)
		if (f->means[k] >= unknown && f->means[k] <= unknown) return 0;
	return 1;
}

/*  How many inputs of a row are outside their range in training; -1: the model does not know. */
static int outside_range(const schema *s, const double *x)
{
	int count = 0;
	if (!s->x_low) return -1;
	for (ptrdiff_t i = 0; i < s->D; i++) count += x[i] < s->x_low[i] || x[i] > s->x_high[i];
	for (int i = 0; i < s->input_count; x += field_inputs(&s->inputs[i]), i++)
		count += s->inputs[i].means && is_unknown(&s->inputs[i], *x);
	return count;
}

/*  Number k of a forecast. limits: two for each number, or NULL. */
static void csv_prediction(
		const application *a, bytes *b, const forecast *f, const double *limits, ptrdiff_t k)
{
	bytes_print(b, "%.10g,", f->mean[k]);
	if (is_gaussian(a)) bytes_print(b, "%.10g,", sqrt(f->var_f[k]));
	bytes_print(b, "%.10g,", sqrt(f->var_y[k]));
	if (limits) bytes_print(b, "%.10g,%.10g,", limits[2 * k], limits[2 * k + 1]);
}

/*  A line for each row of the table from `first` to `end`, of which `r` are complete; NA for the
    others. */
static void csv_rows(application *a, const table *t, ptrdiff_t first, ptrdiff_t end,
		const forecast *f, const double *limits, const rows *r, const part *x)
{
	const schema *s = &a->f.s;
	bytes *b = &a->csv;
	int classes = has_classes(s->likelihood), P = classes ? 0 : s->target_count;
	int cells = 2 + is_gaussian(a) + 2 * (a->interval > 0);
	selection kept = select_list(t, a->o, OPT_KEEP);
	if (!a->rows) csv_header(a, &kept, t, b);
	for (ptrdiff_t i = first, k = 0; i < end; i++) {
		int there = k < r->n && r->row[k] == i;
		csv_kept(&kept, t, i, b);
		for (ptrdiff_t at = k * P; at < (k + 1) * P; at++) {
			if (there) csv_prediction(a, b, f, limits, at);
			else bytes_print(b, "%.*s", 3 * cells, "NA,NA,NA,NA,NA,");
		}
		if (classes) csv_classes(a, b, f, there ? k : -1);
		int outside = there ? outside_range(s, x->X + k * s->D) : -1;
		a->outside += outside > 0;
		if (outside < 0) bytes_print(b, "NA\n");
		else bytes_print(b, "%d\n", outside);
		k += there;
	}
	selection_free(&kept);
}

/* ---- blocks of rows ---- */

/*  Rows of a table on the disk that are predicted at once. */
enum { APPLY_ROWS = 1 << 16 };

static watch *watch_of(application *a) { return a->learner ? &a->row_watch : a->w.watch; }

/*  Standardises forecasts and targets, which are in the units of the target, and adds them to the
    sums of metrics. */
static void add_metrics(application *a, forecast *f, part *p)
{
	const schema *s = &a->f.s;
	int P = s->target_count;
	if (has_classes(s->likelihood)) {
		scores_add(&a->scores, f->mean, f->P, p->Y, p->n, a->threshold);
		a->sums[0].n = a->scores.n;
		return;
	}
	if (s->y.kind) {
		metrics_add_target(a->sums, f, p->Y, s, 0, p->n);
		return;
	}
	for (ptrdiff_t i = 0; i < p->n * P; i++) {
		f->mean[i] = (f->mean[i] - s->y_mean[i % P]) / s->y_scale[i % P];
		f->var_y[i] /= s->y_scale[i % P] * s->y_scale[i % P];
	}
	double *logp = NULL, shift = 0;
	int own_scales = s->likelihood == ODVGP_LIKELIHOOD_HETEROSCEDASTIC;
	if (!is_gaussian(a) && !own_scales)
		logp = log_densities(&a->server, watch_of(a), p->X, p->Y, P, p->n);
	odvgp_standardise(p->Y, p->n, P, s->y_mean, s->y_scale, p->Y, NULL);
	if (own_scales) logp = log_densities(&a->server, watch_of(a), p->X, p->Y, P, p->n);
	for (int k = 0; k < P && !own_scales; k++) shift += log(s->y_scale[k]);
	for (ptrdiff_t i = 0; logp && i < p->n; i++) logp[i] += shift;
	metrics_add(a->sums, f, p->Y, logp, p->n, P);
	free(logp);
}

/*  Says which columns are taken of names that more columns have than in training. */
static void note_taken(const application *a, const table *t)
{
	const schema *s = &a->f.s;
	for (int i = 0; i < s->input_count; i++) {
		const field *f = &s->inputs[i];
		int count = count_named(t, f->name), known = known_named(s, f->name);
		if (count > known && f->repeat + 1 == known)
			fprintf(stderr, "note: %s: '%s' is the name of %d columns, and column %d is taken\n",
					path_text(a->path), NAME(f->name), count, position_of(t, f, NULL));
	}
}

/*  Says once that columns are found by their place, and which these are unless
    each stands where it stood. */
static void note_place(application *a, const table *t, const binding *b)
{
	enum { SHOWN = 8 };
	const schema *s = &a->f.s;
	if (a->noted_place++ || a->o->given[OPT_QUIET]) return;
	if (!by_place(s, t)) {
		note_taken(a, t);
		return;
	}
	bytes list = {NULL, 0, 0};
	int same = 1;
	for (int i = 0; i < s->input_count; i++)
		same = same && !s->inputs[i].name && b->input[i] == s->inputs[i].column;
	for (int i = 0; i < s->input_count && i < SHOWN && !same; i++) {
		bytes_print(&list, "%s%d is ", i ? ", " : ": ", b->input[i]);
		if (s->inputs[i].name) bytes_print(&list, "%s", NAME(s->inputs[i].name));
		else bytes_print(&list, "column %d of training", s->inputs[i].column);
	}
	fprintf(stderr, "note: %s: columns are found by their place in the training file%s%s\n",
			path_text(a->path), same ? "" : list.at,
			!same && s->input_count > SHOWN ? ", ..." : "");
	free(list.at);
}

/*  The limits of --interval, two for each prediction; NULL: there are none. */
static double *limits_of(application *a, const forecast *f, const part *p)
{
	if (!(a->interval > 0)) return NULL;
	if (!is_gaussian(a))
		return limits_run(&a->server, &a->f.s, a->par, a->interval, f, p, watch_of(a));
	double *limits = take_doubles(2 * p->n, f->P);
	for (ptrdiff_t i = 0; i < 2 * p->n * f->P; i++)
		limits[i] =
				f->mean[i / 2] + (i % 2 ? a->half_width : -a->half_width) * sqrt(f->var_y[i / 2]);
	return limits;
}

/*  Predicts the rows of the table from `first` to `end`, of which `r` are complete, with numbers
    `p`; gives add_metrics its targets. */
static void apply_rows(
		application *a, const table *t, ptrdiff_t first, ptrdiff_t end, const rows *r, part *p)
{
	const schema *s = &a->f.s;
	const workers alone = {.watch = &a->row_watch};
	forecast fc = forecast_make(r->n, s);
	forecast_run(&fc, &a->server, a->learner ? &alone : &a->w, p->X, r->n);
	double *limits = limits_of(a, &fc, p);
	/* The library takes no scales of such targets. */
	for (ptrdiff_t i = 0; i < r->n * fc.P && s->likelihood == ODVGP_LIKELIHOOD_HETEROSCEDASTIC;
			i++) {
		double mean = s->y_mean[i % fc.P], scale = s->y_scale[i % fc.P];
		fc.mean[i] = mean + scale * fc.mean[i];
		fc.var_y[i] *= scale * scale;
		for (ptrdiff_t k = 2 * i; limits && k < 2 * i + 2; k++)
			limits[k] = mean + scale * limits[k];
	}
	forecast said = fc;
	if (s->y.kind) {
		said = forecast_make(r->n, s);
		for (ptrdiff_t i = 0; i < r->n; i++) {
			double mean = fc.mean[i];
			said.mean[i] = fc.mean[i], said.var_f[i] = fc.var_f[i], said.var_y[i] = fc.var_y[i];
			target_moments(s, &mean, &said.var_f[i]);
			target_moments(s, &said.mean[i], &said.var_y[i]);
			for (ptrdiff_t k = 2 * i; limits && k < 2 * i + 2; k++)
				limits[k] = target_back(s, limits[k]);
		}
	}
	if (!a->to_stdout || !a->o->given[OPT_JSON]) csv_rows(a, t, first, end, &said, limits, r, p);
	if (s->y.kind) forecast_free(&said);
	free(limits);
	a->rows += end - first;
	a->lost += end - first - r->n;
	if (p->Y) {
		add_metrics(a, &fc, p);
		a->has_target = 1;
	}
	forecast_free(&fc);
}

/*  What the new rows add to the range of each input. */
static void widen_ranges(schema *s, const double *x)
{
	for (ptrdiff_t i = 0; i < s->D && s->x_low; i++) {
		s->x_low[i] = fmin(s->x_low[i], x[i]);
		s->x_high[i] = fmax(s->x_high[i], x[i]);
	}
}

/*  The same row by row, each of which is learned after its prediction. */
static void apply_and_learn(application *a, const table *t, ptrdiff_t first, ptrdiff_t end,
		const rows *r, const part *p)
{
	const schema *s = &a->f.s;
	int T = s->target_count;
	double *y = take_doubles(T, 1);
	for (ptrdiff_t i = first, k = 0; i < end; i++) {
		int there = k < r->n && r->row[k] == i;
		rows one = {there, r->row + k};
		if (stop_signal) break;
		part x = {there, p->X + k * s->D, p->Y ? p->Y + k * T : NULL, p->line + k};
		if (there && x.Y) memcpy(y, x.Y, (size_t)T * sizeof *y);
		apply_rows(a, t, i, i + 1, &one, &x);
		if (there && x.Y && learn_row(a->learner, x.X, y)) widen_ranges(&a->f.s, x.X);
		k += there;
	}
	free(y);
}

/*  Predicts all rows of a table; of one on the disk a piece at a time. */
static void apply_block(application *a, const table *t)
{
	const schema *s = &a->f.s;
	binding b = bind_columns(s, t, a->path, a->drop);
	for (ptrdiff_t first = 0, end; first < t->rows && !(first && stop_signal); first = end) {
		end = t->values ? t->rows : smaller(t->rows, first + APPLY_ROWS);
		rows r = complete_between(s, t, &b, a->path, a->drop, 0, first, end);
		note_place(a, t, &b);
		part p = encode(s, t, &b, &r);
		if (a->learner) apply_and_learn(a, t, first, end, &r, &p);
		else apply_rows(a, t, first, end, &r, &p);
		if (a->to_stdout && a->csv.used) {
			write_stdout(&a->csv);
			a->csv.used = 0;
		}
		part_free(&p);
		rows_free(&r);
	}
	if (b.misfit && !a->misfit) {
		a->misfit = copy_text(b.misfit);
		clean_text(a->misfit, 0);
	}
	binding_free(&b, s);
}

/*  The part of a stream that has arrived and is not predicted yet. */
typedef struct stream {
	bytes text;
	/* Scanned so far; and up to where the rows are complete. */
	size_t scanned, complete;
	/* Is the end of what is scanned inside quotes; does its line hold more than blanks? */
	int quoted, ink;
	/* The line at the beginning of `text`. */
	long line;
	/* The header, with its line end; before the first row, nothing. */
	bytes head;
	table_options how;
} stream;

/*  Reads what has arrived. Returns 0 at the end. */
static int stream_read(stream *in)
{
	char piece[1 << 16];
	ptrdiff_t n = (ptrdiff_t)read(STDIN_FILENO, piece, sizeof piece);
	while (n < 0 && errno == EINTR && !stop_input)
		n = (ptrdiff_t)read(STDIN_FILENO, piece, sizeof piece);
	if (stop_input && stop_signal) return 0;
	if (n < 0) die(BAD_INPUT, "standard input: cannot be read: %s", strerror(errno));
	const char *foreign = table__foreign(piece, (size_t)n);
	int packed = !in->text.used && in->line == 1 && table__is_packed(piece, (size_t)n);
	if (foreign && !packed) die(BAD_INPUT, "standard input: %s", foreign);
	bytes_add(&in->text, piece, (size_t)n);
	return n > 0;
}

/*  A packed stream is read to its end. */
static void stream_unpack(stream *in)
{
	char error[400];
	table__reader r;
	memset(&r, 0, sizeof r);
	r.path = "standard input";
	r.error = error;
	r.error_size = sizeof error;
	char *text = table__slurp(&r, stdin, in->text.at, in->text.used, 0);
	if (!text) die(BAD_INPUT, "%s", error);
	in->text.used = 0;
	bytes_add(&in->text, text, r.size);
	free(text);
}

/*  Finds the end of the last complete row: a line end outside quotes. Empty lines wait for the row
    after them. */
static void stream_scan(stream *in)
{
	for (; in->scanned < in->text.used; in->scanned++) {
		char c = in->text.at[in->scanned];
		if (c == '"') in->quoted = !in->quoted;
		if (!strchr(" \t\r\n", c)) in->ink = 1;
		if (c != '\n' || in->quoted) continue;
		if (in->ink) in->complete = in->scanned + 1;
		in->ink = 0;
	}
}

/*  Predicts the complete rows, if there are any besides the header. Comments stay until the line
    after them has come, which tells them from rows. */
static void stream_apply(application *a, stream *in)
{
	table t;
	char error[400];
	bytes whole = {NULL, 0, 0};
	long head_lines = 0;
	bytes_add(&whole, in->head.at, in->head.used);
	bytes_add(&whole, in->text.at, in->complete);
	for (size_t i = 0; i < in->head.used; i++) head_lines += in->head.at[i] == '\n';
	in->how.continues = a->rows > 0;
	const char *ink = in->how.continues ? table__skip_empty(whole.at + in->head.used, ' ', NULL)
										: table__skip_idle(whole.at, ' ', NULL);
	if (!*ink) {
		free(whole.at);
		return;
	}
	if (table_parse(&t, whole.at, whole.used, "standard input", in->line - head_lines, &in->how,
				error, sizeof error))
		die(BAD_INPUT, "%s", error);
	drop_trailing(&t, &a->f.s);
	check_header(&t, a->path, &a->f.s);
	if (t.header && !in->head.used) bytes_add(&in->head, whole.at + t.head, t.head_end - t.head);
	in->how.header = t.header ? 1 : -1;
	in->how.separator = t.separator;
	if (!a->rows) note_lines(&t, a->path, &a->notes);
	if (t.rows) apply_block(a, &t);
	table_free(&t);
	free(whole.at);
	for (size_t i = 0; i < in->complete; i++) in->line += in->text.at[i] == '\n';
	in->text.used -= in->complete;
	in->scanned -= in->complete;
	memmove(in->text.at, in->text.at + in->complete, in->text.used + 1);
	in->complete = 0;
}

static void apply_stream(application *a)
{
	stream in;
	memset(&in, 0, sizeof in);
	in.line = 1;
	in.how = table_how(&a->known);
	in.how.rows_optional = 1;
	for (int more = 1; more;) {
		more = stream_read(&in);
		if (in.line == 1 && !in.scanned && table__is_packed(in.text.at, in.text.used)) {
			stream_unpack(&in);
			more = 0;
		}
		stream_scan(&in);
		if (stop_signal) break;
		if (!more) in.complete = in.text.used;
		if (in.complete) stream_apply(a, &in);
	}
	if (!a->rows && !stop_signal)
		die(BAD_INPUT, "standard input: %s",
				in.head.used ? "has a header and no rows" : "is empty");
	free(in.text.at);
	free(in.head.at);
}

static void apply_file(application *a)
{
	table t = {0};
	read_table(&t, a->path, a->o, &a->f.s);
	if (t.unlike) note_table(&t, a->path, a->o, &a->notes);
	else note_lines(&t, a->path, &a->notes);
	apply_block(a, &t);
	table_free(&t);
}

/* ---- what is said at the end ---- */

/*  Notes inputs outside the training range, and what follows from it. Some are outside by chance: of
    n rows, each input of a new row with probability 2 / (n + 1). */
static void note_outside(const application *a, const char *so)
{
	const schema *s = &a->f.s;
	double chance = fmin(1, 2 * (double)s->D / ((double)s->n_train + 1));
	if (!a->o->given[OPT_QUIET] && (double)a->outside > fmax(0.1, 2 * chance) * (double)a->rows)
		fprintf(stderr, "note: %td of %td rows have inputs outside the training range%s\n",
				a->outside, a->rows, so);
}

/*  Notes rows without a prediction, targets without values, and inputs outside the training range. */
static void note_rows(const application *a)
{
	const schema *s = &a->f.s;
	if (a->o->given[OPT_QUIET]) return;
	if (a->notes.used) tell_text(a->notes.at);
	if (a->lost)
		fprintf(stderr, "note: %td of %td rows have no prediction (NA): cells are missing%s%s\n",
				a->lost, a->rows, a->misfit ? " or do not fit; " : "", a->misfit ? a->misfit : "");
	for (int p = 0; p < s->target_count && a->has_target; p++)
		if (!a->sums[p].n)
			fprintf(stderr, "note: %s has no values, and is left out of the metrics\n",
					COLUMN_TEXT(s->targets[p].column, s->targets[p].name));
	note_outside(a, " (column range): are the columns those of the training file?");
}

static void print_predict_json(const application *a, const metrics *m, double seconds)
{
	char *name = dataset_name(a->path);
	bytes b = {NULL, 0, 0};
	bytes_print(&b, "{");
	json_text(&b, "dataset", name);
	json_text(&b, "model", a->o->value[OPT_MODEL]);
	json_count(&b, "n", a->rows);
	json_count(&b, "n_test", m->n);
	json_count(&b, "n_missing", a->lost);
	json_count(&b, "n_outside", a->outside);
	if (a->learner) json_count(&b, "n_learned", a->learner->learned);
	json_count(&b, "d", a->f.s.D);
	json_count(&b, "p", a->f.s.target_count);
	json_number(&b, "seconds", seconds);
	json_likelihood(&b, &a->f.s);
	json_metrics(&b, a->f.s.likelihood, m);
	if (has_classes(a->f.s.likelihood)) json_confusion(&b, &a->scores);
	else json_targets(&b, &a->f.s, a->sums);
	json_finish(&b);
	free(name);
}

/* ---- the command ---- */

/*  A standard normal number is within plus and minus this with probability P. */
static double normal_half_width(double P)
{
	double low = 0, high = 40;
	for (int i = 0; i < 100; i++) {
		double middle = 0.5 * (low + high);
		if (erfc(middle * 0.70710678118654752440) > 1 - P) low = middle;
		else high = middle;
	}
	return low;
}

/*  Predictions are now those of this model file. */
static void server_open(application *a, const void *file, size_t bytes)
{
	odvgp_info info = no_info;
	size_t size = odvgp_server_size(file, bytes, &info);
	free(a->block);
	a->block = take(size, 1);
	odvgp_status s = odvgp_server_from_memory(
			&a->server, file, bytes, ODVGP_ISA_AUTO, a->block, size, &info);
	if (s) die_of(s, &info, a->f.path);
	if (a->server.D != a->f.s.D || a->server.T != a->f.s.target_count ||
			a->server.y_rows != forecasts_of(&a->f.s))
		die(BAD_INPUT, "%s: damaged: its columns are not those of its model", a->f.path);
}

/*  Opens model and options of a command that uses a model. */
static void application_begin(application *a, const options *o)
{
	const char *out = o->value[OPT_OUT];
	memset(a, 0, sizeof *a);
	a->o = o;
	a->path = option_needed(o, OPT_DATA);
	a->to_stdout = !out || strcmp(out, "-") == 0;
	a->drop = option_choice(o, OPT_MISSING);
	option_needed(o, OPT_MODEL);
	files_check(o, NULL);
	model_file_read(&a->f, o->value[OPT_MODEL]);
	server_open(a, a->f.content, a->f.size);
	a->known.o = o;
	a->known.s = &a->f.s;
	a->sums = take((size_t)a->f.s.target_count, sizeof *a->sums);
	workers_start(&a->w, o);
}

static void application_end(application *a)
{
	learner_end(a->learner);
	workers_stop(&a->w);
	free(a->csv.at);
	free(a->notes.at);
	free(a->sums);
	scores_free(&a->scores);
	free(a->misfit);
	free(a->block);
	model_file_free(&a->f);
}

/* ---- learning ---- */

/*  --forget */
static double forget_of(const options *o)
{
	return option_real(o, OPT_FORGET, DBL_MIN, 1, "above 0, at most 1");
}

/*  --follow; 0: points stay */
static double follow_of(const options *o)
{
	return o->value[OPT_FOLLOW] ? option_real(o, OPT_FOLLOW, DBL_MIN, 1, "above 0, at most 1") : 0;
}

/*  From now on predictions are those of what learns. */
static void application_learns(application *a)
{
	ptrdiff_t points = learn_exact(&a->f, &a->w);
	if (points) {
		server_open(a, a->f.content, a->f.size);
		if (!a->o->given[OPT_QUIET])
			fprintf(stderr,
					"note: %s: the exact model goes on as one of --basis coupled, with a point at "
					"each of its %td rows: a file of %.3g MB; --basis sgpr takes less\n",
					path_text(a->f.path), points, (double)a->f.size / 1e6);
	}
	a->learner = learner_begin(&a->f, &a->server, &a->w, forget_of(a->o), follow_of(a->o));
	a->server = a->learner->online.server;
	a->row_watch.quiet = 1;
	a->row_watch.until = a->row_watch.grace = HUGE_VAL;
}

/*  Rows that were not learned, or not wholly. */
static void note_learning(const application *a)
{
	const learner *l = a->learner;
	if (a->o->given[OPT_QUIET]) return;
	if (l->refused)
		fprintf(stderr, "note: %td row%s refused: %s\n", l->refused,
				l->refused > 1 ? "s were" : " was", l->reason);
	if (l->online.negative)
		fprintf(stderr,
				"note: %llu rows made the model less certain: they moved its mean, not its "
				"variance\n",
				(unsigned long long)l->online.negative);
}

/*  Ends --learn: also by an error, which calls it first. */
static void stream_saves(void *user, const char *sentence)
{
	application *a = user;
	const char *path = a->o->value[OPT_OUT_MODEL];
	(void)sentence;
	if (path) {
		learner_file(a->learner, &a->f.s, path);
		write_file(path, a->learner->file, a->learner->file_size);
	}
	if (a->o->given[OPT_QUIET]) return;
	fprintf(stderr, "note: %td rows learned%s%s\n", a->learner->learned,
			path ? ", and saved in " : "; --out-model FILE would have saved them",
			path ? path_text(path) : "");
}

/*  Options that only some likelihoods have. */
static void predict_options(application *a)
{
	const options *o = a->o;
	const field *f = &a->f.s.targets[0];
	odvgp_likelihood kind = a->f.s.likelihood;
	a->threshold = 0.5;
	if (a->interval > 0 && has_classes(kind))
		die(BAD_INPUT, "--interval: classes have no limits; the columns p_NAME are probabilities");
	if (a->interval > 0 && is_gaussian(a)) a->half_width = normal_half_width(a->interval);
	else if (a->interval > 0) likelihood_params(&a->f, a->par);
	if (o->value[OPT_THRESHOLD]) {
		a->threshold = option_real(o, OPT_THRESHOLD, 0, 1, "from 0 to 1");
		if (!has_classes(kind) || f->level_count != 2)
			die(BAD_INPUT, "--threshold: only for models of two classes");
	}
	if (has_classes(kind)) a->scores = scores_make(f->level_count);
}

/*  --stream is --data -; what goes with --learn only. */
static void learn_options(options *o)
{
	static const int ids[] = {OPT_OUT_MODEL, OPT_FORGET, OPT_FOLLOW};
	if (o->given[OPT_STREAM] && o->value[OPT_DATA] && strcmp(o->value[OPT_DATA], "-") != 0)
		die(BAD_INPUT, "--stream: is standard input; leave out --data %s", o->value[OPT_DATA]);
	if (o->given[OPT_STREAM]) option_set(o, OPT_DATA, "-");
	for (int i = 0; i < 3 && !o->given[OPT_LEARN]; i++)
		if (o->given[ids[i]]) die(BAD_INPUT, "--%s: needs --learn", option_list[ids[i]].name);
	if (o->value[OPT_OUT_MODEL] && strcmp(o->value[OPT_OUT_MODEL], "-") == 0)
		die(BAD_INPUT, "--out-model -: a model needs a file");
	forget_of(o);
	follow_of(o);
}

static int run_predict(options *o)
{
	double begin = now();
	application a;
	int to_stdout = !o->value[OPT_OUT] || strcmp(o->value[OPT_OUT], "-") == 0;
	if (o->value[OPT_OUT] && to_stdout && o->given[OPT_JSON])
		die(BAD_INPUT, "--out -: with --json the predictions need a file");
	double P = o->value[OPT_INTERVAL]
					   ? option_real(o, OPT_INTERVAL, DBL_MIN, 1 - DBL_EPSILON, "between 0 and 1")
					   : 0;
	learn_options(o);
	application_begin(&a, o);
	a.interval = P;
	predict_options(&a);
	if (o->given[OPT_LEARN]) {
		application_learns(&a);
		die_first = stream_saves;
		die_user = &a;
		stop_input = 1;
		catch_signals();
	}
	if (strcmp(a.path, "-") == 0) apply_stream(&a);
	else apply_file(&a);
	if (!to_stdout) write_file(o->value[OPT_OUT], a.csv.at, a.csv.used);
	metrics m = has_classes(a.f.s.likelihood)
						? class_metrics(&a.scores)
						: metrics_mean(a.sums, a.f.s.target_count, target_scale(&a.f.s));
	note_rows(&a);
	if (a.learner) {
		die_first = NULL;
		note_learning(&a);
		stream_saves(&a, NULL);
	}
	if (o->given[OPT_JSON]) print_predict_json(&a, &m, now() - begin);
	else if (m.n && !(to_stdout && o->given[OPT_QUIET])) {
		bytes text = {NULL, 0, 0};
		text_metrics(&text, "metrics", &m, &a.f.s, a.sums);
		if (a.scores.n) text_confusion(&text, &a.scores, &a.f.s.targets[0]);
		if (to_stdout) tell_text(text.at);
		else write_report(&text);
		free(text.at);
	}
	application_end(&a);
	return 0;
}

/* ---- samples ---- */

/*  Samples need the covariance of all rows. */
enum { SAMPLE_ROWS = 10000 };

/*  The name of a function's column: with its class, or its target if there are several. */
static void csv_function(const application *a, bytes *b, int sample, int function)
{
	const schema *s = &a->f.s;
	bytes name = {NULL, 0, 0};
	bytes_print(&name, "sample_%d", sample);
	if (has_class_functions(s->likelihood)) {
		bytes_print(&name, "_%s", s->targets[0].levels[function]);
		csv_text(b, name.at);
		bytes_add(b, ",", 1);
	} else {
		if (function >= s->target_count) bytes_print(&name, "_log_noise");
		csv_target(a, b, name.at, function % s->target_count);
	}
	free(name.at);
}

/*  The library takes no scales of such targets: gives f and the logarithm of the noise variance
    their units. */
static void unscale_samples(const schema *s, double *f, ptrdiff_t n, int samples)
{
	int T = s->target_count;
	for (int k = 0; k < samples * 2 * T; k++) {
		double *row = f + k * n, mean = s->y_mean[k % T], scale = s->y_scale[k % T];
		int is_noise = k % (2 * T) >= T;
		for (ptrdiff_t i = 0; i < n; i++)
			row[i] = is_noise ? row[i] + 2 * log(scale) : mean + scale * row[i];
	}
}

/*  Writes samples [samples,F,n] as a column each. */
static void csv_samples(application *a, const table *t, const rows *r, const double *f, int samples)
{
	bytes *b = &a->csv;
	int F = (int)a->server.F;
	selection kept = select_list(t, a->o, OPT_KEEP);
	csv_kept(&kept, t, -1, b);
	for (int k = 0; k < samples * F; k++) csv_function(a, b, k / F, k % F);
	b->at[b->used - 1] = '\n';
	for (ptrdiff_t i = 0, row = 0; i < t->rows; i++) {
		int there = row < r->n && r->row[row] == i;
		csv_kept(&kept, t, i, b);
		for (int k = 0; k < samples * F; k++) {
			if (k) bytes_add(b, ",", 1);
			if (there) bytes_print(b, "%.10g", f[k * r->n + row]);
			else bytes_print(b, "NA");
		}
		bytes_print(b, "\n");
		row += there;
	}
	selection_free(&kept);
}

static int run_sample(options *o)
{
	application a;
	table t = {0};
	int samples = (int)option_integer(o, OPT_SAMPLES, 1, 100000);
	uint64_t seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX);
	application_begin(&a, o);
	const schema *s = &a.f.s;
	read_table(&t, a.path, o, s);
	binding b = bind_columns(s, &t, a.path, a.drop);
	rows r = complete_rows(s, &t, &b, a.path, a.drop, 0);
	note_place(&a, &t, &b);
	if (r.n > SAMPLE_ROWS)
		die(BAD_INPUT, "%s: %td rows; samples need the covariance of all rows, of at most %d",
				path_text(a.path), r.n, SAMPLE_ROWS);
	part p = encode(s, &t, &b, &r);
	size_t size = odvgp_sample_scratch(&a.server, r.n, NULL);
	double *f = take_doubles(samples * r.n, a.server.F);
	void *scratch = take(size, 1);
	odvgp_status bad = odvgp_sample(
			&a.server, p.X, r.n, &(odvgp_draws){samples, seed}, f, scratch, size, NULL);
	if (bad) die(FAILED, "sample: %s", odvgp_status_text(bad));
	if (s->likelihood == ODVGP_LIKELIHOOD_HETEROSCEDASTIC) unscale_samples(s, f, r.n, samples);
	for (ptrdiff_t i = 0; i < samples * r.n && s->y.kind; i++) f[i] = target_back(s, f[i]);
	csv_samples(&a, &t, &r, f, samples);
	if (a.to_stdout) write_stdout(&a.csv);
	else write_file(o->value[OPT_OUT], a.csv.at, a.csv.used);
	free(scratch);
	free(f);
	part_free(&p);
	rows_free(&r);
	binding_free(&b, s);
	table_free(&t);
	application_end(&a);
	return 0;
}

#endif
