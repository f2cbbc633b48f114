/*  The watch: it is asked often, with sizes that make every product ask; it does not change a bit;
    and wherever it says stop, the model is as it was, to the last byte of its file, and goes on as
    if nothing had been. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "hooks.h"

#include "test.h"
#include "models.h"

enum { N = 60, STEPS = 4, INIT = ODVGP_PHASE_COUNT, WARM, FIT_Q, FIT, CALLS };

typedef struct job {
	const char *what;
	const char *settings[8];
	int runs[4]; /* 0: no more */
} job;

static const job jobs[] = {
		{"svgp", {"deep.samples=1"}, {INIT, WARM, FIT_Q, FIT}},
		{"orth", {"mean_part=orth", "M_gamma=9", "optim.batch=20"}, {INIT, WARM, FIT_Q, FIT}},
		{"hybrid", {"mean_part=hybrid", "M_gamma=9", "optim.gamma_step=diagonal"}, {WARM, FIT_Q, FIT}},
		{"solve", {"mean_part=blocks", "cov_part=blocks", "M_gamma=9", "init.gamma=residual"},
				{INIT, WARM, FIT_Q, FIT}},
		{"orth with blocks", {"mean_part=orth", "cov_part=blocks", "M_gamma=9"}, {FIT_Q, FIT}},
		{"o(m)", {"mean_part=free", "cov_part=diagonal", "reproduce.update=joint"}, {WARM, FIT_Q, FIT}},
		{"inverse", {"cov_part=inverse", "optim.natgrad=off"}, {WARM, FIT_Q, FIT}},
		{"free", {"mean_part=free", "M_gamma=9", "optim.natgrad=off"}, {WARM, FIT_Q, FIT}},
		{"natural first", {"reproduce.update=natgrad_first", "optim.batch=25"}, {FIT}},
		{"papers' coordinates", {"reproduce.parametrisation=primal", "init.beta=greedy"},
				{INIT, FIT_Q, FIT}},
		{"farthest", {"init.beta=farthest", "init.hyperparams=ulapane"}, {INIT}},
		{"random rows", {"init.beta=random"}, {INIT, FIT}},
		{"lbfgs", {"optim.kind=lbfgs", "optim.natgrad=off"}, {WARM, FIT}},
		{"collapsed", {"optim.kind=lbfgs", "objective=collapsed"}, {WARM, FIT_Q, FIT}},
		{"tight", {"objective=tight"}, {WARM, FIT_Q, FIT}},
		{"noises", {"lik.noise_per_output=on"}, {WARM, FIT_Q, FIT}},
		{"studentt", {"lik.kind=studentt"}, {INIT, WARM, FIT}},
		{"poisson", {"lik.kind=poisson"}, {INIT, WARM, FIT}},
		{"bernoulli", {"lik.kind=bernoulli"}, {WARM}},
		{"functions", {"functions=2"}, {INIT, WARM, FIT}},
		{"independent", {"independent=on"}, {INIT, FIT}},
		{"deep", {"layers=2", "layer0.D=2", "layer1.D=2", "layer0.P=2", "deep.samples=3"},
				{INIT, FIT}},
		{"near-singular", {"kernel=rbf(1e3)", "jitter.relative=1e-30"}, {FIT_Q, FIT}}};

typedef struct seen {
	int calls, stop;                 /* stop: at this call; 0: never */
	int of_phase[ODVGP_PHASE_COUNT]; /* calls */
	int after;                       /* calls that came after the stop */
	int reports, reported[STEPS]; /* the calls with a report */
	int ended; /* the last step was the training's last */
} seen;

static int see(void *user, const odvgp_progress *at)
{
	seen *s = (seen *)user;
	s->calls++;
	if (s->stop && s->calls > s->stop) s->after++;
	CHECK((unsigned)at->phase < ODVGP_PHASE_COUNT);
	CHECK_SAY(at->done >= 0 && at->done <= at->total, "phase %d: %ld of %ld", (int)at->phase,
			(long)at->done, (long)at->total);
	s->of_phase[at->phase]++;
	if (at->report) {
		if (s->reports < STEPS) s->reported[s->reports] = s->calls;
		s->reports++;
		s->ended = at->report->converged || at->report->stuck;
	}
	CHECK(!at->report || at->phase == ODVGP_PHASE_STEP);
	return s->calls == s->stop;
}

static odvgp_config config_of(const job *j)
{
	odvgp_config c = odvgp_config_defaults(N, 2, 2, 6, 0);
	c.tile = 16;
	c.isa = test_isa();
	c.optim.lr = odvgp_constant((odvgp_real)0.01);
	for (size_t i = 0; i < sizeof j->settings / sizeof *j->settings && j->settings[i]; i++) {
		odvgp_info info;
		CHECK_SAY(odvgp_config_set(&c, j->settings[i], &info) == ODVGP_OK, "%s: %s", j->what,
				info.text);
	}
	return c;
}

static void targets_of(const odvgp_config *c, odvgp_real *X, odvgp_real *Y)
{
	test_seed = 71;
	for (ptrdiff_t i = 0; i < N; i++) {
		X[2 * i] = (odvgp_real)test_between(-2, 2);
		X[2 * i + 1] = (odvgp_real)test_between(-2, 2);
		for (int t = 0; t < 2; t++) {
			double f = sin(2 * (double)X[2 * i] + t) + 0.5 * (double)X[2 * i + 1];
			double y = f + 0.1 * test_normal();
			if (c->lik.kind == ODVGP_LIKELIHOOD_POISSON) y = floor(exp(f));
			if (c->lik.kind == ODVGP_LIKELIHOOD_BERNOULLI) y = f > 0;
			Y[2 * i + t] = (odvgp_real)y;
		}
	}
}

typedef struct file {
	unsigned char *at;
	size_t bytes;
	uint64_t fitted;
} file;

/*  Saving factors what is out of date, which leaves its jitter in the events; it saves what is kept
    from earlier, valid or not. */
static file file_of(odvgp_model *m)
{
	file f;
	if (!m->state.good_valid) gp__zero(m->good, m->par.count);
	for (int i = 0; i < m->units; i++)
		for (int b = 0; b < GP__BLOCKS; b++) {
			const gp__block *block = &m->unit[i].block[b];
			if (m->state.nat_valid >> block->number & 1) continue;
			gp__zero(block->P, m->unit[i].P * block->natural * block->M);
			gp__zero(block->j, m->unit[i].P * block->natural);
		}
	for (int i = 0; i < m->units; i++)
		for (int k = 0; k < GP__JITTERS; k++)
			gp__jitter_moved(&m->tape, &m->unit[i].jitter[k]);
	f.fitted = m->state.fitted;
	m->state.fitted = 1; /* or a model of a bound without q is not saved */
	f.at = save_file(m, NULL, "", &f.bytes);
	m->state.fitted = f.fitted;
	return f;
}

static int same_files(const file *a, const file *b)
{
	return a->bytes == b->bytes && a->fitted == b->fitted && !memcmp(a->at, b->at, a->bytes);
}

typedef struct trial {
	const job *j;
	int run;
	odvgp_real X[2 * N], Y[2 * N];
	odvgp_model *m;
	void *scratch;
	size_t bytes;
} trial;

/*  A model in the state in which the run begins. */
static void trial_begin(trial *t)
{
	odvgp_config c = config_of(t->j);
	odvgp_info info;
	CHECK_SAY(odvgp_model_create(&t->m, &c, t->X, t->Y, NULL, &info) == ODVGP_OK, "%s: %s",
			t->j->what, info.text);
	t->bytes = t->run == WARM    ? odvgp_warm_start_scratch(t->m, NULL, NULL)
			   : t->run == FIT_Q ? odvgp_fit_q_scratch(t->m, NULL)
								 : 0;
	t->scratch = test_alloc(t->bytes);
	if (t->run == FIT || t->run == INIT) return;
	/* a trained model, whose state is more than parameters */
	t->m->warm_due = 0;
	CHECK_STATUS(odvgp_fit(t->m, t->X, t->Y, 2, NULL, NULL), ODVGP_OK);
}

static void trial_end(trial *t)
{
	odvgp_model_free(t->m);
	free(t->scratch);
}

static odvgp_status trial_go(trial *t, const odvgp_watch *watch, odvgp_info *info)
{
	const odvgp_warm few = {0, 0, 5, 0};
	ptrdiff_t left = STEPS - odvgp_steps_done(t->m);
	switch (t->run) {
	case INIT: return odvgp_init_data(t->m, t->X, t->Y, watch, info);
	case WARM: return odvgp_warm_start(t->m, t->X, t->Y, &few, watch, t->scratch, t->bytes, info);
	case FIT_Q: return odvgp_fit_q(t->m, t->X, t->Y, watch, t->scratch, t->bytes, info);
	default: return odvgp_fit(t->m, t->X, t->Y, left, watch, info);
	}
}

static const char *run_names[] = {"init_data", "warm_start", "fit_q", "fit"};

/*  Stops at call k: an error, the model as before (fit: with whole steps), and then the same end. */
static void stop_at(trial *t, int k, const file *before, const file *end)
{
	seen s = {0, k, {0}, 0, 0, {0}, 0};
	odvgp_watch watch = {see, &s};
	odvgp_info info = no_info();
	trial_begin(t);
	int due = t->m->warm_due;
	odvgp_status status = trial_go(t, &watch, &info);
	const char *name = run_names[t->run - INIT];
	CHECK_SAY(status == ODVGP_E_STOPPED, "%s, %s, call %d: %s", t->j->what, name, k,
			odvgp_status_text(status));
	CHECK_SAY(info.status == ODVGP_E_STOPPED && info.what && !strcmp(info.what, "watch"), "%s: %s",
			t->j->what, info.text);
	CHECK_SAY(s.after == 0, "%s, %s: %d calls after the stop", t->j->what, name, s.after);
	CHECK(t->m->tape.blas.watcher == NULL);
	file now = file_of(t->m);
	/* the first of two warm starts may be done; L-BFGS keeps the gradient of a step's start */
	int begun = odvgp_steps_done(t->m) || t->m->warm_due != due ||
				odvgp_model_config(t->m)->optim.kind == ODVGP_OPTIMIZER_LBFGS;
	if (t->run != FIT || !begun)
		CHECK_SAY(same_files(&now, before), "%s, %s, call %d changes the model", t->j->what, name,
				k);
	CHECK_INT(odvgp_steps_done(t->m), t->run == FIT ? s.reports : t->run == INIT ? 0 : 2);
	if (!s.ended) {
		free(now.at);
		status = trial_go(t, NULL, &info);
		CHECK_SAY(status == ODVGP_OK, "%s, %s, call %d: then %s", t->j->what, name, k, info.text);
		now = file_of(t->m);
	}
	CHECK_SAY(same_files(&now, end), "%s, %s: stopped at call %d it ends otherwise", t->j->what,
			name, k);
	free(now.at);
	trial_end(t);
}

static void run_of(const job *j, int run)
{
	trial t;
	odvgp_info info = no_info();
	memset(&t, 0, sizeof t);
	t.j = j, t.run = run;
	odvgp_config c = config_of(j);
	targets_of(&c, t.X, t.Y);
	trial_begin(&t);
	file before = file_of(t.m);
	CHECK_SAY(trial_go(&t, NULL, &info) == ODVGP_OK, "%s, %s: %s", j->what, run_names[run - INIT],
			info.text);
	file end = file_of(t.m);
	trial_end(&t);
	seen s = {0, 0, {0}, 0, 0, {0}, 0};
	odvgp_watch watch = {see, &s};
	trial_begin(&t);
	CHECK_SAY(trial_go(&t, &watch, &info) == ODVGP_OK, "%s: %s", j->what, info.text);
	file watched = file_of(t.m);
	CHECK_SAY(same_files(&end, &watched), "%s, %s: a watch changes the model", j->what,
			run_names[run - INIT]);
	trial_end(&t);
	/* every phase is seen, and more than once where it loops */
	odvgp_phase phase = run == INIT	   ? ODVGP_PHASE_INIT
						: run == WARM  ? ODVGP_PHASE_WARM_LBFGS
						: run == FIT_Q ? ODVGP_PHASE_FIT_Q
									   : ODVGP_PHASE_STEP;
	CHECK_SAY(s.of_phase[phase] > 2, "%s, %s: %d calls", j->what, run_names[run - INIT],
			s.of_phase[phase]);
	int stops = test_size(20, 4), stride = s.calls > stops ? s.calls / stops : 1;
	for (int k = 1; k <= s.calls; k += k < stops / 2 ? 1 : stride) stop_at(&t, k, &before, &end);
	/* the ends of steps: the last calls before what cannot be undone */
	for (int i = 0; i < s.reports && i < STEPS; i += test_size(1, STEPS))
		for (int k = s.reported[i] - test_size(4, 2); k < s.reported[i]; k++)
			if (k > 0) stop_at(&t, k, &before, &end);
	stop_at(&t, s.calls, &before, &end);
	free(before.at), free(end.at), free(watched.at);
}

TEST(a_stop_at_any_call_changes_nothing)
{
	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
		for (int k = 0; k < 4 && jobs[i].runs[k]; k++) run_of(&jobs[i], jobs[i].runs[k]);
}

/*  A watch may use the model after a step, also for another one. */
static int step_within(void *user, const odvgp_progress *at)
{
	trial *t = (trial *)user;
	odvgp_real elbo;
	if (!at->report || at->done > 1) return 0;
	CHECK_STATUS(odvgp_elbo(t->m, t->X, t->Y, N, &elbo, NULL, NULL, NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_step(t->m, t->X, t->Y, NULL, NULL), ODVGP_OK);
	return 0;
}

TEST(a_watch_may_use_the_model_after_a_step)
{
	trial t;
	memset(&t, 0, sizeof t);
	t.j = &jobs[0], t.run = FIT;
	odvgp_config c = config_of(t.j);
	odvgp_watch watch = {step_within, &t};
	targets_of(&c, t.X, t.Y);
	trial_begin(&t);
	CHECK_STATUS(odvgp_fit(t.m, t.X, t.Y, 3, &watch, NULL), ODVGP_OK);
	CHECK_INT(odvgp_steps_done(t.m), 4);
	trial_end(&t);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	test_watch_work = 1, test_watch_slice = 1e3;
	RUN(a_stop_at_any_call_changes_nothing);
	RUN(a_watch_may_use_the_model_after_a_step);
	return test_end();
}
