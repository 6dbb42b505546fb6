"""DRAMsim3's configuration as a channel, with DRAMsim3's defaults. Source: `src/configuration.cc`, commit 2981759."""

from casemate._core import CasemateError
from casemate.imported.channel import LINE_BYTES, Channel, address_map
from casemate.imported.ini import IniKeys
from casemate.imported.keys import ALMOST_THE_SAME
from casemate.text.nearest import hint

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

SECOND_NAMES = {"tREFI": "REFI"}
"""Other names of timing constraints in DRAMsim3's DDR3 files. DRAMsim3 itself does not read them."""


def channel(keys: IniKeys) -> Channel:
    """Returns the channel of a configuration. Raises `CasemateError` if no machine can have this channel."""
    _check_protocol(keys)
    organisation = _organisation(keys)
    channels = keys.integer("system.channels", 1)
    queue = keys.integer("system.trans_queue_size", 32)
    if keys.truth("system.unified_queue", default=False):
        keys.changed("system.unified_queue", "reads and writes have a queue each, of trans_queue_size")
    order, lines = _map(keys, organisation, channels)
    found = Channel(
        clock=1000 / keys.positive("timing.tCK", "1.0", "nanoseconds"), channels=channels,
        organisation=organisation, timing=_timing(keys),
        read_queue=queue, write_queue=queue, drain_start=queue, drain_stop=0,
        page_policy=_page_policy(keys), address_map=order, scheduler='"fr-fcfs"', interleave_lines=lines,
    )  # fmt: skip
    _check_refresh_policy(keys)
    keys.rest(lambda key: _reason(keys, key))
    return found


def _check_protocol(keys: IniKeys) -> None:
    """Raises `CasemateError` for a protocol that no machine models."""
    key = "dram_structure.protocol"
    protocol = keys.text(key, "DDR3")
    if protocol not in PROTOCOLS:
        raise CasemateError(
            f"{keys.source}: {key} is {protocol}{hint(protocol, PROTOCOLS, ALMOST_THE_SAME)}: expected "
            f"{' or '.join(PROTOCOLS)}, the protocols that a machine models{keys.advice(key)}"
        )


SECTIONS = {
    "power": "a machine has no power or temperature of DRAM",
    "thermal": "a machine has no power or temperature of DRAM",
    "other": "about DRAMsim3's output",
    "hmc": "about HMC",
}
"""Reasons that a machine has no counterpart of a section."""

REASONS = {
    "ranks are refreshed whole": {"timing": "tRFCb tREFIb"},
    "a machine's ranks do not power down": {
        "timing": "tCKE tCKESR tXS tXP", "system": "enable_self_refresh sref_threshold",
    },
    "a machine has no second queue of commands": {"system": "cmd_queue_size queue_structure"},
    "only for GDDR, HBM or LPDDR": {"timing": "tPPD t32AW tRCDRD tRCDWR", "dram_structure": "hbm_dual_cmd"},
    "not modelled": {
        "timing": "tRPRE tWPRE ideal_memory_latency", "system": "write_buf_size aggressive_precharging_enabled",
        "dram_structure": "num_dies",
    },
}  # fmt: skip
"""Reasons that a machine has no counterpart of a key that DRAMsim3 reads, with the keys by section."""


def _reason(keys: IniKeys, key: str) -> str:
    """Returns the reason that a machine has no counterpart of a key."""
    section, _, name = key.rpartition(".")
    if reason := SECTIONS.get(section.lower()):
        return reason
    for reason, names in REASONS.items():
        if name.lower() in names.get(section.lower(), "").lower().split():
            return reason
    missing = [each.rpartition(".")[2] for each in keys.defaults]
    return f"DRAMsim3 does not read this key{hint(name, missing, LIKE_A_KEY)}"


LIKE_A_KEY = 0.7
"""Similarity above which an unknown key may be a misspelt one."""

REFRESH_POLICIES = ("RANK_LEVEL_STAGGERED", "RANK_LEVEL_SIMULTANEOUS", "BANK_LEVEL_STAGGERED")
"""Refresh policies of DRAMsim3; a machine has the first one."""


def _check_refresh_policy(keys: IniKeys) -> None:
    """Notes a policy that a machine lacks. Raises `CasemateError` for a policy that DRAMsim3 lacks."""
    key = "system.refresh_policy"
    policy = keys.text(key, REFRESH_POLICIES[0])
    if policy not in REFRESH_POLICIES:
        raise CasemateError(
            f"{keys.source}: {key} is '{policy}'{hint(policy, REFRESH_POLICIES)}: expected "
            f"{', '.join(REFRESH_POLICIES)}{keys.advice(key)}"
        )
    if policy != REFRESH_POLICIES[0]:
        keys.changed(key, f"ranks are refreshed one after another, not {policy}")


def _organisation(keys: IniKeys) -> dict[str, int]:
    groups, banks = (keys.integer(f"dram_structure.{key}", 2) for key in ("bankgroups", "banks_per_group"))
    if not keys.truth("dram_structure.bankgroup_enable", default=True):
        groups, banks = 1, banks * groups
    rows, columns = keys.integer("dram_structure.rows", 1 << 16), keys.integer("dram_structure.columns", 1 << 10)
    device, bus = keys.integer("dram_structure.device_width", 8), keys.integer("system.bus_width", 64)
    megabytes = keys.integer("system.channel_size", 1024)
    row_bytes = columns * bus // 8
    rank_bytes = row_bytes * rows * groups * banks
    if 0 in (device, row_bytes // LINE_BYTES, rank_bytes) or bus % device:
        raise CasemateError(f"{keys.source}: columns, bus_width and device_width make no rank of whole devices")
    ranks = max((megabytes << 20) // rank_bytes, 1)
    if ranks * rank_bytes != megabytes << 20:
        keys.changed(
            "system.channel_size", f"ranks have {rank_bytes >> 20} MB each, so the channel has {ranks}, as in DRAMsim3"
        )
    return {
        "ranks": ranks, "bank_groups": groups, "banks_per_group": banks, "rows": rows,
        "lines_per_row": row_bytes // LINE_BYTES,
    }  # fmt: skip


def _timing(keys: IniKeys) -> dict[str, int]:
    timing = {ours: _clocks(keys, *theirs) for ours, theirs in TIMING.items()}
    extra = keys.integer("timing.AL", 0)
    timing["cl"] = keys.integer("timing.CL", 12) + extra
    timing["cwl"] = keys.integer("timing.CWL", 12) + extra
    if extra:
        keys.changed("timing.AL", "added to cl and cwl")
    timing["trc"] = timing["tras"] + timing["trp"]
    burst, bus = keys.integer("dram_structure.BL", 8), keys.integer("system.bus_width", 64)
    timing["burst_clocks"] = LINE_BYTES * 8 // bus // 2
    if burst * bus // 8 != LINE_BYTES:
        keys.changed(
            "dram_structure.BL", f"a line of {LINE_BYTES} bytes takes {timing['burst_clocks']} clocks of the bus"
        )
    return timing


def _clocks(keys: IniKeys, name: str, default: int) -> int:
    """Returns a timing constraint in clocks, by its second name if the file has only that one."""
    key, second = f"timing.{name}", f"timing.{SECOND_NAMES.get(name, name)}"
    if second == key or keys.spelling(key) or not keys.spelling(second):
        return keys.integer(key, default)
    clocks = keys.integer(second, default)
    keys.changed(second, f"{clocks}, as {name}: DRAMsim3 itself ignores this name and has its default, {default}")
    return clocks


def _map(keys: IniKeys, organisation: dict[str, int], channels: int) -> tuple[str, int]:
    text = keys.text("system.address_mapping", "chrobabgraco")
    parts = [text[at : at + 2] for at in range(0, len(text), 2)]
    if sorted(parts) != sorted(FIELDS):
        raise CasemateError(
            f"{keys.source}: system.address_mapping is '{text}': expected each of {', '.join(FIELDS)} once, "
            f"as in rochrababgco{keys.advice('system.address_mapping')}"
        )
    sizes = {
        "channel": channels, "rank": organisation["ranks"], "group": organisation["bank_groups"],
        "bank": organisation["banks_per_group"], "row": organisation["rows"], "column": organisation["lines_per_row"],
    }  # fmt: skip
    return address_map(keys, "system.address_mapping", [FIELDS[part] for part in parts], sizes)


def _page_policy(keys: IniKeys) -> str:
    key = "system.row_buf_policy"
    policy = keys.text(key, "OPEN_PAGE")
    if policy == "CLOSE_PAGE":
        keys.changed(key, "rows close when no request has used or wants them for 1 clock")
        return "{ open-with-timeout = { idle_clocks = 1 } }"
    if policy != "OPEN_PAGE":
        keys.changed(key, f"rows stay open: DRAMsim3 closes them for CLOSE_PAGE only{keys.advice(key)}")
    return '"open"'
