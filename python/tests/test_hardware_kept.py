"""The name of a kept result of the hardware flow depends on all inputs of the step. If the name omitted an input, the
flow would use the figure of another core, library or stimulus.

The tests run no external program: a fake store in the flow notes the names under which each step would be kept, and
answers with fixed figures.
"""

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from casemate.hardware import energy, flow, gate_simulation, library, sources, store, tools
from casemate.hardware.design import Design
from casemate.hardware.flow import Flow, Mapped, Request
from casemate.hardware.netlist import Netlist
from casemate.schemas import Area, CoreCost, Speed
from hardware_parts import TEXT

SPEED = Speed(
    fmax_mhz=100, path_begins="d", path_ends="q", path_cells=1, cycles_per_line=None, latency_cycles=None, gbps=None,
    gbps_per_mm2=None,
)  # fmt: skip
STEPS = ("ports", "logic", "netlist", "part", "timing", "fpga", "trace", "energy")
ALL = set(STEPS) - {"part"}
TOP = '`include "widths.svh"\nmodule top #(parameter int W = 8) (input clk, input go, input d, output q);\nendmodule\n'
PART = "module part (input clk, input d, output q); endmodule\n"
DRIVE = "def drive(core): pass\n"
PORTS = {"clk": [True, 1], "go": [True, 1], "d": [True, 1], "q": [False, 1]}
TRACE = {"inputs": [{}], "outputs": [{}], "first": 0, "done": 1, "latencies": [], "are_lines": False}
FOUND = {
    "ports": PORTS,
    "timing": {"delay_s": 4e-9, "cells": 1, "begins": "d", "ends": "q", "stages": 1},
    "fpga": {"lut": 3, "flops": 5, "muxes": 0, "carries": 0, "block_rams": 1, "dsps": 0, "others": 0},
    "trace": TRACE,
    "energy": {"switching_j": 1e-9, "internal_j": 2e-9, "clock_j": 3e-9, "leakage_w": 1e-3},
}


@dataclass
class Notes:
    """A store that contains every result, and records the names of the requested results."""

    folder: Path
    found: dict[str, Any] = field(default_factory=lambda: dict(FOUND))
    names: dict[str, str] = field(default_factory=dict)
    targets_s: dict[str, list[float]] = field(default_factory=dict)
    """Delays for which each step was requested, if they decide its result."""
    clock_net: int = 2
    delays_s: dict[int, float] = field(default_factory=dict)
    """Delay of the longest path by the target in picoseconds, if it depends on the target."""

    measures: bool = False
    """True if the energy is found, and not only kept."""

    def _record(self, step: str, inputs: Mapping[str, Any]) -> None:
        self.names[step] = store.digest(inputs)
        if "delay_s" in inputs:
            self.targets_s.setdefault(step, []).append(inputs["delay_s"])

    def keep(self, step: str, inputs: Mapping[str, Any], find: Callable[[], Any]) -> Any:
        """The kept result of a step."""
        # A part that is in a design has separate figures for the FPGA, after the design's.
        name = "part of fpga" if step == "fpga" and step in self.names else step
        self._record(name, inputs)
        if step == "energy" and self.measures:
            find()
        if step == "timing" and self.delays_s:
            return self.found[step] | {"delay_s": self.delays_s[round(inputs["delay_s"] * 1e12)]}
        return self.found[step]

    def keep_file(self, step: str, inputs: Mapping[str, Any], find: Callable[[], bytes]) -> Path:
        """Path of the netlist: a flip-flop, with or without a box."""
        if step == "netlist" and inputs["top"] == "part":
            step = "part"
        self._record(step, inputs)
        flop = {"type": "DFF", "connections": {"CK": [self.clock_net], "D": [3], "Q": [4]}}
        box = {"type": "part", "connections": {"clk": [2], "d": [3], "q": [5]}}
        ports = {"clk": ("input", 2), "d": ("input", 3), "q": ("output", 4)}
        written = {name: {"direction": direction, "bits": [net]} for name, (direction, net) in ports.items()}
        if self.measures:
            written[f"mapped_for_{inputs.get('delay_s', 0) * 1e12:.0f}"] = {"direction": "input", "bits": [9]}
        if inputs["top"] == "top":
            written["go"] = {"direction": "input", "bits": [6]}
        module = {
            "ports": written,
            "cells": {"flop": flop, **({"box": box} if inputs["boxes"] else {})},
        }
        path = self.folder / f"{inputs['top']}.json.gz"
        text = json.dumps({"modules": {inputs["top"]: module | {"netnames": {}}}})
        path.write_bytes(gzip.compress(text.encode()))
        return path


class Requests:
    """A core, a library and a stimulus in a folder, and the request to the flow; all of them can be changed."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, monkeypatch
        for name, text in (("top.sv", TOP), ("part.sv", PART), ("widths.svh", ""), ("small.lib", TEXT)):
            (folder / name).write_text(text)
        (folder / "drives.py").write_text(DRIVE)
        self.delay_s: float | None = 4e-9
        self.dont_use = list[str]()
        self.notes = Notes(folder)
        self.versions = {"pyosys": "1"}
        read = sources.read([folder / "top.sv", folder / "part.sv"])
        self.request = Request(Design(read, "top"), clock="clk", stimulus=folder / "drives.py")

    def append(self, name: str, text: str = "\n") -> None:
        """Writes more into a file."""
        with (self.folder / name).open("a") as file:
            file.write(text)

    def ask(self, **changed: Any) -> None:
        """Changes the request."""
        self.request = replace(self.request, **changed)

    def ask_of_design(self, **changed: Any) -> None:
        """Changes the design of the request."""
        self.ask(design=replace(self.request.design, **changed))

    def edit(self, step: str) -> None:
        """Changes the program text of a module of the flow."""
        self.patch.setitem(store._CODE, step, "edited")

    def price(self) -> tuple[CoreCost, dict[str, str]]:
        """The cost, and the name under which each step is kept."""
        self.patch.setattr(tools, "versions", lambda: self.versions)
        self.patch.setattr(flow, "Store", lambda folder: self.notes)
        # The flow keeps the results of its built-in stimuli.
        self.patch.setattr(flow, "__file__", str(self.folder / "flow.py"))
        self.notes.names = {}
        cost = Flow(
            library.read(self.folder / "small.lib", self.dont_use), self.folder, self.delay_s, lambda step: None
        ).price(self.request)
        return cost, self.notes.names


@pytest.fixture
def requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Requests:
    for name in ("need_yosys", "need_opensta", "need_simulation"):
        monkeypatch.setattr(tools, name, lambda: "")
    return Requests(tmp_path, monkeypatch)


def with_define(requests: Requests) -> None:
    requests.ask_of_design(sources=(sources.Setting("+define+WIDE=1"), *requests.request.design.sources))


def with_another_clock(requests: Requests) -> None:
    requests.ask(clock="go")
    requests.notes.clock_net = 6


def with_part(requests: Requests) -> None:
    requests.ask(part=Design(requests.request.design.sources, "part"), copies=1)


OF_CELLS = {"netlist", "timing", "energy"}
CHANGES: dict[str, tuple[Callable[[Requests], object], set[str]]] = {
    "a source": (lambda it: it.append("top.sv"), ALL),
    "what a source includes": (lambda it: it.append("widths.svh"), ALL),
    "a macro": (with_define, ALL),
    "a parameter": (lambda it: it.ask_of_design(parameters=(("W", "9"),)), ALL),
    "the module on top": (lambda it: it.ask_of_design(top="part"),
                          {"ports", "logic", "timing", "fpga", "trace", "energy"}),
    "a program": (lambda it: it.versions.update(pyosys="2"), ALL),
    "the library": (lambda it: it.append("small.lib"), OF_CELLS),
    "the cells that are not used": (lambda it: it.dont_use.append("XOR"), OF_CELLS),
    "the delay that is aimed at": (lambda it: setattr(it, "delay_s", 3e-9), OF_CELLS),
    "a part that is mapped once": (with_part, {*OF_CELLS, "logic", "fpga"}),
    "the clock": (with_another_clock, {"timing", "trace", "energy"}),
    "the stimulus": (lambda it: it.append("drives.py"), {"trace"}),
    "the bytes of a key": (lambda it: it.ask(key_bytes=32), {"trace"}),
    "the number of lines": (lambda it: it.ask(lines=25), {"trace"}),
    "what happened at the ports": (lambda it: it.notes.found.update(trace=TRACE | {"first": 1, "inputs": [{}, {}]}),
                                   {"energy"}),
    "the text of synthesis": (lambda it: it.edit("synthesis"), {"ports", "logic", "fpga", *OF_CELLS}),
    "the text of fanout": (lambda it: it.edit("fanout"), OF_CELLS),
    "the text of library": (lambda it: it.edit("library"), OF_CELLS),
    "the text of liberty": (lambda it: it.edit("liberty"), OF_CELLS),
    "the text of netlist": (lambda it: it.edit("netlist"), {"timing", "energy"}),
    "the text of timing": (lambda it: it.edit("timing"), {"timing"}),
    "the text of fabric": (lambda it: it.edit("fabric"), {"fpga"}),
    "the text of rtl_simulation": (lambda it: it.edit("rtl_simulation"), {"trace"}),
    "the text of stimulus": (lambda it: it.edit("stimulus"), {"trace"}),
    "the text of gate_simulation": (lambda it: it.edit("gate_simulation"), {"energy"}),
    "the text of energy": (lambda it: it.edit("energy"), {"energy"}),
    "the text of functions": (lambda it: it.edit("functions"), OF_CELLS),
    "the text of design": (lambda it: it.edit("design"), ALL),
    "the text of sources": (lambda it: it.edit("sources"), ALL),
    "the text of tools": (lambda it: it.edit("tools"), ALL),
}  # fmt: skip
"""Possible changes, and the steps that produce other results after them: those that read the changed input, or use
results that depend on it.
"""


@pytest.mark.parametrize("what", CHANGES)
def test_every_hardware_step_that_an_input_affects_has_another_cache_key_after_its_change(
    requests: Requests, what: str
) -> None:
    change, decided = CHANGES[what]
    _, before = requests.price()
    _, again = requests.price()
    assert before == again
    assert before.keys() == ALL
    change(requests)
    _, after = requests.price()
    assert {step for step in decided if before[step] == after[step]} == set()


def test_cached_hardware_results_of_a_part_depend_on_its_content(requests: Requests) -> None:
    with_part(requests)
    _, before = requests.price()
    assert before.keys() == {*STEPS, "part of fpga"}
    requests.ask(part=replace(requests.request.part or requests.request.design, parameters=(("W", "9"),)))
    _, after = requests.price()
    assert {step for step in before if before[step] != after[step]} >= {"part", "part of fpga", "timing", "energy"}


def test_a_changed_stimulus_changes_only_the_cache_key_of_the_trace(requests: Requests) -> None:
    _, before = requests.price()
    requests.append("drives.py")
    requests.ask(lines=25, key_bytes=32)
    _, after = requests.price()
    assert {step for step in ALL if before[step] != after[step]} == {"trace"}


def test_the_hardware_cost_of_a_core_combines_the_results_of_all_steps(requests: Requests) -> None:
    cost, _ = requests.price()
    # One flip-flop of the small library, at 4 ns.
    assert (cost.area.um2, cost.area.flops_um2, cost.area.cells, cost.area.flops) == (96, 96, 1, 1)
    assert cost.area.fanout_buffers == 0
    assert cost.speed.fmax_mhz == pytest.approx(250)
    assert (cost.speed.path_begins, cost.speed.path_ends, cost.speed.path_cells) == ("d", "q", 1)
    assert cost.fpga is not None
    assert cost.fpga.model_dump() == FOUND["fpga"]
    assert cost.energy is not None
    # 1, 2 and 3 nJ, and 1 mW for a cycle of 4 ns.
    parts = (cost.energy.switching_nj, cost.energy.internal_nj, cost.energy.clock_nj, cost.energy.leakage_nj)
    assert parts == pytest.approx((1, 2, 3, 0.004))


def test_a_core_without_a_stimulus_or_an_fpga_has_no_figures_of_them(requests: Requests) -> None:
    requests.ask(stimulus=None, has_fpga=False)
    cost, names = requests.price()
    assert names.keys() == {"ports", "logic", "netlist", "timing"}
    assert (cost.energy, cost.fpga, cost.speed.cycles_per_line) == (None, None, None)


@pytest.mark.parametrize("copies", [1, 2, 7])
def test_a_part_counts_in_an_fpga_as_often_as_it_occurs(requests: Requests, copies: int) -> None:
    with_part(requests)
    requests.ask(copies=copies)
    cost, _ = requests.price()
    # The logic around the parts has 3, 5 and 1, and so has each part.
    assert cost.fpga is not None
    assert (cost.fpga.lut, cost.fpga.flops, cost.fpga.block_rams) == (3 + 3 * copies, 5 + 5 * copies, 1 + copies)


@pytest.mark.parametrize(
    ("delays_ns", "best"),
    [((8, 8, 4, 5, 6), 2), ((3, 4, 5, 6, 7), 0), ((9, 9, 9, 9, 2), 4), ((4, 4, 4, 4, 4), 0)],
)
def test_a_core_keeps_the_mapping_with_the_highest_frequency_for_its_area(
    requests: Requests, delays_ns: tuple[int, ...], best: int
) -> None:
    requests.delay_s = None
    # The small library's inverter takes 0.2 ns; all mappings have the same area.
    targets_s = [multiple * 0.2e-9 for multiple in (20, 30, 40, 60, 80)]
    requests.notes.delays_s = {round(at * 1e12): ns * 1e-9 for at, ns in zip(targets_s, delays_ns, strict=True)}
    cost, _ = requests.price()
    assert cost.target_ns == pytest.approx(targets_s[best] * 1e9)
    assert requests.notes.targets_s["energy"] == pytest.approx([targets_s[best]])
    assert cost.speed.fmax_mhz == pytest.approx(1e3 / delays_ns[best])


def test_energy_is_that_of_the_mapping_that_is_kept(requests: Requests, monkeypatch: pytest.MonkeyPatch) -> None:
    requests.delay_s, requests.notes.measures = None, True
    requests.notes.delays_s = {4000: 9e-9, 6000: 4e-9, 8000: 9e-9, 12000: 9e-9, 16000: 9e-9}
    simulated = list[Netlist]()
    monkeypatch.setattr(gate_simulation, "run", lambda built, *rest: simulated.append(built))

    def find(built: Netlist, *rest: object) -> energy.Energy:
        simulated.append(built)
        return energy.Energy(1, 1, 1, 1)

    monkeypatch.setattr(energy, "find", find)
    requests.price()
    assert ["mapped_for_6000" in built.ports for built in simulated] == [True, True]


def test_a_part_is_mapped_for_each_target_of_the_logic_around_it(requests: Requests) -> None:
    requests.delay_s = None
    with_part(requests)
    requests.price()
    noted = requests.notes.targets_s
    assert noted["part"] == noted["netlist"] == noted["timing"]
    assert len(set(noted["part"])) == 5


def test_a_smaller_core_is_kept_if_it_loses_less_frequency_than_area() -> None:
    def mapped(um2: float, fmax_mhz: float) -> float:
        speed = SPEED.model_copy(update={"fmax_mhz": fmax_mhz})
        area = Area(um2=um2, flops_um2=0, cells=1, flops=0, fanout_buffers=0)
        return Mapped(4e-9, Netlist("core", {}, (), {}), area, speed, {}).merit

    assert mapped(80, 90) > mapped(100, 100) > mapped(80, 79)
