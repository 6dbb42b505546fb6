"""`casemate validate`: the simulated machine next to public simulators."""

import click

from casemate.cli.main import EXIT_NO
from casemate.terminal import screen

EPILOG = """\b
Examples:
  casemate validate            all streams and traces of the references: minutes
  casemate validate --brief    shorter streams and the short ones of the windows, held to the same tolerances; the 99th
                               percentile of latencies needs whole streams and is only reported

\b
How to read the table:
  ours, theirs    our figure and the reference simulator's, for the same configuration and the same input; ± half of its
                  95 % interval over several placements of pages
  off             by how much ours is higher: in percent of theirs, or of two percentages in percentage points
  allowed         the tolerance, plus the variation between placements; a figure without a tolerance is only reported,
                  one beyond it is marked OUT, and one that varies more than its tolerance is not counted

docs/VALIDATION.md explains the differences and their reasons; reference/ states the origin of the references.

\b
Exit codes: 0 all within their tolerances, 1 something is not, 2 bad input, 130 Ctrl-C, 143 SIGTERM.
"""


@click.command("validate", epilog=EPILOG)
@click.option("--brief", is_flag=True, help="Only a small part of the references' work.")
@screen.as_json
def command(brief: bool, as_json: bool) -> int:
    """Compare the simulated machine with public simulators of the same configuration.

    The DRAM model is compared with two DRAM simulators on the same streams of requests, the whole machine with ChampSim
    on the same traces.
    """
    from casemate import api
    from casemate.tables import layouts
    from casemate.terminal.progress import Steps

    with Steps(screen.notices(), "validating", 1) as progress:
        report = api.validate(brief=brief, progress=progress.report)
    if as_json:
        screen.print_json(report)
    else:
        screen.results().print(layouts.validation_table(report))
    return 0 if report.ok else EXIT_NO
