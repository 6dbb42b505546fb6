"""`casemate schema`: the form of every `--json`."""

import click

from casemate import screen
from casemate.names import OneOf

EPILOG = """\b
Examples:
  casemate schema run                     what `casemate run --json` prints
  casemate schema result > record.json    the form of the files that `casemate run --output` writes
"""

KINDS = {
    "run": "RunResults",
    "result": "Record",
    "attack": "AttackResults",
    "crash": "CrashResults",
    "explain": "Explanations",
    "record": "Recording",
    "list": "Listing",
    "bus": "BusInfo",
    "excerpt": "ExcerptInfo",
    "trace": "TraceInfo",
    "cost": "BatteryCost",
    "cost-engine": "HardwareCost",
    "cost-rtl": "HardwareCost",
    "validate": "Validation",
    "champsim": "Window",
    "reproduce": "Reproduction",
    "derivation": "Derivation",
    "bench": "CryptoBench",
}


@click.command("schema", epilog=EPILOG)
@click.argument("kind", type=OneOf("schema", tuple(KINDS)), metavar=f"[{'|'.join(KINDS)}]")
def command(kind: str) -> None:
    """Print the JSON schema of a command's --json, with the meaning and unit of every field."""
    from casemate import results

    screen.print_json(getattr(results, KINDS[kind]).schema_of())
