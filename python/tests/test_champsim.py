"""`casemate champsim`: a window of a ChampSim trace."""

import gzip
import struct
from pathlib import Path

import jsonschema
import pytest
from conftest import Casemate

INSTRUCTIONS = 3_000


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace of loads, each of the line after the one before."""
    record = struct.Struct("<QBB2B4B2Q4Q")
    path = tmp_path / "loads.champsimtrace"
    records = (
        record.pack(0x400000 + 4 * (n % 16), 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0x10000000 + 64 * n, 0, 0, 0)
        for n in range(INSTRUCTIONS)
    )
    path.write_bytes(b"".join(records))
    return path


def test_champsim_window_statistics_fit_their_schema_also_for_a_compressed_trace(
    casemate: Casemate, trace: Path
) -> None:
    packed = trace.with_suffix(".champsimtrace.gz")
    packed.write_bytes(gzip.compress(trace.read_bytes()))
    window = ("--warmup", "1K", "--instructions", "2K", "--json")
    plain = casemate("champsim", str(trace), *window).json()
    jsonschema.validate(plain, casemate("schema", "champsim").json())
    assert (plain["warmup_instructions"], plain["instructions"]) == (1_000, 2_000)
    assert plain["llc"]["misses"] >= 2_000
    assert casemate("champsim", str(packed), *window).json() == plain


def test_champsim_window_statistics_are_shown_as_a_table(casemate: Casemate, trace: Path) -> None:
    said = casemate("champsim", str(trace), "--warmup", "2K", "--instructions", "4K")
    assert said.code == 0
    assert "LLC" in said.out
    assert "4,000" in said.out


def test_a_trace_of_champsim_runs_under_any_design(casemate: Casemate, trace: Path) -> None:
    said = casemate("run", "--trace", str(trace), "--design", "none", "--design", "sc64-bmt", "--json")
    assert said.code == 0, said.err
    assert [record["instructions"] for record in said.json()["records"]] == [INSTRUCTIONS] * 2


def test_a_run_that_uses_values_of_a_trace_without_values_says_that_they_are_drawn(
    casemate: Casemate, trace: Path
) -> None:
    run = ("run", "--trace", str(trace), "--machine", "simplescalar-2005", "--design")
    drawn = "Values are drawn, since the trace has none"
    assert drawn in casemate(*run, "fvs-tdes").out
    assert drawn in casemate(*run, "none", "--values", "8").out
    assert drawn not in casemate(*run, "ocb-tdes").out
    record = casemate(*run, "fvs-tdes", "--json").json()["records"][0]
    assert record["configuration"]["workload"]["values"] == {"seeded": 1}


def test_a_file_that_is_no_trace_is_refused_with_its_length(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "short.champsimtrace").write_bytes(b"x" * 100)
    said = casemate("champsim", "short.champsimtrace", "--instructions", "1K")
    assert said.code == 2
    assert "100 bytes" in said.err
