/*  cores.h - what the functions of an exported header need on a core: counted operations of its
    formulas, times what qemu counts for each (tests/mcu; gcc -Os, --no-libm). */
#ifndef TOOL_CORES_H
#define TOOL_CORES_H

/*  Rounds of loops, sums, products, quotients, calls of exp, sqrt, log1p, and of sin or cos. */
enum { OPERATIONS = 8 };
static const char operation_signs[] = "@+*/eqls";

/*  Fitted to tests/mcu/table.txt: instructions of each operation (a cosine as an exp); bytes of code,
    and what sqrt, a quotient, log1p, cosines, each further term and several outputs add to it; bytes
    of stack besides arrays, with gradients, too. Doubles are in software but on m7 (fpv5-d16). Rows
    that are more than a tenth off fail in `make mcu` and in tests/test_export.c. */
typedef struct core_costs {
	double instructions[OPERATIONS - 1], code[7], stack, stack_gradient;
} core_costs;
static const struct {
	const char *word, *name;
	/* Cycles per instruction; not measured. */
	double cpi;
	core_costs costs[2]; /* of float, of double */
} cores[] = {
		{"m4f", "Cortex-M4F", 1.4,
				{{{1.88, 2.24, 2.01, 4.4, 38.3, 16.4, 38.9}, {566, 132, 32, 246, 400, 21, 153}, 46,
						 72},
						{{1.44, 74.1, 48.6, 287, 2040, 1660, 3360},
								{3002, 315, 415, 867, 1167, 417, 120}, 158, 180}}},
		{"m7", "Cortex-M7", 0.9,
				{{{1.89, 2.23, 2.02, 4.4, 37.3, 16.6, 38.2}, {562, 129, 36, 242, 399, 19, 148}, 46,
						 72},
						{{1.27, 0.824, 4.35, 11.3, 53.1, 37.4, 50.3},
								{744, 102, 42, 408, 458, 318, 100}, 72, 96}}},
		{"m3", "Cortex-M3", 1.4,
				{{{0.5, 70.2, 19, 71.8, 825, 793, 1260}, {1867, 240, 390, 661, 561, 21, 249}, 104,
						 138},
						{{3.64, 73.5, 48.5, 234, 2030, 1740, 3440},
								{2985, 319, 419, 856, 1156, 406, 120}, 154, 172}}},
		{"m0", "Cortex-M0+", 1.5,
				{{{5.3, 127, 62.8, 377, 1760, 1910, 2770}, {3628, 259, 814, 1082, 630, 0, 254}, 152,
						 176},
						{{43, 186, 210, 315, 7100, 6490, 9230},
								{7033, 1071, 1171, 1324, 1624, 874, 120}, 232, 244}}},
		{"rv32", "RV32IMAC", 1.4,
				{{{0.5, 127, 58.4, 106, 1650, 1840, 2200}, {3870, 451, 806, 1282, 946, 0, 255}, 176,
						 248},
						{{36.2, 126, 145, 218, 5000, 4120, 6190},
								{6654, 908, 1008, 1353, 1653, 903, 120}, 228, 264}}},
		{"rv32f", "RV32IMAFC", 1.4,
				{{{3.25, 3, 2.43, 2.43, 57.2, 41.3, 53.1}, {705, 185, 46, 327, 629, 20, 146}, 106,
						 156},
						{{38.2, 155, 147, 221, 5520, 4510, 6910},
								{8781, 1079, 1179, 1467, 1767, 1017, 120}, 236, 272}}},
};
enum { CORES = sizeof cores / sizeof *cores };

/*  A kernel's operations: of its value, and of its derivative. */
static const struct {
	const char *name, *value, *slope;
} core_kernels[] = {
		{"rbf", "*e", ""},
		{"matern12", "q*e", "*/"},
		{"matern32", "q*e+*", "*"},
		{"matern52", "q*e++/*", "+*/"},
		{"rq", "l**e", "*+/"},
		{"periodic", "*e", ""},
		{"linear", "*", ""},
		{"polynomial", "*+", "*"},
		{"constant", "", ""},
		{"white", "", ""},
		{"additive", "", ""}, /* of a column: core_count_points */
};
enum { CORE_KERNELS = sizeof core_kernels / sizeof *core_kernels, CORE_TERMS = 32 };

typedef struct core_term {
	int kind, ard, degree, shared;
	/* Its text of dims; numbers that it reads, and that a point has for it. */
	char dims[200];
	double columns, numbers;
} core_term;

typedef struct core_counts {
	double mean[OPERATIONS], moments[OPERATIONS], gradient[OPERATIONS];
	/* Numbers on the stack, and in tables but for the likelihood's. */
	double stack, stack_gradient, tables;
} core_counts;

static void core_count(double *counts, double times, const char *operations)
{
	for (; *operations; operations++)
		counts[strchr(operation_signs, *operations) - operation_signs] += times;
}

/*  How many columns a text as 0:3+5 names, with 3 behind the last of 0, 1 and 2. */
static double core_dims(const char *text)
{
	double count = 0;
	while (*text) {
		char *end;
		long from = strtol(text, &end, 10), to = *end == ':' ? strtol(end + 1, &end, 10) : from + 1;
		count += (double)(to - from);
		text = *end == '+' ? end + 1 : "";
	}
	return count;
}

/*  The terms of a kernel expression. */
static int core_terms(const char *kernel, double D, core_term *terms)
{
	int count = 0;
	for (const char *s = kernel; *s && count < CORE_TERMS;) {
		size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789");
		core_term *t = &terms[count];
		int kind = 0;
		while (kind < CORE_KERNELS && (strlen(core_kernels[kind].name) != n ||
											  strncmp(core_kernels[kind].name, s, n) != 0))
			kind++;
		s += n ? n : 1;
		if (kind == CORE_KERNELS) continue;
		memset(t, 0, sizeof *t);
		t->kind = kind;
		t->degree = 2;
		if (*s == '(') {
			const char *end = s + strcspn(s, ")"), *dims = strstr(s, "dims="),
					   *degree = strstr(s, "degree="), *ard = strstr(s, "ard");
			t->ard = ard && ard < end;
			if (degree && degree < end) t->degree = atoi(degree + 7);
			if (dims && dims < end)
				snprintf(t->dims, sizeof t->dims, "%.*s", (int)strspn(dims + 5, "0123456789:+"),
						dims + 5);
			s = end;
		}
		t->columns = kind == 8 || kind == 9 ? 0 : *t->dims ? core_dims(t->dims) : D;
		t->numbers = t->columns * (kind == 5 ? 2 : 1);
		count++;
	}
	/* One distance, or inner product, serves all terms of the same columns without ard. */
	for (int i = 0; i < count; i++)
		for (int k = 0; k < count; k++) {
			core_term *a = &terms[i], *b = &terms[k];
			int same = i != k && !a->ard && !b->ard && a->kind != 5 && b->kind != 5 &&
					   a->kind < 8 && b->kind < 8 && (a->kind >= 6) == (b->kind >= 6) &&
					   !strcmp(a->dims, b->dims);
			if (same && k < i) a->columns = a->numbers = 0;
			a->shared |= same;
		}
	return count;
}

/*  Of so many values of the kernel; with own > 0 of its derivatives, for so many functions. */
static void core_count_points(
		double *counts, const core_term *terms, int count, double points, double own)
{
	for (int i = 0; i < count; i++) {
		const core_term *t = &terms[i];
		int is_slope = own > 0, inner = t->kind == 6 || t->kind == 7;
		double numbers = points * (is_slope ? own : 1) * t->numbers;
		core_count(counts, t->numbers > (is_slope ? 8 : 4) ? numbers : 0, "@");
		core_count(counts, numbers, inner ? "*+" : t->kind == 10 ? "+e**/++" : "+*+");
		if (t->kind == 10) core_count(counts, numbers, is_slope ? "**+" : "*+");
		if (is_slope && t->numbers > 0) core_count(counts, points * own, "**");
		core_count(counts, points,
				is_slope ? core_kernels[t->kind].slope : core_kernels[t->kind].value);
		if (t->kind == 7) core_count(counts, points * t->degree, "*");
		if (t->shared) core_count(counts, points, "*");
		if (i) core_count(counts, points, is_slope ? "*+" : "*");
	}
}

/*  Of a model of one layer. */
static core_counts core_counts_of(const odvgp_config *c, const char *kernel)
{
	core_counts n;
	core_term terms[CORE_TERMS];
	memset(&n, 0, sizeof n);
	double P = (double)c->layer[0].P, D = (double)c->layer[0].D, M = (double)c->layer[0].M,
		   gamma = (double)c->layer[0].M_gamma, units = c->independent ? P : 1, own = P / units,
		   numbers = 0, slopes = 0, groups = 0,
		   mixed = (double)c->functions > P ? P * (double)c->functions : 0;
	int count = core_terms(kernel, D, terms), additive = 0,
		blocks = c->layer[0].cov_part == ODVGP_COV_PART_BLOCKS,
		dense = blocks || c->layer[0].cov_part == ODVGP_COV_PART_DENSE,
		linear = c->layer[0].mean_function != ODVGP_MEAN_FUNCTION_ZERO &&
				 c->layer[0].mean_function != ODVGP_MEAN_FUNCTION_CONSTANT;
	double points = units * (M + gamma), roots = 0.5 * M * (M + 1), rows = roots;
	if (blocks) {
		roots += 0.5 * gamma * (gamma + 1);
		M += gamma;
		rows = 0.5 * M * (M + 1);
	}
	if (c->layer[0].cov_part == ODVGP_COV_PART_DIAGONAL) roots = M;
	for (int i = 0; i < count; i++) {
		numbers += terms[i].numbers;
		groups += terms[i].numbers > 0;
		if (terms[i].kind == 5) slopes += terms[i].columns;
		additive |= terms[i].kind == 10;
	}
	n.tables = units * ((2 + additive) * numbers - slopes + 3 * count);
	numbers = fmax(1, numbers);
	core_count(n.mean, 1, "@");
	core_count(n.mean, units * numbers, "@+*");
	core_count(n.mean, units * slopes, "ss**");
	core_count(n.mean, points, "@");
	core_count(n.mean, points * own, own > 2 ? "@@*+" : "*+");
	core_count_points(n.mean, terms, count, points, 0);
	core_count(n.mean, linear ? P * D : 0, "@+*+");
	core_count(n.mean, mixed, "@*+");
	memcpy(n.moments, n.mean, sizeof n.mean);
	double factors = dense ? units : P;
	core_count(n.moments, factors * rows + P * roots, "@*+");
	core_count(n.moments, (factors + P) * M, "@@*+");
	core_count(n.moments, blocks ? P * M : 0, "@@@@");
	core_count(n.moments, mixed, "**+");
	memcpy(n.gradient, n.moments, sizeof n.mean);
	core_count_points(n.gradient, terms, count, points + units * M, own);
	core_count(n.gradient, P > 1 ? (points + units * M) * own : 0, "@@@");
	core_count(n.gradient, P * (M + 4 * numbers), "@@*+");
	core_count(n.gradient, P * (0.5 * rows + roots), "@*+");
	core_count(n.gradient, P * 0.5 * rows, "*+");
	core_count(n.gradient, mixed * D, "@***++");
	n.tables += points * (numbers + own) + factors * rows + P * (roots + 2) +
				(linear ? (P + 1) * D : 0) + (mixed > 0 ? mixed + (double)c->functions : 0);
	n.stack = numbers + (dense ? 1 : 2) * M + (mixed > 0 ? 2 * P : 0);
	n.stack_gradient =
			n.stack + M + fmax(1, groups) * (M + 1) + own * numbers + (mixed > 0 ? 2 * P * D : 0);
	return n;
}

/*  For one row on a core: instructions; bytes of flash for mean and variance;
    bytes of stack. */
typedef struct core_estimate {
	double mean, moments, gradient, flash, stack, stack_gradient;
} core_estimate;

/*  Numbers of the table for moments of y. */
static double core_y_numbers(const odvgp_config *c)
{
	double F = (double)(c->functions ? c->functions : c->layer[0].P);
	switch (c->lik.kind) {
	case ODVGP_LIKELIHOOD_GAUSSIAN:
	case ODVGP_LIKELIHOOD_STUDENTT:
	case ODVGP_LIKELIHOOD_LAPLACE: return F;
	case ODVGP_LIKELIHOOD_POISSON:
	case ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL:
	case ODVGP_LIKELIHOOD_EXPONENTIAL:
	case ODVGP_LIKELIHOOD_GAMMA: return 0;
	case ODVGP_LIKELIHOOD_ORDINAL: return (double)(c->lik.classes - 1);
	default: return 40;
	}
}

static double core_instructions(const core_costs *k, const double *counts)
{
	double sum = k->instructions[4] * counts[7];
	for (int i = 0; i < OPERATIONS - 1; i++) sum += k->instructions[i] * counts[i];
	return sum;
}

static core_estimate core_estimate_of(
		const odvgp_config *c, const char *kernel, int doubles, int core)
{
	const core_costs *k = &cores[core].costs[doubles];
	core_counts n = core_counts_of(c, kernel);
	core_term terms[CORE_TERMS];
	int outputs = c->layer[0].P > 1;
	double bytes_each = doubles ? 8 : 4;
	double flash[7] = {1, n.mean[5] > 0, n.mean[3] > 0, n.mean[6] > 0, n.mean[7] > 0,
			core_terms(kernel, 1, terms) - 1, outputs};
	core_estimate e = {core_instructions(k, n.mean), core_instructions(k, n.moments),
			core_instructions(k, n.gradient), (n.tables + core_y_numbers(c)) * bytes_each,
			k->stack + n.stack * bytes_each, k->stack_gradient + n.stack_gradient * bytes_each};
	for (int i = 0; i < 7; i++) e.flash += k->code[i] * flash[i];
	return e;
}

#endif
