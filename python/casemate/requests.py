"""What can be asked for: what to run and how, and which read or write to explain."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from casemate import asked, laboratory
from casemate._core import CasemateError
from casemate.asked import Instructions
from casemate.results.explain import Meets, Of, OnChip, Row, Start
from casemate.results.run import Age

DEFAULT_LIMIT = 20_000_000
"""Instructions of a program or a built-in workload that are run if nothing is said: seconds, not hours."""

EXPLAINED_LINES = 999
"""Lines that are timed if nothing is said: the median's timeline is shown."""

EXPLAINED_CHUNKS = 29
"""The same of permutations, each of which reads and writes 256 lines."""

RECORDER_VARIABLE = "CASEMATE_RECORDER"

Word = str | bytes | os.PathLike[str]
"""A word of a command, as `subprocess` takes it and `os.listdir` gives it."""

Stream = Literal["inherit", "discard"]
Persistent = Literal["all", "mapped", "heap"]
"""Whether one of the program's standard streams is ours, or empty."""


def recorder_path() -> Path:
    """The recorder: what the environment names, or the one that came with this package."""
    given = os.environ.get(RECORDER_VARIABLE)
    return Path(given) if given else Path(__file__).with_name("libcasemate_recorder.so")


@dataclass(frozen=True)
class Program:
    """A program of this computer, which really runs, now."""

    command: Sequence[Word]
    """The program and its arguments. It gets them byte by byte, also those that are not UTF-8."""
    skip: Instructions = 0
    """Instructions that pass before any are counted; text as in `"5M"` will do."""
    region: bool = False
    """Whether only what runs between its two markers (the instruction `xchg %rbx,%rbx`) is counted."""
    persistent: Persistent = "all"
    """What of its memory has to outlive a loss of power, under a design that takes stores one by one, as with a persist
    buffer: all, or what it maps shared from files. Stores to anything else are written back as ever."""
    stdin: Stream = "discard"
    """Whether it reads what this process would read, unless that is a terminal."""
    output: Stream = "discard"
    """Whether what it prints is shown."""

    def __post_init__(self) -> None:
        asked.check(self)

    def asked(self, load_values: bool) -> dict[str, Any]:
        """The request in the form of the laboratory."""
        return {
            "live": {
                "command": [laboratory.word(each) for each in self.command],
                "skip": asked.instructions(self.skip, "skip"),
                "marked_region": self.region,
                "load_values": load_values,
                "persistent": self.persistent,
                "inherit_input": self.stdin == "inherit",
                "inherit_output": self.output == "inherit",
                "recorder": str(recorder_path()),
            }
        }


class Repeatable(ABC):
    """What is the same each time, and can run with others."""

    @abstractmethod
    def asked(self, load_values: bool) -> dict[str, Any]:
        """The request in the form of the laboratory."""


@dataclass(frozen=True)
class BuiltIn(Repeatable):
    """A built-in workload."""

    name: str
    """Its name."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Parameters that should not be as usual, such as `{"footprint": "64 MB"}`."""

    def __post_init__(self) -> None:
        asked.check(self)

    def asked(self, load_values: bool) -> dict[str, Any]:
        """The request in the form of the laboratory."""
        settings = {name: str(value) for name, value in self.settings.items()}
        return {"kernel": {"name": self.name, "settings": settings | ({"load_values": "yes"} if load_values else {})}}


@dataclass(frozen=True)
class Trace(Repeatable):
    """A stored execution of any format, recognised by content: the same every time."""

    path: str | os.PathLike[str]
    """Its file."""
    persistent: Persistent = "all"
    """As that of a `Program`. Only `all` of a trace that `record` did not write: it does not say what is mapped."""

    def __post_init__(self) -> None:
        asked.check(self)

    def asked(self, load_values: bool) -> dict[str, Any]:
        """The request in the form of the laboratory; which values it holds was decided when it was recorded."""
        return {"trace": {"path": str(self.path), "persistent": self.persistent}}


Runnable = Program | Repeatable | Sequence[Word] | Sequence[Repeatable]
"""What can be run: one thing, a command, or several built-in workloads and traces at once, each on cores of its own."""


def runnables(given: Runnable) -> Sequence[Program | Repeatable]:
    """What is to be run, one by one. Raises `CasemateError` if that cannot be."""
    if isinstance(given, Program | Repeatable):
        return [given]
    listed = [given] if isinstance(given, str | bytes) else list(given)
    if not listed or isinstance(given, str | bytes):
        raise CasemateError('expected a command, as in ["ls", "-l"], or BuiltIn("gups"), or Trace("file.trace")')
    repeatable = [each for each in listed if isinstance(each, Repeatable)]
    if len(repeatable) == len(listed):
        return repeatable
    if repeatable or any(isinstance(each, Program) for each in listed):
        raise CasemateError("a program of this computer runs alone: record it, and run its trace beside others")
    return [Program([each for each in listed if not isinstance(each, Repeatable)])]


@dataclass(frozen=True)
class TraceWindow:
    """A window of a run, and a file for what every unit did in it: Perfetto opens it, `casemate.excerpt` reads it."""

    window: str
    """When it begins after power-on, and how long it is, in simulated time: `"20us:5us"`."""
    file: str | os.PathLike[str]
    """The file; of several designs or machines each has one, with its name before the suffix."""

    def asked(self) -> dict[str, Any]:
        """The request in the form of the laboratory. Raises `CasemateError` if that is no window."""
        return {"file": str(self.file), **asked.window(self.window, "window")}


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a program is run."""

    limit: Instructions | Literal["all"] | None = None
    """The most instructions of each program; if nothing is said, `DEFAULT_LIMIT`, and for traces alone and for samples
    all."""
    warm_up: Instructions = 0
    """Instructions, of these, before counting begins: caches and metadata are as they leave them, but their time and
    traffic is in no figure."""
    detail: Literal["all", "sampled"] = "all"
    """Whether every instruction is simulated in detail, or a sample of them while the others keep caches, predictors
    and metadata warm; then every figure has a 95 % interval."""
    sampling: Mapping[str, float | str] = field(default_factory=dict)
    """What of `SamplingOptions` should not be as usual, such as `{"aim": "traffic", "error": 0.01}`."""
    seed: int = 1
    """Seeds keys, page placement and the counters of an aged machine."""
    age: Age = "new"
    """How old the counters of data are when the machine begins: `new`, all zero; or `steady`, each group at a moment
    drawn evenly from a long life in which its lines are written equally often, in random order. It changes nothing
    where there are no counters, or where they are never renewed; and nodes of trees are new either way."""
    check_values: bool = False
    """Whether every value that the program loaded is compared with the simulated memory. Then the check has passed only
    if values of every program were compared: traces that have none leave it open."""
    ledger: bool = False
    """Whether every pad is compared with every other."""
    protection: bool = True
    """Whether a short campaign of attacks on each design is added."""
    interval: Instructions | None = None
    """How many instructions, of all programs together, an interval has: each record then has its run by interval, for
    the phases of a program (see `casemate.intervals`). It changes nothing else of a result."""
    values: Sequence[int] = ()
    """How many frequent values tables have that watch the run: each record then says how many of the words that came
    from memory they would have predicted. Powers of two up to 64, four of them at most. It changes no result."""
    bus: str | os.PathLike[str] | None = None
    """A file for what crosses the pins of memory, to be read with `casemate.bus`; of several designs or machines each
    has one, with its name before the suffix. It changes no result."""
    bus_bytes: bool = False
    """Whether that file has the bytes, too."""
    trace: TraceWindow | None = None
    """A window of simulated time, and a file for what every unit did in it. It changes no result."""

    def __post_init__(self) -> None:
        asked.check(self)

    def asked(self, programs: Iterable[Program | Repeatable]) -> dict[str, Any]:
        """The request in the form of the laboratory. Raises `CasemateError` if it makes no sense."""
        sampled = self.detail == "sampled"
        if self.sampling and not sampled:
            raise CasemateError("sampling options are for sampled runs: give detail='sampled', too")
        if self.bus_bytes and self.bus is None:
            raise CasemateError("bus_bytes is about what crosses the pins of memory: give a file for that as bus, too")
        stored = all(isinstance(program, Trace) for program in programs)
        return {
            "limit": asked.limit(self.limit, usual_limit(stored=stored, sampled=sampled)),
            "warm_up": asked.instructions(self.warm_up, "warm_up"),
            "seed": self.seed,
            "age": self.age,
            "ledger": self.ledger,
            "check_values": self.check_values,
            "sampling": dict(self.sampling) if sampled else None,
            "kept": {
                "interval": asked.interval(self.interval),
                "tables": [asked.instructions(size, "values") for size in self.values],
                "bus": None if self.bus is None else {"file": str(self.bus), "bytes": self.bus_bytes},
                "excerpt": None if self.trace is None else self.trace.asked(),
            },
        }


def usual_limit(*, stored: bool = False, sampled: bool = False) -> int | None:
    """The most instructions that are run if nothing is said, `None` for all: a stored execution has an end of its own,
    and a sample is for long programs.
    """
    return None if stored or sampled else DEFAULT_LIMIT


@dataclass(frozen=True, kw_only=True)
class Access(ABC):
    """An access to be explained, and which of many: to the median among so many lines, or to the one at an address."""

    on_chip: OnChip = "nothing"
    """Which metadata of the line is on the chip."""
    row: Row = "closed"
    """How the DRAM rows stand of all that it fetches: a read's line, and metadata that is not on the chip."""
    decoded: bool = False
    """Whether counters need no decoding."""
    address: int | None = None
    """The line at this address, in bytes, of which a read asks for the word there first; nothing for the median of
    several."""
    lines: int = EXPLAINED_LINES
    """How many lines are tried, drawn from all of the memory."""
    seed: int = 1
    """What they are drawn from."""
    value: str | bytes | None = None
    """What the line holds, or of a write what is written: 64 bytes, or in hexadecimal digits; fewer are repeated, as in
    `"5a"`; `"zeros"` is all zeros; nothing for the usual pattern."""

    def __post_init__(self) -> None:
        asked.check(self)

    @abstractmethod
    def scenario(self) -> dict[str, Any]:
        """The access and its condition, in the form of the laboratory."""

    def condition(self, of: Of) -> dict[str, Any]:
        """What reads and writes have in common of that."""
        value = self.value.hex() if isinstance(self.value, bytes) else self.value
        told = {"of": of} | {name: getattr(self, name) for name in ("on_chip", "row", "decoded")}
        return told if value is None else told | {"value": value}

    def chosen(self) -> dict[str, Any]:
        """The lines, in the form of the laboratory."""
        return {"sample": {"lines": self.lines, "seed": self.seed}} if self.address is None else {"at": self.address}


@dataclass(frozen=True, kw_only=True)
class Read(Access):
    """A read to be explained: from the request that comes in to the line that goes out."""

    start: Start = "controller"
    """Where the timeline begins and ends."""
    predicted: bool = False
    """Whether the L2, with its own look-up, notifies the controller that it expects the line in memory."""

    def scenario(self) -> dict[str, Any]:
        """The read and its condition, in the form of the laboratory."""
        return self.condition("read") | {"start": self.start, "predicted": self.predicted}


@dataclass(frozen=True, kw_only=True)
class Write(Access):
    """A write to be explained: from the moment at which the controller takes the line until all its steps are done."""

    def scenario(self) -> dict[str, Any]:
        """The write and its condition, in the form of the laboratory."""
        return self.condition("write") | {"start": "controller", "predicted": False}


@dataclass(frozen=True, kw_only=True)
class Page(Access):
    """The walk to the record of a page that no TLB has, where lines move: until it is on the chip and checked."""

    def scenario(self) -> dict[str, Any]:
        """The walk and its condition, in the form of the laboratory."""
        return self.condition("page") | {"start": "controller", "predicted": False}


@dataclass(frozen=True, kw_only=True)
class Permutation(Access):
    """A permutation of a page of which nothing was read since the last: until memory's controller has taken it all."""

    lines: int = EXPLAINED_CHUNKS
    """How many lines are tried, whose chunks are permuted."""

    def scenario(self) -> dict[str, Any]:
        """The permutation and its condition, in the form of the laboratory."""
        return self.condition("permutation") | {"start": "controller", "predicted": False}


@dataclass(frozen=True, kw_only=True)
class Store(Access):
    """A store into a persist buffer to be explained: until the store queue goes on, and behind that the drain."""

    meets: Meets = "new-entry"
    """What the store meets in the persist buffer."""

    def scenario(self) -> dict[str, Any]:
        """The store and its condition, in the form of the laboratory."""
        return self.condition("store") | {"start": "controller", "predicted": False, "meets": self.meets}
