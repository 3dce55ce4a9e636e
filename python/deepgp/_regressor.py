"""`DeepGPRegressor`: the estimator."""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _arrays, _base, _config, _core
from ._arrays import Floats
from ._model import Model
from ._progress import Progress

#: Settings of the library that are arguments of the constructor under the same name and go there as they are.
_SETTINGS = (
    "hidden_layers",
    "width",
    "mean_form",
    "covariance_form",
    "kernel",
    "inducing_start",
    "noise",
    "precision",
    "steps",
    "batch_size",
    "samples",
    "learning_rate",
    "kl_warm_up",
    "validation",
    "validate_every",
    "patience",
    "validation_samples",
    "constant_columns",
    "threads",
)
#: What a model is made of: with `warm_start` it cannot change.
_STRUCTURE = (
    "hidden_layers",
    "width",
    "mean_inducing",
    "covariance_inducing",
    "inducing",
    "mean_form",
    "covariance_form",
    "kernel",
    "precision",
    "jitter",
)
_OF_COLUMNS = ("n_features_in_", "feature_names_in_")


class StepReport(NamedTuple):
    """A step of training, as a callback sees it.

    Attributes
    ----------
    step : int
        Its number, from 1.
    epoch : float
        Passes over the data so far.
    elbo, data_term, kl : float or None
        The bound before the step, and its parts; None if the step was rolled back.
    noise : float
        Standard deviation of the noise, in the first target's units.
    learning_rate : float
        The one that was used.
    validation : float or None
        Mean log density of the rows held out (standardised), at steps that looked.
    seconds : float
        Since training began.
    rolled_back : str or None
        Why the step was rolled back, if it was.
    """

    step: int
    epoch: float
    elbo: float | None
    data_term: float | None
    kl: float | None
    noise: float
    learning_rate: float
    validation: float | None
    seconds: float
    rolled_back: str | None


class DeepGPRegressor(_base.RegressorMixin, _base.BaseEstimator):  # type: ignore[misc]
    """Regression by a deep Gaussian process with decoupled inducing inputs.

    Inputs and targets are standardised for the model, and predictions come back in the units of the data. Equal rows are
    trained on as one row that weighs as much, so a `sample_weight` of 3 is the same as three rows, and one of 0 as none.

    Parameters
    ----------
    hidden_layers : int, default=2
        Layers before the last one. With 0 it is a sparse Gaussian process.
    width : int, default=10
        Outputs of each hidden layer.
    mean_inducing : int, default=500
        Inducing inputs of each layer's mean, or as many as there are distinct rows.
    covariance_inducing : int, default=100
        Inducing inputs of each layer's covariance, or as many as there are distinct rows.
    inducing : int, optional
        One set of so many inducing inputs for mean and covariance: the full model. Takes the place of the two above.
    mean_form : {"whitened", "standard", "dual", "scaled-dual"}, default="whitened"
        The variables of the mean.
    covariance_form : {"whitened", "standard", "dual"}, default="whitened"
        The variables of the covariance.
    kernel : {"squared-exponential", "matern12", "matern32", "matern52", "rational-quadratic"}, \
default="squared-exponential"
        The kernel of every layer, with a lengthscale for each input.
    inducing_start : {"k-means", "random-rows", "greedy-variance"}, default="k-means"
        Where inducing inputs start.
    noise : float, default=0.05
        The noise variance at the start, as a share of the target's variance.
    precision : {"f64", "mixed"}, default="f64"
        Numbers of the work on rows; "mixed" is faster and has more jitter.
    jitter : float, optional
        What is added to the diagonal of kernel matrices; None is the precision's own.
    steps : int, default=3000
        Steps of the optimiser, at most.
    batch_size : int, default=10000
        Rows in a minibatch; all of them if there are fewer.
    samples : int, default=1
        Samples of the hidden layers for each row in training.
    learning_rate : float, default=0.01
        Adam's.
    schedule : {"constant", "cosine"} or dict, default="constant"
        How the learning rate changes. "cosine" goes down to a hundredth; `{"cosine": {"last": 0.1}}` and
        `{"step": {"every": 1000, "factor": 0.5}}` say more.
    kl_warm_up : int, default=0
        Steps over which the factor on the KL grows from 0 to 1.
    validation : float or None, default=0.1
        The share of rows that is held out and decides when to stop; None to train on all rows for all steps.
    validate_every : int, default=50
        Steps between two looks at these rows.
    patience : int, default=10
        Looks without a better result before training stops.
    validation_samples : int, default=20
        Samples of the mixture in such a look.
    time_limit : float, optional
        Seconds after which training stops.
    constant_columns : {"keep", "reject"}, default="keep"
        What to do with an input that has one value only.
    prediction_samples : int, default=100
        Samples of the mixture in predictions.
    warm_start : bool, default=False
        Whether `fit` goes on with the model of an earlier `fit`, its units included, for `steps` further steps.
    callbacks : list of callable, optional
        Each is called with a `StepReport` after every step; if one returns True, training ends.
    verbose : int, default=0
        Above 0, a line shows the progress.
    random_state : int, RandomState instance or None, default=0
        Seeds everything that is drawn. None draws a seed from NumPy's global state.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute.
    threads : int, default=0
        Threads to work with; 0 for all. No result depends on it.

    Attributes
    ----------
    model_ : Model
        The engine, for whoever wants to look inside.
    n_features_in_ : int
        Columns of `X` in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if `X` had names that are all strings.
    n_outputs_ : int
        Targets.
    n_iter_ : int
        Steps that were made.
    stop_ : str
        Why training ended: "steps", "patience", "time limit", "callback", or "stuck: ..." with the reason.
    elbo_ : float
        The bound at the last step.
    history_ : dict of str to ndarray
        The course of training; see `Model.history`.
    notes_ : list of str
        What is worth knowing: more jitter than asked for, steps rolled back.

    See Also
    --------
    Model : The engine's parts: parameters, the bound, its gradient.

    Notes
    -----
    Ctrl-C during `fit` raises KeyboardInterrupt and leaves the estimator fitted with what it had learnt.

    References
    ----------
    M. Havasi, J. M. Hernández-Lobato, J. J. Murillo-Fuentes, "Deep Gaussian Processes with Decoupled Inducing Inputs", 2017.

    Examples
    --------
    >>> from deepgp import DeepGPRegressor, datasets
    >>> X, y = datasets.eight_link_arm(300, seed=1)
    >>> regressor = DeepGPRegressor(hidden_layers=1, width=4, mean_inducing=50, covariance_inducing=20, steps=300)
    >>> regressor.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.6
    True
    >>> low, high = regressor.predict_quantiles(X[200:], [0.025, 0.975]).T
    >>> bool(((low < y[200:]) & (y[200:] < high)).mean() > 0.85)
    True
    """

    def __init__(
        self,
        hidden_layers: int = 2,
        width: int = 10,
        mean_inducing: int = 500,
        covariance_inducing: int = 100,
        *,
        inducing: int | None = None,
        mean_form: str = "whitened",
        covariance_form: str = "whitened",
        kernel: str = "squared-exponential",
        inducing_start: str = "k-means",
        noise: float = 0.05,
        precision: str = "f64",
        jitter: float | None = None,
        steps: int = 3000,
        batch_size: int = 10_000,
        samples: int = 1,
        learning_rate: float = 0.01,
        schedule: str | dict[str, dict[str, float]] = "constant",
        kl_warm_up: int = 0,
        validation: float | None = 0.1,
        validate_every: int = 50,
        patience: int = 10,
        validation_samples: int = 20,
        time_limit: float | None = None,
        constant_columns: str = "keep",
        prediction_samples: int = 100,
        warm_start: bool = False,
        callbacks: Sequence[Callable[[StepReport], bool | None]] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = 0,
        device: str = "auto",
        threads: int = 0,
    ) -> None:
        self.hidden_layers = hidden_layers
        self.width = width
        self.mean_inducing = mean_inducing
        self.covariance_inducing = covariance_inducing
        self.inducing = inducing
        self.mean_form = mean_form
        self.covariance_form = covariance_form
        self.kernel = kernel
        self.inducing_start = inducing_start
        self.noise = noise
        self.precision = precision
        self.jitter = jitter
        self.steps = steps
        self.batch_size = batch_size
        self.samples = samples
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.kl_warm_up = kl_warm_up
        self.validation = validation
        self.validate_every = validate_every
        self.patience = patience
        self.validation_samples = validation_samples
        self.time_limit = time_limit
        self.constant_columns = constant_columns
        self.prediction_samples = prediction_samples
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.verbose = verbose
        self.random_state = random_state
        self.device = device
        self.threads = threads

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DeepGPRegressor:
        """Train a model on data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            A factor on each row's share of the data term: a weight of 3 is the same as three equal rows.

        Returns
        -------
        self : DeepGPRegressor
            Fitted. If training is interrupted, by Ctrl-C or by an exception in a callback, it is fitted with what it had learnt
            and the exception goes on.
        """
        _core.check_device(self.device)
        before = getattr(self, "model_", None) if self.warm_start else None
        if before is not None:
            self._check_structure()
        settings = self._settings()
        names = _target_names(y)
        least = 2 if self.validation is None else 3
        rules = {"dtype": np.float64, "multi_output": True, "y_numeric": True, "ensure_min_samples": least}
        known = {name: getattr(self, name, None) for name in _OF_COLUMNS}
        X, y = _base.validate_data(self, X, y, reset=before is None, **rules)
        weights = None if sample_weight is None else _base.check_weights(sample_weight, X)
        targets = _arrays.columns("y", y)
        progress = Progress(self.steps) if self.verbose else None
        engine, error = _core.fit(
            x=X,
            y=targets,
            weights=weights,
            words=_config.to_json(settings),
            names=(self._feature_names(), names or [f"y{i}" for i in range(targets.shape[1])]),
            engine=None if before is None else before._engine,
            time_limit=None if self.time_limit is None else float(self.time_limit),
            progress=progress,
            callback=self._callback(),
        )
        if progress is not None:
            progress.finish()
        if engine is None:
            self._restore(known)
        else:
            self._adopt(Model._of(engine), flat=np.ndim(y) == 1)
        if error is not None:
            raise error
        if self.stop_.startswith("stuck"):
            message = f"training could not go on after {self.n_iter_} steps; the model is the last good one. {self.stop_}"
            warnings.warn(message, _base.ConvergenceWarning, stacklevel=2)
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict observations: their mean and, if asked for, their spread.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Whether to return the standard deviation of an observation, noise included.
        return_cov : bool, default=False
            Whether to return the joint covariance of observations, for up to 2000 rows. With hidden layers it is an average over
            joint samples: its diagonal agrees with the squares of the standard deviations up to sampling error.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Only if `return_std`.
        cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_outputs)
            Only if `return_cov`.

        Examples
        --------
        >>> from deepgp import DeepGPRegressor, datasets
        >>> X, y = datasets.step_curve(40)
        >>> regressor = DeepGPRegressor(hidden_layers=0, steps=50).fit(X, y)
        >>> mean, std = regressor.predict(X, return_std=True)
        >>> _, cov = regressor.predict(X, return_cov=True)
        >>> cov.shape
        (40, 40)
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        X = self._check_inputs(X)
        y = self.model_.predict(X, **self._mixture()).y
        if return_cov:
            _, covariance = self.model_.joint_moments(X, **self._mixture())
            noise = self.model_.parameters()["likelihood.noise"] * self.model_.standardiser["y_scale"] ** 2
            covariance += noise[:, None, None] * np.eye(len(X))
            return self._flat(y.mean), self._flat(np.moveaxis(covariance, 0, -1))
        return (self._flat(y.mean), self._flat(y.std)) if return_std else self._flat(y.mean)

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> Floats:
        """Quantiles of observations.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Inputs.
        quantiles : sequence of float, default=(0.05, 0.5, 0.95)
            Levels between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or (n_samples, n_outputs, n_quantiles)
        """
        X = self._check_inputs(X)
        found = self.model_.quantiles(X, np.atleast_1d(quantiles).tolist(), **self._mixture())
        return found[:, 0] if self._one_target else found

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = 0,
        *,
        joint: bool = True,
    ) -> Floats:
        """Draw observations.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples_X, n_features)
            Inputs.
        n_samples : int, default=1
            How many draws.
        random_state : int, RandomState instance or None, default=0
            Seeds them.
        joint : bool, default=True
            Whether a draw is one function seen at all rows, up to 2000 of them; else each row is drawn by itself.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_outputs, n_samples)
        """
        X = self._check_inputs(X)
        draw = self.model_.joint_draws if joint else self.model_.draws
        found = np.moveaxis(draw(X, n_samples, **{**self._mixture(), "seed": _seed(random_state)}), 0, -1)
        return found[:, 0] if self._one_target else found

    def log_density(self, X: Any, y: Any) -> Floats:
        """The log density of targets, row by row, in the units of the data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.

        Returns
        -------
        ndarray of shape (n_samples,)
            Jointly over targets.
        """
        return self.model_.log_density(self._check_inputs(X), y, **self._mixture())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `load` and the command `deepgp` open.

        Parameters
        ----------
        path : str or path-like
            The file; it is replaced if it is there.
        """
        _base.check_is_fitted(self)
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DeepGPRegressor:
        """An estimator, fitted, from a file that `save` or the command `deepgp fit` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        DeepGPRegressor
            With the settings of the fit. Where a table had categories, `X` is wanted as the command line encodes it: one column
            of zeros and ones for each level, as in `feature_names_in_`.
        """
        model = Model.load(path)
        settings = _config.settings_of(model._engine)
        regressor = cls(**{name: value for name, value in settings.items() if value is not None or name == "validation"})
        regressor._adopt(model, flat=model.n_outputs == 1)
        regressor.n_features_in_ = model.n_inputs
        names, _ = model._engine.columns()
        if not model._engine.is_unnamed():
            regressor.feature_names_in_ = np.asarray(names, dtype=object)
        return regressor

    def _settings(self) -> dict[str, Any]:
        settings = {name: getattr(self, name) for name in _SETTINGS}
        settings["inducing"] = _config.size(self.inducing, self.mean_inducing, self.covariance_inducing)
        settings["jitter"] = _config.jitter(self.jitter)
        settings["schedule"] = _config.schedule(self.schedule)
        settings["seed"] = _seed(self.random_state)
        return settings

    def _check_structure(self) -> None:
        for name in _STRUCTURE:
            was, now = self._structure[name], getattr(self, name)
            if was != now:
                raise ValueError(
                    f"warm_start goes on with the model that is there, for which `{name}` was {was!r}; now it is {now!r}: "
                    "set it back, or build a new model with warm_start=False"
                )

    def _adopt(self, model: Model, *, flat: bool) -> None:
        self.model_ = model
        self.n_outputs_ = model.n_outputs
        self.n_iter_, _, elbo, stop, self.notes_ = model._engine.record()
        self.elbo_ = float("nan") if elbo is None else elbo
        self.stop_ = stop or "steps"
        self.history_ = model.history
        self._one_target = flat
        self._structure = {name: getattr(self, name) for name in _STRUCTURE}

    def _restore(self, known: dict[str, Any]) -> None:
        """Forgets the columns of a fit that came to nothing."""
        for name, value in known.items():
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)

    def _check_inputs(self, X: Any) -> Any:
        _base.check_is_fitted(self)
        return _base.validate_data(self, X, reset=False, dtype=np.float64)

    def _mixture(self) -> dict[str, int]:
        return {"samples": self.prediction_samples, "seed": 0, "threads": self.threads}

    def _flat(self, values: Floats) -> Floats:
        """Without the axis of the targets, if `y` had none."""
        return values[..., 0] if self._one_target else values

    def _feature_names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _callback(self) -> Callable[[dict[str, Any]], bool] | None:
        if not self.callbacks:
            return None
        callbacks = list(self.callbacks)
        # All of them see every step, whatever another one says.
        return lambda report: any([bool(call(StepReport(**report))) for call in callbacks])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _seed(random_state: Any) -> int:
    if isinstance(random_state, numbers.Integral):
        if random_state < 0:
            raise ValueError(f"`random_state` is {random_state}, but must be 0 or more")
        return int(random_state)
    if random_state is None:
        random_state = np.random.mtrand._rand
    draw = getattr(random_state, "randint", None) or getattr(random_state, "integers", None)
    if draw is None:
        raise ValueError(f"{random_state!r} cannot be used to seed: give an integer, a RandomState or None")
    return int(draw(np.iinfo(np.int32).max))


def _target_names(y: Any) -> list[str] | None:
    names = getattr(y, "columns", None)
    if names is None:
        name = getattr(y, "name", None)
        names = None if name is None or name == "" else [name]
    return None if names is None or callable(names) else [str(name) for name in names]
