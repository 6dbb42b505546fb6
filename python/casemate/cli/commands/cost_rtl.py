"""`casemate cost rtl`: the cost of any RTL."""

from pathlib import Path
from typing import Any

import click

from casemate.cli.commands import cost_flow
from casemate.terminal import screen

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

{cost_flow.HOW}"""


@click.command("rtl", short_help="Area, speed and energy of any RTL.", epilog=RTL)
@cost_flow.of_core
@click.option(
    "--stimulus", type=click.Path(path_type=Path), metavar="FILE", help="Python file that drives the module, as below."
)
@cost_flow.of_one_library
def rtl(**given: Any) -> None:
    """Estimate area, frequency, throughput and energy of any RTL, by the flow of `casemate cost engine`."""
    from casemate.terminal.progress import Steps

    request = cost_flow.request(given)
    with Steps(screen.notices(), "pricing", 1) as progress:
        pricing = cost_flow.pricing(progress, 1, given, request.stimulus is not None)
        flow = cost_flow.flows([given["library"]], given, pricing)[0]
        pricing.begin(0, request.design.title)
        row = flow.price(request)
    cost_flow.show(flow, cost_flow.cost(flow, [row]), given)
