"""Results folders: rows survive killed clients, damaged tables and full disks, and one client at a time writes."""

import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from casemate import CasemateError
from casemate.studies import folder as folder_module
from casemate.studies import table
from casemate.studies.folder import ResultsFolder
from casemate.studies.query import Results
from hypothesis import Phase, given, settings
from hypothesis import strategies as some

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

Row = dict[str, Any]
UNSIGNED_MAX = 2**64 - 1
ALL_ROWS = "SELECT point FROM runs UNION ALL SELECT point FROM failed"


def row(point: int | str, status: str = "done", **columns: Any) -> Row:
    """Returns the row of a point."""
    usual = {"point": str(point), "kind": "run", "status": status, "version": "1", "build": "", "finished": "now"}
    return usual | columns


def tables(path: Path) -> list[str]:
    """Returns the names of all files of a folder, except its lock."""
    return sorted(each.name for each in path.iterdir() if each.name != ".lock")


def write(path: Path, *rows: Row) -> None:
    """Adds rows to a folder as one table."""
    with ResultsFolder(path) as found:
        for each in rows:
            found.add(each)


def read(path: Path, columns: list[str]) -> dict[str, Row]:
    """Returns the rows of a folder that a new client reads, without absent values."""
    with ResultsFolder(path) as found:
        rows = found.rows(found.known, columns)
    return {point: {name: value for name, value in each.items() if value is not None} for point, each in rows.items()}


NUMBERS = some.integers(-(2**53), 2**53) | some.floats(-1e9, 1e9)
COLUMNS: dict[str, some.SearchStrategy[Any]] = {
    "whole": some.integers(-(2**63), 2**63 - 1),
    "seed": some.integers(0, UNSIGNED_MAX),
    "number": NUMBERS,
    "text": some.text(max_size=5),
    "flag": some.booleans(),
    "mixed": NUMBERS | some.text("abc", min_size=1, max_size=3),
}


@some.composite
def batches(draw: some.DrawFn) -> list[list[Row]]:
    """Rows in the order in which workers return them, in several tables; each row has some of the columns."""
    found = []
    for _ in range(draw(some.integers(1, 10))):
        batch = []
        for _ in range(draw(some.integers(1, 3))):
            names = draw(some.sets(some.sampled_from(sorted(COLUMNS))))
            columns = {name: draw(COLUMNS[name]) for name in sorted(names)}
            status = draw(some.sampled_from(["done", "failed"]))
            batch.append(row(draw(some.integers(0, 30)), status, **columns))
        found.append(batch)
    return found


def agrees(read: Any, written: Any) -> bool:
    """Returns true if a value was read as it was written, or as text if its column has numbers and text."""
    if isinstance(written, float) and not isinstance(read, str):
        return bool(read == pytest.approx(written))
    return (type(read) is type(written) and read == written) or read in (str(written), *number_text(written))


def number_text(value: Any) -> tuple[Any, ...]:
    """Returns the forms of a number in a column that also has fractions or text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ()
    return (float(value), str(int(value))) if float(value).is_integer() else (str(float(value)),)


@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(written=batches())
def test_rows_are_read_as_they_were_added_whatever_columns_they_have(written: list[list[Row]]) -> None:
    expected: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder_module, "MERGED_AT_ONCE", 4)
        path = Path(name) / "results"
        for batch in written:
            write(path, *batch)
            for each in batch:
                if expected.get(each["point"], {}).get("status") != "done":
                    expected[each["point"]] = each
        assert len(tables(path)) < 5
        found = read(path, list(COLUMNS))
        shown = Results(path).sql(f"SELECT count(*), count(DISTINCT point) FROM ({ALL_ROWS})").rows()
    assert found.keys() == expected.keys()
    assert shown == [(len(expected), len(expected))]
    for point, each in expected.items():
        assert found[point]["status"] == each["status"]
        assert found[point].keys() - {"point", "status"} == each.keys() & COLUMNS.keys()
        for column in each.keys() & COLUMNS.keys():
            assert agrees(found[point][column], each[column]), (column, found[point][column], each[column])
            assert column != "seed" or type(found[point][column]) is int


def test_large_seeds_are_read_exactly_after_small_ones(tmp_path: Path) -> None:
    seeds = [1, UNSIGNED_MAX, 2**63, 2, 2**53 + 1]
    for number, seed in enumerate(seeds):
        write(tmp_path, row(number, seed=seed))
    assert [each["seed"] for each in read(tmp_path, ["seed"]).values()] == seeds
    answer = Results(tmp_path).sql("SELECT seed FROM runs ORDER BY point")
    assert [seed for (seed,) in answer.rows()] == seeds
    assert [int(seed) for seed in answer.arrow().column("seed").to_pylist()] == seeds


def test_a_merge_keeps_each_point_once_and_a_success_over_a_failure(tmp_path: Path) -> None:
    for number in range(8):
        write(tmp_path, row(number, "failed", error="first"))
    for number in range(8):
        write(tmp_path, row(number, "done" if number < 4 else "failed", value=number, error="second"))
    write(tmp_path, *(row(number, "failed", error="third") for number in range(6)))
    assert len(tables(tmp_path)) < 4
    columns = parquet.read_table(tmp_path).to_pydict()
    assert len(set(columns["point"])) == 8
    found = read(tmp_path, ["value", "error"])
    assert {point: each["status"] for point, each in found.items()} == {
        str(number): "done" if number < 4 else "failed" for number in range(8)
    }
    assert [found[str(number)].get("error") for number in range(8)] == ["second"] * 4 + ["third"] * 2 + ["second"] * 2
    assert [found[str(number)]["value"] for number in (0, 3, 6, 7)] == [0, 3, 6, 7]


def test_rows_are_written_after_a_second_or_as_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ResultsFolder(tmp_path) as found:
        found.add(row("first"))
        found.flush_if_due()
        assert tables(tmp_path) == []
        monkeypatch.setattr(folder_module, "SECONDS_BETWEEN_TABLES", 0.0)
        found.flush_if_due()
        assert len(tables(tmp_path)) == 1
        monkeypatch.setattr(folder_module, "SECONDS_BETWEEN_TABLES", 1e9)
        for number in range(folder_module.ROWS_OF_A_TABLE):
            found.flush_if_due()
            assert len(tables(tmp_path)) == 1
            found.add(row(number))
        found.flush_if_due()
        assert len(tables(tmp_path)) == 2


HOLDER = """
import sys
from pathlib import Path
from casemate.studies.folder import ResultsFolder
with ResultsFolder(Path(sys.argv[1])) as found:
    print("open", flush=True)
    sys.stdin.read()
"""

KILLED = """
import os, sys
from pathlib import Path
from casemate.studies.folder import ResultsFolder
unlink = Path.unlink
def end(path, *given, **more):
    if path.name.startswith("rows-"):
        os.kill(os.getpid(), 9)
    unlink(path, *given, **more)
Path.unlink = end
with ResultsFolder(Path(sys.argv[1])) as found:
    found.add({"point": "last", "kind": "run", "status": "done", "version": "1", "build": "", "finished": "now"})
"""


@contextmanager
def another_client(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has opened the folder."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "open\n"
        yield process


def test_a_second_client_of_a_folder_is_refused_with_the_first(tmp_path: Path) -> None:
    write(tmp_path, row("kept"))
    with another_client(tmp_path) as first:
        with pytest.raises(CasemateError, match=rf"in use by process {first.pid} on \S+: expected to be the only"):
            ResultsFolder(tmp_path)
        assert Results(tmp_path).counts() == {("run", "done"): 1}, "readers are no clients"
        first.send_signal(signal.SIGKILL)
        first.wait()
    assert read(tmp_path, []).keys() == {"kept"}


def test_a_client_killed_in_a_merge_leaves_every_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = {str(number) for number in range(folder_module.MERGED_AT_ONCE - 1)}
    for point in sorted(points):
        write(tmp_path, row(point))
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(tables(tmp_path)) == folder_module.MERGED_AT_ONCE + 1, "the merged table, and those that it replaces"
    assert Results(tmp_path).counts() == {("run", "done"): len(points) + 1}
    assert read(tmp_path, []).keys() == points | {"last"}
    assert len(tables(tmp_path)) == 1


def test_a_half_written_table_of_a_killed_client_is_removed(tmp_path: Path) -> None:
    write(tmp_path, row("kept"))
    partial = tmp_path / f"{table.PARTIAL}rows-000001.parquet"
    partial.write_bytes(b"PAR1 and half of a table")
    write(tmp_path, row("next"))
    assert not partial.exists()
    assert read(tmp_path, []).keys() == {"kept", "next"}


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def zeros_at_the_end(content: bytes) -> bytes:
    return content[: len(content) // 2] + bytes(len(content) - len(content) // 2)


def empty(content: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [truncated, zeros_at_the_end, empty])
def test_a_damaged_table_is_renamed_and_reported(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    for point in ("first", "second", "third"):
        write(tmp_path, row(point, value=point))
    path = tmp_path / tables(tmp_path)[1]
    path.write_bytes(damage(path.read_bytes()))
    with ResultsFolder(tmp_path) as found:
        assert found.known.keys() == {"first", "third"}
        (notice,) = found.notices
        assert str(path) in notice
        assert "is damaged" in notice
        found.add(row("second", value="again"))
    assert f"{path.name}.damaged" in tables(tmp_path)
    assert {point: each["value"] for point, each in read(tmp_path, ["value"]).items()} == {
        "first": "first", "second": "again", "third": "third",
    }  # fmt: skip
    with ResultsFolder(tmp_path) as found:
        assert found.notices == [], "the damaged table is reported once"


def test_a_table_with_damaged_rows_is_reported_with_its_name(tmp_path: Path) -> None:
    """The end of the table is whole, as after a bad block of the disk."""
    for point in ("first", "second", "third"):
        write(tmp_path, row(point))
    path = tmp_path / tables(tmp_path)[1]
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    path.write_bytes(content[:4] + b"\xff" * (len(content) - footer - 4) + content[-footer:])
    try:
        with ResultsFolder(tmp_path) as found:
            said = "".join(found.notices)
    except CasemateError as error:
        said = str(error)
    assert path.name in said


def test_a_reader_leaves_a_damaged_table_out_and_changes_no_file(tmp_path: Path) -> None:
    for point in ("first", "second"):
        write(tmp_path, row(point))
    path = tmp_path / tables(tmp_path)[0]
    path.write_bytes(truncated(path.read_bytes()))
    before = {each: (tmp_path / each).read_bytes() for each in tables(tmp_path)}
    found = Results(tmp_path)
    assert found.sql("SELECT point FROM runs").rows() == [("second",)]
    assert f"'{path}' is damaged and left out" in found.notices
    assert {each: (tmp_path / each).read_bytes() for each in tables(tmp_path)} == before


@pytest.mark.parametrize("schema", ["2", None], ids=["later", "unknown"])
@pytest.mark.parametrize("opened", [ResultsFolder, Results])
def test_tables_of_another_schema_are_refused_and_unchanged(
    schema: str | None, opened: Callable[[Path], object], tmp_path: Path
) -> None:
    labels = {} if schema is None else {"casemate.schema": schema}
    made = arrow.table({"point": ["a"], "status": ["done"]}).replace_schema_metadata(labels)
    parquet.write_table(made, tmp_path / "rows-000000.parquet")
    content = (tmp_path / "rows-000000.parquet").read_bytes()
    with pytest.raises(CasemateError, match=rf"has schema '{schema or 'unknown'}', and .* reads schema '1'"):
        opened(tmp_path)
    assert tables(tmp_path) == ["rows-000000.parquet"]
    assert (tmp_path / "rows-000000.parquet").read_bytes() == content


def no_space(*given: Any, **more: Any) -> None:
    raise OSError(28, "No space left on device")


@contextmanager
def small_files() -> Iterator[None]:
    """The kernel refuses files above 200 bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def full_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pyarrow.parquet.write_table", no_space)
        yield


@contextmanager
def disk_that_is_full_at_the_end() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        yield


@contextmanager
def folder_that_cannot_be_synchronised() -> Iterator[None]:
    """The disk has the table, and refuses its name."""
    fsync = os.fsync
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: no_space() if Path(f"/proc/self/fd/{file}").is_dir() else fsync(file))
        yield


@pytest.mark.parametrize(
    "disk", [full_disk, disk_that_is_full_at_the_end, folder_that_cannot_be_synchronised, small_files]
)
def test_rows_that_a_full_disk_refuses_are_written_by_the_next_flush(disk: Callable[[], Any], tmp_path: Path) -> None:
    write(tmp_path, row("before"))
    with ResultsFolder(tmp_path) as found:
        found.add(row("kept", value=5))
        with (
            disk(),
            pytest.raises(CasemateError, match=r"cannot write '.*rows-000001\.parquet': .*(No space|File too)"),
        ):
            found.flush()
        assert not [name for name in tables(tmp_path) if name.startswith(table.PARTIAL)]
        found.add(row("later", value=6))
        found.flush()
        assert {point: each["value"] for point, each in found.rows(["kept", "later"], ["value"]).items()} == {
            "kept": 5, "later": 6,
        }  # fmt: skip
    assert read(tmp_path, []).keys() == {"before", "kept", "later"}
    assert Results(tmp_path).counts() == {("run", "done"): 3}


def test_a_folder_that_cannot_be_made_is_refused_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CasemateError, match=r"cannot make the folder '.*/file/results'"):
        ResultsFolder(tmp_path / "file" / "results")
