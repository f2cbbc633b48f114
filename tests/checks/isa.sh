#!/bin/sh
# isa.sh PRODUCTS COMMAND...   runs the test commands once for each instruction set that the test program PRODUCTS finds on this machine, forced
# by the environment variable ODVGP_ISA.
products=$1
shift
sets=$(ODVGP_ISA='' "$products" instruction_sets | sed -n 's/^ok    instruction_sets: //p' | tr -d ,)
[ -n "$sets" ] || { echo "$products names no instruction set" >&2; exit 1; }
ODVGP_ISA=mmx "$products" instruction_sets >/dev/null 2>&1
[ $? -eq 2 ] || { echo "$products takes ODVGP_ISA=mmx" >&2; exit 1; }
count=$#
for set in $sets; do
    i=0
    while [ $i -lt $count ]; do # the first $count arguments are the commands; each turn appends them with the set in front
        eval "command=\${$((i + 1))}"
        set -- "$@" "env ODVGP_ISA=$set $command"
        i=$((i + 1))
    done
done
shift $count
exec sh "$(dirname "$0")/run.sh" "$@"
