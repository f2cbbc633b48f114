# Reading tables: part of tests/tool/tool.sh, which reads this file.

# ---- reading tables ----
# same_table FILE OPTIONS...: does training on FILE with these options make the model that named.csv
# makes?
same_table() {
    data=$1
    shift
    fit --data "$data" --basis coupled --beta 5 --iters 2 --model t.odvgp "$@" &&
        "$tool" predict --model t.odvgp --data inputs.csv --out t.txt --quiet && cmp named.txt t.txt
}
sed '1s/^/# made today\n\n/; 2s/^/#\n   # more\n/; 50s/^/\n  \n/' named.csv >idle.csv
check "table: empty lines and comments are skipped" same_table idle.csv
"$tool" train --data idle.csv --iters 0 --model t.odvgp --threads 1 2>err.txt >t.txt
check "table: a note says so" grep -q '^note: idle.csv: 3 lines before the first row begin with # and are' err.txt
sed '60s/^[^,]*/abc/' idle.csv >t.csv
check "table: lines are counted nevertheless" \
    refuses "t.csv: line 60, column 0 (a): 'abc'" train --data t.csv
tr , '\t' <named.csv >t.tsv
check "table: tabs" same_table t.tsv
gzip -c named.csv >named.csv.gz
check "table: gzip" same_table named.csv.gz
check "table: gzip, named after the data" test "$("$tool" info t.odvgp | head -n 1 | cut -c1-15)" = \
    "data     named:"
check "table: gzip from standard input" sh -c \
    '"$1" predict --model named.odvgp --data - <named.csv.gz 2>/dev/null | cmp - named.txt' sh "$tool"
head -c 1000 named.csv.gz >cut.csv.gz
check "refused: half of a packed file" refuses "cut.csv.gz: is compressed, and gzip cannot unpack" \
    train --data cut.csv.gz
tr ., ,\; <named.csv >t.csv
check "table: decimal commas" same_table t.csv --decimal ,
check "refused: decimal commas, by the option's name" \
    refuses "is text, and the target must be numbers; --decimal , reads it as a number" train --data t.csv
awk -F, 'NR > 1 { printf "%s,%s,\"%s%d,%03d.5\"\n", $1, $2, NR % 2 ? "-" : "", NR, NR * 7 % 1000; next }
    1' named.csv >t.csv
tr -d '"' <t.csv | awk -F, '{ print $1 "," $2 "," $3 $4 }' | sed '1s/y.*/y/' >plainer.csv
fit --data plainer.csv --iters 0 --model t.odvgp
"$tool" info t.odvgp --json >one.json
fit --data t.csv --iters 0 --model t.odvgp --thousands ,
"$tool" info t.odvgp --json >two.json
check "table: separators of thousands" test \
    "$(values one.json kernel noise_variance)" = "$(values two.json kernel noise_variance)"
check "refused: separators of thousands, by the option's name" \
    refuses "t.csv: line 2, column 2 (y): '2,014.5' is text, and the target must be numbers; --th" \
    train --data t.csv
sed '9s/^[^,]*/"1,5"/' named.csv >t.csv
check "refused: one decimal comma" refuses \
    "line 9, column 0 (a): '1,5' is not a number; --decimal , reads it" train --data t.csv
sed '1s/^/k,/; 2,$s/^/7,/' named.csv >t.csv
check "table: a constant column is left out" same_table t.csv
"$tool" train --data t.csv --iters 0 --model t.odvgp --threads 1 2>err.txt >t.txt
check "table: a note says so" \
    grep -q '^note: constant in the training rows, and left out: column 0 (k)$' err.txt
check "refused: an identifier" refuses \
    "column 0 (id) has 200 different texts in 200 rows and looks like an identifier: --ignore id" \
    train --data ids.csv
check "table: without the identifier" same_table ids.csv --ignore id
awk -F, -v OFS=, '{ print (NR > 1 ? "a" NR : "one"), (NR > 1 ? "b" NR : "two"), (NR > 1 ? 1 : "k"), $0 }' ids.csv >t.csv
check "refused: several identifiers, all at once" refuses \
    "column 0 (one) has 200 different texts in 200 rows and looks like an identifier, as do 2 others: --ignore k,one,two,id leaves them out" \
    train --data t.csv --ignore k
check "table: without them" same_table t.csv --ignore k,one,two,id
for word in null none n/a N/A - '?' NA; do
    sed "7s,^[^\,]*,$word," named.csv >t.csv
    check "table: $word is a missing value" refuses "line 7, column 0 (a): the value is missing" \
        train --data t.csv
done
awk -F, 'BEGIN { print "when,clock,y" }
    { printf "2024-%02d-%02dT%02d:30:00Z,%02d:15,%s\n", 1 + NR % 12, 1 + NR % 28, NR % 24, NR % 24, $3 }
    ' plain.csv >dates.csv
train --data dates.csv --iters 0 --json --model t.odvgp >t.json
train --data dates.csv --iters 0 --json --ignore clock --dates days+yearday+weekday --model d.odvgp \
    >t2.json
check "dates: days, or three numbers" test "$(value t.json d) $(value t2.json d)" = "2 3"
check "dates: named in the lengthscales" grep -q '"input": "when", "level": "weekday"' t2.json
predict d.odvgp dates.csv --quiet && mv t.txt pred2.csv
sed '1s/^/\xEF\xBB\xBF/; s/T\(..\):30:00Z/ \1:30/' dates.csv >t.csv
predict d.odvgp t.csv --quiet
check "dates: in another form" cmp pred2.csv t.txt
sed '3s/2024-03/2024-13/' dates.csv >t.csv
check "refused: a month 13" refuses \
    "t.csv: line 3, column 0 (when): '2024-13-03T02:30:00Z' is not a date or time" \
    train --data t.csv
awk 'BEGIN { for (i = 0; i < 40; i++) printf "%g,%de300\n", i / 4, i % 3 - 1 }' >t.csv
check "refused: targets without a variance" refuses "column 1: with numbers as large as" train --data t.csv
check "refused: dates as targets" refuses "column 0 (when) holds dates, and the target must be" \
    train --data dates.csv --target when
check "refused: no such part of a date" refuses "--dates month: must be days|yearday|weekday" \
    train --data dates.csv --dates month
"$tool" train --data plain.csv --iters 0 --model t.odvgp --threads 1 2>err.txt >t.txt
check "header: no, is announced" grep -q '^note: plain.csv: header: no; its first line is data' err.txt
sed '1s/.*/1,2,3/' named.csv >t.csv
"$tool" train --data t.csv --iters 0 --model t.odvgp --threads 1 2>err.txt >t.txt
check "header: of numbers, looks unlike its columns" \
    grep -q '^note: t.csv: header: no, but its first line looks unlike the rows below' err.txt
train --data t.csv --header yes --iters 2 --basis coupled --beta 5 --model t.odvgp >t.txt
sed '1s/.*/2,1/; 2,$s/^\([^,]*\),\([^,]*\),.*/\2,\1/' named.csv >t.csv
predict t.odvgp t.csv --quiet
check "header: the model's names are one" cmp t.txt named.txt
awk 'BEGIN { for (i = 0; i < 1000001; i++) printf "%d,", i; print "" }' >wide.csv
check "refused: a million columns" refuses "wide.csv: line 1 has more than" train --data wide.csv
check "refused: /dev/zero" refuses "/dev/zero: is not a text file" train --data /dev/zero
check "refused: a program" refuses "is not a text file" train --data "$tool"
printf '\377\376a\0,\0b\0' >t.csv
check "refused: UTF-16" refuses "t.csv: is UTF-16 text; save it as UTF-8" train --data t.csv
# wide COLUMNS: learns and predicts; sets `took`, in seconds of the processor.
wide() {
    awk -v n="$1" 'BEGIN {
        for (r = 0; r < 4; r++) for (i = 0; i < n; i++)
            printf "%s%s", r ? (i * r) % 7 : "name" i, i < n - 1 ? "," : "\n"
    }' >wide.csv
    times >before.txt
    fit --data wide.csv --basis coupled --beta 1 --iters 1 --model t.odvgp &&
        "$tool" predict --model t.odvgp --data wide.csv --out t.txt --quiet || return
    times >after.txt
    took=$(processor_seconds)
}
linear() { wide 10000 && half=$took && wide 20000 && holds "$took < 3 * $half + 0.1"; }
check "wide: 20,000 columns, in less than thrice the time of 10,000" three_times linear
