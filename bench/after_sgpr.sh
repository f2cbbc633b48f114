#!/bin/bash
# after_sgpr.sh OUT   does SGPR, then minibatches, beat the better of both alone at equal counted operations?
# Eight generated sets of bench/shapes.c. The budget is that of sgpr: warm starts of 200 points, then passes
# of 256 points; solve 200+200 and orth 256+500 get the steps that it pays for: cold, after the same warm
# starts, and after half of it for SGPR on all rows (also a warm start, with their points). Appends lines
# "set arm rmse loglik" to OUT, and the log density of each of the 2,000 test rows to OUT.SET.ARM. ODVGP: the
# tool. SETS: instead of those below, as SHAPE:ROWS:NOISE:SEED.
out=$1 tool=${ODVGP:-build/odvgp}
[ -n "$out" ] || { echo "usage: bash bench/after_sgpr.sh OUT" >&2; exit 2; }
export LC_ALL=C
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
D=6
cc -O2 bench/shapes.c -o "$at/shapes" -lm || exit
# What examples/tool/cost.h counts: prints the numbers of steps of sgpr, solve and orth for these rows.
steps() {
    awk -v n="$1" -v D=$D -v half="$2" '
    function pass(n, M) { return 8 * n * M * M + 20 * M * M * M + (150 + 40 * D) * n * M }
    function layer(M, g, blocks,  f) {
        f = pass(1024, M) + 10 * M * M * M + (154 + 40 * D) * (1024 * (M + g) + M * g)
        return blocks ? f + pass(1024, g) + 8 * 1024 * M * g + 10 * g * g * g : f }
    BEGIN { warm = (105 + 50) * pass(4000, 200); passes = 1.2e6 / n
        train = 1.2 * passes * pass(n, 256); all = warm + train
        solve = layer(200, 200, 1); orth = layer(256, 500, 0)
        printf "%d %d %d %d %d %d %d\n", passes, all / solve, train / solve, train / 2 / solve, train / 2 / orth,
            train / 2 / 1.25 / pass(n, 200), train / 2 / 1.25 / pass(n, 256) }'
}
for set in ${SETS:-smooth:20000:0.01:1 smooth:20000:0.3:2 rough:20000:0.05:3 rough:40000:0.5:4 additive:20000:0.02:5 \
    additive:40000:0.2:6 steps:20000:0.05:7 steps:20000:0.5:8}; do
    IFS=: read -r shape rows noise seed <<<"$set"
    read -r passes cold warm solve orth first first_orth < <(steps "$rows")
    "$at/shapes" "$shape" $((rows + 2000)) $D "$noise" "$seed" >"$at/all.csv"
    head -n "$rows" "$at/all.csv" >"$at/rows.csv"
    tail -n 2000 "$at/all.csv" >"$at/test.csv"
    start=4000:100:200:0.03,4000:40:200
    for arm in sgpr cold warm solve orth; do
        grep -q "^$set $arm " "$out" 2>/dev/null && continue
        case $arm in
        sgpr) how="--basis sgpr --beta 256 --iters $passes --warm $start" ;;
        cold) how="--basis solve --beta 200 --gamma 200 --iters $cold --warm off --fit-q end" ;;
        warm) how="--basis solve --beta 200 --gamma 200 --iters $warm --warm $start --fit-q end" ;;
        solve) how="--basis solve --beta 200 --gamma 200 --iters $solve --warm $start,$rows:$first:200 --fit-q end" ;;
        orth) how="--basis orth --beta 256 --gamma 500 --iters $orth --warm $start,$rows:$first_orth:256 --fit-q end" ;;
        esac
        # shellcheck disable=SC2086
        "$tool" train --data "$at/rows.csv" --threads 1 --quiet --model "$at/m.odvgp" $how >/dev/null || exit
        "$tool" predict --data "$at/test.csv" --model "$at/m.odvgp" --quiet --keep 6 2>/dev/null | awk -F, -v rows="$out.$set.$arm" '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { d = $1 - $at["mean"]; s = $at["sd_y"]; l = -0.5 * log(6.283185307179586 * s * s) - d * d / (2 * s * s)
              print l >rows; sum += l; e += d * d; n++ }
            END { printf "%.5f %.5f\n", sqrt(e / n), sum / n }' >"$at/score"
        echo "$set $arm $(cat "$at/score")" >>"$out"
    done
done
