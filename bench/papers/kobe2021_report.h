/*  kobe2021_report.h - what the runs of kobe2021_figs.c show: a table for each figure, and whether
    the statements of the text hold. */

/* ---- what the runs show ---- */

enum { LATE = 11 };

/*  A run: its rows, the last and the best of them. */
typedef struct result {
	int there, n;
	point *rows;
	const point *last, *best;
	/* The median bound of the last rows: minibatches make bounds jump. */
	double late;
	ending end;
} result;

static result results[SETTINGS][METHODS];

static double median_of_last(const result *r)
{
	double sorted[LATE];
	int n = r->n / 10 < LATE ? r->n / 10 + 1 : LATE;
	for (int k = 0; k < n; k++) {
		double v = r->rows[r->n - n + k].bound;
		int at = k;
		for (; at > 0 && sorted[at - 1] > v; at--) sorted[at] = sorted[at - 1];
		sorted[at] = v;
	}
	return sorted[n / 2];
}

static void result_read(result *r, const char *name)
{
	char line[400];
	point p;
	FILE *f = ending_read(name, &r->end) ? file_open(name, ".csv", "r") : NULL;
	int room = 0;
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf", &p.step, &p.seconds, &p.bound, &p.lengthscale,
					&p.variance, &p.noise) != 6)
			continue;
		if (r->n == room) {
			room = 2 * room + 64;
			point *more = (point *)realloc(r->rows, (size_t)room * sizeof p);
			if (!more) fail("memory", "there is not enough");
			r->rows = more;
		}
		r->rows[r->n++] = p;
	}
	if (f) fclose(f);
	r->there = r->n > 0;
	if (!r->there) return;
	r->last = r->best = &r->rows[r->n - 1];
	for (int k = 0; k < r->n; k++)
		if (r->rows[k].bound > r->best->bound) r->best = &r->rows[k];
	r->late = median_of_last(r);
}

static void read_all(void)
{
	char name[120];
	for (int i = 0; i < SETTINGS; i++)
		for (int m = 0; m < METHODS; m++) {
			if (!(settings[i].methods & 1U << m)) continue;
			name_of(name, sizeof name, &settings[i], m);
			result_read(&results[i][m], name);
		}
}

static const result *found(int i, method_id m)
{
	return results[i][m].there ? &results[i][m] : NULL;
}

/*  The best bound that a training reached; the optimum where hyperparameters are fixed. */
static double best_of(int i)
{
	double best = -HUGE_VAL;
	for (int m = 0; m < METHODS; m++)
		if (results[i][m].there && (!is_best(m) || hyper_fixed(&settings[i])))
			best = fmax(best, results[i][m].best->bound);
	return best;
}

/*  The first row that is close to a bound, or NULL. */
static const point *arrival(const result *r, double bound, double within)
{
	for (int k = 0; k < r->n; k++)
		if (r->rows[k].bound >= bound - within) return &r->rows[k];
	return NULL;
}

/*  Nats per row. */
static const double close_to = 0.01;

/*  On naval, where bounds are about 3 and minibatches change them by a tenth, ten times that. */
static double within_of(const setting *s)
{
	return hyper_fixed(s) ? 0.001 : s->data == NAVAL ? 0.1 : close_to;
}

/*  Steps until the best bound of the setting is close; HUGE_VAL if it never is. */
static double steps_of(int i, method_id m)
{
	const result *r = found(i, m);
	const point *p = r ? arrival(r, best_of(i), within_of(&settings[i])) : NULL;
	return p ? p->step : HUGE_VAL;
}

/*  A number of steps as text, valid for the next eight calls. */
static const char *said(double steps)
{
	static char text[8][24];
	static int next;
	char *to = text[next++ % 8];
	if (steps < HUGE_VAL) snprintf(to, sizeof text[0], "%.0f", steps);
	else snprintf(to, sizeof text[0], "never");
	return to;
}

/*  Was the run too short to arrive? Statements about it do not count against the thesis. */
static int is_short(const setting *s) { return s->steps < 2000; }

static void print_arrival(const point *p)
{
	if (p) printf(" %7.0f %7.2f", p->step, p->seconds);
	else printf(" %7s %7s", "-", "-");
}

static void print_run(int i, int m)
{
	char label[80];
	const setting *s = &settings[i];
	const result *r = &results[i][m];
	snprintf(label, sizeof label, "%d/%d/%d/%g/%d%s", s->N, s->M, s->batch, s->noise, s->seed,
			is_short(s) ? " *" : "");
	printf("%-26s %-19s %6d %6d", label, methods[m].title, r->end.numbers, r->end.done);
	print_arrival(arrival(r, best_of(i), within_of(s)));
	print_arrival(arrival(r, r->best->bound, within_of(s)));
	printf(r->late > -1e6 ? " %9.4f" : " %9.1e", r->late);
	printf(" %8.4f %8.4g %8.2g %7.0f %7.0f %7.0f %8.1e\n", r->last->lengthscale, r->last->variance,
			r->last->noise, r->end.jitter_raised, r->end.shortened, r->end.undone, r->end.slope);
}

static void print_runs(const char *figure, const char *title)
{
	int rows = 0;
	for (int i = 0; i < SETTINGS; i++)
		for (int m = 0; m < METHODS; m++) {
			if (strcmp(settings[i].figure, figure) || !results[i][m].there) continue;
			if (!rows++) {
				printf("\nFigure %s: %s\n", figure, title);
				printf("%-26s %-19s %6s %6s %15s %15s %9s %8s %8s %8s %7s %7s %7s %8s\n", "", "",
						"", "", "to the best", "to its own", "bound/row", "length-", "kernel",
						"noise", "jitter", "steps", "steps", "slope");
				printf("%-26s %-19s %6s %6s %7s %7s %7s %7s %9s %8s %8s %8s %7s %7s %7s %8s\n",
						"N/M/batch/noise/seed", "method", "q has", "steps", "steps", "seconds",
						"steps", "seconds", "at end", "scale", "variance", "variance", "raised",
						"shorter", "undone", "at end");
			}
			print_run(i, m);
		}
}

/* ---- statements ---- */

static void claim(const char *figure, const char *text, int holds, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	printf("%-5s %-9s %s: ", figure, holds ? "holds" : "fails", text);
	vprintf(format, list);
	printf("\n");
	va_end(list);
}

/*  The setting of a figure with this seed; -1 if a run of the two methods is missing. */
static int setting_of(const char *figure, int seed, method_id a, method_id b)
{
	for (int i = 0; i < SETTINGS; i++)
		if (!strcmp(settings[i].figure, figure) && settings[i].seed == seed && found(i, a) &&
				found(i, b))
			return i;
	return -1;
}

static void claims_of_fixed(void)
{
	int i = setting_of("4.1", 1, NATURAL_1, ADAM);
	if (i < 0) return;
	double natural = steps_of(i, NATURAL_1), adam = steps_of(i, ADAM),
		   slope = found(i, NATURAL_1)->end.slope;
	claim("4.1", "one natural step of size 1 is at the optimum", natural == 1,
			"within 0.001 after %s", said(natural));
	claim("4.1", "Adam takes thousands of steps", adam >= 1000, "%s; on u itself %s", said(adam),
			said(steps_of(i, ADAM_U)));
	claim("4.1", "the hyperparameters are the best ones", slope < 1,
			"the bound has a slope of %.0f nats there", slope);
}

/*  The largest factor by which a hyperparameter changed after the bound was close. */
static double moved_after(const result *r, const point *p)
{
	double most = 0;
	if (!p) return 1;
	most = fmax(most, fabs(log(r->last->lengthscale / p->lengthscale)));
	most = fmax(most, fabs(log(r->last->variance / p->variance)));
	return exp(fmax(most, fabs(log(r->last->noise / p->noise))));
}

static void claims_of_joint(void)
{
	int i = setting_of("4.2", 1, NATURAL, ADAM);
	if (i < 0) return;
	const result *natural = found(i, NATURAL), *adam = found(i, ADAM);
	double n = steps_of(i, NATURAL), a = steps_of(i, ADAM), apart = natural->late - adam->late;
	double move = moved_after(natural, arrival(natural, best_of(i), close_to));
	claim("4.2", "natural arrives in under 1000 steps", n < 1000, "%s; with steps of 1 in %s",
			said(n), said(steps_of(i, NATURAL_1)));
	claim("4.2", "natural arrives before Adam", n < a, "%s and %s steps; Adam on u %s", said(n),
			said(a), said(steps_of(i, ADAM_U)));
	claim("4.2", "both reach the same bound", fabs(apart) < close_to,
			"natural - Adam = %.4f per row", apart);
	claim("4.2", "hyperparameters still move a lot when the bound has arrived", move > 1.25,
			"by a factor of %.2f", move);
}

/*  How natural gradients and Adam compare in the settings of a figure. */
typedef struct tally {
	int settings, first, together, last, level, better, ahead;
	/* The ratio of natural steps to Adam's. */
	double least, most;
} tally;

static tally tally_of(const char *figure, method_id m)
{
	tally t = {0, 0, 0, 0, 0, 0, 0, HUGE_VAL, 0};
	for (int i = 0; i < SETTINGS; i++) {
		const result *natural = found(i, m), *adam = found(i, ADAM);
		if (strcmp(settings[i].figure, figure) || !natural || !adam || is_short(&settings[i]))
			continue;
		double n = steps_of(i, m), a = steps_of(i, ADAM), apart = natural->late - adam->late;
		t.settings++;
		t.together += n < HUGE_VAL && n <= 1.2 * a && a <= 1.2 * n;
		t.first += n<a, t.last += n> a;
		t.level += fabs(apart)<close_to, t.better += apart> - close_to;
		for (int k = 0; k < natural->n && k < adam->n; k++)
			if (natural->rows[k].step == 10)
				t.ahead += natural->rows[k].bound > adam->rows[k].bound;
		if (n < HUGE_VAL && a < HUGE_VAL)
			t.least = fmin(t.least, n / a), t.most = fmax(t.most, n / a);
	}
	return t;
}

/*  The statements about figures 4.3 to 4.5, for natural steps of this size; only settings without
    minibatches have steps of 1. */
static void claims_of_grid(method_id m)
{
	tally t = tally_of("4.3", m);
	if (t.settings) {
		printf("4.3   %s, M = 10, %d settings\n", methods[m].title, t.settings);
		claim("", "natural is always faster", t.first == t.settings,
				"first in %d; its steps %.2f to %.2f of Adam's", t.first, t.least, t.most);
		claim("", "its bound at the end is the same or better", t.better == t.settings, "in %d",
				t.better);
	}
	t = tally_of("4.4", m);
	if (t.settings) {
		printf("4.4   %s, M = 100, all rows, %d settings\n", methods[m].title, t.settings);
		claim("", "natural is ahead at first", t.ahead == t.settings, "after 10 steps in %d",
				t.ahead);
		claim("", "both arrive after the same number of steps (to 20 %)", t.together == t.settings,
				"in %d; natural first in %d, Adam in %d", t.together, t.first, t.last);
		claim("", "both reach the same bound", t.level == t.settings,
				"in %d, natural's the same or better in %d", t.level, t.better);
	}
	t = tally_of("4.5", m);
	if (t.settings) {
		printf("4.5   %s, M = 100, minibatches, %d settings\n", methods[m].title, t.settings);
		claim("", "natural is slower", t.last == t.settings, "in %d", t.last);
		claim("", "both reach the same bound", t.level == t.settings,
				"at the end in %d, natural's the same or better in %d", t.level, t.better);
	}
}

static void claims_of_naval(void)
{
	int i = setting_of("4.9", 1, NATURAL, ADAM);
	if (i < 0) return;
	const result *natural = found(i, NATURAL), *adam = found(i, ADAM), *u = found(i, ADAM_U);
	double within = within_of(&settings[i]);
	const point *own = arrival(natural, natural->best->bound, within),
				*other = arrival(adam, adam->best->bound, within);
	claim("4.6", "natural has converged after 8,000 steps", own->step <= 8000,
			"within 0.1 of its own best after %.0f", own->step);
	claim("4.6", "Adam has not after 20,000, and is below natural", adam->late < natural->late,
			"natural ends at %.4f, Adam at %.4f, within 0.1 of its own best after %.0f",
			natural->late, adam->late, other->step);
	if (u)
		claim("4.6", "the same of Adam on u", u->late < natural->late, "it ends at %.4f", u->late);
	for (method_id m = OM_AFFINE; m <= OM_PROJECTED; m++) {
		const result *r = found(i, m);
		if (!r) continue;
		const point *p = arrival(r, r->best->bound, within);
		printf("4.9   %s%s\n", methods[m].title,
				r->end.undone > 0 ? "; the library took steps back" : "");
		claim("", "is the first to converge, natural the second",
				p->step < own->step && own->step < other->step,
				"to within 0.1 of its own best after %.0f, natural %.0f, Adam %.0f", p->step,
				own->step, other->step);
		claim("", "ends at a lower bound than natural", natural->late - r->late > close_to,
				"%.4f and %.4f", r->late, natural->late);
		claim("", "its kernel variance is smaller", r->last->variance < natural->last->variance,
				"%.3g and %.3g", r->last->variance, natural->last->variance);
		claim("", "its noise is larger", r->last->noise > natural->last->noise, "%.3g and %.3g",
				r->last->noise, natural->last->noise);
	}
}

/*  Mean and standard error over seeds. */
typedef struct average {
	double sum, squares;
	int n;
} average;

static void add(average *a, double v) { a->sum += v, a->squares += v * v, a->n++; }
static double mean_of(const average *a) { return a->sum / a->n; }
static double error_of(const average *a)
{
	return a->n > 1 ? sqrt(fmax(a->squares - a->sum * a->sum / a->n, 0) / (a->n - 1) / a->n) : 0;
}

/*  The root mean squared second derivative of the mean over the data; 0 if there is no file. */
static double bend_of(int i, method_id m, double *x, double *mean, double *sd)
{
	char name[120], line[200];
	int n = 0;
	double sum = 0, used = 0;
	name_of(name, sizeof name, &settings[i], (int)m);
	FILE *f = file_open(name, ".grid.csv", "r");
	while (f && n < GRID && fgets(line, sizeof line, f))
		n += sscanf(line, "%lf,%lf,%lf", &x[n], &mean[n], &sd[n]) == 3;
	if (f) fclose(f);
	for (int k = 1; k + 1 < n; k++) {
		double h = x[k] - x[k - 1], bend = (mean[k + 1] - 2 * mean[k] + mean[k - 1]) / (h * h);
		if (fabs(x[k]) < 1) sum += bend * bend, used++;
	}
	return used > 0 ? sqrt(sum / used) : 0;
}

static void claims_of_gp(method_id m)
{
	static double x[GRID], mean[GRID], sd[GRID];
	int seeds = 0, undone = 0, first = 0, level = 0, shorter = 0, smaller = 0, noise = 0,
		rougher = 0;
	average below = {0, 0, 0}, bend = {0, 0, 0};
	for (int seed = 1; seed <= 5; seed++) {
		int i = setting_of("4.7", seed, NATURAL, m);
		if (i < 0 || !found(i, ADAM)) continue;
		const result *r = found(i, m), *dense = found(i, NATURAL);
		double ratio = bend_of(i, m, x, mean, sd) / bend_of(i, NATURAL, x, mean, sd);
		seeds++, undone += r->end.undone > 0;
		first += steps_of(i, m) < steps_of(i, NATURAL) && steps_of(i, m) < steps_of(i, ADAM);
		add(&below, dense->late - r->late);
		level += fabs(dense->late - r->late) < close_to;
		shorter += r->last->lengthscale < dense->last->lengthscale,
				smaller += r->last->variance < dense->last->variance;
		noise += fabs(r->last->noise / settings[i].noise - 1) < 0.1;
		add(&bend, ratio), rougher += ratio > 1;
	}
	if (!seeds) return;
	printf("4.7   %s, %d seeds%s\n", methods[m].title, seeds,
			undone ? "; the library took steps back" : "");
	claim("", "is the first to come near the best bound", first == seeds, "in %d", first);
	claim("", "ends at natural's bound", level == seeds, "in %d; %.4f below it on average", level,
			mean_of(&below));
	claim("", "its lengthscale is shorter than natural's", shorter == seeds, "in %d", shorter);
	claim("", "its kernel variance is smaller than natural's", smaller == seeds, "in %d", smaller);
	claim("", "finds the noise to a tenth", noise == seeds, "in %d", noise);
	claim("4.8", "its mean is less smooth than natural's", rougher == seeds,
			"in %d; bend %.3f of natural's", rougher, mean_of(&bend));
}

/*  Where training ends and where the optimum is, relative to the best dense bound on the same
    data. */
static void print_variances(void)
{
	int rows = 0;
	for (int m = 0; m < METHODS; m++) {
		average at[4] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
		for (int seed = 1; seed <= 5; seed++) {
			int i = setting_of("4.7", seed, (method_id)m, BEST);
			if (i < 0) continue;
			const point *p = found(i, (method_id)m)->last, *best = found(i, BEST)->last;
			add(&at[0], p->variance / best->variance),
					add(&at[1], p->lengthscale / best->lengthscale);
			add(&at[2], p->noise / best->noise), add(&at[3], best->bound - p->bound);
		}
		if (at[0].n < 2) continue;
		if (!rows++)
			printf("\nFigure 4.7, over the optimum of the dense bound on the same data; means over "
				   "seeds with standard errors\n"
				   "%-19s %5s %17s %17s %17s %17s\n",
					"", "seeds", "kernel variance", "lengthscale", "noise", "bound/row below");
		printf("%-19s %5d", methods[m].title, at[0].n);
		for (int k = 0; k < 4; k++) printf("  %8.4f %6.4f", mean_of(&at[k]), error_of(&at[k]));
		printf("\n");
	}
}
