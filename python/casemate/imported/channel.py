"""A DRAM channel that another simulator's configuration describes."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from casemate.imported.keys import Keys

LINE_BYTES = 64


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
