/*  flops.h - the arithmetic that one training step needs, by formula. Part of bench.c and
    cost.c. */

/*  The work belongs to a node of the tape, forward or in reverse, or to a stage beside the tape. */
enum { AT_EVALUATE, AT_NATURAL, AT_ADAM, STAGES };
enum { FORWARD, REVERSE };

typedef struct need {
	double op[GP__OPS][2], stage[STAGES], distances, exponentials;
} need;

/*  Flops of one step, from the mathematics of the bound and not from the tape: M = |beta|,
    G = |gamma|, B rows, D inputs, one output, two leaves that share their distances. A product of a
    triangle with a full matrix M x B takes M^2 B flops, and so does a product of which only a
    triangle is needed. w = q_mu - c; g_m and g_v are the adjoints of mean and variance.

    A step needs the distance of each pair of points, and the exponential for each leaf, once: of Kb
    one triangle, and for the pass in reverse they can be kept. */

/*  HYPER: a pair's part in the adjoints of variance and lengthscale of each leaf. */
enum { LEAVES = 2, HYPER = 4 * LEAVES };

/*  A pair's part in the adjoints of the inputs on one side, from G [z, 1]. */
static double flops_input(double D) { return 2 * (D + 1); }

/*  What a block of M points with Gaussian q takes without any other, as in COUPLED. */
static void block_needs(need *n, const member *who, double M, double B, double D)
{
	/* Pairs of Kb. */
	const double Kb = M * (M + 1) / 2;
	/* Kb = L L^T. */
	n->op[GP__CHOL][FORWARD] += M * M * M / 3;
	/* dL to dKb: as much again for each of the two factors L in Kb. */
	n->op[GP__CHOL][REVERSE] += 2 * M * M * M / 3;

	/* A = L^-1 K(Zb,X). */
	n->op[GP__SOLVE][FORWARD] += M * M * B;
	/* L^-T dA, and dL = -lower((L^-T dA) A^T). */
	n->op[GP__SOLVE][REVERSE] += M * M * B + M * M * B;
	/* T = q_sqrt^T A. */
	n->op[GP__TRI_SQUARES][FORWARD] += M * M * B;
	/* dA = 2 q_sqrt T diag(g_v). */
	n->op[GP__TRI_SQUARES][REVERSE] += M * M * B;
	/* Without natural steps dq_sqrt = 2 lower(A diag(g_v) T^T); with them lower(A diag(g_v) A^T),
       and A g_m. */
	if (!who->natgrad) n->op[GP__TRI_SQUARES][REVERSE] += M * M * B;
	else n->op[GP__NAT_STATS][REVERSE] += M * M * B + 2 * M * B;
	/* w^T A. */
	n->op[GP__PRODUCT][FORWARD] += 2 * M * B;
	/* dA = w g_m^T, and dw = A g_m. */
	n->op[GP__PRODUCT][REVERSE] += 2 * M * B + 2 * M * B;
	/* K(Zb,X), towards Zb; Kb, both sides of its lower triangle. */
	n->op[GP__KERNEL][REVERSE] +=
			M * B * (HYPER + flops_input(D)) + Kb * (HYPER + 2 * flops_input(D));
	n->distances += M * B + Kb;
	/* P = R^T R, R^-1, A diag(g_v) A^T times q_mu (symmetric), and q_mu = R^-1 R^-T j. */
	if (who->natgrad)
		n->stage[AT_NATURAL] += M * M * M / 3 + M * M * M / 3 + 2 * M * M + M * M + M * M;
}

/*  What the mean on G gamma points takes, S of them sampled for the KL. */
static void gamma_needs(need *n, double M, double G, double S, double B, double D)
{
	/* Pairs of Kbg a, of K(X,Zg) a, of rows of Kg a, and of Kgb (Kb^-1 Kbg a). */
	const double vec = G * (M + B + S) + S * M;
	/* c = L^-1 Kbg a, and L^-T c. */
	n->op[GP__SOLVE][FORWARD] += M * M + M * M;
	/* Their adjoints, and the lower triangles of two outer products in dL. */
	n->op[GP__SOLVE][REVERSE] += 2 * M * M + 2 * M * M;
	/* Each pair times its weight. */
	n->op[GP__KERNEL_VEC][FORWARD] += 2 * vec;
	/* Adjoints of the pairs and of the weights; inputs on one side only where the other is X. */
	n->op[GP__KERNEL_VEC][REVERSE] +=
			vec * (2 + 2 + HYPER) + flops_input(D) * (2 * M * G + B * G + 2 * S * G + 2 * S * M);
	n->distances += vec;
}

/*  What the part of beta in SOLVE-GP's second block of G points takes. */
static void between_needs(need *n, double M, double G, double B, double D)
{
	/* W = L^-1 Kbg. */
	n->op[GP__SOLVE][FORWARD] += M * M * G;
	/* As for A. */
	n->op[GP__SOLVE][REVERSE] += 2 * M * M * G;
	/* C = Kg - W^T W, and K(Zg,X) - W^T A. */
	n->op[GP__MINUS_PRODUCT][FORWARD] += M * G * G + 2 * M * G * B;
	/* dW = -W (dC + dC^T), dW of the second product, and dA. */
	n->op[GP__MINUS_PRODUCT][REVERSE] += 2 * M * G * G + 2 * M * G * B + 2 * M * G * B;
	/* Kbg. */
	n->op[GP__KERNEL][REVERSE] += M * G * (HYPER + 2 * flops_input(D));
	n->distances += M * G;
}

static need flops_needed(const member *who, const setting *s)
{
	const double M = (double)s->M, G = (double)s->Mg, B = (double)s->B, D = (double)s->D;
	need n;
	memset(&n, 0, sizeof n);
	block_needs(&n, who, M, B, D);
	if (who->solve) {
		block_needs(&n, who, G, B, D);
		between_needs(&n, M, G, B, D);
	} else if (who->orth) gamma_needs(&n, M, G, G < GAMMA_BATCH ? G : GAMMA_BATCH, B, D);
	n.exponentials = LEAVES * n.distances;
	return n;
}
