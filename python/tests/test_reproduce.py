"""A paper's evaluation, run again: what is kept, what is computed from it, and that every trend can fail."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from casemate.reproduce import emcc
from casemate.reproduce.runs import Case, Job, Recorded, Runs, Setting, Store
from casemate.reproduce.study import Figure, Series, Study, Trend
from conftest import Casemate

SMALL = Case("small", True, "gups", {"footprint": "1 MB"}, warm_up=5_000, counted=5_000)
OTHER = Case("other", False, "resident", warm_up=5_000, counted=5_000)
SETTINGS = (Setting("none", "none"), Setting("slow", "ctr-mac", {"machine.engines.aes.latency_ns": 500}))
SLOWDOWN = Figure(
    "1", "Slowdown", "x", (Series("slow", lambda under: under("none").ipc / under("slow").ipc, 2.0),), ("none", "slow")
)
STUDY = Study("study", "A paper", "emcc-4core", 2, (), (SMALL, OTHER), SETTINGS, (SLOWDOWN,), ())


def carry_out(store: Store, study: Study) -> tuple[Runs, list[str], list[Job]]:
    """All runs of a study's first figure; which jobs were told of."""
    told: list[Job] = []
    jobs = [store.job(case, setting, store.trace(case)) for case, setting in study.needed(["1"])]
    runs, failures = store.carry_out(jobs, lambda done, job: told.append(job))
    return runs, failures, told


def test_a_figure_needs_only_the_runs_of_its_workloads_and_settings() -> None:
    needed = [(case.name, setting.name) for case, setting in STUDY.needed(["1"])]
    assert needed == [("small", "none"), ("small", "slow")]


def test_a_run_is_kept_and_not_done_again_until_something_about_it_changes(tmp_path: Path) -> None:
    store = Store(tmp_path, STUDY.machine, STUDY.copies)
    runs, failures, told = carry_out(store, STUDY)
    assert (len(runs), failures) == (2, [])
    kept = {job.path: job.path.stat().st_mtime_ns for job in told}
    again, _, told_again = carry_out(store, STUDY)
    assert again == runs
    assert {job.path: job.path.stat().st_mtime_ns for job in told_again} == kept
    slower = replace(SETTINGS[1], changes={"machine.engines.aes.latency_ns": 600})
    assert store.job(SMALL, slower, None).path not in kept


def test_the_numbers_of_a_figure_are_those_of_its_records(tmp_path: Path) -> None:
    runs, failures, _ = carry_out(Store(tmp_path, STUDY.machine, STUDY.copies), STUDY)
    found = STUDY.found(["1"], runs, failures, interrupted=False)
    expected = runs["small", "none"].ipc / runs["small", "slow"].ipc
    assert expected > 1
    assert [case.values for case in found.figures[0].cases] == [(expected,)]
    assert found.figures[0].series[0].ours == pytest.approx(expected)
    assert runs["small", "slow"].configuration.warm_up == SMALL.warm_up


def test_a_run_that_cannot_be_done_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    broken = Setting("slow", "ctr-mac", {"machine.engines.aes.latency": 500})
    runs, failures, _ = carry_out(
        Store(tmp_path, STUDY.machine, STUDY.copies), replace(STUDY, settings=(SETTINGS[0], broken))
    )
    assert list(runs) == [("small", "none")]
    assert len(failures) == 1
    assert "small under slow" in failures[0]
    assert "latency_ns" in failures[0]


def test_a_program_that_is_not_there_is_an_error_with_its_name(tmp_path: Path) -> None:
    missing = Case("missing", True, recorded=Recorded(("no-such-program",), 0))
    with pytest.raises(Exception, match="no-such-program"):
        Store(tmp_path, STUDY.machine, 1).trace(missing)


def test_every_figure_of_the_paper_is_there_and_names_settings_that_exist() -> None:
    numbers = {figure.number.rstrip("b") for figure in emcc.STUDY.figures}
    assert numbers == {"2", "6", "7", "11", "12", *(str(number) for number in range(15, 25))}
    known = {setting.name for setting in emcc.STUDY.settings}
    assert all(set(figure.settings) <= known for figure in emcc.STUDY.figures)
    assert sum(case.irregular for case in emcc.STUDY.cases) >= 8
    assert sum(not case.irregular for case in emcc.STUDY.cases) >= 4


@pytest.mark.parametrize("trend", emcc.STUDY.trends, ids=lambda trend: trend.claim)
def test_every_trend_holds_for_numbers_that_show_it_and_fails_for_others(trend: Trend) -> None:
    figures = {figure.number: figure for figure in emcc.STUDY.figures}
    cases = ("a", "b", "c")

    def verdict(value: Callable[[str, str, int], float]) -> bool:
        means = {
            number: {series.name: value(number, series.name, 1) for series in figures[number].series}
            for number in trend.figures
        }
        return trend.holds(
            means, lambda number, name: {case: value(number, name, place) for place, case in enumerate(cases)}
        )[0]

    assert verdict(shown)
    assert not verdict(lambda number, name, place: -shown(number, name, place) * (1 + place))


def shown(number: str, name: str, place: int) -> float:
    """Numbers like the paper's."""
    like = {
        ("2", "not in the LLC"): 105, ("2", "also in the LLC"): 59, ("6", "missed"): 19, ("7", "missed"): 14,
        ("6", "hit in the controller"): 60 - 10 * place, ("12", "serial"): 31.4,
        ("12", "EMCC, nothing left to the controller"): 35.6,
        ("16", "SC-64"): 0.8, ("16", "Morphable"): 0.85, ("16", "EMCC"): 0.9, ("16b", "EMCC"): 5 + place,
        ("17", "Morphable"): 85, ("17", "EMCC"): 80 - place, ("18", "14 ns"): 7, ("18", "20 ns"): 8, ("18", "25 ns"): 9,
        ("19", "20 %"): 40, ("19", "50 %"): 76, ("19", "80 %"): 90, ("20", "128 KB"): 7, ("20", "256 KB"): 6.8,
        ("20", "512 KB"): 6.5, ("21", "1 channel"): 7, ("21", "8 channels"): 9, ("22", "reads, 1 channel"): 40,
        ("22", "writes, 1 channel"): 90, ("22", "reads, 8 channels"): 10, ("22", "writes, 8 channels"): 30,
        ("24b", "EMCC"): 0.6,
    }  # fmt: skip
    return like.get((number, name), 1.0)


def test_a_figure_that_the_paper_has_not_is_refused_with_the_nearest(casemate: Casemate) -> None:
    refused = casemate("reproduce", "emcc", "--figure", "16c")
    assert refused.code == 2
    assert "did you mean" in refused.err
    assert not list(Path().glob("results/*"))
