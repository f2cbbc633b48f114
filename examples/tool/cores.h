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
				{{{3.62, 2.83, 0.676, 0.541, 55.9, 3.99, 7.46, 2.4, 5.71, 18, 5.51, 8.5, 11.3, 6.09,
						  6.42, 5.03, 6.93, 5.58, 10.4, 3.89},
						 110, 213, 0,
						 {40.8, 0, 5.89, 20.2, 0, 0, 0, 53.7, 152, 128, 11.3, 55, 192, 34.7, 0,
								 31.5, 0, 33.9, 21.2, 0},
						 {24, 0, 40},
						 {{{40.2, 29.7, 48.9, 72.5, 671, 17.2}, {0, 97.2, 199, 203, 131, 212}, 0,
								  0},
								 {{69.3, 14.6, 37.1, 105, 124, 103},
										 {1570, 56.6, 698, 4250, 1880, 743}, 1080, 12}}},
						{{45.6, 0, 80, 603, 0, 132, 0, 227, 205, 9.62, 181, 179, 0, 0, 126, 135,
								 146, 142, 171, 82.8},
								2410, 219, 458,
								{36.7, 0, 42.8, 56.9, 0, 0, 0, 43.2, 52.7, 0, 49.7, 229, 206, 111,
										0, 0.465, 0, 277, 139, 0},
								{164, 200, 172},
								{{{1830, 1470, 3420, 2470, 57600, 6670},
										 {0, 119, 887, 906, 241, 654}, 0, 0},
										{{1550, 1330, 1820, 2440, 7520, 2450},
												{2140, 151, 1520, 5490, 3460, 1310}, 1080, 44}}}}},
		{"m7", "Cortex-M7", 0.9,
				{{{3.91, 2.44, 0.904, 1.75, 41.7, 5.4, 2.72, 3.26, 6.35, 18.4, 5.5, 8.36, 9.99,
						  7.87, 6.6, 4.97, 6.5, 5.76, 10.7, 3.58},
						 119, 212, 0,
						 {35.9, 0, 6.56, 16.7, 0, 0, 0, 55.7, 154, 133, 13.8, 67.4, 188, 32.4, 0,
								 20.3, 0, 50.9, 10.7, 0},
						 {24, 0, 40},
						 {{{38, 30, 50.9, 53.7, 673, 37.4}, {0, 97.2, 184, 207, 143, 212}, 0, 0},
								 {{39.2, 11.4, 43.1, 35.6, 99.7, 2.78},
										 {1630, 76.3, 569, 2150, 1880, 604}, 1080, -4}}},
						{{3.92, 1.38, 1.73, 0.549, 12.8, 6.64, 1.16, 2.65, 6.45, 21.9, 6.96, 8.92,
								 8.38, 10.4, 6.77, 4.72, 6.28, 6.01, 7.84, 3.41},
								313, 147, 1.65,
								{0, 0, 26.4, 2.63, 0, 0, 0, 0, 7.25, 112, 29.5, 114, 304, 0, 0, 0,
										118, 118, 0, 0},
								{68, 108, 76},
								{{{57.2, 48.4, 66.9, 58.7, 697, 161}, {0, 35.2, 461, 598, 174, 325},
										 0, 0},
										{{50.6, 14.4, 52.1, 102, 238, 113},
												{3600, 109, 724, 4120, 2210, 562}, 1080, 4}}}}},
		{"m3", "Cortex-M3", 1.4,
				{{{30.9, 27.9, 38.4, 198, 1.47, 160, 7.01, 161, 149, 46.7, 119, 122, 36.5, 21.2, 91,
						  102, 86.5, 91.5, 114, 82.9},
						 1030, 237, 258,
						 {12, 19.4, 12.6, 11.2, 0, 0, 17.7, 46.6, 88.9, 69.9, 21, 202, 210, 36.6, 0,
								 27.5, 0, 172, 119, 0},
						 {100, 104, 120},
						 {{{697, 784, 1330, 1190, 24000, 3140}, {405, 171, 436, 320, 276, 388}, 0,
								  0},
								 {{881, 358, 919, 1210, 2920, 4790},
										 {2240, 31.3, 931, 4800, 2330, 881}, 1080, -32}}},
						{{42.4, 0, 81.4, 602, 0, 143, 0, 224, 204, 0, 185, 178, 0, 14.4, 130, 134,
								 141, 139, 169, 81.4},
								2440, 225, 496,
								{36, 0, 45.9, 49.5, 0, 0, 0, 34.5, 51.8, 0, 42.1, 163, 184, 106, 0,
										0, 10.9, 275, 150, 0},
								{156, 200, 164},
								{{{1820, 1470, 3440, 2410, 57600, 6550},
										 {0, 90.4, 914, 855, 227, 626}, 0, 0},
										{{1540, 1320, 1840, 2390, 7520, 2460},
												{2030, 91.2, 1410, 5330, 3310, 1130}, 1080, 52}}}}},
		{"m0", "Cortex-M0+", 1.5,
				{{{36.7, 68.7, 91.4, 315, 228, 315, 58.9, 265, 268, 84.8, 233, 250, 0, 198, 216,
						  194, 179, 197, 226, 186},
						 2610, 189, 375,
						 {44.1, 12.7, 16.3, 56.5, 0, 223, 63.6, 55.4, 42.6, 217, 0, 127, 0, 64.6, 0,
								 0, 53.1, 229, 27, 0},
						 {140, 140, 152},
						 {{{1590, 2210, 2960, 2500, 50700, 5360}, {545, 356, 660, 358, 261, 571}, 0,
								  0},
								 {{2040, 499, 2200, 2680, 7010, 6290},
										 {2760, 0, 957, 4860, 2370, 850}, 1080, 36}}},
						{{546, 0, 161, 425, 0, 393, 339, 535, 523, 714, 378, 445, 0, 77.3, 468, 463,
								 511, 590, 882, 107},
								6900, 264, 1110,
								{0, 0, 51.8, 191, 46.6, 0, 0, 46.4, 0, 0, 74.6, 734, 103, 0, 0, 0,
										341, 342, 0, 0},
								{244, 260, 236},
								{{{6580, 7100, 9930, 7640, 98600, 18200},
										 {0, 189, 1780, 610, 266, 1370}, 0, 0},
										{{4280, 3440, 6140, 7190, 17200, 7360},
												{3250, 0, 1340, 5700, 2460, 999}, 1080, 48}}}}},
		{"rv32", "RV32IMAC", 1.4,
				{{{22.5, 69, 85.3, 0, 1030, 218, 42.4, 252, 264, 124, 223, 246, 0, 200, 204, 185,
						  170, 191, 208, 179},
						 2110, 259, 400,
						 {9.86, 45.1, 6.41, 13.8, 0, 574, 55.7, 76.4, 122, 54.1, 0, 198, 0, 46.8, 0,
								 32.3, 0, 211, 110, 0},
						 {180, 240, 188},
						 {{{1600, 2050, 2350, 2080, 32000, 3010}, {1040, 364, 786, 537, 405, 666},
								  0, 0},
								 {{1760, 390, 1820, 2320, 5360, 4060},
										 {1930, 0, 1430, 4720, 1580, 900}, 16, 56}}},
						{{161, 0, 155, 88.7, 1020, 341, 52.3, 339, 370, 10.1, 388, 394, 0, 23.6,
								 304, 360, 378, 373, 423, 209},
								6470, 384, 938,
								{0, 0, 63.9, 144, 0, 0, 0, 8.84, 0, 0, 72.2, 365, 168, 0, 0, 0, 265,
										767, 0, 0},
								{240, 328, 248},
								{{{4570, 4890, 6790, 6480, 55200, 12400},
										 {0, 290, 1790, 1070, 472, 1250}, 0, 0},
										{{2790, 2110, 4040, 6070, 10100, 4290},
												{1590, 0, 998, 5120, 1370, 913}, 32, 72}}}}},
		{"rv32f", "RV32IMAFC", 1.4,
				{{{3.97, 4.95, 0.312, 0, 96.1, 6, 3.55, 6.05, 10.5, 26.3, 9.73, 14, 0, 3.65, 10.6,
						  8.13, 9.84, 6.58, 10.2, 6.92},
						 179, 117, 0,
						 {70.4, 0, 8.65, 23.4, 0, 0, 15.7, 40.8, 101, 105, 6.33, 0, 224, 37.4, 0,
								 41.2, 0, 138, 184, 0},
						 {100, 148, 120},
						 {{{58.6, 36, 65.3, 57.3, 643, 67.4}, {70.6, 168, 256, 353, 154, 311}, 0,
								  0},
								 {{81.7, 0, 81.9, 143, 200, 96.2}, {543, 0, 1440, 4030, 1210, 685},
										 16, 64}}},
						{{128, 0, 218, 74.8, 1070, 290, 0, 508, 474, 214, 413, 419, 0, 48.6, 346,
								 387, 406, 304, 365, 267},
								8230, 58.3, 1080,
								{0, 0, 61.8, 216, 21.2, 548, 0, 0, 9.65, 0, 82.3, 627, 0, 43, 0, 0,
										291, 448, 0, 0},
								{247, 336, 256},
								{{{5060, 4940, 6870, 6330, 60400, 13500},
										 {0, 258, 1960, 1100, 489, 1450}, 0, 0},
										{{2870, 2050, 4060, 6400, 11400, 4720},
												{1750, 0, 1110, 5090, 1190, 908}, 40, 72}}}}},
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
