"""`casemate sweep`: a study from its options or its file to its rows, again after failures, and its errors."""

import gc
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from casemate import CasemateError, api
from casemate.rows import needed
from casemate.studies import cache, cluster, dispatch, worker
from casemate.studies.cluster import Cluster
from casemate.studies.expansion import expanded
from casemate.studies.folder import ResultsFolder
from casemate.studies.recordings import Recordings, content_hash
from casemate.studies.study import Study
from casemate.studies.sweep import Observer, Workers, sweep
from casemate.terminal.work import Work
from conftest import Casemate, Said

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("distributed")
pytest.importorskip("duckdb")

DESIGNS = Path(__file__).parents[2] / "designs"
SMALL: dict[str, Any] = {"workload": "gups", "settings": {"footprint": "1 MB"}}
OPTIONS = ("sweep", "--workload", "gups", "--set", "footprint=1 MB", "--limit", "10K")
TEXT = 'programs = [{workload = "gups", settings = {footprint = "1 MB"}}]\nlimit = "10K"\n'


def rows(folder: str = "results/study") -> list[dict[str, Any]]:
    """Returns the rows of a folder."""
    return [row for path in sorted(Path(folder).glob("*.parquet")) for row in parquet.read_table(path).to_pylist()]


def counts(said: Said) -> tuple[int, int, int, int]:
    """Returns the numbers of points, of points that were done before and now, and of failures."""
    found = said.json()
    return found["points"], found["kept"], found["done"], len(found["failures"])


def test_a_study_of_options_is_carried_out_once(casemate: Casemate, scheduler: str) -> None:
    options = (*OPTIONS, "--over", "machine.llc.size=2 MB, 4 MB", "--seeds", "2", "--scheduler", scheduler)
    said = casemate(*options, "--json")
    assert said.code == 0, said.err
    assert counts(said) == (8, 0, 8, 0)
    jsonschema.validate(said.json(), casemate("schema", "sweep").json())
    found = {(row["design"], row["machine_llc_size_bytes"] >> 20, row["seed"]) for row in rows()}
    assert found == {(design, size, seed) for design in ("none", "sc64-bmt") for size in (2, 4) for seed in (1, 2)}
    assert {row["instructions"] for row in rows()} == {10_000}
    before = {path: path.read_bytes() for path in Path("results/study").glob("*.parquet")}
    again = casemate(*options, "--json")
    assert (again.code, counts(again)) == (0, (8, 8, 0, 0))
    assert again.json()["figures"] == said.json()["figures"]
    assert {path: path.read_bytes() for path in Path("results/study").glob("*.parquet")} == before
    more = casemate(*options, "--json", "--design", "none", "--design", "ctr-mac")
    assert counts(more) == (8, 4, 4, 0), "only the new design is carried out"


def test_a_study_in_a_file_is_the_study_of_its_options(casemate: Casemate, scheduler: str) -> None:
    Path("mine.toml").write_text(TEXT + 'changes = {"machine.llc.ways" = 8}\nwarm_up = 5000\ndesigns = "none"\n')
    said = casemate("sweep", "mine.toml", "--scheduler", scheduler)
    assert said.code == 0, said.err
    assert "study mine: 1 of 1 points done" in said.out
    options = ("--with", "machine.llc.ways=8", "--warm-up", "5K", "--design", "none", "--output", "results/mine")
    assert counts(casemate(*OPTIONS, *options, "--scheduler", scheduler, "--json")) == (1, 1, 0, 0)
    Path("folder").mkdir()
    assert casemate("sweep", "mine.toml", "--scheduler", scheduler, "--output", "folder/other").code == 0
    assert len(rows("folder/other")) == 1


def test_a_command_of_a_study_is_recorded_once(casemate: Casemate, scheduler: str) -> None:
    said = casemate("sweep", "--limit", "10K", "--design", "none", "--scheduler", scheduler, "--", "true")
    assert said.code == 0, said.err
    assert "recording true" in said.err
    (trace,) = Path("results/study/_traces").iterdir()
    assert [row["program"] for row in rows()] == ["true"]
    changed = trace.stat().st_mtime_ns
    options = ("--limit", "10K", "--design", "none", "--design", "xts", "--scheduler", scheduler)
    again = casemate("sweep", *options, "--json", "--", "true")
    assert counts(again) == (2, 1, 1, 0)
    assert "recording" not in again.err
    assert trace.stat().st_mtime_ns == changed


def test_a_dry_run_counts_the_points_and_changes_no_file(casemate: Casemate, scheduler: str) -> None:
    options = (*OPTIONS, "--seeds", "3", "--over", "machine.llc.ways=4,8")
    plan = casemate(*options, "--dry-run", "--json")
    assert plan.code == 0, plan.err
    jsonschema.validate(plan.json(), casemate("schema", "sweep", "plan").json())
    expected = {"points": 12, "kept": 0, "failed": 0, "seconds": None, "folder": "results/study"}
    assert plan.json() | expected == plan.json()
    assert 1 <= plan.json()["workers"] <= cluster.cores()
    assert plan.json()["memory_bytes"] > plan.json()["workers"] * (1 << 20)
    assert plan.json()["disk_bytes"] > 12 * 1000
    assert list(Path().iterdir()) == []
    casemate(*OPTIONS, "--seeds", "2", "--over", "machine.llc.ways=4", "--scheduler", scheduler)
    before = sorted(Path("results/study").iterdir())
    plan = casemate(*options, "--dry-run", "--json")
    assert plan.json() | {"points": 12, "kept": 4, "failed": 0} == plan.json()
    mean = sum(row["seconds"] for row in rows()) / 4
    assert plan.json()["seconds"] == pytest.approx(8 * mean / plan.json()["workers"])
    assert sorted(Path("results/study").iterdir()) == before
    shown = casemate(*options, "--dry-run")
    assert "12, of which 4 are done" in shown.out


def test_a_dry_run_with_a_damaged_table_counts_the_other_tables(casemate: Casemate, scheduler: str) -> None:
    for seeds in ("1", "2"):
        casemate(*OPTIONS, "--design", "none", "--seeds", seeds, "--scheduler", scheduler, "--json")
    path = min(Path("results/study").glob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-100])
    plan = casemate(*OPTIONS, "--design", "none", "--seeds", "2", "--dry-run", "--json")
    assert plan.code == 0, plan.err
    assert (plan.json()["points"], plan.json()["kept"]) == (2, 1)
    assert path.exists(), "a dry run changes no file"


def test_a_dry_run_names_commands_that_are_not_recorded_yet(casemate: Casemate) -> None:
    plan = casemate("sweep", "--dry-run", "--json", "--limit", "10K", "--", "true").json()
    assert (plan["points"], plan["not_recorded"]) == (2, ["true"])
    assert plan["without_limit"] == []


def test_a_failed_point_is_repeated_only_on_request(casemate: Casemate, scheduler: str) -> None:
    api.record(["true"], "true.trace", limit=5_000)
    Path("s.toml").write_text(
        'designs = ["none", "xts"]\nlimit = "5K"\n[[programs]]\ntrace = "true.trace"\nwarm_up = "4999"\n'
        '[[programs]]\nworkload = "resident"\n'
    )
    command = ("sweep", "s.toml", "--scheduler", scheduler, "--json")
    said = casemate(*command)
    assert said.code == 1
    assert counts(said) == (4, 0, 2, 2)
    for failure in said.json()["failures"]:
        assert "'true' ended after" in failure["error"]
        assert failure["title"].startswith("true under ")
        assert f"--trace {Path('true.trace').absolute()}" in failure["command"]
    failed = [row for row in rows("results/s") if row["status"] == "failed"]
    assert {row["error"] for row in failed} == {failure["error"] for failure in said.json()["failures"]}
    started = time.monotonic()
    assert (casemate(*command).code, len(rows("results/s"))) == (1, 4), "failures are not repeated"
    assert time.monotonic() - started < 60
    for retry, written in ((failed[0]["point"][:8], 5), ("failed", 7)):
        again = casemate(*command, "--retry", retry)
        assert (again.code, counts(again)) == (1, (4, 2, 0, 2))
        assert len(rows("results/s")) == written
    shown = casemate("sweep", "s.toml", "--scheduler", scheduler)
    assert "2 of 4 points done" in shown.out
    assert "--retry failed repeats them" in shown.out


@pytest.mark.parametrize("given", ["failed", ("failed",), iter(["failed"])], ids=["word", "list", "iterator"])
def test_python_takes_a_word_or_hashes_of_points_to_repeat(given: Any, scheduler: str, tmp_path: Path) -> None:
    study, workers = Study(programs=[SMALL], limit="10K", seeds=2), Workers(scheduler=scheduler)
    with ResultsFolder(tmp_path / "results") as found:
        for cell in expanded(study, Recordings(tmp_path, str)):
            found.add(worker.failed(cell.point, "its worker died"))
    assert sweep(study, tmp_path / "results", workers=workers, retry=given).done == 4


def test_a_repeated_point_that_succeeds_replaces_its_failure(casemate: Casemate, scheduler: str) -> None:
    (cell,) = expanded(Study(programs=[SMALL], limit="10K", designs="none"), Recordings(Path(), str))
    with ResultsFolder(Path("results/study")) as found:
        found.add(worker.failed(cell.point, "its worker died"))
    command = (*OPTIONS, "--design", "none", "--scheduler", scheduler, "--json")
    said = casemate(*command)
    assert (said.code, counts(said)) == (1, (1, 0, 0, 1))
    assert said.json()["failures"][0]["error"] == "its worker died"
    assert casemate(*command, "--dry-run").json()["failed"] == 1
    again = casemate(*command, "--retry", cell.point.hash[:6])
    assert (again.code, counts(again)) == (0, (1, 0, 1, 0))
    assert casemate("results", "results/study", "--failed", "--json").json()["rows"] == []
    assert len(casemate("results", "results/study", "--json").json()["rows"]) == 1


def test_a_request_to_repeat_an_unknown_point_is_refused(casemate: Casemate, scheduler: str) -> None:
    said = casemate(*OPTIONS, "--design", "none", "--scheduler", scheduler, "--retry", "zz")
    assert said.code == 2
    assert "zz" in said.err


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense", "tcp://no-such-host.invalid:8786", "x://y:1"])
def test_a_scheduler_that_does_not_answer_ends_the_study_with_code_2(
    address: str, casemate: Casemate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "SECONDS_TO_CONNECT", 0.2)
    started = time.monotonic()
    said = casemate(*OPTIONS, "--scheduler", address)
    assert time.monotonic() - started < 60
    assert said.code == 2
    assert f"no scheduler answers at '{address}'" in said.err


def test_a_client_without_a_scheduler_leaves_no_end_to_the_garbage_collector(
    casemate: Casemate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The garbage collector can run while this thread holds the lock that the end of a client waits for."""
    monkeypatch.setattr(cluster, "SECONDS_TO_CONNECT", 0.2)
    gc.disable()
    try:
        assert casemate(*OPTIONS, "--scheduler", "x://y:1").code == 2
        kind = needed.library("distributed").Client
        assert {each.status for each in gc.get_objects() if isinstance(each, kind)} == {"closed"}
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "option",
    [
        ("--workload", "gups"), ("--trace", "a.trace"), ("--design", "none"), ("--machine", "modern"),
        ("--with", "machine.llc.ways=4"), ("--over", "machine.llc.ways=4"), ("--seeds", "2"), ("--limit", "1K"),
        ("--warm-up", "1K"), ("--set", "footprint=1 MB"),
    ],
    ids=lambda option: str(option[0]),
)  # fmt: skip
def test_a_study_in_a_file_excludes_each_option_that_describes_one(option: tuple[str, str], casemate: Casemate) -> None:
    Path("s.toml").write_text(TEXT)
    Path("a.trace").write_text("")
    said = casemate("sweep", "s.toml", *option)
    assert said.code == 2
    assert f"{option[0]} describes a study, and so does 's.toml'" in said.err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "expected a study: STUDY.toml"),
        (("--design", "none"), "expected a study: STUDY.toml"),
        (("a.toml", "b.toml"), "'b.toml' after the study 'a.toml': expected one study"),
        (("absent.toml",), "there is no study 'absent.toml'"),
        (("--workload", "gups", "--seeds", "0"), "0 is out of range"),
        (("--workload", "gups", "--over", "machine.llc.ways"), "sets no value"),
        (("--workload", "gups", "--over", "machine.llc.ways="), "at least one"),
        (("--workload", "gups", "--workers", "0"), "0 is out of range"),
    ],
)
def test_a_wrong_request_of_a_study_ends_with_code_2(words: tuple[str, ...], error: str, casemate: Casemate) -> None:
    said = casemate("sweep", *words)
    assert said.code == 2
    assert error in said.err
    assert not list(Path().glob("results/*/rows-*"))


def test_a_point_that_needs_more_memory_than_any_worker_is_refused(
    casemate: Casemate, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "MEMORY_SHARE", 1e-6)
    options = (*OPTIONS, "--set", "updates=10", "--design", "none")
    said = casemate(*options, "--scheduler", scheduler)
    assert said.code == 2
    assert re.search("gups-1MB-10 under none on modern, seed 1 may need .* MB of memory, and the largest", said.err)
    assert rows() == []
    plan = casemate(*options, "--seeds", "4", "--dry-run", "--json").json()
    assert plan["workers"] == 1, "memory is short"
    assert plan["memory_bytes"] > 1 << 20


def test_a_batch_fits_into_the_memory_of_a_worker(casemate: Casemate) -> None:
    """Points that share a session need their memory at the same time."""
    study = Study(
        programs=[{"workload": "gups", "settings": {"footprint": "1 GB"}}], designs=["none", "xts", "ctr-mac"],
        seeds=4, limit="10K",
    )  # fmt: skip
    points = [cell.point for cell in expanded(study, Recordings(Path(), str))]
    most = max(point.memory_bytes for point in points)
    sent: list[int] = []

    class EndedError(Exception):
        pass

    class Future:
        status, key = "pending", "key"

        def add_done_callback(self, function: Any) -> None:
            if len(sent) == 4:
                raise EndedError

    class Client:
        def submit(self, function: Any, carried: Any, forms: Any, *given: Any, **more: Any) -> Future:
            sent.append(sum(form["memory_bytes"] for form in forms))
            return Future()

        def cancel(self, futures: Any, force: bool) -> None:
            pass

    found = Cluster(Client(), None, None, print)
    found._workers = {str(number): cluster.Worker(str(number), "host", 1, most) for number in range(2)}
    with ResultsFolder(Path("results")) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(found, "admit", lambda: False)
        with pytest.raises(EndedError):
            dispatch.Dispatch(found, folder, Work(len(points)), lambda work: None).carry_out(points)
    assert max(sent) <= most


def test_the_end_of_a_cluster_that_hangs_hides_no_error(tmp_path: Path) -> None:
    ended = []

    class Hanging:
        def close(self, timeout: float) -> None:
            ended.append(timeout)
            raise TimeoutError("timed out")

    (tmp_path / "own").mkdir()
    with pytest.raises(CasemateError, match="the reason"), Cluster(Hanging(), Hanging(), tmp_path / "own", str):
        raise CasemateError("the reason")
    assert len(ended) == 2, "the workers end as well"
    assert not (tmp_path / "own").exists()


def test_a_scheduler_that_is_lost_is_named_and_is_no_bug() -> None:
    class Lost:
        """A client of Dask after the death of its scheduler."""

        def scheduler_info(self, n_workers: int) -> dict[str, Any]:
            return {"type": "Scheduler"}

    with pytest.raises(CasemateError, match="scheduler"):
        Cluster(Lost(), None, None, str).admit()


def test_a_design_file_that_changes_during_a_study_changes_no_record(scheduler: str, tmp_path: Path) -> None:
    path, key = tmp_path / "mine.toml", "design_parts_mac_tag_bits"
    text = (DESIGNS / "ctr-mac.toml").read_text()
    assert "tag_bits = 56" in text
    path.write_text(text)
    study = Study(programs=[SMALL], designs=[str(path)], limit="10K", seeds=12)

    def edit(work: Work) -> None:
        path.write_text(text.replace("tag_bits = 56", "tag_bits = 32"))

    sweep(study, tmp_path / "results", workers=Workers(scheduler=scheduler), observer=Observer(report=edit))
    found = rows(str(tmp_path / "results"))
    assert len(found) == 12
    assert {row[key] for row in found} == {56}


def test_a_worker_does_not_use_a_trace_that_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path / "copies"))
    path = tmp_path / "a.trace"
    path.write_bytes(b"first")
    content = content_hash(path)
    assert cache.find(content, str(path)) == path
    assert cache.find(content, str(path)) == path
    path.write_bytes(b"second")
    assert cache.find(content, str(path)) is None
    cache.receive(content, 0, b"fir", False)
    cache.receive(content, 1, b"st", True)
    assert cache.find(content, str(path)) == tmp_path / "copies" / content


MISSING = """
import sys
from importlib.machinery import PathFinder
missing, *words = sys.argv[1:]
find = PathFinder.find_spec
PathFinder.find_spec = staticmethod(
    lambda name, *given: None if name.partition(".")[0] == missing else find(name, *given)
)
from casemate.cli.main import main
main(words)
"""
"""Runs a command as if a library were not installed."""


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("distributed", OPTIONS),
        ("duckdb", ("results", "results")),
    ],
)
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    missing: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "results").mkdir()
    command = [sys.executable, "-c", MISSING, missing, *words]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert f"the library '{missing}', which is not installed: {needed.STUDIES.install}" in line
    assert list((tmp_path / "results").iterdir()) == []


def test_results_as_json_are_one_object_also_after_failures(casemate: Casemate, scheduler: str) -> None:
    api.record(["true"], "true.trace", limit=5_000)
    said = casemate(
        "sweep", "--trace", "true.trace", "--warm-up", "6K", "--design", "none", "--scheduler", scheduler, "--json"
    )  # fmt: skip
    assert said.code == 1
    assert json.loads(said.out)["interrupted"] is False
