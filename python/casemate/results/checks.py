"""The built-in check of a run: the comparisons that it made, and its verdict."""

from typing import Literal

from casemate.results.base import Result


class Lines(Result):
    """Every line that came up from memory against what had gone down."""

    lines_checked: int
    """Lines that came back and were compared."""
    lines_wrong: int
    """Lines that came back other than they went."""


class WrongLoad(Result):
    """A load whose recorded value was another than the simulated memory had."""

    process: int
    """The process of the thread that loaded."""
    thread: int
    """The thread."""
    pc: int
    """The address of the instruction."""
    address: int
    """The address of the first byte that was loaded."""
    bytes: int
    """How many bytes were loaded."""


class LoadValues(Result):
    """The values that the program loaded, against those of the simulated memory."""

    compared: int
    """Loads that were compared."""
    different: int
    """Of these, loads whose recorded value was another."""
    in_other_order: int
    """Of these, loads of lines that another thread or process stored to in an order that the recording does not state,
    or that the simulation changed."""
    threads: int
    """Threads of all programs."""
    processes: int
    """Processes of all programs."""
    first: tuple[WrongLoad, ...]
    """The first differences that the order of threads and processes does not explain; if it explains all, the first."""
    verdict: Literal["same", "other-order", "wrong"]
    """`other-order`: the order of threads and processes explains every difference. `wrong`: it does not explain some,
    which are errors."""


class CandidateCheck(Result):
    """Candidates of a speculation against what a permutation says of them."""

    lines: int
    """Lines of which all were really encrypted."""
    disagreeing: int
    """Chunks of these of which that gave another outcome."""


class NotCompared(Result):
    """A program of which no load value was compared, though that was asked for."""

    program: str
    """The program on one line."""
    reason: Literal["drawn", "not-recorded", "nothing-loaded"]
    """Why not: its trace has no values, and they are drawn from a seed; its trace was recorded without them; or it
    loaded nothing in the part that was run."""


class Checks(Result):
    """The built-in check of a run."""

    lines: Lines
    """The comparison of lines."""
    lines_lost: int
    """Lines whose latest content was at the end neither in memory nor in a cache."""
    lines_stranded: int
    """Lines of which the chip had nothing but ciphertext, since the L2 that had decrypted them had lost its copy."""
    false_alarm: dict[Literal["tag", "tree", "exhausted"], int] | None
    """Tampering that was reported, though there was no attacker: the line or slot."""
    pad_reused: bool | None
    """Whether any pad hid two texts; nothing if the ledger was off."""
    candidates: CandidateCheck | None = None
    """Candidates of a speculation that were really encrypted; nothing without one."""
    load_values: LoadValues | None
    """The values that the program loaded, if they were recorded."""
    not_compared: tuple[NotCompared, ...] = ()
    """The programs of which no load value was compared, if `check_values` asked for that; then the check has not
    passed."""
    passed: bool
    """Whether everything above is as it must be, and something was compared at all."""

    @property
    def verdict(self) -> str:
        """The outcome in a word: `passed`, `FAILED`, `FALSE ALARM`, or `not checked` where nothing is wrong, but no
        line or no load value was compared that should have been.
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
