"""Numbers of a record that the figures of the SecPB paper use, and the paper's arithmetic."""

from functools import cache
from typing import Any

from casemate import api
from casemate.reproduce.measures import clock_mhz, share
from casemate.results.persist_buffer import PersistBuffer
from casemate.results.run import Record

TREE_HASHES = 7
"""Edges of a tree of 8 levels, each a hash of the node below it. The paper charges 8."""
PAPER_ROOT_CYCLES = 8 * 40
PAPER_TAG_CYCLES = 40


def _machine(record: Record) -> dict[str, Any]:
    return record.configuration.machine.model_dump()


def buffer(record: Record) -> PersistBuffer:
    """Returns the counts of the persist buffer."""
    assert record.persist_buffer is not None, f"{record.design} has a persist buffer"
    return record.persist_buffer


def ppti(record: Record) -> float:
    """Stores into the buffer in a thousand instructions."""
    return 1e3 * buffer(record).stores / record.instructions


def nwpe(record: Record) -> float:
    """Stores that share an entry."""
    return buffer(record).stores_per_entry


def _raised(record: Record) -> int:
    """Root updates because of stores, without those because of lines that the kernel writes."""
    return record.protection.root_updates - record.llc.foreign_writes


def root_updates(record: Record) -> float:
    """Root updates in percent of stores."""
    return share(_raised(record), buffer(record).stores)


def updates_in_thousand(record: Record) -> float:
    """Root updates in a thousand instructions."""
    return 1e3 * _raised(record) / record.instructions


def updates_by_entry(record: Record) -> float:
    """Root updates for each entry that was allocated."""
    return _raised(record) / max(buffer(record).allocations, 1)


def found_full(record: Record) -> float:
    """Cycles in which a store waited for an entry to be free, in percent."""
    return share(buffer(record).full_cycles, record.cycles)


def found_leaving(record: Record) -> float:
    """Cycles in which a store waited because its line's entry was draining, in percent."""
    return share(buffer(record).leaving_cycles, record.cycles)


def awaited_by_entry(record: Record) -> float:
    """Cycles for each entry in which stores waited for early steps."""
    return buffer(record).answer_cycles / max(buffer(record).allocations, 1)


def overflows(record: Record) -> float:
    """Counters of data that overflowed in a million instructions."""
    return 1e6 * record.renewals.groups / record.instructions


def felt(record: Record) -> float:
    """Share of the stores' waits during which the core waits too, in percent; the remaining waits pass in the store
    queue.
    """
    counted = buffer(record)
    waited = counted.full_cycles + counted.leaving_cycles + counted.answer_cycles
    return share(record.core_time.waiting_cycles.persist_buffer, waited)


def hashes_by_update(record: Record) -> float:
    """Nodes that are hashed each time that a root moves on: those of its path, and those that are fetched for it."""
    return record.protection.hashes / max(record.protection.root_updates, 1)


def banks_busy(record: Record) -> float:
    """The time that reads and writes take of the banks, in percent of all banks' time."""
    pcm, dram = _machine(record)["pcm"], record.dram
    needed_ns = (dram.reads - dram.forwarded) * pcm["read_ns"] + (dram.writes - dram.merged) * pcm["write_ns"]
    return share(needed_ns, pcm["banks"] * record.time_fs * 1e-6)


def _unit_cycles(record: Record, unit: str) -> float:
    return float(_machine(record)["engines"][unit]["latency_ns"]) * clock_mhz(record, "node") / 1e3


def modelled_ipc(without: Record, record: Record) -> float:
    """The paper's linear model: the machine's cycles without early steps, plus the early steps, which stores await one
    after the other.

    A store that finds its entry awaits only its tag. The first store of an entry awaits its pad, or its root, during
    which pad and tag are made.
    """
    early, counted = record.configuration.design.parts.persistence.early, buffer(record)
    first = 0.0
    if "root" in early:
        first = TREE_HASHES * _unit_cycles(record, "hash")
    elif "pad" in early:
        first = _unit_cycles(record, "aes")
    again = _unit_cycles(record, "mac") if "tag" in early else 0.0
    added = counted.allocations * first + (counted.stores - counted.allocations) * again
    return record.instructions / (record.instructions / without.ipc + added)


def written_through_ipc(without: Record, hashes: float) -> float:
    """The same model of strict persistency at the controller: each store waits for a root update of `hashes` hashes."""
    added = buffer(without).stores * hashes * _unit_cycles(without, "hash")
    return without.instructions / (without.instructions / without.ipc + added)


def estimated_ipc(record: Record) -> float:
    """Estimate of NoGap by the paper's formula (section VI-B), from the run's PPTI and NWPE."""
    return 1e3 / (PAPER_ROOT_CYCLES * ppti(record) / nwpe(record) + PAPER_TAG_CYCLES * ppti(record))


@cache
def _battery(scheme: str, entries: int) -> tuple[float, float]:
    row = api.cost_of_battery(scheme, entries=entries).of(scheme)
    assert row.counted is not None, f"{scheme} has a design that can be drained"
    return row.sizes[0].volume_mm3, row.counted.together.sizes[0].volume_mm3


def battery_mm3(record: Record) -> float:
    """Volume of the supercapacitor of the run's design, by the closed form: only the design decides it."""
    return _battery_of(record)[0]


def counted_battery_mm3(record: Record) -> float:
    """Volume of the supercapacitor for a drain of all entries that was carried out."""
    return _battery_of(record)[1]


def _battery_of(record: Record) -> tuple[float, float]:
    design = record.configuration.design
    return _battery(design.name.removeprefix("secpb-"), design.parts.persistence.entries)
