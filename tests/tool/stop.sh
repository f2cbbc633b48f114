# Signals and time limits: part of tests/tool/tool.sh, which reads this file.

# ---- a signal ends every phase within a second ----
# 20,000 rows of six inputs, on which each phase takes longer than the tests wait.
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 3; for (i = 0; i < 20000; i++) { line = ""; y = 0
        for (k = 0; k < 6; k++) { x = uniform(); line = line sprintf("%.4f,", x); y += sin((k + 1) * 3 * x) }
        printf "%s%.4f\n", line, y + 0.1 * uniform() } }' >wide.csv
# Sanitizers make what happens between two looks at the signal or clock several times as long.
case $tool in */sanitize/*) second=6 grace=10 longer=30 ;; *) second=1.2 grace=2 longer=6 ;; esac
# ends PHASE CODE ARGUMENTS...: sends $signal once stderr tells of the phase; is the exit code CODE, and
# did it come within a second? Seconds are the processor's where /proc tells them, so that programs
# beside this one do not count.
ends() {
    phase=$1 want=$2
    shift 2
    rm -f int.err stop.odvgp
    "$tool" "$@" --threads 1 >stop.txt 2>int.err &
    pid=$!
    waits_for "$phase" int.err
    used=$(awk -v ticks="$(getconf CLK_TCK)" '{ print $14 / ticks }' /proc/$pid/stat 2>/dev/null)
    from=$(clock)
    times >before.txt
    kill -${signal:-INT} $pid
    wait $pid
    code=$?
    times >after.txt
    if [ -n "$used" ]; then took=$(echo "$(processor_seconds) $used" | awk '{ print $1 - $2 }')
    else took=$(echo "$(clock) $from" | awk '{ print $1 - $2 }'); fi
    [ $code -eq "$want" ] && holds "$took < $second" && return 0
    echo "      code $code after $took s: $(tail -n 1 int.err)" >&3
    return 1
}
head -n 300 wide.csv >little.csv
large="train --data wide.csv --model stop.odvgp"
# shellcheck disable=SC2086
{
    signal=TERM
    check "stop: the first warm start" three_times ends '^warm start 1 of 1: ' 143 $large --beta 800 --warm 20000:60
    signal=
    check "stop: no model then" test ! -e stop.odvgp
    check "stop: and this is said" grep -q '^odvgp: stopped by a signal before the first step: no model' int.err
    check "stop: an evaluation" three_times ends '^predictions: ' 130 train --data little.csv --test wide.csv \
        --model stop.odvgp --layers 'coupled:dim=6; coupled' --beta 100 --set deep.predict_samples=500 --iters 1
    check "stop: the model is saved" "$tool" info --model stop.odvgp
    mv stop.odvgp deep.odvgp
    # Shells start background jobs without SIGINT.
    signal=TERM
    full && check "stop: predictions" three_times ends '^predictions: ' 143 predict --model deep.odvgp --data wide.csv
    signal=
    if [ "${ODVGP_TEST_LONG:-0}" != 0 ]; then
        check "stop: a race" three_times ends '^race: .* trains: ' 130 $large
        check "stop: its best model so far is saved" "$tool" info --model stop.odvgp
        check "stop: and this is said" grep -q '^race: stopped; the best so far is kept: ' int.err
        check "stop: initial values" three_times ends '^initial values: ' 130 $large --basis coupled --beta 6000 --init farthest
        check "stop: the second warm start" three_times ends '^warm start 2 of 2: ' 130 $large --basis sgpr --beta 200 \
            --warm 500:5:50,20000:500:200
        check "stop: the model of the first one is saved" "$tool" info --model stop.odvgp
        check "stop: q's optimum" three_times ends "^q's optimum: " 130 $large --basis orth --beta 500 --gamma 2500 \
            --warm off --fit-q start
        check "stop: a long step" three_times ends '^step 1/10 ' 130 $large --basis orth --beta 2000 --gamma 3000 \
            --warm off --iters 10
        check "stop: the bound on all rows" three_times ends '^bound on all rows: ' 130 $large --basis solve --beta 1500 \
            --gamma 1500 --warm off --iters 1
        check "stop: the model is saved" "$tool" info --model stop.odvgp
    fi
}

# ---- warm starts are a quarter of a training whose sizes or steps are given ----
# warms TEXT ARGUMENTS...: does stderr hold the line TEXT (none: ''), and none else about warm starts?
warms() {
    text=$1
    shift
    "$tool" train --data plain.csv --basis coupled --beta 12 --threads 1 --model t.odvgp "$@" >t.txt 2>err.txt
    [ "$(grep 'warm' err.txt)" = "$text" ] && return 0
    echo "      $(grep warm err.txt)" >&3
    return 1
}
quarter="note: warm starts get a quarter of the training's operations:"
check "warm start: none where a quarter has no room for ten iterations" warms \
    "$quarter fewer than 10 iterations, so there is none (--warm off)" --iters 15
check "warm start: fewer iterations of L-BFGS, and no Adam" sh -c '
    "$1" train --data plain.csv --basis coupled --beta 12 --threads 1 --model t.odvgp --iters 150 >t.txt 2>err.txt
    grep -q "operations: --warm 200:[1-5][0-9]\$" err.txt' sh "$tool"
check "warm start: all of it in a long training, without a word" warms '' --iters 1500
check "warm start: which is kept" sh -c '
    "$1" train --data plain.csv --resume t.odvgp --iters 1501 --model t.odvgp --json >t.json 2>err.txt &&
    grep -q "200:100:0:0.03,200:60" t.odvgp' sh "$tool"
check "warm start: one that is asked for is not shortened" warms '' --iters 15 --warm 200:60
check "warm start: of --basis auto without sizes neither" sh -c '
    "$1" train --data plain.csv --threads 1 --auto-tries 1 --model t.odvgp >t.txt 2>err.txt &&
    grep -q "^auto: .* --warm 200:100:[0-9]*:0.03;" err.txt && ! grep -q "a quarter" err.txt' sh "$tool"

# ---- --minutes: kept within 5 % and two seconds for any sizes, or refused with those that fit ----
# keeps SECONDS ARGUMENTS...: `refused` holds what fits, or nothing.
keeps() {
    limit=$1 refused=
    shift
    took=$(seconds sh -c '"$@" >t.txt 2>err.txt; echo $? >code.txt' sh "$tool" train --threads 1 --model t.odvgp \
        --minutes "$(awk "BEGIN { print $limit / 60 }")" "$@")
    code=$(cat code.txt)
    [ "$code" = 2 ] && refused=$(sed -n 's/.* is too short for beta .*; what fits is \(.*\)/\1/p' err.txt)
    holds "$took < 1.05 * $limit + $grace" && [ "$code" = 0 ] || [ -n "$refused" ]
}
takes() { keeps "$@" && [ -z "$refused" ]; }
head -n 2000 wide.csv >less.csv
for sizes in 'wide.csv --basis orth --beta 1500 --gamma 3500' 'wide.csv --basis sgpr --beta 700' \
    'less.csv --basis exact' 'less.csv --basis coupled --beta 150'; do
    full || [ "$sizes" = 'less.csv --basis exact' ] || continue
    # shellcheck disable=SC2086
    check "--minutes: $sizes" three_times keeps 2 --data $sizes
done
check "refused: --minutes, and what fits" keeps 1 --data wide.csv --basis sgpr --beta 4000
check "refused: sizes" sh -c 'echo "$1" | grep -q "^--beta [1-9][0-9]*, or --minutes [0-9.]*$"' sh "$refused"
size=${refused%%, or*}
# shellcheck disable=SC2086
check "--minutes: which do" three_times takes 1 --data wide.csv --basis sgpr $size
# Whatever the machine does meanwhile: these sizes are the tool's own.
awk -F, '{ printf "%s,%s,%s,%s,%s,%s,level %d\n", $1, $2, $3, $4, $5, $6, 3 * $7 % 7 }' wide.csv >levels.csv
check "--minutes: sizes of its own are not refused" three_times keeps 0.5 --data levels.csv
check "--minutes: and are trained" test -z "$refused"
# Test rows for which there is no time: some of them are scored, and steps come first.
scores_some() {
    for samples in 1000 200 50; do
        "$tool" train --data little.csv --test wide.csv --threads 1 --model t.odvgp --minutes 0.05 --beta 100 --json \
            --layers 'coupled:dim=6; coupled' --set deep.predict_samples=$samples >t.json 2>err.txt || return
        scored=$(value t.json n_scored)
        grep -q "^note: --minutes leave time for predictions of $scored of the 20000 test rows" err.txt && return
    done
    return 1
}
steps_stay() {
    scores_some && "$tool" train --data little.csv --threads 1 --model t.odvgp --minutes 0.05 --beta 100 --json \
        --layers 'coupled:dim=6; coupled' >t2.json 2>err.txt && holds "$(value t.json iters) > 0.4 * $(value t2.json iters)"
}
if full; then
    check "--minutes: some of many test rows are scored, and most of the steps stay" three_times steps_stay
    check "--minutes: which is what is told" holds "$scored > 200 && $scored < 20000 && $(value t.json rmse) > 0"
fi
# The model of all rows, which --calibrate makes at the end, is not one more to refuse.
calibrates() {
    for beta in 300 200 100; do
        keeps $longer --data levels.csv --basis coupled --beta $beta --calibrate on --warm off || return
        # A machine that is too slow for so many points says so before the first step.
        [ -n "$refused" ] && holds "$took < $longer / 2" || break
    done
}
if full; then
    check "--minutes: a calibration" three_times calibrates
    check "--minutes: which is not refused" test -z "$refused"
fi
