# Columns, their names and separators: part of tests/tool/tool.sh, which reads this file.

# ---- separators at the ends of lines ----
fit --data named.csv --basis coupled --beta 5 --iters 2 --model names.odvgp
fit --data plain.csv --basis coupled --beta 5 --iters 2 --model place.odvgp
cut -d, -f1,2 named.csv >t.csv
"$tool" predict --model names.odvgp --data t.csv --out want.csv --quiet
same_predictions() { "$tool" predict --out t.txt --quiet --threads 1 "$@" && cmp t.txt want.csv; }
for mark in , \; ,,,; do
    say="a separator; the empty column 3 is" end=$mark mark=${mark%,,}
    [ "$end" = "$mark" ] || say="3 separators; the empty columns 3 to 5 are"
    sed "s/\$/,/; s/,/$mark/g; s/$mark\$/$end/" named.csv >t.csv
    "$tool" train --data t.csv --basis coupled --beta 5 --iters 2 --model t.odvgp --threads 1 >t.txt 2>err.txt
    check "trailing $end: the column after it is left out" same_predictions --model t.odvgp --data named.csv
    check "trailing $end: a note" grep -q \
        "^note: t.csv: each line ends with $say left out\$" err.txt
    sed "s/\$/,/; s/,/$mark/g; s/$mark\$/$end/" plain.csv >t2.csv
    fit --data t2.csv --basis coupled --beta 5 --iters 2 --model t2.odvgp
    check "trailing $end: no header" same_predictions --model t2.odvgp --data plain.csv
    check "trailing $end: predict, by name" same_predictions --model names.odvgp --data t.csv
    check "trailing $end: predict, by place" same_predictions --model place.odvgp --data t2.csv
    check "trailing $end: predict, by place, a stream" sh -c \
        '"$1" predict --model place.odvgp --data - --out t.txt --quiet <t2.csv && cmp t.txt want.csv' sh "$tool"
done
cut -d, -f1,2 plain.csv | sed 's/$/,/' >t.csv
check "trailing: targets that are empty are targets" same_predictions --model place.odvgp --data t.csv
awk -F, '{ print $3 "," $1 "," $2 }' plain.csv >t.csv
fit --data t.csv --target 0 --basis coupled --beta 5 --iters 2 --model first.odvgp
sed 's/[^,]*$//' t.csv >t2.csv
check "trailing: inputs that are empty are inputs" refuses "line 1, column 2: the value is missing" \
    predict --model first.odvgp --data t2.csv --quiet
sed '1s/$/,/' named.csv >t.csv
check "refused: a separator after the names" refuses \
    "t.csv: line 2 has 3 cells where the first line has 4, of which the last one is empty" train --data t.csv
sed '2,$s/$/,/' named.csv >t.csv
check "refused: a separator after the rows" refuses \
    "t.csv: line 2 has more cells than the 3 of the first line: it ends with a separator" train --data t.csv
sed 's/$/,/; 9s/$/7/' named.csv >t.csv
check "refused: one cell in a column without a name" refuses \
    "t.csv: line 2, column 3: the value is missing" train --data t.csv

# ---- separators that are not guessed ----
for mark in '|' :; do
    tr , "$mark" <named.csv >t.csv
    check "refused: cells between $mark, training" refuses \
        "no input column besides the target; --sep '$mark' cuts the lines into cells" train --data t.csv
    check "cells between $mark: the advice is right" same_predictions --model names.odvgp --data t.csv \
        --sep "$mark"
    check "refused: cells between $mark, predict" refuses \
        "there is no column 'a'; --sep '$mark' cuts the lines into cells" predict --model names.odvgp --data t.csv
    tr , "$mark" <plain.csv >t.csv
    check "refused: cells between $mark, predict by place" refuses \
        "t.csv: line 1: 1 column; the model has 2 inputs, from a file of 3 columns; --sep '$mark'" \
        predict --model place.odvgp --data t.csv
    check "refused: cells between $mark, a target" refuses "; --sep '$mark' cuts the lines into cells" \
        train --data t.csv --target 2
done
check "refused: the wrong --sep" refuses "; --sep ',' cuts the lines into cells" train --data named.csv --sep \;

# ---- names that several columns have ----
awk -F, 'BEGIN { OFS = "," } { print $1, $1 * $2, $2, $3 }' plain.csv >rows
{ echo "a,a,b,y"; cat rows; } >twice.csv
"$tool" train --data twice.csv --basis coupled --beta 5 --iters 2 --model twice.odvgp --threads 1 >t.txt 2>err.txt
check "names: a note about equal ones" grep -q \
    "^note: twice.csv: the columns 0 and 1 are both named 'a'; predict finds them by their order$" err.txt
for id in target features ignore; do
    check "refused: --$id of a name of two columns" refuses \
        "--$id: the columns 0 and 1 are named 'a': give an index" train --data twice.csv --$id a
done
check "refused: --keep of a name of two columns" refuses "--keep: the columns 0 and 1 are named 'a'" \
    predict --model twice.odvgp --data twice.csv --keep a
check "refused: one column where the model has two" refuses \
    "named.csv: line 1: 'a' is the name of 1 column, and of 2 in the training file" \
    predict --model twice.odvgp --data named.csv
"$tool" predict --model names.odvgp --data twice.csv >t.txt 2>err.txt
check "names: a note where predict has more of them than the model" grep -q \
    "^note: twice.csv: 'a' is the name of 2 columns, and column 0 is taken$" err.txt
check "names: and that is right" cmp t.txt want.csv
"$tool" predict --model twice.odvgp --data twice.csv >t.txt 2>err.txt
check "names: none where both have two" test "$(grep -c 'is the name of' err.txt)" = 0
fit --data twice.csv --ignore 1 --basis coupled --beta 5 --iters 2 --model one.odvgp
check "names: an index tells them apart" same_predictions --model one.odvgp --data twice.csv

# ---- whole numbers that may be classes ----
awk -F, 'BEGIN { OFS = "," } { print $1, $2, 1 + NR % 5, $3 }' plain.csv >stars.csv
"$tool" train --data stars.csv --target 2 --iters 2 --basis coupled --beta 5 --threads 1 --model t.odvgp \
    >t.txt 2>err.txt
check "classes: a note about few whole numbers" grep -q \
    '^note: column 2 has only 5 whole numbers, and .* gaussian; --likelihood softmax learns them as classes, ordinal' \
    err.txt
check "classes: and they are numbers" grep -q '^noise ' t.txt
for kind in softmax ordinal gaussian; do
    "$tool" train --data stars.csv --target 2 --iters 2 --basis coupled --beta 5 --threads 1 --model t.odvgp \
        --likelihood $kind >t.txt 2>err.txt
    check "classes: --likelihood $kind is right, and says nothing" test "$? $(grep -c 'whole numbers' err.txt)" = "0 0"
done
# few_note FILE OPTIONS...: how many notes there are about few whole numbers.
few_note() {
    data=$1
    shift
    "$tool" train --data "$data" --iters 1 --basis coupled --beta 5 --threads 1 --model t.odvgp "$@" \
        2>&1 >/dev/null | grep -c 'whole numbers'
}
check "classes: none for fractions, nor for two targets" test \
    "$(few_note stars.csv) $(few_note stars.csv --target 2,3)" = "0 0"
awk -F, '{ print $1 "," NR % 25 }' plain.csv >t.csv
"$tool" train --data t.csv --iters 1 --basis coupled --beta 5 --threads 1 --model t.odvgp >t.txt 2>err.txt
check "classes: 25 numbers from 0 on may be counts, in one note" test \
    "$(few_note t.csv) $(grep -c '^note: column 1 has whole numbers from 0 on, and the likelihood is gaussian; --likelihood poisson learns them as counts$' err.txt)" = "1 1"
for cell in 'NR % 25 - 1' '500 + NR % 25' '100 * (NR % 25)' 'NR % 25 + 0.5'; do
    awk -F, "{ print \$1 \",\" $cell }" plain.csv >t.csv
    check "classes: none for 25 numbers like $cell" test "$(few_note t.csv)" = 0
done
head -n 9 stars.csv | cut -d, -f1-3 >t.csv
check "classes: none where most rows have their own number" test "$(few_note t.csv)" = 0

# ---- dates: the year first, or the month by its name ----
awk 'BEGIN { for (i = 0; i < 60; i++) printf "%d-%02d-%02d 0%d:30,%.3f\n", 2019 + i % 3, 1 + i % 12, 1 + i % 28, i % 10, sin(i % 12) }' >iso.csv
sed 's/-0*/\//; s/-0*/\//; s/ 0/ /' iso.csv >slashes.csv
sed 's/-/./; s/-/./; s/ /T/' iso.csv >dots.csv
# named FORM: year, month and day of iso.csv by printf, the month as its name.
named() {
    awk -v form="$1" 'BEGIN { split("January February March April May June July August September October November December", name, " ") }
        { split(substr($0, 1, 10), d, "-"); m = name[d[2] + 0]
          if (form == "long") t = "\"" m " " d[3] + 0 ", " d[1]; else if (form == "short") t = d[3] "-" substr(m, 1, 3) "-" d[1]
          else t = toupper(substr(m, 1, 3)) " " d[3] + 0 " " d[1]
          print t substr($0, 11, 6) (form == "long" ? "\"" : "") substr($0, 17) }' iso.csv
}
for form in long short capital; do named $form >$form.csv; done
fit --data iso.csv --dates days+yearday --basis coupled --beta 5 --iters 2 --model iso.odvgp
"$tool" predict --model iso.odvgp --data iso.csv --out want.csv --quiet >/dev/null
for form in slashes dots long short capital; do
    check "dates: $(head -n 1 $form.csv)" same_predictions --model iso.odvgp --data $form.csv
    fit --data $form.csv --dates days+yearday --basis coupled --beta 5 --iters 2 --model $form.odvgp
    check "dates: learned, too" same_predictions --model $form.odvgp --data iso.csv
done
# A month is its first day.
awk -F'[-,]' -v OFS=, '{ split("Jan Feb Mar Apr May June July Aug Sept Oct Nov Dec", name, " "); print name[$2 + 0] " " $1, $1 * $2 % 7 }' iso.csv >months.csv
awk -F'[-,]' -v OFS=, '{ print $1 "-" $2 "-01", $1 * $2 % 7 }' iso.csv >t.csv
fit --data t.csv --basis coupled --beta 5 --iters 2 --model iso.odvgp
"$tool" predict --model iso.odvgp --data t.csv --out want.csv --quiet >/dev/null
check "dates: months" same_predictions --model iso.odvgp --data months.csv
# Seasons and parts are texts, and months may name columns.
awk 'BEGIN { for (i = 0; i < 60; i++) printf "%d-%02d,MAR-%d,%d\n", 2009 + i % 12, 10 + i % 12, 1000 + i % 9, i % 5 }' >t.csv
fit --data t.csv --basis coupled --beta 5 --iters 2 --model t.odvgp
check "dates: not seasons and parts" sh -c '"$1" info --model t.odvgp | grep -q "^inputs  *0(12 levels) 1(9 levels)$"' sh "$tool"
awk 'BEGIN { print "Jan 2020,2020/02,2020/3/1"; for (i = 0; i < 60; i++) print i % 7 "," i % 5 "," i % 3 + i % 2 }' >t.csv
fit --data t.csv --target 2020/3/1 --basis coupled --beta 5 --iters 2 --model t.odvgp
check "dates: names of columns" sh -c '"$1" info --model t.odvgp | grep -q "^inputs  *Jan 2020 2020/02$"' sh "$tool"
for bad in 2021/13/01 2021/02/30 2021-02/03 2021/1/ 2021/001/1 2021//1 21/1/1 1021/1/1 'Feb 30 2021' 'Janet 3 2021' '3 Sep' 'Ma 3 2021'; do
    { sed 1d slashes.csv; echo "$bad 01:30,1"; } >t.csv
    check "dates: not $bad" refuses "'$bad 01:30'" train --data t.csv --basis coupled --beta 5 --iters 2 --model t.odvgp
done
