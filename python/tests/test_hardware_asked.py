"""What is asked of the hardware flow and cannot be had: each is refused in one line, before anything long begins."""

import importlib.util
import shutil
from pathlib import Path

import pytest
from casemate._core import CasemateError
from casemate.hardware import design, library, stimulus, tools
from conftest import Casemate
from hardware_parts import TEXT

MODULE = "module adder #(parameter int W = 8, parameter bit Fast = 0) (input clk, input [W-1:0] a, output q); endmodule"


def test_a_stimulus_without_its_function_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "drives.py"
    with pytest.raises(CasemateError, match="there is no stimulus"):
        stimulus.load(path)
    path.write_text("def drives(core): pass\n")
    with pytest.raises(CasemateError, match="has no function drive\\(core\\) \\(did you mean 'drives'\\?\\)"):
        stimulus.load(path)
    path.write_text("def drive(core:\n")
    with pytest.raises(CasemateError, match="cannot be read: SyntaxError"):
        stimulus.load(path)


def test_a_clock_is_found_by_its_usual_name_or_asked_for() -> None:
    ports = {"clk_i": (True, 1), "go": (True, 1), "wide": (True, 8), "done": (False, 1)}
    assert design.clock_of(ports, None) == "clk_i"
    assert design.clock_of(ports, "go") == "go"
    for asked, said in (
        ("clk", "'clk' is no port \\(did you mean 'clk_i'\\?\\); there are: clk_i, go"),
        ("wide", "is no input of one bit"),
    ):
        with pytest.raises(CasemateError, match=said):
            design.clock_of(ports, asked)
    with pytest.raises(CasemateError, match="say which it is with --clock: go"):
        design.clock_of({"go": (True, 1)}, None)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A module with two parameters."""
    path = tmp_path / "adder.sv"
    path.write_text(MODULE)
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.sv", "--top", "adder"), "there is no source 'nowhere.sv'"),
        (("adder.sv", "--top", "addr"), "no module 'addr' in the sources (did you mean 'adder'?); there are: adder"),
        (("adder.sv", "--top", "adder", "--param", "Fats=1"), "'adder' has no parameter 'Fats' (did you mean 'Fast'?)"),
        (("adder.sv", "--top", "adder", "--param", "W"), "'W' sets nothing: expected NAME=VALUE, as in --param W=16"),
        (("adder.sv", "--top", "adder", "--param", "W="), "the parameter 'W' has no value: expected NAME=VALUE"),
    ],
)
def test_bad_input_is_refused_in_one_line_that_names_the_nearest(
    casemate: Casemate, source: Path, arguments: tuple[str, ...], said: str
) -> None:
    refused = casemate("cost", "rtl", *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err
    assert not (source.parent / "results").exists()


def test_a_library_without_areas_is_refused(casemate: Casemate, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("need_yosys", "need_opensta"):
        monkeypatch.setattr(tools, name, lambda: "")
    path = source.parent / "noareas.lib"
    path.write_text(
        TEXT.replace("area : 16", "area : 0")
        .replace("area : 24", "area : 0")
        .replace("area : 40", "area : 0")
        .replace("area : 96", "area : 0")
    )
    refused = casemate("cost", "rtl", str(source), "--top", "adder", "--lib", str(path))
    assert (refused.code, refused.out) == (2, "")
    assert f"the library '{path}' gives no cell an area: expected 'area' in its cells" in refused.err
    path.write_text("cell (A) { }")
    refused = casemate("cost", "rtl", str(source), "--top", "adder", "--lib", str(path))
    assert (refused.code, f"'{path}' is no Liberty file" in refused.err) == (2, True)


@pytest.mark.parametrize("command", [("engine",), ("rtl", "adder.sv", "--top", "adder")])
def test_what_is_missing_is_named_with_the_command_that_installs_it(
    casemate: Casemate, source: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = source.parent / "small.lib"
    path.write_text(TEXT)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    refused = casemate("cost", *command, "--lib", str(path))
    assert (refused.code, refused.out) == (2, "")
    assert (
        "the Python package 'pyosys' (synthesis) is missing: install it with scripts/setup.sh .venv hw" in refused.err
    )
    monkeypatch.setattr(tools, "need_yosys", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    refused = casemate("cost", *command, "--lib", str(path))
    assert (refused.code, "'sta' of the package 'opensta'" in refused.err) == (2, True)


def test_the_rest_of_casemate_does_not_load_the_flow() -> None:
    here = Path(library.__file__).parent
    for path in here.parent.rglob("*.py"):
        if path.parent != here and path.stem not in ("cost_hardware", "hardware_table", "hardware_picture"):
            assert "casemate.hardware" not in path.read_text(), path
