"""Takes one small core through the whole hardware flow, and compares the results with the expected ones.

    scripts/hw_synthesis.py [--lib FILE]

Each check can fail, and those that compare have a planted bug that must be found. The core is the GHASH multiplier with
16 bits a cycle. Toggles are compared with Verilator's on a multiplier with one bit a cycle, which is small enough to
build with a trace of every net. The script hw_rails.py checks the lane's verdict; hw_priced.py compares whole cost
estimates with mental arithmetic. A minute of processor time; exit code 1 if a check fails.
"""

import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from math import isclose
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dv"))

import command
import hw_priced
import hw_rails
from casemate._core import CasemateError, ghash_product
from casemate.cli.commands.cost_flow import OSU018
from casemate.hardware import (
    design,
    energy,
    fanout,
    gate_simulation,
    library,
    netlist,
    rtl_simulation,
    synthesis,
    timing,
    tools,
)
from casemate.hardware.gate_simulation import Toggles
from casemate.hardware.library import Library
from casemate.hardware.netlist import Netlist
from casemate.hardware.stimulus import Core, Drive, Trace

RTL = Path(__file__).resolve().parents[1] / "rtl"
CLOCK = "clk_i"
WIDE, NARROW = 16, 1
PRODUCTS = 12
CELLS, AREA_UM2 = 5799, 224_762.0
"""Cells and area with 16 bits a cycle in osu018. Yosys and ABC have a fixed version and no randomness: all cells are
the same. A change of the multiplier, the recipe or the version changes them, and must update the numbers.
"""
FMAX_MHZ, FMAX_TOLERANCE = 495.150, 0.005
"""Highest frequency of the same cells. Debian and Ubuntu have several versions of OpenSTA, which may round slews and
delays differently; a cell more on the longest path is 3 %.
"""
PRODUCT_NJ, PRODUCT_TOLERANCE = 2.7372355, 1e-6
"""Energy of a product of random blocks, without leakage: counts of toggles, which are exact, times the library's
energies, in floating point.
"""
LEAST_GROWTH = 3.0
"""Minimum ratio of the energy of random products, without the clock's, to that of products with zero."""


def products(digits: Callable[[int], int]) -> Drive:
    """Multiplies by the result of `digits` for random blocks, and refuses a wrong product."""

    def drive(core: Core) -> None:
        # Reset begins with an edge: simulators differ in their handling of a reset that was active from the start.
        for reset in (1, 0, 1):
            core.cycle(rst_ni=reset)
        for number, line in enumerate(core.lines):
            if number == len(core.lines) // 3:
                core.measure()
            a, b = line.tag, digits(line.text >> 384)
            out = core.cycle(start_i=1, digits_i=b, factor_i=a)
            out = core.cycle(start_i=0)
            while not out["last_o"]:
                out = core.cycle()
            found = core.cycle()["product_o"]
            expected = int.from_bytes(ghash_product(a.to_bytes(16, "big"), b.to_bytes(16, "big")), "big")
            if found != expected:
                raise CasemateError(f"{a:#x} times {b:#x} is {found:#x}: expected {expected:#x}")
            core.done()

    return drive


class Multiplier:
    """A multiplier through the flow, in a folder."""

    def __init__(self, cells: Library, bits: int, folder: Path) -> None:
        self.cells, self.folder = cells, folder
        folder.mkdir()
        self.design = design.Design((RTL / "gf128_step.sv", RTL / "gf128_mul.sv"), "gf128_mul", (("W", str(bits)),))
        self.ports = synthesis.ports(self.design, folder)
        path = synthesis.to_cells(
            synthesis.to_logic(self.design, folder), cells, hw_rails.TARGET_FO4 * cells.fo4_s(), folder
        )
        self.netlist, _ = fanout.split(netlist.read(path, self.design.top, cells), cells, CLOCK)
        self._simulator = rtl_simulation.build(self.design, self.ports, CLOCK, folder)

    def trace(self, digits: Callable[[int], int]) -> Trace:
        """Returns the trace of the ports during multiplications."""
        return rtl_simulation.drive(
            self._simulator,
            self.ports,
            CLOCK,
            products(digits),
            lambda process: Core(process, self.ports, 16, PRODUCTS),
        )

    def run(self, trace: Trace, changed: Netlist | None = None) -> Toggles:
        """Simulates the multiplier's netlist, or a changed netlist."""
        return gate_simulation.run(changed or self.netlist, self.cells, CLOCK, trace, self.folder)

    def energy(self, toggles: Toggles) -> energy.Energy:
        """Returns the energy of toggles."""
        return energy.find(self.netlist, self.cells, CLOCK, toggles)


def refused(what: Callable[[], object], said: str) -> bool:
    """Checks that a planted bug is found."""
    try:
        what()
    except CasemateError as error:
        return said in str(error)
    return False


def timing_of_less(multiplier: Multiplier) -> timing.Timing:
    """Timing with a planted bug: OpenSTA receives a netlist without its last cell."""

    def less(built: Netlist) -> str:
        return written(built.with_instances(list(built.instances[:-1])))

    written = netlist.verilog
    with mock.patch.object(netlist, "verilog", less):
        return timing.find(multiplier.netlist, multiplier.cells, CLOCK, multiplier.folder)


def with_another_gate(built: Netlist) -> Netlist:
    """A netlist with a planted bug: one gate is replaced by another kind of gate."""
    swapped = {"XOR2X1": "XNOR2X1", "XNOR2X1": "XOR2X1", "NAND2X1": "NOR2X1", "NOR2X1": "NAND2X1"}
    at = next(number for number, each in enumerate(built.instances) if each.cell in swapped)
    wrong = replace(built.instances[at], cell=swapped[built.instances[at].cell])
    return built.with_instances([*built.instances[:at], wrong, *built.instances[at + 1 :]])


def verilator_toggles(multiplier: Multiplier, trace: Trace) -> dict[str, int]:
    """How often each net of a netlist toggled in all cycles, as Verilator counts: cells as Yosys reads them from
    Liberty, and every net traced (SAIF, IEEE 1801).
    """
    folder = multiplier.folder
    script = [
        f'read_liberty -ignore_miss_func "{multiplier.cells.copy_to(folder)}"',
        "proc",
        "write_verilog -noattr cells.v",
    ]
    tools.yosys(script, folder, "cells")
    (folder / "gates.v").write_text(netlist.verilog(multiplier.netlist))
    inputs = [(name, bit) for name, bit, _ in multiplier.netlist.input_bits() if name != CLOCK]
    values, lines = dict.fromkeys((name for name, _ in inputs), 0), list[str]()
    for changes in trace.inputs:
        values |= changes
        lines.append("".join(str(values[name] >> bit & 1) for name, bit in inputs))
    (folder / "inputs.txt").write_text("\n".join([*lines, ""]))
    sets = "\n".join(f"      core.{name}_{bit} = line[{at}] - '0';" for at, (name, bit) in enumerate(inputs))
    (folder / "traced.cpp").write_text(
        f"""#include <fstream>
#include <string>
#include "Vgates.h"
#include "verilated.h"
#include "verilated_saif_c.h"
int main() {{
    VerilatedContext context;
    context.traceEverOn(true);
    Vgates core{{&context}};
    VerilatedSaifC saif;
    core.trace(&saif, 1);
    saif.open("toggles.saif");
    std::ifstream file("inputs.txt");
    std::string line;
    vluint64_t time = 0;
    while (std::getline(file, line)) {{
{sets}
        core.{CLOCK}_0 = 0;
        core.eval();
        saif.dump(time++);
        core.{CLOCK}_0 = 1;
        core.eval();
    }}
    saif.close();
}}
"""
    )
    program, environment = tools.verilator()
    command = [
        program, "--cc", "--exe", "--build", "-MAKEFLAGS", "OPT_FAST=-O0 OPT_GLOBAL=-O0 VM_PARALLEL_BUILDS=0",
        "--trace-saif", "--trace-depth", "1", "--trace-underscore", "-Wno-fatal",
        "-Wno-lint", "-Wno-style", "--prefix", "Vgates", "--Mdir", "traced", "-o", "traced",
        "--top-module", multiplier.design.top, "gates.v", "cells.v", "traced.cpp",
    ]  # fmt: skip
    tools.run(command, folder, "traced", "Verilator", environment)
    tools.run([str(folder / "traced" / "traced")], folder, "traced-run", "the traced netlist")
    text = (folder / "toggles.saif").read_text()
    found = re.findall(r"\((\S+)\s+\(T0 \d+\) \(T1 \d+\) \(TZ \d+\) \(TX \d+\) \(TB \d+\) \(TC (\d+)\)\)", text)
    return {name.replace("\\", ""): int(count) for name, count in found}


def same_toggles(multiplier: Multiplier) -> tuple[bool, str]:
    """Checks that our simulation counts like Verilator, net by net."""
    trace = replace(multiplier.trace(lambda text: text), first=0)
    # Both count from nets that are all zero, over every cycle.
    ours = multiplier.run(trace)
    theirs = verilator_toggles(multiplier, trace)
    nets = [net for net in ours.rises if f"n{net}" in theirs]
    off = [net for net in nets if ours.rises[net] + ours.falls[net] != theirs[f"n{net}"]]
    return not off and len(nets) > len(
        multiplier.netlist.instances
    ) // 2, f"{len(nets)} nets, {len(off)} of them differ"


def checks(cells: Library, folder: Path) -> list[tuple[str, bool, str]]:
    """Yields every check: its statement, its result, and the figures."""
    wide = Multiplier(cells, WIDE, folder / "wide")
    area, count = wide.netlist.area_um2(cells), len(wide.netlist.instances)
    timed = timing.find(wide.netlist, cells, CLOCK, wide.folder)
    fmax = timed.fmax_hz / 1e6
    busy, idle = wide.trace(lambda text: text), wide.trace(lambda text: 0)
    toggles = wide.run(busy)
    taken, little = wide.energy(toggles), wide.energy(wide.run(idle))
    still = wide.energy(Toggles({}, {}, 0))
    growth = (taken.switching_j + taken.internal_j) / (little.switching_j + little.internal_j)
    product_nj = 1e9 * taken.dynamic_j / busy.done
    pinned = cells.path == OSU018
    same, figures = same_toggles(Multiplier(cells, NARROW, folder / "narrow"))
    return [
        ("cells and area are unchanged", not pinned or (count, area) == (CELLS, AREA_UM2),
         f"{count:,} cells, {area:,.0f} um2"),
        ("Fmax is unchanged", not pinned or isclose(fmax, FMAX_MHZ, rel_tol=FMAX_TOLERANCE), f"{fmax:.3f} MHz"),
        ("the energy of a product is unchanged",
         not pinned or isclose(product_nj, PRODUCT_NJ, rel_tol=PRODUCT_TOLERANCE), f"{product_nj:.7f} nJ"),
        ("Yosys and OpenSTA count the same cells", timed.cells == count, f"{timed.cells:,}"),
        ("a netlist is refused if OpenSTA drops one of its cells",
         refused(lambda: timing_of_less(wide), "of another core"), "planted"),
        ("the netlist has the RTL's outputs in every cycle", toggles.cycles == busy.cycles, f"{busy.cycles} cycles"),
        ("a netlist with another gate is refused",
         refused(lambda: wide.run(busy, with_another_gate(wide.netlist)), "differs from the RTL"), "planted"),
        ("energy grows with activity", growth > LEAST_GROWTH, f"{growth:.1f} times that of products with zero"),
        ("a netlist without toggles takes only leakage", still.dynamic_j == 0 < still.leakage_w,
         f"{1e6 * still.leakage_w:.3f} uW"),
        ("toggles are Verilator's, net by net", same, figures),
    ]  # fmt: skip


def main() -> int:
    """Runs all checks, and prints the result of each."""
    parser = command.Parser(prog="hw_synthesis.py", description="Takes one small core through the whole hardware flow.")
    parser.add_argument("--lib", type=Path, default=OSU018, help="the cell library (default: %(default)s)")
    path = parser.parse_args().lib
    try:
        if path == OSU018 and not path.is_file():
            raise tools.missing(f"the cell library '{path}'")
        with tempfile.TemporaryDirectory() as folder:
            cells = library.read(path)
            found = [
                *hw_priced.checks(Path(folder) / "priced"),
                *checks(cells, Path(folder)),
                *hw_rails.checks(cells, RTL, Path(folder) / "rails"),
            ]
    except CasemateError as error:
        raise command.UnusableError(str(error)) from error
    for said, holds, figures in found:
        print(f"{'ok  ' if holds else 'FAIL'}  {said} ({figures})")
    return 0 if all(holds for _, holds, _ in found) else 1


if __name__ == "__main__":
    command.carry_out("hw_synthesis.py", main)
