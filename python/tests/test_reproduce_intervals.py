"""Intervals of a study's figures: of their means, of one further seed, and the number of seeds that a figure needs."""

import random
from statistics import fmean

import pytest
from casemate.reproduce import report
from casemate.reproduce.study import Figure, Measured, Series, half_width, of_one_more, seeds_for
from rich.console import Console


def test_the_half_width_of_a_confidence_interval_follows_students_distribution() -> None:
    # Mean 3, variance 2.5, standard error sqrt(0.5), quantile for four degrees of freedom 2.776; signs do not matter.
    for sign in (1.0, -1.0):
        assert half_width([sign * value for value in (1.0, 2.0, 3.0, 4.0, 5.0)]) == pytest.approx(1.963, abs=0.005)
    assert half_width([3.0]) is None


def test_the_interval_of_one_further_seed_contains_that_seed_in_19_of_20_studies() -> None:
    draws, held = random.Random(7), 0
    for _ in range(1000):
        values = [draws.gauss(10, 3) for _ in range(8)]
        half = of_one_more(values)
        assert half is not None
        assert half > (half_width(values) or 0)
        held += abs(draws.gauss(10, 3) - fmean(values)) <= half
    assert 930 <= held <= 970
    assert of_one_more([3.0]) is None
    # Student's quantile with two degrees of freedom is 4.3027, and the spread of 1, 2 and 4 is 1.5275.
    assert of_one_more([1.0, 2.0, 4.0]) == pytest.approx(4.3027 * 1.5275 * (1 + 1 / 3) ** 0.5, rel=1e-4)


def test_the_number_of_seeds_for_an_interval_follows_from_the_spread() -> None:
    values = [8.0, 12.0] * 4
    # Their spread is 2.138; with 7 values Student's quantile is 2.447, and with 6 it is 2.571.
    of_seven = 2.138 * 2.447 / 7**0.5
    assert (seeds_for(values, of_seven + 0.01), seeds_for(values, of_seven - 0.01)) == (7, 8)
    assert seeds_for([5.0, 5.0], 0.1) == 2
    assert seeds_for([5.0], 0.1) == 1


def test_more_seeds_than_ten_thousand_are_not_a_number() -> None:
    values = [-1.0, 1.0] * 50
    # Their spread is 1.005; with 10,000 values Student's quantile is 1.9602.
    of_ten_thousand = 1.005 * 1.9602 / 100
    assert seeds_for(values, of_ten_thousand * 1.0005) in range(9_980, 10_000)
    assert seeds_for(values, of_ten_thousand * 0.999) is None


def test_a_figure_names_no_number_of_seeds_for_a_case_that_needs_more_than_ten_thousand() -> None:
    two = (Series("first", lambda under: 0.0), Series("second", lambda under: 0.0))
    figure = Figure("1", "Time", "%", two, ("none",))
    seeds = {1: {"steady": (0.0, 1.0), "wide": (0.0, 1.0)}, 2: {"steady": (9.0, 1.0), "wide": (9.0, 9999.0)}}
    found = Measured(figure, seeds, {"wide": 12.0}).seen()
    console = Console(width=200)
    with console.capture() as printed:
        console.print(report.of_cases(found))
    assert [each.seeds for each in found.wanting] == [42, None]
    assert (
        "Intervals of ± 2 would need: steady 42 seeds of 0 s on one processor, wide more than 10,000 seeds of 12 s"
        in printed.get()
    )
