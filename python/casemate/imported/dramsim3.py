"""DRAMsim3's configuration as a channel. Source: `src/configuration.cc` of DRAMsim3, with its defaults."""

from fractions import Fraction

from casemate._core import CasemateError
from casemate.imported.channel import LINE_BYTES, Channel, address_map
from casemate.imported.keys import Keys

PROTOCOLS = ("DDR3", "DDR4")
"""Protocols with timing constraints that a machine supports."""

FIELDS = {"ch": "channel", "ra": "rank", "bg": "group", "ba": "bank", "ro": "row", "co": "column"}

TIMING = {
    "trcd": ("tRCD", 10), "trp": ("tRP", 10), "tras": ("tRAS", 24), "twr": ("tWR", 10), "trtp": ("tRTP", 5),
    "tccd_s": ("tCCD_S", 4), "tccd_l": ("tCCD_L", 6), "trrd_s": ("tRRD_S", 4), "trrd_l": ("tRRD_L", 4),
    "twtr_s": ("tWTR_S", 5), "twtr_l": ("tWTR_L", 5), "tfaw": ("tFAW", 50), "trfc": ("tRFC", 74),
    "trefi": ("tREFI", 7800), "trtrs": ("tRTRS", 2),
}  # fmt: skip
"""Timing constraints: a machine's names, with the names and defaults in DRAMsim3."""


def channel(keys: Keys) -> Channel:
    """Returns the channel of a configuration. Raises `CasemateError` if no machine can have this channel."""
    protocol = keys.text("dram_structure.protocol", "DDR3")
    if protocol not in PROTOCOLS:
        raise CasemateError(
            f"'{keys.path}': dram_structure.protocol is {protocol}: expected {' or '.join(PROTOCOLS)}, "
            "the protocols that a machine models"
        )
    organisation = _organisation(keys)
    channels = keys.number("system.channels", 1)
    queue = keys.number("system.trans_queue_size", 32)
    if keys.is_true("system.unified_queue"):
        keys.changed("system.unified_queue", "reads and writes have a queue each, of trans_queue_size")
    order, lines = _map(keys, organisation, channels)
    found = Channel(
        clock=_clock(keys), channels=channels, organisation=organisation, timing=_timing(keys),
        read_queue=queue, write_queue=queue, drain_start=queue, drain_stop=0,
        page_policy=_page_policy(keys), address_map=order, scheduler='"fr-fcfs"', interleave_lines=lines,
    )  # fmt: skip
    if (policy := keys.text("system.refresh_policy", "RANK_LEVEL_STAGGERED")) != "RANK_LEVEL_STAGGERED":
        keys.changed("system.refresh_policy", f"ranks are refreshed one after another, not {policy}")
    keys.rest([
        (lambda key: key.startswith(("power.", "thermal.")), "a machine has no power or temperature of DRAM"),
        (lambda key: key.startswith("other."), "about DRAMsim3's output"),
        (lambda key: key.startswith("hmc."), "about HMC"),
        (lambda key: "sref" in key or key in SLEEP, "a machine's ranks do not power down"),
        (lambda key: key in REFRESHES, "ranks are refreshed whole"),
        (lambda key: key == "system.cmd_queue_size", "a machine has no second queue of commands"),
    ])  # fmt: skip
    return found


REFRESHES = ("timing.tRFCb", "timing.tREFIb", "timing.tRFC2", "timing.tRFC4")
SLEEP = {f"timing.{key}" for key in ("tCKE", "tCKESR", "tXS", "tXP")} | {"system.enable_self_refresh"}


def _organisation(keys: Keys) -> dict[str, int]:
    groups, banks = (keys.number(f"dram_structure.{key}", 2) for key in ("bankgroups", "banks_per_group"))
    if keys.text("dram_structure.bankgroup_enable", "true").lower() in ("false", "no", "off", "0"):
        groups, banks = 1, banks * groups
    rows, columns = keys.number("dram_structure.rows", 1 << 16), keys.number("dram_structure.columns", 1 << 10)
    device, bus = keys.number("dram_structure.device_width", 8), keys.number("system.bus_width", 64)
    megabytes = keys.number("system.channel_size", 1024)
    row_bytes = columns * bus // 8
    rank_bytes = row_bytes * rows * groups * banks
    if 0 in (device, row_bytes // LINE_BYTES, rank_bytes) or bus % device:
        raise CasemateError(f"'{keys.path}': columns, bus_width and device_width make no rank of whole devices")
    ranks = max((megabytes << 20) // rank_bytes, 1)
    if ranks * rank_bytes != megabytes << 20:
        keys.changed(
            "system.channel_size", f"ranks have {rank_bytes >> 20} MB each, so the channel has {ranks}, as in DRAMsim3"
        )
    return {
        "ranks": ranks, "bank_groups": groups, "banks_per_group": banks, "rows": rows,
        "lines_per_row": row_bytes // LINE_BYTES,
    }  # fmt: skip


def _clock(keys: Keys) -> Fraction:
    text = keys.text("timing.tCK", "1.0")
    try:
        period = Fraction(text)
    except ValueError:
        period = Fraction(0)
    if period <= 0:
        raise CasemateError(f"'{keys.path}': timing.tCK is '{text}': expected nanoseconds")
    return 1000 / period


def _timing(keys: Keys) -> dict[str, int]:
    timing = {ours: keys.number(f"timing.{theirs}", usual) for ours, (theirs, usual) in TIMING.items()}
    extra = keys.number("timing.AL", 0)
    timing["cl"] = keys.number("timing.CL", 12) + extra
    timing["cwl"] = keys.number("timing.CWL", 12) + extra
    if extra:
        keys.changed("timing.AL", "added to cl and cwl")
    timing["trc"] = timing["tras"] + timing["trp"]
    burst, bus = keys.number("dram_structure.BL", 8), keys.number("system.bus_width", 64)
    timing["burst_clocks"] = LINE_BYTES * 8 // bus // 2
    if burst * bus // 8 != LINE_BYTES:
        keys.changed(
            "dram_structure.BL", f"a line of {LINE_BYTES} bytes takes {timing['burst_clocks']} clocks of the bus"
        )
    return timing


def _map(keys: Keys, organisation: dict[str, int], channels: int) -> tuple[str, int]:
    text = keys.text("system.address_mapping", "chrobabgraco")
    parts = [text[at : at + 2] for at in range(0, len(text), 2)]
    if sorted(parts) != sorted(FIELDS):
        raise CasemateError(
            f"'{keys.path}': system.address_mapping is '{text}': expected each of {', '.join(FIELDS)} once, "
            "as in rochrababgco"
        )
    sizes = {
        "channel": channels, "rank": organisation["ranks"], "group": organisation["bank_groups"],
        "bank": organisation["banks_per_group"], "row": organisation["rows"], "column": organisation["lines_per_row"],
    }  # fmt: skip
    return address_map(keys, "system.address_mapping", [FIELDS[part] for part in parts], sizes)


def _page_policy(keys: Keys) -> str:
    if keys.text("system.row_buf_policy", "OPEN_PAGE") == "OPEN_PAGE":
        return '"open"'
    keys.changed("system.row_buf_policy", "rows close when no request has used or wants them for 1 clock")
    return "{ open-with-timeout = { idle_clocks = 1 } }"
