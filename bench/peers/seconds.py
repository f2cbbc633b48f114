"""The tool without options beside other libraries at equal processor seconds.

    make bench-seconds DATA=dir [SETS="bike energy"] [BUDGETS="10 30 100"] [SPLIT=0] [FORMER=tool]

does the same as

    BUDGETS=... SPLIT=... FORMER=... python3 bench/peers/seconds.py build/odvgp DATA OUT [SET...]

A budget is a number of processor seconds, of all threads together; all train on one thread. Test
rows are those of --split numpy:SPLIT. A model that has a row in OUT/seconds.csv is skipped, so that
an interrupted run goes on; `python3 bench/peers/seconds.py --summary OUT` prints tables and the
comparison of what is there: paired differences to the former tool, mean ranks, and the share of the
gap to boosting that is closed.

Inputs and targets are standardised by the training rows, and all figures are in these units. The
log-likelihood of a regression, CRPS and coverage are those of the Gaussian that is predicted for y;
chance is about what ECE would be for as many rows were the probabilities right.
Labels reach the tool as texts. The tool's seconds are those of the whole command, reading and
evaluations included. A peer gets its data, its first compilation and its predictions for nothing.

  odvgp     the tool with --minutes
  former    the tool FORMER with --minutes
  sgpr      gpflow.models.SGPR, 500 points at random training rows, Matern 5/2 with a lengthscale for
            each input, L-BFGS
  svgp      gpflow.models.SVGP, the same kernel, 500 points, minibatches of 1,024, natural gradients
            of q (0.1; 0.01 or none where that fails) and Adam (0.01) by turns; robust-max for classes
  gpr       scikit-learn's GaussianProcessRegressor on as many random rows as its time allows
  lightgbm  with its defaults; its noise is the variance of its errors on a tenth of the training
            rows, held out, before it trains on all
  search    LightGBM with early stopping; a random search over its settings until the time is spent

It needs NumPy, and from PyPI gpflow, tf_keras, scikit-learn and lightgbm for the peers.
"""

import csv
import glob
import json
import math
import os
import resource
import subprocess
import sys
import time

BUDGETS = [float(b) for b in os.environ.get("BUDGETS", "10 30 100").split()]
SPLIT = int(os.environ.get("SPLIT", "0"))
FORMER = os.environ.get("FORMER", "")
for variable in "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE":
    os.environ.pop(variable, None)  # NumPy's library chooses its kernels itself
for variable in "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS":
    os.environ[variable] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np

import classes as of_classes  # which also keeps LightGBM's warnings away

REGRESSION = (
    "energy concrete airfoil sml parkinsons kin8nm power naval elevators bike pumadyn32nm "
    "keggdirected fried snelson slice_first682 sarcos_test houseelectric_first15k "
    "3droad_first5000 kuka_lwr4 panda bng_pwlinear"
).split()
CLASSES = (
    "banana ringnorm twonorm waveform thyroid page-blocks wine-quality-white mushroom nursery "
    "statlog-landsat statlog-shuttle wall-following pendigits chess-krvk connect-4"
).split()
HEAD = "set budget peer size seconds rmse loglik crps in50 in95 errors ece chance brier".split()
GAUSSIAN = ["odvgp", "former", "sgpr", "svgp", "gpr"]
PEERS = GAUSSIAN + ["lightgbm", "search"]
TREES = {}  # further settings of LightGBM


# --- scores: of each row, and their means ---


def gaussian_scores(mean, sd, y):
    z = (y - mean) / sd
    phi = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    below = 0.5 * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))
    rows = np.stack([np.log(np.maximum(phi, 1e-300) / sd), (y - mean) ** 2])
    return rows, {
        "rmse": math.sqrt(rows[1].mean()),
        "loglik": rows[0].mean(),
        "crps": np.mean(sd * (z * (2 * below - 1) + 2 * phi - 1 / math.sqrt(math.pi))),
        "in50": np.mean(np.abs(z) < 0.67449),
        "in95": np.mean(np.abs(z) < 1.959964),
    }


def class_scores(p, y):
    p = np.maximum(p, 1e-300)
    rows = np.stack([np.log(p[np.arange(len(y)), y]), (p.argmax(1) != y).astype(float)])
    return rows, {
        "loglik": rows[0].mean(),
        "errors": rows[1].mean(),
        "ece": of_classes.ece(p, y),
        "chance": of_classes.chance(p),
        "brier": np.mean(((p - np.eye(p.shape[1])[y]) ** 2).sum(1)),
    }


def scaled(train, test, columns):
    mean, sd = train[:, columns].mean(0), train[:, columns].std(0)
    sd[sd == 0] = 1
    return (train[:, columns] - mean) / sd, (test[:, columns] - mean) / sd


# --- the tool ---


def write(path, rows, classes):
    with open(path, "w") as file:
        for row in rows:
            cells = ["%.17g" % value for value in row]
            if classes:
                cells[-1] = f"class {int(row[-1])}"
            print(",".join(cells), file=file)


def run_tool(tool, work, seconds):
    """The report of a training on work/train.csv, its processor seconds, and what it predicts for
    the rows of work/test.csv."""
    common = ["--model", f"{work}/m.odvgp", "--threads", "1", "--quiet"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = subprocess.run(
        [tool, "train", "--data", f"{work}/train.csv", "--minutes", f"{seconds / 60:.9g}", "--json"]
        + common,
        check=True,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    subprocess.run(
        [tool, "predict", "--data", f"{work}/test.csv", "--out", f"{work}/out.csv"] + common,
        check=True,
        capture_output=True,
    )
    with open(f"{work}/out.csv") as file:
        return json.loads(report.stdout), spent, list(csv.DictReader(file))


def tool_way(tool, work, train, test, classes, seconds):
    write(f"{work}/train.csv", train, classes)
    write(f"{work}/test.csv", test, classes)
    report, spent, rows = run_tool(tool, work, seconds)
    size = f"{report['basis']} {report['beta']}" + (
        f" + {report['gamma']}" if report["gamma"] else ""
    )
    if classes:
        p = np.zeros((len(rows), classes))
        for key in rows[0]:
            if key.startswith("p_"):
                p[:, int(key.split()[-1])] = [float(row[key]) for row in rows]
        return size, spent, p
    y = train[:, -1]
    mean = (np.array([float(row["mean"]) for row in rows]) - y.mean()) / y.std()
    sd = np.array([float(row["sd_y"]) for row in rows]) / y.std()
    return size, spent, (mean, sd)


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
        if time.process_time() > end:
            raise Over

    end = time.process_time() + seconds
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
    end, steps = time.process_time() + seconds, 0
    while time.process_time() < end:
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


# --- scikit-learn, LightGBM ---


def gpr(X, y, Xs, seconds):
    """Doubles its rows while eight times the last run's seconds are left."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    D, n, spent, best = X.shape[1], min(125, len(X)), 0, None
    end = time.process_time() + seconds
    order = np.random.RandomState(3).permutation(len(X))
    while best is None or (n < len(X) and time.process_time() + 8 * spent < end):
        n = n if best is None else min(2 * n, len(X))
        begin = time.process_time()
        kernel = ConstantKernel(1.0) * Matern(
            [math.sqrt(D)] * D, (1e-3, 1e5), nu=2.5
        ) + WhiteKernel(0.1)
        best = GaussianProcessRegressor(kernel, random_state=0).fit(X[order[:n]], y[order[:n]])
        spent = time.process_time() - begin
    return f"{n} rows", best.predict(Xs, return_std=True)


def lightgbm_model(classes, **settings):
    import lightgbm

    kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    return kind(n_jobs=1, verbose=-1, random_state=0, **TREES, **settings)


def held_out(X, y):
    order, held = np.random.RandomState(2).permutation(len(X)), len(X) // 10
    return X[order[held:]], y[order[held:]], X[order[:held]], y[order[:held]]


def lightgbm_predict(model, Xs, sd, classes):
    if not classes:
        return model.predict(Xs), np.full(len(Xs), sd)
    p = np.zeros((len(Xs), classes))
    p[:, model.classes_] = model.predict_proba(Xs)
    return p


def lightgbm_way(X, y, Xs, classes):
    sd = None
    if not classes:
        Xt, yt, Xv, yv = held_out(X, y)
        sd = np.std(yv - lightgbm_model(0).fit(Xt, yt).predict(Xv))
    return "", lightgbm_predict(lightgbm_model(classes).fit(X, y), Xs, sd, classes)


def search(X, y, Xs, classes, seconds):
    """Settings by chance; the best on a tenth of the rows trains on all of them, with as many trees.
    A trial begins while the longest one so far, and a training of all rows, fit the time."""
    import lightgbm

    rng = np.random.RandomState(4)
    Xt, yt, Xv, yv = held_out(X, y)
    end, longest, tries, best = time.process_time() + seconds, 0, 0, None
    while best is None or time.process_time() + 2.2 * longest < end:
        settings = {
            "num_leaves": int(2 ** rng.uniform(2, 8)),
            "learning_rate": 10 ** rng.uniform(-2, -0.5),
            "min_child_samples": int(2 ** rng.uniform(1, 7)),
            "colsample_bytree": rng.uniform(0.5, 1),
            "subsample": rng.uniform(0.5, 1),
            "subsample_freq": 1,
            "reg_lambda": 10 ** rng.uniform(-3, 1.5),
        }
        begin = time.process_time()

        def late(env):
            if time.process_time() > max(end, begin + 1):
                raise lightgbm.callback.EarlyStopException(env.iteration, env.evaluation_result_list)

        model = lightgbm_model(classes, n_estimators=3000, **settings).fit(
            Xt, yt, eval_set=[(Xv, yv)],
            callbacks=[lightgbm.early_stopping(30, verbose=False), late],
        )
        score = next(iter(model.best_score_["valid_0"].values()))
        longest, tries = max(longest, time.process_time() - begin), tries + 1
        if best is None or score < best[0]:
            sd = None if classes else np.std(yv - model.predict(Xv))
            best = score, settings, max(1, model.best_iteration_ or 1), sd
    _, settings, trees, sd = best
    model = lightgbm_model(classes, n_estimators=trees, **settings).fit(X, y)
    return f"{tries} tries, {trees} trees", lightgbm_predict(model, Xs, sd, classes)


# --- one row ---


def measure(peer, tool, work, train, test, classes, budget):
    """Size, seconds and predictions of one peer."""
    if peer in ("odvgp", "former"):
        return tool_way(FORMER if peer == "former" else tool, work, train, test, classes, budget)
    X, Xs = scaled(train, test, slice(0, -1))
    y = train[:, -1].astype(int) if classes else scaled(train, test, slice(-1, None))[0][:, 0]
    begin = time.process_time()
    if peer == "sgpr":
        M = min(500, len(X))
        return f"{M}", budget, gpflow_predict(sgpr(X, y, M, budget), Xs, 0)
    if peer == "svgp":
        M = min(500, len(X) // 2)
        model, steps = svgp(X, y.astype(float), M, budget, classes)
        return f"{M}; {steps}", budget, gpflow_predict(model, Xs, classes)
    size, predicted = (
        gpr(X, y, Xs, budget) if peer == "gpr"
        else lightgbm_way(X, y, Xs, classes) if peer == "lightgbm"
        else search(X, y, Xs, classes, budget)
    )
    return size, time.process_time() - begin, predicted


def read(path):
    with open(path) as file:
        return {(r["set"], r["budget"], r["peer"]): r for r in csv.DictReader(file)}


def rows_path(out, name, budget, peer):
    return f"{out}/{name}.{budget:g}.{peer}.npy"


def run(tool, data, out, names):
    path = f"{out}/seconds.csv"
    os.makedirs(out, exist_ok=True)
    if not os.path.exists(path):
        with open(path, "w") as file:
            print(",".join(HEAD), file=file)
    with open(path) as file:
        if file.readline().strip() != ",".join(HEAD):
            sys.exit(f"seconds: {path} has other columns: another version began it")
    for budget in BUDGETS:
        for name in names:
            rows = (of_classes.rows_of if name in CLASSES else of_classes.table)(name, data)
            train, test = of_classes.split(rows, SPLIT)
            classes = int(rows[:, -1].max()) + 1 if name in CLASSES else 0
            for peer in PEERS:
                if (name, f"{budget:g}", peer) in read(path) or not can(peer, classes):
                    continue
                size, seconds, predicted = measure(peer, tool, out, train, test, classes, budget)
                if classes:
                    each, scores = class_scores(predicted, test[:, -1].astype(int))
                else:
                    y = scaled(train, test, slice(-1, None))[1][:, 0]
                    each, scores = gaussian_scores(*predicted, y)
                np.save(rows_path(out, name, budget, peer), each)
                row = dict(scores, set=name, peer=peer, size=size)
                row.update(budget=f"{budget:g}", seconds=float(seconds))
                with open(path, "a") as file:
                    csv.writer(file).writerow(
                        f"{row[k]:.6g}" if isinstance(row.get(k), float) else row.get(k, "")
                        for k in HEAD
                    )
                print(name, f"{budget:g}", peer, size, f"{seconds:.1f} s", scores, flush=True)


def can(peer, classes):
    if peer == "former":
        return bool(FORMER)
    if peer in ("sgpr", "svgp") and not gpflow:
        return False
    return not (classes and peer in ("sgpr", "gpr"))


# --- the comparison ---


def difference(a, b):
    """Mean of a - b over rows, and its standard error."""
    d = a - b
    return d.mean(), d.std(ddof=1) / math.sqrt(len(d)) if len(d) > 1 else math.inf


def summary(out):
    rows = read(f"{out}/seconds.csv")
    for budget in sorted({float(b) for _, b, _ in rows}):
        sets = list(dict.fromkeys(s for s, b, _ in rows if float(b) == budget))
        print(f"\n{budget:g} processor seconds")
        worse, ranks, shares = [], {}, []
        for name in sets:
            each = {
                peer: np.load(rows_path(out, name, budget, peer))
                for peer in PEERS
                if os.path.exists(rows_path(out, name, budget, peer))
            }
            print_set(name, budget, rows, each)
            if "former" in each:
                d, se = difference(each["odvgp"][0], each["former"][0])
                worse += [f"{name} {d:+.4f} +- {se:.4f}"] if d < -2 * se else []
            order = sorted((p for p in each if p in GAUSSIAN), key=lambda p: -each[p][0].mean())
            for place, peer in enumerate(order):
                ranks.setdefault(peer, []).append(place + 1)
            best = max((p for p in each if p in PEERS[-2:]), key=lambda p: each[p][0].mean(),
                       default=None)
            if best and "former" in each:
                gap, se = difference(each[best][0], each["former"][0])
                if gap > 2 * se:
                    shares.append((difference(each["odvgp"][0], each["former"][0])[0] / gap, name))
        print(f"log-likelihood worse than the former tool's by more than two standard errors: "
              f"{len(worse)} of {len(sets)}", *worse, sep="\n  ")
        print("mean rank among Gaussian processes:",
              ", ".join(f"{p} {np.mean(r):.2f}" for p, r in ranks.items()))
        if shares:
            print(f"gap to boosting: {len(shares)} sets, median share closed "
                  f"{np.median([s for s, _ in shares]):.2f}; below a half:",
                  ", ".join(f"{n} {s:.2f}" for s, n in shares if s < 0.5))


def print_set(name, budget, rows, each):
    for peer in each:
        row = rows[name, f"{budget:g}", peer]
        figures = "  ".join(f"{k} {float(row[k]):.4f}" for k in HEAD[5:] if row[k])
        print(f"{name:24} {peer:9} {row['size'][:28]:28} {float(row['seconds']):7.1f}  {figures}")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--summary":
        return summary(sys.argv[2])
    if len(sys.argv) < 4:
        sys.exit("usage: python3 seconds.py TOOL DATA OUT [SET...] | --summary OUT")
    tool, data, out = sys.argv[1:4]
    if not glob.glob(f"{data}/*.csv.gz"):
        sys.exit("seconds: DATA must be the folder of the sets: make bench-seconds DATA=dir")
    run(tool, data, out, sys.argv[4:] or REGRESSION + CLASSES)
    summary(out)


try:
    import gpflow
    import tensorflow as tf
    import tf_keras

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
except ImportError as missing:
    print(f"seconds: {missing}: without GPflow's models; pip install gpflow tf_keras",
          file=sys.stderr)
    gpflow = None
if __name__ == "__main__":
    main()
