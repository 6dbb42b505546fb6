"""`casemate record`: store a program's execution."""

from pathlib import Path
from typing import Literal

import click

from casemate._core import CasemateError
from casemate.cli import options
from casemate.cli.main import EXIT_INTERRUPTED
from casemate.terminal import screen

EPILOG = """\b
Examples:
  casemate record -o gzip.trace --limit 50M -- gzip -9 -c /usr/bin/python3
  casemate run --trace gzip.trace --design none --design sc64-bmt
  casemate trace info gzip.trace

The file appears under its name only when it is whole. Ctrl-C and SIGTERM end the program and keep the
recording so far; Casemate ends all processes that the program started. Recording needs QEMU's user mode
(qemu-x86_64); CASEMATE_RECORDER names another recorder than that of this package.

\b
Exit codes: 0 fine, 2 bad input, 130 Ctrl-C, 143 SIGTERM (what was recorded is kept).
"""


@click.command("record", epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@click.option("-o", "--output", "path", type=options.file, required=True, help="The trace to write.")
@click.option(
    "--limit",
    type=options.Count(),
    default="all",
    metavar="N|all",
    help="Maximum number of instructions, as in 50M. [default: all]",
)
@options.skip
@options.region
@click.option("--check-values", is_flag=True, help="Also record the loaded values, for `casemate run --check-values`.")
@options.stdout
@screen.as_json
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM ARGS...")
@click.pass_context
def command(
    context: click.Context,
    path: Path,
    limit: int | Literal["all"],
    skip: int,
    region: bool,
    check_values: bool,
    output: Literal["inherit", "discard"],
    as_json: bool,
    program: tuple[str, ...],
) -> int:
    """Store a program's execution, to run it as often as you like, anywhere.

    Runs of a stored execution have the same results every time, bit for bit, and need no QEMU.
    """
    if not program:
        raise click.UsageError("expected a program to record, after `--`", context)
    if as_json and output == "inherit":
        raise click.UsageError("--stdout inherit would mix the program's output with --json: use one of them", context)
    notices = screen.notices()
    notices.print("Recording", " ".join(program), markup=False)
    from casemate import api
    from casemate.laboratory.requests import Program
    from casemate.schemas.origin import Unbacked
    from casemate.terminal.progress import Instructions
    from casemate.text import amounts

    most = None if limit == "all" else limit
    with Instructions(notices, ["recording"], most) as progress:
        recording = api.record(
            Program(program, skip=skip, region=region, stdin="inherit", output=output),
            path,
            limit=most,
            load_values=check_values,
            progress=progress.report,
        )
    if as_json:
        screen.print_json(recording)
    else:
        size = amounts.size(path.stat().st_size)
        screen.results().print(
            f"{path}: {amounts.count(recording.totals.instructions)} instructions, {size}", markup=False
        )
    if recording.unbacked is not None:
        raise CasemateError(str(Unbacked(unbacked=recording.unbacked)))
    return EXIT_INTERRUPTED if recording.interrupted else 0
