#!/bin/bash
# said.sh OUT   is the time that the tool says beforehand within 1.5 times what it takes? Ten shapes of generated data
# (bench/shapes.c; c2 and c5: the target cut into classes), a million rows among them, without options but --test-fraction
# 0.1. Appends a line for each: seconds said and taken, by the clock, and their ratio; a line that is there is not made
# again. SEED: of the data (5). ODVGP: the tool.
out=$1 tool=${ODVGP:-build/odvgp} seed=${SEED:-5}
[ -n "$out" ] && [ -x "$tool" ] || { echo "usage: bash bench/said.sh OUT" >&2; exit 2; }
export LC_ALL=C
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cc -O2 bench/shapes.c -o "$at/shapes" -lm || exit
while read -r shape rows inputs noise kind; do
    name="$shape $rows $inputs $noise $kind seed $seed"
    grep -q "^$name " "$out" 2>/dev/null && continue
    "$at/shapes" "$shape" "$rows" "$inputs" "$noise" "$seed" | case $kind in
        c2) awk -F, -v OFS=, '{ $NF = $NF < 0 ? "no" : "yes"; print }' ;;
        c5) awk -F, -v OFS=, '{ v = $NF; $NF = v < -0.8 ? "a" : v < -0.2 ? "b" : v < 0.3 ? "c" : v < 0.9 ? "d" : "e"; print }' ;;
        *) cat ;;
    esac >"$at/rows.csv"
    begin=$EPOCHREALTIME
    "$tool" train --data "$at/rows.csv" --test-fraction 0.1 --model "$at/m.odvgp" >/dev/null 2>"$at/err" || { cat "$at/err" >&2; exit 1; }
    echo "$EPOCHREALTIME $begin $(sed -n 's/^auto: .*about \([0-9.]*\) s, less.*/\1/p' "$at/err" | head -n 1)" |
        awk -v name="$name" '{ printf "%-34s said %5.1f took %5.1f ratio %.2f\n", name, $3, $1 - $2, $3 / ($1 - $2) }' >>"$out"
done <<END
smooth 250 3 0.1 g
rough 800 5 0.3 g
smooth 1500 20 0.3 g
additive 1800 8 0.2 g
steps 1800 4 0.1 g
smooth 5000 6 0.1 g
rough 12000 10 0.3 g
smooth 3000 6 0.2 c5
rough 8000 5 0.2 c2
additive 40000 8 0.3 g
smooth 1000000 10 0.2 g
END
