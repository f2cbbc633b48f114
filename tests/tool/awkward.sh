# Awkward numbers and names: part of tests/tool/tool.sh, which reads this file.

# ---- only awkward ----
sed '77s/^[^,]*/1e12/' named.csv >t.csv
train --data t.csv --iters 2 --model t.odvgp >t.txt
check "a row of 1e12 is named in the report" \
    grep -q '^outlier  line 77, column 0: 1e+12, [0-9.]*e+11 times the width of its column away' t.txt
train --data t.csv --iters 2 --model t.odvgp --json >t.json
sed '77s/[^,]*$/25/' named.csv >t2.csv
train --data t2.csv --iters 100 --lr 0.03 --model t.odvgp >t.txt
check "a row that has most of the errors is named in the report" \
    grep -q '^worst    line 77 has [5-9][0-9] % of the squared errors of the training rows' t.txt
check "a row of 1e12, in JSON" grep -q '"outliers": \[{"line": 77, "column": 0, "value": 1e+12' t.json
train --data scales.csv --iters 200 --model t.odvgp --json --test-fraction 0.1 >t.json
check "columns of 1e12, 1e-12 and a constant one, repeated rows" \
    holds "$(value t.json rmse) < 0.5 && $(value t.json beta) <= 35"
awk 'BEGIN { OFS = "," } { print NR, 7 }' plain.csv >constant.csv
fit --data constant.csv --model t.odvgp
"$tool" predict --model t.odvgp --data constant.csv 2>/dev/null |
    awk -F, 'NR > 1 && ($1 < 6.9 || $1 > 7.1 || !($3 >= 0)) { exit 1 }'
check "constant target" test $? -eq 0
train --data short.csv --model t.odvgp --json >t.json
check "two rows" test "$(value t.json beta) $(value t.json gamma)" = "2 0"
printf '1,2\n' >row.csv
train --data row.csv --model t.odvgp --json >t.json
check "one row" test "$(value t.json beta) $(value t.json gamma)" = "1 0"
train --data same.csv --model t.odvgp --json >t.json
check "all rows equal" test "$(value t.json beta) $(value t.json gamma)" = "1 0"
(mkdir -p d && cd d && fit --data ../plain.csv)
check "model file named after the data" test -s d/plain.odvgp

# ---- noise, numbers, names ----
awk 'BEGIN { for (i = 1; i <= 50; i++) print i / 10 "," 2 * i + 3 }' >line.csv
"$tool" train --data line.csv --basis exact --model t.odvgp --threads 1 >t.txt 2>err.txt
check "exact: noiseless targets, a model, and a sentence" \
    grep -q '^noise    variance 1e-07, its lower bound: the targets look free of noise' t.txt
"$tool" train --data line.csv --basis exact --set lik.noise_floor=1e-14 --model t.odvgp --threads 1 >t.txt 2>err.txt
check "exact: less noise than predictions can bear, a model, and a note" \
    test "$? $(grep -c '^note: the targets look free of noise; its variance is raised' err.txt)" = "0 1"
"$tool" train --data constant.csv --basis exact --model t.odvgp --threads 1 >t.txt 2>err.txt
check "exact: a constant target, a model, and a sentence" \
    grep -q '^noise    variance 1e-07, its lower bound: the targets look free of noise' t.txt
printf '"a\351\377 <""&>",\355\240\200\300\200x,\342\202\254\n' >names.csv
cat plain.csv >>names.csv
cp names.csv "$(printf 'n\351\002<&.csv')"
train --data "$(printf 'n\351\002<&.csv')" --test-fraction 0.2 --model t.odvgp --iters 0 --json \
    --plot names.svg >t.json
utf8() { iconv -f UTF-8 -t UTF-16 "$1"; }
if command -v iconv >/dev/null 2>&1; then
    check "names: JSON is UTF-8" utf8 t.json
    check "names: SVG is UTF-8" utf8 names.svg
fi
if command -v python3 >/dev/null 2>&1; then
    check "names: the JSON parses" python3 -m json.tool t.json
    check "names: the SVG is XML" python3 -c \
        'import xml.dom.minidom; xml.dom.minidom.parse("names.svg")'
fi
check "plot: a curve of one point is a dot" grep -q '<circle' names.svg
