"""Ctrl-C and SIGTERM: the first signal ends the work in good order, so that finished results are kept; the second ends
the process.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from casemate.starting import EXIT_CTRL_C

EXIT_TERMINATED = 128 + signal.SIGTERM

_terminated = False


@contextmanager
def listening() -> Iterator[None]:
    """Handles SIGTERM like Ctrl-C inside the context. Python permits this only in the main thread."""
    global _terminated
    _terminated = False
    before = signal.signal(signal.SIGTERM, _take)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _take(_number: int, _frame: FrameType | None) -> None:
    global _terminated
    _terminated = True
    raise KeyboardInterrupt


def cause() -> str:
    """Returns the signal that ended the work, for people."""
    return "SIGTERM" if _terminated else "Ctrl-C"


def exit_code() -> int:
    """Returns the exit code of work that a signal ended, as shells define it."""
    return EXIT_TERMINATED if _terminated else EXIT_CTRL_C
