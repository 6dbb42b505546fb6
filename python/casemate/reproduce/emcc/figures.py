"""Figures of the EMCC paper as functions of records, with the means in the paper's text."""

from casemate.reproduce.emcc.cases import IRREGULAR, REGULAR
from casemate.reproduce.measures import clock_mhz, share
from casemate.reproduce.study import Figure, Measure, Series, Under, of_run
from casemate.schemas.counters import CounterCopies, CountersFound
from casemate.schemas.dram import Queue
from casemate.schemas.run import Record


def _speed(record: Record) -> float:
    """Sum of the cores' instructions per cycle, each over that core's cycles, so that the core that ends last does not
    lower the figures of the other cores.
    """
    return sum(core.instructions / max(core.cycles, 1) for core in record.cores)


def _moved(record: Record) -> tuple[int, int, int]:
    """Returns the numbers of lines that crossed the memory bus: data for the program, metadata, and re-encryption after
    overflows.
    """
    fetched, stored = record.protection.fetched, record.protection.stored
    overflows = 2 * record.renewals.lines
    data = fetched.data + stored.data - overflows
    metadata = sum(moved.counters + moved.nodes + moved.tags for moved in (fetched, stored))
    return data, metadata, overflows


def _counters_found(record: Record) -> CountersFound:
    found = record.counters_found
    assert found is not None, f"{record.design} has counters"
    return found


def _copies(record: Record) -> CounterCopies:
    copies = record.counters_in_l2
    assert copies is not None, f"{record.design} keeps copies of counters in L2s"
    return copies


def _llc_requests(record: Record) -> int:
    """Requests of L2s to the LLC, for instructions, data or prefetches: the paper's data accesses to the LLC."""
    llc = record.llc
    return llc.hits + llc.hits_on_the_way_out + llc.from_cores + llc.misses


def _overhead(record: Record) -> float:
    data, metadata, overflows = _moved(record)
    return share(metadata + overflows, data)


def _reads(found: CountersFound) -> int:
    return found.in_l2 + found.at_controller + found.in_last_level + found.in_memory


def _found_at_controller(record: Record) -> float:
    found = _counters_found(record)
    return share(found.at_controller, _reads(found))


def _found_in_llc(record: Record) -> float:
    found = _counters_found(record)
    return share(found.in_last_level, _reads(found))


def _missed(record: Record) -> float:
    found = _counters_found(record)
    return share(found.in_memory, _reads(found))


def _missed_at_controller(record: Record) -> float:
    found = _counters_found(record)
    return share(found.in_last_level + found.in_memory, _reads(found) - found.in_l2)


def _useless(record: Record) -> float:
    return share(_copies(record).useless, _llc_requests(record))


def _requests(record: Record) -> float:
    return share(_counters_found(record).looked_up_in_last_level, _llc_requests(record))


def _invalidated(record: Record) -> float:
    return share(_copies(record).invalidated, _copies(record).entered)


def _verified_at_l2(record: Record) -> float:
    return share(record.protection.released_in_l2, record.llc.misses)


def _llc_misses(record: Record) -> float:
    return share(record.llc.misses, _llc_requests(record))


def _in_use(record: Record) -> float:
    return sum(_utilisation(part)(record) for part in range(3))


def _utilisation(part: int) -> Measure:
    def measure(record: Record) -> float:
        # A DDR bus moves eight bytes twice per memory clock: 16 bytes.
        peak_bytes_per_second = 16e6 * clock_mhz(record, "dram")
        return share(64 * _moved(record)[part] / (record.time_fs * 1e-15), peak_bytes_per_second)

    return measure


def _miss_latency_ns(record: Record) -> float:
    missed = record.node.l2_data_misses
    return 1e3 * missed.cycles / max(missed.lines, 1) / clock_mhz(record, "node")


def _waited_ns(queue: Queue, record: Record) -> float:
    return 1e3 * queue.clocks / max(queue.requests, 1) / clock_mhz(record, "dram")


def _read_wait_ns(record: Record) -> float:
    return _waited_ns(record.dram.read_queue, record)


def _write_wait_ns(record: Record) -> float:
    return _waited_ns(record.dram.write_queue, record)


def _where(setting: str, missed: float) -> tuple[Series, ...]:
    return (
        of_run("hit in the controller", _found_at_controller, setting),
        of_run("hit in the LLC", _found_in_llc, setting),
        of_run("missed", _missed, setting, missed),
    )


def _relative(setting: str, name: str) -> Series:
    return Series(name, lambda under: _speed(under(setting)) / _speed(under("none")))


def _gain(name: str, paper: float | None = None, suffix: str = "", baseline: str | None = None) -> Series:
    without = f"morphable{suffix}" if baseline is None else baseline

    def of(under: Under) -> float:
        return 100 * (_speed(under(f"emcc{suffix}")) / _speed(under(without)) - 1)

    return Series(name, of, paper)


def _latency_saved_ns(under: Under) -> float:
    return _miss_latency_ns(under("morphable")) - _miss_latency_ns(under("emcc"))


_PINTOOL = (
    "The paper's is from a Pintool model without time, so no L2 leaves a line to the controller. In a timed run an L2 "
    "does, and both request that line's counters."
)

SOME = ("bfs", "hashjoin", "anneal", "sqlite3")
"""Cases, one of each kind, for the figures that need separate settings; with all cases the study would take hours."""

FIGURES = (
    Figure(
        "2", "DRAM traffic beyond that of data, under Morphable", "%",
        (
            of_run("not in the LLC", _overhead, "morphable-not-in-llc", 105.0),
            of_run("also in the LLC", _overhead, "morphable", 59.0),
        ), ("morphable-not-in-llc", "morphable"), groups=(IRREGULAR,),
        note="The paper's is of whole runs with counters warmed for 25 G instructions.",
    ),
    Figure(
        "6", "Where reads find their counters, LLC of 2 MB a core", "% of reads", _where("morphable", 19.0),
        ("morphable",), groups=(IRREGULAR,),
    ),
    Figure(
        "7", "Where reads find their counters, LLC of 12 MB a core", "% of reads", _where("morphable-large-llc", 14.0),
        ("morphable-large-llc",), cases=SOME, note="48 MB in 24 ways.",
    ),
    Figure(
        "11", "Useless requests for counters", "% of lines asked of the LLC",
        (
            of_run("EMCC, nothing left to the controller", _useless, "emcc-patient", 3.2),
            of_run("EMCC", _useless, "emcc"),
        ),
        ("emcc", "emcc-patient"), cases=SOME, note=_PINTOOL,
    ),
    Figure(
        "12", "Requests for counters to the LLC", "% of lines asked of the LLC",
        (
            of_run("serial", _requests, "morphable", 31.4),
            of_run("EMCC, nothing left to the controller", _requests, "emcc-patient", 35.6),
            of_run("EMCC", _requests, "emcc"),
        ),
        ("morphable", "emcc", "emcc-patient"),
        cases=SOME,
        note=f"{_PINTOOL} It says 35.6 and 4.2 % more than the baseline; both have the same denominator, so 31.4.",
    ),
    Figure(
        "15", "Bandwidth in use under Morphable", "% of the peak",
        (
            of_run("data", _utilisation(0), "morphable"),
            of_run("counters", _utilisation(1), "morphable"),
            of_run("overflows", _utilisation(2), "morphable"),
        ),
        ("morphable",), groups=(IRREGULAR,),
        note="Overflows are those of counters that begin in the middle of a life (see the conditions).",
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
        groups=(IRREGULAR,),
    ),
    Figure(
        "16b", "What EMCC gains over Morphable", "%",
        (_gain("EMCC", 7.0), _gain("without miss prediction", suffix="-unpredicted")),
        ("morphable", "emcc", "morphable-unpredicted", "emcc-unpredicted"), groups=(IRREGULAR,),
    ),
    Figure(
        "16c", "What explains the gain", "%, and ns where it says so",
        (
            _gain("gain"),
            of_run("misses of the LLC", _llc_misses, "morphable"),
            of_run("counters not in the controller", _missed_at_controller, "morphable"),
            of_run("verified in L2s", _verified_at_l2, "emcc"),
            Series("latency saved (ns)", _latency_saved_ns),
            of_run("copies invalidated", _invalidated, "emcc"),
            of_run("bandwidth in use", _in_use, "morphable"),
        ),
        ("morphable", "emcc"), groups=(IRREGULAR,),
        note="Not the paper's. Shares, in this order, of: speed, lines requested from the LLC, reads, reads, L2's data "
        "misses, copies that entered L2s, the peak; under Morphable, except for rows that only EMCC has.",
    ),
    Figure(
        "16d", "What EMCC gains if L2s see the load of the controller", "%",
        (_gain("EMCC"), _gain("L2s see the controller", suffix="-seeing", baseline="morphable")),
        ("morphable", "emcc", "emcc-seeing"),
        note="Not the paper's, in which an L2 sees only the queue of its own AES units. Here it takes fewer lines "
        "while reads wait for memory, and more while the controller's units are busy (at_l2.sees_controller).",
    ),
    Figure(
        "17", "Latency of L2's data misses", "ns",
        (
            of_run("not secure", _miss_latency_ns, "none"),
            of_run("EMCC", _miss_latency_ns, "emcc"),
            of_run("Morphable", _miss_latency_ns, "morphable"),
            of_run("SC-64", _miss_latency_ns, "sc64-llc"),
        ),
        ("none", "emcc", "morphable", "sc64-llc"), groups=(IRREGULAR,),
    ),
    Figure(
        "18", "What EMCC gains, by the latency of AES", "%",
        (_gain("14 ns", 7.0), _gain("20 ns", suffix="-aes20"), _gain("25 ns", 9.0, "-aes25")),
        ("morphable", "emcc", "morphable-aes20", "emcc-aes20", "morphable-aes25", "emcc-aes25"), cases=SOME,
    ),
    Figure(
        "19", "Reads verified in L2s, by the share of AES units there", "% of reads",
        (
            of_run("20 %", _verified_at_l2, "emcc-share20"),
            of_run("50 %", _verified_at_l2, "emcc", 76.3),
            of_run("80 %", _verified_at_l2, "emcc-share80"),
        ),
        ("emcc-share20", "emcc", "emcc-share80"), cases=SOME,
    ),
    Figure(
        "20", "What EMCC gains, by the size of the counter cache", "%",
        (_gain("128 KB", 7.0), _gain("256 KB", suffix="-cache256"), _gain("512 KB", suffix="-cache512")),
        ("morphable", "emcc", "morphable-cache256", "emcc-cache256", "morphable-cache512", "emcc-cache512"), cases=SOME,
    ),
    Figure(
        "20b", "Misses of the counter cache, by its size", "% of reads",
        (
            of_run("128 KB", _missed_at_controller, "morphable", 35.0),
            of_run("256 KB", _missed_at_controller, "morphable-cache256"),
            of_run("512 KB", _missed_at_controller, "morphable-cache512", 31.0),
        ),
        ("morphable", "morphable-cache256", "morphable-cache512"), cases=SOME,
    ),
    Figure(
        "21", "What EMCC gains, by memory channels", "%", (_gain("1 channel", 7.0), _gain("8 channels", suffix="-8ch")),
        ("morphable", "emcc", "morphable-8ch", "emcc-8ch"), cases=SOME,
    ),
    Figure(
        "22", "Queueing delay under EMCC", "ns",
        (
            of_run("reads, 1 channel", _read_wait_ns, "emcc"), of_run("writes, 1 channel", _write_wait_ns, "emcc"),
            of_run("reads, 8 channels", _read_wait_ns, "emcc-8ch"),
            of_run("writes, 8 channels", _write_wait_ns, "emcc-8ch"),
        ),
        ("emcc", "emcc-8ch"), cases=SOME, note="Data and counters together.",
    ),
    Figure(
        "23", "Copies of counters in L2s that writes invalidate", "% of those that entered",
        (of_run("EMCC", _invalidated, "emcc", 1.7),), ("emcc",), groups=(IRREGULAR,),
    ),
    Figure(
        "24", "Useless requests for counters, other workloads", "% of lines asked of the LLC",
        (of_run("EMCC", _useless, "emcc", 1.0),), ("emcc",), groups=(REGULAR,),
    ),
    Figure(
        "24b", "What EMCC gains over Morphable, other workloads", "%",
        (_gain("EMCC", 0.0), _gain("with four times the AES units", suffix="-units160")),
        ("morphable", "emcc", "morphable-units160", "emcc-units160"), groups=(REGULAR,),
    ),
)  # fmt: skip
