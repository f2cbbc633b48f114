/*  CSV in the table reader of the tool. The first byte chooses the options, the rest is the
    file. Columns of the result hold numbers or levels, NaN for a
    missing cell and an infinite number for one that does not fit. */
#include "fuzz.h"
#include "table.h"

static void every_third(const void *user, table *t)
{
	int i;
	(void)user;
	for (i = 0; i < t->columns; i += 3) t->column[i].text = 1, t->column[i].settled = 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char separators[] = {0, ',', ';', '\t', ' '};
	table_options options;
	table t;
	char *text, error[400] = "";
	ptrdiff_t i;
	int c;
	/* table__load refuses such a file. */
	if (size < 1 || memchr(data + 1, 0, size - 1)) return 0;
	memset(&options, 0, sizeof options);
	options.header = data[0] % 3 - 1;
	options.separator = separators[data[0] / 3 % 5];
	if (data[0] & 128) options.settle = every_third;
	if (data[0] & 64) options.decimal = ',', options.thousands = '.';
	text = (char *)malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	if (table_parse(&t, text, size - 1, "input", 1, &options, error, sizeof error)) {
		MUST(error[0] && strlen(error) < sizeof error && !t.values && !t.column,
				"a refusal without a sentence");
		free(text);
		return 0;
	}
	MUST(t.rows > 0 && t.columns > 0, "a table without cells");
	for (c = 0; c < t.columns; c++) {
		const table_column *column = &t.column[c];
		ptrdiff_t missing = 0;
		for (i = 0; i < t.rows; i++) {
			double v = t.values[i * t.columns + c];
			missing += v != v;
			if (v != v) continue;
			if (fabs(v) > DBL_MAX) {
				MUST(column->odd_line, "an infinite number where all cells fit");
				continue;
			}
			if (column->text)
				MUST(v == floor(v) && v >= 0 && v < column->level_count,
						"a position outside the levels");
		}
		MUST(missing == column->missing, "a missing cell is not counted");
		if (table_check(&t, c, "input", error, sizeof error))
			MUST(column->odd_line && error[0], "a complaint without a reason");
		if (t.header) MUST(table_find(&t, column->name, 0) >= 0, "a column that is not found");
	}
	table_free(&t);
	free(text);
	return 0;
}

static void write_seeds(const char *folder)
{
	static const char *const list[] = {"a,b,c\n1,2,3\n4,5,6\n", "1;2\n3;4",
			"x\ty\r\n1e-3\t-2.5\r\nNA\t\r\n", "1 2  3\n4 5 6\n",
			"\"a \"\"b\"\"\",c\n\"x\ny\",1\nz,2\n",
			"\xEF\xBB\xBFname,value\ncat,1\ndog,nan\ncat,inf\n",
			"12345678901234567890,1e999,.5\n1,2,?\n", "0.1234567890123456789e-22,1e22\n\n\n"};
	char text[200];
	int i;
	for (i = 0; i < (int)(sizeof list / sizeof *list); i++) {
		/* 1 means: everything is detected, except the header. */
		snprintf(text, sizeof text, "%c%s", i % 2 ? 1 : 128 + 1, list[i]);
		write_seed(folder, i, text, strlen(text));
	}
}
