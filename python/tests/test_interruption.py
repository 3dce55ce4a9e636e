"""Ctrl-C in the middle of long work, other threads beside it, forks after it."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from conftest import QUICK

from deepgp import DeepGPRegressor

#: What each script does between two lines on standard output; then it says what became of the interruption.
HEAD = """
import sys, time
import numpy as np
from deepgp import DeepGPRegressor, Model, datasets
QUICK = dict(hidden_layers=1, width=2, mean_inducing=20, covariance_inducing=10, steps=60)
X, y = datasets.eight_link_arm(3000, seed=1)
def busy():
    print("busy", flush=True)
"""
TAIL = """
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
else:
    print("done", flush=True)
"""


def interrupt(body, after=0.7):
    """Runs a script and presses Ctrl-C when it has been busy for a while; how late it noticed, and what it said."""
    body, _, then = body.partition("---")
    script = HEAD + "try:\n" + textwrap.indent(textwrap.dedent(body), "    ") + TAIL + textwrap.dedent(then)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            if line.strip() == "busy":
                break
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        pressed = time.time()
        rest = process.stdout.read().split("\n")
        assert process.wait(timeout=30) == 0, rest
    finally:
        process.kill()
    word, _, noticed = rest[0].partition(" ")
    assert word == "interrupted", rest
    return float(noticed) - pressed, rest[1:]


def test_training_that_is_interrupted_leaves_what_it_had_learnt():
    late, said = interrupt(
        """
        regressor = DeepGPRegressor(hidden_layers=1, mean_inducing=100, covariance_inducing=50, steps=10**6)
        busy()
        regressor.fit(X, y)
        ---
        mean, std = regressor.predict(X, return_std=True)
        print(regressor.stop_, regressor.n_iter_ > 0, regressor.score(X, y) > 0, bool(np.isfinite(std).all()))
        print(regressor.set_params(steps=3, warm_start=True).fit(X, y).n_iter_)
        """,
        after=2.0,
    )
    assert late < 1
    assert said[:2] == ["interrupted True True True", "3"]


def test_a_step_that_takes_seconds_is_not_waited_for():
    late, said = interrupt(
        """
        X, y = datasets.eight_link_arm(30000, seed=1)
        regressor = DeepGPRegressor(
            inducing=300, covariance_form="whitened", inducing_start="random-rows", steps=10**6, validation=None
        )
        told = []
        class Told:
            def __call__(self, report):
                told.append(report.step)
                if report.step == 1:
                    busy()
        regressor.callbacks = [Told()]
        regressor.fit(X, y)
        ---
        # What was kept is what was told of, however fast the machine.
        print(regressor.stop_, regressor.n_iter_ - told[-1], regressor.predict(X[:5]).shape)
        import os
        os._exit(0)  # the step that nobody waits for goes on
        """,
    )
    assert late < 1
    # One more where the step ended just then and was not told of any more.
    assert said[0] in ("interrupted 0 (5,)", "interrupted 1 (5,)")


def test_a_look_at_the_validation_rows_that_takes_seconds_is_not_waited_for():
    late, said = interrupt(
        """
        X, y = datasets.eight_link_arm(200000, seed=1)
        regressor = DeepGPRegressor(
            **{**QUICK, "steps": 1000}, batch_size=100, validation=0.5, validate_every=20, validation_samples=4000,
            likelihood="gaussian", validation_score="log-density", transform_target="none",
        )
        class Once:
            def __call__(self, report):
                if report.step == 19:
                    busy()
        regressor.callbacks = [Once()]
        regressor.fit(X, y)
        ---
        print(regressor.stop_, 1 <= regressor.n_iter_ <= 19, regressor.predict(X[:5]).shape)
        import os
        os._exit(0)
        """,
    )
    assert late < 1
    assert said[0] == "interrupted True (5,)"


def test_before_the_first_step_there_is_nothing_to_keep():
    late, said = interrupt(
        """
        X, y = datasets.eight_link_arm(20000, seed=1)
        regressor = DeepGPRegressor(inducing=3000, inducing_start="greedy-variance")
        busy()
        regressor.fit(X, y)
        ---
        print(hasattr(regressor, "model_"), hasattr(regressor, "n_features_in_"))
        import os
        os._exit(0)
        """,
        after=0.4,
    )
    assert late < 1
    assert said[0] == "False False"


def test_predictions_are_interrupted_too():
    late, said = interrupt(
        """
        regressor = DeepGPRegressor(**QUICK).fit(X, y)
        many = np.tile(X, (100, 1))
        regressor.prediction_samples = 1000
        busy()
        regressor.predict(many)
        ---
        regressor.prediction_samples = 10
        print(regressor.predict(X[:5]).shape)
        """,
    )
    assert late < 1
    assert said[0] == "(5,)"


def test_the_bound_is_interrupted_too():
    late, _ = interrupt(
        """
        X, y = datasets.eight_link_arm(200000, seed=1)
        model = Model({"hidden_layers": 3, "width": 10, "inducing": 200, "inducing_start": "random-rows"}, X[:2000])
        busy()
        model.elbo_gradient(X, y, samples=5)
        ---
        import os
        os._exit(0)
        """,
    )
    assert late < 1


def test_other_threads_go_on_while_one_trains(arm):
    ticks, ended = [], threading.Event()

    def tick():
        while not ended.wait(0.005):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    started = time.monotonic()
    DeepGPRegressor(steps=100, validation=None).fit(*arm)
    seconds = time.monotonic() - started
    ended.set()
    ticker.join()
    assert len(ticks) > 0.2 * seconds / 0.005


def test_several_threads_train_and_predict_at_once(arm, fitted):
    found = {}

    def work(i):
        regressor = DeepGPRegressor(**QUICK).fit(*arm)
        found[i] = regressor.predict(arm[0]), fitted.predict(arm[0])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for own, shared in found.values():
        assert np.array_equal(own, fitted.predict(arm[0]))
        assert np.array_equal(shared, own)


def predict_and_fit(regressor, arm, answers):
    answers.put((regressor.predict(arm[0]), DeepGPRegressor(**QUICK).fit(*arm).predict(arm[0])))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_has_threads_of_its_own(arm, fitted):
    expected = fitted.predict(arm[0])  # the shared threads are running now, and do not survive a fork
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=predict_and_fit, args=(fitted, arm, answers))
    child.start()
    try:
        for found in answers.get(timeout=30):
            assert np.array_equal(found, expected)
        child.join(10)
    finally:
        child.kill()
