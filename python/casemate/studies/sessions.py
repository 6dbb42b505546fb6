"""Groups points into sessions: batches that a worker carries out together."""

from collections import Counter
from collections.abc import Iterable, Iterator

from casemate.studies.points import Kernel, Point, digest

Batch = tuple[Point, ...]

BATCHES_OF_A_WORKER = 2
"""Number of batches for each worker below which points are not grouped: all workers should have work to the end."""


def batches(points: Iterable[Point], workers: int, memory_bytes: int) -> list[Batch]:
    """Returns the points in batches, in their order. Runs of built-in workloads that differ only in the design share
    one execution of the workload: a workload may build a large graph for longer than its simulation takes. Runs of
    traces do not become faster in a session, so each is a separate batch. The points of a batch need at most
    `memory_bytes` together, unless a single point needs more.
    """
    listed = list(points)
    shared: dict[tuple[str, int], list[Point]] = {}
    met: Counter[tuple[str, str]] = Counter()
    for point in listed:
        alike = _alike(point)
        design = point.design_name
        # A session has each design once; the second point of a design is in the second batch of its kind.
        shared.setdefault((alike, met[alike, design]), []).append(point)
        met[alike, design] += 1
    if len(shared) < BATCHES_OF_A_WORKER * workers:
        return [(point,) for point in listed]
    return [part for batch in shared.values() for part in _that_fit(batch, memory_bytes)]


def needed_bytes(batch: Batch) -> int:
    """Returns the memory that a worker needs for a batch, in bytes."""
    return sum(point.memory_bytes for point in batch)


def _that_fit(batch: Iterable[Point], memory_bytes: int) -> Iterator[Batch]:
    """Yields parts of a batch that need at most this memory."""
    part: list[Point] = []
    for point in batch:
        if part and needed_bytes((*part, point)) > memory_bytes:
            yield tuple(part)
            part = []
        part.append(point)
    yield tuple(part)


def _alike(point: Point) -> str:
    """Returns a text that is equal for points which can share a session."""
    if point.kind != "run" or not any(isinstance(program, Kernel) for program in point.programs):
        return point.hash
    of_machine = {path: value for path, value in point.changes.items() if path.startswith("machine.")}
    programs = [vars(program) for program in point.programs]
    return digest([programs, point.machine, of_machine, dict(point.options), point.seed])
