"""`DeepGPRegressor`: shapes, units, weights, going on, watching, ending."""

import io
import sys
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import QUICK
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from deepgp import DeepGPRegressor, Model, StepReport, datasets

#: One noise and the evidence lower bound, whose predictions and bound have closed forms.
PLAIN = {
    "likelihood": "gaussian",
    "learning_rate": 0.01,
    "schedule": "constant",
    "patience": 10,
    "validation_score": "log-density",
    "transform_target": "none",
}


def test_it_learns_in_the_units_of_the_data():
    X, y = datasets.eight_link_arm(400, seed=1)
    X, y = 1000 * X + 5, 50 * y - 20
    settings = {**QUICK, "width": 4, "mean_inducing": 60, "steps": 300}
    regressor = DeepGPRegressor(**settings).fit(X[:300], y[:300])
    assert regressor.score(X[300:], y[300:]) > 0.7
    mean, std = regressor.predict(X[300:], return_std=True)
    inside = np.abs(y[300:] - mean) < 1.96 * std
    assert 0.85 < inside.mean() <= 1
    scaled = DeepGPRegressor(**settings).fit(X[:300], (y[:300] + 20) / 50)
    np.testing.assert_allclose(50 * scaled.predict(X[300:]) - 20, mean, rtol=1e-6)
    np.testing.assert_allclose(
        scaled.log_density(X[300:], (y[300:] + 20) / 50) - np.log(50),
        regressor.log_density(X[300:], y[300:]),
        rtol=1e-6,
    )


def test_one_target_has_no_axis_and_several_have_one(arm):
    X, y = arm
    one = DeepGPRegressor(**QUICK).fit(X, y)
    both = DeepGPRegressor(**QUICK).fit(X, np.column_stack([y, -2 * y]))
    for regressor, targets in ((one, ()), (both, (2,))):
        mean, std = regressor.predict(X[:7], return_std=True)
        assert mean.shape == std.shape == (7, *targets)
        mean, cov = regressor.predict(X[:7], return_cov=True)
        assert cov.shape == (7, 7, *targets)
        assert regressor.predict_quantiles(X[:7], [0.1, 0.5]).shape == (7, *targets, 2)
        assert regressor.predict_quantiles(X[:7], 0.5).shape == (7, *targets, 1)
        interval = regressor.predict_interval(X[:7], 0.8)
        assert interval.shape == (7, *targets, 2)
        np.testing.assert_allclose(interval, regressor.predict_quantiles(X[:7], [0.1, 0.9]), rtol=1e-9)
        assert regressor.sample_y(X[:7], 3).shape == (7, *targets, 3)
        assert regressor.sample_y(X[:7], 3, joint=False).shape == (7, *targets, 3)
        assert regressor.log_density(X[:7], regressor.predict(X[:7])).shape == (7,)
    assert both.n_outputs_ == 2
    np.testing.assert_allclose(both.predict(X)[:, 1], -2 * both.predict(X)[:, 0], atol=0.4)
    column = DeepGPRegressor(**QUICK).fit(X, y.reshape(-1, 1))
    assert np.array_equal(column.predict(X), one.predict(X).reshape(-1, 1))


def test_std_and_cov_cannot_be_had_at_once(fitted, arm):
    with pytest.raises(RuntimeError, match="At most one"):
        fitted.predict(arm[0], return_std=True, return_cov=True)


def test_what_is_said_of_a_row_agrees(arm):
    X, y = arm
    shallow = DeepGPRegressor(hidden_layers=0, inducing=20, steps=100, **PLAIN).fit(X, y)
    mean, std = shallow.predict(X, return_std=True)
    _, cov = shallow.predict(X, return_cov=True)
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), std, rtol=1e-6)
    np.testing.assert_allclose(shallow.log_density(X, y), norm.logpdf(y, mean, std), rtol=1e-9)
    levels = np.array([0.025, 0.5, 0.9])
    np.testing.assert_allclose(
        shallow.predict_quantiles(X, levels), norm.ppf(levels, mean[:, None], std[:, None]), rtol=1e-6
    )
    draws = shallow.sample_y(X[:5], 4000, random_state=1)
    np.testing.assert_allclose(np.cov(draws), cov[:5, :5], atol=0.1 * cov.max())


def test_the_engine_of_an_estimator_speaks_its_units(arm):
    X, y = arm
    X, y = 10 * X - 3, 50 * y + 7
    shallow = DeepGPRegressor(hidden_layers=0, inducing=20, steps=100, validation=None, **PLAIN).fit(X, y)
    engine = shallow.model_
    np.testing.assert_allclose(engine.predict(X).y.mean[:, 0], shallow.predict(X))
    for one, other in zip(engine.propagate(X), engine.predict(X).f, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    units = engine.standardiser
    np.testing.assert_allclose([units["y_shift"][0], units["y_scale"][0]], [y.mean(), y.std()])
    np.testing.assert_allclose(units["x_scale"], X.std(axis=0))
    # The bound is that of the standardised targets, as in training: a step more would have found it.
    before = engine.elbo(X, y).total
    assert before >= shallow.elbo_
    engine.train_step(X, y)
    assert engine.elbo(X, y).total > before


def test_predictions_of_a_deep_model_agree_up_to_sampling(fitted, arm):
    X, _ = arm
    _, std = fitted.predict(X, return_std=True)
    _, cov = fitted.predict(X, return_cov=True)
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), std, rtol=0.1)
    draws = fitted.sample_y(X, 3000, joint=False)
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.1)
    assert not np.array_equal(fitted.sample_y(X, 2, random_state=1), fitted.sample_y(X, 2, random_state=2))
    assert np.array_equal(fitted.sample_y(X, 2, random_state=1), fitted.sample_y(X, 2, random_state=1))


def test_many_rows_are_answered_as_few_are(fitted, rng):
    X, y = rng.uniform(-1, 1, (3000, 8)), rng.uniform(0, 2, 3000)  # more than are asked about at once
    parts = [slice(0, 1234), slice(1234, 3000)]
    for ask in (
        lambda rows: fitted.predict(X[rows], return_std=True)[1],
        lambda rows: fitted.predict_quantiles(X[rows]),
        lambda rows: fitted.log_density(X[rows], y[rows]),
        lambda rows: fitted.model_.below(X[rows], y[rows]),
        lambda rows: fitted.model_.input_gradient(X[rows])[0],
    ):
        assert np.array_equal(ask(slice(None)), np.concatenate([ask(part) for part in parts]))


def test_too_many_rows_for_a_joint_answer_are_refused(fitted):
    with pytest.raises(ValueError, match="at most 2000"):
        fitted.sample_y(np.zeros((2001, 8)))
    assert fitted.sample_y(np.zeros((2001, 8)), joint=False).shape == (2001, 1)


def test_a_level_that_is_none_is_refused(fitted, arm):
    with pytest.raises(ValueError, match="quantile level"):
        fitted.predict_quantiles(arm[0], [0.0, 0.5])
    with pytest.raises(ValueError, match="`interval` is 90"):
        fitted.predict_interval(arm[0], 90)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_their_names(frame, arm, fitted):
    X, y = arm
    names = [f"joint{i}" for i in range(8)]
    table = frame(dict(zip(names, X.T, strict=True)))
    target = {pd.DataFrame: pd.Series, pl.DataFrame: pl.Series}[frame]
    regressor = DeepGPRegressor(**QUICK).fit(table, target(y))
    assert list(regressor.feature_names_in_) == names
    assert np.array_equal(regressor.predict(table), fitted.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        regressor.predict(table[names[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        regressor.predict(X)


def test_a_weight_of_three_is_three_rows_and_one_of_nothing_is_none(arm):
    X, y = arm
    weight = np.arange(120) % 4
    weighted = DeepGPRegressor(**QUICK).fit(X, y, sample_weight=weight)
    repeated = DeepGPRegressor(**QUICK).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert np.array_equal(weighted.predict(X), repeated.predict(X))
    assert not np.array_equal(weighted.predict(X), DeepGPRegressor(**QUICK).fit(X, y).predict(X))
    ones = DeepGPRegressor(**QUICK).fit(X, y, sample_weight=np.ones(120))
    assert np.array_equal(ones.predict(X), DeepGPRegressor(**QUICK).fit(X, y).predict(X))


def test_rows_of_few_values_are_held_out_copy_by_copy(rng):
    X = rng.integers(0, 2, (1000, 1)).astype(float)
    y = (rng.random(1000) < 0.4 + 0.2 * X[:, 0]).astype(float)
    seen = np.array([y[X[:, 0] == value].mean() for value in (0, 1)])
    shallow = PLAIN | {"hidden_layers": 0, "steps": 300, "learning_rate": 0.03}
    for seed in range(4):
        for weight in (None, np.full(1000, 0.3)):
            regressor = DeepGPRegressor(**shallow, random_state=seed).fit(X, y, sample_weight=weight)
            np.testing.assert_allclose(regressor.predict([[0.0], [1.0]]), seen, atol=0.03)
    # As weights: four rows and how often each of them was seen.
    rows, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    weighted = DeepGPRegressor(**shallow, random_state=3).fit(rows[:, :1], rows[:, 1], sample_weight=counts)
    repeated = DeepGPRegressor(**shallow, random_state=3).fit(X, y)
    assert np.array_equal(weighted.predict(X), repeated.predict(X))
    # Two kinds of rows are enough, if there are enough of each.
    step = DeepGPRegressor(**shallow).fit(X, X[:, 0])
    np.testing.assert_allclose(step.predict([[0.0], [1.0]]), [0, 1], atol=0.05)


@pytest.mark.parametrize("weight", [[-1.0], [np.nan], [0.0]])
def test_wrong_weights_are_refused(arm, weight):
    with pytest.raises(ValueError, match=r"(?i)weight"):
        DeepGPRegressor(**QUICK).fit(*arm, sample_weight=np.resize(weight, 120))
    with pytest.raises(ValueError, match=r"sample_weight\.shape"):
        DeepGPRegressor(**QUICK).fit(*arm, sample_weight=np.ones(3))


def test_the_full_model_has_one_set(arm):
    parameters = DeepGPRegressor(**{**QUICK, "inducing": 15}).fit(*arm).model_.parameters()
    assert parameters["layers.0.inducing"].shape == (15, 8)
    assert "layers.0.mean_inducing" not in parameters


def test_two_sets_and_a_whitened_covariance_as_in_version_0_1(arm, tmp_path):
    settings = {**QUICK, "nested": False, "covariance_form": "whitened"}
    regressor = DeepGPRegressor(**settings).fit(*arm)
    assert regressor.model_.parameters()["layers.0.mean_inducing"].shape == (20, 8)
    regressor.save(tmp_path / "model.deepgp")
    again = DeepGPRegressor.load(tmp_path / "model.deepgp")
    assert {name: getattr(again, name) for name in settings} == settings
    assert DeepGPRegressor(**QUICK).fit(*arm).model_.parameters()["layers.0.inducing"].shape == (20, 8)


def test_sizes_that_are_not_given_follow_the_rows(rng):
    X, y = rng.standard_normal((720, 2)), rng.standard_normal(720)

    def sizes(times, **given):
        repeated = np.repeat(X, times, axis=0), np.repeat(y, times)
        parameters = DeepGPRegressor(hidden_layers=0, steps=1, **given).fit(*repeated).model_.parameters()
        return [len(parameters["layers.0.inducing"]), parameters["layers.0.covariance.factor"].shape[1]]

    assert sizes(1, validation=None) == sizes(3, validation=None) == [144, 100]
    assert sizes(1) == [129, 100]
    assert sizes(1, mean_inducing=30) == sizes(3, mean_inducing=30) == [30, 30]
    assert sizes(1, covariance_inducing=20) == [129, 20]


def test_sizes_give_way_to_what_the_rows_have(rng):
    X = np.repeat(rng.standard_normal((9, 2)), 3, axis=0)
    y = rng.standard_normal(27)
    regressor = DeepGPRegressor(hidden_layers=1, width=2, steps=5, validation=None).fit(X, y)
    assert regressor.model_.parameters()["layers.0.inducing"].shape == (9, 2)
    regressor = DeepGPRegressor(inducing=50, hidden_layers=0, steps=5, validation=None).fit(X, y)
    assert regressor.model_.parameters()["layers.0.inducing"].shape == (9, 2)


def test_seeds(arm):
    X, y = arm

    def fit(state):
        return DeepGPRegressor(**{**QUICK, "random_state": state}).fit(X, y).predict(X)

    assert np.array_equal(fit(1), fit(1))
    assert not np.array_equal(fit(1), fit(2))
    assert np.array_equal(fit(np.random.RandomState(3)), fit(np.random.RandomState(3)))
    np.random.seed(0)
    first = fit(None)
    assert not np.array_equal(first, fit(None))
    np.random.seed(0)
    assert np.array_equal(first, fit(None))
    with pytest.raises(ValueError, match="cannot be used to seed"):
        fit("seed")


def test_threads_change_nothing_but_the_time(arm):
    X, y = arm
    one, two = (DeepGPRegressor(**{**QUICK, "threads": threads}).fit(X, y).predict(X) for threads in (1, 2))
    assert np.array_equal(one, two)


def test_a_warm_start_goes_on(arm):
    X, y = arm
    regressor = DeepGPRegressor(**QUICK, validation=None, warm_start=True).fit(X, y)
    first = regressor.elbo_
    parameters = regressor.model_.parameters()
    regressor.fit(X, y)
    assert regressor.elbo_ > first
    assert regressor.n_iter_ == QUICK["steps"]
    cold = DeepGPRegressor(**QUICK, validation=None).fit(X, y)
    assert cold.elbo_ == first
    start = regressor.set_params(steps=0).fit(X, y).model_.parameters()
    assert not np.array_equal(start["likelihood.noise"], parameters["likelihood.noise"])
    with pytest.raises(ValueError, match="`width` is 2, not 3"):
        regressor.set_params(width=3).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        regressor.set_params(width=2).fit(X[:, :5], y)
    assert regressor.predict(X).shape == (120,)


def test_every_warm_start_sees_other_minibatches(arm):
    X, y = arm
    settings = {**QUICK, "steps": 2, "batch_size": 10, "validation": None, "learning_rate": 1e-12}
    regressor = DeepGPRegressor(**settings, warm_start=True)
    # With such a rate nothing is learnt, so that the bound tells the batches and their noise alone.
    bounds = [regressor.fit(X, y).history_["data_term"][0] for _ in range(5)]
    assert len({round(bound, 3) for bound in bounds}) == 5
    again = DeepGPRegressor(**settings, warm_start=True)
    assert [again.fit(X, y).history_["data_term"][0] for _ in range(5)] == bounds


def test_a_warm_start_goes_on_with_fresh_minibatches_after_a_file(arm, tmp_path):
    X, y = arm
    settings = {**QUICK, "steps": 3, "batch_size": 10, "validation": None}
    kept = DeepGPRegressor(**settings, warm_start=True).fit(X, y).fit(X, y)
    kept.save(tmp_path / "model.deepgp")
    loaded = DeepGPRegressor.load(tmp_path / "model.deepgp").set_params(warm_start=True)
    assert np.array_equal(loaded.fit(X, y).predict(X), kept.fit(X, y).predict(X))


def test_a_warm_start_holds_the_same_rows_out(arm):
    X, y = arm
    settings = {**QUICK, "steps": 1, "validate_every": 1, "hidden_layers": 0, "learning_rate": 1e-12}
    regressor = DeepGPRegressor(**settings, warm_start=True)
    # Nothing is learnt, and a shallow model has no samples: the score tells the rows.
    scores = [regressor.fit(X, y).history_["validation_score"][0] for _ in range(3)]
    assert scores == pytest.approx([scores[0]] * 3, rel=1e-9)


def test_callbacks_see_every_step_and_may_end_it(arm):
    seen, other = [], []

    def watch(report):
        seen.append(report)
        return report.step == 7

    regressor = DeepGPRegressor(**QUICK, callbacks=[watch, other.append]).fit(*arm)
    assert [own.step for own in seen] == list(range(1, 8))
    assert seen == other
    assert isinstance(seen[0], StepReport)
    assert seen[0].elbo == pytest.approx(seen[0].data_term - seen[0].kl)
    assert (regressor.stop_, regressor.n_iter_) == ("interrupted", 7)
    looks = []
    DeepGPRegressor(**QUICK, validate_every=20, callbacks=[lambda report: looks.append(report.validation)]).fit(*arm)
    assert [i + 1 for i, look in enumerate(looks) if look is not None] == [20, 40, 60]


def test_an_exception_in_a_callback_goes_on_and_leaves_what_was_learnt(arm):
    def fail(report):
        if report.step == 5:
            raise ZeroDivisionError("of the callback")

    regressor = DeepGPRegressor(**QUICK, callbacks=[fail])
    with pytest.raises(ZeroDivisionError, match="of the callback"):
        regressor.fit(*arm)
    assert regressor.n_iter_ == 5
    assert np.isfinite(regressor.predict(arm[0])).all()


def test_the_time_limit(arm):
    started = time.monotonic()
    regressor = DeepGPRegressor(steps=10**9, validation=None, time_limit=0.5).fit(*arm)
    assert regressor.stop_ == "time limit"
    assert 0.5 <= time.monotonic() - started < 3


def test_early_stopping(arm):
    regressor = DeepGPRegressor(**{**QUICK, "steps": 5000, "validate_every": 5, "patience": 2}).fit(*arm)
    assert regressor.stop_ == "patience"
    assert regressor.n_iter_ < 5000
    scores = regressor.history_["validation_score"]
    assert scores.argmax() == len(scores) - 3
    assert DeepGPRegressor(**QUICK, validation=None).fit(*arm).history_["validation_score"].size == 0


def test_the_history(fitted):
    history = fitted.history_
    assert np.array_equal(history["step"], np.arange(1, 61))
    np.testing.assert_allclose(history["elbo"], history["data_term"] - history["kl"])
    assert (np.diff(history["seconds"]) >= 0).all()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_one_line_in_a_terminal_and_ten_in_a_log(arm, monkeypatch):
    for stream, lines in ((Terminal(), 1), (io.StringIO(), 11)):
        monkeypatch.setattr(sys, "stdout", stream)
        DeepGPRegressor(hidden_layers=1, steps=60, verbose=1).fit(*arm)
        shown = stream.getvalue()
        assert "60/60" in shown
        assert "ELBO" in shown
        assert 1 <= shown.count("\n") <= lines
    monkeypatch.setattr(sys, "stdout", silent := io.StringIO())
    DeepGPRegressor(**QUICK).fit(*arm)
    assert silent.getvalue() == ""


def test_steps_that_fail_are_rolled_back_and_told(arm):
    reasons = []
    settings = {**QUICK, "learning_rate": 1e6, "validation": None}
    regressor = DeepGPRegressor(**settings, callbacks=[lambda report: reasons.append(report.rolled_back)])
    with pytest.warns(ConvergenceWarning, match="rolled back"):
        regressor.fit(*arm)
    assert any(reason and "not finite" in reason for reason in reasons)
    assert any("rolled back" in note for note in regressor.notes_)
    assert np.isfinite(regressor.predict(arm[0])).all()


def test_more_inducing_inputs_than_rows_are_capped_with_a_warning(arm):
    X, y = arm[0][:40], arm[1][:40]
    settings = {**QUICK, "mean_inducing": 500, "covariance_inducing": 10, "validation": None}
    with pytest.warns(UserWarning, match="500 inducing inputs were asked for, but .* only 40 distinct"):
        regressor = DeepGPRegressor(**settings).fit(X, y)
    assert any("only 40 distinct" in note for note in regressor.notes_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DeepGPRegressor(**{**settings, "mean_inducing": 40}).fit(X, y)


def test_a_run_that_cannot_go_on_warns(arm):
    class Stuck(DeepGPRegressor):
        def _adopt(self, model, learnt):
            super()._adopt(model, learnt)
            self.stop_ = "stuck"

    with pytest.warns(ConvergenceWarning, match="could not go on after 60 steps"):
        Stuck(**QUICK).fit(*arm)


@pytest.mark.parametrize("out", [None, "ascii", "bare"])
def test_a_line_that_cannot_be_shown_costs_no_fit(arm, monkeypatch, out):
    class Bare:
        def write(self, text):
            pass

        def flush(self):
            pass

    place = {"ascii": io.TextIOWrapper(io.BytesIO(), encoding="ascii"), "bare": Bare()}.get(out)
    monkeypatch.setattr(sys, "stdout", place)
    fitted = DeepGPRegressor(hidden_layers=0, inducing=10, steps=5, verbose=1).fit(*arm)
    assert fitted.n_iter_ == 5


def test_a_file_gives_the_settings_back_that_predictions_follow_from(tmp_path, arm):
    X, y = arm
    regressor = DeepGPRegressor(**QUICK, prediction_samples=7, jitter=1e-5).fit(X, y)
    regressor.save(tmp_path / "model.deepgp")
    again = DeepGPRegressor.load(tmp_path / "model.deepgp")
    assert (again.prediction_samples, again.jitter) == (7, 1e-5)
    assert np.array_equal(again.predict(X), regressor.predict(X))
    regressor.set_params(prediction_samples=9).save(tmp_path / "model.deepgp")
    again = DeepGPRegressor.load(tmp_path / "model.deepgp")
    assert np.array_equal(again.predict(X), regressor.predict(X))
    again.set_params(warm_start=True, steps=2).fit(X, y)
    mixed = DeepGPRegressor(**QUICK, jitter={"absolute": 0.0, "relative": 1e-4}).fit(X, y)
    mixed.save(tmp_path / "model.deepgp")
    assert DeepGPRegressor.load(tmp_path / "model.deepgp").jitter == mixed.jitter


def test_a_fit_of_no_steps_comes_back(tmp_path, arm):
    X, y = arm
    regressor = DeepGPRegressor(**{**QUICK, "steps": 0}).fit(X, y)
    regressor.save(tmp_path / "model.deepgp")
    again = DeepGPRegressor.load(tmp_path / "model.deepgp")
    assert np.array_equal(again.predict(X), regressor.predict(X))
    assert (again.n_iter_, again.stop_) == (0, "steps")


def test_a_model_that_was_not_fitted_is_no_estimator(tmp_path, arm):
    path = tmp_path / "model.deepgp"
    Model({"hidden_layers": 0, "inducing": 5}, arm[0]).save(path)
    with pytest.raises(ValueError, match=r"not fitted.*Model\.load"):
        DeepGPRegressor.load(path)
