/*  gp.h - which parts of odvgp.h this sketch uses: predictions in float, without heap and files. */
#define ODVGP_FLOAT
#define ODVGP_NO_TRAINING
#define ODVGP_NO_STDIO
#define ODVGP_ASSERT(x) ((void)0)
#include <odvgp.h>
