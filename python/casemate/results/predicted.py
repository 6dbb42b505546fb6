"""What tables of frequent values would have predicted of the lines that came from memory."""

from casemate.results.base import Result

WORDS_PER_LINE = 8


class Predicted(Result):
    """What a table would have predicted. A line is looked up before the table learns from it."""

    values: int
    """Values in the table."""
    lines: int
    """Lines that came from memory."""
    words: int
    """Words of 64 bits, of theirs, that the table held."""
    pairs: int
    """Blocks of 128 bits of which it held both words."""
    reordered_pairs: int
    """The same if each line's frequent words came first, in order."""
    whole_lines: int
    """Lines of which it held all words."""

    @property
    def share(self) -> float | None:
        """The part of all words that the table held (Shi and Lee, figure 5); nothing without a line."""
        return self.words / (WORDS_PER_LINE * self.lines) if self.lines else None

    @property
    def covered(self) -> float | None:
        """The part of these that lie in a block of 128 bits with another (figure 6); nothing without one."""
        return 2 * self.pairs / self.words if self.words else None

    @property
    def covered_reordered(self) -> float | None:
        """The same with each line's frequent words first."""
        return 2 * self.reordered_pairs / self.words if self.words else None
