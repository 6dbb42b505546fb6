"""`casemate run`: one program under several designs."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from casemate._core import CasemateError
from casemate.cli import options
from casemate.cli.commands import power_loss, run_report, run_start
from casemate.cli.commands.run_help import EPILOG
from casemate.cli.main import EXIT_BAD_INPUT, EXIT_INTERRUPTED, EXIT_NO
from casemate.cli.names import OneOf
from casemate.terminal import interruption, screen

if TYPE_CHECKING:
    from casemate.schemas.run import Record

FILE_NAME_BYTES = 240
"""Maximum length of a record's file name: file systems accept 255 bytes, and a temporary name has some more."""


@click.command("run", epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@click.option(
    "--design", "designs", multiple=True, metavar="NAME|FILE", help="A design; repeat it. [default: none, sc64-bmt]"
)
@options.machines
@options.changes
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    metavar="NAME",
    help="A built-in workload instead of a program; repeat it for several at once.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    callback=options.pairs("scale=20"),
    help="Set a workload's parameter.",
)
@click.option(
    "--trace",
    "traces",
    multiple=True,
    type=options.source,
    metavar="FILE",
    help="A stored execution (of Casemate, ChampSim, Ramulator, DRAMsim3) instead of a program; repeat it for several.",
)
@click.option(
    "--copies",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Run N copies of each workload and trace at once, each on separate cores and in separate memory.",
)
@click.option(
    "--limit",
    type=options.Count(),
    metavar="N|all",
    help="Maximum number of instructions of each program, as in 50M. [default: 20M; for only traces, or sampled: all]",
)
@run_start.options
@click.option(
    "--detail",
    type=click.Choice(["all", "sampled"]),
    default="all",
    show_default=True,
    help="Simulate every instruction in detail, or a sample, with confidence intervals.",
)
@click.option(
    "--error",
    type=options.Percent(),
    metavar="PERCENT",
    help="With --detail sampled: required half of the 95 % confidence interval.  [default: 3%]",
)
@click.option(
    "--aim",
    type=click.Choice(["ipc", "traffic", "latency"]),
    help="With --detail sampled: the figure with the accuracy of --error.  [default: ipc]",
)
@options.skip
@options.region
@options.seed
@click.option(
    "--age",
    type=click.Choice(["new", "steady"]),
    default="new",
    show_default=True,
    help="The encryption counters of data at the start: all zero (new), or as in a long life (steady). With steady, "
    "each group is at a moment drawn evenly from a life in which its lines are written equally often, in random "
    "order. Designs without counters, or without renewals, are not affected.",
)
@click.option(
    "--start-order",
    type=click.Choice(["program", "frequent"]),
    default="program",
    show_default=True,
    help="Order of the words of memory at the start: that of the program, or frequent words first, as if the chip had "
    "written all of memory by the values of a first pass. The first pass is the same run without protection, so the "
    "program must be a workload or a trace. It matters for designs with a table of frequent values, which then begin "
    "with these values; a fixed table keeps its own words.",
)
@click.option(
    "--persistent",
    type=click.Choice(["all", "mapped", "heap"]),
    default="all",
    show_default=True,
    help="The part of a program's or a trace's memory that must survive a loss of power. It matters under designs "
    "that handle stores one by one, such as with a persist buffer. The part is all memory, the files that the program "
    "maps shared, or its heap (memory from brk, and from mmap without a file, but no stacks). Stores to any other "
    "part are written back as usual.",
)
@click.option(
    "--check-values",
    is_flag=True,
    help="Also compare all loaded values with memory; a trace contains them only if recorded with this option.",
)
@click.option("--ledger", is_flag=True, help="Also check that no encryption pad hides two texts (takes memory).")
@click.option(
    "--no-attacks", is_flag=True, help="Leave out the short campaign of attacks on each design after the run."
)
@click.option(
    "--output",
    "folder",
    type=options.folder,
    metavar="DIRECTORY",
    help="Write a JSON record for each design into this folder.",
)
@click.option(
    "--interval",
    type=options.Count(finite=True),
    metavar="N",
    help="Also count every N instructions (an interval, as in 1M) separately from the end of the warm-up, to show the "
    "phases of a program. Option --intervals writes them as a table, and --report draws them; in records (--output, "
    "--json) each has all statistics. An interval ends between two events of the simulation, so it has slightly more "
    "or less than N.",
)
@click.option(
    "--intervals",
    "table",
    type=options.file,
    metavar="FILE.csv",
    help="With --interval: write the intervals to this file as a table for pandas and polars, a row for each interval "
    "of each design. Columns are IPC, misses of each level, waits of reads by cause, hit rates and traffic by "
    "kind. Units are in the names of the columns; missing values are NaN.",
)
@click.option(
    "--values",
    type=click.IntRange(1, 64),
    multiple=True,
    metavar="N",
    help="Also show how many of the 64-bit words from memory a table of N frequent values would have predicted. Rows "
    "are for single words, blocks of 128 bits, and blocks after re-ordering (frequent words of a line first). N "
    "is a power of two; repeat it.",
)
@click.option(
    "--bus",
    type=options.file,
    metavar="FILE",
    help="Write every line that crosses the pins of memory to this file, with its time. With several designs each has "
    "a separate file: gups.bus becomes gups.sc64-bmt.bus (see `casemate bus`).",
)
@click.option("--bus-bytes", is_flag=True, help="With --bus: also write the bytes of the lines.")
@click.option(
    "--verbose",
    is_flag=True,
    help="Also show lost cycles and waits of reads by cause, cache hits, and memory bandwidth; "
    "docs/concepts/reads.md explains each cause.",
)
@click.option(
    "--trace-window",
    type=options.SimulatedWindow(),
    metavar="FROM:LENGTH",
    help="With -o: write the work of every hardware unit in a window of simulated time. The window begins FROM after "
    "power-on (warm-up included) and lasts LENGTH, as in 20us:5us.",
)
@click.option(
    "-o",
    "--trace-file",
    "trace_file",
    type=options.file,
    metavar="FILE",
    help="With --trace-window: the file to write, for Perfetto. With several designs each has a separate file, as "
    "with --bus (see `casemate excerpt`). Records go to the folder of --output.",
)
@run_report.option
@power_loss.options
@options.stdout
@screen.as_json
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM ARGS...]")
@click.pass_context
def command(
    context: click.Context,
    designs: tuple[str, ...],
    machines: tuple[str, ...],
    changes: dict[str, str],
    workloads: tuple[str, ...],
    settings: dict[str, str],
    traces: tuple[Path, ...],
    copies: int,
    limit: int | Literal["all"] | None,
    start: run_start.RunStart,
    detail: Literal["all", "sampled"],
    error: float | None,
    aim: str | None,
    skip: int,
    region: bool,
    seed: int,
    age: Literal["new", "steady"],
    start_order: Literal["program", "frequent"],
    persistent: Literal["all", "mapped", "heap"],
    check_values: bool,
    ledger: bool,
    no_attacks: bool,
    folder: Path | None,
    interval: int | None,
    table: Path | None,
    values: tuple[int, ...],
    bus: Path | None,
    bus_bytes: bool,
    verbose: bool,
    trace_window: str | None,
    trace_file: Path | None,
    loss: power_loss.RequestedLoss | None,
    output: Literal["inherit", "discard"],
    as_json: bool,
    program: tuple[str, ...],
) -> int:
    """Run a program under several designs, and compare cost and protection.

    The program really runs, now, on this computer. The simulated machine receives every instruction and every stored
    byte of the program, really encrypts the bytes, and checks every line that it reads back. All designs receive the
    same execution.
    """
    if bool(program) == bool(workloads or traces):
        raise click.UsageError(
            "expected one thing to run: `-- PROGRAM ARGS...`, or one or more of `--workload NAME` and `--trace FILE`",
            context,
        )
    if program and copies > 1:
        way = "record the program with `casemate record`, then run its trace"
        raise click.UsageError(f"--copies is for workloads and traces: {way}", context)
    if not program and (skip or region):
        raise click.UsageError(
            "--skip and --region are for programs that run now: a trace has its part already, a workload runs all",
            context,
        )
    if program and start_order != "program":
        way = "record the program with `casemate record`, then run its trace"
        raise click.UsageError(f"--start-order frequent runs a program twice, so it must be repeatable: {way}", context)
    if persistent != "all" and workloads:
        lacks = f"--persistent {persistent} is for programs and traces: a workload maps no file and has no heap"
        raise click.UsageError(lacks, context)
    if settings and not workloads:
        raise click.UsageError("--set is for built-in workloads: give a --workload, too", context)
    sampling = {name: value for name, value in (("error", error), ("aim", aim)) if value is not None}
    if sampling and detail != "sampled":
        raise click.UsageError(f"--{next(iter(sampling))} is for sampled runs: add --detail sampled", context)
    if bus_bytes and not bus:
        raise click.UsageError("--bus-bytes adds the bytes of lines to the bus file: add --bus FILE", context)
    if trace_window is not None and trace_file is None:
        raise click.UsageError("--trace-window needs a file for its excerpt: add -o FILE", context)
    if trace_file is not None and trace_window is None:
        raise click.UsageError(
            "-o is the file of a window of the run: add --trace-window FROM:LENGTH; records go to --output FOLDER",
            context,
        )
    if interval is not None and not (table or folder or as_json or run_report.requested(context)):
        raise click.UsageError(
            "--interval needs a file for its counts: add --intervals FILE.csv, --report FILE.html, --output FOLDER or "
            "--json",
            context,
        )
    if table is not None and interval is None:
        raise click.UsageError("--intervals is the table of a run by interval: add --interval N, as in 1M", context)
    if as_json and output == "inherit":
        raise click.UsageError("--stdout inherit would mix the program's output with --json: use one of them", context)
    notices = screen.notices()
    title = " ".join(program) or " beside ".join((*workloads, *map(str, traces)))
    title += f", {copies} times" if copies > 1 else ""
    from casemate import api, intervals
    from casemate.laboratory.requests import DEFAULT_MACHINE
    from casemate.tables import run_table

    names = tuple(dict.fromkeys(designs)) or (power_loss.usual_designs() if loss else api.DEFAULT_DESIGNS)
    on = tuple(dict.fromkeys(machines)) or (DEFAULT_MACHINE,)
    known = [known.name for known in api.workloads()] if workloads else []
    for workload in workloads:
        OneOf("workload", known).convert(workload, None, context)
    if table:
        intervals.check(table)
        if table in (bus, trace_file):
            raise CasemateError(
                f"'{table}' is asked for twice, by --intervals and by another option: expected two files"
            )
    from casemate.laboratory.requests import BuiltIn, Program, Repeatable, RunOptions, Trace, TraceWindow
    from casemate.terminal.progress import Instructions

    columns = [name if len(on) == 1 else f"{name} on {machine}" for machine in on for name in names]
    title = f"Running {title} on {', '.join(on)} under {', '.join(names)}"
    # Each loss of power restarts the program, which could read its input only once.
    stdin: Literal["inherit", "discard"] = "discard" if loss else "inherit"
    stored = [Trace(path, persistent) for path in traces]
    several: list[Repeatable] = [*(BuiltIn(name, settings) for name in workloads), *stored] * copies
    live = Program(program, skip=skip, region=region, persistent=persistent, stdin=stdin, output=output)
    run_options = RunOptions(
        limit=limit,
        untimed=start.untimed,
        warm_up=start.warm_up,
        detail=detail,
        sampling=sampling,
        seed=seed,
        age=age,
        start_order=start_order,
        check_values=check_values,
        ledger=ledger,
        protection=not no_attacks,
        interval=interval,
        values=tuple(dict.fromkeys(values)),
        bus=bus,
        bus_bytes=bus_bytes,
        trace=TraceWindow(trace_window, trace_file) if trace_window and trace_file else None,
    )
    runnable = live if program else several
    if loss is not None:
        power_loss.check(
            context,
            folder=folder,
            values=values,
            check_values=check_values,
            start_order=start_order == "frequent",
            report=run_report.requested(context),
        )
        return power_loss.run(runnable, (names, on), changes, run_options, loss, as_json)
    with Instructions(notices, columns, None, title) as progress:
        results = api.run(
            runnable,
            designs=names,
            machine=on,
            changes=changes,
            options=run_options,
            progress=progress.report,
        )
    # Write the files first, so that they exist even if printing fails; then print, even if writing failed.
    written: list[str | Path] = [*results.bus, *results.excerpts]
    unwritten: CasemateError | None = None
    try:
        if folder and results.records:
            screen.make_folder(folder)
            written += [_write(folder, record, len(on) > 1) for record in results.records]
        if table and results.records:
            intervals.write(results, table)
            written.append(table)
        written += run_report.write(context, results)
    except CasemateError as error:
        unwritten = error
    if as_json:
        screen.print_json(results)
    elif results.records:
        screen.results().print(run_table.run_table(results, check_values, verbose))
    for failure in results.failures:
        which = failure.design if len(on) == 1 else f"{failure.design} on {failure.machine}"
        notices.print(f"{which}: {failure.error}", style="red", markup=False)
    if results.interrupted and not results.records:
        ended = ": no design has results" if results.failures else " during the first pass: no design was run"
        notices.print(f"Stopped by {interruption.cause()}{ended}.", style="yellow")
    for path in written:
        notices.print(f"wrote {path}", markup=False)
    if unwritten:
        raise unwritten
    if results.interrupted:
        return EXIT_INTERRUPTED
    for unbacked in {record.configuration.workload.unbacked for record in results.records} - {None}:
        raise CasemateError(str(unbacked))
    if results.failures:
        return EXIT_BAD_INPUT
    return 0 if results.passed else EXIT_NO


def _write(folder: Path, record: "Record", of_several_machines: bool) -> Path:
    """One file for each configuration: a repetition of the same run writes a file of the same name. The name of a long
    workload is cut, since the run has ended and its record must not be lost.
    """
    machine = f"-{record.machine}" if of_several_machines else ""
    end = f"{machine}-{record.design}-{record.configuration_hash[:8]}.json"
    workload = os.fsencode(Path(record.configuration.workload.program[0]).name)[: FILE_NAME_BYTES - len(end)]
    path = folder / f"{workload.decode(errors='ignore')}{end}"
    screen.write_whole(path, record.to_json().encode() + b"\n")
    return path
