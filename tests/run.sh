#!/bin/sh
# run.sh COMMAND...   runs test commands one after another. A test that passes is one line; of one that fails all is shown.
# The last line is the sum of all closing lines: N passed, N failed, N skipped. A command that ends with an error without having
# counted a failure (a crash, or ten minutes without an end) counts as one.
log=${TMPDIR:-/tmp}/odvgp-test.$$
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM
limit=$(command -v timeout >/dev/null 2>&1 && echo timeout 600)
passed=0 failed=0 skipped=0
for command in "$@"; do
    begin=$(date +%s)
    $limit $command >"$log" 2>&1
    status=$?
    seconds=$(($(date +%s) - begin))
    line=$(grep -E '^([^:]*: )?[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
    set -- $(echo "$line" | sed 's/^[^:]*: //' | tr -dc '0-9 ')
    p=${1:-0} f=${2:-0} s=${3:-0}
    if [ -z "$line" ]; then line="no closing line"; [ $status -eq 0 ] && status=1; fi
    if [ $status -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    if [ "$f" -ne 0 ]; then
        cat "$log"
        echo "FAILED (exit $status): $command"
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    printf '%-36s %s  (%s s)\n' "$command" "$line" "$seconds"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
