"""`casemate bus`: look at the lines that crossed the pins of memory in a run."""

from pathlib import Path

import click

from casemate.cli import options
from casemate.terminal import screen

EPILOG = """\b
Examples:
  casemate run --workload gups --design sc64-bmt --limit 1M --bus gups.bus --bus-bytes
  casemate bus gups.bus
  casemate bus gups.bus --first 1000 --json

\b
How to read it:
  time    nanoseconds from power-on: the last data of a read, or the moment at which memory's controller took the write
  address the address of the line's first byte; the JSON also has the number of the line (`line`)
  queued  no line moved: the controller answered the read from its queue of writes, or the write replaced one in it

All of it from Python: `from casemate.bus import BusFile`. The layout of the file is in docs/BUS_FORMAT.md.
"""


@click.command("bus", epilog=EPILOG)
@click.argument("path", type=options.source, metavar="FILE")
@click.option("--first", type=click.IntRange(0), default=10, show_default=True, metavar="N", help="Show the first N.")
@screen.as_json
def command(path: Path, first: int, as_json: bool) -> None:
    """Show the lines that crossed the pins of memory in a run. The command reads the whole file and compares every
    checksum.
    """
    from casemate import bus
    from casemate.tables import layouts

    found = bus.info(path, first)
    if as_json:
        screen.print_json(found)
    else:
        screen.results().print(layouts.bus_table(found))
