"""The workflows of public CI, as far as they can be checked where they cannot run: structure, names and scripts."""

import re
import subprocess
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


def read(path):
    """A workflow. YAML takes its key `on` for the truth value."""
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {("on" if key is True else key): value for key, value in workflow.items()}


def steps():
    """Every step, with the names that its matrix has."""
    for path in WORKFLOWS:
        for name, job in read(path)["jobs"].items():
            matrix = job.get("strategy", {}).get("matrix", {})
            names = set(matrix) - {"include"} | {key for entry in matrix.get("include", []) for key in entry}
            for step in job.get("steps", []):
                yield pytest.param(
                    step, names, job, id=f"{path.stem}-{name}-{step.get('name', step.get('run', ''))[:30]}"
                )


def test_there_are_workflows_for_tests_wheels_and_releases():
    assert {path.stem for path in WORKFLOWS} == {"release", "test", "wheels"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_have_a_machine_an_end_and_what_they_need(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}, "a job that needs more asks for it by itself"
    assert "NOT RUN YET" in path.read_text(encoding="utf-8")
    for name, job in workflow["jobs"].items():
        if uses := job.get("uses"):
            called = read(ROOT / uses)
            assert "workflow_call" in called["on"], f"{name} calls {uses}"
        else:
            assert job["runs-on"], name
            assert job["timeout-minutes"] <= 90, name
            assert job["steps"][0]["uses"].startswith("actions/checkout@"), name
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(workflow["jobs"]), name


@pytest.mark.parametrize(("step", "matrix", "job"), list(steps()))
def test_a_step_does_one_thing_with_names_that_there_are(step, matrix, job):
    assert ("run" in step) != ("uses" in step)
    for expression in EXPRESSION.findall(f"{step} {job['runs-on']}"):
        if expression.startswith("matrix."):
            assert expression.removeprefix("matrix.") in matrix
        else:
            assert expression.split(".")[0] in {"github", "runner"} or expression.startswith("hashFiles(")
    if "uses" in step:
        assert re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]), "of the host's own actions alone"
        return
    script = EXPRESSION.sub("value", step["run"])
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr
    if version := re.search(r"rustup (?:toolchain install|default) ([\d.]+)", script):
        assert f'rust-version = "{version[1]}"' in (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    for package in re.findall(r"--(?:package|exclude) (\S+)", script):
        assert any(f'name = "{package}"' in path.read_text() for path in ROOT.glob("**/Cargo.toml"))
    for test in re.findall(r"--test (\S+)", script):
        assert list(ROOT.glob(f"crates/*/tests/{test}.rs")) + list(ROOT.glob(f"crates/*/tests/{test}/main.rs"))
    for script_file in re.findall(r"(?:^|\s)\./([\w/.-]+\.sh)", script):
        assert (ROOT / script_file).is_file()
