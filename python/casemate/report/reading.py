"""Reads the rows of a page from a results folder: DuckDB pairs each run with its baseline and computes the measures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casemate import api
from casemate._core import CasemateError
from casemate.report import latencies
from casemate.report.figure import Context, Measure, Swept
from casemate.rows.columns import column
from casemate.schemas.catalogue import STOPPED
from casemate.studies import study_file
from casemate.studies.query import Results
from casemate.studies.study import Study
from casemate.text import amounts

Rows = list[dict[str, Any]]

SHOWN = 5
"""Largest number of names that an error lists."""

CONDITIONS = ("options", "budget", "untimed", "warm_up", "age", "detail")
"""Columns of a run, in addition to those of the machine, that a run shares with its baseline."""


@dataclass(frozen=True)
class Source:
    """An opened results folder, with its last study if it keeps one."""

    folder: Path
    results: Results
    study: Study | None
    columns: frozenset[str]
    where: str = ""

    @staticmethod
    def of(folder: Path, version: str | None, every_study: bool, where: str = "") -> "Source":
        """Opens a results folder. Raises `CasemateError` if it has no results."""
        found = Results(folder, version, every_study)
        if where:
            found.check_condition(where)
        return Source(folder, found, study_file.kept_study(folder), frozenset(found.columns()), where)

    def ask(self, question: str) -> Rows:
        """Returns the answer to a question in SQL as rows."""
        answer = self.results.sql(question, self.where if f"({self.where}\n)" in question else "")
        return [dict(zip(answer.names, row, strict=True)) for row in answer.rows()]

    def column(self, name: str) -> str:
        """Returns a column in SQL; NULL if no row has a value in it, because tables leave out such columns."""
        return f'"{name}"' if name in self.columns else f"NULL::VARCHAR AS {name}"

    @property
    def _selected(self) -> str:
        """Condition for the runs that the user selects."""
        return f"({self.where}\n)" if self.where else "true"

    @property
    def shown(self) -> str:
        """Condition for the runs of the page: those without a failed check, as far as the user selects them."""
        return f"checks_passed IS NOT FALSE AND {self._selected}" if self._has_checks else self._selected

    def unsound(self) -> int:
        """Returns the number of runs that the page leaves out because a check of the run failed."""
        if not self._has_checks:
            return 0
        question = f"SELECT count(*) AS runs FROM runs WHERE checks_passed IS FALSE AND {self._selected}"
        return int(self.ask(question)[0]["runs"])

    @property
    def _has_checks(self) -> bool:
        return "checks_passed" in self.columns


def baseline_of(source: Source) -> str | None:
    """Returns the design to which ratios compare: that of the study, or `none`; `None` if no run has it."""
    named = source.study.compared_with if source.study and source.study.programs else "none"
    found = designs(source)
    return named if named in found and len(found) > 1 else None


def designs(source: Source) -> set[str]:
    """Returns the designs of the runs of the page."""
    return {row["design"] for row in source.ask(f"SELECT DISTINCT design FROM runs WHERE {source.shown}")}


def no_runs(source: Source) -> CasemateError:
    """Returns the error that no run meets the condition of the user, with the names that a condition may have."""
    listed = []
    for name in ("program", "design", "machine"):
        values = [row[name] for row in source.ask(f"SELECT DISTINCT {name} FROM runs ORDER BY ALL")]
        others = " or others" if len(values) > SHOWN else ""
        listed.append(f"{name} is {' or '.join(map(repr, values[:SHOWN]))}{others}")
    return CasemateError(f"no run of '{source.folder}' meets the condition {source.where}: {'; '.join(listed)}")


def swept_of(source: Source) -> tuple[Swept, ...]:
    """Returns the keys that the study of the folder sweeps, as far as the results have their columns."""
    found: list[Swept] = []
    for key in source.study.swept_keys if source.study else ():
        designs = {row["design"] for row in source.ask("SELECT DISTINCT design FROM runs")}
        design = next((name for name in designs if key.startswith(f"design.{name}.")), None)
        path = f"design.{key.removeprefix(f'design.{design}.')}" if design else key
        try:
            found.append(Swept(key, column(path, source.columns), f"swept_{len(found)}", design))
        except CasemateError:
            continue
    return tuple(found)


def _varying(source: Source, swept: Sequence[Swept]) -> list[str]:
    """Returns the columns of machines and options with several values on one machine, without the swept keys."""
    listed = [name for name in sorted(source.columns) if name.startswith("machine_") or name in CONDITIONS]
    kept = [name for name in listed if name not in {each.column for each in swept}]
    if not kept:
        return []
    spread = ", ".join(f'min("{name}") IS DISTINCT FROM max("{name}") AS "{name}"' for name in kept)
    grouped = f"SELECT machine, {spread} FROM runs WHERE {source.shown} GROUP BY machine"
    rows = source.ask(f"SELECT bool_or(COLUMNS(* EXCLUDE machine)) FROM ({grouped})")
    return [name for name, varies in zip(kept, rows[0].values(), strict=True) if varies]


def _claimed(source: Source) -> str:
    """Returns the share of attacks that a run's design claims to stop, in percent, as an expression in SQL."""
    tried = [f"design_claims_{each.name.replace('-', '_')}" for each in api.attacks() if not each.hypothetical]
    known = [name for name in tried if name in source.columns]
    stopped = ", ".join(f"'{verdict}'" for verdict in STOPPED)
    ends = ", ".join(f'"{name}"' for name in known)
    listed = f"list_filter([{ends}], lambda x: x IS NOT NULL AND x <> 'not-applicable')"
    return (
        f"100.0 * len(list_filter({listed}, lambda x: x IN ({stopped}))) / nullif(len({listed}), 0)"
        if known
        else "NULL"
    )


def runs(source: Source, context: Context, measures: Sequence[Measure], protection: dict[str, float]) -> Rows:
    """Returns a row for each run: its names, seed and swept values, and its measures. `protection` has the share of
    attacks that designs stop by the campaigns of the results, if they have campaigns.
    """
    setting = ", ".join(f"coalesce(\"{name}\"::VARCHAR, '')" for name in _varying(source, context.swept)) or "''"
    swept = "".join(f', {_of_swept(each)} AS "{each.name}"' for each in context.swept)
    given = " ".join(f"WHEN {_text(name)} THEN {share!r}" for name, share in protection.items())
    stops = f"CASE design {given} END" if protection else _claimed(source)
    keys = ["program", "machine", "seed", "setting", *(each.name for each in context.swept if each.is_of_machine)]
    paired = " AND ".join(f"r.{key} IS NOT DISTINCT FROM b.{key}" for key in keys)
    listed = ["r.point", "b.point AS baseline_point", *(f"r.{name}" for name in ("design", *keys[:4], "changes"))]
    listed += [f'r."{each.name}"' for each in context.swept]
    listed += [f"({each.sql})::DOUBLE AS {each.name}" for each in measures]
    absent = "" if "changes" in source.columns else f", {source.column('changes')}"
    # The units of a sample decide which instructions two sampled runs share.
    same = "r.feed_instructions = b.feed_instructions"
    if "detail_sampled_unit" in source.columns:
        same = f"({same} OR r.detail_sampled_unit = b.detail_sampled_unit)"
    baseline = "NULL" if context.baseline is None else _text(context.baseline)
    return source.ask(
        f"WITH chosen AS (SELECT *{absent}, concat_ws('; ', {setting}) AS setting, {stops} AS protection{swept} "
        f"FROM runs {latencies.joined(source.columns, source.shown)} WHERE {source.shown}), "
        f"based AS (SELECT *, count(*) OVER (PARTITION BY {', '.join(keys)}) AS twins, "
        f"count(*) OVER (PARTITION BY {', '.join(keys)}, changes) AS alike FROM chosen "
        f"WHERE design = {baseline}) "
        f"SELECT {', '.join(listed)} FROM chosen r "
        f"LEFT JOIN based b ON {paired} AND {same} "
        "AND (b.twins = 1 OR (b.alike = 1 AND b.changes IS NOT DISTINCT FROM r.changes)) "
        "QUALIFY row_number() OVER (PARTITION BY r.point ORDER BY b.point) = 1 "
        f"ORDER BY r.program, r.machine, r.design IS DISTINCT FROM {baseline}, r.design, r.changes, r.seed"
    )


def _of_swept(swept: Swept) -> str:
    """Returns the value of a swept key in SQL; NULL for the designs to which the key does not belong."""
    return (
        f'CASE WHEN design = {_text(swept.design)} THEN "{swept.column}" END' if swept.design else f'"{swept.column}"'
    )


def _text(value: str | None) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def name_swept(rows: Rows, swept: Sequence[Swept]) -> dict[str, tuple[str, ...]]:
    """Replaces the values of swept keys by text, and returns the texts of each key in the order of the values."""
    options: dict[str, tuple[str, ...]] = {}
    for each in swept:
        values = {row[each.name] for row in rows} - {None}
        numbers = all(isinstance(value, int | float) for value in values)
        ordered = sorted(values) if numbers else sorted(values, key=str)
        shown = {
            value: _exact_size(value) if each.column.endswith("_bytes") and numbers else _short(value)
            for value in ordered
        }
        for row in rows:
            row[each.name] = shown.get(row[each.name])
        options[each.name] = tuple(shown.values())
    return options


def _exact_size(size: int) -> str:
    """Returns a size with as few digits as possible, so that two sizes have two texts."""
    for unit in ("TB", "GB", "MB", "KB"):
        for digits in range(1, 4):
            text = f"{size / amounts.parse_size(f'1 {unit}'):.{digits}f} {unit}"
            if amounts.parse_size(text) == size >= amounts.parse_size(f"1 {unit}"):
                return text
    return f"{size} B"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and math.isfinite(value) else str(value)


def planned_points(source: Source) -> int:
    """Returns the number of points of the study that the folder keeps."""
    return len(study_file.kept_points(source.folder) or [])
