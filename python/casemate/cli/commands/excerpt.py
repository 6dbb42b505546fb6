"""`casemate excerpt`: look at a window of a run."""

from pathlib import Path

import click

from casemate.cli import options
from casemate.terminal import screen

EPILOG = """\b
Examples:
  casemate run --workload gups --design sc64-bmt --limit 1M --trace-window 20us:5us -o gups.json
  casemate excerpt gups.json
  casemate excerpt gups.json --png gups.png

\b
How to read it:
  busy     the part of the window in which the unit had any work
  at once  the most pieces of work at once
  mean     mean duration of a piece; for memory, from its request to its data
  waits    causes of waits of accesses: locks, verdicts, a refresh, or a unit that was busy with
             other accesses

To look at single accesses, open the file in https://ui.perfetto.dev or in chrome://tracing. They show a track for each
unit, with arrows from each step of an access to the next. docs/EXCERPT_FORMAT.md describes the file. All of it is
available from Python: `from casemate.excerpt import Excerpt`.
"""


@click.command("excerpt", epilog=EPILOG)
@click.argument("path", type=options.source, metavar="FILE")
@options.svg
@options.png
@screen.as_json
def command(path: Path, svg: Path | None, png: Path | None, as_json: bool) -> None:
    """Show the work of every unit in a window of a run, from a file that `casemate run --trace-window` has written."""
    from casemate.excerpt import Excerpt
    from casemate.tables import layouts

    pictures = options.pictures(svg, png, source=path)
    found = Excerpt.read(path)
    if as_json:
        screen.print_json(found.info())
    else:
        screen.results().print(layouts.excerpt_table(found.info()))
    for target, kind in pictures:
        from casemate.plots import excerpt_picture

        excerpt_picture.draw(found, target, kind)
        screen.notices().print(f"wrote {target}", markup=False)
