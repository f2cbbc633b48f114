/*  Damaged and forged files and blocks: they are refused, or read as some other model, and never
    cause a crash. */
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"
#include "models.h"
#include "kinds.h"

/*  A predictor's block is refused if one byte is changed, or if it is cut, misaligned, or of
    another version or precision. The server keeps its contents. */
TEST(damaged_blocks_are_refused)
{
	odvgp_config c = config(6, 2, 1, 2, 2);
	fixture a;
	size_t bytes, i, wrong = 0;
	unsigned char *block;
	gp__predictor *head;
	odvgp_server server;
	test_seed = 336;
	c.layer[0].kernel = "rbf + white(0.1)";
	a = make(&c);
	bytes = odvgp_predictor_size(a.m, NULL);
	block = NEW(unsigned char, bytes + 8);
	head = (gp__predictor *)(void *)block;
	CHECK_STATUS(serve(a.m, NULL, block, bytes, &server, NULL), ODVGP_OK);
	CHECK(server.block == block && server.D == 2 && server.P == 1 && server.F == 1 &&
			server.T == 1);
	CHECK_STATUS(odvgp_server_from_block(&server, block, bytes + 8, test_isa(), NULL), ODVGP_OK);
	memset(&server, PATTERN, sizeof server);
	for (i = 0; i < bytes; i++) {
		unsigned char keep = block[i];
		odvgp_info info = no_info();
		block[i] = (unsigned char)(keep ^ (1u << test_below(8)));
		wrong += odvgp_server_from_block(&server, block, bytes, test_isa(), &info) == ODVGP_OK ||
				 !info.text[0];
		block[i] = keep;
	}
	CHECK_SAY(wrong == 0, "%d of %d damaged blocks are taken", (int)wrong, (int)bytes);
	for (wrong = 0, i = 0; i < bytes; i++) {
		unsigned char *cut = NEW(unsigned char, i);
		memcpy(cut, block, i);
		wrong += odvgp_server_from_block(&server, cut, i, test_isa(), NULL) == ODVGP_OK;
		free(cut);
	}
	CHECK_SAY(wrong == 0, "%d of %d blocks that are cut off are taken", (int)wrong, (int)bytes);
	memmove(block + 2, block, bytes);
	/* This address is not aligned for a real. */
	REFUSED(odvgp_server_from_block(&server, block + 2, bytes, test_isa(), &info), ODVGP_E_ARG);
	memmove(block, block + 2, bytes);
	REFUSED(odvgp_server_from_block(&server, NULL, bytes, test_isa(), &info), ODVGP_E_ARG);
	REFUSED(odvgp_server_from_block(NULL, block, bytes, test_isa(), &info), ODVGP_E_ARG);
	REFUSED(odvgp_server_from_block(&server, block, bytes, (odvgp_isa)99, &info),
			ODVGP_E_UNSUPPORTED);
	/* The checksum is correct, so that only the content is wrong. */
	for (i = 0; i < 3; i++) {
		uint32_t *field = i == 0 ? &head->version : i == 1 ? &head->real_size : &head->base_kernels;
		uint32_t keep = *field;
		*field = i == 0 ? keep + 1 : i == 1 ? 12 - keep : ODVGP_MAX_BASE_KERNELS + 1;
		if (i < 2) gp__predictor_sum(head, head->checksum);
		REFUSED(odvgp_server_from_block(&server, block, bytes, test_isa(), &info),
				ODVGP_E_UNSUPPORTED);
		*field = keep;
	}
	/* No model has these numbers. */
	for (i = 0; i < 2; i++) {
		odvgp_real *x = i ? gp__view_of(head, 0).x_scale : gp__view_of(head, 0).L, keep = *x;
		*x = i ? 0 : (odvgp_real)NAN;
		gp__predictor_sum(head, head->checksum);
		REFUSED(odvgp_server_from_block(&server, block, bytes, test_isa(), &info), ODVGP_E_FORMAT);
		*x = keep;
	}
	gp__predictor_sum(head, head->checksum);
	CHECK(untouched(&server, sizeof server));
	CHECK_STATUS(odvgp_server_from_block(&server, block, bytes, test_isa(), NULL), ODVGP_OK);
	free(block);
	drop(&a);
}

/*  Returns 1 if all readers refuse the file and write nothing. */
static int refused(const unsigned char *file, size_t bytes, void *block, size_t block_bytes)
{
	size_t user_bytes;
	const void *user;
	odvgp_model *m;
	odvgp_server server;
	odvgp_info info = no_info();
	memset(&server, PATTERN, sizeof server);
	memset(&user_bytes, PATTERN, sizeof user_bytes), memset(&user, PATTERN, sizeof user);
	if (odvgp_load_size(file, bytes, NULL, test_isa(), &info) || !info.text[0] ||
			odvgp_server_size(file, bytes, NULL))
		return 0;
	if (odvgp_load_user(file, bytes, &user, &user_bytes, NULL) == ODVGP_OK ||
			!untouched(&user_bytes, sizeof user_bytes) || !untouched(&user, sizeof user))
		return 0;
	if (odvgp_load_memory(&m, file, bytes, NULL, test_isa(), block, block_bytes, &info) ==
					ODVGP_OK ||
			m)
		return 0;
	if (odvgp_server_from_memory(&server, file, bytes, test_isa(), block, block_bytes, &info) ==
					ODVGP_OK ||
			!untouched(&server, sizeof server))
		return 0;
	return 1;
}

TEST(damaged_files_are_refused)
{
	odvgp_config c = config(6, 1, 1, 2, 2);
	fixture a;
	size_t bytes, i, wrong = 0, block_bytes;
	unsigned char *file, *block;
	test_seed = 331;
	c.layer[0].kernel = "rbf";
	a = make(&c);
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 3, NULL, NULL), ODVGP_OK);
	file = save_file(a.m, NULL, "user", &bytes);
	block_bytes = a.bytes + odvgp_predictor_size(a.m, NULL);
	block = NEW(unsigned char, block_bytes);
	memset(block, PATTERN, block_bytes);
	/* The unchanged file is accepted. */
	CHECK(!refused(file, bytes, block, block_bytes));
	memset(block, PATTERN, block_bytes);
	/* Change one bit, then all bits, of every byte. */
	for (i = 0; i < bytes; i++) {
		unsigned char keep = file[i];
		file[i] = (unsigned char)(keep ^ (1u << test_below(8)));
		wrong += !refused(file, bytes, block, block_bytes);
		file[i] = (unsigned char)~keep;
		wrong += !refused(file, bytes, block, block_bytes);
		file[i] = keep;
	}
	CHECK_SAY(wrong == 0, "%d of %d damaged files are read", (int)wrong, (int)(2 * bytes));
	/* Cut the file at every length. Blocks have the exact size, so that a sanitizer sees reads
       beyond the end. */
	for (wrong = 0, i = 0; i < bytes; i++) {
		unsigned char *cut = NEW(unsigned char, i);
		memcpy(cut, file, i);
		wrong += !refused(cut, i, block, block_bytes);
		free(cut);
	}
	CHECK_SAY(wrong == 0, "%d of %d truncated files are read", (int)wrong, (int)bytes);
	{
		/* Files that are too long, have their halves swapped, hold text, or are empty. */
		unsigned char *other = NEW(unsigned char, bytes + 8);
		memset(other, 0, bytes + 8);
		memcpy(other, file, bytes);
		CHECK(refused(other, bytes + 1, block, block_bytes) &&
				refused(other, bytes + 8, block, block_bytes));
		memcpy(other, file + bytes / 2, bytes - bytes / 2);
		memcpy(other + bytes - bytes / 2, file, bytes / 2);
		CHECK(refused(other, bytes, block, block_bytes));
		memset(other, 'x', bytes);
		CHECK(refused(other, bytes, block, block_bytes));
		CHECK(refused(other, 0, block, block_bytes));
		REFUSED(sized(&bytes, odvgp_load_size(NULL, bytes, NULL, test_isa(), &info), &info),
				ODVGP_E_ARG);
		free(other);
	}
	/* No reader has written into the block. */
	CHECK(untouched(block, block_bytes));
	REFUSED(odvgp_save_memory(NULL, NULL, NULL, 0, file, bytes, &info), ODVGP_E_ARG);
	REFUSED(odvgp_save_memory(a.m, NULL, NULL, 0, NULL, bytes, &info), ODVGP_E_ARG);
	REFUSED(odvgp_save_memory(a.m, NULL, NULL, 4, file, bytes, &info), ODVGP_E_ARG);
	CHECK(odvgp_save_size(a.m, (size_t)-1, NULL) == 0);
	{
		odvgp_model *m = NULL;
		odvgp_server server;
		REFUSED(odvgp_load_memory(NULL, file, bytes, NULL, test_isa(), block, block_bytes, &info),
				ODVGP_E_ARG);
		CHECK(odvgp_load_memory(&m, file, bytes, NULL, test_isa(), NULL, block_bytes, NULL) !=
						ODVGP_OK &&
				!m);
		CHECK(odvgp_server_from_memory(NULL, file, bytes, test_isa(), block, block_bytes, NULL) !=
				ODVGP_OK);
		CHECK(odvgp_server_from_memory(&server, file, bytes, test_isa(), NULL, block_bytes, NULL) !=
				ODVGP_OK);
	}
	{
		/* Another version has its own status. */
		unsigned char *other = NEW(unsigned char, bytes);
		uint64_t sum;
		odvgp_model *m;
		/* Newer and older versions: */
		for (wrong = 0; wrong < 14; wrong++) {
			odvgp_info said = no_info();
			if (wrong == GP__FILE_VERSION || wrong == 10) continue;
			memcpy(other, file, bytes);
			other[8] = (unsigned char)wrong;
			sum = gp__checksum(other, bytes - 8);
			for (i = 0; i < 8; i++) other[bytes - 8 + i] = (unsigned char)(sum >> (8 * i));
			CHECK(refused(other, bytes, block, block_bytes));
			REFUSED(odvgp_load_memory(
							&m, other, bytes, NULL, test_isa(), block, block_bytes, &info),
					ODVGP_E_UNSUPPORTED);
			(void)odvgp_load_memory(&m, other, bytes, NULL, test_isa(), block, block_bytes, &said);
			CHECK_SAY(strstr(said.text, wrong < GP__FILE_VERSION
												? "of an older format: train the model again"
												: "of a newer format") != NULL,
					"version %d: %s", (int)wrong, said.text);
		}
		CHECK(untouched(block, block_bytes));
		free(other);
	}
	free(file), free(block);
	drop(&a);
}

/*  Writes the correct checksum of the file's current contents. */
static void mend(unsigned char *file, size_t bytes)
{
	uint64_t sum = gp__checksum(file, bytes - 8);
	int i;
	for (i = 0; i < 8; i++) file[bytes - 8 + (size_t)i] = (unsigned char)(sum >> (8 * i));
}

/*  Serves a block or file that may be forged; what succeeds has no NaN. */
static served_all use_server(const odvgp_server *s, const char *what)
{
	served_all all = serve_all(s);
	CHECK_SAY(!all.nan, "%s: %s succeeds with NaN", what, all.nan);
	return all;
}

/*  Evaluates and steps, unless sizes make that expensive. */
static void use_loaded(odvgp_model *m)
{
	const odvgp_config *c = odvgp_model_config(m);
	odvgp_real e, *X, *Y;
	odvgp_report report;
	if (c->layer[0].D > 16 || m->F > 8 || c->N > 8 || c->lik.nodes > 32 || c->deep.samples > 100)
		return;
	X = NEW(odvgp_real, c->N * c->layer[0].D);
	Y = NEW(odvgp_real, c->N * gp__y_columns(&m->y));
	kind_data(X, Y, c->N, c->layer[0].D, m->y);
	(void)odvgp_elbo(m, X, Y, c->N, &e, NULL, NULL, NULL);
	(void)odvgp_step(m, X, Y, &report, NULL);
	free(X), free(Y);
}

/*  Loads, evaluates, steps and makes every kind of prediction, with any status as result. Returns 1
    if the model was loaded. */
static int use_forged(const unsigned char *file, size_t bytes)
{
	size_t model_bytes = odvgp_load_size(file, bytes, NULL, test_isa(), NULL),
		   pred_bytes = odvgp_server_size(file, bytes, NULL);
	void *block, *pred;
	odvgp_model *m;
	odvgp_server server;
	int loaded;
	if (!model_bytes) return 0;
	CHECK(pred_bytes > 0);
	if (model_bytes >= 10000000 || pred_bytes >= 10000000) return 0;
	block = test_alloc(model_bytes), pred = test_alloc(pred_bytes);
	loaded = odvgp_load_memory(&m, file, bytes, NULL, test_isa(), block, model_bytes, NULL) ==
			 ODVGP_OK;
	if (loaded) use_loaded(m);
	if (odvgp_server_from_memory(&server, file, bytes, test_isa(), pred, pred_bytes, NULL) ==
			ODVGP_OK)
		(void)use_server(&server, "a forged file");
	free(block), free(pred);
	return loaded;
}

/*  A file with a correct checksum and wrong contents is refused, or read as some other model; it
    never causes a crash, a read beyond its end, or an endless loop. */
TEST(forged_files_do_no_harm)
{
	odvgp_config c = config(6, 2, 1, 2, 2);
	fixture a;
	size_t bytes, i;
	unsigned char *file, *other;
	int round, read = 0;
	test_seed = 332;
	a = make(&c);
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 3, NULL, NULL), ODVGP_OK);
	file = save_file(a.m, NULL, "", &bytes);
	other = NEW(unsigned char, bytes);
	for (round = 0; round < test_size(6000, 2000); round++) {
		int hits = 1 + (int)test_below(2);
		memcpy(other, file, bytes);
		/* Most changes hit config and kernel, whose numbers decide how much memory is used. */
		while (hits--) {
			i = test_below(8) ? (size_t)test_below(bytes < 1500 ? (ptrdiff_t)bytes : 1500)
							  : (size_t)test_below((ptrdiff_t)bytes);
			if (i >= bytes - 8) i = bytes - 9;
			other[i] = test_below(2) ? (unsigned char)test_bits() : (unsigned char)test_below(10);
		}
		mend(other, bytes);
		read += use_forged(other, bytes);
	}
	/* Some changed numbers are legal. */
	CHECK(read > 100);
	free(file), free(other);
	drop(&a);
}

/*  Every byte of a small file is changed to several other values. */
TEST(each_changed_byte_does_no_harm)
{
	odvgp_config c = config(6, 2, 1, 2, 2);
	fixture a;
	size_t bytes, i;
	unsigned char *file;
	int k, read = 0;
	test_seed = 338;
	a = make(&c);
	CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 3, NULL, NULL), ODVGP_OK);
	file = save_file(a.m, NULL, "", &bytes);
	for (i = 0; i < bytes - 8; i++)
		for (k = 0; k < test_size(2, 1); k++) {
			unsigned char keep = file[i];
			file[i] = (unsigned char)(k ? keep - 1 : keep ^ 1 << test_below(8));
			mend(file, bytes);
			read += use_forged(file, bytes);
			file[i] = keep;
		}
	CHECK(read > 100);
	free(file);
	drop(&a);
}

/*  The bytes of the table of units up to the kernel's words: a count, 4 sizes, 5 choices, and
    the number of terms. */
enum { UNIT_HEAD = 4 + 4 * 8 + 5 * 4 + 4 };

/*  Outside the kernel, the table of units and the likelihood's entry repeat what the config
    says, so every changed bit is refused. */
TEST(forged_units_are_refused)
{
	static const char *const names[] = {"orth", "blocks"};
	int which;
	for (which = 0; which < 2; which++) {
		odvgp_config c = config(12, 2, 2, 3, 4);
		fixture a;
		gp__file f = gp__file_make(GP__FILE_MEASURE, NULL, 0);
		size_t bytes, at, end, kernel, i, model_bytes, taken = 0, wrong = 0;
		unsigned char *file;
		if (which)
			c.layer[0].mean_part = ODVGP_MEAN_PART_BLOCKS,
			c.layer[0].cov_part = ODVGP_COV_PART_BLOCKS;
		test_seed = 339;
		a = make(&c);
		file = save_file(a.m, NULL, "", &bytes);
		gp__file_config(&f, &a.m->cfg);
		at = GP__FILE_HEAD + f.used;
		gp__file_units(&f, a.m);
		end = GP__FILE_HEAD + f.used;
		kernel = at + UNIT_HEAD;
		memset(&model_bytes, PATTERN, sizeof model_bytes);
		for (i = at; i < end; i++) {
			unsigned char keep = file[i];
			int bit;
			if (i == kernel)
				i += 4 * gp__kernel_words(a.m->unit[0].kernel.base_kernels), keep = file[i];
			for (bit = 0; bit <= 8; bit++) {
				odvgp_info info = no_info();
				odvgp_status s;
				int many = i + 4 >= kernel && i < kernel;
				file[i] = (unsigned char)(keep ^ (bit < 8 ? 1 << bit : 0xff));
				/* More terms than the build supports have their own status. */
				many = many && (i + 4 > kernel || file[i] > ODVGP_MAX_BASE_KERNELS);
				mend(file, bytes);
				s = sized(
						&model_bytes, odvgp_load_size(file, bytes, NULL, test_isa(), &info), &info);
				taken += s == ODVGP_OK;
				wrong += s != (many ? ODVGP_E_UNSUPPORTED : ODVGP_E_FORMAT) || !info.text[0];
			}
			file[i] = keep;
		}
		CHECK_SAY(taken == 0, "%s: %d changes are taken", names[which], (int)taken);
		CHECK_SAY(wrong == 0, "%s: %d other statuses", names[which], (int)wrong);
		CHECK(untouched(&model_bytes, sizeof model_bytes));
		mend(file, bytes);
		CHECK_STATUS(
				sized(&model_bytes, odvgp_load_size(file, bytes, NULL, test_isa(), NULL), NULL),
				ODVGP_OK);
		CHECK_INT(model_bytes, a.bytes);
		free(file);
		drop(&a);
	}
}

/*  Packs a forged kernel into the words of a kernel with the given number of base kernels; the
    forged counts do not change the number of words. */
static void pack_forged(const gp__kernel *k, uint32_t base_kernels, uint32_t *to)
{
	gp__kernel same = *k;
	same.base_kernels = base_kernels, same.nnode = 2 * base_kernels - 1;
	gp__kernel_pack(&same, to);
	to[1] = k->nnode;
}

/*  Files with a correct checksum hold kernels that no expression can make: one or two numbers at
    a time are out of range. */
TEST(forged_kernels_are_refused)
{
#define K(field) offsetof(gp__kernel, field)
	static const struct {
		const char *words;
		size_t at;
		uint32_t value;
		size_t at2;
		uint32_t value2;
	} list[] = {
			{"D 0", K(D), 0, 0, 0},
			{"another D", K(D), 4, 0, 0},
			{"a huge D", K(D), 0x7fffffff, 0, 0},
			{"no base kernel", K(base_kernels), 0, 0, 0},
			{"fewer base kernels", K(base_kernels), 1, 0, 0},
			{"more base kernels", K(base_kernels), 3, K(nnode), 5},
			{"too many base kernels", K(base_kernels), ODVGP_MAX_BASE_KERNELS + 1, K(nnode),
					2 * ODVGP_MAX_BASE_KERNELS + 1},
			{"too many nodes", K(nnode), 1000, 0, 0},
			{"no nodes", K(nnode), 0, 0, 0},
			{"hyperparameters", K(nhyp), 1000, 0, 0},
			{"fewer hyperparameters", K(nhyp), 4, 0, 0},
			{"no group", K(ngroup), 0, 0, 0},
			{"too many groups", K(ngroup), ODVGP_MAX_BASE_KERNELS + 1, 0, 0},
			{"far too many groups", K(ngroup), 5000, 0, 0},
			{"fewer groups", K(ngroup), 1, 0, 0},
			{"the base kernel of a group", K(group_base[0]), 7, 0, 0},
			{"the base kernel of a group, far away", K(group_base[1]), 0x10000000, 0, 0},
			{"a base kernel of another group", K(base[1].group), 0, 0, 0},
			{"a base kernel of no group", K(base[0].group), 5, 0, 0},
			{"a node's kind", K(node[2][0]), 3, 0, 0},
			{"a node of itself", K(node[2][1]), 2, 0, 0},
			{"a node of later ones", K(node[2][2]), 9, 0, 0},
			{"a first node that is a sum", K(node[0][0]), 1, 0, 0},
			{"a node twice", K(node[2][2]), 0, 0, 0},
			{"a base kernel twice", K(node[1][1]), 0, 0, 0},
			{"a node's base kernel", K(node[1][1]), 2, 0, 0},
			{"a type", K(base[0].type), GP__BASE_KERNEL_TYPES, 0, 0},
			{"ard", K(base[0].ard), 2, 0, 0},
			{"ard off", K(base[1].ard), 0, 0, 0},
			{"columns that share one of two numbers", K(base[1].ard), 2, K(base[1].range[7][1]),
					2 << 16},
			{"a set beyond the columns", K(base[1].ard), 2, K(base[1].range[7][1]), 2 << 16 | 1},
			{"a set of one column", K(base[1].ard), 2, K(base[1].range[7][1]), 1 << 16},
			{"more sets than fit", K(base[1].ard), 1000, 0, 0},
			{"a variance for each column", K(base[1].type), GP__ADDITIVE, 0, 0},
			{"lengthscales", K(base[1].nls), 3, 0, 0},
			{"place of the lengthscales", K(base[1].ls), 100, K(base[1].var), 102},
			{"place of the variance", K(base[0].var), 100, 0, 0},
			{"variances", K(base[0].nvar), 2, 0, 0},
			{"place of the shape parameter", K(base[0].shape_param), 100, 0, 0},
			{"a degree", K(base[0].degree), 3, 0, 0},
			{"a kernel with more numbers", K(base[0].type), GP__RQ, 0, 0},
			{"a kernel without inputs", K(base[0].type), GP__CONSTANT, 0, 0},
			{"a kernel without a lengthscale for each column", K(base[1].type), GP__POLYNOMIAL,
					K(base[1].degree), 2},
			{"columns", K(base[0].ndims), 2, 0, 0},
			{"number of ranges", K(base[0].nranges), GP__MAX_RANGES + 1, 0, 0},
			{"a range beyond the inputs", K(base[0].range[0][0]), 7, K(base[0].range[0][1]), 8},
			{"a range far beyond", K(base[0].range[0][0]), 0xfffffff0u, K(base[0].range[0][1]),
					0xfffffff1u},
			{"an empty range", K(base[0].range[0][1]), 0, 0, 0},
			{"a range backwards", K(base[1].range[0][0]), 3, K(base[1].range[0][1]), 1},
			{"a column twice", K(base[1].range[1][0]), 1, K(base[1].range[1][1]), 2},
			/* The base kernels of the following rows share a group. */
			{"a group without base kernels", K(ngroup), 2, K(group_base[1]), 0x10000000},
			{"the base kernel of the group", K(group_base[0]), 3, 0, 0},
	};
#undef K
	const size_t shared = sizeof list / sizeof *list - 2;
	/* A batch above 64 rows makes the library choose a tile of 0 by measuring the kernel. */
	odvgp_config c = config(130, 3, 1, 2, 2);
	fixture a;
	size_t bytes = 0, i, j, state = 0;
	unsigned char *file = NULL, *other = NULL;
	enum { AS_SAVED, TILE_0, PREDICTOR, PARTS };
	int part;
	test_seed = 335;
	memset(&a, 0, sizeof a);
	for (i = 0; i < sizeof list / sizeof *list; i++)
		/* Forge the model's section of the file, the same with a tile of 0, and the predictor's
           section. */
		for (part = 0; part < PARTS; part++) {
			gp__kernel keep, *k;
			gp__file f;
			gp__predictor_start head;
			uint64_t sum;
			size_t model_bytes = 0, pred_bytes = 0;
			odvgp_info info = no_info();
			odvgp_status s;
			ptrdiff_t tile;
			if (part == 0 && (i == 0 || i == shared)) {
				if (i) free(file), free(other), drop(&a);
				c.layer[0].kernel =
						i ? "rbf + matern52" : "rbf(1, dims=0) + matern52(1, ard, dims=1+2)";
				a = make(&c);
				file = save_file(a.m, NULL, "", &bytes);
				for (state = 0, j = 0; j < 8; j++) state |= (size_t)file[16 + j] << (8 * j);
				other = NEW(unsigned char, bytes);
			}
			f = gp__file_make(GP__FILE_WRITE, other, bytes);
			k = &a.m->unit[0].kernel;
			keep = *k;
			tile = a.m->cfg.tile;
			memcpy(other, file, bytes);
			memcpy((unsigned char *)k + list[i].at, &list[i].value, 4);
			if (list[i].at2) memcpy((unsigned char *)k + list[i].at2, &list[i].value2, 4);
			if (part != PREDICTOR) {
				if (part == TILE_0) a.m->cfg.tile = 0;
				f.used = GP__FILE_HEAD;
				gp__file_config(&f, &a.m->cfg);
				f.used += UNIT_HEAD - 4;
				gp__file_u32(&f, &k->base_kernels);
				pack_forged(k, keep.base_kernels, head.words);
				gp__file_words(&f, head.words, gp__kernel_words(keep.base_kernels) * 4);
			} else {
				gp__file r = gp__file_make(GP__FILE_READ, file, bytes);
				r.used = GP__FILE_HEAD + state;
				size_t words = gp__predictor_head(keep.base_kernels);
				gp__file_words(&r, &head, words);
				pack_forged(k, keep.base_kernels, head.words + sizeof head.head / 4);
				head.head.base_kernels = k->base_kernels;
				f.used = GP__FILE_HEAD + state;
				gp__file_words(&f, &head, words);
			}
			a.m->unit[0].kernel = keep;
			a.m->cfg.tile = tile;
			sum = gp__checksum(other, bytes - 8);
			for (j = 0; j < 8; j++) other[bytes - 8 + j] = (unsigned char)(sum >> (8 * j));
			CHECK_SAY(!odvgp_load_size(other, bytes, NULL, test_isa(), &info) && info.text[0],
					"%s, part %d", list[i].words, part);
		}
	free(file), free(other);
	drop(&a);
}

/*  Files with a correct checksum hold numbers that training never produces: the changed state
    overwrites that of a saved model. */
TEST(forged_states_are_refused)
{
	odvgp_config c = config(12, 2, 1, 3, 2);
	enum { FORGERIES = 31 };
	int wrong;
	test_seed = 336;
	for (wrong = 0; wrong < FORGERIES; wrong++) {
		fixture a = make(&c);
		odvgp_model *b = NULL;
		odvgp_info info = no_info();
		size_t bytes, i;
		unsigned char *file;
		void *block;
		uint64_t sum;
		gp__file f;
		gp__jitter *jitter = a.m->unit[0].jitter;
		odvgp_status s;
		CHECK_STATUS(odvgp_fit(a.m, a.X, a.Y, 3, NULL, NULL), ODVGP_OK);
		file = save_file(a.m, NULL, "", &bytes);
		switch (wrong) {
		case 1: jitter[0].raised = -1; break;
		case 2: jitter[1].raised = (odvgp_real)NAN; break;
		case 3: jitter[0].raised = (odvgp_real)HUGE_VAL; break;
		case 4: jitter[0].clean = INT_MAX; break;
		case 5: jitter[1].clean = -1; break;
		case 6: a.m->par.theta[0] = (odvgp_real)NAN; break;
		case 7: a.m->par.theta[a.m->par.count - 1] = (odvgp_real)HUGE_VAL; break;
		case 8: a.m->par.value[0] = 0; break;
		case 9: a.m->par.value[1] = -1; break;
		case 10: a.m->par.value[2] = (odvgp_real)NAN; break;
		case 11: a.m->par.value[2] = (odvgp_real)HUGE_VAL; break;
		case 12: a.m->state.step_scale = 0; break;
		case 13: a.m->state.step_scale = 2; break;
		case 14: a.m->state.step_scale = NAN; break;
		case 15: a.m->state.nat_valid = 4; break;
		case 16: a.m->state.good_valid = 2; break;
		case 17: a.m->state.fitted = 2; break;
		case 18: a.m->state.steps = UINT64_MAX; break;
		case 19: a.m->state.adam_steps = UINT64_MAX; break;
		case 20: a.m->state.nat_steps = (uint64_t)PTRDIFF_MAX; break;
		case 21: a.m->par.slot[1].trainable = 2; break;
		case 22: a.m->par.slot[2].trainable = -1; break;
		case 23: a.m->tape.events.pivot = 3; break;
		/* The numbers of latent processes, functions and targets. */
		case 24: a.m->unit[0].P = 2; break;
		case 25: a.m->F = 2; break;
		case 26: a.m->T = 2; break;
		case 27: a.m->F = 0; break;
		case 28: a.m->T = PTRDIFF_MAX; break;
		case 29: a.m->unit[0].lbfgs_jitter[0] = (odvgp_real)NAN; break;
		case 30: a.m->unit[0].lbfgs_jitter[1] = -1; break;
		default: break;
		}
		f = gp__file_make(GP__FILE_WRITE, file, bytes);
		f.used = GP__FILE_HEAD;
		gp__file_config(&f, &a.m->cfg);
		gp__file_units(&f, a.m);
		/* The arrays of the state keep their sizes. */
		a.m->unit[0].P = a.m->F = a.m->T = 1;
		gp__file_model_state(&f, a.m);
		sum = gp__checksum(file, bytes - 8);
		for (i = 0; i < 8; i++) file[bytes - 8 + i] = (unsigned char)(sum >> (8 * i));
		block = test_alloc(a.bytes);
		s = odvgp_load_memory(&b, file, bytes, NULL, test_isa(), block, a.bytes, &info);
		CHECK_SAY(s == (wrong ? ODVGP_E_FORMAT : ODVGP_OK) && !b == (wrong != 0) &&
						  (!wrong || info.text[0]),
				"forgery %d: %s", wrong, odvgp_status_text(s));
		free(block), free(file);
		drop(&a);
	}
}

/*  Files with a correct checksum hold predictors with numbers that are not finite, or not
    positive where they must be. */
TEST(forged_predictors_are_refused)
{
	odvgp_config c = config(12, 2, 1, 3, 2);
	static const double values[] = {NAN, HUGE_VAL, -HUGE_VAL, 0, -1};
	ptrdiff_t at[7], reals;
	fixture a;
	gp__predictor head;
	gp__view v;
	size_t bytes, pred_bytes, first, i, k;
	unsigned char *file, *other;
	void *pred;
	test_seed = 337;
	a = make(&c);
	file = save_file(a.m, NULL, "", &bytes);
	other = NEW(unsigned char, bytes);
	pred_bytes = odvgp_predictor_size(a.m, NULL);
	pred = test_alloc(pred_bytes);
	gp__predictor_sizes(&a.m->unit[0], &head);
	{
		odvgp_real *base = NEW(odvgp_real, gp__view_layout(&head, NULL, 0, &v));
		reals = gp__view_layout(&head, base, 0, &v);
		/* These must be positive. */
		at[0] = v.hyp - base, at[1] = v.lik_params - base, at[2] = v.x_scale - base,
		at[3] = v.y_scale - base;
		/* These must be finite. */
		at[4] = v.beta - base, at[5] = v.alpha - base;
		/* Predictions divide by this one. */
		at[6] = v.L + 4 - base;
		free(base);
	}
	first = bytes - 8 - (size_t)reals * sizeof(odvgp_real);
	for (i = 0; i < 7; i++)
		for (k = 0; k < sizeof values / sizeof *values; k++) {
			odvgp_server server;
			odvgp_real x = (odvgp_real)values[k];
			odvgp_info info = no_info();
			gp__file f = gp__file_make(GP__FILE_WRITE, other, bytes);
			int good = k > 3 - (i < 6) && i >= 4;
			odvgp_status s;
			memcpy(other, file, bytes);
			f.used = first + (size_t)at[i] * sizeof x;
			gp__file_reals(&f, &x, 1, (int)sizeof x);
			f.used = bytes - 8;
			gp__file_bits(&f, gp__checksum(other, bytes - 8), 8);
			memset(&server, 0, sizeof server);
			s = odvgp_server_from_memory(
					&server, other, bytes, test_isa(), pred, pred_bytes, &info);
			CHECK_SAY(s == (good ? ODVGP_OK : ODVGP_E_FORMAT) && !server.block == !good,
					"place %d, %g: %s", (int)i, values[k], odvgp_status_text(s));
		}
	free(file), free(other), free(pred);
	drop(&a);
}

/*  Before it is forged, each kind's file and block are taken, and everything is served. */
TEST(every_kind_is_served)
{
	int kind;
	for (kind = 0; kind < KINDS; kind++) {
		kind_model k = kind_make(kind);
		const odvgp_config *c = odvgp_model_config(k.m);
		int calls = c->layers > 1                  ? SERVED_IN_LAYERS
					: c->layer[0].patches.height ? SERVED_OF_IMAGES
												 : SERVED_CALLS;
		size_t bytes, need = odvgp_predictor_size(k.m, NULL);
		unsigned char *file = save_file(k.m, NULL, "", &bytes);
		void *block = test_alloc(need);
		odvgp_server s;
		served_all all;
		CHECK(use_forged(file, bytes));
		CHECK_STATUS(serve(k.m, NULL, block, need, &s, NULL), ODVGP_OK);
		all = use_server(&s, kinds[kind].words);
		CHECK_SAY(all.ok == calls && all.refused == SERVED_CALLS - calls, "%s: %d calls, %s",
				kinds[kind].words, all.ok, odvgp_status_text(all.last));
		free(block), free(file);
		kind_drop(&k);
	}
}

/*  A copy of the one-layer predictor p whose head is `head`: p's reals up to the likelihood's, then
    ordinary values. NULL if the head has no layout. */
static gp__predictor *with_head(const gp__predictor *p, gp__predictor *head, size_t *bytes)
{
	const size_t start = gp__predictor_head(p->base_kernels);
	gp__view v, old;
	gp__predictor *to;
	ptrdiff_t reals = gp__view_layout(head, NULL, 0, &v), i;
	odvgp_real *x;
	if (reals < 0 || reals > 100000) return NULL;
	gp__predictor_set_reals(head, reals);
	*bytes = gp__predictor_bytes(head);
	to = (gp__predictor *)test_alloc(*bytes);
	memcpy(to, p, start);
	*to = *head;
	x = (odvgp_real *)(void *)((unsigned char *)to + start);
	for (i = 0; i < reals; i++) x[i] = (odvgp_real)0.3;
	v = gp__view_of(to, 0);
	old = gp__view_of(p, 0);
	memcpy(x, old.beta, (size_t)GP__MIN(reals, old.lik_params - old.beta) * sizeof *x);
	for (i = 0; i < head->T; i++) v.y_mean[i] = 0, v.y_scale[i] = 1;
	if (head->nodes > 0) v.rule[0] = 0;
	if (head->likelihood == ODVGP_LIKELIHOOD_STUDENTT && head->lik_params == 2) v.lik_params[1] = 4;
	gp__predictor_sum(to, to->checksum);
	return to;
}

/*  A block is taken if and only if a config has its likelihood, functions, targets and classes. */
TEST(a_block_has_the_likelihood_of_a_config)
{
	enum { MOST = 4 };
	int F, kind, T, classes, taken = 0;
	for (F = 1; F <= MOST; F++) {
		odvgp_config c = config(6, 2, F, 3, 0);
		fixture a = make(&c);
		size_t bytes = odvgp_predictor_size(a.m, NULL);
		gp__predictor *p = (gp__predictor *)test_alloc(bytes);
		CHECK_STATUS(odvgp_freeze(a.m, NULL, p, bytes, NULL), ODVGP_OK);
		for (kind = 0; kind < GP__COUNT(gp__likelihoods) * (MOST + 1) * (MOST + 1); kind++) {
			const gp__likelihood *lik = &gp__likelihoods[kind / (MOST + 1) / (MOST + 1)];
			odvgp_config own = odvgp_config_defaults(6, 2, F, 3, 0);
			gp__predictor head = *p, *forged;
			odvgp_server s;
			int expected;
			T = kind / (MOST + 1) % (MOST + 1), classes = kind % (MOST + 1);
			own.lik.kind = (odvgp_likelihood)(lik - gp__likelihoods);
			own.lik.classes = own.lik.kind == ODVGP_LIKELIHOOD_ORDINAL ? classes : 0;
			expected = sized(&bytes, odvgp_model_size(&own, NULL), NULL) == ODVGP_OK &&
					   T == gp__lik_targets(lik, F) && classes == gp__classes(lik, F, classes);
			head.likelihood = (int32_t)own.lik.kind, head.T = T, head.classes = classes;
			head.nodes = lik->flags & GP__LIK_GAUSSIAN ? 0 : 4;
			head.lik_params =
					(int32_t)gp__lik_all_numbers(lik, lik->flags & GP__LIK_GAUSSIAN ? 1 : classes);
			forged = with_head(p, &head, &bytes);
			if (!forged) continue;
			if (CHECK_SAY((odvgp_server_from_block(&s, forged, bytes, test_isa(), NULL) ==
								  ODVGP_OK) == expected,
						"%s of %d functions, %d targets, %d classes", lik->name, F, T, classes) &&
					expected) {
				served_all all = use_server(&s, lik->name);
				CHECK_SAY(all.ok == SERVED_CALLS, "%s of %d functions: %s", lik->name, F,
						odvgp_status_text(all.last));
				taken++;
			}
			free(forged);
		}
		free(p);
		drop(&a);
	}
	CHECK(taken > 30);
}

/*  Only targets that scale with f have a scale and a mean, and only a link has a jitter. */
TEST(scales_that_no_likelihood_has_are_refused)
{
	enum { MEAN, SCALE, JITTER };
	static const struct {
		int field, flag;
		double value;
	} list[] = {{MEAN, GP__LIK_SCALABLE, 2}, {MEAN, GP__LIK_SCALABLE, 1e18},
			{SCALE, GP__LIK_SCALABLE, 1e-9}, {SCALE, GP__LIK_SCALABLE, 2},
			{JITTER, GP__LIK_LINK, 0.1}};
	int kind, i;
	for (kind = 0; kind < KINDS; kind++) {
		kind_model k = kind_make(kind);
		size_t bytes = odvgp_predictor_size(k.m, NULL), at;
		unsigned char *block = NEW(unsigned char, bytes), *other = NEW(unsigned char, bytes);
		odvgp_server s;
		CHECK_STATUS(serve(k.m, NULL, block, bytes, &s, NULL), ODVGP_OK);
		at = (size_t)((const unsigned char *)gp__last_layer(&s) - block);
		for (i = 0; i < GP__COUNT(list); i++) {
			gp__predictor *last = (gp__predictor *)(void *)(other + at);
			int flags = gp__likelihoods[k.m->cfg.lik.kind].flags, taken;
			gp__view v;
			memcpy(other, block, bytes);
			v = gp__view_of(last, 0);
			if (list[i].field == JITTER && !last->nodes) continue;
			*(list[i].field == MEAN          ? v.y_mean
					: list[i].field == SCALE ? v.y_scale
											 : v.rule) = (odvgp_real)list[i].value;
			gp__predictor_sum(last, last->checksum);
			taken = odvgp_server_from_block(&s, other, bytes, test_isa(), NULL) == ODVGP_OK;
			CHECK_SAY(taken == ((flags & list[i].flag) != 0), "%s, change %d: %s",
					kinds[kind].words, i, taken ? "taken" : "refused");
			if (taken) (void)use_server(&s, kinds[kind].words);
		}
		free(block), free(other);
		kind_drop(&k);
	}
}

/*  Sums over a shift of the argument end for every argument. */
TEST(gamma_functions_end)
{
	static const double far[] = {-1e18, -1e300, -HUGE_VAL, HUGE_VAL, NAN};
	int i;
	for (i = 0; i < 5; i++) {
		volatile double sum = gp__lgamma(far[i]) + gp__digamma(far[i]) + gp__log_gamma(far[i]);
		CHECK(sum != 0);
	}
}

/*  Numbers of a predictor's head and its reals become others that may be valid; the block has the size
    of its head. */
TEST(forged_blocks_of_every_kind_do_no_harm)
{
	static const int32_t sizes[] = {0, 1, 2, 3, 4, 5, 8, 20, 200, INT32_MAX, -1};
	static const double reals[] = {0, 1, -1, 1e-9, 1e18, -1e18, 1e-300, 0.3};
	const size_t first = offsetof(gp__predictor, layers) / 4, words = sizeof(gp__predictor) / 4;
	int kind, round, taken = 0;
	test_seed = 341;
	for (kind = 0; kind < KINDS; kind++) {
		kind_model k = kind_make(kind);
		size_t bytes = odvgp_predictor_size(k.m, NULL);
		gp__predictor *p = (gp__predictor *)test_alloc(bytes);
		CHECK_STATUS(odvgp_freeze(k.m, NULL, p, bytes, NULL), ODVGP_OK);
		for (round = 0; round < test_size(400, 100) && p->layers == 1; round++) {
			gp__predictor head = *p, *forged;
			odvgp_server s;
			int hits = (int)test_below(3);
			odvgp_real *x;
			size_t start = gp__predictor_head(p->base_kernels);
			while (hits--)
				((int32_t *)(void *)&head)[first + (size_t)test_below((ptrdiff_t)(words - first))] =
						sizes[test_below(11)];
			/* What follows divides by these, or is indexed with them. */
			if (head.units < 1 || head.units > head.P || (uint32_t)head.factor >= GP__FACTORS ||
					(uint32_t)head.mean_function > 4 || head.M_factor > head.M ||
					!gp__patches_ok(&head.patches, head.D))
				continue;
			forged = with_head(p, &head, &bytes);
			if (!forged) continue;
			x = (odvgp_real *)(void *)((unsigned char *)forged + start);
			if (round % 2)
				x[test_below(round % 4 == 1 ? 30 : (ptrdiff_t)gp__predictor_reals(forged))] =
						(odvgp_real)reals[test_below(8)];
			gp__predictor_sum(forged, forged->checksum);
			if (odvgp_server_from_block(&s, forged, bytes, test_isa(), NULL) == ODVGP_OK) {
				(void)use_server(&s, kinds[kind].words);
				taken++;
			}
			free(forged);
		}
		free(p);
		kind_drop(&k);
	}
	CHECK(taken > 100);
}

/*  Records of transformed columns, with a checksum that fits. */
TEST(forged_transforms_are_refused)
{
	static const odvgp_real from[] = {-1, 0, 2}, to[] = {0, 1, 4};
	const odvgp_transform t[] = {{ODVGP_TRANSFORM_LOG, 3, 0, -1, 2, 0, NULL, NULL},
			{ODVGP_TRANSFORM_LINEAR, 0, 0, 0, 0, 3, from, to},
			{ODVGP_TRANSFORM_ASINH, 0, 1, -1, 2, 0, NULL, NULL}};
	/* of the three records of 7, 9 and 7 numbers: one of them, and what it must not be */
	static const struct {
		int at;
		double x;
	} bad[] = {{0, -1}, {0, 1}, {0, 0.5}, {0, 3}, {0, NAN}, {1, 0}, {1, 4}, {1, 1.5}, {1, 3},
			{2, 2}, {2, 5}, {2, 6}, {2, 1e9}, {2, NAN}, {3, 1}, {3, NAN}, {3, INFINITY}, {4, -1},
			{5, 3}, {5, -3}, {6, -2}, {7, 0}, {7, 2}, {8, 2}, {9, 4}, {9, 64}, {10, 0}, {11, 2},
			{11, -1}, {13, 1}, {14, 4}, {15, 1e31}, {16, 1}, {16, 3}, {18, 6}, {20, 0}, {20, -1},
			{21, 3}};
	odvgp_config c = config(6, 3, 1, 2, 2);
	size_t bytes, wrong = 0;
	odvgp_server server;
	test_seed = 337;
	fixture a = make(&c);
	CHECK_STATUS(odvgp_set_transforms(a.m, t, NULL), ODVGP_OK);
	bytes = odvgp_predictor_size(a.m, NULL);
	unsigned char *block = NEW(unsigned char, bytes);
	gp__predictor *head = (gp__predictor *)(void *)block;
	CHECK_STATUS(serve(a.m, NULL, block, bytes, &server, NULL), ODVGP_OK);
	odvgp_real *r = gp__view_of(head, 0).transforms;
	CHECK(head->version >> 16 == 23);
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		odvgp_real keep = r[bad[k].at];
		r[bad[k].at] = (odvgp_real)bad[k].x;
		gp__predictor_sum(head, head->checksum);
		odvgp_status s = odvgp_server_from_block(&server, block, bytes, test_isa(), NULL);
		CHECK_SAY(s == ODVGP_E_FORMAT, "number %d may be %g", bad[k].at, bad[k].x);
		r[bad[k].at] = keep;
	}
	/* another count of them */
	for (uint32_t n = 0; n < 40; n++) {
		head->version = (head->version & 0xffff) | n << 16;
		gp__predictor_sum(head, head->checksum);
		wrong += (odvgp_server_from_block(&server, block, bytes, test_isa(), NULL) == ODVGP_OK) !=
				 (n == 23);
	}
	head->version = (head->version & 0xffff) | 23u << 16;
	/* any byte: refused, or what is served stays finite or says that it is not */
	for (int i = 0; i < 23 * (int)sizeof *r; i++) {
		unsigned char *at = (unsigned char *)r + i, keep = *at;
		*at = (unsigned char)test_below(256);
		gp__predictor_sum(head, head->checksum);
		if (odvgp_server_from_block(&server, block, bytes, test_isa(), NULL) == ODVGP_OK) {
			odvgp_real mean = 0;
			size_t need = odvgp_predict_scratch(&server, 1, NULL);
			void *scratch = test_alloc(need);
			odvgp_status s = odvgp_predict(&server, a.X, 1, &mean, NULL, scratch, need, NULL);
			wrong += s == ODVGP_OK && !isfinite((double)mean);
			free(scratch);
		}
		*at = keep;
	}
	CHECK_SAY(wrong == 0, "%d forged blocks are taken", (int)wrong);
	gp__predictor_sum(head, head->checksum);
	CHECK_STATUS(odvgp_server_from_block(&server, block, bytes, test_isa(), NULL), ODVGP_OK);
	/* a flipped bit of a file, as of all */
	unsigned char *file = save_file(a.m, NULL, "user", &bytes);
	void *room = test_alloc(odvgp_server_size(file, bytes, NULL));
	for (size_t i = wrong = 0; i < bytes; i++) {
		file[i] ^= 4;
		wrong += odvgp_server_size(file, bytes, NULL) != 0;
		file[i] ^= 4;
	}
	CHECK_INT(wrong, 0);
	free(file), free(block), free(room);
	drop(&a);
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(forged_transforms_are_refused);
	RUN(every_kind_is_served);
	RUN(damaged_blocks_are_refused);
	RUN(damaged_files_are_refused);
	RUN(forged_files_do_no_harm);
	RUN(each_changed_byte_does_no_harm);
	RUN(forged_units_are_refused);
	RUN(forged_kernels_are_refused);
	RUN(forged_states_are_refused);
	RUN(forged_predictors_are_refused);
	RUN(a_block_has_the_likelihood_of_a_config);
	RUN(scales_that_no_likelihood_has_are_refused);
	RUN(gamma_functions_end);
	RUN(forged_blocks_of_every_kind_do_no_harm);
	return test_end();
}
