"""The built-in check of a run: its comparisons of lines, values and pads, and its verdict."""

from typing import Literal

from casemate.schemas.base import Result


class Lines(Result):
    """Comparison of every line that the controller reads from memory with the content last written to it."""

    lines_checked: int
    """Number of lines that were read back and compared."""
    lines_wrong: int
    """Number of lines with other content than was last written."""


class WrongLoad(Result):
    """A load with a recorded value that differs from the simulated memory."""

    process: int
    """Process of the loading thread."""
    thread: int
    """Number of the thread."""
    pc: int
    """Address of the instruction."""
    address: int
    """Address of the first loaded byte."""
    bytes: int
    """Number of loaded bytes."""


class LoadValues(Result):
    """Comparison of the values that the program loaded with the simulated memory."""

    compared: int
    """Number of compared loads."""
    different: int
    """Loads, among these, with a different recorded value."""
    in_other_order: int
    """Loads, among the different ones, of lines that another thread or process stored to in an order that the recording
    does not state or that the simulation changed.
    """
    threads: int
    """Number of threads of all programs."""
    processes: int
    """Number of processes of all programs."""
    first: tuple[WrongLoad, ...]
    """First differences that the order of threads and processes does not explain; if this order explains all, the first
    differences.
    """
    verdict: Literal["same", "other-order", "wrong"]
    """`other-order`: the order of threads and processes explains every difference. `wrong`: some differences remain
    unexplained and are errors.
    """


class CandidateCheck(Result):
    """Comparison of two ways to decide whether a speculated candidate matches a chunk: by encryption of the candidate,
    and by decryption of the chunk, since the cipher is a permutation.
    """

    lines: int
    """Number of lines for which the simulator really encrypted all candidates."""
    disagreeing: int
    """Number of chunks in these lines for which the two ways disagree."""


class NotCompared(Result):
    """A program without any compared load value, although the user requested the comparison."""

    program: str
    """The program on one line."""
    reason: Literal["drawn", "not-recorded", "nothing-loaded"]
    """Reason: the trace contains no values, so that a seed generates them; the trace was recorded without load values;
    or the program loaded no value.
    """


class Checks(Result):
    """Results of the built-in check of a run."""

    lines: Lines
    """Comparison of all lines read from memory."""
    lines_lost: int
    """Number of lines with their latest content neither in memory nor in a cache at the end of the run."""
    lines_stranded: int
    """Number of lines that the chip held only as ciphertext, since the L2 that had decrypted the line lost its copy."""
    false_alarm: dict[Literal["tag", "tree", "exhausted"], int] | None
    """False alarm: the line or slot for which the design reported tampering, although no attacker was present."""
    pad_reused: bool | None
    """True if any encryption pad was used for two texts; null if the ledger was off."""
    candidates: CandidateCheck | None = None
    """Check of a sample of the speculated candidates; null in a design without speculation."""
    load_values: LoadValues | None
    """Comparison of the values that the program loaded, if they were recorded."""
    not_compared: tuple[NotCompared, ...] = ()
    """Programs without any compared load value, if `check_values` requested the comparison; the check then has not
    passed.
    """
    passed: bool
    """True if all comparisons above found no error, and at least one comparison took place."""

    @property
    def verdict(self) -> str:
        """Returns the outcome in a word: `passed`, `not in order`, `FAILED`, `FALSE ALARM`, or `not checked`. `not in
        order` means that threads reached memory in another order than recorded, which explains each difference. `not
        checked` means that the check found no error, but compared no line, or not the load values that the user
        requested.
        """
        if self.false_alarm:
            return "FALSE ALARM"
        if self.passed:
            return "not in order" if self.load_values and self.load_values.verdict == "other-order" else "passed"
        is_wrong = (
            self.lines.lines_wrong + self.lines_lost + self.lines_stranded > 0
            or bool(self.pad_reused)
            or (self.candidates is not None and self.candidates.disagreeing > 0)
            or (self.load_values is not None and self.load_values.verdict == "wrong")
        )
        return "FAILED" if is_wrong else "not checked"
