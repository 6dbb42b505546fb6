"""A run by interval: counts for every N instructions."""

from casemate.results.base import Result
from casemate.results.counters import Dram, Llc, MetadataCache, Node, ProtectionWork, Renewals
from casemate.results.moving import Moving
from casemate.results.persist_buffer import PersistBuffer
from casemate.results.predicted import Speculation
from casemate.results.waits import CoreTime, ReadTimes


class Interval(Result):
    """A part of a run. The figures have the names of the record's figures and cover this part only. A figure that is a
    sum in the record is the sum over all intervals.
    """

    start: int
    """Instructions of all programs before the interval, with those of the warm-up."""
    start_fs: int
    """Start in femtoseconds from power-on: at the latest retirement known at that time."""
    instructions: int
    """Simulated instructions of the interval."""
    cycles: int
    """Core cycles from the latest retirement known at its beginning to that at its end."""
    time_fs: int
    """The same time in femtoseconds."""
    ipc: float
    """Instructions per cycle, of all cores together."""
    read_latency_ns: float
    """Mean time from the last-level cache's miss to the released line, in nanoseconds; zero without a miss."""
    reads: ReadTimes | None
    """Latency of reads at the memory controller and its parts, without the histogram; null without a read."""
    dram_bytes: int
    """All DRAM reads and writes, in bytes."""
    core_time: CoreTime
    """Breakdown of the cores' cycles."""
    node: Node
    """All cores and their private caches together."""
    persist_buffer: PersistBuffer | None = None
    """Persist buffers of the cores; null in a design without them."""
    llc: Llc
    """Counts of the last-level cache."""
    protection: ProtectionWork
    """Work of the protection scheme."""
    metadata_caches: tuple[MetadataCache, MetadataCache, MetadataCache, MetadataCache]
    """The counter, tag, node and bitmap caches."""
    renewals: Renewals
    """Work after overflows of counters, of data and in the tree."""
    speculation: Speculation | None = None
    """Predictability of lines for the design's speculation, and its outcome; null if the design does not speculate."""
    moving: Moving | None = None
    """Work of permutations; null if lines do not move."""
    dram: Dram
    """Counts of the memory channels."""
