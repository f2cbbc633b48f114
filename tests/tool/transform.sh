# Other scales of inputs and of the target, and what texts become: part of tests/tool/tool.sh, which reads this file.

awk 'BEGIN { srand(5); print "a,b,kind,y"
    for (i = 0; i < 300; i++) {
        n = sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand()); a = exp(2 * n); k = int(12 * rand())
        b = rand(); e = sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand())
        printf "%.9g,%.9g,k%d,%.9g\n", a, b, k, exp(sin(1.5 * log(a)) + 0.5 * b + 0.4 * cos(7 * k) + 0.1 * e)
    } }' >skew.csv
{ head -n 1 skew.csv; tail -n 60 skew.csv; } >held.csv
head -n 241 skew.csv >seen.csv
learn() { fit --data seen.csv --basis coupled --beta 20 --test held.csv "$@"; }

# The metrics of training, from rows that are standardised, are those of predict, from the file's rows.
agrees() {
    name=$1
    shift
    "$tool" train --iters 30 --quiet --threads 1 --data seen.csv --basis coupled --beta 20 --test held.csv --model t.odvgp --json \
        "$@" >t.json
    "$tool" predict --model t.odvgp --data held.csv --threads 1 --json --quiet >p.json
    check "$name: predict finds training's metrics" same_metrics
}
same_metrics() {
    for key in rmse mae loglik rmse_raw loglik_raw; do
        x=$(value t.json $key) y=$(value p.json $key)
        [ -n "$x" ] && [ -n "$y" ] && holds "$x - $y < 1e-6 * (1 + ($x > 0 ? $x : -($x))) && $y - $x < 1e-6 * (1 + ($x > 0 ? $x : -($x)))" ||
            return 1
    done
}
agrees "transform none"
rmse=$(value t.json rmse)
for kind in log asinh linear; do
    agrees "transform a=$kind" --transform "a=$kind"
    check "transform a=$kind: is another model" holds "$(value t.json rmse) != $rmse"
done
agrees "transform of several" --transform a=log,b=linear
check "info says which" sh -c '"$1" info --model t.odvgp | grep -q "^scales   log(a + [^)]*), linear(b, [0-9]* knots)$"' sh "$tool"
agrees "target-transform log" --target-transform log
# Limits are mapped quantiles: T(y) is normal with mean m and deviation s between them; moments and the density follow.
"$tool" predict --model t.odvgp --data held.csv --threads 1 --quiet --interval 0.6826894921370859 --keep y --out p.csv >t.txt 2>&1
sd=$(awk -F, 'NR > 1 { s += $4; q += $4 * $4; n++ } END { printf "%.15g", sqrt(q / n - s / n * s / n) }' seen.csv)
by_hand() {
    awk -F, -v sd="$sd" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } {
        low = log($(at["lower"])); high = log($(at["upper"])); m = (low + high) / 2; s = (high - low) / 2; y = $(at["y"])
        mean = exp(m + s * s / 2); dev = mean * sqrt(exp(s * s) - 1)
        if ((mean / $(at["mean"]) - 1) ^ 2 > 1e-12 || (dev / $(at["sd_y"]) - 1) ^ 2 > 1e-12) bad = 1
        z = (log(y) - m) / s; sum += -0.5 * log(6.283185307179586) - log(s) - z * z / 2 - log(y) + log(sd); n++
        square += ((y - mean) / sd) ^ 2
    } END { if (bad || n != 60) exit 1; printf "%.9g %.9g\n", sum / n, sqrt(square / n) }' p.csv >hand.txt &&
        read -r l r <hand.txt && holds "($l - ($(value p.json loglik))) ^ 2 < 1e-10 && ($r - $(value p.json rmse)) ^ 2 < 1e-10"
}
check "target-transform log: moments, density and limits by hand" by_hand
agrees "target-transform asinh" --target-transform asinh
agrees "all together" --transform all=asinh --target-transform log --levels means
"$tool" sample --model t.odvgp --data held.csv --samples 2 --out s.csv --quiet
check "samples are of the target, above 0" awk -F, 'NR > 1 && !($1 > 0 && $2 > 0) { exit 1 }' s.csv
sed '2s/,k[0-9]*,/,never,/' held.csv >new.csv
check "levels means: an unseen level has the mean" "$tool" predict --model t.odvgp --data new.csv --out p.csv --quiet >t.txt 2>&1
"$tool" predict --model t.odvgp --data held.csv --out p2.csv --quiet >t.txt 2>&1
check "levels means: the other rows stay" sh -c 'tail -n +3 p.csv >q.csv; tail -n +3 p2.csv | cmp - q.csv && ! cmp p.csv p2.csv'
"$tool" predict --model t.odvgp --data held.csv --learn --out-model learned.odvgp --out p.csv --quiet >t.txt 2>&1
check "a model that has learned rows keeps its scales" sh -c \
    '"$1" info --model learned.odvgp >a.txt; "$1" info --model t.odvgp >b.txt; grep ^scales a.txt >c.txt && grep ^scales b.txt | cmp - c.txt' \
    sh "$tool"
"$tool" predict --model learned.odvgp --data held.csv --json --quiet >q.json
"$tool" predict --model t.odvgp --data held.csv --json --quiet >p.json
check "and is better on them" holds "$(value q.json rmse) < $(value p.json rmse)"
train --data seen.csv --basis coupled --beta 20 --transform a=log --target-transform log --levels means --model r.odvgp >/dev/null
check "resume goes on with them" "$tool" train --resume r.odvgp --data seen.csv --iters 40 --model r.odvgp --quiet
check "resume refuses others" refuses "the model was made with a=log" train --resume r.odvgp --data seen.csv --transform b=log
fit --data seen.csv --basis coupled --beta 20 --levels indicators --model old.odvgp
check "without them the file is as before" grep -aq "$(printf 'odvgpcsv\002')" old.odvgp
check "without them a new level is refused" refuses "'never' is none of the 12 levels" predict --model old.odvgp --data new.csv
{ echo a,y; awk 'BEGIN { for (i = 0; i < 14; i++) print i * i "," i }'; } >few.csv
"$tool" train --data few.csv --iters 5 --basis coupled --beta 3 --transform a=linear --model few.odvgp --quiet >/dev/null
check "knots are means of five rows and more" sh -c '"$1" info --model few.odvgp | grep -q "linear(a, 2 knots)"' sh "$tool"
check "a picture of them" sh -c '"$1" train --data seen.csv --iters 5 --basis coupled --beta 5 --transform a=log --target-transform log \
    --plot t.svg --model t2.odvgp --quiet && grep -q "</svg>" t.svg' sh "$tool"
check "an exported header says what its moments are of" sh -c '"$1" export --model t2.odvgp --name few --out few.h && \
    grep -q "y\[0\] log(y + .*) of y" few.h' sh "$tool"
check "refused: a text" refuses "column 2 (kind) is text: --levels" train --data seen.csv --levels shared --transform kind=log
check "refused: no column" refuses "there is no column 'q'" train --data seen.csv --transform q=log
check "refused: no kind" refuses "must be none, auto, or NAME=log, asinh or linear" train --data seen.csv --transform a=exp
check "refused: two targets" refuses "only for one target" train --data seen.csv --target b,y --target-transform log
sed '2s/[^,]*$/-9/' held.csv >below.csv
check "refused: a test row that log does not take" refuses \
    "below.csv: line 2, column 3 (y): -9 is too far below the training rows for --target-transform log; asinh takes all" \
    train --data seen.csv --test below.csv --target-transform log
check "refused: classes" refuses "only for one target and --likelihood gaussian" train --data seen.csv --target kind \
    --target-transform log
check "refused: means of classes" refuses "two classes" train --data seen.csv --target b,y --levels means
# auto: by rows held out.
awk 'BEGIN { srand(8); print "a,b,y"; for (i = 0; i < 600; i++) {
        n = sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand()); b = rand()
        printf "%.9g,%.9g,%.9g\n", exp(2 * n), b, sin(3 * n) + b + 0.1 * (rand() - 0.5) } }' >far.csv
awk 'BEGIN { srand(9); print "a,b,y"; for (i = 0; i < 600; i++) {
        a = rand(); b = rand(); printf "%.9g,%.9g,%.9g\n", a, b, sin(6 * a) + b + 0.1 * (rand() - 0.5) } }' >even.csv
"$tool" train --data far.csv --iters 5 --basis coupled --beta 10 --transform auto --model t.odvgp --threads 1 >t.txt 2>err.txt
check "auto takes another scale where it is better" sh -c '"$1" info --model t.odvgp | grep -Eq "^scales   (log|asinh|linear)\(+a"' sh "$tool"
check "auto says what it tried" grep -q '^note: --transform all=linear: .* nats a held row' err.txt
check "auto: resume keeps the choice" sh -c '"$1" train --data far.csv --resume t.odvgp --iters 8 --model t2.odvgp --quiet >t.txt 2>&1 &&
    "$1" info --model t.odvgp | grep ^scales >a.txt && "$1" info --model t2.odvgp | grep ^scales | cmp - a.txt' sh "$tool"
fit --data even.csv --basis coupled --beta 10 --transform auto --model t.odvgp
check "auto leaves columns as they are where it is not" sh -c '! "$1" info --model t.odvgp | grep -q ^scales' sh "$tool"
# shared: indicators stay 0 and 1, and one lengthscale serves those of a column.
agrees "levels shared" --levels shared
check "levels shared: one lengthscale" sh -c '"$1" info --model t.odvgp | grep -q "ard=2:14"' sh "$tool"
check "levels shared: that of the column" sh -c '"$1" info --model t.odvgp | grep -q "^lengths0 .*kind [0-9.]*" &&
    ! "$1" info --model t.odvgp --json | grep -q "\"level\"[^}]*lengthscale"' sh "$tool"
check "levels means: an unseen level is outside the training range" sh -c '"$1" train --data seen.csv --levels means --basis coupled \
    --beta 20 --iters 5 --model t.odvgp --quiet >t.txt && "$1" predict --model t.odvgp --data new.csv --out p.csv --quiet &&
    sed -n 2p p.csv | grep -q ",1$" && "$1" predict --model t.odvgp --data seen.csv --out p.csv --quiet && ! grep -q ",1$" p.csv' sh "$tool"
agrees "levels mixed" --levels mixed
# Of two levels one is 1, the other 0: another lengthscale than both indicators, but the same model.
sed 's/,k[0-5],/,low,/; s/,k[0-9]*,/,high,/' seen.csv >two.csv
for levels in shared means mixed indicators; do
    "$tool" train --data two.csv --levels $levels --basis coupled --beta 20 --iters 5 --model t.odvgp --json --quiet >$levels.json
done
check "two levels are one input, unless they are indicators" test "$(value shared.json d) $(value means.json d) $(value mixed.json d) \
$(value indicators.json d)" = "3 3 3 4"
# Kernels of all models have the groups, and hidden layers, which have other inputs, none.
for words in "--bases coupled:beta=5,sgpr:beta=5" "--bases coupled:beta=5 --folds 2"; do
    # shellcheck disable=SC2086
    "$tool" compare --data seen.csv --levels shared $words --iters 2 --json --quiet >t.json 2>err.txt
    case $words in *folds*) check "levels shared: folds" test "$(value t.json folds_done)" = 2 ;;
    *) check "levels shared: compare" holds "$(grep -o 'ard=2:14' t.json | wc -l) == 2" ;; esac
done
check "levels shared: a deep model" "$tool" train --data seen.csv --levels shared --layers "coupled:beta=5,dim=2; coupled" --beta 5 --iters 2 \
    --model t.odvgp --quiet
# More columns than a kernel has groups for: those of most levels have one.
awk 'BEGIN { srand(11); for (i = 0; i < 120; i++) { s = 0; for (k = 0; k < 20; k++) { v = int((3 + k % 4) * rand()); s += v; printf "v%d,", v }
    print s + rand() } }' >wide.csv
"$tool" train --data wide.csv --levels shared --basis coupled --beta 10 --iters 3 --model t.odvgp --quiet >t.txt
check "levels shared: sixteen columns at most share" sh -c '[ "$("$1" info --model t.odvgp --json | grep -o "ard=[0-9:+]*" | head -n 1 |
    tr + "\n" | wc -l)" = 16 ]' sh "$tool"
# As many as have room, where all have as many levels.
awk 'BEGIN { srand(12); for (i = 0; i < 150; i++) { s = 0; for (k = 0; k < 20; k++) { v = int(3 * rand()); s += v; printf "v%d,", v }
    print s + 0.1 * rand() } }' >even3.csv
"$tool" train --data even3.csv --levels shared --basis coupled --beta 10 --iters 3 --model t.odvgp --quiet >t.txt
check "levels shared: of equal columns the first" sh -c '[ "$("$1" info --model t.odvgp --json | grep -o "ard=[0-9:+]*" | head -n 1)" = \
    "ard=0:3+3:6+6:9+9:12+12:15+15:18+18:21+21:24+24:27+27:30+30:33+33:36+36:39+39:42+42:45+45:48" ]' sh "$tool"
for kernel in "matern52(ard, dims=0:2) + rbf(ard, dims=2:6)" "matern52(dims=0:2, ard) + rbf( ard )"; do
    check "levels shared: $kernel" "$tool" train --data seen.csv --levels shared --kernel "$kernel" --basis coupled --beta 10 --iters 2 \
        --model t.odvgp --quiet
done
check "levels shared: a term of all inputs alone has groups" sh -c '"$1" info --model t.odvgp | grep -q "ard, dims=0:2) .*ard=2:14)$"' sh "$tool"
# Too few rows of each level are drawn to compare anything.
awk 'BEGIN { srand(13); print "a,kind,y"; for (i = 0; i < 3000; i++) { l = int(700 * rand()); a = rand()
    printf "%.4f,l%d,%.4f\n", a, l, sin(5 * a) + sin(l) + 0.1 * rand() } }' >lots.csv
"$tool" train --data lots.csv --basis sgpr --beta 10 --iters 2 --model t.odvgp --threads 1 >t.txt 2>err.txt
check "levels auto: very many are means" sh -c '[ "$("$1" info --model t.odvgp --json | grep -o "\"d\": [0-9]*")" = "\"d\": 2" ]' sh "$tool"
# auto: many levels that do not matter are one input; levels that turn the effect of another column are not.
awk 'BEGIN { srand(21); print "a,kind,y" > "many.csv"; print "a,kind,y" > "turn.csv"
    for (i = 0; i < 1500; i++) { a = rand(); l = int(60 * rand()); n = 0.2 * (rand() + rand() + rand() - 1.5)
        printf "%.6g,l%d,%.6g\n", a, l, sin(5 * a) + n > "many.csv"
        k = int(4 * rand()); printf "%.6g,l%d,%.6g\n", a, k, sin(5 * a + 1.57 * k) + n > "turn.csv" } }'
for set in many turn; do
    "$tool" train --data $set.csv --basis coupled --beta 20 --iters 5 --threads 1 --model $set.odvgp >t.txt 2>$set.txt
done
check "levels auto: says what it tried" grep -q '^note: --levels means: .* nats a held row beside shared, standard error' many.txt
check "levels auto: many levels that do not matter are one input" sh -c '[ "$("$1" info --model many.odvgp --json | grep -o "\"d\": [0-9]*")" = "\"d\": 2" ]' sh "$tool"
check "levels auto: not where levels turn another effect" sh -c '[ "$("$1" info --model turn.odvgp --json | grep -o "\"d\": [0-9]*")" = "\"d\": 5" ]' \
    sh "$tool"
check "levels auto: resume keeps what it has become" sh -c '"$1" train --data many.csv --resume many.odvgp --iters 8 --model t.odvgp --quiet \
    >t.txt 2>&1 && [ "$("$1" info --model t.odvgp --json | grep -o "\"d\": [0-9]*")" = "\"d\": 2" ]' sh "$tool"
check "levels auto: resume refuses others" refuses "the model was made with means" train --resume many.odvgp --data many.csv --iters 8 \
    --levels shared
# A probe has more rows than a minibatch.
awk 'BEGIN { srand(8); print "a,b,y"; for (i = 0; i < 2500; i++) {
        n = sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand()); b = rand()
        printf "%.9g,%.9g,%.9g\n", exp(2 * n), b, sin(3 * n) + b + 0.1 * (rand() - 0.5) } }' >far.csv
fit --data far.csv --iters 2 --basis coupled --beta 10 --transform auto --model t.odvgp
check "transform auto: more rows than a minibatch" sh -c '"$1" info --model t.odvgp | grep -q "^scales"' sh "$tool"
