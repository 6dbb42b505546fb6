"""Runs that begin with ordered memory: the first pass, its errors, and its mark in results and studies."""

from pathlib import Path
from typing import Any

import pytest
from casemate import CasemateError, api
from casemate.laboratory.requests import BuiltIn, RunOptions
from casemate.schemas.run import RunResults
from casemate.studies.expansion import expanded
from casemate.studies.recordings import Recordings
from casemate.studies.study import Study
from conftest import Casemate

SMALL = ("run", "--workload", "anneal", "--limit", "60K", "--no-attacks")
ORDERED = ("--start-order", "frequent")
ON = ("--machine", "simplescalar-2005")


def ordered(*designs: str, **options: Any) -> Any:
    """Returns the records of runs with ordered memory."""
    chosen = RunOptions(limit="60K", protection=False, start_order="frequent", **options)
    return api.run(BuiltIn("anneal"), designs=designs, machine="simplescalar-2005", options=chosen).records


def test_a_run_states_the_values_by_which_its_memory_was_ordered() -> None:
    with_bitmaps, plain, without = ordered("fvs-aes", "fvs-aes-plain", "ocb-aes")
    values = with_bitmaps.configuration.start_values
    assert len(values) == 64
    assert values == plain.configuration.start_values == without.configuration.start_values
    first = api.run(
        BuiltIn("anneal"), designs="none", machine="simplescalar-2005",
        options=RunOptions(limit="60K", protection=False, values=[16]),
    ).records[0]  # fmt: skip
    assert values == first.frequent_words, "a run without protection finds the same"
    assert with_bitmaps.checks.passed


def test_a_run_without_tables_of_values_needs_no_first_pass() -> None:
    reports: list[dict[str, Any]] = []
    chosen = RunOptions(limit="60K", protection=False, start_order="frequent")
    for design, has_first_pass in (("none", False), ("fvs-aes", True)):
        reports.clear()
        (record,) = api.run(
            BuiltIn("anneal"), designs=design, machine="simplescalar-2005", options=chosen, progress=reports.append
        ).records
        assert bool(record.configuration.start_values) == has_first_pass
        assert any(report.get("first_pass") for report in reports) == has_first_pass
        assert all(len(report["instructions"]) == 1 for report in reports)


def test_each_machine_has_a_separate_first_pass() -> None:
    chosen = RunOptions(limit="60K", protection=False, start_order="frequent")
    machines = ("simplescalar-2005", "modern")
    records = api.run(BuiltIn("anneal"), designs=["ocb-aes", "fvs-aes-plain"], machine=machines, options=chosen).records
    alone = api.run(BuiltIn("anneal"), designs="fvs-aes-plain", machine="modern", options=chosen).records[0]
    assert [record.machine for record in records] == [machines[0], machines[0], machines[1], machines[1]]
    assert records[3].configuration.start_values == alone.configuration.start_values
    assert records[3].event_hash == alone.event_hash


def test_the_table_of_a_run_states_that_memory_began_ordered(casemate: Casemate) -> None:
    said = casemate(*SMALL, *ON, *ORDERED, "--design", "fvs-aes")
    assert said.code == 0
    assert "memory begins ordered by the values of a first pass (--start-order frequent)" in said.out
    said = casemate(*SMALL, *ON, *ORDERED, "--design", "fvs-aes-plain")
    assert "tables of frequent values begin with those of a first pass (--start-order frequent)" in said.out
    assert "memory begins ordered" not in said.out
    said = casemate(*SMALL, *ON, "--design", "fvs-aes")
    assert "memory begins ordered" not in said.out
    key = "design.parts.speculation"
    fixed = ("--with", f"{key}.tracking=fixed", "--with", f"{key}.list=[1]")
    said = casemate(*SMALL, *ON, *ORDERED, *fixed, "--design", "fvs-aes")
    assert "memory begins ordered by the words of a fixed table (--start-order frequent)" in said.out
    assert "values of a first pass" not in said.out
    said = casemate(*SMALL, *ON, *ORDERED, *fixed, "--design", "fvs-aes-plain")
    assert said.code == 0
    assert "--start-order frequent" not in said.out


def test_ctrl_c_during_the_first_pass_ends_the_run_without_records_and_files(
    interrupted: Casemate, tmp_path: Path
) -> None:
    files = ("--output", "records", "--bus", "run.bus", "--interval", "1M", "--intervals", "run.csv")
    said = interrupted(
        "run", "--workload", "anneal", "--limit", "all", *ON, *ORDERED, "--design", "fvs-aes", *files, "--json"
    )
    assert said.code == 130
    results = RunResults.model_validate_json(said.out)
    assert (results.interrupted, results.passed, results.records, results.protection) == (True, False, (), ())
    assert "Stopped by Ctrl-C during the first pass: no design was run." in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_live_program_cannot_have_a_first_pass(casemate: Casemate) -> None:
    said = casemate("run", *ORDERED, "--", "/bin/true")
    assert said.code == 2
    assert "--start-order frequent runs a program twice" in said.err
    assert "casemate record" in said.err
    with pytest.raises(CasemateError, match="runs the program twice"):
        api.run(["/bin/true"], options=RunOptions(start_order="frequent"))


def test_a_loss_of_power_has_no_ordered_start(casemate: Casemate) -> None:
    said = casemate("run", "--workload", "gups", *ORDERED, "--power-loss", "random")
    assert said.code == 2
    assert "--start-order is for runs without a loss of power" in said.err


def test_points_of_a_study_with_another_order_are_other_points(tmp_path: Path) -> None:
    def hashes(order: str) -> set[str]:
        study = Study(programs=[{"workload": "anneal"}], designs=["fvs-aes"], limit="10K", start_order=order)
        return {cell.point.hash for cell in expanded(study, Recordings(tmp_path, str))}

    assert hashes("program").isdisjoint(hashes("frequent"))
