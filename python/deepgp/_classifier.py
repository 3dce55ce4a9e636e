"""`DeepGPClassifier`: the estimator of classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _base, _class_weights, _labels
from ._arrays import Floats
from ._estimator import Estimator, TrainingRows
from ._labels import Labels
from ._model import Model
from ._results import StepReport


class DeepGPClassifier(_base.ClassifierMixin, Estimator):  # type: ignore[misc]
    """Classification by a deep Gaussian process with decoupled inducing inputs.

    Probabilities of classes follow from latent functions of the inputs, and predictions average over what is not known
    of these: far from all data they are less certain. Labels are texts, whole numbers or truth values. Rows that are
    held out for `validation` keep the shares of the classes, and judge by their log probability.

    Parameters
    ----------
    likelihood : {"auto", "probit", "logit", "softmax", "ordered"}, default="auto"
        How classes arise. "auto" is "probit" for two classes, whose probabilities have a closed form, and "softmax" for
        more, with a latent function for each. "ordered" takes classes to be steps of one latent function, in the order
        of `classes_`; "logit" has heavier tails than "probit".
    class_weight : {"balanced"}, dict or None, default=None
        Factors on the weights of rows, by their labels; one that is left out is 1. With "balanced" all classes weigh
        the same, however many rows they have.
    hidden_layers, width, mean_inducing, covariance_inducing, inducing, nested, mean_form, covariance_form, kernel, \
inducing_start, precision, jitter, steps, batch_size, samples, learning_rate, schedule, power, sites, kl_weight, \
kl_warm_up, validation, validate_every, patience, validation_samples, calibrate, time_limit, constant_columns, \
keep_columns, prediction_samples, warm_start, callbacks, verbose, random_state, device, threads
        As for `DeepGPRegressor`, with the same defaults.
    objective : {"auto", "elbo", "predictive", "sites"}, default="auto"
        As for `DeepGPRegressor`; "auto" is "elbo".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, in the order of the columns of `predict_proba`.
    model_, n_features_in_, feature_names_in_, n_iter_, stop_, elbo_, history_, notes_
        As for `DeepGPRegressor`.

    See Also
    --------
    DeepGPRegressor : The estimator of numbers and counts.

    Notes
    -----
    A file has labels as texts. `load` makes whole numbers and truth values of texts that are such; a pickle keeps
    labels as they were.

    Examples
    --------
    >>> import numpy as np
    >>> from deepgp import DeepGPClassifier
    >>> X = np.random.default_rng(1).uniform(-1, 1, (300, 2))
    >>> y = np.where(np.hypot(*X.T) < 0.7, "inside", "outside")
    >>> classifier = DeepGPClassifier(hidden_layers=1, width=2, inducing=40, steps=200).fit(X[:200], y[:200])
    >>> classifier.predict([[0.1, 0.1], [0.9, 0.9]])
    array(['inside', 'outside'], dtype='<U7')
    >>> classifier.score(X[200:], y[200:]) > 0.9
    True
    >>> classifier.predict_proba(X[200:]).shape
    (100, 2)
    """

    _of_classes = True
    classes_: Labels
    likelihood: str
    class_weight: str | Mapping[Any, float] | None

    def __init__(
        self,
        hidden_layers: int = 2,
        width: int = 10,
        mean_inducing: int | None = None,
        covariance_inducing: int | None = None,
        *,
        likelihood: str = "auto",
        class_weight: str | Mapping[Any, float] | None = None,
        inducing: int | None = None,
        nested: bool = True,
        mean_form: str = "whitened",
        covariance_form: str = "diagonal",
        kernel: str = "squared-exponential",
        inducing_start: str = "k-means",
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
        calibrate: bool = True,
        time_limit: float | None = None,
        constant_columns: str = "keep",
        keep_columns: Sequence[str] | None = None,
        prediction_samples: int = 32,
        warm_start: bool = False,
        callbacks: Sequence[Callable[[StepReport], bool | None]] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        device: str = "auto",
        threads: int = 0,
    ) -> None:
        self._keep_arguments(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DeepGPClassifier:
        """Train a model on data.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Inputs. A frame with texts, categories, dates, truth values or missing cells is taken as a table is on the
            command line: see the Notes of `DeepGPRegressor`.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            A factor on each row's share of the data term: a weight of 3 is the same as three equal rows.

        Returns
        -------
        self : DeepGPClassifier
            Fitted. If training is interrupted, by Ctrl-C or by an exception in a callback, it is fitted with what it
            had learnt and the exception goes on.
        """
        self._fit(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> Labels:
        """The most probable class of each row; of several the first.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        most_probable = self.predict_proba(X).argmax(axis=1)
        predicted: Labels = self.classes_[most_probable]
        return predicted

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; each row sums to 1.
        """
        X = self._check_inputs(X)
        return self.model_.class_probabilities(X, **self._mixture())

    def decision_function(self, X: Any) -> Floats:
        """How much speaks for a class: log odds, or log probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes the log odds of the second, positive where `predict` says so; of several their log
            probabilities, the largest for the class that `predict` says.
        """
        # A probability of 0 is one that is too small for a number.
        probabilities = np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny)
        if len(self.classes_) == 2:
            # By a quotient, which is above 1 wherever the second is the larger, however little.
            probabilities = probabilities[:, 1] / probabilities[:, 0]
        decision: Floats = np.log(probabilities)
        return decision

    def _rows(self, X: Any, y: Any, sample_weight: Any, rules: dict[str, Any]) -> TrainingRows:
        X, y = _base.validate_data(self, X, y, **rules)
        y = np.asarray(y)
        found = _labels.distinct(y)
        _base.check_classification_targets(y)
        classes = found if self._before() is None else self.classes_
        codes = _labels.codes(y, classes)
        weights = _class_weights.row_weights(self.class_weight, classes, codes, _base.row_weights(sample_weight, X))
        if self._before() is None:
            _check_two(y if weights is None else y[weights > 0])
        likelihood = self.likelihood
        if likelihood == "auto":
            likelihood = "probit" if len(classes) == 2 else "softmax"
        learnt = {"classes_": classes}
        balanced = isinstance(self.class_weight, str)
        return TrainingRows(X, codes.reshape(-1, 1), weights, likelihood, _labels.texts(classes), balanced, learnt)

    @classmethod
    def _learnt_by(cls, model: Model) -> dict[str, Any]:
        return {"classes_": _labels.from_texts(model.labels or [])}


def _check_two(y: Labels) -> None:
    """Fails unless rows that weigh something are of two classes at least."""
    classes = _labels.distinct(y)
    if len(classes) < 2:
        found = (
            "no row has a weight"
            if len(classes) == 0
            else f"every row that counts is of the class {classes.tolist()[0]!r}"
        )
        raise ValueError(f"{found}, and a classifier needs at least two classes: give rows of another class too")
