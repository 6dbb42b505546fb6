"""A run by interval: what was counted in each so many instructions."""

from casemate.results.base import Result
from casemate.results.counters import Dram, Llc, MetadataCache, Node, ProtectionWork, Renewals
from casemate.results.moving import Moving
from casemate.results.persist_buffer import PersistBuffer
from casemate.results.predicted import Speculation
from casemate.results.waits import CoreTime, ReadTimes


class Interval(Result):
    """A part of a run. The figures are the record's of the same name, of this part alone, so that what is a sum there
    is the sum over all intervals."""

    start: int
    """After how many instructions it began, of all programs together, those of the warm-up included."""
    start_fs: int
    """When that was, from power-on, in femtoseconds: at the latest retirement that was known."""
    instructions: int
    """Simulated instructions."""
    cycles: int
    """Core cycles from the latest retirement known at its beginning to that at its end."""
    time_fs: int
    """The same in femtoseconds."""
    ipc: float
    """Instructions per cycle, of all cores together."""
    read_latency_ns: float
    """Mean time from the last-level cache's miss to the released line; zero without a miss."""
    reads: ReadTimes | None
    """What reads took at the memory controller, and what for, without the histogram; nothing without a read."""
    dram_bytes: int
    """All DRAM reads and writes, in bytes."""
    core_time: CoreTime
    """What the cores' cycles were for."""
    node: Node
    """All cores and their private caches together."""
    persist_buffer: PersistBuffer | None = None
    """The cores' persist buffers; nothing if the design has none."""
    llc: Llc
    """The last-level cache."""
    protection: ProtectionWork
    """What protection did."""
    metadata_caches: tuple[MetadataCache, MetadataCache, MetadataCache, MetadataCache]
    """The counter, tag, node and bitmap caches."""
    renewals: Renewals
    """What followed overflows of counters, of data and in the tree."""
    speculation: Speculation | None = None
    """How predictable lines were to the design's speculation and what came of it; nothing if it has none."""
    moving: Moving | None = None
    """What permutations moved; nothing if lines stay where they are."""
    dram: Dram
    """The memory channels."""
