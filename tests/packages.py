"""Drives examples/packaging/odvgp.py: packages.py FOLDER FOR FILES. Prints one line that says what was checked."""
import os, subprocess, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "packaging"))
import numpy as np
import odvgp

folder = sys.argv[1]
rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, (400, 2))
y = 50 + 10 * np.sin(X[:, 0]) * X[:, 1] + rng.normal(0, 0.5, 400)


def raises(part, what, *args, **named):
    try:
        what(*args, **named)
    except odvgp.Error as e:
        assert part in str(e), str(e)
        return str(e)
    assert False, f"no error that says {part}"


def make(**more):
    return odvgp.GP(X, y, beta=30, gamma=60, kernel="rbf(ard)", optim__lr="0.05-0.005:400", optim__batch=200, **more)


# Training, progress, predictions in the units of y.
seen = []
gp = make().train(400, progress=lambda step, elbo: seen.append((step, elbo)))
assert [s for s, _ in seen] == list(range(1, 401)) and seen[-1][1] > seen[0][1]
new = rng.uniform(-2.5, 2.5, (1000, 2))
mean, var = gp.predict(new)
_, noisy = gp.predict(new, noise=True)
error = np.sqrt(np.mean((mean - 50 - 10 * np.sin(new[:, 0]) * new[:, 1]) ** 2))
assert mean.shape == var.shape == (1000,) and error < 0.5, error
assert np.all(var > 0) and np.allclose(noisy - var, (noisy - var)[0]) and 0.1 < noisy[0] - var[0] < 1

# A callback ends the training, and its exceptions pass.
seen.clear()
make().train(100, progress=lambda step, elbo: seen.append(step) or step == 7)
assert seen[-1] == 7
try:
    make().train(100, progress=lambda step, elbo: 1 / 0)
    assert False, "the exception of a callback was lost"
except ZeroDivisionError:
    pass

# Saved and loaded, it predicts and goes on training with the same bits.
path = os.path.join(folder, "python.odvgp")
half = make().train(200)
half.save(path)
loaded = odvgp.load(path, X, y)
assert all(np.array_equal(a, b) for a, b in zip(loaded.predict(new), half.predict(new)))
assert all(np.array_equal(a, b) for a, b in zip(loaded.train(200).predict(new), half.train(200).predict(new)))
raises("is NULL", odvgp.load(path).train, 1)
raises("must be 400 rows", odvgp.load, path, X[:9], y[:9])
with open(path, "r+b") as f:
    f.truncate(500)
raises("", odvgp.load, path)

# The same bits with other numbers of threads; a number that cannot be is an error.
program = """import sys, numpy as np, odvgp
X = np.random.default_rng(1).uniform(-3, 3, (3000, 4))
gp = odvgp.GP(X, np.sin(X[:, 0]), beta=150, gamma=300, optim__batch=1000)
sys.stdout.write(gp.train(3).predict(X)[0].tobytes().hex())"""


def in_threads(count):
    paths = os.pathsep.join([os.path.dirname(odvgp.__file__), os.environ.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, "ODVGP_THREADS": count, "PYTHONPATH": paths}, capture_output=True, text=True)


alone, three = in_threads("1"), in_threads("3")
assert alone.returncode == 0 and len(alone.stdout) == 48000 and alone.stdout == three.stdout, three.stderr
assert "odvgp.Error" in in_threads("0").stderr

# Several targets, float32 and Fortran order, a bound without q, settings by name, errors that carry the sentence.
two = odvgp.GP(np.asfortranarray(X, dtype=np.float32), np.c_[y, -y], beta=20, kernel="rbf").train(50)
mean, var = two.predict(new[:5])
assert mean.shape == var.shape == (5, 2)
two_classes = (X[:, 0] * X[:, 1] > 0).astype(float)
p, _ = odvgp.GP(X, two_classes, beta=40, kernel="rbf", lik__kind="bernoulli").train(300).predict(X, noise=True)
assert p.min() >= 0 and p.max() <= 1 and np.mean((p > 0.5) == two_classes) > 0.9
three = np.digitize(X[:, 0], [-1, 1]).astype(float)
p, _ = odvgp.GP(X, three, beta=40, functions=3, kernel="rbf", lik__kind="softmax").train(300).predict(X, noise=True)
assert p.shape == (400, 3) and np.allclose(p.sum(1), 1, atol=0.02) and np.mean(p.argmax(1) == three) > 0.9
best = odvgp.GP(X, y, beta=30, objective="collapsed", optim__kind="lbfgs", optim__natgrad=False, optim__batch=400)
assert np.isfinite(best.train(30).fit_q().predict(new)[0]).all()
assert "kernel" in odvgp.settings() and "optim.lr" in odvgp.settings()
said = raises("nix", make, nix=1)
raises("not finite", odvgp.GP, X * np.nan, y)
raises("columns", gp.predict, X[:, :1])
raises("must be 400 rows", odvgp.GP, X, y[:-1])
print("python: trained, predicted, saved, loaded; the error of an unknown setting:", said)
