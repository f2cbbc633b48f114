"""Training steps and predictions of odvgp beside those of PyTorch, GPyTorch, GPflow and NumPy, in
one table. What is not installed is left out.

    make bench-peers PYTHON=one that has them

does the same as

    python3 bench/peers/table.py build/peers.so --threads 1
    python3 bench/peers/table.py build/peers.so --threads 2
    python3 bench/peers/table.py build/f32/peers.so --threads 2

Options: --rows NAME... of `orth coupled conv deep predict`; --large on: 1,500 + 3,500 points, too;
--compile on: the PyTorch bound through torch.compile, too; --rounds N.

orth, coupled: matern52 + rbf, natural steps for q, Adam for the rest, batches of 1,024. Of KL's
gamma part a step takes 64 columns. GPyTorch and GPflow have no decoupled member and stand beside
coupled; GPflow takes turns in double only, and not with --compile on, since its compiler and
PyTorch's do not fit into one process. conv: 100 patches of 5 x 5, images of 28 x 28, ten classes by robust-max, batches of 32,
Adam alone. deep: two layers, 8 hidden functions with an identity mean, one sample. predict: one row
in each call, or 64; microseconds a row.

All take turns in one process, with as many threads. Where the model is the same the program first
compares bounds, or predictions, at the same numbers and ends if they differ. A row's ratios are
those of the least times; the peak of one thread is measured before and after each row, which is
repeated, twice at most, and then marked with `!`, if the two differ by more than 10 %."""

import argparse
import ctypes
import importlib.metadata
import importlib.util
import math
import os
import statistics
import sys
import time
import warnings

for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(variable, None)  # NumPy's library chooses its kernels itself
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
threads = sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv else "1"
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = threads
warnings.filterwarnings("ignore", category=FutureWarning)
if len(sys.argv) > 1 and os.path.exists(sys.argv[1]):
    ctypes.CDLL(os.path.abspath(sys.argv[1]), ctypes.RTLD_GLOBAL)  # before MKL: see ours.c

import numpy as np
import twins

torch = twins.torch
TURN, TRIES, UNSTEADY = 0.1, 3, 1.1
MODELS = {  # |beta|, |gamma|, inputs, rows
    "orth": [(300, 700, 8, 1024), (1500, 3500, 3, 1024)],
    "coupled": [(300, 0, 8, 1024), (1500, 0, 3, 1024)],
    "conv": [(100, 0, twins.SIDE**2, 32)],
    "deep": [(100, 0, 8, 1024)],
}
TWINS = {"orth": "Orth", "coupled": "Orth", "conv": "Conv", "deep": "Deep"}
SERVED = [("matern52(ard)", 300, 700, 8), ("rbf(ard)", 300, 700, 8)]


class Ours:
    """The library, and the numbers of its model as arrays."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(os.path.abspath(path))
        self.real = np.float32 if "f32" in path else np.float64
        size, pointer = ctypes.c_ssize_t, ctypes.c_void_p
        self.lib.ours_make.argtypes = [ctypes.c_char_p] + 4 * [size] + [ctypes.c_int]
        self.lib.ours_serve.argtypes = 3 * [size] + [ctypes.c_char_p]
        self.lib.ours_slot.argtypes = [ctypes.c_char_p, pointer]
        self.lib.ours_slot.restype = size
        self.lib.ours_predict.argtypes = [ctypes.c_int, pointer, pointer]
        self.lib.ours_piece.argtypes = [ctypes.c_char]
        for name in ("bound", "steps", "jitter", "peak", "predict"):
            getattr(self.lib, f"ours_{name}").restype = ctypes.c_double
        kind = ctypes.c_float if self.real == np.float32 else ctypes.c_double
        for name in ("data", "piece"):
            getattr(self.lib, f"ours_{name}").restype = ctypes.POINTER(kind)

    def slot(self, name, optional=False):
        count = self.lib.ours_slot(name.encode(), None)
        if not count and optional:
            return None
        if not count:
            sys.exit(f"no slot {name}")
        values = np.zeros(count, self.real)
        self.lib.ours_slot(name.encode(), values.ctypes.data)
        return values

    def piece(self, letter, count):
        return np.array(np.ctypeslib.as_array(self.lib.ours_piece(letter.encode()), (count,)))

    def data(self, targets, rows, columns):
        return np.array(np.ctypeslib.as_array(self.lib.ours_data(targets), (rows, columns)))

    def jitter(self):
        return [self.lib.ours_jitter(k) for k in (0, 1)]


class Steps:
    """A peer's training step by turns: as many a turn as take a tenth of a second."""

    def __init__(self, name, step):
        self.name, self.step, self.count = name, step, 1
        step()
        self.count = max(1, round(1e3 * TURN / self.turn()))

    def turn(self):
        begin = time.perf_counter()
        for _ in range(self.count):
            if not math.isfinite(self.step()):
                sys.exit(f"{self.name}: a step failed")
        return 1e3 * (time.perf_counter() - begin) / self.count


class OurSteps:
    name = "odvgp"

    def __init__(self, ours):
        self.lib = ours.lib
        once = self.lib.ours_steps(1)
        self.count = max(1, round(1e3 * TURN / once))

    def turn(self):
        return self.lib.ours_steps(self.count)


class Rows:
    """Predictions of 64 rows, one or all in each call."""

    def __init__(self, name, predict):
        self.name, self.turn = name, predict


def take_turns(ours, title, all_of, rounds):
    """Prints a line for each of the contenders, ours first."""
    for attempt in range(TRIES):
        before = ours.lib.ours_peak()
        times = [[] for _ in all_of]
        for _ in range(rounds):
            for contender, own in zip(all_of, times):
                own.append(contender.turn())
        after = ours.lib.ours_peak()
        steady = max(before, after) <= UNSTEADY * min(before, after)
        if steady:
            break
    for contender, own in zip(all_of, times):
        first = own is times[0]
        ratio = "" if first else f"{min(own) / min(times[0]):.2f}"
        line = f"{title if first else '':41} {contender.name:13} {min(own):9.2f} "
        line += f"{statistics.median(own):9.2f} {ratio:>7} "
        line += f"{min(before, after):8.1f}{'' if steady else ' !'}" if first else ""
        print(line.rstrip(), flush=True)


def compare(title, ours, theirs, tolerance):
    """Ends the program if a number of ours is not among theirs, as far as samples explain."""
    mean, sd = np.mean(theirs), np.std(theirs)
    if not abs(ours - mean) <= tolerance * abs(mean) + 5 * sd:
        sys.exit(f"{title}: odvgp has {ours:.9g}, the twin {mean:.9g}, its samples {sd:.3g}")


def torch_steps(ours, kind, X, Y, compiled):
    """The twins of the model; the first compares bounds."""
    torch.set_num_threads(int(threads))
    torch.set_default_dtype(torch.float32 if ours.real == np.float32 else torch.float64)

    def slot(name, optional=False):
        values = ours.slot(name, optional)
        return None if values is None else torch.from_numpy(values.copy())

    made = []
    for name in ("PyTorch", "torch.compile")[: 2 if compiled else 1]:
        model = getattr(twins, TWINS[kind])(slot, ours.jitter())
        model.begin(torch.from_numpy(X), torch.from_numpy(Y))
        with torch.no_grad():
            bounds = [model.bound(model.X, model.Y).item() for _ in range(20)]
        compare(kind, ours.lib.ours_bound(), bounds, 1e-3 if ours.real == np.float32 else 1e-7)
        if name != "PyTorch":
            inner = "fit" if hasattr(model, "fit") else "bound"
            setattr(model, inner, torch.compile(getattr(model, inner)))
        made.append(Steps(name, model.step))
    return made


def train(ours, kind, sizes, given):
    M, G, D, rows = sizes
    ours.lib.ours_make(kind.encode(), M, G, D, rows, int(threads))
    ours.lib.ours_steps(30 if M < 1000 else 5)
    X, Y = ours.data(0, rows, D), ours.data(1, rows, 1)
    all_of = torch_steps(ours, kind, X, Y, given.compile == "on") if torch else []
    if kind == "coupled":
        Z = ours.slot("Z_beta").reshape(M, D)
        if ours.real == np.float64 and given.compile == "off":
            step = twins.gpflow_svgp(X, Y, Z, int(threads))
            all_of += [Steps("GPflow", step)] if step else []
        step = torch and twins.gpytorch_svgp(*map(torch.from_numpy, (X, Y, Z)))
        all_of += [Steps("GPyTorch", step)] if step else []
    title = f"{kind}: {M}{f' + {G}' if G else ''}, {D}, {rows}"
    take_turns(ours, title, [OurSteps(ours), *all_of], given.rounds)


def predict(ours, served, given):
    kernel, M, G, D = served
    ours.lib.ours_serve(M, G, D, kernel.encode())
    X = ours.data(0, 64, D)
    twin = twins.Serve(ours.slot, ours.piece, M, G, D, kernel)
    mean, var = np.zeros((2, 64), ours.real)
    tolerance = 2e-2 if ours.real == np.float32 else 1e-6
    for what, formula in (("mean", twin.mean), ("moments", twin.both)):
        for all_rows in (0, 1):
            target = var.ctypes.data if formula == twin.both else None

            def our_turn():
                return ours.lib.ours_predict(all_rows, mean.ctypes.data, target)

            def their_turn():
                begin = time.perf_counter()
                for x in [X] if all_rows else X:
                    formula(x)
                return 1e6 * (time.perf_counter() - begin) / len(X)

            our_turn()
            for got, want in zip((mean, var), formula(X)):
                if want is not None and not np.allclose(got, want, rtol=tolerance, atol=tolerance):
                    sys.exit(f"{kernel}, {what}: predictions differ by {abs(got - want).max()}")
            both = [Rows("odvgp", our_turn), Rows("NumPy", their_turn)]
            title = f"{what}, {kernel}: {M} + {G}, {D}, {64 if all_rows else 1}"
            take_turns(ours, title, both, 20 * given.rounds)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("path")
    p.add_argument("--threads", type=int, choices=(1, 2), default=1)
    p.add_argument("--rows", nargs="+", default=[*MODELS, "predict"])
    p.add_argument("--large", choices=("on", "off"), default="off")
    p.add_argument("--compile", choices=("on", "off"), default="off")
    p.add_argument("--rounds", type=int, default=12)
    given = p.parse_args()
    ours = Ours(given.path)
    ours.lib.ours_peak()
    print(f"{ours.real.__name__}, threads: {threads}; NumPy {np.__version__}", end="")
    for name in ("torch", "gpytorch", "gpflow"):
        there = importlib.util.find_spec(name)
        print(f", {name} {importlib.metadata.version(name)}" if there else "", end="")
    print(
        f"; {given.rounds} turns each\n"
        f"{'model: points, inputs, rows':41} {'':13} {'best':>9} {'median':>9} {'ratio':>7} "
        f"{'peak':>8}"
    )
    for kind in given.rows:
        for sizes in MODELS.get(kind, [])[: 2 if given.large == "on" else 1]:
            train(ours, kind, sizes, given)
    for served in SERVED if "predict" in given.rows else []:
        if threads == "1":
            predict(ours, served, given)


main()
