"""Errors in SQL quote the text of the user, with a caret under the wrong place, and nothing of our questions."""

from pathlib import Path
from typing import Any

import pytest
from casemate.studies.folder import ResultsFolder
from casemate.studies.question import SHOWN_CHARACTERS
from conftest import Casemate

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

CONDITIONS = {
    "unclosed text": ("design = 'none", 9),
    "unclosed parenthesis": ("seed = 1 AND (ipc > 1", 20),
    "closed parenthesis": ("ipc > 1) OR (ipc < 1", 7),
    "clause": ("ipc > 1 ORDER BY ipc", 8),
    "end": ("ipc > 1 AND ipc >", 16),
    "column": ("ipc > 1 AND ipcc > 1", 12),
    "text without quotes": ("design = none", 9),
    "letters of two bytes": ("design = 'éé' AND ipc > > 1", 24),
    "function": ("ipc > foo(1)", 6),
    "value": ("ipc > 'x'", 6),
}
"""Conditions, each with the character under which the caret is."""


@pytest.fixture
def stored(tmp_path: Path) -> None:
    """A results folder with one run."""
    row: dict[str, Any] = {
        "point": "p", "kind": "run", "status": "done", "version": "1", "build": "", "finished": "2026",
        "program": "gups", "machine": "modern", "design": "none", "seed": 1, "record": "{}", "ipc": 1.5,
    }  # fmt: skip
    with ResultsFolder(tmp_path / "results") as found:
        found.add(row)


@pytest.mark.parametrize(("condition", "column"), CONDITIONS.values(), ids=list(CONDITIONS))
@pytest.mark.parametrize("command", ["results", "report"])
def test_an_error_in_a_condition_has_a_caret_under_the_error(
    command: str, condition: str, column: int, casemate: Casemate, stored: None
) -> None:
    if command == "report":
        pytest.importorskip("altair")
    words = ("-o", "page.html") if command == "report" else ()
    said = casemate(command, "results", *words, "--where", condition)
    assert said.code == 2
    message, text, caret = said.err.splitlines()[-3:]
    assert message.startswith("casemate: wrong SQL: ")
    assert (text, caret) == (f"  {condition}", f"  {' ' * column}^")


def test_an_error_quotes_only_its_line_and_not_all_of_a_long_one(casemate: Casemate, stored: None) -> None:
    said = casemate("results", "results", "--where", "ipc > 0 AND\n\tipcc < 3\nOR seed = 1")
    assert said.err.splitlines()[-2:] == ["   ipcc < 3", "   ^"]
    long = " AND ".join(["ipc > 0"] * 40)
    said = casemate("results", "results", "--where", f"{long} AND ipcc < 3 AND {long}")
    text, caret = said.err.splitlines()[-2:]
    assert len(text) <= 2 + SHOWN_CHARACTERS < len(long)
    assert text[caret.index("^") :].startswith("ipcc < 3")


def test_an_error_in_a_whole_question_has_a_caret_as_well(casemate: Casemate, stored: None) -> None:
    said = casemate("results", "results", "--sql", "SELECT 1 FROM run")
    assert said.err.splitlines()[-2:] == ["  SELECT 1 FROM run", "                ^"]
