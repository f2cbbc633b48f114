# shellcheck shell=sh disable=SC2034
# machines.sh   for machine.sh and costs.sh: how to compile for $machine and how qemu runs it. Ends them where there is no such machine.
csr= cross=arm-none-eabi- specs='' fpu=no
timer='-DMCU_TIMER_CMSDK -DMCU_MHZ=25 -DMCU_SHIFT=10' shift=10
rom=0 rom_bytes=0x400000 ram=0x20000000 ram_bytes=0x400000
case $machine in
m4f) cpu='-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16' board=mps2-an386 fpu=yes ;;
m7) cpu='-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16' board=mps2-an500 fpu=yes ;;
m3) cpu='-mcpu=cortex-m3 -mthumb' board=mps2-an385 ;;
m0)
    cpu='-mcpu=cortex-m0plus -mthumb' board=microbit rom_bytes=0x40000 ram_bytes=0x4000
    timer='-DMCU_TIMER_NRF51 -DMCU_MHZ=16 -DMCU_SHIFT=10' ;;
rv32 | rv32f)
    cross=riscv64-unknown-elf- specs=--specs=picolibc.specs board=virt
    cpu='-march=rv32imac -mabi=ilp32'
    [ $machine = rv32 ] || cpu='-march=rv32imafc -mabi=ilp32f' fpu=yes
    timer='-DMCU_MHZ=1000 -DMCU_SHIFT=0' shift=0 csr=${cpu%% *}_zicsr
    rom=0x80000000 ram=0x80400000 ;;
*)
    echo "$machine: no such machine"
    exit 1 ;;
esac
qemu=qemu-system-arm qemu_flags=''
[ $cross = arm-none-eabi- ] || qemu=qemu-system-riscv32 qemu_flags='-bios none'
# The same core with doubles in hardware, where there is one.
in_double() { echo "$1" | sed 's/fpv5-sp-d16/fpv5-d16/'; }
