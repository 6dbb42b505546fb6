"""Studies as objects and as TOML files: both forms are the same study, and errors name the file, the key and the
expected value.
"""

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from casemate import CasemateError
from casemate.laboratory.requests import BuiltIn, Program, Trace
from casemate.studies import study_file
from casemate.studies.study import Range, Study
from conftest import Casemate
from hypothesis import given, settings
from hypothesis import strategies as some

pytest.importorskip("tomli_w")

WORK = 'programs = ["gups"]\n'
"""The shortest study."""

WORDS = some.text("abcdefgh-_ é\"'\\\n", min_size=1, max_size=6)
VALUES = some.one_of(some.booleans(), some.integers(-(2**63), 2**64 - 1), some.floats(-1e300, 1e300), WORDS)
NUMBERS = some.one_of(some.integers(0, 10**12), some.sampled_from(["5M", "50K", "1.5G"]))
PERSISTENT = some.sampled_from(["all", "mapped", "heap"])
PATHS = some.sampled_from(["a.trace", "folder/b.trace", "/c/d.champsimtrace.gz", "../é.trace"])
KEYS = some.sampled_from(["machine.llc.size", "design.parts.mac.tag_bits", "design.sc64-bmt.caches", "machine.cores"])


def study_inputs() -> some.SearchStrategy[dict[str, Any]]:
    """Programs that can run with further programs."""
    return some.one_of(
        some.fixed_dictionaries({"workload": WORDS}, optional={"settings": some.dictionaries(WORDS, VALUES)}),
        some.fixed_dictionaries({"trace": PATHS}, optional={"persistent": PERSISTENT}),
        some.fixed_dictionaries(
            {"command": some.lists(WORDS, min_size=1, max_size=3)},
            optional={"skip": NUMBERS, "region": some.booleans(), "persistent": PERSISTENT},
        ),
    )


@some.composite
def programs(draw: some.DrawFn) -> list[dict[str, Any]]:
    """Programs, each with another name."""
    several = some.fixed_dictionaries({"together": some.lists(study_inputs(), min_size=1, max_size=3)})
    listed = draw(some.lists(some.one_of(study_inputs(), several), min_size=1, max_size=3))
    more = some.fixed_dictionaries(
        {}, optional={"copies": some.integers(1, 4), "limit": NUMBERS | some.just("all"), "warm_up": NUMBERS}
    )
    return [each | draw(more) | {"name": f"{draw(WORDS)}{index}"} for index, each in enumerate(listed)]


def ranges() -> some.SearchStrategy[dict[str, Any]]:
    """Ranges of numbers, and of numbers with a unit."""
    plain = some.fixed_dictionaries({"from": some.integers(1, 9), "to": some.integers(10, 50), "step": some.just(3)})
    sizes = some.fixed_dictionaries({"from": some.just("2 MB"), "to": some.just("16 MB"), "factor": some.just(2)})
    return plain | sizes


@some.composite
def studies(draw: some.DrawFn) -> Study:
    """Studies with any of their keys."""
    swept = draw(some.lists(KEYS, unique=True))
    parts = draw(some.lists(some.integers(0, 2), min_size=len(swept), max_size=len(swept)))
    by_part = [[key for key, part in zip(swept, parts, strict=True) if part == number] for number in range(3)]
    length = draw(some.integers(1, 3))
    optional = {
        "machines": some.lists(WORDS, min_size=1, max_size=2),
        "designs": some.lists(WORDS, min_size=1, max_size=3),
        "seeds": some.integers(1, 9) | some.lists(some.integers(0, 2**64 - 1), min_size=1, max_size=3),
        "limit": NUMBERS | some.just("all"),
        "warm_up": NUMBERS,
        "detail": some.sampled_from(["all", "sampled"]),
        "sampling": some.fixed_dictionaries({}, optional={"error": some.floats(0.01, 0.5), "aim": WORDS}),
        "age": some.sampled_from(["new", "steady"]),
        "check_values": some.booleans(),
        "ledger": some.booleans(),
        "values": some.lists(some.integers(1, 64), max_size=3),
        "baseline": WORDS,
        "attacks": some.fixed_dictionaries({}, optional={"trials": some.integers(1, 500), "row": WORDS}),
        "crashes": some.fixed_dictionaries({}, optional={"thorough": some.booleans(), "row": WORDS}),
        "figures": some.lists(
            some.fixed_dictionaries(
                {"value": WORDS},
                optional={"x": WORDS, "series": WORDS, "mean": some.just("geometric"), "title": WORDS},
            ),
            max_size=2,
        ),
    }
    return Study(
        name=draw(WORDS),
        programs=draw(programs()),
        changes={key: draw(VALUES) for key in by_part[0]},
        over={key: draw(some.lists(VALUES, min_size=1, max_size=3) | ranges()) for key in by_part[1]},
        zipped=[{key: [draw(VALUES) for _ in range(length)] for key in by_part[2]}] if by_part[2] else [],
        **draw(some.fixed_dictionaries({}, optional=optional)),
    )


@settings(max_examples=40, deadline=None)
@given(study=studies())
def test_a_study_is_unchanged_by_writing_and_reading_its_file(study: Study) -> None:
    start = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("file.toml").write_text(study_file.to_toml(study))
            assert study_file.read(Path("file.toml")) == study
        finally:
            os.chdir(start)


def test_a_study_called_study_keeps_its_name_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "caches.toml").write_text(study_file.to_toml(Study(name="study", programs="gups")))
    assert study_file.read(tmp_path / "caches.toml").name == "study"


def test_a_study_file_without_a_name_is_called_like_the_file(tmp_path: Path) -> None:
    (tmp_path / "caches.toml").write_text(WORK)
    assert study_file.read(tmp_path / "caches.toml").name == "caches"


def test_a_study_takes_every_object_that_a_run_takes() -> None:
    study = Study(
        programs=[
            "gups",
            BuiltIn("bfs", {"scale": 4}),
            Trace(Path("folder") / "a.trace", "heap"),
            Program(["gzip", "-9", Path("/usr/bin/env")], skip="5M", region=True, persistent="mapped"),
            [BuiltIn("bfs"), Trace("b.trace")],
        ],
        designs="none",
        machines="modern",
    )
    given = [each.model_dump(exclude_defaults=True) for each in study.programs]
    assert given == [
        {"workload": "gups"},
        {"workload": "bfs", "settings": {"scale": 4}},
        {"trace": "folder/a.trace", "persistent": "heap"},
        {"command": ("gzip", "-9", "/usr/bin/env"), "skip": "5M", "region": True, "persistent": "mapped"},
        {"together": ({"workload": "bfs"}, {"trace": "b.trace"})},
    ]
    assert [each.title for each in study.programs] == ["gups", "bfs-4", "a", "gzip", "bfs+b"]
    assert (study.designs, study.machines) == (("none",), ("modern",))
    assert Study(programs=Trace("a.trace")).programs[0].trace == "a.trace"


def test_the_words_of_a_command_may_be_bytes_as_in_a_run() -> None:
    assert Study(programs=Program([b"ls", b"-l"])).programs[0].command == ("ls", "-l")


def test_files_that_a_study_names_are_relative_to_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "s.toml").write_text(
        'programs = [{trace = "a.trace"}, {trace = "/b.trace"}, {together = [{trace = "x/c.trace"}, '
        '{workload = "gups"}]}, {command = ["cat", "a.toml"]}]\n'
        'designs = ["none", "mine.toml", "/tmp/mine.toml"]\nmachines = ["modern", "../own.toml"]\n'
    )
    monkeypatch.chdir(tmp_path)
    study = study_file.read(Path("folder/s.toml"))
    first, absolute, several, command = study.programs
    assert (first.trace, absolute.trace) == ("folder/a.trace", "/b.trace")
    assert [(each.trace, each.workload) for each in several.together] == [
        ("folder/x/c.trace", None),
        (None, "gups"),
    ]
    assert command.command == ("cat", "a.toml")
    assert study.designs == ("none", "folder/mine.toml", "/tmp/mine.toml")
    assert study.machines == ("modern", "folder/../own.toml")


REFUSED = {
    "a key": (WORK + 'desgns = ["none"]', "desgns", "did you mean 'designs'?"),
    "a key of a program": ('programs = [{workload = "gups", limt = 3}]', "programs.0.limt", "did you mean 'limit'?"),
    "a key of a part": (
        'programs = [{together = [{trace = "a", persistant = "all"}]}]',
        "programs.0.together.0.persistant",
        "did you mean 'persistent'?",
    ),
    "a key of a figure": (WORK + '[[figures]]\nvalue = "ipc"\nserie = "x"', "figures.0.serie", "'series'?"),
    "a key of attacks": (WORK + "[attacks]\ntrial = 1", "attacks.trial", "did you mean 'trials'?"),
    "a key of crashes": (WORK + "[crashes]\nthoroug = true", "crashes.thoroug", "did you mean 'thorough'?"),
    "a key of a range": (WORK + '[over]\n"machine.x" = {from = 1, to = 3, stp = 1}', "over.machine.x.stp", "'step'?"),
    "designs of a number": (WORK + "designs = 3", "designs", "expected a list"),
    "a design of a number": (WORK + "designs = [3]", "designs.0", "expected a valid string"),
    "seeds of text": (WORK + 'seeds = "three"', "seeds", "number"),
    "a limit of a truth value": (WORK + "limit = true", "limit", "expected"),
    "an age": (WORK + 'age = "old"', "age", "expected 'new' or 'steady'"),
    "a detail": (WORK + 'detail = "sample"', "detail", "expected 'all' or 'sampled'"),
    "trials": (WORK + "[attacks]\ntrials = 0", "attacks.trials", "greater than or equal to 1"),
    "copies": ('programs = [{workload = "gups", copies = 0}]', "programs.0.copies", "greater than or equal to 1"),
    "a swept number": (WORK + '[over]\n"machine.x" = 3', "over.machine.x", "expected a list"),
    "no value of a figure": (WORK + '[[figures]]\nx = "program"', "figures.0.value", "missing"),
    "two sources": ('programs = [{workload = "a", trace = "b"}]', "programs.0", "one of workload, trace, command"),
    "a list as a command": ('programs = [["ls", "-l"]]', "programs.0", "command"),
    "a zip of two lengths": (
        WORK + '[[zipped]]\n"machine.x" = [1, 2]\n"machine.y" = [1]',
        "machine.x has 2",
        "machine.y has 1",
    ),
    "no step": (WORK + '[over]\n"machine.x" = {from = 1, to = 3}', "over.machine.x", "either a step or a factor"),
    "a step of zero": (WORK + '[over]\n"machine.x" = {from = 1, to = 3, step = 0}', "over.machine.x", "above 0"),
    "two units": (
        WORK + '[over]\n"machine.x" = {from = "1 KB", to = "3 MB", factor = 2}',
        "over.machine.x",
        "have two units",
    ),
    "an endless range": (
        WORK + '[over]\n"machine.x" = {from = 1, to = 1000000, step = 1}',
        "over.machine.x",
        "at most 10,000 values",
    ),
    "an empty sweep": (WORK + '[over]\n"machine.x" = []', "machine.x", "at least one"),
    "a range without a value": (WORK + '[over]\n"machine.x" = {from = 3, to = 1, step = 1}', "machine.x", "at least"),
    "no seed": (WORK + "seeds = 0", "seeds", "expected"),
    "an empty list of seeds": (WORK + "seeds = []", "seeds", "expected"),
    "no design": (WORK + "designs = []", "designs", "expected"),
    "no machine": (WORK + "machines = []", "machines", "expected"),
    "two programs of one name": ('programs = ["gups", "gups"]', "programs", "'gups'"),
    "no work": ('designs = ["none"]', "programs", "attacks or crashes"),
    "a key twice": (
        WORK + '[changes]\n"machine.x" = 1\n[over]\n"machine.x" = [1]',
        "'machine.x' has values twice",
        "one of changes, over and zipped",
    ),
}
"""Text of a file, then the key and the expectation that the error contains."""


@pytest.mark.parametrize(("text", "key", "expected"), REFUSED.values(), ids=list(REFUSED))
def test_an_error_in_a_study_file_names_file_key_and_expectation(
    text: str, key: str, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(CasemateError) as refused:
        study_file.read(path)
    said = str(refused.value).replace(str(path), "FILE")
    assert key in said
    assert expected in said
    assert "FILE" in said


def test_a_swept_key_without_quotes_is_read_or_explained(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(WORK + "[over]\nmachine.cores = [1]\n")
    try:
        said = str(list(study_file.read(path).over))
    except CasemateError as error:
        said = str(error)
    assert re.search("[\"'`]machine.cores[\"'`]", said), "the key is read, or the error shows it in quotes"


def test_a_broken_study_file_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("seeds = 1\nprograms = [,\n")
    with pytest.raises(CasemateError, match=r"s\.toml.*line 2"):
        study_file.read(tmp_path / "s.toml")


def test_a_missing_study_file_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "caches.toml").write_text(WORK)
    with pytest.raises(CasemateError, match=r"no study '.*cahces\.toml' \(did you mean 'caches\.toml'\?\)"):
        study_file.read(tmp_path / "cahces.toml")


def test_a_study_file_without_utf_8_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_bytes(b'name = "\xff"')
    (tmp_path / "f.toml").mkdir()
    for name in ("s.toml", "f.toml"):
        with pytest.raises(CasemateError, match=f"cannot read the study '.*{name}'"):
            study_file.read(tmp_path / name)


def test_a_study_file_may_begin_with_a_byte_order_mark_and_utf_16_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "plain.toml").write_text(f'name = "s"\n{WORK}')
    (tmp_path / "marked.toml").write_text(f'\ufeffname = "s"\n{WORK}', encoding="utf-8")
    assert study_file.read(tmp_path / "marked.toml") == study_file.read(tmp_path / "plain.toml")
    (tmp_path / "wide.toml").write_text(WORK, encoding="utf-16")
    with pytest.raises(CasemateError, match=r"the study '.*wide\.toml': it is text in UTF-16: convert it to UTF-8"):
        study_file.read(tmp_path / "wide.toml")


def test_a_wrong_study_file_ends_the_command_with_code_2(casemate: Casemate) -> None:
    Path("s.toml").write_text(WORK + "sed = 3")
    said = casemate("sweep", "s.toml")
    assert said.code == 2
    assert "unknown key 'sed' (did you mean 'seeds'?)" in said.err
    assert [path.name for path in Path().iterdir()] == ["s.toml"]


@settings(deadline=None)
@given(start=some.integers(-50, 2**42), length=some.integers(0, 40), step=some.integers(1, 9))
def test_a_range_of_whole_numbers_has_exactly_the_numbers_of_its_steps(start: int, length: int, step: int) -> None:
    given = Range.model_validate({"from": start, "to": start + length, "step": step})
    assert given.values() == list(range(start, start + length + 1, step))


@settings(deadline=None)
@given(start=some.integers(1, 2**42), length=some.integers(0, 40), step=some.integers(1, 9))
def test_a_range_of_sizes_writes_every_digit_of_its_numbers(start: int, length: int, step: int) -> None:
    given = Range.model_validate({"from": f"{start} B", "to": f"{start + length} B", "step": step})
    assert given.values() == [f"{number} B" for number in range(start, start + length + 1, step)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"from": "2 MB", "to": "16 MB", "factor": 2}, ["2 MB", "4 MB", "8 MB", "16 MB"]),
        ({"from": "0.5 MB", "to": "4 MB", "factor": 2}, ["0.5 MB", "1 MB", "2 MB", "4 MB"]),
        ({"from": 1, "to": 99, "factor": 10}, [1, 10]),
        ({"from": 0.1, "to": 0.5, "step": 0.1}, [0.1, 0.2, 0.3, 0.4, 0.5]),
    ],
    ids=["sizes", "parts of sizes", "factor", "fractions"],
)
def test_a_range_has_the_values_that_its_text_states(given: dict[str, Any], expected: list[Any]) -> None:
    assert Range.model_validate(given).values() == expected
