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
    CHECK(!m->tape.node[m->mu].needs_grad && !m->tape.node[m->root].needs_grad);
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

/*  The bits of exp: below 2 ulp from the C library's in double precision, over the whole range, ends included. */
TEST(exp_is_right_to_two_ulp) {
    odvgp_real x[ODVGP__CHUNK], y[ODVGP__CHUNK];
    double worst = 0;
    int i, k, set;
    for (set = 0; set < test_isas.count; set++) {
        const odvgp__isa *row = odvgp__isa_find(test_isas.isa[set]);
        for (k = 0; k < 4000; k++) {
            for (i = 0; i < ODVGP__CHUNK; i++) {
                double u = odvgp__uniform(9, 77, (uint64_t)(k * ODVGP__CHUNK + i));
                x[i] = (odvgp_real)(k % 2 ? (u - 1) * 2 : (u - 0.5) * BY_PRECISION(1416.0, 174.0));
            }
            memcpy(y, x, sizeof x);
            row->exp(y);
            for (i = 0; i < ODVGP__CHUNK; i++) {
                double want = exp((double)x[i]), error = fabs((double)y[i] - want) / (want * EPS);
                if (error > worst) worst = error;
            }
        }
        CHECK(worst <= 2);
        memset(x, 0, sizeof x);
        x[1] = (odvgp_real)-HUGE_VAL;
        x[2] = (odvgp_real)HUGE_VAL;
        x[3] = (odvgp_real)NAN;
        x[4] = (odvgp_real)BY_PRECISION(-745.13, -103.97); /* the last number above half the smallest subnormal */
        x[5] = (odvgp_real)BY_PRECISION(-744.0, -102.5);
        x[6] = (odvgp_real)BY_PRECISION(709.78, 88.72);
        row->exp(x);
        CHECK(x[0] == 1 && x[1] == 0 && x[2] > HUGE_REAL && x[3] != x[3]);
        CHECK(x[4] > 0 && x[5] > x[4] && x[6] <= HUGE_REAL && x[6] > HUGE_REAL * 0.9);
    }
}

int main(int argc, char **argv) {
    test_begin(argc, argv);
    RUN(a_frozen_kernel_is_not_differentiated_and_not_factored_again);
    RUN(naturally_moved_slots_have_no_adjoints);
    RUN(an_epoch_is_a_permutation);
    RUN(exp_is_right_to_two_ulp);
    return test_end();
}
