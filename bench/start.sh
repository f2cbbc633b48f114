#!/bin/bash
# start.sh DATA OUT PROGRAM...   how initial lengthscales and inducing points serve: each PROGRAM (bench/start.c,
# compiled with the header to measure) trains on the same rows of each set, warm and cold, in turn. The rows
# are 2,000 outside the first test part (or a tenth of all), the 500 behind them are for validation.
# Appends lines "set way program rmse loglik" to OUT, and skips those there. SETS: instead of those below.
data=$1 out=$2
shift 2
[ $# -gt 0 ] && [ -d "$data" ] || { echo "usage: bash bench/start.sh DATA OUT PROGRAM..." >&2; exit 2; }
export LC_ALL=C
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
for set in ${SETS:-concrete energy airfoil slice_first682 sml parkinsons naval kin8nm power elevators bike pumadyn32nm \
    keggdirected 3droad_first5000 houseelectric_first15k sarcos_test fried}; do
    gzip -dc "$data/$set.csv.gz" >"$at/all"
    if [ -s "$data/$set.test_mask.csv.gz" ]; then gzip -dc "$data/$set.test_mask.csv.gz"; fi >"$at/mask"
    paste -d '|' "$at/mask" "$at/all" | awk -F '|' '
        BEGIN { srand(1) }
        { draw = rand(); skip = $1 == "" ? rand() < 0.1 : $1 + 0 > 0 }
        !skip { printf "%.9f|%s\n", draw, $2 }' | sort | head -n 2500 | cut -d '|' -f 2 >"$at/rows.csv"
    for way in warm cold; do
        for program; do
            grep -q "^$set $way ${program##*/} " "$out" 2>/dev/null && continue
            line=$("$program" "$at/rows.csv" $way) || exit
            echo "$set $way ${program##*/} $line" >>"$out"
        done
    done
done
