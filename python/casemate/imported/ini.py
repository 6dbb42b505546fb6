"""DRAMsim3's `.ini` files, read as DRAMsim3 reads them.

Source: `ext/headers/INIReader.h` of DRAMsim3 (inih). A comment is a line that begins with `;` or `#`, or the part of a
line behind a blank and `;`. An indented line continues the value above it, and a repeated key adds a line to its value.
Names have no case. Numbers end at the first character that is no digit, as in `strtol` and `strtod`. The parser reads
lines above 199 bytes as a whole, and refuses lines without a key, which DRAMsim3 skips.
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from casemate._core import CasemateError
from casemate.imported.keys import Keys

BLANKS = " \t\v\f\r"
COMMENT = re.compile(rf"(?<=[{BLANKS}]);")
END_OF_KEY = re.compile(rf"[=:]|{COMMENT.pattern}")
END_OF_SECTION = re.compile(rf"\]|{COMMENT.pattern}")

INTEGER = re.compile(r"\s*(?P<sign>[+-]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|(?P<octal>0[0-7]*)|(?P<decimal>[1-9][0-9]*))")
BASES = {"hex": 16, "octal": 8, "decimal": 10}
"""Bases of whole numbers, by the group of `INTEGER`."""

INTEGER_MAX = 2**31 - 1
"""Largest whole number of a DRAMsim3 configuration, a C `int`."""

DIGITS_MAX = 99
"""Digits of a number that the parser reads: enough for each number in range."""

REAL = re.compile(
    r"\s*(?P<number>[+-]?(?:0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
    r"|inf(?:inity)?|nan))",
    re.IGNORECASE | re.ASCII,
)

TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


Value = TypeVar("Value", int, str)


def parse(path: Path, text: str) -> dict[str, str]:
    """Returns the values by `section.key`, as the file spells them first. Raises `CasemateError` with the first line
    that is not a key.
    """
    values: dict[str, str] = {}
    spellings: dict[str, str] = {}
    section = key = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(BLANKS)
        if not line or line[0] in ";#":
            continue
        if key and raw[0] in BLANKS:
            value = line
        elif line[0] == "[":
            section, key = _section(path, number, line), ""
            continue
        else:
            end = END_OF_KEY.search(line)
            if not end or end[0] == ";":
                raise CasemateError(f"'{path}', line {number}: '{line}' is no key: expected KEY = VALUE or [SECTION]")
            name = f"{section}.{line[: end.start()].rstrip(BLANKS)}"
            key, value = spellings.setdefault(name.lower(), name), line[end.end() :].lstrip(BLANKS)
        value = COMMENT.split(value)[0].rstrip(BLANKS)
        values[key] = f"{values[key]}\n{value}" if values.get(key) else value
    return values


def _section(path: Path, number: int, line: str) -> str:
    end = END_OF_SECTION.search(line)
    if not end or end[0] == ";":
        raise CasemateError(f"'{path}', line {number}: '{line}' has no ]: expected [SECTION]")
    return line[1 : end.start()]


def _double(written: str) -> float:
    """Returns a decimal or hexadecimal number as a C `double`."""
    try:
        return float.fromhex(written) if "0x" in written else float(written)
    except OverflowError:
        return math.inf


@dataclass
class IniKeys(Keys):
    """Keys of a `.ini` file, with the numbers that DRAMsim3 reads. If DRAMsim3 reads a value only in part, or takes its
    default instead, the report contains the number that DRAMsim3 takes.
    """

    def __post_init__(self) -> None:
        self._spellings = {key.lower(): key for key in self.values}

    def spelling(self, key: str) -> str | None:
        """Returns the file's spelling of a key, in any case, or `None` if the file lacks the key."""
        return self._spellings.get(key.lower())

    def integer(self, key: str, default: int) -> int:
        """Returns a whole number of at least 0. Raises `CasemateError` if it is negative or above 31 bits."""
        text = self.text(key, str(default))
        found = INTEGER.match(text)
        if not found:
            return self._unread(key, default, "number")
        digits, base = next((found[group], base) for group, base in BASES.items() if found[group])
        number = int(digits[:DIGITS_MAX], base)
        if number > INTEGER_MAX or (number and found["sign"] == "-"):
            raise CasemateError(f"{self.source}: {key} is '{text}': expected a whole number from 0 to {INTEGER_MAX}")
        self._read(key, text, str(number), exact=text == str(number))
        return number

    def positive(self, key: str, default: str, unit: str) -> Fraction:
        """Returns a number above 0. Raises `CasemateError` with the unit if it is not one."""
        text = self.text(key, default)
        found = REAL.match(text)
        if not found:
            return Fraction(self._unread(key, default, "number"))
        written = found["number"].lower()
        number = _double(written)
        if not 0 < number < math.inf:
            raise CasemateError(f"{self.source}: {key} is '{text}': expected {unit}, a number above 0")
        self._read(key, text, f"{number:g}", exact=text.lower() == written)
        return Fraction(number) if "0x" in written or len(written) > DIGITS_MAX else Fraction(written)

    def truth(self, key: str, default: bool) -> bool:
        """Returns true or false."""
        text = self.text(key, str(default).lower())
        if text.lower() in TRUTHS:
            return TRUTHS[text.lower()]
        self._unread(key, str(default).lower(), "truth value")
        return default

    def advice(self, key: str) -> str:
        """Returns advice for a text that DRAMsim3 does not know, if the text seems to contain a comment or two values;
        otherwise empty.
        """
        text = self.values.get(self.spelling(key) or "", "")
        if "\n" in text:
            return "; DRAMsim3 joins repeated keys and indented lines to one value"
        return "; a comment begins with a blank and ';' in DRAMsim3" if re.search("[;#]", text) else ""

    def _read(self, key: str, text: str, number: str, *, exact: bool) -> None:
        if not exact:
            joined = " in repeated keys or indented lines" if "\n" in text else ""
            self.changed(key, f"{number}, as DRAMsim3 reads numbers{joined}")

    def _unread(self, key: str, default: Value, kind: str) -> Value:
        self.changed(key, f"no {kind}: the machine has DRAMsim3's default, {default}")
        return default
