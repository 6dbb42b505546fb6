"""Short forms of objects at a Python prompt: requests, and tuples of components."""

from collections.abc import Iterable
from typing import TypeVar

from casemate.text import one_line

Member = TypeVar("Member")


class ShortRepr:
    """A dataclass that prints only the fields with other values than their defaults."""

    __slots__ = ()

    def __repr__(self) -> str:
        return one_line.call(self)


class Listed(tuple[Member, ...]):
    """A tuple of components, such as all designs."""

    def __new__(cls, members: Iterable[Member]) -> "Listed[Member]":
        """Makes the tuple of these members."""
        return super().__new__(cls, members)

    def __repr__(self) -> str:
        kinds = {type(each).__name__ for each in self}
        names = ", ".join(str(getattr(each, "name", each)) for each in self)
        return one_line.between(f"<{len(self):,} {kinds.pop() if len(kinds) == 1 else 'objects'}: ", names, ">")
