"""Reads the work of every unit in a window of a run, from the files that `casemate run --trace-window` writes.

    >>> from casemate.excerpt import Excerpt
    >>> excerpt = Excerpt.read("gups.json")
    >>> excerpt.about.design
    'sc64-bmt'
    >>> for span in excerpt.spans("hash"):
    ...     print(span.start_fs, span.name, span.waited_for)

Perfetto and Chrome open the same files. `docs/EXCERPT_FORMAT.md` describes their content.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from casemate._core import CasemateError
from casemate.schemas.excerpt import ExcerptAbout, ExcerptInfo, UnitWork
from casemate.text import amounts, one_line
from casemate.text.shown import Shown

FORMAT = "casemate-excerpt"
VERSION = 1
FS_PER_US = 10**9


class ExcerptSpan(NamedTuple):
    """A piece of work of one unit, or an event without duration."""

    name: str
    """Verb and object of the work."""
    about: str
    """Subject of the verb, from `casemate.api.verbs()`; `access` for a whole access, `window` for the window."""
    start_fs: int
    """Start in femtoseconds from power-on."""
    end_fs: int
    """End in femtoseconds from power-on."""
    lane: int
    """Number of the lane, from zero: spans of one unit that overlap are in different lanes."""
    access: int | None
    """Number of the access that caused the work."""
    line: int | None
    """Address of the line that this access reads or writes."""
    waited_for: str | None
    """Cause of the wait, if the work had to wait."""
    outcome: str | None
    """Outcome of the work, in a word."""


class Unit(NamedTuple):
    """A hardware unit of the simulated machine."""

    part: str
    """Part of the machine that contains it."""
    name: str
    """Name of the unit."""


@dataclass(frozen=True, repr=False)
class Excerpt(Shown):
    """A window of a run."""

    about: ExcerptAbout
    """Header of the window."""
    units: Mapping[Unit, tuple[ExcerptSpan, ...]]
    """Spans of each unit, in order of their start."""

    @staticmethod
    def read(path: str | os.PathLike[str]) -> "Excerpt":
        """Returns the window in a file. Raises `CasemateError` if the file does not contain one."""
        try:
            text = Path(path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            raise CasemateError(f"cannot read '{path}': {why}") from error
        foreign = (
            f"'{path}' is no excerpt of Casemate's: expected a file that `casemate run --trace-window` has written"
        )
        try:
            found = json.loads(text, parse_float=Decimal)
            head = dict(found["otherData"])
            written, version = head.pop("format"), head.pop("version")
        except (ValueError, TypeError, KeyError) as error:
            raise CasemateError(foreign) from error
        if written != FORMAT:
            raise CasemateError(foreign)
        if version != VERSION:
            raise CasemateError(f"'{path}' is an excerpt of version {version}; this Casemate reads version {VERSION}")
        try:
            about = ExcerptAbout.model_validate_json(json.dumps(head))
            return Excerpt(about, _units(found["traceEvents"]))
        except (ValidationError, KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise CasemateError(f"'{path}' is damaged: an event is not as Casemate writes it") from error

    def __repr__(self) -> str:
        about, (begin, end) = self.about, self.window_fs
        run = f"{' '.join(about.workload)} on {about.machine} under {about.design}"
        spans = sum(map(len, self.units.values()))
        seen = f"{(end - begin) / FS_PER_US:g} us, {amounts.counted(spans, 'span')}"
        return one_line.between("<Excerpt of ", run, f": {seen}>")

    def spans(self, unit: str) -> tuple[ExcerptSpan, ...]:
        """Returns the spans of a unit. Raises `KeyError` if the window contains no span of the unit."""
        return next(spans for found, spans in self.units.items() if found.name == unit)

    @property
    def window_fs(self) -> tuple[int, int]:
        """Start of the window, and the end of the window or of the run, whichever is earlier."""
        begin = self.about.window_from_fs
        return begin, min(begin + self.about.window_length_fs, self.about.ended_fs)

    def info(self) -> ExcerptInfo:
        """Returns the header, the number of accesses, and the counts and times of each unit's work."""
        accesses = {span.access for spans in self.units.values() for span in spans if span.access is not None}
        units = tuple(_work(unit, spans, self.window_fs) for unit, spans in self.units.items() if unit.name != "window")
        return ExcerptInfo(about=self.about, accesses=len(accesses), units=units)


def _units(events: Iterable[dict[str, Any]]) -> dict[Unit, tuple[ExcerptSpan, ...]]:
    parts: dict[int, str] = {}
    threads: dict[int, tuple[Unit, int]] = {}
    found: dict[Unit, list[ExcerptSpan]] = {}
    for event in events:
        kind, thread = event["ph"], event["tid"]
        if kind == "M" and event["name"] == "process_name":
            parts[event["pid"]] = event["args"]["name"].rpartition(": ")[2]
        elif kind == "M" and event["name"] == "thread_name":
            name, _, lane = event["args"]["name"].partition(" (lane ")
            threads[thread] = Unit(parts[event["pid"]], name), int(lane.rstrip(")") or 1) - 1
        elif kind in "Xi":
            unit, lane = threads[thread]
            found.setdefault(unit, []).append(_span(event, lane))
    return {unit: tuple(spans) for unit, spans in found.items()}


def _span(event: dict[str, Any], lane: int) -> ExcerptSpan:
    start, args = int(event["ts"] * FS_PER_US), event["args"]
    end = start + int(event.get("dur", 0) * FS_PER_US)
    line = args.get("line")
    return ExcerptSpan(
        event["name"], event["cat"], start, end, lane, args.get("access"), None if line is None else int(line, 16),
        args.get("waited_for"), args.get("outcome"),
    )  # fmt: skip


def _work(unit: Unit, spans: Iterable[ExcerptSpan], window: tuple[int, int]) -> UnitWork:
    listed = list(spans)
    lengths = [span.end_fs - span.start_fs for span in listed]
    busy, until = 0, window[0]
    for span in sorted(listed, key=lambda span: span.start_fs):
        start, end = max(span.start_fs, until), min(span.end_fs, window[1])
        busy, until = busy + max(end - start, 0), max(until, end)
    return UnitWork(
        part=unit.part,
        unit=unit.name,
        spans=len(listed),
        at_once=max(span.lane for span in listed) + 1,
        busy_fs=busy,
        mean_fs=sum(lengths) // len(lengths),
        longest_fs=max(lengths),
    )
