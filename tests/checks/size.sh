#!/bin/sh
# size.sh DIR   code and constant data of the compiled header, in bytes. Variable CC.
dir=$1 cc=${CC:-cc}
mkdir -p "$dir" || exit 1
printf '#define ODVGP_IMPLEMENTATION\n#include "odvgp.h"\n' >"$dir/impl.c"
printf '%-70s %8s %6s\n' options text data
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
