# Comparing bases: part of tests/tool/tool.sh, which reads this file.

# ---- comparing ----
# Name, natgrad and gamma of the table's rows.
members() { awk 'NR > 1 { printf "%s %s %s,", $1, $2, $4 }' table.txt; }
compare --data plain.csv --natgrad-gamma exact --bases coupled,orth:natgrad=off |
    awk '{ print $1, $2, $7 }' >one.txt
compare --data plain.csv --bases coupled,orth:natgrad=off | awk '{ print $1, $2, $7 }' >two.txt
check "exact natural steps of gamma: other bases keep their rate, by their ELBO" cmp one.txt two.txt
check "exact natural steps of gamma: there was an ELBO to look at" \
    test "$(awk '$3 + 0 < 0' one.txt | wc -l)" -eq 2
four=coupled:natgrad=off,coupled,orth:natgrad=off,orth:gamma=24
compare --data named.csv --test-mask mask.csv:1 --bases $four --trace compare.csv \
    --plot compare.svg >table.txt 2>err.txt
check "compare: exit code 0" test $? -eq 0
check "compare: quiet is quiet" test ! -s err.txt
check "compare: the table's columns" test \
    "$(head -n 1 table.txt | tr -s ' ')" = \
    "basis natgrad beta gamma iters ms/iter elbo rmse mae loglik"
check "compare: a row for each, aligned" \
    awk 'NF != 10 || (NR > 1 && length($0) != width) { exit 1 } { width = length($0) }
    END { exit NR != 5 }' table.txt
check "compare: sizes and natural steps" \
    test "$(awk 'NR > 1 { printf "%s %s %s %s;", $1, $2, $3, $4 }' table.txt)" = \
    "coupled off 12 0;coupled on 12 0;orth off 12 20;orth on 12 24;"
check "compare: trace" test "$(head -n 1 compare.csv)" = \
    "basis,natgrad,beta,gamma,step,seconds,elbo,test_rmse,test_mae,test_loglik,noise_variance"
check "compare: the same steps for all, seconds that grow, the end as in the table" awk -F '[, ]+' '
    FNR == NR { if (NR > 1) end[NR - 1] = $8; next }
    FNR == 1 { next }
    {
        key = $1 $2
        if (key != last) {
            if (k) same[k] = steps
            k++
            steps = ""
            before = 0
        }
        last = key
        steps = steps " " $5
    }
    NF != 11 || $6 < before { bad = 1 }
    { before = $6 }
    $5 == 30 && ($8 - end[k] > 1e-5 || end[k] - $8 > 1e-5) { bad = 1 }
    END {
        same[k] = steps
        for (i = 1; i <= 4; i++) if (same[i] != same[1] || same[i] !~ /^ 1 2 3 .* 30$/) bad = 1
        exit bad || k != 4
    }
    ' table.txt compare.csv
check "compare: a picture" test "$(tail -n 1 compare.svg)" = "</svg>"
check "compare: four panels of four lines" test "$(grep -c '<polyline' compare.svg)" -eq 16
check "compare: all in the legend" test \
    "$(grep -c -e '>coupled<' -e '>coupled:natgrad=off<' -e '>orth:natgrad=off<' \
        -e '>orth:gamma=24<' compare.svg)" \
    -eq 4
compare --data named.csv --test-mask mask.csv:1 --bases orth:gamma=24,coupled --json >compare.json
check "compare: one JSON object in one line" \
    test "$(wc -l <compare.json) $(head -c 1 compare.json) $(tail -c 3 compare.json)" = "1 { ]}"
check "compare: as many braces and brackets closed as opened, and quotes" \
    awk '{ if (gsub(/{/, "") != 3 || gsub(/}/, "") != 3 ||
    gsub(/\[/, "") != 1 || gsub(/\]/, "") != 1 || gsub(/"/, "") % 2 || /nan|inf/) exit 1 }' \
    compare.json
if command -v python3 >/dev/null \
    2>&1; then check "compare: the JSON parses" python3 -m json.tool compare.json; fi
for key in dataset n_train n_test d batch seed threads kernel bases basis natgrad beta gamma iters \
    stopped seconds ms_per_iter elbo rmse mae loglik; do
    check "compare: JSON has $key" test -n "$(value compare.json $key)"
done
check "compare: the order of the list does not matter" test \
    "$(value compare.json elbo | cut -c1-6)" = \
    "$(awk 'NR == 3 { print substr($7, 1, 6) }' table.txt)"
train --data named.csv --test-mask mask.csv:1 --basis coupled --warm off --beta 12 --json --model t.odvgp \
    >t.json
check "compare: what train finds" test \
    "$(value compare.json elbo) $(value compare.json rmse)" = \
    "$(value t.json elbo) $(value t.json rmse)"
# outliers SEED: the test RMSE is smallest early.
outliers() {
    awk -v seed="$1" 'function u() { seed = seed * 16807 % 2147483647; return seed / 2147483647 } BEGIN {
    for (i = 0; i < 120; i++) {
        a = 4 * u() - 2; b = 4 * u() - 2; y = sin(2 * a) * (1 + b / 4) + 0.1 * (u() - 0.5)
        printf "%.4f,%.4f,%.5f\n", a, b, u() < 0.1 ? y + 10 * u() - 5 : y
    }
}'
}
outliers 63352 >dip.csv
# inside PICTURE PANEL: no line of the panel leaves it at the bottom.
inside() {
    awk -v "panel=id=\"panel$2\"" '
        index($0, panel) { split($0, p, "\""); bottom = p[6] + p[10]; inside = 1; next }
        /<clipPath/ { inside = 0 }
        inside && /<polyline/ { sub(/.*points="/, ""); n = split($0, q, /[ ,]/)
            for (i = 2; i <= n; i += 2) if (q[i] > low) low = q[i] }
        END { exit !(low > 0 && low <= bottom) }' "$1"
}
"$tool" compare --threads 1 --quiet --data dip.csv --likelihood laplace --bases coupled --beta 30 \
    --test-fraction 0.3 --iters 400 --plot dip.svg >t.txt
check "compare: the smallest RMSE is in the picture" inside dip.svg 0
outliers 55433 >dip.csv
train --data dip.csv --likelihood studentt --basis coupled --beta 30 --test-fraction 0.3 --iters 400 \
    --model t.odvgp --plot dip.svg >t.txt
check "plot: the smallest RMSE is in the picture" inside dip.svg 4
echo mine >compare.svg.tmp
compare --data named.csv --iters 0 --bases coupled,orth --plot compare.svg >table.txt
check "compare: a picture leaves other files alone" test "$(cat compare.svg.tmp)" = mine
rm -f compare.svg.tmp
check "compare: both start from the same points and hyperparameters" \
    test "$(awk 'NR > 1 { print $7 }' table.txt | uniq | wc -l)" -eq 1
check "compare: no test part, no step" test \
    "$(awk 'NR == 2 { print $6, $8, $9, $10 }' table.txt) $(tail -n 1 compare.svg)" = \
    "- - - - </svg>"
compare --data two.csv --target 2-3 --test-fraction 0.2 --bases orth \
    --schedule lr:linear:0.1:0.01:30 >table.txt
check "compare: one basis, two targets, a schedule" test "$(wc -l <table.txt)" -eq 2
compare --data named.csv --test-fraction 0.2 \
    --bases coupled,orth,hybrid,decoupled,solve,diagonal,solve:natgrad=off,diagonal:natgrad=off \
    >table.txt
code=$?
expected="coupled on 0,orth on 20,hybrid on 20,decoupled off 20,"
expected="${expected}solve on 20,diagonal on 0,solve off 20,diagonal off 0,"
check "compare: every basis" test "$code $(members)" = "0 $expected"
for basis in hybrid decoupled solve diagonal; do
    fit --data plain.csv --basis $basis --model t.odvgp
    check "train and info: $basis" sh -c '"$1" info --model t.odvgp | grep -q "$2, beta"' sh \
        "$tool" $basis
done
compare --data named.csv --test-fraction 0.2 --lr 0.02 --natgrad-step 0.1 --json \
    --bases coupled:fit-q=both,sgpr:lr=0.03 >compare.json
check "compare: keys of an item" test \
    "$(sed 's/.*"item": "\([^"]*\)".*"item": "\([^"]*\)".*/\1 \2/' compare.json)" = \
    "coupled:fit-q=both sgpr:lr=0.03"
diagonal=orth:natgrad-gamma=diagonal exact=hybrid:natgrad-gamma=exact
alternate=solve:natgrad-blocks=alternate projected=diagonal:natgrad-diag=projected
compare --data named.csv --test-fraction 0.2 --lr 0.02 \
    --bases sgpr,solve-collapsed,exact,$diagonal,$exact,$alternate,$projected >table.txt
code=$?
expected="sgpr off 0,solve-collapsed off 20,exact off 0,"
expected="$expected$diagonal on 20,$exact on 20,$alternate on 20,$projected on 0,"
check "compare: bases without q and ways of the natural step" \
    test "$code $(members)" = "0 $expected"
check "compare: the bound without q grows with the points" \
    awk 'NR > 1 { elbo[NR] = $7 } END { exit !(elbo[2] < elbo[3] && elbo[3] < elbo[4]) }' table.txt
ways=orth,$diagonal,orth:natgrad-gamma=exact,solve,$alternate
ways=$ways,diagonal,diagonal:natgrad-diag=exact,$projected
compare --data named.csv --bases "$ways" >table.txt
check "compare: all these ways are steps of their own" \
    test "$(awk 'NR > 1 { print $7 }' table.txt | sort -u | wc -l)" -eq 8
compare --data named.csv --iters 100000000 --minutes 0.001 >table.txt
check "compare: --minutes, the default list" \
    test "$(wc -l <table.txt) $(cut -c1-7 table.txt | tr -d '\n')" = "3 basis  coupledorth   "
nothing="polynomial(1e-37, offset=1e-37, degree=10)" # 0 everywhere
compare --data named.csv --kernel "$nothing" --plot compare.svg --trace compare.csv >table.txt \
    2>err.txt
check "compare: a basis that fails is exit code 1" test $? -eq 1
check "compare: each that failed has its reason" \
    test "$(grep -c 'failed: step 1: ' table.txt) $(wc -l <table.txt) $(wc -l <err.txt)" = "2 3 2"
check "compare: a picture without curves" test "$(tail -n 1 compare.svg)" = "</svg>"
compare --data named.csv --kernel "$nothing" --json >compare.json 2>err.txt
check "compare: the reason in JSON" test \
    "$(values compare.json stopped elbo) $(value compare.json error | cut -c1-6)" \
    = "error null step 1"

compare --data named.csv --recipe odvgp --bases coupled --beta 12 --json >compare.json
check "compare: the kernel that is used, in JSON" test \
    "$(grep -o '"kernel": "[^"]*"' compare.json | head -n 1)" = \
    '"kernel": "matern52(0.141421) + rbf(1.41421)"'
check "compare: the kernel that was learned, in JSON" \
    grep -q '"item": "coupled", "kernel": "matern52([0-9.]*, variance=[0-9.]*) + rbf(' compare.json
# Of five times the shortest, since programs beside this one may hold any of them up.
for time in 1 2 3 4 5; do
    compare --data named.csv --bases coupled,coupled:fit-q=start --iters 0 --json
done >compare.json
check "compare: the clock counts q's optimum" awk '
    { n = split($0, part, "\"seconds\": ")
      for (i = 2; i <= 3; i++) if (NR == 1 || part[i] + 0 < least[i]) least[i] = part[i] + 0 }
    END { exit !(NR == 5 && n == 3 && least[3] > 3 * least[2]) }' compare.json
