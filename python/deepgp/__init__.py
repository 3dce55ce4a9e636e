"""Deep Gaussian processes with decoupled inducing inputs.

`DeepGPRegressor` is an estimator for scikit-learn: from arrays or frames to predictions with honest uncertainty, of
numbers and of counts. `DeepGPClassifier` is one of classes.
`Model` is the engine itself: parameters, the bound in its parts, its gradient, a step, predictions.
`tune` searches for better settings. `datasets` simulates data to try them on; `split_rows` says which rows the command
line holds out.

>>> from deepgp import DeepGPRegressor, datasets
>>> X, y = datasets.step_curve(60, seed=1)
>>> regressor = DeepGPRegressor(hidden_layers=1, width=2, steps=200).fit(X, y)
>>> mean, std = regressor.predict(X[:3], return_std=True)
>>> mean.shape, bool((std > 0).all())
((3,), True)
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import datasets
from ._core import __version__
from ._model import Model
from ._results import Elbo, Importance, Moments, Prediction, StepReport
from ._split import split_rows
from ._tune import Tuned, tune

if TYPE_CHECKING:
    from ._classifier import DeepGPClassifier
    from ._regressor import DeepGPRegressor

__all__ = [
    "DeepGPClassifier",
    "DeepGPRegressor",
    "Elbo",
    "Importance",
    "Model",
    "Moments",
    "Prediction",
    "StepReport",
    "Tuned",
    "__version__",
    "datasets",
    "split_rows",
    "tune",
]


_ESTIMATORS = {"DeepGPClassifier": "._classifier", "DeepGPRegressor": "._regressor"}


def __getattr__(name: str) -> Any:
    # Estimators are loaded when they are first asked for: scikit-learn takes a second, and `Model` needs none of it.
    if (module := _ESTIMATORS.get(name)) is not None:
        globals()[name] = getattr(importlib.import_module(module, __name__), name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
