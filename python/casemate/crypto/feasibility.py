"""Feasibility of protecting a bandwidth: throughput of one engine or core, the number of them that a memory needs, and
their cost.

The formulas are equations 4.1, 6.1 and 6.2 and section 6.1 of the thesis that `casemate reproduce gcm` is about;
`casemate bench crypto` applies them to this computer.
"""

import math

LINE_BYTES = 64
BITS = 8


def cycles_per_byte(cycles: float, iterations: int, buffer_bytes: int) -> float:
    """Equation 4.1: cycles for each byte, from the cycles of `iterations` operations on buffers of `buffer_bytes`."""
    return cycles / (iterations * buffer_bytes)


def software_mbps(clock_hz: float, per_byte: float) -> float:
    """Equation 6.1, in megabits a second: throughput of a core from its cycles for a byte."""
    return clock_hz / per_byte * BITS / 1e6


def engine_mbps(clock_hz: float, cycles_per_line: float) -> float:
    """Equation 6.2, in megabits a second: throughput of an engine from its cycles for a line with its tag."""
    return clock_hz / cycles_per_line * LINE_BYTES * BITS / 1e6


def gigabits(gigabytes: float) -> float:
    """Converts gigabytes to gigabits, both of powers of ten."""
    return gigabytes * BITS


def instances(bandwidth_gbs: float, mbps: float) -> int:
    """Section 6.1: number of cores or engines of this throughput that keep up with a bandwidth in gigabytes a second.

    A quotient that exceeds a whole number by less than a relative 1e-9 counts as that number: bandwidths are decimal
    fractions.
    """
    return math.ceil(gigabits(bandwidth_gbs) * 1e3 / mbps * (1 - 1e-9))
