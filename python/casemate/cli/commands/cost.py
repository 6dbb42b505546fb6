"""`casemate cost`: the cost of a design apart from time."""

from pathlib import Path

import click

from casemate.cli import options
from casemate.cli.commands import cost_compare, cost_engine, cost_rtl
from casemate.cli.names import Commands
from casemate.terminal import screen

EPILOG = """\b
Examples:
  casemate cost secpb                                   all schemes with 32 entries, next to the paper's tables
  casemate cost secpb --entries 8 --entries 64 --entries 512 --scheme cobcm --scheme nogap-whole
  casemate cost secpb --height 2                        a forest of trees with two levels
  casemate cost secpb --scheme bcm --scheme cm --operations    the work of a drain, and the part that each step saves
  casemate cost secpb --scheme cobcm --counted          the work of its drain when carried out, and why it is more
  casemate cost secpb --scheme secure-eadr --counted    the same of all dirty lines of the caches: seconds
  casemate cost secpb --png volume.png                  volume against entries, on logarithmic axes
  casemate cost secpb --profile mine.toml               other energies, entries, caches or batteries

\b
A store is secure when five steps are done, each of which needs those before it:
  counter - pad - root of the tree - ciphertext - tag
A scheme is the number of early steps, done as the store enters the buffer: 0 under cobcm, then one more under each of
obcm, bcm, cm and m, all under nogap. The battery pays for the late steps of every entry in the worst case: entries
share neither counters nor a path, and every access misses. It also pays for one whole tuple, the store in flight.

\b
Next to them:
  nogap-whole              all fields of all entries, and one entry more: from this Table VI's NoGap column follows
  bbb, eadr                a persist buffer and all caches, without security
  secure-eadr              all caches, with 2 hashes for each line, as published
  secure-eadr-consistent   the same with as many hashes as an entry of cobcm is charged

\b
The schemes' drains are carried out as well, on a memory of real bytes, and their operations are counted: each entry
separately from cold metadata caches, and all together. In both drains lines share as little metadata as they can,
and the store in flight is included. In a third drain, all together, each counter overflows that the battery increments.
--counted lists the operations that the closed form omits, and those that it has in excess. With --counted the drain of
secure-eadr is carried out too: all 74,752 lines of its caches, each separately and all together, which takes seconds.

\b
A picture shows the requested entries; if that is one number, it also shows the paper's 8 to 512.

\b
How to read the table:
  mm3       the volume of a storage that holds the energy, by its density
  printed   the SecPB paper's figure; only where all parameters are the paper's
  off       by how much ours is larger; `as printed` if it is not, rounded or cut off to those digits
  % core    the area that the storage covers as a cube; the paper's are of its rounded volumes
A remark names a contradiction in the paper. The formulas are in docs/systems/secpb-battery.md.
"""

SIZES = (8, 16, 32, 64, 128, 256, 512)
"""Entries of Table VI, which a picture shows in addition if fewer than two are requested."""


@click.group("cost", cls=Commands)
def command() -> None:
    """Show the cost of a design apart from time.

    \b
    Examples:
      casemate cost secpb                      the battery of a secure persist buffer, scheme by scheme
      casemate cost engine                     area, frequency and energy of the AES-GCM engine: minutes
      casemate cost engine --lanes 2 --lanes 4 --target 4 --no-fpga    the cost of one more lane
      casemate cost rtl rtl/sources.f --top gf128_mul --param W=16    the same of any RTL: half a minute
      casemate cost compare *.v --top core --stimulus drive.py    a lane and another core, in several libraries

    \b
    engine, rtl and compare need the tools that `scripts/setup.sh .venv hw` installs. `casemate cost COMMAND --help`
    explains each figure, and its limits.
    """


for hardware in (cost_engine.engine, cost_rtl.rtl, cost_compare.compare):
    command.add_command(hardware)


@command.command("secpb", short_help="The battery of a secure persist buffer.", epilog=EPILOG)
@click.option(
    "--entries", type=int, multiple=True, metavar="N", help="Number of entries of the buffer; repeat it.  [default: 32]"
)
@click.option(
    "--height",
    type=int,
    metavar="LEVELS",
    help="Number of levels of the tree, counters and root included.  [default: that of the profile's memory, 8]",
)
@click.option("--scheme", "schemes", multiple=True, metavar="NAME", help="Only this scheme; repeat it.  [default: all]")
@click.option(
    "--profile",
    default="secpb",
    show_default=True,
    metavar="NAME|FILE",
    help="Energies, sizes and storages of the estimate.",
)
@click.option("--operations", is_flag=True, help="Show the operations of each drain, instead of the battery's volume.")
@click.option(
    "--counted", is_flag=True, help="Show the operations of drains that are carried out, difference by difference."
)
@click.option("--closed-form", is_flag=True, help="Only closed forms: carry no drain out.")
@options.svg
@options.png
@screen.as_json
def secpb(
    entries: tuple[int, ...],
    height: int | None,
    schemes: tuple[str, ...],
    profile: str,
    operations: bool,
    counted: bool,
    closed_form: bool,
    svg: Path | None,
    png: Path | None,
    as_json: bool,
) -> None:
    """Estimate the battery that drains a secure persist buffer after a loss of power."""
    from casemate import api
    from casemate.tables import battery_table
    from casemate.terminal.progress import Steps

    if operations + counted > 1 or counted > (not closed_form):
        raise click.UsageError("--counted goes with neither --operations nor --closed-form")
    pictures = options.pictures(svg, png)
    sizes = list(dict.fromkeys(entries)) or [api.DEFAULT_ENTRIES]
    with Steps(screen.notices(), "draining", 1) as progress:
        progress.begin(0, "full buffers and caches" if counted else "full buffers")
        found = api.cost_of_battery(
            schemes,
            entries=sizes,
            height=height,
            profile=profile,
            counted="all" if counted else "nothing" if closed_form else "buffers",
            progress=progress.report,
        )
    if as_json:
        screen.print_json(found)
    else:
        draw = battery_table.volumes
        if operations or counted:
            draw = battery_table.operations if operations else battery_table.counted
        screen.results().print(draw(found))
    if pictures:
        from casemate.plots import battery_picture

        shown = sizes if len(sizes) > 1 else [*SIZES, *sizes]
        drawn = api.cost_of_battery(
            schemes, entries=sorted(set(shown)), height=height, profile=profile, counted="nothing"
        )
        for path, kind in pictures:
            battery_picture.draw(drawn, path, kind)
            screen.notices().print(f"wrote {path}", markup=False)
