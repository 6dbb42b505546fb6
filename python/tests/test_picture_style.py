"""Pictures have one style, and leave matplotlib as the program that draws them has set it."""

import casemate as cm
import matplotlib as mpl
from casemate.plots import timeline_picture
from matplotlib import pyplot


def test_a_picture_leaves_the_style_and_the_figures_of_the_program_as_they_are() -> None:
    found = cm.explain_together(["none"])
    with mpl.rc_context():
        mpl.rcParams["font.size"] = 31.0
        mpl.rcParams["axes.facecolor"] = "red"
        before, backend = dict(mpl.rcParams), mpl.get_backend()
        figure = timeline_picture.figure(found)
        picture = figure._repr_svg_()
        assert dict(mpl.rcParams) == before
    assert mpl.get_backend() == backend
    assert pyplot.get_fignums() == []
    assert picture == timeline_picture.figure(found)._repr_svg_()
    assert "31px" not in picture


def test_a_notebook_receives_a_picture_as_an_svg_element_with_a_font_that_every_browser_has() -> None:
    figure = timeline_picture.figure(cm.explain_together(["none"]))
    picture = figure._repr_svg_()
    assert picture.startswith("<svg")
    assert picture.count("font-family: 'DejaVu Sans', sans-serif") == picture.count("font-family: ") > 0
    assert repr(figure).startswith("<Picture of 10 x ")
