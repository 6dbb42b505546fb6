"""`casemate cost compare`: lanes of our AES-GCM engine and another AES-GCM core, in several cell libraries."""

from pathlib import Path
from typing import Any

import click

from casemate.cli.commands import cost_flow
from casemate.terminal import screen

COMPARE = f"""\b
Examples:
  casemate cost compare gcm-aes/*.v --top gcm_aes_v0 --stimulus comparisons/gcm-aes/drive.py
  casemate cost compare core.v --top core --stimulus drive.py --lib osu018_stdcells.lib --lib sky130hd_tt.lib.gz
  casemate cost compare core.v --top core --stimulus drive.py --mul-bits 16 --mul-bits 128

\b
Each library gets a row for each lane and one for the other core, then the lane's throughput for its area and its
energy for a line divided by those of the other core. A ratio above 1 in Gb/s/mm2, and one below 1 in nJ/line, favours
the lane. Each core takes two to four minutes in each library. `casemate cost rtl --help` describes FILE and the
stimulus.

{cost_flow.HOW}"""


@click.command("compare", short_help="Our AES-GCM lanes and another core, in several libraries.", epilog=COMPARE)
@cost_flow.of_core
@click.option(
    "--stimulus",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Python file that drives the other core.",
)
@cost_flow.of_lane
@cost_flow.LIBRARIES
@cost_flow.DONT_USE
@cost_flow.TARGET
@cost_flow.OUT
@cost_flow.DETAILS
@screen.as_json
def compare(**given: Any) -> None:
    """Compare lanes of the AES-GCM engine with another AES-GCM core, in several cell libraries."""
    from casemate.hardware import comparison
    from casemate.hardware import engine as space
    from casemate.tables import hardware_table
    from casemate.terminal.progress import Steps

    given["no_fpga"] = True
    request = cost_flow.request(given)
    sources = space.rtl_folder(given["rtl"])
    lanes = cost_flow.points(given, [given["key_bits"]])
    libraries = list(dict.fromkeys(given["libraries"]))
    with Steps(screen.notices(), "pricing", 1) as progress:
        pricing = cost_flow.pricing(progress, len(libraries) * (len(lanes) + 1), given)
        flows = cost_flow.flows(libraries, given, pricing)
        costs = [
            cost_flow.cost(flow, rows) for flow, rows in comparison.price(lanes, request, flows, sources, pricing.begin)
        ]
    found = comparison.compared(request.design.title, costs)
    cost_flow.note_left_out(flows)
    if given["as_json"]:
        screen.print_json(found)
        return
    screen.results().print(hardware_table.comparison(found))
    for each in costs if given["details"] else ():
        screen.results().print(f"{each.library} {each.voltage_v:g} V", markup=False)
        screen.results().print(hardware_table.details(each))
