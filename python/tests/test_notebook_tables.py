"""The tables of results as HTML: the terminal's cells, with escaped texts, in balanced elements."""

import io
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import casemate as cm
import pytest
from casemate import api
from casemate.cli.commands.schema import KINDS
from casemate.excerpt import Excerpt
from casemate.notebook import markup, rendering
from casemate.schemas.attack import AttackResults, Campaign
from casemate.schemas.base import Result
from casemate.schemas.catalogue import Settings
from casemate.schemas.crash import CrashResults
from casemate.schemas.explain import Explanations
from casemate.schemas.listing import Listing
from casemate.schemas.run import Failure, RunResults
from casemate.schemas.sweep import Rows
from casemate.tables import layouts
from casemate.text.shown import Listed
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from sample_results import sample

SMALL = cm.BuiltIn("gups", {"footprint": "1 MB"})
QUICK = cm.RunOptions(limit="20K", protection=False)
VOID = {"br", "img"}


class Page(HTMLParser):
    """Elements and texts of a page; fails for an element that is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        # Neighbouring cells are separate words.
        self.text += " " if tag in ("td", "th", "div", "caption", "tr") else ""

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def count(self, tag: str) -> int:
        """Returns the number of elements of this kind."""
        return sum(name == tag for name, _ in self.elements)


def page(shown: Any) -> Page:
    """Returns the page of an object, which must have one."""
    html = shown._repr_html_()
    assert html is not None
    return Page(html)


def words(shown: Any) -> set[str]:
    """Returns the words that the terminal prints, without the lines of tables."""
    console = Console(file=io.StringIO(), width=400, emoji=False, highlight=False)
    with console.capture() as captured:
        console.print(shown)
    return {word for word in captured.get().split() if not set(word) <= set("─━╸╺")}


@pytest.fixture(scope="module")
def run() -> RunResults:
    return cm.run(SMALL, designs=["none", "sc64-bmt"], options=QUICK)


def attacked() -> cm.AttackReport:
    """Returns a short campaign against the design that stops the fewest attacks."""
    return cm.attack("none", trials=1)


RESULTS: dict[str, Callable[[], Any]] = {
    "attacks": attacked,
    "attacks-together": lambda: AttackResults(reports=(attacked(),), agrees=True),
    "campaign": lambda: Campaign(reports=(attacked(),), resumed=0, added=1, complete=True),
    "bits": lambda: cm.attack_bits("none"),
    "losses": lambda: cm.crash("plp-sp", row="power-loss", workload=3),
    "program": lambda: cm.crash_program("plp-sp", "log", losses=2),
    "losses-together": lambda: CrashResults(reports=(cm.crash("plp-sp", row="power-loss", workload=3),), agrees=True),
    "machine-without-power": lambda: cm.lose_power(SMALL, designs="plp-sp", loss=cm.LossOptions(run=QUICK)),
    "layout": lambda: cm.layout("sc64-bmt"),
    "battery": lambda: cm.cost_of_battery("cobcm", counted="nothing"),
    "designs": cm.designs,
    "machines": cm.machines,
    "workloads": cm.workloads,
    "attack-names": cm.attacks,
    "loss-names": cm.losses,
    "verdicts": api.verdicts,
    "verbs": api.verbs,
    "design": lambda: cm.design("none"),
    "machine": lambda: cm.machines()[0],
    "workload": lambda: cm.workloads()[0],
    "listing": lambda: Listing(designs=cm.designs(), attacks=cm.attacks()),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_table_in_a_notebook_has_each_word_of_the_terminals(name: str) -> None:
    shown = RESULTS[name]()
    build = next(build for kind, build in rendering.TABLES.items() if isinstance(shown, kind))
    in_notebook = page(shown).text
    missing = {word for word in words(build(shown)) if word not in in_notebook}
    assert not missing


def test_results_of_several_kinds_have_the_tables_of_all() -> None:
    bits, report = cm.attack_bits("none"), attacked()
    losses, program = cm.crash("plp-sp", row="power-loss", workload=3), cm.crash_program("plp-sp", "log", losses=2)
    for together, parts in (
        (AttackResults(reports=(report,), exhaustive=(bits,), agrees=True), (bits, report)),
        (CrashResults(reports=(losses,), programs=(program,), agrees=True), (losses, program)),
        (AttackResults(reports=(report,), agrees=True, changes={"design.none.tag": "8"}), (report,)),
    ):
        found = set(page(together).text.split())
        for part in parts:
            assert set(page(part).text.split()) <= found
    assert "design.none.tag" in found


def test_a_run_in_a_notebook_is_the_table_of_the_terminal(run: RunResults) -> None:
    found = page(run)
    assert found.count("table") == 1
    assert [attributes for tag, attributes in found.elements if tag == "th" and attributes.get("scope") == "col"] == [
        {"scope": "col"}, {"scope": "col", "class": "right"}, {"scope": "col", "class": "right"},
    ]  # fmt: skip
    assert f"{run.slowdown('sc64-bmt'):.3f}x" in found.text
    assert "load values compared" not in found.text
    assert "No slowdown: none has no baseline." in page(run.record("none")).text


def test_a_run_with_compared_values_says_so_in_a_notebook() -> None:
    options = cm.RunOptions(limit="20K", protection=False, check_values=True)
    assert "load values compared" in page(cm.run(SMALL, designs="none", options=options)).text


def test_each_result_of_a_command_has_a_table_or_a_picture() -> None:
    from casemate import schemas

    shown = {kind.__name__ for kind in rendering.TABLES} | {"Explanations", "Settings"}
    of_commands = {getattr(schemas, name).__name__ for name in KINDS.values()}
    # A recording is only the path of its file and its length.
    assert of_commands - shown == {"Recording"}
    assert sample(cm.Recording)._repr_html_() is None


FRAGILE = (cm.TraceInfo, cm.Layout, cm.AttackReport, Settings, *(kind for kind in rendering.TABLES if kind.__name__ in (
    "SweepPlan", "SweepResult", "Reproduction", "Derivation", "ImportedMachine", "Validation",
    "HardwareCost", "CrashReport", "ProgramReport", "BatteryCost",
)))  # fmt: skip


@pytest.mark.parametrize("kind", FRAGILE, ids=lambda kind: kind.__name__)
def test_no_text_of_a_result_becomes_an_element(kind: type[Result]) -> None:
    html = sample(kind)._repr_html_()
    assert html is not None
    found = Page(html)
    assert found.count("b") == 0
    assert "&lt;b&gt;a name" in html


def test_names_of_programs_and_errors_are_escaped_in_the_table_of_a_run(run: RunResults) -> None:
    script = "<script>alert(1)</script>"
    record = run.records[0]
    workload = record.configuration.workload.model_copy(update={"program": (script,)})
    named = record.model_copy(update={"configuration": record.configuration.model_copy(update={"workload": workload})})
    failed = (Failure(design=script, machine="modern", error=script),)
    results = run.model_copy(update={"records": (named,), "failures": failed})
    for shown in (results, results.model_copy(update={"records": ()}), named):
        assert page(shown).count("script") == 0
        assert script in page(shown).text
    assert f"{script}: {script}" in page(results).text
    elsewhere = (failed[0].model_copy(update={"machine": "other"}),)
    assert f"{script} on other: {script}" in page(results.model_copy(update={"failures": elsewhere})).text


def test_an_explanation_is_its_timeline_in_a_notebook() -> None:
    found = page(cm.explain("sc64-bmt"))
    assert found.count("svg") == 1
    assert found.count("table") == 0
    assert "fetch tree level 0" in found.text
    (figure,) = [attributes for tag, attributes in found.elements if tag == "figure"]
    assert figure["aria-label"] == "a read under sc64-bmt on modern: 98.8 ns"


def test_two_explanations_have_the_difference_of_their_critical_paths_below_the_timelines() -> None:
    found = cm.explain_together(["sc64-bmt", "ctr-mac-version"])
    assert page(found).count("svg") == 1
    assert "on the critical path" in page(found).text
    assert f"{found.difference_ns:+.1f} ns" in page(found).text
    layout = cm.layout("sc64-bmt")
    laid_out = page(Explanations(explanations=(), layouts=(layout,)))
    assert words(layouts.layout_table(layout)) <= set(laid_out.text.split()) | {"bonsai"}


def test_the_timeline_of_a_machine_with_markup_in_its_name_has_no_such_element() -> None:
    found = cm.explain("none").model_copy(update={"machine": "'\"><script>x</script> $a$ & co"})
    html = found._repr_html_()
    assert html is not None
    assert Page(html).count("script") == 0
    assert "&lt;script&gt;x&lt;/script&gt; $a$ &amp; co" in html
    (figure,) = [attributes for tag, attributes in Page(html).elements if tag == "figure"]
    assert figure["aria-label"] == found.brief()


def test_the_values_of_a_design_are_the_text_of_its_file() -> None:
    found = page(cm.settings("design", "sc64-bmt"))
    assert found.count("pre") == 1
    assert 'cipher = "aes128-counter"' in found.text


def test_a_window_of_a_run_is_the_table_of_its_units(tmp_path: Path) -> None:
    window = cm.TraceWindow("0us:20us", tmp_path / "x.json")
    cm.run(SMALL, designs="none", options=cm.RunOptions(limit="20K", protection=False, trace=window))
    found = page(Excerpt.read(tmp_path / "x.json"))
    assert found.count("table") == 2
    assert "longest (ns)" in found.text


def test_styles_markup_and_sections_of_a_table_become_classes() -> None:
    table = Table(title="a [bold]title[/]", caption="below")
    table.add_column("name")
    table.add_column("number", justify="right")
    table.add_row("[bold]all[/]", Text("3", style="bold white on red"), end_section=True)
    table.add_row(Text.assemble(("green", "green"), " and ", ("faint", "dim")), "4")
    html = markup.page(Group(table, "[red]note[/] [x", Panel("in a box & more")))
    found = Page(html)
    for part in (
        '<span class="bold">all</span>', '<tr class="end">', '<span class="alarm bold">3</span>', '<td class="right">',
        '<span class="green">green</span> and <span class="dim">faint</span>', '<span class="red">note</span> [x',
        '<caption>a <span class="bold">title</span></caption>', "<div>below</div>", "in a box &amp; more",
    ):  # fmt: skip
        assert part in html, part
    assert found.count("pre") == 1


def test_rows_of_results_are_a_table_with_each_value() -> None:
    rows: tuple[dict[str, Any], ...] = ({"a": "<b>[red]x [/y]", "b": 1.5, "c": None}, {"a": "y", "b": None, "c": True})
    found = page(Rows(rows=rows))
    assert found.text.split() == ["a", "b", "c", "<b>[red]x", "[/y]", "1.5", "y", "yes"]
    assert found.count("tr") == 3
    assert found.count("td") == 4


def test_a_long_table_scrolls_and_a_short_one_does_not() -> None:
    assert page(cm.designs()).count("section") == 1
    assert page(Listed(cm.designs()[: markup.LONG])).count("section") == 0


def contrast(one: str, other: str) -> float:
    """Returns the ratio of two colours' luminances, by the Web Content Accessibility Guidelines."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", markup.SHADES)
def test_each_colour_is_legible_on_a_light_and_on_a_dark_page(name: str) -> None:
    light, dark = markup.SHADES[name]
    assert contrast(light, "#ffffff") >= 4.5
    assert contrast(dark, "#111111") >= 4.5
    assert re.search(rf"vscode-dark div\.casemate \.{name}{{color:{dark}}}", markup.STYLE_SHEET)


def test_importing_the_package_loads_neither_tables_nor_pictures() -> None:
    unwanted = ("casemate.notebook", "casemate.plots", "casemate.tables", "matplotlib", "rich", "IPython", "polars")
    program = f"import sys, casemate; print([name for name in {unwanted} if name in sys.modules])"
    heard = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert heard.stdout == "[]\n"
