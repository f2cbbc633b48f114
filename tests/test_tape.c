/*  What the tape saves: frozen slots have no derivatives, unchanged values are not recomputed,
    and minibatches are drawn as promised. Also what only the source of the pool can show. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_USE_PTHREADS
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "hooks.h"
#include "test.h"
#include "models.h"

enum { ROWS = 90, INPUTS = 2, BETA = 8, GAMMA = 12 };

static odvgp_real X[ROWS * INPUTS], Y[ROWS];

static odvgp_model *create(odvgp_config *cfg)
{
	odvgp_model *m = NULL;
	cfg->isa = test_isa();
	fill_data(X, Y, ROWS, INPUTS, 1);
	CHECK(odvgp_model_create(&m, cfg, X, Y, NULL, NULL) == ODVGP_OK);
	return m;
}

/*  How often each node ran, forward and backward. */
static int runs[100][2];
static void count_operation(int node, int reverse)
{
	if (node >= 0 && node < 100) runs[node][reverse]++;
}
static int runs_of(const odvgp_model *m, gp__op op, int reverse)
{
	int i, sum = 0;
	for (i = 1; i <= m->tape.nodes; i++)
		if (m->tape.node[i].op == op) sum += runs[i][reverse];
	return sum;
}

TEST(a_frozen_kernel_is_not_differentiated_and_not_factored_again)
{
	odvgp_config cfg = odvgp_config_defaults(ROWS, INPUTS, 1, BETA, GAMMA);
	odvgp_model *m = create(&cfg);
	uint64_t stamp;
	CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
	CHECK(m->tape.node[m->unit[0].L.id].needs_grad);
	stamp = m->tape.node[m->unit[0].L.id].stamp;
	CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
	CHECK(m->tape.node[m->unit[0].L.id].stamp > stamp);
	CHECK(odvgp_set_trainable(m, "kernel.*", 0, NULL) == ODVGP_OK);
	CHECK(odvgp_set_trainable(m, "Z_*", 0, NULL) == ODVGP_OK);
	/* This step sees the last change. */
	CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
	stamp = m->tape.node[m->unit[0].L.id].stamp;
	CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
	CHECK(m->tape.node[m->unit[0].L.id].stamp == stamp);
	CHECK(!m->tape.node[m->unit[0].L.id].needs_grad && !m->tape.node[m->unit[0].A.id].needs_grad &&
			!m->tape.node[m->unit[0].hyp.id].needs_grad);
	CHECK(m->tape.node[m->unit[0].a_slot.id].needs_grad);
	odvgp_model_free(m);
}

TEST(naturally_moved_slots_have_no_adjoints)
{
	odvgp_config cfg = odvgp_config_defaults(ROWS, INPUTS, 1, BETA, 0);
	odvgp_model *m = create(&cfg);
	CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
	CHECK(!m->tape.node[m->unit[0].block[0].mu.id].needs_grad &&
			!m->tape.node[m->unit[0].block[0].sqrt.id].needs_grad);
	odvgp_model_free(m);
}

/*  Every epoch takes each row at most once and drops the remainder, and epochs differ. */
TEST(an_epoch_is_a_permutation)
{
	ptrdiff_t n, i;
	for (n = 1; n <= 300; n += n < 70 ? 1 : 23) {
		char seen[300] = {0};
		int same = 1;
		for (i = 0; i < n; i++) {
			ptrdiff_t row = gp__permute(5, 1, 0, n, i);
			CHECK(row >= 0 && row < n && !seen[row]);
			seen[row] = 1;
			same &= row == gp__permute(5, 1, 1, n, i);
		}
		if (n > 12) CHECK(!same);
	}
}

/*  Over many epochs each permutation of five comes equally often, and each number stands at each
    place equally often, for any seed and stream: chi-square is within six standard deviations of
    its mean, which is its degrees of freedom. */
static double excess(double chi2, double freedom)
{
	return fabs(chi2 - freedom) / sqrt(2 * freedom);
}
TEST(permutations_are_equally_likely)
{
	const int per = test_size(400, 30);
	static const ptrdiff_t sizes[] = {2, 3, 4, 5, 7, 12, 31, 63, 64, 65, 100};
	int round;
	size_t s;
	for (round = 0; round < 3; round++)
		for (s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			ptrdiff_t n = sizes[s],
					  orders = n == 2   ? 2
							   : n == 3 ? 6
							   : n == 4 ? 24
										: 120,
					  i, e, j, epochs = per * (n <= 5 ? orders : n);
			double *at = NEW(double, n *n), order[120] = {0}, chi2 = 0;
			memset(at, 0, (size_t)(n * n) * sizeof *at);
			for (e = 0; e < epochs; e++) {
				ptrdiff_t number = 0, p[100];
				for (i = 0; i < n; i++)
					p[i] = gp__permute(round == 1 ? 77 : 0, round == 2 ? 3 : 1, (uint64_t)e, n, i);
				for (i = 0; i < n; i++) at[i * n + p[i]]++;
				/* Find the index of this permutation. */
				for (i = 0; i < n && n <= 5; i++) {
					ptrdiff_t below = 0;
					for (j = i + 1; j < n; j++) below += p[j] < p[i];
					number = number * (n - i) + below;
				}
				if (n <= 5) order[number]++;
			}
			for (i = 0; i < n * n; i++)
				chi2 += (at[i] - (double)epochs / (double)n) *
						(at[i] - (double)epochs / (double)n) / ((double)epochs / (double)n);
			/* Rows and columns have fixed sums. */
			chi2 *= (double)(n - 1) / (double)n;
			CHECK_SAY(excess(chi2, (double)((n - 1) * (n - 1))) < 6,
					"n %ld: chi-square of places %.1f of %ld", (long)n, chi2,
					(long)((n - 1) * (n - 1)));
			for (chi2 = 0, i = 0; i < orders && n <= 5; i++)
				chi2 += (order[i] - per) * (order[i] - per) / per;
			if (n <= 5)
				CHECK_SAY(excess(chi2, (double)(orders - 1)) < 6,
						"n %ld: chi-square of orders %.1f of %ld", (long)n, chi2,
						(long)(orders - 1));
			free(at);
		}
}

/*  With a fixed kernel, fixed inducing points and full batch, K(Z,X), k(x,x) and A are computed
    once, whatever else moves. They are recomputed if the rows change or the points move. After
    the first step the gradient scales of ORTH borrow the memory of A. */
TEST(a_full_batch_with_fixed_points_keeps_its_features)
{
	static const struct {
		odvgp_mean_part mean;
		odvgp_cov_part cov;
		odvgp_gamma_step gamma;
		odvgp_optimizer optimizer;
		odvgp_objective objective;
	} list[] = {{ODVGP_MEAN_PART_BETA, ODVGP_COV_PART_DENSE, ODVGP_GAMMA_STEP_ADAM,
						ODVGP_OPTIMIZER_ADAM, ODVGP_OBJECTIVE_ELBO},
			{ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, ODVGP_GAMMA_STEP_ADAM,
					ODVGP_OPTIMIZER_ADAM, ODVGP_OBJECTIVE_ELBO},
			{ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_DENSE, ODVGP_GAMMA_STEP_DIAGONAL,
					ODVGP_OPTIMIZER_ADAM, ODVGP_OBJECTIVE_ELBO},
			{ODVGP_MEAN_PART_HYBRID, ODVGP_COV_PART_DENSE, ODVGP_GAMMA_STEP_EXACT,
					ODVGP_OPTIMIZER_ADAM, ODVGP_OBJECTIVE_ELBO},
			{ODVGP_MEAN_PART_ORTH, ODVGP_COV_PART_INVERSE, ODVGP_GAMMA_STEP_ADAM,
					ODVGP_OPTIMIZER_ADAM, ODVGP_OBJECTIVE_ELBO},
			{ODVGP_MEAN_PART_FREE, ODVGP_COV_PART_DIAGONAL, ODVGP_GAMMA_STEP_ADAM,
					ODVGP_OPTIMIZER_ADAM, ODVGP_OBJECTIVE_ELBO},
			{ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_GAMMA_STEP_ADAM,
					ODVGP_OPTIMIZER_ADAM, ODVGP_OBJECTIVE_ELBO},
			{ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_GAMMA_STEP_ADAM,
					ODVGP_OPTIMIZER_LBFGS, ODVGP_OBJECTIVE_ELBO},
			{ODVGP_MEAN_PART_BLOCKS, ODVGP_COV_PART_BLOCKS, ODVGP_GAMMA_STEP_ADAM,
					ODVGP_OPTIMIZER_ADAM, ODVGP_OBJECTIVE_COLLAPSED}};
	int k, i, evaluations;
	for (k = 0; k < (int)(sizeof list / sizeof *list); k++) {
		odvgp_config cfg = odvgp_config_defaults(ROWS, INPUTS, 1, BETA, GAMMA);
		odvgp_model *m;
		odvgp_report report;
		odvgp_real other, same, again, now;
		cfg.layer[0].mean_part = list[k].mean;
		cfg.layer[0].cov_part = list[k].cov;
		cfg.optim.gamma_step = list[k].gamma;
		cfg.optim.kind = list[k].optimizer;
		cfg.objective = list[k].objective;
		cfg.optim.natgrad = list[k].optimizer == ODVGP_OPTIMIZER_ADAM &&
							list[k].cov != ODVGP_COV_PART_INVERSE &&
							list[k].mean != ODVGP_MEAN_PART_FREE;
		m = create(&cfg);
		if (!m) return;
		CHECK(odvgp_set_trainable(m, "kernel.*", 0, NULL) == ODVGP_OK);
		CHECK(odvgp_set_trainable(m, "Z_*", 0, NULL) == ODVGP_OK);
		for (i = 0; i < 2; i++) CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
		CHECK(odvgp_elbo(m, X, Y, ROWS, &same, NULL, NULL, NULL) == ODVGP_OK);
		memset(runs, 0, sizeof runs);
		for (i = evaluations = 0; i < 20; i++) {
			CHECK(odvgp_step(m, X, Y, &report, NULL) == ODVGP_OK);
			evaluations += (int)report.evaluations;
		}
		CHECK_SAY(evaluations >= 20 && runs_of(m, GP__KERNEL, 0) == 0 &&
						  runs_of(m, GP__KERNEL_DIAG, 0) == 0 && runs[m->unit[0].A.id][0] == 0 &&
						  (!m->unit[0].A_v.id || runs[m->unit[0].A_v.id][0] == 0),
				"%d: in %d evaluations: %d kernel matrices, %d diagonals, %d times A", k,
				evaluations, runs_of(m, GP__KERNEL, 0), runs_of(m, GP__KERNEL_DIAG, 0),
				runs[m->unit[0].A.id][0]);
		/* Other rows, then the first rows again, have their own features. */
		CHECK(odvgp_elbo(m, X, Y, ROWS, &now, NULL, NULL, NULL) == ODVGP_OK);
		if (list[k].objective == ODVGP_OBJECTIVE_ELBO) {
			memset(runs, 0, sizeof runs);
			CHECK(odvgp_elbo(m, X + INPUTS, Y + 1, ROWS - 1, &other, NULL, NULL, NULL) == ODVGP_OK);
			CHECK(runs[m->unit[0].K_x.id][0] == 1 && runs[m->unit[0].k_x.id][0] == 1 &&
					(m->unit[0].Kb.id || runs[m->unit[0].A.id][0] == 1) && other != now);
			CHECK(odvgp_elbo(m, X, Y, ROWS, &again, NULL, NULL, NULL) == ODVGP_OK);
			CHECK(again == now && runs[m->unit[0].K_x.id][0] == 2);
		}
		CHECK(odvgp_set_trainable(m, "Z_*", 1, NULL) == ODVGP_OK);
		/* This step moves the points. */
		CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
		memset(runs, 0, sizeof runs);
		for (i = evaluations = 0; i < 5; i++) {
			CHECK(odvgp_step(m, X, Y, &report, NULL) == ODVGP_OK);
			evaluations += (int)report.evaluations;
		}
		CHECK(runs[m->unit[0].K_x.id][0] >= 5 && runs[m->unit[0].K_x.id][0] <= evaluations);
		odvgp_model_free(m);
	}
}

/*  Each minibatch has other rows and so other features; so do the tiles of a batch that is wider
    than one tile. */
TEST(other_rows_have_other_features)
{
	int tiles;
	for (tiles = 1; tiles <= 3; tiles++) {
		odvgp_config cfg = odvgp_config_defaults(ROWS, INPUTS, 1, BETA, GAMMA);
		odvgp_model *m;
		int i;
		cfg.optim.batch = tiles == 1 ? ROWS / 3 : ROWS;
		cfg.tile = ROWS / 3;
		if (tiles == 2) cfg.tile = ROWS / 2;
		m = create(&cfg);
		CHECK(odvgp_set_trainable(m, "kernel.*", 0, NULL) == ODVGP_OK);
		CHECK(odvgp_set_trainable(m, "Z_*", 0, NULL) == ODVGP_OK);
		CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
		memset(runs, 0, sizeof runs);
		for (i = 0; i < 20; i++) CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
		CHECK(runs[m->unit[0].K_x.id][0] == 20 * tiles &&
				runs[m->unit[0].k_x.id][0] == 20 * tiles && runs[m->unit[0].A.id][0] == 20 * tiles);
		odvgp_model_free(m);
	}
}

/*  An operation runs backward only if it receives an adjoint: it is a term of the bound, or an
    operation that runs backward reads it. Values that only a natural step reads do not count:
    neither the factor of C nor D. */
static int is_term(const odvgp_model *m, int i)
{
	const gp__node *nd = &m->tape.node[i];
	return (nd->purpose & (GP__GIVES_BOUND | GP__GIVES_COLLAPSED)) || nd->op == GP__NAT_STATS;
}
static int has_reader_that_ran_back(const odvgp_model *m, int i)
{
	int j, k;
	for (j = 1; j <= m->tape.nodes; j++)
		for (k = 0; k < GP__MAX_IN; k++)
			if (m->tape.node[j].in[k] == &m->tape.node[i] && m->tape.node[j].op != GP__NAT_STATS &&
					runs[j][1])
				return 1;
	return 0;
}
TEST(nothing_runs_back_on_zeros)
{
	int mean, cov, gamma, natgrad, i, models = 0;
	for (mean = 0; mean < GP__COUNT(gp__mean_parts); mean++)
		for (cov = 0; cov < GP__COUNT(gp__cov_parts); cov++)
			for (gamma = ODVGP_GAMMA_STEP_ADAM; gamma <= ODVGP_GAMMA_STEP_EXACT; gamma++)
				for (natgrad = 0; natgrad < 2; natgrad++) {
					odvgp_config cfg = odvgp_config_defaults(ROWS, INPUTS, 1, BETA, GAMMA);
					odvgp_model *m;
					size_t bytes;
					cfg.layer[0].mean_part = (odvgp_mean_part)mean;
					cfg.layer[0].cov_part = (odvgp_cov_part)cov;
					cfg.optim.gamma_step = (odvgp_gamma_step)gamma;
					cfg.optim.natgrad = natgrad;
					/* This combination does not exist. */
					if (sized(&bytes, odvgp_model_size(&cfg, NULL), NULL) != ODVGP_OK) continue;
					m = create(&cfg);
					memset(runs, 0, sizeof runs);
					CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
					CHECK(runs[m->expect.id][1] == 1);
					for (i = 1; i <= m->tape.nodes; i++)
						CHECK_SAY(!runs[i][1] || is_term(m, i) || has_reader_that_ran_back(m, i),
								"mean %d, cov %d, gamma step %d: %s, node %d, runs back", mean, cov,
								gamma, gp__ops[m->tape.node[i].op].name, i);
					if (gamma == ODVGP_GAMMA_STEP_EXACT && cov != ODVGP_COV_PART_BLOCKS)
						CHECK(runs[m->unit[0].L_v.id][0] == 1 && runs[m->unit[0].L_v.id][1] == 0 &&
								runs[m->unit[0].W.id][1] == 0);
					if (gamma == ODVGP_GAMMA_STEP_DIAGONAL)
						CHECK(runs[m->unit[0].gamma_residual.id][0] == 1 &&
								runs[m->unit[0].gamma_residual.id][1] == 0);
					CHECK(runs[m->unit[0].K.id][1] == 1);
					models++;
					odvgp_model_free(m);
				}
	CHECK(models >= 30);
}

/*  Where pointers have 32 bits, a 64-bit number in a struct may be aligned to only 4 bytes, and
    then it is not atomic. */
TEST(the_ticket_is_aligned)
{
	odvgp_pool *pool;
	odvgp_threads hook;
	size_t bytes = odvgp_pool_size(2, NULL);
	void *block = test_alloc(bytes);
	CHECK_STATUS(odvgp_pool_start(&pool, 2, &hook, block, bytes, NULL), ODVGP_OK);
	CHECK((uintptr_t)&pool->ticket % sizeof pool->ticket == 0);
	CHECK(offsetof(odvgp_pool, ticket) % sizeof pool->ticket == 0);
	odvgp_pool_stop(pool);
	free(block);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	test_probe = count_operation;
	RUN(a_frozen_kernel_is_not_differentiated_and_not_factored_again);
	RUN(naturally_moved_slots_have_no_adjoints);
	RUN(an_epoch_is_a_permutation);
	RUN(permutations_are_equally_likely);
	RUN(a_full_batch_with_fixed_points_keeps_its_features);
	RUN(other_rows_have_other_features);
	RUN(nothing_runs_back_on_zeros);
	RUN(the_ticket_is_aligned);
	return test_end();
}
