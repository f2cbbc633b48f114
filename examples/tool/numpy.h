/*  numpy.h - the permutations that NumPy draws, so that a split of rows made in Python can be
    repeated here. C99, no dependencies, everything static.

        numpy_random r;
        numpy_seed(&r, 0);
        numpy_permutation(&r, n, order);

    `order` receives what numpy.random.RandomState(0).permutation(n) returns, which is what
    numpy.random.seed(0) followed by numpy.random.shuffle(numpy.arange(n)) leaves in the array.
    NumPy keeps these streams unchanged between versions; those of its newer default_rng differ.

    The generator is the Mersenne Twister MT19937: Matsumoto and Nishimura, ACM TOMACS 8 (1998). */
#ifndef NUMPY_H
#define NUMPY_H

#include <stddef.h>
#include <stdint.h>

enum { NUMPY__STATE = 624, NUMPY__SHIFT = 397 };

typedef struct numpy_random {
	uint32_t state[NUMPY__STATE];
	/* The next word of the state to be used; NUMPY__STATE: all are used. */
	int at;
} numpy_random;

/*  Starts the stream of RandomState(seed). */
static inline void numpy_seed(numpy_random *r, uint32_t seed)
{
	r->state[0] = seed;
	for (uint32_t i = 1; i < NUMPY__STATE; i++) {
		uint32_t before = r->state[i - 1];
		r->state[i] = UINT32_C(1812433253) * (before ^ (before >> 30)) + i;
	}
	r->at = NUMPY__STATE;
}

/*  Replaces all words of the state. */
static inline void numpy__refill(numpy_random *r)
{
	for (int i = 0; i < NUMPY__STATE; i++) {
		uint32_t high = r->state[i] & UINT32_C(0x80000000);
		uint32_t low = r->state[(i + 1) % NUMPY__STATE] & UINT32_C(0x7fffffff);
		uint32_t twist = low & 1 ? UINT32_C(0x9908b0df) : 0;
		uint32_t other = r->state[(i + NUMPY__SHIFT) % NUMPY__STATE];
		r->state[i] = other ^ ((high | low) >> 1) ^ twist;
	}
	r->at = 0;
}

/*  32 random bits. */
static inline uint32_t numpy_bits(numpy_random *r)
{
	if (r->at == NUMPY__STATE) numpy__refill(r);
	uint32_t x = r->state[r->at++];
	x ^= x >> 11;
	x ^= (x << 7) & UINT32_C(0x9d2c5680);
	x ^= (x << 15) & UINT32_C(0xefc60000);
	return x ^ (x >> 18);
}

/*  A random number from 0 to most: as many low bits as `most` has, drawn until they fit. */
static inline uint32_t numpy_interval(numpy_random *r, uint32_t most)
{
	uint32_t mask = most, v;
	if (!most) return 0;
	for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
	do v = numpy_bits(r) & mask;
	while (v > most);
	return v;
}

/*  A random order of 0 to n - 1, for n up to 2^32. */
static inline void numpy_permutation(numpy_random *r, ptrdiff_t n, ptrdiff_t *order)
{
	for (ptrdiff_t i = 0; i < n; i++) order[i] = i;
	for (ptrdiff_t i = n - 1; i > 0; i--) {
		ptrdiff_t k = (ptrdiff_t)numpy_interval(r, (uint32_t)i), swapped = order[i];
		order[i] = order[k];
		order[k] = swapped;
	}
}

#endif
