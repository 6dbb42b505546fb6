"""The numbers that figures show, each as an expression in SQL over a run `r` and its baseline `b`."""

from casemate.report.figure import Measure

SLOWDOWN = Measure("slowdown", "time", "r.time_fs / b.time_fs", half="slowdown_half")
TRAFFIC = Measure("traffic", "memory traffic", "r.dram_bytes / nullif(b.dram_bytes, 0)", half="traffic_half")
IPC = Measure("ipc", "instructions per cycle", "r.ipc")
LATENCY = Measure("latency", "read latency (ns)", "r.read_latency_ns", 1)
PROTECTION = Measure("protection", "attacks stopped (%)", "r.protection", 1, varies=False)

TIME_CAUSES: dict[str, tuple[str, ...]] = {
    "at work": ("at_work",),
    "idle": ("idle", "switching"),
    "data": ("waiting_data", "waiting_on_chip", "waiting_write_back"),
    "memory queue": ("waiting_memory_queue",),
    "counter": ("waiting_counter",),
    "tree": ("waiting_tree",),
    "tag": ("waiting_tag", "waiting_bitmap"),
    "cipher and MAC": ("waiting_engine", "waiting_engine_queue"),
    "re-encryption": ("waiting_reencryption", "waiting_admission"),
    "persistence": ("waiting_persist_buffer", "waiting_fence"),
}
"""Causes of core cycles, each with the fields of `core_time` that it joins."""

READ_CAUSES: dict[str, tuple[str, ...]] = {
    "data": ("data", "on_chip"),
    "memory queue": ("memory_queue",),
    "counter": ("counter",),
    "tree": ("tree",),
    "tag": ("tag", "bitmap"),
    "cipher and MAC": ("engine", "engine_queue"),
    "re-encryption": ("reencryption", "admission"),
}
"""Causes of read latency, each with the fields of `reads.parts_ns` that it joins."""

KINDS = ("data", "counters", "tags", "nodes", "owners", "bitmaps", "records", "contexts")
"""Kinds of memory lines."""


def _sum(columns: list[str]) -> str:
    return "(" + " + ".join(f"r.{column}" for column in columns) + ")"


def _named(prefix: str, label: str) -> str:
    return f"{prefix}_{label.replace(' ', '_').replace('-', '_').lower()}"


def _core_cycles(label: str, fields: tuple[str, ...]) -> str:
    return _sum([f"core_time_{field}_cycles" for field in fields])


TIME = tuple(
    Measure(
        _named("time", label),
        label,
        f"{_core_cycles(label, fields)} / r.node_instructions / nullif(b.core_time_cycles / b.node_instructions, 0)",
    )
    for label, fields in TIME_CAUSES.items()
)
"""Core cycles by cause, as multiples of all cycles of the baseline for as many instructions."""

SHARES = tuple(
    Measure(_named("share", label), label, f"{_core_cycles(label, fields)} / nullif(r.core_time_cycles, 0)")
    for label, fields in TIME_CAUSES.items()
)
"""Core cycles by cause, as shares of the run's own cycles, for results without a baseline."""

READS = tuple(
    Measure(_named("reads", label), label, _sum([f"reads_parts_{field}_ns" for field in fields]), 1)
    for label, fields in READ_CAUSES.items()
)
"""Parts of the mean read latency by cause, in nanoseconds."""

LINES = tuple(
    Measure(
        f"lines_{kind}",
        kind,
        f"1000 * (r.protection_fetched_{kind} + r.protection_stored_{kind}) / nullif(r.node_instructions, 0)",
        2,
    )
    for kind in KINDS
)
"""Memory lines by kind, for every thousand instructions."""
