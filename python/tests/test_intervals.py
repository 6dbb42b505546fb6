"""A run by interval: the intervals add up to the run, readers of the table receive numbers, and invalid requests are
refused.
"""

import csv
import importlib.util
import json
import math
import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from casemate import BuiltIn, CasemateError, RunOptions, _core, api, intervals
from casemate.schemas import Interval
from casemate.schemas.base import Result
from casemate.schemas.counters import Traffic
from casemate.schemas.figures import METADATA
from conftest import NO_PLACES_FOR_A_FILE, SMALL, Casemate, refused_before_the_run
from hypothesis import given, settings
from hypothesis import strategies as some

COMMAND = [sys.executable, "-m", "casemate"]
INTERVALS = ("--interval", "10K", "--intervals", "phases.csv")
NO_SUMS = {"ipc", "read_latency_ns", "reads", "start", "start_fs"}
"""Fields of an interval that are no sums, so that they do not add up to the run's."""


def _numbers(found: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Every number in a piece of JSON, with its path."""
    if isinstance(found, dict):
        for name, value in found.items():
            yield from _numbers(value, (*path, name))
    elif isinstance(found, list):
        for index, value in enumerate(found):
            yield from _numbers(value, (*path, str(index)))
    elif isinstance(found, int):
        yield path, found


def _table(path: str | Path) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("machine", "designs"), [("modern", ["none", "sc64-bmt"]), ("secpb-pcm", ["secpb-nogap"])])
@settings(max_examples=8, deadline=None)
@given(length=some.integers(100, 60_000), warm_up=some.sampled_from([0, 10_000]))
def test_the_intervals_of_a_record_add_up_to_its_totals(
    machine: str, designs: list[str], length: int, warm_up: int
) -> None:
    options = RunOptions(limit="50K", warm_up=warm_up, interval=length, protection=False)
    program = BuiltIn("gups", {"footprint": "1 MB"})
    results = api.run(program, machine=machine, designs=designs, options=options)
    without = RunOptions(limit="50K", warm_up=warm_up, protection=False)
    other = api.run(program, machine=machine, designs=designs, options=without)
    for record, plain in zip(results.records, other.records, strict=True):
        assert record.event_hash == plain.event_hash
        assert record.model_dump(exclude={"host", "intervals"}) == plain.model_dump(exclude={"host", "intervals"})
        assert plain.intervals == ()
        whole = dict(_numbers(json.loads(record.to_json())))
        sums = dict[tuple[str, ...], int]()
        for interval in record.intervals:
            for path, number in _numbers(json.loads(interval.to_json())):
                sums[path] = sums.get(path, 0) + number
        summed = {path for path in sums if path[0] not in NO_SUMS}
        assert len(summed) > 100
        assert {path: sums[path] for path in summed} == {path: whole[path] for path in summed}


def test_the_interval_table_has_a_row_for_each_interval_of_each_design(casemate: Casemate) -> None:
    said = casemate("run", *SMALL, *INTERVALS, "--json")
    assert said.code == 0
    assert "wrote phases.csv" in said.err
    jsonschema.validate(said.json(), casemate("schema", "run").json())
    records = said.json()["records"]
    table = _table("phases.csv")
    assert [(row["machine"], row["design"], int(row["interval"])) for row in table] == [
        ("modern", design, number) for design in ("none", "sc64-bmt") for number in range(5)
    ]
    found = [interval for record in records for interval in record["intervals"]]
    for row, interval in zip(table, found, strict=True):
        node, llc, reads = interval["node"], interval["llc"], interval["reads"]
        expected = {
            "start_instruction": interval["start"],
            "start_ns": interval["start_fs"] / 1e6,
            "instructions": interval["instructions"],
            "time_ns": interval["time_fs"] / 1e6,
            "ipc": interval["instructions"] / interval["cycles"],
            "l1d_mpki": 1000 * node["l1d"]["misses"] / node["instructions"],
            "llc_mpki": 1000 * llc["misses"] / node["instructions"],
            "reads_p99_ns": reads["p99_ns"],
            "reads_counter_ns": reads["parts_ns"]["counter"],
            "lost_window_cycles": node["lost_cycles"]["window"],
            "counters_lines_read": interval["protection"]["fetched"]["counters"],
            "data_lines_written": interval["protection"]["stored"]["data"],
            "bandwidth_gb_per_s": interval["dram_bytes"] / (interval["time_fs"] / 1e6),
        }
        assert {name: float(row[name]) for name in expected} == pytest.approx(expected, rel=1e-12)
        cache = interval["metadata_caches"][0]
        looked_up = cache["hits"] + cache["misses"]
        rate = float(row["counters_hit_rate"])
        assert rate == pytest.approx(cache["hits"] / looked_up) if looked_up else math.isnan(rate)
    by_design = [sum(int(row["dram_bytes"]) for row in table if row["design"] == r) for r in ("none", "sc64-bmt")]
    assert by_design == [record["dram_bytes"] for record in records]


def test_every_cause_in_an_interval_record_has_a_table_column() -> None:
    names = [name for name, _ in intervals._columns()]
    assert len(names) == len(set(names)), "no name is taken twice"
    parts = [name for name in names if name.startswith("reads_") and name not in ("reads_mean_ns", "reads_p99_ns")]
    assert {"reads_admission_ns", "reads_memory_queue_ns", "reads_on_chip_ns"} <= set(parts)
    assert {"lost_fetch_cycles", "lost_idle_cycles"} <= set(names)
    results = api.run(BuiltIn("gups", {"footprint": "1 MB"}), designs="sc64-bmt", options=_options("10K"))
    for row in intervals.rows(results):
        spent = sum(float(value) for name, value in row.items() if name in parts and name != "reads_median_ns")
        assert spent == pytest.approx(float(row["reads_mean_ns"]))


def test_a_persist_buffer_is_counted_by_interval_only_if_a_design_has_one() -> None:
    program = BuiltIn("stores", {"footprint": "4 KB"})
    results = api.run(program, machine="secpb-pcm", designs=["secpb-nogap", "none"], options=_options("10K"))
    table = intervals.rows(results)
    counted = results.records[0].persist_buffer
    assert counted is not None
    rows = [row for row in table if row["design"] == "secpb-nogap"]
    for name, number in counted.model_dump().items():
        assert sum(int(row[f"persist_buffer_{name}"]) for row in rows) == number, name
    assert counted.stores > 0
    assert counted.answer_cycles > 0
    for row in (row for row in table if row["design"] == "none"):
        assert math.isnan(float(row["persist_buffer_stores"]))


def test_speculation_is_counted_by_interval_only_if_a_design_speculates() -> None:
    program = BuiltIn("gups", {"footprint": "1 MB"})
    results = api.run(program, designs=["fvs-aes", "sc64-bmt"], options=_options("10K"))
    table = intervals.rows(results)
    counted = results.records[0].speculation
    assert counted is not None
    assert counted.chunks > 0
    rows = [row for row in table if row["design"] == "fvs-aes"]
    for name in ("hits", "late_hits", "squashed", "misses"):
        assert sum(int(row[f"chunks_{name}"]) for row in rows) == getattr(counted, name)
    rates = [float(row["words_predicted_rate"]) for row in rows]
    assert any(0 < rate <= 1 for rate in rates)
    for row in (row for row in table if row["design"] == "sc64-bmt"):
        assert all(math.isnan(float(row[name])) for name in ("words_predicted_rate", "chunks_hits", "chunks_misses"))


def test_new_causes_in_an_interval_record_get_table_columns() -> None:
    class Stalls(Result):
        tree: int
        tag: int

    class Core(Result):
        retired: int
        stalled_cycles: Stalls | None

    class Part(Interval):
        core: Core

    columns = dict(intervals._causes(Part))
    assert {"core_tree_cycles", "stalled_tag"}.isdisjoint(columns)
    counted = json.loads(_one_interval().to_json())
    for stalls, tree in (({"tree": 3, "tag": 4}, 3.0), (None, math.nan)):
        part = Part.model_validate_json(json.dumps({**counted, "core": {"retired": 1, "stalled_cycles": stalls}}))
        assert columns["stalled_tree_cycles"](part) == pytest.approx(tree, nan_ok=True)


def _one_interval() -> Interval:
    results = api.run(BuiltIn("gups", {"footprint": "1 MB"}), designs="none", options=_options("50K"))
    (interval,) = results.records[0].intervals
    return interval


def _options(interval: str | int) -> RunOptions:
    return RunOptions(limit="50K", interval=interval, protection=False)


def test_missing_interval_figures_are_written_as_nan(casemate: Casemate) -> None:
    casemate("run", "--workload", "gups", "--set", "footprint=4 KB", *SMALL[4:], *INTERVALS)
    quiet = [row for row in _table("phases.csv") if row["llc_misses"] == "0"]
    assert quiet
    for row in quiet:
        assert row["reads"] == "0"
        assert row["reads_mean_ns"] == row["reads_tree_ns"] == row["read_latency_ns"] == "NaN"
        assert all(math.isfinite(float(row[name])) for name in ("ipc", "llc_mpki", "bandwidth_gb_per_s"))


@pytest.mark.parametrize("reader", ["pandas", "polars"])
def test_pandas_and_polars_read_the_columns_as_numbers(casemate: Casemate, reader: str) -> None:
    if importlib.util.find_spec(reader) is None:
        pytest.skip(f"{reader} is not installed")
    casemate("run", *SMALL, "--interval", "200", "--intervals", "phases.csv")
    table = importlib.import_module(reader).read_csv("phases.csv")
    rows = _table("phases.csv")
    assert len(table) == len(rows) > 200
    for name in rows[0].keys() - {"machine", "design"}:
        assert str(table[name].dtype).lower() in ("int64", "float64"), name
        assert list(table[name])[-1] == pytest.approx(float(rows[-1][name]), nan_ok=True)


def test_a_single_interval_over_the_whole_run_has_the_figures_of_the_verbose_table(casemate: Casemate) -> None:
    said = casemate(
        "run", *SMALL, "--design", "sc64-bmt", "--verbose", "--interval", "50K", "--intervals", "phases.csv"
    )
    (row,) = _table("phases.csv")
    figures = {name: float(value) for name, value in row.items() if name not in ("machine", "design")}
    expected = {
        "mean": f"{figures['reads_mean_ns']:.1f} ns",
        "memory queue": f"{figures['reads_memory_queue_ns']:.1f} ns",
        "L1D: misses/1000 instr.": f"{figures['l1d_mpki']:.2f}",
        "LLC: misses/1000 instr.": f"{figures['llc_mpki']:.2f}",
        "nodes: hits, misses/1000 instr.": f"{100 * figures['tree_hit_rate']:.1f} %, {figures['tree_mpki']:.2f}",
        "memory bandwidth": f"{figures['bandwidth_gb_per_s']:.2f} GB/s",
    }
    lines = {" ".join(line.split()) for line in said.out.splitlines()}
    assert {f"{question} {answer}" for question, answer in expected.items()} <= lines, said.out


def test_the_interval_table_contains_several_machines_and_cores(casemate: Casemate) -> None:
    on_two = ("--design", "none", "--machine", "modern", "--machine", "emcc-4core", "--copies", "1")
    casemate("run", *SMALL, *on_two, *INTERVALS)
    assert {row["machine"] for row in _table("phases.csv")} == {"modern", "emcc-4core"}
    casemate("run", *SMALL, *on_two[:2], "--machine", "emcc-4core", "--copies", "4", *INTERVALS)
    assert sum(int(row["instructions"]) for row in _table("phases.csv")) == 200_000


def test_run_records_contain_intervals_without_an_interval_table(casemate: Casemate, tmp_path: Path) -> None:
    casemate("run", *SMALL, "--design", "none", "--interval", "25K", "--output", "records")
    (path,) = (tmp_path / "records").iterdir()
    assert [interval["instructions"] > 20_000 for interval in json.loads(path.read_text())["intervals"]] == [True] * 2
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(("target", "expected"), NO_PLACES_FOR_A_FILE)
def test_an_unusable_path_is_refused_before_the_run(
    casemate: Casemate, tmp_path: Path, target: str, expected: str
) -> None:
    refused_before_the_run(casemate, tmp_path, ("--interval", "1M", "--intervals", target), expected)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (("--interval", "1M"), "add --intervals FILE.csv, --report FILE.html, --output FOLDER or --json"),
        (("--intervals", "x.csv"), "add --interval N, as in 1M"),
        (("--interval", "0", "--intervals", "x.csv"), "an interval of 0 instructions (--interval) has no end"),
        (("--interval", "-5", "--intervals", "x.csv"), "'-5' is not a number of instructions"),
        (("--interval", "5us", "--intervals", "x.csv"), "'5us' is not a number of instructions"),
        (("--interval", "all", "--intervals", "x.csv"), "'all' is not a number of instructions"),
        (("--interval", "x.csv", "--intervals", "1M"), "'x.csv' is not a number of instructions"),
        (("--interval", "1M", "--intervals", "1M"), "'1M' would be a table as CSV: expected a name that ends in .csv"),
        (("--interval", "1M", "--intervals", "x.parquet"), "expected a name that ends in .csv"),
        (("--interval", "1", "--intervals", "x.csv"), "more than 10000 intervals of 1 instructions (--interval): make"),
        ((*INTERVALS, "--detail", "sampled"), "a sampled run cannot be counted by interval (--interval)"),
        ((*INTERVALS, "--bus", "phases.csv"), "'phases.csv' is asked for twice"),
        ((*INTERVALS, "--trace-window", "20us:5us", "-o", "phases.csv"), "'phases.csv' is asked for twice"),
    ],
)
def test_invalid_excerpt_or_interval_options_are_refused_before_the_run(
    casemate: Casemate, tmp_path: Path, wrong: tuple[str, ...], expected: str
) -> None:
    said = casemate("run", *SMALL, *wrong)
    assert said.code == 2
    assert expected in " ".join(said.err.split())
    assert "Running" not in said.err
    assert said.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [0, "0", -1, "much"])
def test_the_api_refuses_an_invalid_interval(wrong: str | int) -> None:
    with pytest.raises(CasemateError, match="interval"):
        api.run(BuiltIn("gups"), options=_options(wrong))


def test_a_full_disk_is_a_one_line_error_and_keeps_the_earlier_output_file(tmp_path: Path) -> None:

    def no_file_above(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    (tmp_path / "phases.csv").write_text("old")
    ended = subprocess.run(
        [*COMMAND, "run", *SMALL, *INTERVALS], cwd=tmp_path, capture_output=True, text=True,
        preexec_fn=partial(no_file_above, 1000),
    )  # fmt: skip
    assert ended.returncode == 2, ended.stderr
    assert [line for line in ended.stderr.splitlines() if "cannot write" in line] == [
        "casemate: cannot write 'phases.csv': File too large"
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["phases.csv"]
    assert (tmp_path / "phases.csv").read_text() == "old"


def test_ctrl_c_keeps_the_run_intervals_counted_until_then(interrupted: Casemate, tmp_path: Path) -> None:
    said = interrupted(
        "run", "--workload", "gups", "--set", "footprint=1 MB", "--limit", "all", "--design", "none", "--json",
        "--interval", "100K", "--intervals", "phases.csv",
    )  # fmt: skip
    assert said.code == 130
    (record,) = json.loads(said.out)["records"]
    table = _table(tmp_path / "phases.csv")
    assert sum(int(row["instructions"]) for row in table) == record["instructions"]
    assert len(table) == len(record["intervals"]) >= 1


def test_the_package_names_the_kinds_of_lines_and_the_caches_of_a_record() -> None:
    assert list(Traffic.model_fields) == _core.KINDS
    assert METADATA == ("counters", "tags", "nodes", "bitmaps")
