"""`casemate crash`: losses of power, and the recovered memory."""

from typing import Any

import click

from casemate.cli import definitions, options
from casemate.cli.main import EXIT_INTERRUPTED, EXIT_NO
from casemate.terminal import interruption, screen

EPILOG = f"""\b
Examples:
  casemate crash plp-sp                            all rows on one design
  casemate crash --all                             all designs, side by side
  casemate crash plp-sp --row power-loss --workload 37
                                                   one workload, as an example's replay line says
  casemate crash secpb-cm --with design.parts.mac.tag_bits=32
                                                   a shorter tag: does it keep the same claims?
  casemate crash secpb-cm --program btree --with design.parts.persistence.entries=4
                                                   a smaller buffer under a persistent B-tree
  casemate crash secpb-cobcm --program log --losses 100000
                                                   a persistent log, which recovers by itself after each loss
  casemate crash secpb-cobcm --program log --set order=commit-first
                                                   the same, written wrongly

{definitions.losses()}
{definitions.verdicts()}
In this command "not-applicable", which tables show as "-", means that no data survives by design, so that a loss of
power destroys no more. "harmless": memory has a consistent state, with all completed writes and perhaps some of those
under way. "hidden": no pad was used twice. "stale": written data was lost without a report.

All sequences of up to three writes over three lines are tried, with the writes one after the other and all at once,
also with counters that overflow meanwhile. Fenced writes have arrived; other writes may have, or not, or in part. After
each recovery every line is read, written and read again. In this command persist buffers have one or two entries,
whatever the design, so that three stores fill and drain them.

At each point up to 1,024 subsets of the writes on their way are tried for a sequence of one write, and 64 for longer
ones. Memories after sequences of one and two writes are attacked with every strike, those after longer ones with one of
each kind, drawn with the seed. --thorough takes every strike and 256 subsets for all. The table counts different
memories: those after losses, those among them that only torn or reordered writes leave, and those that an attacker made
of them.

With --program, a built-in program stores through the design until power fails. A fresh chip recovers, the program's
recovery routine reads the memory that it finds, and the program continues, over many lives with successive seeds. Every
committed operation must be in memory, whole, in order. The programs are "log" and "btree"; `casemate list workloads`
lists their parameters. Through a persist buffer and under strict persistency stores are durable in the order of the
program. With a buffer the program sometimes crashes too, while the machine keeps running: once the buffer has drained,
the same must be in memory. Under "coalesced" order, epochs end at the program's fences, and between fences lines leave
the caches at any time.

\b
Exit codes: 0 everything as claimed, 1 something differs, 2 bad input, 130 Ctrl-C, 143 SIGTERM.
"""


BUFFER_KEYS = ("entries", "drain_from", "drain_to", "latency_cycles")
"""Keys of a design's persist buffer that have no effect on short workloads."""


def _check_what_short_workloads_see(context: click.Context, changes: dict[str, str], program: str | None) -> None:
    """Refuses changes of a persist buffer that would have no effect."""
    for key in changes if program is None else ():
        if key.endswith(tuple(f"parts.persistence.{name}" for name in BUFFER_KEYS)):
            raise click.UsageError(
                f"--with {key}: short workloads have persist buffers of one or two entries under any design: "
                "expected --program log or --program btree, which go through its own",
                context,
            )


@click.command("crash", epilog=EPILOG)
@options.designs
@options.every
@options.changes
@click.option("--row", metavar="ROW", help="Try only this kind of loss.")
@click.option(
    "--workload", type=click.IntRange(min=0), metavar="N", help="Try only the short workload with this number."
)
@click.option(
    "--thorough", is_flag=True, help="Try every strike after every workload, and more subsets of writes on their way."
)
@click.option(
    "--program", metavar="NAME", help="A program that contains a recovery routine, instead of short workloads."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    callback=options.pairs("order=commit-first"),
    help="Set a parameter of the program.",
)
@click.option("--losses", type=click.IntRange(min=1), metavar="N", help="Number of losses of power.  [default: 1000]")
@options.seed
@screen.as_json
@click.pass_context
def command(
    context: click.Context,
    designs: tuple[str, ...],
    every: bool,
    changes: dict[str, str],
    row: str | None,
    workload: int | None,
    thorough: bool,
    program: str | None,
    settings: dict[str, str],
    losses: int | None,
    seed: int,
    as_json: bool,
) -> int:
    """Cut the power at every point of short workloads, and compare the recovered memory with the claims of designs.

    Memory keeps the writes that had arrived. The chip keeps its root register, and in designs with persistence its
    keys. A fresh chip recovers from these, and every line is read.
    """
    options.check_designs(context, designs, every)
    options.check_changes_of_designs(context, changes, "tried")
    _check_what_short_workloads_see(context, changes, program)
    if program is None and (settings or losses is not None):
        raise click.UsageError(
            "--set and --losses are of a program: expected --program too, as in --program log", context
        )
    if program is not None and (row is not None or workload is not None or thorough):
        raise click.UsageError("--row, --workload and --thorough are of short workloads: not with --program", context)
    from rich.console import Group

    from casemate import api
    from casemate.cli import campaigns
    from casemate.cli.names import OneOf
    from casemate.tables import layouts, verdicts
    from casemate.terminal.progress import Steps

    names = options.chosen_designs(designs, every, changes)
    if row is not None:
        OneOf("row", [loss.name for loss in api.losses()]).convert(row, None, context)
    with Steps(screen.notices(), "cutting the power", len(names)) as steps:
        given: Any = {"seed": seed, "progress": steps.report}
        if program is not None:
            given |= {"settings": settings, "losses": losses or api.PROGRAM_LOSSES}
            results = campaigns.crash_program(
                names, changes, steps, lambda design, own: api.crash_program(design, program, changes=own, **given)
            )
        else:
            given |= {"row": row, "workload": workload, "thorough": thorough}
            results = campaigns.crash(
                names, changes, steps, lambda design, own: api.crash(design, changes=own, **given)
            )
    if as_json:
        screen.print_json(results)
    elif results.reports:
        screen.results().print(Group(*layouts.changed(results.changes), verdicts.crash_tables(results.reports)))
    elif results.programs:
        screen.results().print(Group(*layouts.changed(results.changes), verdicts.program_table(results.programs)))
    if results.interrupted:
        complete = len(results.reports) + len(results.programs)
        screen.notices().print(f"stopped by {interruption.cause()}: {complete} of {len(names)} designs are complete")
        return EXIT_INTERRUPTED
    return 0 if results.agrees else EXIT_NO
