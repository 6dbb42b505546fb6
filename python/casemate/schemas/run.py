"""Record of a run: all values that decided it, and all its statistics."""

from typing import Literal

from pydantic import Field

from casemate._core import CasemateError
from casemate.schemas.attack import Protection
from casemate.schemas.base import Result
from casemate.schemas.catalogue import Design, Machine
from casemate.schemas.checks import Checks
from casemate.schemas.counters import (
    CounterCopies,
    CountersFound,
    Feed,
    Footprint,
    Llc,
    MetadataCache,
    Node,
    ProtectionWork,
    Renewals,
    UnverifiedWindow,
)
from casemate.schemas.dram import Dram
from casemate.schemas.epochs import Epochs
from casemate.schemas.intervals import Interval
from casemate.schemas.moving import Moving
from casemate.schemas.origin import Origin
from casemate.schemas.persist_buffer import PersistBuffer
from casemate.schemas.predicted import FrequentWord, Predicted, Speculation
from casemate.schemas.sampling import Detail, Estimate, Sampling, ratio
from casemate.schemas.waits import CoreTime, ReadTimes
from casemate.text.amounts import size
from casemate.text.nearest import missing

Age = Literal["new", "steady"]
"""State of the data's encryption counters when a machine begins."""
StartOrder = Literal["program", "frequent"]
"""Order of the words of memory when a machine begins."""


class Configuration(Result):
    """All values that decide a run."""

    version: str
    """Version of the Casemate program."""
    machine: Machine
    """Machine, with the values of all keys."""
    design: Design
    """Design, with the values of all keys."""
    seed: int
    """Seed that decides the keys, the placement of pages and the counters of an aged machine."""
    age: Age
    """State of the data's encryption counters when the machine began: `new`, all zero, or `steady`, at a moment of a
    long life.
    """
    start_values: tuple[FrequentWord, ...] = ()
    """Values of a first pass with their counts, the most frequent first: the run began as if the chip had written all
    of memory by them. Empty if memory was in program order and tables of frequent values were empty.
    """
    untimed: int = 0
    """Number of instructions that ran without simulated time, before the warm-up. They filled the caches."""
    budget: int
    """Maximum number of instructions of each program to simulate."""
    warm_up: int
    """Number of these instructions of each program that were simulated before counting began."""
    detail: Detail
    """Part of the run that is simulated in detail."""
    workload: Origin
    """The program and its origin."""
    beside: tuple[Origin, ...] = ()
    """Programs that ran at the same time, each on separate cores."""

    @property
    def title(self) -> str:
        """All programs on one line, each once."""
        titles = [program.title for program in (self.workload, *self.beside)]
        times = {title: titles.count(title) for title in titles}
        return " beside ".join(title if many == 1 else f"{title}, {many} times" for title, many in times.items())


class Computed(Result):
    """Cryptographic operations that the simulator really computed, without those with a result that it reused."""

    lines: int
    """Lines encrypted or decrypted."""
    tags: int
    """Tags of lines; a tag over several lines counts once for each line."""
    tags_in_pairs: int
    """Number of these tags that were computed two at once."""
    hashes: int
    """Hashes or MACs of metadata lines."""


class Host(Result):
    """Time and memory that the simulation took on the host; they are not part of the result."""

    built_as: str
    """Build of Casemate: `release`, `release-by-profile` (`make fast`), `demo` (`make demo`), or `debug` for tests."""
    seconds: float
    """Wall-clock time of the simulation, in seconds."""
    instructions_per_second: float
    """Simulated instructions per wall-clock second."""
    simulated_memory_bytes: int
    """Bytes of host memory that the simulated memory occupied."""
    computed: Computed
    """Cryptographic operations that the simulator really computed."""


class Record(Result):
    """One run of one program on one machine under one design."""

    schema_version: Literal[1] = Field(alias="schema")
    """Version of the format of this record."""
    configuration: Configuration
    """Everything that decided the run."""
    configuration_hash: str
    """SHA-256 of the configuration; equal configurations have equal hashes."""
    instructions: int
    """Simulated instructions after the untimed start and the warm-up. Cycles, time and all statistics, except those of
    the feed and the check, refer to these instructions.
    """
    cycles: int
    """Core cycles from the start of counting until the last core had retired all instructions; in a sampled run, the
    estimate of the sample.
    """
    time_fs: int
    """Simulated time in femtoseconds; in a sampled run, the estimate of the sample."""
    ipc: float
    """Instructions per cycle, of all cores together."""
    core_time: CoreTime
    """Breakdown of the cores' cycles by cause."""
    read_latency_ns: float
    """Mean time from the last-level cache's miss to the released line, in nanoseconds."""
    reads: ReadTimes | None
    """Latency of reads at the memory controller, with its parts by cause; null without a read."""
    dram_bytes: int
    """All DRAM reads and writes, in bytes."""
    feed: Feed
    """Events that the programs sent to the simulation, those of the warm-up included."""
    node: Node
    """Statistics of all cores and their private caches together. In a sampled run, these and all further statistics, up
    to those of memory, cover only the measured units.
    """
    cores: tuple[Node, ...]
    """Statistics of each core and its private caches."""
    llc: Llc
    """Statistics of the last-level cache."""
    protection: ProtectionWork
    """Work of the protection scheme."""
    metadata_caches: tuple[MetadataCache, MetadataCache, MetadataCache, MetadataCache]
    """Look-ups in the caches of counters, tags, tree nodes and bitmaps, in this order."""
    counters_found: CountersFound | None
    """Reads of data from memory, by the place where the read found its encryption counter; null in a design without
    counters.
    """
    renewals: Renewals
    """Re-encryption work after overflows of counters, of data and in the tree."""
    counters_in_llc: MetadataCache | None
    """Look-ups of counter lines in the last-level cache, if that cache also holds counters in the design."""
    nodes_in_llc: MetadataCache | None
    """Look-ups of tree nodes in the last-level cache, if that cache also holds evicted nodes in the design."""
    counters_in_l2: CounterCopies | None
    """Statistics of the copies of encryption counters in L2s; null in a design without these copies."""
    unverified_window: UnverifiedWindow | None
    """Time from the release of lines to their verdicts; null in a design that verifies lines before their release."""
    persist_buffer: PersistBuffer | None = None
    """Stores into the cores' persist buffers; null in a design without them."""
    epochs: Epochs | None = None
    """Flushes and fences of programs; null without any, or if they have no effect under the design."""
    speculation: Speculation | None = None
    """Predictability of lines for the design's speculation, and its outcome; null without speculation. In a sampled
    run, it includes lines that arrived during warming.
    """
    moving: Moving | None = None
    """Work of permutations; null if lines do not move."""
    dram: Dram
    """Statistics of the memory channels."""
    footprint: Footprint
    """Memory that the program and its metadata occupy."""
    check_ns: float | None
    """Time from the arrival of a line to the end of its check, on an idle machine with all metadata on the chip, in
    nanoseconds; null in a design without tags of data.
    """
    checks: Checks
    """Result of the built-in check."""
    sampling: Sampling | None
    """Sample that the figures are derived from; null if the whole run was in detail."""
    intervals: tuple[Interval, ...] = ()
    """Parts of the run by interval, in order; empty if not requested."""
    predicted: tuple[Predicted, ...] = ()
    """Predictions of each table of frequent values that observed the run; empty without tables. In a sampled run, they
    include lines that arrived during warming.
    """
    frequent_words: tuple[FrequentWord, ...] = ()
    """The 64 words that were most frequent in lines to and from memory, also during the warm-up, the most frequent
    first; empty without tables.
    """
    events: int
    """Number of events on the simulated clock."""
    event_hash: str
    """Hash of all events: two runs with the same hash are the same."""
    weaknesses: tuple[str, ...]
    """Weak choices of the design that a reviewer would object to."""
    host: Host
    """Time and memory of the simulation itself."""

    @property
    def is_disordered(self) -> bool:
        """True if threads on several cores ran in another order than recorded. More than a hundredth of the lines that
        were read then changed from outside, and time and traffic say little about the design.
        """
        read = self.checks.lines.lines_checked
        return self.has_several_strands and 100 * self.feed.foreign_writes > read

    @property
    def has_several_strands(self) -> bool:
        """True if threads ran on several cores."""
        return self.feed.threads > 1 and len(self.cores) > 1

    def brief(self) -> str:
        """Returns programs, machine and design, speed and traffic, and the verdict of the check."""
        speed = f"{self.time_fs / 1e9:.2f} us" if self.configuration.workload.requests else f"IPC {self.ipc:.3f}"
        figures = f"{speed}, {size(self.dram_bytes)} of memory traffic"
        where = f"{self.configuration.title} on {self.machine} under {self.design}"
        return f"{where}: {figures}, {self.checks.verdict}"

    @property
    def design(self) -> str:
        """Name of the design."""
        return self.configuration.design.name

    @property
    def machine(self) -> str:
        """Name of the machine."""
        return self.configuration.machine.name


class Failure(Result):
    """A design that has no record."""

    design: str
    """Name of the design."""
    machine: str
    """Name of the machine."""
    error: str
    """Reason that the design has no record."""


VERDICTS = ("FALSE ALARM", "FAILED", "not checked", "not in order")
"""Verdicts of a check other than `passed`, the worst first."""


class RunResults(Result):
    """Records of the same programs under several designs."""

    records: tuple[Record, ...]
    """A record for each design that finished, in the requested order."""
    failures: tuple[Failure, ...]
    """Designs that have no record."""
    interrupted: bool
    """True if Ctrl-C or SIGTERM ended the program. The records then cover its execution up to that point. A first pass
    (`--start-order frequent`) that was ended leaves no records; after a warm-up that was ended, `failures` say so.
    """
    passed: bool
    """True if every design has a record, and every check of every record passed."""
    protection: tuple[Protection, ...]
    """Number of attacks that each design stops, from a short campaign; empty if not requested."""
    bus: tuple[str, ...] = ()
    """Files with the lines that crossed the pins of memory, one for each record; empty if not requested."""
    excerpts: tuple[str, ...] = ()
    """Files with the work of every unit in a window of time, one for each record; empty if not requested."""
    changes: dict[str, str] = Field(default_factory=dict)
    """Keys of machines and designs with values that the user gave in place of those in the files (`--with`)."""

    def brief(self) -> str:
        """Returns the programs, the slowdown of each design, and the verdict."""
        if not self.records:
            return "no records"
        several = len({record.machine for record in self.records}) > 1
        columns = [f"{record.design} on {record.machine}" if several else record.design for record in self.records]
        times = [f"{self.ratio(r, 'time_fs'):.3f}x" if self.has_ratio(r) else "-" for r in self.records]
        figures = ", ".join(f"{column} {time}" for column, time in zip(columns, times, strict=True))
        first = self.records[0]
        where = first.configuration.title if several else f"{first.configuration.title} on {first.machine}"
        ended = "interrupted, " if self.interrupted else ""
        return f"{where}: {figures}; {ended}{self.verdict}"

    @property
    def verdict(self) -> str:
        """Returns the worst of the records' verdicts; `FAILED` if a design has no record."""
        verdicts = {record.checks.verdict for record in self.records} | ({"FAILED"} if self.failures else set())
        return next((word for word in VERDICTS if word in verdicts), "passed")

    @property
    def baseline(self) -> Record | None:
        """Returns the baseline of the first record; `None` without a record."""
        return self.baseline_of(self.records[0]) if self.records else None

    def baseline_of(self, record: Record) -> Record:
        """Returns the baseline of a record: the record of the design `none` on the same machine, else of the first
        design on it. A single design on several machines is compared with its record on the first machine.
        """
        if len({other.design for other in self.records}) == 1:
            return self.records[0]
        machine = record.configuration.machine
        here = [other for other in self.records if other.configuration.machine == machine]
        return next((other for other in here if other.design == "none"), here[0])

    def lacks_baseline(self, record: Record) -> bool:
        """Returns true if the record is a baseline with which no other record is compared."""
        if record is not self.baseline_of(record):
            return False
        return not any(self.baseline_of(other) is record for other in self.records if other is not record)

    def has_ratio(self, record: Record) -> bool:
        """Returns true if the record has a baseline and covers the same instructions."""
        return self.is_comparable(record) and not self.lacks_baseline(record)

    def record(self, design: str, machine: str | None = None) -> Record:
        """Returns the record of a design, on the first machine if the caller does not name one. Raises `CasemateError`
        if there is no record.
        """
        for record in self.records:
            if record.design == design and machine in (None, record.machine):
                return record
        if machine is None or design not in {record.design for record in self.records}:
            raise CasemateError(missing("record of the design", design, (record.design for record in self.records)))
        machines = (record.machine for record in self.records if record.design == design)
        raise CasemateError(missing(f"record of {design} on the machine", machine, machines))

    def is_comparable(self, record: Record) -> bool:
        """Returns true if the record covers the same instructions as its baseline. It does not if one of the two runs
        ended early, as after a false alarm.
        """
        baseline = self.baseline_of(record)
        if record.sampling and baseline.sampling:
            # For sampled runs, compare the two designs unit by unit.
            return True
        return record.feed.instructions == baseline.feed.instructions

    def slowdown(self, design: str, machine: str | None = None) -> float:
        """Returns a design's simulated time as a multiple of the baseline's. Raises `CasemateError` if the design has
        no record or no baseline, or the two records do not cover the same instructions.
        """
        return self.ratio(self.record(design, machine), "time_fs")

    def ratio(self, record: Record, figure: Literal["time_fs", "dram_bytes"]) -> float:
        """Returns the record's time or traffic as a multiple of the baseline's. Raises `CasemateError` if the record
        has no baseline, or the two records do not cover the same instructions.
        """
        baseline = self.baseline_of(record)
        if self.lacks_baseline(record):
            raise CasemateError(
                f"{record.design} on {record.machine} has no baseline: expected a second design in the same run"
            )
        if not self.is_comparable(record):
            raise CasemateError(
                f"{record.design} executed {record.feed.instructions:,} instructions and {baseline.design} "
                f"{baseline.feed.instructions:,}: their results cannot be compared"
            )
        matched = self._matched(record, figure)
        below: int = getattr(baseline, figure)
        return matched.value if matched else float(getattr(record, figure) / max(below, 1))

    def by_cause(self, record: Record) -> dict[str, float]:
        """Returns the cores' cycles by cause, each as a part of the baseline's cycles for as many instructions.

        The baseline's parts add up to 1 and a design's to its slowdown, so that a cause's excess over the baseline is
        its share of the slowdown. (With several cores, they add up to the slowdown of all cores' cycles together.)
        Empty for a trace of requests, which no core executes.
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
        """Returns the design's time or traffic as a multiple of the baseline's, with the 95 % interval from the units
        that both measured. `None` if the run was not sampled. Raises `CasemateError` if the design has no record.
        """
        return self._matched(self.record(design, machine), figure)

    def _matched(self, record: Record, figure: Literal["time_fs", "dram_bytes"]) -> Estimate | None:
        above, below = record.sampling, self.baseline_of(record).sampling
        return ratio(above, below, figure) if above and below else None
