"""Machines and designs with other values, listed and side by side."""

import re
from pathlib import Path

import casemate as cm
import pytest
from casemate.cli import options
from casemate.schemas import RunResults
from conftest import SMALL, Casemate

SMALL_GUPS = cm.BuiltIn("gups", {"footprint": "1 MB"})
BRIEF = cm.RunOptions(limit="50K", protection=False)


def test_an_override_may_set_one_key_of_a_table_that_the_machine_file_omits(casemate: Casemate) -> None:
    (record,) = casemate("run", *SMALL, "--design", "none", "--with", "machine.node.l2.size=1 MB", "--json").json()[
        "records"
    ]
    l2 = record["configuration"]["machine"]["node"]["l2"]
    assert (l2["size"], l2["ways"]) == ("1 MB", 8)


def settable(machine: str) -> dict[str, object]:
    settings = cm.api.settings("machine", machine).settings
    named = {setting.key: setting.value for setting in settings if setting.value is not None}
    return {key: value for key, value in named.items() if key not in ("name", "summary")}


def assert_set_to_itself(machine: str, values: dict[str, object]) -> None:
    same = cm.api.settings("machine", machine, {f"machine.{key}": value for key, value in values.items()})
    changed = {found.key: (found.value, found.source) for found in same.settings}
    assert {key: changed[key] for key in values} == {key: (value, "change") for key, value in values.items()}, machine


def test_overriding_all_values_of_a_machine_with_themselves_changes_nothing() -> None:
    for machine in cm.machines():
        assert_set_to_itself(machine.name, settable(machine.name))


@pytest.mark.parametrize("machine", ["modern", "secpb-pcm", "cryptopage-2006"])
def test_overriding_each_value_of_a_machine_with_itself_changes_nothing(machine: str) -> None:
    for key, value in settable(machine).items():
        assert_set_to_itself(machine, {key: value})


def test_the_list_command_shows_every_value_of_a_machine_with_its_source(casemate: Casemate, tmp_path: Path) -> None:
    said = casemate("list", "machines", "modern", "--with", "machine.llc.size=16 MB")
    assert said.code == 0
    for line in (
        'size = "16 MB" +# --with',
        "rob = 352 +# default",
        "clock_mhz = 4000 +# file",
        "# walker has no value",
    ):
        assert re.search(f"^{line}", said.out, re.MULTILINE), line
    # The listed text is a machine file.
    (tmp_path / "mine.toml").write_text(said.out)
    again = cm.api.settings("machine", str(tmp_path / "mine.toml")).settings
    usual = cm.api.settings("machine", "modern", {"machine.llc.size": "16 MB"}).settings
    assert [(setting.key, setting.value) for setting in again] == [(setting.key, setting.value) for setting in usual]


def test_only_machines_and_designs_can_be_listed_with_their_values(casemate: Casemate) -> None:
    assert "only machines and designs have values" in casemate("list", "attacks", "badram").err
    assert "did you mean 'modern'?" in casemate("list", "machines", "modren").err
    assert casemate("list", "designs", "sc64-bmt").code == 0


def test_a_run_on_several_machines_has_a_column_and_baseline_for_each_machine(casemate: Casemate) -> None:
    machines = ("--machine", "modern", "--machine", "modern-ddr5")
    said = casemate("run", *SMALL, *machines)
    assert said.code == 0
    assert "on modern, modern-ddr5:" in said.out
    header = next(line for line in said.out.splitlines() if line.split() == ["modern", "modern", *["modern-ddr5"] * 2])
    assert header
    assert said.out.count("1.000x") == 2
    results = RunResults.model_validate_json(casemate("run", *SMALL, *machines, "--json").out)
    assert [(record.machine, record.design) for record in results.records] == [
        (machine, design) for machine in ("modern", "modern-ddr5") for design in ("none", "sc64-bmt")
    ]
    for machine in ("modern", "modern-ddr5"):
        alone = cm.run(SMALL_GUPS, machine=machine, options=BRIEF)
        assert results.slowdown("sc64-bmt", machine) == alone.slowdown("sc64-bmt")


def test_one_design_on_several_machines_is_compared_with_the_first() -> None:
    results = cm.run(SMALL_GUPS, designs="none", machine=["modern", "modern-ddr5"], options=BRIEF)
    first, second = results.records
    assert results.slowdown("none", "modern-ddr5") == second.time_fs / first.time_fs != 1.0


def test_an_override_may_apply_to_a_single_design(casemate: Casemate) -> None:
    both = ("--design", "ctr-mac", "--design", "sc64-bmt")
    answer = casemate("run", *SMALL, *both, "--with", "design.sc64-bmt.parts.caches.ways=16", "--json").json()
    ways = [record["configuration"]["design"]["parts"]["caches"]["ways"] for record in answer["records"]]
    assert ways == [8, 16]


def test_an_unknown_design_is_refused_before_work_on_another_begins() -> None:
    with pytest.raises(cm.CasemateError, match=r"did you mean 'sc64-bmt'\?"):
        options.chosen_designs(("none", "sc64-btm"), every=False)


def test_a_machine_file_may_have_nearly_the_name_of_an_override_key(casemate: Casemate, tmp_path: Path) -> None:
    machine = tmp_path / "engine.toml"
    machine.write_text((Path(__file__).parents[2] / "machines" / "modern.toml").read_text())
    changed = casemate("explain", "none", "--machine", str(machine), "--with", "machine.engines.aes.latency_ns=20")
    assert changed.code == 0, changed.err


def test_an_override_for_a_design_or_machine_outside_the_run_is_refused(casemate: Casemate) -> None:
    both = ("--design", "none", "--design", "ctr-mac")
    for change, reason in [
        (
            "design.sc64-bmt.parts.caches.ways=16",
            "is for the design 'sc64-bmt', which is not requested (requested: none, ctr-mac)",
        ),
        ("machine.modern-ddr5.cores=2", "is for the machine 'modern-ddr5', which is not requested (requested: modern)"),
        ("design.sc64-btm.parts.caches.ways=16", "is for no requested design (did you mean 'sc64-bmt'?)"),
        ("design.parts.caches.bitmaps=8 KB", "is for the bitmaps of re-ordered lines, and the design re-orders no"),
        ("design.parts.speculation.tracking=lru", "missing field `values`"),
    ]:
        wrong = casemate("run", *SMALL, *both, "--with", change)
        assert (wrong.code, wrong.out) == (2, "")
        said = " ".join(wrong.err.split())
        assert change.removeprefix("design.").partition("=")[0] in said, said
        assert reason in said, said
    for designs, has_hint in ((both, True), (both[:2], False)):
        wrong = casemate("run", *SMALL, *designs, "--with", "design.parts.mac.tag_bits=64")
        assert ("(design.NAME.KEY changes only the design NAME)" in " ".join(wrong.err.split())) == has_hint
    compared = ("none", "--against", "sc64-bmt", "--with", "design.sc64-bmt.parts.caches.ways=16")
    assert casemate("explain", *compared).code == 0
    alone = casemate("attack", "none", "--with", "design.sc64-bmt.parts.caches.ways=16")
    assert alone.code == 2
    assert "which is not requested (requested: none)" in " ".join(alone.err.split())


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("machine.engines.aes.interval_ns=0", "engines.aes.interval_ns is 0: expected 0.001 to"),
        ("machine.node.l2.latency_cycles=1000000000000", "node.l2.latency_cycles is 1000000000000: expected at most"),
        ("machine.dram.timing.cl=1000000000000", "dram.timing.cl is 1000000000000: expected at most"),
        ("design.parts.caches.counters=1048576 GB", "does not fit on a chip: expected at most"),
    ],
)
def test_an_override_with_an_invalid_value_is_refused_with_the_rule(casemate: Casemate, change: str, rule: str) -> None:
    said = casemate("run", *SMALL, "--design", "sc64-bmt", "--with", change)
    assert said.code == 2
    assert rule in " ".join(said.err.split())


def test_overrides_are_shown_above_the_table_and_in_the_results(casemate: Casemate) -> None:
    changes = ("--with", "machine.llc.size=4 MB", "--with", "machine.node.l2.prefetcher=")
    said = casemate("run", *SMALL, "--design", "none", *changes)
    assert "  with machine.llc.size = 4 MB, machine.node.l2.prefetcher left out" in said.out
    results = casemate("run", *SMALL, "--design", "none", *changes, "--json").json()
    assert results["changes"] == {"machine.llc.size": "4 MB", "machine.node.l2.prefetcher": ""}
    assert " with " not in casemate("run", *SMALL, "--design", "none").out
    for command in ("attack", "crash"):
        row = "power-loss" if command == "crash" else "flip-data"
        said = casemate(command, "bbb", "--row", row, "--with", "design.parts.persistence.order=strict")
        assert "  with design.parts.persistence.order = strict" in said.out
