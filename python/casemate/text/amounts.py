"""Conversion of amounts from and to the text that people write and read."""

import re

_SECONDS: dict[str, int] = {"s": 1, "m": 60, "h": 3600}
_SIMULATED_FS: dict[str, int] = {
    "fs": 1, "ps": 10**3, "ns": 10**6, "us": 10**9, "µs": 10**9, "ms": 10**12, "s": 10**15,
}  # fmt: skip
_ENERGY_FJ: dict[str, int] = {"nJ": 10**6, "uJ": 10**9, "µJ": 10**9, "mJ": 10**12, "J": 10**15}
_SIZES: dict[str, int] = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_SCALES: dict[str, int] = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}

COUNT_MAX = 2**63 - 1
"""Largest number of instructions that the parser accepts, more than any run executes."""

FS_MAX = 2**64 - 1
"""Last moment of the simulated clock, in femtoseconds."""


def parse_count(text: str) -> int:
    """A number of instructions: `20000000`, `20_000_000`, `20M`, `1.5G`. Raises `ValueError` with the expected form."""
    match = re.fullmatch(r"([0-9][0-9_]*)(\.[0-9]+)?\s*([KMG]?)", text.strip(), re.IGNORECASE)
    if not match:
        raise ValueError(f"'{text}' is not a number of instructions: expected a number such as 500000, 50M or 1.5G")
    whole, fraction, scale = match.groups()
    factor = _SCALES[scale.upper()]
    parts: int = int(whole.replace("_", "")) * factor
    if parts > COUNT_MAX:
        raise ValueError(f"'{text}' is more instructions than can be counted: expected at most {COUNT_MAX:,}")
    if not fraction:
        return parts
    numerator = int(fraction[1:]) * factor
    denominator: int = 10 ** (len(fraction) - 1)
    if numerator % denominator:
        raise ValueError(f"'{text}' is not a whole number of instructions")
    return parts + numerator // denominator


def parse_seconds(text: str) -> float:
    """A length of time in seconds: `90s`, `10m`, `1.5h`. Raises `ValueError` with the expected form."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([smh])", text.strip(), re.IGNORECASE)
    if not match:
        raise ValueError(f"'{text}' is not a length of time: expected a number and its unit, as in 90s, 10m or 1.5h")
    return float(match[1]) * _SECONDS[match[2].lower()]


def parse_simulated(text: str) -> int:
    """Simulated time in femtoseconds: `250ns`, `20us`, `1.5ms`. Raises `ValueError` with the expected form."""
    match = re.fullmatch(r"([0-9]+)(?:\.([0-9]+))?\s*(fs|ps|ns|us|µs|ms|s)", text.strip())
    if not match:
        raise ValueError(
            f"'{text}' is not a length of simulated time: expected a number and its unit, as in 250ns, 20us or 1.5ms"
        )
    whole, fraction, unit = match.groups(default="")
    scaled = int(whole + fraction) * _SIMULATED_FS[unit]
    if scaled % 10 ** len(fraction):
        raise ValueError(f"'{text}' is not a whole number of femtoseconds, the unit of the simulated clock")
    time: int = scaled // 10 ** len(fraction)
    if time > FS_MAX:
        raise ValueError(f"'{text}' is more than the simulated clock can count: expected at most 18446s")
    return time


def parse_window(text: str) -> tuple[int, int]:
    """Start and length of a window of simulated time, in femtoseconds, from text such as `20us:5us`. Raises
    `ValueError` with the expected form.
    """
    begin, colon, length = text.partition(":")
    if not colon:
        raise ValueError(f"'{text}' is not a window: expected FROM:LENGTH, as in 20us:5us")
    return parse_simulated(begin), parse_simulated(length)


def parse_energy(text: str) -> int:
    """An amount of energy in femtojoules: `1.7mJ`, `850uJ`, `200nJ`. Raises `ValueError` with the expected form."""
    match = re.fullmatch(r"([0-9]+)(?:\.([0-9]+))?\s*(nJ|uJ|µJ|mJ|J)", text.strip())
    if not match:
        raise ValueError(f"'{text}' is not an amount of energy: expected a number and its unit, as in 1.7mJ or 200nJ")
    whole, fraction, unit = match.groups(default="")
    energy: int = int(whole + fraction) * _ENERGY_FJ[unit] // 10 ** len(fraction)
    if energy > FS_MAX:
        raise ValueError(f"'{text}' is more than any battery of a chip holds: expected at most 18446J")
    return energy


def parse_size(text: str) -> int:
    """A number of bytes as machine and design files state it: `64 B`, `8 MB`. Raises `ValueError` with the expected
    form.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) (B|KB|MB|GB|TB)", text)
    if not match:
        raise ValueError(f"'{text}' is not a size: expected a number and its unit, as in 64 KB or 8 MB")
    return int(float(match[1]) * _SIZES[match[2]])


def count(number: int) -> str:
    """A number with separated thousands."""
    return f"{number:,}"


def counted(number: int, what: str) -> str:
    """A number with its noun: `1 thread`, `3 processes`."""
    several = f"{what}es" if what.endswith(("s", "sh")) else f"{what}s"
    return f"{count(number)} {what if number == 1 else several}"


def first(number: int, what: str) -> str:
    """A number of first items, in words: `the first instruction`, `the first 5,000 instructions`."""
    return f"the first {what}" if number == 1 else f"the first {counted(number, what)}"


def short_count(number: float) -> str:
    """A number in at most five characters: `950`, `12.3K`, `20.0M`."""
    for scale, factor in (("G", 10**9), ("M", 10**6), ("K", 10**3)):
        if number >= factor:
            return f"{number / factor:.1f}{scale}"
    return f"{number:.0f}"


def short_time(seconds: float) -> str:
    """A length of time, rounded: `40 s`, `12 min`, `2.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def size(number: float) -> str:
    """A number of bytes, with units in powers of 1024 as in the papers."""
    for scale in ("TB", "GB", "MB", "KB"):
        if number >= _SIZES[scale]:
            return f"{number / _SIZES[scale]:.1f} {scale}"
    return f"{number:.0f} B"
