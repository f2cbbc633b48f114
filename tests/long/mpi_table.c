/*  mpi_table PATH ROWS   a table for examples/mpi.c */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int make_table(const char *path, long rows)
{
	FILE *f = fopen(path, "wb");
	char head[119];
	unsigned state = 7;
	int n = snprintf(head, sizeof head,
			"{'descr': '<f8', 'fortran_order': False, 'shape': (%ld, 4), }", rows);
	if (!f || n < 0) return 1;
	memset(head + n, ' ', sizeof head - 1 - (size_t)n);
	head[117] = '\n';
	fwrite("\x93NUMPY\1\0\x76\0", 1, 10, f);
	fwrite(head, 1, 118, f);
	for (long i = 0; i < rows; i++) {
		double row[4], noise = -1.5;
		for (int k = 0; k < 6; k++) {
			state = state * 1664525u + 1013904223u;
			if (k < 3) row[k] = (k + 1) * (state >> 8) / 16777216.0;
			else noise += (state >> 8) / 16777216.0;
		}
		row[3] = sin(6 * row[0]) + row[1] * (row[2] - 1) + 0.2 * noise;
		fwrite(row, sizeof row, 1, f);
	}
	return fclose(f) != 0;
}

int main(int argc, char **argv) { return argc == 3 ? make_table(argv[1], atol(argv[2])) : 2; }
