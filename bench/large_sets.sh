#!/bin/bash
# large_sets.sh OUT   time, memory and quality on 1e5 to 1e7 generated rows (bench/shapes.c; ten inputs, noise 0.2 of the
# function's deviation, 20,000 further rows to test), without options but --minutes MINUTES (2), and with `usual` without
# it. Appends a line for each: seconds of the clock until the rows are read, from then to the first model that is scored, on
# rows that a race holds out or on those to test, of the whole command; its peak of memory; RMSE / log-likelihood
# (standardised) of the first model that is scored on the latter, of the last one before half of the time, and of the one
# that is saved. boosting: LightGBM's defaults with its noise from a tenth that is held out, if $PYTHON has it. A line that
# is there is not made again. ODVGP: the tool.
out=$1 tool=${ODVGP:-build/odvgp} minutes=${MINUTES:-2}
[ -n "$out" ] && [ -x "$tool" ] || { echo "usage: bash bench/large_sets.sh OUT" >&2; exit 2; }
export LC_ALL=C
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cc -O2 bench/shapes.c -o "$at/shapes" -lm || exit
seconds() { echo "$EPOCHREALTIME $1" | awk '{ printf "%.1f", $1 - $2 }'; }

# train WAY: the line's columns.
train() {
    begin=$EPOCHREALTIME
    way=()
    [ "$1" = usual ] || way=(--minutes "$1")
    { /usr/bin/time -f 'peak %M' "$tool" train --data "$at/rows.csv" --test "$at/test.csv" --model "$at/m.odvgp" "${way[@]}" \
        2>&1 >"$at/out" || echo failed; } | while IFS= read -r line; do echo "$EPOCHREALTIME $line"; done >"$at/err"
    grep -q ' failed$' "$at/err" && { cat "$at/err" >&2; exit 1; }
    awk -v begin="$begin" -v all="$(seconds "$begin")" '
        function scores(i) { return rmse[i] " / " loglik[i] }
        { now = $1 - begin }
        $2 == "race:" && / has loglik / && !first { first = now }
        / rows, .* inputs; / && !read || $2 == "auto:" && !read { read = now }
        $2 == "step" && /rmse/ {
            for (i = 3; i < NF; i++) { if ($i == "rmse") rmse[n + 1] = $(i + 1); if ($i == "loglik") loglik[n + 1] = $(i + 1) }
            when[++n] = now
        }
        $2 == "peak" { peak = $3 / 1024 }
        FILENAME ~ /out$/ && $1 == "test" { last = $3 " / " $7 }
        END {
            for (half = 1; half < n && when[half + 1] <= all / 2;) half++
            if (!first) first = when[1]
            printf "%5.1f %5.1f %6.1f %6.0f   %-17s %-17s %s\n", read, first - read, all, peak, scores(1), scores(half), last
        }' "$at/err" "$at/out"
}

boosting() {
    begin=$EPOCHREALTIME
    /usr/bin/time -o "$at/time" -f '%M' "$PYTHON" - "$at" <<'END' >"$at/scores" 2>/dev/null || return
import sys
import lightgbm as lgb
import numpy as np
at, quiet = sys.argv[1], {"verbosity": -1, "objective": "regression", "num_threads": 2}
rows, test = (np.fromstring(open(f"{at}/{name}.csv").read().replace("\n", ","), sep=",").reshape(-1, 11) for name in ("rows", "test"))
mean, sd, tenth = rows[:, -1].mean(), rows[:, -1].std(), len(rows) // 10
model = lgb.train(quiet, lgb.Dataset(rows[tenth:, :-1], rows[tenth:, -1]))
noise = np.mean((model.predict(rows[:tenth, :-1]) - rows[:tenth, -1]) ** 2) / sd**2
error = np.mean((model.predict(test[:, :-1]) - test[:, -1]) ** 2) / sd**2
print(f"{error**0.5:.5f} / {-0.5 * (np.log(2 * np.pi * noise) + error / noise):.5f}")
END
    printf '%5s %5s %6.1f %6.0f   %-17s %-17s %s\n' "" "" "$(seconds "$begin")" "$(awk '{ print $1 / 1024 }' "$at/time")" "" "" \
        "$(cat "$at/scores")"
}

[ -s "$out" ] || printf '%-28s %5s %5s %6s %6s   %-17s %-17s %s\n' "shape rows way" read first all MB "first model" half saved >>"$out"
for set in ${SETS:-smooth:100000 rough:100000 smooth:1000000 rough:1000000 smooth:10000000 rough:10000000}; do
    IFS=: read -r shape rows <<<"$set"
    made=''
    for way in $minutes usual boosting; do
        name="$shape $rows $way"
        grep -q "^$name " "$out" && continue
        [ "$way" != boosting ] || "${PYTHON:-false}" -c 'import lightgbm' 2>/dev/null || continue
        [ "$way$rows" != usual10000000 ] || continue
        if [ -z "$made" ]; then
            "$at/shapes" "$shape" $((rows + 20000)) 10 0.2 11 >"$at/all.csv"
            head -n 20000 "$at/all.csv" >"$at/test.csv"
            tail -n "$rows" "$at/all.csv" >"$at/rows.csv"
            rm "$at/all.csv"
            made=1
        fi
        if [ "$way" = boosting ]; then columns=$(boosting); else columns=$(train "$way"); fi
        [ -n "$columns" ] && printf '%-28s %s\n' "$name" "$columns" >>"$out"
    done
done
