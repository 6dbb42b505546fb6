"""The prose of the project keeps to docs/STYLE.md, as far as counting can see."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import names  # noqa: E402
import prose  # noqa: E402
import prose_strings  # noqa: E402
from budget_history import committed  # noqa: E402

KEPT = ROOT / "tests" / "prose.toml"
BUDGETS = tomllib.loads(KEPT.read_text())
SUBJECT_LENGTH_MAX = 60
BODY_WORDS_MIN = 20
MARKERS_MAX = 3.0
MARKERS_STAY = {"docs": 5.0}
SUBJECT = re.compile(r"[a-z][a-z0-9_.+-]*(?:, [a-z][a-z0-9_.+-]*)*: [a-z`]")


@pytest.mark.parametrize("kind", prose.KINDS)
def test_each_kind_of_document_keeps_its_prose_budget(kind: str) -> None:
    seen = prose.measure_of(kind)
    found = {
        "markers": seen.per_kilo,
        "what": seen.what_per_kilo,
        "long": seen.long_percent,
        "openings": seen.openings,
    }
    over = {name: round(value, 1) for name, value in found.items() if value > BUDGETS["budget"][kind][name]}
    assert not over, f"over its budget in tests/prose.toml; scripts/prose.py --list {kind} names the places"


def test_names_keep_their_budget() -> None:
    twice = names.types_defined_twice()
    found = {
        "identifiers": len(names.banned_identifiers()),
        "docstrings": len(list(prose.short_docstrings())),
        "types": len(twice),
        "types_in_a_crate": sum(len(crates) > len(set(crates)) for crates in twice.values()),
        "tests": sum(bool(names.components(name) & names.BANNED) for name in names.test_names()),
    }
    over = {name: value for name, value in found.items() if value > BUDGETS["names"][name]}
    assert not over


def test_no_prose_budget_rises_over_the_history() -> None:
    history = committed("tests/prose.toml")
    if not history:
        pytest.skip("this checkout has no history")
    for before in history:
        for kind, budget in before["budget"].items():
            risen = {name for name, most in budget.items() if BUDGETS["budget"][kind][name] > most}
            # These budgets stay, above former ones: all of them are below the prose that we learn from.
            risen -= {"markers"} if BUDGETS["budget"][kind]["markers"] == MARKERS_STAY.get(kind, MARKERS_MAX) else set()
            assert not risen, f"{kind}: {sorted(risen)}"
        assert not {name for name, most in before["names"].items() if BUDGETS["names"][name] > most}


def test_exceptions_of_the_prose_measure_are_few_and_have_reasons() -> None:
    exceptions = BUDGETS["exceptions"]
    assert all(len(reason.split()) >= 3 for reason in exceptions.values())
    hits = sum(prose.measure_of(kind).markers.total() for kind in prose.KINDS)
    assert len(exceptions) * 100 <= hits


def test_subjects_of_commits_name_an_area_and_a_change() -> None:
    subjects = names.subjects()
    if not subjects:
        pytest.skip("this checkout has no history")
    wrong = [subject for subject in subjects if len(subject) > SUBJECT_LENGTH_MAX or not SUBJECT.match(subject)]
    assert not wrong


def test_commits_of_code_have_a_body_that_says_why() -> None:
    bodies = names.bodies()
    if not bodies:
        pytest.skip("this checkout has no history of this rule")
    short = [subject for subject, words in bodies if words < BODY_WORDS_MIN]
    assert not short, f"expected a body of {BODY_WORDS_MIN} words or more"


def test_the_prose_measure_reads_strings_of_messages_but_no_patterns(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text('"""A docstring is left out."""\nsay(f"the {name} is not there")\nlist("a b c")\n')
    (tmp_path / "one.rs").write_text('// "A comment is left out."\nlet a = "no machine of {count} \\\n    cores";\n')
    python = [text for _, text in prose_strings.in_python(tmp_path / "one.py") if prose_strings.is_prose(text)]
    assert python == ["the X is not there"]
    assert [text for _, text in prose_strings.in_rust(tmp_path / "one.rs")] == ["no machine of X cores"]
    assert not prose_strings.is_prose(r"^one two three four$")


def test_the_prose_measure_finds_each_banned_construction() -> None:
    bad = {
        "what": "What is fetched waits.",
        "lie": "Where lines lie is known.",
        "stand": "It stands in the file.",
        "go on": "The core goes on.",
        "there": "The line is there.",
        "nothing": "Nothing is fetched.",
        "so many": "So many lines.",
        "such": "Such a line waits.",
        "its own": "A key of its own.",
        "of which": "A page of which the owner waits.",
        "others": "Others wait.",
        "bring": "A line comes.",
        "tell": "The buffer is told.",
        "beside": "The bits beside it.",
        "alone": "It runs alone.",
    }
    assert bad.keys() == prose.MARKERS.keys()
    for name, text in bad.items():
        assert prose.measure([prose.Passage("", 1, text)]).markers[name] == 1, text
    good = "There is a line, such as `what`. What is it? The cache sends the line to the core."
    assert prose.measure([prose.Passage("", 1, good)]).markers.total() == 0


def test_the_prose_measure_counts_long_sentences_and_hidden_subjects() -> None:
    seen = prose.measure([prose.Passage("", 1, "Where it is. " + "Word " * 31 + "end. The core waits.")])
    assert (seen.sentences, seen.long, seen.openings) == (3, 1, 1)
