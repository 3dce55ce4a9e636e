"""Shared by the peer_*.py baselines: data, split, initial inducing inputs, metrics.

numpy/scipy only, so every framework starts from the same numbers.
"""
import argparse
import copy
import functools
import gzip
import itertools
import json
import math
import os
import resource
import time

import numpy as np

# Training-set shapes of the paper: 80 % of N, features, and batch min(N_train, 10000).
SHAPES = {"kin8nm": (6554, 8), "protein": (36584, 9), "molecules": (48000, 512)}
# The models; peer_jax.py has their formulas.
MODELS = ("full", "decoupled", "nested", "nested-diagonal")
# Share of ones among synthetic inputs of 100 columns and more: that of the molecules' fingerprints.
DENSITY = 0.09


def parser(desc):
    p = argparse.ArgumentParser(description=desc)
    p.add_argument("--dataset", default="kin8nm",
                   help="path to .csv/.csv.gz (target = last column), or kin8nm|protein|molecules "
                        "(synthetic data of that training shape), or NxD (synthetic). "
                        "--dataset, --model, --hidden and --dtype take comma lists: all combinations are run")
    p.add_argument("--target-col", type=int, default=-1)
    p.add_argument("--model", default="full", help=" | ".join(MODELS))
    p.add_argument("--hidden", default="1")
    p.add_argument("--width", type=int, default=10)
    p.add_argument("--M", type=int, default=200)
    p.add_argument("--Ma", type=int, default=500)
    p.add_argument("--Mb", type=int, default=100)
    p.add_argument("--dtype", default="f32", help="f32 | f64")
    p.add_argument("--batch", type=int, default=10000)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--iters", type=int, default=10)
    p.add_argument("--warmup", type=int, default=2)
    p.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    p.add_argument("--threads", type=int, default=0, help="CPU threads (0: the library's own default)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--zinit", choices=["random", "kmeans"], default="random")
    p.add_argument("--ls-init", type=float, default=0.0, help="initial lengthscale; 0: sqrt(D_in)")
    p.add_argument("--noise-init", type=float, default=0.05, help="initial noise variance (standardised y)")
    p.add_argument("--jitter", type=float, default=0.0, help="0: 1e-4 for f32, 1e-6 for f64")
    p.add_argument("--eval", action="store_true", help="test RMSE and mean LL in original y units")
    p.add_argument("--S", type=int, default=100, help="samples of the test mixture")
    p.add_argument("--predict", type=int, default=0, metavar="ROWS",
                   help="also time a prediction of ROWS synthetic rows with S samples (median of 3): predict_s")
    return p


def configs(args):
    """One namespace for each combination of the comma lists."""
    out = []
    for ds, dt, mo, hi in itertools.product(*(getattr(args, k).split(",") for k in ("dataset", "dtype", "model", "hidden"))):
        c = copy.copy(args)
        c.dataset, c.dtype, c.model, c.hidden = ds, dt, mo, int(hi)
        assert dt in ("f32", "f64") and mo in MODELS, (dt, mo)
        c.jitter = args.jitter or (1e-4 if dt == "f32" else 1e-6)
        out.append(c)
    return out


def inducing_numbers(args):
    """How many inducing inputs the mean and the covariance of a layer have."""
    return (args.M, args.M) if args.model == "full" else (args.Ma, args.Mb)


def inducing_sets(args):
    """The sets of inducing inputs of a layer, and how many each holds: the nested models have one, whose head is Z_b."""
    ma, mb = inducing_numbers(args)
    return {"Za": ma, "Zb": mb} if args.model == "decoupled" else {"Z": ma}


def load_table(path):
    op = gzip.open if path.endswith(".gz") else open
    with op(path, "rt") as f:
        first = f.readline()
        try:
            [float(t) for t in first.strip().split(",")]
            skip = 0
        except ValueError:
            skip = 1
    with op(path, "rt") as f:
        return np.loadtxt(f, delimiter=",", skiprows=skip, dtype=np.float64, ndmin=2)


@functools.lru_cache(maxsize=4)
def _load(dataset, target_col, seed):
    return _load_uncached(argparse.Namespace(dataset=dataset, target_col=target_col, seed=seed))


def load(args):
    return _load(args.dataset, args.target_col, args.seed)


def _load_uncached(args):
    """Standardised train/test arrays. Returns dict with X, y, Xt, yt, y_mean, y_std, name."""
    rng = np.random.default_rng(args.seed)
    if args.dataset.endswith((".csv", ".csv.gz")):
        T = load_table(args.dataset)
        c = args.target_col % T.shape[1]
        Y, X = T[:, c], np.delete(T, c, axis=1)
        perm = rng.permutation(len(Y))
        nt = int(round(0.2 * len(Y)))
        te, tr = perm[:nt], perm[nt:]
        name = args.dataset.replace("\\", "/").rsplit("/", 1)[-1].split(".")[0]
    else:
        n, d = SHAPES[args.dataset] if args.dataset in SHAPES else map(int, args.dataset.split("x"))
        n_te = n // 4
        if d >= 100:                       # fingerprint-like sparse binary features
            X = (rng.random((n + n_te, d)) < DENSITY).astype(np.float64)
        else:
            X = rng.standard_normal((n + n_te, d))
        w = rng.standard_normal((d, 4)) / math.sqrt(d)
        Y = np.sin(2 * X @ w).sum(1) + 0.1 * rng.standard_normal(len(X))
        tr, te = np.arange(n), np.arange(n, n + n_te)
        name = args.dataset
    xm, xs = X[tr].mean(0), X[tr].std(0)
    xs[xs < 1e-12] = 1.0
    ym, ys = Y[tr].mean(), Y[tr].std()
    X, Y = (X - xm) / xs, (Y - ym) / ys
    return dict(X=X[tr], y=Y[tr], Xt=X[te], yt=Y[te], y_mean=ym, y_std=ys, name=name)


def layer_dims(D, hidden, width):
    dims = [D] + [width] * hidden + [1]
    return list(zip(dims[:-1], dims[1:]))


def skip_matrices(X, dims):
    """Fixed linear means (Salimbeni & Deisenroth 2017): identity, zero-padding or PCA; zero in the last layer."""
    Ws, H = [], X
    for i, (din, dout) in enumerate(dims):
        if i == len(dims) - 1:
            Ws.append(None)
            break
        if din == dout:
            W = np.eye(din)
        elif din < dout:
            W = np.concatenate([np.eye(din), np.zeros((din, dout - din))], 1)
        else:
            _, V = np.linalg.eigh(H.T @ H)
            W = np.ascontiguousarray(V[:, ::-1][:, :dout])
        Ws.append(W)
        H = H @ W
    return Ws


def init_inducing(X, M, kind, rng):
    if kind == "kmeans":
        from scipy.cluster.vq import kmeans2
        sub = X[rng.choice(len(X), min(len(X), 10000), replace=False)]
        return kmeans2(sub, M, iter=10, minit="points", seed=rng)[0]
    return X[rng.choice(len(X), M, replace=len(X) < M)].copy()


def mixture_metrics(mus, vars_, yt, y_mean, y_std):
    """mus, vars_: (S, N) predictive means / variances (noise included) in standardised units."""
    ll = -0.5 * (np.log(2 * np.pi * vars_) + (yt[None] - mus) ** 2 / vars_)
    m = ll.max(0)
    ll = m + np.log(np.exp(ll - m).mean(0)) - math.log(y_std)
    rmse = math.sqrt(np.mean((mus.mean(0) - yt) ** 2)) * y_std
    return rmse, float(ll.mean())


def predict_inputs(args, data):
    """Standardised test inputs [ROWS, D] of --predict: training rows drawn anew (a prediction's cost does not
    depend on the values, and so the share of ones is kept)."""
    rng = np.random.default_rng(args.seed + 7)
    return data["X"][rng.integers(len(data["X"]), size=args.predict)]


def time_prediction(args, make):
    """Fields `predict_s`, `predict_chunk`, and the peak memory before it (that of training). `make(chunk)` returns a call that predicts with S samples, `chunk` of
    them carried through the layers at once. One at a time stays in cache, many at once has fewer calls: both are
    tried, and the faster one is timed three times. No hidden layer: one pass is the whole prediction."""
    memory = peak_memory_mib()
    S = args.S if args.hidden else 1
    many = max(c for c in range(1, S + 1) if S % c == 0 and (c == 1 or c * args.predict <= 10000))

    def once(call):
        t0 = clock()
        call()
        return clock() - t0

    trials = []
    for chunk in sorted({1, many}):
        call = make(chunk)
        call()                              # compiles
        trials.append((once(call), chunk, call))
    first, chunk, call = min(trials, key=lambda t: t[0])
    return dict(predict_s=float(np.median([first, once(call), once(call)])), predict_chunk=chunk,
                peak_memory_mib=memory)


def emit(args, peer, data, sec, n_timed, elbo, extra=None):
    row = dict(peer=peer, model=args.model, data=data["name"], N=len(data["y"]), D=data["X"].shape[1],
               batch=min(len(data["y"]), args.batch), hidden=args.hidden,
               M=args.M if args.model == "full" else list(inducing_numbers(args)), dtype=args.dtype,
               device=args.device, sec_per_iter=sec, iters=n_timed, elbo=elbo,
               peak_memory_mib=peak_memory_mib())
    row.update(extra or {})
    print(json.dumps(row), flush=True)


class Others:
    """How much of the machine other programs used since this was made, as a share of all its processors.

    None where the time was too short for the system's clock ticks to tell."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        with open("/proc/stat") as file:    # user nice system idle iowait irq softirq steal, in hundredths of a second
            ticks = [int(word) for word in file.readline().split()[1:9]]
        own = resource.getrusage(resource.RUSAGE_SELF)
        busy = sum(ticks) - ticks[3] - ticks[4]
        return sum(ticks), busy - os.sysconf("SC_CLK_TCK") * (own.ru_utime + own.ru_stime)

    def share(self):
        total, others = (now - then for now, then in zip(self.now(), self.start))
        return round(max(0.0, others / total), 3) if total >= 20 else None


def peak_memory_mib():
    """The largest resident size of this process so far."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


def clock():
    return time.perf_counter()
