"""`casemate cost compare` prices the lanes and another core in every library, and divides their figures."""

import json
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from casemate._core import CasemateError
from casemate.cli.commands import cost_flow
from casemate.hardware import comparison, flow, library, synthesis
from casemate.hardware.design import Design
from casemate.hardware.engine import Point
from casemate.hardware.flow import Flow, Request
from casemate.hardware.library import Library
from casemate.schemas.hardware import CoreCost, HardwareCost, Speed
from casemate.tables import hardware_table
from casemate.terminal.progress import Steps
from conftest import Casemate
from hardware_parts import TEXT, small_library
from rich.console import Console
from test_hardware_scaling import core
from test_progress import Heard


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
    assert lines[0] == "each core mapped for its own best of 2 targets; wires are ideal"
    figures = [line.replace(" / other", "") for line in lines if line.startswith(("a ", "b ", "small", "large"))]
    assert figures == [
        "a 1 V", "small 4.00 1.000 100.0 4.00 4.00 60.0", "large 4.00 4.000 100.0 8.00 2.00 30.0",
        "small 4.00 x 0.50 x", "large 2.00 x 0.25 x",
        "b 1 V", "small 4.00 1.000 100.0 4.00 4.00 60.0", "large 4.00 4.000 100.0 8.00 2.00 30.0",
        "small 1.00 x 2.00 x", "large 0.50 x 1.00 x",
    ]  # fmt: skip


@pytest.mark.parametrize(("targets_ns", "has_column"), [([4.0], False), ([4.0, 8.0], True)])
def test_a_table_of_costs_has_each_target_if_the_flow_tried_several(targets_ns: list[float], has_column: bool) -> None:
    console = Console(width=100, record=True)
    found = costs("a", [sealing("small", 1e6, 4, 60)]).model_copy(update={"targets_ns": targets_ns})
    console.print(hardware_table.table(found))
    text = console.export_text()
    assert ("target " in text) == ("4.00  1.000" in " ".join(text.split()).replace(" 1.000", "  1.000")) == has_column


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


class Recorder:
    """A flow that records its libraries and requests; every core seals lines."""

    made: ClassVar[list["Recorder"]] = []

    def __init__(self, cells: Library, folder: Path, delay_s: float | None, report: object) -> None:
        self.library, self.library_content, self.recipe = cells, "", ""
        self.targets_s = (delay_s,) if delay_s else (4e-9, 8e-9)
        self.requests = list[Request]()
        Recorder.made.append(self)

    def price(self, request: Request) -> CoreCost:
        """Records the request."""
        self.requests.append(request)
        return sealing(request.design.top, 1e6, 4, 60)


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A core with its stimulus, and two libraries of which only the second has a cell `lp_XOR`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(flow, "Flow", Recorder)
    Recorder.made = []
    (tmp_path / "core.sv").write_text("module core (input clk, output reg q); endmodule\n")
    (tmp_path / "drive.py").write_text("def drive(core): pass\n")
    (tmp_path / "a.lib").write_text(TEXT)
    (tmp_path / "b.lib").write_text(TEXT.replace("XOR", "lp_XOR"))
    return ["core.sv", "--top", "core", "--stimulus", "drive.py", "--lib", "a.lib", "--lib", "b.lib"]


def test_the_options_of_a_comparison_reach_both_cores_in_every_library(casemate: Casemate, sources: list[str]) -> None:
    lanes = ("--mul-bits", "32", "--rounds", "2", "--tower", "no", "--tower", "yes", "--key-bits", "256")
    ran = casemate("cost", "compare", *sources, *lanes, "--target", "5", "--dont-use", "lp_*", "--json")
    assert ran.code == 0, ran.err
    assert [made.library.path.name for made in Recorder.made] == ["a.lib", "b.lib"]
    assert [len(made.library.cells) for made in Recorder.made] == [4, 3]
    for made in Recorder.made:
        assert made.targets_s == pytest.approx([5e-9])
        other, *ours = made.requests
        assert (other.design.top, other.key_bytes, other.stimulus) == ("core", 32, Path("drive.py"))
        of_lanes = [dict(request.design.parameters) for request in ours]
        expected = {"KeyBits": "256", "MulBits": "32", "RoundsPerCycle": "2"}
        assert all(expected.items() <= each.items() for each in of_lanes)
        assert [each["Tower"] for each in of_lanes] == ["0", "1"]
        assert {request.key_bytes for request in ours} == {32}
    found = json.loads(ran.out)
    assert [len(each["rows"]) for each in found["libraries"]] == [3, 3]
    assert len(found["ratios"]) == 4


def test_a_comparison_refuses_a_pattern_that_matches_no_cell(casemate: Casemate, sources: list[str]) -> None:
    refused = casemate("cost", "compare", *sources, "--dont-use", "lp_*", "--dont-use", "hvt_*")
    assert (refused.code, refused.out) == (2, "")
    assert "--dont-use: no cell in 'a.lib' or 'b.lib' has a name that matches 'hvt_*'" in refused.err


@pytest.mark.parametrize(("target", "mappings"), [(None, len(synthesis.TARGETS_FO4)), (5.0, 1)])
def test_the_progress_of_a_core_counts_a_mapping_for_each_target(target: float | None, mappings: int) -> None:
    heard = Heard()
    pricing = cost_flow.pricing(cast(Steps, heard), 1, {"no_fpga": False, "target": target})
    pricing.begin(0, "core")
    pricing.step("simulation of the RTL")
    assert heard.shares == [(0, sum(cost_flow.weights(mappings).values()))]
