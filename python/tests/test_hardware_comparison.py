"""`casemate cost compare` prices the lanes and another core in every library, and divides their figures."""

from pathlib import Path
from typing import Any, cast

import pytest
from casemate._core import CasemateError
from casemate.cli.commands import cost_flow
from casemate.hardware import comparison, library
from casemate.hardware.design import Design
from casemate.hardware.engine import Point
from casemate.hardware.flow import Flow, Request
from casemate.schemas.hardware import CoreCost, HardwareCost, Speed
from casemate.tables import hardware_table
from conftest import Casemate
from hardware_parts import TEXT, small_library
from rich.console import Console
from test_hardware_scaling import core


def sealing(name: str, um2: float, gbps: float | None, nj: float) -> CoreCost:
    """A core that seals lines with this throughput."""
    found = core(um2, 100, 50, nj)
    per_mm2 = gbps and gbps / (um2 / 1e6)
    speed = found.speed.model_copy(update={"gbps": gbps, "gbps_per_mm2": per_mm2})
    return found.model_copy(update={"name": name, "speed": Speed.model_validate(speed.model_dump())})


class FakeFlow:
    """A flow that prices every lane alike, and the other core by its name."""

    def __init__(self, folder: Path, name: str, lane: CoreCost, other: CoreCost) -> None:
        self.library = small_library(folder, TEXT.replace("library (small)", f"library ({name})"))
        self._lane, self._other = lane, other

    def price(self, request: Request) -> CoreCost:
        """The cost of a lane or of the other core."""
        return self._lane if request.design.top == "gcm_lane" else self._other


def costs(library_name: str, rows: list[CoreCost]) -> HardwareCost:
    """Costs in one library."""
    return HardwareCost(
        library=library_name, library_content="", voltage_v=1, targets_ns=[4, 8], tools={}, recipe="", rows=rows,
        scaling=[],
    )  # fmt: skip


OTHER = Request(Design((), "other"), stimulus=Path("drive.py"))


def test_each_library_prices_the_other_core_first_and_then_each_lane(tmp_path: Path) -> None:
    begun = list[tuple[int, str]]()
    flows = list[Any]()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        flows.append(FakeFlow(tmp_path / name, name, sealing("lane", 1e6, 4, 60), sealing("other", 2e6, 2, 90)))
    lanes = [Point(), Point(mul_bits=32)]
    found = list(
        comparison.price(lanes, OTHER, cast(list[Flow], flows), (), lambda number, name: begun.append((number, name)))
    )
    assert begun == [
        (0, "other in a"), (1, "AES-128 1 round, W=16 in a"), (2, "AES-128 1 round, W=32 in a"),
        (3, "other in b"), (4, "AES-128 1 round, W=16 in b"), (5, "AES-128 1 round, W=32 in b"),
    ]  # fmt: skip
    assert [[row.name for row in rows] for _, rows in found] == 2 * [
        ["AES-128 1 round, W=16", "AES-128 1 round, W=32", "other"]
    ]


def test_a_core_that_seals_no_lines_is_not_compared(tmp_path: Path) -> None:
    flow = FakeFlow(tmp_path, "a", sealing("lane", 1e6, 4, 60), sealing("other", 2e6, None, 90))
    with pytest.raises(CasemateError, match=r"'other' seals no lines under 'drive\.py': expected a stimulus that"):
        list(comparison.price([Point()], OTHER, [cast(Flow, flow)], (), lambda number, name: None))


def test_ratios_are_those_of_each_lane_to_the_other_core_of_the_same_library() -> None:
    small, large = sealing("small", 1e6, 4, 60), sealing("large", 4e6, 8, 30)
    # In library a: 4, 2 and 1 Gb/s/mm2; in library b the other core has 4 Gb/s/mm2 and takes a quarter of the energy.
    found = comparison.compared(
        "other",
        [
            costs("a", [small, large, sealing("other", 2e6, 2, 120)]),
            costs("b", [small, large, sealing("other", 1e6, 4, 30)]),
        ],
    )
    assert [(each.library, each.lane, each.gbps_per_mm2, each.energy) for each in found.ratios] == [
        ("a", "small", 4.0, 0.5), ("a", "large", 2.0, 0.25), ("b", "small", 1.0, 2.0), ("b", "large", 0.5, 1.0),
    ]  # fmt: skip
    console = Console(width=100, record=True)
    console.print(hardware_table.comparison(found))
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert "each core mapped for its own best of 2 targets; wires are ideal" in lines
    assert "small / other 4.00 x 0.50 x" in lines
    assert "large / other 0.50 x 1.00 x" in lines


def test_a_pattern_of_cells_must_match_in_one_of_the_libraries(tmp_path: Path) -> None:
    for name, text in (("a.lib", TEXT), ("b.lib", TEXT.replace("XOR", "lp_XOR"))):
        (tmp_path / name).write_text(text)
    patterns = ["lp_*"]
    read = [library.read(tmp_path / name, patterns) for name in ("a.lib", "b.lib")]
    cost_flow.check_patterns(read, patterns)
    assert [("XOR" in each.cells, "lp_XOR" in each.cells) for each in read] == [(True, False), (False, False)]
    with pytest.raises(CasemateError, match=r"--dont-use: no cell in '.*a\.lib' or '.*b\.lib' has a name that matches"):
        cost_flow.check_patterns(read, ["lp_*", "lpflow_*"])


def test_a_comparison_needs_a_stimulus(casemate: Casemate) -> None:
    refused = casemate("cost", "compare", "a.v", "--top", "core")
    assert (refused.code, refused.out) == (2, "")
    assert "expected --stimulus FILE (Python file that drives the other core)" in refused.err
