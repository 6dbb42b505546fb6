"""Pages of written runs in Chromium: means, intervals, compared groups, drawings and downloads, computed by hand."""

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any
from xml.etree import ElementTree

import pytest
from casemate.report import summarising, writing
from casemate.reproduce.study import half_width
from report_pages import Page, Row, browsing, opened, row_of_a_run, write

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytest.importorskip("duckdb")

SECOND_FS = 10**15
NAMES = (
    'a "quoted", name', "two\nlines", "a carriage\rreturn", "a\x01control letter", "currentColor", "constructor",
    "toString", "  blanks  ", "=1+1", "all programs", "中文 \U0001f600 \u202e", "x" * 300,
)  # fmt: skip
"""Names of programs that HTML, XML, CSV or a script may change."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a network in any tab."""
    with browsing() as started:
        yield started


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Row:
    """The row of one run, without its record."""
    return row_of_a_run(tmp_path_factory.mktemp("records"))


def row_of(record: Row, design: str, program: str, seed: int, ratio: float) -> Row:
    """Returns the row of a run whose time is a multiple of a second."""
    return record | {"design": design, "program": program, "seed": seed, "time_fs": round(ratio * SECOND_FS)}


def page_of(rows: list[Row], folder: Path) -> Path:
    """Writes the page of some rows."""
    write(folder / "rows", rows)
    writing.write(folder / "rows", folder / "page.html")
    return folder / "page.html"


def of_label(page: Page, figure: str) -> dict[str, Row]:
    """Returns the rows of a figure by design."""
    return {row["label"]: row for row in page.rows(figure)}


def test_an_interval_uses_the_number_of_its_seeds(browser: Any, record: Row, tmp_path: Path) -> None:
    ratios = (1.1, 1.2, 1.4, 1.5)
    seeds = range(1, 5)
    rows = [row_of(record, "none", "a", seed, 1) for seed in seeds]
    rows += [row_of(record, "sc64-bmt", "a", seed, ratio) for seed, ratio in zip(seeds, ratios, strict=True)]
    with opened(browser, page_of(rows, tmp_path)) as page:
        row = of_label(page, "summary")["sc64-bmt"]
        half = half_width(ratios)
        assert half is not None
        assert (row["slowdown"], row["slowdown_half"]) == (pytest.approx(1.3), pytest.approx(half, rel=1e-5))
        assert (row["seeds"], row["runs"]) == (4, 4)
        (shown,) = (row for row in page.table("summary") if row["design"] == "sc64-bmt")
        assert shown["time"] == f"1.300 ± {half:.3f}"
        assert "seeds 1, 2, 3, 4" in page.tab.locator("#summary .conditions").text_content()
        assert page.tab.locator("#slowdown .said").text_content() == (
            "Lowest time: a, none, 1.000. Highest: a, sc64-bmt, 1.300."
        )


def test_a_mean_is_first_that_of_each_seed_over_the_runs_that_all_designs_have(
    browser: Any, record: Row, tmp_path: Path
) -> None:
    runs = (("a", 1, 1.2), ("a", 2, 1.4), ("b", 1, 2.0))
    rows = [row_of(record, "none", program, seed, 1) for program, seed, _ in runs]
    rows += [row_of(record, "sc64-bmt", program, seed, ratio) for program, seed, ratio in runs]
    rows += [row_of(record, "ctr-mac", "a", 1, 1.1)]
    with opened(browser, page_of(rows, tmp_path)) as page:
        found = of_label(page, "summary")
        assert {label: row["slowdown"] for label, row in found.items()} == {
            "none": 1.0, "ctr-mac": pytest.approx(1.1), "sc64-bmt": pytest.approx(1.2),
        }  # fmt: skip
        assert {label: (row["runs"], row["left"]) for label, row in found.items()} == {
            "none": (1, 2), "ctr-mac": (1, 0), "sc64-bmt": (1, 2),
        }  # fmt: skip
        assert "Up to 2 runs of a row are not used" in page.tab.locator("#summary .said").text_content()
        page.choose("design", "ctr-mac", False)
        row = of_label(page, "summary")["sc64-bmt"]
        by_seed = ((1.2 + 2.0) / 2, 1.4)
        assert row["slowdown"] == pytest.approx(fmean(by_seed))
        assert row["slowdown_half"] == pytest.approx(half_width(by_seed), rel=1e-5)
        assert (row["seeds"], row["runs"], row["left"]) == (2, 3, 0)


def test_designs_without_a_common_run_are_not_compared(browser: Any, record: Row, tmp_path: Path) -> None:
    rows = [row_of(record, "none", program, 1, 1) for program in ("a", "b")]
    rows += [row_of(record, "sc64-bmt", "a", 1, 2), row_of(record, "ctr-mac", "b", 1, 3)]
    with opened(browser, page_of(rows, tmp_path)) as page:
        assert page.rows("summary") == page.rows("pareto") == []
        assert "nothing can be compared" in page.tab.locator("#pareto .said").text_content()
        assert len(page.rows("slowdown")) == 4


def test_the_line_joins_only_designs_that_no_other_beats(browser: Any, record: Row, tmp_path: Path) -> None:
    ratios = {"none": 1, "ctr-mac": 1.5, "ctr-mac-version": 1.5, "plain-mac": 1.7, "sc64-bmt": 2}
    shares = {"none": 0.0, "ctr-mac": 50.0, "ctr-mac-version": 50.0, "plain-mac": 40.0, "sc64-bmt": 90.0}
    claims = [name for name in record if name.startswith("design_claims_") and record[name] != "not-applicable"]
    rows = [
        row_of(record, design, "a", 1, ratio)
        | {name: "detected" if index < shares[design] * len(claims) / 100 else "forged"
           for index, name in enumerate(claims)}
        for design, ratio in ratios.items()
    ]  # fmt: skip
    with opened(browser, page_of(rows, tmp_path)) as page:
        found = of_label(page, "pareto")
        assert {label for label, row in found.items() if row["front"]} == ratios.keys() - {"plain-mac"}
        (line,) = page.tab.evaluate(
            "[...document.querySelectorAll('#pareto .chart g.mark-line path')].map((path) => path.getAttribute('d'))"
        )
        heights = {point.partition(",")[2] for point in line.removeprefix("M").split("L")}
        # Two designs share a point, so the line has three heights.
        assert len(heights) == 3


def test_names_are_the_same_in_filters_tables_and_downloads(browser: Any, record: Row, tmp_path: Path) -> None:
    rows = [
        row_of(record, design, name, 1, ratio) for name in NAMES for design, ratio in (("none", 1), ("sc64-bmt", 2))
    ]
    with opened(browser, page_of(rows, tmp_path)) as page:
        assert {row["program"] for row in page.rows("slowdown")} == {*NAMES, "mean of all programs"}
        text = page.download("slowdown", "csv")
        assert {row["program"] for row in csv.DictReader(io.StringIO(text, newline=""))} == {
            *NAMES,
            "mean of all programs",
        }
        drawing = ElementTree.fromstring(page.download("slowdown", "svg"))
        assert "currentColor" in {each.text for each in drawing.iter()}
        boxes = page.tab.locator("input[name=program]")
        for index, name in enumerate(sorted(NAMES)):
            boxes.nth(index).uncheck()
            page.wait_for_next()
            assert name not in {row["program"] for row in page.rows("slowdown")}
        assert page.rows("slowdown") == []
        assert page.messages == []


def test_a_chart_that_is_hidden_has_no_drawing_to_save(browser: Any, record: Row, tmp_path: Path) -> None:
    rows = [row_of(record, design, "a", 1, ratio) for design, ratio in (("none", 1), ("sc64-bmt", 2))]
    with opened(browser, page_of(rows, tmp_path)) as page:
        for design in ("none", "sc64-bmt"):
            page.choose("design", design, False)
        assert page.tab.locator("#slowdown [data-save=svg]").is_disabled()
        assert page.download("slowdown", "csv").count("\n") == 1
        page.choose("design", "sc64-bmt", True)
        assert page.tab.locator("#slowdown [data-save=svg]").is_enabled()
        assert page.marks("slowdown", "symbol") == 1


def test_the_conditions_of_a_figure_are_those_of_the_chosen_runs(browser: Any, record: Row, tmp_path: Path) -> None:
    rows = [row_of(record, "none", "a", 1, 1)]
    rows += [row_of(record, "none", "a", 2, 1) | {"machine": "other", "machine_memory_placement": "4KB"}]
    with opened(browser, page_of(rows, tmp_path)) as page:
        stated = page.tab.locator("#speed .conditions")
        assert stated.text_content().startswith("Conditions: modern, pages in 2 MB blocks; other, ")
        assert "; seeds 1, 2; " in stated.text_content()
        page.choose("machine", "other", False)
        assert stated.text_content().startswith("Conditions: modern, pages in 2 MB blocks; seed 1; ")


def test_large_seeds_stay_apart(browser: Any, record: Row, tmp_path: Path) -> None:
    seeds = (2**64 - 2, 2**64 - 1)
    rows = [row_of(record, "none", "a", seed, 1) for seed in seeds]
    rows += [row_of(record, "sc64-bmt", "a", seed, ratio) for seed, ratio in zip(seeds, (1.2, 1.4), strict=True)]
    with opened(browser, page_of(rows, tmp_path)) as page:
        row = of_label(page, "summary")["sc64-bmt"]
        assert (row["seeds"], row["slowdown"]) == (2, pytest.approx(1.3))
        assert row["slowdown_half"] == pytest.approx(half_width((1.2, 1.4)), rel=1e-5)
        assert f"seeds {seeds[0]}, {seeds[1]}" in page.tab.locator("#summary .conditions").text_content()


def test_means_over_seeds_state_their_seeds_and_runs_and_share_the_seeds(
    browser: Any, record: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summarising, "ROWS_MAX", 8)
    seeds = (1, 2, 3)
    rows = [row_of(record, "none", program, seed, 1) for program in ("a", "b") for seed in seeds]
    ratios = {("a", 1): 1.1, ("a", 2): 1.3, ("a", 3): 9.0, ("b", 1): 2.0, ("b", 2): 2.1, ("b", 3): 2.4}
    rows += [row_of(record, "sc64-bmt", program, seed, ratio) for (program, seed), ratio in ratios.items()]
    rows += [row_of(record, "ctr-mac", "a", seed, 1) for seed in (1, 2)]
    with opened(browser, page_of(rows, tmp_path)) as page:
        assert "2 runs left out: another design lacks their seed." in page.tab.locator(".notices").text_content()
        found = {(row["program"], row["label"]): row for row in page.rows("slowdown")}
        for program, used in (("a", (1.1, 1.3)), ("b", (2.0, 2.1, 2.4))):
            row = found[program, "sc64-bmt"]
            assert row["slowdown"] == pytest.approx(fmean(used))
            assert row["slowdown_half"] == pytest.approx(half_width(used), rel=1e-5)
            assert (row["seeds"], row["runs"]) == (len(used), len(used))
        page.choose("design", "ctr-mac", False)
        overall = of_label(page, "summary")["sc64-bmt"]
        assert overall["slowdown"] == pytest.approx((fmean((1.1, 1.3)) + fmean((2.0, 2.1, 2.4))) / 2)
        halves = (half_width((1.1, 1.3)) or 0, half_width((2.0, 2.1, 2.4)) or 0)
        assert overall["slowdown_half"] == pytest.approx(math.hypot(*halves) / 2, rel=1e-5)
        assert (overall["seeds"], overall["runs"]) == (3, 5)
        assert "3 seeds from 1" in page.tab.locator("#summary .conditions").text_content()
