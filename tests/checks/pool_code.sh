#!/bin/sh
# pool_code.sh DIR   looks at what compilers make of the thread pool: for aarch64, that each access has the order which the protocol
# needs, with and without the instructions of ARMv8.1; for i386, that the 64-bit ticket is accessed in line and without a warning.
# Variables AARCH64 (aarch64-linux-gnu-gcc), I386 (i686-linux-gnu-gcc), CLANG. A compiler that is not there is skipped, and that is said.
dir=$1
: "${AARCH64:=aarch64-linux-gnu-gcc}" "${I386:=i686-linux-gnu-gcc}" "${CLANG:=clang}"
mkdir -p "$dir" || exit 1
passed=0 failed=0 skipped=0
# With ODVGP_STATIC compilers drop what nobody calls, which is all but the pool.
cat >"$dir/pool.c" <<'END'
#define ODVGP_STATIC
#define ODVGP_USE_PTHREADS
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
odvgp_status use(odvgp_pool **pool, void *block, size_t bytes, odvgp_threads *hook);
odvgp_status use(odvgp_pool **pool, void *block, size_t bytes, odvgp_threads *hook) {
    odvgp_pool_stop(*pool);
    return odvgp_pool_start(pool, 2, hook, block, bytes, NULL);
}
const int pool_task_at = (int)offsetof(odvgp_pool, task), pool_count_at = (int)offsetof(odvgp_pool, n);
END

skip() { # what is missing
    echo "skip  $1"
    skipped=$((skipped + 1))
}
ok() { # name, whether it holds
    if [ "$2" -eq 0 ]; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAIL  $1"
    fi
}

# follows FUNCTION PATTERN...   whether instructions that match the patterns follow each other in the function, others between them.
follows() {
    awk -v wanted="$1" -v count=$(($# - 1)) -v all="$(shift; printf '%s\n' "$@")" '
        BEGIN { split(all, pattern, "\n"); at = 1 }
        $0 ~ "^" wanted ":" { inside = 1; next }
        inside && /^[[:space:]]*\.size/ { inside = 0 }
        inside && at <= count && $0 ~ pattern[at] { at++ }
        END { exit at <= count }' "$dir/pool.s"
}
# never FUNCTION PATTERN   whether no instruction of the function matches.
never() {
    awk -v wanted="$1" -v pattern="$2" '
        $0 ~ "^" wanted ":" { inside = found = 1; next }
        inside && /^[[:space:]]*\.size/ { inside = 0 }
        inside && $0 ~ pattern { bad = 1 }
        END { exit bad || !found }' "$dir/pool.s"
}
# only_behind FUNCTION PATTERN MARK   whether an instruction matches PATTERN, and none does before the first one that matches MARK.
only_behind() {
    awk -v wanted="$1" -v pattern="$2" -v mark="$3" '
        $0 ~ "^" wanted ":" { inside = 1; next }
        inside && /^[[:space:]]*\.size/ { inside = 0 }
        inside && $0 ~ mark { found = 1 }
        inside && $0 ~ pattern { if (found) good = 1; else bad = 1 }
        END { exit bad || !good }' "$dir/pool.s"
}
# member NAME   a pattern for an access to the member whose offset the constant NAME holds.
member() { awk -v name="$1" '$0 ~ "^" name ":" { getline; print "\\\\[x[0-9]+, " $2 "\\\\]" }' "$dir/pool.s"; }

aarch64() { # name, options...
    name="aarch64, $1:"
    shift
    # -fno-inline: the functions of the pool stay apart.
    "$AARCH64" -std=c99 -O2 -I. -fno-inline -S "$@" "$dir/pool.c" -o "$dir/pool.s" || { ok "$name compiles" 1; return; }
    take='(cas8_acq|ldaxr|casa)' count='(ldadd4_acq_rel|ldaddal|stlxr)' call='[[:space:]]blr[[:space:]]'
    follows gp__pool_work "$take" "$call" "$count"
    ok "$name a task is taken with acquire, called, and counted with release" $?
    only_behind gp__pool_work "$(member pool_task_at)" "$take" && only_behind gp__pool_work "$(member pool_count_at)" "$take"
    ok "$name task, argument and number of tasks are loaded when a task is taken" $?
    follows gp__pool_run '(swp4_acq|swpa|ldaxr)' fegetenv '[[:space:]]stlr[[:space:]]+x' gp__pool_wake gp__pool_work gp__pool_wait \
        '[[:space:]]stlr[[:space:]]+w'
    ok "$name the pool is taken with acquire, the ticket stored with release behind the job, the pool given back with release" $?
    follows gp__pool_wake '[[:space:]]ldar[[:space:]]' pthread_mutex_lock
    ok "$name sleepers are looked for with ldar, which no stlr before it passes" $?
    for look in idle left; do
        never gp__pool_$look '[[:space:]]ldr[[:space:]]'
        ok "$name $look looks with ldar" $?
    done
    says='(ldadd4_acq_rel|ldaddal|stlxr)'
    follows gp__pool_main pthread_mutex_lock "$says" gp__pool_idle && only_behind gp__pool_main pthread_cond_wait "$says"
    ok "$name a worker says that it sleeps, with release, before it looks" $?
    says='[[:space:]]stlr[[:space:]]'
    follows gp__pool_wait pthread_mutex_lock "$says" gp__pool_left && only_behind gp__pool_wait pthread_cond_wait "$says"
    ok "$name the caller says that it sleeps, with release, before it looks" $?
}

if command -v "$AARCH64" >/dev/null 2>&1; then
    aarch64 "exchange in a function"
    aarch64 "ARMv8.0" -mno-outline-atomics
    aarch64 "ARMv8.1" -march=armv8.1-a
else
    skip "aarch64: $AARCH64 is not installed"
fi

if command -v "$I386" >/dev/null 2>&1; then
    "$I386" -std=c99 -O1 -I. -S "$dir/pool.c" -o "$dir/pool.s" && ! grep -q 'call.*__atomic_' "$dir/pool.s"
    ok "i386, gcc: no calls for atomic accesses" $?
    include=$(echo '#include <stdio.h>' | "$I386" -E - | sed -n 's|^# 1 "\(.*\)/stdio.h".*|\1|p' | head -n 1)
    if command -v "$CLANG" >/dev/null 2>&1; then
        "$CLANG" --target=i686-linux-gnu -march=i686 -std=c99 -O1 -Werror -isystem "$include" -I. -S "$dir/pool.c" -o "$dir/pool.s" &&
            ! grep -q 'call.*__atomic_' "$dir/pool.s"
        ok "i386, clang: no calls for atomic accesses, no warning" $?
    else
        skip "i386, clang: $CLANG is not installed"
    fi
else
    skip "i386: $I386 is not installed, whose C library's headers clang needs, too"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
