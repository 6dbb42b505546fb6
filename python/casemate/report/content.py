"""The content of a page: its rows, its figures, and the conditions of its runs."""

from dataclasses import dataclass, field, replace
from typing import Any

from casemate._core import CasemateError
from casemate.report import campaigns, conditions, latencies, phases, reading, reproduced, sampled, summarising
from casemate.report.figure import ALL_PROGRAMS, Context, Figure
from casemate.report.figures import FIGURES
from casemate.report.reading import Rows, Source
from casemate.schemas.reproduce import Reproduction


@dataclass(frozen=True)
class Content:
    """Everything that a page shows."""

    title: str
    context: Context
    figures: tuple[Figure, ...]
    tables: dict[str, Rows]
    notices: tuple[str, ...]
    machines: dict[str, str] = field(default_factory=dict)
    """The conditions of each machine, as text."""
    conditions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Conditions of all rows of a table, by the name of the table."""


def of(source: Source, stopped_after_run: dict[str, float] | None = None) -> Content:
    """Returns the content of a page for an opened results folder. A run may add the share of attacks that each design
    stopped in the campaign after the run.
    """
    if found := reproduced.kept(source.folder):
        return _of_reproduction(found, source)
    chosen = reading.designs(source)
    if source.where and not chosen:
        raise reading.no_runs(source)
    tables = {"attacks": campaigns.attacks(source), "crashes": campaigns.crashes(source)}
    if source.where:
        # A condition is on columns of runs: of the campaigns, the page keeps those of the designs of these runs.
        tables = {name: [row for row in rows if row["design"] in chosen] for name, rows in tables.items()}
    stopped = campaigns.protection(tables["attacks"]) or stopped_after_run or {}
    tested = stopped if chosen <= stopped.keys() else {}
    computed = {"protection"} | (latencies.COLUMNS if latencies.has_records(source.columns) else frozenset())
    context = Context(
        columns=source.columns | computed, baseline=reading.baseline_of(source), swept=reading.swept_of(source),
        protection_of="in the campaigns of these results" if tested else "as it claims: no campaign tests all designs",
    )  # fmt: skip
    possible = [figure for entry in FIGURES for figure in entry(context)]
    measures = {each.name: each for figure in possible for each in figure.measures}
    rows = reading.runs(source, context, list(measures.values()), tested)
    sampled.compare(source, rows)
    context = replace(context, options=reading.name_swept(rows, context.swept))
    _label(rows)
    context = replace(context, labels=_labels(rows, context.baseline))
    for campaign in ("attacks", "crashes"):
        tables[campaign].sort(key=lambda row: (row["design"] != context.baseline, row["label"]))
    notices = tuple(conditions.notices(source, rows))
    tables["runs"] = rows
    tables["intervals"], too_many = phases.rows(source, rows)
    figures = tuple(_pruned(figure, tables[figure.table]) for figure in possible if _has_data(figure, tables))
    used = {each.name: each for figure in figures for each in figure.measures}
    unused = {"point", "baseline_point", "changes"} | (measures.keys() - used.keys())
    kept = [{name: value for name, value in row.items() if name not in unused} for row in rows]
    summary = summarising.summarised(kept, used.values(), within(context))
    tables["runs"] = summary.rows
    return Content(
        title=f"Study {source.study.name}" if source.study else f"Results in {source.folder.name}",
        context=context,
        figures=figures,
        tables={name: rows for name, rows in tables.items() if rows},
        notices=(*notices, *too_many, *summary.notices), machines=conditions.of_machines(source),
        conditions={
            "runs": (*summary.conditions, *conditions.of_runs(source)),
            "intervals": tuple(conditions.of_runs(source)),
        }
        | {name: tuple(conditions.of_campaigns(source, name)) for name in ("attacks", "crashes")},
    )  # fmt: skip


def _of_reproduction(found: Reproduction, source: Source) -> Content:
    """Returns the content of a page for a paper's evaluation that was run again. Raises `CasemateError` for a condition
    of the user: the folder keeps the numbers of whole figures.
    """
    if source.where:
        raise CasemateError(
            f"a reproduction has the figures of all its runs: expected no condition, and --where is {source.where}"
        )
    notices = (*source.results.notices, *found.conditions, *found.left_out, *found.failures)
    interrupted = (
        ("The evaluation was interrupted: its figures use the runs that were done.",) if found.interrupted else ()
    )
    tables = {"trends": reproduced.trends(found), "paper": reproduced.numbers(found)}
    return Content(
        title=found.paper, context=Context(columns=source.columns, baseline=None),
        figures=tuple(reproduced.figures(found)), tables={name: rows for name, rows in tables.items() if rows},
        notices=(*interrupted, *notices), conditions={name: (conditions.version(source),) for name in tables},
    )  # fmt: skip


def _labels(rows: Rows, baseline: str | None) -> tuple[str, ...]:
    """Returns the names of designs in figures, first the baseline."""
    found = sorted({(row["design"] != baseline, row["label"]) for row in rows})
    return tuple(dict.fromkeys(label for _, label in found))


def _label(rows: Rows) -> None:
    """Gives each row its name in figures: the design, with its machine if there are several."""
    several = len({row["machine"] for row in rows}) > 1
    for row in rows:
        row["label"] = row["design"] + (f" on {row['machine']}" if several else "")


def _has_data(figure: Figure, tables: dict[str, Rows]) -> bool:
    """Returns true if any row of the figure's table has one of its numbers."""
    rows = tables[figure.table]
    if figure.layout == "cells":
        return bool(rows)
    return any(row.get(measure.name) is not None for row in rows for measure in figure.measures)


def _pruned(figure: Figure, rows: Rows) -> Figure:
    """Returns the figure without measures that no row has, and without parts of a sum that are zero in every row."""
    empty = (None, 0) if figure.layout == "stack" else (None,)
    kept = tuple(each for each in figure.measures if any(row[each.name] not in empty for row in rows))
    return replace(figure, measures=kept)


def within(context: Context) -> list[str]:
    """Returns the columns whose values the runs of compared designs share."""
    return ["program", "setting", "seed", *(each.name for each in context.swept if each.is_of_machine)]


def all_programs(content: Content) -> str:
    """Returns the name of the mean over all programs, which no program has."""
    programs = {row["program"] for row in content.tables.get("runs", [])}
    return ALL_PROGRAMS if ALL_PROGRAMS not in programs else f"mean of {ALL_PROGRAMS}"


def order(content: Content) -> dict[str, list[str]]:
    """Returns the order of names in tables and on axes, by column."""
    programs: dict[str, Any] = dict.fromkeys(row["program"] for row in content.tables.get("runs", []))
    swept = {name: list(values) for name, values in content.context.options.items()}
    return {"label": list(content.context.labels), "program": [*programs, all_programs(content)], **swept}
