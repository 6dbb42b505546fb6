"""The state of a study's points while it runs, and the function that shows it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Work:
    """The state of a study's points, for the board."""

    points: int
    """Points of the study."""
    kept: int = 0
    """Points that were done before."""
    done: int = 0
    failed: int = 0
    running: list[str] = field(default_factory=list)
    """Titles of the points that workers have."""
    workers: int = 0
    started: float = field(default_factory=time.monotonic)


Report = Callable[[Work], object]
