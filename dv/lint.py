"""Lints rtl/ and dv/sv: Verilator with all warnings on every parameter point, Verible with its rules.

    python dv/lint.py          all checks, as `make hw-lint`: some seconds

The files rtl/waivers.vlt and rtl/verible.waiver list the suppressed warnings with reasons. The script also checks that
elaboration rejects invalid parameters (elaboration.py). Exit codes: 0 without findings, 1 with findings, 2 if tools are
missing or the request makes no sense.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import command
import elaboration
import points
from tools import BUILD, ROOT, RTL, call, lint, need, sources

RULES = RTL / ".rules.verible_lint"
WAIVER = RTL / "verible.waiver"


def checks() -> Iterator[tuple[str, str]]:
    """Yields the name and the findings of each check; the findings are empty if it passes."""
    for point in points.LANES:
        done = lint(point.top, point.parameters)
        yield f"verilator, {point.name}", done.stdout if done.returncode else ""
    package = points.write_package(BUILD)
    for top in sorted((ROOT / "dv" / "sv").glob("*.sv")):
        # A bench uses only some parameters of the package.
        done = lint(top.stem, {}, "-Wno-UNUSEDPARAM", package, top)
        yield f"verilator, {top.stem}", done.stdout if done.returncode else ""
    written = [*sources(), *sorted((ROOT / "dv" / "sv").glob("*.sv"))]
    verible = Path(sys.executable).parent / "verible-verilog-lint"
    done = call(verible, f"--rules_config={RULES}", f"--waiver_files={WAIVER}", *written)
    yield "verible", done.stdout if done.returncode else ""
    yield "bad parameters", "\n".join(elaboration.not_refused())


def main() -> int:
    """Returns 0 without findings and 1 with findings."""
    command.Parser(
        prog="lint.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    need()
    # Imported here, because `need` first checks that the package is installed.
    from casemate.terminal.progress import Steps
    from rich.console import Console

    pieces = len(points.LANES) + 4
    found = []
    with Steps(Console(stderr=True), "hw-lint", pieces) as steps:
        for piece, (name, text) in enumerate(checks()):
            steps.begin(piece, name)
            if text:
                found.append(f"{name}:\n{text}")
    print("\n".join(found) if found else f"hw-lint: {pieces} checks, no findings")
    return 1 if found else 0


if __name__ == "__main__":
    command.carry_out("lint.py", main)
