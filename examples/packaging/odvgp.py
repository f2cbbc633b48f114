"""odvgp.py - the sparse Gaussian processes of odvgp.h in Python, through ctypes and NumPy.

    make shared                             # build/libodvgp.so, in the repository of odvgp.h
    import odvgp
    gp = odvgp.GP(X, y, beta=100, gamma=300, kernel="matern52(ard)", optim__lr="0.01-0.001:4000")
    gp.train(4000, progress=lambda step, elbo: print(step, elbo))
    mean, var = gp.predict(X_new)           # of f; noise=True: of y; with classes probabilities
    gp.save("model.odvgp"); gp = odvgp.load("model.odvgp")  # load(path, X, y) to train further
    online = gp.online().update(X_new, y_new, forget=0.999)  # learns rows; predicts as gp does
    f = gp.path(seed=1); f(x); f(x, gradient=True)     # one function from the posterior, at any x
    mean, cov, input_cov = gp.moments(m, S)            # of f(x) for an uncertain input x ~ N(m, S)
    gp.export("arm.h", name="arm")                     # C code that needs no library

Settings are the fields of odvgp_config by name, with "__" for "."; odvgp.settings() lists them.
Columns of X are standardised inside, with gaussian, studentt and laplace y, too; functions=K gives
K classes. Errors are odvgp.Error with the library's sentence. Threads may share a GP: while one of
them trains it, the others predict with the model as it was before; within progress, predict gives
the state of that step. ODVGP_LIBRARY names the library, ODVGP_THREADS a number of threads other
than that of processors. A model that the tool wrote cannot be trained or saved here; its X has a
column for each level of a text, classes are numbers, means of heteroscedastic standardised."""
import atexit, contextlib, ctypes as C, itertools, operator, os, signal, threading, weakref
import numpy as np

_near = (os.path.abspath(f"{__file__}/../{f}/libodvgp.so") for f in (".", "../../build"))
_found = next(filter(os.path.exists, _near), "libodvgp.so")
_lib = C.CDLL(os.environ.get("ODVGP_LIBRARY") or _found)
_STOPPED, _AUTO, _MARK, _TOOL = 11, 0, b"odvgp.py", b"odvgpcsv"  # ODVGP_E_STOPPED, ODVGP_ISA_AUTO
class Error(Exception): """What the library says, in one sentence."""
class _Stopped(Error): pass
class _Status(C.c_int): pass
class _Info(C.Structure):
    _fields_ = [("status", C.c_int), ("what", C.c_char_p), ("row", C.c_ssize_t),
                ("value", C.c_double), ("text", C.c_char * 200)]
class _Report(C.Structure):  # the first fields, read through a pointer
    _fields_ = [("step", C.c_ssize_t), ("elbo", C.c_double)]
class _Server(C.Structure):  # with room for fields to come
    lock = contextlib.nullcontext()
    _fields_ = [("block", C.c_void_p), ("isa", C.c_void_p)] + [
        (n, C.c_ssize_t) for n in ("D", "P", "F", "T", "y_rows")] + [("more", C.c_void_p * 16)]
class _Config(C.Structure):  # nothing is known of it but its size
    _lib.odvgp_config_size.restype = C.c_size_t
    _fields_ = [("all", C.c_double * (_lib.odvgp_config_size() // 8))]
class _Likelihood(C.Structure):
    _fields_ = [("name", C.c_char_p)] + [(n, C.c_int) for n in (
        "target", "functions", "link_jitter", "exposure", "scales_y", "closed")] + [
        ("param", C.c_char_p * 2), ("target_must", C.c_char_p)]
class _Progress(C.Structure):
    _fields_ = [("phase", C.c_int), ("done", C.c_ssize_t), ("total", C.c_ssize_t),
                ("report", C.POINTER(_Report))]
_Call = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(_Progress))
class _Watch(C.Structure): _fields_ = [("call", _Call), ("user", C.c_void_p)]
_Write = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(C.c_char), C.c_size_t)
class _Export(C.Structure):
    _fields_ = [*zip(("name", "real", "no_libm", "about", "constants", "write", "user"), (
        C.c_char_p, C.c_int, C.c_int, C.c_char_p, C.c_char_p, _Write, C.c_void_p))]
# Results and arguments, by letters: a pointer (p), an odvgp_info (e), a status (o), a text (s).
_types = {"p": C.c_void_p, "e": C.POINTER(_Info), "o": _Status, "s": C.c_char_p, "i": C.c_int,
          "n": C.c_ssize_t, "z": C.c_size_t, "u": C.c_uint64, "d": C.c_double, "c": _Config,
          "l": _Likelihood, "v": None}
_calls = dict(("odvgp_" + name, types) for name, types in map(str.split, """
    config_size z, config_name si, config_words ss, config_defaults cnnnnn, config_set opse,
    config_threads vpp, likelihood_about li, column_scales opnnppe, standardise opnnpppe,
    model_create opppppe, model_free vp, fit opppnpe, fit_q_scratch zpe, fit_q opppppze,
    fit_mode_scratch zpe, fit_mode opppnppze, predictor_size zpe, freeze opppze,
    server_from_block oppzie, predict_scratch zpne, predict oppnpppze, predict_gradient_scratch
    zpne, predict_gradient oppnppze, predict_y oppnpppze, predict_moments_scratch zpe,
    predict_moments opppppze, predict_sigma_points_scratch zpe, predict_sigma_points opppppze,
    path_size zpne, path_start oppunpze, path_at oppppe, online_size zpne, online_scratch zpne,
    online_start oppnpzpze, online_update opppndpze, export_scratch zpe, export oppppze,
    server_size zpze, server_from_memory oppzipze, save_size zpze, save_memory opppzpze,
    file_write ospze, load_size zpzpie, load_user opzppe, load_memory oppzpipze, pool_size zie,
    pool_start opippze, pool_stop vp""".split(",")))
for _name, _letters in _calls.items():
    _f = getattr(_lib, _name)
    _f.restype, *_f.argtypes = map(_types.get, _letters)

def _call(name, *args):
    says, letters = _Info(), _calls["odvgp_" + name]
    args = [getattr(a, "ctypes", a) for a in args] + [C.byref(says)] * letters.endswith("e")
    result = getattr(_lib, "odvgp_" + name)(*args)
    if letters.endswith("e") and (result.value if letters[0] == "o" else not result):
        raise (_Stopped if says.status == _STOPPED else Error)(says.text.decode())
    return result

def _room(name, *args): return np.zeros(_call(name, *args) // 8 + 1)
def _scratch(*args): return (room := _room(*args)), room.nbytes
@contextlib.contextmanager
def _about(path):
    try: yield
    except Error as e: raise Error(f"{path}: {e}") from None

def _rows(a):
    a = np.ascontiguousarray(a, dtype=np.float64)
    return a.reshape(len(a), a.shape[1] if a.ndim == 2 else -1 if a.size else 1)

def _thread_count():
    text = os.environ.get("ODVGP_THREADS") or str(min(os.cpu_count() or 1, 256))
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise Error(f"ODVGP_THREADS is {text!r}: it must be a whole number from 1 to 256")
    return int(text)

def _threads(_hook=(C.c_void_p * 3)(), _pool=[], _lock=threading.Lock()):
    with _lock:  # the pool of all models; the first one starts it
        if not _pool:
            pool, count = C.c_void_p(), _thread_count()
            block = _room("pool_size", count)
            _call("pool_start", C.byref(pool), count, _hook, block, block.nbytes)
            _pool.append((block, atexit.register(_lib.odvgp_pool_stop, pool)))
    return _hook

def _words(name): return (_lib.odvgp_config_words(name.encode()) or b"").decode().split()
def settings():
    return [n.decode() for n in iter(map(_lib.odvgp_config_name, itertools.count()).__next__, None)]

def _scales_y(kind):  # what is no likelihood's name is odvgp_config_set's to refuse
    every = map(_lib.odvgp_likelihood_about, range(len(_words("lik.kind"))))
    return any(f.scales_y and f.name == str(kind).encode() for f in every)

def _inputs(X, s):
    if (X := _rows(X)).shape[1] == s.D: return X
    raise Error(f"X has {X.shape[1]} columns, the model has {s.D}")

class _Served:  # what predicts: _server() has a lock for reading it
    def predict(self, X, noise=False, gradient=False):
        """Mean and variance at X, [n] or [n, P]; their gradients, too, [n, D] or [n, P, D]."""
        X = _inputs(X, s := self._server())
        if noise and gradient: raise Error("gradients are those of f: noise=False")
        out = [*np.empty((2, s.y_rows if noise else s.F, len(X)))]
        if gradient: out += [*np.empty((2, s.F, len(X), s.D))]
        what = "predict_gradient" if gradient else "predict_y" if noise else "predict"
        to = [(C.c_void_p * 6)(*(a.ctypes.data for a in out), None, None)] if gradient else out
        rows, size = max(1, min(len(X), 256)), f"predict{'_gradient' * bool(gradient)}_scratch"
        with s.lock: _call(what, C.byref(s), X, len(X), *to, *_scratch(size, C.byref(s), rows))
        return tuple(a[0] if len(a) == 1 else a.swapaxes(0, 1) for a in out)

    def moments(self, m, S, sigma_points=False):
        """Mean, covariance and input-output covariance of f(x), x ~ N(m, S): numbers and [D], or
        [P], [P, P] and [D, P]. Exact for rbf, linear and constant kernels; sigma_points: any."""
        s, what = self._server(), "predict_sigma_points" if sigma_points else "predict_moments"
        m, S = (np.array(a, np.float64).reshape([s.D] * k) for k, a in ((1, m), (2, S)))
        out = [np.empty(shape) for shape in (s.F, (s.F, s.F), (s.D, s.F))]
        to = (C.c_void_p * 3)(*(a.ctypes.data for a in out))
        with s.lock: _call(what, C.byref(s), m, S, to, *_scratch(what + "_scratch", C.byref(s)))
        return tuple(out) if s.F > 1 else (out[0][0], out[1][0, 0], out[2][:, 0])

    def path(self, seed=0, features=500):
        """One function f from the posterior, the same in each call: f(X), f(X, gradient=True)."""
        s, path, lock = self._server(), C.c_void_p(), threading.Lock()
        block = _room("path_size", C.byref(s), features)
        _call("path_start", C.byref(path), C.byref(s), seed, features, block, block.nbytes)
        def f(X, gradient=False):
            X = _inputs(X, s)
            value, slope = np.empty((len(X), s.F)), np.empty((len(X), s.F, s.D))
            with lock:
                for x, to, df in zip(X, value, slope):
                    _call("path_at", path, x, to, df if gradient else None)
            value, slope = (a[:, 0] if s.F == 1 else a for a in (value, slope))
            return (value, slope) if gradient else value
        f.block = block  # which stays as long as f
        return f

    def online(self, follow=0.0): return Online(self._server(), self._shape[2], follow)

    def export(self, path, name="model", real="float", no_libm=False, about="", constants=""):
        """Writes odvgp_export's header, float or double; about: comment lines; constants: C code."""
        if real not in ("float", "double"): raise Error(f"real {real!r} must be float or double")
        text, at = bytearray(), C.byref(self._server())
        how = _Export(name.encode(), {"float": 4, "double": 8}[real], no_libm, about.encode(),
            constants.encode(), _Write(lambda _, more, count: text.extend(more[:count]) or 0))
        _call("export", at, C.byref(how), None, *_scratch("export_scratch", at))
        with _about(path): _call("file_write", os.fsencode(path), bytes(text), len(text))

class Online(_Served):
    """Learns rows; one that leaves more than `follow` unexplained becomes a point, the least goes."""
    def __init__(self, server, columns, follow=0.0):
        self._shape, self._o, at = (None, server.D, columns), np.zeros(64), C.byref(server)
        most = int(server.kept.size ** 0.5) + 1  # the block holds a matrix of this size, or less
        block, self._work = _room("online_size", at, most), _scratch("online_scratch", at, most)
        with server.lock: _call("online_start", self._o, at, most, block, block.nbytes, *self._work)
        now = self._now = _Server.from_buffer(self._o)  # comes first, then `novelty`
        now.lock, now.kept, self._server, self._o[7] = threading.Lock(), block, lambda: now, follow

    def update(self, X, y, forget=1.0):
        """Learns rows; NaN: no target. After each row earlier ones count `forget` times as much."""
        X, y, n, T = _inputs(X, self._now), _rows(y), len(X), self._shape[2]
        if y.shape != (n, T): raise Error(f"y {y.shape} must be {n} rows of {T} columns")
        with self._now.lock: _call("online_update", self._o, X, y, n, forget, *self._work)
        return self

class GP(_Served):
    def __new__(cls, *_, **__):
        gp = super().__new__(cls)
        gp._model, gp._lock, gp._training, gp._frozen = C.c_void_p(), threading.RLock(), False, None
        return gp

    def __init__(self, X, y, beta=100, gamma=0, functions=None, **config):
        X, y = _rows(X), _rows(y)
        n, D, T = self._shape = (*X.shape, y.shape[1])
        self._scales = [np.zeros(D), np.ones(D), np.zeros(T), np.ones(T)]
        _call("column_scales", X, n, D, *self._scales[:2])
        if _scales_y(config.get("lik__kind", "gaussian")):
            odd = np.flatnonzero(~np.isfinite(y).all(1))
            if odd.size: raise Error(f"y: row {odd[0]} is not finite")
            _call("column_scales", y, len(y), T, *self._scales[2:])
        self._data(X, y)
        P = operator.index(functions or T)
        cfg = _call("config_defaults", n, D, P, int(min(beta, n)), int(gamma))
        _call("config_threads", C.byref(cfg), _threads())
        say = lambda v: ("off", "on")[int(v)] if isinstance(v, (bool, np.bool_)) else v
        texts = [f"{k.replace('__', '.')}={say(v)}".encode() for k, v in config.items()]
        for text in texts: _call("config_set", C.byref(cfg), text)  # which keeps pointers to them
        _call("model_create", C.byref(self._model), C.byref(cfg), self._x, self._y, None)
        weakref.finalize(self, _lib.odvgp_model_free, self._model)

    def _data(self, X, y):
        n, D, T = self._shape
        if X.shape != (n, D) or y.shape != (n, T):
            raise Error(f"X {X.shape}, y {y.shape} must be {n} rows of {D} inputs, {T} targets")
        self._x, self._y = np.empty_like(X), np.empty_like(y)
        _call("standardise", X, *X.shape, *self._scales[:2], self._x)
        _call("standardise", y, *y.shape, *self._scales[2:], self._y)

    @contextlib.contextmanager
    def _changes(self, progress=None):  # one thread at a time; others predict with what was before
        if not self._model: raise Error("the tool wrote this model, and trains it")
        raised, main = [], threading.current_thread() is threading.main_thread()
        def watch(_, at):
            r = at[0].report  # only after a step
            try: return bool(raised or progress and r and progress(r[0].step, r[0].elbo))
            except BaseException as e: return raised.append(e) or 1  # must not pass through C
        stop = lambda *_: raised.append(KeyboardInterrupt())  # Ctrl-C may come outside of watch
        with self._lock:
            if self._training: raise Error("progress cannot train the model that calls it")
            with contextlib.suppress(Error): self._server()  # if it fails, they wait
            self._training, before = True, main and signal.signal(signal.SIGINT, stop)
            try: yield C.byref(_Watch(_Call(watch)))
            except _Stopped: pass
            finally:
                self._frozen, self._training = None, False
                main and signal.signal(signal.SIGINT, before or signal.SIG_DFL)
        if raised: raise raised[0]

    def _fit(self, name, *args, progress=None):
        with self._changes(progress) as watch:
            room = () if name == "fit" else _scratch(name + "_scratch", self._model)
            _call(name, self._model, self._x, self._y, *args, watch, *room)
        return self
    def train(self, steps, progress=None):
        """Trains further. progress(step, elbo) comes after each step; a true result ends it."""
        return self._fit("fit", operator.index(steps), progress=progress)
    # q at its optimum, due after objective="collapsed"; for classes, its mean at the mode
    def fit_q(self): return self._fit("fit_q")
    def fit_mode(self, steps=20): return self._fit("fit_mode", operator.index(steps))

    def _pointers(self):
        plain = not self._scales[2].any() and (self._scales[3] == 1).all()
        return C.byref((C.c_void_p * 4)(*[a.ctypes.data for a in self._scales[:2 if plain else 4]]))

    def _server(self):  # of this step within progress, else of what the last training left
        server = self._frozen
        if not self._lock.acquire(blocking=server is None): return server  # another thread trains
        try:
            if self._frozen and not self._training: return self._frozen
            server, block = _Server(), _room("predictor_size", self._model)
            _call("freeze", self._model, self._pointers(), block, block.nbytes)
            _call("server_from_block", C.byref(server), block, block.nbytes, _AUTO)
            server.kept = block
            if not self._training: self._frozen = server
            return server
        finally: self._lock.release()

    def save(self, path):
        if not self._model: raise Error("the tool wrote this model, and keeps it")
        user = _MARK + np.concatenate([self._shape, *self._scales]).tobytes()
        with self._lock, _about(path):
            file = np.zeros(_call("save_size", self._model, len(user)), np.uint8)
            _call("save_memory", self._model, self._pointers(), user, len(user), file, file.nbytes)
            _call("file_write", os.fsencode(path), file, file.nbytes)

def load(path, X=None, y=None):
    gp, file = GP.__new__(GP), np.fromfile(path, np.uint8)
    user, count = C.c_void_p(), C.c_size_t()
    with _about(path):
        _call("load_user", file, file.nbytes, C.byref(user), C.byref(count))
        user, size = C.string_at(user, count.value), len(_MARK)
        if user[:size] == _TOOL and X is None:
            s = gp._frozen = _Server()
            s.kept = to = _room("server_size", file, file.nbytes)
            _call("server_from_memory", C.byref(s), file, file.nbytes, _AUTO, to, to.nbytes)
            gp._shape = None, s.D, s.T + (b"class-weights=" in user)  # the weight of a row
            return gp
        if user[:size] != _MARK: raise Error("it was not written by odvgp.py")
        of = file, file.nbytes, _threads(), _AUTO
        gp._block = _room("load_size", *of)
        _call("load_memory", C.byref(gp._model), *of, gp._block, gp._block.nbytes)
    numbers = np.frombuffer(user[len(_MARK):]).copy()
    gp._shape, gp._x, gp._y = tuple(int(k) for k in numbers[:3]), None, None
    gp._scales = np.split(numbers[3:], np.cumsum([gp._shape[1]] * 2 + [gp._shape[2]]))
    if X is not None: gp._data(_rows(X), _rows(y))
    return gp
