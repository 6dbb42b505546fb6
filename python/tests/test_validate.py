"""`casemate validate`: the machine next to public simulators."""

import io

import jsonschema
from casemate.schemas import Validation, ValidationRow
from casemate.tables import layouts
from conftest import Casemate
from rich.console import Console


def test_a_brief_validation_is_within_tolerances_on_a_clean_clone(casemate: Casemate) -> None:
    said = casemate("validate", "--brief", "--json")
    report = said.json()
    jsonschema.validate(report, casemate("schema", "validate").json())
    assert len([row for row in report["rows"] if row["reference"] != "ChampSim"]) >= 10
    assert len([row for row in report["rows"] if row["reference"] == "ChampSim"]) >= 5
    assert [row for row in report["rows"] if not row["ok"]] == []
    assert report["ok"]
    assert {row["in_points"] for row in report["rows"] if row["quantity"] == "row hits in percent"} == {True}
    # The help's note on the one figure that needs whole streams.
    tails = {row["tolerance_percent"] for row in report["rows"] if row["quantity"] == "99th percentile of it"}
    assert tails == {None}
    text = " ".join(casemate("validate", "--help").out.split())
    assert "the 99th percentile of latencies needs whole streams and is only reported" in text
    assert said.code == 0


def row(quantity: str, difference: float, in_points: bool = False) -> ValidationRow:
    """A figure that may be off by ten."""
    return ValidationRow(
        reference="R", subject="s", quantity=quantity, ours=1.0, theirs=1.0, difference_percent=difference,
        in_points=in_points, tolerance_percent=10.0, counted=True, ok=abs(difference) <= 10.0, interval=None,
        placement_percent=0.0,
    )  # fmt: skip


def shown(report: Validation) -> list[str]:
    """The lines of the table."""
    console = Console(width=100, file=io.StringIO(), no_color=True)
    console.print(layouts.validation_table(report))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_difference_of_percentages_is_shown_in_points_and_any_other_in_percent() -> None:
    lines = shown(Validation(rows=(row("row hits in percent", 0.6, in_points=True), row("latency", 0.6)), ok=True))
    (hits, latency) = (line for line in lines if "row hits" in line or "latency" in line)
    assert ("+0.6 points" in hits, "10 points" in hits, "%" in hits) == (True, True, False)
    assert ("+0.6 %" in latency, "10 %" in latency, "points" in latency) == (True, True, False)


def test_a_figure_with_a_large_spread_is_not_counted() -> None:
    wide = row("wide", -80.0).model_copy(update={"counted": False, "ok": True, "placement_percent": 78.0})
    report = Validation(rows=(row("good", 1.0), wide), ok=True)
    lines = shown(report)
    (marked,) = (line for line in lines if "wide" in line)
    assert "not counted" in marked
    assert report.brief() in " ".join(" ".join(lines).split())
    assert "1 of 1 figures are within their tolerances; 1 are not counted" in report.brief()


def test_a_figure_beyond_its_tolerance_is_marked_without_any_colour() -> None:
    report = Validation(rows=(row("good", 1.0), row("bad", -15.0)), ok=False)
    (good, bad) = (line for line in shown(report) if "good" in line or "bad" in line)
    assert "OUT" in bad
    assert "OUT" not in good
    assert repr(report) == "<Validation: 1 of 2 figures are within their tolerances>"
