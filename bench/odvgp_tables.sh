#!/bin/sh
# odvgp_tables.sh TOOL DATA OUT   the regression experiments of Salimbeni et al. 2018, tables 3 and 4, with the command-line tool. Writes a
# row to OUT/rows.csv as each run finishes, leaves out what stands there already, and prints the table beside the published figures.
#
#   SETS=...      names of NAME.csv(.gz) and NAME.test_mask.csv(.gz) in DATA          bike elevators keggdirected
#   SPLITS=...    columns of the mask                                                 0
#   MEMBERS=...   a selection of the eight below                                      all
#   STEPS=N       20000          JOBS=N   runs at a time, one thread each             2
#   REPORT=1      the table alone
#
# In bench/published_odvgp.csv the columns Hybrid and Decoupled of table 4 stand where they belong: the paper has them interchanged.
tool=$1 data=$2 out=$3
: "${SETS:=bike elevators keggdirected}" "${SPLITS:=0}" "${STEPS:=20000}" "${JOBS:=2}"
: "${MEMBERS:=ORTHNAT ORTH COUPLEDNAT400 COUPLED400 COUPLEDNAT300 COUPLED300 HYBRID DECOUPLED}"
rows=$out/rows.csv

options() { # of a member
    case $1 in
    COUPLED300) echo "--basis coupled --natgrad off --beta 300" ;;
    COUPLED400) echo "--basis coupled --natgrad off --beta 400" ;;
    COUPLEDNAT300) echo "--basis coupled --natgrad on --beta 300" ;;
    COUPLEDNAT400) echo "--basis coupled --natgrad on --beta 400" ;;
    ORTH) echo "--basis orth --natgrad off" ;;
    ORTHNAT) echo "--basis orth --natgrad on" ;;
    HYBRID) echo "--basis hybrid --natgrad off" ;;
    DECOUPLED) echo "--basis decoupled --natgrad off" ;;
    *) echo "odvgp_tables: no member $1" >&2; exit 1 ;;
    esac
}

if [ "$4" = --one ]; then # set split member
    set=$5 split=$6 member=$7 json=$out/$5.$6.$7.json
    # shellcheck disable=SC2046 # a list
    "$tool" train --data "$out/$set.csv" --test-mask "$out/$set.test_mask.csv:$split" --recipe odvgp --iters "$STEPS" $(options "$member") \
        --threads 1 --quiet --json --trace "$out/$set.$split.$member.csv" --model "$out/$set.$split.$member.odvgp" >"$json" || exit 1
    value() { sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p" "$json"; }
    echo "$set,$split,$member,$STEPS,$(value rmse),$(value loglik),$(value elbo_per_row),$(value noise_variance),$(value seconds)" >>"$rows"
    rm -f "$out/$set.$split.$member.odvgp"
    exit 0
fi

mkdir -p "$out" || exit 1
[ -f "$rows" ] || echo "set,split,member,steps,rmse,loglik,elbo_per_row,noise,seconds" >"$rows"
if [ -z "$REPORT" ]; then
    for set in $SETS; do
        for file in "$set" "$set.test_mask"; do
            [ -f "$out/$file.csv" ] || gzip -dc "$data/$file.csv.gz" >"$out/$file.csv" 2>/dev/null || cp "$data/$file.csv" "$out/$file.csv" ||
                { echo "odvgp_tables: needs DATA=dir, a folder that holds $file.csv or $file.csv.gz" >&2; exit 1; }
        done
    done
    for split in $SPLITS; do
        for set in $SETS; do
            for member in $MEMBERS; do
                grep -q "^$set,$split,$member,$STEPS," "$rows" || echo "$set $split $member"
            done
        done
    done | STEPS=$STEPS xargs -P "$JOBS" -L 1 sh "$0" "$tool" "$data" "$out" --one || exit 1
fi
# Means over splits (also in OUT/table.txt), beside the published ones; "missed" by more than 3 % in RMSE or 0.03 in log-likelihood.
awk -F, -v steps="$STEPS" '
    FNR == 1 { next }
    NR == FNR { loglik[$1, $2] = $3; rmse[$1, $2] = $4; next }
    $4 == steps { key = $1 SUBSEP $3; if (!(key in n)) order[++count] = key; n[key]++; r[key] += $5; l[key] += $6; s[key] += $9 }
    END {
        printf "%-14s %-14s %6s %9s %9s %7s %9s %9s %8s\n", "set", "member", "splits", "rmse", "printed", "ratio", "loglik", "printed", "seconds"
        for (i = 1; i <= count; i++) {
            k = order[i]; split(k, name, SUBSEP)
            printf "%-14s %-14s %6d %9.4f", name[1], name[2], n[k], r[k] / n[k]
            if (k in rmse) {
                ratio = r[k] / n[k] / rmse[k]; gap = l[k] / n[k] - loglik[k]
                missed = (ratio > 1.03 || gap < -0.03) ? "  missed" : ""
                printf " %9.4f %7.3f %9.4f %9.4f %8.0f%s\n", rmse[k], ratio, l[k] / n[k], loglik[k], s[k] / n[k], missed
            } else printf " %9s %7s %9.4f %9s %8.0f\n", "-", "-", l[k] / n[k], "-", s[k] / n[k]
        }
    }' bench/published_odvgp.csv "$rows" >"$out/table.txt" && cat "$out/table.txt"
