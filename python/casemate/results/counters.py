"""What the parts of a simulated machine count; plain sums over a run."""

from casemate.results.base import Result


class Feed(Result):
    """What came from the program."""

    instructions: int
    """Executed instructions."""
    load_values_checked: int
    """Loads whose recorded value was compared with the simulated memory."""
    load_values_wrong: int
    """Of these, loads whose recorded value was another."""
    foreign_writes: int
    """Lines that changed without a store of the program's: the kernel wrote them."""
    mapped_lines: int = 0
    """Lines that were told of files which the program maps shared; zero in older records."""
    persistent_stores: int = 0
    """Touches by stores of what goes through a persist buffer, where there is one."""
    flushes: int = 0
    """Instructions that write a line back (`CLWB`, `CLFLUSHOPT`, `CLFLUSH`) or store past the caches (`MOVNTDQ` and its
    kin); in a sampled run those in detail. System calls that flush are not among them."""
    flushes_not_simulated: int = 0
    """Of these, those that the recording says no line of: they are simulated as if they did not flush."""
    processes: int
    """Processes seen."""


class Hits(Result):
    """Accesses to a table that either has the thing or has not."""

    hits: int
    """Found."""
    misses: int
    """Not found."""


class Prefetches(Result):
    """What came of a cache's prefetches; the rest is under way or still waiting for a use."""

    issued: int
    """Lines fetched ahead."""
    useful: int
    """Of these, used."""
    late: int
    """Of those used, wanted before they had arrived."""
    useless: int
    """Of those issued, gone without a use."""


class Cache(Hits):
    """Accesses to a private cache."""

    merged: int
    """Not found, and joined to an earlier miss of the same line."""
    writebacks: int
    """Dirty lines that left for the next level."""
    prefetches: Prefetches
    """What its prefetcher did; none of that is in the other counts."""


class Misses(Result):
    """The time that lines took to come into L2."""

    lines: int
    """Lines that came."""
    cycles: int
    """The sum of the times from L2's miss to the line's arrival there, in core cycles."""


class MetadataCache(Hits):
    """Look-ups in a metadata cache; a miss brings the line."""

    merged: int
    """Not found, and joined to an earlier look-up of the same line, which brought it."""
    writebacks: int
    """Dirty lines written to memory."""


class CountersFound(Result):
    """Reads of data from memory, by where their counters were found: together all lines released, with counters."""

    in_l2: int
    """In the L2 that asked for the line."""
    at_controller: int
    """In the controller's cache, or on their way out of it."""
    in_last_level: int
    """In the last-level cache."""
    in_memory: int
    """In memory, or on their way from there for somebody else."""
    looked_up_in_last_level: int
    """How often the last-level cache was looked up for counters of reads of data, by L2s or by the controller: by L2s
    also for data that they then found on the chip."""


class Renewals(Result):
    """What followed overflows of counters. Each line or child is fetched once and stored once, which is in the traffic
    as well; tags go through their cache, and are there alone."""

    groups: int
    """Overflows of counters of data."""
    lines: int
    """Lines of data encrypted again after these."""
    nodes: int
    """Overflows of counters in tree nodes."""
    children: int
    """Lines of metadata in memory that got new MACs after these."""


class CounterCopies(Result):
    """What the L2s of all cores have seen of copies of counters."""

    hits: int
    """Reads that found a copy in their L2."""
    misses: int
    """Reads that asked the last-level cache."""
    last_level_hits: int
    """Those of them that found the counters there."""
    entered: int
    """Copies that entered."""
    invalidated: int
    """Copies dropped because the line of counters changed."""
    displaced: int
    """Copies that lost their place in an L2, to data or to another copy of its set."""
    useless: int
    """Reads that asked the last-level cache and need not have: their data was on the chip, and what came for them was
    used for no read from memory before it left the L2. Copies still there are not counted."""


class LostCycles(Result):
    """Core cycles by which instructions entered the window late, charged to the first cause that reached so far."""

    fetch: int
    """Instruction cache, instruction TLB."""
    branch: int
    """Refill after branches gone wrong."""
    window: int
    """The window was full."""
    load_queue: int
    """The load queue was full."""
    store_queue: int
    """The store queue was full."""
    serial: int
    """Serialising instructions."""
    idle: int
    """There was nothing to execute, because other cores' part of the program had to come first."""
    switch: int = 0
    """The core was switched to another process."""


class Node(Result):
    """A core and its private caches, or several together."""

    instructions: int
    """Instructions that entered the window."""
    cycles: int
    """Core cycles until the latest retirement."""
    branches: int
    """Instructions that may change the flow of control."""
    mispredicts: int
    """Of these, predicted wrongly and found so at execution."""
    misfetches: int
    """Of these, with a direct target that was unknown until decoding."""
    loads: int
    """Lines read by instructions, once per instruction and line."""
    stores: int
    """Lines written by instructions, once per instruction and line."""
    forwarded: int
    """Loads that took their data from the store queue."""
    upgrades: int
    """Stores that found their line held, but perhaps by other cores too."""
    l1i: Cache
    """The first-level instruction cache; one access per change of line."""
    l1d: Cache
    """The first-level data cache."""
    l2: Cache
    """The second-level cache."""
    l2_data_misses: Misses
    """Its misses by loads, stores and page-table walks: neither by instruction fetch, nor prefetches, nor upgrades."""
    itlb: Hits
    """The first-level instruction TLB."""
    dtlb: Hits
    """The first-level data TLB."""
    stlb: Hits
    """The second-level TLB."""
    lost_cycles: LostCycles
    """Where dispatch lost time."""


class Llc(Hits):
    """The last-level cache."""

    hits_on_the_way_out: int
    """Lines found among those on their way out."""
    from_cores: int
    """Lines supplied by another core, which had them exclusively."""
    from_cores_unverified: int
    """Of these, lines that the last-level cache had encrypted and unverified, and could not supply itself."""
    clean_writebacks: int
    """Clean lines that L2s sent back when they evicted them, because it had them encrypted and unverified."""
    predicted: int
    """Lines that an L2 expected in memory, and notified the controller of."""
    predicted_wrongly: int
    """Of these, lines that were on the chip: memory was asked in vain."""
    upgrades: int
    """Lines that the core had already, and asked to write."""
    probes: int
    """Cores that were asked to give a line up or to share it."""
    writebacks: int
    """Dirty lines written to memory."""
    past_caches: int
    """Of these, lines that a program stored past the caches."""
    foreign_writes: int
    """Lines written to memory because the kernel changed them."""
    miss_latency_fs: int
    """The sum over all misses of the time from the miss to the released line, in femtoseconds."""


class Traffic(Result):
    """Lines moved: of data as long as the machine's memory lines, of metadata 64 bytes each."""

    data: int
    """Of data."""
    counters: int
    """Of counters."""
    tags: int
    """Of tags. Where they lie behind their data, what is moved for data beyond a line."""
    nodes: int
    """Of tree nodes."""
    owners: int
    """Of the table of owners."""
    bitmaps: int
    """Of bitmaps of re-ordered lines."""
    records: int = 0
    """Of records of chunks."""
    contexts: int = 0
    """Of encrypted contexts of processes."""


class Ahead(Result):
    """Lines used before they were verified."""

    windows: int
    """Lines released ahead of their verdicts, and since settled."""
    open_fs: int
    """The sum of the times from release to verdict, in femtoseconds."""
    writes_held: int
    """Writes that had to wait for verdicts."""
    held_fs: int
    """The sum of these waits, in femtoseconds."""


class UnverifiedWindow(Result):
    """The time from the release of lines to their verdicts."""

    lines: int
    """Lines."""
    mean_ns: float
    """In the mean, in nanoseconds."""
    longest_ns: float
    """The longest of the whole run, in nanoseconds."""
    writes_held: int
    """Writes that waited for verdicts."""
    mean_hold_ns: float
    """How long these waited in the mean, in nanoseconds."""


class ProtectionWork(Result):
    """What protection did."""

    fetched: Traffic
    """Lines fetched from memory."""
    stored: Traffic
    """Lines stored to memory."""
    aes_blocks: int
    """AES blocks, the masks of tags among them."""
    aes_blocks_in_l2: int
    """Those of them that went through the units of an L2."""
    tdes_blocks: int = 0
    """Blocks of Triple-DES; records of before such units had a key of their own have none."""
    released_in_l2: int
    """Lines released in the L2 that asked for them."""
    macs: int
    """Tags of data lines computed."""
    hashes: int
    """Lines of metadata that went through the engine for hashes."""
    released_unverified: int
    """Lines released without anything vouching for them."""
    tuples: int
    """Tuples of data, counters, tags and root that became durable."""
    root_updates: int = 0
    """How often a root's register was set, of the tree or of a forest, of a design with persistence."""
    ahead: Ahead
    """Lines used before they were verified."""


class Queue(Result):
    """How long requests of one kind waited in their queue, in a memory with commands."""

    requests: int
    """Requests that have had their first command."""
    clocks: int
    """The sum of the memory clocks from their entry into the queue to that."""


class Dram(Result):
    """The memory channel."""

    reads: int
    """Reads submitted."""
    writes: int
    """Writes submitted."""
    forwarded: int
    """Reads answered from the write queue."""
    merged: int
    """Writes that replaced a waiting write of the same line."""
    activates: int
    """Activate commands."""
    precharges: int
    """Precharge commands; closing all banks of a rank is one."""
    refreshes: int
    """Refresh commands."""
    row_hits: int
    """Requests that found their row open."""
    row_closed: int
    """Requests that found their bank closed."""
    row_conflicts: int
    """Requests that found another row open."""
    read_latency: int
    """The sum over all reads of the time from submission to the last data, in femtoseconds."""
    data_bus_busy_clocks: int
    """Memory clocks in which the data bus moved data."""
    read_queue: Queue
    """How long reads waited for their first commands."""
    write_queue: Queue
    """How long writes did."""


class Footprint(Result):
    """What it takes in memory."""

    program_bytes: int
    """Physical memory in use by the program, in bytes."""
    metadata_percent: float
    """Metadata in percent of protected memory."""
    metadata_cache_bytes: int
    """Metadata caches on the chip, in bytes."""
