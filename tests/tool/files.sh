# Checkpoints, and files that cannot be written or must not be: part of tests/tool/tool.sh, which reads this file.

# ---- what cannot be written ----
check "a closed pipe is an error" sh -c '{ "$1" predict --model m.odvgp --data named.csv --quiet
    "$1" predict --model m.odvgp --data named.csv --quiet 2>t.txt; echo $? >code.txt; } | :; sleep 0.2
    test "$(cat code.txt) $(cat t.txt)" = "1 odvgp: standard output cannot be written: Broken pipe"' \
    sh "$tool"
(ulimit -f 8; fit --data named.csv --model full.odvgp 2>err.txt)
check "a file above the limit is an error" test "$? $(cat err.txt)" = \
    "1 odvgp: full.odvgp: cannot be written: File too large"
check "and no part of it is left" test -z "$(ls full.odvgp* 2>/dev/null)"
# fails_full COMMAND...: does it fail where standard output is full or closed?
fails_full() {
    for to in '>/dev/full' '>&-'; do
        eval '"$tool" "$@" 2>full.txt '"$to"
        [ $? -eq 1 ] && grep -q '^odvgp: standard output cannot be written' full.txt || return 1
    done
}
if [ -c /dev/full ]; then
    train --data named.csv --iters 100 --model trace.odvgp --trace /dev/full >t.txt 2>err.txt
    check "full: the trace; the training goes on, the model is saved, the exit code is 1" \
        test "$? $(tail -n 1 t.txt) $(cat err.txt)" = \
        "1 saved    trace.odvgp odvgp: --trace /dev/full: is incomplete"
    check "full: train" fails_full train --data named.csv --iters 1 --model full.odvgp
    check "full: and the model is saved" "$tool" info full.odvgp
    check "full: compare" fails_full compare --data named.csv --iters 1 --bases coupled --beta 5
    check "full: predict" fails_full predict --model m.odvgp --data named.csv
    check "full: predict, JSON" fails_full predict --model m.odvgp --data named.csv --json
    check "full: info" fails_full info --model m.odvgp
    check "full: help" fails_full help
    check "full: help of a command" fails_full train --help
    check "full: version" fails_full --version
fi

# ---- a model and its checkpoint: the newer one is taken, none that is ahead is lost ----
resumable() { train --data plain.csv --basis coupled --beta 9 --warm off "$@"; }
resumable --iters 10 --model at10.odvgp >/dev/null
for steps in 30 50; do
    resumable --iters $steps --resume at10.odvgp --model at$steps.odvgp >/dev/null 2>&1
done
resumable --kernel rbf --iters 20 --model other.odvgp >/dev/null
# continues MODEL: to step 50, with notes in err.txt.
continues() { "$tool" train --data plain.csv --threads 1 --iters 50 --resume "$@" --model r.odvgp >t.txt 2>err.txt; }
cp at10.odvgp r.odvgp
cp at30.odvgp r.odvgp.part
continues r.odvgp
check "resume: the newer one is the checkpoint" cmp r.odvgp at50.odvgp
check "resume: and this is said" \
    grep -q '^note: resumes r.odvgp.part at step 30; r.odvgp is at step 10$' err.txt
check "resume: the model has overtaken the checkpoint, which is gone" test ! -e r.odvgp.part
cp at30.odvgp r.odvgp
cp at10.odvgp r.odvgp.part
continues r.odvgp --quiet
check "resume: the newer one is the model" cmp r.odvgp at50.odvgp
check "resume: and this is said, too" \
    grep -q '^note: resumes r.odvgp at step 30; r.odvgp.part is at step 10$' err.txt
rm -f r.odvgp
cp at30.odvgp r.odvgp.part
continues r.odvgp
check "resume: there is only the checkpoint" cmp r.odvgp at50.odvgp
check "resume: which is said" grep -q '^note: resumes r.odvgp.part at step 30$' err.txt
cp at30.odvgp r.odvgp
cp other.odvgp r.odvgp.part
check "resume: refused: a checkpoint of another training" refuses "at step 20: --resume r.odvgp.part \
continues that one, and after rm r.odvgp.part this continues r.odvgp" train --data plain.csv --iters 50 \
    --resume r.odvgp --model r.odvgp
check "resume: its first command" "$tool" train --data plain.csv --threads 1 --iters 25 \
    --resume r.odvgp.part --model r2.odvgp
rm r.odvgp.part
check "resume: its second command" continues r.odvgp
# A new training, or one that goes on elsewhere, does not write over a checkpoint.
rm -f r.odvgp
cp at30.odvgp r.odvgp.part
for steps in none 10; do
    [ $steps = none ] || cp at$steps.odvgp r.odvgp
    for words in "" "--resume other.odvgp" "--checkpoint 0"; do
        # shellcheck disable=SC2086
        check "kept: a checkpoint that no model has reached ($steps $words)" refuses \
            "r.odvgp.part: is there already, a checkpoint at step 30: --resume r.odvgp.part continues it" \
            train --data plain.csv --iters 40 --model r.odvgp $words
    done
done
check "kept: its bits" cmp r.odvgp.part at30.odvgp
check "kept: unless the same training has come further" "$tool" train --data plain.csv --threads 1 \
    --iters 50 --resume at30.odvgp --model r.odvgp
cp at50.odvgp r.odvgp
cp at30.odvgp r.odvgp.part
check "kept: a new training where the model has come as far" resumable --iters 5 --model r.odvgp
echo mine >r.odvgp.part
check "kept: a file that is no checkpoint" refuses "r.odvgp.part: " train --data plain.csv --model r.odvgp
check "kept: what it holds" test "$(cat r.odvgp.part)" = mine
rm r.odvgp.part

# ---- what cannot be written on the way ----
# until_true COMMAND...: waits for it, at most twenty seconds.
until_true() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        [ $tries -lt 200 ] || return 1
        tries=$((tries + 1))
        sleep 0.1
    done
}
"$tool" train --data plain.csv --basis coupled --beta 9 --warm off --threads 1 --iters 100000000 \
    --checkpoint 0.01 --model c.odvgp >t.txt 2>err.txt &
pid=$!
until_true test -f c.odvgp.part
until_true sh -c 'rm -rf c.odvgp.part; mkdir c.odvgp.part && mkdir c.odvgp.part/full'
check "a checkpoint that cannot be written: a note" until_true grep -q \
    '^note: the checkpoint c.odvgp.part cannot be written: .*; the training goes on' err.txt
sleep 0.3
check "and only one" test "$(grep -c 'cannot be written' err.txt)" = 1
rm -r c.odvgp.part
check "and the next ones are tried" until_true test -f c.odvgp.part
kill -INT $pid
wait $pid
check "and the model is saved in the end" test -s c.odvgp -a ! -e c.odvgp.part
echo before >picture.svg
limit=20
for words in "train --iters 5 --basis coupled --beta 5" "compare --iters 5 --bases coupled:beta=5"; do
    # shellcheck disable=SC2086
    (ulimit -f $limit && "$tool" $words --data named.csv --threads 1 --quiet --plot picture.svg \
        --trace trace.csv >t.txt 2>err.txt)
    check "a picture that cannot be written: the code, the reason (${words%% *})" test "$? $(cat err.txt)" = \
        "1 odvgp: --plot picture.svg: cannot be written: File too large"
    check "a picture that cannot be written: the result is printed" grep -q '^\(elbo\|coupled\) ' t.txt
    check "a picture that cannot be written: the old one stays" test "$(cat picture.svg)" = before
    check "a picture that cannot be written: the trace is whole" holds "$(wc -l <trace.csv) >= 2"
    limit=4
done
check "no part of a picture is left" test -z "$(ls picture.svg?* 2>/dev/null)"
if full && command -v prlimit >/dev/null 2>&1; then
    # The limit holds for files, not for pipes.
    mkfifo sayings
    cat sayings >err.txt &
    (ulimit -S -f 1 && exec "$tool" train --data plain.csv --basis coupled --beta 9 --warm off --threads 1 \
        --iters 1000000 --checkpoint 0 --trace trace.csv --minutes 0.08 --model c.odvgp) \
        >sayings 2>&1 &
    pid=$!
    check "a trace that cannot be written: a note" until_true grep -q \
        '^note: --trace trace.csv: cannot be written: File too large; the training goes on' err.txt
    prlimit --pid $pid --fsize=unlimited
    wait $pid
    check "a trace that cannot be written: it goes on where it can" test $? -eq 0
    check "a trace that cannot be written: no row is lost" awk -F, 'NF != 11 { exit 1 }
        NR > 1 && $1 <= last { exit 1 } { last = $1 + 0; n = NR } END { exit !(n >= 20) }' trace.csv
fi

# ---- no file is destroyed ----
mkdir files && cp m.odvgp named.csv mask.csv files && cd files || exit 2
ln -s named.csv link.csv
ln named.csv hard.csv
ln -s missing.csv dangling
cksum -- *.csv m.odvgp >../before.txt
f="train --data named.csv"
check "kept: the model that predicts" refuses "--out m.odvgp: is the model file (--model m.odvgp)" \
    predict --model m.odvgp --data named.csv --out m.odvgp
check "kept: the data to predict" refuses "--out ./hard.csv: is the data file" \
    predict --model m.odvgp --data link.csv --out ./hard.csv
check "kept: the data that training reads from standard input" \
    sh -c '"$1" train --data - --model named.csv <named.csv 2>&1 | grep "is the data file"' sh "$tool"
check "kept: the test file" refuses "--model hard.csv: is the test file" \
    $f --data mask.csv --test named.csv --model hard.csv
check "kept: the mask" refuses "--model mask.csv: is the mask file (--test-mask mask.csv)" \
    $f --test-mask mask.csv:1 --model mask.csv
check "kept: the data, by a link" refuses "--plot link.csv: is the data file" \
    compare --data named.csv --plot link.csv
check "kept: the resumed model" refuses "--trace m.odvgp: is the model to resume" \
    $f --resume m.odvgp --model new.odvgp --trace m.odvgp
check "kept: the trace is not the model" refuses "--trace ./new: is the file of --model" \
    $f --model new --trace ./new
check "kept: nor is the picture the trace" refuses "--plot new: is the file of --trace" \
    compare --data named.csv --trace "$PWD/new" --plot new
check "kept: nor what a link will lead to" refuses "--trace missing.csv: is the file of --model" \
    $f --model dangling --trace missing.csv
check "kept: nor the checkpoint" refuses "--trace new.part: is the file of --model" \
    $f --model new --trace new.part
check "kept: the data that standard output is added to" sh -c \
    '"$1" predict --model m.odvgp --data named.csv 2>&1 >>named.csv | grep "is the data file"' \
    sh "$tool"
check "kept: all of them" sh -c 'cksum -- *.csv m.odvgp | cmp - ../before.txt'
echo mine >mine
for name in t.odvgp.tmp t.odvgp.0.tmp; do ln -s mine $name; done
ln -s t.odvgp current.odvgp
fit --data named.csv --iters 1 --model current.odvgp
check "a model's link stays, what it leads to is written" \
    test -L current.odvgp -a ! -L t.odvgp -a -s t.odvgp
check "temporary names that are taken stay" test "$(cat mine t.odvgp.tmp)" = "mine
mine"
ln -s loop loop
check "refused: a link to itself" refuses "loop: its symbolic links lead nowhere" $f --model loop
cd .. || exit 2
