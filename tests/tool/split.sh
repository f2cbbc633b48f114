# The split of NumPy: part of tests/tool/tool.sh, which reads this file.

# ---- the split of NumPy: rows of numpy.random.RandomState(SEED).permutation(N) in NumPy 2.4 ----
# split N SEED FRACTION PART ROWS...: does --split make the same model as a mask that has PART, 1
# (test rows) or 0 (training rows), only in ROWS?
split() {
    rows=$1 part=$4
    awk -v n="$1" 'BEGIN {
        for (i = 0; i < n; i++) printf "%d,%.6f,%.6f\n", i % 97, cos(i), sin(i)
    }' >split.csv
    how="--basis coupled --init random --beta 3 --iters 2 --json"
    # shellcheck disable=SC2086 # a list
    train --data split.csv $how --split "numpy:$2" --test-fraction "$3" --model split.odvgp \
        >split.json || return 1
    shift 4
    echo "$@" | awk -v n="$rows" -v part="$part" '{ for (k = 1; k <= NF; k++) named[$k] = 1 }
        END { for (i = 0; i < n; i++) print (i in named) ? part : 1 - part }' >split_mask.csv
    # shellcheck disable=SC2086 # a list
    train --data split.csv $how --test-mask split_mask.csv:0 --model t.odvgp >t.json || return 1
    "$tool" predict --model split.odvgp --data plain.csv --threads 1 >split.txt 2>/dev/null &&
        "$tool" predict --model t.odvgp --data plain.csv --threads 1 >t.txt 2>/dev/null &&
        cmp split.txt t.txt &&
        [ "$(values split.json n_test rmse)" = "$(values t.json n_test rmse)" ]
}
check "split numpy: 10 rows, seed 0" split 10 0 0.3 1 3 0 5
check "split numpy: 10 rows, seed 1" split 10 1 0.3 1 7 8 5
check "split numpy: 10 rows, the last seed" split 10 4294967295 0.3 1 4 2 3
check "split numpy: 200 rows" split 200 0 0.1 1 165 81 188 174 190 39 58 140 88 70 87 36 21 9 103 \
    67 192 117 47 172
check "split numpy: int(n * 0.9) training rows" test "$(value split.json n_train)" -eq 180
check "split numpy: 65537 rows, first for training" split 65537 0 0.9999 0 52973 26836 34921 41002 \
    55376 53976
check "split numpy: 65537 rows, last for testing" split 65537 0 0.0001 1 32103 30403 21243 45891 \
    52416 42613 43567
check "split numpy: 200003 rows" split 200003 7 0.99997 0 194635 98472 166902 13122 11684 174117
fit --data named.csv --split numpy:3 --test-fraction 0.2 $steady --model one.odvgp
fit --data named.csv --split numpy:3 --test-fraction 0.2 $steady --iters 12 --model part.odvgp
fit --data named.csv --resume part.odvgp --model whole.odvgp
check "split numpy: resumed, the same bits" cmp one.odvgp whole.odvgp
check "split numpy: --resume keeps it" refuses "--split numpy:4: the model was made with numpy:3" \
    train --data named.csv --resume part.odvgp --split numpy:4 --model bad.odvgp
train --data named.csv --split numpy:3 --test-fraction 0.2 --basis coupled --warm off --beta 12 \
    --model t.odvgp --json >t.json
"$tool" compare --data named.csv --split numpy:3 --test-fraction 0.2 --bases coupled --beta 12 \
    --iters 30 --quiet --threads 1 --json >t2.json
check "split numpy: compare" test "$(value t.json rmse)" = "$(value t2.json rmse)"
fit --data named.csv --recipe odvgp --split numpy:0 --beta 5 --gamma 5 --iters 1 --model t.odvgp
check "split numpy: of a recipe's fraction" "$tool" info --model t.odvgp
for bad in numpy numpy: numpy:-1 numpy:4294967296 numpy:99999999999999 numpy:1x torch:1 0; do
    check "refused: --split $bad" \
        refuses "--split $bad: must be numpy:SEED, with a SEED from 0 to 4294967295" \
        train --data named.csv --test-fraction 0.1 --split $bad
done
check "refused: --split of nothing" \
    refuses "--split numpy:1: needs --test-fraction" train --data named.csv --split numpy:1
check "refused: --split of a mask" refuses "--split numpy:1: needs --test-fraction" \
    compare --data named.csv --test-mask mask.csv:1 --split numpy:1
awk 'BEGIN { for (i = 0; i < 200; i++) print i % 17 "," i % 11 "," i % 17 - 2 * (i % 11) }' >cycles.csv
c="train --data cycles.csv --basis coupled --beta 9 --iters 3 --test-fraction 0.1 --json"
"$tool" $c --train-rows 50 --model some.odvgp >t.json 2>err.txt
"$tool" $c --model all.odvgp >t2.json 2>err.txt
check "split: --train-rows trains on so many" test "$(values t.json n_train n_test) $(values t2.json n_train n_test)" = "50 20 180 20"
"$tool" $c --train-rows 180 --model many.odvgp >t.json 2>err.txt
for name in all many; do "$tool" predict --model $name.odvgp --data cycles.csv --out $name.csv >t.txt 2>err.txt; done
check "split: --train-rows of all rows changes nothing" cmp all.csv many.csv
"$tool" train --data cycles.csv --resume some.odvgp --iters 5 --model more.odvgp --json >t.json 2>err.txt
check "split: and a model that goes on has the same rows" test "$(values t.json n_train n_test)" = "50 20"
check "refused: --train-rows 0" refuses "--train-rows" train --data cycles.csv --train-rows 0 --model bad.odvgp
"$tool" train --data cycles.csv --memory 1k --basis coupled --iters 3 --train-rows 50 --model bad.odvgp >t.txt 2>err.txt
check "refused: --train-rows of rows on the disk" grep -q "^odvgp: --train-rows: not where rows stay on the disk$" err.txt
