"""GPyTorch's deep Gaussian process and its deep sigma point process, built and trained as its examples do.

Every output of a layer has a kernel and inducing inputs of its own; hidden layers have a linear mean, the last one a
constant. The deep GP is trained by the ELBO with ten samples, the sigma point process by its predictive objective with
eight learned sites and a twentieth of the weight on the KL. What is ours: width 10, 200 inducing inputs that start at
training rows, squared exponential kernels, hidden layers that start near their mean (deep GP) and whose mean's weights
start at the inputs' scale, a rate of 0.01 that falls along a cosine, and the step whose CRPS on the rows set aside is
best. `float32`, but for factorisations, which GPyTorch does in `float64`.
"""

import copy
import math
import time
from typing import Any, NamedTuple

import gpytorch
import numpy as np
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean, LinearMean
from gpytorch.mlls import DeepApproximateMLL, DeepPredictiveLogLikelihood, VariationalELBO
from gpytorch.models.deep_gps import DeepGP, DeepGPLayer
from gpytorch.models.deep_gps.dspp import DSPP, DSPPLayer
from gpytorch.variational import CholeskyVariationalDistribution, MeanFieldVariationalDistribution, VariationalStrategy
from rows import Floats, Part, Split, standardised
from scores import Mixture, crps

#: The factor on the KL of the sigma point process.
KL_WEIGHT = 0.05
#: The rows that are predicted at once.
BLOCK = 2000
#: The most rows set aside that are looked at, and the number of steps between two looks.
LOOKED_AT, EVERY = 2000, 100


class Plan(NamedTuple):
    """What is built, and how long it is trained."""

    hidden: int = 2
    width: int = 10
    inducing: int = 200
    sites: int = 8
    samples: int = 10
    test_samples: int = 50
    batch: int = 1024
    steps: int = 3000
    rate: float = 0.01
    #: Seconds after which a fit ends, whatever its steps.
    limit: float = math.inf
    device: str = "cpu"


def build(layer: Any, part: Any, x: torch.Tensor, outputs: int | None, plan: Plan, q: Any) -> None:
    """Makes `layer`, of GPyTorch's class `part`, one with inducing inputs at rows of `x`; the last has no `outputs`."""
    batch = torch.Size([] if outputs is None else [outputs])
    inputs = x.shape[-1]
    chosen = torch.stack([x[torch.randperm(len(x))[: plan.inducing]] for _ in range(outputs or 1)])
    points = chosen[0] if outputs is None else chosen
    strategy = VariationalStrategy(layer, points, q(points.shape[-2], batch_shape=batch), learn_inducing_locations=True)
    part.__init__(layer, strategy, inputs, outputs, *([plan.sites] if part is DSPPLayer else []))
    layer.mean_module = ConstantMean(batch_shape=batch) if outputs is None else LinearMean(inputs, batch_shape=batch)
    if outputs is not None:
        # Weights of variance 1 would make hidden outputs of 512 inputs enormous.
        layer.mean_module.weights.data /= math.sqrt(inputs)
    kernel = RBFKernel(batch_shape=batch, ard_num_dims=inputs)
    kernel.lengthscale = math.sqrt(inputs)
    layer.covar_module = ScaleKernel(kernel, batch_shape=batch)


class SampledLayer(DeepGPLayer):  # type: ignore[misc]
    """A layer of the deep Gaussian process."""

    def __init__(self, x: torch.Tensor, outputs: int | None, plan: Plan) -> None:
        build(self, DeepGPLayer, x, outputs, plan, CholeskyVariationalDistribution)
        if outputs is not None:
            # Hidden layers that start as noise alone take long to become anything else.
            self.variational_strategy._variational_distribution.chol_variational_covar.data *= 1e-2
            self.variational_strategy.variational_params_initialized.fill_(1)

    def forward(self, x: torch.Tensor) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


class SiteLayer(DSPPLayer):  # type: ignore[misc]
    """A layer of the deep sigma point process."""

    def __init__(self, x: torch.Tensor, outputs: int | None, plan: Plan) -> None:
        build(self, DSPPLayer, x, outputs, plan, MeanFieldVariationalDistribution)

    def forward(self, x: torch.Tensor, **_: Any) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


def stack(layer: type, x: torch.Tensor, plan: Plan) -> torch.nn.ModuleList:
    """Hidden layers and the last one. Inducing inputs of deeper layers start at standard normal points."""
    layers = []
    for _ in range(plan.hidden):
        layers.append(layer(x, plan.width, plan))
        x = torch.randn(max(plan.inducing, 1000), plan.width)
    return torch.nn.ModuleList([*layers, layer(x, None, plan)])


class Sampled(DeepGP):  # type: ignore[misc]
    """The deep Gaussian process: hidden layers are sampled."""

    def __init__(self, x: torch.Tensor, plan: Plan) -> None:
        super().__init__()
        self.layers, self.likelihood, self.plan = stack(SampledLayer, x, plan), GaussianLikelihood(), plan

    def forward(self, x: torch.Tensor) -> MultivariateNormal:
        for layer in self.layers:
            x = layer(x)
        return x

    def objective(self, rows: int) -> Any:
        return DeepApproximateMLL(VariationalELBO(self.likelihood, self, rows))

    def log_weights(self) -> torch.Tensor:
        samples = gpytorch.settings.num_likelihood_samples.value()
        return torch.full([samples], -math.log(samples))


class Sites(DSPP):  # type: ignore[misc]
    """The deep sigma point process: learned sites stand for the hidden layers' distribution."""

    def __init__(self, x: torch.Tensor, plan: Plan) -> None:
        super().__init__(plan.sites)
        self.layers, self.likelihood, self.plan = stack(SiteLayer, x, plan), GaussianLikelihood(), plan

    def forward(self, x: torch.Tensor) -> MultivariateNormal:
        for layer in self.layers:
            x = layer(x)
        return x

    def objective(self, rows: int) -> Any:
        return DeepPredictiveLogLikelihood(self.likelihood, self, num_data=rows, beta=KL_WEIGHT)

    def log_weights(self) -> torch.Tensor:
        weights: torch.Tensor = self.quad_weights
        return weights


#: The models by their names on the command line.
MODELS: dict[str, type] = {"deep-gp": Sampled, "dspp": Sites}


def mixtures(model: Any, x: torch.Tensor, samples: int) -> Mixture:
    """The mixtures at some rows."""
    model.eval()
    means, variances = [], []
    with torch.no_grad(), gpytorch.settings.num_likelihood_samples(samples):
        for start in range(0, len(x), BLOCK):
            answer = model.likelihood(model(x[start : start + BLOCK]))
            means.append(answer.mean.cpu())
            variances.append(answer.variance.cpu())
        weight = model.log_weights().exp().cpu()
    mean, variance = (torch.cat(parts, dim=-1).double().numpy() for parts in (means, variances))
    weights: Floats = np.broadcast_to(weight.double().numpy()[:, None], mean.shape)
    return Mixture(weights, mean, variance)


def fit(name: str, data: Part, aside: Part, plan: Plan, seed: int) -> tuple[Any, int]:
    """The trained model as it was when the rows set aside liked it best, and the number of steps that were made."""
    torch.manual_seed(seed)
    device = torch.device(plan.device)
    x, y = (torch.as_tensor(part, dtype=torch.float32) for part in data)
    built: Any = MODELS[name](x, plan)
    model = built.to(device)
    x, y = x.to(device), y.to(device)
    looked = torch.as_tensor(aside.x[:LOOKED_AT], dtype=torch.float32, device=device)
    optimiser = torch.optim.Adam(model.parameters(), lr=plan.rate)
    objective = model.objective(len(y))
    best, kept = math.inf, copy.deepcopy(model.state_dict())
    started, step, order = time.perf_counter(), 0, torch.randperm(len(y), device=device)
    batch, place = min(plan.batch, len(y)), 0
    while step < plan.steps:
        if place + batch > len(y):
            order, place = torch.randperm(len(y), device=device), 0
        rows = order[place : place + batch]
        # Along a cosine to the end, be that the last step or the limit.
        share = min(1.0, max(step / plan.steps, (time.perf_counter() - started) / plan.limit))
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * share)))
        model.train()
        optimiser.zero_grad(set_to_none=True)
        with gpytorch.settings.num_likelihood_samples(plan.samples):
            loss = -objective(model(x[rows]), y[rows])
        loss.backward()
        optimiser.step()
        step, place = step + 1, place + batch
        over = time.perf_counter() - started > plan.limit
        if step % EVERY == 0 or step == plan.steps or over:
            worth = float(crps(mixtures(model, looked, plan.samples), aside.y[:LOOKED_AT]).mean())
            if worth < best:
                best, kept = worth, copy.deepcopy(model.state_dict())
        if over:
            break
    # GPyTorch keeps factors of the parameters that it last predicted with until it trains again.
    model.train()
    model.load_state_dict(kept)
    return model, step


def predict(name: str, split: Split, plan: Plan, seed: int) -> tuple[Mixture, str]:
    """The mixtures at the test rows, and how long the model was trained, in words."""
    (train, aside, test), centre, scale = standardised(split)
    model, steps = fit(name, train, aside, plan, seed)
    x = torch.as_tensor(test.x, dtype=torch.float32, device=torch.device(plan.device))
    return mixtures(model, x, plan.test_samples).in_units(centre, scale), f"{steps} steps"
