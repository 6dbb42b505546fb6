"""What protects so many bytes a second: throughput of one engine or core, how many of them a memory needs, and what
that takes. Equations 4.1, 6.1 and 6.2 and section 6.1 of the thesis that `casemate reproduce gcm` is about; `casemate
bench crypto` asks the same of this computer.
"""

import math

LINE_BYTES = 64
BITS = 8


def cycles_per_byte(cycles: float, iterations: int, buffer_bytes: int) -> float:
    """Equation 4.1: what each byte takes of the cycles of so many operations on such buffers."""
    return cycles / (iterations * buffer_bytes)


def software_mbps(clock_hz: float, per_byte: float) -> float:
    """Equation 6.1, in megabits a second: a core that takes so many cycles for a byte."""
    return clock_hz / per_byte * BITS / 1e6


def engine_mbps(clock_hz: float, cycles_per_line: float) -> float:
    """Equation 6.2, in megabits a second: an engine that takes so many cycles for a line with its tag."""
    return clock_hz / cycles_per_line * LINE_BYTES * BITS / 1e6


def gigabits(gigabytes: float) -> float:
    """Gigabits of so many gigabytes, both of powers of ten."""
    return gigabytes * BITS


def instances(bandwidth_gbs: float, mbps: float) -> int:
    """Section 6.1: how many cores or engines of such a throughput keep up with so many gigabytes a second.

    A relative part of 1e-9 more than a whole number is that number: bandwidths are decimal fractions.
    """
    return math.ceil(gigabits(bandwidth_gbs) * 1e3 / mbps * (1 - 1e-9))
