"""Predictions by tables of frequent values for the lines that arrived from memory."""

from typing import Literal

from casemate.schemas.base import Result

WORDS_PER_LINE = 8


class SpeculationDesign(Result):
    """Speculation of a design on the content of lines."""

    values: int
    """Number of frequent values in the table; 0 without speculation."""
    of: tuple[Literal["ciphertext", "tag"], ...]
    """Parts of a chunk that the design speculates on."""
    tracking: Literal["counted", "lru", "fixed"]
    """Update policy of the table."""
    reorder: bool = False
    """True if a write puts a line's frequent words before the other words."""
    bitmap: Literal["bound", "loose"] = "bound"
    """Protection of the bitmaps of re-ordered lines: the tags of their chunks (`bound`), or no protection (`loose`)."""
    list: tuple[int, ...] = ()
    """Content of the table at power-on, the most frequent value first; each as a signed number of 64 bits."""


class Predictable(Result):
    """Predictability of lines. The table is looked up for a line before it learns from the line."""

    lines: int
    """Lines that arrived from memory."""
    words: int
    """Words of 64 bits, in these lines, that the table contained."""
    pairs: int
    """Blocks of 128 bits with both words in the table."""
    reordered_pairs: int
    """Blocks with both words in the table if each line's frequent words were first, in order."""
    whole_lines: int
    """Lines with all their words in the table."""

    @property
    def share(self) -> float | None:
        """Share of words that the table contained (Shi and Lee, figure 5); `None` without a line."""
        return self.words / (WORDS_PER_LINE * self.lines) if self.lines else None

    @property
    def covered(self) -> float | None:
        """Share of the predicted words that form a block of 128 bits with another predicted word (figure 6); `None`
        without a word.
        """
        return 2 * self.pairs / self.words if self.words else None

    @property
    def covered_reordered(self) -> float | None:
        """Share of the predicted words in blocks with two predicted words, if each line's frequent words were first;
        `None` without a word.
        """
        return 2 * self.reordered_pairs / self.words if self.words else None


class Predicted(Predictable):
    """Predictions of a table that only observes."""

    values: int
    """Number of values in the table."""


class FrequentWord(Result):
    """A word of 64 bits in lines to and from memory."""

    word: str
    """The word, in hexadecimal, as in `0x1f`."""
    count: int
    """Number of times that it was in a line from memory, or in a line that was written back."""


class Speculation(Predictable):
    """Predictions of a design's speculation, and their outcome."""

    hits: int
    """Chunks with a matching candidate that was already encrypted when the chunk arrived."""
    late_hits: int
    """Chunks with a matching candidate that was encrypted later, but before the chunk was decrypted and verified."""
    squashed: int
    """Chunks that were decrypted and verified before their matching candidate was encrypted."""
    misses: int
    """Chunks that matched no candidate."""
    offered: int
    """Candidate blocks that the controller offered to the cipher units, to encrypt when idle."""
    given_up: int
    """Blocks, among these, that the controller gave up before a unit accepted them."""

    @property
    def gone_in(self) -> int:
        """Candidate blocks that the units encrypted."""
        return self.offered - self.given_up

    @property
    def chunks(self) -> int:
        """Number of all chunks."""
        return self.hits + self.late_hits + self.squashed + self.misses
