"""The EMCC paper's figures as functions of records, each with what the paper's text says of its mean."""

from casemate.reproduce.study import Figure, Series, Under
from casemate.results.run import Record


def _clock_mhz(record: Record, part: str) -> float:
    return float(record.configuration.machine.model_dump()[part]["clock_mhz"])


def _speed(record: Record) -> float:
    """Instructions per cycle of each core in its own time, summed: who ends last does not count for all."""
    return sum(core.instructions / max(core.cycles, 1) for core in record.cores)


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


def _asked_of_llc(record: Record) -> int:
    """Lines that L2s ask the LLC for, be it for an instruction or ahead of it: the paper's data accesses to the LLC."""
    llc = record.llc
    return llc.hits + llc.hits_on_the_way_out + llc.from_cores + llc.misses


def _useless(setting: str, name: str, paper: float | None = None) -> Series:
    def of(under: Under) -> float:
        record = under(setting)
        assert record.counters_in_l2 is not None
        return 100 * record.counters_in_l2.useless / max(_asked_of_llc(record), 1)

    return Series(name, of, paper)


def _asked(setting: str, name: str, paper: float | None = None) -> Series:
    def of(under: Under) -> float:
        record = under(setting)
        assert record.counters_found is not None
        return 100 * record.counters_found.looked_up_in_last_level / max(_asked_of_llc(record), 1)

    return Series(name, of, paper)


def _utilisation(part: int, name: str) -> Series:
    def of(under: Under) -> float:
        record = under("morphable")
        # Two transfers of eight bytes a clock.
        peak_bytes_per_second = 16e6 * _clock_mhz(record, "dram")
        return 100 * 64 * _moved(record)[part] / (record.time_fs * 1e-15) / peak_bytes_per_second

    return Series(name, of)


def _relative(setting: str, name: str) -> Series:
    return Series(name, lambda under: _speed(under(setting)) / _speed(under("none")))


def _gain(name: str, paper: float | None = None, suffix: str = "") -> Series:
    def of(under: Under) -> float:
        return 100 * (_speed(under(f"emcc{suffix}")) / _speed(under(f"morphable{suffix}")) - 1)

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


NO_NODES_IN_LLC = "The paper's LLC caches tree nodes as well; ours caches lines of counters."

_PINTOOL = (
    "The paper's is of a model without time in Pintool, so no L2 leaves a line to the controller. In a timed run it "
    "does, and both ask for that line's counters."
)

FIGURES = (
    Figure(
        "2", "DRAM traffic beyond that of data, under Morphable", "%",
        (_overhead("morphable-not-in-llc"), _overhead("morphable")), ("morphable-not-in-llc", "morphable"),
        note=f"The paper's is of whole runs with counters warmed for 25 G instructions. {NO_NODES_IN_LLC}",
    ),
    Figure(
        "6", "Where reads find their counters, LLC of 2 MB a core", "% of reads", _where("morphable", 19.0),
        ("morphable",),
    ),
    Figure(
        "7", "Where reads find their counters, LLC of 12 MB a core", "% of reads", _where("morphable-large-llc", 14.0),
        ("morphable-large-llc",), note="48 MB in 24 ways.",
    ),
    Figure(
        "11", "Useless requests for counters", "% of lines asked of the LLC",
        (_useless("emcc-patient", "EMCC, nothing left to the controller", 3.2), _useless("emcc", "EMCC")),
        ("emcc", "emcc-patient"), note=_PINTOOL,
    ),
    Figure(
        "12", "Requests for counters to the LLC", "% of lines asked of the LLC",
        (
            _asked("morphable", "serial", 31.4), _asked("emcc-patient", "EMCC, nothing left to the controller", 35.6),
            _asked("emcc", "EMCC"),
        ),
        ("morphable", "emcc", "emcc-patient"),
        note=f"{_PINTOOL} It says 35.6 and 4.2 % more than the baseline; both have the same denominator, so 31.4.",
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
        "24", "Useless requests for counters, other workloads", "% of lines asked of the LLC",
        (_useless("emcc", "EMCC", 1.0),), ("emcc",), irregular=False,
    ),
    Figure(
        "24b", "What EMCC gains over Morphable, other workloads", "%",
        (_gain("EMCC", 0.0), _gain("with four times the AES units", suffix="-units160")),
        ("morphable", "emcc", "morphable-units160", "emcc-units160"), irregular=False,
    ),
)  # fmt: skip
