/*  The POSIX pool, the same bits for any number of threads, and the promise of a small stack. */
#define _POSIX_C_SOURCE 200809L
#define ODVGP_USE_PTHREADS
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include <pthread.h>

enum { ROWS = 4200, INPUTS = 3, OUTPUTS = 2, BETA = 60, GAMMA = 150, NEW = 90 };

typedef struct run_result {
    odvgp_real mean[OUTPUTS * NEW], var[OUTPUTS * NEW];
    odvgp_real *theta;
    ptrdiff_t count;
    odvgp_status status;
} run_result;

static void make_data(odvgp_real *X, odvgp_real *Y) {
    ptrdiff_t i;
    for (i = 0; i < ROWS * INPUTS; i++) X[i] = (odvgp_real)odvgp__normal(1, 77, (uint64_t)i);
    for (i = 0; i < ROWS; i++) {
        Y[2 * i] = (odvgp_real)(sin((double)X[3 * i]) + 0.1 * odvgp__normal(2, 77, (uint64_t)i));
        Y[2 * i + 1] = (odvgp_real)cos((double)X[3 * i + 1]);
    }
}

/*  Train a little, predict, keep all parameters. */
static int by_kernel; /* how the model is started: by distances, or by the kernel's variances */
static run_result train(const odvgp_threads *threads) {
    static odvgp_real X[ROWS * INPUTS], Y[ROWS * OUTPUTS];
    run_result r;
    size_t bytes = 0, size;
    odvgp_model *m;
    const odvgp_predictor *p = NULL;
    odvgp_config cfg = odvgp_config_defaults(ROWS, INPUTS, OUTPUTS, BETA, GAMMA);
    int i;
    memset(&r, 0, sizeof r);
    make_data(X, Y);
    cfg.batch = 300;
    cfg.tile = 128;
    cfg.gamma_batch = 20;
    cfg.threads = *threads;
    cfg.init_beta = by_kernel ? ODVGP_INIT_GREEDY : ODVGP_INIT_KMEANS;
    cfg.init_gamma = by_kernel ? ODVGP_GAMMA_RESIDUAL : ODVGP_GAMMA_RANDOM;
    cfg.isa = test_isa();
    r.status = odvgp_model_size(&cfg, &bytes, NULL);
    void *block = malloc(bytes);
    if (!r.status) r.status = odvgp_model_init(&m, &cfg, block, bytes, NULL);
    if (!r.status) r.status = odvgp_init_data(m, X, Y, NULL);
    if (!r.status) r.status = odvgp_fit(m, X, Y, 12, NULL, NULL);
    if (r.status) return r;
    r.count = odvgp_param_count(m);
    r.theta = (odvgp_real *)calloc((size_t)r.count, sizeof *r.theta);
    for (i = 0; i < odvgp_slot_count(m); i++) {
        const odvgp_slot *slot = odvgp_slot_at(m, i);
        r.status |= odvgp_get(m, slot->name, r.theta + slot->offset, slot->count);
    }
    size = odvgp_predictor_size(m);
    void *frozen = malloc(size);
    if (!r.status) r.status = odvgp_freeze(m, NULL, frozen, size, &p, NULL);
    size = odvgp_predict_scratch(p, 32);
    void *scratch = calloc(1, size);
    if (!r.status) r.status = odvgp_predict(p, X, NEW, r.mean, r.var, NULL, scratch, size);
    free(scratch);
    free(frozen);
    free(block);
    return r;
}

static run_result train_in_pool(int count) {
    odvgp_threads hook;
    odvgp_pool *pool = NULL;
    run_result r;
    size_t size = odvgp_pool_size(count);
    void *block = malloc(size);
    memset(&r, 0, sizeof r);
    r.status = odvgp_pool_start(&pool, count, block, size, &hook);
    if (!r.status) r = train(&hook);
    odvgp_pool_stop(pool);
    free(block);
    return r;
}

TEST(the_same_bits_for_1_2_and_7_threads) {
    static const int counts[] = {1, 2, 7};
    odvgp_threads serial = {NULL, NULL, 0};
    int i;
    for (by_kernel = 0; by_kernel < 2; by_kernel++) {
        run_result want = train(&serial);
        CHECK(want.status == ODVGP_OK);
        for (i = 0; i < 3; i++) {
            run_result got = train_in_pool(counts[i]);
            CHECK(got.status == ODVGP_OK && got.count == want.count);
            CHECK(got.theta && !memcmp(got.theta, want.theta, (size_t)want.count * sizeof *want.theta));
            CHECK(!memcmp(got.mean, want.mean, sizeof want.mean));
            CHECK(!memcmp(got.var, want.var, sizeof want.var));
            free(got.theta);
        }
        free(want.theta);
    }
}

static void count_call(void *arg, int i) { __atomic_add_fetch((int *)arg + i, 1, __ATOMIC_SEQ_CST); }

TEST(the_pool_calls_every_task_once) {
    odvgp_threads hook;
    odvgp_pool *pool;
    int calls[64], n, i, round;
    size_t size = odvgp_pool_size(3);
    void *block = malloc(size);
    CHECK(odvgp_pool_start(&pool, 3, block, size, &hook) == ODVGP_OK);
    for (round = 0; round < 300; round++) {
        n = round % 64 + 1;
        memset(calls, 0, sizeof calls);
        hook.run(hook.user, n, count_call, calls);
        for (i = 0; i < 64; i++) CHECK(calls[i] == (i < n));
    }
    odvgp_pool_stop(pool);
    free(block);
}

TEST(the_pool_refuses_what_it_cannot_do) {
    odvgp_threads hook;
    odvgp_pool *pool;
    size_t size = odvgp_pool_size(2);
    void *block = malloc(size);
    CHECK(odvgp_pool_start(NULL, 2, block, size, &hook) == ODVGP_E_ARG);
    CHECK(odvgp_pool_start(&pool, 0, block, size, &hook) == ODVGP_E_ARG);
    CHECK(odvgp_pool_start(&pool, 2, NULL, size, &hook) == ODVGP_E_ARG);
    CHECK(odvgp_pool_start(&pool, 2, block, size - 1, &hook) == ODVGP_E_MEMORY);
    odvgp_pool_stop(NULL);
    free(block);
}

/*  Sanitizers need more stack than the code itself. */
#if defined(__SANITIZE_ADDRESS__)
#define STACK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define STACK_SANITIZED 1
#endif
#endif

static void *train_thread(void *arg) {
    odvgp_threads serial = {NULL, NULL, 0};
    *(run_result *)arg = train(&serial);
    return NULL;
}

/*  All of it in a thread of 80 KiB: the manual promises 64 KiB for the library, the rest is for this test's frames and the system's. Where
    threads must have more (128 KiB on 64-bit ARM), it is less of a test. */
TEST(a_small_stack_is_enough) {
#ifdef STACK_SANITIZED
    SKIP("sanitizers use stack of their own");
#else
    static run_result r;
    pthread_attr_t attributes;
    pthread_t thread;
    size_t stack = 80 * 1024;
#ifdef PTHREAD_STACK_MIN
    if (stack < (size_t)PTHREAD_STACK_MIN) stack = (size_t)PTHREAD_STACK_MIN;
#endif
    memset(&r, 0, sizeof r);
    r.status = ODVGP_E_MEMORY;
    by_kernel = 1; /* what takes more */
    CHECK(!pthread_attr_init(&attributes));
    CHECK(!pthread_attr_setstacksize(&attributes, stack));
    CHECK(!pthread_create(&thread, &attributes, train_thread, &r));
    CHECK(!pthread_join(thread, NULL));
    CHECK(r.status == ODVGP_OK);
    pthread_attr_destroy(&attributes);
    free(r.theta);
#endif
}

int main(int argc, char **argv) {
    test_begin(argc, argv);
    RUN(the_same_bits_for_1_2_and_7_threads);
    RUN(the_pool_calls_every_task_once);
    RUN(the_pool_refuses_what_it_cannot_do);
    RUN(a_small_stack_is_enough);
    return test_end();
}
