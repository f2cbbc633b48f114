/*  What the tape saves: nothing frozen is differentiated, nothing unchanged is made again, and minibatches are drawn as promised. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"

enum { ROWS = 90, INPUTS = 2, BETA = 8, GAMMA = 12 };

static odvgp_real X[ROWS * INPUTS], Y[ROWS];

static odvgp_model *make(odvgp_config *cfg) {
    odvgp_model *m = NULL;
    ptrdiff_t i;
    cfg->isa = test_isa();
    for (i = 0; i < ROWS * INPUTS; i++) X[i] = (odvgp_real)odvgp__normal(3, 77, (uint64_t)i);
    for (i = 0; i < ROWS; i++) Y[i] = (odvgp_real)sin((double)X[2 * i]);
    CHECK(odvgp_model_create(&m, cfg, X, Y, NULL, NULL) == ODVGP_OK);
    return m;
}

TEST(a_frozen_kernel_is_not_differentiated_and_not_factored_again) {
    odvgp_config cfg = odvgp_config_defaults(ROWS, INPUTS, 1, BETA, GAMMA);
    odvgp_model *m = make(&cfg);
    uint64_t stamp;
    CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
    CHECK(m->tape.node[m->L].needs_grad);
    stamp = m->tape.node[m->L].stamp;
    CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
    CHECK(m->tape.node[m->L].stamp > stamp);
    CHECK(odvgp_set_trainable(m, "kernel.*", 0) == ODVGP_OK);
    CHECK(odvgp_set_trainable(m, "Z_*", 0) == ODVGP_OK);
    CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK); /* sees the last change */
    stamp = m->tape.node[m->L].stamp;
    CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
    CHECK(m->tape.node[m->L].stamp == stamp);
    CHECK(!m->tape.node[m->L].needs_grad && !m->tape.node[m->A].needs_grad && !m->tape.node[m->hyp].needs_grad);
    CHECK(m->tape.node[m->a_slot].needs_grad);
    odvgp_model_free(m);
}

TEST(naturally_moved_slots_have_no_adjoints) {
    odvgp_config cfg = odvgp_config_defaults(ROWS, INPUTS, 1, BETA, 0);
    odvgp_model *m = make(&cfg);
    CHECK(odvgp_step(m, X, Y, NULL, NULL) == ODVGP_OK);
    CHECK(!m->tape.node[m->block[0].mu].needs_grad && !m->tape.node[m->block[0].root].needs_grad);
    odvgp_model_free(m);
}

/*  Every epoch takes each row at most once, the remainder is dropped, and epochs differ. */
TEST(an_epoch_is_a_permutation) {
    ptrdiff_t n, i;
    for (n = 1; n <= 300; n += n < 70 ? 1 : 23) {
        char seen[300] = {0};
        int same = 1;
        for (i = 0; i < n; i++) {
            ptrdiff_t row = odvgp__permute(5, 1, 0, n, i);
            CHECK(row >= 0 && row < n && !seen[row]);
            seen[row] = 1;
            same &= row == odvgp__permute(5, 1, 1, n, i);
        }
        if (n > 12) CHECK(!same);
    }
}

/*  Over many epochs each permutation of five comes equally often, and each number stands at each place equally often, whatever the seed
    and the stream: chi-square within six standard deviations of its mean, which is its degrees of freedom. */
static double excess(double chi2, double freedom) { return fabs(chi2 - freedom) / sqrt(2 * freedom); }
TEST(permutations_are_equally_likely) {
    enum { PER = 400 };
    static const ptrdiff_t sizes[] = {2, 3, 4, 5, 7, 12, 31, 63, 64, 65, 100};
    int round;
    size_t s;
    for (round = 0; round < 3; round++)
        for (s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            ptrdiff_t n = sizes[s], orders = n == 2 ? 2 : n == 3 ? 6 : n == 4 ? 24 : 120, i, e, j, epochs = PER * (n <= 5 ? orders : n);
            double *at = NEW(double, n * n), order[120] = {0}, chi2 = 0;
            memset(at, 0, (size_t)(n * n) * sizeof *at);
            for (e = 0; e < epochs; e++) {
                ptrdiff_t number = 0, p[100];
                for (i = 0; i < n; i++) p[i] = odvgp__permute(round == 1 ? 77 : 0, round == 2 ? 3 : 1, (uint64_t)e, n, i);
                for (i = 0; i < n; i++) at[i * n + p[i]]++;
                for (i = 0; i < n && n <= 5; i++) { /* its place among the orders */
                    ptrdiff_t below = 0;
                    for (j = i + 1; j < n; j++) below += p[j] < p[i];
                    number = number * (n - i) + below;
                }
                if (n <= 5) order[number]++;
            }
            for (i = 0; i < n * n; i++) chi2 += (at[i] - (double)epochs / (double)n) * (at[i] - (double)epochs / (double)n) / ((double)epochs / (double)n);
            chi2 *= (double)(n - 1) / (double)n; /* rows and columns have fixed sums */
            CHECK_SAY(excess(chi2, (double)((n - 1) * (n - 1))) < 6, "n %ld: chi-square of places %.1f of %ld", (long)n, chi2, (long)((n - 1) * (n - 1)));
            for (chi2 = 0, i = 0; i < orders && n <= 5; i++) chi2 += (order[i] - PER) * (order[i] - PER) / PER;
            if (n <= 5) CHECK_SAY(excess(chi2, (double)(orders - 1)) < 6, "n %ld: chi-square of orders %.1f of %ld", (long)n, chi2, (long)(orders - 1));
            free(at);
        }
}

int main(int argc, char **argv) {
    test_begin(argc, argv);
    RUN(a_frozen_kernel_is_not_differentiated_and_not_factored_again);
    RUN(naturally_moved_slots_have_no_adjoints);
    RUN(an_epoch_is_a_permutation);
    RUN(permutations_are_equally_likely);
    return test_end();
}
