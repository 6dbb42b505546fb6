"""Designs of the frequent-value study, and changes of designs and machine. For each change, the study compares a design
with speculation with a baseline: the same design without speculation.
"""

from casemate.reproduce.runs import Changes, Setting

_LARGE_L2: Changes = {"machine.node.l2.size": "1 MB", "machine.node.l2.latency_cycles": 8}
_SLOW_CORE: Changes = {"machine.dram.clock_mhz": "250"}
_FAST_CORE: Changes = {"machine.dram.clock_mhz": "500/3 MHz"}
"""Memory buses of 250 and 166.7 MHz with a core of 1 GHz: clock ratios of one to four, and one to six."""
_ENGINES: Changes = {"machine.engines.aes.interval_ns": 0.02, "machine.engines.tdes.interval_ns": 0.02}
"""AES and Triple-DES bandwidth that no table of values exceeds: that of 320 or 400 times as many pipelines."""
_STAGES: Changes = {"machine.engines.aes.interval_ns": 1.0}
"""AES pipelines of section 4, with 4 to 7 stages in each of 14 rounds. The unit accepts a block every 0.7 to 1.2 ns,
with a latency of 65 ns.
"""

_OTHER_VALUES = [0x5DEE_CE66_D1CE_4E5B * (2 * index + 1) % 2**63 for index in range(8)]
_IN_VAIN: Changes = {
    "design.parts.speculation.tracking": "fixed",
    "design.parts.speculation.list": str(_OTHER_VALUES),
}
"""A table of eight values that no program has."""

_BITMAPS: Changes = {"design.parts.caches.bitmaps": "8 MB"}
"""Bitmap cache for the bitmaps of 384 MB of data, so that the controller fetches each bitmap only once."""

_WITHOUT: Changes = {"design.parts.speculation.values": 0}

BASELINES = {"fvs-tdes": "ocb-tdes", "fvs-aes": "ocb-aes", "fvs-aes-plain": "ocb-aes", "fvs-counter": "counter"}
"""Baseline of each design with speculation."""


def _both(design: str, change: str = "", changes: Changes | None = None) -> tuple[Setting, Setting]:
    """Returns the settings of a baseline and of its design, under the same change."""
    baseline = BASELINES[design]
    without = Setting(
        f"{baseline}{change}",
        design if baseline == "counter" else baseline,
        {**(changes or {}), **(_WITHOUT if baseline == "counter" else {})},
    )
    return without, Setting(f"{design}{change}", design, changes or {})


def _values(number: int, change: str = "", changes: Changes | None = None) -> Setting:
    more: Changes = {"design.parts.speculation.values": number, **(changes or {})}
    return Setting(f"fvs-tdes-{number}{change}", "fvs-tdes", more)


SETTINGS = (
    *_both("fvs-tdes"), *_both("fvs-aes"), *_both("fvs-counter"),
    Setting("fvs-aes-plain", "fvs-aes-plain"), Setting("fvs-aes-plain-engines", "fvs-aes-plain", _ENGINES),
    Setting("fvs-aes-loose", "fvs-aes-loose"), Setting("fvs-aes-loose-engines", "fvs-aes-loose", _ENGINES),
    Setting("fvs-aes-bitmaps", "fvs-aes", _BITMAPS),
    Setting("fvs-aes-bitmaps-engines", "fvs-aes", {**_BITMAPS, **_ENGINES}),
    *_both("fvs-tdes", "-1mb", _LARGE_L2), *_both("fvs-aes", "-1mb", _LARGE_L2),
    *_both("fvs-counter", "-1mb", _LARGE_L2),
    *_both("fvs-tdes", "-1to4", _SLOW_CORE), *_both("fvs-tdes", "-1to6", _FAST_CORE),
    *_both("fvs-aes", "-1to4", _SLOW_CORE), *_both("fvs-aes", "-1to6", _FAST_CORE),
    _values(16), _values(32),
    *_both("fvs-tdes", "-engines", _ENGINES), *_both("fvs-aes", "-engines", _ENGINES),
    *_both("fvs-counter", "-engines", _ENGINES), *_both("fvs-aes", "-stages", _STAGES),
    *_both("fvs-aes", "-1mb-engines", {**_LARGE_L2, **_ENGINES}),
    *_both("fvs-aes", "-1to4-engines", {**_SLOW_CORE, **_ENGINES}),
    *_both("fvs-aes", "-1to6-engines", {**_FAST_CORE, **_ENGINES}),
    _values(16, "-engines", _ENGINES), _values(32, "-engines", _ENGINES),
    Setting("fvs-tdes-vain", "fvs-tdes", _IN_VAIN), Setting("fvs-aes-vain", "fvs-aes-plain", _IN_VAIN),
    Setting("fvs-tdes-vain-engines", "fvs-tdes", {**_IN_VAIN, **_ENGINES}),
    Setting("fvs-aes-vain-engines", "fvs-aes-plain", {**_IN_VAIN, **_ENGINES}),
)  # fmt: skip
