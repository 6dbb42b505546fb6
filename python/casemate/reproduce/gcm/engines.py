"""The thesis's engines and software cores, in any number and at any clock: the number that a memory bandwidth needs,
with power and area.

The straight lines of chapter 5 are fitted at one clock. At another clock, with an unchanged voltage, dynamic power
scales with the clock and static power stays. An FPGA has the static power once per device, an ASIC once per module.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from casemate.crypto import regression
from casemate.crypto.feasibility import BITS, engine_mbps, instances, software_mbps
from casemate.crypto.regression import Line
from casemate.reproduce.derivation import Requirements
from casemate.reproduce.gcm import parameters as given
from casemate.schemas.derivation import EngineNeed

MHZ = 1e6


@dataclass(frozen=True)
class Engine:
    """Model of any number of modules of chapter 5: throughput, power and area."""

    name: str
    clock_hz: float
    """Clock of the estimates."""
    clock_max_hz: float
    """Highest clock that synthesis reached."""
    power_mw: Line
    """Power in milliwatts over the number of modules, at the clock of the estimates."""
    static_mw: Line
    """Static power in milliwatts over the number of modules; it does not scale with the clock."""
    area_um2: Line | None

    def mbps(self, clock_hz: float) -> float:
        """Returns the throughput of one module at this clock, in megabits a second."""
        return engine_mbps(clock_hz, given.LINE_CLOCKS)

    def power_w(self, modules: int, clock_hz: float) -> float:
        """Returns the power of this number of modules, in watts."""
        static = self.static_mw.at(modules)
        return ((self.power_mw.at(modules) - static) * clock_hz / self.clock_hz + static) / 1e3

    def area_mm2(self, modules: int) -> float | None:
        """Returns the area of this number of modules, in square millimetres, or `None` if the thesis states no area."""
        return None if self.area_um2 is None else self.area_um2.at(modules) / 1e6


def _fpga(name: str) -> Engine:
    power = given.POWER[name]
    return Engine(name, power.clock_hz, given.FPGA_MAX_HZ, given.FITS[name], Line(0.0, power.static_mw), None)


def _asic(name: str, power_mw: Line, area_um2: Line) -> Engine:
    power = given.POWER["ASIC"]
    return Engine(name, power.clock_hz, given.ASIC_MAX_HZ, power_mw, Line(power.static_mw, 0.0), area_um2)


TYPICAL, WORST = _fpga("FPGA, typical"), _fpga("FPGA, worst")
ASIC = _asic("ASIC", given.FITS["ASIC"], given.ASIC_AREA_FIT)
_FITTED = regression.fit_engines(given.ASIC_POINTS)
ASIC_FITTED = _asic("ASIC, our fit", _FITTED.power_mw, _FITTED.area_um2)
ENGINES = (ASIC, ASIC_FITTED, TYPICAL, WORST)
"""Engines: the ASIC by the thesis's equations 5.3 and 5.5, the ASIC by least squares of Table 5.3, and the FPGA with
typical and with worst power.
"""


def needs(required: Requirements) -> Iterator[EngineNeed]:
    """Yields the engines that each requested bandwidth needs, and the bandwidth of each requested number of lanes. If
    the user requested neither, it is the thesis's bandwidth.
    """
    clock_mhz = next(iter(required["clock"]), None)
    bandwidths = required["bandwidth"] or (() if required["lanes"] else (given.PEAK_GBS,))
    for bandwidth in bandwidths:
        for engine in ENGINES:
            clock_hz = clock_mhz * MHZ if clock_mhz else engine.clock_hz
            yield _of_engine(engine, clock_hz, bandwidth, instances(bandwidth, engine.mbps(clock_hz)), "bandwidth")
        yield from _of_software(bandwidth)
    for lanes in required["lanes"]:
        for engine in ENGINES:
            clock_hz = clock_mhz * MHZ if clock_mhz else engine.clock_hz
            carried = lanes * engine.mbps(clock_hz) / BITS / 1e3
            yield _of_engine(engine, clock_hz, carried, int(lanes), "lanes")


def _of_engine(engine: Engine, clock_hz: float, bandwidth: float, lanes: int, required: str) -> EngineNeed:
    scaled = f"dynamic power goes with the clock, from {engine.clock_hz / MHZ:g} MHz"
    beyond = f"synthesis reached {engine.clock_max_hz / MHZ:g} MHz" if clock_hz > engine.clock_max_hz else ""
    remark = "; ".join(filter(None, (scaled, beyond))) if clock_hz != engine.clock_hz else None
    return EngineNeed(
        implementation=engine.name, clock_mhz=clock_hz / MHZ, asked="lanes" if required == "lanes" else "bandwidth",
        bandwidth_gbs=bandwidth, lanes=lanes, power_w=engine.power_w(lanes, clock_hz), area_mm2=engine.area_mm2(lanes),
        remark=remark,
    )  # fmt: skip


def _of_software(bandwidth: float) -> Iterator[EngineNeed]:
    """Yields the number of CPU cores that each software of chapter 4 needs, with the power that Table 6.1 charges for a
    core.
    """
    for software in given.SOFTWARE:
        cores = instances(bandwidth, software_mbps(software.clock_hz, software.cycles_per_byte))
        whole = software.power_w == given.X86_TDP_W
        yield EngineNeed(
            implementation=software.name, clock_mhz=software.clock_hz / MHZ, asked="bandwidth", bandwidth_gbs=bandwidth,
            lanes=cores, power_w=cores * software.power_w, area_mm2=None,
            remark=f"the processor's whole TDP for each of its {given.X86_CORES} cores" if whole else None,
        )  # fmt: skip
