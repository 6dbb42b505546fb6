"""Lines that cross the pins of memory, in a file: its content, its completeness, and refusals."""

import json
import resource
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from casemate import BuiltIn, CasemateError, RunOptions, api
from casemate.bus import NO_BURST, WITH_CONTENT, WRITE, BusFile, info
from conftest import NO_PLACES_FOR_A_FILE, SMALL, Casemate, refused_before_the_run

COMMAND = [sys.executable, "-m", "casemate"]
WRITING = ("--workload", "gups", "--set", "footprint=64 MB", "--limit", "200K", "--with", "machine.llc.size=512 KB")
"""A run that writes lines back to memory."""


def test_a_run_with_a_bus_file_writes_every_crossing_and_changes_no_result(casemate: Casemate, tmp_path: Path) -> None:
    arguments = ("run", *WRITING, "--design", "sc64-bmt", "--json")
    said = casemate(*arguments, "--bus", "gups.bus", "--bus-bytes")
    answer, without = said.json(), casemate(*arguments).json()
    assert said.code == 0
    assert [Path(name).name for name in answer["bus"]] == ["gups.bus"]
    assert "wrote gups.bus" in said.err
    (record,), (other,) = answer["records"], without["records"]
    assert {**record, "host": None} == {**other, "host": None}

    file = BusFile(tmp_path / "gups.bus")
    assert file.header.bytes
    assert file.header.configuration.design.name == "sc64-bmt"
    crossings = list(file)
    kinds = Counter(crossing.kind for crossing in crossings)
    assert kinds["write"] == record["dram"]["writes"] > 1000
    assert 0 <= record["dram"]["reads"] - kinds["read"] <= 64
    assert all(before.time_fs <= after.time_fs for before, after in pairwise(crossings))
    assert sum(not crossing.burst for crossing in crossings if crossing.kind == "write") == record["dram"]["merged"]
    # A read of a data line returns its last written content; metadata changes as lines boot, too.
    written: dict[int, bytes | None] = {}
    compared = 0
    for crossing in crossings:
        if crossing.kind == "write":
            written[crossing.line] = crossing.content
            assert crossing.content is not None
            assert len(crossing.content) == 64
        elif crossing.line in written and crossing.line < file.header.shape.data:
            compared += 1
            assert crossing.content == written[crossing.line]
    assert compared > 10


def test_columns_and_transfer_objects_of_a_bus_file_are_equal(casemate: Casemate, tmp_path: Path) -> None:
    casemate("run", *WRITING, "--design", "none", "--bus", "file", "--bus-bytes")
    file = BusFile("file")
    from_columns = [
        (time, line, bool(flags & WRITE), not flags & NO_BURST, bool(flags & WITH_CONTENT))
        for block in file.blocks()
        for time, line, flags in zip(block.times_fs, block.lines, block.flags, strict=True)
    ]
    assert from_columns == [(c.time_fs, c.line, c.kind == "write", c.burst, c.content is not None) for c in file]
    assert file.totals is not None
    assert file.totals.reads + file.totals.writes == len(from_columns) > 1000
    assert file.totals.last_fs == from_columns[-1][0]


def test_the_same_seed_gives_the_same_file_and_another_a_different_one(tmp_path: Path) -> None:
    def written(name: str, seed: int) -> bytes:
        options = RunOptions(limit="50K", seed=seed, bus=tmp_path / name, bus_bytes=True, protection=False)
        api.run(BuiltIn("gups", {"footprint": "1 MB"}), designs="sc64-bmt", options=options)
        return (tmp_path / name).read_bytes()

    first = written("first", 1)
    assert first == written("again", 1)
    assert first != written("other", 2)


def test_each_of_several_simulations_has_a_separate_file(casemate: Casemate, tmp_path: Path) -> None:
    said = casemate("run", *SMALL, "--bus", "gups.bus")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gups.none.bus", "gups.sc64-bmt.bus"]
    assert "wrote gups.none.bus" in said.err
    casemate("run", *SMALL, "--design", "none", "--machine", "modern", "--machine", "modern-ddr5", "--bus", "one")
    assert info("one.modern-ddr5").header.configuration.machine.name == "modern-ddr5"
    assert info("one.modern").totals.last_fs > 0


def test_the_command_shows_totals_and_the_first_crossings(casemate: Casemate) -> None:
    casemate("run", *WRITING, "--design", "sc64-bmt", "--bus", "gups.bus", "--bus-bytes")
    said = casemate("bus", "gups.bus", "--first", "3")
    assert said.code == 0
    assert "every checksum fits" in said.out
    assert "time (ns)" in said.out
    assert "never written" in said.out
    found = casemate("bus", "gups.bus", "--first", "3", "--json").json()
    assert len(found["first"]) == 3
    assert found["totals"]["writes"] > 1000
    assert f"{found['first'][2]['line'] * 64:#x}" in said.out


@pytest.mark.parametrize(("target", "expected"), NO_PLACES_FOR_A_FILE)
def test_an_unusable_path_is_refused_before_the_run(
    casemate: Casemate, tmp_path: Path, target: str, expected: str
) -> None:
    refused_before_the_run(casemate, tmp_path, ("--bus", target), expected)


def test_options_that_do_not_fit_a_bus_file_are_refused(casemate: Casemate, tmp_path: Path) -> None:
    for wrong, expected in (
        (("--bus-bytes",), "add --bus FILE"),
        (("--bus", "file", "--detail", "sampled"), "a sampled run does not write the lines at the pins"),
    ):
        said = casemate("run", *SMALL, *wrong)
        assert said.code == 2
        assert expected in said.err
        assert "Running" not in said.err
    with pytest.raises(CasemateError, match="give that file as bus"):
        api.run(BuiltIn("gups"), options=RunOptions(bus_bytes=True))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_a_one_line_error_and_keeps_the_earlier_output_file(tmp_path: Path) -> None:

    def no_file_above(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    arguments = [*COMMAND, "run", *WRITING, "--design", "none", "--bus", "gups.bus", "--bus-bytes"]
    # One that is never full, to know how much there is to write.
    assert subprocess.run(arguments, cwd=tmp_path, capture_output=True).returncode == 0
    whole = (tmp_path / "gups.bus").read_bytes()
    for size in (1000, len(whole) // 2, len(whole) - 1):
        ended = subprocess.run(
            arguments, cwd=tmp_path, capture_output=True, text=True, preexec_fn=partial(no_file_above, size)
        )
        said = [line for line in ended.stderr.splitlines() if "cannot write" in line]
        assert ended.returncode == 2, ended.stderr
        assert said == ["none: cannot write 'gups.bus': File too large"], ended.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["gups.bus"]
        assert (tmp_path / "gups.bus").read_bytes() == whole


def test_a_bus_file_is_written_through_a_link_and_keeps_its_rights(casemate: Casemate, tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to(target)
    assert casemate("run", *SMALL, "--design", "none", "--bus", "link").code == 0
    assert link.is_symlink()
    assert info(target).totals.reads > 0
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_foreign_or_damaged_bus_file_is_refused_with_its_reason(casemate: Casemate, tmp_path: Path) -> None:
    casemate("run", *SMALL, "--design", "none", "--bus", "whole")
    whole = (tmp_path / "whole").read_bytes()
    for content, expected in (
        (b"CASEMTRC", "'file' is not a bus file of Casemate:"),
        (whole[:-1], "'file' is truncated: it ends after "),
        (whole[:8] + b"\2" + whole[9:], "'file' is a bus file of version 2; this Casemate reads version 1"),
        (whole[:-40] + b"\0" + whole[-39:], "'file' is damaged at block "),
    ):
        (tmp_path / "file").write_bytes(content)
        said = casemate("bus", "file")
        assert said.code == 2
        assert expected in said.err
        assert said.out == ""
    for name in ("missing", "nowhere/missing"):
        said = casemate("bus", name)
        assert said.code == 2
        assert f"cannot read '{name}': No such file" in said.err


def test_ctrl_c_keeps_the_bus_transfers_recorded_until_then(interrupted: Casemate, tmp_path: Path) -> None:
    said = interrupted(
        "run", "--workload", "gups", "--set", "footprint=1 MB", "--limit", "all", "--design", "none", "--bus", "file",
        "--json",
    )  # fmt: skip
    assert said.code == 130
    assert json.loads(said.out)["interrupted"]
    assert info(tmp_path / "file").totals.reads > 0
