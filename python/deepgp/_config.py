"""From a configuration dictionary to what the engine builds a model from: words as JSON, and arrays beside them."""

import json
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _arrays, _core
from ._arrays import Floats

#: The library's settings and their defaults, by the names they have there.
DEFAULTS: dict[str, Any] = json.loads(_core.default_settings())

_SIZES = ("inducing", "mean_inducing", "covariance_inducing")
_OF_MODEL = ("noise", "precision", "jitter", "seed")
_OF_LAYER = ("kernel", "mean_form", "covariance_form", "inducing_start", *_SIZES)

LayerArrays = tuple[list[Floats], Floats | None]


def to_json(values: Mapping[str, Any]) -> str:
    """JSON, of NumPy's numbers too."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        raise TypeError(f"{value!r} is not a setting: give a number, a name or None")

    return json.dumps(values, default=plain)


def integer(name: str, value: Any, least: int = 0) -> int:
    """`value` as an integer; the error names the setting."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"`{name}` is {value!r}, but must be an integer of at least {least}")
    return int(value)


def number(name: str, value: Any) -> float:
    """`value` as a finite number; the error names the setting."""
    if not isinstance(value, numbers.Real) or not np.isfinite(float(value)):
        raise ValueError(f"`{name}` is {value!r}, but must be a finite number")
    return float(value)


def checked(name: str, value: Any) -> Any:
    """A setting of the type that its default has."""
    default = DEFAULTS[name]
    if isinstance(default, int):
        return integer(name, value)
    if isinstance(default, float) and value is not None:
        return number(name, value)
    return value


def jitter(value: Any) -> Any:
    """A number is added as it is."""
    if not isinstance(value, numbers.Real):
        return value
    if value < 0:
        raise ValueError(f"`jitter` is {value}, but must be 0 or more")
    return {"absolute": number("jitter", value), "relative": 0.0}


def schedule(value: Any) -> Any:
    """A cosine without further words ends at a hundredth of the rate."""
    return {"cosine": {"last": 0.01}} if value == "cosine" else value


def size(tied: Any, mean: Any, covariance: Any) -> Any:
    """How many inducing inputs: one set if `tied` is given, else two."""
    if tied is not None:
        return {"tied": integer("inducing", tied, least=1)}
    mean, covariance = integer("mean_inducing", mean, least=1), integer("covariance_inducing", covariance, least=1)
    return {"decoupled": {"mean": mean, "covariance": covariance}}


def settings_of(engine: _core.Engine) -> dict[str, Any]:
    """Arguments of `DeepGPRegressor` that make the settings of this model's fit."""
    settings: dict[str, Any] = json.loads(engine.settings())
    settings["random_state"] = settings.pop("seed")
    sizes = settings.pop("inducing") or {}
    settings["inducing"] = sizes.get("tied")
    decoupled = sizes.get("decoupled", {})
    return settings | {f"{name}_inducing": own for name, own in decoupled.items()}


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
        width, hidden = (checked(name, config.get(name, DEFAULTS[name])) for name in ("width", "hidden_layers"))
        last = {"width": integer("outputs", outputs, least=1), **shared}
        layers = [{"width": width, **shared}] * hidden + [last]
    elif both := set(config) & {"hidden_layers", "width", *_OF_LAYER}:
        raise ValueError(f"configuration: `{min(both)}` belongs into each of `layers`")
    elif isinstance(layers, str) or not all(isinstance(layer, Mapping) for layer in layers):
        raise TypeError("configuration: `layers` must be a list of dictionaries")
    split = [_split_layer(layer) for layer in layers]
    model = {name: checked(name, config.get(name, DEFAULTS[name])) for name in _OF_MODEL}
    model["jitter"] = jitter(model["jitter"])
    return to_json({"layers": [words for words, _ in split], **model}), [arrays for _, arrays in split]


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
        words["size"] = size(sets.get("inducing"), mean, covariance)
    return words, ([_arrays.matrix(name, arrays[name]) for name in _SIZES if name in arrays], linear)
