"""The hardware design to estimate: its sources, top module, parameters and clock. The flow checks them before any long
step begins.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from casemate._core import CasemateError
from casemate.hardware import sources
from casemate.hardware.sources import Source
from casemate.text.nearest import hint

CLOCKS = ("clk_i", "clk", "clock", "clock_i", "CLK")
"""Usual names of a clock, tried by default."""
_VALUE = re.compile(r"-?\d+|\d*'[sS]?[bodhBODH][0-9a-fA-F_]+")
"""A parameter value that Yosys and Verilator interpret in the same way: only one of the two understands names and
expressions.
"""


@dataclass(frozen=True)
class Design:
    """RTL sources with the top module and the values of its parameters."""

    sources: tuple[Source, ...]
    """Sources for Yosys and Verilator, as `sources.read` returns them."""
    top: str
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """Name of the module with its parameters."""
        return " ".join([self.top, *(f"{name}={value}" for name, value in self.parameters)])

    @property
    def files(self) -> list[Path]:
        """The sources that are files."""
        return [each for each in self.sources if isinstance(each, Path)]

    @property
    def keeps_modules(self) -> bool:
        """Returns true if the sources mark a module with `keep_hierarchy`, so that synthesis must not merge it with
        other modules.
        """
        read = (*self.files, *sources.included(self.sources))
        return any(re.search(r"\(\*[^)]*\bkeep_hierarchy\b", text) for text in map(sources.text, read))

    def check(self) -> None:
        """Raises `CasemateError` if a source is missing, or if the module or a parameter does not exist."""
        modules = {
            name: body
            for text in map(sources.text, self.files)
            for name, body in re.findall(r"\bmodule\s+(\w+)(.*?)\bendmodule\b", text, re.DOTALL)
        }
        if self.top not in modules:
            there = f"there are: {', '.join(sorted(modules))}" if modules else "there is none"
            raise CasemateError(f"no module '{self.top}' in the sources{hint(self.top, modules)}; {there}")
        known = re.findall(r"\bparameter\b[^=;)]*?(\w+)\s*=", modules[self.top])
        # In `parameter A = 1, B = 2` the second parameter has no keyword in front.
        known += re.findall(r",\s*(\w+)\s*=(?!=)", modules[self.top].split(";", 1)[0])
        for name, value in self.parameters:
            if name not in known:
                there = f"it has: {', '.join(dict.fromkeys(known))}" if known else "it has none"
                raise CasemateError(f"'{self.top}' has no parameter '{name}'{hint(name, known)}; {there}")
            if not value:
                raise CasemateError(f"the parameter '{name}' has no value: expected NAME=VALUE, as in {name}=16")
            if not _VALUE.fullmatch(value):
                raise CasemateError(
                    f"the parameter '{name}' is '{value}': expected a whole number or a literal of Verilog, "
                    f"as in {name}=16 or {name}=8'h10"
                )


def clock_of(widths: dict[str, tuple[bool, int]], wanted: str | None) -> str:
    """Returns the name of the clock port. `ports` maps each name to a flag for inputs and a number of bits. Raises
    `CasemateError` if the requested clock is not an input of one bit, or if no port has a usual name.
    """
    fitting = [name for name, (is_input, width) in widths.items() if is_input and width == 1]
    if wanted is not None:
        if wanted not in fitting:
            why = "is no input of one bit" if wanted in widths else "is no port"
            raise CasemateError(f"--clock: '{wanted}' {why}{hint(wanted, fitting)}; there are: {', '.join(fitting)}")
        return wanted
    for name in CLOCKS:
        if name in fitting:
            return name
    if not fitting:
        raise CasemateError("no port is an input of one bit, so there is no clock: expected a core with registers")
    raise CasemateError(f"no port has the usual name of a clock; choose one with --clock: {', '.join(fitting)}")
