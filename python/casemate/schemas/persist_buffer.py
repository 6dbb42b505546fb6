"""Statistics of the persist buffers in a run."""

from casemate.schemas.base import Result


class PersistBuffer(Result):
    """Stores into persist buffers, and their waits. Under strict persistency at the memory controller, each store
    occupies a separate entry on its way to the controller.
    """

    stores: int
    """Stores of the program that entered a buffer."""
    allocations: int
    """Entries that these stores allocated."""
    drains: int
    """Entries that the buffers chose to drain."""
    flushed: int
    """Entries that left their buffer because another core read the line."""
    given_up: int
    """Entries that moved to the buffer of another core, which wrote the line."""
    full_cycles: int
    """Cycles that stores waited because no entry was free."""
    leaving_cycles: int
    """Cycles that stores waited because the entry of their line was draining."""
    answer_cycles: int
    """Cycles that stores in an entry waited for their early steps."""

    @property
    def stores_per_entry(self) -> float:
        """Stores per entry (NWPE in the SecPB paper); 0 without an entry."""
        return self.stores / self.allocations if self.allocations else 0.0
