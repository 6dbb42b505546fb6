"""Building blocks of statements about figures."""

from collections.abc import Iterable
from itertools import pairwise

from casemate.reproduce.study import Each, Finding, Means, Trend


def listed(values: Means, figure: str, names: Iterable[str], unit: str = "%") -> str:
    """Returns the means of these series as text, each with its name."""
    return ", ".join(f"{name} {values[figure][name]:.3g}{unit and ' ' + unit}" for name in names)


def rising(values: Iterable[float]) -> tuple[float, ...]:
    """Returns the difference of each value from the preceding value."""
    return tuple(later - earlier for earlier, later in pairwise(values))


def ordered(claim: str, figure: str, names: tuple[str, ...]) -> Trend:
    """Returns the trend that the means of these series rise in this order."""

    def find(means: Means, each: Each) -> Finding:
        return Finding(rising(means[figure][name] for name in names), listed(means, figure, names))

    return Trend(claim, (figure,), find)


def rank_correlation(ones: list[float], others: list[float]) -> float:
    """Spearman's rank correlation; only ranks matter, and no two values are equal."""

    def ranks(values: list[float]) -> list[int]:
        order = sorted(range(len(values)), key=values.__getitem__)
        return [order.index(value) for value in range(len(values))]

    count = len(ones)
    apart = sum((one - other) ** 2 for one, other in zip(ranks(ones), ranks(others), strict=True))
    return 1 - 6 * apart / (count * (count**2 - 1)) if count > 1 else 0.0
