"""Steps of the hardware flow that decide figures, each on an example that is small enough to be worked out by hand. The
examples are resources of an FPGA, sinks of a net, resets and sets, boxes with wires through them, and measured cycles.
"""

import json
import shutil
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import ClassVar

import pytest
from casemate._core import CasemateError
from casemate.hardware import engine_stimulus, fabric, fanout, gate_simulation, netlist, synthesis, tools
from casemate.hardware.design import Design
from casemate.hardware.engine import Point
from casemate.hardware.netlist import Instance, Netlist, Port
from casemate.hardware.stimulus import Core, Trace
from hardware_parts import FLOP, TEXT, shared_net, small_library, two_gates

runs_netlists = pytest.mark.skipif(shutil.which("cc") is None, reason="netlists are run as C")


def as_fabric(cells: Sequence[str], folder: Path, monkeypatch: pytest.MonkeyPatch, boxes: Sequence[str] = ()) -> object:
    """The counts if Yosys maps a design to these cells."""
    written = {str(number): {"type": kind, "parameters": {}} for number, kind in enumerate(cells)}
    for name in ("fabric.json", "boxes.json"):
        (folder / name).write_text(json.dumps({"modules": {"top": {"cells": written}}}))
    monkeypatch.setattr(tools, "yosys", lambda script, folder, name: None)
    return fabric.to_fabric(Design((), "top"), folder, boxes).model_dump()


def test_every_kind_of_flip_flop_of_an_fpga_counts_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Series 7 has four (Xilinx UG953): cleared or preset at once, reset or set by the clock."""
    cells = ["FDCE"] * 2 + ["FDPE"] * 3 + ["FDRE"] * 4 + ["FDSE"] * 5
    found = as_fabric(cells, tmp_path, monkeypatch)
    assert found == {"lut": 0, "flops": 14, "muxes": 0, "carries": 0, "block_rams": 0, "dsps": 0, "others": 0}


def test_every_cell_of_an_fpga_is_counted_by_kind_without_wires_and_boxes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [
        *(f"LUT{inputs}" for inputs in range(1, 7)), "INV", "MUXF7", "MUXF8", "CARRY4", "RAMB18E1", "RAMB36E1",
        "SRL16E", "RAM32M", "DSP48E1", "BUFG", "GND", "VCC", "$scopeinfo", "lane", "lane",
    ]  # fmt: skip
    found = as_fabric(cells, tmp_path, monkeypatch, ["lane"])
    assert found == {"lut": 7, "flops": 0, "muxes": 2, "carries": 1, "block_rams": 2, "dsps": 1, "others": 2}


def test_large_memories_are_named_with_their_bits_and_tables_of_constants_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(*names: str) -> dict[str, object]:
        return {name: {"type": "$memwr_v2", "parameters": {"MEMID": f"\\{name}"}} for name in names}

    sizes = {"queue": {"width": 8, "size": 127}, "store": {"width": 32, "size": 256}}
    modules = {
        "top": {"memories": sizes | {"table": {"width": 8, "size": 256}}, "cells": written("queue", "store")},
        "part": {"memories": {"store": {"width": 64, "size": 16}}, "cells": written("store")},
        "leaf": {},
    }
    (tmp_path / "memories.json").write_text(json.dumps({"modules": modules}))
    monkeypatch.setattr(tools, "yosys", lambda script, folder, name: None)
    assert synthesis.memories(Design((), "top"), tmp_path) == {"top.store": 8192, "part.store": 1024}


@pytest.mark.parametrize(("inverters", "buffers"), [(15, 0), (16, 1), (17, 2), (256, 17)])
def test_fanout_splitting_counts_an_output_port_as_a_sink(tmp_path: Path, inverters: int, buffers: int) -> None:
    """A net may drive 16 pins. With 16 inverters and a port, a buffer drives the 16 inverters, and the net still drives
    the port. With 256 inverters and a port, a second level is necessary: one more buffer drives the 16 buffers.
    """
    plain = shared_net(inverters)
    seen = Netlist(plain.top, plain.ports | {"q": Port(False, (4,))}, plain.instances, {})
    split, added = fanout.split(seen, small_library(tmp_path), "clk")
    assert added == buffers
    assert split.ports["q"].nets == (4,)
    assert len(split.sinks(small_library(tmp_path))[4]) + 1 <= fanout.SINKS_MAX


SET_AND_CLEARED = """cell (DFFSR) { area : 120; cell_leakage_power : 5;
  ff (IQ, IQN) { next_state : "D"; clocked_on : "CK"; clear : "!R"; preset : "!S"; }
  pin(CK) { direction : input; capacitance : 0.02; clock : true; }
  pin(D) { direction : input; capacitance : 0.01; }
  pin(R) { direction : input; capacitance : 0.01; }
  pin(S) { direction : input; capacitance : 0.01; }
  pin(Q) { direction : output; function : "IQ"; }
  pin(N) { direction : output; function : "IQN"; } }"""
INPUTS = ("d", "r_n", "s_n")
AFTER = [
    # d, r_n, s_n, and q before the edge.
    (0, 1, 1, 0),  # no input forces: the initial state
    (0, 1, 0, 1),  # set, at once
    (0, 1, 1, 1),  # the edge of the cycle before found was set, and not d
    (1, 1, 1, 0),  # d of the cycle before
    (1, 0, 1, 0),  # cleared, at once, though d was 1
    (1, 1, 1, 0),  # the edge found was cleared, and not d
    (1, 1, 1, 1),
    (0, 0, 1, 0),
    (1, 1, 0, 1),
    (0, 1, 1, 1),
    (0, 1, 1, 0),
]


@runs_netlists
def test_an_asynchronous_set_or_clear_acts_at_once_and_overrides_the_edge(tmp_path: Path) -> None:
    known = small_library(tmp_path, TEXT.rstrip().removesuffix("}") + SET_AND_CLEARED + "}\n")
    pins: dict[str, netlist.Net] = {"CK": 2, "D": 3, "R": 4, "S": 5, "Q": 6, "N": 7}
    ports = {"clk": Port(True, (2,)), "q": Port(False, (6,)), "q_n": Port(False, (7,))}
    ports |= {name: Port(True, (3 + number,)) for number, name in enumerate(INPUTS)}
    built = Netlist("top", ports, (Instance("flop", "DFFSR", pins),), {})
    trace = Trace(
        [dict(zip(INPUTS, each[:3], strict=True)) for each in AFTER],
        [{"q": q, "q_n": 1 - q} for *_, q in AFTER],
        done=1,
    )
    toggles = gate_simulation.run(built, known, "clk", trace, tmp_path)
    # 0 1 1 0 0 0 1 0 1 1 0, from the zero that it begins with.
    assert (toggles.rises[6], toggles.falls[6]) == (3, 3)


# The cell of sky130 keeps its state in a mux at its input; the other one also stores the inverse.
ENABLED = (("(DE&D) | (IQ&!DE)", "IQ"), ("(!IQN*!DE) + (D DE)", "IQ"), ("(DE&!D) | (IQ&!DE)", "IQN"))


@runs_netlists
@pytest.mark.parametrize(("next_state", "output"), ENABLED)
def test_a_flip_flop_with_an_enable_keeps_its_state_without_it(tmp_path: Path, next_state: str, output: str) -> None:
    enabled = FLOP.replace("DFF", "EDFF").replace('"D"', f'"{next_state}"').replace('"IQ"', f'"{output}"')
    enabled = enabled.replace("pin(D)", "pin(DE) { direction : input; capacitance : 0.01; } pin(D)")
    known = small_library(tmp_path, TEXT.rstrip().removesuffix("}") + enabled + "}\n")
    ports = {"clk": Port(True, (2,)), "d": Port(True, (3,)), "e": Port(True, (4,)), "q": Port(False, (5,))}
    built = Netlist("top", ports, (Instance("flop", "EDFF", {"CK": 2, "D": 3, "DE": 4, "Q": 5}),), {})
    # Each cycle: the data, the enable, and the output before the edge.
    cycles = [(1, 0, 0), (1, 1, 0), (0, 0, 1), (0, 0, 1), (1, 0, 1), (0, 1, 1), (1, 0, 0), (0, 0, 0)]
    trace = Trace([{"d": d, "e": e} for d, e, _ in cycles], [{"q": q} for *_, q in cycles], done=1)
    toggles = gate_simulation.run(built, known, "clk", trace, tmp_path)
    assert (toggles.rises[5], toggles.falls[5]) == (1, 1)


def placed(folder: Path, part: Netlist, cells: dict[str, object], ports: dict[str, tuple[str, list[int]]]) -> Netlist:
    """A module `outer` with these cells and ports, and with the part in its boxes."""
    written = {name: {"direction": direction, "bits": bits} for name, (direction, bits) in ports.items()}
    (folder / "outer.json").write_text(
        json.dumps({"modules": {"outer": {"ports": written, "cells": cells, "netnames": {}}}})
    )
    return netlist.read(folder / "outer.json", "outer", small_library(folder), {"part": part})


def through() -> Netlist:
    """A part with three outputs: its input `a` as `y`, a constant as `one`, and `!(a ^ b)` as `z`."""
    plain = two_gates()
    ports = {name: port for name, port in plain.ports.items() if port.is_input}
    outputs = {"y": Port(False, (3,)), "z": Port(False, (6,)), "one": Port(False, ("1",))}
    return Netlist("part", ports | outputs, plain.instances, {})


@runs_netlists
def test_a_feed_through_of_a_submodule_connects_to_the_cells_behind_it(tmp_path: Path) -> None:
    """`a` goes through both boxes to an inverter and a port; the second compares it with the constant of the first."""
    first = {"clk": [2], "a": [3], "b": [4], "y": [5], "z": [6], "one": [7]}
    second = {"clk": [2], "a": [5], "b": [7], "y": [8], "z": [9], "one": [10]}
    cells: dict[str, object] = {
        "inverter": {"type": "INV", "connections": {"A": [8], "Y": [11]}},
        "u0": {"type": "part", "connections": first},
        "u1": {"type": "part", "connections": second},
    }
    ports = {"clk": ("input", [2]), "a": ("input", [3]), "b": ("input", [4])}
    ports |= {name: ("output", [net]) for name, net in (("y", 8), ("z", 6), ("same", 9), ("one", 10), ("n", 11))}
    whole = placed(tmp_path, through(), cells, ports)
    assert whole.counts() == {"INV": 1 + 2, "XOR": 2}
    assert whole.ports["y"].nets == (3,)
    values = list(product((0, 1), repeat=2))
    expected = [{"y": a, "z": 1 - (a ^ b), "same": a, "one": 1, "n": 1 - a} for a, b in values]
    trace = Trace([{"a": a, "b": b} for a, b in values], expected, done=1)
    found = gate_simulation.run(whole, small_library(tmp_path), "clk", trace, tmp_path)
    # The inverter behind both boxes: 1 1 0 0, from zero.
    inverted = whole.ports["n"].nets[0]
    assert isinstance(inverted, int)
    assert (found.rises[inverted], found.falls[inverted]) == (1, 1)


class Still:
    """A simulation without any activity."""

    def cycle(self, changes: dict[str, int]) -> dict[str, int]:
        """One cycle."""
        return {}


@pytest.mark.parametrize(("of_sealed", "of_tag"), [(1, 0), (0, 1), (1 << 511, 0), (0, 1 << 127)])
def test_a_stimulus_refuses_one_wrong_bit_of_a_ciphertext_line_or_its_tag(of_sealed: int, of_tag: int) -> None:
    core = Core(Still(), {}, 16, 1)
    line = core.lines[0]
    with pytest.raises(CasemateError, match=r"sealed line 0 as .* not by AES-GCM"):
        core.done(line.sealed ^ of_sealed, line.tag ^ of_tag)


@pytest.mark.parametrize("is_tag_left_out", [True, False])
def test_a_stimulus_refuses_a_ciphertext_line_without_tag_and_a_tag_without_line(is_tag_left_out: bool) -> None:
    core = Core(Still(), {}, 16, 1)
    line = core.lines[0]
    with pytest.raises(CasemateError, match="not by AES-GCM"):
        core.done(*((line.sealed, None) if is_tag_left_out else (None, line.tag)))


class Pipe:
    """An engine that accepts a line every `PACE` cycles, and responds `DEPTH` cycles later, in order."""

    PACE, DEPTH = 5, 17
    PORTS: ClassVar = {
        "rst_ni": (True, 1), "req_op_i": (True, 2), "key_i": (True, 128), "key_valid_i": (True, 1),
        "rsp_ready_i": (True, 1), "req_id_i": (True, 4), "req_nonce_i": (True, 96), "req_line_i": (True, 512),
        "req_valid_i": (True, 1),
    }  # fmt: skip

    def __init__(self) -> None:
        self.now = 0
        self.next = 0
        self.inside = list[tuple[int, int, int]]()
        self.inputs = dict[str, int]()
        self.known = dict[int, tuple[int, int]]()

    def cycle(self, changes: dict[str, int]) -> dict[str, int]:
        """One cycle."""
        self.now += 1
        self.inputs |= changes
        takes = self.now >= self.next
        if takes and self.inputs.get("req_valid_i"):
            self.next = self.now + self.PACE
            self.inside.append((self.now + self.DEPTH, self.inputs["req_id_i"], self.inputs["req_nonce_i"]))
        out = {"key_ready_o": 1, "req_ready_o": int(takes), "rsp_valid_o": 0, "rsp_id_o": 0}
        if self.inside and self.inside[0][0] == self.now:
            _, number, nonce = self.inside.pop(0)
            sealed, tag = self.known[nonce]
            out |= {"rsp_valid_o": 1, "rsp_id_o": number, "rsp_line_o": sealed, "rsp_tag_o": tag}
        return out


def test_an_aes_gcm_engine_is_measured_only_while_its_pipeline_is_full() -> None:
    engine = Pipe()
    core = Core(engine, Pipe.PORTS, 16, 12)
    engine.known = {line.nonce: (line.sealed, line.tag) for line in core.lines}
    engine_stimulus.drive(core)
    # A third of 12 lines is left out; the other 8 end one every 5 cycles, each 17 after it was taken.
    assert (core.trace.done, core.trace.cycles) == (8, 8 * Pipe.PACE)
    assert core.trace.latencies == [Pipe.DEPTH] * 8
    assert core.trace.are_lines


@pytest.mark.parametrize("lanes", [1, 2, 5, 16])
def test_each_lane_behind_a_router_is_measured_with_as_many_lines_as_a_single_lane(lanes: int) -> None:
    alone, request = Point().request((), False), Point(lanes=lanes).request((), False)
    assert request.lines == lanes * alone.lines
    # More lines than a lane holds, so that the lane is full during the measurement.
    assert alone.lines >= 24
    assert (request.part is None, request.copies) == ((True, 0) if lanes == 1 else (False, lanes))


@pytest.mark.parametrize(("key_bits", "key_bytes"), [(128, 16), (256, 32)])
def test_an_aes_gcm_engine_is_driven_with_a_key_of_its_length(key_bits: int, key_bytes: int) -> None:
    for lanes in (1, 3):
        request = Point(key_bits=key_bits, lanes=lanes).request((), False)
        assert request.key_bytes == key_bytes
        of_part = request.part or request.design
        assert dict(of_part.parameters)["KeyBits"] == dict(request.design.parameters)["KeyBits"] == str(key_bits)
