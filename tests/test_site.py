"""The site of the documentation has every page once, and the pages show every command."""

import re
from pathlib import Path

import click
from casemate.cli import main
from command_tree import every_command

ROOT = Path(__file__).parents[1]
WRITTEN_BY_THE_BUILD = {"reference/commands.md", "reference/api.md"}


def test_the_navigation_lists_every_page_once() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    listed = re.findall(r"([\w/-]+\.md)$", navigation, re.MULTILINE)
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(listed) == sorted(pages | WRITTEN_BY_THE_BUILD)


def test_the_page_of_commands_shows_every_command() -> None:
    shown = (ROOT / "docs/COMMANDS.md").read_text()
    every = every_command(main.casemate, "casemate")
    names = [name for name, command in every if not isinstance(command, click.Group)]
    assert [name for name in names if not re.search(rf"\b{re.escape(name)}\b", shown)] == []
