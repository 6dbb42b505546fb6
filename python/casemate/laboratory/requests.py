"""Requests: programs and options of a run, and the read or write to explain."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from casemate._core import CasemateError
from casemate.laboratory import arguments, native
from casemate.laboratory.arguments import Instructions
from casemate.laboratory.run_start import RunStart
from casemate.schemas.explain import Meets, Of, OnChip, Row, Start
from casemate.schemas.run import Age, StartOrder
from casemate.text.shown import ShortRepr

DEFAULT_MACHINE = "modern"
"""Default machine of runs, of losses of power and of most explained accesses."""

DEFAULT_LIMIT = 20_000_000
"""Default limit of instructions for a program or a built-in workload, so that a run takes seconds and not hours."""

EXPLAINED_LINES = 999
"""Default number of lines in the sample: `explain` times an access to each, and shows the timeline of the line with the
median latency.
"""

EXPLAINED_PAGE_CHUNKS = 29
"""Default number of permutations that `explain` times; each reads and writes 256 lines."""

RECORDER_VARIABLE = "CASEMATE_RECORDER"

Word = str | bytes | os.PathLike[str]
"""A word of a command, as `subprocess` takes it and `os.listdir` gives it."""

Stream = Literal["inherit", "discard"]
"""Connection of a program's standard stream: that of this process (`inherit`), or the null device (`discard`)."""
Persistent = Literal["all", "mapped", "heap"]
"""Part of a program's memory that must survive a loss of power."""


def recorder_path() -> Path:
    """Returns the path of the recorder: from the environment, else that in this package."""
    given = os.environ.get(RECORDER_VARIABLE)
    return Path(given) if given else Path(__file__).parents[1] / "libcasemate_recorder.so"


@dataclass(frozen=True, repr=False)
class Program(ShortRepr):
    """A program of this computer, which really runs during the simulation."""

    command: Sequence[Word]
    """The program and its arguments. The program receives the arguments byte by byte, also those that are not UTF-8."""
    skip: Instructions = 0
    """Number of instructions that the simulation skips at the start; text as in `"5M"` is accepted."""
    region: bool = False
    """True to simulate only the instructions between the program's two markers (the instruction `xchg %rbx,%rbx`)."""
    persistent: Persistent = "all"
    """Part of the program's memory that must survive a loss of power: all, the files that it maps shared, or its heap.
    It matters for designs that handle stores one by one, such as with a persist buffer. Stores to other memory are
    written back as usual.
    """
    stdin: Stream = "discard"
    """Standard input of the program: that of this process, unless that is a terminal, or empty."""
    output: Stream = "discard"
    """Output of the program: shown or discarded."""

    def __post_init__(self) -> None:
        arguments.check(self)

    def as_request(self, load_values: bool) -> dict[str, Any]:
        """Returns the request in the form that the native functions accept."""
        return {
            "live": {
                "command": [native.word(each) for each in self.command],
                "skip": arguments.instructions(self.skip, "skip"),
                "marked_region": self.region,
                "load_values": load_values,
                "persistent": self.persistent,
                "inherit_input": self.stdin == "inherit",
                "inherit_output": self.output == "inherit",
                "recorder": str(recorder_path()),
            }
        }


class Repeatable(ShortRepr, ABC):
    """A deterministic input; several can share a machine."""

    @abstractmethod
    def as_request(self, load_values: bool) -> dict[str, Any]:
        """Returns the request in the form that the native functions accept."""


@dataclass(frozen=True, repr=False)
class BuiltIn(Repeatable):
    """A built-in workload of the laboratory."""

    name: str
    """Name of the workload."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Parameters with values other than the defaults, such as `{"footprint": "64 MB"}`."""

    def __post_init__(self) -> None:
        arguments.check(self)

    def as_request(self, load_values: bool) -> dict[str, Any]:
        """Returns the request in the form that the native functions accept."""
        settings = {name: str(value) for name, value in self.settings.items()}
        return {"kernel": {"name": self.name, "settings": settings | ({"load_values": "yes"} if load_values else {})}}


@dataclass(frozen=True, repr=False)
class Trace(Repeatable):
    """A stored execution in a file of any format that Casemate recognises by content; all runs of it are the same."""

    path: str | os.PathLike[str]
    """Path of the file."""
    persistent: Persistent = "all"
    """Part of the memory that must survive a loss of power, as for a `Program`. Traces in formats of other simulators
    accept only `all`: they do not record mappings.
    """
    stated: str | None = None
    """Path that records state in place of `path`, for a copy of a trace. It matters for the formats of other
    simulators, which contain no name of the program.
    """

    def __post_init__(self) -> None:
        arguments.check(self)

    def as_request(self, load_values: bool) -> dict[str, Any]:
        """Returns the request in the form that the native functions accept. The recording has already decided whether
        it contains load values.
        """
        return {"trace": {"path": str(self.path), "persistent": self.persistent, "stated": self.stated}}


Runnable = Program | Repeatable | Sequence[Word] | Sequence[Repeatable]
"""Programs of a run: one program, workload or trace, a command, or several workloads and traces at once, each on
separate cores.
"""


def runnables(given: Runnable) -> Sequence[Program | Repeatable]:
    """Returns the programs of a run, one by one. Raises `CasemateError` if they cannot run together."""
    if isinstance(given, Program | Repeatable):
        return [given]
    listed = [given] if isinstance(given, str | bytes) else list(given)
    if not listed or isinstance(given, str | bytes):
        raise CasemateError('expected a command, as in ["ls", "-l"], or BuiltIn("gups"), or Trace("file.trace")')
    repeatable = [each for each in listed if isinstance(each, Repeatable)]
    if len(repeatable) == len(listed):
        return repeatable
    if repeatable or any(isinstance(each, Program) for each in listed):
        raise CasemateError("a program of this computer runs alone: record it, and run its trace with the others")
    return [Program([each for each in listed if not isinstance(each, Repeatable)])]


@dataclass(frozen=True, repr=False)
class TraceWindow(ShortRepr):
    """A window of a run, and a file for the work of every unit in that window. Perfetto opens the file;
    `casemate.excerpt` reads it.
    """

    window: str
    """Start after power-on and length of the window, in simulated time: `"20us:5us"`."""
    file: str | os.PathLike[str]
    """Path of the file. With several designs or machines, each writes a separate file, with its name before the suffix.
    """

    def as_request(self) -> dict[str, Any]:
        """Returns the request in the form that the native functions accept. Raises `CasemateError` if the window is
        invalid.
        """
        return {"file": str(self.file), **arguments.window(self.window, "window")}


@dataclass(frozen=True, kw_only=True, repr=False)
class RunOptions(RunStart):
    """Options of a run."""

    limit: Instructions | Literal["all"] | None = None
    """Maximum number of instructions of each program. The default is `DEFAULT_LIMIT`; for runs of only traces, and for
    sampled runs, the default is all.
    """
    detail: Literal["all", "sampled"] = "all"
    """Detail of the simulation: every instruction in detail, or only a sample. In a sampled run, the remaining
    instructions keep caches, predictors and metadata warm, and every figure has a 95 % confidence interval.
    """
    sampling: Mapping[str, float | str] = field(default_factory=dict)
    """Values of `SamplingOptions` other than the defaults, such as `{"aim": "traffic", "error": 0.01}`."""
    seed: int = 1
    """Seed that decides the keys, the placement of pages and the counters of an aged machine."""
    age: Age = "new"
    """State of the data's encryption counters when the machine begins: `new`, all zero; or `steady`. With `steady`,
    each group is at a moment drawn evenly from a long life, in which its lines are written equally often, in random
    order. The option has no effect on designs without counters or without renewals, nor on tree nodes, which are always
    new.
    """
    start_order: StartOrder = "program"
    """Order of the words of memory when the machine begins: that of the program; or `frequent`, as if the chip had
    written all of memory by the values of a first pass, which runs without protection. With `frequent`, a design with a
    table of frequent values begins with these values: a table of tracking `counted` also with their counts, an `lru`
    table without counts. A `fixed` table keeps its own words. If the design re-orders lines, all of memory is
    re-ordered by the words of the table, and has bitmaps. Other designs are not affected. The programs must be
    repeatable.
    """
    check_values: bool = False
    """True to compare every value that the program loads with the simulated memory. The check then passes only if it
    compared values of every program; a trace without values leaves the check open.
    """
    ledger: bool = False
    """True to compare every encryption pad with every other pad."""
    protection: bool = True
    """True to add a short campaign of attacks on each design."""
    interval: Instructions | None = None
    """Number of instructions, of all programs together, in an interval. Each record then contains the figures of each
    interval, for the phases of a program (see `casemate.intervals`). The option does not change other parts of the
    result.
    """
    values: Sequence[int] = ()
    """Sizes of the frequent-value tables that observe the run. Each record then contains how many of the words from
    memory each table would have predicted. The sizes are powers of two up to 64, at most four of them. The tables do
    not change any other result.
    """
    bus: str | os.PathLike[str] | None = None
    """File for the lines that cross the pins of memory; `casemate.bus` reads it. With several designs or machines, each
    writes a separate file, with its name before the suffix. The option does not change any result.
    """
    bus_bytes: bool = False
    """True to add the bytes of the lines to the file of `bus`."""
    trace: TraceWindow | None = None
    """Window of simulated time, and a file for the work of every unit in that window. The option does not change any
    result.
    """

    def __post_init__(self) -> None:
        arguments.check(self)

    def as_request(self, programs: Iterable[Program | Repeatable]) -> dict[str, Any]:
        """Returns the request in the form that the native functions accept. Raises `CasemateError` if options
        contradict each other.
        """
        sampled = self.detail == "sampled"
        if self.sampling and not sampled:
            raise CasemateError("sampling options are for sampled runs: give detail='sampled', too")
        if self.bus_bytes and self.bus is None:
            raise CasemateError("bus_bytes adds the bytes of lines to the bus file: give that file as bus, too")
        stored = all(isinstance(program, Trace) for program in programs)
        return {
            "limit": arguments.limit(self.limit, usual_limit(stored=stored, sampled=sampled)),
            "warm_up": arguments.instructions(self.warm_up, "warm_up"),
            "seed": self.seed,
            "start": {
                "age": self.age,
                "values": [],
                "untimed": arguments.instructions(self.untimed, "untimed"),
            },
            "ledger": self.ledger,
            "check_values": self.check_values,
            "sampling": dict(self.sampling) if sampled else None,
            "kept": {
                "interval": arguments.interval(self.interval),
                "tables": [arguments.instructions(size, "values") for size in self.values],
                "bus": None if self.bus is None else {"file": str(self.bus), "bytes": self.bus_bytes},
                "excerpt": None if self.trace is None else self.trace.as_request(),
            },
        }


def usual_limit(*, stored: bool = False, sampled: bool = False) -> int | None:
    """Returns the default limit of instructions, `None` for all: a stored execution has an end, and sampled runs are
    for whole, long programs.
    """
    return None if stored or sampled else DEFAULT_LIMIT


@dataclass(frozen=True, kw_only=True, repr=False)
class Access(ShortRepr, ABC):
    """An access to be explained, and the selection of its line: the one with the median latency among several, or the
    one at an address.
    """

    on_chip: OnChip = "nothing"
    """Metadata of the line that is on the chip."""
    row: Row = "closed"
    """State of the DRAM rows of all lines that the access fetches: the line of a read, and metadata that is not on the
    chip.
    """
    decoded: bool = False
    """True if the controller needs no time to decode counters."""
    address: int | None = None
    """Byte address within the line; a read requests the word at this address first. `None` for the line with the median
    latency of several.
    """
    lines: int = EXPLAINED_LINES
    """Number of lines that `explain` times, drawn from the whole memory."""
    seed: int = 1
    """Seed of the draw."""
    no_conflict: bool = False
    """True to explain the median of only those lines for which `row` holds for all fetches: the access fetches no two
    rows of one bank. It matches the timelines of published papers. If every line fetches two, the lines with the
    fewest pairs count.
    """
    value: str | bytes | None = None
    """Content of the line, or for a write the written value: 64 bytes, or hexadecimal digits, which are repeated to
    fill the line, as in `"5a"`. `"zeros"` is all zeros; `None` is the default pattern.
    """

    def __post_init__(self) -> None:
        arguments.check(self)

    @abstractmethod
    def scenario(self) -> dict[str, Any]:
        """Returns the access and its conditions, in the form that the native functions accept."""

    def condition(self, of: Of) -> dict[str, Any]:
        """Returns the conditions that all kinds of accesses have."""
        value = self.value.hex() if isinstance(self.value, bytes) else self.value
        common = {"of": of} | {name: getattr(self, name) for name in ("on_chip", "row", "decoded")}
        return common if value is None else common | {"value": value}

    def chosen(self) -> dict[str, Any]:
        """Returns the selection of the lines, in the form that the native functions accept. Raises `CasemateError` if
        the caller gives an address and `no_conflict`.
        """
        if self.address is None:
            return {"sample": {"lines": self.lines, "seed": self.seed, "no_conflict": self.no_conflict}}
        if self.no_conflict:
            raise CasemateError("no_conflict selects among several lines: leave it out, or leave the address out")
        return {"at": self.address}


@dataclass(frozen=True, kw_only=True, repr=False)
class Read(Access):
    """A read to be explained: from the request at the controller to the released line."""

    start: Start = "controller"
    """Start and end of the timeline."""
    predicted: bool = False
    """True if the L2, at its look-up, notifies the controller that it expects the line in memory."""

    def scenario(self) -> dict[str, Any]:
        """Returns the read and its conditions, in the form that the native functions accept."""
        return self.condition("read") | {"start": self.start, "predicted": self.predicted}


@dataclass(frozen=True, kw_only=True, repr=False)
class Write(Access):
    """A write to be explained: from the moment at which the memory controller takes the line until all steps of the
    write are done.
    """

    def scenario(self) -> dict[str, Any]:
        """Returns the write and its conditions, in the form that the native functions accept."""
        return self.condition("write") | {"start": "controller", "predicted": False}


@dataclass(frozen=True, kw_only=True, repr=False)
class Page(Access):
    """A walk to a page's record to be explained, in a design that permutes lines: for a page that no TLB has, until the
    record is on the chip and verified.
    """

    def scenario(self) -> dict[str, Any]:
        """Returns the walk and its conditions, in the form that the native functions accept."""
        return self.condition("page") | {"start": "controller", "predicted": False}


@dataclass(frozen=True, kw_only=True, repr=False)
class Permutation(Access):
    """A permutation to be explained: of a page that no fill has read since the last permutation, until the memory
    controller has accepted all its writes.
    """

    lines: int = EXPLAINED_PAGE_CHUNKS
    """Number of lines that `explain` draws; it permutes the page chunk of each."""

    def scenario(self) -> dict[str, Any]:
        """Returns the permutation and its conditions, in the form that the native functions accept."""
        return self.condition("permutation") | {"start": "controller", "predicted": False}


@dataclass(frozen=True, kw_only=True, repr=False)
class Store(Access):
    """A store into a persist buffer to be explained: until the store queue continues, followed by the drain."""

    meets: Meets = "new-entry"
    """State of the persist buffer at the store."""

    def scenario(self) -> dict[str, Any]:
        """Returns the store and its conditions, in the form that the native functions accept."""
        return self.condition("store") | {"start": "controller", "predicted": False, "meets": self.meets}
