"""Parts of a report without a browser: causes, colours, swept values, baselines, campaigns and reproductions."""

import itertools
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import casemate as cm
import pytest
from casemate._core import CasemateError
from casemate.report import campaigns, charts, conditions, content, measures, reading
from casemate.report.figure import Context, Figure, Swept
from casemate.report.reading import Source
from casemate.reproduce import KEPT
from casemate.schemas.counters import ProtectionWork
from casemate.schemas.waits import CoreTime, ReadParts
from report_pages import Row, reproduction, row_of_a_run, write
from test_notebook_tables import contrast

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytest.importorskip("duckdb")

BEFORE_THE_CONTROLLER = {"write_back", "persist_buffer", "fence"}
"""Waits of cores that are part of no read."""


def joined(causes: dict[str, tuple[str, ...]]) -> list[str]:
    """Returns the fields that the causes of a figure join."""
    return sorted(itertools.chain.from_iterable(causes.values()))


def test_the_causes_of_a_figure_cover_each_field_of_a_record_once() -> None:
    own = {name.removesuffix("_cycles") for name in CoreTime.model_fields} - {"cycles", "waiting"}
    waits = {f"waiting_{name}" for name in ReadParts.model_fields}
    assert joined(measures.TIME_CAUSES) == sorted(own | waits)
    assert joined(measures.READ_CAUSES) == sorted(ReadParts.model_fields.keys() - BEFORE_THE_CONTROLLER)
    for field in ("fetched", "stored"):
        kinds: Any = ProtectionWork.model_fields[field].annotation
        assert set(measures.KINDS) == set(kinds.model_fields)


def test_designs_have_distinct_colours_that_are_visible_on_a_light_and_a_dark_page() -> None:
    assert len(set(charts.COLOURS)) == len(charts.COLOURS)
    style = (files("casemate.report") / "report.css").read_text()
    light, dark, *_ = re.findall(r"--paper: (#\w{6})", style)
    for colour in charts.COLOURS:
        assert contrast(colour, light) >= 3
        assert contrast(colour, dark) >= 3
    assert len(set(charts.CELLS.values())) == len(charts.CELLS)
    assert all(contrast(charts.CELL_INK, colour) >= 4.5 for colour in charts.CELLS.values())


def test_the_lines_of_intervals_go_from_the_low_to_the_high_end() -> None:
    (swept,) = (Swept("machine.llc.size", "machine_llc_size_bytes", "swept_0"),)
    context = Context(frozenset(), "none", (swept,), ("none", "sc64-bmt"), {"swept_0": ("2.0 MB", "4.0 MB")})
    for draw, along in ((charts.dots, "x"), (charts.curve(swept), "y"), (charts.paper("s", ("ours",), True), "x")):
        chart = charts.compiled(draw(Figure("f", "F", "", "dots", (measures.SLOWDOWN,)), context))
        rules = [mark["encode"]["update"] for mark in chart["marks"] if mark["type"] == "rule"]
        (encoded,) = (rule for rule in rules if "field" in rule[along])
        assert [encoded[end]["field"] for end in (along, f"{along}2")] == ["low", "high"]


@pytest.mark.parametrize(
    ("column", "values", "shown"),
    [
        ("machine_llc_size_bytes", (16 << 20, 2 << 20, 512 << 10, 64), ("64 B", "512.0 KB", "2.0 MB", "16.0 MB")),
        ("machine_llc_size_bytes", (5 << 18, 5 * 2**18 + 2**14, 2**20 + 1), ("1024.001 KB", "1.25 MB", "1296.0 KB")),
        ("machine_llc_ways", (16, 8, 128), ("8", "16", "128")),
        ("machine_clock_mhz", (0.5, 10.0), ("0.5", "10")),
        ("design_counters", ("sc64", "morphable"), ("morphable", "sc64")),
    ],
)
def test_values_of_a_swept_key_are_in_order(column: str, values: tuple[Any, ...], shown: tuple[str, ...]) -> None:
    rows: list[Row] = [{"swept_0": value} for value in (*values, None)]
    assert reading.name_swept(rows, (Swept("key", column, "swept_0"),)) == {"swept_0": shown}
    assert {row["swept_0"] for row in rows} == {*shown, None}


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Row:
    """The row of one run, without its record."""
    return row_of_a_run(tmp_path_factory.mktemp("records"))


def content_of(folder: Path, where: str = "") -> content.Content:
    """Returns the content of the page of a folder."""
    return content.of(Source.of(folder, None, False, where))


@pytest.mark.parametrize(
    "varied", [{"machine_llc_size_bytes": 1 << 20}, {"budget": 77}, {"warm_up": 7}, {"machine_memory_placement": "x"}]
)
def test_a_run_is_compared_with_the_baseline_on_the_same_machine_and_with_the_same_options(
    record: Row, tmp_path: Path, varied: Row
) -> None:
    rows = [record | {"design": "none", "time_fs": 100}, record | {"design": "sc64-bmt", "time_fs": 150}]
    rows += [row | varied | {"time_fs": 10 * row["time_fs"] + 500} for row in rows]
    found = content_of(write(tmp_path / "rows", rows)).tables["runs"]
    assert [(row["label"], row["slowdown"]) for row in found] == [
        ("none", 1.0), ("none", 1.0), ("sc64-bmt", 1.5), ("sc64-bmt", pytest.approx(2000 / 1500)),
    ]  # fmt: skip


def test_a_run_of_another_length_has_no_ratio(record: Row, tmp_path: Path) -> None:
    rows = [record, record | {"design": "sc64-bmt", "feed_instructions": record["feed_instructions"] - 1}]
    found = content_of(write(tmp_path / "rows", rows))
    assert {row["label"]: row["slowdown"] for row in found.tables["runs"]} == {"none": 1.0, "sc64-bmt": None}
    assert any(notice.startswith("1 run without a ratio") for notice in found.notices)


def test_a_baseline_without_memory_traffic_gives_no_ratio_of_traffic(record: Row, tmp_path: Path) -> None:
    rows = [record | {"dram_bytes": 0}, record | {"design": "sc64-bmt", "dram_bytes": 640}]
    found = content_of(write(tmp_path / "rows", rows)).tables["runs"]
    assert [(row["slowdown"], row.get("traffic")) for row in found] == [(1.0, None), (1.0, None)]


def test_an_unfinished_study_states_the_number_of_missing_points(
    record: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "rows", [record])
    monkeypatch.setattr(conditions, "planned_points", lambda source: 3)
    assert "The study is unfinished: 2 of 3 points are missing." in content_of(folder).notices
    monkeypatch.setattr(conditions, "planned_points", lambda source: 1)
    assert not any("unfinished" in notice for notice in content_of(folder).notices)


def test_the_claimed_share_leaves_out_hypothetical_attacks_and_those_without_a_target(
    record: Row, tmp_path: Path
) -> None:
    claims = {name: "not-applicable" for name in record if name.startswith("design_claims_")}
    claims |= {
        "design_claims_flip_data": "detected", "design_claims_spoof_data": "forged",
        "design_claims_replay_data": "bounded", "design_claims_bus_repeat": "leaked",
    }  # fmt: skip
    claims |= {f"design_claims_{each.name.replace('-', '_')}": "stale" for each in cm.attacks() if each.hypothetical}
    assert any(each.hypothetical for each in cm.attacks())
    (row,) = content_of(write(tmp_path / "rows", [record | claims])).tables["runs"]
    assert row["protection"] == 50.0


def attack_row(record: Row, seed: int, ends: dict[str, tuple[str, bool]]) -> Row:
    """Returns the row of a campaign in which each attack ended so, as claimed or not."""
    outcomes = [
        {"attack": name, "worst": worst, "claim": "detected", "agrees": agrees, "hypothetical": name == "hypothetical"}
        for name, (worst, agrees) in ends.items()
    ]
    kept = ("version", "build", "status", "design", "machine", "program", "changes")
    return {name: record.get(name, "") for name in kept} | {
        "kind": "attack", "seed": seed, "trials": 1, "record": json.dumps({"rows": outcomes}),
    }  # fmt: skip


def test_a_cell_has_the_worst_end_over_the_seeds_and_any_contradiction(record: Row, tmp_path: Path) -> None:
    rows = [
        attack_row(record, 1, {"a": ("leaked", False), "b": ("detected", True), "hypothetical": ("forged", False)}),
        attack_row(record, 2, {"a": ("detected", True), "b": ("stale + leaked", True)}),
    ]
    found = campaigns.attacks(Source.of(write(tmp_path / "rows", [record, *rows]), None, False))
    assert [(row["tried"], row["worst"], row["agrees"], row["group"], row["shown"]) for row in found] == [
        ("a", "leaked", False, "leaked", "≠ leaked"), ("b", "stale + leaked", True, "wrong data", "stale +leak"),
    ]  # fmt: skip
    assert campaigns.protection(found) == {"none": 0.0}


def test_each_number_of_a_paper_is_next_to_the_series_that_it_belongs_to(record: Row, tmp_path: Path) -> None:
    found = reproduction()
    (figure,) = found.figures
    series = tuple(
        each.model_copy(update={"paper": paper}) for each, paper in zip(figure.series, (1.25, 7.0), strict=True)
    )
    folder = write(tmp_path / "rows", [record])
    changed = found.model_copy(update={"figures": (figure.model_copy(update={"series": series}),)})
    (folder / KEPT).write_text(changed.to_json())
    rows = content_of(folder).tables["paper"]
    assert [(row["series"], row["paper"]) for row in rows if row["case"] == "mean of all"] == [
        (each.name, each.paper) for each in series
    ]
    with pytest.raises(CasemateError, match="a reproduction has the figures of all its runs: expected no condition"):
        content_of(folder, "design = 'none'")
