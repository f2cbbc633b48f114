# --auto-tries, the race of candidates on rows held out: part of tests/tool/tool.sh, which reads this file.

# Few distinct inputs, so that points are few and a training takes a second.
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 5; for (i = 0; i < 2400; i++) { a = int(8 * uniform()); b = int(8 * uniform())
        print a "," b "," sin(a) + b * b / 9 + 0.2 * uniform() } }' >grid.csv
awk -F, '{ print int($1 / 3) "," int($2 / 3) ",c" int((int($1 / 3) + int($2 / 3) + $3 / 4) % 3) }' grid.csv >labels.csv
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
