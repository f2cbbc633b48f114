/*  algebra.h - linear algebra beside OpenBLAS and BLIS, taking turns. Part of bench.c.

    All work on the same row-major data; where a peer counts by columns, its upper triangle is our
    lower one, in the same memory. A routine that works in place gets its input again before every
    call, outside the clock. The program compares the results at the smaller sizes. */

typedef struct problem {
	odvgp_blas blas;
	ptrdiff_t n, cols;
	/* Two random matrices, [n,n] and [n,cols], and a result, [n,cols]. */
	odvgp_real *A, *B, *C;
	/* A lower triangle and a positive definite matrix, [n,n]. */
	odvgp_real *L, *S;
} problem;

static void ours_gemm_nn(problem *p)
{
	odvgp_gemm(&p->blas, 0, 0, p->n, p->n, p->n, 1, p->A, p->n, p->B, p->n, 0, p->C, p->n);
}
static void ours_gemm_nt(problem *p)
{
	odvgp_gemm(&p->blas, 0, 1, p->n, p->n, p->n, 1, p->A, p->n, p->B, p->n, 0, p->C, p->n);
}
static void ours_syrk(problem *p)
{
	odvgp_syrk(&p->blas, 0, p->n, p->n, 1, p->A, p->n, NULL, 0, p->C, p->n);
}
static void ours_potrf(problem *p)
{
	check(odvgp_potrf(&p->blas, p->n, p->C, p->n, NULL), "potrf", NULL);
}
static void ours_trsm(problem *p)
{
	odvgp_trsm(&p->blas, 0, 0, p->n, p->cols, p->L, p->n, p->C, p->cols);
}
static void ours_trtri(problem *p) { odvgp_trtri(&p->blas, p->n, p->C, p->n); }
static void ours_lauum(problem *p) { odvgp_lauum(&p->blas, p->n, p->L, p->n, p->C, p->n); }

/*  This function and the next ones return 0 where the peer has no such routine. */
static int peer_gemm_by(const peer *q, problem *p, int tb)
{
	int n = (int)p->n;
	if (q->gemm) q->gemm(ROW_MAJOR, NO_TRANS, tb, n, n, n, 1, p->A, n, p->B, n, 0, p->C, n);
	return q->gemm != NULL;
}
static int peer_gemm_nn(const peer *q, problem *p) { return peer_gemm_by(q, p, NO_TRANS); }
static int peer_gemm_nt(const peer *q, problem *p) { return peer_gemm_by(q, p, TRANS); }
static int peer_syrk_run(const peer *q, problem *p)
{
	int n = (int)p->n;
	if (q->syrk) q->syrk(ROW_MAJOR, LOWER, NO_TRANS, n, n, 1, p->A, n, 0, p->C, n);
	return q->syrk != NULL;
}
static int peer_potrf_run(const peer *q, problem *p)
{
	int n = (int)p->n, info = 0;
	if (q->potrf) q->potrf("U", &n, p->C, &n, &info);
	return q->potrf != NULL && !info;
}
static int peer_trsm_run(const peer *q, problem *p)
{
	int n = (int)p->n, cols = (int)p->cols;
	if (q->trsm)
		q->trsm(ROW_MAJOR, LEFT, LOWER, NO_TRANS, NON_UNIT, n, cols, 1, p->L, n, p->C, cols);
	return q->trsm != NULL;
}
static int peer_trtri_run(const peer *q, problem *p)
{
	int n = (int)p->n, info = 0;
	if (q->trtri) q->trtri("U", "N", &n, p->C, &n, &info);
	return q->trtri != NULL && !info;
}
static int peer_lauum_run(const peer *q, problem *p)
{
	int n = (int)p->n, info = 0;
	if (q->lauum) q->lauum("U", &n, p->C, &n, &info);
	return q->lauum != NULL && !info;
}

enum { NOTHING, FROM_B, FROM_L, FROM_S };

typedef struct routine {
	const char *name;
	void (*ours)(problem *p);
	int (*theirs)(const peer *q, problem *p);
	/* The contents of C before a call. They differ because our lauum does not work in place. */
	int restore, restore_theirs;
	/* In units of n^2 cols. */
	double flops;
	/* 0: all sizes, square. */
	ptrdiff_t n, cols;
} routine;

static const routine routines[] = {
		{"gemm NN", ours_gemm_nn, peer_gemm_nn, NOTHING, NOTHING, 2, 0, 0},
		{"gemm NT", ours_gemm_nt, peer_gemm_nt, NOTHING, NOTHING, 2, 0, 0},
		{"syrk", ours_syrk, peer_syrk_run, NOTHING, NOTHING, 1, 0, 0},
		{"potrf", ours_potrf, peer_potrf_run, FROM_S, FROM_S, 1.0 / 3, 0, 0},
		{"trsm", ours_trsm, peer_trsm_run, FROM_B, FROM_B, 1, 0, 0},
		{"trsm 300", ours_trsm, peer_trsm_run, FROM_B, FROM_B, 1, 300, 1024},
		{"trtri", ours_trtri, peer_trtri_run, FROM_L, FROM_L, 1.0 / 3, 0, 0},
		{"lauum", ours_lauum, peer_lauum_run, NOTHING, FROM_L, 1.0 / 3, 0, 0},
};
enum { ROUTINES = 8, WORKERS = PEERS + 1, COMPARED = 300 };
static const double A_TURN = 3e-3, HALF_A_SECOND = 0.5, WARM = 0.03;

static void problem_make(problem *p, ptrdiff_t n, ptrdiff_t cols)
{
	p->n = n;
	p->cols = cols;
	p->A = reserve_reals(n * n);
	p->L = reserve_reals(n * n);
	p->S = reserve_reals(n * n);
	p->B = reserve_reals(n * cols);
	p->C = reserve_reals(n * cols);
	for (ptrdiff_t i = 0; i < n; i++)
		for (ptrdiff_t j = 0; j < n; j++) {
			p->A[i * n + j] = (odvgp_real)(uniform() - 0.5);
			p->L[i * n + j] = i == j ? 2 : j < i ? (odvgp_real)((uniform() - 0.5) / (double)n) : 0;
			p->S[i * n + j] =
					i == j ? (odvgp_real)n : 1 / (1 + (odvgp_real)(i > j ? i - j : j - i));
		}
	for (ptrdiff_t i = 0; i < n * cols; i++) p->B[i] = (odvgp_real)(uniform() - 0.5);
}

static void problem_free(problem *p)
{
	free(p->A);
	free(p->B);
	free(p->C);
	free(p->L);
	free(p->S);
}

static void problem_restore(problem *p, int what)
{
	const odvgp_real *from = what == FROM_B ? p->B : what == FROM_L ? p->L : p->S;
	if (what != NOTHING) memcpy(p->C, from, (size_t)(p->n * p->cols) * sizeof *from);
}

/*  q NULL: ours. Returns 0 where the peer has no such routine. */
static int routine_run(const routine *r, const peer *q, problem *p)
{
	if (q) return r->theirs(q, p);
	r->ours(p);
	return 1;
}

/*  Seconds for one call, the mean of `count`. */
static double routine_time(const routine *r, const peer *q, problem *p, int count, double clock)
{
	int restore = q ? r->restore_theirs : r->restore;
	double from = now(), sum = 0;
	if (restore == NOTHING) {
		for (int i = 0; i < count; i++) routine_run(r, q, p);
		return (now() - from) / count;
	}
	for (int i = 0; i < count; i++) {
		problem_restore(p, restore);
		from = now();
		routine_run(r, q, p);
		sum += now() - from - clock;
	}
	return sum / count;
}

/*  Says so if the peer's result differs from ours: compares the lower triangles, relative to the
    largest entry. */
static void routine_compare(const routine *r, const peer *q, problem *p)
{
	odvgp_real *ours = reserve_reals(p->n * p->cols);
	double largest = 0, error = 0;
	problem_restore(p, r->restore);
	r->ours(p);
	memcpy(ours, p->C, (size_t)(p->n * p->cols) * sizeof *ours);
	problem_restore(p, r->restore_theirs);
	routine_run(r, q, p);
	for (ptrdiff_t i = 0; i < p->n; i++)
		for (ptrdiff_t j = 0; j <= i; j++) {
			double x = (double)ours[i * p->cols + j];
			largest = fmax(largest, fabs(x));
			error = fmax(error, fabs(x - (double)p->C[i * p->cols + j]));
		}
	if (!(error <= 1e3 * GP__EPS * largest))
		printf("%s, n = %td: %s gives something else\n", r->name, p->n, q->name);
	free(ours);
}

/*  Prints one line of the table: best and median GFLOP/s of each library.

    A turn consists of as many calls as fit in a few milliseconds. A library that has used up half a
    second gets no more turns, so that a slow peer does not make all wait.

    With more than one thread, a peer's workers go on spinning for a while, up to a tenth of a
    second with OpenBLAS, and would take the next library's core: hence the pause. After it a worker
    may wake on its waker's core, and the system needs some milliseconds of load to see that another
    core is free: hence calls for a while before the clock runs.

    The peak is measured right before and right after each of our turns, and the larger of the two
    counts for this turn, because the processor's speed changes during the benchmark. */
static void routine_line(const routine *r, problem *p, int threads, double clock)
{
	double work = r->flops * (double)p->n * (double)p->n * (double)p->cols,
		   rate[WORKERS][MOST_REPEATS], best = 0;
	double peak = 0, least = HUGE_VAL, most = 0, of_peak[MOST_REPEATS];
	double once[WORKERS], spent[WORKERS] = {0};
	int there[WORKERS], turns[WORKERS] = {0}, peer_before = 0;
	for (int w = 0; w < WORKERS; w++) {
		const peer *q = w ? &peers[w - 1] : NULL;
		if (q && q->library) peer_threads(q, threads);
		problem_restore(p, q ? r->restore_theirs : r->restore);
		/* The first run touches the memory. */
		there[w] = (!q || q->library) && routine_run(r, q, p);
		if (!there[w]) continue;
		peer_before |= w > 0;
		if (q && p->n <= COMPARED) routine_compare(r, q, p);
		once[w] = work > 1e9 ? 1 : routine_time(r, q, p, 1, clock);
	}
	for (int k = 0; k < option.repeats; k++)
		for (int w = 0; w < WORKERS; w++) {
			const peer *q = w ? &peers[w - 1] : NULL;
			if (!there[w] || (k > 0 && spent[w] > HALF_A_SECOND)) continue;
			int count = (int)fmax(1, fmin(20000, A_TURN / fmax(once[w], 1e-9)));
			if (threads > 1 && peer_before) pause_ms(120);
			peer_before = w > 0;
			double from = now();
			do routine_time(r, q, p, 1, clock);
			while (threads > 1 && now() - from < WARM);
			if (w == 0) peak = peak_now(p->blas.isa->id, &p->blas.threads, threads);
			least = fmin(least, w ? least : peak);
			from = now();
			rate[w][turns[w]++] = 1e-9 * work / routine_time(r, q, p, count, clock);
			spent[w] += now() - from;
			if (w > 0) continue;
			peak = fmax(peak, peak_now(p->blas.isa->id, &p->blas.threads, threads));
			of_peak[turns[0] - 1] = rate[0][turns[0] - 1] / peak;
			most = fmax(most, peak);
		}
	printf("%-9s %5td %8d", r->name, p->n, threads);
	for (int w = 0; w < WORKERS; w++) {
		if (!there[w]) {
			printf(" %8s %8s", "-", "-");
			continue;
		}
		qsort(rate[w], (size_t)turns[w], sizeof rate[w][0], by_size);
		printf(" %8.1f %8.1f", rate[w][turns[w] - 1], rate[w][turns[w] / 2]);
		if (w == 0) {
			qsort(of_peak, (size_t)turns[0], sizeof of_peak[0], by_size);
			printf(" %7.1f %%", 100 * of_peak[turns[0] / 2]);
		} else best = fmax(best, rate[w][turns[w] - 1]);
	}
	if (best > 0) printf(" %7.2f%s\n", rate[0][turns[0] - 1] / best, peaks_mark(least, most));
	else printf(" %7s%s\n", "-", peaks_mark(least, most));
	fflush(stdout);
}

static void bench_algebra(void)
{
	double clock = clock_cost();
	printf("\nLinear algebra, GFLOP/s: best and median of %d repeats, fewer where they take long; "
		   "of peak: median over the repeats\n"
		   "of our rate over the peak that the same threads reach right before or after; "
		   "ratio: our best over the peers' best\n"
		   "%-9s %5s %8s %17s %9s %17s %17s\n%-9s %5s %8s %8s %8s %9s %8s %8s %8s %8s %7s\n",
			option.repeats, "", "", "", "odvgp.h", "", peers[0].name, peers[1].name, "routine", "n",
			"threads", "best", "median", "of peak", "best", "median", "best", "median", "ratio");
	for (int threads = option.first_threads; threads <= option.last_threads; threads++) {
		crew c = crew_start(threads);
		size_t bytes = odvgp_blas_size(&c.hook, NULL);
		void *block = reserve(bytes);
		for (int i = 0; i < ROUTINES; i++) {
			const routine *r = &routines[i];
			if (option.routine && strcmp(option.routine, r->name)) continue;
			for (int s = 0; s < (r->n ? 1 : option.sizes); s++) {
				problem p;
				check(odvgp_blas_init(&p.blas, &c.hook, option.isa, block, bytes, NULL),
						"instruction set", NULL);
				problem_make(&p, r->n ? r->n : option.size[s], r->n ? r->cols : option.size[s]);
				routine_line(r, &p, threads, clock);
				problem_free(&p);
			}
		}
		free(block);
		crew_stop(&c);
	}
}
