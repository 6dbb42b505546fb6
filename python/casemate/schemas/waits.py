"""Waits of reads and cores, by cause."""

from casemate.schemas.base import Result


class ReadParts(Result):
    """Time of reads by cause.

    Until the line itself arrives, the time counts as time of the line, even if metadata is under way too. Later time
    counts for the awaited metadata, in order of arrival. So the parts add up to the whole latency.
    """

    write_back: float
    """Time before the memory controller: a fill waited until the write of a victim had left the write-back buffer."""
    admission: float
    """Time before the fetch: another access had locked the line, or the controller looked up the owner of its page."""
    reencryption: float
    """Time before the fetch: the line's group, or the maximum number of groups, was being re-encrypted."""
    memory_queue: float
    """Queueing of the line's fetch in memory: time due to other requests, refreshes and writes."""
    data: float
    """Time of the line's fetch without queueing."""
    counter: float
    """Wait for the encryption counter, after the line has arrived."""
    tree: float
    """Wait for tree nodes and their hashes, after the line has arrived."""
    tag: float
    """Wait for the tag, after the line has arrived."""
    bitmap: float
    """Wait for the bitmap of a re-ordered line and its decryption, after the line has arrived."""
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
    """Cycles in which instructions retired, or in which the core did not wait for memory."""
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
    """Latency of reads: from the arrival at the memory controller to the release of the line, or of the requested words
    if these are released earlier.
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
    """Parts of the mean latency by cause, in nanoseconds; they do not include the time before the controller."""
    histogram: tuple[tuple[int, int], ...] = ()
    """Histogram: number of latencies in each bucket, by the upper end of the bucket in femtoseconds; empty for an
    interval.
    """
