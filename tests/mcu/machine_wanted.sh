# shellcheck shell=sh
# machine_wanted.sh   for train.sh and online.sh: ends them where their machine is not wanted (MACHINES) or not installed (EXPECT=1:
# that fails).
machine_wanted() { # machine, what runs there
    case " ${MACHINES:-$1} " in *" $1 "*) ;; *) exit 0 ;; esac
    for pair in arm-none-eabi-gcc:gcc-arm-none-eabi qemu-system-arm:qemu-system-arm; do
        command -v "${pair%%:*}" >/dev/null && continue
        echo "skip  $2: ${pair%%:*} is not installed (on Debian, ${pair#*:})"
        [ -z "$EXPECT" ]
        exit
    done
}
