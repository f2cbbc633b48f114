#!/bin/sh
# export.sh TEST FOLDER [TARGET...]   the headers that TEST (build/test_export) writes into FOLDER: compiled as C99 and C++17 with
# warnings as errors, run, and compared with what the library predicts; the C program also for other machines under qemu-user (aarch64
# armhf i386 riscv64 s390x; a line where a compiler or qemu is missing), or with `none` the C program here alone. In the environment: GCC, GXX.
test=$1 folder=$2
shift 2
[ $# -gt 0 ] || set -- i386 armhf aarch64 riscv64 s390x
rm -rf "$folder" && mkdir -p "$folder" || exit 1
ODVGP_EXPORT_TO=$folder "$test" >"$folder/log" || { cat "$folder/log"; exit 1; }
warn="-pedantic -Wall -Wextra -Wconversion -Wdouble-promotion -Werror"
code=0

# run COMPILER EMULATOR FLAGS...: the folder's program.
run() {
    compiler=$1 emulator=$2
    shift 2
    # shellcheck disable=SC2086 # lists
    if "$compiler" "$@" $warn -O1 -Itests "$folder/all.c" -o "$folder/all" -lm && $emulator "$folder/all" >"$folder/log"; then
        printf '  %-28s %s\n' "$compiler" "$(tail -n 1 "$folder/log")"
    else
        echo "export: fails with $compiler $*"
        head -n 40 "$folder/log"
        code=1
    fi
}

run "${GCC:-gcc}" env -std=c99
[ "$1" = none ] || run "${GXX:-g++}" env -std=c++17 -x c++
for target; do
    flags=-static
    case $target in
    none) continue ;;
    aarch64) compiler=aarch64-linux-gnu-gcc emulator=qemu-aarch64 ;;
    armhf) compiler=arm-linux-gnueabihf-gcc emulator=qemu-arm ;;
    riscv64) compiler=riscv64-linux-gnu-gcc emulator=qemu-riscv64 ;;
    i386) compiler=i686-linux-gnu-gcc emulator=qemu-i386 flags="-static -msse2 -mfpmath=sse" ;;
    # its C99 computes float in double unless told not to
    s390x) compiler=s390x-linux-gnu-gcc emulator=qemu-s390x flags="-static -fexcess-precision=fast" ;;
    *) echo "export: no target $target"; exit 1 ;;
    esac
    if ! command -v $compiler >/dev/null || ! command -v $emulator >/dev/null; then
        echo "export: $target left out: there is no $compiler or no $emulator"
        continue
    fi
    # shellcheck disable=SC2086 # a list
    run $compiler $emulator -std=c99 $flags
done
exit $code
