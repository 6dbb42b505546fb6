"""What every unit did in a window of a run."""

from casemate.results.base import Result

FS_PER_NS = 1_000_000


class ExcerptAbout(Result):
    """What the file of a window is about."""

    casemate: str
    """Casemate's version."""
    design: str
    """The design's name."""
    machine: str
    """The machine's name."""
    workload: tuple[str, ...]
    """The program with its arguments; of several, the first."""
    configuration_hash: str
    """SHA-256 of all that decided the run; its budget is what was asked for, however the run ended."""
    window_from_fs: int
    """When the window begins, in femtoseconds from power-on."""
    window_length_fs: int
    """How long it is, in femtoseconds."""
    ended_fs: int
    """When the run ended, likewise: what is of the window after that is empty."""


class UnitWork(Result):
    """What one unit did in the window."""

    part: str
    """The part of the machine that it is in."""
    unit: str
    """Its name. One that begins with `for` is what accesses wait for."""
    spans: int
    """Pieces of work that meet the window."""
    at_once: int
    """The most of these at once."""
    busy_fs: int
    """How long, of the window, it had any work, in femtoseconds."""
    mean_fs: int
    """How long a piece took in the mean, in femtoseconds."""
    longest_fs: int
    """How long the longest took, in femtoseconds."""


class ExcerptInfo(Result):
    """What is in the file of a window."""

    about: ExcerptAbout
    """What it is about."""
    accesses: int
    """Accesses that did something in the window."""
    units: tuple[UnitWork, ...]
    """What each unit did."""

    def brief(self) -> str:
        """Whose window it is, and how much is in it."""
        about = self.about
        return f"a window of {' '.join(about.workload)} under {about.design}: {self.accesses} accesses"
