"""Pages of `casemate report` in Debian's Chromium, without a network, and folders of results for them."""

import importlib.util
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import casemate as cm
import pytest
from casemate.schemas.reproduce import CaseFigures, FigureFound, Reproduction, SeriesFound, TrendFound
from casemate.studies import table
from casemate.studies.folder import ResultsFolder
from casemate.studies.query import Results

CHROMIUM = shutil.which("chromium")
MISSING = "Chromium or playwright is not installed: scripts/setup.sh .venv browser"
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
DATA = re.compile(r'(<script type="application/json" id="page-data">)(.*?)(</script>)', re.DOTALL)
READY = "document.documentElement.dataset.ready >= {}"
Row = dict[str, Any]
EVIL = "</script><b>&\"'\u2028${x}"
"""A name that would be code in HTML, in a script, or in an expression."""


def playwright() -> Any:
    """Returns playwright's module; skips the test without it or without Chromium, and fails where CI must have both."""
    if CHROMIUM is None or importlib.util.find_spec("playwright") is None:
        if os.environ.get("CASEMATE_BROWSER") == "required":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    return importlib.import_module("playwright.sync_api")


@contextmanager
def browsing() -> Iterator[Any]:
    """A browser with no tab."""
    with playwright().sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


class Page:
    """An opened page, with everything that it requested and said."""

    def __init__(self, tab: Any, path: Path) -> None:
        self.tab = tab
        self.requests: list[str] = []
        self.messages: list[str] = []
        self._refreshed = 1
        tab.on("request", lambda request: self.requests.append(request.url))
        tab.on("console", lambda message: self.messages.append(message.text))
        tab.on("pageerror", lambda error: self.messages.append(str(error)))
        tab.goto(path.as_uri())
        self._wait()
        self.drawn_after_ms = float(tab.evaluate("performance.now()"))

    def _wait(self) -> None:
        self.tab.wait_for_function(READY.format(self._refreshed), timeout=30_000)

    def wait_for_next(self) -> None:
        """Waits until the page has answered one more change of a filter."""
        self._refreshed += 1
        self._wait()

    def choose(self, name: str, value: str, checked: bool) -> None:
        """Checks or clears the box of a design, a program or a machine."""
        self.tab.locator(f"input[name={name}]").and_(self.tab.get_by_label(value, exact=True)).set_checked(checked)
        self.wait_for_next()

    def show_all(self) -> None:
        """Presses the button that removes all filters."""
        self.tab.get_by_role("button", name="Show all").click()
        self.wait_for_next()

    def names(self) -> list[str]:
        """Names of all figures."""
        return [str(name) for name in self.tab.evaluate("casemate.states.map((state) => state.figure.name)")]

    def layout(self, name: str) -> str:
        """Layout of a figure, such as `dots`."""
        return str(self.tab.evaluate(f"{_state(name)}.figure.layout"))

    def measures(self, name: str) -> list[tuple[str, str]]:
        """Names and labels of the measures of a figure."""
        found = self.tab.evaluate(f"{_state(name)}.figure.measures")
        return [(str(each["name"]), str(each["label"])) for each in found]

    def rows(self, name: str) -> list[Row]:
        """Rows of a figure, as its CSV file has them."""
        return list(self.tab.evaluate(f"{_state(name)}.rows"))

    def drawn(self, name: str) -> list[Row]:
        """Rows that the chart of a figure has received; an empty list without a chart."""
        return list(self.tab.evaluate(f"{_state(name)}.view?.data('rows') ?? []"))

    def table(self, name: str) -> list[Row]:
        """Rows of the table of a figure, as text by the heading of the column."""
        cells = self.tab.evaluate(
            "(name) => [...document.querySelectorAll(`#${name} tr`)]"
            ".map((row) => [...row.cells].map((cell) => cell.textContent))",
            name,
        )
        return [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]

    def marks(self, name: str, kind: str) -> int:
        """Number of visible marks of a kind, such as `symbol`, in the chart of a figure."""
        return int(
            self.tab.evaluate(
                "([name, kind]) => [...document.querySelectorAll(`#${name} .chart g.mark-${kind}.role-mark > path`)]"
                ".filter((path) => path.getBoundingClientRect().width > 0 && path.checkVisibility()).length",
                [name, kind],
            )
        )

    def download(self, name: str, kind: str) -> str:
        """Returns the file that a button of a figure downloads."""
        with self.tab.expect_download() as download:
            self.tab.locator(f"#{name} [data-save={kind}]").click()
        return Path(download.value.path()).read_bytes().decode()


def _state(name: str) -> str:
    return f"casemate.states.find((state) => state.figure.name === '{name}')"


@contextmanager
def opened(browser: Any, path: Path, **settings: Any) -> Iterator[Page]:
    """A page in a tab of its own, which has no network."""
    context = browser.new_context(offline=True, accept_downloads=True, **settings)
    try:
        yield Page(context.new_page(), path)
    finally:
        context.close()


def data(path: Path) -> Any:
    """Returns the data of a page."""
    found = DATA.search(path.read_text())
    assert found
    return json.loads(found[2])


def notices(path: Path) -> str:
    """Returns the list of notices of a page, as text."""
    return path.read_text().partition('<ul class="notices">')[2].partition("</ul>")[0]


def figures(path: Path) -> list[str]:
    """Returns the names of the figures of a page."""
    return [figure["name"] for figure in data(path)["figures"]]


def changed(path: Path, change: Callable[[Any], None], to: Path) -> Path:
    """Writes a page with changed data."""
    content = data(path)
    change(content)
    text = json.dumps(content).replace("<", "\\u003c")
    to.write_text(DATA.sub(lambda found: found[1] + text + found[3], path.read_text()))
    return to


def rows_of(folder: Path) -> list[Row]:
    """Returns all rows of a results folder."""
    return [dict(row) for path in table.written(folder) for row in table.read_table(path).to_pylist()]


def write(folder: Path, rows: list[Row]) -> Path:
    """Writes rows into a new results folder, each as a point of its own."""
    with ResultsFolder(folder) as results:
        for index, row in enumerate(rows):
            results.add({name: value for name, value in row.items() if value is not None} | {"point": f"{index:064x}"})
    return folder


def renamed(rows: list[Row]) -> list[Row]:
    """Returns rows with another name of a design, a program and a machine."""
    names = {"design": "sc64-bmt", "program": "gups", "machine": "modern"}
    return [row | {column: EVIL for column, name in names.items() if row.get(column) == name} for row in rows]


def reproduction() -> Reproduction:
    """A paper's evaluation with one figure of two series, and a trend."""
    series = (
        SeriesFound(name=EVIL, paper=1.25, ours=1.5, half_width=0.25),
        SeriesFound(name="CM", paper=None, ours=2.0, half_width=0.5),
    )
    case = CaseFigures(case="gups", values=(1.5, 2.0), half_widths=(0.25, 0.5))
    figure = FigureFound(
        number="6", title="Time", unit="x", mean="geometric", series=series, cases=(case,), seeds=(1, 2), note="",
    )  # fmt: skip
    trend = TrendFound(claim="M < CM", holds=False, measured="1.5", verdict="fails", clear=True)
    return Reproduction(
        paper="A paper", machine="modern", conditions=("Shorter.",), seeds=2, figures=(figure,), trends=(trend,),
        left_out=("gcc is left out",), failures=(), interrupted=False, holds=False,
    )  # fmt: skip


def row_of_a_run(folder: Path) -> Row:
    """Runs a short program, keeps its record in a folder, and returns the row of the run without the record."""
    small = cm.BuiltIn("gups", {"footprint": "1 MB"})
    results = cm.run(small, designs="none", options=cm.RunOptions(limit="10K", protection=False))
    (folder / "none.json").write_text(results.records[0].to_json())
    found = Results(folder)
    answer = found.select("run", columns=[name for name in found.columns() if name != "record"])
    return dict(zip(answer.names, answer.rows()[0], strict=True))
