/*  golden.c - hashes of the results of training, which show that a change of structure changes
    no bit.

        golden FILE [WORDS]       compares with FILE; a case runs if it contains one of WORDS
        golden --write FILE       writes FILE

    A case is a line of settings, which is its name: a mean part + a covariance part, then words
    (table `settings`) and numbers (table `numbers`). Each case has tiny data, the plain-C
    instruction set, and four hashes:
        params       all parameters after 200 steps
        predictions  mean and variance of f, and variance of y, at new rows, from the frozen
                     predictor
        elbo         the bound, its KL term, and both with two columns of gamma (not with
                     independent functions and several layers, which have several gammas)
        slots        names, shapes and properties of the slots
    The same run compares:
        threads      a second model with three tasks per operation has the same parameters after
                     10 steps
        files        the second model, saved and loaded, has the same parameters after 10 further
                     steps
        isa          every instruction set gives the same slots, and nearly the same bound for
                     the parameters after 10 steps
    The hashes are the same for every optimisation level of gcc and clang on x86-64, because
    plain C rounds each operation once there (the Makefile passes -ffp-contract=off). They depend
    on libm (exp expm1 log log1p pow), whose last bits differ between libraries and processors.
    So FILE names the C library that made it, and holds a hash of the values of these functions.
    With another library, or on machines other than x86-64, hashes are not compared and cases are
    trained for only 20 steps. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "../test.h"
#if defined(__x86_64__) && defined(__GLIBC__)
#include <gnu/libc-version.h>
#define C_LIBRARY "glibc ", gnu_get_libc_version()
#else
#define C_LIBRARY "", ""
#endif

/* ---- the cases ---- */

static const char *const cases[] = {
		/* Every pair, with Adam. */
		"beta+dense",
		"beta+inverse",
		"beta+diagonal",
		"beta+blocks",
		"orth+dense",
		"orth+inverse",
		"orth+diagonal",
		"orth+blocks",
		"hybrid+dense",
		"hybrid+inverse",
		"hybrid+diagonal",
		"hybrid+blocks",
		"free+dense",
		"free+inverse",
		"free+diagonal",
		"free+blocks",
		"free+dense M_gamma=0",
		"free+inverse M_gamma=0",
		"free+diagonal M_gamma=0",
		"blocks+dense",
		"blocks+inverse",
		"blocks+diagonal",
		"blocks+blocks",
		/* Natural gradients, for pairs that have them. */
		"beta+dense natgrad",
		"beta+blocks natgrad",
		"orth+dense natgrad",
		"orth+blocks natgrad",
		"hybrid+dense natgrad",
		"hybrid+blocks natgrad",
		"free+diagonal M_gamma=0 natgrad",
		"blocks+dense natgrad",
		"blocks+blocks natgrad",
		/* Parametrisations: what the slots of q hold. */
		"beta+dense primal",
		"beta+inverse primal",
		"beta+diagonal primal",
		"beta+blocks primal",
		"orth+dense primal",
		"orth+inverse primal",
		"orth+diagonal primal",
		"orth+blocks primal",
		"hybrid+dense primal",
		"hybrid+inverse primal",
		"hybrid+diagonal primal",
		"hybrid+blocks primal",
		"free+dense primal",
		"free+inverse primal",
		"free+diagonal primal",
		"free+blocks primal",
		"blocks+dense primal",
		"blocks+inverse primal",
		"blocks+diagonal primal",
		"blocks+blocks primal",
		"beta+dense primal natgrad",
		"beta+blocks primal natgrad",
		"orth+dense primal natgrad",
		"orth+blocks primal natgrad",
		"hybrid+dense primal natgrad",
		"hybrid+blocks primal natgrad",
		"blocks+dense primal natgrad",
		"blocks+blocks primal natgrad",
		"beta+dense a_beta",
		"beta+inverse a_beta",
		"beta+dense a_beta natgrad",
		"beta+blocks a_beta natgrad",
		"orth+dense a_beta",
		"orth+inverse a_beta",
		"orth+dense a_beta natgrad",
		"orth+blocks a_beta natgrad",
		"hybrid+dense a_beta",
		"hybrid+inverse a_beta",
		"hybrid+dense a_beta natgrad",
		"hybrid+blocks a_beta natgrad",
		/* Two outputs. */
		"beta+dense P=2 natgrad",
		"beta+blocks P=2 natgrad",
		"orth+dense P=2 natgrad",
		"orth+blocks P=2 natgrad",
		"hybrid+dense P=2 natgrad",
		"hybrid+blocks P=2 natgrad",
		"free+diagonal M_gamma=0 P=2 natgrad",
		"blocks+dense P=2 natgrad",
		"blocks+blocks P=2 natgrad",
		/* Minibatches, several tiles, sampled columns of gamma. */
		"beta+dense P=2 batch=20 tile=8 gamma_batch=4 natgrad",
		"beta+inverse P=2 batch=20 tile=8 gamma_batch=4",
		"beta+diagonal P=2 batch=20 tile=8 gamma_batch=4",
		"beta+blocks P=2 batch=20 tile=8 gamma_batch=4 natgrad",
		"orth+dense P=2 batch=20 tile=8 gamma_batch=4 natgrad",
		"orth+inverse P=2 batch=20 tile=8 gamma_batch=4",
		"orth+diagonal P=2 batch=20 tile=8 gamma_batch=4",
		"orth+blocks P=2 batch=20 tile=8 gamma_batch=4 natgrad",
		"hybrid+dense P=2 batch=20 tile=8 gamma_batch=4 natgrad",
		"hybrid+inverse P=2 batch=20 tile=8 gamma_batch=4",
		"hybrid+diagonal P=2 batch=20 tile=8 gamma_batch=4",
		"hybrid+blocks P=2 batch=20 tile=8 gamma_batch=4 natgrad",
		"free+dense P=2 batch=20 tile=8 gamma_batch=4",
		"free+inverse P=2 batch=20 tile=8 gamma_batch=4",
		"free+diagonal P=2 batch=20 tile=8 gamma_batch=4",
		"free+blocks P=2 batch=20 tile=8 gamma_batch=4",
		"free+dense M_gamma=0 P=2 batch=20 tile=8 gamma_batch=4",
		"free+inverse M_gamma=0 P=2 batch=20 tile=8 gamma_batch=4",
		"free+diagonal M_gamma=0 P=2 batch=20 tile=8 gamma_batch=4 natgrad",
		"blocks+dense P=2 batch=20 tile=8 gamma_batch=4 natgrad",
		"blocks+inverse P=2 batch=20 tile=8 gamma_batch=4",
		"blocks+diagonal P=2 batch=20 tile=8 gamma_batch=4",
		"blocks+blocks P=2 batch=20 tile=8 gamma_batch=4 natgrad",
		"orth+dense batch=20 gamma_batch=4 kl_columns natgrad",
		"orth+dense batch=20 tile=8 keep=0",
		"hybrid+dense batch=20 gamma_batch=4 kl_columns natgrad",
		"hybrid+dense batch=20 tile=8 keep=0",
		/* Steps and coordinates of gamma. */
		"orth+dense gamma_diagonal natgrad",
		"orth+blocks gamma_diagonal natgrad",
		"orth+dense gamma_diagonal natgrad_first natgrad P=2",
		"orth+dense gamma_diagonal batch=20 gamma_batch=4 plain natgrad",
		"orth+dense gamma_exact natgrad",
		"orth+blocks gamma_exact natgrad",
		"orth+dense gamma_exact natgrad_first natgrad P=2",
		"orth+dense gamma_exact batch=20 gamma_batch=4 plain natgrad",
		"orth+dense gamma_exact adam_first gamma_natgrad=0.5 gamma_eps=0.01 natgrad",
		"orth+dense plain natgrad",
		"orth+inverse plain",
		"orth+dense differentiated natgrad",
		"orth+inverse differentiated",
		"orth+blocks differentiated",
		"hybrid+dense gamma_diagonal natgrad",
		"hybrid+blocks gamma_diagonal natgrad",
		"hybrid+dense gamma_diagonal natgrad_first natgrad P=2",
		"hybrid+dense gamma_diagonal batch=20 gamma_batch=4 plain natgrad",
		"hybrid+dense gamma_exact natgrad",
		"hybrid+blocks gamma_exact natgrad",
		"hybrid+dense gamma_exact natgrad_first natgrad P=2",
		"hybrid+dense gamma_exact batch=20 gamma_batch=4 plain natgrad",
		"hybrid+dense gamma_exact adam_first gamma_natgrad=0.5 gamma_eps=0.01 natgrad",
		"hybrid+dense plain natgrad",
		"hybrid+inverse plain",
		"hybrid+dense differentiated natgrad",
		"hybrid+inverse differentiated",
		"hybrid+blocks differentiated",
		"free+dense plain",
		"free+dense differentiated",
		"free+inverse plain",
		"free+inverse differentiated",
		/* The order of updates, and steps of SOLVE-GP's blocks and of O(M)'s q. */
		"beta+dense natgrad_first natgrad",
		"beta+dense adam_first natgrad",
		"orth+dense natgrad_first natgrad",
		"orth+dense adam_first natgrad",
		"hybrid+dense natgrad_first natgrad",
		"hybrid+dense adam_first natgrad",
		"blocks+blocks natgrad_first natgrad",
		"blocks+blocks adam_first natgrad",
		"free+diagonal M_gamma=0 natgrad_first natgrad",
		"free+diagonal M_gamma=0 adam_first natgrad",
		"blocks+blocks alternate natgrad",
		"blocks+blocks alternate natgrad_first natgrad",
		"blocks+blocks alternate adam_first natgrad",
		"free+diagonal M_gamma=0 diag_exact natgrad",
		"free+diagonal M_gamma=0 diag_exact P=2 batch=20 natgrad",
		"free+diagonal M_gamma=0 diag_projected natgrad",
		"free+diagonal M_gamma=0 diag_projected P=2 batch=20 natgrad",
		"free+diagonal M_gamma=0 diag_projected_mu natgrad",
		"free+diagonal M_gamma=0 diag_projected_mu P=2 batch=20 natgrad",
		/* Bounds without q, and L-BFGS. */
		"beta+dense collapsed fit_q",
		"beta+dense collapsed lbfgs fit_q",
		"beta+blocks collapsed fit_q",
		"beta+blocks collapsed lbfgs fit_q",
		"blocks+dense collapsed fit_q",
		"blocks+dense collapsed lbfgs fit_q",
		"blocks+blocks collapsed fit_q",
		"blocks+blocks collapsed lbfgs fit_q",
		"blocks+dense partly fit_q",
		"blocks+dense partly lbfgs fit_q",
		"blocks+blocks partly fit_q",
		"blocks+blocks partly lbfgs fit_q",
		"beta+dense tight fit_q",
		"beta+dense tight lbfgs fit_q",
		"free+diagonal M_gamma=0 M=24 N=24 exact fit_q",
		"free+diagonal M_gamma=0 M=24 N=24 exact lbfgs fit_q",
		"blocks+blocks collapsed tile=8 P=2 fit_q",
		"beta+dense collapsed linear_mean P=2 fit_q",
		"beta+dense lbfgs",
		"beta+inverse lbfgs",
		"beta+blocks lbfgs",
		"orth+dense lbfgs",
		"orth+inverse lbfgs",
		"orth+blocks lbfgs",
		"hybrid+dense lbfgs",
		"hybrid+inverse lbfgs",
		"hybrid+blocks lbfgs",
		"free+dense lbfgs",
		"free+inverse lbfgs",
		"free+blocks lbfgs",
		"free+dense M_gamma=0 lbfgs",
		"free+inverse M_gamma=0 lbfgs",
		"free+diagonal M_gamma=0 lbfgs",
		"blocks+dense lbfgs",
		"blocks+inverse lbfgs",
		"blocks+blocks lbfgs",
		"orth+dense lbfgs differentiated lbfgs_memory=3 P=2",
		/* The optimal q from odvgp_fit_q after training. */
		"beta+dense natgrad fit_q linear_mean",
		"beta+inverse fit_q linear_mean",
		"beta+blocks natgrad fit_q linear_mean",
		"orth+dense natgrad fit_q linear_mean",
		"orth+inverse fit_q linear_mean",
		"orth+blocks natgrad fit_q linear_mean",
		"hybrid+dense natgrad fit_q linear_mean",
		"hybrid+inverse fit_q linear_mean",
		"hybrid+blocks natgrad fit_q linear_mean",
		"free+dense fit_q linear_mean",
		"free+inverse fit_q linear_mean",
		"free+blocks fit_q linear_mean",
		"free+dense M_gamma=0 fit_q linear_mean",
		"free+inverse M_gamma=0 fit_q linear_mean",
		"free+diagonal M_gamma=0 natgrad fit_q linear_mean",
		"blocks+dense natgrad fit_q linear_mean",
		"blocks+inverse fit_q linear_mean",
		"blocks+blocks natgrad fit_q linear_mean",
		/* Mean functions. */
		"beta+dense constant_mean",
		"beta+dense linear_mean P=2 natgrad",
		"orth+dense constant_mean",
		"orth+dense linear_mean P=2 natgrad",
		"free+inverse constant_mean",
		"free+inverse linear_mean P=2",
		"blocks+blocks constant_mean",
		"blocks+blocks linear_mean P=2 natgrad",
		"free+diagonal M_gamma=0 constant_mean",
		"free+diagonal M_gamma=0 linear_mean P=2 natgrad",
		/* Kernels. */
		"orth+dense natgrad kernel=rbf(0.7)",
		"orth+dense natgrad kernel=rbf(0.7,ard)",
		"orth+dense natgrad kernel=matern12(0.8)",
		"orth+dense natgrad kernel=matern12(0.8,ard)",
		"orth+dense natgrad kernel=matern32(0.8)",
		"orth+dense natgrad kernel=matern32(0.8,ard)",
		"orth+dense natgrad kernel=matern52(0.8)",
		"orth+dense natgrad kernel=rq(0.7,alpha=1.5)",
		"orth+dense natgrad kernel=rq(0.7,ard)",
		"orth+dense natgrad kernel=periodic(1.3,period=2)",
		"orth+dense natgrad kernel=periodic(1.3,ard)",
		"orth+dense natgrad kernel=linear(0.5)+white(0.1)",
		"orth+dense natgrad kernel=linear(0.5,ard)+rbf(0.6)",
		"orth+dense natgrad kernel=polynomial(0.5,degree=3)+white(0.2)",
		"orth+dense natgrad kernel=constant(0.3)+matern32",
		"orth+dense natgrad kernel=rbf(0.7,dims=0)*matern32(1.1,dims=1)",
		"orth+dense natgrad kernel=(rbf+linear(0.2))*constant(2)+white(0.05)",
		"orth+dense natgrad kernel=rbf+rbf(dims=0)+matern52(ard)",
		"blocks+blocks natgrad kernel=rbf(0.7,ard)",
		"free+inverse kernel=rbf(0.7,ard)",
		"free+diagonal M_gamma=0 natgrad kernel=rbf(0.7,ard)",
		"blocks+blocks natgrad kernel=matern32(0.8,ard)",
		"free+inverse kernel=matern32(0.8,ard)",
		"free+diagonal M_gamma=0 natgrad kernel=matern32(0.8,ard)",
		"blocks+blocks natgrad kernel=periodic(1.3,period=2)",
		"free+inverse kernel=periodic(1.3,period=2)",
		"free+diagonal M_gamma=0 natgrad kernel=periodic(1.3,period=2)",
		"blocks+blocks natgrad kernel=polynomial(0.5,degree=3)+white(0.2)",
		"free+inverse kernel=polynomial(0.5,degree=3)+white(0.2)",
		"free+diagonal M_gamma=0 natgrad kernel=polynomial(0.5,degree=3)+white(0.2)",
		"blocks+blocks natgrad kernel=rbf+rbf(dims=0)+matern52(ard)",
		"free+inverse kernel=rbf+rbf(dims=0)+matern52(ard)",
		"free+diagonal M_gamma=0 natgrad kernel=rbf+rbf(dims=0)+matern52(ard)",
		"orth+dense natgrad kernel=additive(0.8)",
		"blocks+blocks natgrad kernel=additive(0.8,ard)+matern52(ard)",
		"free+inverse kernel=additive(0.8,ard)*rbf(ard=0:2)",
		"orth+dense natgrad kernel=laplacian(0.8)",
		"blocks+blocks natgrad kernel=laplacian(0.8,ard)+matern52(ard)",
		/* Initialisation. */
		"orth+dense natgrad beta_random",
		"blocks+blocks natgrad P=2 beta_random",
		"orth+dense natgrad beta_greedy",
		"blocks+blocks natgrad P=2 beta_greedy",
		"orth+dense natgrad beta_farthest",
		"blocks+blocks natgrad P=2 beta_farthest",
		"orth+dense natgrad gamma_residual",
		"blocks+blocks natgrad P=2 gamma_residual",
		"orth+dense natgrad hyper_ulapane",
		"blocks+blocks natgrad P=2 hyper_ulapane",
		"orth+dense natgrad beta_greedy gamma_residual hyper_ulapane",
		"blocks+blocks natgrad P=2 beta_greedy gamma_residual hyper_ulapane",
		"orth+dense natgrad q_identity",
		"blocks+blocks natgrad P=2 q_identity",
		"free+diagonal M_gamma=0 natgrad beta_greedy",
		"beta+dense primal natgrad beta_greedy",
		"free+diagonal M_gamma=0 natgrad q_identity",
		"beta+dense primal natgrad q_identity",
		"free+inverse gamma_residual",
		"orth+dense hyper_ulapane natgrad kernel=rbf+matern32(dims=1)",
		"orth+dense seed=12345 batch=20 natgrad",
		/* Positive values: their transform, bounds, priors, given noise. */
		"beta+dense exp natgrad",
		"beta+dense bounds natgrad",
		"beta+dense priors natgrad",
		"beta+dense exp bounds priors natgrad_first natgrad",
		"beta+dense exp lbfgs bounds priors",
		"orth+dense exp natgrad",
		"orth+dense bounds natgrad",
		"orth+dense priors natgrad",
		"orth+dense exp bounds priors natgrad_first natgrad",
		"orth+dense exp lbfgs bounds priors",
		"blocks+blocks exp natgrad",
		"blocks+blocks bounds natgrad",
		"blocks+blocks priors natgrad",
		"blocks+blocks exp bounds priors natgrad_first natgrad",
		"blocks+blocks exp lbfgs bounds priors",
		"free+diagonal M_gamma=0 exp natgrad",
		"free+diagonal M_gamma=0 bounds natgrad",
		"free+diagonal M_gamma=0 priors natgrad",
		"free+diagonal M_gamma=0 exp bounds priors natgrad_first natgrad",
		"free+diagonal M_gamma=0 exp lbfgs bounds priors",
		"orth+dense natgrad noise_variance=0.3",
		"beta+dense collapsed priors bounds fit_q",
		/* Adam, schedules, jitter, frozen slots, rows from the caller, a natural step by hand,
           scales. */
		"orth+dense natgrad eps_inside",
		"orth+dense natgrad adam_beta1=0.8 adam_beta2=0.99 adam_eps=0.001",
		"orth+dense natgrad constant",
		"orth+dense natgrad linear",
		"orth+dense natgrad decay",
		"orth+dense natgrad jitter=0.01",
		"orth+dense natgrad jitter_rel=0",
		"orth+dense natgrad jitter_rel=0.001",
		"orth+dense natgrad hold=Z_beta",
		"orth+dense natgrad hold=kernel.*",
		"orth+dense natgrad hold=q_mu",
		"orth+dense natgrad hold=Z_*",
		"orth+dense natgrad stream",
		"orth+dense natgrad step_by_hand",
		"orth+dense natgrad scales P=2",
		"blocks+blocks natgrad hold=Z_*",
		"blocks+blocks natgrad hold=kernel.*",
		"blocks+blocks natgrad step_by_hand",
		"blocks+blocks natgrad stream",
		"blocks+blocks natgrad scales P=2",
		"free+diagonal M_gamma=0 natgrad hold=Z_beta",
		"free+diagonal M_gamma=0 natgrad step_by_hand",
		"free+diagonal M_gamma=0 natgrad scales P=2",
		/* Sizes at which the work of one operation is cut into tasks. */
		"beta+dense N=400 M=50 M_gamma=70 tile=128 steps=20 natgrad",
		"orth+dense N=400 M=50 M_gamma=70 tile=128 steps=20 natgrad",
		"hybrid+dense N=400 M=50 M_gamma=70 tile=128 steps=20 natgrad",
		"free+inverse N=400 M=50 M_gamma=70 tile=128 steps=20",
		"blocks+blocks N=400 M=50 M_gamma=70 tile=128 steps=20 natgrad",
		("orth+dense N=400 M=50 M_gamma=70 tile=128 steps=20 beta_greedy gamma_residual "
		 "gamma_diagonal natgrad"),
#ifndef ODVGP_FLOAT
		/* Not in float, which has too few digits: 10 exact steps of gamma make |a| add up to
           12,000 while C has pivots of 6e-6, and the effect of rounding C on the KL term a^T C a
           / 2, EPS / 4 times the square of that sum, is 4 nats. There the bound on four
           instruction sets is between -1256.5 and -1254.0, and on plain C between -1259.8 and
           -1255.0 for 40 sets of parameters that differ by an ulp. In double all agree to nine
           digits. */
		("orth+dense N=400 M=50 M_gamma=70 tile=128 steps=20 beta_greedy gamma_residual "
		 "gamma_exact natgrad"),
#endif
		"free+diagonal N=400 M=50 M_gamma=0 tile=128 steps=20 natgrad",
		"blocks+blocks N=400 M=50 M_gamma=70 tile=128 steps=20 collapsed fit_q P=2",
		"beta+dense N=400 M=50 tile=128 steps=20 lbfgs",
		/* Mixtures, and independent functions. */
		"beta+dense functions=2 natgrad P=2",
		"orth+dense functions=2 natgrad P=2 batch=20",
		"hybrid+dense functions=2 natgrad P=2",
		"free+inverse functions=2 P=2",
		"blocks+blocks functions=2 natgrad P=2 noise_per_output",
		"free+diagonal M_gamma=0 functions=2 natgrad P=2",
		"beta+dense functions=2 lbfgs P=2 exp",
		"orth+dense functions=2 natgrad scales P=2 noise_per_output linear_mean",
		"beta+dense independent natgrad P=2",
		"orth+dense independent natgrad P=2 batch=20",
		"hybrid+dense independent natgrad P=2",
		"free+inverse independent P=2",
		"blocks+blocks independent natgrad P=2 noise_per_output",
		"free+diagonal M_gamma=0 independent natgrad P=2",
		"beta+dense independent lbfgs P=2 exp",
		"orth+dense independent natgrad scales P=2 noise_per_output linear_mean",
		"beta+dense independent functions=2 natgrad P=2",
		"orth+dense independent functions=2 natgrad P=2 batch=20",
		"hybrid+dense independent functions=2 natgrad P=2",
		"free+inverse independent functions=2 P=2",
		"blocks+blocks independent functions=2 natgrad P=2 noise_per_output",
		"free+diagonal M_gamma=0 independent functions=2 natgrad P=2",
		"beta+dense independent functions=2 lbfgs P=2 exp",
		"orth+dense independent functions=2 natgrad scales P=2 noise_per_output linear_mean",
		"orth+dense independent gamma_diagonal natgrad P=2",
		"orth+dense independent natgrad P=2 beta_greedy gamma_residual hyper_ulapane",
		"orth+dense independent natgrad P=2",
		"orth+dense N=400 M=50 M_gamma=70 tile=128 steps=20 functions=2 natgrad P=2",
		"orth+dense N=400 M=50 M_gamma=70 tile=128 steps=20 independent natgrad P=2",
		/* Other likelihoods. */
		"beta+dense natgrad studentt",
		"orth+dense natgrad studentt batch=20",
		"orth+dense natgrad laplace P=2",
		"blocks+blocks natgrad laplace batch=20",
		"orth+dense independent natgrad studentt P=2",
		/* Patches. */
		"beta+dense patches",
		"beta+dense natgrad patches P=2 batch=20",
		"orth+dense natgrad patches",
		"hybrid+dense natgrad patches",
		"blocks+blocks natgrad patches",
		"orth+dense independent natgrad patches P=2",
		"orth+dense natgrad laplace patches",
		/* Depth: all layers have the settings before the word. */
		"beta+dense layers=2",
		"beta+dense natgrad layers=2",
		"orth+dense natgrad batch=20 layers=2",
		"hybrid+dense natgrad layers=2",
		"free+diagonal M_gamma=0 natgrad layers=2",
		"blocks+blocks natgrad layers=2",
		"blocks+blocks natgrad P=2 batch=20 layers=3",
		"beta+dense natgrad studentt layers=2",
		"orth+dense independent natgrad P=2 layers=2",
};
enum { CASES = sizeof cases / sizeof *cases };

enum { STEPS = 200, SHORT_STEPS = 20, SPLIT = 10, INPUTS = 2, OUTPUTS = 2, ROWS = 5, TEXT = 200 };
enum { FIT_Q = 1, BOUNDS = 2, PRIORS = 4, STREAM = 8, BY_HAND = 16, SCALES = 32 };

/*  A parsed case: the config, and settings that are not in a config. */
typedef struct setup {
	odvgp_config cfg;
	ptrdiff_t N, M, M_gamma, P, steps;
	int extras;
	char kernel[TEXT], hold[TEXT];
} setup;

/*  Enumerators of a config by the words that choose them. */
#define FIELD(name) offsetof(odvgp_config, name)
static const struct {
	const char *word;
	size_t field;
	int value;
} settings[] = {{"natgrad", FIELD(optim.natgrad), 1},
		{"eps_inside", FIELD(reproduce.adam_eps_inside), 1}, {"independent", FIELD(independent), 1},
		{"noise_per_output", FIELD(lik.noise_per_output), 1},
		{"studentt", FIELD(lik.kind), ODVGP_LIKELIHOOD_STUDENTT},
		{"laplace", FIELD(lik.kind), ODVGP_LIKELIHOOD_LAPLACE},
		{"primal", FIELD(reproduce.parametrisation), ODVGP_PARAMETRISATION_PRIMAL},
		{"a_beta", FIELD(reproduce.parametrisation), ODVGP_PARAMETRISATION_A_BETA},
		{"collapsed", FIELD(objective), ODVGP_OBJECTIVE_COLLAPSED},
		{"partly", FIELD(objective), ODVGP_OBJECTIVE_PARTLY},
		{"tight", FIELD(objective), ODVGP_OBJECTIVE_TIGHT},
		{"exact", FIELD(objective), ODVGP_OBJECTIVE_EXACT},
		{"plain", FIELD(reproduce.gamma_coords), ODVGP_GAMMA_COORDS_PLAIN},
		{"differentiated", FIELD(reproduce.gamma_coords), ODVGP_GAMMA_COORDS_DIFFERENTIATED},
		{"kl_columns", FIELD(reproduce.gamma_kl), ODVGP_GAMMA_KL_COLUMNS},
		{"gamma_diagonal", FIELD(optim.gamma_step), ODVGP_GAMMA_STEP_DIAGONAL},
		{"gamma_exact", FIELD(optim.gamma_step), ODVGP_GAMMA_STEP_EXACT},
		{"alternate", FIELD(reproduce.blocks_step), ODVGP_BLOCKS_STEP_ALTERNATE},
		{"diag_exact", FIELD(reproduce.diag_step), ODVGP_DIAG_STEP_EXACT},
		{"diag_projected", FIELD(reproduce.diag_step), ODVGP_DIAG_STEP_PROJECTED},
		{"diag_projected_mu", FIELD(reproduce.diag_step), ODVGP_DIAG_STEP_PROJECTED_MU},
		{"natgrad_first", FIELD(reproduce.update), ODVGP_UPDATE_NATGRAD_FIRST},
		{"adam_first", FIELD(reproduce.update), ODVGP_UPDATE_ADAM_FIRST},
		{"lbfgs", FIELD(optim.kind), ODVGP_OPTIMIZER_LBFGS},
		{"constant_mean", FIELD(layer[0].mean_function), ODVGP_MEAN_FUNCTION_CONSTANT},
		{"linear_mean", FIELD(layer[0].mean_function), ODVGP_MEAN_FUNCTION_LINEAR},
		{"exp", FIELD(positive_transform), ODVGP_POSITIVE_TRANSFORM_EXP},
		{"q_identity", FIELD(reproduce.q_init), ODVGP_Q_INIT_IDENTITY},
		{"beta_random", FIELD(init.beta), ODVGP_INIT_BETA_RANDOM},
		{"beta_greedy", FIELD(init.beta), ODVGP_INIT_BETA_GREEDY},
		{"beta_farthest", FIELD(init.beta), ODVGP_INIT_BETA_FARTHEST},
		{"gamma_residual", FIELD(init.gamma), ODVGP_INIT_GAMMA_RESIDUAL},
		{"hyper_ulapane", FIELD(init.hyperparams), ODVGP_INIT_HYPER_ULAPANE}};

static const struct {
	const char *word;
	size_t field;
} counts[] = {{"batch", FIELD(optim.batch)}, {"tile", FIELD(tile)},
		{"keep", FIELD(kernel_cache_bytes)}, {"gamma_batch", FIELD(optim.gamma_batch)},
		{"lbfgs_memory", FIELD(optim.lbfgs_memory)}, {"functions", FIELD(functions)}},
  reals[] = {{"noise_variance", FIELD(lik.noise_variance)}, {"jitter", FIELD(jitter.absolute)},
		  {"jitter_rel", FIELD(jitter.relative)}, {"gamma_eps", FIELD(reproduce.gamma_eps)},
		  {"gamma_natgrad", FIELD(optim.gamma_step_ratio)}, {"adam_beta1", FIELD(optim.adam_beta1)},
		  {"adam_beta2", FIELD(optim.adam_beta2)}, {"adam_eps", FIELD(optim.adam_eps)}};

static const struct {
	const char *word;
	int bit;
} extras[] = {{"fit_q", FIT_Q}, {"bounds", BOUNDS}, {"priors", PRIORS}, {"stream", STREAM},
		{"step_by_hand", BY_HAND}, {"scales", SCALES}};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/*  Every enumeration of a config is as wide as int, which is checked when one is read. */
static void set_field(odvgp_config *c, size_t field, const void *value, size_t bytes)
{
	memcpy((char *)c + field, value, bytes);
}

static int read_schedules(setup *s, const char *word)
{
	odvgp_schedule falling = odvgp_falling((odvgp_real)0.1, (odvgp_real)0.01, 50);
	if (!strcmp(word, "constant")) {
		s->cfg.optim.lr = odvgp_constant((odvgp_real)0.02);
		s->cfg.optim.natgrad_step = odvgp_constant((odvgp_real)0.5);
	} else if (!strcmp(word, "linear") || !strcmp(word, "decay")) {
		if (word[0] == 'l') falling.kind = ODVGP_SCHEDULE_LINEAR;
		else falling.final = (odvgp_real)0.001, falling.decay_from = 60, falling.decay_steps = 100;
		s->cfg.optim.lr = s->cfg.optim.natgrad_step = falling;
	} else return 0;
	return 1;
}

/*  Returns the number after key=, or NULL if the word has another key. */
static const char *number_of(const char *word, const char *key)
{
	size_t n = strlen(key);
	return !strncmp(word, key, n) && word[n] == '=' ? word + n + 1 : NULL;
}

/*  Sizes are read first, because the defaults depend on them. */
static int read_size(setup *s, const char *word)
{
	const struct {
		const char *key;
		ptrdiff_t *to;
	} size[] = {{"N", &s->N}, {"M", &s->M}, {"M_gamma", &s->M_gamma}, {"P", &s->P},
			{"steps", &s->steps}};
	int i;
	for (i = 0; i < COUNT(size); i++)
		if (number_of(word, size[i].key)) {
			*size[i].to = (ptrdiff_t)atol(number_of(word, size[i].key));
			return 1;
		}
	return 0;
}

static int read_number(setup *s, const char *word)
{
	const char *text;
	int i;
	for (i = 0; i < COUNT(counts); i++)
		if ((text = number_of(word, counts[i].word)) != NULL) {
			ptrdiff_t v = (ptrdiff_t)atol(text);
			set_field(&s->cfg, counts[i].field, &v, sizeof v);
			return 1;
		}
	for (i = 0; i < COUNT(reals); i++)
		if ((text = number_of(word, reals[i].word)) != NULL) {
			odvgp_real v = (odvgp_real)atof(text);
			set_field(&s->cfg, reals[i].field, &v, sizeof v);
			return 1;
		}
	if ((text = number_of(word, "seed")) != NULL) s->cfg.seed = (uint64_t)atol(text);
	else if ((text = number_of(word, "kernel")) != NULL)
		snprintf(s->kernel, sizeof s->kernel, "%s", text);
	else if ((text = number_of(word, "hold")) != NULL)
		snprintf(s->hold, sizeof s->hold, "%s", text);
	else return 0;
	return 1;
}

/*  "patches": the two inputs are an image of two pixels. "layers=N": every layer has the settings of
    the words before; hidden ones are as wide as the inputs and have identity means. */
static int read_layers(odvgp_config *c, const char *word)
{
	const char *count = number_of(word, "layers");
	int l;
	if (!strcmp(word, "patches")) {
		c->layer[0].patches.image_height = c->layer[0].patches.channels = 1;
		c->layer[0].patches.image_width = INPUTS;
		c->layer[0].patches.height = c->layer[0].patches.width = c->layer[0].patches.stride = 1;
		return 1;
	}
	if (!count) return 0;
	c->layers = atoi(count);
	for (l = 1; l < c->layers; l++) {
		c->layer[l] = c->layer[0];
		c->layer[l].D = INPUTS;
		c->layer[l - 1].P = INPUTS;
		c->layer[l - 1].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	}
	return 1;
}

static int read_word(setup *s, const char *word)
{
	int i;
	for (i = 0; i < COUNT(settings); i++)
		if (!strcmp(word, settings[i].word)) {
			set_field(&s->cfg, settings[i].field, &settings[i].value, sizeof settings[i].value);
			return 1;
		}
	for (i = 0; i < COUNT(extras); i++)
		if (!strcmp(word, extras[i].word)) {
			s->extras |= extras[i].bit;
			return 1;
		}
	return read_schedules(s, word) || read_layers(&s->cfg, word) || read_size(s, word) ||
		   read_number(s, word);
}

/*  Splits "orth+dense" into its two parts. */
static int read_pair(odvgp_config *c, const char *word)
{
	static const char *const mean[] = {"beta+", "orth+", "hybrid+", "free+", "blocks+"},
							 *const cov[] = {"dense", "inverse", "diagonal", "blocks"};
	int i, k;
	for (i = 0; i < COUNT(mean); i++)
		for (k = 0; k < COUNT(cov); k++)
			if (!strncmp(word, mean[i], strlen(mean[i])) &&
					!strcmp(word + strlen(mean[i]), cov[k])) {
				c->layer[0].mean_part = (odvgp_mean_part)i;
				c->layer[0].cov_part = (odvgp_cov_part)k;
				return 1;
			}
	return 0;
}

/*  Reads a case from its name. s must not move: the config points into it. */
static int read_case(setup *s, const char *name)
{
	char text[400], *word, *rest;
	int pass, ok = strlen(name) < sizeof text &&
				   sizeof s->cfg.reproduce.parametrisation == sizeof(int);
	memset(s, 0, sizeof *s);
	s->N = 60, s->M = 6, s->M_gamma = 9, s->P = 1, s->steps = STEPS;
	for (pass = 0; pass < 2 && ok; pass++) {
		if (pass) {
			s->cfg = odvgp_config_defaults(s->N, 2, s->P, s->M, s->M_gamma);
			s->cfg.optim.natgrad = 0;
			s->cfg.layer[0].kernel = s->kernel;
			s->cfg.isa = ODVGP_ISA_C;
			snprintf(s->kernel, sizeof s->kernel, "matern52(ard)");
		}
		strcpy(text, name);
		for (word = text; *word; word = rest) {
			rest = word + strcspn(word, " ");
			if (*rest) *rest++ = 0;
			if (!pass) read_size(s, word);
			else if (!(word == text ? read_pair(&s->cfg, word) : read_word(s, word))) {
				printf("%s: \"%s\" is not known\n", name, word);
				ok = 0;
			}
		}
	}
	return ok;
}

/* ---- data ---- */

enum { MOST = 400 };
static odvgp_real X[MOST * INPUTS], Y[MOST * OUTPUTS], new_X[ROWS * INPUTS];

/*  Smooth functions of two inputs with noise, made of sums and products only, which need no
    libm. */
static void make_data(ptrdiff_t P)
{
	ptrdiff_t i;
	test_seed = 7;
	for (i = 0; i < MOST; i++) {
		double u = test_between(-2, 2), v = test_between(-2, 2);
		X[2 * i] = (odvgp_real)u, X[2 * i + 1] = (odvgp_real)v;
		Y[P * i] = (odvgp_real)(u * (1 - u * u / 6) + 0.5 * v * v - 0.7 + test_between(-0.3, 0.3));
		if (P > 1)
			Y[P * i + 1] = (odvgp_real)(1 / (0.5 + u * u) - 0.4 * u * v + test_between(-0.3, 0.3));
	}
	for (i = 0; i < ROWS * INPUTS; i++) new_X[i] = (odvgp_real)test_between(-2.5, 2.5);
}

/* ---- hashes ---- */

/*  FNV-1a, 64 bits. */
#define HASH_START UINT64_C(0xcbf29ce484222325)
static uint64_t hash_bytes(uint64_t h, const void *at, size_t bytes)
{
	const unsigned char *p = (const unsigned char *)at;
	while (bytes--) h = (h ^ *p++) * UINT64_C(0x100000001b3);
	return h;
}
static uint64_t hash_reals(uint64_t h, const odvgp_real *v, ptrdiff_t n)
{
	return hash_bytes(h, v, (size_t)n * sizeof *v);
}
static uint64_t hash_count(uint64_t h, ptrdiff_t n)
{
	int64_t v = n;
	return hash_bytes(h, &v, sizeof v);
}

static uint64_t hash_libm(void)
{
	uint64_t h = HASH_START;
	int i;
	test_seed = 3;
	for (i = 0; i < 5000; i++) {
		double x = test_between(0.001, 20), y = test_between(-20, 3), v[5];
		v[0] = exp(y), v[1] = expm1(y), v[2] = log(x), v[3] = log1p(x), v[4] = pow(x, y);
		h = hash_bytes(h, v, sizeof v);
	}
	return h;
}

/* ---- one case ---- */

enum { PARAMS, PREDICTIONS, ELBO, SLOTS, COLUMNS };
static const char *const column_name[COLUMNS] = {"params", "predictions", "elbo", "slots"};

/*  The name of the current case, for messages. */
static const char *case_name;
static int case_failed;

/*  Returns 1 if the call succeeded and otherwise reports the error. */
static int done(odvgp_status status, const char *call, const odvgp_info *info)
{
	if (!status) return 1;
	printf("failed: %s: %s: %s%s%s\n", case_name, call, odvgp_status_text(status), info ? ": " : "",
			info ? info->text : "");
	case_failed = 1;
	return 0;
}
static void must(int holds, const char *what)
{
	if (holds) return;
	printf("failed: %s: %s\n", case_name, what);
	case_failed = 1;
}

static int start(odvgp_model **m, const setup *s, const odvgp_config *cfg)
{
	odvgp_info info;
	if (!done(odvgp_model_create(m, cfg, X, Y, NULL, &info), "odvgp_model_create", &info)) return 0;
	if (s->extras & BOUNDS)
		if (!done(odvgp_set_bounds(*m, "kernel.0.variance", (odvgp_real)0.05, 3, NULL),
					"odvgp_set_bounds", NULL) ||
				!done(odvgp_set_bounds(
							  *m, "noise_variance", (odvgp_real)0.01, (odvgp_real)HUGE_VAL, NULL),
						"odvgp_set_bounds", NULL))
			return 0;
	if (s->extras & PRIORS)
		if (!done(odvgp_set_prior(*m, "kernel.*", ODVGP_PRIOR_LOGNORMAL, (odvgp_real)0.25, 1, NULL),
					"odvgp_set_prior", NULL) ||
				!done(odvgp_set_prior(*m, "noise_variance", ODVGP_PRIOR_GAMMA, 2, 8, NULL),
						"odvgp_set_prior", NULL))
			return 0;
	return !s->hold[0] ||
		   done(odvgp_set_trainable(*m, s->hold, 0, NULL), "odvgp_set_trainable", NULL);
}

/*  Trains up to step `to`, counted from the model's creation; L-BFGS ends when it has converged. */
static int train(odvgp_model *m, const setup *s, ptrdiff_t to)
{
	odvgp_report report;
	odvgp_info info;
	report.converged = 0;
	while (odvgp_steps_done(m) < to && !report.converged) {
		ptrdiff_t row = odvgp_steps_done(m) % 4 * 15;
		odvgp_status status = s->extras & STREAM ? odvgp_step_batch(m, X + 2 * row, Y + s->P * row,
														   15, &report, &info)
												 : odvgp_step(m, X, Y, &report, &info);
		if (!done(status, "odvgp_step", &info)) return 0;
	}
	return 1;
}

/*  Does what follows training. */
static int finish(odvgp_model *m, const setup *s)
{
	odvgp_info info;
	size_t bytes = odvgp_fit_q_scratch(m, NULL);
	void *work;
	int ok = 1;
	if (s->extras & BY_HAND)
		ok = done(odvgp_natgrad_step(m, X, Y, s->N, (odvgp_real)0.75, NULL, &info),
				"odvgp_natgrad_step", &info);
	if (!(s->extras & FIT_Q) || !ok) return ok;
	work = test_alloc(bytes);
	ok = done(odvgp_fit_q(m, X, Y, NULL, work, bytes, &info), "odvgp_fit_q", &info);
	free(work);
	return ok;
}

/*  Computes mean, var, var_y [P,ROWS] each from a frozen predictor. All calls to predictors are
    here. */
static int predict_rows(odvgp_model *m, const setup *s, odvgp_real *out)
{
	static const odvgp_real x_mean[INPUTS] = {(odvgp_real)0.5, 0},
							x_scale[INPUTS] = {2, (odvgp_real)0.75}, y_mean[OUTPUTS] = {-1, 3},
							y_scale[OUTPUTS] = {5, (odvgp_real)0.1};
	odvgp_scales scales = {x_mean, x_scale, y_mean, y_scale};
	size_t bytes = odvgp_predictor_size(m, NULL), need;
	void *block = test_alloc(bytes), *scratch;
	odvgp_server server, *p = &server;
	odvgp_info info;
	ptrdiff_t n = s->P * ROWS;
	int ok = done(odvgp_freeze(m, s->extras & SCALES ? &scales : NULL, block, bytes, &info),
					 "odvgp_freeze", &info) &&
			 done(odvgp_server_from_block(p, block, bytes, s->cfg.isa, &info),
					 "odvgp_server_from_block", &info);
	if (ok) {
		need = odvgp_predict_scratch(p, ROWS, NULL);
		scratch = test_alloc(need);
		ok = done(odvgp_predict(p, new_X, ROWS, out, out + n, scratch, need, &info),
					 "odvgp_predict", &info) &&
			 done(odvgp_predict_y(p, new_X, ROWS, NULL, out + 2 * n, scratch, need, &info),
					 "odvgp_predict_y", &info);
		free(scratch);
	}
	free(block);
	return ok;
}

static uint64_t hash_params(const odvgp_model *m)
{
	odvgp_real *v = all_values(m);
	uint64_t h = hash_reals(HASH_START, v, odvgp_param_count(m));
	free(v);
	return h;
}

static uint64_t hash_slots(const odvgp_model *m)
{
	uint64_t h = hash_count(HASH_START, odvgp_slot_count(m));
	int i, k;
	for (i = 0; i < odvgp_slot_count(m); i++) {
		const odvgp_slot *t = odvgp_slot_at(m, i);
		h = hash_bytes(h, t->name, strlen(t->name) + 1);
		for (k = 0; k < 3; k++) h = hash_count(h, t->shape[k]);
		h = hash_count(hash_count(hash_count(h, t->dims), t->offset), t->count);
		h = hash_count(h, t->positive + 2 * t->lower + 4 * t->trainable + 8 * t->natgrad);
	}
	return h;
}

static uint64_t hash_elbo(odvgp_model *m, const setup *s)
{
	static const ptrdiff_t columns[2] = {1, 3};
	odvgp_real v[4] = {0, 0, 0, 0};
	odvgp_info info;
	odvgp_report of_columns;
	if (!done(odvgp_elbo(m, X, Y, s->N, &v[0], &v[1], NULL, &info), "odvgp_elbo", &info)) return 0;
	if (odvgp_model_config(m)->layer[0].M_gamma > 3 && !odvgp_model_config(m)->independent &&
			odvgp_model_config(m)->layers == 1) {
		if (!done(odvgp_elbo_columns(
						  m, X, Y, s->N, &(odvgp_columns){columns, 2}, &of_columns, NULL, &info),
					"odvgp_elbo_columns", &info))
			return 0;
		v[2] = of_columns.elbo;
		v[3] = of_columns.kl;
	}
	return hash_reals(HASH_START, v, 4);
}

/*  Returns the same model with three tasks per operation, in the mixed order of run_mixed;
    saved, and loaded into another block. */
static odvgp_model *load_again(odvgp_model *m, const odvgp_threads *threads, void **block)
{
	size_t bytes = odvgp_save_size(m, 0, NULL), need = 0;
	void *file = test_alloc(bytes);
	odvgp_model *loaded = NULL;
	odvgp_info info;
	*block = NULL;
	if (done(odvgp_save_memory(m, NULL, NULL, 0, file, bytes, &info), "odvgp_save_memory", &info) &&
			(need = odvgp_load_size(file, bytes, threads, ODVGP_ISA_C, &info)) > 0) {
		*block = test_alloc(need);
		if (!done(odvgp_load_memory(
						  &loaded, file, bytes, threads, ODVGP_ISA_C, *block, need, &info),
					"odvgp_load_memory", &info))
			loaded = NULL;
	}
	free(file);
	return loaded;
}

/*  Trains the case again with three tasks per operation. Its parameters after SPLIT steps must
    have the hash `half`, and then it trains like its loaded copy. */
static void compare_twin(const setup *s, uint64_t half)
{
	odvgp_threads threads = {run_mixed, NULL, 3};
	odvgp_config cfg = s->cfg;
	odvgp_model *twin, *loaded;
	void *block;
	cfg.threads = threads;
	if (!start(&twin, s, &cfg)) return;
	if (train(twin, s, SPLIT)) {
		must(hash_params(twin) == half, "three threads give other parameters than one");
		if (finish(twin, s)) {
			loaded = load_again(twin, &threads, &block);
			if (loaded && train(loaded, s, SHORT_STEPS) && train(twin, s, SHORT_STEPS)) {
				must(hash_params(loaded) == hash_params(twin),
						"a loaded model trains on to other parameters than the saved one");
				must(hash_slots(loaded) == hash_slots(twin),
						"a loaded model has other slots than the saved one");
			}
			free(block);
		}
	}
	odvgp_model_free(twin);
}

/*  Computes the bound of one set of parameters on every instruction set. Half of all digits
    agree, because the jitter keeps the condition of factored matrices below about 1 / sqrt(EPS). */
static void compare_isas(odvgp_model *m, const setup *s)
{
	odvgp_real *v = all_values(m), want = 0, got = 0;
	uint64_t slots = hash_slots(m);
	int i, k;
	if (!done(odvgp_elbo(m, X, Y, s->N, &want, NULL, NULL, NULL), "odvgp_elbo", NULL)) got = 1;
	for (i = 0; i < test_isas.count && !got; i++) {
		odvgp_config cfg = s->cfg;
		odvgp_model *other;
		odvgp_info info;
		int ok = 1;
		cfg.isa = test_isas.isa[i];
		if (cfg.isa == ODVGP_ISA_C || !start(&other, s, &cfg)) continue;
		/* samples of hidden layers depend on the number of steps */
		if (cfg.layers > 1) ok = train(other, s, odvgp_steps_done(m));
		for (k = 0; k < odvgp_slot_count(other) && ok; k++) {
			const odvgp_slot *t = odvgp_slot_at(other, k);
			ok = done(
					odvgp_set(other, t->name, v + t->offset, t->count, &info), "odvgp_set", &info);
		}
		if (ok &&
				done(odvgp_elbo(other, X, Y, s->N, &got, NULL, NULL, &info), "odvgp_elbo", &info)) {
			char text[200];
			snprintf(text, sizeof text, "the bound is %.17g on %s, not %.17g", (double)got,
					test_isas.name[i], (double)want);
			must(fabs((double)got - (double)want) <=
							sqrt(EPS) * ((double)s->N + fabs((double)want)),
					text);
			must(hash_slots(other) == slots, "instruction sets have other slots");
		}
		got = 0;
		odvgp_model_free(other);
	}
	free(v);
}

/*  Computes the hashes of one case; `whole` trains for all steps. */
static void run_case(const setup *s, int whole, uint64_t *hash)
{
	odvgp_real rows[3 * OUTPUTS * ROWS];
	odvgp_model *m;
	uint64_t half;
	make_data(s->P);
	memset(hash, 0, COLUMNS * sizeof *hash);
	if (!start(&m, s, &s->cfg)) return;
	if (train(m, s, SPLIT)) {
		half = hash_params(m);
		compare_isas(m, s);
		if (train(m, s, whole ? s->steps : SHORT_STEPS) && finish(m, s) &&
				predict_rows(m, s, rows)) {
			hash[PARAMS] = hash_params(m);
			hash[PREDICTIONS] = hash_reals(HASH_START, rows, 3 * s->P * ROWS);
			hash[ELBO] = hash_elbo(m, s);
			hash[SLOTS] = hash_slots(m);
			must(gp__finite(rows, 3 * s->P * ROWS), "a prediction is not finite");
			compare_twin(s, half);
		}
	}
	odvgp_model_free(m);
}

/* ---- the file ---- */

typedef struct stored {
	char library[64];
	uint64_t libm, hash[CASES][COLUMNS];
	int there[CASES], rows, unknown;
} stored;
static stored old;

static int read_file(const char *path)
{
	char line[600], *name;
	unsigned long long v[COLUMNS];
	int i, k, at;
	FILE *f = fopen(path, "r");
	if (!f) return 0;
	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\r\n")] = 0;
		if (!strncmp(line, "# library: ", 11))
			snprintf(old.library, sizeof old.library, "%.60s", line + 11);
		if (sscanf(line, "# libm: %llx", &v[0]) == 1) old.libm = v[0];
		if (line[0] == '#' ||
				sscanf(line, "%llx %llx %llx %llx %n", &v[0], &v[1], &v[2], &v[3], &at) != COLUMNS)
			continue;
		name = line + at;
		for (i = 0; i < CASES && strcmp(cases[i], name);) i++;
		if (i == CASES) {
			printf("failed: %s has a case that is no more: %s\n", path, name);
			old.unknown++;
			continue;
		}
		for (k = 0; k < COLUMNS; k++) old.hash[i][k] = v[k];
		old.there[i] = 1;
		old.rows++;
	}
	return !fclose(f);
}

static void write_head(FILE *f, const char *library, uint64_t libm)
{
	fprintf(f,
			"# Hashes of tests/golden/golden.c, %s precision, plain C on x86-64. `make golden-write` "
			"writes this file.\n",
			PRECISION);
	fprintf(f, "# library: %s\n# libm: %016llx\n", library, (unsigned long long)libm);
	fprintf(f, "# %-14s %-16s %-16s %-16s case\n", column_name[0], column_name[1], column_name[2],
			column_name[3]);
}
static void write_row(FILE *f, const uint64_t *hash, const char *name)
{
	int k;
	for (k = 0; k < COLUMNS; k++) fprintf(f, "%016llx ", (unsigned long long)hash[k]);
	fprintf(f, "%s\n", name);
}

/*  Prints one line for a case whose hashes changed. */
static void compare_hashes(int i, const uint64_t *hash, int *moved)
{
	int k, any = 0;
	if (!old.there[i]) {
		printf("failed: %s: not in the file\n", cases[i]);
		case_failed = 1;
		return;
	}
	for (k = 0; k < COLUMNS; k++) {
		if (hash[k] == old.hash[i][k]) continue;
		if (!any) printf("moved: %s:", cases[i]);
		printf(" %s", column_name[k]);
		any = case_failed = 1;
		moved[k]++;
	}
	if (any) printf("\n");
}

static int chosen(const char *name, int argc, char **argv)
{
	int i;
	for (i = 2; i < argc; i++)
		if (strstr(name, argv[i])) return 1;
	return argc <= 2;
}

int main(int argc, char **argv)
{
	int writes = argc > 1 && !strcmp(argv[1], "--write"), whole = 1, i, passed = 0, failed = 0,
		moved[COLUMNS] = {0};
	const char *path, *name[2] = {C_LIBRARY};
	char library[64];
	uint64_t libm = hash_libm();
	FILE *f = NULL;
	if (argc < 2 + writes) {
		fprintf(stderr, "usage: golden FILE [WORDS] | golden --write FILE\n");
		return 2;
	}
	path = argv[1 + writes];
	argc -= writes, argv += writes;
	test_begin(1, argv);
	snprintf(library, sizeof library, "%s%s", name[0], name[1]);
	if (!writes && !read_file(path)) {
		fprintf(stderr, "golden: %s cannot be read\n", path);
		return 2;
	}
	if (writes && !(f = fopen(path, "w"))) {
		fprintf(stderr, "golden: %s cannot be written\n", path);
		return 2;
	}
	if (f) write_head(f, library, libm);
	else whole = library[0] && !strcmp(library, old.library) && libm == old.libm;
	if (!whole)
		printf("hashes are not compared: they were made with %s, libm %016llx, and this is %s, "
			   "libm %016llx\n",
				old.library, (unsigned long long)old.libm,
				library[0] ? library : "another system than x86-64 with glibc",
				(unsigned long long)libm);
	for (i = 0; i < CASES; i++) {
		uint64_t hash[COLUMNS];
		setup s;
		if (!chosen(cases[i], argc, argv)) continue;
		case_name = cases[i];
		case_failed = !read_case(&s, cases[i]);
		if (!case_failed) run_case(&s, whole, hash);
		if (!case_failed && f) write_row(f, hash, cases[i]);
		if (!case_failed && whole && !writes) compare_hashes(i, hash, moved);
		passed += !case_failed;
		failed += case_failed;
	}
	if (f && fclose(f)) failed++;
	for (i = 0; i < COLUMNS; i++)
		if (moved[i]) printf("%d cases moved in %s\n", moved[i], column_name[i]);
	failed += old.unknown;
	printf("%s, %s: %d passed, %d failed, 0 skipped\n",
			writes  ? "written"
			: whole ? "hashes compared"
					: "hashes not compared",
			PRECISION, passed, failed);
	return failed > 0;
}
