"""Options, progress and results that `casemate cost engine`, `casemate cost rtl` and `casemate cost compare` share."""

import fnmatch
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from casemate._core import CasemateError
from casemate.cli import options
from casemate.terminal import screen

if TYPE_CHECKING:
    from casemate.hardware.engine import Point
    from casemate.hardware.flow import Flow, Request
    from casemate.hardware.library import Library
    from casemate.schemas.hardware import CoreCost, HardwareCost, Scaling
    from casemate.terminal.progress import Steps

OSU018 = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
"""Library of the package `qflow-tech-osu018` of Debian and Ubuntu."""
FOLDER = Path("results") / "hardware"
TARGETS_NS = (0.01, 1000)
"""Shortest and longest delay that synthesis can aim at, in nanoseconds; Yosys and ABC fail beyond these limits."""
STEP_SECONDS = {
    "simulation of the RTL": 22,
    "synthesis": 20,
    "mapping": 16,
    "FPGA": 44,
    "simulation of the netlist": 13,
}
"""Seconds that each step takes for the engine's router with its lane, in order: weights of the steps in the progress
bar. Mapping to cells is a step for each delay that it aims at.
"""
WITH_STIMULUS = ("simulation of the RTL", "simulation of the netlist")
"""Steps that need a stimulus."""

HOW = """\b
The flow, the same for every core and without settings for a single one:
  Yosys synthesises the RTL; ABC maps it to the library for several delays, and the flow keeps the mapping with the
  highest frequency for its area, so that each core has its own best target; nets of more than 16 sinks are split;
  OpenSTA times the netlist; Verilator runs the RTL under the stimulus; the netlist is run with the same port values,
  must have the same outputs, and every toggle of every net takes the energy in the library. Wires, the clock's tree and
  glitches are not modelled.

\b
How to read the table:
  target    the delay in ns for which the core was mapped, if the flow tried several
  mm2       cells, no wires
  MHz       the highest frequency, with ideal wires and registers right at the ports
  cycles    from one line of 64 bytes to the next, measured in simulation, all lanes busy
  Gb/s      of text, at that frequency and in these cycles; then for each mm2
  nJ/line   switching, energy within cells, clock pins and leakage, over lines of random text that are sealed
  LUT, FF   of a Xilinx series 7 FPGA, as Yosys maps it
  n x core  straight lines through routers with several lanes, which differ only in their number and are mapped for one
            delay: area, and power at the clock of the slowest
With --details: cells and flip-flops, the share of the area that is flip-flops, buffers that split nets, cycles from
taking a line to its response, and the shares of the energy that charge nets, are within cells, and are the clock's.
Compare cores in one library and one run of the flow only. More is in docs/systems/gcm-engine-cost.md.

\b
Every step is kept in the output folder under the hash of everything that decides it, and is not repeated: after Ctrl-C,
with another stimulus or with more cores the flow continues from the kept steps. Your stimulus runs each time.
"""

OUT = click.option(
    "--out",
    "folder",
    type=options.folder,
    default=FOLDER,
    show_default=True,
    metavar="FOLDER",
    help="Folder that keeps finished steps.",
)
TARGET = click.option(
    "--target",
    type=float,
    metavar="NS",
    help="The only delay that mapping aims at.  [default: each core keeps the best of 20, 30, 40, 60 and 80 times the "
    "delay of an inverter that drives four]",
)
DONT_USE = click.option(
    "--dont-use",
    multiple=True,
    metavar="GLOB",
    help="Use no cell with a name that matches, as in 'sky130_fd_sc_hd__lpflow_*'; repeat it. Cells that the library "
    "marks as dont_use are never used.",
)
DETAILS = click.option("--details", is_flag=True, help="Also show the parts of the figures, and the longest paths.")
NO_FPGA = click.option("--no-fpga", is_flag=True, help="Leave out the FPGA, which takes much time.")
LIBRARY = click.option(
    "--lib",
    "library",
    type=click.Path(path_type=Path),
    default=OSU018,
    show_default=True,
    metavar="FILE",
    help="The cell library, a Liberty file.",
)
LIBRARIES = click.option(
    "--lib",
    "libraries",
    type=click.Path(path_type=Path),
    multiple=True,
    default=(OSU018,),
    show_default=True,
    metavar="FILE",
    help="A cell library, a Liberty file; repeat it.",
)


def of_one_library(command: Any) -> Any:
    """Adds the options of commands that price cores in one library."""
    for option in (screen.as_json, DETAILS, OUT, NO_FPGA, TARGET, DONT_USE, LIBRARY):
        command = option(command)
    return command


def of_core(command: Any) -> Any:
    """Adds the options that describe a core in a user's files."""
    for option in (
        click.option(
            "--lines",
            type=click.IntRange(1, 4096),
            default=24,
            show_default=True,
            metavar="N",
            help="Number of lines in core.lines.",
        ),
        click.option(
            "--key-bits",
            type=click.Choice(["128", "256"]),
            default="128",
            show_default=True,
            help="Bits of the key in core.key.",
        ),
        click.option(
            "--clock", metavar="PORT", help="Clock of the top module.  [default: clk_i, clk, clock, clock_i or CLK]"
        ),
        click.option(
            "--param",
            "parameters",
            multiple=True,
            metavar="NAME=VALUE",
            callback=options.pairs("W=16"),
            help="A parameter of the top module; repeat it.",
        ),
        click.option("--top", required=True, metavar="MODULE", help="The module on top."),
        click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."),
    ):
        command = option(command)
    return command


def of_lane(command: Any) -> Any:
    """Adds the options with the parameters of our engine's lanes."""
    for option in (
        click.option(
            "--rtl",
            type=click.Path(path_type=Path),
            metavar="FOLDER",
            help="The engine's sources.  [default: this repository's]",
        ),
        click.option(
            "--tower",
            type=click.Choice(["no", "yes"]),
            multiple=True,
            help="S-boxes in the tower field; repeat it.  [default: no]",
        ),
        click.option(
            "--mul-bits",
            type=click.Choice(["8", "16", "32", "64", "128"]),
            multiple=True,
            help="Bits of a GHASH product per cycle; repeat it.  [default: 16]",
        ),
        click.option(
            "--rounds",
            type=click.Choice(["0", "1", "2"]),
            multiple=True,
            help="AES rounds per cycle, 0: a pipeline stage for each; repeat it.  [default: 1]",
        ),
    ):
        command = option(command)
    return command


def points(given: dict[str, Any], key_bits: Sequence[str], lanes: Sequence[int] = ()) -> "list[Point]":
    """Returns the configurations of the engine that the options of `of_lane` describe, with these lengths of the key
    and these numbers of lanes.
    """
    from casemate.hardware import engine

    bits, rounds, mul_bits = (
        [int(each) for each in values] for values in (key_bits, given["rounds"], given["mul_bits"])
    )
    return engine.points(bits, rounds, mul_bits, [each == "yes" for each in given["tower"]], lanes)


def request(given: dict[str, Any]) -> "Request":
    """Returns the request to the flow for the core that the options of `of_core` describe. Raises `CasemateError` if
    its sources or its module on top do not exist.
    """
    from casemate.hardware import design, sources
    from casemate.hardware.flow import Request

    described = design.Design(sources.read(given["files"]), given["top"], tuple(given["parameters"].items()))
    described.check()
    return Request(
        design=described,
        clock=given["clock"],
        stimulus=given["stimulus"],
        key_bytes=int(given["key_bits"]) // 8,
        lines=given["lines"],
        has_fpga=not given["no_fpga"],
    )


def weights(mappings: int) -> dict[str, int]:
    """Returns the weight of each step, by the beginning of its name, if a core is mapped for so many delays."""
    found = dict[str, int]()
    for name, seconds in STEP_SECONDS.items():
        names = [f"mapping {number} " for number in range(1, mappings + 1)] if name == "mapping" else [name]
        found |= dict.fromkeys(names, seconds)
    return found


class Pricing:
    """Shows the hardware core and the step under way, and the total progress. Steps with a kept result have no weight;
    a core that the flow has not begun has the weight of all its steps.
    """

    def __init__(self, steps: "Steps", cores: int, left_out: Collection[str], mappings: int) -> None:
        """`mappings` is the number of delays for which the flow maps each core."""
        self._steps, self._cores, self._core = steps, cores, ""
        self._seconds = {name: each for name, each in weights(mappings).items() if name not in left_out}
        self._done = self._step = self._at = 0

    def begin(self, number: int, core: str) -> None:
        """Begins the work on a hardware core."""
        self._cores, self._core = self._cores - (number > 0), core
        self._done, self._step, self._at = self._done + self._step, 0, 0
        self._steps.begin(0, core)

    def step(self, name: str) -> None:
        """Begins a step of the core. A step without a weight changes only the text."""
        known = list(self._seconds)
        at = next((number for number, start in enumerate(known) if name.startswith(start)), None)
        if at is not None:
            self._done, self._step, self._at = self._done + self._step, self._seconds[known[at]], at
        left = sum(self._seconds[each] for each in known[self._at :]) + (self._cores - 1) * sum(self._seconds.values())
        self._steps.report({"done": self._done, "of": self._done + left, "about": f"{self._core}: {name}"})


def pricing(steps: "Steps", cores: int, given: dict[str, Any], has_stimulus: bool = True) -> Pricing:
    """Returns the progress of so many cores."""
    from casemate.hardware.synthesis import TARGETS_FO4

    left_out = [*(["FPGA"] if given["no_fpga"] else []), *(() if has_stimulus else WITH_STIMULUS)]
    return Pricing(steps, cores, left_out, 1 if given["target"] else len(TARGETS_FO4))


def flows(paths: Sequence[Path], given: dict[str, Any], progress: Pricing) -> "list[Flow]":
    """Returns a flow for each library. Raises `CasemateError` if a program, a library or a pattern of `--dont-use` is
    unusable.
    """
    from casemate.hardware import library, tools
    from casemate.hardware.flow import Flow

    if OSU018 in paths and not OSU018.is_file():
        raise tools.missing("the cell library of the package 'qflow-tech-osu018'")
    target = given["target"]
    if target is not None and not TARGETS_NS[0] <= target <= TARGETS_NS[1]:
        expected = f"{TARGETS_NS[0]:g} to {TARGETS_NS[1]:g} ns, as in --target 5"
        raise CasemateError(f"--target {target:g} is no delay that synthesis can aim at: expected {expected}")
    patterns = given["dont_use"]
    read = [library.read(path, patterns) for path in paths]
    check_patterns(read, patterns)
    return [Flow(each, given["folder"], target and target * 1e-9, progress.step) for each in read]


def check_patterns(libraries: "Sequence[Library]", dont_use: Sequence[str]) -> None:
    """Checks that each pattern leaves out a cell of a library. Raises `CasemateError` if one does not."""
    for pattern in dont_use:
        if not any(fnmatch.filter(library.unused, pattern) for library in libraries):
            paths = " or ".join(f"'{library.path}'" for library in libraries)
            raise CasemateError(
                f"--dont-use: no cell in {paths} has a name that matches '{pattern}': expected a pattern, as in '*_lp*'"
            )


def cost(flow: "Flow", rows: "list[CoreCost]", fits: "Sequence[Scaling]" = ()) -> "HardwareCost":
    """Returns the costs of cores by one flow as a result."""
    from casemate.hardware import tools
    from casemate.schemas.hardware import HardwareCost

    return HardwareCost(
        library=flow.library.name,
        library_content=flow.library_content,
        unused=tuple(sorted(flow.library.unused)),
        voltage_v=flow.library.voltage_v,
        targets_ns=[each * 1e9 for each in flow.targets_s],
        tools=tools.versions(),
        recipe=flow.recipe,
        rows=rows,
        scaling=list(fits),
    )


def show(flow: "Flow", found: "HardwareCost", given: dict[str, Any], pictures: Sequence[tuple[Path, str]] = ()) -> None:
    """Prints costs and draws the requested pictures."""
    from casemate.tables import hardware_table

    note_left_out([flow])
    if given["as_json"]:
        screen.print_json(found)
    else:
        screen.results().print(hardware_table.table(found))
        if given["details"]:
            screen.results().print(hardware_table.details(found))
    for path, kind in pictures:
        from casemate.plots import hardware_picture

        hardware_picture.draw(found, path, kind)
        screen.notices().print(f"wrote {path}", markup=False)


def note_left_out(flows: "Sequence[Flow]") -> None:
    """Reports the parts of the energy that libraries do not state."""
    for left_out in filter(None, (flow.library.left_out() for flow in flows)):
        screen.notices().print(left_out, markup=False)
