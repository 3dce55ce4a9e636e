"""`DeepGPRegressor`: the estimator of numbers and counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _arrays, _base
from ._estimator import TrainingRows
from ._model import Model
from ._predictions import Predictions
from ._results import StepReport


class DeepGPRegressor(_base.RegressorMixin, Predictions):  # type: ignore[misc]
    """Regression by a deep Gaussian process with decoupled inducing inputs.

    Inputs and targets are standardised for the model, and predictions come back in the units of the data. Equal rows
    are trained on as one row that weighs as much, so a `sample_weight` of 3 is the same as three rows, and one of 0
    as none. Where rows are held out for `validation`, each of these three may be. Weights that are not whole numbers,
    or all the same, count no rows: a row is then held out as a whole, whatever it weighs.

    Parameters
    ----------
    hidden_layers : int, default=2
        Layers before the last one. With 0 it is a sparse Gaussian process.
    width : int, default=10
        Outputs of each hidden layer.
    mean_inducing : int, optional
        Inducing inputs of each layer's mean, or as many as there are distinct rows. None is one for five rows, at least
        100 and at most 500.
    covariance_inducing : int, optional
        Inducing inputs of each layer's covariance, likewise. None is one for eight rows, at least 60 and at most 100.
    inducing : int, optional
        One set of so many inducing inputs for mean and covariance, in place of the two above. With
        `covariance_form="whitened"` it is the full model.
    nested : bool, default=True
        Whether the covariance's inducing inputs are the first of the mean's, or a set of their own, as in the paper.
    mean_form : {"whitened", "standard", "dual", "scaled-dual"}, default="whitened"
        The variables of the mean.
    covariance_form : {"whitened", "diagonal", "standard", "dual"}, default="diagonal"
        The variables of the covariance; "diagonal" is the cheapest, "dual" asks for the precision "f64".
    kernel : {"squared-exponential", "matern12", "matern32", "matern52", "rational-quadratic"}, \
default="squared-exponential"
        The kernel of every layer, with a lengthscale for each input.
    inducing_start : {"k-means", "random-rows", "greedy-variance"}, default="k-means"
        Where inducing inputs start.
    likelihood : {"gaussian", "heteroscedastic", "student-t", "poisson", "negative-binomial"}, default="heteroscedastic"
        How targets scatter around the function: with one noise, with one that follows the inputs, or with outliers. The
        last two are for counts, 0, 1, 2, …: of events at a rate that the function is the logarithm of, or of such that
        vary more. Of counts there is one target, and `fit` and predictions take an `exposure`.
    noise : float, default=0.5
        The noise variance at the start, as a share of the target's variance. Counts have none.
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
    learning_rate : float, optional
        Adam's. None is 0.015 below 3000 training rows, else 0.02.
    schedule : {"constant", "cosine"} or dict, default="cosine"
        How the learning rate changes. "cosine" goes down to a hundredth; `{"cosine": {"last": 0.1}}` and
        `{"step": {"every": 1000, "factor": 0.5}}` say more.
    objective : {"auto", "elbo", "tighter", "predictive", "faithful", "sites"}, default="auto"
        What training maximises: a bound on the evidence, a tighter one (for one Gaussian noise), the log density of the
        rows, that for all but the mean for a while (for noise that follows the inputs), or that with learned sites in
        place of samples. "auto" is "faithful" where noise follows the inputs, "predictive" for counts,
        else "elbo".
    power : float, optional
        The power of the predictive objectives, above 0 and at most 1; near 0 they are the bound. None is 1, and 0.75
        for "faithful".
    sites : int, default=8
        Learned sites, for `objective="sites"`.
    kl_weight : float, default=1.0
        The factor on the KL.
    kl_warm_up : int, default=0
        Steps over which the factor on the KL grows from 0 to `kl_weight`.
    validation : float or None, default=0.1
        The share of rows that is held out and decides when to stop; None or 0 to train on all rows for all steps.
    validate_every : int, default=50
        Steps between two looks at these rows.
    patience : int, default=30
        Looks without a better result before training stops.
    validation_samples : int, default=20
        Samples of the mixture in such a look.
    validation_score : {"log-density", "crps"}, default="crps"
        The score by which these rows judge; "crps" is the steadier, where targets take a value many times above all.
    calibrate : bool, default=True
        Whether these rows then say how sure predictions should be: how wide distributions of numbers, by one factor for
        each target; how sharp probabilities of classes.
    time_limit : float, optional
        Seconds after which training stops.
    constant_columns : {"keep", "reject"}, default="keep"
        What to do with an input that has one value only. Of a frame that is taken as a table, `fit` leaves such a
        column out, with a warning, unless they are to be rejected.
    keep_columns : list of str, optional
        Columns of a frame that is taken as a table which are inputs though they only tell rows apart.
    transform_target : {"none", "log", "log1p", "yeo-johnson", "quantile", "auto"}, default="auto"
        What targets are transformed by before the model sees them: a logarithm, for positive targets, whose predictions
        are then positive too; that of one more; Yeo and Johnson's power; normal scores; or, by "auto", the one under
        which nearest neighbours predict clearly best, if there is one (`notes_` says which, and why). Predictions of
        observations are in the units of the data. Those of the function `f` are in units of the transformed target.
    trend : {"none", "linear", "auto"}, default="auto"
        Whether targets follow the dates of a frame along a line, which goes on after the last training row. "auto"
        takes one where the last rows are held out and show that it helps, which is what the command does with
        `--test last:0.2`; here no rows are split by time, and it takes none.
    prediction_samples : int, default=32
        Samples of the mixture in predictions.
    warm_start : bool, default=False
        Whether `fit` goes on with the model of an earlier `fit`, its units included, for `steps` further steps. With
        the same `random_state` the same rows are held out, and minibatches and samples are fresh ones. Adam's moments,
        `schedule`, `kl_warm_up`, `patience`, `n_iter_` and `history_` begin anew.
    callbacks : list of callable, optional
        Each is called with a `StepReport` after every step; if one returns True, training ends.
    verbose : int, default=0
        Above 0, a line shows the progress.
    random_state : int, RandomState or Generator instance or None, default=0
        Seeds everything that is drawn. None draws a seed from NumPy's global state.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute: on an NVIDIA GPU, on the CPU, or (`"auto"`) on a GPU if there is one. An estimator that was
        pickled or saved answers on the CPU when it comes back; `model_.computed_on("auto")` moves it.
    threads : int, default=0
        Threads to work with; 0 for all. No result depends on it.

    Attributes
    ----------
    model_ : Model
        The engine, for whoever wants to look inside.
    n_features_in_ : int
        Columns of `X` in `fit`; of a model from a file, those that it uses.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if `X` had names that are all strings.
    n_outputs_ : int
        Targets.
    n_iter_ : int
        Steps that were made.
    stop_ : str
        Why training ended: "steps" (all were made), "patience", "time limit", "interrupted" (by a callback or Ctrl-C,
        or a checkpoint) or "stuck" (step after step failed; the model is the last good one).
    elbo_ : float
        The value of the objective at the last step.
    history_ : dict of str to ndarray
        The course of training; see `Model.history`.
    notes_ : list of str
        What is worth knowing: columns that were left out or made into several, transforms that were chosen, more
        jitter than asked for, steps rolled back.

    See Also
    --------
    Model : The engine's parts: parameters, the bound, its gradient.

    Notes
    -----
    Of a pandas or polars frame with more than numbers in it, `fit` decides what each column is, as the command `deepgp
    fit` does, and predictions take frames with the same columns, in any order. A text or category is as many inputs as
    it has levels, or what these say about the target if they are more than 30; a date is a trend and the cycles that it
    shows; a missing number is the mean of the others, and a further input says that it is missing. Columns that only
    tell rows apart, and such as never vary, are left out with a warning; `notes_` tells of the rest.

    Ctrl-C during `fit` raises KeyboardInterrupt and leaves the estimator fitted with what it had learnt.

    References
    ----------
    M. Havasi, J. M. Hernández-Lobato, J. J. Murillo-Fuentes, "Deep Gaussian Processes with Decoupled Inducing
    Inputs", 2017.

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

    _of_classes = False
    likelihood: str

    def __init__(
        self,
        hidden_layers: int = 2,
        width: int = 10,
        mean_inducing: int | None = None,
        covariance_inducing: int | None = None,
        *,
        inducing: int | None = None,
        nested: bool = True,
        mean_form: str = "whitened",
        covariance_form: str = "diagonal",
        kernel: str = "squared-exponential",
        inducing_start: str = "k-means",
        likelihood: str = "heteroscedastic",
        noise: float = 0.5,
        precision: str = "f64",
        jitter: float | None = None,
        steps: int = 3000,
        batch_size: int = 10_000,
        samples: int = 1,
        learning_rate: float | None = None,
        schedule: str | dict[str, dict[str, float]] = "cosine",
        objective: str = "auto",
        power: float | None = None,
        sites: int = 8,
        kl_weight: float = 1.0,
        kl_warm_up: int = 0,
        validation: float | None = 0.1,
        validate_every: int = 50,
        patience: int = 30,
        validation_samples: int = 20,
        validation_score: str = "crps",
        calibrate: bool = True,
        time_limit: float | None = None,
        constant_columns: str = "keep",
        keep_columns: Sequence[str] | None = None,
        transform_target: str = "auto",
        trend: str = "auto",
        prediction_samples: int = 32,
        warm_start: bool = False,
        callbacks: Sequence[Callable[[StepReport], bool | None]] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        device: str = "auto",
        threads: int = 0,
    ) -> None:
        self._keep_arguments(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, exposure: Any = None) -> DeepGPRegressor:
        """Train a model on data.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Inputs. A frame with texts, categories, dates, truth values or missing cells is taken as a table is on the
            command line: see the Notes of `DeepGPRegressor`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            A factor on each row's share of the data term: a weight of 3 is the same as three equal rows.
        exposure : float or array-like of shape (n_samples,), optional
            For counts: how long, or how much, was watched for events at each row, in any unit. Counts grow with it, and
            predictions then want it too.

        Returns
        -------
        self : DeepGPRegressor
            Fitted. If training is interrupted, by Ctrl-C or by an exception in a callback, it is fitted with what it
            had learnt and the exception goes on.
        """
        self._fit(X, y, sample_weight, exposure)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, exposure: Any = None) -> float:
        """R², the share of the targets' variance that the predicted means explain, averaged over targets.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows.
        exposure : float or array-like of shape (n_samples,), optional
            As for `fit`.

        Returns
        -------
        float
        """
        return _base.explained_share(y, self.predict(X, exposure=exposure), sample_weight)

    def _rows(self, X: Any, y: Any, sample_weight: Any, rules: dict[str, Any]) -> TrainingRows:
        X, y = _base.validate_data(self, X, y, multi_output=True, y_numeric=True, **rules)
        targets, weights = _arrays.columns("y", y), _base.row_weights(sample_weight, X)
        learnt = {"n_outputs_": targets.shape[1], "_one_target": np.ndim(y) == 1}
        return TrainingRows(X, targets, weights, self.likelihood, None, False, learnt)

    @classmethod
    def _learnt_by(cls, model: Model) -> dict[str, Any]:
        return {"n_outputs_": model.n_outputs, "_one_target": model.n_outputs == 1}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
