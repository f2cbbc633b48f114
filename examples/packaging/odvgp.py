"""odvgp.py - the sparse Gaussian processes of odvgp.h in Python, through ctypes and NumPy.

    make shared                             # build/libodvgp.so, in the repository of odvgp.h
    import odvgp
    gp = odvgp.GP(X, y, beta=100, gamma=300, kernel="matern52(ard)", optim__lr="0.01-0.001:4000")
    gp.train(4000, progress=lambda step, elbo: print(step, elbo))
    mean, var = gp.predict(X_new)           # of f; noise=True: of y; with classes probabilities
    gp.save("model.odvgp"); gp = odvgp.load("model.odvgp")  # load(path, X, y) to train further

Settings are the fields of odvgp_config by name, with "__" for "."; odvgp.settings() lists them.
Columns of X are standardised inside, with gaussian, studentt and laplace y, too; functions=K gives
K classes. Errors are odvgp.Error with the library's sentence. ODVGP_LIBRARY names the library,
ODVGP_THREADS a number of threads other than that of processors. The tool has its own files."""
import atexit, ctypes as C, itertools, os, signal, threading, weakref
import numpy as np

_built = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/libodvgp.so")
_lib = C.CDLL(os.environ.get("ODVGP_LIBRARY", _built if os.path.exists(_built) else "libodvgp.so"))
_STOPPED, _AUTO, _MARK = 11, 0, b"odvgp.py"  # ODVGP_E_STOPPED, ODVGP_ISA_AUTO

class Error(Exception): """What the library says, in one sentence."""
class _Stopped(Error): pass
class _Info(C.Structure):
    _fields_ = [("status", C.c_int), ("what", C.c_char_p), ("row", C.c_ssize_t),
                ("value", C.c_double), ("text", C.c_char * 200)]
class _Report(C.Structure):  # the first fields, read through a pointer
    _fields_ = [("step", C.c_ssize_t), ("elbo", C.c_double)]
class _Server(C.Structure):  # with room for fields to come
    _fields_ = [("block", C.c_void_p), ("isa", C.c_void_p)] + [
        (n, C.c_ssize_t) for n in ("D", "P", "F", "T", "y_rows")] + [("more", C.c_void_p * 16)]
class _Config(C.Structure):  # nothing is known of it but its size
    _fields_ = [("all", C.c_double * (_lib.odvgp_config_size() // 8))]
_Watch = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(_Report))
_lib.odvgp_config_defaults.restype = _Config
_lib.odvgp_status_text.restype = _lib.odvgp_config_name.restype = C.c_char_p
for _name in ("predictor_size", "predict_scratch", "save_size", "fit_q_size", "pool_size"):
    getattr(_lib, "odvgp_" + _name).restype = C.c_ssize_t

def _get(name, *args):  # integers are ptrdiff_t or size_t, arrays are pointers
    return getattr(_lib, "odvgp_" + name)(*[C.c_ssize_t(a) if isinstance(a, int) else
                                            getattr(a, "ctypes", a) for a in args])

def _call(name, *args, info=True):
    says = _Info()
    if status := _get(name, *args, *([C.byref(says)] if info else [])):
        error = _Stopped if status == _STOPPED else Error
        raise error((says.text if info else _lib.odvgp_status_text(status)).decode())

def _rows(a):
    a = np.ascontiguousarray(a, dtype=np.float64)
    return a.reshape(len(a), a.shape[1] if a.ndim == 2 else -1 if a.size else 1)

def _threads(_hook=(C.c_void_p * 3)(), _pool=[]):  # of all models; the first one starts a pool
    if not _pool:
        pool, count = C.c_void_p(), int(os.environ.get("ODVGP_THREADS") or os.cpu_count())
        block = np.zeros(_get("pool_size", count) // 8 + 1)
        _call("pool_start", C.byref(pool), count, block, block.nbytes, _hook, info=False)
        _pool.append((block, atexit.register(_lib.odvgp_pool_stop, pool)))
    return _hook

def settings():
    return [n.decode() for n in iter(map(_lib.odvgp_config_name, itertools.count()).__next__, None)]

class GP:
    def __init__(self, X, y, beta=100, gamma=0, functions=None, **config):
        self._model, self._frozen = C.c_void_p(), None
        X, y = _rows(X), _rows(y)
        n, D, T = self._shape = (*X.shape, y.shape[1])
        self._scales = [np.zeros(D), np.ones(D), np.zeros(T), np.ones(T)]
        _call("column_scales", X, n, D, *self._scales[:2])
        if config.get("lik__kind", "gaussian") in ("gaussian", "studentt", "laplace"):
            _call("column_scales", y, len(y), T, *self._scales[2:])
        self._data(X, y)
        cfg = _get("config_defaults", n, D, functions or T, int(min(beta, n)), int(gamma))
        _get("config_threads", C.byref(cfg), _threads())
        texts = [f"{k.replace('__', '.')}={('off', 'on')[v] if isinstance(v, bool) else v}".encode()
                 for k, v in config.items()]  # a kernel must live until the model is made
        for text in texts: _call("config_set", C.byref(cfg), text)
        _call("model_create", C.byref(self._model), C.byref(cfg), self._x, self._y, None)
        weakref.finalize(self, _lib.odvgp_model_free, self._model)

    def _data(self, X, y):
        n, D, T = self._shape
        if X.shape != (n, D) or y.shape != (n, T):
            raise Error(f"X {X.shape}, y {y.shape} must be {n} rows of {D} inputs, {T} targets")
        self._x, self._y = np.empty_like(X), np.empty_like(y)
        _call("standardise", X, *X.shape, *self._scales[:2], self._x, info=False)
        _call("standardise", y, *y.shape, *self._scales[2:], self._y, info=False)

    def train(self, steps, progress=None):
        """Trains further. progress(step, elbo) comes after each step; a true result ends it."""
        raised, self._frozen = [], None
        def watch(_, report):
            try: return bool(raised or progress and progress(report[0].step, report[0].elbo))
            except BaseException as e: return raised.append(e) or 1  # must not pass through C
        main = threading.current_thread() is threading.main_thread()
        stop = lambda *_: raised.append(KeyboardInterrupt())  # Ctrl-C may come outside of watch
        before = main and signal.signal(signal.SIGINT, stop)
        try:
            _call("fit", self._model, self._x, self._y, steps, _Watch(watch), None)
        except _Stopped: pass
        finally: main and signal.signal(signal.SIGINT, before or signal.SIG_DFL)
        if raised: raise raised[0]
        return self

    def fit_q(self):  # sets q to its optimum: needed after training with objective="collapsed"
        work, self._frozen = np.zeros(_get("fit_q_size", self._model) // 8 + 1), None
        _call("fit_q", self._model, self._x, self._y, work, work.nbytes)
        return self

    def _pointers(self):
        plain = not self._scales[2].any() and (self._scales[3] == 1).all()
        return C.byref((C.c_void_p * 4)(*[a.ctypes.data for a in self._scales[:2 if plain else 4]]))

    def predict(self, X, noise=False):
        """Mean and variance at the rows of X: [n], or [n, P] with several outputs or classes."""
        if self._frozen is None:
            frozen, server = np.zeros(_get("predictor_size", self._model) // 8 + 1), _Server()
            _call("freeze", self._model, self._pointers(), frozen, frozen.nbytes)
            _call("server_from_block", C.byref(server), frozen, frozen.nbytes, _AUTO)
            self._frozen, self._server = frozen, server
        s, X = self._server, _rows(X)
        if X.shape[1] != s.D: raise Error(f"X has {X.shape[1]} columns, the model has {s.D}")
        mean, var = np.empty((2, s.y_rows if noise else s.P, len(X)))
        scratch = np.zeros(_get("predict_scratch", C.byref(s), max(1, min(len(X), 256))) // 8 + 1)
        what, more = ("predict_y", []) if noise else ("predict", [None])
        _call(what, C.byref(s), X, len(X), mean, var, *more, scratch, scratch.nbytes, info=False)
        return (mean[0], var[0]) if len(mean) == 1 else (mean.T, var.T)

    def save(self, path):
        user = _MARK + np.concatenate([self._shape, *self._scales]).tobytes()
        file = np.zeros(_get("save_size", self._model, len(user)), np.uint8)
        _call("save", self._model, self._pointers(), user, len(user), file, file.nbytes)
        _call("file_write", os.fsencode(path), file, file.nbytes, info=False)

def load(path, X=None, y=None):
    gp, file, size = GP.__new__(GP), np.fromfile(path, np.uint8), C.c_size_t()
    user, count = C.c_void_p(), C.c_size_t()
    _call("load_size", file, file.nbytes, _threads(), _AUTO, C.byref(size), None, C.byref(user),
          C.byref(count))
    if (user := C.string_at(user, count.value))[:8] != _MARK:
        raise Error(f"{path} was not written by odvgp.py")
    gp._model, gp._frozen, gp._block = C.c_void_p(), None, np.zeros(size.value // 8 + 1)
    _call("load", file, file.nbytes, _threads(), _AUTO, gp._block, gp._block.nbytes,
          C.byref(gp._model))
    numbers = np.frombuffer(user[8:]).copy()
    gp._shape, gp._x, gp._y = tuple(int(k) for k in numbers[:3]), None, None
    gp._scales = np.split(numbers[3:], np.cumsum([gp._shape[1]] * 2 + [gp._shape[2]]))
    if X is not None: gp._data(_rows(X), _rows(y))
    return gp
