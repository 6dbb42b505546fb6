# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Results of flips: reads the output of an injector, sums it and formats it as tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

# Results of a flip, by their names in the injector's output, with the titles of their columns.
ENDS = {
    "same": "as without",
    "alert": "halted",
    "refused": "refused",
    "lost": "lost",
    "misaddressed": "other id",
    "wrong": "wrong",
    "wrong_alert": "wrong+halt",
    "released": "RELEASED",
}
LEGEND = """\
as without: all responses are as without the flip, so a line that is not authentic is refused
halted: the alert is raised, no more responses       refused: an authentic line is refused
lost: a response never arrives                       other id: a response has an id that no request has
wrong: another line is accepted with a wrong result (wrong+halt: and then the lane halts)
RELEASED: a line that is not authentic is accepted, or outputs show a word of it, of a pad or of a key"""


@dataclass
class Outcome:
    """Results of all flips of a history on a lane."""

    point: str
    history: str
    share: int
    # Wide registers, or first elements of wide registers, with all bits flipped.
    whole: tuple[str, ...] = ()
    cycles: int = 0
    registers: dict[str, dict[str, int]] = field(default_factory=dict)
    releases: list[tuple[str, int, int]] = field(default_factory=list)
    # Error message if the injector failed, else empty.
    broken: str = ""

    def take(self, line: str) -> None:
        """Adds a line of the injector's output."""
        words = line.split()
        if words[0] == "of":
            self.registers[words[1]] = dict(zip(words[2::2], map(int, words[3::2]), strict=True))
        elif words[0] == "release":
            self.releases.append((words[1], int(words[2]), int(words[3])))
        elif words[0] == "run":
            self.cycles = int(words[6]) - int(words[4]) + 1

    def ended(self, end: str) -> int:
        """Returns the number of flips with this result."""
        return sum(counts[end] for counts in self.registers.values())

    @property
    def flips(self) -> int:
        """Number of flips over all registers."""
        return sum(self.ended(end) for end in ENDS)


def header() -> str:
    """Returns the titles of the columns of `row`."""
    return f"{'history':18} {'cycles':>6} {'flips':>9} " + " ".join(f"{title:>10}" for title in ENDS.values())


def row(name: str, outcomes: Iterable[Outcome]) -> str:
    """Returns one row with the sums of the outcomes."""
    listed = list(outcomes)
    counts = [sum(outcome.ended(end) for outcome in listed) for end in ENDS]
    cycles = sum(outcome.cycles for outcome in listed)
    return f"{name:18} {cycles:6} {sum(counts):9,} " + " ".join(f"{count:10,}" for count in counts)


def by_register(outcome: Outcome) -> list[str]:
    """Lists the registers with flips that GCM does not detect: a wrong line or id was output, or a secret released."""
    rows = []
    for name, counts in sorted(outcome.registers.items()):
        total = sum(counts.values())
        for end in ("released", "wrong", "wrong_alert", "misaddressed"):
            if counts[end]:
                rows.append(f"  {name:44} {counts[end]:8,} of {total:8,} {ENDS[end].lower()}")
    return rows


def write(outcomes: list[Outcome], path: Path) -> None:
    """Writes all counts by register to a JSON file."""
    path.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n")
