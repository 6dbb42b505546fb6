"""Statistics of the parts of a simulated machine: sums over a run."""

from casemate.schemas.base import Result


class Feed(Result):
    """Events that the program sent to the simulated machine."""

    instructions: int
    """Number of executed instructions."""
    load_values_checked: int
    """Number of loads with a recorded value, which the check compared with the simulated memory."""
    load_values_wrong: int
    """Loads, among these, with a different recorded value."""
    foreign_writes: int
    """Lines that changed without a store of the program, since the kernel wrote them."""
    mapped_lines: int = 0
    """Lines announced as part of files that the program maps shared; zero in older records."""
    persistent_stores: int = 0
    """Accesses by stores that enter a persist buffer, in designs with persist buffers."""
    flushes: int = 0
    """Instructions that write a line back (`CLWB`, `CLFLUSHOPT`, `CLFLUSH`) or store past the caches (`MOVNTDQ` and its
    kin); in a sampled run only those simulated in detail. Flushes by system calls do not count.
    """
    flushes_not_simulated: int = 0
    """Flushes, among these, for which the recording does not contain the line: the simulation ignores them."""
    processes: int
    """Number of processes seen."""
    threads: int = 1
    """Number of threads of all processes, as far as they were seen."""
    unrecorded: int = 0
    """Number of parts of the program that ran unrecorded: programs that it executed natively, and threads beyond those
    that the recorder can number.
    """


class Hits(Result):
    """Look-ups in a cache, TLB or other table."""

    hits: int
    """Look-ups that found the entry."""
    misses: int
    """Look-ups that did not find the entry."""


class Prefetches(Result):
    """Outcome of a cache's prefetches. A line in no class below is still under way, or in the cache without a use so
    far.
    """

    issued: int
    """Lines that were prefetched."""
    useful: int
    """Prefetched lines that were used."""
    late: int
    """Used lines that a demand access requested before they arrived (late prefetches)."""
    useless: int
    """Prefetched lines that were evicted without a use."""


class Cache(Hits):
    """Accesses to a cache."""

    merged: int
    """Accesses that missed and joined an earlier miss of the same line."""
    writebacks: int
    """Dirty lines that the cache wrote back to the next level."""
    prefetches: Prefetches
    """Outcome of the prefetcher's work; the other counts do not include prefetches."""


class Misses(Result):
    """Latency of the lines that an L2 fetched from beyond it."""

    lines: int
    """Number of lines that arrived."""
    cycles: int
    """Sum of the times from L2's miss to the line's arrival in it, in core cycles."""


class MetadataCache(Hits):
    """Look-ups in a metadata cache; each miss fetches a metadata line."""

    merged: int
    """Look-ups that missed and joined an earlier look-up, which fetches the line."""
    writebacks: int
    """Dirty lines written to memory."""


class CountersFound(Result):
    """Reads of data from memory, by the place where the read found its encryption counter. They add up to all released
    lines with counters.
    """

    in_l2: int
    """Counters found in the L2 that requested the line."""
    at_controller: int
    """Counters found in the controller's cache, or on their way out of it."""
    in_last_level: int
    """Counters found in the last-level cache."""
    in_memory: int
    """Counters found in memory, or on their way from memory for another request."""
    looked_up_in_last_level: int
    """Look-ups of encryption counters in the last-level cache for reads of data, by L2s or by the controller. An L2
    looks a counter up even for data that turns out to be on the chip.
    """


class Renewals(Result):
    """Re-encryption after overflows of counters. The controller fetches and stores each line or child once, which the
    traffic includes as well. Tags pass through their cache, so that only the traffic includes them.
    """

    groups: int
    """Overflows of minor counters of data lines."""
    lines: int
    """Lines of data that were re-encrypted after these overflows."""
    nodes: int
    """Overflows of minor counters in tree nodes."""
    children: int
    """Metadata lines in memory that received new MACs after these overflows."""


class CounterCopies(Result):
    """Statistics of the copies of encryption counters in the L2s of all cores."""

    hits: int
    """Reads that found a copy of their counters in their L2."""
    misses: int
    """Reads for which the L2 sent a request for counters to the last-level cache."""
    last_level_hits: int
    """Reads, among these, that found the counters in the last-level cache."""
    entered: int
    """Copies that entered an L2."""
    invalidated: int
    """Copies that L2s dropped because the counter line changed."""
    displaced: int
    """Copies evicted from an L2, by data or by another copy in the same set."""
    useless: int
    """Unnecessary requests to the last-level cache: the data was on the chip, and no read from memory used the fetched
    copy before it left the L2. Copies still in an L2 do not count.
    """


class LostCycles(Result):
    """Core cycles by which instructions entered the reorder window late, by the first cause that delayed the entry
    until then.
    """

    fetch: int
    """Waits for the instruction cache or the instruction TLB."""
    branch: int
    """Refill of the pipeline after mispredicted branches."""
    window: int
    """Cycles with a full reorder window."""
    load_queue: int
    """Cycles with a full load queue."""
    store_queue: int
    """Cycles with a full store queue."""
    serial: int
    """Waits for serialising instructions."""
    idle: int
    """Cycles of an idle core, because other cores' part of the program had to run first."""
    switch: int = 0
    """Switches of the core to another process."""


class Node(Result):
    """Statistics of a core and its private caches, or of several cores together."""

    instructions: int
    """Instructions that entered the reorder window."""
    cycles: int
    """Core cycles until the latest retirement."""
    branches: int
    """Branches: instructions that may change the flow of control."""
    mispredicts: int
    """Branches, among these, that were mispredicted and that execution corrected."""
    misfetches: int
    """Branches, among these, with a direct target that was unknown until decoding."""
    loads: int
    """Lines read by instructions, once per instruction and line."""
    stores: int
    """Lines written by instructions, once per instruction and line."""
    forwarded: int
    """Loads that received their data from the store queue."""
    upgrades: int
    """Stores that found their line in the cache without write permission; other cores may have held it too."""
    l1i: Cache
    """First-level instruction cache; consecutive instructions of the same line count as one access."""
    l1d: Cache
    """First-level data cache of the core."""
    l2: Cache
    """Second-level cache of the core."""
    l2_data_misses: Misses
    """Misses of L2 by loads, stores and page-table walks, without instruction fetches, prefetches and upgrades."""
    itlb: Hits
    """First-level instruction TLB of the core."""
    dtlb: Hits
    """First-level data TLB of the core."""
    stlb: Hits
    """Second-level TLB of the core."""
    lost_cycles: LostCycles
    """Cycles that dispatch lost, by cause."""


class Llc(Hits):
    """Statistics of the last-level cache."""

    hits_on_the_way_out: int
    """Look-ups that found their line among the lines on their way out."""
    from_cores: int
    """Lines supplied by another core, which held them exclusively."""
    from_cores_unverified: int
    """Lines, among these, that the last-level cache held only encrypted and unverified, so that it could not supply
    them.
    """
    clean_writebacks: int
    """Clean lines that L2s sent back on eviction, because the last-level cache held them encrypted and unverified."""
    predicted: int
    """Reads that an L2 predicted to miss the last-level cache and announced to the memory controller."""
    predicted_wrongly: int
    """Mispredicted reads, among these: their line was on the chip, so that the memory access was useless."""
    upgrades: int
    """Upgrades: requests for permission to write a line that the core already holds."""
    probes: int
    """Requests to cores to give a line up or to share it."""
    writebacks: int
    """Dirty lines written to memory."""
    past_caches: int
    """Lines, among these, of a program's non-temporal stores."""
    foreign_writes: int
    """Lines written to memory because the kernel changed them."""
    miss_latency_fs: int
    """Sum over all misses of the time from the miss to the released line, in femtoseconds."""


class Traffic(Result):
    """Numbers of lines transferred between chip and memory. A line of data has the length of the machine's memory
    lines, a metadata line 64 bytes.
    """

    data: int
    """Lines of program data."""
    counters: int
    """Lines of encryption counters."""
    tags: int
    """Tag lines. If tags are stored behind their data, the number of further lines that accesses to data
    transferred.
    """
    nodes: int
    """Lines of tree nodes."""
    owners: int
    """Lines of the table of page owners."""
    bitmaps: int
    """Lines with the bitmaps that restore the order of re-ordered lines."""
    records: int = 0
    """Lines of page records, of the page chunks that the design permutes."""
    contexts: int = 0
    """Lines of encrypted contexts of processes."""


class SpeculativeReleases(Result):
    """Lines released to a core before they were verified."""

    windows: int
    """Lines released before their verdicts, for which the verdict has arrived."""
    open_fs: int
    """Sum of the times from release to verdict, in femtoseconds."""
    writes_held: int
    """Writes that waited for verdicts."""
    held_fs: int
    """Sum of the waits of these writes, in femtoseconds."""


class UnverifiedWindow(Result):
    """Time from the release of lines to their verdicts."""

    lines: int
    """Number of lines released before their verdicts."""
    mean_ns: float
    """Mean time from release to verdict, in nanoseconds."""
    longest_ns: float
    """Longest time from release to verdict in the whole run, in nanoseconds."""
    writes_held: int
    """Writes that waited for verdicts."""
    mean_hold_ns: float
    """Mean wait of these writes, in nanoseconds."""


class ProtectionWork(Result):
    """Work of the protection scheme."""

    fetched: Traffic
    """Lines that the controller fetched from memory."""
    stored: Traffic
    """Lines that the controller stored to memory."""
    aes_blocks: int
    """AES blocks that the units computed, with the blocks for masks of tags."""
    aes_blocks_in_l2: int
    """AES blocks, among these, that the units of an L2 computed."""
    tdes_blocks: int = 0
    """Triple-DES blocks that the units computed; zero in records from versions without this field."""
    released_in_l2: int
    """Lines released in the L2 that requested them."""
    macs: int
    """Tags of data lines that were computed."""
    hashes: int
    """Metadata lines that the hash engine processed."""
    released_unverified: int
    """Lines released without any verification."""
    tuples: int
    """Tuples of data, counters, tags and root that became durable."""
    root_updates: int = 0
    """Updates of root registers, of the tree or of a forest, in a design with persistence."""
    ahead: SpeculativeReleases
    """Lines released to a core before they were verified."""


class CacheContent(Result):
    """Entries of the caches on the chip when counting began."""

    llc_lines: int
    """Lines in the last-level cache."""
    llc_locked: int
    """Lines in the last-level cache that are locked until their page chunk is permuted."""
    tlb_pages: int
    """Pages in the TLBs of all cores."""
    records: int
    """Page records that the chip keeps for pages in TLBs."""
    merkle_entries: int
    """Entries of the Merkle cache."""


class Footprint(Result):
    """Memory that the program and its metadata occupy."""

    program_bytes: int
    """Physical memory that the program uses, in bytes."""
    metadata_percent: float
    """Metadata in percent of the protected memory."""
    metadata_cache_bytes: int
    """Metadata caches on the chip, in bytes."""
    at_start: CacheContent | None = None
    """Entries of the caches when counting began; absent if it began with the run."""
