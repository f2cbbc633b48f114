# Reading rows: part of tests/tool/tool.sh, which reads this file.

# ---- every row of data gets a line, or is refused by its line ----
# answers NAME ROWS DATA MODEL OPTIONS...: predict, from the file and from a stream, writes a header
# and ROWS lines; the stream comes whole and line by line.
answers() {
    title=$1 rows=$2 data=$3 model=$4
    shift 4
    "$tool" predict --model "$model" --data "$data" "$@" >t.txt 2>err.txt
    check "rows: $title" test "$? $(wc -l <t.txt)" = "0 $((rows + 1))"
    "$tool" predict --model "$model" --data - "$@" <"$data" >t2.txt 2>err2.txt
    check "rows: $title, a stream" test "$? $(wc -l <t2.txt)" = "0 $((rows + 1))"
    while IFS= read -r line || [ -n "$line" ]; do printf '%s\n' "$line"; sleep 0.02; done <"$data" |
        "$tool" predict --model "$model" --data - "$@" >t2.txt 2>err2.txt
    check "rows: $title, a stream line by line" test "$(wc -l <t2.txt)" = "$((rows + 1))"
}
# is_refused NAME TEXT DATA MODEL OPTIONS...: the same three ways end with 2 and TEXT.
is_refused() {
    title=$1 sentence=$2 data=$3 model=$4
    shift 4
    check "rows: refused: $title" refuses "$sentence" predict --model "$model" --data "$data" "$@"
    check "rows: refused: $title, a stream" sh -c \
        '"$1" predict --model "$4" --data - <"$2" 2>&1 >/dev/null | grep -qF -e "$3"' sh "$tool" \
        "$data" "$sentence" "$model"
    check "rows: refused: $title, a stream line by line" sh -c \
        'while IFS= read -r line || [ -n "$line" ]; do printf "%s\n" "$line"; sleep 0.02; done <"$2" |
            "$1" predict --model "$4" --data - 2>&1 >/dev/null | grep -qF -e "$3"' sh "$tool" "$data" \
        "$sentence" "$model"
}
fit --data named.csv --basis coupled --beta 5 --iters 2 --model names.odvgp
fit --data plain.csv --basis coupled --beta 5 --iters 2 --model place.odvgp
awk -F, '{ print $1 "," $3 }' plain.csv >t.csv
fit --data t.csv --basis coupled --beta 5 --iters 2 --model one.odvgp
awk -F, 'BEGIN { print "flat,y" } { print "#" NR % 3 "," $3 + NR % 3 }' plain.csv >flats.csv
fit --data flats.csv --levels shared --basis coupled --beta 3 --iters 2 --model flats.odvgp

for head in 'a,b' '' '# made by hand
a,b' 'a,b
# units: m, s, kg'; do
    what=$(printf '%s' "$head" | tr '\n' ' ')
    for row in 1 2 3; do
        { [ -z "$head" ] || printf '%s\n' "$head"
            printf '0.1,0.2\n0.3,0.4\n0.5,0.6\n' | sed "${row}s/^[^,]*/#DIV\/0!/"; } >t.csv
        line=$(grep -n DIV t.csv | cut -d: -f1)
        is_refused "row $row below '$what' begins with #" "line $line, column 0" t.csv names.odvgp
        answers "row $row below '$what' begins with #, drop" 3 t.csv names.odvgp --missing drop
        check "rows: and its line is NA" test "$(grep -n '^NA' t.txt)" = "$((row + 1)):NA,NA,NA,NA"
    done
done
printf 'a,b\n0.1,0.2\n#0.3,0.4\n' >t.csv
is_refused "a row that is commented out" "line 3, column 0 (a): '#0.3' is not a number" t.csv names.odvgp
printf 'a,b\n0.1,0.2\n# the end\n' >t.csv
is_refused "a comment below the rows" "line 3 has 1 cell where the first line has 2" t.csv names.odvgp
printf '# 1\n\n#2, two\na,b\n# 3\n\n0.1,0.2\n\n \n0.3,0.4\n\n' >t.csv
answers "comments above the first row, empty lines" 2 t.csv names.odvgp
check "rows: the comments are counted" grep -q '^note: t.csv: 3 lines before the first row begin with #' err.txt
printf '# 1\n0.1,0.2\n0.3,0.4' >t.csv
answers "a comment, no header, no last line end" 2 t.csv place.odvgp
printf '#1,a\n#2,b\n#0,c\n' | cut -d, -f1 | { echo flat; cat; } >t.csv
answers "texts that begin with #" 3 t.csv flats.odvgp
check "rows: and are levels" test "$(sort -u t.txt | wc -l)" = 4
printf 'flat\n#1\n#9\n' >t.csv
is_refused "a text that begins with #" "'#9' is none of the 3 levels" t.csv flats.odvgp
printf '# only\n# this\n' >t.csv
check "rows: refused: comments only" refuses "t.csv: has only lines that begin with #" predict \
    --model names.odvgp --data t.csv
printf '#DIV/0!\n0.1\n0.2\n' >t.csv
is_refused "one column, no header" "line 1, column 0: '#DIV/0!' is not a number" t.csv one.odvgp
printf '# cm\n0.1\n0.2\n' >t.csv
answers "one column, a comment" 2 t.csv one.odvgp
for text in '0.1\n\n0.2\n' '0.1\n0.3\n\n\n0.2\n'; do
    # shellcheck disable=SC2059 # line ends
    printf "$text" >t.csv
    is_refused "an empty line in one column" "is empty, in a table of one column" t.csv one.odvgp
done
printf 'a\n\n0.1\n' >t.csv
is_refused "an empty line below the name of one column" "line 2 is empty, in a table of one column" t.csv \
    one.odvgp
printf '\n\n0.1\n0.2\n\n \n' >t.csv
answers "one column, empty lines around it" 2 t.csv one.odvgp
printf 'a,b\n,\n0.1,0.2\nNA,NA\n' >t.csv
answers "rows of missing cells" 3 t.csv names.odvgp --missing drop
# The first line that is refused is named, whatever its column and its fault.
for cells in '0.1,NA:,0.3' '0.1,NA:x,0.3' '0.1,x:,0.3' '0.1,x:y,0.3'; do
    printf 'a,b\n%s\n%s\n0.1,0.2\n' "${cells%%:*}" "${cells#*:}" >t.csv
    is_refused "the first of the lines $cells" "line 2, column 1 (b)" t.csv names.odvgp
done
sed '3s/^\([^,]*\),[^,]*/\1,NA/; 4s/^[^,]*/NA/' named.csv >t.csv
check "rows: refused: training, the first line" refuses "line 3, column 1 (b): the value is missing" \
    train --data t.csv --model bad.odvgp
printf 'a\tb\n\t\n0.1\t0.2\n' >t.csv
answers "a row of tabs" 2 t.csv names.odvgp --missing drop
printf 'a,b,note\n0.1,0.2,"two\n\n# lines"\n0.3,0.4,""\n' >t.csv
answers "a text of several lines" 2 t.csv names.odvgp
printf 'a,b\r\n0.1,0.2\r\n\r\n0.3,0.4\r\n' >t.csv
answers "CRLF" 2 t.csv names.odvgp
printf 'oops,0.2\n0.1,0.3\n0.2,0.3\n' >t.csv
is_refused "a broken first row, no header" "number" t.csv \
    place.odvgp
is_refused "a broken first row, names" "line 1" t.csv names.odvgp
check "rows: refused: a broken first row, --header no" refuses "line 1, column 0: 'oops' is not a number" \
    predict --model place.odvgp --data t.csv --header no
printf 'u,v\n0.1,0.3\n0.2,0.3\n' >t.csv
answers "a header, by place" 2 t.csv place.odvgp

# In training: rows are used, or counted in a note, or refused.
sed '1s/^/# made today\n/; 3s/^[^,]*/#DIV\/0!/' named.csv >t.csv
check "rows: refused: training, a row that begins with #" refuses \
    "t.csv: line 4, column 0 (a): '#DIV/0!' is not a number" train --data t.csv --model bad.odvgp
sed '3s/^[^,]*/#/' named.csv >t.csv
check "rows: refused: training, a cell that is #" refuses "line 3, column 0 (a): '#' is not a number" \
    train --data t.csv --model bad.odvgp
for how in train compare folds; do
    set -- train --iters 2 --basis coupled --beta 5 --model t.odvgp
    [ $how != compare ] || set -- compare --iters 2 --bases coupled:beta=5
    [ $how != folds ] || set -- train --iters 2 --basis coupled --beta 5 --folds 4
    sed '3s/^[^,]*/#DIV\/0!/' named.csv >t.csv
    check "rows: refused: $how" refuses "line 3, column 0 (a): '#DIV/0!'" "$@" --data t.csv
    sed '1s/^/# today\n/; 3s/^[^,]*/NA/; 9s/^/\n/' named.csv >t.csv
    "$tool" "$@" --data t.csv --missing drop --json --threads 1 >t.json 2>err.txt
    key=n_train
    [ $how != folds ] || key=n
    check "rows: $how, all but one" test "$(value t.json $key)" = 199
    check "rows: $how, a note about the comment" grep -q '^note: t.csv: 1 line before the first row begins' err.txt
    check "rows: $how, a note about the dropped row" grep -q '^note: 1 row.* missing values .* left out' err.txt
done
sed '5s/^1/#1/; 5s/^0/#0/' mask.csv >t.csv
check "rows: refused: a mask with #" refuses "t.csv: line 5, column 0" train --data named.csv \
    --test-mask t.csv:0 --model bad.odvgp
sed '1s/^/# mask\n/; 9s/^/\n/' mask.csv >t.csv
train --data named.csv --test-mask t.csv:1 --iters 1 --model t.odvgp --json >t.json
check "rows: a mask with a comment and an empty line" test "$(values t.json n_train n_test)" = "160 40"
sed 5d mask.csv >t.csv
check "rows: refused: a mask that is short of a row" refuses "t.csv:0: 199 rows for the 200 of the data" \
    train --data named.csv --test-mask t.csv:0 --model bad.odvgp
sed '4s/^[^,]*/#REF!/' named.csv >t.csv
check "rows: refused: a test file" refuses "t.csv: line 4, column 0 (a): '#REF!' is not a number" \
    train --data named.csv --test t.csv --model bad.odvgp
check "rows: refused: rows to sample" refuses "t.csv: line 4, column 0 (a): '#REF!' is not a number" \
    sample --model names.odvgp --data t.csv
printf 'a,b\n0.1,0.2\n\n#N/A,1\n0.3,0.4\n' >t.csv
"$tool" sample --model names.odvgp --data t.csv --missing drop --samples 2 >t.txt 2>err.txt
check "rows: sample, a line each" test "$(wc -l <t.txt) $(sed -n 3p t.txt)" = "4 NA,NA"
