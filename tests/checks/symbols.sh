#!/bin/sh
# symbols.sh DIR   what the compiled header defines and needs: every defined name has the prefix, nothing is writable, and nothing
# is called that prints, exits or aborts. Compiled without position-independence, so that constant tables of pointers count as
# constant; what optimising adds, such as memset for a loop, is seen without options. Variable CC.
dir=$1 cc=${CC:-cc}
mkdir -p "$dir" || exit 1
printf '#define ODVGP_IMPLEMENTATION\n#include "odvgp.h"\n' >"$dir/impl.c"
passed=0 failed=0
none() { # what it is, lines that should not be there
    if [ -z "$2" ]; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAIL  $1:"
        echo "$2" | head -n 20
    fi
}
for options in "" "-DODVGP_FLOAT" "-DODVGP_NO_MALLOC -DODVGP_NO_STDIO" "-DODVGP_USE_PTHREADS"; do
    prefix=odvgp_ level=-O0
    [ -n "$options" ] || level=-O2
    case "$options" in *FLOAT*) prefix=odvgpf_ ;; esac
    $cc -std=c99 $level -fno-pie -fno-pic -I. -DNDEBUG $options -c "$dir/impl.c" -o "$dir/impl.o" || exit 1
    none "names without $prefix ($options)" "$(nm --extern-only --defined-only "$dir/impl.o" | grep -v " $prefix[a-z]" | grep -v '^$')"
    none "writable data ($options)" "$(nm --defined-only "$dir/impl.o" | grep -i ' [bdcgs] ')"
    none "calls that print, read the environment or end the program ($options)" \
        "$(nm --undefined-only "$dir/impl.o" | grep -wE 'exit|_exit|abort|printf|fprintf|puts|putchar|perror|stdout|stderr|getenv|rand|srand|time|__assert_fail')"
    case "$options" in
    *NO_MALLOC*) none "memory and files ($options)" "$(nm --undefined-only "$dir/impl.o" | grep -wE 'malloc|calloc|realloc|free|fopen|fread|fwrite|fclose|rename|remove')" ;;
    esac
done
$cc -std=c99 -O0 -fno-pie -fno-pic -I. -DNDEBUG -DODVGP_STATIC -c "$dir/impl.c" -o "$dir/impl.o" || exit 1
none "names with ODVGP_STATIC" "$(nm --extern-only --defined-only "$dir/impl.o")"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
