"""What `casemate cost rtl` and `casemate cost engine` give: what cores take in a cell library and in an FPGA."""

from typing import Annotated

from pydantic import Field

from casemate.results.base import Result

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""What can be measured: files of results are read again, and set beside others in tables and logarithmic pictures."""
Size = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""One that is more than nothing."""


class Area(Result):
    """What a core takes of a cell library."""

    um2: Size
    """The sum of the cells' areas, in square micrometres: no wires, no empty rows."""
    flops_um2: Amount
    """Of these, flip-flops."""
    cells: int
    """Cells, as synthesis and static timing count them alike."""
    flops: int
    """Of these, flip-flops."""
    fanout_buffers: int
    """Of these, buffers that split nets with more than 16 sinks."""


class Speed(Result):
    """How fast a core is."""

    fmax_mhz: Size
    """The highest frequency, with ideal wires and registers right at the ports."""
    path_begins: str
    """The register or input where the longest path begins."""
    path_ends: str
    """The register or output where it ends."""
    path_cells: int
    """The cells on it, the flip-flops at its ends among them."""
    cycles_per_line: Size | None
    """Cycles from one line (or whatever the stimulus counts) to the next, measured in simulation; nothing without
    one.
    """
    latency_cycles: Amount | None
    """Cycles from taking a line to its response, if the stimulus says when the core took it."""
    gbps: Size | None
    """Text in Gbit/s at the highest frequency; nothing for what seals no lines."""
    gbps_per_mm2: Size | None
    """That for each square millimetre of cells."""


class Fpga(Result):
    """What a core takes of a Xilinx series 7 FPGA, as Yosys maps it."""

    lut: int
    """Look-up tables, inverters included."""
    flops: int
    """Flip-flops."""
    muxes: int
    """Multiplexers between look-up tables."""
    carries: int
    """Carry chains of four bits."""
    block_rams: int
    """Block RAMs."""
    others: int
    """Other cells, such as RAM in look-up tables."""


class EnergyOfLine(Result):
    """The energy of a line, net by net, from simulated activity."""

    lines: int
    """Lines over which it is the mean."""
    switching_nj: Amount
    """Charging the input pins at nets, but for the clock's."""
    internal_nj: Amount
    """Within cells, but for clock pins."""
    clock_nj: Amount
    """The clock pins of flip-flops: their charge, and what is within."""
    leakage_nj: Amount
    """Leakage, for as long as a line takes at the highest frequency."""
    total_nj: Size
    """The sum."""


class CoreCost(Result):
    """What one core costs."""

    name: str
    """The module with its parameters."""
    area: Area
    """In the cell library."""
    speed: Speed
    """In the cell library."""
    fpga: Fpga | None
    """In an FPGA; nothing if it was not asked for."""
    energy: EnergyOfLine | None
    """Nothing without a stimulus."""
    composed: str | None = None
    """How the figures were put together, if the core was not synthesised as a whole."""


class Scaling(Result):
    """What routers take that differ in their lanes alone: straight lines by least squares, exact through two."""

    name: str
    """The core with one lane."""
    lanes: list[int]
    """The numbers of lanes that the lines go through."""
    clock_mhz: float
    """The clock of the power: the highest that all of them reach."""
    area_um2_a_lane: float
    """Square micrometres of each lane."""
    area_um2_besides: float
    """Square micrometres where the line meets no lane."""
    power_mw_a_lane: float
    """Milliwatts of each lane, with lines without a pause."""
    power_mw_besides: float
    """Milliwatts there."""


class HardwareCost(Result):
    """What cores cost, all through the same flow."""

    library: str
    """The cell library."""
    library_content: str
    """A name for what is in its file."""
    voltage_v: Size
    """Its voltage."""
    target_ns: Size
    """The delay that synthesis aimed at."""
    tools: dict[str, str]
    """The versions of the programs."""
    recipe: str
    """A name for the text of the flow."""
    rows: list[CoreCost]
    """A row for each core."""
    scaling: list[Scaling]
    """What one more lane takes, where cores differ in their lanes alone."""
