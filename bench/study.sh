#!/bin/sh
# study.sh STUDY TOOL DATA OUT [CURVES]   many runs of the command-line tool: members of the family,
# on data sets, on splits of them. Appends a row to OUT/rows.csv as each run finishes, skips runs
# that have a row, and prints a table of means over splits (also OUT/table.txt). With CURVES
# (build/curves) it draws OUT/curves.svg from the first split.
#
# bench/studies/STUDY.txt says what is run, one thing a line; bench/studies/STUDY.csv, if it exists,
# has the published figures.
#   sets NAME...           NAME.csv or NAME.csv.gz in DATA
#   splits K...            test rows: column K of NAME.test_mask.csv(.gz) if the study has a line
#                          `mask` and the file exists, else drawn by --seed K. numpy:K: drawn by
#                          --split numpy:K
#   mask
#   last NAME N            the last N rows of this set are the test rows; it has no header
#   fraction F             of rows to draw, if --recipe does not set it
#   steps N                the value of --iters, for members without their own
#   common OPTIONS         of all members
#   member NAME OPTIONS    a row of the table
#   also NAME OPTIONS      the same, only where MEMBERS names it
#   classes                the last column holds classes: Bernoulli for two, robust-max for more
#   metric accuracy        in place of rmse; it is better if larger
#   ranks                  means and ranks of the members at the end, over the sets that all have
# In the environment SETS, SPLITS, MEMBERS and STEPS replace these; JOBS=2 is the number of runs at
# a time, of one thread each, and REPORT=1 only prints the table.
# The table never mixes splits of NumPy with others: SPLITS="numpy:0 numpy:1" has means of its own.
study=$1 tool=$2 data=$3 out=$4 curves=$5
export LC_ALL=C
spec=bench/studies/$study.txt rows=$4/rows.csv
fail() { echo "study: $*" >&2; exit 1; }
[ -f "$spec" ] || fail "there is no $spec"
said() { sed -n "s/^$1  *//p" "$spec"; } # all that follows this word
: "${SETS:=$(said sets)}" "${SPLITS:=$(said splits)}" "${STEPS:=$(said steps)}" "${JOBS:=2}"
: "${MEMBERS:=$(said member | cut -d' ' -f1 | tr '\n' ' ')}"
metric=$(said metric)
: "${metric:=rmse}"
options_of() { said "member $1" && said "also $1"; }
# The steps of a member in rows.csv; -: its own.
steps_of() { case $(options_of "$1") in *--iters*) echo - ;; *) echo "$STEPS" ;; esac; }

if [ "$5" = --one ]; then # set split member
    set=$6 split=$7 member=$8 name=$out/$6.$7.$8 steps=$(steps_of "$8") fraction=$(said fraction)
    { said member && said also; } | cut -d' ' -f1 | grep -Fqx -e "$member" ||
        fail "$spec has no member $member"
    if [ "${split#numpy:}" != "$split" ]; then
        set -- --split "$split" --seed "${split#numpy:}" ${fraction:+--test-fraction "$fraction"}
    elif [ -s "$out/$set.test_mask.csv" ]; then
        set -- --test-mask "$out/$set.test_mask.csv:$split"
    else
        set -- --seed "$split" ${fraction:+--test-fraction "$fraction"}
    fi
    [ "$steps" = - ] || set -- --iters "$steps" "$@"
    if grep -q '^classes' "$spec"; then
        [ "$(sed 's/.*,//' "$out/$set.csv" | sort -u | wc -l)" -gt 2 ] &&
            set -- --likelihood robustmax "$@" || set -- --likelihood bernoulli "$@"
    fi
    # shellcheck disable=SC2046 # lists
    "$tool" train --data "$out/$set.csv" $(said common) "$@" $(options_of "$member") --threads 1 \
        --quiet --json --trace "$name.csv" --model "$name.odvgp" >"$name.json" || exit 1
    rm -f "$name.odvgp"
    value() { sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p" "$name.json"; }
    grep -q '"stopped": "signal"' "$name.json" && fail "$name was interrupted"
    if [ -z "$(value "$metric")" ] || [ -z "$(value loglik)" ]; then
        fail "$name has no test metrics"
    fi
    line=$set,$split,$member,$steps
    for key in $metric loglik elbo_per_row noise_variance seconds; do line=$line,$(value $key); done
    echo "$line" >>"$rows"
    exit 0
fi

take() { # a file out of DATA, if it is not here yet
    [ -s "$out/$1" ] && return
    { gzip -dc "$data/$1.gz" >"$out/$1.part" 2>/dev/null ||
        cp "$data/$1" "$out/$1.part" 2>/dev/null; } && mv "$out/$1.part" "$out/$1" && return
    rm -f "$out/$1.part"
    false
}
missing() { # runs that have no row yet
    for split in $SPLITS; do
        for set in $SETS; do
            for member in $MEMBERS; do
                grep -Fq "$set,$split,$member,$(steps_of "$member")," "$rows" ||
                    echo "$set $split $member"
            done
        done
    done
}
mkdir -p "$out" || exit 1
[ -f "$rows" ] || echo "set,split,member,steps,$metric,loglik,elbo_per_row,noise,seconds" >"$rows"
if [ -z "$REPORT" ] && [ -n "$(missing)" ]; then
    for set in $SETS; do
        take "$set.csv" || fail "needs DATA=dir, a folder that holds $set.csv or $set.csv.gz"
        if grep -q '^mask' "$spec"; then take "$set.test_mask.csv"; fi
        held=$(said "last $set")
        [ -z "$held" ] || awk -v held="$held" '{ n++ } END {
            for (i = 1; i <= n; i++) print (i > n - held ? 1 : 0) }' "$out/$set.csv" \
            >"$out/$set.test_mask.csv"
    done
    missing |
        STEPS=$STEPS xargs -P "$JOBS" -L 1 sh "$0" "$study" "$tool" "$data" "$out" --one || exit 1
fi
[ "$(wc -l <"$rows")" -gt 1 ] || fail "no run has ended yet"
# The standard error is that of our mean over splits. "missed": worse than printed by more than
# that, or by more than 3 % (log-likelihood 0.03). Accuracies "differ" by more than 0.02
# (log-likelihood 0.05).
published=bench/studies/$study.csv
[ -f "$published" ] || published=/dev/null
awk -F, -v steps="$STEPS" -v published="$published" -v sets="$SETS" -v members="$MEMBERS" \
    -v splits="$SPLITS" -v metric="$metric" -v ranks="$(grep -c '^ranks' "$spec")" '
    function error_of(sum, squares, n) {
        rest = squares - sum * sum / n
        return n > 1 ? sqrt((rest > 0 ? rest : 0) / (n - 1) / n) : 0
    }
    # The mean over the sets that all members have, of `from`, and of ranks; ties share theirs.
    function mean_rank(from, j, larger,    i, q, x, y, below, same) {
        mean = rank = 0
        for (i = 1; i <= shared; i++) {
            x = from[common[i], name[j]]
            below = same = 0
            for (q = 1; q <= count; q++) {
                y = from[common[i], name[q]]
                below += larger ? y > x : y < x
                same += y == x
            }
            mean += x / shared
            rank += (below + (same + 1) / 2) / shared
        }
    }
    function mean_text(from, j, larger,    i, q) {
        for (i = 1; i <= shared; i++)
            for (q = 1; q <= count; q++)
                if (!((common[i], name[q]) in from)) return sprintf("%9s %6s", "-", "-")
        mean_rank(from, j, larger)
        return sprintf("%9.4f %6.2f", mean, rank)
    }
    function error_text(e) { return e > 0 ? sprintf("%.4f", e) : "-" }
    BEGIN {
        while ((getline line < published) > 0)
            if (split(line, f, ",") >= 4 && f[1] != "set") {
                loglik[f[1], f[2]] = f[3]
                rmse[f[1], f[2]] = f[4]
            }
        m = split(sets, set_of, " "); count = split(members, name, " ")
    }
    FNR > 1 && ($4 == steps || $4 == "-") && ($2 ~ /^numpy:/) == (splits ~ /^ *numpy:/) {
        key = $1 SUBSEP $3
        n[key]++; r[key] += $5; rr[key] += $5 * $5; l[key] += $6; ll[key] += $6 * $6
        e[key] += $7; s[key] += $9
    }
    END {
        print steps " steps"
        printf "%-14s %-20s %6s %8s %7s %8s %6s %9s %7s %8s %10s %8s\n", "set", "member",
            "splits", metric, "error", "printed", "ratio", "loglik", "error", "printed", "elbo/row",
            "seconds"
        for (i = 1; i <= m; i++)
            for (j = 1; j <= count; j++) {
                k = set_of[i] SUBSEP name[j]
                if (!(k in n)) continue
                R = r[k] / n[k]; eR = error_of(r[k], rr[k], n[k])
                L = l[k] / n[k]; eL = error_of(l[k], ll[k], n[k])
                printed_r = printed_l = ratio = "-"; missed = ""
                if (k in rmse) {
                    printed_r = sprintf("%.4f", rmse[k])
                    printed_l = sprintf("%.4f", loglik[k])
                    ratio = sprintf("%.3f", R / rmse[k])
                    if (metric == "accuracy") {
                        if ((R - rmse[k]) ^ 2 > 0.0004) missed = missed " accuracy"
                        if ((L - loglik[k]) ^ 2 > 0.0025) missed = missed " loglik"
                    } else if (R > 1.03 * rmse[k] || (eR && R - rmse[k] > eR))
                        missed = missed " rmse"
                    if (metric == "rmse" && (L < loglik[k] - 0.03 || (eL && loglik[k] - L > eL)))
                        missed = missed " loglik"
                    if (missed) missed = (metric == "rmse" ? "  missed:" : "  differ:") missed
                }
                printf "%-14s %-20s %6d %8.4f %7s %8s %6s %9.4f %7s %8s %10.4f %8.0f%s\n",
                    set_of[i], name[j], n[k], R, error_text(eR), printed_r, ratio, L,
                    error_text(eL), printed_l, e[k] / n[k], s[k] / n[k], missed
                R_of[k] = R; L_of[k] = L
            }
        for (i = 1; i <= m && ranks; i++) {
            for (j = 1; j <= count; j++) if (!((set_of[i], name[j]) in R_of)) break
            if (j > count) common[++shared] = set_of[i]
        }
        if (!shared) exit
        printf "\nmeans over %d sets, ranks (1 is best); printed: of these sets and members\n" \
            "%-20s %9s %6s %9s %6s %9s %6s %9s %6s\n", shared, "member", metric, "rank", "printed",
            "rank", "loglik", "rank", "printed", "rank"
        for (j = 1; j <= count; j++)
            printf "%-20s %s %s %s %s\n", name[j], mean_text(R_of, j, metric == "accuracy"),
                mean_text(rmse, j, metric == "accuracy"), mean_text(L_of, j, 1),
                mean_text(loglik, j, 1)
    }' "$rows" >"$out/table.txt" && cat "$out/table.txt"
[ -n "$curves" ] || exit 0
set -- "$out/curves.svg" ""
for set in $SETS; do
    for panel in "step test_$metric" "seconds test_loglik"; do
        # shellcheck disable=SC2086 # two words
        set -- "$@" -- "$set" $panel
        for member in $MEMBERS; do set -- "$@" "$member=$out/$set.${SPLITS%% *}.$member.csv"; done
    done
done
"$curves" "$@" && echo "$out/curves.svg"
