"""`casemate trace`: look at stored executions."""

from pathlib import Path

import click

from casemate.cli import options
from casemate.cli.names import Commands
from casemate.terminal import screen


@click.group("trace", cls=Commands)
def command() -> None:
    """Look at stored executions.

    \b
    Example:
      casemate trace info gzip.trace
    """


@command.command("info")
@click.argument("path", type=options.source, metavar="FILE")
@screen.as_json
def info(path: Path, as_json: bool) -> None:
    """Show a summary of a trace. The command reads the whole file and compares every checksum.

    \b
    Examples:
      casemate trace info gzip.trace
      casemate trace info gzip.trace --json
    """
    from casemate import api
    from casemate.tables import layouts

    found = api.trace_info(path)
    if as_json:
        screen.print_json(found)
    else:
        screen.results().print(layouts.trace_table(found))
