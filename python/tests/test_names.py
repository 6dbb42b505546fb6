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
def test_a_program_gets_a_word_that_is_not_utf_8_byte_by_byte(tmp_path: Path, name: str | bytes | Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
    word = path if isinstance(name, bytes) else type(name)(os.fsdecode(path))
    cm.run(["/usr/bin/touch", word], designs=["none"], options=cm.RunOptions(protection=False, limit="all"))
    assert os.listdir(os.fsencode(tmp_path)) == [b"caf\xe9"]


def test_words_of_a_command_are_text_if_they_are_utf_8() -> None:
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
def test_any_other_name_that_is_not_utf_8_is_refused_with_the_reason(ask: Callable[[], Any]) -> None:
    with pytest.raises(cm.CasemateError) as refused:
        ask()
    assert str(refused.value).startswith(r"'caf\xe9")
    assert str(refused.value).endswith("is not UTF-8: expected names and arguments in UTF-8")
