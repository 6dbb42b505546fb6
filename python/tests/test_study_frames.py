"""Frames of results: of polars, of pandas if only that is installed, and an error if both are missing."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import casemate as cm
import pytest
from casemate import CasemateError, api
from casemate.laboratory.requests import BuiltIn, RunOptions
from casemate.schemas.run import Failure, RunResults
from casemate.studies import study_file
from casemate.studies.query import Results
from casemate.studies.study import Study
from casemate.studies.sweep import Workers, sweep

parquet = pytest.importorskip("pyarrow.parquet")
polars = pytest.importorskip("polars")

SMALL: dict[str, Any] = {"workload": "gups", "settings": {"footprint": "1 MB"}}


@pytest.fixture(scope="module")
def folder(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with four runs and an attack."""
    path = tmp_path_factory.mktemp("frames")
    study = Study(programs=[SMALL], limit="20K", seeds=[1, 2**64 - 1], designs=["none", "sc64-bmt"])
    attacks = Study(designs=["none"], attacks={"trials": 2, "row": "replay-data"})
    for each in (study, attacks):
        sweep(each, path, workers=Workers(scheduler=scheduler))
    # A folder that keeps no study shows the points of all.
    (path / study_file.KEPT).unlink()
    return path


@pytest.fixture(scope="module")
def run() -> RunResults:
    """Records of two designs."""
    options = RunOptions(limit="20K", interval="10K")
    return api.run(BuiltIn("gups", {"footprint": "1 MB"}), designs=["none", "sc64-bmt"], options=options)


def without(monkeypatch: pytest.MonkeyPatch, **modules: Any) -> None:
    """Replaces modules at their import; `None` for a module that is not installed."""
    import_module = importlib.import_module

    def found(name: str, package: str | None = None) -> Any:
        if name not in modules:
            return import_module(name, package)
        if modules[name] is None:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return modules[name]

    monkeypatch.setattr(importlib, "import_module", found)


class Pandas:
    """A replacement of pandas that keeps the columns."""

    __name__ = "pandas"

    @staticmethod
    def DataFrame(columns: dict[str, list[Any]]) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(columns=list(columns), content=columns)


def test_results_returns_every_column_of_the_runs_as_a_polars_frame(folder: Path) -> None:
    frame = cm.results(folder)
    assert isinstance(frame, polars.DataFrame)
    stored = [row for path in folder.glob("*.parquet") for row in parquet.read_table(path).to_pylist()]
    runs = {row["point"][:12]: row for row in stored if row["kind"] == "run"}
    assert set(frame.columns) == {name for row in stored for name in row}
    assert frame.height == len(runs) == 4
    for row in frame.iter_rows(named=True):
        expected = runs[row.pop("point")[:12]]
        assert all(value == expected.get(name) for name, value in row.items())
    assert sorted(frame["seed"].to_list()) == [1, 1, 2**64 - 1, 2**64 - 1]
    assert frame["seed"].dtype.is_integer()


def test_results_selects_rows_columns_and_kinds(folder: Path) -> None:
    frame = cm.results(str(folder), where="design <> 'none' AND seed = 1", columns=["design", "machine.llc.ways"])
    assert frame.rows() == [("sc64-bmt", 16)]
    attacks = cm.results(folder, kind="attack", columns=["design", "agrees"])
    assert attacks.rows() == [("none", True)]
    assert cm.results(folder, where="seed > 1 AND seed < 9").height == 0


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"columns": ["ipcc"]}, "no column 'ipcc' .did you mean 'ipc'"),
        ({"where": "ipcc > 1"}, "wrong SQL"),
        ({"where": "CAST(design AS INT) = 1"}, "wrong SQL"),
        ({"kind": "runs"}, "'runs'"),
        ({"version": "0"}, "no results of version '0'"),
    ],
    ids=["column", "condition", "conversion", "kind", "version"],
)
def test_a_wrong_request_of_results_raises_a_casemate_error(given: Any, error: str, folder: Path) -> None:
    with pytest.raises(CasemateError, match=error):
        cm.results(folder, **given)


def test_results_of_a_missing_folder_raises_a_casemate_error(tmp_path: Path) -> None:
    with pytest.raises(CasemateError, match="there is no results folder"):
        cm.results(tmp_path / "absent")


def test_results_returns_a_pandas_frame_if_only_pandas_is_installed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    without(monkeypatch, polars=None)
    frame = cm.results(folder, columns=["design", "seed", "ipc"])
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["design", "seed", "ipc"]
    assert sorted(frame["seed"]) == [1, 1, 2**64 - 1, 2**64 - 1]


def test_a_result_is_a_frame_of_pandas_if_polars_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, polars=None, pandas=Pandas())
    frame = api.settings("machine", "modern").to_frame()
    assert frame.columns == ["name", "key", "value", "source"]
    assert set(frame.content["name"]) == {"modern"}


def test_a_frame_without_polars_and_pandas_is_refused_with_the_install_command(
    folder: Path, run: RunResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, polars=None, pandas=None)
    with pytest.raises(CasemateError, match=r"polars or pandas.*scripts/setup\.sh \.venv studies"):
        cm.results(folder)
    with pytest.raises(CasemateError, match="polars or pandas"):
        run.to_frame()


def test_the_frame_of_a_run_has_a_row_for_each_record(run: RunResults) -> None:
    frame = run.to_frame()
    assert frame.height == 2
    for row, record in zip(frame.iter_rows(named=True), run.records, strict=True):
        assert (row["design"], row["machine"]) == (record.design, "modern")
        assert (row["ipc"], row["time_fs"], row["dram_bytes"]) == (record.ipc, record.time_fs, record.dram_bytes)
        assert row["configuration_hash"] == record.configuration_hash
        assert row["machine_llc_ways"] == 16
        assert row["metadata_cache_counters_hits"] == record.metadata_caches[0].hits
        assert row["checks_passed"] is record.checks.passed


def test_the_frame_of_a_run_has_its_records_also_after_more_failures(run: RunResults) -> None:
    failures = tuple(Failure(design=name, machine="modern", error="no room") for name in ("a", "b", "c"))
    assert run.model_copy(update={"failures": failures}).to_frame().height == 2


def test_the_frame_of_a_record_is_a_single_row(run: RunResults) -> None:
    record = run.records[1]
    (row,) = record.to_frame().iter_rows(named=True)
    assert (row["design"], row["ipc"], row["events"]) == ("sc64-bmt", record.ipc, record.events)
    assert row["llc_misses"] == record.llc.misses


def test_the_frame_of_an_attack_has_a_row_for_each_attack() -> None:
    report = api.attack("ctr-mac", trials=2)
    frame = report.to_frame()
    assert frame["attack"].to_list() == [row.attack for row in report.rows]
    assert frame["worst"].to_list() == [row.worst for row in report.rows]
    assert frame["claim"].to_list() == [row.claim for row in report.rows]
    assert set(frame["design"]) == {"ctr-mac"}
    assert set(frame["trials"]) == {2}


def test_the_frame_of_settings_has_a_row_for_each_key() -> None:
    settings = api.settings("machine", "modern", {"machine.llc.ways": 8})
    frame = settings.to_frame()
    expected = [(each["key"], each["value"], each["source"]) for each in json.loads(settings.to_json())["settings"]]
    assert frame.select("key", "value", "source").rows() == expected
    assert ("llc.ways", "8") in frame.select("key", "value").rows()


def test_results_returns_whole_hashes_that_select_their_records(folder: Path) -> None:
    for point in cm.results(folder, columns=["point"])["point"]:
        assert len(point) == 64
        assert Results(folder).record(point)
