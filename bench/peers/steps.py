"""Training steps of odvgp and of a PyTorch program of the same model, by turns in one process. The
program prints the least time of each.

    make bench-steps PYTHON=one that has PyTorch and NumPy

does the same as

    python3 bench/peers/steps.py build/steps.so [--threads 2] [--compile]

conv: COUPLED with 100 patches of 5 x 5, 28 x 28 images, batches of 32, ten classes by robust-max.
deep: two COUPLED layers with 100 points, 8 inputs, 8 hidden functions with an identity mean,
batches of 1,024, one sample. All parameters are moved by Adam, in double precision. Before it
takes times the program compares the bounds of both at the same parameters. --compile passes the
PyTorch bound through torch.compile."""

import argparse
import ctypes
import math
import os
import sys
import time

import numpy as np
import torch

SIDE, PATCH, CLASSES, INPUTS, POINTS = 28, 5, 10, 8, 100
EPSILON, NODES, ROUNDS = 1e-3, 20, 12


class Layer(torch.nn.Module):
    """Whitened q of P functions with shared inducing points and a Gaussian kernel."""

    def __init__(self, slot, jitter):
        super().__init__()

        def parameter(name, *shape):
            return torch.nn.Parameter(slot(name).reshape(shape))

        D = slot("Z_beta").numel() // POINTS
        P = slot("q_mu").numel() // POINTS
        self.Z = parameter("Z_beta", POINTS, D)
        self.q_mu = parameter("q_mu", P, POINTS)
        self.q_sqrt = parameter("q_sqrt", P, POINTS, POINTS)
        self.log_lengthscale = torch.nn.Parameter(slot("kernel.0.lengthscale").log())
        self.log_variance = torch.nn.Parameter(slot("kernel.0.variance").log())
        self.jitter = jitter

    def kernel(self, A, B):
        """k(A,B), also of batches of matrices."""
        scale = torch.exp(-self.log_lengthscale)
        A, B = A * scale, B * scale
        half = 0.5 * (A * A).sum(-1)[..., :, None] + 0.5 * (B * B).sum(-1)[..., None, :]
        r2 = (half - A @ B.transpose(-1, -2)).clamp_min(0)
        return torch.exp(self.log_variance - r2)

    def moments(self, Kuf, kff):
        """Mean and variance [n,P] from K(Z,x) [M,n] and k(x,x) [n], and the KL divergence."""
        v = torch.exp(self.log_variance)
        Kuu = self.kernel(self.Z, self.Z)
        Kuu = Kuu + (self.jitter[0] + self.jitter[1] * v) * torch.eye(
            POINTS, dtype=Kuu.dtype
        )
        A = torch.linalg.solve_triangular(torch.linalg.cholesky(Kuu), Kuf, upper=False)
        root = torch.tril(self.q_sqrt)
        T = root.transpose(1, 2) @ A
        var = kff - (A * A).sum(0) + (T * T).sum(1)
        logs = torch.log(torch.diagonal(root, dim1=1, dim2=2).abs()).sum()
        kl = (
            0.5 * ((self.q_mu**2).sum() + (root**2).sum() - root.shape[0] * POINTS)
            - logs
        )
        return (self.q_mu @ A).T, var.T, kl


class Conv(torch.nn.Module):
    def __init__(self, slot, jitter):
        super().__init__()
        self.layer = Layer(slot, jitter)
        self.weights = torch.nn.Parameter(slot("weights"))
        nodes, weights = np.polynomial.hermite.hermgauss(NODES)
        self.nodes = torch.from_numpy(nodes * math.sqrt(2))
        self.node_weights = torch.from_numpy(weights / math.sqrt(math.pi))

    def bound(self, X, Y):
        n = X.shape[0]
        x = X.reshape(n, SIDE, SIDE).unfold(1, PATCH, 1).unfold(2, PATCH, 1)
        patches = x.reshape(n, -1, PATCH * PATCH)
        Kuf = self.weights @ self.layer.kernel(patches, self.layer.Z)
        among = self.layer.kernel(patches, patches)
        kff = ((self.weights @ among) * self.weights).sum(-1)
        mean, var, kl = self.layer.moments(Kuf.T, kff)
        sd = var.sqrt()
        at = (mean.gather(1, Y) + sd.gather(1, Y) * self.nodes)[:, None, :]
        logs = torch.special.log_ndtr((at - mean[:, :, None]) / sd[:, :, None])
        own = torch.nn.functional.one_hot(Y[:, 0], CLASSES).bool()
        logs = logs.masked_fill(own[:, :, None], 0).sum(1)
        p = logs.exp() @ self.node_weights
        likelihood = p * math.log1p(-EPSILON) + (1 - p) * math.log(
            EPSILON / (CLASSES - 1)
        )
        return likelihood.sum() - kl


class Deep(torch.nn.Module):
    def __init__(self, slot, jitter):
        super().__init__()
        for l in range(2):
            self.add_module(
                f"layer{l}", Layer(lambda name: slot(f"layer{l}.{name}"), jitter)
            )
        self.log_noise = torch.nn.Parameter(slot("noise_variance").log())

    def bound(self, X, Y):
        total, h = 0, X
        for l, layer in enumerate((self.layer0, self.layer1)):
            variance = torch.exp(layer.log_variance).expand(h.shape[0])
            mean, var, kl = layer.moments(layer.kernel(layer.Z, h), variance)
            total = total - kl
            if l == 0:
                h = X + mean + var.clamp_min(0).sqrt() * torch.randn_like(mean)
        error = ((Y - mean) ** 2 + var) * torch.exp(-self.log_noise)
        return total - 0.5 * (error + self.log_noise + math.log(2 * math.pi)).sum()


def load(path):
    lib = ctypes.CDLL(os.path.abspath(path))
    lib.steps_make.argtypes = [ctypes.c_int, ctypes.c_ssize_t, ctypes.c_int]
    lib.steps_slot.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    lib.steps_slot.restype = ctypes.c_ssize_t
    lib.steps_data.restype = ctypes.POINTER(ctypes.c_double)
    for name in ("steps_bound", "steps_time", "steps_jitter"):
        getattr(lib, name).restype = ctypes.c_double
    return lib


def twin(lib, deep, rows, threads):
    """The library's model after some steps, the same in PyTorch, and the rows of both."""
    if lib.steps_make(deep, rows, threads) or not lib.steps_time(30) > 0:
        sys.exit("no model")

    def slot(name):
        count = lib.steps_slot(name.encode(), None)
        values = torch.zeros(count, dtype=torch.float64)
        if not count or not lib.steps_slot(name.encode(), values.data_ptr()):
            sys.exit(f"no slot {name}")
        return values

    def data(targets, columns):
        values = np.ctypeslib.as_array(lib.steps_data(targets), (rows, columns))
        return torch.from_numpy(values.copy())

    jitter = [lib.steps_jitter(k) for k in (0, 1)]
    X = data(0, INPUTS if deep else SIDE * SIDE)
    Y = data(1, 1) if deep else data(1, 1).long()
    return (Deep if deep else Conv)(slot, jitter), X, Y


def compare(lib, model, X, Y, repeats):
    """Stops the program if the bounds of both differ by more than what samples explain."""
    ours = lib.steps_bound()
    with torch.no_grad():
        theirs = [model.bound(X, Y).item() for _ in range(repeats)]
    mean, sd = np.mean(theirs), np.std(theirs)
    print(f"    bound: odvgp {ours:.6f}, PyTorch {mean:.6f}, its samples {sd:.6f}")
    if not abs(ours - mean) <= 1e-7 * abs(mean) + 5 * sd:
        sys.exit("they disagree")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("path")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--compile", action="store_true")
    given = p.parse_args()
    torch.set_num_threads(given.threads)
    lib = load(given.path)
    for name, deep, rows, ours_count, their_count in (
        ("conv", 0, 32, 6, 2),
        ("deep", 1, 1024, 20, 4),
    ):
        print(
            f"{name}, {rows} rows, {given.threads} threads, least of {ROUNDS} rounds by turns"
        )
        model, X, Y = twin(lib, deep, rows, given.threads)
        compare(lib, model, X, Y, 20 if deep else 1)
        adam = torch.optim.Adam(model.parameters(), lr=0.01)
        bound = torch.compile(model.bound) if given.compile else model.bound

        def step():
            adam.zero_grad()
            loss = -bound(X, Y)
            loss.backward()
            adam.step()
            return loss.item()

        step()
        ours = theirs = math.inf
        for _ in range(ROUNDS):
            ours = min(ours, lib.steps_time(ours_count))
            start = time.perf_counter()
            for _ in range(their_count):
                loss = step()
            theirs = min(theirs, 1e3 * (time.perf_counter() - start) / their_count)
        if not (ours > 0 and math.isfinite(loss)):
            sys.exit("a step failed")
        print(
            f"    ms/step: odvgp {ours:.2f}, PyTorch {theirs:.2f}, ratio {theirs / ours:.2f}"
        )


main()
