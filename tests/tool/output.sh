# What reaches the terminal and JSON: part of tests/tool/tool.sh, which reads this file.

# ---- numbers that are not finite ----
awk -F, 'BEGIN { OFS = "," } { print (NR == 9 ? 1 : NR "e-320"), $1, $3 }' plain.csv >t.csv
"$tool" train --data t.csv --basis coupled --beta 9 --iters 2 --threads 1 --json --model t.odvgp >t.json 2>err.txt
check "JSON: a distance that overflows is null" grep -q '"value": 1, "distance": null}' t.json
"$tool" train --data t.csv --basis coupled --beta 9 --iters 2 --threads 1 --model t.odvgp >t.txt 2>>err.txt
check "JSON: and no inf elsewhere" test "$(cat t.txt err.txt t.json | grep -c '[^a-z]inf[^a-z]\|[^a-z]nan[^a-z]')" = 0
check "JSON: a distance that overflows, in words" grep -q '^outlier .* more than 1e308 times the width' t.txt
fit --data plain.csv --basis coupled --beta 9 --iters 20 --model t.odvgp
for words in '' --json; do
    # shellcheck disable=SC2086
    "$tool" train --data plain.csv --resume t.odvgp --iters 10 --threads 1 --model t2.odvgp $words >t.txt 2>err.txt
    check "resume: fewer steps than are done ($words)" test "$? $(cat t.txt err.txt | grep -c '[^a-z]nan')" = "0 0"
    check "resume: and a note ($words)" grep -q '^note: the model has 20 steps already; --iters counts all' err.txt
done

# ---- control characters of names ----
# Escapes, a bell, a line end, and the escape of Latin-1, bare and as UTF-8; at the end a proper letter.
awk -F, 'BEGIN {
    OFS = ","
    bad = "\"x\033[31m\007\nFORGED \233 \302\233 \177\342\202\254\""
    print bad, bad, "c\033]0;t\007", "y\033[2J"
} { print $1, $2, NR % 3 ? "\"one\033[1m\nFORGED\"" : "two", $3 }' plain.csv >names.csv
cp names.csv "$(printf 'n\033[5m\233.csv')"
odd=$(printf 'n\033[5m\233.csv')
# says CODE ARGUMENTS...: ends the tool with this code and text without control characters but line ends,
# and is no line one that a name has made?
says() {
    code=$1
    shift
    "$tool" "$@" >said.txt 2>&1
    [ $? -eq "$code" ] && [ -s said.txt ] && [ "$(tr -d '\n' <said.txt | grep -c '[[:cntrl:]]')" = 0 ] &&
        [ "$(grep -c "$(printf '\233')" said.txt)" = 0 ] && [ "$(grep -c '^FORGED' said.txt)" = 0 ]
}
check "terminal: the file has them" test "$(tr -d '\n' <names.csv | grep -c '[[:cntrl:]]') $(head -n 2 names.csv |
    grep -c '^FORGED')" = "1 1"
trains="train --basis coupled --beta 9 --iters 5 --threads 1 --model t.odvgp"
# shellcheck disable=SC2086
check "terminal: train" says 0 $trains --data "$odd" --test-fraction 0.2 --kernel 'rbf(ard)'
check "terminal: letters stay" grep -q "$(printf '\342\202\254')" said.txt
check "terminal: info" says 0 info t.odvgp
check "terminal: predict" says 0 predict --model t.odvgp --data names.csv --out t2.txt
sed '4s/^[^,]*/oops/' names.csv >t.csv
check "terminal: predict, notes" says 0 predict --model t.odvgp --data t.csv --out t2.txt --missing drop
check "terminal: predict, a refusal" says 2 predict --model t.odvgp --data t.csv --out t2.txt
# shellcheck disable=SC2086
check "terminal: classes" says 0 $trains --data names.csv --target 2 --class-weights balanced --test-fraction 0.2
check "terminal: predict, classes" says 0 predict --model t.odvgp --data names.csv --out t2.txt
check "terminal: compare" says 0 compare --data "$odd" --bases coupled:beta=5 --iters 2 --threads 1
check "terminal: folds" says 0 compare --data names.csv --bases coupled:beta=5 --iters 2 --threads 1 --folds 2
check "terminal: a refusal with all names" says 2 train --data names.csv --target nothing
