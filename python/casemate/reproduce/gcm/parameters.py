"""Parameters of the thesis, from its measurements, its tools or other work: all other figures follow from these.

This file contains no derived value. The printed derived values are in `printed`, which no formula reads.
"""

from dataclasses import dataclass

from casemate.crypto.regression import EnginePoint, Line

BLOCK_BITS = 128
LINE_BLOCKS = 4
"""AES blocks in a line of 64 bytes."""


@dataclass(frozen=True)
class Software:
    """One software implementation (chapter 4)."""

    name: str
    clock_hz: float
    seal: float
    """Cycles per byte to encrypt and tag."""
    open: float
    """Cycles per byte to verify and decrypt; equal to `seal` if the thesis states only one figure."""
    power_w: float
    """Power that Table 6.1 charges for one core."""

    @property
    def cycles_per_byte(self) -> float:
        """Mean of both directions, as in chapter 6."""
        return (self.seal + self.open) / 2


@dataclass(frozen=True)
class CoreCycles:
    """Clock cycles that a module needs for each step (Table 5.1)."""

    startup: int
    """Clock cycles to compute the hash key."""
    block: int
    tag: int
    clock_max_hz: float

    def line(self, overlap: int = 0) -> int:
        """Returns the clock cycles for a line with its tag, if adjacent steps overlap by `overlap` cycles in total."""
        return self.startup + LINE_BLOCKS * self.block + self.tag - overlap


@dataclass(frozen=True)
class ModulePower:
    """The estimate for one module (Table 5.2), in milliwatts at a clock."""

    clock_hz: float
    dynamic_mw: float
    static_mw: float

    @property
    def total_mw(self) -> float:
        """Sum of dynamic and static power."""
        return self.dynamic_mw + self.static_mw


# Chapter 4.
C_SEAL = {32: 52.2, 64: 37.8, 128: 35.6, 256: 28.3, 512: 25.4}
"""Table 4.1: cycles per byte of portable C by the size of the buffer, encrypting."""
C_OPEN = {32: 74.2, 64: 50.4, 128: 39.8, 256: 35.8, 512: 33.0}
"""Table 4.1, cycles per byte of portable C, decrypting."""
X86_CLOCK = 2.7e9
"""Clock of the Core i7-2620M, fixed at its nominal value (section 4.1)."""
X86_TDP_W = 35.0
"""Power of the whole processor (Table 6.1)."""
X86_CORES = 2
"""Cores of a Core i7-2620M, by Intel's specification; the thesis does not state them."""
OPENSSL_MBPS = {"CBC": 841.0, "IGE": 790.0}
"""Throughput of OpenSSL 1.0.0k in megabits a second, by `openssl speed` (section 4.2)."""
SOFTWARE = (
    Software("x86, C", X86_CLOCK, C_SEAL[64], C_OPEN[64], X86_TDP_W),
    Software("x86, assembly", X86_CLOCK, 22.0, 22.0, X86_TDP_W),
    Software("x86, ISA extension", X86_CLOCK, 3.5, 3.5, X86_TDP_W),
    Software("Alpha", 900e6, 41.0, 41.0, 94.0),
    Software("ARM", 1e9, 63.1, 63.8, 2.0),
)
"""Sections 4.1 to 4.4. The assembly figure is the faster of Gladman's two; that of the ISA extension is Intel's, for 16
KB in four streams.
"""

# Chapter 5.
OPEN_CORE = CoreCycles(startup=19, block=22, tag=17, clock_max_hz=212e6)
COMMERCIAL_CORE = CoreCycles(startup=0, block=12, tag=12, clock_max_hz=256e6)
LINE_CLOCKS = 123
"""Table 5.1: a line and its tag through the simulated open-source module."""
MULTIPLIER_BITS = 16
"""Width of the multiplier (chapter 5)."""
POWER = {
    "FPGA, typical": ModulePower(200e6, 228.0, 123.0),
    "FPGA, worst": ModulePower(200e6, 230.0, 371.0),
    "ASIC": ModulePower(225e6, 11.956, 0.428),
}
"""Table 5.2: one module."""
FPGA_MAX_HZ, ASIC_MAX_HZ = OPEN_CORE.clock_max_hz, 250e6
"""Highest clocks that the synthesis tools reached: Table 5.1 and section 5.2."""
ASIC_POINTS = tuple(
    EnginePoint(modules, 1e3 * thousands, milliwatts)
    for modules, thousands, milliwatts in (
        (1, 89, 12.383), (2, 176, 24.732), (4, 343, 48.724), (8, 657, 95.277), (16, 1204, 183.162),
    )
)  # fmt: skip
"""Table 5.3: areas are printed in thousands of square micrometres."""
AREA_HALF_UNIT_UM2 = 500.0
POWER_HALF_UNIT_MW = 0.0005
"""Half a unit of the last printed digit in the columns of Table 5.3."""
FITS = {
    "FPGA, typical": Line(192.9, 216.3),
    "FPGA, worst": Line(199.4, 462.7),
    "ASIC": Line(11.05, 2.12),
}
"""Equations 5.1 to 5.3, in milliwatts: straight lines that the thesis fitted. It shows the points of equations 5.1 and
5.2 only in a figure.
"""
ASIC_AREA_FIT = Line(74125.0, 34762.0)
"""Equation 5.5, in square micrometres."""
FPGA_FITS = {"FF": Line(1509.7, -222.5), "LUT": Line(2356.2, -81.4), "BRAM": Line(8.0, 0.0)}
"""Equation 5.4, resources over the number of modules."""
LARGEST_KINTEX = {"FF": 597_200, "LUT": 298_600, "BRAM": 955}
"""Resources of an XC7K480T, the largest Kintex 7, by Xilinx' DS180; BRAMs of 36 Kb. The thesis does not name its
device.
"""

# Chapter 6, and chapter 2.
PEAK_GBS = 25.6
"""The Intel system of section 6.1."""
AMD_GBS = 21.0
MOBILE_GBS = {"Nexus 7": 5.3, "Nexus 10": 12.8, "iPhone 5": 8.5, "iPad 3": 12.8}
"""Mobile systems of Table 6.2, in GB/s."""
YAN_ENGINES, YAN_CLOCK_HZ = 12, 1e9
"""Engines of Yan et al., which process a block in each clock cycle (section 2.3)."""
LEE_DECRYPT_CYCLES, LEE_ENCRYPT_CYCLES = 20, 80
"""AES modules of Lee et al. (section 2.3)."""
ROUNDS = {128: 10, 192: 12, 256: 14}
"""Rounds of AES by bits of the key (section 3.1, FIPS 197)."""
