# Kinds of columns, several targets: part of tests/tool/tool.sh, which reads this file.

# ---- kinds of columns ----
train --data text.csv --ordinal 'size, of it=low,high' --model text.odvgp --json --iters "$(size 200 100)" \
    --lr 0.03 --natgrad-step 0.1 --test-fraction 0.2 >text.json
check "text: one input per level, one for an ordinal" test "$(value text.json d)" = 6
check "text: learns" holds "$(value text.json rmse) < 0.4"
"$tool" predict --model text.odvgp --data text.csv --out pred.csv >/dev/null
awk -F, 'BEGIN { OFS = "," } { print $5, $4, "\"" $2 "\"", $1, $3 }' rows |
    { echo 'y,b,colour,a,"size, of it"'; cat; } >shuffled.csv
"$tool" predict --model text.odvgp --data shuffled.csv --out pred2.csv >/dev/null
check "text: columns by name" cmp pred.csv pred2.csv
# Numbers and texts in one column: 1, 2 and 3+ by the first input, in three orders of the rows.
awk -F, 'BEGIN { OFS = "," } { print $1, $2, $3, $1 < -0.3 ? 1 : $1 < 0.3 ? 2 : "3+" }' plain.csv |
    sort -t, -k4 >graded
{ echo "a,b,y,grade"; cat graded; } >grade.csv
{ echo "a,b,y,grade"; sort -t, -k4 -r graded; } >grade2.csv
"$tool" train --data grade.csv --ignore y --iters "$(size 300 40)" --lr 0.03 --model grade.odvgp --json \
    >grade.json 2>err.txt
check "numbers and texts: a note" grep -q "^note: line [0-9]*, column 3 (grade): '3+' is text, so the \
numbers of this column are levels, too$" err.txt
check "numbers and texts: classes" grep -q "column 3 (grade) has 3 classes" err.txt
"$tool" predict --model grade.odvgp --data grade.csv --out pred.csv --json >t.json
check "numbers and texts: labels" test "$(head -n 1 pred.csv)" = "label,p_1,p_2,p_3+,range"
check "numbers and texts: learns" holds "$(value t.json accuracy) > 0.9"
for file in grade grade2; do
    train --data $file.csv --target y --levels shared --iters 2 --model $file.odvgp --json >$file.json
done
check "numbers and texts: inputs" test "$(values grade.json d) $(values grade2.json d)" = "5 5"
grep -v '3+' grade.csv >t.csv
check "numbers and texts: predictions for the numbers alone" \
    "$tool" predict --model grade2.odvgp --data t.csv --quiet
sed '2s/[^,]*$/typo/' grade.csv | grep -v '3+' >t.csv
check "numbers and texts: a text only once is a misfit" refuses \
    "t.csv: line 2, column 3 (grade): 'typo' is not a number" train --data t.csv --model t.odvgp
for line in 2 9; do
    awk -F, -v line=$line 'BEGIN { OFS = "," } NR >= line && NR < line + 9 { $1 = "abc" } { print }' \
        named.csv >t.csv
    check "numbers and texts: a text from line $line, among many numbers" refuses \
        "t.csv: line $line, column 0 (a): 'abc' is not a number" train --data t.csv --model t.odvgp
done
check "numbers and texts: no numbers for --likelihood gaussian" refuses \
    "column 3 (grade): '3+' is text, and the target must be numbers" \
    train --data grade.csv --likelihood gaussian --model t.odvgp
train --data two.csv --target 2-3 --model two.odvgp --json --test-fraction 0.1 >two.json
check "two targets: metrics of each in training" test "$(grep -o '"n_test": [0-9]*, "rmse"' two.json |
    wc -l)" -eq 2
check "two targets: metrics are averages" \
    holds "$(value two.json p) == 2 && $(value two.json rmse) > 0"
"$tool" predict --model two.odvgp --data inputs.csv >pred2.csv
check "two targets: six columns" \
    test "$(head -n 1 pred2.csv)" = "mean_0,sd_f_0,sd_y_0,mean_1,sd_f_1,sd_y_1,range"
{ echo "a,b,y,z"; cat two.csv; } >two_named.csv
fit --data two_named.csv --target y,z --model t.odvgp
train --data two_named.csv --target y,z --model t.odvgp --plot curves.svg >t.txt
train --data two_named.csv --target y,z --test-fraction 0.2 --model t2.odvgp >t.txt
check "two targets: a line of metrics for each in training" sh -c '
    grep -q "means of 2 targets" t.txt && grep -q "^ *y: rmse .*its own units" t.txt'
check "two targets: the picture names the first" test "$(grep -c \
    '>Mean of y<\|>Standard deviation of f, y<\|>true y<\|>predicted y<' curves.svg)" -eq 4
"$tool" predict --model t.odvgp --data two_named.csv --quiet --interval 0.9 >pred2.csv
"$tool" predict --model t.odvgp --data two_named.csv >t.csv 2>t.txt
check "two targets: a line of metrics for each" sh -c 'grep -q "means of 2 targets" t.txt &&
    grep -q "^ *y: rmse .*its own units" t.txt && grep -q "^ *z: rmse" t.txt'
"$tool" sample --model t.odvgp --data two_named.csv --samples 2 --quiet >t.csv
check "two targets: samples by name" test "$(head -n 1 t.csv)" = \
    "sample_0_y,sample_0_z,sample_1_y,sample_1_z"
check "two targets: columns by name" test "$(head -n 1 pred2.csv)" = \
    "mean_y,sd_f_y,sd_y_y,lower_y,upper_y,mean_z,sd_f_z,sd_y_z,lower_z,upper_z,range"
# Three targets that follow one function, with noise, and their mixture.
awk 'BEGIN { srand(5); for (i = 0; i < 300; i++) { x = 6 * rand(); f = sin(x); e = 0
    for (k = 0; k < 3; k++) y[k] = f * (k + 1) + rand() + rand() + rand() - 1.5
    printf "%.6f,%.6f,%.6f,%.6f\n", x, y[0], y[1], y[2] } }' >lmc.csv
cut -d, -f1 lmc.csv >lmc_inputs.csv
train --data lmc.csv --target 1-3 --outputs lmc:1 --model lmc.odvgp --json --iters "$(size 300 100)" \
    --test-fraction 0.3 >lmc.json
check "mixtures: noise of each target" grep -q '"likelihood_parameters": {"noise_variance": \[[^,]*, [^,]*, [^,]*\], "mixing"' \
    lmc.json
"$tool" info --model lmc.odvgp >t.txt
check "mixtures: in words" test "$(grep -c '^noise    variance [0-9.]*, [0-9.]*, [0-9.]*$
^params   mixing [-0-9.]*, [-0-9.]*, [-0-9.]* (standardised targets)$' t.txt)" = 2
check "mixtures: learn" holds "$(value lmc.json p) == 3 && $(value lmc.json rmse) < 0.6"
check "mixtures: auto takes a basis with q" test "$(value lmc.json basis)" != sgpr
"$tool" predict --model lmc.odvgp --data lmc_inputs.csv >lmc_pred.csv
check "mixtures: a forecast for each target" test "$(head -n 1 lmc_pred.csv)" = \
    "mean_0,sd_f_0,sd_y_0,mean_1,sd_f_1,sd_y_1,mean_2,sd_f_2,sd_y_2,range"
check "mixtures: one function, to its scale" holds "$(awk -F, 'NR > 1 { x += $1; y += $7
    xx += $1 * $1; yy += $7 * $7; xy += $1 * $7; n++ }
    END { printf "%.6f", (n * xy - x * y) / sqrt((n * xx - x * x) * (n * yy - y * y)) }' \
    lmc_pred.csv) > 0.9999"
"$tool" sample --model lmc.odvgp --data lmc_inputs.csv --samples 2 >lmc_samples.csv
check "mixtures: samples of each target" test "$(head -n 1 lmc_samples.csv)" = \
    "sample_0_0,sample_0_1,sample_0_2,sample_1_0,sample_1_1,sample_1_2"
fit --data lmc.csv --target 1-3 --outputs lmc:1 --model lmc.odvgp --iters "$(size 310 110)" --resume lmc.odvgp
check "mixtures: resume" test $? -eq 0
fit --data lmc.csv --target 1-3 --outputs lmc:1 --likelihood studentt --model heavy.odvgp --iters 20
head -n 40 lmc_inputs.csv >t.csv
"$tool" predict --model heavy.odvgp --data t.csv --interval 0.9 >lmc_pred.csv
check "mixtures: limits of each target" holds "$(wc -l <lmc_pred.csv) == 41 &&
    $(awk -F, 'NR == 2 { print NF }' lmc_pred.csv) == 13"
for what in lmc:4 lmc:0 lmc mixed; do
    check "refused: --outputs $what" refuses "--outputs $what: " \
        train --data lmc.csv --target 1-3 --outputs $what --model t.odvgp
done
check "refused: mixtures without q" refuses "--outputs lmc:1: --basis sgpr has no q" \
    train --data lmc.csv --target 1-3 --outputs lmc:1 --basis sgpr --model t.odvgp
check "refused: mixtures of classes" refuses "--outputs lmc:1: the likelihood softmax takes no" \
    train --data text.csv --target colour --outputs lmc:1 --model t.odvgp
train --data lmc.csv --target 1-3 --model t.odvgp --json >shared.json
check "shared kernel: a noise for each target" \
    grep -q '"noise_variance": \[[0-9.e-]*, [0-9.e-]*, [0-9.e-]*\]' shared.json
# Two targets, each of one input: lengthscales tell them apart only with own kernels.
awk 'BEGIN { srand(6); for (i = 0; i < 200; i++) { x = 6 * rand(); z = 6 * rand()
    printf "%.6f,%.6f,%.6f,%.6f\n", x, z, sin(x) + 0.1 * rand(), cos(z) + 0.1 * rand() } }' >own.csv
cut -d, -f1,2 own.csv >own_inputs.csv
train --data own.csv --target 2-3 --outputs independent --model own.odvgp --json --iters "$(size 300 100)" \
    --lr 0.03 --test-fraction 0.2 >own.json
check "own kernels: learn" holds "$(value own.json p) == 2 && $(value own.json rmse) < 0.2"
check "own kernels: lengthscales of each function" \
    test "$(grep -o '"function": [0-9]*, "column": [0-9]*' own.json | tr -cd '0-9\n ' | tr -s ' \n' ' ')" = \
    " 0 0 0 1 1 1 1 0 "
check "own kernels: in words" holds "$("$tool" info --model own.odvgp |
    grep -c '^unit0.lengths0 0 [0-9.]*, 1 \|^unit1.lengths0 1 [0-9.]*, 0 ') == 2"
"$tool" predict --model own.odvgp --data own_inputs.csv >own_pred.csv
check "own kernels: a forecast for each target" test "$(head -n 1 own_pred.csv)" = \
    "mean_0,sd_f_0,sd_y_0,mean_1,sd_f_1,sd_y_1,range"
fit --data own.csv --target 2-3 --outputs independent --model own.odvgp --iters "$(size 310 110)" \
    --test-fraction 0.2 --resume own.odvgp
check "own kernels: resume" test $? -eq 0
fit --data own.csv --target 2-3 --outputs independent --model t.odvgp --minutes 0.02 --plot own.svg
check "own kernels: auto" test $? -eq 0
check "refused: own kernels without q" refuses "--outputs independent: --basis sgpr has no q" \
    train --data own.csv --target 2-3 --outputs independent --basis sgpr --model t.odvgp
train --data named.csv --target a --features b,y --model t.odvgp --json >t.json
check "target and features by name; no test part: null" \
    test "$(value t.json d) $(value t.json rmse)" = "2 null"
train --data named.csv --target 0 --ignore 1 --model t.odvgp --json >t.json
check "target and ignored column by index" test "$(value t.json d)" = 1
sed '7s/,[^,]*,/,,/; 9s/[^,]*$/?/' named.csv >holes.csv
train --data holes.csv --missing drop --model t.odvgp --json >t.json
check "missing: rows dropped" test "$(value t.json n_train)" = 198
train --data named.csv --test named.csv --model t.odvgp --json >t.json
check "test rows from a file" test "$(value t.json n_train) $(value t.json n_test)" = "200 200"
train --data plain.csv --basis coupled --kernel 'matern32(0.5, ard) * rbf(dims=1) + matern12' \
    --mean linear --whiten off --natgrad off \
    --noise 0.05 --gamma-coords plain --positive exp --q-init identity --beta 12 --batch 50 \
        --isa c --json --model t.odvgp >t.json
check "many options at once" \
    test "$(value t.json basis) $(value t.json beta) $(value t.json gamma)" = "coupled 12 0"
train --data named.csv --basis coupled --kernel 'additive(ard) + matern52(ard=0:2)' --model t.odvgp \
    --json >t.json
check "a kernel by columns" grep -q '"kernel": "additive([^)]*, ard) + matern52([^)]*, ard=0:2)"' t.json
"$tool" predict --model t.odvgp --data named.csv --out pred.csv 2>err.txt
check "a kernel by columns: predict" test $? -eq 0
train --data plain.csv --natgrad-warmup 10:1e-4:linear --update natgrad-first \
    --freeze 'Z_beta,kernel.*' --model t.odvgp --json >t.json
check "warm-up, order of updates, frozen parameters" test "$(value t.json iters)" = 30
