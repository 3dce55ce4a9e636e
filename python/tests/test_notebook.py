"""The notebook runs from its first cell to its last, and draws what it promises."""

import pathlib

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

NOTEBOOK = pathlib.Path(__file__).parents[1] / "notebooks" / "deep_gaussian_processes.ipynb"


def test_the_notebook_runs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) >= 4
    assert not any(output.output_type == "error" for output in outputs)


def test_progress_in_a_notebook_is_one_line_written_anew():
    cell = new_code_cell(
        "from deepgp import DeepGPRegressor, datasets\n"
        "DeepGPRegressor(hidden_layers=1, steps=60, verbose=1).fit(*datasets.eight_link_arm(300));"
    )
    notebook = new_notebook(cells=[cell])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    shown = "".join(output.text for output in cell.outputs if output.output_type == "stream")
    assert "60/60" in shown
    assert shown.startswith("\r")
    assert shown.count("\n") == 1
