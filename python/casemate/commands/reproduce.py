"""`casemate reproduce`: a paper's evaluation, run again."""

from pathlib import Path

import click

from casemate import screen
from casemate.cli import EXIT_INTERRUPTED, EXIT_NO
from casemate.names import OneOf
from casemate.reproduce import studies

EPILOG = """\b
Examples:
  casemate reproduce emcc                          all figures and trends: an hour on two cores
  casemate reproduce fvs                           those of another paper: twenty minutes
  casemate reproduce secpb                         those of a third: fifteen minutes
  casemate reproduce emcc --figure 16 --figure 17  only these, with a line for each workload
  casemate reproduce emcc --seeds 1                one seed: a third of the time, and no intervals
  casemate reproduce emcc --output results/emcc    where the runs, the traces and the pictures go

Every run is kept in the output folder and not done again: after Ctrl-C, with other figures, or with more seeds, it
goes on from there. All runs of one seed are done before those of the next, so after Ctrl-C whole seeds count.

\b
How to read it:
  paper   the mean that the paper's text says, if it says one
  ours    our mean over workloads and seeds, ± half of its 95 % interval over the seeds, under the conditions
          printed above the table
  trends  statements of the paper, each with the numbers that it stands or falls with: judged on means, and what
          lies within its interval is named

\b
A program that is not on this computer is left out, with the package that has it: figures are then of the others.

\b
Exit codes: 0 all trends hold, 1 one does not, or a run failed, 2 bad input, 130 Ctrl-C, 143 SIGTERM.
"""

STUDIES = studies.names()


@click.command("reproduce", epilog=EPILOG)
@click.argument("paper", type=OneOf("study", STUDIES), metavar=f"[{'|'.join(STUDIES)}]")
@click.option("--figure", "numbers", multiple=True, metavar="N", help="Only this figure; repeat it.  [default: all]")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Do every run with seeds 1 to N: each places pages elsewhere, and draws other keys and data.",
)
@click.option(
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="Where runs are kept and pictures go.  [default: results/reproduce/PAPER]",
)
@screen.as_json
def command(paper: str, numbers: tuple[str, ...], seeds: int, folder: Path | None, as_json: bool) -> int:
    """Run a paper's evaluation again: each of its figures next to ours, and whether its trends hold.

    Workloads, machines and designs are as near to the paper's as there are; what differs is said.
    """
    from casemate.reproduce import pictures, report
    from casemate.reproduce.runs import Store

    study = studies.named(paper)
    known = [figure.number for figure in study.figures]
    chosen = [OneOf("figure", known).convert(number, None, None) for number in numbers] or known
    folder = folder or Path("results") / "reproduce" / paper
    store = Store(folder, study.machine, study.copies, study.shared)
    notices = screen.notices()
    found = study.found(chosen, seeds, report.carry_out(study, chosen, seeds, store, notices))
    if as_json:
        screen.print_json(found)
    else:
        screen.results().print(report.tables(found, every_case=bool(numbers)))
    if found.figures:
        path = folder / "figures.png"
        pictures.draw(found, path)
        notices.print(f"wrote {path}", markup=False)
    if found.interrupted:
        return EXIT_INTERRUPTED
    return 0 if found.holds else EXIT_NO
