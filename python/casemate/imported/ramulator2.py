"""Ramulator 2's configuration as a channel. Source: Ramulator 2's `src/dram/impl/DDR4.cpp`, `DDR5.cpp` and controller.

Ramulator's presets are tables of the JEDEC standards (JESD79-4C, JESD79-5); this module computes them from data rate,
speed bin and device.
"""

import math
import re
from fractions import Fraction

from casemate._core import CasemateError
from casemate.imported.channel import LINE_BYTES, Channel, address_map
from casemate.imported.keys import Keys
from casemate.text.nearest import hint

DRAM, CONTROLLER = "MemorySystem.DRAM", "MemorySystem.Controller"

QUEUE = 32
"""Requests that fit in a queue of Ramulator 2."""

BINS = {
    1600: {"J": 10, "K": 11, "L": 12}, 1866: {"L": 12, "M": 13, "N": 14}, 2133: {"N": 14, "P": 15, "R": 16},
    2400: {"P": 15, "R": 16, "U": 17, "T": 18}, 2666: {"T": 17, "U": 18, "V": 19, "W": 20},
    2933: {"V": 19, "W": 20, "Y": 21, "AA": 22}, 3200: {"W": 20, "AA": 22, "AC": 24},
}  # fmt: skip
"""CL, tRCD and tRP (all equal) of each speed bin of DDR4 in clocks, by data rate and letter of the bin."""

OF_RATE = {
    1600: (28, 12, 6, 9, 5, 2, 6), 1866: (32, 14, 7, 10, 5, 3, 7), 2133: (36, 16, 8, 11, 6, 3, 8),
    2400: (39, 18, 9, 12, 6, 3, 9), 2666: (43, 20, 10, 14, 7, 4, 10), 2933: (47, 22, 11, 16, 8, 4, 11),
    3200: (52, 24, 12, 16, 8, 4, 12),
}  # fmt: skip
"""tRAS, tWR, tRTP, CWL, tCCD_L, tWTR_S and tWTR_L of DDR4 in clocks, by data rate."""

ACTIVATES = {
    1600: ((4, 5, 16), (4, 5, 20), (5, 6, 28)), 1866: ((4, 5, 16), (4, 5, 22), (5, 6, 28)),
    2133: ((4, 6, 16), (4, 6, 23), (6, 7, 32)), 2400: ((4, 6, 16), (4, 6, 26), (7, 8, 36)),
    2666: ((4, 7, 16), (4, 7, 28), (8, 9, 40)), 2933: ((4, 8, 16), (4, 8, 31), (8, 10, 44)),
    3200: ((4, 8, 16), (4, 8, 34), (9, 11, 48)),
}  # fmt: skip
"""tRRD_S, tRRD_L and tFAW of DDR4 in clocks, by data rate, for devices of 4, 8 and 16 bits."""

BINS_OF_DDR5 = {"AN": (24, 75), "BN": (26, 77), "C": (28, 79)}
"""CL and tRC of each speed bin of DDR5-3200 in clocks."""

REFRESH_NS = {
    "DDR4": {2: 160, 4: 260, 8: 360, 16: 550},
    "DDR5": {8: 195, 16: 295, 32: 410},
}
"""tRFC in nanoseconds, by standard and by the device's capacity in gigabits."""

INTERVAL_NS = {"DDR4": 7800, "DDR5": 3900}
"""tREFI in nanoseconds, by standard."""

REQUIRED = "Casemate's value for a missing key: Ramulator 2 requires the key"
FROM_DEVICE = "Ramulator 2's value, from the data rate and the capacity of a device"

NAMES = {
    "cl": "nCL", "cwl": "nCWL", "trcd": "nRCD", "trp": "nRP", "tras": "nRAS", "trc": "nRC", "twr": "nWR",
    "trtp": "nRTP", "tccd_s": "nCCDS", "tccd_l": "nCCDL", "trrd_s": "nRRDS", "trrd_l": "nRRDL", "twtr_s": "nWTRS",
    "twtr_l": "nWTRL", "tfaw": "nFAW", "trfc": "nRFC", "trefi": "nREFI", "trtrs": "nCS", "burst_clocks": "nBL",
}  # fmt: skip
"""Timing constraints: a machine's names, with the names in Ramulator."""

IN_DDR5 = {"trfc": "nRFC1", "twtr_s": "nCCDS_WTR", "twtr_l": "nCCDL_WTR"}
"""Constraints with other names in Ramulator's DDR5."""


def channel(keys: Keys) -> Channel:
    """Returns the channel of a configuration. Raises `CasemateError` if no machine can have this channel."""
    standard = keys.text(f"{DRAM}.impl")
    if standard not in REFRESH_NS:
        raise CasemateError(
            f"'{keys.path}': {DRAM}.impl is {standard}: expected {' or '.join(REFRESH_NS)}, "
            "the standards that a machine models"
        )
    counts, device, width = _organisation(keys, standard)
    channels = counts.pop("channel")
    organisation = {
        "ranks": counts["rank"], "bank_groups": counts["bankgroup"], "banks_per_group": counts["bank"],
        "rows": counts["row"], "lines_per_row": counts["column"] * width // 8 // LINE_BYTES,
    }  # fmt: skip
    gigabits = counts["bankgroup"] * counts["bank"] * counts["row"] * counts["column"] * device >> 30
    rate, timing = _timing(keys, standard, device, gigabits)
    if (LINE_BYTES * 8 // width) // 2 != timing["burst_clocks"]:
        keys.changed(
            f"{DRAM}.timing.nBL", f"a line of {LINE_BYTES} bytes takes {LINE_BYTES * 8 // width // 2} clocks of the bus"
        )
        timing["burst_clocks"] = LINE_BYTES * 8 // width // 2
    order, lines = _map(keys, organisation, channels)
    found = Channel(
        clock=Fraction(1_000_000, _period_ps(rate)), channels=channels, organisation=organisation, timing=timing,
        read_queue=QUEUE, write_queue=QUEUE,
        drain_start=_watermark(keys, "wr_high_watermark", "0.8"),
        drain_stop=_watermark(keys, "wr_low_watermark", "0.2"),
        page_policy=_page_policy(keys), address_map=order, scheduler=_scheduler(keys), interleave_lines=lines,
    )  # fmt: skip
    for key in ("MemorySystem.impl", f"{CONTROLLER}.impl"):
        keys.taken(key)
    keys.rest(_reason)
    return found


def _reason(key: str) -> str:
    """Returns the reason that a machine has no counterpart of a key."""
    if key.startswith("Frontend."):
        return "cores are the machine's, traces those of `casemate run --trace`"
    if key.startswith(f"{CONTROLLER}.plugins"):
        return "a machine's controller has no plug-ins"
    return "a machine states the clocks themselves" if key.endswith("clock_ratio") else "not modelled"


def _organisation(keys: Keys, standard: str) -> tuple[dict[str, int], int, int]:
    """Returns the number of units at each level, the bits of a device and the bits of the channel."""
    levels = ("channel", "rank", "bankgroup", "bank", "row", "column")
    usual = {"channel": 1, "rank": 1}
    preset: dict[str, int] = {}
    if f"{DRAM}.org.preset" in keys.values:
        name = keys.text(f"{DRAM}.org.preset")
        found = re.fullmatch(rf"{standard}_(\d+)Gb_x(4|8|16)", name)
        if not found or int(found[1]) not in REFRESH_NS[standard]:
            known = [f"{standard}_{size}Gb_x{bits}" for size in REFRESH_NS[standard] for bits in (4, 8, 16)]
            raise CasemateError(
                f"'{keys.path}': {DRAM}.org.preset is {name}{hint(name, known)}: expected {', '.join(known)}"
            )
        preset = _device(standard, int(found[1]), int(found[2]))
    counts = {level: _of_preset(keys, f"{DRAM}.org.{level}", preset.get(level), usual.get(level)) for level in levels}
    width = keys.number(f"{DRAM}.org.channel_width", 64 if standard == "DDR4" else 32)
    keys.taken(f"{DRAM}.org.density")
    return counts, _of_preset(keys, f"{DRAM}.org.dq", preset.get("dq")), width


def _of_preset(keys: Keys, key: str, preset: int | None, default: int | None = None, origin: str | None = None) -> int:
    """Returns the value of a key, of the preset if the file lacks the key, or else the default, which is listed."""
    if preset is not None and key not in keys.values:
        return preset
    return keys.number(key, default, origin)


def _device(standard: str, gigabits: int, bits: int) -> dict[str, int]:
    """Width in bits, and numbers of bank groups, banks, columns and rows in a device of a preset; the number of rows
    follows from the capacity.
    """
    groups = (4 if bits < 16 else 2) if standard == "DDR4" else (8 if bits < 16 else 4)
    banks = 4 if standard == "DDR4" or gigabits > 8 else 2
    columns = 2048 if standard == "DDR5" and bits == 4 else 1024
    return {
        "dq": bits, "bankgroup": groups, "bank": banks, "column": columns,
        "row": (gigabits << 30) // (groups * banks * columns * bits),
    }  # fmt: skip


def _timing(keys: Keys, standard: str, device: int, gigabits: int) -> tuple[int, dict[str, int]]:
    """Returns the data rate, and the timing constraints in clocks: those of the preset, unless the file states them in
    clocks or nanoseconds.
    """
    prefix = f"{DRAM}.timing"
    rate = 0
    preset: dict[str, int] = {}
    if f"{prefix}.preset" in keys.values:
        rate, preset = _preset(keys, standard, device)
    rate = _of_preset(keys, f"{prefix}.rate", rate or None)
    if not rate:
        raise CasemateError(f"'{keys.path}': {prefix}.rate is 0: expected megatransfers a second")
    period = _period_ps(rate)
    usual = {"trefi": _clocks(INTERVAL_NS[standard], period), "trtrs": 2}
    if gigabits in REFRESH_NS[standard]:
        usual["trfc"] = _clocks(REFRESH_NS[standard][gigabits], period)
    timing = {}
    for ours, theirs in NAMES.items():
        name = IN_DDR5.get(ours, theirs) if standard == "DDR5" else theirs
        in_ns = f"{prefix}.t{name[1:]}"
        if in_ns in keys.values and f"{prefix}.{name}" not in keys.values:
            timing[ours] = _clocks(float(keys.text(in_ns)), period)
            keys.changed(in_ns, f"{timing[ours]} clocks of {period} ps")
        else:
            origin = REQUIRED if ours == "trtrs" else FROM_DEVICE
            timing[ours] = _of_preset(keys, f"{prefix}.{name}", preset.get(ours), usual.get(ours), origin)
            if standard == "DDR5" and ours in ("twtr_s", "twtr_l") and f"{prefix}.{name}" in keys.values:
                timing[ours] -= timing["cwl"] + _of_preset(keys, f"{prefix}.nBL", preset.get("burst_clocks"))
                keys.changed(f"{prefix}.{name}", f"{timing[ours]} clocks behind the last data")
    if timing["trrd_l"] < timing["trrd_s"]:
        keys.changed(
            f"{prefix}.preset", f"its nRRDL of {timing['trrd_l']} is below nRRDS: the machine uses {timing['trrd_s']}"
        )
        timing["trrd_l"] = timing["trrd_s"]
    least = timing["tras"] + timing["trp"]
    if timing["trc"] < least:
        keys.changed(f"{prefix}.preset", f"its nRC of {timing['trc']} is below nRAS + nRP: the machine uses {least}")
        timing["trc"] = least
    refresh = keys.text(f"{CONTROLLER}.RefreshManager.impl", "AllBank", REQUIRED)
    if refresh == "NoRefresh":
        timing |= {"trfc": 0, "trefi": 0}
    elif refresh != "AllBank":
        keys.changed(f"{CONTROLLER}.RefreshManager.impl", "ranks are refreshed whole, one after another")
    return rate, timing


def _preset(keys: Keys, standard: str, device: int) -> tuple[int, dict[str, int]]:
    preset = keys.text(f"{DRAM}.timing.preset")
    known = [f"DDR4_{rate}{bin_}" for rate, bins in BINS.items() for bin_ in bins]
    known = known if standard == "DDR4" else [f"DDR5_3200{bin_}" for bin_ in BINS_OF_DDR5]
    if preset not in known:
        raise CasemateError(
            f"'{keys.path}': {DRAM}.timing.preset is {preset}{hint(preset, known)}: expected {', '.join(known)}"
        )
    rate, bin_ = int(preset[5:9]), preset[9:]
    if standard == "DDR5":
        cl, trc = BINS_OF_DDR5[bin_]
        return rate, {
            "cl": cl, "trcd": cl, "trp": cl, "cwl": cl - 2, "tras": 52, "trc": trc, "twr": 48, "trtp": 12, "tccd_s": 8,
            "tccd_l": 8, "trrd_s": 8, "trrd_l": 5, "twtr_s": 4, "twtr_l": 16, "tfaw": 40 if device == 4 else 32,
            "trtrs": 2, "burst_clocks": 8,
        }  # fmt: skip
    cl, of_rate = BINS[rate][bin_], OF_RATE[rate]
    short, long, four = ACTIVATES[rate][(4, 8, 16).index(device)] if device in (4, 8, 16) else (0, 0, 0)
    names = ("tras", "twr", "trtp", "cwl", "tccd_l", "twtr_s", "twtr_l")
    return rate, dict(zip(names, of_rate, strict=True)) | {
        "cl": cl, "trcd": cl, "trp": cl, "trc": cl + of_rate[0], "tccd_s": 4, "trtrs": 2,
        "burst_clocks": 4, "trrd_s": short, "trrd_l": long, "tfaw": four,
    }  # fmt: skip


def _period_ps(rate: int) -> int:
    """Ramulator's clock period, in whole picoseconds."""
    return int(1e6 / (rate // 2))


def _clocks(nanoseconds: float, period_ps: int) -> int:
    """Converts a time to clocks and rounds as JEDEC does: up, except within 2.6 % of a clock above a whole number."""
    return math.floor((nanoseconds * 1000 * 1000 / period_ps + 974) / 1000)


def _map(keys: Keys, organisation: dict[str, int], channels: int) -> tuple[str, int]:
    key = "MemorySystem.AddrMapper.impl"
    sizes = {
        "channel": channels, "rank": organisation["ranks"], "group": organisation["bank_groups"],
        "bank": organisation["banks_per_group"], "row": organisation["rows"], "column": organisation["lines_per_row"],
    }  # fmt: skip
    name = keys.text(key, "RoBaRaCoCh", REQUIRED)
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


def _watermark(keys: Keys, name: str, usual: str) -> int:
    text = keys.text(f"{CONTROLLER}.{name}", usual)
    try:
        share = float(text)
    except ValueError:
        share = -1
    if not 0 <= share <= 1:
        raise CasemateError(f"'{keys.path}': {CONTROLLER}.{name} is '{text}': expected a share of the queue, as 0.8")
    return int(share * QUEUE)


def _page_policy(keys: Keys) -> str:
    key = f"{CONTROLLER}.RowPolicy.impl"
    if keys.text(key, "OpenRowPolicy", REQUIRED) == "OpenRowPolicy":
        return '"open"'
    keys.changed(key, "rows close when no request has used or wants them for 1 clock")
    keys.without(f"{CONTROLLER}.RowPolicy.cap", "rows close after an idle time, not after a number of requests")
    return "{ open-with-timeout = { idle_clocks = 1 } }"


def _scheduler(keys: Keys) -> str:
    key = f"{CONTROLLER}.Scheduler.impl"
    name = keys.text(key, "FRFCFS", REQUIRED)
    if name == "FCFS":
        return '"fcfs"'
    if name != "FRFCFS":
        keys.changed(key, "the machine uses 'fr-fcfs'")
    return '"fr-fcfs"'
