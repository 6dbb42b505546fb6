"""Command line of Casemate.

The exit code is 0 for success and 1 for a negative result (a check failed, a claim differs). It is 2 if something
requested does not exist, and 3 for a bug in Casemate. It is 130 after Ctrl-C and 143 after SIGTERM; after both signals
the command keeps and shows the finished results.
"""

import importlib
import io
import itertools
import os
import sys
import traceback
from collections.abc import Sequence

import click
from click.exceptions import NoArgsIsHelpError

from casemate import built, starting
from casemate._core import CasemateError, __version__
from casemate.cli import usage
from casemate.cli.names import Commands
from casemate.laboratory import native
from casemate.terminal import interruption

EXIT_NO = 1
EXIT_BAD_INPUT = 2
EXIT_BUG = 3
EXIT_INTERRUPTED = starting.EXIT_CTRL_C
"""Exit code of interrupted commands; the process exits with 143 after SIGTERM."""

COMMANDS = {
    "run": "Run a program under several designs: cost and protection side by side.",
    "explain": "Show the timeline of one read or write, and its waits.",
    "attack": "Attack designs, and compare the results with their claims.",
    "crash": "Cut the power at every point, and check the recovered memory.",
    "sweep": "Carry out a study: many runs on many cores and machines.",
    "results": "Show the rows of studies and of stored records.",
    "report": "Write the results of a study as one page for a browser.",
    "list": "List designs, machines, workloads, attacks or traces.",
    "record": "Store a program's execution, to run it as often as you like.",
    "trace": "Look at stored executions.",
    "bus": "Show the lines that crossed the pins of memory in a run.",
    "excerpt": "Show the work of every unit in a window of a run.",
    "machine": "Make machine files of other simulators' configurations.",
    "cost": "Show the cost of a design apart from time: batteries, area and energy of hardware.",
    "bench": "Measure the speed of this computer itself: AES-GCM on its processor.",
    "validate": "Compare the simulated machine with public simulators.",
    "champsim": "Measure a window of a ChampSim trace, in ChampSim's terms.",
    "reproduce": "Run a paper's evaluation again, or derive its figures, next to ours.",
    "schema": "Print the JSON schema of a command's --json.",
}


class LazyCommands(Commands):
    """Loads a command's file only when the command is used, so that the first output appears at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, the most used first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns the command with this name."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"casemate.cli.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with a line each, without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="casemate", message=f"%(prog)s, version %(version)s ({built.in_words()})")
def casemate() -> None:
    """A laboratory for memory protection.

    Run a real program on a simulated machine with encrypted, authenticated and fresh memory. See the cost of the
    protection, the attacks that it stops, and why.

    \b
    Start here:
      casemate run -- gzip -9 -c /usr/bin/python3      a program of yours, unprotected and protected
      casemate run --workload bfs                      no program at hand: a built-in workload
      casemate explain sc64-bmt                        the timeline of one read
      casemate attack --all                            the attacks that every design stops
    """


def _open_closed_streams() -> None:
    """Opens the null device for each closed standard stream: no other file then takes its number, and its output is
    lost.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")


def _check_text(arguments: Sequence[str]) -> None:
    """Refuses arguments that are not UTF-8: results contain the names of files, and JSON cannot contain other bytes.
    Arguments after `--` belong to a program, which may accept any bytes.
    """
    for argument in itertools.takewhile("--".__ne__, arguments):
        if native.shown(argument) != argument:
            raise native.refuse(argument)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits."""
    _open_closed_streams()
    stdout = sys.stdout
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a bar gets a question mark, not a failure.
            stream.reconfigure(errors="replace")
    try:
        starting.end()
        _check_text(sys.argv[1:] if arguments is None else arguments)
        with interruption.listening():
            code = casemate.main(args=arguments, prog_name="casemate", standalone_mode=False) or 0
        sys.exit(interruption.exit_code() if code == EXIT_INTERRUPTED else code)
    except NoArgsIsHelpError as error:
        error.show()
        sys.exit(EXIT_BAD_INPUT)
    except click.UsageError as error:
        click.echo(f"casemate: {usage.line(error)}", err=True)
        sys.exit(EXIT_BAD_INPUT)
    except (click.ClickException, CasemateError) as error:
        message = error.format_message() if isinstance(error, click.ClickException) else error
        click.echo(f"casemate: {message}", err=True)
        sys.exit(EXIT_BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        click.echo(f"casemate: interrupted by {interruption.cause()}", err=True)
        sys.exit(interruption.exit_code())
    except BrokenPipeError:
        # The reader of our output has closed the pipe; closing standard output must not report this a second time.
        sys.stderr.close()
        sys.exit(0)
    except SystemExit:
        # A pipe that its reader has closed is a failure to click, which puts another stream into its place.
        if sys.stdout is stdout:
            raise
        sys.exit(0)
    except OSError as error:
        click.echo(f"casemate: cannot write {error.filename or 'the results'}: {error.strerror or error}", err=True)
        # Discard the output that is still to be written, so that the end of the process does not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(EXIT_BAD_INPUT)
    except BaseException:  # a panic in Rust is not an `Exception`
        traceback.print_exc()
        click.echo("casemate: this is a bug in Casemate; please report it with the lines above", err=True)
        sys.exit(EXIT_BUG)


if __name__ == "__main__":
    main()
