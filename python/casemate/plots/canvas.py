"""A figure of matplotlib that a notebook shows without pyplot; modules import it late, since it loads matplotlib."""

import io
from typing import Any

from matplotlib.figure import Figure

from casemate.plots.style import style


class Picture(Figure):
    """A figure that keeps its style, whatever the style of the program that shows or saves it."""

    points = 9
    """Size of letters, in points."""

    def savefig(self, *arguments: Any, **settings: Any) -> None:
        """Saves the figure in the style in which it was drawn."""
        with style(self.points):
            super().savefig(*arguments, **settings)

    def _repr_svg_(self) -> str:
        """Returns the picture for a notebook. Browsers without its font use a similar one."""
        content = io.StringIO()
        self.savefig(content, format="svg", metadata={"Date": None})
        text = content.getvalue().replace("font-family: 'DejaVu Sans'", "font-family: 'DejaVu Sans', sans-serif")
        return text[text.index("<svg") :]

    def __repr__(self) -> str:
        width, height = self.get_size_inches()
        return f"<Picture of {width:g} x {height:g} inches>"
