# Ctrl-C, --minutes, --patience: part of tests/tool/tool.sh, which reads this file.

# ---- ends before the end ----
# Without a warm start, the steps begin soon after the line that tells of the threads.
interrupted thread int.json train --data named.csv --model int.odvgp --warm off --iters 100000000 --json
check "Ctrl-C: exit code 130, so that train && next stops" test $? -eq 130
check "Ctrl-C: says so" test "$(value int.json stopped)" = signal
check "Ctrl-C: the model is saved" "$tool" info --model int.odvgp
for signal in HUP TERM; do
    code=$(($([ $signal = HUP ] && echo 1 || echo 15) + 128))
    rm -f int.odvgp
    interrupted thread int.json train --data named.csv --model int.odvgp --warm off --iters 100000000 --json
    check "SIG$signal: the model is saved" test "$? $(value int.json stopped) $(ls int.odvgp)" = \
        "$code signal int.odvgp"
done
signal=
interrupted 'coupled: beta' int.txt compare --data named.csv --bases coupled,orth --iters 100000000
check "compare, Ctrl-C: exit code 130" test $? -eq 130
check "compare, Ctrl-C: a row of what there is, the reason for the rest" \
    test "$(grep -c '^coupled .*[0-9]' int.txt) $(grep -c 'orth .*not trained' int.txt)" = "1 1"
train --data named.csv --model t.odvgp --iters 100000000 --minutes 0.005 --json >t.json
check "--minutes" test "$(value t.json stopped)" = minutes
train --data plain.csv --model t.odvgp --iters 5000 \
    --freeze 'kernel.*,noise_variance,Z_beta,Z_gamma,a_gamma,q_mu,q_sqrt' --test-fraction 0.2 \
    --patience 3 --json >t.json
check "--patience" test "$(value t.json stopped)" = patience
check "--patience: a tenth of the training rows" test "$(value t.json n_validation)" = 16
train --data plain.csv --model t.odvgp --basis coupled --beta 10 --iters 3000 --test-fraction 0.2 --patience 5 \
    --json >t.json 2>err.txt
check "--patience: the best model is kept" holds "$(value t.json iters) <= 3000 && $(value t.json n_train) == 144"
train --data plain.csv --resume t.odvgp --model t.odvgp --iters 3100 --json >t.json
check "--patience: --resume has the same parts" test "$(value t.json n_validation)" = 16
# What takes long to predict does not change when it ends.
for i in $(seq 400); do cat plain.csv; done >many.csv
for words in "" "--test many.csv"; do
    # shellcheck disable=SC2086
    train --data plain.csv --model t.odvgp --basis coupled --beta 10 --iters 1000 --patience 3 $words --json >t.json
    values t.json iters elbo
done >ends.txt
check "--patience: the same model beside a test part that takes long" test "$(uniq ends.txt | wc -l)" = 1
check "--patience: which the last evaluation has" test "$(value t.json n_test)" = "$(wc -l <many.csv)"
