/*  Checks that the tables of a model have room for any config. */
#ifndef TABLES_H
#define TABLES_H

/*  Measuring once or twice counts what the model then holds: slots, parameters, nodes, and bytes
    up to the scratch at the end of the block. */
static void check_counts(
        const odvgp_model *m, const odvgp_config *c, size_t bytes, const char *where)
{
    odvgp__draft draft;
    const odvgp_model *d = &draft.model;
    double hyp[ODVGP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
    int time, i;
    CHECK_STATUS(odvgp__model_config(odvgp__model_start(&draft.model, &draft.unit), c, hyp, NULL),
            ODVGP_OK);
    for (time = 0; time < 2; time++) {
        size_t again = 0;
        CHECK_STATUS(odvgp__model_measure(&draft.model, &again, NULL), ODVGP_OK);
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
                                                               m->tape.node[i].op == ODVGP__INPUT),
                "%s: node %d is not filled", where, i);
}

/*  Makes every pair of parts with every parametrisation, coordinates, mean function and
    objective, and a kernel with the most values. Slots have distinct names and readable values,
    and follow each other in memory; a step and a prediction work. */
static void tables_hold(const char *kernel)
{
    enum { N = 8, D = 2, M = 3, MG = 2 };
    const ptrdiff_t P = 2;
    odvgp_real X[N * D], Y[N * 2];
    int made = 0, i, mean, cov, param, coords, function, objective, diagonal = 0, solve = 0;
    for (i = 0; i < N * D; i++) X[i] = (odvgp_real)test_between(-1, 1);
    for (i = 0; i < N * 2; i++) Y[i] = (odvgp_real)test_between(-1, 1);
    for (mean = 0; mean < ODVGP__COUNT(odvgp__mean_parts); mean++)
        for (cov = 0; cov < ODVGP__COUNT(odvgp__cov_parts); cov++)
            for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA;
                    param++)
                for (coords = ODVGP_GAMMA_COORDS_PLAIN; coords <= ODVGP_GAMMA_COORDS_DIFFERENTIATED;
                        coords++)
                    for (function = ODVGP_MEAN_FUNCTION_ZERO;
                            function <= ODVGP_MEAN_FUNCTION_LINEAR; function++)
                        for (objective = ODVGP_OBJECTIVE_ELBO; objective <= ODVGP_OBJECTIVE_EXACT;
                                objective++) {
                            odvgp_config c = odvgp_config_defaults(N, D, P,
                                    objective == ODVGP_OBJECTIVE_EXACT ? N : M,
                                    objective == ODVGP_OBJECTIVE_EXACT ? 0 : MG);
                            odvgp_info info;
                            odvgp_model *m = NULL;
                            ptrdiff_t end = 0;
                            size_t bytes = 0;
                            void *block;
                            char where[100];
                            int s, k;
                            c.layer[0].kernel = kernel;
                            c.layer[0].mean_part = (odvgp_mean_part)mean;
                            c.layer[0].cov_part = (odvgp_cov_part)cov;
                            c.reproduce.parametrisation = (odvgp_parametrisation)param;
                            c.reproduce.gamma_coords = (odvgp_gamma_coords)coords;
                            c.layer[0].mean_function = (odvgp_mean_function)function;
                            c.objective = (odvgp_objective)objective;
                            c.optim.natgrad = 0;
                            c.jitter.relative = (odvgp_real)1e-3;
                            c.isa = test_isa();
                            sprintf(where,
                                    "mean %d cov %d param %d coords %d function %d objective %d",
                                    mean, cov, param, coords, function, objective);
                            odvgp_status status = odvgp_model_size(&c, &bytes, &info);
                            if (status == ODVGP_E_UNSUPPORTED && strncmp(info.text, "model", 5))
                                continue;
                            if (!CHECK_SAY(status == ODVGP_OK, "%s: %s", where, info.text))
                                continue;
                            block = test_alloc(bytes);
                            if (CHECK_SAY(odvgp_model_init(&m, &c, block, bytes, &info) == ODVGP_OK,
                                        "%s: %s", where, info.text)) {
                                made++;
                                diagonal += odvgp_slot_find(m, "q_diag") != NULL;
                                solve += function == ODVGP_MEAN_FUNCTION_LINEAR &&
                                         odvgp_slot_find(m, "v_sqrt") && odvgp_slot_find(m, "v_mu");
                                check_counts(m, &c, bytes, where);
                                for (s = 0; s < odvgp_slot_count(m); s++) {
                                    const odvgp_slot *slot = odvgp_slot_at(m, s);
                                    CHECK_SAY(odvgp_slot_find(m, slot->name) == slot,
                                            "%s: slot %d has the name of another: %s", where, s,
                                            slot->name);
                                    CHECK_SAY(slot->offset == end,
                                            "%s: %s does not begin where the slot before ends",
                                            where, slot->name);
                                    end += slot->count;
                                }
                                CHECK_INT(odvgp_param_count(m), end);
                                for (k = 0; k < (int)m->unit[0].kernel.base_kernels; k++) {
                                    char name[40];
                                    odvgp_real one[D] = {0};
                                    sprintf(name, "kernel.%d.lengthscale", k);
                                    const odvgp_slot *slot = odvgp_slot_find(m, name);
                                    if (CHECK_SAY(slot != NULL, "%s: no slot %s", where, name))
                                        CHECK(odvgp_get(m, name, one, slot->count) == ODVGP_OK &&
                                                one[0] == 1);
                                }
                                CHECK_SAY(odvgp_init_data(m, X, Y, &info) == ODVGP_OK, "%s: %s",
                                        where, info.text);
                                CHECK_SAY(odvgp_step(m, X, Y, NULL, &info) == ODVGP_OK, "%s: %s",
                                        where, info.text);
                            }
                            free(block);
                        }
    CHECK(made > 100 && diagonal > 0 && solve > 0);
}

#endif
