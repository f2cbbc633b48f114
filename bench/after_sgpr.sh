#!/bin/bash
# after_sgpr.sh OUT   does SGPR, then minibatches, beat the better of both alone at equal counted operations?
# Eight generated sets of bench/shapes.c. The budget is that of sgpr: warm starts of 200 points, then passes
# of 256 points; solve 200+200 and orth 256+500 get the steps that it pays for: cold, after the same warm
# starts, and after half of it for SGPR on all rows (also a warm start, with their points). Appends lines
# "set arm rmse loglik" to OUT, and the log density of each test row to OUT.SET.ARM. ODVGP: the tool. SETS:
# instead of those below, as SHAPE:ROWS:NOISE:SEED, or files of numbers, the target last, of which a tenth of the
# rows, 2,000 at most, are for the test. ROWS: that sgpr's passes visit. ARMS: fewer of them.
out=$1 tool=${ODVGP:-build/odvgp} visited=${ROWS:-1200000} arms=${ARMS:-sgpr cold warm solve orth}
[ -n "$out" ] || { echo "usage: bash bench/after_sgpr.sh OUT" >&2; exit 2; }
export LC_ALL=C
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cc -O2 bench/shapes.c -o "$at/shapes" -lm || exit
# steps ROWS INPUTS VISITED: the numbers of steps of sgpr, solve and orth, by the counts of examples/tool/cost.h.
{ printf '#define main tool_main\n#include "examples/odvgp.c"\n#undef main\n'; cat <<'END'; } >"$at/steps.c"
static double step_of(ptrdiff_t n, ptrdiff_t D, ptrdiff_t beta, ptrdiff_t gamma, int blocks)
{
	odvgp_config c = odvgp_config_defaults(n, D, 1, beta, gamma);
	c.optim.batch = 1024;
	if (blocks) c.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
	return step_flops(&c);
}
int main(int argc, char **argv)
{
	(void)argc;
	ptrdiff_t n = atol(argv[1]), D = atol(argv[2]);
	double rows = (double)n, d = (double)D, warm = (105 + 50) * pass_flops(4000, 200, d),
		   passes = atof(argv[3]) / rows, train = 1.2 * passes * pass_flops(rows, 256, d),
		   solve = step_of(n, D, 200, 200, 1), orth = step_of(n, D, 256, 500, 0);
	printf("%d %d %d %d %d %d %d\n", (int)passes, (int)((warm + train) / solve), (int)(train / solve),
			(int)(train / 2 / solve), (int)(train / 2 / orth),
			(int)(train / 2 / 1.25 / pass_flops(rows, 200, d)),
			(int)(train / 2 / 1.25 / pass_flops(rows, 256, d)));
	return 0;
}
END
cc -O0 -w -DODVGP_USE_PTHREADS -I. -Iexamples/tool "$at/steps.c" -o "$at/steps" -lm -lpthread || exit
# rows_of SET: its rows in a random order, those of the test last; sets `rows`, `test`, `name`.
rows_of() {
    if [ -f "$1" ]; then
        name=$(basename "$1") name=${name%%.*}
        gzip -cdf "$1" | awk 'BEGIN { srand(11) } { print rand() "\t" $0 }' | sort -g | cut -f 2 >"$at/all.csv"
        rows=$(wc -l <"$at/all.csv")
        test=$((rows / 10 < 2000 ? rows / 10 : 2000))
        rows=$((rows - test))
    else
        [[ $1 == *:*:*:* ]] || { echo "after_sgpr.sh: $1: neither a file nor SHAPE:ROWS:NOISE:SEED" >&2; exit 2; }
        IFS=: read -r shape rows noise seed <<<"$1"
        name=$1 test=2000
        "$at/shapes" "$shape" $((rows + test)) 6 "$noise" "$seed" >"$at/all.csv"
    fi
    head -n "$rows" "$at/all.csv" >"$at/rows.csv"
    tail -n "$test" "$at/all.csv" >"$at/test.csv"
}
for set in ${SETS:-smooth:20000:0.01:1 smooth:20000:0.3:2 rough:20000:0.05:3 rough:40000:0.5:4 additive:20000:0.02:5 \
    additive:40000:0.2:6 steps:20000:0.05:7 steps:20000:0.5:8}; do
    rows_of "$set"
    inputs=$(head -n 1 "$at/rows.csv" | tr -dc , | wc -c)
    read -r passes cold warm solve orth first first_orth < <("$at/steps" "$rows" "$inputs" "$visited")
    start=4000:100:200:0.03,4000:40:200
    for arm in $arms; do
        grep -q "^$name $arm " "$out" 2>/dev/null && continue
        case $arm in
        sgpr) how="--basis sgpr --beta 256 --iters $passes --warm $start" ;;
        cold) how="--basis solve --beta 200 --gamma 200 --iters $cold --warm off --fit-q end" ;;
        warm) how="--basis solve --beta 200 --gamma 200 --iters $warm --warm $start --fit-q end" ;;
        solve) how="--basis solve --beta 200 --gamma 200 --iters $solve --warm $start,$rows:$first:200 --fit-q end" ;;
        orth) how="--basis orth --beta 256 --gamma 500 --iters $orth --warm $start,$rows:$first_orth:256 --fit-q end" ;;
        esac
        # shellcheck disable=SC2086
        "$tool" train --data "$at/rows.csv" --threads 1 --quiet --model "$at/m.odvgp" $how >/dev/null || exit
        "$tool" predict --data "$at/test.csv" --model "$at/m.odvgp" --quiet --keep "$inputs" 2>/dev/null | awk -F, -v rows="$out.$name.$arm" '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { d = $1 - $at["mean"]; s = $at["sd_y"]; l = -0.5 * log(6.283185307179586 * s * s) - d * d / (2 * s * s)
              print l >rows; sum += l; e += d * d; n++ }
            END { printf "%.5f %.5f\n", sqrt(e / n), sum / n }' >"$at/score"
        echo "$name $arm $(cat "$at/score")" >>"$out"
    done
done
