#!/bin/sh
# readme.sh TOOL DIR   README.md and bench/*.md say what is so, and are as short as agreed:
#   - README's program compiles, and its commands ("$ ...") print what README shows: the same texts, numbers
#     within 2 %, seconds left out;
#   - each row of the table in "What was measured" is in one line of bench/*.md, each other decimal number of
#     that section in bench/;
#   - its code size is within 2 % of what size.sh measures, where the cross compiler is installed, and what a
#     controller needs within 1 % of tests/mcu/table.txt and train.txt;
#   - links lead to files and headings that exist;
#   - README has at most 12,288 bytes, bench/*.md 8,000 words.
# Variable CC.
tool=$1 dir=$2 failed=0 checked=0
export LC_ALL=C
rm -rf "$dir"
mkdir -p "$dir/build" && ln -s "$PWD/odvgp.h" "$PWD/examples" "$dir" &&
    ln -s "$(cd "$(dirname "$tool")" && pwd)/$(basename "$tool")" "$dir/build/odvgp" || exit 1

check() { # what went wrong if the command fails, command...
    said=$1
    shift
    checked=$((checked + 1))
    "$@" && return
    echo "FAIL  $said"
    failed=$((failed + 1))
    return 1
}

# ---- sizes ----

check "README.md has $(wc -c <README.md) bytes" [ "$(wc -c <README.md)" -le 12288 ]
words=$(find bench -name '*.md' -exec cat {} + | wc -w)
check "bench/*.md have $words words" [ "$words" -le 8000 ]

# ---- commands ----

# The first block of C is sine.c. A command, which a backslash continues, goes to N.sh, the lines after it to N.want.
awk -v dir="$dir" '
    /^```/ { block = block ? "" : $0; programs += block == "```c"; next }
    block == "```c" && programs == 1 { print >(dir "/sine.c") }
    block != "```" { next }
    more || sub(/^\$ /, "") { if (!more) n++; more = /\\$/; print >(dir "/" n ".sh"); next }
    n { print >(dir "/" n ".want") }
    END { print n >(dir "/commands") }' README.md

same() { # two files
    awk 'function skeleton(line) {
             count = 0
             while (match(line, /-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/)) {
                 rest = substr(line, RSTART + RLENGTH)
                 number[++count] = rest ~ /^ m?s([^a-z]|$)/ ? 0 : substr(line, RSTART, RLENGTH)
                 line = substr(line, 1, RSTART - 1) "#" rest
             }
             return line
         }
         NR == FNR { want[NR] = $0; rows = NR; next }
         { text = skeleton(want[FNR])
           for (i = 1; i <= count; i++) wanted[i] = number[i]
           if (skeleton($0) != text) bad = 1
           for (i = 1; i <= count; i++) {
               d = number[i] - wanted[i]
               if (d * d > (0.02 * wanted[i]) ^ 2) bad = 1
           }
           got = FNR }
         END { exit bad || got != rows }' "$1" "$2"
}

for n in $(seq "$(cat "$dir/commands")"); do
    touch "$dir/$n.want"
    (cd "$dir" && sh "./$n.sh" >"$n.got" 2>&1)
    check "$(cat "$dir/$n.sh")" same "$dir/$n.want" "$dir/$n.got" || diff "$dir/$n.want" "$dir/$n.got"
done

# ---- figures ----

section=$(awk '/^## / { on = /^## What was measured/ } on' README.md)
rows=$(echo "$section" | grep '^| [a-z]' | grep '[0-9]')
while IFS= read -r row; do
    found=$(cat bench/*.md | awk -v row="$row" '
        BEGIN { gsub(/[|\/]/, " ", row); n = split(row, word) }
        { gsub(/[|\/]/, " "); here = " " $0 " "; gsub(/ +/, " ", here)
          for (i = 1; i <= n; i++) if (!index(here, " " word[i] " ")) next
          print "found"; exit }')
    check "no line of bench/*.md has $row" [ -n "$found" ]
done <<END
$rows
END
for number in $(echo "$section" | tr -d '(),;:' | tr ' ' '\n' | sed 's/\.$//' |
    grep -E '^-?[0-9]+\.[0-9.]+$' | sort -u); do
    check "bench/ does not have $number" grep -rqwF -e "$number" bench --include=*.md --include=*.txt
done

if command -v "${ARM:-arm-linux-gnueabihf-gcc}" >/dev/null; then
    size=$(sh tests/checks/size.sh "$dir" predict | awk 'NR == 2 { print $(NF - 1) + $NF }')
    shown=$(sed -n 's/^| code and constants.* | \([0-9.]*\) K |$/\1/p' README.md)
    check "code to predict: $size bytes, README says $shown K" \
        awk "BEGIN { exit !($shown > 0 && ($size / 1000 - $shown) ^ 2 <= (0.02 * $shown) ^ 2) }"
fi

# Of a controller: what the tables of `make mcu` have.
shown() { # a row of README's table: bytes
    sed -n "s/^| $1.* | \([0-9.]*\)\( K\)\{0,1\} |\$/\1\2/p" README.md | awk '{ print $1 * (NF > 1 ? 1000 : 1) }'
}
run=$(awk '$1 == "run" && $2 == "m4f" && $3 == "orth_12_24"' tests/mcu/table.txt)
train=$(awk '$1 == "block" { print $2 }' tests/mcu/train.txt)
while read -r column row; do
    [ "$column" = 0 ] && is=$train || is=$(echo "$run" | awk -v c="$column" '{ print $c }')
    says=$(shown "$row")
    check "$row: $is bytes, README says $says" awk "BEGIN { exit !($says > 0 && ($is - $says) ^ 2 <= (0.01 * $is) ^ 2) }"
done <<END
4 the predictor
5 scratch to predict a row
8 stack to predict
0 the block to train there
END

# ---- links ----

# A heading's anchor: lower case, blanks as hyphens, no punctuation.
anchors() { sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -dc 'a-z0-9_\n-'; }
for file in README.md bench/*.md; do
    for link in $(grep -o '](\([^)]*\))' "$file" | sed 's/^](//; s/)$//'); do
        path=${link%%#*} to=$(dirname "$file")/${link%%#*}
        [ -n "$path" ] || to=$file
        check "$file: there is no $link" [ -e "$to" ]
        case $link in
        *#*) check "$file: there is no $link" sh -c "echo '$(anchors "$to")' | grep -qx '${link#*#}'" ;;
        esac
    done
done

echo "readme: $((checked - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
