/*  peak.h - the most multiply-adds a second that the machine was seen to do, for each instruction
    set. Part of bench.c.

    Twelve independent chains hide the latency of the units; they start from different numbers, or
    the compiler would keep only one. Without FMA a multiplication and an addition count as two
    flops, too. Plain C reaches what the compiler makes of it. */

/* clang-format off */
#define PEAK_CHAINS(X, S) \
    X(S, 0) X(S, 1) X(S, 2) X(S, 3) X(S, 4) X(S, 5) X(S, 6) X(S, 7) X(S, 8) X(S, 9) \
    X(S, 10) X(S, 11)
/* clang-format on */
#define PEAK_START(S, i) GP__V_##S c##i = GP__SET1_##S(GP__R(1 + 0.01 * i));
#define PEAK_STEP(S, i)  c##i = GP__FMA_##S(c##i, a, b);
#define PEAK_SUM(S, i)   sum = sum + c##i;
#define PEAK(TARGET, S) \
	TARGET static double peak_##S(long n) \
	{ \
		GP__V_##S a = GP__SET1_##S(GP__R(0.999999)), b = GP__SET1_##S(GP__R(1e-6)), sum = b; \
		odvgp_real out[GP__LANES_##S]; \
		PEAK_CHAINS(PEAK_START, S) \
		for (; n > 0; n--) { \
			PEAK_CHAINS(PEAK_STEP, S) \
		} \
		PEAK_CHAINS(PEAK_SUM, S) \
		GP__STORE_##S(out, sum); \
		return (double)out[0]; \
	}

PEAK(, c)
#ifdef GP__SSE2
PEAK(, sse2)
#endif
#ifdef GP__NEON
PEAK(, neon)
#endif
#ifdef GP__AVX2
PEAK(GP__AVX2, avx2)
#endif
#ifdef GP__AVX512
PEAK(GP__AVX512, avx512)
#endif

typedef struct peak_row {
	odvgp_isa id;
	const char *name;
	double (*run)(long n);
	int lanes;
} peak_row;

static const peak_row peaks[] = {
#ifdef GP__AVX512
		{ODVGP_ISA_AVX512, "avx512: 512 bit, FMA", peak_avx512, GP__LANES_avx512},
#endif
#ifdef GP__AVX2
		{ODVGP_ISA_AVX2, "avx2: 256 bit, FMA", peak_avx2, GP__LANES_avx2},
#endif
#ifdef GP__SSE2
		{ODVGP_ISA_SSE2, "sse2: 128 bit, multiply and add", peak_sse2, GP__LANES_sse2},
#endif
#ifdef GP__NEON
		{ODVGP_ISA_NEON, "neon: 128 bit", peak_neon, GP__LANES_neon},
#endif
		{ODVGP_ISA_C, "c: plain C", peak_c, 1},
};
enum { PEAKS = (int)(sizeof peaks / sizeof *peaks), PEAK_TURNS = 500000, PEAK_TRIES = 8 };

static void peak_task(void *arg, int i)
{
	static volatile double sink;
	double x = ((const peak_row *)arg)->run(PEAK_TURNS);
	if (i == 0) sink = x;
	(void)sink;
}

/*  GFLOP/s of all threads together, at work at the same time: the best of some tries of about a
    millisecond, one after the other. While the best stays below `enough`, more tries follow,
    because another program may hold a core for a while. */
static double peak_of(
		const peak_row *row, const odvgp_threads *hook, int threads, int tries, double enough)
{
	double best = 0;
	peak_row copy = *row;
	for (int r = 0; r < tries || (r < 5 * tries && best < enough); r++) {
		double from = now();
		gp__run(hook, threads, peak_task, &copy);
		best = fmax(best, 1e-9 * 24.0 * PEAK_TURNS * row->lanes * threads / (now() - from));
	}
	return best;
}

/*  The same for an instruction set, at this moment. Plain C may use whatever the compiler's target
    has by default, which is the 128 bit row on x86-64 and aarch64. */
static double peak_now(odvgp_isa id, const odvgp_threads *hook, int threads)
{
	double peak = 0;
	for (int i = 0; i < PEAKS; i++) {
		int basic = id == ODVGP_ISA_C &&
					(peaks[i].id == ODVGP_ISA_SSE2 || peaks[i].id == ODVGP_ISA_NEON);
		if (peaks[i].id == id || basic)
			peak = fmax(peak, peak_of(&peaks[i], hook, threads, PEAK_TRIES, 0));
	}
	return peak;
}

/*  GHz of this thread's core: a chain of multiplications, each of which takes three cycles on
    x86-64 and on the larger ARM cores; elsewhere only changes of this number mean something. */
static inline double clock_now(void)
{
	enum { CHAIN = 100000 };
	double best = 0;
	for (int r = 0; r < PEAK_TRIES; r++) {
		volatile uint64_t seed = 3;
		uint64_t x = seed;
		double from = now();
		for (int i = 0; i < CHAIN; i++) x *= x;
		best = fmax(best, 3e-9 * CHAIN / (now() - from));
		seed = x;
	}
	return best;
}

/*  Peak and clock before and after what stands between two calls. */
typedef struct gauge {
	const odvgp_threads *hook;
	int threads;
	double peak, clock;
} gauge;

static inline gauge gauge_start(const odvgp_threads *hook, int threads)
{
	gauge g = {hook, threads, peak_now(option.isa_used, hook, threads), clock_now()};
	return g;
}

/*  Ends a row: a mark if the peaks differ by more than a tenth. */
static inline const char *peaks_mark(double least, double most)
{
	return most > 1.1 * least ? " !" : "";
}
static inline const char *gauge_mark(const gauge *g)
{
	double peak = peak_now(option.isa_used, g->hook, g->threads);
	return peaks_mark(fmin(peak, g->peak), fmax(peak, g->peak));
}

static inline void gauge_print(const gauge *g)
{
	double peak = peak_now(option.isa_used, g->hook, g->threads);
	printf("    peak before and after: %.1f, %.1f GFLOP/s; clock: %.2f, %.2f GHz%s\n", g->peak,
			peak, g->clock, clock_now(), peaks_mark(fmin(peak, g->peak), fmax(peak, g->peak)));
	fflush(stdout);
}

static double peak_measure(const peak_row *row, int threads, double enough)
{
	crew c = crew_start(threads);
	double best = peak_of(row, &c.hook, threads, 10 * PEAK_TRIES, enough);
	crew_stop(&c);
	return best;
}

static inline void bench_peak(void)
{
	int scarce = 0;
	printf("\nMeasured peak, GFLOP/s\n    %-34s %9s %9s\n", "", "1 thread", "2 threads");
	for (int i = 0; i < PEAKS; i++) {
		if (!gp__cpu_has(peaks[i].id)) continue;
		double one = peak_measure(&peaks[i], 1, 0), two = peak_measure(&peaks[i], 2, 1.9 * one);
		scarce |= peaks[i].id == option.isa_used && two < 1.5 * one;
		printf("    %-34s %9.1f %9.1f\n", peaks[i].name, one, two);
	}
	if (scarce)
		printf("    Two threads did not do much more than one: fewer than two cores are free, "
			   "and the figures for two say little.\n");
	fflush(stdout);
}
