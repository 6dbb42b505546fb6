"""The part of YAML that Ramulator 2's configurations use: blocks of keys, lists of scalars, lists or blocks, comments.

The parser refuses anchors, tags, flow collections with keys, and multi-line texts; the error names the line.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from casemate._core import CasemateError

KEY = re.compile(r"^(?P<key>[A-Za-z_][\w .+-]*?)\s*:(?:\s+(?P<value>.*))?$")


@dataclass(frozen=True)
class Line:
    """A line that is neither blank nor a comment."""

    number: int
    indent: int
    text: str


def parse(path: Path, text: str) -> dict[str, str]:
    """Returns all scalars as `Key.key`, list items with their position. Raises `CasemateError` with the first line that
    is invalid.
    """
    lines = []
    for number, raw in enumerate(text.splitlines(), 1):
        bare = re.sub(r"(^|\s)#.*$", "", raw).rstrip()
        if "\t" in bare[: len(bare) - len(bare.lstrip())]:
            raise CasemateError(f"'{path}', line {number}: tabs do not indent in YAML: expected blanks")
        if bare.strip() and bare.strip() != "---":
            lines.append(Line(number, len(bare) - len(bare.lstrip()), bare.strip()))
    values: dict[str, str] = {}
    try:
        _Reader(path, lines, values).block(0, len(lines), "")
    except RecursionError as error:
        raise CasemateError(f"'{path}' has too many lists or blocks in one another to be a configuration") from error
    return values


def split(text: str) -> list[str]:
    """Splits the text between the brackets of a list at its commas, except at those in inner lists and in quotes."""
    entries, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"" and not entries[-1].strip():
            quote = letter
        else:
            depth += (letter == "[") - (letter == "]")
        if letter == "," and not quote and not depth:
            entries.append("")
        else:
            entries[-1] += letter
    if not entries[-1].strip():
        entries.pop()
    return [entry.strip() for entry in entries]


class _Reader:
    def __init__(self, path: Path, lines: list[Line], values: dict[str, str]) -> None:
        self._path, self._lines, self._values = path, lines, values

    def block(self, first: int, end: int, prefix: str) -> None:
        """Parses a block of keys or a list, from line `first` to before line `end`."""
        at, entry = first, 0
        # An entry of a list replaces its line by the block behind the dash, which is further indented.
        indent = self._lines[first].indent if first < end else 0
        while at < end:
            line = self._lines[at]
            if line.indent != indent:
                raise self._wrong(line, "its indentation matches no block")
            below = at + 1
            is_entry = line.text == "-" or line.text.startswith("- ")
            while below < end and (
                self._lines[below].indent > line.indent
                or (
                    not is_entry
                    and self._lines[below].indent == line.indent
                    and self._lines[below].text[:2] in ("-", "- ")
                )
            ):
                below += 1
            if is_entry:
                self._entry(at, below, f"{prefix}{entry}")
                entry += 1
            else:
                self._key(line, at + 1, below, prefix)
            at = below

    def _entry(self, at: int, below: int, name: str) -> None:
        line = self._lines[at]
        rest = line.text[1:].strip()
        if rest and not KEY.match(rest):
            if below > at + 1:
                raise self._wrong(self._lines[at + 1], "it belongs to a scalar of a list")
            self._scalar(line, name, rest)
            return
        if rest:
            self._lines[at] = Line(line.number, line.indent + line.text.index(rest), rest)
        self.block(at if rest else at + 1, below, f"{name}.")

    def _key(self, line: Line, first: int, end: int, prefix: str) -> None:
        found = KEY.match(line.text)
        if not found:
            raise self._wrong(line, f"'{line.text}' is no key")
        name, value = prefix + found["key"], (found["value"] or "").strip()
        if not value:
            self.block(first, end, f"{name}.")
        elif first < end:
            raise self._wrong(self._lines[first], f"{name} has a value already")
        elif name in self._values:
            raise self._wrong(line, f"{name} is given twice")
        else:
            self._scalar(line, name, value)

    def _scalar(self, line: Line, name: str, value: str) -> None:
        if value.startswith("[") and value.endswith("]"):
            for number, each in enumerate(split(value[1:-1])):
                self._scalar(line, f"{name}.{number}", each)
            return
        if not value:
            raise self._wrong(line, f"entry {name.rpartition('.')[2]} of the list is empty: expected a value")
        if value[0] in "{[&*!|>%@`":
            raise self._wrong(line, f"'{value}' is YAML that Casemate does not read: expected a plain value")
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        self._values[name] = value[1:-1] if quoted else value

    def _wrong(self, line: Line, what: str) -> CasemateError:
        return CasemateError(f"'{self._path}', line {line.number}: {what}")
