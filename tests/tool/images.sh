# Images: part of tests/tool/tool.sh, which reads this file.

# ---- images ----
awk 'BEGIN { srand(1); for (n = 0; n < 120; n++) { # a bar of three pixels, lying or standing
    down = n % 2; i = int(rand() * (6 - 2 * down)); j = int(rand() * (4 + 2 * down))
    for (p = 0; p < 36; p++) {
        r = int(p / 6); c = p % 6; on = down ? c == j && r >= i && r < i + 3 : r == i && c >= j && c < j + 3
        printf "%d,", 90 * on + int(9 * rand()) }
    print down ? "standing" : "lying" } }' >bars.csv
bars="--data bars.csv --image 6x6 --patch 3x3 --test-fraction 0.5 --beta 8 --gamma 6 --seed 2"
for basis in orth solve; do
    # shellcheck disable=SC2086
    train $bars --basis $basis --iters 300 --natgrad-step 0.1 --batch 30 --model bars.odvgp --json >t.json
    check "images: bars tell lying from standing ($basis)" holds "$(value t.json accuracy) > 0.9"
done
"$tool" info --model bars.odvgp >t.txt
check "images: info" grep -q '^images   6 x 6 x 1, 16 patches 3 x 3, stride 1$' t.txt
"$tool" predict --model bars.odvgp --data bars.csv --out bars_p.csv --json >t.json 2>err.txt
check "images: predict" holds "$(value t.json accuracy) > 0.9"
# shellcheck disable=SC2086
check "images: --resume keeps them" refuses "--patch 2x3: the model was made with 3x3" train $bars \
    --basis solve --patch 2x3 --resume bars.odvgp --iters 310 --model more.odvgp
# shellcheck disable=SC2086
check "images: --resume" train $bars --basis solve --natgrad-step 0.1 --batch 30 --resume bars.odvgp --iters 310 \
    --model more.odvgp
# shellcheck disable=SC2086
"$tool" train $bars --stride 2 --tick --iters 3 --model tick.odvgp >t.txt 2>err.txt
check "images: a stride that leaves pixels out says so" grep -q \
    '^note: --stride 2: no patch covers the last row and the last column of pixels$' err.txt
check "images: locations" grep -q '4 patches 3 x 3, stride 2, with locations' t.txt
# shellcheck disable=SC2086
"$tool" train $bars --stride 40 --iters 1 --model t.odvgp >t.txt 2>err.txt
check "images: one patch" grep -q '1 patch 3 x 3, stride 40$' t.txt
check "images: the pixels outside it" grep -q \
    '^note: --stride 40: the only patch does not cover the last 3 rows and the last 3 columns of' err.txt
check "images: and no pixels between patches" test "$(grep -c '^note: --stride' err.txt)" = 1
# shellcheck disable=SC2086
check "images: in the first layer" train $bars --tick --layers "orth:dim=3; coupled" --iters 3 --model tick.odvgp
"$tool" info --model tick.odvgp >t.txt
check "images: in the first layer, info" grep -q '16 patches 3 x 3, stride 1, with locations' t.txt
# shellcheck disable=SC2086
train $bars --tick --layers "solve:dim=4,patch=3x3; coupled:patch=2x2,stride=2" --iters 40 --model stack.odvgp --json >t.json
check "images: of layers, natural steps that do not rise" test "$(value t.json natgrad_step)" = "0.1-0.01"
"$tool" info --model stack.odvgp >t.txt
check "images: of layers, info" test "$(grep -c '^images   of layer 0: 6 x 6 x 1, 16 patches 3 x 3, stride 1$
^images   of layer 1: 4 x 4 x 4, 4 patches 2 x 2, stride 2, with locations$' t.txt)" = 2
"$tool" info --model stack.odvgp --json >t.json
check "images: of layers, sizes in JSON" test "$(grep -o '"beta": [0-9]*, "gamma": [0-9]*, "image_height": [0-9]' \
    t.json | tr -dc '0-9 \n' | tr -s ' \n' ' ') $(grep -o '"stride": [0-9]' t.json | tr -dc 0-9)" = " 8 0 6 8 0 4  12"
"$tool" train --data bars.csv --image 6x6 --iters 1 --model t.odvgp --quiet \
    --layers "coupled:patch=3x3,dim=2 ; coupled:patch=2x2 , beta=130" >t.txt
check "images: more points than images" grep -q '^model    coupled, beta 130,' t.txt
"$tool" train --data bars.csv --image 6x6 --iters 1 --model t.odvgp \
    --layers "coupled:patch=3x3,dim=2,beta=7; coupled:patch=3x3,stride=2,beta=5" >t.txt 2>err.txt
check "images: pixels that a layer leaves out" grep -q \
    '^note: layer 1, stride 2: the only patch does not cover the last row and the last column of' err.txt
check "layers: the last one's sizes in the progress" grep -q 'bars: .*; coupled, beta 5, gamma 0' err.txt
"$tool" compare --data bars.csv --image 6x6 --iters 1 --threads 1 --trace t.csv --json \
    --layers "coupled:patch=3x3,dim=2,beta=7; coupled:patch=2x2,beta=5" --bases coupled >t.json 2>err.txt
check "compare: layers" test "$(value t.json beta) $(tail -n 1 t.csv | cut -d, -f1,3)" = "5 coupled,5"
check "compare: layers, in the progress" grep -q '^coupled: beta 5, ' err.txt
"$tool" compare --data bars.csv --image 6x6 --iters 1 --quiet --bases coupled \
    --layers "coupled:patch=3x3,dim=2,beta=7; coupled:patch=2x2,beta=5" >t.txt
check "compare: layers, in the table" grep -q '^coupled  *on  *5  *0 ' t.txt
for bad in "stride 2: contradicts --layers, whose first stride is 1" \
    "beta 20: contradicts --layers, whose last beta is 9" \
    "gamma 3: contradicts --layers, whose last gamma is 4"; do
    # shellcheck disable=SC2086
    check "images: refuses --${bad%%:*}" refuses "--$bad" train --data bars.csv --image 6x6 --patch 3x3 --${bad%%:*} \
        --layers "coupled:patch=3x3,dim=4; orth:patch=2x2,beta=9,gamma=4" --iters 1 --model bad.odvgp
done
"$tool" predict --model stack.odvgp --data bars.csv --out stack.csv --quiet >/dev/null
check "images: of layers, predict" test "$(wc -l <stack.csv)" = "$(wc -l <bars_p.csv)"
for bad in "coupled:patch=3; coupled" "coupled:stride=2; coupled" "coupled:patch=3x0; coupled" \
    "coupled:patch=3x3; coupled; coupled:patch=1x1" "coupled:patch=3x3; coupled:patch=9x9"; do
    check "images: refuses '$bad'" refuses "patch" train --data bars.csv --image 6x6 --layers "$bad" --model bad.odvgp
done
check "images: a patch too large for its layer" refuses "fit into the images of layer 1, 4 x 4" train --data bars.csv \
    --image 6x6 --layers "coupled:patch=3x3; coupled:patch=5x4" --model bad.odvgp
check "images: two first patches" refuses "contradicts --layers" train --data bars.csv --image 6x6 --patch 2x2 \
    --layers "coupled:patch=3x3; coupled:patch=2x2" --model bad.odvgp
check "images: a layer's patch without images" refuses "layers: its first patch: needs --image" train --data bars.csv \
    --layers "coupled:patch=3x3; coupled" --model bad.odvgp
check "images: no patch in the first layer" refuses "in the first item of --layers" train --data bars.csv --image 6x6 \
    --layers "coupled; coupled" --model bad.odvgp
check "refused: more points than patches" refuses "--beta 2000: there are only 1920 patches, 16 of each" \
    train --data bars.csv --image 6x6 --patch 3x3 --beta 2000 --model bad.odvgp
check "refused: a patch larger than the image" refuses "--patch 7x3: does not fit into the images, 6 x 6" \
    train --data bars.csv --image 6x6 --patch 7x3 --model bad.odvgp
check "refused: a column too many" refuses "--target names the target, --ignore leaves a column out" \
    train --data bars.csv --image 5x7 --patch 3x3 --model bad.odvgp
sed 's/lying/4/; s/standing/7/; 1s/[47]$/5/' bars.csv >digits.csv
"$tool" train --data digits.csv --image 6x6 --patch 3x3 --warm off --iters 1 --model t.odvgp >t.txt 2>err.txt
check "images: numbers that may be classes" grep -q \
    '^note: column 36 has only 3 whole numbers, and .* gaussian; --likelihood softmax learns' err.txt
for bad in "image 6x6" "patch 3x3" "tick" "image 6 --patch 3x3" "image 6x6x --patch 3x3" \
    "image 5x6 --patch 3x3" "image 6x6 --patch 7x3" "image 6x6 --patch 3x3 --stride 0"; do
    # shellcheck disable=SC2086
    check "refused: --$bad" refuses "--" train --data bars.csv --$bad --model bad.odvgp
done
