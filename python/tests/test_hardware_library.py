"""Libraries that are damaged, compressed or somewhere else: each is read, or refused in a line that names the place."""

import gzip
import os
import re
from pathlib import Path

import pytest
from casemate._core import CasemateError
from casemate.hardware import library, synthesis, tools
from hardware_parts import TEXT, cell, small_library


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("area : 16", "area : abc", "cell 'INV': 'area' is 'abc': expected a number"),
        ("area : 16", "area : nan", "cell 'INV': 'area' is 'nan': expected a number"),
        ("area : 16", "area : -16", "cell 'INV': 'area' is -16: expected one in square micrometres"),
        ("capacitance : 0.05", "capacitance : 5x", "cell 'INV': pin 'A': 'capacitance' is '5x': expected a number"),
        ("pin(A)", "pin()", "cell 'INV': a group 'pin' has no name: expected pin(NAME)"),
        ('"!A"', '"A $ B"', "cell 'INV': pin 'Y': 'A $ B' is no function of a cell"),
        ('values ("0.1, 0.1"', 'values ("0.1, x"', "cell 'INV': pin 'Y': a value of a table is 'x': expected a number"),
        (
            'values ("0.1, 0.1", ',
            "values (",
            "a table 'cell_rise' has 2 values: expected 2 x 2, over the output's load",
        ),
        ('"1ns"', '"1 parsec"', "'time_unit' is '1 parsec': expected a unit such as '1ns'"),
        ('"1ns"', '"0ns"', "'time_unit' is '0ns': expected a unit such as '1ns'"),
        ("(1,pf)", "(1,zork)", "'capacitive_load_unit' is '1zork': expected a unit such as '1pf'"),
        (
            "nom_voltage : 2",
            "nom_voltage : 0",
            "'nom_voltage' is missing or not positive: expected that of the cells, as in 1.8",
        ),
    ],
)
def test_an_error_in_a_library_is_named_with_its_cell(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(CasemateError) as refused:
        small_library(tmp_path, TEXT.replace(old, new, 1))
    assert str(refused.value).startswith(f"the library '{tmp_path / 'small.lib'}': ")
    assert said in str(refused.value)


def test_a_unit_of_capacitance_is_read_in_either_case(tmp_path: Path) -> None:
    picofarads = small_library(tmp_path).cells["INV"].pins["A"].capacitance_f
    assert small_library(tmp_path, TEXT.replace("(1,pf)", "(1.0e3,fF)")).cells["INV"].pins["A"].capacitance_f == (
        pytest.approx(picofarads)
    )


@pytest.mark.parametrize("keep", [20, -40])
def test_a_compressed_library_that_is_cut_off_is_refused(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "cut.lib.gz"
    path.write_bytes(gzip.compress(TEXT.encode())[:keep])
    with pytest.raises(CasemateError, match=r"cut\.lib\.gz': its gzip data is damaged"):
        library.read(path)


def test_external_tools_get_an_uncompressed_liberty_file_under_a_path_that_they_accept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, work = tmp_path / "a b", tmp_path / "work"
    given.mkdir()
    work.mkdir()
    (given / "small.lib.gz").write_bytes(gzip.compress(TEXT.encode()))
    monkeypatch.chdir(tmp_path)
    scripts = list[str]()
    monkeypatch.setattr(tools, "yosys", lambda script, folder, name: scripts.extend(script))
    (work / "mapped.json").write_text("{}")
    synthesis.to_cells(Path("logic.il"), library.read(Path("a b/small.lib.gz")), 4e-9, work)
    named = [line.split('"')[1] for line in scripts if "-liberty" in line]
    assert len(named) == 2
    assert {Path(name).read_text() for name in named} == {TEXT}
    assert all(os.path.isabs(name) and " " not in Path(name).name for name in named)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace("ff (IQ, IQN)", "latch (IQ, IQN)"), "has no flip-flop: expected cells with 'ff'"),
        (
            re.sub(r"capacitance : [\d.]+;", "", TEXT),
            "gives no pin a capacitance: delays and energy cannot be computed",
        ),
        (TEXT.replace("nom_voltage : 2;", ""), "'nom_voltage' is missing or not positive"),
        (
            TEXT.replace("slew_lower_threshold_pct_fall : 20;", ""),
            "'slew_lower_threshold_pct_fall' is missing: expected",
        ),
    ],
)
def test_a_library_that_lacks_required_values_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(CasemateError, match=said):
        small_library(tmp_path, text)


def test_a_library_without_internal_power_is_noted(tmp_path: Path) -> None:
    assert small_library(tmp_path).left_out() == ""
    bare = TEXT.replace("internal_power()", "other()")
    assert (
        "has no 'internal_power': energy is only that of nets and leakage" in small_library(tmp_path, bare).left_out()
    )


def test_the_voltage_may_be_given_by_the_operating_conditions(tmp_path: Path) -> None:
    text = TEXT.replace("nom_voltage : 2;", "operating_conditions(typical) { voltage : 1.2; }")
    assert small_library(tmp_path, text).voltage_v == 1.2


def test_cells_that_must_not_be_used_are_not_in_the_library_and_not_in_its_copy(tmp_path: Path) -> None:
    marked = TEXT.replace("cell (INV) { area : 16;", 'cell ("INV") { area : 16; dont_use : true; note : "}";')
    smallest = marked.replace("cell (BUF)", cell("INV2", 20, "!A", "A", (1.0, 3.0)) + " cell (BUF)")
    found = small_library(tmp_path, smallest)
    assert (found.inverter().name, found.unused) == ("INV2", frozenset({"INV"}))
    copied = found.copy_to(tmp_path).read_text()
    assert [name for name in ("INV", "INV2", "BUF", "XOR", "DFF") if re.search(rf"cell \(\"?{name}\"?\)", copied)] == [
        "INV2", "BUF", "XOR", "DFF",
    ]  # fmt: skip
    assert library.read(tmp_path / "library.lib").cells.keys() == found.cells.keys()


def test_a_pattern_leaves_out_the_cells_that_it_matches(tmp_path: Path) -> None:
    small_library(tmp_path)
    found = library.read(tmp_path / "small.lib", ["X*", "BUF", "lpflow_*"])
    assert found.cells.keys() == {"INV", "DFF"}
    with pytest.raises(CasemateError, match=r"has no cells left: expected cells that no --dont-use matches"):
        library.read(tmp_path / "small.lib", ["*"])


def test_an_inverter_without_transitions_is_not_the_one_that_measures_the_library(tmp_path: Path) -> None:
    fast = (
        cell("FAST", 8, "!A", "A", (1.0, 3.0))
        .replace("rise_transition", "rise_other")
        .replace("fall_transition", "fall_other")
    )
    found = small_library(tmp_path, TEXT.replace("cell (INV)", f"{fast} cell (INV)", 1))
    assert "FAST" in found.cells
    assert found.inverter().name == "INV"
