"""Drives examples/packaging/odvgp.py: packages.py FOLDER FOR FILES. Prints one line that says what was checked."""
import ctypes, os, re, shutil, subprocess, sys, threading
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "packaging"))
import numpy as np
import odvgp

folder = os.path.abspath(sys.argv[1])
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


# The arguments of every call that odvgp.py makes, and the fields that it reads, are those that the header declares.
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
with open(os.path.join(root, "odvgp.h")) as f:
    header = re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.S)
with open(odvgp.__file__) as f:
    source = f.read()
plain = {"ptrdiff_t": ctypes.c_ssize_t, "size_t": ctypes.c_size_t, "odvgp_real": ctypes.c_double, "double": ctypes.c_double, "uint64_t": ctypes.c_uint64, "void": None,
         "int": ctypes.c_int, "odvgp_config": odvgp._Config, "odvgp_likelihood_facts": odvgp._Likelihood, "const char *": ctypes.c_char_p}
plain.update((name, ctypes.c_int) for name in re.findall(r"typedef enum (\w+)", header))


def type_of(declaration):
    """The type of an argument, a field or a result, without its name."""
    if "(*" in declaration or "[" in declaration and "char" not in declaration or declaration.count("*") > ("const char *" in declaration):
        return ctypes.c_void_p
    word = re.match(r"(const char \*|\w+)", declaration.strip()).group(1)
    return plain.get(word, word)


def kind_of(own):
    """The kind of a type of odvgp.py as type_of gives it: all but texts are untyped pointers."""
    return ctypes.c_int if own is odvgp._Status else own if own in plain.values() else ctypes.c_void_p


declared = {}
for result, name, arguments in re.findall(r"ODVGP_API ([\w ]+?[ *]+?)(odvgp_\w+)\(((?:[^;{}()]|\([^()]*\))*)\);", header):
    arguments = re.sub(r"\([^()*][^()]*\)", "", " ".join(arguments.split()))  # those of function pointers
    declared[name] = [type_of(result)] + [type_of(a) for a in arguments.split(",") if a != "void"]
assert len(declared) > 60 and len(declared["odvgp_predict_y"]) > 7, len(declared)
called = {"odvgp_" + n for n in re.findall(r'_call\("(\w+)"|_lib\.odvgp_(\w+)', source) for n in n if n} | set(odvgp._calls)
assert {"odvgp_fit", "odvgp_predict", "odvgp_pool_stop"} <= called
for name in sorted(called):
    f = getattr(odvgp._lib, name)
    mine = [kind_of(t) for t in [f.restype, *f.argtypes]]
    assert mine == declared[name], f"{name}: {mine}, declared {declared[name]}"


def fields_of(name):
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), header, re.S).group(1)
    found = []
    for line in filter(str.strip, body.split(";")):
        line = " ".join(line.split())
        pointer = re.search(r"\(\*(\w+)\)", line)
        first, *more = [pointer.group(1)] if pointer else re.sub(r"\[.*?\]", "", line).split(", ")
        found += [(first.split()[-1].strip("*"), line)] + [(m.strip("*"), line) for m in more]
    return found


for mine, name in ((odvgp._Info, "odvgp_info"), (odvgp._Server, "odvgp_server"), (odvgp._Report, "odvgp_report"),
                   (odvgp._Progress, "odvgp_progress"), (odvgp._Watch, "odvgp_watch"), (odvgp._Likelihood, "odvgp_likelihood_facts"),
                   (odvgp._Export, "odvgp_export_settings")):
    theirs = fields_of(name)
    assert mine is odvgp._Report or len(theirs) == len([n for n, _ in mine._fields_ if n != "more"]), name
    for (own, kind), (field, line) in zip(mine._fields_, theirs):
        array = re.search(r"char (\*?)\w+\[(\d+)\]", line)
        same = kind == (ctypes.c_char_p if array.group(1) else ctypes.c_char) * int(array.group(2)) if array else kind_of(kind) == type_of(line)
        assert own == field and same, f"{name}.{own}: {kind}, declared {line}"

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

# Gradients are those of the predictions, in the units of the caller.
few, h = new[:50], 1e-3
*moments, dmean, dvar = gp.predict(few, gradient=True)
assert np.allclose(moments, (mean[:50], var[:50]), rtol=1e-9) and dmean.shape == dvar.shape == few.shape
for d in range(2):
    up, down = (gp.predict(few + sign * h * np.eye(2)[d]) for sign in (1, -1))
    for got, ahead, behind in zip((dmean, dvar), up, down):
        assert np.allclose(got[:, d], (ahead - behind) / (2 * h), rtol=1e-3, atol=1e-4 * np.abs(got).max())
two = odvgp.GP(X, np.column_stack([y, -2 * y]), beta=20).train(3).predict(few, gradient=True)
assert [a.shape for a in two] == [(50, 2), (50, 2), (50, 2, 2), (50, 2, 2)]
raises("noise=False", gp.predict, few, noise=True, gradient=True)

# A callback ends the training, and its exceptions pass.
seen.clear()
make().train(100, progress=lambda step, elbo: seen.append(step) or step == 7)
assert seen[-1] == 7
try:
    make().train(100, progress=lambda step, elbo: 1 / 0)
    assert False, "the exception of a callback was lost"
except ZeroDivisionError:
    pass

# predict within progress tells what the model knows at that step; afterwards it is that of the trained model.
during = {}
gp = make()
gp.train(30, progress=lambda step, elbo: during.update({step: gp.predict(new)[0]}) if step in (1, 7) else None)
reference = make()
assert np.array_equal(during[1], reference.train(1).predict(new)[0])
assert np.array_equal(during[7], reference.train(6).predict(new)[0])
assert np.array_equal(gp.predict(new)[0], reference.train(23).predict(new)[0])
raises("progress", gp.train, 3, progress=lambda step, elbo: gp.train(1))
raises("progress", gp.train, 3, progress=lambda step, elbo: gp.fit_q())


# While one thread trains, others get the predictions of the model as it was; then those of the trained one.
def in_thread(work):
    outcome = []

    def run():
        try:
            outcome.append((work(), None))
        except BaseException as e:
            outcome.append((None, e))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def result():
        thread.join(120)
        assert outcome, "a thread is blocked"
        if outcome[0][1]: raise outcome[0][1]
        return outcome[0][0]
    return result


for asked_before in (False, True):
    gp, reference = make().train(20), make().train(20)
    before = reference.predict(new)[0]
    if asked_before: gp.predict(new[:1])
    begun, go_on = threading.Event(), threading.Event()
    training = in_thread(lambda: gp.train(40, progress=lambda step, elbo: step == 25 and (begun.set(), go_on.wait(120))[0]))
    assert begun.wait(120)
    asked = [in_thread(lambda: gp.predict(new)[0]) for _ in range(3)]
    assert all(np.array_equal(a(), before) for a in asked)
    go_on.set()
    training()
    assert np.array_equal(in_thread(lambda: gp.predict(new)[0])(), reference.train(40).predict(new)[0])

# Two threads that train one model: one after the other.
gp, seen = make(), []
both = [in_thread(lambda: gp.train(60, progress=lambda step, elbo: seen.append((threading.get_ident(), step)) and None)) for _ in range(2)]
for b in both: b()
assert [step for _, step in seen] == list(range(1, 121)), seen
assert len({who for who, _ in seen[:60]}) == len({who for who, _ in seen[60:]}) == 1
assert np.array_equal(gp.predict(new)[0], make().train(60).train(60).predict(new)[0])

# NumPy's numbers as settings and as numbers of steps.
gp = odvgp.GP(X, y, beta=np.int32(20), gamma=np.int64(10), functions=np.int64(1), optim__batch=np.int64(200), optim__natgrad=np.bool_(False))
assert np.isfinite(gp.train(np.int64(3)).train(np.uint8(2)).predict(new)[0]).all()

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
raises(path, odvgp.load, path)
nowhere = os.path.join(folder, "no", "such", "folder.odvgp")
raises(nowhere, half.save, nowhere)

# The same bits with other numbers of threads; a number that cannot be is an error.
program = """import sys, numpy as np, odvgp
X = np.random.default_rng(1).uniform(-3, 3, (3000, 4))
gp = odvgp.GP(X, np.sin(X[:, 0]), beta=150, gamma=300, optim__batch=1000)
sys.stdout.write(gp.train(3).predict(X)[0].tobytes().hex())"""


def python(program, where=os.path.dirname(odvgp.__file__), **variables):
    paths = os.pathsep.join([where, os.environ.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": paths, **variables}, capture_output=True, text=True)


def in_threads(count):
    return python(program, ODVGP_THREADS=count)


alone, three = in_threads("1"), in_threads("3")
assert alone.returncode == 0 and len(alone.stdout) == 48000 and alone.stdout == three.stdout, three.stderr
for count in "0", "-1", "257", "many", "1.5":
    said = in_threads(count).stderr.strip().split("\n")[-1]
    assert said.startswith("odvgp.Error: ODVGP_THREADS") and count in said, said

# Threads that make their first models at once share one pool.
pools = python("""import threading, time, numpy as np, odvgp
calls, call, X = [], odvgp._call, np.random.default_rng(1).uniform(-3, 3, (50, 1))
def counted(name, *args, **named):
    if name == "pool_start": calls.append(name), time.sleep(0.2)
    return call(name, *args, **named)
odvgp._call = counted
threads = [threading.Thread(target=lambda: odvgp.GP(X, X, beta=5)) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(len(calls))""", ODVGP_THREADS="2")
assert pools.stdout == "1\n", pools.stdout + pools.stderr

# Beside the library it needs no variable.
beside = os.path.join(folder, "beside")
os.makedirs(beside, exist_ok=True)
for f in odvgp.__file__, odvgp._lib._name: shutil.copy(f, beside)
found = python("import odvgp; print(odvgp._lib._name)", where=beside, ODVGP_LIBRARY="")
assert os.path.samefile(found.stdout.strip() or folder, os.path.join(beside, "libodvgp.so")), found.stderr

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
board = ((np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2).astype(float)
coarse = odvgp.GP(X, board, beta=20, gamma=350, kernel="matern12(0.3, variance=200)", lik__kind="bernoulli").train(30)
before = np.mean((coarse.predict(X, noise=True)[0] > 0.5) == board)
assert np.mean((coarse.fit_mode().predict(X, noise=True)[0] > 0.5) == board) > max(0.95, before + 0.03)
raises("log-concave", odvgp.GP(X, y, beta=20, lik__kind="studentt").fit_mode)
best = odvgp.GP(X, y, beta=30, objective="collapsed", optim__kind="lbfgs", optim__natgrad=False, optim__batch=400)
assert np.isfinite(best.train(30).fit_q().predict(new)[0]).all()
assert "kernel" in odvgp.settings() and "optim.lr" in odvgp.settings()
said = raises("nix", make, nix=1)
raises("not finite", odvgp.GP, X * np.nan, y)
raises("columns", gp.predict, X[:, :1])
raises("at 3", gp.predict, np.where(np.arange(5)[:, None] == 3, np.nan, X[:5]))
raises("must be 400 rows", odvgp.GP, X, y[:-1])

# Learning online: from the model's predictions, which stay, with the same bits in one update or several; missing targets; forgetting.
first, rest = slice(0, 150), slice(150, 400)
half = odvgp.GP(X[first], y[first], beta=30, kernel="rbf(1)", objective="collapsed", optim__kind="lbfgs", optim__natgrad=False,
                optim__batch=150)
half.train(20).fit_q()
online = half.online()
assert np.allclose(online.predict(few), half.predict(few), rtol=1e-6)
assert np.allclose(online.predict(few, gradient=True)[2], half.predict(few, gradient=True)[2], rtol=1e-5, atol=1e-6)
before = half.predict(X[rest])[0]
online.update(X[rest], y[rest])
assert np.std(online.predict(X[rest])[0] - y[rest]) < np.std(before - y[rest])
assert np.all(online.predict(X)[1] <= half.predict(X)[1] * (1 + 1e-9)) and np.array_equal(half.predict(X[rest])[0], before)
apart = half.online()
for k in range(150, 400): apart.update(X[k:k + 1], y[k:k + 1])
assert all(np.array_equal(a, b) for a, b in zip(apart.predict(few), online.predict(few)))
again = apart.online().update(X[:1], [[np.nan]])
assert np.allclose(again.predict(few), apart.predict(few), rtol=1e-9)
moved = half.online().update(X, y + 30), half.online().update(X, y + 30, forget=0.98)
off = [np.abs(o.predict(X[-50:])[0] - y[-50:] - 30).mean() for o in moved]
assert off[1] < 0.6 * off[0], off
away = X + [20, 0] # where points that stay tell nothing
stays, follows = (half.online(follow=v).update(away, y) for v in (0, 0.01))
off = [np.std(o.predict(away)[0] - y) for o in (stays, follows)]
assert off[1] < 0.1 * off[0], off
for bad in (0, 1.5): raises("(0, 1]", apart.update, X, y, forget=bad)
raises("must be 400 rows of 1 columns", apart.update, X, np.c_[y, y])
raises("columns", apart.update, X[:, :1], y)
raises("learns online", apart.path)
raises("online", apart.export, os.path.join(folder, "no.h"))
two = odvgp.GP(X[first], np.c_[y, -y][first], beta=20, gamma=10).train(30)
assert two.online().update(X[rest], np.c_[y, -y][rest]).predict(few, noise=True)[0].shape == (50, 2)

# One function: the same at each call and in any order; over many the moments; its gradient.
path = half.path(seed=3)
f, slope = path(few, gradient=True)
assert np.array_equal(path(few[::-1])[::-1], f) and half.path(seed=3)(few[7:8])[0] == f[7] != half.path(seed=4)(few[7:8])[0]
for d in range(2):
    assert np.allclose(slope[:, d], (path(few + h * np.eye(2)[d]) - path(few - h * np.eye(2)[d])) / (2 * h), rtol=1e-3, atol=1e-3 * np.abs(slope).max())
many = np.array([half.path(seed=k, features=50)(few[:3]) for k in range(2000)])
mean, var = half.predict(few[:3])
assert np.all(np.abs(many.mean(0) - mean) < 5 * np.sqrt(var / 2000)) and np.allclose(many.var(0), var, rtol=0.25)
assert two.path()(few).shape == (50, 2) and two.path()(few, gradient=True)[1].shape == (50, 2, 2)
raises("periodic", odvgp.GP(X, y, beta=5, kernel="periodic(1)").path)

# Uncertain inputs: without uncertainty predictions; against samples of the input.
m, S = np.array([0.5, -0.4]), np.array([[0.04, 0.01], [0.01, 0.09]])
mean, cov, input_cov = half.moments(m, 0 * S)
assert np.allclose((mean, cov), [a[0] for a in half.predict(m[None])], rtol=1e-8) and np.allclose(input_cov, 0)
x = rng.multivariate_normal(m, S, 40000)
f, var = half.predict(x)
mean, cov, input_cov = half.moments(m, S)
assert abs(mean - f.mean()) < 5 * f.std() / 200 and np.isclose(cov, var.mean() + f.var(), rtol=0.05)
assert np.allclose(input_cov, np.mean((x - m) * (f - f.mean())[:, None], 0), atol=0.05 * np.sqrt(f.var() * 0.09))
assert np.isclose(half.moments(m, S, sigma_points=True)[0], mean, rtol=0.02)
assert [a.shape for a in two.moments(m, S, sigma_points=True)] == [(2,), (2, 2), (2, 2)]
raises("covariance", half.moments, m, -S)
raises("matern52", two.moments, m, S)

# The exported header, compiled, predicts the same.
compiler = shutil.which(os.environ.get("CC", "cc").split()[0])
header_path = os.path.join(folder, "arm.h")
half.export(header_path, name="arm", real="double", about="joint angles, rad\n", constants="enum { ARM_SHOULDER = 1 };\n")
with open(header_path) as f: text = f.read()
assert "arm_predict" in text and text.rstrip().endswith("#endif")
assert text.index("joint angles") < text.index("*/") < text.index("\nenum { ARM_SHOULDER = 1 };")
if compiler:
    with open(os.path.join(folder, "arm.c"), "w") as f:
        f.write('#include <stdio.h>\n#include "arm.h"\nint main(void) { double x[2] = {0.5, -0.4}, mean, var; arm_predict(x, &mean, &var); '
                'printf("%.17g %.17g", mean, var); return 0; }\n')
    subprocess.run([compiler, os.path.join(folder, "arm.c"), "-o", os.path.join(folder, "arm"), "-lm"], check=True)
    printed = subprocess.run([os.path.join(folder, "arm")], capture_output=True, text=True).stdout.split()
    assert np.allclose([float(v) for v in printed], [a[0] for a in half.predict(m[None])], rtol=1e-8), printed
raises("name", half.export, header_path, name="1a")
raises(nowhere, half.export, nowhere)

# Models that the tool wrote, also after an update: they predict as the tool does, learn and are exported.
tool = os.environ.get("ODVGP_TOOL") or os.path.join(root, "build", "odvgp")
if os.path.exists(tool):
    def run_tool(*arguments):
        done = subprocess.run([tool, *arguments, "--quiet"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def columns_of(text): return np.array([row.split(",") for row in text.split()[1:]], float).T

    np.savetxt(os.path.join(folder, "rows.csv"), np.c_[X, y], delimiter=",", header="a,b,y", comments="")
    np.savetxt(os.path.join(folder, "kinds.csv"), np.c_[X, three], delimiter=",", header="a,b,y", comments="")
    run_tool("train", "--data", "rows.csv", "--basis", "orth", "--beta", "20", "--gamma", "30", "--iters", "50", "--model", "t.odvgp")
    for step in range(2):
        theirs = odvgp.load(os.path.join(folder, "t.odvgp"))
        mean, sd, sd_y = columns_of(run_tool("predict", "--model", "t.odvgp", "--data", "rows.csv"))[:3]
        assert np.allclose(theirs.predict(X)[0], mean, rtol=1e-8) and np.allclose(np.sqrt(theirs.predict(X)[1]), sd, rtol=1e-6)
        assert np.allclose(np.sqrt(theirs.predict(X, noise=True)[1]), sd_y, rtol=1e-6)
        learned = theirs.online().update(X[:100], y[:100] + 5).predict(X)[0]
        if step == 0:
            np.savetxt(os.path.join(folder, "more.csv"), np.c_[X, y + 5][:100], delimiter=",", header="a,b,y", comments="")
            run_tool("update", "--model", "t.odvgp", "--data", "more.csv")
            expected = learned
        else: assert np.allclose(mean, expected, rtol=1e-6)
    assert theirs.path()(few).shape == (50,)
    theirs.export(header_path)
    raises("the tool wrote", theirs.train, 3)
    raises("the tool wrote", theirs.save, os.path.join(folder, "none.odvgp"))
    assert not os.path.exists(os.path.join(folder, "none.odvgp"))
    raises("not written by odvgp.py", odvgp.load, os.path.join(folder, "t.odvgp"), X, y)
    run_tool("train", "--data", "kinds.csv", "--likelihood", "softmax", "--class-weights", "2=3", "--beta", "20", "--iters", "30",
             "--model", "t.odvgp")
    theirs = odvgp.load(os.path.join(folder, "t.odvgp"))
    p = columns_of(run_tool("predict", "--model", "t.odvgp", "--data", "kinds.csv"))[1:4]
    assert np.allclose(theirs.predict(X, noise=True)[0], p.T, atol=1e-8)
    raises("must be 400 rows of 2 columns", theirs.online().update, X, three)
    theirs.online().update(X, np.c_[three, np.ones(400)])
    also = ", models of the tool"
else: also = " (no tool was found)"
print("python: trained, predicted, saved, loaded, learned online, sampled, exported" + also + "; the error of an unknown setting:", said)
