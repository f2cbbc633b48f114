# Learning further rows: part of tests/tool/tool.sh, which reads this file.

{ head -n 1 named.csv; sed 1,101d named.csv; } >new.csv
head -n 101 named.csv >old.csv
sed 's/,[^,]*$/,/; 1s/$/y/' named.csv >grid.csv
# apart A B: the largest difference of two files of predictions, header aside.
apart() {
    awk -F, 'NR == FNR { a[FNR] = $0; next }
        FNR > 1 { n = split(a[FNR], x, ","); for (i = 1; i <= n; i++) { d = x[i] - $i; if (d < 0) d = -d; if (d > m) m = d } }
        END { print FNR == length(a) ? m + 0 : "other lines" }' "$1" "$2"
}
# kept MODEL FILE: predictions of the saved model at grid.csv.
kept() { "$tool" predict --model "$1" --data grid.csv --quiet --threads 1 >"$2"; }
# tells MODEL LINE: does info have the line?
tells() { "$tool" info "$1" | grep -q "^$2"; }

# ---- every basis that can learn ----
for basis in coupled orth hybrid solve sgpr solve-collapsed; do
    fit --data old.csv --basis $basis --beta 8 --gamma 9 --model old.odvgp
    "$tool" update --model old.odvgp --data new.csv --out once.odvgp --json --quiet >t.json
    check "update, $basis: counts" test "$(values t.json n n_learned n_refused n_updated)" = "100 100 0 100"
    check "update, $basis: scores before, ahead and after" holds \
        "$(value t.json loglik_after) > $(value t.json loglik_before) && $(value t.json rmse_ahead) > $(value t.json rmse_after)"
    kept once.odvgp once.csv
    "$tool" predict --model once.odvgp --data new.csv --json --quiet >t2.json 2>&1
    check "update, $basis: the saved model scores so" test "$(value t.json rmse_after)" = "$(value t2.json rmse)"
    { cat new.csv; sed 1d grid.csv; } | "$tool" predict --model old.odvgp --stream --learn --out-model stream.odvgp --quiet 2>err.txt |
        sed 2,101d >stream.csv
    check "update, $basis: answers of a stream that has learned are those of the saved model" holds "$(apart stream.csv once.csv) < 1e-7"
    kept stream.odvgp t.csv
    check "update, $basis: and so are those of the model that the stream saves" cmp t.csv once.csv
    head -n 61 new.csv >first.csv
    { head -n 1 new.csv; sed 1,61d new.csv; } >second.csv
    "$tool" update --model old.odvgp --data first.csv --out twice.odvgp --quiet >t.txt
    "$tool" update --model twice.odvgp --data second.csv --quiet >t.txt
    kept twice.odvgp twice.csv
    check "update, $basis: in two parts" holds "$(apart twice.csv once.csv) < 1e-7"
    check "update, $basis: info" tells twice.odvgp 'updated  with 100 rows, in 2 updates$'
    "$tool" update --model old.odvgp --data new.csv --forget 0.9 --out once.odvgp --quiet >t.txt
    kept once.odvgp less.csv
    { cat new.csv; sed 1d grid.csv; } | "$tool" predict --model old.odvgp --stream --learn --forget 0.9 --quiet 2>err.txt |
        sed 2,101d >stream.csv
    check "update, $basis: forgetting, too" holds "$(apart stream.csv less.csv) < 1e-6"
    check "update, $basis: who forgets is less certain" holds \
        "$(awk -F, 'NR == FNR { a += $2; next } { b += $2 } END { print a " < " b }' once.csv less.csv)"
done

# ---- other models ----
awk -F, -v OFS=, '{ $3 = NR == 1 ? "kind" : $3 > 1 ? "high" : $3 > 0.3 ? "mid" : "low" } 1' named.csv >kinds.csv
awk -F, -v OFS=, '{ $3 = NR == 1 ? "count" : int(3 + 2 * $3) } 1' named.csv >counts.csv
{ echo a,b,y,z; cat two.csv; } >both.csv
awk -F, -v OFS=, '{ $4 = NR % 3 == 1 ? $4 : "" } 1' both.csv >some.csv
fit --data kinds.csv --basis orth --beta 8 --gamma 9 --class-weights high=2 --model kinds.odvgp
awk -F, 'NR == 1 { print "one,c,y" } { print $1 ",1," $3 }' plain.csv >index.csv
fit --data counts.csv --basis coupled --beta 8 --likelihood poisson --model counts.odvgp
fit --data both.csv --target y,z --outputs independent --basis solve --beta 8 --gamma 5 --model both.odvgp
for name in kinds both counts; do
    "$tool" update --model $name.odvgp --data $name.csv --json --quiet >t.json
    check "update, $name" test "$(values t.json n_learned n_updated)" = "200 200"
done
check "update: log-likelihoods of counts" holds "$(value t.json loglik_after) > $(value t.json loglik_before)"
"$tool" update --model both.odvgp --data some.csv --missing drop --json --quiet >t.json
check "update: a row may lack one of its targets" test "$(values t.json n_learned n_updated)" = "200 400"
"$tool" update --model old.odvgp --data hole.csv --missing drop --json --quiet --out t.odvgp >t.json
check "update: rows with missing cells are left out" test "$(values t.json n n_learned n_refused)" = "200 199 1"
"$tool" update --model old.odvgp --data new.csv --out t.odvgp >t.txt 2>err.txt
check "update: its report" test "$(cut -c1-8 t.txt | tr -s ' \n' '  ')" = "learned before ahead after saved "
awk -F, -v OFS=, 'NR > 1 { $1 += 9 } 1' new.csv >away.csv
"$tool" update --model old.odvgp --data away.csv --out away.odvgp >t2.txt 2>err.txt
check "update: rows away from training" grep -q '^note: 100 of 100 rows have inputs outside the training range, where' err.txt
"$tool" predict --model away.odvgp --data away.csv --out t.csv 2>err.txt >t2.txt
check "update: belong to its range then" sh -c '! grep -q outside err.txt'
check "update: the model is exported" "$tool" export --model t.odvgp --name arm --out arm.h

# answers_agree NAME MODEL ROWS GRID: a stream answers as the model that it saves.
answers_agree() {
    count=$(wc -l <"$3")
    { cat "$3"; sed 1d "$4"; } | "$tool" predict --model "$2" --stream --learn --out-model stream.odvgp --quiet 2>err.txt |
        sed "2,${count}d" >stream.csv
    "$tool" predict --model stream.odvgp --data "$4" --quiet >t.csv
    check "update, $1: a stream answers as the model that it saves" holds "$(apart stream.csv t.csv) < 1e-6"
}
fit --data old.csv --basis solve --beta 40 --gamma 20 --kernel 'rbf(8)' --freeze 'kernel.*' --jitter-rel 0 --model jitter.odvgp
check "update: (a jitter that was raised)" sh -c '"$1" info jitter.odvgp | grep -q "raised [1-9]"' sh "$tool"
answers_agree "a raised jitter" jitter.odvgp new.csv grid.csv
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 4; for (k = 0; k < 16; k++) printf "p%d,", k
        print "way"; for (i = 0; i < 120; i++) { line = ""; for (k = 0; k < 16; k++) { x[k] = uniform(); line = line sprintf("%.4f,", x[k]) }
        print line (x[5] + x[6] > x[9] + x[10] ? "up" : "down") } }' >images.csv
sed '2,$s/[a-z]*$//' images.csv >empty.csv
fit --data images.csv --image 4x4 --patch 3x3 --basis coupled --beta 12 --model images.odvgp
answers_agree images images.odvgp images.csv empty.csv
fit --data counts.csv --basis hybrid --beta 8 --gamma 5 --likelihood negative_binomial --kernel 'matern52(ard, dims=0) * rbf + linear(ard)' --model nb.odvgp
sed 's/,[^,]*$/,/; 1s/$/count/' counts.csv >empty.csv
answers_agree "another kernel" nb.odvgp counts.csv empty.csv

# ---- inducing points that follow the rows ----
{ head -n 1 named.csv; awk -F, -v OFS=, 'NR > 101 { $1 += 4 } NR > 101' named.csv; } >moved.csv
sed 's/,[^,]*$/,/; 1s/$/y/' moved.csv >there.csv
for basis in coupled orth solve; do
    fit --data old.csv --basis $basis --beta 8 --gamma 9 --model points.odvgp
    "$tool" update --model points.odvgp --data moved.csv --out stays.odvgp --json --quiet >t.json
    "$tool" update --model points.odvgp --data moved.csv --follow 0.1 --out follows.odvgp --json --quiet >t2.json
    check "follow, $basis: rows become points" holds "$(value t.json n_points) == 0 && $(value t2.json n_points) > 0"
    check "follow, $basis: and are predicted better" holds "$(value t2.json rmse_after) < $(value t.json rmse_after)"
    "$tool" predict --model follows.odvgp --data moved.csv --json --quiet >t.json 2>&1
    check "follow, $basis: by the model that is saved" test "$(value t.json rmse)" = "$(value t2.json rmse_after)"
    { cat moved.csv; sed 1d there.csv; } | "$tool" predict --model points.odvgp --stream --learn --follow 0.1 --out-model stream.odvgp --quiet 2>err.txt |
        sed 2,101d >stream.csv
    "$tool" predict --model stream.odvgp --data there.csv --quiet --threads 1 >t.csv
    check "follow, $basis: a stream answers as the model that it saves" holds "$(apart stream.csv t.csv) < 1e-5"
done
for bad in 0 1.5 x; do
    check "refused: --follow $bad" refuses "--follow $bad: must be a number above 0, at most 1" update --model old.odvgp --data new.csv --follow $bad
done
check "refused: --follow without --learn" refuses "--follow: needs --learn" predict --model old.odvgp --data new.csv --follow 0.1
check "refused: --follow of images" refuses "images.odvgp: --follow: inducing inputs of images and of independent functions stay" \
    update --model images.odvgp --data images.csv --follow 0.1 --out bad.odvgp

# ---- exact models, which become coupled ----
fit --data old.csv --basis exact --iters 9 --warm off --model exact.odvgp
"$tool" update --model exact.odvgp --data new.csv --json --out grown.odvgp >t.json 2>err.txt
check "update: an exact model learns" test "$? $(value t.json n_learned) $(grep -c '^note: exact.odvgp: the exact model goes on as one of --basis coupled, with a point at each of its' err.txt)" = "0 $(($(wc -l <new.csv) - 1)) 1"
check "update: which gains, and keeps what it knew" holds "$(value t.json rmse_after) < $(value t.json rmse_before)"
"$tool" predict --model exact.odvgp --data new.csv --out a.txt --quiet >/dev/null
"$tool" predict --model exact.odvgp --data new.csv --learn --out b.txt --quiet >/dev/null
check "update: its predictions are those of the exact model before it learns" holds \
    "$(paste -d, a.txt b.txt | awk -F, 'NR == 2 { n = NF / 2; for (i = 1; i <= 3; i++) { d = $i - $(i + n); if (d < 0) d = -d; if (d > most) most = d }; print most }') < 1e-4"
"$tool" update --model grown.odvgp --data new.csv --quiet --json --out grown.odvgp >t.json 2>err.txt
check "update: and goes on as any other" test "$? $(wc -c <err.txt)" = "0 0"
"$tool" train --data two.csv --header no --target 2,3 --basis exact --iters 9 --quiet --model exact.odvgp >/dev/null
"$tool" update --model exact.odvgp --data two.csv --json --out both.odvgp >t.json 2>err.txt
check "update: so does one of two targets" holds "$? == 0 && $(value t.json rmse_after) < 1.05 * $(value t.json rmse_before)"

# ---- what is refused, which leaves the model as it is ----
cp old.odvgp same.odvgp
check "refused: --resume of an updated model" refuses "was updated with 100 rows" train --resume t.odvgp --data old.csv --model bad.odvgp
check "refused: rows without a target" refuses "inputs.csv: line 1: no target to learn from; in the training data it is column 2 (y)" \
    update --model old.odvgp --data inputs.csv
check "refused: an input that is not there" refuses "there is no column 'a'" update --model old.odvgp --data index.csv --out bad.odvgp
check "refused: a missing target" refuses "line 2, column 2 (y): the value is missing; --missing drop" update --model old.odvgp --data grid.csv
sed '5s/[a-z]*$/huge/' kinds.csv >bad.csv
check "refused: a class that training has not seen" refuses "line 5, column 2 (kind): 'huge' is none of the 3 levels of this column; --missing drop" \
    update --model kinds.odvgp --data bad.csv
sed '5s/[0-9]*$/-4/' counts.csv >bad.csv
check "refused: a target that the likelihood does not have" refuses "bad.csv: line 5: " update --model counts.odvgp --data bad.csv
"$tool" update --model counts.odvgp --data bad.csv --missing drop --json --out t.odvgp >t.json 2>err.txt
check "update: it is left out" test "$(values t.json n_learned n_refused) $(grep -c '^note: 1 row was refused' err.txt)" = "199 1 1"
fit --data old.csv --basis diagonal --iters 2 --model diagonal.odvgp
check "refused: a diagonal q" refuses "diagonal.odvgp: cannot learn further rows: it has a covariance part without q_sqrt; train" \
    update --model diagonal.odvgp --data new.csv
fit --data old.csv --layers 'coupled:beta=5,dim=2; coupled:beta=5' --model deep.odvgp
check "refused: layers" refuses "it has several layers" update --model deep.odvgp --data new.csv
for bad in 0 1.5 x; do
    check "refused: --forget $bad" refuses "--forget $bad: must be a number above 0, at most 1" update --model old.odvgp --data new.csv --forget $bad
done
check "refused: the data as the new model" refuses "--out new.csv: is the data file" update --model old.odvgp --data new.csv --out new.csv
check "refused: a model to standard output" refuses "--out -: a model needs a file" update --model old.odvgp --data new.csv --out -
check "refused: --forget without --learn" refuses "--forget: needs --learn" predict --model old.odvgp --data new.csv --forget 0.9
check "refused: --stream of a file" refuses "--stream: is standard input" predict --model old.odvgp --data new.csv --stream
check "refused: nothing of it changed the model" cmp old.odvgp same.odvgp
check "refused: --out-model -" refuses "--out-model -: a model needs a file" predict --model old.odvgp --data new.csv --learn --out-model -

# ---- targets far out ----
{ head -n 1 counts.csv; sed -n 2p counts.csv | sed 's/[0-9]*$/100000/'; } >far.csv
"$tool" update --model counts.odvgp --data far.csv --out far.odvgp --json --quiet >t.json 2>err.txt
check "update: a count far out is predicted better, not overshot" holds "$(value t.json rmse_after) < $(value t.json rmse_ahead)"

# ---- a stream that learns ----
mkfifo to from
"$tool" predict --model old.odvgp --stream --learn --out-model live.odvgp --quiet --threads 1 <to >from &
pid=$!
exec 4>to 5<from
echo "a,b,y" >&4
echo "0.5,0.25," >&4
read -r head <&5
read -r one <&5
echo "0.5,0.25,9" >&4
read -r two <&5
echo "0.5,0.25," >&4
read -r three <&5
check "stream: answered line by line, before the next one comes" test "$head,$one" = "mean,sd_f,sd_y,range,$two"
check "stream: what is learned is in the next answer" holds "${three%%,*} > ${two%%,*} + 0.01"
kill -TERM $pid
wait $pid
check "stream: a signal ends it" test $? -eq 143
exec 4>&- 5<&-
check "stream: and what it has learned is saved" tells live.odvgp 'updated  with 1 row, in 1 update$'
printf 'a,b,y\n0.5,0.25,\n' | "$tool" predict --model live.odvgp --data - --quiet >t.txt
check "stream: with the same answers" test "$(sed -n 2p t.txt | cut -c1-8)" = "$(echo "$three" | cut -c1-8)"
{ head -n 5 new.csv; sleep 0.5; echo "1,x,2"; } | "$tool" predict --model old.odvgp --stream --learn --out-model live.odvgp >t.txt 2>err.txt
check "stream: a broken row ends it, and what came before is saved" test \
    "$? $(wc -l <t.txt) $(grep -c '^note: 4 rows learned, and saved in live.odvgp' err.txt)" = "2 5 1"
"$tool" predict --model old.odvgp --data new.csv --learn --json --quiet >t.json
check "predict: a file is learned row by row, too" test "$(values t.json n_test n_learned)" = "100 100"
"$tool" update --model old.odvgp --data new.csv --out t.odvgp --json --quiet >t2.json
check "predict: with the scores of update" test "$(value t.json rmse)" = "$(value t2.json rmse_ahead)"
