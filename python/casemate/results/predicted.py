"""What tables of frequent values predicted of the lines that came from memory, or would have."""

from typing import Literal

from casemate.results.base import Result

WORDS_PER_LINE = 8


class SpeculationDesign(Result):
    """The speculation of a design on what lines hold."""

    values: int
    """Frequent values in the table; none if there is no speculation."""
    of: tuple[Literal["ciphertext", "tag"], ...]
    """What is speculated on."""
    tracking: Literal["counted", "lru", "fixed"]
    """How the table learns."""
    reorder: bool = False
    """Whether a line's frequent words are put before the others when it is written."""
    bitmap: Literal["bound", "loose"] = "bound"
    """What vouches for the bitmaps of re-ordered lines: the tags of their chunks, or nothing."""
    list: tuple[int, ...] = ()
    """What the table holds at power-on, the most frequent first; each as a signed number of 64 bits."""


class Predictable(Result):
    """How predictable lines were. A line is looked up before the table learns from it."""

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


class Predicted(Predictable):
    """What a table that watched would have predicted."""

    values: int
    """Values in the table."""


class Speculation(Predictable):
    """What the speculation of a design predicted, and what came of it."""

    hits: int
    """Chunks whose candidate was out when they came."""
    late_hits: int
    """Chunks whose candidate came out later, and before they were decrypted and verified."""
    squashed: int
    """Chunks that were decrypted and verified before their candidate was out."""
    misses: int
    """Chunks that were no candidate."""
    offered: int
    """Blocks that were offered to the cipher's units as idle work."""
    given_up: int
    """Those of them that were given up before they had gone in."""

    @property
    def gone_in(self) -> int:
        """Blocks of candidates that the units took."""
        return self.offered - self.given_up

    @property
    def chunks(self) -> int:
        """All chunks."""
        return self.hits + self.late_hits + self.squashed + self.misses
