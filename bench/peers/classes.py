"""Classes: the tool beside LightGBM, on sets of DATA and on generated ones.

    python3 bench/peers/classes.py TOOL DATA OUT valid|test "SET..." WAY...

A SET may be NAME:N, which trains on N rows. A WAY is `boosting` (LightGBM with its defaults),
`early` (LightGBM that stops early on a tenth of its rows), `dirichlet` or `dirichlet:EPS`
(dirichlet.py, which needs GPflow), or options of `odvgp train`, "" for none.
The rows of --split numpy:7 are the test rows. `test` trains on the others and scores the test rows;
`valid` splits the others once more (numpy:1) and leaves the test rows alone. Generated sets have
10,000 rows, and as many for each of the two purposes. Each run adds a line to OUT/classes.txt:
errors, log-likelihood, ECE over 15 bins of equal count of the most probable label, what chance makes
of it where probabilities are right, Brier score, and processor seconds of the training, all threads
together. It needs NumPy, and LightGBM from PyPI for the two ways of that name.

Generated: `blobs` (20 classes of two Gaussians each in 8 columns), `waves` (8 classes, softmax of
smooth functions of 5 columns), `letters` (26 classes in 16 columns of small integers, five kinds
of each).
"""

import csv
import gzip
import math
import os
import resource
import subprocess
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore", module="lightgbm")  # of names that it will change
GENERATED = {}
ROWS, TESTED = 10000, 10000


def generated(make):
    GENERATED[make.__name__] = make
    return make


@generated
def blobs(rng, n, classes=20, D=8):
    centre = rng.normal(size=(classes, 2, D)) * 1.3
    y = rng.integers(classes, size=n)
    X = centre[y, rng.integers(2, size=n)] + rng.normal(size=(n, D))
    return X, y


@generated
def waves(rng, n, classes=8, D=5, features=60):
    X = rng.uniform(-1, 1, size=(n, D))
    W = rng.normal(size=(D, features)) * 1.5
    A = rng.normal(size=(features, classes)) * math.sqrt(2 / features) * 4
    f = np.cos(X @ W + rng.uniform(0, 2 * math.pi, features)) @ A
    return X, (f + rng.gumbel(size=f.shape)).argmax(1)


@generated
def letters(rng, n, classes=26, D=16):
    kind = rng.uniform(2, 13, size=(classes, 5, D))
    y = rng.integers(classes, size=n)
    X = kind[y, rng.integers(5, size=n)] + rng.normal(size=(n, D)) * 2.3
    return np.clip(np.round(X), 0, 15), y


def table(name, data):
    with gzip.open(f"{data}/{name}.csv.gz", "rt") as file:
        return np.loadtxt(file, delimiter=",", ndmin=2)


def rows_of(name, data):
    """All rows, the target last, as 0, 1, ..."""
    if name in GENERATED:
        X, y = GENERATED[name](np.random.default_rng(20), ROWS + 2 * TESTED)
        return np.column_stack([X, y])
    rows = table(name, data)
    rows[:, -1] = np.unique(rows[:, -1], return_inverse=True)[1]
    return rows


def split(rows, seed):
    order = np.arange(len(rows))
    np.random.RandomState(seed).shuffle(order)
    cut = int(len(rows) * 0.9)
    return rows[order[:cut]], rows[order[cut:]]


def parts(name, data):
    """Training rows, test rows, and both of `valid`."""
    rows = rows_of(name, data)
    if name in GENERATED:
        train = rows[:ROWS]
        return train, rows[ROWS + TESTED :], (train, rows[ROWS : ROWS + TESTED])
    train, test = split(rows, 7)
    return train, test, split(train, 1)


def ece(p, y, bins=15):
    """Over bins of equal count; rows of equal probability share their right labels."""
    top, right = p.max(1), p.argmax(1) == y
    value, where, count = np.unique(top, return_inverse=True, return_counts=True)
    share = np.bincount(where, right) / count
    order = np.argsort(top)
    gap = np.concatenate([[0], np.cumsum((top - share[where])[order])])
    at = np.interp(np.arange(bins + 1) * len(y) / bins, np.arange(len(y) + 1), gap)
    return np.abs(np.diff(at)).sum() / len(y)


def chance(p, bins=15):
    """About what ECE is for as many rows where the probabilities are right."""
    top = np.sort(p.max(1))
    at = np.concatenate([[0], np.cumsum(top * (1 - top))])
    at = np.interp(np.arange(bins + 1) * len(p) / bins, np.arange(len(p) + 1), at)
    return np.sqrt(2 / math.pi * np.diff(at)).sum() / len(p)


def scores(p, y):
    p = np.maximum(p, 1e-300)
    return {
        "errors": np.mean(p.argmax(1) != y),
        "loglik": np.mean(np.log(p[np.arange(len(y)), y])),
        "ece": ece(p, y),
        "chance": chance(p),
        "brier": np.mean(((p - np.eye(p.shape[1])[y]) ** 2).sum(1)),
    }


def tool_way(tool, work, train, test, options):
    for name, rows in ("train", train), ("test", test):
        np.savetxt(f"{work}/{name}.csv", rows, delimiter=",", fmt="%.9g")
    model = ["--model", f"{work}/m.odvgp"]
    classes = [] if "--likelihood" in options else ["--likelihood", likelihood(train)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [tool, "train", "--data", f"{work}/train.csv", "--threads", "1", "--quiet"]
        + model + classes + options.split(),
        check=True, stdout=open(f"{work}/report.txt", "w"),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [tool, "predict", "--data", f"{work}/test.csv", "--out", f"{work}/out.csv", "--quiet"]
        + model, check=True, stdout=subprocess.DEVNULL,
    )
    with open(f"{work}/out.csv") as file:
        rows = list(csv.DictReader(file))
    p = np.zeros((len(rows), int(train[:, -1].max()) + 1))
    for key in rows[0]:
        if key.startswith("p_"):
            p[:, int(float(key[2:]))] = [float(row[key]) for row in rows]
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, p


def likelihood(train):
    return "softmax" if train[:, -1].max() > 1 else "bernoulli"


def boosting_way(train, test, early):
    import lightgbm

    X, y = train[:, :-1], train[:, -1].astype(int)
    model = lightgbm.LGBMClassifier(n_jobs=1, verbose=-1, n_estimators=1000 if early else 100)
    begin = time.process_time()
    if early:
        a, b = split(train, 2)
        model.set_params(learning_rate=0.05)
        model.fit(a[:, :-1], a[:, -1].astype(int), eval_set=[(b[:, :-1], b[:, -1].astype(int))],
                  callbacks=[lightgbm.early_stopping(30, verbose=False)])
    else:
        model.fit(X, y)
    seconds = time.process_time() - begin
    p = np.zeros((len(test), y.max() + 1))
    p[:, model.classes_] = model.predict_proba(test[:, :-1])
    return seconds, p


def main(tool, data, out, part, sets, *ways):
    os.makedirs(out, exist_ok=True)
    for name in sets.split():
        base, _, most = name.partition(":")
        train, test, valid = parts(base, data)
        if part == "valid":
            train, test = valid
        train = train[: int(most)] if most else train
        for way in ways:
            work = f"{out}/{os.getpid()}"
            os.makedirs(work, exist_ok=True)
            if way in ("boosting", "early"):
                seconds, p = boosting_way(train, test, way == "early")
            elif way.startswith("dirichlet"):
                import dirichlet

                seconds, p = dirichlet.way(train, test, float(way.partition(":")[2] or 0.01))
            else:
                seconds, p = tool_way(tool, work, train, test, way)
            s = scores(p, test[:, -1].astype(int))
            text = " ".join(f"{key} {s[key]:8.4f}" for key in s)
            line = f"{name:16} {part} {text}  {seconds:6.1f} s  {os.path.basename(tool)} {way}"
            print(line, flush=True)
            with open(f"{out}/classes.txt", "a") as file:
                print(line, file=file)


if __name__ == "__main__":
    main(*sys.argv[1:])
