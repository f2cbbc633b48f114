# Pictures of odd data: part of tests/tool/tool.sh, which reads this file. No text lies on another
# one, on a panel or on a colour bar, or leaves the picture.

cat >boxes.awk <<'AWK'
# Fails if boxes of texts, frames of panels or colour bars overlap, and names them. A text's box is
# what DejaVu Sans takes, of the fonts that the pictures name the widest.
BEGIN {
    n = split("32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34" \
        " 84 84 84 53 100 68 69 70 77 63 58 77 75 29 29 66 56 86 75 79 60 79 69 63 61 73 68 99 69" \
        " 61 69 39 34 39 84 50 50 61 63 55 63 62 35 63 63 28 28 58 28 97 63 61 63 63 41 52 39 63" \
        " 59 82 59 59 52 64 34 64 84", advance, " ")
    for (i = 1; i <= n; i++) width[sprintf("%c", 31 + i)] = advance[i]
}
function text_width(s,    sum, k, c) {
    gsub(/&[a-z]*;|&#39;/, "\\&", s)
    for (k = 1; k <= length(s); k++) {
        c = substr(s, k, 1)
        # Of other characters, the first byte counts, for as much as a minus sign or an ellipsis.
        if (c in width) sum += width[c]
        else if (c >= "\303") sum += c >= "\342" ? 100 : 84
    }
    return sum * size / 100
}
function attribute(name) {
    if (!match($0, " " name "=\"[^\"]*\"")) return ""
    return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
}
function box(what, left, top, right, bottom) {
    count++
    name[count] = what
    x0[count] = left + 0; y0[count] = top + 0; x1[count] = right + 0; y1[count] = bottom + 0
}
/^<svg/ { size = attribute("font-size"); box("picture", 0, 0, attribute("width"), attribute("height")) }
/<clipPath/ || /fill="url/ {
    sub(/.*<rect/, "<rect")
    x = attribute("x"); y = attribute("y")
    box("frame", x, y, x + attribute("width"), y + attribute("height"))
}
/<text/ {
    text = $0
    sub(/.*<text[^>]*>/, "", text)
    sub(/<\/text>.*/, "", text)
    w = text_width(text) * (/bold/ ? 1.15 : 1)
    turned = match($0, /translate\([^)]*/)
    if (turned) {
        split(substr($0, RSTART + 10, RLENGTH - 10), at, " ")
        sub(/.*<text/, "<text")
    }
    anchor = attribute("text-anchor")
    x = attribute("x"); y = attribute("y")
    left = x - (anchor == "end" ? w : anchor == "middle" ? w / 2 : 0)
    up = 0.74 * size; down = 0.22 * size
    # The rotation is by -90 degrees: along the text is up.
    if (turned) box(text, at[1] + y - up, at[2] - left - w, at[1] + y + down, at[2] - left)
    else box(text, left, y - up, left + w, y + down)
}
END {
    for (i = 2; i <= count; i++) {
        if (x0[i] < 0 || y0[i] < 0 || x1[i] > x1[1] || y1[i] > y1[1]) {
            print "outside: " name[i]; bad = 1
        }
        for (k = 2; k < i; k++)
            if (x0[i] < x1[k] && x0[k] < x1[i] && y0[i] < y1[k] && y0[k] < y1[i]) {
                print "overlap: " name[i] " | " name[k]; bad = 1
            }
    }
    exit bad || count < 20
}
AWK

# odd NAME TITLES ROWS 'CELLS': the file NAME.csv; CELLS prints row i, from random numbers u().
odd() {
    { echo "$2"; awk -v "rows=$3" 'function u() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
        function row(i) { '"$4"' }
        BEGIN { seed = 5; for (i = 0; i < rows; i++) row(i) }'; } >"$1.csv"
}
# picture NAME ARGUMENTS...: a short training on NAME.csv, and its picture.
picture() {
    data=$1
    shift
    train --data "$data.csv" --test-fraction 0.2 --beta 8 --iters 10 --warm off --model odd.odvgp --plot "$data.svg" "$@" \
        >t.txt 2>&1
    check "pictures: $data: no text is covered" awk -f boxes.awk "$data.svg"
}
# cells PICTURE: do the cells of a map fill the first panel, and in how many colours?
cells() {
    awk -F'"' '/<clipPath/ { if (panels++) exit; area = $8 * $10 }
        /^<rect.*fill="#......"/ && panels { sum += $6 * $8 / area; colours += !($10 in seen); seen[$10] }
        END { print (sum < 0.99 ? "gaps" : sum < 1.15 ? "full" : "beyond"), colours + 0 }' "$1"
}

odd dates day,y 120 \
    'a = 800 * u(); printf "%d-%02d-%02d,%.3f\n", 2022 + a / 365, 1 + a / 31 % 12, 1 + a % 28, sin(a / 99) + u()'
picture dates
check "pictures: dates are dates" sh -c 'grep -q ">202[234]\(-[01][0-9]\)*</text>" dates.svg &&
    ! grep -q ">1[89][0-9][0-9][0-9]</text>" dates.svg'
odd hours when,hour,y 80 \
    'a = 3 * u(); b = 24 * u(); printf "2024-05-%02dT%02d:30:00Z,%02d:15,%.4f\n", 6 + a, b, b, a + sin(b / 4)'
picture hours
check "pictures: so are days and hours" sh -c 'grep -q ">7 May</text>" hours.svg &&
    grep -q ">when (2024)</text>" hours.svg && grep -q ">12:00</text>" hours.svg'
odd equal a,b,y 60 'printf "%.4f,%.4f,7\n", u(), u()'
picture equal
check "pictures: the map of equal numbers has one number" test \
    "$(cells equal.svg) $(grep -c '>7</text>' equal.svg)" = "full 1 1"
odd sizes a,b,y 60 \
    'a = u(); b = u(); printf "%.9g,%.9g,%.9g\n", 1e12 * (a - 0.5), 4e-9 * b, 1e-12 * (sin(5 * a) + b)'
picture sizes
check "pictures: powers of ten are in the titles" sh -c 'grep -q ">a (1e9)<" sizes.svg &&
    grep -q ">b (1e-9)<" sizes.svg && grep -q ">Mean (1e-12)<" sizes.svg'
odd vast a,b,y 60 \
    'a = u(); printf "%.9g,%.9g,%.9g\n", 6e307 * (2 * a - 1), 1e-280 * u(), sin(5 * a)'
picture vast
check "pictures: maps of the largest and smallest numbers" test "$(cells vast.svg | cut -d' ' -f1)" = full
odd offset a,b,y 60 'a = u(); printf "%.5f,%.5f,%.6f\n", 1.7e9 + a, -1e6 - u(), 1e7 + a'
picture offset
check "pictures: a map of inputs with an offset" test "$(cells offset.svg | cut -d' ' -f1)" = full
check "pictures: which the titles name" sh -c 'grep -q ">a − 1700000000<" offset.svg &&
    grep -q ">b + 100000[01]<" offset.svg'
awk 'BEGIN { for (k = 1; k <= 30; k++) printf "measurement_%d,", k; print "y" }' >titles.txt
odd wide "$(cat titles.txt)" 60 \
    'for (k = 0; k < 30; k++) { v = u() - 0.5; s = k ? s + v / (k + 1) : v; printf "%.4f,", v } print s'
picture wide
odd negative x,y 60 'a = -1000 * u(); printf "%.3f,%.3f\n", a, -20000 - 5 * a + 100 * u()'
picture negative
odd constant a,b,c,y 60 'a = u(); printf "%.4f,3,%d,%.4f\n", a, i % 2, a'
picture constant
long="the name of a column that is longer than any panel (in metres & per <second> squared)"
odd long "\"1, $long\",\"2, $long\",\"3, $long\"" 60 \
    'a = u(); printf "%.3f,%.8f,%.4f\n", 12345 * a, 1e-5 * u(), 1e5 + a'
picture long
odd targets a,b,c,y,z 60 \
    'a = u(); b = u(); printf "%.4f,%.4f,%.4f,%.4f,%.1f\n", a, b, u(), a + b, 2000 * (a - b)'
picture targets --target y,z
odd few x,y 5 'print i "," i * i'
picture few --beta 3
odd counts x,n 60 'a = 10 * u(); printf "%.4f,%d\n", a, 4 * u() * (1 + sin(a))'
picture counts --likelihood poisson --basis coupled
# The numbers of a panel stand before its frame.
check "pictures: no band of negative counts" \
    awk '/clipPath/ { exit bad } />−[0-9.]*<.text>/ { bad = 1 } END { exit bad }' counts.svg
"$tool" train --data counts.csv --iters 5 --resume odd.odvgp --model odd.odvgp --threads 1 --quiet \
    --plot t.svg >t.txt 2>&1
check "pictures: no curve without steps" sh -c 'grep -q ">Data and fit<" t.svg && ! grep -q ">Evidence" t.svg'
for classes in 2 5 $(full && echo 12 20); do
    odd "of$classes" a,b,c,class 120 \
        "a = u(); printf \"%.4f,%.4f,%.4f,kind %d\\n\", a, u(), u(), int($classes * a)"
    for inputs in a a,b a,b,c; do
        picture "of$classes" --features $inputs --target class --basis coupled --warm off
    done
done
picture of5 --features a,b --target class
check "pictures: regions of classes have the colours of their points" test \
    "$(cells of5.svg) $(grep -c bar0 of5.svg) $(grep -c 'fill="#8CC0DC"' of5.svg | sed 's/[1-9][0-9]*/some/')" = \
    "full 5 0 some"
odd labels a,b,class 90 \
    'a = u(); printf "%.4f,%.4f,a label of a class that nobody would write in full: number %d\n", a, u(), int(3 * a)'
picture labels $(full || echo --features a) # a map of classes takes two seconds
"$tool" compare --data wide.csv --bases coupled,coupled:natgrad=off,orth:gamma=8 --beta 8 --iters 10 --threads 1 \
    --quiet --test-fraction 0.2 --plot wide.svg >t.txt
check "pictures: compare: no text is covered" awk -f boxes.awk wide.svg
