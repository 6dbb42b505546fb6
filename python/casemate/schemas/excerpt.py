"""Work of every hardware unit in a window of a run."""

from casemate.schemas.base import Result

FS_PER_NS = 1_000_000


class ExcerptAbout(Result):
    """Header of a window file."""

    casemate: str
    """Version of the Casemate program."""
    design: str
    """Name of the design."""
    machine: str
    """Name of the machine."""
    workload: tuple[str, ...]
    """The program with its arguments; the first one if several ran."""
    configuration_hash: str
    """SHA-256 of all values that decided the run. The limit of instructions is the requested one, even if the run ended
    earlier.
    """
    window_from_fs: int
    """Start of the window, in femtoseconds from power-on."""
    window_length_fs: int
    """Length of the window, in femtoseconds."""
    ended_fs: int
    """End of the run, in femtoseconds from power-on; the window contains no work after that time."""


class UnitWork(Result):
    """Work of one unit in the window."""

    part: str
    """Part of the machine that contains the hardware unit."""
    unit: str
    """Name of the unit. A name that begins with `for` is no unit but a cause for which accesses wait."""
    spans: int
    """Number of pieces of work that overlap the window."""
    at_once: int
    """Maximum number of concurrent pieces of work."""
    busy_fs: int
    """Time in the window during which the unit had any work, in femtoseconds."""
    mean_fs: int
    """Mean duration of a piece, in femtoseconds."""
    longest_fs: int
    """Longest duration of a piece, in femtoseconds."""


class ExcerptInfo(Result):
    """Content of a window file."""

    about: ExcerptAbout
    """Header of the file."""
    accesses: int
    """Number of accesses that caused work in the window."""
    units: tuple[UnitWork, ...]
    """Work of each unit."""

    def brief(self) -> str:
        """Returns the run of the window and its number of accesses."""
        about = self.about
        return f"a window of {' '.join(about.workload)} under {about.design}: {self.accesses} accesses"
