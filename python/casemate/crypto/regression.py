"""Straight lines through measured points by least squares: the cost of one more engine, and the constant part.

The same function fits a published estimate and our engine's figures, so that their extrapolations to many engines
differ only by their points.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from casemate._core import CasemateError


@dataclass(frozen=True)
class Line:
    """A straight line: its `slope` for each step of x and its `intercept` at zero, in the unit of the fitted values."""

    slope: float
    intercept: float

    def at(self, x: float) -> float:
        """Value of the line at `x`."""
        return self.slope * x + self.intercept


@dataclass(frozen=True)
class EnginePoint:
    """Area and power of a number of engines side by side, as a synthesis reports them."""

    modules: int
    area_um2: float
    power_mw: float


@dataclass(frozen=True)
class EngineFit:
    """Area in square micrometres and power in milliwatts over the number of engines."""

    area_um2: Line
    power_mw: Line


def fit_engines(points: Sequence[EnginePoint]) -> EngineFit:
    """Returns the lines of area and power through these points. Raises `CasemateError` unless the points have at least
    two different numbers of engines.
    """
    return EngineFit(
        area_um2=least_squares([(point.modules, point.area_um2) for point in points]),
        power_mw=least_squares([(point.modules, point.power_mw) for point in points]),
    )


def least_squares(points: Sequence[tuple[float, float]]) -> Line:
    """Returns the line with the least sum of squared differences from the values y of the points (x, y).

    Raises `CasemateError` unless at least two values of x differ.
    """
    weights = _weights([x for x, _ in points])
    values = [value for _, value in points]
    return Line(
        slope=sum(weight.slope * value for weight, value in zip(weights, values, strict=True)),
        intercept=sum(weight.intercept * value for weight, value in zip(weights, values, strict=True)),
    )


def rounding_reach(xs: Sequence[float], half_unit: float) -> Line:
    """Returns the largest possible errors of slope and of intercept, each considered separately, if the fitted values
    were rounded by up to `half_unit`.
    """
    weights = _weights(xs)
    return Line(
        slope=half_unit * sum(abs(weight.slope) for weight in weights),
        intercept=half_unit * sum(abs(weight.intercept) for weight in weights),
    )


def _weights(xs: Sequence[float]) -> list[Line]:
    """Weight of each value in the slope and in the intercept, since both are linear in the values."""
    if len(set(xs)) < 2:
        raise CasemateError(f"no line goes through points at {sorted(set(xs))}: expected two different places")
    mean = sum(xs) / len(xs)
    spread = sum((x - mean) ** 2 for x in xs)
    slopes = [(x - mean) / spread for x in xs]
    return [Line(slope, 1 / len(xs) - slope * mean) for slope in slopes]
