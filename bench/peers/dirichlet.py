"""Dirichlet GP classification (Milios et al. 2018): sparse regression on transformed labels.

A label y of P classes becomes alpha_c = eps + [c = y], and class c gets the target
log alpha_c - s_c / 2 with Gaussian noise of the known variance s_c = log(1 + 1 / alpha_c). All
classes share a Matern 5/2 kernel with a lengthscale for each input and the inducing inputs, each has
a mean of its own; q is Titsias' optimum, one factor for each class. Kernel and 200 inducing inputs
come from 60 iterations of L-BFGS on 3,000 rows, the optimum from all rows with 300 of them as
further inducing inputs. Probabilities are the mean softmax of 300 samples.

It needs GPflow from PyPI.
"""

import os
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import gpflow

ROWS, LEARNED, POINTS, ITERATIONS, SAMPLES = 3000, 200, 500, 60, 300


def targets(y, classes, eps):
    alpha = eps + np.eye(classes)[y]
    noise = np.log1p(1 / alpha)
    return np.log(alpha) - noise / 2, noise


def optimum(kernel, Z, X, Y, noise):
    """Titsias' bound, the factor of K(Z,Z), and of each class the factor of B and its solution."""
    M = len(Z)
    L = tf.linalg.cholesky(kernel(Z) + 1e-6 * tf.eye(M, dtype=X.dtype))
    A = tf.linalg.triangular_solve(L, kernel(Z, X))
    rest = kernel(X, full_cov=False) - tf.reduce_sum(A * A, 0)
    bound, parts = 0.0, []
    for c in range(Y.shape[1]):
        w = 1 / noise[:, c]
        LB = tf.linalg.cholesky(tf.eye(M, dtype=X.dtype) + tf.matmul(A * w, A, transpose_b=True))
        b = tf.linalg.matvec(A, w * Y[:, c])
        v = tf.linalg.triangular_solve(LB, b[:, None])[:, 0]
        bound += 0.5 * (
            tf.reduce_sum(v * v - 2 * tf.math.log(tf.linalg.diag_part(LB)))
            - tf.reduce_sum(tf.math.log(2 * np.pi / w) + w * (Y[:, c] ** 2 + rest))
        )
        parts.append((LB, v))
    return bound, L, parts


def train(X, y, eps, rng):
    """Kernel, inducing inputs, means, factors."""
    Y, noise = targets(y, y.max() + 1, eps)
    mean = Y.mean(0)
    rows = rng.permutation(len(X))[:ROWS]
    kernel = gpflow.kernels.Matern52(10.0, np.full(X.shape[1], np.sqrt(X.shape[1])))
    Z = tf.Variable(X[rows[:LEARNED]])
    part = [tf.constant(a[rows]) for a in (X, Y - mean, noise)]
    loss = tf.function(lambda: -optimum(kernel, Z, *part)[0] / len(rows))
    gpflow.optimizers.Scipy().minimize(
        loss, [*kernel.trainable_variables, Z], options={"maxiter": ITERATIONS}
    )
    more = X[rng.permutation(len(X))[: POINTS - LEARNED]]
    Z = tf.constant(np.concatenate([Z.numpy(), more]))
    _, L, parts = optimum(kernel, Z, *map(tf.constant, (X, Y - mean, noise)))
    return kernel, Z, mean, L, parts


def predict(model, X, rng):
    kernel, Z, mean, L, parts = model
    A = tf.linalg.triangular_solve(L, kernel(Z, X))
    rest = kernel(X, full_cov=False) - tf.reduce_sum(A * A, 0)
    f, sd = np.empty((2, len(X), len(parts)))
    for c, (LB, v) in enumerate(parts):
        W = tf.linalg.triangular_solve(LB, A)
        f[:, c] = tf.linalg.matvec(W, v, transpose_a=True) + mean[c]
        sd[:, c] = np.sqrt(rest + tf.reduce_sum(W * W, 0))
    p = np.zeros_like(f)
    for _ in range(SAMPLES):
        z = f + sd * rng.normal(size=f.shape)
        z = np.exp(z - z.max(1, keepdims=True))
        p += z / z.sum(1, keepdims=True) / SAMPLES
    return p


def way(train_rows, test_rows, eps=0.01, seed=1):
    """Processor seconds of the training, and probabilities of the test rows."""
    rng = np.random.default_rng(seed)
    X, y = train_rows[:, :-1], train_rows[:, -1].astype(int)
    mean, sd = X.mean(0), X.std(0)
    sd[sd == 0] = 1
    begin = time.process_time()
    model = train((X - mean) / sd, y, eps, rng)
    seconds = time.process_time() - begin
    return seconds, predict(model, (test_rows[:, :-1] - mean) / sd, rng)
