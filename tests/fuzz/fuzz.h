/*  What the fuzz targets share. A target is a program of libFuzzer (clang
    -fsanitize=fuzzer,address,undefined):
        LLVMFuzzerTestOneInput    takes any bytes, and aborts by MUST if a promise is broken
        write_seeds               writes the inputs with which the first run begins
        NAME --seeds FOLDER       writes the seeds to FOLDER and ends; libFuzzer takes every other
                                  argument */
#ifndef FUZZ_H
#define FUZZ_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
static void write_seeds(const char *folder);

#define MUST(cond, ...) ((cond) ? (void)0 : fuzz_broken(#cond, __FILE__, __LINE__, __VA_ARGS__))
static void fuzz_broken(const char *cond, const char *file, int line, const char *words)
{
	fprintf(stderr, "%s:%d: does not hold: %s: %s\n", file, line, cond, words);
	abort();
}

/*  Writes one seed, named by its number. */
static void write_seed(const char *folder, int number, const void *data, size_t size)
{
	char path[1000];
	FILE *f;
	snprintf(path, sizeof path, "%s/seed-%03d", folder, number);
	f = fopen(path, "wb");
	MUST(f && fwrite(data, 1, size, f) == size, "a seed cannot be written");
	fclose(f);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc == 3 && !strcmp((*argv)[1], "--seeds")) {
		write_seeds((*argv)[2]);
		exit(0);
	}
#ifdef FUZZ_COMMAND
	if (*argc == 3 && FUZZ_COMMAND((*argv)[1], (*argv)[2])) exit(0);
#endif
	return 0;
}

#endif
