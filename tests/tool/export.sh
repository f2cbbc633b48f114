# Models as headers: part of tests/tool/tool.sh, which reads this file.

# ---- a header predicts what the tool does: numbers, texts in levels and in order, dates ----
awk 'BEGIN {
    print "a,colour,size,when,y"
    for (i = 0; i < 60; i++) {
        split("red green blue*/x", colour, " ")
        split("small large", size, " ")
        printf "%g,%s,%s,2024-%02d-%02d,%g\n", i * 0.37 % 5, colour[1 + i % 3], size[1 + i % 2], 1 + i % 12, 1 + i % 28,
            sin(i * 0.37 % 5) + i % 3 + 0.5 * (i % 2)
    }
}' >data.csv
fit --data data.csv --ordinal size=small,large --dates days+weekday --basis orth --beta 8 --gamma 9 --model m.odvgp
predict m.odvgp data.csv --quiet
mean_is=$(sed -n 2p t.txt)
for real in float double; do
    check "export, $real" "$tool" export --model m.odvgp --real $real --name arm --out arm.h
    cat >use.c <<END
#include <stdio.h>
#include "arm.h"
int main(void)
{
	/* the first row: 0, red, small, Monday 2024-01-01 */
	$real x[7] = {0}, mean, var, mean_y, var_y;
	x[arm_x3_2_red] = 1;
	x[4] = arm_x4_0_small;
	x[arm_x5_days] = 19723;
	x[arm_x6_weekday] = 1;
	arm_predict(x, &mean, &var);
	arm_predict_y(x, &mean_y, &var_y);
	printf("%.9g %.9g %.9g %.9g\n", (double)mean, (double)var, (double)var_y, (double)arm_self_test());
	return 0;
}
END
    check "export, $real: the header compiles" ${CC:-cc} -std=c99 -Wall -Wextra -Werror -o use use.c -lm
    ./use >use.txt
    check "export, $real: mean and deviations are those of predict" holds \
        "$(awk -v want="$mean_is" '{ split(want, w, ",")
            e = $1 - w[1]; f = sqrt($2) - w[2]; g = sqrt($3) - w[3]
            print e * e + f * f + g * g " < 1e-5 && " $4 " < 1e-3" }' use.txt)"
done
check "export: results of the training in the comment" grep -q '^   Results: 30 steps, bound .*; 60 training rows: rmse ' arm.h
check "export: info has them, too" sh -c '"$1" info m.odvgp | grep -q "^results  30 steps"' sh "$tool"
fit --data data.csv --ordinal size=small,large --dates days+weekday --basis orth --beta 8 --gamma 9 --iters 20 --model half.odvgp
fit --data data.csv --resume half.odvgp --model whole.odvgp
check "export: a resumed training has results of its own" sh -c '"$1" info whole.odvgp | grep -q "^results  30 steps"' sh "$tool"
"$tool" export --model m.odvgp --real double --name arm --out arm.h 2>err.txt
sed 's/\(g\[[0-9]*\] += \)t/\11.01 * t/' arm.h >wrong.h
sed 's/"arm.h"/"wrong.h"/' use.c >wrong.c
${CC:-cc} -std=c99 -o wrong wrong.c -lm
./wrong >wrong.txt
check "export: the self-test notices a wrong gradient" holds "$(awk '{ print $4 " > 1e-3" }' wrong.txt) && $(awk '{ print $4 " < 1e-6" }' use.txt)"
check "export: inputs in the comment" grep -q '^   x\[4\] size: one of the codes below$' arm.h
check "export: dates" grep -q '^   x\[6\] when: day of the week, Monday 1$' arm.h
check "export: no text ends the comment" sh -c '[ "$(grep -c "^ \*/$" arm.h)" = 1 ]'
"$tool" export --model m.odvgp --no-libm --name bare --out bare.h 2>err.txt
check "export: without libm nothing is included" sh -c '! grep -q "#include" bare.h'
check "export: costs" grep -q '^bare on a Cortex-M4F, by gcc -Os, without libm, estimated: ' err.txt
check "export: costs of each function" holds "$(awk '/^predict, the|^predict, mean|^and predict/ { n++; bad += $(NF - 2) < flash || $NF <= 0; flash = $(NF - 2) }
    /^no other RAM$/ { n++ } END { print n " == 5 && " bad + 0 " == 0" }' err.txt)"
own=$(awk '/^and predict_gradient/ { print $3 }' err.txt)
"$tool" export --model m.odvgp --core m0 --name bare --out bare.h 2>err.txt
check "export: another core's" grep -q '^bare on a Cortex-M0+, by gcc -Os, with libm, estimated: ' err.txt
"$tool" export --model m.odvgp --name bare --out bare.h 2>err.txt
check "export: libm takes flash and RAM" holds "$(awk -v own="$own" '/^and predict_gradient/ { flash = $3 } /^libm/ { ram = $3 }
    END { print flash - own " > 1000 && " ram " > 1000" }' err.txt)"
check "export: to standard output" sh -c '"$1" export --model m.odvgp --name arm --real double 2>err.txt | cmp - arm.h' sh "$tool"

# ---- classes, refusals ----
awk -F, -v OFS=, 'NR > 1 { $5 = $5 > 1.5 ? "yes" : "no" } 1' data.csv >classes.csv
fit --data classes.csv --basis coupled --beta 5 --model c.odvgp
"$tool" export --model c.odvgp --name c --out c.h 2>err.txt
check "export: classes are constants" grep -q '^	c_y0_[01]_yes = [01],$' c.h
check "export: a name that is none" refuses "name in C" export --model m.odvgp --name 1a
check "export: no model" refuses "model" export --name a
fit --data data.csv --layers 'coupled:beta=5,dim=2; coupled:beta=5' --model deep.odvgp
check "export: layers are refused" refuses "layers" export --model deep.odvgp --name a

check "export: classes are probabilities" grep -q 'c_predict(x, mean, var): latent functions f \[1\], c_predict_y: y \[1\]' c.h

# A column of level means: a number for each code, and for other texts.
awk 'BEGIN { srand(4); print "a,kind,b,y"; for (i = 0; i < 200; i++) { k = (3 + i) % 8; a = rand(); b = rand()
    printf "%.6g,k%d,%.6g,%.6g\n", a, k, b, sin(5 * a) + cos(3 * k) + b + 0.1 * rand() } }' >level.csv
fit --data level.csv --levels means --basis coupled --beta 12 --model level.odvgp
{ head -n 2 level.csv; sed -n 2p level.csv | sed 's/k3/other/'; } >two.csv
predict level.odvgp two.csv --quiet
"$tool" export --model level.odvgp --real double --name lv --out lv.h 2>err.txt
cat >level.c <<END
#include <stdio.h>
#include "lv.h"
int main(void)
{
	double x[3] = {$(sed -n '2s/,.*//p' two.csv), 0, $(sed -n 2p two.csv | cut -d, -f3)}, mean, var;
	for (int k = 0; k < 2; k++) {
		x[1] = lv_x1[k ? 8 : lv_x1_3_k3];
		lv_predict(x, &mean, &var);
		printf("%.9g\n", mean);
	}
	return 0;
}
END
check "export: means of levels compile" ${CC:-cc} -std=c99 -Wall -Wextra -Werror -o level level.c -lm
check "export: and give what predict gives, also for an unknown text" sh -c './level >l.txt && sed 1d t.txt | cut -d, -f1 | paste -d" " - l.txt |
    awk "{ n++; d = \$1 - \$2; bad += d * d > 1e-12 } END { exit n != 2 || bad }"'
check "export: how a level becomes a number" grep -q '^   x\[1\] kind: lv_x1\[code\], codes below$' lv.h

# ---- budget: what fits is trained, the front printed, the best of it trained on all rows and exported ----
"$tool" budget --data data.csv --ordinal size=small,large --iters 30 --flash 3K --ram 1k --us 30 --name fits --model b.odvgp \
    --threads 1 >b.txt 2>err.txt
check "budget: a front, the cheapest first" holds "$(awk '/^member/ { on = 1; next } /^Of/ { on = 0 }
    on { rows++; bad += $5 <= loglik && rows > 1 || $8 < cost || $6 > 3072 || $7 > 1024 || $9 > 30; loglik = $5; cost = $8 }
    END { print rows " > 1 && " bad + 0 " == 0" }' b.txt)"
best=$(awk '/^Of/ { print last } { last = $1 ":beta=" $2 ($3 ? ":gamma=" $3 : "") ", " $4 }' b.txt)
check "budget: its last row is chosen" grep -qF "chosen: $best" b.txt
check "budget: a line for each training" sh -c '[ "$(grep -c "^[0-9]* of [0-9]*  .*: loglik" err.txt)" = "$(sed -n "s/^Of [0-9]* that fit \([0-9]*\) were trained.*/\1/p" b.txt)" ]'
check "budget: all members are tried" sh -c 'for m in coupled orth solve hybrid decoupled diagonal; do grep -q " of [0-9]*  $m:.*, float" err.txt || exit 1; done'
check "budget: header and model" sh -c 'grep -q "fits_predict" fits.h && [ -s b.odvgp ]'
flash=$(awk '/^Of/ { print last } { last = $6 }' b.txt)
check "budget: the export needs what the table says" grep -q "^and predict_gradient  *$flash " err.txt
check "budget: without libm" sh -c '! grep -q "#include" fits.h'
# What the header links to keeps the limits.
links() { # header, name: bytes of flash and of RAM, all functions
    printf '#include "%s"\nvoid use(const float *x, float *to);\nvoid use(const float *x, float *to) { %s_predict(x, to, to + 9); %s_predict_y(x, to, to + 9); %s_predict_gradient(x, to, to + 9, to + 20, to + 40); }\n' \
        "$1" "$2" "$2" "$2" >links.c
    arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Os -nostartfiles -ffunction-sections -fdata-sections \
        -Wl,--gc-sections,-e,use -o links links.c -lm && arm-none-eabi-size links | awk 'NR == 2 { print $1 + $2, $2 + $3 }'
}
if echo '#include <math.h>' | arm-none-eabi-gcc -x c -fsyntax-only - 2>/dev/null; then
    set -- $(links fits.h fits)
    check "budget: what the header links to keeps the limits" holds "$1 <= 3072 && $2 == 0"
    fit --data data.csv --transform a=asinh --basis orth --beta 8 --gamma 9 --model moved.odvgp
    for option in --real --no-libm; do # float, with libm and without
        for model in m moved; do
            "$tool" export --model $model.odvgp --name few --out few.h $option $([ $option = --no-libm ] || echo float) 2>err.txt
            set -- $(links few.h few)
            check "export: $model.odvgp, $option: what is said is what the header links to" holds "$(awk -v flash="$1" -v ram="$2" '
                /^and predict_gradient/ { off = $3 / flash - 1 } /^libm/ { said = $3 } END { print off " < 0.1 && " off " > -0.1 && " said + 0 " == " ram }' err.txt)"
        done
    done
    "$tool" budget --data data.csv --transform a=asinh --real float --iters 5 --flash 4k --name moved --quiet --threads 1 >t.txt 2>err.txt
    set -- $(links moved.h moved)
    check "budget: with a transform" holds "$1 <= 4096 && $2 == 0"
    "$tool" budget --data data.csv --real float --iters 5 --flash 2700 --name two --quiet --threads 1 >t.txt 2>err.txt
    set -- $(links two.h two)
    check "budget: a tight limit" holds "$1 <= 2700 && $2 == 0"
fi
check "budget: doubles on a core that has them" sh -c '"$1" budget --data data.csv --iters 5 --flash 4k --core m7 --name seven --threads 1 2>&1 | grep -q "coupled:beta=4, double"' sh "$tool"
check "budget: only doubles" sh -c '"$1" budget --data data.csv --iters 5 --flash 4k --core m7 --real double --name seven --quiet --threads 1 | grep -q "^chosen: .*, double"' sh "$tool"
check "budget: --json prints one object, and the front to standard error" sh -c '"$1" budget --data data.csv --iters 5 --flash 3k --name one --json --quiet \
    --threads 1 >t.txt 2>err.txt && [ "$(grep -c . t.txt)" = 1 ] && grep -q "^{.*}$" t.txt && grep -q "^chosen: " err.txt' sh "$tool"
check "budget: a limit that is no number" refuses "must be a number above 0" budget --data data.csv --flash 3x
check "budget: M is for flash and RAM" refuses "must be a number above 0" budget --data data.csv --us 3M
check "budget: nothing fits" sh -c '! "$1" budget --data data.csv --us 0.1 --iters 2 --quiet --name no >t.txt 2>&1 && grep -q "nothing fits: coupled with 4 points may need" t.txt && [ ! -e no.h ]' sh "$tool"
check "budget: 1M of flash, a core without an FPU" sh -c '"$1" budget --data data.csv --flash 1M --ram 0.3k --core m0 --us 20000 --iters 2 --quiet --name zero --threads 1 | grep -q "Cortex-M0+"' sh "$tool"
