# Options chosen from the time, warm starts, checkpoints: part of tests/tool/tool.sh, which reads this file.

# ---- auto, warm starts, checkpoints ----
"$tool" train --data plain.csv --threads 1 --auto-tries 1 --model auto.odvgp --json >t.json 2>err.txt
chosen=$(sed -n 's/^auto: [0-9]* rows: \(.*\); about.*/\1/p' err.txt)
check "auto: a third of the rows are points of sgpr, by L-BFGS" test \
    "$(values t.json basis optimizer)" = "sgpr lbfgs"
# shellcheck disable=SC2086
"$tool" train --data plain.csv --threads 1 --model told.odvgp --json $chosen >t2.json 2>err.txt
check "auto: its options, given, find the same bound" test \
    "$(values t.json elbo noise_variance iters)" = "$(values t2.json elbo noise_variance iters)"
for name in auto told; do \
    "$tool" predict --model $name.odvgp --data plain.csv --out $name.csv >/dev/null 2>&1; done
check "auto: its options, given, predict the same bits" cmp auto.csv told.csv
check "auto: options of steps mean orth" test \
    "$(train --data plain.csv --model t.odvgp --json >t.json; value t.json basis)" = orth
# All of a few distinct inputs are points: a function of eight levels is not their mean.
awk 'BEGIN { srand(8); for (i = 0; i < 400; i++) printf "%d,%.4f\n", i % 8, (i * 5) % 8 + 0.1 * rand() }' >levels.csv
for basis in auto sgpr coupled; do
    "$tool" train --data levels.csv --basis $basis --iters 300 --test-fraction 0.2 --quiet --model t.odvgp --json >t.json
    check "few distinct inputs: --basis $basis" holds "$(value t.json rmse) < 0.1"
done
# With many classes fewer points leave time for steps.
awk 'BEGIN { srand(8); for (i = 0; i < 900; i++) printf "%.4f,%.4f,c%d\n", rand(), rand(), i % 150 }' >t.csv
if full; then
    "$tool" train --data t.csv --minutes 0.02 --threads 1 --quiet --model t.odvgp --json >t.json
    check "--minutes: fewer points for 150 classes" holds "$(value t.json beta) < 100"
fi
for warm in off 50:30 50:30,100:10:20 100:30:0:0.05; do
    train --data plain.csv --basis orth --beta 10 --iters 20 --warm $warm --model t.odvgp --json >t.json
    eval "elbo_${warm%%:*}=$(value t.json elbo)"
done
check "warm: a higher bound after as many steps" holds "$elbo_50 > $elbo_off"
check "warm: by Adam, too" holds "$elbo_100 > $elbo_off"
for bad in on 0:10 10 50:x 50:30:0x 50:30:9: 50:30:9:0 50:30:9:2; do
    check "refused: --warm $bad" refuses "--warm $bad" train --data plain.csv --warm $bad \
        --model bad.odvgp
done

# ---- time ----
# A twentieth of a minute is kept within 5 %, and the step sizes have fallen by 95 to 105 % of the steps.
minutes_kept() {
    took=$(seconds sh -c '"$@" >t.json 2>err.txt' sh "$tool" train --data plain.csv --threads 1 "$@" \
        --minutes 0.05 --model min.odvgp --json)
    [ "$(value t.json stopped)" = minutes ] && holds "$took > 2.85 && $took < 3.15"
}
steps_fell() {
    done=$(value t.json iters)
    "$tool" train --data plain.csv --resume min.odvgp --iters $((2 * done)) --minutes 0.001 --model t.odvgp \
        >t.txt 2>err.txt
    over=$(sed -n 's/.* fall over \([0-9]*\) steps.*/\1/p' err.txt)
    holds "$over > 0.95 * $done && $over < 1.05 * $done"
}
if full; then
    check "--minutes is kept within 5 %" three_times minutes_kept --basis orth --beta 40
    check "--minutes: step sizes fall over it" steps_fell
fi
# Machines differ, so what is announced is compared with a second training on the same one, in
# processor seconds of one thread; bench/first_hour.md has seconds of a free machine.
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 7; for (i = 0; i < 1500; i++) { a = uniform(); b = uniform(); c = uniform()
        print a "," b "," c "," sin(9 * a + 3 * b) + c * c + uniform() } }' >timed.csv
said_by_took() { # points of beta
    times >before.txt
    "$tool" train --data timed.csv --threads 1 --beta "$1" --model t.odvgp >t.txt 2>err.txt
    times >after.txt
    took=$(processor_seconds)
    sed -n 's/^auto: .*; about \([0-9.]*\) s, .*/\1/p' err.txt | awk -v took="$took" '{ print $1 / took }'
}
announced() {
    large=$(said_by_took 150) small=$(said_by_took 75)
    holds "$large > 0 && $large < 1.5 * $small && $small < 1.5 * $large"
}
full && check "auto: the time is announced within a factor of 1.5 of another training's" three_times announced

# killed ARGUMENTS...: a training with checkpoints is killed after the first one; all that is left is
# MODEL.part. The steps cannot end before.
killed() {
    rm -f dead.odvgp dead.odvgp.part
    "$tool" train --threads 1 --quiet --checkpoint 0.001 --model dead.odvgp "$@" >/dev/null 2>&1 &
    victim=$!
    while [ ! -f dead.odvgp.part ] && kill -0 $victim 2>/dev/null; do sleep 0.01; done
    kill -9 $victim 2>/dev/null
    wait $victim 2>/dev/null
    rm -f dead.odvgp.part.*.tmp
    [ -f dead.odvgp.part ] && [ ! -f dead.odvgp ]
}
for basis in orth sgpr; do
    steps=$(size 800 400)
    few="--basis $basis --beta 60 --iters $steps --warm 100:5"
    # shellcheck disable=SC2086
    "$tool" train --data plain.csv --threads 1 --quiet $few --checkpoint 0 --model one.odvgp >/dev/null
    # shellcheck disable=SC2086
    check "checkpoint: $basis, killed" killed --data plain.csv $few
    check "checkpoint: $basis, resumed" "$tool" train --data plain.csv --threads 1 --quiet \
        --iters "$steps" --resume dead.odvgp --model dead.odvgp
    for model in one dead; do
        "$tool" predict --model $model.odvgp --data plain.csv --out $model.csv >/dev/null 2>&1
    done
    check "checkpoint: $basis, the bits of a run that was not killed" cmp one.csv dead.csv
    check "checkpoint: $basis, none is left" test ! -e dead.odvgp.part
done
for basis in orth sgpr solve-collapsed; do
    for every in 0 1e-9; do
        fit --data plain.csv --basis $basis --beta 20 --warm off --iters 5 --checkpoint $every \
            --model every$every.odvgp
    done
    check "checkpoint: $basis, one after each step changes no bit of the model" \
        cmp every0.odvgp every1e-9.odvgp
done
