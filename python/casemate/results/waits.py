"""Waits of reads and cores, by cause."""

from casemate.results.base import Result


class ReadParts(Result):
    """Time of reads by cause.

    Until the line itself arrives, the time counts for the line, even if metadata is under way too. Later time counts
    for the awaited pieces, in the order in which they arrive. So the parts add up to the whole.
    """

    write_back: float
    """Time on the way to the controller: a fill waited until a victim's write had left its buffer."""
    admission: float
    """Time before the fetch: another access held the line, or the controller looked up its owner."""
    reencryption: float
    """Time before the fetch: the line's group was being re-encrypted, or the maximum number of groups."""
    memory_queue: float
    """Queueing of the line's fetch: the time that other requests, refreshes and writes added."""
    data: float
    """Time of the line's fetch without queueing."""
    counter: float
    """Time for the counter."""
    tree: float
    """Time for tree nodes and their hashes."""
    tag: float
    """Time for the tag."""
    bitmap: float
    """Time for the bitmap of a re-ordered line, with its decryption."""
    engine_queue: float
    """Waits for busy cryptographic units."""
    engine: float
    """Time of cryptographic units at work."""
    on_chip: float
    """Transfers and look-ups on the chip, before the controller and after it."""
    persist_buffer: float = 0.0
    """Waits of a core's stores for its persist buffer; not part of any read."""
    fence: float = 0.0
    """Waits of a core's persist fences for flushed lines; not part of any read."""


class CoreTime(Result):
    """Breakdown of the cores' cycles, over all cores; the parts add up to the total."""

    cycles: int
    """Total number of cycles."""
    at_work_cycles: float
    """Cycles in which instructions retired, or would have retired with memory of any speed."""
    idle_cycles: float
    """Cycles of idle cores, because other cores' part of the program had to run first."""
    switching_cycles: float = 0.0
    """Cycles in which a core was switched from one process to another."""
    waiting_cycles: ReadParts
    """Cycles in which no instruction retired because of an awaited line, by the cause of the line's latency."""

    def by_cause(self) -> dict[str, float]:
        """Returns each cause with its cycles."""
        own = {"at_work": self.at_work_cycles, "idle": self.idle_cycles, "switching": self.switching_cycles}
        return own | self.waiting_cycles.model_dump()


class ReadTimes(Result):
    """Latency of reads from their arrival at the memory controller to the release of the line, or of the requested
    words.
    """

    lines: int
    """Total number of lines."""
    mean_ns: float
    """Mean latency in nanoseconds."""
    median_ns: float
    """Latency that half of the lines did not exceed, to within a thirty-second part, in nanoseconds."""
    p99_ns: float
    """Latency that 99 in 100 lines did not exceed, to within a thirty-second part, in nanoseconds."""
    parts_ns: ReadParts
    """Parts of the mean, in nanoseconds; they do not include the time before the controller."""
    histogram: tuple[tuple[int, int], ...] = ()
    """Number of latencies in each bucket, by the bucket's end in femtoseconds; empty for an interval."""
