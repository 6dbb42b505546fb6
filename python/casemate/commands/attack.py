"""`casemate attack`: attacks on designs, and what the designs claim."""

import click

from casemate import options, screen
from casemate.cli import EXIT_INTERRUPTED, EXIT_NO

EPILOG = """\b
Examples:
  casemate attack sc64-bmt                         all attacks on one design
  casemate attack --all                            all designs, side by side
  casemate attack ctr-mac --row replay-data-tag --seed 7 --trials 1
                                                   one trial of one attack, as a verdict's replay line says
  casemate attack sc64-bmt --exhaustive            flip every stored bit of a small memory, each by itself

\b
Verdicts, from what the defender wants to what it fears:
  -          there is nothing of the kind to attack
  harmless   the right bytes came out
  hidden     what was looked for could not be learned
  detected   it was reported, and nothing came out
  bounded    forgeries passed just as seldom as the length of the tag promises
  garbled    wrong bytes came out, and the attacker could not choose them
  leaked     something about the plaintext was learned
  stale      an older version came out
  forged     bytes of the attacker's choice came out

A campaign proves no security: it says that under these attackers and seeds these attacks ended so. Every design file
claims how each attack ends at worst; a difference either way, worse or better, is shown and counted.

\b
Exit codes: 0 everything as claimed, 1 something differs, 2 bad input, 130 Ctrl-C.
"""


@click.command("attack", epilog=EPILOG)
@click.argument("designs", nargs=-1, metavar="[DESIGN...]")
@click.option("--all", "every", is_flag=True, help="All built-in designs.")
@click.option("--row", metavar="ATTACK", help="Only this attack (see `casemate list attacks`).")
@click.option(
    "--trials", type=click.IntRange(1, 10**12), default=100, metavar="N", help="Trials of each attack.  [default: 100]"
)
@options.seed
@click.option("--exhaustive", is_flag=True, help="Flip every stored bit of a small memory instead.")
@screen.as_json
@click.pass_context
def command(
    context: click.Context,
    designs: tuple[str, ...],
    every: bool,
    row: str | None,
    trials: int,
    seed: int,
    exhaustive: bool,
    as_json: bool,
) -> int:
    """Attack designs, and compare what happens with what they claim.

    The attacker owns the memory and the bus: it reads and writes every stored bit, and remembers all that it ever saw.
    The chip is out of its reach.
    """
    if every == bool(designs):
        raise click.UsageError("expected designs, or --all for every built-in one", context)
    from casemate import api, campaigns, tables
    from casemate.names import OneOf
    from casemate.progress import Steps

    names = [design.name for design in api.designs()] if every else list(dict.fromkeys(designs))
    if row is not None:
        OneOf("attack", [attack.name for attack in api.attacks()]).convert(row, None, context)
    with Steps(screen.notices(), "flipping bits" if exhaustive else "attacking", len(names)) as steps:
        if exhaustive:
            results = campaigns.exhaustive(names, steps)
        else:
            results = campaigns.attack(names, row, trials, seed, steps)
    if as_json:
        screen.print_json(results)
    elif results.reports:
        screen.results().print(tables.verdict_tables(results.reports))
    elif results.exhaustive:
        screen.results().print(tables.exhaustive_table(results.exhaustive, results.agrees))
    if results.interrupted:
        complete = len(results.reports) + len(results.exhaustive)
        screen.notices().print(f"stopped by Ctrl-C: {complete} of {len(names)} designs are complete")
        return EXIT_INTERRUPTED
    return 0 if results.agrees else EXIT_NO
