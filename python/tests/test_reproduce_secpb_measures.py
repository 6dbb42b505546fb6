"""Measures of the SecPB study on records, compared with values that are worked out by hand.

All numbers of the records differ, and so do the latencies of the machine, so that a measure with the wrong input fails.
At 4 GHz AES takes 20 cycles, a tag 30, a hash 80.
"""

from typing import Any

import pytest
from casemate import api
from casemate.laboratory.requests import BuiltIn, RunOptions
from casemate.reproduce.secpb import STUDY
from casemate.reproduce.secpb.measures import nwpe, ppti
from casemate.reproduce.secpb.settings import SCHEMES, design
from casemate.schemas.base import Result
from casemate.schemas.run import Record

LATENCIES_NS = {"aes": 5.0, "mac": 7.5, "hash": 20.0}
COUNTED: dict[str, Any] = {
    "instructions": 20_000,
    "cycles": 50_000,
    "ipc": 0.4,
    "time_fs": 12_500_000_000,
    "persist_buffer.stores": 600,
    "persist_buffer.allocations": 150,
    "persist_buffer.full_cycles": 5000,
    "persist_buffer.leaving_cycles": 2500,
    "persist_buffer.answer_cycles": 900,
    "core_time.waiting_cycles.persist_buffer": 2100.0,
    "renewals.groups": 3,
    "protection.hashes": 1000,
    "protection.root_updates": 200,
    "llc.foreign_writes": 20,
    "dram.reads": 1000,
    "dram.forwarded": 200,
    "dram.writes": 500,
    "dram.merged": 60,
}
Records = dict[str, Record]


def put(result: Any, path: str, value: object) -> Any:
    """A result with another value at a path."""
    name, _, rest = path.partition(".")
    within: Result = getattr(result, name)
    return result.model_copy(update={name: put(within, rest, value) if rest else value})


@pytest.fixture(scope="module")
def records() -> Records:
    """By setting: small real runs, with their counts replaced. The baseline is faster, and otherwise equal."""
    changes = {f"machine.engines.{unit}.latency_ns": value for unit, value in LATENCIES_NS.items()}
    ran = api.run(
        BuiltIn("gups", {"footprint": "64 KB"}),
        designs=["bbb", *(design(scheme) for scheme in SCHEMES)],
        machine=STUDY.bench.machine,
        changes=changes,
        options=RunOptions(limit=1000, protection=False),
    )
    counted = {record.design: record for record in ran.records}
    for path, value in COUNTED.items():
        counted = {name: put(record, path, value) for name, record in counted.items()}
    return counted | {"bbb": put(counted["bbb"], "ipc", 0.5)}


CYCLES_OF_BBB = 40_000
BY_HAND = {
    ("6", "NoGap"): 0.5 / 0.4,
    ("6b", "PPTI"): 30.0,
    ("6b", "NWPE"): 4.0,
    ("6c", "no entry free, COBCM"): 10.0,
    ("6c", "entry leaves, COBCM"): 5.0,
    # 800 reads of 55 ns and 440 writes of 150 ns, of 16 banks' 12,500 ns.
    ("6c", "banks busy, COBCM"): 55.0,
    # 7 hashes for an entry, a tag for each store that finds one: 84,000 and 13,500 cycles.
    ("6f", "NoGap"): 100 * (0.4 * (CYCLES_OF_BBB + 97_500) / 20_000 - 1),
    ("6f", "M"): 100 * (0.4 * (CYCLES_OF_BBB + 84_000) / 20_000 - 1),
    ("6f", "CM"): 100 * (0.4 * (CYCLES_OF_BBB + 84_000) / 20_000 - 1),
    # A pad for an entry. Over COBCM it adds to the 50,000 cycles of that.
    ("6f", "BCM"): 100 * (0.4 * (CYCLES_OF_BBB + 3000) / 20_000 - 1),
    ("6f", "BCM, without what COBCM costs"): 100 * (0.4 * (50_000 + 3000) / 20_000 - 1),
    ("6f", "what the core feels of waits under CM"): 25.0,
    # 320 cycles for each fourth of 30 stores in 1000 instructions, and 40 for each.
    ("6g", "estimated"): 1000 / (2400 + 1200),
    ("6g", "measured"): 0.4,
    ("6j", "cycles an entry for its counter"): 6.0,
    ("6j", "overflows in a million instructions"): 150.0,
    # 180 are of stores.
    ("8", "32 entries"): 30.0,
    ("8b", "CM"): 1.2,
    ("8c", "CM"): 9.0,
    ("9b", "CM, no forest"): 5.0,
    # 5 hashes for each of 600 stores.
    ("9c", "SP, no forest"): (CYCLES_OF_BBB + 240_000) / CYCLES_OF_BBB,
}


@pytest.mark.parametrize(("number", "name"), BY_HAND)
def test_a_figure_of_a_record_equals_its_formula_by_hand(number: str, name: str, records: Records) -> None:
    (figure,) = (figure for figure in STUDY.figures if figure.number == number)
    (series,) = (series for series in figure.series if series.name == name)
    assert series.of(records.__getitem__) == pytest.approx(BY_HAND[number, name])


def test_persist_buffer_rates_without_stores_are_zero(records: Records) -> None:
    idle = put(put(records["bbb"], "persist_buffer.stores", 0), "persist_buffer.allocations", 0)
    assert (ppti(idle), nwpe(idle)) == (0.0, 0.0)
