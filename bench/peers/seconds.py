"""Models of other libraries beside the tool at equal seconds. For each set of DATA the tool trains
with no option but the data; its seconds are what the others get. Appends a row to OUT/seconds.csv
as each model ends, skips models that have a row, and prints a table.

    make bench-seconds DATA=dir [SETS="bike energy"]

does the same as

    python3 bench/peers/seconds.py build/odvgp DATA build/bench-seconds [SET...]

It needs NumPy, scikit-learn, gpflow and tf_keras from PyPI. Rows are split as --split numpy:0 does
it; inputs and targets are standardised by the training rows, and all figures are in these units.
CRPS is that of the Gaussian predicted for y; of classes there are accuracy, log-likelihood and
Brier score. The tool's seconds are those of the whole command, reading and evaluations included. A
peer gets its data, its first compilation and its predictions for nothing: the clock is on while it
trains. Peers, all on two threads:

  cold      the tool, --basis orth --warm off: its former default, with --minutes
  sgpr      gpflow.models.SGPR, as many inducing points as the tool's, at random training rows,
            Matern 5/2 with a lengthscale for each input, L-BFGS
  svgp      gpflow.models.SVGP, the same kernel, 500 points, minibatches of 1,024, natural gradients
            of q (0.1; 0.01 or none where that fails) and Adam (0.01) by turns; for classes with the
            tool's likelihood
  boosting  scikit-learn's HistGradientBoosting with early stopping; its noise is the variance of
            its errors on a tenth of the training rows, held out, before it trains on all
  gpr       scikit-learn's GaussianProcessRegressor on as many random rows as its time allows
"""

import csv
import gzip
import json
import math
import os
import subprocess
import sys
import time

REGRESSION = (
    "energy concrete airfoil sml parkinsons kin8nm power naval elevators bike pumadyn32nm "
    "keggdirected fried"
).split()
CLASSES = "banana ringnorm waveform thyroid pendigits".split()
HEAD = "set peer size seconds rmse loglik coverage crps accuracy brier".split()
THREADS = 2


def split(name, data):
    """Training and test rows, the target last."""
    with gzip.open(f"{data}/{name}.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",")
    order = np.arange(len(rows))
    np.random.RandomState(0).shuffle(order)
    cut = int(len(rows) * (1 - 0.1))
    return rows[order[:cut]], rows[order[cut:]]


def scaled(train, test, columns):
    mean, sd = train[:, columns].mean(0), train[:, columns].std(0)
    sd[sd == 0] = 1
    return (train[:, columns] - mean) / sd, (test[:, columns] - mean) / sd


def gaussian_scores(mean, sd, y):
    z = (y - mean) / sd
    phi = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    below = 0.5 * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))
    return {
        "rmse": np.sqrt(np.mean((y - mean) ** 2)),
        "loglik": np.mean(np.log(phi / sd)),
        "coverage": np.mean(np.abs(z) < 1.959964),
        "crps": np.mean(sd * (z * (2 * below - 1) + 2 * phi - 1 / math.sqrt(math.pi))),
    }


def class_scores(p, y):
    p = np.maximum(p, 1e-300)
    return {
        "accuracy": np.mean(p.argmax(1) == y),
        "loglik": np.mean(np.log(p[np.arange(len(y)), y])),
        "brier": np.mean(((p - np.eye(p.shape[1])[y]) ** 2).sum(1)),
    }


# --- the tool ---


def run_tool(tool, work, train, test, classes, options):
    """Trains on CSV files. Returns its report, and what it predicts for the test rows."""
    for name, rows in ("train", train), ("test", test):
        np.savetxt(f"{work}/{name}.csv", rows, delimiter=",", fmt="%.17g")
    common = ["--threads", str(THREADS), "--quiet"]
    begin = time.perf_counter()
    report = subprocess.run(
        [tool, "train", "--data", f"{work}/train.csv", "--model", f"{work}/m.odvgp", "--json"]
        + common
        + options,
        check=True,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - begin
    subprocess.run(
        [
            tool,
            "predict",
            "--data",
            f"{work}/test.csv",
            "--model",
            f"{work}/m.odvgp",
            "--out",
            f"{work}/out.csv",
        ]
        + common,
        check=True,
        capture_output=True,
    )
    with open(f"{work}/out.csv") as file:
        rows = list(csv.DictReader(file))
    report = json.loads(report.stdout)
    size = f"{report['basis']} {report['beta']}" + (
        f" + {report['gamma']}" if report["gamma"] else ""
    )
    if classes:
        names = [key for key in rows[0] if key.startswith("p_")]
        p = np.array([[float(row[key]) for key in names] for row in rows])
        found = [int(float(key[2:])) for key in names]
        assert found == sorted(found), found
        return seconds, size, p
    y = train[:, -1]
    mean = (np.array([float(row["mean"]) for row in rows]) - y.mean()) / y.std()
    sd = np.array([float(row["sd_y"]) for row in rows]) / y.std()
    return seconds, size, (mean, sd)


# --- GPflow ---


class Over(Exception):
    """The time is over."""


def gpflow_kernel(D):
    return gpflow.kernels.Matern52(lengthscales=[math.sqrt(D)] * D)


def random_rows(X, M):
    return X[np.random.RandomState(1).permutation(len(X))[:M]].copy()


def sgpr(X, y, M, seconds):
    model = gpflow.models.SGPR(
        (X, y[:, None]), gpflow_kernel(X.shape[1]), random_rows(X, M), noise_variance=0.1
    )
    model.training_loss_closure(compile=True)()
    best = [math.inf, None]

    def look(step, variables, values):
        loss = float(model.training_loss())
        if loss < best[0]:
            best[:] = loss, [v.numpy() for v in model.trainable_variables]
        if time.perf_counter() > end:
            raise Over

    end = time.perf_counter() + seconds
    try:
        gpflow.optimizers.Scipy().minimize(
            model.training_loss,
            model.trainable_variables,
            step_callback=look,
            options={"maxiter": 100000},
        )
    except Over:
        for v, value in zip(model.trainable_variables, best[1]):
            v.assign(value)
    return model


def svgp(X, y, M, seconds, classes):
    """Natural steps of 0.1, a tenth of that if GPflow fails with them (robust-max is not
    log-concave), then Adam for q, too; each attempt has all the time."""
    for gamma in 0.1, 0.01:
        try:
            return svgp_by(gamma, X, y, M, seconds, classes)
        except tf.errors.InvalidArgumentError:
            print(f"svgp: natural steps of {gamma} fail", file=sys.stderr)
    return svgp_by(0, X, y, M, seconds, classes)


def svgp_by(gamma, X, y, M, seconds, classes):
    if classes == 2:
        likelihood, latents = gpflow.likelihoods.Bernoulli(), 1
    elif classes:
        likelihood, latents = gpflow.likelihoods.MultiClass(classes), classes
    else:
        likelihood, latents = gpflow.likelihoods.Gaussian(0.1), 1
    model = gpflow.models.SVGP(
        gpflow_kernel(X.shape[1]),
        likelihood,
        random_rows(X, M),
        num_data=len(X),
        num_latent_gps=latents,
    )
    gpflow.set_trainable(model.q_mu, not gamma)
    gpflow.set_trainable(model.q_sqrt, not gamma)
    batches = iter(
        tf.data.Dataset.from_tensor_slices((X, y[:, None]))
        .repeat()
        .shuffle(len(X), seed=0)
        .batch(min(1024, len(X)))
    )
    natural = gpflow.optimizers.NaturalGradient(gamma=gamma or 1)
    adam = tf_keras.optimizers.Adam(0.01)

    @tf.function
    def step(batch):
        if gamma:
            natural.minimize(lambda: model.training_loss(batch), [(model.q_mu, model.q_sqrt)])
        adam.minimize(lambda: model.training_loss(batch), model.trainable_variables)

    kept = [(v, v.numpy()) for v in model.variables]
    step(next(batches))  # compiles
    for v, value in kept:
        v.assign(value)
    end, steps = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        step(next(batches))
        steps += 1
    note = {0.1: "", 0.01: "; natural steps of 0.01", 0: "; Adam only"}[gamma]
    return model, f"{steps} steps{note}"


def gpflow_predict(model, X, classes):
    mean, var = [], []
    for chunk in np.array_split(X, max(1, len(X) // 2000)):
        m, v = model.predict_y(chunk)
        mean.append(m.numpy())
        var.append(v.numpy())
    mean, var = np.concatenate(mean), np.concatenate(var)
    if classes == 2:
        return np.hstack([1 - mean, mean])
    return mean if classes else (mean[:, 0], np.sqrt(var[:, 0]))


# --- scikit-learn ---


def boosting(X, y, Xs, classes):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if classes:
        model = HistGradientBoostingClassifier(early_stopping=True, random_state=0).fit(X, y)
        p = np.zeros((len(Xs), classes))
        p[:, model.classes_] = model.predict_proba(Xs)
        return p
    order, held = np.random.RandomState(2).permutation(len(X)), len(X) // 10
    kind = dict(early_stopping=True, random_state=0, max_iter=1000)
    trial = HistGradientBoostingRegressor(**kind).fit(X[order[held:]], y[order[held:]])
    sd = np.std(y[order[:held]] - trial.predict(X[order[:held]]))
    model = HistGradientBoostingRegressor(**kind).fit(X, y)
    return model.predict(Xs), np.full(len(Xs), sd)


def gpr(X, y, Xs, seconds):
    """Doubles its rows while eight times the last run's seconds are left."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    D, n, end, spent, best = X.shape[1], min(125, len(X)), time.perf_counter() + seconds, 0, None
    order = np.random.RandomState(3).permutation(len(X))
    while best is None or (n < len(X) and time.perf_counter() + 8 * spent < end):
        n = n if best is None else min(2 * n, len(X))
        begin = time.perf_counter()
        kernel = ConstantKernel(1.0) * Matern(
            [math.sqrt(D)] * D, (1e-3, 1e5), nu=2.5
        ) + WhiteKernel(0.1)
        best = GaussianProcessRegressor(kernel, random_state=0).fit(X[order[:n]], y[order[:n]])
        spent = time.perf_counter() - begin
    return best.predict(Xs, return_std=True), n


# --- the table ---


def peers_of(classes):
    return (
        ["odvgp", "cold", "svgp", "boosting"]
        if classes
        else ["odvgp", "cold", "sgpr", "svgp", "boosting", "gpr"]
    )


def measure(peer, tool, work, train, test, classes, budget, size):
    """Size, seconds and predictions of one peer."""
    minutes = ["--minutes", f"{(budget or 0) / 60:.9g}"]
    kind = ["--likelihood", "bernoulli" if classes == 2 else "robustmax"] if classes else []
    if peer in ("odvgp", "cold"):
        options = kind + (["--basis", "orth", "--warm", "off"] + minutes if peer == "cold" else [])
        seconds, size, predicted = run_tool(tool, work, train, test, classes, options)
        return size, seconds, predicted
    X, Xs = scaled(train, test, slice(0, -1))
    y = (
        train[:, -1:].astype(int)[:, 0]
        if classes
        else scaled(train, test, slice(-1, None))[0][:, 0]
    )
    begin = time.perf_counter()
    if peer == "sgpr":
        M = min(int(size.split()[1]), len(X))
        predicted = gpflow_predict(sgpr(X, y, M, budget), Xs, 0)
        return f"{M}", budget, predicted
    if peer == "svgp":
        M = min(500, len(X) // 2)
        model, steps = svgp(X, y.astype(float), M, budget, classes)
        return f"{M}; {steps}", budget, gpflow_predict(model, Xs, classes)
    if peer == "boosting":
        predicted = boosting(X, y, Xs, classes)
        return "", time.perf_counter() - begin, predicted
    predicted, n = gpr(X, y, Xs, budget)
    return f"{n} rows", time.perf_counter() - begin, predicted


def read(path):
    with open(path) as file:
        return {(row["set"], row["peer"]): row for row in csv.DictReader(file)}


def table(rows):
    kinds = (
        ("RMSE", "rmse"),
        ("log-likelihood", "loglik"),
        ("in 95 % bands", "coverage"),
        ("CRPS", "crps"),
    ), (("accuracy", "accuracy"), ("log-likelihood", "loglik"), ("Brier score", "brier"))
    for columns in kinds:
        some = [row for row in rows.values() if row[columns[0][1]]]
        if some:
            print(
                "| set | model | sizes | seconds |", " | ".join(title for title, _ in columns), "|"
            )
            print("|---" * (4 + len(columns)) + "|")
        for row in some:
            figures = [f"{float(row[key]):.4f}" for _, key in columns]
            print(
                f"| {row['set']} | {row['peer']} | {row['size']} | {float(row['seconds']):.1f} |",
                " | ".join(figures),
                "|",
            )
        if some:
            print()


def main():
    if len(sys.argv) < 4:
        sys.exit("usage: python3 seconds.py TOOL DATA OUT [SET...]")
    tool, data, out = sys.argv[1:4]
    if not os.path.isdir(data):
        sys.exit("seconds: DATA must be the folder of the sets: make bench-seconds DATA=dir")
    os.makedirs(out, exist_ok=True)
    path = f"{out}/seconds.csv"
    if not os.path.exists(path):
        with open(path, "w") as file:
            print(",".join(HEAD), file=file)
    for name in sys.argv[4:] or REGRESSION + CLASSES:
        train, test = split(name, data)
        classes = int(max(train[:, -1].max(), test[:, -1].max())) + 1 if name in CLASSES else 0
        for peer in peers_of(classes):
            rows = read(path)
            if (name, peer) in rows:
                continue
            ours = rows.get((name, "odvgp"))
            size, seconds, predicted = measure(
                peer,
                tool,
                out,
                train,
                test,
                classes,
                float(ours["seconds"]) if ours else None,
                ours["size"] if ours else None,
            )
            if classes:
                scores = class_scores(predicted, test[:, -1].astype(int))
            else:
                y = scaled(train, test, slice(-1, None))[1][:, 0]
                scores = gaussian_scores(*predicted, y)
            row = dict(scores, set=name, peer=peer, size=size, seconds=seconds)
            with open(path, "a") as file:
                print(
                    ",".join(
                        (
                            f"{row[key]:.6g}"
                            if isinstance(row.get(key), float)
                            else str(row.get(key, ""))
                        )
                        for key in HEAD
                    ),
                    file=file,
                )
    table(read(path))


for variable in "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE":
    os.environ.pop(variable, None)  # NumPy's library chooses its kernels itself
os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np

try:
    import gpflow
    import tensorflow as tf
    import tf_keras
except ImportError as missing:
    sys.exit(f"seconds: {missing}; pip install gpflow tf_keras scikit-learn")
if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    main()
