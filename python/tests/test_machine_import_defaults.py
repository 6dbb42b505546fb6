"""Defaults that an imported machine has for keys that the configuration lacks."""

from pathlib import Path

from conftest import Casemate
from foreign_machines import DRAMSIM3, RAMULATOR2, defaults, fates, made


def test_each_key_that_a_dramsim3_file_lacks_is_listed_with_its_default(tmp_path: Path) -> None:
    given = defaults(tmp_path, "x.ini", DRAMSIM3)
    assert given == {
        "dram_structure.bankgroup_enable": "true", "system.unified_queue": "false", "timing.tRTRS": "2",
        "timing.AL": "0", "system.refresh_policy": "RANK_LEVEL_STAGGERED",
    }  # fmt: skip
    for line, key, value in (
        ("tRCD = 17\n", "timing.tRCD", "10"), ("tREFI = 9400\n", "timing.tREFI", "7800"),
        ("CL = 17\n", "timing.CL", "12"), ("tCK = 0.83\n", "timing.tCK", "1.0"), ("BL = 8\n", "dram_structure.BL", "8"),
        ("channels = 2\n", "system.channels", "1"), ("trans_queue_size = 24\n", "system.trans_queue_size", "32"),
    ):  # fmt: skip
        assert defaults(tmp_path, "x.ini", DRAMSIM3.replace(line, "", 1)) == given | {key: value}, key


def test_a_default_that_no_machine_has_is_listed_with_the_value_of_the_machine(tmp_path: Path) -> None:
    fate, said = fates(tmp_path, "x.ini", DRAMSIM3.replace("address_mapping = rorababgchco\n", ""))[
        "system.address_mapping"
    ]
    assert fate == "default"
    assert "the machine uses 'row-bank-group-column'" in said


def test_defaults_of_ramulator_are_listed_and_values_of_its_presets_are_not(tmp_path: Path) -> None:
    given = defaults(tmp_path, "x.yaml", RAMULATOR2)
    assert given == {
        "MemorySystem.DRAM.org.channel": "1", "MemorySystem.DRAM.org.channel_width": "64",
        "MemorySystem.DRAM.timing.nRFC": "416", "MemorySystem.DRAM.timing.nREFI": "12480",
        "MemorySystem.Controller.RefreshManager.impl": "AllBank", "MemorySystem.Controller.wr_low_watermark": "0.2",
        "MemorySystem.Controller.RowPolicy.impl": "OpenRowPolicy",
    }  # fmt: skip
    fate, said = fates(tmp_path, "x.yaml", RAMULATOR2)["MemorySystem.Controller.RowPolicy.impl"]
    assert (fate, said) == ("default", "Casemate's value for a missing key: Ramulator 2 requires the key")


def test_ddr5_write_to_read_constraints_add_no_default_for_the_burst(tmp_path: Path) -> None:
    text = (
        "MemorySystem:\n  DRAM:\n    impl: DDR5\n    org:\n      preset: DDR5_16Gb_x8\n"
        "    timing:\n      preset: DDR5_3200AN\n      nCCDL_WTR: 46\n"
    )
    assert "MemorySystem.DRAM.timing.nBL" not in defaults(tmp_path, "x.yaml", text)
    assert made(tmp_path, "x.yaml", text)["dram.timing.twtr_l"] == "16"


def test_the_terminal_output_shows_the_number_of_defaults_and_each_value(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "x.ini").write_text(DRAMSIM3.replace("tRCD = 17\n", ""))
    said = casemate("machine", "import", "x.ini", "-o", "made.toml")
    assert "6 defaults for missing keys" in said.out
    row = next(line for line in said.out.splitlines() if "timing.tRCD" in line)
    assert " ".join(row.split()) == "timing.tRCD 10 default: DRAMsim3's value for a missing key"
