"""`casemate report` of figures that a paper derives from its parameters."""

import html
from pathlib import Path

import pytest
from casemate.schemas.derivation import Derivation
from conftest import Casemate
from report_pages import data, figures, notices

pytest.importorskip("altair")
pytest.importorskip("vl_convert")


def test_derived_figures_make_a_page_with_each_figure_of_the_thesis(casemate: Casemate) -> None:
    said = casemate("reproduce", "gcm", "--bandwidth", "51.2", "--output", "gcm", "--json")
    found = Derivation.model_validate_json(said.out)
    assert casemate("report", "gcm", "-o", "page.html").code == 0
    content = data(Path("page.html"))
    assert len(figures(Path("page.html"))) == len(found.dots) + len(found.tables) + 1
    rows = content["tables"]["derived"]["columns"]
    expected = [row for table in found.tables for row in table.rows]
    assert rows["computed"] == pytest.approx([row.computed for row in expected], rel=1e-6)
    printed = [None if index is None else rows["printed"]["names"][index] for index in rows["printed"]["values"]]
    assert printed == [row.printed for row in expected]
    differing = [row.difference_percent if row.agreement == "differs" else None for row in expected]
    assert [value is None for value in rows["difference_percent"]] == [value is None for value in differing]
    needs = content["tables"]["needs"]["columns"]
    assert needs["power_w"] == pytest.approx([need.power_w for need in found.needs], rel=1e-6)
    assert found.brief() in html.unescape(notices(Path("page.html")))
    assert casemate("report", "gcm", "-o", "page.html", "--where", "ipc > 1").code == 2
