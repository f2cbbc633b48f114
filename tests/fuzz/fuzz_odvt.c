/*  Tables on disk. The first byte says whether the hashes of all blocks are mended, the rest is the
    file. A table is refused with a sentence, or its cells are what its columns may hold; a read that
    fails names the block.

        fuzz_odvt --cuts N     N random cuts, flips and other changes of whole tables, half of them
                               with their hashes mended */
#define _POSIX_C_SOURCE 200809L
#define FUZZ_COMMAND    run_cuts
static int run_cuts(const char *word, const char *count);
#include "fuzz.h"
#include "odvt.h"

/* ---- a table in a file without a name ---- */

static int open_file(const uint8_t *data, size_t size)
{
	FILE *f = tmpfile();
	int file;
	MUST(f && fwrite(data, 1, size, f) == size && !fflush(f), "no temporary file");
	file = dup(fileno(f));
	fclose(f);
	return file;
}

/*  Makes the hashes of all blocks, and block 0's hash of them, those of the content. */
static void mend(uint8_t *data, size_t size)
{
	size_t blocks = size / ODVT_BLOCK, i;
	uint64_t digest = 0;
	for (i = 1; i < blocks; i++) {
		uint64_t h = odvt__hash(data + i * ODVT_BLOCK, i);
		odvt__put64(data + i * ODVT_BLOCK + ODVT_CONTENT, h);
		digest = odvt__mix(digest ^ h);
	}
	if (!blocks) return;
	odvt__put64(data + 48, digest);
	odvt__put64(data + ODVT_CONTENT, odvt__hash(data, 0));
}

/* ---- the promises ---- */

static void check_cell(const table_column *c, double v)
{
	if (v != v) {
		MUST(c->missing > 0 && c->missing_line > 0, "a missing cell that is not known");
		return;
	}
	if (fabs(v) > DBL_MAX) {
		MUST(v > 0 && c->odd_line > 0, "an infinite number where all cells fit");
		return;
	}
	if (c->text)
		MUST(v == floor(v) && v >= 0 && v < c->level_count, "a position outside the levels");
	if (c->date) MUST(fabs(v) < 3e6, "a day in another age");
}

/*  Returns whether the table was taken. */
static int check_table(const uint8_t *data, size_t size)
{
	table t;
	char error[400] = "";
	odvt *o = odvt_open(open_file(data, size), "input", &t, error, sizeof error);
	ptrdiff_t i, k, n;
	double *cell;
	if (!o) {
		MUST(error[0] && strlen(error) < sizeof error && !t.column, "a refusal without a sentence");
		return 0;
	}
	MUST(t.rows > 0 && t.columns > 0 && t.gaps > 0 && t.gap[0].row == 0, "a table without cells");
	MUST(t.rows * t.columns <= (ptrdiff_t)size, "more cells than bytes");
	for (k = 0; k < t.columns; k++) {
		const table_column *c = &t.column[k];
		char sentence[400];
		if (t.header) MUST(table_find(&t, c->name, 0) >= 0, "a column that is not found");
		for (i = 0; i < c->level_count; i++) MUST(strlen(c->levels[i]) < size, "a level");
		if (table_check(&t, (int)k, "input", sentence, sizeof sentence))
			MUST(c->odd_line && sentence[0], "a complaint without a reason");
	}
	cell = (double *)malloc((size_t)t.columns * 8 * 3);
	for (i = 0; i < t.rows; i += n) {
		n = t.rows - i < 3 ? t.rows - i : 3;
		if (odvt_rows(o, t.column, i, n, cell, (int)(i & 1))) {
			MUST(strstr(o->error, "block "), "a failed read that names no block");
			break;
		}
		for (k = 0; k < n * t.columns; k++) check_cell(&t.column[k % t.columns], cell[k]);
		MUST(table_line(&t, i) >= 0, "a line");
	}
	free(cell);
	table_free(&t);
	odvt_close(o);
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;
	if (size < 1) return 0;
	copy = (uint8_t *)malloc(size);
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 1) mend(copy, size - 1);
	check_table(copy, size - 1);
	free(copy);
	return 0;
}

/* ---- whole tables ---- */

static char *text_of(const char *from)
{
	char *text = (char *)malloc(strlen(from) + 1);
	strcpy(text, from);
	return text;
}

/*  Numbers, texts, dates and missing cells; more blocks of rows for some. Returns its bytes. */
static uint8_t *make_table(int kind, size_t *size)
{
	static const char *const words[] = {"red", "green", "a \"word\"", "12", ""};
	int rows = kind == 0 ? 3 : kind == 1 ? 40 : 300, i, k, levels = 4;
	double cell[4];
	odvt_writer w;
	table t;
	FILE *f = tmpfile();
	memset(&t, 0, sizeof t);
	MUST(f && !odvt_write_begin(&w, fileno(f)), "no temporary file");
	t.rows = rows;
	t.columns = kind == 0 ? 1 : 4;
	t.header = kind != 1;
	t.distinct = rows;
	t.separator = ',';
	t.gaps = kind == 2 ? 2 : 1;
	t.gap = (struct table_gap *)calloc(2, sizeof *t.gap);
	t.gap[0].line = 2;
	t.gap[1].row = 7;
	t.gap[1].line = 20;
	t.column = (table_column *)calloc((size_t)t.columns, sizeof *t.column);
	for (k = 0; k < t.columns; k++)
		if (t.header) t.column[k].name = text_of(k ? k == 2 ? "b" : "b\n\"" : "a");
	for (i = 0; i < rows; i++) {
		cell[0] = 0.25 * i;
		cell[1] = i % levels;
		cell[2] = 19000 + i % 400 + 0.5;
		cell[3] = i % 9 == 2 ? NAN : i == 3 ? HUGE_VAL : -1e9 * i;
		odvt_write_cells(&w, cell, t.columns);
	}
	if (t.columns > 1) {
		table_column *c = &t.column[1];
		c->text = c->mixed = 1;
		c->level_count = levels;
		c->levels = (char **)calloc((size_t)levels, sizeof *c->levels);
		c->level_lines = (long *)calloc((size_t)levels, sizeof *c->level_lines);
		for (k = 0; k < levels; k++) c->levels[k] = text_of(words[k]), c->level_lines[k] = 2 + k;
		t.column[2].date = 1;
		c = &t.column[3];
		c->missing = (rows + 6) / 9;
		c->missing_line = 4;
		c->odd_line = 5;
		strcpy(c->odd, "odd");
	}
	MUST(!odvt_write_end(&w, &t), "a table cannot be written");
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	uint8_t *data = (uint8_t *)malloc(*size);
	MUST(fread(data, 1, *size, f) == *size, "a table cannot be read");
	fclose(f);
	table_free(&t);
	return data;
}

static void write_seeds(const char *folder)
{
	int kind, mended;
	for (kind = 0; kind < 3; kind++)
		for (mended = 0; mended < 2; mended++) {
			size_t size;
			uint8_t *data = make_table(kind, &size), *seed = (uint8_t *)malloc(size + 1);
			seed[0] = (uint8_t)mended;
			memcpy(seed + 1, data, size);
			write_seed(folder, 2 * kind + mended, seed, size + 1);
			free(seed);
			free(data);
		}
}

/* ---- random cuts and flips ---- */

static uint64_t cut_state = 1;
static size_t cut_below(size_t n)
{
	cut_state = cut_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (size_t)(cut_state >> 33) % (n ? n : 1);
}

/*  A place in what is not padding, mostly. */
static size_t cut_place(const uint8_t *data, size_t size)
{
	size_t at = cut_below(size), tries = 8;
	while (tries-- && !data[at]) at = cut_below(size);
	return at;
}

/*  One change of a copy: a cut, flips, a word that is large, bytes of another place. */
static size_t change(uint8_t *data, size_t size)
{
	static const uint64_t words[] = {0, 1, 255, UINT64_C(0x7fffffff), UINT64_C(1) << 47,
			UINT64_C(1) << 62, UINT64_MAX, UINT64_C(0x7ff8000000000000),
			UINT64_C(0x7ff0000000000000)};
	size_t kind = cut_below(8), count = 1 + cut_below(4), n;
	if (kind == 0) return cut_below(size);
	if (kind == 1) return cut_below(size / ODVT_BLOCK + 1) * ODVT_BLOCK;
	for (; count; count--) {
		size_t at = cut_place(data, size), from = cut_below(size);
		if (kind < 5) data[at] ^= (uint8_t)(1u << cut_below(8));
		else if (kind < 7 && size >= 8)
			odvt__put64(data + (at < size - 8 ? at / 8 * 8 : size - 8),
					words[cut_below(sizeof words / sizeof *words)]);
		else {
			n = cut_below(40);
			if (at + n <= size && from + n <= size) memmove(data + at, data + from, n);
		}
	}
	return size;
}

static void cuts(long count)
{
	uint8_t *whole[3], *copy;
	size_t size[3], n;
	long i, taken = 0, damaged = 0, k;
	for (k = 0; k < 3; k++) {
		whole[k] = make_table((int)k, &size[k]);
		MUST(check_table(whole[k], size[k]), "a whole table is refused");
	}
	for (i = 0; i < count; i++) {
		k = i / 2 % 3;
		copy = (uint8_t *)malloc(size[k] + 1);
		memcpy(copy, whole[k], size[k]);
		n = change(copy, size[k]);
		if (i % 2) mend(copy, n);
		/* A copy that has its exact size: a read beyond it is seen. */
		copy = (uint8_t *)realloc(copy, n ? n : 1);
		damaged += n != size[k] || memcmp(copy, whole[k], n) != 0;
		taken += check_table(copy, n);
		free(copy);
	}
	printf("ok    %ld changes of tables, %ld of them real, half with mended hashes: %ld opened\n",
			count, damaged, taken);
	for (k = 0; k < 3; k++) free(whole[k]);
}

static int run_cuts(const char *word, const char *count)
{
	if (strcmp(word, "--cuts") != 0) return 0;
	cuts(atol(count));
	return 1;
}
