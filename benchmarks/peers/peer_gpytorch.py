"""GPyTorch baseline: the full (non-decoupled) doubly stochastic DGP of the paper.

--variant stock   as GPyTorch's own deep GP example: every output of a layer has its own kernel and inducing inputs
--variant shared  the paper's sharing: one kernel and one set of inducing inputs a layer, outputs batch only in q(u);
                  K_ZZ, its Cholesky factor and L^-1 K_ZX are then computed once a layer
GPyTorch factorises and solves in float64 even for float32 models; --chol-dtype f32 turns that off.
"""
import json
import math
import warnings

import peer_common as pc

ap = pc.parser(__doc__)
ap.add_argument("--variant", choices=["shared", "stock"], default="shared")
ap.add_argument("--chol-dtype", choices=["f32", "f64"], default="f64", help="f64 is GPyTorch's default")
args = ap.parse_args()
assert args.model == "full", "GPyTorch has no deep GP layer of the paper's decoupled kind: use --model full"

import numpy as np
import torch
import gpytorch
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from gpytorch.mlls import DeepApproximateMLL, VariationalELBO
from gpytorch.models.deep_gps import DeepGP, DeepGPLayer
from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy

warnings.filterwarnings("ignore")
if args.threads:
    torch.set_num_threads(args.threads)
DEV = torch.device(args.device)
torch.backends.cuda.matmul.allow_tf32 = False


class Layer(DeepGPLayer):
    def __init__(self, din, dout, Z, W, last):
        batch = torch.Size([dout])
        self.shared = args.variant == "shared" or last      # the last layer has one output: the two coincide
        q = CholeskyVariationalDistribution(Z.shape[0], batch_shape=torch.Size() if last else batch,
                                            mean_init_std=0.0)
        if not self.shared:
            Z = Z.expand(dout, *Z.shape).contiguous()
        super().__init__(VariationalStrategy(self, Z, q, learn_inducing_locations=True), din,
                         None if last else dout)
        kb = torch.Size() if self.shared else batch
        self.mean_module = ZeroMean(batch_shape=kb)
        self.covar_module = ScaleKernel(RBFKernel(ard_num_dims=din, batch_shape=kb), batch_shape=kb)
        self.covar_module.base_kernel.lengthscale = args.ls_init or math.sqrt(din)
        self.covar_module.outputscale = 1.0
        with torch.no_grad():
            q.chol_variational_covar.mul_(1.0 if last else 1e-5)
        self.variational_strategy.variational_params_initialized.fill_(1)
        self.last = last
        self.register_buffer("W", W)

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))

    def __call__(self, h):
        """h: (S, N, D_in) tensor -> mean, var of shape (S, N, D_out); diagonal only."""
        if self.last:
            out = gpytorch.models.ApproximateGP.__call__(self, h)
            return out
        x = h.unsqueeze(-3)
        if not self.shared:
            x = x.expand(*x.shape[:-3], self.output_dims, *x.shape[-2:])
        out = gpytorch.models.ApproximateGP.__call__(self, x)
        mean, var = out.mean.transpose(-1, -2), out.variance.transpose(-1, -2)
        skip = h if self.W is None else h @ self.W
        return torch.distributions.Normal(mean + skip, var.sqrt()).rsample()


class Model(DeepGP):
    def __init__(self, X, dims, Ws, rng):
        super().__init__()
        Z, layers = pc.init_inducing(X, args.M, args.zinit, rng), []
        for i, ((din, dout), W) in enumerate(zip(dims, Ws)):
            Wt = None if W is None or W.shape[0] == W.shape[1] else torch.as_tensor(W, dtype=DT)
            layers.append(Layer(din, dout, torch.as_tensor(Z, dtype=DT), Wt, i == len(dims) - 1))
            if W is not None:
                Z = Z @ W
        self.layers = torch.nn.ModuleList(layers)
        self.likelihood = GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-6))
        self.likelihood.noise = args.noise_init

    def forward(self, x, samples=1):
        h = x.unsqueeze(0).expand(samples, *x.shape)
        for layer in self.layers:
            h = layer(h)
        return h


def sync():
    if args.device == "cuda":
        torch.cuda.synchronize()


def bench(cfg):
    global args, DT
    args = cfg
    DT = torch.float32 if args.dtype == "f32" else torch.float64
    torch.set_default_dtype(DT)
    torch.manual_seed(args.seed)
    data = pc.load(args)
    N, D = data["X"].shape
    B = min(N, args.batch)
    dims = pc.layer_dims(D, args.hidden, args.width)
    Ws = pc.skip_matrices(data["X"], dims)
    model = Model(data["X"], dims, Ws, np.random.default_rng(args.seed + 1)).to(DEV, DT)
    X, y = (torch.as_tensor(data[k], dtype=DT, device=DEV) for k in ("X", "y"))
    mll = DeepApproximateMLL(VariationalELBO(model.likelihood, model, num_data=N))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, foreach=True)
    nb = max(1, N // B)
    times, elbo = [], 0.0
    model.train()
    jit = args.jitter
    cd = torch.float32 if args.chol_dtype == "f32" and args.dtype == "f32" else torch.float64
    with gpytorch.settings.num_likelihood_samples(1), gpytorch.settings.debug(False), \
            gpytorch.settings.cholesky_jitter(float_value=jit, double_value=jit), \
            gpytorch.settings.variational_cholesky_jitter(float_value=jit, double_value=jit), \
            gpytorch.settings._linalg_dtype_cholesky(cd):
        for it in range(args.warmup + args.iters):
            sync()
            if it == args.warmup:
                others = pc.Others()
            t0 = pc.clock()
            if B == N:
                Xb, yb = X, y
            else:
                if it % nb == 0:
                    perm = torch.randperm(N, device=DEV)
                idx = perm[(it % nb) * B:(it % nb + 1) * B]
                Xb, yb = X[idx], y[idx]
            opt.zero_grad(set_to_none=True)
            e = mll(model(Xb), yb)
            (-e).backward()
            opt.step()
            sync()
            times.append(pc.clock() - t0)
        others = others.share()
        elbo = float(e.detach()) * N
        extra = dict(sec_min=float(np.min(times[args.warmup:])), variant=args.variant, chol_dtype=args.chol_dtype,
                     others_share=others, version=f"{gpytorch.__version__}/torch {torch.__version__}")
        if args.eval:
            rmse, ll = evaluate(model, data)
            extra.update(rmse=rmse, test_ll=ll)
        if args.predict:
            extra.update(pc.time_prediction(args, lambda chunk: predictor(model, data, chunk)))
    pc.emit(args, "gpytorch", data, float(np.median(times[args.warmup:])), args.iters, elbo, extra)


def evaluate(model, data):
    """Samples propagated one at a time, with the training-time forward: same marginals."""
    Xt = torch.as_tensor(data["Xt"], dtype=DT, device=DEV)
    mus, vs = [], []
    with torch.no_grad():
        for _ in range(args.S if args.hidden else 1):
            out = model(Xt)
            mus.append(out.mean[0].double().cpu().numpy())
            vs.append((out.variance[0] + model.likelihood.noise).double().cpu().numpy())
    return pc.mixture_metrics(np.stack(mus), np.stack(vs), data["yt"], data["y_mean"], data["y_std"])


def predictor(model, data, chunk):
    """A call that predicts means and variances [S, N], `chunk` samples as one batch, in evaluation mode: GPyTorch
    then keeps its factors between batches."""
    Xt = torch.as_tensor(pc.predict_inputs(args, data), dtype=DT, device=DEV)

    def call():
        model.train()                       # forgets the factors of the call before
        model.eval()
        out = []
        with torch.no_grad():
            for _ in range((args.S if args.hidden else 1) // chunk):
                f = model(Xt, chunk)
                out.append((f.mean, f.variance + model.likelihood.noise))
            out = [torch.cat(part) for part in zip(*out)]
        sync()
        return out

    return call


for c in pc.configs(args):
    try:
        bench(c)
    except RuntimeError as err:
        print(json.dumps(dict(peer="gpytorch", variant=c.variant, model=c.model, data=c.dataset, hidden=c.hidden,
                              dtype=c.dtype, device=c.device, error=str(err)[:200])), flush=True)
