"""`casemate machine`: machine files of other simulators' configurations."""

from pathlib import Path

import click

from casemate.cli import options
from casemate.cli.names import Commands
from casemate.terminal import screen


@click.group("machine", cls=Commands)
def command() -> None:
    """Make machine files from other simulators' configurations.

    \b
    Example:
      casemate machine import DDR4_8Gb_x8_3200.ini -o mine.toml
    """


@command.command("import")
@click.argument("path", type=options.source, metavar="FILE")
@click.option("--name", metavar="NAME", help="The machine's name. [default: the file's]")
@click.option(
    "-o",
    "output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the machine file to this path.",
)
@screen.as_json
def import_(path: Path, name: str | None, output: Path | None, as_json: bool) -> None:
    """Make a machine file from DRAMsim3's .ini, Ramulator 2's YAML, or an export of Ramulator 2.1.

    The configuration describes the memory: channels, organisation, timing, queues and policies. Cores, caches and the
    units of protection are those of the machine 'modern'. The table lists each key of the configuration that has
    another value in the machine, or no counterpart. It also lists each key that the configuration lacks, with its
    default. Without -o the command prints the machine file, and the table goes to standard error.

    Casemate reads numbers and comments of an .ini file as DRAMsim3 does. For Ramulator 2.1, export the configuration
    script first: python -m ramulator export script.py -o memory.yaml

    \b
    Examples:
      casemate machine import DDR4_8Gb_x8_3200.ini -o mine.toml
      casemate machine import example_config.yaml --name ddr4-2400 > ddr4-2400.toml
      casemate machine import memory.yaml -o mine.toml --json
      casemate run --machine mine.toml --trace requests.trace
    """
    from casemate import imported
    from casemate.tables import layouts

    if output and output.exists() and output.samefile(path):
        raise click.UsageError(f"-o {output} is the configuration itself: expected another file for the machine")
    machine = imported.import_machine(path, name=name)
    if output:
        screen.write_whole(output, machine.toml.encode())
    if as_json:
        screen.print_json(machine)
    elif output:
        screen.results().print(layouts.imported_table(machine))
        screen.notices().print(f"wrote {output}", markup=False)
    else:
        click.echo(machine.toml, nl=False)
        screen.notices().print(layouts.imported_table(machine))
