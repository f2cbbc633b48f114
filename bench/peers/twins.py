"""The models of ours.c in PyTorch, and models as near to them as GPyTorch and GPflow have. Each
class below Twin is made from the numbers of a model of ours, and has `step`, a training step, and
`bound` where it is the same model. An import that fails leaves its library out of the table."""

import importlib.util
import math

import numpy as np

SIDE, PATCH, CLASSES = 28, 5, 10
EPSILON, NODES, TAU, RATE, COLUMNS = 1e-3, 20, 0.1, 0.01, 64


def installed(name):
    """The library, or None; a library that is there but broken is an error."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


torch = installed("torch")
Module = torch.nn.Module if torch else object


class Kernel(Module):
    """A sum of base kernels, each with a lengthscale, or one for each column, and a variance."""

    def __init__(self, slot, prefix, names):
        super().__init__()
        self.names = names

        def logs(what):
            of = [slot(f"{prefix}kernel.{i}.{what}").log() for i in range(len(names))]
            return torch.nn.ParameterList(of)

        self.log_lengthscale, self.log_variance = logs("lengthscale"), logs("variance")

    def variance(self):
        return sum(v.exp() for v in self.log_variance)

    def distances(self, A, B):
        half = 0.5 * (A * A).sum(-1)[..., :, None] + 0.5 * (B * B).sum(-1)[..., None, :]
        return (half - A @ B.transpose(-1, -2)).clamp_min(0)

    def forward(self, A, B):
        """k(A,B), also of batches of matrices; equal lengthscales share their distances."""
        total, shared = 0, None
        for name, ls, v in zip(self.names, self.log_lengthscale, self.log_variance):
            if ls.numel() > 1:
                half = self.distances(A * torch.exp(-ls), B * torch.exp(-ls))
            else:
                shared = self.distances(A, B) if shared is None else shared
                half = shared * torch.exp(-2 * ls)
            if name == "rbf":
                total = total + torch.exp(v - half)
            else:
                r = torch.sqrt(10 * half + 1e-30)
                total = total + (1 + r + r * r / 3) * torch.exp(v - r)
        return total


class Layer(Module):
    """Whitened q of P functions with shared inducing points and an RBF kernel."""

    def __init__(self, slot, jitter, prefix=""):
        super().__init__()

        def parameter(name, *shape):
            return torch.nn.Parameter(slot(prefix + name).reshape(shape))

        M = round(slot(prefix + "q_sqrt").numel() / slot(prefix + "q_mu").numel())
        D = slot(prefix + "Z_beta").numel() // M
        P = slot(prefix + "q_mu").numel() // M
        self.Z = parameter("Z_beta", M, D)
        self.q_mu = parameter("q_mu", P, M)
        self.q_sqrt = parameter("q_sqrt", P, M, M)
        self.kernel = Kernel(slot, prefix, ["rbf"])
        self.jitter = jitter

    def moments(self, Kuf, kff):
        """Mean and variance [n,P] from K(Z,x) [M,n] and k(x,x) [n], and the KL divergence."""
        M = self.Z.shape[0]
        Kuu = self.kernel(self.Z, self.Z)
        Kuu = Kuu + (self.jitter[0] + self.jitter[1] * self.kernel.variance()) * torch.eye(M)
        A = torch.linalg.solve_triangular(torch.linalg.cholesky(Kuu), Kuf, upper=False)
        root = torch.tril(self.q_sqrt)
        T = root.transpose(1, 2) @ A
        var = kff - (A * A).sum(0) + (T * T).sum(1)
        logs = torch.log(torch.diagonal(root, dim1=1, dim2=2).abs()).sum()
        kl = 0.5 * ((self.q_mu**2).sum() + (root**2).sum() - root.shape[0] * M) - logs
        return (self.q_mu @ A).T, var.T, kl


class Twin(Module):
    """All parameters are moved by Adam."""

    def begin(self, X, Y):
        self.X, self.Y = X, Y
        self.adam = torch.optim.Adam(self.parameters(), lr=RATE)

    def step(self):
        self.adam.zero_grad()
        loss = -self.bound(self.X, self.Y)
        loss.backward()
        self.adam.step()
        return loss.item()


class Conv(Twin):
    """COUPLED on patches, robust-max."""

    def __init__(self, slot, jitter):
        super().__init__()
        self.layer = Layer(slot, jitter)
        self.weights = torch.nn.Parameter(slot("weights"))
        nodes, weights = np.polynomial.hermite.hermgauss(NODES)
        self.nodes = torch.tensor(nodes * math.sqrt(2))
        self.node_weights = torch.tensor(weights / math.sqrt(math.pi))

    def bound(self, X, Y):
        n, Y = X.shape[0], Y.long()
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
        likelihood = p * math.log1p(-EPSILON) + (1 - p) * math.log(EPSILON / (CLASSES - 1))
        return likelihood.sum() - kl


def gaussian(Y, mean, var, log_noise):
    error = ((Y - mean) ** 2 + var) * torch.exp(-log_noise)
    return -0.5 * (error + log_noise + math.log(2 * math.pi)).sum()


class Deep(Twin):
    """Two COUPLED layers; a hidden sample for each row."""

    def __init__(self, slot, jitter):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(slot, jitter, f"layer{l}.") for l in range(2))
        self.log_noise = torch.nn.Parameter(slot("noise_variance").log())

    def bound(self, X, Y):
        total, h = 0, X
        for l, layer in enumerate(self.layers):
            variance = layer.kernel.variance().expand(h.shape[0])
            mean, var, kl = layer.moments(layer.kernel(layer.Z, h), variance)
            total = total - kl
            if l == 0:
                h = X + mean + var.clamp_min(0).sqrt() * torch.randn_like(mean)
        return total + gaussian(Y, mean, var, self.log_noise)


class Orth(Twin):
    """ORTHNAT, without gamma COUPLEDNAT: natural steps for q = N(mu, S), Adam for the rest. A step
    needs neither a factor of S nor C(Z_gamma,Z_gamma): the gradient in S and a few columns do."""

    def __init__(self, slot, jitter):
        super().__init__()
        M = slot("q_mu").numel()
        D = slot("Z_beta").numel() // M
        self.Z = torch.nn.Parameter(slot("Z_beta").reshape(M, D))
        self.kernel = Kernel(slot, "", ["matern52", "rbf"])
        self.log_noise = torch.nn.Parameter(slot("noise_variance").log())
        self.a = None
        if slot("a_gamma", optional=True) is not None:
            self.a = torch.nn.Parameter(slot("a_gamma"))
            self.Z_gamma = torch.nn.Parameter(slot("Z_gamma").reshape(-1, D))
        self.jitter = jitter
        root = torch.tril(slot("q_sqrt").reshape(M, M))
        self.mu = slot("q_mu").requires_grad_()
        self.S = (root @ root.T).requires_grad_()
        self.precision = torch.cholesky_inverse(root)
        self.eye = torch.eye(M)

    def fit(self, X, Y, columns):
        """Expected log-likelihood less the KL divergence of gamma by these of its columns."""
        jitter = self.jitter[0] + self.jitter[1] * self.kernel.variance()
        L = torch.linalg.cholesky(self.kernel(self.Z, self.Z) + jitter * self.eye)
        A = torch.linalg.solve_triangular(L, self.kernel(self.Z, X), upper=False)
        mu, more, kl = self.mu, 0, 0
        if self.a is not None:
            between = (self.kernel(self.Z, self.Z_gamma) @ self.a)[:, None]
            c = torch.linalg.solve_triangular(L, between, upper=False)
            back = torch.linalg.solve_triangular(L.T, c, upper=True)[:, 0]
            some = self.Z_gamma[columns]
            Ca = self.kernel(some, self.Z_gamma) @ self.a - self.kernel(some, self.Z) @ back
            kl = 0.5 * len(self.a) / len(columns) * (self.a[columns] * Ca).sum()
            mu, more = mu - c[:, 0], self.kernel(X, self.Z_gamma) @ self.a
        mean = mu @ A + more
        var = self.kernel.variance() - (A * A).sum(0) + (A * (self.S @ A)).sum(0)
        return gaussian(Y[:, 0], mean, var, self.log_noise) - kl

    def bound(self, X, Y):
        columns = slice(None) if self.a is None else torch.arange(len(self.a))
        trace = torch.diagonal(self.S).sum() + (self.mu**2).sum() - len(self.mu)
        return self.fit(X, Y, columns) - 0.5 * (trace - torch.logdet(self.S))

    def step(self):
        self.adam.zero_grad()
        self.mu.grad = self.S.grad = None
        columns = None if self.a is None else torch.randperm(len(self.a))[:COLUMNS]
        loss = -self.fit(self.X, self.Y, columns)
        loss.backward()
        self.adam.step()
        with torch.no_grad():
            slope = -self.mu.grad + 2 * self.S.grad @ self.mu
            first = (1 - TAU) * self.precision @ self.mu + TAU * slope
            target = self.eye + self.S.grad + self.S.grad.T
            self.precision = (1 - TAU) * self.precision + TAU * target
            root = torch.linalg.cholesky(self.precision)
            self.S.copy_(torch.cholesky_inverse(root))
            self.mu.copy_(torch.cholesky_solve(first[:, None], root)[:, 0])
        return loss.item()


class Serve:
    """NumPy formulas of the mean, and of mean and variance, of a frozen ORTH model. All that does
    not depend on x is prepared: points divided by the lengthscales, their squares, the inverse of
    L, q_sqrt transposed."""

    SHAPES = {
        "matern52(ard)": lambda r2: (1 + (s := np.sqrt(5 * r2)) + 5 / 3 * r2) * np.exp(-s),
        "rbf(ard)": lambda r2: np.exp(-0.5 * r2),
    }

    def __init__(self, slot, piece, M, G, D, kernel):
        hyp = piece("h", D + 1)
        self.lengths, v = hyp[:D], hyp[D]
        Z = np.vstack([slot("Z_beta").reshape(M, D), slot("Z_gamma").reshape(G, D)])
        Z = Z / self.lengths
        self.squares, self.twice, self.M, self.v = (Z * Z).sum(1), 2 * Z, M, v
        self.weights = v * np.concatenate([piece("a", M), piece("g", G)])
        self.inverse = v * np.linalg.inv(np.tril(piece("L", M * M).reshape(M, M)))
        self.root = np.ascontiguousarray(np.tril(piece("R", M * M).reshape(M, M)).T)
        self.shape = self.SHAPES[kernel]

    def k(self, X):
        """k(x,Z) of one row [D] or of rows [n,D]."""
        X = X / self.lengths
        r2 = self.squares - X @ self.twice.T + (X * X).sum(-1, keepdims=True)
        return self.shape(np.maximum(r2, 0))

    def mean(self, X):
        return self.k(X) @ self.weights, None

    def both(self, X):
        k = self.k(X)
        A = k[..., : self.M] @ self.inverse.T
        T = A @ self.root.T
        var = np.maximum(self.v - (A * A).sum(-1), 0) + (T * T).sum(-1)
        return k @ self.weights, var


def gpytorch_svgp(X, Y, Z):
    """SVGP with natural steps and Adam; returns a step."""
    gpytorch = installed("gpytorch")
    if not torch or not gpytorch:
        return None
    kernels, variational = gpytorch.kernels, gpytorch.variational

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self):
            q = variational.NaturalVariationalDistribution(len(Z))
            super().__init__(variational.VariationalStrategy(self, Z, q, True))
            self.mean = gpytorch.means.ZeroMean()
            self.kernel = kernels.ScaleKernel(kernels.MaternKernel(2.5)) + kernels.ScaleKernel(
                kernels.RBFKernel()
            )

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    model, likelihood = Model(), gpytorch.likelihoods.GaussianLikelihood()
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(X))
    moved = [*model.hyperparameters(), *likelihood.parameters()]
    adam = torch.optim.Adam(moved, lr=RATE)
    natural = gpytorch.optim.NGD(model.variational_parameters(), num_data=len(X), lr=TAU)
    y = Y[:, 0]

    def step():
        adam.zero_grad()
        natural.zero_grad()
        loss = -bound(model(X), y)
        loss.backward()
        natural.step()
        adam.step()
        return loss.item()

    return step


def gpflow_svgp(X, Y, Z, threads):
    """SVGP with natural steps and Adam, compiled by tf.function; returns a step."""
    if not installed("tensorflow") or not installed("gpflow"):
        return None
    tf, gpflow = installed("tensorflow"), installed("gpflow")
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    kernel = gpflow.kernels.Matern52() + gpflow.kernels.SquaredExponential()
    model = gpflow.models.SVGP(
        kernel, gpflow.likelihoods.Gaussian(), Z.copy(), num_data=len(X), whiten=True
    )
    gpflow.set_trainable(model.q_mu, False)
    gpflow.set_trainable(model.q_sqrt, False)
    loss = model.training_loss_closure((tf.constant(X), tf.constant(Y)), compile=False)
    natural = gpflow.optimizers.NaturalGradient(gamma=TAU)
    adam = tf.keras.optimizers.Adam(RATE)

    @tf.function
    def both():
        natural.minimize(loss, [(model.q_mu, model.q_sqrt)])
        with tf.GradientTape() as tape:
            value = loss()
        of = model.trainable_variables
        adam.apply_gradients(zip(tape.gradient(value, of), of))
        return value

    return lambda: float(both())
