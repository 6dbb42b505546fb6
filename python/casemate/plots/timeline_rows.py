"""The rows of a timeline: one for each piece of work, or for many of one kind."""

import re
from collections import Counter
from typing import NamedTuple

from casemate.schemas.explain import Cause, Explanation, Span

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
"""Maximum number of pieces of work of one title that have separate rows; it exceeds the number in a walk up and down a
tall tree. More pieces than that share one row, such as the re-encryption of a group of lines.
"""


def title(span: Span) -> str:
    """Returns the name of a piece of work."""
    return span.title.removesuffix(" cache")


def note(span: Span) -> str:
    """Returns the outcome of a piece of work, and the cause of its wait."""
    wait = WAITS[span.waited_for] if span.waited_for else None
    return ", ".join(part for part in (span.outcome, wait) if part)


class TimelineRow(NamedTuple):
    """Pieces of work that are drawn in one row."""

    title: str
    """Name of the pieces."""
    spans: tuple[Span, ...]
    """Pieces of work, one at least, in the order of their requests."""

    @property
    def start_ns(self) -> float:
        """Time of the request for the first piece, in nanoseconds."""
        return self.spans[0].start_ns

    @property
    def end_ns(self) -> float:
        """End of the last piece, in nanoseconds."""
        return max(span.end_ns for span in self.spans)

    @property
    def note(self) -> str:
        """Outcome and cause of the wait of a single piece; for several pieces, their number."""
        return note(self.spans[0]) if len(self.spans) == 1 else f"{len(self.spans)} times"

    @property
    def has_waited(self) -> bool:
        """True for a single piece that had to wait."""
        return len(self.spans) == 1 and self.spans[0].waited_for is not None


def kind(span: Span) -> str:
    """Returns the title without the slot of a lock."""
    return re.sub(r" in slot \d+$", "", title(span))


def rows(explanation: Explanation) -> list[TimelineRow]:
    """Returns the rows of a timeline, in the order of the requests of their first pieces."""
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
