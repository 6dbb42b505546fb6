"""The record of a run: everything that decided it, and everything that was counted."""

from typing import Literal

from pydantic import Field

from casemate._core import CasemateError
from casemate.amounts import size
from casemate.results.attack import Protection
from casemate.results.base import Result
from casemate.results.catalogue import Design, Machine
from casemate.results.checks import Checks
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
from casemate.results.epochs import Epochs
from casemate.results.intervals import Interval
from casemate.results.moving import Moving
from casemate.results.origin import Origin
from casemate.results.persist_buffer import PersistBuffer
from casemate.results.predicted import Predicted, Speculation
from casemate.results.sampling import Detail, Estimate, Sampling, ratio
from casemate.results.waits import CoreTime, ReadTimes

Age = Literal["new", "steady"]
"""How old counters of data are when a machine begins."""


class Configuration(Result):
    """Everything that decides a run."""

    version: str
    """Casemate's version."""
    machine: Machine
    """The machine, with every value."""
    design: Design
    """The design, with every value."""
    seed: int
    """Seeds keys, page placement and the counters of an aged machine."""
    age: Age
    """How old the counters of data were when the machine began: `new`, never written, or `steady`, at a moment of a
    long life."""
    budget: int
    """The most instructions of each program to run."""
    warm_up: int
    """How many of these, of each program, went before counting began."""
    detail: Detail
    """How much of it is in detail."""
    workload: Origin
    """The program."""
    beside: tuple[Origin, ...] = ()
    """The programs that ran with it, each on cores of its own."""

    @property
    def title(self) -> str:
        """All programs on one line, each once."""
        titles = [program.title for program in (self.workload, *self.beside)]
        times = {title: titles.count(title) for title in titles}
        return " beside ".join(title if many == 1 else f"{title}, {many} times" for title, many in times.items())


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
    core_time: CoreTime
    """What the cores' cycles were for."""
    read_latency_ns: float
    """Mean time from the last-level cache's miss to the released line, in nanoseconds."""
    reads: ReadTimes | None
    """What reads took at the memory controller, and what for; nothing without a read."""
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
    metadata_caches: tuple[MetadataCache, MetadataCache, MetadataCache, MetadataCache]
    """The caches of counters, tags, tree nodes and bitmaps."""
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
    persist_buffer: PersistBuffer | None = None
    """Stores into the cores' persist buffers; nothing if the design has none."""
    epochs: Epochs | None = None
    """What programs flushed and fenced; nothing if they did not, or that does nothing under the design."""
    speculation: Speculation | None = None
    """How predictable lines were to the design's speculation and what came of it; nothing if it has none. Of a sampled
    run, also of those that came while it was warmed."""
    moving: Moving | None = None
    """What permutations moved; nothing if lines stay where they are."""
    dram: Dram
    """The memory channel."""
    footprint: Footprint
    """What it takes in memory."""
    checks: Checks
    """The built-in check."""
    sampling: Sampling | None
    """The sample that the figures come from; nothing if everything was in detail."""
    intervals: tuple[Interval, ...] = ()
    """The run by interval, in order; empty if that was not asked for."""
    predicted: tuple[Predicted, ...] = ()
    """What each table of frequent values would have predicted; empty if none watched. Of a sampled run, also of lines
    that came while it was warmed."""
    events: int
    """Events on the simulated clock."""
    event_hash: str
    """Condenses all events: two runs are the same if it is the same."""
    weaknesses: tuple[str, ...]
    """Weak choices of the design."""
    host: Host
    """How long the simulation itself took."""

    def brief(self) -> str:
        """Where it ran, its speed and traffic, and whether its check passed."""
        speed = f"{self.time_fs / 1e9:.2f} us" if self.configuration.workload.requests else f"IPC {self.ipc:.3f}"
        figures = f"{speed}, {size(self.dram_bytes)} of memory traffic"
        where = f"{self.configuration.title} on {self.machine} under {self.design}"
        return f"{where}: {figures}, {self.checks.verdict}"

    @property
    def design(self) -> str:
        """The design's name."""
        return self.configuration.design.name

    @property
    def machine(self) -> str:
        """The machine's name."""
        return self.configuration.machine.name


class Failure(Result):
    """A design that has no record."""

    design: str
    """Its name."""
    machine: str
    """The machine's name."""
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
    passed: bool
    """Whether every design has a record, and every check of every record passed."""
    protection: tuple[Protection, ...]
    """What each design stops, from a short campaign of attacks; empty if none was asked for."""
    bus: tuple[str, ...] = ()
    """The files of what crossed the pins of memory, one for each record; empty if none was asked for."""
    excerpts: tuple[str, ...] = ()
    """The files of what every unit did in a window of time, likewise."""
    changes: dict[str, str] = Field(default_factory=dict)
    """Keys of machines and designs that had other values than in their files, as they were asked for."""

    def brief(self) -> str:
        """What ran, how much slower each design is, and whether all is well."""
        if not self.records:
            return "no records"
        several = len({record.machine for record in self.records}) > 1
        columns = [f"{record.design} on {record.machine}" if several else record.design for record in self.records]
        times = [f"{self.ratio(r, 'time_fs'):.3f}x" if self.is_comparable(r) else "-" for r in self.records]
        figures = ", ".join(f"{column} {time}" for column, time in zip(columns, times, strict=True))
        first = self.records[0]
        where = first.configuration.title if several else f"{first.configuration.title} on {first.machine}"
        ended = "interrupted, " if self.interrupted else ""
        return f"{where}: {figures}; {ended}{self.verdict}"

    @property
    def verdict(self) -> str:
        """The worst of the records' verdicts; `FAILED` if a design has none."""
        verdicts = {record.checks.verdict for record in self.records} | ({"FAILED"} if self.failures else set())
        return next((word for word in ("FALSE ALARM", "FAILED", "not checked") if word in verdicts), "passed")

    @property
    def baseline(self) -> Record | None:
        """What the first record is compared with; nothing if there is none."""
        return self.baseline_of(self.records[0]) if self.records else None

    def baseline_of(self, record: Record) -> Record:
        """What a record is compared with: the design `none` on the same machine, else the first design there. One
        design on several machines is compared with itself on the first.
        """
        if len({other.design for other in self.records}) == 1:
            return self.records[0]
        machine = record.configuration.machine
        here = [other for other in self.records if other.configuration.machine == machine]
        return next((other for other in here if other.design == "none"), here[0])

    def record(self, design: str, machine: str | None = None) -> Record:
        """The record of a design, on the first machine if none is named. Raises `KeyError` if it has none."""
        for record in self.records:
            if record.design == design and machine in (None, record.machine):
                return record
        raise KeyError(design if machine is None else (design, machine))

    def is_comparable(self, record: Record) -> bool:
        """Whether it did the same work as its baseline. It did not where a run ended early, as in a false alarm."""
        baseline = self.baseline_of(record)
        if record.sampling and baseline.sampling:
            # Compared unit by unit.
            return True
        return record.feed.instructions == baseline.feed.instructions

    def slowdown(self, design: str, machine: str | None = None) -> float:
        """Its simulated time over the baseline's. Raises `KeyError` if the design has no record, `CasemateError` if the
        two did not do the same work.
        """
        return self.ratio(self.record(design, machine), "time_fs")

    def ratio(self, record: Record, figure: Literal["time_fs", "dram_bytes"]) -> float:
        """How many times the baseline's time or traffic is a record's. Raises `CasemateError` if the two did not do the
        same work.
        """
        baseline = self.baseline_of(record)
        if not self.is_comparable(record):
            raise CasemateError(
                f"{record.design} executed {record.feed.instructions:,} instructions and {baseline.design} "
                f"{baseline.feed.instructions:,}: there is nothing to compare"
            )
        matched = self._matched(record, figure)
        below: int = getattr(baseline, figure)
        return matched.value if matched else float(getattr(record, figure) / max(below, 1))

    def by_cause(self, record: Record) -> dict[str, float]:
        """What the cores' cycles were for, each cause as a part of the baseline's cycles for as many instructions.

        The baseline's parts add up to 1, a design's to its slowdown; what a cause has more than in the baseline is its
        part of that. (Of several cores, to the slowdown of all cores' cycles together.) Empty for a trace of requests,
        which no core executes.
        """
        if record.configuration.workload.requests:
            return {}
        baseline = self.baseline_of(record)
        whole = baseline.core_time.cycles / baseline.node.instructions
        return {
            cause: cycles / record.node.instructions / whole for cause, cycles in record.core_time.by_cause().items()
        }

    def interval(
        self, design: str, figure: Literal["time_fs", "dram_bytes"], machine: str | None = None
    ) -> Estimate | None:
        """How many times the baseline's time or traffic is the design's, with the 95 % interval from the units that
        both measured. `None` if the run was not sampled. Raises `KeyError` if the design has no record.
        """
        return self._matched(self.record(design, machine), figure)

    def _matched(self, record: Record, figure: Literal["time_fs", "dram_bytes"]) -> Estimate | None:
        above, below = record.sampling, self.baseline_of(record).sampling
        return ratio(above, below, figure) if above and below else None
