"""What RTL says while it is simulated and synthesised, which is no answer to a stimulus and no hardware."""

import shutil
import subprocess
from pathlib import Path

import pytest
from casemate._core import CasemateError
from casemate.hardware import design, library, rtl_simulation, synthesis, tools
from casemate.hardware.stimulus import Core, Trace
from hardware_parts import TEXT

PORTS = {"clk": (True, 1), "a": (True, 4), "y": (False, 4)}
TALKING = """
#pragma once
#include <cstddef>
#include <cstdio>
#include <cstdlib>
using EData = unsigned;
template <std::size_t N> struct VlWide { EData words[N]; EData& operator[](std::size_t at) { return words[at]; }
    const EData& operator[](std::size_t at) const { return words[at]; } };
struct VerilatedContext {};
struct Vcore {
    explicit Vcore(VerilatedContext*) {}
    unsigned char clk = 0, a = 0, y = 0;
    void eval() { puts("3 hello from the core"); y = a; if (a == 9) exit(1); }
};
"""
"""What Verilator would make of a core that gives back what it gets, prints in every cycle, and gives up at 9."""


@pytest.fixture
def simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The simulator of that core."""
    if (compiler := shutil.which("c++")) is None:
        pytest.skip("needs c++")
    monkeypatch.setattr(tools, "need_simulation", lambda: None)
    monkeypatch.setattr(tools, "verilator", lambda: ("verilator", {}))
    monkeypatch.setattr(tools, "run", lambda *told: "")
    rtl_simulation.build(design.Design((), "core"), PORTS, "clk", tmp_path)
    for name in ("Vcore.h", "verilated.h"):
        (tmp_path / name).write_text(TALKING)
    program = tmp_path / "talking"
    subprocess.run([compiler, "-I", tmp_path, "-o", program, tmp_path / "harness.cpp"], check=True)
    return program


def driven(simulator: Path, *values: int) -> Trace:
    """What happens at the ports when these values come in."""

    def drive(core: Core) -> None:
        for value in values:
            core.cycle(a=value)
            core.done()

    return rtl_simulation.drive(simulator, PORTS, "clk", drive, lambda process: Core(process, PORTS, 16, 1))


def test_what_rtl_prints_is_no_answer(simulator: Path) -> None:
    assert driven(simulator, 5, 7).outputs == [{"y": 5}, {"y": 7}]


def test_a_simulation_that_gives_up_is_named_with_its_cycle(simulator: Path) -> None:
    with pytest.raises(CasemateError, match="the simulation ended in cycle 2: expected RTL that settles"):
        driven(simulator, 5, 9)


def test_what_rtl_prints_and_asserts_is_left_out_of_hardware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.lib").write_text(TEXT)
    scripts = list[str]()
    monkeypatch.setattr(tools, "yosys", lambda script, folder, name: scripts.extend(script))
    (tmp_path / "mapped.json").write_text("{}")
    synthesis.to_cells(design.Design((), "top"), library.read(tmp_path / "small.lib"), 4e-9, tmp_path)
    assert "--ignore-assertions" in scripts[0]
    assert scripts[1:3] == ["delete */t:$print", "delete */t:$check"]


@pytest.mark.parametrize("written", ["", '{"modules": {'])
def test_a_netlist_that_a_full_disk_cut_off_is_refused_before_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    (tmp_path / "small.lib").write_text(TEXT)
    (tmp_path / "mapped.json").write_text(written)
    monkeypatch.setattr(tools, "yosys", lambda script, folder, name: None)
    with pytest.raises(CasemateError, match=r"did not write all of 'mapped\.json': expected room in '.*TMPDIR"):
        synthesis.to_cells(design.Design((), "top"), library.read(tmp_path / "small.lib"), 4e-9, tmp_path)
