#!/bin/sh
# size.sh DIR           code and constant data of the compiled header, in bytes. Variable CC.
# size.sh DIR predict   the same of a program that only predicts, linked for a Cortex-M4, without
#                       what it calls from libc. Variable ARM: the compiler.
dir=$1 cc=${CC:-cc} arm=${ARM:-arm-linux-gnueabihf-gcc}
mkdir -p "$dir" || exit 1

predict() { # options...
    $arm -Os -mthumb -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard -ffunction-sections \
        -fdata-sections -I. -DODVGP_FLOAT -DODVGP_STATIC "$@" -c "$dir/predict.c" \
        -o "$dir/predict.o" &&
        $arm -nostdlib -static -Wl,--gc-sections -Wl,-e,main \
            -Wl,--unresolved-symbols=ignore-all "$dir/predict.o" -o "$dir/predict" || exit 1
    size -A "$dir/predict" | awk -v options="$*" '$1 ~ /^\.text|^\.rodata/ { code += $2 }
        $1 ~ /^\.data/ { data += $2 } END { printf "%-70s %8d %6d\n", options, code, data }'
}

printf '%-70s %8s %6s\n' options text data
if [ "${2-}" = predict ]; then
    cat >"$dir/predict.c" <<'END'
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
extern const float block[], x[];
extern float mean[], var[];
extern unsigned char scratch[16384];
int main(void)
{
    odvgpf_server server;
    return odvgpf_server_from_block(&server, block, 65536, ODVGP_ISA_AUTO, NULL) ||
           odvgpf_predict(&server, x, 1, mean, var, scratch, sizeof scratch, NULL);
}
END
    predict -DODVGP_PREDICT_ONLY
    exit
fi
printf '#define ODVGP_IMPLEMENTATION\n#include "odvgp.h"\n' >"$dir/impl.c"
while read -r options; do
    $cc -std=c99 -I. -DNDEBUG $options -c "$dir/impl.c" -o "$dir/impl.o" || exit 1
    printf '%-70s %8s %6s\n' "$options" $(size "$dir/impl.o" | awk 'NR == 2 { print $1, $2 + $3 }')
done <<END
-O2
-O2 -DODVGP_FLOAT
-O2 -DODVGP_NO_SIMD
-Os -DODVGP_NO_SIMD
-Os -DODVGP_NO_SIMD -DODVGP_NO_MALLOC -DODVGP_NO_STDIO -DODVGP_FLOAT
END
