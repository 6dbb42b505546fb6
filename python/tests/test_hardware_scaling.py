"""Cost of one more lane, from cores that differ only in their lanes, and the picture of cores."""

from pathlib import Path

import pytest
from casemate.hardware.engine import Point
from casemate.hardware.scaling import scaling, without_fit
from casemate.plots import hardware_picture
from casemate.schemas.hardware import Area, CoreCost, EnergyOfLine, HardwareCost, Speed


def core(um2: float, fmax_mhz: float, cycles: float, nj: float) -> CoreCost:
    """A core with these figures."""
    return CoreCost(
        name="core",
        target_ns=4,
        area=Area(um2=um2, flops_um2=0, cells=1, flops=0, fanout_buffers=0),
        speed=Speed(
            fmax_mhz=fmax_mhz,
            path_begins="a",
            path_ends="b",
            path_cells=1,
            cycles_per_line=cycles,
            latency_cycles=None,
            gbps=None,
            gbps_per_mm2=None,
        ),
        fpga=None,
        energy=EnergyOfLine(lines=1, switching_nj=nj, internal_nj=0, clock_nj=0, leakage_nj=0, total_nj=nj),
    )


def test_a_fit_over_lane_counts_passes_through_two_points_at_their_common_clock() -> None:
    # An engine with a single lane has no router, so the fit omits it.
    points = [Point(), Point(lanes=2), Point(lanes=3), Point(mul_bits=32)]
    rows = [core(1, 1, 1, 1), core(2100, 200, 25, 60), core(3200, 100, 20, 61), core(1, 1, 1, 1)]
    found = scaling(points, rows)
    assert [(fit.name, fit.lanes, fit.clock_mhz) for fit in found] == [("AES-128 1 round, W=16", [2, 3], 100)]
    assert (found[0].area_um2_a_lane, found[0].area_um2_besides) == pytest.approx((1100, -100))
    # 60 nJ every 25 cycles of 10 ns are 240 mW, 61 nJ every 20 are 305.
    assert (found[0].power_mw_a_lane, found[0].power_mw_besides) == pytest.approx((65, 110))


def test_routers_mapped_for_different_delays_have_no_fitted_line_and_are_named() -> None:
    points = [Point(lanes=2), Point(lanes=4), Point(mul_bits=32, lanes=2), Point(mul_bits=32, lanes=4)]
    rows = [core(2e6, 100, 25, 60), core(4e6, 100, 12, 60)] * 2
    rows[1] = rows[1].model_copy(update={"target_ns": 8.0})
    assert [each.name for each in scaling(points, rows)] == ["AES-128 1 round, W=32"]
    assert without_fit(points, rows) == ["AES-128 1 round, W=16"]


def test_cores_that_differ_in_more_than_lanes_have_no_fitted_line() -> None:
    assert scaling([Point(), Point(lanes=2, tower=True)], [core(1, 1, 1, 1), core(2, 1, 1, 1)]) == []


def test_a_picture_names_every_core_and_its_axes(tmp_path: Path) -> None:
    sealing = core(2e6, 200, 50, 60)
    sealing = sealing.model_copy(update={"name": "lane", "speed": sealing.speed.model_copy(update={"gbps": 2.0})})
    still = sealing.model_copy(update={"name": "multiplier", "energy": None})
    for rows in ([sealing, still], [still]):
        found = HardwareCost(
            library="small", library_content="", voltage_v=2, targets_ns=[8], tools={}, recipe="", rows=rows, scaling=[]
        )
        hardware_picture.draw(found, tmp_path / "cores.svg", "svg")
        text = (tmp_path / "cores.svg").read_text()
        for said in ("area of cells (mm²)", "throughput (Gb/s)", "energy of a line of 64 bytes (nJ)", "small at 2 V"):
            assert said in text
        assert ("1  lane" in text) == (sealing in rows)
        # Cores that cannot be drawn are named as well.
        assert text.index("not drawn, since they seal no lines:") < text.index("multiplier")
