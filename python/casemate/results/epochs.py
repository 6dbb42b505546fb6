"""What programs of a run flushed and fenced."""

from casemate.results.base import Result


class Epochs(Result):
    """Flushes and persist fences of programs whose stores are durable at the memory controller."""

    flushes: int
    """Lines that were flushed, dirty or not."""
    fences: int
    """Persist fences."""
    fences_held: int
    """Of these, fences that waited for flushes."""
