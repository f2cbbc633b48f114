#!/bin/sh
# ports.sh DIR   builds the tool, the demo, five examples and a lesson with other compilers and C libraries, without warnings, and
# runs what can run here: MinGW-w64 (under wine), musl (one static file), tcc (plain C, no threads). What is not installed is
# skipped. Variables MINGW, MUSL, TCC, WINE; EXPECT="mingw musl tcc" names those that must not be missing, as in .ci/run.
# gcc needs a quarter of a minute for the header: with it, programs that set no options share one object of it, and are parsed as a whole.
dir=$1
: "${MINGW:=x86_64-w64-mingw32-gcc}" "${MUSL:=musl-gcc}" "${TCC:=tcc}" "${WINE:=wine}"
# These run; the others are compiled (ALL=1: and run, too), since the header's code is the same in each.
examples=$(echo examples/0[1-4]*.c examples/08*.c examples/lessons/7*.c) others=$(echo examples/0[5-79]*.c examples/10*.c)
[ -z "$ALL" ] || examples="$examples $others"
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
export WINEDEBUG=-all WINEPREFIX="$dir/wine"
. tests/checks/counts.sh

# A table of two inputs, the noise with standard deviation 0.1 at most.
awk 'BEGIN { srand(3); print "angle,load,torque"
     for (i = 0; i < 300; i++) { a = 3 * rand() - 1.5; l = 2 * rand()
         printf "%.4f,%.4f,%.4f\n", a, l, (1.2 + l) * sin(a) + 0.3 * (rand() + rand() - 1) } }' >"$dir/arm.csv"

# The tool learns the table, predicts it, and refuses to write over it.
learns() { # program
    cp "$dir/arm.csv" "$dir/data.csv" && rm -f "$dir"/m.odvgp "$dir"/pred.csv "$dir"/curves.svg
    (cd "$dir" && $1 train --data data.csv --model m.odvgp --basis orth --beta 15 --gamma 30 --iters 600 --test-fraction 0.1 \
        --trace trace.csv --plot curves.svg --quiet && $1 info --model m.odvgp &&
        $1 predict --model m.odvgp --data data.csv --out pred.csv) || return 1
    [ "$(tail -n 1 "$dir/curves.svg" | tr -d '\r')" = "</svg>" ] || return 1
    paste -d, "$dir/data.csv" "$dir/pred.csv" | tr -d '\r' | awk -F, 'NR > 1 { sum += ($3 - $4) ^ 2 }
        END { r = sqrt(sum / (NR - 1)); print "rmse " r; exit !(NR == 301 && r < 0.2) }' || return 1
    for output in "train --data data.csv --model data.csv" "predict --model m.odvgp --data data.csv --out data.csv"; do
        (cd "$dir" && $1 $output >/dev/null 2>&1)
        [ $? -eq 2 ] || { echo "$output: not refused"; return 1; }
    done
    cmp "$dir/arm.csv" "$dir/data.csv"
}

# A folder with a command "cc" that compiles for the port: the examples' own commands are run with it.
examples() { # compiler, its flags, which come last, what runs a program
    mkdir -p "$dir/bin" build
    cat >"$dir/bin/cc" <<END
#!/bin/sh
$1 "\$@" $2 || exit 1
END
    [ -z "$3" ] || cat >>"$dir/bin/cc" <<END
while [ "\$1" != -o ]; do shift; done
printf '#!/bin/sh\n$3 %s.exe "\$@" >%s.out\nstatus=\$?\ntr -d "\\\\r" <%s.out\nexit \$status\n' "\$2" "\$2" "\$2" >"\$2"
chmod +x "\$2"
END
    chmod +x "$dir/bin/cc"
    [ -z "$ALL" ] || LIBRARY= # one of the others says how much memory it has without threads
    PATH="$dir/bin:$PATH" LIBRARY=$LIBRARY sh tests/checks/examples.sh $examples
    status=$?
    # No later run should meet programs of another machine.
    rm -f build/[01][0-9]_*[a-z] build/lesson7
    return $status
}

# Of the port $name: a program, with its threads' options.
program() { # file, program, options...
    file=$1 to=$2
    shift 2
    if [ -z "$LIBRARY" ] || [ "$(grep -c '^#define ODVGP_' "$file")" -gt 1 ]; then
        ok "$name: $file" $cc $flags "$@" -I. "$file" -o "$to" -lm
    else
        ok "$name: $file, parsed" $cc $flags "$@" -I. -fsyntax-only "$file"
        ok "$name: $file" $cc $flags $threads -DODVGP__IMPLEMENTED -include math.h -include string.h -I. "$file" "$LIBRARY" -o "$to" -lm
    fi
}

port() { # name, compiler, flags, threads, what runs a program, suffix
    name=$1 cc=$2 flags=$3 threads=$4 runner=$5 suffix=$6
    if ! command -v "$cc" >/dev/null; then
        case " $EXPECT " in *" $name "*) ok "$cc is installed" false ;; *) skip "$name: no $cc" ;; esac
        return
    fi
    echo "$name: $($cc -v 2>&1 | tail -n 1)"
    LIBRARY=
    if [ "$name" != tcc ]; then
        LIBRARY=$dir/library-$name.o
        ok "$name: the library" $cc $flags $threads -DODVGP_IMPLEMENTATION -x c -c odvgp.h -o "$LIBRARY"
    fi
    program examples/odvgp.c "$dir/odvgp-$name$suffix" $threads
    program examples/demo.c "$dir/demo-$name$suffix" $threads
    for file in $others; do
        if [ -n "$LIBRARY" ]; then ok "$name: $file" $cc $flags -I. -fsyntax-only "$file"
        else ok "$name: $file" $cc $flags -I. -c "$file" -o "$dir/example-$name.o"; fi
    done
    if [ "$runner" = none ]; then
        skip "$name: nothing runs its programs here"
        for file in $examples; do program "$file" "$dir/example-$name$suffix"; done
        return
    fi
    ok "$name: the tool learns a table" learns "$runner $dir/odvgp-$name$suffix"
    ok "$name: the demo, 20 steps" $runner "$dir/demo-$name$suffix" --steps 20 --out "$dir"
    ok "$name: the examples print what they promise" examples "$cc" "$flags" "$runner"
}

wine=none
if command -v "$WINE" >/dev/null; then
    wine=$WINE
    # The first start makes the prefix, with lines about what is not installed.
    $wine cmd /c exit >/dev/null 2>&1
fi
port mingw "$MINGW" "-O1 -static -Wall -Wextra -Werror" "-DODVGP_USE_PTHREADS -pthread" "$wine" .exe
port musl "$MUSL" "-O1 -static -Wall -Wextra -Werror" "-DODVGP_USE_PTHREADS -pthread" "" ""
port tcc "$TCC" "" "" "" ""
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
