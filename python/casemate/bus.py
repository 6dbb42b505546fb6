"""What crossed the pins of memory in a run: reads the files that `casemate run --bus FILE` writes.

    >>> from casemate.bus import BusFile
    >>> file = BusFile("gups.bus")
    >>> file.header.configuration.design.name
    'sc64-bmt'
    >>> for crossing in file:
    ...     print(crossing.time_fs, crossing.kind, hex(crossing.line * 64))

For a table there are columns, block by block, which numpy and pandas take as they are:

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

from casemate import laboratory
from casemate.results.bus import BusEvent, BusHeader, BusInfo, BusTotals

WRITE = 1
"""The flag of a write; a read has it not."""
NO_BURST = 2
"""The flag of what moved no line of its own: a read that memory's controller answered from its queue of writes, a write
that replaced one there."""
WITH_CONTENT = 4
"""The flag of what has its bytes in the file."""
LINE_BYTES = 64
CONTENT_BYTES = LINE_BYTES + 8
"""A line, and the spare bits that go with it."""


class Crossing(NamedTuple):
    """One line at the pins."""

    time_fs: int
    """When, in femtoseconds from power-on: of a read its last data, of a write the moment at which memory's controller
    took it."""
    line: int
    """The number of the line, as memory's channels number them; times 64, its address."""
    kind: Literal["read", "write"]
    """Whether it went to the chip or to the memory."""
    burst: bool
    """Whether a line moved for it alone: not for what was answered or replaced in the controller's queue of writes."""
    content: bytes | None
    """The line, 64 bytes; nothing if it was never written, or if the file is without bytes."""
    spare: int
    """Its 64 spare bits, which an ECC module sends with it; zero where no tag is there."""


@dataclass(frozen=True)
class Block:
    """A stretch of crossings, in columns: an entry for each in the first three."""

    times_fs: "array[int]"
    """Femtoseconds from power-on, 64 bits each; never less than before."""
    lines: "array[int]"
    """Numbers of lines, 64 bits each."""
    flags: bytes
    """`WRITE`, `NO_BURST` and `WITH_CONTENT`, a byte each."""
    contents: bytes
    """`CONTENT_BYTES` for each crossing with `WITH_CONTENT`, in order: the line, then its spare bits, little-endian."""

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
    """A file of what crossed the pins. Each iteration reads it from its beginning, a block at a time.

    Raises `CasemateError` if the file is none, cut off, damaged or of another version: at once, or where that is found.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.header = BusHeader.model_validate_json(laboratory.BusFile(str(path)).header())
        """What it is about: the run's whole configuration, whether bytes are there, how slots lie on lines."""
        self.totals: BusTotals | None = None
        """How much crossed; known when all was read once."""

    def blocks(self) -> Iterator[Block]:
        """The crossings in columns, up to some hundred thousand at a time."""
        file = laboratory.BusFile(str(self.path))
        while (columns := file.next_block()) is not None:
            times, lines, flags, contents = columns
            yield Block(array("Q", times), array("Q", lines), flags, contents)
        self.totals = BusTotals.model_validate_json(file.totals())

    def __iter__(self) -> Iterator[Crossing]:
        """The crossings, one by one."""
        for block in self.blocks():
            yield from block


def info(path: str | os.PathLike[str], first: int = 10) -> BusInfo:
    """What a file holds, and the first crossings. All of it is read and checked."""
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
        kind=crossing.kind,
        burst=crossing.burst,
        bytes=None if content is None else content.hex(),
    )
