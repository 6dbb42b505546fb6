"""Groups points into sessions: batches that a worker carries out together."""

from collections import Counter
from collections.abc import Iterable

from casemate.laboratory import arguments
from casemate.studies.points import Kernel, Point, digest

Batch = tuple[Point, ...]

BATCHES_OF_A_WORKER = 2
"""Number of batches for each worker below which points are not grouped: all workers should have work to the end."""


def batches(points: Iterable[Point], workers: int) -> list[Batch]:
    """Returns the points in batches, in their order. Runs of built-in workloads that differ only in the design share
    one execution of the workload: a workload may build a large graph for longer than its simulation takes. Runs of
    traces do not become faster in a session, so each is a separate batch.
    """
    listed = list(points)
    shared: dict[tuple[str, int], list[Point]] = {}
    met: Counter[tuple[str, str]] = Counter()
    for point in listed:
        alike = _alike(point)
        design = arguments.short(point.design)
        # A session has each design once; the second point of a design is in the second batch of its kind.
        shared.setdefault((alike, met[alike, design]), []).append(point)
        met[alike, design] += 1
    if len(shared) < BATCHES_OF_A_WORKER * workers:
        return [(point,) for point in listed]
    return [tuple(batch) for batch in shared.values()]


def _alike(point: Point) -> str:
    """Returns a text that is equal for points which can share a session."""
    if point.kind != "run" or not any(isinstance(program, Kernel) for program in point.programs):
        return point.hash
    of_machine = {path: value for path, value in point.changes.items() if path.startswith("machine.")}
    programs = [vars(program) for program in point.programs]
    return digest([programs, point.machine, of_machine, dict(point.options), point.seed])
