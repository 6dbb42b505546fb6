"""The study of CryptoPage: its figures are derived from the counts of records, and each of its trends can fail."""

from dataclasses import replace

import pytest
from casemate.reproduce.carry import carry_out
from casemate.reproduce.cryptopage import STUDY
from casemate.reproduce.cryptopage.cases import KERNEL, PROGRAM, SIMPLEX
from casemate.reproduce.cryptopage.figures import ADVANCED, BASIC, BEHIND, HIDE, L2_MISSES, cache_name, slots_name
from casemate.reproduce.cryptopage.settings import CACHES, CHARGED, FREE, SLOTS
from casemate.reproduce.runs import Case, Runs
from casemate.reproduce.study import Trend
from casemate.schemas.reproduce import Reproduction
from casemate.studies.sweep import Observer, Workers
from conftest import trend_holds

CASES = ("python3", "anneal", SIMPLEX)
SMALL = Case("small", KERNEL, "chase", {"footprint": "2 MB"}, warm_up=2_000, counted=20_000)
QUIET = Case("quiet", KERNEL, "resident", {"footprint": "64 KB"}, warm_up=2_000, counted=20_000)


def test_the_study_has_every_figure_of_the_paper_with_known_settings() -> None:
    numbers = {figure.number.removesuffix(FREE).removesuffix(BEHIND).removesuffix(CHARGED) for figure in STUDY.figures}
    assert numbers == {"7a", "7b", "7c", "7d"}
    known = [setting.name for setting in STUDY.settings]
    assert {name for figure in STUDY.figures for name in figure.settings} == set(known)
    assert len(known) == len(set(known)) == 30


def test_programs_are_recorded_and_the_network_simplex_is_among_the_kernels() -> None:
    programs = [case.recorded for case in STUDY.cases if case.group == PROGRAM]
    assert len(programs) >= 8
    assert all(recorded and recorded.packages[str(recorded.program.command[0])] for recorded in programs)
    assert SIMPLEX in [case.workload for case in STUDY.cases if case.group == KERNEL]


@pytest.mark.parametrize("trend", STUDY.trends, ids=lambda trend: trend.claim)
def test_each_trend_check_of_a_study_accepts_matching_numbers_and_rejects_others(trend: Trend) -> None:
    assert trend_holds(STUDY, trend, shown, CASES)
    assert not trend_holds(STUDY, trend, turned, CASES)


def shown(number: str, name: str, index: int) -> float:
    """Returns numbers like the paper's; later cases have more cache misses."""
    if number.endswith(BEHIND):
        return 1.0 + index
    return 100 - _lost(number, name) * (1 + index) / (4 if number.endswith(FREE) else 1)


def turned(number: str, name: str, index: int) -> float:
    """These numbers fall if the paper's rise: the setting with the highest loss is the fastest, most of all for cases
    with few misses.
    """
    return 10.0 - index if number.endswith(BEHIND) else 10 + _lost(number, name) / (1 + index)


def _lost(number: str, name: str) -> float:
    """Returns the loss of IPC in percent."""
    return {
        "7a": {HIDE: 1.3, ADVANCED: 3.0, BASIC: 20.0},
        "7b": {cache_name(entries): 3.0 + (17.0 if not entries else 10 / entries) for entries in CACHES},
        "7c": dict(zip(map(slots_name, SLOTS), (3.5, 4.4, 11.7), strict=True)),
        "7d": dict(zip(map(slots_name, SLOTS), (3.0, 3.1, 3.2), strict=True)),
    }[number.removesuffix(FREE).removesuffix(CHARGED)][name.removesuffix(", requested first")]


@pytest.fixture(scope="module")
def small(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Runs, Reproduction]:
    """All figures, of two cases that are short."""
    study = replace(STUDY, cases=(SMALL, QUIET))
    numbers = [figure.number for figure in STUDY.figures]
    carried = carry_out(
        study, numbers, 1, tmp_path_factory.mktemp("cryptopage"), Workers(scheduler=scheduler), Observer()
    )
    assert carried.failures == []
    return carried.runs, study.found(numbers, 1, carried)


def test_all_cryptopage_study_settings_run_and_zero_time_permutations_have_equal_counts(
    small: tuple[Runs, Reproduction],
) -> None:
    runs, found = small
    assert [figure.number for figure in found.figures] == [figure.number for figure in STUDY.figures]
    assert len(found.trends) == len(STUDY.trends)
    names = {setting.name for setting in STUDY.settings}
    for name in (name for name in names if f"{name}{FREE}" in names):
        charged, free = (runs["small", twin, 1].moving for twin in (name, f"{name}{FREE}"))
        assert charged is not None
        assert free is not None
        assert 0 < charged.fills == free.fills


def test_the_counts_behind_a_cryptopage_figure_follow_from_its_runs(small: tuple[Runs, Reproduction]) -> None:
    runs, found = small
    behind = next(figure for figure in found.figures if figure.number == f"7a{BEHIND}")
    [row] = [case for case in behind.cases if case.case == "small"]
    value = dict(zip([series.name for series in behind.series], row.values, strict=True))
    record, unprotected = runs["small", "cryptopage", 1], runs["small", "none", 1]
    moving = record.moving
    assert moving
    assert value[L2_MISSES] == pytest.approx(1e3 * unprotected.llc.misses / unprotected.instructions)
    moved = moving.fetched + moving.read + moving.written
    assert value[f"lines moved a fill, {ADVANCED}"] == pytest.approx(moved / moving.fills)
    # Six words of five cycles for a line and its tag; the clock of the core is 1 GHz.
    assert value[f"bus time, %, {ADVANCED}"] == pytest.approx(100 * moved * 6 * 5 / record.cycles, rel=0.01)
