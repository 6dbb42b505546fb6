"""A table that never cuts a number. On a screen that is too narrow, its words wrap first. If the table is still too
wide, its last columns move into a further table below, with the same names in front.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table

from casemate.terminal.plain import MOST_COLUMNS

LEAST_WORD = 4
"""Minimum number of letters in each line of a broken word."""


@dataclass(frozen=True)
class _Width:
    """Width of a column with words that wrap, and without wrapping."""

    least: int
    most: int


class SplitTable(Table):
    """A table in which the first columns are the names of the rows."""

    row_names: int | None = None
    """Number of columns that are names of rows; by default, all up to the first that does not wrap."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields the table in one part, or in as many parts as the screen requires."""
        for part in self._parts(console, options):
            yield from Table.__rich_console__(part, console, options)

    def _parts(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        wide = options.update(max_width=MOST_COLUMNS)
        widths = [self._width(console, wide, column) for column in self.columns]
        names = self.row_names or self._unwrapped() or 1

        def fits(columns: Sequence[int]) -> bool:
            return self._besides(console, wide, [*range(names), *columns], widths) >= 0

        for columns in _grouped(range(names, len(self.columns)), fits):
            yield self._part(console, wide, [*range(names), *columns], widths)

    def _unwrapped(self) -> int:
        """Returns the index of the first column that does not wrap."""
        return next((at for at, column in enumerate(self.columns) if column.no_wrap), len(self.columns))

    def _width(self, console: Console, wide: ConsoleOptions, column: Column) -> _Width:
        cells = [column.header, *column.cells] if self.show_header else list(column.cells)
        found = [Measurement.get(console, wide, cell) for cell in cells]
        most = max(each.maximum for each in found)
        if column.no_wrap:
            return _Width(most, most)
        least = max(min(column.min_width or 0, most), *(each.minimum for each in found))
        return _Width(least, max(least, min(most, column.max_width or most)))

    def _besides(self, console: Console, wide: ConsoleOptions, shown: Sequence[int], widths: Sequence[_Width]) -> int:
        """Returns the width of the screen minus the minimum width of these columns."""
        least = self._made(shown, [widths[at].least for at in shown])
        return console.width - Measurement.get(console, wide, least).maximum

    def _part(self, console: Console, wide: ConsoleOptions, shown: Sequence[int], widths: Sequence[_Width]) -> Table:
        """Returns a table of these columns, which share the remaining width of the screen for their words."""
        room = self._besides(console, wide, shown, widths)
        if room < 0:
            return self._made(shown, self._folded(shown, widths, -room))
        wanted = sum(widths[at].most - widths[at].least for at in shown)
        given = list[int]()
        for at in shown:
            wants = widths[at].most - widths[at].least
            given.append(widths[at].least + (wants if wanted <= room else wants * room // wanted))
        return self._made(shown, given)

    def _folded(self, shown: Sequence[int], widths: Sequence[_Width], excess: int) -> list[int]:
        """Returns widths for columns with words that do not fit: it narrows the columns with the widest words, and no
        column of numbers.
        """
        found = {at: widths[at].least for at in shown}
        wrapping = [at for at in shown if not self.columns[at].no_wrap and found[at] > LEAST_WORD]
        while excess > 0 and wrapping:
            widest = max(wrapping, key=lambda at: found[at])
            found[widest], excess = found[widest] - 1, excess - 1
            wrapping = [at for at in wrapping if found[at] > LEAST_WORD]
        return [found[at] for at in shown]

    def _made(self, shown: Sequence[int], widths: Sequence[int]) -> Table:
        part = Table(
            box=self.box, header_style=self.header_style, pad_edge=self.pad_edge, padding=self.padding,
            show_header=self.show_header,
        )  # fmt: skip
        columns = [self.columns[at] for at in shown]
        for column, width in zip(columns, widths, strict=True):
            part.add_column(column.header, justify=column.justify, no_wrap=column.no_wrap, width=width, overflow="fold")
        for row, *cells in zip(self.rows, *(column.cells for column in columns), strict=True):
            part.add_row(*cells, style=row.style, end_section=row.end_section)
        return part


def _grouped(columns: Sequence[int], fits: Callable[[Sequence[int]], bool]) -> list[Sequence[int]]:
    """Divides columns into as few groups as fit the screen, of about equal size if groups of equal size fit too."""
    groups = list[list[int]]([[]])
    for column in columns:
        if groups[-1] and not fits([*groups[-1], column]):
            groups.append([])
        groups[-1].append(column)
    size = -(-len(columns) // len(groups)) or 1
    even = [columns[at : at + size] for at in range(0, len(columns), size)] or [columns]
    return even if all(map(fits, even)) else [*groups]
