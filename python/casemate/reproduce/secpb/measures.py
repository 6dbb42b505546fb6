"""Measures that the figures of the SecPB paper compute from a run's record, and the paper's models."""

from functools import cache
from typing import Any

from casemate import api
from casemate.reproduce.measures import clock_mhz, share
from casemate.schemas.persist_buffer import PersistBuffer
from casemate.schemas.run import Record

TREE_HASHES = 7
"""Hashes on a path of a tree of 8 levels: each of its 7 edges is a hash of the node below. The paper charges 8 hashes.
"""
PAPER_ROOT_CYCLES = 8 * 40
PAPER_TAG_CYCLES = 40


def _machine(record: Record) -> dict[str, Any]:
    return record.configuration.machine.model_dump()


def buffer(record: Record) -> PersistBuffer:
    """Returns the statistics of the persist buffers."""
    assert record.persist_buffer is not None, f"{record.design} has a persist buffer"
    return record.persist_buffer


def ppti(record: Record) -> float:
    """Stores into the persist buffer per thousand instructions (PPTI)."""
    return 1e3 * buffer(record).stores / record.instructions


def nwpe(record: Record) -> float:
    """Stores per entry of the persist buffer (NWPE)."""
    return buffer(record).stores_per_entry


def _raised(record: Record) -> int:
    """Root updates caused by the program's stores, without those caused by lines that the kernel writes."""
    return record.protection.root_updates - record.llc.foreign_writes


def root_updates(record: Record) -> float:
    """Root updates in percent of the stores into the persist buffer."""
    return share(_raised(record), buffer(record).stores)


def updates_in_thousand(record: Record) -> float:
    """Root updates per thousand instructions."""
    return 1e3 * _raised(record) / record.instructions


def updates_by_entry(record: Record) -> float:
    """Root updates per allocated entry."""
    return _raised(record) / max(buffer(record).allocations, 1)


def found_full(record: Record) -> float:
    """Cycles in which a store waited for a free entry, in percent of the run's cycles."""
    return share(buffer(record).full_cycles, record.cycles)


def found_leaving(record: Record) -> float:
    """Cycles in which a store waited because the entry of its line was draining, in percent of the run's cycles."""
    return share(buffer(record).leaving_cycles, record.cycles)


def awaited_by_entry(record: Record) -> float:
    """Cycles in which stores waited for early steps, per allocated entry."""
    return buffer(record).answer_cycles / max(buffer(record).allocations, 1)


def overflows(record: Record) -> float:
    """Overflows of the data's encryption counters per million instructions."""
    return 1e6 * record.renewals.groups / record.instructions


def felt(record: Record) -> float:
    """Cycles in which the core waits for the persist buffer, in percent of the cycles in which stores wait for it; the
    store queue hides the remaining waits.
    """
    counted = buffer(record)
    waited = counted.full_cycles + counted.leaving_cycles + counted.answer_cycles
    return share(record.core_time.waiting_cycles.persist_buffer, waited)


def hashes_by_update(record: Record) -> float:
    """Hashed metadata lines per root update: the nodes on the updated path, and the nodes that the controller
    fetches for it.
    """
    return record.protection.hashes / max(record.protection.root_updates, 1)


def banks_busy(record: Record) -> float:
    """Time for which reads and writes occupy the banks, in percent of the total time of all banks."""
    pcm, dram = _machine(record)["pcm"], record.dram
    needed_ns = (dram.reads - dram.forwarded) * pcm["read_ns"] + (dram.writes - dram.merged) * pcm["write_ns"]
    return share(needed_ns, pcm["banks"] * record.time_fs * 1e-6)


def _unit_cycles(record: Record, unit: str) -> float:
    return float(_machine(record)["engines"][unit]["latency_ns"]) * clock_mhz(record, "node") / 1e3


def modelled_ipc(without: Record, record: Record) -> float:
    """IPC by the paper's linear model: the cycles of a run without early steps, plus the early steps, which stores
    await one after the other.

    A store that finds an entry of its line awaits only the tag. The first store of an entry awaits the pad, or the root
    update, during which the units compute pad and tag.
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
    """IPC by the same model for strict persistency at the controller: each store waits for a root update of `hashes`
    hashes.
    """
    added = buffer(without).stores * hashes * _unit_cycles(without, "hash")
    return without.instructions / (without.instructions / without.ipc + added)


def estimated_ipc(record: Record) -> float:
    """IPC of NoGap by the paper's formula (section VI-B), from the run's PPTI and NWPE."""
    return 1e3 / (PAPER_ROOT_CYCLES * ppti(record) / nwpe(record) + PAPER_TAG_CYCLES * ppti(record))


@cache
def _battery(scheme: str, entries: int) -> tuple[float, float]:
    row = api.cost_of_battery(scheme, entries=entries).of(scheme)
    assert row.counted is not None, f"{scheme} has a design that can be drained"
    return row.sizes[0].volume_mm3, row.counted.together.sizes[0].volume_mm3


def battery_mm3(record: Record) -> float:
    """Volume of the supercapacitor for the run's design, by the closed form; it depends only on the design."""
    return _battery_of(record)[0]


def counted_battery_mm3(record: Record) -> float:
    """Volume of the supercapacitor by the counted operations of a drain of all entries."""
    return _battery_of(record)[1]


def _battery_of(record: Record) -> tuple[float, float]:
    design = record.configuration.design
    return _battery(design.name.removeprefix("secpb-"), design.parts.persistence.entries)
