"""Reads Liberty, the format of cell libraries, into groups as they stand; what they mean is in `library`.

    name(argument, ...) { attribute : value;  attribute(value, ...);  group(...) { ... } }

Only what all libraries use is read: no macros, no expressions in values.
"""

import gzip
import math
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from casemate._core import CasemateError
from casemate.nearest import hint_of_file

GZIP = b"\x1f\x8b"
"""How what gzip compressed begins."""
_TOKEN = re.compile(r'"[^"]*"|[^\s(){}:;,"]+|[(){}:;,]')
_IGNORED = re.compile(r"/\*.*?\*/|//[^\n]*|\\\r?\n", re.DOTALL)


@dataclass
class Group:
    """A group: its kind, its arguments, its attributes and the groups within."""

    kind: str
    arguments: list[str]
    attributes: dict[str, list[str]] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)

    def all(self, *kinds: str) -> list["Group"]:
        """The groups within of these kinds."""
        return [group for group in self.groups if group.kind in kinds]

    def text(self, name: str, otherwise: str = "") -> str:
        """The first value of an attribute."""
        return self.attributes.get(name, [otherwise])[0]

    def number(self, name: str, otherwise: float = 0.0) -> float:
        """An attribute that is a number. Raises `ValueError` if it is none."""
        if name not in self.attributes:
            return otherwise
        return number(self.attributes[name][0], f"'{name}'")

    @property
    def name(self) -> str:
        """Its first argument. Raises `ValueError` if it has none."""
        if not self.arguments:
            raise ValueError(f"a group '{self.kind}' has no name: expected {self.kind}(NAME)")
        return self.arguments[0]


def number(text: str, what: str) -> float:
    """A number, which is `what`. Raises `ValueError` if it is none."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(f"{what} is '{text}': expected a number")
    return found


def content(path: Path) -> bytes:
    """What is in a file, which may be compressed by gzip. Raises `CasemateError` if it cannot be read."""
    try:
        found = path.read_bytes()
        return gzip.decompress(found) if found[: len(GZIP)] == GZIP else found
    except OSError as error:
        near = hint_of_file(path) if isinstance(error, FileNotFoundError) else ""
        raise CasemateError(f"cannot read the library '{path}': {error.strerror or error}{near}") from error
    except (EOFError, zlib.error) as error:
        raise CasemateError(f"cannot read the library '{path}': what gzip compressed is damaged: {error}") from error


def read(path: Path) -> Group:
    """The library in a file, which may be compressed by gzip. Raises `CasemateError` if it is none."""
    return parse(content(path).decode("latin-1"), str(path))


def parse(text: str, name: str) -> Group:
    """The library in a text; `name` is for errors. Raises `CasemateError` if it is none."""
    tokens = _TOKEN.findall(_IGNORED.sub(" ", text))
    try:
        group, end = _group(tokens, 0)
    except (IndexError, ValueError) as error:
        raise CasemateError(f"'{name}' is no Liberty file: a group in it does not end as it should") from error
    if group.kind != "library" or end < len(tokens):
        raise CasemateError(f"'{name}' is no Liberty file: expected one group 'library (NAME) {{ ... }}'")
    return group


def _group(tokens: list[str], at: int) -> tuple[Group, int]:
    """The group that begins at a token, and where it ends."""
    kind = tokens[at]
    arguments, at = _arguments(tokens, at + 1)
    if tokens[at] != "{":
        raise ValueError(kind)
    group, at = Group(kind, arguments), at + 1
    while tokens[at] != "}":
        name = tokens[at]
        if name == ";":
            at += 1
        elif tokens[at + 1] == ":":
            end = at + 2
            while tokens[end] not in ";}" and (end == at + 2 or tokens[end + 1] not in ":("):
                end += 1
            group.attributes[name] = [" ".join(token.strip('"') for token in tokens[at + 2 : end])]
            at = end
        else:
            values, end = _arguments(tokens, at + 1)
            if tokens[end] == "{":
                inner, at = _group(tokens, at)
                group.groups.append(inner)
            else:
                group.attributes.setdefault(name, []).extend(values)
                at = end
    return group, at + 1


def _arguments(tokens: list[str], at: int) -> tuple[list[str], int]:
    """What stands in parentheses from a token on, and where it ends."""
    if tokens[at] != "(":
        raise ValueError(tokens[at])
    end = tokens.index(")", at)
    return [token.strip('"') for token in tokens[at + 1 : end] if token != ","], end + 1
