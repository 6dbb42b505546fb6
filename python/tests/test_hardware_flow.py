"""Parts of the hardware flow without external programs: libraries, netlists, fan-out, energy, stimulus, refusals."""

import json
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import ClassVar

import hardware_parts
import pytest
from casemate._core import CasemateError, GcmLines
from casemate.hardware import (
    energy,
    engine,
    engine_stimulus,
    fanout,
    flow,
    functions,
    gate_simulation,
    netlist,
    store,
    synthesis,
)
from casemate.hardware.gate_simulation import Toggles
from casemate.hardware.netlist import Instance
from casemate.hardware.stimulus import Core, Trace
from casemate.plots import hardware_picture
from casemate.schemas import Area, CoreCost, Speed
from hardware_parts import CELLS, HEAD, LATCH, TEXT, shared_net, small_library, two_gates

PF, NS, PJ = 1e-12, 1e-9, 1e-12


def test_a_library_is_read_in_its_units(tmp_path: Path) -> None:
    found = small_library(tmp_path)
    assert (found.name, found.voltage_v) == ("small", 2.0)
    assert found.first_slew_s == pytest.approx(0.1 * NS)
    xor = found.cells["XOR"]
    assert (xor.area_um2, xor.inputs, xor.outputs) == (40.0, ["A", "B"], ["Y"])
    assert xor.leakage_w == pytest.approx(2e-9)
    assert xor.pins["A"].capacitance_f == pytest.approx(0.05 * PF)
    assert [arc.source for arc in xor.pins["Y"].energies_j] == ["A", "B"]
    flop = found.cells["DFF"].flop
    assert flop is not None
    assert (flop.next_state, flop.clock, flop.clear) == ("D", "CK", "")
    assert (found.inverter().name, found.buffer(0.3 * PF).name) == ("INV", "BUF")


def test_a_liberty_delay_table_is_interpolated_and_clamped_at_its_edges(tmp_path: Path) -> None:
    delay = small_library(tmp_path).cells["INV"].pins["Y"].delays[0].rise
    for load, expected in ((0.0, 0.1), (0.1, 0.1), (0.2, 0.2), (0.25, 0.25), (0.3, 0.3), (9.0, 0.3)):
        assert delay.at(load * PF, 0.2 * NS) == pytest.approx(expected * NS)


def test_a_liberty_table_with_swapped_axes_gives_equal_values(tmp_path: Path) -> None:
    head = HEAD.replace("variable_1 : total_output_net_capacitance; variable_2 : input_net_transition", "SWAPPED")
    head = head.replace("SWAPPED", "variable_1 : input_net_transition; variable_2 : total_output_net_capacitance")
    text = TEXT.replace(HEAD, head).replace('"0.1, 0.1", "0.3, 0.3"', '"0.1, 0.3", "0.1, 0.3"')
    text = text.replace(
        'index_1 ("0.1, 0.3"); index_2 ("0.1, 0.5"); values ("0.1',
        'index_1 ("0.1, 0.5"); index_2 ("0.1, 0.3"); values ("0.1',
    )
    assert text != TEXT
    delay = small_library(tmp_path, text).cells["INV"].pins["Y"].delays[0].rise
    assert delay.at(0.2 * PF, 0.3 * NS) == pytest.approx(0.2 * NS)


def test_the_synthesis_delay_targets_are_multiples_of_the_library_fo4_delay(tmp_path: Path) -> None:
    # Four inputs of 0.05 pF: 0.2 ns by the table.
    found = small_library(tmp_path)
    assert found.fo4_s() == pytest.approx(0.2 * NS)
    assert synthesis.targets_s(found) == pytest.approx([4 * NS, 6 * NS, 8 * NS, 12 * NS, 16 * NS])


@pytest.mark.parametrize(
    ("function", "meant"),
    [
        ("!(A B)", lambda a, b, c: not (a and b)),
        ("A'B+C", lambda a, b, c: (not a and b) or c),
        ("(A+B)*!C", lambda a, b, c: (a or b) and not c),
        ("A^B C", lambda a, b, c: (a != b) and c),
        ("(!((A B)+C))", lambda a, b, c: not ((a and b) or c)),
        ("A|B&C", lambda a, b, c: a or (b and c)),
    ],
)
def test_a_function_of_a_cell_is_evaluated_as_liberty_defines(
    function: str, meant: Callable[[int, int, int], bool]
) -> None:
    written = functions.expression(function, str.lower)
    for a, b, c in product((0, 1), repeat=3):
        assert eval(written, {"a": a, "b": b, "c": c}) == int(meant(a, b, c)), (function, a, b, c)


@pytest.mark.parametrize("function", ["A?B:C", "(A+B", "A+", "", "A)B"])
def test_an_invalid_function_is_refused(function: str) -> None:
    with pytest.raises(CasemateError, match="function"):
        functions.expression(function, str)


def test_energy_of_two_gates_equals_a_calculation_by_hand(tmp_path: Path) -> None:
    # The net between has one input of 0.05 pF; those of a and b one each; y has no input. V = 2 V.
    counted = Toggles(rises={3: 4, 4: 0, 5: 3, 6: 2}, falls={3: 4, 4: 0, 5: 2, 6: 3}, cycles=0)
    found = energy.find(two_gates(), small_library(tmp_path), "clk", counted)
    assert found.switching_j == pytest.approx((8 + 5) * 0.5 * 0.05 * PF * 2**2)
    # XOR: 3 rises of 2 pJ and 2 falls of 4 pJ; INV: 2 rises of 1 pJ and 3 falls of 3 pJ.
    assert found.internal_j == pytest.approx((3 * 2 + 2 * 4 + 2 * 1 + 3 * 3) * PJ)
    assert found.clock_j == 0.0
    assert found.leakage_w == pytest.approx(4e-9)


def test_a_clock_takes_the_energy_of_its_pins_and_both_internal_edges_each_cycle(tmp_path: Path) -> None:
    still = Toggles(rises={}, falls={}, cycles=10)
    found = energy.find(shared_net(1), small_library(tmp_path), "clk", still)
    # A rise of 0.5 pJ and a fall of 0.25 pJ within, and 0.02 pF at 2 V, each cycle.
    assert found.clock_j == pytest.approx(10 * (0.75 + 0.02 * 4) * PJ)
    assert (found.switching_j, found.internal_j) == (0.0, 0.0)


def test_cells_that_do_not_toggle_take_only_leakage(tmp_path: Path) -> None:
    found = energy.find(shared_net(3), small_library(tmp_path), "clk", Toggles({}, {}, 0))
    assert found.dynamic_j == 0.0
    assert found.leakage_w == pytest.approx((4 + 3 * 2) * 1e-9)


@pytest.mark.parametrize(("sinks", "buffers"), [(16, 0), (17, 2), (256, 16), (257, 17 + 2), (300, 19 + 2)])
def test_fanout_splitting_keeps_nets_within_the_limit(tmp_path: Path, sinks: int, buffers: int) -> None:
    known = small_library(tmp_path)
    split, added = fanout.split(shared_net(sinks), known, "clk")
    assert added == buffers
    served = split.sinks(known)
    assert max(len(pins) for net, pins in served.items() if net != 2) <= fanout.SINKS_MAX
    assert len(split.instances) == sinks + 1 + buffers
    # Every inverter is still connected to the flip-flop, only through buffers.
    driver = {each.pins["Y"]: each for each in split.instances if each.cell == "BUF"}
    for each in split.instances:
        net = each.pins.get("A", 4)
        while net != 4:
            net = driver[net].pins["A"]


def test_fanout_splitting_leaves_the_clock_net_whole(tmp_path: Path) -> None:
    flops = [Instance(f"f{number}", "DFF", {"CK": 2, "D": 3, "Q": 10 + number}) for number in range(40)]
    wide = shared_net(0).with_instances(flops)
    split, added = fanout.split(wide, small_library(tmp_path), "clk")
    assert added == 3
    assert all(each.pins["CK"] == 2 for each in split.instances if each.cell == "DFF")


def test_a_separately_mapped_part_is_inserted_for_each_of_its_instances(tmp_path: Path) -> None:
    known = small_library(tmp_path)
    box = {"type": "part", "connections": {"clk": [2], "a": [3], "b": [4], "y": [5]}}
    second = {"type": "part", "connections": {"clk": [2], "a": [5], "b": ["1"], "y": [6]}}
    ports = {name: {"direction": "input", "bits": [bit]} for name, bit in (("clk", 2), ("a", 3), ("b", 4))}
    ports["y"] = {"direction": "output", "bits": [6]}
    module = {"ports": ports, "cells": {"u0": box, "u1": second}, "netnames": {}}
    path = tmp_path / "outer.json"
    path.write_text(json.dumps({"modules": {"outer": module}}))
    whole = netlist.read(path, "outer", known, {"part": two_gates()})
    assert whole.counts() == {"INV": 2, "XOR": 2}
    assert whole.area_um2(known) == 2 * (16 + 40)
    # y = !((!(a ^ b)) ^ 1) = !(a ^ b) ... with the second gate inverting once more.
    trace = traced([(a, b) for a, b in product((0, 1), repeat=2)], lambda a, b: 1 - (a ^ b))
    if shutil.which("cc"):
        gate_simulation.run(whole, known, "clk", trace, tmp_path)


def test_a_cell_that_the_library_lacks_is_refused(tmp_path: Path) -> None:
    module = {"ports": {}, "cells": {"u0": {"type": "$dlatch", "connections": {}}}, "netnames": {}}
    path = tmp_path / "latch.json"
    path.write_text(json.dumps({"modules": {"top": module}}))
    with pytest.raises(CasemateError, match="'top' needs '\\$dlatch', which the library"):
        netlist.read(path, "top", small_library(tmp_path))


def test_a_latch_is_refused(tmp_path: Path) -> None:
    known = small_library(tmp_path, f"{HEAD}{CELLS} {LATCH} }}\n")
    module = {"ports": {}, "cells": {"u0": {"type": "LATCH", "connections": {}}}, "netnames": {}}
    path = tmp_path / "latch.json"
    path.write_text(json.dumps({"modules": {"top": module}}))
    with pytest.raises(CasemateError, match="'top' needs 'LATCH', a latch: expected flip-flops"):
        netlist.read(path, "top", known)


@pytest.mark.parametrize(("are_lines", "gbps"), [(True, 512 * 0.1 / 4), (False, None)])
def test_only_cores_that_seal_lines_have_a_throughput(are_lines: bool, gbps: float | None) -> None:
    area = Area(um2=2e6, flops_um2=0.0, cells=1, flops=0, fanout_buffers=0)
    nothing = dict.fromkeys(("cycles_per_line", "latency_cycles", "gbps", "gbps_per_mm2"))
    speed = Speed(fmax_mhz=100.0, path_begins="a", path_ends="b", path_cells=1, **nothing)
    core = CoreCost(name="core", target_ns=4, area=area, speed=speed, fpga=None, energy=None)
    trace = Trace([{}] * 10, [{}] * 10, first=2, done=2, latencies=[5, 6], are_lines=are_lines)
    found = flow.with_work(core, trace, energy.Energy(2e-9, 4e-9, 6e-9, 1e-3))
    assert (found.speed.cycles_per_line, found.speed.latency_cycles, found.speed.gbps) == (4.0, 5.5, gbps)
    assert found.speed.gbps_per_mm2 == (gbps and gbps / 2)
    # Two lines; each leaks 1 mW for 4 cycles of 10 ns.
    assert found.energy is not None
    assert found.energy.total_nj == pytest.approx(1 + 2 + 3 + 0.04)


def test_verilog_for_timing_has_no_vectors() -> None:
    written = netlist.verilog(two_gates())
    assert "assign y_0 = n6;" in written
    assert "XOR i1 (.A(a_0), .B(b_0), .Y(n5));" in written
    assert not {"[", "{"} & set(written)


def traced(inputs: list[tuple[int, int]], expected: Callable[[int, int], int]) -> Trace:
    """A trace of two input bits, with the expected output."""
    return Trace([{"a": a, "b": b} for a, b in inputs], [{"y": expected(a, b)} for a, b in inputs], done=1)


@pytest.mark.skipif(shutil.which("cc") is None, reason="netlists are run as C")
def test_a_netlist_is_run_and_its_toggles_are_counted(tmp_path: Path) -> None:
    inputs = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
    trace = traced(inputs, lambda a, b: 1 - (a ^ b))
    found = gate_simulation.run(two_gates(), small_library(tmp_path), "clk", trace, tmp_path)
    # Between the gates: 0 1 0 1 0; behind them, from the zero that all nets begin with: 1 0 1 0 1.
    assert (found.rises[5], found.falls[5]) == (2, 2)
    assert (found.rises[6], found.falls[6]) == (3, 2)
    assert (found.rises[3], found.falls[3], found.cycles) == (1, 1, 5)


@pytest.mark.skipif(shutil.which("cc") is None, reason="netlists are run as C")
def test_a_netlist_that_differs_from_the_rtl_is_refused(tmp_path: Path) -> None:
    trace = traced([(0, 0), (1, 0), (1, 1)], lambda a, b: 1 - (a & b))
    with pytest.raises(CasemateError, match="the netlist differs from the RTL in cycle 1: bit 0 of 'y'"):
        gate_simulation.run(two_gates(), small_library(tmp_path), "clk", trace, tmp_path)


def test_a_combinational_loop_is_refused(tmp_path: Path) -> None:
    gates = (
        Instance("flop", "DFF", {"CK": 2, "D": 5, "Q": 6}),
        Instance("i0", "XOR", {"A": 3, "B": 5, "Y": 4}),
        Instance("i1", "INV", {"A": 4, "Y": 5}),
    )
    looped = hardware_parts.netlist({"clk": (True, 2), "a": (True, 3), "y": (False, 6)}, gates)
    with pytest.raises(CasemateError, match="'top' has a combinational loop"):
        gate_simulation.check(looped, small_library(tmp_path), "clk")


@pytest.mark.skipif(shutil.which("cc") is None, reason="netlists are run as C")
def test_a_gated_clock_is_refused(tmp_path: Path) -> None:
    gated = shared_net(1).with_instances([Instance("f", "DFF", {"CK": 3, "D": 3, "Q": 4})])
    with pytest.raises(CasemateError, match="gated, inverted and several clocks"):
        gate_simulation.run(gated, small_library(tmp_path), "clk", Trace([{}], [{}], done=1), tmp_path)


class Echo:
    """A simulation with its input as its only output."""

    def __init__(self) -> None:
        self.value = 0

    def cycle(self, changes: dict[str, int]) -> dict[str, int]:
        """One cycle."""
        self.value = changes.get("a", self.value)
        return {"y": self.value}


def echo() -> Core:
    """A core of 4 bits that returns its input."""
    return Core(Echo(), {"clk": (True, 1), "a": (True, 4), "y": (False, 4)}, 16, 3)


def test_only_lines_that_start_within_a_measurement_have_a_latency() -> None:
    core = echo()
    core.cycle(a=3)
    core.done()
    core.measure()
    core.begun(1)
    assert core.cycle()["y"] == 3
    core.cycle(a=1)
    core.done(line=1)
    assert (core.trace.first, core.trace.cycles, core.trace.done, core.trace.latencies) == (1, 2, 1, [2])


def test_stimulus_lines_are_equal_for_every_core_and_encrypted_as_in_the_simulator() -> None:
    first, second = echo(), echo()
    assert first.lines == second.lines
    line = first.lines[2]
    key, nonce = first.key.to_bytes(16, "big"), line.nonce.to_bytes(12, "big")
    sealed, tag = GcmLines(key).seal(nonce, line.text.to_bytes(64, "big"))
    assert (line.sealed.to_bytes(64, "big"), line.tag.to_bytes(16, "big")) == (sealed, tag)
    first.done(line.sealed, line.tag, line=2)
    with pytest.raises(CasemateError, match=r"sealed line 2 as .* not by AES-GCM"):
        second.done(line.sealed ^ 1, line.tag, line=2)


def test_a_stimulus_that_compares_only_some_of_its_lines_is_refused() -> None:
    for first_is_compared in (True, False):
        core = echo()
        for line in core.lines[: 1 + first_is_compared]:
            core.done(*((line.sealed, line.tag) if first_is_compared else ()))
        rest = () if first_is_compared else (core.lines[1].sealed, core.lines[1].tag)
        with pytest.raises(CasemateError, match="compares only some lines, and line"):
            core.done(*rest)


def test_lines_compared_before_the_measurement_do_not_make_it_compared() -> None:
    core = echo()
    core.done(core.lines[0].sealed, core.lines[0].tag)
    assert core.trace.are_lines
    core.measure()
    core.cycle()
    core.done()
    assert (core.trace.done, core.trace.are_lines) == (1, False)


def test_a_stimulus_that_completes_a_line_twice_is_refused() -> None:
    core = echo()
    line = core.lines[2]
    core.done(line.sealed, line.tag, line=2)
    with pytest.raises(CasemateError, match=r"calls core\.done\(\) twice for line 2"):
        core.done(line.sealed, line.tag, line=2)


class Deaf:
    """An engine that accepts a key and then this number of lines, and responds to no line."""

    PORTS: ClassVar = {
        "rst_ni": (True, 1), "req_op_i": (True, 2), "key_i": (True, 128), "key_valid_i": (True, 1),
        "rsp_ready_i": (True, 1), "req_id_i": (True, 4), "req_nonce_i": (True, 96), "req_line_i": (True, 512),
        "req_valid_i": (True, 1),
    }  # fmt: skip

    def cycle(self, changes: dict[str, int]) -> dict[str, int]:
        """One cycle."""
        return {"key_ready_o": 1, "req_ready_o": 1, "rsp_valid_o": 0}


def test_an_engine_that_stops_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_stimulus, "IDLE_CYCLES_MAX", 50)
    core = Core(Deaf(), Deaf.PORTS, 16, 3)
    with pytest.raises(CasemateError, match="was idle for 50 cycles, with 0 of 3 lines done"):
        engine_stimulus.drive(core)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"aa": 1}, "'aa', which is the clock or no port \\(did you mean 'a'\\?\\)"),
        ({"y": 1}, "sets 'y', which is an output"),
        ({"a": 16}, "sets 'a' to 0x10, which does not fit 4 bits"),
    ],
)
def test_a_stimulus_that_sets_an_unknown_input_or_value_is_refused(inputs: dict[str, int], said: str) -> None:
    with pytest.raises(CasemateError, match=said):
        echo().cycle(**inputs)


def test_a_cached_hardware_result_is_reused_until_one_of_its_inputs_changes(tmp_path: Path) -> None:
    kept, found = store.Store(tmp_path / "hw"), list[int]()

    def find() -> int:
        found.append(len(found))
        return len(found)

    inputs = {"sources": [["a.sv", "01"]], "parameters": [["W", "8"]], "versions": {"yosys": "1"}}
    changes: list[dict[str, object]] = [
        {},
        {"sources": [["a.sv", "02"]]},
        {"parameters": [["W", "16"]]},
        {"versions": {"yosys": "2"}},
        {"library": "03"},
    ]
    assert [kept.keep("area", inputs | change, find) for change in changes] == [1, 2, 3, 4, 5]
    assert [kept.keep("area", inputs | change, find) for change in changes] == [1, 2, 3, 4, 5]
    assert kept.keep("energy", inputs, find) == 6


@pytest.mark.parametrize("damage", ["", "{", "{}", "null", "[1]", '{"digest": "0", "found": 7}', None])
def test_a_damaged_cached_hardware_result_is_recomputed(tmp_path: Path, damage: str | None) -> None:
    kept = store.Store(tmp_path)
    assert kept.keep("area", {}, lambda: {"um2": 5.5}) == {"um2": 5.5}
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text().replace("5.5", "5.4") if damage is None else damage)
    assert kept.keep("area", {}, lambda: {"um2": 5.5}) == {"um2": 5.5}
    assert kept.keep("area", {}, lambda: {"um2": 6.5}) == {"um2": 5.5}


def test_a_cached_hardware_result_depends_on_the_source_code_of_its_step() -> None:
    found = store.code("fanout", "timing")
    assert found["fanout"] != found["timing"]
    assert store.digest(found) != store.digest(store.code("fanout"))


def test_the_design_space_combines_all_values_of_all_parameters() -> None:
    found = engine.points([], [1, 2], [16, 32], [False, True], [])
    assert len(found) == len(set(found)) == 8
    assert engine.points([], [], [], [], []) == list(engine.USUAL)
    assert engine.Point(rounds=0, mul_bits=128, lanes=4).title == "4 x AES-128 pipelined, W=128"
    request = engine.Point(lanes=4).request((), True)
    assert (request.design.top, request.part and request.part.top, request.copies) == ("gcm_router", "gcm_lane", 4)
    assert dict(request.design.parameters)["IdBits"] == "6"


def test_a_picture_joins_only_points_that_no_smaller_core_beats() -> None:
    points = [(2.0, 5.0), (1.0, 3.0), (3.0, 4.0), (4.0, 9.0), (1.0, 2.0)]
    assert hardware_picture.best(points, is_more_better=True) == [1, 0, 3]
    assert hardware_picture.best(points, is_more_better=False) == [4]
