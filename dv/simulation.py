"""Builds a bench with Verilator and runs its cocotb tests.

cocotb's runner would make every net of the design visible, which is three times as much code to compile. Therefore
dv/sv/visible.vlt lists the signals that must be visible.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import command
import points
from tools import BUILD, ROOT, WAIVERS, call, environment, sources

SV = ROOT / "dv" / "sv"
# Top module of each bench in dv/sv, and its module of tests.
BENCHES = {"block_bench": "block_tests", "lane_bench": "lane_tests"}


class BuildError(Exception):
    """A bench that does not compile; the message contains the output of the tool."""


@dataclass
class Outcome:
    """Results of the tests of a bench."""

    passed: int
    failed: list[str]
    figures: list[str]
    log: Path


@dataclass
class Bench:
    """A top of dv/sv, compiled with or without counters of coverage."""

    top: str
    coverage: bool = False
    directory: Path = field(init=False)

    def __post_init__(self) -> None:
        self.directory = BUILD / (self.top + ("-coverage" if self.coverage else ""))

    @property
    def counted(self) -> Path:
        """Path of the coverage file that a run with counters writes."""
        return self.directory / "coverage.dat"

    def tests(self) -> list[str]:
        """Returns the names of the tests of the bench, as cocotb matches them with a filter."""
        module = importlib.import_module(BENCHES[self.top])
        made = [each for each in vars(module).values() if hasattr(each, "generate_tests")]
        return [test.fullname for each in made for test in each.generate_tests()]

    def build(self) -> None:
        """Compiles the parts of the bench that have changed."""
        import cocotb_tools.config as cocotb

        package = points.write_package(self.directory)
        libraries = cocotb.libs_dir
        flags = f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"
        # Verilator counts no toggles of signals that are wider than this; no signal here is.
        counters = ["--coverage-line", "--coverage-toggle", "--coverage-max-width", "1024"] if self.coverage else []
        main = cocotb.share_dir / "lib" / "verilator" / "verilator.cpp"
        how = ["-cc", "--exe", "--vpi", "-O3", "-Wno-fatal", "-Werror-USERERROR", "--prefix", "Vtop", *counters]
        where: list[str | Path] = ["-o", self.top, "-Mdir", self.directory, "--top-module", self.top, "-LDFLAGS", flags]
        read: list[str | Path] = [main, WAIVERS, SV / "visible.vlt", *sources(), package, SV / f"{self.top}.sv"]
        self._call("verilator", *how, *where, *read)
        # With counters, optimising the large amount of code would take longer than it saves.
        fast = "-O0" if self.coverage else "-O1"
        settings = [f"OPT_FAST={fast}", "OPT_SLOW=-O0", "VM_TRACE=0"]
        self._call("make", "-s", f"-j{os.cpu_count()}", "-C", self.directory, "-f", "Vtop.mk", *settings)

    def run(self, filter_: str, settings: dict[str, str], begun: Callable[[int, int, str], None]) -> Outcome:
        """Runs the tests with names that match `filter_`.

        The settings become environment variables. `begun` receives the number of each test, the total, and its name.
        """
        log, results = self.directory / "log.txt", self.directory / "results.xml"
        results.unlink(missing_ok=True)
        self.counted.unlink(missing_ok=True)
        figures = []
        with (
            log.open("w") as kept,
            command.started(
                [str(self.directory / self.top)],
                cwd=self.directory,
                env=self._environment(filter_, results, settings),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            ) as simulation,
        ):
            assert simulation.stdout is not None
            for line in simulation.stdout:
                kept.write(line)
                if found := re.search(r"running \w+\.(\S+) \((\d+)/(\d+)\)", line):
                    begun(int(found[2]), int(found[3]), found[1])
                elif line.startswith("FIGURE "):
                    figures.append(line.removeprefix("FIGURE ").strip())
        if not results.exists():
            return Outcome(
                0, [f"the simulation ended with code {simulation.returncode} and without results"], figures, log
            )
        cases = list(ElementTree.parse(results).iter("testcase"))
        failed = [
            case.get("name", "") for case in cases if case.find("failure") is not None or case.find("error") is not None
        ]
        passed = sum(case.find("skipped") is None for case in cases) - len(failed)
        return Outcome(passed, failed, figures, log)

    def _call(self, *words: str | Path) -> None:
        done = call(*words)
        if done.returncode:
            raise BuildError(f"{self.top}: {words[0]} ended with code {done.returncode}\n{done.stdout}")

    def _environment(self, filter_: str, results: Path, settings: dict[str, str]) -> dict[str, str]:
        import cocotb_tools.config as cocotb
        import find_libpython

        library = find_libpython.find_libpython()
        if library is None:
            raise command.UnusableError(f"Python has no shared library: {command.SETUP}")
        return {
            **environment(),
            **settings,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "dv"), *filter(None, sys.path)]),
            "PYGPI_PYTHON_BIN": sys.executable,
            "GPI_USERS": f"{library};{cocotb.pygpi_entry_point()}",
            "TOPLEVEL_LANG": "verilog",
            "COCOTB_TOPLEVEL": self.top,
            "COCOTB_TEST_MODULES": BENCHES[self.top],
            "COCOTB_TEST_FILTER": filter_,
            "COCOTB_RESULTS_FILE": str(results),
            "COCOTB_TRUST_INERTIAL_WRITES": "1",
            "COCOTB_ANSI_OUTPUT": "0",
        }
