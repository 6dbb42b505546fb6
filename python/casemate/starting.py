"""Handles Ctrl-C while Python loads the command, which takes a third of a second; no result exists yet.

The package imports this module first. While the other modules load, Ctrl-C ends the process with the same exit code and
message as later. A program that imports the package as a library keeps the program's handling of Ctrl-C.
"""

import os
import signal
import sys
from types import FrameType

EXIT_CTRL_C = 128 + signal.SIGINT

MODULES = ("casemate",)
"""Names of modules that run the command under `python -m`."""


def _is_command() -> bool:
    """Returns true if this process is the command, and not a program that imports the package."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":
        words = sys.orig_argv
        return "-m" in words[:-1] and words[words.index("-m") + 1] in MODULES
    return os.path.basename(program) == "casemate"


def _end(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"casemate: interrupted by Ctrl-C\n")
    # End at once: the process has not begun any work, and Python would print a traceback.
    os._exit(EXIT_CTRL_C)


def begin() -> None:
    """Handles Ctrl-C until the command does, unless the process ignores it."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def end() -> None:
    """Restores Python's handling of Ctrl-C, which raises `KeyboardInterrupt`."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


begin()
