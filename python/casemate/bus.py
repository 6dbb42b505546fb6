"""Reads the lines that crossed the pins of memory in a run, from the files that `casemate run --bus FILE` writes.

    >>> from casemate.bus import BusFile
    >>> file = BusFile("gups.bus")
    >>> file.header.configuration.design.name
    'sc64-bmt'
    >>> for crossing in file:
    ...     print(crossing.time_fs, crossing.kind, hex(crossing.line * 64))

For tables, `columns` returns the crossings block by block, as arrays that numpy and pandas accept without conversion:

    >>> for block in BusFile("gups.bus").blocks():
    ...     times, lines = numpy.asarray(block.times_fs), numpy.asarray(block.lines)

The layout of the file is in `docs/BUS_FORMAT.md`.
"""

import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from casemate.laboratory import native
from casemate.schemas.bus import BusEvent, BusHeader, BusInfo, BusTotals
from casemate.text import amounts, one_line

WRITE = 1
"""Flag of a write; reads do not have it."""
NO_BURST = 2
"""Flag of an event for which no line moved: a read that the memory controller answered from its write queue, or a write
that replaced one in that queue.
"""
WITH_CONTENT = 4
"""Flag of a line with its bytes in the file."""
LINE_BYTES = 64
CONTENT_BYTES = LINE_BYTES + 8
"""Bytes of a line and its spare bits."""


class Crossing(NamedTuple):
    """One line at the pins."""

    time_fs: int
    """Time in femtoseconds from power-on. The time of a read is that of its last data on the bus, the time of a write
    that of its acceptance by the memory controller.
    """
    line: int
    """Number of the line, as the memory channels count them; its address is 64 times this number."""
    kind: Literal["read", "write"]
    """Direction of the line: a read crosses from memory to the chip, a write from the chip to memory."""
    burst: bool
    """True if a line crossed the pins; false if the controller's write queue answered the read, or a later write
    replaced this one in the queue.
    """
    content: bytes | None
    """Content of the line, 64 bytes; `None` if it was never written, or if the file is without bytes."""
    spare: int
    """The 64 spare bits, which an ECC module sends with the line; zero without a tag."""


@dataclass(frozen=True, repr=False)
class Block:
    """A stretch of crossings, in columns: an entry for each in the first three."""

    times_fs: "array[int]"
    """Femtoseconds from power-on, 64 bits each, in ascending order."""
    lines: "array[int]"
    """Numbers of lines, 64 bits each."""
    flags: bytes
    """Flags of each crossing, a byte each: a sum of `WRITE`, `NO_BURST` and `WITH_CONTENT`."""
    contents: bytes
    """`CONTENT_BYTES` for each crossing with `WITH_CONTENT`, in order: the line, then its spare bits, little-endian."""

    def __repr__(self) -> str:
        return f"<Block of {amounts.counted(len(self.flags), 'crossing')}>"

    def __iter__(self) -> Iterator[Crossing]:
        """The crossings, one by one."""
        at = 0
        for time_fs, line, flags in zip(self.times_fs, self.lines, self.flags, strict=True):
            content, spare = None, 0
            if flags & WITH_CONTENT:
                content = self.contents[at : at + LINE_BYTES]
                spare = int.from_bytes(self.contents[at + LINE_BYTES : at + CONTENT_BYTES], "little")
                at += CONTENT_BYTES
            kind: Literal["read", "write"] = "write" if flags & WRITE else "read"
            yield Crossing(time_fs, line, kind, not flags & NO_BURST, content, spare)


class BusFile:
    """A file of the lines that crossed the pins. Each iteration reads the file from its beginning, a block at a time.

    Raises `CasemateError` if the file is no bus file, or is truncated, damaged or of another version: at once, or when
    an iteration reaches the damage.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.header = BusHeader.model_validate_json(native.BusFile(str(path)).header())
        """Header: the run's whole configuration, a flag for bytes, the mapping of slots to lines."""
        self.totals: BusTotals | None = None
        """Totals of the file; known after the first complete iteration."""

    def __repr__(self) -> str:
        run = self.header.configuration
        return one_line.between(
            "<BusFile ", f"{self.path}: {run.title} on {run.machine.name} under {run.design.name}", ">"
        )

    def blocks(self) -> Iterator[Block]:
        """The crossings in columns, up to some hundred thousand at a time."""
        file = native.BusFile(str(self.path))
        while (columns := file.next_block()) is not None:
            times, lines, flags, contents = columns
            yield Block(array("Q", times), array("Q", lines), flags, contents)
        self.totals = BusTotals.model_validate_json(file.totals())

    def __iter__(self) -> Iterator[Crossing]:
        """The crossings, one by one."""
        for block in self.blocks():
            yield from block


def info(path: str | os.PathLike[str], first: int = 10) -> BusInfo:
    """Returns header and totals of a file, and its first crossings. The function reads the whole file and checks it."""
    file, events = BusFile(path), list[Crossing]()
    for block in file.blocks():
        events += islice(block, first - len(events))
    assert file.totals is not None
    listed = tuple(_event(crossing) for crossing in events)
    return BusInfo(header=file.header, totals=file.totals, first=listed, file_bytes=file.path.stat().st_size)


def _event(crossing: Crossing) -> BusEvent:
    content = None if crossing.content is None else crossing.content + crossing.spare.to_bytes(8, "little")
    return BusEvent(
        time_fs=crossing.time_fs,
        line=crossing.line,
        address=64 * crossing.line,
        kind=crossing.kind,
        burst=crossing.burst,
        bytes=None if content is None else content.hex(),
    )
