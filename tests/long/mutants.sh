#!/bin/sh
# mutants.sh LIST FOLDER [WORD...]   are the tests able to see that one line of odvgp.h is wrong?
# LIST (mutants.txt) describes changes of one line each. For each of them, or those with one of the words in their title or test:
# FOLDER gets a copy of odvgp.h with the change, the test program named is compiled with it by this Makefile at -O0 and runs. A test
# that fails, crashes or needs more than two minutes of a processor kills the mutant. Ends with 1 if a mutant survives; with 2 if an
# entry is no longer found exactly once in odvgp.h, does not compile, or names tests that fail, or none, without the change.
list=$1 folder=$2
if [ $# -lt 2 ] || [ ! -f odvgp.h ]; then
	echo "usage, in the folder of odvgp.h: sh $0 LIST FOLDER [WORD...]"
	exit 2
fi
shift 2
make=${MAKE:-make}
unset MAKEFLAGS MFLAGS MAKELEVEL
export ODVGP_TEST_SHORT=1
rm -rf "$folder"
mkdir -p "$folder" || exit 2
folder=$(cd "$folder" && pwd)

# Entries, without comments: title, test, line, change; one field a line.
awk '/^#/ { next }
	/^[^ \t<>]/ { title = $0; next }
	/^  test_/ { test = substr($0, 3); next }
	/^< / { from = substr($0, 3); next }
	/^>/ { print title; print test; print from; print substr($0, 3) }' "$list" >"$folder/entries"
count=$(($(wc -l <"$folder/entries") / 4))

field() { sed -n "$(($1 * 4 + $2))p" "$folder/entries"; }

# tree NAME: the working tree, but for odvgp.h and build/. tests/ is a folder, since ../odvgp.h is also
# included from there.
tree() {
	mkdir -p "$folder/$1/tests" && for f in * tests/*; do
		case $f in odvgp.h | build | tests) ;; *) ln -s "$PWD/$f" "$folder/$1/$f" ;; esac
	done
}

# run NAME TEST: compiles and runs; 1: the test fails; 2: no program, or no such test.
run() {
	program=${2%% *}
	$make -s -j1 -C "$folder/$1" CFLAGS="-O0 -w" "build/$program" >"$folder/$1/make.txt" 2>&1 || return 2
	# shellcheck disable=SC2086,SC3045 # a program and its arguments; every sh here has -t
	(ulimit -t 120; exec "$folder/$1/build/"$2) >"$folder/$1/output.txt" 2>&1 && return 0
	! grep -q '^0 passed, 0 failed' "$folder/$1/output.txt" || return 2
	return 1
}

# mutant NUMBER
mutant() {
	title=$(field "$1" 1) test=$(field "$1" 2)
	FROM=$(field "$1" 3) TO=$(field "$1" 4) awk '
		BEGIN { from = ENVIRON["FROM"]; to = ENVIRON["TO"] }
		{
			at = index($0, from)
			if (at) {
				n++
				rest = substr($0, at + length(from))
				if (index(rest, from)) n++
				$0 = substr($0, 1, at - 1) to rest
			}
			print
		}
		END { exit n != 1 }' odvgp.h >"$folder/$1/odvgp.h" || {
		echo "ERROR     $title: not found exactly once in odvgp.h"
		return
	}
	run "$1" "$test"
	case $? in
	0) echo "SURVIVES  $title ($test)" ;;
	1) echo "killed    $title ($test)" ;;
	2) echo "ERROR     $title: $test: $(sed -n '/error/{p;q;}' "$folder/$1/make.txt")" ;;
	esac
	rm -rf "${folder:?}/$1/build"
}

# Workers share the entries: who makes an entry's folder has it.
work() {
	i=0
	while [ "$i" -lt "$count" ]; do
		if mkdir "$folder/$i" 2>/dev/null; then
			tree "$i"
			mutant "$i"
		fi
		i=$((i + 1))
	done
}

if [ $# -gt 0 ]; then # entries with one of the words
	words=$(printf '%s\n' "$@")
	WORDS=$words awk 'BEGIN { n = split(ENVIRON["WORDS"], word, "\n") }
		NR % 4 == 1 { title = $0 }
		NR % 4 == 2 { test = $0 }
		NR % 4 == 3 { line = $0 }
		NR % 4 == 0 {
			take = 0
			for (i = 1; i <= n; i++) take += index(title " " test, word[i]) > 0
			if (take) { print title; print test; print line; print }
		}' "$folder/entries" >"$folder/taken" && mv "$folder/taken" "$folder/entries"
	count=$(($(wc -l <"$folder/entries") / 4))
fi

# Each test passes without a change, and there is one.
tree plain
ln -s "$PWD/odvgp.h" "$folder/plain/odvgp.h"
awk 'NR % 4 == 2' "$folder/entries" | sort -u >"$folder/tests"
while read -r test; do
	run plain "$test" || { echo "ERROR     $test fails or is not there without a change"; exit 2; }
done <"$folder/tests"

workers=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
k=0
while [ "$k" -lt "$workers" ]; do
	work >"$folder/report.$k" &
	k=$((k + 1))
done
wait
sort "$folder"/report.* | tee "$folder/report"
grep -c '^killed' "$folder/report" | sed "s/\$/ of $count mutants killed/"
! grep -q '^ERROR' "$folder/report" || exit 2
! grep -q '^SURVIVES' "$folder/report"
