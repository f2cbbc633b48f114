/*  A build for kernels of one term: its tables have the least room. */
#define ODVGP_MAX_LEAVES 1
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "tables.h"

TEST(one_term_fits_every_member) { tables_hold("rq(ard)"); }

TEST(two_terms_are_refused) {
    odvgp_config c = odvgp_config_defaults(8, 2, 1, 3, 2);
    odvgp_info info;
    size_t bytes = 7;
    c.kernel = "rq + rbf";
    CHECK(odvgp_model_size(&c, &bytes, &info) == ODVGP_E_KERNEL && bytes == 7 && strstr(info.text, "ODVGP_MAX_LEAVES"));
}

/*  One slot or node more than there is room for is not written beyond the table, and is told. */
TEST(full_tables_are_told) {
    odvgp__params *p = NEW(odvgp__params, 1);
    odvgp__tape *t = NEW(odvgp__tape, 1);
    odvgp__arena none;
    int i;
    memset(p, 0, sizeof *p);
    memset(t, 0, sizeof *t);
    odvgp__arena_init(&none, NULL, 0);
    for (i = 0; i < ODVGP__MAX_SLOTS + 2; i++) {
        CHECK_INT(p->full, i > ODVGP__MAX_SLOTS);
        odvgp_slot *slot = odvgp__slot_add(p, "x", 1, 1, 1, 1);
        CHECK(slot == &p->slot[p->slots - 1] && p->slots <= ODVGP__MAX_SLOTS);
    }
    for (i = 0; i < ODVGP__MAX_TAPE + 2; i++) {
        CHECK_INT(t->full, i > ODVGP__MAX_TAPE);
        int node = odvgp__node_add(t, &none, ODVGP__INPUT, ODVGP__HEAD, 1, 1, 0, -1, -1, -1, -1);
        CHECK(node == t->n - 1 && t->n <= ODVGP__MAX_TAPE);
    }
    free(p), free(t);
}

int main(int argc, char **argv) {
    test_begin(argc, argv);
    RUN(one_term_fits_every_member);
    RUN(two_terms_are_refused);
    RUN(full_tables_are_told);
    return test_end();
}
