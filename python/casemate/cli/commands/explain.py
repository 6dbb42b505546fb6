"""`casemate explain`: the timeline of one read or write, and the placement of metadata."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.core import ParameterSource

from casemate.cli import options
from casemate.terminal import screen

if TYPE_CHECKING:
    from casemate.schemas.explain import Explanations

EPILOG = """\b
Examples:
  casemate explain sc64-bmt                            a read with no metadata on the chip
  casemate explain sc64-bmt --on-chip counter --row hit
  casemate explain plp-pipelined --of write            a write, until it is durable
  casemate explain secpb-cm --of store
                                                       a store, until the core continues, and its drain
  casemate explain secpb-cm --of store --meets full-buffer
                                                       a store that waits until an entry has drained
  casemate explain cryptopage --on-chip all            a line that moves, with its page in a TLB
  casemate explain cryptopage --of page                the walk to the record of a page outside the TLBs
  casemate explain cryptopage --of permutation         the permutation of a page
  casemate explain sc64-bmt --value 0123456789abcdef   the line that is read holds this, eight times over
  casemate explain fvs-tdes --against ocb-tdes --machine simplescalar-2005 --row hit --on-chip all --value frequent
  casemate explain sc64-bmt --against ctr-mac-version  both on one scale, and the causes of the difference
  casemate explain sc64-bmt --address 0x80005000       the line at this address, instead of many
  casemate explain sc64-bmt --no-conflict              a read without a bank conflict, as papers draw it
  casemate explain sc64-bmt --svg read.svg --png read.png
  casemate explain morphable-llc --against emcc --machine emcc-4core --from l2 --on-chip last-level --row hit
  casemate explain --layout sc64-bmt --memory "64 GB"  the placement of its metadata, and the structures on the chip

The command runs the same scheme text on the same simulated hardware as any run. It puts an otherwise idle machine
into the stated condition, and reads or writes one line. It repeats this for many lines, drawn from all of the memory.
It shows the line with the median latency, and the spread of all lines. If a line and its metadata are in two rows of
one bank, one fetch waits for the other, and no --row can hold for both. Each fetch states the row that it found. With
--no-conflict, the command shows the median of only those lines that fetch no two rows of one bank, as papers draw
timelines. With --against, both timelines show the same line, and the difference of the medians is below them.

A write begins when the memory controller takes a line that the last-level cache has evicted. Its latency ends when
memory's controller has taken everything that is stored, so that the write-back buffer is free again; under a design
with persistence, when the write is durable. A write fetches its tag line when it has the tag; docs/systems/plp.md
has the gain of an earlier fetch.
"""


class Address(click.ParamType[int]):
    """An address in memory in bytes, as in `0x80005000`."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Returns the address as a number."""
        if isinstance(value, int):
            return value
        try:
            number = int(value, 0)
        except ValueError:
            number = -1
        if not 0 <= number < 2**64:
            self.fail(
                f"'{value}' is not an address: expected bytes from the start of memory, as in 0x80005000", param, ctx
            )
        return number


@click.command("explain", epilog=EPILOG)
@click.argument("design", metavar="DESIGN")
@click.option("--against", metavar="DESIGN", help="Another design, to compare DESIGN with.")
@click.option(
    "--machine",
    metavar="NAME|FILE",
    help="The machine.  [default: modern; secpb-pcm for a store, since it supports persist buffers; cryptopage-2006 "
    "for a design that permutes lines]",
)
@options.changes
@click.option(
    "--of",
    type=click.Choice(["read", "write", "store", "page", "permutation"]),
    default="read",
    show_default=True,
    help="The access: a read; a write until all its steps are done; or a store until a persist buffer lets the core "
    "continue, followed by the drain. For designs that permute lines, also the walk to a page's record, or "
    "the permutation of a page.",
)
@click.option(
    "--meets",
    type=click.Choice(["new-entry", "entry", "full-buffer", "overflow"]),
    help="With --of store, the state of the persist buffer: `new-entry`: a free entry for the line. `entry`: the line "
    "already has an entry; the store uses its counter, pad and root again. `full-buffer`: no free entry, until the "
    "entry that leaves first has drained. `overflow`: a free entry, but the line's minor counter overflows, so that "
    "its group is re-encrypted.  [default: new-entry]",
)
@click.option(
    "--value",
    metavar="HEX",
    help="The plaintext of the line in memory; with --of write, the written text. The 128 hexadecimal digits of a "
    "line, fewer digits to repeat, or `zeros`. For designs that speculate on values, also the most frequent value of "
    "the table (`frequent`), the least frequent (`rarest`) or one outside the table (`other`).  [default: 5a]",
)
@click.option(
    "--on-chip",
    type=click.Choice(["nothing", "tree", "last-level", "counter", "all"]),
    default="nothing",
    show_default=True,
    help="Metadata of the line that is on the chip; each choice includes those before it. With last-level, the counter "
    "is in the last-level cache.",
)
@click.option(
    "--row",
    type=click.Choice(["hit", "closed", "conflict"]),
    default="closed",
    show_default=True,
    help="Set the state of the DRAM rows before the access: of the rows of all lines that it fetches.",
)
@click.option(
    "--from",
    "start",
    type=click.Choice(["controller", "l2"]),
    default="controller",
    show_default=True,
    help="Place where the timeline starts and ends; the last-level cache does not have the line.",
)
@click.option(
    "--predicted",
    is_flag=True,
    help="With --from l2: the L2 predicts a miss, and notifies the memory controller when its look-up begins.",
)
@click.option(
    "--decoded", is_flag=True, help="Assume that decoding counters takes no time, as in the EMCC paper's timelines."
)
@click.option(
    "--address",
    type=Address(),
    metavar="BYTE",
    help="Access only the line with this byte, instead of many lines; a read requests the word of this byte first.",
)
@click.option(
    "--no-conflict",
    is_flag=True,
    help="Show the median of only those lines that fetch no two rows of one bank, or the fewest. --row then holds for "
    "their fetches, unless memory is refreshed meanwhile; PCM has no such rows.",
)
@options.seed
@options.svg
@options.png
@click.option("--layout", "only_layout", is_flag=True, help="Show the placement of the design's metadata instead.")
@click.option(
    "--memory", metavar="SIZE", help='With --layout: the size of the data, as in "64 GB".  [default: the machine\'s]'
)
@screen.as_json
@click.pass_context
def command(
    context: click.Context,
    design: str,
    against: str | None,
    machine: str | None,
    changes: dict[str, str],
    of: str,
    meets: str | None,
    value: str | None,
    on_chip: str,
    row: str,
    start: str,
    predicted: bool,
    decoded: bool,
    address: int | None,
    no_conflict: bool,
    seed: int,
    svg: Path | None,
    png: Path | None,
    only_layout: bool,
    memory: str | None,
    as_json: bool,
) -> None:
    """Show the timeline of one read or write: each piece of work, its waits, and the critical path."""
    from casemate import api
    from casemate.laboratory import explaining
    from casemate.laboratory.requests import Access, Page, Permutation, Read, Store, Write
    from casemate.plots import timeline
    from casemate.schemas.explain import Explanations, Meets, OnChip, Row, Start

    pictures = options.pictures(svg, png)
    names = [design] if against is None else [design, against]
    if only_layout:
        if pictures:
            raise click.UsageError("--svg and --png draw timelines: leave --layout out")
        if address is not None:
            raise click.UsageError("--address is for timelines: leave --layout out")
        if no_conflict:
            raise click.UsageError("--no-conflict is for timelines: leave --layout out")
        if value is not None or of != "read" or meets is not None:
            raise click.UsageError("--value, --of and --meets are for timelines: leave --layout out")
        if changes:
            raise click.UsageError("--with is for timelines: give --layout a file of the changed design")
        laid_out_on = machine or explaining.usual_machine(names)
        layouts = tuple(api.layout(name, machine=laid_out_on, memory=memory) for name in names)
        show_layouts(Explanations(explanations=(), layouts=layouts), as_json)
        return
    if address is not None and context.get_parameter_source("seed") is not ParameterSource.DEFAULT:
        raise click.UsageError("--seed draws the lines that are tried: with --address there is only one")
    if address is not None and no_conflict:
        raise click.UsageError("--no-conflict selects among many lines: with --address there is only one")
    if memory:
        raise click.UsageError("--memory is for --layout: a timeline is of the machine's own memory")
    if of != "read" and start == "l2":
        raise click.UsageError(f"--from l2 is for reads: no L2 waits for a {of}, which begins beyond it")
    if meets is not None and of != "store":
        raise click.UsageError(
            f"--meets is the state of a persist buffer before a store, and a {of} enters none: add --of store"
        )
    if predicted and start != "l2":
        raise click.UsageError("--predicted is an L2's prediction of its misses: add --from l2")
    scenarios: dict[str, OnChip] = {name: name for name in get_args(OnChip)}
    rows: dict[str, Row] = {name: name for name in get_args(Row)}
    meetings: dict[str, Meets] = {name: name for name in get_args(Meets)}
    starts: dict[str, Start] = {name: name for name in get_args(Start)}
    common: dict[str, Any] = {
        "on_chip": scenarios[on_chip],
        "row": rows[row],
        "decoded": decoded,
        "address": address,
        "seed": seed,
        "no_conflict": no_conflict,
        "value": value,
    }
    accesses: dict[str, Callable[[], Access]] = {
        "read": lambda: Read(**common, start=starts[start], predicted=predicted),
        "write": lambda: Write(**common),
        "page": lambda: Page(**common),
        "permutation": lambda: Permutation(**common),
        "store": lambda: Store(**common, meets=meetings[meets or "new-entry"]),
    }
    access = accesses[of]()
    found = explaining.explain_together(names, access, machine=machine, changes=changes)
    if as_json:
        screen.print_json(found)
    else:
        console = screen.results()
        console.print(timeline.timelines(found, console.width))
    for path, kind in pictures:
        from casemate.plots import timeline_picture

        timeline_picture.draw(found, path, kind)
        screen.notices().print(f"wrote {path}", markup=False)


def show_layouts(found: "Explanations", as_json: bool) -> None:
    """Shows where designs place their metadata."""
    from casemate.tables import layouts

    if as_json:
        screen.print_json(found)
    else:
        for layout in found.layouts:
            screen.results().print(layouts.layout_table(layout))
