"""What Ctrl-C does while the command is being loaded, which takes a third of a second: there is nothing to keep yet.

It is the first that the package imports. As long as the rest loads, Ctrl-C ends the process with the exit code and the
words that it ends with later. What imports the package as a library keeps its own way with Ctrl-C.
"""

import os
import signal
import sys
from types import FrameType

EXIT_CTRL_C = 128 + signal.SIGINT

MODULES = ("casemate", "casemate.cli")
"""The command, as `python -m` has it."""


def _is_command() -> bool:
    """Whether this process is the command, and not a program that imports the package."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":
        words = sys.orig_argv
        return "-m" in words[:-1] and words[words.index("-m") + 1] in MODULES
    return os.path.basename(program) == "casemate"


def _end(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"casemate: interrupted by Ctrl-C\n")
    # Nothing of this process has begun, and Python would say where it was.
    os._exit(EXIT_CTRL_C)


def begin() -> None:
    """Takes Ctrl-C until the command does, unless the process is deaf to it."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def end() -> None:
    """Gives Ctrl-C back to Python, which raises `KeyboardInterrupt` for it."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


begin()
