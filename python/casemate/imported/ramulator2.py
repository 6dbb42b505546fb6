"""Ramulator 2's configuration as a channel. Source: Ramulator 2's `src/dram/impl/DDR4.cpp`, `DDR5.cpp` and controller.

Ramulator's presets are tables of the JEDEC standards (JESD79-4C, JESD79-5); this module computes them from data rate,
speed bin and device.
"""

import math
import re
from fractions import Fraction

from casemate._core import CasemateError
from casemate.imported import ramulator_rules as rules
from casemate.imported.channel import LINE_BYTES, Channel
from casemate.imported.keys import Keys
from casemate.text.nearest import hint

DRAM, CONTROLLER = "MemorySystem.DRAM", "MemorySystem.Controller"

POLICIES = rules.Policies(
    scheduler=f"{CONTROLLER}.Scheduler.impl", refresh=f"{CONTROLLER}.RefreshManager.impl",
    rows=f"{CONTROLLER}.RowPolicy.impl", address_map="MemorySystem.AddrMapper.impl", open_rows="OpenRowPolicy",
)  # fmt: skip

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

NANOSECONDS_MAX = 1_000_000
"""Longest time of a constraint."""

FROM_DEVICE = "Ramulator 2's value, from the data rate and the capacity of a device"

IN_DDR5 = {"trfc": "nRFC1", "twtr_s": "nCCDS_WTR", "twtr_l": "nCCDL_WTR"}
"""Constraints with other names in Ramulator's DDR5."""


def channel(keys: Keys) -> Channel:
    """Returns the channel of a configuration. Raises `CasemateError` if no machine can have this channel."""
    standard = keys.text(f"{DRAM}.impl")
    if standard not in REFRESH_NS:
        raise CasemateError(
            f"{keys.source}: {DRAM}.impl is {standard}: expected {' or '.join(REFRESH_NS)}, "
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
    rules.burst(keys, f"{DRAM}.timing", timing, width)
    order, lines = rules.mapping(keys, POLICIES, organisation, channels)
    found = Channel(
        clock=Fraction(1_000_000, _period_ps(keys, rate)), channels=channels, organisation=organisation, timing=timing,
        read_queue=QUEUE, write_queue=QUEUE,
        drain_start=rules.watermark(keys, f"{CONTROLLER}.wr_high_watermark", "0.8", QUEUE),
        drain_stop=rules.watermark(keys, f"{CONTROLLER}.wr_low_watermark", "0.2", QUEUE),
        page_policy=rules.page_policy(keys, POLICIES), address_map=order, scheduler=rules.scheduler(keys, POLICIES),
        interleave_lines=lines,
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
                f"{keys.source}: {DRAM}.org.preset is {name}{hint(name, known)}: expected {', '.join(known)}"
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
    period = _period_ps(keys, rate)
    usual = {"trefi": _clocks(INTERVAL_NS[standard], period), "trtrs": 2}
    if gigabits in REFRESH_NS[standard]:
        usual["trfc"] = _clocks(REFRESH_NS[standard][gigabits], period)
    timing = {}
    for ours, theirs in rules.NAMES.items():
        name = IN_DDR5.get(ours, theirs) if standard == "DDR5" else theirs
        in_ns = f"{prefix}.t{name[1:]}"
        if in_ns in keys.values and f"{prefix}.{name}" not in keys.values:
            timing[ours] = _clocks(_nanoseconds(keys, in_ns), period)
            keys.changed(in_ns, f"{timing[ours]} clocks of {period} ps")
        else:
            origin = rules.required(keys) if ours == "trtrs" else FROM_DEVICE
            timing[ours] = _of_preset(keys, f"{prefix}.{name}", preset.get(ours), usual.get(ours), origin)
            if standard == "DDR5" and ours in ("twtr_s", "twtr_l") and f"{prefix}.{name}" in keys.values:
                timing[ours] -= timing["cwl"] + _of_preset(keys, f"{prefix}.nBL", preset.get("burst_clocks"))
                keys.changed(f"{prefix}.{name}", f"{timing[ours]} clocks behind the last data")
    rules.raise_to_least(keys, prefix, timing)
    rules.refresh(keys, POLICIES, timing)
    return rate, timing


def _preset(keys: Keys, standard: str, device: int) -> tuple[int, dict[str, int]]:
    preset = keys.text(f"{DRAM}.timing.preset")
    known = [f"DDR4_{rate}{bin_}" for rate, bins in BINS.items() for bin_ in bins]
    known = known if standard == "DDR4" else [f"DDR5_3200{bin_}" for bin_ in BINS_OF_DDR5]
    if preset not in known:
        raise CasemateError(
            f"{keys.source}: {DRAM}.timing.preset is {preset}{hint(preset, known)}: expected {', '.join(known)}"
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


def _period_ps(keys: Keys, rate: int) -> int:
    """Ramulator's clock period, in whole picoseconds. Raises `CasemateError` if it is not one or more."""
    period = int(1e6 / (rate // 2)) if rate > 1 else 0
    if not period:
        raise CasemateError(
            f"{keys.source}: {DRAM}.timing.rate is {rate}: expected megatransfers a second, from 2 to 2000000"
        )
    return period


def _nanoseconds(keys: Keys, key: str) -> float:
    text = keys.text(key)
    try:
        time = float(text)
    except ValueError:
        time = -1
    if not 0 <= time <= NANOSECONDS_MAX:
        raise CasemateError(f"{keys.source}: {key} is '{text}': expected nanoseconds, from 0 to {NANOSECONDS_MAX}")
    return time


def _clocks(nanoseconds: float, period_ps: int) -> int:
    """Converts a time to clocks and rounds as JEDEC does: up, except within 2.6 % of a clock above a whole number."""
    return math.floor((nanoseconds * 1000 * 1000 / period_ps + 974) / 1000)
