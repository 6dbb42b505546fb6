"""Lines by least squares, and the engines that carry a bandwidth: compared with sums written out another way."""

import itertools

import pytest
from casemate import CasemateError
from casemate.crypto import feasibility, regression
from casemate.crypto.regression import EnginePoint, Line
from hypothesis import given
from hypothesis import strategies as st

PLACES = st.lists(st.integers(1, 64), min_size=2, max_size=8, unique=True)
VALUES = st.floats(-1e3, 1e3)


def normal_equations(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Slope and intercept by Cramer's rule on the sums, in a form that shares no code with ours."""
    count = len(points)
    x, y = sum(a for a, _ in points), sum(b for _, b in points)
    xx, xy = sum(a * a for a, _ in points), sum(a * b for a, b in points)
    determinant = count * xx - x * x
    return (count * xy - x * y) / determinant, (xx * y - x * xy) / determinant


@given(places=PLACES, values=st.data())
def test_the_line_is_the_solution_of_the_normal_equations(places: list[int], values: st.DataObject) -> None:
    points = [(float(x), values.draw(VALUES)) for x in places]
    slope, intercept = normal_equations(points)
    found = regression.least_squares(points)
    assert found.slope == pytest.approx(slope, abs=1e-6)
    assert found.intercept == pytest.approx(intercept, abs=1e-6)


def test_least_squares_recover_the_line_through_its_points() -> None:
    line = Line(11.05, 2.12)
    found = regression.least_squares([(n, line.at(n)) for n in (1, 2, 4, 8, 16)])
    assert (found.slope, found.intercept) == pytest.approx((11.05, 2.12))


def test_the_rounding_error_bound_of_a_fit_equals_the_worst_rounding_of_its_points() -> None:
    places, half = [1, 2, 4, 8, 16], 0.5
    values = [89.0, 176.0, 343.0, 657.0, 1204.0]
    exact = regression.least_squares(list(zip(places, values, strict=True)))
    corners = [
        regression.least_squares([(p, v + half * sign) for p, v, sign in zip(places, values, signs, strict=True)])
        for signs in itertools.product((-1, 1), repeat=len(places))
    ]
    reach = regression.rounding_reach(places, half)
    assert max(abs(corner.slope - exact.slope) for corner in corners) == pytest.approx(reach.slope)
    assert max(abs(corner.intercept - exact.intercept) for corner in corners) == pytest.approx(reach.intercept)


def test_area_and_power_of_engines_are_fitted_linearly_over_their_number() -> None:
    points = [EnginePoint(n, area_um2=1000.0 * n + 50, power_mw=2.0 * n + 1) for n in (1, 2, 8)]
    found = regression.fit_engines(points)
    assert found.area_um2.at(100) == pytest.approx(100_050)
    assert found.power_mw.at(100) == pytest.approx(201)


@pytest.mark.parametrize("points", [[], [(1.0, 2.0)], [(4.0, 1.0), (4.0, 2.0)]])
def test_a_fit_over_points_at_one_position_is_refused(points: list[tuple[float, float]]) -> None:
    with pytest.raises(CasemateError, match="expected two different places"):
        regression.least_squares(points)


def test_throughputs_are_bits_over_cycles() -> None:
    # A gigahertz and a cycle for each byte are eight gigabits a second, in software and in an engine alike.
    assert feasibility.software_mbps(1e9, 1.0) == pytest.approx(8000)
    assert feasibility.engine_mbps(1e9, 64) == pytest.approx(8000)
    assert feasibility.cycles_per_byte(6400, 10, 64) == pytest.approx(10)


def test_the_number_of_cores_is_rounded_up_and_whole_numbers_are_kept() -> None:
    assert feasibility.instances(25.6, 8000) == 26
    assert feasibility.instances(25.6, 25.6 * 8e3 / 26) == 26
    assert feasibility.instances(0.3, 800) == 3
    assert feasibility.instances(1e-6, 8000) == 1
