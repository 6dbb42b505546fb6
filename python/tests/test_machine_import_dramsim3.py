"""Comments, repeated keys and numbers of `.ini` files, which `casemate machine import` reads as DRAMsim3 does."""

from pathlib import Path

import pytest
from foreign_machines import DRAMSIM3, defaults, fates, made

NUMBERS = (
    ("17;", "17"), ("17; clocks", "17"), ("17# clocks", "17"), ("17 # clocks", "17"), ("17.9", "17"), ("17abc", "17"),
    ("0x11", "17"), ("021", "17"), ("+17", "17"), ("1e3", "1"), ("09", "0"), ("0xg", "0"), ("1_7", "1"),
)  # fmt: skip


@pytest.mark.parametrize(("written", "read"), NUMBERS, ids=[written for written, _ in NUMBERS])
def test_a_whole_number_ends_at_the_first_character_that_is_no_digit(tmp_path: Path, written: str, read: str) -> None:
    text = DRAMSIM3.replace("tWTR_S = 3", f"tWTR_S = {written}").replace("tWTR_L = 9", "tWTR_L = 20")
    assert made(tmp_path, "x.ini", text)["dram.timing.twtr_s"] == read
    assert fates(tmp_path, "x.ini", text)["timing.tWTR_S"] == ("changed", f"{read}, as DRAMsim3 reads numbers")


@pytest.mark.parametrize(
    ("written", "clock"),
    [
        ("1.25; nanoseconds", "800"), ("1.25ns", "800"), ("125e-2 x", "800"), (".5", "2000"), ("2.", "500"),
        ("0x1.4p0", "800"), ("1 (1/1.5)", "1000"),
    ],
)  # fmt: skip
def test_a_clock_period_is_read_as_a_c_double(tmp_path: Path, written: str, clock: str) -> None:
    assert made(tmp_path, "x.ini", DRAMSIM3.replace("0.83", written))["dram.clock_mhz"] == clock


def test_a_value_without_a_number_becomes_the_default_of_dramsim3_and_is_listed(tmp_path: Path) -> None:
    for written in ("", "fast", "; 17", "-"):
        text = DRAMSIM3.replace("tRCD = 17", f"tRCD = {written}")
        assert made(tmp_path, "x.ini", text)["dram.timing.trcd"] == "10"
        assert fates(tmp_path, "x.ini", text)["timing.tRCD"] == (
            "changed",
            "no number: the machine has DRAMsim3's default, 10",
        )
    text = DRAMSIM3.replace("[power]", "[dram_structure]\nbankgroup_enable = no;\n[power]")
    said = fates(tmp_path, "x.ini", text)["dram_structure.bankgroup_enable"]
    assert said == ("changed", "no truth value: the machine has DRAMsim3's default, true")


def test_a_number_as_dramsim3_prints_it_is_taken_without_a_note(tmp_path: Path) -> None:
    for line in ("tRCD = 17   ; clocks", "tRCD=17", "tRCD : 17", "trcd = 17", "tRCD = 17\t;"):
        found = fates(tmp_path, "x.ini", DRAMSIM3.replace("tRCD = 17", line))
        assert found[f"timing.{line[:4]}"] == ("taken", ""), line


def test_names_of_sections_and_keys_have_no_case(tmp_path: Path) -> None:
    text = DRAMSIM3.replace("[timing]", "[Timing]").replace("channels = 2", "CHANNELS = 4")
    assert made(tmp_path, "x.ini", text)["memory.channels"] == "4"
    assert made(tmp_path, "x.ini", text)["dram.timing.cl"] == "17"
    assert fates(tmp_path, "x.ini", text)["system.CHANNELS"] == ("taken", "")
    assert defaults(tmp_path, "x.ini", text) == defaults(tmp_path, "x.ini", DRAMSIM3)


def test_the_first_number_of_a_repeated_key_counts(tmp_path: Path) -> None:
    text = DRAMSIM3.replace("tRCD = 17", "tRCD = 18\ntrcd = 40")
    assert made(tmp_path, "x.ini", text)["dram.timing.trcd"] == "18"
    said = fates(tmp_path, "x.ini", text)["timing.tRCD"]
    assert said == ("changed", "18, as DRAMsim3 reads numbers in repeated keys or indented lines")


def test_an_indented_line_continues_the_key_above_it(tmp_path: Path) -> None:
    text = DRAMSIM3.replace("CWL = 12", "  CWL = 11")
    found = made(tmp_path, "x.ini", text)
    assert (found["dram.timing.cl"], found["dram.timing.cwl"]) == ("17", "12")
    assert "timing.CWL" in defaults(tmp_path, "x.ini", text)
    # The first key of a section has no key above it.
    indented = DRAMSIM3.replace("tCK = 0.83", "  tCK = 1.25")
    assert made(tmp_path, "x.ini", indented)["dram.clock_mhz"] == "800"


def test_rows_close_for_exactly_the_policy_of_dramsim3(tmp_path: Path) -> None:
    for policy, expected, fate in (
        ("OPEN_PAGE", '"open"', "taken"), ("CLOSED", '"open"', "changed"), ("CLOSE_PAGE; now", '"open"', "changed"),
        ("CLOSE_PAGE ; now", "{ open-with-timeout = { idle_clocks = 1 } }", "changed"),
    ):  # fmt: skip
        text = DRAMSIM3.replace("CLOSE_PAGE", policy)
        assert made(tmp_path, "x.ini", text)["dram.page_policy"] == expected, policy
        assert fates(tmp_path, "x.ini", text)["system.row_buf_policy"][0] == fate, policy


def test_a_key_that_dramsim3_does_not_read_is_listed_with_the_nearest_missing_key(tmp_path: Path) -> None:
    found = fates(tmp_path, "x.ini", DRAMSIM3.replace("tRCD = 17", "tRDC = 17"))
    assert found["timing.tRDC"] == ("no counterpart", "DRAMsim3 does not read this key (did you mean 'tRCD'?)")
    assert found["timing.tRCD"][0] == "default"
    found = fates(tmp_path, "x.ini", DRAMSIM3.replace("tXP = 8", "tRFC2 = 8\ntRCDRD = 8"))
    assert found["timing.tRFC2"] == ("no counterpart", "DRAMsim3 does not read this key")
    assert found["timing.tRCDRD"] == ("no counterpart", "only for GDDR, HBM or LPDDR")


def test_the_refresh_interval_is_also_taken_from_the_key_refi(tmp_path: Path) -> None:
    for key in ("REFI", "refi"):
        text = DRAMSIM3.replace("tREFI = 9400", f"{key} = 6241")
        assert made(tmp_path, "x.ini", text)["dram.timing.trefi"] == "6241"
        assert fates(tmp_path, "x.ini", text)[f"timing.{key}"] == (
            "changed",
            "6241, as tREFI: DRAMsim3 itself ignores this name and has its default, 7800",
        )
        assert "timing.tREFI" not in defaults(tmp_path, "x.ini", text)


def test_the_key_trefi_takes_precedence_over_refi(tmp_path: Path) -> None:
    text = DRAMSIM3.replace("tREFI = 9400", "tREFI = 9400\nREFI = 6241")
    assert made(tmp_path, "x.ini", text)["dram.timing.trefi"] == "9400"
    assert fates(tmp_path, "x.ini", text)["timing.REFI"] == ("no counterpart", "DRAMsim3 does not read this key")


def test_the_additive_latency_delays_reads_and_writes(tmp_path: Path) -> None:
    text = DRAMSIM3.replace("CWL = 12", "CWL = 12\nAL = 3")
    found = made(tmp_path, "x.ini", text)
    assert (found["dram.timing.cl"], found["dram.timing.cwl"]) == ("20", "15")
    assert fates(tmp_path, "x.ini", text)["timing.AL"] == ("changed", "added to cl and cwl")


def test_without_bank_groups_a_rank_has_the_banks_of_all_groups(tmp_path: Path) -> None:
    text = DRAMSIM3.replace("bankgroups = 4\nbanks_per_group = 4", "bankgroups = 2\nbanks_per_group = 8")
    parts = ("bank_groups", "banks_per_group", "ranks")

    def organisation(enabled: str) -> list[str]:
        line = f"bankgroup_enable = {enabled}\nbankgroups"
        found = made(tmp_path, "x.ini", text.replace("bankgroups", line))
        return [found[f"dram.organisation.{part}"] for part in parts]

    assert organisation("true") == ["2", "8", "2"]
    assert organisation("false") == ["1", "16", "2"]


@pytest.mark.parametrize(
    ("written", "groups"),
    [("true", "4"), ("YES", "4"), ("on", "4"), ("1", "4"), ("false", "1"), ("No", "1"), ("off", "1"), ("0", "1")],
)
def test_a_truth_value_is_read_without_case_and_without_a_note(tmp_path: Path, written: str, groups: str) -> None:
    text = DRAMSIM3.replace("rows = ", f"bankgroup_enable = {written}\nrows = ")
    assert made(tmp_path, "x.ini", text)["dram.organisation.bank_groups"] == groups
    assert fates(tmp_path, "x.ini", text)["dram_structure.bankgroup_enable"] == ("taken", "")
