"""The rows of a timeline: one for each piece of work, or for many of one kind."""

import re
from collections import Counter
from typing import NamedTuple

from casemate.results.explain import Cause, Explanation, Span

WAITS: dict[Cause, str] = {
    "queue": "queued",
    "bank": "bank busy",
    "refresh": "refresh",
    "write-drain": "write drain",
    "unit": "units busy",
    "lock": "locked",
    "verdict": "verdicts",
}
MOST_ALIKE = 16
"""Pieces of work of one title that have a row each: more than walking up and down a tall tree takes. More of them, as
when a group of lines is encrypted anew, share a row."""


def title(span: Span) -> str:
    """What a piece of work is called."""
    return span.title.removesuffix(" cache")


def note(span: Span) -> str:
    """How it went and what it waited for."""
    wait = WAITS[span.waited_for] if span.waited_for else None
    return ", ".join(part for part in (span.outcome, wait) if part)


class TimelineRow(NamedTuple):
    """Pieces of work that are drawn in one row."""

    title: str
    """What they are called."""
    spans: tuple[Span, ...]
    """The pieces, one at least, in the order in which they were asked for."""

    @property
    def start_ns(self) -> float:
        """When the first was asked for, in nanoseconds."""
        return self.spans[0].start_ns

    @property
    def end_ns(self) -> float:
        """When the last was done, in nanoseconds."""
        return max(span.end_ns for span in self.spans)

    @property
    def note(self) -> str:
        """How the piece went and what it waited for; of several, how many they are."""
        return note(self.spans[0]) if len(self.spans) == 1 else f"{len(self.spans)} times"

    @property
    def has_waited(self) -> bool:
        """Whether a single piece had to wait."""
        return len(self.spans) == 1 and self.spans[0].waited_for is not None


def kind(span: Span) -> str:
    """The title without the slot that a lock is of."""
    return re.sub(r" in slot \d+$", "", title(span))


def rows(explanation: Explanation) -> list[TimelineRow]:
    """The rows of a timeline, in the order in which their first pieces were asked for."""
    kinds = Counter(kind(span) for span in explanation.spans)
    found: list[TimelineRow] = []
    shared: dict[str, int] = {}
    for span in explanation.spans:
        name = kind(span)
        if kinds[name] <= MOST_ALIKE:
            found.append(TimelineRow(title(span), (span,)))
        elif name in shared:
            row = found[shared[name]]
            found[shared[name]] = row._replace(spans=(*row.spans, span))
        else:
            shared[name] = len(found)
            found.append(TimelineRow(name, (span,)))
    return found
