"""The conditions of the runs of a page, and its notices: everything that the page leaves out, with the reason."""

from collections.abc import Iterator, Sequence

from casemate.report.reading import Rows, Source, planned_points
from casemate.tables.conditions import PLACEMENTS
from casemate.text import amounts

SHOWN = 3
"""Largest number of values that a condition lists."""

NO_LIMIT = 2**64 - 1
"""Budget of a run whose program ends by itself, or whose recording ends at the limit of the command."""


def of_machines(source: Source) -> dict[str, str]:
    """Returns the name of each machine with its placement of pages."""
    if "machine_memory_placement" not in source.columns:
        return {}
    found: dict[str, list[str]] = {}
    for row in source.ask(
        f"SELECT DISTINCT machine, machine_memory_placement AS placement FROM runs WHERE {source.shown} ORDER BY ALL"
    ):
        found.setdefault(row["machine"], []).append(PLACEMENTS.get(row["placement"], str(row["placement"])))
    return {machine: f"{machine}, {' or '.join(placements)}" for machine, placements in found.items()}


def of_runs(source: Source) -> Iterator[str]:
    """Yields the length of the runs, the warm-up, the detail, and the version of Casemate."""
    if limits := [each for each in _values(source, "budget") if each < NO_LIMIT]:
        yield f"up to {_several([amounts.count(each) for each in limits])} instructions of each program"
    if executed := _executed_without_limit(source):
        yield f"{_several([amounts.count(each) for each in executed])} instructions executed"
    if "untimed" in source.columns and (untimed := [each for each in _values(source, "untimed") if each]):
        yield f"{_several([amounts.count(each) for each in untimed])} of these without time"
    if warm_up := [each for each in _values(source, "warm_up") if each]:
        yield f"{_several([amounts.count(each) for each in warm_up])} of these as warm-up"
    if "detail_sampled_unit" in source.columns and _values(source, "detail_sampled_unit"):
        yield "sampled"
    yield version(source)


def of_campaigns(source: Source, table: str) -> Iterator[str]:
    """Yields the number of trials, the seeds, and the version of Casemate."""
    if table == "attacks" and (trials := _values(source, "trials", table)):
        yield f"{_several([amounts.count(each) for each in trials])} trials of each attack"
    if seeds := _values(source, "seed", table):
        yield f"{amounts.counted(len(seeds), 'campaign')} of each design"
    yield version(source)


def _executed_without_limit(source: Source) -> list[int]:
    """Returns the numbers of instructions that runs without a limit executed, their warm-up included."""
    if not {"budget", "feed_instructions"} <= source.columns:
        return []
    question = (
        "SELECT DISTINCT feed_instructions AS value "
        f"FROM runs WHERE {source.shown} AND budget >= {NO_LIMIT} ORDER BY value"
    )
    return [row["value"] for row in source.ask(question)]


def version(source: Source) -> str:
    """Returns the version of Casemate that carried out the points."""
    rows = source.ask(
        "SELECT DISTINCT version, build FROM (SELECT version, build FROM runs UNION ALL SELECT version, build "
        "FROM attacks UNION ALL SELECT version, build FROM crashes) ORDER BY ALL"
    )
    return "Casemate " + _several([row["version"] + (f"+{row['build']}" if row["build"] else "") for row in rows])


def _values(source: Source, column: str, table: str = "runs") -> list[int]:
    """Returns the values of a column in the rows of the page, in order."""
    if column not in source.columns:
        return []
    shown = source.shown if table == "runs" else "true"
    question = f"SELECT DISTINCT {column} AS value FROM {table} WHERE {shown} AND {column} IS NOT NULL ORDER BY value"
    return [row["value"] for row in source.ask(question)]


def _several(values: Sequence[str]) -> str:
    return " or ".join(values) if len(values) <= SHOWN else f"{values[0]} to {values[-1]}"


def notices(source: Source, rows: Rows) -> Iterator[str]:
    """Yields the points that the page leaves out, and the missing baseline."""
    yield from source.results.notices
    counts = source.results.counts()
    if failed := sum(count for (_, status), count in counts.items() if status == "failed"):
        points = amounts.counted(failed, "point")
        yield f"{points} failed and appear in no figure: casemate results --failed lists them."
    if left := source.unsound():
        yield f"{amounts.counted(left, 'run')} left out: a check of the run failed."
    if source.where:
        yield f"Only runs that meet the condition: {source.where}"
    if (planned := planned_points(source)) > (ended := sum(counts.values())):
        yield f"The study is unfinished: {planned - ended:,} of {planned:,} points are missing."
    if source.study is None and (changes := len({row["changes"] for row in rows})) > 1:
        yield (
            f"The runs have {changes:,} sets of changed keys, and no study names these keys: numbers are means over "
            "them, each compared with the baseline under the same machine. --where SQL selects runs."
        )
    without = sum(row["baseline_point"] is None for row in rows)
    if 0 < without < len(rows):
        yield (
            f"{amounts.counted(without, 'run')} without a ratio: no run of the baseline has the same program, machine, "
            "options, seed and length, or several have."
        )
    if rows and without == len(rows):
        yield "No run has a baseline, so the page shows no slowdown. Add the design none for ratios."
