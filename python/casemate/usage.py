"""A wrong use of the command line as one line: what is wrong, what was expected, and the nearest right choice.

Click by itself says it in four lines, of which the last one counts, and knows the nearest of options alone. Its words
stay where they say enough; what is added is the option's name in front and the nearest choice behind.
"""

import re

import click

from casemate.nearest import hint

ALIKE = 0.7
"""How much alike options must be, of which all begin with two dashes."""


def line(error: click.UsageError) -> str:
    """The error in one line, without the program's name in front."""
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
    """What is wrong with a value; messages of ours name what it is of, and click's begin with the value."""
    message, parameter = _begun(error.message), error.param
    if message == error.message and not re.match(r"['\d-]", message):
        return message
    if parameter is not None and isinstance(parameter.type, click.Choice):
        given = re.match(r"'([^']*)'", message)
        message += hint(given[1], map(str, parameter.type.choices)) if given else ""
    if isinstance(parameter, click.Option):
        return f"{max(parameter.opts, key=len)}: {message}"
    return message


def _begun(message: str) -> str:
    """A sentence of click's as the rest of a line."""
    shortened = message.rstrip(".")
    return shortened[:1].lower() + shortened[1:] if shortened[1:2].islower() else shortened
