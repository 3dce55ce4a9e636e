"""What estimators take from scikit-learn, and the little they need of that where there is none."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from . import _arrays

try:
    import sklearn as _sklearn
except ImportError:
    HAS_SKLEARN = False
else:
    HAS_SKLEARN = True

if HAS_SKLEARN:
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
    except ImportError as error:
        found = _sklearn.__version__
        raise ImportError(f"deepgp needs scikit-learn 1.6 or later (or none), but found {found}: update it") from error

    def check_weights(sample_weight: Any, X: Any) -> Any:
        """Weights as scikit-learn checks them."""
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def explained_share(y: Any, prediction: Any, sample_weight: Any) -> float:
        """R² as scikit-learn has it."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, prediction, sample_weight=sample_weight))

else:

    class NotFittedError(ValueError, AttributeError):
        """The estimator is asked before it was fitted."""

    class ConvergenceWarning(UserWarning):  # type: ignore[no-redef]
        """Training did not end as it should."""

    class RegressorMixin:  # type: ignore[no-redef]
        """Nothing that a regressor lacks."""

    class ClassifierMixin:  # type: ignore[no-redef]
        """The score of a classifier."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Accuracy, the share of rows whose class is predicted."""
            return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))  # type: ignore[attr-defined]

    def explained_share(y: Any, prediction: Any, sample_weight: Any) -> float:
        """R², averaged over targets."""
        y = _arrays.columns("y", y)
        weight = np.ones(len(y)) if sample_weight is None else _arrays.vector("sample_weight", sample_weight)
        residual = weight @ (y - _arrays.columns("prediction", prediction)) ** 2
        spread = weight @ (y - np.average(y, axis=0, weights=weight)) ** 2
        return float(np.mean(1 - residual / spread))

    def check_classification_targets(y: Any) -> None:
        """Fails where labels are numbers with a fraction."""
        if y.dtype.kind == "f" and (y != np.trunc(y)).any():
            raise ValueError("Unknown label type: continuous. Classes are texts, whole numbers or truth values.")

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters by the names of the constructor."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """The constructor's arguments."""
            return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

        def set_params(self, **params: Any) -> Any:
            """Change some of the constructor's arguments."""
            known = self.get_params()
            for name, value in params.items():
                if name not in known:
                    raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}.")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            defaults = {name: own.default for name, own in inspect.signature(type(self)).parameters.items()}
            changed = {name: value for name, value in self.get_params().items() if value is not defaults[name]}
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def check_is_fitted(estimator: Any) -> None:
        """Fails before `fit`."""
        if not estimator.__sklearn_is_fitted__():
            name = type(estimator).__name__
            raise NotFittedError(
                f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using this "
                "estimator."
            )

    def check_weights(sample_weight: Any, X: Any) -> Any:
        """One weight for each row; the library checks their values."""
        if np.ndim(sample_weight) == 0:
            return np.full(len(X), float(sample_weight))
        return _arrays.vector("sample_weight", sample_weight)

    def validate_data(estimator: Any, X: Any, y: Any = "none", *, reset: bool = True, **rules: Any) -> Any:
        """`X`, and `y` if it is given, as numbers; remembers or compares the width and the names of the columns."""
        names = getattr(X, "columns", None)
        names = None if names is None else np.asarray(list(names), dtype=object)
        if names is not None and not all(isinstance(name, str) for name in names):
            names = None
        X = _arrays.matrix("X", X)
        if reset:
            estimator.n_features_in_ = X.shape[1]
            if names is not None:
                estimator.feature_names_in_ = names
            elif hasattr(estimator, "feature_names_in_"):
                del estimator.feature_names_in_
        elif X.shape[1] != estimator.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input."
            )
        known = getattr(estimator, "feature_names_in_", None)
        if not reset and names is not None and known is not None and list(names) != list(known):
            raise ValueError("The feature names should match those that were passed during fit.")
        least = rules.get("ensure_min_samples", 1)
        if len(X) < least:
            raise ValueError(f"Found array with {len(X)} sample(s) while a minimum of {least} is required.")
        if isinstance(y, str):
            _check_finite("X", X)
            return X
        if y is None:
            raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
        y = _arrays.numbers("y", y) if rules.get("y_numeric") else np.asarray(y)
        if not rules.get("multi_output") and y.ndim != 1:
            raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
        if len(y) != len(X):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[len(X), len(y)]}")
        _check_finite("X", X)
        if y.dtype.kind == "f":
            _check_finite("y", y)
        return X, y

    def _check_finite(name: str, array: Any) -> None:
        if not np.isfinite(array).all():
            kind = "NaN" if np.isnan(array).any() else "infinity"
            raise ValueError(f"Input {name} contains {kind}.")


def row_weights(sample_weight: Any, X: Any) -> _arrays.Floats | None:
    """Checked weights of the rows of `X`, if there are any."""
    return None if sample_weight is None else _arrays.vector("sample_weight", check_weights(sample_weight, X))


__all__ = [
    "HAS_SKLEARN",
    "BaseEstimator",
    "ClassifierMixin",
    "ConvergenceWarning",
    "RegressorMixin",
    "check_classification_targets",
    "check_is_fitted",
    "explained_share",
    "row_weights",
    "validate_data",
]
