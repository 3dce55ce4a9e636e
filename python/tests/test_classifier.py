"""`DeepGPClassifier`: labels, probabilities, weights, what is refused, going on, files, and scikit-learn's company."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.inspection import partial_dependence
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deepgp import DeepGPClassifier, DeepGPRegressor, Model

#: Enough to tell the classes of the tests apart.
SMALL = {"hidden_layers": 1, "width": 2, "inducing": 30, "steps": 120}
#: Enough to see that something is learnt, and done in a moment.
SHALLOW = {"hidden_layers": 0, "inducing": 15, "steps": 40}

KINDS = {
    "texts": (lambda y: np.where(y == 1, "yes", "no"), ["no", "yes"]),
    "lists": (lambda y: ["yes" if own else "no" for own in y], ["no", "yes"]),
    "objects": (lambda y: np.where(y == 1, "yes", "no").astype(object), ["no", "yes"]),
    "numbers": (lambda y: y, [0, 1]),
    "numbers far apart": (lambda y: 1000 * y - 3, [-3, 997]),
    "whole floats": (lambda y: y + 1.0, [1.0, 2.0]),
    "truth values": (lambda y: y == 1, [False, True]),
    "a series": (lambda y: pd.Series(np.where(y == 1, "yes", "no"), index=range(7, 7 + len(y))), ["no", "yes"]),
    "categories": (lambda y: pd.Categorical(np.where(y == 1, "yes", "no")), ["no", "yes"]),
    "polars": (lambda y: pl.Series(np.where(y == 1, "yes", "no").tolist()), ["no", "yes"]),
}


@pytest.fixture(scope="module")
def fitted(moons):
    """A fit of two classes; not to be changed."""
    return DeepGPClassifier(**SMALL).fit(*moons)


@pytest.fixture(scope="module")
def of_three(clouds):
    """A fit of three classes; not to be changed."""
    return DeepGPClassifier(**SMALL).fit(*clouds)


@pytest.mark.parametrize(("labelled", "classes"), KINDS.values(), ids=KINDS)
def test_labels_of_any_kind_are_told_apart_and_given_back(moons, fitted, labelled, classes):
    X, y = moons
    classifier = DeepGPClassifier(**SMALL).fit(X, labelled(y))
    assert classifier.classes_.tolist() == classes
    assert [type(label) for label in classifier.classes_.tolist()] == [type(label) for label in classes]
    assert classifier.score(X, labelled(y)) > 0.95
    predicted = classifier.predict(X)
    assert predicted.dtype == classifier.classes_.dtype
    assert np.array_equal(predicted == classes[1], fitted.predict(X) == 1)
    assert np.array_equal(classifier.predict_proba(X), fitted.predict_proba(X))


def test_probabilities_and_decisions_agree(moons, clouds, fitted, of_three):
    grid = np.random.default_rng(1).uniform(-4, 4, (500, 2))
    for classifier, X in ((fitted, np.vstack([moons[0], grid])), (of_three, np.vstack([clouds[0], grid]))):
        p = classifier.predict_proba(X)
        assert p.shape == (len(X), len(classifier.classes_))
        assert p.min() >= 0
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
        assert np.array_equal(classifier.predict(X), classifier.classes_[p.argmax(axis=1)])
    odds, p = fitted.decision_function(grid), fitted.predict_proba(grid)
    assert odds.shape == (500,)
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), p[:, 1], rtol=1e-9)
    assert np.array_equal(odds > 0, fitted.predict(grid) == 1)
    np.testing.assert_allclose(np.exp(of_three.decision_function(grid)), of_three.predict_proba(grid), rtol=1e-12)


def test_it_is_right_where_it_is_certain_and_not_certain_where_nothing_is_known(moons, fitted):
    X, y = moons
    rng = np.random.default_rng(9)
    p = fitted.predict_proba(X + 0.02 * rng.standard_normal(X.shape))
    assert log_loss(y, p) < 0.2
    assert p.max(axis=1).mean() > 0.9
    far = fitted.predict_proba([[60.0, 60.0], [-60.0, 40.0]])
    assert far.max() < 0.9


@pytest.mark.parametrize("likelihood", ["auto", "probit", "logit", "softmax", "ordered"])
def test_every_likelihood_tells_two_classes_apart(moons, likelihood):
    X, y = moons
    classifier = DeepGPClassifier(**SMALL, likelihood=likelihood).fit(X[:160], y[:160])
    assert classifier.score(X[160:], y[160:]) > 0.9
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1, rtol=1e-12)
    expected = {"auto": "probit"}.get(likelihood, likelihood)
    assert expected in str(classifier.model_._engine.settings())


def test_auto_is_probit_for_two_classes_and_softmax_for_more(moons, clouds):
    for (X, y), likelihood in ((moons, "probit"), (clouds, "softmax")):
        auto = DeepGPClassifier(**SHALLOW).fit(X, y)
        named = DeepGPClassifier(**SHALLOW, likelihood=likelihood).fit(X, y)
        assert np.array_equal(auto.predict_proba(X), named.predict_proba(X))


def test_classes_that_change_their_names_change_their_places(moons):
    X, y = moons
    one, other = DeepGPClassifier(**SHALLOW).fit(X, y), DeepGPClassifier(**SHALLOW).fit(X, 1 - y)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X)[:, ::-1], atol=1e-6)


def test_classes_that_have_an_order(rng):
    X = rng.uniform(-2, 2, (300, 1))
    y = np.digitize(X[:, 0] + 0.1 * rng.standard_normal(300), [-1, 0, 1.2])
    # Without rows held out, which would sharpen probabilities.
    settings = {**SHALLOW, "validation": None}
    classifier = DeepGPClassifier(**settings, likelihood="ordered", learning_rate=0.05).fit(X[:200], y[:200])
    assert classifier.score(X[200:], y[200:]) > 0.8
    # They are steps of one function: P(class ≤ k) = Φ((b_k − m) / √(1 + v)).
    function, own = classifier.model_.predict(X).f, classifier.model_.parameters()
    cutpoints = np.cumsum(np.append(own["likelihood.first_cutpoint"], own["likelihood.cutpoint_gaps"]))
    below = norm.cdf((cutpoints - function.mean) / np.sqrt(1 + function.variance))
    np.testing.assert_allclose(classifier.predict_proba(X).cumsum(axis=1)[:, :3], below, atol=1e-9)


@pytest.mark.parametrize("objective", ["elbo", "predictive", "sites"])
def test_every_objective_of_classes(clouds, objective):
    X, y = clouds
    classifier = DeepGPClassifier(**SMALL, objective=objective).fit(X, y)
    assert classifier.score(X, y) > 0.85
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1, rtol=1e-12)


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(clouds, of_three):
    X, y = clouds
    expected = of_three.predict_proba(X)
    for threads in (1, 2):
        again = DeepGPClassifier(**SMALL, threads=threads).fit(X, y)
        assert np.array_equal(again.predict_proba(X), expected)
    assert not np.array_equal(DeepGPClassifier(**SMALL, random_state=1).fit(X, y).predict_proba(X), expected)
    assert np.array_equal(of_three.predict_proba(X[5:9]), expected[5:9])


@pytest.mark.parametrize("validation", [None, 0.1])
def test_a_weight_of_three_is_three_rows_and_one_of_zero_none(clouds, rng, validation):
    X, y = clouds
    counts = rng.integers(0, 4, len(y))
    settings = {**SHALLOW, "validation": validation}
    weighted = DeepGPClassifier(**settings).fit(X, y, sample_weight=counts)
    repeated = DeepGPClassifier(**settings).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    assert not np.array_equal(weighted.predict_proba(X), DeepGPClassifier(**settings).fit(X, y).predict_proba(X))


def test_the_weight_of_a_class_is_that_of_its_rows(clouds):
    X, y = clouds
    by_class = DeepGPClassifier(**SHALLOW, class_weight={1: 2.5}).fit(X, y, sample_weight=np.full(270, 0.5))
    by_row = DeepGPClassifier(**SHALLOW).fit(X, y, sample_weight=np.where(y == 1, 1.25, 0.5))
    assert np.array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    balanced = DeepGPClassifier(**SHALLOW, class_weight="balanced").fit(X, y)
    named = DeepGPClassifier(**SHALLOW, class_weight={0: 270 / 540, 1: 270 / 90, 2: 270 / 180}).fit(X, y)
    assert np.array_equal(balanced.predict_proba(X), named.predict_proba(X))
    plain = DeepGPClassifier(**SHALLOW).fit(X, y)
    assert balanced.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.02


def test_balanced_classes_count_rows_by_their_weights(clouds, rng):
    X, y = clouds
    counts = rng.integers(1, 3, len(y))
    settings = {**SHALLOW, "class_weight": "balanced", "validation": None}
    weighted = DeepGPClassifier(**settings).fit(X, y, sample_weight=counts)
    repeated = DeepGPClassifier(**settings).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6)


def test_what_cannot_be_is_refused(moons, clouds):
    X, y = moons
    fit = DeepGPClassifier(**SHALLOW).fit
    for call, said in [
        (lambda: fit(X, np.zeros(240)), r"of the class 0\.0, and a classifier needs at least two classes: give rows"),
        (lambda: fit(X, y, sample_weight=y), "every row that counts is of the class 1, .* two classes"),
        (lambda: fit(X, X[:, 0]), "Unknown label type: continuous"),
        (lambda: fit(X, np.where(y == 1, np.nan, 0)), "Input y contains NaN"),
        (lambda: fit(X, ["yes", None] * 120), r"of several kinds \(NoneType, str\): give texts"),
        (lambda: fit(X, np.column_stack([y, y])), "y should be a 1d array"),
        (lambda: fit(X, y[:-1]), "inconsistent numbers of samples"),
        (lambda: fit(*clouds, sample_weight=-np.ones(270)), "[Nn]egative"),
        (lambda: DeepGPClassifier(likelihood="probit").fit(*clouds), "two classes, and there are 3: .*softmax"),
        (lambda: DeepGPClassifier(likelihood="gaussian").fit(X, y), 'no classes: give "auto" or one of "probit"'),
        (lambda: DeepGPClassifier(likelihood="poisson").fit(X, y), "take a DeepGPRegressor"),
        (lambda: DeepGPClassifier(likelihood="cauchit").fit(X, y), "`likelihood`: unknown variant `cauchit`"),
        (lambda: DeepGPClassifier(objective="faithful", steps=2).fit(X, y), "faithful"),
        (lambda: DeepGPRegressor(likelihood="softmax").fit(X, y), "`likelihood` is .*for classes: .*DeepGPClassifier"),
        (lambda: DeepGPClassifier(class_weight="even").fit(X, y), "`class_weight` is 'even', but must be None, 'bal"),
        (lambda: DeepGPClassifier(class_weight={0: 1, "1": 2}).fit(X, y), "has '1', which is no class, and lacks 1"),
        (lambda: DeepGPClassifier(class_weight={0: -1}).fit(X, y), r"`class_weight\[0\]` is -1, but must be 0 or more"),
        (
            lambda: DeepGPClassifier(class_weight={0: "2"}).fit(X, y),
            r"`class_weight\[0\]` is '2', but must be a finite",
        ),
        (lambda: DeepGPClassifier(validation=None).fit(X[:1], y[:1]), "1 sample"),
    ]:
        with pytest.raises(ValueError, match=said):
            call()
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(ValueError, match="not fitted yet"):
            getattr(DeepGPClassifier(), method)(X)


def test_a_fit_that_fails_leaves_what_was_there(moons, fitted):
    X, _ = moons
    classifier = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(ValueError, match="two classes"):
        classifier.fit(X[:, :1], np.full(240, "only"))
    assert classifier.n_features_in_ == 2
    assert np.array_equal(classifier.predict_proba(X), fitted.predict_proba(X))


def test_a_warm_start_goes_on_with_the_same_classes(clouds):
    X, y = clouds
    names = np.array(["big", "rare", "some"])[y]
    classifier = DeepGPClassifier(**SHALLOW, warm_start=True).fit(X, names)
    before = log_loss(names, classifier.predict_proba(X))
    # Rows without the second class change nothing about the classes that there are.
    classifier.fit(X[y != 1], names[y != 1])
    assert classifier.classes_.tolist() == ["big", "rare", "some"]
    classifier.fit(X, names)
    assert log_loss(names, classifier.predict_proba(X)) < before
    with pytest.raises(ValueError, match=r"row 4 of `y` is 'new', .* \(they are 'big', 'rare', 'some'\): leave such"):
        classifier.fit(X, np.where(np.arange(270) == 4, "new", names))
    with pytest.raises(ValueError, match="where `likelihood` is 'auto', not 'ordered'"):
        classifier.set_params(likelihood="ordered").fit(X, names)


def test_those_who_watch_see_no_noise(moons, capsys):
    seen = []
    classifier = DeepGPClassifier(**SHALLOW, verbose=1, callbacks=[lambda report: seen.append(report.noise)])
    classifier.fit(*moons)
    assert len(seen) == 40
    assert np.isnan(seen).all()
    text = capsys.readouterr().out
    assert "ELBO" in text
    assert "noise" not in text
    assert classifier.history_["validation_score"][-1] > classifier.history_["validation_score"][0]


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [3, 7], [-4, 10], [False, True], ["1", "10", "9"], ["01", "2"], ["false", "true", "unknown"]],
)
def test_a_file_keeps_labels(clouds, tmp_path, labels):
    X, y = clouds
    y = np.asarray(labels)[y % len(labels)]
    classifier = DeepGPClassifier(**SHALLOW, class_weight="balanced", prediction_samples=7).fit(X, y)
    classifier.save(tmp_path / "model.deepgp")
    again = DeepGPClassifier.load(tmp_path / "model.deepgp")
    assert again.classes_.tolist() == labels
    assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert again.score(X, y) == classifier.score(X, y)
    likelihood = "probit" if len(labels) == 2 else "softmax"
    assert again.get_params() == {**classifier.get_params(), "likelihood": likelihood}
    assert again.set_params(warm_start=True, steps=3).fit(X, y).n_iter_ == 3


def test_a_file_of_the_other_kind_is_refused_with_the_one_that_opens_it(moons, arm, tmp_path):
    of_classes, of_numbers = tmp_path / "classes.deepgp", tmp_path / "numbers.deepgp"
    DeepGPClassifier(**SHALLOW).fit(*moons).save(of_classes)
    DeepGPRegressor(**SHALLOW).fit(*arm).save(of_numbers)
    with pytest.raises(ValueError, match=r"holds a model of classes: open it with DeepGPClassifier\.load"):
        DeepGPRegressor.load(of_classes)
    with pytest.raises(ValueError, match=r"numbers or counts: open it with DeepGPRegressor\.load"):
        DeepGPClassifier.load(of_numbers)
    assert Model.load(of_classes).labels == ["0", "1"]
    assert Model.load(of_numbers).labels is None
    with pytest.raises(ValueError, match="has no classes"):
        Model.load(of_numbers).class_probabilities(arm[0])


def test_the_engine_speaks_of_class_numbers(clouds, of_three):
    X, y = clouds
    engine = of_three.model_
    p = engine.class_probabilities(X)
    assert np.array_equal(p, of_three.predict_proba(X))
    np.testing.assert_allclose(np.exp(engine.log_density(X, y)), p[np.arange(270), y], rtol=1e-6)
    draws = engine.draws(X[:4], 4000)[:, :, 0]
    shares = np.stack([(draws == number).mean(axis=0) for number in range(3)], axis=1)
    np.testing.assert_allclose(shares, p[:4], atol=0.04)
    with pytest.raises(ValueError, match="target of row 2 is 3"):
        engine.elbo(X[:3], [0, 1, 3])
    with pytest.raises(ValueError, match="`exposure` is for counts"):
        engine.predict(X, exposure=2)


def test_copies_and_pickles(moons, fitted):
    X, _ = moons
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "classes_")
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.classes_.dtype == fitted.classes_.dtype
    assert repr(DeepGPClassifier(width=3)) == "DeepGPClassifier(width=3)"


def test_a_calibrated_classifier(clouds):
    X, y = clouds
    calibrated = CalibratedClassifierCV(DeepGPClassifier(**SHALLOW), cv=2).fit(X, y)
    assert calibrated.score(X, y) > 0.8
    isotonic = CalibratedClassifierCV(DeepGPClassifier(**SHALLOW), method="isotonic", cv=2).fit(X, y == 0)
    assert isotonic.predict_proba(X).shape == (270, 2)


def test_a_search_by_log_loss(moons):
    X, y = moons
    grid = {"hidden_layers": [0, 1], "likelihood": ["probit", "logit"]}
    names = np.where(y == 1, "yes", "no")
    search = GridSearchCV(DeepGPClassifier(**SHALLOW), grid, scoring="neg_log_loss", cv=2, error_score="raise")
    assert -0.6 < search.fit(X, names).best_score_ < 0
    for scoring in ("roc_auc", "accuracy", "average_precision"):
        scores = cross_val_score(DeepGPClassifier(**SHALLOW), X, y, scoring=scoring, cv=2, error_score="raise")
        assert (scores > 0.7).all()


def test_a_pipeline_and_a_partial_dependence(moons):
    X, y = moons
    names = np.where(y == 1, "yes", "no")
    pipeline = make_pipeline(StandardScaler(), DeepGPClassifier(**SHALLOW))
    pipeline.fit(X, names, deepgpclassifier__sample_weight=np.arange(240) % 3)
    assert pipeline.score(X, names) > 0.8
    found = partial_dependence(pipeline, X, [0], grid_resolution=5)
    assert found["average"].shape == (1, 5)
    assert ((found["average"] > 0) & (found["average"] < 1)).all()
    assert not np.allclose(found["average"], found["average"][0, 0])
