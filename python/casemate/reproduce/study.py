"""Parts of a study: figures, which are numbers over cases, and trends, which are statements about figures.

A study carries out every run with several seeds. A figure is the mean over the seeds; its confidence interval shows how
much the figure may change with other seeds. The seeds are the statistical sample. The cases are the paper's choice and
no sample, so their differences do not widen the interval. A study compares two designs seed by seed, so that each pair
of runs has the same data and the same pages.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Literal

from casemate import _core
from casemate.reproduce.runs import Bench, Case, Runs, Setting
from casemate.schemas.reproduce import (
    SEEDS_MAX,
    CaseFigures,
    FigureFound,
    Reproduction,
    SeedsNeeded,
    SeriesFound,
    TrendFound,
)
from casemate.schemas.run import Record

POINTS = 2.0
"""Half of the 95 % interval that a number in percent should have."""

Under = Callable[[str], Record]
"""Function that returns the record of one case, with one seed, under the setting with this name."""
Measure = Callable[[Record], float]
"""Function that computes a number from one record."""
Means = dict[str, dict[str, float]]
"""Means over the cases of a figure, by the number of the figure and the name of the series."""
Each = Callable[[str, str], dict[str, float]]
"""Function that returns the numbers of a series by case, from the number of the figure and the name of the series."""


@dataclass(frozen=True)
class Series:
    """One number for each case."""

    name: str
    of: Callable[[Under], float]
    paper: float | None = None
    """Mean in the paper, if the text states it."""


def of_run(name: str, measure: Measure, setting: str, paper: float | None = None) -> Series:
    """Returns the series of a measure over the runs under one setting."""
    return Series(name, lambda under: measure(under(setting)), paper)


@dataclass(frozen=True)
class Figure:
    """A figure of the paper."""

    number: str
    title: str
    unit: str
    series: tuple[Series, ...]
    settings: tuple[str, ...]
    """Names of the settings with runs that the figure needs."""
    groups: tuple[str, ...] = ()
    """Groups of cases in the figure; empty for all."""
    cases: tuple[str, ...] = ()
    """Names of the only cases in the figure; empty for all cases of its groups."""
    mean: Literal["arithmetic", "geometric"] = "arithmetic"
    note: str = ""
    """Differences from the paper."""
    one_unit: bool = True
    """True if all series have the same unit; otherwise the study prints the figure but does not draw it."""

    def is_about(self, case: Case) -> bool:
        """Returns true if the figure has a number for this case."""
        return case.group in (self.groups or (case.group,)) and case.name in (self.cases or (case.name,))


@dataclass(frozen=True)
class Finding:
    """Result of checking a statement."""

    margins: tuple[float, ...]
    """Margins of the comparisons in the statement, which holds if all margins are above zero."""
    measured: str
    """Text with the numbers that support or refute the statement."""

    @property
    def holds(self) -> bool:
        """Returns true if the statement holds."""
        return all(margin > 0 for margin in self.margins)


@dataclass(frozen=True)
class Trend:
    """A statement of the paper, and the measurement that decides it."""

    claim: str
    figures: tuple[str, ...]
    find: Callable[[Means, Each], Finding]
    within_intervals: bool = False
    """True if a margin below zero refutes the statement only when zero is outside the margin's 95 % interval."""


@dataclass(frozen=True)
class Measured:
    """Numbers of a figure by seed, for the seeds that have numbers for all its cases."""

    figure: Figure
    by_seed: Mapping[int, Mapping[str, tuple[float, ...]]]
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Time of one seed of each case, on one processor."""
    proxies: Mapping[str, str] = field(default_factory=dict)
    """Programs of the paper's benchmarks that the cases approximate."""

    @classmethod
    def of(cls, figure: Figure, cases: Sequence[Case], runs: Runs, seeds: Sequence[int]) -> "Measured | None":
        """Returns the figure as far as its runs are done: with the cases of the seed with the most complete cases, and
        the seeds that have all these cases.
        """

        def values(case: Case, seed: int) -> tuple[float, ...]:
            return tuple(series.of(lambda name: runs[case.name, name, seed]) for series in figure.series)

        found = {
            seed: {
                case.name: values(case, seed)
                for case in cases
                if all((case.name, name, seed) in runs for name in figure.settings)
            }
            for seed in seeds
        }
        most = max(found.values(), key=len, default={})
        complete = {seed: rows for seed, rows in found.items() if rows.keys() == most.keys()}
        seconds = {
            case: sum(runs[case, name, seed].host.seconds for name in figure.settings for seed in complete)
            / len(complete)
            for case in most
        }
        return cls(figure, complete, seconds, {case.name: case.proxy_of for case in cases}) if most else None

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases in the figure."""
        return tuple(next(iter(self.by_seed.values())))

    def values(self, case: str, series: int) -> list[float]:
        """Returns the numbers of a case and a series, one for each seed."""
        return [rows[case][series] for rows in self.by_seed.values()]

    def means(self, series: int) -> list[float]:
        """Returns the means of a series over the cases, one for each seed."""
        mean = fmean if self.figure.mean == "arithmetic" else geometric
        return [mean([values[series] for values in rows.values()]) for rows in self.by_seed.values()]

    def seen(self) -> FigureFound:
        """Returns the figure in the form of results."""
        figure, places = self.figure, range(len(self.figure.series))
        only = [f"Only of {', '.join(figure.cases)}."] if figure.cases else []
        series = tuple(
            SeriesFound(
                name=series.name,
                paper=series.paper,
                ours=fmean(means),
                half_width=half_width(means),
                seed_half_width=of_one_more(means),
            )
            for series, means in ((figure.series[index], self.means(index)) for index in places)
        )
        cases = tuple(
            CaseFigures(
                case=case,
                proxy_of=self.proxies.get(case, ""),
                values=tuple(fmean(self.values(case, index)) for index in places),
                half_widths=tuple(half_width(self.values(case, index)) for index in places),
                seed_half_widths=tuple(of_one_more(self.values(case, index)) for index in places),
            )
            for case in self.cases
        )
        return FigureFound(
            number=figure.number, title=figure.title, unit=figure.unit, mean=figure.mean, series=series, cases=cases,
            seeds=tuple(self.by_seed), note=" ".join([*only, figure.note]).strip(),
            one_unit=figure.one_unit, wanting=self._wanting(),
        )  # fmt: skip

    def _wanting(self) -> tuple[SeedsNeeded, ...]:
        """Returns the cases with an interval that is wider than `POINTS`, if the figure is in percent."""
        places = range(len(self.figure.series)) if self.figure.unit == "%" else ()
        found = []
        for case in self.cases:
            counts = [seeds_for(self.values(case, index), POINTS) for index in places]
            needed = None if None in counts else max((count for count in counts if count), default=0)
            if len(self.by_seed) > 1 and (needed is None or needed > len(self.by_seed)):
                seconds = self.seconds.get(case, 0.0)
                found.append(SeedsNeeded(case=case, points=POINTS, seeds=needed, seconds=seconds))
        return tuple(found)


@dataclass(frozen=True)
class Carried:
    """Outcome of a study's runs."""

    runs: Runs
    """Records of the runs that were carried out."""
    failures: Sequence[str] = ()
    """Errors of failed runs."""
    left_out: Sequence[str] = ()
    """Cases that need a program that is not on this computer."""
    interrupted: bool = False
    """True if Ctrl-C ended the study."""


@dataclass(frozen=True)
class Study:
    """Evaluation of a paper."""

    name: str
    paper: str
    bench: Bench
    conditions: tuple[str, ...]
    cases: tuple[Case, ...]
    settings: tuple[Setting, ...]
    figures: tuple[Figure, ...]
    trends: tuple[Trend, ...]
    seeds: int = 3
    """Usual number of seeds."""

    def of_cases(self, names: Sequence[str]) -> "Study":
        """Returns the study of only the cases with these names. It judges no trends: a trend is a statement about all
        cases.
        """
        return replace(self, cases=tuple(case for case in self.cases if case.name in names), trends=())

    def needed(self, numbers: Sequence[str]) -> list[tuple[Case, Setting]]:
        """Returns the cases and settings of the runs that these figures need with each seed, sorted by case."""
        settings = {setting.name: setting for setting in self.settings}
        wanted = [figure for figure in self.figures if figure.number in numbers]
        pairs = {
            (case.name, name): (case, settings[name])
            for figure in wanted
            for case in self.cases
            if figure.is_about(case)
            for name in figure.settings
        }
        return [pairs[key] for key in sorted(pairs)]

    def found(self, numbers: Sequence[str], seeds: int, carried: Carried) -> Reproduction:
        """Returns the figures and trends, as far as their runs are done."""
        runs, all_seeds = carried.runs, range(1, seeds + 1)
        measured = {
            figure.number: found
            for figure in self.figures
            if figure.number in numbers and (found := Measured.of(figure, self._cases(figure), runs, all_seeds))
        }
        trends = tuple(
            judged(trend, [measured[number] for number in trend.figures])
            for trend in self.trends
            if all(number in measured for number in trend.figures)
        )
        return Reproduction(
            paper=self.paper, machine=self.bench.machine, conditions=self.conditions, seeds=seeds,
            figures=tuple(found.seen() for found in measured.values()), trends=trends, left_out=tuple(carried.left_out),
            failures=tuple(carried.failures), interrupted=carried.interrupted,
            holds=not carried.failures and all(trend.verdict != "fails" for trend in trends),
        )  # fmt: skip

    def _cases(self, figure: Figure) -> list[Case]:
        return [case for case in self.cases if figure.is_about(case)]


def judged(trend: Trend, concerned: Sequence[Measured]) -> TrendFound:
    """Decides whether a trend holds for the means over the seeds, and whether its margins are larger than half of their
    95 % intervals.
    """
    common = set.intersection(*(set(measured.by_seed) for measured in concerned))
    finding = trend.find(*_numbers(concerned, None))
    alone = [trend.find(*_numbers(concerned, seed)).margins for seed in sorted(common)]
    widths = [half_width(margins) for margins in zip(*alone, strict=True)]
    pairs = list(zip(finding.margins, widths, strict=True)) if widths else []
    unclear = [(margin, width) for margin, width in pairs if width is not None and abs(margin) <= width]
    listed = ", ".join(f"{margin:.2g} ± {width:.2g}" for margin, width in unclear)
    said = f"; margins within their intervals: {listed}" if unclear else ""
    known = bool(pairs) and all(width is not None for _, width in pairs)
    holds = finding.holds or (
        trend.within_intervals and known and all(margin + (width or 0) > 0 for margin, width in pairs)
    )
    verdict: Literal["holds", "fails", "undecided"] = "undecided" if unclear else "holds" if holds else "fails"
    return TrendFound(
        claim=trend.claim, holds=holds, verdict=verdict, measured=finding.measured + said,
        clear=not unclear if known else None,
    )  # fmt: skip


def _numbers(concerned: Sequence[Measured], seed: int | None) -> tuple[Means, Each]:
    """Returns the numbers that a trend uses, with one seed or as means over all seeds. The numbers by case cover the
    cases that all figures of the trend contain: after Ctrl-C some figures lack runs.
    """
    by_number = {measured.figure.number: measured for measured in concerned}
    common = set.intersection(*(set(measured.cases) for measured in concerned))

    def chosen(measured: Measured, by_seed: list[float]) -> float:
        return fmean(by_seed) if seed is None else by_seed[list(measured.by_seed).index(seed)]

    def each(number: str, series: str) -> dict[str, float]:
        measured = by_number[number]
        index = [known.name for known in measured.figure.series].index(series)
        return {case: chosen(measured, measured.values(case, index)) for case in measured.cases if case in common}

    means = {
        number: {
            series.name: chosen(measured, measured.means(index)) for index, series in enumerate(measured.figure.series)
        }
        for number, measured in by_number.items()
    }
    return means, each


def half_width(values: Sequence[float]) -> float | None:
    """Half of the 95 % interval of the mean of values, by Student's distribution; `None` for a single value."""
    found = json.loads(_core.ratio(list(values), [1.0] * len(values)))
    return float(found["high"] - found["value"]) if found else None


def of_one_more(values: Sequence[float]) -> float | None:
    """Half of the 95 % prediction interval of one further value of the same kind, around the mean of `values`; `None`
    for a single value. The further value varies as one of them does, and their mean is uncertain too.
    """
    half = half_width(values)
    return None if half is None else half * math.sqrt(len(values) + 1)


def seeds_for(values: Sequence[float], points: float) -> int | None:
    """Returns the number of values that the interval of their mean would need to have a half of at most `points`, if
    they vary as these do; `None` if it is more than `SEEDS_MAX`. A single value needs one.
    """
    if len(values) < 2:
        return 1
    spread = stdev(values)
    low, high = 2, SEEDS_MAX + 1
    while low < high:
        middle = (low + high) // 2
        sample = [-1.0, 1.0] * (middle // 2) + [0.0] * (middle % 2)
        if spread * (half_width(sample) or 0.0) / stdev(sample) <= points:
            high = middle
        else:
            low = middle + 1
    return low if low <= SEEDS_MAX else None


def geometric(values: Sequence[float]) -> float:
    """The geometric mean of positive numbers."""
    return math.exp(fmean(math.log(value) for value in values))
