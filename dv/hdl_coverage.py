"""Coverage of rtl/: Verilator's counters, added over all instances, points and runs.

Verilator writes a line `C '<key><value>...' <count>` for each point that it counts. Byte 0x01 precedes a key, and 0x02
its value. Key `f` is the file, `l` the line, `n` the column, `o` the counted object and `h` the instance. Key `page`
begins with the kind: `v_line`, `v_branch` or `v_toggle`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

KINDS = {"v_line": "line", "v_branch": "line", "v_toggle": "toggle"}


@dataclass(frozen=True, order=True)
class Spot:
    """A counted point of a source file, the same for all instances."""

    file: str
    kind: str
    line: int
    column: int
    what: str


def parsed(text: str) -> Counter[Spot]:
    """Reads a coverage file of Verilator; returns the count of each spot."""
    counts: Counter[Spot] = Counter()
    for key, count in re.findall(r"^C '(.*)' (\d+)$", text, flags=re.MULTILINE):
        fields = dict(field.split("\x02", 1) for field in key.split("\x01")[1:])
        kind = KINDS.get(fields.get("page", "").partition("/")[0])
        if kind:
            spot = Spot(Path(fields["f"]).name, kind, int(fields["l"]), int(fields.get("n", 0)), fields.get("o", ""))
            counts[spot] += int(count)
    return counts


def table(counts: Counter[Spot], files: Iterable[Path]) -> tuple[list[str], dict[str, float]]:
    """Returns the rows of the table (one for each file), and the percentage of each kind over all files."""
    names = [path.name for path in files]
    seen: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for spot, count in counts.items():
        for row in (spot.file, "all") if spot.file in names else ():
            seen[row, spot.kind][0] += count > 0
            seen[row, spot.kind][1] += 1
    rows = [f"{'file':26} {'lines':>16} {'toggles':>18}"]
    for name in (*names, "all"):
        cells = [seen[name, kind] for kind in ("line", "toggle")]
        texts = [f"{100 * hit / of:5.1f} % of {of}" if of else "-" for hit, of in cells]
        rows.append(f"{name:26} {texts[0]:>16} {texts[1]:>18}")
    shares = {kind: 100 * seen["all", kind][0] / max(seen["all", kind][1], 1) for kind in ("line", "toggle")}
    return rows, shares


def missed(counts: Counter[Spot], files: Iterable[Path]) -> list[str]:
    """Lists the lines that no test reached, and the signals with the number of bit changes that never occurred."""
    names = {path.name for path in files}
    zero = sorted(spot for spot, count in counts.items() if count == 0 and spot.file in names)
    lines = sorted({(spot.file, spot.line) for spot in zero if spot.kind == "line"})
    signals = Counter((spot.file, re.split(r"[\[:]", spot.what)[0]) for spot in zero if spot.kind == "toggle")
    return [
        *(f"{file}:{line}: not reached" for file, line in lines),
        *(f"{file}: {signal}: {bits} changes of bits not seen" for (file, signal), bits in sorted(signals.items())),
    ]
