"""A study without runs: the printed figures of a thesis follow from its parameters, or a remark explains the
difference.
"""

import csv
import errno
import io
import re
from collections import Counter
from pathlib import Path
from typing import cast, get_args

import jsonschema
import pytest
from casemate import CasemateError
from casemate.plots import picture
from casemate.reproduce import derivation, derived_report, studies
from casemate.reproduce.derivation import DerivedStudy, agreement
from casemate.reproduce.gcm import STUDY, engines, parameters
from casemate.reproduce.gcm.printed import PRINTED
from casemate.schemas.derivation import Agreement, Derivation, EngineNeed
from conftest import Casemate
from gcm_by_hand import AT_HALF_CLOCK_MW, FIGURES, NEEDS

NOTHING: dict[str, tuple[float, ...]] = {"bandwidth": (), "lanes": (), "clock": ()}
COLUMNS_MAX = 132
"""Formulas and units make these tables wider than the usual ones."""


@pytest.fixture(scope="module")
def found() -> Derivation:
    return STUDY.derive(STUDY.tables, NOTHING)


def needs(**required: tuple[float, ...]) -> tuple[EngineNeed, ...]:
    return STUDY.derive(STUDY.tables, {**NOTHING, **required}).needs


def of(all_needs: tuple[EngineNeed, ...], name: str) -> EngineNeed:
    return next(need for need in all_needs if need.implementation == name)


@pytest.mark.parametrize(("table", "name", "quantity", "expected"), FIGURES)
def test_a_figure_of_the_gcm_study_equals_its_calculation_by_hand(
    found: Derivation, table: str, name: str, quantity: str, expected: float
) -> None:
    assert found.row(table, name, quantity).computed == pytest.approx(expected, rel=2e-5)


def test_every_figure_of_every_table_was_worked_out_by_hand(found: Derivation) -> None:
    by_hand = [(table, name, quantity) for table, name, quantity, _ in FIGURES]
    assert by_hand == [(table.number, row.of, row.quantity) for table in found.tables for row in table.rows]


def test_the_engines_for_the_thesis_s_bandwidth_equal_a_calculation_by_hand(found: Derivation) -> None:
    assert [need.implementation for need in found.needs] == list(NEEDS)
    for need in found.needs:
        lanes, watts, square_mm = NEEDS[need.implementation]
        assert (need.lanes, need.power_w) == pytest.approx((lanes, watts), rel=1e-6), need.implementation
        assert need.area_mm2 == (square_mm and pytest.approx(square_mm, rel=1e-6)), need.implementation


@pytest.mark.parametrize(("name", "milliwatts"), AT_HALF_CLOCK_MW.items())
def test_an_engine_at_half_its_clock_takes_half_its_dynamic_power(name: str, milliwatts: float) -> None:
    estimated_at_mhz = 225 if name.startswith("ASIC") else 200
    slow = of(needs(lanes=(8,), clock=(estimated_at_mhz / 2,)), name)
    assert 1e3 * slow.power_w == pytest.approx(milliwatts, rel=1e-6)


def test_each_printed_figure_has_exactly_one_computed_figure(found: Derivation) -> None:
    rows = Counter((table.number, row.of, row.quantity) for table in found.tables for row in table.rows)
    assert set(rows.values()) == {1}
    printed = {(number, *key) for number, of_table in PRINTED.items() for key in of_table}
    assert printed <= rows.keys()
    assert {(t.number, r.of, r.quantity) for t in found.tables for r in t.rows if r.printed is not None} == printed


def test_computed_figures_of_the_gcm_study_do_not_depend_on_the_published_ones(
    found: Derivation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the numbers of modules that section 6.1 rounds to: ours are priced at the same."""
    for number, of_table in PRINTED.items():
        for key in of_table:
            if (number, key[1]) != ("section-6.1", "modules"):
                monkeypatch.setitem(cast(dict[tuple[str, str], str], of_table), key, "7")
    other = STUDY.derive(STUDY.tables, NOTHING)
    computed = [
        [(row.of, row.quantity, row.computed) for table in each.tables for row in table.rows] for each in (found, other)
    ]
    assert computed[0] == computed[1]
    assert not all(row.agreement == "as-printed" for table in other.tables for row in table.rows)


def test_remarks_of_the_gcm_study_explain_contradictions_in_the_thesis(found: Derivation) -> None:
    for table, name, quantity, said in (
        ("6.1", "FPGA at 200 MHz", "Mbps/mW", "212 MHz"),
        ("section-6.1", "x86, C", "cores", "62.2 cycles per byte"),
        ("equations-5.1-5.5", "ASIC", "power, slope", "none of the 26 fits"),
        ("equations-5.1-5.5", "FPGA, typical", "power of 1", "17 % above"),
        ("equations-5.1-5.5", "FPGA, worst", "power of 1", "10 % above"),
        ("6.1", "Alpha", "throughput", "41 cycles per byte"),
        ("section-3.1", "AES-128", "expanded key", "one round key too few"),
        ("5.1", "commercial", "throughput", "2.5 times"),
        ("section-6.1", "FPGA", "power of 230", "230.6 modules"),
    ):
        row = found.row(table, name, quantity)
        assert row.remark is not None
        assert said in row.remark
    # The area's fit, on the other hand, differs by no more than the printed thousands do.
    for quantity in ("area, slope", "area, intercept"):
        assert "within this" in str(found.row("equations-5.1-5.5", "ASIC", quantity).remark)


def test_a_study_with_an_unexplained_difference_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    assert STUDY.derive(STUDY.tables, NOTHING).holds
    monkeypatch.setattr(parameters, "LINE_CLOCKS", 130)
    broken = STUDY.derive(STUDY.tables, NOTHING)
    assert not broken.holds
    assert broken.row("6.1", "ASIC", "Mbps/mW").agreement == "differs"


@pytest.mark.parametrize(
    ("computed", "printed", "expected"),
    [
        (84.759, "84.7", "as-printed"),  # cut off
        (84.651, "84.7", "as-printed"),  # rounded
        (84.649, "84.7", "differs"),
        (84.8, "84.7", "differs"),
        (63.449999999999996, "63.5", "as-printed"),  # 63.45, as binary fractions have it
        (0.01403, "0.0140", "as-printed"),
        (0.01411, "0.0140", "differs"),
        (123.0, "123", "as-printed"),
        (124.0, "123", "differs"),
        (1625.0, "~1600", "as-printed"),
        (1651.0, "~1600", "differs"),
        (418.0, "~590", "differs"),
        (233.0, "~230", "as-printed"),
        (246.0, "~230", "differs"),
        (44.58, "~44.7", "differs"),
        (5.0, None, "not-printed"),
    ],
)
def test_a_computed_figure_matches_a_published_one_if_rounded_or_truncated_to_it(
    computed: float, printed: str | None, expected: Agreement
) -> None:
    assert agreement(computed, printed) == expected
    assert expected in get_args(Agreement)


def test_the_computed_number_of_engines_is_the_least_for_the_bandwidth() -> None:
    for need in needs(bandwidth=(3.3, 25.6, 51.2)):
        for engine in engines.ENGINES:
            if engine.name == need.implementation:
                each = engine.mbps(engine.clock_hz) / 8e3
                assert need.lanes * each >= need.bandwidth_gbs > (need.lanes - 1) * each


def test_bandwidth_and_number_of_engine_lanes_are_computed_consistently() -> None:
    carried = of(needs(lanes=(16,)), "ASIC")
    assert (carried.asked, carried.lanes) == ("lanes", 16)
    assert carried.bandwidth_gbs == pytest.approx(16 * 225e6 / 123 * 64 / 1e9)
    assert carried.power_w == pytest.approx((11.05 * 16 + 2.12) / 1e3)
    assert of(needs(bandwidth=(carried.bandwidth_gbs,)), "ASIC").lanes == 16


def test_engine_bandwidth_and_dynamic_power_are_proportional_to_the_clock() -> None:
    slow, fast = (of(needs(lanes=(8,), clock=(clock,)), "ASIC") for clock in (112.5, 225))
    assert fast.bandwidth_gbs == pytest.approx(2 * slow.bandwidth_gbs)
    static = 8 * 0.428e-3
    assert fast.power_w - static == pytest.approx(2 * (slow.power_w - static))
    assert fast.remark is None
    assert slow.remark == "dynamic power goes with the clock, from 225 MHz"
    fpga = [of(needs(lanes=(8,), clock=(clock,)), "FPGA, typical").power_w for clock in (100, 200)]
    assert fpga[1] - 0.123 == pytest.approx(2 * (fpga[0] - 0.123))
    beyond = of(needs(lanes=(8,), clock=(300,)), "ASIC").remark
    assert beyond == "dynamic power goes with the clock, from 225 MHz; synthesis reached 250 MHz"


def test_additional_bandwidths_lanes_or_clocks_change_no_table_of_the_gcm_study(found: Derivation) -> None:
    other = STUDY.derive(STUDY.tables, {"bandwidth": (51.2,), "lanes": (3,), "clock": (300,)})
    assert other.tables == found.tables
    assert other.needs != found.needs


def test_the_command_prints_figures_next_to_the_thesis_s_and_writes_a_report(casemate: Casemate) -> None:
    said = casemate("reproduce", "gcm")
    assert said.code == 0
    assert re.search(r"Mbps/mW +4\.316 +4\.57 +-5\.6 % \[\d\]", said.out)
    assert re.search(r"25\.6 GB/s +ASIC +219 +225 MHz", said.out)
    tables = [line for line in said.out.splitlines() if not line.startswith(("[", "  "))]
    assert max(len(line.rstrip()) for line in tables) <= COLUMNS_MAX
    folder = Path("results/reproduce/gcm")
    assert sorted(path.name for path in folder.iterdir()) == [
        "_derivation.json",
        "figures.csv",
        "figures.png",
        "report.md",
    ]
    assert (folder / "figures.png").read_bytes().startswith(b"\x89PNG")
    for name in ("figures.csv", "figures.png", "report.md"):
        assert f"wrote {folder / name}" in said.err


def test_json_fits_its_schema_and_the_files_have_the_same_figures(casemate: Casemate, found: Derivation) -> None:
    said = casemate("reproduce", "gcm", "--json", "--output", "here")
    jsonschema.validate(said.json(), casemate("schema", "reproduce", "gcm").json())
    assert Derivation.model_validate_json(said.out) == found
    rows = list(csv.DictReader(io.StringIO(Path("here/figures.csv").read_text())))
    computed = [(table.number, row.of, row.quantity, row.computed) for table in found.tables for row in table.rows]
    assert [(row["table"], row["of"], row["quantity"], float(row["computed"])) for row in rows] == computed
    report = Path("here/report.md").read_text()
    for table in found.tables:
        assert f"## {table.label}: {table.title}" in report
        assert all(derived_report.number(row.computed) in report for row in table.rows)


def test_only_the_requested_tables_are_shown(casemate: Casemate) -> None:
    said = casemate("reproduce", "gcm", "--table", "5.2", "--table", "section-6.1", "--json")
    assert [table["number"] for table in said.json()["tables"]] == ["5.2", "section-6.1"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--bandwidth", "0"), "bandwidth is 0: expected a number of GB/s above 0 and up to 1e+06"),
        (("--bandwidth", "fast"), "bandwidth is fast: expected a number of GB/s"),
        (("--bandwidth", "nan"), "bandwidth is nan: expected"),
        (("--lanes", "2.5"), "lanes is 2.5: expected a whole number of 1 or more"),
        (("--lanes", "-1"), "lanes is -1: expected"),
        (("--clock", "inf"), "clock is inf: expected a number of MHz above 0"),
        (("--table", "6.3"), "unknown table '6.3' (did you mean '6."),
        (("--figure", "1"), "there is no option '--figure'"),
    ],
)
def test_an_impossible_request_is_refused_and_no_file_is_written(
    casemate: Casemate, arguments: tuple[str, ...], expected: str
) -> None:
    said = casemate("reproduce", "gcm", *arguments)
    assert said.code == 2
    assert expected in said.err
    assert list(Path().iterdir()) == []


def test_a_study_is_of_runs_or_of_formulas_and_its_command_has_the_options_of_its_kind(casemate: Casemate) -> None:
    kinds = {name: isinstance(studies.named(name), DerivedStudy) for name in studies.names()}
    assert kinds == {"cryptopage": False, "emcc": False, "fvs": False, "gcm": True, "secpb": False}
    for name, is_derived in kinds.items():
        help_text = casemate("reproduce", name, "--help").out
        assert ("--seeds" in help_text, "--table" in help_text) == (not is_derived, is_derived)
        assert "--output" in help_text


def test_a_picture_is_drawn_the_same_each_time(found: Derivation, tmp_path: Path) -> None:
    for name in ("one", "other"):
        STUDY.draw(found, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_missing_figure_of_the_gcm_study_names_the_nearest(found: Derivation) -> None:
    with pytest.raises(CasemateError, match=r"no figure '6.1, ASIC, weight' .did you mean"):
        found.row("6.1", "ASIC", "weight")
    assert (
        found.brief()
        == "42 of 60 printed figures follow from the paper's parameters; of the other 18 each says why not"
    )


def test_a_derived_study_with_an_unexplained_difference_does_not_hold() -> None:
    rows = derivation.Rows({("a", "b"): "2"})
    rows.add("a", "b [m]", 3.0, "1 + 2")
    assert not derivation.holds([rows.table("1", "of one row")])
    rows = derivation.Rows({("a", "b"): "2"})
    rows.add("a", "b [m]", 3.0, "1 + 2", "because")
    table = rows.table("1", "of one row")
    assert derivation.holds([table])
    assert table.rows[0].difference_percent == pytest.approx(50)
    assert (table.rows[0].quantity, table.rows[0].unit) == ("b", "m")


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("file/below", "cannot make the folder 'file/below': 'file' is no folder"),
        ("file", "cannot make the folder 'file': 'file' is no folder"),
        ("", "--output is empty: expected the name of a folder"),
    ],
)
def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_shown(
    casemate: Casemate, folder: str, expected: str
) -> None:
    Path("file").write_text("")
    said = casemate("reproduce", "gcm", "--output", folder)
    assert (said.code, said.out) == (2, "")
    assert expected in said.err.replace(f"{Path.cwd()}/", "")


def test_a_report_that_cannot_be_written_whole_leaves_the_one_before(
    casemate: Casemate, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path("here")
    assert casemate("reproduce", "gcm", "--output", "here", "--table", "5.2").code == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(figure: object, path: Path, kind: str, dpi: int) -> None:
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(picture, "save", full)
        said = casemate("reproduce", "gcm", "--output", "here")
    assert (said.code, said.out) == (2, "")
    assert "cannot write into the folder 'here': No space left on device" in said.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    # Nor do some of the files change if one of them has no place.
    (folder / "report.md").unlink()
    (folder / "report.md").mkdir()
    said = casemate("reproduce", "gcm", "--output", "here")
    assert (said.code, "cannot write 'here/report.md': it is a folder" in said.err) == (2, True)
    assert (folder / "figures.csv").read_bytes() == before["figures.csv"]
    assert len(list(folder.iterdir())) == 4
