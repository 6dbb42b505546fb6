# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Compiles the injector with a lane of given parameters, and lists the flip-flops that synthesis finds in its sources.

The two lists are independent: Verilator lists registers by name, and Yosys makes cells for the values that a clock edge
stores.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import command
from casemate.hardware import tools

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOP = "gcm_lane"


class FaultsError(command.UnusableError):
    """An error that the user can correct: a missing tool, or a source that does not compile."""


@dataclass(frozen=True)
class Point:
    """Parameters of a lane, without its router."""

    key_bits: int = 128
    rounds_per_cycle: int = 1
    mul_bits: int = 16

    @property
    def name(self) -> str:
        rounds = {0: "pipelined", 1: "1 round a cycle"}.get(
            self.rounds_per_cycle, f"{self.rounds_per_cycle} rounds a cycle"
        )
        return f"AES-{self.key_bits}, {rounds}, W={self.mul_bits}"

    @property
    def parameters(self) -> dict[str, int]:
        return {"KeyBits": self.key_bits, "RoundsPerCycle": self.rounds_per_cycle, "MulBits": self.mul_bits}


def sources(folder: Path) -> list[Path]:
    """Returns the sources of a lane and their waivers; sources in `folder` replace those in `rtl/`."""
    named = [ROOT / line for line in (ROOT / "rtl" / "sources.f").read_text().split()]
    chosen = [folder / path.name if (folder / path.name).exists() else path for path in named]
    return [ROOT / "rtl" / "waivers.vlt", *chosen]


@cache
def _verilator() -> tuple[str, dict[str, str], Path]:
    """Returns the program, the environment in which it runs, and the folder with its `include`."""
    program, settings = tools.verilator()
    environment = {**os.environ, **settings}
    words = [program, "--getenv", "VERILATOR_ROOT"]
    said = _carry_out(words, environment)
    return program, environment, Path(said.strip())


def _carry_out(words: list[str], environment: dict[str, str] | None = None) -> str:
    """Runs a tool to its end and returns its output. Raises `FaultsError` if the tool fails."""
    done = command.run(words, env=environment, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise FaultsError(f"{Path(words[0]).name} failed:\n{done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def build(point: Point, folder: Path, build_root: Path, level: str = "-O2") -> Path:
    """Compiles the injector for a lane at `level`, unless a build of the same text exists; returns its path."""
    program, environment, home = _verilator()
    inputs = [HERE / "registers.vlt", *sources(folder)]
    own = [HERE / name for name in ("inject.cpp", "session.h", "history.h", "lane.h")]
    digest = hashlib.sha256(f"{point} {level}".encode() + b"".join(path.read_bytes() for path in inputs + own))
    build = build_root / digest.hexdigest()[:16]
    injector = build / "inject"
    if injector.exists():
        return injector
    build.mkdir(parents=True, exist_ok=True)
    parameters = [f"-G{name}={value}" for name, value in point.parameters.items()]
    files = [str(path) for path in inputs]
    model = ["--cc", "--vpi", "-O3", "-Wno-fatal", "--prefix", "Vlane", "--Mdir", str(build), "--top-module", TOP]
    _carry_out([program, *model, *parameters, *files], environment)
    compiler = os.environ.get("CXX", "g++")
    flags = ["-std=c++20", "-O2", "-w", "-DVM_COVERAGE=0", "-DVM_TRACE=0", "-pthread"]
    includes = [f"-I{build}", f"-I{HERE}", f"-I{home / 'include'}", f"-I{home / 'include' / 'vltstd'}"]
    runtime = _runtime(compiler, flags, home, build_root)
    # The headers take longer to compile than the code, so the compiler gets all of it as one file.
    made = sorted(path.name for path in build.glob("Vlane*.cpp"))
    (build / "all.cc").write_text("".join(f'#include "{name}"\n' for name in [*made, "inject.cpp"]))
    unfinished = str(build / "inject.new")
    _carry_out([compiler, *flags, level, *includes, str(build / "all.cc"), *map(str, runtime), "-o", unfinished])
    Path(unfinished).rename(injector)
    return injector


def _runtime(compiler: str, flags: list[str], home: Path, build_root: Path) -> list[Path]:
    """Compiles the runtime code of Verilator once for all models; returns the object files."""
    objects = []
    for name in ("verilated", "verilated_vpi", "verilated_threads"):
        target = build_root / f"{name}.o"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            includes = [f"-I{home / 'include'}", f"-I{home / 'include' / 'vltstd'}"]
            # An interrupted compilation must not leave a file that looks complete.
            unfinished = target.with_suffix(".new")
            source = str(home / "include" / f"{name}.cpp")
            _carry_out([compiler, *flags, *includes, "-c", source, "-o", str(unfinished)])
            unfinished.rename(target)
        objects.append(target)
    return objects


def registers(injector: Path) -> dict[str, int]:
    """Returns the number of bits of each register by name, as the injector lists them."""
    listed = _carry_out([str(injector), "--registers"])
    return {name: int(bits) for name, bits in (line.split() for line in listed.splitlines())}


def flip_flops(point: Point, folder: Path) -> dict[str, int]:
    """Returns the number of flip-flops of each register by name, from synthesis before optimisation removes any."""
    parameters = " ".join(f"-G {name}={value}" for name, value in point.parameters.items())
    files = " ".join(str(path) for path in sources(folder) if path.suffix == ".sv")
    with tempfile.TemporaryDirectory() as scratch:
        read = f"read_slang --top {TOP} {parameters} {files}"
        tools.yosys([read, "proc", "flatten", "memory_map", "write_json netlist.json"], Path(scratch), "registers")
        module = json.loads((Path(scratch) / "netlist.json").read_text())["modules"][TOP]
    return _by_name(module)


def _by_name(module: dict[str, dict[str, dict[str, object]]]) -> dict[str, int]:
    """Counts flip-flops by the name of their output: the name of a register, or else the first name of the net."""
    names: dict[object, str] = {}
    for name, net in module["netnames"].items():
        bits = net["bits"]
        if isinstance(bits, list):
            for bit in bits:
                names.setdefault(bit, name)
                if "_q" in name and not net["hide_name"]:
                    names[bit] = name.split("[")[0]
    counted: dict[str, int] = {}
    for cell in module["cells"].values():
        if "ff" not in str(cell["type"]) and "latch" not in str(cell["type"]):
            continue
        connections = cell["connections"]
        if isinstance(connections, dict):
            for bit in connections["Q"]:
                name = names[bit]
                counted[name] = counted.get(name, 0) + 1
    return counted
