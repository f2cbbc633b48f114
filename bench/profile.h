/*  profile.h - one training step taken apart: flops done over flops needed, and the time of each
    operation. Part of bench.c.

    A step runs as in odvgp_step, by its three stages: evaluation (the tape), natural step, Adam.
    During the evaluation the tape calls GP__PROBE before and after each operation, which tells
    to which operation flops and time belong. */

/*  Of a node of the tape, forward or in reverse, or of a stage beside the tape. */
typedef struct tally {
	double seconds, flops;
	/* Numbers of pairs. */
	double distances, exponentials;
	long calls;
} tally;

static struct {
	/* [nodes + 1], forward and in reverse. While `nodes` is 0, the stages get all. */
	tally (*node)[2];
	int nodes;
	tally stage[STAGES];
	/* The tally of the work under way. */
	tally *at;
	/* The stage. */
	int now;
	double from;
} probe;

/*  Begins to count for a model. */
static void probe_start(const odvgp_model *m)
{
	memset(&probe, 0, sizeof probe);
	probe.node = (tally(*)[2])reserve(((size_t)m->tape.nodes + 1) * sizeof *probe.node);
	probe.nodes = m->tape.nodes;
}

/*  Ends the count for this model: other models have other nodes. */
static void probe_stop(void)
{
	free(probe.node);
	memset(&probe, 0, sizeof probe);
}

/*  The time up to here goes to the work that was under way. */
static void probe_turn(tally *next)
{
	double t = now();
	if (probe.at) probe.at->seconds += t - probe.from;
	probe.at = next;
	probe.from = t;
	if (next) next->calls++;
}

static void bench_probe(int node, int reverse)
{
	int counted_for = node > 0 && node <= probe.nodes;
	probe_turn(counted_for ? &probe.node[node][reverse] : &probe.stage[probe.now]);
}

static void probe_stage(int stage)
{
	probe.now = stage;
	probe_turn(&probe.stage[stage]);
}

/*  odvgp_step in its stages, for JOINT updates. */
static void step_in_stages(odvgp_model *m, const dataset *r)
{
	odvgp_real expected, kl;
	odvgp_info info;
	int natgrad = gp__uses_natgrad(m);
	gp__wants_list want = {1, natgrad, 0, GP__GIVES_BOUND};
	gp__rows batch = gp__rows_plain(r->X, r->y, m->cfg.optim.batch);
	uint64_t per_epoch = (uint64_t)(r->N / m->cfg.optim.batch);
	probe_stage(AT_EVALUATE);
	batch.permuted = 1;
	batch.epoch = m->state.steps / per_epoch;
	batch.first = (ptrdiff_t)(m->state.steps % per_epoch) * m->cfg.optim.batch;
	gp__sample_columns(m);
	check(gp__evaluate_safely(m, &batch, want, 1, &expected, &kl, &info), "step", &info);
	probe_stage(AT_NATURAL);
	if (natgrad) check(gp__nat_step(m, m->cfg.optim.natgrad_step.end), "natural step", NULL);
	probe_stage(AT_ADAM);
	gp__adam_step(m, m->cfg.optim.lr.end);
	if (!gp__theta_ok(m)) check(ODVGP_E_NAN, "step", NULL);
	m->state.steps++;
	gp__recover(m);
	probe_turn(NULL);
}

/* ---- counting ---- */

/*  A copy of the instruction set's row has kernels that count and call the real ones. They see all
    the work that goes through them. They do not see loops of plain C: sums of squares, the blocks
    of 24 of the factor's adjoint (0.6 % of it at M = 300), O(M B) and O(M^2) arithmetic element by
    element. The flops needed leave the latter out, too. */

/*  The real row. */
static const odvgp__simd *counted;

#define COUNT_KERNELS(NV) \
	static void count_ukr##NV(ptrdiff_t k, odvgp_real alpha, int add, const odvgp_real *a, \
			ptrdiff_t ars, ptrdiff_t acs, const odvgp_real *b, ptrdiff_t bs, odvgp_real *c, \
			ptrdiff_t cs) \
	{ \
		probe.at->flops += 2.0 * counted->MR * NV * counted->lanes * (double)k; \
		counted->ukr[NV - 1](k, alpha, add, a, ars, acs, b, bs, c, cs); \
	} \
	static void count_solve##NV(ptrdiff_t k, const odvgp_real *a, ptrdiff_t ars, ptrdiff_t acs, \
			const odvgp_real *tri, const odvgp_real *x, ptrdiff_t xs, odvgp_real *t, ptrdiff_t ts) \
	{ \
		probe.at->flops += (2.0 * (double)k + counted->MR) * counted->MR * NV * counted->lanes; \
		counted->solve[NV - 1](k, a, ars, acs, tri, x, xs, t, ts); \
	}
COUNT_KERNELS(1)
COUNT_KERNELS(2)
COUNT_KERNELS(3)
COUNT_KERNELS(4)

static ptrdiff_t count_factor(odvgp_real *d, ptrdiff_t rs, ptrdiff_t cs, odvgp_real *tri)
{
	probe.at->flops += counted->MR * counted->MR * counted->MR / 3.0;
	return counted->factor(d, rs, cs, tri);
}
static void count_axpy(ptrdiff_t n, odvgp_real a, const odvgp_real *x, odvgp_real *y)
{
	probe.at->flops += 2.0 * (double)n;
	counted->axpy(n, a, x, y);
}
static odvgp_real count_dot(ptrdiff_t n, const odvgp_real *x, const odvgp_real *y)
{
	probe.at->flops += 2.0 * (double)n;
	return counted->dot(n, x, y);
}
static void count_update(ptrdiff_t n, ptrdiff_t k, const odvgp_real *x, ptrdiff_t ldx,
		ptrdiff_t count, const odvgp_real *f, ptrdiff_t fw, ptrdiff_t fk, odvgp_real *y,
		ptrdiff_t ldy)
{
	probe.at->flops += 2.0 * (double)n * (double)k * (double)count;
	counted->update(n, k, x, ldx, count, f, fw, fk, y, ldy);
}
static void count_dots(ptrdiff_t n, const odvgp_real *x, ptrdiff_t count, const odvgp_real *from,
		const odvgp_real *y, ptrdiff_t ldy, odvgp_real *out)
{
	probe.at->flops += (from ? 3.0 : 2.0) * (double)n * (double)count;
	counted->dots(n, x, count, from, y, ldy, out);
}
/*  Slopes, and the sums for variance and lengthscale. */
static void count_derivative(const gp__slope *a)
{
	probe.at->flops += 6.0 * GP__CHUNK;
	counted->derivative(a);
}
static void count_sqdist(
		ptrdiff_t nd, const odvgp_real *x, const odvgp_real *zt, ptrdiff_t ld, odvgp_real *r2)
{
	probe.at->distances += GP__CHUNK;
	counted->sqdist(nd, x, zt, ld, r2);
}
static void count_radial(int type, odvgp_real v, odvgp_real scale, const odvgp_real *d2,
		odvgp_real *ve, odvgp_real *k, odvgp_real *dk)
{
	if (!(type & GP__E_GIVEN)) probe.at->exponentials += GP__CHUNK;
	counted->radial(type, v, scale, d2, ve, k, dk);
}

static odvgp__simd counting_row(const odvgp__simd *real)
{
	static const gp__ukr ukr[] = {count_ukr1, count_ukr2, count_ukr3, count_ukr4};
	static const gp__solve solve[] = {count_solve1, count_solve2, count_solve3, count_solve4};
	odvgp__simd row = *real;
	counted = real;
	for (int i = 0; i < 4; i++) {
		if (row.ukr[i]) row.ukr[i] = ukr[i];
		if (row.solve[i]) row.solve[i] = solve[i];
	}
	row.factor = count_factor;
	row.axpy = count_axpy;
	row.dot = count_dot;
	row.update = count_update;
	row.dots = count_dots;
	row.derivative = count_derivative;
	row.sqdist = count_sqdist;
	row.radial = count_radial;
	return row;
}

static void print_flops(const char *name, double done, double needed, double all)
{
	if (done == 0 && needed == 0) return;
	printf("    %-22s %11.2f %11.2f", name, 1e-6 * done, 1e-6 * needed);
	if (needed > 0) printf(" %7.3f", done / needed);
	else printf(" %7s", "-");
	printf(" %8.2f %%\n", 100 * (done - needed) / all);
}

static void flops_of(const member *who, const setting *s, const dataset *r)
{
	odvgp_threads serial = {NULL, NULL, 0};
	odvgp_model *m = model_make(who, s, r, &serial);
	odvgp__simd row = counting_row(m->tape.blas.isa);
	need n = flops_needed(who, s);
	double done[GP__OPS][2], all = 0, all_done = 0, distances = 0, exponentials = 0;
	char name[64];
	memset(done, 0, sizeof done);
	probe_start(m);
	m->tape.blas.isa = &row;
	step_in_stages(m, r);
	for (int i = 1; i <= m->tape.nodes; i++)
		for (int pass = 0; pass < 2; pass++) {
			const tally *t = &probe.node[i][pass];
			done[m->tape.node[i].op][pass] += t->flops;
			distances += t->distances;
			exponentials += t->exponentials;
		}
	for (int op = 0; op < GP__OPS; op++)
		for (int pass = 0; pass < 2; pass++) all += n.op[op][pass], all_done += done[op][pass];
	for (int stage = 0; stage < STAGES; stage++)
		all += n.stage[stage], all_done += probe.stage[stage].flops;
	printf("%s, |beta| %td, |gamma| %td, B %td, D %td\n", who->name, s->M,
			who->orth ? s->Mg : (ptrdiff_t)0, s->B, s->D);
	for (int op = 0; op < GP__OPS; op++)
		for (int pass = 0; pass < 2; pass++) {
			snprintf(name, sizeof name, "%s %s", gp__ops[op].name, pass ? "reverse" : "forward");
			print_flops(name, done[op][pass], n.op[op][pass], all);
		}
	print_flops("other evaluation", probe.stage[AT_EVALUATE].flops, 0, all);
	print_flops("natural step", probe.stage[AT_NATURAL].flops, n.stage[AT_NATURAL], all);
	print_flops("adam", probe.stage[AT_ADAM].flops, 0, all);
	print_flops("ALL", all_done, all, all);
	print_flops("distances (pairs)", distances, n.distances, n.distances);
	print_flops("exponentials", exponentials, n.exponentials, n.exponentials);
	fflush(stdout);
	probe_stop();
	odvgp_model_free(m);
}

static void bench_flops(void)
{
	static const int who[] = {3, 2, 0};
	printf("\nFlops of one step, in millions: done, counted at the micro-kernels; "
		   "needed, by formula; excess: (done - needed) in per cent of all that are needed\n"
		   "    %-22s %11s %11s %7s %10s\n",
			"operation", "done", "needed", "ratio", "excess");
	for (int i = 0; i < SETTINGS - !option.large; i++) {
		dataset r = dataset_for(&settings[i]);
		for (int k = 0; k < 3; k++) flops_of(&members[who[k]], &settings[i], &r);
		if (!i) flops_of(&solve_gp, &settings[i], &r);
		dataset_free(&r);
	}
}

/* ---- time ---- */

typedef struct profile_line {
	char name[64];
	double forward, reverse;
} profile_line;

static int line_order(const void *a, const void *b)
{
	double x = ((const profile_line *)a)->forward + ((const profile_line *)a)->reverse,
		   y = ((const profile_line *)b)->forward + ((const profile_line *)b)->reverse;
	return (x < y) - (x > y);
}

/*  Writes the operation and a size: of a kernel the numbers of points on both sides, else the size
    of the result. */
static void line_name(const gp__node *nd, char *name, size_t size)
{
	ptrdiff_t rows = nd->rows, cols = nd->cols;
	if (nd->op == GP__KERNEL || nd->op == GP__KERNEL_VEC) {
		rows = nd->in[1]->rows;
		cols = nd->in[2]->rows;
	}
	snprintf(name, size, "%-11s %td x %td", gp__ops[nd->op].name, rows, cols);
}

static void print_line(const profile_line *l, double step)
{
	double both = l->forward + l->reverse;
	printf("    %-26s %9.1f %9.1f %9.1f %11.3f\n", l->name, 100 * l->forward / step,
			100 * l->reverse / step, 100 * both / step, 1e3 * both);
}

static profile_line stage_line(const char *name, double seconds)
{
	profile_line l;
	snprintf(l.name, sizeof l.name, "%s", name);
	l.forward = seconds;
	l.reverse = 0;
	return l;
}

/*  Times the steps of a model, and frees it. */
static void profile_model(
		odvgp_model *m, const char *name, const setting *s, const dataset *r, int threads)
{
	profile_line rest = stage_line("other operations", 0);
	int steps = s->M < 1000 ? 5 * option.repeats : option.repeats, count = 0;
	double all = 0, tape = 0;
	profile_line *lines = (profile_line *)reserve((size_t)m->tape.nodes * sizeof *lines);
	step_in_stages(m, r);
	probe_start(m);
	for (int i = 0; i < steps; i++) step_in_stages(m, r);
	for (int i = 1; i <= m->tape.nodes; i++) {
		profile_line *l = &lines[count];
		l->forward = probe.node[i][FORWARD].seconds / steps;
		l->reverse = probe.node[i][REVERSE].seconds / steps;
		tape += l->forward + l->reverse;
		line_name(&m->tape.node[i], l->name, sizeof l->name);
		count++;
	}
	all = tape;
	for (int i = 0; i < STAGES; i++) all += probe.stage[i].seconds / steps;
	qsort(lines, (size_t)count, sizeof *lines, line_order);
	printf("%s, |beta| %td, |gamma| %td, B %td, D %td, %d thread%s: %.2f ms, mean of %d steps\n",
			name, s->M, m->cfg.layer[0].M_gamma, s->B, s->D, threads, threads > 1 ? "s" : "",
			1e3 * all, steps);
	for (int i = 0; i < count; i++) {
		if (lines[i].forward + lines[i].reverse >= 0.004 * all) print_line(&lines[i], all);
		else rest.forward += lines[i].forward, rest.reverse += lines[i].reverse;
	}
	print_line(&rest, all);
	profile_line beside[STAGES + 1];
	beside[0] = stage_line("operations together", tape);
	beside[1] = stage_line("batch, zeroing, checks", probe.stage[AT_EVALUATE].seconds / steps);
	beside[2] = stage_line("natural step", probe.stage[AT_NATURAL].seconds / steps);
	beside[3] = stage_line("adam", probe.stage[AT_ADAM].seconds / steps);
	for (int i = 0; i < STAGES + 1; i++)
		printf("    %-26s %9s %9s %9.1f %11.3f\n", beside[i].name, "", "",
				100 * beside[i].forward / all, 1e3 * beside[i].forward);
	fflush(stdout);
	free(lines);
	probe_stop();
	odvgp_model_free(m);
}

static void profile_of(const member *who, const setting *s, const dataset *r, int threads)
{
	crew c = crew_start(threads);
	profile_model(model_make(who, s, r, &c.hook), who->name, s, r, threads);
	crew_stop(&c);
}

static void bench_profile(void)
{
	printf("\nTime of one step, ORTHNAT and SOLVE-GP, by operation, per cent of the step; "
		   "below 0.4 %% under other\n"
		   "    %-26s %9s %9s %9s %11s\n",
			"operation", "forward", "reverse", "both", "ms");
	for (int i = 0; i < SETTINGS - !option.large; i++) {
		dataset r = dataset_for(&settings[i]);
		for (int threads = option.first_threads; threads <= option.last_threads; threads++)
			profile_of(&members[3], &settings[i], &r, threads);
		dataset_free(&r);
	}
	static const setting blocks = {300, 300, 1024, 8};
	dataset r = dataset_for(&blocks);
	for (int threads = option.first_threads; threads <= option.last_threads; threads++)
		profile_of(&solve_gp, &blocks, &r, threads);
	dataset_free(&r);
}
