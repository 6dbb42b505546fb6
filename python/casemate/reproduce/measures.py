"""Measures of a run's record that figures of several papers use."""

from fractions import Fraction

from casemate.schemas.run import Record


def clock_mhz(record: Record, part: str) -> float:
    """Clock of a part of the machine, in megahertz."""
    clock = record.configuration.machine.model_dump()[part]["clock_mhz"]
    return float(Fraction(str(clock).removesuffix(" MHz")))


def share(part: float, whole: float) -> float:
    """Returns the share in percent; 0 if the whole is 0."""
    return 100 * part / whole if whole else 0.0
