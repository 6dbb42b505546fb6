"""Formats a wrong use of the command line as one line: the error, the expected value, and the nearest right choice.

Click prints four lines; only the last line states the error, and click suggests the nearest choice only for options.
This module keeps click's words if they are clear. It adds the option's name in front and the nearest choice at the end.
"""

import math
import re

import click

from casemate.text.nearest import hint

ALIKE = 0.7
"""Required similarity of options; it is high since all options begin with two dashes."""
NUMBERS = (click.types.IntParamType, click.types.FloatParamType)
UNITS = ("BYTES", "GB/s", "MHz", "NS", "WATTS")
"""Units of numbers that help shows as the name of the number."""


def line(error: click.UsageError) -> str:
    """Returns the error in one line, without the program's name in front."""
    if isinstance(error, click.NoSuchOption):
        nearest = hint(error.option_name, _options(error.ctx), ALIKE)
        said = f"there is no option '{error.option_name}'{nearest}{_help(error)}"
    elif isinstance(error, click.MissingParameter):
        said = _missing(error)
    elif isinstance(error, click.BadParameter):
        said = _bad(error)
    else:
        said = _begun(error.format_message())
        said += _help(error) if said.startswith("got unexpected") else ""
    return " ".join(said.split("\n"))


def _options(context: click.Context | None) -> list[str]:
    """The long names of all options of a command."""
    parameters = context.command.get_params(context) if context else []
    return [name for each in parameters for name in each.opts if name.startswith("--")]


def _help(error: click.UsageError) -> str:
    return f"; see `{error.ctx.command_path} --help`" if error.ctx else ""


def _missing(error: click.MissingParameter) -> str:
    if error.param is None or error.ctx is None:
        return _begun(error.format_message())
    metavar = error.param.make_metavar(error.ctx)
    if isinstance(error.param, click.Option):
        about = f" ({error.param.help.rstrip('.')})" if error.param.help else ""
        return f"expected {error.param.opts[0]} {metavar}{about}{_help(error)}"
    return f"expected {metavar}{_help(error)}"


def _bad(error: click.BadParameter) -> str:
    """Returns the error about a value. Messages of ours name their subject, click's begin with the value."""
    message, parameter = _begun(error.message), error.param
    if message == error.message and not re.match(r"['\d-]", message):
        return message
    if parameter is not None and isinstance(parameter.type, NUMBERS):
        message = _no_number(message, parameter)
    if parameter is not None and isinstance(parameter.type, click.Choice):
        given = re.match(r"'([^']*)'", message)
        message += hint(given[1], map(str, parameter.type.choices)) if given else ""
    if isinstance(parameter, click.Option):
        return f"{max(parameter.opts, key=len)}: {message}"
    return message


def _no_number(message: str, parameter: click.Parameter) -> str:
    """Returns the error about a text that is no number, or a number that is not accepted: with the accepted numbers,
    their unit, and the nearest of them. All other errors about a number stay unchanged.
    """
    found = re.fullmatch(r"'?(.*?)'? is not (a valid|in the range) .*", message, re.DOTALL)
    if found is None:
        return message
    is_whole = isinstance(parameter.type, click.types.IntParamType)
    what = "a whole number" if is_whole else "a number"
    low, high = (getattr(parameter.type, side, None) for side in ("min", "max"))
    taken = f" from {low} to {high}" if high is not None else f" of at least {low}" if low is not None else ""
    if parameter.metavar in UNITS:
        taken += f" in {parameter.metavar}"
    near = ""
    if given := re.match(r"[-+]?\d*\.?\d+(e[-+]?\d+)?", found[1].strip(), re.IGNORECASE):
        value = min(max(float(given[0]), -math.inf if low is None else low), math.inf if high is None else high)
        if math.isfinite(value):
            near = f" (did you mean '{round(value) if is_whole else value}'?)"
    if found[2] == "a valid":
        return f"'{found[1]}' is not {what}: expected one{taken or ', such as 8'}{near}"
    return f"{found[1]} is out of range: expected {what}{taken}{near}"


def _begun(message: str) -> str:
    """Returns a sentence of click as the end of a line."""
    shortened = message.rstrip(".")
    return shortened[:1].lower() + shortened[1:] if shortened[1:2].islower() else shortened
