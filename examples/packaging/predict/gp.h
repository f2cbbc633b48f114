/*  gp.h - which part of odvgp.h this sketch uses: predictions in float, without heap and files. */
#define ODVGP_FLOAT
#define ODVGP_PREDICT_ONLY
#include <odvgp.h>
