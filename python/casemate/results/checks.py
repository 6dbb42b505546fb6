"""The built-in check of a run: its comparisons, and its verdict."""

from typing import Literal

from casemate.results.base import Result


class Lines(Result):
    """Comparison of every line read from memory with the line that was last written."""

    lines_checked: int
    """Lines that were read back and compared."""
    lines_wrong: int
    """Lines that were read back with other content than was written."""


class WrongLoad(Result):
    """A load with a recorded value other than that of the simulated memory."""

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
    """Comparison of the program's loaded values with the simulated memory."""

    compared: int
    """Number of compared loads."""
    different: int
    """Loads, among these, with a different recorded value."""
    in_other_order: int
    """Loads, among the different ones, of lines that another thread or process stored to in an order that the recording
    does not state or that the simulation changed.
    """
    threads: int
    """Threads of all programs."""
    processes: int
    """Processes of all programs."""
    first: tuple[WrongLoad, ...]
    """First differences that the order of threads and processes does not explain; if it explains all, the first
    differences.
    """
    verdict: Literal["same", "other-order", "wrong"]
    """`other-order`: the order of threads and processes explains every difference. `wrong`: some differences remain
    unexplained and are errors.
    """


class CandidateCheck(Result):
    """Comparison of two ways to find matching candidates: by encryption, and by decryption, as the cipher is a
    permutation.
    """

    lines: int
    """Lines for which all candidates were really encrypted."""
    disagreeing: int
    """Chunks of these lines for which the two ways disagree."""


class NotCompared(Result):
    """A program without compared load values, although the user requested the comparison."""

    program: str
    """The program on one line."""
    reason: Literal["drawn", "not-recorded", "nothing-loaded"]
    """Reason: the trace has no values, so that a seed generates them; the trace was recorded without load values; or
    the program loaded no value.
    """


class Checks(Result):
    """Results of the built-in check of a run."""

    lines: Lines
    """Comparison of all lines."""
    lines_lost: int
    """Lines with their latest content neither in memory nor in a cache at the end of the run."""
    lines_stranded: int
    """Lines that the chip held as ciphertext only, since the L2 that had decrypted them lost its copy."""
    false_alarm: dict[Literal["tag", "tree", "exhausted"], int] | None
    """Reported tampering although no attacker was present: the line or slot."""
    pad_reused: bool | None
    """True if any pad encrypted two texts; null if the ledger was off."""
    candidates: CandidateCheck | None = None
    """Candidates of a speculation that were really encrypted; null without speculation."""
    load_values: LoadValues | None
    """Comparison of the values that the program loaded, if they were recorded."""
    not_compared: tuple[NotCompared, ...] = ()
    """Programs without compared load values, if `check_values` requested them. The check then has not passed."""
    passed: bool
    """True if all comparisons above are right, and at least one comparison took place."""

    @property
    def verdict(self) -> str:
        """Returns the outcome in a word: `passed`, `FAILED`, `FALSE ALARM`, or `not checked`. The last means that no
        error was found, but that no line, or no load value that should have been compared, was compared.
        """
        if self.false_alarm:
            return "FALSE ALARM"
        if self.passed:
            return "passed"
        is_wrong = (
            self.lines.lines_wrong + self.lines_lost + self.lines_stranded > 0
            or bool(self.pad_reused)
            or (self.candidates is not None and self.candidates.disagreeing > 0)
            or (self.load_values is not None and self.load_values.verdict == "wrong")
        )
        return "FAILED" if is_wrong else "not checked"
