"""`casemate list`: what is built in, and which traces lie in a folder."""

from pathlib import Path

import click

from casemate import screen
from casemate.names import OneOf

KINDS = ("designs", "machines", "workloads", "attacks", "traces")

EPILOG = """\b
Examples:
  casemate list                       everything that is built in
  casemate list workloads             built-in workloads with what can be set about them
  casemate list traces --folder runs  trace files in a folder
"""


@click.command("list", epilog=EPILOG)
@click.argument(
    "kind", type=OneOf("kind", KINDS), required=False, metavar="[designs|machines|workloads|attacks|traces]"
)
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="Where to look for traces.",
)
@screen.as_json
def command(kind: str | None, folder: Path, as_json: bool) -> None:
    """List designs, machines, workloads, attacks or traces."""
    from casemate import api, listing
    from casemate.results import Listing

    wanted = (kind,) if kind else KINDS[:-1]
    found = Listing(
        designs=api.designs() if "designs" in wanted else (),
        machines=api.machines() if "machines" in wanted else (),
        workloads=api.workloads() if "workloads" in wanted else (),
        attacks=api.attacks() if "attacks" in wanted else (),
        traces=tuple(str(path) for path in sorted(folder.glob("*.trace"))) if "traces" in wanted else (),
    )
    if as_json:
        screen.print_json(found)
    else:
        screen.results().print(listing.listing(found, wanted))
