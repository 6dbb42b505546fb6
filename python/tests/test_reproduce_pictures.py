"""The picture of a study: all its text is within its edges."""

from pathlib import Path
from typing import Any

import pytest
from casemate.plots import picture
from casemate.reproduce import pictures
from casemate.schemas.reproduce import CaseFigures, FigureFound, Reproduction, SeriesFound


@pytest.mark.parametrize("number", [1, 2, 4])
def test_the_label_of_an_axis_is_within_the_picture(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At heights where one number more or less on the axis makes its widest number wider."""
    names = [f"series {index}" for index in range(7)]
    series = tuple(SeriesFound(name=name, paper=1.5, ours=2.0, half_width=None) for name in names)
    values = tuple(1 + 11.5 * index / 6 for index in range(7))
    cases = tuple(CaseFigures(case=f"case {index}", values=values, half_widths=7 * (None,)) for index in range(9))
    panel = FigureFound(
        number="6", title="Execution time", unit="times bbb's", mean="geometric", series=series, cases=cases,
        seeds=(1,), note="",
    )  # fmt: skip
    found = Reproduction(
        paper="A paper", machine="modern", conditions=(), seeds=1, figures=number * (panel,), trends=(), left_out=(),
        failures=(), interrupted=False, holds=True,
    )  # fmt: skip
    save, seen = picture.save, list[float]()

    def look(figure: Any, path: Path, kind: str, dpi: int) -> None:
        save(figure, path, kind, dpi)
        seen.extend(axis.yaxis.label.get_window_extent().x0 for axis in figure.axes if axis.get_visible())

    monkeypatch.setattr(picture, "save", look)
    pictures.draw(found, tmp_path / "figures.png")
    assert len(seen) == number
    assert min(seen) > 0
