"""Wang, Kotra and Jian, "Eager Memory Cryptography in Caches", MICRO 2022: its evaluation.

All numbers here are the paper's own results, to stand beside ours, or parameters that it varies. Nothing in a run knows
them.
"""

import os
import sys
from itertools import pairwise

from casemate.reproduce.runs import Case, Changes, Recorded, Setting
from casemate.reproduce.study import Each, Figure, Means, Series, Study, Trend, Under
from casemate.results.run import Record

GROWN_C = "\n".join(
    f"int f{n}(int *a, int b) {{ int s = {n}; for (int i = 0; i < b; i++) "
    f"{{ if (a[i] % {n + 2} == {n % 7}) s += a[i] * {n % 13}; else s ^= a[(i * {n + 1}) % b]; }} return s; }}"
    for n in range(2_000)
)
"""What gcc compiles: functions that are alike and not the same."""

RANDOM_ROWS = (
    "create table t(a blob primary key, c text) without rowid;"
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000) "
    "insert into t select randomblob(8), hex(randomblob(16)) from n;"
)
"""What sqlite3 does: it enters rows in random order, each into another page."""

NUMBERS = "\n".join(str(number * 7919 % 65_537) for number in range(60_000))
"""What sort puts in order."""

_GRAPH = {"scale": 20, "degree": 8}
_JOIN: dict[str, object] = {"build": "32 MB", "probe": "64 MB", "record": "probe"}

CASES = (
    Case("bfs", True, "bfs", dict(_GRAPH), warm_up=3_500_000, counted=700_000),
    Case("pagerank", True, "pagerank", {"scale": 18, "degree": 16}, warm_up=4_000_000, counted=700_000),
    Case("components", True, "components", dict(_GRAPH), warm_up=2_500_000, counted=700_000),
    Case("coloring", True, "coloring", dict(_GRAPH), warm_up=2_500_000, counted=700_000),
    Case("hashjoin", True, "hashjoin", _JOIN, warm_up=500_000, counted=300_000),
    Case("btree", True, "btree", {"preload": 2_000_000}, warm_up=1_500_000, counted=700_000),
    Case("anneal", True, "anneal", warm_up=1_000_000, counted=500_000),
    Case("gups", True, "gups", {"footprint": "64 MB"}, warm_up=500_000, counted=300_000),
    Case("chase", True, "chase", {"footprint": "64 MB", "chains": 4}, warm_up=700_000, counted=300_000),
    Case("sqlite3", True, recorded=Recorded(("sqlite3", ":memory:", RANDOM_ROWS), 1_500_000_000)),
    Case("gcc", True, recorded=Recorded(("gcc", "-O2", "-c", "-o", "/dev/null", "{text}"), 900_000_000, GROWN_C)),
    Case("stream", False, "stream", {"footprint": "48 MB"}, warm_up=1_000_000, counted=500_000),
    Case("resident", False, "resident"),
    Case("gzip", False, recorded=Recorded(("gzip", "-9", "-c", os.path.realpath(sys.executable)), 20_000_000)),
    Case("sort", False, recorded=Recorded(("sort", "-n", "{text}"), 5_000_000, NUMBERS)),
)

_LIKE_MORPHABLE: Changes = {
    "design.parts.mac.place": "ecc",
    "design.parts.caches.counters": "64 KB",
    "design.parts.caches.nodes": "64 KB",
    "design.parts.caches.ways": 32,
}
_IN_LLC: Changes = {**_LIKE_MORPHABLE, "design.parts.caches.counters_in_llc": "true"}


def _counter_cache(kilobytes: int) -> Changes:
    """Half for counters and half for tree nodes, as the designs have it."""
    half = f"{kilobytes // 2} KB"
    return {"design.parts.caches.counters": half, "design.parts.caches.nodes": half}


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
    _setting("emcc-share20", "emcc", {"machine.at_l2.aes_share": 0.2}),
    _setting("emcc-share80", "emcc", {"machine.at_l2.aes_share": 0.8}),
    *_pair("cache256", _counter_cache(256)),
    *_pair("cache512", _counter_cache(512)),
    *_pair("8ch", _EIGHT_CHANNELS),
)


def _clock_mhz(record: Record, part: str) -> float:
    return float(record.configuration.machine.model_dump()[part]["clock_mhz"])


def _moved(record: Record) -> tuple[int, int, int]:
    """Lines of data moved for the program, lines of metadata, and lines moved because of overflows."""
    fetched, stored = record.protection.fetched, record.protection.stored
    overflows = 2 * record.renewals.lines
    data = fetched.data + stored.data - overflows
    metadata = sum(moved.counters + moved.nodes + moved.tags for moved in (fetched, stored))
    return data, metadata, overflows


def _overhead(setting: str) -> Series:
    def of(under: Under) -> float:
        data, metadata, overflows = _moved(under(setting))
        return 100 * (metadata + overflows) / max(data, 1)

    return Series(
        {"morphable-not-in-llc": "not in the LLC", "morphable": "also in the LLC"}[setting],
        of,
        {"morphable-not-in-llc": 105.0, "morphable": 59.0}[setting],
    )


def _found(place: str, setting: str, paper: float | None = None) -> Series:
    def of(under: Under) -> float:
        found = under(setting).counters_found
        assert found is not None, f"{setting} has counters"
        return (
            100
            * float(getattr(found, place))
            / max(found.in_l2 + found.at_controller + found.in_last_level + found.in_memory, 1)
        )

    names = {"at_controller": "hit in the controller", "in_last_level": "hit in the LLC", "in_memory": "missed"}
    return Series(names[place], of, paper)


def _where(setting: str, missed: float) -> tuple[Series, ...]:
    return (_found("at_controller", setting), _found("in_last_level", setting), _found("in_memory", setting, missed))


def _useless(under: Under) -> float:
    record = under("emcc")
    assert record.counters_in_l2 is not None
    return 100 * record.counters_in_l2.useless / max(record.node.l2_data_misses.lines, 1)


def _asked(setting: str, name: str, paper: float) -> Series:
    def of(under: Under) -> float:
        record = under(setting)
        assert record.counters_found is not None
        return 100 * record.counters_found.looked_up_in_last_level / max(record.node.l2_data_misses.lines, 1)

    return Series(name, of, paper)


def _utilisation(part: int, name: str) -> Series:
    def of(under: Under) -> float:
        record = under("morphable")
        # Two transfers of eight bytes a clock.
        peak_bytes_per_second = 16e6 * _clock_mhz(record, "dram")
        return 100 * 64 * _moved(record)[part] / (record.time_fs * 1e-15) / peak_bytes_per_second

    return Series(name, of)


def _relative(setting: str, name: str) -> Series:
    return Series(name, lambda under: under(setting).ipc / under("none").ipc)


def _gain(name: str, paper: float | None = None, suffix: str = "") -> Series:
    def of(under: Under) -> float:
        return 100 * (under(f"emcc{suffix}").ipc / under(f"morphable{suffix}").ipc - 1)

    return Series(name, of, paper)


def _miss_latency(setting: str, name: str) -> Series:
    def of(under: Under) -> float:
        record = under(setting)
        missed = record.node.l2_data_misses
        return 1e3 * missed.cycles / max(missed.lines, 1) / _clock_mhz(record, "node")

    return Series(name, of)


def _at_l2(setting: str, name: str, paper: float | None = None) -> Series:
    def of(under: Under) -> float:
        record = under(setting)
        return 100 * record.protection.released_in_l2 / max(record.llc.misses, 1)

    return Series(name, of, paper)


def _cache_misses(setting: str, name: str, paper: float | None = None) -> Series:
    def of(under: Under) -> float:
        found = under(setting).counters_found
        assert found is not None
        return (
            100
            * (found.in_last_level + found.in_memory)
            / max(found.at_controller + found.in_last_level + found.in_memory, 1)
        )

    return Series(name, of, paper)


def _queueing(setting: str, queue: str, name: str) -> Series:
    def of(under: Under) -> float:
        record = under(setting)
        waited = record.dram.read_queue if queue == "read" else record.dram.write_queue
        return 1e3 * waited.clocks / max(waited.requests, 1) / _clock_mhz(record, "dram")

    return Series(name, of)


def _invalidated(under: Under) -> float:
    copies = under("emcc").counters_in_l2
    assert copies is not None
    return 100 * copies.invalidated / max(copies.entered, 1)


_NO_NODES_IN_LLC = "The paper's LLC caches tree nodes as well; ours caches lines of counters."

FIGURES = (
    Figure(
        "2", "DRAM traffic beyond that of data, under Morphable", "%",
        (_overhead("morphable-not-in-llc"), _overhead("morphable")), ("morphable-not-in-llc", "morphable"),
        note=f"The paper's is of whole runs with counters warmed for 25 G instructions. {_NO_NODES_IN_LLC}",
    ),
    Figure(
        "6", "Where reads find their counters, LLC of 2 MB a core", "% of reads", _where("morphable", 19.0),
        ("morphable",),
    ),
    Figure(
        "7", "Where reads find their counters, LLC of 12 MB a core", "% of reads", _where("morphable-large-llc", 14.0),
        ("morphable-large-llc",), note="48 MB in 24 ways.",
    ),
    Figure("11", "Useless requests for counters", "% of L2's data misses", (Series("EMCC", _useless, 3.2),), ("emcc",)),
    Figure(
        "12", "Requests for counters to the LLC", "% of L2's data misses",
        (_asked("morphable", "serial", 31.4), _asked("emcc", "EMCC", 35.6)), ("morphable", "emcc"),
        note="The paper says 35.6 and 4.2 % more than the baseline; both are normalised to L2's misses, so 31.4.",
    ),
    Figure(
        "15", "Bandwidth in use under Morphable", "% of the peak",
        (_utilisation(0, "data"), _utilisation(1, "counters"), _utilisation(2, "overflows")), ("morphable",),
        note="Counters are new here: overflows come with age (see the conditions).",
    ),
    Figure(
        "16", "Performance", "of that without protection",
        (
            _relative("mono", "monolithic, not in the LLC"), _relative("mono-llc", "monolithic"),
            _relative("sc64", "SC-64, not in the LLC"), _relative("sc64-llc", "SC-64"),
            _relative("morphable-not-in-llc", "Morphable, not in the LLC"), _relative("morphable", "Morphable"),
            _relative("emcc", "EMCC"),
        ),
        ("none", "mono", "mono-llc", "sc64", "sc64-llc", "morphable-not-in-llc", "morphable", "emcc"), mean="geometric",
    ),
    Figure(
        "16b", "What EMCC gains over Morphable", "%",
        (_gain("EMCC", 7.0), _gain("without miss prediction", suffix="-unpredicted")),
        ("morphable", "emcc", "morphable-unpredicted", "emcc-unpredicted"),
    ),
    Figure(
        "17", "Latency of L2's data misses", "ns",
        (
            _miss_latency("none", "not secure"), _miss_latency("emcc", "EMCC"), _miss_latency("morphable", "Morphable"),
            _miss_latency("sc64-llc", "SC-64"),
        ),
        ("none", "emcc", "morphable", "sc64-llc"),
    ),
    Figure(
        "18", "What EMCC gains, by the latency of AES", "%",
        (_gain("14 ns", 7.0), _gain("20 ns", suffix="-aes20"), _gain("25 ns", 9.0, "-aes25")),
        ("morphable", "emcc", "morphable-aes20", "emcc-aes20", "morphable-aes25", "emcc-aes25"),
    ),
    Figure(
        "19", "Reads verified in L2s, by the share of AES units there", "% of reads",
        (_at_l2("emcc-share20", "20 %"), _at_l2("emcc", "50 %", 76.3), _at_l2("emcc-share80", "80 %")),
        ("emcc-share20", "emcc", "emcc-share80"),
    ),
    Figure(
        "20", "What EMCC gains, by the size of the counter cache", "%",
        (_gain("128 KB", 7.0), _gain("256 KB", suffix="-cache256"), _gain("512 KB", suffix="-cache512")),
        ("morphable", "emcc", "morphable-cache256", "emcc-cache256", "morphable-cache512", "emcc-cache512"),
    ),
    Figure(
        "20b", "Misses of the counter cache, by its size", "% of reads",
        (
            _cache_misses("morphable", "128 KB", 35.0), _cache_misses("morphable-cache256", "256 KB"),
            _cache_misses("morphable-cache512", "512 KB", 31.0),
        ),
        ("morphable", "morphable-cache256", "morphable-cache512"),
    ),
    Figure(
        "21", "What EMCC gains, by memory channels", "%", (_gain("1 channel", 7.0), _gain("8 channels", suffix="-8ch")),
        ("morphable", "emcc", "morphable-8ch", "emcc-8ch"),
    ),
    Figure(
        "22", "Queueing delay under EMCC", "ns",
        (
            _queueing("emcc", "read", "reads, 1 channel"), _queueing("emcc", "write", "writes, 1 channel"),
            _queueing("emcc-8ch", "read", "reads, 8 channels"), _queueing("emcc-8ch", "write", "writes, 8 channels"),
        ),
        ("emcc", "emcc-8ch"), note="Data and counters together.",
    ),
    Figure(
        "23", "Copies of counters in L2s that writes invalidate", "% of those that entered",
        (Series("EMCC", _invalidated, 1.7),), ("emcc",),
    ),
    Figure(
        "24", "Useless requests for counters, other workloads", "% of L2's data misses",
        (Series("EMCC", _useless, 1.0),), ("emcc",), irregular=False,
    ),
    Figure(
        "24b", "What EMCC gains over Morphable, other workloads", "%", (_gain("EMCC", 0.0),), ("morphable", "emcc"),
        irregular=False,
    ),
)  # fmt: skip


def _listed(values: Means, figure: str, names: tuple[str, ...], unit: str = "%") -> str:
    return ", ".join(f"{name} {values[figure][name]:.3g}{unit and ' ' + unit}" for name in names)


def _ordered(claim: str, figure: str, names: tuple[str, ...], unit: str = "%", strictly: bool = True) -> Trend:
    """The means of these series rise in this order."""

    def holds(means: Means, each: Each) -> tuple[bool, str]:
        rising = all(
            means[figure][one] < means[figure][next_one]
            or (not strictly and means[figure][one] == means[figure][next_one])
            for one, next_one in pairwise(names)
        )
        return rising, _listed(means, figure, names, unit)

    return Trend(claim, (figure,), holds)


def _orders_of_performance(means: Means, each: Each) -> tuple[bool, str]:
    sc64, morphable, emcc = (means["16"][name] for name in ("SC-64", "Morphable", "EMCC"))
    return sc64 <= morphable < emcc < 1, _listed(means, "16", ("SC-64", "Morphable", "EMCC"), "")


def _always_less_traffic(means: Means, each: Each) -> tuple[bool, str]:
    without, with_llc = each("2", "not in the LLC"), each("2", "also in the LLC")
    less = [case for case in without if with_llc[case] <= without[case]]
    other = [f"{case} {without[case]:.1f} -> {with_llc[case]:.1f} %" for case in without if case not in less]
    return not other, f"less on {len(less)} of {len(without)}" + (f"; more on {', '.join(other)}" if other else "")


def _gain_follows_misses(means: Means, each: Each) -> tuple[bool, str]:
    gains, hits = each("16b", "EMCC"), each("6", "hit in the controller")
    cases = sorted(gains)
    rank = _rank_correlation([gains[case] for case in cases], [-hits[case] for case in cases])
    return rank > 0, f"rank correlation {rank:.2f} over {len(cases)} workloads"


def _latency_saved_is_gained(means: Means, each: Each) -> tuple[bool, str]:
    gains, before, after = each("16b", "EMCC"), each("17", "Morphable"), each("17", "EMCC")
    cases = sorted(gains)
    saved = [1 - after[case] / before[case] for case in cases]
    rank = _rank_correlation([gains[case] for case in cases], saved)
    mean = means["17"]["Morphable"] - means["17"]["EMCC"]
    return mean > 0 and rank > 0, f"{mean:.1f} ns less in the mean; rank correlation with the gain {rank:.2f}"


def _little_more_is_asked(means: Means, each: Each) -> tuple[bool, str]:
    serial, eager = means["12"]["serial"], means["12"]["EMCC"]
    return serial <= eager < serial + 10, f"serial {serial:.1f} %, EMCC {eager:.1f} %"


def _slightly_less_with_a_larger_cache(means: Means, each: Each) -> tuple[bool, str]:
    names = ("128 KB", "256 KB", "512 KB")
    small, medium, large = (means["20"][name] for name in names)
    return small >= medium >= large, _listed(means, "20", names)


def _nothing_on_regular_work(means: Means, each: Each) -> tuple[bool, str]:
    gains = each("24b", "EMCC")
    told = ", ".join(f"{case} {gain:+.2f} %" for case, gain in gains.items())
    return all(abs(gain) < 1 for gain in gains.values()), told


def _queues_are_shorter(means: Means, each: Each) -> tuple[bool, str]:
    waits = means["22"]
    shorter = all(waits[f"{kind}, 8 channels"] < waits[f"{kind}, 1 channel"] for kind in ("reads", "writes"))
    writes_later = all(waits[f"writes, {count}"] > waits[f"reads, {count}"] for count in ("1 channel", "8 channels"))
    return shorter and writes_later, ", ".join(f"{name} {wait:.0f} ns" for name, wait in waits.items())


def _rank_correlation(ones: list[float], others: list[float]) -> float:
    """Spearman's; ranks alone matter, and none are equal."""

    def ranks(values: list[float]) -> list[int]:
        order = sorted(range(len(values)), key=values.__getitem__)
        return [order.index(place) for place in range(len(values))]

    count = len(ones)
    apart = sum((one - other) ** 2 for one, other in zip(ranks(ones), ranks(others), strict=True))
    return 1 - 6 * apart / (count * (count**2 - 1)) if count > 1 else 0.0


TRENDS = (
    Trend("SC-64 <= Morphable < EMCC < not secure on irregular work (Fig. 16)", ("16",), _orders_of_performance),
    Trend("Counters in the LLC always cut traffic (Fig. 2)", ("2",), _always_less_traffic),
    Trend("A larger LLC has fewer counter misses (Figs. 6, 7)", ("6", "7"), lambda means, each: (
        means["7"]["missed"] < means["6"]["missed"],
        f"{means['6']['missed']:.1f} % with 2 MB a core, {means['7']['missed']:.1f} % with 12 MB",
    )),
    Trend(
        "Gain ranks with reads that miss the controller's counters (Figs. 6, 16)", ("6", "16b"), _gain_follows_misses,
    ),
    Trend("L2's misses are faster, most where most is gained (Fig. 17)", ("16b", "17"), _latency_saved_is_gained),
    _ordered("The gain rises with the latency of AES (Fig. 18)", "18", ("14 ns", "20 ns", "25 ns")),
    _ordered("More units at L2s, more reads verified there (Fig. 19)", "19", ("20 %", "50 %", "80 %")),
    Trend("The gain falls slightly with a larger counter cache (Fig. 20)", ("20",), _slightly_less_with_a_larger_cache),
    _ordered("The gain rises with channels (Fig. 21)", "21", ("1 channel", "8 channels")),
    Trend(
        "Queues are shorter with more channels; writes wait longer than reads (Fig. 22)", ("22",), _queues_are_shorter,
    ),
    Trend("EMCC asks the LLC little more than the serial baseline (Fig. 12)", ("12",), _little_more_is_asked),
    Trend("Other workloads gain and lose next to nothing (section IV-F)", ("24b",), _nothing_on_regular_work),
)  # fmt: skip

CONDITIONS = (
    "Workloads are built-in kernels and programs of this computer, four copies each in memory of its own, 2 MB pages. "
    "The paper has GraphBIG with four threads on a graph of Facebook's kind, and four copies of SPEC's and PARSEC's.",
    "Each core runs 0.8 to 5 M instructions, of which the last 0.3 to 1 M are counted, from new counters on. The paper "
    "warms counters for 25 G instructions and counts 20 ms, so overflows are rarer here.",
    "L2s predict misses (XPT), which the paper expects in the common case; its methodology does not say whether they "
    "do. The gain without it is in figure 16b.",
    f"{_NO_NODES_IN_LLC} Copies of counters in L2 take no place of data.",
)

STUDY = Study(
    name="emcc",
    paper='Wang, Kotra and Jian, "Eager Memory Cryptography in Caches", MICRO 2022',
    machine="emcc-4core",
    copies=4,
    conditions=CONDITIONS,
    cases=CASES,
    settings=SETTINGS,
    figures=FIGURES,
    trends=TRENDS,
)
