"""Other models on the splits of `deepgp reproduce --experiments continued`, as lines of its `peers.jsonl`.

    pip install ./python -r experiments/continued/requirements.txt        # from the root of the repository
    python experiments/continued/peers.py --data DATA --out RESULTS/peers.jsonl

DATA holds `kin8nm.csv.gz`, `protein.csv.gz` and `molecules.csv.gz`, each with a header and the target in the last
column; what is not there is left out. A line that is there already is not made again.

    knn      a mixture of Gaussians around the nearest rows' targets: see neighbours.py
    trees    gradient-boosted trees for the mean, and others for the variance: see ../paper/boosted_trees.py
    deep-gp  GPyTorch's deep Gaussian process: see gpytorch_models.py
    dspp     GPyTorch's deep sigma point process

The last two need torch and gpytorch, and a GPU for tables of this size. Where the package deepgp is not, its splits
can come from a file:

    python experiments/continued/peers.py --data DATA --write-rows rows.npz
    python experiments/continued/peers.py --data DATA --rows rows.npz --models deep-gp,dspp --device cuda \\
        --fit-limit 60 --out peers.jsonl
"""

import argparse
import json
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "paper"))

import rows
from boosted_trees import finished, load
from scores import Mixture, score

DATASETS = ("kin8nm", "protein", "molecules")
#: What can be measured, and its name in tables.
MODELS = {
    "knn": "k-NN mixture",
    "trees": "gradient-boosted trees, with a variance",
    "deep-gp": "GPyTorch deep GP",
    "dspp": "GPyTorch DSPP",
}
#: Those that have hidden layers, and can be trained on a GPU.
DEEP = ("deep-gp", "dspp")


def title(model: str, hidden: int) -> str:
    """The model's name in tables."""
    return f"{MODELS[model]}, {hidden} hidden" if model in DEEP else MODELS[model]


def predict(model: str, split: rows.Split, number: int, arguments: argparse.Namespace) -> tuple[Mixture, str]:
    """A model's mixtures at the test rows of a split, and what is worth saying of it."""
    if model == "knn":
        import neighbours

        return neighbours.predict(split)
    if model == "trees":
        import boosted_trees

        fitted = boosted_trees.fit(split.train, split.aside, split.test.x, boosted_trees.leaf_choices(split.train.x))
        return Mixture.even(fitted.mean[None], fitted.variance[None]), f"{fitted.leaves} leaves"
    import gpytorch_models

    plan = gpytorch_models.Plan(
        hidden=arguments.hidden_layers,
        batch=arguments.batch,
        steps=arguments.steps,
        limit=arguments.fit_limit,
        device=arguments.device,
    )
    return gpytorch_models.predict(model, split, plan, seed=number)


def names(text: str) -> list[str]:
    """Names between commas."""
    return [name for name in text.split(",") if name]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="the folder of the tables")
    parser.add_argument("--out", type=pathlib.Path, help="peers.jsonl, to be added to")
    parser.add_argument(
        "--models", type=names, default=["knn", "trees"], help="of knn,trees,deep-gp,dspp [default: knn,trees]"
    )
    parser.add_argument(
        "--dataset", type=names, default=list(DATASETS), help="which tables [default: those that are there]"
    )
    parser.add_argument("--splits", type=int, default=3, help="how many random splits [default: 3]")
    parser.add_argument(
        "--rows", type=pathlib.Path, help="the splits, as --write-rows wrote them [default: by the package deepgp]"
    )
    parser.add_argument("--write-rows", type=pathlib.Path, help="write the splits to this file, and do nothing else")
    parser.add_argument("--hidden-layers", type=int, default=2, help="hidden layers of GPyTorch's models [default: 2]")
    parser.add_argument("--steps", type=int, default=3000, help="steps of GPyTorch's models, at most [default: 3000]")
    parser.add_argument("--batch", type=int, default=1024, help="rows of a step of GPyTorch's models [default: 1024]")
    parser.add_argument("--device", default="cpu", help="where GPyTorch computes: cpu or cuda [default: cpu]")
    parser.add_argument("--fit-limit", type=float, default=float("inf"), help="seconds for a fit of GPyTorch's models")
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="seconds after which no fit is begun")
    arguments = parser.parse_args()
    for given, known in ((arguments.models, MODELS), (arguments.dataset, DATASETS)):
        for name in given:
            if name not in known:
                parser.error(f"{name} is none of {', '.join(known)}")
    if (arguments.out is None) == (arguments.write_rows is None):
        parser.error("one of --out and --write-rows is needed")
    arguments.found = {name: arguments.data / f"{name}.csv.gz" for name in arguments.dataset}
    arguments.found = {name: path for name, path in arguments.found.items() if path.exists()}
    if not arguments.found:
        parser.error(f"{arguments.data} has none of {', '.join(arguments.dataset)} as .csv.gz")
    return arguments


def main() -> None:
    arguments, started = parse(), time.perf_counter()
    if arguments.write_rows is not None:
        rows.write(
            arguments.write_rows, {name: len(load(path)[1]) for name, path in arguments.found.items()}, arguments.splits
        )
        return
    done = {(line["dataset"], line["model"], line["split"]) for line in finished(arguments.out)}
    for dataset, path in arguments.found.items():
        wanted = [(split, model) for split in range(arguments.splits) for model in arguments.models]
        left = [
            (split, model)
            for split, model in wanted
            if (dataset, title(model, arguments.hidden_layers), split) not in done
        ]
        if not left:
            continue
        x, y = load(path)
        for number, model in left:
            if time.perf_counter() - started > arguments.time_limit:
                print("the time is up; the same command goes on", flush=True)
                return
            drawn = rows.draw(len(y), number) if arguments.rows is None else rows.read(arguments.rows, dataset, number)
            split, begun = rows.take(x, y, drawn), time.perf_counter()
            mixture, said = predict(model, split, number, arguments)
            seconds, scores = time.perf_counter() - begun, score(mixture, split.test.y)
            name = title(model, arguments.hidden_layers)
            line = {"dataset": dataset, "model": name, "split": number, **scores, "said": said}
            # Those that run beside others on a processor are not timed.
            line |= {"seconds": seconds} if arguments.device != "cpu" and model in DEEP else {}
            with arguments.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            told = ", ".join(f"{key.removeprefix('test_')} {value:.4f}" for key, value in scores.items())
            print(f"{dataset}, {name}, split {number}: {told}; {said}, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
