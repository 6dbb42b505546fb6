"""Figures of a study's report: means over programs and seeds, with 95 % intervals over the seeds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from casemate.reproduce.study import geometric, half_width
from casemate.rows.columns import unit
from casemate.schemas.reproduce import CaseFigures, FigureFound, SeriesFound
from casemate.studies.expansion import Cell
from casemate.studies.study import RATIOS, Study, StudyFigure

Rows = Mapping[str, Mapping[str, Any]]
"""Columns of points by their hash."""

EXECUTED = "feed_instructions"
"""Column with the instructions that a run executed, its warm-up included. The column `instructions` has only those
after the warm-up, and cores do not end a warm-up at the same instruction under each design.
"""


def columns(study: Study) -> list[str]:
    """Returns the columns that the figures of a study need."""
    named = [RATIOS.get(figure.value, figure.value) for figure in usual(study)]
    return list(dict.fromkeys([*named, EXECUTED]))


def usual(study: Study) -> tuple[StudyFigure, ...]:
    """Returns the figures of a study; by default the slowdown over its first swept key, or over its programs."""
    if study.figures or not study.programs:
        return study.figures
    several = len(study.designs) > 1
    return (StudyFigure(value="slowdown" if several else "ipc", x=next(iter(study.swept_keys), "program")),)


def found(study: Study, cells: Iterable[Cell], rows: Rows) -> tuple[FigureFound, ...]:
    """Returns the figures of a study, as far as their points are done."""
    runs = [cell for cell in cells if cell.point.kind == "run"]
    figures = (_figure(study, figure, number + 1, runs, rows) for number, figure in enumerate(usual(study)))
    return tuple(figure for figure in figures if figure is not None)


def _figure(study: Study, figure: StudyFigure, number: int, runs: Sequence[Cell], rows: Rows) -> FigureFound | None:
    values = _values(study, figure, runs, rows)
    groups: Groups = {}
    for cell in runs:
        value = values.get(_key(cell))
        if value is not None:
            group = groups.setdefault((cell.coordinate(figure.x), cell.coordinate(figure.series)), {})
            group[_within(cell, figure)] = value
    series = list(dict.fromkeys(name for _, name in groups))
    cases = [x for x in dict.fromkeys(x for x, _ in groups) if all((x, name) in groups for name in series)]
    by_seed = _by_seed({key: group for key, group in groups.items() if key[0] in cases}, figure)
    seeds = sorted({seed for group in by_seed.values() for seed in group})
    if not seeds:
        return None
    mean = _mean(figure)
    partial = "" if len(values) == len(runs) else f" (partial: {len(values):,} of {len(runs):,} runs)"

    def of_cases(name: str) -> list[float]:
        return [mean([by_seed[x, name][seed] for x in cases]) for seed in seeds]

    title = (figure.title or _title(study, figure)) + partial
    return FigureFound(
        number=str(number), title=title, unit=_unit(figure), mean=figure.mean,
        series=tuple(
            SeriesFound(name=name, paper=None, ours=fmean(of_cases(name)), half_width=half_width(of_cases(name)))
            for name in series
        ),
        cases=tuple(
            CaseFigures(
                case=x,
                values=tuple(fmean(by_seed[x, name].values()) for name in series),
                half_widths=tuple(half_width(list(by_seed[x, name].values())) for name in series),
            )
            for x in cases
        ),
        seeds=study.all_seeds if seeds == [0] else tuple(seeds), note="",
    )  # fmt: skip


Groups = dict[tuple[str, str], dict[tuple[Any, ...], float]]
"""Values by position on the axis and series, each by the remaining coordinates, which begin with the seed."""


def _within(cell: Cell, figure: StudyFigure) -> tuple[Any, ...]:
    """Returns the coordinates of a cell within its group: the seed and every change that the figure does not show."""
    axes = [axis for axis in ("program", "machine", "design", *cell.swept) if axis not in (figure.x, figure.series)]
    seed = 0 if "seed" in (figure.x, figure.series) else cell.point.seed
    return seed, *(cell.coordinate(axis) for axis in axes)


def _by_seed(groups: Groups, figure: StudyFigure) -> dict[tuple[str, str], dict[int, float]]:
    """Returns the mean of each group for each seed, over the coordinates that all groups have: an unfinished study must
    not compare different programs.
    """
    common = set.intersection(*(set(group) for group in groups.values())) if groups else set()
    mean = _mean(figure)
    found: dict[tuple[str, str], dict[int, float]] = {}
    for key, group in groups.items():
        by_seed: dict[int, list[float]] = {}
        for within in sorted(common, key=str):
            by_seed.setdefault(within[0], []).append(group[within])
        found[key] = {seed: mean(values) for seed, values in by_seed.items()}
    return found


def _mean(figure: StudyFigure) -> Callable[[Sequence[float]], float]:
    return geometric if figure.mean == "geometric" else fmean


Key = tuple[str, tuple[tuple[str, Any], ...]]


def _key(cell: Cell) -> Key:
    """Returns the identity of a cell, since several cells may share a point."""
    return f"{cell.program} {cell.point.hash}", tuple(sorted(cell.swept.items()))


def _values(study: Study, figure: StudyFigure, runs: Sequence[Cell], rows: Rows) -> dict[Key, float]:
    """Returns the figure's value in each cell that has one."""
    column = RATIOS.get(figure.value, figure.value)
    measured = {
        _key(cell): float(rows[cell.point.hash][column])
        for cell in runs
        if rows.get(cell.point.hash, {}).get(column) is not None
    }
    if figure.value not in RATIOS:
        return measured
    below = {_compared_part(cell): cell for cell in runs if cell.coordinate("design") == study.compared_with}
    ratios = {}
    for cell in runs:
        baseline = below.get(_compared_part(cell))
        if baseline is None or not {_key(cell), _key(baseline)} <= measured.keys():
            continue
        # Two designs can only be compared over the same part of the program.
        if rows[cell.point.hash].get(EXECUTED) == rows[baseline.point.hash].get(EXECUTED):
            ratios[_key(cell)] = measured[_key(cell)] / max(measured[_key(baseline)], 1.0)
    return ratios


def _compared_part(cell: Cell) -> tuple[Any, ...]:
    """Returns the coordinates that a cell shares with the cell of its baseline."""
    return cell.program, cell.point.machine, cell.point.seed, tuple(sorted(cell.swept.items()))


def _title(study: Study, figure: StudyFigure) -> str:
    against = f" against {study.compared_with}" if figure.value in RATIOS else ""
    return f"{figure.value.replace('_', ' ')}{against} by {figure.x}"


def _unit(figure: StudyFigure) -> str:
    return "x" if figure.value in RATIOS else unit(figure.value) or figure.value
