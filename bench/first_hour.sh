#!/bin/bash
# first_hour.sh TOOL DATA OUT [SET...]   what the tool reaches with no option but the data: train on
# each regression set, first split of its mask, or a tenth drawn by --seed 0. Appends a row to
# OUT/first_hour.csv as each run finishes, skips what has a row, and prints tables.
#
# WAYS  how to train, separated by blanks: auto (the default), auto:S or cold:S, with --minutes of S
#       seconds; cold is the former default, --basis orth without a warm start
# ONLY_TABLES  when set, runs nothing
#
# THREADS of each run, 2 by default. Two commands with different sets may run at once.
# Seconds: of the clock, and what the tool said beforehand; of the processors, per thread, which
# other programs on the machine stretch less. The last columns are the former default's 5,000 steps,
# or below the second table its 20,000 (bench/papers.md, "defaults"), and whether this run is within
# 1.02 of their RMSE and 0.02 of their log-likelihood, or 1.01 and 0.01.
tool=$1 data=$2 out=$3
shift 3
if ! [ -x "$tool" ] || ! [ -d "$data" ] || [ -z "$out" ]; then
    echo "usage: bash bench/first_hour.sh TOOL DATA OUT [SET...]" >&2
    exit 2
fi
export LC_ALL=C
[ $# -gt 0 ] || set -- bike elevators kin8nm naval pumadyn32nm parkinsons sml airfoil concrete energy \
    power sarcos_test houseelectric_first15k 3droad_first5000 snelson slice_first682 kuka_lwr4 panda \
    keggdirected fried bng_pwlinear
mkdir -p "$out"
rows=$out/first_hour.csv
threads=${THREADS:-2}
TIMEFORMAT="%R %U"

value() { sed -n "s/.*\"$1\": \"\{0,1\}\([-a-z0-9.e+]*\).*/\1/p" "$run.json"; }

# train SET WAY   appends a row
train() {
    local options line key said spent
    case $2 in
    auto) options= ;;
    auto:*) options="--minutes $(awk "BEGIN { print ${2#*:} / 60 }")" ;;
    cold:*) options="--basis orth --warm off --minutes $(awk "BEGIN { print ${2#*:} / 60 }")" ;;
    *) echo "first_hour: WAYS may hold auto, auto:S and cold:S, not '$2'" >&2; return 2 ;;
    esac
    # shellcheck disable=SC2086
    spent=$({ time "$tool" train --data "$run.csv" $split $options --threads "$threads" --json \
        --model "$run.odvgp" >"$run.json" 2>"$run.txt"; } 2>&1) || { cat "$run.txt" >&2; return 1; }
    line=$1,$2,$(value n_train),$(value d)
    for key in basis beta gamma iters rmse loglik coverage coverage_error elbo_per_row; do
        line=$line,$(value $key)
    done
    said=$(sed -n 's/.*; about \([0-9.e+]*\) s, less if.*/\1/p' "$run.txt" | head -n 1)
    echo "$line,$(echo "$spent" | awk -v n="$threads" '{ printf "%.1f,%.1f", $1, $2 / n }'),$said" >>"$rows"
}

# unpack SET   the table, and in $split how its test rows are chosen
unpack() {
    split="--test-fraction 0.1 --seed 0"
    gzip -dc "$data/$1.csv.gz" >"$run.csv" || return
    [ -s "$data/$1.test_mask.csv.gz" ] || return 0
    gzip -dc "$data/$1.test_mask.csv.gz" >"$run.mask.csv" && split="--test-mask $run.mask.csv:0"
}

for set; do
    [ -z "$ONLY_TABLES" ] || break
    run=$out/$set
    split=
    for way in ${WAYS:-auto}; do
        grep -q "^$set,$way," "$rows" 2>/dev/null && continue
        [ -n "$split" ] || unpack "$set" || exit
        train "$set" "$way" || exit
    done
    rm -f "$run.csv" "$run.mask.csv" "$run.odvgp" "$run.json" "$run.txt"
done
awk -F, '
function former(text, rmse, ll,    field, i) {
    split(text, field, " ")
    for (i = 1; i in field; i += 3) { rmse[field[i]] = field[i + 1]; ll[field[i]] = field[i + 2] }
}
function bar(set, by, below, rmse, ll, its_rmse, its_ll) {
    if (!(set in rmse)) return " |  |"
    return sprintf(" %s / %s | %s |", rmse[set], ll[set],
        its_rmse <= by * rmse[set] && its_ll >= ll[set] - below ? "met" : "missed")
}
function results(key) { return (key in rmse) ? sprintf("%.4f / %.3f", rmse[key], ll[key]) : "" }
BEGIN {
    former("bike 0.0519 1.369 elevators 0.3743 -0.439 keggdirected 0.0905 0.989 kin8nm 0.2839 -0.183 " \
        "naval 0.0023 3.854 pumadyn32nm 0.2288 0.035 parkinsons 0.0223 2.019 sml 0.0394 1.721 " \
        "fried 0.2018 0.178", short_rmse, short_ll)
    former("bike 0.0321 1.865 elevators 0.3652 -0.415 keggdirected 0.0903 0.988 kin8nm 0.2880 -0.187 " \
        "naval 0.0024 4.504 pumadyn32nm 0.2165 0.111 parkinsons 0.0094 2.968 sml 0.0329 2.013 " \
        "fried 0.2001 0.190", long_rmse, long_ll)
}
$2 == "auto" {
    auto[++n_auto] = sprintf("| %s | %d | %s %d%s, %d steps | %.1f | %s | %.1f | %.4f | %.3f | " \
        "%.1f +- %.1f %% |", $1, $3, $5, $6, ($7 > 0) ? " + " $7 : "", $8, $14, $16, $15, $9, $10,
        100 * $11, 100 * $12) bar($1, 1.02, 0.02, short_rmse, short_ll, $9, $10)
    next
}
{
    split($2, way, ":")
    if (!($1 in seen_set)) set[++n_sets] = $1
    if (!(way[2] in seen_time)) time[++n_times] = way[2]
    seen_set[$1] = seen_time[way[2]] = 1
    rmse[$1, $2] = $9
    ll[$1, $2] = $10
}
END {
    if (n_auto) {
        print "| set | rows | chosen | seconds | said | per thread | RMSE | log-likelihood | " \
            "in 95 % bands | former default | bar |"
        print "|---|---|---|---|---|---|---|---|---|---|---|"
    }
    for (i = 1; i <= n_auto; i++) print auto[i]
    if (!n_sets) exit
    for (j = 1; j <= n_times; j++) if (time[j] > 60) long = 1
    print "\n| set | seconds | auto | cold | auto / cold |" (long ? " former default, 20,000 steps | bar |" : "")
    print "|---|---|---|---|---|" (long ? "---|---|" : "")
    for (i = 1; i <= n_sets; i++)
        for (j = 1; j <= n_times; j++) {
            a = set[i] SUBSEP "auto:" time[j]
            c = set[i] SUBSEP "cold:" time[j]
            if (!(a in rmse) && !(c in rmse)) continue
            long_bar = !long ? "" : "  |  |"
            if (a in rmse && time[j] > 60) long_bar = bar(set[i], 1.01, 0.01, long_rmse, long_ll, rmse[a], ll[a])
            ratio = (a in rmse) && (c in rmse) ? sprintf("%.3f", rmse[a] / rmse[c]) : ""
            printf("| %s | %s | %s | %s | %s |%s\n", set[i], time[j], results(a), results(c), ratio, long_bar)
        }
}' "$rows"
