"""GPyTorch's variational classifier, as its examples have it: inducing inputs, Bernoulli or softmax, Adam."""

import gpytorch
import numpy as np
import torch
from numpy.typing import NDArray

INDUCING, STEPS, BATCH, RATE, SAMPLES = 500, 3000, 1024, 0.01, 64


class Classifier(gpytorch.models.ApproximateGP):  # type: ignore[misc]
    """As many independent functions as there are classes, or one for two."""

    def __init__(self, inducing: torch.Tensor, functions: int) -> None:
        shape = torch.Size([functions]) if functions > 1 else torch.Size([])
        distribution = gpytorch.variational.CholeskyVariationalDistribution(inducing.shape[-2], batch_shape=shape)
        strategy = gpytorch.variational.VariationalStrategy(self, inducing, distribution, learn_inducing_locations=True)
        if functions > 1:
            strategy = gpytorch.variational.IndependentMultitaskVariationalStrategy(strategy, num_tasks=functions)
        super().__init__(strategy)
        self.mean_module = gpytorch.means.ConstantMean(batch_shape=shape)
        kernel = gpytorch.kernels.RBFKernel(ard_num_dims=inducing.shape[-1], batch_shape=shape)
        self.covar_module = gpytorch.kernels.ScaleKernel(kernel, batch_shape=shape)

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def predict(
    x: NDArray[np.float64], y: NDArray[np.int64], x_test: NDArray[np.float64], seed: int, device: str
) -> NDArray[np.float64]:
    """The probability of each class at the rows of `x_test`, from a model of standardised inputs."""
    torch.manual_seed(seed)
    classes = int(y.max()) + 1
    functions = classes if classes > 2 else 1
    inputs = torch.tensor(x, dtype=torch.float32, device=device)
    targets = torch.tensor(y, device=device)
    start = inputs[torch.randperm(len(inputs), device=device)[:INDUCING]].clone()
    model = Classifier(start, functions).to(device)
    if functions == 1:
        likelihood = gpytorch.likelihoods.BernoulliLikelihood().to(device)
        targets = targets.float()
    else:
        likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=classes, mixing_weights=False).to(device)
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(inputs))
    adam = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=RATE)
    for _ in range(STEPS):
        rows = torch.randint(len(inputs), (min(BATCH, len(inputs)),), device=device)
        adam.zero_grad()
        loss = -bound(model(inputs[rows]), targets[rows])
        loss.backward()
        adam.step()
    model.eval()
    likelihood.eval()
    parts = []
    with torch.no_grad(), gpytorch.settings.num_likelihood_samples(SAMPLES):
        for first in range(0, len(x_test), 2048):
            rows = torch.tensor(x_test[first : first + 2048], dtype=torch.float32, device=device)
            p = likelihood(model(rows)).probs
            parts.append((torch.stack([1 - p, p], -1) if functions == 1 else p.mean(0)).cpu().numpy())
    return np.concatenate(parts).astype(float)
