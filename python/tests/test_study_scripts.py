"""Studies as scripts, folders and other readers meet them: names of folders, rebuilt programs, refused studies."""

import shutil
import subprocess
import sys
from pathlib import Path

import casemate as cm
import pytest
from conftest import Casemate

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("distributed")
pytest.importorskip("duckdb")

OPTIONS = ("sweep", "--workload", "gups", "--set", "footprint=1 MB", "--limit", "10K")
needs_recorder = pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="recording needs QEMU")


def build(source: str) -> None:
    """Builds `./prog` of the current folder from the body of its function `main`."""
    Path("prog.c").write_text(f"#include <stdio.h>\nint main(int n, char **a) {{ {source}; return 0; }}\n")
    subprocess.run(["cc", "-O1", "-o", "prog", "prog.c"], check=True)


def test_no_folder_name_replaces_a_column_of_the_results(casemate: Casemate, scheduler: str) -> None:
    folder = Path("seed=7/design=mine")
    designs = ("--design", "none", "--design", "sc64-bmt", "--seeds", "2")
    assert casemate(*OPTIONS, *designs, "--output", str(folder), "--scheduler", scheduler).code == 0
    rows = casemate("results", str(folder), "--columns", "design,seed", "--csv")
    assert rows.out == "design,seed\nnone,1\nnone,2\nsc64-bmt,1\nsc64-bmt,2\n"


def test_a_reader_of_parquet_folders_reads_a_folder_of_results(casemate: Casemate, scheduler: str) -> None:
    study = 'designs = ["none"]\nlimit = "10K"\n[[programs]]\nworkload = "gups"\n[[figures]]\nvalue = "ipc"\n'
    Path("mine.toml").write_text(study)
    assert casemate("sweep", "mine.toml", "--scheduler", scheduler).code == 0
    assert Path("results/mine/_figures.png").exists()
    assert parquet.read_table("results/mine").column("design").to_pylist() == ["none"]


def test_results_show_the_points_of_the_last_form_of_a_study(casemate: Casemate, scheduler: str) -> None:
    for limit, designs in (("10K", '["none", "ctr-mac"]'), ("20K", '["none"]')):
        text = f'designs = {designs}\nlimit = "{limit}"\n[[programs]]\nworkload = "gups"\n'
        Path("mine.toml").write_text(text)
        assert casemate("sweep", "mine.toml", "--scheduler", scheduler).code == 0
    said = casemate("results", "results/mine", "--columns", "design,instructions,options", "--csv")
    assert said.out == "design,instructions,options\nnone,20000,--limit 20K\n"
    assert "2 rows of earlier forms of the study not shown: --all shows them" in said.err
    assert len(casemate("results", "results/mine", "--all", "--csv").out.splitlines()) == 4
    assert len(cm.results("results/mine")) == 1
    assert len(cm.results("results/mine", every_study=True)) == 3
    stored = parquet.read_table("results/mine", columns=["options"]).column("options").to_pylist()
    assert sorted(stored) == ["--limit 10K", "--limit 10K", "--limit 20K"]


@needs_recorder
def test_a_program_that_was_built_again_is_recorded_again(casemate: Casemate, scheduler: str) -> None:
    options = ("sweep", "--design", "none", "--limit", "all", "--scheduler", scheduler)
    build('puts("one")')
    assert casemate(*options, "--", "./prog").code == 0
    build("for (volatile int n = 0; n < 9999; n++)")
    again = casemate(*options, "--", "./prog")
    assert "recording prog again: its program, or a file that it names, has changed" in again.err
    every = cm.results("results/study", columns=("instructions",), every_study=True)
    instructions = every.to_series().to_list()
    assert len(instructions) == 2
    assert max(instructions) > min(instructions) + 20_000
    Path("prog").unlink()
    assert "1 of 1 points done" in casemate(*options, "--", "./prog").out, "the recording needs no program"


@needs_recorder
def test_a_program_is_recorded_again_after_a_file_that_its_command_names_changed(
    casemate: Casemate, scheduler: str
) -> None:
    options = ("sweep", "--design", "none", "--limit", "50K", "--scheduler", scheduler, "--", "cat", "text")
    for content, is_again in (("one", False), ("one", False), ("two", True)):
        Path("text").write_text(content)
        assert ("recording cat again" in casemate(*options).err) == is_again
    assert len(list(Path("results/study/_traces").iterdir())) == 2


@needs_recorder
def test_a_word_in_braces_reaches_a_command_without_a_text(casemate: Casemate, scheduler: str) -> None:
    study = 'designs = ["none"]\nlimit = "50K"\n[[programs]]\ncommand = ["/bin/echo", "{text}"]\n'
    Path("mine.toml").write_text(study)
    assert casemate("sweep", "mine.toml", "--scheduler", scheduler).code == 0
    programs = cm.results("results/mine", columns=("workload_program",)).to_series().to_list()
    assert programs == ["/bin/echo {text}"]


def test_a_refused_study_leaves_no_file(casemate: Casemate) -> None:
    assert casemate("sweep", "--trace", "absent.trace").code == 2
    assert not Path("results/study").exists()
    Path("mine").mkdir()
    assert casemate("sweep", "--trace", "absent.trace", "--output", "mine").code == 2
    assert list(Path("mine").iterdir()) == []


def test_a_script_that_starts_a_study_while_it_is_imported_is_refused_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = 'cm.sweep(cm.Study(programs="gups", designs="none", limit="10K"))'
    Path("script.py").write_text(f"import casemate as cm\n\n{call}\n")
    said = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True)
    assert said.returncode == 1
    last = said.stderr.strip().splitlines()[-1]
    assert "script.py:3 starts a study while the script is imported" in last
    assert 'below a line `if __name__ == "__main__":`' in last
    assert "worker processes did not start" not in said.stderr
    Path("script.py").write_text(f'import casemate as cm\n\nif __name__ == "__main__":\n    {call}\n')
    assert subprocess.run([sys.executable, "script.py"]).returncode == 0
