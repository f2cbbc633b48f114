/*  cores.h - what the functions of an exported header need on a core: counted operations of its
    formulas, times what qemu counts for each (tests/mcu; gcc -Os). */
#ifndef TOOL_CORES_H
#define TOOL_CORES_H

/*  Rounds of loops, sums, products, quotients (the first four); functions, points, and those that may be behind
    beta's (fpg); columns of a distance and of its derivative, written out or in a loop (dDbB), and
    calls for that (a); rows of L and R (ik); numbers of L and R, of R in blocks, as predictions read
    them (LRS) and gradients (VUT); calls of exp, sqrt, log1p, of sin or cos, erfc and expm1 (eqlscx). */
enum { PLAIN = 20, FUNCTIONS = 6, OPERATIONS = PLAIN + FUNCTIONS };
static const char operation_signs[] = "@+*/fpgdDabBikLRSUTVeqlscx";

/*  exp and the others as the header writes them, or of libm (newlib's on ARM, picolibc's on RISC-V):
    instructions, bytes of each that is called, bytes of RAM, and of stack. */
typedef struct core_functions {
	double instructions[FUNCTIONS], bytes[FUNCTIONS], ram, stack;
} core_functions;

/*  Fitted to tests/mcu/costs.txt: instructions of operations; bytes of any header, of gradients of
    several outputs, of the first quotient, and of operations where they stand in the code; bytes of
    stack besides arrays of predict, predict_y, predict_gradient. Doubles are in software but on m7
    (fpv5-d16). tests/test_costs.c says how far they are off. */
typedef struct core_costs {
	double instructions[PLAIN], any, outputs, quotient, bytes[PLAIN], stack[3];
	core_functions functions[2];
} core_costs;
static const struct {
	const char *word, *name;
	/* Cycles per instruction; not measured. */
	double cpi;
	core_costs costs[2]; /* of float, of double */
} cores[] = {
		{"m4f", "Cortex-M4F", 1.4,
				{{{3.84, 2.6, 0.771, 1.76, 43.2, 5.92, 3.1, 3.05, 6.28, 18.3, 5.59, 8.45, 10.2, 8.7,
						  6.59, 4.83, 6.21, 5.81, 10.6, 3.73},
						 142, 246, 0,
						 {30.6, 0, 8.03, 20.8, 0, 0, 12.2, 30.3, 86.8, 109, 36.6, 159, 175, 27.7, 0,
								 18.6, 0, 62.1, 68.3, 0},
						 {24, 0, 40},
						 {{{39.5, 29.3, 49.7, 54.7, 675, 50.7}, {64.7, 102, 208, 246, 126, 209}, 0,
								  0},
								 {{68, 11.8, 52.9, 117, 130, 158}, {1610, 88, 698, 4260, 2000, 747},
										 1080, -8}}},
						{{43.1, 0, 79.3, 613, 0, 156, 0, 230, 204, 0, 176, 180, 0, 37.4, 122, 137,
								 135, 138, 167, 92.7},
								2090, 254, 442,
								{13.5, 0, 45, 51.7, 0, 546, 0, 52.3, 67.9, 0, 42.8, 208, 0, 89.4, 0,
										34.5, 0, 176, 138, 0},
								{164, 200, 172},
								{{{1800, 1460, 3430, 2520, 57600, 6430},
										 {0, 145, 871, 955, 258, 557}, 0, 0},
										{{1570, 986, 1740, 2350, 6990, 5720},
												{2090, 240, 1440, 5580, 3440, 1430}, 1080, -20}}}}},
		{"m7", "Cortex-M7", 0.9,
				{{{3.9, 2.42, 0.916, 1.7, 42.1, 5.44, 2.71, 3.21, 6.35, 18.6, 5.46, 8.34, 9.86,
						  7.83, 6.61, 4.98, 6.5, 5.79, 10.7, 3.59},
						 0, 247, 0,
						 {26.5, 0, 7.97, 19.3, 1.56, 294, 9.72, 31.1, 87.4, 122, 37.4, 151, 30.9,
								 24.9, 0, 14.3, 0, 62.7, 61.1, 0},
						 {24, 0, 40},
						 {{{38.2, 29.8, 51, 52.1, 673, 37.8}, {57.4, 104, 197, 263, 136, 205}, 0,
								  0},
								 {{39.2, 12, 51.1, 35.3, 99.6, 0},
										 {1660, 94.8, 568, 2160, 2060, 621}, 1080, -8}}},
						{{3.88, 1.15, 1.92, 0.562, 13.6, 5.62, 1.13, 2.52, 6.46, 21.8, 6.79, 8.87,
								 10.2, 7.78, 6.41, 5.12, 7.33, 6.31, 8.42, 2.96},
								308, 257, 0,
								{0, 0, 15.9, 44.9, 0, 0, 14, 0, 26, 52.4, 25.6, 59.1, 335, 0, 0, 0,
										54, 105, 0, 0},
								{68, 108, 76},
								{{{58.1, 48.9, 67.2, 59, 697, 114}, {0, 74.8, 472, 670, 133, 385},
										 0, 0},
										{{53.9, 10.8, 47, 95.2, 190, 65.5},
												{3590, 69.4, 730, 4200, 2220, 707}, 1080, -12}}}}},
		{"m3", "Cortex-M3", 1.4,
				{{{29.7, 22, 44.4, 182, 27.4, 123, 0, 163, 150, 34, 120, 124, 26.2, 25.3, 92.8, 102,
						  87, 86.5, 115, 80.6},
						 861, 269, 279,
						 {18.8, 28.2, 6.84, 0, 0, 357, 8, 47.9, 92.6, 15.5, 35.9, 263, 0, 35.3, 0,
								 31.9, 0, 187, 100, 0},
						 {100, 104, 120},
						 {{{714, 795, 1330, 801, 23800, 3190}, {404, 167, 453, 324, 281, 412}, 0,
								  0},
								 {{862, 329, 1210, 1750, 3000, 4470},
										 {2260, 27.8, 899, 4810, 2430, 889}, 1080, -44}}},
						{{38.9, 0, 81.5, 617, 0, 162, 0, 228, 205, 0, 173, 177, 0, 32, 129, 134,
								 136, 140, 161, 90.5},
								2060, 270, 444,
								{12.7, 0, 44.1, 51.7, 0, 577, 0, 43.2, 57.1, 0, 41.1, 174, 0, 91.8,
										0, 41.3, 0, 112, 92.1, 0},
								{156, 200, 164},
								{{{1800, 1460, 3430, 2430, 57500, 6390},
										 {0, 152, 945, 933, 262, 534}, 0, 0},
										{{1570, 968, 1740, 2250, 6970, 5720},
												{2000, 185, 1330, 5440, 3310, 1280}, 1080, -20}}}}},
		{"m0", "Cortex-M0+", 1.5,
				{{{48, 19.8, 128, 375, 0, 141, 0, 296, 281, 79.6, 211, 243, 0, 186, 210, 200, 192,
						  185, 222, 185},
						 2610, 230, 408,
						 {43.9, 31.2, 4.81, 12.2, 0, 0, 64.3, 52.9, 82, 112, 0, 132, 138, 86.3, 0,
								 12.2, 0, 179, 82.1, 0},
						 {140, 140, 152},
						 {{{1670, 2190, 3000, 2090, 51200, 7220}, {569, 378, 693, 379, 243, 617}, 0,
								  0},
								 {{2100, 225, 2820, 3290, 6610, 9920},
										 {2840, 0, 868, 4840, 2370, 844}, 1080, -28}}},
						{{490, 0, 152, 630, 0, 800, 82.2, 601, 549, 349, 429, 490, 0, 61.4, 458,
								 473, 523, 608, 860, 164},
								6790, 257, 1270,
								{0, 0, 53.3, 179, 0, 0, 0, 29, 0, 0, 16, 395, 126, 0, 0, 0, 193,
										699, 588, 0},
								{244, 260, 236},
								{{{6390, 6680, 9740, 7160, 98600, 22300},
										 {0, 332, 1900, 930, 263, 1370}, 0, 0},
										{{4360, 1660, 5530, 5870, 18400, 16900},
												{3400, 0, 1490, 5910, 2440, 1330}, 1080, 0}}}}},
		{"rv32", "RV32IMAC", 1.4,
				{{{20.7, 53.1, 104, 0, 880, 92.2, 38.2, 285, 268, 131, 209, 242, 0, 184, 202, 188,
						  175, 189, 202, 179},
						 2490, 212, 362,
						 {29.8, 34.8, 10.1, 13.4, 0, 0, 57, 66.5, 116, 84, 0, 118, 243, 52.7, 0,
								 0.397, 0, 308, 157, 0},
						 {180, 240, 188},
						 {{{1640, 2050, 2340, 1880, 32000, 3750}, {977, 437, 765, 487, 374, 684}, 0,
								  0},
								 {{1750, 227, 2410, 3270, 5440, 8730},
										 {2000, 41.6, 1350, 4670, 1510, 798}, 16, -8}}},
						{{136, 0, 164, 188, 613, 439, 0, 436, 397, 37, 380, 402, 0, 233, 335, 309,
								 288, 337, 385, 243},
								6110, 269, 882,
								{0, 0, 53.7, 171, 0, 0, 0, 32.8, 42.7, 0, 10.4, 303, 423, 0, 0, 0,
										276, 416, 79.5, 0},
								{240, 328, 248},
								{{{4470, 4550, 6340, 6190, 55100, 12000},
										 {0, 476, 1850, 1380, 437, 1170}, 0, 0},
										{{2720, 1210, 3530, 5530, 11700, 14000},
												{1760, 0, 1430, 4980, 1310, 1040}, 32, -8}}}}},
		{"rv32f", "RV32IMAFC", 1.4,
				{{{3.87, 4.92, 0.402, 0, 93.7, 5.27, 3.5, 6.17, 10.6, 26.3, 9.68, 14.1, 0, 4.66,
						  10.6, 8.17, 9.84, 6.45, 10.1, 7.02},
						 44.6, 155, 0,
						 {60.7, 0, 14.2, 17.2, 0, 0, 10.8, 36.6, 101, 46.8, 8.33, 0, 216, 40, 0,
								 46.4, 0, 161, 143, 0},
						 {100, 148, 120},
						 {{{58.8, 35.8, 65.2, 54.9, 642, 69}, {217, 156, 244, 358, 173, 276}, 0, 0},
								 {{77.8, 0, 93.8, 151, 208, 172}, {662, 0, 1460, 4050, 1370, 674},
										 16, 16}}},
						{{120, 0.773, 220, 206, 471, 408, 0, 569, 488, 60.8, 416, 433, 0, 257, 370,
								 356, 321, 324, 406, 277},
								8290, 303, 1150,
								{0, 0, 62.1, 166, 0, 0, 0, 26.6, 140, 0, 1.84, 1.55, 263, 87.4, 0,
										0, 183, 654, 189, 0},
								{247, 336, 256},
								{{{4890, 4760, 6670, 6370, 60300, 14300},
										 {0, 443, 2030, 1270, 452, 1470}, 0, 0},
										{{2900, 1020, 3530, 5760, 12800, 11500},
												{1890, 0, 1300, 5130, 1240, 1010}, 40, -8}}}}},
};
enum { CORES = sizeof cores / sizeof *cores };

/*  A kernel's operations: of its value, and of its derivative. */
static const struct {
	const char *name, *value, *slope;
} core_kernels[] = {
		{"rbf", "*e", ""}, {"matern12", "q*e", "*/"}, {"matern32", "q*e+*", "*"},
		{"matern52", "q*e++/*", "+*/"}, {"rq", "l**e", "*+/"}, {"periodic", "*e", ""},
		{"linear", "*", ""}, {"polynomial", "*+", "*"}, {"constant", "", ""}, {"white", "", ""},
		{"additive", "", ""}, /* of a column: core_count_values */
		{"laplacian", "*q*e", "*/"},
};
enum { CORE_KERNELS = sizeof core_kernels / sizeof *core_kernels, CORE_TERMS = 32 };

typedef struct core_term {
	int kind, ard, degree, shared;
	/* Its text of dims; numbers that it reads, and that a point has for it. */
	char dims[200];
	double columns, numbers;
} core_term;

/*  How often operations are run, and how often they stand in the code. */
typedef struct core_work {
	double run[OPERATIONS], code[OPERATIONS];
} core_work;

typedef struct core_counts {
	/* Of a prediction's mean, of the whole prediction, of one with gradients, and what moments of y
	   take besides a prediction. */
	core_work mean, moments, gradient, y;
	/* Numbers on the stack, and in tables but for the likelihood's. */
	double stack, stack_gradient, stack_y, tables;
	int outputs; /* several */
} core_counts;

static void core_run(core_work *w, double times, const char *operations)
{
	for (; *operations; operations++)
		w->run[strchr(operation_signs, *operations) - operation_signs] += times;
}

static void core_count_copies(core_work *w, double copies, double times, const char *operations)
{
	core_run(w, copies * times, operations);
	for (; *operations; operations++)
		w->code[strchr(operation_signs, *operations) - operation_signs] += copies;
}

static void core_count(core_work *w, double times, const char *operations)
{
	if (times > 0) core_count_copies(w, 1, times, operations);
}

/*  So many times over numbers: a loop, or one by one if they are few. */
static void core_count_loop(core_work *w, double times, double numbers, double few,
		const char *operations, const char *of_loop)
{
	if (numbers > few) core_count(w, times * numbers, of_loop);
	else core_count_copies(w, numbers, times, operations);
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

/*  So many values of the kernel. */
static void core_count_values(core_work *w, const core_term *terms, int count, double points)
{
	for (int i = 0; i < count; i++) {
		const core_term *t = &terms[i];
		int is_inner = t->kind == 6 || t->kind == 7, is_additive = t->kind == 10;
		if (is_additive) core_count(w, points * t->numbers, "@+e**/+++");
		else if (t->kind == 11) core_count(w, points * t->numbers, "@+++");
		else
			core_count_loop(
					w, points, t->numbers, 4, is_inner ? "*+" : "d", is_inner ? "@*+" : "D");
		core_count(w, points, core_kernels[t->kind].value);
		if (t->kind == 7) core_count_copies(w, t->degree, points, "*");
		if (t->shared) core_count(w, points, "*");
		if (i) core_count(w, points, "*");
	}
}

/*  So many derivatives of it in distances, and so many sums of derivatives in the columns. */
static void core_count_slopes(
		core_work *w, const core_term *terms, int count, double points, double sums)
{
	for (int i = 0; i < count; i++) {
		const core_term *t = &terms[i];
		int is_inner = t->kind == 6 || t->kind == 7, is_additive = t->kind == 10;
		core_count(w, points, core_kernels[t->kind].slope);
		if (t->shared || i) core_count(w, points, "*+");
		if (t->numbers <= 0) continue;
		core_count(w, sums, "**");
		if (is_additive) core_count(w, sums * t->numbers, "@+e****+/+");
		else if (t->kind == 11) core_count(w, sums * t->numbers, "@@++++++");
		else core_count_loop(w, sums, t->numbers, 8, is_inner ? "*+" : "b", is_inner ? "@*+" : "B");
	}
}

/*  Moments of y besides a prediction, of T targets, Y classes, F functions. */
static void core_count_y(core_work *w, const odvgp_config *c, double F)
{
	double T = F, Y = F, H = 20, nodes = 1;
	switch (c->lik.kind) {
	case ODVGP_LIKELIHOOD_BERNOULLI: core_count(w, T, "@+*q/c*+"); break;
	case ODVGP_LIKELIHOOD_LOGIT:
		core_count(w, T, "@q");
		core_count(w, T * H, "@*+e+/*+");
		break;
	case ODVGP_LIKELIHOOD_POISSON:
	case ODVGP_LIKELIHOOD_EXPONENTIAL:
	case ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL:
	case ODVGP_LIKELIHOOD_GAMMA: core_count(w, T, "@**+e***x*+*+"); break;
	case ODVGP_LIKELIHOOD_BETA:
		core_count(w, T, "@qq+*/c*+*+*+");
		core_count(w, T * H, "@*+****+");
		core_count(w, 0.85 * T * H, "c");
		break;
	case ODVGP_LIKELIHOOD_ORDINAL:
		Y = (double)c->lik.classes;
		core_count(w, 1, "q+*");
		core_count(w, Y - 1, "@+/c*+");
		break;
	case ODVGP_LIKELIHOOD_ROBUSTMAX:
		core_count(w, F, "@q");
		core_count(w, F * H, "@*+*+");
		core_count(w, F * H * (F - 1), "@+*/*+*");
		core_count(w, 0.85 * F * H * (F - 1), "c");
		break;
	case ODVGP_LIKELIHOOD_SOFTMAX:
		for (int i = 1; i < (int)F; i++) nodes *= H;
		core_count(w, F, "@q/*/+");
		core_count_loop(w, nodes, F - 1, 1, "**+++*+", "@@@**+++*+");
		core_count_loop(w, nodes, F, 2, "e++*/+", "@@e++*/+");
		break;
	case ODVGP_LIKELIHOOD_HETEROSCEDASTIC: core_count(w, T / 2, "@*+e+"); break;
	default: core_count(w, T, "@+"); return;
	}
	if (c->lik.kind < ODVGP_LIKELIHOOD_POISSON || c->lik.kind >= ODVGP_LIKELIHOOD_ORDINAL)
		core_count(w, Y, "@*+");
}

/*  Other scales of D columns, or NULL: their code has all kinds. Returns the numbers of their table. */
static double core_count_transforms(core_work *w, const odvgp_transform *t, ptrdiff_t D)
{
	double numbers = 0;
	for (ptrdiff_t d = 0; t && d < D; d++) {
		int linear = t[d].kind == ODVGP_TRANSFORM_LINEAR;
		if (t[d].kind == ODVGP_TRANSFORM_NONE) continue;
		if (!(numbers > 0)) {
			core_count(w, 1, "f");
			core_count(w, (double)D, "@++");
			core_count_copies(w, 1, 0, "@@+++l+/+++/*+q*+/+l*/+++/+*++*+");
		}
		numbers += 3 + (linear ? 2 * (double)t[d].knots : 4);
		if (linear) core_run(w, 0.5 * (double)t[d].knots, "@+");
		core_run(w, 1,
				linear                             ? "@+++/+*+"
				: t[d].kind == ODVGP_TRANSFORM_LOG ? "@+++l/+*+"
												   : "@+++/*+q*+/+l*/+*+");
	}
	return numbers;
}

/*  Of a model of one layer; transforms: of its columns, or NULL. */
static core_counts core_counts_of(
		const odvgp_config *c, const char *kernel, const odvgp_transform *transforms)
{
	core_counts n;
	core_term terms[CORE_TERMS];
	memset(&n, 0, sizeof n);
	double P = (double)c->layer[0].P, D = (double)c->layer[0].D, M = (double)c->layer[0].M,
		   gamma = (double)c->layer[0].M_gamma, units = c->independent ? P : 1, own = P / units,
		   numbers = 0, slopes = 0, groups = 0, F = c->functions > 0 ? (double)c->functions : P,
		   mixed = F > P ? P * F : 0;
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
	int diagonal = c->layer[0].cov_part == ODVGP_COV_PART_DIAGONAL;
	if (diagonal) roots = M;
	for (int i = 0; i < count; i++) {
		numbers += terms[i].numbers;
		groups += terms[i].numbers > 0;
		if (terms[i].kind == 5) slopes += terms[i].columns;
		additive |= terms[i].kind == 10;
	}
	n.outputs = P > 1;
	n.tables = units * ((2 + additive) * numbers - slopes + 3 * count);
	numbers = fmax(1, numbers);
	/* A prediction's mean: inputs, points, mean function. */
	core_work *w = &n.mean;
	core_count(w, 1, "f");
	core_count(w, units * (numbers - 2 * slopes), "@+*");
	core_count(w, units * slopes, "@+*ss**");
	core_count(w, points, gamma > 0 && !blocks ? "pg" : "p");
	core_count_loop(w, points, own, 2, "*+", "@*+");
	core_count_values(w, terms, count, points);
	core_count(w, linear ? P * D : 0, "@+*+");
	core_count(w, mixed, "@*+");
	double moved = core_count_transforms(w, transforms, c->layer[0].D);
	/* Its variance. */
	n.moments = n.mean;
	w = &n.moments;
	double factors = dense ? units : P;
	core_count(w, units, "f");
	core_count(w, factors * rows, "L");
	core_count(w, factors * M, "i");
	core_count(w, P * roots, diagonal ? "@*" : blocks ? "S" : "R");
	core_count(w, diagonal ? 0 : P * M, blocks ? "kk" : "k");
	core_count(w, mixed, "**+");
	/* Gradients. */
	n.gradient = n.moments;
	w = &n.gradient;
	core_count(w, P, "f");
	core_count_slopes(w, terms, count, points, (points + units * M) * own);
	int is_inlined = groups < 2 && numbers < 3;
	core_count(w, (points + units * M) * own, is_inlined ? "@" : "a@");
	core_count(w, P * (M + 4 * numbers), "@*+");
	core_count(w, P * roots, diagonal ? "@*+" : blocks ? "T" : "U");
	core_count(w, P * rows, "V");
	core_count(w, P * M, "i");
	core_count(w, linear ? P * D : 0, "@");
	core_count(w, mixed * D, "@***++");
	core_count(&n.y, 1, "f");
	core_count_y(&n.y, c, F);
	n.tables += points * (numbers + own) + factors * rows + P * (roots + 2) +
				(linear ? (P + 1) * D : 0) + (mixed > 0 ? mixed + F : 0) + moved;
	n.stack =
			numbers + (dense ? 1 : 2) * M + (mixed > 0 ? 2 * P : 0) + (moved > 0 ? 2 * D + 16 : 0);
	n.stack_gradient =
			n.stack + M + fmax(1, groups) * (M + 1) + own * numbers + (mixed > 0 ? 2 * P * D : 0);
	n.stack_y = n.stack + 2 * F + (c->lik.kind == ODVGP_LIKELIHOOD_SOFTMAX ? 3 * F : 0);
	return n;
}

/*  For one row on a core: instructions of a mean, a mean and variance, these with gradients, and
    moments of y; bytes of flash of predict, with predict_y, and with predict_gradient, too; of it in
    tables; of RAM that libm takes; of stack of these three. */
typedef struct core_estimate {
	double mean, moments, gradient, y, flash, flash_y, flash_all, tables, ram, stack, stack_y,
			stack_gradient;
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

static double core_instructions(
		const core_costs *k, const core_functions *functions, const core_work *w)
{
	double sum = 0;
	for (int i = 0; i < OPERATIONS; i++)
		sum += w->run[i] * (i < PLAIN ? k->instructions[i] : functions->instructions[i - PLAIN]);
	return sum;
}

/*  Bytes of flash but for tables of the first `count` of: predict, predict_y, predict_gradient. */
static double core_code(
		const core_costs *k, const core_functions *functions, const core_counts *n, int count)
{
	const core_work *const parts[] = {&n->moments, &n->y, &n->gradient};
	double sum = k->any, code[OPERATIONS] = {0};
	for (int part = 0; part < count; part++)
		for (int i = 0; i < OPERATIONS; i++) code[i] += parts[part]->code[i];
	for (int i = 0; i < PLAIN; i++) sum += k->bytes[i] * code[i];
	for (int i = 0; i < FUNCTIONS; i++)
		if (code[PLAIN + i] > 0) sum += functions->bytes[i];
	return sum + (code[3] > 0 ? k->quotient : 0) + (count > 2 && n->outputs ? k->outputs : 0);
}

static core_estimate core_estimate_of(const odvgp_config *c, const char *kernel,
		const odvgp_transform *transforms, int doubles, int libm, int core)
{
	const core_costs *k = &cores[core].costs[doubles];
	const core_functions *functions = &k->functions[libm];
	core_counts n = core_counts_of(c, kernel, transforms);
	double bytes_each = doubles ? 8 : 4, y = n.tables + core_y_numbers(c), calls = 0;
	core_estimate e;
	for (int i = PLAIN; i < OPERATIONS; i++) calls += n.moments.code[i] + n.y.code[i];
	e.mean = core_instructions(k, functions, &n.mean);
	e.moments = core_instructions(k, functions, &n.moments);
	e.gradient = core_instructions(k, functions, &n.gradient);
	e.y = e.moments + core_instructions(k, functions, &n.y);
	e.tables = y * bytes_each;
	e.flash = core_code(k, functions, &n, 1) + n.tables * bytes_each;
	e.flash_y = core_code(k, functions, &n, 2) + e.tables;
	e.flash_all = core_code(k, functions, &n, 3) + e.tables;
	e.ram = calls > 0 ? functions->ram : 0;
	e.stack = k->stack[0] + n.stack * bytes_each + functions->stack;
	e.stack_y = fmax(e.stack, k->stack[1] + n.stack_y * bytes_each);
	e.stack_gradient = k->stack[2] + n.stack_gradient * bytes_each + functions->stack;
	return e;
}

#endif
