"""Instances of every kind of result, made from the types of its fields, with long texts and markup in all texts."""

from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import casemate.schemas  # noqa: F401  # for its kinds of results
from casemate.schemas.base import Result

TEXT = "<b>a name</b> & $x$\n[bold]of many words[/] that goes on " * 4
"""Text that a table must escape and a short form must cut."""
MEMBERS = 3
"""Number of members of each list."""

Kind = TypeVar("Kind", bound=Result)


def kinds(of: type[Result] = Result) -> Iterator[type[Result]]:
    """Yields all kinds of results."""
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def sample(kind: type[Kind], **given: Any) -> Kind:
    """Returns a result of this kind; `given` are values of its fields in place of the usual ones."""
    values = {
        field.alias or name: given[name] if name in given else _value(field.annotation)
        for name, field in kind.model_fields.items()
    }
    return kind(**values)


def _value(declared: Any) -> Any:
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Annotated:
        return _value(arguments[0])
    if origin is Literal:
        return arguments[-1]
    if origin in (Union, UnionType):
        return _value(next(each for each in arguments if each is not NoneType))
    if origin is tuple:
        several = arguments[-1] is Ellipsis
        return tuple(_value(each) for each in (MEMBERS * arguments[:1] if several else arguments))
    if origin is list:
        return MEMBERS * [_value(arguments[0])]
    if origin in (dict, Mapping):
        return {_value(arguments[0]): _value(arguments[1])}
    if isinstance(declared, type) and issubclass(declared, Result):
        return sample(declared)
    plain: dict[Any, Any] = {str: TEXT, int: 123_456_789_012, float: 1234.56789, bool: True}
    return plain[declared]
