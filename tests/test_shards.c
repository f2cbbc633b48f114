/*  Sums over tiles are cut into shards: for any process and any order of shards, the sums have
    the same bits. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"

enum { ROWS = 90, INPUTS = 2, OUTPUTS = 2, BETA = 6, GAMMA = 9, TILE = 8 };

static odvgp_real X[ROWS * INPUTS], Y[ROWS * OUTPUTS];

static odvgp_config settings(
		odvgp_mean_part mean, odvgp_cov_part cov, odvgp_objective objective, ptrdiff_t shards)
{
	odvgp_config c = odvgp_config_defaults(ROWS, INPUTS, OUTPUTS, BETA, GAMMA);
	c.layer[0].mean_part = mean;
	c.layer[0].cov_part = cov;
	c.objective = objective;
	c.optim.natgrad = objective == ODVGP_OBJECTIVE_ELBO && cov != ODVGP_COV_PART_INVERSE &&
					  mean != ODVGP_MEAN_PART_FREE;
	c.tile = TILE;
	c.shards = shards;
	c.isa = test_isa();
	return c;
}

static odvgp_model *create(const odvgp_config *c)
{
	odvgp_model *m = NULL;
	odvgp_info info;
	fill_data(X, Y, ROWS, INPUTS, OUTPUTS);
	CHECK_SAY(odvgp_model_create(&m, c, X, Y, NULL, &info) == ODVGP_OK, "%s", info.text);
	return m;
}

/*  Does the part of an evaluation that precedes the visit of the tiles. */
static void before_the_tiles(odvgp_model *m, gp__wants_list want)
{
	gp__all_columns(m);
	gp__mark_params(m, &want);
	gp__clear_sums(m, &want);
	CHECK(gp__tape_forward(&m->tape, GP__HEAD) == ODVGP_OK);
	gp__tape_zero(&m->tape, GP__HEAD);
	if (m->moments.id) gp__node_zero(m->tape.node[m->moments.id].v, &m->tape.node[m->moments.id]);
	m->tape.again = 0;
}

typedef struct member {
	const char *name;
	odvgp_mean_part mean;
	odvgp_cov_part cov;
	odvgp_objective objective;
} member;
static const member members[] = {
		{"COUPLED", ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_ELBO},
		{"ORTH", ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_ELBO},
		{"DECOUPLED", ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_INVERSE, ODVGP_OBJECTIVE_ELBO},
		{"SOLVE", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_OBJECTIVE_ELBO},
		{"SOLVE, collapsed", ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS,
				ODVGP_OBJECTIVE_COLLAPSED}};
enum { MEMBERS = (int)(sizeof members / sizeof *members) };

/*  Runs each shard by itself, from the last to the first as other processes might, and keeps
    each sum; then adds pairs of neighbours, pairs of these, and so on. The result must equal the
    library's own visit of all shards. */
TEST(shards_run_one_by_one_add_up_to_the_same_bits)
{
	enum { SHARDS = 4 };
	int k;
	for (k = 0; k < MEMBERS; k++) {
		odvgp_config c = settings(members[k].mean, members[k].cov, members[k].objective, SHARDS);
		odvgp_model *m = create(&c);
		gp__wants_list want = {
				1, c.optim.natgrad, 1, c.objective ? GP__GIVES_COLLAPSED : GP__GIVES_BOUND};
		gp__rows rows = gp__rows_plain(X, Y, ROWS);
		int back = c.objective == ODVGP_OBJECTIVE_ELBO, s, width;
		ptrdiff_t n, i;
		odvgp_real *part[SHARDS], *all;
		double expected[SHARDS], whole;
		odvgp_info info;
		gp__total total;
		if (!m) return;
		total = gp__total_of_tiles(m, &rows, back);
		for (i = 0; i < 3; i++) CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
		n = back ? m->tape.all_sums : m->tape.forward_sums;
		all = NEW(odvgp_real, n);
		for (s = SHARDS - 1; s >= 0; s--) {
			before_the_tiles(m, want);
			if (s) gp__total_clear(&total);
			gp__visit_shard(&total, s, &info);
			CHECK(m->tape.sums->status == ODVGP_OK);
			part[s] = NEW(odvgp_real, n);
			memcpy(part[s], m->tape.sum, (size_t)n * sizeof *all);
			expected[s] = m->tape.sums->expected;
		}
		for (width = 1; width < SHARDS; width *= 2)
			for (s = 0; s < SHARDS; s += 2 * width) {
				for (i = 0; i < n; i++) part[s][i] = part[s][i] + part[s + width][i];
				expected[s] = expected[s] + expected[s + width];
			}
		before_the_tiles(m, want);
		CHECK(gp__visit_tiles(m, &rows, back, NULL) == ODVGP_OK);
		memcpy(all, m->tape.sum, (size_t)n * sizeof *all);
		whole = m->tape.sums->expected;
		CHECK_SAY(memcmp(&whole, &expected[0], sizeof whole) == 0, "%s: %.17g, by hand %.17g",
				members[k].name, whole, expected[0]);
		CHECK_SAY(memcmp(all, part[0], (size_t)n * sizeof *all) == 0,
				"%s: sums by hand have other bits", members[k].name);
		for (s = 0; s < SHARDS; s++) free(part[s]);
		free(all);
		odvgp_model_free(m);
	}
}

/*  The number of shards changes only rounding. If there are more shards than tiles, some are
    empty. The check of a natural step of gamma, which waits in the memory of the sums, is
    unaffected. */
TEST(shards_change_rounding_only)
{
	static const ptrdiff_t counts[] = {2, 8, 64};
	int k, i, step;
	for (k = 0; k < MEMBERS; k++)
		for (i = 0; i < 3; i++) {
			odvgp_config c = settings(members[k].mean, members[k].cov, members[k].objective, 1),
						 d = c;
			odvgp_model *one, *several;
			d.shards = counts[i];
			if (members[k].mean == ODVGP_MEAN_PART_ORTH)
				c.optim.gamma_step = d.optim.gamma_step = ODVGP_GAMMA_STEP_EXACT;
			one = create(&c), several = create(&d);
			if (!one || !several) return;
			for (step = 0; step < 3; step++) {
				odvgp_report a, b;
				CHECK(odvgp_step(one, X, Y, &a, NULL) == ODVGP_OK &&
						odvgp_step(several, X, Y, &b, NULL) == ODVGP_OK);
				CHECK_SAY(fabs((double)(a.elbo - b.elbo)) <=
								  BY_PRECISION(1e-9, 2e-3) * fabs((double)a.elbo) +
										  BY_PRECISION(1e-9, 1e-2),
						"%s, %ld shards, step %d: %.12g and %.12g", members[k].name,
						(long)counts[i], step, (double)a.elbo, (double)b.elbo);
			}
			odvgp_model_free(one), odvgp_model_free(several);
		}
}

/*  The error of the first bad row is reported, whichever shard has it. */
TEST(the_first_bad_row_is_told)
{
	odvgp_config c = settings(ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_ELBO, 4);
	odvgp_model *m = create(&c);
	odvgp_info info;
	odvgp_real elbo;
	if (!m) return;
	X[INPUTS * 70] = X[INPUTS * 40] = (odvgp_real)NAN;
	CHECK(odvgp_elbo(m, X, Y, ROWS, &elbo, NULL, NULL, &info) == ODVGP_E_NAN && info.row == 40);
	odvgp_model_free(m);
}

/*  Variances that rounding made negative are counted up to the first bad row, whatever number of
    shards holds the rows before it: inducing points coincide with rows of the first tile, and
    there is no jitter. */
TEST(what_was_counted_before_an_error_stays)
{
	static const ptrdiff_t counts[] = {1, 2, 8, 16};
	uint64_t clamped[4];
	int i;
	for (i = 0; i < 4; i++) {
		odvgp_config c = settings(
				ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_ELBO, counts[i]);
		odvgp_model *m;
		odvgp_info info;
		odvgp_real elbo;
		c.layer[0].kernel = "matern12(1.3, variance=0.9)";
		c.jitter.absolute = c.jitter.relative = 0;
		m = create(&c);
		if (!m) return;
		CHECK(odvgp_set(m, "Z_beta", X, BETA * INPUTS, NULL) == ODVGP_OK);
		X[INPUTS * 85] = (odvgp_real)NAN;
		clamped[i] = odvgp_model_events(m).variance_clamped;
		CHECK(odvgp_elbo(m, X, Y, ROWS, &elbo, NULL, NULL, &info) == ODVGP_E_NAN && info.row == 85);
		clamped[i] = odvgp_model_events(m).variance_clamped - clamped[i];
		CHECK_SAY(clamped[i] > 0 && clamped[i] == clamped[0],
				"%ld shards: %ld variances, in one %ld", (long)counts[i], (long)clamped[i],
				(long)clamped[0]);
		CHECK(m->tape.sums->status == ODVGP_E_NAN && m->tape.sums->row == 85);
		odvgp_model_free(m);
	}
}

/*  Other processes run the shards, with errors in two of them: on the way up the tree, the first
    error by row stays, with the counts up to it. */
TEST(the_first_error_goes_up_the_tree)
{
	enum { SHARDS = 4 };
	odvgp_config c =
			settings(ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_ELBO, SHARDS);
	odvgp_model *m = create(&c);
	gp__rows rows = gp__rows_plain(X, Y, ROWS);
	gp__wants_list want = {1, 1, 1, GP__GIVES_BOUND};
	gp__total total;
	odvgp_info info;
	unsigned char *piece[SHARDS];
	int s;
	if (!m) return;
	total = gp__total_of_tiles(m, &rows, 1);
	/* Among 12 tiles these rows belong to shards 2 and 1. */
	X[INPUTS * 70] = Y[OUTPUTS * 40] = (odvgp_real)NAN;
	for (s = 0; s < SHARDS; s++) {
		before_the_tiles(m, want);
		if (s) gp__total_clear(&total);
		gp__visit_shard(&total, s, &info);
		CHECK((m->tape.sums->status != ODVGP_OK) == (s == 1 || s == 2));
		m->tape.sums->row = info.row;
		m->tape.sums->clamped = (uint64_t)1 << s;
		piece[s] = NEW(unsigned char, total.bytes);
		memcpy(piece[s], m->tape.sums, total.bytes);
	}
	/* Begin with the last shard, then combine from right to left, as a tree of two levels does. */
	CHECK(m->tape.sums->status == ODVGP_OK);
	gp__sums_add(&total, piece[2], 1);
	CHECK(m->tape.sums->status == ODVGP_E_NAN && m->tape.sums->row == 70);
	gp__sums_add(&total, piece[1], 1);
	gp__sums_add(&total, piece[0], 1);
	CHECK(m->tape.sums->status == ODVGP_E_NAN && m->tape.sums->row == 40 &&
			m->tape.sums->clamped == 3);
	/* As a rank's partner adds them: what comes may lie before or behind. */
	memcpy(m->tape.sums, piece[0], total.bytes);
	gp__sums_add(&total, piece[1], 0);
	gp__sums_add(&total, piece[2], 0);
	CHECK(m->tape.sums->status == ODVGP_E_NAN && m->tape.sums->row == 40 &&
			m->tape.sums->clamped == 3);
	for (s = 0; s < SHARDS; s++) free(piece[s]);
	odvgp_model_free(m);
}

TEST(a_number_of_shards_is_a_power_of_two)
{
	static const ptrdiff_t bad[] = {0, -1, 3, 6, 12, (ptrdiff_t)1 << 20};
	size_t i, bytes;
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		odvgp_config c =
				settings(ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, ODVGP_OBJECTIVE_ELBO, bad[i]);
		odvgp_info info;
		CHECK(sized(&bytes, odvgp_model_size(&c, &info), &info) == ODVGP_E_ARG &&
				!strcmp(info.what, "shards"));
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(shards_run_one_by_one_add_up_to_the_same_bits);
	RUN(shards_change_rounding_only);
	RUN(the_first_bad_row_is_told);
	RUN(what_was_counted_before_an_error_stays);
	RUN(the_first_error_goes_up_the_tree);
	RUN(a_number_of_shards_is_a_power_of_two);
	return test_end();
}
