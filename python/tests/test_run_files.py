"""Files of a run: they exist even if the screen fails, and a refused run leaves no file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from casemate.schemas import Record, RunResults
from conftest import SMALL, Casemate

COMMAND = (sys.executable, "-m", "casemate")


def test_a_closed_standard_output_does_not_prevent_result_files(tmp_path: Path) -> None:
    arguments = [*COMMAND, "run", *SMALL, "--design", "none", "--output", "results"]
    running = subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.close()
    _, said = running.communicate()
    assert running.returncode == 0, said
    (record,) = (tmp_path / "results").iterdir()
    assert Record.model_validate_json(record.read_text()).design == "none"


def test_a_full_standard_output_device_does_not_prevent_result_files(tmp_path: Path) -> None:
    arguments = [*COMMAND, "run", *SMALL, "--design", "none", "--output", "results"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(arguments, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 2
    assert "No space left on device" in ended.stderr
    assert len(list((tmp_path / "results").iterdir())) == 1


def test_a_file_that_cannot_be_written_does_not_suppress_the_table(casemate: Casemate, tmp_path: Path) -> None:
    results = RunResults.model_validate_json(casemate("run", *SMALL, "--design", "none", "--json").out)
    existing = f"gups-none-{results.records[0].configuration_hash[:8]}.json"
    (tmp_path / "results" / existing).mkdir(parents=True)
    said = casemate("run", *SMALL, "--design", "none", "--output", "results")
    assert said.code == 2
    assert "slowdown" in said.out
    assert "cannot write 'results/gups-none-" in said.err


def test_a_run_that_is_refused_leaves_no_folder(casemate: Casemate, tmp_path: Path) -> None:
    said = casemate("run", *SMALL, "--design", "nun", "--output", "results/of/mine")
    assert (said.code, list(tmp_path.iterdir())) == (2, [])
    (tmp_path / "file").write_text("old")
    said = casemate("run", *SMALL, "--output", "file/below")
    assert said.code == 2
    assert "cannot make the folder 'file/below'" in said.err
    assert "Running" not in said.err


@pytest.mark.parametrize(
    "command",
    [
        ("bus", "FILE"), ("trace", "info", "FILE"), ("excerpt", "FILE"), ("champsim", "FILE", "--instructions", "1K"),
        ("run", "--trace", "FILE"), ("run", "--workload", "gups", "--limit", "1K", "--design", "FILE"),
        ("run", "--workload", "gups", "--limit", "1K", "--machine", "FILE"), ("attack", "xts", "--log", "FILE"),
        ("explain", "FILE"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_is_refused_and_not_read(
    casemate: Casemate, tmp_path: Path, command: tuple[str, ...], kind: str
) -> None:
    path = tmp_path / "named.toml"
    # Opening the one would wait for ever, and reading the other would never end.
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    said = casemate(*(str(path) if word == "FILE" else word for word in command))
    assert said.code == 2
    assert f"{path}" in said.err
    assert "a pipe or a device: expected a regular file" in said.err
    assert said.out == ""


def test_a_folder_is_refused_as_a_trace_that_is_to_be_read(casemate: Casemate, tmp_path: Path) -> None:
    for target, expected in ((".", "--trace: '.' is a folder"), ("", "--trace: no file is named")):
        said = casemate("run", "--trace", target)
        assert (said.code, said.err) == (2, f"casemate: {expected}: expected a regular file\n")


def test_ctrl_c_in_the_warm_up_is_named_and_leaves_no_records(interrupted: Casemate, tmp_path: Path) -> None:
    run = ("run", "--workload", "gups", "--limit", "900G", "--warm-up", "800G", "--output", "results")
    said = interrupted(*run)
    assert (said.code, said.out) == (130, "")
    for design in ("none", "sc64-bmt"):
        assert f"{design}: interrupted in the warm-up, after " in said.err
    assert "of its 800000000000 instructions: no instruction was measured" in said.err
    assert "expected more" not in said.err
    assert "Stopped by Ctrl-C: no design has results." in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("link", "cannot make the folder 'link': 'link' is a link to 'nowhere', which is missing"),
        ("link/below", "cannot make the folder 'link/below': 'link' is a link to 'nowhere', which is missing"),
        ("file", "cannot make the folder 'file': 'file' is no folder; expected a folder"),
        (
            "/proc/casemate",
            "cannot write into the folder '/proc/casemate': No such file or directory; expected one that",
        ),
        (f"new/{'a' * 300}", "File name too long; expected one that accepts files"),
    ],
)
def test_a_folder_that_accepts_no_file_is_refused_before_the_run(
    casemate: Casemate, tmp_path: Path, folder: str, expected: str
) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "file").touch()
    said = casemate("run", *SMALL, "--design", "none", "--output", folder)
    assert (said.code, said.out) == (2, "")
    assert expected in said.err
    assert "Running" not in said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_a_record_of_a_trace_with_a_long_name_is_written(casemate: Casemate, tmp_path: Path) -> None:
    trace = "é" * 124 + ".trace"
    (tmp_path / trace).write_text("0x40 R\n0x80 W\n")
    said = casemate("run", "--trace", trace, "--design", "none", "--output", "results")
    assert said.code == 0, said.err
    (path,) = (tmp_path / "results").iterdir()
    assert path.name.startswith("é" * 100)
    assert Record.model_validate_json(path.read_text()).configuration.workload.program == (trace,)


@pytest.mark.parametrize(("option", "name"), [("--design", "xts"), ("--machine", "modern")])
def test_a_design_or_machine_may_begin_with_a_byte_order_mark_and_utf_16_is_refused_by_name(
    casemate: Casemate, option: str, name: str
) -> None:
    text = (Path(__file__).parents[2] / f"{option[2:]}s" / f"{name}.toml").read_text()
    run = ("run", *SMALL, "--no-attacks", "--json", option, f"{name}.toml")
    Path(f"{name}.toml").write_text(text)
    (plain,) = {record["configuration_hash"] for record in casemate(*run).json()["records"][:1]}
    Path(f"{name}.toml").write_text(f"\ufeff{text}", encoding="utf-8")
    assert casemate(*run).json()["records"][0]["configuration_hash"] == plain
    Path(f"{name}.toml").write_text(text, encoding="utf-16")
    said = casemate(*run)
    assert (said.code, said.out) == (2, "")
    assert (
        said.err
        == f"casemate: {name}.toml: it is text in UTF-16: convert it to UTF-8, with `iconv -f UTF-16 -t UTF-8`\n"
    )


def test_a_folder_without_a_name_is_refused_and_is_not_the_current_one(casemate: Casemate, tmp_path: Path) -> None:
    said = casemate("run", *SMALL, "--design", "none", "--output", "")
    assert (said.code, said.err) == (2, "casemate: --output is empty: expected the name of a folder\n")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_leads_out_of_the_folder_is_refused(casemate: Casemate, tmp_path: Path) -> None:
    for name in ("../../evil", "", "a/b", "[red]x"):
        said = casemate("run", *SMALL, "--design", "xts", "--with", f"design.name='{name}'", "--output", "so")
        assert said.code == 2
        assert f'name = "{name}": expected 1 to 60 letters' in said.err
    assert list(tmp_path.iterdir()) == []


def test_records_of_several_machines_have_distinct_names(casemate: Casemate, tmp_path: Path) -> None:
    machines = ("--machine", "modern", "--machine", "modern-ddr5")
    assert casemate("run", *SMALL, "--design", "none", *machines, "--output", "results").code == 0
    names = sorted(path.name.rpartition("-")[0] for path in (tmp_path / "results").iterdir())
    assert names == ["gups-modern-ddr5-none", "gups-modern-none"]


def test_a_design_that_a_machine_cannot_run_is_refused_before_any_runs(casemate: Casemate) -> None:
    tdes = ("--with", "design.ctr-mac.parts.cipher=tdes-cbc", "--with", "design.ctr-mac.parts.counters=mono-56")
    said = casemate("run", *SMALL, "--design", "none", "--design", "ctr-mac", *tdes)
    assert (said.code, said.out) == (2, "")
    (line,) = [line for line in said.err.splitlines() if "Triple-DES" in line]
    assert line.startswith(
        "casemate: design ctr-mac: the cipher is Triple-DES, and machine 'modern' has no units for it"
    )
    assert "Running" not in said.err
