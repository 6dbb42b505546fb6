# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How the scripts that check the hardware behave as commands: what they refuse, how they end, and what ends with them.

Exit codes are those of `casemate`: 0 if all holds, 1 if something does not, 2 for bad input and missing tools, and 128
and the signal's number if one ended the work: 130 is Ctrl-C. 141 is that of SIGPIPE: the reader of the output left, so
not everything was checked. Bad input is one line, since seven lines of usage hide what is wrong.

What is started gets a session of its own. SymbiYosys gives each solver a group of processes, so neither Ctrl-C at the
terminal nor the end of SymbiYosys's own group reaches them; the session does.

Of the package only `step` needs anything: scripts name a package that is missing before they load it.
"""

from __future__ import annotations

import argparse
import io
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from casemate.progress import Steps

BAD_INPUT = 2
SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}
SETUP = "run `make build` and `scripts/setup.sh .venv hw`"
# For make and compilers to remove what is half written.
GRACE_SECONDS = 2.0
BETWEEN_LOOKS_SECONDS = 0.01


class UnusableError(Exception):
    """What the user can mend, in one line: a tool that is not there, a request that makes no sense."""


class Parser(argparse.ArgumentParser):
    """A command line that is refused in one line."""

    def error(self, message: str) -> NoReturn:
        """Ends with it."""
        self.exit(BAD_INPUT, f"{self.prog}: {message}\n")


def hint(name: str, known: Iterable[str]) -> str:
    """`casemate.nearest.hint`, without the package around it, which may not be built."""
    nearest = runpy.run_path(str(Path(__file__).resolve().parents[1] / "python" / "casemate" / "nearest.py"))
    return str(nearest["hint"](name, known))


def unknown(name: str, known: Iterable[str]) -> str:
    """That there is no such name, with the nearest one, or with all if none is near."""
    listed = list(known)
    return f"there is no '{name}'{hint(name, listed) or ': expected one of ' + ', '.join(listed)}"


def one_of(known: Iterable[str]) -> Callable[[str], str]:
    """What an argument must be, as a `type` of argparse."""
    listed = list(known)

    def checked(name: str) -> str:
        if name not in listed:
            raise argparse.ArgumentTypeError(unknown(name, listed))
        return name

    return checked


@contextmanager
def ending(name: str) -> Iterator[None]:
    """Ends the process with a line and the code where the work inside is refused, interrupted, or no longer read."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except ModuleNotFoundError as error:
        sys.exit(_refused(name, f"the Python package '{error.name}' is missing: {SETUP}"))
    except UnusableError as error:
        sys.exit(_refused(name, str(error)))
    except KeyboardInterrupt as error:
        number = signal.Signals(error.args[0] if error.args else signal.SIGINT)
        print(f"{name}: interrupted by {SIGNALS[number]}", file=sys.stderr)
        sys.exit(128 + number)
    except BrokenPipeError:
        _discard_output(1, 2)
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        _discard_output(1)
        sys.exit(_refused(name, f"cannot use '{error.filename or 'standard output'}': {error.strerror or error}"))


def _discard_output(*streams: int) -> None:
    """What is still to be written goes nowhere, so that the end of the process does not fail once more."""
    for stream in streams:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def _refused(name: str, why: str) -> int:
    print(f"{name}: {why}", file=sys.stderr)
    return BAD_INPUT


def carry_out(name: str, work: Callable[[], int]) -> NoReturn:
    """Does a script's work, whose exit code is what it returns, and ends the process."""
    with ending(name):
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A reader gets a line when there is one, and work without a reader ends then.
            sys.stdout.reconfigure(line_buffering=True)
        for number in SIGNALS:
            # One that is ignored stays so: nohup, and the background of shells.
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _interrupt)
        code = work()
    sys.exit(code)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    # A second one would interrupt the ending of what was started.
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt(number)


@contextmanager
def started(command: Sequence[str | Path], **how: Any) -> Iterator[subprocess.Popen[str]]:
    """A program in a session of its own, which ends with all that it started if the work inside is broken off; `how` is
    that of `subprocess.Popen`. Raises `UnusableError` if there is no such program.
    """
    words = [str(word) for word in command]
    try:
        process = subprocess.Popen(words, text=True, stdin=subprocess.DEVNULL, start_new_session=True, **how)
    except FileNotFoundError as error:
        raise UnusableError(f"the program '{error.filename}' is missing: {SETUP}") from error
    with process:
        try:
            yield process
        except BaseException:
            _end_session(process.pid)
            raise


def run(command: Sequence[str | Path], **how: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end as `started` does; what it prints is in `stdout`, with its errors unless `how` has
    another `stderr`.
    """
    with started(command, **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **how}) as process:
        said, errors = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, said, errors)


def _end_session(session: int) -> None:
    """Ends all processes of a session: they are asked first, and made to after a while."""
    since = time.monotonic()
    asked = set[int]()
    while members := _members(session):
        late = time.monotonic() - since > GRACE_SECONDS
        for process in members if late else members - asked:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL if late else signal.SIGTERM)
        asked |= members
        time.sleep(BETWEEN_LOOKS_SECONDS)


def _members(session: int) -> set[int]:
    """The processes of a session that have not ended (proc(5), `stat`: state, parent, group, session)."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, of = stat.read_text(errors="replace").rpartition(")")[2].split()[:4]
            if int(of) == session and state not in "ZX":
                found.add(int(stat.parent.name))
    return found


@contextmanager
def step(title: str, about: str) -> Iterator[Steps]:
    """Shows on standard error that something is done, and how far it is once that is known. Nothing may be printed
    meanwhile: on a terminal it would stand in the bar.
    """
    from casemate.plain import PlainConsole
    from casemate.progress import Steps
    from rich.console import Console

    console = Console(stderr=True) if sys.stderr.isatty() else PlainConsole(stderr=True)
    with Steps(console, title, 1) as steps:
        steps.begin(0, about)
        # Off a terminal a step is not mentioned before it has told something.
        steps.tell({"done": 0, "of": 1, "about": about})
        yield steps
