"""A results folder, opened for writing by one client at a time: one row for each point, whatever ends the client."""

import fcntl
import os
import shutil
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

from casemate._core import CasemateError
from casemate.rows.columns import Row
from casemate.rows.needed import library
from casemate.studies import table
from casemate.terminal import screen

Status = Literal["done", "failed"]

LOCK = ".lock"
WORKERS_FOLDER = ".workers"
"""Folder of the worker processes of this computer."""
SMALL_BYTES = 32 << 20
"""Tables below this size are merged."""
MERGED_AT_ONCE = 16
"""Number of small tables that are merged into one."""
SECONDS_BETWEEN_TABLES = 1.0
"""Time during which finished rows are collected, to be written as one table."""
ROWS_OF_A_TABLE = 256


class ResultsFolder:
    """A folder of tables. Rows are added in memory and written as a new table every second."""

    def __init__(self, path: Path) -> None:
        """Opens or makes the folder. Raises `CasemateError` if another client has opened it, if a table has another
        schema or cannot be read, or if the folder cannot be written.
        """
        self._is_new = not path.exists()
        screen.make_folder(path)
        self.path = path
        self.notices: list[str] = []
        """Findings that the user should see: damaged tables."""
        self._lock = _locked(path)
        self._known: dict[str, Status] = {}
        try:
            self._clean()
            for each in table.written(path):
                self._learn(each)
        except BaseException:
            self._lock.close()
            raise
        self._waiting: list[Row] = []
        self._last_written = time.monotonic()

    def __enter__(self) -> "ResultsFolder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.flush()
        finally:
            self._leave_unused()
            self._lock.close()

    def _leave_unused(self) -> None:
        """Removes the lock of a folder without anything else, and the folder if it was made for this study."""
        if [each.name for each in self.path.iterdir()] == [LOCK]:
            (self.path / LOCK).unlink()
            if self._is_new:
                self.path.rmdir()

    @property
    def known(self) -> dict[str, Status]:
        """The status of each point in the folder, by the hash of the point."""
        return dict(self._known)

    def add(self, row: Row) -> None:
        """Adds the row of a point that ended. A row of a failed point is replaced; a point that is done stays."""
        if self._known.get(str(row["point"])) != "done":
            self._waiting.append(row)
            self._note(row)

    def flush_if_due(self) -> None:
        """Writes the added rows, if they are many or have waited for a second."""
        is_late = time.monotonic() - self._last_written > SECONDS_BETWEEN_TABLES
        if len(self._waiting) >= ROWS_OF_A_TABLE or (self._waiting and is_late):
            self.flush()

    def flush(self) -> None:
        """Writes the added rows as a table, and merges small tables if there are many. Raises `CasemateError` if the
        disk refuses it; the rows are kept in memory then.
        """
        if self._waiting:
            table.write(self.path, table.of_rows(self._waiting))
            self._waiting = []
        self._last_written = time.monotonic()
        tables = table.written(self.path)
        large = [index for index, path in enumerate(tables) if path.stat().st_size >= SMALL_BYTES]
        small = tables[max(large, default=-1) + 1 :]
        if len(small) >= MERGED_AT_ONCE:
            self._merge(small)

    def rows(self, points: Iterable[str], columns: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Returns these columns and the status of the points that the folder has, by their hash."""
        self.flush()
        wanted, found = set(points), dict[str, dict[str, Any]]()
        for row in self._read("point", "status", *columns):
            point = row["point"]
            if point in wanted and found.get(point, {}).get("status") != "done":
                found[point] = row
        return found

    def _note(self, row: Mapping[str, Any]) -> None:
        """Notes the status of a row's point, unless the point is done already."""
        if self._known.get(row["point"]) != "done":
            self._known[row["point"]] = "done" if row["status"] == "done" else "failed"

    def _read(self, *columns: str) -> list[dict[str, Any]]:
        return [row for path in table.written(self.path) for row in table.read(path, columns)]

    def _learn(self, path: Path) -> None:
        """Reads which points a table has. Puts the table aside if it is damaged."""
        try:
            rows = table.read(path, ("point", "status"))
        except CasemateError:
            self._put_aside(path)
            return
        for row in rows:
            self._note(row)

    def _put_aside(self, path: Path) -> None:
        aside = path.with_name(path.name + table.DAMAGED)
        path.replace(aside)
        self.notices.append(f"'{path}' is damaged and now called '{aside.name}': its points run again")

    def _merge(self, small: list[Path]) -> None:
        """Replaces tables by one, without the rows of failed points that later succeeded."""
        arrow = library("pyarrow")
        tables = []
        for path in small:
            try:
                tables.append(table.read_table(path))
            except CasemateError:
                for row in table.read(path, ["point"]):
                    self._known.pop(row["point"], None)
                self._put_aside(path)
                return
        rows = [row for each in tables for row in each.to_pylist()] if _disagree(tables) else None
        merged = table.of_rows(rows) if rows is not None else arrow.concat_tables(tables, promote_options="default")
        last = {point: index for index, point in enumerate(merged.column("point").to_pylist())}
        table.write(self.path, merged.take(sorted(last.values())), replaces=small)

    def _clean(self) -> None:
        """Removes half-written and replaced tables, which a killed client left, and puts damaged tables aside."""
        shutil.rmtree(self.path / WORKERS_FOLDER, ignore_errors=True)
        for partial in self.path.glob(f"{table.PARTIAL}*"):
            partial.unlink()
        for path in sorted(self.path.glob(table.PATTERN)):
            if not table.is_whole(path):
                self._put_aside(path)
        current = table.written(self.path)
        for path in current[-1:]:
            table.check_schema(path)
        for path in set(self.path.glob(table.PATTERN)) - set(current):
            path.unlink()


def _disagree(tables: list[Any]) -> bool:
    """Returns true if a column has different types in these tables."""
    kinds: dict[str, Any] = {}
    return any(kinds.setdefault(field.name, field.type) != field.type for each in tables for field in each.schema)


def _locked(path: Path) -> IO[str]:
    """Locks the folder for this process. Raises `CasemateError` with the holder if another process has it."""
    file = (path / LOCK).open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = file.read().strip() or "another process"
        file.close()
        raise CasemateError(f"'{path}' is in use by {holder}: expected to be the only client of the folder") from None
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}")
    file.flush()
    return file
