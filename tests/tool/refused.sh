# Data, options and model files that are refused: part of tests/tool/tool.sh, which reads this file.

# ---- bad input: data ----
mkdir d
fit --data text.csv --ordinal 'size, of it=low,high' --test-fraction 0.2 --model text.odvgp
check "refused: no such file" refuses "nope.csv: cannot be opened" train --data nope.csv $m
check "refused: a folder" refuses "d: cannot be read" train --data d $m
: >empty.csv
check "refused: empty file" refuses "empty.csv: is empty" train --data empty.csv $m
echo "a,b" >header.csv
check "refused: only a header" refuses "header.csv: has a header and no rows" \
    train --data header.csv $m
printf '1,2,3\n4,5\n' >ragged.csv
check "refused: short row" refuses "ragged.csv: line 2 has 2 cells" train --data ragged.csv $m
printf '1,2,3\n4,5,6,7\n' >ragged.csv
check "refused: long row" refuses "ragged.csv: line 2 has more cells" train --data ragged.csv $m
printf '1\n\n4\n' >gap.csv
check "refused: an empty line in a table of one column" \
    refuses "gap.csv: line 2 is empty, in a table of one column" predict --model m.odvgp \
    --data gap.csv
sed '5s/^[^,]*/abc/' named.csv >word.csv
check "refused: text among numbers" \
    refuses "word.csv: line 5, column 0 (a): 'abc' is not a number" train --data word.csv $m
sed '6s/^[^,]*/nan/' named.csv >nan.csv
check "refused: nan" refuses "nan.csv: line 6, column 0 (a): the value is missing" \
    train --data nan.csv $m
sed '6s/^[^,]*/inf/' named.csv >inf.csv
check "refused: inf" refuses "inf.csv: line 6, column 0 (a): 'inf' is not a finite number" \
    train --data inf.csv $m
sed '6s/^[^,]*/1e999/' named.csv >big.csv
check "refused: 1e999" refuses "line 6, column 0 (a): '1e999' is not a finite number" \
    train --data big.csv $m
check "refused: 1e999, which no option reads" grep -q "is not a finite number$" "$folder/err"
printf '1,"2\n3,4\n' >quote.csv
check "refused: open quote" refuses "quote.csv: line 1, column 1: a quote is opened" \
    train --data quote.csv $m
printf '1\n2\n' >single.csv
check "refused: no input" refuses "no input column" train --data single.csv $m
printf '\037\213\010\000xx' >packed.csv
check "refused: compressed" refuses "is compressed" train --data packed.csv $m
check "refused: text target" refuses "the target must be numbers" \
    train --data text.csv --target colour --likelihood gaussian $m
sed 's/,green,/,GREEN,/' text.csv >levels.csv
check "refused: a new level" refuses \
    "levels.csv: line 2, column 1 (colour): 'GREEN' is none" predict --model text.odvgp \
    --data levels.csv
check "refused: a new level, with the remedy" grep -q "; --missing drop writes NA for such rows$" \
    "$folder/err"
cut -d, -f1,3 named.csv >less.csv
check "refused: a column is gone" \
    refuses "less.csv: line 1: there is no column 'b'" predict --model m.odvgp --data less.csv
cut -d, -f1 plain.csv >less.csv
check "refused: too few columns" \
    refuses "less.csv: line 1: 1 column;" predict --model m.odvgp --data less.csv
check "refused: missing input to predict" \
    refuses "hole.csv: line 3, column 0 (a)" predict --model m.odvgp --data hole.csv --out bad.csv

# ---- bad input: options ----
check "refused: no command" refuses "no command"
check "refused: unknown command" refuses "unknown command 'fit'" fit
check "refused: unknown option" refuses "unknown option --bta" train --data named.csv --bta 3 $m
check "refused: option of another command" \
    refuses "--beta is not an option of this command" predict --beta 3
check "meant: an option" refuses "unknown option --bta; did you mean --beta? (odvgp help train)" \
    train --bta 3
check "meant: the beginning of one" refuses "unknown option --test-frac; did you mean --test-fraction?" \
    train --test-frac 3
check "meant: nothing" refuses "unknown option --colour; odvgp help predict lists all" \
    predict --colour red
check "meant: whose option it is" refuses \
    "--beta is not an option of this command; it is one of train, compare and budget" predict --beta 3
check "meant: a command" refuses "unknown command 'tarin'; there are help, train, compare, predict, sample, update, export, budget, info and convert" \
    tarin
check "meant: the same" refuses "did you mean train?" tarin
check "meant: a kernel" refuses "--kernel: no kernel 'mattern52'; did you mean matern52?; kernels: rbf" \
    train --data named.csv --kernel '(rbf + mattern52(1)) * linear' $m
check "meant: a basis" refuses "solve-collapsed, exact; did you mean orth?" \
    train --data named.csv --basis ortho $m
check "meant: a recipe" refuses \
    "--recipe solvegp: must be one of default|odvgp|solve-gp|kobe; did you mean solve-gp?" \
    train --data named.csv --recipe solvegp $m
check "meant: a column" refuses \
    "--target: there is no column 'colr'; did you mean colour?; columns: a, colour, size, of it, b, y" \
    train --data text.csv --target colr $m
check "meant: a parameter" refuses "no parameter 'noise_varance'; did you mean noise_variance?" \
    train --data named.csv --freeze noise_varance $m
check "iters: 1e1" fit --data named.csv --iters 1e1 --beta 1e1 --model t.odvgp
"$tool" info t.odvgp --json >t.json
check "info FILE, 1e1" test "$(values t.json iters beta)" = "10 10"
fit --data named.csv --iters 3epochs --batch 64 --basis coupled --model t.odvgp
"$tool" info t.odvgp --json >t.json
check "iters: the library's epoch drops the rest of the rows" test "$(value t.json iters)" = 9
check "refused: half a step" refuses "--iters 1e-1: must be a number of steps" \
    train --data named.csv --iters 1e-1 $m
check "refused: no value" refuses "--beta needs a value" train --data named.csv --beta
check "refused: an option for a value" refuses "--calibrate needs a value: auto|on|off" \
    train --data named.csv --calibrate --auto-tries 1
check "refused: stray word" refuses "unexpected argument 'named.csv'" train named.csv
check "refused: stray word, a file" refuses "; did you mean --data named.csv?" train named.csv
check "refused: stray word, a second file" refuses "unexpected argument 'text.csv'; options begin with --" \
    train --data named.csv text.csv
check "refused: stray word, a model" refuses "unexpected argument 'm.odvgp'; did you mean --model m.odvgp?" \
    predict m.odvgp --data named.csv
check "refused: no data" refuses "--data is needed" train $m
check "refused: not a number" refuses "--lr fast: must be a number" \
    train --data named.csv --lr fast $m
check "refused: negative" refuses "--iters -5: must be a number of steps" \
    train --data named.csv --iters -5 $m
check "refused: not a choice" refuses \
    "--basis ortho: there is no such basis; there are coupled, orth" \
    train --data named.csv --basis ortho $m
check "refused: schedule of nothing" refuses \
    "--schedule beta:linear:1:2:3: must begin with lr: or natgrad:" \
    train --data named.csv --schedule beta:linear:1:2:3 $m
for bad in lr:cubic:1:2:3 lr:linear lr:linear:1:2 lr:linear:1:2:0 lr:linear:1:2:3:4 \
    lr:linear:1:x:3 lr: natgrad:linear::1:3; do
    check "refused: schedule $bad" refuses \
        "--schedule $bad: must be lr or natgrad:linear|loglinear:START:END:STEPS" \
        train --data named.csv --schedule $bad $m
done
check "refused: schedule from 0 in ratios" refuses "START and END must be above 0" \
    train --data named.csv --schedule lr:loglinear:0:1:3 $m
check "refused: schedule above 1" refuses "(START may be 0), at most 1" \
    train --data named.csv --schedule natgrad:linear:0:1.5:3 $m
check "refused: schedule twice" refuses "--schedule lr: is given twice" \
    train --data named.csv --schedule lr:linear:0:1:3 --schedule lr:linear:0:1:3 $m
check "refused: schedule and constant" refuses "--schedule lr and --lr exclude each other" \
    train --data nope.csv --schedule lr:linear:0:1:3 --lr 0.1 $m
check "refused: schedule and warm-up" refuses \
    "--schedule natgrad and --natgrad-warmup exclude" compare --data named.csv \
    --schedule natgrad:linear:0:1:3 --natgrad-warmup 5:0.1
c="compare --data named.csv --bases"
check "refused: unknown basis" \
    refuses "--bases solv: there is no such basis; there are coupled, orth" $c coupled,solv
check "refused: no bases" refuses "--bases '': a name is missing" $c ""
check "refused: natural step of one that has none" \
    refuses "--natgrad on: the basis decoupled has no natural step" $c decoupled:natgrad=on
for basis in sgpr exact; do
    check "refused: natural step of $basis" refuses \
        "--natgrad on: the basis $basis has no natural step" \
        train --data named.csv --basis $basis --natgrad on $m
done
check "refused: gamma's natural step of coupled" refuses \
    "--natgrad-gamma exact: the basis coupled has no such natural step" \
    train --data named.csv --basis coupled --natgrad-gamma exact $m
check "refused: blocks of an item without them" refuses \
    "--natgrad-blocks alternate: the basis orth has no such" $c orth:natgrad-blocks=alternate
check "refused: gamma's natural step without beta's" refuses \
    "--natgrad-gamma diagonal: needs --natgrad on" \
    train --data named.csv --natgrad off --natgrad-gamma diagonal $m
check "refused: not a way of the natural step" refuses \
    "--natgrad-diag best: must be one of exact|affine|projected" \
    train --data named.csv --natgrad-diag best $m
check "refused: not a start" refuses "--init grid: must be one of kmeans|random|greedy|farthest" \
    train --data named.csv --init grid $m
check "refused: not a start of gamma" refuses \
    "--init-gamma greedy: must be one of random|residual" \
    train --data named.csv --init-gamma greedy $m
check "refused: not a start of hyperparameters" \
    refuses "--init-hyper mean: must be one of median|ulapane" $c coupled --init-hyper mean
check "refused: not an optimizer" refuses "--optimizer sgd: must be one of adam|lbfgs" \
    train --data named.csv --optimizer sgd $m
check "refused: natural gradients with L-BFGS" refuses \
    "--natgrad on: --optimizer lbfgs has no natural step" \
    train --data named.csv --optimizer lbfgs --natgrad on $m
check "refused: the same of an item" \
    refuses "--natgrad on: --optimizer lbfgs" $c orth:optimizer=lbfgs:natgrad=on
check "refused: not a time for q" refuses "--fit-q now: must be one of none|start|end|both" \
    train --data named.csv --fit-q now $m
check "refused: beta of exact" \
    refuses "--bases exact:beta=3: the basis exact has a beta point at each row" $c exact:beta=3
awk 'BEGIN { for (i = 0; i < 12001; i++) print i "," i % 7 }' >many.csv
check "refused: exact on many rows" refuses "--basis exact: 12001 training rows would take" \
    train --data many.csv --basis exact $m
check "refused: the same of train" refuses "--natgrad on: the basis decoupled" \
    train --data named.csv --basis decoupled --natgrad on $m
check "refused: parameters that a basis does not have" \
    refuses "--basis solve: --param: A_BETA" $c coupled,solve --param a_beta
check "refused: the library's message names the option" \
    refuses "odvgp: --jitter-rel: is out of range" train --data named.csv --jitter-rel 2 $m
check "refused: the same of two options" refuses "odvgp: --basis orth: --natgrad-gamma: natural" \
    train --data named.csv --natgrad-gamma exact --gamma-coords differentiated $m
check "refused: a kernel that there is not" refuses "--kernel: no kernel 'foo'; kernels: rbf|matern12" \
    train --data named.csv --kernel 'foo(1)' $m
check "refused: empty item" refuses "--bases 'coupled,,orth': a name is missing" $c coupled,,orth
check "refused: a basis twice" refuses "--bases: orth and orth are the same" $c orth,coupled,orth
check "refused: the same in other words" refuses \
    "--bases: orth and orth:gamma=9:natgrad=on are the same" $c orth,orth:gamma=9:natgrad=on \
    --gamma 9
check "refused: unknown suffix" refuses \
    "--bases orth:batch=1: 'batch=1' must be KEY=VALUE with a key of natgrad, beta," $c orth:batch=1
check "refused: suffix without value" refuses "'natgrad' must be KEY=VALUE" $c orth:natgrad
check "refused: not a choice of a suffix" \
    refuses "--natgrad maybe: must be one of on|off" $c orth:natgrad=maybe
check "refused: gamma of coupled" \
    refuses "--bases coupled:gamma=3: the basis coupled has no gamma points" $c coupled:gamma=3
check "refused: beta of one above the rows" \
    refuses "--beta 201: there are only 200 distinct" $c coupled,orth:beta=201 --trace bad.csv
check "refused: plot that cannot be written" \
    refuses "--plot no/x.svg: cannot be written" $c coupled --plot no/x.svg
check "refused: trace over the data" \
    refuses "--trace named.csv: is the data file" $c coupled --trace named.csv
check "refused: an item is named" \
    refuses "--bases coupled:beta=999: " $c coupled,coupled:beta=999
check "refused: an option of all items" refuses "odvgp: --lr x: must be" \
    train --data named.csv --folds 3 --basis coupled --lr x
check "refused: no gaussian likelihood for texts" refuses "orth and solve have one" \
    train --data text.csv --target colour --basis exact
check "refused: ... is advised" sh -c '! grep -q gaussian "$1"' sh "$folder/err"
check "refused: the item that does not suit classes" refuses "--bases sgpr: --basis sgpr: has no" \
    compare --data text.csv --target colour --bases coupled,sgpr
check "refused: compare saves no model" \
    refuses "--model is not an option of this command" $c coupled --model x.odvgp
printf 'day,y\n31.12.2020,1\n30.12.2020,2\n29.12.2020,3\n28.12.2020,5\n' >days.csv
check "refused: dates in another form" \
    refuses "'31.12.2020' is text; dates are read as 2020-12-31, 2020/12/31, 31 Dec 2020 or 2020-12-31T23:59:59" train --data days.csv $m
check "refused: likelihood" refuses "did you mean bernoulli?" \
    train --data named.csv --likelihood bernouli $m
check "refused: columns of a kernel that there are not" refuses "--kernel: " train --data named.csv \
    --kernel 'rbf(ard=0:99)' $m
check "refused: kernel" refuses "--kernel: " train --data named.csv --kernel 'rbf +' $m
check "refused: beta above the rows" refuses "--beta 201: there are only 200 distinct" \
    train --data named.csv --beta 201 $m
check "refused: gamma above the distinct rows" refuses "--gamma 36: there are only 35 distinct" \
    train --data scales.csv --gamma 36 $m
check "refused: target name" refuses "--target: there is no column 'z'" \
    train --data named.csv --target z $m
check "refused: target index" refuses "--target 3: the last index is 2, counted from 0" \
    train --data named.csv --target 3 $m
check "refused: target among features" refuses "--features: column 2 (y) is a target" \
    train --data named.csv --features a,y $m
check "refused: two test parts" refuses "exclude each other" \
    train --data named.csv --test-fraction 0.1 --test named.csv $m
check "refused: mask of other length" refuses "--test-mask mask.csv:0: 200 rows for the 2" \
    train --data short.csv --test-mask mask.csv:0 $m
check "refused: nothing to train on" refuses "no row is left to train on" \
    train --data same.csv --test-fraction 0.999 $m
check "refused: frozen parameter" refuses "--freeze: there is no parameter 'Zbeta'" \
    train --data named.csv --freeze Zbeta $m
check "refused: warm-up" refuses "--natgrad-warmup 10: must be" \
    train --data named.csv --natgrad-warmup 10 $m
check "refused: ordinal of no column" refuses "--ordinal: there is no column 'shape'" \
    train --data text.csv --ordinal shape=a,b $m
check "refused: folder that is not there" refuses "no/m.odvgp: cannot be written" \
    train --data named.csv --model no/m.odvgp
check "refused: the model over the data" refuses "--model named.csv: is the data file" \
    train --data named.csv --model named.csv
check "refused: model is a folder" refuses "--model d: is a directory" \
    train --data named.csv --model d
check "refused: instructions" refuses \
    "--isa mmx: no such instruction set; this machine and this build have auto, c" \
    train --data named.csv --isa mmx $m
outside=${ODVGP_ISA-}
ODVGP_ISA=mmx
export ODVGP_ISA
check "refused: instructions from the environment" \
    refuses "ODVGP_ISA=mmx: no such instruction set" train --data named.csv $m
check "the option goes before the environment" fit --data named.csv --isa c --model t.odvgp
ODVGP_ISA=c
fit --data named.csv --model t2.odvgp
check "instructions from the environment: the same bits" cmp -s t.odvgp t2.odvgp
ODVGP_ISA=$outside

# ---- bad input: model files ----
check "refused: no model" \
    refuses "nope.odvgp: cannot be opened" predict --model nope.odvgp --data named.csv
check "refused: a foreign file" refuses "named.csv: " predict --model named.csv --data named.csv
head -c 3000 m.odvgp >cut.odvgp
check "refused: truncated" refuses "cut.odvgp: " info --model cut.odvgp
# Eight bytes, for one might be an X already.
{ head -c 2000 m.odvgp; printf 'XXXXXXXX'; tail -c +2009 m.odvgp; } >bit.odvgp
check "refused: damaged" \
    refuses "bit.odvgp: " predict --model bit.odvgp --data named.csv --out bad.csv
fit --data named.csv --test-fraction 0.2 $steady --iters 15 --model half.odvgp
sed '9s/^[^,]*/0.5/' named.csv >other.csv
check "refused: resume on other data" refuses "the training rows are not those of the model" \
    train --data other.csv --resume half.odvgp $m
head -n 150 named.csv >less.csv
check "refused: resume on fewer rows" refuses \
    "--resume half.odvgp: trained on 160 rows of 2 inputs" \
    train --data less.csv --resume half.odvgp $m
check "refused: resume with another setting" refuses "--lr 0.5: the model was made with 0.001" \
    train --data named.csv --resume half.odvgp --lr 0.5 $m

# ---- the rest ----
check "help" sh -c '"$1" help train | grep -q -e --natgrad-warmup' sh "$tool"
check "help lists the bases" sh -c '"$1" help compare | grep -q "^  coupled  "' sh "$tool"
check "version" sh -c '"$1" --version | grep -q "^odvgp [0-9]"' sh "$tool"
