"""`Model`: built from a configuration, read and written by name, differentiated, trained, copied."""

import copy
import pickle
import re

import numpy as np
import pytest

from deepgp import DeepGPRegressor, Model, _config

#: Every array of a layer by itself: two sets, and triangles.
LAYER = {"mean_inducing": 8, "covariance_inducing": 5, "nested": False, "covariance_form": "whitened"}
CONFIG = {"hidden_layers": 2, "width": 3, **LAYER}


@pytest.fixture
def data(rng):
    X = rng.uniform(-1, 1, (30, 2))
    return X, np.sin(3 * X[:, :1]) + 0.1 * rng.standard_normal((30, 1))


@pytest.fixture
def noise(rng):
    return [rng.standard_normal((30, 3)) for _ in range(2)]


@pytest.fixture
def model(data):
    return Model(CONFIG, data[0])


def test_a_configuration_is_the_same_for_all_layers_or_one_for_each(data):
    X, _ = data
    shared = Model(CONFIG, X)
    each = Model({"layers": [{"width": 3, **LAYER}, {"width": 3, **LAYER}, {"width": 1, **LAYER}]}, X)
    for name, values in shared.parameters().items():
        assert np.array_equal(values, each.parameters()[name]), name
    assert (shared.n_inputs, shared.hidden_widths, shared.n_outputs) == (2, [3, 3], 1)
    assert repr(shared) == "<deepgp.Model 2 -> 3 -> 3 -> 1, 347 parameters>"
    assert Model({**CONFIG, "kernel": "matern52"}, X, outputs=2).n_outputs == 2


def test_the_covariance_has_the_first_inducing_inputs_of_the_mean_or_its_own(data):
    X, y = data
    sizes = {"hidden_layers": 2, "width": 3, "mean_inducing": 8, "covariance_inducing": 5}
    nested = Model(sizes, X).parameters()
    assert nested["layers.0.inducing"].shape == (8, 2)
    assert nested["layers.0.covariance.factor"].shape == (3, 5)
    apart = Model(CONFIG, X).parameters()
    assert (apart["layers.0.mean_inducing"].shape, apart["layers.0.covariance_inducing"].shape) == ((8, 2), (5, 2))
    assert apart["layers.0.covariance.factor"].shape == (3, 5, 5)
    # Given as an array: the same as two arrays of which one is the head of the other.
    layer = {"width": 1, "mean_inducing": X[:6]}
    one = Model({"layers": [{**layer, "covariance_inducing": 4, "nested": True}]})
    two = Model({"layers": [{**layer, "covariance_inducing": X[:4]}]})
    np.testing.assert_array_equal(one.parameters()["layers.0.inducing"], X[:6])
    np.testing.assert_allclose(one.elbo(X, y).total, two.elbo(X, y).total, rtol=1e-10)


def test_sizes_are_the_most_there_can_be(data):
    X, _ = data
    model = Model({"hidden_layers": 0, "inducing": 500}, X)
    assert model.parameters()["layers.0.inducing"].shape == (len(np.unique(X, axis=0)), X.shape[1])


def test_a_layer_can_have_its_own_kernel_and_mean_function(data):
    X, y = data
    kernel = {"sum": ["matern32", {"product": ["squared-exponential", "rational-quadratic"]}]}
    linear = np.array([[1.0], [0.5]])
    layers = [
        {"width": 1, "inducing": X[:6], "kernel": kernel, "mean_function": linear, "covariance_form": "dual"},
        {"width": 1, "inducing": 4, "mean_form": "scaled-dual"},
    ]
    model = Model({"layers": layers, "noise": 0.1, "precision": "mixed"}, X)
    assert "layers.0.kernel.1.1.alpha" in model.parameters()
    assert np.isfinite(model.elbo(X, y).total)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"depth": 2}, "there is no `depth`"),
        ({"layers": [{"width": 1}], "kernel": "matern12"}, "`kernel` belongs into each of `layers`"),
        ({"layers": [{"width": 1, "inducing": 3, "mean_inducing": 3}]}, "leave out the other two"),
        ({"layers": [{"width": 1, "mean_inducing": 3}]}, "give both"),
        ({"layers": [{"width": 1, "inducing": 3, "nested": True}]}, "nothing is nested: leave out `nested`"),
        ({"layers": [{"width": 1, "mean_inducing": 3, "covariance_inducing": 4}]}, "at most as many as the mean has"),
        ({"layers": [{"width": 1, "mean_inducing": [[0.0]], "nested": True}]}, "the number of its first rows"),
        ({"depth": 2}, r"there is no `depth` \(it is 2\), but `layers`.*`hidden_layers`"),
        (
            {"layers": [{"width": 1, "kernel": "linear"}]},
            "layer 0: `kernel` is 'linear', but must be one of 'squared-exponential'.*sum",
        ),
        ({"kernel": "rbf"}, "`kernel` is 'rbf'"),
        ({"kernel": {"sum": ["matern12", {"product": ["rbf"]}]}}, "`kernel` is 'rbf'"),
        ({"kernel": {"total": ["matern12"]}}, "`kernel` is {'total': .*must be one of"),
        ({"kernel": 3}, "`kernel` is 3"),
        ({"layers": [{"width": 1}, {"width": 1, "size": 3}]}, r"layer 1: there is no `size` \(it is 3\), but `width`"),
        ({"layers": [{"width": 1, "mean_form": "diagonal"}]}, "`mean_form` is 'diagonal', .*'scaled-dual'"),
        ({"covariance_form": "scaled-dual"}, "`covariance_form` is 'scaled-dual', .*'dual'"),
        ({"inducing_start": "rows"}, "`inducing_start` is 'rows', .*'random-rows'"),
        ({"layers": [{"width": 1, "mean_function": "linear"}]}, "`mean_function` is 'linear', .*'zero-padding'"),
        ({"precision": "f32"}, "`precision` is 'f32', .*'mixed'"),
        ({"layers": [{"width": 0}]}, "`width` is 0"),
        ({"layers": [{"inducing": 3}]}, "missing field `width`"),
        ({"layers": []}, "number of layers"),
        ({"noise": -1.0}, "likelihood.noise"),
        ({"noise": "loud"}, "`noise` is 'loud'"),
        ({"hidden_layers": -1}, "`hidden_layers` is -1"),
        ({"seed": 0.5}, "`seed` is 0.5"),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(data, config, said):
    with pytest.raises(ValueError, match=said):
        Model(config, data[0])


def test_the_names_are_those_of_the_library(arm):
    for setting in ("kernel", "mean_form", "covariance_form", "inducing_start", "precision"):
        with pytest.raises(ValueError, match="unknown variant") as refused:
            DeepGPRegressor(**{setting: "?"}).fit(*arm)
        known = re.findall("`([^`]+)`", str(refused.value).partition("expected")[2])
        assert sorted(known) == sorted(_config._NAMES[setting])


def test_what_is_no_dictionary_is_refused(data, model):
    for config in ("deep", {"layers": "deep"}, {"layers": 3}, {"layers": [3]}):
        with pytest.raises(TypeError, match="dictionar"):
            Model(config, data[0])
    with pytest.raises(TypeError, match="dictionary"):
        model.set_parameters([1.0])


@pytest.mark.parametrize("wrong", [{"num_data": 0}, {"samples": -1}, {"seed": "x"}, {"kl_weight": float("nan")}])
def test_a_wrong_argument_is_named(model, data, wrong):
    with pytest.raises(ValueError, match=f"`{next(iter(wrong))}` is"):
        model.elbo_gradient(*data, **wrong)


def test_inducing_inputs_need_inputs_to_be_chosen_from():
    with pytest.raises(ValueError, match="give X"):
        Model(CONFIG)
    assert Model({"layers": [{"width": 1, "inducing": [[0.0], [1.0]]}]}).n_inputs == 1


def test_parameters_are_values_and_come_back(model, data, noise):
    before = model.parameters()
    assert before["layers.0.kernel.lengthscales"] == pytest.approx(np.sqrt([2, 2]))
    assert before["layers.1.covariance.factor"].shape == (3, 5, 5)
    assert before["likelihood.noise"].shape == (1,)
    before["likelihood.noise"][:] = 7.0  # a copy: nothing happens to the model
    assert model.parameters()["likelihood.noise"][0] == 0.5
    changed = {
        name: values + 0.1 * np.tri(*values.shape[-2:]) if "factor" in name else values + 0.01
        for name, values in model.parameters().items()
    }
    model.set_parameters(changed)
    for name, values in model.parameters().items():
        assert np.array_equal(values, changed[name]), name
    again = Model(CONFIG, data[0])
    again.set_parameters(model.parameters())
    assert again.elbo(*data, noise).total == model.elbo(*data, noise).total


def test_parameters_are_set_all_or_none(model):
    before = model.parameters()
    for wrong, said in [
        ({"likelihood.noise": [-1.0]}, "entry 0 cannot be -1.0"),
        ({"likelihood.noise": [1.0, 2.0]}, r"expected an array of shape \(1,\), found \(2,\)"),
        ({"noise": [1.0]}, "did you mean `likelihood.noise`"),
        ({"layers.0.covariance.factor": np.ones((3, 5, 5))}, "0 above the diagonal"),
        ({"likelihood.noise": ["loud"]}, "must hold numbers"),
    ]:
        with pytest.raises(ValueError, match=said):
            model.set_parameters({"layers.0.kernel.variance": 3.0, **wrong})
    for name, values in model.parameters().items():
        assert np.array_equal(values, before[name]), name


def test_the_gradient_is_the_slope_in_the_values(model, data, noise, rng):
    X, y = data
    moved = {
        name: np.tril(0.5 * rng.standard_normal(values.shape))
        if "factor" in name
        else values * np.exp(0.2 * rng.standard_normal(values.shape)) + 0.1 * ("free" in name)
        for name, values in model.parameters().items()
    }
    model.set_parameters(moved)
    weight = rng.uniform(0.5, 2, 30)
    _, gradient = model.elbo_gradient(X, y, noise, num_data=90, sample_weight=weight)
    for name, values in moved.items():
        direction = (
            np.tril(rng.standard_normal(values.shape)) if "factor" in name else rng.standard_normal(values.shape)
        )
        direction /= max(np.linalg.norm(direction), 1e-300)

        def total(by, name=name, values=values, direction=direction):
            model.set_parameters({name: values + by * direction})
            return model.elbo(X, y, noise, num_data=90, sample_weight=weight).total

        slope = (total(1e-5) - total(-1e-5)) / 2e-5
        model.set_parameters({name: values})
        assert (gradient[name] * direction).sum() == pytest.approx(slope, rel=1e-5, abs=1e-5), name


def test_num_data_and_weights_scale_the_data_term(model, data, noise):
    X, y = data
    elbo = model.elbo(X, y, noise)
    assert model.elbo(X, y, noise, num_data=60).data_term == pytest.approx(2 * elbo.data_term)
    assert model.elbo(X, y, noise, sample_weight=np.full(30, 3.0)).data_term == pytest.approx(3 * elbo.data_term)
    assert elbo.total == elbo.data_term - elbo.kl.sum()
    assert elbo.kl.shape == (3,)


def test_drawn_noise_follows_the_seed_and_may_have_several_samples(model, data):
    model.train_step(*data)  # at the start the last layer is the prior, whatever it is given
    assert model.elbo(*data, seed=1).total == model.elbo(*data, seed=1).total
    assert model.elbo(*data, seed=1).total != model.elbo(*data, seed=2).total
    assert np.isfinite(model.elbo(*data, samples=4).total)


def test_noise_of_another_shape_is_refused(model, data, noise):
    with pytest.raises(ValueError, match="one matrix for each hidden layer"):
        model.elbo(*data, noise[:1])
    with pytest.raises(ValueError, match="noise: expected"):
        model.propagate(data[0], [own[:, :2] for own in noise])


def test_steps_go_uphill_and_leave_frozen_parameters(model, data):
    X, y = data
    model.freeze("layers.0.kernel")
    assert sorted(model.frozen) == ["layers.0.kernel.lengthscales", "layers.0.kernel.variance"]
    before, start = model.parameters(), model.elbo(X, y).total
    for _ in range(200):
        model.train_step(X, y)
    assert model.elbo(X, y).total > start + 10
    after = model.parameters()
    assert np.array_equal(before["layers.0.kernel.lengthscales"], after["layers.0.kernel.lengthscales"])
    assert not np.array_equal(before["layers.1.kernel.lengthscales"], after["layers.1.kernel.lengthscales"])
    model.unfreeze("layers.0.kernel")
    assert model.frozen == []
    with pytest.raises(ValueError, match="`learning_rate` is 0"):
        model.train_step(X, y, learning_rate=0)


def test_two_courses_of_the_same_steps_are_the_same(data):
    one, other = Model(CONFIG, data[0]), Model(CONFIG, data[0])
    for model in (one, other):
        for _ in range(5):
            model.train_step(*data)
    assert one.elbo(*data).total == other.elbo(*data).total


def test_copies_share_nothing(model, data):
    for again in (model.copy(), copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.elbo(*data).total == model.elbo(*data).total
        again.set_parameters({"likelihood.noise": [0.25]})
        assert model.parameters()["likelihood.noise"][0] == 0.5


def test_a_pickle_goes_on_as_the_model_does(model, data):
    for _ in range(5):
        model.train_step(*data)
    again = pickle.loads(pickle.dumps(model))
    for own in (model, again):
        own.train_step(*data)
    for name, values in model.parameters().items():
        assert np.array_equal(values, again.parameters()[name]), name
    # One of an earlier version has no memory of steps.
    old = Model.__new__(Model)
    old.__setstate__(model.__getstate__()[0])
    assert old.elbo(*data).total == model.elbo(*data).total
    with pytest.raises(ValueError, match="memory of another one"):
        old.__setstate__((model.__getstate__()[0], (np.zeros(1), np.zeros(1), 5)))


def test_joint_draws_have_samples_of_their_own(model, data):
    model.train_step(*data)
    few, many = (model.joint_draws(data[0], 3, samples=samples) for samples in (1, 50))
    assert np.array_equal(few, many)


def test_balanced_samples_come_nearer_than_more_that_are_independent(model, data):
    X, y = data
    for _ in range(100):
        model.train_step(X, y)
    exact = model.predict(X, samples=5000, seed=99, balanced=False).y

    def error(**how):
        means = [model.predict(X, seed=seed, **how).y.mean for seed in range(10)]
        return float(np.mean([np.mean((mean - exact.mean) ** 2) for mean in means]))

    assert error() < error(samples=100, balanced=False)
    assert np.array_equal(model.predict(X).y.mean, model.predict(X, samples=32, balanced=True).y.mean)
    with pytest.raises(ValueError, match=r"`balanced` is .yes., but must be True or False"):
        model.predict(X, balanced="yes")


def test_answers_have_their_shapes_and_agree(model, data):
    X, y = data
    for _ in range(50):
        model.train_step(X, y)
    f, observed, spread = model.predict(X)
    assert f.mean.shape == f.variance.shape == (30, 1)
    noise = model.parameters()["likelihood.noise"][0]
    np.testing.assert_allclose(observed.variance, f.variance + noise)
    np.testing.assert_allclose(spread, noise)
    quantiles = model.quantiles(X, [0.1, 0.5, 0.9])
    assert quantiles.shape == (30, 1, 3)
    np.testing.assert_allclose(model.below(X, quantiles[:, :, 0]), 0.1, atol=1e-9)
    draws = model.draws(X, 4000)
    np.testing.assert_allclose(draws.mean(0), observed.mean, atol=0.1)
    assert model.joint_draws(X, 3).shape == (3, 30, 1)
    mean, covariance = model.joint_moments(X)
    assert mean.shape == (30, 1)
    assert covariance.shape == (1, 30, 30)
    slope, _ = model.input_gradient(X)
    step = np.array([1e-5, 0])
    expected = (model.predict(X + step).f.mean - model.predict(X - step).f.mean) / 2e-5
    np.testing.assert_allclose(slope[:, :, 0], expected, rtol=1e-5, atol=1e-7)
    density = model.log_density(X, y)
    assert density.shape == (30,)
    low, high = model.below(X, y - 1e-5), model.below(X, y + 1e-5)
    np.testing.assert_allclose(np.log((high - low)[:, 0] / 2e-5), density, atol=1e-4)


def test_an_empty_question_has_an_empty_answer(model):
    assert model.predict(np.zeros((0, 2))).y.mean.shape == (0, 1)
    assert model.quantiles(np.zeros((0, 2)), [0.5]).shape == (0, 1, 1)
