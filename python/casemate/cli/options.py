"""Options that several commands share."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import click

from casemate._core import CasemateError
from casemate.laboratory import native
from casemate.terminal import screen
from casemate.text.amounts import parse_count, parse_seconds, parse_window


class Count(click.ParamType[int | Literal["all"]]):
    """A number of instructions, as in `50M`, or `all`."""

    name = "count"

    def __init__(self, finite: bool = False) -> None:
        self.finite = finite

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | Literal["all"]:
        """Returns the number, or `all`."""
        if isinstance(value, int):
            return value
        if value == "all" and not self.finite:
            return "all"
        try:
            return parse_count(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


class Seconds(click.ParamType[float]):
    """A length of time, as in `10m`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Returns the number of seconds."""
        if isinstance(value, float):
            return value
        try:
            return parse_seconds(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


class SimulatedWindow(click.ParamType[str]):
    """A window of simulated time, as in `20us:5us`."""

    name = "window"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the text, which is a valid window."""
        try:
            parse_window(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class Percent(click.ParamType[float]):
    """A part of a whole, as in `3%`."""

    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Returns the part, between 0 and 1."""
        if isinstance(value, float):
            return value
        try:
            part = float(str(value).strip().removesuffix("%")) / 100
        except ValueError:
            part = 0.0
        if not 0 < part < 1:
            message = f"'{value}' is not an error to aim at: expected more than 0% and less than 100%, as in 3%"
            self.fail(message, param, ctx)
        return part


def pairs(example: str) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], dict[str, str]]:
    """Reads options of the form KEY=VALUE, each key once."""

    def read(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
        found = dict[str, str]()
        for text in given:
            key, equals, value = (part.strip() for part in text.partition("="))
            if not equals or not key:
                expected = f"expected {parameter.metavar}, as in {parameter.opts[0]} {example}"
                raise click.BadParameter(f"'{text}' sets no value: {expected}")
            if key in found:
                values = f"'{found[key]}' and '{value}'"
                raise click.BadParameter(f"'{key}' is given twice, as {values}: expected one {parameter.opts[0]} of it")
            found[key] = value
        return found

    return read


changes = click.option(
    "--with",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    callback=pairs("machine.engines.aes.latency_ns=25"),
    help="Change a key of the machines or the designs: machine.KEY or design.KEY, or design.NAME.KEY for only the "
    "design NAME. An empty VALUE removes the key; repeat it.",
)
machine = click.option("--machine", default="modern", show_default=True, metavar="NAME|FILE", help="The machine.")
machines = click.option(
    "--machine", "machines", multiple=True, metavar="NAME|FILE", help="A machine; repeat it.  [default: modern]"
)
seed = click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    default=1,
    metavar="N",
    help="Seed of all random choices.  [default: 1]",
)
skip = click.option(
    "--skip", type=Count(), default="0", metavar="N", help="Skip the first N instructions of the program."
)
region = click.option(
    "--region",
    is_flag=True,
    help="Simulate only the instructions between the program's two markers, each `xchg %rbx,%rbx`.",
)
stdout = click.option(
    "--stdout",
    "output",
    type=click.Choice(["inherit", "discard"]),
    default="discard",
    show_default=True,
    help="Destination of the program's output.",
)


workers = click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="Worker processes.  [default: one a processor]"
)
scheduler = click.option(
    "--scheduler", metavar="ADDRESS", help="A Dask scheduler that has workers, as in tcp://head:8786, in their place."
)


class OutputFile(click.ParamType[Path]):
    """Type of a file to be written. It refuses a bad path at once and not after a long run."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Returns the path. Raises `CasemateError` if it cannot be that of a file."""
        path = Path(value)
        if not str(value):
            option = max(param.opts, key=len) if param else "the file"
            raise CasemateError(f"{option} is empty: expected the name of a file")
        # An existing file may be writable even in a folder that accepts no new file; a device or a pipe accepts a
        # picture.
        if path.is_dir() or not path.exists():
            native.check_file(str(path))
        return path


class OutputFolder(click.ParamType[Path]):
    """Type of a folder to write into. It refuses a bad path at once and not after the work."""

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Returns the path. Raises `CasemateError` if no file can be written into the folder."""
        if not str(value):
            option = max(param.opts, key=len) if param else "the folder"
            raise CasemateError(f"{option} is empty: expected the name of a folder")
        screen.check_folder(Path(value))
        return Path(value)


class SourceFile(click.ParamType[Path]):
    """Type of a file to be read. It refuses pipes, on which a reader may wait without reacting to Ctrl-C, and devices,
    which have no end.
    """

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Returns the path, even if no file exists: its reader reports that."""
        path = Path(value)
        wrong = "a folder" if path.is_dir() else "a pipe or a device" if path.exists() and not path.is_file() else ""
        if wrong or not str(value):
            option = f"{max(param.opts, key=len)}: " if isinstance(param, click.Option) else ""
            said = f"'{value}' is {wrong}" if str(value) else "no file is named"
            raise CasemateError(f"{option}{said}: expected a regular file")
        return path


file = OutputFile()
folder = OutputFolder()
source = SourceFile()


svg = click.option("--svg", type=file, metavar="FILE", help="Also draw the result as SVG.")
png = click.option("--png", type=file, metavar="FILE", help="Also draw the result as PNG.")


def pictures(svg: Path | None, png: Path | None, source: Path | None = None) -> list[tuple[Path, str]]:
    """Returns the requested pictures with their kinds. It refuses a path that is the drawn file, and a name with the
    suffix of another kind.
    """
    requested = [(path, kind) for path, kind in ((svg, "svg"), (png, "png")) if path is not None]
    for path, kind in requested:
        if source is not None and path.resolve() == source.resolve():
            raise click.UsageError(f"--{kind} would write over '{source}', which is drawn: expected another file")
        if path.suffix.lower() != f".{kind}" and (path.is_file() or not path.exists()):
            raise click.UsageError(f"--{kind} writes a file of that kind: expected a name such as '{path.stem}.{kind}'")
    return requested


designs = click.argument("designs", nargs=-1, metavar="[DESIGN...]")
every = click.option("--all", "every", is_flag=True, help="All built-in designs.")


def check_changes_of_designs(context: click.Context, changes: dict[str, str], what: str) -> None:
    """Refuses changes of a machine for commands that use designs without a machine."""
    if any(not key.startswith("design.") for key in changes):
        raise click.UsageError(
            f"--with changes only designs here: they are {what} without a machine; expected design.KEY", context
        )


def check_designs(context: click.Context, designs: tuple[str, ...], every: bool) -> None:
    """Refuses a command line with both designs and `--all`, and one with neither."""
    if every and designs:
        named = ", ".join(designs)
        raise click.UsageError(f"both designs ({named}) and --all are given: expected one of them", context)
    if not every and not designs:
        raise click.UsageError("expected designs, or --all for every built-in one", context)


def chosen_designs(designs: tuple[str, ...], every: bool, changes: Mapping[str, str] | None = None) -> list[str]:
    """Returns the designs to work on, each once. Raises `CasemateError` before work begins, for a design that does not
    exist, or that does not accept the changes.
    """
    from casemate import api
    from casemate.laboratory import arguments

    names = [design.name for design in api.designs()] if every else list(dict.fromkeys(designs))
    for name in names:
        api.settings("design", name, arguments.changes_of_design(changes, name, names))
    return names
