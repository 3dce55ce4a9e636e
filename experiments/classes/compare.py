"""deepgp beside other programs on tables of classes and counts: the same rows, the same scores.

    cargo build --release
    pip install -r experiments/classes/requirements.txt
    python experiments/classes/compare.py --data DATA --deepgp target/release/deepgp --out scores.jsonl
    python experiments/classes/compare.py --show scores.jsonl

DATA holds `NAME.csv.gz`, each with a header and the target in the last column, `y`; what is not there is left out. A
split tests on a fifth of the rows, of each class. A line that is there already is not made again.

    deepgp    `deepgp fit` with no flag but the task and the seed
    lightgbm  LightGBM with its defaults; counts by its Poisson objective; text columns as its categories
    linear    logistic regression, or Poisson regression for counts, of standardised numbers and indicators of text
    gpytorch  GPyTorch's variational classifier: see gpytorch_classifier.py
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
import pandas as pd
from class_scores import Floats, score_classes, score_counts, score_of_means
from numpy.typing import NDArray

CLASSES = ("banknote", "magic", "adult", "german_credit", "letter", "digits", "breast_cancer", "dry_bean")
COUNTS = ("bike_hour", "doctor_visits", "abalone")
MODELS = ("deepgp", "lightgbm", "linear", "gpytorch")
TEST = 0.2
#: Scores by their names, and what else is worth keeping.
Scores = Mapping[str, object]


def load(path: pathlib.Path) -> pd.DataFrame:
    """The table; a cell of `?` is a missing one, as it is to deepgp."""
    return pd.read_csv(path, na_values=["?"], dtype={"y": str})


def test_rows(y: "pd.Series[str]", seed: int, stratified: bool) -> NDArray[np.bool_]:
    """Whether each row is tested on: a fifth of each class's rows, or of all."""
    random = np.random.default_rng(seed)
    chosen = np.zeros(len(y), bool)
    groups = [np.flatnonzero(y == label) for label in sorted(y.unique())] if stratified else [np.arange(len(y))]
    for rows in groups:
        chosen[random.permutation(rows)[: round(TEST * len(rows))]] = True
    return chosen


def by_deepgp(name: str, train: pd.DataFrame, test: pd.DataFrame, seed: int, arguments: argparse.Namespace) -> Scores:
    """deepgp's scores: of its predictions, but for the log score of counts, which it tells itself."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        train.to_csv(here / "train.csv", index=False)
        test.to_csv(here / "test.csv", index=False)
        counts, model = name in COUNTS, str(here / "model.deepgp")
        flags = ["--task", "counts" if counts else "classification", "--seed", str(seed), "--out", model]
        flags += ["--json", "--quiet", *arguments.flags.split()]

        def run(*command: str) -> str:
            done = subprocess.run([arguments.deepgp, *command], capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"deepgp {command[0]}: {done.stderr.strip()}")
            return done.stdout

        fit = json.loads(run("fit", str(here / "train.csv"), "--target", "y", *flags))
        told = json.loads(run("evaluate", model, str(here / "test.csv"), "--json", "--quiet"))["test"]
        run("predict", model, str(here / "test.csv"), "--out", str(here / "p.csv"), "--quiet")
        predicted = pd.read_csv(here / "p.csv")
        extra = {"kept": fit["kept"], "told": told}
        if counts:
            return score_of_means(test.y.astype(float), predicted["mean"]) | {"log_score": told["log_score"]} | extra
        labels = sorted(train.y.unique())
        return score_classes(test.y, labels, predicted[[f"p_{label}" for label in labels]].to_numpy()) | extra


def indicators(train: pd.DataFrame, test: pd.DataFrame) -> tuple[Floats, Floats]:
    """Inputs as standardised numbers and indicators of text; a missing cell is a text of its own."""
    both = pd.concat([train, test]).drop(columns="y")
    texts = both.columns[~both.dtypes.map(pd.api.types.is_numeric_dtype)]
    both[texts] = both[texts].fillna("missing")
    wide = pd.get_dummies(both, columns=list(texts)).astype(float).to_numpy()
    known = wide[: len(train)]
    scaled = (wide - known.mean(0)) / np.maximum(known.std(0), 1e-12)
    return scaled[: len(train)], scaled[len(train) :]


def by_linear(train: pd.DataFrame, test: pd.DataFrame, counts: bool) -> Scores:
    """The scores of logistic or Poisson regression."""
    from sklearn.linear_model import LogisticRegression, PoissonRegressor

    x, x_test = indicators(train, test)
    if counts:
        fitted = PoissonRegressor(alpha=1e-3, max_iter=2000).fit(x, train.y.astype(float))
        return score_counts(test.y.astype(float), fitted.predict(x_test))
    fitted = LogisticRegression(max_iter=3000).fit(x, train.y)
    return score_classes(test.y, list(fitted.classes_), fitted.predict_proba(x_test))


def by_lightgbm(train: pd.DataFrame, test: pd.DataFrame, counts: bool) -> Scores:
    """The scores of boosted trees."""
    import lightgbm

    both = pd.concat([train, test]).drop(columns="y")
    for name in both.columns[~both.dtypes.map(pd.api.types.is_numeric_dtype)]:
        both[name] = both[name].astype("category")
    x, x_test = both.iloc[: len(train)], both.iloc[len(train) :]
    if counts:
        trees = lightgbm.LGBMRegressor(objective="poisson", verbose=-1).fit(x, train.y.astype(float))
        return score_counts(test.y.astype(float), trees.predict(x_test))
    forest = lightgbm.LGBMClassifier(verbose=-1).fit(x, train.y)
    return score_classes(test.y, list(forest.classes_), forest.predict_proba(x_test))


def by_gpytorch(train: pd.DataFrame, test: pd.DataFrame, seed: int, arguments: argparse.Namespace) -> Scores:
    """The scores of GPyTorch's variational classifier."""
    import gpytorch_classifier

    x, x_test = indicators(train, test)
    labels = sorted(train.y.unique())
    known = np.searchsorted(labels, train.y)
    p = gpytorch_classifier.predict(x, known, x_test, seed, arguments.device)
    return score_classes(test.y, labels, p)


def one(model: str, name: str, split: int, arguments: argparse.Namespace) -> dict[str, object]:
    """A line: one model on one split of one table."""
    counts = name in COUNTS
    table = load(pathlib.Path(arguments.data) / f"{name}.csv.gz")
    tested = test_rows(table.y, split, not counts)
    train, test = table[~tested], table[tested]
    began = time.time()
    if model == "deepgp":
        found = by_deepgp(name, train, test, split, arguments)
    elif model == "lightgbm":
        found = by_lightgbm(train, test, counts)
    elif model == "linear":
        found = by_linear(train, test, counts)
    else:
        found = by_gpytorch(train, test, split, arguments)
    seconds = round(time.time() - began, 2)
    return {"model": arguments.name or model, "table": name, "split": split, "seconds": seconds, **found}


def measure(arguments: argparse.Namespace) -> None:
    """Makes the lines that are not there yet."""
    out = pathlib.Path(arguments.out)
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {(line["model"], line["table"], line["split"]) for line in lines}
    began = time.time()

    def make(job: tuple[str, str, int]) -> dict[str, object] | None:
        model, name, split = job
        if (arguments.name or model, name, split) in done or time.time() - began > arguments.time_limit:
            return None
        try:
            return one(model, name, split, arguments)
        except (RuntimeError, KeyError) as error:
            print(f"{model} on {name}, split {split}: {error}", file=sys.stderr)
            return None

    names = arguments.table.split(",") if arguments.table else CLASSES + COUNTS
    models = arguments.models.split(",")
    there = [name for name in names if (pathlib.Path(arguments.data) / f"{name}.csv.gz").exists()]
    splits = range(arguments.first_split, arguments.first_split + arguments.splits)
    jobs = [
        (m, name, split) for split in splits for name in there for m in models if m != "gpytorch" or name in CLASSES
    ]
    with ThreadPoolExecutor(arguments.jobs) as pool, out.open("a") as file:
        for made in as_completed([pool.submit(make, job) for job in jobs]):
            line = made.result()
            if line:
                print(json.dumps(line), file=file, flush=True)
                shown = {key: value for key, value in line.items() if key not in ("told", "kept")}
                print(json.dumps(shown), file=sys.stderr, flush=True)


def show(paths: list[str]) -> None:
    """Prints the tables, in Markdown."""
    lines = [json.loads(line) for path in paths for line in pathlib.Path(path).read_text().splitlines()]
    frame = pd.DataFrame(lines)
    columns = {
        CLASSES: ("log_loss", "calibration_error", "brier", "accuracy", "seconds"),
        COUNTS: ("log_score", "deviance", "rmse", "seconds"),
    }
    for names, scores in columns.items():
        for name in names:
            own = frame[frame.table == name]
            for model in sorted(own.model.unique()):
                mine = own[own.model == model]
                cells = [name, model, str(len(mine)), *(f"{mine[score].mean():.4f}" for score in scores)]
                print("| " + " | ".join(cells) + " |")


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="the folder of the tables")
    parser.add_argument("--out", default="scores.jsonl")
    parser.add_argument("--deepgp", default="deepgp", help="the program")
    parser.add_argument("--flags", default="", help="further flags of deepgp fit")
    parser.add_argument("--name", default="", help="another name for the model in the lines")
    parser.add_argument("--models", default="deepgp,lightgbm,linear")
    parser.add_argument("--table", default="", help="these tables only, with commas between")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--first-split", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="fits beside each other")
    parser.add_argument("--device", default="cpu", help="of gpytorch")
    parser.add_argument("--time-limit", type=float, default=1e9, help="seconds after which nothing is begun")
    parser.add_argument("--show", nargs="+", help="print tables of these files instead")
    arguments = parser.parse_args()
    if arguments.show:
        show(arguments.show)
    else:
        measure(arguments)


if __name__ == "__main__":
    main()
