"""Columns of records: every number of a record is in exactly one column, under the words of its path."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from casemate import api
from casemate.laboratory.requests import BuiltIn, RunOptions
from casemate.rows.columns import flat, unit
from casemate.schemas.run import Record

ONLY_IN_JSON = {"cores", "histogram", "intervals", "beside", "predicted", "conditions", "examples", "example"}
"""Fields that a record has several times, or with a length that differs between records."""
KINDS = ("counters", "tags", "nodes", "bitmaps")
BYTES = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}

RUNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "usual": ("modern", "sc64-bmt", {"values": (8, 16), "ledger": True, "check_values": True}),
    "sampled": ("modern", "sc64-bmt", {"detail": "sampled", "limit": "500K"}),
    "four cores": ("emcc-4core", "emcc", {"interval": "10K"}),
    "persistent": ("secpb-pcm", "secpb-cm", {}),
    "moving": ("cryptopage-2006", "cryptopage", {}),
    "speculative": ("simplescalar-2005", "fvs-aes", {}),
}
"""Machine, design and options of runs that together have all parts of records."""


@pytest.fixture(scope="module", params=RUNS.values(), ids=list(RUNS))
def record(request: pytest.FixtureRequest) -> Record:
    """A record of a small run."""
    machine, design, more = request.param
    options = RunOptions(**{"limit": "20K", "protection": False, **more})
    return api.run(BuiltIn("gups", {"footprint": "1 MB"}), designs=design, machine=machine, options=options).records[0]


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the values of a record that are no lists, with their paths."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in ONLY_IN_JSON:
                yield from leaves(inner, (*path, name))
    elif path[-1:] == ("metadata_caches",):
        for kind, cache in zip(KINDS, value, strict=True):
            yield from leaves(cache, ("metadata_cache", kind))
    elif not isinstance(value, list):
        yield path, value


def words(*names: str) -> tuple[str, ...]:
    """Returns the words of names in a fixed order: a column has those of its path, and the unit at the end."""
    return tuple(sorted("_".join(names).replace("-", "_").lower().split("_")))


def expected(record: dict[str, Any]) -> dict[tuple[str, ...], Any]:
    """Returns each value of a record by the words of its path, with sizes in bytes."""
    found: dict[tuple[str, ...], Any] = {}
    for path, value in leaves(record):
        names = tuple(name for name in path if name != "configuration")
        if names in (("machine", "name"), ("design", "name")):
            names = names[:1]
        if isinstance(value, str) and len(value.split()) == 2 and value.split()[1] in BYTES:
            number, scale = value.split()
            names, value = (*names, "bytes"), round(float(number) * BYTES[scale])
        assert words(*names) not in found, f"two fields have the words of {path}"
        found[words(*names)] = value
    return found


def test_every_value_of_a_record_is_in_exactly_one_column(record: Record) -> None:
    content = json.loads(record.model_dump_json(by_alias=True))
    columns = flat(content)
    by_words = {words(name): value for name, value in columns.items()}
    assert len(by_words) == len(columns), "two columns have the same words"
    for name, value in expected(content).items():
        assert name in by_words, name
        assert (type(by_words[name]), by_words[name]) == (type(value), value), name
    assert len(expected(content)) > 300
    # The remaining columns are lists, as text.
    assert all(isinstance(by_words[name], str) for name in by_words.keys() - expected(content).keys())


def test_a_column_is_named_like_its_field_with_the_unit_last() -> None:
    content = {
        "configuration": {
            "machine": {"name": "modern", "llc": {"ways": 8, "size": "1.5 MB"}, "cache": {"line_bytes": 64}},
            "design": {"name": "xts", "claims": {"replay-data": "stopped"}},
            "workload": {"program": ["ls", "-l"]},
        },
        "reads": {"parts_ns": {"counter": 1.5, "fence": 0.0}, "p99_ns": 3.0},
        "node": {"lost_cycles": {"fetch": 3}},
        "footprint": {"metadata_percent": 12.5},
        "metadata_caches": [{"hits": number} for number in range(4)],
        "cores": [{"hits": 3}],
        "weaknesses": ["no MAC", "ECB"],
        "moving": None,
        "passed": True,
    }
    assert flat(content) == {
        "machine": "modern", "machine_llc_ways": 8, "machine_llc_size_bytes": 3 << 19,
        "machine_cache_line_bytes": 64, "design": "xts", "design_claims_replay_data": "stopped",
        "workload_program": "ls -l", "reads_parts_counter_ns": 1.5, "reads_parts_fence_ns": 0.0, "reads_p99_ns": 3.0,
        "node_lost_fetch_cycles": 3, "footprint_metadata_percent": 12.5, "metadata_cache_counters_hits": 0,
        "metadata_cache_tags_hits": 1, "metadata_cache_nodes_hits": 2, "metadata_cache_bitmaps_hits": 3,
        "weaknesses": "no MAC; ECB", "moving": None, "passed": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("time_fs", "femtoseconds"),
        ("machine_llc_size_bytes", "bytes"),
        ("node_lost_fetch_cycles", "core cycles"),
        ("footprint_metadata_percent", "percent"),
        ("ipc", ""),
        ("dram_reads", ""),
        ("cycles", "core cycles"),
    ],
)
def test_the_last_word_of_a_column_is_its_unit(column: str, expected: str) -> None:
    assert unit(column) == expected


def test_campaigns_have_a_column_for_the_worst_verdict_of_each_row() -> None:
    attacked = api.attack("ctr-mac", trials=2)
    columns = flat(json.loads(attacked.to_json()))
    assert {name: value for name, value in columns.items() if name.startswith("worst_")} == {
        f"worst_{row.attack.replace('-', '_')}": row.worst for row in attacked.rows
    }
    assert columns["design"] == "ctr-mac"
    assert columns["trials"] == 2
