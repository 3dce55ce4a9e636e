"""What the estimators share: from arguments and data to a fitted model, and files."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from . import _arrays, _base, _core, _frames, _settings
from ._arrays import Floats
from ._model import Model
from ._progress import Progress
from ._results import Importance, StepReport

_OF_COLUMNS = ("n_features_in_", "feature_names_in_")

_Own = TypeVar("_Own", bound="Estimator")


class TrainingRows(NamedTuple):
    """Checked data, and what an estimator makes of it.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples, n_outputs)
        Targets as numbers.
    weights : ndarray of shape (n_samples,) or None
        A factor on each row's share of the data term.
    likelihood : str
        The likelihood's name.
    labels : list of str or None
        Labels of classes, if targets are classes.
    balanced : bool
        Whether weights make all classes weigh the same.
    learnt : dict
        Attributes that the estimator has once it is fitted.
    """

    X: Floats
    y: Floats
    weights: Floats | None
    likelihood: str
    labels: list[str] | None
    balanced: bool
    learnt: dict[str, Any]


class Estimator(_base.BaseEstimator):  # type: ignore[misc]
    """An estimator over the engine. Arguments of the constructor that all have are named here."""

    #: Whether targets are classes.
    _of_classes: ClassVar[bool]

    model_: Model
    steps: int
    validation: float | None
    time_limit: float | None
    keep_columns: Sequence[str] | None
    prediction_samples: int
    warm_start: bool
    callbacks: Sequence[Callable[[StepReport], bool | None]] | None
    verbose: int
    device: str
    threads: int

    def _keep_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Keeps the arguments of the constructor under their names, as scikit-learn wants it."""
        for name, value in arguments.items():
            if name != "self":
                setattr(self, name, value)

    def _rows(self, X: Any, y: Any, sample_weight: Any, rules: dict[str, Any]) -> TrainingRows:
        """Checked data; `rules` are scikit-learn's, for all estimators."""
        raise NotImplementedError

    @classmethod
    def _learnt_by(cls, model: Model) -> dict[str, Any]:
        """Attributes of an estimator that has this model."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, sample_weight: Any, exposure: Any = None) -> None:
        """Trains a model. If training is interrupted, what it had learnt stays and the exception goes on."""
        if not isinstance(self.device, str):
            raise ValueError(f"`device` is {self.device!r}, but must be 'auto', 'cpu' or 'cuda'")
        _core.check_device(self.device)
        _settings.integer("prediction_samples", self.prediction_samples, least=1)
        known = {name: getattr(self, name, None) for name in _OF_COLUMNS}
        engine, error = None, None
        learnt: dict[str, Any] = {}
        try:
            engine, error, learnt = self._train(X, y, sample_weight, exposure)
        finally:
            if engine is None:
                self._restore(known)
        if engine is not None:
            self._adopt(Model._of(engine), learnt)
        if error is not None:
            raise error
        for note in self.model_._engine.warnings():
            warnings.warn(note, UserWarning, stacklevel=3)
        trouble = self.model_._engine.trouble()
        if self.stop_ == "stuck":
            message = f"training could not go on after {self.n_iter_} steps; the model is the last good one"
            trouble = message if trouble is None else f"{message}; {trouble}"
        if trouble is not None:
            warnings.warn(trouble, _base.ConvergenceWarning, stacklevel=3)

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, exposure: Any
    ) -> tuple[dict[str, Any], Model | None, dict[str, Any]]:
        """What the engine wants of checked data, the model to go on with, if any, and the estimator's attributes."""
        X, before = _arrays.dense(X), self._before()
        if before is not None:
            _settings.check_structure(self, self._structure)
        table = _frames.table_of(X, self.keep_columns) if self._is_table(X, before) else None
        checked = {"y": y, "sample_weight": sample_weight, "exposure": exposure} | ({} if table else {"X": X})
        for name, own in checked.items():
            _arrays.check_cells(name, own)
        target_names, exposure_name = _arrays.names_of(y), (_arrays.names_of(exposure) or ["exposure"])[0]
        least = 3 if self.validation else 2
        rules = {"dtype": np.float64, "ensure_min_samples": least, "reset": before is None or table is not None}
        known = {name: getattr(self, name, None) for name in _OF_COLUMNS}
        # The engine checks the cells of a table; the others are checked beside as many rows.
        rows = self._rows(X if table is None else np.zeros((len(X), 1)), y, sample_weight, rules)
        if table is not None:
            names = np.asarray(_frames.names_of(X), dtype=object)
            new = {"n_features_in_": len(names), "feature_names_in_": names}
            self._restore(new if before is None else known)
        words = _settings.to_json(_settings.of_estimator(self, rows.likelihood))
        arguments = {
            "x": _arrays.matrix("X", rows.X) if table is None else table,
            "y": rows.y,
            "weights": rows.weights,
            "exposure": _arrays.exposures(exposure, len(rows.X)),
            "words": words,
            "names": {
                "inputs": self._feature_names(),
                "targets": target_names,
                "exposure": None if exposure is None else exposure_name,
                "labels": rows.labels,
            },
            "balanced": rows.balanced,
            "device": self.device,
        }
        return arguments, before, rows.learnt

    def _train(
        self, X: Any, y: Any, sample_weight: Any, exposure: Any
    ) -> tuple[_core.Engine | None, BaseException | None, dict[str, Any]]:
        """The model, if there is one, the exception that ended training, if one did, and the estimator's attributes."""
        arguments, before, learnt = self._checked(X, y, sample_weight, exposure)
        time_limit = _settings.time_limit(self.time_limit)
        progress = Progress(self.steps) if self.verbose else None
        engine, error = _core.fit(
            **arguments,
            engine=None if before is None else before._engine,
            time_limit=time_limit,
            progress=progress,
            callback=self._callback(),
        )
        if progress is not None:
            progress.finish()
        return engine, error, learnt

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `load` and the command `deepgp` open.

        Parameters
        ----------
        path : str or path-like
            The file; it is replaced if it is there.
        """
        _base.check_is_fitted(self)
        samples = _settings.integer("prediction_samples", self.prediction_samples, least=1)
        self.model_._engine.save(path, samples)

    @classmethod
    def load(cls: type[_Own], path: str | os.PathLike[str]) -> _Own:
        """An estimator, fitted, from a file that `save` or the command `deepgp fit` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        estimator
            With the settings of the fit. Of a model that the command fitted to a table, `X` is wanted as a frame with
            the table's columns, in any order; others are left aside.
        """
        model = Model.load(path)
        if not model._engine.is_fitted():
            raise ValueError(f"{os.fspath(path)} holds a Model that was not fitted: open it with Model.load")
        if (model._engine.labels() is not None) != cls._of_classes:
            own, other = "classes", "DeepGPClassifier"
            if cls._of_classes:
                own, other = "numbers or counts", "DeepGPRegressor"
            raise ValueError(f"{os.fspath(path)} holds a model of {own}: open it with {other}.load")
        arguments = inspect.signature(cls).parameters
        settings = _settings.of_engine(model._engine)
        estimator = cls(**{name: value for name, value in settings.items() if name in arguments})
        estimator._adopt(model, cls._learnt_by(model))
        names = model._engine.input_columns()
        estimator.n_features_in_ = len(names)
        if not model._engine.is_unnamed():
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        return estimator

    def _before(self) -> Model | None:
        """The model to go on with, if `warm_start` asks for it."""
        return getattr(self, "model_", None) if self.warm_start else None

    def _adopt(self, model: Model, learnt: Mapping[str, Any]) -> None:
        self.model_ = model
        self.n_iter_, _, elbo, self.stop_, self.notes_ = model._engine.record()
        self.elbo_ = float("nan") if elbo is None else elbo
        self.history_ = model.history
        for name, value in learnt.items():
            setattr(self, name, value)
        self._structure = _settings.structure_of(self)

    def _restore(self, known: Mapping[str, Any]) -> None:
        """Forgets the columns of a fit that came to nothing."""
        for name, value in known.items():
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)

    def _feature_names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _callback(self) -> Callable[[dict[str, Any]], bool] | None:
        if not self.callbacks:
            return None
        if not isinstance(self.callbacks, Sequence) or not all(map(callable, self.callbacks)):
            raise TypeError("`callbacks` must be a list of callables")
        callbacks = list(self.callbacks)

        def ask(report: dict[str, Any]) -> bool:
            # All of them see every step, whatever another one says.
            return any(list(map(bool, [call(StepReport(**report)) for call in callbacks])))

        return ask

    @staticmethod
    def _is_table(X: Any, before: Model | None) -> bool:
        """Whether the engine looks at the columns of a frame: not all are plain numbers, or the model's were not."""
        return _frames.is_table(X) if before is None else _frames.is_frame(X) and before._engine.is_of_table()

    def _check_inputs(self, X: Any) -> Any:
        _base.check_is_fitted(self)
        engine = self.model_._engine
        if self._is_table(X, self.model_):
            return _frames.encoded(engine, X)
        if engine.is_of_table() and engine.columns()[0] != self._feature_names():
            known = ", ".join(map(repr, engine.input_columns()))
            raise ValueError(f"the model was fitted to a table: give a DataFrame, with the columns {known}")
        X = _arrays.dense(X)
        _arrays.check_cells("X", X)
        return _base.validate_data(self, X, reset=False, dtype=np.float64)

    def importance(self, X: Any) -> Importance:
        """How much each column matters to the predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Inputs, of which up to 1000 are taken. They need no targets.

        Returns
        -------
        Importance
            The `columns`, the `share` of the variance of predictions in which each has a part, by itself or together
            with others (its total Sobol index), and the standard `error` of that. Of several targets, a row for each.
        """
        X = self._check_inputs(X)
        found = self.model_.importance(X, samples=min(20, self.prediction_samples), threads=self.threads)
        return found if len(found.share) > 1 else Importance(found.columns, found.share[0], found.error[0])

    def _mixture(self) -> dict[str, Any]:
        return {"samples": self.prediction_samples, "seed": 0, "threads": self.threads}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")
