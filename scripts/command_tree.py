"""Commands of the command line with the words that call them, for measures and tests of their help."""

from collections.abc import Iterator

import click


def every_command(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    """Yields a command and all commands below it, each with its words."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from every_command(child, f"{words} {name}")
