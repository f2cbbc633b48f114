# --auto-tries, the race of candidates on rows held out: part of tests/tool/tool.sh, which reads this file.

# Few distinct inputs, so that points are few and a training takes a second.
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 5; for (i = 0; i < 2400; i++) { a = int(8 * uniform()); b = int(8 * uniform())
        print a "," b "," sin(a) + b * b / 9 + 0.2 * uniform() } }' >grid.csv
awk -F, '{ print int($1 / 3) "," int($2 / 3) ",c" int((int($1 / 3) + int($2 / 3) + $3 / 4) % 3) }' grid.csv >labels.csv
race() { "$tool" train --threads 1 --json "$@"; }
race --data grid.csv --auto-tries 4 --model raced.odvgp >t.json 2>err.txt
check "race: says on which rows, and what it chose" test \
    "$(grep -c '^race on 240 rows held out' err.txt) $(grep -c '  chosen$' err.txt)" = "1 1"
check "race: two others beside the first, and one that costs too much" test \
    "$(grep -c ' loglik ' err.txt) $(grep -c '  exact .* no room' err.txt)" = "3 1"
check "race: adds at most half of a training, a third of all" holds \
    "$(sed -n 's/^race on.*adds \([0-9]*\) % .*/\1/p' err.txt) <= 50"
"$tool" info --model raced.odvgp >info.txt
check "race: info repeats what was tried" sh -c '
    sed -n "/^race on/,/^[^ r]/p" err.txt | grep " loglik " >a
    grep " loglik " info.txt >b && cmp a b' 
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
"$tool" train --data plain.csv --threads 1 --auto-tries 4 --model few.odvgp >t.txt 2>err.txt
check "race: none with few rows" sh -c '! grep -q "race on" err.txt'
race --data labels.csv --auto-tries 2 --set lik.nodes=8 --model labels.odvgp >t.json 2>err.txt
check "race: of classes" test "$(grep -c '  chosen$' err.txt) $(value t.json likelihood)" = "1 softmax"
for bad in 0 7 x; do
    check "refused: --auto-tries $bad" refuses "--auto-tries $bad" train --data grid.csv --auto-tries $bad \
        --model bad.odvgp
done
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 9; for (i = 0; i < 2400; i++) { a = uniform(); print a "," uniform() "," sin(9 * a) } }' >slow.csv
interrupted "race: " t.txt train --data slow.csv --threads 1 --auto-tries 4 --model stopped.odvgp
check "race: Ctrl-C ends it, without a model" test "$? $(ls stopped.odvgp 2>/dev/null)" = "130 "
