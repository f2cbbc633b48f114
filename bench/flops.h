/*  flops.h - the arithmetic that one training step needs, by formula. Part of bench.c and cost.c. */

/*  Who is at work: a node of the tape, forward or in reverse, or a stage beside the tape. */
enum { AT_EVALUATE, AT_NATURAL, AT_ADAM, STAGES };
enum { FORWARD, REVERSE };

typedef struct need {
    double op[ODVGP__OPS][2], stage[STAGES], distances, exponentials;
} need;

/*  Flops of one step, from the mathematics of the bound and not from the tape: M = |beta|, G = |gamma|, B rows, D inputs, one
    output, two leaves that share their distances. A product of a triangle with a full matrix M x B is M^2 B; one of which only a
    triangle is wanted as well. w = q_mu - c, g_m and g_v the adjoints of mean and variance. Exponentials and distances are needed
    once for each pair of points (and leaf), so half of Kb's: the values could be kept for the way back. That would take leaves
    times B (M + G) reals of memory, so the library computes them twice.

    First a pair's part in the adjoints of variance and lengthscale of each leaf, and in those of the inputs on one side, from
    G [z, 1]. */
enum { LEAVES = 2, HYPER = 4 * LEAVES };

static double flops_input(double D) { return 2 * (D + 1); }

/*  A block of M points with Gaussian q: all that it would take alone, as COUPLED does. */
static void block_needs(need *n, const member *who, double M, double B, double D)
{
    const double Kb = M * (M + 1) / 2;                /* pairs */
    n->op[ODVGP__CHOL][FORWARD] += M * M * M / 3;     /* Kb = L L^T */
    n->op[ODVGP__CHOL][REVERSE] += 2 * M * M * M / 3; /* dL to dKb: as much again for each of the two factors L in it */

    n->op[ODVGP__SOLVE][FORWARD] += M * M * B;                          /* A = L^-1 K(Zb,X) */
    n->op[ODVGP__SOLVE][REVERSE] += M * M * B                           /* L^-T dA */
                                    + M * M * B;                        /* dL = -lower((L^-T dA) A^T) */
    n->op[ODVGP__TRI_SQUARES][FORWARD] += M * M * B;                    /* T = q_sqrt^T A */
    n->op[ODVGP__TRI_SQUARES][REVERSE] += M * M * B;                    /* dA = 2 q_sqrt T diag(g_v) */
    if (!who->natgrad) n->op[ODVGP__TRI_SQUARES][REVERSE] += M * M * B; /* dq_sqrt = 2 lower(A diag(g_v) T^T) */
    else
        n->op[ODVGP__NAT_STATS][REVERSE] += M * M * B                     /* lower(A diag(g_v) A^T) */
                                            + 2 * M * B;                  /* A g_m */
    n->op[ODVGP__PRODUCT][FORWARD] += 2 * M * B;                          /* w^T A */
    n->op[ODVGP__PRODUCT][REVERSE] += 2 * M * B                           /* dA = w g_m^T */
                                      + 2 * M * B;                        /* dw = A g_m */
    n->op[ODVGP__KERNEL][REVERSE] += M * B * (HYPER + flops_input(D))     /* K(Zb,X), towards Zb */
                                     + Kb * (HYPER + 2 * flops_input(D)); /* Kb, both sides of its lower triangle */
    n->distances += M * B + Kb;
    if (who->natgrad)
        n->stage[AT_NATURAL] += M * M * M / 3    /* P = R^T R */
                                + M * M * M / 3  /* R^-1 */
                                + 2 * M * M      /* A diag(g_v) A^T times q_mu, symmetric */
                                + M * M + M * M; /* q_mu = R^-1 R^-T j */
}

/*  A mean on G gamma points, S of them sampled for the KL. */
static void gamma_needs(need *n, double M, double G, double S, double B, double D)
{
    const double vec = G * (M + B + S) + S * M;                /* of Kbg a, K(X,Zg) a, rows of Kg a, and of Kgb (Kb^-1 Kbg a) */
    n->op[ODVGP__SOLVE][FORWARD] += M * M                      /* c = L^-1 Kbg a */
                                    + M * M;                   /* L^-T c */
    n->op[ODVGP__SOLVE][REVERSE] += 2 * M * M                  /* their adjoints, */
                                    + 2 * M * M;               /* and lower triangles of two outer products in dL */
    n->op[ODVGP__KERNEL_VEC][FORWARD] += 2 * vec;              /* times the weights */
    n->op[ODVGP__KERNEL_VEC][REVERSE] += vec * (2 + 2 + HYPER) /* pairs' adjoints, the weights' adjoints */
                                         +
                                         flops_input(D) * (2 * M * G + B * G + 2 * S * G + 2 * S * M); /* one side where X is */
    n->distances += vec;
}

/*  What beta takes away from SOLVE-GP's second block of G points. */
static void between_needs(need *n, double M, double G, double B, double D)
{
    n->op[ODVGP__SOLVE][FORWARD] += M * M * G;                             /* W = L^-1 Kbg */
    n->op[ODVGP__SOLVE][REVERSE] += 2 * M * M * G;                         /* as of A */
    n->op[ODVGP__MINUS_PRODUCT][FORWARD] += M * G * G                      /* C = Kg - W^T W */
                                            + 2 * M * G * B;               /* K(Zg,X) - W^T A */
    n->op[ODVGP__MINUS_PRODUCT][REVERSE] += 2 * M * G * G                  /* dW = -W (dC + dC^T), */
                                            + 2 * M * G * B                /* and of the second one, */
                                            + 2 * M * G * B;               /* and dA */
    n->op[ODVGP__KERNEL][REVERSE] += M * G * (HYPER + 2 * flops_input(D)); /* Kbg */
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
