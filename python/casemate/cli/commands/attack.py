"""`casemate attack`: attacks on designs, compared with the designs' claims."""

from pathlib import Path

import click

from casemate.cli import definitions, options
from casemate.cli.main import EXIT_INTERRUPTED, EXIT_NO
from casemate.terminal import interruption, screen

DEFAULT_LOG = Path("results", "attacks.jsonl")
DEFAULT_TRIALS = 100

EPILOG = f"""\b
Examples:
  casemate attack sc64-bmt                         all attacks on one design
  casemate attack --all                            all designs, side by side
  casemate attack ctr-mac --row replay-data-tag --replay 7
                                                   the trial with this seed again, as in an example's replay line
  casemate attack --all --attack badram            one attack on all designs; `casemate list attacks` names all
  casemate attack mine.toml --print-claims
                                                   rows that a new design's class does not state, as claims to be
                                                   read and kept
  casemate attack sc64-bmt --with design.parts.mac.tag_bits=128
                                                   a design with longer tags than in its file
  casemate attack sc64-bmt --exhaustive            flip every stored bit of a small memory, one at a time
  casemate attack --all --budget 10m               as many trials as fit; the next run continues from the log
  casemate attack --all --trials 100000 --log FILE
                                                   100,000 trials of each, in as many runs as it takes

{definitions.attacks()}
{definitions.verdicts()}
If plaintext leaks as well, the end names both, as in "stale + leaked". Tables show "not-applicable" as "-".

A campaign proves no security: it shows the ends of these attacks under these attackers and seeds. A design's class
claims the worst end of each attack, and its file the exceptions. The table shows and counts each difference from the
claims, worse or better. A single trial shows no worst end, so --replay decides no claim. Attacks that assume a fault
which no design has are listed separately, and do not count.

A log is text with a JSON object on each line; the command only appends to it. Trial number i of an attack depends only
on its seed, so that many short runs add up to one long one. Ctrl-C loses at most the trials under way.

\b
Exit codes: 0 everything as claimed, 1 something differs, 2 bad input, 130 Ctrl-C, 143 SIGTERM.
"""


def _only_one(context: click.Context, parameter: click.Parameter, rows: tuple[str, ...]) -> str | None:
    """The requested attack; a second one would be ignored silently."""
    if len(rows) > 1:
        raise click.BadParameter(
            f"takes one attack, not {' and '.join(rows)}: run the command once for each, or without it for all",
            context,
            parameter,
        )
    return rows[0] if rows else None


@click.command("attack", epilog=EPILOG)
@options.designs
@options.every
@options.changes
@click.option(
    "--row", "--attack", "row", metavar="ATTACK", multiple=True, callback=_only_one,
    help="Only this attack (see `casemate list attacks`).",
)  # fmt: skip
@click.option(
    "--trials",
    type=click.IntRange(1, 10**12),
    metavar="N",
    help="Trials of each attack; some attacks, such as those on addresses, run a quarter, of 24 games each.  "
    "[default: 100; with --budget, as many as fit]",
)
@options.seed
@click.option(
    "--replay",
    type=click.IntRange(0, 2**64 - 1),
    metavar="SEED",
    help="Repeat only the trial with this seed, and show its end.",
)
@click.option(
    "--print-claims",
    is_flag=True,
    help="Print the rows that a design's [claims] and [crash] lack beyond its class; tries losses of power, too.",
)
@click.option("--exhaustive", is_flag=True, help="Flip every stored bit of a small memory instead.")
@click.option(
    "--budget", type=options.Seconds(), metavar="TIME", help="Carry out trials for this time, as in 90s, 10m or 2h."
)
@click.option(
    "--log",
    type=options.file,
    metavar="FILE",
    help=f"Continue the campaign in this file.  [with --budget: {DEFAULT_LOG}]",
)
@screen.as_json
@click.pass_context
def command(
    context: click.Context,
    designs: tuple[str, ...],
    every: bool,
    changes: dict[str, str],
    row: str | None,
    trials: int | None,
    seed: int,
    replay: int | None,
    print_claims: bool,
    exhaustive: bool,
    budget: float | None,
    log: Path | None,
    as_json: bool,
) -> int:
    """Attack designs, and compare the results with their claims.

    The attacker owns the memory and the bus: it reads and writes every stored bit, and remembers everything that it
    ever saw. It cannot reach the chip.
    """
    options.check_designs(context, designs, every)
    is_long = budget is not None or log is not None
    if exhaustive and (is_long or row is not None or trials is not None):
        raise click.UsageError(
            "--exhaustive flips every bit once: it takes no --row, --trials, --budget or --log", context
        )
    if print_claims and (is_long or exhaustive or every or len(designs) > 1 or row is not None or as_json):
        raise click.UsageError("--print-claims is about all rows of one design: it takes --trials and --seed", context)
    if replay is not None and (is_long or exhaustive or print_claims or trials is not None):
        raise click.UsageError(
            "--replay is about one trial: it takes no --trials, --exhaustive, --print-claims, --budget or --log",
            context,
        )
    if changes and (is_long or exhaustive or print_claims):
        raise click.UsageError("--with is for one short run: otherwise give a file of the changed design")
    options.check_changes_of_designs(context, changes, "attacked")
    from rich.console import Group

    from casemate import api
    from casemate.cli import campaigns, claims
    from casemate.cli.names import OneOf
    from casemate.tables import layouts, verdicts
    from casemate.terminal.progress import Steps
    from casemate.text import amounts

    names = options.chosen_designs(designs, every, changes)
    if row is not None:
        OneOf("attack", [attack.name for attack in api.attacks()]).convert(row, None, context)
    if print_claims:
        with Steps(screen.notices(), "attacking", 1) as steps:
            report = api.attack(names[0], trials=trials or DEFAULT_TRIALS, seed=seed, progress=steps.report)
        click.echo(claims.scaffold(report, api.crash(names[0], seed=seed)), nl=False)
        return 0
    if budget is not None and log is None:
        screen.make_folder(DEFAULT_LOG.parent)
    title = "flipping bits" if exhaustive else "attacking"
    with Steps(screen.notices(), title, 1 if is_long else len(names)) as steps:
        if exhaustive:
            results = campaigns.attack_bits(names, steps)
        elif replay is not None:
            results = campaigns.replay(names, row, replay, changes, steps)
        elif is_long:
            goal = trials if budget is not None else trials or DEFAULT_TRIALS
            results = campaigns.logged(names, row, goal, budget, seed, log or DEFAULT_LOG, steps)
        else:
            results = campaigns.attack(names, row, trials or DEFAULT_TRIALS, seed, changes, steps)
    if as_json:
        screen.print_json(results)
    elif results.replay:
        screen.results().print(Group(*layouts.changed(results.changes), verdicts.replayed(results.reports)))
    elif results.reports:
        screen.results().print(Group(*layouts.changed(results.changes), verdicts.verdict_tables(results.reports)))
    elif results.exhaustive:
        screen.results().print(verdicts.exhaustive_table(results.exhaustive, results.agrees))
    if results.log is not None:
        stopped = f"stopped by {interruption.cause()}; " if results.interrupted else ""
        screen.notices().print(
            f"{stopped}{results.log}: {amounts.count(results.resumed)} trials were in the log, "
            f"{amounts.count(results.added)} are new; the same command continues"
        )
    if results.log is not None and not results.reports:
        screen.notices().print("no trial of any attack is complete yet")
    if results.interrupted and results.log is None:
        complete = len(results.reports) + len(results.exhaustive)
        screen.notices().print(f"stopped by {interruption.cause()}: {complete} of {len(names)} designs are complete")
    if results.interrupted:
        return EXIT_INTERRUPTED
    # If the budget ends before the first complete trial, the campaign has found no difference from the claims either.
    is_empty = not results.reports and not results.exhaustive
    return 0 if results.agrees or is_empty else EXIT_NO
