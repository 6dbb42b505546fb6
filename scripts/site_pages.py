"""Pages of the site that are written from the code: the help of every command, and the Python interface.

MkDocs loads this file as a hook (`mkdocs.yml`). A command that docs/COMMANDS.md does not show ends the build.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import casemate
import click
from casemate.cli import main
from command_tree import every_command

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

WIDTH = 80
"""Columns of the help of a command."""


def undocumented(page: str) -> list[str]:
    """Returns the names of commands that a page does not show."""
    every = every_command(main.casemate, "casemate")
    names = [name for name, command in every if not isinstance(command, click.Group)]
    return [name for name in names if not re.search(rf"\b{re.escape(name)}\b", page)]


def command_page() -> str:
    """Returns the reference of all commands as Markdown."""
    parts = ["# Reference of commands\n\nThis is what `casemate COMMAND --help` prints."]
    for name, command in every_command(main.casemate, "casemate"):
        context = click.Context(command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
        heading = "#" * max(2, len(name.split()))
        parts.append(f"{heading} {name}\n\n```text\n{command.get_help(context)}\n```")
    return "\n\n".join(parts) + "\n"


def interface_page() -> str:
    """Returns the page from which mkdocstrings writes the reference of the Python interface."""
    # An earlier name of a function has no section of its own.
    named = {name: getattr(casemate, name) for name in casemate.__all__ if not name.startswith("_")}
    names = sorted(name for name, each in named.items() if each.__name__ == name)
    parts = ["# Python interface\n\n`import casemate as cm` offers what the commands do."]
    parts += [f"::: casemate.{name}" for name in names]
    return "\n\n".join(parts) + "\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the written pages to the site."""
    # The tests of the other functions run without MkDocs.
    from mkdocs.exceptions import PluginError
    from mkdocs.structure.files import File

    shown = Path(config.docs_dir, "COMMANDS.md").read_text()
    if missing := undocumented(shown):
        raise PluginError(f"docs/COMMANDS.md shows no example of {', '.join(missing)}")
    for path, content in (("reference/commands.md", command_page()), ("reference/api.md", interface_page())):
        files.append(File.generated(config, path, content=content))
    return files
