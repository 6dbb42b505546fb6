# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Common behaviour of the scripts that check the hardware: errors of input, exit codes, and the end of child processes.

Exit codes are those of `casemate`: 0 if all holds, 1 if something does not, 2 for bad input and missing tools. A signal
ends the work with 128 plus its number: 130 is Ctrl-C. Code 141 is SIGPIPE: the reader of the output left, so the script
did not check everything. A message about bad input is one line, because seven lines of usage would hide the error.

Each program runs in a separate session. SymbiYosys gives each solver a separate group of processes, so neither Ctrl-C
at the terminal nor the end of SymbiYosys's group reaches the solvers; the session does.

Only `step` imports the package `casemate`, so that a script can name a missing package before it loads it.
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
    from casemate.terminal.progress import Steps

BAD_INPUT = 2
SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}
SETUP = "run `make build` and `scripts/setup.sh .venv hw`"
# Time for make and compilers to remove files that are half written.
GRACE_SECONDS = 2.0
BETWEEN_LOOKS_SECONDS = 0.01


class UnusableError(Exception):
    """An error that the user can correct, in one line: a missing tool, or a request that makes no sense."""


class Parser(argparse.ArgumentParser):
    """A parser that reports a bad command line in one line."""

    def error(self, message: str) -> NoReturn:
        """Prints the message and ends the process with code 2."""
        self.exit(BAD_INPUT, f"{self.prog}: {message}\n")


def hint(name: str, known: Iterable[str]) -> str:
    """Calls `casemate.text.nearest.hint` without the package, which may not be built."""
    nearest = runpy.run_path(str(Path(__file__).resolve().parents[1] / "python/casemate/text/nearest.py"))
    return str(nearest["hint"](name, known))


def unknown(name: str, known: Iterable[str]) -> str:
    """Returns the message for an unknown name, with the nearest known name, or with all names if no name is near."""
    listed = list(known)
    return f"there is no '{name}'{hint(name, listed) or ': expected one of ' + ', '.join(listed)}"


def one_of(known: Iterable[str]) -> Callable[[str], str]:
    """Returns a `type` for argparse that accepts only the known names."""
    listed = list(known)

    def checked(name: str) -> str:
        if name not in listed:
            raise argparse.ArgumentTypeError(unknown(name, listed))
        return name

    return checked


@contextmanager
def ending(name: str) -> Iterator[None]:
    """Ends the process with a line and an exit code if the work inside is refused, interrupted, or no longer read."""
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
    """Redirects the streams to the null device, so that the end of the process does not fail a second time."""
    for stream in streams:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def _refused(name: str, why: str) -> int:
    print(f"{name}: {why}", file=sys.stderr)
    return BAD_INPUT


def carry_out(name: str, work: Callable[[], int]) -> NoReturn:
    """Runs the work of a script and ends the process with the exit code that it returns."""
    with ending(name):
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A reader gets each line at once, and work without a reader ends at the next line.
            sys.stdout.reconfigure(line_buffering=True)
        for number in SIGNALS:
            # Ignored signals stay ignored: nohup and background jobs of shells ignore some.
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _interrupt)
        code = work()
    sys.exit(code)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    # A second signal would interrupt the end of the child processes.
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt(number)


@contextmanager
def started(command: Sequence[str | Path], **how: Any) -> Iterator[subprocess.Popen[str]]:
    """Starts a program in a separate session. If the work inside is interrupted, all processes of the session end.

    `how` contains arguments of `subprocess.Popen`. Raises `UnusableError` if the program is missing.
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
    """Runs a program to its end as `started` does. `stdout` contains its output, and its errors unless `how` redirects
    `stderr`.
    """
    with started(command, **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **how}) as process:
        said, errors = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, said, errors)


def _end_session(session: int) -> None:
    """Ends all processes of a session: sends SIGTERM first, and SIGKILL after `GRACE_SECONDS`."""
    since = time.monotonic()
    signalled = set[int]()
    while members := _members(session):
        late = time.monotonic() - since > GRACE_SECONDS
        for process in members if late else members - signalled:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL if late else signal.SIGTERM)
        signalled |= members
        time.sleep(BETWEEN_LOOKS_SECONDS)


def _members(session: int) -> set[int]:
    """Returns the processes of a session that have not ended (proc(5), `stat`: state, parent, group, session)."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, of = stat.read_text(errors="replace").rpartition(")")[2].split()[:4]
            if int(of) == session and state not in "ZX":
                found.add(int(stat.parent.name))
    return found


@contextmanager
def step(title: str, about: str) -> Iterator[Steps]:
    """Shows a step on standard error, and its progress when it is known. The caller must not print meanwhile: on a
    terminal, the text would appear inside the progress bar.
    """
    from casemate.terminal.plain import PlainConsole
    from casemate.terminal.progress import Steps
    from rich.console import Console

    console = Console(stderr=True) if sys.stderr.isatty() else PlainConsole(stderr=True)
    with Steps(console, title, 1) as steps:
        steps.begin(0, about)
        # Without a terminal, the first progress report makes the step visible.
        steps.report({"done": 0, "of": 1, "about": about})
        yield steps
