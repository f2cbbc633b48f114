#!/bin/sh
# all_targets.sh FOLDER   compiles every program that the Makefile can, into FOLDER (build); runs none.
# The list is make's own. Left out are the tests in folders whose programs differ only by a flag of
# all: FOLDER/cover, FOLDER/tsan and the second precision of FOLDER/sanitize and FOLDER/cblas. What
# needs packages that are not there is left out with a note.
folder=$1
: "${CC:=cc}" "${CLANG:=clang}" "${MAKE:=make}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# without PATTERN NOTE: leaves targets out.
without() {
    grep -v "^$folder/$1" "$work/list" >"$work/fewer"
    cmp -s "$work/fewer" "$work/list" || echo "${2:+left out: $folder/$1: $2}" | grep .
    mv "$work/fewer" "$work/list"
}

LC_ALL=C MAKEFLAGS='' "$MAKE" -pnRr B="$folder" OTHER=odvgp.h help 2>/dev/null |
    awk -v folder="$folder/" '
        /^# Not a target/ { skip = 2 }
        index($0, folder) == 1 && /^[^%=]*:( |$)/ && !skip { sub(/:.*/, ""); print }
        { if (skip) skip-- }' | sort -u >"$work/list"
[ "$(wc -l <"$work/list")" -gt 100 ] || { echo "all-targets: make lists no targets"; exit 1; }
without cover/ ""
without tsan/ ""
without sanitize/f32/test ""
without cblas/f32/ ""
for target in kernel model table; do echo "$folder/fuzz/fuzz_$target"; done >>"$work/list"

echo 'int LLVMFuzzerTestOneInput(const unsigned char *x, unsigned long n) { return x && n > 9; }' |
    "$CLANG" -fsanitize=fuzzer -x c - -o "$work/program" 2>/dev/null ||
    without fuzz/ "needs clang and its libFuzzer"
printf '#include <cblas.h>\nint main(void) { return 0; }\n' |
    "$CC" -x c - -o "$work/program" ${CBLAS_FLAGS:-} 2>/dev/null ||
    without cblas/ "needs a CBLAS with its header"

# shellcheck disable=SC2046 # a list
"$MAKE" -k B="$folder" OTHER=odvgp.h $(cat "$work/list") >"$work/log" 2>&1
status=$?
grep -E 'error|warning|\*\*\*' "$work/log"
echo "$(wc -l <"$work/list") targets compile, or were there"
exit $status
