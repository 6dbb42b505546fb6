"""The study of secure persist buffers: its figures are derived from the counts of records, and each of its trends can
fail.
"""

from dataclasses import replace

import pytest
from casemate import api
from casemate.reproduce.carry import carry_out
from casemate.reproduce.secpb import STUDY
from casemate.reproduce.secpb.cases import HEAP, NAMED, NWPE_SWEPT, PPTI_SWEPT, PROGRAM, REUSE, STREAM, SWEEP, swept
from casemate.reproduce.secpb.measures import TREE_HASHES
from casemate.reproduce.secpb.settings import ENTRIES, SCHEMES, design
from casemate.reproduce.study import Trend
from casemate.schemas.reproduce import Reproduction
from casemate.studies.sweep import Observer, Workers
from conftest import trend_holds

RATES = [(ppti, nwpe) for ppti in PPTI_SWEPT for nwpe in NWPE_SWEPT]
CASES = (*(swept(ppti, nwpe) for ppti, nwpe in RATES), "gamess", "povray")


def test_the_study_has_every_figure_of_the_paper_with_known_settings() -> None:
    numbers = {figure.number.rstrip("bcdefghijklmn") for figure in STUDY.figures}
    assert numbers == {"6", "7", "8", "9", "V", "VI"}
    known = {setting.name for setting in STUDY.settings}
    assert {name for figure in STUDY.figures for name in figure.settings} == known
    assert len({setting.name for setting in STUDY.settings}) == len(STUDY.settings)


def test_six_programs_are_recorded_and_two_kernels_store_at_the_papers_rates() -> None:
    programs = [case.recorded for case in STUDY.cases if case.group == PROGRAM]
    assert len(programs) >= 6
    assert all(recorded and recorded.packages[str(recorded.program.command[0])] for recorded in programs)
    rates = {case.name: (case.settings["rate"], case.settings["per_line"]) for case in STUDY.cases if case.workload}
    assert (rates["gamess"], rates["povray"]) == ((474, 21), (388, 176))


def test_the_secpb_study_constants_match_tree_height_and_banks_of_its_machine() -> None:
    """Counters are hashed for the lowest level of nodes, each level for the next one, and the highest for the root."""
    regions = api.layout(design("CM"), machine=STUDY.bench.machine).regions
    assert 1 + sum(region.level is not None for region in regions) == TREE_HASHES
    machine = next(machine for machine in api.machines() if machine.name == STUDY.bench.machine).model_dump()
    assert any(f"{machine['pcm']['banks']} here" in condition for condition in STUDY.conditions)


@pytest.mark.parametrize("trend", STUDY.trends, ids=lambda trend: trend.claim)
def test_each_trend_check_of_a_study_accepts_matching_numbers_and_rejects_others(trend: Trend) -> None:
    assert trend_holds(STUDY, trend, shown, CASES)
    assert not trend_holds(STUDY, trend, turned, CASES)


def shown(number: str, name: str, index: int) -> float:
    """Numbers like the paper's."""
    by_entries = {f"{entries} entries": entries for entries in ENTRIES}
    slowdowns = dict(zip(SCHEMES, (1.013, 1.015, 1.148, 1.713, 1.738, 2.184), strict=True))
    batteries = dict(zip(SCHEMES, (4.89, 4.82, 4.72, 0.73, 0.67, 0.28), strict=True))
    nwpe = RATES[index][1] if index < len(RATES) else 1
    like = {
        "6": slowdowns | {"NoGap": 2.184 + index / 100},
        "8d": {"CM": slowdowns["CM"], "SP, at the controller": 3.0},
        "6b": {"NWPE": 1.0 + index},
        "6f": dict.fromkeys(SCHEMES, 5.0),
        "6h": slowdowns | {"NoGap": 1.738 + nwpe},
        "6i": dict.fromkeys(SCHEMES, 5.0),
        "6g": {"estimated": 0.1097, "measured": 0.129},
        # It falls by less with each doubling.
        "7": {name: 1.3 + 6 / entries for name, entries in by_entries.items()},
        "7c": {name: 1.0 + 100 / entries for name, entries in by_entries.items()},
        "8": {name: 100 / entries for name, entries in by_entries.items()},
        "9": {"CM, no forest": 1.71, "CM, static": 1.57, "CM, dynamic": 1.33, "SP, dynamic": 1.89},
        "V": batteries,
        "VI": {name: 0.05 + 0.02 * entries for name, entries in by_entries.items()},
    }
    return like.get(number, {}).get(name, 1.0)


def turned(number: str, name: str, index: int) -> float:
    """These numbers fall if the paper's rise, and differ if the paper's are alike."""
    return 100 * (1 + ord(name[0]) % 8) / shown(number, name, index)


SMALL = {NAMED: 2, REUSE: 1, STREAM: 1, SWEEP: len(RATES)}
"""Number of cases of each group."""


@pytest.fixture(scope="module")
def small(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """All figures, of cases that are short."""
    cases = tuple(
        replace(case, warm_up=20_000, counted=10_000)
        for group, number in SMALL.items()
        for case in [case for case in STUDY.cases if case.group == group][:number]
    )
    study = replace(STUDY, cases=cases)
    numbers = [figure.number for figure in STUDY.figures]
    carried = carry_out(study, numbers, 1, tmp_path_factory.mktemp("secpb"), Workers(scheduler=scheduler), Observer())
    assert carried.failures == []
    return study.found(numbers, 1, carried)


def test_all_settings_run_and_all_figures_have_numbers(small: Reproduction) -> None:
    of_programs = [figure.number for figure in STUDY.figures if figure.groups == (HEAP,)]
    assert [figure.number for figure in small.figures] == [
        figure.number for figure in STUDY.figures if figure.number not in of_programs
    ]
    assert len(small.trends) == len(STUDY.trends)
    values = {(figure.number, series.name): series.ours for figure in small.figures for series in figure.series}
    assert values["6", "COBCM"] < values["6", "CM"] < values["6", "NoGap"]
    assert values["9", "CM, static"] < values["9", "CM, no forest"]
    assert 0 < values["8", "512 entries"] <= values["8", "8 entries"] <= 100
    assert values["V", "CM"] == values["VI", "32 entries"] == pytest.approx(0.73, rel=0.01)
