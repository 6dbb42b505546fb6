"""Text that RTL prints in simulation and synthesis: the stimulus does not read the text as outputs of ports, and
synthesis ignores it.
"""

import re
import shutil
import subprocess
from pathlib import Path

import hardware_parts
import pytest
from casemate._core import CasemateError
from casemate.hardware import design, gate_simulation, library, rtl_simulation, synthesis, tools
from casemate.hardware.netlist import Instance
from casemate.hardware.stimulus import Core, Trace
from hardware_parts import TEXT, small_library

PORTS = {"clk": (True, 1), "a": (True, 4), "y": (False, 4)}
TALKING = """
#pragma once
#include <cstddef>
#include <cstdio>
#include <cstdlib>
using EData = unsigned;
template <std::size_t N> struct VlWide { EData words[N]; EData& operator[](std::size_t at) { return words[at]; }
    const EData& operator[](std::size_t at) const { return words[at]; } };
struct VerilatedContext { void commandArgs(int, char**) {} };
struct Vcore {
    explicit Vcore(VerilatedContext*) {}
    unsigned char clk = 0, a = 0, y = 0;
    void eval() { puts("3 hello from the core"); y = a; if (a == 9) exit(1); }
};
"""
"""A fake of Verilator's model: a core that returns its input, prints in every cycle, and gives up at 9."""


@pytest.fixture
def simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The simulator of that core."""
    if (compiler := shutil.which("c++")) is None:
        pytest.skip("needs c++")
    monkeypatch.setattr(tools, "need_simulation", lambda: None)
    monkeypatch.setattr(tools, "verilator", lambda: ("verilator", {}))
    monkeypatch.setattr(tools, "run", lambda *arguments: "")
    rtl_simulation.build(design.Design((), "core"), PORTS, "clk", tmp_path)
    for name in ("Vcore.h", "verilated.h"):
        (tmp_path / name).write_text(TALKING)
    program = tmp_path / "talking"
    subprocess.run([compiler, "-I", tmp_path, "-o", program, tmp_path / "harness.cpp"], check=True)
    return program


def driven(simulator: Path, *values: int) -> Trace:
    """The trace of the ports for these input values."""

    def drive(core: Core) -> None:
        core.measure()
        for value in values:
            core.cycle(a=value)
            core.done()

    return rtl_simulation.drive(simulator, PORTS, "clk", drive, lambda process: Core(process, PORTS, 16, 1))


def test_text_that_rtl_prints_is_not_parsed_as_simulation_output(simulator: Path) -> None:
    assert driven(simulator, 5, 7).outputs == [{"y": 5}, {"y": 7}]


def test_a_simulation_that_does_not_settle_is_reported_with_its_cycle(simulator: Path) -> None:
    with pytest.raises(CasemateError, match="the simulation ended in cycle 2: expected RTL that settles"):
        driven(simulator, 5, 9)


def test_prints_and_assertions_of_rtl_are_left_out_of_synthesis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.lib").write_text(TEXT)
    scripts = list[str]()
    monkeypatch.setattr(tools, "yosys", lambda script, folder, name: scripts.extend(script))
    synthesis.to_logic(design.Design((), "top"), tmp_path)
    assert "--ignore-assertions" in scripts[0]
    assert scripts[1:3] == ["delete */t:$print", "delete */t:$check"]


def test_boxes_stay_empty_in_synthesis_and_in_the_list_of_memories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = list[str]()
    monkeypatch.setattr(tools, "yosys", lambda script, folder, name: scripts.append(script[0]))
    (tmp_path / "memories.json").write_text('{"modules": {}}')
    synthesis.to_logic(design.Design((), "top"), tmp_path, ["lane"])
    synthesis.memories(design.Design((), "top"), tmp_path, ["lane"])
    assert ["--blackboxed-module lane" in script for script in scripts] == [True, True]


def test_mapping_and_both_sizings_aim_at_the_same_delay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.lib").write_text(TEXT)
    (tmp_path / "mapped.json").write_text("{}")
    monkeypatch.setattr(tools, "yosys", lambda script, folder, name: None)
    synthesis.to_cells(tmp_path / "logic.il", library.read(tmp_path / "small.lib"), 4e-9, tmp_path)
    steps = (tmp_path / "abc.script").read_text().split(";")
    aimed = {step.split()[0]: step.split()[-1] for step in steps if " -D " in step}
    assert aimed == {"map": "4000", "upsize": "4000", "dnsize": "4000"}


@pytest.mark.parametrize("written", ["", '{"modules": {'])
def test_a_netlist_that_a_full_disk_cut_off_is_refused_before_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    (tmp_path / "small.lib").write_text(TEXT)
    (tmp_path / "mapped.json").write_text(written)
    monkeypatch.setattr(tools, "yosys", lambda script, folder, name: None)
    with pytest.raises(CasemateError, match=r"did not write all of 'mapped\.json': expected room in '.*TMPDIR"):
        synthesis.to_cells(tmp_path / "logic.il", library.read(tmp_path / "small.lib"), 4e-9, tmp_path)


@pytest.mark.parametrize("name", ["operator", "eval", "a$b", "\\d.x "])
def test_a_port_with_a_name_that_no_simulator_accepts_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(tools, "need_simulation", lambda: None)
    monkeypatch.setattr(tools, "verilator", lambda: ("verilator", {}))
    with pytest.raises(CasemateError, match=rf"the port '{re.escape(name)}': expected a name of letters"):
        rtl_simulation.build(design.Design((), "top"), {"clk": (True, 1), name: (True, 1)}, "clk", tmp_path)


def test_a_port_with_two_underscores_has_the_name_of_verilator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "need_simulation", lambda: None)
    monkeypatch.setattr(tools, "verilator", lambda: ("verilator", {}))
    monkeypatch.setattr(tools, "run", lambda *arguments: "")
    rtl_simulation.build(design.Design((), "top"), {"clk": (True, 1), "data__in": (True, 1)}, "clk", tmp_path)
    assert "put(core.data___05Fin, hex)" in (tmp_path / "harness.cpp").read_text()


def test_a_stimulus_that_never_starts_the_measurement_is_refused(simulator: Path) -> None:
    def drive(core: Core) -> None:
        core.cycle(a=5)
        core.done()

    with pytest.raises(CasemateError, match=r"never calls core\.measure\(\): expected it after reset"):
        rtl_simulation.drive(simulator, PORTS, "clk", drive, lambda process: Core(process, PORTS, 16, 1))


@pytest.mark.parametrize(
    ("instances", "said"),
    [
        ((Instance("i0", "INV", {"A": 2, "Y": 6}),), "has logic behind its clock 'clk' \\(a cell 'INV'\\)"),
        ((Instance("f1", "DFF", {"CK": 2, "D": 2, "Q": 6}),), "has logic behind its clock 'clk' \\(a cell 'DFF'\\)"),
        ((Instance("f1", "DFF", {"CK": 3, "D": 3, "Q": 6}),), "that 'clk' does not clock directly \\(f1\\): gated"),
    ],
)
def test_a_clock_used_as_data_or_driven_by_another_net_is_refused(
    tmp_path: Path, instances: tuple[Instance, ...], said: str
) -> None:
    flop = Instance("flop", "DFF", {"CK": 2, "D": 3, "Q": 4})
    built = hardware_parts.netlist({"clk": (True, 2), "d": (True, 3), "y": (False, 6)}, (flop, *instances))
    with pytest.raises(CasemateError, match=said):
        gate_simulation.check(built, small_library(tmp_path), "clk")
