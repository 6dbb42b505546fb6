"""Layouts, traces and measurements as tables that fit 100 columns."""

import math
from collections.abc import Iterable, Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from casemate.schemas.bus import BusInfo
from casemate.schemas.excerpt import ExcerptInfo
from casemate.schemas.imported import ImportedMachine
from casemate.schemas.layout import Layout
from casemate.schemas.origin import Exited, Killed, Origin, Seeded, TraceInfo, Unbacked
from casemate.schemas.validation import Validation
from casemate.schemas.window import Window
from casemate.terminal.split_table import SplitTable
from casemate.text import amounts


def plain_table(*headers: str, right: Iterable[str] = ()) -> SplitTable:
    """An empty table in the house style; the columns named in `right` hold numbers, which no screen cuts."""
    table = SplitTable(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1))
    numbers = set(right)
    for header in headers:
        table.add_column(header, justify="right" if header in numbers else "left", no_wrap=header in numbers)
    return table


def changed(changes: Mapping[str, str]) -> list[Text]:
    """Returns the keys with values that the user gave in place of those in the files, for the head of a result."""
    each = [f"{path} = {value}" if value else f"{path} left out" for path, value in changes.items()]
    return [Text(f"  with {', '.join(each)}")] if each else []


def layout_table(layout: Layout) -> RenderableType:
    """Placement of a design's data and metadata, and the structures that it keeps on the chip."""
    numbers = ("starts at", "lines", "size", "of data")
    memory = plain_table("in memory", *numbers, "each line serves", right=numbers)
    for region in layout.regions:
        percent = f"{region.percent:.4f} %"
        memory.add_row(
            region.role, f"{region.start:#x}", amounts.count(region.lines), amounts.size(region.bytes), percent,
            _served(region.role, region.serves),
        )  # fmt: skip
    chip = plain_table("on the chip", "size", "", right=("size",))
    for store in layout.on_chip:
        served = f"each line serves {_served(store.what, store.serves)}" if store.serves else ""
        said = f"{store.ways} ways" if store.ways else served
        chip.add_row(store.what, amounts.size(store.bytes), said)
    title = Text.assemble(
        (layout.design, "bold"),
        f": metadata takes {layout.overhead_percent:.3f} % of {amounts.size(layout.memory)} of data",
    )
    repeats = [Text(_repeated_pad(layout.pad_number_bits))] if layout.pad_number_bits else []
    return Group(title, memory, *([chip] if layout.on_chip else []), *repeats)


def _repeated_pad(bits: int) -> str:
    """Says after how many permutations two of them probably use the same pads, since each draws a random number of this
    number of bits (Duc and Keryell, section 2.3).
    """
    root = bits / 2
    even = root + math.log2(2 * math.log(2)) / 2
    return (
        f"Each permutation draws R' of {bits} bits. Two have drawn the same R' with a probability of "
        f"{-100 * math.expm1(-0.5):.0f} % after {_drawn(root)}, and of 50 % after {_drawn(even)}."
    )


def _drawn(power_of_two: float) -> str:
    years = 2.0 ** min(power_of_two - math.log2(365.25 * 24 * 3600 * 1e9), 1000)
    return f"2^{power_of_two:.1f} permutations ({years:.1f} years, at one each nanosecond)"


def _served(role: str, number: int) -> str:
    if role.startswith("data") or role == "context":
        return ""
    one, several = ("child", "children") if "tree" in role else ("line", "lines")
    return f"{number} {one if number == 1 else several}"


FORMATS = {
    "casemate": "Casemate",
    "champsim": "ChampSim",
    "ramulator-memory": "Ramulator, requests to memory",
    "ramulator-load-store": "Ramulator, loads and stores",
    "ramulator-cpu": "Ramulator, instructions with reads and write-backs",
    "dramsim3": "DRAMsim3",
}


REQUESTS = {
    "at-once": "one each memory clock, as soon as the controller accepts it",
    "at-clocks": "at the memory clocks that the trace states",
    "after-instructions": "after the instructions that the trace states",
}
"""Timing of the requests of a trace that was recorded behind the caches."""


def trace_table(info: TraceInfo) -> RenderableType:
    """Table of a trace's content."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
    origin, totals = info.origin, info.totals
    per_instruction = info.file_bytes * 8 / max(totals.instructions, 1)
    rows = {
        "program": origin.title,
        "format": FORMATS[info.format],
        "part": _recorded_part(origin, totals.instructions),
        "loads, stores": f"{amounts.count(totals.loads)}, {amounts.count(totals.stores)} of at most 8 bytes",
        "lines told": f"{amounts.count(totals.lines)} of 64 bytes",
        "memory touched": f"{amounts.count(totals.pages)} pages of 4 KB",
        "load values": _load_values(origin),
        "file": f"{amounts.size(info.file_bytes)}, {per_instruction:.2f} bits an instruction",
        "conditions": ", ".join(f"{name} {value}" for name, value in origin.conditions),
        "check": "every checksum fits" if info.format == "casemate" else "every record keeps the format's rules",
    }
    for name, value in rows.items():
        if value:
            table.add_row(Text(name, style="bold"), Text(value))
    return table


def _load_values(origin: Origin) -> str:
    if isinstance(origin.values, Seeded):
        return "none, for stores too: a run draws them from its seed"
    return "recorded" if origin.load_values else "not recorded"


def excerpt_table(info: ExcerptInfo) -> RenderableType:
    """Table of every unit's work in a window of a run."""
    about, table = info.about, Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
    seen_fs = min(about.window_length_fs, about.ended_fs - about.window_from_fs)
    begin, length, is_cut = about.window_from_fs / 1e9, seen_fs / 1e9, seen_fs < about.window_length_fs
    rows = {
        "run": f"{' '.join(about.workload)} on {about.machine}",
        "design": about.design,
        "window": f"{length:g} us from {begin:g} us{' to the end of the run' if is_cut else ''}; "
        f"the run ended at {about.ended_fs / 1e9:.3f} us",
        "accesses": amounts.count(info.accesses),
    }
    for name, value in rows.items():
        table.add_row(Text(name, style="bold"), Text(value))
    numbers = ("spans", "busy", "at once", "mean (ns)", "longest (ns)")
    units = plain_table("unit", *numbers, right=numbers)
    part = None
    for unit in info.units:
        if unit.part != part:
            part = unit.part
            units.add_section()
            units.add_row(Text(part, style="bold"))
        times = (f"{time / 1e6:.1f}" for time in (unit.mean_fs, unit.longest_fs))
        busy = f"{100 * unit.busy_fs / seen_fs:.1f} %"
        units.add_row(Text(f"  {unit.unit}"), amounts.count(unit.spans), busy, str(unit.at_once), *times)
    return Group(table, Text(), units if info.units else Text("No unit did anything in this window.", style="yellow"))


def bus_table(info: BusInfo) -> RenderableType:
    """Table of the lines that crossed the pins, and the first of them."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
    run, totals = info.header.configuration, info.totals
    queued = "from the controller's queue of writes"
    rows = {
        "run": f"{' beside '.join(part.title for part in (run.workload, *run.beside))} on {run.machine.name}",
        "design": run.design.name,
        "reads": f"{amounts.count(totals.reads)}, {amounts.count(totals.forwarded)} of them answered {queued}",
        "writes": f"{amounts.count(totals.writes)}, {amounts.count(totals.merged)} of them merged in that queue",
        "until": f"{totals.last_fs / 1e9:.3f} us",
        "bytes": "in the file" if info.header.bytes else "not in the file",
        "file": amounts.size(info.file_bytes),
        "check": "every checksum fits",
    }
    for name, value in rows.items():
        table.add_row(Text(name, style="bold"), Text(value))
    if not info.first:
        return table
    first = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("time (ns)", "address"):
        first.add_column(heading, justify="right", no_wrap=True)
    first.add_column("", no_wrap=True)
    first.add_column("bytes" if info.header.bytes else "", no_wrap=True)
    for event in info.first:
        kind = event.kind if event.burst else f"{event.kind}, queued"
        content = "" if not info.header.bytes else "never written" if event.bytes is None else f"{event.bytes[:32]}..."
        first.add_row(f"{event.time_fs / 1e6:.3f}", f"{event.address:#x}", kind, content)
    return Group(table, Text(), first)


def _recorded_part(origin: Origin, instructions: int) -> str:
    if origin.requests:
        return amounts.counted(instructions, "request")
    executed = amounts.counted(instructions, "instruction")
    after = f" after {amounts.count(origin.skip)} that were skipped" if origin.skip else ""
    if isinstance(origin.finish, Exited):
        whole = "the whole program" if not origin.skip else "to the program's end"
        whole = "the marked region of the program" if origin.is_marked_region else whole
        return f"{whole}, {executed}{after} (exit status {origin.finish.exited})"
    if isinstance(origin.finish, Killed):
        return f"until {origin.finish} ended the program, {executed}{after}"
    if isinstance(origin.finish, Unbacked):
        return f"until the program reserved {amounts.size(origin.finish.unbacked)}, {executed}{after}"
    return f"{amounts.first(instructions, 'instruction')}{after}"


def window_table(window: Window) -> RenderableType:
    """Tables of a window of a ChampSim trace: its speed, and the accesses of each cache and TLB."""
    numbers = ("instructions", "cycles", "IPC")
    speed = plain_table(*numbers, "mispredicted per 1000", "trace restarted", right=numbers)
    restarts = "never" if not window.restarts else amounts.counted(window.restarts, "time")
    speed.add_row(
        f"{window.instructions:,}", f"{window.cycles:,}", f"{window.ipc:.4g}", f"{window.branch_mpki:.4g}", restarts
    )
    table = plain_table(
        "", "accesses", "misses", "mean miss latency", right=("accesses", "misses", "mean miss latency")
    )
    latency = window.llc_miss_latency_cycles
    for name, seen in (
        ("L1I", window.l1i), ("L1D", window.l1d), ("L2", window.l2), ("LLC", window.llc),
        ("DTLB", window.dtlb), ("STLB", window.stlb),
    ):  # fmt: skip
        said = f"{latency:.1f} cycles" if name == "LLC" and latency is not None else ""
        table.add_row(name, f"{seen.accesses:,}", f"{seen.misses:,}", said)
    return Group(speed, table)


def imported_table(machine: ImportedMachine) -> RenderableType:
    """Table of the keys of another simulator's configuration that the machine does not have unchanged, and of the
    defaults for keys that the configuration lacks.
    """
    table = plain_table("key", "value", "in the machine")
    for fate, style in (("changed", "yellow"), ("default", "yellow"), ("no counterpart", "dim")):
        table.add_section()
        for key in machine.keys:
            if key.fate == fate:
                table.add_row(Text(key.key), Text(key.value), Text(f"{fate}: {key.said}", style=style))
    title = Text.assemble((machine.name, "bold"), f": {machine.counts()}")
    size = f"memory.size is half of its {amounts.size(machine.memory_bytes)}: the other half holds metadata"
    return Group(title, *([table] if table.row_count else []), Text(size))


def validation_table(report: Validation) -> RenderableType:
    """Table of our figures next to the references', with marks at figures out of tolerance."""
    table = plain_table(
        "reference", "subject", "measured", "ours", "theirs", "off", "allowed", "",
        right=("ours", "theirs", "off", "allowed"),
    )  # fmt: skip
    before = None
    for row in report.rows:
        if before is not None and (row.reference, row.subject) != before:
            table.add_section()
        names = ("", "") if (row.reference, row.subject) == before else (row.reference, row.subject)
        before = (row.reference, row.subject)
        unit = "points" if row.in_points else "%"
        allowed = "" if row.tolerance_percent is None else f"{row.tolerance_percent:g} {unit}"
        if row.placement_percent:
            allowed += f" + {row.placement_percent:.1f} %"
        ours = f"{row.ours:.4g}"
        if row.interval is not None and row.interval[1] > row.interval[0]:
            ours += f" ± {row.interval[1] - row.ours:.2g}"
        off = Text(f"{row.difference_percent:+.1f} {unit}", style="" if row.ok else "red")
        mark = Text("" if row.ok else "OUT", style="bold red")
        if row.tolerance_percent is not None and not row.counted:
            mark = Text("not counted", style="yellow")
        table.add_row(*names, row.quantity, ours, f"{row.theirs:.4g}", off, allowed, mark)
    return Group(table, Text(report.brief(), style="green" if report.ok else "red"))
