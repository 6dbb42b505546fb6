"""A wrong use of any command is one line that says what was expected, and exits with 2. Every --json has a schema."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from casemate import cli
from casemate.commands import schema
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
    (("cost", "engine", "--lanes", "17"), "--lanes: 17 is out of range: expected a whole number from 1 to 16 (did you"),
    (("cost", "engine", "--lanes", "x"), "--lanes: 'x' is not a whole number: expected one from 1 to 16\n"),
    (("cost", "engine", "--lanes", "2.2"), "is not a whole number: expected one from 1 to 16 (did you mean '2'?)"),
    (("cost", "engine", "--lanes", "1e400"), "is not a whole number: expected one from 1 to 16 (did you mean '16'?)"),
    (("cost", "engine", "--target", "5ns"), "'5ns' is not a number: expected one in NS (did you mean '5.0'?)"),
    (("cost", "secpb", "--entries", "many"), "--entries: 'many' is not a whole number: expected one, such as 8\n"),
    (("attack", "none", "--trials", "0"), "0 is out of range: expected a whole number from 1 to 1000000000000 (did"),
    (("cost", "engine", "--beside", "."), "--beside: '.' is a folder: expected a regular file"),
    (("cost", "rtl", "a.v", "--top", "a", "--param", "W"), "--param: 'W' sets nothing: expected NAME=VALUE"),
    (("bench", "crypto", "--size", "many"), "--size: 'many' is not a whole number: expected one in BYTES\n"),
    (("bench", "crypto", "--size"), "option '--size' requires an argument"),
    (("run", "--limit", "x"), "--limit: 'x' is not a number of instructions: expected a number such as"),
    (("schema", "cost", "engine", "8"), "unknown schema 'cost engine 8' (did you mean 'cost engine'?); there are: run"),
    (("schema", "trace", "inof"), "unknown schema 'trace inof' (did you mean 'trace'?); there are: run"),
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
    assert hint("w", ["KeyBits", "W"]) == " (did you mean 'W'?)"
    assert hint("nan", []) == ""


def commands(group: click.Group, words: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command by its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, f"{words}{name} ")
        else:
            yield f"{words}{name}", found


def test_what_prints_json_has_a_schema_under_its_own_words() -> None:
    known = dict(commands(cli.casemate))
    printing = {words for words, each in known.items() if any("--json" in option.opts for option in each.params)}
    assert {"run", "cost engine", "cost rtl", "reproduce gcm", "bench crypto"} <= printing
    for words in printing:
        assert schema.of(words)
    for kind in set(schema.KINDS) - {"result"}:
        assert any(words == kind or words.startswith(f"{kind} ") for words in printing), kind


def test_the_command_is_the_package_as_well() -> None:
    said = subprocess.run([sys.executable, "-m", "casemate", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("casemate, version ")


def test_a_group_whose_commands_print_alike_has_their_schema(casemate: Casemate) -> None:
    assert casemate("schema", "bench").json() == casemate("schema", "bench", "crypto").json()
    assert casemate("schema", "cost-engine").json() == casemate("schema", "cost", "engine").json()
    assert casemate("schema", "cost", "secpb").json() != casemate("schema", "cost", "engine").json()
