"""`casemate validate`: the machine next to public simulators."""

import io

import jsonschema
from casemate import tables
from casemate.results import Validation, ValidationRow
from conftest import Casemate
from rich.console import Console


def test_a_brief_validation_holds_on_a_clean_clone(casemate: Casemate) -> None:
    said = casemate("validate", "--brief", "--json")
    report = said.json()
    jsonschema.validate(report, casemate("schema", "validate").json())
    assert len([row for row in report["rows"] if row["reference"] != "ChampSim"]) >= 10
    assert len([row for row in report["rows"] if row["reference"] == "ChampSim"]) >= 5
    assert [row for row in report["rows"] if not row["ok"]] == []
    assert report["ok"]
    assert said.code == 0


def test_a_figure_beyond_its_tolerance_is_marked_without_any_colour() -> None:
    def row(quantity: str, difference: float) -> ValidationRow:
        return ValidationRow(
            reference="R", subject="s", quantity=quantity, ours=1.0, theirs=1.0, difference_percent=difference,
            tolerance_percent=10.0, ok=abs(difference) <= 10.0, interval=None, placement_percent=0.0,
        )  # fmt: skip

    report = Validation(rows=(row("good", 1.0), row("bad", -15.0)), ok=False)
    console = Console(width=100, file=io.StringIO(), no_color=True)
    console.print(tables.validation_table(report))
    assert isinstance(console.file, io.StringIO)
    (good, bad) = (line for line in console.file.getvalue().splitlines() if "good" in line or "bad" in line)
    assert "OUT" in bad
    assert "OUT" not in good
    assert repr(report) == "<Validation: 1 of 2 figures are within their tolerances>"
