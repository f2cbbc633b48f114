#!/bin/bash
# few_rows.sh OUT DATA NAME=PROGRAM...   what a race chooses on few rows: each PROGRAM, a build of the tool, trains on
# each of SETS and SPLITS (0 to 4), the one named `first` with --auto-tries 1. Appends lines "set split name rmse
# loglik basis kernel" to OUT, and skips those there. A set is NAME, of which a tenth tests (--split numpy:S);
# NAME:ROWS, so many random rows, which up to 1,000 others test; or SHAPE:ROWS:NOISE:INPUTS, of bench/shapes.c with
# the seed 100 + S, which 1,000 further ones test. DATA: the folder with NAME.csv.gz.
out=$1 folder=$2
shift 2
[ $# -gt 0 ] || { echo "usage: SETS=... bash bench/few_rows.sh OUT DATA NAME=PROGRAM..." >&2; exit 2; }
export LC_ALL=C
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cc -O2 bench/shapes.c -o "$at/shapes" -lm || exit
value() { sed -n 's/.*"'"$1"'": \("[^"]*"\|[^,}]*\).*/\1/p' "$at/json" | tr -d '"' | tr ' ' _; }
for set in $SETS; do
    IFS=: read -r name rows noise inputs <<<"$set"
    for split in ${SPLITS:-0 1 2 3 4}; do
        data="--data $at/rows.csv --test $at/test.csv"
        if [ -n "$noise" ]; then
            "$at/shapes" "$name" $((rows + 1000)) "$inputs" "$noise" $((100 + split)) >"$at/all.csv"
        elif [ -n "$rows" ]; then
            gzip -dc "$folder/$name.csv.gz" | awk -v seed=$((split + 1)) '
                BEGIN { srand(seed) } { printf "%.9f|%s\n", rand(), $0 }' | sort | cut -d '|' -f 2 |
                head -n $((rows + 1000)) >"$at/all.csv"
        else
            gzip -dc "$folder/$name.csv.gz" >"$at/all.csv"
            data="--data $at/all.csv --test-fraction 0.1 --split numpy:$split"
        fi
        head -n "${rows:-1}" "$at/all.csv" >"$at/rows.csv"
        tail -n +$((rows + 1)) "$at/all.csv" >"$at/test.csv"
        for arm; do
            grep -q "^$set $split ${arm%%=*} " "$out" 2>/dev/null && continue
            tries=4
            [ "${arm%%=*}" != first ] || tries=1
            # shellcheck disable=SC2086
            "${arm#*=}" train $data --threads 1 --quiet --json --auto-tries $tries --model "$at/m.odvgp" \
                >"$at/json" || exit
            echo "$set $split ${arm%%=*} $(value rmse) $(value loglik) $(value basis) $(value kernel)" >>"$out"
        done
    done
done
