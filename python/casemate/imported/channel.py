"""A DRAM channel that another simulator's configuration describes, and the treatment of each of the configuration's
keys.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from casemate._core import CasemateError
from casemate.schemas.imported import ImportedKey

LINE_BYTES = 64


@dataclass
class Keys:
    """Keys of a configuration file, by their path. The importer requests each key that it converts; the remaining keys
    have no counterpart in a machine.
    """

    path: Path
    values: Mapping[str, str]
    fates: dict[str, ImportedKey] = field(default_factory=dict)

    def text(self, key: str, default: str | None = None) -> str:
        """Returns the value of a key as text. Raises `CasemateError` if it is missing and has no default."""
        if key in self.values:
            self.fates.setdefault(key, ImportedKey(key=key, value=self.values[key], fate="taken", said=""))
            return self.values[key]
        if default is None:
            raise CasemateError(f"'{self.path}' has no key {key}: expected it, since the machine needs its value")
        return default

    def number(self, key: str, default: int | None = None) -> int:
        """Returns the value of a key as a whole number of at least 0. Raises `CasemateError` if it is not one."""
        text = self.text(key, None if default is None else str(default))
        if not text.isdecimal():
            raise CasemateError(f"'{self.path}': {key} is '{text}': expected a whole number")
        return int(text)

    def is_true(self, key: str) -> bool:
        """Returns the value of a key that is true or false; false if it is missing."""
        return self.text(key, "false").lower() in ("true", "yes", "on", "1")

    def changed(self, key: str, said: str) -> None:
        """Notes that the machine uses a value other than that of a key, if the file has that key."""
        if key in self.values:
            self.fates[key] = ImportedKey(key=key, value=self.values[key], fate="changed", said=said)

    def without(self, key: str, said: str) -> None:
        """Notes that the machine has no counterpart of a key, if the file has that key."""
        if key in self.values:
            self.fates[key] = ImportedKey(key=key, value=self.values[key], fate="no counterpart", said=said)

    def rest(self, reasons: Iterable[tuple[Callable[[str], bool], str]]) -> None:
        """Notes each key that the importer did not request as one without counterpart. The reason is the first in
        `reasons` with a test that accepts the key.
        """
        for key in self.values:
            if key not in self.fates:
                self.without(key, next((said for fits, said in reasons if fits(key)), "not modelled"))

    def all(self) -> tuple[ImportedKey, ...]:
        """Returns the treatment of each key, in the order of the file."""
        return tuple(self.fates[key] for key in self.values)


@dataclass
class Channel:
    """A channel, in the terms of a machine file."""

    clock: Fraction
    """The memory clock in megahertz."""
    channels: int
    organisation: dict[str, int]
    timing: dict[str, int]
    read_queue: int
    write_queue: int
    drain_start: int
    drain_stop: int
    page_policy: str
    address_map: str
    scheduler: str
    interleave_lines: int = 1

    def bytes(self) -> int:
        """Bytes of all channels."""
        lines = self.channels
        for count in self.organisation.values():
            lines *= count
        return lines * LINE_BYTES


MAPS = {
    ("row", "rank", "bank", "group", "column"): "row-bank-group-column",
    ("row", "rank", "bank", "column", "group"): "bank-group-low",
}
"""Orders of address fields that a machine supports, the most significant first."""

USUAL_MAP = "row-bank-group-column"


def address_map(keys: Keys, key: str, order: list[str], sizes: Mapping[str, int]) -> tuple[str, int]:
    """Returns the machine's address map with this order of fields, the most significant first, and the number of
    consecutive lines in one channel. If a machine does not support the order, the function returns the default map and
    notes this for the key.
    """
    used = [each for each in order if sizes[each] > 1]
    below = used[used.index("channel") + 1 :] if "channel" in used else []
    lines = 1
    for each in below:
        lines *= sizes[each]
    for fields, name in MAPS.items():
        if [each for each in fields if sizes[each] > 1] == [each for each in used if each != "channel"]:
            if below not in ([], ["column"]):
                keys.changed(key, f"successive lines go to the channels in turn, and '{name}' is the order within each")
                lines = 1
            return name, lines
    keys.changed(key, f"no map of a machine has this order: the machine uses '{USUAL_MAP}'")
    return USUAL_MAP, 1
