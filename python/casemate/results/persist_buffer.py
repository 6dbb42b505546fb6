"""What persist buffers of a run counted."""

from casemate.results.base import Result


class PersistBuffer(Result):
    """Stores into persist buffers, and what they waited for; under strict persistency at the memory controller, where
    each goes by itself, into an entry of its own on the way.
    """

    stores: int
    """Stores of the program that entered one."""
    allocations: int
    """Entries that they allocated."""
    drains: int
    """Entries that were chosen to be drained."""
    flushed: int
    """Entries that left because another core read the line."""
    given_up: int
    """Entries that went over to the buffer of another core, which wrote the line."""
    full_cycles: int
    """Cycles that stores waited because no entry was free."""
    leaving_cycles: int
    """Cycles that stores waited because the entry of their line was leaving."""
    answer_cycles: int
    """Cycles that stores that had entered waited for their early steps."""

    @property
    def stores_per_entry(self) -> float:
        """SecPB's NWPE; 0 without an entry."""
        return self.stores / self.allocations if self.allocations else 0.0
