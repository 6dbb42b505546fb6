"""Maximum clock frequency of a netlist: static timing by OpenSTA, with ideal wires and an ideal clock.

All paths count from a flip-flop or an input port to a flip-flop or an output port, as if registers were right at the
ports. So a core cannot appear faster by leaving logic to its neighbours. OpenSTA drops text that it cannot parse,
without an error. So it also reports the number of cells that it found, and this number must be that of the netlist.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from casemate._core import CasemateError
from casemate.hardware import netlist as netlists
from casemate.hardware import tools
from casemate.hardware.library import Library
from casemate.hardware.netlist import Netlist

PERIOD_UNITS = 1000.0
"""Clock period from which OpenSTA computes slacks, in the library's unit of time; it is longer than any path."""


@dataclass(frozen=True)
class Timing:
    """Longest path of a netlist, and the check on the number of cells."""

    delay_s: float
    cells: int
    """Number of cells that OpenSTA counted."""
    begins: str
    """RTL name of the flip-flop output or input port where the path begins."""
    ends: str
    stages: int
    """Number of cells on the path, with the flip-flops at its ends."""

    @property
    def fmax_hz(self) -> float:
        """Highest frequency of the netlist."""
        return 1 / self.delay_s


def find(netlist: Netlist, library: Library, clock: str, folder: Path) -> Timing:
    """Returns the longest path of a netlist. Raises `CasemateError` if OpenSTA fails, or does not read the whole
    netlist.
    """
    program = tools.need_opensta()
    (folder / "timing.v").write_text(netlists.verilog(netlist))
    (folder / "timing.tcl").write_text(
        f"""read_liberty "{library.copy_to(folder)}"
read_verilog timing.v
link_design {netlist.top}
create_clock -name clock -period {PERIOD_UNITS} [get_ports {clock}_0]
set inputs {{}}
foreach port [all_inputs] {{ if {{[get_full_name $port] ne "{clock}_0"}} {{ lappend inputs $port }} }}
set_input_delay 0 -clock clock $inputs
set_output_delay 0 -clock clock [all_outputs]
puts "CELLS [llength [get_cells *]]"
report_checks -path_delay max -path_group clock -format full -digits 6
"""
    )
    said = tools.run([program, "-exit", "timing.tcl"], folder, "timing", "OpenSTA")
    counted = re.search(r"^CELLS (\d+)$", said, re.MULTILINE)
    if counted is None or "syntax error" in said:
        raise CasemateError(f"OpenSTA failed: {tools.errors_of(said, 1)}")
    if int(counted[1]) != len(netlist.instances):
        raise CasemateError(
            f"OpenSTA found {counted[1]} cells, but the netlist has {len(netlist.instances)}: "
            "its timing is of another core"
        )
    return _longest(said, netlist, int(counted[1]), library.time_s)


def _longest(said: str, netlist: Netlist, cells: int, unit_s: float) -> Timing:
    """Parses the longest path from OpenSTA's report, with times in the library's unit."""
    slack = re.search(r"^\s*(-?[\d.]+)\s+slack", said, re.MULTILINE)
    ends = re.search(r"^Endpoint: (\S+)", said, re.MULTILINE)
    begins = re.search(r"^Startpoint: (\S+)", said, re.MULTILINE)
    if slack is None or begins is None or ends is None:
        raise CasemateError(f"'{netlist.top}' has no path from a register or an input to another: it has no delay")
    by_name = {each.name: each for each in netlist.instances}

    def named(name: str) -> str:
        if (instance := by_name.get(name)) is None:
            return name
        nets = [net for pin, net in instance.pins.items() if pin.startswith("Q")]
        return next((netlist.names[net] for net in nets if isinstance(net, int) and net in netlist.names), name)

    # The report contains a flip-flop at the beginning of the path twice: with its clock and with its output.
    stages = len(set(re.findall(r"^\s*-?[\d.]+\s+-?[\d.]+ [v^] (\S+)/\S+ \(", said, re.MULTILINE)))
    return Timing((PERIOD_UNITS - float(slack[1])) * unit_s, cells, named(begins[1]), named(ends[1]), stages)
