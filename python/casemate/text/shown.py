"""Base of the objects that a notebook shows. The package `notebook` makes their tables and pictures; Python loads it at
the first one.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from casemate.text import one_line

Member = TypeVar("Member")

Renderer = Any
"""The module `casemate.notebook.rendering`, which this module cannot import: it imports the types of all results."""

_load: Callable[[], Renderer] | None = None


def render_with(load: Callable[[], Renderer]) -> None:
    """Sets the function that loads the renderer. The package calls it when it is imported."""
    global _load
    _load = load


def _renderer() -> Renderer:
    assert _load is not None, "casemate/__init__.py sets the renderer before any object exists"
    return _load()


class Shown:
    """An object with a table or a picture."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """Returns the table or the picture for a notebook; `None` without one, so that the notebook shows the text."""
        html: str | None = _renderer().html(self)
        return html

    def plot(self) -> Any:
        """Returns a picture as a figure of matplotlib, which a notebook shows. Raises `CasemateError` for an object
        that has no picture.
        """
        return _renderer().plot(self)


class ShortRepr:
    """A dataclass that prints only the fields with other values than their defaults."""

    __slots__ = ()

    def __repr__(self) -> str:
        return one_line.call(self)


class Listed(tuple[Member, ...], Shown):
    """A tuple of components, such as all designs. A notebook shows it as a table."""

    def __new__(cls, members: Iterable[Member]) -> "Listed[Member]":
        """Makes the tuple of these members."""
        return super().__new__(cls, members)

    def __repr__(self) -> str:
        kinds = {type(each).__name__ for each in self}
        names = ", ".join(str(getattr(each, "name", each)) for each in self)
        return one_line.between(f"<{len(self):,} {kinds.pop() if len(kinds) == 1 else 'objects'}: ", names, ">")
