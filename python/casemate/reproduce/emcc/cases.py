"""Workloads and settings that approximate those of the EMCC paper."""

import os
import sys

from casemate.reproduce.inputs import NUMBERS
from casemate.reproduce.programs import PROGRAMS, later, program
from casemate.reproduce.runs import Case, Changes, Setting

IRREGULAR = "irregular"
"""Group of workloads with reads that often miss the caches of encryption counters."""
REGULAR = "regular"


def _graph(name: str, skip: int, warm_up: int, counted: int, degree: int = 1) -> Case:
    """A graph kernel on four million vertices, measured in the midst of its work.

    The measured part begins long after the kernel has cleared all vertices, since write-backs of the cleared lines
    would disturb it. The ends of edges are drawn uniformly: if a few vertices had most of the edges, the LLC would hold
    these vertices.
    """
    settings: dict[str, object] = {"scale": 22, "degree": degree, "ends": "uniform", "skip": skip}
    return Case(name, IRREGULAR, name, settings, warm_up=warm_up, counted=counted)


_JOIN: dict[str, object] = {"build": "32 MB", "probe": "64 MB", "record": "probe"}

_SQLITE3 = later(PROGRAMS["sqlite3"], 1_500_000_000)
_GZIP = program("gzip", ("gzip", "-9", "-c", os.path.realpath(sys.executable)), 20_000_000)
_SORT = program("coreutils", ("sort", "-n", "{text}"), 5_000_000, NUMBERS)

CASES = (
    # The warm-ups of workloads with frequent misses fetch about 196,608 lines, as many as the LLC and the L2s hold
    # together.
    _graph("bfs", skip=25_000_000, warm_up=300_000, counted=150_000),
    _graph("pagerank", skip=60_000_000, warm_up=400_000, counted=200_000, degree=2),
    _graph("components", skip=25_000_000, warm_up=800_000, counted=400_000),
    _graph("coloring", skip=25_000_000, warm_up=600_000, counted=300_000),
    Case("hashjoin", IRREGULAR, "hashjoin", _JOIN, warm_up=300_000, counted=150_000),
    Case("btree", IRREGULAR, "btree", {"preload": 4_000_000}, warm_up=900_000, counted=400_000),
    Case("anneal", IRREGULAR, "anneal", warm_up=700_000, counted=300_000),
    Case("gups", IRREGULAR, "gups", {"footprint": "64 MB"}, warm_up=500_000, counted=300_000),
    Case("chase", IRREGULAR, "chase", {"footprint": "64 MB", "chains": 4}, warm_up=350_000, counted=150_000),
    Case("sqlite3", IRREGULAR, recorded=_SQLITE3),
    Case("gcc", IRREGULAR, recorded=PROGRAMS["gcc"]),
    Case("stream", REGULAR, "stream", {"footprint": "48 MB"}, warm_up=1_000_000, counted=4_000_000),
    Case("resident", REGULAR, "resident"),
    Case("gzip", REGULAR, recorded=_GZIP),
    Case("sort", REGULAR, recorded=_SORT),
)

_LIKE_MORPHABLE: Changes = {
    "design.parts.mac.place": "ecc",
    "design.parts.caches.unified": "128 KB",
    "design.parts.caches.ways": 32,
}
_IN_LLC: Changes = {
    **_LIKE_MORPHABLE,
    "design.parts.caches.counters_in_llc": "true",
    "design.parts.caches.nodes_in_llc": "true",
}


def _counter_cache(kilobytes: int) -> Changes:
    """Returns the change to a unified cache of this size for counters and tree nodes, as in the designs."""
    return {"design.parts.caches.unified": f"{kilobytes} KB"}


_EIGHT_CHANNELS: Changes = {"machine.memory.channels": 8, "machine.memory.interleave.lines": 4}
_LARGE_LLC: Changes = {"machine.llc.size": "48 MB", "machine.llc.ways": 24}


_PREDICTED: Changes = {"machine.llc.miss_prediction": "xpt"}


def _setting(name: str, design: str, changes: Changes | None = None) -> Setting:
    return Setting(name, design, {**_PREDICTED, **(changes or {})})


def _pair(name: str, changes: Changes) -> tuple[Setting, Setting]:
    return _setting(f"morphable-{name}", "morphable-llc", changes), _setting(f"emcc-{name}", "emcc", changes)


SETTINGS = (
    _setting("none", "none"),
    _setting("mono", "mono-tree", _LIKE_MORPHABLE),
    _setting("mono-llc", "mono-tree", _IN_LLC),
    _setting("sc64", "sc64-tree", _LIKE_MORPHABLE),
    _setting("sc64-llc", "sc64-tree", _IN_LLC),
    _setting("morphable-not-in-llc", "morphable-ecc"),
    _setting("morphable", "morphable-llc"),
    _setting("emcc", "emcc"),
    Setting("morphable-unpredicted", "morphable-llc"),
    Setting("emcc-unpredicted", "emcc"),
    _setting("morphable-large-llc", "morphable-llc", _LARGE_LLC),
    *_pair("aes20", {"machine.engines.aes.latency_ns": 20}),
    *_pair("aes25", {"machine.engines.aes.latency_ns": 25}),
    # With this patience, L2s never find their AES units too busy.
    _setting("emcc-patient", "emcc", {"machine.at_l2.patience_ns": 100_000}),
    _setting("emcc-seeing", "emcc", {"machine.at_l2.sees_controller": "true"}),
    _setting("emcc-share20", "emcc", {"machine.at_l2.aes_share": 0.2}),
    _setting("emcc-share80", "emcc", {"machine.at_l2.aes_share": 0.8}),
    *_pair("units160", {"machine.engines.aes.units": 160}),
    *_pair("cache256", _counter_cache(256)),
    *_pair("cache512", _counter_cache(512)),
    *_pair("8ch", _EIGHT_CHANNELS),
)
