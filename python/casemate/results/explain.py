"""The timeline of one read or write."""

import json
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from casemate import _core
from casemate.results.base import Result
from casemate.results.catalogue import Layout

Of = Literal["read", "write", "store", "page", "permutation"]
"""Which access is explained: a read, from the request that comes in to the line that goes out; or a write, from the
moment at which the memory controller takes the line until all its steps are done; or a store into a persist buffer,
from the moment at which it comes there until the store queue goes on; or, where lines move, the walk to the record of
a page that no TLB has, or the permutation of a page."""

Until = Literal["released", "in-l2", "taken", "durable", "accepted", "on-chip", "permuted"]
"""What a latency goes to: the line has left the checker, or is in the L2 that began the read; of a write, memory's
controller has taken all that it stores, so that the write-back buffer is free, or its tuple is complete and survives a
loss of power; of a store, the persist buffer has it and its early steps are done; a record is on the chip and checked;
or a page is permuted, and memory's controller has taken all of it."""

OnChip = Literal["nothing", "tree", "last-level", "counter", "all"]
"""Which metadata of the line is on the chip: nothing, the tree, the counter as well in the last-level cache or in the
controller's, or the tag as well."""

Start = Literal["controller", "l2"]
"""Where the timeline begins and ends: at the memory controller, or at an L2, with its look-up."""

Meets = Literal["new-entry", "entry", "full-buffer", "overflow"]
"""What a store meets in the persist buffer: room for a new entry of its line; the entry of its line, which an earlier
store has allocated; no room, until the entry that leaves first has drained; or room for a new entry of a line whose
counter is at its end, so that the counters of its group are renewed."""

Row = Literal["hit", "closed", "conflict"]
"""How the DRAM rows stand of the line and of the metadata fetched with it: open, closed as after a refresh, or with
another row of the bank open."""

Cause = Literal["queue", "bank", "refresh", "write-drain", "unit", "lock", "verdict"]
"""What something waited for."""

FS_PER_NS = 1_000_000

VERBS: list[JsonValue] = json.loads(_core.words())["Verb"]
"""What a span can be of."""


class Scenario(Result):
    """What is explained, and in which condition."""

    of: Of
    """Which access."""
    on_chip: OnChip
    """Which metadata is on the chip."""
    row: Row
    """How the DRAM row stands."""
    start: Start
    """Where the timeline begins."""
    predicted: bool
    """Whether the L2 notifies the controller, as its own look-up begins, that it expects the line in memory."""
    decoded: bool
    """Whether counters need no decoding."""
    meets: Meets | None
    """What a store meets in the persist buffer; nothing of reads and writes."""
    value: str
    """What the line holds, encrypted in memory; of a write, what is written: 64 bytes in hexadecimal digits."""


class AesBandwidth(Result):
    """AES blocks a second at the peak; nothing where units take any number at once."""

    total: float | None
    """Of all units."""
    controller: float | None
    """Of the controller's."""
    each_l2: float | None
    """Of those in each L2, if there are any."""


class Span(Result):
    """One piece of work."""

    verb: Annotated[str, Field(json_schema_extra={"enum": VERBS})]
    """What was done; `casemate.api.verbs()` says what each means."""
    what: str
    """What it was done to."""
    start: int
    """When it was asked for, in femtoseconds from the start of the access."""
    end: int
    """When it was done, likewise."""
    waited_for: Cause | None
    """What it waited for, if it did."""
    outcome: str | None
    """How it went, in a word: a row hit, a miss."""

    @property
    def start_ns(self) -> float:
        """When it was asked for, in nanoseconds."""
        return self.start / FS_PER_NS

    @property
    def end_ns(self) -> float:
        """When it was done, in nanoseconds."""
        return self.end / FS_PER_NS

    @property
    def title(self) -> str:
        """Verb and object."""
        return f"{self.verb} {self.what}"


class Spread(Result):
    """The latencies of several lines, each read or written by itself."""

    lines: int
    """How many lines were tried, drawn from all of the memory."""
    seed: int
    """What they were drawn from."""
    shortest_fs: int
    """The shortest, in femtoseconds."""
    p5_fs: int
    """The 5th percentile, in femtoseconds: five in a hundred lines took no longer."""
    p95_fs: int
    """The 95th percentile, in femtoseconds."""
    longest_fs: int
    """The longest, in femtoseconds."""

    @property
    def p5_ns(self) -> float:
        """The 5th percentile, in nanoseconds."""
        return self.p5_fs / FS_PER_NS

    @property
    def p95_ns(self) -> float:
        """The 95th percentile, in nanoseconds."""
        return self.p95_fs / FS_PER_NS


class Explanation(Result):
    """The timeline of one read or write under one design."""

    design: str
    """The design's name."""
    machine: str
    """The machine's name."""
    scenario: Scenario
    """The condition."""
    address: int
    """The first byte of the line."""
    line_bytes: int
    """How many bytes a line of this memory has."""
    spread: Spread | None
    """The latencies of the lines of which this one has the median; nothing if only this line was tried."""
    latency_fs: int
    """From the start to the moment that `until` names, in femtoseconds. If the asked-for words of a read go to the core
    before the rest, until those do."""
    rest_fs: int | None
    """Until all of the line is released, in femtoseconds, if some of it was before."""
    until: Until
    """What the latency goes to."""
    aes: AesBandwidth
    """What the AES units can do, as the design has them."""
    spans: tuple[Span, ...]
    """What was done, in the order in which it was asked for."""

    def brief(self) -> str:
        """Whose access it is, and how long it takes."""
        return f"a {self.scenario.of} under {self.design} on {self.machine}: {self.latency_ns:.1f} ns"

    @property
    def latency_ns(self) -> float:
        """From the start to the moment that `until` names, in nanoseconds."""
        return self.latency_fs / FS_PER_NS

    def continues(self) -> bool:
        """Whether work of the access goes on behind its latency."""
        return any(span.end > self.latency_fs for span in self.spans)

    def critical_path(self) -> list[Span]:
        """The chain of work that decided the latency, from first to last.

        Followed from its end backwards: each step began when the one before it was done. Candidates are given up when
        something else is done and decide nothing; where a piece had to wait for its own there is a `match`. Nor does
        the tag of a line decide anything that is released ahead of its verdict.
        """
        path: list[Span] = []
        until = self.latency_fs
        is_ahead = any(span.verb == "release" and span.what == "ahead" for span in self.spans)
        deciding_nothing = ("speculate", "mac") if is_ahead else ("speculate",)
        work = [span for span in self.spans if span.verb not in deciding_nothing]
        while before := [span for span in work if span.end == until and span.start < until]:
            path.insert(0, min(before, key=lambda span: span.start))
            until = path[0].start
        return path


class Explanations(Result):
    """One access under one design, and under another to compare it with."""

    explanations: tuple[Explanation, ...]
    """The timelines, in the order asked for; none if layouts were asked for."""
    layouts: tuple[Layout, ...] = ()
    """Where each design puts its metadata, if that was asked for instead."""

    @property
    def difference_ns(self) -> float | None:
        """How much longer the first design takes than the second, in nanoseconds: each its median line, or one line."""
        match self.explanations:
            case (first, second):
                return first.latency_ns - second.latency_ns
            case _:
                return None
