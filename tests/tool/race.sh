# --auto-tries, the race of candidates on rows held out: part of tests/tool/tool.sh, which reads this file.

# Few distinct inputs, so that points are few and a training takes a second.
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 5; for (i = 0; i < 2400; i++) { a = int(8 * uniform()); b = int(8 * uniform())
        print a "," b "," sin(a) + b * b / 9 + 0.2 * uniform() } }' >grid.csv
awk -F, '{ print int($1 / 3) "," int($2 / 3) ",c" int((int($1 / 3) + int($2 / 3) + $3 / 4) % 3) }' grid.csv >labels.csv
race() { "$tool" train --threads 1 --json "$@"; }
head -n 300 grid.csv >little.csv
race --data grid.csv --model raced.odvgp >t.json 2>err.txt
check "race: says on which rows, and what it chose" test \
    "$(grep -c '^race on 240 rows held out' err.txt) $(grep -c '  chosen$' err.txt)" = "1 1"
check "race: says how much time and memory" grep -Eq \
    '^auto: a race of 4 candidates; with its winner.s training about [0-9.]+ s, less if it converges, and at most about [0-9.]+ MB$' err.txt
check "race: three others beside the first, and none that costs too much" test \
    "$(grep -c '^  .* loglik ' err.txt) $(grep -c 'exact' err.txt)" = "4 0"
check "race: adds at most half of a training, a third of all" holds \
    "$(sed -n 's/^race on.*adds \([0-9]*\) % .*/\1/p' err.txt) <= 50"
"$tool" info --model raced.odvgp >info.txt
check "race: info repeats what was tried" sh -c '
    sed -n "/^race on/,/^[^ r]/p" err.txt | grep " loglik " >a
    grep " loglik " info.txt >b && cmp a b' 
if full; then
    race --data grid.csv --auto-tries 4 --threads 2 --model again.odvgp >t2.json 2>err2.txt
    for name in raced again; do "$tool" predict --model $name.odvgp --data grid.csv --out $name.csv >/dev/null 2>&1; done
    check "race: the same bits with two threads" cmp raced.csv again.csv
    chosen=$(sed -n 's/^auto: [0-9]* rows: \(.*\); goes on.*/\1/p' err.txt)
    eval "race --data grid.csv --model told.odvgp $chosen" >t2.json 2>err.txt
    check "race: its options, given, are the same model without a race" test \
        "$(values t.json basis beta gamma) $(grep -c 'race on' err.txt)" = "$(values t2.json basis beta gamma) 0"
    check "race: as good as these" holds "$(value t.json elbo) > $(value t2.json elbo) - 24"
    steps=$(value t.json iters)
    race --data grid.csv --resume raced.odvgp --iters $((steps + 2)) --model more.odvgp >t.json 2>err.txt
    check "race: its model is resumed" test "$(value t.json iters)" -ge "$steps"
    check "race: and keeps what was tried" sh -c '"$1" info --model more.odvgp | grep -q "^tried "' sh "$tool"
    race --data grid.csv --auto-tries 1 --model one.odvgp >t.json 2>err.txt
    check "race: none with --auto-tries 1" sh -c '! grep -q "race on" err.txt'
fi
head -n 99 plain.csv >some.csv
"$tool" train --data some.csv --threads 1 --auto-tries 4 --model few.odvgp >t.txt 2>err.txt
check "race: none with few rows" sh -c '! grep -q "^race" err.txt'
check "race: which is said" grep -q '^note: --auto-tries 4: no race, because there are 99 training rows, and it begins at 100$' err.txt
# no_race WHY ARGUMENTS...: is this said?
no_race() {
    why=$1
    shift
    race --auto-tries 3 --model no.odvgp "$@" >t.json 2>err.txt
    [ "$(grep -c -e '--auto-tries' err.txt)" -eq 1 ] && grep -qF -e "--auto-tries 3: no race, because $why" err.txt
}
for given in '--iters 2' '--beta 5' '--basis coupled --iters 2' '--batch 50 --minutes 0.001' '--gamma 5 --minutes 0.001' \
    '--lr 0.01 --minutes 0.001' '--freeze noise_variance --minutes 0.001' '--recipe odvgp --minutes 0.001'; do
    case $given in *0.001) full || continue ;; esac
    # shellcheck disable=SC2086
    check "race: none with ${given%% *}, which is said" no_race "${given%% *} is given" --data little.csv --warm off $given
done
check "race: none of --minutes that it would fill" no_race "--minutes has no room for one" --data little.csv --minutes 0.00001
check "race: nor one with --warm" no_race "--minutes has no room for one that keeps --warm" --data little.csv --warm 100:5 \
    --minutes 0.00001
check "race: none with layers" no_race "--layers is given" --data little.csv --layers 'coupled:beta=4,dim=1; coupled:beta=4' --iters 2
# What is said comes before the number of rows, so that few do.
head -n 60 labels.csv >some.csv
check "race: none for classes with a kernel" no_race "--kernel is given" --data some.csv --kernel rbf
head -n 99 labels.csv >some.csv
check "race: none of few rows of classes" no_race "there are 99 training rows, and it begins at 500" --data some.csv --set lik.nodes=8
head -n 60 plain.csv | awk -F, -v OFS=, '{ $3 = int(3 + 2 * $3) } 1' >counts.csv
head -n 60 two.csv >both.csv
check "race: none of counts" no_race "the likelihood is poisson" --data counts.csv --likelihood poisson
check "race: none of two targets" no_race "there are 2 targets" --data both.csv --target 2-3
head -n 110 plain.csv | awk -v OFS=, '{ for (i = 0; i < 12; i++) printf "%d,", (NR * (i + 3)) % 11; print }' >inputs.csv
check "race: none of few rows for each input" no_race "there are 110 training rows, and it begins at 500" --data inputs.csv
check "race: none of a model that goes on" no_race "--resume is given" --data grid.csv --resume raced.odvgp --iters 9
# limited KILOBYTES ARGUMENTS...: a training with so much memory; sanitizers do not run with so little.
limited() { (ulimit -v "$1" 2>/dev/null && shift && exec "$tool" train --threads 1 --model limited.odvgp "$@" >t.txt 2>err.txt); }
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 9; for (i = 0; i < 800; i++) { a = uniform(); b = uniform()
        print a "," b "," sin(9 * a) * b + 0.1 * uniform() } }' >memory.csv
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 9; for (i = 0; i < 1900; i++) { a = uniform(); b = uniform()
        print a "," b "," sin(9 * a) * b + 0.1 * uniform() } }' >large.csv
runs_limited=0
limited 90000 --data memory.csv --basis coupled --beta 9 --iters 2 && runs_limited=1
if [ $runs_limited = 1 ]; then
    limited 30000 --data large.csv --basis exact
    check "memory: a model that does not fit names one that may" sh -c '[ $1 -eq 1 ] && grep -Eq "^odvgp: out of memory: a model of --basis exact with 1900 points takes [0-9.]+ MB; --basis sgpr --beta [0-9]+ may fit$" err.txt' sh $?
    less=$(sed -n 's/.*MB; \(.*\) may fit$/\1/p' err.txt)
    # shellcheck disable=SC2086
    check "memory: which does" limited 30000 --data large.csv $less --iters 2 --warm off
fi
full || return 0 # the races that follow take a minute
if [ $runs_limited = 1 ]; then
    limited 90000 --data large.csv
    check "race: what has no memory is left out, which is said" sh -c '[ $1 -eq 0 ] && grep -Eq "^  left out: [0-9]+ of at least [0-9.]+ MB each, too much for this machine$" err.txt &&
        grep -q "  chosen$" err.txt && ! grep -q "  exact" err.txt' sh $?
    limited 32000 --data memory.csv --kernel "matern52(ard)"
    check "race: none where only the first candidate fits" sh -c '[ $1 -eq 0 ] && grep -Eq "^auto: no race: each of the other candidates takes at least [0-9.]+ MB" err.txt' sh $?
fi
# With --minutes: the race and the training of its winner.
race --data grid.csv --auto-tries 4 --minutes 0.1 --model timed.odvgp >t.json 2>err.txt
check "race: with --minutes, which it keeps" sh -c 'grep -q "^auto: a race of 4 candidates; .* about 6.0 s" err.txt &&
    grep -q "^race on 240 rows" err.txt && grep -q "^auto: .* --minutes 0.1 .*goes on" err.txt &&
    test "$(grep -c "  chosen$" err.txt)" = 1'
"$tool" info --model timed.odvgp >info.txt
check "race: and what was tried is in its model" grep -q '^tried  *race on 240 rows' info.txt
# What Linux says of the program while it runs.
most_memory() {
    "$tool" train --threads 1 --quiet "$@" >/dev/null 2>&1 &
    pid=$!
    most=0
    while kill -0 $pid 2>/dev/null; do
        kb=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$pid/status 2>/dev/null)
        most=${kb:-$most}
        sleep 0.02
    done
    wait $pid
}
if grep -q '^VmHWM' /proc/self/status 2>/dev/null; then
    race --data memory.csv --model t.odvgp >t.json 2>err.txt
    said=$(sed -n 's/.* at most about \([0-9.]*\) MB$/\1/p' err.txt)
    most_memory --data memory.csv --model t.odvgp
    check "race: the memory is what was said within a fifth" holds \
        "1.024e-3 * $most < 1.2 * $said && $said < 1.2 * 1.024e-3 * $most"
fi
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 7; for (i = 0; i < 280; i++) { a = uniform(); b = uniform()
        print a "," b "," sin(40 * a) * cos(30 * b) + 0.1 * uniform() } }' >few.csv
race --data few.csv --model few.odvgp >t.json 2>err.txt
check "race: exact where there are few rows" test "$(values t.json basis beta)" = "exact 280"
check "race: folds of few rows, which all train" test \
    "$(grep -c '^race by 5 folds of 280 rows, less a nat for each hyperparameter; it adds' err.txt) $(grep -c '; goes on$' err.txt)" = "1 1"
check "race: by folds there are more candidates, with sums of two kernels" test \
    "$(grep -c '^auto: a race of 7 candidates' err.txt) $(grep -c '^  exact .* + matern32(0.3, .* loglik ' err.txt)" = "1 2"
race --data few.csv --threads 2 --model again.odvgp >t2.json 2>err2.txt
for name in few again; do "$tool" predict --model $name.odvgp --data few.csv --out $name.txt >/dev/null 2>&1; done
check "race: by folds the same bits with two threads" cmp few.txt again.txt
chosen=$(sed -n 's/^auto: [0-9]* rows: \(.*\); goes on.*/\1/p' err.txt)
eval "race --data few.csv --model told.odvgp $chosen" >t2.json 2>err2.txt
check "race: by folds its options repeat it" holds "$(value t.json elbo) > $(value t2.json elbo) - 1"
check "race: and says what that costs" grep -Eq \
    '^note: exact.*: a file of [0-9.]+ MB, about [0-9.]+ us a row; sgpr [0-9]+: .*, loglik [0-9.]+ lower' err.txt
size=$(sed -n 's/^note: exact[^;]*: a file of \([0-9.]*\) MB.*/\1/p' err.txt | head -n 1)
check "race: the size is that of the file, but for the tool's part" holds \
    "$size <= 1.001e-6 * $(wc -c <few.odvgp) && $size > 0.9e-6 * $(wc -c <few.odvgp)"
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    function normal() { return sqrt(-2 * log(uniform())) * cos(6.2831853 * uniform()) }
    BEGIN { seed = 7; for (i = 0; i < 280; i++) { a = normal(); print exp(2 * a) - exp(-2 * a) "," sin(6 * a) + 0.05 * normal() } }' >tails.csv
race --data tails.csv --model tails.odvgp >t.json 2>err.txt
check "race: and it says better only where that is more than the standard error" holds \
    "$(sed -n 's/^  better than the first by \([-0-9.]*\) +- \([0-9.]*\) a row$/\1 > \2/p' err.txt)"
check "race: a column with long tails gets another scale where validation gains" sh -c '
    grep -q "^auto: .* --transform all=asinh " err.txt && "$1" info --model tails.odvgp | grep -q "^scales   asinh"' sh "$tool"
chosen=$(sed -n 's/^auto: [0-9]* rows: \(.*\); goes on.*/\1/p' err.txt)
eval "race --data tails.csv --model told.odvgp $chosen" >t2.json 2>err.txt
check "race: which its options repeat" holds \
    "$(value t.json elbo) > $(value t2.json elbo) - 1 && $(value t.json elbo) < $(value t2.json elbo) + 1"
"$tool" predict --model tails.odvgp --data tails.csv --out raced.csv 2>/dev/null >/dev/null
check "race: and predictions apply" holds "$(paste -d, raced.csv tails.csv | awk -F, 'NR > 1 {
    d = $1 - last; s += d * d; n++ } { last = $NF } END { print s / n }') < 0.05"
# made SEED ROWS PROGRAM: rows with uniform() and normal() of awk.
made() {
    awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    function normal() { return sqrt(-2 * log(uniform())) * cos(6.2831853 * uniform()) }
    BEGIN { seed = '"$1"'; for (i = 0; i < '"$2"'; i++) { '"$3"' } }'
}
# tried TEXT: is it in the table of what was tried?
tried() { sed -n '/^race /,$p' err.txt | grep -q -e "$1"; }
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
# More rows than an exact candidate sees in the race, and a function with steps along columns.
made 21 4700 'a = normal(); b = normal(); d = normal(); print a "," b "," d "," (a > 0.3) + (b > 0) * (d > -0.4) + 0.05 * normal()' >steps.csv
race --data steps.csv --test-fraction 0.1 --model t.odvgp >t.json 2>err.txt
check "race: an exact candidate of some rows wins with laplacian" tried '^  exact .*laplacian.*  chosen$'
check "race: and goes on with all of them" sh -c '
    grep -q "^auto: 4230 rows: --basis exact --kernel \".*laplacian.*\" --calibrate on --warm 1000:40; goes on with all rows$" err.txt' sh
check "race: whose model has them" test "$(values t.json basis beta)" = "exact 4230"
# Short --minutes: exact candidates that have seen 700 or 1,000 rows race without a step, and the winner gets
# as many rows as the rest of the time has room for. The model has all of them on a fast machine.
brief() { took=$(seconds sh -c '"$@" >t.json 2>err.txt' sh "$tool" train --threads 1 --json --data steps.csv --minutes 0.25 --model t.odvgp); }
brief
check "race: a brief one takes no step of exact candidates, or few" tried '^  exact .*laplacian.* step     [0-6] of     [0-6] .*  chosen$'
check "race: whose winner has seen some rows, and then perhaps more" grep -Eq \
    '^auto: 4700 rows: --basis exact .*(--train-rows [34][0-9]* )?--calibrate on --minutes 0.25 --warm (700|1000):40; goes on with' err.txt
check "race: and has 3,000 rows or more" holds "$(value t.json beta) >= 3000 && $(value t.json beta) <= 4700"
check "race: which the model keeps" sh -c '"$1" info --model t.odvgp | grep -q "^ *exact .* step     [0-6] of     [0-6] .* chosen$"' sh "$tool"
# Rows in the order of a column: the first ones are of its small values alone, random ones are not.
made 5 4700 'a = i / 4700; b = uniform(); c = uniform(); print a "," b "," c "," sin(9 * a + 3 * b) + cos(5 * c * a) + 0.05 * (uniform() - 0.5)' >sorted.csv
race --data sorted.csv --minutes 0.25 --train-rows 4600 --model s.odvgp >s.json 2>err.txt
check "race: exact candidates of some rows have random ones" holds \
    "$(sed -n 's/^  exact   .*loglik *\([-0-9.]*\).*/\1/p' err.txt) > 1.5"
rows=$(value s.json n_train)
check "race: --train-rows is kept, or fewer are said" sh -c '
    if [ "$1" = 4600 ]; then grep -q "^auto: 4600 rows: .*; goes on with all rows$" err.txt
    else grep -q "^auto: 4600 rows: .*--train-rows $1 .*; goes on with $1 of them$" err.txt; fi' sh "$rows"
in_time() { holds "$took < 17.75" || { brief && holds "$took < 17.75"; }; }
check "race: in the time" in_time
# Where there is room for a brief race and no more, SGPR begins with some rows and takes few steps in it.
if full; then
    for minutes in 0.07 0.1 0.14 0.2 0.3; do
        race --data steps.csv --minutes $minutes --model t.odvgp >t.json 2>err.txt
        tried '^  exact .* step     0 of     0 ' && break
    done
    check "race: few steps of SGPR in a brief one" tried '^  sgpr [0-9]* .* step  *\([0-9]\|1[0-2]\) of'
fi
# Of more than 20,000 rows an exact model of some may be far better than a sparse one of all.
if full; then
    made 6 22000 'a = uniform(); b = uniform(); c = uniform(); d = uniform(); print a "," b "," c "," d "," sin(20 * a + 9 * b) + cos(25 * c * d) + sin(20 * b * d)' >many.csv
    for minutes in 0.14 0.2 0.3 0.5; do
        race --data many.csv --minutes $minutes --model t.odvgp >t.json 2>err.txt
        tried '^  exact .* step ' && break
    done
    check "race: a brief one of many rows" tried '^  exact .* step .*  chosen$'
    check "race: whose winner has some of them" holds "$(value t.json beta) >= 3000 && $(value t.json beta) < 22000"
    check "race: beside minibatches" tried '^  solve 300+300 .* step '
    # Each row four times: no exact model, and time for SGPR before minibatches.
    { cat many.csv many.csv; cat many.csv many.csv; } | head -n 60000 >copies.csv
    interrupted '^warm start' t.json train --data copies.csv --auto-tries 1 --minutes 9 --threads 1 --model t.odvgp
    check "auto: all rows in the last warm start" grep -q -e '--basis solve .* --warm 4000:.*,60000:[0-9]*:300 ' int.err
    # At few distinct inputs SOLVE-GP has all as points, and a reader keeps none of these for warm starts.
    made 7 24000 'a = int(12 * uniform()); b = int(10 * uniform()); print a "," b "," sin(9 * a + 3 * b) + 0.1 * uniform()' >cells.csv
    interrupted '^warm start' t.json train --data cells.csv --auto-tries 1 --minutes 9 --threads 1 --model t.odvgp
    check "auto: few distinct inputs are all points" grep -q -e '--basis solve --beta 60 --gamma 60 .*,24000:[0-9]*:120 ' int.err
    race --data cells.csv --auto-tries 1 --memory 10000 --minutes 0.15 --model t.odvgp >t.json 2>err.txt
    check "auto: no warm start of all rows on the disk" holds "$(value t.json beta) == 60"
fi
# Many inputs, of which three matter: where a race does not fit SGPR begins with the evidence of some rows.
if full; then
    awk 'BEGIN { srand(3); for (i = 0; i < 2600; i++) { s = 0
        for (k = 0; k < 60; k++) { v = rand(); if (k < 3) s += sin(4 * v); printf "%.4f,", v }
        print s + 0.2 * rand() } }' >inputs.csv
    for minutes in 0.1 0.14 0.2 0.3; do
        race --data inputs.csv --minutes $minutes --test-fraction 0.1 --model w.odvgp --json >w.json 2>w.txt
        grep -q -e '--basis sgpr .*--warm 700:30:700' w.txt && break
    done
    check "SGPR of many inputs begins with the evidence of some rows" grep -q -e '--basis sgpr .*--warm 700:30:700' w.txt
    check "and finds those that matter" holds "$(value w.json rmse) < 0.2"
fi
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
"$tool" train --data some.csv --threads 1 --set lik.nodes=8 --model few.odvgp >t.txt 2>err.txt
check "race: nothing is said without --auto-tries" sh -c '! grep -q "race" err.txt'
check "refused: --auto-tries with --folds" refuses "--folds and --auto-tries exclude each other" train --data plain.csv --folds 3 --auto-tries 3
head -n 600 labels.csv >some.csv
race --data some.csv --auto-tries 2 --set lik.nodes=8 --model labels.odvgp >t.json 2>err.txt
check "race: of classes" test "$(grep -c '  chosen$' err.txt) $(value t.json likelihood)" = "1 softmax"
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 3; for (i = 0; i < 100000; i++) { a = int(12 * uniform()); print a "," sin(a) + uniform() } }' >many.csv
race --data many.csv --auto-tries 1 --model many.odvgp >t.json 2>err.txt
check "auto: SOLVE-GP for many rows, which validation rows end" test \
    "$(values t.json basis stopped n_train) $(grep -c -e '--patience 5 --fit-q end; at most about' err.txt)" = \
    "solve patience 95000 1"
for bad in 0 9 x; do
    check "refused: --auto-tries $bad" refuses "--auto-tries $bad" train --data grid.csv --auto-tries $bad \
        --model bad.odvgp
done
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 9; for (i = 0; i < 2400; i++) { a = uniform(); print a "," uniform() "," sin(9 * a) } }' >slow.csv
interrupted "race: " t.txt train --data slow.csv --threads 1 --auto-tries 4 --model stopped.odvgp
check "race: Ctrl-C ends it" test $? -eq 130
# Before the first warm start is over there is nothing to save.
check "race: and keeps the best so far" sh -c '
    if [ -e stopped.odvgp ]; then "$1" info --model stopped.odvgp && grep -q "^race: stopped; the best so far is kept: " int.err
    else grep -q "before the first step: no model" int.err; fi' sh "$tool"
check "race: and nothing is announced that will not be" sh -c '! grep -q "^auto: .*--basis" int.err'
# A score is told when it is there, and from then on there is a model to save.
interrupted ' has loglik ' t.txt train --data steps.csv --threads 1 --minutes 0.25 --model first.odvgp
check "race: from its first score on there is a model" sh -c '"$1" info --model first.odvgp >t.txt' sh "$tool"
