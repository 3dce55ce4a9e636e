"""Gradient-boosted trees on the splits of `deepgp reproduce`, as lines of its `baselines.jsonl`.

    pip install ./python -r experiments/paper/requirements.txt        # from the root of the repository
    python experiments/paper/boosted_trees.py --data DATA --out RESULTS/baselines.jsonl

DATA holds `kin8nm.csv.gz`, `protein.csv.gz` and `molecules.csv.gz`, each with a header and the target in the last
column; what is not there is left out. `protein-distinct` is protein without the rows whose inputs are those of an
earlier row: a random split of the whole has copies on both sides. A line that is there already is not made again.
OMP_NUM_THREADS says how many threads.

Trees: scikit-learn's HistGradientBoostingRegressor, with one training row in ten set aside. These rows stop the
boosting. The learning rate is 0.05, a leaf has at least 5 rows, and a tree 31 or 255 leaves: the rows set aside on
split 0 choose, and the dataset's other splits follow. For tables with more than 100 columns, where a tree takes long,
all is fixed: a rate of 0.1, 20 rows a leaf and 127 leaves.

Spread: a Gaussian whose variance is learnt from the same rows, which no tree was grown on, by a second and smaller
booster from the inputs and the predicted mean to the squared error. Its gamma loss, log v + e²/v, is the Gaussian's
negative log likelihood. Squared errors below a tenth of their mean count as that much. A second line has the same trees
with one variance for all rows, their mean squared error. Test rows are for the scores alone.
"""

import argparse
import gzip
import json
import pathlib
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

MODEL = "gradient-boosted trees"
#: The same trees with one variance for all rows.
PLAIN = f"{MODEL}, one variance"
#: What is made of which file.
DATASETS = {
    "kin8nm": "kin8nm",
    "protein": "protein",
    "protein-distinct": "protein",
    "molecules": "molecules",
}
#: The share of rows that `deepgp reproduce` tests on, and that of the others which are set aside here.
TEST, ASIDE = 0.2, 0.1

Floats = NDArray[np.float64]


def load(path: pathlib.Path) -> tuple[Floats, Floats]:
    """Inputs and targets."""
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
    return table[:, :-1], table[:, -1]


def first_of_each(x: Floats) -> NDArray[np.intp]:
    """The rows that are equal to none before them, in their order."""
    return np.sort(np.unique(x, axis=0, return_index=True)[1])


def wide(x: Floats) -> bool:
    """Whether there are so many columns that a tree takes long."""
    return bool(x.shape[1] > 100)


def grow(x: Floats, y: Floats, aside: tuple[Floats, Floats], leaves: int) -> HistGradientBoostingRegressor:
    """Trees for the mean, as many as the rows set aside see good in."""
    trees = HistGradientBoostingRegressor(
        learning_rate=0.1 if wide(x) else 0.05,
        max_leaf_nodes=leaves,
        min_samples_leaf=20 if wide(x) else 5,
        l2_regularization=1.0,
        max_iter=2000,
        early_stopping=True,
        n_iter_no_change=20,
        random_state=0,
    )
    return trees.fit(x, y, X_val=aside[0], y_val=aside[1])


def spread(x: Floats, mean: Floats, squares: Floats, new: tuple[Floats, Floats]) -> Floats:
    """The variance at `new` inputs and means, learnt from squared errors."""
    trees = HistGradientBoostingRegressor(
        loss="gamma",
        learning_rate=0.05,
        max_iter=100,
        max_leaf_nodes=4,
        min_samples_leaf=100,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    # Without the floor, errors that happen to be small make variances so small that a single other one costs dearly.
    trees.fit(np.column_stack([x, mean]), np.maximum(squares, 0.1 * squares.mean()))
    variance: Floats = trees.predict(np.column_stack(new))
    return variance


def log_likelihood(squares: Floats, variance: Floats | float) -> float:
    """The mean log density of a Gaussian, from squared errors."""
    return float(np.mean(-0.5 * (np.log(2 * np.pi * variance) + squares / variance)))


class Fitted(NamedTuple):
    """What trees predict at new rows, with a variance for each and one for all, and which number of leaves was best."""

    mean: Floats
    variance: Floats
    one_variance: float
    leaves: int


def fit(grown_on: tuple[Floats, Floats], aside: tuple[Floats, Floats], new: Floats, choices: tuple[int, ...]) -> Fitted:
    """Trees grown on some rows, inputs and targets, with as many leaves as the rows set aside like best."""
    grown = [(leaves, grow(*grown_on, aside, leaves)) for leaves in choices]
    squares = [(aside[1] - trees.predict(aside[0])) ** 2 for _, trees in grown]
    best = int(np.argmin([own.mean() for own in squares]))
    (leaves, trees), own = grown[best], squares[best]
    mean = trees.predict(new)
    variance = spread(aside[0], trees.predict(aside[0]), own, (new, mean))
    return Fitted(mean, variance, float(own.mean()), leaves)


def leaf_choices(x: Floats) -> tuple[int, ...]:
    """The numbers of leaves to choose from, for such inputs."""
    return (127,) if wide(x) else (31, 255)


def measure(x: Floats, y: Floats, split: int, choices: tuple[int, ...]) -> tuple[dict[str, float], float, int]:
    """The log likelihood of the test rows by both models, their error, and which number of leaves was best."""
    # Here, so that other programs can have these trees on rows of their own without the package.
    import deepgp

    train, test = deepgp.split_rows(len(y), TEST, split)
    # A seed of its own: which rows are set aside shall not hang on which are tested.
    grown_on, aside = (train[rows] for rows in deepgp.split_rows(len(train), ASIDE, seed=1000 + split))
    fitted = fit((x[grown_on], y[grown_on]), (x[aside], y[aside]), x[test], choices)
    errors = (y[test] - fitted.mean) ** 2
    likelihoods = {
        MODEL: log_likelihood(errors, fitted.variance),
        PLAIN: log_likelihood(errors, fitted.one_variance),
    }
    return likelihoods, float(np.sqrt(errors.mean())), fitted.leaves


def finished(path: pathlib.Path) -> list[dict[str, Any]]:
    """The lines that are there; a piece of a last one that a cut left is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text() if path.exists() else ""
    end = text.rfind("\n") + 1
    if text[end:]:
        try:
            json.loads(text[end:])
            text += "\n"
        except ValueError:
            text = text[:end]
        path.write_text(text)
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="the folder of the tables")
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        required=True,
        help="baselines.jsonl, to be added to",
    )
    parser.add_argument("--splits", type=int, default=5, help="how many random splits [default: 5]")
    arguments = parser.parse_args()
    found = {name: arguments.data / f"{file}.csv.gz" for name, file in DATASETS.items()}
    found = {name: path for name, path in found.items() if path.exists()}
    if not found:
        parser.error(f"{arguments.data} has none of {', '.join(sorted(set(DATASETS.values())))} as .csv.gz")
    lines = finished(arguments.out)
    done = {
        model: {(line["dataset"], line["split"]) for line in lines if line["model"] == model}
        for model in (MODEL, PLAIN)
    }
    for name, path in found.items():
        left = [split for split in range(arguments.splits) if not all((name, split) in own for own in done.values())]
        if not left:
            continue
        x, y = load(path)
        if name == "protein-distinct":
            rows = first_of_each(x)
            x, y = x[rows], y[rows]
        choices = leaf_choices(x)
        # The choice is split 0's, whose line may be there from before.
        if 0 not in left and len(choices) > 1:
            choices = (measure(x, y, 0, choices)[2],)
        for split in left:
            started = time.perf_counter()
            likelihoods, rmse, leaves = measure(x, y, split, choices)
            choices = (leaves,)
            with arguments.out.open("a") as file:
                for model in (model for model in likelihoods if (name, split) not in done[model]):
                    scores = {
                        "test_log_likelihood": likelihoods[model],
                        "test_rmse": rmse,
                    }
                    file.write(json.dumps({"dataset": name, "model": model, "split": split, **scores}) + "\n")
            took = time.perf_counter() - started
            said = (
                f"log likelihood {likelihoods[MODEL]:.4f} ({likelihoods[PLAIN]:.4f} with one variance), RMSE {rmse:.4f}"
            )
            print(
                f"{name} ({len(y)} rows), split {split}: {said}, {leaves} leaves, {took:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
