# What --auto-tries lets race: targets, kernels, scales, exact models: part of tests/tool/tool.sh, which reads
# this file.
full || return 0
# repeats CONDITION: of the bounds "raced" and "told" by the options that are said.
repeats() {
    chosen=$(sed -n 's/^auto: [0-9]* rows: \(.*\); goes on.*/\1/p' err.txt)
    eval "race --data $data --test-fraction 0.2 --model told.odvgp $chosen" >t2.json 2>err2.txt
    holds "$(value t.json loglik) < $(value t2.json loglik) + $1 && $(value t2.json loglik) < $(value t.json loglik) + $1"
}
made 4 520 'for (k = 0; k < 60; k++) printf "%.3f,", uniform(); print uniform()' >wide.csv
race --data wide.csv --auto-tries 3 --model t.odvgp >t.json 2>err.txt
check "race: nothing exact with few rows for each input" sh -c '[ $1 -eq 0 ] && grep -q "  chosen$" err.txt && ! grep -q "  exact" err.txt' sh $?
made 9 300 'print uniform() "," uniform() ",5"' >level.csv
race --data level.csv --model t.odvgp >t.json 2>err.txt
check "race: rounding chooses no kernel where the target is constant" sh -c 'grep "  chosen$" err.txt | grep -Evq "rbf|matern|additive"'
data=tailed.csv
made 5 3000 'a = int(8 * uniform()); b = int(8 * uniform()); t = normal() / sqrt((normal()^2 + normal()^2 + normal()^2) / 3)
    print a "," b "," sin(a) + b * b / 9 + 0.3 * t' >tailed.csv
made 5 3000 'a = int(8 * uniform()); b = int(8 * uniform()); print a "," b "," sin(a) + b * b / 9 + 0.3 * normal()' >normal.csv
race --data tailed.csv --test-fraction 0.2 --model t.odvgp >t.json 2>err.txt
check "race: Student's t joins where the 50 % band holds too many rows, and wins" tried 'studentt .*  chosen$'
check "race: and is the model" test "$(value t.json likelihood)" = studentt
check "race: which its options repeat" repeats 0.05
race --data tailed.csv --test-fraction 0.2 --likelihood gaussian --model t2.odvgp >t2.json 2>err.txt
check "race: not beside a given likelihood" holds "$(grep -c studentt err.txt) == 0 && $(value t.json loglik) > $(value t2.json loglik) + 0.05"
made 5 3000 'a = int(8 * uniform()); b = int(8 * uniform()); t = 0.1 * normal() / normal()
    print a "," b "," sin(a) + b * b / 9 + (t > 5 ? 5 : t < -5 ? -5 : t)' >cauchy.csv
race --data cauchy.csv --model t.odvgp >t.json 2>err.txt
check "race: where y would have no variance it has one" sh -c '[ $1 -eq 0 ] && grep -q "studentt .*  chosen$" err.txt' sh $?
# Errors of which one in two hundred is huge: their variance says nothing about the others.
made 5 3000 'a = int(8 * uniform()); b = int(8 * uniform()); print a "," b "," sin(a) + b * b / 9 + (uniform() < 0.005 ? 3 : 0.003) * normal()' >two.csv
race --data two.csv --model t.odvgp >t.json 2>err.txt
check "race: where means and variances would mislead it is refused" test \
    "$(grep -c 'studentt *failed: a normal distribution of its means and variances' err.txt) $(value t.json likelihood)" = "1 gaussian"
race --data normal.csv --model t.odvgp >t.json 2>err.txt
check "race: neither it nor another target joins where the noise is normal" sh -c '! grep -q "studentt\|target " err.txt && grep -q chosen err.txt'
data=skewed.csv
made 11 400 'a = uniform(); b = uniform(); print a "," b "," exp(2 * sin(6 * a) + b + 0.3 * normal())' >skewed.csv
race --data skewed.csv --test-fraction 0.2 --model t.odvgp >t.json 2>err.txt
check "race: a lognormal target is learned as its logarithm" tried 'log of the target .*  chosen$'
check "race: which its options repeat" repeats 0.02
"$tool" predict --model t.odvgp --data skewed.csv --json --out t.csv >t2.json 2>/dev/null
check "race: and predictions are those of the target" holds "$(value t2.json loglik) > $(value t.json loglik) - 0.3 && $(value t2.json rmse) < 0.5"
data=sinh.csv
made 17 400 'a = uniform(); b = uniform(); t = 3 * sin(6 * a) + 3 * b - 1.5 + 0.3 * normal(); print a "," b "," (exp(t) - exp(-t)) / 2' >sinh.csv
race --data sinh.csv --test-fraction 0.2 --model t.odvgp >t.json 2>err.txt
check "race: one with far values on both sides as its asinh" tried 'asinh of the target .*  chosen$'
check "race: which its options repeat" repeats 0.02
made 3 300 'a = uniform(); m = exp(1 + sin(6 * a)); k = 0; p = c = exp(-m); u = uniform()
    while (u > c) { k++; p *= m / k; c += p } print a "," k' >counted.csv
race --data counted.csv --model t.odvgp >t.json 2>err.txt
check "race: counts are hinted at, and stay a Gaussian's" test \
    "$(grep -c -e '^note: .*whole numbers' err.txt) $(grep -c -e '^note: column 1 has only [0-9]* whole numbers from 0 on, .*--likelihood poisson learns them as counts, softmax as classes' err.txt) $(value t.json likelihood)" = "1 1 gaussian"
# A count's probability is at most 1, so that its score in units of the deviation is at most log(sd).
made 3 300 'print int(2 * uniform()) + int(2 * uniform()) "," i % 3 + 2' >exactly.csv
race --data exactly.csv --model t.odvgp >t.json 2>err.txt
most=$(sed -n 's/.*loglik *\([-0-9.]*\) .*chosen$/\1/p; s/.*loglik *\([-0-9.]*\)$/\1/p' err.txt | sort -n | tail -n 1)
check "race: a count scores by its probability" holds "$most < log(sqrt(2 / 3)) + 1e-3 && $most > -10"
made 2 2100 'if (!i) for (k = 0; k < 90; k++) w[k] = w[k - 1] + normal()
    k = int(90 * uniform()); print k "," w[k] + 0.2 * normal()' >walk.csv
race --data walk.csv --model t.odvgp >t.json 2>err.txt
check "race: matern12 joins where matern32 is clearly better" tried 'matern12(ard)'
made 23 400 'k = i % 40; x = int(i / 40); print k / 7 "," x "," sin(9 * k) + 0.1 * sin(x / 7)' >groups.csv
race --data groups.csv --basis exact --warm off --kernel 'matern52(1e-25, dims=0) * matern52(dims=1)' --iters 1 --model t.odvgp >t.json 2>err.txt
check "exact: lengthscales are at least 1e-6, so that rounding does not part equal rows" grep -q '"kernel": "matern52(1.001e-6' t.json
# Hyperparameters that have seen no row: a band that is far too wide, or too narrow.
made 24 300 'a = 3 * normal(); b = normal(); print a "," sin(a) + 0.02 * b' >band.csv
for noise in 1 1e-6; do
    for on in off on; do
        race --data band.csv --basis exact --warm off --iters 0 --noise $noise --calibrate $on \
            --test-fraction 0.3 --model $on.odvgp >$on.json 2>$on.txt
    done
    check "exact: --calibrate gives sd_y the size of errors, and keeps means (noise $noise)" holds \
        "$(value on.json loglik) > $(value off.json loglik) + 0.3 && ($(value on.json rmse) / $(value off.json rmse) - 1) ^ 2 < 1e-12"
    check "exact: and says by how much (noise $noise)" test \
        "$(grep -c '^note: standard deviations of y are multiplied by .*left out' on.txt) $(grep -c 'deviations of y' off.txt) $(grep -c '"scale_y"' on.json)" = "1 0 1"
done
race --data band.csv --basis exact --kernel 'rbf(ard, 3, variance=900)' --noise 1e-6 --warm off --iters 0 --calibrate on \
    --test-fraction 0.3 --model t.odvgp >t.json 2>err.txt
check "exact: as far as the bounds of the kernel's variance allow it" grep -q '"scale_y": 1.05' t.json
race --data band.csv --basis exact --noise 1 --warm off --iters 0 --folds 2 --calibrate on >t.json 2>err.txt
race --data band.csv --basis exact --noise 1 --warm off --iters 0 --folds 2 --calibrate off >t2.json 2>err.txt
check "exact: --folds test what --calibrate leaves" holds "$(value t.json loglik) > $(value t2.json loglik) + 0.3"
head -n 200 band.csv >short.csv
race --data short.csv --model t.odvgp >t.json 2>err.txt
race --data short.csv --calibrate auto --model t2.odvgp >t2.json 2>err2.txt
check "calibrate: auto is the default" sh -c 'grep -q -e "--basis exact.* --calibrate on" err.txt && grep -q -e "--basis exact.* --calibrate on" err2.txt'
made 22 2600 'a = 3 * normal(); b = 3 * normal(); print a "," b "," sin(a) + sin(b)' >exact.csv
race --data exact.csv --test-fraction 0.1 --basis exact --warm 1000:40 --iters 3 --model t.odvgp >t.json 2>err.txt
check "exact: the variance of n rows without noise is bounded, n times that at most 1e13 of the noise" holds \
    "$(sed -n 's/.*"kernel": "[^"]*variance=\([0-9.e+]*\).*/\1/p' t.json) <= 1e6 / 2340 * 1.001"
