# Training: metrics, traces, step sizes, schedules, settings, recipes: part of tests/tool/tool.sh, which reads this file.

# ---- training, metrics, prediction ----
check "train: exit code 0" test $trained -eq 0
check "train: one JSON object in one line" test "$(wc -l <out.json)" -eq 1
check "train: quiet is quiet" test ! -s err.txt
for key in dataset n_train n_test d basis natgrad beta gamma iters seconds ms_per_iter elbo rmse \
    mae loglik rmse_raw loglik_raw; do
    check "train: JSON has $key" test -n "$(value out.json $key)"
done
check "train: sizes" test \
    "$(values out.json n_train n_test d dataset)" = "160 40 2 named"
check "train: defaults shrink to the data" \
    test "$(value out.json beta) $(value out.json gamma) $(value out.json iters)" = "80 80 300"
check "train: learns" holds "$(value out.json rmse) < 0.15 && $(value out.json loglik) > 0"
check "train: raw metrics are in units of the target" holds \
    "$(value out.json rmse_raw) < $(value out.json rmse) &&
        $(value out.json loglik_raw) > $(value out.json loglik)"
check "trace: header" \
    grep -q '^step,seconds,elbo,test_rmse,test_loglik,noise_variance,jitter' trace.csv
check "trace: rows end with the last step" \
    holds "$(tail -n 1 trace.csv | cut -d, -f1) == 300 && $(wc -l <trace.csv) >= 3"
check "plot: a picture" grep -q '</svg>' curves.svg
check "plot: two inputs, two maps" \
    test "$(grep -c '>Mean<\|>Standard deviation of f<\|>Test rows<' curves.svg)" -eq 3
cut -d, -f1,3 named.csv >narrow.csv
train --data narrow.csv --basis coupled --beta 7 --model t.odvgp --plot curves.svg >t.txt
check "plot: one input, its data, the band and the points" test \
    "$(grep -c '<circle' curves.svg) $(grep -c 'stroke-width="2.6"' curves.svg) $(grep -c \
        '<polygon' curves.svg)" = "203 8 1"
train --data text.csv --ignore y --target b --ordinal 'size, of it=low,high' --beta 20 --basis coupled \
    --model t.odvgp --plot curves.svg >t.txt
check "plot: more inputs, three slices and the truth" \
    test "$(grep -c '>Most important input<\|>Second input<\|>Third input<\|>predicted<' curves.svg)" -eq 4
check "no temporary file is left" test -z "$(ls ./*.tmp 2>/dev/null)"

"$tool" predict --model m.odvgp --data named.csv --out pred.csv --json >pred.json 2>err.txt
check "predict: exit code 0" test $? -eq 0
check "predict: header" test "$(head -n 1 pred.csv)" = "mean,sd_f,sd_y,range"
check "predict: a row per row" test "$(wc -l <pred.csv)" -eq 201
check "predict: metrics with the target there" \
    holds "$(value pred.json rmse) < 0.15 && $(value pred.json n_test) == 200"
check "predict: mean near the target, sd_y above sd_f" awk -F, 'NR == FNR { y[FNR] = $3; next }
    FNR > 1 { d = $1 - y[FNR]; s += d * d; if (!($3 > $2 && $2 >= 0)) exit 1 }
    END { exit !(s / 200 < 0.01) }' named.csv pred.csv
"$tool" predict --model m.odvgp --data named.csv >pred2.csv 2>err.txt
check "predict: to stdout the same" cmp pred.csv pred2.csv
check "predict: metrics to stderr then" grep -q rmse err.txt
"$tool" predict --model m.odvgp --data inputs.csv >pred2.csv
check "predict: by position, without target" cmp pred.csv pred2.csv
awk -F, 'BEGIN { OFS = ";" } { print $2, "x", $1 }' named.csv | sed '1s/x/other/' >other.csv
"$tool" predict --model m.odvgp --data - <other.csv >pred2.csv # one block: others may round differently
check "predict: by name, other order, semicolons, from stdin" cmp pred.csv pred2.csv
sed 's/$/\r/' named.csv | { printf '\357\273\277'; cat; printf '\r\n\n'; } >crlf.csv
rm pred2.csv
"$tool" predict --model m.odvgp --data crlf.csv --out pred2.csv >/dev/null
check "predict: CRLF, byte order mark, empty lines at the end" cmp pred.csv pred2.csv
tr , '\t' <plain.csv >tabs.csv
rm pred2.csv
"$tool" predict --model m.odvgp --data tabs.csv --out pred2.csv --threads 3 >/dev/null
check "predict: tabs, three threads" cmp pred.csv pred2.csv
"$tool" predict --model m.odvgp --data hole.csv --missing drop --out pred2.csv >/dev/null
check "predict: a dropped row is NA, the others stay" \
    test "$(sed -n 3p pred2.csv) $(sed -n 4p pred2.csv)" = "NA,NA,NA,NA $(sed -n 4p pred.csv)"
"$tool" predict --model m.odvgp --data named.csv --json >alone.json
check "predict: --json prints only one object" \
    test "$(wc -l <alone.json) $(value alone.json n)" = "1 200"

"$tool" info --model m.odvgp >info.txt
check "info: text" grep -q 'orth, beta 80, gamma 80' info.txt
"$tool" info --model m.odvgp --json >info.json
check "info: JSON" test "$(value info.json iters) $(value info.json n_train)" = "300 160"
train --data text.csv --ordinal 'size, of it=low,high' --levels indicators --iters "$(size 300 100)" --lr 0.03 --model t.odvgp >t.txt
"$tool" info --model t.odvgp --json >t.json
grep -o '"column": [^}]*, "lengthscale":' t.json | sed 's/ "lengthscale"://' >lengths.txt
check "lengthscales: six" test "$(wc -l <lengths.txt) $(sort -u lengths.txt | wc -l)" = "6 6"
check "lengthscales: what the target is made of first" \
    test "$(head -n 3 lengths.txt | tr -d '\n')" = \
    "$(printf '"column": %s' '0, "input": "a",' '3, "input": "b",' \
        '1, "input": "colour", "level": "red",')"
check "lengthscales: in words" \
    grep -q '^lengths0 a [0-9.]*, b [0-9.]*, colour=red [0-9.]*, .*size, of it [0-9.]*' t.txt
awk -F, 'BEGIN { OFS = "," } {
    print NR == 200 ? "blue" : NR % 2 ? "red" : "green", $1, $1 * $2 / (1 + NR), NR % 7, NR % 11,
        NR % 13, NR % 17, $2, $3
}' plain.csv >nine.csv
awk '{ print NR == 200 ? 1 : 0 }' plain.csv >last.csv
train --data nine.csv --test-mask last.csv:0 --levels indicators --iters 100 --warm off --lr 0.03 --model t.odvgp >t.txt
check "lengthscales: more than six, and a level that is only in the test part" \
    grep -q '^lengths0 [17] .*, 3 more, up to [0-9.]*; constant: 0=blue$' t.txt
"$tool" info --model t.odvgp --json >t.json
check "lengthscales: null of such a level" \
    grep -q '{"term": 0, "column": 0, "level": "blue", "lengthscale": null}\]' t.json
train --data plain.csv --iters "$(size 300 60)" --lr 0.03 \
    --kernel 'matern52(ard, dims=1) + constant + rbf(ard, dims=1+0)' --model t.odvgp >t.txt
check "lengthscales: columns in another order" grep -q '^lengths2 0 [0-9.]*, 1 [0-9.e+]*$' t.txt
check "lengthscales: a term of one column" grep -q '^lengths0 1 [0-9.]*$' t.txt
train --data text.csv --kernel 'matern52' --model t.odvgp --json >t.json
check "lengthscales: none without ard" grep -qF '"lengthscales": [],' t.json

# ---- step sizes ----
train --data plain.csv --natgrad-gamma exact --model t.odvgp --json >t.json
check "exact natural steps of gamma: a small learning rate" \
    test "$(value t.json lr) $(value t.json natgrad_step)" = "0.001 0.1-0.01"
train --data plain.csv --natgrad-gamma exact --lr 0.01 --model t.odvgp --json 2>err.txt >t.json
check "exact natural steps of gamma: the rate that was asked for" test "$(value t.json lr)" = 0.01
"$tool" train --data plain.csv --natgrad-gamma exact --lr 0.01 --iters 5 --threads 1 \
    --model t.odvgp >/dev/null 2>err.txt
check "exact natural steps of gamma: a note about a large one" \
    grep -q '^note: exact natural steps .* 0.001 at most' err.txt

# ---- the same bits ----
fit --data named.csv --test-fraction 0.2 $steady --iters 40 --model one.odvgp
fit --data named.csv --test-fraction 0.2 $steady --iters 15 --model half.odvgp
fit --data named.csv --resume half.odvgp --iters 40 --model whole.odvgp
check "resume: the bits of a run without a pause" cmp one.odvgp whole.odvgp
rm whole.odvgp
fit --data named.csv --test-fraction 0.2 --iters 40 --threads 3 --resume half.odvgp \
    --model whole.odvgp
check "resume: options given again, three threads" cmp one.odvgp whole.odvgp
train --data tabs.csv --test-fraction 0.2 --natgrad off --seed 3 $steady --iters 20 \
    --model one.odvgp --json >one.json
fit --data tabs.csv --test-fraction 0.2 --natgrad off --seed 3 $steady --iters 10 --model two.odvgp
fit --data tabs.csv --resume two.odvgp --iters 20 --model two.odvgp
check "resume: only Adam, over the file itself" cmp one.odvgp two.odvgp
check "JSON says natgrad false" test "$(value one.json natgrad)" = false

# ---- schedules ----
natgrad=natgrad:loglinear:1e-4:0.1:20
train --data plain.csv --natgrad-step 0.1 --natgrad-warmup 20:1e-4 --model t.odvgp --json >t.json
train --data plain.csv --schedule $natgrad --model t2.odvgp --json >t2.json
check "schedule: the natural step as by --natgrad-warmup" test \
    "$(value t.json elbo)" = "$(value t2.json elbo)"
fit --data plain.csv --schedule $natgrad --schedule lr:linear:0.1:0.01:25 --model one.odvgp
fit --data plain.csv --schedule $natgrad --schedule lr:linear:0.1:0.01:25 --iters 12 \
    --model part.odvgp
fit --data plain.csv --resume part.odvgp --model whole.odvgp
check "schedule: two of them, resumed in the middle, the same bits" cmp one.odvgp whole.odvgp
train --data plain.csv --schedule lr:loglinear:0.01:0.001:10 --iters 0 --model t.odvgp --json \
    >t.json
check "schedule: no step yet" test "$(value t.json iters)" = 0
fit --data plain.csv --iters 30 --model one.odvgp
fit --data plain.csv --schedule lr:loglinear:0.01:0.001:30 \
    --schedule natgrad:loglinear:0.1:0.01:30 --iters 30 --model whole.odvgp
fit --data plain.csv --iters 30 --natgrad-step 0.1-0.01 --natgrad-warmup 10:0.001 --model t.odvgp
for name in one whole t; do \
    "$tool" predict --model $name.odvgp --data plain.csv --out $name.csv >/dev/null 2>&1; done
check "step sizes: the defaults fall over all steps" cmp one.csv whole.csv
check "step sizes: a warm-up before the fall" sh -c '! cmp -s one.csv t.csv'
"$tool" train --data plain.csv --resume one.odvgp --iters 40 --model t.odvgp >/dev/null 2>err.txt
check "step sizes: says that the fall is over" \
    grep -q "made to fall over 30 steps; it is 0.001 after them" err.txt
check "step sizes: the same ones in other words" train --data plain.csv --resume one.odvgp \
    --iters 30 --lr 1e-2-1e-3 --natgrad-step .1-1e-2 --model t.odvgp
for bad in 0 -0.1 0.1- 0.1-0 0.1-0.2-0.3 1e7 x; do
    check "refused: --lr $bad" refuses "--lr $bad: must be a number above 0" \
        train --data plain.csv --lr $bad
done

# ---- settings that have no option of their own ----
fit --data plain.csv $steady --model one.odvgp
fit --data plain.csv $steady --set optim.adam_beta1=0.9 --set shards=1 --model t.odvgp
for name in one t; do \
    "$tool" predict --model $name.odvgp --data plain.csv --out $name.csv >/dev/null 2>&1; done
check "set: the defaults, the same bits" cmp one.csv t.csv
fit --data plain.csv $steady --set optim.adam_beta1=0.5 --set reproduce.gamma_kl=columns \
    --model one.odvgp
"$tool" predict --model one.odvgp --data plain.csv --out one.csv >/dev/null 2>&1
check "set: other values, other predictions" sh -c '! cmp -s one.csv t.csv'
fit --data plain.csv $steady --set optim.adam_beta1=0.5 --set reproduce.gamma_kl=columns \
    --iters 12 --model part.odvgp
fit --data plain.csv --resume part.odvgp --model whole.odvgp
check "set: resumed, the same bits" cmp one.odvgp whole.odvgp
check "set: --resume keeps it" refuses "--set tile=3: the model was made with optim.adam_beta1=0.5" \
    train --data plain.csv --resume part.odvgp --set tile=3 --model bad.odvgp
check "set: help" sh -c '"$1" train --help | grep -q -e "--set NAME=VALUE"' sh "$tool"
for bad in tile N=5 M=5 kernel=rbf optim.lr=0.1 foo=1 =1 ''; do
    check "refused: --set '$bad'" refuses "--set $bad: must be NAME=VALUE with a NAME of lik.noise" \
        train --data plain.csv --iters 1 --set "$bad"
done
check "refused: --set of a value out of range" \
    refuses "--set: optim.adam_beta1: is out of range" \
    train --data plain.csv --iters 1 --set optim.adam_beta1=1
check "refused: --set of another word" \
    refuses "--set: reproduce.gamma_kl: must be one of: residual columns" \
    compare --data plain.csv --iters 1 --set tile=9 --set reproduce.gamma_kl=rows

# ---- recipes ----
"$tool" train --data plain.csv --recipe odvgp --beta 20 --gamma 30 --iters 20 --model t.odvgp \
    --quiet --json >t.json
check "recipe: its sizes unless given, its test part" \
    test "$(value t.json beta) $(value t.json gamma) $(value t.json n_test)" = "20 30 20"
"$tool" train --data plain.csv --recipe odvgp --beta 20 --gamma 30 --iters 0 --test-fraction 0.1 \
    --model t.odvgp --quiet >/dev/null
"$tool" info --model t.odvgp >info.txt
check "recipe: lengthscales from the number of inputs" grep -q "matern52(0.1414.*rbf(1.414" info.txt
awk -F, '{ print $1 "," $2 "," ($3 > 0.5) }' plain.csv >t.csv
"$tool" train --data t.csv --recipe odvgp --beta 20 --gamma 30 --iters 0 --model t.odvgp --quiet >t.txt
check "recipe: amplitude 5 for classes" \
    grep -q "matern52(0.1414[0-9]*, variance=5) + rbf(1.414[0-9]*, variance=5)" t.txt
"$tool" train --data plain.csv --recipe solve-gp --basis solve --gamma 20 --beta 20 \
    --iters 2epochs --batch 40 --model t.odvgp --quiet --json >t.json
check "recipe: natural gradients off; epochs" \
    test "$(value t.json natgrad) $(value t.json n_train) $(value t.json iters)" = "false 128 6"
"$tool" train --data plain.csv --recipe kobe --basis diagonal --beta 20 --iters 5 --test plain.csv \
    --model t.odvgp --quiet --json >t.json
check "recipe: the natural step of the paper" \
    sh -c '"$1" info --model t.odvgp | grep -q "natgrad-diag projected-mu"' sh "$tool"
check "recipe: a test part of its own" \
    test "$(value t.json n_train) $(value t.json n_test)" = "200 200"
check "recipe: there is no other" refuses "default|odvgp|solve-gp|kobe" \
    train --data plain.csv --recipe paper
check "iters: steps or epochs" refuses "100epochs" train --data plain.csv --iters 3epoch
