"""Cost of one more lane: straight lines through engines that differ only in their number of lanes. An engine of one
lane is not among them, since it has no router.

The function that fits the straight lines of the AES-GCM thesis (its equations 5.3 and 5.5) fits ours too, so that the
two differ only by their points. Power is that of an engine that seals cache lines back to back, at the highest clock
that all routers reach.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from casemate.crypto.regression import EnginePoint, fit_engines
from casemate.hardware.engine import Point
from casemate.schemas.hardware import CoreCost, Scaling


def scaling(points: Sequence[Point], rows: Sequence[CoreCost]) -> list[Scaling]:
    """Returns a fit for each family of routers that differ only in their number of lanes, if the family has at least
    two routers, all mapped for the same delay; `rows` contains the cost of each point.
    """
    return [_fitted(name, family) for name, family in _families(points, rows) if not _differ(family)]


def without_fit(points: Sequence[Point], rows: Sequence[CoreCost]) -> list[str]:
    """Returns the names of the families without a fit, because their routers are mapped for different delays."""
    return [name for name, family in _families(points, rows) if _differ(family)]


def _differ(family: Mapping[int, CoreCost]) -> bool:
    return len({row.target_ns for row in family.values()}) > 1


def _families(points: Sequence[Point], rows: Sequence[CoreCost]) -> list[tuple[str, dict[int, CoreCost]]]:
    """Returns each family of two or more routers that differ only in their number of lanes, by the name of its lane."""
    families = dict[Point, dict[int, CoreCost]]()
    for point, row in zip(points, rows, strict=True):
        if point.lanes > 1:
            families.setdefault(replace(point, lanes=1), {})[point.lanes] = row
    return [(point.title, family) for point, family in families.items() if len(family) > 1]


def _fitted(name: str, family: dict[int, CoreCost]) -> Scaling:
    clock_mhz = min(row.speed.fmax_mhz for row in family.values())
    points = [EnginePoint(lanes, row.area.um2, _power_mw(row, clock_mhz)) for lanes, row in sorted(family.items())]
    fit = fit_engines(points)
    return Scaling(
        name=name,
        lanes=[point.modules for point in points],
        clock_mhz=clock_mhz,
        area_um2_a_lane=fit.area_um2.slope,
        area_um2_besides=fit.area_um2.intercept,
        power_mw_a_lane=fit.power_mw.slope,
        power_mw_besides=fit.power_mw.intercept,
    )


def _power_mw(row: CoreCost, clock_mhz: float) -> float:
    # The engine's stimulus measures energy and cycles of every configuration, so neither is missing.
    assert row.energy is not None
    assert row.speed.cycles_per_line is not None
    return row.energy.total_nj * clock_mhz / row.speed.cycles_per_line
