# Races of exact candidates that have seen some of the rows, and those of --minutes: part of tests/tool/tool.sh,
# which reads this file.
full || return 0
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
for minutes in 0.07 0.1 0.14 0.2 0.3; do
    race --data steps.csv --minutes $minutes --model t.odvgp >t.json 2>err.txt
    tried '^  exact .* step     0 of     0 ' && break
done
check "race: few steps of SGPR in a brief one" tried '^  sgpr [0-9]* .* step  *\([0-9]\|1[0-2]\) of'
# Of more than 20,000 rows an exact model of some may be far better than a sparse one of all.
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
# Many inputs, of which three matter: where a race does not fit SGPR begins with the evidence of some rows.
made 3 2600 's = 0; for (k = 0; k < 60; k++) { v = uniform(); if (k < 3) s += sin(4 * v); printf "%.4f,", v }
    print s + 0.2 * uniform()' >inputs.csv
for minutes in 0.1 0.14 0.2 0.3; do
    race --data inputs.csv --minutes $minutes --test-fraction 0.1 --model w.odvgp --json >w.json 2>w.txt
    grep -q -e '--basis sgpr .*--warm 700:30:700' w.txt && break
done
check "SGPR of many inputs begins with the evidence of some rows" grep -q -e '--basis sgpr .*--warm 700:30:700' w.txt
check "and finds those that matter" holds "$(value w.json rmse) < 0.2"
# A score is told when it is there, and from then on there is a model to save.
interrupted ' has loglik ' t.txt train --data steps.csv --threads 1 --minutes 0.25 --model first.odvgp
check "race: from its first score on there is a model" sh -c '"$1" info --model first.odvgp >t.txt' sh "$tool"
