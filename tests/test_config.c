/*  The table of a config's fields. The header is compiled without padding, so that a field that
    is missing in the table is detected, and without instruction sets, on which it does not
    depend. */
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#define ODVGP_NO_SIMD
#pragma pack(push, 1)
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#pragma pack(pop)
#include "test.h"

TEST(each_byte_belongs_to_one_field)
{
	static const struct {
		const char *name;
		size_t at, bytes;
	} others[] = {
#define OTHER(name) {#name, offsetof(odvgp_config, name), sizeof(((odvgp_config *)0)->name)}
			OTHER(threads)};
	const gp__field *field;
	unsigned char owners[sizeof(odvgp_config)] = {0};
	size_t i, k;
	for (i = 0; (field = gp__field_at((ptrdiff_t)i)) != NULL; i++)
		for (int l = 0; l < (gp__field_in_layer(field) ? ODVGP_MAX_LAYERS : 1); l++) {
			const gp__field at = gp__field_of_layer(field, l);
			CHECK_SAY(at.offset + at.bytes <= sizeof owners, "%s", field->name);
			for (k = 0; k < field->bytes; k++) owners[at.offset + k]++;
		}
	for (i = 0; i < sizeof others / sizeof *others; i++)
		for (k = 0; k < others[i].bytes; k++) owners[others[i].at + k]++;
	for (i = 0; i < sizeof owners; i++)
		CHECK_SAY(owners[i] == 1, "byte %lu of odvgp_config has %d owners", (unsigned long)i,
				owners[i]);
}
/*  Values of a choice: of its enumeration, or off and on. */
static int choices(const char *name)
{
	static const struct {
		const char *name;
		int count;
	} all[] = {{"mean_part", ODVGP_MEAN_PART_COUNT}, {"cov_part", ODVGP_COV_PART_COUNT},
			{"objective", ODVGP_OBJECTIVE_COUNT}, {"optim.gamma_step", ODVGP_GAMMA_STEP_COUNT},
			{"reproduce.blocks_step", ODVGP_BLOCKS_STEP_COUNT},
			{"reproduce.diag_step", ODVGP_DIAG_STEP_COUNT},
			{"reproduce.parametrisation", ODVGP_PARAMETRISATION_COUNT},
			{"reproduce.gamma_coords", ODVGP_GAMMA_COORDS_COUNT},
			{"reproduce.gamma_kl", ODVGP_GAMMA_KL_COUNT}, {"lik.kind", ODVGP_LIKELIHOOD_COUNT},
			{"mean_function", ODVGP_MEAN_FUNCTION_COUNT},
			{"parametrisation", ODVGP_PARAMETRISATION_COUNT}, {"deep.q_init", ODVGP_HIDDEN_Q_COUNT},
			{"positive_transform", ODVGP_POSITIVE_TRANSFORM_COUNT},
			{"reproduce.q_init", ODVGP_Q_INIT_COUNT}, {"init.beta", ODVGP_INIT_BETA_COUNT},
			{"init.gamma", ODVGP_INIT_GAMMA_COUNT}, {"init.hyperparams", ODVGP_INIT_HYPER_COUNT},
			{"reproduce.update", ODVGP_UPDATE_COUNT}, {"optim.kind", ODVGP_OPTIMIZER_COUNT},
			{"isa", ODVGP_ISA_COUNT}};
	size_t i;
	for (i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i].name, name)) return all[i].count;
	return 2;
}
/*  The type of a field determines its number of bytes, and a choice has a word for each value. */
TEST(types_fit_their_fields)
{
	const gp__field *f;
	ptrdiff_t i;
	for (i = 0; (f = gp__field_at(i)) != NULL; i++) {
		size_t want = f->type == GP__FIELD_REAL       ? sizeof(odvgp_real)
					  : f->type == GP__FIELD_SCHEDULE ? sizeof(odvgp_schedule)
					  : f->type == GP__FIELD_BITS     ? sizeof(uint64_t)
					  : f->type == GP__FIELD_TEXT     ? sizeof(char *)
					  : f->type == GP__FIELD_CHOICE   ? f->bytes
													  : sizeof(ptrdiff_t);
		CHECK_SAY(
				f->bytes == want && f->bytes, "%s has %lu bytes", f->name, (unsigned long)f->bytes);
		CHECK_SAY((f->type == GP__FIELD_CHOICE) == (f->words != NULL), "%s: words", f->name);
		if (!f->words) continue;
		CHECK_SAY(f->bytes == 1 || f->bytes == 2 || f->bytes == sizeof(int), "%s", f->name);
		int words = 1;
		for (const char *w = f->words; *w; w++) words += *w == ' ';
		CHECK_SAY(f->most + 1 == words && words == choices(f->name), "%s has %d words for %d values", f->name, words,
				choices(f->name));
	}
}
/*  Enumerations may have one byte, two, or all bytes of an int. */
TEST(choices_of_all_sizes)
{
	static const size_t sizes[] = {1, 2, sizeof(int)};
	static const int values[] = {0, 1, 5, 255, 256, 65535, 65536, INT_MAX};
	size_t s, i;
	for (s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (i = 0; i < sizeof values / sizeof *values; i++) {
			unsigned char at[2 * sizeof(int)], around[2 * sizeof(int)];
			int fits = sizes[s] >= sizeof(int) || values[i] >> (8 * sizes[s]) == 0;
			memset(at, 0x5a, sizeof at), memset(around, 0x5a, sizeof around);
			CHECK_INT(gp__choice_set(at + 1, sizes[s], values[i]), fits);
			if (fits) CHECK_INT(gp__choice_get(at + 1, sizes[s]), values[i]);
			CHECK_BITS(at, around, 1);
			CHECK_BITS(at + 1 + sizes[s], around, sizeof at - 1 - sizes[s]);
		}
}
/* ---- odvgp_config_set ---- */

static odvgp_config base(void) { return odvgp_config_defaults(1000, 3, 2, 20, 30); }

/*  For each name: one bit for each number of a choice that its word has set, and bit 0 for other
    fields. */
static unsigned seen[100];

/*  Returns the index in the list of the field that an assignment names. */
static int place_of(const char *text)
{
	size_t n = strcspn(text, "=");
	int i;
	for (i = 0; odvgp_config_name(i); i++)
		if (strlen(odvgp_config_name(i)) == n && !strncmp(odvgp_config_name(i), text, n)) return i;
	return -1;
}
static void sets(const char *text, const odvgp_config *want, unsigned bit)
{
	odvgp_config c = base();
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	int place = place_of(text);
	CHECK_SAY(odvgp_config_set(&c, text, &info) == ODVGP_OK, "%s: %s", text, info.text);
	CHECK_SAY(!memcmp(&c, want, sizeof c), "%s sets another value", text);
	CHECK_SAY(place >= 0, "%s is not in the list", text);
	if (place >= 0) seen[place] |= 1u << bit;
}
#define SETS(text, path, value) \
	do { \
		odvgp_config want_ = base(), other_ = base(); \
		want_.path = (value); \
		CHECK_SAY(memcmp(&want_, &other_, sizeof want_) != 0, "%s is the default", text); \
		sets(text, &want_, 0); \
	} while (0)
/*  What programs read instead of copying it. */
TEST(tables_say_what_there_is)
{
	static const struct {
		odvgp_target target;
		int functions;
		const char *param[2];
	} want[ODVGP_LIKELIHOOD_COUNT] = {
			{ODVGP_TARGET_REAL, 1, {"noise_variance", NULL}},
			{ODVGP_TARGET_BINARY, 1, {NULL, NULL}},
			{ODVGP_TARGET_BINARY, 1, {NULL, NULL}},
			{ODVGP_TARGET_REAL, 1, {"scale", "df"}},
			{ODVGP_TARGET_REAL, 1, {"scale", NULL}},
			{ODVGP_TARGET_NUMBER, 1, {NULL, NULL}},
			{ODVGP_TARGET_POSITIVE, 1, {NULL, NULL}},
			{ODVGP_TARGET_NUMBER, 1, {"size", NULL}},
			{ODVGP_TARGET_POSITIVE, 1, {"shape", NULL}},
			{ODVGP_TARGET_PROPORTION, 1, {"precision", NULL}},
			{ODVGP_TARGET_CLASS, 1, {"gap", "cut"}},
			{ODVGP_TARGET_CLASS, 0, {"epsilon", NULL}},
			{ODVGP_TARGET_CLASS, 0, {NULL, NULL}},
			{ODVGP_TARGET_REAL, 2, {NULL, NULL}},
	};
	const char *words = odvgp_config_words("lik.kind");
	odvgp_config c = base();
	for (int i = 0; i < ODVGP_LIKELIHOOD_COUNT; i++) {
		const odvgp_likelihood_facts f = odvgp_likelihood_about((odvgp_likelihood)i);
		size_t length = strcspn(words, " ");
		CHECK_SAY(strlen(f.name) == length && !strncmp(f.name, words, length), "%s: its word",
				f.name);
		words += length + (words[length] == ' ');
		CHECK_SAY(f.target == want[i].target && f.functions == want[i].functions, "%s", f.name);
		for (int k = 0; k < 2; k++)
			CHECK_SAY(f.param[k] == want[i].param[k] || !strcmp(f.param[k], want[i].param[k]),
					"%s: parameter %d", f.name, k);
		CHECK_INT(f.scales_y, i == ODVGP_LIKELIHOOD_GAUSSIAN || i == ODVGP_LIKELIHOOD_STUDENTT ||
									  i == ODVGP_LIKELIHOOD_LAPLACE);
		CHECK_INT(
				f.link_jitter, i == ODVGP_LIKELIHOOD_BERNOULLI || i == ODVGP_LIKELIHOOD_ROBUSTMAX);
		CHECK_INT(f.exposure, i == ODVGP_LIKELIHOOD_POISSON || i == ODVGP_LIKELIHOOD_EXPONENTIAL ||
									  i == ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL);
	}
	CHECK(!*words && !odvgp_likelihood_about(ODVGP_LIKELIHOOD_COUNT).name);
	CHECK(!odvgp_likelihood_about((odvgp_likelihood)-1).name);
	CHECK(!strcmp(odvgp_config_words("isa"), "auto c avx2 avx512 sse2 neon"));
	CHECK(!strcmp(odvgp_config_words("layer0.cov_part"), odvgp_config_words("cov_part")));
	CHECK(!odvgp_config_words("M") && !odvgp_config_words("kernel") && !odvgp_config_words("nix"));
	CHECK(!odvgp_config_words(NULL));
	/* Each argument of each base kernel is one in an expression, too. */
	for (int i = 0; i < GP__BASE_KERNEL_TYPES; i++)
		for (int k = 0; k < 4 && odvgp_kernel_about(i).param[k]; k++) {
			const odvgp_kernel_facts f = odvgp_kernel_about(i);
			char text[60];
			snprintf(text, sizeof text, "%s(%s=2)", f.name, f.param[k]);
			c.layer[0].kernel = text;
			CHECK_SAY(odvgp_model_size(&c, NULL) > 0, "%s", text);
		}
	CHECK(!odvgp_kernel_about(-1).name && !odvgp_kernel_about(GP__BASE_KERNEL_TYPES).name);
}

/*  Sets a choice by its word and by its number, whatever its previous value. */
#define WORD(name, word, path, value) \
	do { \
		odvgp_config want_ = base(), c_; \
		char number_[60]; \
		int k_; \
		want_.path = (value); \
		sets(name "=" word, &want_, (unsigned)(value)); \
		snprintf(number_, sizeof number_, "%s=%d", name, (int)(value)); \
		sets(number_, &want_, (unsigned)(value)); \
		for (k_ = 0; k_ < 2; k_++) { \
			c_ = base(); \
			snprintf(number_, sizeof number_, "%s=%d", name, k_); \
			CHECK_STATUS(odvgp_config_set(&c_, number_, NULL), ODVGP_OK); \
			CHECK_STATUS(odvgp_config_set(&c_, name "=" word, NULL), ODVGP_OK); \
			CHECK_BITS(&c_, &want_, sizeof c_); \
		} \
	} while (0)

/*  Each name, and each word of each choice, sets its field and no other byte; no name is missing
    in the table or in this test. */
TEST(each_name_sets_its_field)
{
	int i;
	memset(seen, 0, sizeof seen);
	SETS("N=268435456", N, 268435456);
	SETS("deep.samples=3", deep.samples, 3);
	SETS("functions=4", functions, 4);
	SETS("deep.predict_samples=100", deep.predict_samples, 100);
	SETS("D=7", layer[0].D, 7);
	SETS("P=1", layer[0].P, 1);
	SETS("M=1e3", layer[0].M, 1000);
	SETS("M_gamma=0", layer[0].M_gamma, 0);
	SETS("patches.image_height=28", layer[0].patches.image_height, 28);
	SETS("patches.image_width=27", layer[0].patches.image_width, 27);
	SETS("patches.channels=3", layer[0].patches.channels, 3);
	SETS("patches.height=5", layer[0].patches.height, 5);
	SETS("patches.width=4", layer[0].patches.width, 4);
	SETS("patches.stride=2", layer[0].patches.stride, 2);
	/* New layers are like the last one. */
	odvgp_config two = base();
	two.layers = 2;
	two.layer[1] = two.layer[0];
	two.layer[1].D = 0;
	sets("layers=2", &two, 0);
	/* The config points into this text. */
	static const char kernel[] = "kernel= rbf(ard) + white";
	SETS(kernel, layer[0].kernel, kernel + 8);
	SETS("optim.batch=64", optim.batch, 64);
	SETS("tile=32", tile, 32);
	SETS("optim.gamma_batch=8", optim.gamma_batch, 8);
	SETS("kernel_cache_bytes=0", kernel_cache_bytes, 0);
	SETS("optim.gamma_step_ratio=0.25", optim.gamma_step_ratio, (odvgp_real)0.25);
	SETS("reproduce.gamma_eps=1e-6", reproduce.gamma_eps, (odvgp_real)1e-6);
	SETS("optim.lbfgs_memory=1000", optim.lbfgs_memory, 1000);
	SETS("shards=16", shards, 16);
	SETS("lik.nodes=40", lik.nodes, 40);
	SETS("lik.classes=3", lik.classes, 3);
	SETS("lik.link_jitter=1e-3", lik.link_jitter, (odvgp_real)1e-3);
	SETS("lik.noise_variance=0.1", lik.noise_variance, (odvgp_real)0.1);
	SETS("lik.noise_floor=-1", lik.noise_floor, -1);
	SETS("jitter.absolute=1.25E-3", jitter.absolute, (odvgp_real)0.00125);
	SETS("jitter.relative=0", jitter.relative, 0);
	SETS("jitter.max=.5", jitter.max, (odvgp_real)0.5);
	SETS("optim.natgrad_step=0.5", optim.natgrad_step, odvgp_constant((odvgp_real)0.5));
	SETS("optim.lr=0.02-0.001:700", optim.lr,
			odvgp_falling((odvgp_real)0.02, (odvgp_real)0.001, 700));
	SETS("optim.adam_beta1=0", optim.adam_beta1, 0);
	SETS("optim.adam_beta2=0.99", optim.adam_beta2, (odvgp_real)0.99);
	SETS("optim.adam_eps=1e-7", optim.adam_eps, (odvgp_real)1e-7);
	SETS("seed=18446744073709551615", seed, UINT64_MAX);
	WORD("mean_part", "beta", layer[0].mean_part, ODVGP_MEAN_PART_BETA);
	WORD("mean_part", "orth", layer[0].mean_part, ODVGP_MEAN_PART_ORTH);
	WORD("mean_part", "hybrid", layer[0].mean_part, ODVGP_MEAN_PART_HYBRID);
	WORD("mean_part", "free", layer[0].mean_part, ODVGP_MEAN_PART_FREE);
	WORD("mean_part", "blocks", layer[0].mean_part, ODVGP_MEAN_PART_BLOCKS);
	WORD("cov_part", "dense", layer[0].cov_part, ODVGP_COV_PART_DENSE);
	WORD("cov_part", "inverse", layer[0].cov_part, ODVGP_COV_PART_INVERSE);
	WORD("cov_part", "diagonal", layer[0].cov_part, ODVGP_COV_PART_DIAGONAL);
	WORD("cov_part", "blocks", layer[0].cov_part, ODVGP_COV_PART_BLOCKS);
	WORD("objective", "elbo", objective, ODVGP_OBJECTIVE_ELBO);
	WORD("objective", "collapsed", objective, ODVGP_OBJECTIVE_COLLAPSED);
	WORD("objective", "partly", objective, ODVGP_OBJECTIVE_PARTLY);
	WORD("objective", "tight", objective, ODVGP_OBJECTIVE_TIGHT);
	WORD("objective", "exact", objective, ODVGP_OBJECTIVE_EXACT);
	WORD("optim.gamma_step", "adam", optim.gamma_step, ODVGP_GAMMA_STEP_ADAM);
	WORD("optim.gamma_step", "diagonal", optim.gamma_step, ODVGP_GAMMA_STEP_DIAGONAL);
	WORD("optim.gamma_step", "exact", optim.gamma_step, ODVGP_GAMMA_STEP_EXACT);
	WORD("reproduce.blocks_step", "together", reproduce.blocks_step, ODVGP_BLOCKS_STEP_TOGETHER);
	WORD("reproduce.blocks_step", "alternate", reproduce.blocks_step, ODVGP_BLOCKS_STEP_ALTERNATE);
	WORD("reproduce.diag_step", "exact", reproduce.diag_step, ODVGP_DIAG_STEP_EXACT);
	WORD("reproduce.diag_step", "affine", reproduce.diag_step, ODVGP_DIAG_STEP_AFFINE);
	WORD("reproduce.diag_step", "projected", reproduce.diag_step, ODVGP_DIAG_STEP_PROJECTED);
	WORD("reproduce.diag_step", "projected_mu", reproduce.diag_step, ODVGP_DIAG_STEP_PROJECTED_MU);
	WORD("reproduce.parametrisation", "whitened", reproduce.parametrisation,
			ODVGP_PARAMETRISATION_WHITENED);
	WORD("reproduce.parametrisation", "primal", reproduce.parametrisation,
			ODVGP_PARAMETRISATION_PRIMAL);
	WORD("reproduce.parametrisation", "a_beta", reproduce.parametrisation,
			ODVGP_PARAMETRISATION_A_BETA);
	WORD("reproduce.gamma_coords", "plain", reproduce.gamma_coords, ODVGP_GAMMA_COORDS_PLAIN);
	WORD("reproduce.gamma_coords", "scaled", reproduce.gamma_coords, ODVGP_GAMMA_COORDS_SCALED);
	WORD("reproduce.gamma_coords", "differentiated", reproduce.gamma_coords,
			ODVGP_GAMMA_COORDS_DIFFERENTIATED);
	WORD("reproduce.gamma_kl", "residual", reproduce.gamma_kl, ODVGP_GAMMA_KL_RESIDUAL);
	WORD("reproduce.gamma_kl", "columns", reproduce.gamma_kl, ODVGP_GAMMA_KL_COLUMNS);
	WORD("lik.kind", "gaussian", lik.kind, ODVGP_LIKELIHOOD_GAUSSIAN);
	WORD("lik.kind", "bernoulli", lik.kind, ODVGP_LIKELIHOOD_BERNOULLI);
	WORD("lik.kind", "logit", lik.kind, ODVGP_LIKELIHOOD_LOGIT);
	WORD("lik.kind", "studentt", lik.kind, ODVGP_LIKELIHOOD_STUDENTT);
	WORD("lik.kind", "laplace", lik.kind, ODVGP_LIKELIHOOD_LAPLACE);
	WORD("lik.kind", "poisson", lik.kind, ODVGP_LIKELIHOOD_POISSON);
	WORD("lik.kind", "exponential", lik.kind, ODVGP_LIKELIHOOD_EXPONENTIAL);
	WORD("lik.kind", "negative_binomial", lik.kind, ODVGP_LIKELIHOOD_NEGATIVE_BINOMIAL);
	WORD("lik.kind", "gamma", lik.kind, ODVGP_LIKELIHOOD_GAMMA);
	WORD("lik.kind", "beta", lik.kind, ODVGP_LIKELIHOOD_BETA);
	WORD("lik.kind", "ordinal", lik.kind, ODVGP_LIKELIHOOD_ORDINAL);
	WORD("lik.kind", "robustmax", lik.kind, ODVGP_LIKELIHOOD_ROBUSTMAX);
	WORD("lik.kind", "softmax", lik.kind, ODVGP_LIKELIHOOD_SOFTMAX);
	WORD("lik.kind", "heteroscedastic", lik.kind, ODVGP_LIKELIHOOD_HETEROSCEDASTIC);
	WORD("independent", "off", independent, 0);
	WORD("independent", "on", independent, 1);
	WORD("lik.missing", "off", lik.missing, 0);
	WORD("lik.missing", "on", lik.missing, 1);
	WORD("lik.weights", "off", lik.weights, 0);
	WORD("lik.weights", "on", lik.weights, 1);
	WORD("lik.exposure", "off", lik.exposure, 0);
	WORD("lik.exposure", "on", lik.exposure, 1);
	WORD("lik.known_noise", "off", lik.known_noise, 0);
	WORD("lik.known_noise", "on", lik.known_noise, 1);
	WORD("lik.noise_per_output", "off", lik.noise_per_output, 0);
	WORD("lik.noise_per_output", "on", lik.noise_per_output, 1);
	WORD("mean_function", "zero", layer[0].mean_function, ODVGP_MEAN_FUNCTION_ZERO);
	WORD("mean_function", "constant", layer[0].mean_function, ODVGP_MEAN_FUNCTION_CONSTANT);
	WORD("mean_function", "linear", layer[0].mean_function, ODVGP_MEAN_FUNCTION_LINEAR);
	WORD("mean_function", "identity", layer[0].mean_function, ODVGP_MEAN_FUNCTION_IDENTITY);
	WORD("mean_function", "projection", layer[0].mean_function, ODVGP_MEAN_FUNCTION_PROJECTION);
	WORD("parametrisation", "whitened", layer[0].parametrisation, ODVGP_PARAMETRISATION_WHITENED);
	WORD("parametrisation", "primal", layer[0].parametrisation, ODVGP_PARAMETRISATION_PRIMAL);
	WORD("parametrisation", "a_beta", layer[0].parametrisation, ODVGP_PARAMETRISATION_A_BETA);
	WORD("deep.fixed_samples", "off", deep.fixed_samples, 0);
	WORD("deep.fixed_samples", "on", deep.fixed_samples, 1);
	WORD("deep.q_init", "narrow", deep.q_init, ODVGP_HIDDEN_Q_NARROW);
	WORD("deep.q_init", "prior", deep.q_init, ODVGP_HIDDEN_Q_PRIOR);
	WORD("patches.locations", "off", layer[0].patches.locations, 0);
	WORD("patches.locations", "on", layer[0].patches.locations, 1);
	WORD("patches.image_output", "off", layer[0].patches.image_output, 0);
	WORD("patches.image_output", "on", layer[0].patches.image_output, 1);
	WORD("positive_transform", "softplus", positive_transform, ODVGP_POSITIVE_TRANSFORM_SOFTPLUS);
	WORD("positive_transform", "exp", positive_transform, ODVGP_POSITIVE_TRANSFORM_EXP);
	WORD("reproduce.q_init", "prior", reproduce.q_init, ODVGP_Q_INIT_PRIOR);
	WORD("reproduce.q_init", "identity", reproduce.q_init, ODVGP_Q_INIT_IDENTITY);
	WORD("init.beta", "kmeans", init.beta, ODVGP_INIT_BETA_KMEANS);
	WORD("init.beta", "random", init.beta, ODVGP_INIT_BETA_RANDOM);
	WORD("init.beta", "greedy", init.beta, ODVGP_INIT_BETA_GREEDY);
	WORD("init.beta", "farthest", init.beta, ODVGP_INIT_BETA_FARTHEST);
	WORD("init.gamma", "random", init.gamma, ODVGP_INIT_GAMMA_RANDOM);
	WORD("init.gamma", "residual", init.gamma, ODVGP_INIT_GAMMA_RESIDUAL);
	WORD("init.hyperparams", "median", init.hyperparams, ODVGP_INIT_HYPER_MEDIAN);
	WORD("init.hyperparams", "ulapane", init.hyperparams, ODVGP_INIT_HYPER_ULAPANE);
	WORD("reproduce.update", "joint", reproduce.update, ODVGP_UPDATE_JOINT);
	WORD("reproduce.update", "natgrad_first", reproduce.update, ODVGP_UPDATE_NATGRAD_FIRST);
	WORD("reproduce.update", "adam_first", reproduce.update, ODVGP_UPDATE_ADAM_FIRST);
	WORD("optim.kind", "adam", optim.kind, ODVGP_OPTIMIZER_ADAM);
	WORD("optim.kind", "lbfgs", optim.kind, ODVGP_OPTIMIZER_LBFGS);
	WORD("optim.natgrad", "off", optim.natgrad, 0);
	WORD("optim.natgrad", "on", optim.natgrad, 1);
	WORD("reproduce.adam_eps_inside", "off", reproduce.adam_eps_inside, 0);
	WORD("reproduce.adam_eps_inside", "on", reproduce.adam_eps_inside, 1);
	WORD("init.warm", "off", init.warm, 0);
	WORD("init.warm", "on", init.warm, 1);
	WORD("isa", "auto", isa, ODVGP_ISA_AUTO);
	WORD("isa", "c", isa, ODVGP_ISA_C);
	WORD("isa", "avx2", isa, ODVGP_ISA_AVX2);
	WORD("isa", "avx512", isa, ODVGP_ISA_AVX512);
	WORD("isa", "sse2", isa, ODVGP_ISA_SSE2);
	WORD("isa", "neon", isa, ODVGP_ISA_NEON);
	for (i = 0; odvgp_config_name(i); i++) {
		const gp__field *field = gp__field_at(i);
		unsigned all = field->words ? (1u << choices(field->name)) - 1 : 1;
		CHECK_SAY(seen[i] == all, "%s is not tested with all its words", field->name);
	}
}

/*  Layer fields have two names, spaces and tabs are ignored, and schedules have three forms. */
TEST(ways_to_write_an_assignment)
{
	static const struct {
		const char *one, *other;
	} same[] = {{"M=9", "layer0.M=9"}, {"M=9", "  M\t= 9 "},
			{"mean_part=free", "layer0.mean_part = free\t"}, {"M=9", "M=0.9e1"}, {"M=9", "M=009.0"},
			{"optim.lr=0.1-0.01", "optim.lr=1e-1-1e-2:5000"},
			{"optim.lr=0.1-0.01:20", " optim.lr = 0.1 - 0.01 : 20 "}, {"seed=3", "seed= 0003 "},
			{"lik.noise_floor=-1", "lik.noise_floor = -1.0"},
			{"jitter.relative=0", "jitter.relative=0.00e10"},
			{"jitter.relative=0", "jitter.relative=-0"}, {"optim.natgrad=off", "optim.natgrad=0"},
			{"isa=c", "isa=1.0"}};
	size_t i;
	for (i = 0; i < sizeof same / sizeof *same; i++) {
		odvgp_config a = base(), b = base(), before = base();
		CHECK_STATUS(odvgp_config_set(&a, same[i].one, NULL), ODVGP_OK);
		CHECK_STATUS(odvgp_config_set(&b, same[i].other, NULL), ODVGP_OK);
		CHECK_SAY(!memcmp(&a, &b, sizeof a), "%s and %s differ", same[i].one, same[i].other);
		CHECK_SAY(memcmp(&a, &before, sizeof a) != 0, "%s changes nothing", same[i].one);
	}
	/* Without a prefix, the last layer; D and kernel of a new layer are like the others. */
	odvgp_config d = base();
	CHECK_STATUS(odvgp_config_set(&d, "layers=3", NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_config_set(&d, "layer1.M=7", NULL), ODVGP_OK);
	CHECK_STATUS(odvgp_config_set(&d, "M=9", NULL), ODVGP_OK);
	CHECK(d.layer[0].M == 20 && d.layer[1].M == 7 && d.layer[2].M == 9);
	CHECK(d.layer[2].kernel == d.layer[0].kernel && d.layer[2].D == 0 && d.layer[2].P == 2);
	CHECK_STATUS(odvgp_config_set(&d, "layer3.M=7", NULL), ODVGP_E_NAME);
	CHECK_STATUS(odvgp_config_set(&d, "layer1.N=7", NULL), ODVGP_E_NAME);
	odvgp_config c = base();
	const char *kernel = "layer0.kernel=";
	CHECK_STATUS(odvgp_config_set(&c, kernel, NULL), ODVGP_OK);
	CHECK(c.layer[0].kernel == kernel + strlen(kernel));
	CHECK_STATUS(odvgp_config_set(&c, "optim.lr=0.01", NULL), ODVGP_OK);
	CHECK(c.optim.lr.kind == ODVGP_SCHEDULE_CONSTANT && c.optim.lr.end == (odvgp_real)0.01);
	CHECK_STATUS(odvgp_config_set(&c, "optim.lr=0.1-0.01:2000", NULL), ODVGP_OK);
	CHECK(c.optim.lr.kind == ODVGP_SCHEDULE_LOGLINEAR && c.optim.lr.start == (odvgp_real)0.1 &&
			c.optim.lr.end == (odvgp_real)0.01);
	CHECK_INT(c.optim.lr.steps, 2000);
}
/*  Errors have a status, the name of the field and a sentence with this text in it, and change
    nothing. */
TEST(errors_leave_the_config)
{
	static const struct {
		const char *text;
		odvgp_status status;
		const char *what, *says;
	} bad[] = {{"", ODVGP_E_ARG, "assignment", "name=value"},
			{"M", ODVGP_E_ARG, "assignment", "name=value"},
			{"M 3", ODVGP_E_ARG, "assignment", "name=value"},
			{"=3", ODVGP_E_NAME, "config", "there is no field ''"},
			{"foo=3", ODVGP_E_NAME, "config", "there is no field 'foo'; odvgp_config_name"},
			{"threads=2", ODVGP_E_NAME, "config", "'threads'"},
			{"layer0=2", ODVGP_E_NAME, "config", "'layer0'"},
			{"layer0.=2", ODVGP_E_NAME, "config", "'layer0.'"},
			{"layer1.M=2", ODVGP_E_NAME, "config", "'layer1.M'"},
			{"layer0.N=2", ODVGP_E_NAME, "config", "'layer0.N'"},
			{"layer0.isa=c", ODVGP_E_NAME, "config", "'layer0.isa'"},
			{"layer0.layer0.M=2", ODVGP_E_NAME, "config", "'layer0.layer0.M'"},
			{"m=2", ODVGP_E_NAME, "config", "'m'"},
			{"M_gamm=2", ODVGP_E_NAME, "config", "'M_gamm'"},
			{"M_gammas=2", ODVGP_E_NAME, "config", "'M_gammas'"},
			{"lr=0.1", ODVGP_E_NAME, "config", "'lr'"},
			{"optim=0.1", ODVGP_E_NAME, "config", "'optim'"},
			{"a_name_that_is_much_longer_than_the_names_of_fields_are_and_so_is_cut_where_forty_"
			 "characters_are_said_of_it_so_that_the_sentence_fits_into_the_text_of_info_and_"
			 "nothing_is_written_beyond=1",
					ODVGP_E_NAME, "config",
					"'a_name_that_is_much_longer_than_the_name'; odvgp_config_name lists"},
			{"M=", ODVGP_E_ARG, "M", "whole number"}, {"M=x", ODVGP_E_ARG, "M", "whole number"},
			{"M=3x", ODVGP_E_ARG, "M", "whole number"}, {"M=3 4", ODVGP_E_ARG, "M", "whole number"},
			{"M=2.5", ODVGP_E_ARG, "M", "whole number"},
			{"M=0x10", ODVGP_E_ARG, "M", "whole number"},
			{"M=1e", ODVGP_E_ARG, "M", "whole number"}, {"M==3", ODVGP_E_ARG, "M", "whole number"},
			{"M=nan", ODVGP_E_ARG, "M", "whole number"},
			{"M=0e999", ODVGP_E_ARG, "M", "whole number"},
			{"M=0", ODVGP_E_SIZE, "M", "below its least value"},
			{"M=-3", ODVGP_E_SIZE, "M", "below its least value"},
			{"M=1e300", ODVGP_E_SIZE, "M", "too large"},
			{"N=1e999", ODVGP_E_SIZE, "N", "too large"},
			{"N=-1e999", ODVGP_E_SIZE, "N", "below its least value"},
			{"optim.lbfgs_memory=0", ODVGP_E_ARG, "optim.lbfgs_memory", "out of range"},
			{"shards=3", ODVGP_E_ARG, "shards", "out of range"},
			{"lik.noise_variance=-1", ODVGP_E_ARG, "lik.noise_variance", "out of range"},
			{"lik.noise_variance=1e999", ODVGP_E_ARG, "lik.noise_variance", "out of range"},
			{"lik.noise_variance=1e-999", ODVGP_E_ARG, "lik.noise_variance",
					"that the precision has"},
			{"lik.noise_variance=0.00e", ODVGP_E_ARG, "lik.noise_variance", "a number"},
			{"lik.noise_variance=0,1", ODVGP_E_ARG, "lik.noise_variance", "a number"},
			{"lik.noise_variance=inf", ODVGP_E_ARG, "lik.noise_variance", "a number"},
			{"lik.noise_floor=-0.5", ODVGP_E_ARG, "lik.noise_floor", "-1, for none"},
			{"lik.noise_floor=-2", ODVGP_E_ARG, "lik.noise_floor", "out of range"},
			{"optim.adam_beta1=1", ODVGP_E_ARG, "optim.adam_beta1", "out of range"},
			{"jitter.max=1.5", ODVGP_E_ARG, "jitter.max", "out of range"},
			{"optim.gamma_step_ratio=0", ODVGP_E_ARG, "optim.gamma_step_ratio", "out of range"},
			{"objective=", ODVGP_E_ARG, "objective",
					"must be one of: elbo collapsed partly tight exact"},
			{"objective=elb", ODVGP_E_ARG, "objective", "must be one of: elbo"},
			{"objective=elbow", ODVGP_E_ARG, "objective", "must be one of: elbo"},
			{"objective=ELBO", ODVGP_E_ARG, "objective", "must be one of: elbo"},
			{"objective=elbo collapsed", ODVGP_E_ARG, "objective", "must be one of: elbo"},
			{"objective=5", ODVGP_E_ARG, "objective", "must be one of: elbo"},
			{"objective=-1", ODVGP_E_ARG, "objective", "must be one of: elbo"},
			{"objective=0.5", ODVGP_E_ARG, "objective", "must be one of: elbo"},
			{"objective=0e999", ODVGP_E_ARG, "objective", "must be one of: elbo"},
			{"layer0.mean_part=coupled", ODVGP_E_ARG, "mean_part",
					"must be one of: beta orth hybrid free blocks"},
			{"optim.natgrad=2", ODVGP_E_ARG, "optim.natgrad", "must be one of: off on"},
			{"isa=6", ODVGP_E_ARG, "isa", "must be one of: auto c avx2 avx512 sse2 neon"},
			{"isa=avx", ODVGP_E_ARG, "isa", "must be one of: auto"},
			{"optim.lr=", ODVGP_E_ARG, "optim.lr", "FROM-TO:STEPS"},
			{"optim.lr=-0.1", ODVGP_E_ARG, "optim.lr", "FROM-TO:STEPS"},
			{"optim.lr=0.1-", ODVGP_E_ARG, "optim.lr", "FROM-TO:STEPS"},
			{"optim.lr=0.1:10", ODVGP_E_ARG, "optim.lr", "FROM-TO:STEPS"},
			{"optim.lr=0.1-0.01:", ODVGP_E_ARG, "optim.lr", "FROM-TO:STEPS"},
			{"optim.lr=0.1-0.01:2.5", ODVGP_E_ARG, "optim.lr", "FROM-TO:STEPS"},
			{"optim.lr=0.1-0.01:1e30", ODVGP_E_ARG, "optim.lr", "FROM-TO:STEPS"},
			{"optim.lr=0.1-0.01-0.001", ODVGP_E_ARG, "optim.lr", "FROM-TO:STEPS"},
			{"optim.lr=0.1-0.01:0", ODVGP_E_ARG, "optim.lr", "out of range"},
			{"optim.lr=0", ODVGP_E_ARG, "optim.lr", "out of range"},
			{"optim.lr=0-1", ODVGP_E_ARG, "optim.lr", "out of range"},
			{"optim.lr=1e7", ODVGP_E_ARG, "optim.lr", "out of range"},
			{"optim.lr=0e999", ODVGP_E_ARG, "optim.lr", "out of range"},
			{"optim.natgrad_step=2", ODVGP_E_ARG, "optim.natgrad_step", "out of range"},
			{"seed=", ODVGP_E_ARG, "seed", "whole number"},
			{"seed=-1", ODVGP_E_ARG, "seed", "whole number"},
			{"seed=18446744073709551616", ODVGP_E_ARG, "seed", "whole number"},
			{"seed=99999999999999999999", ODVGP_E_ARG, "seed", "whole number"},
			{"seed=1.5", ODVGP_E_ARG, "seed", "whole number"}};
	size_t i;
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		odvgp_config c = base(), before = c;
		odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
		odvgp_status s = odvgp_config_set(&c, bad[i].text, &info);
		CHECK_SAY(s == bad[i].status && info.status == s, "%s: status %d", bad[i].text, (int)s);
		CHECK_SAY(info.what && !strcmp(info.what, bad[i].what), "%s: %s", bad[i].text, info.text);
		CHECK_SAY(strstr(info.text, bad[i].says) != NULL, "%s: %s", bad[i].text, info.text);
		CHECK_SAY(!memcmp(&c, &before, sizeof c), "%s changes the config", bad[i].text);
		CHECK_STATUS(odvgp_config_set(&c, bad[i].text, NULL), bad[i].status);
	}
	odvgp_info info = {ODVGP_OK, NULL, 0, 0, ""};
	odvgp_config c = base();
	CHECK_STATUS(odvgp_config_set(NULL, "M=3", &info), ODVGP_E_ARG);
	CHECK_SAY(!strcmp(info.text, "config: is NULL"), "%s", info.text);
	CHECK_STATUS(odvgp_config_set(&c, NULL, &info), ODVGP_E_ARG);
	CHECK_SAY(!strcmp(info.text, "assignment: is NULL"), "%s", info.text);
	/* Other fields are not checked: they can be corrected one at a time. */
	c.layer[0].M = -1;
	CHECK_STATUS(odvgp_config_set(&c, "layer0.D=4", &info), ODVGP_OK);
	CHECK_INT(c.layer[0].D, 4);
}
TEST(names_and_size)
{
	int n = 0, i, k;
	while (odvgp_config_name(n)) n++;
	CHECK_INT(n, GP__COUNT(gp__fields) + GP__COUNT(gp__unsaved_fields));
	CHECK(!odvgp_config_name(-1) && !odvgp_config_name(INT_MIN) && !odvgp_config_name(n + 1) &&
			!odvgp_config_name(INT_MAX));
	for (i = 0; i < n; i++)
		for (k = 0; k < i; k++)
			CHECK_SAY(strcmp(odvgp_config_name(i), odvgp_config_name(k)) != 0, "%s stands twice",
					odvgp_config_name(i));
	CHECK(!strcmp(odvgp_config_name(0), "layers") && !strcmp(odvgp_config_name(n - 1), "isa"));
	CHECK_INT(odvgp_config_size(), sizeof(odvgp_config));
}
static void no_tasks(void *user, int n, void (*task)(void *arg, int i), void *arg)
{
	(void)user, (void)n, (void)task, (void)arg;
}
TEST(threads_are_set)
{
	odvgp_config c = odvgp_config_defaults(10, 2, 1, 3, 0), before = c;
	odvgp_threads hook = {no_tasks, &c, 3};
	odvgp_config_threads(&c, &hook);
	CHECK(c.threads.run == no_tasks && c.threads.user == &c && c.threads.count == 3);
	odvgp_config_threads(&c, NULL);
	CHECK(!memcmp(&c, &before, sizeof c));
	odvgp_config_threads(NULL, &hook);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(each_byte_belongs_to_one_field);
	RUN(types_fit_their_fields);
	RUN(choices_of_all_sizes);
	RUN(tables_say_what_there_is);
	RUN(each_name_sets_its_field);
	RUN(ways_to_write_an_assignment);
	RUN(errors_leave_the_config);
	RUN(names_and_size);
	RUN(threads_are_set);
	return test_end();
}
