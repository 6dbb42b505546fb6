"""`casemate cost engine` and `casemate cost rtl`: cost of hardware, all through one flow."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from casemate._core import CasemateError
from casemate.cli import options
from casemate.terminal import screen
from casemate.text.nearest import hint_of_file

if TYPE_CHECKING:
    from casemate.hardware.flow import Flow
    from casemate.schemas.hardware import CoreCost, Scaling
    from casemate.terminal.progress import Steps

OSU018 = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
"""Library of the package `qflow-tech-osu018` of Debian and Ubuntu."""
FOLDER = Path("results") / "hardware"
TARGETS_NS = (0.01, 1000)
"""Shortest and longest delay that synthesis can aim at, in nanoseconds; Yosys and ABC fail beyond these limits."""
STEP_SECONDS = {"simulation of the RTL": 22, "synthesis": 35, "timing": 4, "FPGA": 44, "simulation of the netlist": 13}
"""Seconds that each step takes for the engine's router with its lane, in order: weights of the steps in the progress
bar.
"""
WITH_STIMULUS = ("simulation of the RTL", "simulation of the netlist")
"""Steps that need a stimulus."""

HOW = """\b
The flow, the same for every core and without settings for a single one:
  Yosys and ABC map the RTL to the library; nets of more than 16 sinks are split; OpenSTA times the netlist; Verilator
  runs the RTL under the stimulus; the netlist is run with the same port values, must have the same outputs, and every
  toggle of every net takes the energy in the library. Wires, the clock's tree and glitches are not modelled.

\b
How to read the table:
  mm2       cells, no wires
  MHz       the highest frequency, with ideal wires and registers right at the ports
  cycles    from one line of 64 bytes to the next, measured in simulation, all lanes busy
  Gb/s      of text, at that frequency and in these cycles; then for each mm2
  nJ/line   switching, energy within cells, clock pins and leakage, over lines of random text that are sealed
  LUT, FF   of a Xilinx series 7 FPGA, as Yosys maps it
  n x core  straight lines through routers that differ only in their lanes: area, and power at the clock of the slowest
With --details: cells and flip-flops, the share of the area that is flip-flops, buffers that split nets, cycles from
taking a line to its response, and the shares of the energy that charge nets, are within cells, and are the clock's.
Compare cores in one library and one run of the flow only. More is in docs/systems/gcm-engine-cost.md.

\b
Every step is kept in the output folder under the hash of everything that decides it, and is not repeated: after Ctrl-C,
with another stimulus or with more cores the flow continues from the kept steps. Your stimulus runs each time.
"""

ENGINE = f"""\b
Examples:
  casemate cost engine                                        six usual points: a quarter of an hour
  casemate cost engine --mul-bits 8 --mul-bits 16 --mul-bits 32 --tower no --tower yes
  casemate cost engine --rounds 0 --mul-bits 128 --lanes 1 --lanes 4
  casemate cost engine --png pareto.png                       area against throughput, and against energy
  casemate cost engine --beside thesis.json                   with a core that `casemate cost rtl --json` priced
  casemate cost engine --lib NangateOpenCellLibrary_typical.lib --out results/nangate

\b
Values of several options are combined, all with all; an option that is not given is at its default. Without any of
--key-bits, --rounds, --mul-bits, --tower and --lanes it prices six usual points.

{HOW}"""

RTL = f"""\b
Examples:
  casemate cost rtl rtl/sources.f --top gf128_mul --param W=16        this repository's multiplier: half a minute
  casemate cost rtl rtl/sources.f --top gcm_lane --stimulus python/casemate/hardware/engine_stimulus.py --details
  casemate cost rtl core.v aes.v --top gcm_core --clock clk --stimulus drive.py
  casemate cost rtl +incdir+include +define+SYNTHESIS *.v --top gcm_core --stimulus drive.py --json > core.json

\b
A FILE is a source, +incdir+FOLDER, +define+NAME=VALUE, or a list of these that ends in .f; names in a list count from
its folder or one above.

\b
Cycles and energy need a stimulus, a Python file with a function drive(core):
  def drive(core):
      core.cycle(rst=1)                          # inputs keep their values; one cycle passes
      core.cycle(rst=0, key=core.key)
      core.measure()                             # counting begins
      for line in core.lines:                    # the same lines for every core: .nonce, .text
          core.cycle(start=1, nonce=line.nonce, text=line.text)
          out = core.cycle(start=0)              # outputs as they are just before the edge
          while not out["done"]:
              out = core.cycle()
          core.done(out["sealed"], out["tag"])   # must be AES-GCM of the line, or it is refused
  core.begun(N) before core.done(..., line=N) gives the latency. The stimulus of a core other than AES-GCM calls
  core.done() for each finished piece of work.

{HOW}"""


def _shared(command: Any) -> Any:
    """Options that both commands have."""
    for option in (
        screen.as_json,
        click.option("--details", is_flag=True, help="Also show the parts of the figures, and the longest paths."),
        click.option(
            "--out",
            "folder",
            type=options.folder,
            default=FOLDER,
            show_default=True,
            metavar="FOLDER",
            help="Folder that keeps finished steps.",
        ),
        click.option("--no-fpga", is_flag=True, help="Leave out the FPGA, which takes the most time."),
        click.option(
            "--target",
            type=float,
            metavar="NS",
            help="The delay that synthesis aims at.  [default: 40 inverters, each with 4 behind it]",
        ),
        click.option(
            "--dont-use",
            multiple=True,
            metavar="GLOB",
            help="Use no cell with a name that matches, as in 'sky130_fd_sc_hd__lpflow_*'; repeat it. Cells that the "
            "library marks as dont_use are never used.",
        ),
        click.option(
            "--lib",
            "library",
            type=click.Path(path_type=Path),
            default=OSU018,
            show_default=True,
            metavar="FILE",
            help="The cell library, a Liberty file.",
        ),
    ):
        command = option(command)
    return command


@click.command("engine", short_help="Area, speed and energy of the AES-GCM engine.", epilog=ENGINE)
@click.option(
    "--key-bits", type=click.Choice(["128", "256"]), multiple=True, help="Bits of the key; repeat it.  [default: 128]"
)
@click.option(
    "--rounds",
    type=click.Choice(["0", "1", "2"]),
    multiple=True,
    help="AES rounds per cycle, 0: a pipeline stage for each; repeat it.  [default: 1]",
)
@click.option(
    "--mul-bits",
    type=click.Choice(["8", "16", "32", "64", "128"]),
    multiple=True,
    help="Bits of a GHASH product per cycle; repeat it.  [default: 16]",
)
@click.option(
    "--tower",
    type=click.Choice(["no", "yes"]),
    multiple=True,
    help="S-boxes in the tower field; repeat it.  [default: no]",
)
@click.option(
    "--lanes",
    type=click.IntRange(1, 16),
    multiple=True,
    metavar="N",
    help="Lanes, behind a router if more than one; repeat it.  [default: 1]",
)
@click.option(
    "--rtl",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The engine's sources.  [default: this repository's]",
)
@click.option(
    "--beside",
    type=options.source,
    multiple=True,
    metavar="FILE",
    help="Also show the hardware cores in a file that --json printed; repeat it.",
)
@options.svg
@options.png
@_shared
def engine(**given: Any) -> None:
    """Estimate area, frequency, throughput and energy of configurations of the AES-GCM engine."""
    from casemate.hardware import engine as space
    from casemate.hardware.scaling import scaling
    from casemate.terminal.progress import Steps

    pictures = options.pictures(given["svg"], given["png"])
    sources = space.rtl_folder(given["rtl"])
    key_bits, rounds, mul_bits = ([int(each) for each in given[name]] for name in ("key_bits", "rounds", "mul_bits"))
    points = space.points(key_bits, rounds, mul_bits, [each == "yes" for each in given["tower"]], given["lanes"])
    with Steps(screen.notices(), "pricing", 1) as progress:
        pricing = Pricing(progress, len(points), ["FPGA"] if given["no_fpga"] else [])
        flow = _flow(given, pricing)
        others = [row for path in given["beside"] for row in other_cores(path, flow)]
        rows = space.price(points, flow, sources, not given["no_fpga"], pricing.begin)
    _show(flow, [*rows, *others], given, pictures, scaling(points, rows))


@click.command("rtl", short_help="Area, speed and energy of any RTL.", epilog=RTL)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--top", required=True, metavar="MODULE", help="The module on top.")
@click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    callback=options.pairs("W=16"),
    help="A parameter of the top module; repeat it.",
)
@click.option("--clock", metavar="PORT", help="Clock of the top module.  [default: clk_i, clk, clock, clock_i or CLK]")
@click.option(
    "--stimulus", type=click.Path(path_type=Path), metavar="FILE", help="Python file that drives the module, as below."
)
@click.option(
    "--key-bits",
    type=click.Choice(["128", "256"]),
    default="128",
    show_default=True,
    help="Bits of the key in core.key.",
)
@click.option(
    "--lines",
    type=click.IntRange(1, 4096),
    default=24,
    show_default=True,
    metavar="N",
    help="Number of lines in core.lines.",
)
@_shared
def rtl(**given: Any) -> None:
    """Estimate area, frequency, throughput and energy of any RTL, by the flow of `casemate cost engine`."""
    from casemate.hardware import design, sources
    from casemate.hardware.flow import Request
    from casemate.terminal.progress import Steps

    described = design.Design(sources.read(given["files"]), given["top"], tuple(given["parameters"].items()))
    described.check()
    request = Request(
        design=described,
        clock=given["clock"],
        stimulus=given["stimulus"],
        key_bytes=int(given["key_bits"]) // 8,
        lines=given["lines"],
        has_fpga=not given["no_fpga"],
    )
    with Steps(screen.notices(), "pricing", 1) as progress:
        left_out = ["FPGA"] if given["no_fpga"] else []
        pricing = Pricing(progress, 1, left_out if given["stimulus"] else [*left_out, *WITH_STIMULUS])
        flow = _flow(given, pricing)
        pricing.begin(0, described.title)
        row = flow.price(request)
    _show(flow, [row], given, [])


class Pricing:
    """Shows the hardware core and the step under way, and the total progress. Steps with a kept result have no weight;
    a core that the flow has not begun has the weight of all its steps.
    """

    def __init__(self, steps: "Steps", cores: int, left_out: Sequence[str]) -> None:
        self._steps, self._cores, self._core = steps, cores, ""
        self._seconds = {name: each for name, each in STEP_SECONDS.items() if name not in left_out}
        self._done = self._step = 0

    def begin(self, number: int, core: str) -> None:
        """Begins the work on a hardware core."""
        self._cores, self._core = self._cores - (number > 0), core
        self._done, self._step = self._done + self._step, 0
        self._steps.begin(0, core)

    def step(self, name: str) -> None:
        """Begins a step of the core."""
        self._done += self._step
        known = list(self._seconds)
        at = next((number for number, start in enumerate(known) if name.startswith(start)), 0)
        self._step = self._seconds[known[at]] if name.startswith(known[at]) else 0
        left = sum(self._seconds[each] for each in known[at:]) + (self._cores - 1) * sum(self._seconds.values())
        self._steps.report({"done": self._done, "of": self._done + left, "about": f"{self._core}: {name}"})


def _flow(given: dict[str, Any], progress: Pricing) -> "Flow":
    from casemate.hardware import tools
    from casemate.hardware.flow import Flow

    library = given["library"]
    if library == OSU018 and not library.is_file():
        raise tools.missing("the cell library of the package 'qflow-tech-osu018'")
    target = given["target"]
    if target is not None and not TARGETS_NS[0] <= target <= TARGETS_NS[1]:
        expected = f"{TARGETS_NS[0]:g} to {TARGETS_NS[1]:g} ns, as in --target 5"
        raise CasemateError(f"--target {target:g} is no delay that synthesis can aim at: expected {expected}")
    return Flow(library, given["folder"], target and target * 1e-9, progress.step, given["dont_use"])


def other_cores(path: Path, flow: "Flow") -> "list[CoreCost]":
    """Returns the cores of an earlier result. Raises `CasemateError` if the file is not a result, or if its cores did
    not use this flow: results with another library or another target delay are not comparable.
    """
    from pydantic import ValidationError

    from casemate.hardware import tools
    from casemate.schemas.hardware import HardwareCost

    expected = "expected the output of `casemate cost rtl --json`"
    try:
        found = HardwareCost.model_validate_json(path.read_bytes())
    except OSError as error:
        said = f"--beside: cannot read '{path}': {error.strerror or error}{hint_of_file(path)}; {expected}"
        raise CasemateError(said) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise CasemateError(
            f"--beside: '{path}' holds no cores: {where}{': ' * bool(where)}{first['msg']}; {expected}"
        ) from error
    here = flow.delay_s * 1e9
    for what, theirs, ours in (
        ("of the library", found.library, flow.library.name),
        ("of a file of it with the digest", found.library_content[:8], flow.library_content[:8]),
        ("at", f"{found.voltage_v:g} V", f"{flow.library.voltage_v:g} V"),
        ("synthesised for", f"{found.target_ns:.4g} ns", f"{here:.4g} ns"),
    ):
        if theirs != ours:
            way = f": price them with --target {here:.4g}" if "synthesised" in what else ""
            raise CasemateError(
                f"--beside: the cores in '{path}' are {what} {theirs}, and those here {what} {ours}{way}"
            )
    others = [f"{name} {version}" for name, version in found.tools.items() if tools.versions().get(name) != version]
    if found.recipe != flow.recipe:
        others.append("another version of this flow")
    if others:
        programs = ", ".join(others)
        screen.notices().print(f"the cores in '{path}' were priced by other programs: {programs}", markup=False)
    return found.rows


def _show(
    flow: "Flow",
    rows: "list[CoreCost]",
    given: dict[str, Any],
    pictures: list[tuple[Path, str]],
    fits: "Sequence[Scaling]" = (),
) -> None:
    from casemate.hardware import tools
    from casemate.schemas.hardware import HardwareCost
    from casemate.tables import hardware_table

    found = HardwareCost(
        library=flow.library.name,
        library_content=flow.library_content,
        voltage_v=flow.library.voltage_v,
        target_ns=flow.delay_s * 1e9,
        tools=tools.versions(),
        recipe=flow.recipe,
        rows=rows,
        scaling=list(fits),
    )
    if left_out := flow.library.left_out():
        screen.notices().print(left_out, markup=False)
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
