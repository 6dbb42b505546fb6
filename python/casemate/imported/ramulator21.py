"""Ramulator 2.1's export as a channel.

Source: `dram_spec.cpp`, the controllers and the mappers of Ramulator 2.1, with their defaults.
"""

import re
from fractions import Fraction

from casemate._core import CasemateError
from casemate.imported import ramulator_rules as rules
from casemate.imported.channel import LINE_BYTES, Channel
from casemate.imported.keys import Keys
from casemate.imported.ramulator21_export import CONTROLLER, CONTROLLERS

DRAM = f"{CONTROLLER}.dram"
COUNTS, TIMING = f"{DRAM}.org.count", f"{DRAM}.timing"
MAPPER = "memory_system.channel_mapper"

POLICIES = rules.Policies(
    scheduler=f"{CONTROLLER}.scheduler.impl", refresh=f"{CONTROLLER}.refresh_manager.impl",
    rows=f"{CONTROLLER}.row_policy.impl", address_map=f"{CONTROLLER}.addr_mapper.impl", open_rows="Open",
)  # fmt: skip

BEATS = {"DDR3": 8, "DDR4": 8, "DDR5": 16}
"""Beats of a burst, by standard."""

IN_DDR3 = {
    "tccd_s": "nCCD", "tccd_l": "nCCD", "trrd_s": "nRRD", "trrd_l": "nRRD", "twtr_s": "nWTR", "twtr_l": "nWTR",
}  # fmt: skip
"""Constraints with other names in Ramulator's DDR3, which has no bank groups."""

PICOSECONDS = 1_000_000
"""Picoseconds of a cycle at 1 MHz; a rate of two transfers a cycle that differs by more than 1 % is noted."""

INTERLEAVE_BITS_MAX = 32
"""Largest number of address bits below those of the channel."""

REASONS = {
    "frontend.": "cores are the machine's, traces those of `casemate run --trace`",
    "memory_system.clock_ratio": "a machine states the clocks themselves",
    f"{CONTROLLER}.controller_plugins.": "a machine's controller has no plug-ins",
    f"{CONTROLLER}.priority_buffer_size": "a machine has no queue for refreshes",
    f"{DRAM}.timing_constraints": "the machine derives the constraints between commands from the list timing",
    f"{DRAM}.command_cycles": "each command of a machine takes 1 clock",
    f"{TIMING}.nCCDS_WR": "writes follow each other as reads do",
    f"{TIMING}.nCCDL_WR": "writes follow each other as reads do",
}
"""Reasons that a machine has no counterpart of a key, by the beginning of the key."""


def channel(keys: Keys) -> Channel:
    """Returns the channel of an export with named lists. Raises `CasemateError` if no machine can have this channel."""
    standard = keys.text(f"{DRAM}.impl")
    width = keys.number(f"{DRAM}.channel_width")
    timing = _timing(keys, standard)
    rules.burst(keys, TIMING, timing, width)
    organisation = _organisation(keys, width)
    reads, writes = (keys.number(f"{CONTROLLER}.{kind}_buffer_size", 32) for kind in ("read", "write"))
    channels = 1 + sum(bool(re.fullmatch(rf"{CONTROLLERS}\.\d+", key)) for key in keys.values)
    order, _ = rules.mapping(keys, POLICIES, organisation, channels=1)
    found = Channel(
        clock=_clock(keys), channels=channels, organisation=organisation, timing=timing,
        read_queue=reads, write_queue=writes,
        drain_start=rules.watermark(keys, f"{CONTROLLER}.wr_high_watermark", "0.8", writes),
        drain_stop=rules.watermark(keys, f"{CONTROLLER}.wr_low_watermark", "0.2", writes),
        page_policy=rules.page_policy(keys, POLICIES), address_map=order, scheduler=rules.scheduler(keys, POLICIES),
        interleave_lines=_interleave(keys, channels, BEATS[standard] * width // 8),
    )  # fmt: skip
    for key in ("memory_system.impl", f"{DRAM}.org.dq", *(f"{CONTROLLERS}.{number}" for number in range(1, channels))):
        keys.taken(key)
    if keys.text(f"{CONTROLLER}.impl", "GenericDDR", rules.required(keys)) != "GenericDDR":
        keys.changed(f"{CONTROLLER}.impl", "the machine's controller works as GenericDDR")
    keys.rest(lambda key: next((said for start, said in REASONS.items() if key.startswith(start)), "not modelled"))
    return found


def _organisation(keys: Keys, width: int) -> dict[str, int]:
    """Returns the organisation of a channel that is `width` bits wide."""
    if (channels := keys.number(f"{COUNTS}.channel")) != 1:
        raise CasemateError(
            f"{keys.source}: {COUNTS}.channel is {channels}: expected 1, and one controller for each channel in "
            f"{CONTROLLERS}"
        )
    return {
        "ranks": keys.number(f"{COUNTS}.rank"),
        "bank_groups": keys.number(f"{COUNTS}.bankgroup") if f"{COUNTS}.bankgroup" in keys.values else 1,
        "banks_per_group": keys.number(f"{COUNTS}.bank"), "rows": keys.number(f"{COUNTS}.row"),
        "lines_per_row": keys.number(f"{COUNTS}.column") * width // 8 // LINE_BYTES,
    }  # fmt: skip


def _timing(keys: Keys, standard: str) -> dict[str, int]:
    """Returns the timing constraints in clocks."""
    names = rules.NAMES | (IN_DDR3 if standard == "DDR3" else {})
    timing = {ours: keys.number(f"{TIMING}.{theirs}") for ours, theirs in names.items()}
    latency, key = timing["cl"] + timing["burst_clocks"], f"{DRAM}.read_latency"
    if key in keys.values and keys.number(key) != latency:
        keys.changed(key, f"nCL + nBL, {latency} clocks")
    rules.raise_to_least(keys, TIMING, timing)
    rules.refresh(keys, POLICIES, timing)
    return timing


def _clock(keys: Keys) -> Fraction:
    """Returns the clock in megahertz."""
    period, rate = keys.number(f"{TIMING}.tCK_ps"), keys.number(f"{TIMING}.rate")
    if not period:
        raise CasemateError(f"{keys.source}: {TIMING}.tCK_ps is 0: expected picoseconds above 0, as 625 for 3200 MT/s")
    if abs(rate * period - PICOSECONDS * 2) > PICOSECONDS * 2 // 100:
        keys.changed(f"{TIMING}.rate", f"the clock is that of tCK_ps, {period} ps")
    return Fraction(PICOSECONDS, period)


def _interleave(keys: Keys, channels: int, burst_bytes: int) -> int:
    """Returns the number of consecutive lines in one channel."""
    if channels == 1:
        for key in ("impl", "interleave_bits"):
            keys.taken(f"{MAPPER}.{key}")
        return 1
    if keys.text(f"{MAPPER}.impl", "CacheLineInterleave", rules.required(keys)) != "CacheLineInterleave":
        keys.changed(f"{MAPPER}.impl", "successive lines go to the channels in turn")
        return 1
    bits = keys.number(f"{MAPPER}.interleave_bits", 0)
    if bits > INTERLEAVE_BITS_MAX:
        raise CasemateError(
            f"{keys.source}: {MAPPER}.interleave_bits is {bits}: expected a number from 0 to {INTERLEAVE_BITS_MAX}"
        )
    lines = (burst_bytes << bits) // LINE_BYTES
    if not lines:
        keys.changed(f"{MAPPER}.interleave_bits", "whole lines go to the channels in turn")
    return max(lines, 1)
