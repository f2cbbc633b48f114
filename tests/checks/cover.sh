#!/bin/sh
# cover.sh DIR TEST...   runs the tests that were built with --coverage into DIR and merges what gcov says of odvgp.h: a line counts
# as reached if one of them reached it. DIR/odvgp.h.txt lists the lines that none reached.
dir=$1
shift
rm -f "$dir"/*.gcda "$dir"/*.gcov
for test in "$@"; do
    arguments=""
    case $test in *oracle*) arguments=tests/oracle ;; esac
    timeout 300 "$dir/$test" $arguments >/dev/null 2>&1 || echo "note: $test failed"
done
for counts in "$dir"/*.gcda; do gcov --stdout -o "$dir" "$counts" >"${counts%.gcda}.gcov" 2>/dev/null; done
awk -F: -v out="$dir/odvgp.h.txt" '
    { line = $2 + 0 }
    line == 0 { if ($3 == "Source") here = ($4 == "odvgp.h"); next }
    { count = $1; gsub(/[ *]/, "", count) }
    !here || count == "-" { next }
    { if (!(line in reached)) { total++; reached[line] = 0; text[line] = $0 }
      if (count !~ /^[#=]/) reached[line] = 1
      if (line > last) last = line }
    END { if (!total) { print "no coverage found"; exit 1 }
          for (i = 1; i <= last; i++) if (i in reached) {
              if (reached[i]) hit++
              else { sub(/^[^:]*:/, "", text[i]); print text[i] > out } }
          printf "odvgp.h: %d of %d lines reached (%.1f %%); the others are listed in %s\n", hit, total, 100 * hit / total, out }' "$dir"/*.gcov
