"""Records of a study: each equals that of the same run by itself, and the command of its row repeats it."""

import itertools
import json
import shlex
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from casemate import api
from casemate.laboratory.requests import BuiltIn, Repeatable, RunOptions, Trace
from casemate.rows.columns import flat
from casemate.studies.study import Study
from casemate.studies.sweep import Workers, sweep
from conftest import Casemate

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("distributed")

SMALL: dict[str, Any] = {"workload": "gups", "settings": {"footprint": "1 MB"}}
FILES = Path(__file__).parents[2]
TAG_BITS = "design.sc64-bmt.parts.mac.tag_bits"
BITS, SEED = (32, 56), 2**64 - 1
LIMIT = 10_000


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recording, a trace of ChampSim, a design and a machine."""
    path = tmp_path_factory.mktemp("traces")
    api.record(["true"], path / "true.trace", limit=LIMIT)
    load = struct.Struct("<QBB2B4B2Q4Q")
    loads = (
        load.pack(0x400000 + 4 * (n % 16), 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0x10000000 + 64 * n, 0, 0, 0)
        for n in range(3_000)
    )
    (path / "loads.champsimtrace").write_bytes(b"".join(loads))
    design = (FILES / "designs" / "ctr-mac.toml").read_text()
    (path / "mine.toml").write_text(design.replace('name = "ctr-mac"', 'name = "mine"'))
    machine = (FILES / "machines" / "modern.toml").read_text()
    (path / "own.toml").write_text(machine.replace('name = "modern"', 'name = "own"'))
    return path


def done(folder: Path) -> list[dict[str, Any]]:
    """Returns the rows of a folder."""
    return [row for path in sorted(folder.glob("*.parquet")) for row in parquet.read_table(path).to_pylist()]


def without_host(record: str) -> dict[str, Any]:
    """Returns a record without the time and memory that the simulation took."""
    return {name: value for name, value in json.loads(record).items() if name != "host"}


def carried_out(study: Study, folder: Path, scheduler: str) -> list[dict[str, Any]]:
    """Carries a study out without a failure, and returns its rows."""
    found = sweep(study, folder, workers=Workers(scheduler=scheduler))
    assert found.failures == ()
    rows = done(folder)
    assert len(rows) == found.points == found.done
    return rows


def test_each_record_of_a_study_is_that_of_the_run_alone(scheduler: str, traces: Path, tmp_path: Path) -> None:
    own, mine = str(traces / "own.toml"), str(traces / "mine.toml")
    programs: dict[str, Repeatable] = {
        "gups-1MB": BuiltIn("gups", {"footprint": "1 MB"}),
        "true": Trace(traces / "true.trace"),
        "loads": Trace(traces / "loads.champsimtrace", stated="loads.champsimtrace"),
    }
    size: dict[str, Any] = {"machine.llc.size": "2 MB"}
    study = Study(
        programs=list(programs.values()), designs=["none", "sc64-bmt", mine], machines=[own],
        over={TAG_BITS: BITS}, changes=size, seeds=[SEED], limit=LIMIT,
    )  # fmt: skip
    rows = carried_out(study, tmp_path / "results", scheduler)
    found = {
        (*(row[name] for name in ("program", "machine", "design", "seed")), row["design_parts_mac_tag_bits"]): row
        for row in rows
    }
    assert len(found) == len(rows) == len(programs) * (1 + len(BITS) + 1)
    designs = [("none", 56), ("sc64-bmt", BITS[0]), ("sc64-bmt", BITS[1]), (mine, 56)]
    for (name, program), (design, bits) in itertools.product(programs.items(), designs):
        changes = size | ({"design.parts.mac.tag_bits": bits} if design == "sc64-bmt" else {})
        options = RunOptions(limit=LIMIT, seed=SEED, protection=False)
        alone = api.run(program, designs=design, machine=own, changes=changes, options=options).records[0]
        row = found[name, "own", Path(design).stem, SEED, bits]
        assert without_host(row["record"]) == without_host(alone.model_dump_json(by_alias=True))


def test_each_campaign_of_a_study_is_that_of_the_campaign_alone(scheduler: str, traces: Path, tmp_path: Path) -> None:
    mine, key = str(traces / "mine.toml"), "design.parts.mac.tag_bits"
    study = Study(
        designs=[mine], seeds=[3], attacks={"trials": 2}, crashes={"row": "queue-lost"}, changes={key: 32},
    )  # fmt: skip
    by_kind = {row["kind"]: row for row in carried_out(study, tmp_path / "results", scheduler)}
    attacked = api.attack(mine, trials=2, seed=3, changes={key: 32})
    crashed = api.crash(mine, row="queue-lost", seed=3, changes={key: 32})
    assert json.loads(by_kind["attack"]["record"]) == json.loads(attacked.to_json())
    assert json.loads(by_kind["crash"]["record"]) == json.loads(crashed.to_json())
    assert by_kind["attack"]["worst_replay_data"] == next(
        row.worst for row in attacked.rows if row.attack == "replay-data"
    )
    assert (by_kind["attack"].get("machine"), by_kind["attack"]["design"]) == (None, "mine")


def test_the_columns_of_a_row_agree_with_its_record(scheduler: str, tmp_path: Path) -> None:
    study = Study(programs=[SMALL], designs=["sc64-bmt"], limit=LIMIT, values=[8], attacks={"trials": 2})
    for row in carried_out(study, tmp_path / "results", scheduler):
        columns = flat(json.loads(row["record"]))
        assert {name: row.get(name) for name in columns} == columns
        assert row["record_bytes"] == len(row["record"].encode())
        assert 0 < row["seconds"] < 60


def test_the_name_of_a_program_is_its_name_in_the_rows(scheduler: str, tmp_path: Path) -> None:
    study = Study(programs=[{**SMALL, "name": "my [/] name é"}], designs=["none"], limit=LIMIT)
    (row,) = carried_out(study, tmp_path / "results", scheduler)
    assert row["program"] == "my [/] name é"


def test_a_point_that_no_command_can_express_has_no_wrong_command(
    casemate: Casemate, scheduler: str, tmp_path: Path
) -> None:
    """`casemate run` has one value of each setting, for all workloads."""
    together = [SMALL, {"workload": "gups", "settings": {"footprint": "2 MB"}}]
    study = Study(programs=[{"together": together}], machines="emcc-4core", designs="none", limit=LIMIT)
    (row,) = carried_out(study, tmp_path / "results", scheduler)
    name, *words = shlex.split(row["command"] or "-")
    if name == "casemate":
        (record,) = casemate(*words, "--json").json()["records"]
        assert without_host(json.dumps(record)) == without_host(row["record"])


OPTIONS: dict[str, dict[str, Any]] = {
    "checks": {"limit": "10K", "warm_up": "5K", "check_values": True, "ledger": True, "values": [8, 16]},
    "changes": {
        "limit": LIMIT, "age": "steady", "seeds": [SEED], "designs": "mine.toml",
        "changes": {"machine.llc.size": "4 MB", "design.parts.mac.tag_bits": 32},
    },
    "a change to true": {"limit": LIMIT, "changes": {"design.parts.caches.counters_in_llc": True}},
    "sampled": {"limit": "500K", "detail": "sampled", "sampling": {"error": 0.05, "aim": "traffic"}},
    "copies": {"limit": LIMIT, "programs": [{**SMALL, "copies": 2}], "machines": "emcc-4core"},
    "a workload and a trace": {
        "limit": LIMIT, "programs": [{"together": [SMALL, {"trace": "true.trace"}]}], "machines": "emcc-4core",
    },
    "a persistent part": {"programs": [{"trace": "log.trace", "persistent": "heap"}], "machines": "secpb-pcm",
                          "designs": "secpb-cm"},
    "attacks": {"programs": [], "attacks": {"trials": 2, "row": "replay-data"}, "seeds": [2]},
    "crashes": {"programs": [], "crashes": {"thorough": True, "row": "power-loss"}, "designs": "none"},
}  # fmt: skip
"""Keys of studies of one point."""


@pytest.mark.parametrize("keys", OPTIONS.values(), ids=list(OPTIONS))
def test_the_command_of_a_row_repeats_its_point(
    keys: dict[str, Any], casemate: Casemate, scheduler: str, traces: Path, tmp_path: Path
) -> None:
    for path in traces.iterdir():
        shutil.copy(path, tmp_path)
    if "log.trace" in str(keys):
        api.record(["perl", "-e", "my @a = (1 .. 2000); print scalar @a"], tmp_path / "log.trace", limit="100K")
    study = Study(**{"programs": [SMALL], "designs": "sc64-bmt", **keys})
    (row,) = carried_out(study, tmp_path / "results", scheduler)
    name, *words = shlex.split(row["command"])
    assert name == "casemate"
    said = casemate(*words, "--json")
    assert said.code in (0, 1), said.err
    if row["kind"] == "run":
        (record,) = said.json()["records"]
        # A run that names the file itself states its path, and a study only its name.
        assert without_host(json.dumps(record)) == without_host(row["record"])
    else:
        assert said.json()["reports"] == [json.loads(row["record"])]
