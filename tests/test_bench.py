"""The arithmetic of scripts/bench.py: medians, targets, ratios and the comparison with the last measurement."""

from __future__ import annotations

import json
from pathlib import Path

import bench
import bench_builds
import pytest
from bench_counts import COUNTED, Counted, collected
from bench_history import ROOT, History, Row, Target
from bench_misses import KINDS, totals


def test_the_benchmark_reports_the_run_with_the_median_speed() -> None:
    runs = [{"per_second": speed, "number": number} for number, speed in enumerate((3.0, 1.0, 2.0))]
    assert bench.median(runs) == {"per_second": 2.0, "number": 2}


def test_benchmark_speeds_are_compared_with_their_target() -> None:
    assert Target(2e6).verdict(2e6) == "ok, >= 2 M"
    assert Target(2e6).verdict(1.99e6) == "BELOW 2 M"
    assert Target().verdict(1.0) == ""


def test_cryptography_that_takes_more_than_a_tenth_of_the_time_is_named() -> None:
    shown = [Row("crypto", "stream", "instructions", 1e6, details={"crypto_share": s}).shown() for s in (0.1, 0.101, 0)]
    assert ["ABOVE" in line for line in shown] == [False, True, False]
    assert ["crypto 1" in line for line in shown] == [True, True, False]


def test_a_benchmark_row_shows_its_ratio_only_to_a_reference_of_the_same_workload() -> None:
    reference = [{"workload": "mix", "champsim": 100.0}, {"workload": "hot", "champsim": 200.0}]
    assert Row("run", "mix", "instructions", 5_000.0).with_reference(reference, workload="mix").times_as_fast_as == {
        "champsim": 50.0
    }
    assert not Row("run", "chase", "instructions", 5_000.0).with_reference(reference, workload="chase").times_as_fast_as


def test_benchmark_figures_are_compared_with_the_newest_stored_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, speed in (("2026-01-01T00-00-00Z", 1e6), ("2026-01-02T00-00-00Z", 2e6)):
        first = History(tmp_path, [])
        first.add("part", [Row("run", "mix", "instructions", speed)])
        first.store().rename(tmp_path / f"{name}.json")
    part_of_it = History(tmp_path, [])
    part_of_it.add("another part", [Row("dram", "random reads", "requests", 3e6)])
    part_of_it.store().rename(tmp_path / "2026-01-03T00-00-00Z.json")
    later = History.open(tmp_path)
    later.add("part", [Row("run", "mix", "instructions", 1e6), Row("run", "new", "instructions", 1e6)])
    assert [row.before for row in later.rows] == [2e6, None]
    assert "0.50x SLOWER" in capsys.readouterr().out
    assert json.loads(later.store().read_text())["rows"][0]["before"] == 2e6


def test_benchmark_counts_that_change_by_more_than_three_percent_are_marked() -> None:
    moved = [Row("count", "mix", "instructions", rate, before=1e6).change() for rate in (0.971e6, 0.969e6, 1.031e6)]
    assert moved == ["0.971x", "0.969x SLOWER", "1.031x faster"]


def test_an_instruction_count_of_zero_in_a_benchmark_is_an_error() -> None:
    assert collected("==1== \n==1== Collected : 1234\n==1==") == 1234
    for says in ("==1== Collected : 0", "valgrind: no such tool"):
        with pytest.raises(RuntimeError, match="counted no instruction"):
            collected(says)


def test_every_timed_benchmark_run_is_also_counted_under_valgrind() -> None:
    counted = {(run.machine, run.workload, run.design) for run in COUNTED}
    measured = {(machine, workload, design) for machine, workload, _, designs, _ in bench.RUNS for design in designs}
    assert measured == counted


def test_stored_benchmark_figures_of_another_format_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "2026-01-01T00-00-00Z.json").write_text('{"rows": [{"per_second": 1}]}')
    assert History.open(tmp_path).earlier is None


def test_every_run_of_the_reference_is_measured() -> None:
    reference = json.loads((ROOT / "reference" / "speed.json").read_text())
    measured = {(machine, workload) for machine, workload, *_ in bench.RUNS}
    assert {(row["machine"], row["workload"]) for row in reference["runs"]} <= measured
    assert all(set(row) - {"workload", "machine"} <= set(reference["simulators"]) for row in reference["runs"])


def test_callgrind_totals_are_read_and_details_of_a_miss_shown_under_its_row() -> None:
    assert totals("events: Ir Dr I1mr\nfn=(1)\n12 3\ntotals: 700 20 5\n") == {"Ir": 700, "Dr": 20, "I1mr": 5}
    with pytest.raises(RuntimeError, match="counted no instruction"):
        totals("events: Ir Dr\ntotals: 0 0\n")
    row = Row("miss", "walk", "misses", 1e5, details={"of_each": {"ns": 1e4, "events": 27.6}})
    assert row.shown().splitlines()[1].strip() == "each 10,000.0 ns, 27.6 events"
    assert len(set(KINDS.values())) == len(KINDS)


def test_a_build_with_another_result_fails_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = {"released": "a", "same": "a", "other": "b"}

    def count(program: Path, run: Counted) -> Row:
        host = 100 if program.name == "released" else 150
        details = {"instructions": 10, "event_hash": hashes[program.name], "checks_passed": True}
        return Row("count", run.name(), "instructions", 1.0, details=details | {"host_instructions": host})

    monkeypatch.setattr(bench_builds, "count", count)
    run = Counted("modern", "trace:/tmp/gzip.trace", "none", 1, ("machine.llc.size=1 MB",))
    same, other = (bench_builds.compare(run, (Path("released"), Path(name))) for name in ("same", "other"))
    assert (same.ratio, same.per_instruction, same.agrees, other.agrees) == (1.5, 15.0, True, False)
    assert same.shown().split() == ["gzip,", "none,", "modern", "machine.llc.size=1", "MB", "15.0", "1.500x"]
    assert "DIFFERENT" in other.shown()
    assert bench_builds.summary([same]) == "1 runs: 1.50 to 1.50 times as many instructions, mean 1.50"


def test_every_other_simulated_benchmark_run_is_in_the_comparison_of_builds(tmp_path: Path) -> None:
    assert {(run.design, run.machine) for run in bench_builds.cryptography()} == set(bench.designs_with_machines())
    assert {run.design for run in bench_builds.speculation()} == set(sum(bench.SPECULATION, ()))
    assert len([*bench_builds.misses()]) == len(set(KINDS.values()) - set(COUNTED)) > 0
    assert len({run.name() for run in bench_builds.moving(tmp_path / "gzip.trace")}) == 4
