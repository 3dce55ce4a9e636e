"""Hand-written JAX baseline: doubly stochastic DGP, full (whitened, M), decoupled (mean GPcent with Z_a, covariance
GP with Z_b, S = L_s L_s^T), and nested (whitened, Z_b the head of Z), one training step jitted as a whole.

Layer with inputs h (D_in), D_out outputs that share kernel and inducing inputs:
  full       A = L^-1 K_Zh                  mean_d = A^T m_d      var_d = k - a^T (I - Ls_d Ls_d^T) a
             KL  = 1/2 sum_d [ |m_d|^2 + |Ls_d|_F^2 - log det(Ls_d)^2 - M ]
  decoupled  mean_d = K_hZa La^-T m_d       A = Lb^-1 K_Zbh,  C_d = Lb^-1 Ls_d
             var_d  = k - a^T (I - C_d C_d^T) a
             KL  = 1/2 sum_d [ |m_d|^2 + |C_d|_F^2 + log det Kb - log det(Ls_d)^2 - Mb ]
  nested     mean_d = K_hZ L^-T m_d         A = Lb^-1 K_Zbh, where Lb is the leading block of L, K_Zbh the head of K_Zh
             var_d  = k - a^T (I - Ls_d Ls_d^T) a                    KL as that of full
  nested-diagonal the same with Ls_d = diag(s_d)
             var_d  = k - sum_m (1 - s_dm^2) a_m^2
             KL  = 1/2 sum_d [ |m_d|^2 + sum_m (s_dm^2 - log s_dm^2 - 1) ]
with L L^T = K_ZZ + jitter I. Activations are held feature-major, (features, batch).
Last layer: analytic expected Gaussian log-likelihood; hidden layers: one reparameterised sample.

The quadratic forms are the cost: `quad` has a hand-written gradient that uses the symmetry of
I - S (2 big products instead of autodiff's 3); --quad autodiff turns that off.
"""
import functools
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import peer_common as pc
import peer_oracle

ap = pc.parser(__doc__)
ap.add_argument("--cov", choices=["standard", "whitened"], default="standard",
                help="decoupled model: S = Ls Ls^T (the paper's Sigma_GP) or S = Lb Ls Ls^T Lb^T")
ap.add_argument("--quad", choices=["fused", "autodiff", "chol"], default="fused",
                help="fused: symmetric P, own gradient; autodiff: symmetric P; chol: |Ls^T a|^2, as most code has it")
ap.add_argument("--solve", choices=["inv", "trsm"], default="inv",
                help="A = L^-1 K by explicit triangular inverse and product, or by triangular solve")
ap.add_argument("--precision", choices=["highest", "high", "default"], default="highest",
                help="f32 matmul precision (on a GPU 'default' is TF32)")
ap.add_argument("--scan", type=int, default=0, help="steps per compiled call with lax.scan (0: one step per call)")
ap.add_argument("--dump", default="", help="write parameters, batch, noise, ELBO terms and gradients to this .npz")
ap.add_argument("--check", default="", help="compare bound and gradients with a file (peer_oracle.py) and exit")
ap.add_argument("--profile", default="", help="write a jax profiler trace there")
ap.add_argument("--jobs", type=int, default=0, help="parallel compilations (0: number of CPUs)")
args = ap.parse_args()

os.environ["JAX_PLATFORMS"] = args.device
if args.device == "cpu" and args.threads:
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(args.threads)
    if args.threads == 1:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", args.precision)
LOG2PI = math.log(2 * math.pi)
WIDE = 100      # inputs with so many columns are data


def configure(cfg):
    """Globals of one configuration; they are read while tracing only."""
    global args, DT, JITTER, VAR_FLOOR, prepare, apply_layer
    args = cfg
    DT = jnp.float32 if args.dtype == "f32" else jnp.float64
    JITTER = args.jitter
    VAR_FLOOR = 1e-10 if args.dtype == "f64" else 1e-7
    prepare, apply_layer = {"full": (prepare_full, apply_full), "decoupled": (prepare_decoupled, apply_decoupled),
                            "nested": (prepare_nested, apply_nested),
                            "nested-diagonal": (prepare_nested, apply_nested)}[args.model]


# ---------------------------------------------------------------- kernel and quadratic form

def rbf(Z, Ht, log_ls, log_var):
    """k(Z, H): Z (M, D), Ht (D, N) -> (M, N). Only Z is scaled, so data inputs need no gradient product."""
    il2 = jnp.exp(-2 * log_ls)
    W = Z * il2
    c, e = (log_var - 0.5 * jnp.sum(Z * W, 1))[:, None], -0.5 * (il2 @ (Ht * Ht))[None]
    if Ht.shape[0] >= WIDE:
        return jnp.exp(W @ Ht + (c + e))
    # With the sums in the product it is a pass faster, and backward the products sum rows and columns of the gradient;
    # but then the gradient at all of H is made, if only that at e is wanted.
    left, right = jnp.concatenate([W, c, jnp.ones_like(c)], 1), jnp.concatenate([Ht, jnp.ones_like(e), e])
    return jnp.exp(left @ right)


def chol_kernel(Z, log_ls, log_var):
    return jnp.linalg.cholesky(rbf(Z, Z.T, log_ls, log_var) + JITTER * jnp.eye(Z.shape[0], dtype=Z.dtype))


def lower_solve(L, B):
    if args.solve == "trsm" or B.shape[1] <= L.shape[0]:
        return solve_triangular(L, B, lower=True)
    return solve_triangular(L, jnp.eye(L.shape[0], dtype=L.dtype), lower=True) @ B


def quad_plain(P, A):
    """q_dn = a_n^T P_d a_n for symmetric P: (Do, M, M), (M, N) -> (Do, N)."""
    Do, M, _ = P.shape
    Q = (P.reshape(Do * M, M) @ A).reshape(Do, M, -1)
    return jnp.sum(A[None] * Q, 1)


@jax.custom_vjp
def quad_fused(P, A):
    return quad_plain(P, A)


def _quad_fwd(P, A):
    Do, M, _ = P.shape
    Q = (P.reshape(Do * M, M) @ A).reshape(Do, M, -1)
    return jnp.sum(A[None] * Q, 1), (A, Q)


def _quad_bwd(res, g):
    A, Q = res
    Do, M, N = Q.shape
    dA = 2 * jnp.sum(g[:, None, :] * Q, 0)
    dP = ((g[:, None, :] * A[None]).reshape(Do * M, N) @ A.T).reshape(Do, M, M)
    return dP, dA


quad_fused.defvjp(_quad_fwd, _quad_bwd)


def explained(C, A):
    """a^T (I - C_d C_d^T) a, (Do, N), for lower-triangular C: (Do, M, M)."""
    if args.quad == "chol":
        Do, M, _ = C.shape
        B = (jnp.swapaxes(C, 1, 2).reshape(Do * M, M) @ A).reshape(Do, M, -1)
        return jnp.sum(A * A, 0)[None] - jnp.sum(B * B, 1)
    P = jnp.eye(A.shape[0], dtype=A.dtype) - C @ jnp.swapaxes(C, 1, 2)
    return (quad_fused if args.quad == "fused" else quad_plain)(P, A)


# ---------------------------------------------------------------- layers and ELBO

def kl_whitened(m, Ls):
    Do, M = Ls.shape[0], Ls.shape[1]
    logdet_s = jnp.sum(jnp.log(jnp.square(jnp.diagonal(Ls, axis1=1, axis2=2))))
    return 0.5 * (jnp.sum(m ** 2) + jnp.sum(Ls * Ls) - logdet_s - Do * M)


def prepare_full(p):
    L = chol_kernel(p["Z"], p["log_ls"], p["log_var"])
    Ls = jnp.tril(p["Ls"])
    return (L, Ls), kl_whitened(p["m"], Ls)


def apply_full(p, c, Ht):
    L, Ls = c
    A = lower_solve(L, rbf(p["Z"], Ht, p["log_ls"], p["log_var"]))
    return p["m"].T @ A, jnp.exp(p["log_var"]) - explained(Ls, A)


def prepare_decoupled(p):
    La = chol_kernel(p["Za"], p["log_ls"], p["log_var"])
    Lb = chol_kernel(p["Zb"], p["log_ls"], p["log_var"])
    beta = solve_triangular(La, p["m"], lower=True, trans=1)              # (Ma, Do)
    Ls = jnp.tril(p["Ls"])
    Do, Mb = Ls.shape[0], Ls.shape[1]
    Lb_inv = solve_triangular(Lb, jnp.eye(Mb, dtype=Lb.dtype), lower=True)
    C = Ls if args.cov == "whitened" else jnp.einsum("ij,djk->dik", Lb_inv, Ls)
    logdet_k = 0.0 if args.cov == "whitened" else 2 * jnp.sum(jnp.log(jnp.diagonal(Lb)))
    logdet_s = jnp.sum(jnp.log(jnp.square(jnp.diagonal(Ls, axis1=1, axis2=2))))
    kl = 0.5 * (jnp.sum(p["m"] ** 2) + jnp.sum(C * C) + Do * logdet_k - logdet_s - Do * Mb)
    return (beta, Lb, Lb_inv, C), kl


def apply_decoupled(p, c, Ht):
    beta, Lb, Lb_inv, C = c
    Ma = p["Za"].shape[0]
    K = rbf(jnp.concatenate([p["Za"], p["Zb"]]), Ht, p["log_ls"], p["log_var"])
    A = lower_solve(Lb, K[Ma:]) if args.solve == "trsm" else Lb_inv @ K[Ma:]
    return beta.T @ K[:Ma], jnp.exp(p["log_var"]) - explained(C, A)


def prepare_nested(p):
    L = chol_kernel(p["Z"], p["log_ls"], p["log_var"])
    beta = solve_triangular(L, p["m"], lower=True, trans=1)
    if args.model == "nested-diagonal":
        C = p["Ld"]
        kl = 0.5 * (jnp.sum(p["m"] ** 2) + jnp.sum(C * C - jnp.log(C * C) - 1))
    else:
        C = jnp.tril(p["Ls"])
        kl = kl_whitened(p["m"], C)
    Mb = C.shape[1]
    Lb = L[:Mb, :Mb]
    return (beta, Lb, solve_triangular(Lb, jnp.eye(Mb, dtype=Lb.dtype), lower=True), C), kl


def apply_nested(p, c, Ht):
    beta, Lb, Lb_inv, C = c
    K = rbf(p["Z"], Ht, p["log_ls"], p["log_var"])
    A = lower_solve(Lb, K[:Lb.shape[0]]) if args.solve == "trsm" else Lb_inv @ K[:Lb.shape[0]]
    share = (1 - C * C) @ (A * A) if args.model == "nested-diagonal" else explained(C, A)
    return beta.T @ K, jnp.exp(p["log_var"]) - share


def propagate(params, skips, Ht, eps):
    """Mean and variance of the last layer, (1, N) each, and the summed KL. eps: list of (D_out, N)."""
    kl = 0.0
    layers = params["layers"]
    for i, (p, W) in enumerate(zip(layers, skips)):
        c, k = prepare(p)
        kl = kl + k
        mean, var = apply_layer(p, c, Ht)
        var = jnp.maximum(var, VAR_FLOOR)
        if i < len(layers) - 1:
            Ht = mean + (Ht if W is IDENT else W.T @ Ht) + jnp.sqrt(var) * eps[i]
    return mean, var, kl


def elbo_terms(params, skips, Xb, yb, eps, n_total):
    mean, var, kl = propagate(params, skips, Xb.T, eps)
    ln = params["log_noise"]
    ell = -0.5 * (LOG2PI + ln + ((yb[None] - mean) ** 2 + var) * jnp.exp(-ln))
    ell = jnp.sum(ell) * (n_total / yb.shape[0])
    return ell - kl, (ell, kl)


def adam(params, grads, st, lr, b1=0.9, b2=0.999, eps=1e-8):
    m, v, t = st
    t = t + 1
    m = jax.tree.map(lambda a, g: b1 * a + (1 - b1) * g, m, grads)
    v = jax.tree.map(lambda a, g: b2 * a + (1 - b2) * g * g, v, grads)
    a = (lr * jnp.sqrt(1 - b2 ** t.astype(DT)) / (1 - b1 ** t.astype(DT))).astype(DT)
    params = jax.tree.map(lambda p, mm, vv: p - a * mm / (jnp.sqrt(vv) + eps), params, m, v)
    return params, (m, v, t)


# ---------------------------------------------------------------- set-up

IDENT = object()


def init_params(data, dims, Ws, rng):
    layers, X = [], data["X"]
    zs = {k: pc.init_inducing(X, n, args.zinit, rng) for k, n in pc.inducing_sets(args).items()}
    for i, ((din, dout), W) in enumerate(zip(dims, Ws)):
        ls = args.ls_init or math.sqrt(din)
        p = {k: z.copy() for k, z in zs.items()}
        p["log_ls"], p["log_var"] = np.full(din, math.log(ls)), np.array(0.0)
        mm, ms = pc.inducing_numbers(args)
        p["m"] = np.zeros((mm, dout))
        scale = 1.0 if i == len(dims) - 1 else 1e-5
        if args.model != "decoupled" or args.cov == "whitened":
            L = np.eye(ms)
        else:                               # S starts at scale^2 * K_b, as in the un-whitened reference code
            Z = p["Zb"] / ls
            r2 = ((Z[:, None] - Z[None]) ** 2).sum(-1) if din < 64 else \
                np.maximum((Z**2).sum(1)[:, None] + (Z**2).sum(1)[None] - 2 * Z @ Z.T, 0)
            L = np.linalg.cholesky(np.exp(-0.5 * r2) + JITTER * np.eye(ms))
        if args.model == "nested-diagonal":
            p["Ld"] = np.full((dout, ms), scale)
        else:
            p["Ls"] = np.tile(scale * L, (dout, 1, 1))
        layers.append(p)
        if W is not None:
            zs = {k: z @ W for k, z in zs.items()}
    return {"layers": layers, "log_noise": np.array(math.log(args.noise_init))}


class Job:
    """One configuration: traced on creation, compiled by compile(), timed by run()."""

    def __init__(self, cfg):
        configure(cfg)
        self.cfg = cfg
        self.data = data = pc.load(args)
        N, D = data["X"].shape
        B = min(N, args.batch)
        dims = pc.layer_dims(D, args.hidden, args.width)
        Ws = pc.skip_matrices(data["X"], dims)
        params = jax.tree.map(cast, init_params(data, dims, Ws, np.random.default_rng(args.seed + 1)))
        self.skips = skips = [None if W is None else IDENT if W.shape[0] == W.shape[1] else cast(W) for W in Ws]
        X, y = device_data(args.dataset, args.target_col, args.seed, args.dtype)
        self.douts = [d for _, d in dims[:-1]]
        if args.dump:
            dump(params, skips, X[:B], y[:B], draw_eps(jax.random.key(args.seed), B, self.douts), Ws)
            return

        def loss(params, Xb, yb, eps):
            return -elbo_terms(params, skips, Xb, yb, eps, N)[0]

        nb = max(1, N // B)

        def step(carry, X, y):
            params, st, key, perm = carry
            t = st[2]
            key, k1, k2 = jax.random.split(key, 3)
            if B == N:
                Xb, yb = X, y
            else:                           # an epoch is a fresh permutation, cut into whole batches
                perm = jax.lax.cond(t % nb == 0, lambda: jax.random.permutation(k2, N), lambda: perm)
                idx = jax.lax.dynamic_slice(perm, ((t % nb) * B,), (B,))
                Xb, yb = X[idx], y[idx]
            l, g = jax.value_and_grad(loss)(params, Xb, yb, draw_eps(k1, B, self.douts))
            params, st = adam(params, g, st, args.lr)
            return (params, st, key, perm), -l

        def multi(carry, X, y):
            if args.scan:
                return jax.lax.scan(lambda c, _: step(c, X, y), carry, None, length=args.scan)
            c, e = step(carry, X, y)
            return c, e[None]

        zeros = lambda: jax.tree.map(jnp.zeros_like, params)
        self.carry = (params, (zeros(), zeros(), jnp.asarray(0, jnp.int32)), jax.random.key(args.seed),
                      jnp.arange(N, dtype=jnp.int64))
        self.lowered = jax.jit(multi, donate_argnums=0).lower(self.carry, X, y)

    def compile(self):
        t0 = pc.clock()
        self.compiled = self.lowered.compile()
        self.compile_s = pc.clock() - t0
        return self

    def run(self):
        configure(self.cfg)
        X, y = device_data(args.dataset, args.target_col, args.seed, args.dtype)
        per, carry = args.scan or 1, self.carry
        for _ in range(-(-args.warmup // per)):
            carry, e = self.compiled(carry, X, y)
        jax.block_until_ready(carry)
        times = []
        if args.profile:
            jax.profiler.start_trace(args.profile)
        t_train, others = pc.clock(), pc.Others()
        for _ in range(-(-args.iters // per)):
            t0 = pc.clock()
            carry, e = self.compiled(carry, X, y)
            jax.block_until_ready((carry, e))
            times.append((pc.clock() - t0) / per)
        t_train, others = pc.clock() - t_train, others.share()
        if args.profile:
            jax.profiler.stop_trace()
        extra = dict(sec_min=float(np.min(times)), quad=args.quad, solve=args.solve, precision=args.precision,
                     scan=args.scan, compile_s=round(self.compile_s, 2), train_s=round(t_train, 2),
                     others_share=others, version=jax.__version__)
        if args.eval:
            rmse, ll = evaluate(carry[0], self.skips, cast(self.data["Xt"]), self.data, self.douts)
            extra.update(rmse=rmse, test_ll=ll)
        if args.predict:
            Ht = cast(pc.predict_inputs(args, self.data).T)
            extra.update(pc.time_prediction(args, lambda n: predictor(carry[0], self.skips, Ht, self.douts, n)))
        pc.emit(args, "jax", self.data, float(np.median(times)), len(times) * per, float(e[-1]), extra)
        self.carry = self.compiled = self.lowered = None


def cast(a):
    return jnp.asarray(a, DT)


@functools.lru_cache(maxsize=8)
def device_data(dataset, target_col, seed, dtype):
    data = pc.load(args)
    return cast(data["X"]), cast(data["y"])


def draw_eps(key, n, douts):
    return [jax.random.normal(k, (d, n), DT) for k, d in zip(jax.random.split(key, max(1, len(douts))), douts)]


def check():
    """Compares bound and gradients with those of a file."""
    global JITTER
    oracle = peer_oracle.read(args.check)
    args.model, args.dtype = oracle.model, "f64"
    configure(pc.configs(args)[0])
    JITTER = oracle.jitter
    skips = [cast(W) for W in oracle.skips] + [None]
    bound = lambda params: elbo_terms(params, skips, cast(oracle.X), cast(oracle.y), [cast(e) for e in oracle.eps],
                                      oracle.n_total)[0]
    e, g = jax.jit(jax.value_and_grad(bound))(jax.tree.map(cast, oracle.params))
    peer_oracle.report(oracle, float(e), g)


def main():
    if args.check:
        return check()
    jobs = [Job(c) for c in pc.configs(args)]
    if args.dump:
        return
    with ThreadPoolExecutor(args.jobs or os.cpu_count()) as ex:      # all compiled before anything is timed
        jobs = list(ex.map(Job.compile, jobs))
    for j in jobs:
        j.run()


def evaluate(params, skips, Xt, data, douts):
    @jax.jit
    def one(params, Ht, key):
        mean, var, _ = propagate(params, skips, Ht, draw_eps(key, Ht.shape[1], douts))
        return mean[0], var[0] + jnp.exp(params["log_noise"])

    mus, vs = [], []
    for k in jax.random.split(jax.random.key(args.seed + 99), args.S if args.hidden else 1):
        m, v = one(params, Xt.T, k)
        mus.append(np.asarray(m, np.float64)), vs.append(np.asarray(v, np.float64))
    return pc.mixture_metrics(np.stack(mus), np.stack(vs), data["yt"], data["y_mean"], data["y_std"])


def predictor(params, skips, Ht, douts, chunk):
    """A call that predicts means and variances [S, N] at Ht (D, N). The factors and the first layer's moments are the
    same for every sample: they are made once a call; the samples then go through the other layers `chunk` at a time."""
    last = len(params["layers"]) - 1

    @jax.jit
    def start(params, Ht):
        cs = [prepare(p)[0] for p in params["layers"]]
        mean, var = apply_layer(params["layers"][0], cs[0], Ht)
        if last:
            mean = mean + (Ht if skips[0] is IDENT else skips[0].T @ Ht)
        return cs, mean, jnp.maximum(var, VAR_FLOOR)

    @jax.jit
    def path(params, cs, mean, var, key):
        n = mean.shape[1]
        eps = draw_eps(key, chunk * n, douts)
        H = (mean[:, None] + jnp.sqrt(var)[:, None] * eps[0].reshape(-1, chunk, n)).reshape(-1, chunk * n)
        for i in range(1, last + 1):
            mean, var = apply_layer(params["layers"][i], cs[i], H)
            var = jnp.maximum(var, VAR_FLOOR)
            if i < last:
                H = mean + (H if skips[i] is IDENT else skips[i].T @ H) + jnp.sqrt(var) * eps[i]
        return mean.reshape(chunk, n), var.reshape(chunk, n) + jnp.exp(params["log_noise"])

    def call():
        cs, mean, var = start(params, Ht)
        if not last:
            return jax.block_until_ready((mean, var + jnp.exp(params["log_noise"])))
        keys = jax.random.split(jax.random.key(args.seed + 99), args.S // chunk)
        out = [path(params, cs, mean, var, k) for k in keys]
        return jax.block_until_ready([jnp.concatenate(part) for part in zip(*out)])

    return call


def dump(params, skips, Xb, yb, eps, Ws):
    """Perturb the initial parameters (so no gradient vanishes by symmetry), then write everything.

    Keys: X (B, D), y (B,), jitter, n_total; layer{i}.{Z|Za|Zb, log_ls, log_var, m (M, D_out), Ls (D_out, M, M) or
    Ld (D_out, M)}, log_noise, skip{i} (D_in, D_out), eps{i} (D_out, B); elbo, ell, kl, mean, var (last layer);
    grad.<same names>, gradients of the ELBO (not of the loss); grad of Ls is zero above the diagonal.
    """
    r = np.random.default_rng(args.seed + 5)
    def jog(path, a):
        name = str(path[-1].key)
        a = np.asarray(a, np.float64)
        if name == "m":
            a = r.standard_normal(a.shape)
        elif name == "Ls":
            a = 0.1 * np.tril(r.standard_normal(a.shape)) + 0.5 * np.eye(a.shape[-1])
        elif name == "Ld":
            a = np.exp(0.4 * r.standard_normal(a.shape) - 0.5)
        elif name.startswith("log"):
            a = a + 0.2 * r.standard_normal(a.shape)
        return jnp.asarray(a, DT)
    params = jax.tree_util.tree_map_with_path(jog, params)
    n_total = 3 * Xb.shape[0]
    def f(p):
        e, aux = elbo_terms(p, skips, Xb, yb, eps, n_total)
        return e, aux
    (e, (ell, kl)), g = jax.jit(jax.value_and_grad(f, has_aux=True))(params)
    mean, var, _ = jax.jit(lambda p: propagate(p, skips, Xb.T, eps))(params)
    out = dict(X=Xb, y=yb, jitter=JITTER, n_total=n_total, elbo=e, ell=ell, kl=kl, mean=mean[0], var=var[0],
               model=args.model, hidden=args.hidden)
    for pre, tree in (("", params), ("grad.", g)):
        out[pre + "log_noise"] = tree["log_noise"]
        for i, p in enumerate(tree["layers"]):
            out.update({f"{pre}layer{i}.{k}": v for k, v in p.items()})
    out.update({f"skip{i}": W for i, W in enumerate(Ws) if W is not None})
    out.update({f"eps{i}": e for i, e in enumerate(eps)})
    np.savez(args.dump, **{k: np.asarray(v) for k, v in out.items()})
    print(f"wrote {args.dump}: elbo {float(e):.12g} = ell {float(ell):.12g} - kl {float(kl):.12g}", file=sys.stderr)


main()
