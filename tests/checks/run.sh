#!/bin/sh
# run.sh COMMAND...   runs test commands, as many at a time as there are processors (JOBS). A test that passes is one line; of one that
# fails all is shown. The last line is the sum of all closing lines: N passed, N failed, N skipped. A command that ends with an error
# without having counted a failure (a crash, or twenty minutes without an end) counts as one.
#
# run.sh --one FOLDER COMMAND   is what it calls for each: prints the line, adds the counts to FOLDER/counts.
if [ "$1" = --one ]; then
    folder=$2 command=$3
    log=$folder/$$
    begin=$(date +%s)
    $(command -v timeout >/dev/null 2>&1 && echo timeout 1200) $command >"$log" 2>&1
    status=$?
    seconds=$(($(date +%s) - begin))
    line=$(grep -E '^([^:]*: )?[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
    # shellcheck disable=SC2046 # three numbers
    set -- $(echo "$line" | sed 's/^[^:]*: //' | tr -dc '0-9 ')
    p=${1:-0} f=${2:-0} s=${3:-0}
    if [ -z "$line" ]; then line="no closing line"; [ $status -eq 0 ] && status=1; fi
    if [ $status -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    echo "$p $f $s" >>"$folder/counts"
    line=$(printf '%-36s %s  (%s s)' "$command" "$line" "$seconds")
    if [ "$f" -ne 0 ]; then
        { cat "$log"; echo "FAILED (exit $status): $command"; echo "$line"; } >"$log.failed"
        cat "$log.failed" # in one piece, since others print too
    else
        echo "$line"
    fi
    exit 0
fi

: "${JOBS:=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}"
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
# A line each, the command as one word.
printf '%s\n' "$@" | sed "s/.*/'&'/" | xargs -P "$JOBS" -n 1 sh "$0" --one "$folder"
passed=0 failed=0 skipped=0
while read -r p f s; do
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done <"$folder/counts"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ] && [ "$(wc -l <"$folder/counts")" -eq $# ]
