/*  What training does when numbers fail: it raises and lowers the jitter, undoes steps, and
    reports events and causes. A call that fails leaves the model as it was. */

#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "hooks.h"
#include "test.h"
#include "models.h"

/* ---- jitter ---- */

/*  Repeated inducing points without jitter make Kb singular. The jitter is raised, and the event
    reports the matrix and the pivot. */
TEST(repeated_inducing_points_raise_the_jitter)
{
	odvgp_config c = config(20, 2, 1, 5, 0);
	fixture a;
	odvgp_real z[10], e, *grad, first;
	odvgp_events events;
	odvgp_info info = no_info();
	int i;
	double high;
	test_seed = 350;
	c.jitter.absolute = c.jitter.relative = 0;
	a = make(&c);
	CHECK_INT(odvgp_model_events(a.m).jitter_raised, 0);
	for (i = 0; i < 10; i++) z[i] = (odvgp_real)(i < 6 ? i % 5 * 0.5 - 1 : 0.3 * i);
	/* Point 3 equals point 1. */
	z[6] = z[2], z[7] = z[3];
	CHECK_STATUS(odvgp_set(a.m, "Z_beta", z, 10, NULL), ODVGP_OK);
	grad = NEW(odvgp_real, odvgp_param_count(a.m));
	CHECK_SAY(odvgp_elbo(a.m, a.X, a.Y, 20, &e, NULL, grad, &info) == ODVGP_OK, "%s", info.text);
	CHECK(all_finite(&e, 1) && all_finite(grad, odvgp_param_count(a.m)));
	events = odvgp_model_events(a.m);
	CHECK(events.jitter_raised >= 1);
	CHECK(events.matrix && !strcmp(events.matrix, "Kb"));
	CHECK_INT(events.pivot, 3);
	CHECK(!(events.pivot_value > 1e-6));
	CHECK_SAY(events.cause && strstr(events.cause, "repeated inducing points"), "cause: %s",
			events.cause ? events.cause : "none");
	CHECK(events.jitter > 0 && events.jitter <= 0.011 * 1.5);
	/* The raised jitter is part of the state: evaluating again gives the same bound. */
	CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 20, &first, NULL, NULL, NULL), ODVGP_OK);
	CHECK(first == e);
	CHECK_INT(odvgp_model_events(a.m).jitter_raised, events.jitter_raised);
	/* With frozen parameters, the jitter falls to a tenth after 100 clean steps. */
	CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0, NULL), ODVGP_OK);
	/* Move the points apart, so that the jitter may fall. */
	for (i = 0; i < 5; i++) z[2 * i] += (odvgp_real)(0.7 * i);
	CHECK_STATUS(odvgp_set(a.m, "Z_beta", z, 10, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	high = odvgp_model_events(a.m).jitter;
	CHECK_NEAR(high, events.jitter, 1e-6 * high);
	for (i = 0; i < 97; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	CHECK_NEAR(odvgp_model_events(a.m).jitter, high, 1e-6 * high);
	for (i = 0; i < 10; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	/* Setting the values makes the next call evaluate again. */
	CHECK_STATUS(odvgp_set(a.m, "Z_beta", z, 10, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	CHECK_SAY(odvgp_model_events(a.m).jitter <= 0.11 * high,
			"jitter %.3g after 100 steps, %.3g before", odvgp_model_events(a.m).jitter, high);
	free(grad);
	drop(&a);
}

/*  A raised jitter falls tenfold per 100 clean steps, and to 0 once it is below a tenth of the
    config's: the bound is then that of a model whose jitter never rose. */
TEST(a_raised_jitter_ends)
{
	odvgp_config c = config(20, 2, 1, 5, 0);
	fixture a, b;
	odvgp_real one, raised, elbo[3];
	int i;
	c.jitter.absolute = (odvgp_real)1e-3;
	c.jitter.relative = 0;
	test_seed = 352;
	a = make(&c);
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 20, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0, NULL), ODVGP_OK);
	b = load_again(&a);
	raised = a.m->unit[0].jitter[0].raised = (odvgp_real)5e-3;
	gp__jitter_moved(&a.m->tape, &a.m->unit[0].jitter[0]);
	CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 20, &elbo[0], NULL, NULL, NULL), ODVGP_OK);
	for (i = 1; i <= 200; i++) {
		CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
		one = a.m->unit[0].jitter[0].raised;
		if (i < 100) CHECK(one == raised);
		else if (i < 200) CHECK_NEAR(one, 0.1 * (double)raised, 10 * EPS * (double)raised);
		else CHECK(one == 0);
	}
	CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 20, &elbo[1], NULL, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_elbo(b.m, a.X, a.Y, 20, &elbo[2], NULL, NULL, NULL), ODVGP_OK);
	CHECK(elbo[1] == elbo[2] && elbo[0] != elbo[1]);
	free(b.block);
	drop(&a);
}

/*  A raised jitter and the number of steps since then are part of the state. A file keeps them,
    before and after the jitter was lowered, for a kernel that moves and for a frozen one (whose
    factor is recomputed when the file is read). */
TEST(a_raised_jitter_goes_on_after_a_file)
{
	static const int steps[] = {3, 60, 103, 150};
	int k, frozen, i;
	for (frozen = 0; frozen < 2; frozen++)
		for (k = 0; k < 4; k++) {
			odvgp_config c = config(20, 2, 1, 5, 4);
			fixture a;
			odvgp_real z[10], e;
			odvgp_model *b = NULL;
			size_t bytes, model_bytes = 0;
			void *file, *block;
			odvgp_report r0, r1;
			test_seed = 355;
			c.jitter.absolute = c.jitter.relative = 0;
			a = make(&c);
			for (i = 0; i < 10; i++) z[i] = (odvgp_real)(i < 6 ? i % 5 * 0.5 - 1 : 0.3 * i);
			z[6] = z[2], z[7] = z[3];
			CHECK_STATUS(odvgp_set(a.m, "Z_beta", z, 10, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 20, &e, NULL, NULL, NULL), ODVGP_OK);
			CHECK(odvgp_model_events(a.m).jitter_raised > 0);
			for (i = 0; i < 5; i++) z[2 * i] += (odvgp_real)(0.7 * i);
			CHECK_STATUS(odvgp_set(a.m, "Z_beta", z, 10, NULL), ODVGP_OK);
			if (frozen) {
				CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.*", 0, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_set_trainable(a.m, "Z_*", 0, NULL), ODVGP_OK);
			}
			CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, steps[k], NULL, NULL), ODVGP_OK);
			file = save_file(a.m, NULL, "", &bytes);
			CHECK_STATUS(
					sized(&model_bytes, odvgp_load_size(file, bytes, NULL, test_isa(), NULL), NULL),
					ODVGP_OK);
			block = test_alloc(model_bytes);
			CHECK_STATUS(
					odvgp_load_memory(&b, file, bytes, NULL, test_isa(), block, model_bytes, NULL),
					ODVGP_OK);
			{
				odvgp_events ea = odvgp_model_events(a.m), eb = odvgp_model_events(b);
				CHECK_INT(eb.jitter_raised, ea.jitter_raised);
				CHECK(ea.matrix && eb.matrix && !strcmp(ea.matrix, eb.matrix));
				CHECK(ea.cause && eb.cause && !strcmp(ea.cause, eb.cause));
				CHECK(eb.pivot == ea.pivot && eb.pivot_value == ea.pivot_value);
			}
			CHECK_STATUS(
					odvgp_load_memory(&b, file, bytes, NULL, test_isa(), block, model_bytes, NULL),
					ODVGP_OK);
			CHECK_INT(odvgp_model_events(b).jitter_raised, odvgp_model_events(a.m).jitter_raised);
			for (i = 0; i < 110 && b; i++) {
				CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r0, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_step(b, a.X, a.Y, &r1, NULL), ODVGP_OK);
				if (!CHECK_SAY(r0.elbo == r1.elbo && r0.kl == r1.kl &&
									   r0.events.jitter == r1.events.jitter,
							"frozen %d, file after %d steps: step %d: elbo %.17g and %.17g, jitter "
							"%.3g and %.3g",
							frozen, steps[k], i, (double)r0.elbo, (double)r1.elbo, r0.events.jitter,
							r1.events.jitter))
					break;
			}
			free(file), free(block);
			drop(&a);
		}
}

/*  Beyond the limit the call fails and names the matrix and the pivot. The values stay, and
    better values make the model work again. */
TEST(past_the_largest_jitter)
{
	odvgp_config c = config(20, 2, 1, 5, 6);
	fixture a;
	odvgp_real z[10], *good_z, e, kl, grad[200], mean[20];
	int i;
	ptrdiff_t steps;
	test_seed = 352;
	c.jitter.absolute = c.jitter.relative = 0, c.jitter.max = TINY;
	c.layer[0].kernel = "matern12";
	a = make(&c);
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL), ODVGP_OK);
	steps = odvgp_steps_done(a.m);
	good_z = all_values(a.m);
	for (i = 0; i < 10; i++) z[i] = 1;
	CHECK_STATUS(odvgp_set(a.m, "Z_beta", z, 10, NULL), ODVGP_OK);
	memset(&e, PATTERN, sizeof e), memset(&kl, PATTERN, sizeof kl),
			memset(grad, PATTERN, sizeof grad), memset(mean, PATTERN, sizeof mean);
	{
		odvgp_info info = no_info();
		CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 20, &e, &kl, grad, &info), ODVGP_E_NOT_PD);
		CHECK(info.what && !strcmp(info.what, "Kb"));
		/* The pivot is one that rounding made 0. */
		CHECK(info.row >= 1 && info.row < 5);
		CHECK(strstr(info.text, "Kb") != NULL);
	}
	REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 20, (odvgp_real)0.5, &e, &info), ODVGP_E_NOT_PD);
	REFUSED(odvgp_predict_once(a.m, a.X, 20, mean, NULL, NULL, &info), ODVGP_E_NOT_PD);
	{
		size_t n = odvgp_save_size(a.m, 0, NULL);
		unsigned char *file = NEW(unsigned char, n);
		memset(file, PATTERN, n);
		REFUSED(odvgp_save_memory(a.m, NULL, NULL, 0, file, n, &info), ODVGP_E_NOT_PD);
		CHECK(untouched(file, n));
		free(file);
	}
	/* The caller has set these values, so there are no earlier ones to restore. */
	REFUSED(odvgp_step(a.m, a.X, a.Y, NULL, &info), ODVGP_E_NOT_PD);
	CHECK_INT(odvgp_steps_done(a.m), steps);
	CHECK(untouched(&e, sizeof e) && untouched(&kl, sizeof kl) && untouched(grad, sizeof grad) &&
			untouched(mean, sizeof mean));
	CHECK_STATUS(
			odvgp_set(a.m, "Z_beta", good_z + odvgp_slot_find(a.m, "Z_beta")->offset, 10, NULL),
			ODVGP_OK);
	CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_predict_once(a.m, a.X, 20, mean, NULL, NULL, NULL), ODVGP_OK);
	free(good_z);
	drop(&a);
}

/*  Kb raises its jitter and C fails, or Kb raises its jitter and a row of the data is NaN.
    Fitting q and the upper bound leave the model unchanged. */
TEST(an_optimum_that_fails_takes_the_jitter_back)
{
	int rows, upper;
	for (rows = 0; rows < 2; rows++)
		for (upper = 0; upper < 2; upper++) {
			odvgp_config c = config(20, 2, 1, 8, 12);
			fixture a;
			odvgp_real z[16], g[24], bound = 7, *before, *after;
			odvgp_status want = rows ? ODVGP_E_NAN : ODVGP_E_NOT_PD;
			odvgp_events e;
			size_t bytes;
			void *work;
			int i;
			c.layer[0].kernel = "rbf";
			c.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS;
			c.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
			test_seed = 363;
			a = make(&c);
			for (i = 0; i < 16; i++) z[i] = (odvgp_real)test_between(-4, 4);
			for (i = 0; i < 24; i++) g[i] = (odvgp_real)test_between(-4, 4);
			z[2] = z[0], z[3] = z[1];
			/* Eleven points coincide. */
			for (i = 0; i < 20 && !rows; i++) g[i] = g[20 + i % 2];
			a.m->tape.jitter_absolute = a.m->tape.jitter_relative = 0;
			/* 16 eps per row is enough for 8 points, not for 12. */
			a.m->tape.jitter_limit = 160 * (odvgp_real)EPS;
			CHECK_STATUS(odvgp_set(a.m, "Z_beta", z, 16, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_set(a.m, "Z_gamma", g, 24, NULL), ODVGP_OK);
			if (rows) a.Y[19] = (odvgp_real)NAN, a.m->tape.jitter_limit = (odvgp_real)1e-2;
			bytes = odvgp_fit_q_scratch(a.m, NULL);
			work = test_alloc(bytes);
			before = all_values(a.m);
			if (upper)
				REFUSED(odvgp_upper_bound(a.m, a.X, a.Y, &bound, NULL, work, bytes, &info), want);
			else REFUSED(odvgp_fit_q(a.m, a.X, a.Y, NULL, work, bytes, &info), want);
			after = all_values(a.m);
			e = odvgp_model_events(a.m);
			CHECK_BITS(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before);
			CHECK_SAY(a.m->unit[0].jitter[0].raised == 0 && e.jitter_raised == 0 && !e.matrix,
					"upper %d, rows %d: raised by %.3g, %d events", upper, rows,
					(double)a.m->unit[0].jitter[0].raised, (int)e.jitter_raised);
			CHECK(bound == 7);
			free(before), free(after), free(work);
			drop(&a);
		}
}

/*  C = Kg - W^T W of repeated points has a factor only with jitter. Every operation that reads C
    uses the jitter that one factorisation has raised. */
TEST(a_bound_is_the_same_when_looked_at_twice)
{
	static const odvgp_mean_part parts[] = {ODVGP_MEAN_PART_ORTH, ODVGP_MEAN_PART_HYBRID};
	int part, param, step;
	for (part = 0; part < 2; part++)
		for (param = 0; param < 3; param++)
			for (step = 0; step < 3; step++) {
				odvgp_config c = config(20, 2, 2, 6, 4);
				odvgp_real e[2], kl[2], *Z, *R;
				ptrdiff_t i;
				fixture a;
				test_seed = 356;
				c.layer[0].mean_part = parts[part];
				c.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
				c.reproduce.parametrisation = (odvgp_parametrisation)param;
				c.optim.gamma_step = (odvgp_gamma_step)step;
				c.optim.natgrad = 1;
				a = make(&c);
				R = values(&a, "v_sqrt");
				for (i = 0; i < 32; i++) R[i] += i / 4 % 4 >= i % 4 ? (odvgp_real)0.3 : 0;
				Z = values(&a, "Z_gamma");
				/* All points coincide. */
				for (i = 2; i < 8; i++) Z[i] = Z[i % 2];
				CHECK_STATUS(odvgp_set(a.m, "v_sqrt", R, 32, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_set(a.m, "Z_gamma", Z, 8, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 20, &e[0], &kl[0], NULL, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 20, &e[1], &kl[1], NULL, NULL), ODVGP_OK);
				CHECK_SAY(e[0] == e[1] && kl[0] == kl[1],
						"%s, param %d, step %d: bound %.9g, then %.9g; KL %.9g, %.9g",
						part ? "HYBRID" : "ORTH", param, step, (double)e[0], (double)e[1],
						(double)kl[0], (double)kl[1]);
				CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
				free(Z), free(R);
				drop(&a);
			}
}

TEST(causes_are_told)
{
	static const struct {
		const char *words, *kernel;
		int points;
	} list[] = {{"constant columns", "rbf", 0}, {"lengthscale far larger", "rbf(1e6)", 1},
			{"nearly coincide", "rbf", 2}, {"repeated", "matern12", 3}};
	int k, i;
	for (k = 0; k < 4; k++) {
		odvgp_config c = config(10, 2, 1, 20, 0);
		odvgp_real z[40], e;
		odvgp_events events;
		fixture a;
		test_seed = 351;
		c.jitter.absolute = c.jitter.relative = 0;
		c.layer[0].kernel = list[k].kernel;
		a = make(&c);
		for (i = 0; i < 40; i++) z[i] = list[k].points == 0 ? 1 : (odvgp_real)(i * 0.37);
		/* Place ten points near the others, or on them. */
		for (i = 20; i < 40; i++) {
			if (list[k].points == 2)
				z[i] = (odvgp_real)((double)z[i - 20] + BY_PRECISION(1e-9, 1e-5) * i);
			if (list[k].points == 3) z[i] = z[i - 20];
		}
		CHECK_STATUS(odvgp_set(a.m, "Z_beta", z, 40, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 10, &e, NULL, NULL, NULL), ODVGP_OK);
		events = odvgp_model_events(a.m);
		CHECK_SAY(events.jitter_raised > 0 && events.cause && strstr(events.cause, list[k].words),
				"%s: %d events, cause \"%s\"", list[k].words, (int)events.jitter_raised,
				events.cause ? events.cause : "none");
		drop(&a);
	}
}

/* ---- steps that are undone ---- */

/*  Steps that diverge are undone: training never leaves a broken model. */
TEST(wild_steps_are_undone)
{
	static const double rates[] = {0.5, 10, 1e3, 1e6};
	int r, natgrad, positive, undone = 0;
	for (r = 0; r < 4; r++)
		for (natgrad = 0; natgrad < 2; natgrad++)
			for (positive = 0; positive < 2; positive++) {
				odvgp_config c = config(30, 2, 1, 5, 6);
				fixture a;
				odvgp_real *v, e, mean[30], var[30];
				odvgp_status s = ODVGP_OK;
				int i;
				test_seed = 353;
				c.optim.lr = odvgp_constant((odvgp_real)rates[r]);
				c.optim.natgrad = natgrad;
				c.positive_transform = (odvgp_positive_transform)positive;
				c.optim.natgrad_step = odvgp_constant(1);
				a = make(&c);
				for (i = 0; i < 120 && s == ODVGP_OK; i++) {
					odvgp_report report;
					s = odvgp_step(a.m, a.X, a.Y, &report, NULL);
					/* A step fails only if even the last good parameters cannot be evaluated on
                       these rows, for example with a noise variance of 1e-300. */
					CHECK_SAY(s == ODVGP_OK || (s == ODVGP_E_NAN && rates[r] >= 10),
							"rate %g natgrad %d: step %d: %s", rates[r], natgrad, i,
							odvgp_status_text(s));
					if (s == ODVGP_OK)
						CHECK(all_finite(&report.elbo, 1) && all_finite(&report.kl, 1));
				}
				v = all_values(a.m);
				CHECK_SAY(all_finite(v, odvgp_param_count(a.m)),
						"rate %g natgrad %d positive %d: a parameter is not finite", rates[r],
						natgrad, positive);
				s = odvgp_elbo(a.m, a.X, a.Y, 30, &e, NULL, NULL, NULL);
				/* The last step is judged only by the next one or by the predictions below, so a
                   diverging one may still stand here. */
				CHECK_SAY(s == ODVGP_OK ? all_finite(&e, 1) : rates[r] >= 10,
						"rate %g natgrad %d positive %d: bound: %s", rates[r], natgrad, positive,
						odvgp_status_text(s));
				s = odvgp_predict_once(a.m, a.X, 30, mean, var, NULL, NULL);
				CHECK_SAY(s == ODVGP_OK && all_finite(mean, 30) && all_finite(var, 30),
						"rate %g natgrad %d positive %d: predictions: %s", rates[r], natgrad,
						positive, odvgp_status_text(s));
				undone += odvgp_model_events(a.m).step_undone > 0;
				free(v);
				drop(&a);
			}
	/* Some steps were undone. */
	CHECK(undone > 0);
	test_note("%d of 16 runs took steps back", undone);
}

/*  Some finite rows have no finite bound with any parameters. They are refused and nothing
    moves, because the rows are the cause and not the last update. A saved file shows everything
    that could have moved. */
TEST(absurd_rows_move_nothing)
{
	int natgrad, update, param, k;
	for (natgrad = 0; natgrad < 2; natgrad++)
		for (update = 0; update < 3; update++)
			for (param = 0; param < 3; param++) {
				odvgp_config c = config(20, 2, 2, 4, 5);
				fixture a, b;
				size_t bytes, again;
				void *file, *now;
				odvgp_real *Y = NEW(odvgp_real, 40), e, noise = (odvgp_real)0.3,
						   tau = (odvgp_real)0.2, *va, *vb;
				c.optim.natgrad = natgrad;
				c.reproduce.update = (odvgp_update)update;
				c.reproduce.parametrisation = (odvgp_parametrisation)param;
				test_seed = 357;
				a = make(&c);
				test_seed = 357;
				b = make(&c);
				/* Test after some steps, and after a natural step that leaves a value as the
                   caller set it. */
				for (k = 0; k < 2; k++) {
					fixture *each[2];
					int i, j;
					each[0] = &a, each[1] = &b;
					for (i = 0; i < 2; i++) {
						CHECK_STATUS(
								odvgp_fit(each[i]->m, a.X, a.Y, 5, NULL, NULL), ODVGP_OK);
						if (k)
							CHECK_STATUS(odvgp_set(each[i]->m, "noise_variance", &noise, 1, NULL),
									ODVGP_OK);
						if (k)
							CHECK_STATUS(
									odvgp_natgrad_step(each[i]->m, a.X, a.Y, 20, tau, NULL, NULL),
									ODVGP_OK);
					}
					file = save_file(a.m, NULL, "", &bytes);
					for (j = 0; j < 40; j++)
						Y[j] = j == 7 ? (odvgp_real)BY_PRECISION(1e200, 1e30) : a.Y[j];
					REFUSED(odvgp_elbo(a.m, a.X, Y, 20, &e, NULL, NULL, &info), ODVGP_E_NAN);
					REFUSED(odvgp_step_batch(a.m, a.X, Y, 20, NULL, &info), ODVGP_E_NAN);
					REFUSED(odvgp_natgrad_step(a.m, a.X, Y, 20, tau, NULL, &info), ODVGP_E_NAN);
					now = save_file(a.m, NULL, "", &again);
					CHECK_SAY(again == bytes && !memcmp(now, file, bytes),
							"natgrad %d update %d param %d: something moved (%d)", natgrad, update,
							param, k);
					CHECK_INT(odvgp_model_events(a.m).step_undone, 0);
					free(file), free(now);
				}
				CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL), ODVGP_OK);
				CHECK_STATUS(odvgp_fit(b.m, a.X, a.Y, 5, NULL, NULL), ODVGP_OK);
				va = all_values(a.m), vb = all_values(b.m);
				CHECK_BITS(va, vb, (size_t)odvgp_param_count(a.m) * sizeof *va);
				/* The bound is finite, and equally implausible with all parameters. */
				Y[7] = (odvgp_real)BY_PRECISION(1e100, 1e15);
				CHECK_STATUS(odvgp_step_batch(a.m, a.X, Y, 20, NULL, NULL), ODVGP_OK);
				CHECK_INT(odvgp_model_events(a.m).step_undone, 0);
				free(Y), free(va), free(vb);
				drop(&a);
				drop(&b);
			}
}

/*  An update leads to parameters without a finite bound. Reading the bound fails and moves
    nothing; bad rows are reported and move nothing; the next step on good rows undoes the
    update. */
TEST(broken_parameters_wait_for_good_rows)
{
	odvgp_config c = config(20, 2, 1, 4, 5);
	fixture a;
	odvgp_real *good, *v, e, kept;
	const odvgp_slot *ls;
	odvgp_report r;
	odvgp_info info = no_info();
	ptrdiff_t steps;
	test_seed = 358;
	a = make(&c);
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL), ODVGP_OK);
	steps = odvgp_steps_done(a.m);
	good = NEW(odvgp_real, odvgp_param_count(a.m));
	memcpy(good, a.m->good, (size_t)odvgp_param_count(a.m) * sizeof *good);
	ls = odvgp_slot_find(a.m, "kernel.0.lengthscale");
	/* No step produces this value, but it is as bad as those that are undone. */
	a.m->par.theta[ls->offset] = a.m->par.value[ls->offset] = (odvgp_real)NAN;
	gp__touch(a.m, 0);
	CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 20, &e, NULL, NULL, NULL), ODVGP_E_NAN);
	CHECK(a.m->par.theta[ls->offset] != a.m->par.theta[ls->offset]);
	CHECK_INT(odvgp_model_events(a.m).step_undone, 0);
	kept = a.X[5];
	a.X[5] = (odvgp_real)NAN;
	CHECK_STATUS(odvgp_step_batch(a.m, a.X, a.Y, 20, NULL, &info), ODVGP_E_NAN);
	CHECK(info.what && !strcmp(info.what, "X") && info.row == 2);
	CHECK(a.m->par.theta[ls->offset] != a.m->par.theta[ls->offset]);
	a.X[5] = kept;
	CHECK_STATUS(odvgp_step_batch(a.m, a.X, a.Y, 20, &r, NULL), ODVGP_OK);
	CHECK_INT(r.events.step_undone, 1);
	CHECK_INT(r.step, steps + 1);
	/* Evaluate once more. */
	CHECK_BITS(good, a.m->good, (size_t)odvgp_param_count(a.m) * sizeof *good);
	v = all_values(a.m);
	CHECK(all_finite(v, odvgp_param_count(a.m)));
	/* Once step sizes can no longer be halved, the step fails. The last good parameters are
       restored, and training can continue. */
	a.m->state.step_scale = 1e-9;
	a.m->par.theta[ls->offset] = a.m->par.value[ls->offset] = (odvgp_real)NAN;
	gp__touch(a.m, 0);
	CHECK_STATUS(odvgp_step_batch(a.m, a.X, a.Y, 20, &r, &info), ODVGP_E_NAN);
	CHECK_BITS(good, a.m->par.theta, (size_t)odvgp_param_count(a.m) * sizeof *good);
	CHECK_STATUS(odvgp_step_batch(a.m, a.X, a.Y, 20, &r, NULL), ODVGP_OK);
	free(good), free(v);
	drop(&a);
}

/*  If the P of one output is not finite, no step size keeps it valid; then no output moves. */
TEST(natural_steps_move_all_outputs_or_none)
{
	int param, which;
	for (param = 0; param < 3; param++)
		for (which = 0; which < 2; which++) {
			odvgp_config c = config(20, 2, 2, 4, 5);
			fixture a;
			odvgp_real *factor, *old_factor, *before, *after, e;
			ptrdiff_t i;
			test_seed = 359;
			c.reproduce.parametrisation = (odvgp_parametrisation)param;
			a = make(&c);
			CHECK_STATUS(
					odvgp_natgrad_step(a.m, a.X, a.Y, 20, (odvgp_real)0.5, NULL, NULL), ODVGP_OK);
			factor = NEW(odvgp_real, 32), old_factor = NEW(odvgp_real, 32);
			CHECK_STATUS(odvgp_get(a.m, "q_sqrt", factor, 32, NULL), ODVGP_OK);
			memcpy(old_factor, factor, 32 * sizeof *factor);
			for (i = 0; i < 16; i++)
				factor[16 * which + i] = (odvgp_real)(i % 5 ? 0 : BY_PRECISION(1e-200, 1e-30));
			CHECK_STATUS(odvgp_set(a.m, "q_sqrt", factor, 32, NULL), ODVGP_OK);
			/* The bound itself is finite. */
			CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 20, &e, NULL, NULL, NULL), ODVGP_OK);
			before = all_values(a.m);
			memset(&e, PATTERN, sizeof e);
			REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 20, (odvgp_real)0.5, &e, &info),
					ODVGP_E_NOT_PD);
			after = all_values(a.m);
			CHECK_SAY(!memcmp(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before),
					"param %d: an output moved", param);
			CHECK(untouched(&e, sizeof e));
			CHECK_STATUS(odvgp_set(a.m, "q_sqrt", old_factor, 32, NULL), ODVGP_OK);
			CHECK_STATUS(
					odvgp_natgrad_step(a.m, a.X, a.Y, 20, (odvgp_real)0.5, &e, NULL), ODVGP_OK);
			free(factor), free(old_factor), free(before), free(after);
			drop(&a);
		}
}

/*  O(M) repeats a natural step that was too long with a second evaluation; here the rows receive
    a NaN just before it. The step fails without effect, although Adam already has half of a
    gradient, and the next step is that of a model that never saw the NaN. */
static odvgp_model *watched;
static odvgp_real *to_spoil;
static int looked, spoilt;
static void spoil_the_second_evaluation(int node, int reverse)
{
	int stats = (watched->tape.purpose & GP__GIVES_STATS) != 0;
	(void)reverse;
	if (node < 0) return;
	if (stats && looked) *to_spoil = (odvgp_real)NAN, spoilt++;
	looked = !stats;
}

TEST(half_a_gradient_moves_nothing)
{
	int when, tried = 0;
	for (when = 0; when < 2; when++) {
		odvgp_config c = config(30, 1, 1, 6, 0);
		fixture a, b;
		odvgp_report report;
		odvgp_real *before, *after, *twin, kept;
		odvgp_info info = no_info();
		odvgp_status s;
		odvgp_events e, f;
		ptrdiff_t steps, n, k;
		uint64_t nat_steps;
		int i;
		c.layer[0].mean_part = ODVGP_MEAN_PART_FREE, c.layer[0].cov_part = ODVGP_COV_PART_DIAGONAL;
		c.optim.batch = 30;
		c.reproduce.update = when ? ODVGP_UPDATE_NATGRAD_FIRST : ODVGP_UPDATE_JOINT;
		c.reproduce.diag_step = ODVGP_DIAG_STEP_PROJECTED;
		c.optim.natgrad_step = odvgp_constant(1);
		test_seed = 365;
		a = make(&c);
		test_seed = 365;
		b = make(&c);
		n = odvgp_param_count(a.m);
		for (i = 0; i < 30 && !spoilt; i++) {
			kept = a.X[7];
			watched = a.m, to_spoil = &a.X[7], looked = 0;
			before = all_values(a.m);
			e = odvgp_model_events(a.m);
			steps = odvgp_steps_done(a.m);
			nat_steps = a.m->state.nat_steps;
			test_probe = spoil_the_second_evaluation;
			s = odvgp_step(a.m, a.X, a.Y, NULL, &info);
			test_probe = NULL;
			a.X[7] = kept;
			if (!spoilt) CHECK_STATUS(odvgp_step(b.m, b.X, b.Y, NULL, NULL), ODVGP_OK);
			else {
				after = all_values(a.m);
				f = odvgp_model_events(a.m);
				CHECK_SAY(s == ODVGP_E_NAN && info.row == 7, "update %d: \"%s\", row %ld", when,
						odvgp_status_text(s), (long)info.row);
				/* q_diag is trained as its logarithm. */
				for (k = 0; k < n; k++)
					CHECK_NEAR(after[k], before[k], 8 * EPS * fabs((double)before[k]));
				CHECK(odvgp_steps_done(a.m) == steps && a.m->state.nat_steps == nat_steps &&
						f.step_shortened == e.step_shortened);
				free(after);
			}
			free(before);
		}
		CHECK(spoilt);
		tried += spoilt > 0;
		spoilt = 0;
		for (i = 0; i < 3; i++) {
			CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &report, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_step(b.m, b.X, b.Y, NULL, NULL), ODVGP_OK);
		}
		after = all_values(a.m), twin = all_values(b.m);
		CHECK_BITS(after, twin, (size_t)n * sizeof *after);
		free(after), free(twin);
		drop(&a), drop(&b);
	}
	CHECK_INT(tried, 2);
}

/*  An undone step halves the following step sizes. They double again after 100 steps without
    trouble. */
TEST(steps_are_shorter_after_one_that_was_undone)
{
	odvgp_config c = config(20, 2, 1, 4, 3);
	fixture a;
	odvgp_report r;
	int i, found = 0;
	double most = 1e3;
	test_seed = 356;
	c.optim.lr = odvgp_constant((odvgp_real)most);
	a = make(&c);
	for (i = 0; i < 60 && !found; i++) {
		odvgp_status s = odvgp_step(a.m, a.X, a.Y, &r, NULL);
		CHECK_STATUS(s, ODVGP_OK);
		found = r.events.step_undone > 0;
	}
	CHECK(found);
	/* With frozen parameters, nothing can go wrong. */
	CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0, NULL), ODVGP_OK);
	found = (int)r.events.step_undone;
	CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
	CHECK_INT(r.events.step_undone, found);
	CHECK_NEAR(r.lr, most * pow(0.5, found), 1e-3);
	for (i = 0; i < 1100; i++) CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r, NULL), ODVGP_OK);
	CHECK_NEAR(r.lr, most, 1e-3);
	drop(&a);
}

/*  adam_eps = 0 is legal; a gradient of 0 then moves nothing and causes no 0/0. */
TEST(adam_without_eps)
{
	odvgp_config c = config(20, 2, 1, 4, 3);
	fixture a;
	odvgp_real *v;
	test_seed = 354;
	c.optim.natgrad = 0;
	c.optim.adam_eps = 0;
	a = make(&c);
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL), ODVGP_OK);
	v = all_values(a.m);
	CHECK(all_finite(v, odvgp_param_count(a.m)));
	CHECK_INT(odvgp_model_events(a.m).step_undone, 0);
	free(v);
	drop(&a);
}

/*  Steps are so long that e^theta underflows or overflows. Some values are evaluated once more
    before the step ends, others are not. */
TEST(no_step_leaves_a_value_of_0)
{
	int update, positive, undone = 0;
	for (update = 0; update < 3; update++)
		for (positive = 0; positive < 2; positive++) {
			odvgp_config c = config(20, 2, 1, 4, 5);
			fixture a;
			int i, k;
			test_seed = 355;
			c.layer[0].kernel = "linear";
			c.optim.batch = 20;
			/* With jitter, Kb has a factor even if the kernel is 0. */
			c.jitter.absolute = (odvgp_real)1e-3;
			c.reproduce.update = (odvgp_update)update;
			c.positive_transform = (odvgp_positive_transform)positive;
			c.optim.lr = odvgp_constant(1000);
			a = make(&c);
			for (i = 0; i < 20; i++) a.Y[i] = 0;
			CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_set_trainable(a.m, "q_*", 1, NULL), ODVGP_OK);
			CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.0.variance", 1, NULL), ODVGP_OK);
			for (i = 0; i < 5; i++) {
				odvgp_real *v;
				if (!CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK)) break;
				v = all_values(a.m);
				CHECK_SAY(all_finite(v, odvgp_param_count(a.m)),
						"update %d, positive %d, step %d: not finite", update, positive, i);
				for (k = 0; k < odvgp_slot_count(a.m); k++)
					if (odvgp_slot_at(a.m, k)->positive)
						CHECK_SAY(v[odvgp_slot_at(a.m, k)->offset] > 0,
								"update %d, positive %d, step %d: %s is 0", update, positive, i,
								odvgp_slot_at(a.m, k)->name);
				free(v);
			}
			undone += odvgp_model_events(a.m).step_undone > 0;
			drop(&a);
		}
	CHECK_INT(undone, 6);
}

/*  Adam's first step moves a value by the learning rate: 1 - 1. */
TEST(a_root_of_0_has_no_bound)
{
	odvgp_config c = config(20, 2, 1, 4, 0);
	odvgp_real *grad, e = 7;
	fixture a;
	c.optim.natgrad = 0;
	a = make(&c);
	grad = values(&a, "q_sqrt");
	grad[0] = 0;
	CHECK_STATUS(odvgp_set(a.m, "q_sqrt", grad, 16, NULL), ODVGP_OK);
	free(grad);
	grad = NEW(odvgp_real, odvgp_param_count(a.m));
	memset(grad, PATTERN, (size_t)odvgp_param_count(a.m) * sizeof *grad);
	REFUSED(odvgp_elbo(a.m, a.X, a.Y, 20, &e, NULL, grad, &info), ODVGP_E_NAN);
	CHECK(e == 7 && untouched(grad, (size_t)odvgp_param_count(a.m) * sizeof *grad));
	free(grad);
	drop(&a);
}

/*  If a sum of squares overflows, the upper bound is refused and nothing is written. */
TEST(no_upper_bound_is_infinite)
{
	static const double size[] = {
			BY_PRECISION(1e100, 1e18), BY_PRECISION(1e150, 1e19), BY_PRECISION(1e200, 1e30)};
	static const char *const kernel[] = {"rbf", "rbf(1, variance=1) * rq", "rq(alpha=0.6)",
			"matern32(2.5, ard, dims=0) + matern12", "periodic(0.7)"};
	int i, refused = 0;
	for (i = 0; i < 30; i++) {
		odvgp_config c = config(20, 2, 2, 4, i % 2 ? 0 : 3);
		odvgp_real upper = 5, lower = 6;
		odvgp_info info = no_info();
		odvgp_status s;
		fixture a;
		void *work;
		ptrdiff_t j;
		test_seed = 358 + (uint64_t)i;
		c.layer[0].kernel = kernel[i % 5];
		a = make(&c);
		for (j = 0; j < 40; j++)
			a.X[j] *= (odvgp_real)size[i / 5 % 3], a.Y[j] *= (odvgp_real)size[i / 5 % 3];
		if (i < 15) odvgp_init_data(a.m, a.X, a.Y, NULL, NULL);
		work = test_alloc(odvgp_fit_q_scratch(a.m, NULL));
		s = odvgp_upper_bound(
				a.m, a.X, a.Y, &upper, &lower, work, odvgp_fit_q_scratch(a.m, NULL), &info);
		if (s) CHECK(upper == 5 && lower == 6 && info.status == s && info.text[0]);
		else
			CHECK_SAY(all_finite(&upper, 1) && all_finite(&lower, 1),
					"%s, %g: %g above and %g below", c.layer[0].kernel, size[i / 5 % 3],
					(double)upper, (double)lower);
		refused += s != ODVGP_OK;
		free(work);
		drop(&a);
	}
	CHECK(refused > 0);
	test_note("%d of 30 refused", refused);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(repeated_inducing_points_raise_the_jitter);
	RUN(a_raised_jitter_ends);
	RUN(a_raised_jitter_goes_on_after_a_file);
	RUN(past_the_largest_jitter);
	RUN(an_optimum_that_fails_takes_the_jitter_back);
	RUN(a_bound_is_the_same_when_looked_at_twice);
	RUN(causes_are_told);
	RUN(wild_steps_are_undone);
	RUN(absurd_rows_move_nothing);
	RUN(broken_parameters_wait_for_good_rows);
	RUN(natural_steps_move_all_outputs_or_none);
	RUN(half_a_gradient_moves_nothing);
	RUN(steps_are_shorter_after_one_that_was_undone);
	RUN(adam_without_eps);
	RUN(no_step_leaves_a_value_of_0);
	RUN(a_root_of_0_has_no_bound);
	RUN(no_upper_bound_is_infinite);
	return test_end();
}
