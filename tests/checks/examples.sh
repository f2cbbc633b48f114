#!/bin/sh
# examples.sh FILE...   the first comment of an example holds the command that compiles and runs it (a line with "cc ", which a
# backslash at its end continues) and, after the line "Output:", what it prints. Both are checked; the last digit of a number may
# differ by one: machines round differently.
# LIBRARY in the environment names an object of odvgp.h without options. An example that sets none either is then parsed as its command
# says, and compiled without the implementation (which brings <math.h> and <string.h>) and linked with that object, in a tenth of the time.
log=${TMPDIR:-/tmp}/odvgp-example.$$
trap 'rm -rf "$log" "$log.want" "$log.bin"' EXIT
if [ -n "$LIBRARY" ]; then
    mkdir "$log.bin" || exit 1
    cat >"$log.bin/cc" <<END
#!/bin/sh
case " \$*" in *" -DODVGP_"*) exec $(command -v cc) "\$@" ;; esac
$(command -v cc) -fsyntax-only "\$@" && exec $(command -v cc) -DODVGP__IMPLEMENTED -include math.h -include string.h "$LIBRARY" "\$@"
END
    chmod +x "$log.bin/cc"
fi
same() { # two files
    awk 'function near(a, b) {
             if (a == b) return 1
             if (a !~ /^-?[0-9]+(\.[0-9]+)?$/ || b !~ /^-?[0-9]+(\.[0-9]+)?$/) return 0
             digits = a ~ /\./ ? length(a) - index(a, ".") : 0
             return (a - b) ^ 2 <= (1.01 * 10 ^ -digits) ^ 2 }
         NR == FNR { want[NR] = $0; rows = NR; next }
         { n = split(want[FNR], w); if (n != NF) bad = 1
           for (i = 1; i <= NF; i++) if (!near(w[i], $i)) bad = 1
           got = FNR }
         END { exit bad || got != rows }' "$1" "$2"
}
passed=0 failed=0
for file in "$@"; do
    command=$(awk '/\*\//{exit} on || /^ +cc /{on = sub(/\\$/, ""); sub(/^ +/, ""); printf "%s", $0; if (!on) exit}' "$file")
    awk '/\*\//{exit} on{sub(/^        /, ""); print} /^ *Output:$/{on = 1}' "$file" >"$log.want"
    path=$PATH
    [ -z "$LIBRARY" ] || [ "$(grep -c '^#define ODVGP_' "$file")" -gt 1 ] || path=$log.bin:$PATH
    if [ -z "$command" ] || [ ! -s "$log.want" ]; then
        echo "FAIL  $file: no command, or no output, in its first comment"
        failed=$((failed + 1))
    elif PATH=$path sh -c "$command" >"$log" 2>&1 && same "$log.want" "$log"; then
        echo "ok    $file"
        passed=$((passed + 1))
    else
        echo "FAIL  $file: $command"
        diff "$log.want" "$log"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
