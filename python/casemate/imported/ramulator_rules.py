"""Rules for keys that have the same meaning in all versions of Ramulator 2: policies of the controller, constraints."""

from dataclasses import dataclass

from casemate._core import CasemateError
from casemate.imported.channel import LINE_BYTES, address_map
from casemate.imported.keys import Keys

NAMES = {
    "cl": "nCL", "cwl": "nCWL", "trcd": "nRCD", "trp": "nRP", "tras": "nRAS", "trc": "nRC", "twr": "nWR",
    "trtp": "nRTP", "tccd_s": "nCCDS", "tccd_l": "nCCDL", "trrd_s": "nRRDS", "trrd_l": "nRRDL", "twtr_s": "nWTRS",
    "twtr_l": "nWTRL", "tfaw": "nFAW", "trfc": "nRFC", "trefi": "nREFI", "trtrs": "nCS", "burst_clocks": "nBL",
}  # fmt: skip
"""Timing constraints: a machine's names, with the names in Ramulator."""


@dataclass(frozen=True)
class Policies:
    """Keys of the policies of a controller, and the value for rows that stay open."""

    scheduler: str
    refresh: str
    rows: str
    address_map: str
    open_rows: str


def required(keys: Keys) -> str:
    """Returns the origin of a default for a key that Ramulator requires."""
    return f"Casemate's value for a missing key: {keys.simulator} requires the key"


def watermark(keys: Keys, key: str, default: str, queue: int) -> int:
    """Returns the number of writes at a watermark. Raises `CasemateError` if the value is no share of the queue."""
    text = keys.text(key, default)
    try:
        share = float(text)
    except ValueError:
        share = -1
    if not 0 <= share <= 1:
        raise CasemateError(f"{keys.source}: {key} is '{text}': expected a share of the queue, as 0.8")
    return int(share * queue)


def page_policy(keys: Keys, policies: Policies) -> str:
    """Returns the machine's page policy as TOML."""
    if keys.text(policies.rows, policies.open_rows, required(keys)) == policies.open_rows:
        return '"open"'
    keys.changed(policies.rows, "rows close when no request has used or wants them for 1 clock")
    cap = f"{policies.rows.rpartition('.')[0]}.cap"
    keys.without(cap, "rows close after an idle time, not after a number of requests")
    return "{ open-with-timeout = { idle_clocks = 1 } }"


def scheduler(keys: Keys, policies: Policies) -> str:
    """Returns the machine's scheduler as TOML."""
    name = keys.text(policies.scheduler, "FRFCFS", required(keys))
    if name == "FCFS":
        return '"fcfs"'
    if name != "FRFCFS":
        keys.changed(policies.scheduler, "the machine uses 'fr-fcfs'")
    return '"fr-fcfs"'


def mapping(keys: Keys, policies: Policies, organisation: dict[str, int], channels: int) -> tuple[str, int]:
    """Returns the machine's address map, and the number of consecutive lines in one channel."""
    key = policies.address_map
    sizes = {
        "channel": channels, "rank": organisation["ranks"], "group": organisation["bank_groups"],
        "bank": organisation["banks_per_group"], "row": organisation["rows"], "column": organisation["lines_per_row"],
    }  # fmt: skip
    name = keys.text(key, "RoBaRaCoCh", required(keys))
    if name == "MOP4CLXOR":
        keys.changed(
            key, "the machine uses 'xor-banks': banks XOR-ed with the row, and whole rows in one run of addresses"
        )
        return "xor-banks", 1
    if name == "ChRaBaRoCo":
        return address_map(keys, key, ["channel", "rank", "group", "bank", "row", "column"], sizes)
    if name != "RoBaRaCoCh":
        keys.changed(key, "no map of a machine has this name: the machine uses 'row-bank-group-column'")
        return "row-bank-group-column", 1
    return address_map(keys, key, ["row", "bank", "group", "rank", "column", "channel"], sizes)


def refresh(keys: Keys, policies: Policies, timing: dict[str, int]) -> None:
    """Sets the refresh constraints to 0 if the controller does not refresh; notes refreshes of single banks."""
    name = keys.text(policies.refresh, "AllBank", required(keys))
    if name == "NoRefresh":
        timing |= {"trfc": 0, "trefi": 0}
    elif name != "AllBank":
        keys.changed(policies.refresh, "ranks are refreshed whole, one after another")


def raise_to_least(keys: Keys, prefix: str, timing: dict[str, int]) -> None:
    """Raises the constraints that are below another one in some presets, and notes this for the constraint, or else for
    the preset.
    """
    for ours, least, bound in (
        ("trrd_l", timing["trrd_s"], "nRRDS"), ("trc", timing["tras"] + timing["trp"], "nRAS + nRP")
    ):  # fmt: skip
        if timing[ours] < least:
            own = f"{prefix}.{NAMES[ours]}"
            said = f"{NAMES[ours]} of {timing[ours]} is below {bound}: the machine uses {least}"
            keys.changed(own if keys.spelling(own) else f"{prefix}.preset", said)
            timing[ours] = least


def burst(keys: Keys, prefix: str, timing: dict[str, int], width: int) -> None:
    """Sets the burst to the clocks that a line takes on a bus of `width` bits, and notes a different one."""
    if not 0 < width <= LINE_BYTES * 4:
        raise CasemateError(
            f"{keys.source}: the channel has {width} bits: expected 1 to {LINE_BYTES * 4}, a line in two or more beats"
        )
    clocks = LINE_BYTES * 8 // width // 2
    if clocks != timing["burst_clocks"]:
        keys.changed(f"{prefix}.nBL", f"a line of {LINE_BYTES} bytes takes {clocks} clocks of the bus")
        timing["burst_clocks"] = clocks
