#define OTHERS
#include "compact_only.c" /* NOLINT(bugprone-suspicious-include): the same again */
