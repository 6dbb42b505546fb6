"""`casemate explain`: where the time of one read goes, and where metadata lies."""

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from casemate import options, screen

if TYPE_CHECKING:
    from casemate.results.explain import Explanations

EPILOG = """\b
Examples:
  casemate explain sc64-bmt                            a read with no metadata on the chip
  casemate explain sc64-bmt --on-chip counter --row hit
  casemate explain sc64-bmt --against ctr-mac          both on one scale, and what makes the difference
  casemate explain sc64-bmt --svg read.svg --png read.png
  casemate explain morphable-llc --against emcc --machine emcc-4core --from l2 --on-chip last-level --row hit
  casemate explain --layout sc64-bmt --memory "64 GB"  where its metadata lies, and what is on the chip

It is the same scheme text on the same simulated hardware as in any run: an otherwise idle machine is put
into the stated condition, and one line is read.
"""


@click.command("explain", epilog=EPILOG)
@click.argument("design", metavar="DESIGN")
@click.option("--against", metavar="DESIGN", help="Another design to compare it with.")
@options.machine
@options.changes
@click.option(
    "--on-chip",
    type=click.Choice(["nothing", "tree", "last-level", "counter", "all"]),
    default="nothing",
    show_default=True,
    help="Which metadata of the line is on the chip; each includes those before it, and last-level has the counter in "
    "the last-level cache.",
)
@click.option(
    "--row",
    type=click.Choice(["hit", "closed", "conflict"]),
    default="closed",
    show_default=True,
    help="How the line's DRAM row stands.",
)
@click.option(
    "--from",
    "start",
    type=click.Choice(["controller", "l2"]),
    default="controller",
    show_default=True,
    help="Where the timeline begins and ends; the last-level cache has not got the line.",
)
@click.option("--predicted", is_flag=True, help="With --from l2: L2 expects the line in memory, and says so at once.")
@click.option("--decoded", is_flag=True, help="Counters need no decoding, as the EMCC paper draws its timelines.")
@click.option("--svg", type=options.file, metavar="FILE", help="Also draw it as SVG.")
@click.option("--png", type=options.file, metavar="FILE", help="Also draw it as PNG.")
@click.option("--layout", "only_layout", is_flag=True, help="Say instead where its metadata lies.")
@click.option("--memory", metavar="SIZE", help='With --layout: so much data, as in "64 GB".  [default: the machine\'s]')
@screen.as_json
def command(
    design: str,
    against: str | None,
    machine: str,
    changes: dict[str, str],
    on_chip: str,
    row: str,
    start: str,
    predicted: bool,
    decoded: bool,
    svg: Path | None,
    png: Path | None,
    only_layout: bool,
    memory: str | None,
    as_json: bool,
) -> None:
    """Show the timeline of one read: what was done when, what it waited for, and which chain decided the latency."""
    from casemate import api, timeline
    from casemate.results.explain import Explanations, OnChip, Row, Start

    names = [design] if against is None else [design, against]
    if only_layout:
        if svg or png:
            raise click.UsageError("--svg and --png draw timelines: leave --layout out")
        if changes:
            raise click.UsageError("--with is for timelines: give --layout a file of the changed design")
        layouts = tuple(api.layout(name, machine=machine, memory=memory) for name in names)
        show_layouts(Explanations(explanations=(), layouts=layouts), as_json)
        return
    if memory:
        raise click.UsageError("--memory is for --layout: a timeline is of the machine's own memory")
    scenarios: dict[str, OnChip] = {name: name for name in get_args(OnChip)}
    rows: dict[str, Row] = {name: name for name in get_args(Row)}
    starts: dict[str, Start] = {name: name for name in get_args(Start)}
    found = Explanations(
        explanations=tuple(
            api.explain(
                name,
                machine=machine,
                changes=changes,
                on_chip=scenarios[on_chip],
                row=rows[row],
                start=starts[start],
                predicted=predicted,
                decoded=decoded,
            )
            for name in names
        )
    )
    if as_json:
        screen.print_json(found)
    else:
        console = screen.results()
        console.print(timeline.timelines(found, console.width))
    for path, kind in ((svg, "svg"), (png, "png")):
        if path is not None:
            from casemate import picture

            picture.draw(found, path, kind)
            screen.notices().print(f"wrote {path}", markup=False)


def show_layouts(found: "Explanations", as_json: bool) -> None:
    """Where designs put their metadata."""
    from casemate import tables

    if as_json:
        screen.print_json(found)
    else:
        for layout in found.layouts:
            screen.results().print(tables.layout_table(layout))
