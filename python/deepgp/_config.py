"""From a configuration dictionary to what the engine builds a model from: words as JSON, and arrays beside them."""

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from . import _arrays, _settings
from ._arrays import Floats

_SIZES = ("inducing", "mean_inducing", "covariance_inducing")
_OF_MODEL = ("noise", "precision", "jitter", "seed")
_OF_LAYER = ("kernel", "mean_form", "covariance_form", "inducing_start", *_SIZES)

LayerArrays = tuple[list[Floats], Floats | None]


def words_and_arrays(config: Mapping[str, Any], outputs: int) -> tuple[str, list[LayerArrays]]:
    """What the engine builds a model from."""
    if not isinstance(config, Mapping):
        raise TypeError(f"the configuration must be a dictionary, not {type(config).__name__}")
    unknown = set(config) - {"layers", "hidden_layers", "width", *_OF_MODEL, *_OF_LAYER}
    if unknown:
        raise ValueError(f"configuration: there is no `{min(unknown)}`")
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
    split = [_split_layer(layer) for layer in layers]
    model = {name: _settings.checked(name, config.get(name, _settings.DEFAULTS[name])) for name in _OF_MODEL}
    model["jitter"] = _settings.jitter(model["jitter"])
    return _settings.to_json({"layers": [words for words, _ in split], **model}), [arrays for _, arrays in split]


def _split_layer(layer: Mapping[str, Any]) -> tuple[dict[str, Any], LayerArrays]:
    words = {name: value for name, value in layer.items() if name not in _SIZES}
    linear = words.get("mean_function")
    if linear is not None and not isinstance(linear, str):
        words["mean_function"] = None
        linear = _arrays.matrix("mean_function", linear)
    else:
        linear = None
    sets = {name: layer[name] for name in _SIZES if layer.get(name) is not None}
    arrays = {name: value for name, value in sets.items() if not isinstance(value, numbers.Integral)}
    if "inducing" in sets and len(sets) > 1:
        raise ValueError("configuration: `inducing` is one set for mean and covariance: leave out the other two")
    if arrays and (set(arrays) != set(sets) or set(arrays) not in ({"inducing"}, set(_SIZES[1:]))):
        raise ValueError("configuration: give `inducing`, or both `mean_inducing` and `covariance_inducing`, as arrays")
    if not arrays and sets:
        mean, covariance = (sets.get(name) for name in _SIZES[1:])
        if "inducing" not in sets and (mean is None or covariance is None):
            raise ValueError("configuration: give both `mean_inducing` and `covariance_inducing`, or neither")
        words["size"] = _settings.size(sets.get("inducing"), mean, covariance)
    return words, ([_arrays.matrix(name, arrays[name]) for name in _SIZES if name in arrays], linear)
