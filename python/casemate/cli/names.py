"""Names that people type on the command line: a wrong one is answered with the nearest right one."""

from collections.abc import Sequence
from typing import Any

import click

from casemate.text.nearest import hint

LISTED = ("design", "machine", "workload", "attack")
"""Kinds of names that `casemate list` shows."""
SHORT_LIST = 16
"""Maximum number of names of these kinds in an error."""


class OneOf(click.Choice[str]):
    """Type of an option that accepts one of some names."""

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        super().__init__(names)
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the name, if it is one of them."""
        if value in self.choices:
            return str(value)
        return self.fail(f"unknown {self.kind} '{value}'{hint(value, self.choices)}; {self._all()}")

    def _all(self) -> str:
        """Returns all names, or the command that lists them if they are many."""
        if self.kind in LISTED and len(self.choices) > SHORT_LIST:
            return f"`casemate list {self.kind}s` shows all {len(self.choices)}"
        return f"there are: {', '.join(self.choices)}"


class Commands(click.Group):
    """A group that suggests the nearest command."""

    kind = "command"
    """Kind of its commands, in errors."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command, or names the one that was most likely meant."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f"unknown {self.kind} '{args[0]}'{hint(args[0], known)}; there are: {', '.join(known)}")
        return super().resolve_command(ctx, args)
