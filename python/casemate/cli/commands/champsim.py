"""`casemate champsim`: a window of a ChampSim trace, in ChampSim's terms."""

from pathlib import Path

import click

from casemate.cli import options
from casemate.terminal import screen

EPILOG = """\b
Examples:
  casemate champsim 600.perlbench.champsimtrace.xz --warmup 1M --instructions 3M
      ChampSim as shipped.
  casemate champsim mix.champsimtrace --machine mine.toml --warmup 1M --instructions 3M --json
      A machine of your own: begin with a copy of machines/champsim-default.toml.

\b
A trace may be plain or packed by xz, gzip, bzip2 or zstd. It is recognised by content, under any name, and each record
is checked when it is read. It starts again at its end, as in ChampSim, and the table states how often.
docs/VALIDATION.md maps keys of a machine file to ChampSim's configuration. `casemate run --trace` shows the cost of
protection on this kind of trace.

\b
Exit codes: 0 fine, 2 bad input, 130 Ctrl-C, 143 SIGTERM.
"""


@click.command("champsim", epilog=EPILOG)
@click.argument("trace", type=options.source)
@click.option("--machine", default="champsim-default", show_default=True, metavar="NAME|FILE", help="The machine.")
@click.option(
    "--warmup", type=options.Count(finite=True), default="0", metavar="N", help="Instructions before the window."
)
@click.option(
    "--instructions", type=options.Count(finite=True), required=True, metavar="N", help="Instructions of the window."
)
@options.seed
@screen.as_json
def command(trace: Path, machine: str, warmup: int, instructions: int, seed: int, as_json: bool) -> None:
    """Measure a window of a ChampSim trace on an unprotected machine, in ChampSim's terms."""
    from casemate import api
    from casemate.tables import layouts
    from casemate.terminal.progress import Instructions

    with Instructions(screen.notices(), [trace.name], 2 * warmup + instructions) as progress:
        window = api.window(
            trace, machine=machine, warmup=warmup, instructions=instructions, seed=seed, progress=progress.report
        )
    if as_json:
        screen.print_json(window)
    else:
        screen.results().print(layouts.window_table(window))
