"""One row predicted by odvgp and by a NumPy formula of the same model, by turns in one process. The
program prints the least time of each.

    make bench-serve

does the same as

    python3 bench/peers/serve.py build/serve.so [|beta| |gamma| D kernel]

The formula has prepared what a NumPy program would prepare once: points divided by the
lengthscales, their squares, the inverse of L, q_sqrt transposed. It uses one BLAS thread. The
program removes OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE from the environment, so that NumPy's library
chooses its kernels itself."""
import ctypes
import os
import sys
import time

for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np

ROWS, CALLS, ROUNDS = 64, 64, 400
KERNELS = {
    "matern52(ard)": lambda r2: (1 + (s := np.sqrt(5 * r2)) + 5 / 3 * r2) * np.exp(-s),
    "rbf(ard)": lambda r2: np.exp(-0.5 * r2),
}


def model(lib, M, G, D, kernel):
    """Formulas of the mean, and of mean and variance. All that does not depend on x is prepared."""
    lib.serve_piece.restype = ctypes.POINTER(ctypes.c_double)

    def piece(letter, *shape):
        return np.array(np.ctypeslib.as_array(lib.serve_piece(ctypes.c_char(letter)), shape))

    hyp = piece(b"h", D + 1)
    lengths, v = hyp[:D], hyp[D]
    Z = np.vstack([piece(b"B", M, D), piece(b"G", G, D)]) / lengths
    squares, twice = (Z * Z).sum(1), 2 * Z
    weights = v * np.concatenate([piece(b"a", M), piece(b"g", G)])
    inverse = v * np.linalg.inv(np.tril(piece(b"L", M, M)))
    root = np.ascontiguousarray(np.tril(piece(b"R", M, M)).T)
    shape = KERNELS[kernel]

    def k(x):
        x = x / lengths
        return shape(np.maximum(squares - twice @ x + x @ x, 0))

    def mean(x):
        return k(x) @ weights

    def both(x):
        row = k(x)
        A = inverse @ row[:M]
        T = root @ A
        return row @ weights, max(v - A @ A, 0) + T @ T

    return piece(b"X", ROWS, D), mean, both


def main(path, M=300, G=700, D=8, kernel="matern52(ard)"):
    M, G, D = int(M), int(G), int(D)
    lib = ctypes.CDLL(os.path.abspath(path))
    lib.serve_make.argtypes = [ctypes.c_ssize_t] * 3 + [ctypes.c_char_p]
    lib.serve_time.restype = ctypes.c_double
    if lib.serve_make(M, G, D, kernel.encode()):
        sys.exit("no model")
    X, mean, both = model(lib, M, G, D, kernel)
    got = ctypes.c_double(), ctypes.c_double()
    least = {}
    for _ in range(ROUNDS):
        for what, formula in ((0, mean), (1, both)):
            ours = lib.serve_time(CALLS, what, ctypes.byref(got[0]), ctypes.byref(got[1]))
            start = time.perf_counter()
            for x in X:
                want = formula(x)
            numpy = 1e6 * (time.perf_counter() - start) / CALLS
            old = least.get(what, (1e9, 1e9))
            least[what] = min(old[0], ours), min(old[1], numpy)
    close = np.allclose([g.value for g in got], want, rtol=1e-6, atol=1e-9)
    sizes = f"|beta| {M}, |gamma| {G}, D {D}, {kernel}"
    print(f"one row, microseconds, least of {ROUNDS} rounds by turns; {sizes}")
    for what, name in ((0, "mean"), (1, "mean and variance")):
        ours, numpy = least[what]
        print(f"{name:18} odvgp {ours:7.2f}   numpy {numpy:7.2f}   ratio {ours / numpy:.3f}")
    if not close:
        sys.exit(f"they disagree: {[g.value for g in got]} and {want}")


main(*sys.argv[1:])
