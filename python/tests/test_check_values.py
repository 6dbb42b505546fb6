"""`--check-values` on programs without values to compare."""

import struct
from pathlib import Path

from conftest import Casemate

TRACE = b"".join(
    struct.pack("<QBB2B4B2Q4Q", 0x400000 + 4 * (n % 16), 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0x10000000 + 64 * n, 0, 0, 0)
    for n in range(3_000)
)
"""A trace of ChampSim: loads, each of the line after the one before."""


def test_randomly_drawn_trace_values_are_never_reported_as_checked(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(TRACE)
    run_it = ("run", "--trace", "x", "--design", "none", "--design", "sc64-bmt")
    said = casemate(*run_it, "--check-values")
    assert said.code == 1
    assert "not checked" in said.out
    assert "passed" not in said.out
    assert "Not checked: no load values were compared: the trace has no values" in said.out
    found = casemate(*run_it, "--check-values", "--json").json()
    assert found["passed"] is False
    for record in found["records"]:
        assert record["checks"]["passed"] is False
        assert record["checks"]["not_compared"] == [{"program": "x", "reason": "drawn"}]
    assert casemate(*run_it).code == 0
    assert casemate(*run_it, "--json").json()["passed"] is True


def test_a_load_check_fails_if_one_program_has_randomly_drawn_values(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(TRACE)
    programs = ("--workload", "resident", "--trace", "x", "--limit", "30K")
    said = casemate("run", "--machine", "emcc-4core", *programs, "--design", "none", "--check-values")
    assert said.code == 1
    assert "no load values of x were compared" in " ".join(said.out.split())


def test_a_load_check_fails_for_a_trace_recorded_without_values(casemate: Casemate) -> None:
    shipped = Path(__file__).parents[2] / "traces" / "gzip.trace"
    said = casemate("run", "--trace", str(shipped), "--design", "none", "--limit", "10K", "--check-values")
    assert said.code == 1
    assert "not checked" in said.out
    assert "record it with `casemate record --check-values`" in " ".join(said.out.split())
