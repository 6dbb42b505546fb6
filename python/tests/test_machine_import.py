"""Machines made of configurations of DRAMsim3 and Ramulator 2."""

import re
from pathlib import Path

import jsonschema
import pytest
from casemate import CasemateError
from casemate.imported import block_yaml, import_machine
from conftest import Casemate
from foreign_machines import DRAMSIM3, RAMULATOR2, fates, made


def test_a_dramsim3_configuration_is_imported_as_the_equivalent_memory_channel(tmp_path: Path) -> None:
    found = made(tmp_path, "x.ini", DRAMSIM3)
    expected = {
        "memory.channels": "2", "memory.size": '"8192 MB"', "memory.interleave.lines": "128",
        "dram.clock_mhz": '"100000/83 MHz"', "dram.organisation.ranks": "2", "dram.organisation.bank_groups": "4",
        "dram.organisation.rows": "32768", "dram.organisation.lines_per_row": "128", "dram.timing.cl": "17",
        "dram.timing.trc": "56", "dram.timing.burst_clocks": "4", "dram.timing.trefi": "9400",
        "dram.read_queue": "24", "dram.page_policy": "{ open-with-timeout = { idle_clocks = 1 } }",
    }  # fmt: skip
    assert {key: found[key] for key in expected} == expected
    # Keys that the file leaves out have DRAMsim3's default.
    assert found["dram.timing.trtrs"] == "2"


def test_presets_of_ramulator_are_those_of_the_standard_unless_overridden(tmp_path: Path) -> None:
    found = made(tmp_path, "x.yaml", RAMULATOR2)
    timing = {key.rpartition(".")[2]: int(value) for key, value in found.items() if key.startswith("dram.timing.")}
    assert timing == {
        "cl": 22, "cwl": 16, "trcd": 23, "trp": 22, "tras": 52, "trc": 74, "twr": 24, "trtp": 12, "tccd_s": 4,
        "tccd_l": 8, "trrd_s": 9, "trrd_l": 11, "twtr_s": 4, "twtr_l": 12, "tfaw": 64, "trfc": 416, "trefi": 12480,
        "trtrs": 2, "burst_clocks": 4,
    }  # fmt: skip
    assert (found["dram.organisation.bank_groups"], found["dram.organisation.rows"]) == ("2", "32768")
    assert (found["dram.drain_start"], found["dram.drain_stop"], found["memory.size"]) == ("16", "6", '"1024 MB"')
    shipped = Path(__file__).parents[2] / "machines" / "modern.toml"
    plain = "MemorySystem:\n  DRAM:\n    impl: DDR4\n    org: {}\n    timing: {}\n"
    text = plain.replace("org: {}", "org:\n      preset: DDR4_8Gb_x8").replace(
        "timing: {}", "timing:\n      preset: DDR4_3200AA\n      nRFC: 560"
    )
    same = made(tmp_path, "modern.yaml", text)
    for line in shipped.read_text().partition("[dram.timing]")[2].partition("[engines]")[0].split("\n"):
        if " = " in line:
            key, _, value = line.partition(" = ")
            assert same[f"dram.timing.{key}"] == value, key


def test_ddr5_presets_have_ddr5_constraints(tmp_path: Path) -> None:
    text = (
        "MemorySystem:\n  DRAM:\n    impl: DDR5\n    org:\n      preset: DDR5_16Gb_x8\n      channel: 2\n"
        "    timing:\n      preset: DDR5_3200AN\n"
    )
    found = made(tmp_path, "x.yaml", text)
    assert (found["dram.organisation.lines_per_row"], found["dram.timing.burst_clocks"]) == ("64", "8")
    assert (found["dram.timing.trfc"], found["dram.timing.trefi"], found["memory.channels"]) == ("472", "6240", "2")
    assert fates(tmp_path, "x.yaml", text)["MemorySystem.DRAM.timing.preset"] == (
        "changed",
        "nRRDL of 5 is below nRRDS: the machine uses 8; nRC of 75 is below nRAS + nRP: the machine uses 76",
    )


def test_the_import_report_lists_each_foreign_key_once_with_its_outcome(tmp_path: Path) -> None:
    ini, yaml = fates(tmp_path, "x.ini", DRAMSIM3), fates(tmp_path, "x.yaml", RAMULATOR2)
    given = [key for key, (fate, _) in ini.items() if fate != "default"]
    assert len(given) == sum(" = " in line for line in DRAMSIM3.splitlines())
    assert ini["timing.CL"] == ("taken", "")
    for key in ("timing.tXP", "power.VDD", "other.output_level", "other.invented"):
        assert ini[key][0] == "no counterpart", key
    changed = {key for key, (fate, _) in ini.items() if fate == "changed"}
    assert changed == {"system.row_buf_policy"}, "a map that a machine has is taken as it is"
    assert yaml["MemorySystem.Controller.plugins.0.ControllerPlugin.steps.1"][0] == "no counterpart"
    assert yaml["MemorySystem.Controller.Scheduler.impl"] == ("changed", "the machine uses 'fr-fcfs'")
    assert yaml["MemorySystem.DRAM.timing.tFAW"] == ("changed", "64 clocks of 625 ps")
    assert yaml["Frontend.path"][0] == "no counterpart"


def test_an_unsupported_address_map_is_reported_as_changed(tmp_path: Path) -> None:
    for order, expected in (
        ("rochrababgco", "changed"), ("chrobabgraco", "changed"), ("rorababgchco", "taken"), ("rorabacobgch", "taken"),
        ("rorabgbachco", "changed"),
    ):  # fmt: skip
        text = DRAMSIM3.replace("rorababgchco", order)
        assert fates(tmp_path, "x.ini", text)["system.address_mapping"][0] == expected, order


REFUSED = (
    ("x.ini", DRAMSIM3.replace("DDR4", "HBM2"), "dram_structure.protocol is HBM2: expected DDR3 or DDR4"),
    ("x.ini", DRAMSIM3.replace("= DDR4", "= DDR 4"), "did you mean 'DDR4'?): expected DDR3 or DDR4"),
    ("x.ini", DRAMSIM3.replace("= DDR4", "= DDR4; fast"), "a comment begins with a blank and ';' in DRAMsim3"),
    ("x.ini", DRAMSIM3.replace("= 17", "= -17", 1), "timing.CL is '-17': expected a whole number from 0 to 2147483647"),
    ("x.ini", DRAMSIM3.replace("= 17", "= 2147483648", 1), "timing.CL is '2147483648': expected a whole number"),
    ("x.ini", DRAMSIM3.replace("0.83", "0x0"), "timing.tCK is '0x0': expected nanoseconds, a number above 0"),
    ("x.ini", DRAMSIM3.replace("0.83", "1e999"), "timing.tCK is '1e999': expected nanoseconds, a number above 0"),
    ("x.ini", DRAMSIM3.replace("0.83", "0x1p9999"), "timing.tCK is '0x1p9999': expected nanoseconds"),
    (
        "x.ini",
        DRAMSIM3.replace("[other]", "refresh_policy = BANK_LEVEL\n[other]"),
        "system.refresh_policy is 'BANK_LEVEL' (did you mean 'BANK_LEVEL_STAGGERED'?): expected RANK_LEVEL_STAGGERED",
    ),
    (
        "x.ini",
        DRAMSIM3.replace("[other]", "address_mapping = rochrababgco\n[other]"),
        "DRAMsim3 joins repeated keys and indented lines to one value",
    ),
    ("x.ini", DRAMSIM3.replace("rorababgchco", "rorabgba"), "address_mapping is 'rorabgba': expected each of ch"),
    ("x.ini", DRAMSIM3.replace("rows = 32768", "rows = 30000"), "describes a memory that no machine can have"),
    ("x.ini", DRAMSIM3.replace("CL = 17", "CL 17"), "line 12: 'CL 17' is no key: expected KEY = VALUE"),
    ("x.ini", DRAMSIM3.replace("[power]", "[power"), "'[power' has no ]: expected [SECTION]"),
    ("x.ini", "[a]\nb = 1\n", "no section [dram_structure]"),
    ("x.yaml", RAMULATOR2.replace("DDR4_3200AA", "DDR4_3200AB"), "did you mean"),
    ("x.yaml", RAMULATOR2.replace("impl: DDR4", "impl: HBM3"), "MemorySystem.DRAM.impl is HBM3: expected DDR4 or DDR5"),
    (
        "x.yaml",
        RAMULATOR2.replace("      rank: 1", "      rank: &r 1"),
        "line 12: '&r 1' is YAML that Casemate does not read",
    ),
    ("x.yaml", RAMULATOR2.replace("      rank: 1", "\trank: 1"), "line 12: tabs"),
    ("x.yaml", RAMULATOR2.replace("      rank: 1", "     rank: 1"), "line 12"),
    ("x.yaml", RAMULATOR2.replace("preset: DDR4_3200AA", "rate: 3200"), "has no key MemorySystem.DRAM.timing.nCL"),
    ("x.yaml", RAMULATOR2.replace("tFAW: 40", "tFAW: soon"), "DRAM.timing.tFAW is 'soon': expected nanoseconds"),
    ("x.yaml", RAMULATOR2.replace("tFAW: 40", "tFAW: nan"), "DRAM.timing.tFAW is 'nan': expected nanoseconds"),
    ("x.yaml", RAMULATOR2.replace("tFAW: 40", "rate: 1"), "DRAM.timing.rate is 1: expected megatransfers a second"),
    ("x.yaml", RAMULATOR2.replace("rank: 1", "channel_width: 0"), "the channel has 0 bits: expected 1 to 256"),
    ("x.yaml", RAMULATOR2.replace("rank: 1", f"rank: {'9' * 5000}"), "expected a whole number"),
    ("x.txt", "some words\n", "neither DRAMsim3's .ini"),
    ("x.txt", "", "neither DRAMsim3's .ini"),
)


def test_an_import_does_not_overwrite_its_configuration(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "x.ini").write_text(DRAMSIM3)
    (tmp_path / "link.toml").symlink_to("x.ini")
    for output in ("x.ini", "link.toml"):
        said = casemate("machine", "import", "x.ini", "-o", output)
        assert (said.code, "is the configuration itself: expected another file" in said.err) == (2, True)
    assert (tmp_path / "x.ini").read_text() == DRAMSIM3


@pytest.mark.parametrize(("name", "text", "expected"), REFUSED, ids=[expected for *_, expected in REFUSED])
def test_a_file_that_is_no_machine_configuration_is_refused(
    casemate: Casemate, tmp_path: Path, name: str, text: str, expected: str
) -> None:
    (tmp_path / name).write_text(text)
    said = casemate("machine", "import", name, "-o", "made.toml")
    assert (said.code, said.out) == (2, "")
    assert expected in said.err
    assert name in said.err
    assert not (tmp_path / "made.toml").exists()


def test_a_list_of_several_blocks_is_read_in_its_order() -> None:
    text = "a:\n  - b: 1\n    c: 2\n  - b: 3\n  -\n    d: 4\ne: [x, [1, '2, 3'], []]\n"
    assert block_yaml.parse(Path("x"), text) == {
        "a.0.b": "1", "a.0.c": "2", "a.1.b": "3", "a.2.d": "4", "e.0": "x", "e.1.0": "1", "e.1.1": "2, 3",
    }  # fmt: skip


def test_each_of_several_plugins_of_ramulator2_is_listed(tmp_path: Path) -> None:
    text = RAMULATOR2.replace("  AddrMapper:", "    - ControllerPlugin:\n        impl: Counter\n  AddrMapper:")
    found = fates(tmp_path, "x.yaml", text)
    assert found["MemorySystem.Controller.plugins.1.ControllerPlugin.impl"][0] == "no counterpart"


def test_a_file_that_is_no_text_in_utf_8_is_refused_by_its_encoding(tmp_path: Path) -> None:
    for content, expected in (
        ("\ufeff[timing]".encode("utf-16-le"), "it is text in UTF-16: convert it to UTF-8, with `iconv -f UTF-16"),
        ("\ufeff[timing]".encode("utf-32-be"), "it is text in UTF-32: convert it"),
        (b"[timing]\ntCK = \xff", "line 2 has bytes that are not UTF-8: expected text in UTF-8"),
    ):
        (tmp_path / "x.ini").write_bytes(content)
        with pytest.raises(CasemateError, match=f"cannot read '.*x.ini': {re.escape(expected)}"):
            import_machine(tmp_path / "x.ini")


def test_an_imported_machine_runs_and_the_import_lists_keys_without_counterpart(
    casemate: Casemate, tmp_path: Path
) -> None:
    (tmp_path / "My_Memory.ini").write_text(DRAMSIM3)
    said = casemate("machine", "import", "My_Memory.ini", "-o", "made.toml")
    assert said.code == 0, said.err
    assert "power.VDD" in said.out
    assert "no counterpart" in said.out
    printed = casemate("machine", "import", "My_Memory.ini")
    assert printed.out == (tmp_path / "made.toml").read_text()
    assert "power.VDD" in printed.err
    assert 'name = "my-memory"' in printed.out
    answer = casemate("machine", "import", "My_Memory.ini", "--name", "other", "--json").json()
    jsonschema.validate(answer, casemate("schema", "machine", "import").json())
    assert answer["name"] == "other"
    (tmp_path / "t").write_text("".join(f"{64 * n:#x} R\n" for n in range(200)))
    assert casemate("run", "--machine", "made.toml", "--trace", "t", "--design", "sc64-bmt").code == 0
    assert (
        casemate("run", "--machine", "made.toml", "--workload", "gups", "--limit", "50K", "--design", "none").code == 0
    )
