"""Results of `casemate cost rtl` and `casemate cost engine`: area, speed and energy of cores in a cell library and in
an FPGA.
"""

from typing import Annotated

from pydantic import Field

from casemate.results.base import Result

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A measured value, finite and not negative: other commands read result files again and put them into tables and
logarithmic pictures.
"""
Size = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A measured value above zero."""


class Area(Result):
    """Area of a core in a cell library."""

    um2: Size
    """Sum of the cells' areas, in square micrometres, without wires and empty rows."""
    flops_um2: Amount
    """Area of the flip-flops, in square micrometres."""
    cells: int
    """Number of cells; synthesis and static timing agree on it."""
    flops: int
    """Number of flip-flops in the core."""
    fanout_buffers: int
    """Number of buffers that split nets with more than 16 sinks."""


class Speed(Result):
    """Speed of a core."""

    fmax_mhz: Size
    """Highest frequency, with ideal wires and registers right at the ports."""
    path_begins: str
    """Register or input where the longest path begins."""
    path_ends: str
    """Register or output where the longest path ends."""
    path_cells: int
    """Cells on that path, with the flip-flops at its ends."""
    cycles_per_line: Size | None
    """Cycles from one line (or another unit of the stimulus) to the next, measured in simulation; null without one."""
    latency_cycles: Amount | None
    """Cycles from accepting a line to its response, if the stimulus states when the core accepted it."""
    gbps: Size | None
    """Throughput of text in Gbit/s at the highest frequency; null for cores that seal no lines."""
    gbps_per_mm2: Size | None
    """Throughput for each square millimetre of cells."""


class Fpga(Result):
    """Resources of a core in a Xilinx series 7 FPGA, as Yosys maps it."""

    lut: int
    """Look-up tables, inverters included."""
    flops: int
    """Number of flip-flops in the FPGA."""
    muxes: int
    """Multiplexers between look-up tables."""
    carries: int
    """Carry chains of four bits."""
    block_rams: int
    """Number of block RAMs."""
    others: int
    """Other cells, such as RAM in look-up tables."""


class EnergyOfLine(Result):
    """Energy of a line, net by net, from simulated activity."""

    lines: int
    """Number of lines over which the mean is taken."""
    switching_nj: Amount
    """Energy that charges the input pins of nets, without the clock's."""
    internal_nj: Amount
    """Energy within cells, without clock pins."""
    clock_nj: Amount
    """Energy of the flip-flops' clock pins: their charge, and the energy within."""
    leakage_nj: Amount
    """Leakage during the time of one line at the highest frequency."""
    total_nj: Size
    """Sum of the four parts."""


class CoreCost(Result):
    """Cost of one core."""

    name: str
    """Name of the module with its parameters."""
    area: Area
    """Area in the cell library."""
    speed: Speed
    """Speed in the cell library."""
    fpga: Fpga | None
    """Resources in an FPGA; null if not requested."""
    energy: EnergyOfLine | None
    """Energy of a line; null without a stimulus."""
    composed: str | None = None
    """Method by which the figures were combined, if the core was not synthesised as a whole."""


class Scaling(Result):
    """Cost of routers that differ only in their number of lanes: straight lines by least squares, exact through two
    points.
    """

    name: str
    """Core with one lane."""
    lanes: list[int]
    """Numbers of lanes that the lines were fitted to."""
    clock_mhz: float
    """Clock of the power figures: the highest that all routers reach."""
    area_um2_a_lane: float
    """Square micrometres of each lane."""
    area_um2_besides: float
    """Square micrometres at the line's intercept, without any lane."""
    power_mw_a_lane: float
    """Milliwatts of each lane, with lines back to back."""
    power_mw_besides: float
    """Milliwatts at the line's intercept."""


class HardwareCost(Result):
    """Costs of cores, all through the same flow."""

    library: str
    """Name of the cell library."""
    library_content: str
    """Identifier of the library file's content."""
    voltage_v: Size
    """Supply voltage of the library, in volts."""
    target_ns: Size
    """Delay that synthesis aimed at, in nanoseconds."""
    tools: dict[str, str]
    """Versions of the programs."""
    recipe: str
    """Identifier of the text of the flow."""
    rows: list[CoreCost]
    """A row for each core."""
    scaling: list[Scaling]
    """Cost of one more lane, for cores that differ only in their lanes."""
