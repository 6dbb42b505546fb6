"""Figures of a study: means over programs and seeds, computed again from the rows by hand."""

import io
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

import pytest
from casemate import CasemateError
from casemate.reproduce import report
from casemate.schemas.reproduce import CaseFigures, FigureFound, SeriesFound
from casemate.studies import cluster, figures
from casemate.studies.expansion import Cell
from casemate.studies.points import Kernel, Point
from casemate.studies.study import Study
from casemate.studies.sweep import Workers, sweep
from conftest import Casemate
from rich.console import Console

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("distributed")

DESIGNS = Path(__file__).parents[2] / "designs"
SIZE, TAG_BITS = "machine.llc.size", "design.sc64-bmt.parts.mac.tag_bits"
PROGRAMS: list[dict[str, Any]] = [
    {"workload": "gups", "settings": {"footprint": "1 MB"}, "name": "gups"},
    {"workload": "resident", "name": "resident"},
]
KEYS: dict[str, Any] = {"programs": PROGRAMS, "limit": "10K", "seeds": 2, "over": {SIZE: ["2 MB", "4 MB"]}}
QUANTILE = 12.706
"""Student's 97.5 % quantile for one degree of freedom, the quantile of two seeds."""

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def folder(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all points of the study, so that every figure of them needs no further run."""
    path = tmp_path_factory.mktemp("figures")
    study = Study(**KEYS)
    assert sweep(study, path, workers=Workers(scheduler=scheduler)).complete
    return path


@pytest.fixture(scope="module")
def rows(folder: Path) -> Rows:
    """The rows of the folder."""
    return [row for path in folder.glob("*.parquet") for row in parquet.read_table(path).to_pylist()]


def drawn(folder: Path, **keys: Any) -> tuple[FigureFound, ...]:
    """Returns the figures of the study from rows that exist."""
    found = sweep(Study(**KEYS, **keys), folder, workers=Workers(scheduler="tcp://127.0.0.1:1"))
    assert (found.done, found.points) == (0, 16)
    return found.figures


def value(rows: Rows, column: str, program: str, design: str, size: str, seed: int) -> float:
    """Returns the value of a column in one row."""
    (row,) = (
        row
        for row in rows
        if (row["program"], row["design"], row["seed"]) == (program, design, seed)
        and row["machine_llc_size_bytes"] == int(size.split()[0]) << 20
    )
    return float(row[column])


def half(values: list[float]) -> float:
    """Returns half of the 95 % interval of the mean of two values."""
    one, other = values
    return QUANTILE * abs(one - other) / 2


def ratio(rows: Rows, column: str) -> Callable[..., float]:
    """Returns a function of a row's ratio to the row without protection."""

    def of(program: str, design: str, size: str, seed: int) -> float:
        return value(rows, column, program, design, size, seed) / value(rows, column, program, "none", size, seed)

    return of


def test_a_study_without_figures_shows_the_slowdown_over_its_first_swept_key(folder: Path, rows: Rows) -> None:
    (figure,) = drawn(folder)
    slowdown = ratio(rows, "time_fs")
    assert [each.name for each in figure.series] == ["none", "sc64-bmt"]
    assert [case.case for case in figure.cases] == ["2 MB", "4 MB"]
    assert (figure.unit, figure.mean, figure.seeds) == ("x", "arithmetic", (1, 2))
    by_seed = {
        (size, seed): fmean(slowdown(program, "sc64-bmt", size, seed) for program in ("gups", "resident"))
        for size in ("2 MB", "4 MB")
        for seed in (1, 2)
    }
    for case in figure.cases:
        values = [by_seed[case.case, seed] for seed in (1, 2)]
        assert case.values == pytest.approx((1.0, fmean(values)))
        assert case.half_widths == pytest.approx((0.0, half(values)), rel=1e-3)
    means = [fmean(by_seed[size, seed] for size in ("2 MB", "4 MB")) for seed in (1, 2)]
    assert figure.series[1].ours == pytest.approx(fmean(means))
    assert figure.series[1].half_width == pytest.approx(half(means), rel=1e-3)
    assert min(by_seed.values()) > 1, "protection takes time"


def test_a_geometric_figure_of_traffic_has_its_programs_as_cases(folder: Path, rows: Rows) -> None:
    (figure,) = drawn(
        folder, figures=[{"value": "traffic", "x": "program", "series": SIZE, "mean": "geometric", "title": "Mine"}]
    )
    traffic = ratio(rows, "dram_bytes")
    assert (figure.title, figure.mean) == ("Mine", "geometric")
    assert [each.name for each in figure.series] == ["2 MB", "4 MB"]
    for case in figure.cases:
        expected = [
            fmean(
                geometric_mean([traffic(case.case, design, size, seed) for design in ("none", "sc64-bmt")])
                for seed in (1, 2)
            )
            for size in ("2 MB", "4 MB")
        ]
        assert case.values == pytest.approx(tuple(expected))


def test_a_figure_of_a_column_compares_with_no_baseline(folder: Path, rows: Rows) -> None:
    (figure,) = drawn(folder, figures=[{"value": "read_latency_ns", "x": "seed", "series": "program"}])
    assert figure.unit == "nanoseconds"
    assert [case.case for case in figure.cases] == ["1", "2"]
    for case in figure.cases:
        expected = [
            fmean(
                value(rows, "read_latency_ns", program, design, size, int(case.case))
                for design in ("none", "sc64-bmt")
                for size in ("2 MB", "4 MB")
            )
            for program in ("gups", "resident")
        ]
        assert case.values == pytest.approx(tuple(expected))


def test_the_baseline_of_a_study_divides_its_figures(folder: Path, rows: Rows) -> None:
    (figure,) = drawn(folder, baseline="sc64-bmt", figures=[{"value": "slowdown", "x": "program"}])
    slowdown = ratio(rows, "time_fs")
    for case in figure.cases:
        speeds = [
            fmean(1 / slowdown(case.case, "sc64-bmt", size, seed) for size in ("2 MB", "4 MB")) for seed in (1, 2)
        ]
        assert case.values == pytest.approx((fmean(speeds), 1.0))


def test_a_study_shows_each_of_its_figures_with_its_number(folder: Path) -> None:
    figures = drawn(folder, figures=[{"value": "ipc"}, {"value": "slowdown", "x": "design", "series": "machine"}])
    assert [(figure.number, len(figure.cases), len(figure.series)) for figure in figures] == [
        ("1", 2, 2),
        ("2", 2, 1),
    ]


def test_a_figure_of_an_unknown_column_is_refused_with_the_nearest(folder: Path) -> None:
    with pytest.raises(CasemateError, match=r"ipcc.*did you mean 'ipc'"):
        drawn(folder, figures=[{"value": "ipcc"}])


def test_a_design_file_is_the_baseline_of_a_study_without_none(scheduler: str, tmp_path: Path) -> None:
    shutil.copy(DESIGNS / "ctr-mac.toml", tmp_path / "mine.toml")
    study = Study(programs=PROGRAMS[:1], limit="10K", designs=[str(tmp_path / "mine.toml"), "sc64-bmt"])
    (figure,) = sweep(study, tmp_path / "results", workers=Workers(scheduler=scheduler)).figures
    (case,) = figure.cases
    assert [each.name for each in figure.series] == ["ctr-mac", "sc64-bmt"]
    assert case.values[0] == 1.0
    assert math.isfinite(case.values[1])
    assert case.half_widths == (None, None), "one seed has no interval"


@pytest.mark.parametrize("kind", ["designs", "machines"])
def test_files_that_state_one_name_are_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure would otherwise show the mean of both."""
    monkeypatch.setattr(cluster, "SECONDS_TO_CONNECT", 0.1)
    paths = [tmp_path / folder / "mine.toml" for folder in ("a", "b")]
    sources = {"designs": ("ctr-mac", "sc64-bmt"), "machines": ("modern", "champsim-default")}
    for path, name in zip(paths, sources[kind], strict=True):
        path.parent.mkdir()
        text = (DESIGNS.parent / kind / f"{name}.toml").read_text()
        path.write_text(text.replace(f'name = "{name}"', 'name = "mine"', 1))
    study: dict[str, Any] = {"programs": PROGRAMS[:1], "limit": "10K", kind: [str(path) for path in paths]}
    with pytest.raises(CasemateError, match=f"two {kind} are called 'mine'"):
        sweep(Study(**study), tmp_path / "results", workers=Workers(scheduler="tcp://127.0.0.1:1"))
    assert not list((tmp_path / "results").glob("rows-*"))


def test_a_design_is_constant_on_the_axis_of_a_different_design(scheduler: str, tmp_path: Path) -> None:
    study = Study(
        programs=PROGRAMS[:1], limit="10K", over={TAG_BITS: [32, 64]}, figures=[{"value": "traffic", "x": TAG_BITS}]
    )
    found = sweep(study, tmp_path, workers=Workers(scheduler=scheduler))
    (figure,) = found.figures
    assert found.points == 3
    assert [case.case for case in figure.cases] == ["32", "64"]
    assert [case.values[0] for case in figure.cases] == [1.0, 1.0]
    assert figure.cases[0].values[1] <= figure.cases[1].values[1]


def test_two_programs_with_equal_points_are_two_cases(scheduler: str, tmp_path: Path) -> None:
    twins = [{**PROGRAMS[0], "name": name} for name in ("one", "other")]
    study = Study(programs=twins, limit="10K", designs=["none"], figures=[{"value": "ipc", "x": "program"}])
    found = sweep(study, tmp_path, workers=Workers(scheduler=scheduler))
    assert found.points == 1
    assert [case.case for case in found.figures[0].cases] == ["one", "other"]


def test_figures_are_printed_and_drawn_with_any_names(casemate: Casemate, scheduler: str) -> None:
    Path("s.toml").write_text(
        'programs = [{workload = "resident", name = "a [/b] $x$ é"}]\ndesigns = ["none", "sc64-bmt"]\nlimit = 5000\n'
        '[[figures]]\nvalue = "slowdown"\ntitle = "of [bold] $y"\n'
    )
    said = casemate("sweep", "s.toml", "--scheduler", scheduler)
    assert said.code == 0, said.err
    assert "a [/b] $x$ é" in said.out
    assert "of [bold] $y" in said.out
    assert Path("results/s/_figures.png").read_bytes().startswith(b"\x89PNG")
    assert "wrote results/s/_figures.png" in said.err


def test_a_slowdown_compares_runs_that_executed_equally_many_instructions_warm_up_included() -> None:
    study = Study(programs="gups", designs=["none", "xts"], figures=[{"value": "slowdown"}])
    points = [Point("run", name, "modern", {}, "gups", (Kernel("gups"),), {}, 1, hash=name) for name in study.designs]
    cells = [Cell(point, "gups", {}) for point in points]

    def shown(executed: int) -> dict[str, tuple[float, ...]]:
        rows = {
            "none": {"time_fs": 100, "instructions": 50, "feed_instructions": 60},
            "xts": {"time_fs": 150, "instructions": 51, "feed_instructions": executed},
        }
        (figure,) = figures.found(study, cells, rows)
        return {series.name: case.values for case in figure.cases for series in figure.series}

    assert shown(60) == {"none": (1.0, 1.5), "xts": (1.0, 1.5)}
    assert shown(59) == {"none": (1.0,)}


@pytest.mark.parametrize(
    ("unit", "given", "printed"),
    [
        ("x", 1.23456, "1.235"), ("x", 2.34567, "2.346"), ("x", 12.3456, "12.35"), ("x", 1234.56, "1234.6"),
        ("%", 12.3456, "12.3"), ("% of reads", 0.12345, "0.123"),
    ],
)  # fmt: skip
def test_a_ratio_has_four_significant_digits_and_a_percentage_one_decimal(
    unit: str, given: float, printed: str
) -> None:
    figure = FigureFound(
        number="1", title="t", unit=unit, mean="arithmetic", note="", seeds=(1, 2),
        series=(SeriesFound(name="s", paper=None, ours=given, half_width=0.5),),
        cases=(CaseFigures(case="c", values=(given,), half_widths=(0.5,)),),
    )  # fmt: skip
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(report.of_cases(figure))
    assert console.export_text().count(f" {printed} ± 0.5") == 2
