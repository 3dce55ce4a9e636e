"""`Model`: the engine's parts as arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _arrays, _config, _core, _settings
from ._answers import Answers
from ._arrays import Floats
from ._results import Elbo, Moments


class Model(Answers):
    """A deep Gaussian process: layers and a likelihood.

    All methods take `X` and `y` in the units of the data and give moments in these units. A model that is built here
    has one Gaussian noise and takes numbers as they are; one that was fitted or loaded has a `standardiser` and applies
    it first. Where targets are classes, `y` has their numbers, from 0 in the order of `labels`. The bound and
    its gradient are those of the standardised numbers, which the optimiser sees.

    Parameters
    ----------
    config : dict
        Either the names and values that `DeepGPRegressor` knows (`hidden_layers`, `width`, `kernel`, `mean_form`,
        `covariance_form`, `inducing` or `mean_inducing` and `covariance_inducing`, `nested`, `inducing_start`), the
        same for every layer; or `layers`, a list with a dictionary of these for each layer, first to last. There
        `width` is the number of the layer's outputs, inducing inputs can be arrays instead of numbers (where `nested`
        is True, `mean_inducing` alone, and `covariance_inducing` is the number of its first rows), and
        `mean_function` can be `"zero"`, `"identity"`, `"zero-padding"` or the matrix `W` of `x W`; without it, hidden
        layers have what their widths ask for and the last has none. Beside them: `noise` (variance), `precision`
        (`"f64"` or `"mixed"`), `jitter`, `seed`. A kernel is a name, or `{"sum": [...]}` or
        `{"product": [...]}` of kernels.
    X : array-like of shape (N, D), optional
        Inputs to choose inducing inputs from. Not needed if the first layer's are given as arrays.
    outputs : int, default=1
        Targets of a model without `layers`.

    Examples
    --------
    >>> import numpy as np
    >>> from deepgp import Model
    >>> X = np.linspace(-1, 1, 50).reshape(-1, 1)
    >>> y = np.sin(4 * X)
    >>> model = Model({"hidden_layers": 1, "width": 2, "mean_inducing": 20, "covariance_inducing": 10}, X)
    >>> model.parameters()["layers.0.inducing"].shape
    (20, 1)
    >>> start = model.elbo(X, y).total
    >>> for _ in range(100):
    ...     _ = model.train_step(X, y)
    >>> model.elbo(X, y).total > start
    True
    """

    def __init__(self, config: Mapping[str, Any], X: Any = None, outputs: int = 1) -> None:
        words, layers = _config.words_and_arrays(config, outputs)
        self._engine = _core.Engine.build(words, layers, None if X is None else _arrays.matrix("X", X))

    @classmethod
    def _of(cls, engine: _core.Engine) -> Model:
        model = cls.__new__(cls)
        model._engine = engine
        return model

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model from a file, whether Python or the command `deepgp` wrote it.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Model
        """
        return cls._of(_core.Engine.load(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `load` and the command `deepgp` open.

        The file is there whole or not at all. The optimiser's memory is no part of it; a pickle has that too.

        Parameters
        ----------
        path : str or path-like
            The file; it is replaced if it is there.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import numpy as np
        >>> from deepgp import Model
        >>> X = np.linspace(-1, 1, 20).reshape(-1, 1)
        >>> model = Model({"hidden_layers": 0, "inducing": 5}, X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(pathlib.Path(folder, "model.deepgp"))
        ...     again = Model.load(pathlib.Path(folder, "model.deepgp"))
        >>> bool((again.predict(X).y.mean == model.predict(X).y.mean).all())
        True
        """
        self._engine.save(path)

    def parameters(self) -> dict[str, Floats]:
        """Every parameter by its name, as a copy.

        Values are constrained ones: a lengthscale is a lengthscale, not its logarithm.

        Returns
        -------
        dict of str to ndarray
            For each layer `layers.0.kernel.lengthscales` (D,), `.kernel.variance` (), `.inducing` (M_a, D) or
            `.mean_inducing` (M_a, D) and `.covariance_inducing` (M_b, D), `.mean.free` (M_a, P), `.covariance.factor`
            (P, M_b), or lower triangles (P, M_b, M_b) unless the form is diagonal; and `likelihood.noise` (P,),
            variances.
        """
        return self._engine.parameters()

    def set_parameters(self, values: Mapping[str, Any]) -> None:
        """Set some parameters by name: all of these, or none if one of them cannot be.

        The optimiser's memory of earlier steps is forgotten.

        Parameters
        ----------
        values : dict of str to array-like
            In the shapes of `parameters`.

        Examples
        --------
        >>> import numpy as np
        >>> from deepgp import Model
        >>> model = Model({"hidden_layers": 0, "inducing": 3}, np.array([[0.0], [1.0], [2.0]]))
        >>> model.set_parameters({"likelihood.noise": [0.01], "layers.0.kernel.variance": 2.0})
        >>> model.set_parameters({"likelihood.noise": [-1.0]})
        Traceback (most recent call last):
            ...
        ValueError: `likelihood.noise`: entry 0 cannot be -1.0 (constraint: positive, and at least 1e-6)
        """
        if not isinstance(values, Mapping):
            raise TypeError(f"parameters must be a dictionary, not {type(values).__name__}")
        self._engine.set_parameters([(name, _arrays.numbers(name, own)) for name, own in values.items()])

    def freeze(self, name: str) -> None:
        """Keep training away from a parameter, or from all whose names begin with `name` and a dot.

        Parameters
        ----------
        name : str
            For instance `"likelihood.noise"` or `"layers.0.kernel"`.
        """
        self._engine.freeze(name)

    def unfreeze(self, name: str) -> None:
        """Undo `freeze`.

        Parameters
        ----------
        name : str
            As for `freeze`.
        """
        self._engine.unfreeze(name)

    @property
    def frozen(self) -> list[str]:
        """Names of the parameters that training leaves alone."""
        return self._engine.frozen()

    def elbo(
        self,
        X: Any,
        y: Any,
        noise: Sequence[Any] | None = None,
        num_data: int | None = None,
        *,
        sample_weight: Any = None,
        exposure: Any = None,
        samples: int = 1,
        seed: int = 0,
    ) -> Elbo:
        """The bound on the log evidence, on some rows.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        y : array-like of shape (N,) or (N, P)
            Targets.
        noise : list of array-like, optional
            For each hidden layer a (N · samples, width) array of standard normals, sample by sample within a row, so
            that the value can be compared with another program's to the last digit. Without it they are drawn by
            `seed`.
        num_data : int, optional
            How many rows these stand for: the data term is multiplied by `num_data / N`. Without it, N.
        sample_weight : array-like of shape (N,), optional
            A factor on each row's share of the data term.
        exposure : float or array-like of shape (N,), optional
            For counts: the exposure of each row, or of all of them.
        samples : int, default=1
            Samples of the hidden layers for each row.
        seed : int, default=0
            Seeds them.

        Returns
        -------
        Elbo
            The total and its parts.
        """
        return _elbo(self._engine.elbo(self._rows(X, y, noise, num_data, sample_weight, exposure, samples, seed)))

    def elbo_gradient(
        self,
        X: Any,
        y: Any,
        noise: Sequence[Any] | None = None,
        num_data: int | None = None,
        *,
        sample_weight: Any = None,
        exposure: Any = None,
        samples: int = 1,
        seed: int = 0,
        kl_weight: float = 1.0,
    ) -> tuple[Elbo, dict[str, Floats]]:
        """The bound and its gradient, on some rows.

        The gradient is that of `data_term - kl_weight * kl.sum()` with respect to each parameter's constrained value,
        as `parameters` gives it. For a positive value `v`, the derivative in `log v` is `v` times what stands here.
        Above the diagonals of `covariance.factor` it is zero. Frozen parameters have a gradient too.

        Parameters
        ----------
        X, y, noise, num_data, sample_weight, exposure, samples, seed
            As for `elbo`.
        kl_weight : float, default=1.0
            A factor on the KL in what is differentiated. `Elbo.total` is the bound itself, whatever it is.

        Returns
        -------
        elbo : Elbo
            The total and its parts.
        gradient : dict of str to ndarray
            In the names and shapes of `parameters`.

        Examples
        --------
        >>> import numpy as np
        >>> from deepgp import Model
        >>> X = np.linspace(-1, 1, 20).reshape(-1, 1)
        >>> model = Model({"hidden_layers": 1, "width": 2, "inducing": 5}, X)
        >>> noise = [np.random.default_rng(0).standard_normal((20, 2))]
        >>> _, gradient = model.elbo_gradient(X, np.sin(X), noise)
        >>> def total(variance):
        ...     model.set_parameters({"layers.1.kernel.variance": variance})
        ...     return model.elbo(X, np.sin(X), noise).total
        >>> slope = (total(1 + 1e-5) - total(1 - 1e-5)) / 2e-5
        >>> bool(np.isclose(gradient["layers.1.kernel.variance"], slope))
        True
        """
        rows = self._rows(X, y, noise, num_data, sample_weight, exposure, samples, seed, kl_weight)
        parts, gradient = self._engine.elbo_gradient(rows)
        return _elbo(parts), gradient

    def train_step(
        self,
        X: Any,
        y: Any,
        noise: Sequence[Any] | None = None,
        num_data: int | None = None,
        *,
        learning_rate: float = 0.01,
        sample_weight: Any = None,
        exposure: Any = None,
        samples: int = 1,
        seed: int = 0,
        kl_weight: float = 1.0,
    ) -> Elbo:
        """One step of Adam uphill, on some rows.

        Without `noise`, every step draws its own: the same seed gives the same course. A step that cannot be computed
        raises and leaves the model as it was.

        Parameters
        ----------
        X, y, noise, num_data, sample_weight, exposure, samples, seed, kl_weight
            As for `elbo_gradient`.
        learning_rate : float, default=0.01
            Adam's.

        Returns
        -------
        Elbo
            The bound before the step.
        """
        if _settings.number("learning_rate", learning_rate) <= 0:
            raise ValueError(f"`learning_rate` is {learning_rate}, but must be a positive number")
        rows = self._rows(X, y, noise, num_data, sample_weight, exposure, samples, seed, kl_weight)
        return _elbo(self._engine.train_step(rows, learning_rate))

    def propagate(self, X: Any, noise: Sequence[Any] | None = None, *, seed: int = 0) -> Moments:
        """Moments of the last layer, after one sample of the hidden layers at each row.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Inputs.
        noise : list of array-like, optional
            For each hidden layer a (N, width) array of standard normals. Without it they are drawn by `seed`.
        seed : int, default=0
            Seeds them.

        Returns
        -------
        Moments
            Of the function, (N, P) each.
        """
        return Moments(
            *self._engine.propagate(self._inputs(X), _arrays.matrices("noise", noise), _settings.integer("seed", seed))
        )

    @property
    def hidden_widths(self) -> list[int]:
        """Outputs of each hidden layer."""
        return self._engine.widths()[2]

    @property
    def standardiser(self) -> dict[str, Floats]:
        """`x_shift`, `x_scale`, `y_shift`, `y_scale`: the layers see `(value - shift) / scale`.

        Targets go through their `transforms` first.
        """
        return self._engine.standardiser()

    @property
    def transforms(self) -> list[str]:
        """The name of each target's transform, "none" for one that stays as it is."""
        return self._engine.transforms()

    @property
    def history(self) -> dict[str, Floats]:
        """The course of training, thinned to at most 1000 steps.

        `step`, `seconds`, `elbo`, `data_term`, `kl`, `noise` (standard deviation in the first target's units;
        not a number where there is none), and `validation_step` (0 is the start), `validation_score` (of the
        standardised targets held out: their mean log density, or their CRPS with a minus before it).
        """
        return self._engine.history()

    def computed_on(self, device: str) -> Model:
        """The same model, computed elsewhere.

        Parameters
        ----------
        device : {"auto", "cpu", "cuda"}
            Where; `"auto"` is an NVIDIA GPU if there is one, else the CPU.

        Returns
        -------
        Model
            Shares nothing with this one.

        Examples
        --------
        >>> import numpy as np
        >>> from deepgp import Model
        >>> model = Model({"hidden_layers": 0, "inducing": 5}, np.linspace(-1, 1, 9).reshape(-1, 1))
        >>> model.computed_on("cpu").device
        'cpu'
        """
        moved = self.copy()
        moved._engine.place(device)
        return moved

    @property
    def device(self) -> str:
        """Where it is computed, e.g. `cpu` or `cuda: NVIDIA H200`."""
        return self._engine.device()

    def copy(self) -> Model:
        """A model with the same numbers that shares nothing with this one."""
        return self._of(self._engine.copy())

    def __copy__(self) -> Model:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self.copy()

    def __getstate__(self) -> tuple[bytes, tuple[Floats, Floats, int] | None]:
        return self._engine.to_bytes(), self._engine.adam()

    def __setstate__(self, state: tuple[bytes, tuple[Floats, Floats, int] | None] | bytes) -> None:
        # Earlier pickles are bytes alone.
        bytes_of_file, adam = (state, None) if isinstance(state, bytes) else state
        self._engine = _core.Engine.from_bytes(bytes_of_file, adam)

    def __repr__(self) -> str:
        widths = [self.n_inputs, *self.hidden_widths, self.n_outputs]
        count = sum(values.size for values in self.parameters().values())
        return f"<deepgp.Model {' -> '.join(map(str, widths))}, {count} parameters>"

    def _rows(
        self,
        X: Any,
        y: Any,
        noise: Sequence[Any] | None,
        num_data: int | None,
        sample_weight: Any,
        exposure: Any,
        samples: int,
        seed: int,
        kl_weight: float = 1.0,
    ) -> dict[str, Any]:
        inputs = self._inputs(X)
        return {
            "x": inputs,
            "y": self._targets(y),
            "weights": None if sample_weight is None else _arrays.vector("sample_weight", sample_weight),
            "exposure": _arrays.exposures(exposure, len(inputs)),
            "noise": _arrays.matrices("noise", noise),
            "num_data": None if num_data is None else _settings.integer("num_data", num_data, least=1),
            "samples": _settings.integer("samples", samples, least=1),
            "kl_weight": _settings.number("kl_weight", kl_weight),
            "seed": _settings.integer("seed", seed),
        }


def _elbo(parts: tuple[float, float, Floats, int, list[str]]) -> Elbo:
    total, data_term, kl, clamped, jitter = parts
    return Elbo(total, data_term, kl, clamped, tuple(jitter))
