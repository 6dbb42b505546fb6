"""Short texts of objects on one line, for a Python prompt, a notebook and the messages of errors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from casemate.text import amounts

MOST = 120
"""Maximum number of characters of a line."""
VALUE_MOST = 48
"""Maximum number of characters of a value in a list of values."""
CUT = "..."


def cut(text: str, most: int = MOST) -> str:
    """Returns the text on one line, without its end if it has more than `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - len(CUT)].rstrip() + CUT


def between(before: str, text: str, after: str) -> str:
    """Returns the text on one line between a beginning and an end that are never cut."""
    return f"{before}{cut(text, MOST - len(before) - len(after))}{after}"


def named(pairs: Iterable[tuple[str, Any]]) -> str:
    """Returns names with their values, as in `cycles=120, spans=(17 Span)`."""
    return ", ".join(f"{name}={value(given)}" for name, given in pairs)


def content(given: Mapping[Any, Any]) -> str:
    """Returns a short table of keys and values in full, and every other one by its number of keys."""
    full = ", ".join(f"{key!r}: {value(each)}" for key, each in given.items())
    return full if len(full) <= VALUE_MOST else amounts.counted(len(given), "key")


def value(given: Any) -> str:
    """Returns a value in a few words: text and numbers as they are, lists and tables by their length."""
    if given is None or isinstance(given, bool | int | float | str | bytes):
        return cut(repr(given), VALUE_MOST)
    if isinstance(given, list | tuple):
        return f"({listed(given)})"
    if isinstance(given, Mapping):
        return f"{{{content(given)}}}"
    if callable(given):
        return getattr(given, "__name__", type(given).__name__)
    return cut(repr(given), VALUE_MOST)


def listed(given: Sequence[Any]) -> str:
    """Returns a short list of plain values in full, and other lists as a number of members and their type."""
    if all(isinstance(each, bool | int | float | str) for each in given):
        full = ", ".join(map(repr, given))
        if len(full) <= VALUE_MOST:
            return full
    kinds = {type(each).__name__ for each in given}
    return f"{len(given):,} {kinds.pop() if len(kinds) == 1 else 'objects'}"


def call(instance: Any) -> str:
    """Returns a dataclass as the call that makes it, without the arguments that have their default."""
    changed = []
    for field in fields(instance):
        given = getattr(instance, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if default is MISSING or type(given) is not type(default) or given != default:
            changed.append((field.name, given))
    return between(f"{type(instance).__name__}(", named(changed), ")")
