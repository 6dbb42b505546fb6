"""The record of a run: everything that decided it, and everything that was counted."""

from typing import Literal

from pydantic import Field

from casemate.results.attack import Protection
from casemate.results.base import Result
from casemate.results.catalogue import Design, Machine
from casemate.results.counters import (
    CounterCopies,
    CountersFound,
    Dram,
    Feed,
    Footprint,
    Llc,
    MetadataCache,
    Node,
    ProtectionWork,
    Renewals,
    UnverifiedWindow,
)
from casemate.results.origin import Origin
from casemate.results.sampling import Detail, Estimate, Sampling, ratio


class Configuration(Result):
    """Everything that decides a run."""

    version: str
    """Casemate's version."""
    machine: Machine
    """The machine, with every value."""
    design: Design
    """The design, with every value."""
    seed: int
    """Seeds keys and page placement."""
    budget: int
    """The most instructions of each program to run."""
    warm_up: int
    """How many of these, of each program, went before counting began."""
    detail: Detail
    """How much of it is in detail."""
    workload: Origin
    """The program."""
    beside: tuple[Origin, ...] = ()
    """The programs that ran beside it, each on cores of its own."""


class Lines(Result):
    """Every line that came up from memory against what had gone down."""

    lines_checked: int
    """Lines that came back and were compared."""
    lines_wrong: int
    """Lines that came back other than they went."""


class Checks(Result):
    """The built-in check of a run."""

    lines: Lines
    """The comparison of lines."""
    lines_lost: int
    """Lines whose latest content was at the end neither in memory nor in a cache."""
    lines_stranded: int
    """Lines of which the chip had nothing but ciphertext, since the L2 that had decrypted them had lost its copy."""
    false_alarm: dict[Literal["tag", "tree", "exhausted"], int] | None
    """Tampering that was reported, though nobody tampered: the line or slot."""
    pad_reused: bool | None
    """Whether any pad hid two texts; nothing if the ledger was off."""
    passed: bool
    """Whether everything above is as it must be, and something was compared at all."""


class Computed(Result):
    """Cryptography that was really computed: what was still known from a moment before is not in it."""

    lines: int
    """Lines encrypted or decrypted."""
    tags: int
    """Tags of lines; one over several lines counts as theirs."""
    tags_in_pairs: int
    """How many of these were computed two at once."""
    hashes: int
    """Hashes or MACs of lines of metadata."""


class Host(Result):
    """What depends on the computer that simulated, and so is not part of the result."""

    seconds: float
    """Wall-clock seconds."""
    instructions_per_second: float
    """Simulated instructions per wall-clock second."""
    simulated_memory_bytes: int
    """Bytes that the simulated memory took."""
    computed: Computed
    """Cryptography that was really computed."""


class Record(Result):
    """One run of one program on one machine under one design."""

    schema_version: Literal[1] = Field(alias="schema")
    """The version of this record's form."""
    configuration: Configuration
    """Everything that decided the run."""
    configuration_hash: str
    """SHA-256 of the configuration: equal configurations, equal hash."""
    instructions: int
    """Simulated instructions, after the warm-up: cycles, time and all counts but those of the feed and the check are
    of these."""
    cycles: int
    """Core cycles until the last core had retired everything, from when counting began; of a sampled run, as
    the sample says."""
    time_fs: int
    """Simulated time in femtoseconds; of a sampled run, as the sample says."""
    ipc: float
    """Instructions per cycle, of all cores together."""
    read_latency_ns: float
    """Mean time from the last-level cache's miss to the released line, in nanoseconds."""
    dram_bytes: int
    """All DRAM reads and writes, in bytes."""
    feed: Feed
    """The program's events, those of the warm-up included."""
    node: Node
    """All cores and their private caches together. Of a sampled run, this and all counts up to the memory's are about
    the measured units alone."""
    cores: tuple[Node, ...]
    """Each core and its private caches."""
    llc: Llc
    """The last-level cache."""
    protection: ProtectionWork
    """What protection did."""
    metadata_caches: tuple[MetadataCache, MetadataCache, MetadataCache]
    """The caches of counters, tags and tree nodes."""
    counters_found: CountersFound | None
    """Where the counters of data that came from memory were found, where there are counters."""
    renewals: Renewals
    """What followed overflows of counters, of data and in the tree."""
    counters_in_llc: MetadataCache | None
    """Lines of counters looked for in the last-level cache, where the design keeps them there too."""
    nodes_in_llc: MetadataCache | None
    """Nodes of the tree looked for there, where they go on as well."""
    counters_in_l2: CounterCopies | None
    """Copies of counters in L2s, where those begin reads."""
    unverified_window: UnverifiedWindow | None
    """How long lines were used before their verdicts, where the design lets them be."""
    dram: Dram
    """The memory channel."""
    footprint: Footprint
    """What it takes in memory."""
    checks: Checks
    """The built-in check."""
    sampling: Sampling | None
    """The sample that the figures come from; nothing if everything was in detail."""
    events: int
    """Events on the simulated clock."""
    event_hash: str
    """Condenses all events: two runs are the same if it is the same."""
    weaknesses: tuple[str, ...]
    """Weak choices of the design."""
    host: Host
    """How long the simulation itself took."""

    @property
    def design(self) -> str:
        """The design's name."""
        return self.configuration.design.name


class Failure(Result):
    """A design that has no record."""

    design: str
    """Its name."""
    error: str
    """Why."""


class RunResults(Result):
    """One program under several designs."""

    records: tuple[Record, ...]
    """A record for each design that finished, in the order asked for."""
    failures: tuple[Failure, ...]
    """The others."""
    interrupted: bool
    """Whether the program was ended by Ctrl-C or SIGTERM; the records are then about what it had done so far."""
    protection: tuple[Protection, ...]
    """What each design stops, from a short campaign of attacks; empty if none was asked for."""

    @property
    def baseline(self) -> Record | None:
        """What the others are compared with: the design `none` if it is there, else the first."""
        unprotected = (record for record in self.records if record.design == "none")
        return next(unprotected, self.records[0] if self.records else None)

    def record(self, design: str) -> Record:
        """The record of a design. Raises `KeyError` if it has none."""
        for record in self.records:
            if record.design == design:
                return record
        raise KeyError(design)

    def slowdown(self, design: str) -> float:
        """Its simulated time over the baseline's."""
        baseline = self.baseline
        if baseline is None:
            raise KeyError(design)
        matched = self.interval(design, "time_fs")
        return matched.value if matched else self.record(design).time_fs / baseline.time_fs

    def interval(self, design: str, figure: Literal["time_fs", "dram_bytes"]) -> Estimate | None:
        """How many times the baseline's time or traffic is the design's, with the 95 % interval from the units that
        both measured. `None` if the run was not sampled. Raises `KeyError` if the design has no record.
        """
        above, baseline = self.record(design).sampling, self.baseline
        below = baseline.sampling if baseline else None
        return ratio(above, below, figure) if above and below else None

    @property
    def passed(self) -> bool:
        """Whether every design has a record, and every check of every record passed."""
        clean = (record.checks.passed and record.feed.load_values_wrong == 0 for record in self.records)
        return not self.failures and all(clean)
