"""The package as it is installed: quick to import, small, typed, and of use without scikit-learn."""

import ast
import importlib.metadata
import pathlib
import subprocess
import sys
import zipfile

import pytest

import deepgp

WHEELS = sorted((pathlib.Path(__file__).parents[1] / "dist").glob("*.whl"))


def python(script, *flags):
    done = subprocess.run([sys.executable, *flags, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_imported_in_a_fifth_of_a_second():
    script = "import time; t = time.perf_counter(); import deepgp; print(time.perf_counter() - t)"
    assert min(float(python(script)) for _ in range(5)) < 0.2
    assert python("import sys, deepgp; print('sklearn' in sys.modules)").strip() == "False"


def test_the_wheel_is_small_and_for_many_linuxes():
    if not WHEELS:
        pytest.skip("no wheel was built here: python/check.sh builds one")
    for wheel in WHEELS:
        assert wheel.stat().st_size < 10e6
        assert "cp310-abi3-manylinux" in wheel.name
        names = zipfile.ZipFile(wheel).namelist()
        assert {"deepgp/py.typed", "deepgp/_core.pyi", "deepgp/_core.abi3.so"} <= set(names)
        assert any(name.endswith("LICENSE-MIT") for name in names)
        assert not any("tests" in name for name in names)


def test_the_version_is_the_library_s():
    assert deepgp.__version__ == importlib.metadata.version("deepgp")


def test_the_stubs_have_what_the_compiled_part_has():
    stub = ast.parse(pathlib.Path(deepgp._core.__file__).with_name("_core.pyi").read_text())
    names = {own.name: own for own in stub.body if isinstance(own, (ast.FunctionDef, ast.ClassDef))}
    assert set(names) == {name for name in dir(deepgp._core) if not name.startswith("_")}
    methods = {own.name for own in names["Engine"].body if isinstance(own, ast.FunctionDef)}
    assert methods == {name for name in dir(deepgp._core.Engine) if not name.startswith("_")}


WITHOUT = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("sklearn", "scipy", "pandas", "polars", "joblib"):
            raise ImportError(f"{name} is not to be had")

sys.meta_path.insert(0, Blocker())
import pickle, warnings
import numpy as np
from deepgp import DeepGPClassifier, DeepGPRegressor, datasets

X, y = datasets.eight_link_arm(150, seed=4)
regressor = DeepGPRegressor(
    hidden_layers=1, width=2, mean_inducing=20, covariance_inducing=10, covariance_form="whitened", steps=600
)
try:
    regressor.predict(X)
except (ValueError, AttributeError) as error:
    assert "not fitted yet" in str(error)
else:
    raise AssertionError
assert regressor.fit(X, y, sample_weight=np.arange(150) % 3) is regressor
assert regressor.score(X, y) > 0.5
mean, std = regressor.predict(X, return_std=True)
assert mean.shape == std.shape == (150,)
assert np.array_equal(pickle.loads(pickle.dumps(regressor)).predict(X), mean)
assert regressor.get_params()["width"] == 2
assert regressor.set_params(width=3).width == 3
assert repr(DeepGPRegressor(width=3)) == "DeepGPRegressor(width=3)"
assert regressor.n_features_in_ == 8 and not hasattr(regressor, "feature_names_in_")
for call, said in [
    (lambda: regressor.fit(X, None), "requires y"),
    (lambda: regressor.fit(X, y[:-1]), "inconsistent numbers of samples"),
    (lambda: regressor.fit(X * np.nan, y), "Input X contains NaN"),
    (lambda: regressor.fit(X, y / 0), "Input y contains infinity"),
    (lambda: regressor.fit(X[:1], y[:1]), "1 sample"),
    (lambda: regressor.predict(X[:, :3]), "X has 3 features"),
    (lambda: regressor.predict(X[0]), "Expected 2D array"),
    (lambda: regressor.set_params(depth=3), "Invalid parameter 'depth'"),
]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except ValueError as error:
        assert said in str(error), error
    else:
        raise AssertionError(said)
labels = np.where(y > np.median(y), "far", "near")
classifier = DeepGPClassifier(hidden_layers=0, inducing=20, steps=200).fit(X, labels)
assert classifier.score(X, labels) > 0.8 and list(classifier.classes_) == ["far", "near"]
for wrong, said in [(y, "Unknown label type: continuous"), (labels[:, None], "1d array"), (labels[:9], "inconsistent")]:
    try:
        classifier.fit(X, wrong)
    except ValueError as error:
        assert said in str(error), error
    else:
        raise AssertionError(said)
counts = np.round(5 * y)
counter = DeepGPRegressor(hidden_layers=0, inducing=20, steps=200, likelihood="poisson").fit(X, counts, exposure=2)
assert counter.score(X, counts, exposure=2) > 0.2
assert "sklearn" not in sys.modules
print("fine")
"""


def test_it_works_without_scikit_learn():
    assert python(WITHOUT).strip() == "fine"
