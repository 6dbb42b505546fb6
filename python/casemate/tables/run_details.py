"""Causes of a design's cost: breakdowns of cycles and of read latency, and statistics of caches and memory."""

from collections.abc import Callable
from typing import Literal

from rich.text import Text

from casemate.schemas.epochs import Epochs
from casemate.schemas.figures import LEVELS, METADATA, bandwidth_gb_per_s, hit_rate, mpki, per_kilo
from casemate.schemas.moving import Moving
from casemate.schemas.persist_buffer import PersistBuffer
from casemate.schemas.predicted import WORDS_PER_LINE, Predictable, Speculation
from casemate.schemas.run import Record, RunResults

Cell = str | Text
Question = tuple[str, Callable[[Record], Cell]]
"""A row of the table: a question, and each record's answer."""


PARTS = (
    ("write-backs", "write_back"),
    ("admission", "admission"),
    ("re-encryption", "reencryption"),
    ("memory queue", "memory_queue"),
    ("data", "data"),
    ("counter", "counter"),
    ("tree", "tree"),
    ("tag", "tag"),
    ("bitmap", "bitmap"),
    ("queue for cipher and MAC", "engine_queue"),
    ("cipher and MAC", "engine"),
    ("on the chip", "on_chip"),
    ("persist buffer", "persist_buffer"),
    ("persist fences", "fence"),
)
"""Waits of a read, with their names in the record."""

CAUSES = (("cores at work", "at_work"), ("idle", "idle"), ("process switches", "switching"), *PARTS)
"""Causes of a core's cycles, with their names in the record."""

SMALLEST_SHARE = 0.0005
"""Smallest share of the baseline's cycles that the table shows."""


def largest(results: RunResults, record: Record) -> str:
    """Returns the cause with the largest part of a design's slowdown, or of its gain if it is faster; empty without a
    difference.
    """
    baseline = results.baseline_of(record)
    if record is baseline or not results.is_comparable(record):
        return ""
    now, before = (results.by_cause(one) for one in (record, baseline))
    longer = {said: now[cause] - before[cause] for said, cause in CAUSES}
    is_slower = sum(longer.values()) >= 0
    said = max(longer, key=lambda said: longer[said] if is_slower else -longer[said])
    return said if abs(longer[said]) >= SMALLEST_SHARE else ""


def details(results: RunResults, first: Record) -> list[tuple[str, list[Question]]]:
    """Returns all breakdowns of the cost."""
    return [
        (f"cycles, in % of {results.baseline_of(first).design}'s", _time(results)),
        ("reads at the controller", _reads(results)),
        ("caches and memory", _caches()),
    ]


def _time(results: RunResults) -> list[Question]:
    """Breakdown of the cores' cycles by cause, in percent of the baseline's cycles, followed by the difference from the
    baseline.
    """

    def of(cause: str) -> Callable[[Record], str]:
        def answer(record: Record) -> str:
            baseline = results.baseline_of(record)
            if not results.is_comparable(record):
                return "-"
            share, before = (results.by_cause(one)[cause] for one in (record, baseline))
            if max(share, before) < SMALLEST_SHARE:
                return ""
            return f"{100 * share:.1f} %" + ("" if record is baseline else f" {100 * (share - before):+7.1f}")

        return answer

    shown = [
        (said, cause)
        for said, cause in CAUSES
        if any(results.by_cause(record)[cause] >= SMALLEST_SHARE for record in results.records)
    ]
    return [(said, of(cause)) for said, cause in shown]


def _reads(results: RunResults) -> list[Question]:
    """Parts of the mean read latency at the memory controller, by cause."""
    spent = [record.reads.parts_ns for record in results.records if record.reads]

    def of(part: str) -> Callable[[Record], str]:
        def answer(record: Record) -> str:
            spent = getattr(record.reads.parts_ns, part) if record.reads else 0.0
            return f"{spent:.1f} ns" if spent else ""

        return answer

    def figure(name: Literal["mean_ns", "median_ns", "p99_ns"]) -> Callable[[Record], str]:
        return lambda record: f"{getattr(record.reads, name):.1f} ns" if record.reads else ""

    return [
        ("mean", figure("mean_ns")),
        ("median", figure("median_ns")),
        ("99 % within", figure("p99_ns")),
        *((said, of(part)) for said, part in PARTS if any(getattr(parts, part) for parts in spent)),
    ]


def _caches() -> list[Question]:
    """Hits and misses of all caches, metadata caches included, and the memory traffic."""

    def misses(level: str) -> Callable[[Record], str]:
        return lambda record: f"{mpki(record)[level]:.2f}"

    def hits(index: int) -> Callable[[Record], str]:
        def answer(record: Record) -> str:
            cache = record.metadata_caches[index]
            rate = hit_rate(cache)
            return "" if rate is None else f"{100 * rate:.1f} %, {per_kilo(cache.misses, record):.2f}"

        return answer

    def bandwidth(record: Record) -> str:
        return f"{bandwidth_gb_per_s(record):.2f} GB/s"

    caches = [(f"{kind}: hits, misses/1000 instr.", hits(index)) for index, kind in enumerate(METADATA)]
    levels = [(f"{level.upper()}: misses/1000 instr.", misses(level)) for level in LEVELS]
    return [*levels, *caches, ("memory bandwidth", bandwidth)]


def predicted(results: RunResults) -> list[Question]:
    """Shares of the words from memory that tables of frequent values would have predicted. Further rows are the shares
    of predicted words in blocks of 128 bits with two predicted words, without and with the frequent words of a line
    first.
    """

    def of(table: int, figure: Callable[[Predictable], float | None]) -> Callable[[Record], str]:
        def answer(record: Record) -> str:
            part = figure(record.predicted[table])
            return "" if part is None else f"{100 * part:.1f} %"

        return answer

    questions: list[Question] = []
    for table, one in enumerate(results.records[0].predicted):
        questions += [
            (f"among {one.values} values", of(table, lambda seen: seen.share)),
            ("  of these, in full blocks", of(table, lambda seen: seen.covered)),
            ("  of these, if re-ordered", of(table, lambda seen: seen.covered_reordered)),
        ]
    return questions


def persist_buffers(results: RunResults) -> list[Question]:
    """Stores in persist buffers, if any design has these."""
    if all(record.persist_buffer is None for record in results.records):
        return []

    def of(figure: Callable[[PersistBuffer, Record], str]) -> Callable[[Record], str]:
        return lambda record: figure(record.persist_buffer, record) if record.persist_buffer else ""

    def held_up(buffer: PersistBuffer, record: Record) -> str:
        return of_cores(buffer.full_cycles + buffer.leaving_cycles, record)

    def of_cores(cycles: int, record: Record) -> str:
        return f"{100 * cycles / record.core_time.cycles:.1f} %"

    shared = [
        ("entries flushed by remote reads", of(lambda buffer, _: f"{buffer.flushed:,}")),
        ("entries moved by remote writes", of(lambda buffer, _: f"{buffer.given_up:,}")),
    ]
    return [
        ("stores/1000 instr. (PPTI)", of(lambda buffer, record: f"{per_kilo(buffer.stores, record):.2f}")),
        ("stores per entry (NWPE)", of(lambda buffer, _: f"{buffer.stores_per_entry:.2f}")),
        ("cycles a store found no room", of(held_up)),
        ("cycles a store awaited steps", of(lambda buffer, record: of_cores(buffer.answer_cycles, record))),
        *(shared if any(len(record.cores) > 1 for record in results.records) else []),
    ]


def epochs(results: RunResults) -> list[Question]:
    """Flushes and fences of programs, if any had an effect under a design."""
    if all(record.epochs is None for record in results.records):
        return []

    def of(count: Callable[[Epochs], int]) -> Callable[[Record], str]:
        return lambda record: f"{per_kilo(count(record.epochs), record):.2f}" if record.epochs else ""

    return [
        ("lines flushed/1000 instr.", of(lambda epochs: epochs.flushes)),
        ("fences/1000 instr.", of(lambda epochs: epochs.fences)),
        ("  of them held by flushes", of(lambda epochs: epochs.fences_held)),
    ]


def moving(results: RunResults) -> list[Question]:
    """Work of permutations, if any design permutes lines."""
    if all(record.moving is None for record in results.records):
        return []

    def answer(what: Callable[[Moving, Record], str]) -> Callable[[Record], str]:
        return lambda record: what(record.moving, record) if record.moving else ""

    def ratio(figure: Callable[[Moving], float | None], form: str) -> Callable[[Record], str]:
        def shown(seen: Moving, _: Record) -> str:
            value = figure(seen)
            return "" if value is None else f"{value:{form}}"

        return answer(shown)

    return [
        ("permutations/1000 instr.", answer(lambda seen, record: f"{per_kilo(seen.permutations, record):.3f}")),
        ("permutations awaited", answer(lambda seen, _: str(seen.permutations_awaited))),
        ("fills per permutation", ratio(lambda seen: seen.fills_per_permutation, ".1f")),
        ("lines moved per fill", ratio(lambda seen: seen.moved_per_fill, ".2f")),
        ("walks to records/1000 instr.", answer(lambda seen, record: f"{per_kilo(seen.records, record):.2f}")),
        (
            "Merkle cache hits/1000 instr.",
            answer(lambda seen, record: f"{per_kilo(seen.merkle_cache.records, record):.2f}"),
        ),
        *_switches(results),
        ("slots that crossed twice", answer(lambda seen, _: str(seen.twice))),
        ("epochs that are not whole", answer(lambda seen, _: str(seen.incomplete))),
    ]


def _switches(results: RunResults) -> list[Question]:
    """Switches between secure processes, if any occurred."""
    if not any(record.moving and record.moving.switches for record in results.records):
        return []

    def count(of: Callable[[Moving], int]) -> Callable[[Record], str]:
        return lambda record: str(of(record.moving)) if record.moving and record.moving.switches else ""

    return [
        ("context switches", count(lambda seen: seen.switches)),
        ("contexts that left the chip", count(lambda seen: seen.contexts.out)),
        ("chunks permuted as they left", count(lambda seen: seen.contexts.chunks_permuted)),
    ]


def speculation(results: RunResults) -> list[Question]:
    """Predictions of designs that speculate on the content of lines, and their outcome, if any design does."""
    if all(record.speculation is None for record in results.records):
        return []

    def share(part: Callable[[Speculation], int], whole: Callable[[Speculation], int]) -> Callable[[Record], str]:
        def answer(record: Record) -> str:
            seen = record.speculation
            return f"{100 * part(seen) / whole(seen):.1f} %" if seen and whole(seen) else ""

        return answer

    def of_chunks(part: Callable[[Speculation], int]) -> Callable[[Record], str]:
        return share(part, lambda seen: seen.chunks)

    def idle(record: Record) -> str:
        seen, work = record.speculation, record.protection
        blocks = work.aes_blocks + work.tdes_blocks
        return f"{100 * seen.gone_in / blocks:.1f} %" if seen and blocks else ""

    return [
        ("words that the table held", share(lambda seen: seen.words, lambda seen: WORDS_PER_LINE * seen.lines)),
        ("chunks: candidate was ready", of_chunks(lambda seen: seen.hits)),
        ("  candidate came later", of_chunks(lambda seen: seen.late_hits)),
        ("  decrypted before it came", of_chunks(lambda seen: seen.squashed)),
        ("  no candidate", of_chunks(lambda seen: seen.misses)),
        ("candidates given up", share(lambda seen: seen.given_up, lambda seen: seen.offered)),
        ("blocks that were candidates", idle),
    ]
