"""Text traces of Ramulator and DRAMsim3: requests behind the caches, under any design."""

import lzma
from pathlib import Path

import jsonschema
import pytest
from conftest import Casemate

REQUESTS = 600


def text(form: str) -> str:
    """A trace of a form: two reads for each write, each far from the one before."""
    lines = []
    for n in range(REQUESTS):
        address, is_write = 0x1000_0000 + n * 7919 % 65_536 * 64, n % 3 == 0
        lines.append(
            {
                "ramulator-memory": f"{address:#x} {'W' if is_write else 'R'}",
                "ramulator-load-store": f"{'ST' if is_write else 'LD'} {address}",
                "ramulator-cpu": f"{n % 9} {address}" + (f" {address + 0x100_0000}" if is_write else ""),
                "dramsim3": f"0x{address:X} {'WRITE' if is_write else 'READ'} {40 * n}",
            }[form]
        )
    return "\n".join(lines) + "\n"


PACES = {
    "ramulator-memory": "at-once",
    "ramulator-load-store": "at-once",
    "ramulator-cpu": "after-instructions",
    "dramsim3": "at-clocks",
}


@pytest.mark.parametrize("form", PACES)
def test_a_text_request_trace_runs_behind_the_caches_and_the_output_states_this(
    casemate: Casemate, tmp_path: Path, form: str
) -> None:
    (tmp_path / "x.champsimtrace.gz").write_bytes(lzma.compress(text(form).encode()))
    run = ("run", "--trace", "x.champsimtrace.gz", "--design", "none", "--design", "sc64-bmt", "--seed", "7")
    said = casemate(*run)
    assert said.code == 0, said.err
    assert f"{REQUESTS} requests behind the caches" in said.out
    assert "values drawn from seed 7" in said.out
    assert "IPC" not in said.out
    found = casemate(*run, "--json").json()
    jsonschema.validate(found, casemate("schema", "run").json())
    plain, protected = found["records"]
    assert found["passed"] is True
    assert plain["configuration"]["workload"]["requests"] == PACES[form]
    assert plain["configuration"]["workload"]["values"] == {"seeded": 7}
    reads = 600 if form == "ramulator-cpu" else 400
    assert (plain["dram"]["reads"], plain["dram"]["writes"], plain["llc"]["hits"]) == (reads, 200, 0)
    assert protected["dram_bytes"] > plain["dram_bytes"]
    assert casemate(*run, "--check-values").code == 1
    info = casemate("trace", "info", "x.champsimtrace.gz", "--json").json()
    assert (info["format"], info["totals"]["instructions"]) == (form, REQUESTS)
    refused = casemate("champsim", "x.champsimtrace.gz", "--instructions", "100")
    assert refused.code == 2
    assert "expected a trace of ChampSim" in refused.err


def test_an_invalid_line_anywhere_in_a_request_trace_is_refused_with_its_number(
    casemate: Casemate, tmp_path: Path
) -> None:
    for before in (3, 30_000):
        lines = "".join(f"{64 * n:#x} R\n" for n in range(before))
        (tmp_path / "x").write_text(f"{lines}what is this\n0x40 W\n")
        said = casemate("run", "--trace", "x", "--design", "none")
        assert (said.code, said.out) == (2, "")
        assert f"line {before + 1} is not a request: expected ADDRESS R|W" in said.err


def test_a_request_trace_without_reads_does_not_count_as_checked(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("".join(f"ST {64 * n}\n" for n in range(100)))
    said = casemate("run", "--trace", "x", "--design", "sc64-bmt")
    assert said.code == 1
    assert "no line was read from memory and compared" in said.out
    assert "passed" not in said.out
    assert "FAILED" not in said.out


def test_options_that_do_not_apply_to_request_traces_are_refused_before_a_run(
    casemate: Casemate, tmp_path: Path
) -> None:
    (tmp_path / "x").write_text(text("dramsim3"))
    for options, expected in (
        (("--warm-up", "10"), "no instructions to warm up"),
        (("--detail", "sampled"), "no instructions to warm up"),
        (("--machine", "emcc-4core", "--workload", "gups"), "runs without other programs"),
        (("--machine", "emcc-4core", "--copies", "2"), "runs without other programs"),
        (("--persistent", "mapped"), "a trace of DRAMsim3, which does not record mappings"),
    ):
        said = casemate("run", "--trace", "x", "--design", "none", *options)
        assert (said.code, said.out) == (2, ""), options
        assert expected in said.err, said.err
