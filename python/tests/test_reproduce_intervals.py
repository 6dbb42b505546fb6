"""Intervals of a study's figures: of their means, of one further seed, and the number of seeds that a figure needs."""

import random
from statistics import fmean

import pytest
from casemate.reproduce.study import half_width, of_one_more, seeds_for


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


def test_the_number_of_seeds_for_an_interval_follows_from_the_spread() -> None:
    values = [8.0, 12.0] * 4
    # Their spread is 2.138; with 7 values Student's quantile is 2.447, and with 6 it is 2.571.
    of_seven = 2.138 * 2.447 / 7**0.5
    assert (seeds_for(values, of_seven + 0.01), seeds_for(values, of_seven - 0.01)) == (7, 8)
    assert seeds_for([5.0, 5.0], 0.1) == 2
    assert seeds_for([5.0], 0.1) == 1
