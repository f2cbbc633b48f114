# Bases, optimisers, starts, layers: part of tests/tool/tool.sh, which reads this file.

# ---- bases without q, the best q ----
for basis in sgpr solve-collapsed exact; do
    train --data named.csv --test-fraction 0.2 --basis $basis --beta 12 --gamma 20 --batch 7 \
        --model c.odvgp --json >c.json
    check "$basis: learns, on all rows" \
        holds "$(value c.json rmse) < 0.6 && $(value c.json batch) == 160"
    check "$basis: named in the JSON" \
        test "$(value c.json basis) $(value c.json natgrad)" = "$basis false"
    "$tool" info --model c.odvgp >info.txt
    check "$basis: info" \
        sh -c \
        'grep -q "^model    $1, beta " info.txt &&
            grep -q "^method   objective [ce].*, natgrad off" info.txt' \
        sh $basis
    "$tool" predict --model c.odvgp --data named.csv --out pred.csv --json >pred.json
    check "$basis: its file predicts" holds "$(value pred.json rmse) < 0.6"
done
check "exact: a beta point at each row" test \
    "$(values c.json beta gamma objective upper_bound)" \
    = "160 0 exact null"
fit --data plain.csv --basis sgpr --beta 12 --optimizer adam --model one.odvgp
fit --data plain.csv --basis sgpr --beta 12 --optimizer adam --iters 12 --model part.odvgp
fit --data plain.csv --resume part.odvgp --model whole.odvgp
for model in one whole; do \
    "$tool" predict --model $model.odvgp --data plain.csv --out $model.csv >/dev/null; done
check "sgpr: resumed, the same bits are predicted" cmp one.csv whole.csv
train --data plain.csv --basis sgpr --beta 12 --model t.odvgp --trace t.csv --test-fraction 0.2 \
    --json >t.json
train --data plain.csv --basis sgpr --beta 12 --model t2.odvgp --json --test-fraction 0.2 >t2.json
check "sgpr: evaluations do not change the training" cmp t.odvgp t2.odvgp
check "sgpr: predicts at each evaluation" awk -F, 'NR > 1 && !($4 > 0 && $4 < 1) { exit 1 }' t.csv
train --data plain.csv --basis exact --iters 0 --model t.odvgp --json >exact.json
for basis in sgpr solve-collapsed; do
    train --data plain.csv --basis $basis --beta 40 --gamma 30 --iters 0 --model t.odvgp --json \
        >t.json
    check "$basis: below the evidence, and that below the upper bound" holds \
        "$(value t.json elbo) < $(value exact.json elbo) &&
            $(value exact.json elbo) < $(value t.json upper_bound)"
done
train --data plain.csv --basis coupled --warm off --beta 40 --iters 0 --fit-q start --model t.odvgp --json \
    >t2.json
train --data plain.csv --basis sgpr --beta 40 --iters 0 --model t.odvgp --json >t.json
check "fit-q: coupled with the best q is sgpr" \
    holds "($(value t.json elbo) - $(value t2.json elbo)) ^ 2 < 1e-6"
for when in none start end both; do
    train --data plain.csv --basis coupled --warm off --beta 12 --fit-q $when --model t.odvgp --json >t.json
    eval "elbo_$when=$(value t.json elbo)"
done
check "fit-q: at the end, better than without" \
    holds "$elbo_end > $elbo_none && $elbo_start > $elbo_none && $elbo_both >= $elbo_start"
for basis in coupled orth hybrid decoupled solve diagonal; do
    check "fit-q: $basis" fit --data plain.csv --basis $basis --beta 12 --gamma 20 --iters 5 \
        --fit-q both --model t.odvgp
done
"$tool" train --data plain.csv --basis sgpr --beta 5 --quiet --model t.odvgp --json >t.json
check "sgpr: its own number of steps" test "$(value t.json iters)" -le 1000
fit --data plain.csv --basis solve --beta 12 --gamma 20 --natgrad-blocks alternate --model t.odvgp
check "info: the way of the natural step" \
    sh -c '"$1" info --model t.odvgp | grep -q "natgrad on, natgrad-blocks alternate"' sh "$tool"
"$tool" info --model t.odvgp --json >info.json
check "info: the same in JSON" test \
    "$(value info.json basis) $(value info.json objective) $(value info.json natgrad_blocks)" = \
    "solve elbo alternate"
fit --data plain.csv --basis orth --natgrad-gamma diagonal $steady --iters 12 --model part.odvgp
fit --data plain.csv --basis orth --natgrad-gamma diagonal $steady --model one.odvgp
fit --data plain.csv --resume part.odvgp --model whole.odvgp
check "resume: with gamma's natural step, the same bits" cmp one.odvgp whole.odvgp

# ---- starts ----
elbos=
for init in "--init kmeans" "--init random" "--init greedy" "--init farthest" \
    "--init-gamma residual" "--init-hyper ulapane"; do
    train --data plain.csv --basis solve --beta 12 --gamma 20 --iters 5 $init --model t.odvgp \
        --json >t.json
    elbos="$elbos $(value t.json elbo)"
done
check "starts: each of its own" test "$(echo $elbos | tr ' ' '\n' | sort -u | wc -l)" -eq 6

# ---- L-BFGS ----
train --data plain.csv --basis sgpr --beta 5 --iters 500 --test-fraction 0.2 --model t.odvgp \
    --json >t.json
check "L-BFGS: the default of sgpr, converges" \
    test "$(value t.json optimizer) $(value t.json stopped)" = "lbfgs converged"
check "L-BFGS: says so" \
    sh -c \
    '"$1" info --model t.odvgp | grep -q "objective collapsed, optimizer lbfgs, natgrad off"' sh \
    "$tool"
train --data plain.csv --basis sgpr --beta 5 --iters 500 --lr 0.03 --optimizer adam \
    --test-fraction 0.2 --model t.odvgp --json >t2.json
check "L-BFGS: as far as Adam, and in fewer steps" holds \
    "$(value t.json elbo) > $(value t2.json elbo) - 0.5 &&
        $(value t.json iters) < $(value t2.json iters)"
train --data plain.csv --basis coupled --beta 5 --batch 10 --optimizer lbfgs --iters 300 \
    --model t.odvgp --json >t.json
check "L-BFGS: of q too, on all rows" test \
    "$(value t.json optimizer) $(value t.json natgrad) $(value t.json batch)" = "lbfgs false 200"
fit --data plain.csv --basis orth --optimizer lbfgs --model one.odvgp
fit --data plain.csv --basis orth --optimizer lbfgs --iters 12 --model part.odvgp
fit --data plain.csv --resume part.odvgp --model whole.odvgp
check "L-BFGS: resumed, the same bits" cmp one.odvgp whole.odvgp
# A pipe whose reader waits is a slow disk; the model is written again there, with the results.
mkfifo pipe.odvgp
{ sleep 0.8; cat; } <pipe.odvgp >both.odvgp &
pid=$!
exec 4>pipe.odvgp
fit --data plain.csv --basis orth --optimizer lbfgs --model pipe.odvgp
exec 4>&-
wait $pid
check "a slow disk changes no bit of a model" sh -c \
    'tail -c "$(wc -c <one.odvgp)" both.odvgp | cmp - one.odvgp'

# ---- several layers ----
two="orth:beta=10,gamma=8,dim=3; solve:beta=12,gamma=9"
train --data named.csv --test-mask mask.csv:1 --layers "$two" --iters 300 --lr 0.03 \
    --model deep.odvgp --json --plot deep.svg >deep.json
check "layers: as told" test "$(values deep.json layers basis beta gamma)" = "2 solve 12 9"
check "layers: learns" holds "$(value deep.json rmse) < 0.2 && $(value deep.json loglik) > 0"
check "layers: a picture" grep -q '</svg>' deep.svg
check "layers: info" sh -c '"$1" info --model deep.odvgp | grep -q "orth, 2 inputs, 3 outputs, beta 10"' \
    sh "$tool"
"$tool" predict --model deep.odvgp --data named.csv --out deep.csv --quiet >/dev/null
check "layers: predicts" test "$(wc -l <deep.csv)" -eq 201
"$tool" sample --model deep.odvgp --data named.csv --samples 3 --out deep2.csv --quiet
check "layers: samples" test "$(wc -l <deep2.csv)" -eq 201
constant="--lr 0.01 --natgrad-step 0.1"
# shellcheck disable=SC2086 # two options
fit --data plain.csv --layers "$two" $constant --model one.odvgp
# shellcheck disable=SC2086
fit --data plain.csv --layers "$two" $constant --iters 12 --model part.odvgp
fit --data plain.csv --resume part.odvgp --iters 30 --model whole.odvgp
check "layers: resumed, the same bits" cmp one.odvgp whole.odvgp
check "layers: blanks" fit --data plain.csv --layers "hybrid:dim=2 , beta=5 ; orth " --model t.odvgp
for wrong in "orth; orth;=3" ";orth=1" "orth;;orth=2" ""=1; do
    check "layers: refuses '${wrong%=*}'" refuses "--layers '${wrong%=*}': item ${wrong#*=} is empty" \
        train --data plain.csv --iters 1 --layers "${wrong%=*}" --model wrong.odvgp
done
check "layers: a key twice" refuses "'dim=4': dim is given twice" train --data plain.csv \
    --iters 1 --layers "orth:dim=3,dim=4; orth" --model wrong.odvgp
for size in beta gamma; do
    check "layers: $size above the rows" refuses "--layers: $size=1000 of layer 0: there are only 200 distinct" \
        train --data plain.csv --iters 1 --layers "orth:$size=1000;orth" --model wrong.odvgp
done
for wrong in "coupled; nonsense" "coupled:beta=0; coupled" "coupled:beta; coupled" \
    "coupled; coupled:dim=2" "sgpr; coupled" "coupled;coupled;coupled;coupled" "coupled:hat=3" \
    "coupled beta=3; coupled"; do
    check "layers: refuses '$wrong'" refuses --layers train --data plain.csv --layers "$wrong" \
        --model wrong.odvgp
done
check "layers: another basis" refuses contradicts train --data plain.csv --basis orth \
    --layers "orth; coupled" --model wrong.odvgp
"$tool" train --data plain.csv --layers "decoupled:beta=8,gamma=8; coupled:beta=8" --iters 2 --model wrong.odvgp \
    >t.txt 2>err.txt
check "layers: natural gradients that a layer lacks" grep -q '^note: .*no natural gradients' err.txt
check "layers: no optimum of q" refuses --fit-q train --data plain.csv --fit-q end \
    --layers "coupled; coupled" --model wrong.odvgp

# ---- exact regression on targets without noise ----
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 4; for (i = 0; i < 300; i++) { a = uniform(); b = uniform(); printf "%.9f,%.9f,%.12f\n", a, b, sin(5 * a) * b + b * b } }' >clean.csv
"$tool" train --data clean.csv --basis exact --test-fraction 0.3 --threads 1 --quiet --json --model t.odvgp >t.json
check "exact: learns targets without noise, whose kernel would be rounding beside the noise" holds "$(value t.json rmse) < 0.01 && $(value t.json loglik) > 4"
