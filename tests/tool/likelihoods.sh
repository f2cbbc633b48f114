# Likelihoods: part of tests/tool/tool.sh, which reads this file.

# ---- likelihoods ----
awk -F, 'BEGIN { OFS = ","; print "a,b,two,kind,grade,count,above" } {
    kind = $2 > 0.5 ? "\"big, one\"" : $1 > 0 ? "mid" : "low"
    grade = $1 > 0.3 ? "high" : $1 > -0.3 ? "fair" : "poor"
    print $1, $2, ($1 * $2 > 0 ? 5 : 3), kind, grade, int(exp(1 + $1)), exp($3)
}' plain.csv >kinds.csv
steps=$(size 200 100)
few=$(full || echo --set lik.nodes=6) # fewer nodes for classes in the short form
k="--data kinds.csv --features a,b --iters $steps --beta 30 --gamma 40 --test-fraction 0.25"
fit $k --target two --model two-classes.odvgp
"$tool" info two-classes.odvgp --json >t.json
check "classes: two values are classes" grep -q '"likelihood": "bernoulli", "classes": \["3", "5"\]' \
    t.json
"$tool" train $k --target two --model t.odvgp >t.txt 2>err.txt
check "classes: said in one line, with the remedy" grep -q \
    '^note: column 2 (two) has 2 classes, so .* is bernoulli; --likelihood gaussian' err.txt
check "classes: accuracy and a confusion matrix" sh -c 'grep -q "^test  *accuracy 0.[89].*15 bins" \
    t.txt && grep -q "^confusion: rows are true" t.txt'
awk -F, 'NR % 3 { print $1 "," $2 "," (NR % 2 ? "yes" : "no") }' plain.csv >coin.csv
"$tool" train --data coin.csv --basis coupled --beta 9 --iters 60 --model t.odvgp >t.txt 2>err.txt
check "classes: that nothing has been learned is said" grep -q \
    '^note: nothing has been learned: elbo per row, -0.[67][0-9]*, is not above -0.6931, ' err.txt
check "classes: but not of those that have" sh -c '! "$1" train --data kinds.csv --features a,b --target two --iters 60 \
    --model t.odvgp 2>&1 | grep -q "nothing has been learned"' sh "$tool"
train $k --target two --likelihood gaussian --model t.odvgp --json >t.json
check "classes: --likelihood gaussian learns numbers" \
    test "$(value t.json likelihood) $(value t.json accuracy)" = "gaussian "
predict two-classes.odvgp kinds.csv
check "predict: label and probabilities" test "$(head -n 1 t.txt)" = "label,p_3,p_5,range"
check "predict: they sum to 1, and the label is the larger one" awk -F, 'NR > 1 &&
    (($2 + $3 - 1) ^ 2 > 1e-12 || $1 != ($3 >= 0.5 ? 5 : 3)) { exit 1 }' t.txt
"$tool" predict --model two-classes.odvgp --data kinds.csv --threshold 0.9 2>/dev/null >t.txt
check "predict: --threshold" awk -F, 'NR > 1 && $1 != ($3 >= 0.9 ? 5 : 3) { exit 1 }' t.txt
head -n 196 kinds.csv >thirteens.csv
"$tool" predict --model two-classes.odvgp --data thirteens.csv --threshold 0.9 --json --out t.csv >t.json
check "predict: ECE is of the printed label's probability, over 15 bins of 13 rows" holds \
    "($(value t.json ece) - $(awk -F, '
    FNR == 1 { file++; next }
    file == 1 { y[FNR] = $3; next }
    { p = $1 == 3 ? $2 : $3; printf "%.17g %d\n", p, $1 == y[FNR] }' thirteens.csv t.csv | sort -g |
    awk '{ s += $1 - $2 } NR % 13 == 0 { e += s < 0 ? -s : s; s = 0 }
        END { printf "%.12f", e / NR }')) ^ 2 < 1e-12"
# Of one probability p for five rows, of which those with the label 3 are right: |p - 3/5|.
{ echo "a,b,two"; printf '%s\n' 0,0,3 0,0,5 0,0,3 0,0,5 0,0,3; } >same-place.csv
"$tool" predict --model two-classes.odvgp --data same-place.csv --threshold 1 --json --out t.csv >t.json
p=$(sed -n 's/^3,\([^,]*\),.*/\1/p' t.csv | head -n 1)
check "predict: ECE of rows with one probability, by hand" holds \
    "($(value t.json ece) - sqrt(($p - 3 / 5) ^ 2)) ^ 2 < 1e-12"
{ cat thirteens.csv; sed 1d thirteens.csv; } >twice.csv
"$tool" predict --model two-classes.odvgp --data thirteens.csv --json --out t.csv >t.json
"$tool" predict --model two-classes.odvgp --data twice.csv --json --out t.csv >t2.json
check "predict: all rows twice have the same ECE" holds \
    "($(value t.json ece) - $(value t2.json ece)) ^ 2 < 1e-18"
"$tool" train $k --target kind --set lik.nodes=6 --threads 1 --calibrate on --seed 3 --model calibrated.odvgp --json >t.json 2>err.txt
check "calibrate: rows held out are more likely, and given back" awk '/^note: f.s mean is multiplied/ {
        gsub("[,;:]", ""); found = $7 > 0 && $11 > 0 && $12 == 15 && $19 >= $21 }
    END { exit !found }' err.txt
check "calibrate: all rows are trained on, a tenth more steps" test \
    "$(values t.json n_train n_validation iters)" = "150  $((steps + steps / 10))"
"$tool" info --model calibrated.odvgp >t.txt
check "calibrate: the file knows steps and rows" sh -c 'grep -q "^steps *$1" t.txt &&
    grep -q "150 training rows" t.txt' sh $((steps + steps / 10))
fit $k --target kind --set lik.nodes=6 --calibrate on --seed 3 --model again.odvgp
check "calibrate: the same bits again" cmp calibrated.odvgp again.odvgp
"$tool" train $k --target kind --set lik.nodes=6 --class-weights balanced --quiet --calibrate on --json --model t.odvgp \
    >t.json
check "calibrate: with weights of classes" grep -q '"scale_f": .[0-9.]*, [0-9.]*]' t.json
if full; then
    "$tool" train --data kinds.csv --features a,b --iters 30 --beta 12 --gamma 0 --target kind --quiet \
        --threads 1 --set lik.nodes=6 --folds 2 --calibrate on --json >t2.json
    check "calibrate: --folds test what it leaves" holds "$(value t2.json folds_done) == 2 &&
        $(value t2.json loglik) < 0"
fi
check "calibrate: only for classes" refuses "only for classes" train --data named.csv --calibrate on $m
check "calibrate: not with --resume" refuses "exclude each other" train --data kinds.csv \
    --resume calibrated.odvgp --calibrate on
# A chessboard of 8 x 8 squares, of which 20 points see little.
awk 'BEGIN { srand(3); print "a,b,kind"; for (i = 0; i < 1200; i++) { x = rand(); y = rand()
    print x "," y ",k" (int(8 * x) + int(8 * y)) % 3 } }' </dev/null >board.csv
b="--data board.csv --target kind --basis orth --beta 20 --gamma 20 --iters 60 --set lik.nodes=4 --threads 1 --seed 3"
for mode in off auto 600:16 600:16:0.4; do
    "$tool" train $b --calibrate on --mode $mode --test-fraction 0.2 --model mode-$mode.odvgp --json >mode-$mode.json 2>mode-$mode.txt
done
check "mode: many points gain where few see little" holds \
    "$(value mode-auto.json loglik) > $(value mode-off.json loglik) + 0.2"
check "mode: the choice is said as an option, and kept" sh -c 'grep -q "^note: its mean is the .*: --mode [1-9][0-9]*:[0-9]" mode-auto.txt &&
    grep -q "\"mode\": \"[1-9][0-9]*:[0-9]" mode-auto.json && ! grep -q "\"mode\"" mode-off.json'
check "mode: info has it" sh -c '"$1" info --model mode-auto.odvgp | grep -q "^mode     --mode [1-9][0-9]*:[0-9]" &&
    "$1" info --model mode-auto.odvgp --json | grep -q "\"mode\": \"[1-9]"' sh "$tool"
check "mode: what is given is taken" test "$(values mode-600:16.json gamma) $(value mode-600:16.json mode)" = "600 600:16"
again=$(value mode-auto.json mode)
"$tool" train $b --calibrate on --mode "$again" --test-fraction 0.2 --model t.odvgp --json >t.json 2>err.txt
check "mode: $again, which was chosen, is taken" test "$(value t.json mode)" = "$again"
"$tool" train $b --calibrate on --freeze 'kernel.*' --test-fraction 0.2 --model t.odvgp --json >t.json 2>err.txt
check "mode: no lengthscales where they are fixed" sh -c '! grep -q "\"mode\": \"[0-9.]*:[0-9.e-]*:" t.json && grep -q "\"mode\": \"[1-9]" t.json'
check "mode: 4 to the power of -5" test "$("$tool" train $b --iters 2 --mode 60:0.0009765625 --model t.odvgp --json 2>err.txt |
    sed -n 's/.*"mode": "\([^"]*\)".*/\1/p')" = 60:0.0009765625
length() { value "$1" kernel | sed 's/[a-z0-9]*(//; s/,.*//'; }
check "mode: lengthscales, too" holds "$(length mode-600:16:0.4.json) > 0.399 * $(length mode-600:16.json) &&
    $(length mode-600:16:0.4.json) < 0.401 * $(length mode-600:16.json)"
check "mode: and this is said" test "$(value mode-600:16:0.4.json mode)" = 600:16:0.4
"$tool" train $b --mode 600:16 --test-fraction 0.2 --model t.odvgp --json >t.json 2>err.txt
check "mode: given, it needs no rows held out" holds \
    "$(value t.json n_train) == 960 && $(value t.json gamma) == 600 && $(value t.json loglik) > $(value mode-off.json loglik)"
# Two heaps far apart: that all of 60 rows held out are right does not say that the next one is.
awk 'BEGIN { srand(5); print "a,b,kind"; for (i = 0; i < 600; i++) print 4 * (i % 2) + rand() "," rand() ",k" i % 2 }' \
    </dev/null >apart.csv
"$tool" train --data apart.csv --target kind --basis orth --beta 20 --gamma 20 --iters 60 --threads 1 --seed 3 --calibrate on \
    --mode 300:64 --model t.odvgp --quiet >t.txt
"$tool" predict --model t.odvgp --data apart.csv --out t.csv --quiet >t.txt
check "calibrate: no label is impossible" awk -F, 'NR > 1 && !($2 > 1e-10 && $3 > 1e-10) { bad = 1 } END { exit bad || NR < 601 }' t.csv
"$tool" train --data apart.csv --target kind --basis orth --beta 20 --gamma 20 --iters 20 --threads 1 --seed 3 --calibrate on \
    --mode off --model t.odvgp --json --quiet >t.json
check "calibrate: nor that the mean is far too small" awk 'sub(/.*"scale_f": ./, "") { sub(/,.*/, ""); found = $0 > 1 && $0 < 1.25 }
    END { exit !found }' t.json
# 30 rows held out gain 0.6 nats, which chance gives to two factors.
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 7; print "a,b,kind"; for (i = 0; i < 300; i++) { a = uniform(); print a "," uniform() ",k" (a + 0.6 * uniform() > 0.8) } }' \
    </dev/null >over.csv
"$tool" train --data over.csv --target kind --basis orth --beta 20 --gamma 20 --iters 60 --threads 1 --seed 3 --calibrate on \
    --mode off --model t.odvgp --json --quiet >t.json
check "calibrate: what chance gains is taken back" grep -q '"scale_f": .1, 1]' t.json
check "mode: of a likelihood with one" refuses "only for classes" train --data named.csv --basis orth --mode 60:4 $m
check "mode: not beside auto, which may choose another basis" refuses "needs --basis orth or hybrid" train --data board.csv \
    --target kind --mode 60:4
check "mode: not with --resume" refuses "which steps would lose" train --data board.csv --resume mode-auto.odvgp --iters 70
"$tool" train $b --iters 12 --patience 30 --mode 600:16 --model t.odvgp --json >t.json 2>err.txt
check "mode: after --patience" test "$? $(value t.json gamma)" = "0 600"
"$tool" train $b --freeze 'kernel.*' --mode off --model frozen.odvgp --json >frozen.json 2>err.txt
"$tool" train $b --freeze 'kernel.*' --mode 600:16:0.4 --model t.odvgp --json >t.json 2>err.txt
check "mode: what is fixed stays" test "$(value t.json kernel)" = "$(value frozen.json kernel)"
check "mode: of many gamma points" refuses "points of --basis orth or hybrid" train --data board.csv --target kind \
    --basis coupled --mode 60:4
for text in 60 0:4 60:0 60:-1 60:1e-4 60:9999 60:4x 60:4: 60:4:0 60:4:x 60:4:9999 60:4:1:1 a; do
    check "mode: $text is none" refuses "must be auto, off or GAMMA:VARIANCE" train $b --mode $text
done
cut -d, -f1,2 kinds.csv >unlabelled.csv
"$tool" predict --model two-classes.odvgp --data unlabelled.csv --json --out t.csv >t.json
check "predict: no labels, no metrics of classes" test "$(values t.json accuracy brier ece confusion \
    rmse)" = "null null null null "
train $k --target kind $few --model kind.odvgp --json --trace t.csv >t.json
check "classes: texts are softmax's" test "$(value t.json likelihood)" = softmax
check "classes: they are learnt" holds "$(value t.json accuracy) > 0.85 &&
    $(value t.json brier) < 0.3 && $(value t.json loglik) > -0.6 && $(value t.json ece) < 0.3"
check "classes: every test row is in the confusion matrix" test 50 = \
    "$(sed 's/.*"confusion": \[\(.*\]\)\].*/\1/' t.json | tr -dc '0-9 ' | tr ' ' '\n' |
        awk '{ s += $1 } END { print s }')"
if full; then
    train $k --target kind --model t.odvgp --iters 50 --set lik.nodes=6 --plot curves.svg >t.txt
    check "plot: the legend has the names of a map's classes, once" test \
        "$(grep -c '>Most probable class<' curves.svg) $(grep -c '>low<' curves.svg)" = "1 1"
    check "plot: calibration marks shares of few rows" grep -q '>shares of fewer than 10 rows<' curves.svg
fi
awk -F, 'BEGIN { OFS = ","; print "a,b,name"; long = "a name that is far too long for any legend" }
    { print $1, $2, long " " long " " 10 + int(8 * $1 + 8) }' plain.csv >long-names.csv
"$tool" train --data long-names.csv --features a,b --minutes 0.001 --threads 1 --model t.odvgp >t.txt 2>err.txt
check "auto: many classes begin with a large variance, without a warm start" grep -q \
    '^auto: 200 rows: .* --warm off --kernel "matern52(ard, variance=50)" --natgrad-step "0.5-0.05"' err.txt
if full; then
    awk 'BEGIN { print "a,kind"; for (i = 0; i < 24000; i++) print i ",k" i % 7 }' >rows.csv
    "$tool" train --data rows.csv --minutes 0.001 --threads 1 --model t.odvgp >t.txt 2>err.txt
    check "auto: many classes of many rows get shorter natural steps" grep -q ' --natgrad-step "0.19-0.047"' err.txt
fi
# Borders along each of six inputs, and round ones: the kernel that classes begin with.
uniform='function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }'
awk "$uniform"' BEGIN { seed = 5; print "a,b,c,d,e,f,kind"; for (i = 0; i < 600; i++) { s = ""; k = 0
    for (j = 0; j < 6; j++) { x = exp(3 * uniform()); s = s x ","; k += x > 5 } print s "k" int(k / 4) } }' </dev/null >borders.csv
awk "$uniform"' BEGIN { seed = 5; print "a,b,c,kind"; for (i = 0; i < 600; i++) { a = uniform(); b = uniform(); c = uniform()
    print a "," b "," c ",k" int(3 * (a * a + b * b + (c - 0.5) ^ 2)) % 2 } }' </dev/null >round.csv
first() { data=$1; shift; "$tool" train --data "$data" --target kind --auto-tries 1 --beta 20 --threads 1 --model t.odvgp "$@" >t.txt 2>err.txt; }
if full; then
    first borders.csv
    grep '^auto: laplacian' err.txt >chosen.txt
    check "auto: labels with borders along the inputs begin with laplacian" grep -q '^auto: 600 rows: .* --kernel "laplacian(ard)"; ' err.txt
    check "auto: and the model has it" sh -c '"$1" info --model t.odvgp | grep -q "^kernel *laplacian("' sh "$tool"
    "$tool" train --data borders.csv --target kind --auto-tries 2 --threads 1 --model t.odvgp >t.txt 2>err.txt
    check "auto: matern52 races beside it, and loses" sh -c 'grep -q "^  coupled 200 matern52(ard)  *step" err.txt &&
        grep -q "^  coupled 200  .*chosen" err.txt && grep -q "^auto: .* --kernel \"laplacian(ard)\"" err.txt'
    "$tool" convert borders.csv borders.odvt >t.txt 2>err.txt
    first borders.odvt --memory 1k
    check "auto: from rows on the disk the same" sh -c 'grep "^auto: laplacian" err.txt | cmp - chosen.txt'
    first borders.csv --threads 2
    check "auto: with two threads the same" sh -c 'grep "^auto: laplacian" err.txt | cmp - chosen.txt'
    first borders.csv --class-weights k0=0.001,k1=1
    check "auto: labels count by the weights of their classes" sh -c 'grep -q "^auto: laplacian" err.txt && ! grep "^auto: laplacian" err.txt | cmp - chosen.txt'
    first round.csv
    check "auto: round ones do not" sh -c 'grep -q "^auto: laplacian(ard) gains -" err.txt && ! grep -q -e "--kernel" err.txt'
    awk "$uniform"' BEGIN { seed = 14; for (j = 0; j < 300; j++) printf "x%d,", j; print "kind"; for (i = 0; i < 420; i++) {
        for (j = 0; j < 300; j++) printf "%.3f,", uniform(); print "k" i % 3 } }' </dev/null >unrelated.csv
    first unrelated.csv
    check "auto: nor labels that no input predicts" sh -c 'grep -q "^auto: laplacian(ard) gains [0-9.]*e-" err.txt && ! grep -q -e "--kernel" err.txt'
    "$tool" train --data borders.csv --target kind --beta 20 --folds 3 --threads 1 >t.txt 2>err.txt
    check "auto: each fold has its own comparison" test "$(grep -c '^auto: laplacian' err.txt)" = 3
fi
first borders.csv --kernel "rbf(ard)"
check "auto: nothing is compared where --kernel is given" sh -c 'grep -q "^auto: 600 rows" err.txt && ! grep -q laplacian err.txt'
for inputs in $(full && echo a) a,b; do
    train --data long-names.csv --features $inputs --model t.odvgp --beta 12 --iters $(size 10 2) --basis coupled --warm off --set lik.nodes=$(size 6 3) \
        --plot curves.svg >t.txt
    check "plot: 12 of 16 classes, of $inputs" sh -c '
        grep -q "12 of 16 classes\|>4 other classes<" curves.svg &&
        grep -q "name that.*legend 21</text>" curves.svg && ! grep -q "legend 22<" curves.svg &&
        ! grep -q "legend a name" curves.svg'
done
check "trace: of classes" sh -c 'head -n 1 t.csv | grep -q "^step,seconds,elbo,test_accuracy,"'
predict kind.odvgp kinds.csv
check "predict: names of classes" test "$(head -n 1 t.txt)" = 'label,"p_big, one",p_low,p_mid,range'
cp t.txt all.txt
cut -d, -f1,2 kinds.csv >t.csv
predict kind.odvgp t.csv
check "predict: without the target" cmp t.txt all.txt
sed '5s/,[35],[^,]*,\( one",\)*/,3,other,/' kinds.csv >other-kind.csv
check "refused: a label that training has not seen" refuses \
    "line 5, column 3 (kind): 'other' is none" predict --model kind.odvgp --data other-kind.csv
"$tool" predict --model kind.odvgp --data other-kind.csv --missing drop --json >t.json 2>err.txt
check "predict: or it has no prediction" test "$(values t.json n n_test n_missing)" = "200 199 1"
check "predict: with a note" grep -q "^note: 1 of 200 rows have no prediction (NA): .*'other'" err.txt
for l in logit softmax; do
    target=two
    train $k --target $target --likelihood $l --model t.odvgp --json >t.json
    check "likelihood $l" holds "$(value t.json accuracy) > 0.8"
done
train $k --iters 200 --target grade --ordinal grade=poor,fair,high --model t.odvgp --json >t.json
check "likelihood ordinal, by --ordinal" holds "$(value t.json accuracy) > 0.8"
check "likelihood ordinal: order" grep -q '"classes": \["poor", "fair", "high"\]' t.json
awk -F, 'BEGIN { OFS = "," } NR == 1 { print "a,b,grade" } NR > 1 { print $1, $2, ($2 > 0.5 ? 2 : $1 > 0 ? 1 : "3.0") }' \
    plain.csv >grades.csv
"$tool" train --data grades.csv --ordinal grade=1,2,3,4 --iters "$steps" --threads 1 --model t.odvgp --json >t.json 2>err.txt
check "likelihood ordinal: levels that are numbers" grep -q '"classes": \["1", "2", "3", "4"\]' t.json
check "likelihood ordinal: its parameters" grep -q '"likelihood_parameters": {"gap": \[[0-9.]*, [0-9.]*\], "cut": \[' t.json
check "likelihood ordinal: said, with the remedy" grep -q 'the likelihood is ordinal; without --ordinal they are numbers$' \
    err.txt
check "likelihood ordinal: a level without rows" grep -q '^note: classes without a training row: 4$' err.txt
"$tool" predict --model t.odvgp --data grades.csv --json --quiet >t.json
check "likelihood ordinal: predicts them" holds "$(value t.json accuracy) > 0.5 && $(value t.json n_test) == 199"
check "refused: --ordinal of the target of numbers" refuses "--ordinal: makes classes of column 2 (grade), and" \
    train --data grades.csv --ordinal grade=1,2,3 --likelihood gaussian $m
"$tool" train $k --target grade --likelihood ordinal --model t.odvgp >t.txt 2>err.txt
check "likelihood ordinal: an order that nobody chose" grep -q \
    '^note: column 4 (grade): classes are in alphabetical order: fair, high, poor; --ordinal COLUMN=a,b,c' err.txt
if full; then
    # Some likelihoods have no warm start by default, with --minutes neither.
    awk 'BEGIN { srand(8); for (i = 0; i < 150; i++) { x = 4 * rand(); y = rand(); s = rand() + rand() + rand() - 1.5
        printf "%.6f,%.6f,%.6f,%s\n", x, y, x + 0.1 * exp(x) * s, (sin(3 * x) + y > 0.7 ? "yes" : "no") } }' >start.csv
    "$tool" train --data start.csv --target 2 --ignore 3 --likelihood heteroscedastic --threads 1 --model t.odvgp >t.txt 2>err.txt
    check "warm start: none for heteroscedastic noise" grep -q "^auto: .* --warm off;" err.txt
    "$tool" train --data start.csv --target 2 --ignore 3 --likelihood heteroscedastic --model t.odvgp --minutes 0.001 --threads 1 >t.txt 2>err.txt
    check "warm start: none with --minutes" grep -q "^auto: .* --warm off;" err.txt
    "$tool" train --data start.csv --target 3 --ignore 2 --threads 1 --model t.odvgp >t.txt 2>err.txt
    check "warm start: of classes" grep -q "^auto: .* --warm 150:100:0:0.03,150:60;" err.txt
    # Targets of shape 20 and of any size.
    awk 'BEGIN { srand(9); for (i = 0; i < 250; i++) { x = 6 * rand(); y = 0
        for (k = 0; k < 20; k++) y -= log(1 - rand()); printf "%.5f,%.6g\n", x, 5 * exp(sin(x)) * y } }' >wide.csv
    "$tool" train --data wide.csv --likelihood gamma --iters 200 --quiet --model t.odvgp --json >t.json
    check "likelihood gamma: the shape is found" holds "$(value t.json shape | tr -d '[]') > 8 &&
        $(value t.json shape | tr -d '[]') < 30"
    # Tails so heavy that y would have no variance.
    awk 'BEGIN { srand(8); for (i = 0; i < 350; i++) { x = 4 * rand(); n = 0.01 * (rand() + rand() - 1)
        printf "%.6f,%.6f\n", x, sin(x) + (rand() < 0.15 ? 3 * (rand() - 0.5) / (rand() + 1e-3) : n) } }' >tails.csv
    "$tool" train --data tails.csv --likelihood studentt --test-fraction 0.2 --threads 1 --quiet --model t.odvgp --json >t.json
    "$tool" info t.odvgp >t.txt
    check "likelihood studentt: its parameters" grep -q '^params   scale [0-9.]*; df [0-9.]* (standardised targets)$' t.txt
    check "likelihood studentt: heavy tails" holds "$(value t.json loglik) > 0.2"
fi
for pair in y:studentt y:laplace y:heteroscedastic count:poisson count:negative_binomial \
    above:exponential above:gamma; do
    target=${pair%:*} l=${pair#*:} data=kinds.csv
    [ "$target" = y ] && data=named.csv
    train --data $data --features a,b --target "$target" --likelihood "$l" --iters "$steps" --beta 30 \
        --gamma 40 --test-fraction 0.25 --model t.odvgp --json >t.json
    "$tool" predict --model t.odvgp --data $data >t.txt 2>/dev/null
    # No number is NaN, and means are in the units of the target.
    check "likelihood $l" sh -c '[ "$(head -n 1 t.txt)" = mean,sd_y,range ] &&
        awk -F, "NR > 1 && !(\$1 > -5 && \$1 < 30 && \$2 > 0 && \$2 < 30) { exit 1 }" t.txt &&
        [ "$1" -eq 50 ]' sh "$(value t.json n_test)"
    check "likelihood $l: loglik and rmse" \
        holds "$(value t.json loglik_raw) > -4 && $(value t.json rmse_raw) < 2"
    "$tool" predict --model t.odvgp --data $data --interval 0.9 --keep "$target" >t.csv 2>/dev/null
    check "likelihood $l: limits, with the targets inside" awk -F, '
        NR == 1 { if ($0 !~ /,mean,sd_y,lower,upper,range$/) exit 1; next }
        { rows++; inside += $1 >= $4 && $1 <= $5; if (!($4 <= $5 && $4 <= $2 && $2 <= $5)) bad = 1 }
        END { exit bad || rows != 200 || inside < 0.82 * rows }' t.csv
    if [ "$l" = heteroscedastic ]; then
        "$tool" sample --model t.odvgp --data $data --samples 300 --quiet >s.csv
        check "sample: heteroscedastic, f and noise in the units of the target" awk -F, '
            FNR == 1 { if (NR > 1 && ($1 != "sample_0" || $2 != "sample_0_log_noise")) exit 1; next }
            NR == FNR { mean[FNR] = $1; sd[FNR] = $2; next }
            { f = ff = noise = 0
              for (k = 1; k < NF; k += 2) { f += $k; ff += $k * $k; noise += exp($(k + 1)) }
              f /= 300; rows++
              if ((f - mean[FNR]) ^ 2 > (0.4 * sd[FNR]) ^ 2) bad++
              v = ff / 300 - f * f + noise / 300
              if (sqrt(v) > 1.3 * sd[FNR] || sqrt(v) < 0.75 * sd[FNR]) bad++ }
            END { exit !(rows == 200 && bad < 3) }' t.txt s.csv
    fi
    case $l in studentt | poisson | negative_binomial | gamma) ;; *) continue ;; esac
    # The density between the limits of row 2, from log-likelihoods of one row each, is 0.9: counts
    # outside have less than 0.05 on both sides.
    limits=$(sed -n 2p t.csv | cut -d, -f4,5 | tr , ' ')
    row=$(sed -n 2p $data | cut -d, -f1,2)
    for y in $(echo "$limits" | awk -v l=$l '{
        if (l ~ /poisson|binomial/) for (y = 0; y <= $2; y++) printf "%d ", y
        else for (k = 0; k <= 32; k++) printf "%.9f ", $1 + ($2 - $1) * k / 32 }'); do
        printf 'a,b,%s\n%s,%s\n' "$target" "$row" "$y" >one.csv
        "$tool" predict --model t.odvgp --data one.csv --json --out t.txt --quiet >t.json
        echo "$y $(value t.json loglik_raw)"
    done >density.txt
    check "likelihood $l: limits are quantiles" awk -v limits="$limits" -v l=$l '
        BEGIN { split(limits, limit, " ") }
        { p = exp($2) }
        l ~ /poisson|binomial/ { sum += p; if ($1 == limit[1]) low = sum >= 0.05 && sum - p < 0.05; last = p }
        l !~ /poisson|binomial/ { sum += p * (NR == 1 || NR == 33 ? 1 : NR % 2 ? 2 : 4) * (limit[2] - limit[1]) / 96 }
        END { exit l ~ /poisson|binomial/ ? !(low && sum >= 0.95 && sum - last < 0.95) : (sum - 0.9) ^ 2 > 1e-6 }
    ' density.txt
done
"$tool" train $k --target count --likelihood poisson --model t.odvgp --quiet >t.txt
check "likelihood poisson: metrics once" test "$(grep -c 'rmse .*(units of the target)' t.txt) $(grep -c rmse t.txt)" = "1 1"
check "refused: no count" refuses "line 2, column 6 (above): " train $k --target above \
    --likelihood poisson $m
check "refused: and why" refuses ": must be a count: 0, 1, 2, ..., for --likelihood poisson" \
    train $k --target above --likelihood poisson $m
check "refused: a basis without q" refuses "--basis coupled, orth and solve have one" \
    train $k --target two --basis sgpr $m
check "refused: three classes for bernoulli" refuses "robustmax and softmax take them" \
    train $k --target kind --likelihood bernoulli $m
check "refused: texts for poisson" refuses "the target must be numbers" \
    train $k --target kind --likelihood poisson $m
grep -e a,b -e ,mid, kinds.csv >one-kind.csv
check "refused: one class" refuses "(kind) has one class only: mid" \
    train --data one-kind.csv --features a,b --target kind $m
awk 'BEGIN { for (i = 1; i < 300; i++) print i % 7 "," i "," i % 250 }' >many.csv
check "refused: too many classes" refuses "more than 200 different values" \
    train --data many.csv --likelihood softmax $m
for refused in "--noise 0.1" "--fit-q end"; do
    check "refused: $refused" refuses "${refused% *}" train $k --target two $refused $m
done
check "refused: --interval of classes" refuses "--interval: classes have no limits" \
    predict --model kind.odvgp --data kinds.csv --interval 0.9
check "refused: --threshold of three" refuses "--threshold: only for models of two classes" \
    predict --model kind.odvgp --data kinds.csv --threshold 0.9
"$tool" compare $k --target kind $few --threads 1 --bases coupled,orth --beta 20 --iters 30 --test-fraction 0.2 --quiet \
    --trace trace.csv --plot curves.svg >t.txt
check "compare: classes" grep -q "^coupled .* [01]\.[0-9]* *0\.[0-9]* *-[0-9.]*$" t.txt
check "compare: classes, columns" grep -q " accuracy *brier *loglik$" t.txt
check "compare: classes, trace" grep -q ",test_accuracy,test_brier,test_loglik,noise" trace.csv
check "compare: classes, picture" grep -q ">Test accuracy<" curves.svg
if full; then
    "$tool" train --data kinds.csv --features a,b --target kind --folds 3 --beta 20 --iters 30 --threads 1 --set lik.nodes=6 --quiet --json >t.json
    check "folds: classes" holds "$(value t.json accuracy) > 0.6 && $(value t.json accuracy_se) >= 0"
fi
if full; then
    train $k --target kind --model t.odvgp --beta 20 --iters 30 --set lik.nodes=6 --test-fraction 0.2 --plot curves.svg >t.txt
    check "plot: classes" test \
        "$(grep -c '>Most probable class<\|>Probability of the label<\|>Calibration, test' curves.svg)" -eq 3
fi
"$tool" sample --model kind.odvgp --data kinds.csv --samples 2 >t.csv
awk -F, 'BEGIN { OFS = "," } { print $1, $2, ($1 > 0 ? "yes" : "no") }' plain.csv >easy.csv
train --data easy.csv --test-fraction 0.1 --basis coupled --beta 20 --iters 60 --lr 0.03 --model t.odvgp \
    --plot curves.svg --json >t.json
check "plot: shares are at most 1" sh -c '! grep -q ">1\.[0-9]*[1-9]" curves.svg'
train $k --target kind $few --model t.odvgp --iters 1 --json >t.json
check "sample: a function for each class" test "$(head -n 1 t.csv)" = \
    '"sample_0_big, one",sample_0_low,sample_0_mid,"sample_1_big, one",sample_1_low,sample_1_mid'
"$tool" train $k --target kind $few --threads 1 --class-weights balanced --model weighted.odvgp --json >t.json 2>err.txt
check "class weights: balanced" awk -v "w=$(sed 's/.*"class_weights": \[\([^]]*\)\].*/\1/' t.json)" \
    -v "n=$(value t.json n_train)" 'BEGIN {
        split(w, weight, ", "); if (weight[1] > 0.9 || weight[2] < 1.1) exit 1
        for (k = 1; k <= 3; k++) sum += n / 3 / weight[k]; exit (sum - n) ^ 2 > 1e-6 }'
check "class weights: printed" grep -q '^note: weights of classes: big, one [0-9.]*, low ' err.txt
"$tool" train --data coin.csv --basis coupled --beta 9 --iters 60 --class-weights 'yes=4,no=4' --model t.odvgp >t.txt 2>err.txt
check "class weights: a bound with them does not tell whether anything has been learned" \
    sh -c '! grep -q "nothing has been learned" err.txt && grep -q "per row -2" t.txt'
check "class weights: info in JSON" sh -c '"$1" info weighted.odvgp --json |
    grep -q "\"class_weights\": \"balanced\""' sh "$tool"
train $k --target kind --test-fraction 0 --model t.odvgp --iters 2 --json >t.json
check "classes: no test part, no metrics" test "$(values t.json accuracy confusion rmse)" = \
    "null null "
check "class weights: kept" sh -c '"$1" info weighted.odvgp | grep -q "classes: .*; weights balanced$"' \
    sh "$tool"
w="$k $steady --target kind --set lik.nodes=6"
fit $w --class-weights balanced --model half-w.odvgp --iters $((steps / 2))
train --data kinds.csv --resume half-w.odvgp --iters "$steps" --model t.odvgp >t.txt
check "class weights: in the report of --resume" grep -q "classes: .*; weights balanced$" t.txt
fit $w --class-weights balanced --model one.odvgp
check "class weights: resume gives the same bits" cmp t.odvgp one.odvgp
if full; then
    fit $k --target kind --class-weights "low=1,mid=1" --model one.odvgp
    fit $k --target kind --model t.odvgp
    check "class weights: ones change nothing" sh -c \
        'for m in t one; do # progress is shown from a second on
            "$1" predict --model $m.odvgp --data kinds.csv 2>&1 | grep -v "^predictions: " >$m.txt
        done; test -s t.txt && cmp t.txt one.txt' sh "$tool"
fi
train $k --target two --model t.odvgp --class-weights 3=9,5=1 --json >t.json
predict t.odvgp kinds.csv
check "class weights: a heavy class is predicted more often" test \
    "$(cut -d, -f1 t.txt | grep -c 3)" -gt "$(cut -d, -f3 kinds.csv | grep -c 3)"
"$tool" compare $k --target kind $few --threads 1 --class-weights "big, one=2.5" --bases coupled --beta 20 --iters 30 \
    --quiet >t.txt
check "class weights: compare, a name with a comma" grep -q "^coupled .* 0\.[0-9]* *0\.[0-9]* *-[0-9.]*$" \
    t.txt
check "refused: --class-weights pink=5" refuses "'pink' is no class; classes: big, one, low, mid" \
    train $k --target kind --class-weights "low=2,pink=5" $m
for bad in "low=-1" "low=1;mid=2" low=x low low=1e308 low=1e-9; do
    check "refused: --class-weights $bad" refuses \
        "or NAME=W,... with weights from 1e-06 to 1000000, or 0; classes: big" \
        train $k --target kind --class-weights "$bad" $m
done
check "refused: --class-weights of a class twice" refuses "'low' is named twice" \
    train $k --target kind --class-weights low=1,low=2 $m
check "refused: --class-weights of nothing" refuses "all training rows have weight 0" \
    train $k --target two --class-weights 3=0,5=0 $m
check "refused: --class-weights of numbers" refuses "--class-weights: only for classes" \
    train --data plain.csv --class-weights balanced $m
half=$(size 100 20)
fit $k --target kind $few --model half-kind.odvgp --iters "$half"
fit --data kinds.csv --resume half-kind.odvgp --iters $((half + 10)) --model t.odvgp
check "resume: classes" test "$("$tool" info t.odvgp --json | grep -o "\"iters\": $((half + 10))")"
check "help: likelihoods" sh -c '"$1" help train | grep -q "^  robustmax, softmax "' sh "$tool"
