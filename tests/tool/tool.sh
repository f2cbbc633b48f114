#!/bin/sh
# Tests of the command-line tool:  sh tests/tool/tool.sh build/odvgp [SUBJECT...]
# A subject is a file SUBJECT.sh beside this one, which is read in a temporary folder of its own that
# holds the data and models made here, or before by `tool.sh PROGRAM --data`; without one all are run. Prints a line per check and
# `N passed, N failed`, and fails if a check does.
LC_ALL=C
export LC_ALL
unset CDPATH
[ $# -ge 1 ] && [ -x "$1" ] || { echo "usage: sh tests/tool/tool.sh PROGRAM [SUBJECT...]" >&2; exit 2; }
tool=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")" && pwd)
shift
[ $# -gt 0 ] || for subject in "$here"/*.sh; do
    subject=$(basename "$subject" .sh)
    [ "$subject" = tool ] || set -- "$@" "$subject"
done
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
mkdir "$folder/common" && cd "$folder/common" || exit 2
passed=0
failed=0
exec 3>&1

# check NAME COMMAND...: one line; the check holds if the command succeeds.
check() {
    name=$1
    shift
    if "$@" >/dev/null 2>&1; then
        passed=$((passed + 1))
        echo "ok    $name"
    else
        failed=$((failed + 1))
        echo "FAIL  $name"
    fi
}

# value FILE KEY: the value of a key of the JSON object in a file. values FILE KEY...: several.
value() { sed -n 's/.*"'"$2"'": \("[^"]*"\|[^,}]*\).*/\1/p' "$1" | tr -d '"'; }
values() {
    from=$1 list=$(value "$1" "$2")
    shift 2
    for key; do list="$list $(value "$from" "$key")"; done
    echo "$list"
}

# full: is all to run? `make test` leaves what takes long to the full length, which CI runs.
full() { [ "${ODVGP_TEST_SHORT:-0}" = 0 ]; }

# size USUAL LEAST: a number of steps or rows, or the smaller one in the short form, as test_size of the
# C tests. The checks are the same.
size() { if full; then echo "$1"; else echo "$2"; fi; }

# True if the awk condition holds.
holds() { awk "BEGIN { exit !($1) }"; }

# Processor seconds of the programs that ended between `times >before.txt` and `times >after.txt`.
processor_seconds() {
    { tail -n 1 before.txt; tail -n 1 after.txt; } | tr ms '  ' |
        awk '{ spent = 60 * $1 + $2 - spent } END { print spent }'
}

# train ARGUMENTS...: a short training.
train() { "$tool" train --iters 30 --quiet --threads 1 "$@"; }
fit() { train "$@" >/dev/null; }

# compare ARGUMENTS...: the same.
compare() { "$tool" compare --iters 30 --quiet --threads 1 --beta 12 --gamma 20 "$@"; }

# predict MODEL DATA OPTIONS...: into t.txt.
predict() {
    model=$1 data=$2
    shift 2
    "$tool" predict --model "$model" --data "$data" --out t.txt --threads 1 "$@" >/dev/null
}

# race ARGUMENTS...: a training that tells its result as JSON.
race() { "$tool" train --threads 1 --json "$@"; }

# made SEED ROWS PROGRAM: rows with uniform() and normal() of awk.
made() {
    awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
    function normal() { return sqrt(-2 * log(uniform())) * cos(6.2831853 * uniform()) }
    BEGIN { seed = '"$1"'; for (i = 0; i < '"$2"'; i++) { '"$3"' } }'
}

# tried TEXT: is it in the table of what was tried?
tried() { sed -n '/^race /,$p' err.txt | grep -q -e "$1"; }

# waits_for TEXT FILE: until FILE holds TEXT or the background program $pid has ended.
waits_for() {
    while ! grep -q "$1" "$2" 2>/dev/null && kill -0 $pid 2>/dev/null; do sleep 0.1; done
}

# interrupted TEXT FILE ARGUMENTS...: runs the tool with its output in FILE, stops it by Ctrl-C, or
# by the signal $signal, once int.err holds TEXT, and returns its exit code.
interrupted() {
    text=$1 file=$2
    shift 2
    rm -f int.err
    "$tool" "$@" >"$file" 2>int.err &
    pid=$!
    waits_for "$text" int.err
    sleep 0.3
    kill -${signal:-INT} $pid
    wait $pid
}

# seconds COMMAND...: those of the clock; date has no parts of seconds everywhere. Programs beside this
# one may hold the last step up, so what compares them may try three times.
clock() { case $(date +%N) in *N*) date +%s ;; *) date +%s.%N ;; esac; }
seconds() {
    from=$(clock)
    "$@" || return 1
    echo "$(clock) $from" | awk '{ print $1 - $2 }'
}
three_times() { "$@" || "$@" || "$@"; }

# refuses TEXT ARGUMENTS...: exit code 2, nothing on stdout, one line on stderr that holds TEXT, no
# new file.
refuses() {
    text=$1
    shift
    before=$(ls -a)
    "$tool" "$@" >"$folder/out" 2>"$folder/err"
    code=$?
    [ $code -eq 2 ] && [ ! -s "$folder/out" ] && [ "$(wc -l <"$folder/err")" -eq 1 ] &&
        grep -qF -e "$text" "$folder/err" &&
        [ "$(ls -a)" = "$before" ] && return 0
    echo "      code $code: $(cat "$folder/err")" >&3
    return 1
}

# ---- data: y = sin(3 a) + b^2 / 4 + small noise, 200 rows; the same with text, masks, targets ----
make_data() {
    # Random numbers that are the same in every awk.
    awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
        BEGIN {
            seed = 1
            for (i = 0; i < 200; i++) {
                a = 2 * uniform() - 1
                b = 4 * uniform() - 2
                y = sin(3 * a) + b * b / 4 + 0.05 * (uniform() - 0.5)
                printf "%.6f,%.6f,%.6f\n", a, b, y
            }
        }' >plain.csv
    { echo "a,b,y"; cat plain.csv; } >named.csv
    awk -F, 'BEGIN { OFS = "," } {
        c = NR % 3 == 0 ? "red" : NR % 3 == 1 ? "green" : "blue"
        print $1, c, NR % 2 ? "low" : "high", $2, $3 + (c == "red")
    }' plain.csv >rows
    { echo 'a,colour,"size, of it",b,y'; sed 's/,red,/,"red",/' rows; } >text.csv
    awk 'NR % 5 == 0 { print "0,1"; next } { print "1,0" }' plain.csv >mask.csv
    awk -F, 'BEGIN { OFS = "," } { print $0, 2 * $1 - $2 }' plain.csv >two.csv
    awk 'BEGIN { OFS = "," } {
        print 1e12 + 1e11 * (NR % 7), 1e-12 * (NR % 5), 3, NR % 7 + NR % 5
    }' plain.csv >scales.csv
    printf '1,2\n3,4\n' >short.csv
    awk 'BEGIN { for (i = 0; i < 50; i++) print "1,1,5" }' >same.csv
    awk -F, 'NR == 1 { print "id," $0; next } { print "id" NR "," $0 }' named.csv >ids.csv
    sed '3s/^[^,]*/NA/' named.csv >hole.csv
    cut -d, -f1,2 plain.csv >inputs.csv
    train --data named.csv --test-mask mask.csv:1 --iters 300 --lr 0.03 --natgrad-step 0.1 \
        --model m.odvgp --json --trace trace.csv --plot curves.svg >out.json 2>err.txt
    echo $? >trained
    fit --data named.csv --basis coupled --beta 5 --iters 2 --model named.odvgp
    "$tool" predict --model named.odvgp --data inputs.csv --out named.txt --quiet
}
steady="--lr 0.001 --natgrad-step 0.005" # the defaults fall over --iters
m="--model bad.odvgp" # of trainings that are refused
# `--data` leaves them beside the program, for the runs of subjects that follow; a forced instruction
# set makes its own.
kept=$tool.data
if [ "$1" != --data ] && [ -z "$ODVGP_ISA" ] && [ "$kept/trained" -nt "$tool" ] &&
    [ "$kept/trained" -nt "$here/tool.sh" ]; then
    cp -R "$kept/." .
else
    make_data
fi
trained=$(cat trained)
if [ "$1" = --data ]; then
    rm -rf "$kept"
    cp -R . "$kept"
    exit
fi

# ---- subjects ----
for subject; do
    cp -R "$folder/common" "$folder/$subject" && cd "$folder/$subject" || exit 2
    # shellcheck source=/dev/null
    . "$here/$subject.sh"
    check "no temporary file is left ($subject)" test -z "$(ls ./*.tmp 2>/dev/null)"
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
