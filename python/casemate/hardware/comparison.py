"""Lanes of our AES-GCM engine and another AES-GCM core, through the same flow in each of several cell libraries."""

from collections.abc import Callable, Iterator, Sequence

from casemate._core import CasemateError
from casemate.hardware import engine
from casemate.hardware.engine import Point
from casemate.hardware.flow import Flow, Request
from casemate.hardware.sources import Source
from casemate.schemas.hardware import CoreCost, HardwareComparison, HardwareCost, Ratio


def price(
    lanes: list[Point],
    request: Request,
    flows: Sequence[Flow],
    sources: tuple[Source, ...],
    begin: Callable[[int, str], object],
) -> Iterator[tuple[Flow, list[CoreCost]]]:
    """Yields for each flow the costs of the lanes, then that of the requested core; calls `begin` before the work on
    each. Raises `CasemateError` if a core cannot be priced, or if the requested core seals no lines.
    """
    done = 0
    for flow in flows:

        def begin_in_library(number: int, core: str, flow: Flow = flow, done: int = done) -> None:
            begin(done + number, f"{core} in {flow.library.name}")

        # The other core is first: only its files and its stimulus are the user's, so errors are likeliest there.
        begin_in_library(0, request.design.title)
        other = flow.price(request)
        if other.speed.gbps is None:
            raise CasemateError(
                f"'{request.design.title}' seals no lines under '{request.stimulus}': expected a stimulus that returns "
                "each line by core.done(sealed, tag)"
            )
        ours = engine.price(
            lanes, flow, sources, has_fpga=False, begin=lambda number, core: begin_in_library(number + 1, core)
        )
        yield flow, [*ours, other]
        done += len(lanes) + 1


def compared(core: str, costs: list[HardwareCost]) -> HardwareComparison:
    """Returns the costs with the ratios of each lane to the other core, which is the last row in each library."""
    ratios = [_ratio(cost.library, lane, cost.rows[-1]) for cost in costs for lane in cost.rows[:-1]]
    return HardwareComparison(core=core, libraries=costs, ratios=ratios)


def _ratio(library: str, lane: CoreCost, other: CoreCost) -> Ratio:
    # Both seal lines under their stimuli, so neither throughput nor energy is missing.
    assert lane.speed.gbps_per_mm2 is not None
    assert other.speed.gbps_per_mm2 is not None
    assert lane.energy is not None
    assert other.energy is not None
    return Ratio(
        library=library,
        lane=lane.name,
        gbps_per_mm2=lane.speed.gbps_per_mm2 / other.speed.gbps_per_mm2,
        energy=lane.energy.total_nj / other.energy.total_nj,
    )
