#!/bin/sh
# costs.sh DIR MACHINE NAME...   measures headers that costs.c has exported to DIR, on a machine of machine.sh: rows of costs.txt, whose
# head says what they hold; bench/peers/costs_fit.py fits cores.h to them. KINDS="own" or "libm": only these. All of costs.txt takes
# half an hour:
#   cc -O1 -ffp-contract=off -I. -Iexamples/tool tests/mcu/costs.c -o build/costs -lm && mkdir -p build/exports && build/costs build/exports
#   for m in m4f m7 m3 m0 rv32 rv32f; do sh tests/mcu/costs.sh build/exports $m NAMES; done
dir=$1 machine=$2 here=tests/mcu
shift 2
. tests/mcu/machines.sh
cpu=$(in_double "$cpu")
own=$dir/$machine.$$
mkdir -p "$own" && trap "rm -rf \"$own\"" EXIT
${cross}gcc $cpu $specs -Os -ffunction-sections -std=gnu99 -I$here $timer $csr -c $here/start.c -o "$own/start.o"
link() { # program, objects and options
    program=$1
    shift
    ${cross}gcc $cpu $specs -nostartfiles -Wl,--gc-sections -Wl,--defsym=ROM=$rom,--defsym=ROM_BYTES=$rom_bytes,--defsym=RAM=$ram \
        -Wl,--defsym=RAM_BYTES=$ram_bytes,--defsym=STACK_BYTES=12288 -T $here/firmware.ld "$@" -lm -o "$own/$program" 2>"$own/$program.log" ||
        { echo "costs: $program does not link" >&2; tail -3 "$own/$program.log" >&2; exit 1; }
}
for name; do
    for kind in ${KINDS:-own libm}; do
        bytes=''
        for only in 1 2 3; do
            ${cross}gcc $cpu $specs -std=c99 -Os -ffunction-sections -fdata-sections -I. -I$here -DONLY=$only -DEXPORT="\"$dir/$name.$kind.h\"" \
                -DROWS_OF="\"$dir/$name.rows.h\"" -c $here/costs_main.c -o "$own/$only.o" || exit 1
            link only$only "$own/$only.o" -Wl,-e,cost_predict -Wl,-u,cost_mean -Wl,-u,cost_y -Wl,-u,cost_gradient
            bytes="$bytes $(${cross}size "$own/only$only" | awk 'NR == 2 { print $1 + $2 } ')"
            [ $only != 3 ] || bytes="$bytes $(${cross}size "$own/only$only" | awk 'NR == 2 { print $2 + $3 } ')"
        done
        link run "$own/3.o" "$own/start.o"
        timeout 120 $qemu -M $board -display none -icount shift=$shift -semihosting-config enable=on,target=native $qemu_flags \
            -kernel "$own/run" >"$own/run.txt" 2>&1 </dev/null || { echo "costs: $name.$kind on $machine" >&2; tail -3 "$own/run.txt" >&2; continue; }
        awk -v row="$machine $name $kind$bytes" '{ n[NR] = $2; s[NR] = $3 } END { print row, s[3], s[5], s[4], n[2], n[3], n[4], n[5] }' "$own/run.txt"
    done
done
