/*  peers.h - other libraries to compare with. The program loads them while it runs and leaves out
    those that are not installed. Part of bench.c.

    The peers are OpenBLAS (Debian's libopenblas-dev) and BLIS (libblis-dev), both in this process,
    each seeing only its own symbols. A release that is older than the processor may pick kernels
    for a smaller one, and so may a variable in the environment: OpenBLAS 0.3.21 takes those for
    Haswell where it does not know the model. The honest peer is the better one, so where ours uses
    AVX-512, the program also tries OpenBLAS's kernels for SkylakeX and keeps the faster ones.
    --openblas-core and --blis-arch decide instead. A BLIS that was built without any kernels of its
    own says "generic": it is no yardstick. */
#include <dlfcn.h>

typedef void (*peer_gemm)(int order, int ta, int tb, int m, int n, int k, odvgp_real alpha,
		const odvgp_real *A, int lda, const odvgp_real *B, int ldb, odvgp_real beta, odvgp_real *C,
		int ldc);
typedef void (*peer_syrk)(int order, int uplo, int trans, int n, int k, odvgp_real alpha,
		const odvgp_real *A, int lda, odvgp_real beta, odvgp_real *C, int ldc);
typedef void (*peer_trsm)(int order, int side, int uplo, int trans, int diag, int m, int n,
		odvgp_real alpha, const odvgp_real *A, int lda, odvgp_real *B, int ldb);
/*  Also of lauum. */
typedef void (*peer_potrf)(
		const char *uplo, const int *n, odvgp_real *A, const int *lda, int *info);
typedef void (*peer_trtri)(
		const char *uplo, const char *diag, const int *n, odvgp_real *A, const int *lda, int *info);

/*  The CBLAS's numbers. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, LOWER = 122, NON_UNIT = 131, LEFT = 141 };

typedef struct peer {
	const char *name;
	/* The name of the kernels that it took. */
	char kernels[64];
	void *library;
	void (*set_threads_int)(int);
	void (*set_threads_long)(ptrdiff_t);
	peer_gemm gemm;
	peer_syrk syrk;
	peer_trsm trsm;
	peer_potrf potrf, lauum;
	peer_trtri trtri;
} peer;

enum { PEERS = 2 };
static peer peers[PEERS] = {{.name = "OpenBLAS"}, {.name = "BLIS"}};
/*  From the command line. */
static const char *openblas_core, *blis_arch;

#ifdef ODVGP_FLOAT
#define PEER_NAME(before, after) before "s" after
#else
#define PEER_NAME(before, after) before "d" after
#endif

/*  Finds a function by name. ISO C has no cast from dlsym's pointer to a pointer to a function. */
static void peer_find(const peer *p, const char *symbol, void *function)
{
	void *found = dlsym(p->library, symbol);
	memcpy(function, &found, sizeof found);
}

static void peer_link(peer *p)
{
	peer_find(p, PEER_NAME("cblas_", "gemm"), &p->gemm);
	peer_find(p, PEER_NAME("cblas_", "syrk"), &p->syrk);
	peer_find(p, PEER_NAME("cblas_", "trsm"), &p->trsm);
	/* BLIS has no LAPACK, though its file may be linked to one. */
	if (p != &peers[0]) return;
	peer_find(p, PEER_NAME("", "potrf_"), &p->potrf);
	peer_find(p, PEER_NAME("", "lauum_"), &p->lauum);
	peer_find(p, PEER_NAME("", "trtri_"), &p->trtri);
}

static void openblas_open(peer *p)
{
	char *(*corename)(void) = NULL;
	p->library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!p->library) p->library = dlopen("libopenblas.so", RTLD_NOW | RTLD_LOCAL);
	if (!p->library) return;
	peer_find(p, "openblas_get_corename", &corename);
	snprintf(p->kernels, sizeof p->kernels, "%s", corename ? corename() : "unknown kernels");
	peer_find(p, "openblas_set_num_threads", &p->set_threads_int);
}

static void blis_open(peer *p)
{
	int (*query)(void) = NULL;
	const char *(*text)(int) = NULL;
	p->library = dlopen("libblis.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!p->library) p->library = dlopen("libblis.so", RTLD_NOW | RTLD_LOCAL);
	if (!p->library) return;
	peer_find(p, "bli_arch_query_id", &query);
	peer_find(p, "bli_arch_string", &text);
	snprintf(
			p->kernels, sizeof p->kernels, "%s", query && text ? text(query()) : "unknown kernels");
	peer_find(p, "bli_thread_set_num_threads", &p->set_threads_long);
}

/*  GFLOP/s of products of 512 rows on one thread. */
static double openblas_rate(peer *p)
{
	const int n = 512;
	double best = 1e300;
	odvgp_real *A = reserve_reals(3 * (ptrdiff_t)n * n), *B = A + n * n, *C = B + n * n;
	peer_link(p);
	if (p->set_threads_int) p->set_threads_int(1);
	for (int r = 0; r < 9 && p->gemm; r++) {
		double from = now();
		p->gemm(ROW_MAJOR, NO_TRANS, NO_TRANS, n, n, n, 1, A, n, B, n, 0, C, n);
		best = fmin(best, now() - from);
	}
	free(A);
	return 2e-9 * n * n * n / best;
}

static void openblas_reopen(peer *p, const char *core)
{
	setenv("OPENBLAS_CORETYPE", core, 1);
	dlclose(p->library);
	openblas_open(p);
}

/*  Takes the kernels for SkylakeX if they are faster than those that OpenBLAS took by itself. */
static void openblas_choose(peer *p)
{
	char own[sizeof p->kernels];
	snprintf(own, sizeof own, "%s", p->kernels);
	if (!p->library || !strcmp(own, "SkylakeX") || !strcmp(own, "Cooperlake") ||
			!strcmp(own, "Sapphirerapids"))
		return;
	double by_itself = openblas_rate(p);
	openblas_reopen(p, "SkylakeX");
	if (p->library && openblas_rate(p) < by_itself) openblas_reopen(p, own);
}

static void peers_open(odvgp_isa ours)
{
	if (openblas_core) setenv("OPENBLAS_CORETYPE", openblas_core, 1);
	if (blis_arch) setenv("BLIS_ARCH_TYPE", blis_arch, 1);
	/* The program never asks for more than two threads. */
	setenv("OPENBLAS_NUM_THREADS", "2", 0);
	setenv("BLIS_NUM_THREADS", "2", 0);
	openblas_open(&peers[0]);
	if (ours == ODVGP_ISA_AVX512 && !openblas_core) openblas_choose(&peers[0]);
	blis_open(&peers[1]);
	for (int i = 0; i < PEERS; i++)
		if (peers[i].library) peer_link(&peers[i]);
	printf("\nPeers:");
	for (int i = 0; i < PEERS; i++) {
		if (peers[i].library) printf("%s %s (%s)", i ? "," : "", peers[i].name, peers[i].kernels);
		else printf("%s %s not installed", i ? "," : "", peers[i].name);
	}
	printf("\n");
}

static void peer_threads(const peer *p, int threads)
{
	if (p->set_threads_int) p->set_threads_int(threads);
	if (p->set_threads_long) p->set_threads_long(threads);
}
