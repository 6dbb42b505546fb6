"""`casemate cost engine`: the cost of configurations of our AES-GCM engine."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from casemate._core import CasemateError
from casemate.cli import options
from casemate.cli.commands import cost_flow
from casemate.terminal import screen
from casemate.text.nearest import hint_of_file

if TYPE_CHECKING:
    from casemate.hardware.flow import Flow
    from casemate.schemas.hardware import CoreCost

ENGINE = f"""\b
Examples:
  casemate cost engine                                        six usual points: 25 minutes
  casemate cost engine --mul-bits 8 --mul-bits 16 --mul-bits 32 --tower no --tower yes
  casemate cost engine --rounds 0 --mul-bits 128 --lanes 1 --lanes 4
  casemate cost engine --png pareto.png                       area against throughput, and against energy
  casemate cost engine --beside thesis.json                   with a core that `casemate cost rtl --json` priced
  casemate cost engine --lib NangateOpenCellLibrary_typical.lib --out results/nangate

\b
Values of several options are combined, all with all; an option that is not given is at its default. Without any of
--key-bits, --rounds, --mul-bits, --tower and --lanes it prices six usual points.

{cost_flow.HOW}"""


@click.command("engine", short_help="Area, speed and energy of the AES-GCM engine.", epilog=ENGINE)
@click.option(
    "--key-bits", type=click.Choice(["128", "256"]), multiple=True, help="Bits of the key; repeat it.  [default: 128]"
)
@click.option(
    "--lanes",
    type=click.IntRange(1, 16),
    multiple=True,
    metavar="N",
    help="Lanes, behind a router if more than one; repeat it.  [default: 1]",
)
@cost_flow.of_lane
@click.option(
    "--beside",
    type=options.source,
    multiple=True,
    metavar="FILE",
    help="Also show the hardware cores in a file that --json printed; repeat it.",
)
@options.svg
@options.png
@cost_flow.of_one_library
def engine(**given: Any) -> None:
    """Estimate area, frequency, throughput and energy of configurations of the AES-GCM engine."""
    from casemate.hardware import engine as space
    from casemate.hardware.scaling import scaling, without_fit
    from casemate.terminal.progress import Steps

    pictures = options.pictures(given["svg"], given["png"])
    sources = space.rtl_folder(given["rtl"])
    points = cost_flow.points(given, given["key_bits"], given["lanes"])
    with Steps(screen.notices(), "pricing", 1) as progress:
        pricing = cost_flow.pricing(progress, len(points), given)
        flow = cost_flow.flows([given["library"]], given, pricing)[0]
        others = [row for path in given["beside"] for row in other_cores(path, flow)]
        rows = space.price(points, flow, sources, not given["no_fpga"], pricing.begin)
    for name in without_fit(points, rows):
        said = f"no line through routers of {name}: they are mapped for different delays; price them with one --target"
        screen.notices().print(said, markup=False)
    cost_flow.show(flow, cost_flow.cost(flow, [*rows, *others], scaling(points, rows)), given, pictures)


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
    for what, theirs, ours in (
        ("of the library", found.library, flow.library.name),
        ("of a file of it with the digest", found.library_content[:8], flow.library_content[:8]),
        ("at", f"{found.voltage_v:g} V", f"{flow.library.voltage_v:g} V"),
        ("without the cells", _names(found.unused), _names(flow.library.unused)),
        ("mapped for", _targets(found.targets_ns), _targets([each * 1e9 for each in flow.targets_s])),
    ):
        if theirs != ours:
            way = ": price both with the same --target" if what == "mapped for" else ""
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


def _names(cells: Iterable[str]) -> str:
    return ", ".join(sorted(cells)) or "(all are used)"


def _targets(targets_ns: Sequence[float]) -> str:
    return f"{', '.join(f'{each:.4g}' for each in targets_ns)} ns"
