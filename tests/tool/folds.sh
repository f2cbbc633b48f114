# Cross-validation: part of tests/tool/tool.sh, which reads this file.

# ---- folds ----
"$tool" train --data named.csv --basis coupled --beta 12 --iters 30 --folds 5 --quiet --threads 1 >table.txt
check "folds: means and standard errors" awk 'NR == 2 { exit !($1 == "coupled" && $2 == 5 &&
    $3 > 0 && $4 == "+-" && $5 > 0 && $5 < $3 && NF == 12) }' table.txt
compare --data named.csv --bases coupled,orth --folds 3 --json >folds.json
check "folds: JSON has the numbers of each" awk '
    { n = split($0, part, "\"rmse_of_folds\": \\["); split(part[2], v, "[],]"); split($0, m, "\"rmse\": ")
      mean = (v[1] + v[2] + v[3]) / 3; d = m[2] - mean
      exit !(n == 3 && mean > 0 && d * d < 1e-12 && v[1] != v[2]) }' folds.json
printf '1,2\n3,4\n' >two_rows.csv
check "folds: no model" refuses "--folds and --model exclude each other: no model is saved" \
    train --data named.csv --folds 5 --model bad.odvgp
check "refused: one fold" refuses "--folds 1: must be a whole number from 2 to 1000" \
    train --data named.csv --folds 1
check "refused: more folds than rows" refuses "--folds 3: there are only 2 rows" \
    train --data two_rows.csv --folds 3
# ---- folds: all are checked before the first, classes are dealt, columns are the same in all ----
folds() { "$tool" "$@" --threads 1 >t.json 2>err.txt; }
complete() { test "$(grep -o '"folds_done": [0-9]*' t.json | sort -u)" = "\"folds_done\": $1"; }
awk -F, 'BEGIN { OFS = "," } { print $1, $2, (NR == 7 || NR == 8 ? "rare" : $1 > 0 ? "up" : "down") }' plain.csv >rare.csv
for seed in 0 1 $(full && echo 2 3 4 5); do
    folds train --data rare.csv --basis coupled --beta 9 --iters 5 --folds 2 --seed $seed --json
    check "folds: seed $seed, both rows of a class are dealt" test "$? $(grep -c 'all their rows' err.txt)" = "0 0"
    check "folds: seed $seed, no fold is without one" complete 2
done
sed 8d rare.csv >t.csv
folds train --data t.csv --basis coupled --beta 9 --iters 5 --folds 3 --json
check "folds: the only row of a class is in one fold, with a note" sh -c 'grep -q "folds_done\": 3" t.json &&
    test $(grep -c "^note: 1 class(es) have all their rows in fold\|^note: classes without a training row: rare" err.txt) = 1'
sed 's/,up$/,down/' t.csv >t2.csv
for seed in 0 1 $(full && echo 2 3); do
    check "refused: seed $seed, a fold without which one class is left" sh -c '
        ! "$1" train --data t2.csv --basis coupled --beta 9 --iters 5 --folds 3 --seed $2 --threads 1 \
            >t.txt 2>err.txt && test ! -s t.txt && grep -q "has one class only in the training rows" err.txt &&
        ! grep -q "^fold 1" err.txt' sh "$tool" $seed
done
check "refused: and the fold is named" grep -q '^odvgp: --folds 3, without fold [23]: \|^odvgp: t2.csv: ' err.txt
awk -F, 'BEGIN { OFS = "," } { print $1, NR == 50 ? 1 : 0, $2, $3 }' plain.csv >once.csv
folds compare --data once.csv --bases coupled:beta=9,orth --gamma 9 --iters 5 --folds 4 --json \
    --kernel 'rbf(dims=0:3)'
check "folds: a column that is constant without one fold stays" complete 4
check "folds: with the same number of inputs in all" test "$(value t.json d)" = 3
awk -F, 'BEGIN { OFS = "," } { print $1, 5, $2, $3 }' plain.csv >t.csv
folds train --data t.csv --basis coupled --beta 9 --iters 5 --folds 4 --json
check "folds: a column that is constant in all is left out" test "$(value t.json d)" = 2
# Ten distinct rows, of which one stands alone: without its fold there are nine.
awk -F, 'NR <= 9 { for (i = 0; i < 9; i++) print $0 }' plain.csv | sort >t.csv
awk -F, 'NR == 10' plain.csv >>t.csv
check "refused: points that one fold does not have, before the first" sh -c '
    ! "$1" compare --data t.csv --bases coupled:beta=10 --iters 5 --folds 4 --threads 1 >t.txt 2>err.txt &&
    test ! -s t.txt && grep -q "there are only 9 distinct training rows" err.txt &&
    ! grep -q "^fold 1\|^coupled" err.txt' sh "$tool"
folds train --data named.csv --basis coupled --beta 12 --iters 30 --folds 3 --json
mv t.json want.json
"$tool" train --data - --basis coupled --beta 12 --iters 30 --folds 3 --json --threads 1 <named.csv >t.json 2>err.txt
check "folds: standard input, the same numbers" test "$(value t.json rmse_se)" = "$(value want.json rmse_se)"

# ---- folds that do not end are no results ----
for format in '' --json; do
    full || [ -n "$format" ] || continue
    # shellcheck disable=SC2086
    interrupted '^fold 2/4' t.txt train --data named.csv --basis coupled --beta 9 --iters 100000000 \
        --minutes "$(size 0.02 0.015)" --folds 4 --threads 1 $format
    check "folds: interrupted, 130 ($format)" test $? -eq 130
    why='fold 3: stopped by a signal after [0-9]* steps'
    if [ -z "$format" ]; then
        check "folds: interrupted, two of four" grep -q "^coupled  *2/4  *0.*  incomplete: $why\$" t.txt
    else
        check "folds: interrupted, two of four, JSON" grep -q "\"folds\": 4,.*\"folds_done\": 2, \"rmse\": 0.*\
\"rmse_of_folds\": \[0[0-9.]*, 0[0-9.]*, null, null\].*\"error\": \"$why\"" t.txt
    fi
done
folds train --data named.csv --layers 'coupled:dim=2; coupled' --warm 50:5 --iters 5 --folds 2
check "folds: where the program ends, too" test "$? $(sed -n 's/^coupled  *0.2  *-  *-  *-  *-  incomplete: fold 1: //p' \
    t.json)" = "2 $(sed -n 's/^odvgp: \(--warm\)/\1/p' err.txt)"
