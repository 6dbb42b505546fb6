"""Pages of `casemate report` in Chromium: the numbers of each chart, table and download are those of DuckDB."""

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from casemate import api
from casemate.report import writing
from casemate.schemas.catalogue import SEVERITY, STOPPED
from casemate.studies import table
from casemate.studies.study import Study
from casemate.studies.sweep import Workers, sweep
from report_pages import Page, browsing, changed, opened, rows_of, write

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
QUANTILE = 12.7062047
"""Student's 97.5 % quantile for one degree of freedom, the quantile of two seeds."""
BYTES_MAX = 5_000_000
DRAWN_MS_MAX = 2_000
FILTERS = (
    ("design", "sc64-bmt", "r.design <> 'sc64-bmt'"),
    ("program", "gups", "r.program <> 'gups'"),
    ("machine", "modern-ddr5", "r.machine <> 'modern-ddr5'"),
)

SLOWDOWN = "r.time_fs / b.time_fs"
PER_CYCLE = "/ r.node_instructions / (b.core_time_cycles / b.node_instructions)"
WAIT = "r.core_time_waiting_{}_cycles"
TIME = {
    "at work": "r.core_time_at_work_cycles",
    "data": " + ".join(map(WAIT.format, ("data", "on_chip", "write_back"))),
    "memory queue": WAIT.format("memory_queue"),
    "counter": WAIT.format("counter"),
    "tree": WAIT.format("tree"),
    "tag": " + ".join(map(WAIT.format, ("tag", "bitmap"))),
    "cipher and MAC": " + ".join(map(WAIT.format, ("engine", "engine_queue"))),
    "re-encryption": " + ".join(map(WAIT.format, ("reencryption", "admission"))),
}
READ = "r.reads_parts_{}_ns"
READS = {
    "data": " + ".join(map(READ.format, ("data", "on_chip"))),
    "memory queue": READ.format("memory_queue"),
    "counter": READ.format("counter"),
    "tree": READ.format("tree"),
    "tag": " + ".join(map(READ.format, ("tag", "bitmap"))),
    "cipher and MAC": " + ".join(map(READ.format, ("engine", "engine_queue"))),
    "re-encryption": " + ".join(map(READ.format, ("reencryption", "admission"))),
}
LINES = "1000 * (r.protection_fetched_{0} + r.protection_stored_{0}) / r.node_instructions"

HYPOTHETICAL = {attack.name.replace("-", "_") for attack in api.attacks() if attack.hypothetical}

Numbers = dict[tuple[str, ...], tuple[float, float]]
"""Means and halves of their intervals, by the names of a group."""


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


def numbers(folder: Path, expression: str, groups: Sequence[str], where: str = "true") -> Numbers:
    """Returns the numbers of a figure by DuckDB, from the tables of the folder."""
    listed = ", ".join(f"'{path}'" for path in table.written(folder))
    keys = ", ".join(f"g{index}" for index in range(len(groups)))
    named = ", ".join(f"({group})::VARCHAR AS g{index}" for index, group in enumerate(groups))
    question = (
        f"WITH runs AS (SELECT * FROM read_parquet([{listed}], union_by_name = true) WHERE kind = 'run'), "
        f"pairs AS (SELECT {named}, r.seed AS seed, ({expression})::DOUBLE AS value FROM runs r JOIN runs b ON "
        "b.design = 'none' AND b.program = r.program AND b.machine = r.machine AND b.seed = r.seed "
        f"AND b.machine_llc_size_bytes = r.machine_llc_size_bytes WHERE {where}), "
        f"seeds AS (SELECT {keys}, seed, avg(value) AS value FROM pairs GROUP BY ALL) "
        f"SELECT {keys}, avg(value), {QUANTILE} * stddev_samp(value) / sqrt(count(*)) FROM seeds GROUP BY ALL"
    )
    rows = duckdb.connect().execute(question).fetchall()
    return {tuple(row[:-2]): (row[-2], row[-1]) for row in rows}


LABEL = "r.design || ' on ' || r.machine"
SIZE = "(r.machine_llc_size_bytes / 1048576)::DECIMAL(9, 1) || ' MB'"


def expected(folder: Path, where: str) -> dict[str, dict[str, Numbers]]:
    """Returns the numbers of each figure and measure by DuckDB."""
    by_program = numbers(folder, SLOWDOWN, ("r.program", LABEL), where)
    if len({program for program, _ in by_program}) > 1:
        over = numbers(folder, SLOWDOWN, (LABEL,), where)
        by_program |= {("all programs", label): each for (label,), each in over.items()}
    summary = {
        "slowdown": SLOWDOWN, "traffic": "r.dram_bytes / b.dram_bytes", "ipc": "r.ipc", "latency": "r.read_latency_ns",
    }  # fmt: skip
    kinds = {name: LINES.format(name) for name in ("data", "counters", "tags", "nodes")}
    return {
        "summary": {name: numbers(folder, sql, (LABEL,), where) for name, sql in summary.items()},
        "slowdown": {"slowdown": by_program},
        "pareto": {"slowdown": numbers(folder, SLOWDOWN, (LABEL,), where)},
        "time": {
            _column("time", name): numbers(folder, f"({sql}) {PER_CYCLE}", (LABEL,), where)
            for name, sql in TIME.items()
        },
        "traffic": {_column("lines", name): numbers(folder, sql, (LABEL,), where) for name, sql in kinds.items()},
        "reads": {_column("reads", name): numbers(folder, sql, (LABEL,), where) for name, sql in READS.items()},
        "over-swept_0": {"slowdown": numbers(folder, SLOWDOWN, (LABEL, SIZE), where)},
    }  # fmt: skip


def _column(prefix: str, name: str) -> str:
    return f"{prefix}_{re.sub('[ -]', '_', name).lower()}"


GROUPS = {"slowdown": ("program", "label"), "over-swept_0": ("label", "swept_0")}


def differences(page: Page, wanted: dict[str, dict[str, Numbers]]) -> list[str]:
    """Returns the numbers of a page that differ from the expected ones: behind the figures, in charts and tables."""
    found = []
    for figure, measures in wanted.items():
        groups = GROUPS.get(figure, ("label",))
        rows = {tuple(str(row[name]) for name in groups): row for row in page.rows(figure)}
        table_rows = {tuple(row[heading] for heading in list(row)[: len(groups)]): row for row in page.table(figure)}
        shown = {name for row in rows.values() for name in row}
        for measure, by_group in measures.items():
            if measure not in shown:
                found += [f"{figure}: no {measure}"] if any(value for value, _ in by_group.values()) else []
                continue
            if not by_group.keys() == rows.keys() == table_rows.keys():
                found.append(f"{figure}: groups {sorted(rows)} in the page, {sorted(table_rows)} in the table")
                continue
            for group, (value, half) in by_group.items():
                row = rows[group]
                if not math.isclose(row[measure], value, rel_tol=2e-6, abs_tol=1e-9):
                    found.append(f"{figure}: {group} {measure} is {row[measure]}, not {value}")
                if not math.isclose(row[f"{measure}_half"], half, rel_tol=1e-3, abs_tol=1e-5):
                    found.append(f"{figure}: {group} {measure} varies by {row[f'{measure}_half']}, not {half}")
                texts = [text for text in table_rows[group].values() if _is_number(text, value)]
                if not texts:
                    found.append(f"{figure}: {group} {measure} {value} is not in the table {table_rows[group]}")
        found += _dropped(page, figure)
    return found


def _is_number(text: str, value: float) -> bool:
    """Returns true if the text of a cell is this number, rounded to the cell's digits."""
    number = text.partition(" ")[0]
    digits = len(number.partition(".")[2])
    return re.fullmatch(r"-?[\d.]+", number) is not None and abs(float(number) - value) <= 0.51 * 10**-digits


KINDS = {"slowdown": "symbol", "pareto": "symbol", "over-swept_0": "symbol", "attacks": "rect", "crashes": "rect"}
"""Mark of one row in each chart; the other charts are bars."""


def _dropped(page: Page, figure: str) -> list[str]:
    """Returns an error if a chart has no visible mark for one of the rows, or is not shown."""
    drawn = page.drawn(figure)
    if figure == "summary":
        return []
    kind = KINDS.get(figure, "rect")
    wanted = len([row for row in drawn if kind == "symbol" or row.get("value", 1) > 0.004])
    marks = page.marks(figure, kind)
    return [] if wanted and marks >= wanted else [f"{figure}: {marks} marks for {wanted} rows"]


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
            for name, text in row.items():
                value = there.get(name)
                assert text == (
                    "" if value is None else {True: "yes", False: "no"}[value] if isinstance(value, bool) else text
                )
                assert value is None or isinstance(value, bool) or (str(value) == text or float(text) == value)


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_has_no_serious_finding_of_accessibility(browser: Any, page_file: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with opened(browser, page_file, color_scheme=scheme) as found:
        for table_of in found.tab.locator("details > summary").all():
            table_of.click()
        results = axe.Axe().run(found.tab)
    serious = [each["id"] for each in results.response["violations"] if each["impact"] in ("serious", "critical")]
    assert serious == []


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
