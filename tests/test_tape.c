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

int main(int argc, char **argv) {
    test_begin(argc, argv);
    RUN(a_frozen_kernel_is_not_differentiated_and_not_factored_again);
    RUN(naturally_moved_slots_have_no_adjoints);
    RUN(an_epoch_is_a_permutation);
    return test_end();
}
