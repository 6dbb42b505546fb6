"""Measures that the figures of the CryptoPage paper compute from a run's record."""

from casemate.reproduce.measures import clock_mhz, share
from casemate.schemas.moving import Moving
from casemate.schemas.run import Record

LINE_WORDS = 4
"""Words of 8 bytes in a line."""
TAG_WORDS = 2


def l2_misses(record: Record) -> float:
    """Misses per thousand instructions of the paper's L2, which is the last-level cache here."""
    return 1e3 * record.llc.misses / record.instructions


def tlb_misses(record: Record) -> float:
    """Page-table walks per thousand instructions."""
    return 1e3 * record.node.stlb.misses / record.instructions


def _moving(record: Record) -> Moving:
    assert record.moving is not None, f"the lines of {record.design} move"
    return record.moving


def fills_per_permutation(record: Record) -> float:
    """Fills for each permutation; 0 without a permutation."""
    return _moving(record).fills_per_permutation or 0.0


def moved_per_fill(record: Record) -> float:
    """Lines that crossed the bus for each fill, including the filled line; 0 without a fill."""
    return _moving(record).moved_per_fill or 0.0


def bus_time(record: Record) -> float:
    """Time that moved lines and their tags occupy the memory bus, in percent of the run's time."""
    moving, permutation = _moving(record), record.configuration.design.parts.permutation
    assert permutation is not None, f"{record.design} permutes"
    tags = TAG_WORDS / permutation.slots_per_tag if permutation.lines == "sealed" else 0.0
    words = (moving.fetched + moving.read + moving.written) * (LINE_WORDS + tags)
    return share(words, record.time_fs * 1e-9 * clock_mhz(record, "dram"))
