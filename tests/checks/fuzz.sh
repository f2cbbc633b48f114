#!/bin/sh
# fuzz.sh DIR SECONDS TARGET...   runs DIR/fuzz_TARGET for so many seconds each, one after another.
# SEED in the environment chooses the mutations; without one they are others each time. DIR/TARGET/
# holds the inputs that reached something new, and a later run goes on from them. An input that fails
# is written to DIR/TARGET-...
dir=$1 seconds=$2
shift 2
passed=0 failed=0
for target in "$@"; do
    mkdir -p "$dir/$target" && "$dir/fuzz_$target" --seeds "$dir/$target" || exit 1
    "$dir/fuzz_$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=20000 \
        -seed="${SEED:-0}" -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="$dir/$target-" "$dir/$target" >"$dir/$target.log" 2>&1
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$target.log")
    if [ $status -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok    fuzz $target: ${runs:-0} inputs"
    else
        failed=$((failed + 1))
        echo "FAIL  fuzz $target, after ${runs:-0} inputs"
        grep -vE '^(stat::|INFO:)|^"|Recommended dictionary' "$dir/$target.log" | tail -n 40
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
