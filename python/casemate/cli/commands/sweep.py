"""`casemate sweep`: carry out a study, on all processors or on a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from casemate import built
from casemate.cli import options
from casemate.cli.main import EXIT_INTERRUPTED, EXIT_NO
from casemate.terminal import screen

if TYPE_CHECKING:
    from casemate.studies.study import Study

EPILOG = """\b
Examples:
  casemate sweep study.toml                        carry out a study, or the points that it lacks
  casemate sweep study.toml --dry-run              how many points, how long, how much disk and memory
  casemate sweep --workload bfs --design none --design sc64-bmt --over machine.llc.size="2 MB,4 MB,8 MB"
  casemate sweep study.toml --scheduler tcp://head:8786    on the workers of a Dask scheduler
  casemate sweep study.toml --retry failed         repeat the points that failed
  casemate results results/study                   the rows of a study; casemate results --help tells more

\b
A study in a file:
  programs = [{workload = "bfs"}, {command = ["gzip", "-9", "-c", "/usr/bin/python3"]}]
  designs = ["none", "ctr-mac-version", "sc64-bmt"]
  seeds = 3
  limit = "2M"
  [over]
  "machine.llc.size" = ["2 MB", "4 MB", "8 MB"]

\b
Every point is kept in the results folder as soon as it is done: the same command continues after Ctrl-C, and after
more programs, designs or values. docs/STUDIES.md describes all keys, clusters, and the tables.

\b
Exit codes: 0 all points are done, 1 some failed, 2 bad input, 129 SIGHUP, 130 Ctrl-C, 143 SIGTERM.
"""


def _swept(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, list[Any]]:
    """Reads options of the form KEY=VALUE,VALUE,..."""
    pairs = options.pairs('machine.llc.size="2 MB,4 MB"')(context, parameter, given)
    return {key: [each.strip() for each in text.split(",") if each.strip()] for key, text in pairs.items()}


@click.command("sweep", epilog=EPILOG)
@click.option("--workload", "workloads", multiple=True, metavar="NAME", help="A built-in workload; repeat it.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    callback=options.pairs("scale=20"),
    help="Set a parameter of all workloads.",
)
@click.option(
    "--trace", "traces", multiple=True, type=options.source, metavar="FILE", help="A stored execution; repeat it."
)
@click.option(
    "--design", "designs", multiple=True, metavar="NAME|FILE", help="A design; repeat it.  [default: none, sc64-bmt]"
)
@options.machines
@options.changes
@click.option(
    "--over",
    multiple=True,
    metavar="KEY=VALUE,...",
    callback=_swept,
    help="Sweep a key of the machines or designs over these values. Repeat it: all values are combined.",
)
@click.option("--seeds", type=click.IntRange(1), metavar="N", help="Do every run with seeds 1 to N.  [default: 1]")
@click.option("--limit", type=options.Count(), metavar="N|all", help="Maximum number of instructions of each program.")
@click.option("--untimed", type=options.Count(finite=True), metavar="N", help="Instructions without time at the start.")
@click.option("--warm-up", type=options.Count(finite=True), metavar="N", help="Instructions before counting begins.")
@click.option(
    "--output", "folder", type=options.folder, metavar="DIRECTORY", help="Results folder.  [default: results/STUDY]"
)
@options.workers
@options.scheduler
@click.option(
    "--retry", multiple=True, metavar="POINT|failed", help="Repeat a failed point, by the start of its hash, or all."
)
@click.option("--dry-run", is_flag=True, help="Only count the points, and estimate time, disk and memory.")
@screen.as_json
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[STUDY.toml] [-- PROGRAM ARGS...]")
@click.pass_context
def command(
    context: click.Context,
    /,
    folder: Path | None,
    workers: int | None,
    scheduler: str | None,
    retry: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    words: tuple[str, ...],
    **given: Any,
) -> int:
    """Carry out a study: every program on every machine under every design, with every value of every swept key.

    Points run on all processors, each in one thread, or on the workers of a cluster. A point that is done is never
    repeated.
    """
    study = _study(context, words, given)
    from casemate.rows import needed
    from casemate.studies import sweep

    needed.STUDIES.check()
    at = sweep.Workers(workers, scheduler)
    if dry_run:
        return _print_plan(sweep.plan(study, folder, at), as_json)
    from casemate.tables import sweep_table
    from casemate.terminal.board import Board

    if not built.is_fast():
        screen.notices().print(f"this is the {built.in_words()}", markup=False)
    with Board(screen.notices(), f"study {study.name}") as board:
        found = sweep.sweep(study, folder, workers=at, retry=retry, observer=sweep.Observer(board.notify, board.report))
    if as_json:
        screen.print_json(found)
    else:
        screen.results().print(sweep_table.tables(found))
    if found.figures:
        from casemate.reproduce import pictures

        path = Path(found.folder) / "_figures.png"
        pictures.draw_figures(found.figures, f"study {study.name}", path)
        screen.notices().print(f"wrote {path}", markup=False)
    if found.interrupted:
        return EXIT_INTERRUPTED
    return 0 if found.complete and not found.doubtful else EXIT_NO


PARTS = ("designs", "machines", "changes", "over", "seeds", "limit", "untimed", "warm_up")
"""Options that are keys of a study as well."""


def _study(context: click.Context, words: tuple[str, ...], given: dict[str, Any]) -> "Study":
    """Returns the study of a file, or of the options."""
    from casemate.studies import study_file
    from casemate.studies.study import Study

    requested = {name: value for name, value in given.items() if value}
    if words and words[0].endswith(".toml"):
        if len(words) > 1:
            raise click.UsageError(f"'{words[1]}' after the study '{words[0]}': expected one study", context)
        if requested:
            option = next(each.opts[0] for each in context.command.params if each.name in requested)
            twice = f"{option} describes a study, and so does '{words[0]}': expected one of them"
            raise click.UsageError(twice, context)
        return study_file.read(Path(words[0]))
    programs: list[dict[str, Any]] = [{"workload": name, "settings": given["settings"]} for name in given["workloads"]]
    programs += [{"trace": str(path)} for path in given["traces"]]
    programs += [{"command": words}] if words else []
    if not programs:
        expected = "expected a study: STUDY.toml, `--workload NAME`, `--trace FILE` or `-- PROGRAM ARGS...`"
        raise click.UsageError(expected, context)
    return Study(programs=programs, **{name: requested[name] for name in PARTS if name in requested})


def _print_plan(plan: Any, as_json: bool) -> int:
    from casemate.tables import sweep_table

    if as_json:
        screen.print_json(plan)
    else:
        screen.results().print(sweep_table.plan(plan))
    return 0
