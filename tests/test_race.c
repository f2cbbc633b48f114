/*  The race of examples/tool/race.h: going on gives the bits of a training that never stopped, it adds
    no more operations than it may, folds leave out what they score, the costlier entry has to be
    clearly better, what fails is out, and a model of more rows goes on from the winner's parameters
    and step sizes. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"

/*  Memory of the race: bytes held, the most at a time, and how many there are. */
typedef union heap_head {
	size_t bytes;
	double align[8];
} heap_head;
static size_t heap_used, heap_most, heap_limit = SIZE_MAX;

static void *heap_take(size_t bytes)
{
	if (heap_used > heap_limit || bytes > heap_limit - heap_used) return NULL;
	heap_head *h = (heap_head *)malloc(sizeof *h + bytes);
	if (!h) return NULL;
	h->bytes = bytes;
	heap_used += bytes;
	if (heap_used > heap_most) heap_most = heap_used;
	return h + 1;
}

static void heap_free(void *at)
{
	if (!at) return;
	heap_head *h = (heap_head *)at - 1;
	heap_used -= h->bytes;
	free(h);
}

#define malloc(n) heap_take(n)
#define free(at)  heap_free(at)
#include "race.h"
#undef malloc
#undef free

enum { N = 240, VALID = 60, ALL = N + VALID, D = 2, STEPS = 40, ENTRIES = 4 };

typedef struct world {
	odvgp_real X[ALL * D], Y[ALL];
	race_entry list[ENTRIES];
	odvgp_warm warm;
	race r;
} world;

/*  y = sin(3 a) + b^2 / 4 and noise: two minibatch members, SGPR by L-BFGS, which takes the first
    one's hyperparameters, and a kernel that cannot learn it. */
static void world_make(world *w)
{
	static const odvgp_warm warm = {100, 0, 5, 0};
	memset(w, 0, sizeof *w);
	test_seed = 3;
	for (int i = 0; i < ALL; i++) {
		double a = test_between(-1, 1), b = test_between(-2, 2);
		w->X[i * D] = (odvgp_real)a;
		w->X[i * D + 1] = (odvgp_real)b;
		w->Y[i] = (odvgp_real)(sin(3 * a) + b * b / 4 + 0.05 * test_between(-1, 1));
	}
	w->warm = warm;
	for (int k = 0; k < ENTRIES; k++) {
		race_entry *e = &w->list[k];
		odvgp_config c = odvgp_config_defaults(N, D, 1, 12 + 4 * k, k == 1 ? 20 : 0);
		c.optim.batch = 50;
		c.optim.lr = odvgp_falling((odvgp_real)0.02, (odvgp_real)0.002, STEPS);
		c.optim.natgrad_step = odvgp_falling((odvgp_real)0.2, (odvgp_real)0.05, STEPS);
		if (k == 2) {
			c.objective = ODVGP_OBJECTIVE_COLLAPSED;
			c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
			c.optim.natgrad = 0;
			c.optim.batch = N;
		}
		if (k == 3) c.layer[0].kernel = "constant(1)";
		e->name = "entry";
		e->config = c;
		e->from = k == 2 ? 0 : -1;
		e->warm = &w->warm;
		e->warm_count = k == 0;
		e->fit_q = k == 2;
		e->steps = STEPS;
		e->start_flops = 2;
		e->step_flops = k == 2 ? 2 : 1;
		e->score_flops = 0.25;
	}
	w->r.X = w->X;
	w->r.Y = w->Y;
	w->r.X_valid = w->X + N * D;
	w->r.Y_valid = w->Y + N;
	w->r.valid = VALID;
	w->r.list = w->list;
	w->r.count = ENTRIES;
	w->r.share = 1.0 / 2;
}

/*  The same for what does not depend on the number of steps: the short form takes few. */
static void world_of_any_steps(world *w)
{
	world_make(w);
	for (int k = 0; k < ENTRIES; k++) w->list[k].steps = test_size(STEPS, STEPS / 5);
}

/*  Are all slots of both models the same, bit for bit? */
static int same_slots(const odvgp_model *a, const odvgp_model *b)
{
	int same = odvgp_slot_count(a) == odvgp_slot_count(b);
	for (int i = 0; i < odvgp_slot_count(a) && same; i++) {
		const odvgp_slot *s = odvgp_slot_at(a, i);
		odvgp_real *x = NEW(odvgp_real, s->count), *y = NEW(odvgp_real, s->count);
		CHECK_STATUS(odvgp_get(a, s->name, x, s->count, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_get(b, s->name, y, s->count, NULL), ODVGP_OK);
		same = memcmp(x, y, (size_t)s->count * sizeof *x) == 0;
		free(x);
		free(y);
	}
	return same;
}

TEST(going_on_gives_the_bits_of_never_having_stopped)
{
	world *w = NEW(world, 1), *once = NEW(world, 1);
	world_make(w);
	world_make(once);
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	CHECK_INT(w->r.rounds, 2);
	CHECK(w->r.winner != 3);
	CHECK_STATUS(race_wake(&w->r, &w->list[w->r.winner]), ODVGP_OK);
	CHECK(w->list[w->r.winner].model != NULL && w->list[w->r.winner].rounds == 2);
	for (int k = 0; k < ENTRIES; k++) {
		race_entry *e = &once->list[k];
		e->info.status = ODVGP_OK;
		CHECK_STATUS(race_start(&once->r, e), ODVGP_OK);
	}
	for (int k = 0; k < ENTRIES; k++) {
		race_entry *e = &once->list[k], *raced = &w->list[k];
		CHECK(raced->rounds >= 1 && raced->done >= 1);
		CHECK_STATUS(odvgp_fit(e->model, w->X, w->Y, raced->done, NULL, NULL), ODVGP_OK);
		CHECK_STATUS(race_score(&once->r, e), ODVGP_OK);
		CHECK_STATUS(race_wake(&once->r, e), ODVGP_OK);
		CHECK(memcmp(e->logp, raced->logp, VALID * sizeof *e->logp) == 0);
		if (k == w->r.winner) CHECK(same_slots(e->model, raced->model));
		else CHECK(raced->model == NULL);
	}
	race_free(&w->r);
	race_free(&once->r);
	free(w);
	free(once);
}

/*  Of each entry, with a score in between: Adam with natural steps, gamma, L-BFGS. */
TEST(a_pause_and_a_score_change_no_bit)
{
	world *w = NEW(world, 1), *once = NEW(world, 1);
	world_make(w);
	world_make(once);
	for (int k = 0; k < 3; k++) {
		race_entry *a = &w->list[k], *b = &once->list[k];
		CHECK_STATUS(race_start(&w->r, a), ODVGP_OK);
		CHECK_STATUS(race_start(&once->r, b), ODVGP_OK);
		CHECK_STATUS(race_train(&w->r, a, 3 * a->step_flops), ODVGP_OK);
		CHECK_STATUS(race_score(&w->r, a), ODVGP_OK);
		CHECK(a->file && !a->model);
		CHECK_STATUS(race_train(&w->r, a, 5 * a->step_flops), ODVGP_OK);
		CHECK_STATUS(race_train(&once->r, b, 8 * b->step_flops), ODVGP_OK);
		CHECK_INT(a->done, 8);
		CHECK_INT(b->done, 8);
		/* a score has left q in SGPR's model, and no step takes it */
		if (k == 2) CHECK_STATUS(race_fit_q(&w->r, a, a->model, w->X, w->Y), ODVGP_OK);
		if (k == 2) CHECK_STATUS(race_fit_q(&once->r, b, b->model, w->X, w->Y), ODVGP_OK);
		CHECK(same_slots(a->model, b->model));
	}
	race_free(&w->r);
	race_free(&once->r);
	free(w);
	free(once);
}

TEST(it_adds_no_more_than_its_share)
{
	for (int k = 0; k < 8; k++) {
		world *w = NEW(world, 1);
		world_make(w);
		w->r.share = 0.15 + 0.05 * k;
		for (int i = 0; i < ENTRIES; i++) w->list[i].step_flops = 1 + 0.3 * ((i * 7 + k) % 5);
		CHECK_STATUS(race_run(&w->r), ODVGP_OK);
		double whole = race_total(&w->r, &w->list[w->r.winner]) + w->r.added;
		CHECK_SAY(w->r.added <= w->r.share * whole * (1 + 1e-12), "%g of %g", w->r.added, whole);
		race_free(&w->r);
		free(w);
	}
}

/*  race.most, where it is above the share, which has no room for any entry here. */
TEST(it_adds_no_more_than_it_may_anyway)
{
	for (int k = 1; k < 3; k++) {
		world *w = NEW(world, 1);
		world_make(w);
		w->r.share = 1e-3;
		w->r.most = 15 * k;
		CHECK_STATUS(race_run(&w->r), ODVGP_OK);
		CHECK_INT(w->r.rounds, 2);
		CHECK_SAY(w->r.added <= w->r.most, "%g of %g", w->r.added, w->r.most);
		CHECK_SAY(w->r.added >= w->r.most / 2, "%g of %g", w->r.added, w->r.most);
		race_free(&w->r);
		free(w);
	}
}

TEST(entries_without_room_are_left_out)
{
	world *w = NEW(world, 1);
	world_make(w);
	w->list[1].step_flops = 1e3;
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	CHECK_INT(w->list[1].rounds, 0);
	CHECK(w->list[2].rounds >= 1 && w->list[3].rounds >= 1);
	race_free(&w->r);
	/* fewer race, and each does what it has to before its first score */
	world_make(w);
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	ptrdiff_t before = w->list[1].done;
	int racing = 0, raced = 0;
	for (int i = 0; i < ENTRIES; i++) racing += w->list[i].rounds > 0;
	race_free(&w->r);
	world_make(w);
	for (int i = 0; i < ENTRIES; i++) w->list[i].least = before + 1;
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	for (int i = 0; i < ENTRIES; i++) {
		raced += w->list[i].rounds > 0;
		CHECK(!w->list[i].rounds || w->list[i].done > before);
	}
	CHECK_SAY(raced >= 2 && raced < racing, "%d of %d", raced, racing);
	race_free(&w->r);
	world_make(w);
	w->r.share = 1e-3;
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	CHECK_INT(w->r.winner, 0);
	CHECK(w->list[0].model == NULL && !(w->r.added > 0));
	race_free(&w->r);
	free(w);
}

/*  Without room for a step those that may race by what their starts give; each is scored once. */
TEST(entries_may_race_without_a_step)
{
	for (int no_step = 0; no_step < 2; no_step++) {
		world *w = NEW(world, 1);
		world_make(w);
		w->r.share = 1e-3;
		w->r.most = 9;
		for (int i = 0; i < ENTRIES; i++) {
			w->list[i].no_step = no_step;
			w->list[i].step_flops = 100;
		}
		CHECK_STATUS(race_run(&w->r), ODVGP_OK);
		double spent = 0;
		for (int i = 0; i < ENTRIES; i++) {
			const race_entry *e = &w->list[i];
			CHECK_INT(e->rounds > 0, no_step);
			CHECK_INT(e->done, 0);
			if (no_step) CHECK_NEAR(e->flops, e->start_flops + e->score_flops, 1e-12);
			spent += e->flops;
		}
		const race_entry *winner = &w->list[w->r.winner];
		if (no_step) {
			CHECK_INT(w->r.rounds, 2);
			CHECK(isfinite(winner->mean) && (winner->model || winner->file));
			double own = winner->start_flops + (winner->from < 0 ? 0 : w->list[0].start_flops);
			CHECK_NEAR(w->r.added, spent - own, 1e-12);
			CHECK_STATUS(race_wake(&w->r, &w->list[w->r.winner]), ODVGP_OK);
			CHECK_INT(odvgp_steps_done(winner->model), 0);
		}
		race_free(&w->r);
		free(w);
	}
}

/*  Beyond the most steps of an entry it races with what it has, which is scored once. */
TEST(an_entry_may_race_with_few_steps)
{
	world *w = NEW(world, 1);
	world_make(w);
	w->list[0].most = 2;
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	const race_entry *e = &w->list[0];
	CHECK_INT(e->done, 2);
	CHECK(e->rounds > 0 && isfinite(e->mean));
	CHECK_NEAR(e->flops, e->start_flops + 2 * e->step_flops + e->score_flops, 1e-12);
	for (int i = 1; i < ENTRIES; i++) CHECK(w->list[i].done > 2);
	race_free(&w->r);
	free(w);
}

/*  SGPR, then minibatches: with its points, hyperparameters and q's optimum the bound is SGPR's, and
    with further points no less. */
TEST(the_bound_does_not_fall_where_minibatches_follow_SGPR)
{
	static const int members[3] = {0, ODVGP_MEAN_PART_ORTH, ODVGP_MEAN_PART_BLOCKS};
	for (int k = 0; k < 3; k++) {
		world *w = NEW(world, 1);
		odvgp_real collapsed, bound, kl;
		world_make(w);
		race_entry *sgpr = &w->list[0], *e = &w->list[1];
		sgpr->config = w->list[2].config;
		sgpr->config.layer[0].M = 12;
		e->config = odvgp_config_defaults(N, D, 1, 12, k ? 20 : 0);
		if (k == 2) {
			e->config.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS;
			e->config.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
		}
		if (k) CHECK_INT(e->config.layer[0].mean_part, members[k]);
		e->config.optim.batch = 50;
		e->from = 0;
		e->fit_q = 1;
		CHECK_STATUS(race_start(&w->r, sgpr), ODVGP_OK);
		CHECK_STATUS(race_train(&w->r, sgpr, 20 * sgpr->step_flops), ODVGP_OK);
		/* not those of its start */
		race_drop(sgpr->start);
		CHECK_STATUS(race_take(&sgpr->start, sgpr->model, 0, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_elbo(sgpr->model, w->X, w->Y, N, &collapsed, &kl, NULL, NULL), ODVGP_OK);
		CHECK_STATUS(race_start(&w->r, e), ODVGP_OK);
		CHECK_STATUS(odvgp_elbo(e->model, w->X, w->Y, N, &bound, &kl, NULL, NULL), ODVGP_OK);
		CHECK_SAY(bound >= collapsed - 1e6 * EPS * (1 + fabs(collapsed)), "member %d: %g after %g",
				k, bound, collapsed);
		if (!k) CHECK_SAY(bound <= collapsed + 1e6 * EPS * (1 + fabs(collapsed)), "%g", bound);
		/* and steps go on from there */
		CHECK_STATUS(race_train(&w->r, e, 10 * e->step_flops), ODVGP_OK);
		CHECK_STATUS(race_fit_q(&w->r, e, e->model, w->X, w->Y), ODVGP_OK);
		CHECK_STATUS(odvgp_elbo(e->model, w->X, w->Y, N, &bound, &kl, NULL, NULL), ODVGP_OK);
		CHECK_SAY(bound >= collapsed - 0.02 * N, "member %d: %g after %g", k, bound, collapsed);
		race_free(&w->r);
		free(w);
	}
}

/*  From its second score on, what `user` points at has a row without a density. */
static const char *judge_spoils(void *user, const race *r, race_entry *e)
{
	(void)r;
	if (e == (race_entry *)user && e->rounds) e->logp[0] = (odvgp_real)NAN;
	return NULL;
}

/*  Not on what an earlier score has said of it. */
TEST(an_entry_whose_last_score_is_no_number_cannot_win)
{
	world *w = NEW(world, 1);
	world_make(w);
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	int winner = w->r.winner;
	CHECK_INT(w->list[winner].rounds, 2);
	race_free(&w->r);
	world_make(w);
	w->r.judge = judge_spoils;
	w->r.user = &w->list[winner];
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	CHECK_INT(w->list[winner].rounds, 2);
	CHECK(w->list[winner].mean <= -HUGE_VAL);
	CHECK(w->r.winner != winner && isfinite(w->list[w->r.winner].mean));
	CHECK(isfinite(w->r.gain) && isfinite(w->r.error));
	race_free(&w->r);
	free(w);
}

/*  Columns of an entry's own. */
TEST(an_entry_may_have_rows_of_its_own)
{
	world *w = NEW(world, 1), *other = NEW(world, 1);
	world_make(w);
	world_make(other);
	for (int i = 0; i < ALL * D; i++) other->X[i] = (odvgp_real)(i % D ? 1 : -1) * w->X[i];
	race_entry *a = &w->list[0], *b = &other->list[0];
	a->X = other->X;
	a->X_valid = other->X + N * D;
	for (int k = 0; k < 2; k++) {
		world *of = k ? other : w;
		CHECK_STATUS(race_start(&of->r, &of->list[0]), ODVGP_OK);
		CHECK_STATUS(race_train(&of->r, &of->list[0], 5), ODVGP_OK);
		CHECK_STATUS(race_score(&of->r, &of->list[0]), ODVGP_OK);
	}
	CHECK_STATUS(race_wake(&w->r, a), ODVGP_OK);
	CHECK_STATUS(race_wake(&other->r, b), ODVGP_OK);
	CHECK(same_slots(a->model, b->model));
	CHECK(memcmp(a->logp, b->logp, VALID * sizeof *a->logp) == 0);
	race_free(&w->r);
	race_free(&other->r);
	free(w);
	free(other);
}

static odvgp_status bounds_of_new(void *user, odvgp_model *model, int of_file, odvgp_info *info)
{
	++*(int *)user;
	return of_file ? ODVGP_OK : odvgp_set_bounds(model, "df", (odvgp_real)2.1, HUGE_VAL, info);
}

/*  Setting them again would empty Adam's moments. */
TEST(bounds_are_set_once)
{
	world *w = NEW(world, 1), *once = NEW(world, 1), *both[2] = {w, once};
	int made[2] = {0, 0};
	for (int k = 0; k < 2; k++) {
		race_entry *e = &both[k]->list[0];
		world_make(both[k]);
		e->config.lik.kind = ODVGP_LIKELIHOOD_STUDENTT;
		both[k]->r.made = bounds_of_new;
		both[k]->r.user = &made[k];
		CHECK_STATUS(race_start(&both[k]->r, e), ODVGP_OK);
		CHECK_STATUS(race_train(&both[k]->r, e, k ? 8 : 3), ODVGP_OK);
		if (k) continue;
		CHECK_STATUS(race_score(&w->r, e), ODVGP_OK);
		CHECK(e->file && !e->model);
		CHECK_STATUS(race_train(&w->r, e, 5), ODVGP_OK);
	}
	CHECK(made[0] == 2 && made[1] == 1);
	CHECK(same_slots(w->list[0].model, once->list[0].model));
	race_free(&w->r);
	race_free(&once->r);
	free(w);
	free(once);
}

/*  Two lengthscales, variance and noise; what is fixed costs nothing, nor do rows held out. */
TEST(hyperparameters_cost_scores_by_folds)
{
	world *w = NEW(world, 1);
	world_make(w);
	race_entry *e = &w->list[2];
	e->config.layer[0].kernel = "matern52(ard)";
	e->from = -1;
	CHECK_STATUS(race_start(&w->r, e), ODVGP_OK);
	CHECK_NEAR(race_penalty(&w->r, e->model), 0, 0);
	w->r.valid = N;
	w->r.folds = 5;
	CHECK_NEAR(race_penalty(&w->r, e->model), 4.0 / N, 1e-12);
	CHECK_STATUS(odvgp_set_trainable(e->model, "noise_variance", 0, NULL), ODVGP_OK);
	CHECK_NEAR(race_penalty(&w->r, e->model), 3.0 / N, 1e-12);
	race_free(&w->r);
	free(w);
}

/*  Folds of one row each and an exact model: log N(y_i; y_i - a_i / C_ii, 1 / C_ii) with C = inverse of
    K + noise and a = C y. */
TEST(folds_of_one_row_leave_one_out)
{
	enum { FEW = 14 };
	static const double noise = 0.05, variance = 1.3, lengthscale = 0.7;
	world *w = NEW(world, 1);
	double C[FEW][2 * FEW] = {{0}}, sum = 0;
	int fold[FEW];
	world_make(w);
	race_entry *e = &w->list[0];
	e->config = odvgp_config_defaults(FEW, D, 1, FEW, 0);
	e->config.layer[0].mean_part = ODVGP_MEAN_PART_FREE;
	e->config.layer[0].cov_part = ODVGP_COV_PART_DIAGONAL;
	e->config.objective = ODVGP_OBJECTIVE_EXACT;
	e->config.optim.batch = FEW;
	e->config.optim.kind = ODVGP_OPTIMIZER_LBFGS;
	e->config.optim.natgrad = 0;
	e->config.lik.noise_variance = (odvgp_real)noise;
	e->config.layer[0].kernel = "rbf(0.7, variance=1.3)";
	e->warm_count = 0;
	e->fit_q = 1;
	w->r.valid = w->r.folds = FEW;
	w->r.fold = fold;
	for (int i = 0; i < FEW; i++) {
		fold[i] = (5 * i + 3) % FEW;
		for (int k = 0; k < FEW; k++) {
			double a = (double)w->X[i * D] - (double)w->X[k * D],
				   b = (double)w->X[i * D + 1] - (double)w->X[k * D + 1];
			C[i][k] = variance * exp(-(a * a + b * b) / (2 * lengthscale * lengthscale)) +
					  (i == k ? noise : 0);
		}
		C[i][FEW + i] = 1;
	}
	for (int i = 0; i < FEW; i++) {
		double pivot = C[i][i];
		for (int k = 0; k < 2 * FEW; k++) C[i][k] /= pivot;
		for (int j = 0; j < FEW; j++) {
			double factor = C[j][i];
			for (int k = 0; k < 2 * FEW && j != i; k++) C[j][k] -= factor * C[i][k];
		}
	}
	CHECK_STATUS(race_start(&w->r, e), ODVGP_OK);
	CHECK_STATUS(race_score(&w->r, e), ODVGP_OK);
	for (int i = 0; i < FEW; i++) {
		double a = 0, c = C[i][FEW + i];
		for (int k = 0; k < FEW; k++) a += C[i][FEW + k] * (double)w->Y[k];
		/* and a nat for lengthscale, variance and noise each */
		double logp = -0.5 * log(6.283185307179586 / c) - 0.5 * a * a / c - 3.0 / FEW;
		CHECK_SAY(fabs((double)e->logp[i] - logp) <= 1e5 * EPS * (1 + fabs(logp)),
				"row %d: %g, not %g", i, (double)e->logp[i], logp);
		sum += logp / FEW;
	}
	CHECK_NEAR(e->mean, sum, 1e5 * EPS * (1 + fabs(sum)));
	race_free(&w->r);
	free(w);
}

/*  SGPR and minibatches with gamma: a score by folds changes no bit, and the race keeps its share. */
/*  Whatever score it would get would be of no rows. */
TEST(a_fold_of_all_rows_fails)
{
	world *w = NEW(world, 1);
	int fold[N];
	world_make(w);
	for (int i = 0; i < N; i++) fold[i] = 3;
	w->r.valid = N;
	w->r.folds = 5;
	w->r.fold = fold;
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	for (int i = 0; i < 2; i++) {
		CHECK_STATUS(w->list[i].info.status, ODVGP_E_ARG);
		CHECK(w->list[i].mean <= -HUGE_VAL);
	}
	race_free(&w->r);
	fold[7] = 1; /* and of one row, others being empty, has a score */
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	CHECK_STATUS(w->list[w->r.winner].info.status, ODVGP_OK);
	CHECK(isfinite(w->list[w->r.winner].mean));
	race_free(&w->r);
	free(w);
}

TEST(folds_score_without_a_trace)
{
	world *w = NEW(world, 1), *once = NEW(world, 1);
	int fold[N];
	world *both[2] = {w, once};
	for (int i = 0; i < N; i++) fold[i] = (i * 7) % 5;
	for (int k = 0; k < 2; k++) {
		world_make(both[k]);
		both[k]->r.valid = N;
		both[k]->r.folds = 5;
		both[k]->r.fold = fold;
		for (int i = 0; i < ENTRIES; i++) both[k]->list[i].fit_q = 1;
	}
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	race_entry *won = &w->list[w->r.winner], *same = &once->list[w->r.winner];
	double whole = race_total(&w->r, won) + w->r.added;
	CHECK_STATUS(race_wake(&w->r, won), ODVGP_OK);
	double mean = won->mean + race_penalty(&w->r, won->model);
	CHECK(w->r.winner != 3 && won->model && won->rounds == 2);
	CHECK(w->r.added <= w->r.share * whole * (1 + 1e-12));
	CHECK(won->mean > w->list[3].mean + 0.1);
	if (same->from >= 0) CHECK_STATUS(race_start(&once->r, &once->list[same->from]), ODVGP_OK);
	CHECK_STATUS(race_start(&once->r, same), ODVGP_OK);
	CHECK_STATUS(odvgp_fit(same->model, w->X, w->Y, won->done, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(race_fit_q(&w->r, won, won->model, w->X, w->Y), ODVGP_OK);
	CHECK_STATUS(race_fit_q(&once->r, same, same->model, w->X, w->Y), ODVGP_OK);
	CHECK(same_slots(won->model, same->model));
	/* The same rows again: a density with the row itself among those of the posterior is larger. */
	double sum = 0;
	race_part all = {w->X, w->Y, N, same->logp, NULL};
	CHECK_STATUS(race_fit_q(&once->r, same, same->model, w->X, w->Y), ODVGP_OK);
	CHECK_STATUS(race_predict(same, same->model, &all), ODVGP_OK);
	for (int i = 0; i < N; i++) sum += (double)same->logp[i] / N;
	CHECK_SAY(sum > mean, "%g inside, %g outside", sum, mean);
	race_free(&w->r);
	race_free(&once->r);
	free(w);
	free(once);
}

static int joins_third(void *user, const race *r, const int *order, int left)
{
	(void)user;
	(void)order;
	return left == 2 && r->list[0].rounds == 1 ? 3 : -1;
}

static int joins_none(void *user, const race *r, const int *order, int left)
{
	(void)user;
	(void)r;
	(void)order;
	return left > 2 ? 3 : -1;
}

/*  It begins with the other's noise as Student's t, joins in the second round, and the share holds. */
TEST(a_late_entry_takes_a_place)
{
	for (int k = 0; k < 6; k++) {
		world *w = NEW(world, 1);
		world_make(w);
		w->r.joins = k < 5 ? joins_third : joins_none;
		race_entry *late = &w->list[3];
		late->late = 1;
		late->from = 0;
		late->config = w->list[0].config;
		late->config.lik.kind = ODVGP_LIKELIHOOD_STUDENTT;
		/* costlier to begin and to score; the last but one has no room for it */
		late->start_flops = k == 1 ? 5 : 2;
		late->score_flops = k == 2 ? 4 : 0.25;
		late->step_flops = k == 3 ? 2.5 : 1;
		if (k == 4) late->start_flops = 1e3;
		CHECK_STATUS(race_run(&w->r), ODVGP_OK);
		double whole = race_total(&w->r, &w->list[w->r.winner]) + w->r.added;
		CHECK_SAY(w->r.added <= w->r.share * whole * (1 + 1e-12), "%g of %g", w->r.added, whole);
		CHECK_INT(late->rounds, k < 4);
		CHECK(k > 3 || (late->done >= 1 && isfinite(late->mean)));
		int first = w->list[0].rounds + w->list[1].rounds + w->list[2].rounds;
		CHECK_INT(first, 3 + (k < 4 ? 1 : 2));
		race_free(&w->r);
		free(w);
	}
}

TEST(students_scale_is_that_of_the_noise)
{
	world *w = NEW(world, 1);
	odvgp_real noise, scale, mu[12], q[12];
	world_make(w);
	race_entry *e = &w->list[1], *first = &w->list[0];
	e->config = first->config;
	e->config.lik.kind = ODVGP_LIKELIHOOD_STUDENTT;
	e->from = 0;
	first->fit_q = 1;
	CHECK_STATUS(race_start(&w->r, first), ODVGP_OK);
	CHECK_STATUS(race_start(&w->r, e), ODVGP_OK);
	CHECK_STATUS(odvgp_get(first->model, "noise_variance", &noise, 1, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(e->model, "scale", &scale, 1, NULL), ODVGP_OK);
	CHECK_NEAR(2 * scale * scale, noise, 1e3 * EPS * noise);
	CHECK_STATUS(race_fit_q(&w->r, first, first->model, w->X, w->Y), ODVGP_OK);
	CHECK_STATUS(odvgp_get(first->model, "q_mu", mu, 12, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_get(e->model, "q_mu", q, 12, NULL), ODVGP_OK);
	CHECK(memcmp(mu, q, sizeof mu) == 0);
	race_free(&w->r);
	free(w);
}

/*  Refuses the second entry; of the third the log densities become those of the targets times e. */
static const char *judges(void *user, const race *r, race_entry *e)
{
	int *seen = (int *)user;
	ptrdiff_t n = r->valid;
	for (ptrdiff_t i = 0; i < n; i++) {
		double mean = (double)e->moments[i], var = (double)e->moments[n + i],
			   d = (double)(r->folds ? r->Y : r->Y_valid)[i] - mean,
			   logp = -0.5 * (log(6.283185307179586 * var) + d * d / var);
		CHECK_SAY(fabs(logp - (double)e->logp[i]) <= 1e4 * EPS * (1 + fabs(logp)), "%g, not %g",
				(double)e->logp[i], logp);
		if (e == &r->list[2]) e->logp[i] -= 1;
	}
	++*seen;
	return e == &r->list[1] ? "it is the second" : NULL;
}

TEST(a_judge_sees_moments_and_refuses)
{
	for (int folds = 0; folds < 2; folds++) {
		world *w = NEW(world, 1), *plain = NEW(world, 1), *both[2] = {w, plain};
		int seen = 0, fold[N];
		for (int i = 0; i < N; i++) fold[i] = (i * 7) % 5;
		for (int k = 0; k < 2; k++) {
			world_make(both[k]);
			for (int i = 0; i < ENTRIES; i++) both[k]->list[i].fit_q = 1;
			if (folds) both[k]->r.valid = N;
			if (folds) both[k]->r.folds = 5;
			both[k]->r.fold = fold;
		}
		w->r.judge = judges;
		w->r.user = &seen;
		CHECK_STATUS(race_run(&w->r), ODVGP_OK);
		CHECK(seen >= 4 && w->r.winner != 1);
		CHECK(strcmp(w->list[1].info.text, "it is the second") == 0 && w->list[1].rounds == 1);
		CHECK_STATUS(race_start(&plain->r, &plain->list[0]), ODVGP_OK);
		CHECK_STATUS(race_start(&plain->r, &plain->list[2]), ODVGP_OK);
		CHECK_STATUS(
				odvgp_fit(plain->list[2].model, w->X, w->Y, w->list[2].done, NULL, NULL), ODVGP_OK);
		CHECK_STATUS(race_score(&plain->r, &plain->list[2]), ODVGP_OK);
		CHECK_NEAR(plain->list[2].mean, w->list[2].mean + 1, 1e4 * EPS);
		race_free(&w->r);
		race_free(&plain->r);
		free(w);
		free(plain);
	}
}

/*  Means and differences by hand. */
TEST(the_costlier_entry_has_to_be_clearly_better)
{
	odvgp_real a[4] = {1, 2, 3, 4}, b[4] = {1, 1, 3, 3}; /* differences 0 1 0 1 */
	race_entry list[3];
	race r;
	double error;
	memset(list, 0, sizeof list);
	memset(&r, 0, sizeof r);
	r.list = list;
	r.valid = 4;
	list[0].logp = a;
	list[1].logp = b;
	for (int i = 0; i < 2; i++) {
		list[i].from = -1;
		list[i].steps = 1;
		list[i].step_flops = 1 + i;
	}
	CHECK_NEAR(race_difference(&r, &list[0], &list[1], &error), 0.5, 1e-6);
	CHECK_NEAR(error, sqrt(1.0 / 12), 1e-6);
	CHECK(race_wins(&r, &list[0], &list[1]) && !race_wins(&r, &list[1], &list[0]));
	CHECK(race_is_costlier(&r, &list[1], &list[0]) && !race_is_costlier(&r, &list[0], &list[1]));
	list[0].step_flops = 2.1; /* about the same: the second one stands behind */
	CHECK(race_is_costlier(&r, &list[1], &list[0]) && !race_is_costlier(&r, &list[0], &list[1]));
	list[0].step_flops = 3; /* 0.5 is above one standard error */
	CHECK(race_is_costlier(&r, &list[0], &list[1]) && !race_is_costlier(&r, &list[1], &list[0]));
	CHECK(race_wins(&r, &list[0], &list[1]));
	a[1] = (odvgp_real)0.4; /* differences 0 -0.6 0 1: 0.1 +- 0.33 */
	CHECK(!race_wins(&r, &list[0], &list[1]) && race_wins(&r, &list[1], &list[0]));
	/* Predictions that are far dearer outweigh a training that is cheaper, others do not. */
	list[1].serve_flops = 21, list[0].serve_flops = 1;
	CHECK(race_is_costlier(&r, &list[1], &list[0]) && !race_is_costlier(&r, &list[0], &list[1]));
	CHECK(race_wins(&r, &list[0], &list[1]) && !race_wins(&r, &list[1], &list[0]));
	list[1].serve_flops = 19;
	CHECK(race_is_costlier(&r, &list[0], &list[1]) && !race_is_costlier(&r, &list[1], &list[0]));
	/* A constant target: rounding is all that differs, whatever they cost. */
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 4; i++) a[i] = b[i] + (odvgp_real)(k ? -1e-6 : 1e-6);
		for (int costly = 0; costly < 2; costly++) {
			list[0].step_flops = costly ? 3 : 1;
			CHECK(race_wins(&r, &list[0], &list[1]) && !race_wins(&r, &list[1], &list[0]));
		}
	}
	list[0].mean = 2 + 1e-6;
	list[1].mean = list[2].mean = 2;
	CHECK(race_before(&r, 0, 1) && !race_before(&r, 1, 0) && race_before(&r, 0, 2));
	list[1].mean = 2 + 1e-6;
	list[0].mean = 2;
	CHECK(race_before(&r, 0, 1) && !race_before(&r, 2, 1));
	list[2].mean = 2.001;
	CHECK(race_before(&r, 2, 1) && !race_before(&r, 0, 2));
	list[1].mean = -HUGE_VAL;
	CHECK(race_before(&r, 2, 1) && race_before(&r, 0, 1) && !race_before(&r, 1, 0));
	CHECK(race_wins(&r, &list[0], &list[1]) && !race_wins(&r, &list[1], &list[0]));
}

static int stop_at_steps(void *user, const odvgp_progress *p)
{
	(void)user;
	return p->phase == ODVGP_PHASE_STEP;
}

/*  user: how many entries may begin a round. */
static int over_after(void *user, const race *r)
{
	int begun = 0;
	for (int i = 0; i < r->count; i++) begun += r->list[i].rounds;
	return begun >= *(int *)user;
}

/*  Of those scored so far the best one wins and goes on; without any there is no winner. */
TEST(it_may_end_early)
{
	world *w = NEW(world, 1);
	odvgp_watch watch = {stop_at_steps, NULL};
	for (int most = 0; most < 7; most++) {
		world_make(w);
		w->r.over = over_after;
		w->r.user = &most;
		CHECK_STATUS(race_run(&w->r), ODVGP_OK);
		int scored = 0, best = 0;
		for (int i = 0; i < ENTRIES; i++) {
			scored += w->list[i].rounds;
			if (w->list[i].mean > w->list[best].mean + RACE_TIE) best = i;
		}
		CHECK_INT(scored, most < 1 ? 1 : most < 6 ? most : 6);
		CHECK_INT(w->r.early, most < 6);
		CHECK_SAY(w->r.winner == best || race_is_costlier(&w->r, &w->list[best],
												  &w->list[w->r.winner]), "%d: %d", most, w->r.winner);
		race_entry *e = &w->list[w->r.winner];
		CHECK_STATUS(race_wake(&w->r, e), ODVGP_OK);
		CHECK_INT(odvgp_steps_done(e->model), e->done);
		for (int i = 0; i < ENTRIES; i++)
			CHECK(i == w->r.winner || (!w->list[i].model && !w->list[i].file));
		race_free(&w->r);
	}
	CHECK(heap_used == 0);
	{ /* the watch stops the first one: nothing has been scored */
		int most = 0;
		world_make(w);
		w->r.watch = &watch;
		w->r.over = over_after;
		w->r.user = &most;
		CHECK_STATUS(race_run(&w->r), ODVGP_E_STOPPED);
		race_free(&w->r);
	}
	free(w);
}

typedef struct countdown {
	int left;
} countdown;

static int stop_after(void *user, const odvgp_progress *p)
{
	countdown *c = user;
	(void)p;
	return c->left-- <= 0;
}

/*  Wherever the watch ends it, the best entry so far is the winner: it can be saved, and the others
    are gone. Before a first warm start is over there is none. */
TEST(stopped_it_keeps_the_best_so_far)
{
	world *w = NEW(world, 1);
	int ended = 0, none = 0, warm = 0, scored = 0;
	for (int most = 0; !ended; most += 1 + most / 3) {
		countdown c = {most};
		odvgp_watch watch = {stop_after, &c};
		world_of_any_steps(w);
		w->r.watch = &watch;
		odvgp_status s = race_run(&w->r);
		race_entry *e = &w->list[w->r.winner];
		ended = s == ODVGP_OK;
		if (!ended) CHECK_STATUS(s, ODVGP_E_STOPPED);
		for (int i = 0; i < ENTRIES && !ended; i++) {
			CHECK(i == w->r.winner || (!w->list[i].model && !w->list[i].file));
			CHECK(w->list[i].mean <= e->mean);
		}
		int kept = e->model || e->file;
		none += !ended && !kept;
		warm += !ended && kept && !isfinite(e->mean);
		scored += !ended && kept && isfinite(e->mean);
		CHECK(kept || !isfinite(e->mean));
		w->r.watch = NULL;
		CHECK_STATUS(race_wake(&w->r, e), ODVGP_OK);
		if (kept) CHECK(odvgp_save_size(e->model, 0, NULL) > 0);
		if (kept) CHECK_INT(odvgp_steps_done(e->model), e->done);
		race_free(&w->r);
		CHECK(heap_used == 0);
	}
	CHECK_SAY(none && warm && scored, "%d %d %d", none, warm, scored);
	free(w);
}

TEST(what_fails_is_out)
{
	world *w = NEW(world, 1);
	odvgp_watch watch = {stop_at_steps, NULL};
	world_make(w);
	w->list[0].config.layer[0].kernel = "no_kernel(1)";
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	CHECK(w->r.winner == 1 || w->r.winner == 3);
	CHECK_STATUS(w->list[0].info.status, ODVGP_E_NAME);
	CHECK_STATUS(w->list[2].info.status, ODVGP_E_NAME); /* it takes the first one's kernel */
	CHECK_STATUS(race_wake(&w->r, &w->list[w->r.winner]), ODVGP_OK);
	CHECK(w->list[w->r.winner].model != NULL);
	race_free(&w->r);
	world_make(w);
	for (int i = 0; i < ENTRIES; i++) w->list[i].config.layer[0].kernel = "no_kernel(1)";
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	CHECK(w->r.winner == 0 && w->list[0].model == NULL);
	race_free(&w->r);
	world_make(w);
	w->r.watch = &watch;
	CHECK_STATUS(race_run(&w->r), ODVGP_E_STOPPED);
	race_free(&w->r);
	world_make(w);
	w->r.count = 0;
	CHECK_STATUS(race_run(&w->r), ODVGP_E_ARG);
	free(w);
}

/*  Whatever the limit, what does not fit is out, the others race on, and all memory is given back. */
TEST(what_has_no_memory_is_out)
{
	world *w = NEW(world, 1);
	int fewer = 0, none = 0, step = test_size(1, 4);
	size_t before = heap_used;
	world_make(w);
	w->list[2].config.layer[0].M = 150; /* the largest one */
	w->list[2].start_flops = 0.1;
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	CHECK_STATUS(w->list[2].info.status, ODVGP_OK);
	size_t all = heap_most;
	race_free(&w->r);
	for (int part = 0; part < 100; part += step) {
		world_make(w);
		w->list[2].config.layer[0].M = 150;
		w->list[2].start_flops = 0.1;
		heap_limit = before + (all - before) / 100 * (size_t)part;
		CHECK_STATUS(race_run(&w->r), ODVGP_OK);
		int out = 0;
		for (int i = 0; i < ENTRIES; i++) {
			CHECK(!w->list[i].info.status || w->list[i].info.status == ODVGP_E_MEMORY);
			out += w->list[i].info.status == ODVGP_E_MEMORY;
		}
		fewer += out > 0 && out < ENTRIES;
		none += out == ENTRIES;
		CHECK(out == ENTRIES || !w->list[w->r.winner].info.status);
		race_free(&w->r);
		CHECK_INT(heap_used, before);
	}
	heap_limit = SIZE_MAX;
	CHECK_SAY(step * fewer > 20 && none > 0, "%d limits leave some, %d none", fewer, none);
	free(w);
}

/*  What odvgp.h says a schedule is. */
static double value_at(const odvgp_schedule *s, double step)
{
	double begin = (double)s->decay_from, length = (double)s->decay_steps;
	int linear = s->kind == ODVGP_SCHEDULE_LINEAR, last = length > 0 && step >= begin;
	double from = (double)(last ? s->end : s->start), to = (double)(last ? s->final : s->end),
		   part = last ? (step - begin) / length : step / fmax(1, (double)s->steps);
	if ((s->kind == ODVGP_SCHEDULE_CONSTANT && !last) || part >= 1) return to;
	return linear ? from + part * (to - from) : from * pow(to / from, part);
}

TEST(the_rest_of_a_schedule)
{
	odvgp_schedule list[5] = {odvgp_constant((odvgp_real)0.3),
			odvgp_falling((odvgp_real)0.5, (odvgp_real)0.05, 20),
			odvgp_rising((odvgp_real)1e-3, (odvgp_real)0.5, 5, (odvgp_real)0.05, 20)};
	list[3] = list[2];
	list[3].kind = ODVGP_SCHEDULE_LINEAR;
	list[3].decay_from = 9;
	list[4] = list[2];
	list[4].kind = ODVGP_SCHEDULE_CONSTANT;
	for (int k = 0; k < 5; k++)
		for (int done = 0; done < 40; done++) {
			odvgp_schedule rest = race_rest(&list[k], done);
			for (int i = 0; i < 40; i++) {
				double v = value_at(&list[k], done + i);
				CHECK_SAY(fabs(value_at(&rest, i) - v) <= 8 * EPS * v + 4 * EPS,
						"schedule %d, after %d: %g at %d, not %g", k, done, value_at(&rest, i), i,
						v);
			}
			CHECK_STATUS(odvgp_set_step_sizes(NULL, &rest, NULL, NULL), ODVGP_E_ARG);
		}
}

TEST(a_model_of_more_rows_goes_on)
{
	world *w = NEW(world, 1);
	world_make(w);
	w->r.count = 2;
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	race_entry *e = &w->list[w->r.winner];
	odvgp_config c = e->config;
	c.N = ALL;
	size_t size = odvgp_model_size(&c, NULL);
	void *block = malloc(size);
	odvgp_model *model;
	CHECK_STATUS(odvgp_model_init(&model, &c, block, size, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_init_data(model, w->X, w->Y, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(race_wake(&w->r, e), ODVGP_OK);
	size_t once = e->block_bytes;
	void *old = malloc(once);
	odvgp_model *copy;
	CHECK_STATUS(odvgp_model_copy(&copy, e->model, old, once, NULL), ODVGP_OK);
	CHECK(!same_slots(model, copy));
	CHECK_STATUS(race_settle(&w->r, e, NULL), ODVGP_OK);
	CHECK(!e->model && !e->file);
	CHECK_STATUS(race_continue(e, model, NULL), ODVGP_OK);
	CHECK(same_slots(model, copy));
	free(old);
	CHECK_NEAR(odvgp_model_config(model)->optim.lr.start,
			value_at(&e->config.optim.lr, (double)e->done), 8 * EPS);
	CHECK_INT(odvgp_model_config(model)->optim.lr.steps, STEPS - e->done);
	CHECK_STATUS(odvgp_fit(model, w->X, w->Y, STEPS - e->done, NULL, NULL), ODVGP_OK);
	free(block);
	race_free(&w->r);
	free(w);
}

/*  By rows held out and by folds, of different members and of four times SGPR, whose models would
    take most. */
TEST(its_memory_is_what_it_says)
{
	for (int k = 0; k < 6; k++) {
		world *w = NEW(world, 1);
		int fold[N], all = k % 3 == 2;
		double models = 0;
		world_of_any_steps(w);
		for (int i = 0; i < N; i++) fold[i] = i % 5;
		for (int i = 0; i < ENTRIES; i++) {
			if (all) w->list[i].config = w->list[2].config;
			w->list[i].config.layer[0].M = k % 3 ? 100 + 5 * i : 30;
			w->list[i].fit_q |= k > 2 || all;
			models += (double)odvgp_model_size(&w->list[i].config, NULL);
		}
		if (k > 2) {
			w->r.valid = N;
			w->r.folds = 5;
			w->r.fold = fold;
		}
		double before = (double)heap_used, said = race_bytes(&w->r);
		CHECK_NEAR((double)heap_used, before, 0);
		heap_most = heap_used;
		CHECK_STATUS(race_run(&w->r), ODVGP_OK);
		double took = (double)heap_most - before;
		CHECK_SAY(took < 1.2 * said && said < 1.2 * took, "%d: %g bytes, said %g", k, took, said);
		if (all) CHECK_SAY(took < 0.75 * models, "%g bytes, models %g", took, models);
		race_free(&w->r);
		CHECK_NEAR((double)heap_used, before, 0);
		free(w);
	}
}

/*  A late one of more points than the others, which may join them or not. */
TEST(its_memory_has_room_for_a_late_entry)
{
	world *w = NEW(world, 1);
	world_make(w);
	w->r.joins = joins_third;
	race_entry *late = &w->list[3];
	late->late = 1;
	late->from = 0;
	late->config = w->list[0].config;
	late->config.layer[0].M = 120;
	late->config.lik.kind = ODVGP_LIKELIHOOD_STUDENTT;
	double said = race_bytes(&w->r), before = (double)heap_used;
	heap_most = heap_used;
	CHECK_STATUS(race_run(&w->r), ODVGP_OK);
	double took = (double)heap_most - before;
	CHECK_INT(late->rounds, 1);
	CHECK_SAY(took < 1.2 * said && said < 1.2 * took, "%g bytes, said %g", took, said);
	race_free(&w->r);
	free(w);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(going_on_gives_the_bits_of_never_having_stopped);
	RUN(a_pause_and_a_score_change_no_bit);
	RUN(it_adds_no_more_than_its_share);
	RUN(it_adds_no_more_than_it_may_anyway);
	RUN(entries_without_room_are_left_out);
	RUN(entries_may_race_without_a_step);
	RUN(an_entry_may_race_with_few_steps);
	RUN(the_bound_does_not_fall_where_minibatches_follow_SGPR);
	RUN(an_entry_may_have_rows_of_its_own);
	RUN(an_entry_whose_last_score_is_no_number_cannot_win);
	RUN(bounds_are_set_once);
	RUN(hyperparameters_cost_scores_by_folds);
	RUN(folds_of_one_row_leave_one_out);
	RUN(a_fold_of_all_rows_fails);
	RUN(folds_score_without_a_trace);
	RUN(a_late_entry_takes_a_place);
	RUN(students_scale_is_that_of_the_noise);
	RUN(a_judge_sees_moments_and_refuses);
	RUN(the_costlier_entry_has_to_be_clearly_better);
	RUN(it_may_end_early);
	RUN(stopped_it_keeps_the_best_so_far);
	RUN(what_fails_is_out);
	RUN(what_has_no_memory_is_out);
	RUN(the_rest_of_a_schedule);
	RUN(a_model_of_more_rows_goes_on);
	RUN(its_memory_is_what_it_says);
	RUN(its_memory_has_room_for_a_late_entry);
	return test_end();
}
