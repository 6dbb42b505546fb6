"""Timeline of one read or write."""

import json
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from casemate import _core
from casemate.schemas.base import Result
from casemate.schemas.layout import Layout

Of = Literal["read", "write", "store", "page", "permutation"]
"""Kind of the explained access. `read`: from the request at the controller to the released line. `write`: from the
moment at which the memory controller takes the line until all its steps are done. `store`: a store into a persist
buffer. `page`: the walk to the record of a page that no TLB has. `permutation`: the permutation of a page.
"""

Until = Literal["released", "in-l2", "taken", "durable", "accepted", "on-chip", "permuted"]
"""Event that ends the latency. For a read, the line has left the checker, or is in the L2 that requested it. For a
write, the memory controller has accepted everything that the write stores, so that the write-back buffer is free; with
persistence, the tuple is durable. For a store, the persist buffer has accepted it and its early steps are done. For a
page, its record is on the chip and verified. For a permutation, the memory controller has accepted all its writes.
"""

OnChip = Literal["nothing", "tree", "last-level", "counter", "all"]
"""Metadata of the line that is on the chip: `nothing`; the tree; also the counter, in the last-level or in the
controller's cache; or also the tag.
"""

Start = Literal["controller", "l2"]
"""Place where the timeline starts and ends: at the memory controller, or at an L2, from its look-up to the line's
arrival.
"""

Meets = Literal["new-entry", "entry", "full-buffer", "overflow"]
"""State of the persist buffer at a store. `new-entry`: room for a new entry of its line. `entry`: an entry of its line,
from an earlier store. `full-buffer`: no room until the entry that leaves first has drained. `overflow`: room for a new
entry, but the counter of the line is at its end, so that the counters of its group are renewed.
"""

Row = Literal["hit", "closed", "conflict"]
"""State of the DRAM rows of the line and of the metadata that the access fetches: open, closed as after a refresh, or
another row of the bank open.
"""

Cause = Literal["queue", "bank", "refresh", "write-drain", "unit", "lock", "verdict"]
"""Cause of a wait."""

FS_PER_NS = 1_000_000

VERBS: list[JsonValue] = json.loads(_core.words())["Verb"]
"""Verbs that spans can have."""


class Scenario(Result):
    """The explained access and its conditions."""

    of: Of
    """Kind of the explained access."""
    on_chip: OnChip
    """Metadata of the line that is on the chip."""
    row: Row
    """State of the DRAM rows."""
    start: Start
    """Start of the timeline."""
    predicted: bool
    """True if the L2, as its look-up begins, notifies the controller that it expects the line in memory."""
    decoded: bool
    """True if the controller needs no time to decode counters."""
    meets: Meets | None
    """State of the persist buffer at a store; null for reads and writes."""
    value: str
    """Plaintext of the line in memory, or the written plaintext: 64 bytes in hexadecimal digits."""


class AesBandwidth(Result):
    """Peak bandwidth of the AES units in blocks a second; null if the units accept any number of blocks at once."""

    total: float | None
    """Bandwidth of all AES units together."""
    controller: float | None
    """Bandwidth of the memory controller's units."""
    each_l2: float | None
    """Bandwidth of the units in each L2, if there are any."""


class Span(Result):
    """One piece of work of an access."""

    verb: Annotated[str, Field(json_schema_extra={"enum": VERBS})]
    """Verb of the work; `casemate.api.verbs()` explains each verb."""
    what: str
    """Object of the work."""
    start: int
    """Time of the request for the work, in femtoseconds from the start of the access."""
    end: int
    """End of the work, in femtoseconds from the start of the access."""
    waited_for: Cause | None
    """Cause of the wait, if the work waited."""
    outcome: str | None
    """Outcome in a word: a row hit, a miss."""

    @property
    def start_ns(self) -> float:
        """Time of the request, in nanoseconds."""
        return self.start / FS_PER_NS

    @property
    def end_ns(self) -> float:
        """End of the work, in nanoseconds."""
        return self.end / FS_PER_NS

    @property
    def title(self) -> str:
        """Returns verb and object."""
        return f"{self.verb} {self.what}"

    def brief(self) -> str:
        """Returns verb and object, both times, the cause of the wait and the outcome."""
        waited = f"waited for {self.waited_for}" if self.waited_for else None
        times = f"{self.title} from {self.start_ns:.1f} to {self.end_ns:.1f} ns"
        return ", ".join(part for part in (times, waited, self.outcome) if part)


class Spread(Result):
    """Latencies of several lines, each read or written separately."""

    lines: int
    """Number of tried lines, drawn from the whole memory."""
    no_conflict: bool
    """True if only lines with the fewest `clashes`, added over all explained designs, could be explained."""
    typical: int
    """Number of lines that could be explained: all, or with `no_conflict` those with the fewest `clashes`. Among them,
    the explained line is nearest to the median latency, or to the medians of these lines under all explained designs.
    """
    clashes: int
    """Pairs of lines that the explained access fetches from different rows of one bank. The requested state of the rows
    holds for only one line of a pair.
    """
    seed: int
    """Seed of the draw."""
    shortest_fs: int
    """Shortest latency of the tried lines, in femtoseconds."""
    p5_fs: int
    """The 5th percentile, in femtoseconds: five in a hundred lines took no longer."""
    p50_fs: int
    """The median of all tried lines, in femtoseconds."""
    p95_fs: int
    """The 95th percentile, in femtoseconds."""
    longest_fs: int
    """Longest latency of the tried lines, in femtoseconds."""

    @property
    def p5_ns(self) -> float:
        """The 5th percentile, in nanoseconds."""
        return self.p5_fs / FS_PER_NS

    @property
    def p50_ns(self) -> float:
        """The median of all tried lines, in nanoseconds."""
        return self.p50_fs / FS_PER_NS

    @property
    def p95_ns(self) -> float:
        """The 95th percentile, in nanoseconds."""
        return self.p95_fs / FS_PER_NS


class Explanation(Result):
    """Timeline of one read or write under one design."""

    design: str
    """Name of the design."""
    machine: str
    """Name of the machine."""
    scenario: Scenario
    """Conditions of the access."""
    address: int
    """Address of the first byte of the line."""
    line_bytes: int
    """Bytes in a line of this memory."""
    spread: Spread | None
    """Latencies of the tried lines. Null if only one line was tried."""
    latency_fs: int
    """Time from the start to the moment that `until` names, in femtoseconds. If the requested words of a read reach the
    core before the other words, this is the time until the requested words do.
    """
    rest_fs: int | None
    """Time until the whole line is released, in femtoseconds, if part of it was released earlier."""
    until: Until
    """Event that ends the latency."""
    aes: AesBandwidth
    """Peak bandwidth of the design's AES units."""
    spans: tuple[Span, ...]
    """Pieces of work, in the order of their requests."""

    def brief(self) -> str:
        """Returns kind, design and machine of the access, and its latency."""
        return f"a {self.scenario.of} under {self.design} on {self.machine}: {self.latency_ns:.1f} ns"

    @property
    def latency_ns(self) -> float:
        """Time from the start to the moment that `until` names, in nanoseconds."""
        return self.latency_fs / FS_PER_NS

    def continues(self) -> bool:
        """Returns true if work of the access continues after its latency."""
        return any(span.end > self.latency_fs for span in self.spans)

    def critical_path(self) -> list[Span]:
        """Returns the chain of work that decided the latency, from first to last.

        The method follows the chain backwards from its end: each step began when the previous step was done. The method
        skips speculated candidates: the controller gives them up when other work is done, and a piece of a line that
        had to wait for its candidate has a `match`. It also skips the tag of a line that is released before its
        verdict, since this tag delays no release.
        """
        path: list[Span] = []
        until = self.latency_fs
        is_early = any(span.verb == "release" and span.what == "ahead" for span in self.spans)
        deciding_nothing = ("speculate", "mac") if is_early else ("speculate",)
        work = [span for span in self.spans if span.verb not in deciding_nothing]
        while before := [span for span in work if span.end == until and span.start < until]:
            path.insert(0, min(before, key=lambda span: span.start))
            until = path[0].start
        return path


class Explanations(Result):
    """One access under one design, and under another design for comparison."""

    explanations: tuple[Explanation, ...]
    """Timelines in the requested order; empty if layouts were requested."""
    layouts: tuple[Layout, ...] = ()
    """Placement of each design's metadata, if that was requested instead."""

    def brief(self) -> str:
        """Returns the brief form of each timeline or layout."""
        return "; ".join(each.brief() for each in (*self.explanations, *self.layouts))

    @property
    def difference_ns(self) -> float | None:
        """Excess of the first design's latency over the second's, in nanoseconds, for an access to the same line. Null
        without exactly two designs.
        """
        match self.explanations:
            case (first, second):
                return first.latency_ns - second.latency_ns
            case _:
                return None

    @property
    def difference_of_medians_ns(self) -> float | None:
        """Excess of the first design's median latency over the second's, in nanoseconds, over all tried lines. Null if
        only one line was tried, or without exactly two designs.
        """
        match [explanation.spread for explanation in self.explanations]:
            case (Spread() as first, Spread() as second):
                return first.p50_ns - second.p50_ns
            case _:
                return None
