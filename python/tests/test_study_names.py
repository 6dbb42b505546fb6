"""Names of designs and machines in files: runs, studies, keys and figures have the name that the file states."""

import json
import shutil
from pathlib import Path
from typing import Any

import casemate as cm
import pytest
from casemate import CasemateError
from casemate.laboratory import stated
from casemate.studies.points import Point
from casemate.studies.study import Study
from casemate.studies.sweep import Workers, sweep
from conftest import Casemate

pytest.importorskip("distributed")

ROOT = Path(__file__).resolve().parents[2]
TAG_BITS = "design.mine.parts.mac.tag_bits"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a design called `mine` and a machine called `small`, in files with other names."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples/design.toml", "first-try.toml")
    shutil.copy(ROOT / "examples/machine.toml", "own.toml")
    return tmp_path


def swept(scheduler: str, folder: Path, **keys: Any) -> Any:
    """Carries a small study out, and returns its result."""
    study = Study(
        programs=[{"workload": "gups", "settings": {"footprint": "1 MB"}}], limit="10K", machines="own.toml", **keys
    )
    return sweep(study, folder / "results", workers=Workers(scheduler=scheduler))


def test_a_run_and_a_study_have_the_name_that_the_file_states(files: Path, casemate: Casemate, scheduler: str) -> None:
    found = swept(scheduler, files, designs=("none", "first-try.toml"))
    assert [each.name for each in found.figures[0].series] == ["none", "mine"]
    said = casemate("results", "results", "--columns", "design,machine", "--json").json()["rows"]
    assert {(row["design"], row["machine"]) for row in said} == {("none", "small"), ("mine", "small")}
    run = cm.run(cm.BuiltIn("gups"), designs="first-try.toml", machine="own.toml", options=cm.RunOptions(limit=1000))
    assert (run.records[0].design, run.records[0].machine) == ("mine", "small")


def test_keys_and_figures_of_a_study_use_the_name_that_the_file_states(files: Path, scheduler: str) -> None:
    found = swept(scheduler, files, designs=("none", "first-try.toml"), over={TAG_BITS: [32, 64]}, baseline="mine")
    assert found.points == 3
    assert [each.name for each in found.figures[0].series] == ["none", "mine"]
    for case in found.figures[0].cases:
        assert case.values[1] == 1.0
    with pytest.raises(CasemateError, match="unknown baseline 'first-try'"):
        swept(scheduler, files, designs=("none", "first-try.toml"), baseline="first-try")


def test_a_design_that_is_the_first_of_a_study_is_the_baseline_of_its_report(
    files: Path, casemate: Casemate, scheduler: str, tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    pytest.importorskip("altair")
    swept(scheduler, files, designs=("first-try.toml", "sc64-bmt"))
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert casemate("report", str(files / "results"), "-o", "page.html").code == 0
    assert "Relative to mine with the same program" in Path("page.html").read_text()


def test_a_key_with_the_name_of_a_file_is_refused_with_the_name_that_the_file_states(files: Path) -> None:
    del files
    with pytest.raises(CasemateError, match=r"'first-try.toml' is called 'mine', as in design\.mine\.KEY"):
        cm.run(cm.BuiltIn("gups"), designs="first-try.toml", changes={"design.first-try.parts.mac.tag_bits": 32})
    shutil.copy("first-try.toml", "parts.toml")
    options = cm.RunOptions(limit=1000, protection=False)
    run = cm.run(cm.BuiltIn("gups"), designs="parts.toml", changes={"design.parts.mac.tag_bits": 32}, options=options)
    parts = run.records[0].configuration.design.parts
    assert parts.mac.tag_bits == 32, "a key is no name, whatever the file is called"


def test_a_renamed_program_has_its_new_name_in_stored_rows(casemate: Casemate, scheduler: str, tmp_path: Path) -> None:
    pytest.importorskip("altair")

    def carried_out(name: str, **keys: Any) -> int:
        program = {"workload": "gups", "settings": {"footprint": "1 MB"}, "name": name}
        study = Study(programs=[program], limit="10K", **keys)
        return sweep(study, tmp_path / "results", workers=Workers(scheduler=scheduler)).done

    def shown(*options: str) -> set[str]:
        rows = casemate("results", "results", "--columns", "program", *options, "--json").json()["rows"]
        return {row["program"] for row in rows}

    assert carried_out("old") == 2
    assert shown() == {"old"}
    assert carried_out("new") == 0, "the name decides no result"
    assert shown() == shown("--where", "program = 'new'") == {"new"}
    assert shown("--where", "program = 'old'") == set()
    assert casemate("report", "results", "-o", "page.html", "--where", "program = 'new'").code == 0
    assert set(cm.results("results")["program"]) == {"new"}
    assert carried_out("newest", designs="xts") == 1
    assert shown() == {"newest"}
    assert shown("--all") == {"old", "newest"}, "a point of an earlier study keeps its name"
    kept = json.loads(Path("results/_study.json").read_text())
    del kept["programs"]
    Path("results/_study.json").write_text(json.dumps(kept))
    assert shown() == {"newest"}, "a folder of an earlier version has only the names of its rows"


def test_programs_of_equal_content_are_named_with_the_row_that_they_share(casemate: Casemate, scheduler: str) -> None:
    program = '{workload = "gups", settings = {footprint = "1 MB"}, name = "%s"}'
    named = ", ".join(program % name for name in ("one", "two", "three"))
    Path("twins.toml").write_text(
        f'programs = [{named}, {{workload = "resident"}}]\ndesigns = ["none"]\nlimit = 5000\n'
    )
    line = "the programs one, two and three are the same: results have one row for all, of one"
    assert casemate("sweep", "twins.toml", "--dry-run").out.count(line) == 1
    said = casemate("sweep", "twins.toml", "--scheduler", scheduler)
    assert (said.code, said.out.count(line)) == (0, 1)
    rows = casemate("results", "results/twins", "--columns", "program", "--json").json()["rows"]
    assert [row["program"] for row in rows] == ["one", "resident"]


def test_two_designs_with_the_same_name_are_refused_with_both_files(files: Path, scheduler: str) -> None:
    shutil.copy("first-try.toml", "second-try.toml")
    named = "two designs are called 'mine', first-try.toml and second-try.toml: give one of them another name"
    with pytest.raises(CasemateError, match=named):
        swept(scheduler, files, designs=("first-try.toml", "second-try.toml"))


def test_files_of_the_same_name_in_two_folders_are_two_designs(files: Path, scheduler: str) -> None:
    Path("second").mkdir()
    other = Path("first-try.toml").read_text().replace('"mine"', '"other"').replace("tag_bits = 64", "tag_bits = 32")
    Path("second/first-try.toml").write_text(other)
    found = swept(scheduler, files, designs=("none", "first-try.toml", "second/first-try.toml"))
    assert (found.done, [each.name for each in found.figures[0].series]) == (3, ["none", "mine", "other"])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('name = "a-b.c"\n', "a-b.c"), ("# name = 'x'\n'name'='y'\n", "y"), ("", "file"), ("name = 3\n", "file"),
        ('summary = "s"\n[parts]\nname = "z"\n', "file"),
    ],
)  # fmt: skip
def test_the_name_of_a_file_is_a_key_before_its_first_table(text: str, name: str, tmp_path: Path) -> None:
    assert stated.name_in(text, "folder/file.toml") == name
    (tmp_path / "file.toml").write_text(text)
    assert stated.name(str(tmp_path / "file.toml")) == name


def test_a_renamed_design_has_its_new_name_at_once_and_an_absent_file_its_own(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    for name in ("one", "other"):
        path.write_text(f'name = "{name}"\n')
        assert stated.name(str(path)) == name
    path.unlink()
    assert stated.name(str(path)) == "file"
    point = Point("run", str(path), "modern", {}, "gups", (), {}, 1, files={str(path): 'name = "kept"\n'})
    assert Point.of_json(point.to_json()).title == "gups under kept on modern, seed 1"
