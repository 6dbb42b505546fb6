"""Results of `casemate cost engine`, `casemate cost rtl` and `casemate cost compare`: area, speed and energy of cores
in cell libraries and in an FPGA.
"""

from typing import Annotated

from pydantic import Field

from casemate.schemas.base import Result

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A measured value, finite and not negative, since commands read result files again and draw the values on logarithmic
axes.
"""
Size = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A measured value above zero."""


class Area(Result):
    """Area of a hardware core in a cell library."""

    um2: Size
    """Sum of the cells' areas, in square micrometres, without wires and empty rows."""
    flops_um2: Amount
    """Area of the flip-flops, in square micrometres."""
    cells: int
    """Number of cells; synthesis and static timing count the same number."""
    flops: int
    """Number of flip-flops in the core."""
    fanout_buffers: int
    """Number of buffers that split nets with more than 16 sinks."""


class Speed(Result):
    """Clock frequency, cycles and throughput of a hardware core."""

    fmax_mhz: Size
    """Highest clock frequency in megahertz, with ideal wires and registers right at the ports."""
    path_begins: str
    """Register or input where the longest path begins."""
    path_ends: str
    """Register or output where the longest path ends."""
    path_cells: int
    """Number of cells on that path, with the flip-flops at its ends."""
    cycles_per_line: Size | None
    """Cycles from one line (or another unit of the stimulus) to the next, measured in simulation; null without one."""
    latency_cycles: Amount | None
    """Cycles from accepting a line to its response, if the stimulus states when the core accepted it."""
    gbps: Size | None
    """Throughput of plaintext in Gbit/s at the highest frequency; null for cores that seal no lines."""
    gbps_per_mm2: Size | None
    """Throughput in Gbit/s per square millimetre of cells."""


class Fpga(Result):
    """Resources of a hardware core in a Xilinx series 7 FPGA, as Yosys maps it."""

    lut: int
    """Number of look-up tables, inverters included."""
    flops: int
    """Number of flip-flops in the FPGA."""
    muxes: int
    """Number of multiplexers between look-up tables."""
    carries: int
    """Number of carry chains of four bits."""
    block_rams: int
    """Number of block RAMs."""
    dsps: int = 0
    """Number of multiply-and-add blocks (DSP slices)."""
    others: int
    """Number of other cells, such as RAM in look-up tables."""


class EnergyOfLine(Result):
    """Energy per cache line in nanojoules, from the simulated toggles of every net."""

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
    """Cost of one hardware core."""

    name: str
    """Name of the module with its parameters."""
    target_ns: Size
    """Delay for which the core was mapped, in nanoseconds."""
    area: Area
    """Area in the cell library."""
    speed: Speed
    """Speed in the cell library."""
    fpga: Fpga | None
    """Resources in an FPGA; null if not requested."""
    energy: EnergyOfLine | None
    """Energy of a line; null without a stimulus."""
    composed: str | None = None
    """Method by which the flow combined the figures, if it did not synthesise the core as a whole."""


class Scaling(Result):
    """Cost of routers that differ only in their number of lanes: straight lines by least squares, exact through two
    points.
    """

    name: str
    """Name of the configuration with one lane."""
    lanes: list[int]
    """Numbers of lanes of the routers to which the straight lines are fitted."""
    clock_mhz: float
    """Clock of the power figures: the highest that all routers reach."""
    area_um2_a_lane: float
    """Area of each additional lane, in square micrometres: the slope of the fitted line."""
    area_um2_besides: float
    """Area without any lane, in square micrometres: the intercept of the fitted line."""
    power_mw_a_lane: float
    """Power of each additional lane that seals cache lines back to back, in milliwatts: the slope of the fitted line.
    """
    power_mw_besides: float
    """Power without any lane, in milliwatts: the intercept of the fitted line."""


class HardwareCost(Result):
    """Costs of cores, all through the same flow."""

    library: str
    """Name of the cell library."""
    library_content: str
    """Digest of the library file's content."""
    unused: tuple[str, ...] = ()
    """Names of the library's cells that synthesis did not use."""
    voltage_v: Size
    """Supply voltage of the library, in volts."""
    targets_ns: list[Size]
    """Delays for which each core was mapped, in nanoseconds. The row of a core contains the mapping with the highest
    frequency for its area.
    """
    tools: dict[str, str]
    """Versions of the synthesis, timing and simulation programs."""
    recipe: str
    """Digest of the flow's program text."""
    rows: list[CoreCost]
    """A row for each hardware core."""
    scaling: list[Scaling]
    """Cost of one more lane, for each family of engines that differ only in their number of lanes."""


class Ratio(Result):
    """One of our lanes and a foreign core in the same library, as ratios."""

    library: str
    """Name of the cell library."""
    lane: str
    """Name of the lane."""
    gbps_per_mm2: Size
    """Ratio of the lane's throughput for its area to that of the foreign core."""
    energy: Size
    """Ratio of the lane's energy per line to that of the foreign core."""


class HardwareComparison(Result):
    """Lanes of our engine and a foreign AES-GCM core in several libraries."""

    core: str
    """Name of the foreign core."""
    libraries: list[HardwareCost]
    """Costs in each library: those of the lanes, then that of the foreign core."""
    ratios: list[Ratio]
    """A ratio for each lane in each library."""
