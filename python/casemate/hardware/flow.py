"""The order of the steps for one core, from the request over kept steps to the results.

The store keeps the result of a step under a digest of all its inputs. So no input file may change until the store has
the result. It never keeps the results of a user's stimulus, since the files that the stimulus imports and reads are not
known.
"""

import gzip
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from casemate._core import CasemateError
from casemate.hardware import (
    design as designs,
)
from casemate.hardware import (
    energy,
    fabric,
    fanout,
    gate_simulation,
    netlist,
    rtl_simulation,
    sources,
    stimulus,
    store,
    synthesis,
    timing,
    tools,
    undefined,
)
from casemate.hardware.design import Design
from casemate.hardware.library import Library
from casemate.hardware.netlist import Netlist
from casemate.hardware.stimulus import Core, Drive, Trace
from casemate.hardware.store import Store
from casemate.schemas.hardware import Area, CoreCost, EnergyOfLine, Fpga, Speed

STEPS = (
    "design", "energy", "fabric", "fanout", "functions", "gate_simulation", "liberty", "library", "netlist",
    "rtl_simulation", "sources", "stimulus", "synthesis", "timing", "tools",
)  # fmt: skip
"""Modules of this package that decide the figures."""
LINES = 24
"""Default number of lines in a stimulus."""
LINE_BITS = 8 * stimulus.LINE_BYTES


@dataclass(frozen=True)
class Request:
    """A request to the flow for one core."""

    design: Design
    clock: str | None = None
    stimulus: Path | None = None
    key_bytes: int = 16
    lines: int = LINES
    has_fpga: bool = True
    part: Design | None = None
    """A module that occurs in the design several times and is mapped once."""
    copies: int = 0
    """Number of times that the module occurs."""


@dataclass(frozen=True)
class Mapped:
    """A core in cells of the library, mapped for one delay."""

    target_s: float
    built: Netlist
    area: Area
    speed: Speed
    common: dict[str, Any]
    """Inputs that decide the netlist."""

    @property
    def merit(self) -> float:
        """Highest frequency for each unit of area. Since the cycles of a line do not depend on the mapping, the mapping
        with the highest merit has the highest throughput for its area.
        """
        return self.speed.fmax_mhz / self.area.um2


class Flow:
    """Estimates the cost of hardware cores with one cell library."""

    def __init__(
        self,
        cells: Library,
        folder: Path,
        delay_s: float | None = None,
        report: Callable[[str], object] = print,
    ) -> None:
        """`delay_s` is the delay that mapping aims at; without it, the flow maps each core for several delays and keeps
        the mapping with the highest frequency for its area. The flow calls `report` for each step that begins. Raises
        `CasemateError` if a program is missing.
        """
        tools.need_yosys()
        tools.need_opensta()
        self.library = cells
        self.targets_s = (delay_s,) if delay_s else synthesis.targets_s(self.library)
        """Delays that mapping aims at, in seconds."""
        self._store, self._report = Store(folder), report
        self._versions = tools.versions()
        self.library_content = store.content(cells.path)
        """Digest of the library file's content."""
        self._read: dict[Path, str] = {}

    def price(self, request: Request) -> CoreCost:
        """Returns all figures of a core. Raises `CasemateError` for bad input and for any step that fails."""
        self._read = {self.library.path: self.library_content}
        request.design.check()
        drive = None
        if request.stimulus:
            tools.need_simulation()
            drive = stimulus.load(request.stimulus)
        rtl = self._of(request.design)
        ports = self._ports(request.design, rtl)
        clock = designs.clock_of(ports, request.clock)
        # Run the stimulus first: it is the likeliest cause of an error and runs in a moment; synthesis may take an
        # hour.
        trace = self._trace(request, drive, ports, clock, rtl) if drive else None
        mapped = max((self._map(request, clock, rtl, each) for each in self.targets_s), key=lambda each: each.merit)
        fpga = self._fpga(request) if request.has_fpga else None
        cost = CoreCost(
            name=request.design.title,
            target_ns=mapped.target_s * 1e9,
            area=mapped.area,
            speed=mapped.speed,
            fpga=fpga,
            energy=None,
        )
        if trace is None:
            return cost
        try:
            counted = self._counted(mapped, clock, trace)
        except gate_simulation.DifferenceError as error:
            self._report("the cause of a difference")
            raise CasemateError(f"{error}: {undefined.cause(request.design, ports, clock, trace)}") from error
        return with_work(cost, trace, energy.Energy(**counted))

    @property
    def recipe(self) -> str:
        """Digest of the program text of all steps."""
        return store.digest(store.code(*STEPS))

    def _keep(self, step: str, common: dict[str, Any], find: Callable[[], Any]) -> Any:
        return self._store.keep(step, common, lambda: self._of_what_was_read(find))

    def _of_what_was_read(self, find: Callable[[], Any]) -> Any:
        """Returns the result of `find`. Raises `CasemateError` if an input file has changed meanwhile."""
        found = find()
        for path in tuple(self._read):
            self._content(path)
        return found

    def _content(self, path: Path) -> str:
        """Digest of a file's content. Raises `CasemateError` if it has changed since the flow first read the file."""
        try:
            found = store.content(path)
        except OSError as error:
            raise CasemateError(f"cannot read '{path}': {error.strerror or error}") from error
        if self._read.setdefault(path, found) != found:
            raise CasemateError(f"'{path}' changed while a core was priced with it: price it again")
        return found

    def _mapping(self, target_s: float) -> dict[str, Any]:
        """Returns the inputs, apart from the design, that decide the mapping of a design to cells."""
        return {
            "library": self.library_content,
            "unused": sorted(self.library.unused),
            "delay_s": target_s,
            "code": store.code("synthesis", "fanout", "functions", "library", "liberty"),
        }

    def _ports(self, design: Design, rtl: dict[str, Any]) -> dict[str, tuple[bool, int]]:
        def find() -> Any:
            self._report("ports")
            with tempfile.TemporaryDirectory() as folder:
                try:
                    return synthesis.ports(design, Path(folder))
                except CasemateError as error:
                    raise CasemateError(f"'{design.title}' cannot be elaborated: {error}") from error

        found = self._keep("ports", rtl | {"step": store.code("synthesis")}, find)
        return {name: (bool(port[0]), int(port[1])) for name, port in found.items()}

    def _of(self, design: Design) -> dict[str, Any]:
        """Returns the content of a design and the versions of the programs, which decide all results for it."""
        return {
            "sources": [
                [path.name, self._content(path)] for path in (*design.files, *sources.included(design.sources))
            ],
            "defined": [str(each) for each in design.sources if str(each).startswith(sources.DEFINE)],
            "top": design.top,
            "parameters": design.parameters,
            "versions": self._versions,
            "front": store.code("design", "sources", "tools"),
        }

    def _map(self, request: Request, clock: str, rtl: dict[str, Any], target_s: float) -> Mapped:
        """Maps a core for a delay."""
        built, buffers = fanout.split(self._netlist(request.design, target_s, request.part), self.library, clock)
        gate_simulation.check(built, self.library, clock)
        common = (
            rtl
            | self._mapping(target_s)
            | {
                "clock": clock,
                "part": request.part and self._of(request.part),
                "reading": store.code("netlist"),
            }
        )
        return Mapped(target_s, built, self._area(built, buffers), self._timing(built, clock, common), common)

    def _logic(self, design: Design, boxes: list[str]) -> Path:
        """Gates of a design, apart from any library."""

        def find() -> Any:
            with tempfile.TemporaryDirectory() as folder:
                named = synthesis.memories(design, Path(folder), boxes).items()
                flops = ", ".join(f"{bits:,} bits of memory '{name}'" for name, bits in named)
                self._report(f"synthesis of {design.top}" + (f", {flops} as flip-flops" if flops else ""))
                return synthesis.to_logic(design, Path(folder), boxes).read_bytes()

        common = self._of(design) | {"code": store.code("synthesis"), "boxes": boxes}
        return self._store.keep_file("logic", common, lambda: self._of_what_was_read(find))

    def _netlist(self, design: Design, target_s: float, part: Design | None = None) -> Netlist:
        """Netlist of a design, mapped for a delay. A part that occurs several times is mapped once, and then copied
        into all boxes that represent it.
        """
        boxes = [part.top] if part else []
        logic = self._logic(design, boxes)

        def find() -> Any:
            number = self.targets_s.index(target_s) + 1
            self._report(f"mapping {number} of {len(self.targets_s)}, {design.top} for {target_s * 1e9:.3g} ns")
            with tempfile.TemporaryDirectory() as folder:
                plain = Path(folder) / "logic.il"
                plain.write_bytes(gzip.decompress(logic.read_bytes()))
                return synthesis.to_cells(plain, self.library, target_s, Path(folder)).read_bytes()

        common = self._of(design) | self._mapping(target_s) | {"boxes": boxes}
        path = self._store.keep_file("netlist", common, lambda: self._of_what_was_read(find))
        parts = {part.top: self._netlist(part, target_s)} if part else None
        return netlist.read(path, design.top, self.library, parts)

    def _area(self, built: Netlist, buffers: int) -> Area:
        cells = self.library.cells
        flops = [each for each in built.instances if cells[each.cell].flop is not None]
        return Area(
            um2=built.area_um2(self.library),
            flops_um2=sum(cells[each.cell].area_um2 for each in flops),
            cells=len(built.instances),
            flops=len(flops),
            fanout_buffers=buffers,
        )

    def _timing(self, built: Netlist, clock: str, common: dict[str, Any]) -> Speed:
        def find() -> Any:
            self._report("timing")
            with tempfile.TemporaryDirectory() as folder:
                found = timing.find(built, self.library, clock, Path(folder))
            return asdict(found)

        found = timing.Timing(**self._keep("timing", common | {"step": store.code("timing")}, find))
        return Speed(
            fmax_mhz=found.fmax_hz / 1e6,
            path_begins=found.begins,
            path_ends=found.ends,
            path_cells=found.stages,
            cycles_per_line=None,
            latency_cycles=None,
            gbps=None,
            gbps_per_mm2=None,
        )

    def _fpga(self, request: Request) -> Fpga:
        """Returns the FPGA resources of a design. A part that occurs several times is mapped once, and its resources
        count once for each copy.
        """
        part = request.part
        found = self._fabric(request.design, [part.top] if part else [])
        if part:
            inside = self._fabric(part, [])
            found = {name: count + request.copies * inside[name] for name, count in found.items()}
        return Fpga(**found)

    def _fabric(self, design: Design, boxes: list[str]) -> dict[str, int]:
        def find() -> Any:
            self._report(f"FPGA of {design.top}")
            with tempfile.TemporaryDirectory() as folder:
                return fabric.to_fabric(design, Path(folder), boxes).model_dump()

        common = self._of(design) | {"step": store.code("fabric", "synthesis"), "boxes": boxes}
        found: dict[str, int] = self._keep("fpga", common, find)
        return found

    def _trace(
        self, request: Request, drive: Drive, ports: dict[str, tuple[bool, int]], clock: str, rtl: dict[str, Any]
    ) -> Trace:
        assert request.stimulus is not None
        common = rtl | {
            "stimulus": store.content(request.stimulus),
            "key_bytes": request.key_bytes,
            "lines": request.lines,
            "clock": clock,
            "step": store.code("rtl_simulation", "stimulus"),
        }

        def find() -> Any:
            self._report("simulation of the RTL")
            # The simulator drives the clock, so the stimulus cannot set it.
            settable = {name: port for name, port in ports.items() if name != clock}
            with tempfile.TemporaryDirectory() as folder:
                program = rtl_simulation.build(request.design, ports, clock, Path(folder))
                return asdict(
                    rtl_simulation.drive(
                        program,
                        ports,
                        clock,
                        drive,
                        lambda process: Core(process, settable, request.key_bytes, request.lines),
                    )
                )

        is_ours = request.stimulus.resolve().parent == Path(__file__).resolve().parent
        return Trace(**(self._keep("trace", common, find) if is_ours else json.loads(json.dumps(find()))))

    def _counted(self, mapped: Mapped, clock: str, trace: Trace) -> dict[str, float]:
        def find() -> Any:
            self._report("simulation of the netlist")
            with tempfile.TemporaryDirectory() as folder:
                toggles = gate_simulation.run(mapped.built, self.library, clock, trace, Path(folder))
            return asdict(energy.find(mapped.built, self.library, clock, toggles))

        common = mapped.common | {"trace": asdict(trace), "step": store.code("gate_simulation", "energy", "functions")}
        found: dict[str, float] = self._keep("energy", common, find)
        return found


def with_work(cost: CoreCost, trace: Trace, taken: energy.Energy) -> CoreCost:
    """Returns the cost of a core with the figures per line: cycles, throughput and energy."""
    cycles = trace.cycles / trace.done
    gbps = LINE_BITS * cost.speed.fmax_mhz * 1e6 / cycles / 1e9
    latency = sum(trace.latencies) / len(trace.latencies) if trace.latencies else None
    speed = cost.speed.model_copy(
        update={
            "cycles_per_line": cycles,
            "latency_cycles": latency,
            "gbps": gbps if trace.are_lines else None,
            "gbps_per_mm2": gbps / (cost.area.um2 / 1e6) if trace.are_lines else None,
        }
    )
    # The leakage energy of a line is the leakage power over the time of a line at the highest frequency.
    leakage = taken.leakage_w * cycles / (cost.speed.fmax_mhz * 1e6)
    parts = (taken.switching_j, taken.internal_j, taken.clock_j)
    switching, internal, clock = (1e9 * part / trace.done for part in parts)
    line = EnergyOfLine(
        lines=trace.done,
        switching_nj=switching,
        internal_nj=internal,
        clock_nj=clock,
        leakage_nj=1e9 * leakage,
        total_nj=switching + internal + clock + 1e9 * leakage,
    )
    return cost.model_copy(update={"speed": speed, "energy": line})
