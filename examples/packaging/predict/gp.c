/*  gp.c - the code of odvgp.h, in a file of its own, which the macros of Arduino.h do not reach. */
#define ODVGP_IMPLEMENTATION
#include "gp.h"
