"""`casemate list`: built-in components, and the traces in a folder."""

from pathlib import Path
from typing import Literal

import click

from casemate.cli import options
from casemate.cli.names import OneOf
from casemate.terminal import screen

NAMED: dict[str, Literal["machine", "design"]] = {"machines": "machine", "designs": "design"}
"""Kinds of components with a name and values."""

KINDS = ("designs", "machines", "workloads", "attacks", "traces")

EPILOG = """\b
Examples:
  casemate list                       everything that is built in
  casemate list workloads             built-in workloads with their parameters
  casemate list traces --folder runs  traces in a folder, recognised by content under any name
  casemate list machines modern       every value of a machine, and its source: a start for a file of your own
  casemate list designs sc64-bmt --with design.parts.mac.tag_bits=64
  casemate list machines modern --json    the same as JSON; `casemate schema list settings` prints its form
"""


@click.command("list", epilog=EPILOG)
@click.argument(
    "kind", type=OneOf("kind", KINDS), required=False, metavar="[designs|machines|workloads|attacks|traces]"
)
@click.argument("name", required=False, metavar="[NAME|FILE]")
@options.changes
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="Folder to search for traces.",
)
@screen.as_json
def command(kind: str | None, name: str | None, changes: dict[str, str], folder: Path, as_json: bool) -> None:
    """List designs, machines, workloads, attacks or traces; for a machine or a design all its values."""
    from casemate import api
    from casemate.laboratory import traces
    from casemate.schemas import Listing
    from casemate.tables import listing

    if name is not None:
        if kind not in NAMED:
            raise click.UsageError(f"only {' and '.join(NAMED)} have values to be listed: leave '{name}' out")
        settings = api.settings(NAMED[kind], name, changes)
        if as_json:
            screen.print_json(settings)
        else:
            click.echo(listing.settings(settings))
        return
    if changes:
        raise click.UsageError("--with is for one machine or design: name it, as in `casemate list machines modern`")
    wanted = (kind,) if kind else KINDS[:-1]
    stored, refused = traces.found_in(folder) if "traces" in wanted else ((), ())
    found = Listing(
        designs=api.designs() if "designs" in wanted else (),
        machines=api.machines() if "machines" in wanted else (),
        workloads=api.workloads() if "workloads" in wanted else (),
        attacks=api.attacks() if "attacks" in wanted else (),
        traces=stored,
        refused_traces=refused,
    )
    if as_json:
        screen.print_json(found)
    else:
        screen.results().print(listing.listing(found, wanted))
