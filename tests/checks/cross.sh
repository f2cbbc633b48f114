#!/bin/sh
# cross.sh FOLDER TEST...   builds the test programs for other machines into FOLDER/TARGET and runs them there, under qemu-user.
# In the environment: CROSS, the targets (all); SHORT=1, the selection below instead of everything; MAKE; SKIP_FLOAT=1.
# All of everything takes about an hour, since qemu computes floating point in software; the short form some minutes.
#
#   aarch64  64-bit ARM            armhf  32-bit ARM: no double in NEON, pointers of 32 bits
#   riscv64  no vectors            i386   pointers of 32 bits, SSE2 arithmetic
#   s390x    big-endian            i387   i386 with the x87 unit, whose intermediate results are wider than their type
# Programs for i386 run without qemu where the machine can.
folder=$1
shift
tests=$*
: "${CROSS:=aarch64 armhf riscv64 i386 i387 s390x}"

# What the short form runs: target, program, precisions, and which tests of the program (parts of names; none: all).
# Products and factors where the machine has instructions of its own, files and sizes where order and width of numbers differ.
save_load="moved bit_for_bit precision on_disk"
training="allocat instruction updates schedules"
threads="pool callers task caller workers fork ticket"
tape="frozen naturally epoch features nothing ticket"
products="sets small padding cut"
factors="trsm inverse adjoint"
short="
aarch64 test_products both $products
aarch64 test_factors both $factors
aarch64 test_vmath both
aarch64 test_oracle both
aarch64 test_files double
aarch64 test_tape double $tape
aarch64 test_model double
aarch64 test_training double $training
aarch64 test_threads double $threads
aarch64 golden double step_by_hand gamma_exact
armhf test_products float $products
armhf test_factors float $factors
armhf test_vmath float
armhf test_oracle float
armhf test_files both
armhf test_tape float $tape
armhf test_save_load double $save_load
armhf test_forged_files double damaged forged
armhf test_recovery double causes largest
riscv64 test_vmath double
riscv64 test_files double
i386 test_oracle both
i386 test_files both
i386 test_arguments both
i386 test_base_kernels double
i386 test_expressions double
i386 test_save_load both
i386 test_forged_files both
i386 test_recovery double
i386 test_predict double
i386 test_products double
i386 test_factors double
i386 test_threads double $threads
i387 test_oracle both
i387 test_files both
s390x test_oracle double
s390x test_files both
s390x test_arguments double refused slots_tell
s390x test_save_load double $save_load
s390x test_forged_files double damaged forged
s390x test_model double
s390x test_predict double negative moments
"

jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

fail() { echo "cross: $*" >&2; exit 1; }

# describe TARGET: sets compiler, flags, emulator, and the packages of Debian that have compiler and C library.
describe() {
    flags=
    case $1 in
    aarch64) compiler=aarch64-linux-gnu-gcc emulator=qemu-aarch64 packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;;
    armhf) compiler=arm-linux-gnueabihf-gcc emulator=qemu-arm packages="gcc-arm-linux-gnueabihf libc6-dev-armhf-cross" flags=-mfpu=neon ;;
    riscv64) compiler=riscv64-linux-gnu-gcc emulator=qemu-riscv64 packages="gcc-riscv64-linux-gnu libc6-dev-riscv64-cross" ;;
    i386) compiler=i686-linux-gnu-gcc emulator=qemu-i386 packages="gcc-i686-linux-gnu libc6-dev-i386-cross" flags="-msse2 -mfpmath=sse" ;;
    i387) compiler=i686-linux-gnu-gcc emulator=qemu-i386 packages="gcc-i686-linux-gnu libc6-dev-i386-cross" flags="-mfpmath=387" ;;
    s390x) compiler=s390x-linux-gnu-gcc emulator=qemu-s390x packages="gcc-s390x-linux-gnu libc6-dev-s390x-cross" ;;
    *) fail "no target $1; there are aarch64 armhf riscv64 i386 i387 s390x" ;;
    esac
    [ "$1$SHORT" != i387 ] || flags="$flags -fexcess-precision=standard" # what promises about bits need there, the short form does without
    case $1 in i386 | i387) "$folder/$1/empty" 2>/dev/null && emulator=env ;; esac
}

# selection TARGET: lines of program, precisions, names of tests.
selection() {
    if [ -n "$SHORT" ]; then echo "$short" | sed -n "s/^$1 //p"
    else for t in $tests; do echo "$t both"; done
    fi
}

# programs PROGRAM PRECISIONS: their paths inside the target's folder.
programs() {
    [ "$2" = float ] || echo "$1"
    [ "$2" = double ] || [ -n "$SKIP_FLOAT" ] || echo "f32/$1"
}

for target in $CROSS; do # first all that may be missing, then the work
    describe "$target"
    command -v "$compiler" >/dev/null || fail "$target needs $compiler: apt-get install $packages"
    mkdir -p "$folder/$target"
    echo 'int main(void) { return 0; }' | "$compiler" -static -x c - -o "$folder/$target/empty" 2>/dev/null ||
        fail "$target needs a C library to link with: apt-get install $packages"
    describe "$target" # again: now it can be seen whether the machine runs it itself
    command -v "$emulator" >/dev/null || fail "$target needs $emulator: apt-get install qemu-user"
    "$emulator" "$folder/$target/empty" || fail "$emulator does not run a program of $compiler"
done

set --
for target in $CROSS; do
    describe "$target"
    paths=$(selection "$target" | while read -r program precisions names; do
        programs "$program" "$precisions" | sed "s|^|$folder/$target/|"
    done)
    # shellcheck disable=SC2086 # a list
    MAKEFLAGS='' "${MAKE:-make}" -s -j"$jobs" B="$folder/$target" CC="$compiler $flags -static" $paths || exit 1
    # In the short form each of these targets runs a third of the oracle's cases, the next one another third.
    oracle=tests/oracle
    case $SHORT$emulator in
    1qemu*)
        oracle=$folder/$target/oracle third=$(((third + 1) % 3))
        mkdir -p "$oracle" && rm -f "$oracle"/*
        i=0
        for file in tests/oracle/*.txt; do
            i=$((i + 1))
            [ $((i % 3)) -ne $third ] || cp "$file" "$oracle" || exit 1
        done
        ;;
    esac
    for path in $paths; do
        name=${path##*/}
        names=$(selection "$target" | while read -r program precisions names; do
            [ "$program" = "$name" ] && programs "$program" "$precisions" | grep -qxF "${path#"$folder/$target/"}" && echo "$names"
        done)
        case $path in
        */test_oracle) arguments=$oracle ;;
        */f32/golden) arguments=tests/golden/float.txt ;;
        */golden) arguments=tests/golden/double.txt ;;
        *) arguments= ;;
        esac
        command="$emulator $path${arguments:+ $arguments}${names:+ $names}"
        case $SHORT$command in # a third of the damaged files takes half a minute; it begins first, so that no processor waits at the end
        1qemu*/test_forged_files*) set -- "env ODVGP_TEST_SHORT=1 $command" "$@" ;;
        *) set -- "$@" "$command" ;;
        esac
    done
done
sh "$(dirname "$0")/run.sh" "$@"
