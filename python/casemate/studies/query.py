"""Questions to a results folder, or to records of `casemate run --output`, which DuckDB answers without writing."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from casemate._core import CasemateError
from casemate.laboratory import arguments
from casemate.rows import frames
from casemate.rows.columns import column, flat
from casemate.rows.needed import library
from casemate.studies import identity, study_file, table
from casemate.studies.points import Kind
from casemate.studies.question import SETTING, Question, check_condition
from casemate.text import amounts, one_line
from casemate.text.nearest import hint

VIEWS: dict[str, str] = {"run": "runs", "attack": "attacks", "crash": "crashes"}
"""Names of the tables of points that are done, by kind."""
USUAL: dict[str, tuple[str, ...]] = {
    "run": (
        "point", "program", "machine", "design", "changes", "seed", "instructions", "ipc", "read_latency_ns", "time_fs",
        "dram_bytes", "checks_passed",
    ),
    "attack": ("point", "design", "changes", "seed", "trials", "agrees"),
    "crash": ("point", "design", "changes", "seed", "points", "memories", "tampered", "agrees"),
}  # fmt: skip
"""Columns that are shown by default."""
FAILED = ("point", "kind", "program", "machine", "design", "changes", "seed", "error", "command")
ORDER = ("program", "machine", "changes", "design", "seed")
POINT_DIGITS = 12
"""Digits of a point's hash among the columns that are shown by default."""
VERSION = "version || CASE build WHEN '' THEN '' ELSE '+' || build END"
"""Version of Casemate in SQL: as stated, with the build if it is known."""
HEADS = "point, kind, status, version, build, finished, table_file"
"""Columns that decide which rows are shown."""
ONCE = (
    "QUALIFY row_number() OVER (PARTITION BY point, version, build ORDER BY status = 'done' DESC, table_file DESC) = 1"
)
"""Clause that keeps one row of each point, done rather than failed."""
NOT_SHOWN = ("table_file",)
LAST_STUDY = "CREATE TABLE last_study AS SELECT unnest(?::VARCHAR[]) AS point, unnest(?::VARCHAR[]) AS title"
RENAMED = (
    "* REPLACE (coalesce((SELECT nullif(title, '') FROM last_study WHERE last_study.point = each.point), program) "
    "AS program)"
)
"""Columns of a row `each`: a program has its name in the last study, also if the row was stored under another name."""
SHOWN_NOTICES = 3
"""Largest number of files that the error about a folder without results names."""


class Results:
    """The rows of a folder, as tables of a database in memory: `runs`, `attacks`, `crashes` and `failed`."""

    def __init__(self, folder: Path, version: str | None = None, every_study: bool = False) -> None:
        """Opens a folder. `version` selects the rows of another version of Casemate, as `notices` name it; the build
        may be left out. Without `every_study`, only the points of the folder's last study are shown. Raises
        `CasemateError` if there is no results folder, if it has another schema, or if no row has this version.
        """
        self.notices: list[str] = []
        """Rows and files that are not shown, each with the reason."""
        self._folder = folder
        self._database = library("duckdb").connect()
        self._database.execute(SETTING)
        try:
            source = self._source(folder, table.is_whole)
            self._database.execute(f"CREATE TABLE heads AS SELECT {HEADS} {source}")
        except library("duckdb").Error:
            self.notices.clear()
            source = self._source(folder, self._is_readable)
            self._database.execute(f"CREATE TABLE heads AS SELECT {HEADS} {source}")
        has_repeated = "SELECT count(*) > count(DISTINCT point) FROM heads"
        if self._database.execute(has_repeated).fetchall()[0][0]:
            source = f"{source} {ONCE}"
            self._database.execute(f"CREATE OR REPLACE TABLE heads AS FROM heads {ONCE}")
        chosen = self._chosen(folder, version)
        points = study_file.kept_points(folder) or {}
        self._database.execute(LAST_STUDY, [list(points), list(points.values())])
        is_last_only = bool(points) and not every_study and self._removes_earlier()
        # A view would be bound again for each question, which takes longer than most answers.
        among = " AND point IN (SELECT point FROM last_study)" if is_last_only else ""
        columns = RENAMED if any(points.values()) else "*"
        self._shown = f"(SELECT {columns} FROM ({source}) each WHERE {VERSION} = '{chosen}'{among})"
        self._has_views = False

    def __repr__(self) -> str:
        found = ", ".join(f"{count:,} {kind} {status}" for (kind, status), count in self.counts().items())
        return one_line.between("<Results of ", str(self._folder), f": {found}>")

    def _source(self, folder: Path, is_usable: Callable[[Path], bool]) -> str:
        """Returns the FROM clause with all rows of a folder, from its usable tables."""
        expected = "expected the folder of `casemate sweep` or of `casemate run --output`"
        if not folder.is_dir():
            raise CasemateError(f"there is no results folder '{folder}': {expected}")
        tables = table.written(folder)
        whole = [path for path in tables if self._is_usable(path, is_usable)]
        if whole:
            table.check_schema(whole[-1])
            listed = ", ".join("'" + str(path).replace("'", "''") + "'" for path in whole)
            options = "union_by_name = true, filename = 'table_file', hive_partitioning = false"
            return f"FROM read_parquet([{listed}], {options})"
        rows = [row for path in sorted(folder.rglob("*.json")) if (row := self._of_record(path))]
        if not rows:
            left_out = f" ({'; '.join(self.notices[:SHOWN_NOTICES])})" if self.notices else ""
            raise CasemateError(f"'{folder}' has no results{left_out}: {expected}")
        self._database.register("records", table.of_rows(rows))
        self._database.execute("CREATE TABLE stored_records AS SELECT *, '' AS table_file FROM records")
        return "FROM stored_records"

    def _is_usable(self, path: Path, is_usable: Callable[[Path], bool]) -> bool:
        """Returns true if the rows of a table can be shown; otherwise a notice has the reason."""
        try:
            if is_usable(path):
                return True
            self.notices.append(f"'{path}' is damaged and left out")
        except CasemateError as error:
            self.notices.append(f"{error}; the table is left out")
        return False

    def _is_readable(self, path: Path) -> bool:
        """Returns true if DuckDB can read all rows of a table. Raises `CasemateError` if the file cannot be read."""
        if not table.is_whole(path):
            return False
        try:
            self._database.execute(
                "SELECT COLUMNS(*) FROM read_parquet(?, hive_partitioning = false)", [str(path)]
            ).fetchall()
        except library("duckdb").Error:
            return False
        return True

    def _of_record(self, path: Path) -> dict[str, Any] | None:
        """Returns the row of a record that `casemate run` wrote; `None` if the file is something else."""
        try:
            text = path.read_text()
            record = json.loads(text)
            configuration = record["configuration"]
            heading = {
                "point": record["configuration_hash"], "kind": "run", "status": "done", "build": "",
                "version": configuration["version"], "program": " ".join(configuration["workload"]["program"]),
                "changes": "", "error": "", "command": "", "finished": "",
            }  # fmt: skip
            return flat(record) | heading | {"record": text}
        except OSError as error:
            self.notices.append(f"cannot read '{path}': {error.strerror or error}; the file is left out")
        except (ValueError, KeyError, TypeError):
            self.notices.append(f"'{path}' is no record of a run and left out")
        return None

    def _chosen(self, folder: Path, version: str | None) -> str:
        """Returns the version of Casemate, with its build, that selects the rows: the requested one, otherwise this one
        if the folder has any rows of it.
        """
        question = f"SELECT {VERSION} AS v, count(*) FROM heads GROUP BY v ORDER BY max(finished)"
        counts = dict(self._database.execute(question).fetchall())
        # A record of `casemate run` states the version without the build.
        own = (f"{identity.VERSION}+{identity.BUILD}", identity.VERSION)
        current = next((name for name in own if name in counts), own[0])
        # A version without a build selects this build, or otherwise the last one.
        matching = [name for name in counts if version in (None, name, name.partition("+")[0])]
        if not matching:
            there = f"{hint(str(version), counts)}; there are: {', '.join(counts)}"
            raise CasemateError(f"'{folder}' has no results of version '{version}'{there}")
        chosen = next((name for name in matching if name == version), current if current in matching else matching[-1])
        others = [f"{count:,} of {name}" for name, count in counts.items() if name != chosen]
        if others or chosen != current:
            left = f"; not shown: {', '.join(others)} (--version shows them)" if others else ""
            self.notices.append(f"results of version {chosen}, and this is {current}{left}")
        self._database.execute(f"DELETE FROM heads WHERE {VERSION} <> '{chosen}'")
        return chosen

    def _removes_earlier(self) -> bool:
        """Removes the points of earlier studies from the counted ones. Returns true if there were any."""
        earlier = "FROM heads WHERE point NOT IN (SELECT point FROM last_study)"
        ((others,),) = self._database.execute(f"SELECT count(*) {earlier}").fetchall()
        if others:
            self._database.execute(f"DELETE {earlier}")
            rows = amounts.counted(others, "row")
            self.notices.append(f"{rows} of earlier forms of the study not shown: --all shows them (column options)")
        return bool(others)

    def counts(self) -> dict[tuple[str, str], int]:
        """Returns the number of points by kind and status (`done` or `failed`), first those of runs."""
        question = "SELECT kind, status, count(*) FROM heads GROUP BY ALL ORDER BY kind DESC"
        return {(kind, status): count for kind, status, count in self._database.execute(question).fetchall()}

    def columns(self) -> list[str]:
        """Returns the names of all columns."""
        question = Question(f"DESCRIBE FROM {self._shown}")
        try:
            described = self._database.execute(question.sql).fetchall()
        except library("duckdb").Error as error:
            raise question.refused(error) from None
        return [name for name, *_ in described if name not in NOT_SHOWN]

    def select(self, kind: Kind, where: str | None = None, columns: Sequence[str] = ()) -> "Answer":
        """Returns the rows of one kind; `where` is a condition in SQL. Raises `CasemateError` for
        an unknown column and for wrong SQL.
        """
        return self._of(_done(kind), USUAL[kind], where, columns)

    def failed(self, where: str | None = None, columns: Sequence[str] = ()) -> "Answer":
        """Returns the rows of failed points, likewise."""
        return self._of("status = 'failed'", FAILED, where, columns)

    def _of(self, rows: str, usual: Sequence[str], where: str | None, columns: Sequence[str]) -> "Answer":
        known = self.columns()
        requested = [f'"{column(name, known)}"' for name in columns]
        short = f"left(point, {POINT_DIGITS}) AS point"
        listed = ", ".join(requested or [short if name == "point" else f'"{name}"' for name in usual if name in known])
        if where:
            check_condition(self._database, where)
        condition = f" AND ({where}\n)" if where else ""
        order = ", ".join(name for name in ORDER if name in known)
        question = f"SELECT {listed} FROM {self._shown} WHERE {rows}{condition} ORDER BY {order}"
        return self._answer(Question(question, where or ""))

    def check_condition(self, where: str) -> None:
        """Raises `CasemateError` unless a text is one condition in valid syntax."""
        check_condition(self._database, where)

    def sql(self, question: str, given: str | None = None) -> "Answer":
        """Returns the answer to a question in SQL over the tables; errors quote `given`, its part that a user wrote, or
        the whole question. Raises `CasemateError` for wrong SQL, and for anything but one question.
        """
        if not self._has_views:
            for kind, view in VIEWS.items():
                self._database.execute(f"CREATE VIEW {view} AS FROM {self._shown} WHERE {_done(kind)}")
            self._database.execute(f"CREATE VIEW failed AS FROM {self._shown} WHERE status = 'failed'")
            self._has_views = True
        return self._answer(Question(question, question if given is None else given))

    def _answer(self, question: Question) -> "Answer":
        question.check(self._database)
        try:
            return Answer(self._database.sql(question.sql), question)
        except library("duckdb").Error as error:
            raise question.refused(error) from None

    def record(self, point: str) -> str:
        """Returns the JSON record of a point, from the first digits of its hash. Raises `CasemateError` unless exactly
        one point that is done has these digits.
        """
        question = f"SELECT record FROM {self._shown} WHERE starts_with(point, ?) AND record IS NOT NULL"
        found = self._database.execute(question, [point]).fetchall()
        if len(found) != 1:
            reason = f"{len(found)} points have" if found else "no point that is done has"
            raise CasemateError(f"{reason} a hash that begins with '{point}'")
        return str(found[0][0])


class Answer:
    """The answer to a question: names and rows."""

    def __init__(self, relation: Any, question: Question) -> None:
        self._relation, self._question = relation, question
        self.names: list[str] = list(relation.columns)

    def __repr__(self) -> str:
        return one_line.between("<Answer: ", ", ".join(self.names), ">")

    def rows(self) -> list[tuple[Any, ...]]:
        """Returns all rows. Raises `CasemateError` if a value cannot be computed."""
        try:
            return list(self._relation.fetchall())
        except library("duckdb").Error as error:
            raise self._question.refused(error) from None

    def arrow(self) -> Any:
        """Returns all rows as an Arrow table."""
        try:
            return self._relation.to_arrow_table()
        except library("duckdb").Error as error:
            raise self._question.refused(error) from None


def _done(kind: str) -> str:
    """Returns the condition for points of one kind that are done."""
    return f"status = 'done' AND kind = '{kind}'"


def results(
    folder: Path | str,
    *,
    where: str | None = None,
    columns: Sequence[str] = (),
    kind: Kind = "run",
    version: str | None = None,
    every_study: bool = False,
) -> Any:
    """Returns the rows of a results folder, or of records of `casemate run --output`, as a frame of polars, or of
    pandas without polars.

    `where` is a condition in SQL over the columns, as in `"design <> 'none' AND ipc < 1"`; `columns` selects some, and
    is all by default. Only the points of the folder's last study are returned, unless `every_study` is true.
    """
    arguments.one_of(kind, VIEWS, "kind of points")
    found = Results(Path(folder), version, every_study)
    return frames.frame_of_arrow(found.select(kind, where, columns or found.columns()).arrow())
