"""Plain-PyTorch baseline, same models and formulas as peer_jax.py (see its head).

--mode eager | compile (torch.compile, static shapes) | graph (CUDA only: the whole step, Adam included,
captured once as a CUDA graph and replayed).
"""
import json
import math

import peer_common as pc
import peer_oracle

ap = pc.parser(__doc__)
ap.add_argument("--mode", choices=["eager", "compile", "graph"], default="eager")
ap.add_argument("--tf32", action="store_true", help="CUDA: allow TF32 products (loses ~13 bits)")
ap.add_argument("--solve", choices=["inv", "trsm"], default="inv")
ap.add_argument("--check", default="", help="compare bound and gradients with a file (peer_oracle.py) and exit")
args = ap.parse_args()

import numpy as np
import torch

DEV = torch.device(args.device)
if args.threads:
    torch.set_num_threads(args.threads)
torch.manual_seed(args.seed)
torch.backends.cuda.matmul.allow_tf32 = args.tf32


def configure(cfg):
    global args, DT, JITTER, VAR_FLOOR
    args = cfg
    DT = torch.float32 if args.dtype == "f32" else torch.float64
    JITTER = args.jitter
    VAR_FLOOR = 1e-10 if args.dtype == "f64" else 1e-7
    torch.manual_seed(args.seed)
    if args.mode == "compile":
        torch._dynamo.reset()


class Rbf(torch.autograd.Function):
    """exp(W h + c_m + e_n), with both sums in the product: one pass fewer forward, and backward the products sum the
    rows and columns of the gradient. No clamp at r^2 >= 0: it would cost more passes than it is worth."""

    @staticmethod
    def forward(ctx, W, c, Ht, e):
        left = torch.cat([W, c[:, None], torch.ones_like(c)[:, None]], 1)
        right = torch.cat([Ht, torch.ones_like(e)[None], e[None]])
        K = (left @ right).exp_()
        ctx.save_for_backward(left, right, K)
        return K

    @staticmethod
    def backward(ctx, dK):
        left, right, K = ctx.saved_tensors
        dE = dK * K
        dleft = dE @ right.T
        if ctx.needs_input_grad[2]:
            dright = left.T @ dE
            return dleft[:, :-2], dleft[:, -2], dright[:-2], dright[-1]
        return dleft[:, :-2], dleft[:, -2], None, dE.sum(0)     # data inputs need no gradient product


def rbf(Z, Ht, log_ls, log_var):
    il2 = torch.exp(-2 * log_ls)
    W = Z * il2
    return Rbf.apply(W, log_var - 0.5 * (Z * W).sum(1), Ht, -0.5 * (il2 @ (Ht * Ht)))


def chol(K):
    return torch.linalg.cholesky_ex(K, check_errors=False)[0]


def chol_kernel(Z, log_ls, log_var):
    return chol(rbf(Z, Z.T, log_ls, log_var) + JITTER * torch.eye(Z.shape[0], dtype=Z.dtype, device=Z.device))


def tri_inv(L):
    return torch.linalg.solve_triangular(L, torch.eye(L.shape[0], dtype=L.dtype, device=L.device), upper=False)


class Quad(torch.autograd.Function):
    """q_dn = a_n^T P_d a_n for symmetric P; the gradient keeps P A instead of forming it again."""

    @staticmethod
    def forward(ctx, P, A):
        Do, M, _ = P.shape
        Q = (P.reshape(Do * M, M) @ A).reshape(Do, M, -1)
        ctx.save_for_backward(A, Q)
        return torch.einsum("mn,dmn->dn", A, Q) if A.is_cuda else (A[None] * Q).sum(1)

    @staticmethod
    def backward(ctx, g):
        A, Q = ctx.saved_tensors
        Do, M, N = Q.shape
        dP = ((g[:, None, :] * A[None]).reshape(Do * M, N) @ A.T).reshape(Do, M, M)
        dA = torch.zeros_like(A)
        for d in range(Do):
            dA.addcmul_(Q[d], g[d][None], value=2)
        return dP, dA


class DiagonalQuad(torch.autograd.Function):
    """q_dn = sum_m G_dm A_mn^2: thin products with A * A, and one array for the gradient at A."""

    @staticmethod
    def forward(ctx, G, A):
        A2 = A * A
        ctx.save_for_backward(G, A, A2)
        return G @ A2

    @staticmethod
    def backward(ctx, g):
        G, A, A2 = ctx.saved_tensors
        dA = (2 * G).T @ g
        dA *= A
        return g @ A2.T, dA


class NestedProducts(torch.autograd.Function):
    """w^T K and R K_b, where K_b is the head of K; both gradients at K are summed in one array."""

    @staticmethod
    def forward(ctx, K, w, R):
        ctx.save_for_backward(K, w, R)
        return w.T @ K, R @ K[:R.shape[0]]

    @staticmethod
    def backward(ctx, dmean, dA):
        K, w, R = ctx.saved_tensors
        mb = R.shape[0]
        dK = w @ dmean
        dK[:mb].addmm_(R.T, dA)
        return dK, K @ dmean.T, dA @ K[:mb].T


def residual(C):
    """I - C_d C_d^T, of which the quadratic forms are taken."""
    return torch.eye(C.shape[1], dtype=C.dtype, device=C.device) - C @ C.transpose(1, 2)


def lower_solve(inv, L, K):
    return torch.linalg.solve_triangular(L, K, upper=False) if inv is None else inv @ K


def prepare(p):
    """What does not depend on the inputs: weights of the mean, L or its inverse, I - C C^T; and the layer's KL."""
    if args.model in ("nested", "nested-diagonal"):
        return prepare_nested(p)
    Ls = torch.tril(p["Ls"])
    Do, ms = Ls.shape[0], Ls.shape[1]
    logdet_s = torch.log(torch.diagonal(Ls, dim1=1, dim2=2) ** 2).sum()
    if args.model == "full":
        L = chol_kernel(p["Z"], p["log_ls"], p["log_var"])
        kl = 0.5 * ((p["m"] ** 2).sum() + (Ls * Ls).sum() - logdet_s - Do * ms)
        return (p["m"], tri_inv(L) if args.solve == "inv" else None, L, residual(Ls)), kl
    La = chol_kernel(p["Za"], p["log_ls"], p["log_var"])
    Lb = chol_kernel(p["Zb"], p["log_ls"], p["log_var"])
    beta = torch.linalg.solve_triangular(La.T, p["m"], upper=True)
    Li = tri_inv(Lb)
    C = Li @ Ls
    kl = 0.5 * ((p["m"] ** 2).sum() + (C * C).sum() + 2 * Do * torch.log(torch.diagonal(Lb)).sum()
                - logdet_s - Do * ms)
    return (beta, Li if args.solve == "inv" else None, Lb, residual(C)), kl


def prepare_nested(p):
    """`prepare` where Z_b is the head of Z: one factor, whose leading block is that of K_b."""
    L = chol_kernel(p["Z"], p["log_ls"], p["log_var"])
    w = torch.linalg.solve_triangular(L.T, p["m"], upper=True)
    if args.model == "nested-diagonal":
        S = p["Ld"] ** 2
        G, kl_s = 1 - S, (S - torch.log(S) - 1).sum()
    else:
        Ls = torch.tril(p["Ls"])
        logdet_s = torch.log(torch.diagonal(Ls, dim1=1, dim2=2) ** 2).sum()
        G, kl_s = residual(Ls), (Ls * Ls).sum() - logdet_s - Ls.shape[0] * Ls.shape[1]
    Lb = L[:G.shape[1], :G.shape[1]]
    return (w, tri_inv(Lb) if args.solve == "inv" else None, Lb, G), 0.5 * ((p["m"] ** 2).sum() + kl_s)


def apply_layer(p, c, Ht):
    """Mean and variance (D_out, N) of one layer."""
    w, inv, L, P = c
    k0 = torch.exp(p["log_var"])
    if args.model == "full":
        A = lower_solve(inv, L, rbf(p["Z"], Ht, p["log_ls"], p["log_var"]))
        return w.T @ A, k0 - Quad.apply(P, A)
    if args.model in ("nested", "nested-diagonal"):
        K = rbf(p["Z"], Ht, p["log_ls"], p["log_var"])
        mean, A = NestedProducts.apply(K, w, inv) if inv is not None else \
            (w.T @ K, lower_solve(None, L, K[:L.shape[0]]))
        return mean, k0 - (DiagonalQuad if args.model == "nested-diagonal" else Quad).apply(P, A)
    K = rbf(torch.cat([p["Za"], p["Zb"]]), Ht, p["log_ls"], p["log_var"])
    Ma = p["Za"].shape[0]
    return w.T @ K[:Ma], k0 - Quad.apply(P, lower_solve(inv, L, K[Ma:]))


def propagate(params, skips, Ht, eps):
    kl = 0.0
    for i, (p, W) in enumerate(zip(params["layers"], skips)):
        c, k = prepare(p)
        kl = kl + k
        mean, var = apply_layer(p, c, Ht)
        var = torch.clamp(var, min=VAR_FLOOR)
        if i < len(skips) - 1:
            Ht = mean + (Ht if W is None else W.T @ Ht) + torch.sqrt(var) * eps[i]
    return mean, var, kl


def elbo_terms(params, skips, Xb, yb, eps, n_total):
    mean, var, kl = propagate(params, skips, Xb.T, eps)
    ln = params["log_noise"]
    ell = -0.5 * (math.log(2 * math.pi) + ln + ((yb[None] - mean) ** 2 + var) * torch.exp(-ln))
    ell = ell.sum() * (n_total / yb.shape[0])
    return ell - kl, ell, kl


def tens(a, grad=False):
    return torch.as_tensor(np.asarray(a), dtype=DT).to(DEV).requires_grad_(grad)


def init_params(data, dims, Ws, rng):
    layers, X = [], data["X"]
    zs = {k: pc.init_inducing(X, n, args.zinit, rng) for k, n in pc.inducing_sets(args).items()}
    for i, ((din, dout), W) in enumerate(zip(dims, Ws)):
        ls = args.ls_init or math.sqrt(din)
        p = {k: tens(z, True) for k, z in zs.items()}
        p["log_ls"], p["log_var"] = tens(np.full(din, math.log(ls)), True), tens(0.0, True)
        mm, ms = pc.inducing_numbers(args)
        p["m"] = tens(np.zeros((mm, dout)), True)
        scale = 1.0 if i == len(dims) - 1 else 1e-5
        if args.model == "nested-diagonal":
            p["Ld"] = tens(np.full((dout, ms), scale), True)
        else:                               # the decoupled S is not whitened: it starts at scale^2 * K_b
            with torch.no_grad():
                L = torch.eye(ms, dtype=DT, device=DEV) if args.model != "decoupled" else \
                    chol_kernel(p["Zb"], p["log_ls"], p["log_var"])
            p["Ls"] = (scale * L).expand(dout, ms, ms).clone().requires_grad_(True)
        layers.append(p)
        if W is not None:
            zs = {k: z @ W for k, z in zs.items()}
    return {"layers": layers, "log_noise": tens(math.log(args.noise_init), True)}


def predictor(params, skips, Ht, douts, chunk):
    """A call that predicts means and variances [S, N] at Ht (D, N). The factors and the first layer's moments are the
    same for every sample: they are made once a call; the samples then go through the other layers `chunk` at a time."""
    layers = params["layers"]

    def start(Ht):
        cs = [prepare(p)[0] for p in layers]
        mean, var = apply_layer(layers[0], cs[0], Ht)
        if len(layers) > 1:
            mean = mean + (Ht if skips[0] is None else skips[0].T @ Ht)
        return cs, mean, torch.clamp(var, min=VAR_FLOOR)

    def path(cs, mean, var, eps):
        sd = torch.sqrt(var)
        for i in range(1, len(layers)):
            if i == 1:                      # (D, 1, N) + (D, 1, N) (D, chunk, N), then samples side by side
                H = (mean[:, None] + sd[:, None] * eps[0]).reshape(douts[0], -1)
            mean, var = apply_layer(layers[i], cs[i], H)
            var = torch.clamp(var, min=VAR_FLOOR)
            if i < len(layers) - 1:
                H = mean + (H if skips[i] is None else skips[i].T @ H) + torch.sqrt(var) * eps[i]
        return mean.reshape(chunk, -1), var.reshape(chunk, -1) + torch.exp(params["log_noise"])

    if args.mode == "compile":
        path = torch.compile(path, dynamic=False)

    def call():
        with torch.no_grad():
            cs, mean, var = start(Ht)
            if len(layers) == 1:
                return mean, var + torch.exp(params["log_noise"])
            n, out = Ht.shape[1], []
            for _ in range(args.S // chunk):
                eps = [torch.randn(douts[0], chunk, n, dtype=DT, device=DEV)]
                eps += [torch.randn(d, chunk * n, dtype=DT, device=DEV) for d in douts[1:]]
                out.append(path(cs, mean, var, eps))
            out = [torch.cat(part) for part in zip(*out)]
            sync()
            return out

    return call


def sync():
    if args.device == "cuda":
        torch.cuda.synchronize()


def bench(cfg):
    configure(cfg)
    data = pc.load(args)
    N, D = data["X"].shape
    B = min(N, args.batch)
    dims = pc.layer_dims(D, args.hidden, args.width)
    Ws = pc.skip_matrices(data["X"], dims)
    params = init_params(data, dims, Ws, np.random.default_rng(args.seed + 1))
    skips = [None if W is None or W.shape[0] == W.shape[1] else tens(W) for W in Ws]
    X, y = tens(data["X"]), tens(data["y"])
    douts = [d for _, d in dims[:-1]]
    leaves = [params["log_noise"]] + [t for p in params["layers"] for t in p.values()]
    cuda = args.device == "cuda"
    opt = torch.optim.Adam(leaves, lr=args.lr, **(dict(fused=True, capturable=True) if cuda else dict(foreach=True)))
    nb = max(1, N // B)
    idx = torch.arange(B, device=DEV)
    eps = [torch.empty(d, B, dtype=DT, device=DEV) for d in douts]

    def loss_fn(Xb, yb, eps):
        return -elbo_terms(params, skips, Xb, yb, eps, N)[0]

    fwd = torch.compile(loss_fn, dynamic=False) if args.mode == "compile" else loss_fn

    def step():
        Xb, yb = (X, y) if B == N else (X[idx], y[idx])
        for e in eps:
            e.normal_()
        loss = fwd(Xb, yb, eps)
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=args.mode != "graph")
        return loss.detach()

    run, graph = step, None
    t0 = pc.clock()
    if args.mode == "graph":
        torch.backends.cuda.preferred_linalg_library("cusolver")
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(s)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = step()

        def run():
            graph.replay()
            return out
    times, trail = [], 0.0
    t_setup = pc.clock() - t0
    for it in range(args.warmup + args.iters):
        sync()
        if it == args.warmup:
            others = pc.Others()
        t0 = pc.clock()
        if B != N:
            if it % nb == 0:
                perm = torch.randperm(N, device=DEV)
            idx.copy_(perm[(it % nb) * B:(it % nb + 1) * B])
        l = run()
        sync()
        times.append(pc.clock() - t0)
    t = times[args.warmup:]
    extra = dict(others_share=others.share(), sec_min=float(np.min(t)), mode=args.mode, solve=args.solve, tf32=args.tf32,
                 setup_s=round(t_setup, 2),
                 version=torch.__version__)
    if args.eval:
        mus, vs = [], []
        Ht = tens(data["Xt"]).T
        with torch.no_grad():
            for _ in range(args.S if args.hidden else 1):
                e = [torch.randn(d, Ht.shape[1], dtype=DT, device=DEV) for d in douts]
                m, v, _ = propagate(params, skips, Ht, e)
                mus.append(m[0].double().cpu().numpy())
                vs.append((v[0] + torch.exp(params["log_noise"])).double().cpu().numpy())
        rmse, ll = pc.mixture_metrics(np.stack(mus), np.stack(vs), data["yt"], data["y_mean"], data["y_std"])
        extra.update(rmse=rmse, test_ll=ll)
    if args.predict:
        Ht = tens(pc.predict_inputs(args, data)).T.contiguous()
        extra.update(pc.time_prediction(args, lambda chunk: predictor(params, skips, Ht, douts, chunk)))
    pc.emit(args, "torch", data, float(np.median(t)), args.iters, -float(l), extra)


def check():
    """Compares bound and gradients with those of a file."""
    global JITTER
    oracle = peer_oracle.read(args.check)
    args.model, args.dtype = oracle.model, "f64"
    configure(pc.configs(args)[0])
    JITTER = oracle.jitter
    leaf = lambda a: tens(a, True)
    params = {"layers": [{k: leaf(a) for k, a in p.items()} for p in oracle.params["layers"]],
              "log_noise": leaf(oracle.params["log_noise"])}
    skips = [tens(W) for W in oracle.skips] + [None]
    terms = torch.compile(elbo_terms, dynamic=False) if args.mode == "compile" else elbo_terms
    e, _, _ = terms(params, skips, tens(oracle.X), tens(oracle.y), [tens(a) for a in oracle.eps], oracle.n_total)
    e.backward()
    grad = lambda t: t.grad.cpu().numpy()
    peer_oracle.report(oracle, float(e.detach()), {
        "layers": [{k: grad(t) for k, t in p.items()} for p in params["layers"]], "log_noise": grad(params["log_noise"])})


if args.check:
    check()
else:
    for c in pc.configs(args):
        try:
            bench(c)
        except RuntimeError as err:         # e.g. out of memory, or an operation that cannot be captured
            print(json.dumps(dict(peer="torch", mode=c.mode, model=c.model, data=c.dataset, hidden=c.hidden,
                                  dtype=c.dtype, device=c.device, error=str(err)[:200])), flush=True)
            if c.mode == "graph":
                raise
