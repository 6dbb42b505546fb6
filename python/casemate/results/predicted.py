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
    def share(self) -> float:
        """The part of all words that the table held (Shi and Lee, figure 5); zero without a line."""
        return self.words / max(WORDS_PER_LINE * self.lines, 1)

    @property
    def covered(self) -> float:
        """The part of these that lie in a block of 128 bits with another (figure 6); zero without one."""
        return 2 * self.pairs / max(self.words, 1)

    @property
    def covered_reordered(self) -> float:
        """The same with each line's frequent words first."""
        return 2 * self.reordered_pairs / max(self.words, 1)
