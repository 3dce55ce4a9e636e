"""Settings by the names they have in the library: their defaults, their types, and how they get there and back."""

import json
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core

#: The library's settings and their defaults, by the names they have there.
DEFAULTS: dict[str, Any] = json.loads(_core.default_settings())
#: Whether the covariance's inducing inputs are the first of the mean's where nothing is said.
NESTED: bool = "nested" in DEFAULTS.pop("sizes")

#: Settings of the library that are arguments of the constructor under the same name and go there as they are.
_AS_THEY_ARE = (
    "hidden_layers",
    "width",
    "mean_form",
    "covariance_form",
    "kernel",
    "inducing_start",
    "likelihood",
    "noise",
    "precision",
    "steps",
    "batch_size",
    "samples",
    "learning_rate",
    "objective",
    "power",
    "sites",
    "kl_weight",
    "kl_warm_up",
    "validation",
    "validate_every",
    "patience",
    "validation_samples",
    "validation_score",
    "constant_columns",
    "transform_target",
    "trend",
    "calibrate",
    "threads",
)
_SIZES = ("inducing", "mean_inducing", "covariance_inducing")
#: What a model is made of: with `warm_start` it cannot change.
_STRUCTURE = (
    "hidden_layers",
    "width",
    "mean_inducing",
    "covariance_inducing",
    "inducing",
    "nested",
    "mean_form",
    "covariance_form",
    "kernel",
    "likelihood",
    "precision",
    "jitter",
    "transform_target",
    "trend",
)


def to_json(values: Mapping[str, Any]) -> str:
    """JSON, of NumPy's numbers too."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        raise TypeError(f"{value!r} is not a setting: give a number, a name or None")

    return json.dumps(values, default=plain)


# The largest integer that crosses to the engine.
_LARGEST = 2**63 - 1
#: More of these is a slip of the keyboard, and more memory than there is: to run out of it would end the process.
_MOST = dict(_core.limits()) | {"count": 10**7, "n_samples": 10**7}


def integer(name: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """`value` as an integer that the engine can hold; the error names the setting."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"`{name}` is {value!r}, but must be an integer of at least {least}")
    most = _MOST.get(name, _LARGEST) if most is None else most
    if int(value) > most:
        raise ValueError(
            f"`{name}` is {value!r}, but must be {'below 2**63' if most == _LARGEST else f'at most {most}'}"
        )
    return int(value)


def number(name: str, value: Any) -> float:
    """`value` as a finite number; the error names the setting."""
    if not isinstance(value, numbers.Real) or not np.isfinite(float(value)):
        raise ValueError(f"`{name}` is {value!r}, but must be a finite number")
    return float(value)


def truth(name: str, value: Any) -> bool:
    """`value` as True or False; the error names the setting."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"`{name}` is {value!r}, but must be True or False")
    return bool(value)


def time_limit(value: Any) -> float | None:
    """Seconds, or nothing for no limit."""
    if value is None or (isinstance(value, numbers.Real) and float(value) == float("inf")):
        return None
    seconds = number("time_limit", value)
    if seconds < 0:
        raise ValueError(f"`time_limit` is {value!r}, but must be 0 seconds or more")
    return seconds


def checked(name: str, value: Any) -> Any:
    """A setting of the type that its default has."""
    default = DEFAULTS[name]
    # Before integers, as True and False are.
    if isinstance(default, bool):
        return truth(name, value)
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


def size(tied: Any, mean: Any, covariance: Any, nested: Any = None) -> Any:
    """How many inducing inputs: one set if `tied` is given, else two, or one and its head if `nested`.

    None leaves a size, or whether sets are nested, to the library.
    """
    if nested not in (None, True, False):
        raise TypeError(f"`nested` is {nested!r}, but must be True or False")
    if tied is not None:
        return {"tied": integer("inducing", tied, least=1)}
    own = {"mean": mean, "covariance": covariance}
    given = {
        name: value if value is None else integer(f"{name}_inducing", value, least=1) for name, value in own.items()
    }
    return {"nested" if nested or (nested is None and NESTED) else "decoupled": given}


def of_estimator(estimator: Any, likelihood: str) -> dict[str, Any]:
    """The library's settings, from the arguments of an estimator, which has chosen this likelihood."""
    arguments = estimator.get_params(deep=False) | {"likelihood": likelihood}
    settings = {name: checked(name, arguments[name]) for name in _AS_THEY_ARE if name in arguments}
    settings["inducing"] = size(*(arguments[name] for name in (*_SIZES, "nested")))
    settings["jitter"] = jitter(arguments["jitter"])
    settings["schedule"] = arguments["schedule"]
    settings["seed"] = seed_of(arguments["random_state"])
    if settings["validation"] == 0:
        settings["validation"] = None
    return settings


def of_engine(engine: _core.Engine) -> dict[str, Any]:
    """Arguments of an estimator that make the settings of this model's fit, and those of the other kind."""
    settings: dict[str, Any] = json.loads(engine.settings())
    settings["random_state"] = settings.pop("seed")
    jitter = settings["jitter"]
    if jitter is not None and jitter["relative"] == 0:
        settings["jitter"] = jitter["absolute"]
    sizes = settings.pop("sizes")
    settings["inducing"] = sizes.get("tied")
    settings["nested"] = NESTED if "tied" in sizes else "nested" in sizes
    apart = sizes.get("nested") or sizes.get("decoupled") or {}
    return settings | {f"{name}_inducing": own for name, own in apart.items()}


def structure_of(estimator: Any) -> dict[str, Any]:
    """The arguments that say what a model is made of."""
    return {name: value for name, value in estimator.get_params(deep=False).items() if name in _STRUCTURE}


def check_structure(estimator: Any, before: Mapping[str, Any]) -> None:
    """Fails if a model that is there would have to be another one."""
    for name, now in structure_of(estimator).items():
        if before[name] != now:
            raise ValueError(
                f"warm_start goes on with the model that is there, where `{name}` is {before[name]!r}, not {now!r}: "
                "set it back, or build a new model with warm_start=False"
            )


def seed_of(random_state: Any) -> int:
    """A seed, as scikit-learn understands `random_state`."""
    if isinstance(random_state, numbers.Integral):
        return integer("random_state", random_state)
    if random_state is None:
        random_state = np.random.mtrand._rand
    draw = getattr(random_state, "randint", None) or getattr(random_state, "integers", None)
    if draw is None:
        raise ValueError(
            f"{random_state!r} cannot be used to seed: give an integer, a RandomState, a Generator or None"
        )
    return int(draw(np.iinfo(np.int32).max))
