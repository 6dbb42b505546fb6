"""What figures of several papers are made of."""

from fractions import Fraction

from casemate.results.run import Record


def clock_mhz(record: Record, part: str) -> float:
    """The clock of a part of the machine."""
    clock = record.configuration.machine.model_dump()[part]["clock_mhz"]
    return float(Fraction(str(clock).removesuffix(" MHz")))


def share(part: float, whole: float) -> float:
    """In percent; of nothing, nothing."""
    return 100 * part / whole if whole else 0.0
