#!/bin/sh
# train.sh DIR [write]   builds the firmware that trains (train.c) for a Cortex-M4F, runs it under qemu, prints what training needs
# there, and compares it with tests/mcu/train.txt: what has grown by more than 2 %, or is above its bar, fails. `write` writes the
# numbers of that file; its bars stay. What is not installed is skipped. Variables MACHINES="m4f rv32" (all); EXPECT=1: nothing may be missing.
dir=$1/train write=$2 table=tests/mcu/train.txt here=tests/mcu failed=0 cross=arm-none-eabi-
export LC_ALL=C
# shellcheck source=tests/mcu/machine_wanted.sh
. $here/machine_wanted.sh
machine_wanted m4f "training on a Cortex-M4F"
mkdir -p "$dir" || exit 1
cpu='-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16'
options=$(sed -n 's/^# Options: //p' $table)
: "${DEFINES:=$options}"

# ---- building ----
fail() {
    echo "FAIL  training: $*"
    failed=1
}
compile() { # source, object, options...
    source=$1 object=$2
    shift 2
    ${cross}gcc $cpu -std=c99 -Os -ffunction-sections -fdata-sections -Wall -Wextra -Wdouble-promotion -Wno-type-limits -Wno-unused-function -Werror -I. -I$here $DEFINES \
        '-DODVGP_ASSERT(x)=((void)0)' "$@" -c "$source" -o "$dir/$object" && return
    fail "$source does not compile"
    exit 1
}
compile odvgp.h library.o -x c -DODVGP_IMPLEMENTATION
compile $here/train.c train.o
compile $here/start.c start.o -std=gnu99 -DMCU_TIMER_CMSDK -DMCU_MHZ=25 -DMCU_SHIFT=10
link() { # program, objects and options...
    program=$1
    shift
    ${cross}gcc $cpu -nostartfiles -Wl,--gc-sections -Wl,-Map="$dir/$program.map" -Wl,--defsym=ROM=0,--defsym=ROM_BYTES=0x400000 \
        -Wl,--defsym=RAM=0x20000000,--defsym=RAM_BYTES=0x400000,--defsym=STACK_BYTES=0x4000 \
        -T $here/firmware.ld "$dir/library.o" "$@" -lm -o "$dir/$program" && return
    fail "$program does not link"
    exit 1
}
link train.elf "$dir/train.o" "$dir/start.o"
calls=$(${cross}nm -u "$dir/train.o" | sed -n 's/^ *U \(odvgpf_.*\)/-Wl,-u,\1/p' | tr '\n' ' ')
link calls.elf -Wl,-e,odvgpf_step $calls

# Text, constants and data of these calls only, with what they need of the C library.
flash=$(awk '
    /^Linker script and memory map/ { on = 1 }
    !on { next }
    NF == 1 && /^ \./ { name = $1; next }
    NF >= 4 && /^ \./ { name = $1; $1 = ""; $0 = $0 }
    $1 ~ /^0x/ && $2 ~ /^0x/ && NF >= 3 {
        if (name ~ /^\.(text|rodata|data)/ && $1 !~ /^0x0+$/) sum += number($2)
        name = ""
    }
    function number(hex,   i, v) {
        for (i = 3; i <= length(hex); i++) v = 16 * v + index("0123456789abcdef", substr(hex, i, 1)) - 1
        return v
    }
    END { print sum }' "$dir/calls.elf.map")
doubles=$(${cross}nm "$dir/library.o" | awk '$NF ~ /^(__aeabi_(d|.*2d).*|sin|cos|exp|expm1|log|log1p|log10|pow|sqrt|floor|fabs|frexp|erfc?)$/ { n++ } END { print n + 0 }')

# ---- running ----
timeout 900 qemu-system-arm -M mps2-an386 -display none -icount shift=10 -semihosting-config enable=on,target=native \
    -kernel "$dir/train.elf" >"$dir/train.out" 2>&1 </dev/null || {
    tail -n 5 "$dir/train.out"
    fail "the firmware ends with an error"
    exit 1
}
{
    sed -n '/^#/p' $table
    echo "compiler $(${cross}gcc --version | head -n 1 | tr ' ' '_')"
    awk -v table=$table -v flash="$flash" -v doubles="$doubles" '
        { a[$1] = $2; b[$1] = $3; c[$1] = $4 }
        END {
            v["flash"] = flash; v["double_helpers"] = doubles; v["block"] = a["block"]
            v["stack_size"] = b["size"]; v["stack_start"] = b["start"]; v["stack_step"] = c["step"]; v["stack_freeze"] = b["freeze"]
            v["start"] = a["start"]; v["step"] = a["step"]; v["longest_step"] = b["step"]; v["freeze"] = a["freeze"]
            v["rmse"] = a["rmse"]; v["rms"] = a["rms"]
            while ((getline line <table) > 0)
                if (line !~ /^(#|compiler)/) { split(line, f); printf "%-16s %11d %9s\n", f[1], v[f[1]], f[3] }
        }' "$dir/train.out"
} >"$dir/train.txt"
cat "$dir/train.txt"
if [ -n "$write" ]; then
    cp "$dir/train.txt" $table
    exit
fi
# Another compiler's numbers are shown, not judged.
awk '
    /^#/ { next }
    NR == FNR { if ($1 == "compiler") was = $2; else old[$1] = $2; next }
    $1 == "compiler" { judged = $2 == was; if (!judged) print "note  training: the table is from " was; next }
    $3 != "-" && $2 > $3 { print (judged ? "FAIL" : "note") "  training: " $1 " is " $2 ", its bar is " $3; bad = judged }
    $1 != "rms" && $2 > 1.02 * old[$1] { print (judged ? "FAIL" : "note") "  training: " $1 " was " old[$1] ", is " $2; if (judged) bad = 1 }
    END { exit bad }' $table "$dir/train.txt" || failed=1
[ $failed -eq 0 ] && echo "mcu: training on a Cortex-M4F is within its bars"
exit $failed
