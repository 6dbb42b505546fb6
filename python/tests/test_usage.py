"""A wrong use of any command is one line that says what was expected, and exits with 2."""

import pytest
from casemate.nearest import hint
from conftest import Casemate

WRONG = [
    (("nix",), "unknown command 'nix'; there are: run, explain"),
    (("cost", "rtll"), "unknown command 'rtll' (did you mean 'rtl'?); there are: engine, rtl, secpb"),
    (("run", "--desgin", "none"), "no option '--desgin' (did you mean '--design'?); see `casemate run --help`"),
    (("reproduce", "gcm", "--figure", "1"), "no option '--figure'; see `casemate reproduce gcm --help`"),
    (("cost", "rtl"), "expected FILE...; see `casemate cost rtl --help`"),
    (("cost", "rtl", "a.v"), "expected --top MODULE (The module on top); see `casemate cost rtl --help`"),
    (("cost", "engine", "8"), "got unexpected extra argument (8); see `casemate cost engine --help`"),
    (("cost", "engine", "--mul-bits", "9"), "--mul-bits: '9' is not one of '8', '16', '32', '64', '128' (did you"),
    (("cost", "engine", "--lanes", "17"), "--lanes: 17 is not in the range 1<=x<=16"),
    (("cost", "engine", "--beside", "."), "--beside: file '.' is a directory"),
    (("cost", "rtl", "a.v", "--top", "a", "--param", "W"), "--param: 'W' sets nothing: expected NAME=VALUE"),
    (("bench", "crypto", "--size", "many"), "--size: 'many' is not a valid integer"),
    (("bench", "crypto", "--size"), "option '--size' requires an argument"),
    (("run", "--limit", "x"), "--limit: 'x' is not a number of instructions: expected a number such as"),
    (("explain",), "expected DESIGN; see `casemate explain --help`"),
    (("cost", "secpb", "--counted", "--operations"), "--counted goes with neither --operations nor --closed-form"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_a_wrong_use_is_one_line_with_what_was_expected(
    casemate: Casemate, arguments: tuple[str, ...], said: str
) -> None:
    refused = casemate(*arguments)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("casemate: ")
    assert refused.err.count("\n") == 1
    assert said in refused.err


def test_a_group_without_a_command_shows_its_help(casemate: Casemate) -> None:
    said = casemate("cost")
    assert (said.code, said.out) == (2, "")
    assert "Examples:" in said.err


def test_the_nearest_of_numbers_is_the_one_that_differs_least() -> None:
    assert hint("100", ["8", "16", "128"]) == " (did you mean '128'?)"
    assert hint("20", ["8", "16", "128"]) == " (did you mean '16'?)"
    assert hint("hundred", ["8", "16"]) == ""
    assert hint("nan", []) == ""
