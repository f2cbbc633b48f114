#!/bin/bash
# first_hour.sh TOOL DATA OUT [SET...]   what the tool reaches with no option but the data: train on
# each regression set, first split of its mask, or a tenth drawn by --seed 0. Appends a row to
# OUT/first_hour.csv as each run finishes, skips sets that have a row, and prints a table. The last
# columns are the former default's 5,000 steps (bench/papers.md, "defaults, 5,000 steps"), and
# whether this run is within 1.02 of their RMSE and 0.02 of their log-likelihood.
# Seconds: of the clock, and what the tool said beforehand; of the processors, per thread (two
# threads), which other programs on the machine stretch less.
tool=$1 data=$2 out=$3
shift 3
[ -x "$tool" ] && [ -d "$data" ] && [ -n "$out" ] || {
    echo "usage: bash bench/first_hour.sh TOOL DATA OUT [SET...]" >&2
    exit 2
}
export LC_ALL=C
[ $# -gt 0 ] || set -- bike elevators kin8nm naval pumadyn32nm parkinsons sml airfoil concrete energy \
    power sarcos_test houseelectric_first15k 3droad_first5000 snelson slice_first682 kuka_lwr4 panda
mkdir -p "$out"
rows=$out/first_hour.csv
value() { sed -n "s/.*\"$1\": \"\{0,1\}\([-a-z0-9.e+]*\).*/\1/p" "$out/run.json"; }
for set; do
    grep -q "^$set," "$rows" 2>/dev/null && continue
    gzip -dc "$data/$set.csv.gz" >"$out/$set.csv" || exit 1
    split="--test-fraction 0.1 --seed 0"
    if [ -s "$data/$set.test_mask.csv.gz" ]; then
        gzip -dc "$data/$set.test_mask.csv.gz" >"$out/mask.csv"
        split="--test-mask $out/mask.csv:0"
    fi
    TIMEFORMAT="%R %U"
    # shellcheck disable=SC2086
    spent=$({ time "$tool" train --data "$out/$set.csv" $split --json --model "$out/run.odvgp" \
        >"$out/run.json" 2>"$out/run.txt"; } 2>&1) || { cat "$out/run.txt" >&2; exit 1; }
    line=$set,$(value n_train),$(value d)
    for key in basis beta gamma iters rmse loglik coverage coverage_error elbo_per_row; do
        line=$line,$(value $key)
    done
    said=$(sed -n 's/.*; about \([0-9.e+]*\) s, less if.*/\1/p' "$out/run.txt" | head -n 1)
    echo "$line,$(echo "$spent" | awk '{ printf "%.1f,%.1f", $1, $2 / 2 }'),$said" >>"$rows"
    rm -f "$out/$set.csv" "$out/mask.csv" "$out/run.odvgp"
done
awk -F, '
BEGIN {
    split("bike 0.0519 1.369 elevators 0.3743 -0.439 keggdirected 0.0905 0.989 kin8nm 0.2839 -0.183 " \
        "naval 0.0023 3.854 pumadyn32nm 0.2288 0.035 parkinsons 0.0223 2.019 sml 0.0394 1.721 " \
        "fried 0.2018 0.178", old, " ")
    for (i = 1; i in old; i += 3) { rmse[old[i]] = old[i + 1]; ll[old[i]] = old[i + 2] }
    print "| set | rows | chosen | seconds | said | per thread | RMSE | log-likelihood | " \
        "in 95 % bands | former default | bar |"
    print "|---|---|---|---|---|---|---|---|---|---|---|"
}
{
    was = $1 in rmse ? rmse[$1] " / " ll[$1] : ""
    bar = was == "" ? "" : $8 <= 1.02 * rmse[$1] && $9 >= ll[$1] - 0.02 ? "met" : "missed"
    printf("| %s | %d | %s %d%s, %d steps | %.1f | %s | %.1f | %.4f | %.3f | %.1f +- %.1f %% | %s | %s |\n",
        $1, $2, $4, $5, ($6 > 0) ? " + " $6 : "", $7, $13, $15, $14, $8, $9, 100 * $10, 100 * $11, was, bar)
}' "$rows"
