#!/bin/sh
# online.sh DIR [write]   builds the firmware that learns while it serves (online.c) for a Cortex-M7, runs it under qemu, prints what
# an update and a prediction with gradient take, and compares it with tests/mcu/online.txt: what has grown by more than 2 %, or is
# above its bar, fails. `write` writes the numbers of that file; its bars stay. What is not installed is skipped. Variables CC;
# MACHINES="m7 rv32" (all); EXPECT=1: nothing may be missing.
dir=$1/online write=$2 table=tests/mcu/online.txt here=tests/mcu cross=arm-none-eabi-
export LC_ALL=C
# shellcheck source=tests/mcu/machine_wanted.sh
. $here/machine_wanted.sh
machine_wanted m7 "learning on a Cortex-M7"
mkdir -p "$dir" || exit 1
fail() {
    echo "FAIL  learning: $*"
    exit 1
}
cpu='-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16'
options=$(sed -n 's/^# Options: //p' $table)
compile() { # source, object, options...
    source=$1 object=$2
    shift 2
    # shellcheck disable=SC2086 # lists
    ${cross}gcc $cpu -std=c99 -ffunction-sections -fdata-sections -Wall -Wextra -Werror -I. -I$here -I"$dir" $options \
        '-DODVGP_ASSERT(x)=((void)0)' "$@" -c "$source" -o "$dir/$object" || fail "$source does not compile"
}
${CC:-cc} -O0 -I. -DMCU_HOST $here/online.c -o "$dir/host" -lm && "$dir/host" >"$dir/online_block.h" || fail "the host has no model"
compile odvgp.h library.o -x c -DODVGP_IMPLEMENTATION
compile $here/online.c online.o
compile $here/start.c start.o -std=gnu99 -DMCU_TIMER_CMSDK -DMCU_MHZ=25 -DMCU_SHIFT=10
# shellcheck disable=SC2086 # a list
${cross}gcc $cpu -nostartfiles -Wl,--gc-sections -Wl,--defsym=ROM=0,--defsym=ROM_BYTES=0x400000 \
    -Wl,--defsym=RAM=0x20000000,--defsym=RAM_BYTES=0x400000,--defsym=STACK_BYTES=0x4000 -T $here/firmware.ld "$dir/online.o" \
    "$dir/library.o" "$dir/start.o" -lm -o "$dir/online.elf" || fail "the firmware does not link"
timeout 300 qemu-system-arm -M mps2-an500 -display none -icount shift=10 -semihosting-config enable=on,target=native \
    -kernel "$dir/online.elf" >"$dir/online.out" 2>&1 </dev/null || fail "the firmware ends with: $(tail -n 2 "$dir/online.out")"
{
    sed -n '/^#/p' $table
    echo "compiler $(${cross}gcc --version | head -n 1 | tr ' ' '_')"
    awk -v table=$table '
        { mean[$1] = $2; most[$1] = $3; third[$1] = $4 }
        END {
            while ((getline line <table) > 0)
                if (line !~ /^(#|compiler)/) { split(line, f); printf "%-16s %8d %8d %8d %9s\n", f[1], mean[f[1]], most[f[1]], third[f[1]], f[5] }
        }' "$dir/online.out"
} >"$dir/online.txt"
cat "$dir/online.txt"
if [ -n "$write" ]; then
    cp "$dir/online.txt" $table
    exit
fi
# Another compiler's numbers are shown, not judged.
awk '
    /^#/ { next }
    NR == FNR { if ($1 == "compiler") was = $2; else for (i = 2; i <= 4; i++) old[$1, i] = $i; next }
    $1 == "compiler" { judged = $2 == was; if (!judged) print "note  learning: the table is from " was; next }
    $5 != "-" && !($3 > 0 && $3 <= $5) { print (judged ? "FAIL" : "note") "  learning: " $1 " takes " $3 ", its bar is " $5; bad = judged }
    { for (i = 2; i <= 4; i++) if ($i > 1.02 * old[$1, i]) { print (judged ? "FAIL" : "note") "  learning: " $1 " was " old[$1, i] ", is " $i; if (judged) bad = 1 } }
    END { exit bad }' $table "$dir/online.txt" || exit 1
echo "mcu: an update and a prediction with gradient fit a loop of 1 kHz on a Cortex-M7"
