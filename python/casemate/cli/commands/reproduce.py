"""`casemate reproduce`: a paper's evaluation, run again or derived again.

Each study is a separate command. The options of a study of runs are figures and seeds; those of a study of formulas are
the parameters that the user may set.
"""

from pathlib import Path
from typing import Any

import click

from casemate.cli import options
from casemate.cli.main import EXIT_INTERRUPTED, EXIT_NO
from casemate.cli.names import Commands, OneOf
from casemate.reproduce import KEPT, studies
from casemate.reproduce.derivation import DerivedStudy, Parameter, Requirements
from casemate.reproduce.study import Study
from casemate.terminal import screen

EPILOG = """\b
Examples:
  casemate reproduce emcc                          all figures and trends: three hours on two cores
  casemate reproduce fvs                           those of another paper: half an hour
  casemate reproduce secpb                         those of a third: fifteen minutes
  casemate reproduce cryptopage                    those of a fourth: about two hours
  casemate reproduce gcm                           a thesis's figures from its parameters: at once
  casemate reproduce gcm --bandwidth 51.2          and the cost of another memory by the same formulas

\b
`casemate reproduce STUDY --help` lists the options of each.
"""

OF_RUNS = """\b
Examples:
{examples}

Every run is kept in the output folder and not repeated: after Ctrl-C, with other figures, or with more seeds, the study
continues with the missing runs. All runs of one seed are done before those of the next, so after Ctrl-C the figures
use the seeds that are complete.

\b
How to read it:
  paper   the mean in the paper's text, if it states one
  ours    our mean over workloads and seeds, ± half of its 95 % interval over the seeds, under the conditions
          printed above the table
  trends  statements of the paper, each with the numbers that decide it: judged on means, with a note on differences
          within their intervals. A trend is undecided if other seeds may decide otherwise

\b
A program that is not on this computer is left out, with the package that has it: figures then omit it.

\b
Exit codes: 0 no trend fails, 1 one does, or a run failed, 2 bad input, 130 Ctrl-C, 143 SIGTERM.
"""

EXAMPLES_OF_RUNS = (
    ("", "all figures and trends"),
    (" --figure {first} --figure {second}", "only these, with a line for each workload"),
    (" --workload {case}", "only this workload, without trends"),
    (" --seeds 1", "one seed: the shortest study, without intervals"),
    (" --output results/{name}", "where the runs, the traces and the pictures go"),
)
"""Examples on the help page of a study: the options, and a comment. The page prints them in two columns."""

OF_FORMULAS = """
\b
The same tables are written into the output folder as report.md and figures.csv, with a picture of them, figures.png.
`casemate report` makes a page of the folder.

\b
Exit codes: 0 every figure is as printed or says why it is not, 1 one does not say why, 2 bad input, 130 Ctrl-C,
143 SIGTERM.
"""


class Studies(Commands):
    """A command for each study; the folders of studies define the list."""

    kind = "study"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names of the studies."""
        return studies.names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The study with this name, as a command."""
        if cmd_name not in studies.names():
            return None
        study = studies.named(cmd_name)
        return _of_formulas(study) if isinstance(study, DerivedStudy) else _of_runs(study)


@click.group("reproduce", cls=Studies, epilog=EPILOG, subcommand_metavar="STUDY [OPTIONS]")
def command() -> None:
    """Run a paper's evaluation again: print each of its figures next to ours, and decide whether its trends hold.

    Workloads, machines and designs approximate the paper's, and the output lists the differences. A study without runs
    derives a paper's figures from the parameters in the paper.
    """


def _output(name: str) -> click.Option:
    return click.Option(
        ["--output", "folder"],
        type=options.folder,
        metavar="DIRECTORY",
        help=f"Folder for files and pictures.  [default: results/reproduce/{name}]",
    )


def _chosen(kind: str, numbers: tuple[str, ...], known: list[str]) -> list[str]:
    """Returns the requested figures or tables; all by default."""
    return [OneOf(kind, known).convert(number, None, None) for number in dict.fromkeys(numbers)] or known


def _of_runs(study: Study) -> click.Command:
    """Returns the command of a study of runs: it carries out the missing runs, and compares their figures with the
    paper's.
    """

    @click.option(
        "--figure", "numbers", multiple=True, metavar="N", help="Only this figure; repeat it.  [default: all]"
    )
    @click.option(
        "--workload",
        "names",
        multiple=True,
        metavar="NAME",
        help="Run only this workload, and judge no trends; repeat it.  [default: all]",
    )
    @click.option(
        "--seeds",
        type=click.IntRange(min=1),
        default=study.seeds,
        show_default=True,
        metavar="N",
        help="Do every run with seeds 1 to N; a seed decides the placement of pages, the keys and the data.",
    )
    @options.workers
    @options.scheduler
    @screen.as_json
    def carry_out(
        numbers: tuple[str, ...],
        names: tuple[str, ...],
        seeds: int,
        workers: int | None,
        scheduler: str | None,
        folder: Path | None,
        as_json: bool,
    ) -> int:
        from casemate.reproduce import carry, pictures, report
        from casemate.rows import needed
        from casemate.studies.sweep import Observer, Workers
        from casemate.terminal.board import Board

        chosen = _chosen("figure", numbers, [figure.number for figure in study.figures])
        cases = _chosen("workload of the study", names, [case.name for case in study.cases])
        chosen_study = study.of_cases(cases) if names else study
        needed.STUDIES.check()
        kept = folder or Path("results") / "reproduce" / study.name
        notices = screen.notices()
        with Board(notices, f"reproducing {study.name}") as board:
            observer = Observer(board.notify, board.report)
            carried = carry.carry_out(chosen_study, chosen, seeds, kept, Workers(workers, scheduler), observer)
        found = chosen_study.found(chosen, seeds, carried)
        screen.write_whole(kept / KEPT, found.to_json().encode())
        if as_json:
            screen.print_json(found)
        else:
            screen.results().print(report.tables(found, every_case=bool(numbers or names)))
        if found.figures:
            path = kept / "figures.png"
            pictures.draw(found, path)
            notices.print(f"wrote {path}", markup=False)
        if found.interrupted:
            return EXIT_INTERRUPTED
        return 0 if found.holds else EXIT_NO

    first, second, *_ = (figure.number for figure in study.figures)
    known = {"name": study.name, "first": first, "second": second, "case": study.cases[0].name}
    words = [(f"  casemate reproduce {study.name}{what}".format(**known), gives) for what, gives in EXAMPLES_OF_RUNS]
    width = max(len(command) for command, _ in words)
    epilog = OF_RUNS.format(examples="\n".join(f"{command:{width}}  {gives}" for command, gives in words))
    made = click.command(
        study.name, epilog=epilog, help=f"Run the evaluation of {study.paper}.", short_help=study.paper
    )
    command = made(carry_out)
    command.params.append(_output(study.name))
    return command


class Positive(click.ParamType[float]):
    """A number above zero, whole if it counts something."""

    name = "number"

    def __init__(self, of: Parameter) -> None:
        self.of = of

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Returns the number, if it is valid."""
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not 0 < number <= self.of.most or (self.of.is_whole and number != int(number)):
            kind = "a whole number" if self.of.is_whole else "a number"
            least = "of 1 or more" if self.of.is_whole else f"of {self.of.unit} above 0"
            self.fail(f"{self.of.name} is {value}: expected {kind} {least} and up to {self.of.most:g}", param, ctx)
        return number


def _of_formulas(study: DerivedStudy) -> click.Command:
    """Returns the command of a study of formulas: it derives the requested tables, and writes them to files."""

    @click.option("--table", "numbers", multiple=True, metavar="N", help="Only this table; repeat it.  [default: all]")
    @screen.as_json
    def derive(numbers: tuple[str, ...], folder: Path | None, as_json: bool, **given: Any) -> int:
        from casemate.reproduce import derived_report

        chosen = _chosen("table", numbers, list(study.tables))
        kept = folder or Path("results") / "reproduce" / study.name
        screen.check_folder(kept)
        found = study.derive(chosen, _requirements(study, given))
        written = derived_report.write(found, study.draw, kept)
        if as_json:
            screen.print_json(found)
        else:
            screen.results().print(derived_report.tables(found))
        for path in written:
            screen.notices().print(f"wrote {path}", markup=False)
        return 0 if found.holds else EXIT_NO

    made = click.command(
        study.name, epilog=study.examples + OF_FORMULAS, help=f"Derive the figures of {study.paper}.",
        short_help=study.paper,
    )  # fmt: skip
    command = made(derive)
    for parameter in study.parameters:
        option = click.Option(
            [f"--{parameter.name}"], type=Positive(parameter), multiple=parameter.is_repeatable, metavar=parameter.unit,
            help=parameter.help,
        )  # fmt: skip
        command.params.append(option)
    command.params.append(_output(study.name))
    return command


def _requirements(study: DerivedStudy, given: dict[str, Any]) -> Requirements:
    """Returns the values that the user gave for each parameter, once or several times."""
    required: dict[str, tuple[float, ...]] = {}
    for parameter in study.parameters:
        value = given[parameter.name]
        listed = value if parameter.is_repeatable else [number for number in (value,) if number is not None]
        required[parameter.name] = tuple(dict.fromkeys(listed))
    return required
