#!/bin/sh
# all_targets.sh FOLDER   compiles every program that the Makefile can; runs none. Those that are not
# already in FOLDER (build), up to date, go to FOLDER/all, with -O0, which takes a quarter of the time.
# The list is make's own, but for tests in folders whose programs differ only by a flag of all
# (FOLDER/cover, FOLDER/tsan, the second precision of FOLDER/sanitize) and for what other runs of make
# have left in FOLDER/all, FOLDER/clang and FOLDER/cross. What needs packages that are not there is left
# out with a note. In the environment: CBLAS_PROGRAMS, those that link a CBLAS, and CBLAS_FLAGS, with
# which they do.
folder=$1
: "${CC:=cc}" "${CLANG:=clang}" "${MAKE:=make}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# without PATTERN...: leaves targets out.
without() {
    for pattern in "$@"; do
        grep -v "^$folder/$pattern" "$work/list" >"$work/fewer"
        mv "$work/fewer" "$work/list"
    done
}

LC_ALL=C MAKEFLAGS='' "$MAKE" -pnRr B="$folder" OTHER=odvgp.h help 2>/dev/null |
    awk -v folder="$folder/" '
        /^# Not a target/ { skip = 2 }
        index($0, folder) == 1 && /^[^%=]*:( |$)/ && !skip { sub(/:.*/, ""); print }
        { if (skip) skip-- }' | sort -u >"$work/list"
[ "$(wc -l <"$work/list")" -gt 100 ] || { echo "all-targets: make lists no targets"; exit 1; }
without cover/ tsan/ cblas/ sanitize/f32/test sanitize/f32/internals tool.data/ all/ clang/ cross/
if echo 'int LLVMFuzzerTestOneInput(const unsigned char *x, unsigned long n) { return x && n > 9; }' |
    "$CLANG" -fsanitize=fuzzer -x c - -o "$work/program" 2>/dev/null; then
    for target in kernel model table; do echo "$folder/fuzz/fuzz_$target"; done >>"$work/list"
else
    echo "left out: fuzz, which needs clang and its libFuzzer"
    without fuzz/
fi
# shellcheck disable=SC2086 # flags
if printf '#include <cblas.h>\nint main(void) { return 0; }\n' |
    "$CC" -x c - -o "$work/program" $CBLAS_FLAGS 2>/dev/null; then
    printf '%s\n' $CBLAS_PROGRAMS >>"$work/list"
else echo "left out: cblas, which needs a CBLAS with its header"
fi

grep . "$work/list" | while read -r target; do
    [ -e "$target" ] &&
        [ -z "$(find odvgp.h Makefile tests bench examples -type f -newer "$target" | head -n 1)" ] ||
        echo "$folder/all/${target#"$folder/"}"
done >"$work/missing"
echo "$(wc -l <"$work/missing") of $(wc -l <"$work/list") targets are not there yet"
touch "$work/log"
# shellcheck disable=SC2046 # a list
[ ! -s "$work/missing" ] ||
    CFLAGS=-O0 "$MAKE" -k B="$folder/all" OTHER=odvgp.h $(cat "$work/missing") >"$work/log" 2>&1
status=$?
grep -E 'error|warning|\*\*\*' "$work/log"
echo "$(wc -l <"$work/list") targets compile"
exit $status
