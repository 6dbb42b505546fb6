"""Style of all pictures, independent of the style that a program has set in matplotlib."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def style(points: int) -> Iterator[None]:
    """Sets letters of this size, and identifiers that are the same each time. The program's own style of matplotlib has
    no effect meanwhile, and is as before afterwards.
    """
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            {"font.family": "DejaVu Sans", "font.size": points, "svg.hashsalt": "casemate", "svg.fonttype": "none"}
        )
        yield
