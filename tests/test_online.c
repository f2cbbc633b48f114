/*  Learning online: against the optimum on all rows, for every member that can learn so. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "members.h"

enum { ROWS = 40, FIRST = 15, OUTPUTS = 2, MOST = OUTPUTS * ROWS };

/*  What learns, with its memory. */
typedef struct learner {
	odvgp_online o;
	void *block, *scratch;
	size_t bytes; /* of scratch */
} learner;

static learner learn_from(const odvgp_server *s)
{
	learner l;
	odvgp_info info = no_info();
	size_t bytes = odvgp_online_size(s, &info);
	if (!CHECK_SAY(bytes > 0, "size: %s", info.text)) exit(3);
	l.block = test_alloc(bytes);
	l.bytes = odvgp_online_scratch(s, NULL);
	l.scratch = test_alloc(l.bytes);
	CHECK_SAY(odvgp_online_start(&l.o, s, l.block, bytes, l.scratch, l.bytes, &info) == ODVGP_OK,
			"start: %s", info.text);
	return l;
}
static void learn(learner *l, const odvgp_real *X, const odvgp_real *Y, ptrdiff_t n, double lambda)
{
	odvgp_info info = no_info();
	CHECK_SAY(odvgp_online_update(&l->o, X, Y, n, (odvgp_real)lambda, l->scratch, l->bytes,
					  &info) == ODVGP_OK,
			"update: %s", info.text);
}
static void forget(learner *l) { free(l->block), free(l->scratch); }

/*  The largest differences of two servers' moments at n rows: of means in standard deviations, of
    standard deviations relative to them. */
typedef struct difference_of {
	double mean, sd;
} difference_of;
static difference_of compare(
		const odvgp_server *a, const odvgp_server *b, const odvgp_real *X, ptrdiff_t n)
{
	difference_of d = {0, 0};
	odvgp_real mean[2][MOST], var[2][MOST];
	const odvgp_server *s[2] = {a, b};
	for (int k = 0; k < 2; k++) {
		size_t bytes = odvgp_predict_scratch(s[k], n, NULL);
		void *scratch = test_alloc(bytes);
		CHECK_STATUS(odvgp_predict(s[k], X, n, mean[k], var[k], scratch, bytes, NULL), ODVGP_OK);
		free(scratch);
	}
	for (ptrdiff_t i = 0; i < a->F * n; i++) {
		double sd[2] = {sqrt((double)var[0][i]), sqrt((double)var[1][i])};
		d.mean = fmax(d.mean, fabs((double)(mean[0][i] - mean[1][i])) / sd[1]);
		d.sd = fmax(d.sd, fabs(sd[0] / sd[1] - 1));
	}
	return d;
}

static void fit_q(fixture *a)
{
	odvgp_info info = no_info();
	size_t bytes = odvgp_fit_q_scratch(a->m, NULL);
	void *scratch = test_alloc(bytes);
	CHECK_SAY(odvgp_fit_q(a->m, a->X, a->Y, NULL, scratch, bytes, &info) == ODVGP_OK, "fit_q: %s",
			info.text);
	free(scratch);
}
static void q_is_prior(fixture *a)
{
	static const char *const names[] = {"q_mu", "v_mu", "q_sqrt", "v_sqrt"};
	for (int k = 0; k < 4; k++) {
		const odvgp_slot *s = slot(a, names[k]);
		if (!s) continue;
		odvgp_real *v = values(a, names[k]);
		for (ptrdiff_t i = 0; i < s->count; i++)
			v[i] = (odvgp_real)(s->dims == 3 && i / s->shape[2] % s->shape[1] == i % s->shape[2]);
		assign(a, names[k], v);
		free(v);
	}
}

/*  Two models of a pair with the same slots, for the first rows and for all of them. Coefficients
    at gamma stay. */
static void make_two(int mean, int cov, fixture *first, fixture *all)
{
	odvgp_config c = pair_config(mean, cov, ROWS, OUTPUTS, 6, 4);
	test_seed = 900 + (uint64_t)(mean * COVS + cov);
	c.layer[0].mean_function = ODVGP_MEAN_FUNCTION_LINEAR;
	*all = make_pair(mean, cov, &c, "matern52 + periodic * rbf + linear");
	c.N = FIRST;
	test_seed = 900;
	*first = make_pair(mean, cov, &c, "matern52 + periodic * rbf + linear");
	copy_slots(first, all, NULL);
	memcpy(first->X, all->X, FIRST * 2 * sizeof *all->X);
	memcpy(first->Y, all->Y, FIRST * OUTPUTS * sizeof *all->Y);
	if (slot(all, "a_gamma")) {
		CHECK_STATUS(odvgp_set_trainable(all->m, "a_gamma", 0, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_set_trainable(first->m, "a_gamma", 0, NULL), ODVGP_OK);
	}
}

TEST(rows_are_learned_as_the_batch)
{
	int mean, cov;
	EACH_PAIR(mean, cov)
	{
		if (cov != ODVGP_COV_PART_DENSE || mean == FREE || mean == TIED || mean == BLOCKS) continue;
		fixture first, all;
		make_two(mean, cov, &first, &all);
		fit_q(&first), fit_q(&all);
		served batch = serve_rows(&all, NULL, ROWS), start = serve_rows(&first, NULL, ROWS);
		learner l = learn_from(&start.s);
		difference_of d = compare(&l.o.server, &start.s, all.X, ROWS);
		CHECK_SAY(d.mean < BY_PRECISION(1e-9, 1e-3) && d.sd < BY_PRECISION(1e-9, 1e-3),
				"%s: start: mean %.2g, sd %.2g", mean_name[mean], d.mean, d.sd);
		learn(&l, all.X + FIRST * 2, all.Y + FIRST * OUTPUTS, ROWS - FIRST, 1);
		d = compare(&l.o.server, &batch.s, all.X, ROWS);
		CHECK_SAY(d.mean < BY_PRECISION(1e-9, 1e-3) && d.sd < BY_PRECISION(1e-9, 1e-3),
				"%s: mean %.2g, sd %.2g", mean_name[mean], d.mean, d.sd);
		CHECK_INT(l.o.rows, ROWS - FIRST);
		CHECK_INT(l.o.lost + l.o.negative, 0);
		forget(&l);
		if (mean == BETA || mean == ORTH) { /* from the prior, row by row */
			unserve(&start);
			q_is_prior(&first);
			start = serve_rows(&first, NULL, ROWS);
			l = learn_from(&start.s);
			for (ptrdiff_t i = 0; i < ROWS; i++)
				learn(&l, all.X + i * 2, all.Y + i * OUTPUTS, 1, 1);
			d = compare(&l.o.server, &batch.s, all.X, ROWS);
			CHECK_SAY(d.mean < BY_PRECISION(1e-9, 1e-3) && d.sd < BY_PRECISION(1e-9, 1e-3),
					"%s, all rows: mean %.2g, sd %.2g", mean_name[mean], d.mean, d.sd);
			forget(&l);
		}
		unserve(&batch), unserve(&start);
		drop(&first), drop(&all);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(rows_are_learned_as_the_batch);
	return test_end();
}
