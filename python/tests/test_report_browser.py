"""Pages of `casemate report` in Chromium: the numbers of each chart, table and download are those of DuckDB."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from casemate import api
from casemate.report import phases, writing
from casemate.reproduce import KEPT
from casemate.schemas.catalogue import SEVERITY, STOPPED
from casemate.schemas.derivation import Derivation
from casemate.studies.study import Study
from casemate.studies.sweep import Workers, sweep
from conftest import Casemate
from report_numbers import KINDS, differences, expected
from report_pages import EVIL, Page, browsing, changed, opened, renamed, reproduction, rows_of, write

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytest.importorskip("distributed")
duckdb: Any = pytest.importorskip("duckdb")

MACHINES = ("modern", "modern-ddr5")
PROGRAMS: list[dict[str, Any]] = [
    {"workload": "gups", "settings": {"footprint": "1 MB"}, "name": "gups"},
    {"workload": "resident", "name": "resident"},
]
STUDY = Study(
    programs=PROGRAMS, limit="10K", seeds=2, designs=("none", "ctr-mac-version", "sc64-bmt"), machines=MACHINES,
    over={"machine.llc.size": ["2 MB", "4 MB"]}, attacks={"trials": 1}, crashes={"thorough": False},
)  # fmt: skip
BYTES_MAX = 5_000_000
DRAWN_MS_MAX = 2_000
FILTERS = (
    ("design", "sc64-bmt", "r.design <> 'sc64-bmt'"),
    ("program", "gups", "r.program <> 'gups'"),
    ("machine", "modern-ddr5", "r.machine <> 'modern-ddr5'"),
)

HEADINGS = {"design": "label", "machine.llc.size": "swept_0"}
"""Columns of the page by their headings in CSV files."""

HYPOTHETICAL = {attack.name.replace("-", "_") for attack in api.attacks() if attack.hypothetical}


@pytest.fixture(scope="module")
def folder(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The points of the study."""
    path = tmp_path_factory.mktemp("browsed")
    assert sweep(STUDY, path, workers=Workers(scheduler=scheduler)).complete
    return path


@pytest.fixture(scope="module")
def page_file(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the study."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    writing.write(folder, path)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a network in any tab."""
    with browsing() as started:
        yield started


@pytest.fixture
def page(browser: Any, page_file: Path) -> Iterator[Page]:
    """The page in a new tab."""
    with opened(browser, page_file) as found:
        yield found


def test_the_numbers_are_those_of_duckdb_before_and_after_each_filter(page: Page, folder: Path) -> None:
    assert differences(page, expected(folder, "true")) == []
    for name, value, where in FILTERS:
        page.choose(name, value, False)
        assert differences(page, expected(folder, where)) == [], name
        page.show_all()
    assert differences(page, expected(folder, "true")) == []
    assert page.messages == []
    assert [url for url in page.requests if not url.startswith(("file:", "blob:"))] == []
    assert len(page.requests) == 1


def test_the_matrices_have_the_worst_ends_of_the_campaigns(page: Page, folder: Path) -> None:
    for figure, kind in (("attacks", "attack"), ("crashes", "crash")):
        ends: dict[tuple[str, str], set[str]] = {}
        for row in (row for row in rows_of(folder) if row["kind"] == kind):
            for name, end in row.items():
                if name.startswith("worst_") and end is not None:
                    ends.setdefault((row["design"], name.removeprefix("worst_")), set()).add(end)
        found = {(row["design"], row["tried"].replace("-", "_")): row["worst"] for row in page.rows(figure)}
        assert found == {key: max(ends[key], key=SEVERITY.index) for key in found}
        left = {attack for _, attack in ends} - {attack for _, attack in found} - HYPOTHETICAL
        assert all(ends[design, attack] == {"not-applicable"} for design in STUDY.designs for attack in left)
        assert page.marks(figure, "rect") == len(found)
        cells = [list(row.values()) for row in page.table(figure)]
        assert {(design, tried.replace("-", "_")): worst for design, tried, worst, *_ in cells} == found


def test_protection_is_the_share_of_stopped_attacks(page: Page) -> None:
    stopped: dict[str, list[bool]] = {}
    for row in page.rows("attacks"):
        if row["worst"] != "not-applicable":
            claims_it = row["claim"] is None or row["claim"] in STOPPED
            stopped.setdefault(row["design"], []).append(row["group"] == "stopped" and claims_it)
    for row in page.rows("pareto"):
        of_design = stopped[row["label"].partition(" ")[0]]
        assert row["protection"] == pytest.approx(100 * sum(of_design) / len(of_design))


def test_the_front_joins_the_designs_that_no_other_beats(page: Page) -> None:
    rows = page.rows("pareto")
    for row in rows:
        beaten = any(
            other["slowdown"] <= row["slowdown"] and other["protection"] >= row["protection"]
            and (other["slowdown"], other["protection"]) != (row["slowdown"], row["protection"])
            for other in rows
        )  # fmt: skip
        assert row["front"] is not beaten, row["label"]
    assert any(row["front"] for row in rows)


def left_out(content: Any) -> None:
    """Removes the last run from the data of a page."""
    runs = content["tables"]["runs"]
    runs["length"] -= 1
    for stored in runs["columns"].values():
        (stored["values"] if isinstance(stored, dict) else stored).pop()


def no_dots(content: Any) -> None:
    """Takes the dots out of a chart."""
    (figure,) = (figure for figure in content["figures"] if figure["name"] == "slowdown")
    figure["chart"]["marks"] = [mark for mark in figure["chart"]["marks"] if mark["type"] != "symbol"]


def outside(content: Any) -> None:
    """Cuts a chart's axis, so that some marks are outside."""
    (figure,) = (figure for figure in content["figures"] if figure["name"] == "slowdown")
    figure["where"] = {"program": "gups"}


@pytest.mark.parametrize("plant", [left_out, no_dots, outside])
def test_a_planted_error_in_the_page_is_noticed(
    browser: Any, page_file: Path, folder: Path, tmp_path: Path, plant: Any
) -> None:
    with opened(browser, changed(page_file, plant, tmp_path / "wrong.html")) as wrong:
        assert differences(wrong, expected(folder, "true")) != []


def test_a_hidden_chart_is_noticed(browser: Any, page_file: Path, folder: Path, tmp_path: Path) -> None:
    hidden = page_file.read_text().replace("</style>", "#reads .chart { display: none }</style>")
    (tmp_path / "wrong.html").write_text(hidden)
    with opened(browser, tmp_path / "wrong.html") as wrong:
        assert differences(wrong, expected(folder, "true")) != []


def is_written(value: Any, text: str) -> bool:
    """Returns true if a text of a CSV file is this value."""
    if value is None or isinstance(value, bool):
        return text == {None: "", True: "yes", False: "no"}[value]
    return text == value if isinstance(value, str) else float(text) == value


def test_csv_files_hold_the_numbers_of_the_page(page: Page) -> None:
    page.choose("program", "gups", False)
    for figure in page.names():
        rows = list(csv.DictReader(io.StringIO(page.download(figure, "csv"))))
        known = page.rows(figure)
        assert len(rows) == len(known) > 0
        for row, there in zip(rows, known, strict=True):
            for heading, text in row.items():
                value = there[HEADINGS.get(heading, heading)]
                assert is_written(value, text), (figure, heading, value, text)


# Chromium asks the user before the tenth download of a page, so this test has a page of its own.
def test_svg_files_are_drawings_with_all_marks(page: Page) -> None:
    page.choose("program", "gups", False)
    for figure, kind in KINDS.items():
        drawing = ElementTree.fromstring(page.download(figure, "svg"))
        text = ElementTree.tostring(drawing, encoding="unicode")
        assert "currentColor" not in text
        marks = [
            path
            for group in drawing.iter("{http://www.w3.org/2000/svg}g")
            if f"mark-{kind} role-mark" in group.get("class", "")
            for path in group
        ]
        assert len(marks) == len(page.drawn(figure))


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 1200), ("light", 400)])
def test_the_page_has_no_serious_finding_of_accessibility(
    browser: Any, page_file: Path, scheme: str, width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with opened(browser, page_file, color_scheme=scheme, viewport={"width": width, "height": 900}) as found:
        for table_of in found.tab.locator("details > summary").all():
            table_of.click()
        results = axe.Axe().run(found.tab)
    serious = [each["id"] for each in results.response["violations"] if each["impact"] in ("serious", "critical")]
    assert serious == []


def test_the_summary_fits_into_a_page_of_a_thousand_pixels(browser: Any, page_file: Path) -> None:
    with opened(browser, page_file, viewport={"width": 1000, "height": 900}) as found:
        width = "document.querySelector('#summary .scroll')"
        assert found.tab.evaluate(f"{width}.scrollWidth <= {width}.clientWidth")


def test_the_page_can_be_used_by_keyboard(page: Page) -> None:
    page.tab.keyboard.press("Tab")
    assert page.tab.evaluate("document.activeElement.textContent") == "To the figures"
    page.tab.locator("input[name=design]").last.focus()
    before = len(page.rows("summary"))
    page.tab.keyboard.press("Space")
    page.tab.wait_for_function("document.documentElement.dataset.ready >= 2")
    assert len(page.rows("summary")) == before - 2
    page.tab.locator("#slowdown summary").focus()
    page.tab.keyboard.press("Enter")
    assert page.tab.locator("#slowdown table").is_visible()


def test_each_chart_has_a_text(page: Page) -> None:
    for figure in set(page.names()) - {"summary"}:
        label = page.tab.locator(f"#{figure} .chart").get_attribute("aria-label")
        assert len(label.split()) > 8, figure
    assert page.tab.locator("#slowdown .said").text_content().startswith("Lowest time: ")
    assert "seeds 1, 2" in page.tab.locator("#slowdown .conditions").text_content()


def test_a_filter_without_rows_says_so(page: Page) -> None:
    for design in STUDY.designs:
        page.choose("design", design, False)
    assert page.tab.locator("#slowdown .said").text_content().startswith("No rows")
    assert not page.tab.locator("#slowdown .chart").is_visible()
    page.show_all()
    assert page.marks("slowdown", "symbol") > 0


def test_names_are_text_in_charts_and_tables(browser: Any, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "renamed", renamed(rows_of(folder)))
    writing.write(tmp_path / "renamed", tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as found:
        assert found.messages == []
        assert found.tab.locator("b").count() == 0
        assert {row["program"] for row in found.table("slowdown")} == {EVIL, "resident", "all programs"}
        assert f"{EVIL} on {EVIL}" in {row["design"] for row in found.table("summary")}
        texts = found.tab.locator("#slowdown .chart text").all_text_contents()
        assert any(text.startswith("</script><b>") for text in texts)
        assert found.marks("slowdown", "symbol") == len(found.rows("slowdown")) == 18
        for name, left in (("design", 12), ("program", 4), ("machine", 2)):
            found.choose(name, EVIL, False)
            assert len(found.rows("slowdown")) == left


def test_the_figures_of_a_paper_have_a_mark_for_each_number(browser: Any, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "paper", rows_of(folder))
    (tmp_path / "paper" / KEPT).write_text(reproduction().to_json())
    writing.write(tmp_path / "paper", tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as found:
        assert found.messages == []
        assert found.marks("paper-0", "symbol") == 4
        cells = [list(row.values()) for row in found.table("paper-0")]
        assert cells == [
            ["gups", EVIL, "1.500", "0.250", ""], ["gups", "CM", "2.000", "0.500", ""],
            ["mean of all", EVIL, "1.500", "0.250", "1.250"], ["mean of all", "CM", "2.000", "0.500", ""],
        ]  # fmt: skip
        assert found.tab.locator("#trends td").all_text_contents() == ["fails", "M < CM", "1.5"]
        assert f"{EVIL}: ours 1.500, the paper's 1.250." in found.tab.locator("#paper-0 .said").text_content()


def test_the_boxes_of_a_paper_choose_programs_and_leave_the_means(browser: Any, folder: Path, tmp_path: Path) -> None:
    found = reproduction()
    (figure,) = found.figures
    (case,) = figure.cases
    cases = (case, case.model_copy(update={"case": "bfs", "values": (3.0, 4.0)}))
    write(tmp_path / "paper", rows_of(folder)[:1])
    kept = found.model_copy(update={"figures": (figure.model_copy(update={"cases": cases}),)})
    (tmp_path / "paper" / KEPT).write_text(kept.to_json())
    writing.write(tmp_path / "paper", tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        assert page.marks("paper-0", "symbol") == 6
        page.choose("program", "gups", False)
        shown = [(row["case"], row["value"]) for row in page.drawn("paper-0")]
        assert shown == [("bfs", 3.0), ("bfs", 4.0), ("mean of all", 1.5), ("mean of all", 2.0)]
        assert page.marks("paper-0", "symbol") == len(page.table("paper-0")) == 4
        assert len(page.rows("trends")) == 1
        assert "1 row of trends, 6 rows of paper" in page.tab.locator("footer").text_content()


def test_the_figures_over_a_run_have_a_line_for_each_run_with_the_numbers_of_duckdb(
    browser: Any, casemate: Casemate, tmp_path: Path
) -> None:
    for workload in ("gups", "bfs"):
        words = ("--workload", workload, "--limit", "30K", "--interval", "5K", "--no-attacks", "--output", "records")
        assert casemate("run", *words, "--design", "none", "--design", "sc64-bmt").code == 0
    records = "read_json('records/*.json', maximum_object_size = 100000000)"
    each = f"SELECT configuration.design.name, unnest(intervals) AS i FROM {records}"
    question = f"SELECT i.start, i.ipc, i.read_latency_ns, i.dram_bytes / i.instructions, i.llc.misses FROM ({each})"
    expected = duckdb.sql(question).fetchall()
    writing.write(Path("records"), tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        assert page.messages == []
        for index, (name, value) in enumerate(phases.VALUES.items(), 1):
            figure = f"phases-{name}"
            drawn = sorted((row["start"], row[value.name]) for row in page.drawn(figure) if row[value.name] is not None)
            wanted = sorted((row[0], row[index]) for row in expected if name != "latency" or row[4])
            assert [start for start, _ in drawn] == [start for start, _ in wanted]
            assert sorted(one for _, one in drawn) == pytest.approx(sorted(one for _, one in wanted), rel=1e-6)
            assert page.marks(figure, "line") == 4
            assert page.marks(figure, "symbol") == len(wanted)
            assert len(page.table(figure)) == len(expected)
        page.choose("program", "gups", False)
        assert page.marks("phases-ipc", "line") == 2
        assert {row["program"] for row in page.rows("phases-ipc")} == {"bfs"}


def test_derived_figures_have_their_points_lines_and_tables(browser: Any, casemate: Casemate, tmp_path: Path) -> None:
    found = Derivation.model_validate_json(casemate("reproduce", "gcm", "--output", "gcm", "--json").out)
    writing.write(Path("gcm"), tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        assert page.messages == []
        for number, dots in enumerate(found.dots):
            name = f"dots-{number}"
            assert page.marks(name, "symbol") == len(dots.points)
            assert page.marks(name, "line") == len(dots.lines)
            drawn = [row for row in page.drawn(name) if row["kind"] == "point"]
            assert [row["modules"] for row in drawn] == [modules for modules, _ in dots.points]
            assert [row["value"] for row in drawn] == pytest.approx([value for _, value in dots.points])
        for index, table_of in enumerate(found.tables):
            cells = page.table(f"table-{index}")
            computed = [row.computed for row in table_of.rows]
            assert [float(row["ours"]) for row in cells] == pytest.approx(computed, rel=1e-6)
            assert [row["of"] for row in cells] == [row.of for row in table_of.rows]
            assert [row.get("printed", "") for row in cells] == [row.printed or "" for row in table_of.rows]


def test_two_thousand_runs_are_a_small_page_that_is_drawn_at_once(browser: Any, folder: Path, tmp_path: Path) -> None:
    rows = [{name: value for name, value in row.items() if name != "record"} for row in rows_of(folder)]
    runs = [row for row in rows if row["kind"] == "run"]
    many = [
        row | {"program": f"{row['program']} {copy}", "time_fs": row["time_fs"] + copy}
        for copy in range(42)
        for row in runs
    ]
    assert len(many) > 2_000
    write(tmp_path / "many", many)
    writing.write(tmp_path / "many", tmp_path / "many.html")
    assert (tmp_path / "many.html").stat().st_size <= BYTES_MAX
    times = []
    for _ in range(3):
        with opened(browser, tmp_path / "many.html") as found:
            times.append(found.drawn_after_ms)
            assert found.messages == []
    print(f"{len(many)} runs: {(tmp_path / 'many.html').stat().st_size} bytes, drawn after {times} ms")
    assert min(times) < DRAWN_MS_MAX
