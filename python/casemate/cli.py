"""The command line.

Exit codes: 0 all is well; 1 a result says no (a check failed, a claim differs); 2 something asked for is not to be had;
3 a bug in Casemate; 130 Ctrl-C and 143 SIGTERM, with everything that was finished kept and shown.
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

from casemate import interruption, laboratory, starting, usage
from casemate._core import CasemateError, __version__
from casemate.names import Commands

EXIT_NO = 1
EXIT_BAD_INPUT = 2
EXIT_BUG = 3
EXIT_INTERRUPTED = starting.EXIT_CTRL_C
"""For commands; the process says 143 if it was SIGTERM."""

COMMANDS = {
    "run": "Run a program under several designs: cost and protection side by side.",
    "explain": "Show the timeline of one read or write, and what it waits for.",
    "attack": "Attack designs, and compare what happens with what they claim.",
    "crash": "Cut the power at every point, and see what comes back.",
    "list": "List designs, machines, workloads, attacks or traces.",
    "record": "Store a program's execution, to run it as often as you like.",
    "trace": "Look at stored executions.",
    "bus": "Look at what crossed the pins of memory in a run.",
    "excerpt": "Look at what every unit did in a window of a run.",
    "machine": "Make machine files of other simulators' configurations.",
    "cost": "Say what a design costs beside time: batteries, and area and energy of hardware.",
    "bench": "Measure what this computer itself can do: AES-GCM on its processor.",
    "validate": "Compare the simulated machine with public simulators.",
    "champsim": "Measure a window of a ChampSim trace, in ChampSim's terms.",
    "reproduce": "Run a paper's evaluation again, or derive its figures: its own next to ours.",
    "schema": "Print the JSON schema of a command's --json.",
}


class LazyCommands(Commands):
    """Loads a command's file only when the command is used, so that the first word on the screen comes at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, the most used first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"casemate.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with a line each, without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="casemate")
def casemate() -> None:
    """A laboratory for memory protection.

    Run a real program on a simulated machine whose memory is encrypted, authenticated and kept fresh. See what that
    costs, what it stops, and why.

    \b
    Start here:
      casemate run -- gzip -9 -c /usr/bin/python3      a program of yours, unprotected and protected
      casemate run --workload bfs                      no program at hand: a built-in workload
      casemate explain sc64-bmt                        where the time of one read goes
      casemate attack --all                            what every design stops
    """


def _open_closed_streams() -> None:
    """A standard stream that was closed is an empty one: no other file takes its number, and what is said is lost."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")


def _check_text(arguments: Sequence[str]) -> None:
    """Refuses what is not text: results name files, and JSON has no other bytes. What follows `--` is a program's."""
    for argument in itertools.takewhile("--".__ne__, arguments):
        if laboratory.shown(argument) != argument:
            raise laboratory.refuse(argument)


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
        # The reader of our output has seen enough; closing must not complain a second time.
        sys.stderr.close()
        sys.exit(0)
    except SystemExit:
        # A pipe that its reader has closed is a failure to click, which puts another stream into its place.
        if sys.stdout is stdout:
            raise
        sys.exit(0)
    except OSError as error:
        click.echo(f"casemate: cannot write {error.filename or 'the results'}: {error.strerror or error}", err=True)
        # What is still to be written goes nowhere, so that the end of the process does not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(EXIT_BAD_INPUT)
    except BaseException:  # a panic in Rust is not an `Exception`
        traceback.print_exc()
        click.echo("casemate: this is a bug in Casemate; please report it with the lines above", err=True)
        sys.exit(EXIT_BUG)


if __name__ == "__main__":
    main()
