"""Ctrl-C and SIGTERM: the first ends the work in good order, so that what is finished is kept; the second gives up."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from casemate.starting import EXIT_CTRL_C

EXIT_TERMINATED = 128 + signal.SIGTERM

_terminated = False


@contextmanager
def listening() -> Iterator[None]:
    """Takes SIGTERM for Ctrl-C as long as this lasts. Only the main thread may, as Python has it."""
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
    """What ended the work, for people."""
    return "SIGTERM" if _terminated else "Ctrl-C"


def exit_code() -> int:
    """The exit code of work that was ended so, as shells have it."""
    return EXIT_TERMINATED if _terminated else EXIT_CTRL_C
