"""`tune`: a search for better settings than an estimator's, and the estimator with the best."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core, _settings

if TYPE_CHECKING:
    from ._estimator import Estimator

#: Settings that a search may change, under the names of the estimators' arguments.
_SETTINGS = (
    "hidden_layers",
    "width",
    "mean_inducing",
    "covariance_inducing",
    "covariance_form",
    "kernel",
    "likelihood",
    "objective",
    "transform_target",
    "learning_rate",
    "kl_weight",
    "batch_size",
    "samples",
)
#: Arguments that would contradict a setting that is changed.
_SAME_AS = {"power": "objective", "sites": "objective", "inducing": "mean_inducing"}
#: A fit is given less than the time that is left: a machine may be busier later.
_MARGIN = 1.1


class Tuned(NamedTuple):
    """What a search found.

    Attributes
    ----------
    estimator : DeepGPRegressor or DeepGPClassifier
        An estimator with the best settings, fitted to all rows.
    settings : dict
        The arguments in which it differs from the estimator that the search began with; none if that was the best.
    score : float or None
        Its score by the rows that judged, when it was trained on the others.
    default_score : float or None
        That of the estimator that the search began with.
    trials : list of dict
        What was tried, in its order: `candidate`, `step`, `score`, `seconds`, `settings`, and why it `failed`, if it
        did. Candidate 0 is the estimator that the search began with. `pandas.DataFrame(trials)` is a table of them.
    """

    estimator: Any
    settings: dict[str, Any]
    score: float | None
    default_score: float | None
    trials: list[dict[str, Any]]


def tune(
    X: Any,
    y: Any,
    *,
    estimator: Any = None,
    time_limit: float | None = None,
    candidates: int | None = None,
    metric: str | None = None,
    space: Mapping[str, Sequence[Any]] | None = None,
    selection: float = 0.25,
    folds: int | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    exposure: Any = None,
    jobs: int | None = None,
    verbose: int = 0,
) -> Tuned:
    """Search for better settings than an estimator's by successive halving, and fit the best to all rows.

    All candidates are trained on the same rows and judged by others. The best third goes on from rung to rung, each
    from where it was; candidate 0, the estimator as it is, goes up to the top in any case.

    Parameters
    ----------
    X, y : array-like, or DataFrame
        What `fit` takes.
    estimator : DeepGPRegressor or DeepGPClassifier, optional
        What the search begins with; arguments that are not the defaults stay as they are. None is a regressor, or a
        classifier where `y` holds no numbers.
    time_limit : float, optional
        Seconds for all of it, the fit with the best settings included.
    candidates : int, optional
        How many settings to try, in place of a time limit: the same is found again then, whatever the machine.
    metric : str, optional
        "crps", "log-likelihood", "rmse" or "mae" of numbers, "log-loss", "brier" or "accuracy" of classes,
        "log-likelihood", "deviance", "rmse" or "mae" of counts. None is the first of each.
    space : dict of str to list, optional
        Values of settings to try, in place of the usual ones: `{"kernel": ["matern32", "matern52"]}`.
    selection : float, default=0.25
        The share of rows that judges.
    folds : int, optional
        So many folds instead, in each of which other rows judge.
    groups : array-like of shape (n_samples,), optional
        Which rows belong together: they are not parted.
    sample_weight, exposure : array-like of shape (n_samples,), optional
        What `fit` takes.
    jobs : int, optional
        How many to train at once; nothing but time depends on it. None is 1 on the CPU, and several on a GPU.
    verbose : int, default=0
        Above 0, lines show what is being tried.

    Returns
    -------
    Tuned
        The fitted `estimator`, its `settings`, and the table of `trials`.

    Examples
    --------
    >>> from deepgp import DeepGPRegressor, datasets, tune
    >>> X, y = datasets.step_curve(80, seed=1)
    >>> small = DeepGPRegressor(hidden_layers=1, width=2, mean_inducing=15, covariance_inducing=10, steps=90)
    >>> found = tune(X, y, estimator=small, candidates=3, space={"kernel": ["matern32", "matern52"]})
    >>> len(found.trials) >= 3, found.score <= found.default_score, found.estimator.predict(X[:2]).shape
    (True, True, (2,))
    """
    started = time.monotonic()
    if (time_limit is None) == (candidates is None):
        raise ValueError("give either `time_limit`, in seconds, or `candidates`, how many settings to try")
    own = _new(estimator if estimator is not None else _usual(y), {"warm_start": False})
    wanted = {
        "metric": metric,
        "selection": _settings.number("selection", selection),
        "folds": None if folds is None else _settings.integer("folds", folds, least=2),
        "candidates": None if candidates is None else _settings.integer("candidates", candidates, least=1),
        "time_limit": _settings.time_limit(time_limit),
        "jobs": None if jobs is None else _settings.integer("jobs", jobs, least=1),
        "space": _named(space or {}),
        "fixed": [name.replace("_", "-") for name in _fixed(own, space or {})],
    }
    arguments, _, _ = own._checked(X, y, sample_weight, exposure)
    numbers = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1].ravel().tolist()
    text, error = _core.tune(
        **arguments,
        groups=numbers,
        wanted=_settings.to_json(wanted),
        progress=_Lines() if verbose else None,
    )
    if error is not None:
        raise error
    found = json.loads(text)
    settings = {name.replace("-", "_"): value for name, value in found["settings"].items()}
    changes: dict[str, Any] = dict(settings)
    if time_limit is not None:
        left = max(time_limit - (time.monotonic() - started), 0.0)
        changes["time_limit"] = left
        if found["seconds_a_step"]:
            # A learning rate that falls to its end is worth more than steps that are cut off.
            changes["steps"] = max(min(own.steps, int(left / (_MARGIN * found["seconds_a_step"]))), 1)
    best = _new(own, changes)
    extra = {} if exposure is None else {"exposure": exposure}
    best.fit(X, y, sample_weight=sample_weight, **extra)
    trials = [
        own | {"settings": {name.replace("-", "_"): value for name, value in own["settings"].items()}}
        for own in found["trials"]
    ]
    return Tuned(best, settings, found["score"], found["default_score"], trials)


def _new(estimator: Any, changes: Mapping[str, Any]) -> Estimator:
    """An estimator of the same kind with some arguments changed, not fitted."""
    if not hasattr(estimator, "_checked"):
        raise TypeError(f"`estimator` is {estimator!r}, but must be a DeepGPRegressor or a DeepGPClassifier")
    arguments = estimator.get_params(deep=False) | changes
    return type(estimator)(**arguments)  # type: ignore[no-any-return]


def _usual(y: Any) -> Any:
    """A regressor for numbers, a classifier for anything else."""
    from . import DeepGPClassifier, DeepGPRegressor

    return DeepGPRegressor() if np.asarray(y).dtype.kind in "iuf" else DeepGPClassifier()


def _fixed(estimator: Any, space: Mapping[str, Any]) -> list[str]:
    """The settings whose argument is not the default: they stay, unless the space names them."""
    defaults = {name: own.default for name, own in inspect.signature(type(estimator)).parameters.items()}
    arguments = estimator.get_params(deep=False)
    changed = {
        name for name in arguments if arguments[name] is not defaults[name] and arguments[name] != defaults[name]
    }
    if "inducing" in changed:
        changed.add("covariance_inducing")
    fixed = {_SAME_AS.get(name, name) for name in changed} & set(_SETTINGS)
    return sorted(fixed - set(space))


def _named(space: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """The values of settings by the names that the engine has for them."""
    for name, values in space.items():
        if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
            raise TypeError(f"`space`: {name} is {values!r}, but must be a list of values")
    return {name.replace("_", "-"): list(values) for name, values in space.items()}


class _Lines:
    """A line whenever something is new."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, line: str) -> None:
        if line != self._last:
            print(line, flush=True)
            self._last = line
