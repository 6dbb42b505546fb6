"""Results that the flow keeps: their names depend on all inputs, their files are complete, and no input changed
meanwhile.
"""

from pathlib import Path

import pytest
from casemate._core import CasemateError
from casemate.hardware import design, rtl_simulation, sources, synthesis, tools
from casemate.hardware.flow import Flow, Request
from casemate.hardware.stimulus import Trace
from casemate.hardware.store import Store
from hardware_parts import small_library

PORTS = {"clk": (True, 1), "q": (False, 1)}


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Flow:
    """A flow without synthesis."""
    for program in ("need_yosys", "need_opensta", "need_simulation"):
        monkeypatch.setattr(tools, program, lambda: "")
    return Flow(small_library(tmp_path), tmp_path / "kept", report=lambda step: None)


def source(folder: Path, body: str = "") -> Path:
    """A hardware core with a clock and this content."""
    path = folder / "core.sv"
    path.write_text(f"module core(input clk, output q);\n{body}\nendmodule\n")
    return path


def test_memory_files_and_macro_includes_are_inputs_of_a_hardware_figure(tmp_path: Path) -> None:
    (tmp_path / "rom.hex").write_text("00\n")
    (tmp_path / "body.vh").write_text('`define MORE "more.vh"\n`include `MORE\n')
    (tmp_path / "more.vh").write_text("")
    text = (
        f'`define BODY "body.vh"\n`include `BODY\ninitial $readmemh("{tmp_path}/rom.hex", rom);\ninitial $display("?");'
    )
    found = sources.included((source(tmp_path, text),))
    assert found == [tmp_path / name for name in ("body.vh", "more.vh", "rom.hex")]


def test_a_source_edited_during_the_hardware_flow_leaves_no_cached_result(
    tmp_path: Path, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = source(tmp_path)

    def ports(arguments: design.Design, folder: Path) -> dict[str, tuple[bool, int]]:
        source(tmp_path, "reg edited;")
        return PORTS

    monkeypatch.setattr(synthesis, "ports", ports)
    with pytest.raises(CasemateError, match=r"core\.sv' changed while a core was priced with it: price it again"):
        flow.price(Request(design.Design((path,), "core")))
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_stimulus_of_a_user_is_carried_out_each_time(
    tmp_path: Path, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "drive.py").write_text("def drive(core): pass\n")
    carried_out = list[int]()

    def drive(*arguments: object) -> Trace:
        carried_out.append(1)
        return Trace(inputs=[{}], outputs=[{}], done=1)

    def to_logic(*arguments: object) -> Path:
        raise CasemateError("as far as this goes")

    monkeypatch.setattr(synthesis, "ports", lambda arguments, folder: PORTS)
    monkeypatch.setattr(synthesis, "to_logic", to_logic)
    monkeypatch.setattr(rtl_simulation, "build", lambda *arguments: tmp_path)
    monkeypatch.setattr(rtl_simulation, "drive", drive)
    for _ in range(2):
        with pytest.raises(CasemateError, match="as far as this goes"):
            flow.price(Request(design.Design((source(tmp_path),), "core"), stimulus=tmp_path / "drive.py"))
    assert len(carried_out) == 2


@pytest.mark.parametrize("damaged", [b"", b"not compressed", None])
def test_a_damaged_cached_hardware_file_is_regenerated(tmp_path: Path, damaged: bytes | None) -> None:
    store, made = Store(tmp_path), list[int]()

    def make() -> bytes:
        made.append(1)
        return b"netlist"

    path = store.keep_file("netlist", {}, make)
    assert store.keep_file("netlist", {}, make) == path
    whole = path.read_bytes()
    if damaged is None:
        path.unlink()
    else:
        path.write_bytes(damaged)
    assert store.keep_file("netlist", {}, make).read_bytes() == whole
    assert len(made) == 2
