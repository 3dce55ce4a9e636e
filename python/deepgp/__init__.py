"""Deep Gaussian processes with decoupled inducing inputs.

`DeepGPRegressor` is an estimator for scikit-learn: from arrays or frames to predictions with honest uncertainty.
`Model` is the engine itself: parameters, the bound in its parts, its gradient, a step, predictions.
`datasets` simulates data to try them on; `split_rows` says which rows the command line holds out.

>>> from deepgp import DeepGPRegressor, datasets
>>> X, y = datasets.step_curve(60, seed=1)
>>> regressor = DeepGPRegressor(hidden_layers=1, width=2, steps=200).fit(X, y)
>>> mean, std = regressor.predict(X[:3], return_std=True)
>>> mean.shape, bool((std > 0).all())
((3,), True)
"""

from typing import TYPE_CHECKING, Any

from . import datasets
from ._core import __version__
from ._model import Model
from ._results import Elbo, Moments, Prediction, StepReport
from ._split import split_rows

if TYPE_CHECKING:
    from ._regressor import DeepGPRegressor

__all__ = [
    "DeepGPRegressor",
    "Elbo",
    "Model",
    "Moments",
    "Prediction",
    "StepReport",
    "__version__",
    "datasets",
    "split_rows",
]


def __getattr__(name: str) -> Any:
    # The estimator is loaded when it is first asked for: scikit-learn takes a second, and `Model` needs none of it.
    if name == "DeepGPRegressor":
        from ._regressor import DeepGPRegressor

        globals()[name] = DeepGPRegressor
        return DeepGPRegressor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
