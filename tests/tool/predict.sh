# Predicting and sampling: part of tests/tool/tool.sh, which reads this file.

# ---- what predict adds, and how it finds columns ----
fit --data text.csv --ordinal 'size, of it=low,high' --test-fraction 0.2 --model text.odvgp
fit --data two.csv --target 2-3 --test-fraction 0.1 --model two.odvgp
predict named.odvgp named.csv --interval 0.95 2>err.txt
check "predict: limits" awk -F, 'NR == 1 { exit $0 != "mean,sd_f,sd_y,lower,upper,range" }
    { d = $5 - $1 - 1.959963985 * $3; e = $5 - $1 - ($1 - $4); exit d * d > 1e-14 || e * e > 1e-14 }
    ' t.txt
check "refused: an interval of 95" refuses "--interval 95: must be a number between 0 and 1" \
    predict --model m.odvgp --data named.csv --interval 95
sed '2,$s/^id\([0-9]*\),/"00\1, ""q""",/' ids.csv >t.csv
predict named.odvgp t.csv --keep id,b
check "predict: columns that are kept, in their own words" test \
    "$(head -n 1 t.txt | cut -c1-9) $(sed -n 2p t.txt | cut -d, -f1-3)" = \
    "id,b,mean $(sed -n 2p t.csv | cut -d, -f1,2,4)"
check "refused: a column to keep that is not there" \
    refuses "--keep: there is no column 'idd'; did you mean id?; columns: id, a, b, y" \
    predict --model named.odvgp --data ids.csv --keep idd
check "predict: nothing is outside the training range" \
    test "$(sed 's/.*,//' t.txt | sort -u | tr -d '\n')" = 0range
awk -F, 'BEGIN { OFS = "," } NR > 1 { $2 += NR % 2 ? 9 : 0; $1 -= NR % 4 ? 0 : 5 } 1' named.csv >t.csv
predict named.odvgp t.csv 2>err.txt
check "predict: inputs outside the training range are counted" \
    test "$(cut -d, -f4 t.txt | sort | uniq -c | awk '{ printf "%s %s;", $2, $1 }')" = \
    "0 50;1 150;range 1;"
check "predict: a note about many of them" \
    grep -q '^note: 150 of 200 rows have inputs outside the training range' err.txt
# A model of the columns 2 and 0, in this order.
train --data plain.csv --features 1,0 --iters 5 --model t.odvgp >t.txt
predict t.odvgp plain.csv 2>err.txt && mv t.txt one.csv
check "predict: says that it goes by place" grep -q '^note: plain.csv: columns are found by their place' \
    err.txt
predict t.odvgp inputs.csv 2>err.txt
check "predict: by place in the training file, whatever the order of --features" cmp t.txt one.csv
fit --data named.csv --features b,a --iters 5 --model t.odvgp
predict t.odvgp inputs.csv 2>err.txt && mv t.txt one.csv
check "predict: says which column is which" grep -q 'training file: 1 is b, 0 is a$' err.txt
predict t.odvgp named.csv 2>err.txt
check "predict: and so finds what the names say" cmp t.txt one.csv
check "predict: names are no news" test ! -s err.txt
check "predict: columns that only the training file had" sh -c \
    'cut -d, -f1-3 ids.csv | sed 1d >t.csv && "$1" train --data ids.csv --ignore id --iters 5 \
    --threads 1 --quiet --features a,b --model t.odvgp >t.txt && "$1" predict --model t.odvgp \
    --data t.csv >one.csv && "$1" predict --model t.odvgp --data ids.csv --quiet | cmp - one.csv' sh "$tool"
sed '3s/blue/GREEN/; 5s/[^,]*$/abc/; 7s/^[^,]*/x/' text.csv >t.csv
predict text.odvgp t.csv --missing drop 2>err.txt
check "predict: a new level, a broken number and a broken target are NA" \
    test "$(grep -n NA t.txt | cut -c1-13 | tr '\n' ' ')" = \
    "3:NA,NA,NA,NA 5:NA,NA,NA,NA 7:NA,NA,NA,NA "
check "predict: a note names the first" grep -q "^note: 3 of 200 rows have no prediction (NA): .*line 3, .*'GREEN' is \
none of the" err.txt
"$tool" predict --model text.odvgp --data t.csv --missing drop --json --quiet >t.json
check "predict: counts of both" test "$(values t.json n n_test n_missing)" = "200 197 3"
sed '5s/[^,]*$/abc/' text.csv >t.csv
predict text.odvgp t.csv --missing drop 2>err.txt
check "predict: a note names a broken target" \
    grep -q "^note: 1 of 200 .* line 5, column 4 (y): 'abc' is not a number" err.txt
sed 's/,[^,]*$/,/' two.csv >t.csv
predict two.odvgp t.csv 2>err.txt
check "predict: a target without values is left out of the metrics" \
    grep -q '^note: column 3 has no values, and is left out of the metrics' err.txt
"$tool" predict --model two.odvgp --data t.csv --json --quiet >t.json
check "predict: counts of each target" test \
    "$(value t.json n_test) $(grep -o '"column": [23], "n_test": [0-9]*' t.json | tr -dc '0-9 \n')" = \
    "0  2  200
 3  0"
mkfifo to from
"$tool" predict --model named.odvgp --data - --quiet <to >from &
exec 4>to 5<from
echo "b,a" >&4
echo "0.5,0.25" >&4
read -r one <&5
read -r two <&5
echo "0.5,0.25" >&4
read -r three <&5
exec 4>&-
check "predict: a stream is answered row by row" test "$one,$two" = "mean,sd_f,sd_y,range,$three"
wait $!
check "predict: and ends with its input" test $? -eq 0
exec 5<&-
printf 'a,b\n0.1,0.2\n\n0.3,x\n' | "$tool" predict --model named.odvgp --data - >t.txt 2>err.txt
check "predict: a stream with a broken row" test "$? $(wc -l <t.txt) $(cat err.txt)" = \
    "2 0 odvgp: standard input: line 4, column 1 (b): 'x' is not a number; --missing drop writes NA for \
such rows"
# 70,000 rows: several blocks.
awk -F, 'BEGIN { print "a,b,y" } { for (i = 0; i < 350; i++) print $1 + i / 1000 "," $2 ",\"" $3 "\"" }' \
    plain.csv >long.csv
predict named.odvgp long.csv
check "predict: a stream of many blocks" sh -c \
    'cat long.csv | "$1" predict --model named.odvgp --data - --json --out one.csv >t.json &&
    cmp one.csv t.txt' sh "$tool"
check "predict: its metrics are of all rows" test "$(value t.json n_test)" -eq 70000
for bad in '' 'a,b,y'; do
    check "refused: a stream of '$bad'" sh -c 'echo "$2" | "$1" predict --model named.odvgp --data - \
        2>&1 | grep -q "standard input: \(is empty\|has a header and no rows\)"' sh "$tool" "$bad"
done
awk -F, 'BEGIN { OFS = ","; print "1,size,0,y" } { print $1, NR % 2 ? "low" : "high", NR % 2, $3 }
    ' plain.csv >index.csv
train --data index.csv --ordinal 1=-2,0,2 --model t.odvgp --json 2>err.txt >t.json
check "ordinal: a name goes before an index" \
    grep -q "column 0 (1): '-\?0.[0-9]*' is none of the 3 levels" err.txt

# ---- samples ----
"$tool" sample --model m.odvgp --data inputs.csv --samples 400 --seed 3 --out s.csv 2>/dev/null
check "sample: a column each" test "$(head -n 1 s.csv | cut -d, -f1,400) $(wc -l <s.csv)" = \
    "sample_0,sample_399 201"
"$tool" predict --model m.odvgp --data inputs.csv --out t.txt --quiet
check "sample: mean and standard deviation as predicted" awk -F, 'NR == FNR { m[FNR] = $1; s[FNR] = $2; next }
    FNR > 1 { sum = squares = 0
      for (i = 1; i <= NF; i++) { e = $i - m[FNR]; sum += e; squares += e * e }
      sd = sqrt(squares / NF); z = sum / NF / s[FNR]
      if (z > 0.3 || z < -0.3 || sd < 0.8 * s[FNR] || sd > 1.2 * s[FNR]) bad = 1 }
    END { exit bad }' t.txt s.csv
"$tool" sample --model m.odvgp --data inputs.csv --samples 2 --seed 3 --keep 0 2>/dev/null >t.txt
check "sample: the seed decides, columns are kept" test "$(sed -n 2p t.txt)" = \
    "$(head -n 1 inputs.csv | cut -d, -f1),$(sed -n 2p s.csv | cut -d, -f1,2)"
