"""Sampled runs, from the command line."""

import shutil
import subprocess
import sys
from pathlib import Path

import casemate as cm
import pytest
from casemate.laboratory.requests import recorder_path
from casemate.schemas import RunResults
from conftest import Casemate

LONG = ("run", "--workload", "gups", "--set", "footprint=1 MB", "--limit", "400K", "--detail", "sampled")


def test_every_figure_of_a_sampled_run_is_printed_with_its_confidence_interval(casemate: Casemate) -> None:
    said = casemate(*LONG)
    assert said.code == 0
    assert "in detail 30.02 %, measured in 20 units, the remainder warmed" in said.out
    for figure in ("slowdown", "IPC", "DRAM traffic", "read latency"):
        line = next(line for line in said.out.splitlines() if line.strip().startswith(figure))
        assert line.count("±") == 2, line
    assert max(len(line) for line in said.out.splitlines()) <= 100


def test_a_sample_that_is_too_small_for_the_requested_error_says_so(casemate: Casemate) -> None:
    said = casemate(*LONG, "--error", "0.01%")
    assert "the sample is too small for an IPC within ±0.01 %" in said.out


def test_the_record_of_a_sampled_run_describes_the_sample_and_repeats(casemate: Casemate) -> None:
    first, second = (RunResults.model_validate_json(casemate(*LONG, "--json").out) for _ in range(2))
    sampling = first.record("none").sampling
    assert sampling
    assert sampling == second.record("none").sampling
    assert sampling.ipc.low <= first.record("none").ipc <= sampling.ipc.high
    assert sampling.detailed + sampling.warmed == first.record("none").instructions == 400_000
    assert len(sampling.series.start) == sampling.units == 20


def test_a_sampled_slowdown_has_a_smaller_relative_error_than_the_ipc(casemate: Casemate) -> None:
    results = RunResults.model_validate_json(casemate(*LONG, "--json").out)
    slowdown = results.interval("sc64-bmt", "time_fs")
    sampling = results.record("sc64-bmt").sampling
    assert slowdown
    assert sampling
    assert slowdown.low <= results.slowdown("sc64-bmt") <= slowdown.high
    assert slowdown.relative_error < sampling.ipc.relative_error + 0.05


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--detail", "sampled", "--error", "200%"), "expected more than 0% and less than 100%"),
        (("--error", "3%"), "add --detail sampled"),
        (("--detail", "some"), "'some' is not one of 'all', 'sampled'"),
    ],
)
def test_wrong_sampling_options_are_refused(casemate: Casemate, arguments: tuple[str, ...], complaint: str) -> None:
    said = casemate("run", "--workload", "gups", *arguments)
    assert said.code == 2
    assert complaint in " ".join(said.err.split())


def test_a_program_too_short_to_sample_names_the_way_out(casemate: Casemate) -> None:
    said = casemate("run", "--workload", "gups", "--limit", "10K", "--detail", "sampled")
    assert said.code == 2
    assert "too few to sample; run it with every instruction in detail" in " ".join(said.err.split())


def test_sampling_options_without_sampling_are_refused() -> None:
    with pytest.raises(cm.CasemateError, match="detail='sampled'"):
        cm.run(cm.BuiltIn("gups"), options=cm.RunOptions(sampling={"error": 0.01}))
    options = cm.RunOptions(limit=50_000, detail="sampled", sampling={"period": 1000})
    with pytest.raises(cm.CasemateError, match="the period must be"):
        cm.run(cm.BuiltIn("gups"), designs=["none"], options=options)


@pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or not recorder_path().is_file(), reason="recording needs QEMU and the recorder"
)
def test_a_program_reads_the_standard_input_of_casemate(tmp_path: Path) -> None:
    """A pipe is passed on, so that `casemate run -- PROGRAM < FILE` works as written."""
    command = [sys.executable, "-m", "casemate", "run", "--design", "none", "--stdout", "inherit", "--", "cat"]
    said = subprocess.run(command, input="through\n", capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "through" in said.stdout
