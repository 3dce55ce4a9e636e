"""From a configuration dictionary to what the engine builds a model from: words as JSON, and arrays beside them."""

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from . import _arrays, _settings
from ._arrays import Floats

_SIZES = ("inducing", "mean_inducing", "covariance_inducing")
_OF_MODEL = ("noise", "precision", "jitter", "seed")
_OF_LAYER = ("kernel", "mean_form", "covariance_form", "inducing_start", "nested", *_SIZES)

#: The names that the library has for what a layer is made of.
_NAMES = {
    "kernel": ("squared-exponential", "matern12", "matern32", "matern52", "rational-quadratic"),
    "mean_form": ("whitened", "standard", "dual", "scaled-dual"),
    "covariance_form": ("whitened", "diagonal", "standard", "dual"),
    "inducing_start": ("k-means", "random-rows", "greedy-variance"),
    "mean_function": ("zero", "identity", "zero-padding"),
    "precision": ("f64", "mixed"),
}

LayerArrays = tuple[list[Floats], Floats | None]


def words_and_arrays(config: Mapping[str, Any], outputs: int) -> tuple[str, list[LayerArrays]]:
    """What the engine builds a model from."""
    if not isinstance(config, Mapping):
        raise TypeError(f"the configuration must be a dictionary, not {type(config).__name__}")
    _check_keys("", config, ("layers", "hidden_layers", "width", *_OF_LAYER, *_OF_MODEL))
    layers = config.get("layers")
    if layers is None:
        shared = {name: config[name] for name in _OF_LAYER if name in config}
        width, hidden = (
            _settings.checked(name, config.get(name, _settings.DEFAULTS[name])) for name in ("width", "hidden_layers")
        )
        last = {"width": _settings.integer("outputs", outputs, least=1), **shared}
        layers = [{"width": width, **shared}] * hidden + [last]
    elif both := set(config) & {"hidden_layers", "width", *_OF_LAYER}:
        raise ValueError(f"configuration: `{min(both)}` belongs into each of `layers`")
    elif not isinstance(layers, Sequence) or not all(isinstance(layer, Mapping) for layer in layers):
        raise TypeError("configuration: `layers` must be a list of dictionaries")
    split = [_split_layer(i, layer) for i, layer in enumerate(layers)]
    model = {name: _settings.checked(name, config.get(name, _settings.DEFAULTS[name])) for name in _OF_MODEL}
    model["jitter"] = _settings.jitter(model["jitter"])
    _check_name("", "precision", model["precision"])
    return _settings.to_json({"layers": [words for words, _ in split], **model}), [arrays for _, arrays in split]


def _check_keys(where: str, given: Mapping[str, Any], allowed: Sequence[str]) -> None:
    for key in given:
        if key not in allowed:
            known = ", ".join(f"`{name}`" for name in allowed)
            raise ValueError(f"configuration: {where}there is no `{key}` (it is {given[key]!r}), but {known}")


def _check_name(where: str, name: str, value: Any) -> None:
    if not isinstance(value, str) or value not in _NAMES[name]:
        known = ", ".join(map(repr, _NAMES[name]))
        more = " or {'sum': [...]} or {'product': [...]} of kernels" if name == "kernel" else ""
        raise ValueError(f"configuration: {where}`{name}` is {value!r}, but must be one of {known}{more}")


def _check_kernel(where: str, kernel: Any) -> None:
    """A name, or a combination of kernels."""
    combined = isinstance(kernel, Mapping) and len(kernel) == 1 and next(iter(kernel)) in ("sum", "product")
    parts = next(iter(kernel.values())) if combined else None
    if isinstance(parts, (list, tuple)):
        for part in parts:
            _check_kernel(where, part)
    else:
        _check_name(where, "kernel", kernel)


def _split_layer(number: int, layer: Mapping[str, Any]) -> tuple[dict[str, Any], LayerArrays]:
    where = f"layer {number}: "
    _check_keys(where, layer, ("width", *_OF_LAYER, "mean_function"))
    words = {name: value for name, value in layer.items() if name not in ("nested", *_SIZES)}
    if "width" in words:
        words["width"] = _settings.integer("width", words["width"], least=1)
    if "kernel" in words:
        _check_kernel(where, words["kernel"])
    for name in ("mean_form", "covariance_form", "inducing_start"):
        if name in words:
            _check_name(where, name, words[name])
    linear = words.get("mean_function")
    if linear is not None and not isinstance(linear, str):
        words["mean_function"] = None
        linear = _arrays.matrix("mean_function", linear)
    else:
        if linear is not None:
            _check_name(where, "mean_function", linear)
        linear = None
    nested = layer.get("nested")
    sets = {name: layer[name] for name in _SIZES if layer.get(name) is not None}
    arrays = {name: value for name, value in sets.items() if not isinstance(value, numbers.Integral)}
    if "inducing" in sets and len(sets) > 1:
        raise ValueError("configuration: `inducing` is one set for mean and covariance: leave out the other two")
    if "inducing" in sets and nested is not None:
        raise ValueError("configuration: `inducing` is one set, in which nothing is nested: leave out `nested`")
    mean, covariance = (sets.get(name) for name in _SIZES[1:])
    if set(arrays) == {"mean_inducing"} and nested and covariance is not None:
        words["head"] = _settings.integer("covariance_inducing", covariance, least=1)
    elif arrays and (nested or set(arrays) != set(sets) or set(arrays) not in ({"inducing"}, set(_SIZES[1:]))):
        raise ValueError(
            "configuration: give `inducing`, or both `mean_inducing` and `covariance_inducing`, as arrays; where "
            "`nested` is True, the array `mean_inducing` and as `covariance_inducing` the number of its first rows"
        )
    elif not arrays and (sets or nested is not None):
        if "inducing" not in sets and (mean is None) != (covariance is None):
            raise ValueError("configuration: give both `mean_inducing` and `covariance_inducing`, or neither")
        words["size"] = _settings.size(sets.get("inducing"), mean, covariance, nested)
    return words, ([_arrays.matrix(name, arrays[name]) for name in _SIZES if name in arrays], linear)
