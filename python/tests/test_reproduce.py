"""A paper's evaluation, run again: the kept runs, the figures computed from them, and that every trend can fail."""

import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from casemate import CasemateError, api, reproduce
from casemate.laboratory.requests import BuiltIn, Program, RunOptions
from casemate.reproduce import emcc, pictures, report, studies
from casemate.reproduce.carry import carry_out
from casemate.reproduce.programs import PROGRAMS
from casemate.reproduce.runs import Bench, Case, Runs, Setting
from casemate.reproduce.study import (
    Carried,
    Each,
    Figure,
    Finding,
    Means,
    Series,
    Study,
    Trend,
)
from casemate.studies.recordings import Command, Recordings
from casemate.studies.sweep import Observer, Workers
from casemate.terminal.work import Work
from conftest import Casemate, trend_holds
from rich.console import Console

SMALL = Case("small", "measured", "gups", {"footprint": "1 MB"}, warm_up=5_000, counted=5_000)
OTHER = Case("other", "left", "resident", warm_up=5_000, counted=5_000)
SLOW: dict[str, object] = {"machine.engines.aes.latency_ns": 500}
SETTINGS = (Setting("none", "none"), Setting("slow", "ctr-mac", dict(SLOW)))
SLOWDOWN = Figure(
    "1", "Slowdown", "x", (Series("slow", lambda under: under("none").ipc / under("slow").ipc, 2.0),), ("none", "slow"),
    groups=("measured",),
)  # fmt: skip
SEEDS = 2


def finds(margin: Callable[[float], float]) -> Callable[[Means, Each], Finding]:
    """A statement about the mean of the slowdown."""
    return lambda means, each: Finding((margin(means["1"]["slow"]),), "as measured")


STUDY = Study("study", "A paper", Bench("emcc-4core", 2), (), (SMALL, OTHER), SETTINGS, (SLOWDOWN,), ())


@dataclass
class Laboratory:
    """Carries out studies on a scheduler, and keeps the notices."""

    scheduler: str
    folder: Path
    notices: list[str] = field(default_factory=list)
    points: list[int] = field(default_factory=list)
    """Number of points that were done in each study."""

    def __call__(self, study: Study, seeds: int = SEEDS) -> Carried:
        """Carries out the runs of a study's first figure."""
        last: list[Work] = []
        observer = Observer(self.notices.append, last.append)
        carried = carry_out(study, ["1"], seeds, self.folder, Workers(scheduler=self.scheduler), observer)
        self.points.append(last[-1].done if last else 0)
        return carried


@pytest.fixture
def laboratory(scheduler: str, tmp_path: Path) -> Laboratory:
    """Carries out studies in an empty folder."""
    return Laboratory(scheduler, tmp_path / "study")


@pytest.fixture(scope="module")
def some_runs(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The runs of the small study."""
    carried = Laboratory(scheduler, tmp_path_factory.mktemp("study"))(STUDY)
    assert (carried.failures, carried.interrupted) == ([], False)
    return carried.runs


def test_a_figure_needs_only_the_runs_of_its_workloads_and_settings() -> None:
    needed = [(case.name, setting.name) for case, setting in STUDY.needed(["1"])]
    assert needed == [("small", "none"), ("small", "slow")]


def test_a_study_figure_without_a_group_covers_all_workloads() -> None:
    study = replace(STUDY, figures=(replace(SLOWDOWN, groups=()),))
    assert {case.name for case, _ in study.needed(["1"])} == {"small", "other"}


def test_a_figure_of_named_workloads_is_limited_to_them_and_says_so(some_runs: Runs) -> None:
    alike = replace(SMALL, name="alike")
    named = replace(SLOWDOWN, cases=("small",))
    study = replace(STUDY, cases=(SMALL, alike, OTHER), figures=(SLOWDOWN, replace(named, number="2")))
    runs = some_runs | {("alike", setting, seed): run for (_, setting, seed), run in some_runs.items()}
    assert len(study.needed(["1"])) == 2 * len(study.needed(["2"]))
    both, one = study.found(["1", "2"], SEEDS, Carried(runs)).figures
    assert [row.case for row in both.cases] == ["small", "alike"]
    assert [row.case for row in one.cases] == ["small"]
    assert one.note.startswith("Only of small.")


def test_a_study_run_is_reused_until_its_settings_change(laboratory: Laboratory) -> None:
    first = laboratory(STUDY)
    assert (len(first.runs), first.failures) == (2 * SEEDS, [])
    assert laboratory(STUDY).runs == first.runs
    assert f"{2 * SEEDS} of {2 * SEEDS} runs exist already" in laboratory.notices
    slower = Setting("slow", "ctr-mac", {"machine.engines.aes.latency_ns": 600})
    laboratory(replace(STUDY, settings=(SETTINGS[0], slower)))
    laboratory(STUDY, SEEDS + 1)
    laboratory(replace(STUDY, bench=replace(STUDY.bench, shared={"ledger": True})))
    assert laboratory.points == [2 * SEEDS, 0, SEEDS, 2, 2 * SEEDS]


def test_a_damaged_table_of_study_runs_is_repeated_and_reported(laboratory: Laboratory) -> None:
    runs = laboratory(STUDY, 1).runs
    for path in laboratory.folder.glob("*.parquet"):
        path.write_bytes(path.read_bytes()[:500])
    again = laboratory(STUDY, 1)
    assert {key: run.event_hash for key, run in again.runs.items()} == {
        key: run.event_hash for key, run in runs.items()
    }
    assert again.failures == []
    assert any("is damaged" in notice for notice in laboratory.notices)
    laboratory(STUDY, 1)
    assert laboratory.points == [2, 2, 0], "the folder is whole again"


def test_study_runs_that_an_earlier_version_kept_are_named_as_not_usable(laboratory: Laboratory) -> None:
    (laboratory.folder / "runs").mkdir(parents=True)
    (laboratory.folder / "runs" / "small-none-1-0123.json").write_text("{}")
    laboratory(STUDY, 1)
    assert any("has 1 runs of an earlier form" in notice for notice in laboratory.notices)


def test_a_casemate_error_is_unchanged_by_pickling() -> None:
    again = pickle.loads(pickle.dumps(CasemateError("cannot write 'here'")))
    assert (type(again), str(again)) == (CasemateError, "cannot write 'here'")


def test_shared_options_of_a_study_reach_its_runs(laboratory: Laboratory) -> None:
    carried = laboratory(replace(STUDY, bench=replace(STUDY.bench, shared={"ledger": True})), 1)
    assert carried.failures == []
    assert carried.runs["small", "slow", 1].checks.pad_reused is False


def test_study_figures_are_means_over_seeds_with_a_student_confidence_interval(some_runs: Runs) -> None:
    found = STUDY.found(["1"], SEEDS, Carried(some_runs))
    one, other = (some_runs["small", "none", seed].ipc / some_runs["small", "slow", seed].ipc for seed in (1, 2))
    assert 1 < one != other > 1
    figure = found.figures[0]
    # For two values: Student's quantile for one degree of freedom, times half of their difference.
    expected = pytest.approx(12.706 * abs(one - other) / 2)
    assert figure.cases[0].values == pytest.approx(((one + other) / 2,))
    assert figure.cases[0].half_widths[0] == expected
    assert figure.series[0].ours == pytest.approx((one + other) / 2)
    assert figure.series[0].half_width == expected
    assert figure.seeds == (1, 2)
    assert some_runs["small", "slow", 2].configuration.seed == 2
    assert some_runs["small", "slow", 2].configuration.warm_up == SMALL.warm_up


def test_a_study_with_a_failed_run_does_not_hold() -> None:
    """One case is slower by the same factor by which the other is faster, so that the geometric mean is one."""
    speeds = {("small", 1): 2.0, ("small", 2): 4.0, ("alike", 1): 1 / 2, ("alike", 2): 1 / 4}
    runs = cast(
        Runs,
        {
            (case, setting, seed): SimpleNamespace(
                host=SimpleNamespace(seconds=1.0), ipc=speed if setting == "none" else 1.0
            )
            for (case, seed), speed in speeds.items()
            for setting in ("none", "slow")
        },
    )
    once = SLOWDOWN.series[0]
    thrice = Series("thrice", lambda under: 3 * once.of(under))
    arithmetic = replace(SLOWDOWN, series=(once, thrice))
    seen: list[Means] = []

    def find(means: Means, each: Each) -> Finding:
        seen.append(means)
        return Finding((1.0,), "as measured")

    study = replace(
        STUDY,
        cases=(SMALL, replace(SMALL, name="alike")),
        figures=(arithmetic, replace(arithmetic, number="2", mean="geometric")),
        trends=(Trend("A claim", ("1", "2"), find),),
    )
    found = study.found(["1", "2"], SEEDS, Carried(runs))
    means = {
        "1": {"slow": pytest.approx(1.6875), "thrice": pytest.approx(3 * 1.6875)},
        "2": {"slow": pytest.approx(1), "thrice": pytest.approx(3)},
    }
    assert seen[0] == means
    for figure in found.figures:
        assert {series.name: series.ours for series in figure.series} == means[figure.number]
        for row in figure.cases:
            one, other = (speeds[row.case, seed] for seed in (1, 2))
            expected = 12.706 * abs(one - other) / 2
            assert row.half_widths == pytest.approx((expected, 3 * expected), rel=1e-3)
    assert found.holds
    assert not study.found(["1", "2"], SEEDS, Carried(runs, ["small under slow: no room"])).holds


def text_of(found: Any, every_case: bool = True) -> str:
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(report.tables(found, every_case))
    return console.export_text()


def test_a_study_report_of_one_seed_states_that_it_has_no_confidence_intervals(some_runs: Runs, tmp_path: Path) -> None:
    alone = STUDY.found(["1"], 1, Carried(some_runs))
    assert (alone.figures[0].series[0].half_width, alone.figures[0].cases[0].half_widths) == (None, (None,))
    assert "no intervals" in text_of(alone)
    assert "±" not in text_of(alone)
    both = STUDY.found(["1"], SEEDS, Carried(some_runs))
    assert text_of(both).count(" ± ") == 3
    assert "no intervals" not in text_of(both)
    for found in (alone, both):
        pictures.draw(found, tmp_path / "figures.png")
        assert (tmp_path / "figures.png").stat().st_size > 1000


def test_a_paper_s_tables_have_roman_numbers(some_runs: Runs) -> None:
    study = replace(STUDY, figures=(SLOWDOWN, replace(SLOWDOWN, number="IV")))
    jobs = text_of(study.found(["1", "IV"], 1, Carried(some_runs)))
    assert "Figure 1: Slowdown" in jobs
    assert "Table IV: Slowdown" in jobs


def test_an_interrupted_study_counts_only_seeds_with_all_runs(some_runs: Runs) -> None:
    """The state after Ctrl-C: the first seed is whole, the second one lacks runs."""
    study = replace(STUDY, cases=(SMALL, replace(SMALL, name="second")))
    runs = some_runs | {("second", setting, 1): some_runs["small", setting, 2] for setting in ("none", "slow")}
    found = study.found(["1"], SEEDS, Carried(runs, interrupted=True)).figures[0]
    assert (found.seeds, [case.case for case in found.cases]) == ((1,), ["small", "second"])
    assert found.series[0].half_width is None
    assert "Fewer seeds are complete for figures 1 (1)" in text_of(
        study.found(["1"], SEEDS, Carried(runs, interrupted=True))
    )


def test_a_study_trend_within_its_confidence_intervals_is_reported_as_such(some_runs: Runs) -> None:
    def found(margin: Callable[[float], float], seeds: int = SEEDS) -> tuple[str, bool | None, bool]:
        study = replace(STUDY, trends=(Trend("A claim", ("1",), finds(margin)),))
        trend = study.found(["1"], seeds, Carried(some_runs)).trends[0]
        return trend.verdict, trend.clear, "within their intervals" in trend.measured

    mean = STUDY.found(["1"], SEEDS, Carried(some_runs)).figures[0].series[0].ours
    assert found(lambda slowdown: slowdown + 1000) == ("holds", True, False)
    assert found(lambda slowdown: slowdown - mean + 1e-9) == ("undecided", False, True)
    assert found(lambda slowdown: slowdown - mean - 1e-9) == ("undecided", False, True)
    assert found(lambda slowdown: slowdown - 1000) == ("fails", True, False)
    assert found(lambda slowdown: slowdown, seeds=1) == ("holds", None, False)

    def holds(margin: Callable[[float], float]) -> bool:
        study = replace(STUDY, trends=(Trend("A claim", ("1",), finds(margin)),))
        return study.found(["1"], SEEDS, Carried(some_runs)).holds

    assert holds(lambda slowdown: slowdown - mean - 1e-9), "an undecided trend is no failure"
    assert not holds(lambda slowdown: slowdown - 1000)


def test_one_workload_of_a_study_needs_only_its_runs_and_judges_no_trend(some_runs: Runs) -> None:
    study = replace(STUDY, cases=(SMALL, replace(SMALL, name="second")), trends=(Trend("A", ("1",), finds(abs)),))
    one = study.of_cases(["small"])
    assert {case.name for case, _ in one.needed(["1"])} == {"small"}
    found = one.found(["1"], SEEDS, Carried(some_runs))
    assert [case.case for case in found.figures[0].cases] == ["small"]
    assert (found.trends, found.holds) == ((), True)


def test_a_study_records_more_of_a_program_than_its_runs_execute() -> None:
    # 5 % of the instructions of the perl program are repetitions, which a run does not count.
    case = Case("perl", "program", recorded=PROGRAMS["perl"], untimed=20_000_000, warm_up=200_000, counted=1_000_000)
    kept = case.input
    assert isinstance(kept, Command)
    assert isinstance(kept.limit, int)
    assert 1.1 * case.instructions < kept.limit < 1.2 * case.instructions


def test_a_study_run_has_the_same_event_hash_alone_and_in_a_session(some_runs: Runs) -> None:
    alone = api.run(
        2 * [BuiltIn("gups", SMALL.settings)], designs=["ctr-mac"], machine="emcc-4core", changes=SLOW,
        options=RunOptions(limit=10_000, warm_up=5_000, protection=False),
    )  # fmt: skip
    assert some_runs["small", "slow", 1].event_hash == alone.records[0].event_hash


@pytest.mark.parametrize(
    "changes", [{"machine.engines.aes.latency": 500}, {"design.parts.mac.latency_ns": 500}], ids=["machine", "design"]
)
def test_a_failed_study_run_is_reported_and_the_other_runs_are_kept(
    changes: dict[str, object], laboratory: Laboratory
) -> None:
    carried = laboratory(replace(STUDY, settings=(SETTINGS[0], Setting("slow", "ctr-mac", changes))), 1)
    assert list(carried.runs) == [("small", "none", 1)]
    assert len(carried.failures) == 1
    assert "small under slow" in carried.failures[0]
    assert "latency" in carried.failures[0]


def recorded(name: str, packages: dict[str, str] | None = None) -> Command:
    return Command(Program([name]), packages=packages or {})


def test_a_missing_program_is_a_failure_with_its_name(laboratory: Laboratory) -> None:
    missing = Case("missing", "measured", recorded=recorded("no-such-program"))
    (failure,) = laboratory(replace(STUDY, cases=(missing,)), 1).failures
    assert "no-such-program" in failure


def test_a_program_that_is_not_installed_is_left_out_and_its_package_is_named(laboratory: Laboratory) -> None:
    absent = Case("absent", "measured", recorded=recorded("no-such-game", {"no-such-game": "games", "/none.a": "libs"}))
    study = replace(STUDY, cases=(SMALL, absent))
    carried = laboratory(study, 1)
    assert {case for case, _, _ in carried.runs} == {"small"}
    assert carried.failures == []
    said = "absent is left out: 'no-such-game', '/none.a' is not installed (try: apt-get install games libs)"
    assert carried.left_out == [said]
    found = study.found(["1"], 1, carried)
    assert found.holds, "what is left out is no failure"
    assert said in text_of(found)


def test_a_cached_trace_does_not_need_its_program_installed(tmp_path: Path) -> None:
    kept = Recordings(tmp_path, str).recording(replace(recorded("true"), limit=1_000))
    gone = replace(recorded("true", {"no-such-game": "games"}), limit=1_000)
    assert Recordings(tmp_path, str).recording(gone) == kept


def test_a_truncated_cached_trace_is_recorded_again(tmp_path: Path) -> None:
    present = replace(recorded("true"), limit=1_000)
    path = Recordings(tmp_path, str).recording(present)
    before = api.trace_info(path).totals
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CasemateError, match="truncated"):
        api.trace_info(path)
    assert Recordings(tmp_path, str).recording(present) == path
    assert api.trace_info(path).totals.instructions == before.instructions


def test_the_study_has_every_figure_of_the_paper_with_known_settings() -> None:
    numbers = {figure.number.rstrip("bcd") for figure in emcc.STUDY.figures}
    assert numbers == {"2", "6", "7", "11", "12", *(str(number) for number in range(15, 25))}
    known = {setting.name for setting in emcc.STUDY.settings}
    assert all(set(figure.settings) <= known for figure in emcc.STUDY.figures)
    kinds = Counter(case.group for case in emcc.STUDY.cases)
    assert kinds["irregular"] >= 8
    assert kinds["regular"] >= 4


@pytest.mark.parametrize("trend", emcc.STUDY.trends, ids=lambda trend: trend.claim)
def test_each_trend_check_of_a_study_accepts_matching_numbers_and_rejects_others(trend: Trend) -> None:
    assert trend_holds(emcc.STUDY, trend, shown)
    assert not trend_holds(emcc.STUDY, trend, lambda number, name, index: -shown(number, name, index) * (1 + index))


def shown(number: str, name: str, index: int) -> float:
    """Numbers like the paper's."""
    like = {
        ("2", "not in the LLC"): 105, ("2", "also in the LLC"): 59, ("6", "missed"): 19, ("7", "missed"): 14,
        ("6", "hit in the controller"): 60 - 10 * index, ("12", "serial"): 31.4,
        ("12", "EMCC, nothing left to the controller"): 35.6,
        ("16", "SC-64"): 0.8, ("16", "Morphable"): 0.85, ("16", "EMCC"): 0.9, ("16b", "EMCC"): 5 + index,
        ("17", "Morphable"): 85, ("17", "EMCC"): 80 - index, ("18", "14 ns"): 7, ("18", "20 ns"): 8, ("18", "25 ns"): 9,
        ("19", "20 %"): 40, ("19", "50 %"): 76, ("19", "80 %"): 90, ("20", "128 KB"): 7, ("20", "256 KB"): 6.8,
        ("20", "512 KB"): 6.5, ("21", "1 channel"): 7, ("21", "8 channels"): 9, ("22", "reads, 1 channel"): 40,
        ("22", "writes, 1 channel"): 90, ("22", "reads, 8 channels"): 10, ("22", "writes, 8 channels"): 30,
        ("24b", "EMCC"): 0.6,
    }  # fmt: skip
    return like.get((number, name), 1.0)


def test_every_study_folder_is_a_study_and_an_unknown_study_lists_all(casemate: Casemate) -> None:
    folders = {path.parent.name for path in Path(reproduce.__file__).parent.glob("*/__init__.py")}
    assert set(studies.names()) == folders
    assert all(studies.named(name).name == name for name in folders)
    refused = casemate("reproduce", "emmc")
    assert refused.code == 2
    assert f"did you mean 'emcc'?); there are: {', '.join(studies.names())}" in refused.err
    assert all(name in casemate("reproduce", "--help").out for name in folders)


def test_an_unknown_figure_is_refused_with_the_nearest(casemate: Casemate) -> None:
    refused = casemate("reproduce", "emcc", "--figure", "16x")
    assert refused.code == 2
    assert "did you mean" in refused.err
    assert not list(Path().glob("results/*"))
