"""A run by interval: statistics for every N instructions."""

from casemate.schemas.base import Result
from casemate.schemas.counters import Llc, MetadataCache, Node, ProtectionWork, Renewals
from casemate.schemas.dram import Dram
from casemate.schemas.moving import Moving
from casemate.schemas.persist_buffer import PersistBuffer
from casemate.schemas.predicted import Speculation
from casemate.schemas.waits import CoreTime, ReadTimes


class Interval(Result):
    """A part of a run. The figures have the names of the record's figures and cover this part only. A figure that is a
    sum in the record is the sum over all intervals.
    """

    start: int
    """Instructions of all programs before the interval, those of the warm-up included."""
    start_fs: int
    """Start in femtoseconds from power-on: the time of the latest retirement known when the interval began."""
    instructions: int
    """Simulated instructions of the interval."""
    cycles: int
    """Core cycles from the latest retirement known at the beginning of the interval to the latest known at its end."""
    time_fs: int
    """Time of these core cycles, in femtoseconds."""
    ipc: float
    """Instructions per cycle, of all cores together."""
    read_latency_ns: float
    """Mean time from the last-level cache's miss to the released line, in nanoseconds; zero without a miss."""
    reads: ReadTimes | None
    """Latency of reads at the memory controller, with its parts by cause but without the histogram; null without a
    read.
    """
    dram_bytes: int
    """All DRAM reads and writes, in bytes."""
    core_time: CoreTime
    """Breakdown of the cores' cycles by cause."""
    node: Node
    """Statistics of all cores and their private caches together."""
    persist_buffer: PersistBuffer | None = None
    """Statistics of the cores' persist buffers; null in a design without persist buffers."""
    llc: Llc
    """Statistics of the last-level cache."""
    protection: ProtectionWork
    """Work of the protection scheme."""
    metadata_caches: tuple[MetadataCache, MetadataCache, MetadataCache, MetadataCache]
    """Look-ups in the counter, tag, node and bitmap caches, in this order."""
    renewals: Renewals
    """Re-encryption work after overflows of counters, of data and in the tree."""
    speculation: Speculation | None = None
    """Predictability of lines for the design's speculation, and its outcome; null if the design does not speculate."""
    moving: Moving | None = None
    """Work of permutations; null if lines do not move."""
    dram: Dram
    """Statistics of the memory channels."""
