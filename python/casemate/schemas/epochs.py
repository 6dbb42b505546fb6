"""Flushes and fences of a run's programs."""

from casemate.schemas.base import Result


class Epochs(Result):
    """Flushes and persist fences of programs, in designs that make stores durable at the memory controller."""

    flushes: int
    """Lines that were flushed, dirty or not."""
    fences: int
    """Number of persist fences."""
    fences_held: int
    """Fences, among these, that had to wait for flushed lines."""
