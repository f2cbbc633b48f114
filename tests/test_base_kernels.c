/*  Two builds of the library in one program, for kernels of up to eight and of up to two terms:
    one predicts with what the other freezes, or refuses it. tests/base_kernels_two.c is the
    second build. */
#define ODVGP_STATIC
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "base_kernels.h"

enum { N = 30, ROWS = 12 };

static const struct {
    const char *kernel;
    int terms;
} kernels[] = {
        {"matern52(ard)", 1},
        {"rbf(0.7) + white(0.01)", 2},
        {"constant(0.5) + rq(1, alpha=2)", 2},
        {"periodic(1.5, period=2, dims=0) * linear(dims=1)", 2},
        {"polynomial(0.1, degree=3) + rbf(1, ard, dims=1)", 2},
        {"rbf(0.7) + matern32(2, dims=0) + white(0.01)", 3},
        {"rbf * matern12 + constant * linear(ard) + rq + white + periodic(2) + matern52(ard)", 8},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

typedef struct {
    odvgp_model *m;
    odvgp_real X[2 * N], Y[2 * N], mean[2 * ROWS], var[2 * ROWS];
    void *block, *file;
    size_t bytes, file_bytes;
    odvgp_server server;
} frozen;

static frozen freeze(int k)
{
    frozen f;
    odvgp_config c = odvgp_config_defaults(N, 2, 2, 6, 9);
    void *scratch;
    size_t need;
    int i;
    memset(&f, 0, sizeof f);
    test_seed = 700 + (uint64_t)k;
    c.layer[0].kernel = kernels[k].kernel;
    c.jitter.relative = (odvgp_real)1e-4;
    c.isa = test_isa();
    for (i = 0; i < 2 * N; i++)
        f.X[i] = (odvgp_real)test_between(-2, 2), f.Y[i] = (odvgp_real)sin((double)f.X[i]);
    if (!CHECK_STATUS(odvgp_model_create(&f.m, &c, f.X, f.Y, NULL, NULL), ODVGP_OK)) exit(1);
    CHECK_STATUS(odvgp_fit(f.m, f.X, f.Y, 10, NULL, NULL, NULL), ODVGP_OK);
    f.bytes = odvgp_predictor_size(f.m);
    f.block = test_alloc(f.bytes);
    CHECK_STATUS(serve(f.m, NULL, f.block, f.bytes, &f.server, NULL), ODVGP_OK);
    need = odvgp_predict_scratch(&f.server, ROWS);
    scratch = test_alloc(need);
    CHECK_STATUS(odvgp_predict(&f.server, f.X, ROWS, f.mean, f.var, NULL, scratch, need), ODVGP_OK);
    free(scratch);
    f.file_bytes = odvgp_save_size(f.m, 0);
    f.file = test_alloc(f.file_bytes);
    CHECK_STATUS(odvgp_save(f.m, NULL, NULL, 0, f.file, f.file_bytes, NULL), ODVGP_OK);
    return f;
}
static void drop_frozen(frozen *f)
{
    free(f->block), free(f->file);
    odvgp_model_free(f->m);
}
TEST(a_build_for_fewer_terms_predicts_the_same_bits)
{
    int k, from_file;
    for (k = 0; k < KERNELS; k++) {
        frozen f = freeze(k);
        for (from_file = 0; from_file < 2 && kernels[k].terms <= 2; from_file++) {
            odvgp_server server;
            odvgp_real mean[2 * ROWS], var[2 * ROWS];
            odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
            void *block = test_alloc(f.bytes);
            odvgp_status s = from_file
                                     ? two_from_file(f.file, f.file_bytes, test_isa(), block,
                                               f.bytes, &server, &info)
                                     : two_from_block(f.block, f.bytes, test_isa(), &server, &info);
            if (CHECK_SAY(s == ODVGP_OK, "%s: %s", kernels[k].kernel, info.text)) {
                CHECK_INT(server.D, 2);
                CHECK_INT(server.P, 2);
                CHECK_STATUS(two_predict(&server, f.X, ROWS, mean, var), ODVGP_OK);
                CHECK_BITS(mean, f.mean, sizeof mean);
                CHECK_BITS(var, f.var, sizeof var);
            }
            free(block);
        }
        drop_frozen(&f);
    }
}
TEST(a_build_for_fewer_terms_refuses_more_of_them)
{
    int k, from_file;
    for (k = 0; k < KERNELS; k++) {
        frozen f = freeze(k);
        for (from_file = 0; from_file < 2 && kernels[k].terms > 2; from_file++) {
            odvgp_server server, before;
            odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
            void *block = test_alloc(f.bytes);
            odvgp_status s;
            memset(&server, 0x5a, sizeof server);
            before = server;
            s = from_file ? two_from_file(f.file, f.file_bytes, test_isa(), block, f.bytes, &server,
                                    &info)
                          : two_from_block(f.block, f.bytes, test_isa(), &server, &info);
            CHECK_STATUS(s, ODVGP_E_UNSUPPORTED);
            CHECK_SAY(strstr(info.text, "ODVGP_MAX_BASE_KERNELS") != NULL, "the sentence is \"%s\"",
                    info.text);
            CHECK_NEAR(info.value, kernels[k].terms, 0);
            CHECK_BITS(&server, &before, sizeof server);
            free(block);
        }
        drop_frozen(&f);
    }
}
/*  If the other build supports a model, training there gives the same bits; otherwise it refuses
    the model with a sentence. */
TEST(a_build_for_fewer_terms_trains_on_or_refuses)
{
    int k;
    for (k = 0; k < KERNELS; k++) {
        frozen f = freeze(k);
        odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
        void *again = test_alloc(f.file_bytes), *want = test_alloc(f.file_bytes);
        odvgp_status s = two_train(f.file, f.file_bytes, test_isa(), f.X, f.Y, 5, again, &info);
        if (kernels[k].terms > 2) {
            CHECK_STATUS(s, ODVGP_E_UNSUPPORTED);
            CHECK_SAY(strstr(info.text, "ODVGP_MAX_BASE_KERNELS") != NULL, "the sentence is \"%s\"",
                    info.text);
            CHECK_NEAR(info.value, kernels[k].terms, 0);
        } else if (CHECK_SAY(s == ODVGP_OK, "%s: %s", kernels[k].kernel, info.text)) {
            CHECK_STATUS(odvgp_fit(f.m, f.X, f.Y, 5, NULL, NULL, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_save(f.m, NULL, NULL, 0, want, f.file_bytes, NULL), ODVGP_OK);
            CHECK_BITS(again, want, f.file_bytes);
        }
        free(again), free(want);
        drop_frozen(&f);
    }
}

int main(int argc, char **argv)
{
    test_begin(argc, argv);
    RUN(a_build_for_fewer_terms_predicts_the_same_bits);
    RUN(a_build_for_fewer_terms_refuses_more_of_them);
    RUN(a_build_for_fewer_terms_trains_on_or_refuses);
    return test_end();
}
