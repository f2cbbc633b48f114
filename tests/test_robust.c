/*  Errors and difficult input: bad arguments, bad data, small blocks, failing allocators,
    damaged files, extreme numbers. Bad input is refused with a status and a sentence, and
    outputs keep their contents. Difficult but legal input works, and events report what
    happened. */
#include <stdlib.h>
#if defined(__unix__) || defined(__APPLE__)
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
/*  Counts the calls of malloc that the library makes. */
static int allocations;
static void *counted_malloc(size_t bytes)
{
    allocations++;
    return malloc(bytes);
}
static void counted_free(void *p) { free(p); }
/*  Is called before each operation of an evaluation. */
static void (*probe)(void);
#define ODVGP__PROBE(node, reverse) (probe && (node) >= 0 ? probe() : (void)0)
#define malloc                      counted_malloc
#define free                        counted_free
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#undef malloc
#undef free
#include "test.h"
#include "models.h"
#include "tables.h"

/* ---- bad configs ---- */

typedef struct change {
    const char *words;
    size_t at;
    enum { SIZE, INT, REAL, SCHEDULE_END, SCHEDULE_START, SCHEDULE_STEPS } type;
    double value;
    /* The expected status; ODVGP_OK stands for any status except ODVGP_OK. */
    odvgp_status want;
} change;
#define AT(field) offsetof(odvgp_config, field)

TEST(bad_configs_are_refused)
{
    static const change list[] = {
            {"N = 0", AT(N), SIZE, 0, ODVGP_E_SIZE},
            {"N < 0", AT(N), SIZE, -1, ODVGP_E_SIZE},
            {"N absurd", AT(N), SIZE, 9e18, ODVGP_E_SIZE},
            {"D = 0", AT(layer[0].D), SIZE, 0, ODVGP_E_SIZE},
            {"D < 0", AT(layer[0].D), SIZE, -5, ODVGP_E_SIZE},
            {"D absurd", AT(layer[0].D), SIZE, 9e18, ODVGP_E_SIZE},
            {"D above memory", AT(layer[0].D), SIZE, 1e11, ODVGP_E_SIZE},
            {"P = 0", AT(layer[0].P), SIZE, 0, ODVGP_E_SIZE},
            {"P absurd", AT(layer[0].P), SIZE, 9e18, ODVGP_E_SIZE},
            {"P large", AT(layer[0].P), SIZE, 1e10, ODVGP_E_SIZE},
            {"M = 0", AT(layer[0].M), SIZE, 0, ODVGP_E_SIZE},
            {"M < 0", AT(layer[0].M), SIZE, -1, ODVGP_E_SIZE},
            {"M absurd", AT(layer[0].M), SIZE, 9e18, ODVGP_E_SIZE},
            {"M whose square overflows", AT(layer[0].M), SIZE, 4294967296.0, ODVGP_E_SIZE},
            {"M whose cube overflows", AT(layer[0].M), SIZE, 2147483647.0, ODVGP_E_SIZE},
            {"M_gamma < 0", AT(layer[0].M_gamma), SIZE, -1, ODVGP_E_SIZE},
            {"M_gamma absurd", AT(layer[0].M_gamma), SIZE, 9e18, ODVGP_E_SIZE},
            {"batch = 0", AT(optim.batch), SIZE, 0, ODVGP_E_SIZE},
            {"batch < 0", AT(optim.batch), SIZE, -3, ODVGP_E_SIZE},
            {"tile < 0", AT(tile), SIZE, -3, ODVGP_E_SIZE},
            {"gamma_batch < 0", AT(optim.gamma_batch), SIZE, -3, ODVGP_E_SIZE},
            {"mean_part", AT(layer[0].mean_part), INT, 99, ODVGP_OK},
            {"mean_part < 0", AT(layer[0].mean_part), INT, -1, ODVGP_OK},
            {"cov_part", AT(layer[0].cov_part), INT, 99, ODVGP_OK},
            {"param", AT(reproduce.parametrisation), INT, 3, ODVGP_OK},
            {"param < 0", AT(reproduce.parametrisation), INT, -1, ODVGP_OK},
            {"gamma_coords", AT(reproduce.gamma_coords), INT, 3, ODVGP_OK},
            {"gamma_kl", AT(reproduce.gamma_kl), INT, 2, ODVGP_OK},
            {"likelihood", AT(lik.kind), INT, 99, ODVGP_OK},
            {"likelihood < 0", AT(lik.kind), INT, -1, ODVGP_OK},
            {"mean_function", AT(layer[0].mean_function), INT, 3, ODVGP_OK},
            {"mean_function < 0", AT(layer[0].mean_function), INT, -1, ODVGP_OK},
            {"positive", AT(positive_transform), INT, 2, ODVGP_OK},
            {"q_init", AT(reproduce.q_init), INT, 2, ODVGP_OK},
            {"init_beta", AT(init.beta), INT, 4, ODVGP_E_ARG},
            {"init_beta < 0", AT(init.beta), INT, -1, ODVGP_E_ARG},
            {"init_gamma", AT(init.gamma), INT, 2, ODVGP_E_ARG},
            {"init_gamma < 0", AT(init.gamma), INT, -1, ODVGP_E_ARG},
            {"init_hyper", AT(init.hyperparams), INT, 2, ODVGP_E_ARG},
            {"init_hyper < 0", AT(init.hyperparams), INT, -1, ODVGP_E_ARG},
            {"update", AT(reproduce.update), INT, 3, ODVGP_OK},
            {"natgrad", AT(optim.natgrad), INT, 2, ODVGP_OK},
            {"adam_eps_inside", AT(reproduce.adam_eps_inside), INT, 2, ODVGP_E_ARG},
            {"adam_eps_inside < 0", AT(reproduce.adam_eps_inside), INT, -1, ODVGP_E_ARG},
            {"isa", AT(isa), INT, 77, ODVGP_E_UNSUPPORTED},
            {"noise_variance < 0", AT(lik.noise_variance), REAL, -1, ODVGP_OK},
            {"noise_variance NaN", AT(lik.noise_variance), REAL, NAN, ODVGP_OK},
            {"noise_floor NaN", AT(lik.noise_floor), REAL, NAN, ODVGP_OK},
            {"noise_floor infinite", AT(lik.noise_floor), REAL, HUGE_VAL, ODVGP_OK},
            {"noise_floor between -1 and 0", AT(lik.noise_floor), REAL, -0.5, ODVGP_E_ARG},
            {"noise_floor just below 0", AT(lik.noise_floor), REAL, -1e-9, ODVGP_E_ARG},
            {"noise_variance infinite", AT(lik.noise_variance), REAL, HUGE_VAL, ODVGP_OK},
            {"jitter < 0", AT(jitter.absolute), REAL, -1e-9, ODVGP_OK},
            {"jitter NaN", AT(jitter.absolute), REAL, NAN, ODVGP_OK},
            {"jitter infinite", AT(jitter.absolute), REAL, HUGE_VAL, ODVGP_OK},
            {"jitter_rel < 0", AT(jitter.relative), REAL, -1, ODVGP_OK},
            {"jitter_rel NaN", AT(jitter.relative), REAL, NAN, ODVGP_OK},
            {"jitter_max < 0", AT(jitter.max), REAL, -1, ODVGP_OK},
            {"jitter_max NaN", AT(jitter.max), REAL, NAN, ODVGP_OK},
            {"adam_beta1 = 1", AT(optim.adam_beta1), REAL, 1, ODVGP_OK},
            {"adam_beta2 < 0", AT(optim.adam_beta2), REAL, -0.1, ODVGP_OK},
            {"adam_beta2 NaN", AT(optim.adam_beta2), REAL, NAN, ODVGP_OK},
            {"adam_eps < 0", AT(optim.adam_eps), REAL, -1, ODVGP_OK},
            {"adam_eps NaN", AT(optim.adam_eps), REAL, NAN, ODVGP_OK},
            {"lr = 0", AT(optim.lr), SCHEDULE_END, 0, ODVGP_OK},
            {"lr < 0", AT(optim.lr), SCHEDULE_END, -1, ODVGP_OK},
            {"lr NaN", AT(optim.lr), SCHEDULE_END, NAN, ODVGP_OK},
            {"lr infinite", AT(optim.lr), SCHEDULE_END, HUGE_VAL, ODVGP_OK},
            {"natgrad_step > 1", AT(optim.natgrad_step), SCHEDULE_END, 1.5, ODVGP_OK},
            {"natgrad_step = 0", AT(optim.natgrad_step), SCHEDULE_END, 0, ODVGP_OK},
            {"loglinear start = 0", AT(optim.natgrad_step), SCHEDULE_START, 0, ODVGP_OK},
            {"start NaN", AT(optim.lr), SCHEDULE_START, NAN, ODVGP_OK},
            {"schedule of no steps", AT(optim.lr), SCHEDULE_STEPS, 0, ODVGP_OK},
    };
    size_t i;
    fixture good_one;
    odvgp_config base = config(10, 2, 1, 3, 4);
    test_seed = 301;
    good_one = make(&base);
    for (i = 0; i < sizeof list / sizeof *list; i++) {
        odvgp_config c = base;
        void *field = (char *)&c + list[i].at;
        odvgp_schedule *s = (odvgp_schedule *)field;
        odvgp_info info = no_info();
        odvgp_status got, again;
        unsigned char out[sizeof(size_t)], block[4096];
        odvgp_model *m = good_one.m;
        switch (list[i].type) {
        case SIZE:
            *(ptrdiff_t *)field = list[i].value > 8e18                   ? PTRDIFF_MAX
                                  : list[i].value >= (double)PTRDIFF_MAX ? PTRDIFF_MAX
                                                                         : (ptrdiff_t)list[i].value;
            break;
        case INT: *(int *)field = (int)list[i].value; break;
        case REAL: *(odvgp_real *)field = (odvgp_real)list[i].value; break;
        case SCHEDULE_END: s->end = (odvgp_real)list[i].value; break;
        case SCHEDULE_START:
            s->kind = ODVGP_SCHEDULE_LOGLINEAR, s->start = (odvgp_real)list[i].value, s->steps = 10;
            break;
        default:
            s->kind = ODVGP_SCHEDULE_LINEAR, s->start = (odvgp_real)0.001,
            s->steps = (ptrdiff_t)list[i].value;
        }
        memset(out, PATTERN, sizeof out);
        got = odvgp_model_size(&c, (size_t *)(void *)out, &info);
        CHECK_SAY(got != ODVGP_OK && (list[i].want == ODVGP_OK || got == list[i].want),
                "%s: \"%s\"", list[i].words, odvgp_status_text(got));
        CHECK_SAY(untouched(out, sizeof out), "%s: the size is written", list[i].words);
        CHECK_SAY(info.text[0] && strchr(info.text, ' ') && info.status == got, "%s: no sentence",
                list[i].words);
        memset(block, PATTERN, sizeof block);
        again = odvgp_model_init(&m, &c, block, sizeof block, NULL);
        CHECK_SAY(again == got && m == NULL && untouched(block, sizeof block),
                "%s: odvgp_model_init", list[i].words);
        m = good_one.m;
        CHECK_SAY(
                odvgp_model_create(&m, &c, good_one.X, good_one.Y, NULL, NULL) == got && m == NULL,
                "%s: odvgp_model_create", list[i].words);
    }
    {
        /* Each size is acceptable by itself, but their product overflows. */
        odvgp_config c = base;
        size_t bytes = 7;
        c.layer[0].P = 1 << 20, c.layer[0].M = 1 << 21;
        REFUSED(odvgp_model_size(&c, &bytes, &info), ODVGP_E_SIZE);
        c = base;
        c.layer[0].P = 1 << 30, c.layer[0].M_gamma = 1 << 30;
        c.layer[0].mean_part = ODVGP_MEAN_PART_ORTH;
        REFUSED(odvgp_model_size(&c, &bytes, &info), ODVGP_E_SIZE);
        c = base;
        /* v_sqrt [P,M_gamma,M_gamma] would have 2^65 elements. */
        c.layer[0].P = 8, c.layer[0].M_gamma = INT_MAX;
        c.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS, c.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
        REFUSED(odvgp_model_size(&c, &bytes, &info), ODVGP_E_SIZE);
        CHECK_INT(bytes, 7);
        REFUSED(odvgp_model_size(NULL, &bytes, &info), ODVGP_E_ARG);
        REFUSED(odvgp_model_size(&base, NULL, &info), ODVGP_E_ARG);
        c = base;
        c.layer[0].kernel = NULL;
        REFUSED(odvgp_model_size(&c, &bytes, &info), ODVGP_E_ARG);
        c = base;
        c.isa = test_isa();
        CHECK_STATUS(odvgp_model_size(&c, &bytes, NULL), ODVGP_OK);
    }
    drop(&good_one);
}
/*  Writes v into a field of a config, in the type of the field. */
static void put_field(odvgp_config *c, const odvgp__field *f, double v)
{
    void *at = (unsigned char *)c + f->offset;
    odvgp_real real = (odvgp_real)v;
    ptrdiff_t size = (ptrdiff_t)v;
    if (f->type == ODVGP__FIELD_CHOICE) CHECK(odvgp__choice_set(at, f->bytes, (int)v));
    else if (f->type == ODVGP__FIELD_REAL) memcpy(at, &real, sizeof real);
    else memcpy(at, &size, sizeof size);
}
/*  The ends of a closed range are legal, and of an open range the next number inside it is. One
    step beyond, the status and the sentence are those of the field's type, and info names the
    field. */
TEST(ranges_of_fields)
{
    ptrdiff_t i;
    int end;
    for (i = 0; i < ODVGP__COUNT(odvgp__fields); i++) {
        const odvgp__field *f = &odvgp__fields[i];
        int real = f->type == ODVGP__FIELD_REAL, open_at[2];
        open_at[0] = f->open == ODVGP__ABOVE_LEAST, open_at[1] = f->open == ODVGP__BELOW_MOST;
        if (f->type == ODVGP__FIELD_SCHEDULE || f->type == ODVGP__FIELD_BITS) continue;
        CHECK_SAY(f->least < f->most || !strcmp(f->name, "lik.kind"), "%s has no range", f->name);
        for (end = 0; end < 2; end++) {
            odvgp_config c = odvgp_config_defaults(100, 2, 1, 5, 0);
            odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
            double at = end ? f->most : f->least, limit = real && at > HUGE_REAL ? HUGE_REAL : at;
            double step = real ? EPS * (fabs(limit) > 0 ? fabs(limit) : 1) : 1;
            double inside = open_at[end] ? (end ? limit - step : limit + step) : limit;
            double beyond = open_at[end]            ? limit
                            : real && at >= DBL_MAX ? HUGE_VAL
                            : end                   ? limit + step
                                                    : limit - step;
            put_field(&c, f, inside);
            CHECK_SAY(odvgp__check_fields(&c, &info) == ODVGP_OK, "%s = %g: %s", f->name, inside,
                    info.text);
            put_field(&c, f, beyond);
            CHECK_STATUS(odvgp__check_fields(&c, &info),
                    f->type == ODVGP__FIELD_SIZE ? ODVGP_E_SIZE : ODVGP_E_ARG);
            CHECK_SAY(!strcmp(info.what, f->name), "%s is said to be %s", f->name, info.what);
            CHECK_SAY(
                    strstr(info.text, f->type != ODVGP__FIELD_SIZE ? "is out of range in the config"
                                      : end                        ? "is too large"
                                            : "is below its least value") != NULL,
                    "%s: %s", f->name, info.text);
            if (!real) continue;
            put_field(&c, f, (double)NAN);
            CHECK_STATUS(odvgp__check_fields(&c, &info), ODVGP_E_ARG);
        }
    }
}
TEST(shards_are_powers_of_two)
{
    ptrdiff_t n;
    for (n = 1; n <= 65536; n += n < 70 ? 1 : n - 1) {
        odvgp_config c = odvgp_config_defaults(100, 2, 1, 5, 0);
        ptrdiff_t half = n;
        while (half % 2 == 0) half /= 2;
        c.shards = n;
        CHECK_STATUS(odvgp__check_fields(&c, NULL), half == 1 ? ODVGP_OK : ODVGP_E_ARG);
    }
}
TEST(bad_kernel_expressions_are_refused)
{
    static const char *const bad[] = {"", " ", "foo", "RBF", "rbf32", "rbf +", "+ rbf", "rbf rbf",
            "rbf ++ rbf", "rbf * * rbf", "rbf(", "rbf)", "(rbf", "()", "rbf()x", "rbf(0)",
            "rbf(-1)", "rbf(1e400)", "rbf(1e40)", "rbf(nan)", "rbf(inf)", "rbf(1,)", "rbf(,1)",
            "rbf(1 2)", "rbf(1, 2)", "rbf(1, variance=0)", "rbf(1, variance=-2)",
            "rbf(1, variance=)", "rbf(1, variance)", "rbf(1, variance=1, variance=2)",
            "rbf(1, dims=3)", "rbf(1, dims=0:4)", "rbf(1, dims=2:1)", "rbf(1, dims=1:1)",
            "rbf(1, dims=)", "rbf(1, dims=-1)", "rbf(1, dims=0.5)", "rbf(1, dims=0+)",
            "rbf(1, dims=99999999999999999999)", "rbf(1, foo=2)", "rbf(1, ardx)", "rbf(1e)",
            "rbf(.)", "rbf;", "rbf + rbf\nrbf", "rbf(0x10)", "rbf+rbf+rbf+rbf+rbf+rbf+rbf+rbf+rbf",
            "matern42", "linear(1", "\xff\xfe", "linear(lengthscale=1)", "linear(1, variance=2)",
            "polynomial(ard)", "polynomial(degree=0)", "polynomial(degree=2.5)",
            "polynomial(degree=17)", "polynomial(degree=2, degree=2)", "polynomial(degree=)",
            "rbf(degree=2)", "rbf(alpha=1)", "rq(period=1)", "rq(alpha=0)",
            "periodic(1, period=1, period=1)", "periodic(period)", "constant(dims=0)", "white(ard)",
            "white(0)", "constant(1, 2)", "whitening", "rq(1, alpha=-2)", "rbf(dims=0, dims=1)",
            "linear(foo=1)", "constant(-.5)", "white(+1)",
            /* These are above 0, but in this precision they or their inverses are not. */
            BY_PRECISION("rbf(1e-310)", "rbf(1e-46)"),
            BY_PRECISION("rbf(1e-330, ard)", "rbf(1e-300, ard)"),
            BY_PRECISION("linear(1e-320)", "linear(1e-40)"),
            BY_PRECISION("rq(alpha=1e-330)", "rq(alpha=1e-50)")};
    static const char *const fine[] = {"rbf", " rbf ", "rbf()", "rbf( )", "((rbf))", "rbf(1)",
            "rbf(lengthscale=2)", "rbf(1.5e-3,variance=.5)", "rbf(ard)", "rbf(1,ard,dims=0+2)",
            "rbf(dims=0:3)", "rbf(2, dims=1, variance=3.)", "(rbf+matern12)*matern32",
            "rbf*matern52+rbf", "rbf+rbf+rbf+rbf+rbf+rbf+rbf+rbf", "rbf(1, dims=2+0)",
            "\trbf\t+\tmatern12", "rq", "rq(0.5, alpha=2, variance=3, ard)",
            "periodic(period=7, dims=0)", "linear", "linear(0.5)", "linear(ard, variance=2)",
            "linear(3, ard, dims=1:3)", "polynomial", "polynomial(0.3, offset=2, degree=3, dims=1)",
            "constant(2) * white()", "white(0.1)",
            BY_PRECISION("rbf(1e-300, ard)", "rbf(1e-37, ard)")};
    size_t i, bytes = 7;
    char deep[300];
    odvgp_config c = config(10, 3, 1, 3, 0);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        odvgp_info info = no_info();
        odvgp_status s;
        c.layer[0].kernel = bad[i];
        s = odvgp_model_size(&c, &bytes, &info);
        CHECK_SAY(s == ODVGP_E_KERNEL && bytes == 7, "\"%s\": %s", bad[i], odvgp_status_text(s));
        CHECK_SAY(info.text[0] && info.row >= 0 && (size_t)info.row <= strlen(bad[i]),
                "\"%s\": place %ld", bad[i], (long)info.row);
    }
    memset(deep, '(', 200);
    strcpy(deep + 200, "rbf");
    memset(deep + 203, ')', 90);
    deep[293] = 0;
    c.layer[0].kernel = deep;
    REFUSED(odvgp_model_size(&c, &bytes, &info), ODVGP_E_KERNEL);
    for (i = 0; i < sizeof fine / sizeof *fine; i++) {
        odvgp_info info = no_info();
        c.layer[0].kernel = fine[i];
        CHECK_SAY(
                odvgp_model_size(&c, &bytes, &info) == ODVGP_OK, "\"%s\": %s", fine[i], info.text);
    }
}
/*  This kernel has the largest number of terms, with three values each. */
TEST(kernels_of_eight_terms_fit_every_member)
{
    tables_hold("rq + rq * rq + periodic(ard) + rq(ard) * (rq + rq) + rq");
}
/*  Each number of the expression arrives in its slot. */
TEST(kernel_numbers_arrive)
{
    static const struct {
        const char *text, *slot;
        double value;
    } list[] = {{"linear(.5)", "kernel.0.variance", 0.5},
            {"constant(.25)", "kernel.0.variance", 0.25},
            {"white(.125)", "kernel.0.variance", 0.125},
            {"polynomial(.5, degree=3)", "kernel.0.variance", 0.5},
            {"polynomial(offset=3)", "kernel.0.offset", 3},
            {"rq(.5, alpha=2)", "kernel.0.alpha", 2},
            {"rq(.5, alpha=2)", "kernel.0.lengthscale", 0.5},
            {"rbf + periodic(2, variance=3, period=.75)", "kernel.1.period", 0.75},
            {"rbf + periodic(2, variance=3, period=.75)", "kernel.1.variance", 3}};
    size_t i, bytes = 0;
    for (i = 0; i < sizeof list / sizeof *list; i++) {
        odvgp_config c = config(5, 3, 1, 2, 0);
        odvgp_model *m;
        odvgp_real v = 0;
        void *block;
        c.layer[0].kernel = list[i].text;
        CHECK_STATUS(odvgp_model_size(&c, &bytes, NULL), ODVGP_OK);
        block = test_alloc(bytes);
        CHECK_STATUS(odvgp_model_init(&m, &c, block, bytes, NULL), ODVGP_OK);
        CHECK_STATUS(odvgp_get(m, list[i].slot, &v, 1), ODVGP_OK);
        CHECK_SAY(fabs((double)v - list[i].value) <= 4 * EPS * list[i].value, "%s: %s is %g",
                list[i].text, list[i].slot, (double)v);
        free(block);
    }
}
/*  The text of a kernel parses to the same kernel, up to the six digits that it prints. The text
    is cut where the buffer ends. */
TEST(kernel_text_can_be_read_back)
{
    static const char *const list[] = {"rbf", "matern12(0.125, variance=3e-7, dims=2)",
            "(rbf(1e7) + matern32(2, dims=0:2)) * matern52(0.3, variance=12345.5)",
            "rbf * (matern12 + matern32 * (rbf + rbf(0.5)))",
            "rbf(1.5, dims=0+2, variance=2) + rbf",
            "rq(0.5, variance=3, alpha=2, ard) + periodic(2, period=7, dims=0) * linear(0.25, ard)",
            "polynomial(0.3, offset=2, degree=3, dims=1) * constant(4) + white(0.125) + linear(2)"};
    size_t i, bytes = 0;
    for (i = 0; i < sizeof list / sizeof *list; i++) {
        odvgp_config c = config(5, 3, 1, 2, 0);
        char text[2][600], cut[20];
        odvgp_model *m;
        void *block;
        int pass;
        size_t n = 0;
        c.layer[0].kernel = list[i];
        for (pass = 0; pass < 2; pass++) {
            CHECK_STATUS(odvgp_model_size(&c, &bytes, NULL), ODVGP_OK);
            block = test_alloc(bytes);
            CHECK_STATUS(odvgp_model_init(&m, &c, block, bytes, NULL), ODVGP_OK);
            n = odvgp_kernel_text(m, text[pass], sizeof text[pass]);
            CHECK_INT(n, strlen(text[pass]));
            memset(cut, PATTERN, sizeof cut);
            CHECK_INT(odvgp_kernel_text(m, cut, 10), n);
            CHECK(strlen(cut) == 9 && !strncmp(cut, text[pass], 9) && untouched(cut + 10, 10));
            CHECK_INT(odvgp_kernel_text(m, NULL, 0), n);
            free(block);
            c.layer[0].kernel = text[0];
        }
        CHECK_SAY(!strcmp(text[0], text[1]), "%s: %s, then %s", list[i], text[0], text[1]);
    }
}

/*  With ard, the text prints one number for several: their geometric mean. */
TEST(kernel_text_of_many_lengthscales)
{
    odvgp_config c = config(5, 3, 1, 2, 0);
    const odvgp_real lengthscale[3] = {(odvgp_real)0.01, 1, 800},
                     variance[3] = {4, 1, (odvgp_real)0.25};
    char text[200];
    odvgp_model *m;
    size_t bytes = 0;
    void *block;
    c.layer[0].kernel = "matern52(ard) + linear(ard)";
    CHECK_STATUS(odvgp_model_size(&c, &bytes, NULL), ODVGP_OK);
    block = test_alloc(bytes);
    CHECK_STATUS(odvgp_model_init(&m, &c, block, bytes, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_set(m, "kernel.0.lengthscale", lengthscale, 3, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_set(m, "kernel.0.variance", lengthscale + 1, 1, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_set(m, "kernel.1.variance", variance, 3, NULL), ODVGP_OK);
    odvgp_kernel_text(m, text, sizeof text);
    CHECK_SAY(!strcmp(text, "matern52(2, variance=1, ard) + linear(1, ard)"), "%s", text);
    free(block);
}

/*  odvgp_kernel_columns tells the column of each lengthscale, with ranges in any order, and -1
    for every other value. */
TEST(kernel_columns)
{
    odvgp_config c = config(5, 4, 1, 2, 0);
    static const int column[3] = {3, 0, 1};
    odvgp_model *m;
    size_t bytes = 0;
    ptrdiff_t k;
    void *block;
    c.layer[0].kernel = "matern52(ard, dims=3+0:2) * rbf + linear(ard) + constant";
    CHECK_STATUS(odvgp_model_size(&c, &bytes, NULL), ODVGP_OK);
    block = test_alloc(bytes);
    CHECK_STATUS(odvgp_model_init(&m, &c, block, bytes, NULL), ODVGP_OK);
    for (k = 0; k < 3; k++) CHECK_INT(odvgp_kernel_column(m, 0, k), column[k]);
    for (k = 0; k < 4; k++) CHECK_INT(odvgp_kernel_column(m, 2, k), k);
    CHECK_INT(odvgp_kernel_column(m, 0, 3), -1);
    CHECK_INT(odvgp_kernel_column(m, 0, -1), -1);
    CHECK_INT(odvgp_kernel_column(m, 1, 0), -1);
    CHECK_INT(odvgp_kernel_column(m, 3, 0), -1);
    CHECK_INT(odvgp_kernel_column(m, 4, 0), -1);
    CHECK_INT(odvgp_kernel_column(m, -1, 0), -1);
    CHECK_INT(odvgp_kernel_column(NULL, 0, 0), -1);
    free(block);
}

/* ---- bad arguments ---- */

TEST(bad_arguments_are_refused)
{
    odvgp_config c = config(10, 2, 2, 3, 4);
    fixture a;
    unsigned char out[4][512];
    odvgp_real *o[4];
    ptrdiff_t idx[5] = {0, 1, 2, 3, 0};
    odvgp_real *before, *after, values[40], grads[200];
    int k;
    size_t n;
    test_seed = 302;
    a = make(&c);
    before = all_values(a.m);
    memset(out, PATTERN, sizeof out);
    memset(values, PATTERN, sizeof values);
    memset(grads, PATTERN, sizeof grads);
    for (k = 0; k < 4; k++) o[k] = (odvgp_real *)(void *)out[k];
    REFUSED(odvgp_model_init(NULL, &c, a.block, a.bytes, &info), ODVGP_E_ARG);
    {
        odvgp_model *m = a.m;
        REFUSED(odvgp_model_init(&m, NULL, a.block, a.bytes, &info), ODVGP_E_ARG);
        REFUSED(odvgp_model_init(&m, &c, NULL, a.bytes, &info), ODVGP_E_ARG);
        CHECK(m == NULL);
        CHECK_STATUS(odvgp_model_create(NULL, &c, a.X, a.Y, NULL, NULL), ODVGP_E_ARG);
        m = a.m;
        CHECK_STATUS(odvgp_model_create(&m, NULL, a.X, a.Y, NULL, NULL), ODVGP_E_ARG);
        CHECK(m == NULL);
        m = a.m;
        CHECK_STATUS(odvgp_model_create(&m, &c, NULL, a.Y, NULL, NULL), ODVGP_E_ARG);
        CHECK(m == NULL);
        CHECK_STATUS(odvgp_model_create(&m, &c, a.X, NULL, NULL, NULL), ODVGP_E_ARG);
    }
    REFUSED(odvgp_init_data(NULL, a.X, a.Y, &info), ODVGP_E_ARG);
    REFUSED(odvgp_init_data(a.m, NULL, a.Y, &info), ODVGP_E_ARG);
    REFUSED(odvgp_init_data(a.m, a.X, NULL, &info), ODVGP_E_ARG);
    {
        odvgp_real out[2][3], x[6] = {1, 2, 3, 4, 5, 6}, scale[3] = {1, 1, 0};
        memset(out, PATTERN, sizeof out);
        REFUSED(odvgp_column_scales(NULL, 2, 3, out[0], out[1], &info), ODVGP_E_ARG);
        REFUSED(odvgp_column_scales(x, 2, 3, NULL, out[1], &info), ODVGP_E_ARG);
        REFUSED(odvgp_column_scales(x, 2, 3, out[0], NULL, &info), ODVGP_E_ARG);
        REFUSED(odvgp_column_scales(x, 0, 3, out[0], out[1], &info), ODVGP_E_SIZE);
        REFUSED(odvgp_column_scales(x, 2, 0, out[0], out[1], &info), ODVGP_E_SIZE);
        REFUSED(odvgp_column_scales(x, PTRDIFF_MAX / 2, 3, out[0], out[1], &info), ODVGP_E_SIZE);
        /* A scale of 0 is refused. */
        CHECK_STATUS(odvgp_standardise(x, 2, 3, x, scale, out[0]), ODVGP_E_ARG);
        scale[2] = (odvgp_real)HUGE_VAL;
        CHECK_STATUS(odvgp_standardise(x, 2, 3, x, scale, out[0]), ODVGP_E_ARG);
        scale[2] = 1;
        CHECK_STATUS(odvgp_standardise(x, -1, 3, x, scale, out[0]), ODVGP_E_ARG);
        CHECK_STATUS(odvgp_standardise(x, 2, 0, x, scale, out[0]), ODVGP_E_ARG);
        CHECK_STATUS(odvgp_standardise(NULL, 2, 3, x, scale, out[0]), ODVGP_E_ARG);
        CHECK_STATUS(odvgp_standardise(x, 2, 3, NULL, scale, out[0]), ODVGP_E_ARG);
        CHECK_STATUS(odvgp_standardise(x, 2, 3, x, NULL, out[0]), ODVGP_E_ARG);
        CHECK_STATUS(odvgp_standardise(x, 2, 3, x, scale, NULL), ODVGP_E_ARG);
        x[4] = (odvgp_real)NAN;
        REFUSED(odvgp_column_scales(x, 2, 3, out[0], out[1], &info), ODVGP_E_NAN);
        CHECK(untouched(out, sizeof out));
    }
    REFUSED(odvgp_init_q(NULL, &info), ODVGP_E_ARG);
    REFUSED(odvgp_step(NULL, a.X, a.Y, NULL, &info), ODVGP_E_ARG);
    REFUSED(odvgp_step(a.m, NULL, a.Y, (odvgp_report *)(void *)out[0], &info), ODVGP_E_ARG);
    REFUSED(odvgp_step(a.m, a.X, NULL, (odvgp_report *)(void *)out[0], &info), ODVGP_E_ARG);
    REFUSED(odvgp_step_batch(a.m, a.X, a.Y, 0, (odvgp_report *)(void *)out[0], &info), ODVGP_E_ARG);
    REFUSED(odvgp_step_batch(a.m, a.X, a.Y, -1, (odvgp_report *)(void *)out[0], &info),
            ODVGP_E_ARG);
    REFUSED(odvgp_step_batch(a.m, a.X, a.Y, PTRDIFF_MAX, (odvgp_report *)(void *)out[0], &info),
            ODVGP_E_ARG);
    REFUSED(odvgp_step_batch(NULL, a.X, a.Y, 1, NULL, &info), ODVGP_E_ARG);
    REFUSED(odvgp_fit(NULL, a.X, a.Y, 3, NULL, NULL, &info), ODVGP_E_ARG);
    REFUSED(odvgp_fit(a.m, NULL, a.Y, 3, NULL, NULL, &info), ODVGP_E_ARG);
    REFUSED(odvgp_fit(a.m, a.X, a.Y, -1, NULL, NULL, &info), ODVGP_E_ARG);
    REFUSED(odvgp_elbo(NULL, a.X, a.Y, 10, o[0], o[1], o[2], &info), ODVGP_E_ARG);
    REFUSED(odvgp_elbo(a.m, NULL, a.Y, 10, o[0], o[1], grads, &info), ODVGP_E_ARG);
    REFUSED(odvgp_elbo(a.m, a.X, NULL, 10, o[0], o[1], grads, &info), ODVGP_E_ARG);
    REFUSED(odvgp_elbo(a.m, a.X, a.Y, 0, o[0], o[1], grads, &info), ODVGP_E_ARG);
    REFUSED(odvgp_elbo(a.m, a.X, a.Y, -4, o[0], o[1], grads, &info), ODVGP_E_ARG);
    REFUSED(odvgp_elbo(a.m, a.X, a.Y, PTRDIFF_MAX, o[0], o[1], grads, &info), ODVGP_E_ARG);
    REFUSED(odvgp_elbo(a.m, a.X, a.Y, 10, NULL, o[1], grads, &info), ODVGP_E_ARG);
    REFUSED(odvgp_elbo_columns(a.m, a.X, a.Y, 10, NULL, 2, o[0], o[1], grads, &info), ODVGP_E_ARG);
    REFUSED(odvgp_elbo_columns(a.m, a.X, a.Y, 10, idx, 0, o[0], o[1], grads, &info), ODVGP_E_ARG);
    REFUSED(odvgp_elbo_columns(a.m, a.X, a.Y, 10, idx, 5, o[0], o[1], grads, &info), ODVGP_E_ARG);
    idx[1] = 4;
    REFUSED(odvgp_elbo_columns(a.m, a.X, a.Y, 10, idx, 2, o[0], o[1], grads, &info), ODVGP_E_ARG);
    idx[1] = -1;
    REFUSED(odvgp_elbo_columns(a.m, a.X, a.Y, 10, idx, 2, o[0], o[1], grads, &info), ODVGP_E_ARG);
    idx[0] = 2, idx[1] = 3, idx[2] = 2;
    {
        odvgp_info said = no_info();
        /* The columns must be distinct. */
        CHECK_STATUS(odvgp_elbo_columns(a.m, a.X, a.Y, 10, idx, 3, o[0], o[1], grads, &said),
                ODVGP_E_ARG);
        CHECK(said.row == 2 && said.value == 2 && strstr(said.text, "twice"));
    }
    REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 10, 0, o[0], &info), ODVGP_E_ARG);
    REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 10, -1, o[0], &info), ODVGP_E_ARG);
    REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 10, (odvgp_real)1.0001, o[0], &info), ODVGP_E_ARG);
    REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 10, (odvgp_real)NAN, o[0], &info), ODVGP_E_ARG);
    REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 0, (odvgp_real)0.5, o[0], &info), ODVGP_E_ARG);
    REFUSED(odvgp_natgrad_step(NULL, a.X, a.Y, 10, (odvgp_real)0.5, o[0], &info), ODVGP_E_ARG);
    /* Functions that read and write slots: */
    CHECK_STATUS(odvgp_get(NULL, "Z_beta", values, 6), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_get(a.m, NULL, values, 6), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_get(a.m, "Z_beta", NULL, 6), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_get(a.m, "Z_bet", values, 6), ODVGP_E_NAME);
    CHECK_STATUS(odvgp_get(a.m, "Z_beta", values, 5), ODVGP_E_SIZE);
    CHECK_STATUS(odvgp_get(a.m, "Z_beta", values, 7), ODVGP_E_SIZE);
    CHECK_STATUS(odvgp_get(a.m, "Z_beta", values, -1), ODVGP_E_SIZE);
    CHECK(untouched(values, sizeof values));
    for (k = 0; k < 40; k++) values[k] = 1;
    REFUSED(odvgp_set(NULL, "Z_beta", values, 6, &info), ODVGP_E_ARG);
    REFUSED(odvgp_set(a.m, NULL, values, 6, &info), ODVGP_E_ARG);
    REFUSED(odvgp_set(a.m, "Z_beta", NULL, 6, &info), ODVGP_E_ARG);
    REFUSED(odvgp_set(a.m, "nothing", values, 6, &info), ODVGP_E_NAME);
    REFUSED(odvgp_set(a.m, "Z_beta", values, 5, &info), ODVGP_E_SIZE);
    values[3] = (odvgp_real)NAN;
    REFUSED(odvgp_set(a.m, "Z_beta", values, 6, &info), ODVGP_E_NAN);
    values[3] = (odvgp_real)HUGE_VAL;
    REFUSED(odvgp_set(a.m, "q_sqrt", values, 18, &info), ODVGP_E_NAN);
    for (k = 0; k < 5; k++) {
        static const double bad[] = {0, -1, NAN, HUGE_VAL, -0.0};
        values[0] = (odvgp_real)bad[k];
        REFUSED(odvgp_set(a.m, "kernel.0.lengthscale", values, 1, &info),
                k == 2 || k == 3 ? ODVGP_E_NAN : ODVGP_E_ARG);
        REFUSED(odvgp_set(a.m, "noise_variance", values, 1, &info),
                k == 2 || k == 3 ? ODVGP_E_NAN : ODVGP_E_ARG);
    }
    CHECK_STATUS(odvgp_set_trainable(NULL, "*", 0), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_set_trainable(a.m, NULL, 0), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_set_trainable(a.m, "nothing", 0), ODVGP_E_NAME);
    CHECK_STATUS(odvgp_set_trainable(a.m, "", 0), ODVGP_E_NAME);
    /* Functions of a NULL model return 0 or NULL. */
    CHECK(!odvgp_model_config(NULL) && !odvgp_slot_count(NULL) && !odvgp_param_count(NULL) &&
            !odvgp_steps_done(NULL) && !odvgp_slot_at(NULL, 0) && !odvgp_slot_find(NULL, "q_mu"));
    CHECK(!odvgp_predictor_size(NULL) && !odvgp_save_size(NULL, 0) &&
            !odvgp_predict_scratch(NULL, 1) && !odvgp_sample_scratch(NULL, 1));
    CHECK(odvgp_model_events(NULL).jitter_raised == 0);
    CHECK(odvgp_slot_find(a.m, NULL) == NULL);
    odvgp_model_free(NULL);
    /* odvgp_model_free does nothing, because this model does not come from odvgp_model_create. */
    odvgp_model_free(a.m);
    CHECK(odvgp_slot_count(a.m) > 0);
    for (k = 0; k < ODVGP_STATUS_COUNT + 3; k++) {
        const char *text = odvgp_status_text((odvgp_status)(k - 1));
        CHECK(text && strlen(text) > 1);
    }
    after = all_values(a.m);
    CHECK_BITS(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before);
    CHECK_INT(odvgp_steps_done(a.m), 0);
    CHECK(untouched(out, sizeof out) && untouched(grads, sizeof grads));
    n = (size_t)odvgp_param_count(a.m);
    CHECK(n <= 200);
    free(before), free(after);
    drop(&a);
}
TEST(bad_arguments_of_predictions_are_refused)
{
    odvgp_config c = config(10, 2, 2, 3, 4);
    fixture a;
    size_t bytes, need, one_row;
    void *block, *scratch;
    odvgp_server servers[2], *p = &servers[0], *q = &servers[1];
    odvgp_real X[20], Y[20], *mean = NEW(odvgp_real, 20), *var = NEW(odvgp_real, 20),
                             *cov = NEW(odvgp_real, 200), x;
    odvgp_scales scales = {NULL, NULL, NULL, NULL};
    int k;
    test_seed = 303;
    a = make(&c);
    bytes = odvgp_predictor_size(a.m);
    block = test_alloc(bytes);
    CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
    servers[1] = servers[0];
    {
        void *other = test_alloc(bytes);
        memset(other, PATTERN, bytes);
        REFUSED(serve(NULL, NULL, other, bytes, q, &info), ODVGP_E_ARG);
        REFUSED(serve(a.m, NULL, NULL, bytes, q, &info), ODVGP_E_ARG);
        /* This address is not aligned for a real. */
        REFUSED(odvgp_freeze(a.m, NULL, (char *)other + 2, bytes, &info), ODVGP_E_ARG);
        REFUSED(serve(a.m, NULL, other, bytes - 1, q, &info), ODVGP_E_MEMORY);
        REFUSED(serve(a.m, NULL, other, 0, q, &info), ODVGP_E_MEMORY);
        for (k = 0; k < 4; k++) {
            static const double bad[] = {0, -1, NAN, HUGE_VAL};
            odvgp_real s[2] = {1, (odvgp_real)bad[k]};
            scales.x_scale = s;
            REFUSED(serve(a.m, &scales, other, bytes, q, &info), ODVGP_E_ARG);
            scales.x_scale = NULL;
            scales.y_scale = s;
            REFUSED(serve(a.m, &scales, other, bytes, q, &info), ODVGP_E_ARG);
            scales.y_scale = NULL;
            if (k < 2) continue;
            scales.x_mean = s;
            REFUSED(serve(a.m, &scales, other, bytes, q, &info), ODVGP_E_ARG);
            scales.x_mean = NULL;
            scales.y_mean = s;
            REFUSED(serve(a.m, &scales, other, bytes, q, &info), ODVGP_E_ARG);
            scales.y_mean = NULL;
        }
        CHECK(!memcmp(p, q, sizeof *p) && untouched(other, bytes));
        free(other);
    }
    one_row = odvgp_predict_scratch(p, 1);
    need = odvgp_predict_scratch(p, 10);
    CHECK(odvgp_predict_scratch(p, 0) == 0 && odvgp_predict_scratch(p, -1) == 0 &&
            odvgp_sample_scratch(p, 0) == 0);
    /* No size_t can hold the size. */
    CHECK(odvgp_predict_scratch(p, PTRDIFF_MAX) == 0 && odvgp_sample_scratch(p, PTRDIFF_MAX) == 0);
    scratch = test_alloc(odvgp_sample_scratch(p, 10));
    memcpy(X, a.X, sizeof X);
    memcpy(Y, a.Y, sizeof Y);
    memset(mean, PATTERN, 20 * sizeof *mean), memset(var, PATTERN, 20 * sizeof *var),
            memset(cov, PATTERN, 200 * sizeof *cov);
    CHECK_STATUS(odvgp_predict(NULL, X, 10, mean, var, cov, scratch, need), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_predict(p, NULL, 10, mean, var, cov, scratch, need), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_predict(p, X, -1, mean, var, cov, scratch, need), ODVGP_E_ARG);
    CHECK(odvgp_predict(p, X, PTRDIFF_MAX, mean, var, cov, scratch, need) != ODVGP_OK);
    CHECK_STATUS(odvgp_predict(p, X, 10, mean, var, cov, NULL, need), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_predict(p, X, 10, mean, var, cov, scratch, one_row - 1), ODVGP_E_MEMORY);
    CHECK_STATUS(odvgp_predict(p, X, 10, mean, var, cov, scratch, 0), ODVGP_E_MEMORY);
    CHECK_STATUS(odvgp_predict_cov(NULL, X, 10, mean, cov, scratch, need), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_predict_cov(p, NULL, 10, mean, cov, scratch, need), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_predict_cov(p, X, 10, mean, NULL, scratch, need), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_predict_cov(p, X, 10, mean, cov, scratch, need - 1), ODVGP_E_MEMORY);
    CHECK_STATUS(odvgp_predict_cov(p, X, -2, mean, cov, scratch, need), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_predict_logp(p, X, NULL, 10, mean, scratch, need), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_predict_logp(p, X, Y, 10, NULL, scratch, need), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_predict_logp(p, X, Y, 10, mean, scratch, one_row - 1), ODVGP_E_MEMORY);
    CHECK_STATUS(
            odvgp_sample(p, X, 10, 1, 0, NULL, scratch, odvgp_sample_scratch(p, 10)), ODVGP_E_ARG);
    CHECK_STATUS(
            odvgp_sample(p, X, 10, -1, 0, cov, scratch, odvgp_sample_scratch(p, 10)), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_sample(p, X, 10, 1, 0, cov, scratch, odvgp_sample_scratch(p, 10) - 1),
            ODVGP_E_MEMORY);
    /* The first and the last value is bad. */
    for (k = 0; k < 20; k += 19) {
        static const double bad[] = {NAN, HUGE_VAL, -HUGE_VAL};
        int b;
        for (b = 0; b < 3; b++) {
            x = X[k];
            X[k] = (odvgp_real)bad[b];
            CHECK_STATUS(odvgp_predict(p, X, 10, mean, var, cov, scratch, need), ODVGP_E_NAN);
            CHECK_STATUS(odvgp_predict(p, X, 10, mean, var, cov, scratch, one_row), ODVGP_E_NAN);
            CHECK_STATUS(odvgp_predict_cov(p, X, 10, mean, cov, scratch, need), ODVGP_E_NAN);
            CHECK_STATUS(odvgp_predict_logp(p, X, Y, 10, mean, scratch, need), ODVGP_E_NAN);
            CHECK_STATUS(odvgp_sample(p, X, 10, 1, 0, cov, scratch, odvgp_sample_scratch(p, 10)),
                    ODVGP_E_NAN);
            REFUSED(odvgp_predict_once(a.m, X, 10, mean, var, &info), ODVGP_E_NAN);
            X[k] = x;
            x = Y[k];
            Y[k] = (odvgp_real)bad[b];
            CHECK_STATUS(odvgp_predict_logp(p, X, Y, 10, mean, scratch, need), ODVGP_E_NAN);
            Y[k] = x;
        }
    }
    REFUSED(odvgp_predict_once(NULL, X, 10, mean, var, &info), ODVGP_E_ARG);
    REFUSED(odvgp_predict_once(a.m, NULL, 10, mean, var, &info), ODVGP_E_ARG);
    REFUSED(odvgp_predict_once(a.m, X, -1, mean, var, &info), ODVGP_E_ARG);
    CHECK(untouched(mean, 20 * sizeof *mean) && untouched(var, 20 * sizeof *var) &&
            untouched(cov, 200 * sizeof *cov));
    /* Scratch for one row at a time is enough. */
    CHECK_STATUS(odvgp_predict(p, X, 10, mean, var, cov, scratch, one_row), ODVGP_OK);
    CHECK(all_finite(mean, 20) && all_finite(var, 20));
    free(block), free(scratch), free(mean), free(var), free(cov);
    drop(&a);
}
/*  NaN or infinity at any place of the data is refused with the number of the row. Nothing has
    changed afterwards, and good rows can be used. */
TEST(bad_data_are_refused)
{
    static const double bad[] = {NAN, HUGE_VAL, -HUGE_VAL};
    odvgp_config c = config(10, 2, 2, 3, 4);
    fixture a;
    int where, b;
    ptrdiff_t row;
    test_seed = 304;
    c.tile = 3;
    c.optim.batch = 10;
    a = make(&c);
    CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
    for (where = 0; where < 2; where++)
        for (b = 0; b < 3; b++)
            for (row = 0; row < 10; row += 3) {
                odvgp_real *list = where ? a.Y : a.X, keep = list[row * 2 + 1],
                           *before = all_values(a.m), *after, out[3], grad[200];
                odvgp_report report;
                odvgp_info info = no_info();
                ptrdiff_t steps = odvgp_steps_done(a.m);
                list[row * 2 + 1] = (odvgp_real)bad[b];
                memset(out, PATTERN, sizeof out), memset(grad, PATTERN, sizeof grad),
                        memset(&report, PATTERN, sizeof report);
                CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, &info), ODVGP_E_NAN);
                CHECK_INT(info.row, row);
                CHECK(info.what && !strcmp(info.what, where ? "Y" : "X") && info.text[0]);
                info = no_info();
                CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 10, out, out + 1, grad, &info), ODVGP_E_NAN);
                CHECK_INT(info.row, row);
                REFUSED(odvgp_natgrad_step(a.m, a.X, a.Y, 10, (odvgp_real)0.5, out, &info),
                        ODVGP_E_NAN);
                REFUSED(odvgp_step_batch(a.m, a.X, a.Y, 10, &report, &info), ODVGP_E_NAN);
                REFUSED(odvgp_step(a.m, a.X, a.Y, &report, &info), ODVGP_E_NAN);
                REFUSED(odvgp_fit(a.m, a.X, a.Y, 3, NULL, NULL, &info), ODVGP_E_NAN);
                CHECK(untouched(out, sizeof out) && untouched(grad, sizeof grad) &&
                        untouched(&report, sizeof report));
                after = all_values(a.m);
                CHECK_BITS(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before);
                CHECK_INT(odvgp_steps_done(a.m), steps);
                list[row * 2 + 1] = keep;
                CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &report, NULL), ODVGP_OK);
                CHECK_INT(report.step, steps + 1);
                CHECK_INT(report.events.step_undone, 0);
                free(before), free(after);
            }
    drop(&a);
}

/* ---- blocks of exact size, at any alignment, between guards ---- */

typedef struct guarded {
    unsigned char *all;
    void *p;
    size_t n, offset;
} guarded;
#define GUARD 192
static guarded guard(size_t n, size_t offset)
{
    guarded g;
    g.all = NEW(unsigned char, n + 2 * GUARD + 64);
    memset(g.all, PATTERN, n + 2 * GUARD + 64);
    g.offset = GUARD + (64 - ((size_t)(uintptr_t)g.all + GUARD) % 64) % 64 + offset;
    if (g.offset >= GUARD + 64) g.offset -= 64;
    g.p = g.all + g.offset;
    g.n = n;
    return g;
}
static int whole(const guarded *g)
{
    return untouched(g->all, g->offset) &&
           untouched(g->all + g->offset + g->n, 2 * GUARD + 64 - g->offset);
}

TEST(exact_blocks_at_any_alignment)
{
    static const size_t offsets[] = {0, 1, 3, 7, 8, 13, 16, 31, 32, 33, 47, 63};
    size_t o;
    int round;
    for (round = 0; round < 5; round++)
        for (o = 0; o < sizeof offsets / sizeof *offsets; o++) {
            odvgp_config c = config(11 + round * 50, 1 + round, 1 + round % 2,
                    1 + 3 * round * round, round % 2 ? 3 + 20 * round : 0);
            fixture d;
            guarded block, pred, scratch, file, copy, grad;
            odvgp_model *m, *m2;
            odvgp_server servers[2], *p = &servers[0], *p2 = &servers[1];
            odvgp_info info = no_info();
            size_t bytes, model_bytes, pred_bytes, user_bytes;
            const void *user;
            ptrdiff_t n = 11, rows;
            odvgp_real e, kl, *mean, *var, *cov, *mean2;
            memset(&d, 0, sizeof d);
            test_seed = 310 + (uint64_t)round;
            c.reproduce.parametrisation = (odvgp_parametrisation)(o % 3);
            c.reproduce.gamma_coords = (odvgp_gamma_coords)(o / 3 % 3);
            c.layer[0].mean_function = (odvgp_mean_function)(round % 3);
            c.tile = o % 2 ? 5 : 0;
            c.init.beta = (odvgp_init_beta)((o + (size_t)round) % 4);
            c.init.gamma = (odvgp_init_gamma)(o / 2 % 2);
            c.init.hyperparams = (odvgp_init_hyper)(o / 4 % 2);
            if (o % 4 == 3) c.layer[0].kernel = "(rbf(1, ard) + matern12(1, dims=0)) * matern32";
            make_data(&d, c.N, c.layer[0].D, c.layer[0].P, 1, 0.1);
            CHECK_STATUS(odvgp_model_size(&c, &bytes, NULL), ODVGP_OK);
            block = guard(bytes, offsets[o]);
            m = NULL;
            CHECK_STATUS(odvgp_model_init(&m, &c, block.p, bytes - 1, &info), ODVGP_E_MEMORY);
            CHECK(m == NULL && info.text[0] && whole(&block) &&
                    untouched((unsigned char *)block.p + bytes - 1, 1));
            CHECK_SAY(odvgp_model_init(&m, &c, block.p, bytes, &info) == ODVGP_OK, "offset %d: %s",
                    (int)offsets[o], info.text);
            if (!m) continue;
            CHECK((unsigned char *)m >= (unsigned char *)block.p &&
                    (unsigned char *)m < (unsigned char *)block.p + bytes);
            CHECK_STATUS(odvgp_init_data(m, d.X, d.Y, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_fit(m, d.X, d.Y, 3, NULL, NULL, NULL), ODVGP_OK);
            CHECK_STATUS(
                    odvgp_natgrad_step(m, d.X, d.Y, c.N, (odvgp_real)0.3, NULL, NULL), ODVGP_OK);
            grad = guard((size_t)odvgp_param_count(m) * sizeof(odvgp_real), 0);
            CHECK_STATUS(
                    odvgp_elbo(m, d.X, d.Y, c.N, &e, &kl, (odvgp_real *)grad.p, NULL), ODVGP_OK);
            CHECK(whole(&block) && whole(&grad));
            /* The predictor. */
            bytes = odvgp_predictor_size(m);
            /* The block of a predictor holds reals at their own alignment. */
            pred = guard(bytes, offsets[o] / sizeof(odvgp_real) * sizeof(odvgp_real));
            CHECK_STATUS(serve(m, NULL, pred.p, bytes, p, NULL), ODVGP_OK);
            CHECK(whole(&pred) && whole(&block));
            mean = NEW(odvgp_real, c.layer[0].P * n), var = NEW(odvgp_real, c.layer[0].P * n),
            cov = NEW(odvgp_real, c.layer[0].P * n * n), mean2 = NEW(odvgp_real, c.layer[0].P * n);
            for (rows = 1; rows <= n; rows += 5) {
                bytes = odvgp_predict_scratch(p, rows);
                scratch = guard(bytes, offsets[o]);
                CHECK_STATUS(odvgp_predict(p, d.X, n, mean, var, NULL, scratch.p, bytes), ODVGP_OK);
                CHECK_STATUS(odvgp_predict_logp(p, d.X, d.Y, n, mean2, scratch.p, bytes), ODVGP_OK);
                CHECK(whole(&scratch));
                if (rows == n) {
                    CHECK_STATUS(
                            odvgp_predict_cov(p, d.X, n, mean2, cov, scratch.p, bytes), ODVGP_OK);
                    CHECK(whole(&scratch));
                }
                free(scratch.all);
            }
            bytes = odvgp_sample_scratch(p, n);
            scratch = guard(bytes, offsets[o]);
            CHECK_STATUS(odvgp_sample(p, d.X, n, 1, 3, cov, scratch.p, bytes), ODVGP_OK);
            CHECK(whole(&scratch) && whole(&pred));
            free(scratch.all);
            /* The file. */
            bytes = odvgp_save_size(m, 5);
            file = guard(bytes, offsets[o]);
            CHECK_STATUS(odvgp_save(m, NULL, "12345", 5, file.p, bytes - 1, NULL), ODVGP_E_MEMORY);
            CHECK(untouched(file.p, bytes));
            CHECK_STATUS(odvgp_save(m, NULL, "12345", 5, file.p, bytes, &info), ODVGP_OK);
            CHECK(whole(&file) && whole(&block));
            CHECK_STATUS(odvgp_load_size(file.p, bytes, NULL, test_isa(), &model_bytes, &pred_bytes,
                                 &user, &user_bytes, &info),
                    ODVGP_OK);
            CHECK(user_bytes == 5 && !memcmp(user, "12345", 5));
            copy = guard(model_bytes, offsets[o]);
            CHECK_STATUS(odvgp_load(file.p, bytes, NULL, test_isa(), copy.p, model_bytes - 1, &m2,
                                 &info),
                    ODVGP_E_MEMORY);
            CHECK(m2 == NULL && whole(&copy) &&
                    untouched((unsigned char *)copy.p + model_bytes - 1, 1));
            CHECK_STATUS(
                    odvgp_load(file.p, bytes, NULL, test_isa(), copy.p, model_bytes, &m2, &info),
                    ODVGP_OK);
            CHECK_STATUS(odvgp_fit(m2, d.X, d.Y, 2, NULL, NULL, NULL), ODVGP_OK);
            CHECK(whole(&copy) && whole(&file));
            free(copy.all);
            copy = guard(pred_bytes, offsets[o] / sizeof(odvgp_real) * sizeof(odvgp_real));
            servers[1] = servers[0];
            CHECK_STATUS(odvgp_server_from_file(
                                 p2, file.p, bytes, test_isa(), copy.p, pred_bytes - 1, &info),
                    ODVGP_E_MEMORY);
            CHECK(!memcmp(p, p2, sizeof *p) && untouched(copy.p, pred_bytes));
            CHECK_STATUS(odvgp_server_from_file(
                                 p2, file.p, bytes, test_isa(), copy.p, pred_bytes, &info),
                    ODVGP_OK);
            CHECK(whole(&copy));
            bytes = odvgp_predict_scratch(p2, n);
            scratch = guard(bytes, 0);
            CHECK_STATUS(odvgp_predict(p2, d.X, n, mean2, NULL, NULL, scratch.p, bytes), ODVGP_OK);
            CHECK_STATUS(odvgp_predict(p, d.X, n, mean, NULL, NULL, scratch.p, bytes), ODVGP_OK);
            CHECK_BITS(mean, mean2, (size_t)(c.layer[0].P * n) * sizeof *mean);
            free(scratch.all), free(copy.all), free(file.all), free(pred.all), free(block.all),
                    free(grad.all);
            free(mean), free(var), free(cov), free(mean2);
            drop(&d);
        }
}
/*  A predictor holds no pointers: a copy of the block works at any address, and predictions only
    read it. */
TEST(predictors_can_be_moved)
{
    odvgp_config c = config(12, 2, 2, 4, 5);
    fixture a;
    size_t bytes, need, shift;
    unsigned char *block, *copy, *keep;
    odvgp_server servers[2], *p = &servers[0], *q = &servers[1];
    odvgp_real m0[24], v0[24], m1[24], v1[24], c0[288], c1[288];
    void *scratch;
    test_seed = 320;
    a = make(&c);
    CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 20, NULL, NULL, NULL), ODVGP_OK);
    bytes = odvgp_predictor_size(a.m);
    block = NEW(unsigned char, bytes), copy = NEW(unsigned char, bytes + 64),
    keep = NEW(unsigned char, bytes + 64);
    CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
    need = odvgp_predict_scratch(p, 12);
    scratch = test_alloc(need);
    CHECK_STATUS(odvgp_predict(p, a.X, 12, m0, v0, NULL, scratch, need), ODVGP_OK);
    CHECK_STATUS(odvgp_predict_cov(p, a.X, 12, NULL, c0, scratch, need), ODVGP_OK);
    /* Overwrite the model: the predictor does not need it. */
    memset(a.block, 0, a.bytes);
    /* Try every alignment that a real may have. */
    for (shift = 0; shift <= 64; shift += 8) {
        memset(copy, 0, bytes + 64);
        memcpy(copy + shift, block, bytes);
        memcpy(keep, copy, bytes + 64);
        CHECK_STATUS(odvgp_server_from_block(q, copy + shift, bytes, test_isa(), NULL), ODVGP_OK);
        CHECK_STATUS(odvgp_predict(q, a.X, 12, m1, v1, NULL, scratch, need), ODVGP_OK);
        CHECK_STATUS(odvgp_predict_cov(q, a.X, 12, NULL, c1, scratch, need), ODVGP_OK);
        CHECK_BITS(m0, m1, sizeof m0);
        CHECK_BITS(v0, v1, sizeof v0);
        CHECK_BITS(c0, c1, sizeof c0);
        CHECK_BITS(copy, keep, bytes + 64);
    }
    free(block), free(copy), free(keep), free(scratch);
    drop(&a);
}

/* ---- allocation ---- */

typedef struct counter {
    int calls, live, fail_at;
    size_t bytes;
} counter;
static void *counting_alloc(void *user, size_t bytes)
{
    counter *c = (counter *)user;
    void *p;
    if (++c->calls == c->fail_at) return NULL;
    p = malloc(bytes);
    c->live += p != NULL;
    c->bytes += bytes;
    return p;
}
static void counting_release(void *user, void *block)
{
    counter *c = (counter *)user;
    if (block) c->live--;
    free(block);
}
TEST(nothing_is_allocated_after_the_start)
{
    int natgrad, update;
    for (natgrad = 0; natgrad < 2; natgrad++)
        for (update = 0; update < 3; update++) {
            odvgp_config c = config(60, 2, 2, 8, 10);
            fixture a;
            size_t bytes, need, file_bytes;
            void *block, *scratch, *file, *again;
            odvgp_server server, *p = &server;
            odvgp_model *m2;
            odvgp_real e, mean[40], var[40], cov[800], f[80], logp[20];
            ptrdiff_t columns[2] = {1, 3};
            test_seed = 321;
            c.optim.natgrad = natgrad;
            c.reproduce.update = (odvgp_update)update;
            c.init.beta = (odvgp_init_beta)(update + natgrad);
            c.init.gamma = (odvgp_init_gamma)natgrad;
            c.init.hyperparams = (odvgp_init_hyper)natgrad;
            a = make(&c);
            bytes = odvgp_predictor_size(a.m);
            block = test_alloc(bytes);
            file_bytes = odvgp_save_size(a.m, 0);
            file = test_alloc(file_bytes);
            again = test_alloc(a.bytes);
            CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
            need = odvgp_sample_scratch(p, 20);
            scratch = test_alloc(need);
            allocations = 0;
            CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 10, NULL, NULL, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, NULL), ODVGP_OK);
            CHECK_STATUS(
                    odvgp_natgrad_step(a.m, a.X, a.Y, 60, (odvgp_real)0.1, NULL, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 60, &e, NULL, NULL, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_elbo_columns(a.m, a.X, a.Y, 60, columns, 2, &e, NULL, NULL, NULL),
                    ODVGP_OK);
            CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_predict(p, a.X, 20, mean, var, NULL, scratch, need), ODVGP_OK);
            CHECK_STATUS(odvgp_predict_cov(p, a.X, 20, mean, cov, scratch, need), ODVGP_OK);
            CHECK_STATUS(odvgp_predict_logp(p, a.X, a.Y, 20, logp, scratch, need), ODVGP_OK);
            CHECK_STATUS(odvgp_sample(p, a.X, 20, 2, 0, f, scratch, need), ODVGP_OK);
            CHECK_STATUS(odvgp_save(a.m, NULL, NULL, 0, file, file_bytes, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_load(file, file_bytes, NULL, test_isa(), again, a.bytes, &m2, NULL),
                    ODVGP_OK);
            CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
            CHECK_INT(allocations, 0);
            free(block), free(scratch), free(file), free(again);
            drop(&a);
        }
}
TEST(each_allocation_can_fail)
{
    odvgp_config c = config(20, 2, 1, 4, 5);
    fixture a;
    counter count = {0, 0, 0, 0};
    odvgp_allocator allocator = {counting_alloc, counting_release, NULL};
    odvgp_model *m = NULL;
    odvgp_real mean[20], var[20];
    int fail_at, total;
    test_seed = 322;
    memset(&a, 0, sizeof a);
    make_data(&a, 20, 2, 1, 1, 0.1);
    allocator.user = &count;
    /* odvgp_model_create allocates from the allocator. */
    CHECK_STATUS(odvgp_model_create(&m, &c, a.X, a.Y, &allocator, NULL), ODVGP_OK);
    total = count.calls;
    CHECK(total >= 1 && count.live >= 1);
    odvgp_model_free(m);
    CHECK_INT(count.live, 0);
    for (fail_at = 1; fail_at <= total; fail_at++) {
        memset(&count, 0, sizeof count);
        count.fail_at = fail_at;
        CHECK_STATUS(odvgp_model_create(&m, &c, a.X, a.Y, &allocator, NULL), ODVGP_E_MEMORY);
        CHECK(m == NULL);
        CHECK_INT(count.live, 0);
    }
    /* odvgp_model_create releases its block if the data are bad. */
    memset(&count, 0, sizeof count);
    a.X[7] = (odvgp_real)NAN;
    CHECK_STATUS(odvgp_model_create(&m, &c, a.X, a.Y, &allocator, NULL), ODVGP_E_NAN);
    CHECK(m == NULL);
    CHECK_INT(count.live, 0);
    a.X[7] = 0;
    /* odvgp_predict_once uses the allocator of its model. */
    memset(&count, 0, sizeof count);
    CHECK_STATUS(odvgp_model_create(&m, &c, a.X, a.Y, &allocator, NULL), ODVGP_OK);
    count.calls = 0;
    allocations = 0;
    CHECK_STATUS(odvgp_predict_once(m, a.X, 20, mean, var, NULL), ODVGP_OK);
    /* The memory came from the model's allocator, not from malloc. */
    CHECK_INT(allocations, 0);
    total = count.calls;
    CHECK(total >= 1);
    CHECK_INT(count.live, 1);
    memset(mean, PATTERN, sizeof mean), memset(var, PATTERN, sizeof var);
    for (fail_at = 1; fail_at <= total; fail_at++) {
        count.calls = 0;
        count.fail_at = fail_at;
        REFUSED(odvgp_predict_once(m, a.X, 20, mean, var, &info), ODVGP_E_MEMORY);
        CHECK_INT(count.live, 1);
    }
    CHECK(untouched(mean, sizeof mean) && untouched(var, sizeof var));
    count.fail_at = 0;
    odvgp_model_free(m);
    CHECK_INT(count.live, 0);
    /* An allocator that is all zeros means malloc. */
    memset(&allocator, 0, sizeof allocator);
    allocations = 0;
    CHECK_STATUS(odvgp_model_create(&m, &c, a.X, a.Y, &allocator, NULL), ODVGP_OK);
    CHECK_INT(allocations, 1);
    odvgp_model_free(m);
    drop(&a);
}
/*  The library keeps no pointer to an argument after the call returns. */
TEST(no_pointer_of_the_caller_is_kept)
{
    odvgp_config c = config(10, 2, 1, 3, 4);
    fixture a;
    odvgp_real e;
    odvgp_info info = no_info();
    size_t bytes;
    void *block;
    odvgp_server server, *p = &server;
    test_seed = 323;
    a = make(&c);
    CHECK(a.m->tape.info == NULL);
    CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 10, &e, NULL, NULL, &info), ODVGP_OK);
    CHECK(a.m->tape.info == NULL);
    CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, NULL, &info), ODVGP_OK);
    CHECK(a.m->tape.info == NULL);
    bytes = odvgp_predictor_size(a.m);
    block = test_alloc(bytes);
    CHECK_STATUS(serve(a.m, NULL, block, bytes, p, &info), ODVGP_OK);
    CHECK(a.m->tape.info == NULL);
    a.X[3] = (odvgp_real)NAN;
    CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 10, &e, NULL, NULL, &info), ODVGP_E_NAN);
    CHECK(a.m->tape.info == NULL);
    free(block);
    drop(&a);
}
/*  Placing inducing points looks at 50 M rows, or at all rows if there are fewer. No M makes
    that product overflow. */
TEST(rows_for_the_start_do_not_overflow)
{
    odvgp_config c = config(100000, 3, 1, 20, 0);
    CHECK_INT(odvgp__init_rows(&c), 4096);
    c.layer[0].M = 1000;
    CHECK_INT(odvgp__init_rows(&c), 50000);
    c.layer[0].M = 2000;
    CHECK_INT(odvgp__init_rows(&c), 100000);
    CHECK_INT(odvgp__greedy_rows(&c), 8000);
    c.layer[0].M_gamma = 20000;
    c.layer[0].M = 100;
    CHECK_INT(odvgp__residual_rows(&c), 80000);
    c.layer[0].M = c.layer[0].M_gamma = PTRDIFF_MAX / 3;
    CHECK_INT(odvgp__init_rows(&c), 100000);
    CHECK_INT(odvgp__greedy_rows(&c), 100000);
    CHECK_INT(odvgp__residual_rows(&c), 100000);
}
/*  The size of a model does not depend on N, so that N can be large. */
TEST(memory_does_not_grow_with_the_data)
{
    odvgp_config c = config(100000, 3, 1, 20, 30);
    size_t small, large, plain = 0;
    int start;
    c.optim.batch = 256;
    /* This also holds for the methods of initialisation that need the most memory. */
    for (start = 0; start < 2; start++) {
        c.N = 100000;
        CHECK_STATUS(odvgp_model_size(&c, &small, NULL), ODVGP_OK);
        c.N = 100000000;
        CHECK_STATUS(odvgp_model_size(&c, &large, NULL), ODVGP_OK);
        CHECK_INT(large, small);
        CHECK(large > plain);
        plain = large;
        c.layer[0].M = 500;
        c.init.beta = ODVGP_INIT_BETA_GREEDY;
        c.init.gamma = ODVGP_INIT_GAMMA_RESIDUAL;
        c.init.hyperparams = ODVGP_INIT_HYPER_ULAPANE;
    }
}

/* ---- model files ---- */

TEST(training_goes_on_bit_for_bit_after_a_file)
{
    int natgrad, param, coords, update = 0;
    for (natgrad = 0; natgrad < 2; natgrad++)
        for (param = 0; param < 3; param++)
            for (coords = 0; coords < 3; coords++, update++) {
                odvgp_config c = config(40, 2, 2, 5, coords == 2 && natgrad ? 0 : 6);
                fixture a;
                odvgp_model *b = NULL;
                size_t bytes, model_bytes, pred_bytes, user_bytes, second_bytes, i;
                const void *user;
                void *file, *second, *block, *pred, *scratch;
                odvgp_server servers[2], *p = &servers[0], *q = &servers[1];
                odvgp_real *va, *vb, xm[2] = {1, 2}, ys[2] = {3, 4}, m0[80], m1[80], v0[80], v1[80],
                                     e0, e1;
                odvgp_scales scales = {NULL, NULL, NULL, NULL};
                odvgp_report r0, r1;
                odvgp_info info = no_info();
                unsigned char *shifted;
                test_seed = 330;
                scales.x_mean = xm, scales.y_scale = ys;
                c.optim.natgrad = natgrad;
                c.reproduce.parametrisation = (odvgp_parametrisation)param;
                c.reproduce.gamma_coords = (odvgp_gamma_coords)coords;
                c.reproduce.gamma_kl = (odvgp_gamma_kl)(update % 2);
                c.reproduce.update = (odvgp_update)(update % 3);
                c.layer[0].mean_function = (odvgp_mean_function)(update / 2 % 3);
                c.positive_transform = (odvgp_positive_transform)(update % 2);
                c.reproduce.adam_eps_inside = update % 2;
                c.optim.natgrad_step = odvgp_falling((odvgp_real)1e-3, (odvgp_real)0.005, 15);
                c.seed = 77;
                if (update % 4 == 3) c.layer[0].kernel = "matern32(1, ard) * rbf(2, dims=1)";
                a = make(&c);
                CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.1.variance", 0), ODVGP_OK);
                CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 11, NULL, NULL, NULL), ODVGP_OK);
                file = save_file(a.m, &scales, "some words", &bytes);
                /* A file may start at any address. */
                shifted = NEW(unsigned char, bytes + 3);
                memcpy(shifted + 3, file, bytes);
                CHECK_SAY(odvgp_load_size(shifted + 3, bytes, NULL, test_isa(), &model_bytes,
                                  &pred_bytes, &user, &user_bytes, &info) == ODVGP_OK,
                        "%s", info.text);
                CHECK(user_bytes == 10 && !memcmp(user, "some words", 10));
                block = test_alloc(model_bytes), pred = test_alloc(pred_bytes);
                CHECK_SAY(odvgp_load(shifted + 3, bytes, NULL, test_isa(), block, model_bytes, &b,
                                  &info) == ODVGP_OK,
                        "%s", info.text);
                CHECK_SAY(odvgp_server_from_file(q, shifted + 3, bytes, test_isa(), pred,
                                  pred_bytes, &info) == ODVGP_OK,
                        "%s", info.text);
                /* Overwrite the file: the model does not need it. */
                memset(shifted, 0, bytes + 3);
                if (!b) continue;
                CHECK_INT(odvgp_steps_done(b), 11);
                /* Saving the loaded model gives the same file. */
                second = save_file(b, &scales, "some words", &second_bytes);
                CHECK(second_bytes == bytes && memcmp(second, file, bytes) == 0);
                /* The predictor in the file is the one that odvgp_freeze makes. */
                {
                    size_t n = odvgp_predictor_size(a.m), need;
                    void *frozen = test_alloc(n);
                    CHECK_STATUS(serve(a.m, &scales, frozen, n, p, NULL), ODVGP_OK);
                    need = odvgp_predict_scratch(p, 40);
                    scratch = test_alloc(need);
                    CHECK_STATUS(odvgp_predict(p, a.X, 40, m0, v0, NULL, scratch, need), ODVGP_OK);
                    CHECK_STATUS(odvgp_predict(q, a.X, 40, m1, v1, NULL, scratch, need), ODVGP_OK);
                    CHECK_BITS(m0, m1, sizeof m0);
                    CHECK_BITS(v0, v1, sizeof v0);
                    free(frozen), free(scratch);
                }
                for (i = 0; i < 14; i++) {
                    CHECK_STATUS(odvgp_step(a.m, a.X, a.Y, &r0, NULL), ODVGP_OK);
                    CHECK_STATUS(odvgp_step(b, a.X, a.Y, &r1, NULL), ODVGP_OK);
                    CHECK(r0.elbo == r1.elbo && r0.kl == r1.kl && r0.lr == r1.lr &&
                            r0.natgrad_step == r1.natgrad_step && r0.step == r1.step);
                }
                CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 40, &e0, NULL, NULL, NULL), ODVGP_OK);
                CHECK_STATUS(odvgp_elbo(b, a.X, a.Y, 40, &e1, NULL, NULL, NULL), ODVGP_OK);
                CHECK(e0 == e1);
                va = all_values(a.m), vb = all_values(b);
                CHECK_BITS(va, vb, (size_t)odvgp_param_count(a.m) * sizeof *va);
                CHECK(!odvgp_slot_find(b, "kernel.1.variance")->trainable);
                free(file), free(second), free(block), free(pred), free(va), free(vb),
                        free(shifted);
                drop(&a);
            }
}
/*  Checks the file of any legal pair of parts with any objective. The loaded model predicts the
    same bits at once, after another save, and after odvgp_freeze; saving it gives the same
    bytes. */
static void check_file(const odvgp_config *c, const char *where)
{
    fixture a = make(c);
    odvgp_real m0[24], v0[24], m1[24], v1[24];
    size_t bytes, model_bytes, pred_bytes, second_bytes, need;
    void *file, *second, *block, *pred, *scratch, *work;
    odvgp_server server, *p = NULL;
    odvgp_model *b = NULL;
    odvgp_info info = no_info();
    int k;
    CHECK_SAY(odvgp_fit(a.m, a.X, a.Y, 2, NULL, NULL, &info) == ODVGP_OK, "%s: fit: %s", where,
            info.text);
    if (c->objective != ODVGP_OBJECTIVE_ELBO) {
        need = odvgp_fit_q_size(a.m);
        work = test_alloc(need);
        CHECK_SAY(odvgp_fit_q(a.m, a.X, a.Y, work, need, &info) == ODVGP_OK, "%s: fit_q: %s", where,
                info.text);
        free(work);
    }
    CHECK_SAY(odvgp_predict_once(a.m, a.X, 12, m0, v0, &info) == ODVGP_OK, "%s: predict: %s", where,
            info.text);
    CHECK(all_finite(m0, 12 * c->layer[0].P) && all_finite(v0, 12 * c->layer[0].P));
    file = save_file(a.m, NULL, "", &bytes);
    CHECK_SAY(odvgp_load_size(file, bytes, NULL, test_isa(), &model_bytes, &pred_bytes, NULL, NULL,
                      &info) == ODVGP_OK,
            "%s: load_size: %s", where, info.text);
    /* A loaded model predicts at once, is frozen, or is saved. */
    for (k = 0; k < 3 && !info.text[0]; k++) {
        size_t i, n = (size_t)(12 * c->layer[0].P) * sizeof *m0;
        block = test_alloc(model_bytes);
        CHECK_SAY(odvgp_load(file, bytes, NULL, test_isa(), block, model_bytes, &b, &info) ==
                          ODVGP_OK,
                "%s: load: %s", where, info.text);
        if (k == 0) CHECK_STATUS(odvgp_predict_once(b, a.X, 12, m1, v1, NULL), ODVGP_OK);
        pred = test_alloc(pred_bytes);
        if (k == 1) CHECK_STATUS(serve(b, NULL, pred, pred_bytes, p = &server, NULL), ODVGP_OK);
        if (k == 2) {
            second = save_file(b, NULL, "", &second_bytes);
            CHECK_SAY(second_bytes == bytes && !memcmp(second, file, bytes), "%s: other bytes",
                    where);
            CHECK_STATUS(odvgp_server_from_file(p = &server, second, second_bytes, test_isa(), pred,
                                 pred_bytes, NULL),
                    ODVGP_OK);
            free(second);
        }
        if (k && p) {
            need = odvgp_predict_scratch(p, 12);
            scratch = test_alloc(need);
            CHECK_STATUS(odvgp_predict(p, a.X, 12, m1, v1, NULL, scratch, need), ODVGP_OK);
            free(scratch);
        }
        for (i = 0; i < n && ((unsigned char *)m0)[i] == ((unsigned char *)m1)[i] &&
                    ((unsigned char *)v0)[i] == ((unsigned char *)v1)[i];)
            i++;
        CHECK_SAY(i == n, "%s: look %d: another prediction", where, k);
        free(block), free(pred);
    }
    free(file);
    drop(&a);
}
TEST(every_model_is_read_again_from_its_file)
{
    int mean, cov, objective, param, gamma, files = 0, without_q = 0;
    for (mean = 0; mean < ODVGP__COUNT(odvgp__mean_parts); mean++)
        for (cov = 0; cov < ODVGP__COUNT(odvgp__cov_parts); cov++)
            for (objective = ODVGP_OBJECTIVE_ELBO; objective <= ODVGP_OBJECTIVE_EXACT; objective++)
                for (param = ODVGP_PARAMETRISATION_WHITENED; param <= ODVGP_PARAMETRISATION_A_BETA;
                        param++)
                    for (gamma = 0; gamma < 2; gamma++) {
                        odvgp_config c = config(12, 2, 2,
                                objective == ODVGP_OBJECTIVE_EXACT ? 12 : 4, gamma ? 3 : 0);
                        char where[100];
                        size_t bytes;
                        test_seed = 338;
                        c.layer[0].mean_part = (odvgp_mean_part)mean,
                        c.layer[0].cov_part = (odvgp_cov_part)cov,
                        c.objective = (odvgp_objective)objective;
                        c.reproduce.parametrisation = (odvgp_parametrisation)param;
                        c.optim.natgrad = 0;
                        c.optim.batch = 12;
                        if (odvgp_model_size(&c, &bytes, NULL) != ODVGP_OK) continue;
                        snprintf(where, sizeof where,
                                "mean %d, cov %d, objective %d, param %d, gamma %d", mean, cov,
                                objective, param, gamma);
                        check_file(&c, where);
                        files++;
                        without_q += objective != ODVGP_OBJECTIVE_ELBO;
                    }
    CHECK(without_q > 20);
    test_note("%d, %d of them without q", files, without_q);
}
/*  If q_mu is so large that L^-T q_mu is infinite, freezing and saving fail, and the blocks keep
    their contents. */
TEST(predictors_that_overflow_are_refused)
{
    odvgp_config c = config(12, 2, 1, 4, 0);
    fixture a;
    odvgp_real q_mu[4];
    odvgp_real variance = (odvgp_real)1e-8;
    size_t bytes, file_bytes, i;
    void *block, *file;
    test_seed = 339;
    c.layer[0].kernel = "rbf";
    a = make(&c);
    CHECK_STATUS(odvgp_set(a.m, "kernel.0.variance", &variance, 1, NULL), ODVGP_OK);
    for (i = 0; i < 4; i++) q_mu[i] = (odvgp_real)(0.9 * HUGE_REAL);
    CHECK_STATUS(odvgp_set(a.m, "q_mu", q_mu, 4, NULL), ODVGP_OK);
    bytes = odvgp_predictor_size(a.m), file_bytes = odvgp_save_size(a.m, 0);
    block = test_alloc(bytes), file = test_alloc(file_bytes);
    memset(block, PATTERN, bytes), memset(file, PATTERN, file_bytes);
    REFUSED(odvgp_freeze(a.m, NULL, block, bytes, &info), ODVGP_E_NAN);
    REFUSED(odvgp_save(a.m, NULL, NULL, 0, file, file_bytes, &info), ODVGP_E_NAN);
    CHECK(untouched(block, bytes) && untouched(file, file_bytes));
    free(block), free(file);
    drop(&a);
}
/*  Finite predictors and finite inputs can have results that are not finite: the status says so,
    and the rows that are finite are written. Here scales of y overflow only a mean or only a
    variance, or k(x,x) - |A|^2 of a linear kernel at a far input is infinity minus infinity; for
    one row and for several chunks of rows. */
TEST(results_that_overflow_are_told)
{
    enum { N = 12, ROWS = 20 };
    int way, n;
    for (way = 0; way < 3; way++)
        for (n = 1; n <= ROWS; n += ROWS - 1) {
            odvgp_config c = config(N, 2, 1, 4, 0);
            fixture a;
            odvgp_real far_away = (odvgp_real)(BY_PRECISION(1e170, 1e25)), y_mean = 0,
                       y_scale = (odvgp_real)(way == 1 ? sqrt(HUGE_REAL) * 1.5 : 0.75 * HUGE_REAL),
                       big = 4;
            odvgp_real X[2 * ROWS], Y[ROWS], mean[ROWS], var[ROWS], var_y[ROWS], logp[ROWS],
                    cov[ROWS * ROWS], f[2 * ROWS], q[4];
            odvgp_scales scales = {NULL, NULL, &y_mean, &y_scale};
            odvgp_server server;
            size_t bytes, need, one;
            void *block, *scratch;
            odvgp_status want = ODVGP_E_NAN;
            int i;
            test_seed = 366;
            c.layer[0].kernel = way == 2 ? "linear(1)" : "rbf";
            a = make(&c);
            CHECK_STATUS(odvgp_get(a.m, "q_mu", q, 4), ODVGP_OK);
            for (i = 0; i < 4 && way == 0; i++) q[i] = big * (odvgp_real)(i % 2 ? -1 : 1);
            CHECK_STATUS(odvgp_set(a.m, "q_mu", q, 4, NULL), ODVGP_OK);
            for (i = 0; i < 2 * ROWS; i++) X[i] = (odvgp_real)test_between(-2, 2);
            for (i = 0; i < ROWS; i++) Y[i] = 0;
            if (way == 2) X[2 * n - 2] = far_away;
            bytes = odvgp_predictor_size(a.m);
            block = test_alloc(bytes);
            CHECK_STATUS(
                    serve(a.m, way == 2 ? NULL : &scales, block, bytes, &server, NULL), ODVGP_OK);
            need = odvgp_sample_scratch(&server, ROWS), one = odvgp_predict_scratch(&server, 1);
            scratch = test_alloc(need);
            CHECK_STATUS(odvgp_predict(&server, X, n, NULL, var, NULL, scratch, one), want);
            CHECK_STATUS(odvgp_predict(&server, X, n, mean, var, var_y, scratch, one), want);
            CHECK(!all_finite(var, n) && !all_finite(var_y, n));
            for (i = 0; i + 1 < n && way == 2; i++)
                CHECK(all_finite(&mean[i], 1) && var[i] >= 0 && all_finite(&var[i], 1));
            CHECK_STATUS(odvgp_predict(&server, X, n, NULL, NULL, var_y, scratch, one), want);
            CHECK_STATUS(odvgp_predict(&server, X, n, mean, NULL, NULL, scratch, need),
                    all_finite(mean, n) ? ODVGP_OK : want);
            if (way == 1) CHECK(all_finite(mean, n));
            CHECK_STATUS(odvgp_predict_cov(&server, X, n, NULL, cov, scratch, need), want);
            CHECK(!all_finite(cov, (ptrdiff_t)n * n));
            CHECK_STATUS(odvgp_sample(&server, X, n, 2, 1, f, scratch, need), want);
            if (way == 2) {
                CHECK_STATUS(odvgp_predict_logp(&server, X, Y, n, logp, scratch, one), want);
                CHECK(!all_finite(&logp[n - 1], 1) && all_finite(logp, n - 1));
            }
            free(block), free(scratch);
            drop(&a);
        }
}
/*  A predictor's block is refused if one byte is changed, or if it is cut, misaligned, or of
    another version or precision. The server keeps its contents. */
TEST(damaged_blocks_are_refused)
{
    odvgp_config c = config(6, 2, 1, 2, 2);
    fixture a;
    size_t bytes, i, wrong = 0;
    unsigned char *block;
    odvgp__predictor *head;
    odvgp_server server;
    test_seed = 336;
    c.layer[0].kernel = "rbf + white(0.1)";
    a = make(&c);
    bytes = odvgp_predictor_size(a.m);
    block = NEW(unsigned char, bytes + 8);
    head = (odvgp__predictor *)(void *)block;
    CHECK_STATUS(serve(a.m, NULL, block, bytes, &server, NULL), ODVGP_OK);
    CHECK(server.block == block && server.D == 2 && server.P == 1 && server.F == 1 &&
            server.T == 1);
    CHECK_STATUS(odvgp_server_from_block(&server, block, bytes + 8, test_isa(), NULL), ODVGP_OK);
    memset(&server, PATTERN, sizeof server);
    for (i = 0; i < bytes; i++) {
        unsigned char keep = block[i];
        odvgp_info info = no_info();
        block[i] = (unsigned char)(keep ^ (1u << test_below(8)));
        wrong += odvgp_server_from_block(&server, block, bytes, test_isa(), &info) == ODVGP_OK ||
                 !info.text[0];
        block[i] = keep;
    }
    CHECK_SAY(wrong == 0, "%d of %d damaged blocks are taken", (int)wrong, (int)bytes);
    for (wrong = 0, i = 0; i < bytes; i++) {
        unsigned char *cut = NEW(unsigned char, i);
        memcpy(cut, block, i);
        wrong += odvgp_server_from_block(&server, cut, i, test_isa(), NULL) == ODVGP_OK;
        free(cut);
    }
    CHECK_SAY(wrong == 0, "%d of %d blocks that are cut off are taken", (int)wrong, (int)bytes);
    memmove(block + 2, block, bytes);
    /* This address is not aligned for a real. */
    REFUSED(odvgp_server_from_block(&server, block + 2, bytes, test_isa(), &info), ODVGP_E_ARG);
    memmove(block, block + 2, bytes);
    REFUSED(odvgp_server_from_block(&server, NULL, bytes, test_isa(), &info), ODVGP_E_ARG);
    REFUSED(odvgp_server_from_block(NULL, block, bytes, test_isa(), &info), ODVGP_E_ARG);
    REFUSED(odvgp_server_from_block(&server, block, bytes, (odvgp_isa)99, &info),
            ODVGP_E_UNSUPPORTED);
    /* The checksum is correct, so that only the content is wrong. */
    for (i = 0; i < 3; i++) {
        uint32_t *field = i == 0 ? &head->version : i == 1 ? &head->real_size : &head->base_kernels;
        uint32_t keep = *field;
        *field = i == 0 ? keep + 1 : i == 1 ? 12 - keep : ODVGP_MAX_BASE_KERNELS + 1;
        if (i < 2) odvgp__predictor_sum(head, head->checksum);
        REFUSED(odvgp_server_from_block(&server, block, bytes, test_isa(), &info),
                ODVGP_E_UNSUPPORTED);
        *field = keep;
    }
    /* No model has these numbers. */
    for (i = 0; i < 2; i++) {
        odvgp_real *x = i ? odvgp__view_of(head).x_scale : odvgp__view_of(head).L, keep = *x;
        *x = i ? 0 : (odvgp_real)NAN;
        odvgp__predictor_sum(head, head->checksum);
        REFUSED(odvgp_server_from_block(&server, block, bytes, test_isa(), &info), ODVGP_E_FORMAT);
        *x = keep;
    }
    odvgp__predictor_sum(head, head->checksum);
    CHECK(untouched(&server, sizeof server));
    CHECK_STATUS(odvgp_server_from_block(&server, block, bytes, test_isa(), NULL), ODVGP_OK);
    free(block);
    drop(&a);
}
/*  Returns 1 if all three readers refuse the file and write nothing. */
static int refused(const unsigned char *file, size_t bytes, void *block, size_t block_bytes)
{
    size_t a, b, c;
    const void *user;
    odvgp_model *m;
    odvgp_server server;
    odvgp_info info = no_info();
    memset(&server, PATTERN, sizeof server);
    memset(&a, PATTERN, sizeof a), memset(&b, PATTERN, sizeof b), memset(&c, PATTERN, sizeof c),
            memset(&user, PATTERN, sizeof user);
    if (odvgp_load_size(file, bytes, NULL, test_isa(), &a, &b, &user, &c, &info) == ODVGP_OK ||
            !info.text[0])
        return 0;
    if (!untouched(&a, sizeof a) || !untouched(&b, sizeof b) || !untouched(&c, sizeof c) ||
            !untouched(&user, sizeof user))
        return 0;
    if (odvgp_load(file, bytes, NULL, test_isa(), block, block_bytes, &m, &info) == ODVGP_OK || m)
        return 0;
    if (odvgp_server_from_file(&server, file, bytes, test_isa(), block, block_bytes, &info) ==
                    ODVGP_OK ||
            !untouched(&server, sizeof server))
        return 0;
    return 1;
}
TEST(damaged_files_are_refused)
{
    odvgp_config c = config(6, 1, 1, 2, 2);
    fixture a;
    size_t bytes, i, wrong = 0, block_bytes;
    unsigned char *file, *block;
    test_seed = 331;
    c.layer[0].kernel = "rbf";
    a = make(&c);
    CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 3, NULL, NULL, NULL), ODVGP_OK);
    file = save_file(a.m, NULL, "user", &bytes);
    block_bytes = a.bytes + odvgp_predictor_size(a.m);
    block = NEW(unsigned char, block_bytes);
    memset(block, PATTERN, block_bytes);
    /* The unchanged file is accepted. */
    CHECK(!refused(file, bytes, block, block_bytes));
    memset(block, PATTERN, block_bytes);
    /* Change one bit, then all bits, of every byte. */
    for (i = 0; i < bytes; i++) {
        unsigned char keep = file[i];
        file[i] = (unsigned char)(keep ^ (1u << test_below(8)));
        wrong += !refused(file, bytes, block, block_bytes);
        file[i] = (unsigned char)~keep;
        wrong += !refused(file, bytes, block, block_bytes);
        file[i] = keep;
    }
    CHECK_SAY(wrong == 0, "%d of %d damaged files are read", (int)wrong, (int)(2 * bytes));
    /* Cut the file at every length. Blocks have the exact size, so that a sanitizer sees reads
       beyond the end. */
    for (wrong = 0, i = 0; i < bytes; i++) {
        unsigned char *cut = NEW(unsigned char, i);
        memcpy(cut, file, i);
        wrong += !refused(cut, i, block, block_bytes);
        free(cut);
    }
    CHECK_SAY(wrong == 0, "%d of %d truncated files are read", (int)wrong, (int)bytes);
    {
        /* Files that are too long, have their halves swapped, hold text, or are empty. */
        unsigned char *other = NEW(unsigned char, bytes + 8);
        memset(other, 0, bytes + 8);
        memcpy(other, file, bytes);
        CHECK(refused(other, bytes + 1, block, block_bytes) &&
                refused(other, bytes + 8, block, block_bytes));
        memcpy(other, file + bytes / 2, bytes - bytes / 2);
        memcpy(other + bytes - bytes / 2, file, bytes / 2);
        CHECK(refused(other, bytes, block, block_bytes));
        memset(other, 'x', bytes);
        CHECK(refused(other, bytes, block, block_bytes));
        CHECK(refused(other, 0, block, block_bytes));
        REFUSED(odvgp_load_size(NULL, bytes, NULL, test_isa(), &bytes, NULL, NULL, NULL, &info),
                ODVGP_E_ARG);
        free(other);
    }
    /* No reader has written into the block. */
    CHECK(untouched(block, block_bytes));
    REFUSED(odvgp_save(NULL, NULL, NULL, 0, file, bytes, &info), ODVGP_E_ARG);
    REFUSED(odvgp_save(a.m, NULL, NULL, 0, NULL, bytes, &info), ODVGP_E_ARG);
    REFUSED(odvgp_save(a.m, NULL, NULL, 4, file, bytes, &info), ODVGP_E_ARG);
    CHECK(odvgp_save_size(a.m, (size_t)-1) == 0);
    {
        odvgp_model *m = NULL;
        odvgp_server server;
        REFUSED(odvgp_load(file, bytes, NULL, test_isa(), block, block_bytes, NULL, &info),
                ODVGP_E_ARG);
        CHECK(odvgp_load(file, bytes, NULL, test_isa(), NULL, block_bytes, &m, NULL) != ODVGP_OK &&
                !m);
        CHECK(odvgp_server_from_file(NULL, file, bytes, test_isa(), block, block_bytes, NULL) !=
                ODVGP_OK);
        CHECK(odvgp_server_from_file(&server, file, bytes, test_isa(), NULL, block_bytes, NULL) !=
                ODVGP_OK);
    }
    {
        /* Another version has its own status. */
        unsigned char *other = NEW(unsigned char, bytes);
        uint64_t sum;
        odvgp_model *m;
        /* Newer and older versions: */
        for (wrong = 0; wrong < 7; wrong++) {
            odvgp_info info = no_info();
            if (wrong == ODVGP__FILE_VERSION) continue;
            memcpy(other, file, bytes);
            other[8] = (unsigned char)wrong;
            sum = odvgp__checksum(other, bytes - 8);
            for (i = 0; i < 8; i++) other[bytes - 8 + i] = (unsigned char)(sum >> (8 * i));
            CHECK(refused(other, bytes, block, block_bytes));
            REFUSED(odvgp_load(other, bytes, NULL, test_isa(), block, block_bytes, &m, &info),
                    ODVGP_E_UNSUPPORTED);
            (void)odvgp_load(other, bytes, NULL, test_isa(), block, block_bytes, &m, &info);
            CHECK_SAY(strstr(info.text, wrong < ODVGP__FILE_VERSION
                                                ? "of an older format: train the model again"
                                                : "of a newer format") != NULL,
                    "version %d: %s", (int)wrong, info.text);
        }
        CHECK(untouched(block, block_bytes));
        free(other);
    }
    free(file), free(block);
    drop(&a);
}
/*  Writes the correct checksum of the file's current contents. */
static void mend(unsigned char *file, size_t bytes)
{
    uint64_t sum = odvgp__checksum(file, bytes - 8);
    int i;
    for (i = 0; i < 8; i++) file[bytes - 8 + (size_t)i] = (unsigned char)(sum >> (8 * i));
}
/*  Loads, evaluates, steps and predicts with any status as result. Returns 1 if the model was
    loaded. */
static int use_forged(const unsigned char *file, size_t bytes)
{
    size_t model_bytes = 0, pred_bytes = 0;
    void *block, *pred;
    odvgp_model *m;
    odvgp_server server, *p = &server;
    odvgp_real e, mean[64], X[64] = {0}, Y[64] = {0};
    int loaded;
    if (odvgp_load_size(file, bytes, NULL, test_isa(), &model_bytes, &pred_bytes, NULL, NULL,
                NULL) != ODVGP_OK)
        return 0;
    if (model_bytes >= 10000000 || pred_bytes >= 10000000) return 0;
    block = test_alloc(model_bytes), pred = test_alloc(pred_bytes);
    loaded = odvgp_load(file, bytes, NULL, test_isa(), block, model_bytes, &m, NULL) == ODVGP_OK;
    if (loaded) {
        const odvgp_config *cfg = odvgp_model_config(m);
        odvgp_report report;
        if (cfg->layer[0].D <= 8 && cfg->layer[0].P <= 8)
            (void)odvgp_elbo(m, X, Y, 2, &e, NULL, NULL, NULL);
        if (cfg->layer[0].D <= 8 && cfg->layer[0].P <= 8 && cfg->N <= 8)
            (void)odvgp_step(m, X, Y, &report, NULL);
    }
    if (odvgp_server_from_file(p, file, bytes, test_isa(), pred, pred_bytes, NULL) == ODVGP_OK &&
            p->D <= 8 && p->P <= 8) {
        size_t need = odvgp_predict_scratch(p, 2);
        if (need && need < 10000000) {
            void *scratch = test_alloc(need);
            (void)odvgp_predict(p, X, 2, mean, NULL, NULL, scratch, need);
            free(scratch);
        }
    }
    free(block), free(pred);
    return loaded;
}
/*  A file with a correct checksum and wrong contents is refused, or read as some other model; it
    never causes a crash, a read beyond its end, or an endless loop. */
TEST(forged_files_do_no_harm)
{
    odvgp_config c = config(6, 2, 1, 2, 2);
    fixture a;
    size_t bytes, i;
    unsigned char *file, *other;
    int round, read = 0;
    test_seed = 332;
    a = make(&c);
    CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 3, NULL, NULL, NULL), ODVGP_OK);
    file = save_file(a.m, NULL, "", &bytes);
    other = NEW(unsigned char, bytes);
    for (round = 0; round < test_size(6000, 2000); round++) {
        int hits = 1 + (int)test_below(2);
        memcpy(other, file, bytes);
        /* Most changes hit config and kernel, whose numbers decide how much memory is used. */
        while (hits--) {
            i = test_below(8) ? (size_t)test_below(bytes < 1500 ? (ptrdiff_t)bytes : 1500)
                              : (size_t)test_below((ptrdiff_t)bytes);
            if (i >= bytes - 8) i = bytes - 9;
            other[i] = test_below(2) ? (unsigned char)test_bits() : (unsigned char)test_below(10);
        }
        mend(other, bytes);
        read += use_forged(other, bytes);
    }
    /* Some changed numbers are legal. */
    CHECK(read > 100);
    free(file), free(other);
    drop(&a);
}
/*  The bytes of the table of units up to the kernel's words: a count, 4 sizes, 5 choices, and
    the number of terms. */
enum { UNIT_HEAD = 4 + 4 * 8 + 5 * 4 + 4 };

/*  Every byte of a small file is changed to several other values. */
TEST(each_changed_byte_does_no_harm)
{
    odvgp_config c = config(6, 2, 1, 2, 2);
    fixture a;
    size_t bytes, i;
    unsigned char *file;
    int k, read = 0;
    test_seed = 338;
    a = make(&c);
    CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 3, NULL, NULL, NULL), ODVGP_OK);
    file = save_file(a.m, NULL, "", &bytes);
    for (i = 0; i < bytes - 8; i++)
        for (k = 0; k < test_size(2, 1); k++) {
            unsigned char keep = file[i];
            file[i] = (unsigned char)(k ? keep - 1 : keep ^ 1 << test_below(8));
            mend(file, bytes);
            read += use_forged(file, bytes);
            file[i] = keep;
        }
    CHECK(read > 100);
    free(file);
    drop(&a);
}
/*  Outside the kernel, the table of units and the likelihood's entry repeat what the config
    says, so every changed bit is refused. */
TEST(forged_units_are_refused)
{
    static const char *const names[] = {"orth", "blocks"};
    int which;
    for (which = 0; which < 2; which++) {
        odvgp_config c = config(12, 2, 2, 3, 4);
        fixture a;
        odvgp__file f = odvgp__file_make(ODVGP__FILE_MEASURE, NULL, 0);
        size_t bytes, at, end, kernel, i, model_bytes, taken = 0, wrong = 0;
        unsigned char *file;
        if (which)
            c.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS,
            c.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
        test_seed = 339;
        a = make(&c);
        file = save_file(a.m, NULL, "", &bytes);
        odvgp__file_config(&f, &a.m->cfg);
        at = ODVGP__FILE_HEAD + f.used;
        odvgp__file_units(&f, a.m);
        end = ODVGP__FILE_HEAD + f.used;
        kernel = at + UNIT_HEAD;
        memset(&model_bytes, PATTERN, sizeof model_bytes);
        for (i = at; i < end; i++) {
            unsigned char keep = file[i];
            int bit;
            if (i == kernel)
                i += 4 * odvgp__kernel_words(a.m->unit[0].kernel.base_kernels), keep = file[i];
            for (bit = 0; bit <= 8; bit++) {
                odvgp_info info = no_info();
                odvgp_status s;
                int many = i + 4 >= kernel && i < kernel;
                file[i] = (unsigned char)(keep ^ (bit < 8 ? 1 << bit : 0xff));
                /* More terms than the build supports have their own status. */
                many = many && (i + 4 > kernel || file[i] > ODVGP_MAX_BASE_KERNELS);
                mend(file, bytes);
                s = odvgp_load_size(
                        file, bytes, NULL, test_isa(), &model_bytes, NULL, NULL, NULL, &info);
                taken += s == ODVGP_OK;
                wrong += s != (many ? ODVGP_E_UNSUPPORTED : ODVGP_E_FORMAT) || !info.text[0];
            }
            file[i] = keep;
        }
        CHECK_SAY(taken == 0, "%s: %d changes are taken", names[which], (int)taken);
        CHECK_SAY(wrong == 0, "%s: %d other statuses", names[which], (int)wrong);
        CHECK(untouched(&model_bytes, sizeof model_bytes));
        mend(file, bytes);
        CHECK_STATUS(odvgp_load_size(
                             file, bytes, NULL, test_isa(), &model_bytes, NULL, NULL, NULL, NULL),
                ODVGP_OK);
        CHECK_INT(model_bytes, a.bytes);
        free(file);
        drop(&a);
    }
}
/*  Packs a forged kernel into the words of a kernel with the given number of base kernels; the
    forged counts do not change the number of words. */
static void pack_forged(const odvgp__kernel *k, uint32_t base_kernels, uint32_t *to)
{
    odvgp__kernel same = *k;
    same.base_kernels = base_kernels, same.nnode = 2 * base_kernels - 1;
    odvgp__kernel_pack(&same, to);
    to[1] = k->nnode;
}
/*  Files with a correct checksum hold kernels that no expression can make: one or two numbers at
    a time are out of range. */
TEST(forged_kernels_are_refused)
{
#define K(field) offsetof(odvgp__kernel, field)
    static const struct {
        const char *words;
        size_t at;
        uint32_t value;
        size_t at2;
        uint32_t value2;
    } list[] = {
            {"D 0", K(D), 0, 0, 0},
            {"another D", K(D), 4, 0, 0},
            {"a huge D", K(D), 0x7fffffff, 0, 0},
            {"no base kernel", K(base_kernels), 0, 0, 0},
            {"fewer base kernels", K(base_kernels), 1, 0, 0},
            {"more base kernels", K(base_kernels), 3, K(nnode), 5},
            {"too many base kernels", K(base_kernels), ODVGP_MAX_BASE_KERNELS + 1, K(nnode),
                    2 * ODVGP_MAX_BASE_KERNELS + 1},
            {"too many nodes", K(nnode), 1000, 0, 0},
            {"no nodes", K(nnode), 0, 0, 0},
            {"hyperparameters", K(nhyp), 1000, 0, 0},
            {"fewer hyperparameters", K(nhyp), 4, 0, 0},
            {"no group", K(ngroup), 0, 0, 0},
            {"too many groups", K(ngroup), ODVGP_MAX_BASE_KERNELS + 1, 0, 0},
            {"far too many groups", K(ngroup), 5000, 0, 0},
            {"fewer groups", K(ngroup), 1, 0, 0},
            {"the base kernel of a group", K(group_base[0]), 7, 0, 0},
            {"the base kernel of a group, far away", K(group_base[1]), 0x10000000, 0, 0},
            {"a base kernel of another group", K(base[1].group), 0, 0, 0},
            {"a base kernel of no group", K(base[0].group), 5, 0, 0},
            {"a node's kind", K(node[2][0]), 3, 0, 0},
            {"a node of itself", K(node[2][1]), 2, 0, 0},
            {"a node of later ones", K(node[2][2]), 9, 0, 0},
            {"a first node that is a sum", K(node[0][0]), 1, 0, 0},
            {"a node twice", K(node[2][2]), 0, 0, 0},
            {"a base kernel twice", K(node[1][1]), 0, 0, 0},
            {"a node's base kernel", K(node[1][1]), 2, 0, 0},
            {"a type", K(base[0].type), ODVGP__BASE_KERNEL_TYPES, 0, 0},
            {"ard", K(base[0].ard), 2, 0, 0},
            {"ard off", K(base[1].ard), 0, 0, 0},
            {"lengthscales", K(base[1].nls), 3, 0, 0},
            {"place of the lengthscales", K(base[1].ls), 100, K(base[1].var), 102},
            {"place of the variance", K(base[0].var), 100, 0, 0},
            {"variances", K(base[0].nvar), 2, 0, 0},
            {"place of the shape parameter", K(base[0].shape_param), 100, 0, 0},
            {"a degree", K(base[0].degree), 3, 0, 0},
            {"a kernel with more numbers", K(base[0].type), ODVGP__RQ, 0, 0},
            {"a kernel without inputs", K(base[0].type), ODVGP__CONSTANT, 0, 0},
            {"a kernel without a lengthscale for each column", K(base[1].type), ODVGP__POLYNOMIAL,
                    K(base[1].degree), 2},
            {"columns", K(base[0].ndims), 2, 0, 0},
            {"number of ranges", K(base[0].nranges), ODVGP__MAX_RANGES + 1, 0, 0},
            {"a range beyond the inputs", K(base[0].range[0][0]), 7, K(base[0].range[0][1]), 8},
            {"a range far beyond", K(base[0].range[0][0]), 0xfffffff0u, K(base[0].range[0][1]),
                    0xfffffff1u},
            {"an empty range", K(base[0].range[0][1]), 0, 0, 0},
            {"a range backwards", K(base[1].range[0][0]), 3, K(base[1].range[0][1]), 1},
            /* The base kernels of the following rows share a group. */
            {"a group without base kernels", K(ngroup), 2, K(group_base[1]), 0x10000000},
            {"the base kernel of the group", K(group_base[0]), 3, 0, 0},
    };
#undef K
    const size_t shared = sizeof list / sizeof *list - 2;
    /* A batch above 64 rows makes the library choose a tile of 0 by measuring the kernel. */
    odvgp_config c = config(130, 3, 1, 2, 2);
    fixture a;
    size_t bytes = 0, i, j, state = 0;
    unsigned char *file = NULL, *other = NULL;
    enum { AS_SAVED, TILE_0, PREDICTOR, PARTS };
    int part;
    test_seed = 335;
    memset(&a, 0, sizeof a);
    for (i = 0; i < sizeof list / sizeof *list; i++)
        /* Forge the model's section of the file, the same with a tile of 0, and the predictor's
           section. */
        for (part = 0; part < PARTS; part++) {
            odvgp__kernel keep, *k;
            odvgp__file f;
            odvgp__predictor_start head;
            uint64_t sum;
            size_t model_bytes = 0, pred_bytes = 0;
            odvgp_info info = no_info();
            odvgp_status s;
            ptrdiff_t tile;
            if (part == 0 && (i == 0 || i == shared)) {
                if (i) free(file), free(other), drop(&a);
                c.layer[0].kernel =
                        i ? "rbf + matern52" : "rbf(1, dims=0) + matern52(1, ard, dims=1:3)";
                a = make(&c);
                file = save_file(a.m, NULL, "", &bytes);
                for (state = 0, j = 0; j < 8; j++) state |= (size_t)file[16 + j] << (8 * j);
                other = NEW(unsigned char, bytes);
            }
            f = odvgp__file_make(ODVGP__FILE_WRITE, other, bytes);
            k = &a.m->unit[0].kernel;
            keep = *k;
            tile = a.m->cfg.tile;
            memcpy(other, file, bytes);
            memcpy((unsigned char *)k + list[i].at, &list[i].value, 4);
            if (list[i].at2) memcpy((unsigned char *)k + list[i].at2, &list[i].value2, 4);
            if (part != PREDICTOR) {
                if (part == TILE_0) a.m->cfg.tile = 0;
                f.used = ODVGP__FILE_HEAD;
                odvgp__file_config(&f, &a.m->cfg);
                f.used += UNIT_HEAD - 4;
                odvgp__file_u32(&f, &k->base_kernels);
                pack_forged(k, keep.base_kernels, head.words);
                odvgp__file_words(&f, head.words, odvgp__kernel_words(keep.base_kernels) * 4);
            } else {
                odvgp__file r = odvgp__file_make(ODVGP__FILE_READ, file, bytes);
                r.used = ODVGP__FILE_HEAD + state;
                size_t words = odvgp__predictor_head(keep.base_kernels);
                odvgp__file_words(&r, &head, words);
                pack_forged(k, keep.base_kernels, head.words + sizeof head.head / 4);
                head.head.base_kernels = k->base_kernels;
                f.used = ODVGP__FILE_HEAD + state;
                odvgp__file_words(&f, &head, words);
            }
            a.m->unit[0].kernel = keep;
            a.m->cfg.tile = tile;
            sum = odvgp__checksum(other, bytes - 8);
            for (j = 0; j < 8; j++) other[bytes - 8 + j] = (unsigned char)(sum >> (8 * j));
            s = odvgp_load_size(
                    other, bytes, NULL, test_isa(), &model_bytes, &pred_bytes, NULL, NULL, &info);
            CHECK_SAY(s != ODVGP_OK && info.text[0], "%s, part %d: %s", list[i].words, part,
                    odvgp_status_text(s));
            CHECK_SAY(model_bytes == 0 && pred_bytes == 0, "%s, part %d: a size is written",
                    list[i].words, part);
        }
    free(file), free(other);
    drop(&a);
}
/*  Files with a correct checksum hold numbers that training never produces: the changed state
    overwrites that of a saved model. */
TEST(forged_states_are_refused)
{
    odvgp_config c = config(12, 2, 1, 3, 2);
    enum { FORGERIES = 31 };
    int wrong;
    test_seed = 336;
    for (wrong = 0; wrong < FORGERIES; wrong++) {
        fixture a = make(&c);
        odvgp_model *b = NULL;
        odvgp_info info = no_info();
        size_t bytes, i;
        unsigned char *file;
        void *block;
        uint64_t sum;
        odvgp__file f;
        odvgp__jitter *jitter = a.m->unit[0].jitter;
        odvgp_status s;
        CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 3, NULL, NULL, NULL), ODVGP_OK);
        file = save_file(a.m, NULL, "", &bytes);
        switch (wrong) {
        case 1: jitter[0].raised = -1; break;
        case 2: jitter[1].raised = (odvgp_real)NAN; break;
        case 3: jitter[0].raised = (odvgp_real)HUGE_VAL; break;
        case 4: jitter[0].clean = INT_MAX; break;
        case 5: jitter[1].clean = -1; break;
        case 6: a.m->par.theta[0] = (odvgp_real)NAN; break;
        case 7: a.m->par.theta[a.m->par.count - 1] = (odvgp_real)HUGE_VAL; break;
        case 8: a.m->par.value[0] = 0; break;
        case 9: a.m->par.value[1] = -1; break;
        case 10: a.m->par.value[2] = (odvgp_real)NAN; break;
        case 11: a.m->par.value[2] = (odvgp_real)HUGE_VAL; break;
        case 12: a.m->state.step_scale = 0; break;
        case 13: a.m->state.step_scale = 2; break;
        case 14: a.m->state.step_scale = NAN; break;
        case 15: a.m->state.nat_valid = 4; break;
        case 16: a.m->state.good_valid = 2; break;
        case 17: a.m->state.fitted = 2; break;
        case 18: a.m->state.steps = UINT64_MAX; break;
        case 19: a.m->state.adam_steps = UINT64_MAX; break;
        case 20: a.m->state.nat_steps = (uint64_t)PTRDIFF_MAX; break;
        case 21: a.m->par.slot[1].trainable = 2; break;
        case 22: a.m->par.slot[2].trainable = -1; break;
        case 23: a.m->tape.events.pivot = 3; break;
        /* The numbers of latent processes, functions and targets. */
        case 24: a.m->unit[0].P = 2; break;
        case 25: a.m->F = 2; break;
        case 26: a.m->T = 2; break;
        case 27: a.m->F = 0; break;
        case 28: a.m->T = PTRDIFF_MAX; break;
        case 29: a.m->unit[0].lbfgs_jitter[0] = (odvgp_real)NAN; break;
        case 30: a.m->unit[0].lbfgs_jitter[1] = -1; break;
        default: break;
        }
        f = odvgp__file_make(ODVGP__FILE_WRITE, file, bytes);
        f.used = ODVGP__FILE_HEAD;
        odvgp__file_config(&f, &a.m->cfg);
        odvgp__file_units(&f, a.m);
        /* The arrays of the state keep their sizes. */
        a.m->unit[0].P = a.m->F = a.m->T = 1;
        odvgp__file_model_state(&f, a.m);
        sum = odvgp__checksum(file, bytes - 8);
        for (i = 0; i < 8; i++) file[bytes - 8 + i] = (unsigned char)(sum >> (8 * i));
        block = test_alloc(a.bytes);
        s = odvgp_load(file, bytes, NULL, test_isa(), block, a.bytes, &b, &info);
        CHECK_SAY(s == (wrong ? ODVGP_E_FORMAT : ODVGP_OK) && !b == (wrong != 0) &&
                          (!wrong || info.text[0]),
                "forgery %d: %s", wrong, odvgp_status_text(s));
        free(block), free(file);
        drop(&a);
    }
}
/*  Files with a correct checksum hold predictors with numbers that are not finite, or not
    positive where they must be. */
TEST(forged_predictors_are_refused)
{
    odvgp_config c = config(12, 2, 1, 3, 2);
    static const double values[] = {NAN, HUGE_VAL, -HUGE_VAL, 0, -1};
    ptrdiff_t at[6], reals;
    fixture a;
    odvgp__predictor head;
    odvgp__view v;
    size_t bytes, pred_bytes, first, i, k;
    unsigned char *file, *other;
    void *pred;
    test_seed = 337;
    a = make(&c);
    file = save_file(a.m, NULL, "", &bytes);
    other = NEW(unsigned char, bytes);
    pred_bytes = odvgp_predictor_size(a.m);
    pred = test_alloc(pred_bytes);
    odvgp__predictor_sizes(&a.m->unit[0], &head);
    {
        odvgp_real *base = NEW(odvgp_real, odvgp__view_layout(&head, NULL, &v));
        reals = odvgp__view_layout(&head, base, &v);
        /* These must be positive. */
        at[0] = v.hyp - base, at[1] = v.lik_params - base, at[2] = v.x_scale - base,
        at[3] = v.y_scale - base;
        /* These must be finite. */
        at[4] = v.beta - base, at[5] = v.alpha - base;
        free(base);
    }
    first = bytes - 8 - (size_t)reals * sizeof(odvgp_real);
    for (i = 0; i < 6; i++)
        for (k = 0; k < sizeof values / sizeof *values; k++) {
            odvgp_server server;
            odvgp_real x = (odvgp_real)values[k];
            odvgp_info info = no_info();
            odvgp__file f = odvgp__file_make(ODVGP__FILE_WRITE, other, bytes);
            int good = i >= 4 && k >= 3;
            odvgp_status s;
            memcpy(other, file, bytes);
            f.used = first + (size_t)at[i] * sizeof x;
            odvgp__file_reals(&f, &x, 1, (int)sizeof x);
            f.used = bytes - 8;
            odvgp__file_bits(&f, odvgp__checksum(other, bytes - 8), 8);
            memset(&server, 0, sizeof server);
            s = odvgp_server_from_file(&server, other, bytes, test_isa(), pred, pred_bytes, &info);
            CHECK_SAY(s == (good ? ODVGP_OK : ODVGP_E_FORMAT) && !server.block == !good,
                    "place %d, %g: %s", (int)i, values[k], odvgp_status_text(s));
        }
    free(file), free(other), free(pred);
    drop(&a);
}
/*  Read and write numbers of 4 or 8 bytes in the byte order of files, which may differ from the
    machine's. */
static double read_little(const unsigned char *at, size_t bytes)
{
    uint64_t bits = 0;
    uint32_t half;
    float single;
    double twice;
    size_t i;
    for (i = 0; i < bytes; i++) bits |= (uint64_t)at[i] << (8 * i);
    half = (uint32_t)bits;
    memcpy(&single, &half, sizeof single);
    memcpy(&twice, &bits, sizeof twice);
    return bytes == 4 ? (double)single : twice;
}
static void write_little(unsigned char *at, size_t bytes, double x)
{
    float single = (float)x;
    uint64_t bits;
    uint32_t half;
    size_t i;
    memcpy(&half, &single, sizeof half);
    memcpy(&bits, &x, sizeof bits);
    if (bytes == 4) bits = half;
    for (i = 0; i < bytes; i++) at[i] = (unsigned char)(bits >> (8 * i));
}
/*  From a file of the other precision a predictor can be served, but no model can be trained.
    The test makes such a file from one of this precision by rewriting its numbers. */
TEST(predictors_of_the_other_precision)
{
    enum { OTHER = sizeof(odvgp_real) == 4 ? 8 : 4 };
    odvgp_config c = config(12, 2, 2, 3, 4);
    fixture a;
    size_t bytes, other_bytes, i, at, head = ODVGP__FILE_HEAD, state = 0, reals, words, need,
                                      pred_bytes = 0, model_bytes = 0, user_bytes = 0;
    unsigned char *file, *other;
    const void *user;
    void *pred, *frozen, *scratch, *block;
    odvgp_server servers[2], *p = &servers[0], *q = &servers[1];
    odvgp_model *m;
    odvgp_real m0[24], m1[24], v0[24], v1[24];
    odvgp_info info = no_info();
    odvgp_status read;
    uint64_t sum;
    test_seed = 334;
    a = make(&c);
    CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 20, NULL, NULL, NULL), ODVGP_OK);
    file = save_file(a.m, NULL, "abc", &bytes);
    /* The head holds 8 bytes of magic, 4 of version, 4 of the size of a real, then three
       lengths. */
    for (i = 0; i < 8; i++) state |= (size_t)((uint64_t)file[16 + i] << (8 * i));
    words = odvgp__predictor_head(a.m->unit[0].kernel.base_kernels);
    reals = (bytes - head - state - words - 3 - 8) / sizeof(odvgp_real);
    /* The model's section is left out. */
    other_bytes = head + words + reals * OTHER + 3 + 8;
    other = NEW(unsigned char, other_bytes);
    memcpy(other, file, head);
    other[12] = OTHER;
    for (i = 0; i < 8; i++) {
        other[16 + i] = 0;
        other[24 + i] = (unsigned char)((uint64_t)(words + reals * OTHER) >> (8 * i));
    }
    memcpy(other + head, file + head + state, words);
    /* The predictor's third word holds the size of a real. */
    other[head + 8] = OTHER;
    for (i = 0, at = head + words; i < reals; i++, at += OTHER) {
        double x = read_little(
                file + head + state + words + i * sizeof(odvgp_real), sizeof(odvgp_real));
        write_little(other + at, OTHER, x);
    }
    memcpy(other + at, "abc", 3);
    sum = odvgp__checksum(other, other_bytes - 8);
    for (i = 0; i < 8; i++) other[other_bytes - 8 + i] = (unsigned char)(sum >> (8 * i));
    REFUSED(odvgp_load_size(other, other_bytes, NULL, test_isa(), &model_bytes, &pred_bytes, NULL,
                    NULL, &info),
            ODVGP_E_UNSUPPORTED);
    CHECK(model_bytes == 0 && pred_bytes == 0);
    block = test_alloc(a.bytes);
    REFUSED(odvgp_load(other, other_bytes, NULL, test_isa(), block, a.bytes, &m, &info),
            ODVGP_E_UNSUPPORTED);
    CHECK(m == NULL);
    CHECK_SAY(odvgp_load_size(other, other_bytes, NULL, test_isa(), NULL, &pred_bytes, &user,
                      &user_bytes, &info) == ODVGP_OK,
            "%s", info.text);
    CHECK(user_bytes == 3 && !memcmp(user, "abc", 3));
    CHECK_INT(pred_bytes, odvgp_predictor_size(a.m));
    pred = test_alloc(pred_bytes), frozen = test_alloc(pred_bytes);
    read = odvgp_server_from_file(p, other, other_bytes, test_isa(), pred, pred_bytes, &info);
    CHECK_SAY(read == ODVGP_OK, "%s", info.text);
    CHECK_STATUS(serve(a.m, NULL, frozen, pred_bytes, q, NULL), ODVGP_OK);
    need = odvgp_predict_scratch(q, 12);
    scratch = test_alloc(need);
    if (read == ODVGP_OK) {
        CHECK_STATUS(odvgp_predict(p, a.X, 12, m0, v0, NULL, scratch, need), ODVGP_OK);
        CHECK_STATUS(odvgp_predict(q, a.X, 12, m1, v1, NULL, scratch, need), ODVGP_OK);
        /* A conversion from float to double and back loses nothing. */
        CHECK_SAY(test_max_diff(m0, m1, 24) <= BY_PRECISION(1e-5, 0), "means differ by %.3g",
                test_max_diff(m0, m1, 24));
        CHECK_SAY(test_max_diff(v0, v1, 24) <= BY_PRECISION(1e-5, 0), "variances differ by %.3g",
                test_max_diff(v0, v1, 24));
    }
    free(file), free(other), free(pred), free(frozen), free(scratch), free(block);
    drop(&a);
}
/*  A predictor may have more reals than 32 bits can count. The test makes no such block: heads
    say how large it would be. */
TEST(predictors_of_more_reals_than_32_bits)
{
    odvgp_config c = config(100, 2, 1, 5, 0);
    odvgp__draft draft;
    odvgp_model *m = &draft.model;
    odvgp__predictor p;
    odvgp__predictor_start start, q;
    odvgp__file f;
    odvgp__file_head h;
    odvgp_info info = no_info();
    size_t bytes;
    double hyp[ODVGP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS], want;
    size_t words;
    unsigned char *head = NEW(unsigned char, ODVGP__FILE_HEAD + sizeof start);
    if (sizeof(size_t) < 8) {
        free(head);
        SKIP("addresses of 32 bits");
    }
    c.layer[0].M = 100000;
    want = 2.0 * (double)c.layer[0].M * (double)c.layer[0].M * (double)sizeof(odvgp_real);
    odvgp__model_start(m, &draft.unit);
    CHECK_STATUS(odvgp__model_config(m, &c, hyp, &info), ODVGP_OK);
    CHECK_STATUS(odvgp__model_measure(m, &bytes, &info), ODVGP_OK);
    /* This model has no arrays; the test only asks for sizes. */
    m->magic = ODVGP__MODEL_MAGIC;
    CHECK_NEAR(odvgp_predictor_size(m), want, 1e-3 * want);
    CHECK((double)odvgp_save_size(m, 3) > want);
    odvgp__predictor_sizes(&m->unit[0], &p);
    words = odvgp__predictor_head(p.base_kernels);
    memset(&start, 0, sizeof start);
    start.head = p;
    odvgp__kernel_pack(&m->unit[0].kernel, start.words + sizeof p / 4);
    f = odvgp__file_make(ODVGP__FILE_WRITE, head, ODVGP__FILE_HEAD + sizeof start);
    f.used = ODVGP__FILE_HEAD;
    odvgp__file_words(&f, &start, words);
    h = odvgp__file_sizes(m, 3);
    CHECK_NEAR(h.predictor_bytes, want, 1e-3 * want);
    /* Without state, the predictor's head comes first. */
    h.state_bytes = 0;
    f.mode = ODVGP__FILE_READ;
    CHECK_SAY(odvgp__file_predictor(&f, &h, &q, &info) == ODVGP_OK, "%s", info.text);
    CHECK_BITS(&start, &q, words);
    CHECK_NEAR(odvgp__predictor_reals(&q.head), want / sizeof(odvgp_real), 1e-3 * want);
    /* The lower half of the 64-bit length is not accepted by itself. */
    h.predictor_bytes -= (uint64_t)sizeof(odvgp_real) << 32;
    CHECK_STATUS(odvgp__file_predictor(&f, &h, &q, &info), ODVGP_E_FORMAT);
    /* A config that no file can hold has no size. */
    m->cfg.optim.natgrad_step.steps = -1;
    CHECK(odvgp_save_size(m, 3) == 0);
    CHECK_STATUS(odvgp_save(m, NULL, NULL, 0, head, ODVGP__FILE_HEAD, &info), ODVGP_E_SIZE);
    free(head);
}
TEST(files_on_disk)
{
    odvgp_config c = config(6, 2, 1, 2, 2);
    fixture a;
    size_t bytes, n = 7;
    unsigned char *file, *back;
    const char *path = "build/test_robust." PRECISION ".odvgp";
    FILE *f = fopen(path, "wb");
    /* There may be no folder build/ here. */
    if (!f) path = "test_robust." PRECISION ".odvgp";
    else fclose(f);
    test_seed = 333;
    a = make(&c);
    file = save_file(a.m, NULL, "", &bytes);
    back = NEW(unsigned char, bytes + 1);
    memset(back, PATTERN, bytes + 1);
    CHECK_STATUS(odvgp_file_write(path, file, bytes), ODVGP_OK);
    CHECK_STATUS(odvgp_file_read(path, NULL, 0, &n), ODVGP_OK);
    CHECK_INT(n, bytes);
    CHECK_STATUS(odvgp_file_read(path, back, bytes - 1, &n), ODVGP_E_MEMORY);
    CHECK(untouched(back, bytes + 1));
    CHECK_STATUS(odvgp_file_read(path, back, bytes, &n), ODVGP_OK);
    CHECK(memcmp(back, file, bytes) == 0 && back[bytes] == PATTERN);
    /* The new file replaces the old one. */
    CHECK_STATUS(odvgp_file_write(path, file, bytes / 2), ODVGP_OK);
    CHECK_STATUS(odvgp_file_read(path, NULL, 0, &n), ODVGP_OK);
    CHECK_INT(n, bytes / 2);
    CHECK_STATUS(odvgp_file_write("no/such/folder/file", file, bytes), ODVGP_E_IO);
    CHECK_STATUS(odvgp_file_read("no/such/folder/file", back, bytes, &n), ODVGP_E_IO);
    CHECK_STATUS(odvgp_file_write(NULL, file, bytes), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_file_write(path, NULL, bytes), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_file_read(NULL, back, bytes, &n), ODVGP_E_ARG);
    CHECK_STATUS(odvgp_file_read(path, back, bytes, NULL), ODVGP_E_ARG);
    remove(path);
#if defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 200112L /* symlink and readlink are declared. */
    {
        /* A device is written in place. The test uses a link to one, so that a mistake replaces
           the link and not the device. */
        char to[20];
        if (symlink("/dev/null", path) == 0) {
            CHECK_STATUS(odvgp_file_write(path, file, bytes), ODVGP_OK);
            CHECK(readlink(path, to, sizeof to) == 9 && !memcmp(to, "/dev/null", 9));
            remove(path);
        }
        /* A folder cannot be written. */
        CHECK_STATUS(odvgp_file_write(".", file, bytes), ODVGP_E_IO);
    }
#endif
    free(file), free(back);
    drop(&a);
}

#if defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 200112L
/*  Makes an empty folder. It can be removed at the end only if the test left nothing in it. */
static const char *own_folder(char *path)
{
    strcpy(path, "build/robust.XXXXXX");
    return mkdtemp(path) ? path : mkdtemp(strcpy(path, "robust.XXXXXX"));
}
/*  Two processes write files of two lengths to the same path, 200 times each. A reader finds a
    complete file at any time. */
TEST(two_writers_and_a_reader)
{
    enum { WRITERS = 2, SAVES = 200 };
    odvgp_config c = config(6, 2, 1, 2, 2);
    fixture a;
    char folder[40], path[80], tmp[90];
    unsigned char *file[WRITERS], *back, was[4] = "abc";
    size_t bytes[WRITERS], n, looks = 0, bad = 0;
    pid_t child[WRITERS];
    int w, i, status, running = WRITERS;
    FILE *f;
    if (!CHECK(own_folder(folder) != NULL)) return;
    test_seed = 340;
    a = make(&c);
    file[0] = save_file(a.m, NULL, "", &bytes[0]);
    file[1] = save_file(a.m, NULL, "some words, so that this one is longer", &bytes[1]);
    back = NEW(unsigned char, bytes[1]);
    snprintf(path, sizeof path, "%s/model", folder);
    snprintf(tmp, sizeof tmp, "%s.tmp", path);
    /* A file of somebody else has this name. */
    if ((f = fopen(tmp, "wb")) != NULL) fwrite(was, 1, sizeof was, f), fclose(f);
    CHECK_STATUS(odvgp_file_write(path, file[0], bytes[0]), ODVGP_OK);
    fflush(stdout);
    for (w = 0; w < WRITERS; w++) {
        child[w] = fork();
        if (child[w]) continue;
        for (status = i = 0; i < SAVES; i++)
            status += odvgp_file_write(path, file[w], bytes[w]) != ODVGP_OK;
        _exit(status < 255 ? status : 255);
    }
    while (running) {
        for (w = 0; w < WRITERS; w++) {
            if (child[w] <= 0 || waitpid(child[w], &status, WNOHANG) != child[w]) continue;
            CHECK_SAY(WIFEXITED(status) && WEXITSTATUS(status) == 0, "writer %d: %d saves fail", w,
                    WEXITSTATUS(status));
            child[w] = 0;
            running--;
        }
        looks++;
        if (odvgp_file_read(path, back, bytes[1], &n) != ODVGP_OK ||
                (n != bytes[0] && n != bytes[1]) || memcmp(back, file[n == bytes[1]], n))
            bad++;
    }
    CHECK_SAY(bad == 0, "%d of %d looks find no whole file", (int)bad, (int)looks);
    test_note("%d looks", (int)looks);
    CHECK_STATUS(odvgp_file_read(tmp, back, bytes[1], &n), ODVGP_OK);
    CHECK(n == sizeof was && !memcmp(back, was, n));
    remove(path), remove(tmp);
    CHECK_SAY(rmdir(folder) == 0, "%s is not empty", folder);
    free(file[0]), free(file[1]), free(back);
    drop(&a);
}
/*  A save never touches other files whose names it tries; a save that fails keeps the old file
    and leaves no other. */
TEST(a_save_that_fails_leaves_nothing)
{
    char folder[40], path[80], taken[3][100], *long_path;
    unsigned char block[20000], back[20000];
    size_t n, i;
    FILE *f;
    pid_t child;
    int status = 0;
    if (!CHECK(own_folder(folder) != NULL)) return;
    snprintf(path, sizeof path, "%s/model", folder);
    for (i = 0; i < 3; i++) {
        snprintf(taken[i], sizeof taken[i], "%s.%d.tmp", path, (int)i);
        if ((f = fopen(taken[i], "wb")) != NULL) fputc((int)i, f), fclose(f);
    }
    memset(block, 7, sizeof block);
    CHECK_STATUS(odvgp_file_write(path, block, sizeof block), ODVGP_OK);
    fflush(stdout);
    child = fork();
    /* The disk is full after 10,000 bytes. */
    if (child == 0) {
        struct rlimit limit = {10000, 10000};
        memset(block, 8, sizeof block);
        signal(SIGXFSZ, SIG_IGN);
        _exit(setrlimit(RLIMIT_FSIZE, &limit) ? 9
                                              : (int)odvgp_file_write(path, block, sizeof block));
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ODVGP_E_IO);
    CHECK_STATUS(odvgp_file_read(path, back, sizeof back, &n), ODVGP_OK);
    CHECK(n == sizeof block && !memcmp(back, block, n));
    for (i = 0; i < 3; i++) {
        CHECK_STATUS(odvgp_file_read(taken[i], back, sizeof back, &n), ODVGP_OK);
        CHECK(n == 1 && back[0] == i);
        remove(taken[i]);
    }
    remove(path);
    CHECK_SAY(rmdir(folder) == 0, "%s is not empty", folder);
    long_path = NEW(char, 2000);
    memset(long_path, 'x', 1999);
    long_path[1999] = 0;
    CHECK_STATUS(odvgp_file_write(long_path, block, 1), ODVGP_E_ARG);
    free(long_path);
}
#endif

/* ---- awkward, but allowed ---- */

/*  Creates, trains and predicts with defaults. All results are finite, no variance is negative,
    and the bound is not below its initial value. Returns the root mean square error at the
    training rows, relative to the standard deviation of the targets. */
static double works(const char *words, ptrdiff_t N, ptrdiff_t D, ptrdiff_t P, ptrdiff_t M,
        ptrdiff_t Mg, const odvgp_real *X, const odvgp_real *Y, int steps, const char *kernel,
        odvgp_events *events)
{
    odvgp_config c = odvgp_config_defaults(N, D, P, M, Mg);
    odvgp_model *m = NULL;
    odvgp_real *mean = NEW(odvgp_real, P * N), *var = NEW(odvgp_real, P * N), *v, e, e0 = 0;
    ptrdiff_t i, p;
    double error = 0, spread = 0;
    odvgp_status s;
    c.isa = test_isa();
    c.optim.lr = odvgp_constant((odvgp_real)0.01);
    c.optim.natgrad_step = odvgp_constant((odvgp_real)0.1);
    if (kernel) c.layer[0].kernel = kernel;
    s = odvgp_model_create(&m, &c, X, Y, NULL, NULL);
    CHECK_SAY(s == ODVGP_OK, "%s: create: %s", words, odvgp_status_text(s));
    if (m) {
        s = odvgp_elbo(m, X, Y, N, &e0, NULL, NULL, NULL);
        CHECK_SAY(s == ODVGP_OK && all_finite(&e0, 1), "%s: elbo: %s, %g", words,
                odvgp_status_text(s), (double)e0);
        s = odvgp_fit(m, X, Y, steps, NULL, NULL, NULL);
        CHECK_SAY(s == ODVGP_OK, "%s: fit: %s", words, odvgp_status_text(s));
        s = odvgp_elbo(m, X, Y, N, &e, NULL, NULL, NULL);
        CHECK_SAY(s == ODVGP_OK && all_finite(&e, 1), "%s: elbo: %s, %g", words,
                odvgp_status_text(s), (double)e);
        CHECK_SAY((double)e >= (double)e0, "%s, %ld gamma: the bound falls from %.6g to %.6g",
                words, (long)Mg, (double)e0, (double)e);
        s = odvgp_predict_once(m, X, N, mean, var, NULL);
        CHECK_SAY(s == ODVGP_OK, "%s: predict: %s", words, odvgp_status_text(s));
        CHECK_SAY(all_finite(mean, P * N) && all_finite(var, P * N),
                "%s: a prediction is not finite", words);
        for (i = 0; i < P * N; i++)
            CHECK_SAY(var[i] >= 0, "%s: variance %g", words, (double)var[i]);
        v = all_values(m);
        CHECK_SAY(all_finite(v, odvgp_param_count(m)), "%s: a parameter is not finite", words);
        free(v);
        if (events) *events = odvgp_model_events(m);
        odvgp_model_free(m);
        for (p = 0; p < P; p++) {
            double average = 0;
            for (i = 0; i < N; i++) average += (double)Y[i * P + p] / (double)N;
            for (i = 0; i < N; i++) {
                error += ((double)Y[i * P + p] - (double)mean[p * N + i]) *
                         ((double)Y[i * P + p] - (double)mean[p * N + i]);
                spread += ((double)Y[i * P + p] - average) * ((double)Y[i * P + p] - average);
            }
        }
    }
    free(mean), free(var);
    return spread > 0 ? sqrt(error / spread) : 0;
}
TEST(awkward_data_work)
{
    enum { N = 60, D = 3 };
    odvgp_real X[N * D], Y[N], Z[N * D], W[N], wide_X[40 * 200];
    double plain, e;
    odvgp_events events;
    int i, mg;
    test_seed = 340;
    for (i = 0; i < N; i++) {
        int d;
        for (d = 0; d < D; d++) X[i * D + d] = (odvgp_real)test_between(-2, 2);
        Y[i] = (odvgp_real)(2 * sin(1.2 * (double)X[i * D]) + (double)X[i * D + 1] +
                            0.05 * test_normal());
    }
    for (mg = 0; mg <= 12; mg += 12) {
        plain = works("plain", N, D, 1, 15, mg, X, Y, 300, NULL, &events);
        CHECK_SAY(plain < 0.5, "plain: error %.3g of the spread", plain);
        CHECK(events.jitter_raised == 0 && events.step_undone == 0);
        memcpy(Z, X, sizeof X);
        for (i = 0; i < N; i++) Z[i * D + 2] = (odvgp_real)3.25;
        e = works("a constant column", N, D, 1, 15, mg, Z, Y, 300, NULL, NULL);
        CHECK_SAY(e < 0.5, "a constant column: %.3g", e);
        for (i = 0; i < N; i++) Z[i * D + 2] = X[i * D];
        e = works("a column twice", N, D, 1, 15, mg, Z, Y, 300, NULL, NULL);
        CHECK_SAY(e < 0.5, "a column twice: %.3g", e);
        for (i = 0; i < N * D; i++) Z[i] = X[i % (10 * D)];
        for (i = 0; i < N; i++) W[i] = Y[i % 10];
        /* There are more inducing points than distinct rows. */
        e = works("ten rows six times each", N, D, 1, 15, mg, Z, W, 300, NULL, NULL);
        CHECK_SAY(e < 0.6, "repeated rows: %.3g", e);
        for (i = 0; i < N * D; i++) Z[i] = (odvgp_real)(i % D);
        works("all rows equal", N, D, 1, 15, mg, Z, Y, 100, NULL, &events);
        for (i = 0; i < N; i++) W[i] = (odvgp_real)-4.5;
        works("all targets equal", N, D, 1, 15, mg, X, W, 100, NULL, NULL);
        works("all rows and all targets equal", N, D, 1, 15, mg, Z, W, 100, NULL, NULL);
        for (i = 0; i < N; i++) W[i] = 0;
        works("all targets 0", N, D, 1, 15, mg, X, W, 100, NULL, NULL);
        for (i = 0; i < N; i++) W[i] = (odvgp_real)(1e-9 * (double)Y[i]);
        e = works("targets of size 1e-9", N, D, 1, 15, mg, X, W, 300, NULL, NULL);
        CHECK_SAY(e < 0.6, "targets of size 1e-9: error %.3g of the spread", e);
        for (i = 0; i < N; i++) W[i] = (odvgp_real)(1e9 * (double)Y[i]);
        e = works("targets of size 1e9", N, D, 1, 15, mg, X, W, 300, NULL, NULL);
        CHECK_SAY(e < 0.6, "targets of size 1e9: error %.3g of the spread", e);
        for (i = 0; i < N; i++) {
            Z[i * D] = (odvgp_real)(1e-12 * (double)X[i * D]);
            Z[i * D + 1] = (odvgp_real)(1e12 * (double)X[i * D + 1]);
            Z[i * D + 2] = X[i * D + 2];
        }
        works("columns of size 1e-12, 1e12 and 1", N, D, 1, 15, mg, Z, Y, 100, NULL, NULL);
        works("the same, a lengthscale each", N, D, 1, 15, mg, Z, Y, 100, "matern52(ard)", NULL);
        works("the same, a kernel each", N, D, 1, 15, mg, Z, Y, 100, "rbf(dims=0) + rbf(dims=1)",
                NULL);
        works("2 rows", 2, D, 1, 1, 0, X, Y, 50, NULL, NULL);
        works("2 rows, 2 points", 2, D, 1, 2, mg, X, Y, 50, NULL, NULL);
        works("2 rows, 5 points", 2, D, 1, 5, mg, X, Y, 50, NULL, NULL);
        works("1 row", 1, D, 1, 1, mg, X, Y, 50, NULL, NULL);
        works("1 row, 3 points", 1, D, 1, 3, mg, X, Y, 50, NULL, NULL);
        works("as many points as rows", N, D, 1, N, mg, X, Y, 50, NULL, NULL);
        works("1 point", N, D, 1, 1, mg, X, Y, 50, NULL, NULL);
        works("a lengthscale far too large", N, D, 1, 15, mg, X, Y, 50, "rbf(1e6)", &events);
        works("a lengthscale far too small", N, D, 1, 15, mg, X, Y, 50, "rbf(1e-6)", NULL);
        works("distances beyond the largest number", N, D, 1, 15, mg, X, Y, 50,
                "rq(1e-15, alpha=1e-12) + rbf", NULL);
        works("a kernel of rank D", N, D, 1, 15, mg, X, Y, 50, "linear", NULL);
        works("a kernel of rank 1", N, D, 1, 15, mg, X, Y, 50, "constant(2)", NULL);
        works("nothing but noise", N, D, 1, 15, mg, X, Y, 50, "white", NULL);
        works("base kernels of all geometries", N, D, 1, 15, mg, X, Y, 50,
                "polynomial(degree=3) * rq + periodic(ard, period=3) + linear(ard) + white", NULL);
        works("a tiny variance", N, D, 1, 15, mg, X, Y, 50, "rbf(1, variance=1e-12)", NULL);
        works("a huge variance", N, D, 1, 15, mg, X, Y, 50, "rbf(1, variance=1e12)", NULL);
        for (i = 0; i < 40 * 200; i++) wide_X[i] = (odvgp_real)test_between(-1, 1);
        works("200 columns, 40 rows", 40, 200, 1, 10, mg, wide_X, Y, 50, NULL, NULL);
        works("20 outputs", 10, 2, 6, 4, mg, X, Y, 50, NULL, NULL);
    }
}
/*  Distances keep their digits far from the origin: shifted inputs have the same predictions.
    Shifts are powers of two and inputs are multiples of 2^-10 (2^-6 in float), so that the shift
    itself is exact. */
TEST(inputs_far_from_the_origin)
{
    enum { N = 40 };
    odvgp_real X[N * 2], S[N * 2], Y[N], m0[N], v0[N], m1[N], v1[N], e0, e1, *g0, *g1, *z;
    const double grid = BY_PRECISION(1024.0, 64.0), shift = BY_PRECISION(1048576.0, 65536.0);
    odvgp_config c = config(N, 2, 1, 8, 10);
    odvgp_model *a, *b;
    int i;
    ptrdiff_t n;
    test_seed = 341;
    for (i = 0; i < N * 2; i++) {
        X[i] = (odvgp_real)(floor(test_between(-2, 2) * grid) / grid);
        S[i] = (odvgp_real)((double)X[i] + shift);
    }
    for (i = 0; i < N; i++) Y[i] = (odvgp_real)(sin(2 * (double)X[2 * i]) + 0.1 * test_normal());
    CHECK_STATUS(odvgp_model_create(&a, &c, X, Y, NULL, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_model_create(&b, &c, S, Y, NULL, NULL), ODVGP_OK);
    /* Both models have the same inducing points, on the grid. */
    for (n = 0; n < 2; n++) {
        const char *name = n ? "Z_gamma" : "Z_beta";
        ptrdiff_t count = odvgp_slot_find(a, name)->count;
        z = NEW(odvgp_real, count);
        for (i = 0; i < count; i++) z[i] = X[i + 3];
        CHECK_STATUS(odvgp_set(a, name, z, count, NULL), ODVGP_OK);
        for (i = 0; i < count; i++) z[i] = S[i + 3];
        CHECK_STATUS(odvgp_set(b, name, z, count, NULL), ODVGP_OK);
        free(z);
    }
    for (i = 0; i < 3; i++) {
        CHECK_STATUS(odvgp_natgrad_step(a, X, Y, N, 1, NULL, NULL), ODVGP_OK);
        CHECK_STATUS(odvgp_natgrad_step(b, S, Y, N, 1, NULL, NULL), ODVGP_OK);
    }
    n = odvgp_param_count(a);
    g0 = NEW(odvgp_real, n), g1 = NEW(odvgp_real, n);
    CHECK_STATUS(odvgp_elbo(a, X, Y, N, &e0, NULL, g0, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_elbo(b, S, Y, N, &e1, NULL, g1, NULL), ODVGP_OK);
    CHECK_NEAR(e1, e0, 1e4 * EPS * fabs((double)e0));
    CHECK_SAY(test_max_diff(g0, g1, n) <= 1e4 * EPS * test_max_abs(g0, n),
            "gradients differ by %.3g of %.3g", test_max_diff(g0, g1, n), test_max_abs(g0, n));
    CHECK_STATUS(odvgp_predict_once(a, X, N, m0, v0, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_predict_once(b, S, N, m1, v1, NULL), ODVGP_OK);
    CHECK_SAY(test_max_diff(m0, m1, N) <= 1e5 * EPS, "means differ by %.3g",
            test_max_diff(m0, m1, N));
    CHECK_SAY(test_max_diff(v0, v1, N) <= 1e5 * EPS, "variances differ by %.3g",
            test_max_diff(v0, v1, N));
    odvgp_model_free(a);
    odvgp_model_free(b);
    free(g0), free(g1);
    /* The library initialises everything from shifted data. */
    for (i = 0; i < N * 2; i++) S[i] = (odvgp_real)((double)X[i] + 1e6);
    works("inputs around 1e6", N, 2, 1, 8, 10, S, Y, 100, NULL, NULL);
    for (i = 0; i < N * 2; i++) S[i] = (odvgp_real)(1e6 * (double)X[i]);
    /* Steps are too short for these units, but the model learns. */
    CHECK(works("inputs of size 1e6", N, 2, 1, 8, 10, S, Y, 300, NULL, NULL) < 0.95);
}

/* ---- names of slots ---- */

/*  A name that does not fit is refused, not cut: two names that are cut at the same place would
    become equal. */
TEST(names_of_slots_are_not_cut)
{
    static const char *const longest = "kernel.2147483647.lengthscale",
                             *const longer = "kernel.21474836470.lengthscale";
    odvgp__params p;
    odvgp_slot slot[4];
    odvgp__slot_state state[4];
    memset(&p, 0, sizeof p);
    p.slot = slot, p.state = state;
    odvgp__slot_add(&p, "kernel.0.lengthscale", 0, 1, 1, 1, 1);
    odvgp__slot_add(&p, longest, 0, 1, 2, 1, 1);
    CHECK(!strcmp(slot[2].name, longest) && odvgp__slot_index(&p, longest) == 2 && !p.bad);
    odvgp__slot_add(&p, longer, 0, 1, 3, 1, 1);
    CHECK(p.bad);
}

/* ---- events ---- */

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
    CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0), ODVGP_OK);
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
                CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.*", 0), ODVGP_OK);
                CHECK_STATUS(odvgp_set_trainable(a.m, "Z_*", 0), ODVGP_OK);
            }
            CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, steps[k], NULL, NULL, NULL), ODVGP_OK);
            file = save_file(a.m, NULL, "", &bytes);
            CHECK_STATUS(odvgp_load_size(file, bytes, NULL, test_isa(), &model_bytes, NULL, NULL,
                                 NULL, NULL),
                    ODVGP_OK);
            block = test_alloc(model_bytes);
            CHECK_STATUS(odvgp_load(file, bytes, NULL, test_isa(), block, model_bytes, &b, NULL),
                    ODVGP_OK);
            {
                odvgp_events ea = odvgp_model_events(a.m), eb = odvgp_model_events(b);
                CHECK_INT(eb.jitter_raised, ea.jitter_raised);
                CHECK(ea.matrix && eb.matrix && !strcmp(ea.matrix, eb.matrix));
                CHECK(ea.cause && eb.cause && !strcmp(ea.cause, eb.cause));
                CHECK(eb.pivot == ea.pivot && eb.pivot_value == ea.pivot_value);
            }
            CHECK_STATUS(odvgp_load(file, bytes, NULL, test_isa(), block, model_bytes, &b, NULL),
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
    c.jitter.absolute = c.jitter.relative = c.jitter.max = 0;
    c.layer[0].kernel = "matern12";
    a = make(&c);
    CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL, NULL), ODVGP_OK);
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
    REFUSED(odvgp_predict_once(a.m, a.X, 20, mean, NULL, &info), ODVGP_E_NOT_PD);
    {
        size_t n = odvgp_save_size(a.m, 0);
        unsigned char *file = NEW(unsigned char, n);
        memset(file, PATTERN, n);
        REFUSED(odvgp_save(a.m, NULL, NULL, 0, file, n, &info), ODVGP_E_NOT_PD);
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
    CHECK_STATUS(odvgp_predict_once(a.m, a.X, 20, mean, NULL, NULL), ODVGP_OK);
    free(good_z);
    drop(&a);
}
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
                s = odvgp_predict_once(a.m, a.X, 30, mean, var, NULL);
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
                                odvgp_fit(each[i]->m, a.X, a.Y, 5, NULL, NULL, NULL), ODVGP_OK);
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
                CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL, NULL), ODVGP_OK);
                CHECK_STATUS(odvgp_fit(b.m, a.X, a.Y, 5, NULL, NULL, NULL), ODVGP_OK);
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
    CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL, NULL), ODVGP_OK);
    steps = odvgp_steps_done(a.m);
    good = NEW(odvgp_real, odvgp_param_count(a.m));
    memcpy(good, a.m->good, (size_t)odvgp_param_count(a.m) * sizeof *good);
    ls = odvgp_slot_find(a.m, "kernel.0.lengthscale");
    /* No step produces this value, but it is as bad as those that are undone. */
    a.m->par.theta[ls->offset] = a.m->par.value[ls->offset] = (odvgp_real)NAN;
    odvgp__touch(a.m, 0);
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
    odvgp__touch(a.m, 0);
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
            CHECK_STATUS(odvgp_get(a.m, "q_sqrt", factor, 32), ODVGP_OK);
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
/*  Initialisation fails if q_sqrt must be the factor of a singular kernel matrix. The model
    keeps its previous state. */
TEST(a_start_that_fails_moves_nothing)
{
    int param, when;
    /* Test a trained model and a new one. */
    for (param = 0; param < 3; param++)
        for (when = 0; when < 2; when++) {
            odvgp_config c = config(20, 2, 2, 4, 5);
            fixture a;
            size_t bytes, again;
            void *file, *now;
            odvgp_real *same = NEW(odvgp_real, 40), length = (odvgp_real)0.3;
            int i;
            test_seed = 362;
            c.reproduce.parametrisation = (odvgp_parametrisation)param;
            c.layer[0].kernel = "rbf";
            c.lik.noise_variance = 0;
            c.jitter.absolute = c.jitter.relative = c.jitter.max = 0;
            a = make(&c);
            if (!when) CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_set(a.m, "kernel.0.lengthscale", &length, 1, NULL), ODVGP_OK);
            if (!when)
                CHECK_STATUS(odvgp_natgrad_step(a.m, a.X, a.Y, 20, (odvgp_real)0.1, NULL, NULL),
                        ODVGP_OK);
            file = save_file(a.m, NULL, "", &bytes);
            for (i = 0; i < 40; i++) same[i] = (odvgp_real)1.5;
            /* Whitened q needs no factor yet. */
            if (param == ODVGP_PARAMETRISATION_WHITENED) {
                CHECK_STATUS(odvgp_init_data(a.m, same, a.Y, NULL), ODVGP_OK);
            } else {
                REFUSED(odvgp_init_data(a.m, same, a.Y, &info), ODVGP_E_NOT_PD);
                now = save_file(a.m, NULL, "", &again);
                CHECK_SAY(again == bytes && !memcmp(now, file, bytes), "param %d: something moved",
                        param);
                free(now);
                /* The same holds if only q is initialised. */
                CHECK_STATUS(odvgp_set(a.m, "Z_beta", same, 8, NULL), ODVGP_OK);
                {
                    odvgp_real *before = all_values(a.m), *after;
                    REFUSED(odvgp_init_q(a.m, &info), ODVGP_E_NOT_PD);
                    after = all_values(a.m);
                    CHECK_BITS(before, after, (size_t)odvgp_param_count(a.m) * sizeof *before);
                    free(before), free(after);
                }
            }
            CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL, NULL), ODVGP_OK);
            free(file), free(same);
            drop(&a);
        }
}
/*  If q is the optimum before the initialisation, it still is after one that fails: the model
    can be frozen. */
TEST(a_start_that_fails_keeps_the_best_q)
{
    odvgp_config c = config(20, 2, 2, 4, 0);
    fixture a;
    odvgp_real *same = NEW(odvgp_real, 40);
    size_t bytes, work;
    void *block, *again, *room;
    int i;
    c.reproduce.parametrisation = ODVGP_PARAMETRISATION_PRIMAL,
    c.objective = ODVGP_OBJECTIVE_COLLAPSED, c.optim.natgrad = 0, c.optim.batch = 20;
    c.layer[0].mean_part = ODVGP_MEAN_PART_BETA, c.layer[0].cov_part = ODVGP_COV_PART_DENSE;
    c.jitter.absolute = c.jitter.relative = c.jitter.max = 0;
    a = make(&c);
    room = test_alloc(work = odvgp_fit_q_size(a.m));
    CHECK_STATUS(odvgp_fit_q(a.m, a.X, a.Y, room, work, NULL), ODVGP_OK);
    bytes = odvgp_predictor_size(a.m);
    block = test_alloc(bytes), again = test_alloc(bytes);
    CHECK_STATUS(odvgp_freeze(a.m, NULL, block, bytes, NULL), ODVGP_OK);
    for (i = 0; i < 40; i++) same[i] = (odvgp_real)1.5;
    REFUSED(odvgp_init_data(a.m, same, a.Y, &info), ODVGP_E_NOT_PD);
    CHECK_STATUS(odvgp_freeze(a.m, NULL, again, bytes, NULL), ODVGP_OK);
    CHECK_BITS(block, again, bytes);
    free(room), free(block), free(again), free(same);
    drop(&a);
}
/*  The factor of Kb needs a raised jitter, and that of C needs more than is allowed. The call
    fails, and the jitter returns to its previous value in every node that uses it. */
TEST(a_start_that_fails_takes_the_jitter_back)
{
    odvgp_config c = config(20, 2, 1, 8, 12);
    fixture a, b;
    odvgp_real z[16], g[24], apart[24], one, two;
    int i;
    c.layer[0].kernel = "rbf";
    c.reproduce.parametrisation = ODVGP_PARAMETRISATION_PRIMAL;
    c.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS;
    c.layer[0].cov_part = ODVGP_COV_PART_INVERSE;
    c.optim.natgrad = 0;
    test_seed = 363;
    a = make(&c);
    for (i = 0; i < 16; i++) z[i] = (odvgp_real)test_between(-4, 4);
    for (i = 0; i < 24; i++) g[i] = apart[i] = (odvgp_real)test_between(-4, 4);
    z[2] = z[0], z[3] = z[1];
    /* Eleven points coincide. */
    for (i = 0; i < 20; i++) g[i] = g[20 + i % 2];
    a.m->tape.jitter_absolute = a.m->tape.jitter_relative = 0;
    /* 16 eps per row is enough for 8 points, not for 12. */
    a.m->tape.jitter_limit = 160 * (odvgp_real)EPS;
    CHECK_STATUS(odvgp_set(a.m, "Z_beta", z, 16, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_set(a.m, "Z_gamma", g, 24, NULL), ODVGP_OK);
    REFUSED(odvgp_init_q(a.m, &info), ODVGP_E_NOT_PD);
    CHECK(odvgp_model_events(a.m).jitter_raised == 0 && a.m->unit[0].jitter[0].raised == 0);
    CHECK_STATUS(odvgp_set(a.m, "Z_gamma", apart, 24, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_elbo(a.m, a.X, a.Y, 20, &one, NULL, NULL, NULL), ODVGP_OK);
    /* A second model never makes that call. */
    test_seed = 363;
    b = make(&c);
    b.m->tape.jitter_absolute = b.m->tape.jitter_relative = 0;
    b.m->tape.jitter_limit = a.m->tape.jitter_limit;
    CHECK_STATUS(odvgp_set(b.m, "Z_beta", z, 16, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_set(b.m, "Z_gamma", apart, 24, NULL), ODVGP_OK);
    CHECK_STATUS(odvgp_elbo(b.m, b.X, b.Y, 20, &two, NULL, NULL, NULL), ODVGP_OK);
    CHECK_SAY(one == two && a.m->unit[0].jitter[0].raised == b.m->unit[0].jitter[0].raised &&
                      b.m->unit[0].jitter[0].raised > 0,
            "bounds %.17g and %.17g, raised by %.3g and %.3g", (double)one, (double)two,
            (double)a.m->unit[0].jitter[0].raised, (double)b.m->unit[0].jitter[0].raised);
    CHECK_INT(odvgp_model_events(a.m).jitter_raised, odvgp_model_events(b.m).jitter_raised);
    drop(&a);
    drop(&b);
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
            bytes = odvgp_fit_q_size(a.m);
            work = test_alloc(bytes);
            before = all_values(a.m);
            if (upper)
                REFUSED(odvgp_upper_bound(a.m, a.X, a.Y, work, bytes, &bound, NULL, &info), want);
            else REFUSED(odvgp_fit_q(a.m, a.X, a.Y, work, bytes, &info), want);
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
/*  A noise floor that becomes infinite in the units of the data is refused, and the model is
    unchanged; half of the largest number is the limit. */
TEST(a_noise_floor_is_finite)
{
    odvgp_config c = config(20, 2, 1, 4, 5);
    fixture a;
    size_t bytes, again;
    void *file, *now;
    odvgp_real *large = NEW(odvgp_real, 20), noise = 0;
    int i;
    test_seed = 364;
    c.lik.noise_floor = (odvgp_real)(1e-3 * HUGE_REAL);
    a = make(&c);
    CHECK_STATUS(odvgp_get(a.m, "noise_variance", &noise, 1), ODVGP_OK);
    CHECK(noise > (odvgp_real)(1e-4 * HUGE_REAL) && all_finite(&noise, 1));
    file = save_file(a.m, NULL, "", &bytes);
    for (i = 0; i < 20; i++) large[i] = 1000 * a.Y[i];
    REFUSED(odvgp_init_data(a.m, a.X, large, &info), ODVGP_E_ARG);
    now = save_file(a.m, NULL, "", &again);
    CHECK_SAY(again == bytes && !memcmp(now, file, bytes), "something moved");
    CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
    free(file), free(now), free(large);
    drop(&a);
}
/*  O(M) repeats a natural step that was too long with a second evaluation; here the rows receive
    a NaN just before it. The step fails without effect, although Adam already has half of a
    gradient, and the next step is that of a model that never saw the NaN. */
static odvgp_model *watched;
static odvgp_real *to_spoil;
static int looked, spoilt;
static void spoil_the_second_evaluation(void)
{
    int stats = (watched->tape.purpose & ODVGP__FOR_STATS) != 0;
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
            probe = spoil_the_second_evaluation;
            s = odvgp_step(a.m, a.X, a.Y, NULL, &info);
            probe = NULL;
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
/*  A second initialisation is like the first: it discards what Adam has accumulated, and works
    even if q is not finite. */
TEST(a_second_start_is_like_the_first)
{
    int natgrad, coords;
    for (natgrad = 0; natgrad < 2; natgrad++)
        for (coords = 0; coords < 3; coords++) {
            odvgp_config c = config(20, 2, 1, 4, 5);
            fixture a, b;
            odvgp_real *va, *vb;
            /* All hyperparameters are initialised from the data. */
            c.layer[0].kernel = "rbf";
            c.lik.noise_variance = 0;
            c.optim.batch = 20;
            c.optim.gamma_batch = 0;
            c.optim.natgrad = natgrad;
            c.reproduce.gamma_coords = (odvgp_gamma_coords)coords;
            c.reproduce.parametrisation = (odvgp_parametrisation)coords;
            test_seed = 363;
            a = make(&c);
            test_seed = 363;
            b = make(&c);
            CHECK_STATUS(odvgp_fit(b.m, a.X, a.Y, 7, NULL, NULL, NULL), ODVGP_OK);
            /* Scale the steps as if some had been undone. */
            b.m->state.step_scale = 0.25;
            b.m->par.theta[odvgp_slot_find(b.m, "q_sqrt")->offset] = (odvgp_real)NAN;
            odvgp__touch(b.m, odvgp_slot_count(b.m) - 1);
            CHECK_STATUS(odvgp_init_data(b.m, a.X, a.Y, NULL), ODVGP_OK);
            CHECK_INT(odvgp_steps_done(b.m), 7);
            CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 9, NULL, NULL, NULL), ODVGP_OK);
            CHECK_STATUS(odvgp_fit(b.m, a.X, a.Y, 9, NULL, NULL, NULL), ODVGP_OK);
            va = all_values(a.m), vb = all_values(b.m);
            CHECK_SAY(!memcmp(va, vb, (size_t)odvgp_param_count(a.m) * sizeof *va),
                    "natgrad %d, coordinates %d: differ by %.3g", natgrad, coords,
                    test_max_diff(va, vb, odvgp_param_count(a.m)));
            free(va), free(vb);
            drop(&a);
            drop(&b);
        }
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
    CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0), ODVGP_OK);
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
    CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 5, NULL, NULL, NULL), ODVGP_OK);
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
            CHECK_STATUS(odvgp_set_trainable(a.m, "*", 0), ODVGP_OK);
            CHECK_STATUS(odvgp_set_trainable(a.m, "q_*", 1), ODVGP_OK);
            CHECK_STATUS(odvgp_set_trainable(a.m, "kernel.0.variance", 1), ODVGP_OK);
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

/*  If the product of variances overflows, q is still initialised with finite values, and the
    first step reports the error. */
TEST(q_starts_at_usable_values)
{
    static const odvgp_cov_part parts[] = {ODVGP_COV_PART_INVERSE, ODVGP_COV_PART_DIAGONAL};
    static const double size[] = {BY_PRECISION(1e200, 1e30), BY_PRECISION(1e-200, 1e-30)};
    int i;
    for (i = 0; i < 4; i++) {
        odvgp_config c = config(20, 2, 2, 4, i % 2 ? 0 : 3);
        fixture a;
        odvgp_real *v, variance = (odvgp_real)size[i / 2], e = 7;
        int k, when;
        ptrdiff_t j;
        test_seed = 357;
        c.layer[0].kernel = "rbf(1) * matern32(2)";
        c.layer[0].mean_part = ODVGP_MEAN_PART_FREE;
        c.layer[0].cov_part = parts[i % 2];
        c.optim.natgrad = 0;
        a = make(&c);
        CHECK_STATUS(odvgp_set(a.m, "kernel.0.variance", &variance, 1, NULL), ODVGP_OK);
        CHECK_STATUS(odvgp_set(a.m, "kernel.1.variance", &variance, 1, NULL), ODVGP_OK);
        for (when = 0; when < 2; when++) {
            if (!when) CHECK_STATUS(odvgp_init_q(a.m, NULL), ODVGP_OK);
            else {
                for (j = 0; j < 40; j++) a.Y[j] *= (odvgp_real)sqrt(size[i / 2]);
                CHECK_STATUS(odvgp_init_data(a.m, a.X, a.Y, NULL), ODVGP_OK);
            }
            v = all_values(a.m);
            CHECK_SAY(all_finite(v, odvgp_param_count(a.m)), "part %d, size %g: not finite",
                    (int)parts[i % 2], size[i / 2]);
            for (k = 0; k < odvgp_slot_count(a.m); k++)
                for (j = 0; odvgp_slot_at(a.m, k)->positive && j < odvgp_slot_at(a.m, k)->count;
                        j++)
                    CHECK_SAY(v[odvgp_slot_at(a.m, k)->offset + j] > 0, "part %d, size %g: %s is 0",
                            (int)parts[i % 2], size[i / 2], odvgp_slot_at(a.m, k)->name);
            free(v);
        }
        if (i < 2) {
            REFUSED(odvgp_elbo(a.m, a.X, a.Y, 20, &e, NULL, NULL, &info), ODVGP_E_NAN);
            CHECK(e == 7);
        }
        drop(&a);
    }
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
        if (i < 15) odvgp_init_data(a.m, a.X, a.Y, NULL);
        work = test_alloc(odvgp_fit_q_size(a.m));
        s = odvgp_upper_bound(a.m, a.X, a.Y, work, odvgp_fit_q_size(a.m), &upper, &lower, &info);
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

/* ---- variances ---- */

/*  Here k - |A|^2 is only rounding error: at the inducing points, with little jitter, with
    lengthscales that make Kb nearly singular. */
TEST(variances_are_never_negative)
{
    /* The last two kernels need no jitter and get none. */
    static const char *const lists[] = {"rbf(0.3)", "rbf(3)", "rbf(30)", "matern12(100)",
            "matern52(10) + rbf(20)", "rbf(2, variance=1e8)", "rbf(2, variance=1e-8)",
            "matern12(1)", "matern12(0.3) + matern32(0.1)"};
    int k, mg, sharp;
    for (k = 0; k < 9; k++)
        for (mg = 0; mg < 10; mg += 9)
            for (sharp = 0; sharp < 2; sharp++) {
                odvgp_config c = config(40, 1, 2, 20, mg);
                fixture a;
                odvgp_real *var = NEW(odvgp_real, 2 * 100), *var_y = NEW(odvgp_real, 2 * 100),
                           *cov = NEW(odvgp_real, 2 * 100 * 100), X[100], *z,
                           small = (odvgp_real)1e-10;
                odvgp_server server, *p = &server;
                size_t bytes, need;
                void *block, *scratch;
                ptrdiff_t i, bad = 0;
                test_seed = 360;
                c.layer[0].kernel = lists[k];
                c.jitter.absolute = (odvgp_real)(k < 7 ? 1e-14 : 0);
                c.jitter.relative = 0;
                a = make(&c);
                /* Give q almost no variance of its own. */
                if (sharp) {
                    z = NEW(odvgp_real, 2 * 400);
                    for (i = 0; i < 800; i++) z[i] = i % 400 % 21 == 0 ? small : 0;
                    CHECK_STATUS(odvgp_set(a.m, "q_sqrt", z, 800, NULL), ODVGP_OK);
                    free(z);
                }
                z = NEW(odvgp_real, 20);
                CHECK_STATUS(odvgp_get(a.m, "Z_beta", z, 20), ODVGP_OK);
                for (i = 0; i < 100; i++)
                    X[i] = i < 20   ? z[i]
                           : i < 40 ? (odvgp_real)((double)z[i - 20] + 1e-9)
                                    : (odvgp_real)(-3 + 0.06 * (double)(i - 40));
                bytes = odvgp_predictor_size(a.m);
                block = test_alloc(bytes);
                CHECK_STATUS(serve(a.m, NULL, block, bytes, p, NULL), ODVGP_OK);
                need = odvgp_predict_scratch(p, 100);
                scratch = test_alloc(need);
                CHECK_STATUS(odvgp_predict(p, X, 100, NULL, var, var_y, scratch, need), ODVGP_OK);
                CHECK_STATUS(odvgp_predict_cov(p, X, 100, NULL, cov, scratch, need), ODVGP_OK);
                for (i = 0; i < 200; i++)
                    bad += !(var[i] >= 0) + !(var_y[i] >= (odvgp_real)0.1) +
                           !(cov[i * 100 + i % 100] >= 0);
                CHECK_SAY(bad == 0, "%s: %d negative variances", lists[k], (int)bad);
                /* Predict one row at a time. */
                CHECK_STATUS(odvgp_predict(p, X, 3, NULL, var, var_y, scratch, need), ODVGP_OK);
                for (i = 0; i < 6; i++) CHECK(var[i] >= 0 && var_y[i] >= (odvgp_real)0.1);
                free(block), free(scratch), free(var), free(var_y), free(cov), free(z);
                drop(&a);
            }
}
/*  Inducing points coincide with data rows. For each kernel, the bound and the gradient are
    finite. */
TEST(coincident_points_have_gradients)
{
    static const char *const lists[] = {"rbf", "matern12", "matern32", "matern52",
            "matern12(1, ard)", "matern12 * matern32 + rbf"};
    int k;
    for (k = 0; k < 6; k++) {
        odvgp_config c = config(20, 2, 1, 6, 5);
        fixture a;
        odvgp_real e, *grad;
        odvgp_info info = no_info();
        test_seed = 361;
        c.layer[0].kernel = lists[k];
        a = make(&c);
        CHECK_STATUS(odvgp_set(a.m, "Z_beta", a.X, 12, NULL), ODVGP_OK);
        /* beta and gamma also share points. */
        CHECK_STATUS(odvgp_set(a.m, "Z_gamma", a.X + 8, 10, NULL), ODVGP_OK);
        grad = NEW(odvgp_real, odvgp_param_count(a.m));
        CHECK_SAY(odvgp_elbo(a.m, a.X, a.Y, 20, &e, NULL, grad, &info) == ODVGP_OK, "%s: %s",
                lists[k], info.text);
        CHECK_SAY(all_finite(&e, 1) && all_finite(grad, odvgp_param_count(a.m)), "%s: not finite",
                lists[k]);
        CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 30, NULL, NULL, NULL), ODVGP_OK);
        free(grad);
        drop(&a);
    }
}

int main(int argc, char **argv)
{
    test_begin(argc, argv);
    RUN(bad_configs_are_refused);
    RUN(ranges_of_fields);
    RUN(shards_are_powers_of_two);
    RUN(bad_kernel_expressions_are_refused);
    RUN(kernels_of_eight_terms_fit_every_member);
    RUN(kernel_numbers_arrive);
    RUN(kernel_text_can_be_read_back);
    RUN(kernel_text_of_many_lengthscales);
    RUN(kernel_columns);
    RUN(bad_arguments_are_refused);
    RUN(bad_arguments_of_predictions_are_refused);
    RUN(bad_data_are_refused);
    RUN(exact_blocks_at_any_alignment);
    RUN(predictors_can_be_moved);
    RUN(nothing_is_allocated_after_the_start);
    RUN(each_allocation_can_fail);
    RUN(no_pointer_of_the_caller_is_kept);
    RUN(rows_for_the_start_do_not_overflow);
    RUN(memory_does_not_grow_with_the_data);
    RUN(training_goes_on_bit_for_bit_after_a_file);
    RUN(every_model_is_read_again_from_its_file);
    RUN(predictors_that_overflow_are_refused);
    RUN(results_that_overflow_are_told);
    RUN(damaged_blocks_are_refused);
    RUN(damaged_files_are_refused);
    RUN(forged_files_do_no_harm);
    RUN(each_changed_byte_does_no_harm);
    RUN(forged_units_are_refused);
    RUN(forged_kernels_are_refused);
    RUN(forged_states_are_refused);
    RUN(forged_predictors_are_refused);
    RUN(predictors_of_the_other_precision);
    RUN(predictors_of_more_reals_than_32_bits);
    RUN(files_on_disk);
#if defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 200112L
    RUN(two_writers_and_a_reader);
    RUN(a_save_that_fails_leaves_nothing);
#endif
    RUN(awkward_data_work);
    RUN(inputs_far_from_the_origin);
    RUN(names_of_slots_are_not_cut);
    RUN(repeated_inducing_points_raise_the_jitter);
    RUN(a_raised_jitter_goes_on_after_a_file);
    RUN(causes_are_told);
    RUN(past_the_largest_jitter);
    RUN(wild_steps_are_undone);
    RUN(absurd_rows_move_nothing);
    RUN(broken_parameters_wait_for_good_rows);
    RUN(natural_steps_move_all_outputs_or_none);
    RUN(a_start_that_fails_moves_nothing);
    RUN(a_start_that_fails_keeps_the_best_q);
    RUN(a_start_that_fails_takes_the_jitter_back);
    RUN(an_optimum_that_fails_takes_the_jitter_back);
    RUN(a_noise_floor_is_finite);
    RUN(half_a_gradient_moves_nothing);
    RUN(a_second_start_is_like_the_first);
    RUN(steps_are_shorter_after_one_that_was_undone);
    RUN(adam_without_eps);
    RUN(no_step_leaves_a_value_of_0);
    RUN(a_root_of_0_has_no_bound);
    RUN(a_bound_is_the_same_when_looked_at_twice);
    RUN(q_starts_at_usable_values);
    RUN(no_upper_bound_is_infinite);
    RUN(variances_are_never_negative);
    RUN(coincident_points_have_gradients);
    return test_end();
}
