"""Ctrl-C, SIGTERM and SIGHUP: the first signal ends the work in good order, so that finished results are kept; the
second ends the process.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

HANDLED = (signal.SIGTERM, signal.SIGHUP)
"""Signals that are handled like Ctrl-C."""

_received = signal.SIGINT


@contextmanager
def listening() -> Iterator[None]:
    """Handles SIGTERM and SIGHUP like Ctrl-C inside the context, except a signal that the process ignores, as SIGHUP
    under nohup. Python permits this only in the main thread.
    """
    global _received
    _received = signal.SIGINT
    before = {number: signal.getsignal(number) for number in HANDLED}
    handled = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, _take)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])


def _take(number: int, _frame: FrameType | None) -> None:
    global _received
    _received = signal.Signals(number)
    raise KeyboardInterrupt


def cause() -> str:
    """Returns the signal that ended the work, for people."""
    return "Ctrl-C" if _received == signal.SIGINT else _received.name


def exit_code() -> int:
    """Returns the exit code of work that a signal ended, as shells define it."""
    return 128 + _received
