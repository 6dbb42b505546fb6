"""`casemate crash`: losses of power, and what comes back."""

from typing import Any

import click

from casemate import definitions, interruption, options, screen
from casemate.cli import EXIT_INTERRUPTED, EXIT_NO

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
Here "not-applicable", which tables show as "-", means that nothing survives by design, so that there is nothing more to
lose; "harmless", that memory holds a state between what had returned and what had begun, whole; "hidden", that no pad
was used twice; "stale", that what had been written was lost and nothing said so.

All sequences of up to three writes over three lines are tried, one after the other and all at once, also where counters
overflow meanwhile. What was fenced has arrived; everything else may have, or not, or in part. After each recovery every
line is read, written and read again. Where a design has persist buffers, these have one or two entries here, whatever
it says: so three stores fill and drain them.

Of what was on its way, up to 1,024 subsets are tried at each point of a sequence of one write, and 64 of longer ones.
What sequences of one and two writes leave is attacked with every strike, what longer ones leave with one of each kind,
drawn with the seed; --thorough takes every strike and 256 subsets for all. The table counts different memories: those
that were left, those of them that only torn or reordered writes leave, and those that an attacker made of them.

With --program, a built-in program stores through the design until power fails; a fresh chip recovers, the program's own
recovery reads the memory that it finds, and the program goes on: in one life after the other, each with the next seed.
Every committed operation must be there, whole, in order. There are "log" and "btree"; `casemate list workloads` says
what can be set of them. Through a persist buffer and under strict persistency stores are durable in the order of the
program. Behind a buffer the program crashes now and then besides, while the machine goes on: once the buffer has
drained, the same must be there. Under "coalesced" order, epochs end at its fences, and between them lines leave the
caches at any time.

\b
Exit codes: 0 everything as claimed, 1 something differs, 2 bad input, 130 Ctrl-C, 143 SIGTERM.
"""


BUFFER_KEYS = ("entries", "drain_from", "drain_to", "latency_cycles")
"""What a design says of its persist buffer that short workloads do not see."""


def _check_what_short_workloads_see(context: click.Context, changes: dict[str, str], program: str | None) -> None:
    """Refuses changes of a persist buffer that would change nothing."""
    for key in changes if program is None else ():
        if key.endswith(tuple(f"parts.persistence.{name}" for name in BUFFER_KEYS)):
            raise click.UsageError(
                f"--with {key}: short workloads have persist buffers of one or two entries, whatever a design has: "
                "expected --program log or --program btree, which go through its own",
                context,
            )


@click.command("crash", epilog=EPILOG)
@options.designs
@options.every
@options.changes
@click.option("--row", metavar="ROW", help="Only this row.")
@click.option("--workload", type=click.IntRange(min=0), metavar="N", help="Only this workload, by number.")
@click.option("--thorough", is_flag=True, help="Every strike on every workload, and more subsets.")
@click.option("--program", metavar="NAME", help="A program with a recovery of its own, instead of short workloads.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    callback=options.pairs("order=commit-first"),
    help="Set a parameter of the program.",
)
@click.option("--losses", type=click.IntRange(min=1), metavar="N", help="How often power fails.  [default: 1000]")
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
    """Cut the power at every point of short workloads, and compare what comes back with what designs claim.

    Memory keeps what had arrived; the chip keeps its root register, and of designs with persistence its keys. A fresh
    chip recovers from that, and every line is read.
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

    from casemate import api, campaigns, tables, verdicts
    from casemate.names import OneOf
    from casemate.progress import Steps

    names = options.chosen_designs(designs, every, changes)
    if row is not None:
        OneOf("row", [loss.name for loss in api.losses()]).convert(row, None, context)
    with Steps(screen.notices(), "cutting the power", len(names)) as steps:
        told: Any = {"seed": seed, "progress": steps.tell}
        if program is not None:
            told |= {"settings": settings, "losses": losses or api.PROGRAM_LOSSES}
            results = campaigns.survive(
                names, changes, steps, lambda design, own: api.survive(design, program, changes=own, **told)
            )
        else:
            told |= {"row": row, "workload": workload, "thorough": thorough}
            results = campaigns.crash(names, changes, steps, lambda design, own: api.crash(design, changes=own, **told))
    if as_json:
        screen.print_json(results)
    elif results.reports:
        screen.results().print(Group(*tables.changed(results.changes), verdicts.crash_tables(results.reports)))
    elif results.programs:
        screen.results().print(Group(*tables.changed(results.changes), verdicts.program_table(results.programs)))
    if results.interrupted:
        complete = len(results.reports) + len(results.programs)
        screen.notices().print(f"stopped by {interruption.cause()}: {complete} of {len(names)} designs are complete")
        return EXIT_INTERRUPTED
    return 0 if results.agrees else EXIT_NO
