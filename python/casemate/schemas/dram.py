"""Statistics of the memory channels: sums over a run."""

from casemate.schemas.base import Result


class Queue(Result):
    """Waits of reads or of writes in the queue of a memory with DRAM commands."""

    requests: int
    """Requests for which the channel has issued the first command."""
    clocks: int
    """Sum over these requests of the memory clocks from the entry into the queue to the first command."""


class BackgroundRequests(Result):
    """Requests that use the memory bus only while no other request waits."""

    served: int = 0
    """Requests that the channel served while no other request waited."""
    raised: int = 0
    """Requests that waited until an access needed them: they then had the priority of all other requests."""


class DramQueues(Result):
    """Statistics of the queues of the memory channels."""

    read_queue: Queue
    """Waits of reads for their first commands."""
    write_queue: Queue
    """Waits of writes for their first commands."""
    background: BackgroundRequests = BackgroundRequests()
    """Requests of permutations with `permutation.time = "idle-bus"`."""


class Dram(DramQueues):
    """Statistics of the memory channels."""

    reads: int
    """Reads submitted to the channel."""
    writes: int
    """Writes submitted to the channel."""
    forwarded: int
    """Reads answered from the write queue."""
    merged: int
    """Writes that replaced a waiting write of the same line."""
    activates: int
    """Activate commands issued to memory."""
    precharges: int
    """Precharge commands; closing all banks of a rank counts as one."""
    refreshes: int
    """Refresh commands issued to memory."""
    row_hits: int
    """Requests that found their row open."""
    row_closed: int
    """Requests that found their bank closed."""
    row_conflicts: int
    """Requests that found another row open."""
    read_latency: int
    """Sum over all reads of the time from submission to the last data, in femtoseconds."""
    data_bus_busy_clocks: int
    """Memory clocks in which the data bus moved data."""
