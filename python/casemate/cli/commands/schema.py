"""`casemate schema`: the form of every `--json`."""

import click

from casemate._core import CasemateError
from casemate.cli.commands.list import KINDS as LISTED
from casemate.cli.commands.list import NAMED
from casemate.terminal import screen
from casemate.text.nearest import hint

EPILOG = """\b
Examples:
  casemate schema run                     the output of `casemate run --json`
  casemate schema cost engine             the output of `casemate cost engine --json`
  casemate schema reproduce gcm           the output of a study without runs
  casemate schema result > record.json    the form of the files that `casemate run --output` writes
  casemate schema sweep plan              the output of `casemate sweep STUDY.toml --dry-run --json`
  casemate schema list machines modern    the output of `casemate list machines modern --json`
  casemate schema power loss              the output of `casemate run --power-loss AT --json`

\b
There are schemas of:
  {listed}
"""

KINDS = {
    "run": "RunResults",
    "power loss": "PowerLosses",
    "result": "Record",
    "explain": "Explanations",
    "attack": "AttackResults",
    "crash": "CrashResults",
    "sweep": "SweepResult",
    "sweep plan": "SweepPlan",
    "results": "Rows",
    "list": "Listing",
    "list settings": "Settings",
    "record": "Recording",
    "trace": "TraceInfo",
    "bus": "BusInfo",
    "machine import": "ImportedMachine",
    "excerpt": "ExcerptInfo",
    "cost secpb": "BatteryCost",
    "cost engine": "HardwareCost",
    "cost rtl": "HardwareCost",
    "cost compare": "HardwareComparison",
    "bench crypto": "CryptoBench",
    "validate": "Validation",
    "champsim": "Window",
    "reproduce cryptopage": "Reproduction",
    "reproduce emcc": "Reproduction",
    "reproduce fvs": "Reproduction",
    "reproduce gcm": "Derivation",
    "reproduce secpb": "Reproduction",
}
"""Type of each command's result, with the words of the command as the user types them. If several commands of a group
print the same result, the key is the group.
"""


def of(words: str) -> str:
    """Returns the name of the result that a command prints. Raises `CasemateError` if the command does not exist, or if
    the commands of a group print several results.
    """
    if words in KINDS:
        return KINDS[words]
    match words.split():
        case ["list", kind] if kind in LISTED:
            return KINDS["list"]
        case ["list", kind, _, *_] if kind in NAMED:
            return KINDS["list settings"]
    known = next((name for name in KINDS if words.startswith(f"{name} ")), None)
    if known and _is_command(words):
        return KINDS[known]
    of_group = {name: kind for name, kind in KINDS.items() if name.startswith(f"{words} ")}
    if len(set(of_group.values())) == 1:
        return next(iter(of_group.values()))
    if of_group:
        raise CasemateError(f"'{words}' prints one of several: expected {', '.join(of_group)}")
    raise CasemateError(f"unknown schema '{words}'{hint(words, KINDS)}; there are: {', '.join(KINDS)}")


def _is_command(words: str) -> bool:
    """Returns true if these words are a command."""
    from casemate.cli.main import casemate

    found: click.Command | None = casemate
    for word in words.split():
        if not isinstance(found, click.Group):
            return False
        found = found.get_command(click.Context(found), word)
    return found is not None


@click.command("schema", epilog=EPILOG.format(listed="\n  ".join(KINDS)))
@click.argument("words", nargs=-1, required=True, metavar="COMMAND...")
def command(words: tuple[str, ...]) -> None:
    """Print the JSON schema of a command's --json, with the meaning and unit of every field."""
    from casemate import schemas

    # `cost-engine` is one word for scripts.
    screen.print_json(getattr(schemas, of(" ".join(words).replace("-", " "))).schema_of())
