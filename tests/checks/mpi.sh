#!/bin/sh
# mpi.sh DIR OBJECT   examples/mpi.c with mpicc and mpirun (Open MPI or MPICH): 1, 2 and 4 processes write the same model file, of SGPR by
# L-BFGS and of ORTH by minibatches; SIGINT to one process ends all, and a killed one, too, with a sentence, within a minute; both go on
# from the file with another number of processes, with the bits of one that was never stopped. Without MPI it says so and passes, with
# EXPECT=1 it fails.
dir=$1 passed=0 failed=0
say() { # name, status
    if [ "$2" = 0 ]; then echo "ok    $1"; passed=$((passed + 1)); else echo "FAIL  $1"; failed=$((failed + 1)); fi
}
if ! command -v mpicc >/dev/null || ! command -v mpirun >/dev/null; then
    echo "skip  no MPI here (mpicc, mpirun: Debian's openmpi-bin and libopenmpi-dev)"
    echo "0 passed, ${EXPECT:-0} failed, 1 skipped"
    exit "${EXPECT:-0}"
fi
OMPI_CC=${CC:-cc} MPICH_CC=${CC:-cc}
# Open MPI: as root, more processes than cores, one machine; no copies that containers forbid.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_plm=isolated
OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_CC MPICH_CC OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_plm
export OMPI_MCA_btl_vader_single_copy_mechanism PRTE_MCA_rmaps_default_mapping_policy
rm -rf "$dir/mpi-test" && mkdir -p "$dir/mpi-test" || exit 1
mpicc -I. -fsyntax-only examples/mpi.c &&
    mpicc ${CFLAGS:--O2} -DODVGP__IMPLEMENTED -include math.h -include string.h -I. examples/mpi.c "$2" -o "$dir/mpi" -lm && ${CC:-cc} tests/long/mpi_table.c -o "$dir/mpi_table" -lm || exit 1
cd "$dir/mpi-test" || exit 1
../mpi_table table.npy 3000 || exit 1
sgpr="M=15 M_gamma=0 mean_part=beta optim.batch=1000000 optim.kind=lbfgs optim.natgrad=off objective=collapsed"
orth="M=15 M_gamma=25 optim.batch=256 tile=32"
run() { # processes, file, steps, settings
    count=$1 file=$2 steps=$3
    shift 3
    timeout 120 mpirun -np "$count" ../mpi table.npy "$file" "$steps" $* </dev/null
}

for kind in sgpr orth; do
    eval "settings=\$$kind"
    steps=12
    [ $kind = orth ] && steps=130
    for n in 1 2 4; do
        run $n $kind$n $steps $settings >$kind$n.log 2>&1
        say "$kind, $n processes" $?
        [ $n = 1 ] && tail -n 1 $kind$n.log && continue
        cmp $kind$n ${kind}1
        say "$kind, $n processes: the bytes of one" $?
    done
done

ranks() { # process: its descendants that are ../mpi
    ps -A -o pid= -o ppid= -o comm= | awk -v top="$1" '
        { parent[$1] = $2; name[$1] = $3 }
        END { for (p in parent) { for (q = p; q in parent && q != top;) q = parent[q]
                                  if (q == top && name[p] == "mpi") print p } }'
}
ended() { # process: within a minute
    for i in $(seq 60); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 1
    done
    kill "$1"
    return 1
}
interrupt() { # signal, file: begins a long training of 4 processes and sends the signal to one after the first checkpoint
    run 4 "$2" 1000000 $orth >"$2.log" 2>&1 &
    job=$!
    for i in $(seq 100); do
        [ -s "$2" ] && break
        sleep 0.2
    done
    one=$(ranks $job | sort -n | sed -n 3p)
    [ -n "$one" ] && kill -"$1" "$one" && ended $job
    say "$2: all end within a minute" $?
    wait $job
    status=$?
}
goes_on() { # file, steps: with 2 processes, like one that was never stopped
    run 2 "$1" "$2" $orth >>"$1.log" 2>&1 && run 1 "$1.whole" "$2" $orth >>"$1.log" 2>&1 && cmp "$1" "$1.whole"
    say "$1: 2 processes go on to step $2 with the bytes of one" $?
}

interrupt INT stopped
say "SIGINT to one of 4 is no error" $status
steps=$(sed -n 's/^stopped after \([0-9]*\) steps.*/\1/p' stopped.log)
[ -n "$steps" ]
say "it says: $(grep '^stopped' stopped.log)" $?
goes_on stopped $((${steps:-0} + 20))

interrupt KILL killed
[ $status != 0 ]
say "a killed process is an error" $?
grep -i 'signal' killed.log | head -n 1
grep -qi 'signal' killed.log
say "it is said" $?
steps=$(run 1 killed 0 $orth | sed -n 's/.* \([0-9]*\) steps: .*/\1/p')
goes_on killed $((${steps:-0} + 20))
echo "$passed passed, $failed failed, 0 skipped"
exit $((failed > 0))
