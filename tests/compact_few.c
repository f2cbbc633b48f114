#define FEW
#include "compact_only.c"
