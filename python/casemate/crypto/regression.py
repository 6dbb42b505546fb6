"""Straight lines through measured points by least squares: the cost of one more engine, and the constant part.

The same function fits a published estimate and our engine's figures, so that their extrapolations to many engines
differ only by their points.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from casemate._core import CasemateError


@dataclass(frozen=True)
class Line:
    """A number that grows by `slope` with each step from `intercept`, in the unit of the fitted values."""

    slope: float
    intercept: float

    def at(self, x: float) -> float:
        """Value of the line at `x`."""
        return self.slope * x + self.intercept


@dataclass(frozen=True)
class EnginePoint:
    """A number of engines side by side, as a synthesis reports them."""

    modules: int
    area_um2: float
    power_mw: float


@dataclass(frozen=True)
class EngineFit:
    """Area in square micrometres and power in milliwatts over the number of engines."""

    area_um2: Line
    power_mw: Line


def fit_engines(points: Sequence[EnginePoint]) -> EngineFit:
    """Returns lines through these points. Raises `CasemateError` unless they have two numbers of engines."""
    return EngineFit(
        area_um2=least_squares([(point.modules, point.area_um2) for point in points]),
        power_mw=least_squares([(point.modules, point.power_mw) for point in points]),
    )


def least_squares(points: Sequence[tuple[float, float]]) -> Line:
    """The line with the least sum of squared differences from the second number of each pair.

    Raises `CasemateError` unless the first numbers are two different ones at least.
    """
    weights = _weights([x for x, _ in points])
    values = [value for _, value in points]
    return Line(
        slope=sum(weight.slope * value for weight, value in zip(weights, values, strict=True)),
        intercept=sum(weight.intercept * value for weight, value in zip(weights, values, strict=True)),
    )


def rounding_reach(xs: Sequence[float], half_unit: float) -> Line:
    """Returns the largest errors of slope and of intercept, each considered separately, if values are rounded to within
    `half_unit`.
    """
    weights = _weights(xs)
    return Line(
        slope=half_unit * sum(abs(weight.slope) for weight in weights),
        intercept=half_unit * sum(abs(weight.intercept) for weight in weights),
    )


def _weights(xs: Sequence[float]) -> list[Line]:
    """Weights of the value at each place in slope and intercept: both are linear in the values."""
    if len(set(xs)) < 2:
        raise CasemateError(f"no line goes through points at {sorted(set(xs))}: expected two different places")
    mean = sum(xs) / len(xs)
    spread = sum((x - mean) ** 2 for x in xs)
    slopes = [(x - mean) / spread for x in xs]
    return [Line(slope, 1 / len(xs) - slope * mean) for slope in slopes]
