"""Pages with numbers that rows of tables do not have: percentiles, intervals, and figures that a paper derives."""

import csv
import html
import math
from pathlib import Path

import pytest
from casemate.report import latencies, phases
from casemate.schemas.derivation import Derivation
from conftest import SMALL, Casemate
from report_pages import data, figures, notices

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytest.importorskip("duckdb")


def percentile(histogram: list[list[int]], permille: int) -> float:
    """Returns a percentile in nanoseconds: each latency of a bucket is in the middle of its share of the bucket."""
    latencies: list[float] = []
    for end, count in histogram:
        width = end if end == 2**20 + 2**15 else 2 ** ((end - 1).bit_length() - 6)
        latencies += [end - width + (index + 0.5) * width / count for index in range(count)]
    return latencies[math.ceil(len(latencies) * permille / 1000) - 1] / 1e6


def test_the_percentiles_of_a_page_are_those_of_the_record_and_of_its_histogram(casemate: Casemate) -> None:
    said = casemate("run", *SMALL, "--design", "none", "--design", "sc64-bmt", "--report", "page.html", "--json")
    reads = [record["reads"] for record in said.json()["records"]]
    columns = data(Path("page.html"))["tables"]["runs"]["columns"]
    assert columns["latency_p50"] == pytest.approx([each["median_ns"] for each in reads], rel=1e-6)
    assert columns["latency_p99"] == pytest.approx([each["p99_ns"] for each in reads], rel=1e-6)
    for name, permille in latencies.PERMILLES.items():
        by_hand = [percentile(each["histogram"], permille) for each in reads]
        assert columns[f"latency_{name}"] == pytest.approx(by_hand, rel=1e-6)


def test_a_run_by_interval_has_a_row_for_each_interval_of_each_design(casemate: Casemate) -> None:
    words = ("--design", "none", "--design", "sc64-bmt", "--no-attacks", "--interval", "10K")
    said = casemate("run", *SMALL, *words, "--report", "page.html", "--intervals", "table.csv", "--output", "records")
    assert said.code == 0, said.err
    assert casemate("report", "records", "-o", "records.html").code == 0
    expected = list(csv.DictReader(Path("table.csv").read_text().splitlines()))
    assert len(expected) == 10
    for page in ("page.html", "records.html"):
        rows = data(Path(page))["tables"]["intervals"]["columns"]
        by_design = dict(zip(("none", "sc64-bmt"), (expected[:5], expected[5:]), strict=True))
        for design, listed in by_design.items():
            own = [rows["design"]["names"][index] == design for index in rows["design"]["values"]]
            for column, value in (
                ("start", lambda row: row["start_instruction"]), ("ipc", lambda row: row["ipc"]),
                ("latency_ns", lambda row: row["read_latency_ns"]),
                ("bytes_per_instruction", lambda row: float(row["dram_bytes"]) / float(row["instructions"])),
            ):  # fmt: skip
                shown = [number for number, is_own in zip(rows[column], own, strict=True) if is_own]
                assert shown == pytest.approx([float(value(row)) for row in listed], rel=1e-6)
        assert {"phases-ipc", "phases-latency", "phases-traffic"} <= set(figures(Path(page)))


def test_too_many_intervals_are_left_out_with_a_notice(casemate: Casemate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phases, "ROWS_MAX", 4)
    words = ("--design", "none", "--no-attacks", "--report", "page.html")
    assert casemate("run", *SMALL, *words, "--interval", "10K").code == 0
    assert "more than 4 intervals" in notices(Path("page.html"))
    assert "phases-ipc" not in figures(Path("page.html"))
    assert casemate("run", *SMALL, *words, "--interval", "20K").code == 0
    assert "phases-ipc" in figures(Path("page.html"))


def test_derived_figures_make_a_page_with_each_figure_of_the_thesis(casemate: Casemate) -> None:
    said = casemate("reproduce", "gcm", "--bandwidth", "51.2", "--output", "gcm", "--json")
    found = Derivation.model_validate_json(said.out)
    assert casemate("report", "gcm", "-o", "page.html").code == 0
    content = data(Path("page.html"))
    assert len(figures(Path("page.html"))) == len(found.dots) + len(found.tables) + 1
    rows = content["tables"]["derived"]["columns"]
    expected = [row for table in found.tables for row in table.rows]
    assert rows["computed"] == pytest.approx([row.computed for row in expected], rel=1e-6)
    printed = [None if index is None else rows["printed"]["names"][index] for index in rows["printed"]["values"]]
    assert printed == [row.printed for row in expected]
    differing = [row.difference_percent if row.agreement == "differs" else None for row in expected]
    assert [value is None for value in rows["difference_percent"]] == [value is None for value in differing]
    needs = content["tables"]["needs"]["columns"]
    assert needs["power_w"] == pytest.approx([need.power_w for need in found.needs], rel=1e-6)
    assert found.brief() in html.unescape(notices(Path("page.html")))
    assert casemate("report", "gcm", "-o", "page.html", "--where", "ipc > 1").code == 2
