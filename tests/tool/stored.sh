# Tables on disk: part of tests/tool/tool.sh, which reads this file.

# ---- convert: training from a table makes the CSV file's model, in memory and on the disk ----
quick="--basis orth --beta 6 --gamma 8 --batch 64 --warm 100:5 --iters 5 --threads 1 --quiet --checkpoint 0"
# same_model DATA OPTIONS...: is the model of DATA, byte for byte, that of the CSV file $csv? With
# --memory 1k its rows stay on the disk.
same_model() {
    data=$1
    shift
    "$tool" train --data "$csv" $quick "$@" --model csv.odvgp >/dev/null &&
        "$tool" train --data "$data" $quick "$@" --model stored.odvgp >/dev/null &&
        cmp csv.odvgp stored.odvgp &&
        "$tool" train --data "$data" $quick "$@" --memory 1k --model stored.odvgp >/dev/null &&
        cmp csv.odvgp stored.odvgp
}
# A table with a text, a date, a missing cell, comments, empty lines and an outlier.
awk 'BEGIN { print "# made today\n\na,\"of, it\",when,n,y,class" }
    NR == 100 { print "\n" }
    { split($0, v, ",")
      printf "%s,%s,2024-%02d-%02dT%02d:30:00Z,%d,%s,c%d\n", v[1], NR % 3 ? "low" : "\"hi\"\"gh\"", 1 + NR % 12,
          1 + NR % 28, NR % 24, NR == 7 ? 123456789 : NR % 5, v[3], NR % 7 % 3 }' plain.csv >all.csv
csv=all.csv
"$tool" convert all.csv all.odvt >t.txt 2>err.txt
check "convert: says what it wrote" grep -q '^saved    all.odvt: 200 rows, 6 columns, ' t.txt
check "convert: and what it skipped" grep -q '^note: all.csv: 1 line before the first row begins with #' err.txt
for words in "--target y --ignore class" "--target class" "--target a,y --test-fraction 0.2" \
    "--target class --test-fraction 0.1 --split numpy:3 --class-weights balanced" \
    "--target y --test-mask mask.csv:1 --patience 3 --iters 1" "--target n --ordinal n=0,1,2,3,4,123456789" \
    "--target y --ordinal 1=low,hi\"gh --dates days+weekday --basis sgpr" \
    "--target y --test all.csv --fit-q end" "--target y --transform all=linear --levels means" \
    "--target y --target-transform asinh" "--target y --transform auto" "--target class --transform auto"; do
    case $words in *numpy* | *weekday* | *asinh*) ;; *) full || continue ;; esac
    # shellcheck disable=SC2086
    check "table: the model of the CSV file ($words)" same_model all.odvt $words
done
check "table: the same of a temporary one" same_model all.csv --target y --ignore class
check "table: no temporary table is left" test -z "$(ls odvgp.?????? stored.odvgp.* 2>/dev/null)"
for file in all.csv all.odvt; do
    "$tool" train --data $file $quick --target y --memory 1k --model t.odvgp 2>&1 >/dev/null --iters 1 |
        cat >/dev/null
    "$tool" train --data $file --target n --basis coupled --beta 5 --iters 1 --warm off --memory 1k \
        --model t.odvgp 2>err.txt >t.txt
    grep '^note: line' err.txt >$file.line
done
check "table: notes name the lines of the CSV file" sh -c \
    'grep -q "^note: line 10, column 3 (n): 1.23457e+08 is" all.csv.line && cmp all.csv.line all.odvt.line'
# Few distinct rows, so that points are few.
awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    BEGIN { seed = 5; print "a,b,y"
            for (i = 0; i < 560; i++) { a = int(5 * uniform()); b = int(4 * uniform()); print a "," b "," a * b + uniform() } }' >race.csv
"$tool" convert race.csv race.odvt >/dev/null
for memory in 1G 1k; do
    "$tool" train --data race.odvt --auto-tries 2 --quiet --threads 1 --memory $memory --model race.$memory \
        --checkpoint 0 >/dev/null
done
check "table: a race of auto on rows on the disk makes the same model" sh -c \
    '"$1" info race.1k | grep -q "^tried" && cmp race.1G race.1k' sh "$tool"
check "table: a CSV file above --memory: said" sh -c '"$1" train --data all.csv --target y --memory 1k \
    --basis coupled --beta 5 --iters 1 --model t.odvgp 2>&1 >/dev/null |
    grep -q "^note: all.csv: is above --memory .* its rows stay on the disk, in a temporary table of"' sh "$tool"

# ---- all commands ----
"$tool" train --data all.csv $quick --target y --ignore class --model all.odvgp >/dev/null
for memory in 1G 1k; do
    "$tool" predict --model all.odvgp --data all.csv --keep 1,when --out csv.txt --json >csv.json
    "$tool" predict --model all.odvgp --data all.odvt --keep 1,when --out t.txt --json --memory $memory >t.json
    check "predict: a table ($memory)" sh -c 'sed "s/:30:00Z/:30:00/" csv.txt | cmp - t.txt'
    check "predict: its metrics ($memory)" test "$(values csv.json n rmse loglik n_test)" = \
        "$(values t.json n rmse loglik n_test)"
    "$tool" predict --model all.odvgp --data all.odvt --memory $memory --quiet 2>/dev/null | cut -d, -f1-3 >t.txt
    "$tool" predict --model all.odvgp --data all.csv --quiet 2>/dev/null | cut -d, -f1-3 >csv.txt
    check "predict: to standard output ($memory)" cmp csv.txt t.txt
done
# In memory, and on the disk.
for data in all.csv all.odvt; do
    memory=$([ $data = all.csv ] && echo 1G || echo 1k)
    "$tool" update --model all.odvgp --data $data --memory $memory --out $data.odvgp --quiet >/dev/null
    "$tool" sample --model all.odvgp --data $data --memory $memory --samples 2 --out $data.txt --quiet
    compare --data $data --memory $memory --target y --bases coupled,sgpr --iters 3 | cut -c1-30 >$data.table
    train --data $data --memory $memory --target y --folds 2 --basis coupled --beta 5 --iters 2 |
        sed 's, *[^ ]*$,,' >$data.folds
    "$tool" budget --data $data --memory $memory --target y --ignore when,1,class --flash 12k --us 900 \
        --iters 2 --name b --out $data.h --model $data.b --quiet >/dev/null 2>&1
done
check "update: a table" cmp all.csv.odvgp all.odvt.odvgp
check "sample: a table" cmp all.csv.txt all.odvt.txt
check "compare: a table" sh -c 'test -s all.csv.table && cmp all.csv.table all.odvt.table'
check "folds: a table" sh -c 'test -s all.csv.folds && cmp all.csv.folds all.odvt.folds'
check "budget: a table" cmp all.csv.b all.odvt.b
"$tool" train --data all.odvt $quick --target y --model r.odvgp --iters 3 >/dev/null
"$tool" train --data all.odvt --memory 1k --quiet --resume r.odvgp --model r.odvgp --iters 5 >/dev/null
"$tool" train --data all.csv $quick --target y --model r2.odvgp --iters 3 >/dev/null
"$tool" train --data all.csv --quiet --resume r2.odvgp --model r2.odvgp --iters 5 >/dev/null
check "resume: with rows on the disk" cmp r.odvgp r2.odvgp
"$tool" train --data all.odvt --memory 1k $quick --target y --plot p.svg --model t.odvgp >/dev/null
check "plot: rows on the disk" grep -q '</svg>' p.svg
check "info: a table" sh -c '"$1" info all.odvt >t.txt && grep -q "^rows     200 differ; blocks 0 to 4 are whole" t.txt &&
    grep -q "^1        of, it: 2 texts: low, hi.gh$" t.txt && grep -q "^3        n: numbers from 0 to 1.23457e+08$" t.txt &&
    grep -q "^2        when: dates from 2024-01-01T00:30:00 to" t.txt' sh "$tool"
"$tool" info all.odvt --json >t.json
check "info: JSON" test "$(values t.json n distinct)" = "200 200"

# ---- several files, NumPy's arrays, awkward CSV files ----
head -n 60 named.csv >one.csv
{ head -n 1 named.csv; sed 1,60d named.csv; } >two-of.csv
"$tool" convert one.csv two-of.csv both.odvt >/dev/null
"$tool" convert one.csv one.odvt >/dev/null && "$tool" convert two-of.csv two-of.odvt >/dev/null
"$tool" convert one.odvt two-of.odvt tables.odvt >/dev/null
csv=named.csv
mkdir several
cp both.odvt several/named.odvt
check "convert: several CSV files make one" same_model several/named.odvt
cp tables.odvt several/named.odvt
check "convert: several tables make one" same_model several/named.odvt
check "convert: which is the same table" cmp both.odvt tables.odvt
check "refused: other columns" refuses "plain.csv: has no header, and named.csv has one" \
    convert named.csv plain.csv t.odvt
sed '1s/a/x/' named.csv >t.csv
check "refused: other names" refuses "t.csv: column 0 is 'x', and in named.csv 'a'" convert named.csv t.csv t.odvt
sed '2,$s/^[^,]*/red/' named.csv >t.csv
check "refused: texts after numbers" refuses "t.csv: column 0 holds texts, and in the files before numbers" \
    convert named.csv t.csv t.odvt
check "refused: no output" refuses "named.csv: is there already, and is no table of odvgp" convert plain.csv named.csv
check "refused: an output that is read" refuses "one.odvt: is read and would be written" \
    convert one.odvt two-of.odvt one.odvt
# npy TYPE BYTES: an array of [3,2] numbers 1 2 3 4 5 6 in t.npy.
npy() {
    text="{'descr': '$1', 'fortran_order': ${3:-False}, 'shape': (3, 2), }"
    printf '\223NUMPY\001\000\166\000%-117s\n' "$text" >t.npy
    for number in $2; do printf "$number" >>t.npy; done
}
f4="\0\0\200\077 \0\0\0\100 \0\0\100\100 \0\0\200\100 \0\0\240\100 \0\0\300\100"
f8="\0\0\0\0\0\0\360\077 \0\0\0\0\0\0\0\100 \0\0\0\0\0\0\010\100 \0\0\0\0\0\0\020\100 \0\0\0\0\0\0\024\100 \0\0\0\0\0\0\030\100"
printf '1,2\n3,4\n5,6\n' >t.csv
"$tool" convert t.csv csv.odvt --header no >/dev/null 2>&1
for type in f4 f8; do
    eval "npy '<$type' \"\$$type\""
    "$tool" convert t.npy npy.odvt >/dev/null 2>&1
    for table in csv npy; do "$tool" info $table.odvt | sed 1d >$table.info; done
    check "npy: $type" sh -c 'test $(grep -c numbers npy.info) = 2 && cmp csv.info npy.info'
    check "npy: $type, a training" "$tool" train --data t.npy --basis coupled --iters 1 --quiet --model t.odvgp
    check "npy: $type, on the disk" "$tool" train --data t.npy --basis coupled --iters 1 --quiet --memory 1 \
        --model t2.odvgp
    sed 's/dataset//' t.odvgp | cmp - t2.odvgp >/dev/null 2>&1
done
head -c 150 t.npy >cut.npy
check "refused: an array that is cut" refuses "cut.npy: is truncated: it has 150 bytes of 176" train --data cut.npy
npy '<f8' "$f8" True
check "refused: an array by columns" refuses "t.npy: is stored by columns: save numpy.ascontiguousarray(x)" \
    train --data t.npy
npy '>f8' "$f8"
check "refused: an array of other numbers" refuses "t.npy: holds '>f8', and must hold float32 or float64" \
    train --data t.npy
# A column of numbers and texts, which is known at its end; one that only seems to be one; separators
# at each line's end; gzip; quotes with line ends; CR.
awk -F, 'BEGIN { print "k,a,l,y" }
    { print (NR > 150 ? "red" : NR % 4) "," $1 "," (NR == 180 ? "n.a." : NR) "," $3 }' plain.csv >mixed.csv
sed 's/$/,/' named.csv >trailing.csv
sed 's/$/,,,/' named.csv >trailing3.csv
awk -F, 'BEGIN { printf "a,k,y\r\n" } { printf "%s,\"x\n%d\",%s\r\n", $1, NR % 4, $3 }' plain.csv >quoted.csv
gzip -c text.csv >packed.csv.gz
for csv in mixed.csv trailing.csv trailing3.csv quoted.csv packed.csv.gz text.csv plain.csv two.csv; do
    ignore=
    [ $csv != mixed.csv ] || ignore="--ignore l"
    "$tool" convert $csv t.odvt >/dev/null 2>&1
    # The name of the data is kept in the model.
    name=${csv%%.*}.odvt
    mv t.odvt "$name"
    # shellcheck disable=SC2086
    check "convert: $csv" same_model "$name" $ignore
done
sed 's/,/,,/2' named.csv >t.csv
"$tool" convert t.csv t.odvt >/dev/null 2>&1
for data in t.csv t.odvt; do
    check "refused: a column before the last without values ($data)" refuses "$data: column 2 has no values: --ignore it" \
        train --data $data --target y
done
check "table: a misfit is named as in the CSV file" refuses \
    "mixed.odvt: line 181, column 2 (l): 'n.a.' is not a number" train --data mixed.odvt
check "convert: standard input" sh -c '"$1" convert - input.odvt <text.csv >/dev/null && cmp input.odvt text.odvt' sh "$tool"
check "refused: standard input that is to be read twice" sh -c \
    '"$1" convert - t2.odvt <mixed.csv 2>&1 | grep -q "has to be read twice"; test ! -e t2.odvt' sh "$tool"
# What a model asks for: texts of numbers, numbers of texts.
awk -F, '{ print $1 "," NR % 3 "," $3 }' plain.csv >codes.csv
"$tool" train --data codes.csv $quick --ordinal 1=0,1,2 --model codes.odvgp >/dev/null
"$tool" convert codes.csv codes.odvt >/dev/null 2>&1
for data in codes.csv codes.odvt; do predict codes.odvgp $data --quiet && mv t.txt $data.txt; done
check "table: numbers where a model has levels" cmp codes.csv.txt codes.odvt.txt
predict codes.odvgp codes.odvt --quiet --memory 1k
check "table: the same on the disk" cmp codes.csv.txt t.txt
sed 's/^\([^,]*,[^,]*\),.*/\1,big/; 1s/big/1/' codes.csv >t.csv
"$tool" convert t.csv t.odvt >/dev/null 2>&1
check "table: texts where a model has numbers" refuses "t.odvt: line 2, column 2: 'big' is not a number" \
    predict --model codes.odvgp --data t.odvt --quiet

# ---- reliability ----
cp all.odvt t.odvt
printf X | dd of=t.odvt bs=1 seek=9000 conv=notrunc 2>/dev/null
check "damaged: the block is named" sh -c '"$1" train --data t.odvt --target y 2>&1 |
    grep -q "^odvgp: t.odvt: block 2 of 4 is damaged: convert the data again$"' sh "$tool"
sed '9s/^[^,]*/7/' all.csv >t.csv
"$tool" convert t.csv t.odvt >/dev/null 2>&1
cp all.odvt t2.odvt
dd if=t.odvt of=t2.odvt bs=4096 skip=1 seek=1 count=1 conv=notrunc 2>/dev/null
check "damaged: a block of another table" refuses "t2.odvt: has blocks of another table: convert the data again" info t2.odvt
head -c 9000 all.odvt >t.odvt
check "truncated: said" refuses "t.odvt: is truncated: it has 9000 bytes of 20480" train --data t.odvt
# changed COMMAND TEXT: a training on rows on the disk ends with a sentence when the table changes, and
# saves the model of the last whole step.
awk 'BEGIN { for (i = 0; i < 20000; i++) print i % 997 "," i % 103 "," i % 11 }' >many.csv
"$tool" convert many.csv many.odvt >/dev/null 2>&1
awk 'BEGIN { for (i = 0; i < 20000; i++) print i % 991 "," i % 101 "," i % 13 }' >others.csv
"$tool" convert others.csv others.odvt >/dev/null 2>&1
changed() {
    cp many.odvt t.odvt
    rm -f t.odvgp
    "$tool" train --data t.odvt --memory 1k --basis orth --beta 9 --gamma 9 --iters 100000000 --warm off \
        --threads 1 --model t.odvgp --checkpoint 0.01 >t.txt 2>err.txt &
    pid=$!
    while [ ! -f t.odvgp.part ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
    sh -c "$1"
    wait $pid
    [ $? -eq 1 ] && grep -q "^odvgp: step [0-9]*: t.odvt: $2" err.txt && "$tool" info t.odvgp
}
check "truncated while it is read" changed 'cp t.odvt keep && dd if=keep of=t.odvt bs=4096 count=3 2>/dev/null' \
    'is truncated: block [0-9]* of [0-9]* is not there'
check "damaged while it is read" changed \
    'for i in $(seq 1 100); do printf X | dd of=t.odvt bs=1 seek=$((4096 * i + 7)) conv=notrunc 2>/dev/null; done' \
    'block [0-9]* of [0-9]* is damaged'
check "overwritten by another table while it is read" changed 'cat others.odvt >t.odvt' '.*\(was replaced by another table\|damaged\|truncated\)'
check "replaced by renaming: the rows that were opened are read on" sh -c '
    cp many.odvt t.odvt
    "$1" train --data t.odvt --memory 1k --basis coupled --beta 9 --iters "$2" --warm off --threads 1 \
        --checkpoint 0.01 --model t.odvgp >/dev/null 2>err.txt & pid=$!
    while [ ! -f t.odvgp.part ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
    cp others.odvt next && mv next t.odvt
    wait $pid' sh "$tool" "$(size 800 300)"
# A full disk: a limit on the size of files stands for it.
cp one.odvt kept.odvt
check "convert: a full disk is said, and the file is as it was" sh -c '
    (ulimit -f 8; "$1" convert many.csv one.odvt 2>err.txt); code=$?
    test $code -eq 1 && grep -q "^odvgp: one.odvt: cannot be written: " err.txt && cmp one.odvt kept.odvt &&
    test -z "$(ls one.odvt.* 2>/dev/null)"' sh "$tool"
check "train: a full disk for the temporary table is said" sh -c '
    (ulimit -f 8; "$1" train --data many.csv --memory 1k --model full.odvgp 2>err.txt); code=$?
    test $code -eq 1 && grep -q "^odvgp: the temporary table: cannot be written: " err.txt &&
    test -z "$(ls full.odvgp* 2>/dev/null)"' sh "$tool"
# Signals: nothing is left.
mkfifo pipe
"$tool" convert pipe stopped.odvt >/dev/null 2>err.txt &
pid=$!
{ awk 'BEGIN { for (i = 0; i < 300000; i++) print i % 997 "," i % 103 "," i % 11 }'; kill -INT $pid
  awk 'BEGIN { for (i = 0; i < 300000; i++) print i % 997 "," i % 103 "," i % 11 }' 2>/dev/null; } >pipe
wait $pid
check "convert: Ctrl-C leaves nothing" test "$? $(ls stopped.odvt* 2>/dev/null)" = "130 "
"$tool" train --data many.csv --memory 1k --basis coupled --beta 9 --iters 100000000 --warm off --threads 1 \
    --model part.odvgp --checkpoint 0.01 >t.txt 2>err.txt &
pid=$!
while [ ! -f part.odvgp.part ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
check "train: the temporary table has no name" test -z "$(ls part.odvgp.?????? 2>/dev/null)"
kill -INT $pid
wait $pid
check "train: nor after Ctrl-C" test "$? $(ls part.odvgp*)" = "130 part.odvgp"
