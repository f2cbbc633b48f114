/*  Using a trained model: the whole program of a robot. Training took place elsewhere, in double.
    This program uses float and no malloc, and compiles only the code that predicts.
    A model of many points that float will serve should be trained with float's jitter.relative; see
    Precision in the manual of odvgp.h.

    Example 01 writes the model file, so run it first.

        cc -O2 -I. examples/04_use_a_trained_model.c -o build/04_robot -lm && build/04_robot

    Output:
        a file of 11 KB, a predictor of 2 KB, scratch of 6 KB
           x    mean      sd
         0.0    0.53    0.07
         1.0    0.36    0.03
         2.0    1.41    0.03
         3.0   -0.33    0.04
         4.0   -0.28    0.17
         5.0   -1.32    0.04
         6.0    0.04    0.03
         7.0    0.37    0.11
         8.0   -0.04    0.76
*/
#define ODVGP_FLOAT
#define ODVGP_NO_TRAINING
#define ODVGP_NO_MALLOC
#define ODVGP_NO_STDIO
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <stdio.h>

/*  All memory that predictions need. odvgp_server_size and odvgp_predict_scratch say how many
    bytes: print them on a desk, and choose these sizes accordingly. A block must be aligned for
    float. */
static float block[1024], scratch[2048];

/*  The model file. On a robot it is a const array in flash memory (xxd -i turns a file into one),
    and the program begins with odvgpf_server_size. */
static unsigned char file[32 * 1024];

static size_t file_read(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f) return 0;
	size_t bytes = fread(file, 1, sizeof file, f);
	fclose(f);
	return bytes;
}

/*  Stands for a sensor. */
static float measure(int tick) { return (float)tick; }

int main(void)
{
	const char *path = "build/01_regression.odvgp";
	const size_t file_bytes = file_read(path);
	if (!file_bytes) {
		fprintf(stderr, "%s: cannot be read; example 01 writes it\n", path);
		return 1;
	}

	/* Once: check each byte of the file, and place its predictor in the block. The file may be of
       either precision. It is not needed afterwards. */
	odvgpf_server server;
	odvgp_info info;
	if (odvgpf_server_from_memory(
				&server, file, file_bytes, ODVGP_ISA_AUTO, block, sizeof block, &info)) {
		fprintf(stderr, "%s: %s\n", path, info.text);
		return 1;
	}
	printf("a file of %.0f KB, a predictor of %.0f KB, scratch of %.0f KB\n",
			ceil((double)file_bytes / 1e3),
			ceil((double)odvgpf_server_size(file, file_bytes, NULL) / 1e3),
			ceil((double)odvgpf_predict_scratch(&server, 1, NULL) / 1e3));

	/* Forever: predict. The variance is that of the curve; an array instead of NULL would receive
       the variance of a measurement, with noise. */
	printf("   x    mean      sd\n");
	for (int tick = 0; tick <= 8; tick++) {
		const float x = measure(tick);
		float mean, var;
		if (odvgpf_predict(&server, &x, 1, &mean, &var, scratch, sizeof scratch, &info)) {
			fprintf(stderr, "%s\n", info.text);
			return 1;
		}
		printf("%4.1f  %6.2f  %6.2f\n", (double)x, (double)mean, (double)sqrtf(var));
	}
	return 0;
}
