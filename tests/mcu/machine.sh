#!/bin/sh
# machine.sh DIR MACHINE   builds the firmware of tests/mcu for a machine that qemu has, runs it for each of DIR/cases/*.h, and
# writes DIR/MACHINE.rows, lines of table.txt. DIR/exports/NAME.h, if there, is an export of case NAME and runs, too. Says what failed, and what is worth knowing; ends with 1 if anything failed.
# Variable DEFINES, the library's options: one of them ODVGP_PREDICT_ONLY asks for all that this promises.
dir=$1/$2 cases=$1/cases machine=$2 here=tests/mcu failed=0
mkdir -p "$dir" && : >"$1/$machine.rows" || exit 1
rows=$1/$machine.rows
: "${DEFINES:?}"

# ---- machines ----
real=float inputs=1000 stack=4096
. tests/mcu/machines.sh
doubles='__aeabi_(d|.*2d)'
[ $cross = arm-none-eabi- ] || doubles='__([a-z]+df[0-9]?|[a-z]+df[sdt]i|[a-z]+sfdf2|[a-z]*df[st]f2)$'
[ $fpu = no ] || inputs=10000
strict=0
case " $DEFINES " in *ODVGP_PREDICT_ONLY*) strict=1 ;; esac
same=0
case $machine in m4f | m7) same=$strict ;; esac

# ---- building ----
fail() {
    echo "FAIL  $machine: $*"
    failed=1
}
compile() { # source, object, options...
    source=$1 object=$2
    shift 2
    rm -f "$dir/$object"
    ${cross}gcc $cpu $specs -std=c99 -Os -ffunction-sections -fdata-sections -Wall -Wextra -Werror -I. -I$here \
        -I"$cases" $DEFINES "$@" -c "$source" -o "$dir/$object" && return
    fail "$source does not compile"
    return 1
}
firmware() { # program, objects and options...
    program=$1
    shift
    ${cross}gcc $cpu $specs -nostartfiles -Wl,--gc-sections -Wl,-Map="$dir/$program.map" \
        -Wl,--defsym=ROM=$rom,--defsym=ROM_BYTES=$rom_bytes,--defsym=RAM=$ram,--defsym=RAM_BYTES=$ram_bytes,--defsym=STACK_BYTES=$stack \
        -T $here/firmware.ld "$@" -lm -o "$dir/$program" 2>"$dir/$program.log" || {
        cat "$dir/$program.log"
        fail "$program does not link"
        return 1
    }
}
# Bytes by section and origin: text and constants, data and zeroed data of FILE, and all of the compiler's and C's libraries.
sizes() { # map, object
    awk -v object="$2" '
        /^Linker script and memory map/ { on = 1 }
        !on { next }
        NF == 1 && /^ \./ { name = $1; next }
        NF >= 4 && /^ \./ { name = $1; $1 = ""; $0 = $0 }
        $1 ~ /^0x/ && $2 ~ /^0x/ && NF >= 3 {
            kind = name ~ /^\.text/ ? "text" : name ~ /^\.s?rodata/ ? "constants" : name ~ /^\.t?(s?data|s?bss)/ ? "data" : ""
            n = number($2)
            if (kind != "") {
                if (index($3, object)) own[kind] += n
                else if ($3 ~ /\.a\(/) other[kind] += n
            }
            name = ""
        }
        function number(hex,   i, v) {
            for (i = 3; i <= length(hex); i++) v = 16 * v + index("0123456789abcdef", substr(hex, i, 1)) - 1
            return v
        }
        END { print own["text"] + 0, own["constants"] + 0, own["data"] + 0, other["text"] + other["constants"], other["data"] + 0 }
    ' "$1"
}

# Code that only these calls need: no main, nothing from the firmware.
only_calls() { # program, objects
    firmware "$@" -Wl,-e,mcu_predict -Wl,-u,mcu_open -Wl,-u,mcu_scratch -Wl,-u,mcu_mean -Wl,-u,mcu_gradient -Wl,-u,mcu_y \
        -Wl,--unresolved-symbols=ignore-in-object-files
}
code() { # program, calls, the object whose code is meant, further objects
    program=$1 calls=$2 object=$3
    shift 3
    only_calls "$program" "$dir/$calls" "$@" || return
    echo "code $machine $program $(sizes "$dir/$program.map" "$object")" >>"$rows"
    [ "$real" = float ] || return
    names=$(${cross}nm "$dir/$program" | awk -v p="^$doubles" '$NF ~ p { print $NF }' | sort -u | tr '\n' ' ')
    [ -z "$names" ] || echo "      $machine, $program: in double: $names"
    [ -z "$names" ] || [ $strict = 0 ] || fail "$program computes in double"
}

# ---- running ----
emulate() { # program
    timeout 120 $qemu -M $board -display none -icount shift=$shift -semihosting-config enable=on,target=native $qemu_flags \
        -kernel "$dir/$1" >"$dir/$1.txt" 2>&1 </dev/null
    status=$?
    if [ $status -ne 0 ]; then
        tail -n 20 "$dir/$1.txt"
        fail "$1 ends with $status"
    fi
}
run() { # program, case, objects...
    program=$1 name=$2
    shift 2
    firmware "$program" "$dir/start.o" "$@" || return
    emulate "$program"
    awk -v machine="$machine" -v name="$name" -v program="$program" -v rows="$rows" '
        function or_dash(n) { return n == "" ? "-" : n }
        { value[$1] = $2; most[$1] = $3; stack[$1] = $4 }
        $1 == "off" { off = off " " $2 " " $3 / 1000 }
        $1 == "inputs" { print "      " machine ", " name ": " $2 " inputs of any kind take " $3 " to " $4 " instructions" }
        /^no room/ { print "skip  " machine ", " name ": needs " value["scratch"] " bytes of scratch, the machine has " $NF }
        $1 == "passed" { passed = 1 }
        END {
            if (!most["predict"]) exit
            print "run", machine, name, value["block"], value["scratch"], or_dash(most["scratch"]), stack["open"], stack["predict"],
                or_dash(stack["gradient"]), most["open"], most["mean"], most["predict"], or_dash(most["gradient"]) >>rows
            if (passed) print "ok    " machine ", " name ": differences from the host, in tolerances:" off
        }' "$dir/$program.txt"
}

# Estimates of an export, for this machine, beside what was counted.
estimates() { # file of the model's costs
    awk -v name="$model.export" -v machine="$machine" '
        NR == FNR { if ($1 == machine) { found = 1; for (i = 1; i <= 6; i++) want[i] = $(i + 1) }; next }
        $3 == name && $1 == "code" { got[4] = $4 + $5 + $7 }
        $3 == name && $1 == "run" { got[1] = $11; got[2] = $12; got[3] = $13; got[5] = $8; got[6] = $9 }
        END {
            split("mean moments gradient flash stack stack-gradient", what)
            for (i = 1; i <= 6; i++) {
                line = line " " what[i] " " want[i] " of " got[i]
                # Some bytes of stack are registers more or less.
                if ((want[i] - got[i]) ^ 2 > (0.1 * got[i] + (i > 4 ? 48 : 0)) ^ 2) bad = 1
            }
            print "      " machine ", " name ": estimates:" line
            exit bad || !found
        }' "$1" "$rows"
}

# The exported header of a model, if there is one.
exported_model() { # folder, model, options...
    folder=$1 model=$2
    [ -f "$folder/exports/$model.h" ] || return
    shift 2
    exported="-DMCU_EXPORT=\"$folder/exports/$model.h\" -DMCU_NAME=$model"
    # shellcheck disable=SC2086 # a list
    compile $here/calls_export.c "$model.o" $exported -DMCU_GRADIENT "$@" && compile $here/calls_export.c calls_export.o $exported "$@" &&
        code "$model.export" calls_export.o calls_export.o
    # shellcheck disable=SC2086 # a list
    compile_main $exported -DMCU_SAME=0 -DMCU_FINITE=0 "$@" && run "$model.export" "$model.export" "$dir/main.o" "$dir/$model.o"
    estimates "$folder/exports/$model.costs" || fail "$model.export: an estimate is off by more than 10 %"
}

compile odvgp.h library.o -x c -DODVGP_IMPLEMENTATION
compile $here/calls_library.c calls.o
compile $here/calls_library.c calls_gradient.o -DMCU_GRADIENT
compile $here/start.c start.o -std=gnu99 $timer $csr
[ $failed = 0 ] || exit 1
# Apart from the compiler's helpers for integers and, without an FPU, floats.
helpers='__aeabi_(f[a-z0-9]*|u?i2f|u?idiv(mod)?|u?ldivmod|lmul|ll?s[lr]|lasr|ui2f|l2f|ul2f|u?lcmp)|__gnu_thumb1_case_[a-z]*'
helpers="$helpers|__([a-z]+sf[0-9]?|fix(uns)?sf[sd]i|float(un)?[sd]isf|u?(div|mod)[sd]i3|muldi3|(ashl|ashr|lshr)di3|c[lt]z[sd]i2)"
names=$(${cross}nm -u "$dir/library.o" | awk -v p="^($helpers|memcpy|memset)$" '$2 !~ p { printf "%s ", $2 }')
echo "      $machine: the library refers to memcpy, memset, helpers of libgcc${names:+ and $names}"
[ -z "$names" ] || [ $strict = 0 ] || fail "the library refers to $names"
code predict calls.o library.o "$dir/library.o"
compile $here/calls_library.c static.o -DODVGP_STATIC -DODVGP_IMPLEMENTATION && code predict_static static.o static.o
code predict+gradient calls_gradient.o library.o "$dir/library.o"
# All likelihoods, kernels and members, gradients too: code, constants and libraries.
compile $here/calls_library.c calls_all.o -DMCU_GRADIENT -DMCU_Y && code all calls_all.o library.o "$dir/library.o"
all=$(awk '$1 == "code" && $3 == "all" { print $4 + $5 + $7 }' "$rows")
few='-DODVGP_LIKELIHOODS=1 -DODVGP_KERNELS=15'
# shellcheck disable=SC2086 # a list
compile odvgp.h few.o -x c -DODVGP_IMPLEMENTATION $few && code predict_few calls.o few.o "$dir/few.o"
# What one more kernel takes, and README's file of C, linked without start files and without `end`.
rq='' periodic=''
if [ $machine$strict = m4f1 ]; then
    more() { # mask of kernels
        compile odvgp.h more.o -x c -DODVGP_IMPLEMENTATION -DODVGP_LIKELIHOODS=1 "-DODVGP_KERNELS=$1" &&
            only_calls predict_more "$dir/calls.o" "$dir/more.o" &&
            sizes "$dir/predict_more.map" more.o | awk -v few="$few_code" '{ print $1 + $2 + $4 - few }'
    }
    few_code=$(awk '$1 == "code" && $3 == "predict_few" { print $4 + $5 + $7 }' "$rows")
    rq=$(more 31) periodic=$(more 47)
    awk '/^## A controller/ { on = 1 } on && /^```/ { block++; next } block == 1' README.md >"$dir/readme.c"
    ${cross}gcc $cpu -std=c99 -Os -ffunction-sections -Wall -Wextra -Werror -I. -c "$dir/readme.c" -o "$dir/readme.o" &&
        firmware readme "$dir/calls.o" "$dir/readme.o" -Wl,-e,mcu_predict -Wl,-u,mcu_open -Wl,-u,mcu_scratch ||
        fail "README's file of C does not compile and link with -nostartfiles"
fi

# Every switch compiles without a warning where sizes have 32 bits and enumerations, on ARM, a byte; with -Os, which adds assembly.
switches() {
    cat <<END

-DODVGP_FLOAT
-DODVGP_NO_MALLOC -DODVGP_NO_STDIO -DODVGP_NO_SIMD -DODVGP_NO_TRANSFORMS
-DODVGP_FLOAT -DODVGP_NO_TRAINING -DODVGP_NO_STDIO -DODVGP_MAX_LAYERS=1
-DODVGP_FLOAT -DODVGP_LIKELIHOODS=3 -DODVGP_KERNELS=1 -DODVGP_MEMBERS=3 -DODVGP_MAX_BASE_KERNELS=1
-DODVGP_FLOAT -DODVGP_FLOAT_ONLY
-DODVGP_PREDICT_ONLY
-DODVGP_FLOAT -DODVGP_PREDICT_ONLY -DODVGP_TRANSFORMS
-DODVGP_FLOAT -DODVGP_PREDICT_ONLY -DODVGP_STATIC -DODVGP_LIKELIHOODS=1 -DODVGP_KERNELS=15 -DODVGP_MEMBERS=2
END
}
case $machine in m4f | rv32)
    warnings() { # file, options...
        ${cross}gcc $cpu $specs -std=c99 -Os -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror -fsyntax-only -I. \
            -DODVGP_IMPLEMENTATION "$@" 2>"$dir/warnings" && return
        grep -E 'error:' "$dir/warnings" | head -n 5
        fail "odvgp.h has warnings or errors: $*"
    }
    switches >"$dir/switches"
    # shellcheck disable=SC2086 # lists
    while read -r options; do warnings -x c odvgp.h $options; done <"$dir/switches"
    # The same after macros of other headers.
    {
        printf '#include <%s.h>\n' assert float limits math stdint stdio stdlib string
        printf '#include "tests/checks/macros.h"\n#include "odvgp.h"\n'
    } >"$dir/macros.c"
    warnings "$dir/macros.c" -DODVGP_FLOAT -DODVGP_PREDICT_ONLY
    warnings "$dir/macros.c" -DODVGP_PREDICT_ONLY -DODVGP_TRANSFORMS ;;
esac

for header in "$cases"/*.h; do
    model=$(basename "$header" .h)
    [ "$model" = orth_12_24 ] && n=$inputs || n=0
    compile_main() { # options...
        compile $here/main.c main.o -DMCU_GRADIENT "-DMCU_CASE=\"$model.h\"" -DMCU_INPUTS=$n "$@"
    }
    compile_main -DMCU_SAME=$same -DMCU_FINITE=$strict && run "$model" "$model" "$dir/main.o" "$dir/calls_gradient.o" "$dir/library.o"
    exported_model "$1" "$model"
done
# Moments of y of every likelihood; the Gaussian's take the same time for any input, too.
if compile $here/moments.c moments.o -I"$1" -DMCU_INPUTS=$inputs -DMCU_SAME=$same && firmware moments "$dir/start.o" "$dir/moments.o" "$dir/library.o"; then
    emulate moments
    awk -v machine="$machine" -v rows="$rows" '
        NF == 4 && $1 != "gaussian-inputs" { off = off " " $1 " " $2 / 1000; most = $4 > most ? $4 : most }
        $1 == "gaussian-inputs" { print "      " machine ", the Gaussian'"'"'s y: " $2 " inputs of any kind take " $3 " to " $4 " instructions" }
        $1 == "passed" {
            print "ok    " machine ", moments of y: differences from the host, in tolerances:" off "; stack " most
            print "moments", most >>rows
        }' "$dir/moments.txt"
fi

# Kernels, sums, products and SOLVE-GP take the same time for any input.
if [ $strict = 1 ] && compile $here/times.c times.o -I"$1" -DMCU_INPUTS=$inputs -DMCU_SAME=$same && firmware times "$dir/start.o" "$dir/times.o" "$dir/library.o"; then
    emulate times
    awk -v machine="$machine" -v n=$inputs '
        NF == 3 { took = took ", " $1 " " $2 ($2 == $3 ? "" : " to " $3) }
        END { print "      " machine ": " n " inputs of any kind take these instructions" took }' "$dir/times.txt"
fi

single=$cpu
for header in "$1/exports"/*.case.h; do
    model=$(basename "$header" .case.h) cases=$1/exports n=0 cpu=$single
    compile_main() { # options...
        compile $here/main.c main.o -DMCU_GRADIENT "-DMCU_CASE=\"$model.case.h\"" -DMCU_INPUTS=0 "$@"
    }
    real=float
    case $model in double*) real=double ;; esac
    [ $machine$real != m7double ] || cpu=$(in_double "$single")
    exported_model "$1" "$model" -DMCU_REAL=$real -DMCU_SELF_TEST=1000
done

# ---- bars ----
# On a Cortex-M4F: bytes of code, instructions of the mean and of mean and variance, bytes of stack.
[ $machine$strict != m4f1 ] || awk -v rq="$rq" -v periodic="$periodic" '
    function bar(what, n, most) { if (!(n > 0 && n <= most)) { print "FAIL  m4f, " what ": " n ", not " most; bad = 1 } }
    $1 == "code" && $3 == "all" { bar("code of all likelihoods, kernels and members", $4 + $5 + $7, 30720); all = 1 }
    $1 == "code" && $3 == "predict_few" { bar("code of the Gaussian, rbf and the Materns", $4 + $5 + $7, 6144); few = 1 }
    $1 == "run" && $3 !~ /export/ {
        bar($3 ": stack to open", $7, 614)
        bar($3 ": stack to predict", $8, 614)
        bar($3 ": instructions to open a byte", $10 / $4, 10)
        if ($3 ~ /^(orth|matern52)_12_24$/) { bar($3 ": mean", $11, 3000); bar($3 ": mean and variance", $12, 5000); small++ }
        if ($3 ~ /^(solve|sum)_12_24$/) { bar($3 ": mean and variance", $12, 5000); more++ }
        if ($3 ~ /^(orth|matern52)_32_128$/) { bar($3 ": mean", $11, 14000); bar($3 ": mean and variance", $12, 22000); large++ }
    }
    $1 == "moments" { bar("stack of moments of y", $2, 614); y = 1 }
    END {
        bar("code of rq", rq, 1024)
        bar("code of periodic", periodic, 1024)
        print "      m4f: rq takes " rq " bytes more, periodic " periodic
        if (!all || !few || small != 2 || more != 2 || large != 2 || !y) { print "FAIL  m4f: bars without a figure"; bad = 1 }
        exit bad
    }' "$rows" || failed=1
# On a Cortex-M3: instructions in those of the exported header, and of 63,000 that a header written by hand took.
[ $machine$strict != m31 ] || awk '
    $1 == "run" { for (i = 11; i <= 13; i++) n[$3, i] = $i; if ($3 !~ /export/) model[$3] = 1 }
    function bar(name, of, i) {
        ratio = n[name, i] / of
        if (!(ratio > 0 && ratio <= 1.3)) { print "FAIL  m3, " name ": " n[name, i] " instructions, more than 1.3 times " of; bad = 1 }
        if (ratio > most) most = ratio
    }
    END {
        for (name in model) for (i = 11; i <= 13; i++) bar(name, n[name ".export", i] + 1e-9, i)
        print "      m3: at most " most " times the instructions of an exported header"
        bar("orth_12_24", 63000, 12)
        exit bad
    }' "$rows" || failed=1
exit $failed
