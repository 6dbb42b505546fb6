"""Counts of a run's persist buffers."""

from casemate.results.base import Result


class PersistBuffer(Result):
    """Stores into persist buffers, and their waits. Under strict persistency at the memory controller, each store
    occupies a separate entry on its way.
    """

    stores: int
    """Stores of the program that entered a buffer."""
    allocations: int
    """Entries that these stores allocated."""
    drains: int
    """Entries that were chosen to be drained."""
    flushed: int
    """Entries that left because another core read the line."""
    given_up: int
    """Entries that moved to the buffer of another core, which wrote the line."""
    full_cycles: int
    """Cycles that stores waited because no entry was free."""
    leaving_cycles: int
    """Cycles that stores waited because the entry of their line was leaving."""
    answer_cycles: int
    """Cycles that stores that had entered waited for their early steps."""

    @property
    def stores_per_entry(self) -> float:
        """Stores for each entry (NWPE in the SecPB paper); 0 without an entry."""
        return self.stores / self.allocations if self.allocations else 0.0
