/*  Checks that the tables of a model have room for any config. */
#ifndef TABLES_H
#define TABLES_H

/*  Measuring once or twice counts what the model then holds: slots, parameters, nodes, and bytes
    up to the scratch at the end of the block. */
static void check_counts(
		const odvgp_model *m, const odvgp_config *c, size_t bytes, const char *where)
{
	gp__draft draft;
	odvgp_model *d = gp__draft_start(&draft, gp__make_from_config, c);
	int time, i;
	gp__model_config(d, c);
	for (time = 0; time < 2; time++) {
		size_t again = 0;
		CHECK_STATUS(gp__model_measure(d, &again, NULL), ODVGP_OK);
		CHECK_SAY(again == bytes, "%s: %lu bytes, then %lu", where, (unsigned long)bytes,
				(unsigned long)again);
		CHECK_SAY(d->par.slots == m->par.slots && d->par.count == m->par.count &&
						  d->par.positive == m->par.positive,
				"%s: %d slots of %d are filled", where, m->par.slots, d->par.slots);
		CHECK_SAY(d->tape.nodes == m->tape.nodes, "%s: %d nodes of %d are filled", where,
				m->tape.nodes, d->tape.nodes);
		CHECK_SAY(d->tape.scratch.used == m->tape.scratch.used &&
						  d->tape.scratch_bytes == m->tape.scratch_bytes,
				"%s: %lu + %lu bytes of %lu + %lu are taken", where,
				(unsigned long)m->tape.scratch.used, (unsigned long)m->tape.scratch_bytes,
				(unsigned long)d->tape.scratch.used, (unsigned long)d->tape.scratch_bytes);
		CHECK_SAY(!d->par.slot && !d->par.state && !d->tape.node, "%s: a table without a block",
				where);
	}
	CHECK_SAY(m->tape.scratch.used + m->tape.scratch_bytes <= bytes,
			"%s: scratch ends behind the block", where);
	for (i = 1; i <= m->tape.nodes; i++)
		CHECK_SAY(m->tape.node[i].of == &m->unit[0] && (m->tape.node[i].v || m->tape.node[i].base ||
															   m->tape.node[i].op == GP__INPUT),
				"%s: node %d is not filled", where, i);
}

/*  Checks that slots have distinct names and readable values, and follow each other in memory. */
static void check_slots(const odvgp_model *m, ptrdiff_t D, const char *where)
{
	const odvgp_slot *t;
	ptrdiff_t end = 0;
	int s, k;
	for (s = 0; s < odvgp_slot_count(m); s++) {
		t = odvgp_slot_at(m, s);
		CHECK_SAY(odvgp_slot_find(m, t->name) == t, "%s: slot %d has the name of another: %s",
				where, s, t->name);
		CHECK_SAY(t->offset == end, "%s: %s does not begin where the slot before ends", where,
				t->name);
		end += t->count;
	}
	CHECK_INT(odvgp_param_count(m), end);
	for (k = 0; k < (int)m->unit[0].kernel.base_kernels; k++) {
		char name[40];
		odvgp_real *one = NEW(odvgp_real, D);
		sprintf(name, "kernel.%d.lengthscale", k);
		t = odvgp_slot_find(m, name);
		if (CHECK_SAY(t != NULL, "%s: no slot %s", where, name))
			CHECK(odvgp_get(m, name, one, t->count, NULL) == ODVGP_OK && one[0] == 1);
		free(one);
	}
}
/*  Makes a model of the config, if it exists, checks its tables, and takes a step. Counts models,
    those with q_diag, and those with both slots of a block on gamma and a linear mean function. */
static void check_tables(
		const odvgp_config *c, const char *where, int *models, int *diagonal, int *blocks)
{
	odvgp_real *X, *Y;
	ptrdiff_t i, D = c->layer[0].D, P = c->layer[0].P;
	odvgp_info info;
	odvgp_model *m = NULL;
	size_t bytes = 0;
	void *block;
	odvgp_status status = sized(&bytes, odvgp_model_size(c, &info), &info);
	if (status == ODVGP_E_UNSUPPORTED && strncmp(info.text, "model", 5)) return;
	if (!CHECK_SAY(status == ODVGP_OK, "%s: %s", where, info.text)) return;
	X = NEW(odvgp_real, c->N * D), Y = NEW(odvgp_real, c->N * P);
	test_seed = 1;
	for (i = 0; i < c->N * D; i++) X[i] = (odvgp_real)test_between(-1, 1);
	for (i = 0; i < c->N * P; i++) Y[i] = (odvgp_real)test_between(-1, 1);
	block = test_alloc(bytes);
	if (CHECK_SAY(odvgp_model_init(&m, c, block, bytes, &info) == ODVGP_OK, "%s: %s", where,
				info.text)) {
		++*models;
		*diagonal += odvgp_slot_find(m, "q_diag") != NULL;
		*blocks += c->layer[0].mean_function == ODVGP_MEAN_FUNCTION_LINEAR &&
				   odvgp_slot_find(m, "v_sqrt") && odvgp_slot_find(m, "v_mu");
		check_counts(m, c, bytes, where);
		check_slots(m, D, where);
		CHECK_SAY(odvgp_init_data(m, X, Y, NULL, &info) == ODVGP_OK, "%s: %s", where, info.text);
		CHECK_SAY(odvgp_step(m, X, Y, NULL, &info) == ODVGP_OK, "%s: %s", where, info.text);
	}
	free(block), free(X), free(Y);
}
/*  Makes every pair of parts with every parametrisation, coordinates, mean function and objective,
    and a kernel with the most values. */
static void tables_hold(const char *kernel)
{
	enum { N = 8, D = 2, P = 2, M = 3, MG = 2 };
	/* The sizes of the six choices, in the order of `choice`. */
	const int sizes[6] = {GP__COUNT(gp__mean_parts), GP__COUNT(gp__cov_parts),
			ODVGP_PARAMETRISATION_A_BETA + 1, ODVGP_GAMMA_COORDS_DIFFERENTIATED + 1,
			ODVGP_MEAN_FUNCTION_LINEAR + 1, ODVGP_OBJECTIVE_COUNT};
	int models = 0, diagonal = 0, blocks = 0, number, count = 1, i;
	for (i = 0; i < 6; i++) count *= sizes[i];
	for (number = 0; number < count; number++) {
		int choice[6], rest = number, exact;
		char where[100];
		odvgp_config c;
		for (i = 5; i >= 0; i--) choice[i] = rest % sizes[i], rest /= sizes[i];
		exact = choice[5] == ODVGP_OBJECTIVE_EXACT;
		c = odvgp_config_defaults(N, D, P, exact ? N : M, exact ? 0 : MG);
		c.layer[0].kernel = kernel;
		c.layer[0].mean_part = (odvgp_mean_part)choice[0];
		c.layer[0].cov_part = (odvgp_cov_part)choice[1];
		c.reproduce.parametrisation = (odvgp_parametrisation)choice[2];
		c.reproduce.gamma_coords = (odvgp_gamma_coords)choice[3];
		c.layer[0].mean_function = (odvgp_mean_function)choice[4];
		c.objective = (odvgp_objective)choice[5];
		c.optim.natgrad = 0;
		c.jitter.relative = (odvgp_real)1e-3;
		c.isa = test_isa();
		sprintf(where, "mean %d cov %d param %d coords %d function %d objective %d", choice[0],
				choice[1], choice[2], choice[3], choice[4], choice[5]);
		check_tables(&c, where, &models, &diagonal, &blocks);
	}
	CHECK(models > 100 && diagonal > 0 && blocks > 0);
}

#endif
