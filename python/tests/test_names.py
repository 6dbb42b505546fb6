"""Names that are not UTF-8, as `os.listdir` and `subprocess` have them: a program gets its words byte by byte, and all
other names are refused in words.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casemate as cm
import pytest
from casemate.laboratory import native

LATIN = os.fsdecode(b"caf\xe9")
"""A name in Latin-1, in the form that `os.listdir` returns."""


@pytest.mark.parametrize("name", [b"caf\xe9", LATIN, Path(LATIN)])
def test_a_recorded_program_receives_a_non_utf_8_argument_unchanged(tmp_path: Path, name: str | bytes | Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
    word = path if isinstance(name, bytes) else type(name)(os.fsdecode(path))
    cm.run(["/usr/bin/touch", word], designs=["none"], options=cm.RunOptions(protection=False, limit="all"))
    assert os.listdir(os.fsencode(tmp_path)) == [b"caf\xe9"]


def test_utf_8_command_arguments_are_passed_as_text_and_others_as_bytes() -> None:
    given = ["café", "café".encode(), Path("café"), 7]
    assert [native.word(each) for each in given] == ["café", "café", "café", "7"]
    assert native.word(LATIN) == list(b"caf\xe9")


@pytest.mark.parametrize(
    "ask",
    [
        lambda: cm.run(cm.BuiltIn("gups"), designs=[f"{LATIN}.toml"]),
        lambda: cm.run(cm.BuiltIn(LATIN), designs=["none"]),
        lambda: cm.run(cm.Trace(Path(LATIN)), designs=["none"]),
        lambda: cm.run(cm.BuiltIn("gups"), designs=["none"], machine=f"{LATIN}.toml"),
        lambda: cm.run(cm.BuiltIn("gups"), designs=["none"], options=cm.RunOptions(bus=LATIN)),
        lambda: cm.record(["/bin/true"], LATIN),
        lambda: cm.trace_info(LATIN),
        lambda: cm.design(LATIN),
        lambda: cm.layout(LATIN),
        lambda: cm.explain(LATIN),
        lambda: cm.attack(LATIN),
        lambda: cm.cost_of_battery(profile=LATIN),
    ],
)
def test_names_other_than_program_arguments_must_be_utf_8(ask: Callable[[], Any]) -> None:
    with pytest.raises(cm.CasemateError) as refused:
        ask()
    assert str(refused.value).startswith(r"'caf\xe9")
    assert str(refused.value).endswith("is not UTF-8: expected names and arguments in UTF-8")
