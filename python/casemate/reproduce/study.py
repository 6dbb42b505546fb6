"""What a study is made of: figures, which are numbers over cases, and trends, which are statements about them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from casemate.reproduce.runs import Case, Runs, Setting
from casemate.results.reproduce import CaseFigures, FigureFound, Reproduction, SeriesFound, TrendFound
from casemate.results.run import Record

Under = Callable[[str], Record]
"""The record of one case under the setting with this name."""
Means = dict[str, dict[str, float]]
"""Means over the cases of a figure, by the figure's number and the series."""


@dataclass(frozen=True)
class Series:
    """One number for each case."""

    name: str
    of: Callable[[Under], float]
    paper: float | None = None
    """Its mean in the paper, where the text says it."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper."""

    number: str
    title: str
    unit: str
    series: tuple[Series, ...]
    settings: tuple[str, ...]
    """The settings that it needs."""
    irregular: bool = True
    """Whether it is about the irregular workloads, or about the others."""
    mean: Literal["arithmetic", "geometric"] = "arithmetic"
    note: str = ""
    """What is other than in the paper."""


@dataclass(frozen=True)
class Trend:
    """A statement of the paper, and the measurement that it stands or falls with."""

    claim: str
    figures: tuple[str, ...]
    holds: Callable[[Means, "Each"], tuple[bool, str]]
    """Whether it holds, and the numbers."""


Each = Callable[[str, str], dict[str, float]]
"""The numbers of a figure's series by case."""


@dataclass(frozen=True)
class Study:
    """A paper's evaluation."""

    name: str
    paper: str
    machine: str
    copies: int
    conditions: tuple[str, ...]
    cases: tuple[Case, ...]
    settings: tuple[Setting, ...]
    figures: tuple[Figure, ...]
    trends: tuple[Trend, ...]

    def needed(self, numbers: Sequence[str]) -> list[tuple[Case, Setting]]:
        """The runs that these figures need, those of one case together."""
        settings = {setting.name: setting for setting in self.settings}
        wanted = [figure for figure in self.figures if figure.number in numbers]
        pairs = {
            (case.name, name): (case, settings[name])
            for figure in wanted
            for case in self.cases
            if case.irregular == figure.irregular
            for name in figure.settings
        }
        return [pairs[key] for key in sorted(pairs)]

    def found(self, numbers: Sequence[str], runs: Runs, failures: Sequence[str], interrupted: bool) -> Reproduction:
        """The figures and trends, as far as their runs are there."""
        figures = tuple(
            found for figure in self.figures if figure.number in numbers and (found := self._figure(figure, runs))
        )
        means = {figure.number: {series.name: series.ours for series in figure.series} for figure in figures}

        def each(trend: Trend) -> Each:
            """The numbers of the cases that all figures of a trend have: after Ctrl-C some lack runs."""
            concerned = {figure.number: figure for figure in figures if figure.number in trend.figures}
            common = set.intersection(*({row.case for row in figure.cases} for figure in concerned.values()))

            def numbers(number: str, series: str) -> dict[str, float]:
                place = [known.name for known in concerned[number].series].index(series)
                return {row.case: row.values[place] for row in concerned[number].cases if row.case in common}

            return numbers

        trends = tuple(
            TrendFound(claim=trend.claim, holds=holds, measured=measured)
            for trend in self.trends
            if all(number in means for number in trend.figures)
            for holds, measured in [trend.holds(means, each(trend))]
        )
        return Reproduction(
            paper=self.paper, machine=self.machine, conditions=self.conditions, figures=figures, trends=trends,
            failures=tuple(failures), interrupted=interrupted,
            holds=not failures and all(trend.holds for trend in trends),
        )  # fmt: skip

    def _figure(self, figure: Figure, runs: Runs) -> FigureFound | None:
        def values(case: Case) -> tuple[float, ...] | None:
            if any((case.name, name) not in runs for name in figure.settings):
                return None
            return tuple(series.of(lambda name: runs[case.name, name]) for series in figure.series)

        cases = [case for case in self.cases if case.irregular == figure.irregular]
        rows = [CaseFigures(case=case.name, values=found) for case in cases if (found := values(case))]
        if not rows:
            return None
        mean = fmean if figure.mean == "arithmetic" else geometric
        series = tuple(
            SeriesFound(name=series.name, paper=series.paper, ours=mean([row.values[place] for row in rows]))
            for place, series in enumerate(figure.series)
        )
        return FigureFound(
            number=figure.number, title=figure.title, unit=figure.unit, mean=figure.mean, series=series,
            cases=tuple(rows), note=figure.note,
        )  # fmt: skip


def geometric(values: Sequence[float]) -> float:
    """The geometric mean of positive numbers."""
    return math.exp(fmean(math.log(value) for value in values))
