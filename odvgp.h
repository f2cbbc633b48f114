/*	odvgp.h - v0.1.0 - sparse variational Gaussian processes in one C header
	Public domain or MIT, at your choice: the licence is at the end of the file. No warranty.

	A Gaussian process learns a function from data and states how certain each prediction is. This
	header trains sparse variational Gaussian processes on any number of rows. The mean of the
	orthogonally decoupled one [ODVGP] uses many inducing points (gamma) at linear cost, its
	covariance few (beta). Training steps and predictions never allocate memory.

Do this:

		#define ODVGP_IMPLEMENTATION	in ONE .c or .cpp file, which compiles the code;
		#include "odvgp.h"				other files include it without the #define

	A complete program, sin(x) from 200 noisy points:		 cc -O2 sine.c -lm && ./a.out

		#define ODVGP_IMPLEMENTATION
		#include "odvgp.h"
		#include <stdio.h>
		int main(void) {
			static double X[200], y[200];
			for (int i = 0; i < 200; i++) {
				X[i] = 0.03 * i;
				y[i] = sin(X[i]) + 0.1 * sin(50.0 * i * i);
			}
			odvgp_config cfg = odvgp_config_defaults(200, 1, 1, 8, 24); // N, D, P, |beta|, |gamma|
			odvgp_model *gp;
			if (odvgp_model_create(&gp, &cfg, X, y, NULL, NULL)) return 1;
			odvgp_fit(gp, X, y, 2000, NULL, NULL);
			double x = 1.5, mean, var;
			odvgp_predict_once(gp, &x, 1, &mean, &var, NULL, NULL);
			printf("f(1.5) = %.3f +- %.3f, sin(1.5) = %.3f\n", mean, 2 * sqrt(var), sin(x));
			odvgp_model_free(gp);
			return 0;
		}

	Serve a trained model from a controller: a host defines ODVGP_FLOAT, trains, freezes, and prints
	what odvgpf_compact makes of the block as a const array of 32-bit words, with the bytes of
	odvgpf_compact_scratch (examples/packaging/model.c). The controller defines ODVGP_FLOAT and
	ODVGP_PREDICT_ONLY, calls odvgpf_server_from_block once, then odvgpf_predict for each input.
	With ODVGP_NO_TRAINING instead it serves blocks of odvgp_freeze, many rows at once, layers and
	images (examples/03_static_block.c; 04_use_a_trained_model.c reads a file). odvgp_export writes a
	model as C code that needs no library.

CONTENTS   (search for a tag with its arrows)
	>>conventions	sizes, storage, calls, errors, symbols, glossary
	>>options		macros
	>>manual		models, optimisers, sizes, depth, images, memory, jitter, threads
	>>revisions
	>>api			declarations
	  >>api_easy	create, fit, predict, free
	  >>api_staged	caller's memory, steps, slots, predictors, files
	  >>api_low		dense linear algebra
	>>impl			the code
	  >>config		small helpers
	  >>cpu			instruction sets of the machine
	  >>simd		vector types
	  >>threads		tasks; the POSIX pool
	  >>arena		memory
	  >>rng			random numbers and permutations
	  >>vmath		arithmetic over arrays
	  >>ukr			micro-kernels and packing
	  >>gemm		products
	  >>trsm		triangular solves
	  >>potrf		Cholesky factors
	  >>kernels		kernel expressions and matrices
	  >>likelihoods	expected log density
	  >>predictor	the frozen model
	  >>gradient	derivatives of predictions
	  >>uncertain	moments at a Gaussian input
	  >>path		one function from the posterior
	  >>server		blocks and files; prediction needs nothing below
	  >>online		learning row by row in a predictor's block
	  >>rows		compact blocks and their predictions, for controllers
	  >>export		a frozen model as C code
	  >>model		types of training
	  >>params		the parameter vector
	  >>ops			matrix operations
	  >>tape		running the operations
	  >>graph		building the tape
	  >>parts		mean and covariance parts
	  >>settings	the config: defaults and checks
	  >>bound		the bound and its gradient
	  >>freeze		from a model to a predictor
	  >>natgrad		natural gradient steps
	  >>optimum		the best q
	  >>adam		Adam and schedules
	  >>lbfgs		L-BFGS
	  >>train		the training step
	  >>init		initial parameters
	  >>layout		slots, tape and block of a model
	  >>warm		the warm start
	  >>io			model files
	  >>easy		the allocating layer
	>>licence

>>conventions
  Sizes. N rows of data, B rows of a minibatch, D inputs, P outputs (latent functions), M = |beta|
	and Mg = |gamma| inducing points, T columns of targets. The likelihood sees F functions: the P
	latent ones or mixtures of them; with the Gaussian likelihood F = T. "Y [N,T]" has further
	columns behind the targets if config.lik asks for them: weights, then exposure or known_noise.
  Storage. Arrays are row-major without padding; triangular matrices are lower; `ld` counts elements
	from row to row. The row of data is the first index of what a call reads, X [n,D] and Y [n,T],
	and the last of what it writes: mean, var [F,n], cov [F,n,n] or [F,F,n], samples [count,F,n].
	Calls that train and have no n take all data, X [N,D] and Y [N,T].
  Calls. Arguments stand in this order; >>api_low keeps that of the BLAS.
	model, server, online, pool, blas, copy	what is made or used
	config, path, name					what it is made from; which part is meant
	X, Y, file							data; a model file in memory
	n, D								rows, columns
	steps, tau, columns, scales, ...	settings of the call
	watch, allocator, threads, isa		the caller's hooks (NULL: none, malloc and free, serial); an
										instruction set (ODVGP_ISA_AUTO: the best)
	mean, var, elbo, gradient, ...		results: mean and var of f, mean_y and var_y of y; var and
										cov are variances, never standard deviations
	block, scratch						memory that the result keeps; memory for this call only,
										with any contents. At any address unless a comment asks for
										alignment
	info								the error, in every call that can fail; may be NULL
	x_bytes follows x and is its length in bytes. odvgp_..._size returns the bytes of a block or a
	file, odvgp_..._scratch those of scratch; both return 0 on an error. odvgp_..._file takes a
	path, odvgp_..._memory a file's bytes.
  Errors. Calls that can fail return odvgp_status; 0 is success. info receives a sentence that names
	the culprit. "Returns" lists a call's errors except these:
	E_ARG		an argument is NULL or out of range
	E_MEMORY	a block or scratch is too small, or the allocator failed
	E_NAN		X, Y or Z holds NaN or infinity (info has the row), or a result overflows
	E_STOPPED	watch asked to stop
	Unless a comment says otherwise, an error changes no output, no config, and of the model only
	events and raised jitters.
  Symbols. Zb = Z_beta, Zg = Z_gamma, a = a_gamma, k = k(x,x), |.|^2 the sum of squares: of all
	entries in a KL, of each column (each x) in a variance. eps is DBL_EPSILON or FLT_EPSILON.
	Kb = K(Zb,Zb) + jitter I = L L^T,	A = L^-1 K(Zb,X),	c = L^-1 K(Zb,Zg) a,
	W = L^-1 K(Zb,Zg),					C = K(Zg,Zg) - W^T W,	L_v L_v^T = C + jitter I,
	A_v = L_v^-1 (K(Zg,X) - W^T A).
	u = f(Zb) has prior N(0, Kb), and q(u) has mean m and covariance S (odvgp_parametrisation).
	SOLVE-GP adds v = f(Zg) - K(Zg,Zb) Kb^-1 u, what u leaves unexplained: prior N(0, C),
	independent of u, and L_v^-1 v has q = N(v_mu, v_sqrt v_sqrt^T). ORTH + DENSE is the case
	v_mu = L_v^T a, v_sqrt = I; M_gamma = 0 is SVGP. [SOLVE] algorithm 1 writes L_u^0, A, B, L_v^0,
	D for L, W, A, L_v, A_v.
	Where the text says so, P is a precision matrix, D = diag(C) or a scale, S = Phi Phi^T or a
	number of shards, F a number of features, T a matrix. BLOCKS, DIAGONAL, EXACT and RESIDUAL are
	words of several enumerations each.
	elbo = N/B sum over the batch of E_q[log p(y|f)] - KL(q||p) + log priors of hyperparameters, in
	nats for all N rows: without such priors a lower bound of log p(y). The KL is that of q(u), plus
	that of q(v); >>parts has the formulas. Gradients are those of the loss = -elbo.
  Glossary (>>ops explains the tape, its nodes and their adjoints).
	beta				inducing points Zb of mean and covariance
	block				of memory: the caller's bytes; of q: the Gaussian on beta or gamma
	bound				what training maximises: elbo or another odvgp_objective
	freeze				a model: write its predictor; a slot: set trainable = 0
	gamma				inducing points Zg of the mean only, or SOLVE-GP's second block
	gamma projection	c, the part of gamma's mean that beta can express
	hyperparameters		lengthscales, variances, shape and likelihood parameters
	isa					an instruction set's table of micro-kernels and block sizes
	member				a pair of a mean part and a covariance part
	predictor			a frozen model: a block without pointers that predicts
	q					the approximate posterior; q(u), and for SOLVE-GP q(v)
	residual			what beta does not explain: v of f(Zg), C of K(Zg,Zg)
	shape parameter		alpha of rq, period of periodic, offset of polynomial
	shard				a group of tiles with a sum of its own
	slot				a named part of the parameter vector
	tile				rows of data that are worked on at once
	whitened			in coordinates where the prior of u (and of v) is N(0, I)

>>options					default	effect
	ODVGP_IMPLEMENTATION	-		compile the code here, in one precision
	ODVGP_STATIC			-		make every function static (one translation unit)
	ODVGP_API				extern	linkage of public functions, such as __declspec(dllexport)
	ODVGP_FLOAT				-		float instead of double. All functions, and types that hold
									reals, begin with odvgpf_; other names stay: one program can use
									both precisions
	ODVGP_KEEP_NAMES		-		with ODVGP_FLOAT: odvgp_x stays a macro for odvgpf_x after the
									header (one precision per file)
	ODVGP_ASSERT(x)			assert	check for broken callers; ((void)0) removes it
	ODVGP_NO_TRAINING		-		only serve models from blocks and files: leave out everything
									after >>online. Includes ODVGP_NO_MALLOC; add ODVGP_NO_STDIO on
									bare metal
	ODVGP_FLOAT_ONLY		-		with ODVGP_FLOAT: train on a controller without double arithmetic.
									Has one layer of points, the Gaussian likelihood, the objective
									ELBO, Adam and natural steps of q(u), the starts KMEANS,
									FARTHEST and RANDOM; other configs return E_UNSUPPORTED. Leaves
									out odvgp_fit_q, odvgp_upper_bound, warm starts, moments and
									paths, odvgp_online, odvgp_compact, odvgp_export, model files to
									save, odvgp_kernel_text and calls of watches. odvgp_info gets
									status, what and row, odvgp_events counts. Includes
									ODVGP_NO_MALLOC, _NO_STDIO and _NO_SIMD; the masks below save
									code, a small optim.gamma_batch saves time
	ODVGP_PREDICT_ONLY		-		only serve compact blocks (odvgp_compact), row by row:
									odvgp_server_from_block, odvgp_predict, odvgp_predict_y of the
									Gaussian, odvgp_predict_gradient without Hessian and cov, their
									scratch. Includes the three switches around it. No libm; in
									float no double. odvgp_info gets status, what and row. A row
									that is not finite returns E_NAN and gets the prior's mean and
									variance at the inputs' mean, so that a loop that ignores the
									status is safe; elsewhere outputs stay
	ODVGP_NO_MALLOC			-		leave out the allocating layer (odvgp_model_create, _free,
									odvgp_save_file, odvgp_load_file, odvgp_predict_once)
	ODVGP_NO_STDIO			-		leave out the five calls that take a path
	ODVGP_NO_SIMD			-		plain C only. Otherwise SSE2, AVX2 and AVX-512 are chosen at run
									time, NEON at compile time
	ODVGP_NO_AVX2, _AVX512	-		leave out one instruction set
	ODVGP_USE_PTHREADS		-		compile the POSIX thread pool (link with -pthread)
	ODVGP_USE_CBLAS			-		send large products to a CBLAS (<cblas.h>); bits may then depend
									on threads
	ODVGP_MAX_BASE_KERNELS	8		most base kernels in an expression, 1..32
	ODVGP_MAX_LAYERS		3		most layers, 1..8
	ODVGP_LIKELIHOODS, _KERNELS, _MEMBERS
							all		what the build has, as ODVGP_LIK_GAUSSIAN | ODVGP_LIK_POISSON;
									ODVGP_KERNEL_x; ODVGP_MEMBER_x. Models, blocks and files that
									need another return E_UNSUPPORTED (a kernel's name E_KERNEL).
									Warm starts need the Gaussian and COUPLED
	Macros of other headers do no harm but for those of the interface's one-letter fields, N, D, P,
	M, F, T and X: include odvgp.h before a header that defines one without arguments.

>>manual
  Models. Any mean part goes with any covariance part (layer[0].mean_part and .cov_part;
	odvgp_mean_part has the formulas). These pairs have names:
	  COUPLED	BETA + DENSE	   [VFE], [SVGP]
	  ORTH		ORTH + DENSE	   [ODVGP] eq. 11
	  HYBRID	HYBRID + DENSE     [ODVGP] eq. 10
	  DECOUPLED	FREE + INVERSE     [DECOUPLED]; [ODVGP] eq. 8
	  SOLVE-GP	BLOCKS + BLOCKS    [SOLVE] eq. 8, algorithm 1; gamma is its O
	  O(M)		FREE + DIAGONAL    [OM] eqs. 3.2 - 3.7; M_gamma = 0; 2 M numbers in q
	odvgp_config_defaults selects ORTH if |gamma| > 0, else COUPLED. With optim.natgrad = 1 natural
	gradients move q(u) and SOLVE-GP's q(v), Adam the rest (ORTHNAT, COUPLEDNAT). With 0 Adam moves
	everything; FREE, INVERSE and DIAGONAL require that, except in O(M).
  Optimisers. Adam, the default, works on minibatches. For data that fit into one batch, L-BFGS has
	no step sizes to choose: set optim.kind = ODVGP_OPTIMIZER_LBFGS, optim.natgrad = 0 and
	optim.batch = N.
	The step sizes of Adam and of natural gradients fall over 5,000 steps by default: large steps
	find the kernel and the noise, small steps settle them. Let them fall over your whole training
	(odvgp_falling), or keep them constant if data never end (odvgp_constant); odvgp_set_step_sizes
	changes them later.
  Choosing sizes. A step takes O(B M^2 + B Mg D + M Mg D + M^3) time. Start with M = 100..300 and
	Mg = 2..3 M. More beta points improve variance and mean, more gamma points only the mean, at
	linear cost. SOLVE-GP's gamma improves both, for O(B Mg (M + Mg) + M Mg (M + Mg) + Mg^3) more
	per step; start with Mg = M.
  Depth. config.layers > 1 gives a deep Gaussian process [DGP]. layer[0] sees X, each further layer
	samples of the layer below, the likelihood the last layer. Each has its own width P, member,
	kernel, sizes and mean function. A hidden layer starts near its mean function, which should
	therefore pass inputs on: IDENTITY, or PROJECTION to another width:
		odvgp_config cfg = odvgp_config_defaults(N, D, D, 100, 0);
		cfg.layers = 2;
		cfg.layer[1] = cfg.layer[0];
		cfg.layer[1].P = 1;
		cfg.layer[0].mean_function = ODVGP_MEAN_FUNCTION_IDENTITY;
	Training draws deep.samples normals for each row and hidden output, a function of seed and step:
	the bound is an unbiased estimate. Natural steps move q of all layers; odvgp_step halves them
	while the bound falls (odvgp_natgrad_step). Predictions mix deep.predict_samples components.
	Only training's memory grows with the samples; a tile holds at most 4,096 of them, or one row's.
	The objective is ELBO; there is no odvgp_fit_q and no warm start.
  Images. With patches (a field of config.layer) f(image) is the weighted sum of a Gaussian process
	over the image's T patches [CONV], [TICK]. K(Z,X) costs B M T kernel values instead of B M,
	k(x,x) B T^2 / 2 more; memory holds one image's patches and 256 rows of their kernel matrix.
	odvgp_init_data draws inducing patches from 1,000 images, and their locations uniformly. All
	pixels of a channel should have one scale. With ROBUSTMAX and batches of tens of images natural
	steps of 0.1 overshoot: let them rise to 0.01 (odvgp_rising), or let Adam move q (natgrad = 0).
	With image_output let natural steps begin at 0.1, or Adam may drop the last kernel.
	A hidden layer with patches.image_output passes an image of P channels to the next one; set its
	sizes there: (image_height - height) / stride + 1 rows, and columns alike. The hidden layer's
	mean function takes a patch: PROJECTION, or ZERO and deep.q_init PRIOR as in [SOLVE]. Memory
	holds a tile's patches, at most 4,096 or one image's, and 1,000 images while odvgp_init_data
	runs. Pixels of that image are sampled independently, except by odvgp_sample, which samples them
	jointly.
  Units. Standardise X and Y (odvgp_column_scales, odvgp_standardise) and pass the scales to
	odvgp_freeze: predictions are then in original units.
  Memory. Training memory (odvgp_model_size) stops growing with N at the number of rows that
	initialisation samples, max(50 M, 4 M_gamma, 4096), except with the objectives TIGHT and EXACT
	(O(N^2)). Stack, by gcc or clang with -O2, for M up to 512 (each doubling adds up to 1 KiB) and
	ODVGP_MAX_BASE_KERNELS 8: odvgp_model_size, odvgp_load_size, training steps, odvgp_fit_q and
	odvgp_upper_bound take less than 8 KiB, warm starts 12 KiB, all other calls 4 KiB.
  Jitter. Two matrices get jitter.absolute + jitter.relative * (mean of the kernel's diagonal) on
	their diagonal: Kb, and C, which SOLVE-GP's second block and gamma's natural steps EXACT factor
	(for those steps C starts without jitter). If a Cholesky factorisation of one fails, its jitter
	is raised tenfold, and odvgp_events reports it. Beyond jitter.max the step is undone. A raised
	jitter decays after 100 clean steps of Adam; L-BFGS keeps it.
  Instruction sets. A new model uses the machine's best one, without compiler flags; config.isa and
	odvgp_blas_init can force another. Last bits differ between instruction sets. On 32-bit ARM,
	NEON serves only float and flushes subnormal numbers to 0. On 32-bit x86 without SSE2, give gcc
	-std=c99 or -fexcess-precision=standard: otherwise last bits depend on what it inlines, and no
	promise about bits holds.
  Threads. Everything is serial unless config.threads contains a hook. Results have the same bits
	for any number of threads. Only one thread at a time may use a model. Any number may share
	predictors and servers, which are read-only, each with its own scratch.
  Precision. The default is double. float needs jitter.relative >= 16 M FLT_EPSILON, its default.
	Set this also in a double model that float will serve: with 1e-6 means were wrong by up to half
	a standard deviation.
	The code needs IEEE arithmetic and refuses to compile with -ffast-math, -Ofast,
	-ffinite-math-only or /fp:fast. Do not use -funsafe-math-optimizations and -fassociative-math,
	which clang does not report. gcc fuses a * b + c where the instruction set can, so last bits
	change with the optimisation level; -ffp-contract=off prevents that.
  Limits. odvgp does not draw, read CSV (the tool in examples/ does both) or use a GPU.
  Sources.
	[ODVGP]		Salimbeni, Cheng, Boots, Deisenroth: Orthogonally Decoupled Variational Gaussian
				Processes, arXiv:1809.08820; in NeurIPS 2018 equations from 10 on are one higher
	[NATGRAD]	Salimbeni, Eleftheriadis, Hensman: Natural Gradients in Practice, AISTATS 2018
	[SOLVE]		Shi, Titsias, Mnih: Sparse Orthogonal Variational Inference for Gaussian Processes,
				AISTATS 2020, arXiv:1910.10596
	[OM]		Kobe: Efficiently-Parametrised Approximate Posteriors in Pseudo-Point Approximations
				to Gaussian Processes, MPhil thesis, 2021; on Panos et al. 2018, arXiv:1807.02537
	[DECOUPLED]	Cheng, Boots: Variational Inference for Gaussian Process Models with Linear
				Complexity, NeurIPS 2017
	[SVGP]		Hensman, Fusi, Lawrence: Gaussian Processes for Big Data, UAI 2013
	[VFE]		Titsias: Variational Learning of Inducing Variables in Sparse Gaussian Processes,
				AISTATS 2009
	[DGP]		Salimbeni, Deisenroth: Doubly Stochastic Variational Inference for Deep Gaussian
				Processes, NeurIPS 2017
	[CONV]		van der Wilk, Rasmussen, Hensman: Convolutional Gaussian Processes, NeurIPS 2017
	[TICK]		Dutordoir et al.: Bayesian Image Classification with Deep Convolutional Gaussian
				Processes, AISTATS 2020
	[CHOL]		Murray: Differentiation of the Cholesky decomposition, arXiv:1602.07527
	[ADAM]		Kingma, Ba: Adam, ICLR 2015
	[GREEDY]	Burt, Rasmussen, van der Wilk: Convergence of Sparse Variational Inference in
				Gaussian Processes Regression, JMLR 2020
	[FARTHEST]	Gonzalez: Clustering to Minimize the Maximum Intercluster Distance, Theoretical
				Computer Science 1985
	[ULAPANE]	Ulapane et al.: Hyper-Parameter Initialization for Squared Exponential Kernel-based
				Gaussian Process Regression, ICIEA 2020
	[PATHS]		Wilson et al.: Efficiently Sampling Functions from Gaussian Process Posteriors,
				ICML 2020, arXiv:2002.09309
	[PILCO]		Deisenroth, Rasmussen: PILCO: A Model-Based and Data-Efficient Approach to Policy
				Search, ICML 2011
	[LBFGS]		Nocedal, Wright: Numerical Optimization, 2nd edition 2006, algorithms 3.5, 3.6, 7.4
	[PHILOX]	Salmon et al.: Parallel random numbers: as easy as 1, 2, 3, SC 2011; the mixer here
				is smaller

>>revisions
	0.1.0	The first version.
*/

/* ---- >>api   public declarations */

#ifndef ODVGP__SHARED_H
#define ODVGP__SHARED_H

#include <stddef.h>
#include <stdint.h>

#define ODVGP_VERSION 100 /* major * 10000 + minor * 100 + patch */

#ifndef ODVGP_MAX_BASE_KERNELS
#define ODVGP_MAX_BASE_KERNELS 8
#endif
#if ODVGP_MAX_BASE_KERNELS < 1 || ODVGP_MAX_BASE_KERNELS > 32
#error "ODVGP_MAX_BASE_KERNELS must be 1..32"
#endif

#ifndef ODVGP_MAX_LAYERS
#ifdef ODVGP_FLOAT_ONLY
#define ODVGP_MAX_LAYERS 1
#else
#define ODVGP_MAX_LAYERS 3
#endif
#endif
#if ODVGP_MAX_LAYERS < 1 || ODVGP_MAX_LAYERS > 8
#error "ODVGP_MAX_LAYERS must be 1..8"
#endif

/*	Masks of what a build has (>>options): bits by the numbers that files store. */
#define ODVGP_LIK_GAUSSIAN          (1u << 0)
#define ODVGP_LIK_BERNOULLI         (1u << 1)
#define ODVGP_LIK_LOGIT             (1u << 2)
#define ODVGP_LIK_STUDENTT          (1u << 3)
#define ODVGP_LIK_LAPLACE           (1u << 4)
#define ODVGP_LIK_POISSON           (1u << 5)
#define ODVGP_LIK_EXPONENTIAL       (1u << 6)
#define ODVGP_LIK_NEGATIVE_BINOMIAL (1u << 7)
#define ODVGP_LIK_GAMMA             (1u << 8)
#define ODVGP_LIK_BETA              (1u << 9)
#define ODVGP_LIK_ORDINAL           (1u << 10)
#define ODVGP_LIK_ROBUSTMAX         (1u << 11)
#define ODVGP_LIK_SOFTMAX           (1u << 12)
#define ODVGP_LIK_HETEROSCEDASTIC   (1u << 13)
#ifndef ODVGP_LIKELIHOODS
#ifdef ODVGP_FLOAT_ONLY
#define ODVGP_LIKELIHOODS ODVGP_LIK_GAUSSIAN
#else
#define ODVGP_LIKELIHOODS 0x3fffu
#endif
#endif
#define ODVGP_KERNEL_RBF        (1u << 0)
#define ODVGP_KERNEL_MATERN12   (1u << 1)
#define ODVGP_KERNEL_MATERN32   (1u << 2)
#define ODVGP_KERNEL_MATERN52   (1u << 3)
#define ODVGP_KERNEL_RQ         (1u << 4)
#define ODVGP_KERNEL_PERIODIC   (1u << 5)
#define ODVGP_KERNEL_LINEAR     (1u << 6)
#define ODVGP_KERNEL_POLYNOMIAL (1u << 7)
#define ODVGP_KERNEL_CONSTANT   (1u << 8)
#define ODVGP_KERNEL_WHITE      (1u << 9)
#ifndef ODVGP_KERNELS
#define ODVGP_KERNELS 0x3ffu
#endif
#define ODVGP_MEMBER_COUPLED   (1u << 0)
#define ODVGP_MEMBER_ORTH      (1u << 1)
#define ODVGP_MEMBER_HYBRID    (1u << 2)
#define ODVGP_MEMBER_DECOUPLED (1u << 3)
#define ODVGP_MEMBER_SOLVE     (1u << 4)
#define ODVGP_MEMBER_OM        (1u << 5)
#ifndef ODVGP_MEMBERS
#define ODVGP_MEMBERS 0x3fu
#endif

#ifdef ODVGP_FLOAT_ONLY
#if !defined(ODVGP_FLOAT) || defined(ODVGP_PREDICT_ONLY) || defined(ODVGP_NO_TRAINING)
#error "ODVGP_FLOAT_ONLY trains in float: define ODVGP_FLOAT, and neither ODVGP_PREDICT_ONLY nor " \
	"ODVGP_NO_TRAINING, which need no such option"
#endif
#if (ODVGP_LIKELIHOODS) != ODVGP_LIK_GAUSSIAN || ODVGP_MAX_LAYERS != 1
#error "ODVGP_FLOAT_ONLY needs ODVGP_LIKELIHOODS to be ODVGP_LIK_GAUSSIAN and ODVGP_MAX_LAYERS 1"
#endif
#endif
#ifdef ODVGP_PREDICT_ONLY
#ifndef ODVGP_NO_TRAINING
#define ODVGP_NO_TRAINING
#endif
#ifndef ODVGP_NO_STDIO
#define ODVGP_NO_STDIO
#endif
#endif
#if (defined(ODVGP_NO_TRAINING) || defined(ODVGP_FLOAT_ONLY)) && !defined(ODVGP_NO_MALLOC)
#define ODVGP_NO_MALLOC
#endif
#ifdef ODVGP_FLOAT_ONLY
#ifndef ODVGP_NO_STDIO
#define ODVGP_NO_STDIO
#endif
#ifndef ODVGP_NO_SIMD
#define ODVGP_NO_SIMD
#endif
#endif

/* --- statuses and events --- */

/*	Statuses. To add one, append X(name, sentence). */
#define ODVGP_STATUS_LIST(X) \
	X(OK, "ok") \
	X(E_ARG, "argument is NULL or out of range") \
	X(E_SIZE, "size is zero, negative or too large for memory") \
	X(E_MEMORY, "memory block too small, or the allocator failed") \
	X(E_NOT_PD, "matrix not positive definite, even at the largest jitter") \
	X(E_NAN, "NaN or infinity where a finite number is needed") \
	X(E_KERNEL, "kernel expression not understood") \
	X(E_NAME, "no parameter, field or kernel of this name") \
	X(E_UNSUPPORTED, "combination of options that does not exist") \
	X(E_FORMAT, "not a model file, or damaged") \
	X(E_IO, "file could not be read or written") \
	X(E_STOPPED, "stopped by the caller")
typedef enum odvgp_status {
#define ODVGP__X(name, text) ODVGP_##name,
	ODVGP_STATUS_LIST(ODVGP__X)
#undef ODVGP__X
			ODVGP_STATUS_COUNT
} odvgp_status;

/*	What went wrong. Valid only after an error. */
typedef struct odvgp_info {
	odvgp_status status;
	const char *what; /* the culprit (argument, matrix or slot), a string constant */
	ptrdiff_t row;    /* row, layer, pivot or position, counted from 0; -1: none */
	double value;     /* the offending value; 0: none */
	char text[200];   /* one sentence */
} odvgp_info;

/*	Counts of events that are not errors, since the model was made; the last jitter event in
	full. */
typedef struct odvgp_events {
	/* Factorisations that were repeated with ten times the jitter. */
	uint64_t jitter_raised;
	/* Natural steps that were halved: q would not have been positive definite, or the bound would
	   have fallen. */
	uint64_t step_shortened;
	/* Variances k - |A|^2 that were negative by rounding and set to 0. */
	uint64_t variance_clamped;
	/* Updates that were undone (odvgp_step). */
	uint64_t step_undone;
	double jitter; /* on the diagonal of Kb in the last evaluation, absolute */
	/* Matrix of the last jitter event: "Kb", or "C" (Jitter in >>manual); NULL: none. */
	const char *matrix;
	ptrdiff_t pivot; /* of that event */
	double pivot_value;
	const char *cause; /* likely cause in words */
} odvgp_events;

/* --- choices of models --- */

/*	Parts, in the symbols of >>conventions with whitened q_mu and v_mu. Means, to which the prior
	mean m(x) is added:
		BETA	A^T q_mu							ORTH	A^T (q_mu - c) + K(X,Zg) a
		HYBRID	A^T q_mu + K(X,Zg) a				BLOCKS	A^T q_mu + A_v^T v_mu
		FREE	K(X,Za) a; with M_gamma = 0 K(X,Zb) q_mu; with variance BLOCKS Za is Zg
	Variances:
		DENSE		k - |A|^2 + |q_sqrt^T A|^2
		BLOCKS		DENSE - |A_v|^2 + |v_sqrt^T A_v|^2
		INVERSE		k - |L_H^-1 B_sqrt^T K(Zb,x)|^2, L_H L_H^T = I + B_sqrt^T Kb B_sqrt
		DIAGONAL	INVERSE with B_sqrt = diag(q_diag)^1/2: S = (Kb^-1 + diag(q_diag))^-1 */
typedef enum odvgp_mean_part {
	ODVGP_MEAN_PART_BETA,
	ODVGP_MEAN_PART_ORTH,
	ODVGP_MEAN_PART_HYBRID,
	ODVGP_MEAN_PART_FREE,
	ODVGP_MEAN_PART_BLOCKS,
	ODVGP_MEAN_PART_COUNT
} odvgp_mean_part;
typedef enum odvgp_cov_part {
	ODVGP_COV_PART_DENSE,
	ODVGP_COV_PART_INVERSE,
	ODVGP_COV_PART_DIAGONAL,
	ODVGP_COV_PART_BLOCKS,
	ODVGP_COV_PART_COUNT
} odvgp_cov_part;

/*	What training maximises.
		ELBO		The bound with the member's own q (default).
		COLLAPSED	The bound at the optimal q: Titsias' for BETA + DENSE ([VFE] eq. 9; [SOLVE]
					eq. 3), SOLVE-GP's for BLOCKS + BLOCKS ([SOLVE] eq. 30), and for BLOCKS + DENSE
					ODVGP's, between the two.
		PARTLY		SOLVE-GP with the optimal q(u) and the current q(v): [SOLVE] eq. 9; eq. 10 for
					BLOCKS + DENSE. COLLAPSED if M_gamma = 0.
		TIGHT		[SOLVE] eqs. 14, 15 for BETA + DENSE: above Titsias' bound; O(N^2) time, memory.
		EXACT		log p(y) itself, for FREE + DIAGONAL with M = N, M_gamma = 0: exact GP
					regression; O(N^3) time, O(N^2) memory.
	All but ELBO need the Gaussian likelihood and batch >= N, ignore natgrad, and leave q to
	odvgp_fit_q. COLLAPSED and PARTLY take O(M^2) memory. */
typedef enum odvgp_objective {
	ODVGP_OBJECTIVE_ELBO,
	ODVGP_OBJECTIVE_COLLAPSED,
	ODVGP_OBJECTIVE_PARTLY,
	ODVGP_OBJECTIVE_TIGHT,
	ODVGP_OBJECTIVE_EXACT,
	ODVGP_OBJECTIVE_COUNT
} odvgp_objective;

/*	How gamma moves with optim.natgrad = 1 (ORTH and HYBRID); tau is optim.gamma_step_ratio times
	the natural step of beta.
		ADAM		By Adam (default).
		DIAGONAL	[ODVGP] eq. 16: a <- a - tau dloss/da / (D + gamma_eps), D = diag(C).
		EXACT		[ODVGP] eq. 15a: a <- a - tau C^-1 dloss/da; O(M_gamma^3) per step.
	DIAGONAL and EXACT contract only if the step is small: odvgp_step halves it until the bound on
	the same rows does not fall (events.step_shortened).
	EXACT makes a large where D is small, and such a mean changes fast with the kernel: to train the
	kernel, give optim.lr at most the paper's odvgp_constant(0.001), or the bound falls on some
	data. HYBRID's falls even then, as Z_gamma moves all of K(x,Zg) a, not only what beta lacks:
	freeze it. */
typedef enum odvgp_gamma_step {
	ODVGP_GAMMA_STEP_ADAM,
	ODVGP_GAMMA_STEP_DIAGONAL,
	ODVGP_GAMMA_STEP_EXACT,
	ODVGP_GAMMA_STEP_COUNT
} odvgp_gamma_step;

/*	A natural step of SOLVE-GP moves both blocks of q from the same point, or one after the
	other. */
typedef enum odvgp_blocks_step {
	ODVGP_BLOCKS_STEP_TOGETHER,
	ODVGP_BLOCKS_STEP_ALTERNATE,
	ODVGP_BLOCKS_STEP_COUNT
} odvgp_blocks_step;

/*	The natural step of O(M), by its coordinates. g is the slot q_diag; o multiplies entrywise.
		EXACT			(m, g), where the Fisher matrix is block diagonal: m <- m - tau S dloss/dm,
						g <- g - tau (S o S / 2)^-1 dloss/dg
		AFFINE			(S^-1 m, g), the natural parameters of the family (default)
		PROJECTED		[OM] eqs. 3.19, 3.20 in (S^-1 m, g): the dense step of S^-1 m and of the
						diagonal of S^-1
		PROJECTED_MU	the same in (mu, g), as in the thesis: m moves as in the dense step
	The PROJECTED steps stop short of the optimum, the first far from it; they are for comparison.
	All of these steps can overshoot: use at most 0.1 for training, more only to fit q by itself. A
	component of g falls at most to a tenth in one step, and never below a rounding error of
	1 / k(x,x). With all rows in each step, odvgp_step halves it while the bound falls, and undoes
	one that loses more than a nat per row. With likelihoods of classes a long training can lose its
	bound again (bench/papers.md), but not with Adam (natgrad = 0), which is slower. */
typedef enum odvgp_diag_step {
	ODVGP_DIAG_STEP_EXACT,
	ODVGP_DIAG_STEP_AFFINE,
	ODVGP_DIAG_STEP_PROJECTED,
	ODVGP_DIAG_STEP_PROJECTED_MU,
	ODVGP_DIAG_STEP_COUNT
} odvgp_diag_step;

/*	What the slots of q(u) hold; those of q(v) have L_v in place of L, and no A_BETA.
		WHITENED	q_mu, q_sqrt:	m = L q_mu,    S = L q_sqrt q_sqrt^T L^T (default)
		PRIMAL		q_mu, q_sqrt:	m = q_mu,	   S = q_sqrt q_sqrt^T; [SVGP], the published code
		A_BETA		a_beta, q_sqrt: m = Kb a_beta, S = q_sqrt q_sqrt^T; [ODVGP] eq. 11 */
typedef enum odvgp_parametrisation {
	ODVGP_PARAMETRISATION_WHITENED,
	ODVGP_PARAMETRISATION_PRIMAL,
	ODVGP_PARAMETRISATION_A_BETA,
	ODVGP_PARAMETRISATION_COUNT
} odvgp_parametrisation;

/*	Coordinates in which Adam moves a_gamma. D = diag(C), which is 0 where a gamma point coincides
	with a beta point, but at least a hundredth of the kernel's variance.
		PLAIN			a itself, in units of 1 / y.
		SCALED			D a / sqrt(k) (default); D is held constant and recomputed every 100 steps.
						a's step is lr sqrt(k) / D, so lr counts prior standard deviations at the
						point itself. FREE's coefficients and B_sqrt, also in units of 1 / y, step
						by lr / sqrt(k). Steps of HYBRID's a are shortened by sqrt(Mg), those of
						O(M)'s Z by sqrt(M): they move all of the mean K(x,Z) a, not only what beta
						lacks, and with longer ones the bound falls in bursts.
		DIFFERENTIATED	The slot holds D a; D changes with kernel and inducing inputs
						(the published code). */
typedef enum odvgp_gamma_coords {
	ODVGP_GAMMA_COORDS_PLAIN,
	ODVGP_GAMMA_COORDS_SCALED,
	ODVGP_GAMMA_COORDS_DIFFERENTIATED,
	ODVGP_GAMMA_COORDS_COUNT
} odvgp_gamma_coords;

/*	Unbiased estimate of ORTH's KL term a^T K(Zg,Zg) a - c^T c from sampled columns.
		RESIDUAL	From rows of C a (default): little noise, because C is small.
		COLUMNS		From rows of K(Zg,Zg) a, with c^T c exact: [ODVGP] appendix A.3. */
typedef enum odvgp_gamma_kl {
	ODVGP_GAMMA_KL_RESIDUAL,
	ODVGP_GAMMA_KL_COLUMNS,
	ODVGP_GAMMA_KL_COUNT
} odvgp_gamma_kl;

/*	Prior mean m(x), in this order: 0; "mean.c"; x^T "mean.A" + "mean.b"; x itself (D = P, or 1 for
	independent functions); x^T "mean.A" with a frozen "mean.A". odvgp_init_data fills A of
	PROJECTION, and of hidden layers' LINEAR, with the P principal axes of the layer's scaled
	inputs, or if P >= D with ones at A_dd. */
typedef enum odvgp_mean_function {
	ODVGP_MEAN_FUNCTION_ZERO,
	ODVGP_MEAN_FUNCTION_CONSTANT,
	ODVGP_MEAN_FUNCTION_LINEAR,
	ODVGP_MEAN_FUNCTION_IDENTITY,
	ODVGP_MEAN_FUNCTION_PROJECTION,
	ODVGP_MEAN_FUNCTION_COUNT
} odvgp_mean_function;

/*	Initial q of hidden layers with DENSE or BLOCKS. NARROW: q_sqrt = 1e-3 I when whitened, so a
	layer starts near its mean function (default). PRIOR: the prior, whose noise passes upwards. */
typedef enum odvgp_hidden_q {
	ODVGP_HIDDEN_Q_NARROW,
	ODVGP_HIDDEN_Q_PRIOR,
	ODVGP_HIDDEN_Q_COUNT
} odvgp_hidden_q;

/* --- likelihoods and base kernels --- */

/*	p(y|f). Slots are in quotes, before their initial values; s is the targets' standard deviation,
	Phi the normal distribution function, e lik.link_jitter. F = T, Y [N,F]:
		GAUSSIAN			N(y; f, "noise_variance" s^2 / 10)
		BERNOULLI			y in {0, 1}: p(1) = (1 - 2 e) Phi(f) + e
		LOGIT				y in {0, 1}: p(1) = 1 / (1 + exp(-f))
		STUDENTT			(y - f) / b is Student's, "df" 4 degrees of freedom, b = "scale" s / 10
		LAPLACE				exp(-|y - f| / b) / (2 b), b = "scale" s / 10
		POISSON				counts of mean exp(f)
		EXPONENTIAL			y > 0 of rate exp(f)
		NEGATIVE_BINOMIAL	counts of mean m = exp(f) and variance m + m^2 / "size" 1
		GAMMA				y > 0 of "shape" 1 and scale exp(f)
		BETA				0 < y < 1 of mean Phi(f); the two parameters add up to "precision" 10
		ORDINAL				y in {0 .. lik.classes - 1}, P = 1: the number of cuts below f +
							N(0, 1); "cut" is the first, "gap" [classes - 2] lies between cuts; both
							from frequencies
	Several functions, one target, Y [N,1]:
		ROBUSTMAX	y in {0 .. P - 1}: 1 - "epsilon" 1e-3 (frozen; at most 1 - 1 / P) if f_y is
					largest, else epsilon / (P - 1); each Phi in that probability is (1 - 2 e) Phi +
					e
		SOFTMAX		y in {0 .. P - 1}: exp(f_y) / sum exp(f_k)
	P = 2 T, Y [N,T]:
		HETEROSCEDASTIC	N(y_t; f_t, exp(f_(T + t)))
	GAUSSIAN, LAPLACE, POISSON, EXPONENTIAL, GAMMA and HETEROSCEDASTIC have closed bounds; the
	others take lik.nodes quadrature nodes (SOFTMAX: for each of P - 1 <= 3 differences; with more,
	16 lik.nodes fixed draws). With GAUSSIAN, STUDENTT and LAPLACE f has the unit of y; with others
	kernel variances start at 1, and odvgp_freeze refuses scales of y. The papers' code has e = 1e-3
	(BERNOULLI) and 1e-4 (ROBUSTMAX). */
typedef enum odvgp_likelihood {
	ODVGP_LIKELIHOOD_GAUSSIAN,
	ODVGP_LIKELIHOOD_BERNOULLI,
	ODVGP_LIKELIHOOD_LOGIT,
	ODVGP_LIKELIHOOD_STUDENTT,
	ODVGP_LIKELIHOOD_LAPLACE,
	ODVGP_LIKELIHOOD_POISSON,
	ODVGP_LIKELIHOOD_EXPONENTIAL,
	ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL,
	ODVGP_LIKELIHOOD_GAMMA,
	ODVGP_LIKELIHOOD_BETA,
	ODVGP_LIKELIHOOD_ORDINAL,
	ODVGP_LIKELIHOOD_ROBUSTMAX,
	ODVGP_LIKELIHOOD_SOFTMAX,
	ODVGP_LIKELIHOOD_HETEROSCEDASTIC,
	ODVGP_LIKELIHOOD_COUNT
} odvgp_likelihood;

/*	What targets are, in this order: any real number; above 0; between 0 and 1; 0, 1, 2, ...; 0 or
	1; the number of a class, from 0 on. */
typedef enum odvgp_target {
	ODVGP_TARGET_REAL,
	ODVGP_TARGET_POSITIVE,
	ODVGP_TARGET_PROPORTION,
	ODVGP_TARGET_NUMBER,
	ODVGP_TARGET_BINARY,
	ODVGP_TARGET_CLASS,
	ODVGP_TARGET_COUNT
} odvgp_target;

/*	A likelihood, from odvgp_likelihood_about. */
typedef struct odvgp_likelihood_facts {
	const char *name; /* the word of lik.kind; NULL: no such likelihood */
	odvgp_target target;
	int functions; /* that a target depends on; 0: one for each class */
	/* 1: lik.link_jitter, lik.exposure or scales of y go with it; its bound is closed. */
	int link_jitter, exposure, scales_y, closed;
	const char *param[2];    /* its slots; NULL: no more */
	const char *target_must; /* "must be ...", of a target that is refused; "" for REAL */
} odvgp_likelihood_facts;

/*	A base kernel, from odvgp_kernel_about, with its arguments in the order of the expression. */
typedef struct odvgp_kernel_facts {
	const char *name;     /* NULL: no such base kernel */
	const char *param[4]; /* NULL: no more */
} odvgp_kernel_facts;

/* --- optimisers and initial values --- */

/*	What moves the parameters that no natural step moves.
		ADAM	Adam, on minibatches or on all rows (default).
		LBFGS	Limited-memory BFGS: deterministic, for batch >= N and natgrad = 0. A step is one
				line search (strong Wolfe conditions) over all trainable slots with all gamma
				columns; the bound never falls. Step sizes and gamma_coords are not used. */
typedef enum odvgp_optimizer {
	ODVGP_OPTIMIZER_ADAM,
	ODVGP_OPTIMIZER_LBFGS,
	ODVGP_OPTIMIZER_COUNT
} odvgp_optimizer;
typedef enum odvgp_update {
	ODVGP_UPDATE_JOINT,
	ODVGP_UPDATE_NATGRAD_FIRST,
	ODVGP_UPDATE_ADAM_FIRST,
	ODVGP_UPDATE_COUNT
} odvgp_update;
typedef enum odvgp_q_init {
	ODVGP_Q_INIT_PRIOR,
	ODVGP_Q_INIT_IDENTITY,
	ODVGP_Q_INIT_COUNT
} odvgp_q_init;

/*	Where odvgp_init_data puts Z_beta. Distances are in units of each column's shortest lengthscale
	(without one: about sqrt(D) / 2 standard deviations). `rows` is the size of a random sample, at
	most N.
		KMEANS		k-means++ seeds and Lloyd's iterations on max(50 M, 4096) rows, then
					mini-batches of the other rows; O(rows M D) (default).
		RANDOM		Random rows.
		GREEDY		Pivoted Cholesky [GREEDY] on max(4 M, 4096) rows: always the row of largest
					variance given those before, with the initial kernel; random rows once these
					explain all others to rounding. O(rows M (M + D)) time, about rows (M + 2 D)
					numbers of memory.
		FARTHEST	A random row, then always the row farthest from its nearest chosen one
					[FARTHEST], in a sample as large as KMEANS's; O(rows M D).
	Inducing points are rows of the data, except KMEANS's centres. Ties go to the first row of the
	sample. Repeated rows are used once while there are others. */
typedef enum odvgp_init_beta {
	ODVGP_INIT_BETA_KMEANS,
	ODVGP_INIT_BETA_RANDOM,
	ODVGP_INIT_BETA_GREEDY,
	ODVGP_INIT_BETA_FARTHEST,
	ODVGP_INIT_BETA_COUNT
} odvgp_init_beta;

/*	Where odvgp_init_data puts Z_gamma (FREE: Z_alpha): on distinct rows outside Z_beta, while there
	are any.
		RANDOM		Random rows (default).
		RESIDUAL	The rows that beta explains worst: largest k(x,x) - |L^-1 k(Z_beta,x)|^2 with
					the initial kernel, in a sample of max(50 M, 4 M_gamma, 4096) rows. O(rows M
					(M + D)) time, M^2 + tile (M + D) numbers of memory. Not for FREE, where gamma
					carries the mean, and RANDOM leaves no holes in it. */
typedef enum odvgp_init_gamma {
	ODVGP_INIT_GAMMA_RANDOM,
	ODVGP_INIT_GAMMA_RESIDUAL,
	ODVGP_INIT_GAMMA_COUNT
} odvgp_init_gamma;

/*	How odvgp_init_data estimates lengthscales and variances that the kernel expression does not
	give, in units of X, and of Y squared. Each base kernel uses its own columns.
		MEDIAN	Lengthscale: median distance of rows / sqrt(2), times 0.5 for a base kernel with
				columns of its own; those that share columns, times 0.1 (first) to 1 (last). With
				ard, of rows in standard deviations of the columns, times the column's. Variance:
				that of the targets. O(512 D + N P) (default).
		ULAPANE	[ULAPANE] Lengthscale: mean gap between neighbours in a sorted column, averaged over
				columns. Variance: square of the mean step of the targets in the same orders,
				averaged over outputs. Gaps and steps of 0 and constant columns do not count. For
				base kernels that share columns, times 1 (first) to 10 (last), or they would stay
				equal. Uses a sample as large as KMEANS's, in which gaps are wider than in all rows.
				O(rows (log(rows) + P) D) time, D (1 + P) numbers of memory.
	A value that cannot be estimated is 1 (constant columns; constant targets, an exception in
	[ULAPANE]). */
typedef enum odvgp_init_hyper {
	ODVGP_INIT_HYPER_MEDIAN,
	ODVGP_INIT_HYPER_ULAPANE,
	ODVGP_INIT_HYPER_COUNT
} odvgp_init_hyper;

typedef enum odvgp_positive_transform {
	ODVGP_POSITIVE_TRANSFORM_SOFTPLUS,
	ODVGP_POSITIVE_TRANSFORM_EXP,
	ODVGP_POSITIVE_TRANSFORM_COUNT
} odvgp_positive_transform;

/*	Prior on a hyperparameter v, whose log density is added to the bound.
		LOGNORMAL  log v is normal with mean a and standard deviation b > 0:
				   -log v - log(b sqrt(2 pi)) - (log v - a)^2 / (2 b^2)
		GAMMA	   shape a > 0, rate b > 0, mean a / b:
				   a log b - log Gamma(a) + (a - 1) log v - b v */
typedef enum odvgp_prior {
	ODVGP_PRIOR_NONE,
	ODVGP_PRIOR_LOGNORMAL,
	ODVGP_PRIOR_GAMMA,
	ODVGP_PRIOR_COUNT
} odvgp_prior;
typedef enum odvgp_schedule_kind {
	ODVGP_SCHEDULE_CONSTANT,
	ODVGP_SCHEDULE_LINEAR,
	ODVGP_SCHEDULE_LOGLINEAR,
	ODVGP_SCHEDULE_COUNT
} odvgp_schedule_kind;
typedef enum odvgp_isa {
	ODVGP_ISA_AUTO,
	ODVGP_ISA_C,
	ODVGP_ISA_AVX2,
	ODVGP_ISA_AVX512,
	ODVGP_ISA_SSE2,
	ODVGP_ISA_NEON,
	ODVGP_ISA_COUNT
} odvgp_isa;

/* --- hooks --- */

/*	What a call that loops is doing. */
typedef enum odvgp_phase {
	ODVGP_PHASE_INIT,       /* odvgp_init_data, in distances to M points */
	ODVGP_PHASE_WARM_ADAM,  /* odvgp_warm_start, in iterations */
	ODVGP_PHASE_WARM_LBFGS, /* the same; may converge before `total` */
	ODVGP_PHASE_FIT_Q,      /* odvgp_fit_q, in rows; done = total while it solves */
	ODVGP_PHASE_STEP,       /* odvgp_fit, in steps */
	ODVGP_PHASE_COUNT
} odvgp_phase;

/*	Hook for threads; {0} is serial. run calls task(arg, i) once for each i in [0, n), in any order,
	on any threads, then returns. count: tasks into which a large operation is split, usually the
	number of threads. */
typedef struct odvgp_threads {
	void (*run)(void *user, int n, void (*task)(void *arg, int i), void *arg);
	void *user;
	int count;
} odvgp_threads;

/*	Hook for the memory of the allocating layer; {0} is malloc and free. */
typedef struct odvgp_allocator {
	void *(*alloc)(void *user, size_t bytes);
	void (*release)(void *user, void *block);
	void *user;
} odvgp_allocator;

#endif /* ODVGP__SHARED_H */

/*	With ODVGP_FLOAT every name below begins with odvgpf_, and odvgp_real is float. A new name also
	enters the list of #undef at the end. */
#ifdef ODVGP_FLOAT
/* clang-format off */
#define odvgp_real odvgpf_real
#define odvgp_schedule odvgpf_schedule
#define odvgp_config odvgpf_config
#define odvgp_model odvgpf_model
#define odvgp_server odvgpf_server
#define odvgp_warm odvgpf_warm
#define odvgp_report odvgpf_report
#define odvgp_progress odvgpf_progress
#define odvgp_watch odvgpf_watch
#define odvgp_slot odvgpf_slot
#define odvgp_scales odvgpf_scales
#define odvgp_columns odvgpf_columns
#define odvgp_draws odvgpf_draws
#define odvgp_gradient odvgpf_gradient
#define odvgp_moments odvgpf_moments
#define odvgp_path odvgpf_path
#define odvgp_export_settings odvgpf_export_settings
#define odvgp_export_costs odvgpf_export_costs
#define odvgp_pool odvgpf_pool
#define odvgp_blas odvgpf_blas
#define odvgp_config_defaults odvgpf_config_defaults
#define odvgp_config_set odvgpf_config_set
#define odvgp_config_name odvgpf_config_name
#define odvgp_config_words odvgpf_config_words
#define odvgp_likelihood_about odvgpf_likelihood_about
#define odvgp_kernel_about odvgpf_kernel_about
#define odvgp_config_size odvgpf_config_size
#define odvgp_config_threads odvgpf_config_threads
#define odvgp_constant odvgpf_constant
#define odvgp_falling odvgpf_falling
#define odvgp_rising odvgpf_rising
#define odvgp_status_text odvgpf_status_text
#define odvgp_fit odvgpf_fit
#define odvgp_model_create odvgpf_model_create
#define odvgp_model_free odvgpf_model_free
#define odvgp_save_file odvgpf_save_file
#define odvgp_load_file odvgpf_load_file
#define odvgp_predict_once odvgpf_predict_once
#define odvgp_model_size odvgpf_model_size
#define odvgp_model_init odvgpf_model_init
#define odvgp_model_copy odvgpf_model_copy
#define odvgp_model_config odvgpf_model_config
#define odvgp_init_data odvgpf_init_data
#define odvgp_init_q odvgpf_init_q
#define odvgp_warm_start_scratch odvgpf_warm_start_scratch
#define odvgp_warm_start odvgpf_warm_start
#define odvgp_column_scales odvgpf_column_scales
#define odvgp_standardise odvgpf_standardise
#define odvgp_step odvgpf_step
#define odvgp_step_batch odvgpf_step_batch
#define odvgp_elbo odvgpf_elbo
#define odvgp_elbo_columns odvgpf_elbo_columns
#define odvgp_natgrad_step odvgpf_natgrad_step
#define odvgp_fit_q_scratch odvgpf_fit_q_scratch
#define odvgp_fit_q odvgpf_fit_q
#define odvgp_upper_bound odvgpf_upper_bound
#define odvgp_slot_count odvgpf_slot_count
#define odvgp_slot_at odvgpf_slot_at
#define odvgp_slot_find odvgpf_slot_find
#define odvgp_param_count odvgpf_param_count
#define odvgp_get odvgpf_get
#define odvgp_set odvgpf_set
#define odvgp_set_trainable odvgpf_set_trainable
#define odvgp_set_bounds odvgpf_set_bounds
#define odvgp_set_prior odvgpf_set_prior
#define odvgp_set_step_sizes odvgpf_set_step_sizes
#define odvgp_steps_done odvgpf_steps_done
#define odvgp_model_events odvgpf_model_events
#define odvgp_kernel_text odvgpf_kernel_text
#define odvgp_kernel_column odvgpf_kernel_column
#define odvgp_predictor_size odvgpf_predictor_size
#define odvgp_freeze odvgpf_freeze
#define odvgp_server_from_block odvgpf_server_from_block
#define odvgp_server_from_memory odvgpf_server_from_memory
#define odvgp_server_size odvgpf_server_size
#define odvgp_predict_scratch odvgpf_predict_scratch
#define odvgp_predict odvgpf_predict
#define odvgp_predict_y odvgpf_predict_y
#define odvgp_predict_cov odvgpf_predict_cov
#define odvgp_predict_functions odvgpf_predict_functions
#define odvgp_predict_logp odvgpf_predict_logp
#define odvgp_predict_gradient odvgpf_predict_gradient
#define odvgp_predict_gradient_scratch odvgpf_predict_gradient_scratch
#define odvgp_predict_y_gradient odvgpf_predict_y_gradient
#define odvgp_compact_size odvgpf_compact_size
#define odvgp_compact_scratch odvgpf_compact_scratch
#define odvgp_compact_gradient_scratch odvgpf_compact_gradient_scratch
#define odvgp_compact odvgpf_compact
#define odvgp_predict_moments odvgpf_predict_moments
#define odvgp_predict_moments_scratch odvgpf_predict_moments_scratch
#define odvgp_predict_sigma_points odvgpf_predict_sigma_points
#define odvgp_predict_sigma_points_scratch odvgpf_predict_sigma_points_scratch
#define odvgp_path_size odvgpf_path_size
#define odvgp_path_start odvgpf_path_start
#define odvgp_path_at odvgpf_path_at
#define odvgp_online odvgpf_online
#define odvgp_online_size odvgpf_online_size
#define odvgp_online_scratch odvgpf_online_scratch
#define odvgp_online_start odvgpf_online_start
#define odvgp_online_update odvgpf_online_update
#define odvgp_online_add odvgpf_online_add
#define odvgp_online_drop odvgpf_online_drop
#define odvgp_online_seal odvgpf_online_seal
#define odvgp_export_scratch odvgpf_export_scratch
#define odvgp_export odvgpf_export
#define odvgp_sample_scratch odvgpf_sample_scratch
#define odvgp_sample odvgpf_sample
#define odvgp_save_size odvgpf_save_size
#define odvgp_save_memory odvgpf_save_memory
#define odvgp_load_size odvgpf_load_size
#define odvgp_load_memory odvgpf_load_memory
#define odvgp_load_user odvgpf_load_user
#define odvgp_file_write odvgpf_file_write
#define odvgp_file_size odvgpf_file_size
#define odvgp_file_read odvgpf_file_read
#define odvgp_pool_size odvgpf_pool_size
#define odvgp_pool_start odvgpf_pool_start
#define odvgp_pool_stop odvgpf_pool_stop
#define odvgp_blas_size odvgpf_blas_size
#define odvgp_blas_init odvgpf_blas_init
#define odvgp_blas_isa odvgpf_blas_isa
#define odvgp_gemm odvgpf_gemm
#define odvgp_syrk odvgpf_syrk
#define odvgp_trmm odvgpf_trmm
#define odvgp_trsm odvgpf_trsm
#define odvgp_potrf odvgpf_potrf
#define odvgp_potrf_reverse odvgpf_potrf_reverse
#define odvgp_trtri odvgpf_trtri
#define odvgp_gemmt odvgpf_gemmt
#define odvgp_lauum odvgpf_lauum
#define odvgp_potrf_adjoint odvgpf_potrf_adjoint
/* clang-format on */
#endif

#if (defined(ODVGP_FLOAT) && !defined(ODVGP__H_F32)) || \
		(!defined(ODVGP_FLOAT) && !defined(ODVGP__H_F64))
#ifdef ODVGP_FLOAT
#define ODVGP__H_F32
typedef float odvgp_real;
#else
#define ODVGP__H_F64
typedef double odvgp_real;
#endif

#ifndef ODVGP_API
#ifdef ODVGP_STATIC
#if defined(__GNUC__)
#define ODVGP_API static __attribute__((unused))
#else
#define ODVGP_API static
#endif
#else
#define ODVGP_API extern
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- the config --- */

/*	A number that depends on the step. It goes from start to end over `steps` steps and stays there:
	LINEAR in equal steps, LOGLINEAR in equal ratios (start and end > 0); CONSTANT is end. If
	decay_steps > 0, it goes on to `final` over decay_steps steps from step decay_from (>= steps):
	LINEAR in equal steps, the others in equal ratios (final > 0). */
typedef struct odvgp_schedule {
	odvgp_schedule_kind kind;
	odvgp_real start, end;
	ptrdiff_t steps;
	odvgp_real final;
	ptrdiff_t decay_from, decay_steps;
} odvgp_schedule;

/*	Everything that determines a model. odvgp_config_defaults returns one; most users change member
	and sizes in layer[0], kernel, lik.noise_variance, batch and step sizes in optim. A field whose
	comment names no default has 0, or the enumerator that its type marks as default. If all of lik,
	init, optim or jitter is 0, that struct has its defaults. */
typedef struct odvgp_config {
	/* Rows of data, >= 1. A batch's likelihood is scaled to this many rows. */
	ptrdiff_t N;
	odvgp_objective objective;

	/* Layers in use, 1..ODVGP_MAX_LAYERS (Depth in >>manual). Default 1. */
	ptrdiff_t layers;
	/* From the inputs up; layer[layers - 1] is the last. */
	struct {
		/* Default ORTH + DENSE if M_gamma > 0, else BETA + DENSE. */
		odvgp_mean_part mean_part;
		odvgp_cov_part cov_part;
		/* The kernel as an expression: sums, products and parentheses of base kernels
			   name(lengthscale, variance=1, ard, dims=0:3+5)
		   Names: rbf, matern12, matern32, matern52, rq(.., alpha=1), periodic(.., period=1);
		   without a lengthscale linear(variance, ard), constant(variance), white(variance),
		   polynomial(variance, offset=1, degree=2). >>kernels has the formulas. dims=0:3+5 selects
		   columns 0, 1, 2, 5, none twice. ard gives each column its own lengthscale (linear: its
		   own variance). white is noise of f: only on the diagonal of K(X,X). No initialisation
		   estimates alpha and period. The text must live until the model is made. Default
		   "matern52(ard)". */
		const char *kernel;
		/* Inputs and outputs (latent functions), each >= 1. Above layer[0] D is the P of the layer
		   below, with image_output times its patches; 0 means that. odvgp_likelihood relates the
		   last P to the targets. */
		ptrdiff_t D, P;
		/* Inducing points: |beta| >= 1 and |gamma| >= 0. BETA ignores gamma. */
		ptrdiff_t M, M_gamma;
		odvgp_mean_function mean_function;
		/* If image_height > 0, rows of X are images, inducing inputs are patches, and
		   f(image) = sum_t "weights"_t g(patch t), where g has the kernel. */
		struct {
			/* Pixel (i, j) of channel c is column (i image_width + j) channels + c of X; channels
			   0: 1. */
			ptrdiff_t image_height, image_width, channels;
			/* Size of a patch, and step from patch to patch (0: 1). Pixels that no patch covers are
			   not used. */
			ptrdiff_t height, width, stride;
			/* 1: two more columns of a patch hold its row and column among the patches, for kernels
			   such as "rbf(dims=0:9) * matern32(dims=9:11)". */
			int locations;
			/* 1, for hidden layers: the output is not the sum but an image of P channels: pixel t
			   is g(patch t). */
			int image_output;
		} patches;
		/* What the slots of q hold. WHITENED: reproduce.parametrisation. */
		odvgp_parametrisation parametrisation;
	} layer[ODVGP_MAX_LAYERS];

	/* F >= the last layer's P: the linear model of coregionalisation, whose functions are "mixing"
	   [F,P] times the P latent ones. Their kernel's variances are frozen, at 1 unless the
	   expression gives them. Needs the objective ELBO and a likelihood with F = T. 0: F = P. */
	ptrdiff_t functions;
	/* 1: each of the last layer's P <= 1000 functions has its own hyperparameters, inducing inputs
	   and q, in slots "unit0.kernel.0.lengthscale", ... Needs the objective ELBO. 0: all share them
	   but q. */
	int independent;

	/* For layers > 1. */
	struct {
		/* Samples of the hidden layers for each row, 1..10000: in training (0: 1), and in a
		   predictor (0: 32). */
		ptrdiff_t samples, predict_samples;
		/* 1: the same normals in each step. L-BFGS needs it. */
		int fixed_samples;
		odvgp_hidden_q q_init;
	} deep;

	struct {
		odvgp_likelihood kind;
		/* Quadrature nodes, up to 200 (0: 20), not for the Gaussian. */
		ptrdiff_t nodes;
		/* ORDINAL: classes, 2..200; for others 0. */
		ptrdiff_t classes;
		/* e of BERNOULLI and ROBUSTMAX, 0 <= e < 1/2. */
		odvgp_real link_jitter;
		/* 1: NaN in Y is a missing target, which the bound (ELBO) leaves out. */
		int missing;
		/* 1: behind the targets Y has a column of weights >= 0 (EXACT: > 0), which multiply the
		   rows' log densities. Not with TIGHT. */
		int weights;
		/* 1: Y has a last column e > 0. exposure: exp(f) of POISSON, EXPONENTIAL and
		   NEGATIVE_BINOMIAL becomes e exp(f). known_noise: the Gaussian's noise variance becomes e
		   "noise_variance"; if e is the variance itself, set the slot to 1 and freeze it; not with
		   TIGHT. */
		int exposure, known_noise;
		/* This and the next two are the Gaussian's. 1: "noise_variance" [T], one for each target,
		   with the objective ELBO. */
		int noise_per_output;
		/* Initial noise variance. 0: 0.1, from odvgp_init_data on a tenth of the targets'
		   variance. */
		odvgp_real noise_variance;
		/* Lower bound of the noise variance from odvgp_init_data on, in units of the targets'
		   variance (of 1 if that is 0), because targets without noise drive it to 0.
		   odvgp_set_bounds replaces it. -1: none; other negative values are refused, by
		   odvgp_init_data also a bound that is not finite. 0: max(1e-10, 16 M eps). */
		odvgp_real noise_floor;
	} lik;

	/* How odvgp_init_data chooses initial values. */
	struct {
		odvgp_init_beta beta;
		odvgp_init_gamma gamma;
		odvgp_init_hyper hyperparams;
		/* 1: odvgp_fit begins with odvgp_warm_start where it can; 0: never. Default 1. */
		int warm;
	} init;

	struct {
		odvgp_optimizer kind;
		/* 1: natural gradients move q, Adam the rest. 0: Adam moves all. Default 1. */
		int natgrad;
		/* Rows of a minibatch, >= 1; >= N is full batch. Default min(N, 1024). */
		ptrdiff_t batch;
		/* Gamma columns sampled for the KL per step; 0: all. Default min(M_gamma, 64). */
		ptrdiff_t gamma_batch;
		/* Step sizes of Adam (<= 1e6) and of natural gradients (<= 1). Assign whole schedules: .end
		   by itself keeps the default's start. Defaults odvgp_falling(0.01, 0.001, 5000) and
		   odvgp_falling(0.1, 0.01, 5000). */
		odvgp_schedule lr, natgrad_step;
		odvgp_gamma_step gamma_step;
		/* Gamma's natural step as a multiple of beta's, > 0. Default 0.1. */
		odvgp_real gamma_step_ratio;
		odvgp_real adam_beta1, adam_beta2, adam_eps; /* Defaults 0.9, 0.999, 1e-8. */
		/* Pairs of differences that L-BFGS stores, 1..1000. Default 10. */
		ptrdiff_t lbfgs_memory;
	} optim;

	/* See Jitter in >>manual. */
	struct {
		odvgp_real absolute; /* >= 0 */
		/* 0..1. Default 1e-6; in float max(1e-6, 16 M eps). */
		odvgp_real relative;
		odvgp_real max; /* as relative, 0..1; default 1e-2 */
	} jitter;

	/* Only to reproduce published numbers: the defaults are better or equal. */
	struct {
		odvgp_parametrisation parametrisation;
		odvgp_gamma_coords gamma_coords;
		odvgp_gamma_kl gamma_kl;
		/* JOINT: one evaluation serves the natural step and Adam. The others evaluate twice, as
		   published codes do. */
		odvgp_update update;
		/* Initial q(u): PRIOR, or IDENTITY: S = I in the slots' coordinates. */
		odvgp_q_init q_init;
		odvgp_blocks_step blocks_step;
		odvgp_diag_step diag_step;
		/* gamma_eps of [ODVGP] eq. 16, in units of the kernel, >= 0. 0: a hundredth of the kernel's
		   variance. */
		odvgp_real gamma_eps;
		int adam_eps_inside; /* 1: eps as in [ADAM] algorithm 1; 0: as in TensorFlow */
	} reproduce;

	/* The unbounded t that optimisers move for a positive value. EXP, value e^t: steps are
	   relative, whatever the units of the data. SOFTPLUS, value log(1 + e^t), as in the papers:
	   only for values around 1, because absolute steps hardly move larger ones. Default EXP. */
	odvgp_positive_transform positive_transform;
	/* Rows per tile; 0: min(batch, 256), fewer if a layer would have more than 4,096 inputs, halved
	   down to 64 if K(X, Z_gamma) then fits kernel_cache_bytes. Affects memory and last bits. */
	ptrdiff_t tile;
	/* Largest K(X, Z_gamma) of a tile, in bytes, that is kept for the gradient; a larger one is
	   computed twice, to the same bits. Also limits the products of P > 1 covariance factors with
	   the features. 0 keeps nothing. Default 16 MiB. */
	ptrdiff_t kernel_cache_bytes;
	/* Shards of a step's tiles, a power of two up to 65536. Their sums are added up a binary tree:
	   several processes that each compute some of them get the same bits. Default 1. */
	ptrdiff_t shards;
	uint64_t seed;         /* for minibatches, sampled columns and initialisation */
	odvgp_threads threads; /* {0}: serial */
	/* Forces an instruction set, for tests; E_UNSUPPORTED if the machine lacks it. */
	odvgp_isa isa;
} odvgp_config;

typedef struct odvgp_model odvgp_model; /* a model for training, in one block of memory */

/* --- what calls read and fill --- */

/*	A handle on a predictor, the caller's. odvgp_server_from_block or odvgp_server_from_memory fills
	it, again if the predictor's block has moved; other calls only read it. To change models while
	they run, callers take the server from one pointer, which one (atomic) assignment changes; the
	old block must stay until the last call that began with it has ended. */
typedef struct odvgp_server {
	const void *block;
	const struct odvgp__simd *isa; /* the instruction set's table */
	ptrdiff_t D;                  /* inputs */
	ptrdiff_t P, F, T; /* latent functions, functions that the likelihood sees, targets */
	ptrdiff_t y_rows;  /* of odvgp_predict_y's outputs: classes, else T */
} odvgp_server;

/*	Settings of a warm start; {0, 0, 0, 0} are the defaults. */
typedef struct odvgp_warm {
	/* Random rows, at most N. 0: min(N, max(4096, 20 M)). */
	ptrdiff_t rows;
	/* Inducing points. 0: the model's M. With another number Z_beta stays. */
	ptrdiff_t M;
	/* Most iterations of L-BFGS. 0: 60. */
	ptrdiff_t iterations;
	/* Above 0: the step size of Adam, which replaces L-BFGS and keeps lengthscales that L-BFGS
	   drives to infinity. */
	odvgp_real adam;
} odvgp_warm;

/*	What a step computed. elbo, expected_loglik and kl are minibatch estimates before the update. */
typedef struct odvgp_report {
	ptrdiff_t step;             /* steps done so far, including this one */
	odvgp_real elbo;            /* expected_loglik - kl, in nats for all N rows */
	odvgp_real expected_loglik; /* N/B sum E_q[log p], plus log densities of priors */
	odvgp_real kl;              /* an estimate, if gamma columns are sampled */
	/* Step sizes used. With L-BFGS lr is the step length, 0 if none was found. */
	odvgp_real lr, natgrad_step;
	/* L-BFGS: gradient and decrease are small, or a step can gain only little. */
	int converged;
	/* L-BFGS: no step lowers the loss, although the gradient promises more than rounding errors. */
	int stuck;
	ptrdiff_t evaluations; /* of the bound in this step */
	odvgp_events events;
} odvgp_report;

typedef struct odvgp_progress {
	odvgp_phase phase;
	ptrdiff_t done, total;
	/* Of the step just done; NULL within a step and in other phases. */
	const odvgp_report *report;
} odvgp_progress;

/*	Called by the caller's thread while a call loops: between iterations, steps and tiles, and
	within larger products, after at most some 1e10 multiplications. A non-zero result ends the call
	with E_STOPPED and without another call of the watch, which may use the model only if `report`
	is set. It does not change the bits of what is computed. call NULL: no watch. */
typedef struct odvgp_watch {
	int (*call)(void *user, const odvgp_progress *progress);
	void *user;
} odvgp_watch;

/*	One named part of the parameter vector. */
typedef struct odvgp_slot {
	/* With several layers names begin with layer0, layer1, ... and a dot, then with independent
	   functions with unit0, unit1, ... and a dot; "mixing" and the likelihood's have no unit.
	   kernel, its term 0:	"kernel.0.lengthscale" "kernel.0.variance" "kernel.0.alpha"
							"kernel.0.period" "kernel.0.offset"
	   likelihood:			"noise_variance" [1 or T] or those at odvgp_likelihood
	   mean function:		"mean.c" "mean.A" "mean.b"
	   patches:				"weights", 1 at the start
	   mixed functions:		"mixing" [F,P]
	   beta:				"Z_beta" "q_mu" "a_beta" "q_sqrt"; INVERSE "B_sqrt"; DIAGONAL "q_diag"
	   gamma:				"Z_gamma"; ORTH, HYBRID "a_gamma"; BLOCKS "v_mu" "v_sqrt";
							FREE "Z_alpha" "a" */
	const char *name;
	int dims;           /* 1, 2 or 3 */
	ptrdiff_t shape[3]; /* unused ones are 1 */
	ptrdiff_t offset;   /* into the parameter vector */
	ptrdiff_t count;    /* product of the shape */
	/* The vector stores an unbounded number; odvgp_get and odvgp_set use the positive value. */
	int positive;
	int lower; /* lower triangular: entries above the diagonal stay 0 */
	int trainable;
	int natgrad; /* moved by natural gradients */
} odvgp_slot;

/*	Scales for predictions in original units: x' = (x - x_mean) / x_scale,
	y' = (y - y_mean) / y_scale, where the model was trained on x' and y'. A NULL mean is 0, a NULL
	scale is 1. */
typedef struct odvgp_scales {
	const odvgp_real *x_mean, *x_scale; /* [D] */
	const odvgp_real *y_mean, *y_scale; /* [T] */
} odvgp_scales;

/* ---- >>api_easy   create, fit, predict, free; memory from malloc */

/*	The sentence that describes a status, never NULL. */
ODVGP_API const char *odvgp_status_text(odvgp_status status);

#ifndef ODVGP_NO_TRAINING
/*	A config with the defaults named above. odvgp_model_size checks the sizes. */
ODVGP_API odvgp_config odvgp_config_defaults(
		ptrdiff_t N, ptrdiff_t D, ptrdiff_t P, ptrdiff_t M, ptrdiff_t M_gamma);

/*	Set one field by its name, for configs from a command line, a file or another language:
		odvgp_config_set(&cfg, "kernel=rbf(ard)", &info);
		odvgp_config_set(&cfg, "optim.lr=0.01-0.001:5000", &info);
	name	the field's path as in C, with layer1 for layer[1]; any field but threads. Without a
			prefix, a layer's field is the last layer's. layers=2 adds layers like the last, with
			D = 0 and no patches
	value	sizes and reals: a decimal number, whatever the locale: 100, 1e-3. Choices: the
			enumerator without its prefix in lower case ("reproduce.diag_step=projected_mu"), or its
			number; on or off for fields that are 0 or 1. Schedules: 0.01 is constant, 0.1-0.01
			falls over 5,000 steps, 0.1-0.01:2000 over 2,000. kernel takes all that follows the '='
	Spaces and tabs around name and value do not count. odvgp_model_size later checks kernel, isa
	and combinations of fields.
	Returns	E_NAME (no such field) | E_ARG (also: not a value of the field; info lists a choice's
			words) | E_SIZE (a size out of range)
	odvgp_config_name	name of field i = 0, 1, ..., without the layer's prefix; then NULL
	odvgp_config_words	a choice's words, in the order of its numbers, a space between; else NULL
	odvgp_likelihood_about and odvgp_kernel_about describe a likelihood, and base kernel i = 0, 1,
	...
	For languages that cannot read this header, odvgp_config_size returns sizeof(odvgp_config), and
	odvgp_config_threads sets config.threads. */
ODVGP_API odvgp_status odvgp_config_set(
		odvgp_config *config, const char *assignment, odvgp_info *info);
ODVGP_API const char *odvgp_config_name(int i);
ODVGP_API const char *odvgp_config_words(const char *name);
ODVGP_API odvgp_likelihood_facts odvgp_likelihood_about(odvgp_likelihood kind);
ODVGP_API odvgp_kernel_facts odvgp_kernel_about(int i);
ODVGP_API size_t odvgp_config_size(void);
ODVGP_API void odvgp_config_threads(odvgp_config *config, const odvgp_threads *threads);

/*	Schedules for step sizes: constant; or in equal ratios over `steps` steps, then constant.
	bench/RESULTS.md shows how the defaults were chosen. */
ODVGP_API odvgp_schedule odvgp_constant(odvgp_real value);
ODVGP_API odvgp_schedule odvgp_falling(odvgp_real from, odvgp_real to, ptrdiff_t steps);
/*	Rise in equal ratios over `steps` steps, then fall to `final` over decay_steps (0: stay). Other
	likelihoods than the Gaussian begin well with
		cfg.optim.natgrad_step = odvgp_rising(1e-5, 0.1, 100, 0.01, 4900) */
ODVGP_API odvgp_schedule odvgp_rising(
		odvgp_real from, odvgp_real to, ptrdiff_t steps, odvgp_real final, ptrdiff_t decay_steps);

/*	Train for `steps` steps. L-BFGS ends them when a step reports convergence or that it is stuck. A
	Gaussian model of odvgp_model_create that has done no step and that odvgp_set has not changed
	begins with odvgp_warm_start, if config.init.warm is 1, the objective ELBO, and the member takes
	it: 100 iterations of Adam at 0.03, then L-BFGS, in memory of the model's allocator. One that
	fails changes nothing. watch is called before, within and after steps.
	Returns	what odvgp_step returns | E_MEMORY | E_STOPPED: the model is as after its last whole
			step
	Cost	steps times that of odvgp_step */
ODVGP_API odvgp_status odvgp_fit(odvgp_model *model, const odvgp_real *X, const odvgp_real *Y,
		ptrdiff_t steps, const odvgp_watch *watch, odvgp_info *info);

#ifndef ODVGP_NO_MALLOC
/*	Allocate a model and initialise it from the data; *model is NULL on an error.
	Returns	what odvgp_model_init and odvgp_init_data return */
ODVGP_API odvgp_status odvgp_model_create(odvgp_model **model, const odvgp_config *config,
		const odvgp_real *X, const odvgp_real *Y, const odvgp_allocator *allocator,
		odvgp_info *info);
/*	Free a model of odvgp_model_create or odvgp_load_file, or NULL. */
ODVGP_API void odvgp_model_free(odvgp_model *model);

/*	Freeze the model, predict at X [n,D], free the predictor. Costs O(M^3): for many calls, freeze
	once and use odvgp_predict.
		mean, var	[F,n] out or NULL, of f
		var_y		[y_rows,n] out or NULL: variance of a new y; y_rows is the number of classes,
					else T
	Returns	what odvgp_freeze and odvgp_predict return */
ODVGP_API odvgp_status odvgp_predict_once(odvgp_model *model, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean, odvgp_real *var, odvgp_real *var_y, odvgp_info *info);

#ifndef ODVGP_NO_STDIO
/*	Save a model to a file, or create one from it: odvgp_save_memory and odvgp_file_write,
	odvgp_file_read and odvgp_load_memory, whose errors they return. A loaded model has no threads
	and chooses its instruction set; *model is NULL on an error. */
ODVGP_API odvgp_status odvgp_save_file(odvgp_model *model, const char *path, odvgp_info *info);
ODVGP_API odvgp_status odvgp_load_file(
		odvgp_model **model, const char *path, const odvgp_allocator *allocator, odvgp_info *info);
#endif
#endif

/* ---- >>api_staged   caller's memory, single steps, slots, predictors, files */

/* --- making a model --- */

/*	Bytes that a model of this config needs (Memory in >>manual).
	Reasons	E_SIZE | E_KERNEL | E_NAME (row: where no kernel has this name) | E_UNSUPPORTED */
ODVGP_API size_t odvgp_model_size(const odvgp_config *config, odvgp_info *info);

/*	Make a model in the caller's block of odvgp_model_size bytes. It needs no release. Z, q_mu, v_mu
	and a_gamma are 0, q_sqrt and v_sqrt I, hyperparameters those of the kernel expression, else 1:
	call odvgp_init_data, or odvgp_set and then odvgp_init_q.
	Returns	the reasons of odvgp_model_size. On an error *model is NULL and the block's old contents
			may be lost */
ODVGP_API odvgp_status odvgp_model_init(odvgp_model **model, const odvgp_config *config,
		void *block, size_t block_bytes, odvgp_info *info);

/*	Copy a model into another block of the same size: the copy trains and predicts as the model, bit
	for bit, and does not depend on it. Copied back, it restores the model. Models contain pointers
	into their block: no other copy works. odvgp_model_free ignores copies.
	Returns	E_ARG also if the model is in the block. On an error *copy is NULL */
ODVGP_API odvgp_status odvgp_model_copy(odvgp_model **copy, const odvgp_model *model, void *block,
		size_t block_bytes, odvgp_info *info);

/*	The config in use: defaults filled in, .kernel NULL (see odvgp_kernel_text). */
ODVGP_API const odvgp_config *odvgp_model_config(const odvgp_model *model);

/*	Initialise from the data: hyperparameters that the kernel expression does not give
	(config.init.hyperparams), Z_beta (init.beta), Z_gamma (init.gamma), the noise unless
	lik.noise_variance gives it, and q (odvgp_init_q). Column p of "mixing" becomes sqrt(l) e for
	eigenpair p of the targets' correlation matrix, largest first, by power iteration: l at least
	0.01, the largest entry of e positive, missing targets at their mean; rows times the targets'
	standard deviations if f has the unit of y.
	From then on Adam and L-BFGS measure steps of what has a unit (inducing inputs, mean functions,
	...) in standard deviations of the columns of X and Y (before: in units of 1). So training does
	not depend on the targets' unit; with kernels of distances only (not periodic, linear,
	polynomial) on no common unit of all inputs; with MEDIAN and ard, too, on no unit of a column.
	Empties Adam's moments and restores halved step sizes; the count of steps, schedules and the
	order of rows continue.
	Returns	what odvgp_init_q returns
	Cost	O(N D) plus that of the three options, by default O(min(N, 50 M) M D) */
ODVGP_API odvgp_status odvgp_init_data(odvgp_model *model, const odvgp_real *X,
		const odvgp_real *Y, const odvgp_watch *watch, odvgp_info *info);

/*	Reset q to its initial value (config.reproduce.q_init), using the current kernel and inducing
	inputs: q_mu = 0, a_gamma = 0, and q_sqrt such that q(u) is the prior, or the identity. Empties
	Adam's moments and restores step sizes that were halved. odvgp_init_data includes this call.
	Returns	E_NOT_PD and E_NAN (of Kb), where q_sqrt depends on the kernel (PRIMAL and A_BETA at the
			prior) */
ODVGP_API odvgp_status odvgp_init_q(odvgp_model *model, odvgp_info *info);

/*	Improve hyperparameters, noise, prior mean and Z_beta by L-BFGS on the collapsed bound ([VFE])
	of random rows, then set q to its optimum on all rows (odvgp_fit_q): training begins near its
	end. Call odvgp_init_data first; a second call, on more rows, refines. Frozen slots stay;
	bounds, priors and jitter hold. The collapsed bound has one noise: with noise_per_output it
	starts at their geometric mean and ends as all of them. If the bound on some of the rows would
	fall, as rounding can make it with FREE in float, nothing changes. Empties Adam's moments;
	schedules and the count of steps continue.
	Another likelihood than the Gaussian gets kernel, prior mean, Z_beta, scale, shape, size or
	precision from a regression on pseudo-targets: y itself (STUDENTT, LAPLACE, HETEROSCEDASTIC); -1
	to 1 (ORDINAL); -6 or 6 for other classes, for several functions one against the rest (up to
	1,024 rows nothing changes if 50 steps of a COUPLED model do better without it); log(y + 1/2)
	(POISSON, NEGATIVE_BINOMIAL), log y (GAMMA), -log y (EXPONENTIAL), less log of the exposure;
	Phi^-1(y) (BETA). Mixed functions: the least-squares solution g of f = "mixing" g. Rows with a
	missing target do not count. A whitened q (DENSE, BLOCKS) is the regression's for positive
	targets, counts, proportions and mixed functions, else q has its initial value: go on with
	odvgp_rising. settings NULL: the defaults.
	Returns	E_NOT_PD | E_UNSUPPORTED (objective EXACT, several layers, independent functions; with
			the Gaussian, not mixed, also missing targets and a q that odvgp_fit_q refuses)
	Cost	O(iterations rows M^2), with the Gaussian also that of odvgp_fit_q, with few rows of
			classes that of 100 steps */
#ifndef ODVGP_FLOAT_ONLY
ODVGP_API size_t odvgp_warm_start_scratch(
		const odvgp_model *model, const odvgp_warm *settings, odvgp_info *info);
ODVGP_API odvgp_status odvgp_warm_start(odvgp_model *model, const odvgp_real *X,
		const odvgp_real *Y, const odvgp_warm *settings, const odvgp_watch *watch, void *scratch,
		size_t scratch_bytes, odvgp_info *info);
#endif

/*	Mean and standard deviation (divided by n, not n - 1) [D] of the columns of X [n,D], for
	odvgp_scales. The scale of a column that is constant to rounding is 1; the mean of equal numbers
	is that number: their standardised column is exactly 0. No aliases.
	Returns	E_SIZE (n or D below 1, or too large)
	Cost	O(n D) */
ODVGP_API odvgp_status odvgp_column_scales(const odvgp_real *X, ptrdiff_t n, ptrdiff_t D,
		odvgp_real *mean, odvgp_real *scale, odvgp_info *info);

/*	out = (X - mean) / scale by columns; X, out [n,D], mean, scale [D]; out may be X. E_ARG refuses
	n < 0, D < 1, a mean that is not finite, and a scale that is not positive and finite; NaN and
	infinity in X propagate, and differences too large for the type become infinite. Cost O(n D). */
ODVGP_API odvgp_status odvgp_standardise(const odvgp_real *X, ptrdiff_t n, ptrdiff_t D,
		const odvgp_real *mean, const odvgp_real *scale, odvgp_real *out, odvgp_info *info);

/* --- training --- */

/*	One training step on the next minibatch: rows from a random permutation in each epoch, or all if
	batch >= N. A natural step moves q, Adam the other trainable slots; or L-BFGS does one
	iteration. report out or NULL.
	If the last update made the bound implausibly low or impossible to evaluate (NaN, or not
	positive definite up to jitter.max), and the previous parameters do better on the same rows, it
	is undone, step sizes are halved, and events.step_undone counts it. If they do no better, the
	rows are to blame: the step returns an error.
	Returns	E_NAN (in this batch, or the bound) | E_NOT_PD
	Cost	see Choosing sizes in >>manual */
ODVGP_API odvgp_status odvgp_step(odvgp_model *model, const odvgp_real *X, const odvgp_real *Y,
		odvgp_report *report, odvgp_info *info);

/*	odvgp_step on the caller's n >= 1 rows (streams, sorted data). L-BFGS needs n = N, or returns
	E_UNSUPPORTED. */
ODVGP_API odvgp_status odvgp_step_batch(odvgp_model *model, const odvgp_real *X,
		const odvgp_real *Y, ptrdiff_t n, odvgp_report *report, odvgp_info *info);

/*	The bound on the given rows with the full KL: N/n sum E_q[log p] - KL; with n = N the bound
	itself. Changes no parameter and undoes no update.
		elbo	out
		kl		out or NULL
		grad	[odvgp_param_count] out or NULL: gradient of -elbo with respect to the values that
				odvgp_get returns, at slot.offset
	Returns	E_NOT_PD
	Cost	that of a step times n/B */
ODVGP_API odvgp_status odvgp_elbo(odvgp_model *model, const odvgp_real *X, const odvgp_real *Y,
		ptrdiff_t n, odvgp_real *elbo, odvgp_real *kl, odvgp_real *grad, odvgp_info *info);

/*	odvgp_elbo with ORTH's gamma term of the KL estimated (config.reproduce.gamma_kl) from the given
	columns, scaled by M_gamma/count: unbiased over uniformly drawn subsets. A sampled KL can be
	negative. report out: elbo, expected_loglik, kl and events; else 0.
	Returns	E_ARG also for a repeated column | E_UNSUPPORTED with several layers */
typedef struct odvgp_columns {
	const ptrdiff_t *index; /* [count] distinct, 0..M_gamma - 1 */
	ptrdiff_t count;
} odvgp_columns;
ODVGP_API odvgp_status odvgp_elbo_columns(odvgp_model *model, const odvgp_real *X,
		const odvgp_real *Y, ptrdiff_t n, const odvgp_columns *columns, odvgp_report *report,
		odvgp_real *grad, odvgp_info *info);

/*	One natural gradient step of size tau in (0, 1] from the given rows. It moves only q(u),
	SOLVE-GP's q(v), and gamma if optim.gamma_step selects a natural step. A dense q with precision
	P and j = P q_mu, in whitened coordinates, becomes
		P <- (1-tau) P + tau (I - 2 A diag(g_v) A^T)
		j <- (1-tau) j + tau (A g_m - 2 A diag(g_v) A^T q_mu)
	where g_m, g_v are the derivatives of the scaled expected log likelihood ([NATGRAD]; [ODVGP]
	eqs. 15b, 15c). With a Gaussian likelihood, all rows, one layer and no mixing, tau = 1 reaches
	q(u)'s optimum given a; SOLVE-GP's q takes several steps. All outputs move, or none. A previous
	update that cannot be evaluated is undone first, as in odvgp_step. elbo, out or NULL, is the
	bound before the step.
	Where log p(y|f) is not concave in f (STUDENTT, BETA, ROBUSTMAX, HETEROSCEDASTIC, any
	lik.link_jitter), functions are mixed, or the model is deep, odvgp_step, unlike this call,
	halves its natural step, at most 20 times, while the bound on the same rows, evaluated once
	more, is lower.
	Returns	E_NOT_PD also if no step is short enough for some output | E_UNSUPPORTED if the member
			has no natural step
	Cost	that of a step times n/B */
ODVGP_API odvgp_status odvgp_natgrad_step(odvgp_model *model, const odvgp_real *X,
		const odvgp_real *Y, ptrdiff_t n, odvgp_real tau, odvgp_real *elbo, odvgp_info *info);

/*	Set q to the optimum of the member's bound for the current kernel, noise and inducing inputs, in
	one pass over the data. The Gaussian likelihood has closed forms: [VFE] eq. 10; [ODVGP] appendix
	D with the factor 1/noise that its a lacks in print; [SOLVE] eqs. 28, 29. For O(M)'s q_diag the
	natural step is repeated on the sums of the pass until q_diag stays.
	After training with a bound without q, predictions need this call; with ODVGP_OBJECTIVE_EXACT
	the inducing inputs become the rows of X. With ODVGP_OBJECTIVE_ELBO, frozen slots keep their
	values and the others get the optimum given these. Where gamma points add nothing, the optimal a
	is not unique: the call takes one.
	Returns	E_NOT_PD | E_UNSUPPORTED (covariance DIAGONAL with another mean than O(M)'s, HYBRID with
			q_mu frozen and a_gamma not, mixed or independent functions, several layers, another
			likelihood, missing targets)
	Cost	O(N R^2 + R^3), with R features of mean and covariance together */
#ifndef ODVGP_FLOAT_ONLY
ODVGP_API size_t odvgp_fit_q_scratch(const odvgp_model *model, odvgp_info *info);
ODVGP_API odvgp_status odvgp_fit_q(odvgp_model *model, const odvgp_real *X, const odvgp_real *Y,
		const odvgp_watch *watch, void *scratch, size_t scratch_bytes, odvgp_info *info);

/*	Titsias' upper bound of log p(y) with the inducing inputs Z_beta (Variational Inference for
	Gaussian and Determinantal Point Processes, 2014): how far training can still get. lower, out or
	NULL, is Titsias' lower bound. It works for any member, in odvgp_fit_q_scratch bytes and the
	time of odvgp_fit_q.
	Returns	as odvgp_fit_q | E_NAN also if rounding leaves no digit of a bound, because the noise is
			small relative to the targets | E_UNSUPPORTED also for several noises and the objectives
			PARTLY, TIGHT, EXACT */
ODVGP_API odvgp_status odvgp_upper_bound(odvgp_model *model, const odvgp_real *X,
		const odvgp_real *Y, odvgp_real *upper, odvgp_real *lower, void *scratch,
		size_t scratch_bytes, odvgp_info *info);
#endif

/* --- slots --- */

/*	Slots: their number; slot i, or NULL if i is out of range; the slot of this name, or NULL; the
	length of the parameter vector. */
ODVGP_API int odvgp_slot_count(const odvgp_model *model);
ODVGP_API const odvgp_slot *odvgp_slot_at(const odvgp_model *model, int i);
ODVGP_API const odvgp_slot *odvgp_slot_find(const odvgp_model *model, const char *name);
ODVGP_API ptrdiff_t odvgp_param_count(const odvgp_model *model);

/*	Read or write the values of one slot; count is the slot's. Positive slots accept only values
	within their bounds. odvgp_set ignores entries above the diagonal of a lower triangular slot.
	Returns	E_ARG (also: outside the bounds) | E_NAME | E_SIZE (count) | E_NAN (odvgp_set) */
ODVGP_API odvgp_status odvgp_get(const odvgp_model *model, const char *name, odvgp_real *values,
		ptrdiff_t count, odvgp_info *info);
ODVGP_API odvgp_status odvgp_set(odvgp_model *model, const char *name, const odvgp_real *values,
		ptrdiff_t count, odvgp_info *info);

/*	Freeze (trainable = 0) or release (1) a slot. A name that ends in '*', such as "kernel.*", means
	all slots that begin so, here and below. With optim.natgrad the two slots of q(u), or of q(v),
	move together: freezing one stops both. odvgp_natgrad_step moves them anyway. Returns E_NAME. */
ODVGP_API odvgp_status odvgp_set_trainable(
		odvgp_model *model, const char *name, int trainable, odvgp_info *info);

/*	Bounds of a positive slot: low >= 0; high > low, or HUGE_VAL for none. 0 and HUGE_VAL remove
	bounds. Optimisers move an unbounded t, and the value is
		low + e^t, or low + log(1 + e^t) (config.positive_transform); with an upper bound
		low + (high - low) / (1 + e^-t)
	A value outside the bounds, now or later from initialisation or a natural step, is moved just
	inside them, by 1e-3 (high - low), or by 1e-3 low without an upper bound; odvgp_set refuses it.
	Empties Adam's moments of the slot.
	Returns	E_ARG (also: a slot that is not positive) | E_NAME */
ODVGP_API odvgp_status odvgp_set_bounds(
		odvgp_model *model, const char *name, odvgp_real low, odvgp_real high, odvgp_info *info);

/*	Prior density for each value of a positive slot, except q_diag, which is no hyperparameter.
	odvgp_prior defines a and b. The log densities of all these values, trainable or not, are part
	of every bound and gradient, and of report.expected_loglik. They are densities of the value
	itself: the maximum depends neither on config.positive_transform nor on bounds.
	Returns	E_ARG (also: a slot that cannot have a prior) | E_NAME */
ODVGP_API odvgp_status odvgp_set_prior(odvgp_model *model, const char *name, odvgp_prior kind,
		odvgp_real a, odvgp_real b, odvgp_info *info);

/*	Replace config.optim.lr and .natgrad_step, for example to fall over the steps for which there is
	time. Steps count from the model's first; NULL keeps a schedule. */
ODVGP_API odvgp_status odvgp_set_step_sizes(odvgp_model *model, const odvgp_schedule *lr,
		const odvgp_schedule *natgrad_step, odvgp_info *info);

/*	Steps done, and events counted, since the model was made. */
ODVGP_API ptrdiff_t odvgp_steps_done(const odvgp_model *model);
ODVGP_API odvgp_events odvgp_model_events(const odvgp_model *model);

/*	Write the kernel expression with its current values, or several layers' with "; " between them,
	to text [text_bytes], with a final zero. With ard it shows the geometric mean over columns.
	Returns the length needed, without the zero. */
#ifndef ODVGP_FLOAT_ONLY
ODVGP_API size_t odvgp_kernel_text(const odvgp_model *model, char *text, size_t text_bytes);
#endif

/*	The column of X to which number k of the first layer's slot "kernel.<term>.lengthscale" (linear:
	"kernel.<term>.variance") belongs; -1 if there is no such number, or without ard, where one
	serves all columns. */
ODVGP_API ptrdiff_t odvgp_kernel_column(const odvgp_model *model, int term, ptrdiff_t k);

/* --- predictors --- */

/*	Freeze a model: write its predictor, a block without pointers that can be copied, stored, or put
	in ROM. scales NULL: none. It works in builds of the same version and precision, with any
	pointers and instruction sets, on machines of the same byte order. If no predictor can be
	computed after the last update, odvgp_freeze and odvgp_save_memory undo it, as odvgp_step does.
		block	odvgp_predictor_size bytes, aligned for a real, at best to 64 bytes
	Returns	E_ARG (also: a scale out of range, or no odvgp_fit_q after training with a bound without
			q) | E_SIZE | E_NOT_PD
	Cost	O(M^3 + M Mg D), once */
ODVGP_API size_t odvgp_predictor_size(const odvgp_model *model, odvgp_info *info);
ODVGP_API odvgp_status odvgp_freeze(odvgp_model *model, const odvgp_scales *scales, void *block,
		size_t block_bytes, odvgp_info *info);
#endif

/*	Fill a server. Both ways check alignment, size, version, kernel, checksum and numbers, on which
	later calls rely, and select the instruction set.
		odvgp_server_from_block		block holds the bytes of odvgp_freeze, must be aligned for a
									real, best to 64 bytes (an array of unsigned char may not be),
									and must stay: the server points to it. A kernel with more terms
									than ODVGP_MAX_BASE_KERNELS is refused
		odvgp_server_from_memory	file is a model file, of either precision. What odvgp_freeze
									writes goes to block, of odvgp_server_size bytes; the file is
									not needed afterwards
		odvgp_load_user				points *user to the caller's own bytes in such a file
	Returns	E_FORMAT (not a predictor, or damaged) | E_UNSUPPORTED (other version or precision, too
			many terms, left out of the build, instruction set missing)
	Cost	reads each byte once */
ODVGP_API odvgp_status odvgp_server_from_block(odvgp_server *server, const void *block,
		size_t block_bytes, odvgp_isa isa, odvgp_info *info);
#ifndef ODVGP_PREDICT_ONLY
ODVGP_API size_t odvgp_server_size(const void *file, size_t file_bytes, odvgp_info *info);
ODVGP_API odvgp_status odvgp_server_from_memory(odvgp_server *server, const void *file,
		size_t file_bytes, odvgp_isa isa, void *block, size_t block_bytes, odvgp_info *info);
ODVGP_API odvgp_status odvgp_load_user(const void *file, size_t file_bytes, const void **user,
		size_t *user_bytes, odvgp_info *info);
#endif

/*	Scratch bytes to predict `rows` >= 1 rows at once; more rows take more passes. They depend on
	model, rows, precision, instruction set and ODVGP_MAX_BASE_KERNELS; for a static array on a
	target, print them on a 64-bit host with the target's isa (plain C: ODVGP_ISA_C). */
ODVGP_API size_t odvgp_predict_scratch(
		const odvgp_server *server, ptrdiff_t rows, odvgp_info *info);

/*	Mean and marginal variance of f at new inputs (odvgp_mean_part). The variance is never negative.
	With several layers, here and below, they are those of a mixture over samples of the hidden
	layers; the normals are stored (as a seed), the same for all rows.
		X		[n >= 0,D], original units if odvgp_freeze got scales
		mean	[F,n] out or NULL, units of y
		var		[F,n] out or NULL, units of y squared
		scratch	odvgp_predict_scratch bytes for some rows >= 1
		Outputs may not alias X.
	Returns	E_SIZE | E_NAN: if a result is not finite, outputs hold all results, here and below
	Cost	O(n M^2 + n Mg D), SOLVE-GP O(n (M + Mg)^2); without variances O(n (M + Mg) D) */
ODVGP_API odvgp_status odvgp_predict(const odvgp_server *server, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean, odvgp_real *var, void *scratch, size_t scratch_bytes, odvgp_info *info);

/*	Mean and variance of y at new inputs, [server->y_rows,n] out or NULL. Likelihoods of classes
	(ORDINAL, ROBUSTMAX, SOFTMAX): each class's probability p, and p - p^2. STUDENTT's variance is
	infinite for df <= 2, which returns E_NAN. Exposure and known_noise count as 1. With exposure e,
	counts of mean m and variance v have e m and e m + e^2 (v - m), EXPONENTIAL has m / e and
	v / e^2. Here and below, unless said otherwise, scratch, errors and cost are those of
	odvgp_predict with variances, plus the likelihood's integrals. */
ODVGP_API odvgp_status odvgp_predict_y(const odvgp_server *server, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean_y, odvgp_real *var_y, void *scratch, size_t scratch_bytes,
		odvgp_info *info);

#ifndef ODVGP_PREDICT_ONLY
/*	Mean [F,n] (or NULL) and symmetric covariance [F,n,n] of f at the rows of X.
		scratch	odvgp_predict_scratch bytes for n rows
	Returns	E_UNSUPPORTED (several layers)
	Cost	O(n M^2 + n^2 M) */
ODVGP_API odvgp_status odvgp_predict_cov(const odvgp_server *server, const odvgp_real *X,
		ptrdiff_t n, odvgp_real *mean, odvgp_real *cov, void *scratch, size_t scratch_bytes,
		odvgp_info *info);

/*	Mean [F,n] (or NULL) and covariance [F,F,n] of the functions at each row of X; not diagonal if
	they are mixed. Returns E_UNSUPPORTED (several layers). */
ODVGP_API odvgp_status odvgp_predict_functions(const odvgp_server *server, const odvgp_real *X,
		ptrdiff_t n, odvgp_real *mean, odvgp_real *cov, void *scratch, size_t scratch_bytes,
		odvgp_info *info);
#endif

/*	Moments of f with their gradients in X, any number of rows: for solvers and filters, which need
	a Jacobian. What is NULL is not computed. The Gaussian likelihood's mean and variance of y have
	the same gradients. A derivative of MATERN12 at distance 0, where there is none, counts as 0, as
	does that of a part of the variance that rounding would make negative.
		mean, var    [F,n] as odvgp_predict has them
		dmean, dvar  [F,n,D] units of mean and var by those of a column of X
		hessian      [F,n,D,D] second derivatives of mean
		cov          [F,n,n] as odvgp_predict_cov has it; scratch for n rows then
		scratch      odvgp_predict_gradient_scratch bytes for some rows >= 1
	Returns  as odvgp_predict; also E_UNSUPPORTED: several layers, images
	Cost     two to three times that of odvgp_predict; (M + Mg) D^2 n more for
			 each Hessian
	Threads  any number on one server, each with its own scratch; it writes nothing else, so an
			 interrupt may call it */
typedef struct odvgp_gradient {
	odvgp_real *mean, *var, *dmean, *dvar, *hessian, *cov;
} odvgp_gradient;
ODVGP_API size_t odvgp_predict_gradient_scratch(
		const odvgp_server *server, ptrdiff_t rows, odvgp_info *info);
ODVGP_API odvgp_status odvgp_predict_gradient(const odvgp_server *server, const odvgp_real *X,
		ptrdiff_t n, const odvgp_gradient *gradient, void *scratch, size_t scratch_bytes,
		odvgp_info *info);

#ifndef ODVGP_PREDICT_ONLY
/*	The same of y: mean, var [T,n] as odvgp_predict_y has them, with their gradients dmean and dvar
	[T,n,D]; all four are needed, hessian and cov NULL. For the likelihoods with closed moments:
	GAUSSIAN, STUDENTT and LAPLACE, which add a constant, BERNOULLI, POISSON, EXPONENTIAL,
	NEGATIVE_BINOMIAL, GAMMA; others return E_UNSUPPORTED. Scratch and cost are those of
	odvgp_predict_gradient and odvgp_predict_y. */
ODVGP_API odvgp_status odvgp_predict_y_gradient(const odvgp_server *server, const odvgp_real *X,
		ptrdiff_t n, const odvgp_gradient *gradient, void *scratch, size_t scratch_bytes,
		odvgp_info *info);

/*	Moments of f(x) for an uncertain input x ~ N(m, S). What is NULL is not computed.
		odvgp_predict_moments		[PILCO]: exact for sums and products of rbf, constant and linear
									(at most two in a product), in double; that of odvgp_predict
									where S is 0
		odvgp_predict_sigma_points	any kernel, both precisions: the mean over 2 D predictions, at
									m +- sqrt(D) times the columns of a root of S; exact where all
									of it is cubic in x
		m, S       [D], symmetric [D,D]; units of X. S may be singular, or 0
		mean, cov  [F], [F,F] out; variances are never negative
		input_cov  [D,F] out, Cov(x,f)
		scratch    odvgp_predict_moments_scratch or odvgp_predict_sigma_points_scratch bytes
	Returns	E_ARG (also: S is no covariance) | E_UNSUPPORTED (several layers; images; exact moments
			of other kernels, which info.what names, of more than 64 terms multiplied out, or in
			float)
	Cost	exact O((M + Mg)^2 D) for each pair of terms and of independent outputs, and P M^3 */
typedef struct odvgp_moments {
	odvgp_real *mean, *cov, *input_cov;
} odvgp_moments;
#ifndef ODVGP_FLOAT_ONLY
ODVGP_API size_t odvgp_predict_moments_scratch(const odvgp_server *server, odvgp_info *info);
ODVGP_API odvgp_status odvgp_predict_moments(const odvgp_server *server, const odvgp_real *m,
		const odvgp_real *S, const odvgp_moments *moments, void *scratch, size_t scratch_bytes,
		odvgp_info *info);
ODVGP_API size_t odvgp_predict_sigma_points_scratch(const odvgp_server *server, odvgp_info *info);
ODVGP_API odvgp_status odvgp_predict_sigma_points(const odvgp_server *server, const odvgp_real *m,
		const odvgp_real *S, const odvgp_moments *moments, void *scratch, size_t scratch_bytes,
		odvgp_info *info);

/*	One function f drawn from the posterior, for rollouts: any inputs in any order see the same f
	[PATHS]. Each path draws its own `features` frequencies for each term of the kernel, so mean and
	covariance over paths are those of odvgp_predict_cov for any number; with more, a single f is
	closer to Gaussian. Those of linear, and of polynomial where it has at most `features` products
	of columns, are exact.
		path      a function of seed; in block, of odvgp_path_size bytes, which must not move, nor
				  must server's block
		features  1..2^20, such as 500
		x, f, df  [D]; [F] out or NULL; gradient [F,D] out or NULL
	Returns	E_UNSUPPORTED (periodic, white, which info.what names; more than 64 terms multiplied out;
			several layers; images)
	Cost	for U independent kernels start O((U M + P) features D + P M^2), a value
			O((U features + U M + P Mg) D)
	Threads	one on a path at a time */
typedef struct odvgp_path odvgp_path;
ODVGP_API size_t odvgp_path_size(const odvgp_server *server, ptrdiff_t features, odvgp_info *info);
ODVGP_API odvgp_status odvgp_path_start(const odvgp_server *server, odvgp_path **path,
		uint64_t seed, ptrdiff_t features, void *block, size_t block_bytes, odvgp_info *info);
ODVGP_API odvgp_status odvgp_path_at(odvgp_path *path, const odvgp_real *x, odvgp_real *f,
		odvgp_real *df, odvgp_info *info);
#endif

/*	log p(y|data) of each row of targets Y [n,T]: logp [n], summed over outputs, for y in its own
	units. Y has the columns of training, none missing; weights do not count. An output's log p is
	right to 1e-8 (1 + |log p|), in float to 1e-4 plus what rounding of its inputs causes; SOFTMAX's
	to 1e-6 up to four classes, for standard deviations of f below 240; else its p add up to 0.95 to
	1. */
ODVGP_API odvgp_status odvgp_predict_logp(const odvgp_server *server, const odvgp_real *X,
		const odvgp_real *Y, ptrdiff_t n, odvgp_real *logp, void *scratch, size_t scratch_bytes,
		odvgp_info *info);

/*	Joint samples of f at the rows of X: f [draws->count,F,n]. A pivoted Cholesky factorisation
	takes singular covariances without jitter. Sample number s depends only on seed and s. With
	several layers each sample of a layer is drawn at one of the layer below. Takes
	odvgp_sample_scratch bytes; cost O(n M^2 + P n^2 (M + n) + count P n^2). */
typedef struct odvgp_draws {
	ptrdiff_t count; /* >= 0 */
	uint64_t seed;
} odvgp_draws;
ODVGP_API size_t odvgp_sample_scratch(const odvgp_server *server, ptrdiff_t n, odvgp_info *info);
ODVGP_API odvgp_status odvgp_sample(const odvgp_server *server, const odvgp_real *X, ptrdiff_t n,
		const odvgp_draws *draws, odvgp_real *f, void *scratch, size_t scratch_bytes,
		odvgp_info *info);
#endif

#if !defined(ODVGP_NO_TRAINING) && !defined(ODVGP_FLOAT_ONLY)
/*	Rewrite a server's predictor for builds with ODVGP_PREDICT_ONLY: a block of the numbers that
	predictions read and about 100 bytes, for the machine's byte order and this precision.
		server	of one layer of points, of odvgp_freeze's block or a file; all members and kernels
		block	odvgp_compact_size bytes, aligned for a real
		odvgp_compact_scratch, odvgp_compact_gradient_scratch: what a controller's calls need
	Returns	E_UNSUPPORTED (several layers, images) | E_SIZE (a size from 65,536 on, or above 4 GB)
	Cost	reads and writes each number once */
ODVGP_API size_t odvgp_compact_size(const odvgp_server *server, odvgp_info *info);
ODVGP_API size_t odvgp_compact_scratch(const odvgp_server *server, odvgp_info *info);
ODVGP_API size_t odvgp_compact_gradient_scratch(const odvgp_server *server, odvgp_info *info);
ODVGP_API odvgp_status odvgp_compact(
		const odvgp_server *server, void *block, size_t block_bytes, odvgp_info *info);
#endif

#ifndef ODVGP_PREDICT_ONLY
/* --- learning online --- */

/*	A predictor whose q(u) learns new rows, in the caller's memory and without the code for training.
	Hyperparameters and a_gamma stay. With the Gaussian likelihood q is what odvgp_fit_q would make
	of all rows (SOLVE-GP's also with the correlation of its blocks); with others each row is a
	natural step of length 1 from the q before it. Any prediction may use &online.server between
	updates: there is no inverse to compute first. Moments at uncertain inputs, paths, odvgp_export
	and odvgp_compact return E_UNSUPPORTED. */
typedef struct odvgp_online {
	odvgp_server server;
	/* Above 0: before odvgp_online_update learns a row, x becomes an inducing input if the others
	   leave more than this part of k(x,x) unexplained; then, while they are more than `keep`, that
	   of least loss is dropped. odvgp_online_start sets 0 and M. */
	odvgp_real novelty;
	ptrdiff_t keep;
	double loss; /* of all points dropped so far */
	/* Counts: points added; rows learned; rows with a negative weight, which moved the mean of some
	   function but not its variance; rows of which rounding lost more than half. With lambda < 1
	   float holds any number of rows. With 1, at 12 points, its mean was within 0.01 standard
	   deviations of double's for 30,000 rows, the standard deviation within 1 % for 10^6; the first
	   rows were lost after some 5 10^6. */
	uint64_t added, rows, negative, lost;
	/* private */
	ptrdiff_t most, turn;
	odvgp_real jitter, *z, *m, *c;
} odvgp_online;

/*	Begin with the q of a server, whose block is not needed afterwards.
		most	largest number of inducing points, >= M; only if > M new ones have room
		block	odvgp_online_size bytes; must not move
		scratch	odvgp_online_scratch bytes, here and below; enough for odvgp_predict of one row
	Returns	E_UNSUPPORTED: several layers, mixed functions, variances INVERSE and DIAGONAL | E_NAN: q
			is singular; block's old contents are lost
	Cost	O(P M^3) once */
#ifndef ODVGP_FLOAT_ONLY
ODVGP_API size_t odvgp_online_size(const odvgp_server *server, ptrdiff_t most, odvgp_info *info);
ODVGP_API size_t odvgp_online_scratch(const odvgp_server *server, ptrdiff_t most, odvgp_info *info);
ODVGP_API odvgp_status odvgp_online_start(odvgp_online *online, const odvgp_server *server,
		ptrdiff_t most, void *block, size_t block_bytes, void *scratch, size_t scratch_bytes,
		odvgp_info *info);

/*	Learn rows, one after the other.
		X, Y	[n >= 0,D], [n, columns of training], original units; NaN in Y: a missing target
		lambda	in (0, 1]: earlier rows count lambda times as much after each row, and q(u) returns
				to its prior (with ORTH's part of a_gamma) where they are all; 1: nothing is forgotten
	Returns	E_NAN: a row or its derivatives are not finite; if X and Y are, those before it have been
			learned
	Cost	a row takes (M + Mg) D + (1 + 6 P) M^2 / 2 multiplications, unless the likelihood is the
			Gaussian P M^2 / 2 more, if lambda < 1 some P M^2 (1 + M (1 - lambda)) more. Plain C in
			float, 64 points, D = 6: 77,000 instructions of a Cortex-A7, up to 127,000 with lambda
			0.999; 71,000 for odvgp_predict_gradient; 43 KB of block and scratch */
ODVGP_API odvgp_status odvgp_online_update(odvgp_online *online, const odvgp_real *X,
		const odvgp_real *Y, ptrdiff_t n, odvgp_real lambda, void *scratch, size_t scratch_bytes,
		odvgp_info *info);

/*	Change inducing inputs, other than those of images and independent functions.
		add		X [D], original units, becomes the last one; predictions stay the same
		drop	number k goes; -1: that of least loss, without the newest keep / 2. q of the others
				stays, f given them has its prior again. loss, out or NULL: KL(q before || q after)
	To move a point, add one and drop one. Then predictions need scratch for the new number.
	Returns	E_SIZE: there are `most`, or one | E_NOT_PD: the others determine f(x)
	Cost	O(P M^2), with -1 O(P M^3) */
ODVGP_API odvgp_status odvgp_online_add(odvgp_online *online, const odvgp_real *X, void *scratch,
		size_t scratch_bytes, odvgp_info *info);
ODVGP_API odvgp_status odvgp_online_drop(odvgp_online *online, ptrdiff_t k, double *loss,
		void *scratch, size_t scratch_bytes, odvgp_info *info);

/*	Write the checksum of the predictor at online.server.block. The bytes returned can be stored, and
	opened by odvgp_server_from_block, until the next update. */
ODVGP_API size_t odvgp_online_seal(odvgp_online *online, odvgp_info *info);
#endif
#endif

#if !defined(ODVGP_NO_TRAINING) && !defined(ODVGP_FLOAT_ONLY)
/*	A frozen model as one C header, for C99 and C++17, of constant tables and functions that need
	nothing but math.h:
		NAME_predict(x, mean, var)							as odvgp_predict for one row; var or NULL
		NAME_predict_gradient(x, mean, var, dmean, dvar)	as odvgp_predict_gradient
		NAME_predict_y(x, mean, var)						as odvgp_predict_y; integrals without a
															closed form take 20 nodes of a rule
		NAME_self_test()									the largest error at ten rows between
															inducing points, in units of the prior
	Decimals give the same bits back. The header allocates nothing and has no variables. Inputs
	must be finite, in float below 1e15 in units of the lengthscale; they are not checked.
		settings	write gets the text in pieces and returns 0 to go on; NULL: only costs are counted
		costs	out or NULL: for one row on a Cortex-M4F (gcc -Os); estimates but for the tables;
				nothing is written to static RAM
		scratch	odvgp_export_scratch bytes
	Returns	E_UNSUPPORTED (several layers, images, SOFTMAX above four classes) | E_STOPPED (write) |
			E_NAN (a number does not fit settings.real; the text has been written by then) | what
			odvgp_predict_gradient returns */
typedef struct odvgp_export_settings {
	const char *name; /* of the functions: a name in C of at most 40 characters */
	int real;         /* bytes of its numbers, 4 or 8; 0: of odvgp_real */
	int no_libm;      /* 1: functions of libm are written, too */
	/* NULL or text: into the first comment; C code behind it, such as constants */
	const char *about, *constants;
	int (*write)(void *user, const char *text, size_t bytes);
	void *user;
} odvgp_export_settings;
typedef struct odvgp_export_costs {
	size_t flash, stack, text_bytes; /* bytes; code and tables; of NAME_predict; of the header */
	double mean, moments, gradient; /* instructions */
} odvgp_export_costs;
ODVGP_API size_t odvgp_export_scratch(const odvgp_server *server, odvgp_info *info);
ODVGP_API odvgp_status odvgp_export(const odvgp_server *server,
		const odvgp_export_settings *settings, odvgp_export_costs *costs, void *scratch,
		size_t scratch_bytes, odvgp_info *info);

/* --- files and threads --- */

/*	Model files in memory: config, parameter vector, optimiser state and predictor; little-endian,
	versioned, with a checksum. The caller can add bytes, such as names of columns
	(odvgp_load_user). A loaded model continues training bit for bit.
		odvgp_load_size		checks the whole file. The size depends on threads and isa: pass the
							same ones to odvgp_load_memory
		odvgp_load_memory	makes the model in block; *model is NULL on an error. The block's old
							contents are then lost, unless the file was refused as damaged
	Returns	E_FORMAT (info.text says what is wrong) | E_UNSUPPORTED (other version or precision) |
			E_SIZE (saving: no file can hold it); odvgp_save_memory also what odvgp_freeze
			returns */
ODVGP_API size_t odvgp_save_size(const odvgp_model *model, size_t user_bytes, odvgp_info *info);
ODVGP_API odvgp_status odvgp_save_memory(odvgp_model *model, const odvgp_scales *scales,
		const void *user, size_t user_bytes, void *file, size_t file_bytes, odvgp_info *info);
ODVGP_API size_t odvgp_load_size(const void *file, size_t file_bytes, const odvgp_threads *threads,
		odvgp_isa isa, odvgp_info *info);
ODVGP_API odvgp_status odvgp_load_memory(odvgp_model **model, const void *file, size_t file_bytes,
		const odvgp_threads *threads, odvgp_isa isa, void *block, size_t block_bytes,
		odvgp_info *info);
#endif

#ifndef ODVGP_NO_STDIO
/*	Write file_bytes bytes to the disk, and read them back. odvgp_file_write creates a new file
	beside path (path.0.tmp, or the first larger number that is free), syncs it to the disk
	(Unix, Windows), and renames it to path. So path always holds a whole file; after a failure it
	is the old one, and the new file is removed. On Unix, devices and pipes are written in place;
	elsewhere a rename would replace them: write to them yourself.
	Returns	E_IO; odvgp_file_size also 0, E_SIZE: the file is empty */
ODVGP_API odvgp_status odvgp_file_write(
		const char *path, const void *file, size_t file_bytes, odvgp_info *info);
ODVGP_API size_t odvgp_file_size(const char *path, odvgp_info *info);
ODVGP_API odvgp_status odvgp_file_read(
		const char *path, size_t *file_bytes, void *block, size_t block_bytes, odvgp_info *info);
#endif

#ifndef ODVGP_PREDICT_ONLY
/*	A thread pool for odvgp_threads (ODVGP_USE_PTHREADS): count threads, 1..256, including the
	calling thread. It lives in block, of odvgp_pool_size bytes; odvgp_pool_start fills hook. Models
	and threads may share the hook: while the pool is busy, a caller executes its tasks itself.
	Workers take the caller's floating-point environment with each job, and keep exception flags
	that they raise. In the child of a fork, which has no workers, the caller executes all tasks,
	and odvgp_pool_stop does nothing. */
#ifdef ODVGP_USE_PTHREADS
typedef struct odvgp_pool odvgp_pool;
ODVGP_API size_t odvgp_pool_size(int count, odvgp_info *info);
ODVGP_API odvgp_status odvgp_pool_start(odvgp_pool **pool, int count, odvgp_threads *hook,
		void *block, size_t block_bytes, odvgp_info *info);
ODVGP_API void odvgp_pool_stop(odvgp_pool *pool);
#endif

/* ---- >>api_low   dense linear algebra on row-major matrices */

/*	Context of the routines below; its block, of odvgp_blas_size bytes, is used for packing. Returns
	E_UNSUPPORTED (isa). */
typedef struct odvgp_blas {
	const struct odvgp__simd *isa; /* the instruction set's table */
	odvgp_threads threads;
	odvgp_real *pack; /* one area per task */
	ptrdiff_t pack_stride, mc, kc, nc;
	struct gp__watcher *watcher; /* NULL, but within a call with a watch */
} odvgp_blas;
ODVGP_API size_t odvgp_blas_size(const odvgp_threads *threads, odvgp_info *info);
ODVGP_API odvgp_status odvgp_blas_init(odvgp_blas *blas, const odvgp_threads *threads,
		odvgp_isa isa, void *block, size_t block_bytes, odvgp_info *info);
/*	"c", "sse2", "avx2", "avx512" or "neon". */
ODVGP_API const char *odvgp_blas_isa(const odvgp_blas *blas);

/*	In all routines below vectors are matrices of one column (ld 1) or one row. Operands may not
	overlap, and need no more alignment than a real. NaN and infinity propagate to the results that
	depend on them. Threads are used where the work is large enough. op transposes if its flag
	(ta, tb, trans) is 1. beta = 0 ignores the old C. */
/*	C <- alpha op(A) op(B) + beta C. op(A) [m,k], op(B) [k,n], C [m,n]. 2 m n k flops. */
ODVGP_API void odvgp_gemm(const odvgp_blas *blas, int ta, int tb, ptrdiff_t m, ptrdiff_t n,
		ptrdiff_t k, odvgp_real alpha, const odvgp_real *A, ptrdiff_t lda, const odvgp_real *B,
		ptrdiff_t ldb, odvgp_real beta, odvgp_real *C, ptrdiff_t ldc);
/*	Lower triangle of C <- alpha op(A) diag(w) op(A)^T + beta C. op(A) [n,k], C [n,n]; w [k] of any
	sign, or NULL for ones. n^2 k flops. */
ODVGP_API void odvgp_syrk(const odvgp_blas *blas, int ta, ptrdiff_t n, ptrdiff_t k,
		odvgp_real alpha, const odvgp_real *A, ptrdiff_t lda, const odvgp_real *w, odvgp_real beta,
		odvgp_real *C, ptrdiff_t ldc);
/*	Lower triangle of C <- alpha op(A) op(B) + beta C. op(A) [n,k], op(B) [k,n], C [n,n]. n^2 k
	flops. */
ODVGP_API void odvgp_gemmt(const odvgp_blas *blas, int ta, int tb, ptrdiff_t n, ptrdiff_t k,
		odvgp_real alpha, const odvgp_real *A, ptrdiff_t lda, const odvgp_real *B, ptrdiff_t ldb,
		odvgp_real beta, odvgp_real *C, ptrdiff_t ldc);
/*	C <- alpha op(L) B + beta C. L [m,m] is lower triangular with zeros above its diagonal; B, C
	[m,n]. m^2 n flops. */
ODVGP_API void odvgp_trmm(const odvgp_blas *blas, int trans, ptrdiff_t m, ptrdiff_t n,
		odvgp_real alpha, const odvgp_real *L, ptrdiff_t ldl, const odvgp_real *B, ptrdiff_t ldb,
		odvgp_real beta, odvgp_real *C, ptrdiff_t ldc);
/*	B <- op(L)^-1 B (right = 0; L [m,m]) or B op(L)^-1 (right = 1; L [n,n]); B [m,n]. The upper
	triangle of L is not read. The diagonal is inverted first, so the size of each entry must lie
	between the smallest normal number (DBL_MIN or FLT_MIN) and its inverse. m^2 n or m n^2
	flops. */
ODVGP_API void odvgp_trsm(const odvgp_blas *blas, int right, int trans, ptrdiff_t m, ptrdiff_t n,
		const odvgp_real *L, ptrdiff_t ldl, odvgp_real *B, ptrdiff_t ldb);
/*	Lower triangle of A <- L with A = L L^T; A [n,n]. The strict upper triangle is not touched.
	E_NOT_PD, with A partly factored, if a pivot or its inverse is not positive and finite: info has
	its row and value. n^3/3 flops. */
ODVGP_API odvgp_status odvgp_potrf(
		const odvgp_blas *blas, ptrdiff_t n, odvgp_real *A, ptrdiff_t lda, odvgp_info *info);
/*	The same from the last row up: lower triangle of P <- R with P = R^T R. R^-1 is then the lower
	factor of P^-1. */
ODVGP_API odvgp_status odvgp_potrf_reverse(
		const odvgp_blas *blas, ptrdiff_t n, odvgp_real *P, ptrdiff_t ldp, odvgp_info *info);
/*	Lower triangle of L <- L^-1. n^3/3 flops. */
ODVGP_API void odvgp_trtri(const odvgp_blas *blas, ptrdiff_t n, odvgp_real *L, ptrdiff_t ldl);
/*	Lower triangle of C <- L^T L. L [n,n] is lower triangular with zeros above its diagonal. Given
	L^-1, this computes the inverse of L L^T. n^3/3 flops. */
ODVGP_API void odvgp_lauum(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *L, ptrdiff_t ldl,
		odvgp_real *C, ptrdiff_t ldc);
/*	Adjoint of odvgp_potrf [CHOL]. G holds dloss/dL in its lower triangle and zeros above; it
	receives dloss/dA for the lower triangle of A: dloss = sum_{i>=j} G_ij dA_ij. L is the output of
	odvgp_potrf. 2 n^3/3 flops. */
ODVGP_API void odvgp_potrf_adjoint(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *L,
		ptrdiff_t ldl, odvgp_real *G, ptrdiff_t ldg);

#endif

#ifdef __cplusplus
}
#endif
#endif /* declarations of one precision */

/* ---- >>impl   the code; each section uses only what is above it; internal names begin gp__ */

#if defined(ODVGP_IMPLEMENTATION) && !defined(ODVGP__IMPLEMENTED)
#define ODVGP__IMPLEMENTED

/* ---- >>config   reals, small helpers, messages */

/*	NaN checks, exponentials and compensated sums need IEEE arithmetic. */
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || \
		(defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "odvgp needs IEEE arithmetic: compile this file without -ffast-math, -Ofast and " \
	"-ffinite-math-only, or put -fno-fast-math behind them"
#endif
#ifdef _M_FP_FAST
#error "odvgp needs IEEE arithmetic: compile this file with /fp:precise instead of /fp:fast"
#endif
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#ifndef ODVGP_NO_MALLOC
#include <stdlib.h>
#endif
#ifndef ODVGP_NO_STDIO
#include <stdio.h>
#endif
#ifndef ODVGP_ASSERT
#include <assert.h>
#define ODVGP_ASSERT(x) assert(x)
#endif

#define GP__R(x) ((odvgp_real)(x))
#ifdef ODVGP_FLOAT
#define GP__EPS  FLT_EPSILON
#define GP__TINY FLT_MIN
#define GP__SQRT sqrtf
#else
#define GP__EPS  DBL_EPSILON
#define GP__TINY DBL_MIN
#define GP__SQRT sqrt
#endif
#define GP__MIN(a, b)    ((a) < (b) ? (a) : (b))
#define GP__MAX(a, b)    ((a) > (b) ? (a) : (b))
#define GP__COUNT(array) ((ptrdiff_t)(sizeof(array) / sizeof((array)[0])))

#define GP__FOR(i, n)         for (ptrdiff_t i = 0; i < (n); i++)
#define GP__FROM(i, from, to) for (ptrdiff_t i = from; i < (to); i++)

#if defined(__GNUC__)
#define GP__INLINE      static inline __attribute__((always_inline, unused))
#define GP__PREFETCH(p) __builtin_prefetch(p)
#define GP__UNUSED      __attribute__((unused))
#define GP__NOINLINE    static __attribute__((noinline))
#else
#define GP__PREFETCH(p) ((void)0)
#define GP__UNUSED
#ifdef _MSC_VER
#define GP__INLINE   static __forceinline
#define GP__NOINLINE static __declspec(noinline)
#else
#define GP__INLINE   static inline
#define GP__NOINLINE static
#endif
#endif

/*	A function that only training calls. */
#define GP__TRAINING GP__UNUSED static

/*	Scalars and sums of training, and their functions: in double, also where reals are float, or in
	float with ODVGP_FLOAT_ONLY. GP__DESK is 0 where training leaves out what that option names. */
#ifdef ODVGP_FLOAT_ONLY
typedef float gp__wide;
#define GP__MOST      FLT_MAX
#define GP__DESK      0
#define gp__cos       cosf
#define gp__exp       expf
#define gp__expm1     expm1f
#define gp__fabs      fabsf
#define gp__floor     floorf
#define gp__frexp     frexpf
#define gp__log       logf
#define gp__log1p     log1pf
#define gp__pow(x, y) expf((y)*logf(x))
#define gp__sin       sinf
#define gp__sqrt      sqrtf
#else
typedef double gp__wide;
#define GP__MOST  DBL_MAX
#define GP__DESK  1
#define gp__cos   cos
#define gp__exp   exp
#define gp__expm1 expm1
#define gp__fabs  fabs
#define gp__floor floor
#define gp__frexp frexp
#define gp__log   log
#define gp__log1p log1p
#define gp__pow   pow
#define gp__sin   sin
#define gp__sqrt  sqrt
#endif
#define GP__W(x) ((gp__wide)(x))

#ifndef ODVGP_PREDICT_ONLY
static const double gp__two_pi = 6.2831853071795864769;
static const double gp__log_2pi = 1.83787706640934548356;
static const double gp__sqrt_half = 0.70710678118654752440;
#endif

/* --- arrays: finite, zero, copy --- */

/*	x - x is 0 if x is finite, else NaN. Four sums, because one would wait for each addition. */
static int gp__finite(const odvgp_real *x, ptrdiff_t n)
{
	odvgp_real a = 0, b = 0, c = 0, d = 0;
	ptrdiff_t i = 0;
	for (; i < n - 3; i += 4) {
		a += x[i] - x[i];
		b += x[i + 1] - x[i + 1];
		c += x[i + 2] - x[i + 2];
		d += x[i + 3] - x[i + 3];
	}
	for (; i < n; i++) a += x[i] - x[i];
	return a + b + c + d == 0;
}

#ifndef ODVGP_PREDICT_ONLY
static ptrdiff_t gp__first_nonfinite(const odvgp_real *x, ptrdiff_t n)
{
	GP__FOR(i, n)
		if (!(x[i] - x[i] == 0)) return i;
	return -1;
}

static void gp__zero(odvgp_real *x, ptrdiff_t n)
{
	if (n > 0) memset(x, 0, (size_t)n * sizeof *x);
}

static void gp__copy(odvgp_real *to, const odvgp_real *from, ptrdiff_t n)
{
	if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
}

/*	Row i of a lower triangle of n columns, with zeros above the diagonal. */
GP__TRAINING void gp__copy_row(odvgp_real *to, const odvgp_real *from, ptrdiff_t i, ptrdiff_t n)
{
	gp__copy(to, from, i + 1);
	gp__zero(to + i + 1, n - i - 1);
}

/* --- texts and messages --- */

/*	Text without stdio, cut at the end of the buffer. */
typedef struct {
	char *at;
	size_t size, used; /* `used` also counts what was cut */
} gp__text;

static void gp__put(gp__text *t, const char *s)
{
	for (; *s; s++, t->used++)
		if (t->used + 1 < t->size) t->at[t->used] = *s;
	if (t->size) t->at[GP__MIN(t->used, t->size - 1)] = 0;
}

static void gp__put_int(gp__text *t, ptrdiff_t v)
{
	char buffer[24], *p = buffer + sizeof buffer - 1;
	size_t u = v < 0 ? (size_t)0 - (size_t)v : (size_t)v;
	*p = 0;
	do *--p = (char)('0' + (int)(u % 10));
	while ((u /= 10) != 0);
	if (v < 0) *--p = '-';
	gp__put(t, p);
}

#ifndef ODVGP_FLOAT_ONLY
/*	Six significant digits without trailing zeros; an exponent below 1e-4 and from 1e6 on. */
static void gp__put_real(gp__text *t, double v)
{
	const char *word = v != v ? "nan" : v == 0 ? "0" : fabs(v) > DBL_MAX ? "inf" : NULL;
	if (v < 0) gp__put(t, "-");
	if (word) {
		gp__put(t, word);
		return;
	}
	v = fabs(v);
	int exponent = (int)floor(log10(v)), digits;
	/* scale to 1 <= v < 10, up to rounding */
	v = exponent < -300 ? v * 1e300 / pow(10, exponent + 300) : v / pow(10, exponent);
	digits = (int)floor(v * 1e5 + 0.5);
	if (digits >= 1000000) {
		digits /= 10;
		exponent++;
	}
	char s[8];
	int last = 5;
	for (int i = 5; i >= 0; i--, digits /= 10) s[i] = (char)('0' + digits % 10);
	while (last > 0 && s[last] == '0') last--;
	int fixed = exponent >= -4 && exponent < 6;
	char out[32];
	int k = 0;
	if (fixed && exponent < 0) {
		out[k++] = '0';
		out[k++] = '.';
		for (int i = -1; i > exponent; i--) out[k++] = '0';
	}
	for (int i = 0; i <= (fixed && exponent > last ? exponent : last); i++) {
		out[k++] = i <= last ? s[i] : '0';
		if (i == (fixed ? exponent : 0) && i < last) out[k++] = '.';
	}
	out[k] = 0;
	gp__put(t, out);
	if (!fixed) {
		gp__put(t, "e");
		gp__put_int(t, exponent);
	}
}

#endif

/*	Fill info and return the status. Text: "what: sentence", and row and value if row >= 0. */
static odvgp_status gp__fail(odvgp_info *info, odvgp_status status, const char *what, ptrdiff_t row,
		gp__wide value, const char *sentence)
{
#ifdef ODVGP_FLOAT_ONLY
	(void)value;
	(void)sentence;
	if (info) {
		info->status = status;
		info->what = what;
		info->row = row;
		info->value = 0;
		info->text[0] = 0;
	}
#else
	if (info) {
		gp__text t = {info->text, sizeof info->text, 0};
		info->status = status;
		info->what = what;
		info->row = row;
		info->value = value;
		gp__put(&t, what);
		gp__put(&t, ": ");
		gp__put(&t, sentence ? sentence : odvgp_status_text(status));
		if (row >= 0) {
			gp__put(&t, " (at ");
			gp__put_int(&t, row);
			/* errors in kernel expressions repeat the position as value */
			if (value != (double)row) {
				gp__put(&t, ", value ");
				gp__put_real(&t, value);
			}
			gp__put(&t, ")");
		}
	}
#endif
	return status;
}

static odvgp_status gp__refuse(
		odvgp_info *info, odvgp_status status, const char *what, const char *sentence)
{
	return gp__fail(info, status, what, -1, 0, sentence);
}
static odvgp_status gp__unsupported(odvgp_info *info, const char *what, const char *sentence)
{
	return gp__refuse(info, ODVGP_E_UNSUPPORTED, what, sentence);
}
static odvgp_status gp__is_null(odvgp_info *info, const char *what)
{
	return gp__refuse(info, ODVGP_E_ARG, what, "is NULL");
}
/*	A size query that fails. */
static size_t gp__no_size(odvgp_status status)
{
	(void)status;
	return 0;
}
static size_t gp__too_large(odvgp_info *info, const char *what)
{
	return gp__no_size(gp__refuse(info, ODVGP_E_SIZE, what, "is too large for memory"));
}
static odvgp_status gp__small(odvgp_info *info, const char *what, size_t bytes)
{
	return gp__fail(info, ODVGP_E_MEMORY, what, -1, (gp__wide)bytes, "is too small");
}

#endif

ODVGP_API const char *odvgp_status_text(odvgp_status status)
{
	static const char *const texts[] = {
#define ODVGP__X(name, text) text,
			ODVGP_STATUS_LIST(ODVGP__X)
#undef ODVGP__X
	};
	return (unsigned)status < (unsigned)ODVGP_STATUS_COUNT ? texts[status] : "unknown status";
}

#ifndef ODVGP_PREDICT_ONLY
/* ---- >>cpu   instruction sets of the machine

	xgetbv tells whether the operating system saves the wide registers. Each model asks once. */

/*	gcc for Windows misaligns spilled ymm registers. */
#if defined(__x86_64__) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 5)) && \
		!defined(ODVGP_NO_SIMD) && !(defined(_WIN32) && !defined(__clang__))
#define GP__X86
#include <cpuid.h>
#include <immintrin.h>
#define GP__SSE2 /* part of x86-64 */
#ifndef ODVGP_NO_AVX2
#define GP__AVX2 __attribute__((target("avx2,fma")))
#endif
#if !defined(ODVGP_NO_AVX512) && !defined(ODVGP_NO_AVX2)
#define GP__AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#endif
#endif
#if defined(__GNUC__) && defined(__ARM_NEON) && (defined(__aarch64__) || defined(ODVGP_FLOAT)) && \
		!defined(ODVGP_NO_SIMD) && !defined(__ARM_BIG_ENDIAN)
#define GP__NEON
#include <arm_neon.h>
#endif
/*	gcc keeps an array in registers only if all loops over it are unrolled. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 8
#define GP__UNROLL _Pragma("GCC unroll 16")
#else
#define GP__UNROLL
#endif

static int gp__cpu_has(odvgp_isa isa)
{
	if (isa == ODVGP_ISA_C) return 1;
#ifdef GP__NEON
	if (isa == ODVGP_ISA_NEON) return 1;
#endif
#ifdef GP__X86
	if (isa == ODVGP_ISA_SSE2) return 1;
	unsigned a, b, c, d, c1, xcr0, high;
	/* few calls of cpuid: on virtual machines each costs microseconds */
	__cpuid(0, a, b, c, d);
	if (a < 7) return 0;
	__cpuid(1, a, b, c1, d);
	if (!(c1 & (1u << 27))) return 0; /* OSXSAVE */
	__asm__ volatile("xgetbv" : "=a"(xcr0), "=d"(high) : "c"(0));
	__cpuid_count(7, 0, a, b, c, d);
	/* xmm and ymm saved; AVX2, FMA */
	if ((xcr0 & 6) != 6 || !(b & (1u << 5)) || !(c1 & (1u << 12))) return 0;
	if (isa == ODVGP_ISA_AVX2) return 1;
	/* zmm saved; F, DQ, VL */
	return (xcr0 & 0xe0) == 0xe0 && (b & (1u << 16)) && (b & (1u << 17)) && (b & (1u << 31));
#else
	return 0;
#endif
}

/* ---- >>simd   vector types

		V_x           a vector of LANES_x reals with + - * /; plain C: one real
		FMA, NMA      a b + c, c - a b
		MIN, MAX      b where b is NaN
		ZIPLO, ZIPHI  the low and high halves of two vectors, interleaved */

#define GP__V_c            odvgp_real
#define GP__LANES_c        1
#define GP__LOAD_c(p)      (*(p))
#define GP__STORE_c(p, v)  (*(p) = (v))
#define GP__SET1_c(x)      ((odvgp_real)(x))
#define GP__FMA_c(a, b, c) ((a) * (b) + (c))
#define GP__NMA_c(a, b, c) ((c) - (a) * (b))
#define GP__SQRT_c         GP__SQRT
#define GP__MIN_c          GP__MIN
#define GP__MAX_c          GP__MAX
#define GP__ZIPLO_c(a, b)  (a)
#define GP__ZIPHI_c(a, b)  (b)

#ifdef GP__X86
#ifdef ODVGP_FLOAT
#define GP__V_sse2       __m128
#define GP__V_avx2       __m256
#define GP__V_avx512     __m512
#define GP__LANES_sse2   4
#define GP__LANES_avx2   8
#define GP__LANES_avx512 16
#define GP__M128(op)     _mm_##op##_ps
#define GP__M256(op)     _mm256_##op##_ps
#define GP__M512(op)     _mm512_##op##_ps
#define GP__ALL          ((__mmask16)0xffff)

#define GP__ORDER_LO _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define GP__ORDER_HI _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#else
#define GP__V_sse2       __m128d
#define GP__V_avx2       __m256d
#define GP__V_avx512     __m512d
#define GP__LANES_sse2   2
#define GP__LANES_avx2   4
#define GP__LANES_avx512 8
#define GP__M128(op)     _mm_##op##_pd
#define GP__M256(op)     _mm256_##op##_pd
#define GP__M512(op)     _mm512_##op##_pd
#define GP__ALL          ((__mmask8)0xff)
#define GP__ORDER_LO     _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11)
#define GP__ORDER_HI     _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15)
#endif
#define GP__LOAD_sse2  GP__M128(loadu)
#define GP__STORE_sse2 GP__M128(storeu)
#define GP__SET1_sse2  GP__M128(set1)
#define GP__FMA_sse2   GP__FMA_c
#define GP__NMA_sse2   GP__NMA_c
#define GP__SQRT_sse2  GP__M128(sqrt)
#define GP__MIN_sse2   GP__M128(min)
#define GP__MAX_sse2   GP__M128(max)
#define GP__ZIPLO_sse2 GP__M128(unpacklo)
#define GP__ZIPHI_sse2 GP__M128(unpackhi)
#define GP__LOAD_avx2  GP__M256(loadu)
#define GP__STORE_avx2 GP__M256(storeu)
#define GP__SET1_avx2  GP__M256(set1)
#define GP__FMA_avx2   GP__M256(fmadd)
#define GP__NMA_avx2   GP__M256(fnmadd)
#define GP__SQRT_avx2  GP__M256(sqrt)
#define GP__MIN_avx2   GP__M256(min)
#define GP__MAX_avx2   GP__M256(max)
#define GP__ZIPLO_avx2(a, b) \
	GP__M256(permute2f128)(GP__M256(unpacklo)(a, b), GP__M256(unpackhi)(a, b), 0x20)
#define GP__ZIPHI_avx2(a, b) \
	GP__M256(permute2f128)(GP__M256(unpacklo)(a, b), GP__M256(unpackhi)(a, b), 0x31)
#define GP__LOAD_avx512  GP__M512(loadu)
#define GP__STORE_avx512 GP__M512(storeu)
#define GP__SET1_avx512  GP__M512(set1)
#define GP__FMA_avx512   GP__M512(fmadd)
#define GP__NMA_avx512   GP__M512(fnmadd)
/*	Masked: gcc 12 warns about the forms without a mask. */
#define GP__SQRT_avx512(a)     GP__M512(maskz_sqrt)(GP__ALL, a)
#define GP__MIN_avx512(a, b)   GP__M512(maskz_min)(GP__ALL, a, b)
#define GP__MAX_avx512(a, b)   GP__M512(maskz_max)(GP__ALL, a, b)
#define GP__ZIPLO_avx512(a, b) GP__M512(permutex2var)(a, GP__ORDER_LO, b)
#define GP__ZIPHI_avx512(a, b) GP__M512(permutex2var)(a, GP__ORDER_HI, b)
#endif

#ifdef GP__NEON
#ifdef ODVGP_FLOAT
#define GP__V_neon      float32x4_t
#define GP__LANES_neon  4
#define GP__NEON_OP(op) op##_f32
#else
#define GP__V_neon      float64x2_t
#define GP__LANES_neon  2
#define GP__NEON_OP(op) op##_f64
#endif
#define GP__LOAD_neon  GP__NEON_OP(vld1q)
#define GP__STORE_neon GP__NEON_OP(vst1q)
#define GP__SET1_neon  GP__NEON_OP(vdupq_n)
#define GP__MIN_neon   GP__NEON_OP(vminq)
#define GP__MAX_neon   GP__NEON_OP(vmaxq)
#ifdef __ARM_FEATURE_FMA
#define GP__FMA_neon(a, b, c) GP__NEON_OP(vfmaq)(c, a, b)
#define GP__NMA_neon(a, b, c) GP__NEON_OP(vfmsq)(c, a, b)
#else
#define GP__FMA_neon(a, b, c) GP__NEON_OP(vmlaq)(c, a, b)
#define GP__NMA_neon(a, b, c) GP__NEON_OP(vmlsq)(c, a, b)
#endif
#ifdef __aarch64__
#define GP__SQRT_neon  GP__NEON_OP(vsqrtq)
#define GP__ZIPLO_neon GP__NEON_OP(vzip1q)
#define GP__ZIPHI_neon GP__NEON_OP(vzip2q)
#else
/*	32-bit NEON has no square root. */
static inline float32x4_t gp__root_of_four(float32x4_t a)
{
	float v[4];
	vst1q_f32(v, a);
	for (int i = 0; i < 4; i++) v[i] = sqrtf(v[i]);
	return vld1q_f32(v);
}
#define GP__SQRT_neon        gp__root_of_four
#define GP__ZIPLO_neon(a, b) vzipq_f32(a, b).val[0]
#define GP__ZIPHI_neon(a, b) vzipq_f32(a, b).val[1]
#endif
#endif

/* --- the list --- */

/*	To add an instruction set: a row here, its vector macros above, its test in gp__cpu_has, and a
	name in odvgp_isa. X(attribute, name, NAME, rows of a micro-kernel, its widest in vectors, MC,
	NC): blocks of >>gemm, MC a multiple of the rows, NC of the vectors' numbers. Best first. */
#ifdef GP__AVX512
#define GP__ROW_AVX512(X) X(GP__AVX512, avx512, AVX512, 8, 3, 192, 1536)
#else
#define GP__ROW_AVX512(X)
#endif
#ifdef GP__AVX2
#define GP__ROW_AVX2(X) X(GP__AVX2, avx2, AVX2, 6, 2, 96, 1536)
#else
#define GP__ROW_AVX2(X)
#endif
#ifdef GP__SSE2
#define GP__ROW_SSE2(X) X(, sse2, SSE2, 6, 2, 96, 1536)
#else
#define GP__ROW_SSE2(X)
#endif
#if defined(GP__NEON) && defined(__aarch64__)
#define GP__ROW_NEON(X) X(, neon, NEON, 8, 3, 96, 1536)
#elif defined(GP__NEON)
#define GP__ROW_NEON(X) X(, neon, NEON, 6, 2, 96, 1536)
#else
#define GP__ROW_NEON(X)
#endif
#ifdef ODVGP_FLOAT_ONLY
#define GP__ROW_C(X) X(, c, C, 4, 2, 64, 1024)
#else
#define GP__ROW_C(X) X(, c, C, 4, 4, 64, 1024)
#endif
#define GP__EACH_ISA(X) \
	GP__ROW_AVX512(X) GP__ROW_AVX2(X) GP__ROW_SSE2(X) GP__ROW_NEON(X) GP__ROW_C(X)

/* ---- >>threads   tasks; the POSIX pool

	The tasks of an operation write disjoint parts of its result, each computed exactly as in a
	single task, so the bits do not depend on the number of tasks. */

static int gp__tasks(const odvgp_threads *t)
{
	return t->run && t->count > 1 ? GP__MIN(t->count, 256) : 1;
}

static void gp__run(const odvgp_threads *t, int n, void (*task)(void *arg, int i), void *arg)
{
	if (n > 1 && t->run) t->run(t->user, n, task, arg);
	else
		for (int i = 0; i < n; i++) task(arg, i);
}

/*	Whether a b >= limit > 0; the product may overflow. */
static int gp__at_least(ptrdiff_t a, ptrdiff_t b, ptrdiff_t limit)
{
	return b > 0 && a >= (limit - 1) / b + 1;
}

/*	Start of part i when n items are cut into `tasks` parts at multiples of `unit`:
	floor(units i / tasks) units; the product could overflow. */
static ptrdiff_t gp__share_begin(ptrdiff_t n, ptrdiff_t unit, int tasks, int i)
{
	ptrdiff_t units = n / unit + (n % unit != 0),
			  first = units / tasks * i + units % tasks * i / tasks;
	return gp__at_least(first, unit, n) ? n : first * unit;
}

static void gp__share(ptrdiff_t n, ptrdiff_t unit, int tasks, int i, ptrdiff_t *from, ptrdiff_t *to)
{
	*from = n > 0 ? gp__share_begin(n, unit, tasks, i) : 0;
	*to = n > 0 ? gp__share_begin(n, unit, tasks, i + 1) : 0;
}

/* --- the POSIX pool --- */

#ifdef ODVGP_USE_PTHREADS
#ifndef __GNUC__
#error "the ready-made pool needs gcc's or clang's __atomic functions; without them give a hook"
#endif
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
/*	A training step has dozens of short parallel operations, so an idle worker, like a waiting
	caller, spins for about 50 microseconds, then yields for about a millisecond before it sleeps.
	Some systems wake a sleeper on its waker's processor, where it stays because it never runs long
	enough to be moved.

	A ticket hands out tasks: its high half is the number of the job, its low half counts the tasks
	not yet taken. A thread takes a task by lowering the ticket that it has read, which fails if the
	ticket has changed since. Only then it reads the job's task, argument and environment, which
	stay until all tasks are counted as done. So the stores of a new job may become visible in any
	order, if the ticket is last. tests/test_pool.c tries all interleavings. */
#define GP__UNTAKEN UINT64_C(0xffffffff)
enum { GP__LOOKS = 2000, GP__YIELDS = 1000 };

struct odvgp_pool {
	pthread_mutex_t mutex; /* for sleeping only */
	pthread_cond_t wake, done;
	void (*task)(void *arg, int i);
	void *arg;
	fenv_t environment; /* the caller's rounding, subnormal handling and traps */
	pid_t process;      /* that started the workers */
	int n, workers, stop;
	int asleep;  /* workers that sleep or are about to */
	int waiting; /* the caller sleeps or is about to */
	int busy;
	/* i386 aligns 64-bit members to 4 bytes */
	uint64_t ticket __attribute__((aligned(8)));
	unsigned char apart[64]; /* keeps ticket and left on different cache lines */
	int left;                /* tasks not finished */
	pthread_t thread[1];     /* [workers] */
};

GP__INLINE void gp__pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/*	The child of a fork has no threads to wake, and one that it lacks may hold the mutex. */
static void gp__pool_wake(odvgp_pool *pool, const int *sleepers, pthread_cond_t *condition)
{
	if (!__atomic_load_n(sleepers, __ATOMIC_SEQ_CST) || pool->process != getpid()) return;
	pthread_mutex_lock(&pool->mutex);
	pthread_cond_broadcast(condition);
	pthread_mutex_unlock(&pool->mutex);
}

static void gp__pool_work(odvgp_pool *pool, int worker)
{
	uint64_t ticket = __atomic_load_n(&pool->ticket, __ATOMIC_RELAXED);
	while (ticket & GP__UNTAKEN) {
		if (!__atomic_compare_exchange_n(
					&pool->ticket, &ticket, ticket - 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		if (worker) fesetenv(&pool->environment);
		pool->task(pool->arg, pool->n - (int)(ticket & GP__UNTAKEN));
		if (!__atomic_sub_fetch(&pool->left, 1, __ATOMIC_SEQ_CST))
			gp__pool_wake(pool, &pool->waiting, &pool->done);
		ticket = __atomic_load_n(&pool->ticket, __ATOMIC_RELAXED);
	}
}

static int gp__pool_idle(const odvgp_pool *pool)
{
	return !(__atomic_load_n(&pool->ticket, __ATOMIC_SEQ_CST) & GP__UNTAKEN) &&
		   !__atomic_load_n(&pool->stop, __ATOMIC_SEQ_CST);
}

static void *gp__pool_main(void *user)
{
	odvgp_pool *pool = (odvgp_pool *)user;
	for (;;) {
		for (int look = 0; look < GP__LOOKS && gp__pool_idle(pool); look++) gp__pause();
		for (int look = 0; look < GP__YIELDS && gp__pool_idle(pool); look++) sched_yield();
		if (gp__pool_idle(pool)) {
			pthread_mutex_lock(&pool->mutex);
			/* Count before checking: if the check misses a new job, its caller sees the count. */
			__atomic_add_fetch(&pool->asleep, 1, __ATOMIC_SEQ_CST);
			while (gp__pool_idle(pool)) pthread_cond_wait(&pool->wake, &pool->mutex);
			__atomic_sub_fetch(&pool->asleep, 1, __ATOMIC_SEQ_CST);
			pthread_mutex_unlock(&pool->mutex);
		}
		if (__atomic_load_n(&pool->stop, __ATOMIC_SEQ_CST)) return NULL;
		gp__pool_work(pool, 1);
	}
}

static int gp__pool_left(const odvgp_pool *pool)
{
	return __atomic_load_n(&pool->left, __ATOMIC_SEQ_CST) > 0;
}

static void gp__pool_wait(odvgp_pool *pool)
{
	for (int look = 0; look < GP__LOOKS && gp__pool_left(pool); look++) gp__pause();
	for (int look = 0; look < GP__YIELDS && gp__pool_left(pool); look++) sched_yield();
	if (!gp__pool_left(pool)) return;
	pthread_mutex_lock(&pool->mutex);
	__atomic_store_n(&pool->waiting, 1, __ATOMIC_SEQ_CST); /* before the check, as above */
	while (gp__pool_left(pool)) pthread_cond_wait(&pool->done, &pool->mutex);
	__atomic_store_n(&pool->waiting, 0, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&pool->mutex);
}

/*	If the pool is busy, even with the job that makes this call, the caller runs all its tasks. */
static void gp__pool_run(void *user, int n, void (*task)(void *arg, int i), void *arg)
{
	odvgp_pool *pool = (odvgp_pool *)user;
	if (n < 2 || __atomic_exchange_n(&pool->busy, 1, __ATOMIC_ACQUIRE)) {
		for (int i = 0; i < n; i++) task(arg, i);
		return;
	}
	uint64_t job = (__atomic_load_n(&pool->ticket, __ATOMIC_RELAXED) >> 32) + 1;
	pool->task = task;
	pool->arg = arg;
	pool->n = n;
	fegetenv(&pool->environment);
	__atomic_store_n(&pool->left, n, __ATOMIC_RELAXED);
	__atomic_store_n(&pool->ticket, job << 32 | (uint64_t)n, __ATOMIC_SEQ_CST);
	gp__pool_wake(pool, &pool->asleep, &pool->wake);
	gp__pool_work(pool, 0);
	gp__pool_wait(pool);
	__atomic_store_n(&pool->busy, 0, __ATOMIC_RELEASE);
}

ODVGP_API size_t odvgp_pool_size(int count, odvgp_info *info)
{
	if (count < 1 || count > 256)
		return gp__no_size(gp__fail(info, ODVGP_E_ARG, "count", -1, count, "must be 1..256"));
	return sizeof(odvgp_pool) + (size_t)count * sizeof(pthread_t) + 64;
}

/*	Returns 0, or 1 after destroying what it made. */
static int gp__pool_prepare(odvgp_pool *pool)
{
	memset(pool, 0, sizeof *pool);
	if (pthread_mutex_init(&pool->mutex, NULL)) return 1;
	if (!pthread_cond_init(&pool->wake, NULL)) {
		if (!pthread_cond_init(&pool->done, NULL)) return 0;
		pthread_cond_destroy(&pool->wake);
	}
	pthread_mutex_destroy(&pool->mutex);
	return 1;
}

ODVGP_API odvgp_status odvgp_pool_start(odvgp_pool **out, int count, odvgp_threads *hook,
		void *block, size_t block_bytes, odvgp_info *info)
{
	if (!out || !hook || !block) return gp__is_null(info, !out ? "pool" : !hook ? "hook" : "block");
	size_t need = odvgp_pool_size(count, info);
	if (!need) return ODVGP_E_ARG;
	if (block_bytes < need) return gp__small(info, "block", block_bytes);
	odvgp_pool *pool =
			(odvgp_pool *)(void *)((unsigned char *)block + (64 - (uintptr_t)block % 64) % 64);
	if (gp__pool_prepare(pool))
		return gp__refuse(info, ODVGP_E_MEMORY, "pool", "the system has no mutex left");
	pool->process = getpid();
	while (pool->workers < count - 1 &&
			!pthread_create(&pool->thread[pool->workers], NULL, gp__pool_main, pool))
		pool->workers++;
	/* fewer workers than asked for still do all tasks */
	hook->run = gp__pool_run;
	hook->user = pool;
	hook->count = count;
	*out = pool;
	return ODVGP_OK;
}

ODVGP_API void odvgp_pool_stop(odvgp_pool *pool)
{
	if (!pool || pool->process != getpid()) return;
	__atomic_store_n(&pool->stop, 1, __ATOMIC_SEQ_CST);
	gp__pool_wake(pool, &pool->asleep, &pool->wake);
	for (int i = 0; i < pool->workers; i++) pthread_join(pool->thread[i], NULL);
	pthread_cond_destroy(&pool->done);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->mutex);
}
#endif

/* --- the watch ---
   Operations count multiplications. After GP__WATCH_WORK of them the watch is asked; if it says
   stop, products return at once, whatever their results then are, and the tape ends. */

#ifdef ODVGP_NO_TRAINING
#define gp__ask(blas, work) 0
#define gp__stopped(blas)   0
#else
#ifndef GP__WATCH_WORK
#define GP__WATCH_WORK 1e8
#endif
typedef struct gp__watcher {
	odvgp_watch watch;
	odvgp_progress at;
	gp__wide work;
	int stopped, held; /* held: the watch runs, or the step cannot be undone */
} gp__watcher;

static int gp__stopped(const odvgp_blas *blas)
{
	return GP__DESK && blas->watcher && blas->watcher->stopped && !blas->watcher->held;
}

/*	Counts work; returns 1 if the call must stop. */
static int gp__ask(const odvgp_blas *blas, gp__wide work)
{
	gp__watcher *w = blas->watcher;
	if (!GP__DESK || !w || w->held) return 0;
	w->work += work;
	if (w->work >= GP__W(GP__WATCH_WORK) && !w->stopped) {
		w->work = 0;
		w->held = 1;
		w->stopped = w->watch.call(w->watch.user, &w->at) != 0;
		w->held = 0;
	}
	return w->stopped;
}
#endif

/* ---- >>arena   memory: one block, measured and divided by the same function

	With base NULL an arena only adds up the sizes of the pieces taken. Pieces start at multiples of
	GP__LINE bytes. An overflow of size_t or a full block sets `bad`. */

#ifdef ODVGP_FLOAT_ONLY
#define GP__LINE 8 /* what a uint64_t needs */
#else
#define GP__LINE 64
#endif

typedef struct {
	unsigned char *base; /* NULL, or a multiple of GP__LINE */
	size_t used, size;
	int bad;
} gp__arena;

static void gp__arena_init(gp__arena *a, void *block, size_t bytes)
{
	size_t skip = (GP__LINE - (uintptr_t)block % GP__LINE) % GP__LINE;
	a->base = block ? (unsigned char *)block + skip : NULL;
	a->size = !block ? (size_t)PTRDIFF_MAX / 2 : bytes > skip ? bytes - skip : 0;
	a->used = 0;
	a->bad = 0;
}
static gp__arena gp__measuring(void)
{
	gp__arena a;
	gp__arena_init(&a, NULL, 0);
	return a;
}

static void *gp__take_bytes(gp__arena *a, size_t count, size_t item)
{
	size_t limit = a->size - a->used, bytes;
	if (a->bad || (item && count > limit / item) || (bytes = count * item) > limit) {
		a->bad = 1;
		return NULL;
	}
	void *p = a->base ? a->base + a->used : NULL;
	bytes = (bytes + GP__LINE - 1) & ~(size_t)(GP__LINE - 1);
	a->used += GP__MIN(bytes, limit);
	return p;
}

#define GP__TAKE(a, type, n) ((type *)gp__take_bytes(a, (size_t)(n), sizeof(type)))

static odvgp_real *gp__take(gp__arena *a, ptrdiff_t rows, ptrdiff_t cols)
{
	if (rows < 0 || cols < 0 || (cols && rows > PTRDIFF_MAX / 16 / cols)) {
		a->bad = 1;
		return NULL;
	}
	return GP__TAKE(a, odvgp_real, rows * cols);
}

/* ---- >>rng   random numbers and permutations

	Every number is a function of (seed, stream, counter), so there is no state and the order of
	calls does not matter [PHILOX]. The mixer is two rounds of a 64-bit finaliser. */

enum {
	GP__STREAM_BATCH = 1,
	GP__STREAM_COLUMNS,
	GP__STREAM_INIT,
	GP__STREAM_KMEANS,
	GP__STREAM_SAMPLE,
	GP__STREAM_SOFTMAX,
	GP__STREAM_WARM,
	GP__STREAM_PATCHES,
	GP__STREAM_HIDDEN,
	GP__STREAM_PATH
};

static uint64_t gp__mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t gp__random(uint64_t seed, uint64_t stream, uint64_t counter)
{
	uint64_t key = gp__mix(seed + UINT64_C(0x9e3779b97f4a7c15) * (stream + 1));
	return gp__mix(gp__mix(key ^ (counter * UINT64_C(0xd1342543de82ef95))) + key);
}

/*	A random number's place in [0, n). */
static ptrdiff_t gp__below(uint64_t random, ptrdiff_t n)
{
	return GP__DESK ? (ptrdiff_t)(random % (uint64_t)n)
					: (ptrdiff_t)((uint32_t)(random >> 32) % (uint32_t)n);
}

/*	In (0, 1), never 0 or 1. */
static gp__wide gp__uniform(uint64_t seed, uint64_t stream, uint64_t counter)
{
#ifdef ODVGP_FLOAT_ONLY
	return ((float)(uint32_t)(gp__random(seed, stream, counter) >> 41) + 0.5f) / 8388608;
#else
	return ((double)(gp__random(seed, stream, counter) >> 12) + 0.5) * (1.0 / 4503599627370496.0);
#endif
}

/*	Box and Muller; discards the pair's second normal, so that counters stay independent. */
static gp__wide gp__normal(uint64_t seed, uint64_t stream, uint64_t counter)
{
	gp__wide u = gp__uniform(seed, stream, 2 * counter),
			 v = gp__uniform(seed, stream, 2 * counter + 1);
	return gp__sqrt(-2 * gp__log(u)) * gp__cos(GP__W(gp__two_pi) * v);
}

static uint64_t gp__reals_hash(const odvgp_real *x, ptrdiff_t n, uint64_t h)
{
	GP__FOR(i, n) {
		uint64_t bits = 0;
		memcpy(&bits, &x[i], sizeof x[i]);
		h = gp__mix(h ^ bits);
	}
	return h;
}

/*	Element i of a permutation of n <= SHUFFLED numbers, by Fisher and Yates: all equally likely. */
#define GP__SHUFFLED 64
static ptrdiff_t gp__shuffle(uint64_t key, ptrdiff_t n, ptrdiff_t i)
{
	unsigned char order[GP__SHUFFLED] = {0};
	/* inside-out */
	GP__FOR(k, n) {
		ptrdiff_t j = gp__below(gp__random(key, 0, (uint64_t)k), k + 1);
		order[k] = order[j];
		order[j] = (unsigned char)k;
	}
	return order[i];
}

/*	Element i of a pseudo-random permutation of [0, n), in O(1) memory. A Feistel network permutes
	the next even power of two (at most 4 n); it is applied until the value falls below n, at most
	four times on average. For small n it would prefer some permutations, so they are shuffled. */
GP__TRAINING ptrdiff_t gp__permute(
		uint64_t seed, uint64_t stream, uint64_t epoch, ptrdiff_t n, ptrdiff_t i)
{
	uint64_t key = gp__random(seed, stream, epoch), x = (uint64_t)i, mask;
	if (n <= GP__SHUFFLED) return gp__shuffle(key, n, i);
	int half = 1;
	while (((uint64_t)1 << (2 * half)) < (uint64_t)n) half++;
	mask = ((uint64_t)1 << half) - 1;
	do {
		uint64_t left = x >> half, right = x & mask;
		for (uint64_t round = 0; round < 6; round++) {
			uint64_t next =
					left ^ (gp__mix(key + right * UINT64_C(0x9e3779b97f4a7c15) + round) & mask);
			left = right;
			right = next;
		}
		x = left << half | right;
	} while (x >= (uint64_t)n);
	return (ptrdiff_t)x;
}

#endif /* ODVGP_PREDICT_ONLY */

/* ---- >>vmath   arithmetic over arrays

	Functions take chunks of GP__CHUNK numbers, four vectors at a time: one exponential is a chain of some
	twenty operations of four cycles each. There are no branches: special cases are selected at the
	end. Infinity and NaN behave as in C. A result does not depend on its place in the chunk.
	Largest errors in units in the last place, over all arguments:

		exp, log1p, erf 1.5    log 1    expm1 3    erfc 5    sqrt 0.5
		log Phi 6, Phi the normal distribution function; 7 for its derivative phi(x) / Phi(x)

	All polynomials are interpolated at Chebyshev points. Formulas, and errors of double (float):

		exp      x = k log 2 + r, |r| <= log(2)/2; exp(r) = 1 + r + r^2 P(r); 1.6e-17 (1.1e-8)
		log      x = 2^k (1 + f), s = f / (2 + f);
				 log(1 + f) = f - f^2/2 + s (f^2/2 + s^2 P(s^2)); 5e-18 (3e-10)
		erf      x + x P(x^2) for |x| < 1, 2e-17 (5e-9); else from erfc
		erfc     exp(-x^2) erfcx(x), erfcx(x) = P(t) / (1 + 2 x), t = (x - 3) / (x + 3); 5e-17
				 (5e-8). x^2 is split into a part without rounding error and a small rest.
		log Phi  with z = |x| / sqrt(2), and the sign of x for erf:
				 log(erfcx(z) / 2) - x^2/2 for x <= -1/2, log((1 + erf(z)) / 2) for x < 1,
				 log(1 - erfc(z) / 2) above */

#ifdef ODVGP_FLOAT_ONLY
#define GP__CHUNK 20 /* without vectors to fill, and for few points; a multiple of 4 */
#else
#define GP__CHUNK 64
#endif

/*	Files store these numbers: append only. */
enum {
	GP__RBF = 0,
	GP__MATERN12 = 1,
	GP__MATERN32 = 2,
	GP__MATERN52 = 3,
	GP__RQ = 4,
	GP__PERIODIC = 5,
	GP__LINEAR = 6,
	GP__POLYNOMIAL = 7,
	GP__CONSTANT = 8,
	GP__WHITE = 9,
	GP__BASE_KERNEL_TYPES
};
enum { GP__NO_INPUT, GP__DISTANCE, GP__CIRCLE, GP__INNER_PRODUCT };
#define GP__NOT_RADIAL (-1)
#define GP__MAX_NODES  (2 * ODVGP_MAX_BASE_KERNELS)
#define GP__MAX_DEGREE 16
#define GP__ROWS_MAGIC 0x5256444fu /* "ODVR", of a compact block */
/*	Whether the build has a base kernel, and covariances with an inverse. */
#define GP__KERNEL_HAS(kind) ((unsigned)(ODVGP_KERNELS) >> (kind) & 1u)
#define GP__MEMBERS_SOLVE    (((ODVGP_MEMBERS)&ODVGP_MEMBER_SOLVE) != 0)
#define GP__MEMBERS_INVERSE  (((ODVGP_MEMBERS) & (ODVGP_MEMBER_DECOUPLED | ODVGP_MEMBER_OM)) != 0)

/*	Kinds of the stored factor. Files hold these numbers.
		OF_S                 S = q_sqrt q_sqrt^T: var = k - |A|^2 + |T|^2, T = q_sqrt^T A
		OF_INVERSE           S = (Kb^-1 + B B^T)^-1: var = k - |T|^2, T = L_H^-1 B^T K(Zb,x), one
							 L_H for each output
		DIAGONAL_OF_INVERSE  the same; B is diagonal, and stored so
		OF_PRECISION         S = (G G^T)^-1, G lower: as OF_S with T = G^-1 A (>>online) */
enum {
	GP__FACTOR_OF_S = 0,
	GP__FACTOR_OF_INVERSE = 1,
	GP__DIAGONAL_OF_INVERSE = 2,
	GP__FACTOR_OF_PRECISION = 3,
	GP__FACTORS
};

enum { GP__EXP, GP__EXPM1, GP__LOG, GP__LOG1P, GP__ERF, GP__ERFC, GP__LOGCDF, GP__VSQRT, GP__MAPS };

/* clang-format off */
#ifdef ODVGP_FLOAT
typedef uint32_t gp__u_c;
#define GP__MANTISSA	23
#define GP__BIAS		127
#define GP__LARGEST		FLT_MAX
/*	A number without the low HALF bits of its mantissa has an exact square. */
#define GP__HALF		12
/*	Limit of squared distances, so that 0 times a distance is 0. */
#define GP__FAR			1e30f
#define GP__FAR_ROOT	1e15f
#define GP__EXP_LOW		(-104.0f)
#define GP__EXP_HIGH	89.0f
#define GP__DECAY_LOW	(-87)
#define GP__ERFC_END	11             /* erfc is 0 here */
#define GP__BELL_END	16             /* exp(-x^2/2) is 0 here */
#define GP__LN2_HIGH	0.693359375f
#define GP__LN2_LOW		(-2.12194440e-4f)
#define GP__P_EXP(TOP, X, S) TOP(S, 0.0013926184) \
	X(S, 0.00836317893) X(S, 0.0416665561) X(S, 0.166665763) X(S, 0.5)
#define GP__P_LOG(TOP, X, S) TOP(S, 0.233316138) \
	X(S, 0.285507798) X(S, 0.400001228) X(S, 0.666666687)
#define GP__P_ERF(TOP, X, S) TOP(S, 7.87587487e-05) \
	X(S, -0.00080168643) X(S, 0.00518908724) X(S, -0.0268542115) X(S, 0.112835944) \
	X(S, -0.37612626) X(S, 0.128379166)
#define GP__P_ERFCX(TOP, X, S) TOP(S, 3.89175148e-06) \
	X(S, 7.72041385e-05) X(S, -0.000104221181) X(S, -0.000726160826) X(S, 0.00188821566) \
	X(S, 0.00249882252) X(S, -0.0237703882) X(S, 0.0683166981) X(S, -0.119273677) \
	X(S, 0.129644096) X(S, -0.0475622937) X(S, -0.135621071) X(S, 1.25300801)
#else
typedef uint64_t gp__u_c;
#define GP__MANTISSA	52
#define GP__BIAS		1023
#define GP__LARGEST		DBL_MAX
#define GP__HALF		27
#define GP__FAR			1e300
#define GP__FAR_ROOT	1e150
#define GP__EXP_LOW		(-746.0)
#define GP__EXP_HIGH	710.0
#define GP__DECAY_LOW	(-708)
#define GP__ERFC_END	28
#define GP__BELL_END	40
#define GP__LN2_HIGH	6.93147180369123816490e-01
#define GP__LN2_LOW		1.90821492927058770002e-10
#define GP__P_EXP(TOP, X, S) TOP(S, 2.510038549551032e-08) \
	X(S, 2.7620088445409746e-07) X(S, 2.7557268459997064e-06) X(S, 2.4801521295954376e-05) \
	X(S, 0.00019841269863053618) X(S, 0.0013888888917213717) X(S, 0.008333333333330062) \
	X(S, 0.04166666666662413) X(S, 0.16666666666666669) X(S, 0.5000000000000001)
#define GP__P_LOG(TOP, X, S) TOP(S, 0.14617807153417325) \
	X(S, 0.15331611722055008) X(S, 0.1818289243253687) X(S, 0.22222211089379496) \
	X(S, 0.28571428626253836) X(S, 0.3999999999989889) X(S, 0.666666666666667)
#define GP__P_ERF(TOP, X, S) TOP(S, 5.957176147748911e-11) \
	X(S, -1.1372848856791674e-09) X(S, 1.4659775274047436e-08) X(S, -1.6350312701054695e-07) \
	X(S, 1.6461000484121368e-06) X(S, -1.4925595266831182e-05) X(S, 0.0001205533111164271) \
	X(S, -0.000854832698083379) X(S, 0.0052239776248180145) X(S, -0.026866170645076792) \
	X(S, 0.11283791670954879) X(S, -0.3761263890318375) X(S, 0.1283791670955126)
#define GP__P_ERFCX(TOP, X, S) TOP(S, 8.864219016427092e-10) \
	X(S, 9.885798831139365e-10) X(S, -8.500397929772615e-09) X(S, -1.3326364813003834e-08) \
	X(S, 4.180784698845582e-08) X(S, 1.0187000600072885e-07) X(S, -1.4160064940265987e-07) \
	X(S, -6.166496077604353e-07) X(S, 3.5683839153992204e-07) X(S, 3.472414602875686e-06) \
	X(S, -7.315105164159062e-07) X(S, -2.0100567931289227e-05) X(S, 4.949484992570595e-06) \
	X(S, 0.00012509935235563107) X(S, -0.00010515979981501177) X(S, -0.0007798322721083991) \
	X(S, 0.0018886903591561553) X(S, 0.002529391816066239) X(S, -0.023770514918645888) \
	X(S, 0.06830802734397848) X(S, -0.11927366341530699) X(S, 0.1296451587027606) \
	X(S, -0.04756229435345087) X(S, -0.13562110612458117) X(S, 1.2530080582697296)
#endif
/*	2^MANTISSA: bits(INTEGER) + k = bits(INTEGER + k) for a small integer k. */
#define GP__INTEGER		(1 / GP__EPS)
/*	Adding it rounds to an integer, which the low bits of the sum hold. */
#define GP__ROUND		(3 / GP__EPS / 2)
/*	2^LIFT_POWER: makes subnormal numbers normal. */
#define GP__LIFT		(4 / GP__EPS)
#define GP__LIFT_POWER	(GP__MANTISSA + 2)
/* clang-format on */

/* --- bits of reals --- */

/*	A vector to its bits and back. less: a < b ? x : y, so y where a or b is NaN. */
GP__INLINE gp__u_c gp__bits_c(odvgp_real v)
{
	gp__u_c u;
	memcpy(&u, &v, sizeof u);
	return u;
}
GP__INLINE odvgp_real gp__real_c(gp__u_c u)
{
	odvgp_real v;
	memcpy(&v, &u, sizeof v);
	return v;
}
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
/*	Registers with more digits than a real (x87) round to an integer only when the sum is stored. */
GP__INLINE odvgp_real gp__stored_c(odvgp_real v)
{
	volatile odvgp_real stored = v;
	return stored;
}
#else
#define gp__stored_c(v) (v)
#endif
#ifndef ODVGP_PREDICT_ONLY
GP__INLINE odvgp_real gp__less_c(odvgp_real a, odvgp_real b, odvgp_real x, odvgp_real y)
{
	return a < b ? x : y;
}

#define GP__VBITS(TARGET, S, V) \
	typedef gp__u_c gp__u_##S __attribute__((vector_size(sizeof(V)))); \
	TARGET GP__INLINE gp__u_##S gp__bits_##S(V v) { return (gp__u_##S)v; } \
	TARGET GP__INLINE V gp__real_##S(gp__u_##S u) { return (V)u; } \
	TARGET GP__INLINE V gp__stored_##S(V v) { return v; } \
	TARGET GP__INLINE V gp__less_##S(V a, V b, V x, V y) \
	{ \
		gp__u_##S mask = (gp__u_##S)(a < b); \
		return (V)((mask & (gp__u_##S)x) | (~mask & (gp__u_##S)y)); \
	}

/*	WAYS: a statement for each of four vectors. TOP: p <- number; HORNER: p <- p r + number. */
#define GP__WAYS(statement) \
	GP__UNROLL \
	for (int q = 0; q < 4; q++) statement;
#define GP__K(S, c)           GP__SET1_##S(GP__R(c))
#define GP__TOP(S, number)    GP__WAYS(p[q] = GP__K(S, number))
#define GP__HORNER(S, number) GP__WAYS(p[q] = GP__FMA_##S(p[q], r[q], GP__K(S, number)))

#define GP__ABS(S, x) gp__real_##S(gp__bits_##S(x) & ~gp__bits_##S(GP__K(S, -0.0)))

/*	v 2^k for n = k + ROUND. Two factors, 2^floor(k/2) and the rest, round subnormal results once
	and keep the largest from overflowing. AVX-512 has an instruction for this. */
#define GP__RAISE(TARGET, S, V) \
	TARGET GP__INLINE V gp__raise_##S(V v, V n) \
	{ \
		const gp__u_##S one = gp__bits_##S(GP__K(S, 1)), \
						exponent = gp__bits_##S(GP__K(S, -HUGE_VAL)); \
		gp__u_##S half = ((gp__bits_##S(n) << (GP__MANTISSA - 1)) & exponent) + one; \
		gp__u_##S rest = (gp__bits_##S(n) << GP__MANTISSA) + (one + one) - half; \
		return v * gp__real_##S(half) * gp__real_##S(rest); \
	}
#define GP__RAISE512(TARGET, S, V) \
	TARGET GP__INLINE V gp__raise_##S(V v, V n) \
	{ \
		return GP__M512(maskz_scalef)(GP__ALL, v, n - GP__K(S, GP__ROUND)); \
	}

/*	power		2^k for n = k + ROUND, where 2^k is normal
	expm1_core  n = k + ROUND and p = exp(r) - 1 of x + rest (NULL: 0)
	decay		exp(x) for -1000 <= x <= 0; 0, not subnormal, below -708 (float -87) */
#define GP__EXPS(TARGET, S, V) \
	TARGET GP__INLINE V gp__power_##S(V n) \
	{ \
		return gp__real_##S((gp__bits_##S(n) << GP__MANTISSA) + gp__bits_##S(GP__K(S, 1))); \
	} \
	TARGET GP__INLINE void gp__expm1_core_##S(const V *x, const V *rest, V *n, V *p) \
	{ \
		const V round = GP__K(S, GP__ROUND), log2e = GP__K(S, 1.44269504088896340736); \
		V r[4]; \
		GP__WAYS(n[q] = gp__stored_##S(GP__FMA_##S(x[q], log2e, round))) \
		GP__WAYS(r[q] = GP__NMA_##S(n[q] - round, GP__K(S, GP__LN2_HIGH), x[q])) \
		GP__WAYS(r[q] = GP__NMA_##S(n[q] - round, GP__K(S, GP__LN2_LOW), r[q])) \
		if (rest) GP__WAYS(r[q] = r[q] + rest[q]) \
		GP__P_EXP(GP__TOP, GP__HORNER, S) \
		GP__WAYS(p[q] = GP__FMA_##S(p[q] * r[q], r[q], r[q])) \
	} \
	TARGET GP__INLINE void gp__decay_##S(const V *x, V *e) \
	{ \
		V n[4]; \
		gp__expm1_core_##S(x, NULL, n, e); \
		GP__WAYS(e[q] = (e[q] + GP__K(S, 1)) * gp__power_##S(n[q])) \
		GP__WAYS(e[q] = gp__less_##S(x[q], GP__K(S, GP__DECAY_LOW), GP__K(S, 0), e[q])) \
	}

/* --- exp, log, erf of four vectors, and their chunks --- */

#define GP__MAP_EXP(TARGET, S, V) \
	TARGET GP__INLINE void gp__exp_##S(const V *x, V *y) \
	{ \
		V n[4], p[4]; \
		GP__WAYS(y[q] = GP__MIN_##S( \
						 GP__K(S, GP__EXP_HIGH), GP__MAX_##S(GP__K(S, GP__EXP_LOW), x[q]))) \
		gp__expm1_core_##S(y, NULL, n, p); \
		GP__WAYS(y[q] = gp__raise_##S(p[q] + GP__K(S, 1), n[q])) \
	} \
	/*  2^k (p + 1) - 1; above x = 60 without the 1, which no longer matters */ \
	TARGET GP__INLINE void gp__expm1_##S(const V *x, V *y) \
	{ \
		const V one = GP__K(S, 1); \
		V n[4], p[4], t[4]; \
		GP__WAYS(y[q] = GP__MIN_##S(GP__K(S, GP__EXP_HIGH), GP__MAX_##S(GP__K(S, -60), x[q]))) \
		gp__expm1_core_##S(y, NULL, n, p); \
		GP__WAYS(t[q] = gp__power_##S(GP__MIN_##S(GP__K(S, GP__ROUND + 100), n[q]))) \
		GP__WAYS(t[q] = GP__FMA_##S(t[q], p[q], t[q] - one)) \
		GP__WAYS(y[q] = gp__less_##S(GP__K(S, 60), x[q], gp__raise_##S(p[q] + one, n[q]), t[q])) \
		GP__WAYS(y[q] = gp__less_##S(GP__ABS(S, x[q]), GP__K(S, GP__EPS / 16), x[q], y[q])) \
	}
#define GP__MAP_LOG(TARGET, S, V) \
	TARGET GP__INLINE void gp__log_##S(const V *x, V *y) \
	{ \
		const V one = GP__K(S, 1), zero = GP__K(S, 0), least = GP__K(S, GP__TINY), \
				whole = GP__K(S, GP__INTEGER); \
		const gp__u_##S root = gp__bits_##S(one) - gp__bits_##S(GP__K(S, gp__sqrt_half)); \
		V k[4], f[4], s[4], r[4], p[4]; \
		GP__WAYS(f[q] = gp__less_##S(x[q], least, x[q] * GP__K(S, GP__LIFT), x[q])) \
		GP__WAYS(k[q] = gp__real_##S((gp__bits_##S(f[q]) + root) >> GP__MANTISSA)) \
		GP__WAYS(f[q] = gp__real_##S(gp__bits_##S(f[q]) - (gp__bits_##S(k[q]) << GP__MANTISSA) + \
									 gp__bits_##S(one)) - \
						one) \
		GP__WAYS(k[q] = gp__real_##S(gp__bits_##S(k[q]) + gp__bits_##S(whole)) - whole) \
		GP__WAYS(k[q] = k[q] - gp__less_##S(x[q], least, GP__K(S, GP__BIAS + GP__LIFT_POWER), \
									   GP__K(S, GP__BIAS))) \
		GP__WAYS(s[q] = f[q] / (GP__K(S, 2) + f[q])) \
		GP__WAYS(r[q] = s[q] * s[q]) \
		GP__P_LOG(GP__TOP, GP__HORNER, S) \
		GP__WAYS(r[q] = p[q] * r[q]) \
		GP__WAYS(p[q] = GP__K(S, 0.5) * f[q] * f[q]) \
		GP__WAYS(r[q] = s[q] * (p[q] + r[q]) + k[q] * GP__K(S, GP__LN2_LOW)) \
		GP__WAYS(r[q] = k[q] * GP__K(S, GP__LN2_HIGH) - ((p[q] - r[q]) - f[q])) \
		GP__WAYS(r[q] = gp__less_##S(GP__K(S, GP__LARGEST), x[q], x[q], r[q])) \
		GP__WAYS(s[q] = gp__less_##S(x[q], zero, GP__K(S, NAN), x[q] - GP__K(S, HUGE_VAL))) \
		GP__WAYS(y[q] = gp__less_##S(zero, x[q], r[q], s[q])) \
	} \
	/*  log(u) + (rounding error of u) / u, for u = 1 + x rounded */ \
	TARGET GP__INLINE void gp__log1p_##S(const V *x, V *y) \
	{ \
		const V one = GP__K(S, 1), least = GP__K(S, GP__TINY); \
		V u[4], t[4]; \
		GP__WAYS(u[q] = gp__stored_##S(one + x[q])) \
		gp__log_##S(u, y); \
		GP__WAYS(t[q] = gp__less_##S(one, x[q], one - (u[q] - x[q]), x[q] - (u[q] - one))) \
		/*  no divisor is 0, which sanitizers report */ \
		GP__WAYS(t[q] = y[q] + t[q] / GP__MAX_##S(least, u[q])) \
		GP__WAYS(t[q] = gp__less_##S(GP__K(S, -1), x[q], t[q], y[q])) \
		GP__WAYS(y[q] = gp__less_##S(GP__K(S, GP__LARGEST), x[q], x[q], t[q])) \
		GP__WAYS(y[q] = gp__less_##S(GP__ABS(S, x[q]), GP__K(S, GP__EPS / 16), x[q], y[q])) \
	}
#define GP__MAP_ERF(TARGET, S, V) \
	/*  erfcx(x) for x >= 0 */ \
	TARGET GP__INLINE void gp__erfcx_##S(const V *x, V *y) \
	{ \
		V r[4], p[4]; \
		GP__WAYS(r[q] = GP__K(S, 1) - GP__K(S, 6) / (x[q] + GP__K(S, 3))) \
		GP__P_ERFCX(GP__TOP, GP__HORNER, S) \
		GP__WAYS(y[q] = p[q] / GP__FMA_##S(GP__K(S, 2), x[q], GP__K(S, 1))) \
	} \
	/*  y <- y exp(-c a^2) for a >= 0; c is 1 or 1/2 */ \
	TARGET GP__INLINE void gp__times_bell_##S(const V *a, V c, V *y) \
	{ \
		V h[4], d[4], n[4], p[4]; \
		GP__WAYS(h[q] = gp__real_##S((gp__bits_##S(a[q]) >> GP__HALF) << GP__HALF)) \
		GP__WAYS(d[q] = GP__K(S, 0) - c * (a[q] - h[q]) * (a[q] + h[q])) \
		GP__WAYS(h[q] = GP__K(S, 0) - c * h[q] * h[q]) \
		gp__expm1_core_##S(h, d, n, p); \
		GP__WAYS(p[q] = gp__raise_##S((p[q] + GP__K(S, 1)) * y[q], n[q])) \
		/*  select a NaN of a: one of few bits has become infinite in h */ \
		GP__WAYS(y[q] = gp__less_##S(GP__K(S, -1), a[q], p[q], a[q])) \
	} \
	/*  erf(x) for |x| < 1 */ \
	TARGET GP__INLINE void gp__erf_core_##S(const V *x, V *y) \
	{ \
		V r[4], p[4]; \
		GP__WAYS(r[q] = x[q] * x[q]) \
		GP__P_ERF(GP__TOP, GP__HORNER, S) \
		GP__WAYS(y[q] = GP__FMA_##S(x[q], p[q], x[q])) \
	} \
	TARGET GP__INLINE void gp__erfc_##S(const V *x, V *y) \
	{ \
		const V one = GP__K(S, 1); \
		V a[4], e[4]; \
		GP__WAYS(a[q] = GP__MIN_##S(GP__K(S, GP__ERFC_END), GP__ABS(S, x[q]))) \
		gp__erfcx_##S(a, y); \
		gp__times_bell_##S(a, one, y); \
		gp__erf_core_##S(x, e); \
		GP__WAYS(y[q] = gp__less_##S(x[q], GP__K(S, 0), GP__K(S, 2) - y[q], y[q])) \
		GP__WAYS(y[q] = gp__less_##S(a[q], GP__K(S, 0.5), one - e[q], y[q])) \
	} \
	TARGET GP__INLINE void gp__erf_##S(const V *x, V *y) \
	{ \
		const V one = GP__K(S, 1); \
		const gp__u_##S sign = gp__bits_##S(GP__K(S, -0.0)); \
		V a[4], e[4]; \
		GP__WAYS(a[q] = GP__ABS(S, x[q])) \
		gp__erfc_##S(a, y); \
		GP__WAYS(y[q] = gp__real_##S(gp__bits_##S(one - y[q]) | (gp__bits_##S(x[q]) & sign))) \
		gp__erf_core_##S(x, e); \
		GP__WAYS(y[q] = gp__less_##S(a[q], one, e[q], y[q])) \
	} \
	/*  log Phi and its derivative. A single logarithm serves all three ranges: its argument is \
		erfcx(z) / 2, (1 + erf) / 2 or 1 - Phi(-x). The last two add what the sum or difference \
		lost in rounding. bell: exp(-x^2/2). */ \
	TARGET GP__INLINE void gp__logcdf_##S(const V *x, V *y, V *derivative) \
	{ \
		const V zero = GP__K(S, 0), one = GP__K(S, 1), half = GP__K(S, 0.5), \
				least = GP__K(S, GP__TINY), density = GP__K(S, 0.39894228040143267794), \
				root = GP__K(S, gp__sqrt_half); \
		V a[4], w[4], t[4], e[4], bell[4]; \
		GP__WAYS(a[q] = GP__ABS(S, x[q])) \
		GP__WAYS(t[q] = a[q] * root) \
		gp__erfcx_##S(t, w); \
		GP__WAYS(w[q] = GP__MAX_##S(least, half * w[q])) \
		GP__WAYS(t[q] = GP__MIN_##S(GP__K(S, GP__BELL_END), a[q])) \
		GP__WAYS(bell[q] = one) \
		gp__times_bell_##S(t, half, bell); \
		GP__WAYS(e[q] = w[q] * bell[q]) \
		GP__WAYS(derivative[q] = gp__less_##S( \
						 zero, x[q], bell[q] * density / (one - e[q]), density / w[q])) \
		GP__WAYS(derivative[q] = gp__less_##S(x[q], GP__K(S, -1e10), a[q], derivative[q])) \
		GP__WAYS(w[q] = gp__less_##S(zero, x[q], one - e[q], w[q])) \
		GP__WAYS(e[q] = gp__less_##S(zero, x[q], (zero - e[q] - (w[q] - one)) / w[q], \
						 zero - half * a[q] * a[q])) \
		GP__WAYS(t[q] = x[q] * root) \
		gp__erf_core_##S(t, bell); \
		GP__WAYS(t[q] = half + half * bell[q]) \
		GP__WAYS(bell[q] = (half * bell[q] - (t[q] - half)) / GP__MAX_##S(least, t[q])) \
		GP__WAYS(a[q] = gp__less_##S(zero - half, x[q], zero, one)) \
		GP__WAYS(a[q] = gp__less_##S(x[q], one, a[q], one)) /* 0 for -1/2 < x < 1 */ \
		GP__WAYS(w[q] = gp__less_##S(a[q], half, t[q], w[q])) \
		GP__WAYS(e[q] = gp__less_##S(a[q], half, bell[q], e[q])) \
		gp__log_##S(w, y); \
		GP__WAYS(y[q] = y[q] + e[q]) \
	}

/*	The same for a chunk, for the table of isas. dy: derivatives of LOGCDF, or NULL. */
#define GP__MAPPED(TARGET, S, V, L, name, call) \
	TARGET static void gp__v##name##_##S(const odvgp_real *x, odvgp_real *y, odvgp_real *dy) \
	{ \
		for (int j = 0; j < GP__CHUNK; j += 4 * L) { \
			V a[4], b[4], d[4]; \
			GP__WAYS(a[q] = GP__LOAD_##S(x + j + q * L)) \
			GP__WAYS(d[q] = a[q]) \
			call; \
			GP__WAYS(GP__STORE_##S(y + j + q * L, b[q])) \
			if (dy) GP__WAYS(GP__STORE_##S(dy + j + q * L, d[q])) \
		} \
	}
typedef void gp__map(const odvgp_real *x, odvgp_real *y, odvgp_real *dy);
#define GP__MAPS_OF(TARGET, S, V, L) \
	GP__EXPS(TARGET, S, V) \
	GP__MAP_EXP(TARGET, S, V) \
	GP__MAP_LOG(TARGET, S, V) \
	GP__MAP_ERF(TARGET, S, V) \
	GP__MAPPED(TARGET, S, V, L, exp, gp__exp_##S(a, b)) \
	GP__MAPPED(TARGET, S, V, L, expm1, gp__expm1_##S(a, b)) \
	GP__MAPPED(TARGET, S, V, L, log, gp__log_##S(a, b)) \
	GP__MAPPED(TARGET, S, V, L, log1p, gp__log1p_##S(a, b)) \
	GP__MAPPED(TARGET, S, V, L, erf, gp__erf_##S(a, b)) \
	GP__MAPPED(TARGET, S, V, L, erfc, gp__erfc_##S(a, b)) \
	GP__MAPPED(TARGET, S, V, L, logcdf, gp__logcdf_##S(a, b, d)) \
	GP__MAPPED(TARGET, S, V, L, sqrt, GP__WAYS(b[q] = GP__SQRT_##S(a[q])))
#ifdef ODVGP_FLOAT_ONLY
#define GP__MAP_IF(has, f) ((has) ? f : (gp__map *)NULL)
#define GP__MAP_LIST(S) \
	{ \
		GP__MAP_IF(GP__KERNEL_HAS(GP__RQ), gp__vexp_##S), NULL, NULL, \
				GP__MAP_IF(GP__KERNEL_HAS(GP__RQ), gp__vlog1p_##S), NULL, NULL, NULL, NULL \
	}
#else
#define GP__MAP_LIST(S) \
	{ \
		gp__vexp_##S, gp__vexpm1_##S, gp__vlog_##S, gp__vlog1p_##S, gp__verf_##S, gp__verfc_##S, \
				gp__vlogcdf_##S, gp__vsqrt_##S \
	}
#endif

/* --- what kernels need of a row of distances --- */

/*	r2[j] = sum_d (x_d - z_dj)^2 for a chunk; zt [nd, ld] is z transposed. Unlike
	|x|^2 + |z|^2 - 2 x z, differences give no negative result, and 0 where points coincide. */
#define GP__SQDIST(TARGET, S, V, L) \
	TARGET static void gp__sqdist_##S( \
			ptrdiff_t nd, const odvgp_real *x, const odvgp_real *zt, ptrdiff_t ld, odvgp_real *r2) \
	{ \
		const V limit = GP__K(S, GP__FAR); \
		for (int j = 0; j < GP__CHUNK; j += 4 * L) { \
			const odvgp_real *z = zt + j; \
			V s[4]; \
			GP__WAYS(s[q] = GP__K(S, 0)) \
			for (ptrdiff_t d = 0; d < nd; d++, z += ld) { \
				const V xd = GP__K(S, x[d]); \
				V t[4]; \
				GP__WAYS(t[q] = xd - GP__LOAD_##S(z + q * L)) \
				GP__WAYS(s[q] = GP__FMA_##S(t[q], t[q], s[q])) \
			} \
			GP__WAYS(GP__STORE_##S(r2 + j + q * L, GP__MIN_##S(limit, s[q]))) /* NaN stays NaN */ \
		} \
	}

/*	RBF and Matern kernels of r^2 = scale * d2 for a chunk: k, and dk = dk/dr^2 unless NULL. At
	r = 0 Matern 1/2 has no derivative; dk is 0. exp's argument ends at -1000, where exp is 0,
	because infinity times 0 is NaN. */
#define GP__RADIAL(TARGET, S, V, L) \
	TARGET static void gp__radial_##S(int type, odvgp_real v, odvgp_real scale, \
			const odvgp_real *d2, odvgp_real *k, odvgp_real *dk) \
	{ \
		static const odvgp_real factors[] = {GP__R(0.5), 1, 3, 5}; /* by type */ \
		const odvgp_real factor = scale * factors[type]; \
		const V least = GP__K(S, GP__TINY), zero = GP__K(S, 0), one = GP__K(S, 1); \
		for (int j = 0; j < GP__CHUNK; j += 4 * L) { \
			V s[4], e[4], t[4]; \
			GP__WAYS(s[q] = GP__K(S, factor) * GP__LOAD_##S(d2 + j + q * L)) \
			if (type != GP__RBF) GP__WAYS(s[q] = GP__SQRT_##S(s[q])) \
			GP__WAYS(s[q] = GP__MIN_##S(GP__K(S, 1000), s[q])) \
			GP__WAYS(t[q] = zero - s[q]) \
			gp__decay_##S(t, e); \
			GP__WAYS(t[q] = e[q] = GP__K(S, v) * e[q]) \
			if (type == GP__MATERN32) GP__WAYS(t[q] = (one + s[q]) * e[q]) \
			if (type == GP__MATERN52) \
				GP__WAYS(t[q] = GP__FMA_##S(s[q] * s[q], GP__K(S, 1. / 3), one + s[q]) * e[q]) \
			GP__WAYS(GP__STORE_##S(k + j + q * L, t[q])) \
			if (!dk) continue; \
			GP__WAYS(t[q] = GP__K(S, type == GP__MATERN32 ? GP__R(-1.5) : GP__R(-0.5)) * e[q]) \
			if (type == GP__MATERN12) \
				GP__WAYS(t[q] = gp__less_##S(s[q], least, zero, t[q] / GP__MAX_##S(least, s[q]))) \
			if (type == GP__MATERN52) GP__WAYS(t[q] = GP__K(S, -5. / 6) * (one + s[q]) * e[q]) \
			GP__WAYS(GP__STORE_##S(dk + j + q * L, t[q])) \
		} \
	}

/*	ABREAST_x: rows that dots and spreads take at once; the registers set the limit. ABREAST,
	VECTORS: a statement for each row, for each vector. */
#define GP__ABREAST_c      1
#define GP__ABREAST_sse2   2
#define GP__ABREAST_avx2   2
#define GP__ABREAST_avx512 4 /* 32 registers */
#ifdef __aarch64__
#define GP__ABREAST_neon 4
#else
#define GP__ABREAST_neon 2
#endif
#define GP__ABREAST(statement) \
	GP__UNROLL \
	for (int w = 0; w < ways; w++) statement;
#define GP__VECTORS(statement) \
	GP__UNROLL \
	for (int q = 0; q < vectors; q++) statement;

/*	Transpose v [L, L] in place. A pass interleaves rows r and r + L/2, a perfect shuffle. */
#define GP__TRANSPOSED(S, V, L, v) \
	GP__UNROLL \
	for (int half = L / 2; half > 0; half /= 2) { \
		V t[L]; \
		GP__UNROLL \
		for (int r = 0; r < L / 2; r++) { \
			t[2 * r] = GP__ZIPLO_##S((v)[r], (v)[r + L / 2]); \
			t[2 * r + 1] = GP__ZIPHI_##S((v)[r], (v)[r + L / 2]); \
		} \
		GP__UNROLL \
		for (int r = 0; r < L; r++) (v)[r] = t[r]; \
	}

/*	y_w += sum_i f[w fw + i fk] x_i for `ways` rows y_w, each of `vectors` vectors. */
#define GP__UPDATE_OF(TARGET, name, S, V, L) \
	TARGET GP__INLINE void gp__update_##name(int ways, int vectors, ptrdiff_t k, \
			const odvgp_real *x, ptrdiff_t ldx, const odvgp_real *f, ptrdiff_t fw, ptrdiff_t fk, \
			odvgp_real *y, ptrdiff_t ldy) \
	{ \
		V s[4][4]; \
		GP__ABREAST(GP__VECTORS(s[w][q] = GP__LOAD_##S(y + w * ldy + q * L))) \
		for (ptrdiff_t i = 0; i < k; i++, x += ldx, f += fk) { \
			V v[4]; \
			GP__VECTORS(v[q] = GP__LOAD_##S(x + q * L)) \
			GP__ABREAST({ \
				const V a = GP__SET1_##S(f[w * fw]); \
				GP__VECTORS(s[w][q] = GP__FMA_##S(a, v[q], s[w][q])) \
			}) \
		} \
		GP__ABREAST(GP__VECTORS(GP__STORE_##S(y + w * ldy + q * L, s[w][q]))) \
	}

/* --- sums, products and maps of arrays --- */

/*	axpy		y += a x
	dot			x . y, in four vectors of partial sums that are added in a fixed order
	dots		out[w] = x . y_w for the rows y_w of y, with the bits of dot; out is written in
				whole vectors
	update		y_w += sum_i f[w fw + i fk] x_i for count rows y_w and k rows x_i, with the bits of
				one axpy after the other
	spreads		out[w step] = sum_j h_wj (x[w step] - z_j)^2 over whole chunks, added as in dot;
				h_wj = 0 gives 0 at any finite distance
	slope		returns sum_j h_j (x - z_j) over whole chunks, added as in dot
	squares		out_j += A_ij^2, row after row
	weigh		A_ij <- 2 w_j A_ij
	blend		out <- a x - b y; out may be x or y
	combine		out <- x + y or x * y for a chunk; out may be x or y
	derivative  for a chunk: from dk = dk/dr^2 of a base kernel, computes g = dK/d(squared distance)
				= scale dk adjoint (NULL: 1); h <- g (first) or h + g; dk <- g d2 */
#define GP__ARRAYS(TARGET, S, V, L) \
	TARGET static void gp__axpy_##S(ptrdiff_t n, odvgp_real a, const odvgp_real *x, odvgp_real *y) \
	{ \
		const V f = GP__K(S, a); \
		for (; n >= 2 * L; n -= 2 * L, x += 2 * L, y += 2 * L) { \
			V y0 = GP__FMA_##S(f, GP__LOAD_##S(x), GP__LOAD_##S(y)); \
			V y1 = GP__FMA_##S(f, GP__LOAD_##S(x + L), GP__LOAD_##S(y + L)); \
			GP__STORE_##S(y, y0); \
			GP__STORE_##S(y + L, y1); \
		} \
		GP__FOR(j, n) y[j] += a * x[j]; \
	} \
	TARGET GP__INLINE void gp__parts_of_##S(int ways, ptrdiff_t n, const odvgp_real *x, \
			const odvgp_real *y, ptrdiff_t ldy, odvgp_real *part) \
	{ \
		V s[GP__ABREAST_##S][4]; \
		const odvgp_real *row[GP__ABREAST_##S]; \
		ptrdiff_t j = 0; \
		GP__ABREAST(row[w] = y + w * ldy) \
		GP__ABREAST(GP__WAYS(s[w][q] = GP__K(S, 0))) \
		for (; j + 4 * L <= n; j += 4 * L) \
			GP__WAYS({ \
				const V v = GP__LOAD_##S(x + j + q * L); \
				GP__ABREAST(s[w][q] = GP__FMA_##S(v, GP__LOAD_##S(row[w] + j + q * L), s[w][q])) \
			}) \
		for (; j + L <= n; j += L) { \
			const V v = GP__LOAD_##S(x + j); \
			GP__ABREAST(s[w][0] = GP__FMA_##S(v, GP__LOAD_##S(row[w] + j), s[w][0])) \
		} \
		GP__ABREAST(GP__STORE_##S(part + w * L, (s[w][0] + s[w][1]) + (s[w][2] + s[w][3]))) \
	} \
	TARGET static odvgp_real gp__dot_##S(ptrdiff_t n, const odvgp_real *x, const odvgp_real *y) \
	{ \
		odvgp_real part[L], sum = 0; \
		gp__parts_of_##S(1, n, x, y, 0, part); \
		GP__FROM(j, n / L * L, n) sum += x[j] * y[j]; \
		for (int i = 0; i < L; i++) sum += part[i]; \
		return sum; \
	} \
	TARGET static void gp__dots_##S(ptrdiff_t n, const odvgp_real *x, ptrdiff_t count, \
			const odvgp_real *y, ptrdiff_t ldy, odvgp_real *out) \
	{ \
		enum { W = GP__ABREAST_##S }; \
		while (L > 1 && count > 1) { \
			odvgp_real part[L * L], rest[L]; \
			V v[L], all = GP__K(S, 0); \
			ptrdiff_t some = GP__MIN(count, (ptrdiff_t)L), w = 0, whole = n / L * L; \
			for (; w + W <= some; w += W) \
				gp__parts_of_##S(W, n, x, y + w * ldy, ldy, part + w * L); \
			for (; w < some; w++) gp__parts_of_##S(1, n, x, y + w * ldy, ldy, part + w * L); \
			if (whole < n) { \
				GP__STORE_##S(rest, all); \
				for (w = 0; w < some; w++) \
					GP__FROM(j, whole, n) rest[w] += x[j] * y[w * ldy + j]; \
				all = GP__LOAD_##S(rest); \
			} \
			GP__UNROLL \
			for (int r = 0; r < L; r++) v[r] = GP__LOAD_##S(part + GP__MIN(r, some - 1) * L); \
			GP__TRANSPOSED(S, V, L, v) \
			GP__UNROLL \
			for (int r = 0; r < L; r++) all = all + v[r]; \
			GP__STORE_##S(out, all); \
			count -= some, y += some * ldy, out += some; \
		} \
		for (; count > 0; count--, y += ldy) *out++ = gp__dot_##S(n, x, y); \
	} \
	TARGET GP__INLINE void gp__spreads_of_##S(int ways, ptrdiff_t n, const odvgp_real *x, \
			ptrdiff_t step, const odvgp_real *z, const odvgp_real *h, ptrdiff_t ld, \
			odvgp_real *out) \
	{ \
		V s[GP__ABREAST_##S][4], all[GP__ABREAST_##S]; \
		odvgp_real part[GP__ABREAST_##S][L]; \
		const odvgp_real *row[GP__ABREAST_##S]; \
		GP__ABREAST(row[w] = h + w * ld) \
		GP__ABREAST(all[w] = GP__K(S, x[w * step])) \
		GP__ABREAST(GP__WAYS(s[w][q] = GP__K(S, 0))) \
		for (ptrdiff_t j = 0; j < n; j += 4 * L) \
			GP__WAYS({ \
				const V v = GP__LOAD_##S(z + j + q * L); \
				GP__ABREAST({ \
					const V t = all[w] - v; \
					s[w][q] = GP__FMA_##S(GP__LOAD_##S(row[w] + j + q * L) * t, t, s[w][q]); \
				}) \
			}) \
		GP__ABREAST(GP__STORE_##S(part[w], (s[w][0] + s[w][1]) + (s[w][2] + s[w][3]))) \
		for (int w = 0; w < ways; w++) { \
			odvgp_real sum = 0; \
			for (int i = 0; i < L; i++) sum += part[w][i]; \
			out[w * step] = sum; \
		} \
	} \
	TARGET static void gp__spreads_##S(ptrdiff_t n, ptrdiff_t count, const odvgp_real *x, \
			ptrdiff_t step, const odvgp_real *z, const odvgp_real *h, ptrdiff_t ld, \
			odvgp_real *out) \
	{ \
		enum { W = GP__ABREAST_##S }; \
		for (; count >= W; count -= W, x += W * step, h += W * ld, out += W * step) \
			gp__spreads_of_##S(W, n, x, step, z, h, ld, out); \
		for (; count; count--, x += step, h += ld, out += step) \
			gp__spreads_of_##S(1, n, x, step, z, h, ld, out); \
	} \
	GP__UPDATE_OF(TARGET, vectors_##S, S, V, L) \
	GP__UPDATE_OF(TARGET, reals_##S, c, odvgp_real, 1) \
	TARGET GP__INLINE void gp__update_rows_##S(int ways, ptrdiff_t n, ptrdiff_t k, \
			const odvgp_real *x, ptrdiff_t ldx, const odvgp_real *f, ptrdiff_t fw, ptrdiff_t fk, \
			odvgp_real *y, ptrdiff_t ldy) \
	{ \
		ptrdiff_t j = 0; \
		for (; j + 4 * L <= n && ways < 4; j += 4 * L) \
			gp__update_vectors_##S(ways, 4, k, x + j, ldx, f, fw, fk, y + j, ldy); \
		for (; j + 2 * L <= n; j += 2 * L) \
			gp__update_vectors_##S(ways, 2, k, x + j, ldx, f, fw, fk, y + j, ldy); \
		for (; j + 2 <= n; j += 2) \
			gp__update_reals_##S(ways, 2, k, x + j, ldx, f, fw, fk, y + j, ldy); \
		if (j < n) gp__update_reals_##S(ways, 1, k, x + j, ldx, f, fw, fk, y + j, ldy); \
	} \
	TARGET static void gp__update_##S(ptrdiff_t n, ptrdiff_t k, const odvgp_real *x, \
			ptrdiff_t ldx, ptrdiff_t count, const odvgp_real *f, ptrdiff_t fw, ptrdiff_t fk, \
			odvgp_real *y, ptrdiff_t ldy) \
	{ \
		for (; count >= 4; count -= 4, f += 4 * fw, y += 4 * ldy) \
			gp__update_rows_##S(4, n, k, x, ldx, f, fw, fk, y, ldy); \
		for (; count >= 2; count -= 2, f += 2 * fw, y += 2 * ldy) \
			gp__update_rows_##S(2, n, k, x, ldx, f, fw, fk, y, ldy); \
		if (count) gp__update_rows_##S(1, n, k, x, ldx, f, fw, fk, y, ldy); \
	} \
	TARGET static void gp__squares_##S( \
			ptrdiff_t rows, ptrdiff_t n, const odvgp_real *A, ptrdiff_t ld, odvgp_real *out) \
	{ \
		for (; rows >= 4; rows -= 4, A += 4 * ld) { \
			ptrdiff_t j = 0; \
			for (; j + L <= n; j += L) { \
				V sum = GP__LOAD_##S(out + j); \
				GP__WAYS({ \
					const V v = GP__LOAD_##S(A + q * ld + j); \
					sum = sum + v * v; \
				}) \
				GP__STORE_##S(out + j, sum); \
			} \
			for (; j < n; j++) \
				for (int q = 0; q < 4; q++) out[j] += A[q * ld + j] * A[q * ld + j]; \
		} \
		for (; rows > 0; rows--, A += ld) \
			GP__FOR(j, n) out[j] += A[j] * A[j]; \
	} \
	TARGET static void gp__weigh_##S( \
			ptrdiff_t rows, ptrdiff_t n, const odvgp_real *w, odvgp_real *A, ptrdiff_t ld) \
	{ \
		const V two = GP__K(S, 2); \
		for (; rows > 0; rows--, A += ld) { \
			ptrdiff_t j = 0; \
			for (; j + L <= n; j += L) \
				GP__STORE_##S(A + j, GP__LOAD_##S(A + j) * (two * GP__LOAD_##S(w + j))); \
			for (; j < n; j++) A[j] *= 2 * w[j]; \
		} \
	} \
	TARGET static void gp__blend_##S(ptrdiff_t n, odvgp_real a, const odvgp_real *x, odvgp_real b, \
			const odvgp_real *y, odvgp_real *out) \
	{ \
		const V va = GP__K(S, a), vb = GP__K(S, b); \
		ptrdiff_t j = 0; \
		for (; j + L <= n; j += L) \
			GP__STORE_##S(out + j, va * GP__LOAD_##S(x + j) - vb * GP__LOAD_##S(y + j)); \
		for (; j < n; j++) out[j] = a * x[j] - b * y[j]; \
	} \
	TARGET static odvgp_real gp__slope_##S( \
			ptrdiff_t n, odvgp_real x, const odvgp_real *z, const odvgp_real *h) \
	{ \
		const V f = GP__K(S, x); \
		V s0 = GP__K(S, 0), s1 = s0; \
		odvgp_real part[L], sum = 0; \
		for (ptrdiff_t j = 0; j < n; j += 2 * L) { \
			s0 = GP__FMA_##S(GP__LOAD_##S(h + j), f - GP__LOAD_##S(z + j), s0); \
			s1 = GP__FMA_##S(GP__LOAD_##S(h + j + L), f - GP__LOAD_##S(z + j + L), s1); \
		} \
		GP__STORE_##S(part, s0 + s1); \
		for (int j = 0; j < L; j++) sum += part[j]; \
		return sum; \
	} \
	TARGET static void gp__combine_##S( \
			int product, const odvgp_real *x, const odvgp_real *y, odvgp_real *out) \
	{ \
		for (int j = 0; j < GP__CHUNK; j += L) { \
			V a = GP__LOAD_##S(x + j), b = GP__LOAD_##S(y + j); \
			if (product) a = a * b; \
			else a = a + b; \
			GP__STORE_##S(out + j, a); \
		} \
	} \
	TARGET static void gp__derivative_##S(odvgp_real scale, const odvgp_real *adjoint, \
			const odvgp_real *d2, int first, odvgp_real *dk, odvgp_real *h) \
	{ \
		for (int j = 0; j < GP__CHUNK; j += L) { \
			V g = GP__LOAD_##S(dk + j) * GP__K(S, scale), sum; \
			if (adjoint) g = g * GP__LOAD_##S(adjoint + j); \
			sum = g; \
			if (!first) sum = g + GP__LOAD_##S(h + j); \
			GP__STORE_##S(h + j, sum); \
			GP__STORE_##S(dk + j, g * GP__LOAD_##S(d2 + j)); \
		} \
	}

/* --- all of it for each instruction set --- */

#define GP__BITS_c(TARGET, S, V)      GP__RAISE(TARGET, S, V)
#define GP__BITS_sse2(TARGET, S, V)   GP__VBITS(TARGET, S, V) GP__RAISE(TARGET, S, V)
#define GP__BITS_neon(TARGET, S, V)   GP__VBITS(TARGET, S, V) GP__RAISE(TARGET, S, V)
#define GP__BITS_avx2(TARGET, S, V)   GP__VBITS(TARGET, S, V) GP__RAISE(TARGET, S, V)
#define GP__BITS_avx512(TARGET, S, V) GP__VBITS(TARGET, S, V) GP__RAISE512(TARGET, S, V)
#define GP__VMATH(TARGET, S, V, L) \
	GP__BITS_##S(TARGET, S, V) GP__MAPS_OF(TARGET, S, V, L) \
	GP__SQDIST(TARGET, S, V, L) GP__RADIAL(TARGET, S, V, L) GP__ARRAYS(TARGET, S, V, L)
#define GP__VMATH_OF(TARGET, S, ID, R, NVMAX, MC, NC) \
	GP__VMATH(TARGET, S, GP__V_##S, GP__LANES_##S)

GP__EACH_ISA(GP__VMATH_OF)

/* --- wide sums --- */

/*	out_j += sum_i A_ij^2 */
static void gp__column_squares_add(
		const odvgp_real *A, ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld, odvgp_real *out)
{
	GP__FOR(i, rows)
		GP__FOR(j, cols) out[j] += A[i * ld + j] * A[i * ld + j];
}

GP__TRAINING void gp__column_squares(
		const odvgp_real *A, ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld, odvgp_real *out)
{
	gp__zero(out, cols);
	gp__column_squares_add(A, rows, cols, ld, out);
}

GP__TRAINING gp__wide gp__wide_dot(ptrdiff_t n, const odvgp_real *x, const odvgp_real *y)
{
	gp__wide sum[4] = {0, 0, 0, 0};
	GP__FOR(i, n) sum[i & 3] += (gp__wide)x[i] * (gp__wide)y[i];
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

GP__TRAINING void gp__wide_axpy(ptrdiff_t n, gp__wide a, const odvgp_real *x, odvgp_real *y)
{
	GP__FOR(i, n) y[i] = (odvgp_real)((gp__wide)y[i] + a * (gp__wide)x[i]);
}

static gp__wide gp__max_abs(ptrdiff_t n, const odvgp_real *x)
{
	gp__wide most = 0;
	GP__FOR(i, n) most = GP__MAX(most, gp__fabs((gp__wide)x[i]));
	return most;
}

/*	Norm of x, also where its square overflows or underflows. */
GP__TRAINING gp__wide gp__length(ptrdiff_t n, const odvgp_real *x)
{
	gp__wide most = gp__max_abs(n, x), sum = 0;
	if (most > 0)
		GP__FOR(i, n) sum += (gp__wide)x[i] / most * ((gp__wide)x[i] / most);
	return most * gp__sqrt(sum);
}

#ifndef ODVGP_FLOAT_ONLY
/* --- log Gamma and its derivative; C's lgamma writes a global --- */

/*	S(x) in log Gamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + S(x) for x >= 10, to 4e-17. */
static double gp__stirling(double x)
{
	static const double c[] = {
			1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12};
	double r = 1 / x, sum = 0;
	r *= r;
	GP__FOR(k, GP__COUNT(c)) sum = sum * r + c[k];
	return sum / x;
}

/*	For x > 0, to 4e-15 (1 + |result|): Gamma(x + 1) = x Gamma(x) leads to x >= 10. */
static double gp__lgamma(double x)
{
	double product = 1;
	GP__FOR(k, 10)
		if (x < 10) product *= x++;
	return (x - 0.5) * log(x) - x + 0.5 * gp__log_2pi + gp__stirling(x) - log(product);
}

/*	psi(x) = d log Gamma(x) / dx for x > 0, to 4e-15 (1 + |result|). */
static double gp__digamma(double x)
{
	static const double c[] = {
			1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12};
	double less = 0, sum = 0;
	GP__FOR(k, 10)
		if (x < 10) less += 1 / x++;
	GP__FOR(k, GP__COUNT(c)) sum = (sum + c[k]) / (x * x);
	return log(x) - 0.5 / x - sum - less;
}

/*	log(Gamma(x + y) / (Gamma(x) x^y)) for x > 0, y >= 0, without cancellation where x is large. */
static double gp__lgamma_rise(double x, double y)
{
	if (x < 10) return gp__lgamma(x + y) - gp__lgamma(x) - y * log(x);
	return (x + y - 0.5) * log1p(y / x) - y + (gp__stirling(x + y) - gp__stirling(x));
}

/* --- nodes of Gauss-Hermite --- */

/*	Gauss-Hermite nodes t and weights w: E[g(t)] = sum w g(t) for a standard normal t, exact for
	polynomials below degree 2 H; H <= 200. Bisection finds the eigenvalues of the Jacobi matrix,
	and 1 / w is the sum of the squares of orthonormal polynomials. O(H^2). */
GP__TRAINING void gp__gauss_hermite(ptrdiff_t H, odvgp_real *t, odvgp_real *w)
{
	for (ptrdiff_t h = 0; 2 * h < H; h++) {
		double low = 0, high = 2 * sqrt((double)H), x = 0, before = 0, now = 1, squares = 1;
		for (int k = 0; k < 64 && 2 * h + 1 < H; k++) {
			ptrdiff_t above = 0; /* eigenvalues above x */
			double pivot = x = 0.5 * (low + high);
			for (ptrdiff_t j = 1; j <= H; j++) {
				above += pivot < 0;
				pivot = x - (double)j / (pivot == 0 ? DBL_MIN : pivot);
			}
			if (above > h) low = x;
			else high = x;
		}
		GP__FROM(j, 1, H) {
			double next = (x * now - sqrt((double)(j - 1)) * before) / sqrt((double)j);
			before = now;
			now = next;
			squares += now * now;
		}
		t[H - 1 - h] = (odvgp_real)x;
		t[h] = (odvgp_real)-x;
		w[h] = w[H - 1 - h] = (odvgp_real)(1 / squares);
	}
}

#endif /* ODVGP_FLOAT_ONLY */

/* ---- >>ukr   micro-kernels and packing

	Macros define each micro-kernel once and expand it for every isa, for widths w of 1 to NV
	vectors:
		ukr              C[MR,w] <- alpha A B (+ C)   k steps, C in registers
		solve            T[MR,w] <- U^-1 (T - A X)    product, then solve with a triangle of MR rows
		copy, transpose  strips, for packing
	A is read by broadcasts with any two strides, B by vectors along its rows. Accumulators have
	names (c00, c01, ...), so that every compiler keeps them in registers: 8 x 3 vectors in 32
	registers, 6 x 2 in 16. */

typedef void (*gp__ukr)(ptrdiff_t k, odvgp_real alpha, int add, const odvgp_real *a, ptrdiff_t ars,
		ptrdiff_t acs, const odvgp_real *b, ptrdiff_t bs, odvgp_real *c, ptrdiff_t cs);
typedef void (*gp__solve)(ptrdiff_t k, const odvgp_real *a, ptrdiff_t ars, ptrdiff_t acs,
		const odvgp_real *tri, const odvgp_real *x, ptrdiff_t xs, odvgp_real *t, ptrdiff_t ts);

enum {
	GP__MAX_MR = 8,
	GP__MAX_LANES = 64 / (int)sizeof(odvgp_real),
	GP__MAX_NR = 3 * GP__MAX_LANES
};

/*	To add a function: a field here, its macro, and its name in GP__ISA. */
typedef struct odvgp__simd {
	const char *name;
	odvgp_isa id;
	int MR, NR, lanes;
	ptrdiff_t MC, KC, NC; /* block sizes: MC x KC of A stays in L2, KC x NR of B in L1 */
	gp__ukr ukr[4];       /* [vectors - 1] */
	gp__solve solve[4];
	ptrdiff_t (*factor)(odvgp_real *d, ptrdiff_t rs, ptrdiff_t cs, odvgp_real *tri);
	void (*copy)(ptrdiff_t k, ptrdiff_t n, ptrdiff_t width, const odvgp_real *w,
			const odvgp_real *from, ptrdiff_t fs, odvgp_real *to, ptrdiff_t ts);
	void (*transpose)(ptrdiff_t k, ptrdiff_t n, ptrdiff_t width, const odvgp_real *from,
			ptrdiff_t fs, odvgp_real *to, ptrdiff_t ts);
	void (*sqdist)(
			ptrdiff_t nd, const odvgp_real *x, const odvgp_real *zt, ptrdiff_t ld, odvgp_real *r2);
	void (*radial)(int type, odvgp_real v, odvgp_real scale, const odvgp_real *d2, odvgp_real *k,
			odvgp_real *dk);
	void (*axpy)(ptrdiff_t n, odvgp_real a, const odvgp_real *x, odvgp_real *y);
	odvgp_real (*dot)(ptrdiff_t n, const odvgp_real *x, const odvgp_real *y);
	gp__map *map[GP__MAPS];
	odvgp_real (*slope)(ptrdiff_t n, odvgp_real x, const odvgp_real *z, const odvgp_real *h);
	void (*combine)(int product, const odvgp_real *x, const odvgp_real *y, odvgp_real *out);
	void (*derivative)(odvgp_real scale, const odvgp_real *adjoint, const odvgp_real *d2, int first,
			odvgp_real *dk, odvgp_real *h);
	void (*dots)(ptrdiff_t n, const odvgp_real *x, ptrdiff_t count, const odvgp_real *y,
			ptrdiff_t ldy, odvgp_real *out);
	void (*update)(ptrdiff_t n, ptrdiff_t k, const odvgp_real *x, ptrdiff_t ldx, ptrdiff_t count,
			const odvgp_real *f, ptrdiff_t fw, ptrdiff_t fk, odvgp_real *y, ptrdiff_t ldy);
	void (*squares)(
			ptrdiff_t rows, ptrdiff_t n, const odvgp_real *A, ptrdiff_t ld, odvgp_real *out);
	void (*weigh)(ptrdiff_t rows, ptrdiff_t n, const odvgp_real *w, odvgp_real *A, ptrdiff_t ld);
	void (*blend)(ptrdiff_t n, odvgp_real a, const odvgp_real *x, odvgp_real b, const odvgp_real *y,
			odvgp_real *out);
	void (*spreads)(ptrdiff_t n, ptrdiff_t count, const odvgp_real *x, ptrdiff_t step,
			const odvgp_real *z, const odvgp_real *h, ptrdiff_t ld, odvgp_real *out);
} odvgp__simd;

/* --- X for all rows; for the vectors of a row; SUBTRACT for the rows above row i --- */

/* clang-format off */
#define GP__ROWS4(X, NV, S) X(NV, S, 0) X(NV, S, 1) X(NV, S, 2) X(NV, S, 3)
#define GP__ROWS6(X, NV, S) GP__ROWS4(X, NV, S) X(NV, S, 4) X(NV, S, 5)
#define GP__ROWS8(X, NV, S) GP__ROWS6(X, NV, S) X(NV, S, 6) X(NV, S, 7)
#define GP__EACH1(X, S, i)	X(S, i, 0)
#define GP__EACH2(X, S, i)	GP__EACH1(X, S, i) X(S, i, 1)
#define GP__EACH3(X, S, i)	GP__EACH2(X, S, i) X(S, i, 2)
#define GP__EACH4(X, S, i)	GP__EACH3(X, S, i) X(S, i, 3)
#define GP__ABOVE0(NV, S, i)
#define GP__ABOVE1(NV, S, i) GP__SUBTRACT(NV, S, i, 0)
#define GP__ABOVE2(NV, S, i) GP__ABOVE1(NV, S, i) GP__SUBTRACT(NV, S, i, 1)
#define GP__ABOVE3(NV, S, i) GP__ABOVE2(NV, S, i) GP__SUBTRACT(NV, S, i, 2)
#define GP__ABOVE4(NV, S, i) GP__ABOVE3(NV, S, i) GP__SUBTRACT(NV, S, i, 3)
#define GP__ABOVE5(NV, S, i) GP__ABOVE4(NV, S, i) GP__SUBTRACT(NV, S, i, 4)
#define GP__ABOVE6(NV, S, i) GP__ABOVE5(NV, S, i) GP__SUBTRACT(NV, S, i, 5)
#define GP__ABOVE7(NV, S, i) GP__ABOVE6(NV, S, i) GP__SUBTRACT(NV, S, i, 6)

/* --- steps of a micro-kernel: name1 for one vector, name for a row of vectors --- */

#define GP__AT(S, p, s, i, j)    ((p) + i * (s) + j * GP__LANES_##S)
#define GP__ZERO1(S, i, j)       GP__V_##S c##i##j = GP__K(S, 0);
#define GP__ZERO(NV, S, i)       GP__EACH##NV(GP__ZERO1, S, i)
#define GP__GETB1(S, i, j)       GP__V_##S b##j = GP__LOAD_##S(GP__AT(S, b, 0, i, j));
#define GP__FMA1(S, i, j)        c##i##j = GP__FMA_##S(a##i, b##j, c##i##j);
#define GP__FMA(NV, S, i) \
	GP__V_##S a##i = GP__K(S, a[i * ars]); GP__EACH##NV(GP__FMA1, S, i)
#define GP__NMA1(S, i, j)        c##i##j = GP__NMA_##S(a##i, b##j, c##i##j);
#define GP__NMA(NV, S, i) \
	GP__V_##S a##i = GP__K(S, a[i * ars]); GP__EACH##NV(GP__NMA1, S, i)
#define GP__ADD1(S, i, j) \
	GP__STORE_##S(GP__AT(S, c, cs, i, j), \
					 GP__FMA_##S(factor, c##i##j, GP__LOAD_##S(GP__AT(S, c, cs, i, j))));
#define GP__ADD(NV, S, i)        GP__EACH##NV(GP__ADD1, S, i)
#define GP__PUT1(S, i, j)        GP__STORE_##S(GP__AT(S, c, cs, i, j), factor * c##i##j);
#define GP__PUT(NV, S, i)        GP__EACH##NV(GP__PUT1, S, i)
#define GP__GET1(S, i, j) \
	GP__V_##S c##i##j = GP__LOAD_##S(GP__AT(S, t, ts, i, j));
#define GP__GET(NV, S, i)        GP__EACH##NV(GP__GET1, S, i)
#define GP__SUB1(S, i, r)        c##i##0 = GP__NMA_##S(u, c##r##0, c##i##0);
#define GP__SUB2(S, i, r)        GP__SUB1(S, i, r) c##i##1 = GP__NMA_##S(u, c##r##1, c##i##1);
#define GP__SUB3(S, i, r)        GP__SUB2(S, i, r) c##i##2 = GP__NMA_##S(u, c##r##2, c##i##2);
#define GP__SUB4(S, i, r)        GP__SUB3(S, i, r) c##i##3 = GP__NMA_##S(u, c##r##3, c##i##3);
#define GP__SUBTRACT(NV, S, i, r) \
	u = GP__K(S, tri[i * GP__MAX_MR + r]); GP__SUB##NV(S, i, r)
#define GP__DIVIDE1(S, i, j) \
	c##i##j = u * c##i##j; GP__STORE_##S(GP__AT(S, t, ts, i, j), c##i##j);
#define GP__DIVIDE(NV, S, i) \
	GP__ABOVE##i(NV, S, i) u = GP__K(S, tri[i * GP__MAX_MR + i]); \
	GP__EACH##NV(GP__DIVIDE1, S, i)
/* clang-format on */

/* --- the micro-kernels --- */

#define GP__UKR(TARGET, S, ROWS, NV) \
	TARGET static void gp__ukr##NV##_##S(ptrdiff_t k, odvgp_real alpha, int add, \
			const odvgp_real *a, ptrdiff_t ars, ptrdiff_t acs, const odvgp_real *b, ptrdiff_t bs, \
			odvgp_real *c, ptrdiff_t cs) \
	{ \
		ROWS(GP__ZERO, NV, S) \
		for (; k > 0; k--, a += acs, b += bs) { \
			GP__EACH##NV(GP__GETB1, S, 0) ROWS(GP__FMA, NV, S) \
		} \
		GP__V_##S factor = GP__K(S, alpha); \
		if (add) { \
			ROWS(GP__ADD, NV, S) \
		} else { \
			ROWS(GP__PUT, NV, S) \
		} \
	}

/*	Solves t in place. tri [MR, stride MAX_MR]: a lower triangle with its diagonal inverted. */
#define GP__SOLVE(TARGET, S, ROWS, NV) \
	TARGET static void gp__solve##NV##_##S(ptrdiff_t k, const odvgp_real *a, ptrdiff_t ars, \
			ptrdiff_t acs, const odvgp_real *tri, const odvgp_real *b, ptrdiff_t bs, \
			odvgp_real *t, ptrdiff_t ts) \
	{ \
		ROWS(GP__GET, NV, S) \
		for (; k > 0; k--, a += acs, b += bs) { \
			GP__EACH##NV(GP__GETB1, S, 0) ROWS(GP__NMA, NV, S) \
		} \
		GP__V_##S u; \
		ROWS(GP__DIVIDE, NV, S) \
	}

/*	Factors an MR x MR block into U^T U. d gives its upper half, d[i * rs + j * cs] for j >= i, and
	receives U; tri, as in SOLVE, receives U^T. It computes U^T D U with a unit diagonal first: no
	pivot waits for a square root. Returns -1, or the first row whose pivot or its inverse is not
	positive and finite; d[row,row] is then that pivot. */
GP__INLINE ptrdiff_t gp__factor_body(
		const int MR, odvgp_real *d, ptrdiff_t rs, ptrdiff_t cs, odvgp_real *tri)
{
	odvgp_real T[GP__MAX_MR][GP__MAX_MR], inverse[GP__MAX_MR];
	GP__UNROLL
	for (int i = 0; i < MR; i++) {
		GP__UNROLL
		for (int j = 0; j < MR; j++)
			if (j >= i) T[i][j] = d[i * rs + j * cs];
	}
	GP__UNROLL
	for (int i = 0; i < MR; i++) {
		inverse[i] = T[i][i] > 0 ? 1 / T[i][i] : 0;
		/* the first test also refuses an infinite pivot: its inverse is 0 */
		if (!(inverse[i] > 0) || !(inverse[i] - inverse[i] == 0)) {
			d[i * (rs + cs)] = T[i][i];
			return i;
		}
		GP__UNROLL
		for (int r = 0; r < MR; r++)
			if (r > i) {
				/* the inverse would not eliminate one of two equal rows exactly */
				odvgp_real f = T[i][r] / T[i][i];
				GP__UNROLL
				for (int j = 0; j < MR; j++)
					if (j >= r) T[r][j] -= f * T[i][j];
			}
	}
	GP__UNROLL
	for (int i = 0; i < MR; i++) {
		odvgp_real root = GP__SQRT(T[i][i]), over = root * inverse[i];
		d[i * (rs + cs)] = root;
		tri[i * GP__MAX_MR + i] = over;
		GP__UNROLL
		for (int j = 0; j < MR; j++)
			if (j > i) tri[j * GP__MAX_MR + i] = d[i * rs + j * cs] = T[i][j] * over;
	}
	return -1;
}

/*	copy: to[p * ts + i] = w[p] from[p * fs + i] (w NULL: 1) for i < n, zeros up to width.
	transpose: to[p * ts + i] = from[i * fs + p], likewise. p < k; strides may be negative. */
#define GP__COPY(TARGET, S) \
	TARGET static void gp__copy_##S(ptrdiff_t k, ptrdiff_t n, ptrdiff_t width, \
			const odvgp_real *w, const odvgp_real *from, ptrdiff_t fs, odvgp_real *to, \
			ptrdiff_t ts) \
	{ \
		for (ptrdiff_t p = 0; p < k; p++, from += fs, to += ts) { \
			ptrdiff_t i = 0; \
			odvgp_real f = w ? w[p] : 1; \
			GP__V_##S factor = GP__K(S, f); \
			for (; i + GP__LANES_##S <= n; i += GP__LANES_##S) \
				GP__STORE_##S(to + i, factor * GP__LOAD_##S(from + i)); \
			for (; i < n; i++) to[i] = f * from[i]; \
			for (; i < width; i++) to[i] = 0; \
		} \
	}

#define GP__TRANSPOSE(TARGET, S) \
	TARGET static void gp__transpose_##S(ptrdiff_t k, ptrdiff_t n, ptrdiff_t width, \
			const odvgp_real *from, ptrdiff_t fs, odvgp_real *to, ptrdiff_t ts) \
	{ \
		enum { L = GP__LANES_##S }; \
		ptrdiff_t whole = n / L * L, p = 0; \
		for (; p + L <= k; p += L) \
			for (ptrdiff_t i = 0; i < whole; i += L) { \
				GP__V_##S v[L]; \
				GP__UNROLL \
				for (int r = 0; r < L; r++) v[r] = GP__LOAD_##S(from + (i + r) * fs + p); \
				GP__TRANSPOSED(S, GP__V_##S, L, v) \
				GP__UNROLL \
				for (int r = 0; r < L; r++) GP__STORE_##S(to + (p + r) * ts + i, v[r]); \
			} \
		GP__FROM(i, whole, n) \
			GP__FOR(q, p) to[q * ts + i] = from[i * fs + q]; \
		for (; p < k; p++) \
			GP__FOR(i, n) to[p * ts + i] = from[i * fs + p]; \
		for (p = 0; p < k && n < width; p++) \
			GP__FROM(i, n, width) to[p * ts + i] = 0; \
	}

/*	All micro-kernels of an instruction set. */
/* clang-format off */
#define GP__KERNELS(TARGET, S, ID, R, NVMAX, MC, NC) \
	GP__WIDTHS##NVMAX(GP__UKR, TARGET, S, GP__ROWS##R) \
	GP__WIDTHS##NVMAX(GP__SOLVE, TARGET, S, GP__ROWS##R) \
	GP__COPY(TARGET, S) GP__TRANSPOSE(TARGET, S) \
	TARGET static ptrdiff_t gp__factor_##S( \
			odvgp_real *d, ptrdiff_t rs, ptrdiff_t cs, odvgp_real *tri) \
	{ \
		return gp__factor_body(R, d, rs, cs, tri); \
	}
/* clang-format on */
#define GP__WIDTHS2(X, TARGET, S, ROWS) X(TARGET, S, ROWS, 1) X(TARGET, S, ROWS, 2)
#define GP__WIDTHS3(X, TARGET, S, ROWS) GP__WIDTHS2(X, TARGET, S, ROWS) X(TARGET, S, ROWS, 3)
#define GP__WIDTHS4(X, TARGET, S, ROWS) GP__WIDTHS3(X, TARGET, S, ROWS) X(TARGET, S, ROWS, 4)

GP__EACH_ISA(GP__KERNELS)

/* --- the table --- */

#define GP__LIST2(name, S) {name##1_##S, name##2_##S, NULL, NULL}
#define GP__LIST3(name, S) {name##1_##S, name##2_##S, name##3_##S, NULL}
#define GP__LIST4(name, S) {name##1_##S, name##2_##S, name##3_##S, name##4_##S}
/*	In the order of odvgp__simd. */
#define GP__ISA(TARGET, S, ID, R, NVMAX, MC, NC) \
	{#S, ODVGP_ISA_##ID, R, NVMAX *GP__LANES_##S, GP__LANES_##S, MC, 256, NC, \
			GP__LIST##NVMAX(gp__ukr, S), GP__LIST##NVMAX(gp__solve, S), gp__factor_##S, \
			gp__copy_##S, gp__transpose_##S, gp__sqdist_##S, gp__radial_##S, gp__axpy_##S, \
			gp__dot_##S, GP__MAP_LIST(S), gp__slope_##S, gp__combine_##S, gp__derivative_##S, gp__dots_##S, \
			gp__update_##S, gp__squares_##S, gp__weigh_##S, gp__blend_##S, gp__spreads_##S},
static const odvgp__simd gp__isas[] = {GP__EACH_ISA(GP__ISA)};

/*	The best one for AUTO; NULL if machine or build lacks it. */
static const odvgp__simd *gp__isa_find(odvgp_isa id)
{
	GP__FOR(i, GP__COUNT(gp__isas))
		if ((id == ODVGP_ISA_AUTO || id == gp__isas[i].id) && gp__cpu_has(gp__isas[i].id))
			return &gp__isas[i];
	return NULL;
}

/* ---- >>gemm   C <- alpha op(A) diag(w) op(B) + beta C

	One routine serves general, symmetric (lower triangle only), weighted and triangular products.
	Strides describe the operands, flags their triangles; micro-kernels skip steps that are zero.

	Five loops: blocks of KC steps, of NC columns (B packed into strips of NR), of MC rows (A packed
	into panels of MR), strips, panels. An operand that stays in cache is read in place; only its
	ragged edge is copied and padded with zeros.

	Each element of C is summed over k in the same order for any cut into tasks. */

enum { GP__FULL, GP__LOWER, GP__UPPER };

typedef struct {
	ptrdiff_t m, n, k;
	const odvgp_real *A;
	ptrdiff_t ars, acs; /* op(A)[i,p] = A[i * ars + p * acs] */
	const odvgp_real *B;
	ptrdiff_t brs, bcs;
	const odvgp_real *w; /* [k] or NULL */
	odvgp_real *C;
	ptrdiff_t ldc;
	odvgp_real alpha, beta;
	/* LOWER or UPPER: op(A), op(B) is triangular, the rest stored zeros */
	int a_part, b_part;
	int c_part; /* LOWER: only C[i,j], j <= i, is touched */
} gp__mm;

/*	Triangles of more rows are cut into products. */
#define GP__BASE ((ptrdiff_t)512)
/*	The same for Cholesky factors; at most BASE. */
#define GP__POTRF_BASE ((ptrdiff_t)256)
/*	They are cut at multiples of this. */
#define GP__HALF_UNIT ((ptrdiff_t)24)
/*	Strips of at most this many rows are solved in place. */
#define GP__IN_PLACE ((ptrdiff_t)96)
/*	Operands of more than PACK_SIZE numbers are packed: B if more than PACK_ROWS rows of C use it,
	or if transposed or weighted; A if more than PACK_COLS columns of C do. */
#define GP__PACK_ROWS ((ptrdiff_t)48)
#define GP__PACK_COLS ((ptrdiff_t)256)
#define GP__PACK_SIZE ((ptrdiff_t)8192)
/*	Fewer multiplications are not worth a second thread. */
#define GP__TASK_WORK (48. * 48 * 48)
/*	Larger ones are cut if watched. */
#ifndef GP__WATCH_SLICE
#define GP__WATCH_SLICE 1e10
#endif

/* --- sizes of blocks, and the context --- */

static ptrdiff_t gp__round_up(ptrdiff_t n, ptrdiff_t unit) { return (n + unit - 1) / unit * unit; }

/*	Row stride of the square in which n rows are factored: an odd number of whole vectors, because
	rows a power of two apart share few sets of the cache. */
static ptrdiff_t gp__square_stride(const odvgp__simd *isa, ptrdiff_t n)
{
	ptrdiff_t vectors = (n + isa->MR + 2 * isa->lanes - 2) / isa->lanes;
	return (vectors | 1) * isa->lanes;
}

/*	Each task's area ends with a tile of C and a triangle of MAX_MR rows. */
enum { GP__TILE_NUMBERS = GP__MAX_MR * GP__MAX_NR, GP__TRI_NUMBERS = GP__MAX_MR * GP__MAX_MR };

static odvgp_real *gp__tile_buffer(const odvgp_blas *blas, odvgp_real *area)
{
	return area + (blas->pack_stride - GP__TILE_NUMBERS - GP__TRI_NUMBERS);
}

/*	Largest `order` of a problem: no limit. */
#define GP__ANY_ORDER (PTRDIFF_MAX / 2)

/*	Block sizes for matrices of at most `order` rows and columns, and the size of a task's area. */
static void gp__blas_layout(gp__arena *a, const odvgp__simd *isa, const odvgp_threads *threads,
		ptrdiff_t order, odvgp_blas *blas)
{
	memset(blas, 0, sizeof *blas);
	if (threads) blas->threads = *threads;
	blas->isa = isa;
	blas->mc = gp__round_up(GP__MIN(isa->MC, order), isa->MR);
	blas->nc = gp__round_up(GP__MIN(isa->NC, order), isa->NR);
	blas->kc = GP__MIN(isa->KC, order);
	/* for gp__solve_task and gp__potrf_base */
	order = GP__MIN(order, GP__BASE);
	if (order > 0) order += GP__MAX_MR;
	ptrdiff_t solve = order * (isa->NR + 2 * GP__MAX_MR),
			  factor = order * gp__square_stride(isa, order);
	blas->pack_stride = GP__MAX((blas->mc + blas->nc) * blas->kc, GP__MAX(solve, factor)) + 16;
	blas->pack_stride += GP__TILE_NUMBERS + GP__TRI_NUMBERS;
	blas->pack = gp__take(a, gp__tasks(&blas->threads), blas->pack_stride);
}

ODVGP_API size_t odvgp_blas_size(const odvgp_threads *threads, odvgp_info *info)
{
	size_t most = 0;
	GP__FOR(i, GP__COUNT(gp__isas)) {
		gp__arena a = gp__measuring();
		odvgp_blas blas;
		gp__blas_layout(&a, &gp__isas[i], threads, GP__ANY_ORDER, &blas);
		if (a.bad) return gp__too_large(info, "threads");
		most = GP__MAX(most, a.used);
	}
	return most + 64;
}

static odvgp_status gp__no_isa(odvgp_info *info)
{
	return gp__unsupported(info, "isa", "this machine or this build lacks the instruction set");
}

ODVGP_API odvgp_status odvgp_blas_init(odvgp_blas *blas, const odvgp_threads *threads,
		odvgp_isa isa, void *block, size_t block_bytes, odvgp_info *info)
{
	const odvgp__simd *row = gp__isa_find(isa);
	gp__arena a;
	if (!blas || !block) return gp__is_null(info, blas ? "block" : "blas");
	if (!row) return gp__no_isa(info);
	size_t need = odvgp_blas_size(threads, info);
	if (!need) return ODVGP_E_SIZE;
	if (block_bytes < need) return gp__small(info, "block", block_bytes);
	gp__arena_init(&a, block, block_bytes);
	gp__blas_layout(&a, row, threads, GP__ANY_ORDER, blas);
	return ODVGP_OK;
}

ODVGP_API const char *odvgp_blas_isa(const odvgp_blas *blas) { return blas->isa->name; }

/*	The panel (of A) or strip (of B) from row or column i on is at `at + i * step`; ragged: a copy
	of the last one, if not whole. */
typedef struct {
	const odvgp_real *at, *ragged;
	ptrdiff_t step, rs, cs, ragged_rs, ragged_cs;
} gp__operand;

/* --- one task: packed panels and the macro-kernel --- */

/*	Packs a panel of n rows and k steps, padded with zeros to `unit` rows:
	to[p * unit + i] = w[p] from[i * rs + p * cs]. One stride is 1. */
static void gp__pack(const odvgp__simd *isa, ptrdiff_t n, ptrdiff_t k, ptrdiff_t unit,
		const odvgp_real *w, const odvgp_real *from, ptrdiff_t rs, ptrdiff_t cs, odvgp_real *to)
{
	if (rs == 1) {
		isa->copy(k, n, unit, w, from, cs, to, unit);
	} else {
		isa->transpose(k, n, unit, from, rs, to, unit);
		if (w) isa->copy(k, unit, unit, w, to, unit, to, unit);
	}
}

/*	Packs an operand of n rows, in panels of `unit`, and k steps into `area` [n rounded up, k], or
	only copies a ragged last panel. */
static gp__operand gp__prepare(const odvgp__simd *isa, int packed, ptrdiff_t n, ptrdiff_t k,
		ptrdiff_t unit, const odvgp_real *w, const odvgp_real *from, ptrdiff_t rs, ptrdiff_t cs,
		odvgp_real *area)
{
	gp__operand o = {from, area, rs, rs, cs, 1, unit};
	ptrdiff_t whole = n / unit * unit;
	if (packed) {
		o.at = area;
		o.step = k;
		o.rs = 1;
		o.cs = unit;
		for (ptrdiff_t i = 0; i < whole; i += unit)
			gp__pack(isa, unit, k, unit, w, from + i * rs, rs, cs, area + i * k);
		o.ragged = area + whole * k;
	}
	if (whole < n)
		gp__pack(isa, n - whole, k, unit, w, from + whole * rs, rs, cs,
				area + (packed ? whole * k : 0));
	return o;
}

/*	The tile [rows, cols] of C at row i and column j, from k steps of a and b, through the buffer
	`tile` if it is not whole or crosses the diagonal. */
static void gp__tile_of_c(const odvgp__simd *isa, const gp__mm *g, int add, ptrdiff_t k,
		const odvgp_real *a, ptrdiff_t ars, ptrdiff_t acs, const odvgp_real *b, ptrdiff_t bs,
		ptrdiff_t i, ptrdiff_t j, ptrdiff_t rows, ptrdiff_t cols, odvgp_real *tile)
{
	int vectors = (int)((cols + isa->lanes - 1) / isa->lanes),
		triangle = g->c_part == GP__LOWER && j + cols > i + 1;
	ptrdiff_t width = vectors * isa->lanes;
	odvgp_real *c = g->C + i * g->ldc + j;
	if (rows == isa->MR && cols == width && !triangle) {
		/* C arrives while the products are formed */
		GP__FOR(r, isa->MR)
			for (ptrdiff_t s = 0; s < width; s += 64 / (ptrdiff_t)sizeof *c)
				GP__PREFETCH(c + r * g->ldc + s);
		isa->ukr[vectors - 1](k, g->alpha, add, a, ars, acs, b, bs, c, g->ldc);
		return;
	}
	for (ptrdiff_t r = 0; r < isa->MR && add; r++)
		GP__FOR(s, width)
			tile[r * width + s] =
					r < rows && s < cols && (!triangle || j + s <= i + r) ? c[r * g->ldc + s] : 0;
	isa->ukr[vectors - 1](k, g->alpha, add, a, ars, acs, b, bs, tile, width);
	GP__FOR(r, rows) {
		ptrdiff_t end = triangle ? GP__MIN(cols, i + r - j + 1) : cols;
		GP__FOR(s, end) c[r * g->ldc + s] = tile[r * width + s];
	}
}

/*	Inner loops: mc rows from i0, nc columns from j0, kc steps from p0. */
static void gp__macro(const odvgp__simd *isa, const gp__mm *g, int add, ptrdiff_t i0, ptrdiff_t mc,
		ptrdiff_t j0, ptrdiff_t nc, ptrdiff_t p0, ptrdiff_t kc, const gp__operand *A,
		const gp__operand *B, odvgp_real *tile)
{
	for (ptrdiff_t jr = 0; jr < nc; jr += isa->NR) {
		const odvgp_real *b = B->at + jr * B->step;
		ptrdiff_t j = j0 + jr, width = GP__MIN(nc - jr, (ptrdiff_t)isa->NR), bs = B->cs, b_from = 0,
				  b_to = kc;
		if (width < isa->NR) b = B->ragged, bs = B->ragged_cs;
		if (g->b_part == GP__LOWER) b_from = GP__MAX(0, j - p0);
		if (g->b_part == GP__UPPER) b_to = GP__MIN(kc, j + width - p0);
		for (ptrdiff_t ir = 0; ir < mc; ir += isa->MR) {
			const odvgp_real *a = A->at + ir * A->step;
			ptrdiff_t i = i0 + ir, rows = GP__MIN(mc - ir, (ptrdiff_t)isa->MR), ars = A->rs,
					  acs = A->cs, cols = width;
			ptrdiff_t from = b_from, to = b_to;
			if (g->c_part == GP__LOWER) cols = GP__MIN(cols, i + rows - j);
			if (g->a_part == GP__LOWER) to = GP__MIN(to, i + rows - p0);
			if (g->a_part == GP__UPPER) from = GP__MAX(from, i - p0);
			if (cols <= 0 || from >= to) continue;
			if (rows < isa->MR) a = A->ragged, ars = A->ragged_rs, acs = A->ragged_cs;
			gp__tile_of_c(isa, g, add, to - from, a + from * acs, ars, acs, b + from * bs, bs, i, j,
					rows, cols, tile);
		}
	}
}

static int gp__block_is_zero(
		int part, ptrdiff_t row0, ptrdiff_t rows, ptrdiff_t col0, ptrdiff_t cols)
{
	return part == GP__LOWER ? col0 >= row0 + rows : part == GP__UPPER ? col0 + cols <= row0 : 0;
}

static void gp__scale_c(const gp__mm *g, ptrdiff_t i0, ptrdiff_t i1, ptrdiff_t j0, ptrdiff_t j1)
{
	for (ptrdiff_t i = i0; i < i1 && g->beta != 1; i++) {
		ptrdiff_t end = g->c_part == GP__LOWER ? GP__MIN(j1, i + 1) : j1;
		odvgp_real *c = g->C + i * g->ldc;
		if (g->beta == 0) gp__zero(c + j0, end - j0);
		else
			GP__FROM(j, j0, end) c[j] *= g->beta;
	}
}

/*	Outer loops: rows [i0, i1) and columns [j0, j1) of C. */
static void gp__region(const odvgp_blas *blas, const gp__mm *g, ptrdiff_t i0, ptrdiff_t i1,
		ptrdiff_t j0, ptrdiff_t j1, odvgp_real *pack)
{
	const odvgp__simd *isa = blas->isa;
	odvgp_real *pa = pack, *pb = pack + blas->mc * blas->kc, *tile = gp__tile_buffer(blas, pack);
	/* 0: the first block of steps overwrites C. With triangles or k = 0 a tile may have no such
	   block, so C is scaled first. */
	int add = g->beta != 0 || g->a_part || g->b_part || g->k <= 0;
	int pack_b =
			g->w || g->bcs != 1 || (i1 - i0 > GP__PACK_ROWS && g->k * (j1 - j0) > GP__PACK_SIZE);
	int pack_a = j1 - j0 > GP__PACK_COLS && g->k * (i1 - i0) > GP__PACK_SIZE;
	if (add) gp__scale_c(g, i0, i1, j0, j1);
	for (ptrdiff_t j = j0; j < j1; j += blas->nc) {
		ptrdiff_t nc = GP__MIN(blas->nc, j1 - j);
		for (ptrdiff_t p = 0; p < g->k; p += blas->kc) {
			ptrdiff_t kc = GP__MIN(blas->kc, g->k - p);
			if (gp__block_is_zero(g->b_part, p, kc, j, nc)) continue;
			gp__operand B = gp__prepare(isa, pack_b, nc, kc, isa->NR, g->w ? g->w + p : NULL,
					g->B + p * g->brs + j * g->bcs, g->bcs, g->brs, pb);
			for (ptrdiff_t i = i0; i < i1; i += blas->mc) {
				ptrdiff_t mc = GP__MIN(blas->mc, i1 - i);
				if (gp__block_is_zero(g->a_part, i, mc, p, kc) ||
						(g->c_part == GP__LOWER && i + mc <= j))
					continue;
				gp__operand A = gp__prepare(isa, pack_a, mc, kc, isa->MR, NULL,
						g->A + i * g->ars + p * g->acs, g->ars, g->acs, pa);
				gp__macro(isa, g, add || p > 0, i, mc, j, nc, p, kc, &A, &B, tile);
			}
		}
	}
}

/* --- thin products --- */

static odvgp_real gp__mm_weight(const gp__mm *g, ptrdiff_t p) { return g->w ? g->w[p] : 1; }

/*	Axpy or dot products where vectors are contiguous. */
static void gp__unpacked(const odvgp__simd *isa, const gp__mm *g)
{
	gp__scale_c(g, 0, g->m, 0, g->n);
	/* A and B may be NULL */
	if (g->k <= 0) return;
	/* op(B) is a vector, the columns of op(A) are contiguous */
	if (g->n == 1 && g->ars == 1 && g->ldc == 1 && g->c_part == GP__FULL) {
		GP__FOR(p, g->k) {
			ptrdiff_t from = g->a_part == GP__LOWER ? p : 0,
					  to = g->a_part == GP__UPPER ? GP__MIN(g->m, p + 1) : g->m;
			isa->axpy(to - from, g->alpha * g->B[p * g->brs] * gp__mm_weight(g, p),
					g->A + p * g->acs + from, g->C + from);
		}
		return;
	}
	GP__FOR(i, g->m) {
		ptrdiff_t n = g->c_part == GP__LOWER ? GP__MIN(g->n, i + 1) : g->n;
		const odvgp_real *a = g->A + i * g->ars;
		odvgp_real *c = g->C + i * g->ldc;
		/* op(A) is zero outside [from, to) */
		ptrdiff_t from = g->a_part == GP__UPPER ? i : 0,
				  to = g->a_part == GP__LOWER ? GP__MIN(g->k, i + 1) : g->k;
		if (g->bcs == 1 && n > 1) {
			GP__FROM(p, from, to) {
				odvgp_real f = g->alpha * a[p * g->acs] * gp__mm_weight(g, p);
				isa->axpy(n, f, g->B + p * g->brs, c);
			}
		} else if (g->acs == 1 && g->brs == 1 && !g->w) {
			GP__FOR(j, n)
				c[j] += g->alpha * isa->dot(to - from, a + from, g->B + from + j * g->bcs);
		} else {
			GP__FOR(j, n) {
				odvgp_real sum = 0;
				GP__FROM(p, from, to)
					sum += a[p * g->acs] * gp__mm_weight(g, p) * g->B[p * g->brs + j * g->bcs];
				c[j] += g->alpha * sum;
			}
		}
	}
}

/* --- shares of the tasks --- */

typedef struct {
	const odvgp_blas *blas;
	const gp__mm *g;
	int tasks, across; /* `across` tasks side by side; triangles are cut by rows only */
	ptrdiff_t from, to;
} gp__mm_job;

/*	Tasks side by side, such that each packs as little of A and B as possible. */
static int gp__tasks_across(const gp__mm *g, int tasks)
{
	int best = 1;
	gp__wide least = HUGE_VAL;
	for (int across = 1; across <= tasks && g->c_part == GP__FULL; across++) {
		int down = tasks / across;
		gp__wide border = GP__W(g->m) * GP__W(across) + GP__W(g->n) * GP__W(down);
		if (down * across != tasks || border >= least) continue;
		least = border;
		best = across;
	}
	return best;
}

/*	First row of task t, such that areas of the triangle are equal. */
static ptrdiff_t gp__triangle_row(const gp__mm_job *job, int t)
{
	gp__wide from = (gp__wide)job->from, to = (gp__wide)job->to,
			 part = GP__W(t) / GP__W(job->tasks);
	int MR = job->blas->isa->MR;
	if (t == 0 || t == job->tasks) return t ? job->to : job->from;
	return (ptrdiff_t)gp__sqrt(from * from + (to * to - from * from) * part) / MR * MR;
}

static void gp__mm_task(void *arg, int t)
{
	const gp__mm_job *job = (const gp__mm_job *)arg;
	const gp__mm *g = job->g;
	const odvgp__simd *isa = job->blas->isa;
	ptrdiff_t i0, i1, j0 = 0, j1;
	if (g->c_part == GP__LOWER) {
		i0 = gp__triangle_row(job, t);
		i1 = gp__triangle_row(job, t + 1);
		j1 = GP__MIN(g->n, i1);
	} else {
		gp__share(job->to - job->from, isa->MR, job->tasks / job->across, t / job->across, &i0,
				&i1);
		i0 += job->from;
		i1 += job->from;
		gp__share(g->n, isa->NR, job->across, t % job->across, &j0, &j1);
	}
	if (i1 > i0 && j1 > j0)
		gp__region(job->blas, g, i0, i1, j0, j1, job->blas->pack + t * job->blas->pack_stride);
}

#ifdef ODVGP_USE_CBLAS
#include <cblas.h>
#ifdef ODVGP_FLOAT
#define GP__CBLAS_GEMM cblas_sgemm
#else
#define GP__CBLAS_GEMM cblas_dgemm
#endif
/*	Plain products only: no weights, no triangle of C, int sizes. Returns 1 if CBLAS ran. */
static int gp__cblas(const gp__mm *g)
{
	/* 1: transposed; a vector with both strides 1 may be either */
	int at = g->acs != 1, bt = g->bcs != 1;
	ptrdiff_t lda = at ? GP__MAX(g->acs, g->m) : GP__MAX(g->ars, g->k);
	ptrdiff_t ldb = bt ? GP__MAX(g->bcs, g->k) : GP__MAX(g->brs, g->n), ldc = GP__MAX(g->ldc, g->n);
	if (g->w || g->c_part != GP__FULL || g->m > INT_MAX || g->n > INT_MAX || g->k > INT_MAX ||
			lda > INT_MAX || ldb > INT_MAX || ldc > INT_MAX)
		return 0;
	GP__CBLAS_GEMM(CblasRowMajor, at ? CblasTrans : CblasNoTrans, bt ? CblasTrans : CblasNoTrans,
			(int)g->m, (int)g->n, (int)g->k, g->alpha, g->A, (int)lda, g->B, (int)ldb, g->beta,
			g->C, (int)ldc);
	return 1;
}
#endif

static void gp__mm_run(const odvgp_blas *blas, const gp__mm *g)
{
	const odvgp__simd *isa = blas->isa;
	gp__wide work = (gp__wide)g->m * (gp__wide)g->n * (gp__wide)g->k;
	if (g->m <= 0 || g->n <= 0 || gp__stopped(blas)) return;
	ODVGP_ASSERT(g->k <= 0 || (g->C != g->A && g->C != g->B));
#ifdef ODVGP_USE_CBLAS
	if (work >= 32. * 32 * 32 && gp__cblas(g)) return;
#endif
	if (g->m <= 3 || g->n <= 1) {
		gp__unpacked(isa, g);
		return;
	}
	gp__mm_job job = {
			blas, g, work < GP__W(GP__TASK_WORK) ? 1 : gp__tasks(&blas->threads), 1, 0, 0};
	job.across = gp__tasks_across(g, job.tasks);
	/* a watched product in slices of rows: they cost packing */
	ptrdiff_t rows = g->m;
	if (blas->watcher && work > GP__W(GP__WATCH_SLICE))
		rows = gp__round_up(
				(ptrdiff_t)(GP__W(GP__WATCH_SLICE) / work * (gp__wide)g->m) + 1, 24 * isa->MR);
	work *= (gp__wide)rows / (gp__wide)g->m;
	for (; job.from < g->m && !gp__ask(blas, work); job.from = job.to) {
		job.to = GP__MIN(g->m, job.from + rows);
		gp__run(&blas->threads, job.tasks, gp__mm_task, &job);
	}
}

/* --- the public products --- */

/*	A plain product; the caller then sets parts and weights. */
static gp__mm gp__mm_make(int ta, int tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, odvgp_real alpha,
		const odvgp_real *A, ptrdiff_t lda, const odvgp_real *B, ptrdiff_t ldb, odvgp_real beta,
		odvgp_real *C, ptrdiff_t ldc)
{
	gp__mm g = {m, n, k, A, ta ? 1 : lda, ta ? lda : 1, B, tb ? 1 : ldb, tb ? ldb : 1, NULL, C, ldc,
			alpha, beta, 0, 0, 0};
	return g;
}

ODVGP_API void odvgp_gemm(const odvgp_blas *blas, int ta, int tb, ptrdiff_t m, ptrdiff_t n,
		ptrdiff_t k, odvgp_real alpha, const odvgp_real *A, ptrdiff_t lda, const odvgp_real *B,
		ptrdiff_t ldb, odvgp_real beta, odvgp_real *C, ptrdiff_t ldc)
{
	gp__mm g = gp__mm_make(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
	gp__mm_run(blas, &g);
}

ODVGP_API void odvgp_syrk(const odvgp_blas *blas, int ta, ptrdiff_t n, ptrdiff_t k,
		odvgp_real alpha, const odvgp_real *A, ptrdiff_t lda, const odvgp_real *w, odvgp_real beta,
		odvgp_real *C, ptrdiff_t ldc)
{
	gp__mm g = gp__mm_make(ta, !ta, n, n, k, alpha, A, lda, A, lda, beta, C, ldc);
	g.w = w;
	g.c_part = GP__LOWER;
	gp__mm_run(blas, &g);
}

ODVGP_API void odvgp_gemmt(const odvgp_blas *blas, int ta, int tb, ptrdiff_t n, ptrdiff_t k,
		odvgp_real alpha, const odvgp_real *A, ptrdiff_t lda, const odvgp_real *B, ptrdiff_t ldb,
		odvgp_real beta, odvgp_real *C, ptrdiff_t ldc)
{
	gp__mm g = gp__mm_make(ta, tb, n, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
	g.c_part = GP__LOWER;
	gp__mm_run(blas, &g);
}

ODVGP_API void odvgp_lauum(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *L, ptrdiff_t ldl,
		odvgp_real *C, ptrdiff_t ldc)
{
	gp__mm g = gp__mm_make(1, 0, n, n, n, 1, L, ldl, L, ldl, 0, C, ldc);
	g.a_part = GP__UPPER;
	g.b_part = g.c_part = GP__LOWER;
	gp__mm_run(blas, &g);
}

ODVGP_API void odvgp_trmm(const odvgp_blas *blas, int trans, ptrdiff_t m, ptrdiff_t n,
		odvgp_real alpha, const odvgp_real *L, ptrdiff_t ldl, const odvgp_real *B, ptrdiff_t ldb,
		odvgp_real beta, odvgp_real *C, ptrdiff_t ldc)
{
	gp__mm g = gp__mm_make(trans, 0, m, n, m, alpha, L, ldl, B, ldb, beta, C, ldc);
	g.a_part = trans ? GP__UPPER : GP__LOWER;
	gp__mm_run(blas, &g);
}

/* ---- >>trsm   triangular solves

	Triangles of more than BASE rows are cut into halves: solve with one, multiply, solve with the
	other. The fused kernel solves smaller ones in strips of NR columns, MR rows at a time.

	All four cases are one: L^T X = B is a lower triangle with rows counted from the last, and
	X op(L) = B is op(L)^T X^T = B^T. Only the copies into and out of the strip differ. */

static ptrdiff_t gp__half(ptrdiff_t n) { return gp__round_up(n / 2, GP__HALF_UNIT); }

/*	Element (i, p) is at[i * rs + p * cs]: L, or L^T with rows and columns counted from the last. */
typedef struct {
	ptrdiff_t m;
	const odvgp_real *at;
	ptrdiff_t rs, cs;
} gp__triangle;

static gp__triangle gp__triangle_of(int trans, ptrdiff_t m, const odvgp_real *L, ptrdiff_t ldl)
{
	gp__triangle t = {m, L, ldl, 1};
	if (trans) {
		t.at = L + (m - 1) * (ldl + 1);
		t.rs = -1;
		t.cs = -ldl;
	}
	return t;
}

/*	For the fused kernel. tri [m rounded up, MAX_MR]: the MR x MR blocks on the diagonal, with
	inverted diagonals, padded with ones. last [m, MR], if MR does not divide m: the last rows by
	columns, padded with zeros. */
static void gp__prepare_triangle(
		const odvgp__simd *isa, const gp__triangle *t, odvgp_real *tri, odvgp_real *last)
{
	const int MR = isa->MR;
	for (ptrdiff_t r0 = 0; r0 < t->m; r0 += MR, tri += MR * GP__MAX_MR)
		GP__FOR(i, MR) {
			const odvgp_real *row = t->at + (r0 + i) * t->rs + r0 * t->cs;
			int inside = r0 + i < t->m;
			GP__FOR(j, i) tri[i * GP__MAX_MR + j] = inside ? row[j * t->cs] : 0;
			tri[i * GP__MAX_MR + i] = inside ? 1 / row[i * t->cs] : 1;
		}
	ptrdiff_t whole = t->m / MR * MR;
	if (whole < t->m)
		GP__FOR(p, whole)
			GP__FOR(i, MR)
				last[p * MR + i] = whole + i < t->m ? t->at[(whole + i) * t->rs + p * t->cs] : 0;
}

/*	Solves X [m rounded up, `vectors` wide, stride xs] in place. Rows above `top` are zeros. */
static void gp__solve_strip(const odvgp__simd *isa, const gp__triangle *t, const odvgp_real *tri,
		const odvgp_real *last, ptrdiff_t top, int vectors, odvgp_real *X, ptrdiff_t xs)
{
	const int MR = isa->MR;
	for (ptrdiff_t r = top / MR * MR; r < t->m; r += MR) {
		const odvgp_real *a = t->at + r * t->rs + top * t->cs;
		ptrdiff_t rs = t->rs, cs = t->cs;
		if (r + MR > t->m) a = last + top * MR, rs = 1, cs = MR;
		isa->solve[vectors - 1](GP__MAX(0, r - top), a, rs, cs, tri + r * GP__MAX_MR, X + top * xs,
				xs, X + r * xs, xs);
	}
}

/*	X is B or, if `right`, B^T, with rows from the first to the last (sign 1) or back (-1). */
typedef struct {
	const odvgp_blas *blas;
	gp__triangle t;
	int right, sign, tasks;
	ptrdiff_t n; /* columns of X */
	odvgp_real *B;
	ptrdiff_t ldb;
} gp__solve_job;

static void gp__solve_task(void *arg, int i)
{
	const gp__solve_job *job = (const gp__solve_job *)arg;
	const odvgp__simd *isa = job->blas->isa;
	const int NR = isa->NR;
	ptrdiff_t j0, j1, m = job->t.m, rows = gp__round_up(m, isa->MR);
	ptrdiff_t end = job->sign < 0 ? m - 1 : 0, bs = job->sign * job->ldb, xs = job->sign * NR;
	odvgp_real *tri = job->blas->pack + i * job->blas->pack_stride, *last = tri + rows * GP__MAX_MR;
	odvgp_real *X = last + rows * GP__MAX_MR, *first = X + end * NR;
	gp__share(job->n, NR, job->tasks, i, &j0, &j1);
	if (j0 >= j1) return;
	ODVGP_ASSERT(X + rows * NR - tri <= job->blas->pack_stride);
	gp__prepare_triangle(isa, &job->t, tri, last);
	GP__FROM(r, m, rows) gp__zero(X + r * NR, NR);
	for (ptrdiff_t j = j0; j < j1; j += NR) {
		ptrdiff_t cols = GP__MIN(NR, j1 - j), width = gp__round_up(cols, isa->lanes);
		odvgp_real *b = job->right ? job->B + j * job->ldb : job->B + end * job->ldb + j;
		int in_place = !job->right && cols == width && m == rows && m <= GP__IN_PLACE;
		if (job->right) isa->transpose(m, cols, width, b, job->ldb, first, xs);
		else if (!in_place) isa->copy(m, cols, width, NULL, b, bs, X, NR);
		gp__solve_strip(isa, &job->t, tri, last, 0, (int)(width / isa->lanes), in_place ? b : X,
				in_place ? bs : NR);
		if (job->right) isa->transpose(cols, m, m, first, xs, b, job->ldb);
		else if (!in_place) isa->copy(m, cols, cols, NULL, X, NR, b, bs);
	}
}

/*	x <- op(L)^-1 x, contiguous: dot products with rows of L, or for L^T rows of L subtracted. */
static void gp__trsv(const odvgp__simd *isa, int trans, ptrdiff_t n, const odvgp_real *L,
		ptrdiff_t ldl, odvgp_real *x)
{
	for (ptrdiff_t i = 0; i < n && !trans; i++)
		x[i] = (x[i] - isa->dot(i, L + i * ldl, x)) / L[i * ldl + i];
	for (ptrdiff_t i = n; i-- > 0 && trans;) {
		x[i] /= L[i * ldl + i];
		isa->axpy(i, -x[i], L + i * ldl, x);
	}
}

ODVGP_API void odvgp_trsm(const odvgp_blas *blas, int right, int trans, ptrdiff_t m, ptrdiff_t n,
		const odvgp_real *L, ptrdiff_t ldl, odvgp_real *B, ptrdiff_t ldb)
{
	ptrdiff_t order = right ? n : m, cols = right ? m : n, h = gp__half(order);
	int up = right ? !trans : trans; /* from the last row of X to the first */
	if (m <= 0 || n <= 0) return;
	ODVGP_ASSERT(L != B);
	if (right ? m == 1 : n == 1 && ldb == 1) {
		gp__trsv(blas->isa, up, order, L, ldl, B);
		return;
	}
	if (order <= GP__BASE) {
		gp__wide work = (gp__wide)order * (gp__wide)order * (gp__wide)cols;
		if (gp__ask(blas, work / 2)) return;
		gp__solve_job job = {blas, gp__triangle_of(up, order, L, ldl), right, up ? -1 : 1,
				work < GP__W(GP__TASK_WORK) ? 1 : gp__tasks(&blas->threads), cols, B, ldb};
		gp__run(&blas->threads, job.tasks, gp__solve_task, &job);
		return;
	}
	const odvgp_real *L21 = L + h * ldl, *half[2] = {L, L21 + h};
	odvgp_real *part[2] = {B, right ? B + h : B + h * ldb};
	ptrdiff_t size[2] = {h, order - h};
	for (int pass = 0; pass < 2; pass++) {
		int i = pass != up, k = !i;
		if (pass) {
			if (right)
				odvgp_gemm(blas, 0, !up, m, size[i], size[k], -1, part[k], ldb, L21, ldl, 1,
						part[i], ldb);
			else
				odvgp_gemm(blas, up, 0, size[i], n, size[k], -1, L21, ldl, part[k], ldb, 1, part[i],
						ldb);
		}
		odvgp_trsm(blas, right, trans, right ? m : size[i], right ? size[i] : n, half[i], ldl,
				part[i], ldb);
	}
}

/*	x <- (L L^T)^-1 x. */
GP__TRAINING void gp__cholesky_solve(
		const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *L, ptrdiff_t ldl, odvgp_real *x)
{
	odvgp_trsm(blas, 0, 0, n, 1, L, ldl, x, 1);
	odvgp_trsm(blas, 0, 1, n, 1, L, ldl, x, 1);
}

/* ---- >>potrf   Cholesky factors, triangular inverse, adjoint

	Matrices of more than POTRF_BASE rows (trtri: BASE) are cut into halves, as in trsm. potrf
	copies smaller ones into a square and there computes the upper factor of A = U^T U, MR rows at a
	time, because the fused kernel solves strips of U. potrf_reverse counts rows from the last and
	so copies without transposing. Only lower triangles are read and written. */

/*	Factors W = U^T U in place. W points to the first element eliminated; (i, j), j >= i, is at
	W[i * ws + dir * j], ws = dir * stride, dir = 1 or -1. n is a multiple of MR. Returns the first
	bad row, or -1. */
static ptrdiff_t gp__factor_square(
		const odvgp_blas *blas, ptrdiff_t n, odvgp_real *W, ptrdiff_t ws, ptrdiff_t dir)
{
	const odvgp__simd *isa = blas->isa;
	const int MR = isa->MR, NR = isa->NR, lanes = isa->lanes;
	odvgp_real *tile = gp__tile_buffer(blas, blas->pack), *tri = tile + GP__TILE_NUMBERS;
	for (ptrdiff_t i = 0; i < n; i += MR) {
		const odvgp_real *a = W + dir * i;
		odvgp_real *row = W + i * ws, *d = row + dir * i;
		ptrdiff_t bad;
		/* only the MR x MR block on the diagonal, whatever the vector width */
		for (ptrdiff_t j = 0; j < MR; j += NR) {
			ptrdiff_t cols = GP__MIN(NR, MR - j), width = gp__round_up(cols, lanes),
					  first = dir > 0 ? 0 : width - 1;
			isa->ukr[width / lanes - 1](i, -1, 0, a, dir, ws, a + dir * j - first, ws, tile, width);
			GP__FOR(r, MR)
				GP__FOR(s, cols) d[r * ws + dir * (j + s)] += tile[r * width + first + dir * s];
		}
		bad = isa->factor(d, ws, dir, tri);
		if (bad >= 0) return i + bad;
		for (ptrdiff_t j = i + MR; j < n; j += NR) {
			ptrdiff_t width = GP__MIN((ptrdiff_t)NR, gp__round_up(n - j, lanes)),
					  at = dir > 0 ? j : -j - width + 1;
			isa->solve[width / lanes - 1](i, a, dir, ws, tri, W + at, ws, row + at, ws);
		}
	}
	return -1;
}

/*	Copy A's lower triangle into the square and back: transposed for dir 1, reversed for -1. */
static void gp__load_square(const odvgp__simd *isa, ptrdiff_t n, const odvgp_real *A, ptrdiff_t lda,
		odvgp_real *W, ptrdiff_t ws, ptrdiff_t dir)
{
	ptrdiff_t whole = gp__round_up(n, isa->MR),
			  columns = whole + (isa->MR % isa->lanes ? isa->lanes - 1 : 0);
	for (ptrdiff_t j = 0; j < n; j += GP__HALF_UNIT) {
		ptrdiff_t rows = GP__MIN(n - j, GP__HALF_UNIT);
		if (dir > 0) isa->transpose(j + rows, rows, rows, A + j * lda, lda, W + j, ws);
		else
			isa->copy(rows, j + rows, j + rows, NULL, A + j * lda, lda,
					W + (n - 1 - j) * ws - (n - 1), -ws);
	}
	/* the identity where rows are missing, zeros where columns are */
	if (columns > n)
		GP__FOR(i, whole)
			GP__FROM(j, GP__MAX(i, n), columns) W[i * ws + dir * j] = i == j;
}

static void gp__store_square(const odvgp__simd *isa, ptrdiff_t n, odvgp_real *A, ptrdiff_t lda,
		const odvgp_real *W, ptrdiff_t ws, ptrdiff_t dir)
{
	const ptrdiff_t step = GP__MAX_LANES, last = n - 1;
	for (ptrdiff_t j = 0; j < n; j += step) {
		ptrdiff_t rows = GP__MIN(n - j, step);
		if (dir > 0) isa->transpose(rows, j, j, W + j, ws, A + j * lda, lda);
		else isa->copy(rows, j, j, NULL, W + (last - j) * ws - last, -ws, A + j * lda, lda);
		GP__FROM(r, j, j + rows) {
			const odvgp_real *from = dir > 0 ? W + r : W + (last - r) * ws - last;
			ptrdiff_t step_of_from = dir > 0 ? ws : 1;
			for (ptrdiff_t s = j; s <= r; s++) A[r * lda + s] = from[s * step_of_from];
		}
	}
}

/*	n <= BASE. `first` is added to the row reported. */
static odvgp_status gp__potrf_base(const odvgp_blas *blas, int reverse, ptrdiff_t n, odvgp_real *A,
		ptrdiff_t lda, ptrdiff_t first, odvgp_info *info)
{
	const odvgp__simd *isa = blas->isa;
	ptrdiff_t whole = gp__round_up(n, isa->MR), stride = gp__square_stride(isa, whole),
			  dir = reverse ? -1 : 1;
	odvgp_real *W = reverse ? blas->pack + whole * stride - 1 : blas->pack;
	/* blas must be made for this order */
	ODVGP_ASSERT(blas->pack + whole * stride <= gp__tile_buffer(blas, blas->pack));
	gp__load_square(isa, n, A, lda, W, dir * stride, dir);
	ptrdiff_t bad = gp__factor_square(blas, whole, W, dir * stride, dir);
	if (bad >= 0) {
		gp__wide pivot = (gp__wide)W[bad * (dir * stride + dir)];
		bad = first + (reverse ? n - 1 - bad : bad);
		return gp__fail(info, ODVGP_E_NOT_PD, "pivot", bad, pivot, "is not positive");
	}
	gp__store_square(isa, n, A, lda, W, dir * stride, dir);
	return ODVGP_OK;
}

static odvgp_status gp__potrf_from(const odvgp_blas *blas, int reverse, ptrdiff_t n, odvgp_real *A,
		ptrdiff_t lda, ptrdiff_t first, odvgp_info *info)
{
	if (n <= 0) return ODVGP_OK;
	if (gp__stopped(blas)) return gp__refuse(info, ODVGP_E_STOPPED, "watch", NULL);
	if (n <= GP__POTRF_BASE) return gp__potrf_base(blas, reverse, n, A, lda, first, info);
	ptrdiff_t h = gp__half(n), size[2] = {h, n - h}, row[2] = {first, first + h};
	odvgp_real *A21 = A + h * lda, *half[2] = {A, A21 + h};
	int i = reverse, k = !reverse; /* half i first */
	odvgp_status status = gp__potrf_from(blas, reverse, size[i], half[i], lda, row[i], info);
	if (status) return status;
	odvgp_trsm(blas, !reverse, 1, n - h, h, half[i], lda, A21, lda);
	odvgp_syrk(blas, reverse, size[k], size[i], -1, A21, lda, NULL, 1, half[k], lda);
	return gp__potrf_from(blas, reverse, size[k], half[k], lda, row[k], info);
}

ODVGP_API odvgp_status odvgp_potrf(
		const odvgp_blas *blas, ptrdiff_t n, odvgp_real *A, ptrdiff_t lda, odvgp_info *info)
{
	return gp__potrf_from(blas, 0, n, A, lda, 0, info);
}

ODVGP_API odvgp_status odvgp_potrf_reverse(
		const odvgp_blas *blas, ptrdiff_t n, odvgp_real *P, ptrdiff_t ldp, odvgp_info *info)
{
	return gp__potrf_from(blas, 1, n, P, ldp, 0, info);
}

/* --- triangular inverse; adjoint --- */

/*	n <= BASE. Solves for the identity's columns, strip by strip from the left. A strip needs no
	column left of it: L is overwritten. */
static void gp__trtri_base(const odvgp_blas *blas, ptrdiff_t n, odvgp_real *L, ptrdiff_t ldl)
{
	const odvgp__simd *isa = blas->isa;
	ptrdiff_t rows = gp__round_up(n, isa->MR), NR = isa->NR;
	odvgp_real *tri = blas->pack, *last = tri + rows * GP__MAX_MR, *X = last + rows * GP__MAX_MR;
	gp__triangle t = gp__triangle_of(0, n, L, ldl);
	gp__prepare_triangle(isa, &t, tri, last);
	for (ptrdiff_t j = 0; j < n; j += NR) {
		ptrdiff_t cols = GP__MIN(NR, n - j), top = j / isa->MR * isa->MR;
		gp__zero(X + top * NR, (rows - top) * NR);
		GP__FOR(i, cols) X[(j + i) * NR + i] = 1;
		gp__solve_strip(isa, &t, tri, last, j, (int)((cols + isa->lanes - 1) / isa->lanes), X, NR);
		GP__FROM(r, j, n)
			GP__FOR(i, GP__MIN(cols, r - j + 1)) L[r * ldl + j + i] = X[r * NR + i];
	}
}

ODVGP_API void odvgp_trtri(const odvgp_blas *blas, ptrdiff_t n, odvgp_real *L, ptrdiff_t ldl)
{
	if (n <= GP__BASE) {
		gp__trtri_base(blas, n, L, ldl);
		return;
	}
	ptrdiff_t h = gp__half(n);
	odvgp_real *L21 = L + h * ldl, *L22 = L21 + h;
	odvgp_trsm(blas, 1, 0, n - h, h, L, ldl, L21, ldl);
	odvgp_trsm(blas, 0, 0, n - h, h, L22, ldl, L21, ldl);
	GP__FOR(i, n - h)
		GP__FOR(j, h) L21[i * ldl + j] = -L21[i * ldl + j];
	odvgp_trtri(blas, h, L, ldl);
	odvgp_trtri(blas, n - h, L22, ldl);
}

/*	Unblocked, column by column from the last ([CHOL]). */
static void gp__potrf_adjoint_base(
		ptrdiff_t n, const odvgp_real *L, ptrdiff_t ldl, odvgp_real *G, ptrdiff_t ldg)
{
	for (ptrdiff_t j = n - 1; j >= 0; j--) {
		odvgp_real inverse = 1 / L[j * ldl + j], sum = 0;
		GP__FROM(i, j + 1, n) sum += L[i * ldl + j] * G[i * ldg + j];
		G[j * ldg + j] -= sum * inverse;
		GP__FROM(i, j, n) G[i * ldg + j] *= inverse;
		GP__FROM(i, j, n)
			GP__FOR(k, j) {
				G[j * ldg + k] -= G[i * ldg + j] * L[i * ldl + k];
				if (i > j) G[i * ldg + k] -= G[i * ldg + j] * L[j * ldl + k];
			}
		G[j * ldg + j] *= GP__R(0.5);
	}
}

ODVGP_API void odvgp_potrf_adjoint(const odvgp_blas *blas, ptrdiff_t n, const odvgp_real *L,
		ptrdiff_t ldl, odvgp_real *G, ptrdiff_t ldg)
{
	ODVGP_ASSERT(n <= 0 || L != G);
	if (n <= GP__HALF_UNIT) {
		gp__potrf_adjoint_base(n, L, ldl, G, ldg);
		return;
	}
	ptrdiff_t h = gp__half(n), rest = n - h;
	const odvgp_real *L21 = L + h * ldl;
	odvgp_real *G21 = G + h * ldg, *G22 = G21 + h;
	odvgp_potrf_adjoint(blas, rest, L21 + h, ldl, G22, ldg);
	/* A22 - L21 L21^T */
	for (int trans = 0; trans < 2; trans++)
		odvgp_trmm(blas, trans, rest, h, -1, G22, ldg, L21, ldl, 1, G21, ldg);
	/* A21 L11^-T */
	odvgp_trsm(blas, 1, 0, rest, h, L, ldl, G21, ldg);
	odvgp_gemmt(blas, 1, 0, h, rest, -1, G21, ldg, L21, ldl, 1, G, ldg);
	odvgp_potrf_adjoint(blas, h, L, ldl, G, ldg);
}

/* ---- >>kernels   kernel expressions, matrices and adjoints

	With r^2 = sum_d (x_d - z_d)^2 / lengthscale_d^2 over the active columns, x.z their inner
	product and v the variance:

		rbf			v exp(-r^2/2)
		matern12	v exp(-r)
		matern32	v (1+s) exp(-s), s = sqrt(3) r
		matern52	v (1+s+s^2/3) exp(-s), s = sqrt(5) r
		rq			v (1 + r^2 / (2 alpha))^-alpha
		periodic	v exp(-2 sum_d sin^2(pi (x_d - z_d) / period) / lengthscale_d^2)
		linear		v x.z, or sum_d v_d x_d z_d
		polynomial  (v x.z + offset)^degree
		constant	v
		white		v on the diagonal of K(X,X), 0 between two sets of points, even coinciding ones

	An expression becomes a list of nodes: base kernels, and sums and products of earlier nodes. A
	base kernel depends on one number per pair of points (its geometry): squared distance, inner
	product, or for periodic the squared distance on circles, one revolution per period. Since
	|(cos a, sin a) - (cos b, sin b)|^2 = 4 sin^2((a - b)/2), periodic is rbf of it. Base kernels
	with the same geometry and columns form a group and share the number, except periodic ones and
	those with ard.

	Rows are computed in chunks of GP__CHUNK columns that stay in L1. The adjoint differentiates a
	chunk's nodes once: it stores H = dK/d(squared distance or inner product) and sums
	dK/d(hyperparameter) over the columns. With G = H dloss/dK, elementwise, and the centred inputs u, w,

		dw_j = 2 (w_j sum_i G_ij - sum_i G_ij u_i),

	or sum_i G_ij u_i for inner products: two matrix products. A lengthscale per column needs sum_ij
	G_ij (u_i - w_j)^2. From circles, gradients go on to inputs and period. For products K a,
	dloss/dK has the rank of a; K and H are kept from the forward run if they fit
	config.kernel_cache_bytes.

	Cost: n m (3 D + about 20 per base kernel); the adjoint as much again, and once more if nothing
	is kept.

	To add a base kernel: its formula above, its number (>>vmath), its row in gp__base_kernel_kinds,
	its values in gp__base_values and, if these use inner products, k(x,x) in gp__base_diag and
	gp__base_diag_adjoint. */

#define GP__MAX_RANGES  8
#define GP__KROWS       (GP__DESK ? 256 : 24) /* rows in a block of the adjoint */
#define GP__UPDATE_ROWS 8   /* rows of H in one update */
#define GP__DOTS        16  /* dot products with one chunk at once */

enum { GP__NODE_BASE_KERNEL, GP__NODE_SUM, GP__NODE_PRODUCT };
/*	The first ones are bits of lengthscale, variance and shape parameter in this order. */
enum {
	GP__GIVEN_LENGTHSCALE = 1,
	GP__GIVEN_VARIANCE = 2,
	GP__GIVEN_SHAPE_PARAM = 4,
	GP__GIVEN_DEGREE = 8
};
enum { GP__BASE_KERNEL_VALUES = 3 };

/*	32-bit numbers only: predictors and files hold the struct as it is. */
typedef struct {
	/* nls lengthscales and nvar variances; ls, var, shape_param index hyp */
	uint32_t type, ard, nls, ls, nvar, var, shape_param;
	uint32_t degree; /* of polynomial */
	uint32_t group, given, ndims;
	uint32_t nranges, range[GP__MAX_RANGES][2]; /* active columns [from, to); none: all */
} gp__base_kernel;

typedef struct {
	uint32_t D, base_kernels, nnode, nhyp, ngroup;
	/* a group's first base kernel */
	uint32_t group_base[ODVGP_MAX_BASE_KERNELS];
	uint32_t node[GP__MAX_NODES][3]; /* kind; base kernel, or the two operands */
	gp__base_kernel base[ODVGP_MAX_BASE_KERNELS];
} gp__kernel;

#define GP__EACH_BASE(i, k)  for (uint32_t i = 0; i < (k)->base_kernels; i++)
#define GP__EACH_GROUP(g, k) for (uint32_t g = 0; g < (k)->ngroup; g++)

#define GP__NO_GROUP UINT32_MAX

/*	radial: the function in isa->radial. */
typedef struct {
	const char *name;
	int geometry, radial;
	const char *shape_param;
} gp__base_kernel_kind;

static const gp__base_kernel_kind gp__base_kernel_kinds[GP__BASE_KERNEL_TYPES] = {
		/* name, geometry, radial, shape_param */
		{"rbf", GP__DISTANCE, GP__RBF, NULL},
		{"matern12", GP__DISTANCE, GP__MATERN12, NULL},
		{"matern32", GP__DISTANCE, GP__MATERN32, NULL},
		{"matern52", GP__DISTANCE, GP__MATERN52, NULL},
		{"rq", GP__DISTANCE, GP__NOT_RADIAL, "alpha"},
		{"periodic", GP__CIRCLE, GP__RBF, "period"},
		{"linear", GP__INNER_PRODUCT, GP__NOT_RADIAL, NULL},
		{"polynomial", GP__INNER_PRODUCT, GP__NOT_RADIAL, "offset"},
		{"constant", GP__NO_INPUT, GP__NOT_RADIAL, NULL},
		{"white", GP__NO_INPUT, GP__NOT_RADIAL, NULL},
};

/*	The base kernel that has a group's geometry, columns and scales. */
static const gp__base_kernel *gp__group_kernel(const gp__kernel *k, uint32_t group)
{
	return &k->base[k->group_base[group]];
}

static int gp__geometry(const gp__base_kernel *base)
{
	return gp__base_kernel_kinds[base->type].geometry;
}

/*	Whether the shape parameter's derivative is a sum over the matrix; a period's is not. */
static int gp__has_shape_param(const gp__base_kernel *base)
{
	return gp__base_kernel_kinds[base->type].shape_param && gp__geometry(base) != GP__CIRCLE;
}

static int gp__has_lengthscale(const gp__base_kernel *base)
{
	return gp__geometry(base) == GP__DISTANCE || gp__geometry(base) == GP__CIRCLE;
}

/*	Whether one number serves all columns; else the points are scaled. */
static int gp__one_lengthscale(const gp__base_kernel *base) { return base->nls && !base->ard; }
static int gp__one_variance(const gp__base_kernel *base) { return base->nls || !base->ard; }

/* --- parsing: numbers and arguments ---
	expr   = term {"+" term}
	term   = factor {"*" factor}
	factor = "(" expr ")" | name ["(" args ")"] */

typedef struct {
	const char *start, *at, *error; /* the first error, or NULL */
	gp__kernel *k;
	gp__wide *value;    /* [.][3] lengthscale, variance, shape parameter */
	int depth, unknown; /* unknown: the error is a kernel's name */
} gp__parser;

static uint32_t gp__parse_fail(gp__parser *p, const char *error)
{
	if (!p->error) p->error = error;
	return 0;
}

static void gp__skip_spaces(gp__parser *p)
{
	while (*p->at == ' ' || *p->at == '\t') p->at++;
}

static int gp__accept(gp__parser *p, const char *token)
{
	size_t n = strlen(token);
	gp__skip_spaces(p);
	if (strncmp(p->at, token, n) != 0) return 0;
	p->at += n;
	return 1;
}

/*	Appends digits to v. Returns how many. */
static int gp__parse_digits(gp__parser *p, gp__wide *v)
{
	int digits = 0;
	for (; *p->at >= '0' && *p->at <= '9'; p->at++, digits++) *v = 10 * *v + (*p->at - '0');
	return digits;
}

static gp__wide gp__parse_number(gp__parser *p)
{
	gp__wide v = 0, e = 0;
	gp__skip_spaces(p);
	int digits = gp__parse_digits(p, &v), decimals = 0, exponent;
	if (*p->at == '.') {
		p->at++;
		decimals = gp__parse_digits(p, &v);
	}
	if (!digits && !decimals) return (gp__wide)gp__parse_fail(p, "a number is missing");
	exponent = -decimals;
	if (*p->at == 'e' || *p->at == 'E') {
		int sign = *++p->at == '-' ? -1 : 1;
		if (*p->at == '-' || *p->at == '+') p->at++;
		if (!gp__parse_digits(p, &e)) gp__parse_fail(p, "an exponent is missing");
		exponent += sign * (int)GP__MIN(e, 9999);
	}
	return exponent < 0 ? v / gp__pow(10, GP__W(-exponent)) : v * gp__pow(10, GP__W(exponent));
}

static uint32_t gp__parse_column(gp__parser *p)
{
	gp__wide v = gp__parse_number(p);
	return v == gp__floor(v) && v <= GP__W(p->k->D)
				   ? (uint32_t)v
				   : gp__parse_fail(p, "a column is not below the number of inputs");
}

/*	Whether the last of n ranges has a column of one before it. */
static int gp__range_repeats(const gp__base_kernel *base, uint32_t n)
{
	const uint32_t *last = base->range[n - 1];
	for (uint32_t r = 0; r + 1 < n; r++)
		if (base->range[r][0] < last[1] && last[0] < base->range[r][1]) return 1;
	return 0;
}

/*	dims=0:3+5 */
static void gp__parse_dims(gp__parser *p, gp__base_kernel *base)
{
	if (base->nranges) gp__parse_fail(p, "dims is given twice");
	base->ndims = 0;
	do {
		if (base->nranges == GP__MAX_RANGES) gp__parse_fail(p, "too many ranges in dims");
		if (p->error) return;
		uint32_t *range = base->range[base->nranges++];
		range[0] = gp__parse_column(p);
		range[1] = gp__accept(p, ":") ? gp__parse_column(p) : range[0] + 1;
		if (range[1] <= range[0] || range[1] > p->k->D)
			gp__parse_fail(p, "a range of columns is empty or beyond the inputs");
		if (gp__range_repeats(base, base->nranges)) gp__parse_fail(p, "dims names a column twice");
		base->ndims += range[1] - range[0];
	} while (!p->error && gp__accept(p, "+"));
}

static gp__wide gp__parse_positive(gp__parser *p, gp__base_kernel *base, uint32_t given)
{
	gp__skip_spaces(p);
	gp__wide v = *p->at == '-' ? -1 : gp__parse_number(p);
	if (!(v > 0) || v > GP__W(1e30))
		gp__parse_fail(p, "a kernel's numbers must be above 0 and finite");
	if (v < (gp__wide)GP__TINY)
		gp__parse_fail(p, "a kernel's number is too small for the precision");
	if (base->given & given) gp__parse_fail(p, "a value is given twice");
	base->given |= given;
	return v;
}

/*	Consumes `name =` if that comes next. */
static int gp__accept_key(gp__parser *p, const char *name)
{
	if (!name || !gp__accept(p, name)) return 0;
	if (!gp__accept(p, "=")) gp__parse_fail(p, "'=' is missing");
	return 1;
}

static void gp__parse_degree(gp__parser *p, gp__base_kernel *base)
{
	gp__wide v = gp__parse_number(p);
	if (base->type != GP__POLYNOMIAL) gp__parse_fail(p, "this kernel has no degree");
	else if (!(v >= 1 && v <= GP__MAX_DEGREE) || v != gp__floor(v))
		gp__parse_fail(p, "a degree is a whole number from 1 to 16");
	else if (base->given & GP__GIVEN_DEGREE) gp__parse_fail(p, "a value is given twice");
	else base->degree = (uint32_t)v;
	base->given |= GP__GIVEN_DEGREE;
}

/*	An unnamed number is the lengthscale, or the variance of a kernel without one. */
static void gp__parse_argument(gp__parser *p, gp__base_kernel *base, gp__wide *value)
{
	const char *const names[] = {
			"lengthscale", "variance", gp__base_kernel_kinds[base->type].shape_param};
	int scaled = gp__has_lengthscale(base), i = 0;
	if (gp__accept(p, "ard")) {
		base->ard = 1;
		if (!scaled && base->type != GP__LINEAR)
			gp__parse_fail(p, "this kernel has no number for each column (ard)");
	} else if (gp__accept_key(p, "dims")) {
		gp__parse_dims(p, base);
		if (gp__geometry(base) == GP__NO_INPUT)
			gp__parse_fail(p, "this kernel does not look at the inputs (dims)");
	} else if (gp__accept_key(p, "degree")) gp__parse_degree(p, base);
	else {
		while (i < 3 && !gp__accept_key(p, names[i])) i++;
		if (i == 0 && !scaled) gp__parse_fail(p, "this kernel has no lengthscale");
		if (i == 3) {
			if (*p->at >= 'a' && *p->at <= 'z')
				gp__parse_fail(p, "this kernel has no such argument");
			i = scaled ? 0 : 1;
		}
		value[i] = gp__parse_positive(p, base, 1u << i);
	}
}

/* --- parsing: names and expressions --- */

static uint32_t gp__new_node(gp__parser *p, uint32_t kind, uint32_t a, uint32_t b)
{
	uint32_t *node = p->k->node[p->k->nnode];
	node[0] = kind;
	node[1] = a;
	node[2] = b;
	return p->k->nnode++;
}

static uint32_t gp__parse_base_kernel(gp__parser *p)
{
	gp__kernel *k = p->k;
	uint32_t type = 0;
	gp__skip_spaces(p);
	size_t length = strspn(p->at, "abcdefghijklmnopqrstuvwxyz0123456789");
	for (; type < GP__BASE_KERNEL_TYPES; type++) {
		const char *name = gp__base_kernel_kinds[type].name;
		if (strlen(name) == length && !strncmp(name, p->at, length)) break;
	}
	if (type == GP__BASE_KERNEL_TYPES) {
		p->unknown = length > 0;
		return gp__parse_fail(p, length ? "no kernel of this name" : "a kernel's name is missing");
	}
	if (!GP__KERNEL_HAS(type)) return gp__parse_fail(p, "this build has no such kernel");
	if (k->base_kernels == ODVGP_MAX_BASE_KERNELS)
		return gp__parse_fail(p, "too many terms (see ODVGP_MAX_BASE_KERNELS)");
	p->at += length;
	gp__base_kernel *base = &k->base[k->base_kernels];
	gp__wide *value = p->value + GP__BASE_KERNEL_VALUES * k->base_kernels;
	base->type = type;
	base->ndims = k->D;
	base->degree = type == GP__POLYNOMIAL ? 2 : 0;
	if (gp__accept(p, "(") && !gp__accept(p, ")")) {
		do gp__parse_argument(p, base, value);
		while (!p->error && gp__accept(p, ","));
		if (!gp__accept(p, ")")) gp__parse_fail(p, "')' is missing");
	}
	return gp__new_node(p, GP__NODE_BASE_KERNEL, k->base_kernels++, 0);
}

static uint32_t gp__parse_operands(gp__parser *p, uint32_t kind);

static uint32_t gp__parse_factor(gp__parser *p)
{
	if (!gp__accept(p, "(")) return gp__parse_base_kernel(p);
	if (++p->depth > 32) return gp__parse_fail(p, "parentheses nested too deeply");
	uint32_t node = gp__parse_operands(p, GP__NODE_SUM);
	if (!gp__accept(p, ")")) gp__parse_fail(p, "')' is missing");
	p->depth--;
	return node;
}

/*	An expression is a sum of terms, a term a product of factors. */
static uint32_t gp__parse_operand(gp__parser *p, uint32_t kind)
{
	return kind == GP__NODE_SUM ? gp__parse_operands(p, GP__NODE_PRODUCT) : gp__parse_factor(p);
}
static uint32_t gp__parse_operands(gp__parser *p, uint32_t kind)
{
	uint32_t node = gp__parse_operand(p, kind);
	while (!p->error && gp__accept(p, kind == GP__NODE_SUM ? "+" : "*")) {
		uint32_t right = gp__parse_operand(p, kind);
		if (!p->error) node = gp__new_node(p, kind, node, right);
	}
	return node;
}

static int gp__same_group(const gp__base_kernel *a, const gp__base_kernel *b)
{
	return gp__geometry(a) == gp__geometry(b) && gp__geometry(a) != GP__CIRCLE && !a->ard &&
		   !b->ard && a->nranges == b->nranges && !memcmp(a->range, b->range, sizeof a->range);
}

/*	Positions of base kernel i's hyperparameters, and its group. */
static void gp__base_finish(gp__kernel *k, uint32_t i)
{
	gp__base_kernel *base = &k->base[i];
	base->nls = !gp__has_lengthscale(base) ? 0 : base->ard ? base->ndims : 1;
	base->nvar = base->type == GP__LINEAR && base->ard ? base->ndims : 1;
	base->ls = k->nhyp;
	base->var = base->ls + base->nls;
	base->shape_param = base->var + base->nvar;
	k->nhyp = base->shape_param + (gp__base_kernel_kinds[base->type].shape_param != NULL);
	base->group = gp__geometry(base) == GP__NO_INPUT ? GP__NO_GROUP : k->ngroup;
	GP__EACH_GROUP(g, k)
		if (gp__same_group(base, gp__group_kernel(k, g))) base->group = g;
	if (base->group == k->ngroup) k->group_base[k->ngroup++] = i;
}

/*	value [3 * ODVGP_MAX_BASE_KERNELS]: lengthscale, variance and shape parameter of each base
	kernel, 1 where not given. */
GP__TRAINING odvgp_status gp__kernel_parse(
		gp__kernel *k, const char *text, ptrdiff_t D, gp__wide *value, odvgp_info *info)
{
	gp__parser p = {text, text, NULL, k, value, 0, 0};
	memset(k, 0, sizeof *k);
	k->D = (uint32_t)D;
	GP__FOR(i, GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS) value[i] = 1;
	gp__parse_operands(&p, GP__NODE_SUM);
	gp__skip_spaces(&p);
	if (!p.error && *p.at) p.error = "'+', '*' or the end was expected";
	if (p.error)
		return gp__fail(info, p.unknown ? ODVGP_E_NAME : ODVGP_E_KERNEL, "kernel", p.at - p.start,
				(gp__wide)(p.at - p.start), p.error);
	GP__EACH_BASE(i, k) gp__base_finish(k, i);
	return ODVGP_OK;
}

#ifndef ODVGP_FLOAT_ONLY
/* --- printing --- */

/*	Geometric mean, because lengthscales span decades; exact for n = 1. */
static gp__wide gp__geometric_mean(const odvgp_real *x, uint32_t n)
{
	gp__wide sum = 0;
	if (n == 1) return (gp__wide)x[0];
	for (uint32_t i = 0; i < n; i++) sum += gp__log((gp__wide)x[i]);
	return gp__exp(sum / (gp__wide)n);
}

static void gp__put_base_kernel(gp__text *t, const gp__base_kernel *base, const odvgp_real *hyp)
{
	const gp__base_kernel_kind *kind = &gp__base_kernel_kinds[base->type];
	gp__put(t, kind->name);
	gp__put(t, "(");
	if (base->nls) {
		gp__put_real(t, gp__geometric_mean(hyp + base->ls, base->nls));
		gp__put(t, ", variance=");
	}
	gp__put_real(t, gp__geometric_mean(hyp + base->var, base->nvar));
	if (kind->shape_param) {
		gp__put(t, ", ");
		gp__put(t, kind->shape_param);
		gp__put(t, "=");
		gp__put_real(t, (gp__wide)hyp[base->shape_param]);
	}
	if (base->degree) {
		gp__put(t, ", degree=");
		gp__put_int(t, (ptrdiff_t)base->degree);
	}
	if (base->ard) gp__put(t, ", ard");
	for (uint32_t r = 0; r < base->nranges; r++) {
		gp__put(t, r ? "+" : ", dims=");
		gp__put_int(t, (ptrdiff_t)base->range[r][0]);
		if (base->range[r][1] - base->range[r][0] > 1) {
			gp__put(t, ":");
			gp__put_int(t, (ptrdiff_t)base->range[r][1]);
		}
	}
	gp__put(t, ")");
}

GP__TRAINING void gp__put_kernel(
		gp__text *t, const gp__kernel *k, const odvgp_real *hyp, uint32_t node, int inside_product)
{
	const uint32_t *n = k->node[node];
	if (n[0] == GP__NODE_BASE_KERNEL) {
		gp__put_base_kernel(t, &k->base[n[1]], hyp);
		return;
	}
	int product = n[0] == GP__NODE_PRODUCT, parentheses = inside_product && !product;
	if (parentheses) gp__put(t, "(");
	gp__put_kernel(t, k, hyp, n[1], product);
	gp__put(t, product ? " * " : " + ");
	gp__put_kernel(t, k, hyp, n[2], product);
	if (parentheses) gp__put(t, ")");
}
#endif

/* --- points: a group's columns, centred except for inner products, cosine and sine for periodic,
   scaled if there is a number per column --- */

static ptrdiff_t gp__column(const gp__base_kernel *base, ptrdiff_t index)
{
	for (uint32_t r = 0; r < base->nranges; r++) {
		ptrdiff_t width = (ptrdiff_t)(base->range[r][1] - base->range[r][0]);
		if (index < width) return (ptrdiff_t)base->range[r][0] + index;
		index -= width;
	}
	return index;
}

static odvgp_real gp__base_column(const gp__base_kernel *base, const odvgp_real *hyp, ptrdiff_t d)
{
	if (!base->ard) return 1;
	if (!base->nls) return GP__SQRT(hyp[base->var + (uint32_t)d]);
	odvgp_real inverse = 1 / hyp[base->ls + (uint32_t)d];
	/* as in gp__base_scale */
	return GP__MIN(GP__R(GP__FAR_ROOT), inverse);
}

/*	Kept finite, so that the difference of equal ones is 0. NaN stays NaN. */
static odvgp_real gp__scaled(odvgp_real x, odvgp_real scale)
{
	const odvgp_real most = GP__LARGEST / 4;
	x *= scale;
	return x > most ? most : x < -most ? -most : x;
}

/*	to[i * rs + d * cs] <- point i, active column d; periodic: 2 d the cosine, 2 d + 1 the sine. */
static void gp__points(const gp__kernel *k, uint32_t group, const odvgp_real *hyp,
		const odvgp_real *X, ptrdiff_t n, const odvgp_real *centre, odvgp_real *to, ptrdiff_t rs,
		ptrdiff_t cs)
{
	const gp__base_kernel *base = gp__group_kernel(k, group);
	int geometry = gp__geometry(base),
		circle = GP__KERNEL_HAS(GP__PERIODIC) && geometry == GP__CIRCLE;
	GP__FOR(d, (ptrdiff_t)base->ndims) {
		ptrdiff_t column = gp__column(base, d);
		odvgp_real shift = geometry == GP__INNER_PRODUCT ? 0 : centre[column],
				   scale = gp__base_column(base, hyp, d);
		GP__FOR(i, n) {
			odvgp_real x = X[i * (ptrdiff_t)k->D + column] - shift, *at = to + i * rs;
			if (circle) {
				gp__wide angle = GP__W(gp__two_pi) * (gp__wide)x / (gp__wide)hyp[base->shape_param];
				at[2 * d * cs] = (odvgp_real)gp__cos(angle) * scale;
				at[(2 * d + 1) * cs] = (odvgp_real)gp__sin(angle) * scale;
			} else at[d * cs] = base->ard ? gp__scaled(x, scale) : x;
		}
	}
}

static ptrdiff_t gp__padded(ptrdiff_t n) { return (n + GP__CHUNK - 1) / GP__CHUNK * GP__CHUNK; }

static ptrdiff_t gp__group_dims(const gp__kernel *k, uint32_t g)
{
	const gp__base_kernel *base = gp__group_kernel(k, g);
	return (ptrdiff_t)base->ndims * (gp__geometry(base) == GP__CIRCLE ? 2 : 1);
}

/*	to[g] [n,nd+1] <- points of X [n,D], each with a 1 behind it, for each group. */
static void gp__points_by_rows(const gp__kernel *k, const odvgp_real *hyp, const odvgp_real *X,
		ptrdiff_t n, const odvgp_real *centre, odvgp_real *const *to)
{
	GP__EACH_GROUP(g, k) {
		ptrdiff_t nd = gp__group_dims(k, g);
		gp__points(k, g, hyp, X, n, centre, to[g], nd + 1, 1);
		GP__FOR(i, n) to[g][i * (nd + 1) + nd] = 1;
	}
}

/* --- patches of images --- */

/*	32-bit numbers, as files hold them. height 0: inputs are points. */
typedef struct {
	int32_t height, width, channels; /* of an image */
	int32_t rows, columns, stride;   /* of a patch */
	int32_t located, image_output;
} gp__patches;

/*	Patches in a column and in a row of an image. */
static ptrdiff_t gp__patches_down(const gp__patches *p)
{
	return (p->height - p->rows) / p->stride + 1;
}
static ptrdiff_t gp__patches_across(const gp__patches *p)
{
	return (p->width - p->columns) / p->stride + 1;
}
static ptrdiff_t gp__patches_count(const gp__patches *p)
{
	return GP__DESK && p->height ? gp__patches_down(p) * gp__patches_across(p) : 0;
}

/*	Rows that a layer makes of an input. */
static ptrdiff_t gp__rows_of_input(const gp__patches *p)
{
	return GP__DESK && p->image_output ? GP__MAX(1, gp__patches_count(p)) : 1;
}

static ptrdiff_t gp__patches_summed(const gp__patches *p)
{
	return p->image_output ? 0 : gp__patches_count(p);
}

/*	Columns of an inducing input, where those of an input are D. */
static ptrdiff_t gp__patch_columns(const gp__patches *p, ptrdiff_t D)
{
	return GP__DESK && p->height ? (ptrdiff_t)p->rows * p->columns * p->channels + 2 * p->located
								 : D;
}

static ptrdiff_t gp__row_columns(const gp__patches *p, ptrdiff_t D)
{
	return GP__DESK && p->image_output ? gp__patch_columns(p, D) : D;
}

/*	Patch t of the image x, or, with dx, the adjoint: adds `patch` to dx. */
static void gp__patch_move(
		const gp__patches *p, const odvgp_real *x, odvgp_real *dx, ptrdiff_t t, odvgp_real *patch)
{
	ptrdiff_t row = t / gp__patches_across(p), column = t % gp__patches_across(p),
			  run = (ptrdiff_t)p->columns * p->channels;
	ODVGP_ASSERT(patch && (x || dx));
	for (ptrdiff_t r = 0; r < p->rows; r++, patch += run) {
		ptrdiff_t at = ((row * p->stride + r) * p->width + column * p->stride) * p->channels;
		if (x) gp__copy(patch, x + at, run);
		if (dx)
			GP__FOR(i, run) dx[at + i] += patch[i];
	}
	if (dx || !p->located) return;
	ODVGP_ASSERT(patch);
	patch[0] = (odvgp_real)row;
	patch[1] = (odvgp_real)column;
}

/*	The same for all patches, [patches,columns]. */
static void gp__patches_move(
		const gp__patches *p, const odvgp_real *x, odvgp_real *dx, odvgp_real *patches)
{
	GP__FOR(t, gp__patches_count(p))
		gp__patch_move(p, x, dx, t, patches + t * gp__patch_columns(p, 0));
}

/*	Whether the sizes fit together and images have D numbers. */
static int gp__patches_ok(const gp__patches *p, ptrdiff_t D)
{
	if (!p->height)
		return !(p->width | p->channels | p->rows | p->columns | p->stride | p->located |
				 p->image_output);
	return p->height > 0 && p->width > 0 && p->channels > 0 && p->rows > 0 &&
		   p->rows <= p->height && p->columns > 0 && p->columns <= p->width && p->stride > 0 &&
		   (p->located & 1) == p->located && (p->image_output & 1) == p->image_output &&
		   (gp__wide)p->height * (gp__wide)p->width * (gp__wide)p->channels == (gp__wide)D;
}

/* --- a job: one operation on K = k(X1, X2); its scratch --- */

typedef struct {
	const odvgp_blas *blas;
	const gp__kernel *k;
	const odvgp_real *hyp, *X1, *X2;
	ptrdiff_t n, m;
	/* only j <= i: the rest of K is 0, the rest of dK is not read */
	int lower;
	/* for white: row i of X1 is row origin[i] of X2; NULL: row i if X1 is X2, else none */
	const ptrdiff_t *origin;
	/* forward: K [n,m], or out [P,n] = a [P,m] K^T */
	odvgp_real *K;
	ptrdiff_t ldk;
	const odvgp_real *a;
	odvgp_real *out;
	ptrdiff_t P, lda, ldo;
	/* adjoint: dK [n,m], or dout [P,n], the adjoint of out */
	const odvgp_real *dK;
	ptrdiff_t lddk;
	const odvgp_real *dout;
	odvgp_real *da, *dhyp, *dX1, *dX2; /* added to unless NULL */
	/* gp__images_...: X2 holds m images, whose patches have these weights; else NULL */
	const gp__patches *patches;
	const odvgp_real *weights;
	odvgp_real *dweights; /* added to unless NULL */
	/* 1: the forward run keeps V0, H and derivatives of all rows; 0: only of the current ones */
	int kept;
	/* K, and by groups dK/d(squared distance or inner product), [rows, ld]; the adjoint multiplies
	   H by dloss/dK */
	odvgp_real *V0, *H[ODVGP_MAX_BASE_KERNELS];
	/* [P,nhyp,rows]: sum_j dK_ij/dhyp a_pj; with dK [1,nhyp,rows], and row i of dK for a_p */
	odvgp_real *derivatives;
	ptrdiff_t lds;
	/* by groups: points of X1 by rows; of X2 by columns and by rows; H^T u (>>kernels: dw) */
	odvgp_real *centre, *u[ODVGP_MAX_BASE_KERNELS], *zt[ODVGP_MAX_BASE_KERNELS],
			*w[ODVGP_MAX_BASE_KERNELS], *V[ODVGP_MAX_BASE_KERNELS];
	odvgp_real *R, *T, *chunks;
	ptrdiff_t chunk_rows;      /* rows of CHUNK numbers per task (gp__kchunk) */
	ptrdiff_t ld, first, rows; /* m padded; the current rows */
	int tasks, plain;          /* plain: no products in the expression */
	uint32_t group;            /* of gp__spread_task */
} gp__kjob;

/*	A job that asks for nothing yet. Returning it would put two copies on the stack. */
static void gp__kernel_job(gp__kjob *job, const odvgp_blas *blas, const gp__kernel *k,
		const odvgp_real *hyp, const odvgp_real *X1, ptrdiff_t n, const odvgp_real *X2, ptrdiff_t m)
{
	memset(job, 0, sizeof *job);
	job->blas = blas;
	job->k = k;
	job->hyp = hyp;
	job->X1 = X1;
	job->n = n;
	job->X2 = X2;
	job->m = m;
}

static void gp__kernel_rows_layout(
		gp__arena *a, const gp__kernel *k, ptrdiff_t rows, ptrdiff_t m, ptrdiff_t P, gp__kjob *job)
{
	ptrdiff_t ld = gp__padded(m);
	job->lds = rows;
	job->V0 = gp__take(a, rows, ld);
	GP__EACH_GROUP(g, k) job->H[g] = gp__take(a, rows, ld);
	job->derivatives = gp__take(a, P * (ptrdiff_t)k->nhyp, rows);
}

/*	Whether the expression has no products. */
static int gp__kernel_plain(const gp__kernel *k)
{
	for (uint32_t t = 0; t < k->nnode; t++)
		if (k->node[t][0] == GP__NODE_PRODUCT) return 0;
	return 1;
}

/*	Scratch for `tasks` tasks. Set job->kept first: the forward run needs work for derivatives if
	they are kept, the adjoint if not. */
static void gp__kernel_scratch(gp__arena *a, const gp__kernel *k, ptrdiff_t n, ptrdiff_t m,
		ptrdiff_t P, int tasks, int adjoint, gp__kjob *job)
{
	ptrdiff_t ld = gp__padded(m), rows = adjoint ? GP__MIN(n, GP__KROWS) : n, widest = 1;
	job->ld = ld;
	job->plain = gp__kernel_plain(k);
	job->centre = gp__take(a, 1, (ptrdiff_t)k->D);
	job->chunk_rows = (ptrdiff_t)k->ngroup + (ptrdiff_t)k->nnode;
	if (!adjoint == !!job->kept)
		job->chunk_rows += (ptrdiff_t)k->nnode + 2 * (ptrdiff_t)k->base_kernels + 1;
	job->chunks = gp__take(a, tasks * job->chunk_rows, GP__CHUNK);
	GP__EACH_GROUP(g, k) {
		ptrdiff_t nd = gp__group_dims(k, g);
		job->zt[g] = gp__take(a, nd, ld);
		job->u[g] = gp__take(a, rows, nd + 1);
		if (!adjoint) continue;
		job->w[g] = gp__take(a, m, nd + 1);
		job->V[g] = gp__take(a, m, nd + 1);
		widest = GP__MAX(widest, nd + 1);
	}
	if (!adjoint) return;
	job->R = gp__take(a, rows, widest);
	job->T = gp__take(a, rows, widest);
	if (!job->kept) gp__kernel_rows_layout(a, k, rows, m, P, job);
}

/*	The centre (the mean of X2; of patches the first one) and the points of X2 by columns. */
static void gp__kernel_prepare(gp__kjob *job)
{
	const gp__kernel *k = job->k;
	ptrdiff_t D = (ptrdiff_t)k->D;
	gp__zero(job->centre, D);
	if (job->weights) gp__copy(job->centre, job->X2, D);
	else
		GP__FOR(j, job->m)
			GP__FOR(d, D) job->centre[d] += job->X2[j * D + d] / (odvgp_real)job->m;
	GP__EACH_GROUP(g, k) {
		ptrdiff_t nd = gp__group_dims(k, g);
		gp__points(k, g, job->hyp, job->X2, job->m, job->centre, job->zt[g], 1, job->ld);
		GP__FOR(d, nd) gp__zero(job->zt[g] + d * job->ld + job->m, job->ld - job->m);
	}
}

/* --- one chunk: 64 elements of one row --- */

/*	Arrays of one chunk; those from dk on only for derivatives, else NULL. */
typedef struct {
	odvgp_real (*d2)[GP__CHUNK];    /* [group] squared distance or inner product */
	odvgp_real (*value)[GP__CHUNK]; /* [node]; the last one may be elsewhere */
	/* dk [base kernel]: dk/d(r^2 or inner product), then dK/d(lengthscale) up to a factor. adjoint
	   [node]: dK/d(node), then for base kernels dK/d(variance) up to a factor. */
	odvgp_real (*dk)[GP__CHUNK], (*adjoint)[GP__CHUNK];
	odvgp_real (*shape_param)[GP__CHUNK]; /* [base kernel] dK/d(alpha or offset) */
	odvgp_real *weights;                  /* a row of dK, 0 beyond its columns */
} gp__kchunk;

static gp__kchunk gp__chunk_of_task(const gp__kjob *job, int t, int derivatives)
{
	gp__kchunk c = {NULL, NULL, NULL, NULL, NULL, NULL};
	c.d2 = (odvgp_real(*)[GP__CHUNK])(void *)(job->chunks + t * job->chunk_rows * GP__CHUNK);
	c.value = c.d2 + job->k->ngroup;
	if (!derivatives) return c;
	c.adjoint = c.value + job->k->nnode;
	c.dk = c.adjoint + job->k->nnode;
	c.shape_param = c.dk + job->k->base_kernels;
	c.weights = c.shape_param[job->k->base_kernels];
	return c;
}

/*	The factor from squared distance to r^2; 1 for inner products, and ard's scaled points. */
static odvgp_real gp__base_scale(const gp__base_kernel *base, const odvgp_real *hyp)
{
	if (!gp__one_lengthscale(base)) return 1;
	odvgp_real inverse = 1 / hyp[base->ls], scale = inverse * inverse;
	/* so that scale times distance 0 is 0 */
	return GP__MIN(GP__R(GP__FAR), scale);
}

/*	rq for a chunk: with z = r^2 / (2 alpha), k = v exp(-alpha log1p(z)), dk/dr^2 = -k / (2 (1 + z))
	and dk/dalpha = k (z / (1 + z) - log1p(z)). dk and shape_param first hold z and log1p(z). */
static void gp__base_rq(const odvgp__simd *isa, odvgp_real v, odvgp_real alpha, odvgp_real scale,
		const odvgp_real *d2, odvgp_real *k, odvgp_real *dk, odvgp_real *shape_param)
{
	const odvgp_real most = GP__R(GP__FAR);
	odvgp_real by = scale / (2 * alpha);
	by = GP__MIN(most, by); /* as in gp__base_scale */
	GP__FOR(i, GP__CHUNK) {
		k[i] = d2[i] * by;
		k[i] = GP__MIN(most, k[i]);
	}
	if (dk) gp__copy(dk, k, GP__CHUNK);
	isa->map[GP__LOG1P](k, k, NULL);
	if (dk) gp__copy(shape_param, k, GP__CHUNK);
	GP__FOR(i, GP__CHUNK) k[i] = -alpha * k[i];
	isa->map[GP__EXP](k, k, NULL);
	GP__FOR(i, GP__CHUNK) k[i] *= v;
	for (int i = 0; i < GP__CHUNK && dk; i++) {
		odvgp_real z = dk[i], log = shape_param[i];
		dk[i] = d2[i] < most ? GP__R(-0.5) * k[i] / (1 + z) : 0;
		shape_param[i] = k[i] * (z / (1 + z) - log);
	}
}

/*	t^degree with t = v s + offset for an inner product s, and dk/dt. */
static odvgp_real gp__base_polynomial(
		const gp__base_kernel *base, const odvgp_real *hyp, odvgp_real s, odvgp_real *derivative)
{
	odvgp_real t = hyp[base->var] * s + hyp[base->shape_param], power = 1;
	for (uint32_t e = 1; e < base->degree; e++) power *= t;
	*derivative = (odvgp_real)base->degree * power;
	return power * t;
}

/*	Base kernel l's values for row i of X1 and the chunk of columns from j on, and its derivatives
	to c. Inlined: calls would cost 5 % of a kernel matrix. */
GP__INLINE void gp__base_values(const gp__kjob *job, uint32_t l, ptrdiff_t i, ptrdiff_t j,
		const odvgp_real *d2, odvgp_real *k, const gp__kchunk *c)
{
	const gp__base_kernel *base = &job->k->base[l];
	const odvgp__simd *isa = job->blas->isa;
	odvgp_real v = job->hyp[base->var], scale = gp__base_scale(base, job->hyp), derivative;
	odvgp_real *dk = c->dk ? c->dk[l] : NULL, *shape_param = dk ? c->shape_param[l] : NULL;
	/* the row of X2 that is row i of X1, or -1 */
	ptrdiff_t self = job->origin ? job->origin[i] : job->X1 == job->X2 ? i : -1;
	/* these need no distance */
	ODVGP_ASSERT(d2 || base->type == GP__CONSTANT || base->type == GP__WHITE);
	switch (base->type) {
	case GP__RQ:
		gp__base_rq(isa, v, job->hyp[base->shape_param], scale, d2, k, dk, shape_param);
		return;
	case GP__LINEAR:
		if (base->ard) v = 1; /* the points are scaled by it */
		for (int e = 0; e < GP__CHUNK; e++) k[e] = v * d2[e];
		for (int e = 0; e < GP__CHUNK && dk; e++) dk[e] = v;
		return;
	case GP__POLYNOMIAL:
		for (int e = 0; e < GP__CHUNK; e++) {
			k[e] = gp__base_polynomial(base, job->hyp, d2[e], &derivative);
			if (!dk) continue;
			dk[e] = derivative * v;
			shape_param[e] = derivative;
		}
		return;
	case GP__CONSTANT:
	case GP__WHITE:
		for (int e = 0; e < GP__CHUNK; e++)
			k[e] = base->type == GP__CONSTANT || j + e == self ? v : 0;
		return;
	default:
		ODVGP_ASSERT(gp__base_kernel_kinds[base->type].radial != GP__NOT_RADIAL);
		isa->radial(gp__base_kernel_kinds[base->type].radial, v, scale, d2, k, dk);
	}
}

/*	All nodes for current row `row` and the chunk of columns from j on. Returns the kernel's values:
	`to`, or if that is NULL a part of c. */
static const odvgp_real *gp__chunk_forward(
		const gp__kjob *job, const gp__kchunk *c, ptrdiff_t row, ptrdiff_t j, odvgp_real *to)
{
	const gp__kernel *k = job->k;
	const odvgp__simd *isa = job->blas->isa;
	if (!to) to = c->value[k->nnode - 1];
	GP__EACH_GROUP(g, k) {
		ptrdiff_t nd = gp__group_dims(k, g);
		const odvgp_real *u = job->u[g] + row * (nd + 1), *zt = job->zt[g] + j;
		if (gp__geometry(gp__group_kernel(k, g)) == GP__INNER_PRODUCT) {
			gp__zero(c->d2[g], GP__CHUNK);
			GP__FOR(d, nd) isa->axpy(GP__CHUNK, u[d], zt + d * job->ld, c->d2[g]);
		} else isa->sqdist(nd, u, zt, job->ld, c->d2[g]);
	}
	for (uint32_t t = 0; t < k->nnode; t++) {
		const uint32_t *node = k->node[t];
		odvgp_real *v = t + 1 == k->nnode ? to : c->value[t];
		if (node[0] == GP__NODE_BASE_KERNEL) {
			uint32_t g = k->base[node[1]].group;
			gp__base_values(job, node[1], job->first + row, j, g == GP__NO_GROUP ? NULL : c->d2[g],
					v, c);
		} else
			isa->combine(node[0] == GP__NODE_PRODUCT, c->value[node[1]], c->value[node[2]], v);
	}
	return to;
}

/* --- one chunk, derivatives --- */

/*	A chunk's derivatives in squared distances or inner products, to H + at, and in hyperparameters.
	dK/d(base kernel) is 1, or the product of what multiplies the kernel. */
static void gp__chunk_derivatives(const gp__kjob *job, const gp__kchunk *c, ptrdiff_t at)
{
	const gp__kernel *k = job->k;
	const odvgp__simd *isa = job->blas->isa;
	if (!job->plain)
		GP__FOR(i, GP__CHUNK) c->adjoint[k->nnode - 1][i] = 1;
	for (uint32_t t = job->plain ? 0 : k->nnode; t-- > 0;) {
		const uint32_t *node = k->node[t];
		if (node[0] == GP__NODE_PRODUCT) {
			isa->combine(1, c->adjoint[t], c->value[node[2]], c->adjoint[node[1]]);
			isa->combine(1, c->adjoint[t], c->value[node[1]], c->adjoint[node[2]]);
		} else if (node[0] == GP__NODE_SUM) {
			gp__copy(c->adjoint[node[1]], c->adjoint[t], GP__CHUNK);
			gp__copy(c->adjoint[node[2]], c->adjoint[t], GP__CHUNK);
		}
	}
	/* in this order the first base kernel of a group starts its sum */
	for (uint32_t t = 0; t < k->nnode; t++) {
		if (k->node[t][0] != GP__NODE_BASE_KERNEL) continue;
		uint32_t l = k->node[t][1], g = k->base[l].group;
		if (g != GP__NO_GROUP)
			isa->derivative(gp__base_scale(&k->base[l], job->hyp),
					job->plain ? NULL : c->adjoint[t], c->d2[g], k->group_base[g] == l,
					c->dk[l], job->H[g] + at);
		if (job->plain) continue;
		if (gp__has_shape_param(&k->base[l]))
			isa->combine(1, c->adjoint[t], c->shape_param[l], c->shape_param[l]);
		/* value[t] is set: the last node is no base kernel */
		isa->combine(1, c->adjoint[t], c->value[t], c->adjoint[t]);
	}
}

/*	to[p * step] += x . w_p over the chunk for `count` rows w_p of w. */
static void gp__chunk_dots(const odvgp__simd *isa, ptrdiff_t cols, const odvgp_real *x,
		ptrdiff_t count, const odvgp_real *w, ptrdiff_t ldw, odvgp_real *to, ptrdiff_t step)
{
	odvgp_real sum[GP__DOTS];
	if (count == 1) {
		*to += isa->dot(cols, x, w);
		return;
	}
	for (ptrdiff_t p = 0; p < count; p += GP__DOTS) {
		ptrdiff_t some = GP__MIN(count - p, GP__DOTS);
		isa->dots(cols, x, some, w + p * ldw, ldw, sum);
		GP__FOR(q, some) to[(p + q) * step] += sum[q];
	}
}

/*	Adds a chunk's sums with rows w [cols] of weights to the derivatives of current row r, without
	the factors of gp__kernel_adjoint_derivatives. last: the kernel's values. */
static void gp__chunk_sums(const gp__kjob *job, const gp__kchunk *c, ptrdiff_t r,
		const odvgp_real *last, ptrdiff_t cols, const odvgp_real *w, ptrdiff_t ldw)
{
	const gp__kernel *k = job->k;
	const odvgp__simd *isa = job->blas->isa;
	ptrdiff_t step = (ptrdiff_t)k->nhyp * job->lds, count = job->dK ? 1 : job->P;
	odvgp_real *sums = job->derivatives + r;
	for (uint32_t t = 0; t < k->nnode; t++) {
		if (k->node[t][0] != GP__NODE_BASE_KERNEL) continue;
		uint32_t l = k->node[t][1];
		const gp__base_kernel *base = &k->base[l];
		const odvgp_real *value = t + 1 == k->nnode ? last : c->value[t];
		if (!job->plain) value = c->adjoint[t];
		if (base->type == GP__POLYNOMIAL) value = c->dk[l];
		if (gp__one_variance(base))
			gp__chunk_dots(isa, cols, value, count, w, ldw, sums + base->var * job->lds, step);
		if (gp__one_lengthscale(base))
			gp__chunk_dots(isa, cols, c->dk[l], count, w, ldw, sums + base->ls * job->lds, step);
		if (gp__has_shape_param(base))
			gp__chunk_dots(isa, cols, c->shape_param[l], count, w, ldw,
					sums + base->shape_param * job->lds, step);
	}
}

/*	V0, H and derivatives of row i, the current row r. */
static void gp__derivatives_row(
		const gp__kjob *job, const gp__kchunk *c, ptrdiff_t i, ptrdiff_t r)
{
	const gp__kernel *k = job->k;
	ptrdiff_t end = job->lower ? i + 1 : job->m, count = job->dK ? 1 : job->P;
	GP__FOR(q, count * (ptrdiff_t)k->nhyp) job->derivatives[q * job->lds + r] = 0;
	for (ptrdiff_t j = 0; j < job->ld; j += GP__CHUNK) {
		ptrdiff_t cols = GP__MIN(end - j, GP__CHUNK), at = r * job->ld + j;
		odvgp_real *v = job->V0 + at;
		if (cols <= 0) { /* above the diagonal */
			GP__EACH_GROUP(g, k) gp__zero(job->H[g] + at, GP__CHUNK);
			continue;
		}
		gp__chunk_forward(job, c, r, j, v);
		gp__chunk_derivatives(job, c, at);
		if (job->dK) {
			gp__zero(c->weights + cols, GP__CHUNK - cols);
			gp__copy(c->weights, job->dK + i * job->lddk + j, cols);
			gp__chunk_sums(job, c, r, v, GP__CHUNK, c->weights, 0);
			GP__EACH_GROUP(g, k)
				job->blas->isa->combine(1, job->H[g] + at, c->weights, job->H[g] + at);
		} else gp__chunk_sums(job, c, r, v, cols, job->a + j, job->lda);
	}
}

/* --- forward --- */

static void gp__kernel_row(const gp__kjob *job, const gp__kchunk *c, ptrdiff_t i)
{
	ptrdiff_t end = job->lower ? i + 1 : job->m;
	for (ptrdiff_t j = 0; j < end; j += GP__CHUNK) {
		ptrdiff_t cols = GP__MIN(end - j, GP__CHUNK);
		const odvgp_real *v = job->kept ? job->V0 + i * job->ld + j
										: gp__chunk_forward(job, c, i, j, NULL);
		if (job->K) {
			gp__copy(job->K + i * job->ldk + j, v, cols);
			continue;
		}
		if (!j)
			GP__FOR(p, job->P) job->out[p * job->ldo + i] = 0;
		gp__chunk_dots(
				job->blas->isa, cols, v, job->P, job->a + j, job->lda, job->out + i, job->ldo);
	}
	if (job->K) gp__zero(job->K + i * job->ldk + end, job->m - end);
}

static void gp__kernel_task(void *arg, int t)
{
	const gp__kjob *job = (const gp__kjob *)arg;
	gp__kchunk chunk = gp__chunk_of_task(job, t, 0);
	ptrdiff_t from = t, to = job->n, step = job->tasks;
	if (!job->lower) { /* else every tasks-th row: equal shares of the triangle */
		gp__share(job->n, 1, job->tasks, t, &from, &to);
		step = 1;
	}
	for (ptrdiff_t i = from; i < to; i += step) gp__kernel_row(job, &chunk, i);
}

/*	Whether the variance's sums, before their factor 1/v, are K a. */
static int gp__sums_are_out(const gp__kernel *k)
{
	return k->nnode == 1 && gp__one_variance(&k->base[0]) && k->base[0].type != GP__POLYNOMIAL;
}

static void gp__derivatives_task(void *arg, int t)
{
	const gp__kjob *job = (const gp__kjob *)arg;
	const odvgp_real *sums =
			gp__sums_are_out(job->k) ? job->derivatives + job->k->base[0].var * job->lds : NULL;
	gp__kchunk c = gp__chunk_of_task(job, t, 1);
	for (ptrdiff_t r = t; r < job->rows; r += job->tasks) {
		gp__derivatives_row(job, &c, job->first + r, r);
		if (!job->out) continue;
		if (!sums) gp__kernel_row(job, &c, r);
		for (ptrdiff_t p = 0; sums && p < job->P; p++)
			job->out[p * job->ldo + r] = sums[p * (ptrdiff_t)job->k->nhyp * job->lds + r];
	}
}

static int gp__kernel_tasks(const gp__kjob *job)
{
	return gp__at_least(job->n, job->m, 4096) ? gp__tasks(&job->blas->threads) : 1;
}

static void gp__kernel_begin(gp__kjob *job, gp__arena scratch, int adjoint)
{
	gp__kernel_scratch(&scratch, job->k, job->n, job->m, job->dK ? 1 : job->P,
			gp__tasks(&job->blas->threads), adjoint, job);
	ODVGP_ASSERT(!scratch.bad);
	gp__kernel_prepare(job);
	job->tasks = gp__kernel_tasks(job);
}

/*	Multiplications for `rows` rows, for the watch; exp counts as about 20 multiplications. */
GP__TRAINING gp__wide gp__kernel_work(const gp__kjob *job, ptrdiff_t rows)
{
	return (gp__wide)rows * (gp__wide)job->m *
		   ((gp__wide)job->k->D + 20 * (gp__wide)job->k->base_kernels);
}

/*	job->K or job->out and, if job->kept, what the adjoint needs. */
GP__TRAINING void gp__kernel_run(gp__kjob *job, gp__arena scratch)
{
	if (job->n == 0 || gp__ask(job->blas, gp__kernel_work(job, job->n))) return;
	if (job->m == 0) {
		for (ptrdiff_t p = 0; job->out && p < job->P; p++)
			gp__zero(job->out + p * job->ldo, job->n);
		return;
	}
	gp__kernel_begin(job, scratch, 0);
	gp__points_by_rows(job->k, job->hyp, job->X1, job->n, job->centre, job->u);
	job->first = 0;
	job->rows = job->n;
	gp__run(&job->blas->threads, job->tasks, job->kept ? gp__derivatives_task : gp__kernel_task,
			job);
}

/* --- adjoint --- */

/*	da += dout K, and H <- H dloss/dK elementwise, dloss/dK = dout^T a. Tasks share the columns, so
	each sum over rows belongs to one task. */
static void gp__kernel_weights_task(void *arg, int t)
{
	enum { ROWS = 4 };
	const gp__kjob *job = (const gp__kjob *)arg;
	const odvgp__simd *isa = job->blas->isa;
	odvgp_real dK[ROWS][GP__CHUNK];
	ptrdiff_t begin, end;
	gp__share(job->ld, GP__CHUNK, job->tasks, t, &begin, &end);
	for (ptrdiff_t from = 0; from < job->rows; from += GP__UPDATE_ROWS)
		for (ptrdiff_t j = begin; j < end; j += GP__CHUNK) {
			ptrdiff_t cols = GP__MIN(job->m - j, GP__CHUNK),
					  to = GP__MIN(job->rows, from + GP__UPDATE_ROWS);
			const odvgp_real *dout = job->dout + job->first;
			if (job->da)
				isa->update(cols, to - from, job->V0 + from * job->ld + j, job->ld, job->P,
						dout + from, job->ldo, 1, job->da + j, job->lda);
			for (ptrdiff_t r = from; r < to; r += ROWS) {
				ptrdiff_t rows = GP__MIN((ptrdiff_t)ROWS, to - r);
				gp__zero(dK[0], ROWS * GP__CHUNK);
				isa->update(cols, job->P, job->a + j, job->lda, rows, dout + r, 1, job->ldo, dK[0],
						GP__CHUNK);
				GP__FOR(q, rows)
					GP__EACH_GROUP(g, job->k) {
						odvgp_real *H = job->H[g] + (r + q) * job->ld + j;
						isa->combine(1, H, dK[q], H);
					}
			}
		}
}

/*	dhyp[h] += factor times the sum of its derivatives over the current rows. */
static void gp__kernel_adjoint_derivative(const gp__kjob *job, uint32_t h, odvgp_real factor)
{
	GP__FOR(p, job->dK ? 1 : job->P) {
		const odvgp_real *derivatives =
				job->derivatives + (p * (ptrdiff_t)job->k->nhyp + (ptrdiff_t)h) * job->lds;
		odvgp_real sum = 0;
		GP__FOR(r, job->rows)
			sum += job->dK ? derivatives[r]
						   : derivatives[r] * job->dout[p * job->ldo + job->first + r];
		job->dhyp[h] += sum * factor;
	}
}

/*	dk/dv = k / v (polynomial: s dk/ds / v), dk/d(lengthscale) = -2 r^2 dk/dr^2 / lengthscale. */
static void gp__kernel_adjoint_derivatives(const gp__kjob *job)
{
	GP__EACH_BASE(l, job->k) {
		const gp__base_kernel *base = &job->k->base[l];
		if (gp__one_lengthscale(base))
			gp__kernel_adjoint_derivative(job, base->ls, -2 / job->hyp[base->ls]);
		if (gp__one_variance(base))
			gp__kernel_adjoint_derivative(job, base->var, 1 / job->hyp[base->var]);
		if (gp__has_shape_param(base)) gp__kernel_adjoint_derivative(job, base->shape_param, 1);
	}
}

/*	Whether inputs or a period need gradients of a group's points. */
static int gp__points_wanted(const gp__kjob *job, const gp__base_kernel *base, const odvgp_real *dX)
{
	return dX || (gp__geometry(base) == GP__CIRCLE && job->dhyp);
}

/*	R <- sum_j H_ij (u_id - w_jd)^2 for each current row i and column d of a group. Multiplied out,
	the sum would cancel all digits at short lengthscales. The H of SPREAD_ROWS rows stays in L1
	while the columns pass. */
#define GP__SPREAD_ROWS 4
static void gp__spread_task(void *arg, int t)
{
	const gp__kjob *job = (const gp__kjob *)arg;
	const odvgp__simd *isa = job->blas->isa;
	uint32_t g = job->group;
	ptrdiff_t nd = gp__group_dims(job->k, g);
	for (ptrdiff_t r = GP__SPREAD_ROWS * t; r < job->rows; r += GP__SPREAD_ROWS * job->tasks) {
		ptrdiff_t count = GP__MIN(job->rows - r, GP__SPREAD_ROWS);
		/* H is 0 beyond n */
		ptrdiff_t n = job->lower ? gp__padded(job->first + r + count) : job->ld;
		GP__FOR(d, nd)
			isa->spreads(n, count, job->u[g] + r * (nd + 1) + d, nd + 1, job->zt[g] + d * job->ld,
					job->H[g] + r * job->ld, job->ld, job->R + r * (nd + 1) + d);
	}
}

/*	A lengthscale per column, by the same formula. */
static void gp__kernel_adjoint_lengthscales(gp__kjob *job, uint32_t g)
{
	const gp__base_kernel *base = gp__group_kernel(job->k, g);
	ptrdiff_t nd = gp__group_dims(job->k, g), each = nd / (ptrdiff_t)base->ndims;
	job->group = g;
	gp__run(&job->blas->threads, job->tasks, gp__spread_task, job);
	GP__FOR(d, nd) {
		uint32_t h = base->ls + (uint32_t)(d / each);
		odvgp_real sum = 0;
		GP__FOR(r, job->rows) sum += job->R[r * (nd + 1) + d];
		job->dhyp[h] += -2 * sum / job->hyp[h];
	}
}

static int gp__variances_wanted(const gp__kjob *job, const gp__base_kernel *base)
{
	return base->ard && !base->nls && job->dhyp;
}

/*	From the gradient in a group's point of input x to dx [D] (unless NULL), added to, and to the
	period of a periodic kernel. */
static void gp__point_back(const gp__kjob *job, uint32_t g, const odvgp_real *x,
		const odvgp_real *point, const odvgp_real *gradient, odvgp_real *dx)
{
	const gp__base_kernel *base = gp__group_kernel(job->k, g);
	int circle = gp__geometry(base) == GP__CIRCLE;
	GP__FOR(d, (ptrdiff_t)base->ndims) {
		ptrdiff_t column = gp__column(base, d), c = 2 * d;
		if (!circle) {
			if (dx) dx[column] += gp__base_column(base, job->hyp, d) * gradient[d];
			continue;
		}
		odvgp_real period = job->hyp[base->shape_param],
				   rate = (odvgp_real)(GP__W(gp__two_pi) / (gp__wide)period);
		odvgp_real derivative = rate * (gradient[c + 1] * point[c] - gradient[c] * point[c + 1]);
		if (dx) dx[column] += derivative;
		if (job->dhyp)
			job->dhyp[base->shape_param] -=
					derivative * (x[column] - job->centre[column]) / period;
	}
}

/*	The same for n points [n,nd+1], from the sums [n,nd+1] of H times points. */
static void gp__points_adjoint(const gp__kjob *job, uint32_t g, ptrdiff_t n, const odvgp_real *X,
		const odvgp_real *points, odvgp_real *sums, odvgp_real *dX)
{
	ptrdiff_t nd = gp__group_dims(job->k, g), D = (ptrdiff_t)job->k->D;
	int inner = gp__geometry(gp__group_kernel(job->k, g)) == GP__INNER_PRODUCT;
	GP__FOR(i, n) {
		const odvgp_real *point = points + i * (nd + 1);
		odvgp_real *gradient = sums + i * (nd + 1);
		for (ptrdiff_t d = 0; d < nd && !inner; d++)
			gradient[d] = 2 * (gradient[nd] * point[d] - gradient[d]);
		gp__point_back(job, g, X + i * D, point, gradient, dX ? dX + i * D : NULL);
	}
}

/*	V += H^T u over the current rows. T = H w gives dX1. */
static void gp__kernel_adjoint_products(gp__kjob *job, uint32_t g)
{
	const gp__base_kernel *base = gp__group_kernel(job->k, g);
	ptrdiff_t nd = gp__group_dims(job->k, g), from = job->first * (ptrdiff_t)job->k->D;
	/* columns of H beyond m are 0 */
	ptrdiff_t m = job->lower ? GP__MIN(job->m, job->first + job->rows) : job->m;
	if (base->ard && base->nls && job->dhyp) gp__kernel_adjoint_lengthscales(job, g);
	if (gp__variances_wanted(job, base) || gp__points_wanted(job, base, job->dX2))
		odvgp_gemm(job->blas, 1, 0, m, nd + 1, job->rows, 1, job->H[g], job->ld, job->u[g], nd + 1,
				1, job->V[g], nd + 1);
	if (!gp__points_wanted(job, base, job->dX1)) return;
	odvgp_gemm(job->blas, 0, 0, job->rows, nd + 1, m, 1, job->H[g], job->ld, job->w[g], nd + 1, 0,
			job->T, nd + 1);
	gp__points_adjoint(job, g, job->rows, job->X1 + from, job->u[g], job->T,
			job->dX1 ? job->dX1 + from : NULL);
}

/*	linear's variance per column: sum_ij G_ij u_id w_jd = sum_j w_jd V_jd. */
static void gp__kernel_adjoint_variances(gp__kjob *job, uint32_t g)
{
	const gp__base_kernel *base = gp__group_kernel(job->k, g);
	ptrdiff_t nd = gp__group_dims(job->k, g);
	GP__FOR(d, nd) {
		odvgp_real sum = 0;
		GP__FOR(j, job->m) sum += job->w[g][j * (nd + 1) + d] * job->V[g][j * (nd + 1) + d];
		uint32_t h = base->var + (uint32_t)d;
		job->dhyp[h] += sum / job->hyp[h];
	}
}

/*	Blocks of KROWS rows. What the forward run did not keep is recomputed, to the same bits. */
GP__TRAINING void gp__kernel_adjoint_run(gp__kjob *job, gp__arena scratch)
{
	const gp__kernel *k = job->k;
	if (job->n == 0 || job->m == 0) return;
	gp__kernel_begin(job, scratch, 1);
	gp__points_by_rows(k, job->hyp, job->X2, job->m, job->centre, job->w);
	GP__EACH_GROUP(g, k) gp__zero(job->V[g], job->m * (gp__group_dims(k, g) + 1));
	for (job->first = 0; job->first < job->n; job->first += job->rows) {
		gp__kjob block = *job;
		block.rows = job->rows = GP__MIN(job->n - job->first, GP__KROWS);
		if (gp__ask(job->blas, 2 * gp__kernel_work(job, job->rows))) return;
		gp__points_by_rows(k, job->hyp, job->X1 + job->first * (ptrdiff_t)k->D, job->rows,
				job->centre, job->u);
		if (job->kept) {
			GP__EACH_GROUP(g, k) block.H[g] += job->first * job->ld;
			block.V0 += job->first * job->ld;
			block.derivatives += job->first;
		} else gp__run(&job->blas->threads, job->tasks, gp__derivatives_task, &block);
		if (job->dhyp) gp__kernel_adjoint_derivatives(&block);
		if (!job->dK) gp__run(&job->blas->threads, job->tasks, gp__kernel_weights_task, &block);
		GP__EACH_GROUP(g, k) gp__kernel_adjoint_products(&block, g);
	}
	GP__EACH_GROUP(g, k) {
		const gp__base_kernel *base = gp__group_kernel(k, g);
		if (gp__variances_wanted(job, base)) gp__kernel_adjoint_variances(job, g);
		if (gp__points_wanted(job, base, job->dX2))
			gp__points_adjoint(job, g, job->m, job->X2, job->w[g], job->V[g], job->dX2);
	}
}

/* --- images: with patches x[t] and weights w
	   K(Z,x) = sum_t w_t k(Z,x[t]),    k(x,x) = w^T K w,  K_ts = k(x[t],x[s])
   Scratch holds one image at a time, and KROWS rows of K's lower triangle. --- */

typedef struct {
	ptrdiff_t T, D, pixels;
	odvgp_real *patches, *adjoint; /* [T,D] of an image */
	odvgp_real *values;            /* a column of K(Z,X), or rows of K */
} gp__images_work;

/*	n: rows of Z; 0: for k(x,x). */
static void gp__images_layout(gp__arena *a, const gp__patches *p, ptrdiff_t n, gp__images_work *w)
{
	w->T = gp__patches_count(p);
	w->D = gp__patch_columns(p, 0);
	w->pixels = (ptrdiff_t)p->height * p->width * p->channels;
	w->patches = gp__take(a, w->T, w->D);
	w->adjoint = gp__take(a, w->T, w->D);
	w->values = gp__take(a, n ? n : GP__MIN(w->T, (ptrdiff_t)GP__KROWS), n ? 1 : w->T);
}

static void gp__image_begin(
		const gp__kjob *job, ptrdiff_t i, const gp__images_work *w, gp__kjob *one)
{
	*one = *job;
	one->patches = NULL;
	one->K = one->out = NULL;
	one->dK = one->dout = NULL;
	one->X2 = w->patches;
	one->m = w->T;
	if (job->dX2) one->dX2 = w->adjoint;
	gp__patches_move(job->patches, job->X2 + i * w->pixels, NULL, w->patches);
	if (job->dX2) gp__zero(w->adjoint, w->T * w->D);
}
static void gp__image_end(const gp__kjob *job, ptrdiff_t i, const gp__images_work *w)
{
	if (job->dX2) gp__patches_move(job->patches, NULL, job->dX2 + i * w->pixels, w->adjoint);
}

/*	K(X1,X2), or its adjoint; X2 may hold images. */
GP__TRAINING void gp__kernel_matrix(gp__kjob *job, gp__arena scratch, int adjoint)
{
	gp__images_work w;
	gp__kjob one;
	if (!job->patches) {
		(adjoint ? gp__kernel_adjoint_run : gp__kernel_run)(job, scratch);
		return;
	}
	gp__images_layout(&scratch, job->patches, job->n, &w);
	GP__FOR(j, job->m) {
		gp__image_begin(job, j, &w, &one);
		one.P = 1;
		one.a = job->weights;
		one.lda = one.m;
		one.da = job->dweights;
		one.ldo = job->n;
		if (adjoint) {
			GP__FOR(i, job->n) w.values[i] = job->dK[i * job->lddk + j];
			one.dout = w.values;
			gp__kernel_adjoint_run(&one, scratch);
		} else {
			one.out = w.values;
			gp__kernel_run(&one, scratch);
			GP__FOR(i, job->n) job->K[i * job->ldk + j] = w.values[i];
		}
		gp__image_end(job, j, &w);
	}
}

/*	diag[i] = k(x,x) of image i and Kw [images,T] = K w, or their adjoint, which reads diag's
	adjoint and Kw. Block b of K's lower triangle: if odd, KROWS rows' triangle, else what is left
	of it. */
GP__TRAINING void gp__images_diag(
		gp__kjob *job, odvgp_real *diag, odvgp_real *Kw, gp__arena scratch, int adjoint)
{
	const odvgp__simd *isa = job->blas->isa;
	const odvgp_real *v = job->weights;
	gp__images_work w;
	gp__kjob one;
	gp__images_layout(&scratch, job->patches, 0, &w);
	for (ptrdiff_t i = 0; i < job->m; i++, Kw += w.T) {
		odvgp_real g = adjoint ? 2 * diag[i] : 0;
		gp__image_begin(job, i, &w, &one);
		if (!adjoint) gp__zero(Kw, w.T);
		else if (job->dweights) isa->axpy(w.T, g, Kw, job->dweights);
		for (ptrdiff_t b = 1; b / 2 * GP__KROWS < w.T; b++) {
			ptrdiff_t first = b / 2 * GP__KROWS, from = b % 2 ? first : 0;
			one.lower = (int)(b % 2);
			one.X1 = w.patches + first * w.D;
			one.n = GP__MIN(w.T - first, (ptrdiff_t)GP__KROWS);
			one.X2 = w.patches + from * w.D;
			one.m = one.ldk = one.lddk = one.lower ? one.n : first;
			if (adjoint) one.dK = w.values;
			else one.K = w.values;
			if (job->dX2) {
				one.dX1 = w.adjoint + first * w.D;
				one.dX2 = w.adjoint + from * w.D;
			}
			if (!adjoint) gp__kernel_run(&one, scratch);
			GP__FOR(r, one.n) {
				odvgp_real *row = w.values + r * one.m;
				ptrdiff_t before = one.lower ? r : one.m;
				if (!adjoint) {
					Kw[first + r] += isa->dot(before + one.lower, row, v + from);
					isa->axpy(before, v[first + r], row, Kw + from);
					continue;
				}
				GP__FOR(c, before) row[c] = g * v[first + r] * v[from + c];
				if (one.lower) row[r] = diag[i] * v[first + r] * v[first + r];
			}
			if (adjoint) gp__kernel_adjoint_run(&one, scratch);
		}
		gp__image_end(job, i, &w);
		if (!adjoint) diag[i] = isa->dot(w.T, Kw, v);
	}
}

/* --- points of a predictor --- */

/*	Points prepared for predictions: centred and scaled, the columns of all groups one below the
	other, [columns, ld]. The last chunk is read up to POINTS_BEYOND numbers beyond its end, which
	must be finite. */
#define GP__POINTS_UNIT   16 /* ld is a multiple: 64 bytes or more */
#define GP__POINTS_BEYOND 48 /* the largest GP__CHUNK less that; blocks hold them */

static ptrdiff_t gp__points_ld(ptrdiff_t m)
{
	return (m + GP__POINTS_UNIT - 1) / GP__POINTS_UNIT * GP__POINTS_UNIT;
}

static ptrdiff_t gp__points_columns(const gp__kernel *k)
{
	ptrdiff_t columns = 0;
	GP__EACH_GROUP(g, k) columns += gp__group_dims(k, g);
	return columns;
}

/*	Points of Z [m,D] in columns of `to`. */
static void gp__points_place(const gp__kernel *k, const odvgp_real *hyp, const odvgp_real *Z,
		ptrdiff_t m, const odvgp_real *centre, odvgp_real *to, ptrdiff_t ld)
{
	GP__EACH_GROUP(g, k) {
		gp__points(k, g, hyp, Z, m, centre, to, 1, ld);
		to += gp__group_dims(k, g) * ld;
	}
}

/*	Points of all groups, one below the other, from `at` on. */
static void gp__points_at(const gp__kernel *k, odvgp_real *at, ptrdiff_t ld, odvgp_real **points)
{
	GP__EACH_GROUP(g, k) {
		points[g] = at;
		at += gp__group_dims(k, g) * ld;
	}
}

/* --- k(x,x) --- */

GP__TRAINING int gp__kernel_stationary(const gp__kernel *k)
{
	GP__EACH_BASE(i, k)
		if (gp__geometry(&k->base[i]) == GP__INNER_PRODUCT) return 0;
	return 1;
}

/*	Whether a base kernel tells any number of points apart. */
GP__TRAINING int gp__kernel_has_distances(const gp__kernel *k)
{
	GP__EACH_BASE(i, k)
		if (k->base[i].nls) return 1;
	return 0;
}

/*	x.x over a base kernel's columns. x NULL: 1 in each, the mean square of standardised data. */
static odvgp_real gp__base_square(
		const gp__base_kernel *base, const odvgp_real *hyp, const odvgp_real *x)
{
	odvgp_real sum = 0;
	GP__FOR(d, (ptrdiff_t)base->ndims) {
		odvgp_real t = (x ? x[gp__column(base, d)] : 1) * gp__base_column(base, hyp, d);
		sum += t * t;
	}
	return sum;
}

static odvgp_real gp__base_diag(
		const gp__base_kernel *base, const odvgp_real *hyp, const odvgp_real *x)
{
	odvgp_real derivative;
	if (gp__geometry(base) != GP__INNER_PRODUCT) return hyp[base->var];
	odvgp_real s = gp__base_square(base, hyp, x);
	if (base->type == GP__POLYNOMIAL) return gp__base_polynomial(base, hyp, s, &derivative);
	return base->ard ? s : hyp[base->var] * s;
}

/*	k(x,x), and all nodes' values in value [nnode]. x NULL: for inputs of mean square 1. */
static odvgp_real gp__kernel_diag(
		const gp__kernel *k, const odvgp_real *hyp, const odvgp_real *x, odvgp_real *value)
{
	odvgp_real last = 0;
	for (uint32_t t = 0; t < k->nnode; t++) {
		const uint32_t *node = k->node[t];
		if (node[0] == GP__NODE_BASE_KERNEL) last = gp__base_diag(&k->base[node[1]], hyp, x);
		else if (node[0] == GP__NODE_SUM) last = value[node[1]] + value[node[2]];
		else last = value[node[1]] * value[node[2]];
		value[t] = last;
	}
	return last;
}

/*	Adds to dhyp and dx (unless NULL) the derivatives of a base kernel's k(x,x). */
static void gp__base_diag_adjoint(const gp__base_kernel *base, const odvgp_real *hyp,
		const odvgp_real *x, odvgp_real adjoint, odvgp_real *dhyp, odvgp_real *dx)
{
	if (gp__geometry(base) != GP__INNER_PRODUCT) {
		if (dhyp) dhyp[base->var] += adjoint;
		return;
	}
	/* the adjoint of t = v s + offset, or of t = v s */
	odvgp_real s = gp__base_square(base, hyp, x), derivative = 1;
	if (base->type == GP__POLYNOMIAL) gp__base_polynomial(base, hyp, s, &derivative);
	derivative *= adjoint;
	int one = gp__one_variance(base);
	if (dhyp && gp__has_shape_param(base)) dhyp[base->shape_param] += derivative;
	if (dhyp && one) dhyp[base->var] += derivative * s;
	GP__FOR(d, (ptrdiff_t)base->ndims) {
		ptrdiff_t column = gp__column(base, d);
		uint32_t v = base->var + (one ? 0 : (uint32_t)d);
		if (dhyp && !one) dhyp[v] += derivative * x[column] * x[column];
		if (dx) dx[column] += 2 * derivative * hyp[v] * x[column];
	}
}

static void gp__kernel_diag_adjoint(const gp__kernel *k, const odvgp_real *hyp,
		const odvgp_real *x, odvgp_real adjoint, odvgp_real *dhyp, odvgp_real *dx)
{
	odvgp_real value[GP__MAX_NODES] = {0}, d[GP__MAX_NODES] = {0};
	gp__kernel_diag(k, hyp, x, value);
	d[k->nnode - 1] = adjoint;
	for (uint32_t t = k->nnode; t-- > 0;) {
		const uint32_t *node = k->node[t];
		if (node[0] == GP__NODE_BASE_KERNEL) {
			gp__base_diag_adjoint(&k->base[node[1]], hyp, x, d[t], dhyp, dx);
			continue;
		}
		d[node[1]] = node[0] == GP__NODE_SUM ? d[t] : d[t] * value[node[2]];
		d[node[2]] = node[0] == GP__NODE_SUM ? d[t] : d[t] * value[node[1]];
	}
}

/* ---- >>likelihoods   expected log density

	For q(f) = N(mean, var), each likelihood computes E_q[log p(y|f)] with its derivatives, the
	moments of y, and log E_q[p(y|f)]. odvgp_likelihood has the formulas of p(y|f). A likelihood
	sees F functions, the P latent processes or mixtures of them; T follows from F.

	Without a closed form, logp computes g(f) = log p(y|f) and g' for a chunk of rows at one f each,
	and the Gauss-Hermite rule for N(0, 1), with nodes t_h and weights w_h, integrates:
		E = sum_h w_h g(f_h),  f_h = mean + sd t_h
		dE/dmean = sum_h w_h g'(f_h)     dE/dvar = sum_h w_h t_h g'(f_h) / (2 sd)
	So the gradient is that of the computed value (but SOFTMAX's dE/dvar). sd is at least LEAST_SD
	units of f, where dE/dvar has reached its limit g''/2.

	Closed forms:
		Gaussian, noise s               -(log(2 pi s) + ((y - mean)^2 + var) / s) / 2
		log p = a f - b e^(s f) + c     a mean - b e^(s mean + var / 2) + c for s = 1 or -1
		Laplace                         E|y - f| = d (2 Phi(d / sd) - 1) + 2 sd phi(d / sd),
										d = y - mean
		heteroscedastic                 -(log(2 pi) + mean_g + ((y - mean)^2 + var) e) / 2,
										e = exp(var_g / 2 - mean_g)

	To add one: an enumerator at the end of odvgp_likelihood (files store its number); its
	functions, parameters and row here; its word in >>settings; check gp__pseudo in >>warm. */

enum {
	/* y = f + Gaussian noise, the first parameter its variance: closed forms */
	GP__LIK_GAUSSIAN = 1,
	GP__LIK_LOG_CONCAVE = 2, /* log p(y|f) is concave in f, without a link jitter */
	/* targets are class numbers; moments of y are classes' probabilities */
	GP__LIK_CLASSES = 4,
	GP__LIK_FACTORS = 8, /* T = F: each target depends on one function */
	/* f and the first parameter (the Gaussian's: its root) have y's unit. odvgp_scales may scale
	   y: >>predictor rescales moments and densities, not parameters. Needs FACTORS */
	GP__LIK_SCALABLE = 16,
	GP__LIK_LINK = 32,    /* uses lik.link_jitter */
	GP__LIK_EXPOSURE = 64 /* exposure e adds log e to f */
};

/*	n rows of data; each function and each target is a matrix row. */
typedef struct {
	const struct gp__likelihood *lik;
	const odvgp__simd *isa;
	ptrdiff_t n, F, T, ld;
	ptrdiff_t classes;            /* of CLASSES, else 0 */
	const odvgp_real *Y;          /* [T,ld], NaN: missing; not for y_moments */
	const odvgp_real *mean, *var; /* [F,ld]; var >= 0 */
	/* [n] the rows' weights; multiples of the Gaussian's noise variance. NULL: all 1. Densities
	   have no weights */
	const odvgp_real *weight, *noise;
	const odvgp_real *par; /* in the order of gp__likelihood.param */
	ptrdiff_t noises;      /* the Gaussian's: T, or 1 for all targets */
	/* link jitter, nodes [H], weights [H]; not for the Gaussian */
	const odvgp_real *rule;
	ptrdiff_t H;
	odvgp_real *work; /* gp__lik_work numbers */
	/* Derivatives of the sum with respect to means, variances and values of parameters (not their
	   logarithms), without the factor N/B. expect stores dmean and dvar [F,ld], and adds to dpar.
	   All three are NULL if only the value is requested. */
	odvgp_real *dmean, *dvar;
	gp__wide *dpar;
} gp__lik_job;

/*	A chunk of rows for one target, at one point f each. Rows beyond the job's repeat the first. */
typedef struct {
	const struct gp__likelihood *lik;
	const odvgp_real *par;
	const odvgp__simd *isa;
	gp__wide jitter;
	ptrdiff_t n, classes, H;
	const odvgp_real *t, *w;
	odvgp_real *y, *seen, *mean, *sd,
			*f; /* seen: the row's weight; 0 for missing targets and rows beyond the job's */
	odvgp_real *weight;            /* of the rows' derivatives in parameters */
	odvgp_real *logp, *df;         /* results */
	odvgp_real *a, *b;             /* work of logp */
	odvgp_real *sum, *dm, *dv, *z; /* work of the rule */
	gp__wide *dpar;                /* NULL: no derivatives in parameters */
} gp__lik_chunk;
enum {
	GP__LIK_ARRAYS = 14,
	GP__MOST_CLASSES = 200,
	GP__MOST_NODES = 200,
	GP__TENSOR_CLASSES = 4,
	GP__SOFTMAX_DRAWS = 16
};
#define GP__EACH_ROW(i) GP__FOR(i, GP__CHUNK)

typedef struct {
	const char *name; /* of the slot */
	ptrdiff_t count;  /* of values; 0: ORDINAL's classes - 2; -1: the Gaussian's noises */
	gp__wide start;   /* of each value, in the likelihood's units */
	int positive;     /* 1: trained through config.positive_transform */
	int power;        /* SCALABLE: odvgp_init_data sets start * (targets' sd)^power */
	int fixed;        /* 1: not trainable unless odvgp_set_trainable says so */
	int rate;         /* 1: a rate of wrong classes, below that of guessing, 1 - 1 / P */
} gp__lik_param;

typedef gp__wide gp__lik_expect(const gp__lik_job *job);
typedef void gp__lik_moments(const gp__lik_job *job, odvgp_real *mean, odvgp_real *var);
typedef gp__wide gp__lik_density(const gp__lik_job *job, ptrdiff_t at);
typedef void gp__lik_logp(const gp__lik_chunk *c);
typedef gp__wide gp__lik_base(gp__wide y, const odvgp_real *par, gp__wide *dpar);
typedef void gp__lik_rows(
		const gp__lik_job *job, const gp__lik_chunk *c, ptrdiff_t t, ptrdiff_t from);

/*	A likelihood. expect must sum in a fixed order, so that bits do not depend on threads. Functions
	may use libm. */
typedef struct gp__likelihood {
	const char *name;
	int flags;                  /* GP__LIK_... */
	const gp__lik_param *param; /* positive parameters first */
	int params;
	/* sum of E_q[log p(y|f)] over rows and targets */
	gp__lik_expect *expect;
	/* mean and variance of y [classes or T,ld]; either may be NULL */
	gp__lik_moments *y_moments;
	/* log E_q[p(y|f)] of the target at place `at` of Y; NULL: SOFTMAX */
	gp__lik_density *log_density;
	/* Targets: finite, above `least` (of whole numbers: at least), at most `most`; else `why`.
	   Class numbers have no `most`. */
	gp__wide least, most;
	int whole;
	const char *why;
	/* log p(y|f) without `base`, which does not depend on f, to c->logp; its derivative in f to
	   c->df; to c->dpar is added c->weight times those in parameters. Or NULL */
	gp__lik_logp *logp;
	gp__lik_base *base;
	/* Rows from `from` on of target t: E_q[log p(y|f)] without `base` to c->sum, derivatives to the
	   job's if it has any */
	gp__lik_rows *chunk;
} gp__likelihood;

/*	extent: the number of classes, or of the Gaussian's noises. */
static ptrdiff_t gp__lik_count(const gp__lik_param *par, ptrdiff_t extent)
{
	if (par->count < 0) return GP__MAX(extent, 1);
	return par->count ? par->count : GP__MAX(extent - 2, 0);
}

/*	Count of positive, or free, parameter values. */
static ptrdiff_t gp__lik_numbers(const gp__likelihood *lik, int positive, ptrdiff_t extent)
{
	ptrdiff_t numbers = 0;
	GP__FOR(k, lik->params)
		if (lik->param[k].positive == positive) numbers += gp__lik_count(&lik->param[k], extent);
	return numbers;
}

static ptrdiff_t gp__lik_all_numbers(const gp__likelihood *lik, ptrdiff_t extent)
{
	return gp__lik_numbers(lik, 1, extent) + gp__lik_numbers(lik, 0, extent);
}

/*	Numbers of the rule that follow the parameters, and of a job's work. */
static ptrdiff_t gp__rule_numbers(ptrdiff_t H) { return H ? 1 + 2 * H : 0; }
static ptrdiff_t gp__lik_work(const gp__likelihood *lik, ptrdiff_t F)
{
	int several = lik->flags & GP__LIK_CLASSES && !(lik->flags & GP__LIK_FACTORS);
	if (lik->flags & GP__LIK_GAUSSIAN) return 0;
	return GP__CHUNK * (GP__LIK_ARRAYS + (several ? 8 * F : 0));
}

/*	The number of classes: 0 without CLASSES; `ordinal` where it does not follow from F. */
static ptrdiff_t gp__classes(const gp__likelihood *lik, ptrdiff_t F, ptrdiff_t ordinal)
{
	if (!(lik->flags & GP__LIK_CLASSES)) return 0;
	return lik->flags & GP__LIK_FACTORS ? GP__MAX(ordinal, 2) : F;
}

static ptrdiff_t gp__lik_targets(const gp__likelihood *lik, ptrdiff_t F)
{
	return lik->flags & GP__LIK_FACTORS ? F : lik->flags & GP__LIK_CLASSES ? 1 : F / 2;
}

/*	Whether P processes, mixed to `functions` unless that is 0, and config.lik.classes suit it. */
static odvgp_status gp__check_functions(const gp__likelihood *lik, ptrdiff_t P, ptrdiff_t functions,
		ptrdiff_t classes, odvgp_info *info)
{
	int several = !(lik->flags & GP__LIK_FACTORS), of_f = several && lik->flags & GP__LIK_CLASSES,
		ordinal = !several && lik->flags & GP__LIK_CLASSES;
	ptrdiff_t F = functions ? functions : P;
	if (functions && (several || functions < P))
		return gp__fail(info, several ? ODVGP_E_UNSUPPORTED : ODVGP_E_ARG, "functions", -1,
				(gp__wide)functions,
				several ? "must be 0 for a likelihood that couples functions"
						: "must be at least P, or 0 for no mixing");
	if (ordinal ? F != 1 : of_f ? F < 2 || F > GP__MOST_CLASSES : several && F % 2)
		return gp__fail(info, ODVGP_E_ARG, "P", -1, (gp__wide)F,
				ordinal ? "must be 1 for this likelihood"
				: of_f  ? "must be the number of classes, 2..200, for this likelihood"
						: "must be even: a function and its noise for each target");
	if (ordinal ? classes < 2 : classes != 0)
		return gp__fail(info, ODVGP_E_ARG, "lik.classes", -1, (gp__wide)classes,
				ordinal ? "must be at least 2" : "is only for the ordinal likelihood");
	return ODVGP_OK;
}

static int gp__target_ok(const gp__likelihood *lik, ptrdiff_t classes, gp__wide y)
{
	gp__wide most = lik->flags & GP__LIK_CLASSES ? (gp__wide)classes - 1 : lik->most;
	int closed = lik->whole || lik->least == -GP__MOST;
	if (!(closed ? y >= lik->least : y > lik->least) || y > most) return 0;
	return !lik->whole || y == gp__floor(y);
}

/*	A row of Y: T targets, then its weight, then its exposure or multiple of the noise variance. */
typedef struct {
	const gp__likelihood *lik;
	ptrdiff_t T, classes;        /* classes: of CLASSES */
	int missing, weights, scale; /* NaN is allowed; the row has a weight; the other number */
} gp__y_row;

static ptrdiff_t gp__y_columns(const gp__y_row *row) { return row->T + row->weights + row->scale; }

/*	What is wrong with column k of a row, or NULL. */
static const char *gp__y_wrong(const gp__y_row *row, ptrdiff_t k, gp__wide v)
{
	if (k < row->T) return gp__target_ok(row->lik, row->classes, v) ? NULL : row->lik->why;
	if (row->weights && k == row->T) return v >= 0 ? NULL : "a weight must not be negative";
	return v > 0 ? NULL : "an exposure, or a known noise variance, must be above 0";
}

/*	Check rows of Y, numbered from `first`; info names the bad row. */
static odvgp_status gp__targets_check(const gp__y_row *row, const odvgp_real *y, ptrdiff_t rows,
		ptrdiff_t first, odvgp_info *info)
{
	ptrdiff_t C = gp__y_columns(row);
	if (row->lik->flags & GP__LIK_GAUSSIAN && C == row->T && gp__finite(y, rows * C))
		return ODVGP_OK;
	GP__FOR(i, rows * C) {
		gp__wide v = (gp__wide)y[i];
		if (row->missing && i % C < row->T && v != v) continue;
		if (!(v - v == 0))
			return gp__fail(info, ODVGP_E_NAN, "Y", first + i / C, v, "a row is not finite");
		const char *why = gp__y_wrong(row, i % C, v);
		if (why) return gp__fail(info, ODVGP_E_ARG, "Y", first + i / C, v, why);
	}
	return ODVGP_OK;
}

static odvgp_real gp__weight(const gp__lik_job *job, ptrdiff_t row)
{
	return job->weight ? job->weight[row] : 1;
}

#ifndef ODVGP_FLOAT_ONLY
/* --- the rule --- */

#define GP__LEAST_SD (sizeof(odvgp_real) == 4 ? GP__R(1e-3) : GP__R(1e-5))

/*	Rows from `from` on of target t and function t. */
static gp__lik_chunk gp__lik_chunk_of(const gp__lik_job *job, ptrdiff_t t, ptrdiff_t from)
{
	gp__lik_chunk c;
	odvgp_real **array[GP__LIK_ARRAYS] = {&c.y, &c.seen, &c.mean, &c.sd, &c.f, &c.weight, &c.logp,
			&c.df, &c.a, &c.b, &c.sum, &c.dm, &c.dv, &c.z};
	odvgp_real least = GP__LEAST_SD * (job->lik->flags & GP__LIK_SCALABLE ? job->par[0] : 1);
	GP__FOR(k, GP__LIK_ARRAYS) *array[k] = job->work + k * GP__CHUNK;
	c.lik = job->lik;
	c.par = job->par;
	c.isa = job->isa;
	c.jitter = (double)job->rule[0];
	c.n = GP__MIN(job->n - from, GP__CHUNK);
	c.classes = job->classes;
	c.H = job->H;
	c.t = job->rule + 1;
	c.w = c.t + c.H;
	c.dpar = job->dpar;
	GP__EACH_ROW(i) {
		ptrdiff_t at = t * job->ld + from + (i < c.n ? i : 0);
		odvgp_real y = job->Y[at];
		c.seen[i] = i < c.n && y == y ? gp__weight(job, from + i) : 0;
		c.y[i] = y == y ? y : GP__R(0.5); /* all likelihoods of one function can take it */
		c.mean[i] = job->mean[at];
		c.sd[i] = GP__SQRT(GP__MAX(job->var[at], least * least));
		c.sum[i] = c.dm[i] = c.dv[i] = 0;
	}
	return c;
}

static void gp__quad_chunk(
		const gp__lik_job *job, const gp__lik_chunk *of, ptrdiff_t t, ptrdiff_t from)
{
	gp__lik_chunk c = *of;
	GP__FOR(h, c.H) {
		odvgp_real w = c.w[h], t_w = w * c.t[h];
		GP__EACH_ROW(i) {
			c.f[i] = c.mean[i] + c.sd[i] * c.t[h];
			c.weight[i] = w * c.seen[i];
		}
		c.lik->logp(&c);
		GP__EACH_ROW(i) {
			c.sum[i] += w * c.logp[i];
			c.dm[i] += w * c.df[i];
			c.dv[i] += t_w * c.df[i];
		}
	}
	for (ptrdiff_t i = 0, at = t * job->ld + from; i < c.n && job->dmean; i++, at++) {
		job->dmean[at] = c.seen[i] * c.dm[i];
		job->dvar[at] = c.seen[i] * c.dv[i] / (2 * c.sd[i]);
	}
}

/*	w times `base`; dpar gets w times its derivatives. */
static double gp__base(const gp__lik_job *job, double w, double y)
{
	double slope[2] = {0, 0}, base = job->lik->base(y, job->par, slope);
	for (int k = 0; k < job->lik->params && job->dpar; k++) job->dpar[k] += w * slope[k];
	return w * base;
}

static double gp__chunks_expect(const gp__lik_job *job)
{
	double total = 0;
	GP__FOR(t, job->T)
		for (ptrdiff_t from = 0; from < job->n; from += GP__CHUNK) {
			gp__lik_chunk c = gp__lik_chunk_of(job, t, from);
			double sum = 0;
			c.lik->chunk(job, &c, t, from);
			GP__FOR(i, c.n)
				if (c.seen[i] > 0) {
					sum += (double)c.seen[i] * (double)c.sum[i];
					if (c.lik->base) sum += gp__base(job, (double)c.seen[i], (double)c.y[i]);
				}
			total += sum;
		}
	return total;
}

/* --- log E_q[p(y|f)] ---

	Densities without a closed form are integrals over one variable:
		1 / sqrt(2 pi) int e^L(t) dt,  L(t) = log p(y|f) - t^2 / 2,  f = mean + sd t
	log p(y|f) falls on both sides of its mode, so maxima of L lie between the mean and the mode:
	one, or at most two where p(y|f) is not log-concave. The integral goes outwards from them until
	the rest is negligible. A place is a distance t from the mean and e from the mode, in standard
	deviations: neither loses digits far from the other. Every loop has a constant bound. */

typedef struct gp__density {
	/* log p(y|f) where f is its mode + x; to d, unless NULL, two derivatives, which only guide the
	   search for maxima */
	double (*log_p)(const struct gp__density *p, double x, double *d);
	const gp__lik_job *job;
	ptrdiff_t at;
	double sd, mode; /* mode: t where e = 0 */
	double prior;    /* factor of t^2 / 2 in L: 1, or 0 */
	double low, high; /* the x between which log p bends within a unit of f; HUGE_VAL: nowhere */
	double tolerance; /* of the integral's logarithm l, relative to 1 + |l| */
	double a[6];      /* of log_p */
} gp__density;
typedef struct {
	double t, e;
} gp__place;

/*	sd: standard deviation of f. */
static gp__density gp__density_of(const gp__lik_job *job, ptrdiff_t at, double sd,
		double (*log_p)(const gp__density *p, double x, double *d))
{
	gp__density p;
	memset(&p, 0, sizeof p);
	p.log_p = log_p;
	p.job = job;
	p.at = at;
	p.sd = sd;
	p.prior = 1;
	p.low = p.high = HUGE_VAL;
	p.tolerance = 2e-9;
	return p;
}

/*	Standard deviation of function number `at`, above 0. */
static double gp__sd(const gp__lik_job *job, ptrdiff_t at)
{
	return GP__MAX(1e-30, sqrt((double)job->var[at]));
}

/*	L at distance x from a place. */
static double gp__log_integrand(const gp__density *p, gp__place from, double x)
{
	double t = from.t + x;
	return p->log_p(p, p->sd * (from.e + x), NULL) - 0.5 * p->prior * t * t;
}

static double gp__tolerance(const gp__density *p, double top)
{
	return GP__MIN(1e-3, p->tolerance * (1 + fabs(top)));
}

/*	Move a place from the mean or the mode to the nearest maximum; its standard deviation to *width.
	0: there is none, as L rises up to where it is convex. Newton's steps until they pass the
	maximum, then bisection; between p->low and p->high steps are half a unit of f at most. */
static int gp__maximum(const gp__density *p, gp__place *at, double *width)
{
	gp__place from = *at;
	double end = -(from.t + from.e), up = 0, down = end, q = 0, last, d[2], x, most;
	int passed = 0;
	for (int n = 0; n < 256; n++) {
		at->t = from.t + q;
		at->e = from.e + q;
		x = p->sd * at->e;
		p->log_p(p, x, d);
		d[0] = p->sd * d[0] - p->prior * at->t;
		d[1] = p->sd * p->sd * d[1] - p->prior;
		*width = d[1] < 0 ? 1 / sqrt(-d[1]) : 1;
		if (fabs(d[0]) * *width < 0.1 && d[1] < 0) return 1;
		if (d[0] * end > 0) up = q;
		else down = q, passed = 1;
		if (!passed && !(d[1] < 0)) return 0;
		last = q;
		most = 0.5 / p->sd * (1 + GP__MAX(0, GP__MAX(p->low - x, x - p->high)));
		q = fabs(q) + GP__MIN(most, fabs(d[0] / d[1]));
		q = end > 0 ? GP__MIN(q, end) : GP__MAX(-q, end);
		if (passed) q = 0.5 * (up + down);
		if (q == last) return 1;
	}
	return 1;
}

/*	Add the integral of e^(L - top) from a place over `limit` standard deviations, which may be
	-HUGE_VAL or HUGE_VAL, to what *sum already has. A panel's width, at first w, follows the
	difference of the extensions of Lobatto's rule to 7 and 13 places. After 200 panels the others
	are taken as they are. */
static void gp__march(const gp__density *p, gp__place from, double limit, double w, double top,
		double *sum)
{
	/* places from a panel's middle to its end; weights of 13 places, and of 7 */
	static const double rule[7][3] = {{0, 0.24261107190140773380, 672.0 / 1470},
			{0.23638319966214988028, 0.22492646533333952702, 0},
			{0.44721359549995793928, 0.19977340522685852679, 625.0 / 1470},
			{0.64185334234578130578, 0.18882157396018245442, 0},
			{0.81649658092772603273, 0.15507198733658539625, 432.0 / 1470},
			{0.94288241569547971906, 0.09427384021885004553, 0},
			{1, 0.01582719197348018309, 77.0 / 1470}};
	double x = 0, way = limit < 0 ? -1 : 1, reach = fabs(limit), size = 0;
	for (int n = 0; n < 300 && x < reach; n++) {
		double fine = 0, coarse = 0, error;
		w = GP__MIN(w, reach - x);
		for (int k = -6; k <= 6; k++) {
			const double *r = rule[k < 0 ? -k : k];
			double at = way * (x + 0.5 * w * (1 + (k < 0 ? -r[0] : r[0])));
			size = exp(GP__MIN(600, gp__log_integrand(p, from, at) - top));
			fine += 0.5 * w * r[1] * size;
			coarse += 0.5 * w * r[2] * size;
		}
		error = fabs(fine - coarse) / (gp__tolerance(p, top) * (*sum + fine) + DBL_MIN);
		if (error <= 1 || n >= 200) {
			*sum += fine;
			x += w;
			if (reach == HUGE_VAL && GP__MAX(1, x) * size <= 1e-11 * *sum) return;
		}
		w *= error > 0 ? GP__MIN(4, GP__MAX(0.1, 0.9 * pow(error, -1.0 / 11))) : 4;
	}
}

/*	The same to both sides by at most 48 places each, 0.46 w apart; 0 if alternate ones disagree. */
static int gp__trapezoid(const gp__density *p, gp__place from, double w, double top, double *sum)
{
	double part[2] = {0, 0}, step = 0.46 * w;
	for (int way = -1; way <= 1; way += 2) {
		double L = top;
		for (int n = way < 0; L > top - 26; n++) {
			if (n == 48) return 0;
			L = gp__log_integrand(p, from, way * n * step);
			part[n % 2] += step * exp(GP__MIN(600, L - top));
		}
	}
	*sum += part[0] + part[1];
	if (fabs(part[0] - part[1]) < gp__tolerance(p, top) * *sum) return 1;
	*sum -= part[0] + part[1];
	return 0;
}

/*	log of 1 / sqrt(2 pi) int e^L dt. concave: L has one maximum. */
static double gp__log_integral(const gp__density *p, int concave)
{
	gp__place at[2];
	double L[2], width[2], gap = HUGE_VAL, sum = 0, top;
	int n = 0;
	memset(at, 0, sizeof at);
	for (int k = 0; k < 2 && !(n && concave); k++) {
		at[n].t = k ? 0 : p->mode;
		at[n].e = k ? -p->mode : 0;
		n += gp__maximum(p, &at[n], &width[n]);
	}
	if (n == 2) gap = at[1].e - at[0].e;
	if (fabs(gap) < 0.3 * width[0]) { /* the same one: keep that from the nearer end */
		if (fabs(at[1].t) < fabs(at[1].e)) at[0] = at[1];
		gap = HUGE_VAL;
	}
	n = gap == HUGE_VAL ? 1 : 2;
	GP__FOR(k, n) L[k] = gp__log_integrand(p, at[k], 0);
	top = GP__MAX(L[0], L[n - 1]);
	for (int k = 0; k < n && !(n == 1 && gp__trapezoid(p, at[0], width[0], top, &sum)); k++) {
		double inwards = k ? -gap : gap;
		gp__march(p, at[k], 0.5 * inwards, width[k], top, &sum);
		gp__march(p, at[k], inwards > 0 ? -HUGE_VAL : HUGE_VAL, width[k], top, &sum);
	}
	return top + log(sum) - 0.5 * gp__log_2pi;
}

/*	log(e^(x^2) erfc(x)) for x >= 25, and log Phi(z). */
static double gp__log_erfcx(double x)
{
	double r = 0.5 / (x * x);
	return log1p(-r * (1 - r * (3 - 15 * r))) - log(x) - 0.5 * log(0.5 * gp__two_pi);
}
static double gp__log_cdf(double z)
{
	double x = -gp__sqrt_half * z;
	return x < 25 ? log(0.5 * erfc(x)) : gp__log_erfcx(x) - x * x - log(2);
}

/*	k log k - k - log Gamma(k), from log k. */
static double gp__gamma_peak(double log_k)
{
	double k = exp(log_k);
	if (k < 10) return log_k + k * (log_k - 1) - gp__lgamma(1 + k);
	return 0.5 * (log_k - gp__log_2pi) - gp__stirling(k);
}

#endif /* ODVGP_FLOAT_ONLY */

/* --- mean f, and a variance that does not depend on f --- */

/*	`at` is the place of each target of each row. */
#define GP__EACH_TARGET(at) \
	for (ptrdiff_t each = 0, at = 0; each < job->T * job->n; \
			each++, at = each / job->n * job->ld + each % job->n)

/*	Gaussian; Student's t, infinite for df <= 2; else Laplace. */
static void gp__noise_moments(const gp__lik_job *job, odvgp_real *mean, odvgp_real *var)
{
	odvgp_real s = job->par[0], noise = s;
	int several = job->lik->flags & GP__LIK_GAUSSIAN && job->noises > 1;
	if (job->lik->params > 1)
		noise = job->par[1] > 2 ? s * s * job->par[1] / (job->par[1] - 2) : (odvgp_real)HUGE_VAL;
	else if (!(job->lik->flags & GP__LIK_GAUSSIAN)) noise = 2 * s * s;
	GP__EACH_TARGET(at) {
		if (mean) mean[at] = job->mean[at];
		if (var) var[at] = job->var[at] + (several ? job->par[at / job->ld] : noise);
	}
}

/*	The Gaussian's parameter for target t. */
static ptrdiff_t gp__noise_of(const gp__lik_job *job, ptrdiff_t t)
{
	return job->noises > 1 ? t : 0;
}

/*	With weight w and noise e s: -w (gp__log(2 pi e s) + (d^2 + var) / (e s)) / 2. */
static gp__wide gp__gaussian_expect_target(const gp__lik_job *job, ptrdiff_t t)
{
	const odvgp_real *y = job->Y + t * job->ld, *mean = job->mean + t * job->ld,
					 *var = job->var + t * job->ld;
	gp__wide squares = 0, s = (gp__wide)job->par[gp__noise_of(job, t)], inverse = 1 / s, n = 0,
			 logs = 0;
	GP__FOR(i, job->n) {
		gp__wide d = (gp__wide)(y[i] - mean[i]), w = (gp__wide)gp__weight(job, i), part = w;
		if (d != d && y[i] != y[i]) d = w = part = 0; /* missing */
		if (job->noise) {
			part /= (gp__wide)job->noise[i];
			logs += w * gp__log((gp__wide)job->noise[i]);
		}
		n += w;
		squares += part * (d * d + (gp__wide)var[i]);
		if (!job->dmean) continue;
		job->dmean[t * job->ld + i] = (odvgp_real)(d * inverse * part);
		job->dvar[t * job->ld + i] = (odvgp_real)(-GP__W(0.5) * inverse * part);
	}
	if (job->dpar)
		job->dpar[gp__noise_of(job, t)] += GP__W(0.5) * inverse * (squares * inverse - n);
	return GP__W(-0.5) * (n * (GP__W(gp__log_2pi) + gp__log(s)) + logs + squares * inverse);
}

static gp__wide gp__gaussian_expect(const gp__lik_job *job)
{
	gp__wide sum = 0;
	GP__FOR(t, job->T) sum += gp__gaussian_expect_target(job, t);
	return sum;
}

static gp__wide gp__gaussian_density(const gp__lik_job *job, ptrdiff_t at)
{
	gp__wide e = job->noise ? (gp__wide)job->noise[at % job->ld] : 1,
			 v = (gp__wide)job->var[at] + e * (gp__wide)job->par[gp__noise_of(job, at / job->ld)],
			 d = (gp__wide)(job->Y[at] - job->mean[at]);
	return GP__W(-0.5) * (GP__W(gp__log_2pi) + gp__log(v) + d * d / v);
}

#ifndef ODVGP_FLOAT_ONLY
/*	w times the derivatives; 0 for a missing target. */
static void gp__put_slopes(
		const gp__lik_job *job, ptrdiff_t at, double w, double dmean, double dvar)
{
	if (!job->dmean) return;
	job->dmean[at] = (odvgp_real)(w > 0 ? w * dmean : 0);
	job->dvar[at] = (odvgp_real)(w > 0 ? w * dvar : 0);
}

/*	The row's weight; 0 for a missing target. */
static double gp__target_weight(const gp__lik_job *job, ptrdiff_t at)
{
	odvgp_real y = job->Y[at];
	return y == y ? (double)gp__weight(job, at % job->ld) : 0;
}

/*	With u = (y - f) / scale: log p = -(df + 1) / 2 log(1 + u^2 / df) + base. */
static void gp__studentt_logp(const gp__lik_chunk *c)
{
	odvgp_real s = c->par[0], v = c->par[1];
	GP__EACH_ROW(i) {
		odvgp_real u = (c->y[i] - c->f[i]) / s;
		c->a[i] = u * u / v;
		c->df[i] = (v + 1) * u / (s * (v + u * u));
	}
	c->isa->map[GP__LOG1P](c->a, c->logp, NULL);
	GP__EACH_ROW(i) {
		double w = (double)c->weight[i], slope = (double)(c->df[i] * (c->y[i] - c->f[i]));
		if (c->dpar) c->dpar[0] += w * slope / (double)s;
		if (c->dpar) c->dpar[1] += 0.5 * w * (slope / (double)v - (double)c->logp[i]);
		c->logp[i] *= GP__R(-0.5) * (v + 1);
	}
}

static double gp__studentt_base(double y, const odvgp_real *par, double *dpar)
{
	double s = (double)par[0], half = 0.5 * (double)par[1];
	(void)y;
	if (dpar) dpar[0] -= 1 / s;
	if (dpar) dpar[1] += 0.5 * (gp__digamma(half + 0.5) - gp__digamma(half) - 0.5 / half);
	/* log(Gamma(half + 1/2) / Gamma(half) / sqrt(half)) - log(2 pi s^2) / 2 */
	return gp__lgamma_rise(half, 0.5) - 0.5 * gp__log_2pi - log(s);
}

/*	a0 = scale, a1 = df */
static double gp__studentt_log_p(const gp__density *p, double x, double *d)
{
	double s = p->a[0], v = p->a[1], u = x / s, all = v + u * u;
	if (d) d[0] = -(v + 1) * u / (s * all);
	if (d) d[1] = -(v + 1) * (v - u * u) / (s * s * all * all);
	return -0.5 * (v + 1) * log1p(u * u / v);
}

static double gp__studentt_density(const gp__lik_job *job, ptrdiff_t at)
{
	double sd = gp__sd(job, at);
	gp__density p = gp__density_of(job, at, sd, gp__studentt_log_p);
	p.mode = ((double)job->Y[at] - (double)job->mean[at]) / sd;
	p.a[0] = (double)job->par[0];
	p.a[1] = (double)job->par[1];
	return gp__log_integral(&p, 0) + gp__studentt_base(0, job->par, NULL);
}

/*	With z = (y - mean) / sd and r = sd / scale, p = e^(-z^2 / 2) / (4 scale) times the sum of
	e^(x^2) erfc(x), x = (r - z) / sqrt(2) and (r + z) / sqrt(2). */
static double gp__laplace_density(const gp__lik_job *job, ptrdiff_t at)
{
	double sd = gp__sd(job, at), s = (double)job->par[0], r = sd / s, part[2],
		   z = fabs((double)job->Y[at] - (double)job->mean[at]) / sd;
	GP__FOR(k, 2) {
		double side = k ? -z : z, x = gp__sqrt_half * (r - side);
		part[k] = x < 25 ? log(erfc(x)) + r * (0.5 * r - side) : gp__log_erfcx(x) - 0.5 * z * z;
	}
	return part[0] + log1p(exp(part[1] - part[0])) - log(4 * s);
}

/*	With z = (y - mean) / sd: 2 Phi(z) - 1 is erf(z / sqrt(2)). */
static double gp__laplace_expect(const gp__lik_job *job)
{
	double sum = 0, s = (double)job->par[0], least = (double)GP__LEAST_SD * s;
	GP__EACH_TARGET(at) {
		double sd = GP__MAX(sqrt((double)job->var[at]), least),
			   d = (double)(job->Y[at] - job->mean[at]), z = d / sd, odds = erf(gp__sqrt_half * z),
			   bell = exp(-0.5 * (z * z + gp__log_2pi)), size = d * odds + 2 * sd * bell,
			   w = gp__target_weight(job, at);
		if (w > 0) sum -= w * (log(2 * s) + size / s);
		if (w > 0 && job->dpar) job->dpar[0] += w * (size / s - 1) / s;
		gp__put_slopes(job, at, w, odds / s, -bell / (s * sd));
	}
	return sum;
}

/* --- log p = a f - b e^(s f) + base: Poisson; exponential, rate e^f; gamma, scale e^f --- */

/*	a, b, s */
static void gp__exp_terms(const gp__likelihood *lik, double y, const odvgp_real *par, double *a)
{
	a[2] = lik->params ? -1 : 1;
	a[0] = lik->whole ? y : lik->params ? -(double)par[0] : 1;
	a[1] = lik->whole ? 1 : y;
}

static double gp__poisson_base(double y, const odvgp_real *par, double *dpar)
{
	(void)par;
	(void)dpar;
	return -gp__lgamma(y + 1);
}
static double gp__gamma_base(double y, const odvgp_real *par, double *dpar)
{
	double shape = (double)par[0];
	if (dpar) dpar[0] += log(y) - gp__digamma(shape);
	return (shape - 1) * log(y) - gp__lgamma(shape);
}

/*	a x - b log(1 + y), y = c (e^x - k), or a x - y for b = 0; k = 1 if a > 0, else 0. x counts from
	a3; a0 = a, a1 = b, a2 = c. */
static double gp__exp_log_p(const gp__density *p, double x, double *d)
{
	double a = p->a[0], b = p->a[1], c = p->a[2], y;
	x += p->a[3];
	if (d) {
		double w = b > 0 ? c / (c + (a > 0 ? 1 - c : 1) * exp(-x)) : 0;
		y = b > 0 ? b * w : c * exp(x);
		d[0] = a - y;
		d[1] = -y * (1 - w);
	}
	y = c * (expm1(x) + !(a > 0));
	if (b > 0) y = b * (x > 500 ? x + log(c) : log1p(y));
	return a * x - y;
}

/*	log E[e^l(x)] for x from N(mean, sd^2), where l is POISSON's log p for the count a, or for a
	finite size NEGATIVE_BINOMIAL's, less its largest value. x = 0 is its place; with a = 0, when
	x = f, the largest value is 0, far below 0. */
static double gp__exp_integral(double a, double size, double mean, double sd)
{
	gp__density p = gp__density_of(NULL, 0, sd, gp__exp_log_p);
	int finite = size < HUGE_VAL;
	if (finite && a > size) return gp__exp_integral(size, a, -mean, sd); /* the same, mirrored */
	p.a[0] = a;
	p.a[1] = finite ? a + size : 0;
	p.a[2] = (a > 0 ? a : 1) / (finite ? a + size : 1);
	p.a[3] = a > 0 ? 0 : GP__MIN(mean, -40);
	p.mode = (p.a[3] - mean) / sd;
	return gp__log_integral(&p, 1);
}

/*	GAMMA has the same form in -f; LOGIT is a NEGATIVE_BINOMIAL's count 0 of size 1. */
static double gp__exp_density(const gp__lik_job *job, ptrdiff_t at)
{
	const gp__likelihood *lik = job->lik;
	int whole = lik->whole, own = lik->params;
	double y = (double)job->Y[at], mean = (double)job->mean[at], sd = gp__sd(job, at),
		   par = own ? (double)job->par[0] : 1, size = whole && own ? par : HUGE_VAL,
		   a = whole ? y : par, sum = 0;
	if (lik->most < 2) return gp__exp_integral(0, 1, y > 0 ? -mean : mean, sd);
	if (a > 0) {
		sum = gp__gamma_peak(log(a)) - log(y);
		if (whole && own) sum += gp__gamma_peak(log(size)) - gp__gamma_peak(log(a + size));
		if (own && !whole) mean = log(y) - log(a) - mean;
		else mean += whole ? -log(y) : log(y);
	}
	return sum + gp__exp_integral(a, size, mean, sd);
}

static double gp__exp_expect(const gp__lik_job *job)
{
	double sum = 0;
	GP__EACH_TARGET(at) {
		double y = (double)job->Y[at], m = (double)job->mean[at], a[3], e,
			   w = gp__target_weight(job, at);
		gp__exp_terms(job->lik, y, job->par, a);
		e = a[1] * exp(a[2] * m + 0.5 * (double)job->var[at]);
		gp__put_slopes(job, at, w, a[0] - a[2] * e, -0.5 * e);
		if (!(w > 0)) continue;
		sum += w * (a[0] * m - e);
		if (job->lik->base) sum += gp__base(job, w, y);
		if (job->dpar && job->lik->params) job->dpar[0] -= w * m;
	}
	return sum;
}

/*	E[y|f] = c e^(s f) and Var[y|f] = c2 e^(s f) + c3 e^(2 s f). */
typedef struct {
	double c, s, c2, c3;
} gp__exp_law;

static gp__exp_law gp__exp_law_of(const gp__likelihood *lik, const odvgp_real *par)
{
	int counts = lik->whole, own = lik->params;
	double number = own ? (double)par[0] : 1, c = counts ? 1 : number;
	gp__exp_law law = {c, counts || own ? 1.0 : -1.0, (double)counts,
			!counts ? c
			: own   ? 1 / number
					: 0};
	return law;
}

static void gp__exp_moments(const gp__lik_job *job, odvgp_real *mean, odvgp_real *var)
{
	const gp__exp_law y = gp__exp_law_of(job->lik, job->par);
	GP__EACH_TARGET(at) {
		double v = (double)job->var[at], e = exp(y.s * (double)job->mean[at] + 0.5 * v);
		if (mean) mean[at] = (odvgp_real)(y.c * e);
		if (var) var[at] = (odvgp_real)(y.c2 * e + e * e * (y.c3 * exp(v) + y.c * y.c * expm1(v)));
	}
}

/*	y = log(1 + e^x), slope = 1 / (1 + e^-x). */
static void gp__softplus(
		const odvgp__simd *isa, const odvgp_real *x, odvgp_real *y, odvgp_real *slope)
{
	GP__EACH_ROW(i) slope[i] = x[i] > 0 ? -x[i] : x[i];
	isa->map[GP__EXP](slope, slope, NULL);
	isa->map[GP__LOG1P](slope, y, NULL);
	GP__EACH_ROW(i) {
		slope[i] = (x[i] > 0 ? 1 : slope[i]) / (1 + slope[i]);
		if (x[i] > 0) y[i] += x[i];
	}
}

/*	With u = e^f / r: log p = y f - (y + r) log(1 + u) - y log r + base. */
static void gp__negative_binomial_logp(const gp__lik_chunk *c)
{
	odvgp_real r = c->par[0], log_r = (odvgp_real)log((double)r);
	GP__EACH_ROW(i) c->a[i] = c->f[i] - log_r;
	gp__softplus(c->isa, c->a, c->logp, c->b);
	GP__EACH_ROW(i) {
		odvgp_real y = c->y[i];
		if (c->dpar) c->dpar[0] += (double)(c->weight[i] * ((y + r) * c->b[i] / r - c->logp[i]));
		c->logp[i] = y * c->f[i] - (y + r) * c->logp[i];
		c->df[i] = y - (y + r) * c->b[i];
	}
}
static double gp__negative_binomial_base(double y, const odvgp_real *par, double *dpar)
{
	double r = (double)par[0];
	if (dpar) dpar[0] += gp__digamma(r + y) - gp__digamma(r) - y / r;
	return gp__lgamma_rise(r, y) - gp__lgamma(y + 1);
}
/* --- classes of one function, proportions --- */

/*	p = log((1 - 2 e) Phi(z) + e), d = dp/dz. */
static void gp__link(
		const odvgp__simd *isa, double jitter, const odvgp_real *z, odvgp_real *p, odvgp_real *d)
{
	odvgp_real e = (odvgp_real)jitter;
	isa->map[GP__LOGCDF](z, p, d);
	if (!(e > 0)) return;
	isa->map[GP__EXP](p, p, NULL);
	GP__EACH_ROW(i) {
		odvgp_real part = (1 - 2 * e) * p[i];
		p[i] = part + e;
		d[i] *= part / p[i];
	}
	isa->map[GP__LOG](p, p, NULL);
}

static void gp__bernoulli_logp(const gp__lik_chunk *c)
{
	GP__EACH_ROW(i) c->a[i] = c->y[i] > 0 ? c->f[i] : -c->f[i];
	gp__link(c->isa, c->jitter, c->a, c->logp, c->df);
	GP__EACH_ROW(i)
		if (!(c->y[i] > 0)) c->df[i] = -c->df[i];
}
static double gp__bernoulli_density(const gp__lik_job *job, ptrdiff_t at)
{
	double z = (double)job->mean[at] / sqrt(1 + (double)job->var[at]), e = (double)job->rule[0],
		   log_p = gp__log_cdf(job->Y[at] > 0 ? z : -z);
	return e > 0 ? log((1 - 2 * e) * exp(log_p) + e) : log_p;
}

static void gp__logit_logp(const gp__lik_chunk *c)
{
	GP__EACH_ROW(i) c->a[i] = c->y[i] > 0 ? -c->f[i] : c->f[i];
	gp__softplus(c->isa, c->a, c->logp, c->df);
	GP__EACH_ROW(i) {
		c->logp[i] = -c->logp[i];
		if (!(c->y[i] > 0)) c->df[i] = -c->df[i];
	}
}
/*	Beta(s Phi, s (1 - Phi)). Gamma(x) = Gamma(1 + x) / x keeps the logarithms finite where Phi or
	1 - Phi is 0: with logs of both, everything stays in their terms. */
static void gp__beta_logp(const gp__lik_chunk *c)
{
	double s = (double)c->par[0], log_s = log(s), of_s = gp__lgamma(s),
		   slope_s = gp__digamma(s) + 2 / s;
	GP__EACH_ROW(i) c->z[i] = -c->f[i];
	c->isa->map[GP__LOGCDF](c->f, c->a, c->df);
	c->isa->map[GP__LOGCDF](c->z, c->b, c->z);
	GP__FOR(i, c->n) {
		double y = log((double)c->y[i]), rest = log1p(-(double)c->y[i]), p = exp((double)c->a[i]),
			   q = exp((double)c->b[i]), dp = y - gp__digamma(1 + s * p),
			   dq = rest - gp__digamma(1 + s * q);
		c->logp[i] = (odvgp_real)(of_s + 2 * log_s + (double)c->a[i] + (double)c->b[i] -
								  gp__lgamma(1 + s * p) - gp__lgamma(1 + s * q) + (s * p - 1) * y +
								  (s * q - 1) * rest);
		if (c->dpar) c->dpar[0] += (double)c->weight[i] * (slope_s + p * dp + q * dq);
		c->df[i] = (odvgp_real)((double)c->df[i] * (1 + s * p * dp) -
								(double)c->z[i] * (1 + s * q * dq));
	}
}

/*	With p = Phi(f) and precision s:
		log p(y|f) = G(s p) + G(s (1 - p)) - G(s) - s KL(p|y) - log(y (1 - y)),
	G(k) = gp__gamma_peak(log k), in which nothing large cancels; without G(s) and the last term.
	a = {y, 1 - y, log y, log(1 - y), f at the mode, log s}. A side's part of the derivatives with
	k = s p is (phi / p)(1 + k (log y - psi(1 + k))), and psi'(1 + k) is about 1 / (k + 0.6). */
static double gp__beta_log_p(const gp__density *b, double x, double *d)
{
	const double *y = b->a;
	double f = y[4] + x, s = exp(y[5]), sum = 0, tail = 0.5 * erfc(gp__sqrt_half * fabs(f)),
		   gap = f < 0 ? tail - y[0] : y[1] - tail;
	if (d) d[0] = d[1] = 0;
	for (int k = 0; k < 2; k++, gap = -gap, f = -f) {
		double log_p = gp__log_cdf(f), p = 0.5 * erfc(-gp__sqrt_half * f);
		sum += gp__gamma_peak(y[5] + log_p) -
			   s * p * (fabs(gap) < 0.5 * y[k] ? log1p(gap / y[k]) : log_p - y[2 + k]);
		if (d) {
			double h = exp(-0.5 * (f * f + gp__log_2pi) - log_p), n = s * p,
				   c = y[2 + k] - gp__digamma(1 + n), slope = h * (1 + n * c);
			d[0] += k ? -slope : slope;
			d[1] += -(f + h) * slope + h * h * n * (c - n / (n + 0.6));
		}
	}
	return sum;
}

static double gp__beta_density(const gp__lik_job *job, ptrdiff_t at)
{
	gp__density b = gp__density_of(job, at, gp__sd(job, at), gp__beta_log_p);
	double y = (double)job->Y[at], low = -40, high = 40, d[2] = {1, 0};
	b.a[0] = y;
	b.a[1] = 1 - y;
	b.a[2] = log(y);
	b.a[3] = log1p(-y);
	b.a[5] = log((double)job->par[0]);
	for (int n = 0; n < 60 && !(d[0] * d[0] < -0.01 * d[1]); n++) {
		b.a[4] = 0.5 * (low + high);
		gp__beta_log_p(&b, 0, d);
		if (d[0] > 0) low = b.a[4];
		else high = b.a[4];
	}
	b.mode = (b.a[4] - (double)job->mean[at]) / b.sd;
	b.low = -8 - b.a[4];
	b.high = 8 - b.a[4];
	return gp__log_integral(&b, 0) - gp__gamma_peak(b.a[5]) - b.a[2] - b.a[3];
}

static double gp__beta_product(const gp__density *p, double x, double *d)
{
	(void)d;
	return -p->a[0] / (1 + cos(x));
}

/*	With p = Phi(f), h = mean / sqrt(1 + v) and cos c = v / (1 + v): E[p] = Phi(h), E[p (1 - p)] and
	Var[p] are the integrals of e^(-h^2 / (1 + cos x)) / (2 pi) from 0 to c and from c to pi / 2. */
static void gp__beta_moments(const gp__lik_job *job, odvgp_real *mean, odvgp_real *var)
{
	GP__EACH_TARGET(at) {
		double v = (double)job->var[at], h = (double)job->mean[at] / sqrt(1 + v),
			   root = sqrt(1 + 2 * v), top = -0.5 * h * h, inner = 0, outer = 0;
		gp__density p = gp__density_of(NULL, 0, 1, gp__beta_product);
		gp__place c;
		c.t = c.e = atan2(root, v);
		p.prior = 0;
		p.a[0] = h * h;
		if (mean) mean[at] = (odvgp_real)exp(gp__log_cdf(h));
		if (!var) continue;
		gp__march(&p, c, -c.e, 1, top, &inner);
		gp__march(&p, c, atan2(v, root), 1, top, &outer);
		inner /= 1 + (double)job->par[0];
		var[at] = (odvgp_real)(exp(top) / gp__two_pi * (inner + outer));
	}
}

#define GP__NO_CUT GP__R(1e6)
/*	Cut k - 1, below class k; par is gap [classes - 2], first cut. */
static odvgp_real gp__cut(const gp__lik_chunk *c, ptrdiff_t k)
{
	odvgp_real sum = c->par[GP__MAX(c->classes - 2, 0)];
	if (k <= 0 || k >= c->classes) return k <= 0 ? -GP__NO_CUT : GP__NO_CUT;
	GP__FOR(j, k - 1) sum += c->par[j];
	return sum;
}

/*	log(Phi(high) - Phi(low)) with cuts divided by sqrt(1 + var): of the first or last class a tail;
	a series where the class is narrow; else as in gp__ordinal_logp. */
static double gp__ordinal_density(const gp__lik_job *job, ptrdiff_t at)
{
	ptrdiff_t k = (ptrdiff_t)job->Y[at], K = job->classes;
	const odvgp_real *gap = job->par;
	double sd = sqrt(1 + (double)job->var[at]), low = (double)gap[K - 2] - (double)job->mean[at], w,
		   c, log_high;
	GP__FOR(j, k - 1) low += (double)gap[j];
	low /= sd;
	if (k == 0 || k == K - 1) return gp__log_cdf(k ? -low : low);
	w = (double)gap[k - 1] / sd;
	c = fabs(low + 0.5 * w);
	if (w * (1 + c) < 1e-3)
		return log(w) - 0.5 * (c * c + gp__log_2pi) + (c * c - 1) * w * w / 24;
	log_high = gp__log_cdf(0.5 * w - c);
	return log_high + log(-expm1(gp__log_cdf(-0.5 * w - c) - log_high));
}

/*	Add `slope` to the derivatives in the numbers that cut k - 1 depends on. */
static void gp__cut_slope(const gp__lik_chunk *c, ptrdiff_t k, double slope)
{
	if (k <= 0 || k >= c->classes) return;
	c->dpar[c->classes - 2] += slope;
	GP__FOR(j, k - 1) c->dpar[j] += slope;
}

/*	log(Phi(high) - Phi(low)) = log Phi(high) + log(1 - Phi(low) / Phi(high)), with both limits in
	the lower tail. */
static void gp__ordinal_logp(const gp__lik_chunk *c)
{
	GP__EACH_ROW(i) {
		ptrdiff_t k = (ptrdiff_t)c->y[i];
		odvgp_real low = gp__cut(c, k) - c->f[i], high = gp__cut(c, k + 1) - c->f[i];
		int flip = low + high > 0;
		c->a[i] = flip ? -high : low;
		c->b[i] = flip ? -low : high;
	}
	c->isa->map[GP__LOGCDF](c->a, c->z, c->df);
	c->isa->map[GP__LOGCDF](c->b, c->logp, c->df);
	GP__EACH_ROW(i) c->z[i] -= c->logp[i];
	c->isa->map[GP__EXPM1](c->z, c->z, NULL);
	GP__EACH_ROW(i) c->z[i] = -c->z[i];
	c->isa->map[GP__LOG](c->z, c->z, NULL);
	GP__FOR(i, c->n) {
		ptrdiff_t k = (ptrdiff_t)c->y[i];
		double logp = (double)c->logp[i] + (double)c->z[i], shift = logp + 0.5 * gp__log_2pi,
			   low = (double)(gp__cut(c, k) - c->f[i]),
			   high = (double)(gp__cut(c, k + 1) - c->f[i]), at_low = exp(-0.5 * low * low - shift),
			   at_high = exp(-0.5 * high * high - shift), w = (double)c->weight[i];
		c->logp[i] = (odvgp_real)logp;
		c->df[i] = (odvgp_real)(at_low - at_high);
		if (!c->dpar || !(w > 0)) continue;
		gp__cut_slope(c, k, -w * at_low);
		gp__cut_slope(c, k + 1, w * at_high);
	}
}

/* --- several functions --- */

/*	P = P(f_y is largest) = sum_h w_h prod_{k != y} link((f_h - mean_k) / sd_k), with nodes f_h for
	f_y. E[log p] and E[p] are linear in P. Arrays [K] of chunks: mean, sd, slopes of the links,
	derivatives. Class y's come last, in c->dm and c->dv. */
static void gp__robustmax_chunk(
		const gp__lik_job *job, const gp__lik_chunk *c, ptrdiff_t target, ptrdiff_t from)
{
	ptrdiff_t K = job->F, all = K * GP__CHUNK;
	odvgp_real *mean = job->work + GP__LIK_ARRAYS * GP__CHUNK, *sd = mean + all, *slope = sd + all,
			   *dm = slope + all, *dv = dm + all, *of_mean = c->mean, *of_sd = c->sd;
	double e = (double)job->par[0], of_y = 1 - e, other = e / (double)(K - 1),
		   hit = log1p(-e), miss = log(other);
	odvgp_real gain = (odvgp_real)(hit - miss);
	(void)target;
	GP__FOR(k, K)
		GP__EACH_ROW(i) {
			ptrdiff_t at = k * job->ld + from + (i < c->n ? i : 0), to = k * GP__CHUNK + i;
			mean[to] = job->mean[at];
			sd[to] = GP__SQRT(GP__MAX(job->var[at], GP__R(1e-10)));
			if ((ptrdiff_t)c->y[i] == k) of_mean[i] = mean[to], of_sd[i] = sd[to];
		}
	if (job->dmean) gp__zero(dm, 2 * all);
	GP__FOR(h, c->H) {
		odvgp_real w = c->w[h], t = c->t[h];
		GP__EACH_ROW(i) {
			c->z[i] = 0;
			c->f[i] = of_mean[i] + of_sd[i] * t;
		}
		for (ptrdiff_t k = 0, at = 0; k < K; k++, at += GP__CHUNK) {
			GP__EACH_ROW(i) c->a[i] = (c->f[i] - mean[at + i]) / sd[at + i];
			gp__link(c->isa, c->jitter, c->a, c->logp, slope + at);
			GP__EACH_ROW(i) c->z[i] += c->y[i] == (odvgp_real)k ? 0 : c->logp[i];
		}
		c->isa->map[GP__EXP](c->z, c->z, NULL);
		GP__EACH_ROW(i) c->sum[i] += w * c->z[i];
		for (ptrdiff_t k = 0, at = 0; k < K && job->dmean; k++, at += GP__CHUNK)
			GP__EACH_ROW(i) {
				odvgp_real s = sd[at + i], g = w * c->z[i] * slope[at + i] / s * gain;
				g = c->y[i] == (odvgp_real)k ? 0 : g;
				dm[at + i] -= g;
				dv[at + i] -= g * (c->f[i] - mean[at + i]) / (2 * s * s);
				c->dm[i] += g;
				c->dv[i] += g * t / (2 * of_sd[i]);
			}
	}
	for (ptrdiff_t k = 0; k < K && job->dmean; k++)
		GP__FOR(i, c->n) {
			ptrdiff_t at = k * job->ld + from + i, in = k * GP__CHUNK + i;
			int own = (ptrdiff_t)c->y[i] == k;
			job->dmean[at] = c->seen[i] * (own ? c->dm[i] : dm[in]);
			job->dvar[at] = c->seen[i] * (own ? c->dv[i] : dv[in]);
		}
	GP__FOR(i, c->n) {
		double P = (double)c->sum[i];
		c->sum[i] = (odvgp_real)(miss + P * (hit - miss));
		if (c->dpar) c->dpar[0] += (double)c->seen[i] * ((1 - P) / e - P / of_y);
	}
}

/*	log prod_{k != y} link((f - mean_k) / sd_k) */
static double gp__robustmax_log_p(const gp__density *p, double x, double *d)
{
	const gp__lik_job *job = p->job;
	ptrdiff_t y = (ptrdiff_t)job->Y[p->at] * job->ld + p->at;
	double all = 1, jitter = (double)job->rule[0], f = (double)job->mean[y] + x;
	(void)d;
	for (ptrdiff_t k = p->at; k < job->F * job->ld; k += job->ld)
		if (k != y)
			all *= jitter + (0.5 - jitter) * erfc(gp__sqrt_half * ((double)job->mean[k] - f) /
															  gp__sd(job, k));
	return log(all);
}

/*	p = other + (1 - epsilon - other) P, P the integral, begun at the largest of some places. */
static double gp__robustmax_density(const gp__lik_job *job, ptrdiff_t at)
{
	double e = (double)job->par[0], other = e / (double)(job->F - 1), top = -HUGE_VAL, scale, sum;
	gp__density p = gp__density_of(job, at, gp__sd(job, (ptrdiff_t)job->Y[at] * job->ld + at),
			gp__robustmax_log_p);
	gp__place zero = {0, 0}, from = zero;
	for (int k = -18; k <= 18; k++) {
		double L = gp__log_integrand(&p, zero, 0.5 * k);
		if (L > top) from.t = from.e = 0.5 * k;
		top = GP__MAX(top, L);
	}
	scale = (1 - e - other) * exp(top - 0.5 * gp__log_2pi);
	if (scale <= 0) return log(other);
	sum = other / scale;
	if (!gp__trapezoid(&p, from, 0.5, top, &sum)) {
		gp__march(&p, from, -9, 1, top, &sum);
		gp__march(&p, from, 9, 1, top, &sum);
	}
	return log(scale * sum);
}

/* --- softmax --- */

/*	One chunk of softmax. Difference j of row i is d_j = f_k - f_y, k = (y + 1 + j) mod K. Their
	covariance diag(var_k) + var_y 1 1^T has the factor L with L_jj = diagonal_j, and L_jl = below_l
	for all j > l: each has [K - 1] arrays. */
typedef struct {
	ptrdiff_t J; /* K - 1 */
	/* move: d - mean at a node */
	odvgp_real *d, *mean, *diagonal, *below, *move;
	/* derivatives in means and variances of the other classes, then of y: [K] arrays */
	odvgp_real *dm, *dv;
} gp__softmax;

static gp__softmax gp__softmax_of(const gp__lik_job *job, const gp__lik_chunk *c, ptrdiff_t from)
{
	gp__softmax s;
	odvgp_real **array[] = {&s.d, &s.mean, &s.diagonal, &s.below, &s.move, &s.dm, &s.dv};
	s.J = job->F - 1;
	GP__FOR(k, GP__COUNT(array)) *array[k] = job->work + (GP__LIK_ARRAYS + k * job->F) * GP__CHUNK;
	GP__EACH_ROW(i) {
		ptrdiff_t at = from + (i < c->n ? i : 0), class_y = (ptrdiff_t)c->y[i],
				  y = class_y * job->ld + at;
		odvgp_real rest = job->var[y]; /* variance that the later differences share */
		GP__FOR(j, s.J) {
			ptrdiff_t k = (class_y + 1 + j) % job->F * job->ld + at, to = j * GP__CHUNK + i;
			odvgp_real v = GP__MAX(job->var[k], GP__R(1e-10)), L = GP__SQRT(v + rest);
			s.mean[to] = job->mean[k] - job->mean[y];
			s.diagonal[to] = L;
			s.below[to] = rest / L;
			rest *= v / (v + rest);
		}
	}
	return s;
}

/*	Differences at node h to d, the largest or 0 to c->a; returns the node's weight. Above
	TENSOR_CLASSES classes a node is a fixed normal draw, or its antithetic one. */
static odvgp_real gp__softmax_node(const gp__lik_chunk *c, const gp__softmax *s, ptrdiff_t h)
{
	int tensor = s->J < GP__TENSOR_CLASSES, second = !tensor && h % 2;
	odvgp_real w = tensor ? 1 : 1 / (odvgp_real)(GP__SOFTMAX_DRAWS * c->H), sign = second ? -1 : 1;
	GP__EACH_ROW(i) c->b[i] = 0;
	for (ptrdiff_t j = 0, rest = h; j < s->J && !second; j++, rest /= c->H) {
		odvgp_real *to = s->move + j * GP__CHUNK, *diagonal = s->diagonal + j * GP__CHUNK,
				   *below = s->below + j * GP__CHUNK;
		odvgp_real t = tensor ? c->t[rest % c->H]
							  : (odvgp_real)gp__normal(0, GP__STREAM_SOFTMAX,
										(uint64_t)(h / 2 * GP__MOST_CLASSES + j));
		if (tensor) w *= c->w[rest % c->H];
		c->isa->blend(GP__CHUNK, t, diagonal, -1, c->b, to);
		c->isa->axpy(GP__CHUNK, t, below, c->b);
	}
	c->isa->blend(s->J * GP__CHUNK, 1, s->mean, -sign, s->move, s->d);
	GP__EACH_ROW(i) c->a[i] = 0;
	GP__FOR(j, s->J) {
		const odvgp_real *d = s->d + j * GP__CHUNK;
		GP__EACH_ROW(i) c->a[i] = d[i] > c->a[i] ? d[i] : c->a[i];
	}
	return w;
}

/*	c->logp = -log(1 + sum e^d). With top = c->a, d becomes e^(d - top), c->z e^-top, and c->b the
	reciprocal of their sum, so that products are the classes' probabilities. */
static void gp__softmax_logp(const gp__lik_chunk *c, const gp__softmax *s)
{
	GP__EACH_ROW(i) c->z[i] = -c->a[i];
	c->isa->map[GP__EXP](c->z, c->z, NULL);
	GP__EACH_ROW(i) c->b[i] = c->z[i];
	GP__FOR(j, s->J) {
		odvgp_real *d = s->d + j * GP__CHUNK;
		c->isa->axpy(GP__CHUNK, -1, c->a, d);
		c->isa->map[GP__EXP](d, d, NULL);
		c->isa->axpy(GP__CHUNK, 1, d, c->b);
	}
	c->isa->map[GP__LOG](c->b, c->logp, NULL);
	GP__EACH_ROW(i) {
		c->logp[i] = -(c->a[i] + c->logp[i]);
		c->b[i] = 1 / c->b[i];
	}
}

/*	Add the node's derivatives. Those in variances are those of the integral, -p (1 - p) / 2 at each
	node: never positive, and equal to the rule's up to its error. */
static void gp__softmax_slopes(const gp__lik_chunk *c, const gp__softmax *s, odvgp_real w)
{
	for (ptrdiff_t j = 0; j <= s->J; j++) {
		const odvgp_real *e = j < s->J ? s->d + j * GP__CHUNK : c->z;
		odvgp_real *dm = s->dm + j * GP__CHUNK, *dv = s->dv + j * GP__CHUNK, own = j < s->J ? 0 : w;
		GP__EACH_ROW(i) {
			odvgp_real p = e[i] * c->b[i], w_p = w * p;
			dm[i] += own - w_p;
			dv[i] -= w_p * (1 - p);
		}
	}
}

/*	Add w e^logp: top is the largest term's logarithm so far, c->sum the sum times e^-top. */
static void gp__lse_add(const gp__lik_chunk *c, odvgp_real w, odvgp_real *top)
{
	odvgp_real log_w = w > 0 ? (odvgp_real)log((double)w) : -GP__R(GP__FAR);
	GP__EACH_ROW(i) {
		odvgp_real term = c->logp[i] + log_w;
		c->z[i] = term - top[i];
		c->a[i] = c->z[i] > 0 ? -c->z[i] : c->z[i];
		top[i] = GP__MAX(top[i], term);
	}
	c->isa->map[GP__EXP](c->a, c->a, NULL);
	GP__EACH_ROW(i) c->sum[i] = c->z[i] > 0 ? c->sum[i] * c->a[i] + 1 : c->sum[i] + c->a[i];
}

/*	Rows from `from` on: E[log p] to c->sum, or, if top is given, E[p] as gp__lse_add leaves it. */
static void gp__softmax_rule(
		const gp__lik_job *job, const gp__lik_chunk *c, ptrdiff_t from, odvgp_real *top)
{
	gp__softmax s = gp__softmax_of(job, c, from);
	int tensor = s.J < GP__TENSOR_CLASSES;
	ptrdiff_t nodes = tensor ? 1 : GP__SOFTMAX_DRAWS * c->H, F = job->F;
	for (ptrdiff_t j = 0; j < s.J && tensor; j++) nodes *= c->H;
	if (job->dmean) gp__zero(s.dm, 2 * F * GP__CHUNK);
	for (ptrdiff_t i = 0; i < GP__CHUNK && top; i++) top[i] = -GP__R(GP__FAR);
	GP__FOR(h, nodes) {
		odvgp_real w = gp__softmax_node(c, &s, h);
		gp__softmax_logp(c, &s);
		if (top) gp__lse_add(c, w, top);
		else
			GP__EACH_ROW(i) c->sum[i] += w * c->logp[i];
		if (job->dmean) gp__softmax_slopes(c, &s, w);
	}
	for (ptrdiff_t j = 0; j < F && job->dmean; j++)
		GP__FOR(i, c->n) {
			ptrdiff_t k = ((ptrdiff_t)c->y[i] + 1 + j) % F * job->ld + from + i;
			job->dmean[k] = c->seen[i] * s.dm[j * GP__CHUNK + i];
			job->dvar[k] = c->seen[i] * s.dv[j * GP__CHUNK + i] / 2;
		}
}

static void gp__softmax_chunk(
		const gp__lik_job *job, const gp__lik_chunk *c, ptrdiff_t target, ptrdiff_t from)
{
	(void)target;
	gp__softmax_rule(job, c, from, NULL);
}

/*	With Gumbel noise on each f, class y is the largest: p = int p_y(x) prod_{k != y} F_k(x) dx, of
	f_k plus noise, which are EXPONENTIAL's p of 1 and POISSON's of 0 at f = f_k - x. */
static double gp__softmax_log_p(const gp__density *p, double x, double *d)
{
	const gp__lik_job *job = p->job;
	ptrdiff_t y = (ptrdiff_t)job->Y[p->at] * job->ld + p->at;
	double sum = -1, h = 0.05;
	for (ptrdiff_t k = p->at; k < job->F * job->ld; k += job->ld)
		sum += gp__exp_integral(
				k == y, HUGE_VAL, (double)job->mean[k] - p->a[0] - x, gp__sd(job, k));
	if (d) {
		double up = gp__softmax_log_p(p, x + h, NULL), down = gp__softmax_log_p(p, x - h, NULL);
		d[0] = 0.5 * (up - down) / h;
		d[1] = (up - 2 * sum + down) / (h * h);
	}
	return sum;
}
static double gp__softmax_density(const gp__lik_job *job, ptrdiff_t at)
{
	gp__density p = gp__density_of(job, at, 1, gp__softmax_log_p);
	double low = HUGE_VAL, high = -HUGE_VAL, most = 0;
	if (job->F == 2) {
		ptrdiff_t y = job->Y[at] > 0, of_y = y * job->ld + at, k = (1 - y) * job->ld + at;
		return gp__exp_integral(0, 1, (double)job->mean[k] - (double)job->mean[of_y],
				hypot(gp__sd(job, k), gp__sd(job, of_y)));
	}
	for (ptrdiff_t k = at; k < job->F * job->ld; k += job->ld) {
		low = GP__MIN(low, (double)job->mean[k]);
		high = GP__MAX(high, (double)job->mean[k]);
		most = GP__MAX(most, gp__sd(job, k));
	}
	p.prior = 0;
	p.tolerance = 5e-7;
	p.a[0] = high + 9 * most + 3;
	p.mode = p.a[0] - (low - 9 * most - 3);
	return gp__log_integral(&p, 1) + 0.5 * gp__log_2pi;
}

/*	F_k of one class, and p_k unless p is NULL, at the 64 places x + i step: added to F and p. By
	trapezoid rules over z = (f_k - mean) / sd, with e^-u and u e^-u for u = e^(f_k - x), in steps of
	0.58 / sd; above 3 standard deviations over the noise g, with Phi and phi of (x - g - mean) / sd.
	Places reach as far as a tilt of e^(+-f) moves the integrand; errors stay below 1e-7. */
static void gp__softmax_places(const gp__lik_job *job, const gp__lik_chunk *c, ptrdiff_t at,
		double x, double step, odvgp_real *F, odvgp_real *p)
{
	const odvgp__simd *isa = c->isa;
	odvgp_real *E = c->a, *weight = c->b, *u = c->z, *e = c->df;
	double mean = (double)job->mean[at], sd = gp__sd(job, at), end = x + GP__CHUNK * step;
	int over_z = sd <= 3;
	const odvgp_real root = (odvgp_real)gp__sqrt_half;
	const double decay = exp(-step);
	double h = over_z ? GP__MIN(0.3, 0.58 / sd) : 0.5, first = over_z ? -sd - 7 : -4,
		   last = over_z ? sd + 7 : 36 + GP__MAX(0, end - mean - sd * sd);
	GP__FOR(k, (ptrdiff_t)((last - first) / (GP__CHUNK * h)) + 1) {
		GP__EACH_ROW(i) {
			double z = first + (double)(k * GP__CHUNK + i) * h;
			E[i] = (odvgp_real)(over_z ? mean - x + sd * z : (z + mean - x) / sd);
			weight[i] = (odvgp_real)(h * exp(over_z ? -0.5 * (z * z + gp__log_2pi) : -z - exp(-z)));
		}
		if (over_z) isa->map[GP__EXP](E, E, NULL);
		double A = over_z;
		for (int t = 0; t < GP__CHUNK; t++, A = over_z ? A * decay : A + step / sd) {
			GP__EACH_ROW(i)
				u[i] = over_z ? GP__MIN(80, (odvgp_real)A * E[i]) : root * (E[i] - (odvgp_real)A);
			GP__EACH_ROW(i) e[i] = over_z ? -u[i] : u[i];
			isa->map[over_z ? GP__EXP : GP__ERFC](e, e, NULL);
			F[t] += (over_z ? 1 : GP__R(0.5)) * isa->dot(GP__CHUNK, weight, e);
			if (!p) continue;
			if (over_z) isa->combine(1, u, e, u);
			else {
				GP__EACH_ROW(i) u[i] = -u[i] * u[i];
				isa->map[GP__EXP](u, u, NULL);
			}
			p[t] += isa->dot(GP__CHUNK, weight, u) *
					(over_z ? 1 : (odvgp_real)(gp__sqrt_half / sqrt(0.5 * gp__two_pi) / sd));
		}
	}
}

/*	The same integral by a trapezoid rule from `low` on, in T steps. */
static double gp__softmax_trapezoid(const gp__lik_job *job, const gp__lik_chunk *c, ptrdiff_t at,
		double low, double step, ptrdiff_t T)
{
	odvgp_real *F = job->work + GP__LIK_ARRAYS * GP__CHUNK, *p = F + GP__CHUNK;
	ptrdiff_t y = (ptrdiff_t)job->Y[at];
	double product[GP__CHUNK], sum = 0;
	for (ptrdiff_t from = 0; from < T; from += GP__CHUNK) {
		GP__EACH_ROW(i) product[i] = 1;
		GP__FOR(k, job->F) {
			gp__zero(F, 2 * GP__CHUNK);
			gp__softmax_places(
					job, c, k * job->ld + at, low + (double)from * step, step, F, k == y ? p : NULL);
			GP__EACH_ROW(i) product[i] *= (double)(k == y ? p : F)[i];
		}
		GP__EACH_ROW(i) sum += product[i];
	}
	return log(step * sum);
}

/*	Whether the rule serves row `at`: above four classes; of three, where it is right to 1e-6 as
	differences have a standard deviation of at most 1 and nodes are 20 or more (of four an integral
	is faster); and where numbers are so large that an integral takes long. */
static int gp__softmax_by_rule(const gp__lik_job *job, ptrdiff_t at)
{
	int narrow = job->F < GP__TENSOR_CLASSES && job->H >= 20;
	if (job->F > GP__TENSOR_CLASSES) return 1;
	for (ptrdiff_t k = at; k < job->F * job->ld; k += job->ld) {
		double var = (double)job->var[k], mean = fabs((double)job->mean[k]);
		if (!(var < (job->F > 2 ? 6e4 : 1e9) && mean < 1e5)) return 1; /* NaN, too */
		narrow &= var < 0.5;
	}
	return narrow;
}

/*	log p of a row by an integral. */
static double gp__softmax_exact(const gp__lik_job *job, const gp__lik_chunk *c, ptrdiff_t at)
{
	const double tail = sizeof(odvgp_real) == 4 ? 60 : 500;
	double low = -HUGE_VAL, high = low, mean = low, least = HUGE_VAL;
	for (ptrdiff_t k = at; k < job->F * job->ld; k += job->ld) {
		double m = (double)job->mean[k], sd = gp__sd(job, k);
		low = GP__MAX(low, m - 9.5 * sd - 3.6);
		high = GP__MAX(high, m + GP__MIN(sd, 9.5) * sd + 22);
		mean = GP__MAX(mean, m);
		least = GP__MIN(least, sd);
	}
	ptrdiff_t of_y = (ptrdiff_t)job->Y[at] * job->ld + at;
	mean -= (double)job->mean[of_y];
	mean *= GP__MIN(1, 0.5 * mean / ((double)job->var[of_y] + 1e-30)); /* -log p at least */
	double step = GP__MAX(0.5, 0.5 * least), T = (high - low) / step + 2;
	if (!(T <= 10000 && mean <= tail && job->F > 2)) return gp__softmax_density(job, at);
	return gp__softmax_trapezoid(job, c, at, low, step, (ptrdiff_t)T);
}

static void gp__softmax_densities(const gp__lik_job *job, odvgp_real *density)
{
	for (ptrdiff_t from = 0; from < job->n; from += GP__CHUNK) {
		gp__lik_chunk c = gp__lik_chunk_of(job, 0, from);
		int by_rule = 0;
		GP__FOR(i, c.n) by_rule |= gp__softmax_by_rule(job, from + i);
		if (by_rule) gp__softmax_rule(job, &c, from, c.dm);
		GP__FOR(i, c.n)
			density[from + i] = (odvgp_real)(gp__softmax_by_rule(job, from + i)
													 ? (double)c.dm[i] + log((double)c.sum[i])
													 : gp__softmax_exact(job, &c, from + i));
	}
}

/*	Function T + t is the logarithm g of target t's noise variance. */
static double gp__heteroscedastic_expect(const gp__lik_job *job)
{
	double sum = 0;
	GP__EACH_TARGET(at) {
		ptrdiff_t g = at + job->T * job->ld;
		double d = (double)(job->Y[at] - job->mean[at]),
			   e = exp(0.5 * (double)job->var[g] - (double)job->mean[g]),
			   part = (d * d + (double)job->var[at]) * e, w = gp__target_weight(job, at);
		if (w > 0) sum -= 0.5 * w * (gp__log_2pi + (double)job->mean[g] + part);
		gp__put_slopes(job, at, w, d * e, -0.5 * e);
		gp__put_slopes(job, g, w, 0.5 * (part - 1), -0.25 * part);
	}
	return sum;
}

static void gp__heteroscedastic_moments(const gp__lik_job *job, odvgp_real *mean, odvgp_real *var)
{
	GP__EACH_TARGET(at) {
		ptrdiff_t g = at + job->T * job->ld;
		double noise = exp((double)job->mean[g] + 0.5 * (double)job->var[g]);
		if (mean) mean[at] = job->mean[at];
		if (var) var[at] = job->var[at] + (odvgp_real)noise;
	}
}

/*	Given g, f is integrated out: -(log(2 pi) + l + d^2 e^-l) / 2, l = log(v + e^g), v = var_f.
	a0 = log v, a1 = log d^2, a2 = g at the mode. */
static double gp__heteroscedastic_log_p(const gp__density *p, double x, double *d)
{
	double log_v = p->a[0], g = p->a[2] + x, l = GP__MAX(g, log_v) + log1p(exp(-fabs(g - log_v))),
		   r = exp(p->a[1] - l), share = exp(g - l);
	if (d) d[0] = 0.5 * share * (r - 1);
	if (d) d[1] = 0.5 * share * ((1 - share) * (r - 1) - share * r);
	return -0.5 * (gp__log_2pi + l + r);
}

/*	Where d^2 <= v the density falls with g; its slope is at least -1/2. */
static double gp__heteroscedastic_density(const gp__lik_job *job, ptrdiff_t at)
{
	ptrdiff_t of_g = at + job->T * job->ld;
	double v = (double)job->var[at], d = (double)job->Y[at] - (double)job->mean[at],
		   mean = (double)job->mean[of_g], sd = gp__sd(job, of_g);
	gp__density p = gp__density_of(job, at, sd, gp__heteroscedastic_log_p);
	p.a[0] = log(v);
	p.a[1] = 2 * log(fabs(d));
	p.a[2] = d * d > v ? log(d * d - v)
					   : GP__MIN(mean, GP__MAX(p.a[0] - 40, mean - 0.5 * sd * sd));
	p.mode = (p.a[2] - mean) / sd;
	p.low = p.a[0] - p.a[2];
	p.high = p.a[1] - p.a[2];
	return gp__log_integral(&p, 0);
}

#endif /* ODVGP_FLOAT_ONLY */

/* --- densities, probabilities of classes --- */

/*	log E_q[p(y|f)] of each target [T,ld]. */
static void gp__log_density(const gp__lik_job *job, odvgp_real *density)
{
#ifndef ODVGP_FLOAT_ONLY
	if (!job->lik->log_density) {
		gp__softmax_densities(job, density);
		return;
	}
#endif
	GP__EACH_TARGET(at) density[at] = (odvgp_real)job->lik->log_density(job, at);
}

#ifndef ODVGP_FLOAT_ONLY
/*	Probabilities p of all classes, or of y = 1, and p - p^2. SOFTMAX has a rule for each class, so
	its p are divided by their sum. */
static void gp__class_moments(const gp__lik_job *all, odvgp_real *mean, odvgp_real *var)
{
	gp__lik_job job = *all;
	odvgp_real y[GP__CHUNK], p[GP__CHUNK], sum[GP__CHUNK], *out = mean ? mean : var;
	ptrdiff_t K = job.classes, sets = K ? 1 : all->T;
	int softmax = !job.lik->log_density;
	job.Y = y;
	if (!K) job.F = job.T = K = 1;
	for (ptrdiff_t t = 0; t < sets && out; t++)
		for (ptrdiff_t from = t * job.ld, end = from + all->n; from < end; from += GP__CHUNK) {
			job.n = GP__MIN(end - from, GP__CHUNK);
			job.mean = all->mean + from;
			job.var = all->var + from;
			gp__zero(sum, GP__CHUNK);
			for (ptrdiff_t k = 0, at = from; k < K; k++, at += job.ld) {
				GP__FOR(i, job.n) y[i] = job.classes ? (odvgp_real)k : 1;
				gp__log_density(&job, p);
				GP__FOR(i, job.n) sum[i] += out[at + i] = (odvgp_real)exp(GP__MIN(0, (double)p[i]));
			}
			for (ptrdiff_t k = 0, at = from; k < K; k++, at += job.ld)
				GP__FOR(i, job.n) {
					odvgp_real q = out[at + i] / (softmax ? sum[i] : 1);
					if (mean) mean[at + i] = q;
					if (var) var[at + i] = q * (1 - q);
				}
		}
}

#endif /* ODVGP_FLOAT_ONLY */

/* --- the table --- */

/*	{name, count, start, positive, power, fixed, rate} */
static const gp__lik_param gp__noise_param[] = {{"noise_variance", -1, GP__W(0.1), 1, 2, 0, 0}};
#ifndef ODVGP_FLOAT_ONLY
static const gp__lik_param gp__scale_params[] = {
		{"scale", 1, 0.1, 1, 1, 0, 0}, {"df", 1, 4, 1, 0, 0, 0}};
static const gp__lik_param gp__size_param[] = {{"size", 1, 1, 1, 0, 0, 0}};
static const gp__lik_param gp__shape_param[] = {{"shape", 1, 1, 1, 0, 0, 0}};
static const gp__lik_param gp__precision_param[] = {{"precision", 1, 10, 1, 0, 0, 0}};
static const gp__lik_param gp__cut_params[] = {
		{"gap", 0, 1, 1, 0, 0, 0}, {"cut", 1, -0.5, 0, 0, 0, 0}};
static const gp__lik_param gp__epsilon_param[] = {{"epsilon", 1, 1e-3, 1, 0, 1, 1}};
#endif

#define GP__CONCAVE (GP__LIK_LOG_CONCAVE | GP__LIK_FACTORS)
#define GP__RATE    (GP__CONCAVE | GP__LIK_EXPOSURE)
#define GP__SCALED  (GP__LIK_FACTORS | GP__LIK_SCALABLE)
#define GP__COUNTS  0, HUGE_VAL, 1, "must be a count: 0, 1, 2, ..."
/* tcc does not take -HUGE_VAL for a constant. */
#define GP__REALS   -GP__MOST, GP__W(HUGE_VAL), 0, ""
#define GP__ABOVE_0 0, HUGE_VAL, 0, "must be above 0"
#define GP__SHARES  0, 1 - DBL_EPSILON / 2, 0, "must lie between 0 and 1"
#define GP__BINARY  0, 1, 1, "must be 0 or 1"
#define GP__NUMBERS 0, 0, 1, "must be the number of a class: 0, 1, 2, ..."

/*	A row, without its functions if the build leaves the likelihood out. Y: GP__REALS, ... */
/* clang-format off */
#define GP__LIK_IF(NAME, type, function) \
	((ODVGP_LIKELIHOODS) & ODVGP_LIK_##NAME ? function : (type *)NULL)
#define GP__LIK(NAME, name, flags, param, params, expect, y_moments, log_density, Y, logp, base, \
		chunk) \
	{name, flags, param, params, GP__LIK_IF(NAME, gp__lik_expect, expect), \
			GP__LIK_IF(NAME, gp__lik_moments, y_moments), \
			GP__LIK_IF(NAME, gp__lik_density, log_density), Y, \
			GP__LIK_IF(NAME, gp__lik_logp, logp), GP__LIK_IF(NAME, gp__lik_base, base), \
			GP__LIK_IF(NAME, gp__lik_rows, chunk)}
/* clang-format on */

/*	In the order of odvgp_likelihood. */
static const gp__likelihood gp__likelihoods[] = {
		GP__LIK(GAUSSIAN, "gaussian", GP__LIK_GAUSSIAN | GP__CONCAVE | GP__LIK_SCALABLE,
				gp__noise_param, 1, gp__gaussian_expect, gp__noise_moments, gp__gaussian_density,
				GP__REALS, NULL, NULL, NULL),
#ifndef ODVGP_FLOAT_ONLY
		GP__LIK(BERNOULLI, "bernoulli", GP__CONCAVE | GP__LIK_LINK, NULL, 0, gp__chunks_expect,
				gp__class_moments, gp__bernoulli_density, GP__BINARY, gp__bernoulli_logp, NULL,
				gp__quad_chunk),
		GP__LIK(LOGIT, "logit", GP__CONCAVE, NULL, 0, gp__chunks_expect, gp__class_moments,
				gp__exp_density, GP__BINARY, gp__logit_logp, NULL, gp__quad_chunk),
		GP__LIK(STUDENTT, "studentt", GP__SCALED, gp__scale_params, 2, gp__chunks_expect,
				gp__noise_moments, gp__studentt_density, GP__REALS, gp__studentt_logp,
				gp__studentt_base, gp__quad_chunk),
		GP__LIK(LAPLACE, "laplace", GP__CONCAVE | GP__LIK_SCALABLE, gp__scale_params, 1,
				gp__laplace_expect, gp__noise_moments, gp__laplace_density, GP__REALS, NULL, NULL,
				NULL),
		GP__LIK(POISSON, "poisson", GP__RATE, NULL, 0, gp__exp_expect, gp__exp_moments,
				gp__exp_density, GP__COUNTS, NULL, gp__poisson_base, NULL),
		GP__LIK(EXPONENTIAL, "exponential", GP__RATE, NULL, 0, gp__exp_expect, gp__exp_moments,
				gp__exp_density, GP__ABOVE_0, NULL, NULL, NULL),
		GP__LIK(NEGATIVE_BINOMIAL, "negative_binomial", GP__RATE, gp__size_param, 1,
				gp__chunks_expect, gp__exp_moments, gp__exp_density, GP__COUNTS,
				gp__negative_binomial_logp, gp__negative_binomial_base, gp__quad_chunk),
		GP__LIK(GAMMA, "gamma", GP__CONCAVE, gp__shape_param, 1, gp__exp_expect, gp__exp_moments,
				gp__exp_density, GP__ABOVE_0, NULL, gp__gamma_base, NULL),
		GP__LIK(BETA, "beta", GP__LIK_FACTORS, gp__precision_param, 1, gp__chunks_expect,
				gp__beta_moments, gp__beta_density, GP__SHARES, gp__beta_logp, NULL,
				gp__quad_chunk),
		GP__LIK(ORDINAL, "ordinal", GP__CONCAVE | GP__LIK_CLASSES, gp__cut_params, 2,
				gp__chunks_expect, gp__class_moments, gp__ordinal_density, GP__NUMBERS,
				gp__ordinal_logp, NULL, gp__quad_chunk),
		GP__LIK(ROBUSTMAX, "robustmax", GP__LIK_CLASSES | GP__LIK_LINK, gp__epsilon_param, 1,
				gp__chunks_expect, gp__class_moments, gp__robustmax_density, GP__NUMBERS, NULL,
				NULL, gp__robustmax_chunk),
		GP__LIK(SOFTMAX, "softmax", GP__LIK_LOG_CONCAVE | GP__LIK_CLASSES, NULL, 0,
				gp__chunks_expect, gp__class_moments, NULL, GP__NUMBERS, NULL, NULL,
				gp__softmax_chunk),
		GP__LIK(HETEROSCEDASTIC, "heteroscedastic", 0, NULL, 0, gp__heteroscedastic_expect,
				gp__heteroscedastic_moments, gp__heteroscedastic_density, GP__REALS, NULL, NULL,
				NULL),
#endif
};

/* ---- >>predictor   the frozen model

		A    = L^-1 K(Zb,x)
		mean = m(x) + K(x,Zb) alpha + K(x,Zg) a,     alpha = L^-T (q_mu - c)
		var  = max(k - |A|^2, 0) + |q_sqrt^T A|^2     (other forms: GP__FACTOR_OF_S)

	A predictor is a head of 32-bit numbers, the base kernels in use, then reals whose positions
	follow from the head. Inducing points are centred, scaled, and stored by columns. Nothing writes
	to the block after freezing.

	Row i of A [n,M] first holds k(x_i,Zb), then L^-1 k(Zb,x_i). Cost per row of X: (M + Mg) D for
	the mean, 2 M^2 flops per factor for the variance.

	Layers follow one another in the block; the Gaussian likelihood of hidden ones is not used. Each
	sample of the hidden layers gives a component of a mixture: moments mix, densities and
	probabilities are averaged. A sample has the same normals for every row, so rows do not depend
	on each other; samples 2k and 2k + 1 have opposite signs. */

#define GP__PREDICTOR_MAGIC   0x5056444fu /* "ODVP" */
#define GP__PREDICTOR_VERSION 10
#define GP__MOST_LAYERS       8
#define GP__MOST_SAMPLES      10000

/*	What a mean function stores, in the order of odvgp_mean_function. */
static const struct {
	int A, b;
} gp__mean_functions[] = {
		/* A, b */
		{0, 0}, /* ZERO */
		{0, 1}, /* CONSTANT */
		{1, 1}, /* LINEAR */
		{0, 0}, /* IDENTITY */
		{1, 0}, /* PROJECTION */
};

/*	Head of a predictor, as files hold it. The kernel's words follow, zeros up to a multiple of 64
	bytes, then the reals. SOLVE-GP's two blocks are one set of |beta| + |gamma| = M points with the
	factor [L 0; W^T L_v] and a covariance factor of two blocks. */
typedef struct {
	uint32_t magic, version, real_size;
	uint32_t base_kernels;
	uint32_t checksum[2]; /* of all that follows; 0 in a file */
	uint32_t reals[2];    /* their number: low word, high word */
	uint32_t seed[2];     /* of the hidden layers' normals */
	/* none of the following is negative; layers: from this one to the last */
	int32_t layers, samples;
	int32_t D, M, M_gamma;
	int32_t P, F, T; /* processes, functions, targets (>>likelihoods) */
	int32_t nhyp, columns;
	int32_t likelihood, lik_params, mean_function;
	int32_t nodes, classes; /* of the likelihood; 0: it has none */
	int32_t weights, scale; /* columns of Y behind the targets, 0 or 1 (gp__y_row) */
	int32_t factor;         /* GP__FACTOR_OF_S, ... */
	int32_t M_factor;       /* order of the covariance factor's first block; M: the only one */
	int32_t no_alpha;       /* 1: the mean does not use Z_beta */
	int32_t mixed;          /* 1: functions are mixtures of the processes; 0: F = P */
	int32_t units;          /* P: each process has its own kernel and points; 1: they share them */
	gp__patches patches;
} gp__predictor;

/*	Whether all outputs share L, and S is that of L^-1 u. */
static int gp__is_dense(const gp__predictor *p)
{
	return p->factor == GP__FACTOR_OF_S || p->factor == GP__FACTOR_OF_PRECISION;
}

/* --- the block: head, kernel, arrays --- */

/*	Above 32 bits if M > 46340. */
static uint64_t gp__predictor_reals(const gp__predictor *p)
{
	return p->reals[0] | (uint64_t)p->reals[1] << 32;
}

GP__TRAINING void gp__predictor_set_reals(gp__predictor *p, ptrdiff_t reals)
{
	p->reals[0] = (uint32_t)((uint64_t)reals & 0xffffffffu);
	p->reals[1] = (uint32_t)((uint64_t)reals >> 32);
}

/*	A kernel of n base kernels in words: D, nodes, hyperparameters, groups | group_base [n] |
	node [2 n - 1][3] | base kernel [n]. Independent of ODVGP_MAX_BASE_KERNELS. */
enum {
	GP__KERNEL_COUNTS = 4,
	GP__BASE_KERNEL_WORDS = (int)(sizeof(gp__base_kernel) / sizeof(uint32_t))
};

static size_t gp__kernel_words(uint32_t base_kernels)
{
	return GP__KERNEL_COUNTS + (size_t)base_kernels + 3 * (2 * (size_t)base_kernels - 1) +
		   (size_t)base_kernels * GP__BASE_KERNEL_WORDS;
}

GP__TRAINING void gp__kernel_pack(const gp__kernel *k, uint32_t *to)
{
	const uint32_t counts[GP__KERNEL_COUNTS] = {k->D, k->nnode, k->nhyp, k->ngroup};
	memcpy(to, counts, sizeof counts);
	to += GP__KERNEL_COUNTS;
	memcpy(to, k->group_base, k->base_kernels * sizeof *to);
	to += k->base_kernels;
	memcpy(to, k->node, k->nnode * sizeof k->node[0]);
	memcpy(to + 3 * k->nnode, k->base, k->base_kernels * sizeof k->base[0]);
}

/*	Leaves entries of k beyond its last base kernel unchanged. */
static void gp__kernel_unpack(const uint32_t *from, uint32_t base_kernels, gp__kernel *k)
{
	k->base_kernels = base_kernels;
	k->D = from[0];
	k->nnode = from[1];
	k->nhyp = from[2];
	k->ngroup = from[3];
	from += GP__KERNEL_COUNTS;
	memcpy(k->group_base, from, base_kernels * sizeof *from);
	from += base_kernels;
	memcpy(k->node, from, (2 * base_kernels - 1) * sizeof k->node[0]);
	memcpy(k->base, from + 3 * (2 * base_kernels - 1), base_kernels * sizeof k->base[0]);
}

static const uint32_t *gp__predictor_kernel(const gp__predictor *p)
{
	return (const uint32_t *)(const void *)(p + 1);
}

/*	Bytes before the reals. */
static size_t gp__predictor_head(uint32_t base_kernels)
{
	size_t bytes = sizeof(gp__predictor) + gp__kernel_words(base_kernels) * sizeof(uint32_t);
	return (bytes + 63) & ~(size_t)63;
}

/*	Bytes of one layer. */
static size_t gp__predictor_bytes(const gp__predictor *p)
{
	return gp__predictor_head(p->base_kernels) +
		   (size_t)gp__predictor_reals(p) * sizeof(odvgp_real);
}

static const gp__predictor *gp__predictor_above(const gp__predictor *p)
{
	return (const gp__predictor *)((uintptr_t)p + gp__predictor_bytes(p));
}

typedef struct {
	odvgp_real *beta, *gamma; /* inducing points */
	odvgp_real *beyond;       /* zeros, for the last chunk */
	odvgp_real *alpha, *a_gamma;
	odvgp_real *L; /* [M,M], or L_H [P,M,M] */
	/* q_sqrt or its first block [P,M_factor,M_factor]; or B_sqrt or G [P,M,M], or a diagonal [P,M] */
	odvgp_real *factor;
	odvgp_real *factor_v; /* second block of q_sqrt [P,M-M_factor,M-M_factor] */
	odvgp_real *weights;  /* of patches */
	odvgp_real *mixing;   /* [F,P] */
	odvgp_real *hyp, *lik_params, *rule, *A, *b, *beta_centre, *gamma_centre, *x_mean, *x_scale,
			*y_mean, *y_scale;
} gp__view;
/*	Set v's pointers for one unit; base NULL only measures. Needs M_factor <= M. Returns the number
	of reals, -1 on overflow. */
static ptrdiff_t gp__view_layout(
		const gp__predictor *p, odvgp_real *base, ptrdiff_t unit, gp__view *v)
{
	ptrdiff_t U = p->units, P = p->P / U, M = p->M, Mg = p->M_gamma, Mr = p->M_factor, used = 0;
	ptrdiff_t Dz = gp__patch_columns(&p->patches, p->D), Dx = gp__row_columns(&p->patches, p->D);
	gp__wide total = 0;
	int dense = gp__is_dense(p), diagonal = p->factor == GP__DIAGONAL_OF_INVERSE;
	if ((gp__wide)P * ((gp__wide)M + (gp__wide)Mg) > (gp__wide)PTRDIFF_MAX / 64) return -1;
#define GP__PIECE(field, rows, cols) \
	total += (gp__wide)U * (gp__wide)(rows) * (gp__wide)(cols); \
	if (total > (gp__wide)PTRDIFF_MAX / 64) return -1; \
	v->field = base ? base + used + unit * ((rows) * (cols)) : NULL; \
	used += U * ((rows) * (cols));
	GP__PIECE(beta, p->columns, gp__points_ld(M))
	GP__PIECE(gamma, p->columns, gp__points_ld(Mg))
	GP__PIECE(beyond, 1, GP__POINTS_BEYOND)
	GP__PIECE(alpha, p->no_alpha ? 0 : P, M)
	GP__PIECE(a_gamma, P, Mg)
	GP__PIECE(L, dense ? M : P * M, M)
	GP__PIECE(factor, diagonal ? P : P * Mr, Mr)
	GP__PIECE(factor_v, P * (M - Mr), M - Mr)
	GP__PIECE(hyp, 1, p->nhyp)
	GP__PIECE(A, gp__mean_functions[p->mean_function].A ? Dx : 0, P)
	GP__PIECE(b, gp__mean_functions[p->mean_function].b, P)
	GP__PIECE(beta_centre, 1, Dz)
	GP__PIECE(gamma_centre, Mg ? 1 : 0, Dz)
	GP__PIECE(weights, 1, gp__patches_summed(&p->patches))
	/* of the whole layer */
	U = 1;
	unit = 0;
	GP__PIECE(lik_params, 1, p->lik_params)
	GP__PIECE(rule, 1, gp__rule_numbers(p->nodes))
	GP__PIECE(mixing, p->mixed ? p->F : 0, p->P)
	GP__PIECE(x_mean, 1, p->D)
	GP__PIECE(x_scale, 1, p->D)
	GP__PIECE(y_mean, 1, p->T)
	GP__PIECE(y_scale, 1, p->T)
#undef GP__PIECE
	if (p->no_alpha) v->alpha = NULL;
	return used;
}

/*	Only freezing writes through the view. */
static gp__view gp__view_of(const gp__predictor *p, ptrdiff_t unit)
{
	gp__view v;
	gp__view_layout(
			p, (odvgp_real *)((uintptr_t)p + gp__predictor_head(p->base_kernels)), unit, &v);
	return v;
}

/* --- layers of a block, and scratch --- */

/*	The first layer that a server serves. */
static const gp__predictor *gp__layer_of(const odvgp_server *s)
{
	return (const gp__predictor *)s->block;
}

/*	The same; NULL if the server is zeroed or its block has no valid magic. */
static const gp__predictor *gp__served(const odvgp_server *s)
{
	const gp__predictor *p = s && s->isa ? gp__layer_of(s) : NULL;
	return p && p->magic == GP__PREDICTOR_MAGIC && p->version == GP__PREDICTOR_VERSION ? p : NULL;
}

/*	A server of one layer of a checked block. */
static odvgp_server gp__layer_server(const void *block, const odvgp__simd *isa)
{
	const gp__predictor *p = (const gp__predictor *)block;
	odvgp_server s = {p, isa, p->D, p->P, p->F, p->T, p->classes ? p->classes : p->T};
	return s;
}

static odvgp_server gp__layer_above(const odvgp_server *s)
{
	return gp__layer_server(gp__predictor_above(gp__layer_of(s)), s->isa);
}

/*	Outputs for each input. */
static ptrdiff_t gp__predictor_width(const gp__predictor *p)
{
	return p->P * gp__rows_of_input(&p->patches);
}

/*	State of one prediction call, in tiles of up to `rows` rows, or patches with image_output. */
typedef struct {
	const gp__predictor *p;
	gp__view v;
	odvgp_blas blas;
	gp__kernel *kernel;
	gp__kjob *job; /* one point and those that gp__predict_points chose */
	gp__kchunk chunk;
	odvgp_real *point, *chunk_memory;
	odvgp_real *X;          /* [rows,D] inputs, in training units */
	ptrdiff_t D;            /* columns of a row of X */
	odvgp_real *by_columns; /* the tile's points, or an image's patches, for K(X,X) */
	odvgp_real *patches;    /* [patches,columns] of an image; with image_output, an image [D] */
	odvgp_real *row;        /* its row of K(X,Z) */
	odvgp_real *A, *T;      /* [rows,M] */
	/* [P,rows]; mixed [F,rows]. Until has_var, var holds sums for the mean. */
	odvgp_real *mean, *var;
	int has_var;
	odvgp_real *latent; /* [P,rows] what gp__predict_mix mixed last */
	ptrdiff_t first, P; /* of the unit's processes; their number */
	odvgp_real *prior, *square; /* [units,rows] k(x,x); [rows] max(k(x,x) - |A|^2, 0) */
	/* [y_rows,rows] targets, in training units, or y's means; its variances or log densities */
	odvgp_real *y, *of_y;
	odvgp_real *scale; /* [rows] of gp__y_row; NULL: Y has none */
	odvgp_real *work;  /* of the likelihood */
	ptrdiff_t ld;
	/* for sampling: [F,rows,rows] covariances, then their factors; [rows] */
	odvgp_real *cov, *normals;
	ptrdiff_t *perm; /* [F,rows] of the factors */
} gp__prediction;

static void gp__predict_layout(
		gp__arena *a, const odvgp_server *s, ptrdiff_t rows, int sampling, gp__prediction *t)
{
	const gp__predictor *p = gp__layer_of(s);
	ptrdiff_t P = p->P, F = p->F, M = p->M, columns = p->columns;
	rows *= gp__rows_of_input(&p->patches);
	ptrdiff_t order = rows == 1 ? 0 : GP__MAX(M, rows); /* vectors are not packed */
	t->p = p;
	t->ld = rows;
	t->P = P / p->units;
	t->D = gp__row_columns(&p->patches, p->D);
	t->v = gp__view_of(p, 0);
	t->kernel = GP__TAKE(a, gp__kernel, 1);
	t->job = GP__TAKE(a, gp__kjob, 1);
	t->X = gp__take(a, rows, t->D);
	t->point = gp__take(a, 1, columns);
	t->chunk_memory = gp__take(a, 3 * (ptrdiff_t)p->base_kernels, GP__CHUNK);
	ptrdiff_t T = gp__patches_summed(&p->patches);
	t->by_columns = gp__take(a, 1, columns * gp__points_ld(T ? T : rows) + GP__POINTS_BEYOND);
	t->patches = p->patches.image_output ? gp__take(a, 1, p->D)
										 : gp__take(a, T, gp__patch_columns(&p->patches, 0));
	t->row = gp__take(a, 1, T ? GP__MAX(M, p->M_gamma) : 0);
	t->A = gp__take(a, rows, M);
	t->T = gp__take(a, rows, M);
	t->mean = gp__take(a, F, rows);
	t->var = gp__take(a, F, rows);
	t->latent = gp__take(a, p->mixed ? P : 0, rows);
	t->has_var = 0;
	t->prior = gp__take(a, p->units, rows);
	t->square = gp__take(a, 1, rows);
	t->y = gp__take(a, s->y_rows, rows);
	t->of_y = gp__take(a, s->y_rows, rows);
	t->scale = p->scale ? gp__take(a, 1, rows) : NULL;
	t->work = gp__take(a, 1, gp__lik_work(&gp__likelihoods[p->likelihood], F));
	gp__blas_layout(a, s->isa, NULL, order, &t->blas);
	if (!sampling) return;
	t->cov = gp__take(a, F * rows, rows);
	t->normals = gp__take(a, 1, rows);
	t->perm = GP__TAKE(a, ptrdiff_t, F * rows);
}

/*	Work between layers. */
typedef struct {
	odvgp_real *mean, *var; /* [P,rows], or [P,rows patches], of layer 0 */
	odvgp_real *x;          /* [rows,width] samples of the layer below */
	odvgp_real *f, *y;      /* [F,rows], [y_rows,rows] means of the samples so far */
	odvgp_real *top;        /* [rows] largest log density so far */
} gp__between_layers;

/*	Nothing for a single layer. Returns the bytes of the largest layer's scratch, which follows; 0:
	too large. */
static size_t gp__between_layout(
		gp__arena *a, const odvgp_server *s, ptrdiff_t rows, int sampling, gp__between_layers *b)
{
	size_t most = 0;
	ptrdiff_t widest = 0, layers = gp__layer_of(s)->layers;
	odvgp_server layer = gp__layer_server(s->block, s->isa);
	for (ptrdiff_t left = layers; left > 0; left--) {
		const gp__predictor *p = gp__layer_of(&layer);
		gp__arena own = gp__measuring();
		gp__prediction t;
		if (rows > PTRDIFF_MAX / 64 / (1 + (ptrdiff_t)p->columns) / gp__rows_of_input(&p->patches))
			return 0;
		gp__take_bytes(&own, 1, sizeof t);
		gp__predict_layout(&own, &layer, rows, sampling, &t);
		if (own.bad) return 0;
		most = GP__MAX(most, own.used + 64);
		widest = GP__MAX(widest, gp__predictor_width(p));
		if (left > 1) layer = gp__layer_above(&layer);
	}
	if (layers == 1) return most;
	b->mean = gp__take(a, widest, rows);
	b->var = gp__take(a, widest, rows);
	b->x = gp__take(a, rows, widest);
	b->f = gp__take(a, s->F, rows);
	b->y = gp__take(a, s->y_rows, rows);
	b->top = gp__take(a, 1, rows);
	return most;
}

static size_t gp__predict_size(const odvgp_server *s, ptrdiff_t rows, int sampling)
{
	gp__between_layers b;
	gp__arena a = gp__measuring();
	size_t most = gp__between_layout(&a, s, rows, sampling, &b);
	return !most || a.bad ? 0 : a.used ? a.used + 64 + most : most;
}

/*	Most rows of a tile, also in training, and most inputs of a layer (in training a row's samples,
	with image_output each one's patches), unless one row has more. */
#define GP__TILE_ROWS   256
#define GP__TILE_INPUTS 4096

static ptrdiff_t gp__tile_rows(ptrdiff_t rows, const gp__patches *p, ptrdiff_t samples)
{
	return GP__MIN(rows, GP__MAX(1, GP__TILE_INPUTS / samples / gp__rows_of_input(p)));
}

static ptrdiff_t gp__predict_most(const odvgp_server *s)
{
	ptrdiff_t most = GP__TILE_ROWS;
	for (const gp__predictor *p = gp__layer_of(s); p->layers > 1; p = gp__predictor_above(p))
		most = gp__tile_rows(most, &p->patches, 1);
	return most;
}

static odvgp_status gp__not_served(odvgp_info *info)
{
	return gp__refuse(info, ODVGP_E_ARG, "server", "is NULL or not filled");
}

static size_t gp__scratch_size(
		const odvgp_server *s, ptrdiff_t rows, int sampling, odvgp_info *info)
{
	const char *what = sampling ? "n" : "rows";
	if (!gp__served(s)) return gp__no_size(gp__not_served(info));
	if (rows < 1)
		return gp__no_size(
				gp__fail(info, ODVGP_E_ARG, what, -1, (gp__wide)rows, "must be above 0"));
	if (!sampling && gp__layer_of(s)->layers > 1) rows = GP__MIN(rows, gp__predict_most(s));
	size_t bytes = gp__predict_size(s, rows, sampling);
	return bytes ? bytes : gp__too_large(info, what);
}

ODVGP_API size_t odvgp_predict_scratch(const odvgp_server *s, ptrdiff_t rows, odvgp_info *info)
{
	return gp__scratch_size(s, rows, 0, info);
}

ODVGP_API size_t odvgp_sample_scratch(const odvgp_server *s, ptrdiff_t n, odvgp_info *info)
{
	return gp__scratch_size(s, n, 1, info);
}

/*	Most rows whose tile fits `bytes`, by bisection; 0: none. */
static ptrdiff_t gp__predict_rows(const odvgp_server *s, ptrdiff_t n, size_t bytes)
{
	/* few rows are faster one by one, larger tiles are no faster */
	ptrdiff_t low = 0, high = (n <= 8 ? 1 : GP__MIN(n, gp__predict_most(s))) + 1;
	for (ptrdiff_t rows = high - 1; low + 1 < high; rows = (low + high) / 2) {
		size_t need = gp__predict_size(s, rows, 0);
		if (need && need <= bytes) low = rows;
		else high = rows;
	}
	return low;
}

/* --- one tile: features, mean, variance --- */

/*	The caller's scratch: the same bytes hold the same, whatever its alignment. */
static gp__arena gp__scratch_arena(void *scratch, size_t bytes)
{
	gp__arena a;
	gp__arena_init(&a, scratch, bytes);
	a.size = bytes > 64 ? (bytes - 64) / 64 * 64 : 0;
	return a;
}

/*	A layer's state, in scratch to save stack. NULL: too small. */
static gp__prediction *gp__predict_begin(
		const odvgp_server *s, ptrdiff_t rows, int sampling, gp__arena scratch)
{
	gp__prediction *t = GP__TAKE(&scratch, gp__prediction, 1);
	if (!t) return NULL;
	gp__predict_layout(&scratch, s, rows, sampling, t);
	if (scratch.bad) return NULL;
	gp__kernel_unpack(gp__predictor_kernel(t->p), t->p->base_kernels, t->kernel);
	gp__kernel_job(t->job, &t->blas, t->kernel, t->v.hyp, t->X, 0, NULL, 0);
	t->job->chunks = t->chunk_memory;
	t->chunk = gp__chunk_of_task(t->job, 0, 0);
	gp__points_at(t->kernel, t->point, 1, t->job->u);
	return t;
}

static void gp__predict_unit(gp__prediction *t, ptrdiff_t k)
{
	t->first = k * t->P;
	t->has_var = 0;
	if (t->p->units == 1) return;
	t->v = gp__view_of(t->p, k);
	t->job->hyp = t->v.hyp;
}

/*	Returns the rows that n inputs make. */
static ptrdiff_t gp__predict_inputs(gp__prediction *t, const odvgp_real *X, ptrdiff_t n)
{
	const gp__patches *p = &t->p->patches;
	ptrdiff_t D = t->p->D, rows = gp__rows_of_input(p);
	GP__FOR(i, n) {
		odvgp_real *x = GP__DESK && p->image_output ? t->patches : t->X + i * D;
		GP__FOR(d, D) x[d] = (X[i * D + d] - t->v.x_mean[d]) / t->v.x_scale[d];
		if (GP__DESK && p->image_output) gp__patches_move(p, x, NULL, t->X + i * rows * t->D);
	}
	return n * rows;
}

/*	Choose m prepared points, by columns, for kernel values. */
static void gp__predict_points(
		gp__prediction *t, odvgp_real *points, ptrdiff_t m, odvgp_real *centre)
{
	t->job->centre = centre;
	t->job->m = m;
	t->job->ld = gp__points_ld(m);
	gp__points_at(t->kernel, points, t->job->ld, t->job->zt);
}

/*	Prepare n points of X by columns and choose them. */
static void gp__predict_columns(gp__prediction *t, const odvgp_real *X, ptrdiff_t n)
{
	gp__predict_points(t, t->by_columns, n, t->v.beta_centre);
	gp__zero(t->by_columns, t->p->columns * t->job->ld + GP__POINTS_BEYOND);
	gp__points_place(t->kernel, t->v.hyp, X, n, t->v.beta_centre, t->by_columns, t->job->ld);
}

/*	The point x becomes the one of kernel values. It is row i of X1. */
static void gp__predict_point(gp__prediction *t, const odvgp_real *x, ptrdiff_t i)
{
	t->job->first = i;
	gp__points_place(t->kernel, t->v.hyp, x, 1, t->job->centre, t->point, 1);
}

/*	Its kernel values with the chunk of points from j on. */
static const odvgp_real *gp__predict_chunk(gp__prediction *t, ptrdiff_t j)
{
	return gp__chunk_forward(t->job, &t->chunk, 0, j, NULL);
}

/*	t->row <- sum_t w_t k(patch t, Z) for image i. */
static void gp__predict_image(gp__prediction *t, ptrdiff_t i)
{
	const gp__patches *p = &t->p->patches;
	ptrdiff_t D = gp__patch_columns(p, 0), m = t->job->m;
	gp__patches_move(p, t->X + i * t->p->D, NULL, t->patches);
	gp__zero(t->row, m);
	GP__FOR(r, gp__patches_count(p)) {
		gp__predict_point(t, t->patches + r * D, i);
		for (ptrdiff_t j = 0; j < m; j += GP__CHUNK)
			t->blas.isa->axpy(GP__MIN(m - j, GP__CHUNK), t->v.weights[r], gp__predict_chunk(t, j),
					t->row + j);
	}
}

/*	Row i of k(x,Z) for the chosen points Z goes to `to` [m]; its products with coefficients [P,m]
	are added to the mean. Either may be NULL. */
static void gp__predict_row(
		gp__prediction *t, ptrdiff_t i, const odvgp_real *coefficients, odvgp_real *to)
{
	ptrdiff_t P = coefficients ? t->P : 0, m = t->job->m, at = t->first * t->ld + i;
	odvgp_real *sums = t->var + at, *mean = t->mean + at;
	int image = gp__patches_summed(&t->p->patches) != 0;
	ODVGP_ASSERT(!t->has_var);
	if (image) gp__predict_image(t, i);
	else gp__predict_point(t, t->X + i * t->D, i);
	GP__FOR(q, P) sums[q * t->ld] = 0;
	for (ptrdiff_t j = 0; j < m; j += GP__CHUNK) {
		ptrdiff_t cols = GP__MIN(m - j, GP__CHUNK);
		const odvgp_real *k = image ? t->row + j : gp__predict_chunk(t, j);
		if (to) gp__copy(to + j, k, cols);
		GP__FOR(q, P) sums[q * t->ld] += t->blas.isa->dot(cols, k, coefficients + q * m + j);
	}
	GP__FOR(q, P) mean[q * t->ld] += sums[q * t->ld];
}

static void gp__predict_mean_function(gp__prediction *t, ptrdiff_t n)
{
	int has_A = gp__mean_functions[t->p->mean_function].A,
		has_b = gp__mean_functions[t->p->mean_function].b;
	if (t->p->mean_function == ODVGP_MEAN_FUNCTION_ZERO) return;
	GP__FOR(q, t->P)
		GP__FOR(i, n) {
			const odvgp_real *x = t->X + i * t->D;
			odvgp_real m = has_b ? t->v.b[q] : has_A ? 0 : x[q];
			for (ptrdiff_t d = 0; has_A && d < t->D; d++) m += x[d] * t->v.A[d * t->P + q];
			t->mean[(t->first + q) * t->ld + i] += m;
		}
}

/*	A tile's means, in training units, to t->mean; with `features` K(X,Zb) to t->A. */
static void gp__predict_mean(gp__prediction *t, ptrdiff_t n, int features)
{
	const gp__predictor *p = t->p;
	ptrdiff_t M = p->M;
	t->job->X2 = NULL; /* no point is a row of X */
	GP__FOR(q, t->P) gp__zero(t->mean + (t->first + q) * t->ld, n);
	gp__predict_points(t, t->v.beta, M, t->v.beta_centre);
	for (ptrdiff_t i = 0; i < n && (features || !p->no_alpha); i++)
		gp__predict_row(t, i, p->no_alpha ? NULL : t->v.alpha, features ? t->A + i * M : NULL);
	gp__predict_points(t, t->v.gamma, p->M_gamma, t->v.gamma_centre);
	for (ptrdiff_t i = 0; i < n && p->M_gamma; i++) gp__predict_row(t, i, t->v.a_gamma, NULL);
	gp__predict_mean_function(t, n);
}

/*	x <- L^-1 x for a contiguous vector, in blocks of rows. A block first subtracts its products
	with all solved numbers, which are independent; only then each row waits for the one before. */
static void gp__solve_vector(
		const odvgp__simd *isa, ptrdiff_t n, const odvgp_real *L, ptrdiff_t ldl, odvgp_real *x)
{
	for (ptrdiff_t from = 0; from < n; from += GP__MAX_LANES) {
		ptrdiff_t to = GP__MIN(n, from + GP__MAX_LANES);
		odvgp_real inverse[GP__MAX_LANES];
		GP__FROM(i, from, to) {
			inverse[i - from] = 1 / L[i * ldl + i];
			x[i] -= isa->dot(from, L + i * ldl, x);
		}
		GP__FROM(i, from, to) {
			odvgp_real sum = x[i];
			GP__FROM(j, from, i) sum -= L[i * ldl + j] * x[j];
			x[i] = sum * inverse[i - from];
		}
	}
}

/*	x <- L^-1 x for each row x of X [n,M]. */
static void gp__predict_solve(gp__prediction *t, ptrdiff_t n, const odvgp_real *L, odvgp_real *X)
{
	ptrdiff_t M = t->p->M;
	if (n == 1) gp__solve_vector(t->blas.isa, M, L, M, X);
	else odvgp_trsm(&t->blas, 1, 1, n, M, L, M, X, M);
}

/*	n rows of T <- A R for one block R [m,m], lower, of a covariance factor. */
static void gp__predict_product(gp__prediction *t, ptrdiff_t n, ptrdiff_t m, const odvgp_real *R,
		const odvgp_real *A, odvgp_real *T)
{
	const odvgp__simd *isa = t->blas.isa;
	ptrdiff_t M = t->p->M;
	if (n == 1) {
		gp__zero(T, m);
		GP__FOR(p, m) isa->axpy(p + 1, A[p], R + p * m, T);
		return;
	}
	gp__mm g = gp__mm_make(0, 0, n, m, m, 1, A, M, R, m, 0, T, M);
	g.b_part = GP__LOWER;
	gp__mm_run(&t->blas, &g);
}

/*	T of output q: q_sqrt^T A, added to the variance, or L_H^-1 B_sqrt^T k, subtracted. */
static void gp__predict_by_factor(gp__prediction *t, ptrdiff_t n, ptrdiff_t q)
{
	ptrdiff_t M = t->p->M, Mr = t->p->M_factor, Mv = M - Mr;
	if (t->p->factor == GP__DIAGONAL_OF_INVERSE) {
		GP__FOR(i, n)
			GP__FOR(j, M) t->T[i * M + j] = t->v.factor[q * M + j] * t->A[i * M + j];
	} else if (t->p->factor == GP__FACTOR_OF_PRECISION) {
		gp__copy(t->T, t->A, n * M);
		gp__predict_solve(t, n, t->v.factor + q * M * M, t->T);
	} else {
		gp__predict_product(t, n, Mr, t->v.factor + q * Mr * Mr, t->A, t->T);
		if (Mv) gp__predict_product(t, n, Mv, t->v.factor_v + q * Mv * Mv, t->A + Mr, t->T + Mr);
	}
	if (!gp__is_dense(t->p)) gp__predict_solve(t, n, t->v.L + q * M * M, t->T);
}

/*	k(x_i,x_j) of two images. */
static odvgp_real gp__predict_image_cov(gp__prediction *t, ptrdiff_t i, ptrdiff_t j)
{
	const gp__patches *p = &t->p->patches;
	const odvgp_real *w = t->v.weights;
	ptrdiff_t T = gp__patches_count(p), D = gp__patch_columns(p, 0);
	odvgp_real sum = 0;
	int one = i == j;
	gp__patches_move(p, t->X + j * t->p->D, NULL, t->patches);
	gp__predict_columns(t, t->patches, T);
	if (!one) gp__patches_move(p, t->X + i * t->p->D, NULL, t->patches);
	/* of one image, the triangle: entries before the diagonal count twice */
	t->job->X2 = one ? t->job->X1 : NULL;
	GP__FOR(r, T) {
		gp__predict_point(t, t->patches + r * D, r);
		for (ptrdiff_t s = 0; s < (one ? r + 1 : T); s += GP__CHUNK) {
			const odvgp_real *k = gp__predict_chunk(t, s);
			ptrdiff_t before = GP__MIN((one ? r : T) - s, GP__CHUNK);
			sum += (one ? 2 : 1) * w[r] * t->blas.isa->dot(before, k, w + s);
			if (one && r - s < GP__CHUNK) sum += w[r] * w[r] * k[r - s];
		}
	}
	return sum;
}

static odvgp_real gp__predict_prior(gp__prediction *t, ptrdiff_t i)
{
	odvgp_real node[GP__MAX_NODES];
	if (gp__patches_summed(&t->p->patches)) return gp__predict_image_cov(t, i, i);
	return gp__kernel_diag(t->kernel, t->v.hyp, t->X + i * t->D, node);
}

/*	k(x,x) and, if all outputs share L, A and max(k(x,x) - |A|^2, 0). NaN stays NaN. */
static void gp__predict_features(gp__prediction *t, ptrdiff_t n)
{
	ptrdiff_t M = t->p->M;
	odvgp_real *prior = t->prior + t->first * t->ld;
	GP__FOR(i, n) prior[i] = gp__predict_prior(t, i);
	if (!gp__is_dense(t->p)) return;
	gp__predict_solve(t, n, t->v.L, t->A);
	GP__FOR(i, n)
		t->square[i] = GP__MAX(0, prior[i] - t->blas.isa->dot(M, t->A + i * M, t->A + i * M));
}

/*	The variance of process q of the unit, and its T. NaN stays NaN here, too. */
static void gp__predict_process_var(gp__prediction *t, ptrdiff_t n, ptrdiff_t q)
{
	ptrdiff_t M = t->p->M, at = t->first * t->ld;
	int dense = gp__is_dense(t->p);
	t->has_var = 1;
	gp__predict_by_factor(t, n, q);
	GP__FOR(i, n) {
		odvgp_real sum = t->blas.isa->dot(M, t->T + i * M, t->T + i * M);
		t->var[at + q * t->ld + i] =
				dense ? sum + t->square[i] : GP__MAX(0, t->prior[at + i] - sum);
	}
}

static void gp__predict_var(gp__prediction *t, ptrdiff_t n)
{
	gp__predict_features(t, n);
	GP__FOR(q, t->P) gp__predict_process_var(t, n, q);
}

/* --- units of the targets, checks --- */

static const gp__likelihood *gp__predict_likelihood(const gp__prediction *t)
{
	return &gp__likelihoods[t->p->likelihood];
}

/*	The scale of function q's target if f scales with y, else 1. */
static odvgp_real gp__predict_scale(const gp__prediction *t, ptrdiff_t q)
{
	return gp__predict_likelihood(t)->flags & GP__LIK_SCALABLE ? t->v.y_scale[q] : 1;
}

/*	Function q's value x in units of y. */
static odvgp_real gp__predict_unscale(const gp__prediction *t, ptrdiff_t q, odvgp_real x)
{
	return gp__predict_likelihood(t)->flags & GP__LIK_SCALABLE
				   ? t->v.y_mean[q] + t->v.y_scale[q] * x
				   : x;
}

static gp__lik_job gp__predict_lik_job(const gp__prediction *t, ptrdiff_t n)
{
	gp__lik_job job;
	memset(&job, 0, sizeof job);
	job.lik = gp__predict_likelihood(t);
	job.isa = t->blas.isa;
	job.classes = t->p->classes;
	job.rule = t->v.rule;
	job.H = t->p->nodes;
	job.work = t->work;
	job.n = n;
	job.F = t->p->F;
	job.T = t->p->T;
	job.ld = t->ld;
	job.Y = t->y;
	job.mean = t->mean;
	job.var = t->var;
	job.par = t->v.lik_params;
	job.noises = t->p->lik_params;
	return job;
}

static odvgp_status gp__rows_finite(const odvgp_real *X, ptrdiff_t n, ptrdiff_t D, odvgp_info *info)
{
	ptrdiff_t bad = gp__first_nonfinite(X, n * D);
	if (bad < 0) return ODVGP_OK;
	return gp__fail(info, ODVGP_E_NAN, "X", bad / D, (gp__wide)X[bad], "a row is not finite");
}

static odvgp_status gp__predict_check(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n,
		const void *scratch, odvgp_info *info)
{
	const gp__predictor *p = gp__served(s);
	if (!p) return gp__not_served(info);
	if (n && (!X || !scratch)) return gp__is_null(info, X ? "scratch" : "X");
	if (n < 0) return gp__fail(info, ODVGP_E_ARG, "n", -1, (gp__wide)n, "is out of range");
	if (n > PTRDIFF_MAX / 64 / (p->columns + s->D + GP__MAX(s->P, s->T) + 3))
		return gp__fail(info, ODVGP_E_SIZE, "n", -1, (gp__wide)n, "is too large");
	return gp__rows_finite(X, n, p->D, info);
}

static odvgp_status gp__scratch_small(odvgp_info *info)
{
	return gp__refuse(info, ODVGP_E_MEMORY, "scratch", "is too small");
}

/*	What a call computes from the last layer's moments. Outputs may be NULL. */
typedef struct gp__prediction_call {
	const odvgp_server *s;
	const odvgp_real *X, *Y; /* Y: for densities */
	ptrdiff_t n, bad;        /* bad: a row whose result is not finite, or -1 */
	odvgp_real *mean, *var, *mean_y, *var_y, *logp;
	/* use rows [first, first + count), whose prediction is t, of sample k */
	void (*use)(struct gp__prediction_call *c, gp__prediction *t, ptrdiff_t first, ptrdiff_t count,
			ptrdiff_t k);
	gp__between_layers between;
} gp__prediction_call;

static gp__prediction_call gp__predict_call(
		const odvgp_server *s, const odvgp_real *X, const odvgp_real *Y, ptrdiff_t n)
{
	gp__prediction_call c;
	memset(&c, 0, sizeof c);
	c.s = s;
	c.X = X;
	c.Y = Y;
	c.n = n;
	c.bad = -1;
	return c;
}

/*	Note the row of the first of x [count,D] that is not finite. */
static void gp__predict_note(
		gp__prediction_call *c, const odvgp_real *x, ptrdiff_t first, ptrdiff_t count, ptrdiff_t D)
{
	ptrdiff_t bad = gp__first_nonfinite(x, count * D);
	if (bad >= 0) c->bad = first + bad / D;
}

static odvgp_status gp__predict_result(ptrdiff_t bad, odvgp_info *info)
{
	if (bad < 0) return ODVGP_OK;
	return gp__fail(info, ODVGP_E_NAN, "prediction", bad, NAN, "a result is not finite");
}

/* --- layers and passes --- */

/*	Inputs [rows,width] of the next layer: sample k of Gaussians with these moments [P,ld]. */
static void gp__predict_sample(const gp__predictor *p, const odvgp_real *mean,
		const odvgp_real *var, ptrdiff_t ld, ptrdiff_t rows, ptrdiff_t k, odvgp_real *x)
{
	ptrdiff_t P = p->P, width = gp__predictor_width(p);
	uint64_t seed = p->seed[0] | (uint64_t)p->seed[1] << 32;
	GP__FOR(d, width) {
		const ptrdiff_t from = d % P * ld + d / P, step = width / P;
		odvgp_real z =
				(odvgp_real)gp__normal(seed, (uint64_t)p->layers, (uint64_t)(k / 2 * width + d));
		if (k % 2) z = -z;
		GP__FOR(i, rows)
			x[i * width + d] = mean[from + i * step] + GP__SQRT(var[from + i * step]) * z;
	}
}

/*	out [F,n] <- W x, or (W o W) x with `squares`, for W [F,P]. */
static void gp__mix_rows(const odvgp__simd *isa, ptrdiff_t F, ptrdiff_t P, const odvgp_real *W,
		int squares, ptrdiff_t n, const odvgp_real *x, ptrdiff_t ldx, odvgp_real *out,
		ptrdiff_t ldo)
{
	GP__FOR(f, F) {
		gp__zero(out + f * ldo, n);
		GP__FOR(p, P) {
			odvgp_real w = W[f * P + p];
			isa->axpy(n, squares ? w * w : w, x + p * ldx, out + f * ldo);
		}
	}
}

/*	Mix P rows of x, n columns, to F rows; nothing unless the model does. */
static void gp__predict_mix(
		gp__prediction *t, int squares, odvgp_real *x, ptrdiff_t n, ptrdiff_t ld)
{
	ptrdiff_t P = t->p->P;
	for (ptrdiff_t j = 0; j < n && GP__DESK && t->p->mixed; j += t->ld) {
		ptrdiff_t cols = GP__MIN(n - j, t->ld);
		GP__FOR(q, P) gp__copy(t->latent + q * t->ld, x + q * ld + j, cols);
		gp__mix_rows(
				t->blas.isa, t->p->F, P, t->v.mixing, squares, cols, t->latent, t->ld, x + j, ld);
	}
}

/*	One layer's moments of a tile in t->mean and t->var. */
static void gp__predict_layer(gp__prediction *t, const odvgp_real *X, ptrdiff_t n, int variances)
{
	n = gp__predict_inputs(t, X, n);
	GP__FOR(k, t->p->units) {
		gp__predict_unit(t, k);
		/* with variances only, too: some likelihoods need the mean for them */
		gp__predict_mean(t, n, variances);
		if (variances) gp__predict_var(t, n);
	}
	gp__predict_mix(t, 0, t->mean, n, t->ld);
	if (variances) gp__predict_mix(t, 1, t->var, n, t->ld);
}

/*	A tile through all layers, once per sample; a: c->between is taken from it. */
static void gp__predict_stack(gp__prediction_call *c, ptrdiff_t first, ptrdiff_t count,
		ptrdiff_t rows, const gp__arena *a)
{
	const gp__predictor *p = gp__layer_of(c->s);
	odvgp_server bottom = gp__layer_server(p, c->s->isa);
	gp__between_layers *b = &c->between;
	gp__prediction *t = gp__predict_begin(&bottom, rows, 0, *a);
	ODVGP_ASSERT(t);
	gp__predict_layer(t, c->X + first * bottom.D, count, 1);
	ptrdiff_t ld = t->ld;
	ODVGP_ASSERT(b->mean && b->var);
	gp__copy(b->mean, t->mean, bottom.P * ld);
	gp__copy(b->var, t->var, bottom.P * ld);
	GP__FOR(k, p->samples) {
		gp__predict_sample(p, b->mean, b->var, ld, count, k, b->x);
		for (odvgp_server layer = gp__layer_above(&bottom);; layer = gp__layer_above(&layer)) {
			t = gp__predict_begin(&layer, rows, 0, *a);
			ODVGP_ASSERT(t);
			gp__predict_layer(t, b->x, count, 1);
			if (t->p->layers == 1) break;
			gp__predict_sample(t->p, t->mean, t->var, t->ld, count, k, b->x);
		}
		c->use(c, t, first, count, k);
	}
}

static odvgp_status gp__predict_run(
		gp__prediction_call *c, void *scratch, size_t bytes, odvgp_info *info)
{
	ptrdiff_t rows = gp__predict_rows(c->s, c->n, bytes);
	int variances = c->var || c->mean_y || c->var_y || c->logp;
	gp__prediction *t = NULL;
	gp__arena a = gp__scratch_arena(scratch, bytes);
	int deep = GP__DESK && gp__layer_of(c->s)->layers > 1;
	if (!rows || (deep && bytes < gp__predict_size(c->s, rows, 0))) return gp__scratch_small(info);
	if (deep) gp__between_layout(&a, c->s, rows, 0, &c->between);
	else if (!(t = gp__predict_begin(c->s, rows, 0, a))) return gp__scratch_small(info);
	for (ptrdiff_t first = 0; first < c->n; first += rows) {
		ptrdiff_t count = GP__MIN(rows, c->n - first);
		if (deep) gp__predict_stack(c, first, count, rows, &a);
		else {
			gp__predict_layer(t, c->X + first * c->s->D, count, variances);
			c->use(c, t, first, count, 0);
		}
	}
	return gp__predict_result(c->bad, info);
}

/*	Mix moments m and v [rows,ld] of sample k, in units of y, into mean and var [rows,n] of those
	before it. run [rows,ld]: their mean; NULL for a single sample. mean and var may be NULL, m too
	if mean and run are. */
static void gp__use_rows(gp__prediction_call *c, const gp__prediction *t, ptrdiff_t first,
		ptrdiff_t count, ptrdiff_t k, ptrdiff_t rows, const odvgp_real *m, const odvgp_real *v,
		odvgp_real *run, odvgp_real *mean, odvgp_real *var)
{
	const odvgp_real share = 1 / (odvgp_real)(k + 1);
	ODVGP_ASSERT(!k || run);
	GP__FOR(q, rows) {
		odvgp_real scale = gp__predict_scale(t, q);
		GP__FOR(i, count) {
			ptrdiff_t at = q * c->n + first + i, from = q * t->ld + i;
			odvgp_real x = m ? gp__predict_unscale(t, q, m[from]) : 0, d = k ? x - run[from] : 0;
			if (var) {
				odvgp_real own = scale * scale * v[from];
				var[at] = k ? var[at] + share * (own - var[at] + (1 - share) * d * d) : own;
			}
			if (k) x = run[from] + share * d;
			if (run) run[from] = x;
			if (mean) mean[at] = x;
		}
		if (mean) gp__predict_note(c, mean + q * c->n + first, first, count, 1);
		if (var) gp__predict_note(c, var + q * c->n + first, first, count, 1);
	}
}

/* --- odvgp_predict, odvgp_predict_y, odvgp_predict_functions --- */

static void gp__use_moments(
		gp__prediction_call *c, gp__prediction *t, ptrdiff_t first, ptrdiff_t count, ptrdiff_t k)
{
	const gp__between_layers *b = &c->between;
	if (c->mean || c->var)
		gp__use_rows(c, t, first, count, k, c->s->F, t->mean, t->var, b->f, c->mean, c->var);
	if (!c->mean_y && !c->var_y) return;
	gp__lik_job job = gp__predict_lik_job(t, count);
	odvgp_real *y = c->mean_y || b->y ? t->y : NULL;
	job.lik->y_moments(&job, y, t->of_y);
	gp__use_rows(c, t, first, count, k, c->s->y_rows, y, t->of_y, b->y, c->mean_y, c->var_y);
}

static odvgp_status gp__predict_moments(
		gp__prediction_call *c, void *scratch, size_t scratch_bytes, odvgp_info *info)
{
	odvgp_status status = gp__predict_check(c->s, c->X, c->n, scratch, info);
	c->use = gp__use_moments;
	return status || c->n == 0 ? status : gp__predict_run(c, scratch, scratch_bytes, info);
}

ODVGP_API odvgp_status odvgp_predict(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean, odvgp_real *var, void *scratch, size_t scratch_bytes, odvgp_info *info)
{
	gp__prediction_call c = gp__predict_call(s, X, NULL, n);
	c.mean = mean;
	c.var = var;
	return gp__predict_moments(&c, scratch, scratch_bytes, info);
}

ODVGP_API odvgp_status odvgp_predict_y(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean_y, odvgp_real *var_y, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	gp__prediction_call c = gp__predict_call(s, X, NULL, n);
	c.mean_y = mean_y;
	c.var_y = var_y;
	return gp__predict_moments(&c, scratch, scratch_bytes, info);
}

/*	c->var is the covariance [F,F,n]. */
static void gp__use_functions(
		gp__prediction_call *c, gp__prediction *t, ptrdiff_t first, ptrdiff_t count, ptrdiff_t k)
{
	ptrdiff_t F = c->s->F, P = t->p->mixed ? c->s->P : 0;
	if (c->mean) gp__use_rows(c, t, first, count, k, F, t->mean, NULL, NULL, c->mean, NULL);
	GP__FOR(j, F * F) {
		ptrdiff_t f = j / F, g = j % F;
		odvgp_real *cov = c->var + j * c->n + first;
		GP__FOR(i, count) {
			odvgp_real sum = !P && f == g ? t->var[f * t->ld + i] : 0;
			GP__FOR(q, P)
				sum += t->v.mixing[f * P + q] * t->v.mixing[g * P + q] * t->latent[q * t->ld + i];
			cov[i] = gp__predict_scale(t, f) * gp__predict_scale(t, g) * sum;
		}
		gp__predict_note(c, cov, first, count, 1);
	}
}

static odvgp_status gp__predict_cov_check(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n,
		const odvgp_real *cov, const void *scratch, odvgp_info *info)
{
	odvgp_status status = gp__predict_check(s, X, n, scratch, info);
	if (status || n == 0) return status;
	if (!cov) return gp__is_null(info, "cov");
	if (gp__layer_of(s)->layers == 1) return ODVGP_OK;
	return gp__unsupported(info, "server", "covariances need a model of one layer");
}

ODVGP_API odvgp_status odvgp_predict_functions(const odvgp_server *s, const odvgp_real *X,
		ptrdiff_t n, odvgp_real *mean, odvgp_real *cov, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	odvgp_status status = gp__predict_cov_check(s, X, n, cov, scratch, info);
	gp__prediction_call c = gp__predict_call(s, X, NULL, n);
	c.mean = mean;
	c.var = cov;
	c.use = gp__use_functions;
	return status || n == 0 ? status : gp__predict_run(&c, scratch, scratch_bytes, info);
}

/* --- odvgp_predict_logp --- */

static const gp__predictor *gp__last_layer(const odvgp_server *s)
{
	const gp__predictor *p = gp__layer_of(s);
	while (p->layers > 1) p = gp__predictor_above(p);
	return p;
}

static gp__y_row gp__served_row(const gp__predictor *p)
{
	gp__y_row row;
	memset(&row, 0, sizeof row);
	row.lik = &gp__likelihoods[p->likelihood];
	row.T = p->T;
	row.classes = p->classes;
	row.weights = (int)p->weights;
	row.scale = (int)p->scale;
	return row;
}

/*	Targets of n rows of C columns to t->y, transposed, in training units. Exposure moves means. */
static void gp__predict_targets(gp__prediction *t, const odvgp_real *Y, ptrdiff_t n, ptrdiff_t C)
{
	ptrdiff_t T = t->p->T;
	int gaussian = gp__predict_likelihood(t)->flags & GP__LIK_GAUSSIAN;
	GP__FOR(q, T)
		GP__FOR(i, n) t->y[q * t->ld + i] = (Y[i * C + q] - t->v.y_mean[q]) / t->v.y_scale[q];
	if (t->scale)
		GP__FOR(i, n) t->scale[i] = Y[i * C + C - 1];
	if (t->scale && !gaussian)
		GP__FOR(q, T)
			GP__FOR(i, n) t->mean[q * t->ld + i] += (odvgp_real)gp__log((gp__wide)t->scale[i]);
}

/*	logp holds sum_k exp(l_k - top) over samples, in the end top + log of their mean. */
static void gp__use_densities(
		gp__prediction_call *c, gp__prediction *t, ptrdiff_t first, ptrdiff_t count, ptrdiff_t k)
{
	ptrdiff_t T = c->s->T, S = (ptrdiff_t)((const gp__predictor *)c->s->block)->samples;
	odvgp_real *top = c->between.top;
	gp__y_row row = gp__served_row(t->p);
	ptrdiff_t C = gp__y_columns(&row);
	gp__predict_targets(t, c->Y + first * C, count, C);
	gp__lik_job job = gp__predict_lik_job(t, count);
	if (job.lik->flags & GP__LIK_GAUSSIAN) job.noise = t->scale;
	gp__log_density(&job, t->of_y);
	GP__FOR(i, count) {
		odvgp_real sum = 0, *logp = c->logp + first + i;
		GP__FOR(q, T) {
			sum += t->of_y[q * t->ld + i];
			sum -= (odvgp_real)gp__log((gp__wide)t->v.y_scale[q]);
		}
		if (!top) {
			*logp = sum;
			continue;
		}
		if (!k || sum > top[i]) {
			*logp = k ? *logp * (odvgp_real)gp__exp((gp__wide)(top[i] - sum)) + 1 : 1;
			top[i] = sum;
		} else *logp += (odvgp_real)gp__exp((gp__wide)(sum - top[i])); /* NaN stays NaN */
		if (k + 1 == S) *logp = top[i] + (odvgp_real)gp__log((gp__wide)*logp / (gp__wide)S);
	}
	gp__predict_note(c, c->logp + first, first, count, 1);
}

ODVGP_API odvgp_status odvgp_predict_logp(const odvgp_server *s, const odvgp_real *X,
		const odvgp_real *Y, ptrdiff_t n, odvgp_real *logp, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	odvgp_status status = gp__predict_check(s, X, n, scratch, info);
	gp__prediction_call c = gp__predict_call(s, X, Y, n);
	c.logp = logp;
	c.use = gp__use_densities;
	if (status || n == 0) return status;
	if (!Y || !logp) return gp__is_null(info, Y ? "logp" : "Y");
	gp__y_row row = gp__served_row(gp__last_layer(s));
	if ((status = gp__targets_check(&row, Y, n, 0, info))) return status;
	return gp__predict_run(&c, scratch, scratch_bytes, info);
}

/* --- odvgp_predict_cov --- */

/*	Lower triangle of C [n,n] <- K(X,X). */
static void gp__predict_prior_cov(gp__prediction *t, ptrdiff_t n, odvgp_real *C)
{
	int images = gp__patches_summed(&t->p->patches) != 0;
	if (!images) gp__predict_columns(t, t->X, n);
	t->job->X2 = t->X;
	GP__FOR(i, n) {
		odvgp_real *row = C + i * n;
		if (!images) gp__predict_point(t, t->X + i * t->D, i);
		for (ptrdiff_t j = 0; j <= i; j += images ? 1 : GP__CHUNK)
			if (images) row[j] = gp__predict_image_cov(t, i, j);
			else gp__copy(row + j, gp__predict_chunk(t, j), GP__MIN(i + 1 - j, GP__CHUNK));
	}
}

/*	t->mean [P,n], cov [P,n,n] of the processes, and k(x,x) in t->prior. Returns the rows n. */
static ptrdiff_t gp__predict_cov(
		gp__prediction *t, const odvgp_real *X, ptrdiff_t n, odvgp_real *cov)
{
	ptrdiff_t M = t->p->M, all = t->p->P;
	int dense = gp__is_dense(t->p);
	n = gp__predict_inputs(t, X, n);
	GP__FOR(p, all) { /* K - A A^T + T T^T, or K - T T^T */
		odvgp_real *C = cov + p * n * n;
		if (p % t->P == 0) {
			gp__predict_unit(t, p / t->P);
			gp__predict_mean(t, n, 1);
			gp__predict_features(t, n);
		}
		gp__predict_prior_cov(t, n, C);
		gp__predict_by_factor(t, n, p % t->P);
		odvgp_syrk(&t->blas, 0, n, M, -1, dense ? t->A : t->T, M, NULL, 1, C, n);
		/* NaN stays NaN */
		GP__FOR(i, n) C[i * n + i] = GP__MAX(0, C[i * n + i]);
		if (dense) odvgp_syrk(&t->blas, 0, n, M, 1, t->T, M, NULL, 1, C, n);
		GP__FOR(i, n)
			GP__FOR(j, i + 1) C[j * n + i] = C[i * n + j];
	}
	ODVGP_ASSERT(t->ld == n);
	return n;
}

/*	The processes' means or samples f [P,n], and their cov [P,n,n], unless NULL, become the
	functions' [F,n] and [F,n,n], in units of y. */
static void gp__to_functions(gp__prediction *t, ptrdiff_t n, odvgp_real *f, odvgp_real *cov)
{
	gp__predict_mix(t, 0, f, n, n);
	if (cov) gp__predict_mix(t, 1, cov, n * n, n * n);
	GP__FOR(q, t->p->F) {
		odvgp_real scale = gp__predict_scale(t, q) * gp__predict_scale(t, q);
		GP__FOR(i, n) f[q * n + i] = gp__predict_unscale(t, q, f[q * n + i]);
		if (cov)
			GP__FOR(i, n * n) cov[q * n * n + i] *= scale;
	}
}

/*	The first row of mean [F,n], or NULL, or cov [F,n,n] that is not finite, or -1. */
static ptrdiff_t gp__functions_bad(
		ptrdiff_t F, ptrdiff_t n, const odvgp_real *mean, const odvgp_real *cov)
{
	GP__FOR(i, n)
		GP__FOR(q, F)
			if ((mean && !gp__finite(mean + q * n + i, 1)) ||
					!gp__finite(cov + (q * n + i) * n, i + 1))
				return i;
	return -1;
}

ODVGP_API odvgp_status odvgp_predict_cov(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean, odvgp_real *cov, void *scratch, size_t scratch_bytes, odvgp_info *info)
{
	odvgp_status status = gp__predict_cov_check(s, X, n, cov, scratch, info);
	if (status || n == 0) return status;
	gp__prediction *t = gp__predict_begin(s, n, 0, gp__scratch_arena(scratch, scratch_bytes));
	if (!t) return gp__scratch_small(info);
	gp__predict_cov(t, X, n, cov);
	gp__to_functions(t, n, t->mean, cov);
	if (mean) gp__copy(mean, t->mean, s->F * n);
	return gp__predict_result(gp__functions_bad(s->F, n, mean, cov), info);
}

/* --- odvgp_sample --- */

static void gp__swap(odvgp_real *a, odvgp_real *b)
{
	odvgp_real x = *a;
	*a = *b;
	*b = x;
}

/*	Pivoted Cholesky of a semi-definite C [n,n]: C[perm,perm] = L L^T, in units of each point's
	prior variance, so that rounding is relative to it. Pivots below n eps times the largest count
	as 0. L, in the order of perm, overwrites the lower triangle. n^3/3 flops. */
static void gp__pivoted_cholesky(
		ptrdiff_t n, odvgp_real *C, const odvgp_real *prior, ptrdiff_t *perm)
{
	odvgp_real largest = 0;
	GP__FOR(i, n) {
		perm[i] = i;
		GP__FOR(j, n)
			if (prior[i] > 0 && prior[j] > 0)
				C[i * n + j] /= GP__SQRT(prior[i]) * GP__SQRT(prior[j]);
		largest = GP__MAX(largest, C[i * n + i]);
	}
	GP__FOR(k, n) {
		ptrdiff_t best = k, keep;
		GP__FROM(i, k + 1, n)
			if (C[i * n + i] > C[best * n + best]) best = i;
		if (!(C[best * n + best] > (odvgp_real)n * GP__EPS * largest)) {
			GP__FROM(i, k, n) gp__zero(C + i * n + k, n - k);
			break;
		}
		/* swap rows and columns of the rest, rows of L */
		keep = perm[k];
		perm[k] = perm[best];
		perm[best] = keep;
		GP__FOR(j, n) gp__swap(&C[k * n + j], &C[best * n + j]);
		GP__FROM(i, k, n) gp__swap(&C[i * n + k], &C[i * n + best]);
		odvgp_real pivot = C[k * n + k] = GP__SQRT(C[k * n + k]);
		GP__FROM(i, k + 1, n) C[i * n + k] /= pivot;
		GP__FROM(i, k + 1, n)
			GP__FROM(j, k + 1, n) C[i * n + j] -= C[i * n + k] * C[j * n + k];
	}
	GP__FOR(i, n)
		GP__FOR(j, i + 1)
			if (prior[perm[i]] > 0) C[i * n + j] *= GP__SQRT(prior[perm[i]]);
}

static odvgp_status gp__sample_layer(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n,
		const odvgp_draws *draws, odvgp_real *f, gp__arena a, odvgp_info *info)
{
	ptrdiff_t inputs = n, P = s->P, F = s->F;
	gp__prediction *t = gp__predict_begin(s, n, 1, a);
	ODVGP_ASSERT(t);
	n = gp__predict_cov(t, X, n, t->cov);
	/* mixtures are sampled through the processes */
	int mixed = t->p->mixed != 0;
	if (!mixed) gp__to_functions(t, n, t->mean, t->cov);
	/* gp__pivoted_cholesky counts a NaN pivot as 0 */
	ptrdiff_t bad = gp__functions_bad(P, n, NULL, t->cov);
	GP__FOR(q, P)
		gp__pivoted_cholesky(n, t->cov + q * n * n, t->prior + q / t->P * n, t->perm + q * n);
	GP__FOR(k, draws->count) {
		odvgp_real *sample = f + k * F * n;
		GP__FOR(q, P) {
			const odvgp_real *L = t->cov + q * n * n;
			GP__FOR(i, n)
				t->normals[i] = (odvgp_real)gp__normal(
						draws->seed, GP__STREAM_SAMPLE, (uint64_t)((k * F + q) * n + i));
			GP__FOR(i, n) {
				ptrdiff_t at = q * n + t->perm[q * n + i];
				odvgp_real sum = t->mean[at];
				GP__FOR(j, i + 1) sum += L[i * n + j] * t->normals[j];
				sample[at] = sum;
			}
		}
		if (mixed) gp__to_functions(t, n, sample, NULL);
		ptrdiff_t at = gp__first_nonfinite(sample, F * n);
		if (bad < 0 && at >= 0) bad = at % n;
	}
	return gp__predict_result(bad < 0 ? bad : bad / (n / inputs), info);
}

/*	Joint samples of a stack of layers (odvgp_sample). */
static odvgp_status gp__sample_stack(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n,
		const odvgp_draws *draws, odvgp_real *f, gp__arena a, odvgp_info *info)
{
	gp__between_layers b;
	odvgp_status status = ODVGP_OK;
	gp__between_layout(&a, s, n, 1, &b);
	GP__FOR(k, draws->count) {
		const odvgp_real *from = X;
		odvgp_server layer = gp__layer_server(s->block, s->isa);
		for (ptrdiff_t left = gp__layer_of(s)->layers; left > 0; left--) {
			odvgp_draws one = {1, 0};
			one.seed = gp__random(
					draws->seed, GP__STREAM_SAMPLE, (uint64_t)(k * GP__MOST_LAYERS + left));
			odvgp_status now = gp__sample_layer(
					&layer, from, n, &one, left > 1 ? b.mean : f + k * layer.F * n, a, info);
			if (now) status = now;
			if (left == 1) break;
			ptrdiff_t all = n * gp__predictor_width(gp__layer_of(&layer));
			GP__FOR(i, all) b.x[i] = b.mean[i % layer.P * (all / layer.P) + i / layer.P];
			from = b.x;
			layer = gp__layer_above(&layer);
		}
	}
	return status;
}

ODVGP_API odvgp_status odvgp_sample(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n,
		const odvgp_draws *draws, odvgp_real *f, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	odvgp_status status = gp__predict_check(s, X, n, scratch, info);
	if (status || n == 0) return status;
	if (!draws || !f) return gp__is_null(info, draws ? "f" : "draws");
	if (draws->count == 0) return ODVGP_OK;
	if (draws->count < 0)
		return gp__fail(
				info, ODVGP_E_ARG, "draws", -1, (gp__wide)draws->count, "must not be negative");
	size_t need = odvgp_sample_scratch(s, n, info);
	if (!need) return ODVGP_E_SIZE;
	if (scratch_bytes < need) return gp__scratch_small(info);
	return (gp__layer_of(s)->layers > 1 ? gp__sample_stack : gp__sample_layer)(
			s, X, n, draws, f, gp__scratch_arena(scratch, scratch_bytes), info);
}

/* ---- >>gradient   derivatives of predictions in their inputs

	With weights alpha and a of the mean's kernel rows, and w of the variance's,

		dmean/dx = dm/dx + sum_j alpha_j dk(x,z_j)/dx + sum_j a_j dk(x,zg_j)/dx
		dvar/dx  = s dk(x,x)/dx + 2 sum_j w_j dk(x,z_j)/dx,   s = 1 where k(x,x) - |A|^2 > 0, else 0
		w = L^-T (q_sqrt q_sqrt^T A - s A)     (INVERSE, DIAGONAL: w = -s B L_H^-T T)

	A row of k(x,Z) is computed with H_j = dk/d(squared distance, or inner product). Weights c then
	give sum_j c_j H_j 2 (u_d - z_jd), or z_jd, in column d of its points: differences are taken
	before they are summed, since multiplied out they cancel at short lengthscales.

	Cost per row and output: as much as the variance's factors again, (M + Mg) D for the mean and
	M D for the variance. */

typedef struct {
	gp__prediction *t;
	const odvgp_gradient *to;
	odvgp_real *chunk;        /* of a gp__kchunk with derivatives */
	odvgp_real *value, *h;    /* [CHUNK] kernel values; weights times H */
	odvgp_real *H, *H_gamma;  /* [rows,groups,ld] of beta, [groups,ld] of a row's gamma */
	odvgp_real *w;            /* [P,rows,M] of a unit's processes */
	odvgp_real *slope;        /* [columns] derivatives in a row's points */
	odvgp_real *second;       /* [2,groups,D]; [nodes, 1 + groups + groups^2] */
	ptrdiff_t first, n;       /* the tile's first row; rows of the call */
	odvgp_real *dmean, *dvar; /* [P,rows,D] */
	odvgp_real *mixed;        /* [F,rows,D] */
} gp__gradient;

/*	Rows of CHUNK numbers of such a chunk, for up to this many base kernels. */
static ptrdiff_t gp__gradient_chunks(uint32_t base_kernels)
{
	return 3 * (ptrdiff_t)base_kernels + 2 * (2 * (ptrdiff_t)base_kernels - 1) + 1;
}

static void gp__gradient_layout(
		gp__arena *a, const gp__predictor *p, ptrdiff_t rows, gp__gradient *g)
{
	ptrdiff_t P = p->P / p->units, D = p->D, groups = (ptrdiff_t)p->base_kernels;
	g->chunk = gp__take(a, gp__gradient_chunks(p->base_kernels), GP__CHUNK);
	g->value = gp__take(a, 1, GP__CHUNK);
	g->h = gp__take(a, 1, GP__CHUNK);
	g->H = gp__take(a, groups * rows, gp__padded(p->M));
	g->H_gamma = gp__take(a, groups, gp__padded(p->M_gamma));
	g->w = gp__take(a, P * rows, p->M);
	g->slope = gp__take(a, 1, p->columns);
	g->second = gp__take(a, groups, 2 * D + 2 * (1 + groups + groups * groups));
	g->dmean = gp__take(a, p->P * rows, D);
	g->dvar = gp__take(a, p->P * rows, D);
	g->mixed = gp__take(a, p->mixed ? p->F * rows : 0, D);
}

/*	Bytes for tiles of `rows` rows, a prediction's among them; 0: too large. */
static size_t gp__gradient_size(const odvgp_server *s, ptrdiff_t rows)
{
	gp__arena a = gp__measuring();
	gp__gradient g;
	size_t own = gp__predict_size(s, rows, 0);
	gp__gradient_layout(&a, gp__layer_of(s), rows, &g);
	return own && !a.bad ? own + a.used + 64 : 0;
}

/* --- rows of kernel values with their derivatives --- */

/*	A set of points, with the weights of the mean [P,m] or NULL. */
typedef struct {
	ptrdiff_t m;
	odvgp_real *points, *centre;
	const odvgp_real *weights;
} gp__gradient_points;

static gp__gradient_points gp__gradient_beta(const gp__prediction *t)
{
	gp__gradient_points z = {
			t->p->M, t->v.beta, t->v.beta_centre, t->v.alpha};
	return z;
}

static gp__gradient_points gp__gradient_gamma(const gp__prediction *t)
{
	gp__gradient_points z = {t->p->M_gamma, t->v.gamma, t->v.gamma_centre, t->v.a_gamma};
	return z;
}

/*	Row i of X becomes the job's point, z its points, H the place of the derivatives. */
static void gp__gradient_place(
		gp__gradient *g, ptrdiff_t i, const gp__gradient_points *z, odvgp_real *H)
{
	gp__prediction *t = g->t;
	gp__predict_points(t, z->points, z->m, z->centre);
	gp__predict_point(t, t->X + i * t->D, i);
	GP__EACH_GROUP(group, t->kernel) t->job->H[group] = H + (ptrdiff_t)group * gp__padded(z->m);
}

/* --- the mean's Hessian ---

	A kernel K of its groups' squared distances (inner products) s_g has
	d2K/dx2 = sum_gh K_gh s_g' s_h'^T + sum_g K_g s_g'', point by point. */

/*	k, and its first two derivatives in a squared distance or inner product s. MATERN12 and MATERN32
	have no second one at distance 0: it counts as 0, as s' does there. */
static void gp__base_second(const gp__base_kernel *base, const odvgp_real *hyp, odvgp_real s,
		odvgp_real k, odvgp_real *first, odvgp_real *second)
{
	odvgp_real c = gp__base_scale(base, hyp), r2 = c * s, v = hyp[base->var], t, e;
	*first = *second = 0;
	switch (base->type) {
	case GP__RBF:
	case GP__PERIODIC:
		*first = GP__R(-0.5) * c * k;
		*second = GP__R(0.25) * c * c * k;
		return;
	case GP__MATERN12:
		if (!(r2 > 0)) return;
		t = GP__SQRT(r2);
		*first = GP__R(-0.5) * c * k / t;
		*second = GP__R(0.25) * c * c * k * (1 + t) / (t * r2);
		return;
	case GP__MATERN32:
		t = GP__SQRT(3 * r2);
		e = k / (1 + t);
		*first = GP__R(-1.5) * c * e;
		if (t > 0) *second = GP__R(2.25) * c * c * e / t;
		return;
	case GP__MATERN52:
		t = GP__SQRT(5 * r2);
		e = k / (1 + t + t * t / 3);
		*first = GP__R(-5) / 6 * c * (1 + t) * e;
		*second = GP__R(25) / 12 * c * c * e;
		return;
	case GP__RQ:
		t = 1 + r2 / (2 * hyp[base->shape_param]);
		*first = GP__R(-0.5) * c * k / t;
		*second = GP__R(0.25) * c * c * k * (1 + 1 / hyp[base->shape_param]) / (t * t);
		return;
	case GP__LINEAR: *first = base->ard ? 1 : v; return;
	case GP__POLYNOMIAL:
		t = v * s + hyp[base->shape_param];
		e = (odvgp_real)base->degree * v;
		for (uint32_t i = 2; i < base->degree; i++) e *= t;
		*first = base->degree > 1 ? e * t : e;
		*second = base->degree > 1 ? (odvgp_real)(base->degree - 1) * v * e : 0;
		return;
	default: return;
	}
}

/*	d [nnode, 1 + G + G G]: of each node K, K_g and K_gh for entry e of the chunk c, whose last
	node's values are in `value`. Returns those of the last node. */
static const odvgp_real *gp__kernel_second(const gp__kjob *job, const gp__kchunk *c,
		const odvgp_real *value, ptrdiff_t e, odvgp_real *d)
{
	const gp__kernel *k = job->k;
	ptrdiff_t G = (ptrdiff_t)k->ngroup, size = 1 + G + G * G;
	odvgp_real *at = d;
	for (uint32_t t = 0; t < k->nnode; t++, at += size) {
		const uint32_t *node = k->node[t];
		const odvgp_real *a = d + (ptrdiff_t)node[1] * size, *b = d + (ptrdiff_t)node[2] * size;
		int product = node[0] == GP__NODE_PRODUCT;
		if (node[0] == GP__NODE_BASE_KERNEL) {
			const gp__base_kernel *base = &k->base[node[1]];
			ptrdiff_t g = (ptrdiff_t)base->group;
			gp__zero(at, size);
			at[0] = t + 1 == k->nnode ? value[e] : c->value[t][e];
			if (base->group != GP__NO_GROUP)
				gp__base_second(
						base, job->hyp, c->d2[g][e], at[0], at + 1 + g, at + 1 + G + g * (G + 1));
			continue;
		}
		at[0] = product ? a[0] * b[0] : a[0] + b[0];
		GP__FROM(g, 1, size) at[g] = product ? a[g] * b[0] + a[0] * b[g] : a[g] + b[g];
		for (ptrdiff_t g = 0; g < G && product; g++)
			GP__FOR(h, G) at[1 + G + g * G + h] += a[1 + g] * b[1 + h] + b[1 + g] * a[1 + h];
	}
	return at - size;
}

/*	ds/dx [D] of a group, and the diagonal of d2s/dx2 [D], the only part there is, for the point in
	the job's u and column j of its points. */
static void gp__group_second(const gp__gradient *g, uint32_t group, ptrdiff_t i, ptrdiff_t j,
		odvgp_real *first, odvgp_real *second)
{
	const gp__prediction *t = g->t;
	const gp__kernel *k = t->kernel;
	const gp__base_kernel *base = gp__group_kernel(k, group);
	const odvgp_real *u = t->job->u[group], *at = t->job->zt[group] + j;
	ptrdiff_t ld = t->job->ld;
	int geometry = gp__geometry(base);
	gp__zero(first, t->p->D);
	gp__zero(second, t->p->D);
	GP__FOR(d, gp__group_dims(k, group))
		g->slope[d] = geometry == GP__INNER_PRODUCT ? at[d * ld] : 2 * (u[d] - at[d * ld]);
	gp__point_back(t->job, group, t->X + i * t->D, u, g->slope, first);
	if (geometry == GP__INNER_PRODUCT) return;
	GP__FOR(d, (ptrdiff_t)base->ndims) {
		odvgp_real scale = gp__base_column(base, t->v.hyp, d), *to = second + gp__column(base, d);
		*to = 2 * scale * scale;
		if (geometry != GP__CIRCLE) continue;
		odvgp_real rate = (odvgp_real)(GP__W(gp__two_pi) / (gp__wide)t->v.hyp[base->shape_param]);
		*to = 2 * rate * rate * (u[2 * d] * at[2 * d * ld] + u[2 * d + 1] * at[(2 * d + 1) * ld]);
	}
}

/*	The Hessian [D,D] of function f at row i of the tile. */
static odvgp_real *gp__hessian_at(const gp__gradient *g, ptrdiff_t f, ptrdiff_t i)
{
	ptrdiff_t D = g->t->p->D;
	return g->to->hessian + (f * g->n + g->first + i) * D * D;
}

/*	Adds a chunk of row i's points to the Hessians, in training units. */
static void gp__hessian_chunk(gp__gradient *g, const gp__kchunk *c, ptrdiff_t i, ptrdiff_t j,
		const gp__gradient_points *z)
{
	const gp__prediction *t = g->t;
	ptrdiff_t D = t->p->D, G = (ptrdiff_t)t->kernel->ngroup, F = t->p->F;
	odvgp_real *first = g->second, *second = first + G * D, *nodes = second + G * D;
	GP__FOR(e, GP__MIN(z->m - j, GP__CHUNK)) {
		const odvgp_real *d = gp__kernel_second(t->job, c, g->value, e, nodes);
		GP__EACH_GROUP(a, t->kernel)
			gp__group_second(
					g, a, i, j + e, first + (ptrdiff_t)a * D, second + (ptrdiff_t)a * D);
		GP__FOR(f, F) {
			odvgp_real weight = 0, *H = gp__hessian_at(g, f, i);
			GP__FOR(q, t->P) {
				ptrdiff_t p = t->first + q;
				odvgp_real share =
						t->p->mixed ? t->v.mixing[f * t->p->P + p] : (odvgp_real)(f == p);
				weight += share * z->weights[q * z->m + j + e];
			}
			GP__FOR(a, G) {
				GP__FOR(x, D) H[x * D + x] += weight * d[1 + a] * second[a * D + x];
				GP__FOR(b, G) {
					odvgp_real by = weight * d[1 + G + a * G + b];
					for (ptrdiff_t x = 0; x < D && by != 0; x++)
						t->blas.isa->axpy(D, by * first[a * D + x], first + b * D, H + x * D);
				}
			}
		}
	}
}

/*	Row i of k(x,Z) to `to` [m], unless NULL, and of H; its products with the weights to the mean. */
static void gp__gradient_values(
		gp__gradient *g, ptrdiff_t i, const gp__gradient_points *z, odvgp_real *to, odvgp_real *H)
{
	gp__prediction *t = g->t;
	gp__kchunk c = gp__chunk_of_task(t->job, 0, 1);
	gp__gradient_place(g, i, z, H);
	for (ptrdiff_t j = 0; j < z->m; j += GP__CHUNK) {
		ptrdiff_t cols = GP__MIN(z->m - j, GP__CHUNK);
		gp__chunk_forward(t->job, &c, 0, j, g->value);
		if (g->to->dmean || g->to->dvar) gp__chunk_derivatives(t->job, &c, j);
		if (to) gp__copy(to + j, g->value, cols);
		if (g->to->hessian && z->weights) gp__hessian_chunk(g, &c, i, j, z);
		for (ptrdiff_t q = 0; z->weights && q < t->P; q++)
			t->mean[(t->first + q) * t->ld + i] +=
					t->blas.isa->dot(cols, g->value, z->weights + q * z->m + j);
	}
}

/*	dx [D] += sum_j c_j dk(x,z_j)/dx in row i, where gp__gradient_place has been called. */
static void gp__gradient_sum(gp__gradient *g, ptrdiff_t i, const gp__gradient_points *z,
		const odvgp_real *weights, odvgp_real *dx)
{
	const gp__prediction *t = g->t;
	const gp__kernel *k = t->kernel;
	const odvgp__simd *isa = t->blas.isa;
	gp__zero(g->slope, t->p->columns);
	for (ptrdiff_t j = 0; j < z->m; j += GP__CHUNK) {
		ptrdiff_t cols = GP__MIN(z->m - j, GP__CHUNK);
		odvgp_real *slope = g->slope;
		gp__copy(g->value, weights + j, cols);
		gp__zero(g->value + cols, GP__CHUNK - cols);
		GP__EACH_GROUP(group, k) {
			int inner = gp__geometry(gp__group_kernel(k, group)) == GP__INNER_PRODUCT;
			ptrdiff_t dims = gp__group_dims(k, group);
			isa->combine(1, g->value, t->job->H[group] + j, g->h);
			GP__FOR(d, dims) {
				const odvgp_real *at = t->job->zt[group] + d * t->job->ld + j;
				slope[d] += inner ? isa->dot(cols, at, g->h)
								  : 2 * isa->slope(GP__CHUNK, t->job->u[group][d], at, g->h);
			}
			slope += dims;
		}
	}
	const odvgp_real *slope = g->slope;
	GP__EACH_GROUP(group, k) {
		gp__point_back(t->job, group, t->X + i * t->D, t->job->u[group], slope, dx);
		slope += gp__group_dims(k, group);
	}
}

/* --- the variance's weights --- */

/*	x <- L^-T x for a contiguous vector. */
static void gp__solve_transposed(
		const odvgp__simd *isa, ptrdiff_t n, const odvgp_real *L, odvgp_real *x)
{
	for (ptrdiff_t i = n; i-- > 0;) {
		x[i] /= L[i * n + i];
		isa->axpy(i, -x[i], L + i * n, x);
	}
}

/*	x <- L^-T x for each row x of X [n,M]. */
static void gp__gradient_solve(gp__prediction *t, ptrdiff_t n, const odvgp_real *L, odvgp_real *X)
{
	ptrdiff_t M = t->p->M;
	if (n == 1) gp__solve_transposed(t->blas.isa, M, L, X);
	else odvgp_trsm(&t->blas, 1, 0, n, M, L, M, X, M);
}

/*	n rows of W <- T R^T for one block R [m,m] of a covariance factor. */
static void gp__gradient_product(gp__prediction *t, ptrdiff_t n, ptrdiff_t m, const odvgp_real *R,
		const odvgp_real *T, odvgp_real *W)
{
	ptrdiff_t M = t->p->M;
	if (n == 1) {
		GP__FOR(j, m) W[j] = t->blas.isa->dot(j + 1, R + j * m, T);
		return;
	}
	gp__mm g = gp__mm_make(0, 1, n, m, m, 1, T, M, R, m, 0, W, M);
	g.b_part = GP__UPPER;
	gp__mm_run(&t->blas, &g);
}

/*	Whether rounding has not made the variance's first part 0, where it has no derivative. */
static int gp__gradient_has_prior(const gp__prediction *t, ptrdiff_t i, ptrdiff_t q)
{
	return gp__is_dense(t->p) ? t->square[i] > 0 : t->var[(t->first + q) * t->ld + i] > 0;
}

/*	Rows of w for process q of the unit, whose T has just been computed. */
static void gp__gradient_weights(gp__gradient *g, ptrdiff_t n, ptrdiff_t q)
{
	gp__prediction *t = g->t;
	ptrdiff_t M = t->p->M, Mr = t->p->M_factor, Mv = M - Mr;
	int of_S = gp__is_dense(t->p);
	odvgp_real *W = g->w + q * t->ld * M;
	if (!of_S) gp__gradient_solve(t, n, t->v.L + q * M * M, t->T);
	if (t->p->factor == GP__DIAGONAL_OF_INVERSE)
		GP__FOR(i, n)
			GP__FOR(j, M) W[i * M + j] = t->v.factor[q * M + j] * t->T[i * M + j];
	else if (t->p->factor == GP__FACTOR_OF_PRECISION) {
		gp__copy(W, t->T, n * M);
		gp__gradient_solve(t, n, t->v.factor + q * M * M, W);
	} else gp__gradient_product(t, n, Mr, t->v.factor + q * Mr * Mr, t->T, W);
	if (Mv) gp__gradient_product(t, n, Mv, t->v.factor_v + q * Mv * Mv, t->T + Mr, W + Mr);
	GP__FOR(i, n) {
		odvgp_real has_prior = (odvgp_real)gp__gradient_has_prior(t, i, q);
		GP__FOR(j, M) {
			odvgp_real *w = W + i * M + j;
			*w = of_S ? *w - has_prior * t->A[i * M + j] : -has_prior * *w;
		}
	}
	if (of_S) gp__gradient_solve(t, n, t->v.L, W);
}

/* --- a tile --- */

/*	K(X,Zb), H, the means and, if wanted, their gradients. */
static void gp__gradient_mean(gp__gradient *g, ptrdiff_t n)
{
	gp__prediction *t = g->t;
	const gp__predictor *p = t->p;
	ptrdiff_t D = p->D, P = t->P, groups = (ptrdiff_t)p->base_kernels;
	const gp__gradient_points beta = gp__gradient_beta(t), gamma = gp__gradient_gamma(t);
	int has_A = gp__mean_functions[p->mean_function].A;
	t->job->X2 = NULL; /* no point is a row of X */
	GP__FOR(q, P) gp__zero(t->mean + (t->first + q) * t->ld, n);
	GP__FOR(i, n)
		for (int k = 0; k < 2; k++) {
			const gp__gradient_points *z = k ? &gamma : &beta;
			odvgp_real *H = k ? g->H_gamma : g->H + i * groups * gp__padded(p->M);
			if (!z->m) continue;
			gp__gradient_values(g, i, z, k ? NULL : t->A + i * p->M, H);
			for (ptrdiff_t q = 0; z->weights && g->to->dmean && q < P; q++)
				gp__gradient_sum(g, i, z, z->weights + q * z->m,
						g->dmean + ((t->first + q) * t->ld + i) * D);
		}
	gp__predict_mean_function(t, n);
	GP__FOR(q, P)
		GP__FOR(i, n) {
			odvgp_real *dmean = g->dmean + ((t->first + q) * t->ld + i) * D;
			if (p->mean_function == ODVGP_MEAN_FUNCTION_IDENTITY) dmean[q] += 1;
			for (ptrdiff_t d = 0; has_A && d < D; d++) dmean[d] += t->v.A[d * P + q];
		}
}

static void gp__gradient_var(gp__gradient *g, ptrdiff_t n)
{
	gp__prediction *t = g->t;
	ptrdiff_t D = t->p->D, M = t->p->M, groups = (ptrdiff_t)t->p->base_kernels;
	const gp__gradient_points beta = gp__gradient_beta(t);
	GP__FOR(i, n) {
		gp__gradient_place(g, i, &beta, g->H + i * groups * gp__padded(M));
		GP__FOR(q, t->P) {
			odvgp_real *dvar = g->dvar + ((t->first + q) * t->ld + i) * D;
			if (gp__gradient_has_prior(t, i, q))
				gp__kernel_diag_adjoint(t->kernel, t->v.hyp, t->X + i * D, GP__R(0.5), NULL, dvar);
			gp__gradient_sum(g, i, &beta, g->w + (q * t->ld + i) * M, dvar);
			GP__FOR(d, D) dvar[d] *= 2;
		}
	}
}

/*	Processes' gradients x [P,rows,D] become functions' in the caller's units: to [F,n,D] from row
	`first`. power: 1 of means, 2 of variances. */
static void gp__gradient_out(gp__gradient *g, int power, ptrdiff_t first, ptrdiff_t count,
		gp__prediction_call *c, odvgp_real *to)
{
	const gp__prediction *t = g->t;
	ptrdiff_t D = t->p->D, size = t->ld * D;
	const odvgp_real *x = power == 1 ? g->dmean : g->dvar;
	if (t->p->mixed) {
		gp__mix_rows(t->blas.isa, t->p->F, t->p->P, t->v.mixing, power == 2, count * D, x, size,
				g->mixed, size);
		x = g->mixed;
	}
	GP__FOR(f, t->p->F) {
		odvgp_real scale = gp__predict_scale(t, f), *out = to + (f * c->n + first) * D;
		if (power == 2) scale *= scale;
		GP__FOR(i, count)
			GP__FOR(d, D) out[i * D + d] = x[f * size + i * D + d] * scale / t->v.x_scale[d];
		gp__predict_note(c, out, first, count, D);
	}
}

/*	A tile's Hessians from training units to the caller's. */
static void gp__hessian_out(gp__gradient *g, ptrdiff_t count, gp__prediction_call *c)
{
	const gp__prediction *t = g->t;
	ptrdiff_t D = t->p->D;
	GP__FOR(f, t->p->F) {
		odvgp_real *H = gp__hessian_at(g, f, 0), scale = gp__predict_scale(t, f);
		GP__FOR(d, count * D * D) H[d] *= scale / t->v.x_scale[d / D % D] / t->v.x_scale[d % D];
		gp__predict_note(c, H, g->first, count, D * D);
	}
}

static void gp__gradient_tile(
		gp__gradient *g, gp__prediction_call *c, ptrdiff_t first, ptrdiff_t count)
{
	gp__prediction *t = g->t;
	const odvgp_gradient *to = g->to;
	int variances = to->var || to->dvar;
	g->first = first;
	g->n = c->n;
	for (ptrdiff_t f = 0; to->hessian && f < t->p->F; f++)
		gp__zero(gp__hessian_at(g, f, 0), count * t->p->D * t->p->D);
	gp__predict_inputs(t, c->X + first * c->s->D, count);
	gp__zero(g->dmean, t->p->P * t->ld * t->p->D);
	gp__zero(g->dvar, t->p->P * t->ld * t->p->D);
	GP__FOR(k, t->p->units) {
		gp__predict_unit(t, k);
		gp__gradient_mean(g, count);
		if (!variances) continue;
		gp__predict_features(t, count);
		GP__FOR(q, t->P) {
			gp__predict_process_var(t, count, q);
			if (to->dvar) gp__gradient_weights(g, count, q);
		}
		if (to->dvar) gp__gradient_var(g, count);
	}
	gp__predict_mix(t, 0, t->mean, count, t->ld);
	if (variances) gp__predict_mix(t, 1, t->var, count, t->ld);
	gp__use_rows(c, t, first, count, 0, c->s->F, t->mean, t->var, NULL, to->mean, to->var);
	if (to->dmean) gp__gradient_out(g, 1, first, count, c, to->dmean);
	if (to->dvar) gp__gradient_out(g, 2, first, count, c, to->dvar);
	if (to->hessian) gp__hessian_out(g, count, c);
}

/* --- odvgp_predict_gradient --- */

static odvgp_status gp__gradient_check(const odvgp_server *s, odvgp_info *info)
{
	const gp__predictor *p = gp__layer_of(s);
	if (p->layers > 1)
		return gp__unsupported(info, "server", "gradients need a model of one layer");
	return p->patches.height ? gp__unsupported(info, "server", "there are no gradients of images")
							 : ODVGP_OK;
}

ODVGP_API size_t odvgp_predict_gradient_scratch(
		const odvgp_server *s, ptrdiff_t rows, odvgp_info *info)
{
	if (!gp__scratch_size(s, rows, 0, info) || gp__gradient_check(s, info)) return 0;
	size_t bytes = gp__gradient_size(s, rows);
	return bytes ? bytes : gp__too_large(info, "rows");
}

/*	Begins tiles of `rows` rows. */
static gp__prediction *gp__gradient_begin(gp__gradient *g, const odvgp_server *s, ptrdiff_t rows,
		void *scratch, size_t bytes)
{
	gp__arena a = gp__scratch_arena(scratch, bytes), rest;
	gp__gradient_layout(&a, gp__layer_of(s), rows, g);
	gp__arena_init(&rest, a.base + a.used, a.size - a.used);
	gp__prediction *t = a.bad ? NULL : gp__predict_begin(s, rows, 0, rest);
	if (!t) return NULL;
	t->job->chunks = g->chunk;
	t->job->plain = gp__kernel_plain(t->kernel);
	return g->t = t;
}

ODVGP_API odvgp_status odvgp_predict_gradient(const odvgp_server *s, const odvgp_real *X,
		ptrdiff_t n, const odvgp_gradient *gradient, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	odvgp_status status = gp__predict_check(s, X, n, scratch, info);
	if (!status) status = gp__gradient_check(s, info);
	if (status || n == 0) return status;
	if (!gradient) return gp__is_null(info, "gradient");
	enum { ROWS = 128 };
	gp__prediction_call c = gp__predict_call(s, X, NULL, n);
	gp__gradient g;
	ptrdiff_t rows = n <= 8 ? 1 : GP__MIN(n, (ptrdiff_t)ROWS);
	while (rows > 1 && gp__gradient_size(s, rows) > scratch_bytes) rows /= 2;
	if (gp__gradient_size(s, rows) > scratch_bytes ||
			!gp__gradient_begin(&g, s, rows, scratch, scratch_bytes))
		return gp__scratch_small(info);
	g.to = gradient;
	for (ptrdiff_t first = 0; first < n; first += rows)
		gp__gradient_tile(&g, &c, first, GP__MIN(rows, n - first));
	status = gp__predict_result(c.bad, info);
	return status || !gradient->cov
				   ? status
				   : odvgp_predict_cov(s, X, n, NULL, gradient->cov, scratch, scratch_bytes, info);
}

/* --- odvgp_predict_y_gradient --- */

#ifndef ODVGP_FLOAT_ONLY
/*	Derivatives of y's mean and variance in f's. */
typedef struct {
	double mean_m, mean_v, var_m, var_v;
} gp__y_slopes;

/*	Of gp__exp_moments. */
static gp__y_slopes gp__exp_slopes(gp__exp_law law, double m, double v)
{
	double e = exp(law.s * m + 0.5 * v), own = law.c2 * e, square = law.c * law.c,
		   second = e * e * (law.c3 * exp(v) + square * expm1(v));
	gp__y_slopes y = {law.s * law.c * e, 0.5 * law.c * e, law.s * (own + 2 * second),
			0.5 * own + second + e * e * (law.c3 + square) * exp(v)};
	return y;
}

/*	p = j + (1 - 2 j) Phi(m / sqrt(1 + v)) for the jitter j, and p - p^2. */
static gp__y_slopes gp__bernoulli_slopes(double jitter, double m, double v)
{
	double root = sqrt(1 + v), z = m / root, by_v = -0.5 * z / root,
		   p = jitter + (1 - 2 * jitter) * 0.5 * erfc(-gp__sqrt_half * z),
		   d = (1 - 2 * jitter) * exp(-0.5 * (z * z + gp__log_2pi)) / root;
	gp__y_slopes y = {d, d * by_v, (1 - 2 * p) * d, (1 - 2 * p) * d * by_v};
	return y;
}

#endif

/*	The likelihoods that scale with y add a constant variance. */
static odvgp_status gp__y_closed(const gp__predictor *p, odvgp_info *info)
{
	int kind = p->likelihood;
	if (gp__likelihoods[kind].flags & GP__LIK_SCALABLE || kind == ODVGP_LIKELIHOOD_BERNOULLI ||
			(kind >= ODVGP_LIKELIHOOD_POISSON && kind <= ODVGP_LIKELIHOOD_GAMMA))
		return ODVGP_OK;
	return gp__unsupported(info, "server", "has no closed moments of y with this likelihood");
}

ODVGP_API odvgp_status odvgp_predict_y_gradient(const odvgp_server *s, const odvgp_real *X,
		ptrdiff_t n, const odvgp_gradient *gradient, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	const odvgp_gradient *to = gradient;
	const gp__predictor *p = gp__served(s);
	odvgp_status status = p ? gp__y_closed(p, info) : gp__not_served(info);
	if (status) return status;
	if (!to) return gp__is_null(info, "gradient");
	if (to->hessian || to->cov)
		return gp__unsupported(info, to->hessian ? "hessian" : "cov", "is of f alone");
	if (!to->mean || !to->var || !to->dmean || !to->dvar)
		return gp__refuse(info, ODVGP_E_ARG, "gradient", "needs all of mean, var, dmean and dvar");
	status = odvgp_predict_gradient(s, X, n, to, scratch, scratch_bytes, info);
	if (status || !n) return status;
#ifndef ODVGP_FLOAT_ONLY
	const gp__likelihood *lik = &gp__likelihoods[p->likelihood];
	const gp__view v = gp__view_of(p, 0);
	for (ptrdiff_t k = 0; k < s->F * n && !(lik->flags & GP__LIK_SCALABLE); k++) {
		double mean = (double)to->mean[k], var = (double)to->var[k];
		gp__y_slopes y =
				p->likelihood == ODVGP_LIKELIHOOD_BERNOULLI
						? gp__bernoulli_slopes((double)v.rule[0], mean, var)
						: gp__exp_slopes(gp__exp_law_of(lik, v.lik_params), mean, var);
		GP__FROM(d, k * s->D, (k + 1) * s->D) {
			double dm = (double)to->dmean[d], dv = (double)to->dvar[d];
			to->dmean[d] = (odvgp_real)(y.mean_m * dm + y.mean_v * dv);
			to->dvar[d] = (odvgp_real)(y.var_m * dm + y.var_v * dv);
		}
	}
#endif
	status = odvgp_predict_y(s, X, n, to->mean, to->var, scratch, scratch_bytes, info);
	GP__FOR(k, s->F * n)
		if (!status && !(gp__finite(to->dmean + k * s->D, s->D) &&
							   gp__finite(to->dvar + k * s->D, s->D)))
			status = gp__predict_result(k % n, info);
	return status;
}

#ifndef ODVGP_FLOAT_ONLY
/* ---- >>uncertain   moments of f at a Gaussian input

	x = m + y, y ~ N(0, S). Multiplied out, a kernel of rbf and linear is a sum of terms

		k(x,z) = scale exp(-(y - d)^T T (y - d) / 2) prod_i a_i.x,	d = z - m, a_i = v z, diagonal T

	With S = R R^T, b = T d and V = (S^-1 + T)^-1 = R (I + R^T T R)^-1 R^T, without S^-1 [PILCO],

		E[k]      = e^l W,    l = log(scale) + (b^T V b - b^T d - log|I + S T|) / 2
		E[y k]    = e^l (V b W + sum_i V a_i W_i)
		Cov(k,k') = e^(l + l') ((e^h - 1) W'' + W'' - W W'),
					h = (b''^T V'' b'' - b^T V b - b'^T V' b' - logs alike) / 2

	W = E[prod_i a_i.x] under N(m + V b, V) by Isserlis' theorem, W_i without a_i; '' is the product
	k k', with T + T', b + b' and all factors. At S = 0, h and W'' - W W' are 0. With the covariance
	G of k(Zb,x) and its mean e, E[var] is E[k(x,x)] - tr(Q (G + e e^T)) for >>predictor's
	var = k - k(x,Zb) Q k(Zb,x); by triangular solves, as the entries of Q are large and cancel.

	Cost: n^2 D, n = M + Mg, for each pair of terms and units; P M^3 for the traces. */

#define GP__MOST_TERMS 64

/*	Bits of the base kernels in term i of the expression, multiplied out. Returns the number of
	terms, at most MOST_TERMS + 1. */
static ptrdiff_t gp__kernel_term(const gp__kernel *k, ptrdiff_t i, uint32_t *term)
{
	ptrdiff_t count[GP__MAX_NODES], at[GP__MAX_NODES];
	ODVGP_ASSERT(k->nnode > 0);
	for (uint32_t t = 0; t < k->nnode; t++) {
		const uint32_t *node = k->node[t];
		ptrdiff_t n = 1;
		if (node[0] == GP__NODE_SUM) n = count[node[1]] + count[node[2]];
		if (node[0] == GP__NODE_PRODUCT) n = count[node[1]] * count[node[2]];
		count[t] = GP__MIN(n, GP__MOST_TERMS + 1);
		at[t] = -1;
	}
	at[k->nnode - 1] = i;
	*term = 0;
	for (uint32_t t = k->nnode; t-- > 0;) {
		uint32_t kind = k->node[t][0], a = k->node[t][1], b = k->node[t][2];
		if (at[t] < 0) continue;
		if (kind == GP__NODE_BASE_KERNEL) *term |= (uint32_t)1 << a;
		else if (kind == GP__NODE_PRODUCT) {
			at[a] = at[t] % count[a];
			at[b] = at[t] / count[a];
		} else if (at[t] < count[a]) at[a] = at[t];
		else at[b] = at[t] - count[a];
	}
	return count[k->nnode - 1];
}

/*	The kernel of a server of points and one layer, with base kernels among the bits `types`. */
static odvgp_status gp__terms_check(const odvgp_server *s, uint32_t types, const char *sentence,
		gp__kernel *k, odvgp_info *info)
{
	const gp__predictor *p = gp__served(s);
	uint32_t term;
	if (!p) return gp__not_served(info);
	if (p->layers > 1 || p->patches.height)
		return gp__unsupported(info, "server", "this needs one layer, and inputs not images");
	if (p->factor == GP__FACTOR_OF_PRECISION)
		return gp__unsupported(info, "server", "learns online: this needs a block of odvgp_freeze");
	gp__kernel_unpack(gp__predictor_kernel(p), p->base_kernels, k);
	GP__EACH_BASE(i, k)
		if (!(types >> k->base[i].type & 1))
			return gp__unsupported(info, gp__base_kernel_kinds[k->base[i].type].name, sentence);
	return ~types && gp__kernel_term(k, 0, &term) > GP__MOST_TERMS
				   ? gp__unsupported(info, "kernel", "has more than 64 terms, multiplied out")
				   : ODVGP_OK;
}

/*	x <- point j of those chosen, in training units, periodic inputs within half a period of the
	centre; 0 in columns that no base kernel uses. */
static void gp__point_at(const gp__prediction *t, ptrdiff_t j, odvgp_real *x)
{
	gp__zero(x, (ptrdiff_t)t->kernel->D);
	GP__EACH_GROUP(g, t->kernel) {
		const gp__base_kernel *base = gp__group_kernel(t->kernel, g);
		const odvgp_real *at = t->job->zt[g] + j;
		int geometry = gp__geometry(base);
		ptrdiff_t ld = t->job->ld;
		GP__FOR(d, (ptrdiff_t)base->ndims) {
			ptrdiff_t c = gp__column(base, d);
			if (geometry == GP__CIRCLE)
				x[c] = (odvgp_real)(atan2((double)at[(2 * d + 1) * ld], (double)at[2 * d * ld]) *
									(double)t->v.hyp[base->shape_param] / gp__two_pi);
			else x[c] = at[d * ld] / gp__base_column(base, t->v.hyp, d);
			if (geometry != GP__INNER_PRODUCT) x[c] += t->job->centre[c];
		}
	}
}

/* --- memory of a call --- */

enum { GP__MOST_LINEAR = 2, GP__MOST_FORMS = 2 * GP__MOST_LINEAR };

typedef struct {
	const gp__base_kernel *linear[GP__MOST_LINEAR];
	const odvgp_real *hyp;
	odvgp_real scale, log_det;
	int forms;
} gp__term;

/*	name, rows, columns. For sigma points U, P, M, n and terms are 0; else terms are of all units. */
#define GP__UNCERTAIN_ARRAYS(X) \
	/* results; a point and its prediction */ \
	X(mean, 1, F) \
	X(cov, F, F) \
	X(input_cov, D, F) \
	X(x, 1, D) \
	X(f, 1, F) \
	X(f_cov, F, F) \
	X(root, D, D) \
	X(half, D, D) \
	X(b, 1, D) \
	/* in training units */ \
	X(m, 1, D) \
	X(V, D, D) \
	X(C, D, D) \
	X(mu, 1, D) \
	X(a, GP__MOST_FORMS, D) \
	X(Va, GP__MOST_FORMS, D) \
	/* of terms: T, e^l, b^T V b / 2, W */ \
	X(T, terms, D) \
	X(value, terms, n) \
	X(tilt, terms, n) \
	X(W, terms, n) \
	/* of a pair of terms: V b and h of one, Cov(k,k') of the other's points */ \
	X(Vb, n, D) \
	X(h, 1, n) \
	X(row, 1, n) \
	/* points, weights, E[k], G */ \
	X(Z, U *n, D) \
	X(w, P, n) \
	X(e, U, n) \
	X(G, M, M) \
	/* of the processes: moments, mean function; their shares in the functions */ \
	X(p_mean, 1, P) \
	X(p_cov, P, P) \
	X(p_input, P, D) \
	X(A, P, D) \
	X(share, F, P) \
	X(mixed, F, P)

typedef struct {
	gp__prediction *t;
	gp__term *term; /* [units,terms] */
	ptrdiff_t *perm;
	ptrdiff_t D, F, n, terms, rows;
	odvgp_real form[GP__MOST_FORMS], form_cov[GP__MOST_FORMS][GP__MOST_FORMS];
	odvgp_real product[1 << GP__MOST_FORMS]; /* of each subset of forms */
#define GP__X(name, rows, cols) odvgp_real *name;
	GP__UNCERTAIN_ARRAYS(GP__X)
#undef GP__X
} gp__uncertain;

/*	What a call asks for. */
typedef struct {
	const odvgp_real *m, *S;
	const odvgp_moments *to;
	int exact;
} gp__uncertain_call;

/*	Bytes, with those of the prediction of `rows` rows that follows; rows: the largest matrix. */
static odvgp_status gp__uncertain_layout(gp__arena *a, const odvgp_server *s, int exact,
		gp__uncertain **kept, size_t *bytes, odvgp_info *info)
{
	gp__kernel k;
	uint32_t term,
			types = exact ? 1u << GP__RBF | 1u << GP__LINEAR | 1u << GP__CONSTANT : UINT32_MAX;
	odvgp_status status = gp__terms_check(
			s, types, "has no exact moments: see odvgp_predict_sigma_points", &k, info);
	if (status) return status;
#ifdef ODVGP_FLOAT
	if (exact) return gp__unsupported(info, "float", "has too few digits for exact moments");
#endif
	const gp__predictor *p = gp__layer_of(s);
	ptrdiff_t D = p->D, F = p->F, U = exact ? p->units : 0, P = exact ? p->P : 0,
			  M = exact ? p->M : 0, n = exact ? M + p->M_gamma : 0,
			  terms = gp__kernel_term(&k, 0, &term) * exact;
	gp__uncertain none, *g = *kept = GP__TAKE(a, gp__uncertain, 1);
	if (!g) g = &none;
	g->D = D;
	g->F = F;
	g->n = n;
	g->terms = terms;
	g->rows = exact ? GP__MAX(2, GP__MAX(GP__MAX(M, D), GP__MAX(P, F))) : 1;
	GP__FOR(i, terms) {
		int linears = 0;
		gp__kernel_term(&k, i, &term);
		GP__EACH_BASE(l, &k) linears += k.base[l].type == GP__LINEAR && (term >> l & 1);
		if (linears > GP__MOST_LINEAR)
			return gp__unsupported(info, "linear", "stands in a product more than twice");
	}
	terms *= U;
	g->term = GP__TAKE(a, gp__term, terms);
	g->perm = GP__TAKE(a, ptrdiff_t, D);
#define GP__X(name, rows, cols) g->name = gp__take(a, rows, cols);
	GP__UNCERTAIN_ARRAYS(GP__X)
#undef GP__X
	*bytes = gp__predict_size(s, g->rows, 0);
	if (!*bytes || a->bad)
		return gp__refuse(info, ODVGP_E_SIZE, "server", "is too large for memory");
	*bytes += a->used + 64;
	return ODVGP_OK;
}

/*	root <- R with R R^T = S. */
static odvgp_status gp__uncertain_root(gp__uncertain *g, const odvgp_real *S, odvgp_info *info)
{
	ptrdiff_t D = g->D;
	odvgp_real off = 0;
	if (!gp__finite(S, D * D)) return gp__refuse(info, ODVGP_E_NAN, "S", "is not finite");
	gp__copy(g->half, S, D * D);
	GP__FOR(i, D) g->b[i] = S[i * (D + 1)];
	gp__pivoted_cholesky(D, g->half, g->b, g->perm);
	gp__zero(g->root, D * D);
	GP__FOR(i, D) gp__copy(g->root + g->perm[i] * D, g->half + i * D, i + 1);
	GP__FOR(i, D * D) {
		odvgp_real sum = -S[i];
		GP__FOR(d, D) sum += g->root[i / D * D + d] * g->root[i % D * D + d];
		off = GP__MAX(off, sum * sum - GP__EPS * g->b[i / D] * g->b[i % D]);
	}
	return off > 0 ? gp__refuse(info, ODVGP_E_ARG, "S", "is not a symmetric covariance") : ODVGP_OK;
}

#ifndef ODVGP_FLOAT

/* --- a term --- */

/*	V for T + T2, of which either may be NULL. Returns log|I + S (T + T2)|, NaN on overflow. */
static odvgp_real gp__uncertain_tilt(gp__uncertain *g, const odvgp_real *T, const odvgp_real *T2)
{
	ptrdiff_t D = g->D;
	const odvgp_blas *blas = &g->t->blas;
	odvgp_real *C = g->C, log_det = 0;
	GP__FOR(i, D * D) g->half[i] = g->root[i % D * D + i / D];
	GP__FOR(d, D) g->b[d] = (T ? T[d] : 0) + (T2 ? T2[d] : 0);
	odvgp_syrk(blas, 0, D, D, 1, g->half, D, g->b, 0, C, D);
	GP__FOR(d, D) C[d * (D + 1)] += 1;
	if (odvgp_potrf(blas, D, C, D, NULL)) log_det = NAN;
	odvgp_trsm(blas, 0, 0, D, D, C, D, g->half, D);
	odvgp_gemm(blas, 1, 0, D, D, D, 1, g->half, D, g->half, D, 0, g->V, D);
	GP__FOR(d, D) log_det += 2 * log(C[d * (D + 1)]);
	return log_det;
}

/*	b and V b of a term i at z. Returns b^T V b / 2. */
static odvgp_real gp__uncertain_shift(
		gp__uncertain *g, ptrdiff_t i, const odvgp_real *z, odvgp_real *Vb)
{
	const odvgp__simd *isa = g->t->blas.isa;
	ptrdiff_t D = g->D;
	GP__FOR(d, D) g->b[d] = g->T[i * D + d] * (z[d] - g->m[d]);
	GP__FOR(d, D) Vb[d] = isa->dot(D, g->V + d * D, g->b);
	return isa->dot(D, g->b, Vb) / 2;
}

/*	Appends the term's forms at z. Returns how many there are. */
static int gp__uncertain_forms(gp__uncertain *g, const gp__term *t, const odvgp_real *z, int count)
{
	for (int i = 0; i < t->forms; i++, count++) {
		const gp__base_kernel *base = t->linear[i];
		odvgp_real *a = g->a + count * g->D;
		gp__zero(a, g->D);
		GP__FOR(d, (ptrdiff_t)base->ndims) {
			ptrdiff_t c = gp__column(base, d);
			a[c] = t->hyp[base->var + (base->ard ? (uint32_t)d : 0)] * z[c];
		}
	}
	return count;
}

/*	E[prod a_i.x] under N(m + mu, V); of each subset of the forms to g->product. */
static odvgp_real gp__uncertain_product(gp__uncertain *g, int count)
{
	const odvgp__simd *isa = g->t->blas.isa;
	ptrdiff_t D = g->D;
	odvgp_real *E = g->product;
	E[0] = 1;
	GP__FOR(i, count) {
		const odvgp_real *a = g->a + i * D;
		g->form[i] = isa->dot(D, a, g->m) + isa->dot(D, a, g->mu);
		GP__FOR(d, D) g->Va[i * D + d] = isa->dot(D, g->V + d * D, a);
		GP__FOR(j, i) g->form_cov[i][j] = isa->dot(D, g->Va + i * D, g->a + j * D);
		/* form i times the mean, or paired with a form before it */
		GP__FOR(s, (ptrdiff_t)1 << i) {
			odvgp_real sum = g->form[i] * E[s];
			GP__FOR(j, i)
				if (s >> j & 1) sum += g->form_cov[i][j] * E[s - ((ptrdiff_t)1 << j)];
			E[s + ((ptrdiff_t)1 << i)] = sum;
		}
	}
	return E[((ptrdiff_t)1 << count) - 1];
}

/*	Term i of unit u: its E[k] at all points is added to e, its E[y k] to p_input. */
static void gp__uncertain_term(gp__uncertain *g, ptrdiff_t u, ptrdiff_t i)
{
	const gp__prediction *t = g->t;
	const gp__kernel *k = t->kernel;
	const odvgp__simd *isa = t->blas.isa;
	ptrdiff_t D = g->D, n = g->n, own = u * g->terms + i;
	gp__term *term = g->term + own;
	odvgp_real *T = g->T + own * D;
	uint32_t base_kernels;
	gp__kernel_term(k, i, &base_kernels);
	gp__zero(T, D);
	term->hyp = t->v.hyp;
	term->scale = 1;
	term->forms = 0;
	GP__EACH_BASE(l, k) {
		const gp__base_kernel *base = &k->base[l];
		if (!(base_kernels >> l & 1)) continue;
		if (base->type == GP__LINEAR) term->linear[term->forms++] = base;
		else term->scale *= t->v.hyp[base->var];
		for (ptrdiff_t d = 0; base->type == GP__RBF && d < (ptrdiff_t)base->ndims; d++) {
			odvgp_real by = gp__base_column(base, t->v.hyp, d);
			T[gp__column(base, d)] += gp__base_scale(base, t->v.hyp) * by * by;
		}
	}
	term->log_det = gp__uncertain_tilt(g, T, NULL);
	GP__FOR(j, n) {
		const odvgp_real *z = g->Z + (u * n + j) * D;
		odvgp_real tilt = g->tilt[own * n + j] = gp__uncertain_shift(g, own, z, g->mu), W, value;
		int forms = gp__uncertain_forms(g, term, z, 0);
		W = g->W[own * n + j] = gp__uncertain_product(g, forms);
		tilt -= term->log_det / 2;
		GP__FOR(d, D) tilt -= g->b[d] * (z[d] - g->m[d]) / 2;
		value = g->value[own * n + j] = term->scale * exp(tilt);
		g->e[u * n + j] += value * W;
		GP__FOR(d, D) g->mu[d] *= W;
		GP__FOR(f, forms)
			isa->axpy(D, g->product[((ptrdiff_t)1 << forms) - 1 - ((ptrdiff_t)1 << f)],
					g->Va + f * D, g->mu);
		GP__FROM(q, t->first, t->first + t->P)
			isa->axpy(D, g->w[q * n + j] * value, g->mu, g->p_input + q * D);
	}
}

/*	Adds the covariances of terms r of unit u and s of unit v. */
static void gp__uncertain_pair(gp__uncertain *g, ptrdiff_t u, ptrdiff_t v, ptrdiff_t r, ptrdiff_t s)
{
	const odvgp__simd *isa = g->t->blas.isa;
	ptrdiff_t D = g->D, n = g->n, P = g->t->P, M = g->t->p->M, all = g->t->p->P;
	const gp__term *one = g->term + r, *other = g->term + s;
	const odvgp_real *Zu = g->Z + u * n * D, *Zv = g->Z + v * n * D;
	odvgp_real logs =
			(gp__uncertain_tilt(g, g->T + r * D, g->T + s * D) - one->log_det - other->log_det) / 2;
	GP__FOR(i, n)
		g->h[i] = gp__uncertain_shift(g, s, Zv + i * D, g->Vb + i * D) - g->tilt[s * n + i] - logs;
	GP__FOR(j, n) {
		odvgp_real h_j = gp__uncertain_shift(g, r, Zu + j * D, g->x) - g->tilt[r * n + j];
		GP__FOR(i, n) {
			odvgp_real h = h_j + g->h[i] + isa->dot(D, g->b, g->Vb + i * D), both = 1,
					   apart = g->W[r * n + j] * g->W[s * n + i];
			if (one->forms + other->forms) {
				GP__FOR(d, D) g->mu[d] = g->x[d] + g->Vb[i * D + d];
				both = gp__uncertain_product(
						g, gp__uncertain_forms(g, other, Zv + i * D,
								   gp__uncertain_forms(g, one, Zu + j * D, 0)));
			}
			/* where e^h would overflow, the values are 0 */
			g->row[i] = g->value[r * n + j] * g->value[s * n + i] *
						(expm1(h > 700 ? 700 : h) * both + (both - apart));
		}
		GP__FOR(k, P * P) {
			ptrdiff_t q = u * P + k / P, to = v * P + k % P;
			odvgp_real sum = g->w[q * n + j] * isa->dot(n, g->row, g->w + to * n);
			g->p_cov[q * all + to] += sum;
			if (u != v) g->p_cov[to * all + q] += sum;
		}
		if (u == v && j < M) isa->axpy(M, 1, g->row, g->G + j * M);
	}
}

/* --- a unit --- */

/*	E[k(x,x)]; linear's part is sum_d v_d x_d^2. */
static odvgp_real gp__uncertain_prior(gp__uncertain *g, ptrdiff_t u)
{
	ptrdiff_t D = g->D;
	odvgp_real all = 0;
	gp__uncertain_tilt(g, NULL, NULL); /* V is S */
	GP__FOR(d, D) g->x[d] = 1;
	GP__FOR(i, g->terms) {
		const gp__term *t = g->term + u * g->terms + i;
		odvgp_real sum = 1;
		gp__uncertain_forms(g, t, g->x, 0);
		GP__FOR(f, t->forms) {
			odvgp_real square = 0;
			GP__FOR(d, D) square += g->a[f * D + d] * (g->m[d] * g->m[d] + g->V[d * (D + 1)]);
			sum *= square;
		}
		for (ptrdiff_t d = 0; t->forms == 2 && d < D * D; d++) {
			odvgp_real S = g->V[d], mm = g->m[d / D] * g->m[d % D];
			sum += g->a[d / D] * g->a[D + d % D] * 2 * S * (S + 2 * mm);
		}
		all += t->scale * sum;
	}
	return all;
}

/*	Adds E[var] to the variances of the unit's means. */
static void gp__uncertain_var(gp__uncertain *g, ptrdiff_t u)
{
	gp__prediction *t = g->t;
	ptrdiff_t M = t->p->M;
	int dense = t->p->factor == GP__FACTOR_OF_S;
	odvgp_real rest = gp__uncertain_prior(g, u), *e = g->e + u * g->n;
	if (dense) {
		gp__predict_solve(t, 1, t->v.L, e);
		gp__predict_solve(t, M, t->v.L, g->G);
		odvgp_trsm(&t->blas, 0, 0, M, M, t->v.L, M, g->G, M);
		rest -= t->blas.isa->dot(M, e, e);
		GP__FOR(i, M) rest -= g->G[i * (M + 1)];
		rest = GP__MAX(0, rest);
	}
	GP__FOR(q, t->P) {
		odvgp_real *cov = g->p_cov + (t->first + q) * (t->p->P + 1), sum;
		gp__copy(t->A, e, M);
		gp__predict_by_factor(t, 1, q);
		sum = t->blas.isa->dot(M, t->T, t->T);
		gp__copy(t->A, g->G, M * M);
		for (int side = 0; side < 2; side++) {
			gp__predict_by_factor(t, M, q);
			GP__FOR(i, M * M) t->A[i % M * M + i / M] = t->T[i];
		}
		GP__FOR(i, M) sum += t->A[i * (M + 1)];
		*cov = GP__MAX(0, *cov) + (dense ? rest + GP__MAX(0, sum) : GP__MAX(0, rest - sum));
	}
}

/*	Points, weights, mean function, means and input covariances of unit u. */
static void gp__uncertain_means(gp__uncertain *g, ptrdiff_t u)
{
	gp__prediction *t = g->t;
	ptrdiff_t M = t->p->M, Mg = t->p->M_gamma, n = g->n, D = g->D;
	gp__predict_unit(t, u);
	gp__predict_points(t, t->v.beta, M, t->v.beta_centre);
	GP__FOR(j, M) gp__point_at(t, j, g->Z + (u * n + j) * D);
	gp__predict_points(t, t->v.gamma, Mg, t->v.gamma_centre);
	GP__FOR(j, Mg) gp__point_at(t, j, g->Z + (u * n + M + j) * D);
	GP__FOR(q, t->P) {
		ptrdiff_t p = t->first + q;
		gp__zero(g->w + p * n, M);
		if (t->v.alpha) gp__copy(g->w + p * n, t->v.alpha + q * M, M);
		gp__copy(g->w + p * n + M, t->v.a_gamma + q * Mg, Mg);
		t->mean[p * t->ld] = 0;
		GP__FOR(d, D)
			g->A[p * D + d] =
					gp__mean_functions[t->p->mean_function].A
							? t->v.A[d * t->P + q]
							: t->p->mean_function == ODVGP_MEAN_FUNCTION_IDENTITY && d == p;
	}
	gp__zero(g->e + u * n, n);
	GP__FOR(i, g->terms) gp__uncertain_term(g, u, i);
	gp__copy(t->X, g->m, D);
	gp__predict_mean_function(t, 1);
	GP__FROM(p, t->first, t->first + t->P)
		g->p_mean[p] = t->mean[p * t->ld] + t->blas.isa->dot(n, g->w + p * n, g->e + u * n);
}

static void gp__uncertain_exact(gp__uncertain *g, const odvgp_real *m)
{
	gp__prediction *t = g->t;
	const odvgp_blas *blas = &t->blas;
	ptrdiff_t U = t->p->units, P = t->p->P, M = t->p->M, D = g->D, F = g->F, terms = g->terms;
	const odvgp_real *scale = t->v.x_scale;
	GP__FOR(d, D) g->m[d] = (m[d] - t->v.x_mean[d]) / scale[d];
	GP__FOR(i, D * D) g->root[i] /= scale[i / D];
	gp__zero(g->p_cov, P * P);
	gp__zero(g->p_input, P * D);
	GP__FOR(u, U) gp__uncertain_means(g, u);
	/* Cov(A x) and what it shares with the rest, whose Cov(x,f) p_input is */
	gp__uncertain_tilt(g, NULL, NULL);
	odvgp_gemm(blas, 0, 0, P, D, D, 0.5, g->A, D, g->V, D, 1, g->p_input, D);
	odvgp_gemm(blas, 0, 1, P, P, D, 1, g->A, D, g->p_input, D, 1, g->p_cov, P);
	odvgp_gemm(blas, 0, 1, P, P, D, 1, g->p_input, D, g->A, D, 1, g->p_cov, P);
	odvgp_gemm(blas, 0, 0, P, D, D, 0.5, g->A, D, g->V, D, 1, g->p_input, D);
	GP__FOR(u, U) {
		gp__zero(g->G, M * M);
		GP__FROM(v, u, U)
			GP__FOR(i, terms * terms)
				gp__uncertain_pair(g, u, v, u * terms + i / terms, v * terms + i % terms);
		gp__predict_unit(t, u);
		gp__uncertain_var(g, u);
	}
	GP__FOR(f, F) {
		odvgp_real *share = g->share + f * P;
		GP__FOR(p, P)
			share[p] = gp__predict_scale(t, f) *
					   (t->p->mixed ? t->v.mixing[f * P + p] : (odvgp_real)(f == p));
		g->mean[f] = gp__predict_unscale(t, f, 0) + blas->isa->dot(P, share, g->p_mean);
	}
	odvgp_gemm(blas, 0, 0, F, P, P, 1, g->share, P, g->p_cov, P, 0, g->mixed, P);
	odvgp_gemm(blas, 0, 1, F, F, P, 1, g->mixed, P, g->share, P, 0, g->cov, F);
	GP__FOR(f, F) {
		g->cov[f * (F + 1)] = GP__MAX(0, g->cov[f * (F + 1)]);
		GP__FOR(e, f) g->cov[e * F + f] = g->cov[f * F + e];
	}
	odvgp_gemm(blas, 1, 1, D, F, P, 1, g->p_input, D, g->share, P, 0, g->input_cov, F);
	GP__FOR(i, D * F) g->input_cov[i] *= scale[i / F];
}
#endif

/* --- odvgp_predict_moments, odvgp_predict_sigma_points --- */

static odvgp_status gp__sigma_points(gp__uncertain *g, const odvgp_server *s, const odvgp_real *m,
		const gp__arena *rest, odvgp_info *info)
{
	ptrdiff_t D = g->D, F = g->F;
	odvgp_real by = GP__SQRT((odvgp_real)D), even = 1 / (odvgp_real)(2 * D);
	gp__zero(g->mean, F);
	gp__zero(g->cov, F * F);
	gp__zero(g->input_cov, D * F);
	GP__FOR(k, 2 * D) {
		odvgp_real share = 1 / (odvgp_real)(k + 1);
		GP__FOR(d, D) g->x[d] = m[d] + (k % 2 ? -by : by) * g->root[d * D + k / 2];
		odvgp_status status = odvgp_predict_functions(
				s, g->x, 1, g->f, g->f_cov, rest->base + rest->used, rest->size - rest->used, info);
		if (status) return status;
		GP__FOR(i, D * F) g->input_cov[i] += even * (g->x[i / F] - m[i / F]) * g->f[i % F];
		GP__FOR(f, F) {
			g->f[f] -= g->mean[f];
			g->mean[f] += share * g->f[f];
		}
		GP__FOR(i, F * F)
			g->cov[i] += even * (g->f_cov[i] + (1 - share) * g->f[i / F] * g->f[i % F]);
	}
	return ODVGP_OK;
}

static odvgp_status gp__uncertain_run(const odvgp_server *s, const gp__uncertain_call *c,
		void *scratch, size_t bytes, odvgp_info *info)
{
	gp__uncertain *g;
	const odvgp_moments *to = c->to;
	size_t need;
	gp__arena a = gp__measuring();
	odvgp_status status = gp__uncertain_layout(&a, s, c->exact, &g, &need, info);
	if (status) return status;
	if (!c->m || !c->S) return gp__is_null(info, c->m ? "S" : "m");
	if (!to || !scratch) return gp__is_null(info, to ? "scratch" : "moments");
	if (!gp__finite(c->m, s->D)) return gp__refuse(info, ODVGP_E_NAN, "m", "is not finite");
	if (bytes < need) return gp__scratch_small(info);
	a = gp__scratch_arena(scratch, bytes);
	gp__uncertain_layout(&a, s, c->exact, &g, &need, info);
	if ((status = gp__uncertain_root(g, c->S, info))) return status;
#ifndef ODVGP_FLOAT
	gp__arena rest;
	gp__arena_init(&rest, a.base + a.used, a.size - a.used);
	if (c->exact) {
		g->t = gp__predict_begin(s, g->rows, 0, rest);
		gp__uncertain_exact(g, c->m);
	}
#endif
	if (!c->exact) status = gp__sigma_points(g, s, c->m, &a, info);
	if (status) return status;
	ptrdiff_t D = g->D, F = g->F;
	if (to->mean) gp__copy(to->mean, g->mean, F);
	if (to->cov) gp__copy(to->cov, g->cov, F * F);
	if (to->input_cov) gp__copy(to->input_cov, g->input_cov, D * F);
	int finite =
			gp__finite(g->mean, F) && gp__finite(g->cov, F * F) && gp__finite(g->input_cov, D * F);
	return gp__predict_result(finite ? -1 : 0, info);
}

static size_t gp__uncertain_size(const odvgp_server *s, int exact, odvgp_info *info)
{
	gp__arena a = gp__measuring();
	gp__uncertain *g;
	size_t bytes;
	return gp__uncertain_layout(&a, s, exact, &g, &bytes, info) ? 0 : bytes;
}

ODVGP_API size_t odvgp_predict_moments_scratch(const odvgp_server *s, odvgp_info *info)
{
	return gp__uncertain_size(s, 1, info);
}

ODVGP_API size_t odvgp_predict_sigma_points_scratch(const odvgp_server *s, odvgp_info *info)
{
	return gp__uncertain_size(s, 0, info);
}

ODVGP_API odvgp_status odvgp_predict_moments(const odvgp_server *s, const odvgp_real *m,
		const odvgp_real *S, const odvgp_moments *to, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	const gp__uncertain_call c = {m, S, to, 1};
	return gp__uncertain_run(s, &c, scratch, scratch_bytes, info);
}

ODVGP_API odvgp_status odvgp_predict_sigma_points(const odvgp_server *s, const odvgp_real *m,
		const odvgp_real *S, const odvgp_moments *to, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	const gp__uncertain_call c = {m, S, to, 0};
	return gp__uncertain_run(s, &c, scratch, scratch_bytes, info);
}

/* ---- >>path   one function drawn from the posterior

	f(x) = m(x) + g(x) + k(x,Zb) w + k(x,Zg) a, where g is a draw from the prior [PATHS] and, with
	xi ~ N(0, I) and e of the variance of the jitter,

		w = alpha + L^-T (q_sqrt xi - L^-1 (g(Zb) + e))
		w = alpha - B L_H^-T L_H^-1 (B^T (g(Zb) + e) + xi)		(INVERSE, DIAGONAL)

	Cov(f(x), f(x')) is linear in the covariance of g, and with k for that it is the predictor's. So
	g may be a sum of any number of features whose expected covariance is k:

		(w1 cos(omega.x) + w2 sin(omega.x)) prod_i a_i.(x, 1),		w1, w2 ~ N(0, scale / number)

	omega times lengthscale is normal; for rq times the root of a gamma number, for matern divided by
	one (a t distribution). In products, omegas add. linear and polynomial are factors with normal
	a_i, or where a term has nothing else, one feature for each product of columns: exact. */

/*	Features of a term, each of D + forms (D + 1) numbers. */
typedef struct {
	uint32_t base_kernels;
	ptrdiff_t count, forms;
	int exact;
} gp__path_term;

struct odvgp_path {
	gp__gradient g;
	odvgp_gradient to;
	odvgp_server s;
	uint64_t seed, drawn;
	ptrdiff_t terms, numbers, weights; /* numbers of a unit's features, weights of a process */
	gp__path_term *term;
	odvgp_real *w, *x, *slope;    /* [P,M], [D], [D] */
	odvgp_real *feature, *weight; /* [units,numbers], [P,weights] */
};

#define GP__EACH_FACTOR(i, k, term) \
	GP__EACH_BASE(i, k) \
		if ((term)->base_kernels >> i & 1)

/*	How often a base kernel is a factor a.(x, 1), and how many numbers such an a has. */
static uint32_t gp__path_degree(const gp__base_kernel *base)
{
	return gp__geometry(base) == GP__INNER_PRODUCT ? GP__MAX(1, base->degree) : 0;
}
static ptrdiff_t gp__path_choices(const gp__base_kernel *base)
{
	return (ptrdiff_t)base->ndims + (base->type == GP__POLYNOMIAL);
}

/*	Bytes, with those of the prediction that follows. */
static odvgp_status gp__path_layout(gp__arena *a, const odvgp_server *s, ptrdiff_t features,
		odvgp_path **kept, size_t *bytes, odvgp_info *info)
{
	gp__kernel k;
	uint32_t mask;
	odvgp_status status = gp__terms_check(
			s, ~(1u << GP__PERIODIC | 1u << GP__WHITE), "has no random features", &k, info);
	if (status) return status;
	if (features < 1 || features > 1 << 20)
		return gp__fail(
				info, ODVGP_E_ARG, "features", -1, (double)features, "must be from 1 to 2^20");
	const gp__predictor *p = gp__layer_of(s);
	odvgp_path none, *path = *kept = GP__TAKE(a, odvgp_path, 1);
	if (!path) path = &none;
	path->terms = gp__kernel_term(&k, 0, &mask);
	path->term = GP__TAKE(a, gp__path_term, path->terms);
	path->numbers = path->weights = 0;
	double all = 0;
	GP__FOR(i, path->terms) {
		gp__path_term t = {0, 1, 0, 1};
		gp__kernel_term(&k, i, &t.base_kernels);
		GP__EACH_FACTOR(l, &k, &t)
		{
			const gp__base_kernel *base = &k.base[l];
			if (gp__geometry(base) == GP__DISTANCE) t.exact = 0;
			for (uint32_t f = gp__path_degree(base); f > 0; f--, t.forms++)
				t.count = t.forms && t.count > features / gp__path_choices(base)
								  ? features + 1
								  : t.count * gp__path_choices(base);
		}
		t.exact = t.exact && (t.forms < 2 || t.count <= features);
		if (!t.exact) t.count = features;
		all += (double)t.count * (double)(1 + t.forms) * (double)(p->D + 1);
		if (all > (double)PTRDIFF_MAX / 64) a->bad = 1;
		if (a->bad) continue;
		path->weights += 2 * t.count;
		path->numbers += t.count * (p->D + t.forms * (p->D + 1));
		if (path->term) path->term[i] = t;
	}
	path->w = gp__take(a, p->P, p->M);
	path->x = gp__take(a, 1, p->D);
	path->slope = gp__take(a, 1, p->D);
	path->feature = gp__take(a, p->units, path->numbers);
	path->weight = gp__take(a, p->P, path->weights);
	*bytes = gp__gradient_size(s, 1);
	if (!*bytes || a->bad)
		return gp__refuse(info, ODVGP_E_SIZE, "features", "is too large for memory");
	*bytes += a->used + 64;
	return ODVGP_OK;
}

/* --- the prior --- */

static double gp__path_uniform(odvgp_path *path)
{
	return gp__uniform(path->seed, GP__STREAM_PATH, 2 * path->drawn++);
}
static odvgp_real gp__path_normal(odvgp_path *path)
{
	return (odvgp_real)gp__normal(path->seed, GP__STREAM_PATH, path->drawn++);
}

/*	A gamma number of this shape and scale 1, by Marsaglia and Tsang (2000), who refuse less than
	5 % of their tries. */
static double gp__path_gamma(odvgp_path *path, double shape)
{
	double by = shape < 1 ? pow(gp__path_uniform(path), 1 / shape) : 1,
		   d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, v = 1;
	for (int tries = 0; tries < 100; tries++) {
		double x = (double)gp__path_normal(path), u = gp__path_uniform(path);
		v = 1 + x / sqrt(9 * d);
		v *= v * v;
		if (v > 0 && log(u) < x * x / 2 + d - d * v + d * log(v)) break;
	}
	return by * d * v;
}

/*	The variance of omega, in units of 1 / lengthscale^2. */
static double gp__path_spread(odvgp_path *path, const gp__base_kernel *base, const odvgp_real *hyp)
{
	double shape = base->type == GP__MATERN12 ? 0.5 : base->type == GP__MATERN32 ? 1.5 : 2.5;
	if (base->type == GP__RBF) return 1;
	if (base->type != GP__RQ) return shape / gp__path_gamma(path, shape);
	shape = (double)hyp[base->shape_param];
	return gp__path_gamma(path, shape) / shape;
}

/*	Features and weights of the chosen unit u. */
static void gp__path_draw(odvgp_path *path, ptrdiff_t u)
{
	const gp__prediction *t = path->g.t;
	const odvgp_real *hyp = t->v.hyp;
	ptrdiff_t D = t->p->D, at = 0;
	odvgp_real *to = path->feature + u * path->numbers;
	gp__zero(to, path->numbers);
	GP__FOR(i, path->terms) {
		const gp__path_term *term = path->term + i;
		GP__FOR(c, term->count) {
			odvgp_real *omega = to, scale = term->exact ? 1 : 1 / (odvgp_real)term->count;
			ptrdiff_t left = c;
			to += D;
			GP__EACH_FACTOR(l, t->kernel, term)
			{
				const gp__base_kernel *base = &t->kernel->base[l];
				ptrdiff_t nd = (ptrdiff_t)base->ndims, choices = gp__path_choices(base);
				if (!gp__path_degree(base)) scale *= hyp[base->var];
				if (gp__geometry(base) == GP__DISTANCE) {
					odvgp_real root = GP__SQRT((odvgp_real)gp__path_spread(path, base, hyp) *
											   gp__base_scale(base, hyp));
					GP__FOR(d, nd)
						omega[gp__column(base, d)] +=
								root * gp__base_column(base, hyp, d) * gp__path_normal(path);
				}
				for (uint32_t f = gp__path_degree(base); f > 0; f--, to += D + 1) {
					GP__FOR(d, choices) {
						odvgp_real v = hyp[d == nd ? base->shape_param
												   : base->var + (base->ard ? (uint32_t)d : 0)],
								   a = term->exact ? (odvgp_real)(left % choices == d)
												   : gp__path_normal(path);
						to[d == nd ? D : gp__column(base, d)] = GP__SQRT(v) * a;
					}
					left /= choices;
				}
			}
			for (int wave = 0; wave < 2; wave++, at++)
				GP__FROM(q, t->first, t->first + t->P)
					path->weight[q * path->weights + at] = GP__SQRT(scale) * gp__path_normal(path);
		}
	}
}

/*	Adds g(x) of the chosen unit u to f [P], every `step` numbers, and its gradient to df [P,D]. */
static void gp__path_prior(odvgp_path *path, ptrdiff_t u, const odvgp_real *x, odvgp_real *f,
		ptrdiff_t step, odvgp_real *df)
{
	const gp__prediction *t = path->g.t;
	const odvgp__simd *isa = t->blas.isa;
	const odvgp_real *a = path->feature + u * path->numbers,
					 *w = path->weight + t->first * path->weights;
	ptrdiff_t D = t->p->D;
	odvgp_real *slope = path->slope;
	GP__FOR(i, path->terms)
		for (ptrdiff_t c = path->term[i].count; c > 0; c--, w += 2) {
			const odvgp_real *omega = a;
			double angle = 0;
			odvgp_real value = 1;
			GP__FOR(d, D) angle += (double)omega[d] * (double)(x[d] - t->v.beta_centre[d]);
			odvgp_real cosine = (odvgp_real)cos(angle), sine = (odvgp_real)sin(angle);
			gp__zero(slope, D);
			a += D;
			for (ptrdiff_t k = path->term[i].forms; k > 0; k--, a += D + 1) {
				odvgp_real form = isa->dot(D, a, x) + a[D];
				GP__FOR(d, D) slope[d] = slope[d] * form + value * a[d];
				value *= form;
			}
			GP__FOR(q, t->P) {
				odvgp_real w1 = w[q * path->weights], w2 = w[q * path->weights + 1],
						   wave = w1 * cosine + w2 * sine;
				f[q * step] += wave * value;
				if (!df) continue;
				isa->axpy(D, wave, slope, df + q * D);
				isa->axpy(D, (w2 * cosine - w1 * sine) * value, omega, df + q * D);
			}
		}
}

/* --- the update --- */

/*	The variance of the jitter at point j: what the factor's diagonal has beyond k(x,x). B's last
	column has one entry, and with INVERSE all points have the same jitter. */
static odvgp_real gp__path_jitter(odvgp_path *path, ptrdiff_t q, ptrdiff_t j)
{
	const gp__prediction *t = path->g.t;
	ptrdiff_t M = t->p->M, factor = t->p->factor;
	int of_S = factor == GP__FACTOR_OF_S;
	odvgp_real node[GP__MAX_NODES], b2 = 1, all, more;
	if (!of_S) {
		j = M - 1;
		b2 = t->v.factor[factor == GP__DIAGONAL_OF_INVERSE ? q * M + j : (q * M + j) * M + j];
		b2 *= b2;
	}
	const odvgp_real *row = t->v.L + ((of_S ? 0 : q * M) + j) * M;
	gp__point_at(t, j, path->x);
	all = t->blas.isa->dot(j + 1, row, row);
	more = all - (odvgp_real)!of_S - b2 * gp__kernel_diag(t->kernel, t->v.hyp, path->x, node);
	return more > 4 * GP__EPS * all ? more / b2 : 0;
}

/*	w of process q of the unit, where g(Zb) is, by the weights of the variance's gradient: with
	T = xi and A = L^-1 (g(Zb) + e) they are L^-T (q_sqrt T - A), else -B L_H^-T T. */
static void gp__path_update(odvgp_path *path, ptrdiff_t q)
{
	gp__gradient *g = &path->g;
	gp__prediction *t = g->t;
	ptrdiff_t M = t->p->M;
	odvgp_real *w = path->w + (t->first + q) * M;
	gp__copy(t->A, w, M);
	GP__FOR(j, M) {
		t->A[j] += GP__SQRT(gp__path_jitter(path, q, j)) * gp__path_normal(path);
		w[j] = gp__path_normal(path);
	}
	t->square[0] = t->var[t->first + q] = 1; /* the prior counts */
	if (t->p->factor == GP__FACTOR_OF_S) {
		gp__predict_solve(t, 1, t->v.L, t->A);
		gp__copy(t->T, w, M);
	} else {
		gp__predict_by_factor(t, 1, q);
		gp__predict_solve(t, 1, t->v.L + q * M * M, w);
		t->blas.isa->axpy(M, 1, w, t->T);
	}
	gp__gradient_weights(g, 1, q);
	gp__copy(w, g->w + q * M, M);
	if (t->v.alpha) t->blas.isa->axpy(M, 1, t->v.alpha + q * M, w);
}

/* --- odvgp_path_start, odvgp_path_at --- */

ODVGP_API size_t odvgp_path_size(const odvgp_server *s, ptrdiff_t features, odvgp_info *info)
{
	gp__arena a = gp__measuring();
	odvgp_path *path;
	size_t bytes;
	return gp__path_layout(&a, s, features, &path, &bytes, info) ? 0 : bytes;
}

ODVGP_API odvgp_status odvgp_path_start(const odvgp_server *s, odvgp_path **to, uint64_t seed,
		ptrdiff_t features, void *block, size_t block_bytes, odvgp_info *info)
{
	odvgp_path *path;
	size_t need;
	gp__arena a = gp__measuring();
	if (!to || !block) return gp__is_null(info, to ? "block" : "path");
	*to = NULL;
	odvgp_status status = gp__path_layout(&a, s, features, &path, &need, info);
	if (status) return status;
	if (block_bytes < need) return gp__small(info, "block", need);
	a = gp__scratch_arena(block, block_bytes);
	gp__path_layout(&a, s, features, &path, &need, info);
	path->s = *s;
	path->seed = seed;
	path->drawn = 0;
	gp__prediction *t = gp__gradient_begin(&path->g, s, 1, a.base + a.used, a.size - a.used);
	ODVGP_ASSERT(t);
	ptrdiff_t M = t->p->M;
	GP__FOR(u, t->p->units) {
		gp__predict_unit(t, u);
		odvgp_real *w = path->w + t->first * M;
		gp__path_draw(path, u);
		gp__predict_points(t, t->v.beta, M, t->v.beta_centre);
		gp__zero(w, t->P * M);
		GP__FOR(j, M) {
			gp__point_at(t, j, path->x);
			gp__path_prior(path, u, path->x, w + j, M, NULL);
		}
		GP__FOR(q, t->P) gp__path_update(path, q);
	}
	*to = path;
	return ODVGP_OK;
}

ODVGP_API odvgp_status odvgp_path_at(
		odvgp_path *path, const odvgp_real *x, odvgp_real *f, odvgp_real *df, odvgp_info *info)
{
	if (!path || !x) return gp__is_null(info, path ? "x" : "path");
	gp__gradient *g = &path->g;
	gp__prediction *t = g->t;
	ptrdiff_t D = t->p->D;
	gp__prediction_call c = gp__predict_call(&path->s, x, NULL, 1);
	if (!gp__finite(x, D)) return gp__refuse(info, ODVGP_E_NAN, "x", "is not finite");
	memset(&path->to, 0, sizeof path->to);
	path->to.dmean = df;
	g->to = &path->to;
	gp__predict_inputs(t, x, 1);
	gp__zero(g->dmean, t->p->P * D);
	GP__FOR(u, t->p->units) {
		gp__predict_unit(t, u);
		t->v.alpha = path->w + t->first * t->p->M;
		gp__gradient_mean(g, 1);
		gp__path_prior(path, u, t->X, t->mean + t->first, 1, df ? g->dmean + t->first * D : NULL);
	}
	gp__predict_mix(t, 0, t->mean, 1, 1);
	gp__use_rows(&c, t, 0, 1, 0, t->p->F, t->mean, NULL, NULL, f, NULL);
	if (df) gp__gradient_out(g, 1, 0, 1, &c, df);
	return gp__predict_result(c.bad, info);
}

#endif /* ODVGP_FLOAT_ONLY */

/* ---- >>server   opening a frozen block or a file

	A server checks its block once, so that calls need not. A file, always little-endian, is
		magic, version, sizes | model (>>io) | predictor | the caller's bytes | checksum of all that
	Its predictor is the block with reals in the file's precision. */

#define GP__FILE_VERSION 10
enum { GP__FILE_MEASURE, GP__FILE_WRITE, GP__FILE_READ };

typedef struct {
	int mode, bad;
	unsigned char *at; /* NULL in MEASURE mode */
	size_t used, size;
} gp__file;

/* --- numbers of a file --- */

/*	One little-endian number of `bytes` bytes. */
static uint64_t gp__file_bits(gp__file *f, uint64_t value, int bytes)
{
	if (f->size - f->used < (size_t)bytes) {
		f->bad = 1;
		return 0;
	}
	if (f->mode == GP__FILE_WRITE)
		GP__FOR(i, bytes) f->at[f->used + (size_t)i] = (unsigned char)(value >> (8 * i));
	if (f->mode == GP__FILE_READ) {
		value = 0;
		GP__FOR(i, bytes) value |= (uint64_t)f->at[f->used + (size_t)i] << (8 * i);
	}
	f->used += (size_t)bytes;
	return value;
}

static void gp__file_u32(gp__file *f, uint32_t *v) { *v = (uint32_t)gp__file_bits(f, *v, 4); }
static void gp__file_u64(gp__file *f, uint64_t *v) { *v = gp__file_bits(f, *v, 8); }

/*	n reals of 4 or 8 bytes each. */
static void gp__file_reals(gp__file *f, odvgp_real *x, ptrdiff_t n, int bytes)
{
	if (f->bad || bytes > (int)sizeof(gp__wide) ||
			(size_t)n > (f->size - f->used) / (size_t)bytes) {
		f->bad = 1;
		return;
	}
	if (f->mode == GP__FILE_MEASURE) {
		f->used += (size_t)n * (size_t)bytes;
		return;
	}
	GP__FOR(i, n) {
		float single = (float)x[i];
		gp__wide wide = (gp__wide)x[i];
		uint32_t u32;
		uint64_t bits = 0;
		memcpy(&u32, &single, sizeof u32);
		memcpy(&bits, &wide, sizeof wide);
		bits = gp__file_bits(f, bytes == 4 ? u32 : bits, bytes);
		u32 = (uint32_t)bits;
		memcpy(&single, &u32, sizeof single);
		memcpy(&wide, &bits, sizeof wide);
		if (f->mode == GP__FILE_READ) x[i] = bytes == 4 ? (odvgp_real)single : (odvgp_real)wide;
	}
}

static void gp__file_words(gp__file *f, void *words, size_t bytes)
{
	uint32_t word;
	for (size_t i = 0; i + sizeof word <= bytes; i += sizeof word) {
		memcpy(&word, (unsigned char *)words + i, sizeof word);
		gp__file_u32(f, &word);
		memcpy((unsigned char *)words + i, &word, sizeof word);
	}
}

/* --- checking a block --- */

/*	A kernel from a file must be one that an expression makes: each base kernel has columns of the
	inputs; each node but the last is used once, by a later one; positions and groups are those of
	gp__base_finish, which finishes it again, one base kernel at a time to save stack. k changes
	only if it is refused. */
static int gp__kernel_ok(gp__kernel *k, ptrdiff_t D)
{
	uint64_t nhyp = 0;
	uint32_t used[GP__MAX_NODES] = {0}, uses[ODVGP_MAX_BASE_KERNELS] = {0}, hyp = k->nhyp,
			 groups = k->ngroup, group_base[ODVGP_MAX_BASE_KERNELS];
	if (k->D != (uint32_t)D || k->base_kernels < 1 || k->base_kernels > ODVGP_MAX_BASE_KERNELS ||
			k->nnode != 2 * k->base_kernels - 1)
		return 0;
	GP__EACH_BASE(i, k) {
		const gp__base_kernel *base = &k->base[i];
		uint64_t dims = base->nranges ? 0 : k->D;
		if (base->type >= GP__BASE_KERNEL_TYPES || base->ard > 1 || base->nranges > GP__MAX_RANGES)
			return 0;
		if (base->ard && !gp__has_lengthscale(base) && base->type != GP__LINEAR) return 0;
		if (base->nranges && gp__geometry(base) == GP__NO_INPUT) return 0;
		if (base->type == GP__POLYNOMIAL ? base->degree < 1 || base->degree > GP__MAX_DEGREE
										 : base->degree)
			return 0;
		for (uint32_t r = 0; r < base->nranges; r++) {
			if (base->range[r][0] >= base->range[r][1] || base->range[r][1] > k->D ||
					gp__range_repeats(base, r + 1))
				return 0;
			dims += base->range[r][1] - base->range[r][0];
		}
		if (base->ndims != dims) return 0;
		nhyp += (base->ard ? dims : 1) + 2; /* upper bound */
	}
	if (nhyp > INT_MAX) return 0;
	for (uint32_t t = 0; t < k->nnode; t++) {
		const uint32_t *node = k->node[t];
		if (node[0] == GP__NODE_BASE_KERNEL) {
			if (node[1] >= k->base_kernels || uses[node[1]]++) return 0;
		} else if (node[0] > GP__NODE_PRODUCT || node[1] >= t || node[2] >= t || used[node[1]]++ ||
				   used[node[2]]++)
			return 0;
	}
	memcpy(group_base, k->group_base, sizeof group_base);
	k->nhyp = k->ngroup = 0;
	GP__EACH_BASE(i, k) {
		gp__base_kernel base = k->base[i];
		gp__base_finish(k, i);
		if (memcmp(&base, &k->base[i], sizeof base) != 0) return 0;
	}
	return k->nhyp == hyp && k->ngroup == groups &&
		   !memcmp(group_base, k->group_base, sizeof group_base);
}

/*	Four multiply-and-fold lanes over 32-byte blocks: any changed bit changes the sum. */
static uint64_t gp__checksum(const unsigned char *at, size_t n)
{
	uint64_t lane[4] = {1, 2, 3, 4}, h = (uint64_t)n;
	for (size_t i = 0; i < n; i++) {
		uint64_t *x = &lane[i / 8 % 4];
		*x = (*x ^ ((uint64_t)at[i] << (8 * (i % 8))));
		if (i % 8 == 7 || i + 1 == n) *x = gp__mix(*x + UINT64_C(0x9e3779b97f4a7c15));
	}
	GP__FOR(k, 4) h = gp__mix(h ^ lane[k]);
	return h;
}

static void gp__predictor_sum(const gp__predictor *p, uint32_t *sum)
{
	const unsigned char *from = (const unsigned char *)p->reals;
	size_t before = (size_t)(from - (const unsigned char *)p);
	uint64_t h = gp__checksum(from, gp__predictor_bytes(p) - before);
	sum[0] = (uint32_t)(h & 0xffffffffu);
	sum[1] = (uint32_t)(h >> 32);
}

static const char gp__left_out[] =
		"needs what this build leaves out (ODVGP_LIKELIHOODS, ODVGP_KERNELS, ODVGP_MEMBERS)";
static const char gp__too_many_base_kernels[] =
		"its kernel has more terms than this build allows: compile with a larger "
		"ODVGP_MAX_BASE_KERNELS";

/*	Magic, version, number of base kernels. */
static odvgp_status gp__predictor_start_check(
		const gp__predictor *p, const char *what, odvgp_info *info)
{
	if (p->magic == GP__ROWS_MAGIC)
		return gp__unsupported(
				info, what, "is a compact block: compile with ODVGP_PREDICT_ONLY to serve it");
	if (p->magic != GP__PREDICTOR_MAGIC)
		return gp__refuse(
				info, ODVGP_E_FORMAT, what, "holds no predictor of a machine like this one");
	if (p->version != GP__PREDICTOR_VERSION)
		return gp__fail(info, ODVGP_E_UNSUPPORTED, what, -1, (gp__wide)p->version,
				"holds a predictor of another version: freeze the model again with this one");
	if (p->base_kernels > ODVGP_MAX_BASE_KERNELS)
		return gp__fail(info, ODVGP_E_UNSUPPORTED, what, -1, (gp__wide)p->base_kernels,
				gp__too_many_base_kernels);
	return p->base_kernels ? ODVGP_OK
						   : gp__refuse(info, ODVGP_E_FORMAT, what, "its kernel is not valid");
}

/*	The number of reals, or -1 if no model has this head. The kernel's words follow it. */
static ptrdiff_t gp__predictor_measure(const gp__predictor *p)
{
	gp__kernel k;
	gp__view v;
	memset(&k, 0, sizeof k);
	gp__kernel_unpack(gp__predictor_kernel(p), p->base_kernels, &k);
	if ((p->D | p->M_gamma | p->M_factor | p->F | p->mean_function | p->likelihood | p->nodes |
				p->weights | p->scale | p->factor | p->no_alpha | p->mixed) < 0)
		return -1;
	if (p->D < 1 || p->M < 1 || p->P < 1 || (p->units != 1 && p->units != p->P)) return -1;
	if (p->layers < 1 || p->layers > GP__MOST_LAYERS || p->samples < 1 ||
			p->samples > GP__MOST_SAMPLES ||
			(p->layers > 1 && p->likelihood != ODVGP_LIKELIHOOD_GAUSSIAN))
		return -1;
	if (p->likelihood >= GP__COUNT(gp__likelihoods)) return -1;
	const gp__likelihood *lik = &gp__likelihoods[p->likelihood];
	if (p->mixed > 1 || (p->mixed ? p->F < p->P || p->layers > 1 : p->F != p->P) ||
			gp__check_functions(lik, p->P, p->mixed ? p->F : 0,
					lik->flags & GP__LIK_FACTORS ? p->classes : 0, NULL))
		return -1;
	if (p->nodes > GP__MOST_NODES || (lik->flags & GP__LIK_GAUSSIAN ? p->nodes : !p->nodes))
		return -1;
	int gaussian = lik->flags & GP__LIK_GAUSSIAN;
	ptrdiff_t classes = p->classes, extent = gaussian ? p->lik_params : classes;
	if (classes != gp__classes(lik, p->F, classes) || classes > GP__MOST_CLASSES || p->T < 1 ||
			p->T != gp__lik_targets(lik, p->F) ||
			(gaussian && p->lik_params != 1 && p->lik_params != p->T) ||
			p->lik_params != gp__lik_all_numbers(lik, extent))
		return -1;
	if (p->weights > 1 || p->scale > (lik->flags & GP__LIK_EXPOSURE || gaussian ? 1 : 0)) return -1;
	if (p->factor >= GP__FACTORS || p->M_factor > p->M ||
			(p->M_factor != p->M && p->factor != GP__FACTOR_OF_S))
		return -1;
	if (p->no_alpha > 1 || p->mean_function >= GP__COUNT(gp__mean_functions)) return -1;
	if (!gp__patches_ok(&p->patches, p->D) ||
			gp__patches_count(&p->patches) >
					PTRDIFF_MAX / 64 / GP__MAX((1 + (ptrdiff_t)p->columns), p->P) ||
			(p->patches.image_output && p->layers == 1))
		return -1;
	if (p->mean_function == ODVGP_MEAN_FUNCTION_IDENTITY &&
			gp__row_columns(&p->patches, p->D) != (ptrdiff_t)(p->P / p->units))
		return -1;
	if (!gp__kernel_ok(&k, gp__patch_columns(&p->patches, p->D)) || (uint32_t)p->nhyp != k.nhyp)
		return -1;
	if (p->columns != gp__points_columns(&k)) return -1;
	ptrdiff_t reals = gp__view_layout(p, NULL, 0, &v);
	return reals >= 0 && gp__predictor_reals(p) == (uint64_t)reals ? reals : -1;
}

/*	Whether this build has what the predictor needs; its words are valid. */
static odvgp_status gp__predictor_has(const gp__predictor *p, const char *what, odvgp_info *info)
{
	const uint32_t *base = gp__predictor_kernel(p) + gp__kernel_words(p->base_kernels) -
						   p->base_kernels * GP__BASE_KERNEL_WORDS;
	int has = (p->layers > 1 || gp__likelihoods[p->likelihood].y_moments) &&
			  (gp__is_dense(p) || GP__MEMBERS_INVERSE) &&
			  (GP__DESK || (p->layers == 1 && !p->patches.height && !p->mixed));
	for (uint32_t l = 0; l < p->base_kernels; l++, base += GP__BASE_KERNEL_WORDS)
		has = has && GP__KERNEL_HAS(base[0]);
	return has ? ODVGP_OK : gp__unsupported(info, what, gp__left_out);
}

/*	Whether reals are finite, and positive, or 0 and 1, where they must be. */
static int gp__predictor_reals_ok(const gp__predictor *p)
{
	gp__view v = gp__view_of(p, 0);
	const gp__likelihood *of = &gp__likelihoods[p->likelihood];
	ptrdiff_t lik =
			of->flags & GP__LIK_GAUSSIAN ? p->lik_params : gp__lik_numbers(of, 1, p->classes);
	const struct {
		const odvgp_real *x;
		ptrdiff_t n;
	} positive[] = {{v.hyp, (ptrdiff_t)p->units * p->nhyp}, {v.lik_params, lik}, {v.x_scale, p->D},
			{v.y_scale, p->T}};
	GP__FOR(k, GP__COUNT(positive))
		GP__FOR(i, positive[k].n)
			if (!(positive[k].x[i] > 0)) return 0;
	if (p->nodes && !(v.rule[0] >= 0 && v.rule[0] < GP__R(0.5))) return 0; /* link jitter */
	if (p->nodes && v.rule[0] > 0 && !(of->flags & GP__LIK_LINK)) return 0;
	if (!(of->flags & GP__LIK_SCALABLE))
		GP__FOR(t, p->T)
			if (v.y_mean[t] != 0 || v.y_scale[t] != 1) return 0;
	if (lik && of->param[0].rate && !(v.lik_params[0] < 1)) return 0;
	/* beta comes first: all reals */
	return gp__finite(v.beta, (ptrdiff_t)gp__predictor_reals(p));
}

/*	Of a checked block: D is the first layer's, all else the last one's. */
static odvgp_status gp__server_fill(odvgp_server *s, const gp__predictor *p, const odvgp__simd *row)
{
	*s = gp__layer_server(p, row);
	while (gp__layer_of(s)->layers > 1) *s = gp__layer_above(s);
	s->block = p;
	s->D = p->D;
	return ODVGP_OK;
}

/*	Whether `above` is the predictor of the layer above p. */
static int gp__predictors_chain(const gp__predictor *p, const gp__predictor *above)
{
	return above->layers + 1 == p->layers && above->D == gp__predictor_width(p) &&
		   above->samples == p->samples;
}

static odvgp_status gp__server_check(
		const odvgp_server *server, const void *block, const odvgp__simd *row, odvgp_info *info)
{
	if (!server) return gp__is_null(info, "server");
	if (!block) return gp__is_null(info, "block");
	if ((uintptr_t)block % sizeof(odvgp_real))
		return gp__refuse(info, ODVGP_E_ARG, "block", "must be aligned for a real");
	return row ? ODVGP_OK : gp__no_isa(info);
}

static odvgp_status gp__bad_block(odvgp_info *info, const char *sentence)
{
	return gp__refuse(info, ODVGP_E_FORMAT, "block", sentence);
}

static odvgp_status gp__cut_off(odvgp_info *info, size_t bytes)
{
	return gp__fail(info, ODVGP_E_FORMAT, "block", -1, (gp__wide)bytes, "is cut off");
}

/*	One layer's predictor at the start of a block. */
static odvgp_status gp__predictor_check(const gp__predictor *p, size_t bytes, odvgp_info *info)
{
	uint32_t sum[2];
	if (bytes < sizeof *p) return gp__cut_off(info, bytes);
	odvgp_status s = gp__predictor_start_check(p, "block", info);
	if (s) return s;
	if (p->real_size != sizeof(odvgp_real))
		return gp__fail(info, ODVGP_E_UNSUPPORTED, "block", -1, (gp__wide)p->real_size,
				"is of the other precision: only a model file can be read in both");
	if (bytes < gp__predictor_head(p->base_kernels)) return gp__cut_off(info, bytes);
	if (gp__predictor_measure(p) < 0) return gp__bad_block(info, "its predictor is not valid");
	if ((s = gp__predictor_has(p, "block", info)) != ODVGP_OK) return s;
	if (bytes < gp__predictor_bytes(p)) return gp__cut_off(info, bytes);
	gp__predictor_sum(p, sum);
	if (memcmp(sum, p->checksum, sizeof sum) != 0)
		return gp__bad_block(info, "damaged: the checksum does not match");
	if (!gp__predictor_reals_ok(p))
		return gp__bad_block(info, "a number is not finite or out of range");
	return ODVGP_OK;
}

ODVGP_API odvgp_status odvgp_server_from_block(odvgp_server *server, const void *block,
		size_t block_bytes, odvgp_isa isa, odvgp_info *info)
{
	const gp__predictor *p = (const gp__predictor *)block;
	const odvgp__simd *row = gp__isa_find(isa);
	odvgp_status s = gp__server_check(server, block, row, info);
	if (s || (s = gp__predictor_check(p, block_bytes, info)) != ODVGP_OK) return s;
	while (p->layers > 1) {
		const gp__predictor *above = gp__predictor_above(p);
		block_bytes -= gp__predictor_bytes(p);
		if ((s = gp__predictor_check(above, block_bytes, info))) return s;
		if (!gp__predictors_chain(p, above))
			return gp__bad_block(info, "its layers do not chain");
		p = above;
	}
	return gp__server_fill(server, (const gp__predictor *)block, row);
}

typedef struct {
	uint64_t magic, state_bytes, predictor_bytes, user_bytes;
	uint32_t version, real_size;
} gp__file_head;
/* not text, and broken by a transfer that changes line ends */
#define GP__FILE_MAGIC UINT64_C(0x0a1a0d5047564f8f)
#define GP__FILE_HEAD  40

/* --- a predictor out of a model file --- */

static void gp__file_head_walk(gp__file *f, gp__file_head *h)
{
	gp__file_u64(f, &h->magic);
	gp__file_u32(f, &h->version);
	gp__file_u32(f, &h->real_size);
	gp__file_u64(f, &h->state_bytes);
	gp__file_u64(f, &h->predictor_bytes);
	gp__file_u64(f, &h->user_bytes);
}

static gp__file gp__file_make(int mode, const void *at, size_t size)
{
	gp__file f;
	memset(&f, 0, sizeof f);
	f.mode = mode;
	f.at = (unsigned char *)(uintptr_t)at; /* only WRITE mode writes */
	f.size = mode == GP__FILE_MEASURE ? (size_t)PTRDIFF_MAX : size;
	return f;
}

static odvgp_status gp__bad_file(odvgp_info *info, const char *sentence)
{
	return gp__refuse(info, ODVGP_E_FORMAT, "model file", sentence);
}

/*	Check magic, version, sizes and checksum; set f to read, and h. */
static odvgp_status gp__file_open(
		gp__file *f, const void *file, size_t bytes, gp__file_head *h, odvgp_info *info)
{
	memset(h, 0, sizeof *h);
	if (!file) return gp__is_null(info, "file");
	*f = gp__file_make(GP__FILE_READ, file, bytes);
	gp__file_head_walk(f, h);
	if (f->bad || h->magic != GP__FILE_MAGIC) return gp__bad_file(info, "this is not a model file");
	if (h->version != GP__FILE_VERSION)
		return gp__fail(info, ODVGP_E_UNSUPPORTED, "model file", -1, (gp__wide)h->version,
				h->version > GP__FILE_VERSION
						? "of a newer format: read it with the release that wrote it"
						: "of an older format: train the model again, or read it with the release "
						  "that wrote it");
	if (h->state_bytes > bytes || h->predictor_bytes > bytes || h->user_bytes > bytes ||
			GP__FILE_HEAD + h->state_bytes + h->predictor_bytes + h->user_bytes + 8 != bytes)
		return gp__fail(info, ODVGP_E_FORMAT, "model file", -1, (gp__wide)bytes,
				"truncated, or longer than it should be");
	f->used = bytes - 8;
	if (gp__file_bits(f, 0, 8) != gp__checksum((const unsigned char *)file, bytes - 8))
		return gp__bad_file(info, "damaged: the checksum does not match");
	if (h->real_size != 4 && h->real_size != 8) return gp__bad_file(info, "an unknown precision");
	return ODVGP_OK;
}

/*	Head and largest kernel of a predictor. */
typedef union {
	gp__predictor head;
	uint32_t words[(sizeof(gp__predictor) + sizeof(gp__kernel)) / sizeof(uint32_t) + 32];
} gp__predictor_start;

/*	Read and check the next predictor's head, which begins a gp__predictor_start or a block with
	room for it, and set its real_size to this build's. Leaves f at the reals. *left: bytes of
	predictors from here on. below: the layer before, or NULL. */
static odvgp_status gp__file_predictor(gp__file *f, const gp__file_head *h, uint64_t *left,
		const gp__predictor *below, gp__predictor *p, odvgp_info *info)
{
	gp__file_words(f, p, sizeof *p);
	if (f->bad) return gp__bad_file(info, "its predictor is not valid");
	odvgp_status s = gp__predictor_start_check(p, "model file", info);
	if (s) return s;
	size_t head = gp__predictor_head(p->base_kernels);
	ODVGP_ASSERT(head <= sizeof(gp__predictor_start));
	gp__file_words(f, p + 1, head - sizeof *p);
	ptrdiff_t reals = f->bad ? -1 : gp__predictor_measure(p);
	uint64_t bytes = head + (uint64_t)GP__MAX(reals, 0) * h->real_size;
	if (reals < 0 || *left < bytes || (p->layers == 1 && *left != bytes) ||
			p->real_size != h->real_size || (below && !gp__predictors_chain(below, p)))
		return gp__bad_file(info, "its predictor is not valid");
	*left -= bytes;
	p->real_size = sizeof(odvgp_real);
	return gp__predictor_has(p, "model file", info);
}

GP__NOINLINE odvgp_status gp__file_predictor_size(
		gp__file *f, const gp__file_head *h, size_t *bytes, odvgp_info *info)
{
	gp__predictor_start start;
	gp__predictor below;
	uint64_t left = h->predictor_bytes;
	f->used = (size_t)(GP__FILE_HEAD + h->state_bytes);
	*bytes = 0;
	for (below.layers = 2; below.layers > 1; below = start.head) {
		odvgp_status s = gp__file_predictor(f, h, &left, *bytes ? &below : NULL, &start.head, info);
		if (s) return s;
		*bytes += gp__predictor_bytes(&start.head);
		f->used += (size_t)(gp__predictor_reals(&start.head) * h->real_size);
	}
	return ODVGP_OK;
}

/*	The next predictor of a checked file, whose size has been checked, too. Its head is read where
	it stays: a copy would take 1.5 KiB of stack beside gp__predictor_measure's kernel. */
static odvgp_status gp__file_predictor_read(
		gp__file *f, const gp__file_head *h, uint64_t *left, gp__predictor *p, odvgp_info *info)
{
	odvgp_status s = gp__file_predictor(f, h, left, NULL, p, info);
	if (s) return s;
	size_t head = gp__predictor_head(p->base_kernels);
	gp__file_reals(f, (odvgp_real *)(void *)((unsigned char *)p + head),
			(ptrdiff_t)gp__predictor_reals(p), (int)h->real_size);
	if (f->bad || !gp__predictor_reals_ok(p))
		return gp__bad_file(
				info, "a number of its predictor is not finite, or not above 0 in this precision");
	gp__predictor_sum(p, p->checksum);
	return ODVGP_OK;
}

ODVGP_API size_t odvgp_server_size(const void *file, size_t file_bytes, odvgp_info *info)
{
	gp__file f;
	gp__file_head h;
	size_t need = 0;
	if (gp__file_open(&f, file, file_bytes, &h, info)) return 0;
	return gp__file_predictor_size(&f, &h, &need, info) ? 0 : need;
}

ODVGP_API odvgp_status odvgp_load_user(const void *file, size_t file_bytes, const void **user,
		size_t *user_bytes, odvgp_info *info)
{
	gp__file f;
	gp__file_head h;
	if (!user || !user_bytes) return gp__is_null(info, user ? "user_bytes" : "user");
	odvgp_status s = gp__file_open(&f, file, file_bytes, &h, info);
	if (s) return s;
	*user = (const unsigned char *)file + (file_bytes - 8 - (size_t)h.user_bytes);
	*user_bytes = (size_t)h.user_bytes;
	return ODVGP_OK;
}

ODVGP_API odvgp_status odvgp_server_from_memory(odvgp_server *server, const void *file,
		size_t file_bytes, odvgp_isa isa, void *block, size_t block_bytes, odvgp_info *info)
{
	gp__file f;
	gp__file_head h;
	const odvgp__simd *row = gp__isa_find(isa);
	odvgp_status s = gp__server_check(server, block, row, info);
	if (s || (s = gp__file_open(&f, file, file_bytes, &h, info)) != ODVGP_OK) return s;
	size_t need;
	if ((s = gp__file_predictor_size(&f, &h, &need, info))) return s;
	if (block_bytes < need) return gp__small(info, "block", block_bytes);
	uint64_t left = h.predictor_bytes;
	gp__predictor *p = (gp__predictor *)block;
	f.used = (size_t)(GP__FILE_HEAD + h.state_bytes);
	while ((s = gp__file_predictor_read(&f, &h, &left, p, info)) == ODVGP_OK && p->layers > 1)
		p = (gp__predictor *)(uintptr_t)gp__predictor_above(p);
	if (s) {
		((gp__predictor *)block)->magic = 0;
		return s;
	}
	return gp__server_fill(server, (const gp__predictor *)block, row);
}

/* --- files on disk --- */

#ifndef ODVGP_NO_STDIO
#define GP__FILE_TRIES 10000
#if defined(__unix__) || defined(__APPLE__)
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef O_SYNC /* unlike fsync, declared in strict C99, too */
#define GP__O_SYNC O_SYNC
#else
#define GP__O_SYNC 0
#endif

#define GP__OPEN_NEW(name)     open(name, O_WRONLY | O_CREAT | O_EXCL | GP__O_SYNC, 0666)
#define GP__WRITE(file, at, n) write(file, at, n)
#define GP__CLOSE(file)        close(file)
#elif defined(_WIN32)
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#ifdef __cplusplus
extern "C"
#endif
		__declspec(dllimport) int __stdcall MoveFileExA(
				const char *from, const char *to, unsigned long flags);
#define GP__OPEN_NEW(name) \
	_open(name, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY, _S_IREAD | _S_IWRITE)
#define GP__WRITE(file, at, n) _write(file, at, (unsigned)(n))
#define GP__CLOSE(file)        (_commit(file) | _close(file))
#endif

/*	Whether path is no regular file: none may replace it. Standard C cannot tell. */
static int gp__file_in_place(const char *path)
{
#if defined(S_ISREG) && !defined(_WIN32)
	struct stat is;
	return stat(path, &is) == 0 && !S_ISREG(is.st_mode);
#else
	return path == NULL;
#endif
}

/*	Writes the block to a file that fopen returned, and closes it; 1 if all went well. */
static int gp__file_put(FILE *file, const void *block, size_t bytes)
{
	if (!file) return 0;
	int good = fwrite(block, 1, bytes, file) == bytes;
	return (fclose(file) == 0) & good;
}

/*	Create a new file that holds the block. Returns 1; 0 if the name is taken; -1 after any other
	failure. Failures leave no new file. */
static int gp__file_create(const char *name, const void *block, size_t bytes)
{
#ifdef GP__OPEN_NEW
	const unsigned char *at = (const unsigned char *)block;
	int file = GP__OPEN_NEW(name), bad = 0;
	if (file < 0) return errno == EEXIST ? 0 : -1;
	while (bytes && !bad) {
		ptrdiff_t written = (ptrdiff_t)GP__WRITE(file, at, GP__MIN(bytes, (size_t)1 << 30));
		if (written > 0) {
			at += written;
			bytes -= (size_t)written;
		} else bad = written == 0 || errno != EINTR;
	}
	if (GP__CLOSE(file) == 0 && !bad) return 1;
#else /* mode "x" is C11; in older libraries, opening for reading tells whether the name is taken */
	FILE *file = fopen(name, "rb");
	if (file) {
		(void)fclose(file);
		return 0;
	}
	file = fopen(name, "wbx");
	if (!file) return -1;
	if (gp__file_put(file, block, bytes)) return 1;
#endif
	(void)remove(name);
	return -1;
}

/*	Rename, replacing `to` if it exists. */
static int gp__file_rename(const char *from, const char *to)
{
#ifdef _WIN32
	const unsigned long replace_existing = 1, write_through = 8;
	return MoveFileExA(from, to, replace_existing | write_through) != 0;
#else
	return rename(from, to) == 0;
#endif
}

static odvgp_status gp__unwritten(odvgp_info *info)
{
	return gp__refuse(info, ODVGP_E_IO, "path", "the file could not be written");
}

ODVGP_API odvgp_status odvgp_file_write(
		const char *path, const void *file, size_t file_bytes, odvgp_info *info)
{
	char beside[1024];
	int made = 0;
	if (!path || !file) return gp__is_null(info, path ? "file" : "path");
	if (gp__file_in_place(path))
		return gp__file_put(fopen(path, "wb"), file, file_bytes) ? ODVGP_OK : gp__unwritten(info);
	for (int n = 0; n < GP__FILE_TRIES && !made; n++) {
		gp__text name = {beside, sizeof beside, 0};
		gp__put(&name, path);
		gp__put(&name, ".");
		gp__put_int(&name, n);
		gp__put(&name, ".tmp");
		if (name.used >= name.size) return gp__refuse(info, ODVGP_E_ARG, "path", "is too long");
		made = gp__file_create(beside, file, file_bytes);
	}
	if (made <= 0) return gp__unwritten(info);
	if (gp__file_rename(beside, path)) return ODVGP_OK;
	(void)remove(beside);
	return gp__unwritten(info);
}

static odvgp_status gp__unread(odvgp_info *info)
{
	return gp__refuse(info, ODVGP_E_IO, "path", "the file could not be read");
}

/*	The file, at its start, and its size; NULL. */
static FILE *gp__file_of(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "rb");
	if (!file) return NULL;
	long length = -1;
	if (!fseek(file, 0, SEEK_END)) length = ftell(file);
	*bytes = (size_t)length;
	/* ftell may return LONG_MAX for a directory */
	if (length >= 0 && length < LONG_MAX && !fseek(file, 0, SEEK_SET)) return file;
	(void)fclose(file);
	return NULL;
}

ODVGP_API size_t odvgp_file_size(const char *path, odvgp_info *info)
{
	size_t bytes = 0;
	FILE *file = path ? gp__file_of(path, &bytes) : NULL;
	if (!path) gp__is_null(info, "path");
	else if (!file) gp__unread(info);
	else if (!bytes) gp__refuse(info, ODVGP_E_SIZE, "path", "the file is empty");
	if (file) (void)fclose(file);
	return file ? bytes : 0;
}

ODVGP_API odvgp_status odvgp_file_read(
		const char *path, size_t *file_bytes, void *block, size_t block_bytes, odvgp_info *info)
{
	size_t bytes;
	if (!path || !file_bytes || !block)
		return gp__is_null(info, !path ? "path" : !block ? "block" : "file_bytes");
	FILE *file = gp__file_of(path, &bytes);
	if (!file) return gp__unread(info);
	int fits = bytes <= block_bytes, whole = fits && fread(block, 1, bytes, file) == bytes;
	(void)fclose(file);
	if (!fits) return gp__small(info, "block", block_bytes);
	if (whole) *file_bytes = bytes;
	return whole ? ODVGP_OK : gp__unread(info);
}
#endif

#ifndef ODVGP_FLOAT_ONLY
/* ---- >>online   learning row by row in a predictor's block

	With hyperparameters, inducing inputs and a_gamma fixed,
		f(x) = o(x) + A^T v,    o(x) = m(x) + (K(x,Zg) - A^T W) a
	where v, whitened u, has the prior N(0, I) and q(v) = N(m, (G G^T)^-1), G lower. The predictor's
	alpha is L^-T (m - c), c = W a, whether its a is ORTH's or HYBRID's.

	A natural step of length 1 on one row (>>natgrad), from the derivatives g_m and g_v of its
	expected log density, has the weight w = -2 g_v and the target y = A^T m + g_m / w:
		G G^T <- G G^T + w A A^T,    G z <- G z + w y A,    m = G^-T z
	For the Gaussian w = 1 / noise, and y is the target minus o(x): the batch's q. k - |A|^2 is not
	added to the noise: in the bound it does not touch q. Rotations of columns make (G, sqrt(w) A)
	lower again; z and sqrt(w) y are one more row of it. So no precision is formed, whose condition
	is the square of G's.

	Forgetting scales G and z by sqrt(lambda) and learns sqrt(M (1 - lambda) / n) e_i with the target
	0 for n = 1 + floor(M (1 - lambda)) numbers i, in turn: on average the prior's (1 - lambda) I,
	without which G goes to 0 where there are no data.

	Each process has its own G. Cost of a row and process: M^2 / 2 for A, 2 M^2 for the rotations,
	M^2 / 2 each for m and alpha. */

typedef struct {
	odvgp_online *o;
	gp__prediction *t;
	odvgp_real *x, *c, *s;    /* [M] a row to learn; rotations */
	odvgp_real *dmean, *dvar; /* [P] */
} gp__online;

/* --- memory --- */

/*	The head of a predictor that learns, for M points. */
static gp__predictor gp__online_head(const gp__predictor *of, ptrdiff_t M)
{
	gp__predictor p = *of;
	gp__view v;
	p.factor = GP__FACTOR_OF_PRECISION;
	p.M = p.M_factor = (int32_t)M;
	p.no_alpha = 0;
	gp__predictor_set_reals(&p, gp__view_layout(&p, NULL, 0, &v));
	return p;
}

/*	The predictor, and what the struct points to. */
static gp__predictor *gp__online_layout(gp__arena *a, const gp__predictor *p, odvgp_online *o)
{
	void *block = gp__take_bytes(a, 1, gp__predictor_bytes(p));
	o->most = p->M;
	o->z = gp__take(a, p->P, p->M);
	o->m = gp__take(a, p->P, p->M);
	o->c = gp__take(a, p->P, p->M);
	return (gp__predictor *)block;
}

static void gp__online_work(gp__arena *a, const gp__predictor *p, gp__online *w)
{
	w->x = gp__take(a, 1, p->M);
	w->c = gp__take(a, 1, p->M);
	w->s = gp__take(a, 1, p->M);
	w->dmean = gp__take(a, 1, p->P);
	w->dvar = gp__take(a, 1, p->P);
}

static odvgp_status gp__online_check(const odvgp_server *s, ptrdiff_t most, odvgp_info *info)
{
	const gp__predictor *p = gp__served(s);
	if (!p) return gp__not_served(info);
	if (p->layers > 1 || p->mixed || !gp__is_dense(p))
		return gp__unsupported(info, "server",
				p->layers > 1 ? "has several layers"
				: p->mixed    ? "mixes functions, which a row would make dependent"
							  : "has a covariance part without q_sqrt");
	if (most >= p->M && most < INT32_MAX && gp__online_head(p, most).reals[1] < INT32_MAX)
		return ODVGP_OK;
	return gp__fail(info, ODVGP_E_SIZE, "most", -1, (double)most, "is below M or too large");
}

/*	Bytes of a block, or of scratch. */
static size_t gp__online_bytes(const odvgp_server *s, ptrdiff_t most, int scratch, odvgp_info *info)
{
	odvgp_online o;
	gp__online w;
	gp__arena a = gp__measuring();
	if (gp__online_check(s, most, info)) return 0;
	gp__predictor p = gp__online_head(gp__layer_of(s), most);
	odvgp_server largest = gp__layer_server(&p, s->isa);
	size_t bytes = gp__predict_size(&largest, 1, 0);
	if (scratch) gp__online_work(&a, &p, &w);
	else gp__online_layout(&a, &p, &o);
	if (!bytes || a.bad) return gp__too_large(info, "most");
	return a.used + 64 + (scratch ? bytes : 0);
}

ODVGP_API size_t odvgp_online_size(const odvgp_server *s, ptrdiff_t most, odvgp_info *info)
{
	return gp__online_bytes(s, most, 0, info);
}

ODVGP_API size_t odvgp_online_scratch(const odvgp_server *s, ptrdiff_t most, odvgp_info *info)
{
	return gp__online_bytes(s, most, 1, info);
}

/*	Begins with rows one by one; again after the number of points has changed. w->t NULL: scratch is
	too small. */
static void gp__online_begin(gp__online *w, odvgp_online *o, void *scratch, size_t bytes)
{
	gp__arena a = gp__scratch_arena(scratch, bytes), rest;
	gp__online_work(&a, gp__layer_of(&o->server), w);
	gp__arena_init(&rest, a.base + a.used, a.size - a.used);
	w->o = o;
	w->t = a.bad ? NULL : gp__predict_begin(&o->server, 1, 0, rest);
	if (w->t) gp__predict_unit(w->t, 0);
}

/*	Only this section writes to a server's block. */
static gp__predictor *gp__online_block(const odvgp_online *o)
{
	return (gp__predictor *)(uintptr_t)o->server.block;
}

/* --- G, z, m, alpha of process q of a unit --- */

static odvgp_real *gp__online_G(const gp__prediction *t, ptrdiff_t q)
{
	return t->v.factor + q * t->p->M * t->p->M;
}

/*	Its numbers in z, m or c. */
static odvgp_real *gp__online_at(const gp__online *w, odvgp_real *x, ptrdiff_t q)
{
	return x + (w->t->first + q) * w->o->most;
}

/*	G G^T <- G G^T + x x^T and G z <- G z + y x for x = w->x, 0 before `from`, which is lost. Returns
	whether rounding kept less than half of what the diagonal grows by. */
static int gp__online_rotate(
		const gp__online *w, ptrdiff_t from, odvgp_real *G, odvgp_real *z, odvgp_real y)
{
	ptrdiff_t M = w->t->p->M;
	odvgp_real *c = w->c, *s = w->s, kept = 0, all = 0;
	GP__FROM(j, from, M) {
		odvgp_real *row = G + j * M, v = w->x[j], g, h, inverse;
		GP__FROM(i, from, j) {
			g = row[i];
			row[i] = c[i] * g + s[i] * v;
			v = c[i] * v - s[i] * g;
		}
		g = row[j];
		row[j] = h = GP__SQRT(g * g + v * v);
		inverse = h > 0 ? 1 / h : 0;
		c[j] = h > 0 ? g * inverse : 1;
		s[j] = v * inverse;
		kept += (h - g) * inverse * ((h + g) * inverse);
		all += s[j] * s[j];
		g = z[j];
		z[j] = c[j] * g + s[j] * y;
		y = c[j] * y - s[j] * g;
	}
	return kept < all / 2;
}

/*	y <- T^T x for T [M,M], lower. */
static void gp__online_product(
		const gp__prediction *t, const odvgp_real *T, const odvgp_real *x, odvgp_real *y)
{
	ptrdiff_t M = t->p->M;
	gp__zero(y, M);
	GP__FOR(i, M) t->blas.isa->axpy(i + 1, x[i], T + i * M, y);
}

/*	m and alpha. */
static void gp__online_solve(const gp__online *w, ptrdiff_t q)
{
	const gp__prediction *t = w->t;
	ptrdiff_t M = t->p->M;
	odvgp_real *m = gp__online_at(w, w->o->m, q), *c = gp__online_at(w, w->o->c, q),
			   *alpha = t->v.alpha + q * M;
	gp__copy(m, gp__online_at(w, w->o->z, q), M);
	gp__solve_transposed(t->blas.isa, M, gp__online_G(t, q), m);
	GP__FOR(i, M) alpha[i] = m[i] - c[i];
	gp__solve_transposed(t->blas.isa, M, t->v.L, alpha);
}

/* --- beginning --- */

/*	Where x stands: an input, or a patch. */
static odvgp_real *gp__online_x(const gp__prediction *t)
{
	return t->p->patches.height ? t->patches : t->X;
}

/*	x <- inducing input j. */
static void gp__online_point(gp__prediction *t, ptrdiff_t j)
{
	gp__predict_points(t, t->v.beta, t->p->M, t->v.beta_centre);
	gp__point_at(t, j, gp__online_x(t));
}

/*	K(x,Zg) a. */
static odvgp_real gp__online_gamma(gp__prediction *t, ptrdiff_t q)
{
	ptrdiff_t m = t->p->M_gamma;
	odvgp_real sum = 0;
	gp__predict_points(t, t->v.gamma, m, t->v.gamma_centre);
	if (m) gp__predict_point(t, gp__online_x(t), 0);
	for (ptrdiff_t j = 0; j < m; j += GP__CHUNK)
		sum += t->blas.isa->dot(
				GP__MIN(m - j, GP__CHUNK), gp__predict_chunk(t, j), t->v.a_gamma + q * m + j);
	return sum;
}

/*	k(x,x) without white, for x in t->X. */
static odvgp_real gp__online_prior(gp__prediction *t)
{
	gp__predict_columns(t, t->X, 1);
	gp__predict_point(t, t->X, 0);
	return gp__predict_chunk(t, 0)[0];
}

/*	Copies a predictor but its covariance factor. */
static void gp__online_copy(const gp__predictor *from, gp__predictor *p)
{
	memcpy(p, from, gp__predictor_head(from->base_kernels));
	*p = gp__online_head(from, from->M);
	gp__view v = gp__view_of(from, 0), to = gp__view_of(p, 0);
	const odvgp_real *alpha = v.alpha ? v.alpha : v.a_gamma; /* no_alpha: it takes no room */
	gp__copy(to.beta, v.beta, alpha - v.beta);
	gp__zero(to.alpha, to.a_gamma - to.alpha);
	gp__copy(to.alpha, alpha, v.a_gamma - alpha);
	gp__copy(to.a_gamma, v.a_gamma, v.factor - v.a_gamma);
	gp__zero(to.factor, to.factor_v - to.factor);
	gp__copy(to.hyp, v.hyp, v.beta + (ptrdiff_t)gp__predictor_reals(from) - v.hyp);
}

/*	c, G, m and z. G learns the rows of q_sqrt^-1. */
static void gp__online_first(
		const gp__online *w, const gp__predictor *from, const gp__view *v, ptrdiff_t q)
{
	gp__prediction *t = w->t;
	const odvgp__simd *isa = t->blas.isa;
	ptrdiff_t M = t->p->M, n = from->M_factor, at = 0;
	odvgp_real *G = gp__online_G(t, q), *c = gp__online_at(w, w->o->c, q),
			   *m = gp__online_at(w, w->o->m, q), *z = gp__online_at(w, w->o->z, q);
	int learned = from->factor == GP__FACTOR_OF_PRECISION;
	gp__zero(z, M);
	if (learned) gp__copy(G, v->factor + q * M * M, M * M);
	for (int k = 0; k < 2 && !learned; k++, at = n, n = M - n) {
		const odvgp_real *Q = (k ? v->factor_v : v->factor) + q * n * n;
		GP__FOR(i, n) {
			gp__zero(w->x, M);
			w->x[at + i] = 1;
			gp__solve_transposed(isa, n, Q, w->x + at);
			gp__online_rotate(w, at, G, z, 0);
		}
	}
	GP__FOR(j, M) {
		gp__online_point(t, j);
		c[j] = gp__online_gamma(t, q);
	}
	gp__solve_vector(isa, M, t->v.L, M, c);
	gp__online_product(t, t->v.L, t->v.alpha + q * M, m);
	GP__FOR(i, M) m[i] += c[i];
	gp__online_product(t, G, m, z);
}

ODVGP_API odvgp_status odvgp_online_start(odvgp_online *online, const odvgp_server *s,
		ptrdiff_t most, void *block, size_t block_bytes, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	odvgp_online o;
	gp__online w;
	odvgp_status status = gp__online_check(s, most, info);
	if (status) return status;
	size_t need = gp__online_bytes(s, most, 1, info);
	if (!need) return ODVGP_E_SIZE;
	if (!online || !block || !scratch)
		return gp__is_null(info, !online ? "online" : block ? "scratch" : "block");
	const gp__predictor *from = gp__layer_of(s);
	gp__predictor head = gp__online_head(from, most), *p;
	gp__arena a = gp__scratch_arena(block, block_bytes);
	memset(&o, 0, sizeof o);
	p = gp__online_layout(&a, &head, &o);
	if (a.bad) return gp__small(info, "block", block_bytes);
	if (scratch_bytes < need) return gp__scratch_small(info);
	gp__online_copy(from, p);
	o.server = gp__layer_server(p, s->isa);
	o.keep = p->M;
	gp__online_begin(&w, &o, scratch, scratch_bytes);
	gp__prediction *t = w.t;
	ODVGP_ASSERT(t);
	t->job->X2 = NULL;
	GP__FOR(k, p->units) {
		gp__view v = gp__view_of(from, k);
		gp__predict_unit(t, k);
		GP__FOR(q, t->P) gp__online_first(&w, from, &v, q);
	}
	gp__view v = gp__view_of(p, 0);
	if (!gp__finite(v.factor, v.factor_v - v.factor))
		return gp__refuse(info, ODVGP_E_NAN, "server", "its q is singular");
	if (!p->patches.height) {
		gp__online_point(t, 0);
		odvgp_real k = gp__online_prior(t);
		o.jitter = GP__MAX(t->v.L[0] * t->v.L[0] - k, GP__EPS * k);
	}
	*online = o;
	return ODVGP_OK;
}

/* --- learning a row --- */

/*	What squares may be, so that those of G, which stops growing by rounding, stay finite. */
static const odvgp_real gp__online_largest = GP__EPS * GP__LARGEST / 16;

/*	Derivatives of the row's expected log density. Returns whether what they change is finite. */
static int gp__online_derivatives(
		const gp__online *w, const gp__y_row *row, const odvgp_real *x, const odvgp_real *y)
{
	gp__prediction *t = w->t;
	const gp__predictor *p = t->p;
	int gaussian = gp__predict_likelihood(t)->flags & GP__LIK_GAUSSIAN;
	odvgp_real size = 0, weight = row->weights ? y[row->T] : 1;
	gp__predict_inputs(t, x, 1);
	GP__FOR(k, p->units) {
		gp__predict_unit(t, k);
		gp__predict_mean(t, 1, 1);
		gp__predict_features(t, 1);
		for (ptrdiff_t q = 0; !gaussian && q < t->P; q++) gp__predict_process_var(t, 1, q);
		size += t->blas.isa->dot(p->M, t->A, t->A);
	}
	if (gaussian) gp__zero(t->var, p->F); /* its derivatives do not depend on them */
	gp__predict_targets(t, y, 1, gp__y_columns(row));
	gp__lik_job job = gp__predict_lik_job(t, 1);
	job.weight = &weight;
	if (gaussian) job.noise = t->scale;
	job.dmean = w->dmean;
	job.dvar = w->dvar;
	job.lik->expect(&job);
	GP__FOR(q, p->P) {
		odvgp_real g = w->dmean[q], v = 2 * w->dvar[q];
		if (!(GP__MAX(v, -v) * size <= gp__online_largest && g * g * size <= gp__online_largest))
			return 0;
	}
	return 1;
}

/*	The n above. */
static ptrdiff_t gp__online_returning(const gp__online *w, odvgp_real lambda)
{
	return lambda < 1 ? 1 + (ptrdiff_t)((odvgp_real)w->t->p->M * (1 - lambda)) : 0;
}

/*	Forgets, and learns the row whose A is in t->A. Returns whether rounding lost it. */
static int gp__online_learn(const gp__online *w, ptrdiff_t q, odvgp_real lambda)
{
	const gp__prediction *t = w->t;
	const odvgp__simd *isa = t->blas.isa;
	ptrdiff_t M = t->p->M, n = gp__online_returning(w, lambda);
	odvgp_real *G = gp__online_G(t, q), *z = gp__online_at(w, w->o->z, q), keep = GP__SQRT(lambda),
			   g = w->dmean[t->first + q], weight = -2 * w->dvar[t->first + q],
			   root = GP__SQRT(GP__MAX(weight, 0));
	for (ptrdiff_t j = 0; n && j < M * M; j++) G[j] *= keep;
	for (ptrdiff_t j = 0; n && j < M; j++) z[j] *= keep;
	GP__FOR(j, n) {
		ptrdiff_t i = (w->o->turn + j) % M;
		gp__zero(w->x, M);
		w->x[i] = GP__SQRT((odvgp_real)M * (1 - lambda) / (odvgp_real)n);
		gp__online_rotate(w, i, G, z, 0);
	}
	if (root > 0 && g * g <= weight * gp__online_largest) {
		odvgp_real y = root * isa->dot(M, t->A, gp__online_at(w, w->o->m, q)) + g / root;
		GP__FOR(j, M) w->x[j] = root * t->A[j];
		int tells = isa->dot(M, w->x, w->x) > GP__EPS;
		return gp__online_rotate(w, 0, G, z, y) && tells;
	}
	gp__copy(w->x, t->A, M);
	gp__solve_vector(isa, M, G, M, w->x);
	isa->axpy(M, g, w->x, z);
	return 0;
}

static void gp__online_row(const gp__online *w, odvgp_real lambda)
{
	gp__prediction *t = w->t;
	odvgp_online *o = w->o;
	int lost = 0, negative = 0;
	GP__FOR(k, t->p->units) {
		gp__predict_unit(t, k);
		if (t->p->units > 1) { /* t->A is the last unit's */
			gp__predict_mean(t, 1, 1);
			gp__predict_features(t, 1);
		}
		GP__FOR(q, t->P) {
			lost |= gp__online_learn(w, q, lambda);
			negative |= w->dvar[t->first + q] > 0;
			gp__online_solve(w, q);
		}
	}
	o->rows++;
	o->lost += (uint64_t)lost;
	o->negative += (uint64_t)negative;
	o->turn = (o->turn + gp__online_returning(w, lambda)) % t->p->M;
}

/* --- inducing inputs that change --- */

/*	An array [A,B,C] becomes [A,B2,C2], new numbers 0, in an order that lets them overlap. */
typedef struct {
	const odvgp_real *from;
	odvgp_real *to;
	ptrdiff_t A, B, B2, C, C2;
} gp__online_piece;

static void gp__online_move(const gp__online_piece *a, int grows)
{
	ptrdiff_t rows = a->A * a->B2, both = GP__MIN(a->C, a->C2);
	GP__FOR(i, rows) {
		ptrdiff_t r = grows ? rows - 1 - i : i, b = r % a->B2, n = b < a->B ? both : 0;
		odvgp_real *to = a->to + r * a->C2;
		memmove(to, a->from + (r / a->B2 * a->B + b) * a->C, (size_t)n * sizeof *to);
		gp__zero(to + n, a->C2 - n);
	}
}

/*	Make the block one for N points, of which the first keep their numbers. */
static void gp__online_resize(odvgp_online *o, ptrdiff_t N)
{
	gp__predictor *p = gp__online_block(o), head = gp__online_head(p, N);
	ptrdiff_t M = p->M, P = p->P;
	gp__view v = gp__view_of(p, 0), to;
	gp__view_layout(&head, v.beta, 0, &to);
	ptrdiff_t gamma = v.alpha - v.gamma, a = v.L - v.a_gamma,
			  rest = v.beta + (ptrdiff_t)gp__predictor_reals(p) - v.hyp;
	const gp__online_piece piece[] = {
			{v.beta, to.beta, 1, p->columns, p->columns, gp__points_ld(M), gp__points_ld(N)},
			{v.gamma, to.gamma, 1, 1, 1, gamma, gamma}, {v.alpha, to.alpha, 1, P, P, M, N},
			{v.a_gamma, to.a_gamma, 1, 1, 1, a, a}, {v.L, to.L, 1, M, N, M, N},
			{v.factor, to.factor, P, M, N, M, N}, {v.hyp, to.hyp, 1, 1, 1, rest, rest}};
	GP__FOR(k, GP__COUNT(piece))
		gp__online_move(&piece[N > M ? GP__COUNT(piece) - 1 - k : k], N > M);
	*p = head;
}

/*	d^2, the square of L's next diagonal entry with x in t->X, for which A becomes its row; *k:
	k(x,x) with jitter. */
static odvgp_real gp__online_novelty(const gp__online *w, odvgp_real *k)
{
	gp__prediction *t = w->t;
	gp__predict_unit(t, 0);
	gp__predict_mean(t, 1, 1);
	gp__predict_features(t, 1);
	*k = gp__online_prior(t) + w->o->jitter;
	return *k - t->blas.isa->dot(t->p->M, t->A, t->A);
}

/*	x in t->X becomes a point: v's next number, of variance 1 and of mean o(x) / d without m(x), like
	c's, leaves f as it is. Returns 0 if rounding leaves no d. */
static int gp__online_grow(const gp__online *w)
{
	gp__prediction *t = w->t;
	odvgp_online *o = w->o;
	odvgp_real k, square = gp__online_novelty(w, &k), d = GP__SQRT(GP__MAX(square, 0));
	ptrdiff_t M = t->p->M, N = M + 1;
	if (!(square > 4 * (odvgp_real)M * GP__EPS * k)) return 0;
	GP__FOR(q, t->P) {
		odvgp_real part = t->blas.isa->dot(M, t->A, gp__online_at(w, o->c, q));
		t->mean[q] = (gp__online_gamma(t, q) - part) / d;
	}
	gp__online_resize(o, N);
	t->v = gp__view_of(t->p, 0);
	gp__copy(t->v.L + M * N, t->A, M);
	t->v.L[N * N - 1] = d;
	gp__points_place(
			t->kernel, t->v.hyp, t->X, 1, t->v.beta_centre, t->v.beta + M, gp__points_ld(N));
	GP__FOR(q, t->P) {
		gp__online_G(t, q)[N * N - 1] = 1;
		gp__online_at(w, o->z, q)[M] = gp__online_at(w, o->m, q)[M] = gp__online_at(w, o->c, q)[M] =
				t->mean[q];
	}
	o->added++;
	return 1;
}

/*	The rotation that takes (a, b) to (h, 0), of n pairs in x and y. */
static void gp__online_turn(
		ptrdiff_t n, odvgp_real *x, odvgp_real *y, ptrdiff_t step, odvgp_real a, odvgp_real b)
{
	odvgp_real h = GP__SQRT(a * a + b * b), c = h > 0 ? a / h : 1, s = h > 0 ? b / h : 0;
	for (; n > 0; n--, x += step, y += step) {
		odvgp_real t = *x;
		*x = c * t + s * *y;
		*y = c * *y - s * t;
	}
}

/*	The same of columns k and k + 1 of G, from row k on, and of z. */
static void gp__online_turn_G(
		ptrdiff_t M, odvgp_real *G, odvgp_real *z, ptrdiff_t k, odvgp_real a, odvgp_real b)
{
	gp__online_turn(M - k, G + k * (M + 1), G + k * (M + 1) + 1, M, a, b);
	gp__online_turn(1, z + k, z + k + 1, 1, a, b);
}

/*	Drop point j. Without its row L becomes lower by rotations of columns, which v follows; v's last
	number is then what only point j knew. As G's first one its row and column can be left out: what
	stays is the factor of the others' marginal precision. */
static void gp__online_shrink(const gp__online *w, ptrdiff_t j)
{
	const gp__view v = w->t->v;
	ptrdiff_t M = w->t->p->M, ld = gp__points_ld(M);
	size_t row = (size_t)(M - 1) * sizeof *v.L;
	GP__FROM(k, j, M - 1) {
		odvgp_real *L = v.L + (k + 1) * M + k, a = L[0], b = L[1];
		gp__online_turn(M - 1 - k, L, L + 1, M, a, b);
		L[1] = 0;
		GP__FOR(q, w->t->P) {
			odvgp_real *G = gp__online_G(w->t, q), *at = G + k * (M + 1),
					   *c = gp__online_at(w, w->o->c, q) + k;
			gp__online_turn(1, c, c + 1, 1, a, b);
			gp__online_turn(k + 2, G + k * M, G + (k + 1) * M, 1, a, b);
			gp__online_turn_G(M, G, gp__online_at(w, w->o->z, q), k, at[0], at[1]);
			at[1] = 0;
		}
	}
	GP__FROM(i, j, M - 1) memcpy(v.L + i * M, v.L + (i + 1) * M, row);
	GP__FOR(q, w->t->P) {
		odvgp_real *G = gp__online_G(w->t, q), *last = G + (M - 1) * M,
				   *z = gp__online_at(w, w->o->z, q);
		for (ptrdiff_t k = M - 1; k-- > 0;) gp__online_turn_G(M, G, z, k, last[k], last[k + 1]);
		GP__FOR(i, M - 1) memmove(G + i * M, G + i * M + 1, row);
		memmove(z, z + 1, row);
	}
	GP__FOR(k, w->t->p->columns) {
		odvgp_real *at = v.beta + k * ld + j;
		memmove(at, at + 1, (size_t)(M - 1 - j) * sizeof *at);
		v.beta[k * ld + M - 1] = 0;
	}
	gp__online_resize(w->o, M - 1);
}

/*	The loss of point j: with e = L^-1 e_j / |L^-1 e_j|, which only it knows, of variance s, and
	1 / r given the rest, (s - 1 + log r + (e^T (m - c))^2) / 2 for each process. */
static double gp__online_loss(const gp__online *w, ptrdiff_t j)
{
	const gp__prediction *t = w->t;
	const odvgp__simd *isa = t->blas.isa;
	ptrdiff_t M = t->p->M;
	double loss = 0;
	gp__zero(w->x, M);
	w->x[j] = 1;
	gp__solve_vector(isa, M, t->v.L, M, w->x);
	double square = (double)isa->dot(M, w->x, w->x);
	GP__FOR(q, t->P) {
		double alpha = (double)t->v.alpha[q * M + j], r;
		gp__online_product(t, gp__online_G(t, q), w->x, t->T);
		r = (double)isa->dot(M, t->T, t->T) / square;
		gp__copy(t->T, w->x, M);
		gp__solve_vector(isa, M, gp__online_G(t, q), M, t->T);
		loss += 0.5 * (((double)isa->dot(M, t->T, t->T) + alpha * alpha) / square - 1 + log(r));
	}
	return loss;
}

/*	Whether points of this predictor stay. */
static odvgp_status gp__online_fixed(const odvgp_online *o, odvgp_info *info)
{
	const gp__predictor *p = gp__online_block(o);
	if (!p->patches.height && p->units == 1) return ODVGP_OK;
	return gp__unsupported(
			info, "online", "inducing inputs of images and of independent functions stay");
}

/*	Begins a change: x is added, or NULL. */
static odvgp_status gp__online_change(gp__online *w, odvgp_online *o, const odvgp_real *x,
		void *scratch, size_t scratch_bytes, odvgp_info *info)
{
	if (!o || !o->z) return gp__is_null(info, "online");
	odvgp_status status = gp__predict_check(&o->server, x, x ? 1 : 0, scratch, info);
	if (status || (status = gp__online_fixed(o, info))) return status;
	if (!scratch) return gp__is_null(info, "scratch");
	ptrdiff_t M = gp__online_block(o)->M;
	if (x ? M >= o->most : M < 2)
		return gp__fail(info, ODVGP_E_SIZE, "online", -1, (double)M,
				x ? "has as many points as fit" : "needs a point");
	gp__online_begin(w, o, scratch, scratch_bytes);
	if (!w->t) return gp__scratch_small(info);
	if (x) gp__predict_inputs(w->t, x, 1);
	return ODVGP_OK;
}

ODVGP_API odvgp_status odvgp_online_add(
		odvgp_online *o, const odvgp_real *X, void *scratch, size_t scratch_bytes, odvgp_info *info)
{
	gp__online w;
	if (!X) return gp__is_null(info, "X");
	odvgp_status status = gp__online_change(&w, o, X, scratch, scratch_bytes, info);
	if (status || gp__online_grow(&w)) return status;
	return gp__refuse(info, ODVGP_E_NOT_PD, "X", "is known from the other points");
}

ODVGP_API odvgp_status odvgp_online_drop(odvgp_online *o, ptrdiff_t k, double *loss, void *scratch,
		size_t scratch_bytes, odvgp_info *info)
{
	gp__online w;
	odvgp_status status = gp__online_change(&w, o, NULL, scratch, scratch_bytes, info);
	if (status) return status;
	ptrdiff_t M = w.t->p->M, out = GP__MAX(k, 0);
	if (k < -1 || k >= M) return gp__fail(info, ODVGP_E_ARG, "k", -1, (double)k, "is out of range");
	double least = gp__online_loss(&w, out), now;
	for (ptrdiff_t i = 1; k < 0 && i < M - GP__MAX(o->keep, 0) / 2; i++)
		if ((now = gp__online_loss(&w, i)) < least) {
			least = now;
			out = i;
		}
	gp__online_shrink(&w, out);
	gp__online_begin(&w, o, scratch, scratch_bytes);
	ODVGP_ASSERT(w.t);
	GP__FOR(q, w.t->P) gp__online_solve(&w, q);
	o->loss += least;
	if (loss) *loss = least;
	return ODVGP_OK;
}

/* --- odvgp_online_update --- */

ODVGP_API odvgp_status odvgp_online_update(odvgp_online *o, const odvgp_real *X,
		const odvgp_real *Y, ptrdiff_t n, odvgp_real lambda, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	gp__online w;
	odvgp_real k;
	if (!o || !o->z) return gp__is_null(info, "online");
	odvgp_status status = gp__predict_check(&o->server, X, n, scratch, info);
	if (!status && !(lambda > 0 && lambda <= 1))
		status = gp__fail(info, ODVGP_E_ARG, "lambda", -1, (double)lambda, "must be in (0, 1]");
	if (!status && o->novelty > 0) status = gp__online_fixed(o, info);
	if (status || n == 0) return status;
	if (!Y) return gp__is_null(info, "Y");
	if (o->novelty > 0 && scratch_bytes < gp__online_bytes(&o->server, o->most, 1, info))
		return gp__scratch_small(info);
	gp__y_row row = gp__served_row(gp__online_block(o));
	row.missing = 1;
	if ((status = gp__targets_check(&row, Y, n, 0, info))) return status;
	gp__online_begin(&w, o, scratch, scratch_bytes);
	if (!w.t) return gp__scratch_small(info);
	GP__FOR(i, n) {
		const odvgp_real *x = X + i * o->server.D, *y = Y + i * gp__y_columns(&row);
		if (o->novelty > 0 && w.t->p->M < o->most) {
			gp__predict_inputs(w.t, x, 1);
			if (gp__online_novelty(&w, &k) > o->novelty * k && gp__online_grow(&w))
				gp__online_begin(&w, o, scratch, scratch_bytes);
		}
		if (!gp__online_derivatives(&w, &row, x, y))
			return gp__fail(info, ODVGP_E_NAN, "X", i, NAN, "what a row changes is not finite");
		gp__online_row(&w, lambda);
		if (o->novelty > 0 && w.t->p->M > GP__MAX(o->keep, 1)) {
			(void)odvgp_online_drop(o, -1, NULL, scratch, scratch_bytes, NULL);
			gp__online_begin(&w, o, scratch, scratch_bytes);
		}
	}
	return ODVGP_OK;
}

ODVGP_API size_t odvgp_online_seal(odvgp_online *o, odvgp_info *info)
{
	if (!o || !o->z) return gp__no_size(gp__is_null(info, "online"));
	gp__predictor *p = gp__online_block(o);
	gp__predictor_sum(p, p->checksum);
	return gp__predictor_bytes(p);
}

#endif /* ODVGP_FLOAT_ONLY */
#endif /* ODVGP_PREDICT_ONLY */

/* ---- >>rows   predictions row by row, for controllers

	odvgp_compact rewrites a predictor of one layer of points as a smaller block, which builds with
	ODVGP_PREDICT_ONLY serve. The formulas are those of >>predictor, with loops over the points and
	nothing else. Scales of the inputs, centres and lengthscales of ard are folded into a shift and
	a factor of each column,

		u_c = factor_c (x - shift_c),    periodic: a_c (cos u_c, sin u_c).

	Triangles are packed by rows: L, with 1 / L_ii on its diagonal, and R^T for S = R R^T, or B^T
	(GP__FACTOR_OF_S). With T = R^T A the gradient of the variance is

		dvar = dk(x,x) - 2 sum_j c_j dk(z_j,x),    c = L^-T (A - R T);

	with an inverse, T = L_H^-1 B^T K(Zb,x) and c = B L_H^-T T.

	A block is a head of 32-bit numbers, the kernel's words, and reals at positions that follow from
	the head. A row costs about (M + Mg) (6 C + 60) instructions for C columns and one base kernel,
	and 7 M^2 for the variance of each output, whatever its numbers are.

	To add a base kernel, add its case in gp__rows_base. */

#if !(defined(ODVGP_NO_TRAINING) || defined(ODVGP_FLOAT_ONLY)) || defined(ODVGP_PREDICT_ONLY)

#define GP__ROWS_VERSION 1
/*	Sizes are below it, so that products of four fit 64 bits. */
#define GP__ROWS_MOST 65536
enum { GP__ROWS_NO_ALPHA = 1, GP__ROWS_MIXED = 2, GP__ROWS_LINEAR = 4, GP__ROWS_FLAGS = 8 };
/*	A node is a base kernel, or one of these. */
enum { GP__ROWS_SUM = GP__BASE_KERNEL_TYPES, GP__ROWS_PRODUCT };

/*	Head of a compact block. */
typedef struct {
	uint32_t magic, format; /* format: 256 times the version, and bytes of a real */
	uint32_t bytes, sum;    /* of the block; checksum of what follows */
	uint32_t D, M, M_gamma;
	uint32_t P, F, T, y_rows, units;
	uint32_t noises; /* 0: the likelihood is not Gaussian */
	uint32_t factor, M_factor, flags;
	uint32_t columns, nodes, groups;
} gp__compact;

/*	Arrays of one unit, whose processes are P here. */
typedef struct {
	const uint32_t *node;       /* [nodes] kind | a << 8 | b << 16; base kernel: group, degree */
	const uint32_t *group;      /* [groups] geometry | columns << 8 */
	const uint32_t *source;     /* [columns] which column of X */
	odvgp_real *shift, *factor; /* [columns]; a sine's are 0 and a_c */
	odvgp_real *par;            /* [nodes,3] v, factor of r^2, shape parameter of base kernels */
	odvgp_real *beta, *gamma;   /* [M,columns], [Mg,columns] */
	odvgp_real *alpha, *a;      /* [M,P], [Mg,P] */
	odvgp_real *L, *R, *A, *b;  /* A [D,P], b [P] of the mean function */
	/* of all units */
	odvgp_real *x_mean, *mixing, *noise, *y_mean, *y_scale; /* [D] [F,P] [noises] [F] [F] */
	odvgp_real *next;                                       /* behind the unit */
} gp__compact_view;

/*	X(field, reals): arrays of the block, then of each unit. */
/* clang-format off */
#define GP__ROWS_SHARED(X) \
	X(x_mean, D) \
	X(mixing, p->flags & GP__ROWS_MIXED ? p->P * p->F : 0) \
	X(noise, p->noises) \
	X(y_mean, p->F) \
	X(y_scale, p->F)
#define GP__ROWS_UNIT(X) \
	X(shift, C) \
	X(factor, C) \
	X(par, 3 * p->nodes) \
	X(beta, M * C) \
	X(gamma, Mg * C) \
	X(alpha, p->flags & GP__ROWS_NO_ALPHA ? 0 : M * P) \
	X(a, Mg * P) \
	X(L, (p->factor == GP__FACTOR_OF_S ? 1 : P) * (M * (M + 1) / 2)) \
	X(R, P * (p->factor == GP__DIAGONAL_OF_INVERSE ? M \
				: Mr * (Mr + 1) / 2 + (M - Mr) * (M - Mr + 1) / 2)) \
	X(A, D * P) \
	X(b, P)
/* clang-format on */
#define GP__ROWS_D(type) const type D = p->flags & GP__ROWS_LINEAR ? p->D : 0
#define GP__ROWS_SIZES(type) \
	GP__ROWS_D(type); \
	const type P = p->P / p->units, M = p->M, Mg = p->M_gamma, C = p->columns, Mr = p->M_factor

/*	Bytes before the reals, a multiple of 8. */
static size_t gp__rows_head(const gp__compact *p)
{
	return (sizeof *p + (p->nodes + p->groups + p->columns) * sizeof(uint32_t) + 7) & ~(size_t)7;
}

/*	Bytes of the block. Sizes are below GP__ROWS_MOST. */
static uint64_t gp__rows_bytes(const gp__compact *p)
{
	GP__ROWS_SIZES(uint64_t);
	uint64_t shared = 0, unit = 0;
#define GP__X(field, reals) shared += (reals);
	GP__ROWS_SHARED(GP__X)
#undef GP__X
#define GP__X(field, reals) unit += (reals);
	GP__ROWS_UNIT(GP__X)
#undef GP__X
	return gp__rows_head(p) + (shared + p->units * unit) * sizeof(odvgp_real);
}

#define GP__X(field, reals) \
	v->field = at; \
	at += (reals);

/*	What all units share; the first one begins at v->next. */
static void gp__rows_view_of(const gp__compact *p, gp__compact_view *v)
{
	GP__ROWS_D(size_t);
	odvgp_real *at = (odvgp_real *)((uintptr_t)p + gp__rows_head(p));
	v->node = (const uint32_t *)(p + 1);
	v->group = v->node + p->nodes;
	v->source = v->group + p->groups;
	GP__ROWS_SHARED(GP__X)
	v->next = at;
}

/*	The next unit's arrays. */
static void gp__rows_next_unit(const gp__compact *p, gp__compact_view *v)
{
	GP__ROWS_SIZES(size_t);
	odvgp_real *at = v->next;
	GP__ROWS_UNIT(GP__X)
	v->next = at;
}
#undef GP__X

/*	Each step is one-to-one in the sum: a change of one word is always seen. Without the products of
	64 bits in gp__checksum, which a controller has to put together. */
static uint32_t gp__rows_sum(const gp__compact *p)
{
	const uint32_t *word = &p->D, *end = (const uint32_t *)((uintptr_t)p + p->bytes);
	uint32_t sum = 1;
	for (; word < end; word++) {
		sum = (sum ^ *word) * 0x9e3779b1u;
		sum ^= sum >> 15;
	}
	return sum;
}

/*	A unit's prediction in the caller's scratch; gp__row_init returns its reals. */
typedef struct gp__row {
	const gp__compact *p;
	gp__compact_view v;
	size_t first, P;                /* the unit's processes */
	int bad;                        /* X is not finite here: the prior's moments stand */
	odvgp_real *u, *A, *mean, *var; /* [columns], [M], [P] of all units */
	odvgp_real *T;                  /* [M] for gradients or an inverse */
	/* for gradients: slope [groups], c [P,M+1], derivatives in u [P,columns] and, of all units, in
	   X [P,D]; then what a process, a unit and a row do with them, or NULL, so that predictions do
	   not link it */
	odvgp_real *slope, *c, *mean_by_u, *var_by_u, *mean_by_x, *var_by_x;
	void (*weights)(struct gp__row *r, size_t q, const odvgp_real *R, int kept);
	void (*gradients)(struct gp__row *r);
	void (*put)(const struct gp__row *r, size_t i, size_t n, const odvgp_gradient *to);
	int noise; /* variances are those of y */
} gp__row;

static size_t gp__row_init(const gp__compact *p, gp__row *r, int gradients, odvgp_real *scratch)
{
	const size_t P = p->P, own = gradients ? P * p->D : 0;
	uintptr_t at = (uintptr_t)scratch;
	r->p = p;
	r->P = P / p->units;
#define GP__PLACE(field, reals) \
	r->field = (odvgp_real *)at; \
	at += (reals) * sizeof(odvgp_real);
	GP__PLACE(u, p->columns)
	GP__PLACE(A, p->M)
	GP__PLACE(mean, P)
	GP__PLACE(var, P)
	GP__PLACE(T, gradients || p->factor != GP__FACTOR_OF_S ? p->M : 0)
	GP__PLACE(slope, gradients ? p->groups : 0)
	GP__PLACE(c, gradients ? (p->M + 1) * r->P : 0)
	GP__PLACE(mean_by_u, gradients ? r->P * p->columns : 0)
	GP__PLACE(var_by_u, gradients ? r->P * p->columns : 0)
	GP__PLACE(mean_by_x, own)
	GP__PLACE(var_by_x, own)
#undef GP__PLACE
	return (size_t)(at - (uintptr_t)scratch) / sizeof(odvgp_real);
}

#ifdef ODVGP_PREDICT_ONLY
/* --- elementary functions, without libm or branches --- */

/*	condition ? x : y without a branch, so that time does not depend on the input. */
GP__INLINE odvgp_real gp__rows_choose(int condition, odvgp_real x, odvgp_real y)
{
	const gp__u_c mask = 0 - (gp__u_c)(condition != 0);
	return gp__real_c((gp__bits_c(x) & mask) | (gp__bits_c(y) & ~mask));
}

/*	2^f for |f| <= 1/2, interpolated at Chebyshev points: 4e-18 (float 4e-9). */
/* clang-format off */
#ifdef ODVGP_FLOAT
#define GP__P_POWER(TOP, X) TOP(0.000154614447) X(0.00134004282) X(0.00961805668) \
	X(0.0555032723) X(0.240226509) X(0.693147207) X(1.0)
#else
#define GP__P_POWER(TOP, X) TOP(4.4558179083360645e-10) X(7.0741942972885211e-09) \
	X(1.0178057087733941e-07) X(1.3215432535912375e-06) X(1.5252733841556773e-05) \
	X(0.00015403530463724353) X(0.0013333558146406471) X(0.0096181291075872564) \
	X(0.055504108664821625) X(0.24022650695910158) X(0.69314718055994529) X(1.0)
#endif
/* clang-format on */
#define GP__ROWS_TOP(c)    p = GP__R(c);
#define GP__ROWS_HORNER(c) p = p * f + GP__R(c);
#define GP__LOG2_E         GP__R(1.44269504088896340736)

/*	2^x for x <= 0, right to a rounding error of 1; 0 where it would be subnormal. */
GP__INLINE odvgp_real gp__rows_power(odvgp_real x)
{
	const odvgp_real round = GP__R(GP__ROUND), n = gp__stored_c(x + round), f = x - (n - round);
	odvgp_real p;
	GP__P_POWER(GP__ROWS_TOP, GP__ROWS_HORNER)
	/* far below, p is anything */
	p = gp__real_c(gp__bits_c(p) + (gp__bits_c(n) << GP__MANTISSA));
	return gp__rows_choose(x > GP__R(1.5 - GP__BIAS), p, 0);
}

/*	By bits, then Newton's steps. */
GP__INLINE odvgp_real gp__rows_sqrt(odvgp_real x)
{
#if defined(__GNUC__) && defined(__ARM_FP) && defined(ODVGP_FLOAT) && !defined(__aarch64__)
	odvgp_real y;
	__asm__("vsqrt.f32 %0, %1" : "=t"(y) : "t"(x));
#else
	odvgp_real y = gp__real_c((gp__bits_c(x) >> 1) + (gp__bits_c(1) >> 1));
	for (int k = 0; k < (sizeof y == 4 ? 4 : 5); k++) y = GP__R(0.5) * (y + x / y);
#endif
	return y;
}

#define GP__LOG_TOP(S, c)    p = GP__R(c);
#define GP__LOG_HORNER(S, c) p = p * r + GP__R(c);

/*	log(1 + x) for x >= 0. */
static odvgp_real gp__rows_log1p(odvgp_real x)
{
	odvgp_real u = gp__stored_c(1 + x), f, s, p, r;
	const gp__u_c root = gp__bits_c(1) - gp__bits_c(GP__R(0.70710678118654752440));
	int k = (int)((gp__bits_c(u) + root) >> GP__MANTISSA) - GP__BIAS;
	f = gp__real_c(gp__bits_c(u) - ((gp__u_c)k << GP__MANTISSA)) - 1;
	s = f / (2 + f);
	r = s * s;
	GP__P_LOG(GP__LOG_TOP, GP__LOG_HORNER, )
	p = f - GP__R(0.5) * f * f + s * (GP__R(0.5) * f * f + r * p);
	return (odvgp_real)k * GP__R(GP__LN2_HIGH) +
		   ((odvgp_real)k * GP__R(GP__LN2_LOW) + p + (x - (u - 1)) / u);
}

/*	cos and sin of 2 pi t by quarter turns. */
static void gp__rows_turn(odvgp_real t, odvgp_real *cosine, odvgp_real *sine)
{
	const odvgp_real round = GP__R(GP__ROUND), quarter = GP__R(1.57079632679489661923),
					 most = round / 8;
	/* without its whole turns; larger numbers have nothing else */
	t = t < most && t > -most ? t - (gp__stored_c(t + round) - round) : 0;
	odvgp_real n = gp__stored_c(4 * t + round), a = (4 * t - (n - round)) * quarter, c = 1, s = 1;
	unsigned turns = (unsigned)gp__bits_c(n) & 3;
	for (int k = sizeof a == 4 ? 5 : 9; k > 0; k--) {
		c = 1 - a * a * c / (odvgp_real)(2 * k * (2 * k - 1));
		s = 1 - a * a * s / (odvgp_real)(2 * k * (2 * k + 1));
	}
	s *= a;
	*cosine = turns == 0 ? c : turns == 1 ? -s : turns == 2 ? -c : s;
	*sine = turns == 0 ? s : turns == 1 ? c : turns == 2 ? -s : -c;
}

/* --- kernels --- */

/*	rbf and the Materns: v q(t) e^-t, t = sqrt(c r^2), at r^2 = s, and the derivative in s. */
GP__INLINE odvgp_real gp__rows_radial(uint32_t kind, odvgp_real v, odvgp_real s, odvgp_real *slope)
{
	if (kind == GP__RBF || kind == GP__PERIODIC) {
		odvgp_real e = v * gp__rows_power(GP__R(-0.5) * GP__LOG2_E * s);
		*slope = GP__R(-0.5) * e;
		return e;
	}
	const odvgp_real c = kind == GP__MATERN12   ? 1
						 : kind == GP__MATERN32 ? 3
												: 5,
					 t = gp__rows_sqrt(c * s), e = v * gp__rows_power(-GP__LOG2_E * t);
	*slope = kind == GP__MATERN12 ? (t > 0 ? GP__R(-0.5) * e / t : 0)
								  : -c * GP__R(0.5) * e * (c > 4 ? (1 + t) / 3 : 1);
	return kind == GP__MATERN12 ? e : e * (1 + t + (c > 4 ? t * t / 3 : 0));
}

/*	A base kernel's value at the geometry s, and its derivative in s. self: of a point with
	itself. */
static odvgp_real gp__rows_base(
		uint32_t node, const odvgp_real *par, odvgp_real s, int self, odvgp_real *slope)
{
	const uint32_t kind = node & 255;
	odvgp_real v = par[0], by = par[1], e;
	*slope = 0;
	if (kind == GP__CONSTANT && GP__KERNEL_HAS(GP__CONSTANT)) return v;
	if (kind == GP__WHITE && GP__KERNEL_HAS(GP__WHITE)) return self ? v : 0;
	if (kind == GP__LINEAR && GP__KERNEL_HAS(GP__LINEAR)) {
		*slope = v;
		return v * s;
	}
	if (kind == GP__POLYNOMIAL && GP__KERNEL_HAS(GP__POLYNOMIAL)) {
		odvgp_real t = v * s + par[2], power = 1;
		for (uint32_t k = node >> 16; k > 1; k--) power *= t;
		*slope = v * (odvgp_real)(node >> 16) * power;
		return power * t;
	}
	if (kind == GP__RQ && GP__KERNEL_HAS(GP__RQ)) {
		s = GP__MIN(GP__R(GP__FAR), by * s / (2 * par[2]));
		e = v * gp__rows_power(-GP__LOG2_E * par[2] * gp__rows_log1p(s));
		*slope = GP__R(-0.5) * by * e / (1 + s);
		return e;
	}
	e = gp__rows_radial(kind, v, by * s, slope);
	*slope *= by;
	return e;
}

GP__INLINE odvgp_real gp__rows_distance(size_t columns, const odvgp_real *x, const odvgp_real *z)
{
	odvgp_real s = 0;
	for (; columns > 0; columns--) {
		const odvgp_real d = *x++ - *z++;
		s += d * d;
	}
	return s;
}

/*	k(x,z) for prepared inputs; slope, or NULL: [groups] its derivatives in the geometries. */
static odvgp_real gp__rows_kernel(const gp__compact *p, const gp__compact_view *v,
		const odvgp_real *x, const odvgp_real *z, odvgp_real *slope)
{
	odvgp_real geometry[ODVGP_MAX_BASE_KERNELS], value[GP__MAX_NODES], d[GP__MAX_NODES];
	const int self = x == z;
	for (uint32_t g = 0; g < p->groups; g++) {
		const uint32_t columns = v->group[g] >> 8;
		geometry[g] = 0;
		if ((v->group[g] & 255) == GP__INNER_PRODUCT)
			for (uint32_t c = 0; c < columns; c++) geometry[g] += x[c] * z[c];
		else geometry[g] = gp__rows_distance(columns, x, z);
		x += columns;
		z += columns;
	}
	for (uint32_t t = 0; t < p->nodes; t++) {
		const uint32_t node = v->node[t], kind = node & 255, a = node >> 8 & 255, b = node >> 16;
		if (kind < GP__ROWS_SUM)
			value[t] = gp__rows_base(node, v->par + 3 * t, a == 255 ? 0 : geometry[a], self, d + t);
		else value[t] = kind == GP__ROWS_SUM ? value[a] + value[b] : value[a] * value[b];
	}
	const odvgp_real k = value[p->nodes - 1];
	if (!slope) return k;
	/* value[t] becomes dk/d(value of t) in turn; what operands had is read before */
	for (uint32_t g = 0; g < p->groups; g++) slope[g] = 0;
	value[p->nodes - 1] = 1;
	for (uint32_t t = p->nodes; t-- > 0;) {
		const uint32_t node = v->node[t], kind = node & 255, a = node >> 8 & 255, b = node >> 16;
		const odvgp_real up = value[t];
		if (kind == GP__ROWS_PRODUCT) {
			const odvgp_real left = value[a];
			value[a] = up * value[b];
			value[b] = up * left;
		} else if (kind == GP__ROWS_SUM) value[a] = value[b] = up;
		else if (a != 255) slope[a] += up * d[t];
	}
	return k;
}

/* --- triangles --- */

/*	x <- L^-T x. */
static void gp__rows_solve_transposed(size_t n, const odvgp_real *L, odvgp_real *x)
{
	for (size_t i = n; i-- > 0;) {
		const odvgp_real *row = L + i * (i + 1) / 2, xi = x[i] *= row[i];
		for (size_t j = 0; j < i; j++) x[j] -= row[j] * xi;
	}
}

GP__INLINE odvgp_real gp__rows_dot(size_t n, const odvgp_real *a, const odvgp_real *b)
{
	odvgp_real sum = 0;
	for (; n > 0; n--) sum += *a++ * *b++;
	return sum;
}

/*	x <- L^-1 x. */
static void gp__rows_solve(size_t n, const odvgp_real *L, odvgp_real *x)
{
	for (size_t i = 0; i < n; L += ++i) x[i] = (x[i] - gp__rows_dot(i, L, x)) * L[i];
}

/*	|T|^2 for T = R^T A, R^T packed by rows from *R on, which moves behind it. T, or NULL: stored;
	may be A. */
static odvgp_real gp__rows_product(
		size_t n, const odvgp_real **R, const odvgp_real *A, odvgp_real *T)
{
	const odvgp_real *row = *R;
	odvgp_real square = 0;
	for (; n > 0; row += n--, A++) {
		const odvgp_real sum = gp__rows_dot(n, row, A);
		if (T) *T++ = sum;
		square += sum * sum;
	}
	*R = row;
	return square;
}

/*	to <- to + sign R T. */
static void gp__rows_product_back(
		size_t n, odvgp_real sign, const odvgp_real **R, const odvgp_real *T, odvgp_real *to)
{
	const odvgp_real *row = *R;
	for (; n > 0; n--, T++, to++)
		for (size_t i = 0; i < n; i++) to[i] += sign * *row++ * *T;
	*R = row;
}

/* --- one row --- */

static void gp__row_inputs(gp__row *r, const odvgp_real *x)
{
	const odvgp_real most = GP__R(GP__FAR_ROOT);
	const gp__compact_view *v = &r->v;
	const uint32_t *group = v->group;
	for (uint32_t c = 0, end = 0, geometry = 0; c < r->p->columns; c++) {
		for (; c == end; end += *group++ >> 8) geometry = *group & 255;
		odvgp_real u = gp__rows_choose(r->bad, 0, x[v->source[c]] - v->shift[c]) * v->factor[c];
		u = gp__rows_choose(u < most, u, most);
		r->u[c] = u = gp__rows_choose(u > -most, u, -most);
		if (geometry != GP__CIRCLE || !GP__KERNEL_HAS(GP__PERIODIC)) continue;
		gp__rows_turn(u, r->u + c, r->u + c + 1);
		r->u[c] *= v->factor[c + 1];
		c++;
		r->u[c] *= v->factor[c];
	}
}

/*	Whether the kernel is a single one of distances, for loops without arrays. */
static int gp__row_is_single(const gp__row *r)
{
	const uint32_t kind = r->v.node[0] & 255;
	return r->p->nodes == 1 && (kind <= GP__MATERN52 || kind == GP__PERIODIC);
}

/*	Adds a [n,P]'s products with k(Z,x) to the means; k(Z,x) to `to`, unless NULL. */
static void gp__row_sums(
		gp__row *r, size_t n, const odvgp_real *Z, const odvgp_real *a, odvgp_real *to)
{
	const uint32_t columns = r->p->columns, kind = r->v.node[0] & 255;
	const int one = r->P == 1, single = gp__row_is_single(r);
	const odvgp_real v = r->v.par[0], by = r->v.par[1], *u = r->u;
	odvgp_real *mean = r->mean + r->first, sum = 0, ignored;
	for (const odvgp_real *end = Z + n * columns; Z < end; Z += columns) {
		const odvgp_real k =
				single ? gp__rows_radial(kind, v, by * gp__rows_distance(columns, u, Z), &ignored)
					   : gp__rows_kernel(r->p, &r->v, u, Z, NULL);
		if (to) *to++ = k;
		if (!a) continue;
		if (one) sum += k * *a++;
		else
			for (size_t q = 0; q < r->P; q++) mean[q] += k * *a++;
	}
	if (one) *mean += sum;
}

/*	Process q's T, stored if r->T has room, and |T|^2. */
static odvgp_real gp__row_factor(gp__row *r, size_t q, const odvgp_real **R)
{
	const size_t M = r->p->M, Mr = r->p->M_factor;
	odvgp_real *T = r->T == r->slope ? NULL : r->T, square;
	if (r->p->factor == GP__DIAGONAL_OF_INVERSE && GP__MEMBERS_INVERSE)
		for (size_t j = 0; j < M; j++) T[j] = *(*R)++ * r->A[j];
	else {
		square = gp__rows_product(Mr, R, r->A, T);
		if (M != Mr) square += gp__rows_product(M - Mr, R, r->A + Mr, T ? T + Mr : NULL);
		if (r->p->factor == GP__FACTOR_OF_S) return square;
	}
	if (GP__MEMBERS_INVERSE) gp__rows_solve(M, r->v.L + q * (M * (M + 1) / 2), T);
	return gp__rows_dot(M, T, T);
}

/*	c of process q, whose R this is, and behind it -1 for dk(x,x), where both points move; kept 0:
	without the part that is not above 0. T is lost. */
static void gp__row_weights(gp__row *r, size_t q, const odvgp_real *R, int kept)
{
	const size_t M = r->p->M, Mr = r->p->M_factor;
	const int dense = r->p->factor == GP__FACTOR_OF_S;
	const odvgp_real sign = dense ? GP__R(-1) : GP__R(1),
					 *L = r->v.L + (dense ? 0 : q * (M * (M + 1) / 2));
	odvgp_real *c = r->c + q * (M + 1);
	for (size_t j = 0; j < M; j++) c[j] = dense && kept ? r->A[j] : 0;
	c[M] = kept ? GP__R(-1) : 0;
	if (!dense && !kept) return;
	if (!dense) gp__rows_solve_transposed(M, L, r->T);
	if (r->p->factor == GP__DIAGONAL_OF_INVERSE)
		for (size_t j = 0; j < M; j++) c[j] = R[j] * r->T[j];
	else {
		gp__rows_product_back(Mr, sign, &R, r->T, c);
		gp__rows_product_back(M - Mr, sign, &R, r->T + Mr, c + Mr);
	}
	if (dense) gp__rows_solve_transposed(M, L, c);
}

/*	to <- to + w (u - z), or w z. */
GP__INLINE void gp__rows_add(size_t n, odvgp_real w, int product, const odvgp_real *u,
		const odvgp_real *z, odvgp_real *to)
{
	for (; n > 0; n--, u++, z++) *to++ += w * (product ? *z : *u - *z);
}

/*	Adds dk(z,x)/du of n points, times their coefficients: a [n,P] for the means, and c [P,M+1], from
	its first column on, for the variances; either may be NULL. */
static void gp__row_slopes(
		gp__row *r, size_t n, const odvgp_real *z, const odvgp_real *a, const odvgp_real *c)
{
	const gp__compact_view *v = &r->v;
	const size_t columns = r->p->columns, P = r->P;
	const int single = gp__row_is_single(r);
	for (; n > 0; n--, z += columns) {
		if (single) {
			gp__rows_radial(v->node[0] & 255, v->par[0],
					v->par[1] * gp__rows_distance(columns, r->u, z), r->slope);
			*r->slope *= v->par[1];
		} else gp__rows_kernel(r->p, v, r->u, z, r->slope);
		for (size_t g = 0, from = 0, width; g < r->p->groups; g++, from += width) {
			const int product = (v->group[g] & 255) == GP__INNER_PRODUCT;
			const odvgp_real slope = (odvgp_real)(product ? 1 : 2) * r->slope[g];
			width = v->group[g] >> 8;
			for (size_t q = 0; q < P; q++) {
				const size_t to = q * columns + from;
				if (a)
					gp__rows_add(
							width, slope * a[q], product, r->u + from, z + from, r->mean_by_u + to);
				if (c)
					gp__rows_add(width, -2 * slope * c[q * (r->p->M + 1)], product, r->u + from,
							z + from, r->var_by_u + to);
			}
		}
		if (a) a += P;
		if (c) c++;
	}
}

/*	by_x [P,D] += derivatives by_u of the unit's processes. */
static void gp__row_to_x(gp__row *r, const odvgp_real *by_u, odvgp_real *by_x)
{
	const gp__compact_view *v = &r->v;
	const size_t D = r->p->D, columns = r->p->columns;
	by_x += r->first * D;
	for (size_t q = 0; q < r->P; q++, by_x += D, by_u += columns)
		for (size_t g = 0, c = 0, end = 0; g < r->p->groups; g++)
			for (end += v->group[g] >> 8; c < end; c++) {
				odvgp_real d = by_u[c] * v->factor[c];
				uint32_t x = v->source[c];
				if ((v->group[g] & 255) == GP__CIRCLE && GP__KERNEL_HAS(GP__PERIODIC)) {
					/* (cos, sin) moves along (-sin, cos) */
					d = by_u[c + 1] * r->u[c] - by_u[c] * r->u[c + 1];
					d *= GP__R(6.28318530717958647692) * v->factor[c];
					c++;
				}
				by_x[x] += d;
			}
}

/*	Means of the unit's processes; with features, K(Zb,x) to A. */
static void gp__row_mean(gp__row *r, const odvgp_real *x, int features)
{
	const gp__compact *p = r->p;
	const gp__compact_view *v = &r->v;
	odvgp_real *mean = r->mean + r->first;
	const odvgp_real *alpha = p->flags & GP__ROWS_NO_ALPHA ? NULL : v->alpha, *A = v->A;
	gp__row_inputs(r, x);
	for (size_t q = 0; q < r->P; q++) mean[q] = 0;
	if (features || alpha) gp__row_sums(r, p->M, v->beta, alpha, features ? r->A : NULL);
	gp__row_sums(r, p->M_gamma, v->gamma, v->a, NULL);
	for (size_t q = 0; q < r->P; q++) mean[q] = gp__rows_choose(r->bad, 0, mean[q]) + v->b[q];
	for (size_t d = 0; d < p->D && p->flags & GP__ROWS_LINEAR; d++)
		for (size_t q = 0; q < r->P; q++)
			mean[q] += *A++ * gp__rows_choose(r->bad, 0, x[d] - v->x_mean[d]);
}

/*	Variances after gp__row_mean; A becomes L^-1 A. NaN, which only overflow causes, stays NaN. */
static void gp__row_var(gp__row *r)
{
	const gp__compact *p = r->p;
	const int dense = p->factor == GP__FACTOR_OF_S;
	const odvgp_real prior = gp__rows_kernel(p, &r->v, r->u, r->u, NULL), *R = r->v.R;
	odvgp_real left = prior;
	if (dense) {
		gp__rows_solve(p->M, r->v.L, r->A);
		left -= gp__rows_dot(p->M, r->A, r->A);
		left = gp__rows_choose(left < 0, 0, left);
	}
	for (size_t q = 0; q < r->P; q++) {
		const odvgp_real *own = R;
		const odvgp_real square = gp__row_factor(r, q, &R), rest = prior - square,
						 var = dense ? left + square : gp__rows_choose(rest < 0, 0, rest);
		r->var[r->first + q] = gp__rows_choose(r->bad, prior, var);
		if (r->weights) r->weights(r, q, own, (dense ? left : var) > 0);
	}
}

/*	Gradients, after gp__row_var. */
static void gp__row_gradients(gp__row *r)
{
	const gp__compact *p = r->p;
	const gp__compact_view *v = &r->v;
	const size_t C = p->columns, P = r->P, M = p->M;
	for (size_t k = 0; k < P * C; k++) r->mean_by_u[k] = r->var_by_u[k] = 0;
	for (size_t k = r->first * p->D; k < (r->first + P) * p->D; k++)
		r->mean_by_x[k] = r->var_by_x[k] = 0;
	gp__row_slopes(r, M, v->beta, p->flags & GP__ROWS_NO_ALPHA ? NULL : v->alpha, r->c);
	gp__row_slopes(r, 1, r->u, NULL, r->c + M);
	gp__row_slopes(r, p->M_gamma, v->gamma, v->a, NULL);
	gp__row_to_x(r, r->mean_by_u, r->mean_by_x);
	gp__row_to_x(r, r->var_by_u, r->var_by_x);
	for (size_t k = 0; k < p->D * P && p->flags & GP__ROWS_LINEAR; k++)
		r->mean_by_x[(r->first + k % P) * p->D + k / P] += v->A[k];
}

/* --- the public calls --- */

/*	No sentence and no number: a double has no place here. */
static odvgp_status gp__rows_fail(
		odvgp_info *info, odvgp_status status, const char *what, ptrdiff_t row)
{
	if (info) {
		info->status = status;
		info->what = what;
		info->row = row;
		info->value = 0;
		info->text[0] = 0;
	}
	return status;
}

static int gp__rows_positive(const odvgp_real *x, size_t n)
{
	int ok = 1;
	for (; n > 0; n--, x++) ok &= *x > 0;
	return ok;
}

/*	What a base kernel of this kind reads. */
static uint32_t gp__rows_geometry(uint32_t kind)
{
	if (kind >= GP__CONSTANT) return GP__NO_INPUT; /* sums and products, too */
	if (kind >= GP__LINEAR) return GP__INNER_PRODUCT;
	return kind == GP__PERIODIC ? GP__CIRCLE : GP__DISTANCE;
}

/*	Whether every index of the kernel's words is in range, each node has at most one parent,
	and this build has its kernels. */
static odvgp_status gp__rows_kernel_check(const gp__compact *p, const gp__compact_view *v)
{
	uint32_t used[GP__MAX_NODES] = {0}, columns = 0;
	if (p->nodes < 1 || p->nodes >= GP__MAX_NODES || p->groups > ODVGP_MAX_BASE_KERNELS)
		return ODVGP_E_UNSUPPORTED;
	if (p->groups > p->nodes) return ODVGP_E_FORMAT; /* each is read by some node */
	for (uint32_t g = 0; g < p->groups; g++) {
		const uint32_t geometry = v->group[g] & 255, n = v->group[g] >> 8;
		if (geometry < GP__DISTANCE || geometry > GP__INNER_PRODUCT || n > p->columns - columns ||
				(geometry == GP__CIRCLE && n % 2))
			return ODVGP_E_FORMAT;
		columns += n;
	}
	for (uint32_t c = 0; c < p->columns; c++)
		if (v->source[c] >= p->D) return ODVGP_E_FORMAT;
	for (uint32_t t = 0; t < p->nodes; t++) {
		const uint32_t node = v->node[t], kind = node & 255, a = node >> 8 & 255, b = node >> 16;
		const int leaf = kind < GP__ROWS_SUM;
		const uint32_t geometry = gp__rows_geometry(kind);
		if (kind > GP__ROWS_PRODUCT || (leaf ? b > GP__MAX_DEGREE : b >= t)) return ODVGP_E_FORMAT;
		if (geometry   ? a >= p->groups || (v->group[a] & 255) != geometry
				: leaf ? a != 255
					   : a >= t || used[a]++ || used[b]++)
			return ODVGP_E_FORMAT;
		if (leaf && !GP__KERNEL_HAS(kind)) return ODVGP_E_UNSUPPORTED;
	}
	return columns == p->columns ? ODVGP_OK : ODVGP_E_FORMAT;
}

/*	Sizes, then words, then reals. */
static odvgp_status gp__rows_check(const gp__compact *p, size_t bytes)
{
	gp__compact_view v;
	const uint32_t *size = &p->D;
	if (bytes < sizeof *p || p->magic != GP__ROWS_MAGIC) return ODVGP_E_FORMAT;
	if (p->format != GP__ROWS_VERSION * 256 + sizeof(odvgp_real)) return ODVGP_E_UNSUPPORTED;
	for (; size < (const uint32_t *)(p + 1); size++)
		if (*size >= GP__ROWS_MOST) return ODVGP_E_FORMAT;
	if (!p->D || !p->M || !p->P || !p->F || (p->units != 1 && p->units != p->P) ||
			p->M_factor > p->M || p->factor > GP__DIAGONAL_OF_INVERSE ||
			(p->M_factor != p->M && p->factor != GP__FACTOR_OF_S) || p->flags >= GP__ROWS_FLAGS ||
			(p->F != p->P && !(p->flags & GP__ROWS_MIXED)) ||
			(p->noises > 1 && p->noises != p->F) ||
			(p->noises && (p->T != p->F || p->y_rows != p->F)))
		return ODVGP_E_FORMAT;
	/* the scratch of gradients, in bytes, fits size_t */
	if ((uint64_t)p->P * (2 * ((uint64_t)p->D + p->columns) + p->M + 4) >
			(uint64_t)PTRDIFF_MAX / 2 / sizeof(odvgp_real))
		return ODVGP_E_UNSUPPORTED;
	if (p->factor != GP__FACTOR_OF_S && !GP__MEMBERS_INVERSE) return ODVGP_E_UNSUPPORTED;
	if (p->bytes > bytes || gp__rows_bytes(p) != p->bytes || gp__rows_sum(p) != p->sum)
		return ODVGP_E_FORMAT;
	gp__rows_view_of(p, &v);
	const size_t reals = (p->bytes - gp__rows_head(p)) / sizeof(odvgp_real);
	if (!gp__finite(v.x_mean, (ptrdiff_t)reals) || !gp__rows_positive(v.noise, p->noises) ||
			!gp__rows_positive(v.y_scale, p->F))
		return ODVGP_E_FORMAT;
	for (uint32_t k = 0; k < p->units; k++) {
		gp__rows_next_unit(p, &v);
		if (!gp__rows_positive(v.par, 3 * p->nodes)) return ODVGP_E_FORMAT;
	}
	return gp__rows_kernel_check(p, &v);
}

ODVGP_API odvgp_status odvgp_server_from_block(odvgp_server *server, const void *block,
		size_t block_bytes, odvgp_isa isa, odvgp_info *info)
{
	const gp__compact *p = (const gp__compact *)block;
	(void)isa;
	if (!server || !block || (uintptr_t)block % sizeof(odvgp_real))
		return gp__rows_fail(info, ODVGP_E_ARG, server ? "block" : "server", -1);
	odvgp_status status = gp__rows_check(p, block_bytes);
	if (status) return gp__rows_fail(info, status, "block", -1);
	server->block = block;
	server->isa = NULL;
	server->D = (ptrdiff_t)p->D;
	server->P = (ptrdiff_t)p->P;
	server->F = (ptrdiff_t)p->F;
	server->T = (ptrdiff_t)p->T;
	server->y_rows = (ptrdiff_t)p->y_rows;
	return ODVGP_OK;
}

static size_t gp__rows_scratch(
		const odvgp_server *s, ptrdiff_t rows, int gradients, odvgp_info *info)
{
	gp__row r;
	const char *what = !s || !s->block ? "server" : rows < 1 ? "rows" : NULL;
	if (what) return gp__rows_fail(info, ODVGP_E_ARG, what, -1), (size_t)0;
	return gp__row_init((const gp__compact *)s->block, &r, gradients, NULL) * sizeof(odvgp_real) +
		   sizeof(odvgp_real) - 1;
}

ODVGP_API size_t odvgp_predict_scratch(const odvgp_server *s, ptrdiff_t rows, odvgp_info *info)
{
	return gp__rows_scratch(s, rows, 0, info);
}

ODVGP_API size_t odvgp_predict_gradient_scratch(
		const odvgp_server *s, ptrdiff_t rows, odvgp_info *info)
{
	return gp__rows_scratch(s, rows, 1, info);
}

/*	sum_q w_q x_q, for one process x_q [own]: w = [F,P] mixing or I. squares: of w. */
static odvgp_real gp__rows_mix(
		const gp__row *r, size_t f, const odvgp_real *x, size_t step, int squares)
{
	const odvgp_real *w = r->v.mixing + f * r->p->P;
	odvgp_real sum = 0;
	if (!(r->p->flags & GP__ROWS_MIXED)) return x[f * step];
	for (size_t q = 0; q < r->p->P; q++) sum += (squares ? w[q] * w[q] : w[q]) * x[q * step];
	return sum;
}

/*	One row of X through all units. */
static void gp__row_run(gp__row *r, const odvgp_real *x, int variance)
{
	const gp__compact *p = r->p;
	r->bad = !gp__finite(x, (ptrdiff_t)p->D);
	gp__rows_view_of(p, &r->v);
	for (r->first = 0; r->first < p->P; r->first += r->P) {
		gp__rows_next_unit(p, &r->v);
		gp__row_mean(r, x, variance);
		if (variance) gp__row_var(r);
		if (r->gradients) r->gradients(r);
	}
}

/*	Row i of n of the gradients; 0 if the row is not finite. */
static void gp__row_put(const gp__row *r, size_t i, size_t n, const odvgp_gradient *to)
{
	const size_t F = r->p->F, D = r->p->D;
	for (size_t f = 0; f < F; f++)
		for (size_t d = 0; d < D; d++) {
			const size_t at = (f * n + i) * D + d;
			const odvgp_real scale = r->bad ? 0 : r->v.y_scale[f];
			if (to->dmean) to->dmean[at] = scale * gp__rows_mix(r, f, r->mean_by_x + d, D, 0);
			if (to->dvar) to->dvar[at] = scale * scale * gp__rows_mix(r, f, r->var_by_x + d, D, 1);
		}
}

static odvgp_status gp__rows_predict(
		gp__row *r, const odvgp_real *X, size_t n, const odvgp_gradient *to, odvgp_info *info)
{
	const gp__compact *p = r->p;
	ptrdiff_t bad = -1;
	for (size_t i = 0; i < n; i++, X += p->D) {
		odvgp_real off = 0;
		gp__row_run(r, X, to->var || r->gradients);
		bad = r->bad ? (ptrdiff_t)i : bad;
		for (size_t f = 0; f < p->F; f++) {
			const odvgp_real scale = r->v.y_scale[f];
			const size_t at = f * n + i;
			if (to->mean) to->mean[at] = r->v.y_mean[f] + scale * gp__rows_mix(r, f, r->mean, 1, 0);
			if (to->mean) off += to->mean[at] - to->mean[at];
			if (!to->var) continue;
			odvgp_real var = gp__rows_mix(r, f, r->var, 1, 1);
			if (r->noise) var += r->v.noise[p->noises > 1 ? f : 0];
			to->var[at] = scale * scale * var;
			off += to->var[at] - to->var[at];
		}
		bad = off == 0 ? bad : (ptrdiff_t)i;
		if (r->put) r->put(r, i, n, to);
	}
	/* also if all is well, as time must not depend on it */
	return gp__rows_fail(info, bad < 0 ? ODVGP_OK : ODVGP_E_NAN, "X", bad);
}

/*	r: its hooks and, in u, the scratch. */
static odvgp_status gp__rows_call(gp__row *r, const odvgp_server *s, const odvgp_real *X,
		ptrdiff_t n, const odvgp_gradient *to, size_t bytes, odvgp_info *info)
{
	const char *what = !s || !s->block ? "server" : n < 0 ? "n" : n && !X ? "X" : NULL;
	odvgp_real *scratch = r->u;
	if (what) return gp__rows_fail(info, ODVGP_E_ARG, what, -1);
	const gp__compact *p = (const gp__compact *)s->block;
	if (r->noise && !p->noises) return gp__rows_fail(info, ODVGP_E_UNSUPPORTED, "likelihood", -1);
	const size_t skip = (0 - (uintptr_t)scratch) % sizeof *scratch;
	if (!scratch || gp__row_init(p, r, r->put != NULL, (odvgp_real *)((uintptr_t)scratch + skip)) *
											sizeof *scratch +
									skip >
							bytes)
		return gp__rows_fail(info, ODVGP_E_MEMORY, "scratch", -1);
	return gp__rows_predict(r, X, (size_t)n, to, info);
}

/*	A row to be: its scratch, and whether variances are those of y. */
static void gp__row_begin(gp__row *r, void *scratch, int noise)
{
	r->u = (odvgp_real *)scratch;
	r->noise = noise;
	r->weights = NULL;
	r->gradients = NULL;
	r->put = NULL;
}

ODVGP_API odvgp_status odvgp_predict(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean, odvgp_real *var, void *scratch, size_t scratch_bytes, odvgp_info *info)
{
	const odvgp_gradient to = {mean, var, NULL, NULL, NULL, NULL};
	gp__row r;
	gp__row_begin(&r, scratch, 0);
	return gp__rows_call(&r, s, X, n, &to, scratch_bytes, info);
}

ODVGP_API odvgp_status odvgp_predict_y(const odvgp_server *s, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean_y, odvgp_real *var_y, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	const odvgp_gradient to = {mean_y, var_y, NULL, NULL, NULL, NULL};
	gp__row r;
	gp__row_begin(&r, scratch, 1);
	return gp__rows_call(&r, s, X, n, &to, scratch_bytes, info);
}

ODVGP_API odvgp_status odvgp_predict_gradient(const odvgp_server *s, const odvgp_real *X,
		ptrdiff_t n, const odvgp_gradient *gradient, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	gp__row r;
	if (!gradient) return gp__rows_fail(info, ODVGP_E_ARG, "gradient", -1);
	if (gradient->hessian || gradient->cov)
		return gp__rows_fail(info, ODVGP_E_UNSUPPORTED, gradient->hessian ? "hessian" : "cov", -1);
	gp__row_begin(&r, scratch, 0);
	r.weights = gp__row_weights;
	r.gradients = gp__row_gradients;
	r.put = gp__row_put;
	return gp__rows_call(&r, s, X, n, gradient, scratch_bytes, info);
}

#else
/* --- odvgp_compact --- */

/*	The kernel's words, and one unit's numbers for its columns. Points of gamma move to beta's
	centre. */
static void gp__compact_words(const gp__kernel *k, uint32_t *to)
{
	for (uint32_t t = 0; t < k->nnode; t++) {
		const uint32_t *node = k->node[t];
		const gp__base_kernel *base = &k->base[node[1]];
		if (node[0] == GP__NODE_BASE_KERNEL)
			*to++ = base->type | (base->group == GP__NO_GROUP ? 255 : base->group) << 8 |
					base->degree << 16;
		else
			*to++ = (uint32_t)(node[0] == GP__NODE_SUM ? GP__ROWS_SUM : GP__ROWS_PRODUCT) |
					node[1] << 8 | node[2] << 16;
	}
	GP__EACH_GROUP(g, k)
		*to++ = (uint32_t)gp__geometry(gp__group_kernel(k, g)) | (uint32_t)gp__group_dims(k, g)
																		 << 8;
	GP__EACH_GROUP(g, k) {
		const gp__base_kernel *base = gp__group_kernel(k, g);
		int circle = gp__geometry(base) == GP__CIRCLE;
		GP__FOR(d, gp__group_dims(k, g)) *to++ = (uint32_t)gp__column(base, circle ? d / 2 : d);
	}
}

static void gp__compact_par(const gp__kernel *k, const odvgp_real *hyp, odvgp_real *par)
{
	for (uint32_t t = 0; t < k->nnode; t++, par += 3) {
		par[0] = par[1] = par[2] = 1;
		if (k->node[t][0] != GP__NODE_BASE_KERNEL) continue;
		const gp__base_kernel *base = &k->base[k->node[t][1]];
		if (gp__one_variance(base)) par[0] = hyp[base->var];
		par[1] = gp__base_scale(base, hyp);
		if (gp__base_kernel_kinds[base->type].shape_param) par[2] = hyp[base->shape_param];
	}
}

/*	Shifts and factors of the columns, and the points by rows. */
static void gp__compact_points(const gp__predictor *p, const gp__kernel *k, const gp__view *from,
		const gp__compact_view *v)
{
	ptrdiff_t C = p->columns, c = 0, ld = gp__points_ld(p->M), ldg = gp__points_ld(p->M_gamma);
	GP__FOR(j, p->M)
		GP__FOR(e, C) v->beta[j * C + e] = from->beta[e * ld + j];
	GP__EACH_GROUP(g, k) {
		const gp__base_kernel *base = gp__group_kernel(k, g);
		const int geometry = gp__geometry(base), circle = geometry == GP__CIRCLE;
		GP__FOR(d, (ptrdiff_t)base->ndims) {
			const ptrdiff_t x = gp__column(base, d);
			const double by = (double)gp__base_column(base, from->hyp, d),
						 centre = geometry == GP__INNER_PRODUCT ? 0 : (double)from->beta_centre[x],
						 period = circle ? (double)from->hyp[base->shape_param] : 1,
						 moved = p->M_gamma && geometry != GP__INNER_PRODUCT
										 ? (double)from->gamma_centre[x] - centre
										 : 0,
						 turn = gp__two_pi * moved / period, cosine = cos(turn), sine = sin(turn);
			v->shift[c] = (odvgp_real)((double)from->x_mean[x] + centre * (double)from->x_scale[x]);
			v->factor[c] = (odvgp_real)((circle ? 1 / period : by) / (double)from->x_scale[x]);
			GP__FOR(j, p->M_gamma) {
				const double u = (double)from->gamma[c * ldg + j],
							 w = circle ? (double)from->gamma[(c + 1) * ldg + j] : 0;
				odvgp_real *to = v->gamma + j * C + c;
				to[0] = (odvgp_real)(circle ? cosine * u - sine * w : u + moved * by);
				if (circle) to[1] = (odvgp_real)(sine * u + cosine * w);
			}
			if (circle) {
				v->shift[++c] = 0;
				v->factor[c] = (odvgp_real)by;
			}
			c++;
		}
	}
}

/*	The lower triangle of a [n,n], or the upper one of its transpose, by rows; returns the end. */
static odvgp_real *gp__compact_triangle(
		ptrdiff_t n, const odvgp_real *a, int transposed, odvgp_real *to)
{
	GP__FOR(i, n) {
		if (transposed)
			GP__FROM(j, i, n) *to++ = a[j * n + i];
		else {
			GP__FOR(j, i) *to++ = a[i * n + j];
			*to++ = 1 / a[i * n + i];
		}
	}
	return to;
}

static void gp__compact_unit(const gp__predictor *p, const gp__kernel *k, const gp__view *from,
		const gp__compact_view *v)
{
	const ptrdiff_t P = p->P / p->units, M = p->M, Mr = p->M_factor, Mg = p->M_gamma, D = p->D;
	const int dense = p->factor == GP__FACTOR_OF_S, has_A = gp__mean_functions[p->mean_function].A,
			  identity = p->mean_function == ODVGP_MEAN_FUNCTION_IDENTITY;
	odvgp_real *R = v->R, *L = v->L;
	gp__compact_par(k, from->hyp, v->par);
	gp__compact_points(p, k, from, v);
	GP__FOR(q, P) {
		GP__FOR(j, p->no_alpha ? 0 : M) v->alpha[j * P + q] = from->alpha[q * M + j];
		GP__FOR(j, Mg) v->a[j * P + q] = from->a_gamma[q * Mg + j];
		if (!q || !dense) L = gp__compact_triangle(M, from->L + q * M * M, 0, L);
		if (p->factor == GP__DIAGONAL_OF_INVERSE) gp__copy(R + q * M, from->factor + q * M, M);
		else {
			R = gp__compact_triangle(Mr, from->factor + q * Mr * Mr, 1, R);
			R = gp__compact_triangle(M - Mr, from->factor_v + q * (M - Mr) * (M - Mr), 1, R);
		}
		v->b[q] = gp__mean_functions[p->mean_function].b ? from->b[q] : 0;
		GP__FOR(d, has_A || identity ? D : 0)
			v->A[d * P + q] = (identity ? d == q : from->A[d * P + q]) / from->x_scale[d];
	}
}

/*	The head of the compact block. */
static odvgp_status gp__compact_head(const odvgp_server *s, gp__compact *p, odvgp_info *info)
{
	const gp__predictor *from = gp__served(s);
	memset(p, 0, sizeof *p);
	if (!from) return gp__not_served(info);
	if (from->layers > 1 || from->patches.height || from->factor == GP__FACTOR_OF_PRECISION)
		return gp__unsupported(info, "server",
				from->layers > 1 ? "has several layers"
				: from->patches.height ? "is of images"
									   : "learns online (odvgp_online_start)");
	const gp__likelihood *lik = &gp__likelihoods[from->likelihood];
	const uint32_t *words = gp__predictor_kernel(from);
	const int linear = gp__mean_functions[from->mean_function].A ||
					   from->mean_function == ODVGP_MEAN_FUNCTION_IDENTITY;
	p->magic = GP__ROWS_MAGIC;
	p->format = GP__ROWS_VERSION * 256 + sizeof(odvgp_real);
	p->D = (uint32_t)from->D;
	p->M = (uint32_t)from->M;
	p->M_gamma = (uint32_t)from->M_gamma;
	p->P = (uint32_t)from->P;
	p->F = (uint32_t)from->F;
	p->T = (uint32_t)from->T;
	p->y_rows = (uint32_t)s->y_rows;
	p->units = (uint32_t)from->units;
	p->noises = lik->flags & GP__LIK_GAUSSIAN ? (uint32_t)from->lik_params : 0;
	p->factor = (uint32_t)from->factor;
	p->M_factor = (uint32_t)from->M_factor;
	p->flags = (uint32_t)((from->no_alpha ? GP__ROWS_NO_ALPHA : 0) |
						  (from->mixed ? GP__ROWS_MIXED : 0) | (linear ? GP__ROWS_LINEAR : 0));
	p->columns = (uint32_t)from->columns;
	p->nodes = words[1];
	p->groups = words[3];
	for (const uint32_t *size = &p->D; size < (const uint32_t *)(p + 1); size++)
		if (*size >= GP__ROWS_MOST) return gp__refuse(info, ODVGP_E_SIZE, "server", "is too large");
	if (gp__rows_bytes(p) > UINT32_MAX)
		return gp__refuse(info, ODVGP_E_SIZE, "server", "is too large");
	p->bytes = (uint32_t)gp__rows_bytes(p);
	return ODVGP_OK;
}

ODVGP_API size_t odvgp_compact_size(const odvgp_server *server, odvgp_info *info)
{
	gp__compact p;
	return gp__compact_head(server, &p, info) ? 0 : p.bytes;
}

static size_t gp__compact_scratch(const odvgp_server *server, int gradients, odvgp_info *info)
{
	gp__compact p;
	gp__row r;
	odvgp_status status = gp__compact_head(server, &p, info);
	return status ? 0 : (gp__row_init(&p, &r, gradients, NULL) + 1) * sizeof(odvgp_real) - 1;
}

ODVGP_API size_t odvgp_compact_scratch(const odvgp_server *server, odvgp_info *info)
{
	return gp__compact_scratch(server, 0, info);
}

ODVGP_API size_t odvgp_compact_gradient_scratch(const odvgp_server *server, odvgp_info *info)
{
	return gp__compact_scratch(server, 1, info);
}

ODVGP_API odvgp_status odvgp_compact(
		const odvgp_server *server, void *block, size_t block_bytes, odvgp_info *info)
{
	gp__compact head, *p = (gp__compact *)block;
	gp__kernel k;
	gp__compact_view v;
	odvgp_status status = gp__compact_head(server, &head, info);
	if (status) return status;
	if (!block || (uintptr_t)block % sizeof(odvgp_real))
		return gp__refuse(info, ODVGP_E_ARG, "block", "is NULL or not aligned for a real");
	if (block_bytes < head.bytes) return gp__small(info, "block", block_bytes);
	const gp__predictor *from = gp__layer_of(server);
	memset(block, 0, head.bytes);
	*p = head;
	memset(&k, 0, sizeof k);
	gp__kernel_unpack(gp__predictor_kernel(from), from->base_kernels, &k);
	gp__compact_words(&k, (uint32_t *)(p + 1));
	gp__rows_view_of(p, &v);
	GP__FOR(unit, (ptrdiff_t)from->units) {
		gp__view own = gp__view_of(from, unit);
		gp__rows_next_unit(p, &v);
		gp__compact_unit(from, &k, &own, &v);
		if (unit) continue;
		if (p->flags & GP__ROWS_LINEAR) gp__copy(v.x_mean, own.x_mean, from->D);
		if (from->mixed) gp__copy(v.mixing, own.mixing, (ptrdiff_t)from->F * from->P);
		gp__copy(v.noise, own.lik_params, (ptrdiff_t)p->noises);
		const int scaled = gp__likelihoods[from->likelihood].flags & GP__LIK_SCALABLE;
		GP__FOR(f, (ptrdiff_t)from->F) {
			v.y_mean[f] = scaled ? own.y_mean[f] : 0;
			v.y_scale[f] = scaled ? own.y_scale[f] : 1;
		}
	}
	p->sum = gp__rows_sum(p);
	return ODVGP_OK;
}
#endif
#endif

#ifndef ODVGP_NO_TRAINING
#ifndef ODVGP_FLOAT_ONLY

/* ---- >>export   a frozen model as C code

	Functions of the written header come from templates (gp__emit). Points of beta and gamma
	form one table, by rows, in units of the kernel: u = (x - shift) rate undoes the scales, and has
	1 / sqrt(2) of rbf or sqrt(nu) of a Matern in it unless base kernels share the distance. Shift
	and rate are rounded first and the points follow them. a <- L^-1 k(Zb,x) reads rows of L with
	the reciprocal of the diagonal at their ends; T = q_sqrt^T a comes by columns, a number at a
	time, so that nothing of it is stored. Units of independent outputs follow one another in each
	table, and pointers run on.

	To add a base kernel: a row in gp__export_kernels. A likelihood: a row in gp__export_ys. */

enum { GP__EXPORT_ROWS = 10, GP__EXPORT_NODES = 20, GP__EXPORT_NUMBERS = 10 };

typedef struct {
	const gp__predictor *p;
	const gp__kernel *k;
	const odvgp_export_settings *o;
	gp__prediction *t; /* its view is that of the current unit */
	int wide, gradient, failed, infinite;
	int skip, depth, parentheses, fresh; /* of gp__emit; fresh: at the start of a line */
	ptrdiff_t whole[6], columns, at;     /* columns: of a point; at: of the table */
	double number[GP__EXPORT_NUMBERS];
	size_t used;
	odvgp_export_costs costs;
	char buffer[512];
} gp__export;

/* --- text --- */

static void gp__emit_flush(gp__export *e)
{
	if (e->o->write && !e->failed) e->failed = e->o->write(e->o->user, e->buffer, e->used) != 0;
	e->costs.text_bytes += e->used;
	e->used = 0;
}

static void gp__emit_text(gp__export *e, const char *s)
{
	for (; *s; s++) {
		if (e->used == sizeof e->buffer) gp__emit_flush(e);
		e->buffer[e->used++] = *s;
	}
}

static void gp__emit_int(gp__export *e, ptrdiff_t v)
{
	char digits[24];
	gp__text t = {digits, sizeof digits, 0};
	gp__put_int(&t, v);
	gp__emit_text(e, digits);
}

/*	x in the precision of the export. */
static double gp__export_round(const gp__export *e, double x)
{
	return e->wide ? x : (double)(float)x;
}

/*	Decimals that give the same bits back, 17 or 9 of them, correctly rounded: |v| is a whole number
	in base 10^9, times a power of ten. */
static void gp__emit_real(gp__export *e, double v)
{
	enum { WORDS = 96, BASE = 1000000000 };
	uint32_t word[WORDS];
	char digits[9 * WORDS + 2], *d = digits + 1;
	int exponent, n = 0, most = e->wide ? 17 : 9, count = 0;
	v = gp__export_round(e, v);
	if (!(v - v == 0)) { /* too large for settings.real */
		e->infinite = 1;
		v = 0;
	}
	uint64_t m = (uint64_t)ldexp(frexp(fabs(v), &exponent), 53);
	for (exponent -= 53; m && !(m & 1); m >>= 1) exponent++;
	for (; m; m /= BASE) word[n++] = (uint32_t)(m % BASE);
	for (int i = 0; i < (exponent < 0 ? -exponent : exponent); i++) {
		uint64_t carry = 0;
		for (int k = 0; k < n; k++, carry /= BASE) {
			carry += (uint64_t)word[k] * (exponent < 0 ? 5 : 2);
			word[k] = (uint32_t)(carry % BASE);
		}
		if (carry) word[n++] = (uint32_t)carry;
	}
	for (int k = n; k-- > 0;)
		for (uint32_t ten = BASE / 10; ten; ten /= 10)
			if (count || word[k] / ten) d[count++] = (char)('0' + word[k] / ten % 10);
	exponent = n ? GP__MIN(exponent, 0) + count - 1 : 0;
	digits[0] = '0';
	if (count > most && d[count = most] >= '5') {
		while (d[count - 1] == '9') count--;
		d[count - 1]++;
		if (!count) count = 1, exponent++, d--;
	} else
		while (count && d[count - 1] == '0') count--;
	d[GP__MAX(count, 1)] = 0;
	if (!n) memcpy(d, "0", 2);
	const char first[3] = {*d, '.', 0};
	if (v < 0) gp__emit_text(e, "-");
	gp__emit_text(e, first);
	gp__emit_text(e, d[1] ? d + 1 : "0");
	if (exponent) gp__emit_text(e, "e");
	if (exponent) gp__emit_int(e, exponent);
	if (!e->wide) gp__emit_text(e, "f");
}

/*	A series in y, nested: 0 e^y, 1 atanh(sqrt y) / sqrt y, 2 cos(sqrt y), 3 sin(sqrt y) / sqrt y. */
static void gp__emit_series(gp__export *e, int kind)
{
	double c = 1;
	int terms = e->wide ? 13 : 6;
	for (int k = 1; k <= terms; k++) {
		gp__emit_real(e, c);
		gp__emit_text(e, " + y * (");
		c = kind == 1 ? 1.0 / (2 * k + 1) : c / (kind ? -(2 * k - 1 + (kind == 3) * 2) * 2 * k : k);
	}
	gp__emit_real(e, c);
	while (terms--) gp__emit_text(e, ")");
}

/*	Sizes and, if small, conditions, by their signs. */
static ptrdiff_t gp__export_is(const gp__export *e, char sign)
{
	const gp__predictor *p = e->p;
	ptrdiff_t M = p->M, scales = 0, mean = p->mean_function;
	GP__EACH_GROUP(g, e->k)
		scales += gp__group_dims(e->k, g) *
				  (gp__geometry(gp__group_kernel(e->k, g)) == GP__CIRCLE ? 3 : 4) / 2;
	switch (sign) {
	case 'C': return e->columns;
	case 'D': return p->D;
	case 'M': return M;
	case 'A': return p->M_factor;
	case 'Z': return M + p->M_gamma;
	case 'G': return GP__MAX(1, (ptrdiff_t)e->k->ngroup);
	case 'P': return p->P / p->units;
	case 'Q': return p->P;
	case 'F': return p->F;
	case 'T': return p->T;
	case 'H': return GP__EXPORT_NODES;
	case 'Y': return p->classes ? p->classes : p->T;
	case 'X': return GP__EXPORT_ROWS;
	case 'S': return scales;
	case 'K': return 3 * (ptrdiff_t)p->base_kernels;
	case 'B': return p->factor == GP__DIAGONAL_OF_INVERSE ? M : M * (M + 1) / 2;
	case 'g': return e->gradient;
	case 'd': return e->wide;
	case 'm': return p->mixed;
	case 's': return p->factor == GP__FACTOR_OF_S;
	case 'i': return p->factor == GP__FACTOR_OF_INVERSE;
	case 'b': return p->M_factor < M;
	default: return gp__mean_functions[mean].A || mean == ODVGP_MEAN_FUNCTION_IDENTITY; /* a */
	}
}

/*	A character of code: lines end behind ; { and }, and are indented by braces. */
static void gp__emit_char(gp__export *e, char c)
{
	char text[2] = {c, 0};
	if (e->fresh && c == ' ') return;
	e->depth += (c == '{') - (c == '}');
	e->parentheses += (c == '(') - (c == ')');
	for (int i = e->fresh ? 0 : e->depth; i < e->depth; i++) gp__emit_text(e, "\t");
	gp__emit_text(e, text);
	e->fresh = !e->parentheses && (c == ';' || c == '{' || c == '}');
	if (e->fresh) gp__emit_text(e, c == '}' && !e->depth ? "\n\n" : "\n");
}

/*	A template of code. Its signs:
		~			f behind a literal of a float export
		$R, $N_		float or double; the prefix of names
		$[exp]		a function of libm
		$(iM		for (int i = 0; i < M; i++), M a size or a lower-case name
		$0, %0 ...	e->number, e->whole
		$&0			a series
		$?x ... $.	only if x holds (gp__export_is); $!x ... $. if not
		$M			a size */
static void gp__emit(gp__export *e, const char *s)
{
	for (; *s; s++) {
		char c = *s, sign = c == '$' ? *++s : 0, index[2] = {0, 0};
		if (sign == '?' || sign == '!') {
			s++;
			e->skip += e->skip || !gp__export_is(e, *s) == (sign == '?');
		} else if (sign == '.') e->skip -= e->skip > 0;
		else if (e->skip) continue;
		else if (!sign && c != '~' && (c != '%' || s[1] == ' ')) gp__emit_char(e, c);
		else {
			for (int i = e->fresh ? 0 : e->depth; i < e->depth; i++) gp__emit_text(e, "\t");
			e->fresh = 0;
			if (c == '~') gp__emit_text(e, e->wide ? "" : "f");
			else if (c == '%') gp__emit_int(e, e->whole[*++s - '0']);
			else if (sign == 'R') gp__emit_text(e, e->wide ? "double" : "float");
			else if (sign == 'N') gp__emit_text(e, e->o->name);
			else if (sign == '&') gp__emit_series(e, *++s - '0');
			else if (sign >= '0' && sign <= '9') gp__emit_real(e, e->number[sign - '0']);
			else if (sign == '(') {
				char head[] = "for (int i = 0; i < ", step[] = "; i++)";
				head[9] = head[16] = step[2] = *++s;
				gp__emit_text(e, head);
				index[0] = *++s;
				if (*s >= 'a') gp__emit_text(e, index);
				else gp__emit_int(e, gp__export_is(e, *s));
				gp__emit_text(e, step);
			} else if (sign == '[') {
				if (e->o->no_libm) gp__emit(e, "$N_");
				while (*++s != ']') gp__emit_char(e, *s);
				if (!e->wide && !e->o->no_libm) gp__emit_text(e, "f");
			} else gp__emit_int(e, gp__export_is(e, sign));
		}
	}
}

/* --- kernels --- */

/*	r^2, or for periodic the squared distance on circles, times `factor` (rq: over alpha) is t, an
	inner product is the variance times it; k and its derivative in t. c: variance, factor from a
	group's number s to t, shape parameter of base kernel %0. */
static const struct {
	double factor;
	const char *value, *slope;
} gp__export_kernels[GP__BASE_KERNEL_TYPES] = {
		/* factor, value, slope */
		{0.5, "k%0 = c[%1] * $[exp](-t%0)", "-k%0"},
		{1, "r%0 = $[sqrt](t%0), k%0 = c[%1] * $[exp](-r%0)", "r%0 > 0 ? -0.5~ * k%0 / r%0 : 0"},
		{3, "r%0 = $[sqrt](t%0), e%0 = c[%1] * $[exp](-r%0), k%0 = (1 + r%0) * e%0", "-0.5~ * e%0"},
		{5, "r%0 = $[sqrt](t%0), e%0 = c[%1] * $[exp](-r%0), k%0 = (1 + r%0 + t%0 / 3) * e%0",
				"(1 + r%0) * e%0 / -6"},
		{0.5, "k%0 = c[%1] * $[exp](-c[%3] * $[log1p](t%0))", "-c[%3] * k%0 / (1 + t%0)"},
		{0.5, "k%0 = c[%1] * $[exp](-t%0)", "-k%0"},
		{1, "k%0 = t%0", "1"},
		{1, "r%0 = t%0 + c[%3], e%0 = 1", "%4 * e%0"}, /* and powers: gp__export_kernel */
		{0, "k%0 = c[%1]", NULL},
		{0, "k%0 = 0", NULL},
};

/*	Signs of base kernel l. */
static const gp__base_kernel *gp__export_of(gp__export *e, uint32_t l)
{
	const gp__base_kernel *base = &e->k->base[l];
	e->whole[0] = (ptrdiff_t)l;
	GP__FOR(i, 3) e->whole[1 + i] = 3 * (ptrdiff_t)l + i;
	e->whole[4] = (ptrdiff_t)base->degree;
	e->whole[5] = (ptrdiff_t)base->group;
	return base;
}

/*	Whether the distance of base kernel l serves no other, so that the points take its scale. */
static int gp__export_scaled(const gp__export *e, uint32_t l)
{
	int bases = 0;
	GP__EACH_BASE(i, e->k) bases += e->k->base[i].group == e->k->base[l].group;
	return bases == 1 && gp__geometry(&e->k->base[l]) != GP__INNER_PRODUCT;
}

static double gp__export_factor(const gp__export *e, uint32_t l)
{
	const gp__base_kernel *base = &e->k->base[l];
	const odvgp_real *hyp = e->t->v.hyp;
	if (gp__geometry(base) == GP__INNER_PRODUCT) return base->ard ? 1 : (double)hyp[base->var];
	return gp__export_kernels[base->type].factor * (double)gp__base_scale(base, hyp) /
		   (base->type == GP__RQ ? (double)hyp[base->shape_param] : 1);
}

/*	The value of a node in k0, k1, ... */
static void gp__export_node(gp__export *e, uint32_t node)
{
	const uint32_t *n = e->k->node[node];
	if (n[0] == GP__NODE_BASE_KERNEL) {
		gp__emit_text(e, "k");
		gp__emit_int(e, (ptrdiff_t)n[1]);
		return;
	}
	gp__emit_text(e, "(");
	gp__export_node(e, n[1]);
	gp__emit_text(e, n[0] == GP__NODE_SUM ? " + " : " * ");
	gp__export_node(e, n[2]);
	gp__emit_text(e, ")");
}

/*	h[g] = dK/ds_g: of each base kernel of the group its slope, times what multiplies the kernel. */
static void gp__export_slopes(gp__export *e, uint32_t g, int diagonal)
{
	const gp__kernel *k = e->k;
	e->whole[0] = (ptrdiff_t)g;
	gp__emit(e, "h[%0] = 0");
	for (uint32_t t = 0; t < k->nnode; t++) {
		uint32_t inside = t;
		if (k->node[t][0] != GP__NODE_BASE_KERNEL) continue;
		const gp__base_kernel *base = gp__export_of(e, k->node[t][1]);
		if (base->group != g || (diagonal && gp__geometry(base) != GP__INNER_PRODUCT)) continue;
		gp__emit(e, " + (");
		gp__emit(e, gp__export_kernels[base->type].slope);
		gp__emit(e, gp__export_scaled(e, k->node[t][1]) ? ")" : ") * c[%2]");
		for (uint32_t s = t + 1; s < k->nnode; s++) {
			const uint32_t *n = k->node[s];
			if (n[0] == GP__NODE_BASE_KERNEL || (n[1] != inside && n[2] != inside)) continue;
			if (n[0] == GP__NODE_PRODUCT) {
				gp__emit_text(e, " * ");
				gp__export_node(e, n[1] == inside ? n[2] : n[1]);
			}
			inside = s;
		}
	}
	gp__emit(e, ";");
}

/*	k(x,z) for prepared points, or k(x,x) as for z = u; with slopes if e->gradient. */
static void gp__export_kernel(gp__export *e, int diagonal)
{
	ptrdiff_t at = 0;
	gp__emit(e, diagonal ? "static inline $R $N_prior" : "static inline $R $N_kernel");
	gp__emit(e, "$?g_slopes$.(const $R *c, const $R *u, const $R *z$?g, $R *h$.) {"
				"(void)c, (void)u, (void)z$?g, (void)h$.;");
	GP__EACH_GROUP(g, e->k) {
		e->whole[0] = (ptrdiff_t)g;
		e->whole[1] = at;
		e->whole[2] = at += gp__group_dims(e->k, g);
		int inner = gp__geometry(gp__group_kernel(e->k, g)) == GP__INNER_PRODUCT;
		if (diagonal && !inner) continue;
		if (at - e->whole[1] > 4) {
			gp__emit(e, "$R s%0 = 0; for (int i = %1; i < %2; i++) s%0 += ");
			gp__emit(e, inner ? "u[i] * z[i];" : "(u[i] - z[i]) * (u[i] - z[i]);");
			continue;
		}
		gp__emit(e, "const $R s%0 = 0");
		for (; e->whole[1] < at; e->whole[1]++)
			gp__emit(e, inner ? " + u[%1] * z[%1]" : " + (u[%1] - z[%1]) * (u[%1] - z[%1])");
		gp__emit(e, ";");
	}
	GP__EACH_BASE(l, e->k) {
		const gp__base_kernel *base = gp__export_of(e, l);
		int inner = gp__geometry(base) == GP__INNER_PRODUCT, any = inner || !diagonal;
		if (any && base->group != GP__NO_GROUP)
			gp__emit(e, gp__export_scaled(e, l) ? "const $R t%0 = s%5;"
												: "const $R t%0 = c[%2] * s%5;");
		gp__emit(e, "const $R ");
		gp__emit(e, gp__export_kernels[any ? base->type : (uint32_t)GP__CONSTANT].value);
		for (uint32_t i = 1; i < base->degree; i++) gp__emit(e, " * r%0");
		gp__emit(e, base->degree ? ", k%0 = e%0 * r%0;" : ";");
	}
	for (uint32_t g = 0; g < e->k->ngroup && e->gradient; g++) gp__export_slopes(e, g, diagonal);
	gp__emit(e, "return ");
	gp__export_node(e, e->k->nnode - 1);
	gp__emit(e, ";}");
}

/* --- inputs --- */

/*	Column i of a group: that of X; from x to u = (x - shift) rate, on circles radius times cosine
	and sine of it; `scale` is that of stored points. */
typedef struct {
	ptrdiff_t column;
	int geometry;
	double scale, mean, unit, shift, rate, radius;
} gp__export_column;

static gp__export_column gp__export_column_of(const gp__export *e, uint32_t g, ptrdiff_t i)
{
	const gp__base_kernel *base = gp__group_kernel(e->k, g);
	const gp__view *v = &e->t->v;
	gp__export_column c;
	uint32_t l = e->k->group_base[g];
	c.column = gp__column(base, i);
	c.geometry = gp__geometry(base);
	c.scale = (double)gp__base_column(base, v->hyp, i);
	c.mean = (double)v->x_mean[c.column];
	c.unit = (double)v->x_scale[c.column];
	c.shift = c.geometry == GP__INNER_PRODUCT ? 0 : c.unit * (double)v->beta_centre[c.column];
	c.shift = gp__export_round(e, c.mean + c.shift);
	c.radius = c.scale * (gp__export_scaled(e, l) ? sqrt(gp__export_factor(e, l)) : 1);
	c.rate = c.geometry == GP__CIRCLE ? gp__two_pi / (double)v->hyp[base->shape_param] : c.radius;
	c.radius = gp__export_round(e, c.radius);
	c.rate = gp__export_round(e, c.rate / c.unit);
	return c;
}

/*	All columns i of all groups g. */
#define GP__EACH_INPUT(e, g, i) \
	GP__EACH_GROUP(g, (e)->k) \
		GP__FOR(i, (ptrdiff_t)gp__group_kernel((e)->k, g)->ndims)

/*	Stored point j of the job in column i of group g, less the shift, in the caller's units. */
static double gp__export_place(const gp__export *e, uint32_t g, ptrdiff_t i, ptrdiff_t j)
{
	gp__export_column c = gp__export_column_of(e, g, i);
	ptrdiff_t ld = e->t->job->ld;
	const odvgp_real *z = e->t->job->zt[g] + j;
	double q = (double)z[i * ld] / c.scale;
	if (c.geometry == GP__INNER_PRODUCT) return c.unit * q;
	if (c.geometry == GP__CIRCLE)
		q = atan2((double)z[(2 * i + 1) * ld], (double)z[2 * i * ld]) *
			(double)e->t->v.hyp[gp__group_kernel(e->k, g)->shape_param] / gp__two_pi;
	return c.mean - c.shift + c.unit * (q + (double)e->t->job->centre[c.column]);
}

#define GP__EXPORT_TURN "for (int i = 0; i < %2; i++, s += 3) "
#define GP__EXPORT_LINE "for (int i = 0; i < %2; i++, s += 2) "
#define GP__EXPORT_U    GP__EXPORT_LINE "u[%1 + i] = (x[%3 + i] - s[0]) * s[1];"
#define GP__EXPORT_SUM  "for (int i = %1; i < %4; i++) g[i] += w * h[%0] * "

/*	Functions that loop over columns: %2 of them, from column %3 of x and %1 of u on, up to %4. */
static const struct {
	const char *head, *of[3]; /* by geometry */
} gp__export_loops[] = {
		{"static inline void $N_inputs(const $R *x, $R *u, const $R *s) {(void)x, (void)u, "
		 "(void)s;",
				{GP__EXPORT_U,
						GP__EXPORT_TURN "{const $R t = (x[%3 + i] - s[0]) * s[1];"
										"u[%1 + 2 * i] = s[2] * $[cos](t);"
										"u[%1 + 2 * i + 1] = s[2] * $[sin](t);}",
						GP__EXPORT_U}},
		{"/* g += w dk(x,z)/du */ static inline void $N_add($R w, const $R *h, const $R *u, "
		 "const $R *z, $R *g) {(void)w, (void)h, (void)u, (void)z, (void)g;",
				{GP__EXPORT_SUM "2 * (u[i] - z[i]);", GP__EXPORT_SUM "2 * (u[i] - z[i]);",
						GP__EXPORT_SUM "z[i];"}},
		{"/* dx += derivatives in x from those in u */ static inline void $N_back(const $R *u, "
		 "const $R *g, const $R *s, $R *dx) {(void)u, (void)g, (void)s, (void)dx;",
				{GP__EXPORT_LINE "dx[%3 + i] += s[1] * g[%1 + i];",
						GP__EXPORT_TURN "dx[%3 + i] += s[1] * (u[%1 + 2 * i] * g[%1 + 2 * i + 1] - "
										"u[%1 + 2 * i + 1] * g[%1 + 2 * i]);",
						GP__EXPORT_LINE "dx[%3 + i] += s[1] * g[%1 + i];"}},
};

static void gp__export_loop(gp__export *e, int function)
{
	ptrdiff_t at = 0;
	gp__emit(e, gp__export_loops[function].head);
	GP__EACH_GROUP(g, e->k) {
		const gp__base_kernel *base = gp__group_kernel(e->k, g);
		int geometry = gp__geometry(base);
		for (uint32_t r = 0; r < GP__MAX(base->nranges, 1); r++) {
			ptrdiff_t from = base->nranges ? (ptrdiff_t)base->range[r][0] : 0,
					  to = base->nranges ? (ptrdiff_t)base->range[r][1] : (ptrdiff_t)e->k->D;
			e->whole[0] = (ptrdiff_t)g;
			e->whole[1] = at;
			e->whole[2] = to - from;
			e->whole[3] = from;
			e->whole[4] = at += (to - from) * (geometry == GP__CIRCLE ? 2 : 1);
			gp__emit(e, gp__export_loops[function].of[geometry - GP__DISTANCE]);
		}
	}
	gp__emit(e, "}");
}

/* --- tables --- */

static void gp__emit_number(gp__export *e, double x)
{
	gp__emit_text(e, e->at++ % 6 ? " " : "\n\t");
	gp__emit_real(e, x);
	gp__emit_text(e, ",");
	e->costs.flash += e->wide ? 8 : 4;
}

static void gp__emit_begin(gp__export *e, const char *name)
{
	gp__emit(e, "static const $R $N_");
	gp__emit_text(e, name);
	gp__emit_text(e, "[] = {");
	e->at = 0;
}

static void gp__emit_end(gp__export *e)
{
	if (!e->at) gp__emit_number(e, 0);
	gp__emit_text(e, "\n};\n\n");
	e->fresh = 1;
}

/*	Columns of a lower triangle R from the diagonal on, or rows of L. */
static void gp__export_triangle(gp__export *e, const odvgp_real *R, ptrdiff_t n, int rows)
{
	GP__FOR(i, n) {
		for (ptrdiff_t j = rows ? 0 : i; j < (rows ? i : n); j++)
			gp__emit_number(e, (double)R[rows ? i * n + j : j * n + i]);
		if (rows) gp__emit_number(e, 1 / (double)R[i * n + i]);
	}
}

/*	These points of a unit. */
static void gp__export_points(gp__export *e, odvgp_real *points, ptrdiff_t m, odvgp_real *centre)
{
	gp__predict_points(e->t, points, m, centre);
	GP__FOR(j, m) {
		if (!gp__points_columns(e->k)) gp__emit_number(e, 0);
		GP__EACH_INPUT(e, g, i) {
			gp__export_column c = gp__export_column_of(e, g, i);
			double u = gp__export_place(e, g, i, j) * c.rate;
			int circle = c.geometry == GP__CIRCLE;
			gp__emit_number(e, circle ? c.radius * cos(u) : u);
			if (circle) gp__emit_number(e, c.radius * sin(u));
		}
	}
}

/*	Prior mean of process q: its slopes in the caller's units; its value where x is the rounded
	x_mean. `unit` is that of process q: of f, unless processes are mixed. */
static void gp__export_mean(gp__export *e, ptrdiff_t q, double unit, int slopes)
{
	const gp__predictor *p = e->p;
	const gp__view *v = &e->t->v;
	ptrdiff_t own = q - e->t->first;
	double b = p->mixed ? 0 : (double)gp__predict_unscale(e->t, q, 0);
	if (gp__mean_functions[p->mean_function].b) b += unit * (double)v->b[own];
	for (ptrdiff_t d = 0; gp__export_is(e, 'a') && d < p->D; d++) {
		double x = (double)v->x_mean[d], a = gp__mean_functions[p->mean_function].A
													 ? (double)v->A[d * e->t->P + own]
													 : d == own;
		a *= unit / (double)v->x_scale[d];
		if (slopes) gp__emit_number(e, a);
		b += gp__export_round(e, a) * (gp__export_round(e, x) - x);
	}
	if (!slopes) gp__emit_number(e, b);
}

/*	What a table, by its first letter, holds of the current unit. */
static void gp__export_unit(gp__export *e, char table)
{
	const gp__predictor *p = e->p;
	const gp__view *v = &e->t->v;
	ptrdiff_t M = p->M, Mr = p->M_factor, Mg = p->M_gamma, P = e->t->P, first = e->t->first;
	for (uint32_t l = 0; table == 'c' && l < p->base_kernels; l++) {
		const gp__base_kernel *base = &e->k->base[l];
		int shape = gp__base_kernel_kinds[base->type].shape_param != NULL;
		gp__emit_number(e, (double)v->hyp[base->var]);
		gp__emit_number(e, base->group == GP__NO_GROUP ? 0 : gp__export_factor(e, l));
		gp__emit_number(e, shape ? (double)v->hyp[base->shape_param] : 0);
	}
	if (table == 's')
		GP__EACH_INPUT(e, g, i) {
			gp__export_column c = gp__export_column_of(e, g, i);
			gp__emit_number(e, c.shift);
			gp__emit_number(e, c.rate);
			if (c.geometry == GP__CIRCLE) gp__emit_number(e, c.radius);
		}
	if (table == 'p') {
		gp__export_points(e, v->beta, M, v->beta_centre);
		gp__export_points(e, v->gamma, Mg, v->gamma_centre);
	}
	for (ptrdiff_t j = 0; table == 'w' && j < (M + Mg) * P; j++) {
		ptrdiff_t i = j / P, q = j % P;
		double unit = p->mixed ? 1 : (double)gp__predict_scale(e->t, first + q);
		if (i >= M) unit *= (double)v->a_gamma[q * Mg + i - M];
		else unit *= p->no_alpha ? 0 : (double)v->alpha[q * M + i];
		gp__emit_number(e, unit);
	}
	GP__FOR(q, P) {
		double unit = p->mixed ? 1 : (double)gp__predict_scale(e->t, first + q);
		if (table == 'v') gp__emit_number(e, unit * unit);
		if (table == 'b' || table == 'a') gp__export_mean(e, first + q, unit, table == 'a');
		if (table == 'f' && (!q || p->factor != GP__FACTOR_OF_S))
			gp__export_triangle(e, v->L + q * M * M, M, 1);
		if (table != 'r') continue;
		for (ptrdiff_t i = 0; p->factor == GP__DIAGONAL_OF_INVERSE && i < M; i++)
			gp__emit_number(e, (double)v->factor[q * M + i]);
		if (p->factor == GP__DIAGONAL_OF_INVERSE) continue;
		gp__export_triangle(e, v->factor + q * Mr * Mr, Mr, 0);
		gp__export_triangle(e, v->factor_v + q * (M - Mr) * (M - Mr), M - Mr, 0);
	}
}

static void gp__export_tables(gp__export *e)
{
	static const char *const tables[] = {
			"scales", "constants", "points", "factor", "weights", "bias", "a", "variances", "root"};
	const gp__view *v = &e->t->v;
	int sloped = gp__export_is(e, 'a') != 0;
	GP__FOR(i, GP__COUNT(tables)) {
		if (*tables[i] == 'a' && !sloped) continue;
		gp__emit_begin(e, tables[i]);
		GP__FOR(k, e->p->units) {
			gp__predict_unit(e->t, k);
			gp__export_unit(e, *tables[i]);
		}
		gp__emit_end(e);
	}
	gp__predict_unit(e->t, 0);
	if (sloped) gp__emit_begin(e, "middle");
	for (ptrdiff_t d = 0; sloped && d < e->p->D; d++) gp__emit_number(e, (double)v->x_mean[d]);
	if (sloped) gp__emit_end(e);
	if (!e->p->mixed) return;
	gp__emit_begin(e, "mixing"); /* rows of it, each with the level of y behind it */
	GP__FOR(f, e->p->F) {
		double scale = (double)gp__predict_scale(e->t, f);
		GP__FOR(q, e->p->P) gp__emit_number(e, scale * (double)v->mixing[f * e->p->P + q]);
		gp__emit_number(e, (double)gp__predict_unscale(e->t, f, 0));
	}
	gp__emit_end(e);
}

/* --- functions --- */

#define GP__EXPORT_CALL "$?g_gradient$.(const $R *x, $R *mean, $R *var$?g, $R *dmean, $R *dvar$.) {"

static const char gp__export_solve[] =
		"/* a <- L^-1 a */ static inline const $R *$N_solve(const $R *l, $R *a) {"
		"$(iM {$R t = a[i]; $(ji t -= *l++ * a[j]; a[i] = t * *l++;} return l;}";
static const char gp__export_unsolve[] =
		"/* a <- L^-T a, l is the end of L */ static inline void $N_unsolve(const $R *l, $R *a) {"
		"for (int i = $M; i-- > 0;) {l -= i + 1; a[i] *= l[i]; $(ji a[j] -= l[j] * a[i];}}";

/*	Moments of the processes. f: the first one of a unit. */
static const char gp__export_predict[] =
		"static inline void $N_$?mlatent$.$!mpredict$." GP__EXPORT_CALL
		"const $R *z = $N_points, *w = $N_weights, *s = $N_scales, *l = $N_factor, *r = $N_root, "
		"*c = $N_constants; $R u[$C], a[$M]$!s, b[$M]$.$?g, y[$M], h[$G], g[$P * $C], H[$M * $G]$.;"
		"for (int f = 0; f < $Q; f += $P, s += $S, c += $K) {"
		"$?gconst $R *beta = z; for (int i = 0; i < $P * $C; i++) g[i] = 0;$."
		"$N_inputs(x, u, s); $(pP mean[f + p] = 0;"
		"for (int j = 0; j < $Z; j++, z += $C, w += $P) {"
		"$?g$R *to = j < $M ? H + j * $G : h;$."
		"const $R k = $N_kernel$?g_slopes$.(c, u, z$?g, to$.); $(pP mean[f + p] += w[p] * k;"
		"$?g$(pP $N_add(w[p], to, u, z, g + p * $C);$. if (j < $M) a[j] = k;}"
		"$(pP {mean[f + p] += $N_bias[f + p];"
		"$?a$(dD mean[f + p] += $N_a[(f + p) * $D + d] * (x[d] - $N_middle[d]);$."
		"$?g$(dD dmean[(f + p) * $D + d] = $?a$N_a[(f + p) * $D + d]$.$!a0$.;"
		"$N_back(u, g + p * $C, s, dmean + (f + p) * $D);$.}"
		"$!gif (!var) continue;$. $R e = $N_prior$?g_slopes$.(c, u, u$?g, h$.);"
		"$?sl = $N_solve(l, a); $(iM e -= a[i] * a[i]; if (e < 0) e = 0;$."
		"$(pP {$R v = e;"
		"$?s$?g$(jM y[j] = e > 0 ? -a[j] : 0;$."
		"$(iM {const int n = ($?bi < $A ? $A : $.$M) - i; $R t = 0;"
		"$(jn t += r[j] * a[i + j]; $?g$(jn y[i + j] += r[j] * t;$. v += t * t; r += n;}"
		"$?g$N_unsolve(l, y);$.$."
		"$!s$(iM {$?ib[i] = 0; for (int j = i; j < $M; j++) b[i] += *r++ * a[j];$."
		"$!ib[i] = *r++ * a[i];$.} l = $N_solve(l, b); $(iM v -= b[i] * b[i]; if (v < 0) v = 0;"
		"$?g$N_unsolve(l, b); r -= $B; $(iM y[i] = 0; $(iM {const $R t = v > 0 ? b[i] : 0;"
		"$?ifor (int j = i; j < $M; j++) y[j] -= *r++ * t;$.$!iy[i] = -*r++ * t;$.}$.$."
		"var[f + p] = v * $N_variances[f + p];"
		"$?g$(iC g[i] = 0; $(jM $N_add(2 * y[j], H + j * $G, u, beta + j * $C, g);"
		"if ($?se$.$!sv$. > 0) $N_add(2, h, u, u, g); $(dD dvar[(f + p) * $D + d] = 0;"
		"$N_back(u, g, s, dvar + (f + p) * $D);"
		"$(dD dvar[(f + p) * $D + d] *= $N_variances[f + p];$.}}}";

static const char gp__export_mix[] =
		"static inline void $N_predict" GP__EXPORT_CALL
		"const $R *c = $N_mixing; $R m[$Q], v[$Q]$?g, dm[$Q * $D], dv[$Q * $D]$.; $(pQ v[p] = 0;"
		"$N_latent$?g_gradient$.(x, m, $!gvar ? v : 0$.$?gv, dm, dv$.);"
		"for (int f = 0; f < $F; f++, c++) {$R a = 0, b = 0;"
		"$?g$(dD dmean[f * $D + d] = dvar[f * $D + d] = 0;$."
		"for (int p = 0; p < $Q; p++, c++) {a += *c * m[p]; b += *c * *c * v[p];"
		"$?g$(dD dmean[f * $D + d] += *c * dm[p * $D + d];"
		"$(dD dvar[f * $D + d] += *c * *c * dv[p * $D + d];$.}"
		"mean[f] = a + *c; if (var) var[f] = b;}}";

static const char gp__export_test[] =
		"/* The largest error at $X reference rows: of means in standard deviations of the prior, "
		"of "
		"variances in its variances. */ static inline $R $N_self_test(void) {"
		"const $R *unit = $N_rows, *row = unit + 2 * $F; $R worst = 0, got[2 * $F];"
		"$(iX {$N_predict(row, got, got + $F); row += $D;"
		"for (int k = 0; k < 2 * $F; k++, row++) {"
		"const $R off = (got[k] - *row) * unit[k], size = off < 0 ? -off : off;"
		"if (size > worst || size != size) worst = size;}} return worst;}";

/* --- moments of y --- */

#define GP__EXPORT_PHI "$1 * $[erfc](-m[i] / $[sqrt](2 * (1 + v[i])))"
#define GP__EXPORT_ADD "mean[i] = m[i]; var[i] = v[i] + "

static const char gp__export_noise[] = "$(iT {" GP__EXPORT_ADD "$N_y[i];}";
static const char gp__export_rate[] =
		"$(iT {const $R t = $[exp]($0 * m[i] + 0.5~ * v[i]); mean[i] = $1 * t;"
		"var[i] = $2 * t + t * t * ($3 * $[expm1](v[i]) + $4);}";
/*	Means are probabilities. */
static const char gp__export_chance[] = "$(iY var[i] = mean[i] * (1 - mean[i]);";

/*	Mean and variance of y from m and v of f, in the order of odvgp_likelihood. N_y holds noise
	variances, cuts, or nodes and weights of a rule by turns. */
static const char *const gp__export_ys[][2] = {
		{gp__export_noise, ""},
		{"$(iT mean[i] = $0 + " GP__EXPORT_PHI ";", gp__export_chance},
		{"$(iT {const $R sd = $[sqrt](v[i]); mean[i] = 0;"
		 "$(hH mean[i] += $N_y[2 * h + 1] / (1 + $[exp](-m[i] - sd * $N_y[2 * h]));}",
				gp__export_chance},
		{gp__export_noise, ""},
		{gp__export_noise, ""},
		{gp__export_rate, ""},
		{gp__export_rate, ""},
		{gp__export_rate, ""},
		{gp__export_rate, ""},
		{"$(iT {const $R sd = $[sqrt](v[i]); $R q = 0; mean[i] = " GP__EXPORT_PHI ";"
		 "$(hH {const $R p = $1 * $[erfc](-$5 * (m[i] + sd * $N_y[2 * h]));"
		 "q += $N_y[2 * h + 1] * p * p;} var[i] = $6 * (mean[i] - q) + q - mean[i] * mean[i];}",
				""},
		{"const $R sd = $[sqrt](2 * (1 + v[0])); $R low = 0;"
		 "$(iY {const $R high = i + 1 < $Y ? $1 * $[erfc]((m[0] - $N_y[i]) / sd) : 1;"
		 "mean[i] = high - low; low = high;}",
				gp__export_chance},
		{"$(iF v[i] = $[sqrt](v[i] > 1e-10~ ? v[i] : 1e-10~); $(iF {mean[i] = $7;"
		 "$(hH {const $R f = m[i] + v[i] * $N_y[2 * h]; $R p = $8 * $N_y[2 * h + 1];"
		 "$(kF if (k != i) p *= $0 + $1 * $[erfc]($5 * (m[k] - f) / v[k]); mean[i] += p;}}",
				gp__export_chance},
		{"$R L[$F], below[$F], p[$F], rest = v[0]; int nodes = 1;"
		 "for (int i = 1; i < $F; i++, nodes *= $H) {"
		 "const $R own = v[i] > 1e-10~ ? v[i] : 1e-10~; L[i] = $[sqrt](own + rest);"
		 "below[i] = rest / L[i]; rest *= own / (own + rest);}"
		 "$(iF mean[i] = 0; for (int h = 0; h < nodes; h++) {"
		 "$R weight = 1, shared = 0, top = 0, sum = 0; p[0] = 0;"
		 "for (int i = 1, q = h; i < $F; i++, q /= $H) {const $R t = $N_y[q % $H * 2];"
		 "weight *= $N_y[q % $H * 2 + 1]; p[i] = m[i] - m[0] + L[i] * t + shared;"
		 "shared += below[i] * t; if (p[i] > top) top = p[i];}"
		 "$(iF sum += p[i] = $[exp](p[i] - top); $(iF mean[i] += weight * p[i] / sum;}",
				gp__export_chance},
		{"$(iT {" GP__EXPORT_ADD "$[exp](m[$T + i] + 0.5~ * v[$T + i]);}", ""},
};

/*	Numbers of these texts (rates: as in gp__exp_moments), and N_y. */
static void gp__export_y_numbers(gp__export *e)
{
	const gp__predictor *p = e->p;
	const gp__view *v = &e->t->v;
	const gp__likelihood *lik = &gp__likelihoods[p->likelihood];
	const odvgp_real *par = v->lik_params;
	int whole = lik->whole, own = lik->params,
		noise = gp__export_ys[p->likelihood][0] == gp__export_noise;
	double *x = e->number, a = own ? (double)par[0] : 1, c = whole ? 1 : a, cut = 0,
		   jitter = lik->flags & GP__LIK_LINK ? (double)v->rule[0] : 0,
		   other = p->F > 1 ? a / (double)(p->F - 1) : 0,
		   c3 = !whole ? c
				: own  ? 1 / a
					   : 0;
	const double rate[] = {whole || own ? 1.0 : -1.0, c, (double)whole, c3 + c * c, c3},
				 chance[] = {jitter, 0.5 - jitter, 0, 0, 0, gp__sqrt_half, 1 / (1 + a), other,
						 1 - a - other};
	memcpy(x, chance, sizeof chance);
	if (gp__export_ys[p->likelihood][0] == gp__export_rate) {
		memcpy(x, rate, sizeof rate);
		return;
	}
	gp__emit_begin(e, "y");
	for (ptrdiff_t t = 0; noise && t < p->T; t++) {
		double scale = (double)gp__predict_scale(e->t, t), s = a * a;
		if (lik->flags & GP__LIK_GAUSSIAN) s = (double)par[p->lik_params > 1 ? t : 0];
		else s *= own > 1 ? (double)par[1] / ((double)par[1] - 2) : 2;
		gp__emit_number(e, s * scale * scale);
	}
	for (ptrdiff_t k = 0; p->likelihood == ODVGP_LIKELIHOOD_ORDINAL && k < p->classes - 1; k++)
		gp__emit_number(e, cut += (double)par[k ? k - 1 : p->classes - 2]);
	if (!e->at) {
		odvgp_real t[GP__EXPORT_NODES], w[GP__EXPORT_NODES];
		gp__gauss_hermite(GP__EXPORT_NODES, t, w);
		GP__FOR(h, 2 * GP__EXPORT_NODES) gp__emit_number(e, (double)(h % 2 ? w : t)[h / 2]);
	}
	gp__emit_end(e);
}

/*	Student's variance is infinite for df <= 2: then there is no such function. */
static void gp__export_y(gp__export *e)
{
	const gp__predictor *p = e->p;
	if (p->likelihood == ODVGP_LIKELIHOOD_STUDENTT && !(e->t->v.lik_params[1] > 2)) return;
	gp__export_y_numbers(e);
	gp__emit(e, "/* Mean and variance of y, $Y numbers each. */ static inline void "
				"$N_predict_y(const $R *x, $R *mean, $R *var) {"
				"$R m[$F], v[$F]; $N_predict(x, m, v);");
	gp__emit(e, gp__export_ys[p->likelihood][0]);
	gp__emit(e, gp__export_ys[p->likelihood][1]);
	gp__emit(e, "}");
}

/* --- without libm --- */

#define GP__EXPORT_WORD "$?dunsigned long long$.$!dunsigned$."
#define GP__EXPORT_BITS "union {$R x; " GP__EXPORT_WORD " i;} b;"

/*	Each calls what stands above it. */
static const char *const gp__export_own[] = {
		"exp($R x) {" GP__EXPORT_BITS "if (!(x > $?d-708$.$!d-87$.)) return x != x ? x : 0;"
		"if (x > $?d709$.$!d88$.) x = $?d709$.$!d88$.;"
		"const int n = (int)(x * $2 + $?d1023.5$.$!d127.5f$.) - $?d1023$.$!d127$.;"
		"const $R y = x - ($R)n * $0 - ($R)n * $1; b.x = $&0;"
		"b.i += (" GP__EXPORT_WORD ")n << $?d52$.$!d23$.; return b.x;}",
		"sqrt($R x) {" GP__EXPORT_BITS "$R y; if (!(x > 0)) return x; b.x = x;"
		"b.i = $?d0x5fe6eb50c7b537a9$.$!d0x5f3759df$. - (b.i >> 1); y = b.x;"
		"for (int i = 0; i < $?d4$.$!d3$.; i++) y *= 1.5~ - 0.5~ * x * y * y;"
		"b.x = x * y; return b.x + 0.5~ * y * (x - b.x * b.x);}",
		"log($R x) {" GP__EXPORT_BITS "b.x = x; int n = (int)(b.i >> $?d52) - 1023$.$!d23) - 127$.;"
		"b.i = $?d(b.i & 0xfffffffffffff) | 0x3ff0000000000000$."
		"$!d(b.i & 0x7fffff) | 0x3f800000$.; if (b.x > $3) b.x *= 0.5~, n++;"
		"const $R t = (b.x - 1) / (b.x + 1), y = t * t;"
		"return ($R)n * $0 + (($R)n * $1 + 2 * t * ($&1));}",
		"turn($R x, int n) {if (!(x > -1e6~ && x < 1e6~)) return x - x; const int k = (int)(x * $6 "
		"+ (x < 0 ? -0.5~ : 0.5~));"
		"const $R t = x - ($R)k * $4 - ($R)k * $5, y = t * t;"
		"const $R s = (n + k) & 1 ? $&2 : t * ($&3); return (n + k) & 2 ? -s : s;}"
		"static inline $R $N_sin($R x) {return $N_turn(x, 0);}",
		"cos($R x) {return $N_turn(x, 1);}",
		"log1p($R x) {const $R u = 1 + x; return u > 1 ? $[log](u) * (x / (u - 1)) : x;}",
		"expm1($R x) {const $R u = $[exp](x);"
		"return x > 1 ? u - 1 : u > 1 ? (u - 1) * (x / $[log](u)) : x;}",
		/* erf's series of one sign, or a continued fraction */
		"erfc($R x) {const $R a = x < 0 ? -x : x, e = $7 * $[exp](-a * a); $R s = 0;"
		"if (a > 2.5~) {for (int i = 60; i > 0; i--) s = 0.5~ * ($R)i / (a + s);"
		"s = e / (a + s); return x < 0 ? 2 - s : s;}"
		"for (int i = 60; i > 0; i--) s = 2 * a * a / (2 * ($R)i + 1) * (1 + s);"
		"s = 2 * a * e * (1 + s); return x < 0 ? 1 + s : 1 - s;}"};

static void gp__export_own_libm(gp__export *e)
{
	/* ln 2 and pi / 2 in two parts, a few times the first of which is exact; 1 / ln 2, sqrt 2;
	   2 / pi, 1 / sqrt pi */
	const double numbers[] = {e->wide ? 6.93147180369123816490e-01 : 0.693359375,
			e->wide ? 1.90821492927058770002e-10 : -2.12194440054690583e-4, 1.44269504088896340736,
			1.41421356237309504880, e->wide ? 1.57079632673412561417 : 1.5703125,
			e->wide ? 6.07710050650619224932e-11 : 4.83826794896619231322e-4,
			0.63661977236758134308, 0.56418958354775628695};
	memcpy(e->number, numbers, sizeof numbers);
	GP__FOR(i, GP__COUNT(gp__export_own)) {
		gp__emit(e, "static inline $R $N_");
		gp__emit(e, gp__export_own[i]);
	}
}

/* --- odvgp_export --- */

/*	What a call needs beside gp__export: rows of inputs, means and variances; the functions' largest
	variances of the prior there; scratch. */
typedef struct {
	odvgp_real *rows, *prior; /* [ROWS, D + 2 F]; [F] */
	void *scratch;
	size_t bytes;
} gp__export_work;

/*	Reference row i lies between two inducing points. */
static void gp__export_row(gp__export *e, ptrdiff_t i, odvgp_real *x)
{
	const gp__view *v = &e->t->v;
	ptrdiff_t M = e->p->M, j = i * M / GP__EXPORT_ROWS;
	GP__FOR(d, e->p->D) x[d] = v->x_mean[d] + v->x_scale[d] * v->beta_centre[d];
	gp__predict_points(e->t, v->beta, M, v->beta_centre);
	GP__EACH_INPUT(e, g, c) {
		gp__export_column column = gp__export_column_of(e, g, c);
		x[column.column] = (odvgp_real)(column.shift + 0.7 * gp__export_place(e, g, c, j) +
										0.3 * gp__export_place(e, g, c, (j + 1) % M));
	}
	GP__FOR(d, e->p->D) x[d] = (odvgp_real)gp__export_round(e, (double)x[d]);
}

/*	Raises the functions' largest variances of the prior to those at x. */
static void gp__export_prior(gp__export *e, const odvgp_real *x, odvgp_real *prior)
{
	const gp__predictor *p = e->p;
	gp__predict_inputs(e->t, x, 1);
	GP__FOR(f, p->F) {
		odvgp_real sum = 0;
		GP__FOR(q, p->P) {
			odvgp_real w = p->mixed ? e->t->v.mixing[f * p->P + q] : (odvgp_real)(q == f);
			gp__predict_unit(e->t, p->units > 1 ? q : 0);
			w *= gp__predict_scale(e->t, f);
			sum += w * w * gp__predict_prior(e->t, 0);
		}
		prior[f] = GP__MAX(prior[f], sum);
	}
	gp__predict_unit(e->t, 0);
}

/*	Fills w, of rows in the order of its table. */
static odvgp_status gp__export_predict_rows(
		gp__export *e, const odvgp_server *s, const gp__export_work *w, odvgp_info *info)
{
	ptrdiff_t D = s->D, F = s->F;
	gp__zero(w->prior, F);
	GP__FOR(i, GP__EXPORT_ROWS) {
		odvgp_real *x = w->rows + i * (D + 2 * F);
		gp__export_row(e, i, x);
		gp__export_prior(e, x, w->prior);
		odvgp_status status = odvgp_predict(s, x, 1, x + D, x + D + F, w->scratch, w->bytes, info);
		if (status) return status;
	}
	return ODVGP_OK;
}

static void gp__export_rows(gp__export *e, const gp__export_work *w)
{
	ptrdiff_t F = e->p->F;
	gp__emit_begin(e, "rows");
	GP__FOR(f, F) gp__emit_number(e, 1 / sqrt((double)w->prior[f]));
	GP__FOR(f, F) gp__emit_number(e, 1 / (double)w->prior[f]);
	GP__FOR(i, GP__EXPORT_ROWS * (e->p->D + 2 * F)) gp__emit_number(e, (double)w->rows[i]);
	gp__emit_end(e);
}

static void gp__export_head(gp__export *e)
{
	char kernel[400];
	gp__text text = {kernel, sizeof kernel, 0};
	gp__put_kernel(&text, e->k, e->t->v.hyp, e->k->nnode - 1, 0);
	gp__emit(e, "/* A sparse Gaussian process, written by odvgp.h: $D inputs, $F functions, $Z "
				"inducing points.\n   $N_predict(x, mean, var) for x [$D], mean and var [$F], in "
				"units of the data. Kernel of standardised inputs:\n   ");
	gp__emit_text(e, kernel);
	gp__emit_text(e, "\n");
	if (e->o->about) gp__emit_text(e, e->o->about);
	gp__emit(e, " */\n#ifndef $N_INCLUDED\n#define $N_INCLUDED\n");
	if (!e->o->no_libm) gp__emit_text(e, "#include <math.h>\n");
	if (e->o->constants) gp__emit_text(e, e->o->constants);
	gp__emit_text(e, "\n");
	e->fresh = 1;
}

static void gp__export_all(gp__export *e, const gp__export_work *w)
{
	e->fresh = 1;
	gp__export_head(e);
	if (e->o->no_libm) gp__export_own_libm(e);
	gp__export_tables(e);
	gp__emit(e, gp__export_solve);
	for (e->gradient = 0; e->gradient < 2; e->gradient++) {
		gp__export_loop(e, e->gradient);
		if (e->gradient) gp__export_loop(e, 2);
		if (e->gradient) gp__emit(e, gp__export_unsolve);
		gp__export_kernel(e, 0);
		gp__export_kernel(e, 1);
		gp__emit(e, gp__export_predict);
		if (e->p->mixed) gp__emit(e, gp__export_mix);
	}
	e->gradient = 0;
	gp__export_y(e);
	size_t flash = e->costs.flash; /* the self-test is for the host */
	gp__export_rows(e, w);
	e->costs.flash = flash;
	gp__emit(e, gp__export_test);
	gp__emit_text(e, "#endif\n");
	gp__emit_flush(e);
}

/*	Fitted to what gcc -Os makes for a Cortex-M4F (counted by qemu, without libm). */
static void gp__export_estimate(gp__export *e)
{
	const gp__predictor *p = e->p;
	double M = p->M, P = p->P, Z = M + p->M_gamma, C = (double)e->columns, rows = 0.5 * M * (M + 1),
		   roots = (double)gp__export_is(e, 'B'), point = 20 + 6 * P / p->units;
	odvgp_export_costs *c = &e->costs;
	GP__EACH_GROUP(g, e->k) {
		double dims = (double)gp__group_dims(e->k, g);
		point += dims > 4 ? 6.5 * dims + 4 : 3 * dims;
	}
	GP__EACH_BASE(l, e->k) {
		int type = (int)e->k->base[l].type, radial = gp__base_kernel_kinds[type].radial;
		point += radial == GP__RBF ? 27 : radial != GP__NOT_RADIAL ? 55 : type == GP__RQ ? 75 : 5;
	}
	c->mean = p->units * (40 + 9 * C + Z * point);
	c->moments = c->mean + (p->factor == GP__FACTOR_OF_S ? p->units : P) * (5.4 * rows + 13.5 * M) +
				 P * (5.4 * roots + 13.5 * M);
	c->gradient = c->moments + P * (Z * (8 + 13.3 * C) + M * (33 + 13.3 * C) + 7 * (rows + roots));
	c->stack = (size_t)((C + (p->factor == GP__FACTOR_OF_S ? 1 : 2) * M) * (e->wide ? 8 : 4)) +
			   48 * (size_t)P;
	c->flash += 400 + 150 * p->base_kernels;
}

static odvgp_status gp__export_check(
		const odvgp_server *s, const odvgp_export_settings *o, odvgp_info *info)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	const gp__predictor *p = gp__served(s);
	if (!p) return gp__not_served(info);
	if (p->layers > 1 || p->patches.height)
		return gp__unsupported(info, "server", "layers and images are not exported");
	if (p->factor == GP__FACTOR_OF_PRECISION)
		return gp__unsupported(info, "server", "a posterior that learns online is not exported");
	if (p->likelihood == ODVGP_LIKELIHOOD_SOFTMAX && p->F > GP__TENSOR_CLASSES)
		return gp__unsupported(info, "server", "SOFTMAX is exported for at most four classes");
	if (!o || !o->name) return gp__is_null(info, o ? "settings.name" : "settings");
	size_t n = strspn(o->name, letters);
	if (!n || n > 40 || o->name[n] || (*o->name >= '0' && *o->name <= '9'))
		return gp__refuse(
				info, ODVGP_E_ARG, "settings.name", "must be a name in C of at most 40 characters");
	if (o->real != 0 && o->real != 4 && o->real != 8)
		return gp__refuse(info, ODVGP_E_ARG, "settings.real", "must be 4 or 8 bytes, or 0");
	if (o->about && strstr(o->about, "*/"))
		return gp__refuse(info, ODVGP_E_ARG, "settings.about", "must not end a comment");
	return ODVGP_OK;
}

static size_t gp__export_layout(
		gp__arena *a, const odvgp_server *s, gp__export **e, gp__export_work *w)
{
	*e = GP__TAKE(a, gp__export, 1);
	w->rows = gp__take(a, GP__EXPORT_ROWS, s->D + 2 * s->F);
	w->prior = gp__take(a, 1, s->F);
	w->bytes = gp__predict_size(s, 1, 0);
	w->scratch = GP__TAKE(a, char, w->bytes);
	return w->bytes && !a->bad ? a->used + w->bytes + 128 : 0;
}

ODVGP_API size_t odvgp_export_scratch(const odvgp_server *s, odvgp_info *info)
{
	const odvgp_export_settings any = {"f", 0, 0, NULL, NULL, NULL, NULL};
	gp__arena a = gp__measuring();
	gp__export *e;
	gp__export_work w;
	if (gp__export_check(s, &any, info)) return 0;
	size_t bytes = gp__export_layout(&a, s, &e, &w);
	return bytes ? bytes : gp__too_large(info, "server");
}

ODVGP_API odvgp_status odvgp_export(const odvgp_server *s, const odvgp_export_settings *o,
		odvgp_export_costs *costs, void *scratch, size_t scratch_bytes, odvgp_info *info)
{
	odvgp_status status = gp__export_check(s, o, info);
	gp__arena a, rest;
	gp__export *e;
	gp__export_work w;
	if (status) return status;
	if (!scratch) return gp__is_null(info, "scratch");
	if (scratch_bytes < odvgp_export_scratch(s, info)) return gp__scratch_small(info);
	a = gp__scratch_arena(scratch, scratch_bytes);
	gp__export_layout(&a, s, &e, &w);
	if (a.bad || !e) return gp__scratch_small(info);
	gp__arena_init(&rest, a.base + a.used, a.size - a.used);
	memset(e, 0, sizeof *e);
	e->t = gp__predict_begin(s, 1, 0, rest);
	if (!e->t) return gp__scratch_small(info);
	e->p = e->t->p;
	e->k = e->t->kernel;
	e->o = o;
	e->wide = (o->real ? o->real : (int)sizeof(odvgp_real)) == 8;
	e->columns = GP__MAX(1, gp__points_columns(e->k));
	if ((status = gp__export_predict_rows(e, s, &w, info))) return status;
	gp__export_all(e, &w);
	if (e->failed) return gp__refuse(info, ODVGP_E_STOPPED, "write", "it asked to stop");
	if (e->infinite)
		return gp__refuse(info, ODVGP_E_NAN, "settings.real", "cannot hold a number of the model");
	gp__export_estimate(e);
	if (costs) *costs = e->costs;
	return ODVGP_OK;
}

#endif /* ODVGP_FLOAT_ONLY */

/* ---- >>model   types of training: slots, nodes, units, state

	A model is units on one tape and one parameter vector: one for each layer, or P of one function
	for a last layer of independent functions. A hidden unit's samples are the next one's inputs. */

/*	Longest slot name. */
#define GP__SLOT_NAME  ((int)sizeof "layer0.unit999.kernel.31.lengthscale")
#define GP__MOST_UNITS 1000 /* of a layer */

typedef struct gp__unit gp__unit;

/*	The internal part of a slot. */
typedef struct {
	char name[GP__SLOT_NAME];
	/* bounds of values (HUGE_VAL: none); lower bound if the caller sets none */
	odvgp_real low, high, floor;
	int unit;   /* its number; -1: the likelihood's */
	int power;  /* of the outputs' unit: -1, 0 or 1 */
	int column; /* GP__PER_INPUT, GP__IN_INPUTS or 0 */
	odvgp_real prior_a, prior_b;
	int prior;      /* odvgp_prior */
	int of_q;       /* no prior */
	uint64_t stamp; /* tape's clock at the last change */
} gp__slot_state;

/*	Memory lent to one borrower at a time. */
typedef struct {
	odvgp_real *at;
	int to; /* the borrower, or GP__NOBODY */
} gp__loan;

/* --- slots and the parameter vector --- */

/*	Slots are numbered from 1; 0 is none. Measuring a model only counts them: slot and state are
	NULL. */
typedef struct {
	/* theta [count]; value [positive]; grad [count], with respect to values */
	odvgp_real *theta, *value, *grad;
	ptrdiff_t count, positive;
	/* numbers up to the last that Adam moves; natural steps' are mostly behind. 0: L-BFGS */
	ptrdiff_t adam;
	odvgp_positive_transform kind;
	int slots, positive_slots;
	int bad;            /* a name did not fit */
	const gp__unit *of; /* whose slots are added; NULL: the likelihood's */
	gp__loan lent;      /* grad's memory between evaluations: GP__LENT_... */
	/* [slots + 1] */
	odvgp_slot *slot;
	gp__slot_state *state;
} gp__params;

/* --- nodes and the tape --- */

#define GP__MAX_IN 6

enum { GP__HEAD, GP__TILE, GP__TAIL };
/*	Varying sizes: the tile's rows times unit->times; gamma's sampled columns; rows times inputs. */
enum { GP__TILE_SIZE = -1, GP__SAMPLE_SIZE = -2, GP__INPUT_SIZE = -3 };

/*	Variants of operations, as >>ops explains them. LOWER: only the lower triangle of a symmetric
	matrix; BARE: no jitter until a factorisation fails; L of a PRODUCT: lower triangular. COLLAPSE
	has bits. */
enum { GP__KERNEL_WHOLE, GP__KERNEL_LOWER };
enum { GP__CHOL_JITTERED, GP__CHOL_BARE };
enum { GP__SOLVE_LEFT, GP__SOLVE_RIGHT, GP__SOLVE_RIGHT_PLAIN };
enum { GP__PRODUCT_AB, GP__PRODUCT_AL, GP__PRODUCT_ABT, GP__PRODUCT_ATBT };
enum { GP__MINUS_WHOLE, GP__MINUS_LOWER };
enum { GP__B_TRIANGLES, GP__B_DIAGONAL };
enum { GP__RESIDUAL_CLAMPED, GP__RESIDUAL_FLOORED };
enum { GP__MIX_PLAIN, GP__MIX_SQUARES };
enum { GP__DOT_WHOLE, GP__DOT_SAMPLED };
enum { GP__COLLAPSE_BOTH, GP__COLLAPSE_MEAN_BETA, GP__COLLAPSE_COV_BETA, GP__COLLAPSE_BETA };

/*	Purposes of an evaluation, which runs only nodes that serve them. */
enum {
	GP__GIVES_BOUND = 1,
	GP__GIVES_STATS = 2,
	GP__GIVES_COLLAPSED = 4,
	GP__GIVES_L = 8,
	GP__GIVES_PREDICTOR = 16
};
/*	Terms of a bound, where adjoints begin. */
#define GP__GIVES_VALUE (GP__GIVES_BOUND | GP__GIVES_COLLAPSED)

/*	To add an operation: a name here, its row in >>ops, and who builds it in >>graph or >>parts. */
typedef enum {
	GP__PARAM,
	GP__INPUT,
	GP__KERNEL,
	GP__KERNEL_DIAG,
	GP__KERNEL_VEC,
	GP__JITTERED,
	GP__CHOL,
	GP__SOLVE,
	GP__PRODUCT,
	GP__MINUS_PRODUCT,
	GP__INNER,
	GP__SUM,
	GP__TRANSPOSE,
	GP__SAMPLE,
	GP__PATCHES,
	GP__RESIDUAL,
	GP__TRI_SQUARES,
	GP__INVERSE_VAR,
	GP__DIVIDE,
	GP__GATHER_ROWS,
	GP__GATHER_COLS,
	GP__DOT,
	GP__KL_COV,
	GP__KL_INVERSE,
	GP__EXPECT,
	GP__MOMENTS,
	GP__COLLAPSED,
	GP__EVIDENCE,
	GP__NAT_STATS,
	GP__MIX,
	GP__STACK,
	GP__OPS
} gp__op;

/*	Jitter of one matrix, kept between evaluations. */
enum { GP__JITTER_BETA, GP__JITTER_GAMMA, GP__JITTERS };
typedef struct {
	odvgp_real raised; /* added to the config's, absolute; a constant for the gradient */
	odvgp_real base;   /* the config's, at the last factorisation */
	int clean;         /* training steps since `raised` changed */
} gp__jitter;

/*	A node while the tape is built. id 0: none. The shape is the largest. */
typedef struct {
	int id;
	ptrdiff_t rows, cols;
} gp__ref;
static const gp__ref gp__none = {0, 0, 0};

typedef struct gp__node gp__node;
typedef struct gp__tape gp__tape;
struct gp__node {
	gp__op op;
	int variant;
	int segment, needs_grad;
	int purpose;     /* GP__GIVES_...: evaluations that request it */
	int active;      /* requested now, by the evaluation or a reader */
	int seeded;      /* it is a term of the bound, or a term depends on it */
	int slot, slots; /* PARAM: the first, and how many; else slots = 0 */
	/* NULL: none; base: in whose memory it works; next: overwrites its value */
	gp__node *in[GP__MAX_IN], *base, *next;
	int kept;                 /* aux holds all that the adjoint needs */
	int rows_vary, cols_vary; /* GP__TILE_SIZE, ..., or 0 */
	odvgp_real coef;          /* of DOT, and of SUM's inputs after the first */
	ptrdiff_t rows, cols, ld;
	odvgp_real *v, *d, *aux;
	gp__jitter *jitter; /* CHOL, JITTERED; else NULL */
	gp__unit *of;
	gp__tape *tape;
	const odvgp_blas *blas; /* the tape's */
	uint64_t stamp;
};

/* --- units --- */

/*	A Gaussian block of q: on beta, or SOLVE-GP's on the residual of gamma. */
typedef struct {
	int number;           /* among the model's; the same in all units of a layer */
	ptrdiff_t M, natural; /* points; M if natural steps move it, else 0 */
	int slot_mu, slot_sqrt;
	gp__ref L, mu, sqrt;          /* what whitens it; what the slots hold */
	gp__ref white_mu, white_sqrt; /* whitened */
	gp__ref A, stats;             /* features of the tile; natural step's statistics */
	odvgp_real *P, *j;            /* natural parameters: [P,M,M] lower, and [P,M] */
} gp__block;
enum { GP__ON_BETA, GP__ON_GAMMA, GP__BLOCKS };

/*	P latent functions that share kernel, inducing inputs and so the head. */
struct gp__unit {
	gp__kernel kernel; /* first: gp__unit_config clears what follows */
	odvgp_model *model;
	int number, layer; /* among the model's units: all layers before the last have one */
	ptrdiff_t sd_at;   /* its first in model->data_sd */
	/* inputs for each row of the data: 1, or the samples of the layer below; rows for each */
	ptrdiff_t inputs, times;
	gp__patches patches;
	/* D: columns of an input; Dx: of a row; Dz: of an inducing input, which the kernel sees */
	ptrdiff_t D, Dx, Dz, P, M, M_gamma;
	const struct gp__mean_part *mean_part;
	const struct gp__cov_part *cov_part;
	int steps; /* GP__STEPS_... */
	odvgp_parametrisation param;
	odvgp_gamma_coords gamma_coords;
	odvgp_mean_function mean_function;
	/* 0: none */
	int slot_kernel, kernel_slots, slot_Z_beta, slot_Z_gamma, slot_a, slot_q_diag, slot_mean_A,
			slot_mean_b, slot_patch_weights;
	gp__block block[GP__BLOCKS];
	/* jitter_kept restores it if an attempt fails */
	gp__jitter jitter[GP__JITTERS], jitter_kept[GP__JITTERS];
	odvgp_real lbfgs_jitter[GP__JITTERS]; /* `raised` where L-BFGS knows the bound */
	odvgp_real prior_sd;                  /* sqrt k(x,x) at Adam's last step */
	odvgp_real *scales;                   /* [M_gamma] D */
	ptrdiff_t *columns, ncolumns;         /* [M_gamma] columns, the ncolumns sampled ones first */
	uint64_t columns_stamp;
	/* head nodes */
	gp__ref hyp, Z_beta, Z_gamma, a_slot, a, K, Kb, L, W, C, L_v, L_H, q_diag, weights,
			gamma_residual, patch_weights;
	gp__ref shift; /* q(u)'s mean is q_mu plus this; none: q_mu */
	/* tile nodes; X, or the images of its patches, comes from the data, or from eps and the unit
	   below; mean and var [P,n] are the unit's output */
	gp__ref eps, X, K_x, A, A_v, k_x, mean, var;
	const odvgp_real *normals; /* a test's, [S,normal_rows,D], or NULL */
	ptrdiff_t normal_rows;
};

/*	Begins the sums over tiles; gp__sums_layout says what follows. */
typedef struct {
	gp__wide expected;     /* of the EXPECT node */
	gp__wide weight, logs; /* sum of the rows' weights w; of w log e, e a multiple of the noise */
	uint64_t clamped;
	odvgp_status status; /* the first failure; its row, as in odvgp_info */
	ptrdiff_t row;
} gp__sums;

struct gp__tape {
	/* [nodes + 1], node[0] is none. NULL while a model is measured: *counted takes their place */
	gp__node *node, *counted;
	int nodes;
	gp__arena *arena;     /* while the tape is built */
	size_t deferred;      /* bytes that gp__sums_layout places at the end */
	size_t scratch_bytes; /* largest scratch of an operation */
	odvgp_blas blas;
	const gp__y_row *y; /* the model's */
	ptrdiff_t lik_nodes;
	odvgp_real *rule;  /* gp__lik_job's */
	gp__arena scratch; /* each operation uses it from the start */
	odvgp_real jitter_absolute, jitter_relative, jitter_limit; /* from the config */
	odvgp_events events;
	odvgp_status failed;         /* of the operation that runs forward */
	odvgp_info *info, *own_info; /* the caller's, or NULL; its substitute, for rows */
	ptrdiff_t tile, rows;        /* most rows of a tile; of the current one */
	int tasks;                   /* most that run at once */
	size_t keep;                 /* bytes that a node may keep for its adjoint */
	uint64_t clock;
	gp__sums *sums;
	/* numbers after sums: forward runs add to the first forward_sums, reverse runs to the rest */
	odvgp_real *sum;
	ptrdiff_t forward_sums, all_sums;
	odvgp_real *tree; /* shards' sums, one per level of a binary tree */
	int purpose;
	int again;      /* second visit of the tiles, for the gradient: moments stay */
	int data_error; /* the last evaluation failed on its rows, not on the parameters */
};

/* --- a model's state --- */

#define GP__MODEL_MAGIC 0x4d56444fu /* "ODVM" */
/*	Numbers that training changes besides the arrays; all are in files. */
typedef struct {
	/* scales_age: Adam's steps since D was recomputed */
	uint64_t steps, adam_steps, clean_steps, scales_age;
	/* nat_valid: a bit per block, (P, j) fit q; good_valid: a last good theta exists */
	uint64_t nat_valid, good_valid, nat_steps;
	uint64_t fitted;   /* q is odvgp_fit_q's for the current parameters */
	gp__wide good_elbo;  /* the last good parameters' bound, on their rows */
	gp__wide step_scale; /* factor of all step sizes; below 1 after an undone step */
	/* L-BFGS knows the bound at the current parameters, on data with this hash */
	uint64_t lbfgs_valid, lbfgs_data;
	gp__wide lbfgs_expected, lbfgs_kl; /* its two terms, for each unit's lbfgs_jitter */
} gp__state;

/*	L-BFGS, independent of models. */
typedef struct {
	ptrdiff_t n, memory;  /* numbers in x; most pairs */
	uint64_t pairs, next; /* kept; index of the next */
	odvgp_real *S, *Y;    /* [memory,n] differences of x and of gradients, a ring */
	gp__wide *sy;         /* [memory] s.y > 0 of the pairs */
	odvgp_real *x, *g;    /* [n] the iteration's start, then end; its gradient */
	gp__wide loss;        /* the value at x */
	/* [n] direction; a point on the line; its gradient */
	odvgp_real *d, *trial, *g_trial;
	gp__wide *alpha; /* [memory] work */
	gp__wide length; /* of the last step, in multiples of d; 0: none */
	ptrdiff_t evaluations;
	unsigned converged : 1, stuck : 1, stopped : 1;
} gp__lbfgs;

struct odvgp_model {
	uint32_t magic;
	int units;
	odvgp_config cfg;
	gp__unit *unit; /* [units]; of a draft: one, made for each in turn */
	/* of a draft, else NULL: sets u's kernel */
	void (*make)(gp__unit *u, const void *source);
	const void *source;
	gp__params par;
	gp__tape tape;
	gp__state state;
	/* functions of the likelihood, targets, classes (0 without CLASSES); classes, or the
	   Gaussian's noises */
	ptrdiff_t F, T, classes, extent;
	gp__y_row y;
	/* positive, then free parameters: first slot (0: none), slots */
	int slot_lik_params, lik_slots, slot_lik_free_params, lik_free_slots;
	int slot_mixing; /* 0: functions are the last unit's */
	int warm_due;    /* warm starts with which odvgp_fit begins */
	/* moments, objective: for bounds without q. root: sqrt(e / w) of rows of weight w and noise
	   e s; none: all 1 */
	gp__ref X, Y, root, lik_params, lik_free_params, expect, moments, objective;
	odvgp_real *m1, *m2, *good; /* Adam's moments [par.adam]; the last good theta */
	/* of gp__begin_half: theta, m1, m2 [3 par.adam]; jitter [units GP__JITTERS] */
	odvgp_real *begun;
	gp__jitter *jitter_begun;
	gp__lbfgs lbfgs; /* n is 0 with another optimiser */
	/* GP__NAT_...: matrices and vectors, lent together, for natural steps of the largest unit */
	gp__loan nat_R;
	odvgp_real *nat_t;
	/* each unit's standard deviations of its inputs' columns [D], of its outputs [1], and of its
	   patches' columns [Dz]; 1 before odvgp_init_data */
	odvgp_real *data_sd;
	ptrdiff_t data_sds;
	gp__loan kept; /* GP__KEPT_...: copies of par.value and data_sd during a change that may fail */
	odvgp_allocator allocator;
	void *allocation;
};

/* --- the watch; loops over a model's parts --- */

/*	Begin a call with a watch, or within one; returns m->tape.blas.watcher's value after it. */
static gp__watcher *gp__watch_begin(odvgp_model *m, gp__watcher *own, const odvgp_watch *watch)
{
	gp__watcher *outer = m->tape.blas.watcher;
	if (!GP__DESK || outer || !watch || !watch->call) return outer;
	memset(own, 0, sizeof *own);
	own->watch = *watch;
	m->tape.blas.watcher = own;
	return NULL;
}

static odvgp_status gp__stop_status(const odvgp_model *m, odvgp_info *info)
{
	if (!gp__stopped(&m->tape.blas)) return ODVGP_OK;
	return gp__refuse(info, ODVGP_E_STOPPED, "watch", NULL);
}

/*	Ask the watch, at this point of a phase. */
static odvgp_status gp__watch_at(const odvgp_model *m, odvgp_phase phase, ptrdiff_t done,
		ptrdiff_t total, const odvgp_report *report, odvgp_info *info)
{
	gp__watcher *w = m->tape.blas.watcher;
	if (!GP__DESK || !w) return ODVGP_OK;
	w->at.phase = phase;
	w->at.done = done;
	w->at.total = total;
	w->at.report = report;
	gp__ask(&m->tape.blas, GP__WATCH_WORK);
	w->at.report = NULL;
	return gp__stop_status(m, info);
}

/*	1: from here on a step goes on to its end. */
static void gp__hold(odvgp_model *m, int held)
{
	if (m->tape.blas.watcher) m->tape.blas.watcher->held = held;
}

#define GP__EACH_NODE(nd, t) for (gp__node *nd = (t)->node + 1; nd <= (t)->node + (t)->nodes; nd++)

/*	Coordinates of q. */
#define GP__COORDS(u)           (GP__DESK ? (u)->param : ODVGP_PARAMETRISATION_WHITENED)
#define GP__EACH_UNIT(u, m)     for (gp__unit *u = (m)->unit; u < (m)->unit + (m)->units; u++)
#define GP__EACH_SLOT(s, m)     for (int s = 1; s <= (m)->par.slots; s++)
#define GP__EACH_VALUE(i, slot) GP__FROM(i, (slot)->offset, (slot)->offset + (slot)->count)

/*	Whether a unit is in the last layer; whether it is the last of all. */
static int gp__is_last(const gp__unit *u)
{
	return ODVGP_MAX_LAYERS == 1 || u->layer + 1 == (int)u->model->cfg.layers;
}
static int gp__is_top(const gp__unit *u) { return u->number + 1 == u->model->units; }

static gp__node *gp__node_of(const gp__unit *u, gp__ref ref)
{
	gp__tape *t = &u->model->tape;
	return t->node ? &t->node[ref.id] : t->counted;
}
static odvgp_real *gp__value(const gp__unit *u, gp__ref ref) { return gp__node_of(u, ref)->v; }

/*	The likelihood sees mixtures of the unit's functions. */
static int gp__is_mixed(const gp__unit *u)
{
	return GP__DESK && gp__is_last(u) && u->model->cfg.functions > 0;
}

/*	Outputs of each unit of a layer; units of a config of checked layers, whose P is limited. */
static ptrdiff_t gp__unit_outputs(const odvgp_config *c, int l)
{
	return c->independent && l + 1 == c->layers ? 1 : c->layer[l].P;
}
static ptrdiff_t gp__units_of(const odvgp_config *c)
{
	ptrdiff_t P = GP__MIN(c->layer[c->layers - 1].P, GP__MOST_UNITS + 1);
	return c->layers - 1 + (c->independent ? GP__MAX(P, 1) : 1);
}

/* --- properties of mean parts and covariance parts --- */

/*	q_mu: a mean in the config's coordinates, or coefficients of k(x, Z_beta). */
enum { GP__MU_MEAN, GP__MU_COEFFICIENTS };
/*	gamma's features in the mean: none, A_v, K(Zg,X) - W^T A, or K(Za,X). */
enum { GP__NO_GAMMA, GP__WHITE_GAMMA, GP__RESIDUAL_GAMMA, GP__FREE_GAMMA };

/*	Objectives without q that a part has. */
enum {
	GP__HAS_COLLAPSED = 1 << ODVGP_OBJECTIVE_COLLAPSED,
	GP__HAS_PARTLY = 1 << ODVGP_OBJECTIVE_PARTLY,
	GP__HAS_TIGHT = 1 << ODVGP_OBJECTIVE_TIGHT,
	GP__HAS_EXACT = 1 << ODVGP_OBJECTIVE_EXACT
};

/*	Natural steps of q: a member has those that both parts name. */
enum {
	/* q(u) is Gaussian with mean q_mu plus the unit's shift, Cholesky factor q_sqrt */
	GP__STEPS_BETA = 1,
	GP__STEPS_GAMMA = 2,    /* q(v) is Gaussian: v_mu, v_sqrt */
	GP__STEPS_DIAGONAL = 4, /* q of O(M): q_mu, q_diag */
	GP__STEPS_OF_MU = GP__STEPS_BETA | GP__STEPS_DIAGONAL,
	/* these, and Adam's of the kernel, can do harm at any size: a step on all rows checks the
	   bound */
	GP__STEPS_WATCHED = 8
};

/*	What odvgp_fit_q can optimise: a mean's weights on its features; a covariance. */
enum { GP__NO_OPTIMUM, GP__OPTIMUM_WEIGHTS };
enum { GP__OPTIMUM_ROOTS = 1, GP__OPTIMUM_INVERSE, GP__OPTIMUM_DIAGONAL };

/*	Adam's scale D of a gamma coefficient: k, diag(C), which is the KL's curvature in ORTH's a, or
	k sqrt(Mg) where a step of all coefficients moves the whole mean. */
enum { GP__SCALE_PRIOR, GP__SCALE_RESIDUAL, GP__SCALE_SUM };

typedef void gp__part_head(gp__unit *u);
typedef gp__ref gp__part_tile(gp__unit *u);
typedef void gp__part_freeze(const gp__unit *u, const gp__view *v);

/*	A mean part; head and tile add its nodes (>>parts). */
typedef struct gp__mean_part {
	const char *name;
	odvgp_mean_part without_gamma; /* the part if M_gamma = 0 */
	int mu, gamma;                 /* GP__MU_..., GP__..._GAMMA */
	/* slots of gamma's points, coefficients, v's mean; NULL: none */
	const char *Z_gamma, *a, *v_mu;
	int has_a_beta; /* q may be trained with ODVGP_PARAMETRISATION_A_BETA */
	/* GP__STEPS_..., GP__SCALE_... of gamma, GP__OPTIMUM_WEIGHTS or none, GP__HAS_... */
	int steps, scale, optimum, objectives;
	gp__part_head *head;
	gp__part_tile *tile;
} gp__mean_part;

typedef struct gp__cov_part {
	const char *name;
	odvgp_cov_part without_gamma;
	int factor;                         /* GP__FACTOR_OF_S, ... */
	const char *q_sqrt, *v_sqrt, *diag; /* slots; NULL: none */
	const char *Z_gamma;                /* slot of v_sqrt's points if the mean part has none */
	int sqrt_power;        /* exponent of the targets' unit in the factor; 0: its coordinates' */
	odvgp_real sqrt_start; /* the factor's initial diagonal; 1: the prior */
	/* GP__STEPS_..., GP__OPTIMUM_..., GP__HAS_... */
	int steps, optimum, objectives;
	gp__part_head *head;
	gp__part_tile *tile;
	gp__part_freeze *freeze;
} gp__cov_part;

/* ---- >>params   the parameter vector

	theta holds every trainable number. Positive numbers come first, unbounded as odvgp_set_bounds
	defines, with their values beside theta. Other numbers are their own values. */

/*	1 / (1 + e^|t|): the distance to the nearer bound over high - low, to all digits. */
static gp__wide gp__tail(gp__wide t)
{
	gp__wide e = gp__exp(-gp__fabs(t));
	return e / (1 + e);
}

/*	The lower bound in force. */
static odvgp_real gp__low(const gp__params *p, int s)
{
	const gp__slot_state *state = &p->state[s];
	return state->low > 0 || state->high < (odvgp_real)HUGE_VAL ? state->low : state->floor;
}

static odvgp_real gp__to_positive(const gp__params *p, int s, odvgp_real theta)
{
	gp__wide t = (gp__wide)theta, low = (gp__wide)gp__low(p, s), high = (gp__wide)p->state[s].high,
			 tail = gp__tail(t);
	if (high < GP__W(HUGE_VAL))
		return (odvgp_real)(t < 0 ? low + (high - low) * tail : high - (high - low) * tail);
	if (!GP__DESK || p->kind == ODVGP_POSITIVE_TRANSFORM_EXP) return (odvgp_real)(low + gp__exp(t));
	return (odvgp_real)(low + (t > 0 ? t + gp__log1p(gp__exp(-t)) : gp__log1p(gp__exp(t))));
}

/*	A value rounded onto a bound gets the theta where that rounding begins. */
static odvgp_real gp__from_positive(const gp__params *p, int s, odvgp_real value)
{
	gp__wide low = (gp__wide)gp__low(p, s), high = (gp__wide)p->state[s].high,
			 v = (gp__wide)value - low, eps = (gp__wide)GP__EPS;
	if (high < GP__W(HUGE_VAL)) {
		gp__wide size = eps * (high - low), down = GP__MAX(v, size),
				 up = GP__MAX(high - (gp__wide)value, size);
		return (odvgp_real)(gp__log(down) - gp__log(up));
	}
	if (low > 0) v = GP__MAX(v, eps * low);
	if (!GP__DESK || p->kind == ODVGP_POSITIVE_TRANSFORM_EXP) return (odvgp_real)gp__log(v);
	return (odvgp_real)(v + gp__log(-gp__expm1(-v)));
}

/*	d value / d theta. Without bounds from the value: v for e^t, 1 - e^-v for log(1 + e^t). With
	bounds from theta, because the distance to a bound has fewer digits. */
static odvgp_real gp__positive_derivative(
		const gp__params *p, int s, odvgp_real theta, odvgp_real value)
{
	gp__wide t = (gp__wide)theta, low = (gp__wide)gp__low(p, s), high = (gp__wide)p->state[s].high,
			 tail = gp__tail(t);
	if (high < GP__W(HUGE_VAL)) return (odvgp_real)((high - low) * tail * (1 - tail));
	if (!GP__DESK || p->kind == ODVGP_POSITIVE_TRANSFORM_EXP)
		return low > 0 ? (odvgp_real)gp__exp(t) : value;
	return (odvgp_real)(low > 0 ? t < 0 ? tail : 1 - tail : -gp__expm1(-(gp__wide)value));
}

/*	The value, moved inside the bounds (odvgp_set_bounds). */
static odvgp_real gp__inside(const gp__params *p, int s, odvgp_real value)
{
	odvgp_real low = gp__low(p, s), high = p->state[s].high,
			   margin = GP__R(1e-3) * (high < GP__W(HUGE_VAL) ? high - low : low);
	if (!(value > low)) return low > 0 || high < GP__W(HUGE_VAL) ? low + margin : value;
	return value < high ? value : high - margin;
}

/*	Units from the columns of X: [D,P], row d per unit of column d; [.,D], each row an input. */
enum { GP__PER_INPUT = 1, GP__IN_INPUTS };

/*	What a slot holds. */
enum { GP__POSITIVE = 1, GP__TRIANGLES = 2, GP__NATURAL = 4, GP__OF_Q = 8, GP__OF_LAYER = 16 };

static void gp__slot_units(gp__params *p, int s, int power, int column)
{
	if (!p->slot || !s) return;
	p->state[s].power = power;
	p->state[s].column = column;
}

/*	"layer0." */
static void gp__put_part(gp__text *t, const char *word, ptrdiff_t number)
{
	gp__put(t, word);
	gp__put_int(t, number);
	gp__put(t, ".");
}

/*	Append a slot [a,b,c]; returns its number. The layout has counted them first. */
static int gp__slot_add(
		gp__params *p, const char *name, int kind, int dims, ptrdiff_t a, ptrdiff_t b, ptrdiff_t c)
{
	int s = ++p->slots;
	const gp__unit *u = p->of;
	p->count += a * b * c;
	if (!(kind & GP__NATURAL)) p->adam = p->count;
	p->bad |= strlen(name) + sizeof "layer0.unit999" >= GP__SLOT_NAME;
	if (!p->slot) return s;
	odvgp_slot *slot = &p->slot[s];
	gp__slot_state *state = &p->state[s];
	gp__text t = {state->name, sizeof state->name, 0};
	memset(slot, 0, sizeof *slot);
	memset(state, 0, sizeof *state);
	if (u && u->model->cfg.layers > 1) gp__put_part(&t, "layer", u->layer);
	if (u && u->model->cfg.independent && gp__is_last(u) && !(kind & GP__OF_LAYER))
		gp__put_part(&t, "unit", u->number - u->layer);
	gp__put(&t, name);
	slot->name = state->name;
	slot->dims = dims;
	slot->shape[0] = a;
	slot->shape[1] = b;
	slot->shape[2] = c;
	slot->count = a * b * c;
	slot->offset = p->count - slot->count;
	slot->positive = (kind & GP__POSITIVE) != 0;
	slot->lower = (kind & GP__TRIANGLES) != 0;
	slot->natgrad = (kind & GP__NATURAL) != 0;
	slot->trainable = 1;
	state->unit = u ? u->number : -1;
	state->high = (odvgp_real)HUGE_VAL;
	state->of_q = (kind & GP__OF_Q) != 0;
	return s;
}

/*	Borrowers of the gradient's memory, model->kept and model->nat_R. */
enum { GP__NOBODY, GP__LENT_OPTIMUM, GP__LENT_ALPHA, GP__LENT_BACKUP };
enum { GP__KEPT_BY_START = 1, GP__KEPT_BY_LBFGS, GP__KEPT_BY_STEP };
enum { GP__NAT_FROM_Q = 1, GP__NAT_OUTPUT, GP__NAT_GAMMA, GP__NAT_DIAGONAL, GP__NAT_OPTIMUM };

/* --- loans of memory, values of slots --- */

static odvgp_real *gp__lent(const gp__loan *loan, int to)
{
	ODVGP_ASSERT(loan->to == to);
	(void)to; /* unused without assertions */
	return loan->at;
}
static odvgp_real *gp__lend(gp__loan *loan, int to)
{
	odvgp_real *at = gp__lent(loan, GP__NOBODY);
	loan->to = to;
	return at;
}
static void gp__end_loan(gp__loan *loan, int from)
{
	gp__lent(loan, from);
	loan->to = GP__NOBODY;
}

static odvgp_real *gp__slot_value(const gp__params *p, const odvgp_slot *slot)
{
	return (slot->positive ? p->value : p->theta) + slot->offset;
}

static int gp__slot_index(const gp__params *p, const char *name)
{
	for (int s = 1; name && s <= p->slots; s++)
		if (!strcmp(p->slot[s].name, name)) return s;
	return 0;
}

static int gp__slot_of(const gp__params *p, ptrdiff_t i)
{
	int s = 1;
	while (i >= p->slot[s].offset + p->slot[s].count) s++;
	return s;
}

/* --- priors and bounds --- */

/*	For x > 0: shifted to x >= 10, then Stirling's series. */
static gp__wide gp__log_gamma(gp__wide x)
{
	gp__wide shift = 0;
	GP__FOR(k, 10)
		if (x < 10) shift += gp__log(x++);
	static const gp__wide divisors[] = {1680, 1260, 360, 12};
	gp__wide r = 1 / (x * x), series = 1 / GP__W(1188) - r * 691 / 360360;
	GP__FOR(k, GP__COUNT(divisors)) series = 1 / divisors[k] - r * series;
	return (x - GP__W(0.5)) * gp__log(x) - x + GP__W(0.5 * gp__log_2pi) + series / x - shift;
}

/*	Log prior density of v in slot s, and its derivative. */
static gp__wide gp__log_prior(const gp__params *p, int s, gp__wide v, gp__wide *derivative)
{
	*derivative = 0;
	if (!(v > 0)) return -GP__W(HUGE_VAL);
	gp__wide a = (gp__wide)p->state[s].prior_a, b = (gp__wide)p->state[s].prior_b,
			 z = (gp__log(v) - a) / b;
	if (p->state[s].prior == ODVGP_PRIOR_LOGNORMAL) {
		*derivative = -(1 + z / b) / v;
		return -gp__log(v) - gp__log(b) - GP__W(0.5 * gp__log_2pi) - GP__W(0.5) * z * z;
	}
	*derivative = (a - 1) / v - b;
	return a * gp__log(b) - gp__log_gamma(a) + (a - 1) * gp__log(v) - b * v;
}

/*	Sum of all log priors; subtracts its gradient from the loss's, unless NULL. */
static gp__wide gp__add_priors(const gp__params *p, odvgp_real *grad)
{
	gp__wide sum = 0, derivative;
	for (int s = 1; s <= p->positive_slots; s++) {
		if (p->state[s].prior == ODVGP_PRIOR_NONE) continue;
		GP__EACH_VALUE(i, &p->slot[s]) {
			sum += gp__log_prior(p, s, (gp__wide)p->value[i], &derivative);
			if (grad) grad[i] -= (odvgp_real)derivative;
		}
	}
	return sum;
}

static int gp__bounds_ok(odvgp_real low, odvgp_real high)
{
	return low >= 0 && low < GP__W(HUGE_VAL) && high > low;
}

static int gp__prior_ok(int kind, odvgp_real a, odvgp_real b)
{
	if (kind == ODVGP_PRIOR_NONE) return 1;
	if (kind != ODVGP_PRIOR_LOGNORMAL && kind != ODVGP_PRIOR_GAMMA) return 0;
	return a - a == 0 && b > 0 && b < GP__W(HUGE_VAL) && (kind == ODVGP_PRIOR_LOGNORMAL || a > 0);
}

/* --- parameters: start, read, write --- */

static const odvgp_real *gp__hyp(const gp__unit *u)
{
	return u->model->par.value + u->model->par.slot[u->slot_kernel].offset;
}

/*	Current k(x,x); x NULL: as gp__kernel_diag. */
static odvgp_real gp__unit_diag(const gp__unit *u, const odvgp_real *x)
{
	odvgp_real value[GP__MAX_NODES];
	return gp__kernel_diag(&u->kernel, gp__hyp(u), x, value);
}

/*	k(x,x) at inputs of mean square 1, above 0 even if a product of variances underflows. */
static odvgp_real gp__prior_variance(const gp__unit *u)
{
	return GP__MAX(gp__unit_diag(u, NULL), GP__TINY);
}

/*	A job on K(X1,X2) [n,m] with the unit's kernel. */
static void gp__unit_job(gp__kjob *job, const gp__unit *u, const odvgp_real *X1, ptrdiff_t n,
		const odvgp_real *X2, ptrdiff_t m)
{
	gp__kernel_job(job, &u->model->tape.blas, &u->kernel, gp__hyp(u), X1, n, X2, m);
}

static void gp__touch(odvgp_model *m, int slot)
{
	m->par.state[slot].stamp = ++m->tape.clock;
	m->state.fitted = 0;
	m->state.lbfgs_valid = 0;
	int unit = m->par.state[slot].unit;
	for (int b = 0; b < GP__BLOCKS && unit >= 0; b++) {
		const gp__block *block = &m->unit[unit].block[b];
		if (slot == block->slot_mu || slot == block->slot_sqrt)
			m->state.nat_valid &= ~((uint64_t)1 << block->number);
	}
}

static void gp__touch_all(odvgp_model *m)
{
	GP__EACH_SLOT(i, m) gp__touch(m, i);
}

/*	Write theta and value together, and only if theta changes: the caller's value may differ from
	theta's in the last bits. */
static void gp__set_theta(odvgp_model *m, int s, ptrdiff_t i, odvgp_real theta)
{
	m->par.theta[i] = theta;
	if (m->par.slot[s].positive) m->par.value[i] = gp__to_positive(&m->par, s, theta);
}

static void gp__set_positive(odvgp_model *m, ptrdiff_t i, gp__wide value)
{
	int s = gp__slot_of(&m->par, i);
	m->par.value[i] = gp__inside(&m->par, s, (odvgp_real)value);
	m->par.theta[i] = gp__from_positive(&m->par, s, m->par.value[i]);
}

static const gp__likelihood *gp__lik_of(const odvgp_config *c)
{
	return &gp__likelihoods[c->lik.kind];
}

static int gp__has_noise(const odvgp_config *c)
{
	return (gp__lik_of(c)->flags & GP__LIK_GAUSSIAN) != 0;
}

/*	No effect with other likelihoods. */
static void gp__set_noise(odvgp_model *m, gp__wide value)
{
	if (gp__has_noise(&m->cfg))
		GP__EACH_VALUE(i, &m->par.slot[m->slot_lik_params]) gp__set_positive(m, i, value);
}

/*	The noise variance that all outputs share. */
static odvgp_real gp__noise(const odvgp_model *m)
{
	ODVGP_ASSERT(gp__has_noise(&m->cfg));
	return m->tape.node[m->lik_params.id].v[0];
}

static int gp__theta_ok(const odvgp_model *m)
{
	GP__FOR(i, m->par.positive)
		if (!(m->par.value[i] > 0) || !(m->par.value[i] - m->par.value[i] == 0)) return 0;
	return gp__finite(m->par.theta, m->par.count);
}

static odvgp_status gp__theta_status(int ok, odvgp_info *info)
{
	if (ok) return ODVGP_OK;
	return gp__refuse(info, ODVGP_E_NAN, "model", "its parameters are not finite, or not above 0");
}
static odvgp_status gp__theta_check(const odvgp_model *m, odvgp_info *info)
{
	return gp__theta_status(gp__theta_ok(m), info);
}

/* --- public access --- */

static int gp__model_ok(const odvgp_model *m) { return m && m->magic == GP__MODEL_MAGIC; }

ODVGP_API const odvgp_config *odvgp_model_config(const odvgp_model *m)
{
	return gp__model_ok(m) ? &m->cfg : NULL;
}
ODVGP_API int odvgp_slot_count(const odvgp_model *m) { return gp__model_ok(m) ? m->par.slots : 0; }
ODVGP_API ptrdiff_t odvgp_param_count(const odvgp_model *m)
{
	return gp__model_ok(m) ? m->par.count : 0;
}
ODVGP_API ptrdiff_t odvgp_steps_done(const odvgp_model *m)
{
	return gp__model_ok(m) ? (ptrdiff_t)m->state.steps : 0;
}

ODVGP_API odvgp_events odvgp_model_events(const odvgp_model *m)
{
	odvgp_events none;
	memset(&none, 0, sizeof none);
	return gp__model_ok(m) ? m->tape.events : none;
}

ODVGP_API const odvgp_slot *odvgp_slot_at(const odvgp_model *m, int i)
{
	return gp__model_ok(m) && i >= 0 && i < m->par.slots ? &m->par.slot[i + 1] : NULL;
}

ODVGP_API const odvgp_slot *odvgp_slot_find(const odvgp_model *m, const char *name)
{
	return gp__model_ok(m) ? odvgp_slot_at(m, gp__slot_index(&m->par, name) - 1) : NULL;
}

/*	Check a call on slots of a name. */
static odvgp_status gp__slots_asked(const odvgp_model *m, const char *name, odvgp_info *info)
{
	if (!gp__model_ok(m)) return gp__is_null(info, "model");
	return name ? ODVGP_OK : gp__is_null(info, "name");
}

/*	*index: the slot that a caller names. */
static odvgp_status gp__slot_asked(const odvgp_model *m, const char *name, const void *values,
		ptrdiff_t count, int *index, odvgp_info *info)
{
	odvgp_status s = gp__slots_asked(m, name, info);
	if (s) return s;
	if (!values && count) return gp__is_null(info, "values");
	*index = gp__slot_index(&m->par, name);
	if (!*index) return gp__refuse(info, ODVGP_E_NAME, "name", NULL);
	const odvgp_slot *slot = &m->par.slot[*index];
	if (count == slot->count) return ODVGP_OK;
	return gp__fail(info, ODVGP_E_SIZE, slot->name, -1, (gp__wide)count,
			"another number of values is expected");
}

ODVGP_API odvgp_status odvgp_get(const odvgp_model *m, const char *name, odvgp_real *values,
		ptrdiff_t count, odvgp_info *info)
{
	int index;
	odvgp_status s = gp__slot_asked(m, name, values, count, &index, info);
	if (!s) gp__copy(values, gp__slot_value(&m->par, &m->par.slot[index]), count);
	return s;
}

/*	Number i is above a triangle's diagonal. */
static int gp__above(const odvgp_slot *slot, ptrdiff_t i)
{
	ptrdiff_t cols = slot->shape[2];
	return slot->lower && i % cols > i / cols % slot->shape[1];
}

ODVGP_API odvgp_status odvgp_set(odvgp_model *m, const char *name, const odvgp_real *values,
		ptrdiff_t count, odvgp_info *info)
{
	int index;
	odvgp_status s = gp__slot_asked(m, name, values, count, &index, info);
	if (s) return s;
	const odvgp_slot *slot = &m->par.slot[index];
	GP__FOR(i, count)
		if (!gp__above(slot, i) && !(values[i] - values[i] == 0))
			return gp__fail(info, ODVGP_E_NAN, slot->name, i, (gp__wide)values[i], "is not finite");
	const gp__slot_state *state = &m->par.state[index];
	for (ptrdiff_t i = 0; i < count && slot->positive; i++)
		if (!(values[i] > 0 && values[i] >= state->low && values[i] <= state->high))
			return gp__fail(info, ODVGP_E_ARG, slot->name, i, (gp__wide)values[i],
					values[i] > 0 ? "is outside its bounds" : "must be above 0");
	m->warm_due = 0;
	GP__FOR(i, count) {
		odvgp_real *theta = &m->par.theta[slot->offset + i];
		*theta = gp__above(slot, i) ? 0 : values[i];
		if (!slot->positive) continue;
		*theta = gp__from_positive(&m->par, index, values[i]);
		m->par.value[slot->offset + i] = values[i]; /* exactly, until the next step */
	}
	m->state.good_valid = 0;
	gp__touch(m, index);
	return ODVGP_OK;
}

/*	The slot has this name, or begins so before a final '*'. */
static int gp__slot_matches(const odvgp_slot *slot, const char *name)
{
	size_t length = strlen(name), open = length && name[length - 1] == '*';
	return (open ? strncmp(slot->name, name, length - 1) : strcmp(slot->name, name)) == 0;
}

/*	A call's result: `all` slots have the name, `hits` of them could be changed. */
static odvgp_status gp__slots_result(int hits, int all, const char *why, odvgp_info *info)
{
	if (hits) return ODVGP_OK;
	return gp__refuse(info, all ? ODVGP_E_ARG : ODVGP_E_NAME, "name", all ? why : NULL);
}

ODVGP_API odvgp_status odvgp_set_trainable(
		odvgp_model *m, const char *name, int trainable, odvgp_info *info)
{
	int hits = 0;
	odvgp_status s = gp__slots_asked(m, name, info);
	if (s) return s;
	GP__EACH_SLOT(i, m) {
		if (!gp__slot_matches(&m->par.slot[i], name)) continue;
		m->par.slot[i].trainable = trainable != 0;
		hits++;
	}
	m->state.lbfgs_valid = 0; /* the set of directions changes */
	return gp__slots_result(hits, hits, NULL, info);
}

/*	Values inside the bounds stay; theta's coordinates change, so Adam's moments and the last good
	parameters are dropped. */
static void gp__bound_slot(odvgp_model *m, int s, odvgp_real low, odvgp_real high)
{
	const odvgp_slot *slot = &m->par.slot[s];
	m->par.state[s].low = low;
	m->par.state[s].high = high;
	GP__EACH_VALUE(i, slot) {
		gp__set_positive(m, i, (gp__wide)m->par.value[i]);
		if (i < m->par.adam) m->m1[i] = m->m2[i] = 0;
	}
	m->state.good_valid = 0;
	gp__touch(m, s);
}

ODVGP_API odvgp_status odvgp_set_bounds(
		odvgp_model *m, const char *name, odvgp_real low, odvgp_real high, odvgp_info *info)
{
	int hits = 0, all = 0;
	odvgp_status s = gp__slots_asked(m, name, info);
	if (s) return s;
	if (!gp__bounds_ok(low, high))
		return gp__fail(info, ODVGP_E_ARG, "low", -1, (gp__wide)low, "must be 0 <= low < high");
	GP__EACH_SLOT(i, m) {
		if (!gp__slot_matches(&m->par.slot[i], name)) continue;
		if (m->par.slot[i].positive) gp__bound_slot(m, i, low, high);
		hits += m->par.slot[i].positive;
		all++;
	}
	return gp__slots_result(hits, all, "only positive numbers have bounds", info);
}

ODVGP_API odvgp_status odvgp_set_prior(odvgp_model *m, const char *name, odvgp_prior kind,
		odvgp_real a, odvgp_real b, odvgp_info *info)
{
	int hits = 0, all = 0;
	odvgp_status s = gp__slots_asked(m, name, info);
	if (s) return s;
	if (!gp__prior_ok((int)kind, a, b))
		return gp__refuse(info, ODVGP_E_ARG, "kind, a or b", "is out of range (see odvgp_prior)");
	GP__EACH_SLOT(i, m) {
		if (!gp__slot_matches(&m->par.slot[i], name)) continue;
		all++;
		if (!m->par.slot[i].positive || m->par.state[i].of_q) continue;
		m->par.state[i].prior = (int)kind;
		m->par.state[i].prior_a = kind == ODVGP_PRIOR_NONE ? 0 : a;
		m->par.state[i].prior_b = kind == ODVGP_PRIOR_NONE ? 0 : b;
		hits++;
	}
	if (hits) m->state.lbfgs_valid = m->state.good_valid = 0; /* the bound changes */
	return gp__slots_result(hits, all, "only positive hyperparameters have priors", info);
}

#ifndef ODVGP_FLOAT_ONLY
ODVGP_API size_t odvgp_kernel_text(const odvgp_model *m, char *text, size_t text_bytes)
{
	gp__text t = {text, text_bytes, 0};
	if (!gp__model_ok(m) || (!text && text_bytes)) return 0;
	gp__put(&t, "");
	GP__EACH_UNIT(u, m) {
		if (u != m->unit) gp__put(&t, "; ");
		gp__put_kernel(&t, &u->kernel, gp__hyp(u), u->kernel.nnode - 1, 0);
	}
	return t.used;
}
#endif

ODVGP_API ptrdiff_t odvgp_kernel_column(const odvgp_model *m, int term, ptrdiff_t k)
{
	const gp__kernel *kernel = gp__model_ok(m) ? &m->unit->kernel : NULL;
	if (!kernel || term < 0 || term >= (int)kernel->base_kernels) return -1;
	const gp__base_kernel *base = &kernel->base[term];
	return base->ard && k >= 0 && k < (ptrdiff_t)base->ndims ? gp__column(base, k) : -1;
}

/* ---- >>ops   matrix operations and their adjoints

	A node is a matrix: its value v and its adjoint d = dloss/dv. Head nodes depend only on
	parameters, tile nodes also on a tile of rows, tail nodes on sums over tiles (MOMENTS); the tail
	runs between two visits of the tiles. The tape is the list of nodes. Reverse runs it backwards:
	each node adds to the d of its inputs.

	Only nodes with needs_grad are differentiated: they depend on a wanted parameter, and a term of
	the bound on them. stamp: when the value was computed; a head node is recomputed only if an
	input is newer. A node in place overwrites its input: both are recomputed if either is outdated.

	Below, dX is the adjoint of X; "stacked" means squares [M,M] one below the other, [P M, M]. */

static int gp__wants(const gp__node *nd, int i) { return nd->in[i] && nd->in[i]->needs_grad; }

/*	A varying size, or `size` itself. */
static ptrdiff_t gp__size_of(
		const gp__unit *u, ptrdiff_t size, ptrdiff_t tile_rows, ptrdiff_t gamma_columns)
{
	return size == GP__TILE_SIZE     ? tile_rows * u->times
		   : size == GP__INPUT_SIZE  ? tile_rows * u->inputs
		   : size == GP__SAMPLE_SIZE ? gamma_columns
									 : size;
}

static void gp__node_zero(odvgp_real *x, const gp__node *nd)
{
	if (nd->cols == nd->ld) gp__zero(x, nd->rows * nd->ld);
	else
		GP__FOR(i, nd->rows) gp__zero(x + i * nd->ld, nd->cols);
}

/*	Entry (i,j) of value and adjoint. */
#define GP__V(x, i, j) (x)->v[(i) * (x)->ld + (j)]
#define GP__D(x, i, j) (x)->d[(i) * (x)->ld + (j)]
#define GP__EACH_ENTRY(i, j, x) \
	GP__FOR(i, (x)->rows) \
		GP__FOR(j, (x)->cols)

/*	v <- X, and dX += d. */
static void gp__value_from(gp__node *nd, const gp__node *X)
{
	GP__FOR(i, nd->rows) gp__copy(nd->v + i * nd->ld, X->v + i * X->ld, nd->cols);
}
static void gp__adjoint_to(const gp__node *nd, gp__node *X)
{
	GP__EACH_ENTRY(i, j, nd) GP__D(X, i, j) += GP__D(nd, i, j);
}

/* --- PARAM, INPUT: set from outside; PARAM's adjoint is in the gradient --- */

static void gp__do_nothing(gp__node *nd) { (void)nd; }

/* --- KERNEL(hyp, X1, X2): K(X1, X2)
	  KERNEL(hyp, Z, X, w): of images X with weights w --- */

/*	Input k, unless missing, has the weights of patches. */
static void gp__node_images(const gp__node *nd, int k, gp__kjob *job)
{
	gp__node *w = nd->in[k];
	if (!GP__DESK || !w) return;
	job->patches = &nd->of->patches;
	job->weights = w->v;
	if (w->needs_grad) job->dweights = w->d;
}

static void gp__node_job(const gp__node *nd, gp__kjob *job)
{
	gp__node *hyp = nd->in[0], *X1 = nd->in[1], *X2 = nd->in[2];
	gp__kernel_job(job, nd->blas, &nd->of->kernel, hyp->v, X1->v, X1->rows, X2->v, X2->rows);
	job->lower = nd->op == GP__KERNEL && nd->variant == GP__KERNEL_LOWER;
	if (X1->op == GP__GATHER_ROWS && X1->in[0] == X2) job->origin = nd->of->columns;
	if (gp__wants(nd, 0)) job->dhyp = hyp->d;
	if (gp__wants(nd, 1)) job->dX1 = X1->d;
	if (gp__wants(nd, 2)) job->dX2 = X2->d;
	if (nd->op == GP__KERNEL) gp__node_images(nd, 3, job);
}

static void gp__kernel_pass(gp__node *nd, int adjoint)
{
	gp__kjob job;
	gp__node_job(nd, &job);
	if (adjoint) job.dK = nd->d;
	else job.K = nd->v;
	job.ldk = job.lddk = nd->ld;
	gp__kernel_matrix(&job, nd->tape->scratch, adjoint);
}
static void gp__kernel_forward(gp__node *nd) { gp__kernel_pass(nd, 0); }
static void gp__kernel_reverse(gp__node *nd) { gp__kernel_pass(nd, 1); }

/* --- KERNEL_DIAG(hyp, X): k(x,x) of each row of X, [1,n]
	  KERNEL_DIAG(hyp, X, w): of images; aux: K w for each [n,patches] --- */

static int gp__node_images_diag(gp__node *nd, int adjoint)
{
	gp__node *hyp = nd->in[0], *X = nd->in[1];
	gp__kjob job;
	if (!GP__DESK || !nd->in[2]) return 0;
	gp__kernel_job(&job, nd->blas, &nd->of->kernel, hyp->v, NULL, 0, X->v, X->rows);
	if (gp__wants(nd, 0)) job.dhyp = hyp->d;
	if (gp__wants(nd, 1)) job.dX2 = X->d;
	gp__node_images(nd, 2, &job);
	gp__images_diag(&job, adjoint ? nd->d : nd->v, nd->aux, nd->tape->scratch, adjoint);
	return 1;
}

static void gp__kernel_diag_forward(gp__node *nd)
{
	const gp__node *hyp = nd->in[0], *X = nd->in[1];
	int same = gp__kernel_stationary(&nd->of->kernel);
	odvgp_real value[GP__MAX_NODES];
	if (gp__node_images_diag(nd, 0)) return;
	GP__FOR(j, nd->cols)
		nd->v[j] = same && j ? nd->v[0]
							 : gp__kernel_diag(&nd->of->kernel, hyp->v, X->v + j * X->ld, value);
}

static void gp__kernel_diag_reverse(gp__node *nd)
{
	gp__node *hyp = nd->in[0], *X = nd->in[1];
	odvgp_real sum = 0, *dhyp = gp__wants(nd, 0) ? hyp->d : NULL;
	if (gp__node_images_diag(nd, 1)) return;
	/* k(x,x) is the same for every x */
	if (gp__kernel_stationary(&nd->of->kernel)) {
		GP__FOR(j, nd->cols) sum += nd->d[j];
		gp__kernel_diag_adjoint(&nd->of->kernel, hyp->v, X->v, sum, dhyp, NULL);
		return;
	}
	GP__FOR(j, nd->cols)
		gp__kernel_diag_adjoint(&nd->of->kernel, hyp->v, X->v + j * X->ld, nd->d[j], dhyp,
				gp__wants(nd, 1) ? X->d + j * X->ld : NULL);
}

/* --- KERNEL_VEC(hyp, X1, X2, a): a K(X2, X1), [P,n]
	  aux: what the adjoint needs of the matrix if it fits the budget; else it is recomputed --- */

static void gp__node_vec_job(gp__node *nd, gp__kjob *job)
{
	gp__node *a = nd->in[3];
	gp__node_job(nd, job);
	job->a = a->v;
	job->lda = a->ld;
	job->P = a->rows;
	job->ldo = nd->ld;
	job->kept = nd->kept && nd->needs_grad;
	if (job->kept) {
		gp__arena kept;
		gp__arena_init(&kept, nd->aux, SIZE_MAX / 2);
		gp__kernel_rows_layout(&kept, &nd->of->kernel, job->n, job->m, job->P, job);
	}
}

static void gp__kernel_vec_forward(gp__node *nd)
{
	gp__kjob job;
	gp__node_vec_job(nd, &job);
	job.out = nd->v;
	gp__kernel_run(&job, nd->tape->scratch);
}

static void gp__kernel_vec_reverse(gp__node *nd)
{
	gp__node *a = nd->in[3];
	gp__kjob job;
	gp__node_vec_job(nd, &job);
	job.dout = nd->d;
	if (a->needs_grad) job.da = a->d;
	gp__kernel_adjoint_run(&job, nd->tape->scratch);
}

/* --- CHOL(K, prior): lower Cholesky factor L of K + jitter I, or of each square stacked in K
	  L's upper triangle is 0. The jitter is relative to the mean diagonal of prior, or of K. A
	  failure raises it tenfold, at least to 16 eps rows mean, up to the limit. --- */

static odvgp_real gp__mean_diagonal(const gp__node *K)
{
	odvgp_real sum = 0;
	GP__FOR(i, K->rows) sum += GP__V(K, i, i % K->cols); /* of all squares of a stack */
	return sum / (odvgp_real)K->rows;
}

/*	Files store the indices of these texts: append only. */
static const char *const gp__jitter_matrices[GP__JITTERS] = {"Kb", "C"};
static const char *const gp__jitter_causes[] = {"nearly dependent rows",
		"all inducing points are equal: constant columns", "repeated inducing points",
		"a lengthscale far larger than the spread of the inducing points",
		"inducing points that nearly coincide",
		"inducing points close to each other for this lengthscale",
		"float precision: use gp__wide, fewer points or more jitter",
		"a gamma point close to beta points or to another gamma point",
		"the kernel is 0 at an inducing point",
		"a kernel of fewer dimensions than there are inducing points"};

static const char *gp__jitter_matrix(const gp__node *nd)
{
	return nd->jitter ? gp__jitter_matrices[nd->jitter - nd->of->jitter] : "H";
}

/*	Likely cause of a failed factorisation. */
static const char *gp__jitter_cause(const gp__node *K, ptrdiff_t pivot)
{
	const char *const *cause = gp__jitter_causes;
	if (!GP__DESK) return NULL;
	if (K->op == GP__MINUS_PRODUCT) return cause[7];
	if (K->op != GP__KERNEL) return cause[0];
	const gp__node *Z = K->in[1];
	const gp__kernel *kernel = &K->of->kernel;
	ptrdiff_t D = Z->cols;
	gp__wide nearest = GP__W(HUGE_VAL), widest = 0, coarse = 0;
	GP__FOR(i, Z->rows) {
		gp__wide r2 = 0;
		GP__FOR(d, D) {
			gp__wide x = (gp__wide)Z->v[i * D + d] - (gp__wide)Z->v[pivot * D + d];
			r2 += x * x;
		}
		if (i != pivot) nearest = GP__MIN(nearest, r2);
		widest = GP__MAX(widest, r2);
	}
	GP__EACH_BASE(i, kernel)
		if (gp__geometry(&kernel->base[i]) == GP__DISTANCE)
			coarse = GP__MAX(coarse, (gp__wide)K->in[0]->v[kernel->base[i].ls]);
	if (GP__V(K, pivot, pivot) == 0) return cause[8];
	if (widest == 0 && Z->rows > 1) return cause[1];
	if (nearest == 0) return cause[2];
	if (!gp__kernel_has_distances(kernel)) return cause[9];
	if (coarse > 10 * gp__sqrt(widest)) return cause[3];
	if (nearest < GP__W(1e-8) * widest) return cause[4];
	return cause[sizeof(odvgp_real) == 4 ? 6 : 5];
}

static gp__node *gp__jitter_prior(const gp__node *nd) { return nd->in[nd->in[1] != NULL]; }

static int gp__has_base_jitter(const gp__node *nd)
{
	return nd->jitter && !(nd->op == GP__CHOL && nd->variant == GP__CHOL_BARE);
}

static odvgp_real gp__jitter_base(const gp__node *nd)
{
	if (!gp__has_base_jitter(nd)) return 0;
	return nd->tape->jitter_absolute +
		   nd->tape->jitter_relative * gp__mean_diagonal(gp__jitter_prior(nd));
}

/*	Adjoint of gp__jitter_base. trace: of the jittered matrix's adjoint. */
static void gp__jitter_adjoint(const gp__node *nd, odvgp_real trace)
{
	gp__node *prior = gp__jitter_prior(nd);
	if (!gp__has_base_jitter(nd) || !prior->needs_grad) return;
	GP__FOR(i, nd->rows)
		GP__D(prior, i, i) += trace * nd->tape->jitter_relative / (odvgp_real)nd->rows;
}

/*	Outdate every node that uses this jitter, even if its kernel matrix is unchanged. */
static void gp__jitter_moved(gp__tape *t, const gp__jitter *jitter)
{
	GP__EACH_NODE(nd, t)
		if (nd->jitter == jitter) nd->stamp = 0;
}

static void gp__jitter_restore(gp__tape *t, gp__jitter *to, const gp__jitter *from)
{
	GP__FOR(k, GP__JITTERS) {
		if (to[k].raised != from[k].raised) gp__jitter_moved(t, &to[k]);
		to[k] = from[k];
	}
}

static odvgp_status gp__jitter_raise(const gp__node *nd, odvgp_real mean, const odvgp_info *bad)
{
	gp__tape *t = nd->tape;
	if (GP__MEMBERS_INVERSE && !nd->jitter)
		return gp__fail(t->info, bad->value - bad->value == 0 ? ODVGP_E_NOT_PD : ODVGP_E_NAN, "H",
				bad->row, GP__W(bad->value), NULL);
	gp__jitter *jitter = nd->jitter;
	odvgp_real now = jitter->base + jitter->raised,
			   total = GP__MAX(10 * now, GP__R(16) * GP__EPS * (odvgp_real)nd->rows * mean);
	t->events.matrix = gp__jitter_matrix(nd);
	t->events.pivot = bad->row;
	t->events.pivot_value = bad->value;
	t->events.cause = gp__jitter_cause(nd->in[0], bad->row);
	/* past the limit, the kernel is 0, or the stored jitter would underflow */
	if (!(total <= t->jitter_limit * mean) || !(total > now) || !(total >= GP__TINY))
		return gp__fail(t->info, ODVGP_E_NOT_PD, t->events.matrix, bad->row, GP__W(bad->value),
				t->events.cause);
	t->events.jitter_raised++;
	jitter->raised = total - jitter->base;
	jitter->clean = 0;
	gp__jitter_moved(t, jitter);
	return ODVGP_OK;
}

static odvgp_status gp__chol_try(gp__node *nd, odvgp_real added, odvgp_info *bad)
{
	const gp__node *K = nd->in[0];
	GP__FOR(r, nd->rows) {
		ptrdiff_t i = r % nd->cols;
		gp__copy_row(nd->v + r * nd->ld, K->v + r * K->ld, i, nd->cols);
		GP__V(nd, r, i) += added;
	}
	for (ptrdiff_t r = 0; r < nd->rows; r += nd->cols) {
		odvgp_status s = odvgp_potrf(nd->blas, nd->cols, nd->v + r * nd->ld, nd->ld, bad);
		if (s) return s;
	}
	return ODVGP_OK;
}

static void gp__chol_forward(gp__node *nd)
{
	gp__tape *t = nd->tape;
	gp__jitter none = {0, 0, 0}, *jitter = nd->jitter ? nd->jitter : &none, before = *jitter;
	odvgp_real mean = gp__mean_diagonal(gp__jitter_prior(nd));
	odvgp_info bad;
	if (!(mean - mean == 0)) {
		t->failed = gp__fail(t->info, ODVGP_E_NAN, gp__jitter_matrix(nd), -1, (gp__wide)mean,
				"a kernel matrix is not finite");
		return;
	}
	jitter->base = gp__jitter_base(nd);
	for (;;) {
		if (GP__DESK && jitter == &nd->of->jitter[GP__JITTER_BETA])
			t->events.jitter = (gp__wide)(jitter->base + jitter->raised);
		t->failed = gp__chol_try(nd, jitter->base + jitter->raised, &bad);
		if (!t->failed || t->failed == ODVGP_E_STOPPED) return;
		t->failed = gp__jitter_raise(nd, mean, &bad);
		if (!t->failed) continue;
		*jitter = before;
		return;
	}
}

static void gp__chol_reverse(gp__node *nd)
{
	gp__node *K = nd->in[0];
	odvgp_real trace = 0;
	for (ptrdiff_t r = 0; r < nd->rows; r += nd->cols)
		odvgp_potrf_adjoint(
				nd->blas, nd->cols, nd->v + r * nd->ld, nd->ld, nd->d + r * nd->ld, nd->ld);
	GP__FOR(r, nd->rows) {
		ptrdiff_t i = r % nd->cols;
		for (ptrdiff_t j = 0; j <= i && K->needs_grad; j++) GP__D(K, r, j) += GP__D(nd, r, j);
		trace += GP__D(nd, r, i);
	}
	gp__jitter_adjoint(nd, trace);
}

/* --- JITTERED(K): K + jitter I, both triangles, CHOL's jitter --- */

static void gp__jittered_forward(gp__node *nd)
{
	const gp__node *K = nd->in[0];
	odvgp_real added = gp__jitter_base(nd) + nd->jitter->raised;
	gp__value_from(nd, K);
	GP__FOR(i, nd->rows) GP__V(nd, i, i) += added;
}

static void gp__jittered_reverse(gp__node *nd)
{
	gp__node *K = nd->in[0];
	odvgp_real trace = 0;
	if (K->needs_grad) gp__adjoint_to(nd, K);
	GP__FOR(i, nd->rows) trace += GP__D(nd, i, i);
	gp__jitter_adjoint(nd, trace);
}

/* --- SOLVE(L, B): triangular solve
	   LEFT         Y = L^-1 B, B stacked   dB = L^-T dY   dL = -lower(dB Y^T)
	   RIGHT        Y = B L^-T              dB = dY L^-1   dL = -lower(dB^T Y)
	   RIGHT_PLAIN  Y = B L^-1              dB = dY L^-T   dL = -lower(Y^T dB) --- */

static void gp__solve_forward(gp__node *nd)
{
	gp__node *L = nd->in[0];
	int right = nd->variant != GP__SOLVE_LEFT;
	ptrdiff_t rows = right ? nd->rows : L->rows;
	if (!nd->base) gp__value_from(nd, nd->in[1]);
	for (ptrdiff_t r = 0; r < nd->rows; r += rows)
		odvgp_trsm(nd->blas, right, nd->variant == GP__SOLVE_RIGHT, rows, nd->cols, L->v, L->ld,
				nd->v + r * nd->ld, nd->ld);
}

static void gp__solve_reverse(gp__node *nd)
{
	gp__node *L = nd->in[0], *B = nd->in[1];
	int right = nd->variant != GP__SOLVE_LEFT, plain = nd->variant == GP__SOLVE_RIGHT_PLAIN;
	ptrdiff_t rows = right ? nd->rows : L->rows;
	for (ptrdiff_t r = 0; r < nd->rows; r += rows) {
		odvgp_real *d = nd->d + r * nd->ld, *v = nd->v + r * nd->ld;
		odvgp_trsm(nd->blas, right, !right || plain, rows, nd->cols, L->v, L->ld, d, nd->ld);
		if (L->needs_grad)
			odvgp_gemmt(nd->blas, right, !right, L->rows, right ? rows : nd->cols, -1,
					plain ? v : d, nd->ld, plain ? d : v, nd->ld, 1, L->d, L->ld);
	}
	if (B->needs_grad && !nd->base) gp__adjoint_to(nd, B);
}

/* --- PRODUCT(A, B): op(A) op(B) --- */

static void gp__product_forward(gp__node *nd)
{
	gp__node *A = nd->in[0], *B = nd->in[1];
	int ta = nd->variant == GP__PRODUCT_ATBT, tb = ta || nd->variant == GP__PRODUCT_ABT;
	odvgp_gemm(nd->blas, ta, tb, nd->rows, nd->cols, ta ? A->rows : A->cols, 1, A->v, A->ld, B->v,
			B->ld, 0, nd->v, nd->ld);
}

static void gp__product_reverse(gp__node *nd)
{
	gp__node *A = nd->in[0], *B = nd->in[1];
	int ta = nd->variant == GP__PRODUCT_ATBT, tb = ta || nd->variant == GP__PRODUCT_ABT;
	if (A->needs_grad && !ta)
		odvgp_gemm(nd->blas, 0, !tb, A->rows, A->cols, nd->cols, 1, nd->d, nd->ld, B->v, B->ld, 1,
				A->d, A->ld);
	if (A->needs_grad && ta)
		odvgp_gemm(nd->blas, 1, 1, A->rows, A->cols, nd->cols, 1, B->v, B->ld, nd->d, nd->ld, 1,
				A->d, A->ld);
	if (!B->needs_grad) return;
	gp__mm g = tb ? gp__mm_make(1, ta, B->rows, B->cols, nd->rows, 1, nd->d, nd->ld, A->v, A->ld, 1,
							B->d, B->ld)
				  : gp__mm_make(1, 0, B->rows, B->cols, nd->rows, 1, A->v, A->ld, nd->d, nd->ld, 1,
							B->d, B->ld);
	if (nd->variant == GP__PRODUCT_AL) g.c_part = GP__LOWER;
	gp__mm_run(nd->blas, &g);
}

/* --- MINUS_PRODUCT(K, W, A): K - W^T A
	  dW -= A d^T, dA -= W d. LOWER: W is A, and only the lower triangle is computed. --- */

static void gp__minus_product_forward(gp__node *nd)
{
	gp__node *K = nd->in[0], *W = nd->in[1], *A = nd->in[2];
	if (!nd->base) gp__value_from(nd, K);
	if (nd->variant == GP__MINUS_LOWER)
		odvgp_syrk(nd->blas, 1, nd->rows, W->rows, -1, W->v, W->ld, NULL, 1, nd->v, nd->ld);
	else
		odvgp_gemm(nd->blas, 1, 0, nd->rows, nd->cols, W->rows, -1, W->v, W->ld, A->v, A->ld, 1,
				nd->v, nd->ld);
}

static void gp__minus_product_reverse(gp__node *nd)
{
	gp__node *K = nd->in[0], *W = nd->in[1], *A = nd->in[2];
	int part = nd->variant == GP__MINUS_LOWER ? GP__LOWER : 0;
	if (K->needs_grad && !nd->base) gp__adjoint_to(nd, K);
	gp__mm w = gp__mm_make(
			0, 1, W->rows, W->cols, nd->cols, -1, A->v, A->ld, nd->d, nd->ld, 1, W->d, W->ld);
	gp__mm a = gp__mm_make(
			0, 0, A->rows, A->cols, nd->rows, -1, W->v, W->ld, nd->d, nd->ld, 1, A->d, A->ld);
	w.b_part = part ? GP__UPPER : 0; /* d is transposed */
	a.b_part = part;
	if (W->needs_grad) gp__mm_run(nd->blas, &w);
	if (A->needs_grad) gp__mm_run(nd->blas, &a);
}

/* --- INNER(K, B): I + B_p^T K B_p, lower, stacked
	  K is symmetric, both triangles stored; B stacks lower triangles B_p, or (DIAGONAL) has g_p in
	  row p, with B_p = diag(g_p)^1/2.
	  With G the adjoint and S = G + G^T: dB = K B S, dK = B S B^T / 2, both triangles.
	  aux: K B_p of the last p, which repeated reverse runs need, and an [M,M] for work. --- */

static void gp__inner_product(gp__node *nd, ptrdiff_t p)
{
	gp__node *K = nd->in[0], *B = nd->in[1];
	ptrdiff_t M = K->rows;
	gp__mm g =
			gp__mm_make(0, 0, M, M, M, 1, K->v, K->ld, B->v + p * M * B->ld, B->ld, 0, nd->aux, M);
	g.b_part = GP__LOWER;
	gp__mm_run(nd->blas, &g);
}

static void gp__inner_forward(gp__node *nd)
{
	gp__node *K = nd->in[0], *B = nd->in[1];
	ptrdiff_t M = K->rows;
	GP__FOR(p, nd->rows / M) {
		odvgp_real *H = nd->v + p * M * nd->ld;
		const odvgp_real *b = B->v + p * M * B->ld, *g = B->v + p * B->ld;
		if (nd->variant == GP__B_DIAGONAL) {
			GP__FOR(i, M)
				GP__FOR(j, i + 1)
					H[i * nd->ld + j] = GP__SQRT(g[i]) * GP__V(K, i, j) * GP__SQRT(g[j]);
		} else {
			gp__inner_product(nd, p);
			odvgp_gemmt(nd->blas, 1, 0, M, M, 1, b, B->ld, nd->aux, M, 0, H, nd->ld);
		}
		GP__FOR(i, M) H[i * nd->ld + i] += 1;
	}
}

/*	S = G + G^T, from the lower triangle. */
static void gp__symmetrise(odvgp_real *G, ptrdiff_t n, ptrdiff_t ld)
{
	GP__FOR(i, n)
		GP__FOR(j, i + 1)
			G[j * ld + i] = G[i * ld + j] = i == j ? 2 * G[i * ld + i] : G[i * ld + j];
}

static void gp__inner_reverse_diagonal(gp__node *nd, ptrdiff_t p)
{
	gp__node *K = nd->in[0], *B = nd->in[1];
	ptrdiff_t M = K->rows;
	const odvgp_real *S = nd->d + p * M * nd->ld, *g = B->v + p * B->ld;
	GP__FOR(i, M) {
		odvgp_real sum = 0, root = GP__SQRT(g[i]);
		GP__FOR(j, M) {
			odvgp_real x = S[i * nd->ld + j] * GP__SQRT(g[j]);
			sum += x * GP__V(K, i, j);
			if (K->needs_grad) GP__D(K, i, j) += GP__R(0.5) * root * x;
		}
		if (B->needs_grad) GP__D(B, p, i) += GP__R(0.5) * sum / root;
	}
}

static void gp__inner_reverse(gp__node *nd)
{
	gp__node *K = nd->in[0], *B = nd->in[1];
	ptrdiff_t M = K->rows, last = nd->rows / M - 1;
	for (ptrdiff_t p = last; p >= 0; p--) {
		odvgp_real *S = nd->d + p * M * nd->ld;
		gp__symmetrise(S, M, nd->ld);
		if (nd->variant == GP__B_DIAGONAL) {
			gp__inner_reverse_diagonal(nd, p);
			continue;
		}
		const odvgp_real *b = B->v + p * M * B->ld;
		if (last > 0) gp__inner_product(nd, p);
		if (B->needs_grad)
			odvgp_gemmt(
					nd->blas, 0, 0, M, M, 1, nd->aux, M, S, nd->ld, 1, B->d + p * M * B->ld, B->ld);
		if (!K->needs_grad) continue;
		odvgp_real *BS = nd->aux + M * M;
		odvgp_trmm(nd->blas, 0, M, M, GP__R(0.5), b, B->ld, S, nd->ld, 0, BS, M);
		odvgp_gemm(nd->blas, 0, 1, M, M, M, 1, BS, M, b, B->ld, 1, K->d, K->ld);
	}
}

/* --- SUM(x, y, ...): x + coef (y + ...) of matrices, rows [1,n] and columns [P,1] --- */

/*	Where x has entry (i,j) of the node. */
static ptrdiff_t gp__sum_place(const gp__node *x, const gp__node *nd, ptrdiff_t i, ptrdiff_t j)
{
	return (x->rows == 1 ? 0 : i * x->ld) + (x->cols == 1 && nd->cols > 1 ? 0 : j);
}

static void gp__sum_forward(gp__node *nd)
{
	gp__node_zero(nd->v, nd);
	for (int k = 0; k < GP__MAX_IN && nd->in[k]; k++) {
		const gp__node *x = nd->in[k];
		odvgp_real coef = k ? nd->coef : 1;
		GP__EACH_ENTRY(i, j, nd) GP__V(nd, i, j) += coef * x->v[gp__sum_place(x, nd, i, j)];
	}
}

static void gp__sum_reverse(gp__node *nd)
{
	for (int k = 0; k < GP__MAX_IN && nd->in[k]; k++) {
		gp__node *x = nd->in[k];
		odvgp_real coef = k ? nd->coef : 1;
		if (!x->needs_grad) continue;
		GP__EACH_ENTRY(i, j, nd) x->d[gp__sum_place(x, nd, i, j)] += coef * GP__D(nd, i, j);
	}
}

/* --- TRANSPOSE(A); GATHER_ROWS(A), GATHER_COLS(A): gamma's sampled columns --- */

/*	Where A has entry (i,j) of the node. */
static ptrdiff_t gp__place_in(const gp__node *A, const gp__node *nd, ptrdiff_t i, ptrdiff_t j)
{
	const ptrdiff_t *columns = nd->of->columns;
	return nd->op == GP__TRANSPOSE     ? j * A->ld + i
		   : nd->op == GP__GATHER_ROWS ? columns[i] * A->ld + j
									   : i * A->ld + columns[j];
}

static void gp__gather_forward(gp__node *nd)
{
	const gp__node *A = nd->in[0];
	GP__EACH_ENTRY(i, j, nd) GP__V(nd, i, j) = A->v[gp__place_in(A, nd, i, j)];
}

static void gp__gather_reverse(gp__node *nd)
{
	gp__node *A = nd->in[0];
	GP__EACH_ENTRY(i, j, nd) A->d[gp__place_in(A, nd, i, j)] += GP__D(nd, i, j);
}

/* --- SAMPLE(mean, var, eps): mean + sqrt(max(var, 0)) eps, by reparametrisation
	   Means and variances [P,m] of m points; eps and the result are [S m,P], row s m + i for sample
	   s of point i. dvar = eps d / (2 sd), 0 where sd is 0. Above image_output T rows are one
	   image, [S m / T,T P], in the same order. --- */

static void gp__sample_forward(gp__node *nd)
{
	const gp__node *mean = nd->in[0], *var = nd->in[1], *eps = nd->in[2];
	ptrdiff_t P = mean->rows;
	ODVGP_ASSERT(nd->ld == nd->cols && eps->ld == eps->cols);
	GP__FOR(k, nd->rows * nd->cols) {
		ptrdiff_t p = k % P, i = k / P % mean->cols;
		odvgp_real v = GP__V(var, p, i);
		nd->v[k] = GP__V(mean, p, i) + GP__SQRT(v < 0 ? 0 : v) * eps->v[k];
	}
}

static void gp__sample_reverse(gp__node *nd)
{
	gp__node *mean = nd->in[0], *var = nd->in[1];
	const gp__node *eps = nd->in[2];
	ptrdiff_t P = mean->rows;
	GP__FOR(k, nd->rows * nd->cols) {
		ptrdiff_t p = k % P, i = k / P % mean->cols;
		odvgp_real d = nd->d[k], v = GP__V(var, p, i);
		if (mean->needs_grad) GP__D(mean, p, i) += d;
		if (var->needs_grad && v > 0) GP__D(var, p, i) += GP__R(0.5) * d * eps->v[k] / GP__SQRT(v);
	}
}

/* --- PATCHES(X): the patches of images X [n,D], [n T,Dz] --- */

static void gp__patches_forward(gp__node *nd)
{
	const gp__node *X = nd->in[0];
	const gp__patches *p = &nd->of->patches;
	GP__FOR(i, X->rows)
		gp__patches_move(p, X->v + i * X->ld, NULL, nd->v + i * gp__patches_count(p) * nd->ld);
}

static void gp__patches_reverse(gp__node *nd)
{
	gp__node *X = nd->in[0];
	const gp__patches *p = &nd->of->patches;
	if (X->needs_grad)
		GP__FOR(i, X->rows)
			gp__patches_move(p, NULL, X->d + i * X->ld, nd->d + i * gp__patches_count(p) * nd->ld);
}

/* --- RESIDUAL(k, A, A'): max(k - |A|^2 - |A'|^2, least), [1,n]; A' may be missing
	  least: 0 (CLAMPED) or GP__SCALE_FLOOR mean k (FLOORED). aux: 0 where clamped, else 1. --- */

/*	Least D of gamma's scales, in units of the kernel's variance. */
#define GP__SCALE_FLOOR GP__R(1e-2)

/*	d(least)/dk of each column. */
static odvgp_real gp__residual_floor(const gp__node *nd)
{
	return nd->variant == GP__RESIDUAL_FLOORED ? GP__SCALE_FLOOR / (odvgp_real)nd->cols : 0;
}

static void gp__residual_forward(gp__node *nd)
{
	gp__node *k = nd->in[0];
	odvgp_real least = 0;
	if (nd->variant == GP__RESIDUAL_FLOORED)
		GP__FOR(j, nd->cols) least += gp__residual_floor(nd) * k->v[j];
	gp__zero(nd->aux, nd->cols);
	for (int i = 1; i < 3 && nd->in[i]; i++) {
		const gp__node *A = nd->in[i];
		gp__column_squares_add(A->v, A->rows, A->cols, A->ld, nd->aux);
	}
	GP__FOR(j, nd->cols) {
		odvgp_real x = k->v[j] - nd->aux[j];
		int clamped = x < least;
		nd->tape->sums->clamped += (uint64_t)(clamped && nd->variant == GP__RESIDUAL_CLAMPED);
		nd->v[j] = clamped ? least : x; /* NaN stays NaN */
		nd->aux[j] = clamped ? 0 : 1;
	}
}

static void gp__residual_reverse(gp__node *nd)
{
	gp__node *k = nd->in[0];
	odvgp_real clamped = 0;
	GP__FOR(j, nd->cols) {
		if (nd->aux[j] == 0) clamped += nd->d[j];
		nd->d[j] *= nd->aux[j];
	}
	if (k->needs_grad)
		GP__FOR(j, nd->cols) k->d[j] += nd->d[j] + gp__residual_floor(nd) * clamped;
	for (int in = 1; in < 3 && nd->in[in]; in++) {
		gp__node *A = nd->in[in];
		if (A->needs_grad)
			GP__FOR(i, A->rows)
				GP__FOR(j, A->cols) GP__D(A, i, j) -= 2 * nd->d[j] * GP__V(A, i, j);
	}
}

/* --- TRI_SQUARES(Q, A): |Q_p^T A|^2 by columns, [P,n], for stacked lower triangles Q_p
	  T_p = Q_p^T A: dA += 2 Q_p T_p diag(d_p), dQ_p += 2 lower(A diag(d_p) T_p^T).
	  aux: every T_p within the budget, else the last; reverse recomputes the others. --- */

static odvgp_real *gp__tri_at(const gp__node *nd, ptrdiff_t p)
{
	return nd->aux + (nd->kept ? p * nd->in[1]->rows * nd->ld : 0);
}

static void gp__tri_product(gp__node *nd, ptrdiff_t p)
{
	gp__node *Q = nd->in[0], *A = nd->in[1];
	odvgp_trmm(nd->blas, 1, A->rows, A->cols, 1, Q->v + p * Q->cols * Q->ld, Q->ld, A->v, A->ld, 0,
			gp__tri_at(nd, p), nd->ld);
}

static void gp__tri_squares_forward(gp__node *nd)
{
	gp__node *A = nd->in[1];
	GP__FOR(p, nd->rows) {
		gp__tri_product(nd, p);
		gp__zero(nd->v + p * nd->ld, A->cols);
		nd->blas->isa->squares(A->rows, A->cols, gp__tri_at(nd, p), nd->ld, nd->v + p * nd->ld);
	}
}

static void gp__tri_squares_reverse(gp__node *nd)
{
	gp__node *Q = nd->in[0], *A = nd->in[1];
	ptrdiff_t M = A->rows;
	for (ptrdiff_t p = nd->rows - 1; p >= 0; p--) {
		odvgp_real *d = nd->d + p * nd->ld, *q = Q->v + p * M * Q->ld, *T = gp__tri_at(nd, p);
		if (p < nd->rows - 1 && !nd->kept) gp__tri_product(nd, p);
		nd->blas->isa->weigh(M, A->cols, d, T, nd->ld);
		if (A->needs_grad)
			odvgp_trmm(nd->blas, 0, M, A->cols, 1, q, Q->ld, T, nd->ld, 1, A->d, A->ld);
		if (Q->needs_grad)
			odvgp_gemmt(nd->blas, 0, 1, M, A->cols, 1, A->v, A->ld, T, nd->ld, 1,
					Q->d + p * M * Q->ld, Q->ld);
	}
}

/* --- INVERSE_VAR(k, L_H, B, K): max(k - |V_p|^2, 0) by columns, [P,n]; V_p = L_H,p^-1 B_p^T K
	   B as in INNER. With T = -2 L_H^-T V diag(d):
		   dK += B T, dB += lower(K T^T), dL_H -= lower(T V^T)
	   aux: V_p of the last p, and T, both [M,n]. --- */

static void gp__inverse_features(gp__node *nd, ptrdiff_t p)
{
	gp__node *H = nd->in[1], *B = nd->in[2], *K = nd->in[3];
	ptrdiff_t M = K->rows;
	if (nd->variant == GP__B_DIAGONAL) {
		GP__FOR(i, M) {
			odvgp_real root = GP__SQRT(GP__V(B, p, i));
			GP__FOR(j, nd->cols) nd->aux[i * nd->ld + j] = root * GP__V(K, i, j);
		}
	} else
		odvgp_trmm(nd->blas, 1, M, nd->cols, 1, B->v + p * M * B->ld, B->ld, K->v, K->ld, 0,
				nd->aux, nd->ld);
	odvgp_trsm(nd->blas, 0, 0, M, nd->cols, H->v + p * M * H->ld, H->ld, nd->aux, nd->ld);
}

static void gp__inverse_var_forward(gp__node *nd)
{
	gp__node *k = nd->in[0], *K = nd->in[3];
	GP__FOR(p, nd->rows) {
		odvgp_real *var = nd->v + p * nd->ld;
		gp__inverse_features(nd, p);
		gp__column_squares(nd->aux, K->rows, nd->cols, nd->ld, var);
		GP__FOR(j, nd->cols) {
			odvgp_real x = k->v[j] - var[j];
			nd->tape->sums->clamped += (uint64_t)(x < 0);
			var[j] = GP__MAX(0, x); /* NaN stays NaN */
		}
	}
}

static void gp__inverse_var_reverse(gp__node *nd)
{
	gp__node *k = nd->in[0], *H = nd->in[1], *B = nd->in[2], *K = nd->in[3];
	ptrdiff_t M = K->rows, n = nd->cols;
	odvgp_real *T = nd->aux + M * nd->ld;
	for (ptrdiff_t p = nd->rows - 1; p >= 0; p--) {
		odvgp_real *d = nd->d + p * nd->ld;
		if (p < nd->rows - 1) gp__inverse_features(nd, p);
		GP__FOR(j, n) {
			if (GP__V(nd, p, j) == 0) d[j] = 0; /* clamped */
			if (k->needs_grad) k->d[j] += d[j];
		}
		GP__FOR(i, M)
			GP__FOR(j, n) T[i * nd->ld + j] = -2 * d[j] * nd->aux[i * nd->ld + j];
		odvgp_trsm(nd->blas, 0, 1, M, n, H->v + p * M * H->ld, H->ld, T, nd->ld);
		if (H->needs_grad)
			odvgp_gemmt(nd->blas, 0, 1, M, n, -1, T, nd->ld, nd->aux, nd->ld, 1,
					H->d + p * M * H->ld, H->ld);
		if (nd->variant != GP__B_DIAGONAL) {
			const odvgp_real *b = B->v + p * M * B->ld;
			if (B->needs_grad)
				odvgp_gemmt(nd->blas, 0, 1, M, n, 1, K->v, K->ld, T, nd->ld, 1,
						B->d + p * M * B->ld, B->ld);
			if (K->needs_grad)
				odvgp_trmm(nd->blas, 0, M, n, 1, b, B->ld, T, nd->ld, 1, K->d, K->ld);
			continue;
		}
		GP__FOR(i, M) {
			odvgp_real root = GP__SQRT(GP__V(B, p, i)), sum = 0;
			GP__FOR(j, n) {
				sum += GP__V(K, i, j) * T[i * nd->ld + j];
				if (K->needs_grad) GP__D(K, i, j) += root * T[i * nd->ld + j];
			}
			if (B->needs_grad) GP__D(B, p, i) += GP__R(0.5) * sum / root;
		}
	}
}

/* --- DIVIDE(b, D): b / D by columns, D [1,n] --- */

static void gp__divide_forward(gp__node *nd)
{
	gp__node *b = nd->in[0], *D = nd->in[1];
	GP__FOR(j, nd->cols)
		if (!(D->v[j] > 0)) {
			nd->tape->failed = gp__fail(nd->tape->info, ODVGP_E_NAN, "kernel", j, (gp__wide)D->v[j],
					"its variance is not above 0");
			return;
		}
	GP__EACH_ENTRY(i, j, nd) GP__V(nd, i, j) = GP__V(b, i, j) / D->v[j];
}

static void gp__divide_reverse(gp__node *nd)
{
	gp__node *b = nd->in[0], *D = nd->in[1];
	GP__EACH_ENTRY(i, j, nd) {
		odvgp_real q = GP__D(nd, i, j) / D->v[j];
		if (b->needs_grad) GP__D(b, i, j) += q;
		if (D->needs_grad) D->d[j] -= q * GP__V(nd, i, j);
	}
}

/* --- DOT(A, B): coef sum_ij A_ij B_ij; variant SAMPLED: times M_gamma / (columns sampled) --- */

static odvgp_real gp__dot_factor(const gp__node *nd)
{
	int sampled = nd->variant == GP__DOT_SAMPLED && nd->of->ncolumns;
	return nd->coef * (sampled ? (odvgp_real)nd->of->M_gamma / (odvgp_real)nd->of->ncolumns : 1);
}

static void gp__dot_forward(gp__node *nd)
{
	gp__node *A = nd->in[0], *B = nd->in[1];
	gp__wide sum = 0;
	GP__EACH_ENTRY(i, j, A) sum += (gp__wide)GP__V(A, i, j) * (gp__wide)GP__V(B, i, j);
	nd->v[0] = gp__dot_factor(nd) * (odvgp_real)sum;
}

static void gp__dot_reverse(gp__node *nd)
{
	gp__node *A = nd->in[0], *B = nd->in[1];
	odvgp_real f = gp__dot_factor(nd) * nd->d[0];
	GP__EACH_ENTRY(i, j, A) {
		odvgp_real a = GP__V(A, i, j), b = GP__V(B, i, j);
		if (A->needs_grad) GP__D(A, i, j) += f * b;
		if (B->needs_grad) GP__D(B, i, j) += f * a;
	}
}

/* --- KL_COV(Q): (|Q|^2 - P M) / 2 - sum log|Q_ii| for stacked lower triangles --- */

static void gp__kl_cov_forward(gp__node *nd)
{
	gp__node *Q = nd->in[0];
	gp__wide sum = 0;
	GP__FOR(r, Q->rows) {
		const odvgp_real *row = Q->v + r * Q->ld;
		ptrdiff_t i = r % Q->cols;
		GP__FOR(j, i) sum += GP__W(0.5) * (gp__wide)row[j] * (gp__wide)row[j];
		gp__wide d = gp__fabs((gp__wide)row[i]);
		sum += GP__W(0.5) * (d - 1) * (d + 1) - gp__log(d);
	}
	nd->v[0] = (odvgp_real)sum;
}

static void gp__kl_cov_reverse(gp__node *nd)
{
	gp__node *Q = nd->in[0];
	GP__FOR(r, Q->rows) {
		ptrdiff_t i = r % Q->cols;
		GP__FOR(j, i + 1) GP__D(Q, r, j) += nd->d[0] * GP__V(Q, r, j);
		GP__D(Q, r, i) -= nd->d[0] / GP__V(Q, r, i);
	}
}

/*	Fill the upper triangle. */
static void gp__mirror(odvgp_real *G, ptrdiff_t n)
{
	GP__FOR(i, n)
		GP__FOR(j, i) G[j * n + i] = G[i * n + j];
}

/* --- KL_INVERSE(L_H): log|H| / 2 - tr(I - H^-1) / 2, for stacked factors
	  With R = L_H^-1, d|R|^2 = -2 tr(R R^T R dL_H), so dL_H += 1 / diag - lower(R^T R R^T).
	  aux: R of the last p, and R^T R, both [M,M]. --- */

static void gp__kl_inverse_root(const gp__node *nd, ptrdiff_t p)
{
	const gp__node *H = nd->in[0];
	ptrdiff_t M = H->cols;
	GP__FOR(i, M) gp__copy(nd->aux + i * M, H->v + (p * M + i) * H->ld, M);
	odvgp_trtri(nd->blas, M, nd->aux, M);
}

static void gp__kl_inverse_forward(gp__node *nd)
{
	const gp__node *H = nd->in[0];
	ptrdiff_t M = H->cols;
	const odvgp_real *R = nd->aux;
	gp__wide sum = 0;
	GP__FOR(p, H->rows / M) {
		GP__FOR(i, M) sum += gp__log((gp__wide)GP__V(H, p * M + i, i));
		gp__kl_inverse_root(nd, p);
		GP__FOR(i, M) {
			GP__FOR(j, i) sum += GP__W(0.5) * (gp__wide)R[i * M + j] * (gp__wide)R[i * M + j];
			sum -= GP__W(0.5) * (1 - (gp__wide)R[i * M + i]) * (1 + (gp__wide)R[i * M + i]);
		}
	}
	nd->v[0] = (odvgp_real)sum;
}

static void gp__kl_inverse_reverse(gp__node *nd)
{
	gp__node *H = nd->in[0];
	ptrdiff_t M = H->cols, last = H->rows / M - 1;
	odvgp_real *R = nd->aux, *RR = R + M * M;
	for (ptrdiff_t p = last; p >= 0; p--) {
		odvgp_real *d = H->d + p * M * H->ld;
		if (last > 0) gp__kl_inverse_root(nd, p);
		odvgp_lauum(nd->blas, M, R, M, RR, M);
		gp__mirror(RR, M);
		odvgp_gemmt(nd->blas, 0, 1, M, M, -nd->d[0], RR, M, R, M, 1, d, H->ld);
		GP__FOR(i, M) d[i * H->ld + i] += nd->d[0] * R[i * M + i];
	}
}

/* --- EXPECT(mean, var, Y, positive parameters, free parameters): a tile's sum of E_q[log p(y|f)]
	  The adjoint contains the scale N/B. Either kind of parameters may be missing.
	  aux: for a gradient, derivatives in parameters (doubles), mean and variance. --- */

/*	The job's derivatives in aux; returns the count of parameters. */
static ptrdiff_t gp__expect_kept(const gp__node *nd, gp__lik_job *job)
{
	gp__arena a;
	const gp__node *mean = nd->in[0];
	ptrdiff_t numbers = 0;
	for (int k = 3; k < 5; k++) numbers += nd->in[k] ? nd->in[k]->cols : 0;
	gp__arena_init(&a, nd->aux, SIZE_MAX / 2);
	job->dpar = GP__TAKE(&a, gp__wide, numbers);
	job->dmean = gp__take(&a, mean->rows, mean->ld);
	job->dvar = gp__take(&a, mean->rows, mean->ld);
	return numbers;
}

/*	The current tile's job, without derivatives. */
static gp__lik_job gp__expect_job(const gp__node *nd, gp__arena *a)
{
	gp__tape *t = nd->tape;
	const gp__node *mean = nd->in[0], *var = nd->in[1], *y = nd->in[2], *positive = nd->in[3],
				   *others = nd->in[4];
	ptrdiff_t count = positive ? positive->cols : 0, others_count = others ? others->cols : 0;
	odvgp_real *par = gp__take(a, 1, count + others_count);
	gp__lik_job job;
	ODVGP_ASSERT(mean && var && y && var->ld == mean->ld && y->ld == mean->ld);
	if (positive) gp__copy(par, positive->v, count);
	if (others) gp__copy(par + count, others->v, others_count);
	memset(&job, 0, sizeof job);
	job.lik = t->y->lik;
	job.isa = nd->blas->isa;
	job.classes = t->y->classes;
	job.rule = t->rule;
	job.H = t->lik_nodes;
	job.work = gp__take(a, 1, gp__lik_work(t->y->lik, mean->rows));
	job.n = mean->cols;
	job.F = mean->rows;
	job.T = y->rows - t->y->weights - t->y->scale;
	job.ld = mean->ld;
	job.Y = y->v;
	job.mean = mean->v;
	job.var = var->v;
	job.par = par;
	job.noises = count;
	if (t->y->weights) job.weight = y->v + job.T * job.ld;
	if (!t->y->scale) return job;
	const odvgp_real *scale = y->v + (y->rows - 1) * job.ld;
	if (t->y->lik->flags & GP__LIK_GAUSSIAN) {
		job.noise = scale;
		return job;
	}
	odvgp_real *moved = gp__take(a, job.F, job.ld); /* log e is added to f */
	GP__EACH_ENTRY(p, i, mean) moved[p * job.ld + i] = GP__V(mean, p, i) + scale[i];
	job.mean = moved;
	return job;
}

static void gp__expect_forward(gp__node *nd)
{
	gp__tape *t = nd->tape;
	gp__arena a = t->scratch;
	gp__lik_job job = gp__expect_job(nd, &a);
	ptrdiff_t numbers = nd->needs_grad ? gp__expect_kept(nd, &job) : 0;
	GP__FOR(i, numbers) job.dpar[i] = 0;
	gp__wide sum = t->y->lik->expect(&job);
	nd->v[0] = (odvgp_real)sum;
	t->sums->expected += sum;
}

/*	Add nd's adjoint times the derivatives x [rows,ld] to input k. */
static void gp__expect_add(const gp__node *nd, int k, const odvgp_real *x)
{
	gp__node *in = nd->in[k];
	if (in->needs_grad)
		GP__EACH_ENTRY(p, j, in) GP__D(in, p, j) += nd->d[0] * x[p * in->ld + j];
}

static void gp__expect_reverse(gp__node *nd)
{
	gp__lik_job job;
	gp__expect_kept(nd, &job);
	gp__expect_add(nd, 0, job.dmean);
	gp__expect_add(nd, 1, job.dvar);
	for (int k = 3; k < 5; k++) {
		gp__node *par = nd->in[k];
		if (!par) continue;
		if (par->needs_grad)
			GP__FOR(i, par->cols) par->d[i] += (odvgp_real)(job.dpar[i] * (gp__wide)nd->d[0]);
		job.dpar += par->cols;
	}
}

/* --- MOMENTS(A, A', r, k): sums over tiles, stored as [F + P + 2, F], with Phi = [A; A']
		  S = Phi Phi^T [F,F], lower    h = r Phi^T [P,F]    |r|^2    sum of k, once per output
	  The scalars begin the last two rows. A' may be missing.
	  Reverse: dPhi += 2 T Phi + dh^T r for T = dloss/dS, whole and symmetric. --- */

typedef struct {
	ptrdiff_t M, F, P;
	odvgp_real *S, *h, *rr, *kk;
} gp__moments;

static gp__moments gp__moments_of(const gp__node *nd, odvgp_real *at)
{
	gp__moments m;
	m.M = nd->in[0]->rows;
	m.F = nd->cols;
	m.P = nd->rows - nd->cols - 2;
	m.S = at;
	m.h = m.S + m.F * m.F;
	m.rr = m.h + m.P * m.F;
	m.kk = m.rr + m.F;
	return m;
}

/*	v is 0 before the first tile. */
static void gp__moments_forward(gp__node *nd)
{
	gp__node *A = nd->in[0], *Av = nd->in[1], *r = nd->in[2], *k = nd->in[3];
	gp__moments m = gp__moments_of(nd, nd->v);
	ptrdiff_t n = r->cols;
	gp__wide rr = 0, kk = 0;
	if (nd->tape->again) return;
	GP__FOR(i, 2) {
		const gp__node *x = nd->in[i];
		ptrdiff_t from = i ? m.M : 0;
		if (!x) continue;
		odvgp_syrk(nd->blas, 0, x->rows, n, 1, x->v, x->ld, NULL, 1, m.S + from * (m.F + 1), m.F);
		odvgp_gemm(
				nd->blas, 0, 1, m.P, x->rows, n, 1, r->v, r->ld, x->v, x->ld, 1, m.h + from, m.F);
	}
	if (Av)
		odvgp_gemm(nd->blas, 0, 1, Av->rows, m.M, n, 1, Av->v, Av->ld, A->v, A->ld, 1,
				m.S + m.M * m.F, m.F);
	GP__EACH_ENTRY(p, j, r) rr += (gp__wide)GP__V(r, p, j) * (gp__wide)GP__V(r, p, j);
	GP__EACH_ENTRY(p, j, k) kk += (gp__wide)GP__V(k, p, j);
	*m.rr += (odvgp_real)rr;
	ptrdiff_t outputs = m.P / k->rows; /* outputs that share a row of k */
	*m.kk += (odvgp_real)(kk * (gp__wide)outputs);
}

static void gp__moments_reverse(gp__node *nd)
{
	gp__node *r = nd->in[2], *k = nd->in[3];
	gp__moments m = gp__moments_of(nd, nd->d);
	ptrdiff_t n = r->cols;
	GP__FOR(i, 2) {
		gp__node *x = nd->in[i];
		ptrdiff_t from = i ? m.M : 0;
		if (!x) continue;
		for (int with = 0; with < 2 && x->needs_grad; with++) {
			const gp__node *y = nd->in[with];
			if (y)
				odvgp_gemm(nd->blas, 0, 0, x->rows, n, y->rows, 2,
						m.S + from * m.F + (with ? m.M : 0), m.F, y->v, y->ld, 1, x->d, x->ld);
		}
		if (x->needs_grad)
			odvgp_gemm(nd->blas, 1, 0, x->rows, n, m.P, 1, m.h + from, m.F, r->v, r->ld, 1, x->d,
					x->ld);
		if (r->needs_grad)
			odvgp_gemm(nd->blas, 0, 0, m.P, n, x->rows, 1, m.h + from, m.F, x->v, x->ld, 1, r->d,
					r->ld);
	}
	if (r->needs_grad)
		GP__EACH_ENTRY(p, j, r) GP__D(r, p, j) += 2 * *m.rr * GP__V(r, p, j);
	ptrdiff_t outputs = m.P / k->rows;
	if (k->needs_grad)
		GP__EACH_ENTRY(p, j, k) GP__D(k, p, j) += *m.kk * (odvgp_real)outputs;
}

/* --- COLLAPSED(moments, noise s, V): the bound at the optimal q, for N rows and P outputs
		  -P W/2 log(2 pi s) - P/2 sum_b log|I + S_b/s| - (|r|^2 - h^T J^-1 h / s) / (2 s)
			  - (k - P sum_b tr S_b) / (2 s)
	  W = N. A row of weight w and noise e s has A, r and sqrt k divided by sqrt(e / w); W is the
	  sum of w, and the bound has the term -P/2 sum w log e.
	  J = I + S/s over the mean's features; b runs over the blocks of the covariance. With
	  V = A K A^T, [SOLVE] eq. 15, it adds P tr((I + S/s)^-1 (V - S S)) / (2 s^2).
	  variant: what uses only the features of beta.
	  aux: J^-1, work, J^-1 h. --- */

typedef struct {
	const gp__node *nd;
	gp__moments m;
	ptrdiff_t mean;             /* the mean's features */
	ptrdiff_t from[2], size[2]; /* features of each block of the covariance */
	int blocks;
	/* J and work: [F,F]; w = J^-1 h: [P,F] */
	odvgp_real s, *J, *work, *w;
} gp__collapse;

static gp__collapse gp__collapse_of(gp__node *nd)
{
	gp__collapse c;
	const gp__node *sums = nd->in[0];
	c.nd = nd;
	c.m = gp__moments_of(sums, sums->v);
	c.mean = nd->variant & GP__COLLAPSE_MEAN_BETA ? c.m.M : c.m.F;
	c.blocks = (nd->variant & GP__COLLAPSE_COV_BETA) || c.m.F == c.m.M ? 1 : 2;
	c.from[0] = 0;
	c.size[0] = c.from[1] = c.m.M;
	c.size[1] = c.m.F - c.m.M;
	c.s = nd->in[1]->v[0];
	c.J = nd->aux;
	c.work = c.J + c.m.F * c.m.F;
	c.w = c.work + c.m.F * c.m.F;
	return c;
}

/*	out [n,n], both triangles: (I + S/s)^-1 of the n features from `from` on; work [n,n]. *logs: the
	sum of log L_ii of the Cholesky factor. */
static odvgp_status gp__collapse_inverse(const gp__collapse *c, ptrdiff_t from, ptrdiff_t n,
		odvgp_real *work, odvgp_real *out, gp__wide *logs)
{
	odvgp_info bad;
	GP__FOR(i, n) {
		GP__FOR(j, i + 1) work[i * n + j] = c->m.S[(from + i) * c->m.F + from + j] / c->s;
		work[i * n + i] += 1;
		gp__zero(work + i * n + i + 1, n - i - 1);
	}
	odvgp_status s = odvgp_potrf(c->nd->blas, n, work, n, &bad);
	if (s)
		return gp__fail(c->nd->tape->info, ODVGP_E_NAN, "I + A A^T / noise", bad.row,
				GP__W(bad.value), "a sum over the rows is not finite");
	*logs = 0;
	GP__FOR(i, n) *logs += gp__log((gp__wide)work[i * n + i]);
	odvgp_trtri(c->nd->blas, n, work, n);
	odvgp_lauum(c->nd->blas, n, work, n, out, n);
	gp__mirror(out, n);
	return ODVGP_OK;
}

/*	w = J^-1 h over the mean's features; returns h^T w. */
static gp__wide gp__collapse_solve(const gp__collapse *c)
{
	gp__wide sum = 0;
	odvgp_gemm(c->nd->blas, 0, 0, c->m.P, c->mean, c->mean, 1, c->m.h, c->m.F, c->J, c->mean, 0,
			c->w, c->m.F);
	GP__FOR(p, c->m.P)
		GP__FOR(i, c->mean)
			sum += (gp__wide)c->w[p * c->m.F + i] * (gp__wide)c->m.h[p * c->m.F + i];
	return sum;
}

/*	tr(J^-1 V) - tr(J^-1 S S), where tr(J^-1 S S) = s (tr S - s tr(I - J^-1)). */
static gp__wide gp__collapse_tight(const gp__collapse *c, const gp__node *V)
{
	gp__wide sum = 0, s = (gp__wide)c->s;
	GP__FOR(i, c->m.F) {
		GP__FOR(j, c->m.F) sum += (gp__wide)c->J[i * c->m.F + j] * (gp__wide)GP__V(V, i, j);
		sum -= s * ((gp__wide)c->m.S[i * c->m.F + i] - s * (1 - (gp__wide)c->J[i * c->m.F + i]));
	}
	return sum;
}

/*	Both differences in the bound are at least 0. One below minus this, by cancellation, in nats per
	row and output, is an error. */
#define GP__COLLAPSE_ERROR 0.01

static void gp__collapsed_forward(gp__node *nd)
{
	gp__tape *t = nd->tape;
	gp__collapse c = gp__collapse_of(nd);
	const gp__node *V = nd->in[2];
	gp__wide s = (gp__wide)c.s, P = (gp__wide)c.m.P, logs, trace = 0, bound;
	bound = -GP__W(0.5) * P * t->sums->weight * gp__log(GP__W(gp__two_pi) * s);
	bound -= GP__W(0.5) * P * t->sums->logs;
	GP__FOR(b, c.blocks) {
		t->failed = gp__collapse_inverse(&c, c.from[b], c.size[b], c.work, c.J, &logs);
		if (t->failed) return;
		bound -= P * logs;
		GP__FROM(i, c.from[b], c.from[b] + c.size[b]) trace += (gp__wide)c.m.S[i * c.m.F + i];
	}
	if (c.blocks > 1 || c.mean != c.size[0]) {
		t->failed = gp__collapse_inverse(&c, 0, c.mean, c.work, c.J, &logs);
		if (t->failed) return;
	}
	gp__wide squares = (gp__wide)*c.m.rr - gp__collapse_solve(&c) / s,
			 variances = (gp__wide)*c.m.kk - P * trace;
	if (GP__MIN(squares, variances) < -2 * s * GP__W(GP__COLLAPSE_ERROR) * P * t->sums->weight) {
		t->failed = gp__fail(t->info, ODVGP_E_NAN, "bound", -1, GP__MIN(squares, variances),
				"rounding errors are larger than the noise: train in gp__wide, or raise "
				"noise_floor");
		return;
	}
	bound -= (squares + (gp__wide)*c.m.kk - P * trace) / (2 * s);
	if (V) bound += P * gp__collapse_tight(&c, V) / (2 * s * s);
	nd->v[0] = (odvgp_real)bound;
}

/*	d->S and d->h of the mean's term and V's; returns d/ds of both, for a unit adjoint. J still
	holds the mean's inverse. */
static gp__wide gp__collapsed_reverse_mean(gp__node *nd, const gp__collapse *c, gp__moments *d)
{
	gp__node *V = nd->in[2];
	odvgp_real g = nd->d[0], s = c->s;
	gp__wide hw = gp__collapse_solve(c), ww = 0, ds;
	ptrdiff_t F = c->m.F;
	/* w^T S w = s (w^T h - w^T w), because J w = h */
	GP__FOR(p, c->m.P)
		GP__FOR(i, c->mean) {
			ww += (gp__wide)c->w[p * F + i] * (gp__wide)c->w[p * F + i];
			d->h[p * F + i] = g * c->w[p * F + i] / (s * s);
		}
	odvgp_gemm(nd->blas, 1, 0, c->mean, c->mean, c->m.P, -g / (2 * s * s * s), c->w, F, c->w, F, 0,
			d->S, F);
	ds = ((gp__wide)*c->m.rr + (gp__wide)*c->m.kk) / 2 - hw / (gp__wide)s +
		 (hw - ww) / (2 * (gp__wide)s);
	ds /= (gp__wide)(s * s);
	if (!V) return ds;
	gp__wide tight = gp__collapse_tight(c, V), P = (gp__wide)c->m.P, ss = (gp__wide)s * (gp__wide)s,
			 JV = 0, JJV = 0;
	odvgp_gemm(nd->blas, 0, 0, F, F, F, 1, c->J, F, V->v, V->ld, 0, c->work, F); /* J^-1 V */
	GP__FOR(i, F)
		GP__FOR(j, F) JJV += (gp__wide)c->J[i * F + j] * (gp__wide)c->work[j * F + i];
	GP__FOR(i, F) JV += (gp__wide)c->work[i * F + i];
	odvgp_gemm(nd->blas, 0, 0, F, F, F, -g * (odvgp_real)(P / (2 * ss * (gp__wide)s)), c->work, F,
			c->J, F, 1, d->S, F);
	if (V->needs_grad)
		GP__EACH_ENTRY(i, j, V) GP__D(V, i, j) += g * (odvgp_real)(P / (2 * ss)) * c->J[i * F + j];
	/* d of -tr(J^-1 S S) is -s (I - J^-2) */
	GP__FOR(i, F) d->S[i * F + i] -= g * (odvgp_real)(P / (2 * (gp__wide)s));
	odvgp_gemm(nd->blas, 0, 0, F, F, F, g * (odvgp_real)(P / (2 * (gp__wide)s)), c->J, F, c->J, F,
			1, d->S, F);
	/* d tr(J^-1 V)/ds = (tr J^-1 V - tr J^-2 V) / s. other: d/ds of
	   s tr S - s^2 tr(I - J^-1) = tr S - 2 s tr(I - J^-1) + s tr(J^-1 - J^-2) */
	gp__wide other = 0;
	GP__FOR(i, F) {
		gp__wide J = (gp__wide)c->J[i * F + i], JJ = 0;
		GP__FOR(j, F) JJ += (gp__wide)c->J[i * F + j] * (gp__wide)c->J[i * F + j];
		other += (gp__wide)c->m.S[i * F + i] - 2 * (gp__wide)s * (1 - J) + (gp__wide)s * (J - JJ);
	}
	return ds - P * tight / (ss * (gp__wide)s) + P * ((JV - JJV) / (gp__wide)s - other) / (2 * ss);
}

static void gp__collapsed_reverse(gp__node *nd)
{
	gp__collapse c = gp__collapse_of(nd);
	gp__node *sums = nd->in[0], *noise = nd->in[1];
	gp__moments d = gp__moments_of(sums, sums->d);
	odvgp_real g = nd->d[0], s = c.s, P = (odvgp_real)c.m.P;
	gp__wide ds, logs;
	gp__node_zero(sums->d, sums);
	ds = gp__collapsed_reverse_mean(nd, &c, &d) -
		 GP__W(0.5) * (gp__wide)P * nd->tape->sums->weight / (gp__wide)s;
	*d.rr = *d.kk = -g / (2 * s);
	/* d log|I + S/s| = tr((I + S/s)^-1 dS) / s - tr(I - (I + S/s)^-1) ds / s */
	GP__FOR(b, c.blocks) {
		ptrdiff_t n = c.size[b], from = c.from[b];
		if (c.blocks > 1 || c.mean != n) gp__collapse_inverse(&c, from, n, c.work, c.J, &logs);
		GP__FOR(i, n) {
			odvgp_real *row = d.S + (from + i) * c.m.F + from,
					   S = c.m.S[(from + i) * c.m.F + from + i];
			GP__FOR(j, n) row[j] -= g * P / (2 * s) * c.J[i * n + j];
			row[i] += g * P / (2 * s);
			ds += GP__W(0.5) * (gp__wide)P *
				  ((1 - (gp__wide)c.J[i * n + i]) / (gp__wide)s - (gp__wide)S / (gp__wide)(s * s));
		}
	}
	if (noise->needs_grad) noise->d[0] += g * (odvgp_real)ds;
}

/* --- EVIDENCE(K, r, noise s, root): log N(r; 0, K + s I), summed over rows of r; K [n,n] lower
	  A row of weight w and noise e s has root^2 = e / w on the diagonal instead of 1, and the terms
	  log(2 pi s e / w) / 2 - w log(2 pi s e) / 2.
	  dK = (w w^T - P (K + s I)^-1) / 2, dr = -w, with w = (K + s I)^-1 r.
	  aux: (K + s I)^-1, work, w. --- */

static void gp__evidence_forward(gp__node *nd)
{
	gp__tape *t = nd->tape;
	const gp__node *K = nd->in[0], *r = nd->in[1], *root = nd->in[3];
	ptrdiff_t n = K->rows, P = r->rows;
	odvgp_real s = nd->in[2]->v[0], *inverse = nd->aux, *work = inverse + n * n, *w = work + n * n;
	odvgp_info bad;
	gp__wide sum = 0;
	GP__FOR(i, n) {
		gp__copy_row(work + i * n, K->v + i * K->ld, i, n);
		work[i * n + i] += root ? s * root->v[i] * root->v[i] : s;
	}
	if (odvgp_potrf(nd->blas, n, work, n, &bad)) {
		t->failed = gp__fail(t->info, bad.value - bad.value == 0 ? ODVGP_E_NOT_PD : ODVGP_E_NAN,
				"K + noise", bad.row, GP__W(bad.value),
				"the noise is too small for repeated or nearly repeated rows");
		return;
	}
	GP__FOR(i, n)
		sum -= (gp__wide)P * (gp__log((gp__wide)work[i * n + i]) + GP__W(0.5 * gp__log_2pi));
	odvgp_trtri(nd->blas, n, work, n);
	odvgp_lauum(nd->blas, n, work, n, inverse, n);
	gp__mirror(inverse, n);
	odvgp_gemm(nd->blas, 0, 0, P, n, n, 1, r->v, r->ld, inverse, n, 0, w, n);
	GP__FOR(p, P)
		GP__FOR(i, n) sum -= GP__W(0.5) * (gp__wide)w[p * n + i] * (gp__wide)GP__V(r, p, i);
	if (root) {
		gp__wide logs = -GP__W(0.5) * t->sums->logs;
		logs += GP__W(0.5) * ((gp__wide)n - t->sums->weight) *
				(GP__W(gp__log_2pi) + gp__log((gp__wide)s));
		GP__FOR(i, n) logs += gp__log((gp__wide)root->v[i]);
		sum += (gp__wide)P * logs;
	}
	nd->v[0] = (odvgp_real)sum;
}

static void gp__evidence_reverse(gp__node *nd)
{
	gp__node *K = nd->in[0], *r = nd->in[1], *noise = nd->in[2], *root = nd->in[3];
	ptrdiff_t n = K->rows, P = r->rows;
	odvgp_real *inverse = nd->aux, *w = inverse + 2 * n * n, half = GP__R(0.5) * nd->d[0];
	/* dK overwrites the inverse */
	odvgp_gemmt(nd->blas, 1, 0, n, P, half, w, n, w, n, -half * (odvgp_real)P, inverse, n);
	GP__FOR(i, n) {
		for (ptrdiff_t j = 0; j <= i && K->needs_grad; j++)
			GP__D(K, i, j) += (i == j ? 1 : 2) * inverse[i * n + j];
		if (noise->needs_grad)
			noise->d[0] += inverse[i * n + i] * (root ? root->v[i] * root->v[i] : 1);
	}
	if (root && noise->needs_grad)
		noise->d[0] += (odvgp_real)((gp__wide)(half * (odvgp_real)P) *
									((gp__wide)n - nd->tape->sums->weight) / (gp__wide)noise->v[0]);
	if (r->needs_grad)
		GP__FOR(p, P)
			GP__FOR(i, n) GP__D(r, p, i) -= nd->d[0] * w[p * n + i];
}

/* --- NAT_STATS(A, mean, var): statistics for natural steps; no value
	  Reverse adds A diag(g_v) A^T to aux (lower, [P,M,M]) and A g_m to v ([P,M]); g = -d, because
	  adjoints are the loss's. --- */

static void gp__nat_stats_reverse(gp__node *nd)
{
	gp__node *A = nd->in[0], *mean = nd->in[1], *var = nd->in[2];
	ptrdiff_t M = A->rows;
	GP__FOR(p, mean->rows)
		odvgp_syrk(nd->blas, 0, M, A->cols, -1, A->v, A->ld, var->d + p * var->ld, 1,
				nd->aux + p * M * M, M);
	odvgp_gemm(nd->blas, 0, 1, mean->rows, M, A->cols, -1, mean->d, mean->ld, A->v, A->ld, 1, nd->v,
			M);
}

/* --- MIX(W, x): W x or, for variances, (W o W) x, of a parameter W [F,P] without padding
	  dx += W^T d, dW += d x^T    or    dx += (W o W)^T d, dW += 2 W o (d x^T) --- */

static void gp__mix_forward(gp__node *nd)
{
	const gp__node *W = nd->in[0], *x = nd->in[1];
	gp__mix_rows(nd->blas->isa, nd->rows, x->rows, W->v, nd->variant == GP__MIX_SQUARES, nd->cols,
			x->v, x->ld, nd->v, nd->ld);
}

static void gp__mix_reverse(gp__node *nd)
{
	gp__node *W = nd->in[0], *x = nd->in[1];
	const odvgp__simd *isa = nd->blas->isa;
	int squares = nd->variant == GP__MIX_SQUARES;
	GP__FOR(f, nd->rows)
		GP__FOR(p, x->rows) {
			const odvgp_real *d = nd->d + f * nd->ld;
			odvgp_real w = W->v[f * x->rows + p];
			if (x->needs_grad) isa->axpy(nd->cols, squares ? w * w : w, d, x->d + p * x->ld);
			if (W->needs_grad)
				W->d[f * x->rows + p] +=
						(squares ? 2 * w : 1) * isa->dot(nd->cols, d, x->v + p * x->ld);
		}
}

/* --- STACK(base, x...): single rows become rows variant, variant + 1, ...; a further STACK adds
	   rows in place --- */

static void gp__stack_forward(gp__node *nd)
{
	odvgp_real *row = nd->v + nd->variant * nd->ld;
	for (int k = nd->base != 0; k < GP__MAX_IN && nd->in[k]; k++, row += nd->ld)
		gp__copy(row, nd->in[k]->v, nd->cols);
}

static void gp__stack_reverse(gp__node *nd)
{
	const odvgp_real *row = nd->d + nd->variant * nd->ld;
	for (int k = nd->base != 0; k < GP__MAX_IN && nd->in[k]; k++, row += nd->ld)
		if (nd->in[k]->needs_grad) nd->blas->isa->axpy(nd->cols, 1, row, nd->in[k]->d);
}

/* --- the table of operations --- */

static size_t gp__real_bytes(ptrdiff_t rows, ptrdiff_t cols)
{
	gp__arena a = gp__measuring();
	gp__take(&a, rows, cols);
	return a.bad ? SIZE_MAX : a.used;
}

/*	What a new node's memory depends on. */
typedef struct {
	const gp__unit *unit;
	const gp__likelihood *likelihood;
	int scale; /* Y has this column */
	int tasks;
	size_t keep; /* bytes that forward may keep for reverse; 0 in the head */
	gp__ref in[GP__MAX_IN];
	ptrdiff_t rows, cols;
} gp__shapes;

/*	What KERNEL_VEC keeps for n x m entries and P outputs; SIZE_MAX on overflow. */
static size_t gp__kept_bytes(const gp__kernel *k, ptrdiff_t n, ptrdiff_t m, ptrdiff_t P)
{
	gp__arena a = gp__measuring();
	gp__kjob job;
	gp__kernel_rows_layout(&a, k, n, m, P, &job);
	return a.bad ? SIZE_MAX : a.used;
}

static size_t gp__kernel_vec_aux(const gp__shapes *s, int *kept)
{
	size_t bytes = gp__kept_bytes(&s->unit->kernel, s->cols, s->in[2].rows, s->rows);
	*kept = bytes <= s->keep;
	return *kept ? bytes : 0;
}

static size_t gp__tri_squares_aux(const gp__shapes *s, int *kept)
{
	ptrdiff_t M = s->in[1].rows;
	gp__wide all =
			(gp__wide)s->rows * (gp__wide)M * (gp__wide)s->cols * (gp__wide)sizeof(odvgp_real);
	*kept = all <= (gp__wide)s->keep;
	return gp__real_bytes(*kept ? s->rows * M : M, s->cols);
}

#define GP__AUX(name, rows, cols) \
	static size_t gp__##name##_aux(const gp__shapes *s, int *kept) \
	{ \
		(void)kept; \
		return gp__real_bytes(rows, cols); \
	}
GP__AUX(kernel_diag, s->in[2].id ? s->cols : 0, gp__patches_count(&s->unit->patches))
GP__AUX(inner, 2 * s->cols, s->cols)
GP__AUX(residual, 1, s->cols)
GP__AUX(inverse_var, 2 * s->in[3].rows, s->cols)
GP__AUX(kl_inverse, 2 * s->in[0].cols, s->in[0].cols)
/*	2 F + P rows; the moments are [F + P + 2, F]. */
GP__AUX(collapsed, s->in[0].cols + s->in[0].rows - 2, s->in[0].cols)
GP__AUX(evidence, 2 * s->in[0].rows + s->in[1].rows, s->in[0].rows)
GP__AUX(nat_stats, s->rows * s->cols, s->cols)
#undef GP__AUX

/*	The larger of value's and adjoint's. */
static size_t gp__kernel_job_scratch(
		const gp__shapes *s, gp__arena a, ptrdiff_t n, ptrdiff_t m, ptrdiff_t P, int kept)
{
	size_t most = 0;
	for (int adjoint = 0; adjoint < 2; adjoint++) {
		gp__arena b = a;
		gp__kjob job;
		job.kept = kept;
		gp__kernel_scratch(&b, &s->unit->kernel, n, m, P, s->tasks, adjoint, &job);
		most = GP__MAX(most, b.bad ? SIZE_MAX : b.used);
	}
	return most;
}
static size_t gp__kernel_node_scratch(const gp__shapes *s, ptrdiff_t P, int kept)
{
	return gp__kernel_job_scratch(s, gp__measuring(), s->in[1].rows, s->in[2].rows, P, kept);
}
/*	n: rows of Z; 0: for k(x,x). */
static size_t gp__images_scratch(const gp__shapes *s, ptrdiff_t n)
{
	gp__arena a = gp__measuring();
	gp__images_work w;
	gp__images_layout(&a, &s->unit->patches, n, &w);
	return gp__kernel_job_scratch(s, a, n ? n : GP__MIN(w.T, (ptrdiff_t)GP__KROWS), w.T, 1, 0);
}
static size_t gp__kernel_scratch_bytes(const gp__shapes *s)
{
	return s->in[3].id ? gp__images_scratch(s, s->in[1].rows) : gp__kernel_node_scratch(s, 1, 0);
}
static size_t gp__kernel_diag_scratch_bytes(const gp__shapes *s)
{
	return s->in[2].id ? gp__images_scratch(s, 0) : 0;
}
static size_t gp__kernel_vec_scratch_bytes(const gp__shapes *s)
{
	int kept;
	gp__kernel_vec_aux(s, &kept);
	return gp__kernel_node_scratch(s, s->rows, kept);
}

static size_t gp__expect_scratch(const gp__shapes *s)
{
	gp__arena a = gp__measuring();
	gp__take(&a, 1, s->in[3].cols + s->in[4].cols);
	gp__take(&a, 1, gp__lik_work(s->likelihood, s->in[0].rows));
	gp__take(&a, s->scale ? s->in[0].rows : 0, s->in[0].cols);
	return a.bad ? SIZE_MAX : a.used;
}
static size_t gp__expect_aux(const gp__shapes *s, int *kept)
{
	gp__arena a = gp__measuring();
	(void)kept;
	(void)GP__TAKE(&a, gp__wide, s->in[3].cols + s->in[4].cols);
	gp__take(&a, s->in[0].rows, s->in[0].cols);
	gp__take(&a, s->in[1].rows, s->in[1].cols);
	return a.bad ? SIZE_MAX : a.used;
}

/*	A node's numbers; gp__sums_layout places sums over tiles. The first two kinds are given: value,
	stamp and needs_grad come from outside. */
enum {
	GP__STORES_NOTHING, /* PARAM: the value is in the parameter vector */
	GP__STORES_VALUE,   /* INPUT: no adjoint */
	GP__STORES_BOTH,
	/* NAT_STATS: v and aux are sums over tiles; reverse reads adjoints of inputs 1 and 2, and
	   passes none on */
	GP__STORES_STATS,
	GP__STORES_MOMENTS /* MOMENTS: v is a sum over tiles */
};

typedef void gp__op_run(gp__node *nd);
typedef size_t gp__op_aux(const gp__shapes *s, int *kept);
typedef struct {
	const char *name;
	/* a forward run that fails sets t->failed; NULL: the build has no such nodes */
	gp__op_run *forward, *reverse;
	int stores;
	/* a tile node's value survives its reverse run and adds to no sum: valid as long as its
	   inputs */
	int lasts;
	int samples; /* a bit for each variant whose value depends on the sampled columns */
	/* bytes; NULL: none */
	gp__op_aux *aux;
	size_t (*scratch)(const gp__shapes *s);
} gp__op_row;

/* clang-format off */
#define GP__OP_AS(name, as, stores, lasts, samples, aux, scratch) \
	{#name, gp__##as##_forward, gp__##as##_reverse, GP__STORES_##stores, lasts, samples, aux, \
		scratch}
#define GP__RUN(has, f) ((has) ? f : (gp__op_run *)NULL)
#define GP__OP_IF(has, name, stores, lasts, aux) \
	{#name, GP__RUN(has, gp__##name##_forward), GP__RUN(has, gp__##name##_reverse), \
		GP__STORES_##stores, lasts, 0, (has) ? aux : (gp__op_aux *)NULL, NULL}
#define GP__OP(name, lasts, aux, scratch) GP__OP_AS(name, name, BOTH, lasts, 0, aux, scratch)
#define GP__PLAIN(name, lasts)            GP__OP(name, lasts, NULL, NULL)
#define GP__WITH_AUX(name)                GP__OP(name, 0, gp__##name##_aux, NULL)
static const gp__op_row gp__ops[GP__OPS] = {
	/* in the order of gp__op: name, stores, lasts, samples, aux, scratch */
	{"param", gp__do_nothing, gp__do_nothing, GP__STORES_NOTHING, 0, 0, NULL, NULL},
	{"input", gp__do_nothing, gp__do_nothing, GP__STORES_VALUE, 0, 0, NULL, NULL},
	GP__OP(kernel, 1, NULL, gp__kernel_scratch_bytes),
	GP__OP(kernel_diag, 1, gp__kernel_diag_aux, gp__kernel_diag_scratch_bytes),
	GP__OP(kernel_vec, 0, gp__kernel_vec_aux, gp__kernel_vec_scratch_bytes),
	GP__OP_IF(GP__DESK || GP__MEMBERS_INVERSE, jittered, BOTH, 0, NULL),
	GP__PLAIN(chol, 0),
	GP__PLAIN(solve, 1),
	GP__PLAIN(product, 0),
	GP__PLAIN(minus_product, 1),
	GP__OP_IF(GP__MEMBERS_INVERSE, inner, BOTH, 0, gp__inner_aux),
	GP__PLAIN(sum, 0),
	GP__OP_AS(transpose, gather, BOTH, 1, 0, NULL, NULL),
	GP__OP_IF(ODVGP_MAX_LAYERS > 1, sample, BOTH, 1, NULL),
	GP__OP_IF(ODVGP_MAX_LAYERS > 1, patches, BOTH, 1, NULL),
	GP__WITH_AUX(residual),
	GP__WITH_AUX(tri_squares),
	GP__OP_IF(GP__MEMBERS_INVERSE, inverse_var, BOTH, 0, gp__inverse_var_aux),
	GP__OP_IF(GP__DESK, divide, BOTH, 0, NULL),
	GP__OP_AS(gather_rows, gather, BOTH, 0, 1, NULL, NULL),
	GP__OP_AS(gather_cols, gather, BOTH, 0, 1, NULL, NULL),
	GP__OP_AS(dot, dot, BOTH, 0, 1 << GP__DOT_SAMPLED, NULL, NULL),
	GP__PLAIN(kl_cov, 0),
	GP__OP_IF(GP__MEMBERS_INVERSE, kl_inverse, BOTH, 0, gp__kl_inverse_aux),
	GP__OP(expect, 0, gp__expect_aux, gp__expect_scratch),
	GP__OP_IF(GP__DESK, moments, MOMENTS, 0, NULL),
	GP__OP_IF(GP__DESK, collapsed, BOTH, 0, gp__collapsed_aux),
	GP__OP_IF(GP__DESK, evidence, BOTH, 0, gp__evidence_aux),
	{"nat_stats", gp__do_nothing, gp__nat_stats_reverse, GP__STORES_STATS, 0, 0,
		gp__nat_stats_aux, NULL},
	GP__OP_IF(GP__DESK, mix, BOTH, 0, NULL),
	GP__OP_IF(GP__DESK, stack, BOTH, 0, NULL),
};
/* clang-format on */

/* ---- >>tape   running the operations

	Both runs skip nodes that the evaluation does not need; forward those up to date, reverse those
	without effect on the bound. */

static int gp__stores(const gp__node *nd) { return gp__ops[nd->op].stores; }
static int gp__is_given(const gp__node *nd) { return gp__stores(nd) <= GP__STORES_VALUE; }

static void gp__tape_mark(gp__tape *t)
{
	GP__EACH_NODE(nd, t) {
		nd->active = (nd->purpose & t->purpose) != 0;
		nd->seeded = (nd->purpose & t->purpose & GP__GIVES_VALUE) != 0;
		if (!gp__is_given(nd)) nd->needs_grad = 0;
	}
	/* statistics read the adjoints of mean and variance, whatever these depend on */
	GP__EACH_NODE(nd, t) {
		if (!(t->purpose & GP__GIVES_STATS) || gp__stores(nd) != GP__STORES_STATS) continue;
		nd->needs_grad = 1;
		nd->in[1]->needs_grad = nd->in[2]->needs_grad = 1;
	}
	GP__EACH_NODE(nd, t) {
		if (gp__is_given(nd)) continue;
		for (int k = 0; k < GP__MAX_IN; k++) nd->needs_grad |= gp__wants(nd, k);
	}
	for (int i = t->nodes; i > 0; i--) {
		gp__node *nd = &t->node[i];
		for (int k = 0; k < GP__MAX_IN && nd->active; k++) {
			if (!nd->in[k]) continue;
			nd->in[k]->active = 1;
			nd->in[k]->seeded |= nd->seeded;
		}
	}
	/* no adjoint reaches unseeded nodes, or passes through those that collect statistics */
	GP__EACH_NODE(nd, t) {
		if (!nd->slots && gp__stores(nd) != GP__STORES_STATS) nd->needs_grad &= nd->seeded;
	}
}

/*	For bench/: a node's number before its operation, -1 after it. */
#ifndef GP__PROBE
#define GP__PROBE(node, reverse) ((void)0)
#endif

static uint64_t gp__youngest_input(const gp__node *nd)
{
	int sampled = gp__ops[nd->op].samples >> nd->variant & 1;
	uint64_t youngest = sampled ? nd->of->columns_stamp : 0;
	GP__FOR(k, GP__MAX_IN)
		if (nd->in[k]) youngest = GP__MAX(youngest, nd->in[k]->stamp);
	return youngest;
}

/*	Older than an input, or overwritten by an outdated node. */
static int gp__out_of_date(const gp__node *nd)
{
	if (nd->segment != GP__HEAD && !gp__ops[nd->op].lasts) return 1;
	while (nd->stamp > gp__youngest_input(nd)) {
		if (!nd->next) return 0;
		nd = nd->next;
	}
	return 1;
}

static odvgp_status gp__run_forward(gp__node *nd)
{
	gp__tape *t = nd->tape;
	t->failed = ODVGP_OK;
	gp__ops[nd->op].forward(nd);
	return gp__stopped(&t->blas) ? gp__refuse(t->info, ODVGP_E_STOPPED, "watch", NULL) : t->failed;
}

static odvgp_status gp__tape_forward(gp__tape *t, int segment)
{
	for (int i = 1; i <= t->nodes; i++) {
		gp__node *nd = &t->node[i];
		if (nd->segment != segment || !nd->active) continue;
		if (nd->rows_vary) nd->rows = gp__size_of(nd->of, nd->rows_vary, t->rows, nd->of->ncolumns);
		if (nd->cols_vary) nd->cols = gp__size_of(nd->of, nd->cols_vary, t->rows, nd->of->ncolumns);
		if (!gp__out_of_date(nd)) continue;
		GP__PROBE(i, 0);
		odvgp_status s = gp__run_forward(nd);
		GP__PROBE(-1, 0);
		if (s) {
			nd->stamp = 0;
			return s;
		}
		if (!gp__is_given(nd)) nd->stamp = ++t->clock;
	}
	return ODVGP_OK;
}

/*	Outdate a tile node: its value's memory is free between evaluations. */
static void gp__lend_value(gp__node *nd)
{
	ODVGP_ASSERT(nd->segment == GP__TILE && !nd->next);
	nd->stamp = 0;
}

/*	With failures described in info; the pointer is not kept. */
static odvgp_status gp__tape_forward_info(gp__tape *t, int segment, odvgp_info *info)
{
	t->info = info;
	odvgp_status s = gp__tape_forward(t, segment);
	t->info = NULL;
	return s;
}

/*	Clear adjoints. PARAM's are cleared with all sums, MOMENTS's overwritten by the tail. */
static void gp__tape_zero(gp__tape *t, int segment)
{
	GP__EACH_NODE(nd, t)
		if (nd->segment == segment && nd->active && nd->needs_grad &&
				gp__stores(nd) == GP__STORES_BOTH)
			gp__node_zero(nd->d, nd);
}

static void gp__tape_reverse(gp__tape *t, int segment)
{
	for (int i = t->nodes; i > 0; i--) {
		gp__node *nd = &t->node[i];
		if (nd->segment != segment || !nd->active || !nd->needs_grad) continue;
		if (gp__stopped(&t->blas)) return;
		GP__PROBE(i, 1);
		gp__ops[nd->op].reverse(nd);
		GP__PROBE(-1, 1);
	}
}

/* ---- >>graph   building the tape

	Nodes are first counted and then built, so builders know of a node only its gp__ref.
	gp__build_unit in >>layout calls them. */

/* --- building: the arena may only measure --- */

/*	Count bytes now; gp__sums_layout places them later. */
static void gp__defer(gp__tape *t, size_t bytes)
{
	bytes = bytes <= SIZE_MAX / 2 ? (bytes + GP__LINE - 1) & ~(size_t)(GP__LINE - 1) : SIZE_MAX / 2;
	if (bytes > SIZE_MAX / 2 - t->deferred) t->arena->bad = 1;
	else t->deferred += bytes;
}

/*	Memory for value, adjoint and aux, except for nodes that work in place. */
static void gp__node_memory(gp__tape *t, gp__node *nd, const gp__shapes *s)
{
	const gp__op_row *row = &gp__ops[nd->op];
	int both = row->stores == GP__STORES_BOTH, stats = row->stores == GP__STORES_STATS,
		moments = row->stores == GP__STORES_MOMENTS, head = nd->segment == GP__HEAD;
	size_t bytes = gp__real_bytes(s->rows, s->cols), aux = row->aux ? row->aux(s, &nd->kept) : 0;
	if (row->stores == GP__STORES_NOTHING) return;
	if (stats || moments) gp__defer(t, bytes);
	else nd->v = (odvgp_real *)gp__take_bytes(t->arena, bytes, 1);
	if (both && head) gp__defer(t, bytes);
	if ((both && !head) || moments) nd->d = (odvgp_real *)gp__take_bytes(t->arena, bytes, 1);
	if (stats) gp__defer(t, aux);
	else if (aux) nd->aux = (odvgp_real *)gp__take_bytes(t->arena, aux, 1);
}

/*	Work in base's memory. Other inputs must precede that memory's first node, to be up to date when
	that is checked. */
static void gp__work_in_place(gp__node *nd, gp__node *base)
{
	const gp__node *first = base;
	while (first->base) first = first->base;
	GP__FOR(k, GP__MAX_IN) ODVGP_ASSERT(!nd->in[k] || nd->in[k] == base || nd->in[k] < first);
	(void)first; /* unused without assertions */
	nd->base = base;
	nd->v = base->v;
	nd->d = base->d;
	base->next = nd;
}

/*	Append a node. rows and cols may be GP__TILE_SIZE, ...; an input with id 0 is missing. */
static gp__ref gp__node_add(gp__tape *t, gp__unit *u, gp__op op, int variant, int segment,
		ptrdiff_t rows, ptrdiff_t cols, const gp__ref *in, int inputs, gp__ref base)
{
	gp__node *nd = t->node ? &t->node[t->nodes + 1] : t->counted;
	gp__shapes s;
	gp__ref ref;
	memset(nd, 0, sizeof *nd);
	memset(&s, 0, sizeof s);
	s.unit = u;
	s.likelihood = t->y->lik;
	s.scale = t->y->scale;
	s.tasks = t->tasks;
	/* the head does not run forward before each reverse run */
	s.keep = segment == GP__TILE ? t->keep : 0;
	/* a tile's rows fit a block: no overflow */
	s.rows = gp__size_of(u, rows, t->tile, u->M_gamma);
	s.cols = gp__size_of(u, cols, t->tile, u->M_gamma);
	nd->op = op;
	nd->variant = variant;
	nd->segment = segment;
	nd->of = u;
	nd->tape = t;
	nd->blas = &t->blas;
	nd->rows_vary = rows < 0 ? (int)rows : 0;
	nd->cols_vary = cols < 0 ? (int)cols : 0;
	nd->rows = s.rows;
	nd->cols = nd->ld = s.cols;
	GP__FOR(k, GP__MAX_IN) {
		if (k >= inputs) continue;
		s.in[k] = in[k];
		if (t->node && in[k].id) nd->in[k] = &t->node[in[k].id];
	}
	if (!base.id) gp__node_memory(t, nd, &s);
	else if (t->node) gp__work_in_place(nd, &t->node[base.id]);
	if (gp__ops[op].scratch) t->scratch_bytes = GP__MAX(t->scratch_bytes, gp__ops[op].scratch(&s));
	if (op == GP__JITTERED || op == GP__CHOL) nd->jitter = &u->jitter[GP__JITTER_BETA];
	ref.id = ++t->nodes;
	ref.rows = s.rows;
	ref.cols = s.cols;
	return ref;
}

static gp__ref gp__add(gp__unit *u, int segment, gp__op op, int variant, ptrdiff_t rows,
		ptrdiff_t cols, gp__ref i0, gp__ref i1, gp__ref i2, gp__ref i3)
{
	const gp__ref in[4] = {i0, i1, i2, i3};
	return gp__node_add(&u->model->tape, u, op, variant, segment, rows, cols, in, 4, gp__none);
}

/*	At most two inputs; a tile's nodes are as wide as the tile. */
static gp__ref gp__head(
		gp__unit *u, gp__op op, int variant, ptrdiff_t rows, ptrdiff_t cols, gp__ref i0, gp__ref i1)
{
	return gp__add(u, GP__HEAD, op, variant, rows, cols, i0, i1, gp__none, gp__none);
}
static gp__ref gp__tile(gp__unit *u, gp__op op, int variant, ptrdiff_t rows, gp__ref i0, gp__ref i1)
{
	return gp__add(u, GP__TILE, op, variant, rows, GP__TILE_SIZE, i0, i1, gp__none, gp__none);
}

static gp__ref gp__input(gp__unit *u, ptrdiff_t rows, ptrdiff_t cols)
{
	return gp__add(u, GP__TILE, GP__INPUT, 0, rows, cols, gp__none, gp__none, gp__none, gp__none);
}

/*	A B of a tile; K(Z1,Z2) of inducing inputs, K(Z,X) and K(X,X); a K(X2,X1) */
static gp__ref gp__tile_product(gp__unit *u, gp__ref A, gp__ref B)
{
	return gp__tile(u, GP__PRODUCT, GP__PRODUCT_AB, A.rows, A, B);
}
static gp__ref gp__kernel_zz(gp__unit *u, int variant, gp__ref Z1, gp__ref Z2)
{
	return gp__add(u, GP__HEAD, GP__KERNEL, variant, Z1.rows, Z2.rows, u->hyp, Z1, Z2, gp__none);
}
static gp__ref gp__kernel_zx(gp__unit *u, gp__ref Z)
{
	return gp__add(u, GP__TILE, GP__KERNEL, GP__KERNEL_WHOLE, Z.rows, GP__TILE_SIZE, u->hyp, Z,
			u->X, u->patch_weights);
}
static gp__ref gp__kernel_xx(gp__unit *u, int variant)
{
	return gp__add(u, GP__TILE, GP__KERNEL, variant, GP__TILE_SIZE, GP__TILE_SIZE, u->hyp, u->X,
			u->X, gp__none);
}
static gp__ref gp__kernel_vec(
		gp__unit *u, int segment, ptrdiff_t cols, gp__ref X1, gp__ref X2, gp__ref a)
{
	return gp__add(u, segment, GP__KERNEL_VEC, 0, u->P, cols, u->hyp, X1, X2, a);
}

/*	L^-1 B, stored over B, which nothing else may read. */
static gp__ref gp__solve_in_place(gp__unit *u, int segment, gp__ref L, gp__ref B, ptrdiff_t cols)
{
	const gp__ref in[2] = {L, B};
	return gp__node_add(
			&u->model->tape, u, GP__SOLVE, GP__SOLVE_LEFT, segment, B.rows, cols, in, 2, B);
}

/*	term[0] + sign (term[1] + ...), [P,cols] */
static gp__ref gp__sum_of(
		gp__unit *u, int segment, ptrdiff_t cols, const gp__ref *term, int terms, odvgp_real sign)
{
	gp__tape *t = &u->model->tape;
	gp__ref sum = gp__node_add(t, u, GP__SUM, 0, segment, u->P, cols, term, terms, gp__none);
	gp__node_of(u, sum)->coef = sign;
	return sum;
}

static gp__ref gp__head_sum(gp__unit *u, gp__ref x, gp__ref y, odvgp_real sign, ptrdiff_t cols)
{
	const gp__ref term[2] = {x, y};
	return gp__sum_of(u, GP__HEAD, cols, term, 2, sign);
}

static void gp__asked_for(gp__unit *u, gp__ref node, int purpose)
{
	gp__node_of(u, node)->purpose |= purpose;
}

static gp__ref gp__param_node(gp__unit *u, int slot, int slots, ptrdiff_t rows, ptrdiff_t cols)
{
	const gp__params *par = &u->model->par;
	gp__ref ref = gp__head(u, GP__PARAM, 0, rows, cols, gp__none, gp__none);
	gp__node *nd = gp__node_of(u, ref);
	nd->slot = slot;
	nd->slots = slots;
	if (par->slot) nd->v = gp__slot_value(par, &par->slot[slot]);
	return ref;
}

static void gp__kl_term(gp__unit *u, gp__ref node, int purpose)
{
	gp__asked_for(u, node, GP__GIVES_BOUND | purpose);
}

static int gp__is_kl_term(const gp__node *nd)
{
	return nd->segment == GP__HEAD && (nd->purpose & GP__GIVES_VALUE);
}

/*	The purpose besides the bound of q(v)'s KL terms: [SOLVE] eq. 9 keeps them. */
static int gp__kept_terms(const gp__unit *u)
{
	return u->model->cfg.objective == ODVGP_OBJECTIVE_PARTLY ? GP__GIVES_COLLAPSED : 0;
}

/*	Add the KL term sign x . y / 2. */
static void gp__kl_half_dot(
		gp__unit *u, gp__ref x, gp__ref y, odvgp_real sign, int variant, int purpose)
{
	gp__ref dot = gp__head(u, GP__DOT, variant, 1, 1, x, y);
	gp__node_of(u, dot)->coef = GP__R(0.5) * sign;
	gp__kl_term(u, dot, purpose);
}

/* --- blocks of q, beta, the residual --- */

/*	A block's whitened mean, whatever the slots hold, and, if dense, Cholesky factor. */
static void gp__build_block(gp__unit *u, gp__block *b, gp__ref L, int dense)
{
	ptrdiff_t M = b->M, P = u->P;
	b->L = L;
	b->mu = b->sqrt = b->white_mu = b->white_sqrt = b->stats = gp__none;
	if (b->slot_mu) b->white_mu = b->mu = gp__param_node(u, b->slot_mu, 1, P, M);
	if (b->slot_sqrt) b->sqrt = gp__param_node(u, b->slot_sqrt, 1, P * M, M);
	if (dense) b->white_sqrt = b->sqrt;
	if (GP__COORDS(u) == ODVGP_PARAMETRISATION_WHITENED) return;
	int mean = b->mu.id && u->mean_part->mu == GP__MU_MEAN;
	if (mean && GP__COORDS(u) == ODVGP_PARAMETRISATION_PRIMAL)
		b->white_mu = gp__head(u, GP__SOLVE, GP__SOLVE_RIGHT, P, M, L, b->mu);
	else if (mean) /* L^-1 Kb a_beta = L^T a_beta */
		b->white_mu = gp__head(u, GP__PRODUCT, GP__PRODUCT_AL, P, M, b->mu, L);
	if (dense && b->sqrt.id)
		b->white_sqrt = gp__head(u, GP__SOLVE, GP__SOLVE_LEFT, P * M, M, L, b->sqrt);
}

static void gp__build_lik(gp__unit *u)
{
	odvgp_model *m = u->model;
	const gp__likelihood *lik = gp__lik_of(&m->cfg);
	if (!gp__is_top(u)) return;
	if (m->lik_slots && !m->lik_params.id)
		m->lik_params = gp__param_node(
				u, m->slot_lik_params, m->lik_slots, 1, gp__lik_numbers(lik, 1, m->extent));
	if (m->lik_free_slots && !m->lik_free_params.id)
		m->lik_free_params = gp__param_node(u, m->slot_lik_free_params, m->lik_free_slots, 1,
				gp__lik_numbers(lik, 0, m->extent));
}

/*	K of beta, L, and q(u). Parts without the factor get Kb, both triangles. */
static void gp__build_beta(gp__unit *u)
{
	ptrdiff_t M = u->M;
	int inverse = u->cov_part->factor != GP__FACTOR_OF_S,
		whole = inverse || (u->mean_part->mu == GP__MU_COEFFICIENTS && !u->M_gamma);
	u->hyp = gp__param_node(u, u->slot_kernel, u->kernel_slots, 1, (ptrdiff_t)u->kernel.nhyp);
	gp__build_lik(u);
	u->Z_beta = gp__param_node(u, u->slot_Z_beta, 1, M, u->Dz);
	u->K = gp__kernel_zz(u, whole ? GP__KERNEL_WHOLE : GP__KERNEL_LOWER, u->Z_beta, u->Z_beta);
	u->L = gp__head(u, GP__CHOL, GP__CHOL_JITTERED, M, M, u->K, gp__none);
	gp__asked_for(u, u->L, GP__GIVES_L);
	if (whole) u->Kb = gp__head(u, GP__JITTERED, 0, M, M, u->K, gp__none);
	gp__build_block(u, &u->block[GP__ON_BETA], u->L, !inverse);
}

static gp__ref gp__build_W(gp__unit *u)
{
	gp__ref K = gp__kernel_zz(u, GP__KERNEL_WHOLE, u->Z_beta, u->Z_gamma);
	return gp__solve_in_place(u, GP__HEAD, u->L, K, u->M_gamma);
}

/*	W, C and L_v, for SOLVE-GP's second block and gamma's natural steps. */
static void gp__build_residual(gp__unit *u, int variant, int purpose)
{
	ptrdiff_t Mg = u->M_gamma;
	u->W = gp__build_W(u);
	gp__ref Kg = gp__kernel_zz(u, GP__KERNEL_LOWER, u->Z_gamma, u->Z_gamma);
	u->C = gp__add(
			u, GP__HEAD, GP__MINUS_PRODUCT, GP__MINUS_LOWER, Mg, Mg, Kg, u->W, u->W, gp__none);
	u->L_v = gp__head(u, GP__CHOL, variant, Mg, Mg, u->C, Kg);
	gp__node_of(u, u->L_v)->jitter = &u->jitter[GP__JITTER_GAMMA];
	gp__asked_for(u, u->L_v, GP__GIVES_L | purpose);
}

/* ---- >>parts   mean parts and covariance parts

	odvgp_mean_part has the means and variances, >>conventions the symbols; Kbg = K(Zb,Zg),
	Kg = K(Zg,Zg). q_mu, q_sqrt, v_mu, v_sqrt are whitened. KL for each output:

		beta     |q_mu|^2 / 2
		orth     |q_mu|^2 / 2 + (a^T Kg a - c^T c) / 2			[ODVGP] eq. 11, A.1
		hybrid   orth's at q_mu + c								[ODVGP] eq. 10, A.1
		free     a^T K(Za,Za) a / 2								[DECOUPLED]; [OM] eq. 3.7
				 (if M_gamma = 0: with Zb, q_mu and Kb)
		blocks   |q_mu|^2 / 2 + |v_mu|^2 / 2					[SOLVE] eqs. 35, 36, appendix F

	and of covariance parts:

		dense     (|q_sqrt|^2 - M) / 2 - sum log|q_sqrt_ii|
		inverse   log|H| / 2 - tr(I - H^-1) / 2,  L_H L_H^T = H = I + B^T Kb B, B = B_sqrt
		diagonal  inverse's, with B = diag(g)^1/2, g = q_diag
		blocks    dense's, for each block

	c^T c = a^T Kgb (Kb^-1 Kbg a), so the same sampled rows serve both of gamma's KL terms: C a is
	small where Kg a is not.

	A mean part's head adds its KL terms and sets `weights` [P,M], the factor of A in the mean
	(missing: none); its tile adds the mean's other terms, at most one node. A covariance part adds
	its KL terms and the variance, and says what a predictor stores.

	To add a member: a row in a table below, an enumerator in >>api, its word in >>settings. What
	its row leaves at 0 (natural steps, an optimum, bounds without q) is refused. New kinds of steps
	need a row in >>natgrad, of optima in >>optimum, of factors in >>predictor. */

static void gp__beta_head(gp__unit *u)
{
	gp__ref v = u->block[GP__ON_GAMMA].white_mu;
	u->weights = u->block[GP__ON_BETA].white_mu;
	gp__kl_half_dot(u, u->weights, u->weights, 1, GP__DOT_WHOLE, 0);
	if (u->mean_part->v_mu) gp__kl_half_dot(u, v, v, 1, GP__DOT_WHOLE, gp__kept_terms(u));
}

static gp__ref gp__beta_tile(gp__unit *u)
{
	if (!u->mean_part->v_mu) return gp__none;
	return gp__tile_product(u, u->block[GP__ON_GAMMA].white_mu, u->A_v);
}

/*	D = diag(C): FLOORED, as in gp__renew_scales, if the slot holds D a; CLAMPED for [ODVGP] eq.
	16. */
static void gp__gamma_diagonal(gp__unit *u, int variant)
{
	gp__ref W = gp__build_W(u);
	gp__ref k = gp__head(u, GP__KERNEL_DIAG, 0, 1, u->M_gamma, u->hyp, u->Z_gamma);
	u->gamma_residual = gp__head(u, GP__RESIDUAL, variant, 1, u->M_gamma, k, W);
}

static void gp__gamma_slots(gp__unit *u)
{
	const odvgp_config *c = &u->model->cfg;
	u->a = u->a_slot = gp__param_node(u, u->slot_a, 1, u->P, u->M_gamma);
	if (!GP__DESK) return;
	if (u->gamma_coords == ODVGP_GAMMA_COORDS_DIFFERENTIATED) {
		gp__gamma_diagonal(u, GP__RESIDUAL_FLOORED);
		u->a = gp__head(u, GP__DIVIDE, 0, u->P, u->M_gamma, u->a_slot, u->gamma_residual);
	} else if (c->optim.gamma_step == ODVGP_GAMMA_STEP_DIAGONAL) {
		gp__gamma_diagonal(u, GP__RESIDUAL_CLAMPED);
		gp__asked_for(u, u->gamma_residual, GP__GIVES_STATS);
	} else if (c->optim.gamma_step == ODVGP_GAMMA_STEP_EXACT) {
		/* two factors of C would share its jitter */
		if (u->L_v.id) gp__asked_for(u, u->L_v, GP__GIVES_STATS);
		else gp__build_residual(u, GP__CHOL_BARE, GP__GIVES_STATS);
	}
}

/*	For a sampled a^T K a / 2: a and Z_gamma at the samples; returns K a there. */
static gp__ref gp__sampled_quadratic(gp__unit *u, gp__ref *as, gp__ref *Zs)
{
	*Zs = gp__head(u, GP__GATHER_ROWS, 0, GP__SAMPLE_SIZE, u->Dz, u->Z_gamma, gp__none);
	*as = gp__head(u, GP__GATHER_COLS, 0, u->P, GP__SAMPLE_SIZE, u->a, gp__none);
	return gp__kernel_vec(u, GP__HEAD, GP__SAMPLE_SIZE, *Zs, u->Z_gamma, u->a);
}

/*	Returns c and adds gamma's KL term, (a^T Kg a - c^T c) / 2. */
static gp__ref gp__gamma_head(gp__unit *u)
{
	ptrdiff_t P = u->P;
	gp__ref as, Zs;
	gp__gamma_slots(u);
	gp__ref Kbg_a = gp__kernel_vec(u, GP__HEAD, u->M, u->Z_beta, u->Z_gamma, u->a);
	gp__ref c = gp__head(u, GP__SOLVE, GP__SOLVE_RIGHT, P, u->M, u->L, Kbg_a);
	gp__ref Kg_a = gp__sampled_quadratic(u, &as, &Zs);
	if (u->model->cfg.reproduce.gamma_kl == ODVGP_GAMMA_KL_COLUMNS) {
		gp__kl_half_dot(u, c, c, -1, GP__DOT_WHOLE, 0);
		gp__kl_half_dot(u, as, Kg_a, 1, GP__DOT_SAMPLED, 0);
		return c;
	}
	/* Kb^-1 Kbg a */
	gp__ref back = gp__head(u, GP__SOLVE, GP__SOLVE_RIGHT_PLAIN, P, u->M, u->L, c);
	gp__ref Kgb_back = gp__kernel_vec(u, GP__HEAD, GP__SAMPLE_SIZE, Zs, u->Z_beta, back);
	gp__kl_half_dot(
			u, as, gp__head_sum(u, Kg_a, Kgb_back, -1, GP__SAMPLE_SIZE), 1, GP__DOT_SAMPLED, 0);
	return c;
}

static void gp__orth_head(gp__unit *u)
{
	gp__beta_head(u);
	if (!u->M_gamma) return;
	gp__ref c = gp__gamma_head(u);
	u->weights = gp__head_sum(u, u->weights, c, -1, u->M);
}

static void gp__hybrid_head(gp__unit *u)
{
	if (!u->M_gamma) {
		gp__beta_head(u);
		return;
	}
	u->weights = u->block[GP__ON_BETA].white_mu;
	u->shift = gp__gamma_head(u);
	gp__ref sum = gp__head_sum(u, u->weights, u->shift, 1, u->M);
	gp__kl_half_dot(u, sum, sum, 1, GP__DOT_WHOLE, 0);
}

/*	K(X,Zg) a. */
static gp__ref gp__gamma_tile(gp__unit *u)
{
	if (!u->M_gamma) return gp__none;
	if (!u->patch_weights.id)
		return gp__kernel_vec(u, GP__TILE, GP__TILE_SIZE, u->X, u->Z_gamma, u->a);
	return gp__tile_product(u, u->a, gp__kernel_zx(u, u->Z_gamma));
}

static void gp__free_head(gp__unit *u)
{
	gp__ref as, Zs;
	if (u->M_gamma) {
		u->a = u->a_slot = gp__param_node(u, u->slot_a, 1, u->P, u->M_gamma);
		gp__ref K_a = gp__sampled_quadratic(u, &as, &Zs);
		gp__kl_half_dot(u, as, K_a, 1, GP__DOT_SAMPLED, 0);
		return;
	}
	u->a = u->block[GP__ON_BETA].mu; /* the mean's points are Z_beta */
	gp__ref K_a = gp__head(u, GP__PRODUCT, GP__PRODUCT_AB, u->P, u->M, u->a, u->Kb);
	gp__kl_half_dot(u, u->a, K_a, 1, GP__DOT_WHOLE, 0);
}

static gp__ref gp__free_tile(gp__unit *u)
{
	return u->M_gamma ? gp__gamma_tile(u) : gp__tile_product(u, u->a, u->K_x);
}

static void gp__kl_of_sqrt(gp__unit *u, gp__ref root, int purpose)
{
	gp__kl_term(u, gp__head(u, GP__KL_COV, 0, 1, 1, root, gp__none), purpose);
}

static void gp__dense_head(gp__unit *u)
{
	gp__kl_of_sqrt(u, u->block[GP__ON_BETA].white_sqrt, 0);
	if (u->cov_part->v_sqrt)
		gp__kl_of_sqrt(u, u->block[GP__ON_GAMMA].white_sqrt, gp__kept_terms(u));
}

static gp__ref gp__squares(gp__unit *u, int b, gp__ref A)
{
	return gp__tile(u, GP__TRI_SQUARES, 0, u->P, u->block[b].white_sqrt, A);
}

/*	|q_sqrt^T A|^2 + residual, and + |v_sqrt^T A_v|^2 with a second block. */
static gp__ref gp__dense_tile(gp__unit *u)
{
	gp__ref term[3], A_v = u->cov_part->v_sqrt ? u->A_v : gp__none;
	term[1] = gp__add(u, GP__TILE, GP__RESIDUAL, GP__RESIDUAL_CLAMPED, 1, GP__TILE_SIZE, u->k_x,
			u->A, A_v, gp__none);
	term[0] = gp__squares(u, GP__ON_BETA, u->A);
	term[2] = A_v.id ? gp__squares(u, GP__ON_GAMMA, A_v) : gp__none;
	return gp__sum_of(u, GP__TILE, GP__TILE_SIZE, term, A_v.id ? 3 : 2, 1);
}

static int gp__variant_of_B(const gp__unit *u)
{
	return u->slot_q_diag ? GP__B_DIAGONAL : GP__B_TRIANGLES;
}

static void gp__inverse_head(gp__unit *u)
{
	ptrdiff_t P = u->P, M = u->M;
	u->q_diag = u->slot_q_diag ? gp__param_node(u, u->slot_q_diag, 1, P, M)
							   : u->block[GP__ON_BETA].sqrt;
	gp__ref H = gp__head(u, GP__INNER, gp__variant_of_B(u), P * M, M, u->Kb, u->q_diag);
	u->L_H = gp__head(u, GP__CHOL, GP__CHOL_BARE, P * M, M, H, gp__none);
	gp__node_of(u, u->L_H)->jitter = NULL;
	gp__kl_term(u, gp__head(u, GP__KL_INVERSE, 0, 1, 1, u->L_H, gp__none), 0);
}

static gp__ref gp__inverse_tile(gp__unit *u)
{
	return gp__add(u, GP__TILE, GP__INVERSE_VAR, gp__variant_of_B(u), u->P, GP__TILE_SIZE, u->k_x,
			u->L_H, u->q_diag, u->K_x);
}

/* --- what a predictor stores of a covariance part --- */

static void gp__freeze_sqrt(const gp__unit *u, int b, odvgp_real *to)
{
	const gp__block *block = &u->block[b];
	gp__copy(to, gp__value(u, block->white_sqrt), u->P * block->M * block->M);
}

static void gp__dense_freeze(const gp__unit *u, const gp__view *v)
{
	gp__copy(v->L, gp__value(u, u->L), u->M * u->M);
	gp__freeze_sqrt(u, GP__ON_BETA, v->factor);
}

static void gp__inverse_freeze(const gp__unit *u, const gp__view *v)
{
	const odvgp_real *B = gp__value(u, u->q_diag);
	ptrdiff_t square = u->P * u->M * u->M;
	gp__copy(v->L, gp__value(u, u->L_H), square);
	if (!u->slot_q_diag) gp__copy(v->factor, B, square);
	else
		GP__FOR(i, u->P * u->M) v->factor[i] = GP__SQRT(B[i]);
}

/*	[L 0; W^T L_v]; q_sqrt and v_sqrt. */
static void gp__blocks_freeze(const gp__unit *u, const gp__view *v)
{
	const odvgp_real *L = gp__value(u, u->L), *W = gp__value(u, u->W), *Lv = gp__value(u, u->L_v);
	ptrdiff_t M = u->M, Mg = u->M_gamma, F = M + Mg;
	GP__FOR(i, M) gp__copy(v->L + i * F, L + i * M, M);
	GP__FOR(i, Mg) {
		odvgp_real *row = v->L + (M + i) * F;
		GP__FOR(j, M) row[j] = W[j * Mg + i];
		gp__copy(row + M, Lv + i * Mg, Mg);
	}
	gp__freeze_sqrt(u, GP__ON_BETA, v->factor);
	gp__freeze_sqrt(u, GP__ON_GAMMA, v->factor_v);
}

/*	head and tile, NULL if the build has none of these members. */
#define GP__PART_IF(members, head, tile) \
	(ODVGP_MEMBERS) & (members) ? head : (gp__part_head *)NULL, \
			(ODVGP_MEMBERS) & (members) ? tile : (gp__part_tile *)NULL

#define GP__FREEZE_IF(has, f) ((has) ? f : (gp__part_freeze *)NULL)

/*	In the order of odvgp_mean_part and odvgp_cov_part. >>model explains the fields:
	{name, without_gamma, mu, gamma, Z_gamma, a, v_mu, has_a_beta, steps, scale, optimum,
	objectives, head, tile},
	{name, without_gamma, factor, q_sqrt, v_sqrt, diag, Z_gamma, sqrt_power, sqrt_start, steps,
	optimum, objectives, head, tile, freeze}. */
static const gp__mean_part gp__mean_parts[] = {
		{"beta", ODVGP_MEAN_PART_BETA, GP__MU_MEAN, GP__NO_GAMMA, NULL, NULL, NULL, 1,
				GP__STEPS_BETA, GP__SCALE_PRIOR, GP__OPTIMUM_WEIGHTS,
				GP__HAS_COLLAPSED | GP__HAS_TIGHT,
				GP__PART_IF(ODVGP_MEMBER_COUPLED, gp__beta_head, gp__beta_tile)},
		{"orth", ODVGP_MEAN_PART_ORTH, GP__MU_MEAN, GP__RESIDUAL_GAMMA, "Z_gamma", "a_gamma", NULL,
				1, GP__STEPS_BETA, GP__SCALE_RESIDUAL, GP__OPTIMUM_WEIGHTS, 0,
				GP__PART_IF(ODVGP_MEMBER_ORTH, gp__orth_head, gp__gamma_tile)},
		{"hybrid", ODVGP_MEAN_PART_HYBRID, GP__MU_MEAN, GP__RESIDUAL_GAMMA, "Z_gamma", "a_gamma",
				NULL, 1, GP__STEPS_BETA, GP__SCALE_SUM, GP__OPTIMUM_WEIGHTS, 0,
				GP__PART_IF(ODVGP_MEMBER_HYBRID, gp__hybrid_head, gp__gamma_tile)},
		{"free", ODVGP_MEAN_PART_FREE, GP__MU_COEFFICIENTS, GP__FREE_GAMMA, "Z_alpha", "a", NULL, 0,
				GP__STEPS_DIAGONAL | GP__STEPS_WATCHED, GP__SCALE_PRIOR, GP__OPTIMUM_WEIGHTS,
				GP__HAS_EXACT,
				GP__PART_IF(
						ODVGP_MEMBER_DECOUPLED | ODVGP_MEMBER_OM, gp__free_head, gp__free_tile)},
		{"blocks", ODVGP_MEAN_PART_BETA, GP__MU_MEAN, GP__WHITE_GAMMA, "Z_gamma", NULL, "v_mu", 0,
				GP__STEPS_BETA | GP__STEPS_GAMMA, GP__SCALE_PRIOR, GP__OPTIMUM_WEIGHTS,
				GP__HAS_COLLAPSED | GP__HAS_PARTLY,
				GP__PART_IF(ODVGP_MEMBER_SOLVE, gp__beta_head, gp__beta_tile)}};
static const gp__cov_part gp__cov_parts[] = {
		{"dense", ODVGP_COV_PART_DENSE, GP__FACTOR_OF_S, "q_sqrt", NULL, NULL, NULL, 0, 1,
				GP__STEPS_BETA, GP__OPTIMUM_ROOTS,
				GP__HAS_COLLAPSED | GP__HAS_PARTLY | GP__HAS_TIGHT,
				GP__PART_IF(ODVGP_MEMBER_COUPLED | ODVGP_MEMBER_ORTH | ODVGP_MEMBER_HYBRID,
						gp__dense_head, gp__dense_tile),
				gp__dense_freeze},
		{"inverse", ODVGP_COV_PART_INVERSE, GP__FACTOR_OF_INVERSE, "B_sqrt", NULL, NULL, NULL, -1,
				GP__R(1e-3), 0, GP__OPTIMUM_INVERSE, 0,
				GP__PART_IF(ODVGP_MEMBER_DECOUPLED, gp__inverse_head, gp__inverse_tile),
				GP__FREEZE_IF(GP__MEMBERS_INVERSE, gp__inverse_freeze)},
		{"diagonal", ODVGP_COV_PART_DIAGONAL, GP__DIAGONAL_OF_INVERSE, NULL, NULL, "q_diag", NULL,
				0, 1, GP__STEPS_DIAGONAL | GP__STEPS_WATCHED, GP__OPTIMUM_DIAGONAL, GP__HAS_EXACT,
				GP__PART_IF(ODVGP_MEMBER_OM, gp__inverse_head, gp__inverse_tile),
				GP__FREEZE_IF(GP__MEMBERS_INVERSE, gp__inverse_freeze)},
		{"blocks", ODVGP_COV_PART_DENSE, GP__FACTOR_OF_S, "q_sqrt", "v_sqrt", NULL, "Z_gamma", 0, 1,
				GP__STEPS_BETA | GP__STEPS_GAMMA, GP__OPTIMUM_ROOTS,
				GP__HAS_COLLAPSED | GP__HAS_PARTLY,
				GP__PART_IF(ODVGP_MEMBER_SOLVE, gp__dense_head, gp__dense_tile),
				GP__FREEZE_IF(GP__MEMBERS_SOLVE, gp__blocks_freeze)}};

static const gp__mean_part *gp__mean_part_of(const odvgp_config *c, ptrdiff_t layer)
{
	return &gp__mean_parts[c->layer[layer].mean_part];
}
static const gp__cov_part *gp__cov_part_of(const odvgp_config *c, ptrdiff_t layer)
{
	return &gp__cov_parts[c->layer[layer].cov_part];
}

/*	The mean has its own points, not q_mu. Only a second covariance block may share them. */
static int gp__has_free_points(const gp__mean_part *mean, ptrdiff_t M_gamma)
{
	return mean->gamma == GP__FREE_GAMMA && M_gamma > 0;
}

static int gp__steps_of(const gp__mean_part *mean, const gp__cov_part *cov, ptrdiff_t M_gamma)
{
	return gp__has_free_points(mean, M_gamma) ? 0 : mean->steps & cov->steps;
}

static int gp__uses_v(const gp__unit *u)
{
	return GP__MEMBERS_SOLVE && (u->mean_part->v_mu || u->cov_part->v_sqrt);
}

/*	Nodes, other than parameters, that a predictor reads. */
#define GP__PREDICTOR_NODES 10
static void gp__predictor_nodes(const gp__unit *u, gp__ref *node)
{
	const gp__block *beta = &u->block[GP__ON_BETA], *gamma = &u->block[GP__ON_GAMMA];
	int two = gp__uses_v(u), L = !u->L_H.id || u->weights.id;
	const gp__ref none = gp__none,
				  list[GP__PREDICTOR_NODES] = {u->weights, beta->white_sqrt, gamma->white_mu,
						  gamma->white_sqrt, u->a, u->L_H, u->q_diag, L ? u->L : none,
						  two ? u->W : none, two ? u->L_v : none};
	memcpy(node, list, sizeof list);
}

/* ---- >>settings   the config: defaults and checks

	To add an option: a field of odvgp_config in >>api whose default is 0, or is set here; its row
	at the end of gp__fields, whose order files hold, and a new GP__FILE_VERSION; what it excludes,
	in gp__check_config. Tool, Python and odvgp_config_set find it by its row. */

ODVGP_API odvgp_schedule odvgp_constant(odvgp_real value)
{
	odvgp_schedule s = {ODVGP_SCHEDULE_CONSTANT, value, value, 0, 0, 0, 0};
	return s;
}

ODVGP_API odvgp_schedule odvgp_falling(odvgp_real from, odvgp_real to, ptrdiff_t steps)
{
	odvgp_schedule s = {ODVGP_SCHEDULE_LOGLINEAR, from, to, steps, 0, 0, 0};
	return s;
}

ODVGP_API odvgp_schedule odvgp_rising(
		odvgp_real from, odvgp_real to, ptrdiff_t steps, odvgp_real final, ptrdiff_t decay_steps)
{
	odvgp_schedule s = odvgp_falling(from, to, steps);
	s.final = final;
	s.decay_from = steps;
	s.decay_steps = decay_steps;
	return s;
}

static void gp__optim_defaults(odvgp_config *c, ptrdiff_t M_gamma)
{
	c->optim.batch = GP__MIN(c->N, 1024);
	c->optim.gamma_batch = GP__MIN(M_gamma, 64);
	c->optim.lbfgs_memory = 10;
	c->optim.natgrad = 1;
	c->optim.natgrad_step = odvgp_falling(GP__R(0.1), GP__R(0.01), 5000);
	c->optim.gamma_step_ratio = GP__R(0.1);
	c->optim.lr = odvgp_falling(GP__R(0.01), GP__R(0.001), 5000);
	c->optim.adam_beta1 = GP__R(0.9);
	c->optim.adam_beta2 = GP__R(0.999);
	c->optim.adam_eps = GP__R(1e-8);
}

static void gp__jitter_defaults(odvgp_config *c, ptrdiff_t M)
{
	c->jitter.relative = GP__MAX(GP__R(1e-6),
			sizeof(odvgp_real) == 4 ? GP__R(16) * (odvgp_real)GP__MAX(M, 1) * GP__EPS : 0);
	c->jitter.max = GP__R(1e-2);
}

ODVGP_API odvgp_config odvgp_config_defaults(
		ptrdiff_t N, ptrdiff_t D, ptrdiff_t P, ptrdiff_t M, ptrdiff_t M_gamma)
{
	odvgp_config c;
	memset(&c, 0, sizeof c);
	c.N = N;
	c.layers = 1;
	c.layer[0].D = D;
	c.layer[0].P = P;
	c.layer[0].M = M;
	c.layer[0].M_gamma = M_gamma;
	c.kernel_cache_bytes = 16 << 20;
	c.init.warm = 1;
	c.layer[0].mean_part = M_gamma > 0 ? ODVGP_MEAN_PART_ORTH : ODVGP_MEAN_PART_BETA;
	c.reproduce.gamma_coords = ODVGP_GAMMA_COORDS_SCALED;
	c.positive_transform = ODVGP_POSITIVE_TRANSFORM_EXP;
	c.layer[0].kernel = "matern52(ard)";
	c.shards = 1;
	c.reproduce.diag_step = ODVGP_DIAG_STEP_AFFINE;
	gp__optim_defaults(&c, M_gamma);
	gp__jitter_defaults(&c, M);
	return c;
}

/* --- checking a config --- */

static int gp__schedule_ok(const odvgp_schedule *s, odvgp_real limit)
{
	int falls = s->kind != ODVGP_SCHEDULE_CONSTANT, linear = s->kind == ODVGP_SCHEDULE_LINEAR;
	if (s->kind < ODVGP_SCHEDULE_CONSTANT || s->kind > ODVGP_SCHEDULE_LOGLINEAR) return 0;
	if (!(s->end > 0 && s->end <= limit)) return 0;
	if (s->steps < 0 || s->decay_steps < 0 || s->decay_from < 0) return 0;
	if (s->decay_steps && (!(s->final >= 0) || !(s->final <= limit) || (s->final == 0 && !linear)))
		return 0;
	if (s->decay_steps && falls && s->decay_from < s->steps) return 0;
	return !falls ||
		   (s->steps >= 1 && s->start >= 0 && s->start <= limit && (linear || s->start > 0));
}

/*	A bad SIZE gives E_SIZE, any other bad field E_ARG. POWER: of two. CHOICE: an enumeration or
	int. SCHEDULE: `most` limits its step sizes. */
enum {
	GP__FIELD_SIZE,
	GP__FIELD_COUNT,
	GP__FIELD_POWER,
	GP__FIELD_CHOICE,
	GP__FIELD_REAL,
	GP__FIELD_SCHEDULE,
	GP__FIELD_BITS,
	GP__FIELD_TEXT
};
/*	The excluded end of a range. */
enum { GP__CLOSED, GP__ABOVE_LEAST, GP__BELOW_MOST };

typedef struct {
	const char *name;
	size_t offset, bytes;
	int type, open;
	gp__wide least, most;
	const char *words; /* of a CHOICE, from number 0 on; their count limits it */
} gp__field;

#define GP__LARGEST_SIZE ((gp__wide)((ptrdiff_t)1 << (sizeof(ptrdiff_t) > 4 ? 40 : 28)))
#define GP__LARGEST_SIDE ((gp__wide)(sizeof(ptrdiff_t) > 4 ? INT_MAX : 1 << 28))
#define GP__FIELD_AT(name, path, type, open, least, most, words) \
	{ \
		name, offsetof(odvgp_config, path), sizeof(((odvgp_config *)NULL)->path), \
				GP__FIELD_##type, GP__##open, (gp__wide)(least), (gp__wide)(most), words \
	}
#define GP__FIELD(path, type, least, most) \
	GP__FIELD_AT(#path, path, type, CLOSED, least, most, NULL)
#define GP__REAL(path, open, least, most) GP__FIELD_AT(#path, path, REAL, open, least, most, NULL)
#define GP__SIZE(path, least)             GP__FIELD(path, SIZE, least, GP__LARGEST_SIZE)
#define GP__LAYER_SIZE(path, least) \
	GP__FIELD_AT(#path, layer[0].path, SIZE, CLOSED, least, GP__LARGEST_SIDE, NULL)
#define GP__CHOICE(path, words) GP__FIELD_AT(#path, path, CHOICE, CLOSED, 0, 0, words)
#define GP__LAYER_CHOICE(path, words) \
	GP__FIELD_AT(#path, layer[0].path, CHOICE, CLOSED, 0, 0, words)
#define GP__SWITCH(path)       GP__CHOICE(path, "off on")
#define GP__LAYER_SWITCH(path) GP__LAYER_CHOICE(path, "off on")

/*	The fields of a model file, in order: all but kernel, threads and isa; offsets of layer[0]. */
static const gp__field gp__fields[] = {
		GP__FIELD(layers, SIZE, 1, ODVGP_MAX_LAYERS), /* first: others depend on it */
		GP__SIZE(N, 1),
		GP__LAYER_SIZE(D, 1),
		GP__LAYER_SIZE(P, 1),
		GP__LAYER_SIZE(M, 1),
		GP__LAYER_SIZE(M_gamma, 0),
		GP__SIZE(optim.batch, 1),
		GP__SIZE(tile, 0),
		GP__SIZE(optim.gamma_batch, 0),
		GP__SIZE(kernel_cache_bytes, 0),
		GP__LAYER_CHOICE(mean_part, "beta orth hybrid free blocks"),
		GP__LAYER_CHOICE(cov_part, "dense inverse diagonal blocks"),
		GP__CHOICE(objective, "elbo collapsed partly tight exact"),
		GP__CHOICE(optim.gamma_step, "adam diagonal exact"),
		GP__REAL(optim.gamma_step_ratio, ABOVE_LEAST, 0, DBL_MAX),
		GP__REAL(reproduce.gamma_eps, CLOSED, 0, DBL_MAX),
		GP__CHOICE(reproduce.blocks_step, "together alternate"),
		GP__CHOICE(reproduce.diag_step, "exact affine projected projected_mu"),
		GP__CHOICE(reproduce.parametrisation, "whitened primal a_beta"),
		GP__CHOICE(reproduce.gamma_coords, "plain scaled differentiated"),
		GP__CHOICE(reproduce.gamma_kl, "residual columns"),
		GP__CHOICE(lik.kind,
				"gaussian bernoulli logit studentt laplace poisson exponential negative_binomial "
				"gamma beta ordinal robustmax softmax heteroscedastic"),
		GP__FIELD(lik.nodes, COUNT, 0, GP__MOST_NODES),
		GP__FIELD(lik.classes, COUNT, 0, GP__MOST_CLASSES),
		GP__REAL(lik.link_jitter, BELOW_MOST, 0, 0.5),
		GP__SWITCH(lik.missing),
		GP__SWITCH(lik.weights),
		GP__SWITCH(lik.exposure),
		GP__SWITCH(lik.known_noise),
		GP__SWITCH(lik.noise_per_output),
		GP__LAYER_CHOICE(mean_function, "zero constant linear identity projection"),
		GP__LAYER_CHOICE(parametrisation, "whitened primal a_beta"),
		GP__FIELD(functions, SIZE, 0, GP__LARGEST_SIDE),
		GP__SWITCH(independent),
		GP__FIELD(deep.samples, COUNT, 0, 10000),
		GP__FIELD(deep.predict_samples, COUNT, 0, 10000),
		GP__SWITCH(deep.fixed_samples),
		GP__CHOICE(deep.q_init, "narrow prior"),
		GP__LAYER_SIZE(patches.image_height, 0),
		GP__LAYER_SIZE(patches.image_width, 0),
		GP__LAYER_SIZE(patches.channels, 0),
		GP__LAYER_SIZE(patches.height, 0),
		GP__LAYER_SIZE(patches.width, 0),
		GP__LAYER_SIZE(patches.stride, 0),
		GP__LAYER_SWITCH(patches.locations),
		GP__LAYER_SWITCH(patches.image_output),
		GP__CHOICE(positive_transform, "softplus exp"),
		GP__CHOICE(reproduce.q_init, "prior identity"),
		GP__CHOICE(init.beta, "kmeans random greedy farthest"),
		GP__CHOICE(init.gamma, "random residual"),
		GP__CHOICE(init.hyperparams, "median ulapane"),
		GP__CHOICE(reproduce.update, "joint natgrad_first adam_first"),
		GP__CHOICE(optim.kind, "adam lbfgs"),
		GP__FIELD(optim.lbfgs_memory, COUNT, 1, 1000),
		GP__FIELD(shards, POWER, 1, 65536),
		GP__SWITCH(optim.natgrad),
		GP__REAL(lik.noise_variance, CLOSED, 0, DBL_MAX),
		GP__REAL(lik.noise_floor, CLOSED, -1, DBL_MAX),
		GP__REAL(jitter.absolute, CLOSED, 0, DBL_MAX),
		GP__REAL(jitter.relative, CLOSED, 0, 1),
		GP__REAL(jitter.max, CLOSED, 0, 1),
		GP__FIELD(optim.natgrad_step, SCHEDULE, 0, 1),
		GP__FIELD(optim.lr, SCHEDULE, 0, 1e6),
		GP__REAL(optim.adam_beta1, BELOW_MOST, 0, 1),
		GP__REAL(optim.adam_beta2, BELOW_MOST, 0, 1),
		GP__REAL(optim.adam_eps, CLOSED, 0, DBL_MAX),
		GP__SWITCH(reproduce.adam_eps_inside),
		GP__FIELD(seed, BITS, 0, 0),
};

/*	Fields of odvgp_config_set that no file holds. */
static const gp__field gp__unsaved_fields[] = {
		GP__FIELD_AT("kernel", layer[0].kernel, TEXT, CLOSED, 0, 0, NULL),
		GP__SWITCH(init.warm),
		GP__CHOICE(isa, "auto c avx2 avx512 sse2 neon"),
};

/*	Enumerations may be stored in one or two bytes. */
static int gp__choice_get(const void *at, size_t bytes)
{
	unsigned char one;
	unsigned short two;
	int whole;
	if (bytes == sizeof one) {
		memcpy(&one, at, sizeof one);
		return one;
	}
	if (bytes == sizeof two) {
		memcpy(&two, at, sizeof two);
		return two;
	}
	memcpy(&whole, at, sizeof whole);
	return whole;
}

/*	Returns 0 if v does not fit. */
static int gp__choice_set(void *at, size_t bytes, int v)
{
	unsigned char one = (unsigned char)v;
	unsigned short two = (unsigned short)v;
	memcpy(at,
			bytes == sizeof one   ? (void *)&one
			: bytes == sizeof two ? (void *)&two
								  : (void *)&v,
			bytes);
	return gp__choice_get(at, bytes) == v;
}

static gp__wide gp__field_value(const gp__field *field, const odvgp_config *c)
{
	const void *at = (const unsigned char *)c + field->offset;
	if (field->type == GP__FIELD_CHOICE) return GP__W(gp__choice_get(at, field->bytes));
	if (field->type == GP__FIELD_REAL) return (gp__wide) * (const odvgp_real *)at;
	return (gp__wide) * (const ptrdiff_t *)at;
}

static int gp__field_in_layer(const gp__field *field)
{
	return field->offset - offsetof(odvgp_config, layer) < sizeof(((odvgp_config *)NULL)->layer);
}

static int gp__field_layers(const gp__field *field, const odvgp_config *c)
{
	return gp__field_in_layer(field) ? (int)c->layers : 1;
}

static gp__field gp__field_of_layer(const gp__field *field, int layer)
{
	gp__field moved = *field;
	if (gp__field_in_layer(field))
		moved.offset += (size_t)layer * sizeof((odvgp_config *)NULL)->layer[0];
	return moved;
}

static int gp__field_ok(const gp__field *field, const odvgp_config *c)
{
	const void *at = (const unsigned char *)c + field->offset;
	if (field->type == GP__FIELD_BITS || field->type == GP__FIELD_TEXT) return 1;
	if (field->type == GP__FIELD_SCHEDULE)
		return gp__schedule_ok((const odvgp_schedule *)at, (odvgp_real)field->most);
	gp__wide v = gp__field_value(field, c), most = field->most;
	for (const char *s = field->words; s && *s; s++) most += *s == ' ';
	if (!(field->open == GP__ABOVE_LEAST ? v > field->least : v >= field->least)) return 0;
	if (!(field->open == GP__BELOW_MOST ? v < most : v <= most)) return 0;
	return field->type != GP__FIELD_POWER || ((ptrdiff_t)v & ((ptrdiff_t)v - 1)) == 0;
}

static odvgp_status gp__check_field(
		const gp__field *of_first, int layer, const odvgp_config *c, odvgp_info *info)
{
	gp__wide v;
	const gp__field moved = gp__field_of_layer(of_first, layer), *field = &moved;
	if (field->offset == offsetof(odvgp_config, lik.noise_floor) && c->lik.noise_floor < 0 &&
			c->lik.noise_floor > -1)
		return gp__fail(info, ODVGP_E_ARG, field->name, -1, (gp__wide)c->lik.noise_floor,
				"must be -1, for none, or at least 0");
	if (gp__field_ok(field, c)) return ODVGP_OK;
	if (field->type != GP__FIELD_SIZE)
		return gp__refuse(info, ODVGP_E_ARG, field->name, "is out of range in the config");
	v = gp__field_value(field, c);
	return gp__fail(info, ODVGP_E_SIZE, field->name, layer, v,
			v < field->least ? "is below its least value" : "is too large");
}

static odvgp_status gp__check_fields(const odvgp_config *c, odvgp_info *info)
{
	odvgp_status s = ODVGP_OK;
	for (ptrdiff_t i = 0; i < GP__COUNT(gp__fields) && !s; i++)
		for (int l = 0; l < gp__field_layers(&gp__fields[i], c) && !s; l++)
			s = gp__check_field(&gp__fields[i], l, c, info);
	return s;
}

/* --- a field by its name --- */

static const gp__field *gp__field_at(ptrdiff_t i)
{
	const ptrdiff_t saved = GP__COUNT(gp__fields);
	if (i < 0 || i - saved >= GP__COUNT(gp__unsaved_fields)) return NULL;
	return i < saved ? &gp__fields[i] : &gp__unsaved_fields[i - saved];
}

/*	The field named by n characters, or NULL; without a prefix the last layer's. */
static const gp__field *gp__field_find(
		const char *name, size_t n, const odvgp_config *c, int *layer)
{
	const size_t skip = sizeof "layer0." - 1;
	const int in_layer = n > skip && !strncmp(name, "layer", 5) && name[skip - 1] == '.';
	const gp__field *field;
	ptrdiff_t layers = GP__MAX(1, GP__MIN(c->layers, ODVGP_MAX_LAYERS));
	*layer = in_layer ? name[5] - '0' : (int)layers - 1;
	if (*layer < 0 || *layer >= layers) return NULL;
	if (in_layer) {
		name += skip;
		n -= skip;
	}
	for (ptrdiff_t i = 0; (field = gp__field_at(i)) != NULL; i++)
		if (!strncmp(name, field->name, n) && !field->name[n])
			return in_layer && !gp__field_in_layer(field) ? NULL : field;
	return NULL;
}

/*	Length up to a space, the end or `stop`. */
static size_t gp__word_length(const char *s, char stop)
{
	size_t n = 0;
	while (s[n] && s[n] != ' ' && s[n] != '\t' && s[n] != stop) n++;
	return n;
}

static int gp__at_end(gp__parser *p)
{
	gp__skip_spaces(p);
	return !*p->at;
}

/*	A number, and nothing behind it. */
static int gp__parse_last_number(gp__parser *p, gp__wide *v)
{
	int negative = gp__accept(p, "-");
	*v = gp__parse_number(p);
	if (negative) *v = 0 - *v;
	return !p->error && gp__at_end(p);
}

/*	A CHOICE by word or number, the only value in the text, or -1. */
static int gp__parse_choice(gp__parser *p, const char *words)
{
	int count = 0, found = -1;
	gp__wide v;
	gp__skip_spaces(p);
	size_t n = gp__word_length(p->at, 0);
	for (; *words; count++) {
		size_t length = gp__word_length(words, 0);
		if (n == length && !strncmp(p->at, words, n)) found = count;
		words += length;
		if (*words) words++;
	}
	if (found < 0)
		return gp__parse_last_number(p, &v) && v >= 0 && v < GP__W(count) && v == gp__floor(v) ? (int)v
																						: -1;
	p->at += n;
	return gp__at_end(p) ? found : -1;
}

/*	64 bits, which a double may not hold. */
static int gp__parse_bits(gp__parser *p, uint64_t *v)
{
	gp__skip_spaces(p);
	if (*p->at < '0' || *p->at > '9') return 0;
	for (*v = 0; *p->at >= '0' && *p->at <= '9'; p->at++) {
		uint64_t digit = (uint64_t)(*p->at - '0');
		if (*v > (UINT64_MAX - digit) / 10) return 0;
		*v = 10 * *v + digit;
	}
	return gp__at_end(p);
}

/*	VALUE, FROM-TO or FROM-TO:STEPS. */
static int gp__parse_schedule(gp__parser *p, odvgp_schedule *s)
{
	gp__wide from = gp__parse_number(p), to, steps = 5000;
	if (!gp__accept(p, "-")) {
		*s = odvgp_constant((odvgp_real)from);
		return !p->error && gp__at_end(p);
	}
	to = gp__parse_number(p);
	if (gp__accept(p, ":")) steps = gp__parse_number(p);
	if (p->error || !gp__at_end(p) || !(steps <= GP__LARGEST_SIZE) || steps != gp__floor(steps))
		return 0;
	*s = odvgp_falling((odvgp_real)from, (odvgp_real)to, (ptrdiff_t)steps);
	return 1;
}

/*	Sizes out of range stay so: a later check refuses them. */
static int gp__parse_size(gp__parser *p, ptrdiff_t *size)
{
	const gp__wide beyond = 2 * GP__LARGEST_SIZE;
	gp__wide v;
	if (!gp__parse_last_number(p, &v) || v != gp__floor(v)) return 0;
	*size = (ptrdiff_t)GP__MAX(GP__MIN(v, beyond), -beyond);
	return 1;
}

/*	Refuses a number above 0 that the precision rounds to 0, often a default. */
static int gp__parse_real(gp__parser *p, odvgp_real *real)
{
	const int zero = strcspn(p->at, "123456789") >= strcspn(p->at, "eE");
	gp__wide v;
	if (!gp__parse_last_number(p, &v)) return 0;
	*real = (odvgp_real)v;
	return zero || *real != 0;
}

static int gp__parse_field(gp__parser *p, const gp__field *field, odvgp_config *c)
{
	void *at = (unsigned char *)c + field->offset;
	int choice;
	switch (field->type) {
	case GP__FIELD_CHOICE:
		choice = gp__parse_choice(p, field->words);
		return choice >= 0 && gp__choice_set(at, field->bytes, choice);
	case GP__FIELD_REAL: return gp__parse_real(p, (odvgp_real *)at);
	case GP__FIELD_SCHEDULE: return gp__parse_schedule(p, (odvgp_schedule *)at);
	case GP__FIELD_BITS: return gp__parse_bits(p, (uint64_t *)at);
	case GP__FIELD_TEXT: *(const char **)at = p->at; return 1;
	default: return gp__parse_size(p, (ptrdiff_t *)at);
	}
}

static odvgp_status gp__not_a_value(const gp__field *field, odvgp_info *info)
{
	char sentence[160];
	gp__text t = {sentence, sizeof sentence, 0};
	gp__put(&t, "must be ");
	gp__put(&t, field->type == GP__FIELD_CHOICE     ? "one of: "
				: field->type == GP__FIELD_REAL     ? "a number that the precision has"
				: field->type == GP__FIELD_SCHEDULE ? "VALUE, FROM-TO or FROM-TO:STEPS"
													: "a whole number");
	if (field->words) gp__put(&t, field->words);
	return gp__refuse(info, ODVGP_E_ARG, field->name, sentence);
}

static odvgp_status gp__no_field(const char *name, size_t n, odvgp_info *info)
{
	char start[41], sentence[160];
	gp__text t = {sentence, sizeof sentence, 0};
	n = GP__MIN(n, sizeof start - 1);
	memcpy(start, name, n);
	start[n] = 0;
	gp__put(&t, "there is no field '");
	gp__put(&t, start);
	gp__put(&t, "'; odvgp_config_name lists them");
	return gp__refuse(info, ODVGP_E_NAME, "config", sentence);
}

ODVGP_API odvgp_status odvgp_config_set(
		odvgp_config *config, const char *assignment, odvgp_info *info)
{
	gp__parser p;
	if (!config || !assignment) return gp__is_null(info, config ? "assignment" : "config");
	memset(&p, 0, sizeof p);
	p.at = assignment;
	gp__skip_spaces(&p);
	const char *name = p.at;
	size_t n = gp__word_length(name, '=');
	p.at += n;
	if (!gp__accept(&p, "="))
		return gp__refuse(info, ODVGP_E_ARG, "assignment", "must be name=value");
	int layer;
	const gp__field *field = gp__field_find(name, n, config, &layer);
	if (!field) return gp__no_field(name, n, info);
	gp__skip_spaces(&p);
	odvgp_config c = *config;
	const gp__field moved = gp__field_of_layer(field, layer);
	if (!gp__parse_field(&p, &moved, &c)) return gp__not_a_value(field, info);
	odvgp_status s = gp__check_field(field, gp__field_in_layer(field) ? layer : 0, &c, info);
	if (s) return s;
	GP__FROM(l, GP__MAX(1, config->layers), c.layers) { /* like the last one */
		c.layer[l] = c.layer[l - 1];
		c.layer[l].D = 0;
		memset(&c.layer[l].patches, 0, sizeof c.layer[l].patches);
	}
	*config = c;
	return ODVGP_OK;
}

ODVGP_API const char *odvgp_config_name(int i)
{
	const gp__field *field = gp__field_at(i);
	return field ? field->name : NULL;
}

ODVGP_API const char *odvgp_config_words(const char *name)
{
	int layer;
	odvgp_config one;
	if (!name) return NULL;
	memset(&one, 0, sizeof one);
	one.layers = 1;
	const gp__field *field = gp__field_find(name, strlen(name), &one, &layer);
	return field ? field->words : NULL;
}

static odvgp_target gp__target_of(const gp__likelihood *lik)
{
	return lik->flags & GP__LIK_CLASSES ? ODVGP_TARGET_CLASS
		   : lik->whole                 ? lik->most == 1 ? ODVGP_TARGET_BINARY : ODVGP_TARGET_NUMBER
		   : lik->least < 0             ? ODVGP_TARGET_REAL
		   : lik->most < 1              ? ODVGP_TARGET_PROPORTION
										: ODVGP_TARGET_POSITIVE;
}

ODVGP_API odvgp_likelihood_facts odvgp_likelihood_about(odvgp_likelihood kind)
{
	odvgp_likelihood_facts f;
	memset(&f, 0, sizeof f);
	if ((unsigned)kind >= (unsigned)GP__COUNT(gp__likelihoods)) return f;
	const gp__likelihood *lik = &gp__likelihoods[kind];
	f.name = lik->name;
	f.target = gp__target_of(lik);
	f.target_must = lik->why;
	f.functions = lik->flags & GP__LIK_FACTORS ? 1 : lik->flags & GP__LIK_CLASSES ? 0 : 2;
	f.link_jitter = (lik->flags & GP__LIK_LINK) != 0;
	f.exposure = (lik->flags & GP__LIK_EXPOSURE) != 0;
	f.scales_y = (lik->flags & GP__LIK_SCALABLE) != 0;
	f.closed = !lik->chunk;
	GP__FOR(k, lik->params) f.param[k] = lik->param[k].name;
	return f;
}

ODVGP_API odvgp_kernel_facts odvgp_kernel_about(int i)
{
	odvgp_kernel_facts f;
	int n = 0;
	memset(&f, 0, sizeof f);
	if (i < 0 || i >= GP__BASE_KERNEL_TYPES) return f;
	const gp__base_kernel_kind *kind = &gp__base_kernel_kinds[i];
	f.name = kind->name;
	if (kind->geometry == GP__DISTANCE || kind->geometry == GP__CIRCLE)
		f.param[n++] = "lengthscale";
	f.param[n++] = "variance";
	if (kind->shape_param) f.param[n++] = kind->shape_param;
	if (i == GP__POLYNOMIAL) f.param[n] = "degree";
	return f;
}

ODVGP_API size_t odvgp_config_size(void) { return sizeof(odvgp_config); }

ODVGP_API void odvgp_config_threads(odvgp_config *c, const odvgp_threads *threads)
{
	static const odvgp_threads serial = {NULL, NULL, 0};
	if (c) c->threads = threads ? *threads : serial;
}

/* --- what fields mean together --- */

/*	Of checked sizes. */
static gp__patches gp__patches_of(const odvgp_config *c, int l)
{
	gp__patches p = {0, 0, 0, 0, 0, 0, 0, 0};
	if (!GP__DESK || !c->layer[l].patches.image_height) return p;
	p.height = (int32_t)c->layer[l].patches.image_height;
	p.width = (int32_t)c->layer[l].patches.image_width;
	p.channels = (int32_t)GP__MAX(c->layer[l].patches.channels, 1);
	p.rows = (int32_t)c->layer[l].patches.height;
	p.columns = (int32_t)c->layer[l].patches.width;
	p.stride = (int32_t)GP__MAX(c->layer[l].patches.stride, 1);
	p.located = c->layer[l].patches.locations;
	p.image_output = c->layer[l].patches.image_output;
	return p;
}

/*	Sizes may be unchecked. */
static ptrdiff_t gp__input_columns(const odvgp_config *c, int l)
{
	if (!l) return c->layer[0].D;
	gp__patches below = gp__patches_of(c, l - 1);
	ptrdiff_t P = c->layer[l - 1].P;
	if (!below.image_output || !gp__patches_ok(&below, gp__input_columns(c, l - 1))) return P;
	gp__wide all = (gp__wide)P * (gp__wide)gp__patches_count(&below);
	return all >= 1 && all <= GP__LARGEST_SIDE ? (ptrdiff_t)all : -1;
}

static ptrdiff_t gp__inducing_columns(const odvgp_config *c, int l)
{
	gp__patches p = gp__patches_of(c, l);
	return gp__patch_columns(&p, gp__input_columns(c, l));
}

static odvgp_status gp__check_patches(const odvgp_config *c, int l, odvgp_info *info)
{
	gp__patches p = gp__patches_of(c, l);
	if (!GP__DESK) return ODVGP_OK; /* gp__check_small refuses them */
	const ptrdiff_t at = c->layers > 1 ? l : -1, H = c->layer[l].patches.image_height,
					W = c->layer[l].patches.image_width, h = c->layer[l].patches.height,
					w = c->layer[l].patches.width;
	const char *no = c->objective >= ODVGP_OBJECTIVE_TIGHT             ? "objective"
					 : c->init.hyperparams == ODVGP_INIT_HYPER_ULAPANE ? "init.hyperparams"
																	   : NULL;
	if ((!H || !W) && (H | W | h | w | c->layer[l].patches.channels | c->layer[l].patches.stride |
							  c->layer[l].patches.locations | c->layer[l].patches.image_output))
		return gp__fail(info, ODVGP_E_ARG, H ? "patches.image_width" : "patches.image_height", at,
				0, "must be given if another field of patches is");
	if (!H) return ODVGP_OK;
	if (h < 1 || h > H || w < 1 || w > W)
		return gp__fail(info, ODVGP_E_SIZE, h < 1 || h > H ? "patches.height" : "patches.width", at,
				(gp__wide)(h < 1 || h > H ? h : w),
				"must be at least 1, and a patch must fit into the image");
	if (!gp__patches_ok(&p, c->layer[l].D))
		return gp__fail(info, ODVGP_E_SIZE, "D", at, (gp__wide)c->layer[l].D,
				"must be image_height x image_width x channels of patches");
	if (p.image_output && l + 1 == c->layers)
		return gp__refuse(info, ODVGP_E_ARG, "patches.image_output",
				"is for hidden layers: the last one sums its patches");
	if ((gp__wide)c->layer[l].P * (gp__wide)gp__rows_of_input(&p) > GP__LARGEST_SIDE)
		return gp__fail(info, ODVGP_E_SIZE, "P", at, (gp__wide)c->layer[l].P,
				"times the patches is too large");
	if (!no) return ODVGP_OK;
	return gp__fail(info, ODVGP_E_UNSUPPORTED, no, at, 0, "does not exist with patches");
}

static odvgp_status gp__check_products(const odvgp_config *c, odvgp_info *info)
{
	gp__wide all = (gp__wide)c->functions * (gp__wide)c->layer[c->layers - 1].P;
	for (int l = 0; l < c->layers; l++) {
		gp__wide M = (gp__wide)c->layer[l].M, P = (gp__wide)c->layer[l].P,
				 Mg = (gp__wide)c->layer[l].M_gamma,
				 D = (gp__wide)GP__MAX(c->layer[l].D, gp__inducing_columns(c, l)) *
					 (c->independent ? P : 1);
		gp__wide factor_v = gp__cov_part_of(c, l)->v_sqrt ? P * Mg * Mg : 0;
		all += P * M * M + factor_v + (P + D) * (M + Mg) + P * D;
	}
	if (all > (gp__wide)PTRDIFF_MAX / 256)
		return gp__fail(info, ODVGP_E_SIZE, "P, M, M_gamma and D", -1, 0,
				"make too many parameters for memory");
	return ODVGP_OK;
}

static const char gp__one_layer_only[] = "must have one layer, and functions not independent";

static odvgp_status gp__check_layers(const odvgp_config *c, odvgp_info *info)
{
	const char *refused = c->objective != ODVGP_OBJECTIVE_ELBO           ? "objective"
						  : c->optim.gamma_step != ODVGP_GAMMA_STEP_ADAM ? "optim.gamma_step"
																		 : NULL;
	gp__wide rows = 1;
	for (int l = 0; l < GP__MIN(c->layers, ODVGP_MAX_LAYERS); l++) {
		gp__patches p = gp__patches_of(c, l);
		rows = GP__MAX(rows, (gp__wide)gp__rows_of_input(&p));
		if (c->layer[l].D != gp__input_columns(c, l))
			return gp__fail(info, ODVGP_E_ARG, "D", l, (gp__wide)c->layer[l].D,
					"of a layer must be the P of the layer below, times its patches with "
					"image_output");
		if (c->layer[l].mean_function == ODVGP_MEAN_FUNCTION_IDENTITY &&
				gp__row_columns(&p, c->layer[l].D) != gp__unit_outputs(c, l))
			return gp__fail(info, ODVGP_E_ARG, "mean_function", l, (gp__wide)c->layer[l].P,
					"IDENTITY needs D = P, and for independent functions D = 1: take PROJECTION "
					"for another width");
	}
	if ((gp__wide)c->N * (gp__wide)GP__MAX(c->deep.samples, 1) * rows > (gp__wide)PTRDIFF_MAX / 64)
		return gp__fail(info, ODVGP_E_SIZE, "deep.samples", 0, (gp__wide)c->deep.samples,
				"times N is too large");
	if (c->layers > 1 && refused)
		return gp__unsupported(info, refused, "exists only for models of one layer");
	if (c->independent && c->objective != ODVGP_OBJECTIVE_ELBO)
		return gp__unsupported(info, "independent", "needs the objective ELBO");
	if (gp__units_of(c) - c->layers >= GP__MOST_UNITS)
		return gp__fail(info, ODVGP_E_SIZE, "P", (int)c->layers - 1,
				(gp__wide)c->layer[c->layers - 1].P,
				"must be at most 1000 for independent functions");
	if (c->layers > 1 && c->optim.kind == ODVGP_OPTIMIZER_LBFGS && !c->deep.fixed_samples)
		return gp__unsupported(info, "deep.fixed_samples",
				"must be 1 with L-BFGS, which needs the same bound in each step");
	return ODVGP_OK;
}

static ptrdiff_t gp__functions(const odvgp_config *c)
{
	return c->functions ? c->functions : c->layer[c->layers - 1].P;
}

static odvgp_status gp__check_likelihood(const odvgp_config *c, odvgp_info *info)
{
	const gp__likelihood *lik = gp__lik_of(c);
	int noise = c->lik.noise_variance != 0 || c->lik.noise_floor != 0 || c->lik.known_noise ||
				c->lik.noise_per_output;
	odvgp_status s =
			gp__check_functions(lik, c->layer[c->layers - 1].P, c->functions, c->lik.classes, info);
	if (!lik->y_moments) return gp__unsupported(info, "lik.kind", gp__left_out);
	if (s) return s;
	if (c->functions && c->objective != ODVGP_OBJECTIVE_ELBO)
		return gp__unsupported(info, "functions", "must be 0 without the objective ELBO");
	if (c->lik.link_jitter > 0 && !(lik->flags & GP__LIK_LINK))
		return gp__fail(info, ODVGP_E_ARG, "lik.link_jitter", -1, (gp__wide)c->lik.link_jitter,
				"is only for bernoulli and robustmax");
	if (noise && !gp__has_noise(c))
		return gp__refuse(
				info, ODVGP_E_ARG, "a noise in lik", "is only for the Gaussian likelihood");
	if (c->lik.exposure && !(lik->flags & GP__LIK_EXPOSURE))
		return gp__refuse(info, ODVGP_E_ARG, "lik.exposure",
				"is only for poisson, exponential and negative_binomial");
	if (!GP__DESK || c->objective == ODVGP_OBJECTIVE_ELBO) return ODVGP_OK;
	if (c->lik.missing)
		return gp__unsupported(info, "lik.missing",
				"needs the objective ELBO: leave out rows with missing targets");
	if (c->lik.noise_per_output && gp__functions(c) > 1)
		return gp__unsupported(info, "lik.noise_per_output",
				"needs the objective ELBO: other bounds have one noise");
	if ((c->lik.weights || c->lik.known_noise) && c->objective == ODVGP_OBJECTIVE_TIGHT)
		return gp__unsupported(info, "lik.weights or lik.known_noise",
				"does not go with the objective TIGHT: use COLLAPSED");
	return ODVGP_OK;
}

/*	Checks of objectives without q. */
static odvgp_status gp__check_objective(const odvgp_config *c, odvgp_info *info)
{
	int both = gp__mean_part_of(c, 0)->objectives & gp__cov_part_of(c, 0)->objectives,
		exact = c->objective == ODVGP_OBJECTIVE_EXACT;
	if (!(both >> c->objective & 1) || (exact && (c->layer[0].M_gamma || c->layer[0].M != c->N)))
		return gp__unsupported(
				info, "objective", "is not there for this pair of mean and covariance part");
	if (c->optim.batch < c->N)
		return gp__fail(info, ODVGP_E_UNSUPPORTED, "optim.batch", -1, (gp__wide)c->optim.batch,
				"must cover all rows for this objective");
	if (!gp__has_noise(c))
		return gp__unsupported(info, "objective", "needs the Gaussian likelihood");
	return ODVGP_OK;
}

static odvgp_status gp__check_lbfgs(const odvgp_config *c, odvgp_info *info)
{
	if (!GP__DESK || c->optim.kind != ODVGP_OPTIMIZER_LBFGS) return ODVGP_OK;
	if (c->optim.natgrad && c->objective == ODVGP_OBJECTIVE_ELBO)
		return gp__unsupported(
				info, "optim.natgrad", "must be 0 with L-BFGS, which moves all slots itself");
	if (c->optim.batch < c->N)
		return gp__fail(info, ODVGP_E_UNSUPPORTED, "optim.batch", -1, (gp__wide)c->optim.batch,
				"must cover all rows: L-BFGS needs full batch");
	return ODVGP_OK;
}

static odvgp_parametrisation gp__parametrisation_of(const odvgp_config *c, int layer)
{
	odvgp_parametrisation own = c->layer[layer].parametrisation;
	return own != ODVGP_PARAMETRISATION_WHITENED ? own : c->reproduce.parametrisation;
}

static odvgp_status gp__check_member(const odvgp_config *c, odvgp_info *info)
{
	odvgp_status s = gp__check_lbfgs(c, info);
	for (int l = 0; l < c->layers && !s; l++)
		if (!gp__mean_part_of(c, l)->tile || !gp__cov_part_of(c, l)->tile ||
				(!c->layer[l].M_gamma &&
						(!gp__mean_parts[gp__mean_part_of(c, l)->without_gamma].tile ||
								!gp__cov_parts[gp__cov_part_of(c, l)->without_gamma].tile)))
			s = gp__unsupported(info, "member", gp__left_out);
	if (s) return s;
	if (GP__DESK && c->objective != ODVGP_OBJECTIVE_ELBO) return gp__check_objective(c, info);
	for (int l = 0; l < c->layers; l++) {
		const gp__mean_part *part = gp__mean_part_of(c, l);
		const gp__cov_part *cov = gp__cov_part_of(c, l);
		if (c->optim.natgrad && !gp__steps_of(part, cov, c->layer[l].M_gamma))
			return gp__unsupported(info, "optim.natgrad",
					"this pair of mean and covariance part has no natural step: set it to 0");
		if (gp__parametrisation_of(c, l) == ODVGP_PARAMETRISATION_A_BETA && !part->has_a_beta)
			return gp__unsupported(
					info, "reproduce.parametrisation", "A_BETA does not exist for this mean part");
	}
	if (!GP__DESK || c->optim.gamma_step == ODVGP_GAMMA_STEP_ADAM) return ODVGP_OK;
	/* eqs. 15a and 16 of [ODVGP] */
	if (!c->optim.natgrad || gp__mean_part_of(c, 0)->gamma != GP__RESIDUAL_GAMMA)
		return gp__unsupported(info, "optim.gamma_step",
				"natural steps of gamma are for ORTH and HYBRID with natgrad = 1");
	if (c->reproduce.gamma_coords == ODVGP_GAMMA_COORDS_DIFFERENTIATED)
		return gp__unsupported(
				info, "optim.gamma_step", "natural steps of gamma need the slot to hold a itself");
	return ODVGP_OK;
}

/*	What ODVGP_FLOAT_ONLY leaves out. */
static odvgp_status gp__check_small(const odvgp_config *c, odvgp_info *info)
{
	const char *no = NULL;
	if (c->optim.kind != ODVGP_OPTIMIZER_ADAM) no = "optim.kind";
	if (c->optim.gamma_step != ODVGP_GAMMA_STEP_ADAM) no = "optim.gamma_step";
	if (c->objective != ODVGP_OBJECTIVE_ELBO) no = "objective";
	if (c->layer[0].patches.image_height) no = "patches";
	if (c->functions) no = "functions";
	if (c->independent) no = "independent";
	if (c->positive_transform != ODVGP_POSITIVE_TRANSFORM_EXP) no = "positive_transform";
	if (c->init.beta == ODVGP_INIT_BETA_GREEDY) no = "init.beta";
	if (c->init.gamma == ODVGP_INIT_GAMMA_RESIDUAL) no = "init.gamma";
	if (c->init.hyperparams == ODVGP_INIT_HYPER_ULAPANE) no = "init.hyperparams";
	if (gp__parametrisation_of(c, 0) != ODVGP_PARAMETRISATION_WHITENED ||
			c->reproduce.gamma_coords == ODVGP_GAMMA_COORDS_DIFFERENTIATED ||
			c->reproduce.update != ODVGP_UPDATE_JOINT)
		no = "reproduce";
	return no ? gp__unsupported(info, no, gp__left_out) : ODVGP_OK;
}

static odvgp_status gp__check_config(const odvgp_config *c, odvgp_info *info)
{
	odvgp_status s = gp__check_fields(c, info);
	if (!s && (ptrdiff_t)c->lik.kind >= GP__COUNT(gp__likelihoods))
		s = gp__unsupported(info, "lik.kind", gp__left_out);
	if (!s && !GP__DESK) s = gp__check_small(c, info);
	for (int l = 0; l < c->layers && !s; l++) s = gp__check_patches(c, l, info);
	if (!s) s = gp__check_products(c, info);
	if (!s) s = gp__check_layers(c, info);
	if (!s) s = gp__check_likelihood(c, info);
	if (s) return s;
	if (!gp__isa_find(c->isa))
		return gp__unsupported(info, "isa", "this machine or this build lacks the instruction set");
	return gp__check_member(c, info);
}

/*	Slots of the positive or free parameters; returns the first, or 0. */
static int gp__likelihood_slots(odvgp_model *m, int positive, int *slots)
{
	const gp__likelihood *lik = gp__lik_of(&m->cfg);
	int before = m->par.slots, kind = positive ? GP__POSITIVE : 0;
	m->par.of = NULL;
	GP__FOR(k, lik->params) {
		ptrdiff_t count = gp__lik_count(&lik->param[k], m->extent);
		if (lik->param[k].positive != positive || !count) continue;
		int slot = gp__slot_add(&m->par, lik->param[k].name, kind, 1, count, 1, 1);
		if (!m->par.slot) continue;
		m->par.slot[slot].trainable = !lik->param[k].fixed;
		if (lik->param[k].rate) m->par.state[slot].high = 1 - 1 / (odvgp_real)m->F;
	}
	*slots = m->par.slots - before;
	return *slots ? before + 1 : 0;
}

/* ---- >>bound   the evidence lower bound and its gradient

		elbo = N/B sum_n E_q[log p(y_n|f_n)] - KL(q||p)    [SVGP]; [ODVGP] eq. 4
	With hidden layers E is the mean over S samples of the last layer's inputs, and KL sums over
	layers [DGP].

	The head runs forward, each tile forward and backward, adding to the head's adjoints, then the
	head backward. The bound is linear in the sum over rows: one visit of each tile is enough. */

/*	n rows from `first`, of the data or an epoch's permutation. */
typedef struct {
	const odvgp_real *X, *Y;
	ptrdiff_t n, first;
	int permuted;
	uint64_t epoch;
} gp__rows;

typedef struct {
	/* gradients; statistics for a natural step; gradients of all slots, not only of Adam's */
	int grad, stats, all;
	int purpose; /* GP__GIVES_... */
} gp__wants_list;

/* --- loading a tile --- */

static ptrdiff_t gp__row_at(const odvgp_model *m, const gp__rows *r, ptrdiff_t i)
{
	return r->permuted
				   ? gp__permute(m->cfg.seed, GP__STREAM_BATCH, r->epoch, m->cfg.N, r->first + i)
				   : r->first + i;
}

/*	e / w of a row of the tile. */
static gp__wide gp__noise_factor(const odvgp_model *m, ptrdiff_t i)
{
	gp__wide root = m->root.id ? (gp__wide)m->tape.node[m->root.id].v[i] : 1;
	return root * root;
}

/*	Row i of the tile. */
static odvgp_status gp__tile_target(odvgp_model *m, ptrdiff_t i, const odvgp_real *y)
{
	gp__node *Y = &m->tape.node[m->Y.id];
	ptrdiff_t C = gp__y_columns(&m->y);
	odvgp_real w = m->y.weights ? y[m->y.T] : 1, e = m->y.scale ? y[C - 1] : 1;
	GP__FOR(t, C) GP__V(Y, t, i) = y[t];
	if (m->y.scale && !gp__has_noise(&m->cfg)) /* exposure */
		GP__V(Y, C - 1, i) = (odvgp_real)gp__log((gp__wide)e);
	m->tape.sums->weight += (gp__wide)w;
	if (!m->root.id) return ODVGP_OK;
	if (m->y.scale) m->tape.sums->logs += (gp__wide)w * gp__log((gp__wide)e);
	m->tape.node[m->root.id].v[i] = w > 0 ? GP__SQRT(e / w) : (odvgp_real)HUGE_VAL;
	return m->cfg.objective == ODVGP_OBJECTIVE_EXACT && !(w > 0) ? ODVGP_E_ARG : ODVGP_OK;
}

/*	The hidden layers' normals for rows [at, at + n) of a batch: functions of layer, step, position
	in the batch, sample and output, the same whenever rows are seen again. */
static void gp__tile_normals(odvgp_model *m, ptrdiff_t at, ptrdiff_t n)
{
	uint64_t step = m->cfg.deep.fixed_samples ? 0 : m->state.steps,
			 seed = gp__random(m->cfg.seed, GP__STREAM_HIDDEN, step);
	GP__FROM(k, 1, ODVGP_MAX_LAYERS > 1 ? m->cfg.layers : 1) {
		gp__unit *u = &m->unit[k]; /* the layer's first, whose inputs all use */
		gp__node *eps = &m->tape.node[u->eps.id];
		ptrdiff_t S = m->cfg.deep.samples;
		GP__FOR(r, S * n) {
			ptrdiff_t s = r / n, i = at + r % n;
			GP__FOR(p, u->D)
				GP__V(eps, r, p) = u->normals ? u->normals[(s * u->normal_rows + i) * u->D + p]
											  : (odvgp_real)gp__normal(seed, (uint64_t)k,
														(uint64_t)((i * S + s) * u->D + p));
		}
		eps->stamp = ++m->tape.clock;
	}
}

/*	Rows [at, at + n) into the tile's X and, transposed, once per sample, Y. X's stamp changes only
	with X. */
GP__NOINLINE odvgp_status gp__tile_load(
		odvgp_model *m, const gp__rows *rows, ptrdiff_t at, ptrdiff_t n, odvgp_info *info)
{
	gp__node *X = &m->tape.node[m->X.id], *Y = &m->tape.node[m->Y.id];
	ptrdiff_t D = m->cfg.layer[0].D, C = gp__y_columns(&m->y), S = m->unit[m->units - 1].times;
	int changed = m->tape.rows != n;
	GP__FOR(i, n) {
		ptrdiff_t row = gp__row_at(m, rows, at + i);
		const odvgp_real *x = rows->X + row * D, *y = rows->Y + row * C;
		if (!gp__finite(x, D)) {
			ptrdiff_t d = gp__first_nonfinite(x, D);
			X->stamp = ++m->tape.clock; /* some rows are overwritten */
			return gp__fail(info, ODVGP_E_NAN, "X", row, (gp__wide)x[d], "a row is not finite");
		}
		odvgp_status s = gp__targets_check(&m->y, y, 1, row, info);
		if (!s && (s = gp__tile_target(m, i, y)) != ODVGP_OK)
			gp__fail(info, s, "Y", row, 0,
					"exact regression takes no weight of 0: leave out the row");
		if (s) {
			X->stamp = ++m->tape.clock;
			return s;
		}
		if (!changed) changed = memcmp(X->v + i * D, x, (size_t)D * sizeof *x) != 0;
		if (changed) gp__copy(X->v + i * D, x, D);
	}
	m->tape.rows = n;
	if (changed) X->stamp = ++m->tape.clock;
	Y->stamp = ++m->tape.clock;
	GP__FOR(t, C)
		GP__FROM(k, 1, S) gp__copy(Y->v + t * Y->ld + k * n, Y->v + t * Y->ld, n);
	if (m->root.id) m->tape.node[m->root.id].stamp = m->tape.clock;
	gp__tile_normals(m, at, n);
	return ODVGP_OK;
}

/* --- gradients that are wanted --- */

static int gp__gamma_steps(const gp__unit *u)
{
	return GP__DESK && u->model->cfg.optim.gamma_step != ODVGP_GAMMA_STEP_ADAM && u->Z_gamma.id;
}

/*	Gamma's natural step reads the gradient of a, and of HYBRID's q_mu. */
static int gp__natural_reads_gradient(const gp__unit *u, int slot)
{
	return gp__gamma_steps(u) &&
		   (slot == u->slot_a || (u->shift.id && slot == u->block[GP__ON_BETA].slot_mu));
}

static int gp__any_gamma_steps(const odvgp_model *m)
{
	int any = 0;
	GP__EACH_UNIT(u, m) any |= gp__gamma_steps(u);
	return any;
}

static void gp__mark_params(odvgp_model *m, const gp__wants_list *want)
{
	GP__EACH_NODE(nd, &m->tape) {
		if (!nd->slots) continue;
		nd->needs_grad = 0;
		for (int s = nd->slot; s < nd->slot + nd->slots; s++) {
			const odvgp_slot *slot = &m->par.slot[s];
			nd->stamp = GP__MAX(nd->stamp, m->par.state[s].stamp);
			if (want->grad) nd->needs_grad |= want->all || (slot->trainable && !slot->natgrad);
			if (want->stats) nd->needs_grad |= gp__natural_reads_gradient(nd->of, s);
		}
	}
	m->tape.purpose = want->purpose | (want->stats ? GP__GIVES_STATS : 0);
	gp__tape_mark(&m->tape);
}

/*	Slots of natural steps need a gradient only if gamma's step reads it. */
static int gp__has_gradient(const odvgp_model *m, const gp__wants_list *want, int slot)
{
	return want->all || !m->par.slot[slot].natgrad || gp__any_gamma_steps(m);
}

static int gp__grad_finite(const odvgp_model *m, const gp__wants_list *want)
{
	int finite = 1;
	for (int s = 1; s <= m->par.slots && finite; s++) {
		const odvgp_slot *slot = &m->par.slot[s];
		if (gp__has_gradient(m, want, s))
			finite = gp__finite(m->par.grad + slot->offset, slot->count);
	}
	return finite;
}

static void gp__clear_sums(odvgp_model *m, const gp__wants_list *want)
{
	memset(m->tape.sums, 0, sizeof *m->tape.sums);
	ODVGP_ASSERT(m->par.lent.to == GP__NOBODY);
	for (int s = 1; s <= m->par.slots && (want->grad || want->stats); s++)
		if (gp__has_gradient(m, want, s))
			gp__zero(m->par.grad + m->par.slot[s].offset, m->par.slot[s].count);
	GP__EACH_NODE(nd, &m->tape) {
		if (!want->stats || gp__stores(nd) != GP__STORES_STATS) continue;
		GP__FOR(r, nd->rows * nd->cols) /* lower triangles */
			gp__zero(nd->aux + r * nd->cols, r % nd->cols + 1);
		gp__zero(nd->v, nd->rows * nd->cols);
	}
}

static void gp__mask_grad(odvgp_model *m, const gp__wants_list *want)
{
	GP__EACH_SLOT(s, m) {
		const odvgp_slot *slot = &m->par.slot[s];
		if (!slot->lower || !gp__has_gradient(m, want, s)) continue;
		ptrdiff_t M = slot->shape[2];
		GP__FOR(r, slot->shape[0] * M)
			gp__zero(m->par.grad + slot->offset + r * M + r % M + 1, M - r % M - 1);
	}
}

/* --- sums over tiles ---
	Shard s of S has tiles [s n / S, (s + 1) n / S), which it adds in order. A binary tree adds the
	shards, so the bits do not depend on who runs which shard. */

/*	A forward run keeps the sums of reverse runs, whose memory may hold a natural step that is being
	checked. */
static void gp__sums_clear(gp__tape *t, int back)
{
	memset(t->sums, 0, sizeof *t->sums);
	gp__zero(t->sum, back ? t->all_sums : t->forward_sums);
}

/*	A level's piece of the tree: a gp__sums in 64 bytes, then numbers. */
#define GP__SUMS_REALS (64 / (ptrdiff_t)sizeof(odvgp_real))
static odvgp_real *gp__tree_at(const gp__tape *t, int level)
{
	return t->tree + level * (GP__SUMS_REALS + t->all_sums);
}

static void gp__sums_put(const gp__tape *t, int back, odvgp_real *piece)
{
	memcpy(piece, t->sums, sizeof *t->sums);
	gp__copy(piece + GP__SUMS_REALS, t->sum, back ? t->all_sums : t->forward_sums);
}

/*	sums = piece + sums. The piece's rows come first, so its error replaces that of sums. */
static void gp__sums_add(gp__tape *t, int back, const odvgp_real *piece)
{
	gp__sums before;
	const odvgp_real *x = piece + GP__SUMS_REALS;
	memcpy(&before, piece, sizeof before);
	t->sums->expected = before.expected + t->sums->expected;
	t->sums->weight = before.weight + t->sums->weight;
	t->sums->logs = before.logs + t->sums->logs;
	t->sums->clamped += before.clamped;
	if (before.status) {
		t->sums->status = before.status;
		t->sums->row = before.row;
	}
	GP__FOR(i, back ? t->all_sums : t->forward_sums) t->sum[i] = x[i] + t->sum[i];
}

/*	N/B, over the samples of each row. */
static odvgp_real gp__row_scale(const odvgp_model *m, ptrdiff_t n)
{
	return (odvgp_real)m->cfg.N / (odvgp_real)(n * m->unit[m->units - 1].times);
}

static odvgp_status gp__visit_tile(
		odvgp_model *m, const gp__rows *rows, ptrdiff_t at, int back, odvgp_info *info)
{
	gp__tape *t = &m->tape;
	odvgp_status s = gp__tile_load(m, rows, at, GP__MIN(m->cfg.tile, rows->n - at), info);
	t->data_error = s != ODVGP_OK;
	if (s || (s = gp__tape_forward_info(t, GP__TILE, info)) != ODVGP_OK || !back) return s;
	gp__tape_zero(t, GP__TILE);
	if (m->expect.id) t->node[m->expect.id].d[0] = -gp__row_scale(m, rows->n);
	gp__tape_reverse(t, GP__TILE);
	return ODVGP_OK;
}

static odvgp_status gp__visit_shard(
		odvgp_model *m, const gp__rows *rows, ptrdiff_t shard, int back, odvgp_info *info)
{
	gp__tape *t = &m->tape;
	odvgp_info *told = info ? info : t->own_info;
	ptrdiff_t tile = m->cfg.tile, tiles = (rows->n - 1) / tile + 1, S = m->cfg.shards,
			  from = shard * (tiles / S) + shard * (tiles % S) / S,
			  to = (shard + 1) * (tiles / S) + (shard + 1) * (tiles % S) / S;
	if (shard > 0) gp__sums_clear(t, back);
	for (ptrdiff_t k = from; k < to && !t->sums->status; k++) {
		/* for the likelihood and its exponentials */
		gp__ask(&t->blas,
				1000 * (gp__wide)tile * (gp__wide)m->F * (gp__wide)m->unit[m->units - 1].times);
		t->sums->status = gp__stop_status(m, told);
		if (!t->sums->status) t->sums->status = gp__visit_tile(m, rows, k * tile, back, told);
	}
	if (t->sums->status) t->sums->row = told->row;
	return t->sums->status;
}

/*	The trailing 1 bits of `shard` count the complete subtrees to its left: they are added, nearest
	first, and the sum waits for its right neighbour. After an error all waiting sums are added, for
	their counts. */
static odvgp_status gp__visit_tiles(
		odvgp_model *m, const gp__rows *rows, int back, odvgp_info *info)
{
	gp__tape *t = &m->tape;
	GP__FOR(shard, m->cfg.shards) {
		int level = 0;
		odvgp_status s = gp__visit_shard(m, rows, shard, back, info);
		for (; shard >> level & 1; level++) gp__sums_add(t, back, gp__tree_at(t, level));
		for (; s && shard >> level; level++)
			if (shard >> level & 1) gp__sums_add(t, back, gp__tree_at(t, level));
		if (s) return s;
		if (shard + 1 < m->cfg.shards) gp__sums_put(t, back, gp__tree_at(t, level));
	}
	return ODVGP_OK;
}

/*	A bound not linear in sums over rows: the tiles for the sums, the tail forward and backward,
	then the tiles again for the gradient, a single one only backward. */
static odvgp_status gp__visit_objective(
		odvgp_model *m, const gp__rows *rows, int back, odvgp_info *info)
{
	gp__tape *t = &m->tape;
	if (m->moments.id) gp__node_zero(t->node[m->moments.id].v, &t->node[m->moments.id]);
	t->again = 0;
	odvgp_status s = gp__visit_tiles(m, rows, 0, info);
	if (s || (s = gp__tape_forward_info(t, GP__TAIL, info)) != ODVGP_OK) return s;
	t->sums->expected = (gp__wide)t->node[m->objective.id].v[0];
	if (!back) return ODVGP_OK;
	int one = rows->n <= m->cfg.tile && m->cfg.shards == 1;
	if (one) gp__tape_zero(t, GP__TILE); /* the tail adds to the tile's adjoints */
	gp__tape_zero(t, GP__TAIL);
	t->node[m->objective.id].d[0] = -1;
	gp__tape_reverse(t, GP__TAIL);
	t->again = 1;
	if (one) gp__tape_reverse(t, GP__TILE);
	else s = gp__visit_tiles(m, rows, 1, info);
	t->again = 0;
	return s;
}

/* --- one evaluation; going back to good parameters --- */

static odvgp_status gp__evaluate(odvgp_model *m, const gp__rows *rows, gp__wants_list want,
		odvgp_real *expected, odvgp_real *kl, odvgp_info *info)
{
	gp__tape *t = &m->tape;
	odvgp_real scale = gp__row_scale(m, rows->n), divergence = 0;
	int grads = want.grad || (want.stats && gp__any_gamma_steps(m)),
		whole = GP__DESK && m->objective.id;
	t->data_error = 0;
	if (whole && rows->n != m->cfg.N)
		return gp__fail(info, ODVGP_E_ARG, "n", -1, (gp__wide)rows->n,
				"a bound without q needs all rows at once");
	odvgp_status s = gp__theta_check(m, info);
	if (s || (s = gp__stop_status(m, info)) != ODVGP_OK) return s;
	if (whole) want.purpose = GP__GIVES_COLLAPSED;
	gp__mark_params(m, &want);
	gp__clear_sums(m, &want);
	s = gp__tape_forward_info(t, GP__HEAD, info);
	if (s) return s;
	gp__tape_zero(t, GP__HEAD);
	s = whole ? gp__visit_objective(m, rows, grads, info)
			  : gp__visit_tiles(m, rows, grads || want.stats, info);
	if (s == ODVGP_E_STOPPED) return s;
	t->events.variance_clamped += t->sums->clamped;
	if (s) return s;
	GP__EACH_NODE(nd, t) {
		if (!nd->active || !gp__is_kl_term(nd)) continue;
		divergence += nd->v[0];
		nd->d[0] = 1;
	}
	/* infinite if a factor's diagonal holds a 0, where its derivative is 1 / 0 */
	if (grads && divergence - divergence == 0) {
		gp__tape_reverse(t, GP__HEAD);
		gp__mask_grad(m, &want);
		if ((s = gp__stop_status(m, info))) return s;
	}
	*expected = (odvgp_real)(t->sums->expected * (whole ? 1 : (gp__wide)scale) +
							 gp__add_priors(&m->par, grads ? m->par.grad : NULL));
	*kl = divergence;
	if (!(*expected - *expected == 0) || !(divergence - divergence == 0) ||
			(grads && !gp__grad_finite(m, &want)))
		return gp__fail(info, ODVGP_E_NAN, "bound", -1, (gp__wide)(*expected - divergence),
				"the bound or its gradient is not finite");
	return ODVGP_OK;
}

/*	What a failed attempt restores. */
typedef struct {
	odvgp_events events;
	uint64_t nat_valid;
} gp__attempt;

static void gp__keep_jitters(odvgp_model *m)
{
	GP__EACH_UNIT(u, m) memcpy(u->jitter_kept, u->jitter, sizeof u->jitter);
}
static void gp__restore_jitters(odvgp_model *m)
{
	GP__EACH_UNIT(u, m) gp__jitter_restore(&m->tape, u->jitter, u->jitter_kept);
}

static void gp__swap_good(odvgp_model *m)
{
	GP__FOR(i, m->par.count) {
		odvgp_real now = m->par.theta[i];
		if (now == m->good[i]) continue;
		gp__set_theta(m, gp__slot_of(&m->par, i), i, m->good[i]);
		m->good[i] = now;
	}
	gp__touch_all(m);
}

/*	Swap in the last good parameters. The caller's clear good_valid and are never undone. */
static gp__attempt gp__try_good(odvgp_model *m)
{
	gp__attempt before;
	gp__keep_jitters(m);
	before.events = m->tape.events;
	before.nat_valid = m->state.nat_valid;
	gp__swap_good(m);
	return before;
}

/*	The last good parameters are no better: restore everything. */
static void gp__stay(odvgp_model *m, const gp__attempt *before)
{
	gp__swap_good(m);
	gp__restore_jitters(m);
	m->tape.events = before->events;
	m->state.nat_valid = before->nat_valid;
}

/*	The last good parameters are better: keep them. */
static void gp__go_back(odvgp_model *m)
{
	gp__copy(m->good, m->par.theta, m->par.count);
	gp__zero(m->m1, m->par.adam);
	gp__zero(m->m2, m->par.adam);
	m->state.adam_steps = 0;
	m->state.step_scale /= 2;
	m->state.clean_steps = 0;
	m->tape.events.step_undone++;
	m->state.good_valid = 0; /* until the next evaluation */
}

static int gp__any_watched(const odvgp_model *m)
{
	int any = 0;
	GP__EACH_UNIT(u, m) any |= GP__MEMBERS_INVERSE && u->steps & GP__STEPS_WATCHED;
	return any != 0;
}

/*	The bound fell by over 10 (|before| + N), or N with GP__STEPS_WATCHED and full batch. */
static int gp__absurd(const odvgp_model *m, gp__wide bound, gp__wide before)
{
	if (gp__any_watched(m) && m->cfg.optim.batch >= m->cfg.N)
		return bound < before - (gp__wide)m->cfg.N;
	return bound < before - 10 * (gp__fabs(before) + (gp__wide)m->cfg.N);
}

#define GP__LEAST_SCALE GP__W(1e-9)

/*	The current parameters fail on these rows (status s) or give an implausibly low bound;
	odvgp_step says what follows. If even the shortest steps fail, training would stall silently. */
static odvgp_status gp__evaluate_good(odvgp_model *m, const gp__rows *rows, gp__wants_list want,
		odvgp_status s, odvgp_real *expected, odvgp_real *kl, odvgp_info *info)
{
	odvgp_info said;
	gp__wide bound = (gp__wide)*expected - (gp__wide)*kl;
	gp__attempt before = gp__try_good(m);
	odvgp_status again = gp__evaluate(m, rows, want, expected, kl, &said);
	if (!again && (s || gp__absurd(m, bound, (gp__wide)*expected - (gp__wide)*kl))) {
		gp__go_back(m);
		if (m->state.step_scale >= GP__LEAST_SCALE) return ODVGP_OK;
		return s ? s
				 : gp__fail(info, ODVGP_E_NAN, "bound", -1, bound,
						   "is implausibly low after every step, however short");
	}
	gp__stay(m, &before);
	/* NaN in rows that the first attempt did not reach, or the watch */
	if (again && (m->tape.data_error || again == ODVGP_E_STOPPED)) {
		if (info) *info = said;
		return again;
	}
	return s ? s : gp__evaluate(m, rows, want, expected, kl, info);
}

/*	Before a step; on failure, or while `stepping` with Adam on an implausibly low bound, evaluate
	the last good parameters. */
static odvgp_status gp__evaluate_safely(odvgp_model *m, const gp__rows *rows, gp__wants_list want,
		int stepping, odvgp_real *expected, odvgp_real *kl, odvgp_info *info)
{
	int absurd = 0;
	*expected = *kl = 0;
	odvgp_status s = gp__evaluate(m, rows, want, expected, kl, info);
	if (s == ODVGP_E_STOPPED) return s;
	if (!s)
		absurd = stepping && gp__absurd(m, (gp__wide)*expected - (gp__wide)*kl, m->state.good_elbo);
	if (((s && !m->tape.data_error) || absurd) && m->state.good_valid)
		s = gp__evaluate_good(m, rows, want, s, expected, kl, info);
	if (s) return s;
	gp__copy(m->good, m->par.theta, m->par.count);
	/* the next step has no bound to compare with */
	if (!stepping && !m->state.good_valid) m->state.good_elbo = -HUGE_VAL;
	m->state.good_valid = 1;
	if (stepping) m->state.good_elbo = (gp__wide)*expected - (gp__wide)*kl;
	return ODVGP_OK;
}

/* --- gamma's columns; odvgp_elbo --- */

static void gp__all_columns(odvgp_model *m)
{
	GP__EACH_UNIT(u, m) {
		GP__FOR(i, u->M_gamma) u->columns[i] = i;
		u->ncolumns = u->M_gamma;
		u->columns_stamp = ++m->tape.clock;
	}
}

static void gp__sample_columns(odvgp_model *m)
{
	gp__all_columns(m);
	GP__EACH_UNIT(u, m) {
		if (m->cfg.optim.gamma_batch >= u->M_gamma) continue;
		u->ncolumns = m->cfg.optim.gamma_batch;
		GP__FOR(i, u->ncolumns)
			u->columns[i] =
					gp__permute(m->cfg.seed, GP__STREAM_COLUMNS, m->state.steps, u->M_gamma, i);
	}
}

static int gp__columns_sampled(const odvgp_model *m)
{
	int any = 0;
	GP__EACH_UNIT(u, m) any |= u->ncolumns < u->M_gamma;
	return any;
}

static gp__rows gp__rows_plain(const odvgp_real *X, const odvgp_real *Y, ptrdiff_t n)
{
	gp__rows rows = {X, Y, n, 0, 0, 0};
	return rows;
}

static odvgp_status gp__rows_check(const odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		ptrdiff_t n, odvgp_info *info)
{
	if (!gp__model_ok(m) || !X || !Y)
		return gp__is_null(info, !gp__model_ok(m) ? "model" : X ? "Y" : "X");
	if (n < 1 || n > PTRDIFF_MAX / 64 / GP__MAX(m->cfg.layer[0].D, gp__y_columns(&m->y)))
		return gp__fail(info, ODVGP_E_ARG, "n", -1, (gp__wide)n, "is out of range");
	return ODVGP_OK;
}

static odvgp_status gp__all_rows_check(
		const odvgp_model *m, const odvgp_real *X, const odvgp_real *Y, odvgp_info *info)
{
	odvgp_status s = gp__rows_check(m, X, Y, 1, info);
	return s ? s : gp__rows_check(m, X, Y, m->cfg.N, info);
}

static odvgp_status gp__elbo_now(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		ptrdiff_t n, odvgp_real *elbo, odvgp_real *kl, odvgp_real *grad, odvgp_info *info)
{
	odvgp_real expected = 0, divergence = 0;
	gp__rows rows = gp__rows_plain(X, Y, n);
	gp__wants_list want = {grad != NULL, 0, 1, GP__GIVES_BOUND};
	/* gp__evaluate_safely may change the parameters */
	odvgp_status s = gp__evaluate(m, &rows, want, &expected, &divergence, info);
	if (s) return s;
	*elbo = expected - divergence;
	if (kl) *kl = divergence;
	if (grad) gp__copy(grad, m->par.grad, m->par.count);
	return ODVGP_OK;
}

ODVGP_API odvgp_status odvgp_elbo(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		ptrdiff_t n, odvgp_real *elbo, odvgp_real *kl, odvgp_real *grad, odvgp_info *info)
{
	odvgp_status s = gp__rows_check(m, X, Y, n, info);
	if (s) return s;
	if (!elbo) return gp__is_null(info, "elbo");
	gp__all_columns(m);
	return gp__elbo_now(m, X, Y, n, elbo, kl, grad, info);
}

ODVGP_API odvgp_status odvgp_elbo_columns(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		ptrdiff_t n, const odvgp_columns *columns, odvgp_report *report, odvgp_real *grad,
		odvgp_info *info)
{
	odvgp_status s = gp__rows_check(m, X, Y, n, info);
	if (s) return s;
	if (m->units > 1) return gp__unsupported(info, "model", gp__one_layer_only);
	if (!columns || !columns->index || !report)
		return gp__is_null(info, "columns, their index or report");
	ptrdiff_t *own = m->unit->columns, count = columns->count, M_gamma = m->cfg.layer[0].M_gamma;
	if (count < 1 || count > M_gamma)
		return gp__fail(info, ODVGP_E_ARG, "columns", -1, (gp__wide)count, "count is out of range");
	const ptrdiff_t *index = columns->index;
	gp__all_columns(m);
	/* own[i] = -1 marks column i as seen */
	GP__FOR(i, count) {
		int inside = index[i] >= 0 && index[i] < M_gamma;
		if (!inside || own[index[i]] < 0) {
			gp__all_columns(m);
			return gp__fail(info, ODVGP_E_ARG, "columns", i, (gp__wide)index[i],
					inside ? "is given twice" : "is not a column");
		}
		own[index[i]] = -1;
	}
	m->unit->ncolumns = count;
	GP__FOR(i, count) own[i] = index[i];
	odvgp_report now;
	memset(&now, 0, sizeof now);
	s = gp__elbo_now(m, X, Y, n, &now.elbo, &now.kl, grad, info);
	if (s) return s;
	now.expected_loglik = now.elbo + now.kl;
	now.events = odvgp_model_events(m);
	*report = now;
	return ODVGP_OK;
}

/* ---- >>freeze   from a model to a predictor

	Computes alpha = L^-T (q_mu - c) and copies the rest. O(M^3 + M Mg D) if the head is outdated,
	else O(M^2). */

/*	A variance of two blocks uses both sets of points as one. */
static int gp__is_joint(const gp__unit *u) { return u->cov_part->v_sqrt != NULL; }
static ptrdiff_t gp__joint_points(const gp__unit *u)
{
	return u->M + (gp__is_joint(u) ? u->M_gamma : 0);
}

/*	The mean has coefficients at points that the variance does not use. */
static int gp__has_own_mean(const gp__unit *u)
{
	return (u->a.id && u->Z_gamma.id) || (u->mean_part->v_mu && !gp__is_joint(u));
}

/* --- sizes and checks --- */

/*	u: the layer's first unit. Returns the count of reals, -1 on overflow. */
static ptrdiff_t gp__predictor_sizes(const gp__unit *u, gp__predictor *p)
{
	gp__view v;
	const odvgp_config *c = &u->model->cfg;
	int hidden = !gp__is_last(u);
	memset(p, 0, sizeof *p);
	p->layers = (int32_t)(c->layers - u->layer);
	p->samples = (int32_t)(c->layers > 1 ? c->deep.predict_samples : 1);
	p->seed[0] = (uint32_t)(c->seed & 0xffffffffu);
	p->seed[1] = (uint32_t)(c->seed >> 32);
	p->magic = GP__PREDICTOR_MAGIC;
	p->version = GP__PREDICTOR_VERSION;
	p->real_size = sizeof(odvgp_real);
	p->base_kernels = u->kernel.base_kernels;
	p->nhyp = (int32_t)u->kernel.nhyp;
	p->columns = (int32_t)gp__points_columns(&u->kernel);
	p->D = (int32_t)u->D;
	p->patches = u->patches;
	p->P = p->F = p->T = (int32_t)c->layer[u->layer].P;
	p->units = (int32_t)(c->layer[u->layer].P / u->P);
	p->lik_params = 1; /* a hidden layer's are those of a Gaussian */
	if (!hidden) {
		p->F = (int32_t)u->model->F;
		p->T = (int32_t)u->model->T;
		p->mixed = (int32_t)gp__is_mixed(u);
		p->lik_params = (int32_t)gp__lik_all_numbers(gp__lik_of(c), u->model->extent);
		p->weights = (int32_t)u->model->y.weights;
		p->scale = (int32_t)u->model->y.scale;
		p->nodes = (int32_t)u->model->tape.lik_nodes;
		p->classes = (int32_t)u->model->classes;
		p->likelihood = (int32_t)c->lik.kind;
	}
	int own = gp__has_own_mean(u);
	p->M = (int32_t)gp__joint_points(u);
	p->M_factor = (int32_t)u->M;
	p->M_gamma = (int32_t)(own ? u->M_gamma : 0);
	p->factor = (int32_t)u->cov_part->factor;
	p->no_alpha = !u->weights.id && own;
	p->mean_function = (int32_t)u->mean_function;
	ptrdiff_t reals = gp__view_layout(p, NULL, 0, &v);
	gp__predictor_set_reals(p, reals);
	return reals;
}

ODVGP_API size_t odvgp_predictor_size(const odvgp_model *m, odvgp_info *info)
{
	gp__predictor p;
	size_t all = 0;
	if (!gp__model_ok(m)) return gp__no_size(gp__is_null(info, "model"));
	GP__FOR(i, m->cfg.layers) {
		if (gp__predictor_sizes(&m->unit[i], &p) < 0 || all > SIZE_MAX / 4)
			return gp__too_large(info, "predictor");
		all += gp__predictor_bytes(&p);
	}
	return all;
}

static odvgp_status gp__scales_check(const odvgp_model *m, const odvgp_scales *s, odvgp_info *info)
{
	ptrdiff_t D = m->cfg.layer[0].D, T = m->T;
	const struct {
		const char *name;
		const odvgp_real *x;
		ptrdiff_t n;
		int positive;
	} list[] = {{"x_mean", s->x_mean, D, 0}, {"x_scale", s->x_scale, D, 1},
			{"y_mean", s->y_mean, T, 0}, {"y_scale", s->y_scale, T, 1}};
	int scalable = gp__lik_of(&m->cfg)->flags & GP__LIK_SCALABLE;
	if ((s->y_mean || s->y_scale) && !scalable)
		return gp__unsupported(
				info, "y_mean or y_scale", "targets of this likelihood have no scale");
	GP__FOR(k, GP__COUNT(list))
		for (ptrdiff_t i = 0; list[k].x && i < list[k].n; i++) {
			odvgp_real x = list[k].x[i];
			if (!(x - x == 0) || (list[k].positive && !(x > 0)))
				return gp__fail(info, ODVGP_E_ARG, list[k].name, i, (gp__wide)x,
						"must be finite, and a scale above 0");
		}
	return ODVGP_OK;
}

static int gp__node_finite(const odvgp_model *m, gp__ref node)
{
	const gp__node *nd = &m->tape.node[node.id];
	return !node.id || gp__finite(nd->v, nd->rows * nd->ld);
}

GP__NOINLINE int gp__head_finite(const gp__unit *u)
{
	gp__ref read[GP__PREDICTOR_NODES];
	int finite = 1;
	gp__predictor_nodes(u, read);
	GP__FOR(i, GP__PREDICTOR_NODES) finite = finite && gp__node_finite(u->model, read[i]);
	return finite;
}

static odvgp_status gp__run_head_once(odvgp_model *m, odvgp_info *info)
{
	gp__wants_list want = {0, 0, 0, GP__GIVES_BOUND | GP__GIVES_PREDICTOR};
	odvgp_status s = gp__theta_check(m, info);
	if (s) return s;
	gp__mark_params(m, &want);
	if ((s = gp__tape_forward_info(&m->tape, GP__HEAD, info))) return s;
	int finite = 1;
	GP__EACH_UNIT(u, m) finite = finite && gp__head_finite(u);
	return gp__theta_status(finite, info);
}

/*	Update the head; on failure try the last good parameters. */
static odvgp_status gp__run_head(odvgp_model *m, odvgp_info *info)
{
	if (m->objective.id && !m->state.fitted)
		return gp__refuse(info, ODVGP_E_ARG, "q",
				"is not that of the bound: call odvgp_fit_q after the last step, and before this");
	gp__all_columns(m);
	odvgp_status s = gp__run_head_once(m, info);
	if (!s || !m->state.good_valid) return s;
	gp__attempt before = gp__try_good(m);
	if (!gp__run_head_once(m, NULL)) {
		gp__go_back(m);
		return ODVGP_OK;
	}
	gp__stay(m, &before);
	return s;
}

/* --- writing the block --- */

/*	alpha, the coefficients of K(x,Z): L^-T weights for beta. For SOLVE-GP's two blocks:
		gamma  a = L_v^-T v_mu
		beta   L^-T (weights - W a)
	a follows each output's beta coefficients if the points are joint, else those of all outputs. */
GP__NOINLINE void gp__predictor_alpha(gp__unit *u, odvgp_real *alpha)
{
	int joint = gp__is_joint(u);
	ptrdiff_t P = u->P, M = u->M, Mg = gp__uses_v(u) ? u->M_gamma : 0, F = M + (joint ? Mg : 0);
	const odvgp_blas *blas = &u->model->tape.blas;
	gp__ref v_mu = u->block[GP__ON_GAMMA].white_mu;
	/* otherwise the slot holds coefficients, or none exist */
	gp__ref from = u->weights.id || u->Z_gamma.id ? u->weights : u->a;
	GP__FOR(p, P) {
		odvgp_real *beta = alpha + p * F, *gamma = joint ? beta + M : alpha + P * M + p * Mg;
		if (from.id) gp__copy(beta, gp__value(u, from) + p * M, M);
		else gp__zero(beta, M);
		gp__zero(gamma, Mg);
		if (Mg && v_mu.id) {
			gp__copy(gamma, gp__value(u, v_mu) + p * Mg, Mg);
			odvgp_trsm(blas, 1, 0, 1, Mg, gp__value(u, u->L_v), Mg, gamma, Mg);
			odvgp_gemm(blas, 0, 0, M, 1, Mg, -1, gp__value(u, u->W), Mg, gamma, 1, 1, beta, 1);
		}
		if (u->weights.id) odvgp_trsm(blas, 1, 0, 1, M, gp__value(u, u->L), M, beta, F);
	}
}

static void gp__predictor_points(
		const gp__unit *u, const gp__ref *sets, int count, odvgp_real *centre, odvgp_real *to)
{
	ptrdiff_t D = u->Dz, all = 0;
	GP__FOR(i, count) all += sets[i].rows;
	gp__zero(centre, D);
	GP__FOR(i, count)
		GP__FOR(j, sets[i].rows * D) centre[j % D] += gp__value(u, sets[i])[j] / (odvgp_real)all;
	GP__FOR(i, count) {
		gp__points_place(&u->kernel, gp__value(u, u->hyp), gp__value(u, sets[i]), sets[i].rows,
				centre, to, gp__points_ld(all));
		to += sets[i].rows;
	}
}

static void gp__copy_or(odvgp_real *to, const odvgp_real *from, ptrdiff_t n, odvgp_real otherwise)
{
	GP__FOR(i, n) to[i] = from ? from[i] : otherwise;
}

static odvgp_status gp__predictor_prepare(odvgp_model *m, odvgp_info *info)
{
	odvgp_status s = gp__run_head(m, info);
	for (int i = 0; i < m->units && !s; i++) {
		gp__unit *u = &m->unit[i];
		ptrdiff_t beside = gp__has_own_mean(u) && !u->a.id ? u->M_gamma : 0;
		odvgp_real *alpha = gp__lend(&m->par.lent, GP__LENT_ALPHA);
		gp__predictor_alpha(u, alpha);
		if (!gp__finite(alpha, u->P * (gp__joint_points(u) + beside)))
			s = gp__refuse(
					info, ODVGP_E_NAN, "model", "the coefficients of its predictor are not finite");
		gp__end_loan(&m->par.lent, GP__LENT_ALPHA);
	}
	return s;
}

/*	The value of a slot, if there is one. */
static void gp__copy_slot(const odvgp_model *m, int s, odvgp_real *to)
{
	const odvgp_slot *slot = &m->par.slot[s];
	if (s) gp__copy(to, gp__slot_value(&m->par, slot), slot->count);
}

/*	A unit's reals. alpha is in the gradient's memory. */
static void gp__predictor_write_unit(gp__unit *u, const gp__predictor *p, gp__view v)
{
	odvgp_model *m = u->model;
	const gp__ref sets[2] = {u->Z_beta, u->Z_gamma};
	odvgp_real *alpha = gp__lend(&m->par.lent, GP__LENT_ALPHA);
	int own = gp__has_own_mean(u);
	ptrdiff_t all = u->P * gp__joint_points(u);
	gp__predictor_alpha(u, alpha);
	gp__predictor_points(u, sets, gp__is_joint(u) ? 2 : 1, v.beta_centre, v.beta);
	if (own) gp__predictor_points(u, sets + 1, 1, v.gamma_centre, v.gamma);
	if (!p->no_alpha) gp__copy(v.alpha, alpha, all);
	if (own) gp__copy(v.a_gamma, u->a.id ? gp__value(u, u->a) : alpha + all, u->P * u->M_gamma);
	u->cov_part->freeze(u, &v);
	gp__copy(v.hyp, gp__value(u, u->hyp), p->nhyp);
	gp__copy_slot(m, u->slot_mean_A, v.A);
	gp__copy_slot(m, u->slot_mean_b, v.b);
	gp__copy_slot(m, u->slot_patch_weights, v.weights);
	gp__end_loan(&m->par.lent, GP__LENT_ALPHA);
}

/*	After gp__predictor_prepare; u: the layer's first unit. */
static void gp__predictor_write(gp__unit *u, const odvgp_scales *sc, gp__predictor *p)
{
	odvgp_model *m = u->model;
	int hidden = !gp__is_last(u);
	gp__predictor_sizes(u, p);
	memset(p + 1, 0, gp__predictor_bytes(p) - sizeof *p);
	gp__kernel_pack(&u->kernel, (uint32_t *)(void *)(p + 1));
	GP__FOR(k, p->units) gp__predictor_write_unit(u + k, p, gp__view_of(p, k));
	gp__view v = gp__view_of(p, 0);
	if (hidden) v.lik_params[0] = 1;
	else {
		gp__copy(v.lik_params, gp__value(u, m->lik_params), m->lik_params.cols);
		gp__copy(v.lik_params + m->lik_params.cols, gp__value(u, m->lik_free_params),
				m->lik_free_params.cols);
		gp__copy(v.rule, m->tape.rule, gp__rule_numbers(m->tape.lik_nodes));
	}
	if (p->mixed) gp__copy_slot(m, m->slot_mixing, v.mixing);
	gp__copy_or(v.x_mean, u->layer ? NULL : sc->x_mean, u->D, 0);
	gp__copy_or(v.x_scale, u->layer ? NULL : sc->x_scale, u->D, 1);
	gp__copy_or(v.y_mean, hidden ? NULL : sc->y_mean, p->T, 0);
	gp__copy_or(v.y_scale, hidden ? NULL : sc->y_scale, p->T, 1);
	gp__predictor_sum(p, p->checksum);
}

ODVGP_API odvgp_status odvgp_freeze(odvgp_model *m, const odvgp_scales *scales, void *block,
		size_t block_bytes, odvgp_info *info)
{
	const odvgp_scales none = {NULL, NULL, NULL, NULL}, *sc = scales ? scales : &none;
	if (!gp__model_ok(m) || !block) return gp__is_null(info, gp__model_ok(m) ? "block" : "model");
	if ((uintptr_t)block % sizeof(odvgp_real))
		return gp__refuse(info, ODVGP_E_ARG, "block", "must be aligned for a real");
	size_t need = odvgp_predictor_size(m, info);
	if (!need) return ODVGP_E_SIZE;
	if (block_bytes < need) return gp__small(info, "block", need);
	odvgp_status s = gp__scales_check(m, sc, info);
	if (s || (s = gp__predictor_prepare(m, info)) != ODVGP_OK) return s;
	unsigned char *at = (unsigned char *)block;
	GP__FOR(i, m->cfg.layers) {
		gp__predictor *p = (gp__predictor *)(void *)at;
		gp__predictor_write(&m->unit[i], sc, p);
		at += gp__predictor_bytes(p);
	}
	return ODVGP_OK;
}

/* ---- >>natgrad   natural gradient steps

	In whitened coordinates q = N(mu, S) has the natural parameters P = S^-1 (2 Theta in [ODVGP]
	eq. 12) and j = P mu. odvgp_natgrad_step gives the step of (P, j), from the statistics
	G = A diag(g_v) A^T and h = A g_m. P = R^T R with R lower, so the new q_sqrt is R^-1 (lower) and
	mu = R^-1 R^-T j. (P, j) are kept from step to step. Cost per output: a Cholesky factorisation
	and a triangular inverse.

	The step serves q(u), and SOLVE-GP's q(v) with A_v for A. HYBRID's natural parameter depends on
	mu = q_mu + c ([ODVGP] eq. 18). Gamma and O(M) have their own steps. */

/*	y = S x for a symmetric S [n,n], stored as its lower triangle. */
static void gp__symmetric_times(const odvgp__simd *isa, ptrdiff_t n, const odvgp_real *S,
		const odvgp_real *x, odvgp_real *y)
{
	gp__zero(y, n);
	GP__FOR(i, n) {
		y[i] += isa->dot(i + 1, S + i * n, x);
		isa->axpy(i, x[i], S + i * n, y);
	}
}

/*	c for HYBRID's q(u), whose mean is ORTH's in other coordinates; else NULL. */
static const odvgp_real *gp__nat_shift(const gp__unit *u, int b)
{
	return u->shift.id && b == GP__ON_BETA ? gp__value(u, u->shift) : NULL;
}

/*	Output p's whitened mean [M], with the shift. */
static void gp__nat_mean(const gp__unit *u, int b, ptrdiff_t p, odvgp_real *mean)
{
	ptrdiff_t M = u->block[b].M;
	const odvgp_real *shift = gp__nat_shift(u, b), *mu = gp__value(u, u->block[b].white_mu) + p * M;
	GP__FOR(i, M) mean[i] = mu[i] + (shift ? shift[p * M + i] : 0);
}

/* --- a dense block --- */

/*	(P, j) from q, with R = q_sqrt^-1, unless known; j also if it depends on a shift. */
static void gp__nat_from_q(gp__unit *u, int b)
{
	odvgp_model *m = u->model;
	const gp__block *block = &u->block[b];
	ptrdiff_t M = block->M;
	const odvgp_real *root = gp__value(u, block->white_sqrt);
	int known = (m->state.nat_valid >> block->number & 1) &&
				GP__COORDS(u) == ODVGP_PARAMETRISATION_WHITENED;
	if (known && !gp__nat_shift(u, b)) return;
	odvgp_real *R = gp__lend(&m->nat_R, GP__NAT_FROM_Q);
	GP__FOR(p, u->P) {
		if (!known) {
			gp__copy(R, root + p * M * M, M * M);
			odvgp_trtri(&m->tape.blas, M, R, M);
			odvgp_lauum(&m->tape.blas, M, R, M, block->P + p * M * M, M);
		}
		gp__nat_mean(u, b, p, m->nat_t);
		gp__symmetric_times(m->tape.blas.isa, M, block->P + p * M * M, m->nat_t, block->j + p * M);
	}
	gp__end_loan(&m->nat_R, GP__NAT_FROM_Q);
}

/*	R = output p's new q_sqrt, from (1 - tau) P + tau (I - 2 G); E_NOT_PD: tau is too long. */
static odvgp_status gp__nat_try(gp__unit *u, const gp__block *block, ptrdiff_t p, odvgp_real tau)
{
	odvgp_model *m = u->model;
	ptrdiff_t M = block->M;
	const odvgp_real *P = block->P + p * M * M, *G = gp__node_of(u, block->stats)->aux + p * M * M;
	odvgp_real *R = gp__lent(&m->nat_R, GP__NAT_OUTPUT);
	GP__FOR(i, M) {
		odvgp_real *row = R + i * M;
		m->tape.blas.isa->blend(i + 1, 1 - tau, P + i * M, 2 * tau, G + i * M, row);
		row[i] += tau;
		gp__zero(row + i + 1, M - i - 1);
	}
	odvgp_status s = odvgp_potrf_reverse(&m->tape.blas, M, R, M, NULL);
	if (s) return s;
	odvgp_trtri(&m->tape.blas, M, R, M);
	return gp__finite(R, M * M) ? ODVGP_OK : ODVGP_E_NAN;
}

/*	New values wait in their gradient's memory, which Adam does not read. */
static odvgp_real *gp__nat_staged(const gp__unit *u, gp__ref param)
{
	ODVGP_ASSERT(u->model->par.lent.to == GP__NOBODY);
	return gp__node_of(u, param)->d;
}

/*	Rows of stacked squares [M,M]; upper triangles stay: they are 0, or not read. */
static void gp__copy_lower(odvgp_real *to, const odvgp_real *from, ptrdiff_t rows, ptrdiff_t M)
{
	GP__FOR(r, rows) gp__copy(to + r * M, from + r * M, r % M + 1);
}

/*	Stage (mu, R), converted to the slots' coordinates. */
static void gp__nat_stage(gp__unit *u, const gp__block *block, ptrdiff_t p, odvgp_real *mu)
{
	odvgp_model *m = u->model;
	ptrdiff_t M = block->M;
	odvgp_real *slot_mu = gp__nat_staged(u, block->mu) + p * M,
			   *slot_sqrt = gp__nat_staged(u, block->sqrt) + p * M * M;
	const odvgp_real *L = gp__value(u, block->L), *R = gp__lent(&m->nat_R, GP__NAT_OUTPUT);
	if (GP__COORDS(u) == ODVGP_PARAMETRISATION_WHITENED) gp__copy_lower(slot_sqrt, R, M, M);
	else {
		gp__mm g = gp__mm_make(0, 0, M, M, M, 1, L, M, R, M, 0, slot_sqrt, M);
		g.a_part = g.b_part = g.c_part = GP__LOWER;
		gp__mm_run(&m->tape.blas, &g);
		GP__FOR(i, M) gp__zero(slot_sqrt + i * M + i + 1, M - i - 1);
	}
	if (GP__COORDS(u) == ODVGP_PARAMETRISATION_A_BETA)
		odvgp_trsm(&m->tape.blas, 0, 1, M, 1, L, M, mu, 1);
	if (GP__COORDS(u) == ODVGP_PARAMETRISATION_PRIMAL)
		odvgp_gemm(&m->tape.blas, 0, 1, 1, M, M, 1, mu, M, L, M, 0, slot_mu, M);
	else gp__copy(slot_mu, mu, M);
}

/*	Output p's step, halved until P is positive definite. (P, j) overwrites (G, h). */
static odvgp_status gp__nat_output(gp__unit *u, int b, ptrdiff_t p, odvgp_real step)
{
	odvgp_model *m = u->model;
	const gp__block *block = &u->block[b];
	const gp__node *stats = gp__node_of(u, block->stats);
	ptrdiff_t M = block->M;
	odvgp_real *mu = m->nat_t, *Gmu = m->nat_t + M, *G = stats->aux + p * M * M,
			   *h = stats->v + p * M;
	const odvgp_real *P = block->P + p * M * M, *j = block->j + p * M, *shift = gp__nat_shift(u, b);
	const odvgp_real *R = gp__lent(&m->nat_R, GP__NAT_OUTPUT); /* filled by gp__nat_try */
	odvgp_status s = gp__nat_try(u, block, p, step);
	for (int halved = 0; s && s != ODVGP_E_STOPPED && halved < 20; halved++) {
		m->tape.events.step_shortened++;
		s = gp__nat_try(u, block, p, step *= GP__R(0.5));
	}
	if (s) return s;
	gp__nat_mean(u, b, p, mu);
	gp__symmetric_times(m->tape.blas.isa, M, G, mu, Gmu);
	GP__FOR(i, M) {
		h[i] = (1 - step) * j[i] + step * (h[i] - 2 * Gmu[i]);
		m->tape.blas.isa->blend(i + 1, 1 - step, P + i * M, 2 * step, G + i * M, G + i * M);
		G[i * M + i] += step;
	}
	/* mu = R^-1 R^-T j; R holds R^-1 */
	odvgp_gemm(&m->tape.blas, 1, 0, M, 1, M, 1, R, M, h, 1, 0, Gmu, 1);
	odvgp_gemm(&m->tape.blas, 0, 0, M, 1, M, 1, R, M, Gmu, 1, 0, mu, 1);
	if (shift)
		GP__FOR(i, M) mu[i] -= shift[p * M + i];
	gp__nat_stage(u, block, p, mu);
	return ODVGP_OK;
}

static void gp__nat_take(gp__unit *u, int b)
{
	odvgp_model *m = u->model;
	gp__block *block = &u->block[b];
	ptrdiff_t M = block->M, all = u->P * M;
	const gp__node *stats = gp__node_of(u, block->stats);
	gp__copy(gp__value(u, block->mu), gp__nat_staged(u, block->mu), all);
	gp__copy_lower(gp__value(u, block->sqrt), gp__nat_staged(u, block->sqrt), all, M);
	gp__copy_lower(block->P, stats->aux, all, M);
	gp__copy(block->j, stats->v, all);
	gp__touch(m, block->slot_mu);
	gp__touch(m, block->slot_sqrt);
	if (GP__COORDS(u) == ODVGP_PARAMETRISATION_WHITENED)
		m->state.nat_valid |= (uint64_t)1 << block->number;
}

/*	out = K(X1, X2) a for the points of two nodes. */
static void gp__nat_kernel_times(
		gp__unit *u, gp__ref X1, gp__ref X2, const odvgp_real *a, odvgp_real *out)
{
	gp__kjob job;
	gp__unit_job(&job, u, gp__value(u, X1), X1.rows, gp__value(u, X2), X2.rows);
	job.a = a;
	job.lda = X2.rows;
	job.P = 1;
	job.out = out;
	job.ldo = X1.rows;
	gp__kernel_run(&job, u->model->tape.scratch);
}

/*	x <- L^-1 x, or L^-T x. */
static void gp__solve_L(const gp__unit *u, int transposed, odvgp_real *x)
{
	odvgp_trsm(&u->model->tape.blas, 0, transposed, u->M, 1, gp__value(u, u->L), u->M, x, 1);
}

/*	g <- g - W^T h, W^T h = K(Zg,Zb) L^-T h; h is the gradient in the whitened q_mu, from the slot's
	gradient d. */
static void gp__nat_hybrid_back(gp__unit *u, ptrdiff_t p, odvgp_real *g)
{
	odvgp_model *m = u->model;
	odvgp_real *h = gp__lend(&m->nat_R, GP__NAT_GAMMA);
	/* L^-T h. WHITENED: h = d. PRIMAL (slot = L q_mu): h = L^T d.
	   A_BETA (q_mu = L^T slot): h = L^-1 d. */
	gp__copy(h, gp__node_of(u, u->block[GP__ON_BETA].mu)->d + p * u->M, u->M);
	if (GP__COORDS(u) == ODVGP_PARAMETRISATION_A_BETA) gp__solve_L(u, 0, h);
	if (GP__COORDS(u) != ODVGP_PARAMETRISATION_PRIMAL) gp__solve_L(u, 1, h);
	gp__nat_kernel_times(u, u->Z_gamma, u->Z_beta, h, m->nat_t);
	GP__FOR(i, u->M_gamma) g[i] -= m->nat_t[i];
	gp__end_loan(&m->nat_R, GP__NAT_GAMMA);
}

/*	Change q_mu's slot such that q_mu + c stays when a decreases by da. */
static void gp__nat_hybrid_shift(gp__unit *u, const odvgp_real *da, odvgp_real *slot)
{
	odvgp_model *m = u->model;
	odvgp_real *c = gp__lend(&m->nat_R, GP__NAT_GAMMA);
	/* PRIMAL: Kbg da; WHITENED: L^-1 Kbg da; A_BETA: Kb^-1 Kbg da */
	gp__nat_kernel_times(u, u->Z_beta, u->Z_gamma, da, c);
	if (GP__COORDS(u) != ODVGP_PARAMETRISATION_PRIMAL) gp__solve_L(u, 0, c);
	if (GP__COORDS(u) == ODVGP_PARAMETRISATION_A_BETA) gp__solve_L(u, 1, c);
	GP__FOR(i, u->M) slot[i] += c[i];
	gp__end_loan(&m->nat_R, GP__NAT_GAMMA);
}

/*	Gamma's natural step (odvgp_gamma_step), in place of the gradient g of the loss in a. HYBRID
	holds q_mu + c constant: its g is dL/da - W^T dL/dq_mu. */
static void gp__nat_gamma_change(gp__unit *u, odvgp_real tau)
{
	const odvgp_config *c = &u->model->cfg;
	int exact = c->optim.gamma_step == ODVGP_GAMMA_STEP_EXACT;
	ptrdiff_t Mg = u->M_gamma;
	odvgp_real eps = c->reproduce.gamma_eps > 0 ? c->reproduce.gamma_eps
												: GP__SCALE_FLOOR * gp__prior_variance(u);
	GP__FOR(p, u->P) {
		odvgp_real *g = gp__node_of(u, u->a_slot)->d + p * Mg;
		if (u->shift.id) gp__nat_hybrid_back(u, p, g);
		if (exact) gp__cholesky_solve(&u->model->tape.blas, Mg, gp__value(u, u->L_v), Mg, g);
		GP__FOR(i, Mg)
			g[i] *= tau * c->optim.gamma_step_ratio /
					(exact ? 1 : gp__value(u, u->gamma_residual)[i] + eps);
	}
}

static void gp__nat_gamma_take(gp__unit *u)
{
	gp__node *a = gp__node_of(u, u->a_slot);
	const gp__block *beta = &u->block[GP__ON_BETA];
	GP__FOR(i, u->P * u->M_gamma) a->v[i] -= a->d[i];
	gp__touch(u->model, a->slot);
	if (!u->shift.id) return;
	GP__FOR(p, u->P)
		gp__nat_hybrid_shift(u, a->d + p * u->M_gamma, gp__value(u, beta->mu) + p * u->M);
	gp__touch(u->model, beta->slot_mu);
}

/*	Undo a part of the step; with 1/2 the rest remains in the gradient's memory. */
static void gp__nat_gamma_back(gp__unit *u, odvgp_real part)
{
	if (!gp__gamma_steps(u)) return;
	gp__node *a = gp__node_of(u, u->a_slot);
	ptrdiff_t n = u->P * u->M_gamma;
	GP__FOR(i, n) a->d[i] *= -part;
	gp__nat_gamma_take(u);
	GP__FOR(i, n) a->d[i] = -a->d[i];
}

#define GP__GAMMA_LOOKS 20

/*	The bound on these rows; -infinity if it fails. */
static gp__wide gp__bound_of(odvgp_model *m, const gp__rows *rows)
{
	gp__wants_list want = {0, 0, 0, GP__GIVES_BOUND};
	odvgp_real expected, kl;
	odvgp_status s = gp__evaluate(m, rows, want, &expected, &kl, NULL);
	return s ? -GP__W(HUGE_VAL) : (gp__wide)expected - (gp__wide)kl;
}

/*	Halve gamma's step until the bound on the same rows, after both steps, is not below `before`.
	Returns how many bounds it evaluated. */
static int gp__nat_gamma_check(odvgp_model *m, const gp__rows *rows, gp__wide before)
{
	gp__wide least = before - 64 * (gp__wide)GP__EPS * (gp__fabs(before) + (gp__wide)m->cfg.N);
	for (int looks = 1;; looks++) {
		if (gp__bound_of(m, rows) >= least) return looks;
		int last = looks == GP__GAMMA_LOOKS; /* undo the whole step */
		GP__EACH_UNIT(u, m) gp__nat_gamma_back(u, last ? 1 : GP__R(0.5));
		m->tape.events.step_shortened++;
		if (last) return looks;
	}
}

/*	--- O(M): q = N(Kb mu, (Kb^-1 + diag g)^-1) ---
	With G and h as above, m = Kb mu, Q = I + L^T diag(g) L and S = L Q^-1 L^T:

		dL/dm = mu - L^-T h
		dL/dS = -L^-T G L^-1 - diag(g) / 2
		dL/dg = diag(L Q^-1 (G + (Q - I) / 2) Q^-1 L^T)

	Block elimination in the Fisher matrix of (S^-1 m, g) gives the same change of g as (m, g). */

typedef struct {
	const gp__unit *u;
	const odvgp_blas *blas;
	ptrdiff_t M;
	const odvgp_real *L;
	odvgp_real *Q, *X, *T, *F; /* [M,M] each */
	/* [M] each; mu and g become the new values */
	odvgp_real *mu, *g, *m, *lambda, *change, *gradient;
} gp__diag_work;

/* --- the diagonal part --- */

/*	Factor Q for the current g. G, unless NULL, becomes E = G + (Q - I) / 2, both triangles. */
static odvgp_status gp__diag_factor(gp__diag_work *w, odvgp_real *G)
{
	ptrdiff_t M = w->M;
	odvgp_syrk(w->blas, 1, M, M, 1, w->L, M, w->g, 0, w->Q, M);
	GP__FOR(i, M) {
		for (ptrdiff_t j = 0; j <= i && G; j++)
			G[j * M + i] = G[i * M + j] += GP__R(0.5) * w->Q[i * M + j];
		w->Q[i * M + i] += 1;
		gp__zero(w->Q + i * M + i + 1, M - i - 1);
	}
	return odvgp_potrf(w->blas, M, w->Q, M, NULL);
}

/*	change = (S o S / 2)^-1 dL/dg. A multiple of the identity, which shortens the step, is added to
	a matrix without factor. */
static odvgp_status gp__diag_change(gp__diag_work *w, const odvgp_real *E)
{
	const odvgp_blas *blas = w->blas;
	ptrdiff_t M = w->M;
	odvgp_real mean = 0, added = 0;
	GP__FOR(i, M)
		GP__FOR(j, M) w->X[i * M + j] = w->L[j * M + i];
	odvgp_trsm(blas, 0, 0, M, M, w->Q, M, w->X, M);
	odvgp_syrk(blas, 1, M, M, 1, w->X, M, NULL, 0, w->F, M); /* S */
	odvgp_trsm(blas, 0, 1, M, M, w->Q, M, w->X, M);          /* Q^-1 L^T */
	odvgp_gemm(blas, 0, 0, M, M, M, 1, E, M, w->X, M, 0, w->T, M);
	gp__zero(w->gradient, M);
	GP__FOR(j, M)
		GP__FOR(i, M) w->gradient[i] += w->X[j * M + i] * w->T[j * M + i];
	GP__FOR(i, M) {
		GP__FOR(j, i + 1) w->X[i * M + j] = GP__R(0.5) * w->F[i * M + j] * w->F[i * M + j];
		mean += w->X[i * M + i] / (odvgp_real)M;
	}
	GP__FOR(tries, 16) {
		GP__FOR(i, M) {
			gp__copy_row(w->F + i * M, w->X + i * M, i, M);
			w->F[i * M + i] += added;
		}
		odvgp_status s = odvgp_potrf(blas, M, w->F, M, NULL);
		if (!s) {
			gp__copy(w->change, w->gradient, M);
			gp__cholesky_solve(blas, M, w->F, M, w->change);
			return gp__finite(w->change, M) ? ODVGP_OK : ODVGP_E_NAN;
		}
		if (s == ODVGP_E_STOPPED) return s;
		w->u->model->tape.events.step_shortened++;
		added = GP__MAX(10 * added, 16 * GP__EPS * (odvgp_real)M * mean);
	}
	return ODVGP_E_NOT_PD;
}

/*	g <- g - tau change, each component at least a tenth of its value, so that one near 0 does not
	shorten the others' step, and at least where k(x,x) g is a rounding error. */
static void gp__diag_move(gp__diag_work *w, odvgp_real tau)
{
	int shortened = 0;
	odvgp_real floor = GP__EPS / gp__prior_variance(w->u);
	GP__FOR(i, w->M) {
		odvgp_real now = w->g[i] - tau * w->change[i], least = GP__MAX(GP__R(0.1) * w->g[i], floor);
		shortened |= now < least && least > floor;
		w->g[i] = now < least ? least : now;
	}
	w->u->model->tape.events.step_shortened += (uint64_t)shortened;
}

/*	x <- L^-T Q^-1 L^T x. */
static void gp__diag_shrink(gp__diag_work *w, odvgp_real *x)
{
	const odvgp_blas *blas = w->blas;
	ptrdiff_t M = w->M;
	odvgp_trmm(blas, 1, M, 1, 1, w->L, M, x, 1, 0, w->gradient, 1);
	gp__cholesky_solve(blas, M, w->Q, M, w->gradient);
	gp__solve_L(w->u, 1, w->gradient);
	gp__copy(x, w->gradient, M);
}

/*	change = g + 2 diag(L^-T G L^-1), the dense step of S^-1's diagonal; gradient = -2 dL/dS m, the
	part of dL/dS in the step of S^-1 m. [OM] eqs. 3.19, 3.20. */
static void gp__diag_projected(gp__diag_work *w, odvgp_real *G)
{
	const odvgp_blas *blas = w->blas;
	ptrdiff_t M = w->M;
	gp__mirror(G, M);
	odvgp_trsm(blas, 0, 1, M, M, w->L, M, G, M);
	odvgp_trsm(blas, 1, 0, M, M, w->L, M, G, M);
	odvgp_gemm(blas, 0, 0, M, 1, M, 2, G, M, w->m, 1, 0, w->gradient, 1);
	GP__FOR(i, M) {
		w->gradient[i] += w->g[i] * w->m[i];
		w->change[i] = w->g[i] + 2 * G[i * M + i];
	}
}

/*	An output's new mu and g, in w. */
static odvgp_status gp__diag_output(
		gp__diag_work *w, odvgp_real *G, const odvgp_real *h, odvgp_real tau)
{
	const odvgp_blas *blas = w->blas;
	ptrdiff_t M = w->M;
	odvgp_diag_step how = w->u->model->cfg.reproduce.diag_step;
	int projected = how == ODVGP_DIAG_STEP_PROJECTED || how == ODVGP_DIAG_STEP_PROJECTED_MU;
	int mean_alone = how == ODVGP_DIAG_STEP_EXACT || how == ODVGP_DIAG_STEP_PROJECTED_MU;
	odvgp_status s = gp__diag_factor(w, projected ? NULL : G);
	if (s) return s;
	odvgp_trmm(blas, 1, M, 1, 1, w->L, M, w->mu, 1, 0, w->lambda, 1);
	odvgp_trmm(blas, 0, M, 1, 1, w->L, M, w->lambda, 1, 0, w->m, 1);
	if (projected) gp__diag_projected(w, G);
	else if ((s = gp__diag_change(w, G))) return s;
	if (how == ODVGP_DIAG_STEP_AFFINE)
		GP__FOR(i, M) w->gradient[i] = w->m[i] * w->change[i];
	gp__copy(w->lambda, h, M);
	gp__solve_L(w->u, 1, w->lambda);
	GP__FOR(i, M) w->lambda[i] = w->mu[i] - w->lambda[i]; /* dL/dm */
	/* m <- m - tau S dL/dm, as in the dense step */
	if (mean_alone) {
		gp__diag_shrink(w, w->lambda);
		GP__FOR(i, M) w->mu[i] -= tau * w->lambda[i];
		gp__diag_move(w, tau);
		return ODVGP_OK;
	}
	/* S^-1 m */
	GP__FOR(i, M) w->mu[i] += w->g[i] * w->m[i] - tau * (w->lambda[i] + w->gradient[i]);
	gp__diag_move(w, tau);
	if ((s = gp__diag_factor(w, NULL))) return s;
	gp__diag_shrink(w, w->mu);
	return ODVGP_OK;
}

static gp__diag_work gp__diag_work_of(const gp__unit *u, int to)
{
	odvgp_model *m = u->model;
	gp__diag_work w;
	ptrdiff_t M = u->M;
	w.u = u;
	w.blas = &m->tape.blas;
	w.M = M;
	w.L = gp__value(u, u->L);
	w.Q = gp__lend(&m->nat_R, to);
	w.X = w.Q + M * M;
	w.T = w.X + M * M;
	w.F = w.T + M * M;
	w.mu = m->nat_t;
	w.g = w.mu + M;
	w.m = w.g + M;
	w.lambda = w.m + M;
	w.change = w.lambda + M;
	w.gradient = w.change + M;
	return w;
}

/*	Stage all outputs' new q. */
static odvgp_status gp__nat_diagonal(gp__unit *u, odvgp_real tau)
{
	const gp__block *block = &u->block[GP__ON_BETA];
	gp__node *stats = gp__node_of(u, block->stats), *mu = gp__node_of(u, block->mu),
			 *g = gp__node_of(u, u->q_diag);
	ptrdiff_t M = u->M;
	gp__diag_work w = gp__diag_work_of(u, GP__NAT_DIAGONAL);
	odvgp_status s = ODVGP_OK;
	for (ptrdiff_t p = 0; p < u->P && !s; p++) {
		gp__copy(w.mu, mu->v + p * M, M);
		gp__copy(w.g, g->v + p * M, M);
		s = gp__diag_output(&w, stats->aux + p * M * M, stats->v + p * M, tau);
		if (!s && !(gp__finite(w.mu, M) && gp__finite(w.g, M))) s = ODVGP_E_NAN;
		if (s) break;
		gp__copy(mu->d + p * M, w.mu, M);
		gp__copy(g->d + p * M, w.g, M);
	}
	gp__end_loan(&u->model->nat_R, GP__NAT_DIAGONAL);
	return s;
}

static void gp__nat_diagonal_take(gp__unit *u)
{
	odvgp_model *m = u->model;
	gp__node *mu = gp__node_of(u, u->block[GP__ON_BETA].mu), *g = gp__node_of(u, u->q_diag);
	ptrdiff_t all = u->P * u->M;
	gp__copy(mu->v, mu->d, all);
	GP__FOR(i, all) {
		g->d[i] = gp__inside(&m->par, g->slot, g->d[i]);
		gp__set_positive(m, m->par.slot[g->slot].offset + i, (gp__wide)g->d[i]);
	}
	gp__copy(g->v, g->d, all);
	gp__touch(m, mu->slot);
	gp__touch(m, g->slot);
}

/* --- all of a model --- */

static int gp__nat_moves(const gp__unit *u, int b)
{
	const odvgp_model *m = u->model;
	int waits = m->cfg.reproduce.blocks_step == ODVGP_BLOCKS_STEP_ALTERNATE &&
				u->block[!b].stats.id && b != (int)(m->state.nat_steps % 2);
	return u->block[b].stats.id && !waits;
}

static odvgp_status gp__nat_unit(gp__unit *u, odvgp_real tau)
{
	odvgp_model *m = u->model;
	odvgp_status s = ODVGP_OK;
	if (gp__gamma_steps(u)) gp__nat_gamma_change(u, tau);
	for (int b = 0; b < GP__BLOCKS && !s; b++) {
		if (!gp__nat_moves(u, b)) continue;
		gp__nat_from_q(u, b);
		gp__lend(&m->nat_R, GP__NAT_OUTPUT);
		for (ptrdiff_t p = 0; p < u->P && !s; p++) s = gp__nat_output(u, b, p, tau);
		gp__end_loan(&m->nat_R, GP__NAT_OUTPUT);
	}
	return s;
}

static void gp__nat_unit_take(gp__unit *u)
{
	for (int b = 0; b < GP__BLOCKS; b++)
		if (gp__nat_moves(u, b)) gp__nat_take(u, b);
	if (gp__gamma_steps(u)) gp__nat_gamma_take(u);
}

/*	`make` stages new values in the gradients' memory, `take` applies them. */
typedef struct {
	int steps;             /* GP__STEPS_... */
	int matrices, vectors; /* work: [M,M], [M] */
	odvgp_status (*make)(gp__unit *u, odvgp_real tau);
	void (*take)(gp__unit *u);
} gp__step_kind;
/*	{steps, matrices, vectors, make, take} */
static const gp__step_kind gp__step_kinds[] = {
		{GP__STEPS_BETA | GP__STEPS_GAMMA, 1, 2, gp__nat_unit, gp__nat_unit_take},
#if GP__MEMBERS_INVERSE
		{GP__STEPS_DIAGONAL, 4, 6, gp__nat_diagonal, gp__nat_diagonal_take}
#endif
};

/*	NULL if the unit has no natural step. */
static const gp__step_kind *gp__step_kind_of(const gp__unit *u)
{
	GP__FOR(i, GP__COUNT(gp__step_kinds))
		if (u->steps & gp__step_kinds[i].steps) return &gp__step_kinds[i];
	return NULL;
}

static int gp__has_natural(const odvgp_model *m)
{
	int all = 1;
	GP__EACH_UNIT(u, m) all &= gp__step_kind_of(u) != NULL;
	return all;
}

/*	One step of size tau from the last evaluation's statistics. Each output shortens its own step,
	but all move or none: new values wait until the last output has a step. */
static odvgp_status gp__nat_step(odvgp_model *m, odvgp_real tau)
{
	odvgp_status s = ODVGP_OK;
	ODVGP_ASSERT(gp__has_natural(m));
	odvgp_events events = m->tape.events;
	GP__EACH_UNIT(u, m)
		if (!s) s = gp__step_kind_of(u)->make(u, tau);
	if (gp__stopped(&m->tape.blas)) {
		m->tape.events = events;
		return ODVGP_E_STOPPED;
	}
	if (s) {
		m->state.nat_valid = 0; /* (P, j) must be recomputed from q */
		return s;
	}
	GP__EACH_UNIT(u, m) gp__step_kind_of(u)->take(u);
	m->state.nat_steps++;
	return ODVGP_OK;
}

ODVGP_API odvgp_status odvgp_natgrad_step(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		ptrdiff_t n, odvgp_real tau, odvgp_real *elbo, odvgp_info *info)
{
	odvgp_real expected, kl;
	odvgp_status s = gp__rows_check(m, X, Y, n, info);
	if (s) return s;
	if (!(tau > 0 && tau <= 1))
		return gp__fail(info, ODVGP_E_ARG, "tau", -1, (gp__wide)tau, "must be in (0, 1]");
	if (!gp__has_natural(m)) return gp__unsupported(info, "model", "has no natural step");
	gp__all_columns(m);
	gp__rows rows = gp__rows_plain(X, Y, n);
	gp__wants_list want = {0, 1, 0, GP__GIVES_BOUND};
	if ((s = gp__evaluate_safely(m, &rows, want, 0, &expected, &kl, info))) return s;
	if (gp__nat_step(m, tau))
		return gp__refuse(info, ODVGP_E_NOT_PD, "q_sqrt", "no natural step was short enough");
	if (elbo) *elbo = expected - kl;
	return ODVGP_OK;
}

/* --- what other sections need, too --- */

/*	Parameters of a slot that are their own values. */
static odvgp_real *gp__theta_of(const odvgp_model *m, int slot)
{
	return m->par.theta + m->par.slot[slot].offset;
}

/*	A failed attempt undoes its events and jitters. */
static odvgp_status gp__attempt_end(odvgp_model *m, odvgp_status s, const odvgp_events *before)
{
	if (!s) return s;
	gp__restore_jitters(m);
	m->tape.events = *before;
	return s;
}

#ifndef ODVGP_FLOAT_ONLY
/* ---- >>optimum   the best q for a Gaussian likelihood

	The mean is linear in its weights w, mean = Phi^T w, and its KL is w^T Lambda w / 2. With noise
	s and r = Y - (mean function) the optimum is

		w = (Lambda + Phi Phi^T / s)^-1 Phi r / s

		Phi						Lambda
		A						I		beta
		A_v						I		gamma, SOLVE-GP
		R = K(Zg,X) - W^T A		C		gamma, ORTH and HYBRID
		K(Za,X)					Ka		a free mean

	The covariance does not depend on w: (I + A A^T / s)^-1 for each block of q, and
	B = Kb^-1 K_bX K_Xb Kb^-1 / s for the inverse part. Sums run over tiles; memory O(F^2). */

typedef struct {
	gp__unit *u;
	odvgp_model *m;
	const odvgp_blas *blas;
	const gp__node *node; /* the tape's */
	const odvgp_real *X, *Y;
	odvgp_info *info;
	int gamma; /* gamma's features: GP__..._GAMMA */
	/* features of beta, of gamma, of both; solved for: weights [from, to) of outputs [first, last),
	   which share a noise */
	ptrdiff_t M, Mg, F, from, to, first, last;
	odvgp_real noise;
	/* S = Phi Phi^T [F,F] (lower); gamma's Lambda [Mg,Mg] (lower); work [F,F] */
	odvgp_real *S, *prior, *G;
	odvgp_real *W;                    /* [M,Mg], if the tape has none */
	odvgp_real *h, *w, *rest, *scale; /* [P,F] three times; [F] */
	odvgp_real *Phi, *r;              /* [F,tile], [P,tile] */
	double rr, kk, weight, logs;      /* weight, logs: as in gp__sums */
} gp__fit;

/* --- memory --- */

static void gp__fit_open(
		gp__fit *f, gp__unit *u, const odvgp_real *X, const odvgp_real *Y, odvgp_info *info)
{
	memset(f, 0, sizeof *f);
	f->u = u;
	f->m = u->model;
	f->blas = &u->model->tape.blas;
	f->node = u->model->tape.node;
	f->X = X;
	f->Y = Y;
	f->info = info;
}

static void gp__fit_layout(gp__fit *f, gp__arena *a)
{
	const gp__unit *u = f->u;
	ptrdiff_t tile = u->model->cfg.tile;
	f->M = u->M;
	if (gp__uses_v(u)) f->gamma = GP__WHITE_GAMMA;
	if (u->M_gamma && u->mean_part->gamma) f->gamma = u->mean_part->gamma;
	f->Mg = f->gamma ? u->M_gamma : 0;
	f->F = f->M + f->Mg;
	f->from = f->gamma == GP__FREE_GAMMA ? f->M : 0;
	f->to = !u->mean_part->gamma || gp__kept_terms(u) ? f->M : f->F;
	f->S = gp__take(a, f->F, f->F);
	f->G = gp__take(a, f->F, f->F);
	f->prior = gp__take(a, f->Mg, f->Mg);
	f->W = gp__take(a, f->gamma == GP__RESIDUAL_GAMMA ? f->M : 0, f->Mg);
	f->h = gp__take(a, u->P, f->F);
	f->w = gp__take(a, u->P, f->F);
	f->rest = gp__take(a, u->P, f->F);
	f->scale = gp__take(a, 1, f->F);
	f->Phi = gp__take(a, f->F, tile);
	f->r = gp__take(a, u->P, tile);
}

ODVGP_API size_t odvgp_fit_q_scratch(const odvgp_model *m, odvgp_info *info)
{
	gp__arena a = gp__measuring();
	gp__fit f;
	if (!gp__model_ok(m)) return gp__no_size(gp__is_null(info, "model"));
	if (m->units > 1)
		return gp__no_size(gp__unsupported(info, "model", "has several layers or units"));
	gp__fit_open(&f, m->unit, NULL, NULL, info);
	gp__fit_layout(&f, &a);
	return a.bad ? gp__too_large(info, "scratch") : a.used + 64;
}

/* --- sums over all rows --- */

/*	With patches, X2 of the job is in the tape's X. */
static void gp__fit_images(const gp__unit *u, gp__kjob *job)
{
	if (!u->patch_weights.id) return;
	job->patches = &u->patches;
	job->weights = gp__value(u, u->patch_weights);
}

/*	out [.,n2] = K(Z, X2) of two nodes' points, n2 of X2's. */
static void gp__fit_kernel(const gp__fit *f, gp__ref Z, gp__ref X2, ptrdiff_t n2, odvgp_real *out)
{
	gp__kjob job;
	gp__unit_job(&job, f->u, f->node[Z.id].v, Z.rows, f->node[X2.id].v, n2);
	job.K = out;
	job.ldk = n2;
	if (X2.id == f->u->X.id) gp__fit_images(f->u, &job);
	gp__kernel_matrix(&job, f->m->tape.scratch, 0);
}

/*	W and gamma's Lambda. */
static void gp__fit_prior(gp__fit *f)
{
	const gp__unit *u = f->u;
	ptrdiff_t Mg = f->Mg;
	if (f->gamma == GP__NO_GAMMA) return;
	if (f->gamma == GP__WHITE_GAMMA) {
		f->W = f->node[u->W.id].v;
		GP__FOR(i, Mg)
			GP__FOR(j, Mg) f->prior[i * Mg + j] = i == j;
		return;
	}
	gp__fit_kernel(f, u->Z_gamma, u->Z_gamma, Mg, f->prior);
	if (f->gamma == GP__FREE_GAMMA) return;
	gp__fit_kernel(f, u->Z_beta, u->Z_gamma, Mg, f->W);
	odvgp_trsm(f->blas, 0, 0, f->M, Mg, f->node[u->L.id].v, f->M, f->W, Mg);
	odvgp_syrk(f->blas, 1, Mg, f->M, -1, f->W, Mg, NULL, 1, f->prior, Mg);
}

/*	Phi, ld n, for the n rows in the tape's X, and r = Y - (mean function). */
static void gp__fit_features(gp__fit *f, ptrdiff_t n)
{
	const gp__unit *u = f->u;
	const odvgp_model *m = f->m;
	const odvgp_blas *blas = f->blas;
	const gp__node *node = f->node, *Y = &node[m->Y.id];
	const odvgp_real *X = node[u->X.id].v, *A = gp__theta_of(m, u->slot_mean_A),
					 *b = gp__theta_of(m, u->slot_mean_b);
	odvgp_real *beta = f->Phi, *gamma = f->Phi + f->M * n;
	ptrdiff_t P = u->P, D = u->D;
	gp__fit_kernel(f, u->Z_beta, u->X, n, beta);
	odvgp_trsm(blas, 0, 0, f->M, n, node[u->L.id].v, f->M, beta, n);
	if (f->gamma) gp__fit_kernel(f, u->Z_gamma, u->X, n, gamma);
	if (f->gamma == GP__WHITE_GAMMA || f->gamma == GP__RESIDUAL_GAMMA)
		odvgp_gemm(blas, 1, 0, f->Mg, n, f->M, -1, f->W, f->Mg, beta, n, 1, gamma, n);
	if (f->gamma == GP__WHITE_GAMMA)
		odvgp_trsm(blas, 0, 0, f->Mg, n, node[u->L_v.id].v, f->Mg, gamma, n);
	GP__FOR(p, P)
		GP__FOR(i, n) {
			odvgp_real mean = u->slot_mean_b ? b[p] : 0;
			if (u->mean_function == ODVGP_MEAN_FUNCTION_IDENTITY) mean = X[i * D + p];
			if (u->slot_mean_A)
				GP__FOR(d, D) mean += X[i * D + d] * A[d * P + p];
			f->r[p * n + i] = Y->v[p * Y->ld + i] - mean;
		}
	if (m->cfg.objective == ODVGP_OBJECTIVE_PARTLY) /* subtract the mean of the kept q(v) */
		odvgp_gemm(blas, 0, 0, P, n, f->Mg, -1, node[u->block[GP__ON_GAMMA].white_mu.id].v, f->Mg,
				gamma, n, 1, f->r, n);
	for (ptrdiff_t i = 0; i < n && m->root.id; i++) {
		GP__FOR(j, f->F) f->Phi[j * n + i] /= node[m->root.id].v[i];
		GP__FOR(p, P) f->r[p * n + i] /= node[m->root.id].v[i];
	}
}

/*	The tile's sum of k(x,x), divided by the rows' noise factors. */
static double gp__fit_diag(const gp__fit *f, ptrdiff_t n)
{
	const gp__unit *u = f->u;
	const gp__node *X = &f->node[u->X.id];
	gp__node *k_x = &f->m->tape.node[u->k_x.id];
	double sum = 0;
	if (u->patch_weights.id) { /* in the memory of the tape's node */
		gp__kjob job;
		gp__unit_job(&job, u, NULL, 0, X->v, n);
		gp__fit_images(u, &job);
		gp__lend_value(k_x);
		gp__images_diag(&job, k_x->v, k_x->aux, f->m->tape.scratch, 0);
	}
	GP__FOR(i, n) {
		odvgp_real k = u->patch_weights.id ? k_x->v[i] : gp__unit_diag(u, X->v + i * X->ld);
		sum += (double)k / gp__noise_factor(f->m, i);
	}
	return sum;
}

/*	S, h = r Phi^T, rr = |r|^2, and kk = k(x,x) summed over rows and outputs. */
static odvgp_status gp__fit_sums(gp__fit *f)
{
	odvgp_model *m = f->m;
	const gp__node *node = &f->node[m->Y.id];
	gp__rows rows = gp__rows_plain(f->X, f->Y, m->cfg.N);
	ptrdiff_t P = f->u->P;
	odvgp_status s = gp__stop_status(m, f->info);
	gp__zero(f->S, f->F * f->F);
	gp__zero(f->h, P * f->F);
	f->kk = f->rr = 0;
	m->tape.sums->weight = m->tape.sums->logs = 0;
	for (ptrdiff_t at = 0; at < m->cfg.N; at += m->cfg.tile) {
		ptrdiff_t n = GP__MIN(m->cfg.tile, m->cfg.N - at);
		if (s || (s = gp__tile_load(m, &rows, at, n, f->info)) != ODVGP_OK) return s;
		for (ptrdiff_t i = 0; i < m->T * n && m->y.missing; i++) {
			odvgp_real y = node->v[i / n * node->ld + i % n];
			if (y != y)
				return gp__fail(f->info, ODVGP_E_UNSUPPORTED, "Y", at + i % n, (double)y,
						"a closed form takes no missing targets: leave out the row, or take steps");
		}
		gp__fit_features(f, n);
		f->kk += (double)P * gp__fit_diag(f, n);
		odvgp_syrk(f->blas, 0, f->F, n, 1, f->Phi, n, NULL, 1, f->S, f->F);
		odvgp_gemm(f->blas, 0, 1, P, f->F, n, 1, f->r, n, f->Phi, n, 1, f->h, f->F);
		GP__FOR(i, P * n) f->rr += (double)f->r[i] * (double)f->r[i];
		if (f->blas->watcher) f->blas->watcher->at.done += n;
		s = gp__stop_status(m, f->info);
	}
	if (s) return s;
	f->weight = m->tape.sums->weight;
	f->logs = m->tape.sums->logs;
	if (gp__finite(f->h, P * f->F) && f->rr - f->rr == 0) return ODVGP_OK;
	return gp__fail(f->info, ODVGP_E_NAN, "X or Y", -1, f->rr, "a sum over the rows is not finite");
}

/* --- the best mean --- */

/*	Entry (i, j <= i) of Lambda + S / s. */
static odvgp_real gp__fit_normal(const gp__fit *f, ptrdiff_t i, ptrdiff_t j)
{
	odvgp_real prior = i < f->M    ? (odvgp_real)(i == j)
					   : j >= f->M ? f->prior[(i - f->M) * f->Mg + j - f->M]
								   : 0;
	return prior + f->S[i * f->F + j] / f->noise;
}

/*	Whether a slot of q is frozen, unless the bound has no q. */
static int gp__fit_held(const odvgp_model *m, int slot)
{
	return slot && !m->par.slot[slot].trainable && m->cfg.objective == ODVGP_OBJECTIVE_ELBO;
}

/*	Whether the weights of gamma's and of beta's features are frozen. */
static int gp__fit_holds_gamma(const gp__unit *u)
{
	return gp__fit_held(u->model, u->a_slot.id ? u->slot_a : u->block[GP__ON_GAMMA].slot_mu);
}
static int gp__fit_holds_beta(const gp__unit *u)
{
	return gp__fit_held(u->model, u->block[GP__ON_BETA].slot_mu);
}

/*	Store frozen slots' weights in w; restrict [from, to) to the others. */
static void gp__fit_hold(gp__fit *f)
{
	const gp__unit *u = f->u;
	int beta = gp__fit_holds_beta(u), gamma = gp__fit_holds_gamma(u);
	const odvgp_real *of_beta = gp__value(u, u->block[GP__ON_BETA].white_mu),
					 *of_gamma =
							 gp__value(u, u->a.id ? u->a : u->block[GP__ON_GAMMA].white_mu);
	gp__zero(f->w, u->P * f->F);
	if (u->mean_part->mu == GP__MU_COEFFICIENTS) { /* one slot holds all weights */
		if (beta || gamma) f->to = f->from;
		return;
	}
	GP__FOR(p, u->P) {
		odvgp_real *w = f->w + p * f->F;
		if (beta) gp__copy(w, of_beta + p * f->M, f->M);
		if (gamma && f->to == f->F) gp__copy(w + f->M, of_gamma + p * f->Mg, f->Mg);
	}
	if (gamma) f->to = GP__MIN(f->to, f->M);
	if (beta) f->from = GP__MIN(f->M, f->to);
}

/*	rest = h / s - (Lambda + S / s) w over all features. */
static void gp__fit_rest(gp__fit *f)
{
	GP__FROM(p, f->first, f->last) {
		const odvgp_real *w = f->w + p * f->F;
		odvgp_real *rest = f->rest + p * f->F;
		GP__FOR(i, f->F) rest[i] = f->h[p * f->F + i] / f->noise;
		GP__FOR(i, f->F)
			GP__FOR(j, i + 1) {
				odvgp_real g = gp__fit_normal(f, i, j);
				rest[i] -= g * w[j];
				if (j < i) rest[j] -= g * w[i];
			}
	}
}

/*	What a jitter of 1 adds to the scaled diagonal: 1 for whitened features, else k(z,z), of which
	Lambda may be all rounding error. */
static odvgp_real gp__fit_jitter(const gp__fit *f, ptrdiff_t i)
{
	const gp__node *Z = &f->node[f->u->Z_gamma.id];
	odvgp_real scale = f->scale[i];
	ptrdiff_t j = f->from + i - f->M;
	if (j < 0 || f->gamma == GP__WHITE_GAMMA) return 1;
	return scale * scale * gp__unit_diag(f->u, Z->v + j * Z->ld);
}

/*	Whether a factor G [n,n] has a pivot below `least` of that. */
static int gp__fit_near_singular(const gp__fit *f, ptrdiff_t n, odvgp_real least)
{
	GP__FOR(i, n)
		if (!(f->G[i * n + i] * f->G[i * n + i] >= least * gp__fit_jitter(f, i))) return 1;
	return 0;
}

/*	Solve for w, with rows and columns scaled to a unit diagonal. A nearly singular matrix gets
	jitter.relative on its diagonal, or more if it still has no factor. Iterative refinement then
	corrects the directions that the data decide; in the others coefficients would be so large that
	predictions in float lose their digits, for at most 2e-3 nats (0.25 without noise). */
static odvgp_status gp__fit_mean(gp__fit *f)
{
	ptrdiff_t n = f->to - f->from, from = f->from;
	odvgp_real added = 0, least = f->m->cfg.jitter.relative;
	odvgp_info bad;
	GP__FOR(i, n) {
		odvgp_real d = gp__fit_normal(f, from + i, from + i);
		f->scale[i] = d > 0 ? 1 / GP__SQRT(d) : 1;
	}
	GP__FOR(tries, 20) {
		GP__FOR(i, n) {
			GP__FOR(j, i + 1)
				f->G[i * n + j] = f->scale[i] * gp__fit_normal(f, from + i, from + j) * f->scale[j];
			if (added > 0) f->G[i * n + i] += added * gp__fit_jitter(f, i);
		}
		odvgp_status status = odvgp_potrf(f->blas, n, f->G, n, &bad);
		int singular = status != ODVGP_OK;
		if (status == ODVGP_E_STOPPED) return gp__stop_status(f->m, f->info);
		if (!singular && (added > 0 || !gp__fit_near_singular(f, n, least))) break;
		if (tries == 19 && singular)
			return gp__fail(f->info, ODVGP_E_NOT_PD, "Lambda + Phi Phi^T / noise", bad.row,
					bad.value, NULL);
		added = GP__MAX(4 * added, least);
	}
	GP__FOR(pass, 4) {
		gp__fit_rest(f);
		GP__FROM(p, f->first, f->last) {
			odvgp_real *x = f->rest + p * f->F + from, *w = f->w + p * f->F + from;
			GP__FOR(i, n) x[i] *= f->scale[i];
			gp__cholesky_solve(f->blas, n, f->G, n, x);
			GP__FOR(i, n) w[i] += f->scale[i] * x[i];
		}
	}
	return gp__finite(f->w, f->u->P * f->F)
				   ? ODVGP_OK
				   : gp__refuse(f->info, ODVGP_E_NAN, "q", "the optimum is not finite");
}

/* --- writing the slots --- */

/*	Stage the optimum in a copy of theta, in the gradient's memory; the caller ends the loan. */
static void gp__fit_stage(odvgp_model *m)
{
	gp__copy(gp__lend(&m->par.lent, GP__LENT_OPTIMUM), m->par.theta, m->par.count);
}

static odvgp_real *gp__fit_slot(odvgp_model *m, int slot)
{
	return gp__lent(&m->par.lent, GP__LENT_OPTIMUM) + m->par.slot[slot].offset;
}

/*	Stage block b's mean in its slot's coordinates. */
static void gp__fit_put_mean(const gp__fit *f, int b)
{
	const gp__unit *u = f->u;
	const gp__block *block = &u->block[b];
	const odvgp_real *L = f->node[block->L.id].v;
	ptrdiff_t M = block->M;
	int coefficients =
			u->param == ODVGP_PARAMETRISATION_A_BETA || u->mean_part->mu == GP__MU_COEFFICIENTS;
	if (!block->slot_mu) return;
	GP__FOR(p, u->P) {
		odvgp_real *to = gp__fit_slot(f->m, block->slot_mu) + p * M;
		const odvgp_real *w = f->w + p * f->F + (b == GP__ON_GAMMA ? f->M : 0);
		if (u->param == ODVGP_PARAMETRISATION_PRIMAL && !coefficients)
			odvgp_gemm(f->blas, 0, 1, 1, M, M, 1, w, M, L, M, 0, to, M);
		else gp__copy(to, w, M);
		if (coefficients) odvgp_trsm(f->blas, 0, 1, M, 1, L, M, to, 1);
	}
}

/*	Stage gamma's coefficients a. HYBRID's w is q_mu + c: subtract c = W a before q_mu is staged. */
static void gp__fit_put_gamma(gp__fit *f)
{
	const gp__unit *u = f->u;
	int scaled = u->gamma_residual.id && u->gamma_coords == ODVGP_GAMMA_COORDS_DIFFERENTIATED;
	const odvgp_real *D = f->node[u->gamma_residual.id].v;
	if (!u->a_slot.id) return;
	GP__FOR(p, u->P) {
		odvgp_real *w = f->w + p * f->F, *a = w + f->M,
				   *to = gp__fit_slot(f->m, u->slot_a) + p * f->Mg;
		GP__FOR(i, f->Mg) to[i] = scaled ? D[i] * a[i] : a[i];
		if (u->shift.id) odvgp_gemm(f->blas, 0, 0, f->M, 1, f->Mg, -1, f->W, f->Mg, a, 1, 1, w, 1);
	}
}

/*	G [M,M] = I + S / s, lower, of the M features from number `from` on. */
static void gp__fit_precision(gp__fit *f, ptrdiff_t from, ptrdiff_t M, odvgp_real noise)
{
	gp__zero(f->G, M * M);
	GP__FOR(i, M)
		GP__FOR(j, i + 1)
			f->G[i * M + j] = (odvgp_real)(i == j) + f->S[(from + i) * f->F + from + j] / noise;
}

/*	Stage each block's q_sqrt: (I + S / s)^-1 = R^-1 R^-T, R factored from the last row up. */
static odvgp_status gp__fit_put_factors(gp__fit *f)
{
	int blocks = f->m->cfg.objective == ODVGP_OBJECTIVE_PARTLY ? GP__ON_GAMMA : GP__BLOCKS;
	GP__FOR(b, blocks) {
		const gp__block *block = &f->u->block[b];
		ptrdiff_t M = block->M;
		if (!block->white_sqrt.id) continue;
		gp__fit_precision(f, b == GP__ON_GAMMA ? f->M : 0, M, f->noise);
		odvgp_status status = odvgp_potrf_reverse(f->blas, M, f->G, M, f->info);
		if (status) return status;
		odvgp_trtri(f->blas, M, f->G, M);
		GP__FROM(p, f->first, f->last) {
			odvgp_real *to = gp__fit_slot(f->m, block->slot_sqrt) + p * M * M;
			if (f->u->param == ODVGP_PARAMETRISATION_WHITENED) gp__copy(to, f->G, M * M);
			else odvgp_trmm(f->blas, 0, M, M, 1, f->node[block->L.id].v, M, f->G, M, 0, to, M);
			GP__FOR(i, M) gp__zero(to + i * M + i + 1, M - i - 1);
		}
	}
	return ODVGP_OK;
}

/*	Stage the Cholesky factor of B = L^-T (S / s) L^-1. With fewer rows than points B is singular:
	the least amount that suffices is added to its diagonal. */
static odvgp_status gp__fit_put_inverse(gp__fit *f)
{
	const odvgp_real *L = f->node[f->u->L.id].v;
	ptrdiff_t M = f->M;
	odvgp_real mean = 0, added = 0,
			   *to = gp__fit_slot(f->m, f->u->block[GP__ON_BETA].slot_sqrt) + f->first * M * M;
	odvgp_info bad;
	GP__FOR(i, M)
		GP__FOR(j, i + 1) f->G[i * M + j] = f->G[j * M + i] = f->S[i * f->F + j] / f->noise;
	odvgp_trsm(f->blas, 0, 1, M, M, L, M, f->G, M);
	odvgp_trsm(f->blas, 1, 0, M, M, L, M, f->G, M);
	GP__FOR(i, M) mean += f->G[i * M + i] / (odvgp_real)M;
	GP__FOR(tries, 30) {
		GP__FOR(i, M) {
			gp__copy_row(to + i * M, f->G + i * M, i, M);
			to[i * M + i] += added;
		}
		odvgp_status status = odvgp_potrf(f->blas, M, to, M, &bad);
		if (!status) break;
		if (status == ODVGP_E_STOPPED) return gp__stop_status(f->m, f->info);
		if (tries == 29) return gp__fail(f->info, ODVGP_E_NOT_PD, "B", bad.row, bad.value, NULL);
		added = GP__MAX(4 * added, GP__EPS * mean);
	}
	GP__FROM(p, 1, f->last - f->first) gp__copy(to + p * M * M, to, M * M);
	return ODVGP_OK;
}

/*	O(M)'s g: repeat its natural step of size 1/2 until g stays. G = -S / (2 s), whatever q is. */
static odvgp_status gp__fit_diagonal(gp__fit *f, gp__diag_work *w)
{
	ptrdiff_t M = f->M;
	odvgp_real *E = f->G;
	GP__FOR(step, 2000) {
		double moved = 0;
		GP__FOR(i, M)
			GP__FOR(j, i + 1) E[i * M + j] = -GP__R(0.5) * f->S[i * f->F + j] / f->noise;
		odvgp_status status = gp__diag_factor(w, E);
		if (!status) status = gp__diag_change(w, E);
		if (status) return status;
		gp__copy(w->mu, w->g, M);
		gp__diag_move(w, GP__R(0.5));
		GP__FOR(i, M)
			moved = GP__MAX(
					moved, fabs((double)(w->g[i] - w->mu[i])) / (double)(w->g[i] + w->mu[i]));
		if (moved < 8 * (double)GP__EPS * sqrt((double)M)) break;
	}
	return ODVGP_OK;
}

static odvgp_status gp__fit_put_diagonal(gp__fit *f)
{
	gp__unit *u = f->u;
	odvgp_model *m = f->m;
	ptrdiff_t M = f->M;
	gp__diag_work w = gp__diag_work_of(u, GP__NAT_OPTIMUM);
	odvgp_real *g = gp__fit_slot(m, u->slot_q_diag);
	odvgp_events events = m->tape.events;
	gp__copy(w.g, f->node[u->q_diag.id].v, M);
	odvgp_status status = gp__fit_diagonal(f, &w);
	if (!status) {
		m->tape.events = events;
		GP__FROM(i, f->first * M, f->last * M)
			g[i] = gp__inside(&m->par, u->slot_q_diag, w.g[i % M]);
	}
	gp__end_loan(&m->nat_R, GP__NAT_OPTIMUM);
	if (!status || status == ODVGP_E_STOPPED) return gp__stop_status(m, f->info);
	return gp__refuse(f->info, status, "q_diag", "its optimum was not reached");
}

/*	What stages it, by the covariance part's `optimum`. To add one: its enumerator in >>model, its
	function here, its case in gp__fit_check if it needs a certain mean. */
typedef odvgp_status (*gp__fit_put)(gp__fit *f);
static const gp__fit_put gp__optima[] = {
		NULL, gp__fit_put_factors, gp__fit_put_inverse, gp__fit_put_diagonal};

/* --- odvgp_fit_q --- */

static odvgp_status gp__fit_check(const gp__unit *u, odvgp_info *info)
{
	int kind = u->cov_part->optimum;
	if (u->mean_part->optimum != GP__OPTIMUM_WEIGHTS)
		return gp__unsupported(info, "mean_part", "has no optimum here");
	if (kind == GP__NO_OPTIMUM) return gp__unsupported(info, "cov_part", "has no optimum here");
	if (kind == GP__OPTIMUM_DIAGONAL && !(u->steps & GP__STEPS_DIAGONAL))
		return gp__unsupported(
				info, "cov_part", "DIAGONAL has an optimum here only with O(M)'s mean");
	if (u->shift.id && gp__fit_holds_beta(u) && !gp__fit_holds_gamma(u))
		return gp__unsupported(info, "q_mu", "must not be frozen for HYBRID's optimum of a_gamma");
	return ODVGP_OK;
}

/*	The staged optimum becomes the model's q. */
static void gp__fit_take(gp__unit *u)
{
	odvgp_model *m = u->model;
	const int slots[] = {u->block[0].slot_mu, u->block[0].slot_sqrt, u->block[1].slot_mu,
			u->block[1].slot_sqrt, u->a_slot.id ? u->slot_a : 0, u->slot_q_diag};
	uint64_t lbfgs_valid = m->state.lbfgs_valid;
	GP__FOR(k, GP__COUNT(slots)) {
		if (!slots[k] || gp__fit_held(m, slots[k])) continue;
		const odvgp_slot *slot = &m->par.slot[slots[k]];
		const odvgp_real *from = gp__fit_slot(m, slots[k]);
		GP__FOR(i, slot->count) {
			if (slot->positive) gp__set_positive(m, slot->offset + i, (double)from[i]);
			gp__slot_value(&m->par, slot)[i] = from[i];
		}
		gp__touch(m, slots[k]);
	}
	/* q is no argument of these bounds: L-BFGS continues */
	if (m->cfg.objective == ODVGP_OBJECTIVE_COLLAPSED || m->cfg.objective == ODVGP_OBJECTIVE_TIGHT)
		m->state.lbfgs_valid = lbfgs_valid;
	m->state.fitted = 1;
	m->state.good_valid = 0;
}

/*	Exact GP regression as O(M)'s predictor: Z = X, q_mu = (K + s I)^-1 r, q_diag = 1 / s. */
static odvgp_status gp__fit_exact(gp__fit *f)
{
	gp__unit *u = f->u;
	odvgp_model *m = f->m;
	ptrdiff_t N = m->cfg.N;
	gp__rows rows = gp__rows_plain(f->X, f->Y, N);
	gp__wants_list want = {0, 0, 0, 0};
	odvgp_real expected, kl;
	odvgp_status s = gp__evaluate(m, &rows, want, &expected, &kl, f->info);
	if (s) return s;
	gp__fit_stage(m);
	odvgp_real noise = gp__noise(m), *g = gp__fit_slot(m, u->slot_q_diag);
	gp__copy(gp__fit_slot(m, u->block[GP__ON_BETA].slot_mu),
			f->node[m->objective.id].aux + 2 * N * N, u->P * N);
	GP__FOR(i, u->P * N) {
		odvgp_real precision = 1 / (noise * (odvgp_real)gp__noise_factor(m, i % N));
		g[i] = gp__inside(&m->par, u->slot_q_diag, precision);
	}
	gp__copy(f->node[u->Z_beta.id].v, f->X, N * u->D);
	gp__touch(m, u->slot_Z_beta);
	gp__fit_take(u);
	gp__end_loan(&m->par.lent, GP__LENT_OPTIMUM);
	return ODVGP_OK;
}

/*	Begin odvgp_fit_q or odvgp_upper_bound: carve `scratch`, compute factors and sums. */
static odvgp_status gp__fit_begin(gp__fit *f, void *scratch, size_t bytes)
{
	gp__arena a;
	gp__wants_list want = {0, 0, 0, GP__GIVES_BOUND | GP__GIVES_L};
	size_t need = odvgp_fit_q_scratch(f->m, NULL);
	if (!scratch) return gp__is_null(f->info, "scratch");
	if (!need || bytes < need) return gp__small(f->info, "scratch", need);
	gp__arena_init(&a, scratch, bytes);
	gp__fit_layout(f, &a);
	gp__all_columns(f->m);
	gp__mark_params(f->m, &want);
	odvgp_status s = gp__tape_forward_info(&f->m->tape, GP__HEAD, f->info);
	if (s) return s;
	gp__fit_prior(f);
	return gp__fit_sums(f);
}

/*	Solve for weights, or stage covariances with `put`, of all outputs of one noise at once. */
static odvgp_status gp__fit_outputs(gp__fit *f, gp__fit_put put)
{
	const odvgp_real *noise = f->node[f->m->lik_params.id].v;
	odvgp_status s = ODVGP_OK;
	for (f->first = 0; f->first < f->u->P && !s; f->first = f->last) {
		int own = f->m->extent > 1;
		f->last = own ? f->first + 1 : f->u->P;
		f->noise = noise[own ? f->first : 0];
		s = put(f);
	}
	return s;
}

static odvgp_status gp__fit_best(gp__fit *f, void *scratch, size_t bytes)
{
	odvgp_model *m = f->m;
	odvgp_status s = gp__fit_begin(f, scratch, bytes);
	if (s) return s;
	gp__fit_hold(f);
	if ((s = gp__fit_outputs(f, gp__fit_mean))) return s;
	gp__fit_stage(m);
	gp__fit_put_gamma(f);
	gp__fit_put_mean(f, GP__ON_BETA);
	if (f->to == f->F && f->gamma == GP__WHITE_GAMMA) gp__fit_put_mean(f, GP__ON_GAMMA);
	/* v_sqrt needs the sums of A_v */
	if (f->u->cov_part->v_sqrt && f->gamma != GP__WHITE_GAMMA) {
		f->gamma = GP__WHITE_GAMMA;
		gp__fit_prior(f);
		s = gp__watch_at(m, ODVGP_PHASE_FIT_Q, 0, m->cfg.N, NULL, f->info);
		if (!s) s = gp__fit_sums(f);
	}
	if (!s) s = gp__fit_outputs(f, gp__optima[f->u->cov_part->optimum]);
	if (!s && (s = gp__stop_status(m, f->info)) == ODVGP_OK) gp__fit_take(f->u);
	gp__end_loan(&m->par.lent, GP__LENT_OPTIMUM);
	return s;
}

static odvgp_status gp__fit_q(gp__fit *f, void *scratch, size_t bytes)
{
	odvgp_model *m = f->m;
	odvgp_info *info = f->info;
	odvgp_status s = gp__watch_at(m, ODVGP_PHASE_FIT_Q, 0, m->cfg.N, NULL, info);
	if (s) return s;
	if (m->units > 1) return gp__unsupported(info, "model", gp__one_layer_only);
	if (m->slot_mixing)
		return gp__unsupported(
				info, "functions", "a mixture has no optimum in closed form: take natural steps");
	if (!gp__has_noise(&m->cfg))
		return gp__unsupported(
				info, "likelihood", "must be Gaussian for an optimum in closed form");
	odvgp_events events = m->tape.events;
	gp__keep_jitters(m);
	if (m->cfg.objective == ODVGP_OBJECTIVE_EXACT) s = gp__fit_exact(f);
	else if ((s = gp__fit_check(f->u, info))) return s;
	else s = gp__fit_best(f, scratch, bytes);
	return gp__attempt_end(m, s, &events);
}

ODVGP_API odvgp_status odvgp_fit_q(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		const odvgp_watch *watch, void *scratch, size_t scratch_bytes, odvgp_info *info)
{
	gp__watcher own, *outer;
	gp__fit f;
	odvgp_status s = gp__all_rows_check(m, X, Y, info);
	if (s) return s;
	outer = gp__watch_begin(m, &own, watch);
	gp__fit_open(&f, m->unit, X, Y, info);
	s = gp__fit_q(&f, scratch, scratch_bytes);
	m->tape.blas.watcher = outer;
	return s;
}

/* --- odvgp_upper_bound --- */

/*	The terms logs and quadratic of
		-(P N log(2 pi) + P log|Q + s I| + r^T (Q + t I)^-1 r) / 2
	with t = s + tr(K - Q) for the upper bound; t = s for the lower one, which also has a trace
	term. */
static odvgp_status gp__fit_bound(gp__fit *f, double t, double *logs, double *quadratic)
{
	ptrdiff_t M = f->M;
	double hJh = 0;
	GP__FOR(pass, 2) { /* the determinant with noise, the quadratic with t */
		gp__fit_precision(f, 0, M, pass ? (odvgp_real)t : f->noise);
		odvgp_status status = odvgp_potrf(f->blas, M, f->G, M, NULL);
		if (status) return status;
		if (pass) break;
		*logs = f->weight * log((double)f->noise);
		GP__FOR(i, M) *logs += 2 * log((double)f->G[i * M + i]);
	}
	GP__FOR(p, f->u->P) {
		gp__copy(f->rest, f->h + p * f->F, M);
		odvgp_trsm(f->blas, 0, 0, M, 1, f->G, M, f->rest, 1);
		GP__FOR(i, M) hJh += (double)f->rest[i] * (double)f->rest[i];
	}
	*quadratic = (f->rr - hJh / t) / t;
	/* r^T r and the term subtracted from it have a real's digits: refuse errors above 0.01
	   (|quadratic| + one nat per row and output) */
	double error = 16 * (double)GP__EPS * f->rr / t,
		   rows = (double)f->m->cfg.N * (double)f->m->cfg.layer[0].P;
	return error <= 0.01 * (rows + fabs(*quadratic)) ? ODVGP_OK : ODVGP_E_NAN;
}

/*	bound: upper, lower. */
static odvgp_status gp__fit_bounds(gp__fit *f, odvgp_real bound[2])
{
	double logs, above, below;
	f->noise = gp__noise(f->m);
	double P = (double)f->m->cfg.layer[0].P, noise = (double)f->noise,
		   constant = P * f->weight * gp__log_2pi, left = f->kk / P;
	GP__FOR(i, f->M) left -= (double)f->S[i * f->F + i];
	left = GP__MAX(left, 0);
	odvgp_status status = gp__fit_bound(f, noise + left, &logs, &above);
	if (status || (status = gp__fit_bound(f, noise, &logs, &below)))
		return gp__refuse(f->info, status, "I + A A^T / noise",
				status == ODVGP_E_NAN
						? "the noise is too small beside the targets: all digits cancel"
						: NULL);
	/* equal bounds must not cross by rounding */
	above = GP__MIN(above, below + P * left / noise);
	bound[0] = (odvgp_real)(-0.5 * (constant + P * logs + above + P * f->logs));
	bound[1] = (odvgp_real)(-0.5 * (constant + P * logs + below + P * left / noise + P * f->logs));
	return ODVGP_OK;
}

ODVGP_API odvgp_status odvgp_upper_bound(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		odvgp_real *upper, odvgp_real *lower, void *scratch, size_t scratch_bytes, odvgp_info *info)
{
	odvgp_status s = gp__all_rows_check(m, X, Y, info);
	if (s) return s;
	if (!upper) return gp__is_null(info, "upper");
	if (!gp__has_noise(&m->cfg) || m->cfg.objective >= ODVGP_OBJECTIVE_PARTLY || m->extent > 1 ||
			m->units > 1 || m->slot_mixing)
		return gp__unsupported(
				info, "model", "an upper bound is for one Gaussian noise and one unit");
	odvgp_events events = m->tape.events;
	odvgp_real bound[2];
	gp__fit f;
	gp__keep_jitters(m);
	gp__fit_open(&f, m->unit, X, Y, info);
	s = gp__fit_begin(&f, scratch, scratch_bytes);
	if (!s) s = gp__fit_bounds(&f, bound);
	if (!s && !gp__finite(bound, lower ? 2 : 1))
		s = gp__fail(info, ODVGP_E_NAN, "bound", -1, (double)bound[0],
				"is not finite: the data are too large, or the noise is too small");
	if (s) return gp__attempt_end(m, s, &events);
	*upper = bound[0];
	if (lower) *lower = bound[1];
	return ODVGP_OK;
}

#endif /* ODVGP_FLOAT_ONLY */

/* ---- >>adam   Adam, schedules, scales of coordinates

	Adam with TensorFlow's eps:
		m1 <- b1 m1 + (1-b1) g
		m2 <- b2 m2 + (1-b2) g^2
		x  <- x - lr sqrt(1-b2^t)/(1-b1^t) m1 / (sqrt(m2) + eps)
	or with the eps of [ADAM] algorithm 1 (primes: bias-corrected moments):
		x  <- x - lr m1' / (sqrt(m2') + eps)
	With scales D the coordinates are D x: the step is lr / D and eps is eps D. D is one over a
	number's unit, unless odvgp_gamma_coords gives another. */

typedef struct {
	gp__wide lr, beta1, beta2, eps;
	int eps_inside;
	ptrdiff_t t; /* steps, including this one */
} gp__adam;

/*	D of number i of a slot: `times`, times (or over, if `divide`) at[i / repeat % n]. */
typedef struct {
	odvgp_real times;
	const odvgp_real *at; /* NULL: D is `times` */
	ptrdiff_t n, repeat;
	int divide;
} gp__scale;

/*	Neither 0 nor infinite, whatever the units are. */
static odvgp_real gp__scale_at(const gp__scale *s, ptrdiff_t i)
{
	odvgp_real u = s->at ? s->at[i / s->repeat % s->n] : 1,
			   d = s->divide ? s->times / u : s->times * u;
	return GP__MIN(GP__MAX(d, GP__TINY), 1 / GP__TINY);
}

/*	One over the unit of a slot's numbers. */
static gp__scale gp__unit_scale(const odvgp_model *m, int slot)
{
	const gp__slot_state *state = &m->par.state[slot];
	const gp__unit *u = &m->unit[GP__MAX(state->unit, 0)];
	const odvgp_real *of_layer = m->data_sd + u->sd_at;
	gp__scale scale = {1, NULL, u->D, 1, 0};
	odvgp_real sd = of_layer[scale.n];
	/* processes that are mixed have unit variance */
	if (gp__is_mixed(u) && slot != m->slot_mixing) sd = 1;
	if (state->power) scale.times = state->power > 0 ? 1 / sd : sd;
	if (!state->column) return scale;
	scale.at = of_layer;
	scale.divide = state->column == GP__IN_INPUTS;
	if (u->patches.height && (scale.divide || u->patches.image_output)) {
		scale.at = of_layer + u->D + 1;
		scale.n = u->Dz;
	}
	if (!scale.divide) scale.repeat = m->par.slot[slot].shape[1];
	return scale;
}

static void gp__adam_update(const gp__adam *a, ptrdiff_t n, odvgp_real *x, const odvgp_real *g,
		const gp__scale *scale, odvgp_real *m1, odvgp_real *m2)
{
	gp__wide c1 = 1 - gp__pow(a->beta1, (gp__wide)a->t), c2 = 1 - gp__pow(a->beta2, (gp__wide)a->t);
	odvgp_real rate = (odvgp_real)(a->lr * gp__sqrt(c2) / c1),
			   eps = (odvgp_real)(a->eps_inside ? a->eps * gp__sqrt(c2) : a->eps);
	odvgp_real b1 = (odvgp_real)a->beta1, b2 = (odvgp_real)a->beta2;
	GP__FOR(i, n) {
		odvgp_real d = scale ? gp__scale_at(scale, i) : 1;
		m1[i] = b1 * m1[i] + (1 - b1) * g[i];
		m2[i] = b2 * m2[i] + (1 - b2) * g[i] * g[i];
		odvgp_real size = GP__SQRT(m2[i]) + eps * d;
		/* 0 if eps is 0 and all gradients have been 0 */
		if (size > 0) x[i] -= rate / d * (m1[i] / size);
	}
}

/*	A fraction f of the way between two numbers, in equal steps or ratios. */
static odvgp_real gp__between(int linear, odvgp_real from, odvgp_real to, gp__wide f)
{
	if (linear) return (odvgp_real)((gp__wide)from + f * ((gp__wide)to - (gp__wide)from));
	return (odvgp_real)((gp__wide)from * gp__pow((gp__wide)to / (gp__wide)from, f));
}

static odvgp_real gp__schedule_at(const odvgp_schedule *s, uint64_t step)
{
	int linear = s->kind == ODVGP_SCHEDULE_LINEAR;
	if (s->decay_steps && step >= (uint64_t)s->decay_from) {
		uint64_t gone = step - (uint64_t)s->decay_from;
		if (gone >= (uint64_t)s->decay_steps) return s->final;
		return gp__between(
				linear, s->end, s->final, (gp__wide)(ptrdiff_t)gone / (gp__wide)s->decay_steps);
	}
	if (s->kind == ODVGP_SCHEDULE_CONSTANT || step >= (uint64_t)s->steps) return s->end;
	return gp__between(linear, s->start, s->end, (gp__wide)(ptrdiff_t)step / (gp__wide)s->steps);
}

ODVGP_API odvgp_status odvgp_set_step_sizes(odvgp_model *m, const odvgp_schedule *lr,
		const odvgp_schedule *natgrad_step, odvgp_info *info)
{
	if (!gp__model_ok(m)) return gp__is_null(info, "model");
	const char *bad = natgrad_step && !gp__schedule_ok(natgrad_step, 1) ? "natgrad_step" : NULL;
	if (lr && !gp__schedule_ok(lr, GP__R(1e6))) bad = "lr";
	if (bad) return gp__refuse(info, ODVGP_E_ARG, bad, "is not a valid schedule");
	if (lr) m->cfg.optim.lr = *lr;
	if (natgrad_step) m->cfg.optim.natgrad_step = *natgrad_step;
	return ODVGP_OK;
}

/*	Gamma's scales D / sqrt(k) (odvgp_gamma_coords), a tile of columns at a time, in A's memory. */
static void gp__renew_scales(gp__unit *u)
{
	odvgp_model *m = u->model;
	gp__tape *t = &m->tape;
	gp__node *A = &t->node[u->A.id], *Zg = &t->node[u->Z_gamma.id], *L = &t->node[u->L.id];
	odvgp_real k = gp__prior_variance(u);
	if (u->mean_part->scale != GP__SCALE_RESIDUAL) {
		int sums = u->mean_part->scale == GP__SCALE_SUM;
		GP__FOR(i, u->M_gamma) u->scales[i] = GP__SQRT(sums ? k * (odvgp_real)u->M_gamma : k);
		return;
	}
	gp__lend_value(A);
	for (ptrdiff_t j = 0; j < u->M_gamma; j += m->cfg.tile) {
		ptrdiff_t cols = GP__MIN(m->cfg.tile, u->M_gamma - j);
		gp__kjob job;
		gp__unit_job(&job, u, t->node[u->Z_beta.id].v, u->M, Zg->v + j * u->Dz, cols);
		job.K = A->v;
		job.ldk = A->ld;
		gp__kernel_run(&job, t->scratch);
		odvgp_trsm(&t->blas, 0, 0, u->M, cols, L->v, L->ld, A->v, A->ld);
		gp__column_squares(A->v, u->M, cols, A->ld, u->scales + j);
		GP__FROM(i, j, j + cols) {
			odvgp_real own = gp__unit_diag(u, Zg->v + i * u->Dz);
			u->scales[i] = GP__MAX(own - u->scales[i], GP__SCALE_FLOOR * k) / GP__SQRT(k);
		}
	}
}

static gp__scale gp__adam_scale(const odvgp_model *m, int slot)
{
	gp__scale scale = gp__unit_scale(m, slot);
	const gp__unit *u = &m->unit[GP__MAX(m->par.state[slot].unit, 0)];
	const gp__block *beta = &u->block[GP__ON_BETA];
	int sum = u->mean_part->mu == GP__MU_COEFFICIENTS;
	if (m->par.state[slot].unit < 0 || u->gamma_coords != ODVGP_GAMMA_COORDS_SCALED) return scale;
	/* O(M)'s alpha and B_sqrt are in units of 1 / y; steps of its points move all M terms */
	if ((sum && slot == beta->slot_mu) || (u->cov_part->sqrt_power < 0 && slot == beta->slot_sqrt))
		scale.times = u->prior_sd;
	if (sum && !u->M_gamma && slot == u->slot_Z_beta) scale.times *= GP__SQRT((odvgp_real)u->M);
	if (!u->a_slot.id || slot != u->slot_a) return scale;
	const gp__scale of_gamma = {1, u->scales, u->M_gamma, 1, 0};
	return of_gamma;
}

/*	Before the kernels move: stores sqrt(k(x,x)), and renews gamma's scales every 100 steps. */
static void gp__adam_units(odvgp_model *m)
{
	int scaled = 0, renew = (size_t)m->state.scales_age % 100 == 0;
	GP__EACH_UNIT(u, m) {
		u->prior_sd = GP__SQRT(gp__prior_variance(u));
		if (u->gamma_coords != ODVGP_GAMMA_COORDS_SCALED || !u->a_slot.id) continue;
		scaled = 1;
		if (renew) gp__renew_scales(u);
	}
	if (scaled) m->state.scales_age = renew ? 1 : m->state.scales_age + 1;
}

/*	The derivative of number i of slot s in its theta. */
static odvgp_real gp__theta_derivative(const odvgp_model *m, int s, ptrdiff_t i)
{
	if (!m->par.slot[s].positive) return 1;
	return gp__positive_derivative(&m->par, s, m->par.theta[i], m->par.value[i]);
}

static void gp__adam_step(odvgp_model *m, odvgp_real lr)
{
	const odvgp_config *c = &m->cfg;
	gp__adam adam = {(gp__wide)lr, (gp__wide)c->optim.adam_beta1, (gp__wide)c->optim.adam_beta2,
			(gp__wide)c->optim.adam_eps, c->reproduce.adam_eps_inside,
			(ptrdiff_t)++m->state.adam_steps};
	gp__adam_units(m);
	GP__EACH_SLOT(s, m) {
		const odvgp_slot *slot = &m->par.slot[s];
		ptrdiff_t o = slot->offset;
		if (!slot->trainable || slot->natgrad || !slot->count) continue;
		GP__EACH_VALUE(i, slot) m->par.grad[i] *= gp__theta_derivative(m, s, i);
		gp__scale scale = gp__adam_scale(m, s);
		gp__adam_update(&adam, slot->count, m->par.theta + o, m->par.grad + o, &scale, m->m1 + o,
				m->m2 + o);
		GP__EACH_VALUE(i, slot) gp__set_theta(m, s, i, m->par.theta[i]);
		gp__touch(m, s);
	}
}

static void gp__report(
		const odvgp_model *m, odvgp_real expected, odvgp_real kl, odvgp_report *report)
{
	memset(report, 0, sizeof *report);
	report->step = (ptrdiff_t)m->state.steps;
	report->elbo = expected - kl;
	report->expected_loglik = expected;
	report->kl = kl;
	report->events = m->tape.events;
}

#ifndef ODVGP_FLOAT_ONLY
/* ---- >>lbfgs   L-BFGS with a line search

	The direction is d = -H g. The two-loop recursion applies H from the last pairs s = x' - x,
	y = g' - g, with H0 = s.y / y.y I of the newest pair ([LBFGS] algorithm 7.4). Bracketing and
	zooming (algorithms 3.5, 3.6) find a step x <- x + a d that satisfies
		f(a) <= f(0) + c1 a f'(0)   and   |f'(a)| <= c2 |f'(0)|    (strong Wolfe)
	A pair with s.y <= 16 eps |s| |y| is not kept. The value never rises: if no point on the line is
	lower, the pairs are dropped and steepest descent is tried; failing that, x stays. An iteration
	costs O(memory n) besides evaluations. */

#define GP__WOLFE_1       1e-4
#define GP__WOLFE_2       0.9
#define GP__SEARCH_PROBES 25 /* most evaluations on one line */
#define GP__CURVATURE     (16 * (double)GP__EPS)

/*	A function to minimise: value and gradient g at x. If either is not finite, x is too far. */
typedef struct {
	void (*loss)(void *user, const odvgp_real *x, double *loss, odvgp_real *g);
	void *user;
	/* what differences of values are compared with; a value may contain any constant */
	double scale;
} gp__problem;

static void gp__lbfgs_drop(gp__lbfgs *w) { w->pairs = w->next = 0; }

static ptrdiff_t gp__lbfgs_pair(const gp__lbfgs *w, ptrdiff_t age)
{
	return ((ptrdiff_t)w->next + w->memory - 1 - age) % w->memory;
}

/*	d = -H g. Returns the derivative d.g, or 0 if d does not lead down. */
static double gp__lbfgs_direction(gp__lbfgs *w)
{
	ptrdiff_t n = w->n, pairs = (ptrdiff_t)w->pairs;
	GP__FOR(i, n) w->d[i] = -w->g[i];
	GP__FOR(age, pairs) {
		ptrdiff_t k = gp__lbfgs_pair(w, age);
		w->alpha[k] = gp__wide_dot(n, w->S + k * n, w->d) / w->sy[k];
		gp__wide_axpy(n, -w->alpha[k], w->Y + k * n, w->d);
	}
	if (pairs) {
		ptrdiff_t k = gp__lbfgs_pair(w, 0);
		double yy = gp__wide_dot(n, w->Y + k * n, w->Y + k * n), h = yy > 0 ? w->sy[k] / yy : 0;
		GP__FOR(i, n) w->d[i] = (odvgp_real)(h * (double)w->d[i]);
	}
	for (ptrdiff_t age = pairs - 1; age >= 0; age--) {
		ptrdiff_t k = gp__lbfgs_pair(w, age);
		double beta = gp__wide_dot(n, w->Y + k * n, w->d) / w->sy[k];
		gp__wide_axpy(n, w->alpha[k] - beta, w->S + k * n, w->d);
	}
	double derivative = gp__finite(w->d, n) ? gp__wide_dot(n, w->d, w->g) : 0;
	return derivative < 0 && derivative - derivative == 0 ? derivative : 0;
}

/*	A point x + a d: value (HUGE_VAL: too far) and derivative. */
typedef struct {
	double a, f, derivative;
} gp__probe;

static gp__probe gp__lbfgs_probe(gp__lbfgs *w, const gp__problem *p, double a)
{
	gp__probe at = {a, HUGE_VAL, 0};
	double f = HUGE_VAL, derivative;
	GP__FOR(i, w->n) w->trial[i] = (odvgp_real)((double)w->x[i] + a * (double)w->d[i]);
	if (!gp__finite(w->trial, w->n)) return at;
	w->evaluations++;
	p->loss(p->user, w->trial, &f, w->g_trial);
	if (!(f - f == 0) || !gp__finite(w->g_trial, w->n)) return at;
	derivative = gp__wide_dot(w->n, w->g_trial, w->d);
	if (!(derivative - derivative == 0)) return at;
	at.f = f;
	at.derivative = derivative;
	return at;
}

/*	The first Wolfe condition. If values differ only by rounding, derivatives decide: for a parabola
	this is the same condition. */
static int gp__lower_by_enough(const gp__probe *from, const gp__probe *at)
{
	if (at->f <= from->f + GP__WOLFE_1 * at->a * from->derivative) return 1;
	int same = from->f - at->f <= 8 * (double)GP__EPS * fabs(from->f);
	return at->f <= from->f && same && at->derivative <= (2 * GP__WOLFE_1 - 1) * from->derivative;
}

/*	Minimum of the cubic through two points, in units of the way from p to q, or NaN. */
static double gp__cubic_minimum(const gp__probe *p, const gp__probe *q)
{
	double way = q->a - p->a, s0 = p->derivative * way, s1 = q->derivative * way,
		   rise = q->f - p->f, none = HUGE_VAL - HUGE_VAL;
	/* the derivatives' parabola */
	if (fabs(rise) <= 16 * (double)GP__EPS * fabs(p->f)) return s0 < s1 ? s0 / (s0 - s1) : none;
	double d1 = s0 + s1 - 3 * rise, square = d1 * d1 - s0 * s1;
	if (!(square >= 0)) return none;
	double d2 = sqrt(square), bend = s1 - s0 + 2 * d2;
	return bend > 0 ? 1 - (s1 + d2 - d1) / bend : none;
}

/*	The next step length: beyond lo while no point bounds the search, else between lo and hi, near
	neither. */
static double gp__lbfgs_next(
		const gp__probe *old, const gp__probe *lo, const gp__probe *hi, double *width)
{
	double t, way = hi->a - lo->a;
	if (!(hi->a < HUGE_VAL)) {
		t = gp__cubic_minimum(old, lo);
		return old->a + (t >= 2 ? GP__MIN(t, 10) : t < 2 ? 2 : 5) * (lo->a - old->a);
	}
	if (!(hi->f < HUGE_VAL)) return lo->a + 0.25 * way;
	t = gp__cubic_minimum(lo, hi);
	if (!(t - t == 0) || fabs(way) > 0.66 * *width) t = 0.5;
	*width = fabs(way);
	return lo->a + GP__MAX(0.1, GP__MIN(t, 0.9)) * way;
}

/*	Leaves in trial and g_trial a point that satisfies the Wolfe conditions, or else the lowest one
	seen. Evaluating it again restores the state of the loss, which is deterministic. Returns 0 if
	no point is lower. */
static int gp__lbfgs_search(gp__lbfgs *w, const gp__problem *p, double derivative, gp__probe *at)
{
	gp__probe start = {0, w->loss, derivative}, lo = start, hi = {HUGE_VAL, HUGE_VAL, 0},
			  old = start;
	double length = gp__length(w->n, w->g), a = w->pairs || length <= 1 ? 1 : 1 / length,
		   width = HUGE_VAL;
	GP__FOR(i, GP__SEARCH_PROBES) {
		*at = gp__lbfgs_probe(w, p, a);
		if (w->stopped) return 0;
		if (gp__lower_by_enough(&start, at) && at->f <= lo.f) {
			if (fabs(at->derivative) <= -GP__WOLFE_2 * derivative) return 1;
			old = lo;
			if (at->derivative * (hi.a - lo.a) >= 0) hi = lo;
			lo = *at;
		} else hi = *at;
		a = gp__lbfgs_next(&old, &lo, &hi, &width);
		/* The value can still fall by derivative times width: stop below rounding error. */
		if (hi.a < HUGE_VAL && -lo.derivative * (hi.a - lo.a) <= (double)GP__EPS * fabs(start.f))
			break;
		if (hi.a < HUGE_VAL && fabs(hi.a - lo.a) <= (double)GP__EPS * GP__MAX(lo.a, hi.a)) break;
	}
	if (!(lo.a > 0) || !(lo.f < start.f)) return 0;
	if (at->a != lo.a) *at = gp__lbfgs_probe(w, p, lo.a);
	return at->f < start.f && !w->stopped;
}

/*	The step from x to trial replaces the oldest pair, if the loss curves upwards along it. */
static void gp__lbfgs_remember(gp__lbfgs *w)
{
	odvgp_real *s = w->S + (ptrdiff_t)w->next * w->n, *y = w->Y + (ptrdiff_t)w->next * w->n;
	double sy = 0, ss = 0, yy = 0;
	GP__FOR(i, w->n) { /* rounded first, as they would be stored */
		odvgp_real si = w->trial[i] - w->x[i], yi = w->g_trial[i] - w->g[i];
		sy += (double)si * (double)yi;
		ss += (double)si * (double)si;
		yy += (double)yi * (double)yi;
	}
	if (!(sy > GP__CURVATURE * sqrt(ss) * sqrt(yy)) || !(sy < HUGE_VAL) || !(yy < HUGE_VAL)) return;
	GP__FOR(i, w->n) {
		s[i] = w->trial[i] - w->x[i];
		y[i] = w->g_trial[i] - w->g[i];
	}
	w->sy[w->next] = sy;
	w->next = (w->next + 1) % (uint64_t)w->memory;
	w->pairs = GP__MIN(w->pairs + 1, (uint64_t)w->memory);
}

/*	The value has not changed: converged if the first direction promised little gain, else stuck. */
static void gp__lbfgs_end(gp__lbfgs *w, double gain, double size)
{
	w->converged = gain <= pow((double)GP__EPS, 2.0 / 3) * size;
	w->stuck = !w->converged;
}

/*	One iteration from x, where loss and g are known. Returns 1 if x has moved, with its loss and g;
	else 0, with all unchanged. */
static int gp__lbfgs_iterate(gp__lbfgs *w, const gp__problem *p)
{
	gp__probe at;
	double before = w->loss, size = p->scale, gain = -1;
	uint64_t pairs = w->pairs, next = w->next;
	w->evaluations = 0;
	w->length = 0;
	w->converged = w->stuck = w->stopped = 0;
	for (;;) {
		double derivative = gp__lbfgs_direction(w);
		if (gain < 0) gain = -derivative;
		if (derivative < 0 && gp__lbfgs_search(w, p, derivative, &at)) break;
		if (w->stopped) {
			w->pairs = pairs;
			w->next = next;
			return 0;
		}
		if (!w->pairs) {
			gp__lbfgs_end(w, gain, size);
			return 0;
		}
		gp__lbfgs_drop(w);
	}
	gp__lbfgs_remember(w);
	double was = gp__max_abs(w->n, w->g), now = gp__max_abs(w->n, w->g_trial);
	gp__copy(w->x, w->trial, w->n);
	gp__copy(w->g, w->g_trial, w->n);
	w->loss = at.f;
	w->length = at.a;
	if (at.f == before && now > 0.5 * was) gp__lbfgs_end(w, gain, size);
	else
		w->converged = before - at.f <= pow((double)GP__EPS, 2.0 / 3) * size &&
					   now <= sqrt((double)GP__EPS) * size;
	return 1;
}

/* --- L-BFGS on a model --- */

typedef struct {
	odvgp_model *m;
	const gp__rows *rows;
	gp__state start; /* of the iteration */
	odvgp_real expected, kl;
} gp__lbfgs_job;

/*	theta <- x / D, with changed values. */
static void gp__lbfgs_place(odvgp_model *m, const odvgp_real *x)
{
	GP__EACH_SLOT(s, m) {
		const odvgp_slot *slot = &m->par.slot[s];
		gp__scale scale = gp__unit_scale(m, s);
		if (!slot->trainable) continue;
		GP__FOR(i, slot->count) {
			odvgp_real theta = x[slot->offset + i] / gp__scale_at(&scale, i);
			if (m->par.theta[slot->offset + i] != theta)
				gp__set_theta(m, s, slot->offset + i, theta);
		}
		gp__touch(m, s);
	}
}

/*	x = D theta */
static void gp__lbfgs_take(const odvgp_model *m, odvgp_real *x)
{
	GP__EACH_SLOT(s, m) {
		const odvgp_slot *slot = &m->par.slot[s];
		gp__scale scale = gp__unit_scale(m, s);
		GP__FOR(i, slot->count)
			x[slot->offset + i] = m->par.theta[slot->offset + i] * gp__scale_at(&scale, i);
	}
}

/*	In x; 0 for frozen slots. */
static void gp__lbfgs_gradient(const odvgp_model *m, odvgp_real *g)
{
	GP__EACH_SLOT(s, m) {
		const odvgp_slot *slot = &m->par.slot[s];
		gp__scale scale = gp__unit_scale(m, s);
		GP__FOR(k, slot->count) {
			ptrdiff_t i = slot->offset + k;
			odvgp_real derivative = gp__theta_derivative(m, s, i);
			g[i] = slot->trainable ? m->par.grad[i] * derivative / gp__scale_at(&scale, k) : 0;
		}
	}
}

static odvgp_status gp__lbfgs_evaluate(
		gp__lbfgs_job *job, double *loss, odvgp_real *g, odvgp_info *info)
{
	gp__wants_list want = {1, 0, 0, GP__GIVES_BOUND};
	odvgp_status s = gp__evaluate(job->m, job->rows, want, &job->expected, &job->kl, info);
	if (s) return s;
	gp__lbfgs_gradient(job->m, g);
	if (!gp__finite(g, job->m->lbfgs.n))
		return gp__refuse(info, ODVGP_E_NAN, "gradient", "is not finite");
	*loss = (double)job->kl - (double)job->expected;
	return ODVGP_OK;
}

static void gp__lbfgs_loss(void *user, const odvgp_real *x, double *loss, odvgp_real *g)
{
	gp__lbfgs_job *job = (gp__lbfgs_job *)user;
	odvgp_model *m = job->m;
	*loss = HUGE_VAL;
	gp__lbfgs_place(m, x);
	/* the jitters of the start: the bound is a function of theta */
	gp__restore_jitters(m);
	if (gp__theta_ok(m)) gp__lbfgs_evaluate(job, loss, g, NULL);
	m->lbfgs.stopped = gp__stopped(&m->tape.blas) != 0;
}

/*	Store the jitters; whether they were the same before. */
static int gp__lbfgs_note_jitters(odvgp_model *m)
{
	int same = 1;
	GP__EACH_UNIT(u, m)
		GP__FOR(k, GP__JITTERS) {
			same &= u->jitter[k].raised == u->lbfgs_jitter[k];
			u->lbfgs_jitter[k] = u->jitter[k].raised;
		}
	return same;
}

/* --- one iteration of training --- */

/*	Loss and gradient at theta: the last iteration's if still valid, else computed, without the
	pairs, which belong to another function. */
static odvgp_status gp__lbfgs_start(gp__lbfgs_job *job, ptrdiff_t *evaluations, odvgp_info *info)
{
	odvgp_model *m = job->m;
	const gp__rows *rows = job->rows;
	gp__lbfgs *w = &m->lbfgs;
	gp__state *state = &m->state;
	/* the stored bound is valid for these rows only */
	uint64_t hash = gp__reals_hash(rows->Y, rows->n * gp__y_columns(&m->y),
			gp__reals_hash(rows->X, rows->n * m->cfg.layer[0].D, 1));
	gp__lbfgs_take(m, w->x);
	job->expected = (odvgp_real)state->lbfgs_expected;
	job->kl = (odvgp_real)state->lbfgs_kl;
	w->loss = state->lbfgs_kl - state->lbfgs_expected;
	*evaluations = 0;
	if (state->lbfgs_valid && state->lbfgs_data == hash && gp__lbfgs_note_jitters(m))
		return ODVGP_OK;
	odvgp_events events = m->tape.events;
	gp__keep_jitters(m);
	state->lbfgs_valid = 0; /* g is overwritten, also on failure */
	odvgp_status s = gp__attempt_end(m, gp__lbfgs_evaluate(job, &w->loss, w->g, info), &events);
	if (s) return s;
	gp__lbfgs_drop(w);
	state->lbfgs_data = hash;
	*evaluations = 1;
	return ODVGP_OK;
}

/*	Restores the iteration's start, to the last bit. */
static void gp__lbfgs_return(gp__lbfgs_job *job)
{
	odvgp_model *m = job->m;
	gp__lbfgs_place(m, m->lbfgs.x);
	gp__copy(m->par.theta, m->good, m->par.count);
	gp__copy(m->par.value, gp__lent(&m->kept, GP__KEPT_BY_LBFGS), m->par.positive);
	gp__restore_jitters(m);
	m->state = job->start;
}

static odvgp_status gp__lbfgs_step(
		odvgp_model *m, const gp__rows *rows, odvgp_report *report, odvgp_info *info)
{
	gp__lbfgs *w = &m->lbfgs;
	gp__state *state = &m->state;
	gp__lbfgs_job job;
	gp__problem problem = {gp__lbfgs_loss, &job, (double)m->cfg.N * (double)m->F};
	ptrdiff_t evaluations;
	if (rows->n != m->cfg.N)
		return gp__fail(info, ODVGP_E_UNSUPPORTED, "n", -1, (double)rows->n,
				"L-BFGS needs full batch: all N rows at once");
	job.m = m;
	job.rows = rows;
	gp__all_columns(m);
	odvgp_status s = gp__lbfgs_start(&job, &evaluations, info);
	if (s) return s;
	odvgp_real expected = job.expected, kl = job.kl;
	gp__keep_jitters(m);
	job.start = *state;
	gp__copy(m->good, m->par.theta, m->par.count);
	gp__copy(gp__lend(&m->kept, GP__KEPT_BY_LBFGS), m->par.value, m->par.positive);
	gp__lbfgs_note_jitters(m);
	odvgp_events events = m->tape.events;
	if (gp__lbfgs_iterate(w, &problem)) {
		if (!gp__lbfgs_note_jitters(m)) gp__lbfgs_drop(w);
	} else {
		gp__lbfgs_return(&job);
		job.expected = expected;
		job.kl = kl;
	}
	gp__end_loan(&m->kept, GP__KEPT_BY_LBFGS);
	if (w->stopped) {
		m->tape.events = events;
		return gp__refuse(info, ODVGP_E_STOPPED, "watch", NULL);
	}
	state->lbfgs_expected = (double)job.expected;
	state->lbfgs_kl = (double)job.kl;
	state->lbfgs_valid = 1;
	/* The bound can be evaluated where a line search ends. A raised jitter stays: another one gives
	   another function. */
	state->good_valid = 0;
	state->steps++;
	if (!report) return ODVGP_OK;
	gp__report(m, expected, kl, report);
	report->lr = (odvgp_real)w->length;
	report->converged = w->converged;
	report->stuck = w->stuck;
	report->evaluations = evaluations + w->evaluations;
	return ODVGP_OK;
}

#endif /* ODVGP_FLOAT_ONLY */

/* ---- >>train   the training step */

static void gp__jitter_recover(gp__tape *t, gp__jitter *jitter)
{
	if (!(jitter->raised > 0) || ++jitter->clean < 100) return;
	jitter->raised *= GP__R(0.1);
	jitter->clean = 0;
	if (jitter->raised < GP__R(0.1) * jitter->base) jitter->raised = 0;
	gp__jitter_moved(t, jitter);
}

/*	After 100 clean steps halved step sizes double and a raised jitter falls tenfold. */
static void gp__recover(odvgp_model *m)
{
	if ((size_t)++m->state.clean_steps % 100 == 0)
		m->state.step_scale = GP__MIN(1, 2 * m->state.step_scale);
	GP__EACH_UNIT(u, m)
		GP__FOR(k, GP__JITTERS) gp__jitter_recover(&m->tape, &u->jitter[k]);
}

static int gp__uses_natgrad(const odvgp_model *m)
{
	if (!m->cfg.optim.natgrad) return 0;
	GP__EACH_SLOT(i, m)
		if (m->par.slot[i].natgrad && !m->par.slot[i].trainable) return 0;
	return 1;
}

/*	Restores the last good values of natural steps' slots. */
static void gp__natural_back(odvgp_model *m)
{
	m->state.nat_valid = 0; /* (P, j) must be recomputed from q */
	GP__EACH_SLOT(s, m) {
		const odvgp_slot *slot = &m->par.slot[s];
		if (!slot->natgrad) continue;
		GP__EACH_VALUE(i, slot) gp__set_theta(m, s, i, m->good[i]);
		gp__touch(m, s);
	}
}

enum { GP__WATCHED_LOOKS = 4, GP__CURVED_LOOKS = 20 };

/*	Whether a natural step of any size can overshoot: log p(y|f) is not concave in what q moves, or
	couples functions that move together. */
static int gp__is_curved(const odvgp_model *m)
{
	return GP__DESK && (!(m->y.lik->flags & GP__LIK_LOG_CONCAVE) || m->cfg.lik.link_jitter > 0 ||
							   m->cfg.layers > 1 || (m->slot_mixing && m->cfg.layer[0].P > 1));
}

/*	A natural step that is checked: O(M)'s if it sees all rows, a curved model's always. While the
	bound falls, restore the last good q, which gave `bound`, evaluate it again, because a step uses
	up its statistics, and take half the step. If that fails, as it can when the rows change
	meanwhile, no step was taken. Adds its evaluations to *evaluations. */
static odvgp_status gp__step_watched(odvgp_model *m, const gp__rows *rows, gp__wants_list want,
		odvgp_real tau, gp__wide bound, int *evaluations, odvgp_info *info)
{
	int curved = gp__is_curved(m), most = curved ? GP__CURVED_LOOKS : GP__WATCHED_LOOKS;
	gp__wide least =
			bound - (curved ? GP__MAX(GP__W(1e-9), 4 * GP__W(GP__EPS)) * gp__fabs(bound)
							: gp__sqrt((gp__wide)GP__EPS) * (gp__fabs(bound) + (gp__wide)m->cfg.N));
	odvgp_real expected, kl;
	odvgp_events events = m->tape.events;
	uint64_t nat_steps = m->state.nat_steps;
	gp__keep_jitters(m);
	odvgp_status s = gp__nat_step(m, tau);
	if (s) return s == ODVGP_E_STOPPED ? s : ODVGP_OK;
	gp__hold(m, 1);
	for (int looks = 1; curved || rows->n >= m->cfg.N; looks++) {
		++*evaluations;
		if (gp__bound_of(m, rows) >= least) break;
		m->tape.events.step_shortened++;
		gp__natural_back(m);
		++*evaluations;
		s = gp__attempt_end(m, gp__evaluate(m, rows, want, &expected, &kl, info), &events);
		m->state.nat_steps = nat_steps;
		if (s) return s;
		if (looks == most || gp__nat_step(m, tau *= GP__R(0.5))) break;
	}
	return ODVGP_OK;
}

/*	The natural part of a step, after the evaluation that gave `bound`; adds its own to *looks. If
	no step size keeps q valid, only the other slots move. After an error q is unchanged and there
	is no gradient. Gamma's step is checked with all columns: an estimate from a sample has no
	optimum. */
static odvgp_status gp__step_natural(odvgp_model *m, const gp__rows *rows, gp__wants_list want,
		odvgp_real tau, gp__wide bound, int *looks, odvgp_info *info)
{
	int of_gamma = gp__any_gamma_steps(m), sampled = of_gamma && gp__columns_sampled(m);
	odvgp_status s;
	if (sampled) {
		gp__all_columns(m);
		bound = gp__bound_of(m, rows);
		++*looks;
	}
	if (gp__any_watched(m) || gp__is_curved(m))
		s = gp__step_watched(m, rows, want, tau, bound, looks, info);
	else {
		s = gp__nat_step(m, tau);
		if (!s && of_gamma) {
			gp__hold(m, 1);
			*looks += gp__nat_gamma_check(m, rows, bound);
		}
		if (s != ODVGP_E_STOPPED) s = ODVGP_OK;
	}
	if (sampled) gp__sample_columns(m);
	return s;
}

/*	A step of which Adam's half is done, for a watch that stops the other one. */
typedef struct {
	gp__state state;
	odvgp_events events;
} gp__begun;

static void gp__begin_half(odvgp_model *m, gp__begun *b)
{
	ptrdiff_t n = m->par.adam;
	b->state = m->state;
	b->events = m->tape.events;
	gp__copy(m->begun, m->par.theta, n);
	gp__copy(m->begun + n, m->m1, n);
	gp__copy(m->begun + 2 * n, m->m2, n);
	gp__copy(gp__lend(&m->kept, GP__KEPT_BY_STEP), m->par.value, m->par.positive);
	GP__EACH_UNIT(u, m)
		memcpy(m->jitter_begun + u->number * GP__JITTERS, u->jitter, sizeof u->jitter);
}

/*	Ends the half; `undo`: as before it, to the last bit. */
static void gp__end_half(odvgp_model *m, const gp__begun *b, int undo)
{
	ptrdiff_t n = m->par.adam;
	if (undo) {
		gp__copy(m->par.theta, m->begun, n);
		gp__copy(m->m1, m->begun + n, n);
		gp__copy(m->m2, m->begun + 2 * n, n);
		gp__copy(m->par.value, gp__lent(&m->kept, GP__KEPT_BY_STEP), m->par.positive);
		gp__copy(m->good, m->par.theta, m->par.count);
		GP__EACH_UNIT(u, m)
			gp__jitter_restore(&m->tape, u->jitter, m->jitter_begun + u->number * GP__JITTERS);
		gp__touch_all(m);
		m->tape.events = b->events;
		m->state = b->state;
	}
	gp__end_loan(&m->kept, GP__KEPT_BY_STEP);
}

/*	The second half of a step in two: Adam's, or the natural one, which may fail. */
static odvgp_status gp__step_half(odvgp_model *m, const gp__rows *rows, gp__wants_list want,
		odvgp_real lr, odvgp_real tau, int *looks)
{
	odvgp_real expected, kl;
	odvgp_status s = gp__evaluate_safely(m, rows, want, 1, &expected, &kl, NULL);
	if (s) return s;
	if (want.stats)
		return gp__step_natural(m, rows, want, tau, (gp__wide)expected - (gp__wide)kl, looks, NULL);
	gp__adam_step(m, lr);
	return ODVGP_OK;
}

static odvgp_status gp__step_rows(
		odvgp_model *m, const gp__rows *rows, odvgp_report *report, odvgp_info *info)
{
	odvgp_real expected, kl, lr, tau;
	int looks = 0;
	int natgrad = gp__uses_natgrad(m),
		split = GP__DESK && natgrad && m->cfg.reproduce.update != ODVGP_UPDATE_JOINT,
		nat_first = m->cfg.reproduce.update == ODVGP_UPDATE_NATGRAD_FIRST;
	gp__wants_list want = {
			!split || !nat_first, natgrad && (!split || nat_first), 0, GP__GIVES_BOUND};
	gp__begun begun;
	gp__sample_columns(m);
	odvgp_status s = gp__evaluate_safely(m, rows, want, 1, &expected, &kl, info);
	if (s) return s;
	lr = gp__schedule_at(&m->cfg.optim.lr, m->state.steps) * (odvgp_real)m->state.step_scale;
	tau = natgrad ? gp__schedule_at(&m->cfg.optim.natgrad_step, m->state.steps) *
							(odvgp_real)m->state.step_scale
				  : 0;
	if (want.stats)
		s = gp__step_natural(m, rows, want, tau, (gp__wide)expected - (gp__wide)kl, &looks, info);
	if (s) return s == ODVGP_E_STOPPED ? gp__stop_status(m, info) : s;
	int undo = split && !nat_first && m->tape.blas.watcher;
	if (undo) gp__begin_half(m, &begun);
	gp__hold(m, 1);
	if (want.grad) gp__adam_step(m, lr);
	if (split) {
		want.grad = !want.grad;
		want.stats = !want.stats;
		if (undo) gp__hold(m, 0);
		/* Adam has moved: a failed natural step is no error */
		s = gp__step_half(m, rows, want, lr, tau, &looks);
		if (undo) gp__end_half(m, &begun, s == ODVGP_E_STOPPED);
		if (s == ODVGP_E_STOPPED) return gp__stop_status(m, info);
		gp__hold(m, 1);
	}
	if (!gp__theta_ok(m)) { /* the last good parameters were evaluated on these rows */
		gp__swap_good(m);
		gp__go_back(m);
	}
	m->state.steps++;
	gp__recover(m);
	if (!report) return ODVGP_OK;
	gp__report(m, expected, kl, report);
	report->lr = lr;
	report->natgrad_step = tau;
	report->evaluations = 1 + split + looks;
	return ODVGP_OK;
}

/* --- the public steps --- */

static odvgp_status gp__step_by(
		odvgp_model *m, const gp__rows *rows, odvgp_report *report, odvgp_info *info)
{
	gp__watcher *w = m->tape.blas.watcher;
	if (w && w->held) m->tape.blas.watcher = NULL; /* called by the watch itself */
#ifdef ODVGP_FLOAT_ONLY
	odvgp_status s = gp__step_rows(m, rows, report, info);
#else
	odvgp_status s = m->cfg.optim.kind == ODVGP_OPTIMIZER_LBFGS
							 ? gp__lbfgs_step(m, rows, report, info)
							 : gp__step_rows(m, rows, report, info);
#endif
	if (w && m->tape.blas.watcher) w->held = 0;
	m->tape.blas.watcher = w;
	return s;
}

ODVGP_API odvgp_status odvgp_step_batch(odvgp_model *m, const odvgp_real *Xb, const odvgp_real *Yb,
		ptrdiff_t n, odvgp_report *report, odvgp_info *info)
{
	odvgp_status s = gp__rows_check(m, Xb, Yb, n, info);
	gp__rows rows = gp__rows_plain(Xb, Yb, n);
	return s ? s : gp__step_by(m, &rows, report, info);
}

ODVGP_API odvgp_status odvgp_step(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		odvgp_report *report, odvgp_info *info)
{
	odvgp_status s = gp__all_rows_check(m, X, Y, info);
	if (s) return s;
	gp__rows rows = gp__rows_plain(X, Y, m->cfg.optim.batch);
	/* an epoch drops the rows left over */
	size_t per_epoch = (size_t)(m->cfg.N / m->cfg.optim.batch);
	rows.permuted = m->cfg.optim.batch < m->cfg.N;
	rows.epoch = (size_t)m->state.steps / per_epoch;
	rows.first = rows.permuted
						 ? (ptrdiff_t)((size_t)m->state.steps % per_epoch) * m->cfg.optim.batch
						 : 0;
	return gp__step_by(m, &rows, report, info);
}

/* ---- >>init   initial inducing points, hyperparameters and q

	odvgp_init_beta, odvgp_init_gamma and odvgp_init_hyper describe the methods.

	KMEANS draws seeds with probability proportional to the squared distance to those so far, so
	that repeated rows are drawn once. 10 of Lloyd's iterations follow.

	GREEDY [GREEDY]: column k of the pivoted Cholesky factor of the sample's kernel matrix is
		l_k = (K(X,x_k) - sum_{j<k} l_j l_j(x_k)) / sqrt(v(x_k))
	and the variances fall by its squares, v -= l_k^2.

	On standardised inputs MEDIAN gives two base kernels 0.1 sqrt(D) and sqrt(D), as [ODVGP]
	appendix E. */

/*	`times` rows for each point, at least 4096, at most all N. */
static ptrdiff_t gp__sample_rows(ptrdiff_t N, ptrdiff_t points, ptrdiff_t times)
{
	/* points * times is at most N */
	if (points > N / times) return N;
	return GP__MIN(N, GP__MAX(times * points, (ptrdiff_t)4096));
}

#define GP__INIT_IMAGES 1000

/*	Rows of the data, through the layers below, that units above layer 0 see. */
static ptrdiff_t gp__seen_rows(const odvgp_model *m)
{
	ptrdiff_t M = 0, N = m->cfg.N;
	GP__FROM(l, 1, m->cfg.layers) {
		M = GP__MAX(M, m->cfg.layer[l].M);
		if (m->cfg.layer[l - 1].patches.image_output) N = GP__MIN(N, GP__INIT_IMAGES);
	}
	return M ? gp__sample_rows(N, M, 50) : 0;
}

static ptrdiff_t gp__unit_rows(const gp__unit *u)
{
	return u->layer ? gp__seen_rows(u->model) : u->model->cfg.N;
}

/*	Rows that may become inducing points: the unit's, or patches of up to INIT_IMAGES images,
	[SOLVE] appendix G.2. */
static ptrdiff_t gp__all_candidates(const gp__unit *u)
{
	ptrdiff_t N = gp__unit_rows(u), T = gp__patches_count(&u->patches),
			  images = GP__MIN(N, GP__INIT_IMAGES);
	return T ? T * GP__MIN(images, PTRDIFF_MAX / 64 / T) : N;
}
static ptrdiff_t gp__candidates(const gp__unit *u)
{
	ptrdiff_t all = gp__all_candidates(u);
	return u->patches.height ? gp__sample_rows(all, u->M + u->M_gamma, 100) : all;
}

static ptrdiff_t gp__init_rows(const gp__unit *u)
{
	return gp__sample_rows(gp__candidates(u), u->M, 50);
}

/*	GREEDY stores M numbers for each row. */
static ptrdiff_t gp__greedy_rows(const gp__unit *u)
{
	return gp__sample_rows(gp__candidates(u), u->M, 4);
}

static ptrdiff_t gp__residual_rows(const gp__unit *u)
{
	ptrdiff_t gamma = gp__sample_rows(gp__candidates(u), u->M_gamma, 4), beta = gp__init_rows(u);
	return GP__MAX(gamma, beta);
}
#define GP__MEDIAN_ROWS 512

typedef struct {
	const gp__unit *u;
	odvgp_model *m;
	ptrdiff_t N, D, M; /* candidates; their columns; points in beta */
	/* the unit's rows [.,u->D]; candidates [N,D], which are the rows, or patches of them */
	const odvgp_real *data, *X;
	/* what units above layer 0 see, rows through the mean functions below: sample[layer % 2] */
	odvgp_real *sample[2];
	/* PROJECTION: the correlation matrix [D,D], axes [P,D], a vector and the columns' means [D];
	   mixed functions: those of the targets, D = F, and standard deviations after the means;
	   image_output: filters [D,P] or axes, a patch */
	odvgp_real *square, *axes, *vector, *means;
	/* distance: of a row to its nearest centre (squared), or its variance; centre_t [D, padded M]:
	   the centres, transposed */
	odvgp_real *distance, *centre, *centre_t, *median;
	/* [D]: gp__find_lengths; [tasks,padded D]: a row in these lengths */
	odvgp_real *per_length, *scaled;
	/* row: the sample, of `rows` rows; nearest: each row's centre; count: rows of each centre */
	ptrdiff_t *row, *nearest, *count, rows;
	const odvgp_real **table; /* hash table of rows taken */
	ptrdiff_t table_size;
	/* GREEDY: the sample [rows,D]; the pivoted Cholesky factor of its kernel matrix [rows,M] */
	odvgp_real *chosen, *factor;
	/* RESIDUAL: chol(Kb) [M,M]; a tile [tile,D] and (L^-1 K(Z_beta,X))^T [tile,M] */
	odvgp_real *Lb, *tile, *A;
	odvgp_real *patches; /* candidates [N,D] */
	odvgp_real *gaps;    /* ULAPANE: each column's d_x and the targets' d_y [D,1+T] */
	gp__wide target_variance;
	gp__arena rest; /* for kernel matrices */
} gp__init_work;

static void gp__init_scratch(gp__arena *a, const gp__unit *u, gp__init_work *w)
{
	odvgp_model *m = u->model;
	const odvgp_config *c = &m->cfg;
	int greedy = c->init.beta == ODVGP_INIT_BETA_GREEDY,
		residual = c->init.gamma == ODVGP_INIT_GAMMA_RESIDUAL && u->M_gamma > 0,
		hidden = !gp__is_last(u), tasks = gp__tasks(&c->threads);
	ptrdiff_t seen = gp__seen_rows(m), widest[2] = {0, 0}, sample = gp__greedy_rows(u), D = u->Dz,
			  M = u->M, rows = residual ? gp__residual_rows(u) : gp__init_rows(u);
	memset(w, 0, sizeof *w);
	w->u = u;
	w->m = m;
	w->N = gp__candidates(u);
	w->D = D;
	w->M = M;
	GP__FROM(l, 1, c->layers) widest[l % 2] = GP__MAX(widest[l % 2], c->layer[l].D);
	GP__FOR(k, 2) w->sample[k] = gp__take(a, seen, widest[k]);
	int passes = hidden && (u->slot_mean_A || u->patches.image_output);
	ptrdiff_t wide = passes ? u->Dx : gp__is_mixed(u) ? m->F : 0;
	w->square = gp__take(a, wide, wide);
	w->axes = gp__take(a, c->layer[u->layer].P, wide);
	w->vector = gp__take(a, 1, wide);
	w->means = gp__take(a, 2, wide);
	w->table_size = 64;
	while (w->table_size < 2 * (u->M_gamma + M)) w->table_size *= 2;
	w->distance = gp__take(a, rows, 1);
	w->centre = gp__take(a, M, D);
	w->centre_t = gp__take(a, D, gp__padded(M));
	w->per_length = gp__take(a, 1, D);
	w->scaled = gp__take(a, tasks, gp__padded(D));
	w->median = gp__take(a, GP__MEDIAN_ROWS, 1);
	w->row = GP__TAKE(a, ptrdiff_t, rows);
	w->nearest = GP__TAKE(a, ptrdiff_t, rows);
	w->count = GP__TAKE(a, ptrdiff_t, M);
	if (u->patches.height) w->patches = gp__take(a, w->N, D);
	w->table = GP__TAKE(a, const odvgp_real *, w->table_size);
	if (c->init.hyperparams == ODVGP_INIT_HYPER_ULAPANE) w->gaps = gp__take(a, D, 1 + m->T);
	if (greedy) {
		w->chosen = gp__take(a, sample, D);
		w->factor = gp__take(a, sample, M);
	}
	if (residual) {
		w->Lb = gp__take(a, M, M);
		w->tile = gp__take(a, c->tile, D);
		w->A = gp__take(a, c->tile, M);
	}
	w->rest = *a;
	gp__arena images = *a;
	if (u->patches.height) {
		gp__shapes s;
		memset(&s, 0, sizeof s);
		s.unit = u;
		s.tasks = tasks;
		gp__take(&images, 1, gp__patches_count(&u->patches));
		gp__take_bytes(&images, gp__images_scratch(&s, 0), 1);
	}
	/* kernel matrices: GREEDY's of a row and the sample, RESIDUAL's of a tile, or Z_beta, and
	   Z_beta */
	if (greedy || residual) {
		gp__kjob job;
		job.kept = 0;
		gp__kernel_scratch(a, &u->kernel, GP__MAX(M, c->tile), greedy ? GP__MAX(sample, M) : M, 0,
				tasks, 0, &job);
	}
	a->used = GP__MAX(a->used, images.used);
	a->bad |= images.bad;
}

/*	v, or 1 unless v is positive and 1e6 away from the precision's limits. */
static gp__wide gp__usable(gp__wide v)
{
	return v > GP__W(1e6) * GP__W(GP__TINY) && v < GP__W(1e-6) / GP__W(GP__TINY) ? v : 1;
}

/*	Row i of N in random order: 0 for samples, 1 for rows that fill up, 2 for what is passed on. */
static ptrdiff_t gp__init_row(const gp__init_work *w, int order, ptrdiff_t N, ptrdiff_t i)
{
	return gp__permute(w->m->cfg.seed, GP__STREAM_INIT, (uint64_t)order, N, i);
}

/*	The sample: rows [from, from + rows) of N in random order. */
static void gp__draw_sample(gp__init_work *w, ptrdiff_t N, ptrdiff_t from, ptrdiff_t rows)
{
	w->rows = rows;
	GP__FOR(i, rows) w->row[i] = gp__init_row(w, 0, N, from + i);
}

/*	to [rows,D]: rows of the sample from number `from` on. */
static void gp__gather(const gp__init_work *w, ptrdiff_t from, ptrdiff_t rows, odvgp_real *to)
{
	GP__FOR(i, rows) gp__copy(to + i * w->D, w->X + w->row[from + i] * w->D, w->D);
}

static ptrdiff_t gp__largest(const odvgp_real *x, ptrdiff_t n)
{
	ptrdiff_t best = 0;
	GP__FROM(i, 1, n)
		if (x[i] > x[best]) best = i;
	return best;
}

/* --- rows taken: a hash table keyed by their values --- */

static int gp__same_row(const odvgp_real *x, const odvgp_real *z, ptrdiff_t D)
{
	ptrdiff_t d = 0;
	while (d < D && x[d] == z[d]) d++;
	return d == D;
}

/*	The entry of a row equal to x, or the empty entry where x belongs. */
static const odvgp_real **gp__row_place(const gp__init_work *w, const odvgp_real *x)
{
	uint64_t h = 0;
	GP__FOR(d, w->D) {
		odvgp_real v = x[d] + 0; /* -0 becomes 0 */
		h = gp__reals_hash(&v, 1, h);
	}
	ptrdiff_t last = w->table_size - 1, at = (ptrdiff_t)(h & (uint64_t)last);
	while (w->table[at] && !gp__same_row(w->table[at], x, w->D)) at = (at + 1) & last;
	return &w->table[at];
}

static void gp__add_rows(gp__init_work *w, const odvgp_real *Z, ptrdiff_t n)
{
	GP__FOR(k, n) *gp__row_place(w, Z + k * w->D) = Z + k * w->D;
}

/*	The rows of Z [n,D] become the set. */
static void gp__set_rows(gp__init_work *w, const odvgp_real *Z, ptrdiff_t n)
{
	GP__FOR(i, w->table_size) w->table[i] = NULL;
	gp__add_rows(w, Z, n);
}

/*	Makes x row z of the inducing points, unless taken. */
static int gp__take_row(gp__init_work *w, const odvgp_real *x, odvgp_real *z)
{
	const odvgp_real **place = gp__row_place(w, x);
	if (*place) return 0;
	if (x != z) gp__copy(z, x, w->D);
	*place = z;
	return 1;
}

/*	Fills Z after the first `taken` with random rows: those neither in Z nor in `other` [others,D]
	first, then those not in Z, then any. */
static void gp__fill_rows(gp__init_work *w, odvgp_real *Z, ptrdiff_t taken, ptrdiff_t count,
		const odvgp_real *other, ptrdiff_t others)
{
	ptrdiff_t D = w->D, N = w->N;
	if (gp__stopped(&w->m->tape.blas)) return;
	for (int alone = others == 0; alone < 2 && taken < count; alone++) {
		gp__set_rows(w, Z, taken);
		if (!alone) gp__add_rows(w, other, others);
		for (ptrdiff_t i = 0; i < N && taken < count; i++)
			taken += gp__take_row(w, w->X + gp__init_row(w, 1, N, i) * D, Z + taken * D);
	}
	for (ptrdiff_t i = 0; taken < count; i++, taken++)
		gp__copy(Z + taken * D, w->X + gp__init_row(w, 1, N, i % N) * D, D);
}

/* --- KMEANS and FARTHEST: distances to the nearest point so far --- */

/*	Ask the watch after k of M points (KMEANS: 11 M), before a pass over `rows`; 1: stop. */
static int gp__init_asks(const gp__init_work *w, ptrdiff_t k, ptrdiff_t rows)
{
	const odvgp_blas *blas = &w->m->tape.blas;
	if (!blas->watcher) return 0;
	blas->watcher->at.done = k;
	blas->watcher->at.total = w->M * (w->m->cfg.init.beta == ODVGP_INIT_BETA_KMEANS ? 11 : 1);
	return gp__ask(blas, (gp__wide)rows * (gp__wide)(w->D + 4));
}

/*	Lowers distances by the new centre k. Returns their sum. */
static gp__wide gp__nearest_lower(gp__init_work *w, const odvgp_real *Z, ptrdiff_t k)
{
	gp__wide sum = 0;
	GP__FOR(i, w->rows) {
		const odvgp_real *x = w->X + w->row[i] * w->D, *z = Z + k * w->D;
		odvgp_real r2 = 0;
		GP__FOR(d, w->D) {
			odvgp_real t = (x[d] - z[d]) * w->per_length[d];
			r2 += t * t;
		}
		if (k == 0 || r2 < w->distance[i]) {
			w->distance[i] = r2;
			w->nearest[i] = k;
		}
		sum += (gp__wide)w->distance[i];
	}
	return sum;
}

/*	A seed, as >>init says. */
static ptrdiff_t gp__kmeans_draw(const gp__init_work *w, gp__wide sum, ptrdiff_t k)
{
	gp__wide left = gp__uniform(w->m->cfg.seed, GP__STREAM_KMEANS, (uint64_t)k) * sum;
	ptrdiff_t last = 0;
	GP__FOR(i, w->rows) {
		if (!(w->distance[i] > 0)) continue;
		last = i;
		if ((left -= (gp__wide)w->distance[i]) <= 0) break;
	}
	return last;
}

typedef struct {
	const gp__init_work *w;
	ptrdiff_t from, to;
	int tasks;
} gp__kmeans_job;

/*	The nearest centre of each row in w->row, a chunk of centres at a time; ties go to the first. */
static void gp__kmeans_task(void *arg, int task)
{
	const gp__kmeans_job *job = (const gp__kmeans_job *)arg;
	const gp__init_work *w = job->w;
	ptrdiff_t D = w->D, M = w->M, ld = gp__padded(M), from, to;
	odvgp_real r2[GP__CHUNK], *x = w->scaled + task * gp__padded(D);
	gp__share(job->to - job->from, 1, job->tasks, task, &from, &to);
	GP__FROM(i, job->from + from, job->from + to) {
		odvgp_real least = 0;
		ptrdiff_t best = -1;
		GP__FOR(d, D) x[d] = w->X[w->row[i] * D + d] * w->per_length[d];
		for (ptrdiff_t k = 0; k < M; k += GP__CHUNK) {
			w->m->tape.blas.isa->sqdist(D, x, w->centre_t + k, ld, r2);
			GP__FOR(c, GP__MIN(M - k, GP__CHUNK))
				if (best < 0 || r2[c] < least) {
					least = r2[c];
					best = k + c;
				}
		}
		w->nearest[i] = best;
	}
}

static void gp__kmeans_nearest(gp__init_work *w, const odvgp_real *Z)
{
	odvgp_model *m = w->m;
	gp__kmeans_job job = {w, 0, 0, gp__tasks(&m->cfg.threads)};
	ptrdiff_t D = w->D, M = w->M, ld = gp__padded(M);
	gp__wide work = (gp__wide)M * (gp__wide)D; /* of a row */
	GP__FOR(d, D)
		GP__FOR(k, ld) w->centre_t[d * ld + k] = k < M ? Z[k * D + d] * w->per_length[d] : 0;
	for (; job.from < w->rows && !gp__ask(&m->tape.blas, work * (gp__wide)(job.to - job.from));
			job.from = job.to) {
		job.to = GP__MIN(w->rows, job.from + 256 + (ptrdiff_t)(GP__W(1e9) / work));
		gp__run(&m->cfg.threads, job.tasks, gp__kmeans_task, &job);
	}
}

/*	Each centre moves to its rows' mean, computed from the old centre, so that equal rows keep
	theirs exactly. One without rows stays. */
static void gp__kmeans_lloyd(gp__init_work *w, odvgp_real *Z)
{
	ptrdiff_t M = w->M, D = w->D;
	gp__zero(w->centre, M * D);
	memset(w->count, 0, (size_t)M * sizeof *w->count);
	GP__FOR(i, w->rows) {
		ptrdiff_t k = w->nearest[i];
		w->count[k]++;
		GP__FOR(d, D) w->centre[k * D + d] += w->X[w->row[i] * D + d] - Z[k * D + d];
	}
	GP__FOR(k, M)
		if (w->count[k])
			GP__FOR(d, D) Z[k * D + d] += w->centre[k * D + d] / (odvgp_real)w->count[k];
	gp__kmeans_nearest(w, Z);
}

/*	Each row outside the sample pulls its centre by 1/count, which begins with the sample's. */
static void gp__kmeans_batches(gp__init_work *w, odvgp_real *Z)
{
	ptrdiff_t D = w->D, rows = w->rows, total = GP__MIN(w->N - rows, 2 * rows);
	memset(w->count, 0, (size_t)w->M * sizeof *w->count);
	GP__FOR(i, rows) w->count[w->nearest[i]]++;
	/* the rows behind the sample in the permutation, once each */
	for (ptrdiff_t from = 0; from < total; from += rows) {
		gp__draw_sample(w, w->N, rows + from, GP__MIN(rows, total - from));
		gp__kmeans_nearest(w, Z);
		GP__FOR(i, w->rows) {
			ptrdiff_t k = w->nearest[i];
			odvgp_real rate = 1 / (odvgp_real)++w->count[k];
			GP__FOR(d, D) Z[k * D + d] += rate * (w->X[w->row[i] * D + d] - Z[k * D + d]);
		}
	}
}

/*	FARTHEST's points, or KMEANS' seeds, while rows differ from those so far. */
static ptrdiff_t gp__seeds(gp__init_work *w, odvgp_real *Z)
{
	int farthest = w->m->cfg.init.beta == ODVGP_INIT_BETA_FARTHEST;
	ptrdiff_t rows = gp__init_rows(w->u), next = 0, k = 0;
	gp__wide sum = 1;
	gp__draw_sample(w, w->N, 0, rows);
	while (k < w->M && sum > 0 && !gp__init_asks(w, k, rows)) {
		gp__gather(w, next, 1, Z + k * w->D);
		sum = gp__nearest_lower(w, Z, k++);
		next = farthest ? gp__largest(w->distance, rows) : gp__kmeans_draw(w, sum, k);
	}
	return k;
}

/*	Fewer distinct rows than M are all seeds. Else the distinct centres move to the front. */
static ptrdiff_t gp__kmeans(gp__init_work *w, odvgp_real *Z)
{
	ptrdiff_t D = w->D, M = w->M, count = gp__seeds(w, Z);
	if (count < M) return count;
	GP__FOR(i, 10) {
		if (gp__init_asks(w, (i + 1) * M, 0)) return 0;
		gp__kmeans_lloyd(w, Z);
	}
	gp__kmeans_batches(w, Z);
	gp__set_rows(w, Z, 0);
	count = 0;
	GP__FOR(k, M) count += gp__take_row(w, Z + k * D, Z + count * D);
	return count;
}

/* --- GREEDY and RESIDUAL: variances given the points so far --- */

/*	Variances below this are rounding error. */
static odvgp_real gp__no_variance(const gp__init_work *w, odvgp_real prior)
{
	return (odvgp_real)w->M * GP__EPS * prior;
}

typedef struct {
	gp__kjob kernel; /* the pivot against the sample */
	const gp__init_work *w;
	ptrdiff_t column;
	const odvgp_real *pivot; /* its row of the factor, read up to the current column */
	odvgp_real sd;
} gp__pivot_job;

/*	For each chunk of rows: kernel values, the column's entries, and remaining variances. */
static void gp__pivot_task(void *arg, int t)
{
	const gp__pivot_job *job = (const gp__pivot_job *)arg;
	const odvgp__simd *isa = job->kernel.blas->isa;
	ptrdiff_t from, to, k = job->column;
	gp__kchunk chunk = gp__chunk_of_task(&job->kernel, t, 0);
	gp__share(job->kernel.m, GP__CHUNK, job->kernel.tasks, t, &from, &to);
	for (ptrdiff_t j = from; j < to; j += GP__CHUNK) {
		const odvgp_real *K = gp__chunk_forward(&job->kernel, &chunk, 0, j, NULL);
		GP__FROM(i, j, GP__MIN(to, j + GP__CHUNK)) {
			odvgp_real *l = job->w->factor + i * job->w->M, *v = job->w->distance + i;
			l[k] = (K[i - j] - isa->dot(k, l, job->pivot)) / job->sd;
			*v -= l[k] * l[k];
			if (!(*v > 0)) *v = 0;
		}
	}
}

static void gp__pivot(gp__pivot_job *job, const odvgp_real *x, ptrdiff_t row)
{
	gp__kjob *kernel = &job->kernel;
	gp__points_by_rows(kernel->k, kernel->hyp, x, 1, kernel->centre, kernel->u);
	job->pivot = job->w->factor + row * job->w->M;
	job->sd = GP__SQRT(job->w->distance[row]);
	gp__run(&kernel->blas->threads, kernel->tasks, gp__pivot_task, job);
	job->column++;
}

static ptrdiff_t gp__greedy(gp__init_work *w, odvgp_real *Z)
{
	const gp__unit *u = w->u;
	ptrdiff_t rows = gp__greedy_rows(u), D = w->D;
	odvgp_real prior = 0;
	gp__arena scratch = w->rest;
	gp__pivot_job job;
	memset(&job, 0, sizeof job);
	gp__unit_job(&job.kernel, u, NULL, 1, w->chosen, rows);
	job.w = w;
	gp__kernel_scratch(
			&scratch, &u->kernel, 1, rows, 0, gp__tasks(&w->m->cfg.threads), 0, &job.kernel);
	ODVGP_ASSERT(!scratch.bad);
	gp__draw_sample(w, w->N, 0, rows);
	gp__gather(w, 0, rows, w->chosen);
	gp__kernel_prepare(&job.kernel);
	job.kernel.tasks = gp__kernel_tasks(&job.kernel);
	gp__set_rows(w, Z, 0);
	GP__FOR(i, rows) {
		w->distance[i] = gp__unit_diag(u, w->chosen + i * D);
		prior = GP__MAX(prior, w->distance[i]);
	}
	for (;;) { /* each iteration sets a variance to 0 */
		ptrdiff_t next = gp__largest(w->distance, rows);
		const odvgp_real *x = w->chosen + next * D;
		if (job.column == w->M || !(w->distance[next] > gp__no_variance(w, prior)) ||
				gp__init_asks(w, job.column, rows + rows * job.column / D))
			return job.column;
		if (gp__take_row(w, x, Z + job.column * D)) gp__pivot(&job, x, next);
		w->distance[next] = 0;
	}
}

/*	w->Lb = chol(K(Z,Z) + jitter I) with the model's jitter, or the least above it that works.
	Returns 0 if none does. */
static int gp__beta_factor(const gp__init_work *w, const odvgp_real *Z)
{
	odvgp_model *m = w->m;
	ptrdiff_t M = w->M;
	odvgp_real prior = 0;
	GP__FOR(i, M) prior += gp__unit_diag(w->u, Z + i * w->D) / (odvgp_real)M;
	odvgp_real jitter = m->cfg.jitter.absolute + m->cfg.jitter.relative * prior;
	gp__kjob job;
	gp__unit_job(&job, w->u, Z, M, Z, M);
	job.lower = 1;
	job.K = w->Lb;
	job.ldk = M;
	/* Twenty factors of ten lead from rounding error to the kernel. No jitter helps one that is 0
	   or not finite. */
	for (int tries = 0; tries < 20 && prior > 0 && prior < (odvgp_real)HUGE_VAL; tries++) {
		gp__kernel_run(&job, w->rest);
		GP__FOR(i, M) w->Lb[i * M + i] += jitter;
		if (odvgp_potrf(&m->tape.blas, M, w->Lb, M, NULL) == ODVGP_OK) return 1;
		if (gp__stopped(&m->tape.blas)) return 0;
		jitter = GP__MAX(10 * jitter, gp__no_variance(w, prior));
		if (!(jitter <= prior)) return 0;
	}
	return 0;
}

/*	-(k(x,x) - |L^-1 k(Z,x)|^2), at most 0, for the sample, by tiles. Returns the largest k(x,x). */
static odvgp_real gp__residuals(const gp__init_work *w, const odvgp_real *Z)
{
	odvgp_model *m = w->m;
	odvgp_real most = 0;
	ptrdiff_t M = w->M;
	for (ptrdiff_t from = 0; from < w->rows && !gp__stopped(&m->tape.blas); from += m->cfg.tile) {
		ptrdiff_t n = GP__MIN(w->rows - from, m->cfg.tile);
		gp__gather(w, from, n, w->tile);
		gp__kjob job;
		gp__unit_job(&job, w->u, w->tile, n, Z, M);
		job.K = w->A;
		job.ldk = M;
		gp__kernel_run(&job, w->rest);
		odvgp_trsm(&m->tape.blas, 1, 1, n, M, w->Lb, M, w->A, M);
		GP__FOR(i, n) {
			odvgp_real k = gp__unit_diag(w->u, w->tile + i * w->D);
			odvgp_real rest = m->tape.blas.isa->dot(M, w->A + i * M, w->A + i * M) - k;
			most = GP__MAX(most, k);
			w->distance[from + i] = rest < 0 ? rest : 0;
		}
	}
	return most;
}

/* --- heap sort of indices by key, ties by index, without further memory --- */

static int gp__key_before(const odvgp_real *key, ptrdiff_t stride, ptrdiff_t a, ptrdiff_t b)
{
	odvgp_real x = key[a * stride], y = key[b * stride];
	return x < y || (x == y && a < b);
}

static void gp__swap_indices(ptrdiff_t *a, ptrdiff_t *b)
{
	ptrdiff_t keep = *a;
	*a = *b;
	*b = keep;
}

static void gp__sift(
		ptrdiff_t *index, ptrdiff_t at, ptrdiff_t n, const odvgp_real *key, ptrdiff_t stride)
{
	for (ptrdiff_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && gp__key_before(key, stride, index[child], index[child + 1])) child++;
		if (!gp__key_before(key, stride, index[at], index[child])) return;
		gp__swap_indices(index + at, index + child);
	}
}

static void gp__sort(ptrdiff_t *index, ptrdiff_t n, const odvgp_real *key, ptrdiff_t stride)
{
	for (ptrdiff_t i = n / 2; i-- > 0;) gp__sift(index, i, n, key, stride);
	while (n-- > 1) {
		gp__swap_indices(index, index + n);
		gp__sift(index, 0, n, key, stride);
	}
}

static ptrdiff_t gp__worst_explained(gp__init_work *w, odvgp_real *Z)
{
	const gp__unit *u = w->u;
	ptrdiff_t rows = gp__residual_rows(u), taken = 0;
	const odvgp_real *Zb = gp__value(u, u->Z_beta);
	if (!gp__beta_factor(w, Zb)) return 0;
	gp__draw_sample(w, w->N, 0, rows);
	odvgp_real prior = gp__residuals(w, Zb);
	GP__FOR(i, rows) w->nearest[i] = i;
	gp__sort(w->nearest, rows, w->distance, 1);
	gp__set_rows(w, Zb, w->M);
	for (ptrdiff_t i = 0; i < rows && taken < u->M_gamma; i++) {
		ptrdiff_t worst = w->nearest[i];
		if (!(-w->distance[worst] > gp__no_variance(w, prior))) break;
		taken += gp__take_row(w, w->X + w->row[worst] * w->D, Z + taken * w->D);
	}
	return taken;
}

/* --- candidates, and the choice of points --- */

/*	w->X: the candidates. */
static void gp__draw_candidates(gp__init_work *w)
{
	const gp__unit *u = w->u;
	uint64_t seed = w->m->cfg.seed;
	ptrdiff_t T = gp__patches_count(&u->patches), all = gp__all_candidates(u);
	w->X = w->patches ? w->patches : w->data;
	GP__FOR(i, GP__DESK && w->patches ? w->N : 0) {
		ptrdiff_t k = gp__permute(seed, GP__STREAM_PATCHES, 0, all, i),
				  image = gp__permute(seed, GP__STREAM_PATCHES, 1, gp__unit_rows(u), k / T);
		gp__patch_move(&u->patches, w->data + image * u->D, NULL, k % T, w->patches + i * w->D);
	}
}

/*	Locations are drawn uniformly on the image. */
static void gp__draw_locations(const gp__unit *u, odvgp_real *Z, ptrdiff_t n, ptrdiff_t from)
{
	const gp__patches *p = &u->patches;
	const ptrdiff_t last[2] = {gp__patches_down(p) - 1, gp__patches_across(p) - 1};
	GP__FOR(i, 2 * n) {
		uint64_t number = (uint64_t)(2 * from + i);
		gp__wide x = gp__uniform(u->model->cfg.seed, GP__STREAM_PATCHES, number);
		Z[i / 2 * u->Dz + u->Dz - 2 + i % 2] = (odvgp_real)(x * (gp__wide)last[i % 2]);
	}
}

/*	In the order of odvgp_init_beta and odvgp_init_gamma. A method writes the points it can tell
	apart to Z and returns their number; random rows supply the rest, for NULL all. To add one: an
	enumerator in >>api, a word in >>settings, its function here, its memory in gp__init_scratch. */
typedef ptrdiff_t (*gp__points_method)(gp__init_work *w, odvgp_real *Z);
#define GP__GREEDY (GP__DESK ? gp__greedy : (gp__points_method)NULL)
#define GP__WORST  (GP__DESK ? gp__worst_explained : (gp__points_method)NULL)
static const gp__points_method gp__beta_methods[] = {gp__kmeans, NULL, GP__GREEDY, gp__seeds},
							   gp__gamma_methods[] = {NULL, GP__WORST};

static void gp__init_points(gp__init_work *w)
{
	const gp__unit *u = w->u;
	gp__points_method beta = gp__beta_methods[w->m->cfg.init.beta],
					  gamma = gp__gamma_methods[w->m->cfg.init.gamma];
	odvgp_real *Zb = w->m->tape.node[u->Z_beta.id].v, *Zg = w->m->tape.node[u->Z_gamma.id].v;
	ptrdiff_t Mg = u->Z_gamma.id ? u->M_gamma : 0;
	int located = GP__DESK && u->patches.located;
	/* methods choose by pixels */
	GP__FOR(i, located ? w->N : 0) gp__zero(w->patches + (i + 1) * w->D - 2, 2);
	gp__fill_rows(w, Zb, beta ? beta(w, Zb) : 0, w->M, NULL, 0);
	if (Mg) gp__fill_rows(w, Zg, gamma ? gamma(w, Zg) : 0, Mg, Zb, w->M);
	if (located) gp__draw_locations(u, Zb, w->M, 0);
	if (located) gp__draw_locations(u, Zg, Mg, w->M);
}

/* --- hyperparameters --- */

/*	By counting: n is at most GP__MEDIAN_ROWS. */
static odvgp_real gp__median(const odvgp_real *x, ptrdiff_t n)
{
	GP__FOR(at, n) {
		ptrdiff_t below = 0, upto = 0;
		GP__FOR(i, n) {
			below += x[i] < x[at];
			upto += x[i] <= x[at];
		}
		if (below <= n / 2 && n / 2 < upto) return x[at];
	}
	return x[0];
}

/*	Standard deviations of the kernel's inputs [Dz]. */
static const odvgp_real *gp__column_sd(const gp__unit *u)
{
	return u->model->data_sd + u->sd_at + (u->patches.height ? u->D + 1 : 0);
}

/*	Median distance of random pairs of distinct rows over a base kernel's columns, with ARD in their
	standard deviations; 1 if none. */
static gp__wide gp__median_distance(const gp__init_work *w, const gp__base_kernel *base)
{
	ptrdiff_t count = 0;
	for (uint64_t i = 0; i < 4 * GP__MEDIAN_ROWS && count < GP__MEDIAN_ROWS; i++) {
		const odvgp_real *x[2];
		odvgp_real r2 = 0;
		for (uint64_t k = 0; k < 2; k++) {
			uint64_t random = gp__random(w->m->cfg.seed, GP__STREAM_INIT, 2 * i + k);
			x[k] = w->X + gp__below(random, w->N) * w->D;
		}
		GP__FOR(d, (ptrdiff_t)base->ndims) {
			ptrdiff_t c = gp__column(base, d);
			odvgp_real t = (x[0][c] - x[1][c]) / (base->ard ? gp__column_sd(w->u)[c] : 1);
			r2 += t * t;
		}
		if (r2 > 0) w->median[count++] = r2;
	}
	return count ? gp__sqrt((gp__wide)gp__median(w->median, count)) : 1;
}

/* --- the targets' variance, starts of base kernels --- */

/*	Mean and variance of target t, without missing ones. */
static gp__wide gp__target_moments(
		const odvgp_model *m, const odvgp_real *Y, ptrdiff_t t, odvgp_real *middle)
{
	ptrdiff_t N = m->cfg.N, C = gp__y_columns(&m->y), from = 0, seen = 0;
	const odvgp_real *y = Y + t;
	/* differences from the first row: equal targets give exactly 0 */
	while (from < N - 1 && y[from * C] != y[from * C]) from++; /* missing */
	gp__wide first = (gp__wide)y[from * C], mean = 0, squares = 0;
	GP__FROM(i, from, N) seen += y[i * C] == y[i * C];
	GP__FROM(i, from, N)
		if (y[i * C] == y[i * C]) mean += ((gp__wide)y[i * C] - first) / (gp__wide)seen;
	GP__FROM(i, from, N) {
		gp__wide d = (gp__wide)y[i * C] - first - mean;
		if (d == d) squares += d * d;
	}
	*middle = (odvgp_real)(first + mean);
	return seen ? squares / (gp__wide)seen : 0;
}

/*	The target of an independent function; -1: all targets. */
static int gp__only_target(const gp__unit *u)
{
	int own = u->model->cfg.independent && gp__is_last(u) && !gp__is_mixed(u);
	return own && u->model->y.lik->flags & GP__LIK_FACTORS ? u->number - u->layer : -1;
}

/*	Mean variance of the targets, or of one. */
static gp__wide gp__target_variance(const odvgp_model *m, const odvgp_real *Y, int target)
{
	gp__wide total = 0;
	odvgp_real mean;
	ptrdiff_t from = GP__MAX(target, 0), to = target < 0 ? m->T : target + 1;
	if (!(m->y.lik->flags & GP__LIK_SCALABLE)) return 1;
	GP__FROM(t, from, to) total += gp__target_moments(m, Y, t, &mean);
	return gp__usable(total / (gp__wide)(to - from));
}

typedef struct {
	gp__wide lengthscale, variance; /* of a base kernel */
	const odvgp_real *unit; /* of ARD's lengthscales, by column; NULL: 1 */
} gp__start;

static int gp__share_columns(const gp__base_kernel *a, const gp__base_kernel *b)
{
	int share = !a->nranges || !b->nranges;
	for (uint32_t r = 0; r < a->nranges; r++)
		for (uint32_t s = 0; s < b->nranges; s++)
			share |= a->range[r][0] < b->range[s][1] && b->range[s][0] < a->range[r][1];
	return share;
}

/*	10^low for the first to 10^(low + 1) for the last of those that share columns with the i-th. */
static gp__wide gp__spread(const gp__kernel *k, uint32_t i, gp__wide low, gp__wide alone)
{
	gp__wide before = 0, others = 0;
	GP__EACH_BASE(j, k) {
		if (j == i || !k->base[j].nls || !gp__share_columns(&k->base[i], &k->base[j])) continue;
		before += j < i;
		others++;
	}
	return others > 0 ? gp__pow(10, before / others + low) : alone;
}

static gp__start gp__median_start(const gp__init_work *w, uint32_t i)
{
	const gp__kernel *k = &w->u->kernel;
	gp__wide distance = gp__median_distance(w, &k->base[i]), factor = gp__spread(k, i, -1, 0.5);
	gp__start start = {
			distance * factor * GP__W(gp__sqrt_half), w->target_variance, gp__column_sd(w->u)};
	return start;
}

/*	Mean of |v_next - v| over unequal neighbours in the order of `row`; 0 if none. */
static gp__wide gp__mean_gap(
		const odvgp_real *v, ptrdiff_t stride, const ptrdiff_t *row, ptrdiff_t rows)
{
	gp__wide sum = 0, count = 0;
	GP__FROM(i, 1, rows) {
		gp__wide gap = gp__fabs((gp__wide)v[row[i] * stride] - (gp__wide)v[row[i - 1] * stride]);
		sum += gap;
		count += gap > 0;
	}
	return count > 0 ? sum / count : 0;
}

/*	Each column's d_x and the targets' d_y. Rows with equal x keep the data's order. */
static void gp__find_gaps(gp__init_work *w, const odvgp_real *Y)
{
	ptrdiff_t rows = gp__init_rows(w->u), D = w->D, T = w->m->T, C = gp__y_columns(&w->m->y);
	gp__draw_sample(w, w->N, 0, rows);
	GP__FOR(d, D) {
		odvgp_real *gap = w->gaps + d * (1 + T);
		gp__sort(w->row, rows, w->X + d, D);
		gap[0] = (odvgp_real)gp__mean_gap(w->X + d, D, w->row, rows);
		GP__FOR(t, T) gap[1 + t] = (odvgp_real)gp__mean_gap(Y + t, C, w->row, rows);
	}
}

/*	0 if all columns are constant. */
static gp__start gp__ulapane_start(const gp__init_work *w, uint32_t i)
{
	const gp__base_kernel *base = &w->u->kernel.base[i];
	ptrdiff_t T = w->m->T;
	gp__wide factor = gp__spread(&w->u->kernel, i, 0, 1);
	gp__start start = {0, 0, NULL};
	const int target = gp__only_target(w->u);
	GP__FOR(k, T + 1) {
		if (k && target >= 0 && k != target + 1) continue;
		gp__wide sum = 0, used = 0;
		GP__FOR(d, (ptrdiff_t)base->ndims) {
			const odvgp_real *gap = w->gaps + gp__column(base, d) * (1 + T);
			if (!(gap[0] > 0)) continue;
			sum += (gp__wide)gap[k];
			used++;
		}
		gp__wide mean = used > 0 ? sum / used : 0;
		if (k) start.variance += mean * mean / (target < 0 ? (gp__wide)T : 1);
		else start.lengthscale = mean * factor;
	}
	return start;
}

/*	ULAPANE looks at the targets, which belong to the first layer's inputs. */
static int gp__is_ulapane(const gp__unit *u)
{
	return GP__DESK && !u->layer && u->model->cfg.init.hyperparams == ODVGP_INIT_HYPER_ULAPANE;
}

/*	Hyperparameters of a unit's kernel, n from number h on, start at v. */
static void gp__start_hyp(const gp__unit *u, uint32_t h, uint32_t n, gp__wide v)
{
	ptrdiff_t first = u->model->par.slot[u->slot_kernel].offset + (ptrdiff_t)h;
	GP__FROM(i, first, first + (ptrdiff_t)n) gp__set_positive(u->model, i, gp__usable(v));
}

/*	A base kernel's starting values: the method's if it has distances; else k(x,x) is the targets'
	variance (for white a tenth of it, as for the noise), at inputs of mean square 1 if it depends
	on x. alpha, periods and lengthscales on circles start at 1. */
static void gp__init_base_kernel(const gp__init_work *w, uint32_t i)
{
	const gp__unit *u = w->u;
	const gp__base_kernel *base = &u->kernel.base[i];
	gp__start start = {1, w->target_variance, NULL};
	if (gp__geometry(base) == GP__DISTANCE)
		start = gp__is_ulapane(u) ? gp__ulapane_start(w, i) : gp__median_start(w, i);
	if (gp__is_mixed(u)) start.variance = 1; /* ULAPANE's is the targets' */
	if (base->type == GP__WHITE) start.variance *= GP__W(0.1);
	if (base->type == GP__POLYNOMIAL) {
		start.variance = GP__W(0.5) * gp__pow(start.variance, 1 / (gp__wide)base->degree);
		if (!(base->given & GP__GIVEN_SHAPE_PARAM))
			gp__start_hyp(u, base->shape_param, 1, start.variance);
	}
	if (gp__geometry(base) == GP__INNER_PRODUCT) start.variance /= (gp__wide)base->ndims;
	for (uint32_t d = 0; d < base->nls && !(base->given & GP__GIVEN_LENGTHSCALE); d++) {
		gp__wide unit = start.unit && base->ard ? (gp__wide)start.unit[gp__column(base, d)] : 1;
		gp__start_hyp(u, base->ls + d, 1, start.lengthscale * unit);
	}
	if (!(base->given & GP__GIVEN_VARIANCE))
		gp__start_hyp(u, base->var, base->nvar, start.variance);
}

/*	w->per_length: one over each column's shortest lengthscale, or the start of a normal one if no
	kernel has one; times a power of two, so that distances are near 1 in any units. */
static void gp__find_lengths(const gp__init_work *w)
{
	const gp__unit *u = w->u;
	odvgp_real *length = w->per_length;
	int exponent;
	gp__zero(length, w->D);
	GP__EACH_BASE(i, &u->kernel) {
		const gp__base_kernel *base = &u->kernel.base[i];
		if (gp__geometry(base) != GP__DISTANCE) continue;
		GP__FOR(d, (ptrdiff_t)base->ndims) {
			odvgp_real own = gp__hyp(u)[base->ls + (base->ard ? d : 0)],
					   *of = length + gp__column(base, d);
			if (!(*of > 0) || own < *of) *of = own;
		}
	}
	GP__FOR(d, w->D)
		if (!(length[d] > 0))
			length[d] = gp__column_sd(u)[d] * (odvgp_real)gp__sqrt((gp__wide)w->D) / 2;
	gp__wide scale = gp__frexp((gp__wide)length[0], &exponent);
	GP__FOR(d, w->D) length[d] = (odvgp_real)(scale / (gp__wide)length[d]);
}

/*	Only what neither the expression nor the config gives. */
static void gp__init_hyper(gp__init_work *w, const odvgp_real *Y)
{
	if (gp__is_ulapane(w->u)) gp__find_gaps(w, Y);
	GP__EACH_BASE(i, &w->u->kernel) gp__init_base_kernel(w, i);
}

/*	Multiplies a node by `factor`, through variances not given by the expression. Returns whether it
	could. */
static int gp__scale_kernel(const gp__unit *u, uint32_t node, gp__wide factor)
{
	const uint32_t *n = u->kernel.node[node];
	if (n[0] == GP__NODE_PRODUCT)
		return gp__scale_kernel(u, n[1], factor) || gp__scale_kernel(u, n[2], factor);
	if (n[0] == GP__NODE_SUM) {
		int left = gp__scale_kernel(u, n[1], factor);
		return gp__scale_kernel(u, n[2], factor) || left;
	}
	const gp__base_kernel *base = &u->kernel.base[n[1]];
	if (base->given & GP__GIVEN_VARIANCE || base->type == GP__POLYNOMIAL) return 0;
	for (uint32_t i = base->var; i < base->var + base->nvar; i++)
		gp__start_hyp(u, i, 1, factor * (gp__wide)gp__hyp(u)[i]);
	return 1;
}

#ifndef ODVGP_FLOAT_ONLY
/*	With patches, f has the targets' variance on average over 16 images. */
static void gp__init_image_variance(const gp__init_work *w)
{
	const gp__unit *u = w->u;
	ptrdiff_t N = gp__unit_rows(u), images = GP__MIN(N, (ptrdiff_t)16);
	odvgp_real k;
	gp__wide sum = 0;
	gp__arena scratch = w->rest;
	gp__kjob job;
	if (!u->patch_weights.id) return;
	odvgp_real *Kw = gp__take(&scratch, 1, gp__patches_count(&u->patches));
	GP__FOR(i, images) {
		ptrdiff_t image = gp__permute(w->m->cfg.seed, GP__STREAM_PATCHES, 1, N, i);
		gp__unit_job(&job, u, NULL, 0, w->data + image * u->D, 1);
		gp__fit_images(u, &job);
		gp__images_diag(&job, &k, Kw, scratch, 0);
		sum += (gp__wide)k / (gp__wide)images;
	}
	if (sum > 0) gp__scale_kernel(u, u->kernel.nnode - 1, w->target_variance / sum);
}

#endif

/*	Mean and standard deviation of a column (1 if constant to rounding), in two passes over values
	scaled to [-1, 1]: neither size nor offset costs digits. */
static void gp__column_scale(
		const odvgp_real *x, ptrdiff_t n, ptrdiff_t stride, odvgp_real *mean, odvgp_real *scale)
{
	gp__wide low = (gp__wide)x[0], high = low, sum = 0, squares = 0;
	GP__FROM(i, 1, n) {
		low = GP__MIN(low, (gp__wide)x[i * stride]);
		high = GP__MAX(high, (gp__wide)x[i * stride]);
	}
	gp__wide half = high / 2 - low / 2, middle = low + half, deviation;
	*mean = x[0];
	*scale = 1;
	if (!(half > 0)) return;
	GP__FOR(i, n) sum += ((gp__wide)x[i * stride] - middle) / half;
	sum /= (gp__wide)n;
	GP__FOR(i, n) {
		gp__wide z = ((gp__wide)x[i * stride] - middle) / half - sum;
		squares += z * z;
	}
	*mean = (odvgp_real)(middle + half * sum);
	deviation = half * gp__sqrt(squares / (gp__wide)n);
	if (deviation > 45 * (gp__wide)GP__EPS * gp__fabs((gp__wide)*mean) && (odvgp_real)deviation > 0)
		*scale = (odvgp_real)deviation;
}

/* --- what units above layer 0 see --- */

/*	A [Dx,P]: the next layer sees A^T x, or, if NULL, x itself, over and over. Where the mean is
	constant its inducing inputs must not coincide: with image_output filters uniform within
	sqrt(6 / (h w channels + h w P)), Glorot's, as [SOLVE] appendix G.2 has it, 0 for locations. */
static const odvgp_real *gp__pass_matrix(const gp__init_work *w)
{
	const gp__unit *u = w->u;
	const gp__patches *p = &u->patches;
	ptrdiff_t n = u->Dx - 2 * p->located;
	gp__wide most =
			gp__sqrt(6 / ((gp__wide)n * (1 + (gp__wide)u->P / (gp__wide)GP__MAX(p->channels, 1))));
	if (u->slot_mean_A) return gp__theta_of(w->m, u->slot_mean_A);
	if (!p->image_output || u->mean_function == ODVGP_MEAN_FUNCTION_IDENTITY) return NULL;
	gp__zero(w->axes, u->Dx * u->P);
	GP__FOR(i, n * u->P) {
		uint64_t counter = ((uint64_t)u->number + 1) << 32 | (uint64_t)i;
		gp__wide x = gp__uniform(w->m->cfg.seed, GP__STREAM_PATCHES, counter);
		w->axes[i] = (odvgp_real)(most * (2 * x - 1));
	}
	return w->axes;
}

/*	The next unit's inputs, and their standard deviations. Returns the mean of their squares. */
static gp__wide gp__pass_on(const gp__init_work *w)
{
	const gp__unit *u = w->u;
	const odvgp_model *m = w->m;
	ptrdiff_t N = m->cfg.N, rows = gp__seen_rows(m), T = gp__rows_of_input(&u->patches),
			  width = u->P * T;
	odvgp_real *to = w->sample[(u->layer + 1) % 2], mean, *sd = m->data_sd + u[1].sd_at;
	const odvgp_real *A = gp__pass_matrix(w);
	gp__wide squares = 0;
	for (ptrdiff_t i = 0; i < rows && !gp__ask(&m->tape.blas, (gp__wide)(width * u->Dx)); i++) {
		ptrdiff_t row = u->layer || rows == N ? i : gp__init_row(w, 2, N, i);
		GP__FOR(t, T) {
			const odvgp_real *x = w->data + row * u->D;
			if (u->patches.image_output) {
				gp__patch_move(&u->patches, x, NULL, t, w->vector);
				x = w->vector;
			}
			GP__FOR(p, u->P) {
				odvgp_real sum = A ? 0 : x[p % u->Dx];
				if (A)
					GP__FOR(d, u->Dx) sum += x[d] * A[d * u->P + p];
				to[i * width + t * u->P + p] = sum;
			}
		}
	}
	GP__FOR(p, width) {
		gp__column_scale(to + p, rows, width, &mean, sd + p);
		squares += (gp__wide)sd[p] * (gp__wide)sd[p];
	}
	return gp__usable(squares / (gp__wide)width);
}

/* --- axes of projections and mixtures --- */

/*	w->axes: P leading eigenvectors of w->square [D,D], by power iteration. */
static void gp__leading_axes(const gp__init_work *w, ptrdiff_t D, ptrdiff_t P)
{
	const odvgp_blas *blas = &w->m->tape.blas;
	const odvgp__simd *isa = blas->isa;
	odvgp_real *C = w->square, *v = w->vector;
	GP__FOR(p, P) {
		odvgp_real *axis = w->axes + p * D;
		GP__FOR(d, D) /* the first step only makes it orthogonal */
			v[d] = (odvgp_real)gp__normal(w->m->cfg.seed, GP__STREAM_HIDDEN, (uint64_t)(p * D + d));
		for (int step = 0; step < 100 && !gp__ask(blas, (gp__wide)(D * (D + p))); step++) {
			GP__FOR(q, p) isa->axpy(D, -isa->dot(D, v, w->axes + q * D), w->axes + q * D, v);
			odvgp_real size = GP__SQRT(isa->dot(D, v, v));
			GP__FOR(d, D) axis[d] = v[d] / size;
			/* a thousandth of the identity keeps constant columns from giving 0 */
			GP__FOR(d, D) v[d] = isa->dot(D, C + d * D, axis) + GP__R(1e-3) * axis[d];
		}
	}
}

/*	mean.A from the leading eigenvectors of the correlation matrix of a sample of the inputs, or
	with image_output of the candidates; it scales them to unit variance. */
static void gp__principal_axes(gp__init_work *w)
{
	const gp__unit *u = w->u;
	const odvgp_blas *blas = &w->m->tape.blas;
	int of_patches = u->patches.image_output;
	ptrdiff_t D = u->Dx, P = u->P, N = of_patches ? w->N : gp__unit_rows(u),
			  rows = GP__MIN(N, gp__init_rows(u));
	const odvgp_real *sd = w->m->data_sd + u->sd_at + (of_patches ? u->D + 1 : 0);
	odvgp_real *C = w->square, *A = gp__theta_of(w->m, u->slot_mean_A), *v = w->vector;
	gp__zero(A, D * P);
	GP__FOR(d, GP__MIN(D, P)) A[d * P + d] = 1;
	if (P >= D) return;
	gp__draw_sample(w, N, 0, rows);
	gp__zero(C, D * D);
	gp__zero(w->means, D);
	GP__FOR(pass, 2)
		for (ptrdiff_t i = 0; i < rows && !gp__ask(blas, (gp__wide)(D * D * pass)); i++) {
			const odvgp_real *x = (of_patches ? w->X : w->data) + w->row[i] * D,
							 share = 1 / (odvgp_real)rows;
			GP__FOR(d, pass ? 0 : D) w->means[d] += x[d] * share;
			GP__FOR(d, pass ? D : 0) v[d] = (x[d] - w->means[d]) / sd[d];
			GP__FOR(d, pass ? D : 0) blas->isa->axpy(D, v[d] * share, v, C + d * D);
		}
	gp__leading_axes(w, D, P);
	GP__FOR(p, P)
		GP__FOR(d, D) A[d * P + p] = w->axes[p * D + d] / sd[d];
}

/*	"mixing", as odvgp_init_data says. */
static void gp__init_mixing(const gp__init_work *w, const odvgp_real *Y)
{
	const odvgp_model *m = w->m;
	const odvgp__simd *isa = m->tape.blas.isa;
	ptrdiff_t N = m->cfg.N, F = m->F, P = m->cfg.layer[w->u->layer].P,
			  columns = gp__y_columns(&m->y);
	odvgp_real *C = w->square, *z = w->vector, *mean = w->means, *sd = mean + F,
			   *W = gp__theta_of(m, m->slot_mixing);
	gp__zero(C, F * F);
	GP__FOR(f, F) sd[f] = (odvgp_real)gp__sqrt(gp__usable(gp__target_moments(m, Y, f, &mean[f])));
	GP__FOR(i, N) {
		GP__FOR(f, F) {
			odvgp_real y = Y[i * columns + f];
			z[f] = y == y ? (y - mean[f]) / sd[f] : 0;
		}
		GP__FOR(f, F) isa->axpy(F, z[f] / (odvgp_real)N, z, C + f * F);
	}
	gp__leading_axes(w, F, P);
	GP__FOR(p, P) {
		const odvgp_real *axis = w->axes + p * F;
		odvgp_real value = 0, most = 0;
		GP__FOR(f, F) {
			value += axis[f] * isa->dot(F, C + f * F, axis);
			if (gp__fabs((gp__wide)axis[f]) > gp__fabs((gp__wide)most)) most = axis[f];
		}
		value = GP__SQRT(GP__MAX(value, GP__R(0.01))) * (most < 0 ? -1 : 1);
		GP__FOR(f, F)
			W[f * P + p] = value * axis[f] * (m->y.lik->flags & GP__LIK_SCALABLE ? sd[f] : 1);
	}
}

/*	Mean function and kernel first: methods may choose points by it. */
static void gp__init_unit(const gp__unit *u, const odvgp_real *X, const odvgp_real *Y)
{
	gp__init_work w;
	odvgp_model *m = u->model;
	gp__arena a = m->tape.scratch;
	odvgp_real *sd = m->data_sd + u->sd_at, mean;
	gp__init_scratch(&a, u, &w);
	ODVGP_ASSERT(!a.bad);
	int hidden = !gp__is_last(u);
	w.data = u->layer ? w.sample[u->layer % 2] : X;
	if (u->number > u->layer) gp__copy(sd, m->data_sd + m->unit[u->layer].sd_at, u->D);
	gp__draw_candidates(&w);
	GP__FOR(d, w.patches ? w.D : 0) gp__column_scale(w.X + d, w.N, w.D, &mean, &sd[u->D + 1 + d]);
	if (hidden && u->slot_mean_A) gp__principal_axes(&w);
	w.target_variance = hidden ? gp__pass_on(&w) : gp__target_variance(m, Y, gp__only_target(u));
	sd[u->D] = (odvgp_real)gp__sqrt(w.target_variance);
	if (gp__is_mixed(u)) {
		w.target_variance = 1;
		if (gp__is_top(u)) gp__init_mixing(&w, Y);
	}
	gp__init_hyper(&w, Y);
#ifndef ODVGP_FLOAT_ONLY
	gp__init_image_variance(&w);
#endif
	gp__find_lengths(&w);
	gp__init_points(&w);
}

/* --- q --- */

/*	The matrices of a slot become x I. Slot 0 has none. */
static void gp__identity_slot(odvgp_model *m, int slot, odvgp_real x)
{
	const ptrdiff_t *shape = m->par.slot[slot].shape, M = shape[2];
	odvgp_real *theta = gp__theta_of(m, slot);
	gp__zero(theta, m->par.slot[slot].count);
	GP__FOR(r, shape[0] * M) theta[r * M + r % M] = x;
}

/*	Factor of q_sqrt's start: odvgp_hidden_q. */
static odvgp_real gp__narrowed(const gp__unit *u)
{
	return !gp__is_last(u) && u->cov_part->factor == GP__FACTOR_OF_S &&
						   u->model->cfg.deep.q_init == ODVGP_HIDDEN_Q_NARROW
				   ? GP__R(1e-3)
				   : 1;
}

/*	Means and coefficients are 0, Cholesky factors as the covariance part says: B_sqrt and q_diag
	are near 0, the prior; at 0 the gradients would vanish. */
static void gp__q_identity_unit(gp__unit *u)
{
	odvgp_model *m = u->model;
	odvgp_real k = (odvgp_real)gp__usable((gp__wide)gp__prior_variance(u)),
			   root = u->cov_part->sqrt_start / (u->cov_part->sqrt_power < 0 ? GP__SQRT(k) : 1);
	gp__identity_slot(m, u->slot_a, 0);
	GP__FOR(b, GP__BLOCKS) {
		gp__identity_slot(m, u->block[b].slot_mu, 0);
		gp__identity_slot(m, u->block[b].slot_sqrt, root * gp__narrowed(u));
	}
	GP__EACH_VALUE(i, &m->par.slot[u->slot_q_diag])
		gp__set_positive(m, i, GP__W(1e-3) / (gp__wide)k);
}

/*	Discards the state of earlier training. */
static void gp__forget(odvgp_model *m)
{
	gp__zero(m->m1, m->par.adam);
	gp__zero(m->m2, m->par.adam);
	m->state.adam_steps = m->state.scales_age = m->state.clean_steps = 0;
	m->state.step_scale = 1;
	m->state.good_valid = m->state.lbfgs_valid = 0;
}

/*	Resets q of all units, too. */
static void gp__q_identity(odvgp_model *m)
{
	GP__EACH_UNIT(u, m) gp__q_identity_unit(u);
	gp__forget(m);
}

/*	Only the whitening factors, whatever q contains. */
static odvgp_status gp__run_L(odvgp_model *m, odvgp_info *info)
{
	gp__wants_list factors = {0, 0, 0, GP__GIVES_L};
	gp__mark_params(m, &factors);
	odvgp_status s = gp__tape_forward_info(&m->tape, GP__HEAD, info);
	GP__EACH_UNIT(u, m)
		if (!s && (!gp__node_finite(m, u->L) || !gp__node_finite(m, u->L_v)))
			s = gp__refuse(info, ODVGP_E_NAN, "Kb", "its factor is not finite");
	return s;
}

/*	The prior in the papers' coordinates, or a thousandth of it. */
static void gp__prior_factor(const gp__unit *u, const gp__block *block)
{
	if (!block->white_sqrt.id || GP__COORDS(u) == ODVGP_PARAMETRISATION_WHITENED) return;
	ptrdiff_t size = block->M * block->M;
	odvgp_real *root = gp__theta_of(u->model, block->slot_sqrt);
	const odvgp_real *L = gp__value(u, block->L);
	GP__FOR(i, u->P * size) root[i] = gp__narrowed(u) * L[i % size];
}

/*	q_sqrt is I if whitened, else L, never from the last good parameters. */
static odvgp_status gp__reset_q(odvgp_model *m, odvgp_info *info)
{
	int prior = 0;
	for (int i = 0; i < m->units && m->cfg.reproduce.q_init == ODVGP_Q_INIT_PRIOR; i++)
		prior |= GP__COORDS(&m->unit[i]) != ODVGP_PARAMETRISATION_WHITENED;
	odvgp_events events = m->tape.events;
	gp__keep_jitters(m);
	odvgp_status s = gp__attempt_end(m, prior ? gp__run_L(m, info) : ODVGP_OK, &events);
	if (s) return s;
	GP__EACH_UNIT(u, m) gp__q_identity_unit(u);
	GP__EACH_UNIT(u, m)
		GP__FOR(b, prior ? GP__BLOCKS : 0) gp__prior_factor(u, &u->block[b]);
	gp__touch_all(m);
	return ODVGP_OK;
}

/* --- noise, cut points, odvgp_init_data --- */

ODVGP_API odvgp_status odvgp_init_q(odvgp_model *m, odvgp_info *info)
{
	if (!gp__model_ok(m)) return gp__is_null(info, "model");
	odvgp_status s = gp__reset_q(m, info);
	if (!s) gp__forget(m);
	return s;
}

/*	0 without a noise. */
static odvgp_real gp__noise_floor(const odvgp_model *m, gp__wide target_variance)
{
	gp__wide floor = gp__has_noise(&m->cfg) ? (gp__wide)m->cfg.lik.noise_floor : 0;
	return floor > 0 ? (odvgp_real)(floor * target_variance) : 0;
}

#ifndef ODVGP_FLOAT_ONLY
/*	x with Phi(x) = p, 0 < p < 1, by bisection. */
static gp__wide gp__normal_quantile(gp__wide p)
{
	gp__wide low = -40, high = 40;
	GP__FOR(k, 60) {
		gp__wide x = 0.5 * (low + high);
		if (0.5 * erfc(-gp__sqrt_half * x) < p) low = x;
		else high = x;
	}
	return low;
}

/*	Cuts at which f + N(0, 1), of variance 2, falls into each class as often as the targets, with
	one target more in each. */
static void gp__init_cuts(odvgp_model *m, const odvgp_real *Y)
{
	ptrdiff_t N = m->cfg.N, K = m->classes, C = gp__y_columns(&m->y), seen = 0, below = 0;
	gp__wide last = 0;
	GP__FOR(i, N) seen += Y[i * C] == Y[i * C];
	GP__FOR(k, K - 1) {
		below++;
		GP__FOR(i, N) below += Y[i * C] == (odvgp_real)k;
		gp__wide cut =
				2 * gp__sqrt_half * gp__normal_quantile((gp__wide)below / (gp__wide)(seen + K));
		if (k) gp__set_positive(m, m->par.slot[m->slot_lik_params].offset + k - 1, cut - last);
		else *gp__theta_of(m, m->slot_lik_free_params) = (odvgp_real)cut;
		last = cut;
	}
}

#endif

/*	Parameters in the targets' unit, unless the config has the noise; cuts. */
static void gp__init_likelihood(odvgp_model *m, const odvgp_real *Y, gp__wide variance)
{
	const gp__likelihood *lik = m->y.lik;
	for (int k = 0; k < lik->params && !(m->cfg.lik.noise_variance > 0); k++) {
		gp__wide unit = lik->param[k].power == 2 ? variance : gp__sqrt(variance);
		if (lik->param[k].power)
			GP__EACH_VALUE(i, &m->par.slot[m->slot_lik_params + k])
				gp__set_positive(m, i, GP__W(lik->param[k].start) * unit);
	}
#ifndef ODVGP_FLOAT_ONLY
	if (m->cfg.lik.kind == ODVGP_LIKELIHOOD_ORDINAL) gp__init_cuts(m, Y);
#else
	(void)Y;
#endif
}

static odvgp_status gp__init_from_data(
		odvgp_model *m, const odvgp_real *X, const odvgp_real *Y, odvgp_info *info)
{
	odvgp_status s = gp__watch_at(m, ODVGP_PHASE_INIT, 0, 1, NULL, info);
	if (s) return s;
	ptrdiff_t D = m->cfg.layer[0].D;
	if ((s = gp__rows_finite(X, m->cfg.N, D, info))) return s;
	if ((s = gp__targets_check(&m->y, Y, m->cfg.N, 0, info))) return s;
	gp__state state = m->state;
	odvgp_real *theta_before = gp__lend(&m->par.lent, GP__LENT_BACKUP);
	gp__copy(theta_before, m->par.theta, m->par.count);
	odvgp_real *value_before = gp__lend(&m->kept, GP__KEPT_BY_START);
	gp__copy(value_before, m->par.value, m->par.positive);
	odvgp_real *sd_before = value_before + m->par.positive, mean;
	gp__copy(sd_before, m->data_sd, m->data_sds);
	odvgp_real floor_before = m->par.state[m->slot_lik_params].floor;
	m->par.state[m->slot_lik_params].floor = 0; /* it belongs to other data */
	gp__wide variance = gp__target_variance(m, Y, -1);
	gp__init_likelihood(m, Y, variance);
	for (ptrdiff_t d = 0; d < D && !gp__ask(&m->tape.blas, 16 * (gp__wide)m->cfg.N); d++)
		gp__column_scale(X + d, m->cfg.N, D, &mean, &m->data_sd[d]);
	GP__EACH_UNIT(u, m)
		if (!gp__stopped(&m->tape.blas)) gp__init_unit(u, X, Y);
	gp__touch_all(m);
	s = gp__stop_status(m, info);
	/* the noise starts just above its floor */
	odvgp_real floor = gp__noise_floor(m, variance), above = 2 * floor;
	if (!s && !gp__finite(&above, 1))
		s = gp__fail(info, ODVGP_E_ARG, "lik.noise_floor", -1, (gp__wide)m->cfg.lik.noise_floor,
				"times the targets' variance is too large to be a bound of the noise");
	if (!s) s = odvgp_init_q(m, info);
	gp__end_loan(&m->par.lent, GP__LENT_BACKUP);
	gp__end_loan(&m->kept, GP__KEPT_BY_START);
	if (!s) {
		m->par.state[m->slot_lik_params].floor = floor;
		if (gp__has_noise(&m->cfg))
			GP__EACH_VALUE(i, &m->par.slot[m->slot_lik_params])
				gp__set_positive(m, i, (gp__wide)m->par.value[i]);
		return ODVGP_OK;
	}
	m->par.state[m->slot_lik_params].floor = floor_before;
	gp__copy(m->par.theta, theta_before, m->par.count);
	gp__copy(m->par.value, value_before, m->par.positive);
	gp__copy(m->data_sd, sd_before, m->data_sds);
	gp__touch_all(m);
	m->state = state;
	return s;
}

ODVGP_API odvgp_status odvgp_init_data(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		const odvgp_watch *watch, odvgp_info *info)
{
	gp__watcher own, *outer;
	odvgp_status s = gp__all_rows_check(m, X, Y, info);
	if (s) return s;
	outer = gp__watch_begin(m, &own, watch);
	s = gp__init_from_data(m, X, Y, info);
	m->tape.blas.watcher = outer;
	return s;
}

/* --- scales of columns --- */

ODVGP_API odvgp_status odvgp_column_scales(const odvgp_real *X, ptrdiff_t n, ptrdiff_t D,
		odvgp_real *mean, odvgp_real *scale, odvgp_info *info)
{
	if (!X || !mean || !scale) return gp__is_null(info, !X ? "X" : mean ? "scale" : "mean");
	if (n < 1 || D < 1 || D > PTRDIFF_MAX / n)
		return gp__refuse(info, ODVGP_E_SIZE, "n or D", "is out of range");
	odvgp_status s = gp__rows_finite(X, n, D, info);
	if (s) return s;
	GP__FOR(d, D) gp__column_scale(X + d, n, D, mean + d, scale + d);
	return ODVGP_OK;
}

ODVGP_API odvgp_status odvgp_standardise(const odvgp_real *X, ptrdiff_t n, ptrdiff_t D,
		const odvgp_real *mean, const odvgp_real *scale, odvgp_real *out, odvgp_info *info)
{
	if (!X || !mean || !scale || !out)
		return gp__is_null(info, !X ? "X" : !mean ? "mean" : !scale ? "scale" : "out");
	if (n < 0 || D < 1) return gp__refuse(info, ODVGP_E_ARG, "n or D", "is out of range");
	GP__FOR(d, D) {
		if (!gp__finite(mean + d, 1))
			return gp__fail(info, ODVGP_E_ARG, "mean", d, (gp__wide)mean[d], "is not finite");
		if (!(scale[d] > 0) || !gp__finite(scale + d, 1))
			return gp__fail(info, ODVGP_E_ARG, "scale", d, (gp__wide)scale[d],
					"is not positive and finite");
	}
	GP__FOR(i, n)
		GP__FOR(d, D) out[i * D + d] = (X[i * D + d] - mean[d]) / scale[d];
	return ODVGP_OK;
}

/* ---- >>layout   slots, tape and block of a model

	One function runs twice: to measure the block and to carve it. Tables come first in the block,
	and measuring counts them. */

/* --- slots --- */

static void gp__kernel_slots(gp__unit *u)
{
	gp__params *par = &u->model->par;
	u->slot_kernel = par->slots + 1;
	par->of = u;
	GP__EACH_BASE(i, &u->kernel) {
		const gp__base_kernel *base = &u->kernel.base[i];
		const char *shape_param = gp__base_kernel_kinds[base->type].shape_param,
				   *ends[GP__BASE_KERNEL_VALUES] = {"lengthscale", "variance", shape_param};
		uint32_t count[GP__BASE_KERNEL_VALUES] = {base->nls, base->nvar, shape_param != NULL};
		GP__FOR(k, GP__BASE_KERNEL_VALUES) {
			if (!count[k]) continue;
			char name[GP__SLOT_NAME];
			gp__text t = {name, sizeof name, 0};
			gp__put_part(&t, "kernel.", (ptrdiff_t)i);
			gp__put(&t, ends[k]);
			par->bad |= t.used >= t.size;
			int slot = gp__slot_add(par, name, GP__POSITIVE, 1, (ptrdiff_t)count[k], 1, 1);
			if (par->slot && k == 1 && count[k] == 1) /* "mixing" has the scale */
				par->slot[slot].trainable = !gp__is_mixed(u);
		}
	}
	u->kernel_slots = par->slots + 1 - u->slot_kernel;
}

/*	GP__NATURAL for slots that these natural steps move. */
static int gp__natural_kind(const gp__unit *u, int steps)
{
	return u->model->cfg.optim.natgrad && u->steps & steps ? GP__NATURAL : 0;
}

/*	A slot [rows,cols], or 0 without a name; power and column as in gp__slot_units. */
static int gp__matrix_slot(gp__params *par, const char *name, int kind, ptrdiff_t rows,
		ptrdiff_t cols, int power, int column)
{
	int s = name ? gp__slot_add(par, name, kind, 2, rows, cols, 1) : 0;
	gp__slot_units(par, s, power, column);
	return s;
}

/*	A block's slots; those of natural steps come last in the vector. */
static void gp__block_slots(gp__unit *u, int on, const char *mu, const char *root, int steps)
{
	gp__params *par = &u->model->par;
	gp__block *b = &u->block[on];
	int kind = gp__natural_kind(u, steps), power = u->cov_part->sqrt_power,
		coefficients = u->mean_part->mu == GP__MU_COEFFICIENTS ||
					   GP__COORDS(u) == ODVGP_PARAMETRISATION_A_BETA;
	b->slot_mu = gp__matrix_slot(par, mu, kind, u->P, b->M,
			coefficients ? -1 : GP__COORDS(u) == ODVGP_PARAMETRISATION_PRIMAL, 0);
	if (root) b->slot_sqrt = gp__slot_add(par, root, kind | GP__TRIANGLES, 3, u->P, b->M, b->M);
	gp__slot_units(
			par, b->slot_sqrt, power ? power : GP__COORDS(u) != ODVGP_PARAMETRISATION_WHITENED, 0);
}

static void gp__positive_slots(gp__unit *u)
{
	int kind = GP__POSITIVE | GP__OF_Q | gp__natural_kind(u, GP__STEPS_DIAGONAL);
	u->model->par.of = u;
	u->slot_q_diag = gp__matrix_slot(&u->model->par, u->cov_part->diag, kind, u->P, u->M, 0, 0);
}

static void gp__free_slots(gp__unit *u)
{
	odvgp_model *m = u->model;
	gp__params *par = &m->par;
	const odvgp_config *c = &m->cfg;
	const gp__mean_part *part = u->mean_part;
	ptrdiff_t Mg = u->M_gamma, patches = gp__patches_summed(&u->patches);
	int own = gp__has_free_points(part, Mg), A = gp__mean_functions[u->mean_function].A,
		b = gp__mean_functions[u->mean_function].b;
	const char *Z_gamma = part->Z_gamma ? part->Z_gamma : u->cov_part->Z_gamma;
	par->of = u;
	u->slot_mean_A = gp__matrix_slot(par, A ? "mean.A" : NULL, 0, u->Dx, u->P, 1, GP__PER_INPUT);
	if (b) u->slot_mean_b = gp__slot_add(par, A ? "mean.b" : "mean.c", 0, 1, u->P, 1, 1);
	gp__slot_units(par, u->slot_mean_b, 1, 0);
	if (A && !b && par->slot) par->slot[u->slot_mean_A].trainable = 0;
	if (gp__is_mixed(u) && gp__is_top(u))
		m->slot_mixing =
				gp__matrix_slot(par, "mixing", GP__OF_LAYER, m->F, c->layer[u->layer].P, 1, 0);
	if (patches) u->slot_patch_weights = gp__slot_add(par, "weights", 0, 1, patches, 1, 1);
	if (own) u->slot_Z_gamma = gp__matrix_slot(par, Z_gamma, 0, Mg, u->Dz, 0, GP__IN_INPUTS);
	u->slot_Z_beta = gp__matrix_slot(par, "Z_beta", 0, u->M, u->Dz, 0, GP__IN_INPUTS);
	if (!own && Mg) u->slot_Z_gamma = gp__matrix_slot(par, Z_gamma, 0, Mg, u->Dz, 0, GP__IN_INPUTS);
	int kind = c->optim.gamma_step != ODVGP_GAMMA_STEP_ADAM ? GP__NATURAL : 0,
		times_D = part->gamma == GP__RESIDUAL_GAMMA &&
				  u->gamma_coords == ODVGP_GAMMA_COORDS_DIFFERENTIATED;
	u->slot_a = gp__matrix_slot(par, Mg ? part->a : NULL, kind, u->P, Mg, times_D ? 1 : -1, 0);
	const char *mu = GP__COORDS(u) == ODVGP_PARAMETRISATION_A_BETA ? "a_beta" : "q_mu";
	gp__block_slots(u, GP__ON_BETA, own ? NULL : mu, u->cov_part->q_sqrt, GP__STEPS_OF_MU);
	gp__block_slots(u, GP__ON_GAMMA, part->v_mu, u->cov_part->v_sqrt, GP__STEPS_GAMMA);
}

static void gp__slots_build(odvgp_model *m)
{
	m->par.slots = 0;
	m->par.count = m->par.adam = 0;
	GP__EACH_UNIT(u, m) gp__kernel_slots(u);
	m->slot_lik_params = gp__likelihood_slots(m, 1, &m->lik_slots);
	GP__EACH_UNIT(u, m) gp__positive_slots(u);
	m->slot_lik_free_params = gp__likelihood_slots(m, 0, &m->lik_free_slots);
	GP__EACH_UNIT(u, m) gp__free_slots(u);
}

/*	Without tables the order of slots does not matter: count a unit's, or the likelihood's. */
static void gp__slots_count(odvgp_model *m, gp__unit *u)
{
	ptrdiff_t count = m->par.count;
	int slots = m->par.slots;
	if (u) {
		gp__kernel_slots(u);
		gp__positive_slots(u);
	} else m->slot_lik_params = gp__likelihood_slots(m, 1, &m->lik_slots);
	m->par.positive += m->par.count - count;
	m->par.positive_slots += m->par.slots - slots;
	if (u) gp__free_slots(u);
	else m->slot_lik_free_params = gp__likelihood_slots(m, 0, &m->lik_free_slots);
}

/* --- the tape of a unit --- */

/*	first + sign (own + the mean function), of nodes with an id. */
static gp__ref gp__with_mean_function(gp__unit *u, gp__ref first, gp__ref own, odvgp_real sign)
{
	gp__ref term[GP__MAX_IN];
	int terms = 0;
	if (first.id) term[terms++] = first;
	if (own.id) term[terms++] = own;
	if (u->slot_mean_A) {
		gp__ref A = gp__param_node(u, u->slot_mean_A, 1, u->Dx, u->P);
		term[terms++] = gp__tile(u, GP__PRODUCT, GP__PRODUCT_ATBT, u->P, A, u->X);
	}
	if (u->slot_mean_b) term[terms++] = gp__param_node(u, u->slot_mean_b, 1, u->P, 1);
	if (u->mean_function == ODVGP_MEAN_FUNCTION_IDENTITY)
		term[terms++] = gp__tile(u, GP__TRANSPOSE, 0, u->P, u->X, gp__none);
	return gp__sum_of(u, GP__TILE, GP__TILE_SIZE, term, terms, sign);
}

/*	Y minus the mean function, and minus what a kept q(v) explains. */
static gp__ref gp__build_target(gp__unit *u)
{
	gp__ref kept = gp__kept_terms(u) ? u->mean_part->tile(u) : gp__none;
	return gp__with_mean_function(u, u->model->Y, kept, -1);
}

/*	k - |A_v|^2 + |v_sqrt^T A_v|^2: what a kept q(v) leaves of k(x,x). */
static gp__ref gp__kept_variance(gp__unit *u)
{
	gp__ref term[2];
	term[1] = gp__tile(u, GP__RESIDUAL, GP__RESIDUAL_CLAMPED, 1, u->k_x, u->A_v);
	term[0] = gp__squares(u, GP__ON_GAMMA, u->A_v);
	return gp__sum_of(u, GP__TILE, GP__TILE_SIZE, term, 2, 1);
}

/*	log N(Y; mean function, K + noise I). */
GP__NOINLINE gp__ref gp__build_evidence(gp__unit *u)
{
	gp__ref r = gp__build_target(u), K = gp__kernel_xx(u, GP__KERNEL_LOWER);
	return gp__add(u, GP__TAIL, GP__EVIDENCE, 0, 1, 1, K, r, u->model->lik_params, u->model->root);
}

/*	x with each row of data divided by its root, if they have one. */
static gp__ref gp__by_root(gp__unit *u, gp__ref x)
{
	if (!u->model->root.id || !x.id) return x;
	return gp__tile(u, GP__DIVIDE, 0, x.rows, x, u->model->root);
}

/*	Sums over the rows, and the bound computed from them. */
GP__NOINLINE gp__ref gp__build_collapsed(gp__unit *u)
{
	odvgp_model *m = u->model;
	int partly = gp__kept_terms(u) != 0,
		mean_beta = u->mean_part->v_mu == NULL,     /* the mean has only features of beta */
			cov_beta = u->cov_part->v_sqrt == NULL; /* so has the covariance */
	gp__ref r = gp__build_target(u), k = u->k_x, V = gp__none;
	if (m->cfg.objective == ODVGP_OBJECTIVE_TIGHT) { /* A K A^T */
		gp__ref AK = gp__tile_product(u, u->A, gp__kernel_xx(u, GP__KERNEL_WHOLE));
		V = gp__add(u, GP__TILE, GP__PRODUCT, GP__PRODUCT_ABT, u->M, u->M, AK, u->A, gp__none,
				gp__none);
	}
	if (partly && !cov_beta) k = gp__kept_variance(u);
	ptrdiff_t F = u->M + (u->A_v.id && !partly ? u->M_gamma : 0);
	gp__ref A = gp__by_root(u, u->A), A_v = partly ? gp__none : gp__by_root(u, u->A_v);
	r = gp__by_root(u, r);
	k = gp__by_root(u, gp__by_root(u, k));
	m->moments = gp__add(u, GP__TILE, GP__MOMENTS, 0, F + u->P + 2, F, A, A_v, r, k);
	/* BETA is both: 1 + 2 */
	int variant = GP__COLLAPSE_MEAN_BETA * mean_beta + GP__COLLAPSE_COV_BETA * cov_beta;
	return gp__add(
			u, GP__TAIL, GP__COLLAPSED, variant, 1, 1, m->moments, m->lik_params, V, gp__none);
}

/*	Whitened features of a tile. A value overwritten in place has no other reader. */
GP__NOINLINE void gp__build_features(gp__unit *u)
{
	ptrdiff_t n = GP__TILE_SIZE;
	u->k_x = gp__add(
			u, GP__TILE, GP__KERNEL_DIAG, 0, 1, n, u->hyp, u->X, u->patch_weights, gp__none);
	u->K_x = gp__kernel_zx(u, u->Z_beta);
	u->A = u->Kb.id ? gp__tile(u, GP__SOLVE, GP__SOLVE_LEFT, u->M, u->L, u->K_x)
					: gp__solve_in_place(u, GP__TILE, u->L, u->K_x, n);
	if (!gp__uses_v(u)) return;
	const gp__ref in[3] = {gp__kernel_zx(u, u->Z_gamma), u->W, u->A};
	gp__ref residual = gp__node_add(&u->model->tape, u, GP__MINUS_PRODUCT, GP__MINUS_WHOLE,
			GP__TILE, u->M_gamma, n, in, 3, in[0]);
	u->A_v = gp__solve_in_place(u, GP__TILE, u->L_v, residual, n);
}

static void gp__build_stats(gp__unit *u, gp__block *b, gp__ref A)
{
	b->A = A;
	b->stats = gp__add(u, GP__TILE, GP__NAT_STATS, 0, u->P, b->M, A, u->mean, u->var, gp__none);
	gp__asked_for(u, b->stats, GP__GIVES_STATS);
}

GP__NOINLINE void gp__build_head(gp__unit *u)
{
	gp__build_beta(u);
	if (u->M_gamma) u->Z_gamma = gp__param_node(u, u->slot_Z_gamma, 1, u->M_gamma, u->Dz);
	if (u->slot_patch_weights)
		u->patch_weights =
				gp__param_node(u, u->slot_patch_weights, 1, 1, gp__patches_count(&u->patches));
	if (gp__uses_v(u)) {
		gp__build_residual(u, GP__CHOL_JITTERED, 0);
		gp__build_block(u, &u->block[GP__ON_GAMMA], u->L_v, u->cov_part->v_sqrt != NULL);
	}
	u->mean_part->head(u);
	u->cov_part->head(u);
	gp__ref predictor[GP__PREDICTOR_NODES];
	gp__predictor_nodes(u, predictor);
	GP__FOR(i, GP__PREDICTOR_NODES)
		if (predictor[i].id) gp__asked_for(u, predictor[i], GP__GIVES_PREDICTOR);
}

/*	Mean and variance at the tile's rows; statistics for natural steps. */
GP__NOINLINE void gp__build_outputs(gp__unit *u)
{
	u->var = u->cov_part->tile(u);
	gp__ref beta = u->weights.id ? gp__tile_product(u, u->weights, u->A) : gp__none;
	u->mean = gp__with_mean_function(u, beta, u->mean_part->tile(u), 1);
	if (u->steps & GP__STEPS_OF_MU) gp__build_stats(u, &u->block[GP__ON_BETA], u->A);
	if (u->steps & GP__STEPS_GAMMA) gp__build_stats(u, &u->block[GP__ON_GAMMA], u->A_v);
}

static void gp__tape_start(odvgp_model *m, gp__arena *a)
{
	const odvgp_config *c = &m->cfg;
	gp__tape *t = &m->tape;
	t->arena = a;
	t->nodes = 0;
	t->tile = c->tile;
	t->tasks = gp__tasks(&c->threads);
	t->keep = (size_t)c->kernel_cache_bytes;
	t->y = &m->y;
	t->lik_nodes = gp__has_noise(c) ? 0 : c->lik.nodes;
	m->X = m->Y = m->root = m->lik_params = m->lik_free_params = m->expect = m->moments =
			m->objective = gp__none;
}

/*	Targets; inputs: the data, or samples of the layer below, whose mean and var are below[0] and
	below[1]; below[2] passes them on to the layer's other units. */
GP__NOINLINE void gp__build_inputs(gp__unit *u, gp__ref below[3])
{
	odvgp_model *m = u->model;
	int first = u->number == u->layer;
	if (u->layer && first) u->eps = gp__input(u, GP__INPUT_SIZE, u->D);
	if (first)
		below[2] = gp__add(u, GP__TILE, u->layer ? GP__SAMPLE : GP__INPUT, 0, GP__INPUT_SIZE, u->D,
				below[0], below[1], u->eps, gp__none);
	u->X = below[2];
	if (!u->number) m->X = u->X;
	if (u->patches.image_output)
		u->X = gp__add(u, GP__TILE, GP__PATCHES, 0, GP__TILE_SIZE, u->Dx, u->X, gp__none, gp__none,
				gp__none);
	if (!gp__is_top(u)) return;
	m->Y = gp__input(u, gp__y_columns(&m->y), GP__TILE_SIZE);
	if (gp__has_noise(&m->cfg) && (m->y.weights || m->y.scale))
		m->root = gp__input(u, 1, GP__TILE_SIZE);
}

/*	Means or variances of the last layer's functions, whose last unit is u. */
static gp__ref gp__build_stack(gp__unit *u, int variances)
{
	odvgp_model *m = u->model;
	gp__tape *t = &m->tape;
	gp__ref stack = gp__none, in[GP__MAX_IN];
	if (!GP__DESK || u->number == u->layer) return variances ? u->var : u->mean;
	for (int i = u->layer; i < m->units;) {
		int row = i - u->layer, inputs = 0;
		if (stack.id) in[inputs++] = stack;
		for (; inputs < GP__MAX_IN && i < m->units; i++) {
			const gp__unit *of = t->node ? &m->unit[i] : u; /* drafts have one unit */
			in[inputs++] = variances ? of->var : of->mean;
		}
		stack = gp__node_add(t, u, GP__STACK, row, GP__TILE, m->units - u->layer, GP__TILE_SIZE, in,
				inputs, stack);
	}
	return stack;
}

/*	The bound's data term, on the last layer. */
GP__NOINLINE void gp__build_bound(gp__unit *u)
{
	odvgp_model *m = u->model;
	if (!GP__DESK || m->cfg.objective == ODVGP_OBJECTIVE_ELBO) {
		gp__ref var = gp__build_stack(u, 1), mean = gp__build_stack(u, 0);
		if (m->slot_mixing) {
			gp__ref W = gp__param_node(u, m->slot_mixing, 1, m->F, mean.rows);
			var = gp__tile(u, GP__MIX, GP__MIX_SQUARES, m->F, W, var);
			mean = gp__tile(u, GP__MIX, GP__MIX_PLAIN, m->F, W, mean);
		}
		/* tcc needs the length of an array of structs. */
		const gp__ref in[5] = {mean, var, m->Y, m->lik_params, m->lik_free_params};
		m->expect = gp__node_add(&m->tape, u, GP__EXPECT, 0, GP__TILE, 1, 1, in, 5, gp__none);
		gp__asked_for(u, m->expect, GP__GIVES_BOUND);
	} else {
		m->objective = m->cfg.objective == ODVGP_OBJECTIVE_EXACT ? gp__build_evidence(u)
																 : gp__build_collapsed(u);
		gp__asked_for(u, m->objective, GP__GIVES_COLLAPSED);
	}
}

/*	A unit's nodes. A hidden unit's mean and var become below[0] and below[1]. */
static void gp__build_unit(gp__unit *u, gp__ref below[3])
{
	odvgp_objective objective = u->model->cfg.objective;
	gp__build_head(u);
	gp__build_inputs(u, below);
	if (objective != ODVGP_OBJECTIVE_EXACT) gp__build_features(u);
	if (objective == ODVGP_OBJECTIVE_ELBO) gp__build_outputs(u);
	if (gp__is_top(u)) gp__build_bound(u);
	if (gp__is_last(u)) return;
	below[0] = u->mean;
	below[1] = u->var;
}

/* --- arrays of a model --- */

/*	(P, j) of blocks that natural steps move. Raises *matrices and *vectors, the units' work. */
static void gp__natural_layout(gp__unit *u, gp__arena *a, ptrdiff_t *matrices, ptrdiff_t *vectors)
{
	const gp__step_kind *kind = gp__step_kind_of(u);
	ptrdiff_t M = kind ? u->M : 0;
	GP__FOR(b, GP__BLOCKS) {
		gp__block *block = &u->block[b];
		ptrdiff_t size = block->natural;
		block->P = gp__take(a, u->P * size, size);
		block->j = gp__take(a, u->P, size);
		M = GP__MAX(M, size);
	}
	*matrices = GP__MAX(*matrices, (kind ? kind->matrices : 0) * M * M);
	*vectors = GP__MAX(*vectors, (kind ? kind->vectors : 0) * GP__MAX(M, u->M_gamma));
}

static void gp__lbfgs_layout(gp__lbfgs *w, gp__arena *a, ptrdiff_t n, ptrdiff_t memory)
{
	odvgp_real **vectors[] = {&w->x, &w->g, &w->d, &w->trial, &w->g_trial};
	memset(w, 0, sizeof *w);
	w->n = n;
	w->memory = memory;
	w->S = gp__take(a, memory, n);
	w->Y = gp__take(a, memory, n);
	GP__FOR(i, GP__COUNT(vectors)) *vectors[i] = gp__take(a, n, 1);
	w->sy = GP__TAKE(a, gp__wide, memory);
	w->alpha = GP__TAKE(a, gp__wide, memory);
}

/*	A unit's sizes, before slots and nodes exist; its kernel stays. */
static void gp__unit_config(gp__unit *u, odvgp_model *m, int number)
{
	const odvgp_config *c = &m->cfg;
	const int layer = (int)GP__MIN(number, c->layers - 1);
	memset((unsigned char *)u + sizeof u->kernel, 0, sizeof *u - sizeof u->kernel);
	u->model = m;
	u->number = number;
	u->layer = layer;
	u->D = c->layer[layer].D;
	u->patches = gp__patches_of(c, layer);
	u->inputs = layer ? c->deep.samples : 1;
	u->times = u->inputs * gp__rows_of_input(&u->patches);
	u->Dx = gp__row_columns(&u->patches, u->D);
	u->Dz = gp__inducing_columns(c, layer);
	u->P = gp__unit_outputs(c, layer);
	u->M = c->layer[layer].M;
	u->M_gamma = c->layer[layer].M_gamma;
	u->mean_part = gp__mean_part_of(c, layer);
	u->cov_part = gp__cov_part_of(c, layer);
	u->steps = c->objective == ODVGP_OBJECTIVE_ELBO
					   ? gp__steps_of(u->mean_part, u->cov_part, u->M_gamma)
					   : 0;
	u->param = gp__parametrisation_of(c, layer);
	u->gamma_coords = c->reproduce.gamma_coords;
	u->mean_function = c->layer[layer].mean_function;
	for (int b = 0; b < GP__BLOCKS; b++) {
		int steps = b == GP__ON_GAMMA ? GP__STEPS_GAMMA : GP__STEPS_BETA;
		u->block[b].number = GP__BLOCKS * layer + b;
		u->block[b].M = b == GP__ON_GAMMA ? u->M_gamma : u->M;
		u->block[b].natural = u->steps & steps ? u->block[b].M : 0;
	}
}

/*	Unit i, which a draft makes if another one is at hand. */
static gp__unit *gp__unit_at(odvgp_model *m, int i)
{
	gp__unit *u = m->unit;
	if (!m->make) return u + i;
	if (u->model == m && u->number == i) return u;
	memset(u, 0, sizeof *u);
	gp__unit_config(u, m, i);
	m->make(u, m->source);
	return u;
}

/*	Sums over tiles, in one piece: moments, to which forward runs add; then gradient, statistics and
	adjoints of head nodes, to which reverse runs add. S shards need log2 S more for their binary
	tree. */
GP__NOINLINE void gp__sums_layout(odvgp_model *m, gp__arena *a)
{
	gp__tape *t = &m->tape;
	int levels = 0;
	while (((ptrdiff_t)1 << levels) < m->cfg.shards) levels++;
	t->own_info = GP__TAKE(a, odvgp_info, 1);
	t->sums = GP__TAKE(a, gp__sums, 1);
	size_t from = a->used;
	t->sum = a->base ? (odvgp_real *)(void *)(a->base + from) : NULL;
	if (t->node)
		GP__EACH_NODE(nd, t)
			if (gp__ops[nd->op].stores == GP__STORES_MOMENTS)
				nd->v = gp__take(a, nd->rows, nd->cols);
	t->forward_sums = (ptrdiff_t)((a->used - from) / sizeof(odvgp_real));
	m->par.grad = m->par.lent.at = gp__take(a, m->par.count, 1);
	if (!t->node) gp__take_bytes(a, t->deferred, 1); /* without a table: all deferred bytes */
	else
		GP__EACH_NODE(nd, t) {
			int stores = gp__ops[nd->op].stores;
			if (nd->slots) nd->d = m->par.grad + m->par.slot[nd->slot].offset;
			if (stores == GP__STORES_STATS) {
				nd->v = gp__take(a, nd->rows, nd->cols);
				nd->aux = gp__take(a, nd->rows * nd->cols, nd->cols);
			}
			if (nd->base) nd->d = nd->base->d;
			else if (stores == GP__STORES_BOTH && nd->segment == GP__HEAD)
				nd->d = gp__take(a, nd->rows, nd->cols);
		}
	t->all_sums = (ptrdiff_t)((a->used - from) / sizeof(odvgp_real));
	t->tree = (odvgp_real *)gp__take_bytes(
			a, (size_t)levels, (size_t)(64 + t->all_sums * (ptrdiff_t)sizeof(odvgp_real)));
}

/*	Slots, parameters, the optimiser's vectors, and the table of nodes. */
GP__NOINLINE void gp__tables_layout(odvgp_model *m, gp__arena *a, int nodes)
{
	const odvgp_config *c = &m->cfg;
	gp__params *par = &m->par;
	par->slot = GP__TAKE(a, odvgp_slot, par->slots + 1);
	par->state = GP__TAKE(a, gp__slot_state, par->slots + 1);
	if (par->slot) gp__slots_build(m);
	int lbfgs = GP__DESK && c->optim.kind == ODVGP_OPTIMIZER_LBFGS;
	if (lbfgs) par->adam = 0;
	par->theta = gp__take(a, par->count, 1);
	par->value = gp__take(a, par->positive, 1);
	m->good = gp__take(a, par->count, 1);
	m->m1 = gp__take(a, par->adam, 1);
	m->m2 = gp__take(a, par->adam, 1);
	int split = GP__DESK && c->optim.natgrad && c->reproduce.update == ODVGP_UPDATE_ADAM_FIRST;
	m->begun = gp__take(a, split ? par->adam : 0, 3);
	m->jitter_begun = GP__TAKE(a, gp__jitter, split ? m->units * GP__JITTERS : 0);
	if (GP__DESK)
		gp__lbfgs_layout(&m->lbfgs, a, lbfgs ? par->count : 0, lbfgs ? c->optim.lbfgs_memory : 0);
	m->tape.node = GP__TAKE(a, gp__node, nodes + 1);
}

/*	Bytes that odvgp_init_data needs for a unit. Not inlined, to save stack. */
GP__NOINLINE size_t gp__init_bytes(const gp__unit *u)
{
	gp__arena a = gp__measuring();
	gp__init_work w;
	gp__init_scratch(&a, u, &w);
	return a.bad ? SIZE_MAX : a.used;
}

/*	The block after the model and unit structs. */
static void gp__model_layout(odvgp_model *m, gp__arena *a)
{
	const odvgp_config *c = &m->cfg;
	gp__ref below[3] = {gp__none, gp__none, gp__none};
	ptrdiff_t widest = 0, matrices = 0, vectors = 0;
	size_t init = 0;
	int carve = a->base != NULL, nodes = m->tape.nodes;
	gp__node counted;
	memset(&counted, 0, sizeof counted);
	memset(&m->tape, 0, sizeof m->tape);
	m->tape.counted = &counted;
	m->data_sds = 0;
	for (int i = 0; i < m->units && !m->make; i++) gp__unit_config(&m->unit[i], m, i);
	if (m->make) m->unit->model = NULL; /* a draft's unit is made again */
	if (carve) gp__tables_layout(m, a, nodes);
	else {
		memset(&m->par, 0, sizeof m->par);
		m->par.kind = c->positive_transform;
		gp__slots_count(m, NULL);
	}
	gp__tape_start(m, a);
	for (int i = 0; i < m->units; i++) {
		gp__unit *u = gp__unit_at(m, i);
		if (!carve) gp__slots_count(m, u);
		u->sd_at = m->data_sds;
		m->data_sds += u->D + 1 + (u->patches.height ? u->Dz : 0);
		gp__natural_layout(u, a, &matrices, &vectors);
		u->scales = gp__take(a, 1, u->M_gamma);
		u->columns = GP__TAKE(a, ptrdiff_t, u->M_gamma);
		/* bounds without q and odvgp_fit_q factor a matrix of both sets of points */
		widest = GP__MAX(widest, GP__DESK        ? GP__MAX(u->M + u->M_gamma, c->tile * u->times)
								 : gp__uses_v(u) ? GP__MAX(u->M, u->M_gamma)
												 : u->M);
		gp__build_unit(u, below);
		size_t bytes = gp__init_bytes(u);
		init = GP__MAX(init, bytes);
	}
	m->tape.arena = NULL;
	if (!carve) gp__tables_layout(m, a, m->tape.nodes);
	gp__sums_layout(m, a);
	m->nat_R.at = gp__take(a, matrices, 1);
	m->nat_t = gp__take(a, vectors, 1);
	m->data_sd = gp__take(a, 1, m->data_sds);
	m->kept.at = gp__take(a, m->par.positive + m->data_sds, 1);
	m->tape.rule = gp__take(a, 1, gp__rule_numbers(m->tape.lik_nodes));
	m->tape.jitter_absolute = c->jitter.absolute;
	m->tape.jitter_relative = c->jitter.relative;
	m->tape.jitter_limit = c->jitter.max;
	gp__blas_layout(a, gp__isa_find(c->isa), &c->threads, widest, &m->tape.blas);
	m->tape.scratch = *a;
	gp__take_bytes(a, GP__MAX(m->tape.scratch_bytes, init), 1);
	m->tape.counted = NULL;
}

/* --- the config: what is not given --- */

/*	Small tiles cost less than computing K(X, Z_gamma) twice. */
static ptrdiff_t gp__default_tile(odvgp_model *m)
{
	ptrdiff_t most = GP__MIN(m->cfg.optim.batch, GP__TILE_ROWS);
	for (int l = 0; l < m->cfg.layers; l++) {
		gp__patches p = gp__patches_of(&m->cfg, l);
		most = gp__tile_rows(most, &p, l ? m->cfg.deep.samples : 1);
	}
	for (ptrdiff_t tile = most;
			tile >= 64 && m->cfg.layer[0].M_gamma > 0 && !gp__mean_part_of(&m->cfg, 0)->v_mu;
			tile /= 2) {
		int fits = 1;
		for (int i = 0; i < m->units; i++) {
			const gp__unit *u = gp__unit_at(m, i);
			fits &= gp__kept_bytes(&u->kernel, tile, u->M_gamma, u->P) <=
					(size_t)m->cfg.kernel_cache_bytes;
		}
		if (fits) return tile;
	}
	return most;
}

/*	A model that is only measured, by calls without a block. */
typedef struct gp__draft {
	odvgp_model model;
	gp__unit unit;
} gp__draft;

static const char gp__block_too_small[] = "is too small (see odvgp_model_size and odvgp_load_size)";

/*	Whether all fields of a struct of the config, such as "optim.", are 0. */
static int gp__all_zero(const odvgp_config *c, const char *path)
{
	int zero = 1;
	GP__FOR(i, GP__COUNT(gp__fields)) {
		const gp__field *field = &gp__fields[i];
		const void *at = (const unsigned char *)c + field->offset;
		if (strncmp(field->name, path, strlen(path))) continue;
		zero &= field->type == GP__FIELD_SCHEDULE ? ((const odvgp_schedule *)at)->end == 0
												  : gp__field_value(field, c) == 0;
	}
	return zero;
}

/*	Defaults for structs that are all 0; in lik and init 0 is the default of each field. */
static void gp__fill_defaults(odvgp_config *c)
{
	ptrdiff_t M = 0, M_gamma = 0;
	for (int l = 0; l < GP__MIN(c->layers, ODVGP_MAX_LAYERS); l++) {
		if (c->layer[l].D == 0) c->layer[l].D = gp__input_columns(c, l);
		M = GP__MAX(M, c->layer[l].M);
		M_gamma = GP__MAX(M_gamma, c->layer[l].M_gamma);
	}
	if (gp__all_zero(c, "optim.")) gp__optim_defaults(c, M_gamma);
	if (gp__all_zero(c, "jitter.")) gp__jitter_defaults(c, M);
}

static void gp__settle_config(odvgp_config *c)
{
	ptrdiff_t M_gamma = 0;
	if (c->layer[c->layers - 1].P == 1) c->independent = 0;
	c->optim.batch = GP__MIN(c->optim.batch, c->N);
	if (c->deep.samples == 0) c->deep.samples = 1;
	if (c->deep.predict_samples == 0) c->deep.predict_samples = 32;
	if (GP__DESK && c->objective != ODVGP_OBJECTIVE_ELBO) c->optim.natgrad = 0;
	/* EXACT factors only K + noise */
	if (c->objective == ODVGP_OBJECTIVE_EXACT) c->jitter.absolute = c->jitter.relative = 0;
	if (c->objective >= ODVGP_OBJECTIVE_TIGHT) { /* these see all rows at once */
		c->tile = c->N;
		c->shards = 1;
	}
	GP__FOR(l, c->layers) {
		c->layer[l].kernel = NULL;
		if (c->layer[l].M_gamma == 0) { /* no block of gamma is left */
			c->layer[l].mean_part = gp__mean_part_of(c, l)->without_gamma;
			c->layer[l].cov_part = gp__cov_part_of(c, l)->without_gamma;
			/* there is no q(v) to keep */
			if (c->objective == ODVGP_OBJECTIVE_PARTLY) c->objective = ODVGP_OBJECTIVE_COLLAPSED;
		}
		if (!gp__mean_part_of(c, l)->gamma && !gp__cov_part_of(c, l)->v_sqrt)
			c->layer[l].M_gamma = 0;
		M_gamma = GP__MAX(M_gamma, c->layer[l].M_gamma);
	}
	if (c->optim.gamma_batch == 0 || c->optim.gamma_batch > M_gamma) c->optim.gamma_batch = M_gamma;
	if (c->lik.nodes == 0) c->lik.nodes = 20;
	if (c->lik.noise_floor == 0 && gp__has_noise(c))
		c->lik.noise_floor =
				GP__MAX(GP__R(1e-10), GP__R(16) * (odvgp_real)c->layer[c->layers - 1].M * GP__EPS);
}

static void gp__settle(odvgp_model *m)
{
	gp__settle_config(&m->cfg);
	m->F = gp__functions(&m->cfg);
	m->units = (int)gp__units_of(&m->cfg);
	m->y.lik = gp__lik_of(&m->cfg);
	m->T = gp__lik_targets(m->y.lik, m->F);
	m->classes = gp__classes(m->y.lik, m->F, m->cfg.lik.classes);
	m->extent = !gp__has_noise(&m->cfg) ? m->classes : m->cfg.lik.noise_per_output ? m->T : 1;
	m->y.T = m->T;
	m->y.classes = m->classes;
	m->y.missing = m->cfg.lik.missing;
	m->y.weights = m->cfg.lik.weights;
	m->y.scale = m->cfg.lik.exposure || m->cfg.lik.known_noise;
}

/* --- measuring and making a model --- */

static odvgp_model *gp__model_start(odvgp_model *m, gp__unit *unit, ptrdiff_t units)
{
	memset(m, 0, sizeof *m);
	memset(unit, 0, (size_t)units * sizeof *unit);
	m->unit = unit;
	m->units = (int)units;
	return m;
}

/*	An empty model and its units begin the block; the arena follows. */
static odvgp_status gp__model_claim(
		odvgp_model **m, gp__arena *a, ptrdiff_t units, void *block, size_t bytes, odvgp_info *info)
{
	if (!block) return gp__is_null(info, "block");
	gp__arena_init(a, block, bytes);
	odvgp_model *model = GP__TAKE(a, odvgp_model, 1);
	gp__unit *unit = GP__TAKE(a, gp__unit, units);
	if (a->bad) return gp__refuse(info, ODVGP_E_MEMORY, "block", gp__block_too_small);
	*m = gp__model_start(model, unit, units);
	return ODVGP_OK;
}

/*	The sizes, and the tile if it is 0, of a checked config. */
static void gp__model_settle(odvgp_model *m)
{
	gp__settle(m);
	if (m->cfg.tile == 0) m->cfg.tile = gp__default_tile(m);
	m->cfg.tile = GP__MIN(m->cfg.tile, m->cfg.N);
}

GP__NOINLINE odvgp_status gp__check_filled_config(const odvgp_config *config, odvgp_info *info)
{
	odvgp_config filled = *config;
	gp__fill_defaults(&filled);
	return gp__check_config(&filled, info);
}

GP__NOINLINE odvgp_status gp__check_kernels(const odvgp_config *config, odvgp_info *info)
{
	gp__kernel kernel;
	gp__wide hyp[GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
	odvgp_status s = ODVGP_OK;
	for (int l = 0; l < config->layers && !s; l++)
		s = config->layer[l].kernel
					? gp__kernel_parse(&kernel, config->layer[l].kernel,
							  gp__inducing_columns(config, l), hyp, info)
					: gp__refuse(info, ODVGP_E_ARG, "kernel", "no expression is given");
	return s;
}

/*	Checks the config before any memory is touched; two calls save stack. */
static odvgp_status gp__check_new_config(const odvgp_config *config, odvgp_info *info)
{
	odvgp_status s = gp__check_filled_config(config, info);
	return s ? s : gp__check_kernels(config, info);
}

static void gp__make_from_config(gp__unit *u, const void *config)
{
	gp__wide hyp[GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
	(void)gp__kernel_parse(
			&u->kernel, ((const odvgp_config *)config)->layer[u->layer].kernel, u->Dz, hyp, NULL);
}

/*	Copies a checked config into an empty model; settles the sizes. */
static void gp__model_config(odvgp_model *m, const odvgp_config *config)
{
	m->cfg = *config;
	gp__fill_defaults(&m->cfg);
	for (int i = 0; i < m->units && !m->make; i++) {
		gp__unit_config(&m->unit[i], m, i);
		gp__make_from_config(&m->unit[i], config);
	}
	gp__model_settle(m);
}

static odvgp_model *gp__draft_start(
		gp__draft *d, void (*make)(gp__unit *u, const void *source), const void *source)
{
	odvgp_model *m = gp__model_start(&d->model, &d->unit, 1);
	m->make = make;
	m->source = source;
	return m;
}

static odvgp_status gp__model_measure(odvgp_model *m, size_t *bytes, odvgp_info *info)
{
	gp__arena a = gp__measuring();
	(void)GP__TAKE(&a, odvgp_model, 1);
	(void)GP__TAKE(&a, gp__unit, m->units);
	gp__model_layout(m, &a);
	if (m->par.bad)
		return gp__refuse(info, ODVGP_E_SIZE, "slots", "the name of a parameter is too long");
	if (a.bad) return gp__refuse(info, ODVGP_E_SIZE, "model", "the sizes are too large for memory");
	*bytes = a.used + GP__LINE;
	return ODVGP_OK;
}

ODVGP_API size_t odvgp_model_size(const odvgp_config *config, odvgp_info *info)
{
	gp__draft draft;
	size_t bytes = 0;
	if (!config) return gp__no_size(gp__is_null(info, "config"));
	if (gp__check_new_config(config, info)) return 0;
	odvgp_model *m = gp__draft_start(&draft, gp__make_from_config, config);
	gp__model_config(m, config);
	return gp__model_measure(m, &bytes, info) ? 0 : bytes;
}

/*	The starting values in its table, and the config's noise, if given. */
static void gp__start_likelihood(odvgp_model *m)
{
	const gp__likelihood *lik = gp__lik_of(&m->cfg);
	int positive = m->slot_lik_params, others = m->slot_lik_free_params;
	GP__FOR(k, lik->params) {
		const gp__lik_param *par = &lik->param[k];
		if (!gp__lik_count(par, m->extent)) continue; /* no slot */
		const odvgp_slot *slot = &m->par.slot[par->positive ? positive++ : others++];
		GP__EACH_VALUE(i, slot)
			if (par->positive) gp__set_positive(m, i, GP__W(par->start));
			else m->par.theta[i] = (odvgp_real)par->start;
	}
	if (m->cfg.lik.noise_variance > 0) gp__set_noise(m, (gp__wide)m->cfg.lik.noise_variance);
}

/*	Carves the arena (the rest of a block of `bytes` bytes) and sets a new model's values. */
static odvgp_status gp__model_place(odvgp_model *m, gp__arena *a, size_t bytes, odvgp_info *info)
{
	size_t need = 0;
	odvgp_status s = gp__model_measure(m, &need, info);
	if (s) return s;
	if (bytes < need)
		return gp__fail(info, ODVGP_E_MEMORY, "block", -1, (gp__wide)need, gp__block_too_small);
	/* code computes on padding, where denormals would be slow */
	memset(a->base + a->used, 0, need - GP__LINE - a->used);
	gp__model_layout(m, a);
	m->magic = GP__MODEL_MAGIC;
#ifndef ODVGP_FLOAT_ONLY
	if (m->tape.lik_nodes) {
		odvgp_real *t = m->tape.rule + 1;
		m->tape.rule[0] = m->cfg.lik.link_jitter;
		gp__gauss_hermite(m->tape.lik_nodes, t, t + m->tape.lik_nodes);
	}
#endif
	m->state.step_scale = 1;
	GP__FOR(i, m->data_sds) m->data_sd[i] = 1;
	GP__EACH_UNIT(u, m)
		GP__FOR(i, u->M_gamma) {
			u->columns[i] = i;
			u->scales[i] = 1;
		}
	return ODVGP_OK;
}

/*	Function f is process f modulo P. */
static void gp__start_mixing(odvgp_model *m)
{
	ptrdiff_t P = m->cfg.layer[m->cfg.layers - 1].P;
	GP__FOR(f, m->slot_mixing ? m->F : 0) gp__theta_of(m, m->slot_mixing)[f * P + f % P] = 1;
}

/*	Hyperparameters that the expression gave. */
static void gp__start_kernel(gp__unit *u, const char *text)
{
	gp__wide hyp[GP__BASE_KERNEL_VALUES * ODVGP_MAX_BASE_KERNELS];
	(void)gp__kernel_parse(&u->kernel, text, u->Dz, hyp, NULL); /* as before the layout */
	ptrdiff_t first = u->model->par.slot[u->slot_kernel].offset;
	GP__EACH_BASE(i, &u->kernel) {
		const gp__base_kernel *base = &u->kernel.base[i];
		const gp__wide *value = hyp + GP__BASE_KERNEL_VALUES * i;
		uint32_t end = i + 1 < u->kernel.base_kernels ? base[1].ls : u->kernel.nhyp;
		for (uint32_t h = base->ls; h < end; h++)
			gp__set_positive(u->model, first + (ptrdiff_t)h,
					value[h < base->var             ? 0
							: h < base->shape_param ? 1
													: 2]);
	}
}

ODVGP_API odvgp_status odvgp_model_init(odvgp_model **model, const odvgp_config *config,
		void *block, size_t block_bytes, odvgp_info *info)
{
	gp__arena a;
	odvgp_model *m;
	if (!model || !config) return gp__is_null(info, model ? "config" : "model");
	*model = NULL;
	odvgp_status s = gp__check_new_config(config, info);
	if (s || (s = gp__model_claim(&m, &a, gp__units_of(config), block, block_bytes, info)))
		return s;
	gp__model_config(m, config);
	if ((s = gp__model_place(m, &a, block_bytes, info)) != ODVGP_OK) return s;
	GP__EACH_UNIT(u, m) gp__start_kernel(u, config->layer[u->layer].kernel);
	gp__start_likelihood(m);
	GP__EACH_UNIT(u, m)
		GP__EACH_VALUE(i, &m->par.slot[u->slot_patch_weights]) m->par.theta[i] = 1;
	gp__start_mixing(m);
	gp__q_identity(m);
	gp__touch_all(m);
	*model = m;
	return ODVGP_OK;
}

/* --- odvgp_model_copy --- */

static void gp__copy_unit(gp__unit *to, const gp__unit *from)
{
	memcpy(to->jitter, from->jitter, sizeof to->jitter);
	memcpy(to->lbfgs_jitter, from->lbfgs_jitter, sizeof to->lbfgs_jitter);
	gp__copy(to->scales, from->scales, to->M_gamma);
	GP__FOR(b, GP__BLOCKS) {
		const gp__block *block = &from->block[b];
		gp__copy(to->block[b].P, block->P, to->P * block->natural * block->M);
		gp__copy(to->block[b].j, block->j, to->P * block->natural);
	}
}

static void gp__copy_lbfgs(gp__lbfgs *to, const gp__lbfgs *from)
{
	to->pairs = from->pairs;
	to->next = from->next;
	gp__copy(to->S, from->S, to->memory * to->n);
	gp__copy(to->Y, from->Y, to->memory * to->n);
	gp__copy(to->g, from->g, to->n);
	if (to->memory) memcpy(to->sy, from->sy, (size_t)to->memory * sizeof *to->sy);
}

/*	To a model of the same config: what a file holds (gp__file_model_state), and the allocator. */
static void gp__copy_state(odvgp_model *to, const odvgp_model *from)
{
	GP__EACH_SLOT(i, to) {
		to->par.slot[i].trainable = from->par.slot[i].trainable;
		to->par.state[i] = from->par.state[i];
	}
	gp__copy(to->par.theta, from->par.theta, to->par.count);
	gp__copy(to->par.value, from->par.value, to->par.positive);
	gp__copy(to->good, from->good, to->par.count);
	gp__copy(to->m1, from->m1, to->par.adam);
	gp__copy(to->m2, from->m2, to->par.adam);
	gp__copy(to->data_sd, from->data_sd, to->data_sds);
	GP__FOR(i, to->units) gp__copy_unit(&to->unit[i], &from->unit[i]);
	gp__copy_lbfgs(&to->lbfgs, &from->lbfgs);
	to->tape.events = from->tape.events;
	to->warm_due = from->warm_due;
#ifndef ODVGP_NO_MALLOC
	to->allocator = from->allocator;
#endif
	gp__touch_all(to);
	to->state = from->state; /* of which touching invalidates parts */
}

ODVGP_API odvgp_status odvgp_model_copy(odvgp_model **copy, const odvgp_model *model, void *block,
		size_t block_bytes, odvgp_info *info)
{
	gp__arena a;
	odvgp_model *m;
	if (!copy) return gp__is_null(info, "copy");
	*copy = NULL;
	if (!gp__model_ok(model)) return gp__is_null(info, "model");
	if ((uintptr_t)model - (uintptr_t)block < block_bytes)
		return gp__refuse(info, ODVGP_E_ARG, "block", "holds the model");
	odvgp_status s = gp__model_claim(&m, &a, model->units, block, block_bytes, info);
	if (s) return s;
	m->cfg = model->cfg;
	GP__FOR(i, m->units) {
		gp__unit_config(&m->unit[i], m, (int)i);
		m->unit[i].kernel = model->unit[i].kernel;
	}
	gp__model_settle(m);
	if ((s = gp__model_place(m, &a, block_bytes, info))) return s;
	gp__copy_state(m, model);
	*copy = m;
	return ODVGP_OK;
}

#ifndef ODVGP_FLOAT_ONLY
/* ---- >>warm   the warm start: L-BFGS on a subset's collapsed bound

	L-BFGS trains an auxiliary COUPLED Gaussian model in the scratch memory, which has the model's
	kernel, values, bounds, priors and units; what it finds goes back. odvgp_warm_start lists the
	pseudo-targets of other likelihoods; one that is missing has the weight 0. */

typedef struct {
	const odvgp_model *m;
	const odvgp_real *X, *Y;   /* all rows */
	odvgp_config cfg;          /* of the auxiliary model */
	ptrdiff_t iterations;      /* of L-BFGS */
	odvgp_real *theta, *value; /* the model's before */
	odvgp_real *X_subset, *Y_subset; /* NULL: all rows */
	const odvgp_real *X_used, *Y_used;
	odvgp_real *f;             /* [F], of mixed functions */
	ptrdiff_t columns;         /* of the auxiliary model's Y */
	void *rest;                /* the auxiliary model, then odvgp_fit_q's scratch */
	size_t rest_bytes;
	void *fit; /* the auxiliary model's odvgp_fit_q, where it knows q */
	size_t fit_bytes;
} gp__warm_work;

/* --- the auxiliary model --- */

static int gp__is_pseudo(const odvgp_model *m) { return !gp__has_noise(&m->cfg) || m->slot_mixing; }
static int gp__warm_fits_q(const odvgp_model *m)
{
	return m->cfg.objective == ODVGP_OBJECTIVE_ELBO && !gp__is_pseudo(m);
}

/*	The slots of q are those of the auxiliary model. */
static int gp__warm_takes_q(const odvgp_model *m)
{
	odvgp_cov_part part = m->cfg.layer[0].cov_part;
	return m->unit->param == ODVGP_PARAMETRISATION_WHITENED &&
		   m->unit->mean_part->mu == GP__MU_MEAN &&
		   (part == ODVGP_COV_PART_DENSE || part == ODVGP_COV_PART_BLOCKS);
}

/*	Pseudo-targets give the model's q, too: not those of classes, or where y may be an outlier. */
static int gp__warm_knows_q(const odvgp_model *m)
{
	int of_y = m->y.lik->flags & GP__LIK_CLASSES || m->y.lik->least < 0 || m->y.lik->most == 1;
	return m->slot_mixing || (!of_y && gp__warm_takes_q(m));
}

/*	Whether the model can take a warm start. With the ELBO q must fit the noise that it finds. */
static odvgp_status gp__warm_check(const odvgp_model *m, odvgp_info *info)
{
	if (m->units > 1) return gp__unsupported(info, "model", gp__one_layer_only);
	if (!gp__mean_parts[ODVGP_MEAN_PART_BETA].tile || !gp__likelihoods[0].y_moments)
		return gp__unsupported(info, "model", gp__left_out);
	if (gp__is_pseudo(m)) return ODVGP_OK;
	if (m->cfg.objective == ODVGP_OBJECTIVE_EXACT)
		return gp__unsupported(info, "objective", "EXACT has no inducing points to place");
	if (m->cfg.lik.missing)
		return gp__unsupported(info, "lik.missing",
				"a warm start takes no missing targets: set it to 0 and leave out their rows");
	return gp__warm_fits_q(m) ? gp__fit_check(m->unit, info) : ODVGP_OK;
}

static odvgp_config gp__warm_config(const odvgp_model *m, ptrdiff_t rows, ptrdiff_t M)
{
	odvgp_config c = m->cfg;
	c.N = c.optim.batch = rows;
	c.objective = ODVGP_OBJECTIVE_COLLAPSED;
	c.layer[0].mean_part = ODVGP_MEAN_PART_BETA;
	c.layer[0].cov_part = ODVGP_COV_PART_DENSE;
	c.layer[0].M = M;
	c.layer[0].M_gamma = c.optim.gamma_batch = 0;
	c.optim.kind = ODVGP_OPTIMIZER_LBFGS;
	c.optim.natgrad = 0;
	c.reproduce.parametrisation = ODVGP_PARAMETRISATION_WHITENED;
	c.init.gamma = ODVGP_INIT_GAMMA_RANDOM;
	c.tile = 0;
	c.shards = 1;
	c.lik.noise_per_output = 0;
	if (!gp__is_pseudo(m)) return c;
	memset(&c.lik, 0, sizeof c.lik);
	c.lik.weights = m->cfg.lik.weights || m->cfg.lik.missing;
	c.functions = 0;
	if (!m->slot_mixing) /* one against the rest */
		c.layer[0].P = m->T > 1 || !m->classes ? m->T : m->F;
	return c;
}

static odvgp_status gp__warm_settle(
		gp__warm_work *w, const odvgp_model *m, const odvgp_warm *given, odvgp_info *info)
{
	const odvgp_warm defaults = {0, 0, 0, 0}, *set = given ? given : &defaults;
	ptrdiff_t N = m->cfg.N, M = set->M ? set->M : m->cfg.layer[0].M, rows = set->rows;
	odvgp_status s = gp__warm_check(m, info);
	memset(w, 0, sizeof *w);
	w->m = m;
	if (s) return s;
	if (!rows) rows = GP__MAX(gp__sample_rows(N, M, 20), GP__MIN(M, N));
	if (rows < 1 || rows > N || M < 1 || (set->M && M > rows) || set->iterations < 0 ||
			!(set->adam >= 0 && set->adam <= 1))
		return gp__refuse(info, ODVGP_E_ARG, "settings",
				"must have rows 1 to N, M 1 to rows, iterations not negative (0: the default), "
				"adam 0 to 1");
	w->iterations = set->iterations ? set->iterations : 60;
	w->cfg = gp__warm_config(m, rows, M);
	if (set->adam > 0) {
		w->cfg.optim.kind = ODVGP_OPTIMIZER_ADAM;
		w->cfg.optim.lr = odvgp_constant(set->adam);
	}
	return ODVGP_OK;
}

/*	Few rows of classes: their regression may explain nothing, or each row by itself. So training
	from its result must come further than from the values before. */
#define GP__TRIAL_ROWS 1024
#define GP__TRIAL_STEPS 50
static int gp__warm_is_tried(const odvgp_model *m)
{
	int classes = m->y.lik->flags & GP__LIK_CLASSES && !(m->y.lik->flags & GP__LIK_FACTORS);
	return (classes || m->y.lik->most == 1) && !m->slot_mixing && m->cfg.N <= GP__TRIAL_ROWS;
}

/*	The config of both trainings: COUPLED with the model's likelihood, all rows, long steps. */
static odvgp_config gp__trial_config(const odvgp_model *m)
{
	odvgp_config c = gp__warm_config(m, m->cfg.N, m->cfg.layer[0].M);
	c.lik = m->cfg.lik;
	c.functions = m->cfg.functions;
	c.layer[0].P = m->cfg.layer[0].P;
	c.objective = ODVGP_OBJECTIVE_ELBO;
	c.optim.kind = ODVGP_OPTIMIZER_ADAM;
	c.optim.natgrad = 1;
	c.optim.natgrad_step = odvgp_constant(GP__R(0.5));
	c.optim.lr = odvgp_constant(GP__R(0.05));
	return c;
}

/*	An empty auxiliary model of the model's kernel. */
static void gp__warm_model(odvgp_model *aux, const odvgp_model *m, const odvgp_config *c)
{
	aux->cfg = *c;
	aux->unit->kernel = m->unit->kernel;
	gp__model_settle(aux);
}

/*	The size of a trial's model. Not inlined: a draft takes 5 KiB of stack; another one follows. */
GP__NOINLINE odvgp_status gp__trial_measure(const odvgp_model *m, size_t *bytes, odvgp_info *info)
{
	gp__draft draft;
	odvgp_model *trial = gp__draft_start(&draft, NULL, NULL);
	const odvgp_config c = gp__trial_config(m);
	gp__warm_model(trial, m, &c);
	return gp__model_measure(trial, bytes, info);
}

/*	Measures the auxiliary model, and the scratch of odvgp_fit_q for its q. */
GP__NOINLINE odvgp_status gp__warm_measure(gp__warm_work *w, size_t *bytes, odvgp_info *info)
{
	gp__draft draft;
	odvgp_model *aux = gp__draft_start(&draft, NULL, NULL);
	gp__warm_model(aux, w->m, &w->cfg);
	w->columns = gp__y_columns(&aux->y);
	odvgp_status s = gp__model_measure(aux, bytes, info);
	aux->magic = gp__warm_knows_q(w->m) ? GP__MODEL_MAGIC : 0;
	w->fit_bytes = odvgp_fit_q_scratch(aux, NULL);
	return s;
}

static odvgp_status gp__warm_layout(gp__warm_work *w, gp__arena *a, odvgp_info *info)
{
	const odvgp_model *m = w->m;
	size_t aux = 0, trial = 0, fit = gp__warm_fits_q(m) ? odvgp_fit_q_scratch(m, NULL) : 1;
	odvgp_status s = gp__warm_measure(w, &aux, info);
	if (!s && gp__warm_is_tried(m)) s = gp__trial_measure(m, &trial, info);
	if (s) return s;
	w->rest_bytes = fit ? GP__MAX(GP__MAX(fit, aux), trial) : 0;
	w->theta = gp__take(a, m->par.count, 1);
	w->value = gp__take(a, m->par.positive, 1);
	if (w->cfg.N < m->cfg.N || gp__is_pseudo(m)) {
		w->X_subset = gp__take(a, w->cfg.N, m->cfg.layer[0].D);
		w->Y_subset = gp__take(a, w->cfg.N, w->columns);
	}
	w->rest = gp__take_bytes(a, w->rest_bytes, 1);
	w->f = gp__take(a, 1, m->slot_mixing ? m->F : 0);
	w->fit = gp__take_bytes(a, w->fit_bytes, 1);
	return fit ? ODVGP_OK : gp__refuse(info, ODVGP_E_SIZE, "scratch", "is too large");
}

ODVGP_API size_t odvgp_warm_start_scratch(
		const odvgp_model *m, const odvgp_warm *settings, odvgp_info *info)
{
	gp__arena a = gp__measuring();
	gp__warm_work w;
	if (!gp__model_ok(m)) return gp__no_size(gp__is_null(info, "model"));
	if (gp__warm_settle(&w, m, settings, info) || gp__warm_layout(&w, &a, info)) return 0;
	return a.bad ? gp__too_large(info, "scratch") : a.used + 64;
}

/* --- rows and pseudo-targets --- */

/*	The pseudo-target of function f for row y. */
static double gp__pseudo(const odvgp_model *m, const odvgp_real *y, ptrdiff_t f)
{
	const gp__likelihood *lik = m->y.lik;
	int classes = lik->flags & GP__LIK_CLASSES;
	double v = (double)y[classes ? 0 : f];
	if (classes && lik->flags & GP__LIK_FACTORS) return 2 * v / ((double)m->classes - 1) - 1;
	if (classes) v = v == (double)f;
	if (classes || lik->most == 1) return 12 * v - 6; /* the class is almost certain */
	if (lik->least < 0) return v;
	if (lik->most < 1) return gp__normal_quantile(v);
	v = log(lik->whole ? v + 0.5 : v);
	if (lik->flags & GP__LIK_EXPOSURE && !lik->whole) v = -v; /* a rate */
	return m->y.scale ? v - log((double)y[gp__y_columns(&m->y) - 1]) : v;
}

/*	to [P] <- the g of least squares, by coordinates: residuals f are left in w->f. */
static void gp__unmix(const gp__warm_work *w, odvgp_real *to)
{
	ptrdiff_t P = w->cfg.layer[0].P, F = w->m->F;
	gp__zero(to, P);
	GP__FROM(i, 0, 30 * P) {
		const odvgp_real *W = gp__theta_of(w->m, w->m->slot_mixing) + i % P;
		odvgp_real dot = 0, size = 0;
		GP__FOR(f, F) {
			dot += W[f * P] * w->f[f];
			size += W[f * P] * W[f * P];
		}
		odvgp_real step = size > 0 ? dot / size : 0;
		to[i % P] += step;
		GP__FOR(f, F) w->f[f] -= step * W[f * P];
	}
}

/*	The auxiliary model's row for y. */
static void gp__pseudo_row(const gp__warm_work *w, const odvgp_real *y, odvgp_real *to)
{
	const odvgp_model *m = w->m;
	ptrdiff_t P = w->cfg.layer[0].P;
	int missing = 0;
	GP__FOR(t, m->T) missing |= y[t] != y[t];
	odvgp_real *f_of_y = m->slot_mixing ? w->f : to;
	GP__FOR(f, m->slot_mixing ? m->F : P) f_of_y[f] = missing ? 0 : (odvgp_real)gp__pseudo(m, y, f);
	if (m->slot_mixing) gp__unmix(w, to);
	if (w->cfg.lik.weights) to[P] = missing ? 0 : m->y.weights ? y[m->T] : 1;
}

static odvgp_status gp__warm_subset(const gp__warm_work *w, odvgp_info *info)
{
	const odvgp_model *m = w->m;
	ptrdiff_t D = m->cfg.layer[0].D, C = gp__y_columns(&m->y);
	odvgp_status s = ODVGP_OK;
	for (ptrdiff_t i = 0; i < w->cfg.N && !s; i++) {
		ptrdiff_t row = gp__permute(m->cfg.seed, GP__STREAM_WARM, 0, m->cfg.N, i);
		const odvgp_real *y = w->Y + row * C;
		odvgp_real *to = w->Y_subset + i * w->columns;
		gp__copy(w->X_subset + i * D, w->X + row * D, D);
		if (!gp__is_pseudo(m)) gp__copy(to, y, C);
		else if ((s = gp__targets_check(&m->y, y, 1, row, info)) == ODVGP_OK)
			gp__pseudo_row(w, y, to);
	}
	return s;
}

/* --- from one model to the other --- */

/*	Slot s gets slot k's bounds, prior and `trainable`. */
static void gp__warm_settings(odvgp_model *to, int s, const odvgp_model *from, int k)
{
	gp__slot_state state = from->par.state[k];
	memcpy(state.name, to->par.state[s].name, sizeof state.name);
	to->par.state[s] = state;
	to->par.slot[s].trainable = from->par.slot[k].trainable;
}

enum { GP__WARM_VALUES, GP__WARM_ALL, GP__WARM_Q };
/*	Copies the slots that both have: values, and with ALL what is set about them; with Q only q. */
static void gp__warm_copy(odvgp_model *to, const odvgp_model *from, int what)
{
	GP__EACH_SLOT(s, to) {
		const odvgp_slot *slot = &to->par.slot[s];
		int k = gp__slot_index(&from->par, slot->name);
		const odvgp_slot *old = &from->par.slot[k];
		int of_q = !strncmp(slot->name, "q_", 2);
		if (!k || slot->count != old->count || of_q != (what == GP__WARM_Q)) continue;
		/* noise of g, not of f */
		if (to->slot_mixing + from->slot_mixing && to->par.state[s].unit < 0) continue;
		if (what == GP__WARM_ALL) gp__warm_settings(to, s, from, k);
		else if (!slot->trainable) continue;
		gp__copy(gp__theta_of(to, s), gp__theta_of(from, k), slot->count);
		if (slot->positive)
			gp__copy(gp__slot_value(&to->par, slot), gp__slot_value(&from->par, old), slot->count);
		gp__touch(to, s);
	}
}

/*	The auxiliary model's noise becomes `variance`. */
static void gp__warm_noise(odvgp_model *aux, double variance)
{
	gp__set_noise(aux, variance);
	gp__touch(aux, aux->slot_lik_params);
}

/*	The noise of pseudo-targets starts as that of data does. Those of several outputs become one,
	their geometric mean, with their bounds and prior. */
static void gp__warm_first_noise(odvgp_model *aux, const odvgp_model *m)
{
	int slot = aux->slot_lik_params;
	const odvgp_slot *noise = &m->par.slot[m->slot_lik_params];
	double sd = (double)aux->data_sd[aux->cfg.layer[0].D], sum = 0;
	if (gp__is_pseudo(m)) {
		aux->par.state[slot].floor = gp__noise_floor(aux, sd * sd);
		gp__warm_noise(aux, 0.1 * sd * sd);
	} else if (m->extent > 1) {
		GP__EACH_VALUE(i, noise) sum += log((double)m->par.value[i]);
		gp__warm_settings(aux, slot, m, m->slot_lik_params);
		gp__warm_noise(aux, exp(sum / (double)noise->count));
	}
}

/*	A scale, whose noise has variance 2 scale^2 (STUDENTT: with 4 degrees of freedom), or a shape,
	size or precision, about 1 / variance. */
static void gp__warm_width(odvgp_model *m, const odvgp_model *aux)
{
	const gp__likelihood *lik = m->y.lik;
	const odvgp_slot *own = &m->par.slot[m->slot_lik_params];
	double noise = (double)aux->par.value[aux->par.slot[aux->slot_lik_params].offset];
	if (!lik->params || lik->flags & GP__LIK_CLASSES || !own->trainable) return;
	gp__set_positive(m, own->offset, lik->param[0].power ? sqrt(noise / 2) : 1 / noise);
	gp__touch(m, m->slot_lik_params);
}

/*	q's initial value, or where it is known the auxiliary model's, in slots that both have. */
static odvgp_status gp__warm_pseudo(
		const gp__warm_work *w, odvgp_model *m, odvgp_model *aux, odvgp_info *info)
{
	odvgp_status s = ODVGP_OK;
	int known = gp__warm_knows_q(m);
	if (!m->slot_mixing) gp__warm_width(m, aux);
	if (known) s = odvgp_fit_q(aux, w->X_subset, w->Y_subset, NULL, w->fit, w->fit_bytes, info);
	if (!s) s = gp__reset_q(m, info);
	if (!s && known && gp__warm_takes_q(m)) gp__warm_copy(m, aux, GP__WARM_Q);
	return s;
}

/* --- training it; odvgp_warm_start --- */

/*	An auxiliary model with the model's values; another number of points is placed anew. */
static odvgp_status gp__warm_make(
		const gp__warm_work *w, const odvgp_config *c, odvgp_model **made, odvgp_info *info)
{
	const odvgp_model *m = w->m;
	odvgp_model *aux = NULL;
	gp__arena a;
	odvgp_status s = gp__model_claim(&aux, &a, 1, w->rest, w->rest_bytes, info);
	if (s || !aux) return s ? s : ODVGP_E_MEMORY;
	*made = aux;
	gp__warm_model(aux, m, c);
	if ((s = gp__model_place(aux, &a, w->rest_bytes, info))) return s;
	aux->tape.blas.watcher = m->tape.blas.watcher;
	gp__q_identity(aux);
	gp__touch_all(aux);
	if (c->layer[0].M != m->cfg.layer[0].M)
		s = odvgp_init_data(aux, w->X_used, w->Y_used, NULL, info);
	if (s) return s;
	gp__warm_copy(aux, m, GP__WARM_ALL);
	gp__copy(aux->data_sd, m->data_sd, m->data_sds);
	return ODVGP_OK;
}

/*	Steps of an auxiliary model on rows X and Y, until it has converged. */
static odvgp_status gp__warm_steps(odvgp_model *aux, const odvgp_real *X, const odvgp_real *Y,
		ptrdiff_t steps, odvgp_info *info)
{
	int adam = aux->cfg.optim.kind == ODVGP_OPTIMIZER_ADAM;
	odvgp_phase phase = adam ? ODVGP_PHASE_WARM_ADAM : ODVGP_PHASE_WARM_LBFGS;
	odvgp_report report;
	odvgp_status s = ODVGP_OK;
	report.converged = report.stuck = 0;
	for (ptrdiff_t i = 0; i < steps && !s && !report.converged && !report.stuck; i++) {
		s = gp__watch_at(aux, phase, i, steps, NULL, info);
		if (!s) s = odvgp_step(aux, X, Y, &report, info);
	}
	return s;
}

/*	The bound after training from the model's values and q's initial value. */
static double gp__trial_bound(const gp__warm_work *w)
{
	odvgp_model *trial;
	odvgp_real elbo;
	const odvgp_config c = gp__trial_config(w->m);
	odvgp_status s = gp__warm_make(w, &c, &trial, NULL);
	if (!s) s = gp__warm_steps(trial, w->X, w->Y, GP__TRIAL_STEPS, NULL);
	if (!s) s = odvgp_elbo(trial, w->X, w->Y, c.N, &elbo, NULL, NULL, NULL);
	return s ? -HUGE_VAL : (double)elbo;
}

/*	To compare: the bound on at most 1,024 rows of the subset (with pseudo-targets: of the data);
	without q the trial's, or 0. */
static double gp__warm_bound(const gp__warm_work *w, odvgp_model *m)
{
	odvgp_real elbo;
	ptrdiff_t n = GP__MIN(w->cfg.N, 1024);
	int all = gp__is_pseudo(m);
	if (gp__warm_is_tried(m)) return gp__trial_bound(w);
	if (!gp__warm_fits_q(m) && !gp__warm_knows_q(m)) return 0;
	odvgp_status s = odvgp_elbo(
			m, all ? w->X : w->X_used, all ? w->Y : w->Y_used, n, &elbo, NULL, NULL, NULL);
	return s ? -HUGE_VAL : (double)elbo;
}

/*	What the auxiliary model found becomes the model's, unless its bound would fall. `tried`: that
	of a trial before, which needs the auxiliary model's memory. */
static odvgp_status gp__warm_take(
		const gp__warm_work *w, odvgp_model *m, odvgp_model *aux, double tried, odvgp_info *info)
{
	odvgp_status s = ODVGP_OK;
	gp__state state = m->state;
	odvgp_events events = m->tape.events;
	gp__jitter jitter[GP__JITTERS];
	memcpy(jitter, m->unit->jitter, sizeof jitter);
	double before = gp__warm_is_tried(m) ? tried : gp__warm_bound(w, m);
	gp__copy(w->theta, m->par.theta, m->par.count);
	gp__copy(w->value, m->par.value, m->par.positive);
	gp__warm_copy(m, aux, GP__WARM_VALUES);
	if (m->extent > 1 && !gp__is_pseudo(m) && m->par.slot[m->slot_lik_params].trainable)
		gp__warm_noise(m, (double)gp__noise(aux));
	if (gp__is_pseudo(m)) s = gp__warm_pseudo(w, m, aux, info);
	else if (gp__warm_fits_q(m)) s = odvgp_fit_q(m, w->X, w->Y, NULL, w->rest, w->rest_bytes, info);
	int better = !s && gp__warm_bound(w, m) >= before;
	if (!s) s = gp__stop_status(m, info);
	if (!s && better) {
		gp__forget(m);
		return ODVGP_OK;
	}
	gp__copy(m->par.theta, w->theta, m->par.count);
	gp__copy(m->par.value, w->value, m->par.positive);
	gp__touch_all(m);
	gp__jitter_restore(&m->tape, m->unit->jitter, jitter);
	m->tape.events = events;
	m->state = state;
	return s;
}

static odvgp_status gp__warm(odvgp_model *m, const odvgp_warm *settings, const odvgp_real *X,
		const odvgp_real *Y, void *scratch, size_t bytes, odvgp_info *info)
{
	gp__arena a;
	gp__warm_work w;
	odvgp_model *aux = NULL;
	odvgp_status s = gp__warm_settle(&w, m, settings, info);
	if (s) return s;
	if (!scratch) return gp__is_null(info, "scratch");
	w.X = X;
	w.Y = Y;
	gp__arena_init(&a, scratch, bytes);
	if ((s = gp__warm_layout(&w, &a, info))) return s;
	if (a.bad) return gp__refuse(info, ODVGP_E_MEMORY, "scratch", "is too small");
	w.X_used = w.X_subset ? w.X_subset : X;
	w.Y_used = w.X_subset ? w.Y_subset : Y;
	if (w.X_subset && (s = gp__warm_subset(&w, info)) != ODVGP_OK) return s;
	double tried = gp__warm_is_tried(m) ? gp__trial_bound(&w) : 0;
	if ((s = gp__warm_make(&w, &w.cfg, &aux, info))) return s;
	if (m->slot_mixing) aux->data_sd[m->cfg.layer[0].D] = 1;
	gp__warm_first_noise(aux, m);
	s = gp__warm_steps(aux, w.X_used, w.Y_used, w.iterations, info);
	return s ? s : gp__warm_take(&w, m, aux, tried, info);
}

ODVGP_API odvgp_status odvgp_warm_start(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		const odvgp_warm *settings, const odvgp_watch *watch, void *scratch, size_t scratch_bytes,
		odvgp_info *info)
{
	gp__watcher own, *outer;
	odvgp_status s = gp__all_rows_check(m, X, Y, info);
	if (s) return s;
	outer = gp__watch_begin(m, &own, watch);
	s = gp__warm(m, settings, X, Y, scratch, scratch_bytes, info);
	m->tape.blas.watcher = outer;
	return s;
}

/* ---- >>io   model files

	A file contains
		magic, version, sizes
		config, table of units, the likelihood's parameters (names and counts)
		state; flags, bounds and priors of the slots; theta, values, last good theta, moments, units
			of the data, each unit's arrays, L-BFGS
		predictor, the caller's bytes, checksum of all that
	Little-endian on every machine; arrays in the precision of the build, single reals as doubles.
	One walk over the fields writes, measures and reads. The table of units repeats what the config
	decides, and must agree with it. */

/* --- the parts of a file --- */

/*	n reals of this build. */
static void gp__file_array(gp__file *f, odvgp_real *x, ptrdiff_t n)
{
	gp__file_reals(f, x, n, (int)sizeof(odvgp_real));
}

static void gp__file_double(gp__file *f, double *v)
{
	uint64_t bits;
	memcpy(&bits, v, sizeof bits);
	bits = gp__file_bits(f, bits, 8);
	memcpy(v, &bits, sizeof bits);
}

static void gp__file_real(gp__file *f, odvgp_real *v)
{
	double d = (double)*v;
	gp__file_double(f, &d);
	*v = (odvgp_real)d;
}

static void gp__file_size(gp__file *f, ptrdiff_t *v)
{
	uint64_t u = (uint64_t)*v;
	gp__file_u64(f, &u);
	if (u > (uint64_t)PTRDIFF_MAX) f->bad = 1;
	else *v = (ptrdiff_t)u;
}

static void gp__file_int(gp__file *f, int *v)
{
	uint32_t u = (uint32_t)*v;
	gp__file_u32(f, &u);
	if (u > (uint32_t)INT_MAX) f->bad = 1;
	else *v = (int)u;
}

/*	An enumeration or int of `bytes` bytes in memory. */
static void gp__file_choice(gp__file *f, void *at, size_t bytes)
{
	int v = gp__choice_get(at, bytes);
	gp__file_int(f, &v);
	if (f->mode == GP__FILE_READ && !gp__choice_set(at, bytes, v)) f->bad = 1;
}

static void gp__file_schedule(gp__file *f, odvgp_schedule *s)
{
	gp__file_choice(f, &s->kind, sizeof s->kind);
	gp__file_real(f, &s->start);
	gp__file_real(f, &s->end);
	gp__file_size(f, &s->steps);
	gp__file_real(f, &s->final);
	gp__file_size(f, &s->decay_from);
	gp__file_size(f, &s->decay_steps);
}

static void gp__file_field(gp__file *f, const gp__field *field, odvgp_config *c)
{
	void *at = (unsigned char *)c + field->offset;
	switch (field->type) {
	case GP__FIELD_CHOICE: gp__file_choice(f, at, field->bytes); return;
	case GP__FIELD_REAL: gp__file_real(f, (odvgp_real *)at); return;
	case GP__FIELD_SCHEDULE: gp__file_schedule(f, (odvgp_schedule *)at); return;
	case GP__FIELD_BITS: gp__file_u64(f, (uint64_t *)at); return;
	default: gp__file_size(f, (ptrdiff_t *)at);
	}
}

static void gp__file_config(gp__file *f, odvgp_config *c)
{
	for (ptrdiff_t i = 0; i < GP__COUNT(gp__fields) && !f->bad; i++)
		for (int l = 0; l < gp__field_layers(&gp__fields[i], c); l++) {
			const gp__field field = gp__field_of_layer(&gp__fields[i], l);
			gp__file_field(f, &field, c);
			if (c->layers < 1 || c->layers > ODVGP_MAX_LAYERS) f->bad = 1;
		}
}

/*	A word of a list, stored as its number from 1 on; 0 is NULL. */
static void gp__file_listed(gp__file *f, const char **word, const char *const *list, ptrdiff_t n)
{
	uint32_t number = 0;
	if (*word)
		GP__FOR(i, n)
			if (!strcmp(*word, list[i])) number = (uint32_t)(i + 1);
	gp__file_u32(f, &number);
	if (number > (uint32_t)n) f->bad = 1;
	else *word = number ? list[number - 1] : NULL;
}

/*	4 or 8 bytes that must equal `known`. */
static void gp__file_known(gp__file *f, uint64_t known, int bytes)
{
	if (gp__file_bits(f, known, bytes) != known) f->bad = 1;
}

/*	Length and characters, which must equal `text`'s. */
static void gp__file_known_text(gp__file *f, const char *text)
{
	gp__file_known(f, strlen(text), 4);
	for (; *text; text++) gp__file_known(f, (unsigned char)*text, 1);
}

/*	The base kernels in use, packed as in a predictor. Too many for this build set f->bad; the count
	stays in k. */
static void gp__file_kernel(gp__file *f, gp__kernel *k)
{
	uint32_t words[sizeof *k / sizeof(uint32_t)] = {0}; /* more than packing needs */
	if (f->bad) return;
	gp__file_u32(f, &k->base_kernels);
	f->bad |= k->base_kernels < 1 || k->base_kernels > ODVGP_MAX_BASE_KERNELS;
	if (f->bad) return;
	if (f->mode != GP__FILE_READ) gp__kernel_pack(k, words);
	gp__file_words(f, words, gp__kernel_words(k->base_kernels) * sizeof *words);
	if (f->mode == GP__FILE_READ) gp__kernel_unpack(words, k->base_kernels, k);
}

static void gp__file_unit_head(gp__file *f, gp__unit *u)
{
	const ptrdiff_t sizes[] = {u->D, u->P, u->M, u->M_gamma};
	const ptrdiff_t choices[] = {u->mean_part - gp__mean_parts, u->cov_part - gp__cov_parts,
			(ptrdiff_t)u->param, (ptrdiff_t)u->gamma_coords, (ptrdiff_t)u->mean_function};
	GP__FOR(i, GP__COUNT(sizes)) gp__file_known(f, (uint64_t)sizes[i], 8);
	GP__FOR(i, GP__COUNT(choices)) gp__file_known(f, (uint64_t)choices[i], 4);
	gp__file_kernel(f, &u->kernel);
}

static void gp__file_likelihood(gp__file *f, const odvgp_model *m)
{
	const gp__likelihood *lik = gp__lik_of(&m->cfg);
	gp__file_known(f, (uint64_t)m->F, 8);
	gp__file_known(f, (uint64_t)m->T, 8);
	gp__file_known(f, (uint64_t)lik->params, 4);
	GP__FOR(i, lik->params) {
		gp__file_known_text(f, lik->param[i].name);
		gp__file_known(f, (uint64_t)gp__lik_count(&lik->param[i], m->extent), 8);
	}
}

/*	The units, set from their config, and the likelihood. */
static void gp__file_units(gp__file *f, odvgp_model *m)
{
	gp__file_known(f, (uint64_t)m->units, 4);
	for (int i = 0; i < m->units; i++) gp__file_unit_head(f, gp__unit_at(m, i));
	gp__file_likelihood(f, m);
}

/*	Bounds and priors of positive slots. */
static void gp__file_beliefs(gp__file *f, gp__params *p)
{
	gp__slot_state measured;
	memset(&measured, 0, sizeof measured);
	for (int s = 1; s <= p->positive_slots; s++) {
		gp__slot_state *state = p->state ? &p->state[s] : &measured;
		odvgp_real *reals[] = {
				&state->low, &state->high, &state->floor, &state->prior_a, &state->prior_b};
		gp__file_int(f, &state->prior);
		GP__FOR(i, GP__COUNT(reals)) gp__file_real(f, reals[i]);
		if (f->mode != GP__FILE_READ || f->bad) continue;
		int none = p->state[s].prior == ODVGP_PRIOR_NONE || !p->state[s].of_q;
		if (!none || !gp__bounds_ok(state->low, state->high) ||
				!gp__bounds_ok(state->floor, (odvgp_real)HUGE_VAL) ||
				!gp__prior_ok(state->prior, state->prior_a, state->prior_b))
			f->bad = 1;
	}
}

/*	State and history of L-BFGS, if used. A history that no training makes is damage. */
static void gp__file_lbfgs(gp__file *f, odvgp_model *m)
{
	gp__lbfgs *w = &m->lbfgs;
	gp__state *s = &m->state;
	if (m->cfg.optim.kind != ODVGP_OPTIMIZER_LBFGS) return;
	uint64_t *counts[] = {&s->lbfgs_valid, &s->lbfgs_data, &w->pairs, &w->next};
	GP__FOR(i, GP__COUNT(counts)) gp__file_u64(f, counts[i]);
	gp__file_double(f, &s->lbfgs_expected);
	gp__file_double(f, &s->lbfgs_kl);
	int full = w->pairs == (uint64_t)w->memory, reading = f->mode == GP__FILE_READ;
	if (reading && (s->lbfgs_valid > 1 || w->pairs > (uint64_t)w->memory ||
						   (full ? w->next >= w->pairs : w->next != w->pairs)))
		f->bad = 1;
	GP__FOR(i, w->memory) {
		double sy = f->mode == GP__FILE_WRITE ? w->sy[i] : 0; /* measuring has no arrays */
		gp__file_double(f, &sy);
		if (reading) w->sy[i] = sy;
		if (reading && (uint64_t)i < w->pairs && !(sy > 0 && sy < HUGE_VAL)) f->bad = 1;
	}
	double loss = s->lbfgs_kl - s->lbfgs_expected;
	gp__file_array(f, w->S, w->memory * w->n);
	gp__file_array(f, w->Y, w->memory * w->n);
	gp__file_array(f, w->g, w->n);
	if (reading && !f->bad && s->lbfgs_valid && (!(loss - loss == 0) || !gp__finite(w->g, w->n)))
		f->bad = 1;
}

static void gp__file_unit(gp__file *f, gp__unit *u)
{
	GP__FOR(k, GP__JITTERS) {
		gp__file_real(f, &u->jitter[k].raised);
		gp__file_int(f, &u->jitter[k].clean);
	}
	gp__file_array(f, u->lbfgs_jitter, GP__JITTERS);
	gp__file_array(f, u->scales, u->M_gamma);
	GP__FOR(b, GP__BLOCKS) {
		const gp__block *block = &u->block[b];
		gp__file_array(f, block->P, u->P * block->natural * block->M);
		gp__file_array(f, block->j, u->P * block->natural);
	}
}

static void gp__file_model_state(gp__file *f, odvgp_model *m)
{
	gp__state *s = &m->state;
	odvgp_events *e = &m->tape.events;
	uint64_t *counts[] = {&s->steps, &s->adam_steps, &s->clean_steps, &s->scales_age, &s->nat_valid,
			&s->good_valid, &e->jitter_raised, &e->step_shortened, &e->variance_clamped,
			&e->step_undone, &s->nat_steps, &s->fitted};
	GP__FOR(i, GP__COUNT(counts)) gp__file_u64(f, counts[i]);
	gp__file_double(f, &s->good_elbo);
	gp__file_double(f, &s->step_scale);
	gp__file_double(f, &e->jitter);
	gp__file_listed(f, &e->matrix, gp__jitter_matrices, GP__COUNT(gp__jitter_matrices));
	gp__file_listed(f, &e->cause, gp__jitter_causes, GP__COUNT(gp__jitter_causes));
	gp__file_size(f, &e->pivot);
	gp__file_double(f, &e->pivot_value);
	ptrdiff_t points = 0;
	for (int l = 0; l < m->cfg.layers; l++)
		points = GP__MAX(points, GP__MAX(m->cfg.layer[l].M, m->cfg.layer[l].M_gamma));
	if (e->pivot >= points) f->bad = 1;
	GP__EACH_SLOT(i, m) {
		int trainable = m->par.slot ? m->par.slot[i].trainable : 1; /* measuring has no tables */
		gp__file_int(f, &trainable);
		if (f->mode == GP__FILE_READ) m->par.slot[i].trainable = trainable;
	}
	gp__file_beliefs(f, &m->par);
	struct {
		odvgp_real *x;
		ptrdiff_t n;
	} arrays[] = {{m->par.theta, m->par.count}, {m->par.value, m->par.positive},
			{m->good, m->par.count}, {m->m1, m->par.adam}, {m->m2, m->par.adam},
			{m->data_sd, m->data_sds}};
	GP__FOR(i, GP__COUNT(arrays)) gp__file_array(f, arrays[i].x, arrays[i].n);
	for (ptrdiff_t i = 0; f->mode == GP__FILE_READ && !f->bad && i < m->data_sds; i++)
		if (!(m->data_sd[i] > 0 && m->data_sd[i] < (odvgp_real)HUGE_VAL)) f->bad = 1;
	for (int i = 0; i < m->units; i++) gp__file_unit(f, gp__unit_at(m, i));
	gp__file_lbfgs(f, m);
}

/* --- saving --- */

/*	Whether training could lead to this state. Adam's moments may be anything: training checks what
	they lead to. */
static int gp__state_ok(const odvgp_model *m)
{
	const gp__state *s = &m->state;
	const uint64_t counts[] = {
			s->steps, s->adam_steps, s->clean_steps, s->scales_age, s->nat_steps};
	if (s->nat_valid >> (GP__BLOCKS * m->cfg.layers) || s->good_valid > 1 || s->fitted > 1)
		return 0;
	if (!(s->step_scale > 0 && s->step_scale <= 1)) return 0;
	GP__FOR(i, GP__COUNT(counts))
		if (counts[i] > (uint64_t)PTRDIFF_MAX / 2) return 0;
	GP__FOR(i, GP__JITTERS * m->units) {
		const gp__jitter *jitter = &m->unit[i / GP__JITTERS].jitter[i % GP__JITTERS];
		odvgp_real known = m->unit[i / GP__JITTERS].lbfgs_jitter[i % GP__JITTERS];
		if (!(jitter->raised >= 0) || !gp__finite(&jitter->raised, 1) || jitter->clean > 100)
			return 0;
		if (!(known >= 0) || !gp__finite(&known, 1)) return 0;
	}
	GP__EACH_SLOT(i, m)
		if (m->par.slot[i].trainable > 1) return 0;
	return gp__theta_ok(m);
}

/*	Bytes of config, units and state; 0 if no file can hold them. */
static size_t gp__file_state_bytes(const odvgp_model *m)
{
	odvgp_model *same = (odvgp_model *)(uintptr_t)m; /* measuring changes nothing */
	gp__file f = gp__file_make(GP__FILE_MEASURE, NULL, 0);
	gp__file_config(&f, &same->cfg);
	gp__file_units(&f, same);
	gp__file_model_state(&f, same);
	return f.bad ? 0 : f.used;
}

static gp__file_head gp__file_sizes(const odvgp_model *m, size_t user_bytes)
{
	gp__file_head h;
	memset(&h, 0, sizeof h);
	h.magic = GP__FILE_MAGIC;
	h.version = GP__FILE_VERSION;
	h.real_size = sizeof(odvgp_real);
	GP__FOR(i, m->cfg.layers) {
		gp__predictor p;
		if (gp__predictor_sizes(&m->unit[i], &p) < 0) return h;
		h.predictor_bytes += gp__predictor_bytes(&p);
	}
	h.state_bytes = gp__file_state_bytes(m);
	h.user_bytes = user_bytes;
	return h;
}

ODVGP_API size_t odvgp_save_size(const odvgp_model *m, size_t user_bytes, odvgp_info *info)
{
	if (!gp__model_ok(m)) return gp__no_size(gp__is_null(info, "model"));
	gp__file_head h = gp__file_sizes(m, user_bytes);
	if (!h.state_bytes || user_bytes > (size_t)PTRDIFF_MAX / 4)
		return gp__no_size(gp__refuse(
				info, ODVGP_E_SIZE, "file", "no file can hold this model and these bytes"));
	return GP__FILE_HEAD + (size_t)h.state_bytes + (size_t)h.predictor_bytes + user_bytes + 8;
}

/*	Each layer's predictor is built in the file, at the next address aligned for a real, fewer than
	8 bytes further, for which the checksum's place leaves room. Then each number moves to its
	place. */
static void gp__file_frozen(gp__file *f, gp__unit *u, const odvgp_scales *scales)
{
	unsigned char *at = f->at + f->used;
	at += (sizeof(odvgp_real) - (uintptr_t)at % sizeof(odvgp_real)) % sizeof(odvgp_real);
	gp__predictor *p = (gp__predictor *)(void *)at;
	gp__predictor_write(u, scales, p);
	size_t head = gp__predictor_head(p->base_kernels), reals = (size_t)gp__predictor_reals(p);
	p->checksum[0] = p->checksum[1] = 0; /* the file's checksum is enough */
	for (size_t i = 0; i < head; i += sizeof(uint32_t)) {
		uint32_t word;
		memcpy(&word, at + i, sizeof word);
		gp__file_u32(f, &word);
	}
	gp__file_array(f, (odvgp_real *)(void *)(at + head), (ptrdiff_t)reals);
}

ODVGP_API odvgp_status odvgp_save_memory(odvgp_model *m, const odvgp_scales *scales,
		const void *user, size_t user_bytes, void *file, size_t file_bytes, odvgp_info *info)
{
	if (!gp__model_ok(m) || !file || (user_bytes && !user))
		return gp__is_null(info, !gp__model_ok(m) ? "model" : !file ? "file" : "user");
	size_t need = odvgp_save_size(m, user_bytes, info);
	if (!need) return ODVGP_E_SIZE;
	if (file_bytes < need)
		return gp__fail(info, ODVGP_E_MEMORY, "file", -1, (double)need, "the block is too small");
	odvgp_scales none = {NULL, NULL, NULL, NULL};
	odvgp_status s = gp__scales_check(m, scales ? scales : &none, info);
	if (s || (s = gp__predictor_prepare(m, info)) != ODVGP_OK) return s;
	gp__file_head h = gp__file_sizes(m, user_bytes);
	gp__file f = gp__file_make(GP__FILE_WRITE, file, file_bytes);
	gp__file_head_walk(&f, &h);
	gp__file_config(&f, &m->cfg);
	gp__file_units(&f, m);
	gp__file_model_state(&f, m);
	GP__FOR(i, m->cfg.layers) gp__file_frozen(&f, &m->unit[i], scales ? scales : &none);
	if (user_bytes) memcpy((unsigned char *)file + f.used, user, user_bytes);
	f.used += user_bytes;
	gp__file_bits(&f, gp__checksum((const unsigned char *)file, f.used), 8);
	return f.bad ? ODVGP_E_MEMORY : ODVGP_OK;
}

/*	The kernel of a file whose units have been checked and begin at f. */
static void gp__make_from_file(gp__unit *u, const void *f)
{
	gp__file own = *(const gp__file *)f;
	gp__file_known(&own, (uint64_t)u->model->units, 4);
	for (int i = 0, number = u->number; i <= number; i++) {
		gp__unit_config(u, u->model, i);
		gp__file_unit_head(&own, u);
	}
}

/*	Units and likelihood of a file whose config has been checked. */
static odvgp_status gp__file_units_read(gp__file *f, odvgp_model *m, odvgp_info *info)
{
	gp__settle(m);
	gp__file_known(f, (uint64_t)m->units, 4);
	for (int i = 0; i < m->units; i++) {
		gp__unit *u = m->make ? m->unit : &m->unit[i];
		gp__unit_config(u, m, i);
		gp__file_unit_head(f, u);
		if (u->kernel.base_kernels > ODVGP_MAX_BASE_KERNELS)
			return gp__fail(info, ODVGP_E_UNSUPPORTED, "model file", -1,
					(double)u->kernel.base_kernels, gp__too_many_base_kernels);
		if (!f->bad && !gp__kernel_ok(&u->kernel, u->Dz))
			return gp__bad_file(info, "its kernel is not valid");
	}
	gp__file_likelihood(f, m);
	return f->bad ? gp__bad_file(info, "its units or its likelihood do not fit its config")
				  : ODVGP_OK;
}

/*	Reads config and units into an empty model; leaves f at the state. *units: where a draft's
	begin. *bytes: its block's size. */
static odvgp_status gp__file_model(gp__file *f, const gp__file_head *h,
		const odvgp_threads *threads, odvgp_isa isa, odvgp_model *m, gp__file *units, size_t *bytes,
		odvgp_info *info)
{
	if (h->real_size != sizeof(odvgp_real))
		return gp__fail(info, ODVGP_E_UNSUPPORTED, "model file", -1, (double)h->real_size,
				"training goes on in the precision of the file only");
	f->used = GP__FILE_HEAD;
	gp__file_config(f, &m->cfg);
	if (units) *units = *f;
	if (threads) m->cfg.threads = *threads;
	m->cfg.isa = isa;
	odvgp_status s = f->bad ? gp__bad_file(info, NULL) : gp__check_config(&m->cfg, info);
	if (s) return s;
	/* before gp__model_settle, which measures the kernel's scratch if the tile is 0 */
	if ((s = gp__file_units_read(f, m, info))) return s;
	gp__model_settle(m);
	if ((s = gp__model_measure(m, bytes, info)) != ODVGP_OK) return s;
	return h->state_bytes && gp__file_state_bytes(m) == h->state_bytes
				   ? ODVGP_OK
				   : gp__bad_file(info, "its sizes disagree");
}

GP__NOINLINE odvgp_status gp__file_model_size(gp__file *f, const gp__file_head *h,
		const odvgp_threads *threads, odvgp_isa isa, size_t *bytes, odvgp_info *info)
{
	gp__draft draft;
	gp__file units = *f;
	odvgp_model *m = gp__draft_start(&draft, gp__make_from_file, &units);
	return gp__file_model(f, h, threads, isa, m, &units, bytes, info);
}

ODVGP_API size_t odvgp_load_size(const void *file, size_t file_bytes, const odvgp_threads *threads,
		odvgp_isa isa, odvgp_info *info)
{
	gp__file f;
	gp__file_head h;
	size_t model = 0, predictor;
	if (gp__file_open(&f, file, file_bytes, &h, info)) return 0;
	int bad = gp__file_model_size(&f, &h, threads, isa, &model, info) ||
			  gp__file_predictor_size(&f, &h, &predictor, info);
	return bad ? 0 : model;
}

/*	Units of a file's config, which gp__file_model checks later. */
GP__NOINLINE ptrdiff_t gp__file_unit_count(gp__file f)
{
	odvgp_config c;
	memset(&c, 0, sizeof c);
	f.used = GP__FILE_HEAD;
	gp__file_config(&f, &c);
	return f.bad ? 1 : gp__units_of(&c);
}

ODVGP_API odvgp_status odvgp_load_memory(odvgp_model **model, const void *file, size_t file_bytes,
		const odvgp_threads *threads, odvgp_isa isa, void *block, size_t block_bytes,
		odvgp_info *info)
{
	gp__file f;
	gp__file_head h;
	gp__arena a;
	odvgp_model *m;
	size_t need;
	if (!model) return gp__is_null(info, "model");
	*model = NULL;
	odvgp_status s = gp__file_open(&f, file, file_bytes, &h, info);
	if (s) return s;
	if ((s = gp__model_claim(&m, &a, gp__file_unit_count(f), block, block_bytes, info))) return s;
	if ((s = gp__file_model(&f, &h, threads, isa, m, NULL, &need, info))) return s;
	size_t at = f.used;
	if ((s = gp__model_place(m, &a, block_bytes, info))) return s;
	f.used = at;
	gp__file_model_state(&f, m);
	if (f.bad || !gp__state_ok(m)) {
		m->magic = 0;
		return gp__bad_file(info, "its parameters or its state are not valid");
	}
	gp__state state = m->state; /* of which touching invalidates parts */
	gp__touch_all(m);
	m->state = state;
	*model = m;
	return ODVGP_OK;
}

#endif /* ODVGP_FLOAT_ONLY */

/* ---- >>easy   the allocating layer, and odvgp_fit */

/* --- create, free, predict --- */

#ifndef ODVGP_NO_MALLOC
static void *gp__malloc(void *user, size_t bytes)
{
	(void)user;
	return malloc(bytes);
}

static void gp__release(void *user, void *block)
{
	(void)user;
	free(block);
}

static odvgp_allocator gp__allocator(const odvgp_allocator *given)
{
	odvgp_allocator a;
	if (given && given->alloc && given->release) return *given;
	a.alloc = gp__malloc;
	a.release = gp__release;
	a.user = NULL;
	return a;
}

/*	NULL after a failure, which is then in info. */
static void *gp__allocate(const odvgp_allocator *a, size_t bytes, odvgp_info *info)
{
	void *block = a->alloc(a->user, bytes);
	if (!block) gp__fail(info, ODVGP_E_MEMORY, "allocator", -1, (double)bytes, NULL);
	return block;
}

ODVGP_API odvgp_status odvgp_model_create(odvgp_model **model, const odvgp_config *config,
		const odvgp_real *X, const odvgp_real *Y, const odvgp_allocator *allocator,
		odvgp_info *info)
{
	odvgp_model *m;
	odvgp_info own;
	odvgp_allocator a = gp__allocator(allocator);
	if (!info) info = &own;
	if (!model) return gp__is_null(info, "model");
	*model = NULL;
	size_t bytes = odvgp_model_size(config, info);
	if (!bytes) return info->status;
	void *block = gp__allocate(&a, bytes, info);
	if (!block) return ODVGP_E_MEMORY;
	odvgp_status s = odvgp_model_init(&m, config, block, bytes, info);
	if (!s) s = odvgp_init_data(m, X, Y, NULL, info);
	if (s) {
		a.release(a.user, block);
		return s;
	}
	m->allocator = a;
	m->allocation = block;
	if (m->cfg.init.warm && gp__has_noise(&m->cfg) && m->cfg.objective == ODVGP_OBJECTIVE_ELBO)
		m->warm_due = 2;
	*model = m;
	return ODVGP_OK;
}

ODVGP_API void odvgp_model_free(odvgp_model *m)
{
	if (!gp__model_ok(m) || !m->allocation) return;
	odvgp_allocator a = m->allocator;
	void *block = m->allocation;
	m->magic = 0;
	a.release(a.user, block);
}

ODVGP_API odvgp_status odvgp_predict_once(odvgp_model *m, const odvgp_real *X, ptrdiff_t n,
		odvgp_real *mean, odvgp_real *var, odvgp_real *var_y, odvgp_info *info)
{
	if (!gp__model_ok(m)) return gp__is_null(info, "model");
	if (n == 0) return ODVGP_OK;
	odvgp_allocator a = gp__allocator(&m->allocator);
	odvgp_server server;
	size_t bytes = odvgp_predictor_size(m, info), scratch_bytes;
	unsigned char *block = bytes ? (unsigned char *)a.alloc(a.user, bytes + 64) : NULL;
	void *scratch = NULL, *frozen = block ? block + (64 - (uintptr_t)block % 64) % 64 : NULL;
	odvgp_status s = block ? odvgp_freeze(m, NULL, frozen, bytes, info)
						   : gp__refuse(info, ODVGP_E_MEMORY, "predictor", NULL);
	if (!s) s = odvgp_server_from_block(&server, frozen, bytes, m->cfg.isa, info);
	if (!s) {
		gp__prediction_call c = gp__predict_call(&server, X, NULL, n);
		c.mean = mean;
		c.var = var;
		c.var_y = var_y;
		scratch_bytes = odvgp_predict_scratch(&server, GP__MAX(1, GP__MIN(n, 256)), info);
		scratch = a.alloc(a.user, scratch_bytes);
		s = scratch ? gp__predict_moments(&c, scratch, scratch_bytes, info)
					: gp__refuse(info, ODVGP_E_MEMORY, "scratch", NULL);
	}
	if (scratch) a.release(a.user, scratch);
	if (block) a.release(a.user, block);
	return s;
}

/* --- save and load by path --- */

#ifndef ODVGP_NO_STDIO
ODVGP_API odvgp_status odvgp_save_file(odvgp_model *m, const char *path, odvgp_info *info)
{
	if (!gp__model_ok(m) || !path) return gp__is_null(info, gp__model_ok(m) ? "path" : "model");
	odvgp_allocator a = gp__allocator(&m->allocator);
	size_t bytes = odvgp_save_size(m, 0, info);
	if (!bytes) return ODVGP_E_SIZE;
	void *file = gp__allocate(&a, bytes, info);
	if (!file) return ODVGP_E_MEMORY;
	odvgp_status s = odvgp_save_memory(m, NULL, NULL, 0, file, bytes, info);
	if (!s) s = odvgp_file_write(path, file, bytes, info);
	a.release(a.user, file);
	return s;
}

/*	A model of the allocating layer from a file in memory. info is not NULL. */
static odvgp_status gp__load_file(odvgp_model **model, const void *file, size_t bytes,
		const odvgp_allocator *a, odvgp_info *info)
{
	size_t need = odvgp_load_size(file, bytes, NULL, ODVGP_ISA_AUTO, info);
	if (!need) return info->status;
	void *block = gp__allocate(a, need, info);
	if (!block) return ODVGP_E_MEMORY;
	odvgp_status s = odvgp_load_memory(model, file, bytes, NULL, ODVGP_ISA_AUTO, block, need, info);
	if (s) {
		a->release(a->user, block);
		return s;
	}
	(*model)->allocator = *a;
	(*model)->allocation = block;
	return ODVGP_OK;
}

ODVGP_API odvgp_status odvgp_load_file(
		odvgp_model **model, const char *path, const odvgp_allocator *allocator, odvgp_info *info)
{
	odvgp_allocator a = gp__allocator(allocator);
	odvgp_info own;
	if (!model || !path) return gp__is_null(info, model ? "path" : "model");
	*model = NULL;
	if (!info) info = &own;
	size_t bytes = odvgp_file_size(path, info);
	if (!bytes) return info->status;
	void *file = gp__allocate(&a, bytes, info);
	if (!file) return ODVGP_E_MEMORY;
	odvgp_status s = odvgp_file_read(path, &bytes, file, bytes, info);
	if (!s) s = gp__load_file(model, file, bytes, &a, info);
	a.release(a.user, file);
	return s;
}
#endif

/* --- odvgp_fit --- */

/*	The warm starts of a new model; nothing for others, or where one fails. */
static odvgp_status gp__fit_start(
		odvgp_model *m, const odvgp_real *X, const odvgp_real *Y, odvgp_info *info)
{
	odvgp_status s = ODVGP_OK;
	if (!m->warm_due || m->state.steps || gp__warm_check(m, NULL)) return s;
	const odvgp_warm first = {0, 0, 100, GP__R(0.03)};
	size_t bytes = GP__MAX(
			odvgp_warm_start_scratch(m, &first, NULL), odvgp_warm_start_scratch(m, NULL, NULL));
	void *scratch = bytes ? m->allocator.alloc(m->allocator.user, bytes) : NULL;
	if (!scratch) return gp__fail(info, ODVGP_E_MEMORY, "allocator", -1, (double)bytes, NULL);
	for (; m->warm_due && !s; m->warm_due -= !s) {
		odvgp_warm_start(m, X, Y, m->warm_due > 1 ? &first : NULL, NULL, scratch, bytes, NULL);
		s = gp__stop_status(m, info);
	}
	m->allocator.release(m->allocator.user, scratch);
	return s;
}
#endif

static odvgp_status gp__fit_steps(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		ptrdiff_t steps, odvgp_info *info)
{
	odvgp_report report;
	odvgp_status s = ODVGP_OK;
	memset(&report, 0, sizeof report);
#ifndef ODVGP_NO_MALLOC
	s = gp__fit_start(m, X, Y, info);
#endif
	if (!s) s = gp__watch_at(m, ODVGP_PHASE_STEP, 0, steps, NULL, info);
	for (ptrdiff_t i = 0; i < steps && !s; i++) {
		s = odvgp_step(m, X, Y, &report, info);
		if (s) break;
		s = gp__watch_at(m, ODVGP_PHASE_STEP, i + 1, steps, &report, info);
		if (report.converged || report.stuck) break;
	}
	return s;
}

ODVGP_API odvgp_status odvgp_fit(odvgp_model *m, const odvgp_real *X, const odvgp_real *Y,
		ptrdiff_t steps, const odvgp_watch *watch, odvgp_info *info)
{
	gp__watcher own, *outer;
	odvgp_status s = gp__rows_check(m, X, Y, 1, info);
	if (s) return s;
	if (steps < 0) return gp__refuse(info, ODVGP_E_ARG, "steps", "must not be negative");
	if (!steps) return ODVGP_OK;
	outer = gp__watch_begin(m, &own, watch);
	s = gp__fit_steps(m, X, Y, steps, info);
	m->tape.blas.watcher = outer;
	return s;
}

#endif /* ODVGP_NO_TRAINING */
#endif /* ODVGP_IMPLEMENTATION */

#if defined(ODVGP_FLOAT) && !defined(ODVGP_KEEP_NAMES)
#undef odvgp_real
#undef odvgp_schedule
#undef odvgp_config
#undef odvgp_model
#undef odvgp_server
#undef odvgp_warm
#undef odvgp_report
#undef odvgp_progress
#undef odvgp_watch
#undef odvgp_slot
#undef odvgp_scales
#undef odvgp_columns
#undef odvgp_draws
#undef odvgp_gradient
#undef odvgp_moments
#undef odvgp_path
#undef odvgp_export_settings
#undef odvgp_export_costs
#undef odvgp_export_scratch
#undef odvgp_export
#undef odvgp_pool
#undef odvgp_blas
#undef odvgp_config_defaults
#undef odvgp_config_set
#undef odvgp_config_name
#undef odvgp_config_words
#undef odvgp_likelihood_about
#undef odvgp_kernel_about
#undef odvgp_config_size
#undef odvgp_config_threads
#undef odvgp_constant
#undef odvgp_falling
#undef odvgp_rising
#undef odvgp_status_text
#undef odvgp_fit
#undef odvgp_model_create
#undef odvgp_model_free
#undef odvgp_save_file
#undef odvgp_load_file
#undef odvgp_predict_once
#undef odvgp_model_size
#undef odvgp_model_init
#undef odvgp_model_copy
#undef odvgp_model_config
#undef odvgp_init_data
#undef odvgp_init_q
#undef odvgp_warm_start_scratch
#undef odvgp_warm_start
#undef odvgp_column_scales
#undef odvgp_standardise
#undef odvgp_step
#undef odvgp_step_batch
#undef odvgp_elbo
#undef odvgp_elbo_columns
#undef odvgp_natgrad_step
#undef odvgp_fit_q_scratch
#undef odvgp_fit_q
#undef odvgp_upper_bound
#undef odvgp_slot_count
#undef odvgp_slot_at
#undef odvgp_slot_find
#undef odvgp_param_count
#undef odvgp_get
#undef odvgp_set
#undef odvgp_set_trainable
#undef odvgp_set_bounds
#undef odvgp_set_prior
#undef odvgp_set_step_sizes
#undef odvgp_steps_done
#undef odvgp_model_events
#undef odvgp_kernel_text
#undef odvgp_kernel_column
#undef odvgp_predictor_size
#undef odvgp_freeze
#undef odvgp_server_from_block
#undef odvgp_server_from_memory
#undef odvgp_server_size
#undef odvgp_predict_scratch
#undef odvgp_predict
#undef odvgp_predict_cov
#undef odvgp_predict_y
#undef odvgp_predict_functions
#undef odvgp_predict_logp
#undef odvgp_predict_gradient
#undef odvgp_predict_gradient_scratch
#undef odvgp_predict_y_gradient
#undef odvgp_compact_size
#undef odvgp_compact_scratch
#undef odvgp_compact_gradient_scratch
#undef odvgp_compact
#undef odvgp_predict_moments
#undef odvgp_predict_moments_scratch
#undef odvgp_predict_sigma_points
#undef odvgp_predict_sigma_points_scratch
#undef odvgp_path_size
#undef odvgp_path_start
#undef odvgp_path_at
#undef odvgp_online
#undef odvgp_online_size
#undef odvgp_online_scratch
#undef odvgp_online_start
#undef odvgp_online_update
#undef odvgp_online_add
#undef odvgp_online_drop
#undef odvgp_online_seal
#undef odvgp_sample_scratch
#undef odvgp_sample
#undef odvgp_save_size
#undef odvgp_save_memory
#undef odvgp_load_size
#undef odvgp_load_memory
#undef odvgp_load_user
#undef odvgp_file_write
#undef odvgp_file_size
#undef odvgp_file_read
#undef odvgp_pool_size
#undef odvgp_pool_start
#undef odvgp_pool_stop
#undef odvgp_blas_size
#undef odvgp_blas_init
#undef odvgp_blas_isa
#undef odvgp_gemm
#undef odvgp_syrk
#undef odvgp_trmm
#undef odvgp_trsm
#undef odvgp_potrf
#undef odvgp_potrf_reverse
#undef odvgp_trtri
#undef odvgp_gemmt
#undef odvgp_lauum
#undef odvgp_potrf_adjoint
#endif

/* ---- >>licence */

/*
This software is available under two licences: choose whichever you prefer.

------------------------------------------------------------------------------
ALTERNATIVE A - MIT License

Copyright (c) 2026 the authors of odvgp.h

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.

------------------------------------------------------------------------------
ALTERNATIVE B - Public Domain (www.unlicense.org)

This is free and unencumbered software released into the public domain.

Anyone is free to copy, modify, publish, use, compile, sell, or distribute this
software, either in source code form or as a compiled binary, for any purpose,
commercial or non-commercial, and by any means.

In jurisdictions that recognize copyright laws, the author or authors of this
software dedicate any and all copyright interest in the software to the public
domain. We make this dedication for the benefit of the public at large and to
the detriment of our heirs and successors. We intend this dedication to be an
overt act of relinquishment in perpetuity of all present and future rights to
this software under copyright law.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN
ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION
WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/
