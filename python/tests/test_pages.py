"""Commands that the pages and the help show can be typed as they are printed."""

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from casemate import designs
from casemate.cli.main import casemate
from command_tree import every_command

ROOT = Path(__file__).resolve().parents[2]
# Messages about files that only a reader of the page has.
MISSING_FILE = re.compile("No such file|does not exist|cannot read")


def on_pages() -> Iterator[str]:
    """Commands in blocks of code of the README and of the pages in `docs`."""
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))):
        for block in re.findall(r"```[^\n]*\n(.*?)```", page.read_text(), re.DOTALL):
            for line in re.sub(r"\\\n\s*", " ", block).splitlines():
                found = re.match(r"\s*(?:\$ )?casemate ([a-z].*?)(?:\s{2,}.*)?$", line)
                if found:
                    yield found[1]


def in_help() -> Iterator[str]:
    """Commands in the examples of the help of all commands."""
    for _, command in every_command(casemate, "casemate"):
        for line in f"{command.help}\n{command.epilog}".splitlines():
            found = re.match(r"\s+casemate ([a-z].*?)(?:\s{2,}.*)?$", line)
            if found:
                yield found[1]


def words_of(line: str) -> list[str]:
    """Words of a command up to a pipe, a redirection or a comment of the shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="<>|")
    lexer.whitespace_split = True
    return list(itertools.takewhile(lambda word: word[0] not in "<>|#", (word or " " for word in lexer)))


def parse(command: click.Command, words: list[str]) -> None:
    """Parses a command with its subcommands, without running it."""
    context = click.Context(command)
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        command, context = found, click.Context(found, parent=context, info_name=name)
    command.parse_args(context, words)


def error_of(words: list[str]) -> str | None:
    """Returns the message about a wrong command, or `None` if only a file of the reader is missing."""
    try:
        parse(casemate, words)
    except click.UsageError as error:
        return None if MISSING_FILE.search(error.message) else error.message
    return None


def test_the_documentation_and_the_help_contain_over_40_commands_each() -> None:
    assert len(set(on_pages())) > 40
    assert len(set(in_help())) > 40


@pytest.mark.parametrize("line", sorted({*on_pages(), *in_help()}))
def test_every_command_in_documentation_and_help_parses(line: str) -> None:
    assert error_of(words_of(line)) is None


@pytest.mark.parametrize("line", ["run --desing none", "rnu", "explain sc64-bmt --of nothing", "list desings"])
def test_the_command_check_of_the_documentation_rejects_a_wrong_command(line: str) -> None:
    assert error_of(words_of(line)) is not None


def in_demo() -> Iterator[str]:
    """Commands of `make demo`."""
    yield from re.findall(r"^run (.*)$", (ROOT / "scripts/demo.sh").read_text(), re.MULTILINE)


def test_designs_that_an_example_compares_differ_in_one_part() -> None:
    """Otherwise the reader takes the cost of a slower MAC for that of a tree."""
    parts = {design.name: design.parts.model_dump() for design in designs()}
    pattern = r"explain (\S+) .*?--against (\S+)"
    pairs = [found for line in (*on_pages(), *in_help(), *in_demo()) for found in re.findall(pattern, line)]
    assert len(pairs) >= 6
    for one, other in pairs:
        differing = [part for part in parts[one] if parts[one][part] != parts[other][part]]
        assert len(differing) == 1, (one, other, differing)
