"""Pictures of results from Python: figures of matplotlib with the numbers of the result."""

from pathlib import Path
from typing import Any

import casemate as cm
import pytest
from casemate.excerpt import Excerpt
from casemate.notebook import rendering
from casemate.plots import run_picture, timeline_picture
from casemate.schemas.attack import AttackResults
from casemate.schemas.base import Result
from casemate.schemas.crash import CrashResults
from casemate.schemas.explain import Explanations
from casemate.schemas.run import RunResults
from casemate.schemas.sweep import SweepResult
from casemate.tables.run_details import CAUSES
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sample_results import sample

SMALL = cm.BuiltIn("gups", {"footprint": "16 MB"})
QUICK = cm.RunOptions(limit="20K", protection=False)


@pytest.fixture(scope="module")
def run() -> RunResults:
    return cm.run(SMALL, designs=["none", "sc64-bmt"], options=QUICK)


def texts(figure: Any) -> list[str]:
    """Returns all texts of the axes of a figure."""
    found = [text.get_text() for axis in figure.axes for text in axis.texts]
    return found + [label.get_text() for axis in figure.axes for label in axis.get_yticklabels()]


def test_the_bars_of_a_run_are_its_cycles_by_cause(run: RunResults) -> None:
    figure = run.plot()
    assert isinstance(figure, Figure)
    (axis,) = figure.axes
    said = dict(CAUSES)
    drawn: list[dict[str, float]] = [{}, {}]
    for container in axis.containers:
        for parts, bar in zip(drawn, container, strict=True):
            parts[said[str(container.get_label())]] = bar.get_width()
    for record, parts in zip(run.records, drawn, strict=True):
        assert parts == pytest.approx({cause: part for cause, part in run.by_cause(record).items() if cause in parts})
        assert sum(parts.values()) == pytest.approx(run.slowdown(record.design), abs=0.01)
    assert {"none", "sc64-bmt", "1.000x", f"{run.slowdown('sc64-bmt'):.3f}x"} <= set(texts(figure))


def test_each_cause_of_cycles_has_a_separate_colour() -> None:
    assert set(run_picture.COLOURS) == {cause for _, cause in CAUSES}
    assert len(set(run_picture.COLOURS.values())) == len(CAUSES)


def test_a_single_record_has_a_bar_without_a_slowdown(run: RunResults) -> None:
    figure = run.record("sc64-bmt").plot()
    assert set(texts(figure)) == {"", "sc64-bmt"}


def test_a_run_on_several_machines_names_them_at_its_bars() -> None:
    found = cm.run(SMALL, designs=["none", "sc64-bmt"], machine=["modern", "modern-ddr5"], options=QUICK)
    names = {f"{record.design}\non {record.machine}" for record in found.records}
    assert len(names) == 4
    assert names <= set(texts(found.plot()))


def test_a_trace_of_requests_has_bars_of_its_time(tmp_path: Path) -> None:
    trace = tmp_path / "requests.trace"
    trace.write_text("".join(f"LD 0x{at * 4096:x}\n" for at in range(64)))
    found = cm.run(cm.Trace(trace), designs=["none", "sc64-bmt"], options=cm.RunOptions(protection=False))
    assert found.records[0].configuration.workload.requests
    (bars,) = found.plot().axes[0].containers
    assert [bar.get_width() for bar in bars] == [record.time_fs / 1e9 for record in found.records]


def test_a_name_between_dollars_is_no_formula_in_a_picture(run: RunResults) -> None:
    record = run.records[0]
    workload = record.configuration.workload.model_copy(update={"program": ("echo", "$HOME_DIR", "$\\frac$")})
    named = record.model_copy(update={"configuration": record.configuration.model_copy(update={"workload": workload})})
    assert ">echo $HOME_DIR $\\frac$ on modern</text>" in named.plot()._repr_svg_()


def test_a_timeline_is_the_picture_of_the_command(tmp_path: Path) -> None:
    found = cm.explain_together(["sc64-bmt", "none"])
    timeline_picture.draw(found, tmp_path / "a.svg", "svg")
    found.plot().savefig(tmp_path / "b.svg", metadata={"Date": None})
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert len(found.plot().axes) == 2
    assert len(found.explanations[0].plot().axes) == 1


def patches(figure: Any, filled: bool) -> list[Rectangle]:
    """Returns the rectangles of a matrix: its cells are filled, and its frames are not."""
    return [patch for axis in figure.axes for patch in axis.patches if patch.get_fill() == filled]


def test_a_campaign_is_a_matrix_with_a_cell_for_each_attack() -> None:
    report = cm.attack("none", trials=1)
    figure = report.plot()
    assert len(patches(figure, filled=True)) == len(report.rows) == 72
    assert len(figure.axes) == 3
    shown = texts(figure)
    assert {row.attack for row in report.rows if not row.hypothetical} <= set(shown)
    assert "forbidden-attack (*)" in shown
    ends = ["-" if row.worst == "not-applicable" else row.worst for row in report.rows]
    assert all(shown.count(end) == ends.count(end) for end in set(ends))
    two = AttackResults(reports=(report, cm.attack("sc64-bmt", trials=1)), agrees=True).plot()
    assert len(patches(two, filled=True)) == 144


def test_a_matrix_frames_an_end_that_differs_from_its_claim() -> None:
    weak = cm.attack("sc64-bmt", trials=20, changes={"design.parts.tree.kind": "none"})
    differing = [row for row in weak.rows if not row.agrees]
    assert len(differing) >= 10
    figure = weak.plot()
    assert len(patches(figure, filled=False)) == len(differing)
    assert "stale \N{NOT EQUAL TO} detected" in texts(figure)
    assert patches(cm.attack("none", trials=1).plot(), filled=False) == []


def test_losses_of_power_flipped_bits_and_programs_are_matrices_too() -> None:
    for report in (
        cm.crash("plp-sp", row="power-loss", workload=3), cm.attack_bits("none"),
        cm.crash_program("plp-sp", "log", losses=2),
    ):  # fmt: skip
        figure = report.plot()
        assert len(patches(figure, filled=True)) == len(getattr(report, "rows", [report]))
        assert report.brief().split(":")[0] in figure.get_suptitle().replace("\n", " ")


def test_results_of_several_kinds_have_one_matrix_of_all() -> None:
    bits, report = cm.attack_bits("none"), cm.attack("none", trials=1)
    losses, program = cm.crash("plp-sp", row="power-loss", workload=3), cm.crash_program("plp-sp", "log", losses=2)
    attacks = AttackResults(reports=(report,), exhaustive=(bits,), agrees=True).plot()
    assert len(patches(attacks, filled=True)) == len(report.rows) + len(bits.rows)
    crashes = CrashResults(reports=(losses,), programs=(program,), agrees=True).plot()
    assert len(patches(crashes, filled=True)) == len(losses.rows) + 1


def test_batteries_and_windows_have_the_pictures_of_their_commands(tmp_path: Path) -> None:
    assert "bcm" in texts(cm.cost_of_battery(["cobcm", "bcm"], entries=[8, 32], counted="nothing").plot())
    window = cm.TraceWindow("0us:20us", tmp_path / "x.json")
    cm.run(SMALL, designs="none", options=cm.RunOptions(limit="20K", protection=False, trace=window))
    assert isinstance(Excerpt.read(tmp_path / "x.json").plot(), Figure)


def test_a_result_without_a_picture_names_those_that_have_one() -> None:
    with pytest.raises(cm.CasemateError, match=r"^a Layout has no picture: expected one of RunResults, Record, Explan"):
        cm.layout("none").plot()
    nothing = RunResults(records=(), failures=(), interrupted=True, passed=False, protection=())
    empty: list[tuple[Result, str]] = [
        (Explanations(explanations=()), "no timeline to draw"),
        (AttackResults(agrees=False), "no report to draw"),
        (nothing, "no record to draw"),
        (sample(SweepResult, figures=()), "the study has no figure"),
    ]
    for result, reason in empty:
        with pytest.raises(cm.CasemateError, match=reason):
            result.plot()


def test_every_picture_is_of_a_kind_with_a_table() -> None:
    shown = {*rendering.TABLES, Explanations, cm.Explanation}
    assert set(rendering.PICTURES) <= shown
