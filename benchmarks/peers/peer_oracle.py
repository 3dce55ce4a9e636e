"""Another implementation's numbers, for `--check` of peer_jax.py and peer_torch.py.

A file is either what `peer_jax.py --dump` wrote, or one of the prototype's that are in crates/deepgp/tests/prototype_oracle, whose
names say sets of inducing inputs, covariance, likelihood, objective with its samples, and hidden layers. Those store
the logarithms of lengthscales, variance and noise as `ls`, `lv` and `ln`, the gradients of data term and KL apart, and
noise as (samples · rows, width), sample after sample.
"""
from types import SimpleNamespace

import numpy as np

PROTOTYPE_NAMES = {"ls": "log_ls", "lv": "log_var"}
# Which prototype has which model of ours; it has others, which no peer has.
PROTOTYPE_MODELS = {("full", "factor"): "full", ("nested", "factor"): "nested", ("nested", "diagonal"): "nested-diagonal"}
TOLERANCE = 1e-8


def read(path):
    """A model and its batch, noise, bound and gradients. `params` and `grads` are {"layers": [...], "log_noise": ...}."""
    z = np.load(path)
    return from_dump(z) if "elbo" in z else from_prototype(z, path)


def from_dump(z):
    hidden = int(z["hidden"])
    part = lambda prefix: {"layers": layers(z, prefix, hidden, {}), "log_noise": z[prefix + "log_noise"]}
    return SimpleNamespace(
        model=str(z["model"]), jitter=float(z["jitter"]), n_total=float(z["n_total"]), elbo=float(z["elbo"]),
        params=part(""), grads=part("grad."), X=z["X"], y=z["y"], skips=[z[f"skip{i}"] for i in range(hidden)],
        eps=[z[f"eps{i}"] for i in range(hidden)])


def from_prototype(z, path):
    """The batch is repeated for each sample: the mean over samples is then one over rows."""
    hidden, samples = sum(name.startswith("skip") for name in z.files), int(z["samples"])
    part = lambda prefix: {"layers": layers(z, prefix, hidden, PROTOTYPE_NAMES), "log_noise": z[prefix + "ln"]}
    data, kl = part("grad_data."), part("grad_kl.")
    less = lambda a, b: {name: a[name] - b[name] for name in a}
    grads = {"layers": [less(a, b) for a, b in zip(data["layers"], kl["layers"])],
             "log_noise": data["log_noise"] - kl["log_noise"]}
    return SimpleNamespace(
        model=prototype_model(z, path), jitter=float(z["jitter"]), n_total=float(len(z["y"])),
        elbo=float(z["data_term"] - z["kl"]), params=part(""), grads=grads, X=np.tile(z["X"], (samples, 1)),
        y=np.tile(z["y"], samples), skips=[z[f"skip{i}"] for i in range(hidden)],
        eps=[z[f"eps{i}"].T for i in range(hidden)])


def prototype_model(z, path):
    covariance = "diagonal" if "layer0.Ld" in z else "factor"
    factor = z["layer0.Ld" if covariance == "diagonal" else "layer0.Ls"]
    sets = "decoupled" if "layer0.Za" in z else "full" if len(z["layer0.Z"]) == factor.shape[1] else "nested"
    if (sets, covariance) not in PROTOTYPE_MODELS:
        raise SystemExit(f"{path}: no peer has a {sets} model whose covariance is a whitened {covariance}")
    return PROTOTYPE_MODELS[sets, covariance]


def layers(z, prefix, hidden, names):
    """The arrays of each layer under `prefix`, by the peers' names."""
    found = [{} for _ in range(hidden + 1)]
    for name in z.files:
        if name.startswith(prefix + "layer"):
            layer, part = name[len(prefix + "layer"):].split(".")
            found[int(layer)][names.get(part, part)] = z[name]
    return found


def report(oracle, elbo, grads):
    """Prints how far bound and gradients are off, relative to the largest entry of each array; exits with 1 if too far."""
    errors = [abs(elbo / oracle.elbo - 1)]
    print(f"{oracle.model}: elbo rel err {errors[0]:.2e}")
    pairs = [("log_noise", grads["log_noise"], oracle.grads["log_noise"])]
    for i, (found, wanted) in enumerate(zip(grads["layers"], oracle.grads["layers"], strict=True)):
        assert found.keys() == wanted.keys(), (found.keys(), wanted.keys())
        pairs += [(f"layer{i}.{name}", found[name], wanted[name]) for name in wanted]
    for name, found, wanted in pairs:
        errors.append(np.abs(np.asarray(found, np.float64) - wanted).max() / np.abs(wanted).max())
        print(f"  {name:16s} max |grad| {np.abs(wanted).max():.3e}  rel err {errors[-1]:.2e}")
    worst = np.max(errors)
    print(f"worst {worst:.2e}, at most {TOLERANCE:g} wanted")
    if not worst <= TOLERANCE:
        raise SystemExit(1)
