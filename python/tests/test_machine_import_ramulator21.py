"""Machines made of the exports of Ramulator 2.1."""

import json
import re
from pathlib import Path

import pytest
from casemate import CasemateError
from casemate.imported import block_yaml, import_machine
from conftest import Casemate
from foreign_machines import CONTROLLER21, RAMULATOR21, defaults, fates, made

FIRST = "memory_system.controllers.0"
DDR3 = re.sub(
    r"timing: .*", "timing: [1600, 4, 11, 12, 13, 28, 41, 14, 6, 8, 4, 5, 7, 29, 209, 6241, 3, 1250]",
    RAMULATOR21.replace("DDR4", "DDR3").replace("[1, 2, 2, 4, 32768, 1024]", "[1, 2, 8, 32768, 1024]"),
)  # fmt: skip
DDR5 = re.sub(
    r"timing: .*",
    "timing: [3200, 8, 24, 25, 26, 52, 80, 48, 12, 22, 2, 9, 10, 11, 32, 8, 5, 6, 16, 33, 472, 6241, 3, 625]",
    RAMULATOR21.replace("DDR4", "DDR5").replace("[1, 2, 2, 4,", "[1, 2, 8, 4,").replace("width: 64", "width: 32"),
)  # fmt: skip


def timing(found: dict[str, str]) -> dict[str, int]:
    """The timing constraints of a machine file."""
    return {key.rpartition(".")[2]: int(value) for key, value in found.items() if key.startswith("dram.timing.")}


def test_an_export_of_ramulator21_is_imported_as_the_equivalent_memory_channel(tmp_path: Path) -> None:
    found = made(tmp_path, "x.yaml", RAMULATOR21)
    expected = {
        "memory.channels": "1", "memory.interleave.lines": "1", "memory.size": '"2048 MB"', "dram.clock_mhz": "800",
        "dram.organisation.ranks": "2", "dram.organisation.bank_groups": "2", "dram.organisation.banks_per_group": "4",
        "dram.organisation.rows": "32768", "dram.organisation.lines_per_row": "128",
        "dram.read_queue": "48", "dram.write_queue": "40", "dram.drain_start": "30", "dram.drain_stop": "8",
        "dram.page_policy": "{ open-with-timeout = { idle_clocks = 1 } }",
    }  # fmt: skip
    assert {key: found[key] for key in expected} == expected
    assert timing(found) == {
        "burst_clocks": 4, "cl": 11, "trcd": 12, "trp": 13, "tras": 28, "trc": 41, "twr": 14, "trtp": 6, "cwl": 9,
        "tccd_s": 5, "tccd_l": 7, "trrd_s": 6, "trrd_l": 8, "twtr_s": 2, "twtr_l": 10, "tfaw": 29, "trfc": 209,
        "trefi": 6241, "trtrs": 3,
    }  # fmt: skip


def test_ddr3_has_one_bank_group_and_ddr5_a_burst_of_sixteen_beats(tmp_path: Path) -> None:
    old, new = made(tmp_path, "x.yaml", DDR3), made(tmp_path, "x.yaml", DDR5)
    assert (old["dram.organisation.bank_groups"], old["dram.organisation.banks_per_group"]) == ("1", "8")
    same = {"tccd_s": 4, "tccd_l": 4, "trrd_s": 5, "trrd_l": 5, "twtr_s": 7, "twtr_l": 7, "cwl": 8, "tfaw": 29}
    assert {key: timing(old)[key] for key in same} == same
    assert (new["dram.organisation.bank_groups"], new["dram.organisation.lines_per_row"]) == ("8", "64")
    # nRRDL is below nRRDS in a preset of Ramulator.
    other = {"tccd_s": 9, "tccd_l": 10, "trrd_s": 8, "trrd_l": 8, "twtr_s": 6, "twtr_l": 16, "burst_clocks": 8}
    assert {key: timing(new)[key] for key in other} == other
    assert fates(tmp_path, "x.yaml", DDR5)[f"{FIRST}.dram.timing.nRRDL"][0] == "changed"
    assert fates(tmp_path, "x.yaml", DDR5)[f"{FIRST}.dram.timing.nCCDL_WR"] == (
        "no counterpart",
        "writes follow each other as reads do",
    )


def test_the_json_of_an_export_describes_the_same_machine_as_its_yaml(tmp_path: Path) -> None:
    values = block_yaml.parse(tmp_path, RAMULATOR21)
    tree: dict[str, object] = {}
    for key, value in values.items():
        *parents, last = key.split(".")
        at = tree
        for each in parents:
            at = at.setdefault(each, {})  # type: ignore[assignment]
        at[last] = int(value) if value.isdecimal() else value
    text = json.dumps(_with_lists(tree), indent=2)
    assert '"timing": [' in text
    assert made(tmp_path, "x.json", text) == made(tmp_path, "x.yaml", RAMULATOR21) | {
        "summary": '"The memory of x.json (Ramulator 2.1) on the machine modern."'
    }
    assert fates(tmp_path, "x.json", text).keys() == fates(tmp_path, "x.yaml", RAMULATOR21).keys()


def _with_lists(tree: object) -> object:
    """Replaces each dictionary with positions as keys by a list."""
    if not isinstance(tree, dict):
        return tree
    entries = {key: _with_lists(value) for key, value in tree.items()}
    return list(entries.values()) if all(key.isdecimal() for key in entries) else entries


def test_each_controller_is_a_channel_and_the_mapper_states_the_interleaving(tmp_path: Path) -> None:
    for count in (1, 2, 4):
        found = made(tmp_path, "x.yaml", RAMULATOR21 + CONTROLLER21 * (count - 1))
        assert found["memory.channels"] == str(count)
        assert found["memory.interleave.lines"] == ("1" if count == 1 else "2")
    two = RAMULATOR21 + CONTROLLER21
    assert fates(tmp_path, "x.yaml", two)["memory_system.controllers.1"] == ("taken", "")
    assert made(tmp_path, "x.yaml", two.replace("CacheLineInterleave", "PassThrough"))["memory.interleave.lines"] == "1"
    without = defaults(tmp_path, "x.yaml", re.sub(r"  channel_mapper:\n.*\n.*\n", "", two))
    assert without["memory_system.channel_mapper.impl"] == "CacheLineInterleave"
    assert without["memory_system.channel_mapper.interleave_bits"] == "0"


def test_the_interleaving_counts_the_bytes_of_a_burst(tmp_path: Path) -> None:
    """A DDR5 burst has 64 bytes on 32 pins, and 128 bytes on 64 pins."""
    wide = DDR5.replace("width: 32", "width: 64")
    for text, bits, lines in (
        (RAMULATOR21, 0, "1"),
        (RAMULATOR21, 3, "8"),
        (DDR5, 1, "2"),
        (wide, 0, "2"),
        (wide, 1, "4"),
    ):
        two = text + text.partition("  controllers:\n")[2]
        found = made(tmp_path, "x.yaml", two.replace("interleave_bits: 1", f"interleave_bits: {bits}"))
        assert (found["memory.channels"], found["memory.interleave.lines"]) == ("2", lines), (bits, lines)


def test_entries_of_lists_have_names_and_derived_lists_have_one_row(tmp_path: Path) -> None:
    found = fates(tmp_path, "x.yaml", RAMULATOR21)
    assert found[f"{FIRST}.dram.timing.nRCD"] == ("taken", "")
    assert found[f"{FIRST}.dram.org.count.bankgroup"] == ("taken", "")
    derived = [key for key in found if "timing_constraints" in key or "command_cycles" in key]
    assert derived == [f"{FIRST}.dram.command_cycles", f"{FIRST}.dram.timing_constraints"]
    assert found[f"{FIRST}.controller_plugins.1.impl"] == ("no counterpart", "a machine's controller has no plug-ins")
    assert found["frontend.traces.1"][0] == "no counterpart"


def test_values_of_an_export_that_contradict_its_constraints_are_listed(tmp_path: Path) -> None:
    text = RAMULATOR21.replace("[1600,", "[2400,").replace("read_latency: 15", "read_latency: 16")
    found = fates(tmp_path, "x.yaml", text.replace("impl: GenericDDR", "impl: PRAC"))
    assert found[f"{FIRST}.dram.timing.rate"] == ("changed", "the clock is that of tCK_ps, 1250 ps")
    assert found[f"{FIRST}.dram.read_latency"] == ("changed", "nCL + nBL, 15 clocks")
    assert found[f"{FIRST}.impl"] == ("changed", "the machine's controller works as GenericDDR")
    idle = made(tmp_path, "x.yaml", RAMULATOR21.replace("impl: AllBank", "impl: NoRefresh"))
    assert (idle["dram.timing.trfc"], idle["dram.timing.trefi"]) == ("0", "0")


def test_keys_that_an_export_lacks_are_listed_with_the_value_of_ramulator(tmp_path: Path) -> None:
    assert defaults(tmp_path, "x.yaml", RAMULATOR21) == {f"{FIRST}.wr_low_watermark": "0.2"}
    text = RAMULATOR21.replace("      read_buffer_size: 48\n", "").replace(
        "      scheduler:\n        impl: FRFCFS\n", ""
    )
    assert defaults(tmp_path, "x.yaml", text) == {
        f"{FIRST}.wr_low_watermark": "0.2", f"{FIRST}.read_buffer_size": "32", f"{FIRST}.scheduler.impl": "FRFCFS",
    }  # fmt: skip
    said = fates(tmp_path, "x.yaml", text)[f"{FIRST}.scheduler.impl"][1]
    assert said == "Casemate's value for a missing key: Ramulator 2.1 requires the key"


COUNTS = "[1, 2, 2, 4, 32768, 1024]"
REFUSED = (
    (RAMULATOR21.replace("3, 1250]", "1250]"), "timing has 20 entries: expected 21 numbers for DDR4, rate, nBL, nCL"),
    (RAMULATOR21.replace("DDR4", "DDR3"), "count has 6 entries, as that of DDR4 and DDR5: expected 5 numbers for DDR3"),
    (RAMULATOR21.replace("11, 12,", "11, fast,"), "dram.timing.nRCD is 'fast': expected a whole number"),
    (RAMULATOR21.replace("11, 12,", "11, -1,"), "dram.timing.nRCD is '-1': expected a whole number"),
    (RAMULATOR21.replace("11, 12,", "11, [12],"), "dram.timing is no list of numbers: expected 21 numbers"),
    (RAMULATOR21.replace("11, 12,", "11, ,"), "entry 3 of the list is empty: expected a value"),
    (RAMULATOR21.replace("1250]", "0]"), "timing.tCK_ps is 0: expected picoseconds above 0"),
    (re.sub(r"timing: .*", "timing:\n          preset: x", RAMULATOR21), "dram.timing is no list of numbers"),
    (RAMULATOR21.replace("count:", "counts:"), "org.count is missing (did you mean 'counts'?): expected 6 numbers"),
    (RAMULATOR21.replace(COUNTS, "[2, 2, 2, 4, 32768, 1024]"), "count.channel is 2: expected 1, and one controller"),
    (
        RAMULATOR21.replace("        channel_width: 64\n", ""),
        "has no key memory_system.controllers.0.dram.channel_width",
    ),
    (RAMULATOR21.replace("DDR4", "DDR5_RFM"), "impl is 'DDR5_RFM' (did you mean 'DDR5'?): expected DDR3, DDR4, DDR5"),
    (RAMULATOR21.replace("DDR4", "LPDDR5"), "dram.impl is 'LPDDR5': expected DDR3, DDR4, DDR5, the standards"),
    (RAMULATOR21.replace("        impl: DDR4\n", ""), "has no key memory_system.controllers.0.dram.impl"),
    (RAMULATOR21.replace("controllers:", "controller:"), "controllers (did you mean 'controller'?): expected one"),
    (RAMULATOR21.replace("    - impl: Gen", "      impl: Gen"), "has no list memory_system.controllers: expected one"),
    (
        RAMULATOR21 + CONTROLLER21.replace("11, 12,", "11, 14,"),
        "controllers.1.dram.timing.nRCD is '14', but memory_system.controllers.0.dram.timing.nRCD is '12'",
    ),
    (RAMULATOR21 + CONTROLLER21.replace("        cap: 3\n", ""), "controllers.1.row_policy.cap is missing, but"),
    (
        RAMULATOR21 + CONTROLLER21.replace("        cap: 3\n", "        cap: 3\n        window: 7\n"),
        "controllers.1.row_policy.window is '7', but memory_system.controllers.0.row_policy.window is missing",
    ),
    (
        (RAMULATOR21 + CONTROLLER21).replace("interleave_bits: 1", "interleave_bits: 99"),
        "interleave_bits is 99: expected a number from 0 to 32",
    ),
    ('{"memory_system": {"controllers": [}}', "line 1: it is no JSON"),
    ('{"memory_system": ' + "[" * 100_000, "is no JSON of a configuration"),
    (RAMULATOR21.replace("[1, 1, 1]", "[" * 2000 + "]" * 2000), "too many lists or blocks"),
)


@pytest.mark.parametrize(("text", "expected"), REFUSED, ids=[expected for _, expected in REFUSED])
def test_an_export_that_describes_no_machine_is_refused(
    casemate: Casemate, tmp_path: Path, text: str, expected: str
) -> None:
    (tmp_path / "x.yaml").write_text(text)
    said = casemate("machine", "import", "x.yaml", "-o", "made.toml")
    assert (said.code, said.out) == (2, "")
    assert expected in said.err
    assert "'x.yaml'" in said.err
    assert not (tmp_path / "made.toml").exists()


def test_errors_on_an_export_name_the_version_of_ramulator(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(RAMULATOR21.replace("DDR4", "HBM3"))
    with pytest.raises(CasemateError, match=r"x\.yaml' \(Ramulator 2\.1\): memory_system\.controllers\.0\.dram\.impl"):
        import_machine(tmp_path / "x.yaml")


def test_a_machine_of_an_export_runs(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(RAMULATOR21 + CONTROLLER21)
    said = casemate("machine", "import", "x.yaml", "-o", "made.toml", "--json").json()
    assert said["of"] == "Ramulator 2.1"
    (tmp_path / "t").write_text("".join(f"{64 * n:#x} R\n" for n in range(200)))
    assert casemate("run", "--machine", "made.toml", "--trace", "t", "--design", "none").code == 0
