/*  classes.h - likelihoods by name, labels of class targets, and how good probabilities of classes
    are. */
#ifndef TOOL_CLASSES_H
#define TOOL_CLASSES_H

#include "schema.h"

/* ---- likelihoods ---- */

static const char *likelihood_words(void)
{
	static bytes words;
	if (words.used) return words.at;
	for (int i = 0; i < ODVGP_LIKELIHOOD_COUNT; i++)
		bytes_print(&words, "%s%s", i ? "|" : "", odvgp_likelihood_about((odvgp_likelihood)i).name);
	return words.at;
}

static odvgp_likelihood likelihood_named(const char *name)
{
	int kind = position_in(likelihood_words(), name);
	if (kind < 0)
		die(BAD_INPUT, "--likelihood %s: must be one of %s%s", name, likelihood_words(),
				guess_in(likelihood_words(), name).text);
	return (odvgp_likelihood)kind;
}

static const char *likelihood_text(odvgp_likelihood kind)
{
	return odvgp_likelihood_about(kind).name;
}

/*  Are there exactly two classes, of which one function of the inputs gives the probability? */
static int has_two_classes(odvgp_likelihood kind)
{
	return odvgp_likelihood_about(kind).target == ODVGP_TARGET_BINARY;
}

/*  A function for each class? */
static int has_class_functions(odvgp_likelihood kind)
{
	return odvgp_likelihood_about(kind).functions == 0;
}

static int has_classes(odvgp_likelihood kind)
{
	return has_two_classes(kind) || odvgp_likelihood_about(kind).target == ODVGP_TARGET_CLASS;
}

/*  Can y have any value, so that training standardises it? */
static int has_real_targets(odvgp_likelihood kind)
{
	return odvgp_likelihood_about(kind).target == ODVGP_TARGET_REAL;
}

/*  Functions that the likelihood sees. */
static int functions_of(const schema *s)
{
	int each = odvgp_likelihood_about(s->likelihood).functions;
	return each ? each * s->target_count : s->targets[0].level_count;
}

/*  Numbers that predict y of a row: means, or a probability for each class; of two classes, that of
    the second one where there is one function. */
static int forecasts_of(const schema *s)
{
	int all = has_classes(s->likelihood) && !has_two_classes(s->likelihood);
	return all ? s->targets[0].level_count : s->target_count;
}

/*  From how many classes on the default training is another one (plan.h); from how many rows on that of
    any classes is calibrated. */
enum { MANY_CLASSES = 6, CALIBRATED_ROWS = 2000 };

static int has_many_classes(const schema *s)
{
	return has_class_functions(s->likelihood) && s->targets[0].level_count >= MANY_CLASSES;
}

/*  Does --calibrate hold out some of `rows` rows? auto became on or off in calibrate_settle, or is
    undecided. An exact model needs none (calibrate_exact). */
static int calibrates(const options *o, const schema *s, ptrdiff_t rows)
{
	const char *text = o->value[OPT_CALIBRATE];
	if (strcmp(o->value[OPT_BASIS], "exact") == 0) return 0;
	if (strcmp(text, "many") == 0) return has_classes(s->likelihood) && rows >= CALIBRATED_ROWS;
	return strcmp(text, "on") == 0;
}

/*  train, before the data are read: auto depends on them with --basis auto, and is off without. */
static void calibrate_settle(options *o)
{
	option_choice(o, OPT_CALIBRATE);
	if (strcmp(o->value[OPT_CALIBRATE], "auto") != 0) return;
	o->given[OPT_CALIBRATE] = 0;
	int unset = strcmp(o->value[OPT_BASIS], "auto") == 0 && !o->given[OPT_RESUME] &&
				!o->given[OPT_PATIENCE] && !o->given[OPT_KERNEL] && !o->given[OPT_WARM];
	option_store(o, OPT_CALIBRATE, copy_text(unset ? "many" : "off"));
}

/* ---- labels ---- */

enum { MOST_CLASSES = 200 };

/*  Reads a label that is a number. */
static int label_number(const char *label, double *value)
{
	const char *end = table__number(label, value);
	return end && end > label && !*end;
}

/*  Are all labels of the field numbers? Then its column holds numbers. */
static int has_number_labels(const field *f)
{
	double value;
	for (int k = 0; k < f->level_count; k++)
		if (!label_number(f->levels[k], &value)) return 0;
	return f->level_count > 0;
}

static int class_of_number(const field *f, double v)
{
	for (int k = 0; k < f->level_count; k++) {
		double label;
		if (label_number(f->levels[k], &label) && v >= label && v <= label) return k;
	}
	return -1;
}

/*  The class of a label, or -1. "1.0" is the class "1" unless it is one itself. */
static int class_of_text(const field *f, const char *label)
{
	double v;
	for (int k = 0; k < f->level_count; k++)
		if (strcmp(f->levels[k], label) == 0) return k;
	return label_number(label, &v) ? class_of_number(f, v) : -1;
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/*  The distinct numbers of a column, sorted, into `list`. Returns how many there are, or most + 1
    if there are more. */
static int distinct_numbers(const table *t, int column, double *list, int most)
{
	int count = 0;
	for (ptrdiff_t i = 0; i < t->rows; i++) {
		double v = table_row(t, i)[column];
		if (!isfinite(v) || (count && bsearch(&v, list, (size_t)count, sizeof v, by_number)))
			continue;
		if (count == most) return most + 1;
		list[count++] = v;
		qsort(list, (size_t)count, sizeof v, by_number);
	}
	return count;
}

/* ---- scores of probabilities ---- */

enum { ECE_BINS = 15, ECE_ROWS = 1 << 18 };

/*  Sums over rows whose label is known. */
typedef struct scores {
	int classes;
	ptrdiff_t n, right;
	double logs, squares;
	/* Bins of equal width of the printed label's probability: rows, right ones, sums of the
	   probability. */
	double bin_rows[ECE_BINS], bin_right[ECE_BINS], bin_p[ECE_BINS];
	/* That probability, negative where the label is wrong, of one row in `every`: of each until there
	   are ECE_ROWS, so that an endless stream takes no more memory. */
	double *own;
	ptrdiff_t own_count, own_room, every;
	/* [classes][classes]: true class, then predicted class. */
	ptrdiff_t *confusion;
} scores;

static scores scores_make(int classes)
{
	scores s;
	memset(&s, 0, sizeof s);
	s.classes = classes;
	s.every = 1;
	s.confusion = take((size_t)classes * (size_t)classes, sizeof *s.confusion);
	return s;
}

static void scores_free(scores *s)
{
	free(s->confusion);
	free(s->own);
	memset(s, 0, sizeof *s);
}

/*  The probability of a class of row i; `forecasts` numbers predict a row. */
static double class_probability(const double *mean, int forecasts, ptrdiff_t i, int class)
{
	if (forecasts > 1) return mean[i * forecasts + class];
	return class ? mean[i] : 1 - mean[i];
}

/*  The most probable class; of two, the second one from `threshold` on. */
static int class_predicted(
		const double *mean, int forecasts, ptrdiff_t i, int classes, double threshold)
{
	int best = 0;
	if (classes == 2) return class_probability(mean, forecasts, i, 1) >= threshold;
	for (int k = 1; k < classes; k++)
		if (mean[i * forecasts + k] > mean[i * forecasts + best]) best = k;
	return best;
}

/*  Keeps the probability of a printed label. Where there is no room, every second one makes some. */
static void scores_keep(scores *s, double own, int right)
{
	if (s->n % s->every) return;
	if (s->own_count == ECE_ROWS) {
		for (ptrdiff_t i = 0; 2 * i < ECE_ROWS; i++) s->own[i] = s->own[2 * i];
		s->own_count /= 2;
		s->every *= 2;
		if (s->n % s->every) return;
	}
	if (s->own_count == s->own_room) {
		s->own_room = smaller(ECE_ROWS, 2 * s->own_room + 256);
		s->own = resize(s->own, (size_t)s->own_room, sizeof *s->own);
	}
	s->own[s->own_count++] = right ? own : -own;
}

/*  Adds n rows; labels Y that are NaN do not count. */
static void scores_add(scores *s, const double *mean, int forecasts, const double *Y, ptrdiff_t n,
		double threshold)
{
	for (ptrdiff_t i = 0; i < n; i++) {
		if (isnan(Y[i])) continue;
		int y = (int)Y[i], label = class_predicted(mean, forecasts, i, s->classes, threshold);
		double own = class_probability(mean, forecasts, i, label);
		for (int k = 0; k < s->classes; k++) {
			double p = class_probability(mean, forecasts, i, k), e = p - (k == y);
			s->squares += e * e;
		}
		int bin = (int)fmin(ECE_BINS - 1, own * ECE_BINS);
		s->bin_rows[bin]++;
		s->bin_right[bin] += label == y;
		s->bin_p[bin] += own;
		scores_keep(s, own, label == y);
		s->logs += log(fmax(class_probability(mean, forecasts, i, y), DBL_MIN));
		s->right += label == y;
		s->confusion[y * s->classes + label]++;
		s->n++;
	}
}

static int by_size(const void *a, const void *b)
{
	double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
	return (x > y) - (x < y);
}

/*  Expected calibration error: the mean distance between the printed label's probability and the
    share of right labels, over ECE_BINS bins of equal count along that probability. Rows that have
    the same one count with their mean, and a row at a border between bins in both, by its parts:
    neither the order of the rows nor their number matters. */
static double scores_ece(const scores *s)
{
	double sum = 0, gap = 0, bin = 0, width = (double)s->own_count / ECE_BINS;
	qsort(s->own, (size_t)s->own_count, sizeof *s->own, by_size);
	for (ptrdiff_t i = 0, next; i < s->own_count; i = next) {
		double right = 0, p = fabs(s->own[i]);
		for (next = i; next < s->own_count && !(fabs(s->own[next]) > p); next++)
			right += !signbit(s->own[next]);
		double rest = (double)(next - i), each = p - right / rest;
		while (rest > 0) {
			double part = fmin(rest, width - bin);
			gap += part * each;
			bin += part;
			rest -= part;
			if (rest > 0 || next == s->own_count) {
				sum += fabs(gap);
				gap = bin = 0;
			}
		}
	}
	return sum / (double)s->own_count;
}

#endif
