"""The examples: both notebooks run from their text, and the files work with the commands that the guide shows."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import casemate as cm
import pytest
from casemate.studies import study_file
from conftest import Casemate

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = ("first_run.py", "own_design.py")
USED = {*NOTEBOOKS, "design.toml", "machine.toml", "study.toml"}
"""Files that the tests below use."""


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy of the examples, which runs may write into."""
    return Path(shutil.copytree(EXAMPLES, tmp_path / "examples"))


def executed(notebook: Path, monkeypatch: pytest.MonkeyPatch, where: Path | None = None) -> list[Any]:
    """Returns the outputs of a notebook's cells, in order. The notebook runs in its folder, or in another one."""
    jupytext: Any = pytest.importorskip("jupytext")
    nbclient: Any = pytest.importorskip("nbclient")
    # The kernel finds the package as this process does, also if it is not installed.
    monkeypatch.setenv("PYTHONPATH", str(Path(cm.__file__).parents[1]))
    content = jupytext.read(notebook)
    assert {cell.cell_type for cell in content.cells} == {"markdown", "code"}
    resources = {"metadata": {"path": str(where or notebook.parent)}}
    nbclient.NotebookClient(content, timeout=120, kernel_name="python3", resources=resources).execute()
    return [output for cell in content.cells if cell.cell_type == "code" for output in cell.outputs]


def shown(outputs: list[Any], kind: str) -> list[str]:
    """Returns the outputs of one kind."""
    return ["".join(output.data[kind]) for output in outputs if kind in output.get("data", {})]


def test_the_first_notebook_shows_a_table_two_timelines_and_a_picture(
    examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = executed(examples / "first_run.py", monkeypatch)
    run, timelines = shown(outputs, "text/html")
    assert "slowdown over none" in run
    assert ">passed</span>" in run
    assert timelines.count("<svg") == 1
    assert "fetch tree" in timelines
    (bars,) = shown(outputs, "image/svg+xml")
    assert "cores at work" in bars
    assert all(len(text.splitlines()) == 1 for text in shown(outputs, "text/plain"))


def test_the_second_notebook_finds_the_attacks_that_the_tree_stops(
    examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = executed(examples / "own_design.py", monkeypatch)
    design, campaign, run, layout = shown(outputs, "text/html")
    assert "64-bit GMAC tags" in design
    assert "72 claims, all as claimed (20 trials each" in campaign
    assert "mine-without-tree" in run
    assert "root of the tree" in layout
    assert len(shown(outputs, "image/svg+xml")) == 2
    differing = next(text for text in shown(outputs, "text/plain") if text.startswith("[<Outcome"))
    assert "<Outcome: replay-data-tag-counter ended stale, claimed detected>" in differing
    assert "spoof-data" not in differing


@pytest.fixture(params=NOTEBOOKS)
def beginning(request: pytest.FixtureRequest, examples: Path) -> Path:
    """A notebook that ends with its first cell of code, which looks for the files of the notebook."""
    notebook = examples / str(request.param)
    head, cell, *_ = notebook.read_text().split("# %%\n")
    notebook.write_text(f"{head}# %%\n{cell.partition('# %%')[0]}print('ready')\n")
    return notebook


def test_a_notebook_also_runs_in_the_folder_above_its_own(beginning: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = executed(beginning, monkeypatch, beginning.parents[1])
    assert "".join(output["text"] for output in outputs).endswith("ready\n")


def test_a_notebook_elsewhere_names_its_folder_in_one_line(
    beginning: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient: Any = pytest.importorskip("nbclient")
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(nbclient.exceptions.CellExecutionError, match=r"run it in its folder, examples/") as failed:
        executed(beginning, monkeypatch, tmp_path / "elsewhere")
    assert failed.value.ename == "SystemExit"


def test_a_notebook_as_a_script_finds_its_files_from_any_folder(beginning: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(Path(cm.__file__).parents[1])}
    said = subprocess.run(
        [sys.executable, str(beginning)], cwd=tmp_path / "elsewhere", env=environment, capture_output=True, text=True
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.endswith("ready\n")
    beginning.rename(tmp_path / "elsewhere" / beginning.name)
    moved = [sys.executable, str(tmp_path / "elsewhere" / beginning.name)]
    said = subprocess.run(moved, cwd=tmp_path / "elsewhere", env=environment, capture_output=True, text=True)
    assert said.stderr.count("\n") == 1
    assert "run it in its folder, examples/" in said.stderr


def test_the_machine_and_the_design_of_the_examples_run_together(casemate: Casemate) -> None:
    given = ("--design", "none", "--design", str(EXAMPLES / "design.toml"), "--machine", str(EXAMPLES / "machine.toml"))
    said = casemate("run", "--workload", "gups", "--limit", "20K", "--no-attacks", "--json", *given)
    assert said.code == 0
    assert [record["configuration"]["design"]["name"] for record in said.json()["records"]] == ["none", "mine"]
    assert {record["configuration"]["machine"]["name"] for record in said.json()["records"]} == {"small"}


def test_the_design_of_the_examples_keeps_its_claims(casemate: Casemate) -> None:
    said = casemate("attack", str(EXAMPLES / "design.toml"))
    assert said.code == 0
    assert "72 claims, all as claimed" in said.out
    assert cm.design(str(EXAMPLES / "design.toml")).weaknesses == ()


def test_the_study_of_the_examples_has_a_point_for_each_design_and_speed(
    casemate: Casemate, examples: Path, tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    folder = tmp_path / "results"
    said = casemate("sweep", str(examples / "study.toml"), "--output", str(folder), "--json")
    assert said.code == 0, said.err
    assert (said.json()["points"], said.json()["done"]) == (4, 4)
    fast, slow = said.json()["figures"][0]["cases"]
    assert fast["values"][0] == slow["values"][0] == 1.0
    assert 1.0 < fast["values"][1] < slow["values"][1]
    assert study_file.read(examples / "study.toml").swept_keys == ["machine.engines.aes.latency_ns"]


def test_a_test_uses_each_file_of_the_examples() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == USED
