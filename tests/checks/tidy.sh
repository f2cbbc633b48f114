#!/bin/sh
# tidy.sh PART PARTS FILE...   clang-tidy (with .clang-tidy) and cppcheck on the header itself, in both precisions, and on the given
# files; of all these checks every PARTS-th, from number PART on. Variables TIDY CPPCHECK, and INTERNALS, the folder of the header that the Makefile derives
# for tests (but for the programs OWN). Programs see the header's declarations alone, since its code was looked at before, tests those of
# its internals, too; they do without the path analyser, which would follow every path from every test through the header.
tidy=${TIDY:-clang-tidy} cppcheck=${CPPCHECK:-cppcheck} part=$1 parts=$2 turn=0
shift 2
log=${TMPDIR:-/tmp}/odvgp-tidy.$$
trap 'rm -f "$log"' EXIT
passed=0 failed=0
check() { # name, command...
    name=$1
    shift
    turn=$((turn + 1))
    [ $(((turn - 1) % parts)) -eq "$part" ] || return
    if "$@" >"$log" 2>&1; then
        echo "ok    $name"
        passed=$((passed + 1))
    else
        grep -E -A 2 '(error|warning|style|portability|performance): ' "$log" | head -n 60
        echo "FAIL  $name"
        failed=$((failed + 1))
    fi
}
flags="-std=c99 -I. -Iexamples/tool -DODVGP_USE_PTHREADS"
for real in "" -DODVGP_FLOAT; do
    # paths do not depend on the precision, and following them takes over four minutes
    check "clang-tidy odvgp.h $real" "$tidy" --quiet ${real:+--checks=-clang-analyzer-*} odvgp.h -- -x c $flags -DODVGP_IMPLEMENTATION $real
    check "cppcheck odvgp.h $real" "$cppcheck" --quiet --language=c --std=c99 --enable=warning,performance,portability --inline-suppr \
        --suppress=missingIncludeSystem --suppress=uninitvar --error-exitcode=1 -DODVGP_IMPLEMENTATION -DODVGP_USE_PTHREADS -D__x86_64__ -D__GNUC__=12 $real odvgp.h
done
for file in "$@"; do
    more=
    case $file in
    tests/* | bench/*)
        headers=
        case " $OWN " in *" $(basename "$file" .c) "*) ;; *) case $file in tests/test_*) headers=-I$INTERNALS ;; esac ;; esac
        more="--suppress=uninitvar --suppress=memleakOnRealloc" # what a callback fills; the program ends there
        check "clang-tidy $file" "$tidy" --quiet --checks='-clang-analyzer-*' "$file" -- $headers $flags
        ;;
    *) check "clang-tidy $file" "$tidy" --quiet "$file" -- $flags -DODVGP__IMPLEMENTED ;;
    esac
    check "cppcheck $file" "$cppcheck" --quiet --std=c99 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
        --suppress=missingIncludeSystem --suppress='*:odvgp.h' --suppress=ctuuninitvar $more -D__GNUC__=12 -D__x86_64__ "$file"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
