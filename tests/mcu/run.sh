#!/bin/sh
# run.sh CASES DIR [write]   runs the firmware of tests/mcu on the machines that qemu has, prints what they need as a table, and
# compares it with tests/mcu/table.txt: what has grown by more than 2 % fails. `write` writes that file instead. CASES is the program
# that cases.c makes. What is not installed is skipped. Variables MACHINES="m4f rv32" (all); EXPECT=1: nothing may be missing.
cases=$1 dir=$2 write=$3 table=tests/mcu/table.txt
# The library's options are those of the sketch, which README recommends; machine.sh looks for ODVGP_PREDICT_ONLY among them.
: "${DEFINES:=$(sed -n 's/^#define \(ODVGP_[A-Z_]*\((x)\)*\) *\(.*\)/-D\1=\3/p' examples/packaging/predict/gp.h | tr '\n' ' ')}"
export DEFINES LC_ALL=C
options() { sed -n '/^#define ODVGP_IMPLEMENTATION/d; s, *//.*,,; s/^\(#define ODVGP_.*\)/\1/p' | tr -s ' ' | sort; }
if [ "$(options <examples/packaging/predict/gp.h)" != "$(sed -n '/^## A controller/,/^## /p' README.md | options)" ]; then
    echo "FAIL  README's options of a controller are not those of examples/packaging/predict/gp.h"
    exit 1
fi
rm -rf "$dir/cases" "$dir/exports" "$dir"/*.rows
mkdir -p "$dir/cases" "$dir/exports" || exit 1

lacks() { # architecture, program:package...
    what=$1
    shift
    for pair in "$@"; do
        command -v "${pair%%:*}" >/dev/null && continue
        echo "skip  $what: ${pair%%:*} is not installed (on Debian, ${pair#*:})"
        return 0
    done
    return 1
}
# Only a compiler that finds its C library will do.
compiles() { echo '#include <math.h>' | "$@" -x c -fsyntax-only - 2>/dev/null; }

machines=''
lacks "Cortex-M" arm-none-eabi-gcc:gcc-arm-none-eabi,libnewlib-arm-none-eabi qemu-system-arm:qemu-system-arm ||
    if compiles arm-none-eabi-gcc; then machines='m4f m3 m7 m0'; else echo "skip  Cortex-M: libnewlib-arm-none-eabi is not installed"; fi
lacks "RISC-V" riscv64-unknown-elf-gcc:gcc-riscv64-unknown-elf,picolibc-riscv64-unknown-elf qemu-system-riscv32:qemu-system-misc ||
    if compiles riscv64-unknown-elf-gcc --specs=picolibc.specs; then machines="$machines rv32 rv32f"
    else echo "skip  RISC-V: picolibc-riscv64-unknown-elf is not installed"; fi
if [ -n "$EXPECT" ] && [ "$(echo $machines | wc -w)" -lt 6 ]; then
    echo "FAIL  EXPECT is set: nothing may be missing"
    exit 1
fi
wanted=${MACHINES:-$machines} chosen=''
for m in $wanted; do case " $machines " in *" $m "*) chosen="$chosen $m" ;; esac; done
[ -n "$chosen" ] || exit 0

"$cases" "$dir" >"$dir/cases.txt" || exit 1
printf '%s\n' $chosen | xargs -P 2 -I MACHINE sh -c \
    'sh tests/mcu/machine.sh "$1" MACHINE >"$1/MACHINE.txt" 2>&1; status=$?; cat "$1/MACHINE.txt"; exit $status' sh "$dir"
failed=$?

# ---- the table ----
{
    echo "# What predictions need on controllers, under qemu: written by \`make mcu-write\`, compared by \`make mcu\`."
    echo "# Options: $DEFINES -Os"
    for m in m4f rv32; do
        case $m in m4f) gcc=arm-none-eabi-gcc ;; *) gcc=riscv64-unknown-elf-gcc ;; esac
        case " $chosen " in *" $m "*) echo "compiler $m $($gcc --version | head -n 1 | tr ' ' '_')" ;; esac
    done
    echo "#"
    echo "# Code for these calls only, in bytes; libraries: libm, libc and libgcc, their text and constants, and data."
    echo "#    machine calls            text constants   data libraries  +data"
    for m in $chosen; do awk '$1 == "code" { printf "code %-7s %-16s %6d %9d %6d %9d %6d\n", $2, $3, $4, $5, $6, $7, $8 }' "$dir/$m.rows"; done
    echo "#"
    echo "# Bytes of block, scratch (of a prediction, of one with gradients) and painted stack; most instructions to open the block and"
    echo "# for a row: mean, mean and variance, these and their gradients."
    echo "#    machine model              block scratch +gradient  open predict +gradient      open      mean  mean+var +gradient"
    for m in $chosen; do
        awk '$1 == "run" { printf "run  %-7s %-18s %6s %6s %9s %6s %7s %9s %9s %9s %9s %9s\n", $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 }' "$dir/$m.rows"
    done
    echo "#"
    echo "# Least instructions of a Cortex-M4F by count, one for each product, sum, root and store and 1/4 more for loads and loops of sums:"
    echo "# a point of C columns takes 20 + 3 C for an rbf (the exponential 13, its range 3, factors, constants and store 4), a Matern 3 more;"
    echo "# a number of a triangle 1.25, its row 6; the call 300. With 36 points, D = 2: two ard kernels 36 x 56 + 45 + 156 x 1.25 + 24 x 6 +"
    echo "# 300 = 2,700, SOLVE-GP (L of 36, R of 12 and 24) 36 x 26 + 45 + 1,044 x 1.25 + 72 x 6 + 300 = 3,000: below the 5,000 that are"
    echo "# allowed. The mean alone of two ard kernels needs 36 x 56 + 45 + 300 = 2,360; sum_12_24 takes more than the 3,000 that are allowed."
} >"$dir/table.txt"
cat "$dir/table.txt"
if [ -n "$write" ]; then
    [ $failed -eq 0 ] || exit 1
    if [ "$chosen" != " m4f m3 m7 m0 rv32 rv32f" ]; then
        echo "FAIL  only a run on all machines is written"
        exit 1
    fi
    cp "$dir/table.txt" "$table"
    exit
fi
# Another compiler's sizes are shown, not judged.
awk '
    BEGIN { split("m4f m3 m7 m0", m); for (i in m) family[m[i]] = "m4f"; family["rv32"] = family["rv32f"] = "rv32" }
    BEGIN {
        n = split("text constants data library-code library-data", m)
        for (i = 1; i <= n; i++) name["code", i + 3] = m[i]
        n = split("block scratch scratch-gradient stack-open stack-predict stack-gradient open mean mean+var mean+var+gradient", m)
        for (i = 1; i <= n; i++) name["run", i + 3] = m[i]
    }
    /^#/ { next }
    { key = $1 " " $2 (NF > 3 ? " " $3 : "") }
    NR == FNR { old[key] = $0; next }
    $1 == "compiler" {
        if (old[key] == $0) judged[$2] = 1
        else { print "note  " $2 ": the table is from " old[key] }
        next
    }
    !(key in old) { print "FAIL  " key " is not in the table: make mcu-write"; bad = 1; next }
    {
        n = split(old[key], was)
        for (i = 4; i <= NF; i++) {
            if ($i == was[i]) continue
            if ($i > was[i] * 1.02 || (was[i] == "-") != ($i == "-")) {
                if (++lines <= 40) print (judged[family[$2]] ? "FAIL  " : "note  ") key ": " name[$1, i] " was " was[i] ", is " $i
                if (judged[family[$2]]) bad = 1
            } else if ($i < was[i] * 0.98) less++
        }
    }
    END {
        if (lines > 40) print "      and " lines - 40 " more"
        if (less) print "note  " less " numbers fell by more than 2 %: make mcu-write keeps them so"
        exit bad
    }' "$table" "$dir/table.txt" || failed=1
[ $failed -eq 0 ] && echo "mcu: all machines agree with the host, nothing has grown"
exit $failed
