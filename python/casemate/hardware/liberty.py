"""Reads Liberty, the format of cell libraries, into groups without interpreting them; `library` interprets them.

    name(argument, ...) { attribute : value;  attribute(value, ...);  group(...) { ... } }

The reader accepts only the syntax that all libraries use: no macros, no expressions in values.
"""

import gzip
import math
import re
import zlib
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from casemate._core import CasemateError
from casemate.text.nearest import hint_of_file

GZIP = b"\x1f\x8b"
"""First bytes of a file that gzip compressed."""
_TOKEN = re.compile(r'"[^"]*"|[^\s(){}:;,"]+|[(){}:;,]')
_CELL = re.compile(r'\bcell\s*\(\s*"?(?P<name>[^\s")]+)"?\s*\)\s*\{')
_BRACE = re.compile(r'"[^"]*"|/\*.*?\*/|//[^\n]*|[{}]', re.DOTALL)
_IGNORED = re.compile(r"/\*.*?\*/|//[^\n]*|\\\r?\n", re.DOTALL)


@dataclass
class Group:
    """A group of a Liberty file: its kind, its arguments, its attributes and the groups within."""

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
        """Returns an attribute as a number. Raises `ValueError` if it is not a number."""
        if name not in self.attributes:
            return otherwise
        return number(self.attributes[name][0], f"'{name}'")

    @property
    def name(self) -> str:
        """Returns the first argument of the group. Raises `ValueError` if the group has no argument."""
        if not self.arguments:
            raise ValueError(f"a group '{self.kind}' has no name: expected {self.kind}(NAME)")
        return self.arguments[0]


def number(text: str, what: str) -> float:
    """Parses a number; `what` names it in errors. Raises `ValueError` if it is not a number."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(f"{what} is '{text}': expected a number")
    return found


def content(path: Path) -> bytes:
    """Returns the content of a file, decompressed if it is gzip. Raises `CasemateError` if it cannot be read."""
    try:
        found = path.read_bytes()
        return gzip.decompress(found) if found[: len(GZIP)] == GZIP else found
    except OSError as error:
        near = hint_of_file(path) if isinstance(error, FileNotFoundError) else ""
        raise CasemateError(f"cannot read the library '{path}': {error.strerror or error}{near}") from error
    except (EOFError, zlib.error) as error:
        raise CasemateError(f"cannot read the library '{path}': its gzip data is damaged: {error}") from error


def read(path: Path) -> Group:
    """Returns the library in a file, which may be compressed by gzip. Raises `CasemateError` if the file is not a
    library.
    """
    return parse(content(path).decode("latin-1"), str(path))


def parse(text: str, name: str) -> Group:
    """Returns the library in a text; `name` is for errors. Raises `CasemateError` if the text is not a library."""
    tokens = _TOKEN.findall(_IGNORED.sub(" ", text))
    try:
        group, end = _group(tokens, 0)
    except (IndexError, ValueError) as error:
        raise CasemateError(f"'{name}' is no Liberty file: a group in it does not end as it should") from error
    if group.kind != "library" or end < len(tokens):
        raise CasemateError(f"'{name}' is no Liberty file: expected one group 'library (NAME) {{ ... }}'")
    return group


def without_cells(text: str, names: Collection[str]) -> str:
    """Returns the text of a library without the cells of these names."""
    kept, begin = list[str](), 0
    for found in _CELL.finditer(text):
        if found["name"] in names and found.start() >= begin:
            kept.append(text[begin : found.start()])
            begin = _end_of_group(text, found.end())
    return "".join((*kept, text[begin:]))


def _end_of_group(text: str, at: int) -> int:
    """Returns the index behind the brace that closes the group around `at`."""
    depth = 1
    for found in _BRACE.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if not depth:
            return found.end()
    return len(text)


def _group(tokens: list[str], at: int) -> tuple[Group, int]:
    """Returns the group that begins at a token, and the index of its end."""
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
    """Returns the tokens in parentheses from a token on, and the index of their end."""
    if tokens[at] != "(":
        raise ValueError(tokens[at])
    end = tokens.index(")", at)
    return [token.strip('"') for token in tokens[at + 1 : end] if token != ","], end + 1
