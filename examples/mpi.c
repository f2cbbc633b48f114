/*  Many processes train one model with the bits of one. The table is a NumPy file (float64, C order,
    the target in the last column) that all can open; each process reads the rows of its shards.

        mpicc -O2 -I. examples/mpi.c -o build/mpi -lm      (Open MPI or MPICH)
        python3 -c 'import numpy as n; X = n.random.rand(20000, 3); n.save("table.npy",
            n.column_stack([X, n.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2]]))'
        mpirun -np 4 build/mpi table.npy model.odvgp 600 M=60 M_gamma=120 optim.batch=512

    trains to 600 steps. If the file model.odvgp exists, training goes on from it, with any number
    of processes (a power of two, at most 8). It is written every 100 steps, and after SIGINT or
    SIGTERM to any process, which ends all. The words set fields of odvgp_config. SGPR's bound on all
    rows, by L-BFGS:

        mpirun -np 4 build/mpi table.npy sgpr.odvgp 60 M=60 M_gamma=0 mean_part=beta \
            optim.batch=1000000000 optim.kind=lbfgs optim.natgrad=off objective=collapsed

    With Slurm; a job that meets its time limit stops well and is submitted again:

        #SBATCH --nodes=4 --ntasks-per-node=1 --time=1:00:00 --signal=TERM@120
        srun --mpi=pmix --kill-on-bad-exit=1 build/mpi /shared/table.npy /shared/model.odvgp 20000 \
            M=300 M_gamma=700 optim.batch=4096

    A process that dies ends all: mpirun does that, and srun with --kill-on-bad-exit. To predict for
    a large file needs no MPI: give each machine a part of it (odvgp predict). */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHARDS = 8, CHECKPOINT = 100, COLUMNS = 1000, PIECE = 1 << 30 };

static volatile sig_atomic_t asked_to_stop;
static void on_signal(int number) { asked_to_stop = number; }
static int watch_signal(void *user, const odvgp_progress *progress)
{
	(void)user, (void)progress;
	return asked_to_stop != 0;
}

/*  What odvgp_reduce asks of us; in pieces, as MPI counts in int. */
static odvgp_status exchange(void *user, int partner, const void *send, void *receive, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += PIECE) {
		int n = (int)(bytes - at < PIECE ? bytes - at : PIECE);
		if (MPI_Sendrecv((const char *)send + at, n, MPI_BYTE, partner, 0, (char *)receive + at, n,
					MPI_BYTE, partner, 0, *(MPI_Comm *)user, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return ODVGP_E_IO;
	}
	return ODVGP_OK;
}

/* ---- the table ---- */

typedef struct {
	FILE *file;
	long first;       /* byte of the first row */
	long rows, width; /* width: inputs and target */
	ptrdiff_t at;     /* the row at which the file stands; -1: unknown */
	double row[COLUMNS], mean[COLUMNS], scale[COLUMNS]; /* means 0 and scales 1 until known */
} table;

static int open_table(table *t, const char *path)
{
	char head[1024] = "", *shape;
	t->file = fopen(path, "rb");
	if (!t->file || fread(head, 1, 10, t->file) != 10 || memcmp(head, "\x93NUMPY\1", 7)) return 0;
	unsigned n = (unsigned char)head[8] + 256u * (unsigned char)head[9];
	if (n >= sizeof head || fread(head, 1, n, t->file) != n) return 0;
	head[n] = 0;
	shape = strstr(head, "'shape': (");
	t->first = 10 + (long)n;
	t->at = -1;
	for (int d = 0; d < COLUMNS; d++) t->scale[d] = 1;
	return strstr(head, "'<f8'") && strstr(head, "'fortran_order': False") && shape &&
		   sscanf(shape + 10, "%ld, %ld", &t->rows, &t->width) == 2 && t->rows > 0 &&
		   t->width > 1 && t->width < COLUMNS;
}

static ptrdiff_t read_rows(void *user, const ptrdiff_t *rows, ptrdiff_t n, double *X, double *Y)
{
	table *t = (table *)user;
	ptrdiff_t D = t->width - 1, bytes = t->width * (ptrdiff_t)sizeof(double);
	for (ptrdiff_t i = 0; i < n; i++) {
		if (rows[i] != t->at && fseeko(t->file, t->first + (off_t)rows[i] * bytes, SEEK_SET))
			return i;
		t->at = -1;
		if (fread(t->row, (size_t)bytes, 1, t->file) != 1) return i;
		t->at = rows[i] + 1;
		for (ptrdiff_t d = 0; d < D && X; d++)
			X[i * D + d] = (t->row[d] - t->mean[d]) / t->scale[d];
		if (Y) Y[i] = t->row[D];
	}
	return n;
}

/*  Of a file's first `most` bytes and its length: enough to see that ranks have different files. */
static uint64_t hash_file(const char *path, long most)
{
	FILE *f = fopen(path, "rb");
	uint64_t h = 1;
	for (int c; f && most-- > 0 && (c = getc(f)) != EOF;) h = (h ^ (uint64_t)c) * 1099511628211u;
	if (f && !fseeko(f, 0, SEEK_END)) h ^= (uint64_t)ftello(f);
	if (f) fclose(f);
	return h;
}

/* ---- training ---- */

static odvgp_status fit_q(odvgp_model *m, odvgp_info *info)
{
	size_t bytes = odvgp_fit_q_scratch(m, info);
	void *scratch = malloc(bytes + 1);
	odvgp_status s = odvgp_fit_q(m, NULL, NULL, NULL, scratch, bytes, info);
	free(scratch);
	return s;
}

/*  From the model's steps to `steps`; rank 0 writes the file. */
static odvgp_status train(
		odvgp_model *m, const char *path, ptrdiff_t steps, int rank, odvgp_info *info)
{
	const odvgp_watch watch = {watch_signal, NULL};
	odvgp_status s = ODVGP_OK, written = ODVGP_OK;
	ptrdiff_t from, done = odvgp_steps_done(m);
	do {
		from = done;
		if (steps > from)
			s = odvgp_fit(m, NULL, NULL, steps - from < CHECKPOINT ? steps - from : CHECKPOINT,
					&watch, info);
		done = odvgp_steps_done(m);
		if (done == 0 || (s && s != ODVGP_E_STOPPED)) break;
		/* a bound without q: its q is for the file */
		if (odvgp_model_config(m)->objective) written = fit_q(m, info);
		if (rank == 0 && !written) written = odvgp_save_file(m, path, info);
	} while (!s && !written && done > from && done < steps);
	return written ? written : s;
}

int main(int argc, char **argv)
{
	static table t;
	MPI_Comm world = MPI_COMM_WORLD;
	odvgp_reduce reduce = {0, 1, exchange, &world, 0, 0, 0};
	const odvgp_reader reader = {read_rows, &t};
	odvgp_config cfg;
	odvgp_model *m = NULL;
	odvgp_info info;
	odvgp_real bound = 0, noise = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
	MPI_Comm_rank(world, &reduce.rank);
	MPI_Comm_size(world, &reduce.size);
	signal(SIGINT, on_signal), signal(SIGTERM, on_signal);
	if (argc < 4 || !open_table(&t, argv[1])) {
		fprintf(stderr, "usage: mpi TABLE.npy MODEL STEPS [field=value ...]; float64, C order\n");
		MPI_Abort(world, 2);
	}
	cfg = odvgp_config_defaults(t.rows, t.width - 1, 1, 50, 100);
	cfg.shards = SHARDS;
	odvgp_status s = ODVGP_OK;
	for (int i = 4; i < argc && !s; i++) s = odvgp_config_set(&cfg, argv[i], &info);
	FILE *old = fopen(argv[2], "rb");
	if (old) fclose(old);
	MPI_Barrier(world); /* rank 0 writes that file later */
	if (!s)
		s = old ? odvgp_load_file(&m, argv[2], NULL, &info)
				: odvgp_model_create(&m, &cfg, NULL, NULL, NULL, &info);
	size_t bytes = s ? 0 : odvgp_reader_size(m, &info);
	void *block = malloc(bytes + 1);
	if (!s) s = odvgp_set_reader(m, &reader, block, bytes, &info);
	reduce.program = hash_file(argv[0], 1 << 26);
	reduce.table = hash_file(argv[1], 1 << 16);
	if (!s) s = odvgp_set_reduce(m, &reduce, &info);
	double mean[COLUMNS], scale[COLUMNS];
	if (!s) s = odvgp_reader_scales(m, mean, scale, &info);
	for (long d = 0; d + 1 < t.width && !s; d++) t.mean[d] = mean[d], t.scale[d] = scale[d];
	if (!s && !old) s = odvgp_init_data(m, NULL, NULL, NULL, &info);
	if (!s) s = train(m, argv[2], atol(argv[3]), reduce.rank, &info);
	if (!s) s = odvgp_elbo(m, NULL, NULL, t.rows, &bound, NULL, NULL, &info);
	if (!s && reduce.rank == 0) {
		odvgp_get(m, "noise_variance", &noise, 1, NULL);
		printf("%ld rows, %d processes, %td steps: bound %.2f, noise %.3f\n", t.rows, reduce.size,
				odvgp_steps_done(m), bound, sqrt(noise));
	}
	if (s == ODVGP_E_STOPPED && reduce.rank == 0)
		printf("stopped after %td steps: the same command goes on\n", odvgp_steps_done(m));
	if (s && s != ODVGP_E_STOPPED) {
		fprintf(stderr, "rank %d: %s\n", reduce.rank, info.text);
		MPI_Abort(world, 1);
	}
	odvgp_model_free(m);
	free(block);
	fclose(t.file);
	return MPI_Finalize() != MPI_SUCCESS;
}
