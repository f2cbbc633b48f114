#!/bin/sh
# standards.sh DIR CC CXX PART   compiles the header alone with two compilers: languages, options; links several units and both
# precisions into one program and runs it. Two parts can run at the same time, each in a folder of its own: "double", with that
# program; "float", with what is refused and the macros of others. Variable WARN. Compilers that are not there are skipped, and that is said.
dir=$1 part=$4
mkdir -p "$dir" || exit 1
. tests/checks/counts.sh

# A compilation that must end with an error of ours, which names the remedy.
refused() { # name, what the error says, command...
    name=$1 says=$2
    shift 2
    if ! "$@" -Wfatal-errors >"$dir/log" 2>&1 && grep -q "error:.*$says" "$dir/log"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAIL  $name: not refused with \"$says\": $*"
        head -n 20 "$dir/log"
    fi
}

if [ "$(wc -c <odvgp.h)" -le 1169000 ]; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "FAIL  size: odvgp.h has $(wc -c <odvgp.h) bytes; it may have 1,169,000"
fi

printf '#define ODVGP_IMPLEMENTATION\n#include "odvgp.h"\n' >"$dir/impl.c"
printf '#include "odvgp.h"\n#include "odvgp.h"\nint main(void) { return odvgp_status_text(ODVGP_OK) == 0; }\n' >"$dir/use.c"
printf '#define ODVGP_FLOAT\n#define ODVGP_IMPLEMENTATION\n#include "odvgp.h"\n#define ODVGP_IMPLEMENTATION\n#include "odvgp.h"\n' >"$dir/again.c"
# Words that headers of others take.
{
    printf '#include <%s.h>\n' assert float limits math stdint stdio stdlib string
    printf '#if defined(__x86_64__) && !defined(ODVGP_NO_SIMD)\n#include <immintrin.h>\n#endif\n'
    printf '#include "tests/checks/macros.h"\n#define ODVGP_IMPLEMENTATION\n#include "odvgp.h"\n'
} >"$dir/macros.c"
cat >"$dir/both.c" <<'END'
#include "odvgp.h"
#define ODVGP_FLOAT
#include "odvgp.h"
#include <stdio.h>
int main(void) {
    double X[20], y[20], mean, var;
    float Xf[20], yf[20], meanf, varf;
    odvgp_model *m;
    odvgpf_model *mf;
    for (int i = 0; i < 20; i++) {
        X[i] = 0.3 * i + 0.01 * i * i, y[i] = i % 5; /* uneven, so that k-means meets no ties, which rounding would decide */
        Xf[i] = (float)X[i], yf[i] = (float)y[i];
    }
    odvgp_config c = odvgp_config_defaults(20, 1, 1, 4, 6);
    odvgpf_config cf = odvgpf_config_defaults(20, 1, 1, 4, 6);
    c.jitter.relative = (double)cf.jitter.relative; /* float's, so that both are the same model */
    if (odvgp_model_create(&m, &c, X, y, NULL, NULL) || odvgpf_model_create(&mf, &cf, Xf, yf, NULL, NULL)) return 1;
    if (odvgp_fit(m, X, y, 50, NULL, NULL) || odvgpf_fit(mf, Xf, yf, 50, NULL, NULL)) return 2;
    if (odvgp_predict_once(m, X + 3, 1, &mean, &var, NULL, NULL) || odvgpf_predict_once(mf, Xf + 3, 1, &meanf, &varf, NULL, NULL)) return 3;
    printf("double %.4f %.4f   float %.4f %.4f\n", mean, var, (double)meanf, (double)varf);
    odvgp_model_free(m);
    odvgpf_model_free(mf);
    return !(mean - (double)meanf < 0.01 && (double)meanf - mean < 0.01);
}
END

languages() { # compiler, C++ compiler
    if ! command -v "$1" >/dev/null 2>&1 || ! command -v "$2" >/dev/null 2>&1; then
        skip "$1, $2: not installed"
        return
    fi
    # Warnings that follow the flow of values need an optimiser: the oldest C gets it, and the newest C++ in double.
    if [ "$part" = double ]; then
        real=
        for r in "" -DODVGP_FLOAT; do ok "$1 c99 $r" "$1" -std=c99 $WARN -O1 -I. $r -c "$dir/impl.c" -o "$dir/real$r.o"; done
        ok "$2 c++17, optimised" "$2" -std=c++17 $WARN -O1 -I. -x c++ -c "$dir/impl.c" -o "$dir/x.o"
    else
        real=-DODVGP_FLOAT
        ok "$2 c++17 $real" "$2" -std=c++17 $WARN -I. $real -fsyntax-only -x c++ "$dir/impl.c"
    fi
    for std in c11 c17; do ok "$1 $std $real" "$1" -std=$std $WARN -I. $real -fsyntax-only "$dir/impl.c"; done
    ok "$2 c++11 $real" "$2" -std=c++11 $WARN -I. $real -fsyntax-only -x c++ "$dir/impl.c"
    for option in -DODVGP_NO_MALLOC -DODVGP_NO_STDIO "-DODVGP_NO_MALLOC -DODVGP_NO_STDIO" -DODVGP_NO_SIMD -DODVGP_NO_AVX512 -DODVGP_NO_AVX2 \
        -DODVGP_STATIC -DODVGP_USE_PTHREADS -DODVGP_MAX_BASE_KERNELS=1 -DNDEBUG "-DODVGP_NO_TRAINING -DODVGP_STATIC" \
        "-DODVGP_NO_TRAINING -DODVGP_NO_STDIO -DODVGP_NO_MALLOC" -DODVGP_PREDICT_ONLY -DODVGP_NO_TRANSFORMS \
        "-DODVGP_LIKELIHOODS=1 -DODVGP_KERNELS=1 -DODVGP_MEMBERS=3" "-DODVGP_PREDICT_ONLY -DODVGP_LIKELIHOODS=1 -DODVGP_KERNELS=15"; do
        ok "$1 $option $real" "$1" -std=c99 $WARN -I. $real $option -fsyntax-only "$dir/impl.c"
        # what an option leaves out is the same in both precisions
        [ -n "$real" ] || ok "$2 $option" "$2" -std=c++11 $WARN -I. $option -fsyntax-only -x c++ "$dir/impl.c"
    done
    if [ "$part" = float ]; then
        # The implementation refuses arithmetic that is not IEEE's; the declarations do not mind.
        for flag in -ffast-math -Ofast -ffinite-math-only; do
            for real in "" -DODVGP_FLOAT; do
                refused "$1 $flag $real" "-fno-fast-math" "$1" -std=c99 -I. $real $flag -fsyntax-only "$dir/impl.c"
                refused "$2 $flag $real" "-fno-fast-math" "$2" -std=c++11 -I. $real $flag -fsyntax-only -x c++ "$dir/impl.c"
            done
            ok "$1 $flag: a user" "$1" -std=c99 $WARN -I. $flag -fsyntax-only "$dir/use.c"
            ok "$1 $flag -fno-fast-math" "$1" -std=c99 -I. $flag -fno-fast-math -E "$dir/impl.c"
        done
        refused "$1 __ASSOCIATIVE_MATH__, as gcc says" "-fno-fast-math" "$1" -std=c99 -I. -D__ASSOCIATIVE_MATH__=1 -fsyntax-only "$dir/impl.c"
        refused "$1 _M_FP_FAST, as MSVC says" "/fp:precise" "$1" -std=c99 -I. -D_M_FP_FAST=1 -fsyntax-only "$dir/impl.c"
        for flag in -O3 "-O3 -fno-math-errno -fno-trapping-math" "-O2 -ffp-contract=fast"; do
            ok "$1 $flag" "$1" -std=c99 $WARN -I. $flag -E "$dir/impl.c"
        done
        for real in "" -DODVGP_FLOAT -DODVGP_NO_SIMD -DODVGP_NO_TRAINING "-DODVGP_PREDICT_ONLY -DODVGP_FLOAT" "-DODVGP_FLOAT_ONLY -DODVGP_FLOAT"; do
            ok "$1 after macros of others $real" "$1" -std=c99 $WARN -I. $real -fsyntax-only "$dir/macros.c"
            ok "$2 after macros of others $real" "$2" -std=c++11 $WARN -I. $real -fsyntax-only -x c++ "$dir/macros.c"
        done
    else
        ok "$1: implementation repeated, both precisions in one unit" "$1" -std=c99 $WARN -I. -fsyntax-only "$dir/again.c"
        set -- "$1" "$2" -I. -O1 "$dir/real.o" "$dir/real-DODVGP_FLOAT.o"
        ok "$1: a user" "$1" -std=c99 $WARN $3 $4 -c "$dir/use.c" -o "$dir/use.o"
        ok "$1: several units" "$1" "$dir/use.o" "$5" -o "$dir/use" -lm
        ok "$1: both precisions in one program" "$1" -std=c99 $WARN $3 $4 "$dir/both.c" "$5" "$6" -o "$dir/both" -lm
        ok "$1: which runs" "$dir/both"
        ok "$2: C++ program on C objects" "$2" -std=c++11 $WARN $3 $4 -x c++ "$dir/both.c" -x none "$5" "$6" -o "$dir/bothx" -lm
        ok "$2: which runs" "$dir/bothx"
    fi
    echo "$1, $2: $("$1" --version | head -n 1)"
}

languages "$2" "$3"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
