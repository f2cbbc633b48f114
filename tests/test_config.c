/*  The table of a config's fields. The header is compiled without padding, so that a field that is missing in the table shows. */
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif
#pragma pack(push, 1)
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#pragma pack(pop)
#include "test.h"

TEST(each_byte_belongs_to_one_field) {
    static const struct { const char *name; size_t at, bytes; } others[] = {
#define OTHER(name) {#name, offsetof(odvgp_config, name), sizeof(((odvgp_config *)0)->name)}
        OTHER(layer[0].kernel), OTHER(threads), OTHER(isa)};
    unsigned char owners[sizeof(odvgp_config)] = {0};
    size_t i, k;
    for (i = 0; i < (size_t)ODVGP__COUNT(odvgp__fields); i++) {
        const odvgp__field *field = &odvgp__fields[i];
        CHECK_SAY(field->offset + field->bytes <= sizeof owners, "%s", field->name);
        for (k = 0; k < field->bytes; k++) owners[field->offset + k]++;
    }
    for (i = 0; i < sizeof others / sizeof *others; i++)
        for (k = 0; k < others[i].bytes; k++) owners[others[i].at + k]++;
    for (i = 0; i < sizeof owners; i++) CHECK_SAY(owners[i] == 1, "byte %lu of odvgp_config has %d owners", (unsigned long)i, owners[i]);
}
/*  A field's type tells how many bytes it has. */
TEST(types_fit_their_fields) {
    ptrdiff_t i;
    for (i = 0; i < ODVGP__COUNT(odvgp__fields); i++) {
        const odvgp__field *f = &odvgp__fields[i];
        size_t want = f->type == ODVGP__FIELD_REAL ? sizeof(odvgp_real) : f->type == ODVGP__FIELD_SCHEDULE ? sizeof(odvgp_schedule)
                    : f->type == ODVGP__FIELD_BITS ? sizeof(uint64_t) : f->type == ODVGP__FIELD_CHOICE ? f->bytes : sizeof(ptrdiff_t);
        CHECK_SAY(f->bytes == want && f->bytes, "%s has %lu bytes", f->name, (unsigned long)f->bytes);
        if (f->type == ODVGP__FIELD_CHOICE) CHECK_SAY(f->bytes == 1 || f->bytes == 2 || f->bytes == sizeof(int), "%s", f->name);
    }
}
/*  Enumerations of one, two and all bytes of an int. */
TEST(choices_of_all_sizes) {
    static const size_t sizes[] = {1, 2, sizeof(int)};
    static const int values[] = {0, 1, 5, 255, 256, 65535, 65536, INT_MAX};
    size_t s, i;
    for (s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (i = 0; i < sizeof values / sizeof *values; i++) {
            unsigned char at[2 * sizeof(int)], around[2 * sizeof(int)];
            int fits = sizes[s] >= sizeof(int) || values[i] >> (8 * sizes[s]) == 0;
            memset(at, 0x5a, sizeof at), memset(around, 0x5a, sizeof around);
            CHECK_INT(odvgp__choice_set(at + 1, sizes[s], values[i]), fits);
            if (fits) CHECK_INT(odvgp__choice_get(at + 1, sizes[s]), values[i]);
            CHECK_BITS(at, around, 1);
            CHECK_BITS(at + 1 + sizes[s], around, sizeof at - 1 - sizes[s]);
        }
}
int main(int argc, char **argv) {
    test_begin(argc, argv);
    RUN(each_byte_belongs_to_one_field);
    RUN(types_fit_their_fields);
    RUN(choices_of_all_sizes);
    return test_end();
}
