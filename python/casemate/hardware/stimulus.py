"""The stimulus of a hardware core under simulation: a Python file that users can write for any core.

The file has a function `drive(core)`, which sets inputs and reads outputs cycle by cycle:

    def drive(core):
        core.cycle(rst=1)                        # inputs stay as they were set; one clock cycle passes
        core.cycle(rst=0, key=core.key)
        core.measure()                           # from here on cycles and energy count
        for line in core.lines:
            core.cycle(start=1, nonce=line.nonce, text=line.text)
            out = core.cycle(start=0)            # outputs as they are just before the clock's edge
            while not out["done"]:
                out = core.cycle()
            core.done(out["sealed"], out["tag"]) # a line is done, and is compared with AES-GCM

The first byte of a text is the most significant byte of its number. `core.lines` are the same for every core, so that
energies are comparable. The stimulus of a core other than AES-GCM calls `core.done()` for each finished piece of work,
and never with a line. A stimulus calls `core.begun()` when the core accepts a line, so that the flow can measure the
latency. Lines may end in any order, with `core.done(..., line=N)`.
"""

import contextlib
import inspect
import random
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from casemate._core import CasemateError, GcmLines
from casemate.text.nearest import hint, hint_of_file

LINE_BYTES = 64
NONCE_BYTES = 12
SEED = 20101


@dataclass(frozen=True)
class Line:
    """A line to seal."""

    nonce: int
    text: int
    sealed: int
    tag: int


class Simulation(Protocol):
    """A simulator of RTL."""

    def cycle(self, changes: dict[str, int]) -> dict[str, int]:
        """Sets inputs, and lets a cycle pass; the outputs are those before its edge."""


@dataclass
class Trace:
    """Values of the ports, cycle by cycle, and the work that the core completed."""

    inputs: list[dict[str, int]] = field(default_factory=list)
    """The inputs that changed in each cycle."""
    outputs: list[dict[str, int]] = field(default_factory=list)
    first: int = 0
    """Number of the first measured cycle."""
    done: int = 0
    """Number of lines that the core completed in the measured cycles."""
    latencies: list[int] = field(default_factory=list)
    """Latency of each line: cycles from its acceptance to its completion."""
    are_lines: bool = False
    """True if all completed work was lines that the core sealed correctly."""

    @property
    def cycles(self) -> int:
        """Number of measured cycles."""
        return len(self.inputs) - self.first


class Core:
    """A core under simulation, as a stimulus sees it."""

    def __init__(self, simulation: Simulation, ports: dict[str, tuple[bool, int]], key_bytes: int, count: int) -> None:
        """`ports` maps each port to a flag for inputs and its bits; `count` is the number of lines."""
        self._simulation, self._ports = simulation, ports
        self._begun: dict[int, int] = {}
        self._ended = set[int]()
        self.trace = Trace()
        self.measures = False
        """True if the stimulus has begun the measurement."""
        drawn = random.Random(SEED)
        key = drawn.randbytes(key_bytes)
        self.key = int.from_bytes(key, "big")
        self.lines = [_line(key, drawn) for _ in range(count)]

    def width(self, port: str) -> int:
        """The bits of a port."""
        self._check(port)
        return self._ports[port][1]

    def cycle(self, **inputs: int) -> dict[str, int]:
        """Sets inputs, lets a clock cycle pass, and returns the outputs just before its edge. Inputs keep their values
        until they are set again. Raises `CasemateError` for a name that is no input, or a value that does not fit.
        """
        for port, value in inputs.items():
            self._check(port)
            is_input, bits = self._ports[port]
            if not is_input:
                raise CasemateError(f"the stimulus sets '{port}', which is an output")
            if not isinstance(value, int):
                raise CasemateError(f"the stimulus sets '{port}' to {value!r}: expected a whole number")
            if value < 0 or value >> bits:
                raise CasemateError(f"the stimulus sets '{port}' to {value:#x}, which does not fit {bits} bits")
        outputs = self._simulation.cycle(inputs)
        self.trace.inputs.append(dict(inputs))
        self.trace.outputs.append(outputs)
        return outputs

    def _check(self, port: str) -> None:
        if port not in self._ports:
            there = f"{hint(port, self._ports)}; there are: {', '.join(self._ports)}"
            raise CasemateError(f"the stimulus names '{port}', which is the clock or no port{there}")

    def measure(self) -> None:
        """Begins the measurement: cycles and lines count from here on."""
        self.measures = True
        self.trace.first, self.trace.done, self.trace.latencies = len(self.trace.inputs), 0, []
        self.trace.are_lines = False

    def begun(self, line: int) -> None:
        """Notes that the core accepted a line in the last cycle. Raises `CasemateError` if `line` is no number."""
        _check_numbers("begun", line=line)
        self._begun[line] = len(self.trace.inputs)

    def done(self, sealed: int | None = None, tag: int | None = None, line: int | None = None) -> None:
        """Notes that the core has completed a line, by default the next one. Raises `CasemateError` if the output is
        not AES-GCM of that line, if the line was complete before, or if the stimulus compares only some of the measured
        lines.
        """
        _check_numbers("done", sealed=sealed, tag=tag, line=line)
        number = len(self._ended) if line is None else line
        if number in self._ended:
            raise CasemateError(f"the stimulus calls core.done() twice for line {number}: expected each line once")
        self._ended.add(number)
        is_compared = sealed is not None or tag is not None
        if is_compared:
            expected = self.lines[number % len(self.lines)]
            if (sealed, tag) != (expected.sealed, expected.tag):
                raise CasemateError(
                    f"the core sealed line {number} as {sealed or 0:#x} with tag {tag or 0:#x}, not by AES-GCM: "
                    f"expected {expected.sealed:#x} with tag {expected.tag:#x}"
                )
        if self.trace.done and is_compared != self.trace.are_lines:
            raise CasemateError(
                f"the stimulus compares only some lines, and line {number} differs from those before it: "
                "expected core.done(sealed, tag) for all of them, or for none"
            )
        self.trace.are_lines = is_compared
        self.trace.done += 1
        if number in self._begun:
            self.trace.latencies.append(len(self.trace.inputs) - self._begun.pop(number))


def _check_numbers(call: str, **given: object) -> None:
    """Raises `CasemateError` for a given value that is not a whole number."""
    for name, value in given.items():
        if value is not None and not (isinstance(value, int) and value >= 0):
            raise CasemateError(f"core.{call}() has {value!r} for '{name}': expected a whole number of 0 or more")


def _line(key: bytes, drawn: random.Random) -> Line:
    nonce, text = drawn.randbytes(NONCE_BYTES), drawn.randbytes(LINE_BYTES)
    numbers = (int.from_bytes(each, "big") for each in (nonce, text, *GcmLines(key).seal(nonce, text)))
    return Line(*numbers)


Drive = Callable[[Core], None]


def load(path: Path) -> Drive:
    """Returns the function `drive` of a file. Text that the function prints goes to standard error. Its exceptions,
    also `SystemExit`, become a `CasemateError` with the file and the line. Raises `CasemateError` if the file has no
    function of that name.
    """
    if not path.is_file():
        what = f"the stimulus '{path}' is a folder" if path.is_dir() else f"there is no stimulus '{path}'"
        near = "" if path.is_dir() else hint_of_file(path)
        raise CasemateError(f"{what}{near}: expected a Python file with a function drive(core)")
    module = types.ModuleType("stimulus")
    module.__file__ = str(path)
    with _contained(path):
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    found = getattr(module, "drive", None)
    if found is not None and (
        not callable(found) or inspect.iscoroutinefunction(found) or inspect.isgeneratorfunction(found)
    ):
        raise CasemateError(f"'{path}': drive is no plain function: expected `def drive(core):` that does not yield")
    if found is None:
        raise CasemateError(f"the stimulus '{path}' has no function drive(core){hint('drive', vars(module))}")
    try:
        inspect.signature(found).bind(None)
    except TypeError as error:
        raise CasemateError(
            f"'{path}': drive{inspect.signature(found)} does not take the core: expected drive(core)"
        ) from error

    def drive(core: Core) -> None:
        with _contained(path):
            found(core)

    return drive


@contextlib.contextmanager
def _contained(path: Path) -> Iterator[None]:
    """Runs code of a stimulus: its standard output goes to standard error, and an error gets the line of the file where
    it occurred.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except SyntaxError as error:
        # For a module that the file imports, the error names that module.
        location = f"'{error.filename or path}' line {error.lineno or 1}"
        raise CasemateError(f"{location}: {type(error).__name__}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        location = f"'{path}' line {lines[-1]}" if lines else f"'{path}'"
        if isinstance(error, CasemateError):
            said = str(error)
        elif isinstance(error, SystemExit):
            said = f"sys.exit({error.code if error.code is not None else ''}) ends the stimulus: expected it to return"
        else:
            said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise CasemateError(f"{location}: {said}") from error
