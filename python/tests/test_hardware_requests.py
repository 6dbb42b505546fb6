"""Impossible requests to the hardware flow: each is refused in one line, before any long step begins."""

import hashlib
import importlib.util
import json
import math
import shutil
from pathlib import Path

import pytest
from casemate._core import CasemateError
from casemate.cli.commands.cost_engine import other_cores
from casemate.hardware import design, library, sources, stimulus, store, synthesis, tools
from casemate.hardware.flow import STEPS, Flow
from casemate.hardware.stimulus import Core
from conftest import Casemate
from hardware_parts import TEXT, small_library

MODULE = "module adder #(parameter int W = 8, parameter bit Fast = 0) (input clk, input [W-1:0] a, output q); endmodule"


def test_a_stimulus_without_its_function_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "drives.py"
    with pytest.raises(CasemateError, match="there is no stimulus"):
        stimulus.load(path)
    path.write_text("def drives(core): pass\n")
    with pytest.raises(CasemateError, match="has no function drive\\(core\\) \\(did you mean 'drives'\\?\\)"):
        stimulus.load(path)
    for text in ("drive = 3\n", "async def drive(core): pass\n", "def drive(core): yield core\n"):
        path.write_text(text)
        with pytest.raises(CasemateError, match="drive is no plain function: expected `def drive"):
            stimulus.load(path)
    path.write_text("def drive(): pass\n")
    with pytest.raises(CasemateError, match="drive\\(\\) does not take the core: expected drive\\(core\\)"):
        stimulus.load(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\ndef drive(core:\n", "line 2: SyntaxError: "),
        ("import nothing_like_it\n", "line 1: ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("import sys\nsys.exit(3)\n", "line 2: sys.exit(3) ends the stimulus: expected it to return"),
    ],
)
def test_a_stimulus_that_cannot_be_loaded_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "drives.py"
    path.write_text(text)
    with pytest.raises(CasemateError) as refused:
        stimulus.load(path)
    assert f"'{path}' {said}" in str(refused.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("core.cycle(b=1)", "line 4: the stimulus names 'b', which is the clock or no port; there are: clk, a, y"),
        ("core.cycle(a=2)", "line 4: the stimulus sets 'a' to 0x2, which does not fit 1 bits"),
        ("core.cycle(a='1')", "line 4: the stimulus sets 'a' to '1': expected a whole number"),
        ("core.done('a')", "line 4: core.done() has 'a' for 'sealed': expected a whole number of 0 or more"),
        ("core.done(line=-1)", "line 4: core.done() has -1 for 'line': expected a whole number of 0 or more"),
        ("core.begun(0.5)", "line 4: core.begun() has 0.5 for 'line': expected a whole number of 0 or more"),
        ("1 / 0", "line 4: ZeroDivisionError: division by zero"),
        ("import sys; sys.exit()", "line 4: sys.exit() ends the stimulus: expected it to return"),
        ("assert False", "line 4: AssertionError"),
        ("helper()", "line 2: KeyError: 'missing'"),
    ],
)
def test_an_error_of_a_stimulus_names_its_file_and_line(tmp_path: Path, body: str, said: str) -> None:
    path = tmp_path / "drives.py"
    path.write_text(f"def helper():\n    return {{}}['missing']\ndef drive(core):\n    {body}\n")
    with pytest.raises(CasemateError) as refused:
        stimulus.load(path)(Core(Still(), {"clk": (True, 1), "a": (True, 1), "y": (False, 1)}, 16, 1))
    assert str(refused.value) == f"'{path}' {said}"


class Still:
    """A simulation without any activity."""

    def cycle(self, changes: dict[str, int]) -> dict[str, int]:
        """One cycle."""
        return {"y": 0}


def test_a_folder_given_as_stimulus_is_refused_as_a_folder(tmp_path: Path) -> None:
    with pytest.raises(CasemateError, match=r"the stimulus '.*' is a folder: expected a Python file with a function"):
        stimulus.load(tmp_path)


def test_a_stimulus_prints_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "drives.py"
    path.write_text("print('loaded')\ndef drive(core):\n    print('driving')\n")
    stimulus.load(path)(Core(Still(), {"clk": (True, 1)}, 16, 1))
    heard = capsys.readouterr()
    assert (heard.out, heard.err) == ("", "loaded\ndriving\n")


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ("adder.sv\nadd.sv\n", "'core.f' line 2: there is no source 'add.sv' (did you mean 'adder.sv'?)"),
        ("\nsub // a folder\n", "'core.f' line 2: the source 'sub' is a folder: expected files, +incdir+FOLDER or"),
        ("+incdir+sup\n", "'core.f' line 1: there is no folder 'sup' to include from (did you mean 'sub'?)"),
        ("+define+\n", "'core.f' line 1: '+define+' defines no name: expected +define+NAME=VALUE"),
        ("-y sub adder.sv\n", "'core.f' line 1: '-y' is no argument of both front ends: expected files"),
        ("core.f\n", "'core.f' line 1: 'core.f' is another list: expected it next to this one"),
        ("+define+A\n", "the sources have no file: expected one with the module on top"),
    ],
)
def test_an_error_in_a_file_list_is_named_with_its_line(
    casemate: Casemate, source: Path, listed: str, said: str
) -> None:
    (source.parent / "sub").mkdir()
    Path("core.f").write_text(listed)
    refused = casemate("cost", "rtl", "core.f", "--top", "adder")
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err


def test_a_file_list_gives_include_folders_and_macros_and_included_files_count(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(source.parent)
    folder = source.parent / "sub"
    folder.mkdir()
    (folder / "inner.svh").write_text('`include "own.svh"\n')
    (source.parent / "own.svh").write_text("")
    (folder / "own.svh").write_text("")
    source.write_text(f'`include "inner.svh"\n// `include "none.svh"\n{MODULE}')
    Path("core.f").write_text("+incdir+sub +define+WIDTH=8\nadder.sv # the top\n")
    found = sources.read([Path("core.f")])
    assert [str(each) for each in found] == [
        f"+incdir+{folder}", "+define+WIDTH=8", f"+incdir+{source.parent}", str(source),
    ]  # fmt: skip
    # The folder of the including file has precedence over any other folder.
    assert sources.included(found) == [folder / "inner.svh", folder / "own.svh"]


def test_a_clock_is_found_by_its_usual_name_or_must_be_given() -> None:
    ports = {"clk_i": (True, 1), "go": (True, 1), "wide": (True, 8), "done": (False, 1)}
    assert design.clock_of(ports, None) == "clk_i"
    assert design.clock_of(ports, "go") == "go"
    for wanted, said in (
        ("clk", "'clk' is no port \\(did you mean 'clk_i'\\?\\); there are: clk_i, go"),
        ("wide", "is no input of one bit"),
    ):
        with pytest.raises(CasemateError, match=said):
            design.clock_of(ports, wanted)
    with pytest.raises(CasemateError, match="choose one with --clock: go"):
        design.clock_of({"go": (True, 1)}, None)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("(* keep_hierarchy *)\nmodule", True),
        ("(* full_case, keep_hierarchy = 1 *) module", True),
        ("module", False),
        ("// (* keep_hierarchy *)\n/* (* keep_hierarchy *) */ module", False),
    ],
)
def test_synthesis_keeps_the_module_hierarchy_only_if_the_rtl_marks_a_module(
    tmp_path: Path, text: str, marked: bool
) -> None:
    path = tmp_path / "top.sv"
    path.write_text(MODULE.replace("module", text, 1))
    wanted = design.Design((path,), "adder")
    assert wanted.keeps_modules == marked
    assert ("--best-effort-hierarchy" in synthesis.read_command(wanted)) == marked


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
        (("adder.sv", "--top", "adder", "--param", "W"), "'W' sets no value: expected NAME=VALUE, as in --param W=16"),
        (("adder.sv", "--top", "adder", "--param", "W="), "the parameter 'W' has no value: expected NAME=VALUE"),
        (("adder.sv", "--top", "adder", "--param", "W=abc"), "the parameter 'W' is 'abc': expected a whole number or"),
        (("adder.sv", "--top", "adder", "--param", "W=1 2"), "the parameter 'W' is '1 2': expected a whole number or"),
        (("adder.sv", "--top", "adder", "--param", "W=8", "--param", "W=9"), "'W' is given twice, as '8' and '9'"),
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
def test_a_missing_program_is_named_with_the_command_that_installs_it(
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


def test_modules_outside_the_hardware_flow_do_not_import_it() -> None:
    here = Path(library.__file__).parent
    for path in here.parent.rglob("*.py"):
        if path.parent != here and path.stem not in (
            "cost_flow",
            "cost_engine",
            "cost_rtl",
            "cost_compare",
            "hardware_table",
            "hardware_picture",
        ):
            assert "casemate.hardware" not in path.read_text(), path


def test_errors_in_the_rtl_sources_are_listed_first_with_relative_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work").mkdir()
    said = (
        "../a.sv:3: ERROR: range is reversed\n../a.sv:9: ERROR: $error encountered: W is even\nBuild failed: 2 errors\n"
    )
    given = tools.errors_of(said, 1, tmp_path / "work")
    assert given == "a.sv:9: ERROR: W is even; a.sv:3: ERROR: range is reversed"
    assert tools.errors_of("nothing to see\n", -9) == "it ended with signal 9, and its last line is: nothing to see"


def core(um2: float) -> dict[str, object]:
    """A hardware core of this area, as a flow without a stimulus prints it."""
    area = {"um2": um2, "flops_um2": 0.0, "cells": 1, "flops": 0, "fanout_buffers": 0}
    path = {"path_begins": "a", "path_ends": "b", "path_cells": 1}
    work = dict.fromkeys(("cycles_per_line", "latency_cycles", "gbps", "gbps_per_mm2"))
    return {
        "name": "core",
        "target_ns": 4.0,
        "area": area,
        "speed": {"fmax_mhz": 9.0} | path | work,
        "fpga": None,
        "energy": None,
    }


def edited(**changed: object) -> str:
    """A result of the small library without cores, as a flow that aims at 8 ns prints it."""
    content = hashlib.sha256(TEXT.encode()).hexdigest()
    given = {
        "library": "small",
        "library_content": content,
        "voltage_v": 2.0,
        "targets_ns": [4, 6, 8, 12, 16],
        "tools": {},
    }
    return json.dumps(given | {"recipe": store.digest(store.code(*STEPS)), "rows": [], "scaling": []} | changed)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "thesi.json",
            edited(),
            "--beside: cannot read 'thesis.json': No such file or directory (did you mean 'thesi",
        ),
        ("thesis.json", "{", "'thesis.json' holds no cores: Invalid JSON: EOF while parsing an object at line 1"),
        (
            "thesis.json",
            "{}",
            "holds no cores: library: Field required; expected the output of `casemate cost rtl --json`",
        ),
        ("thesis.json", edited(targets_ns=[math.nan]), "holds no cores: targets_ns.0: Input should be"),
        ("thesis.json", edited(rows=[core(um2=-1)]), "no cores: rows.0.area.um2: Input should be greater than 0;"),
        ("thesis.json", edited(rows=[core(um2=math.nan)]), "no cores: rows.0.area.um2: Input should be"),
        ("thesis.json", edited(library="big"), "are of the library big, and those here of the library small"),
        ("thesis.json", edited(library_content=64 * "a"), "are of a file of it with the digest aaaaaaaa, and those"),
        ("thesis.json", edited(voltage_v=1.1), "are at 1.1 V, and those here at 2 V"),
        (
            "thesis.json",
            edited(targets_ns=[3]),
            "mapped for 3 ns, and those here mapped for 4, 6, 8, 12, 16 ns: price both",
        ),
    ],
)
def test_hardware_costs_of_another_flow_version_or_library_are_not_compared(
    casemate: Casemate, source: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, said: str
) -> None:
    for program in ("need_yosys", "need_opensta"):
        monkeypatch.setattr(tools, program, lambda: "")
    Path("small.lib").write_text(TEXT)
    Path(name).write_text(text)
    refused = casemate("cost", "engine", "--lib", "small.lib", "--beside", "thesis.json")
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err


def test_hardware_costs_from_other_tool_versions_are_compared_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for program in ("need_yosys", "need_opensta"):
        monkeypatch.setattr(tools, program, lambda: "")
    monkeypatch.chdir(tmp_path)
    small_library(tmp_path)
    flow = Flow(library.read(tmp_path / "small.lib"), tmp_path / "kept")
    by_others = "were priced by other programs: pyosys 0.1\n"
    by_another = "were priced by other programs: another version of this flow\n"
    for changed, said in (({"tools": {"pyosys": "0.1"}}, by_others), ({"recipe": "a"}, by_another), ({}, "")):
        Path("thesis.json").write_text(edited(**({"tools": tools.versions()} | changed)))
        assert other_cores(Path("thesis.json"), flow) == []
        heard = capsys.readouterr().err
        assert (bool(heard), heard.endswith(said)) == (bool(said), True)
