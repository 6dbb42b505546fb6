"""The package from Python: typed results."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casemate as cm
import pytest
from casemate import api
from casemate.laboratory import stopped_attacks
from casemate.schemas import AttackReport, Protection
from casemate.text import amounts
from conftest import claimed
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

GUPS = cm.BuiltIn("gups")
SMALL = cm.BuiltIn("gups", {"footprint": "1 MB"})
DESIGNS = Path(__file__).resolve().parents[2] / "designs"
# The package without types, for calls as from a notebook, which checks no types.
UNTYPED: Any = cm


def test_completion_lists_every_name_of_the_package() -> None:
    code = "import casemate as cm; print(*set(cm.__all__) - set(dir(cm)), 'distributed' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", f"import sys; {code}"], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


def test_a_run_gives_typed_records() -> None:
    progress: list[dict[str, object]] = []
    results = cm.run(SMALL, designs=["none", "ctr-mac"], options=cm.RunOptions(limit=50_000), progress=progress.append)
    assert results.passed
    assert results.record("ctr-mac").weaknesses == ("no freshness",)
    assert results.slowdown("ctr-mac") > 1
    assert results.protection[0].stopped == claimed("none")[0]
    assert progress
    with pytest.raises(
        cm.CasemateError, match=r"no record of the design 'ctr-mca' .did you mean 'ctr-mac'.*: none, ctr-mac"
    ):
        results.slowdown("ctr-mca")
    with pytest.raises(cm.CasemateError, match="no record of none on the machine 'emcc-4core'; there are: modern"):
        results.record("none", "emcc-4core")


def test_the_python_api_accepts_names_and_numbers_as_the_command_line_does() -> None:
    results = cm.run(SMALL, designs="none", options=cm.RunOptions(limit="20K", warm_up="5K", protection=False))
    (record,) = results.records
    assert (record.configuration.budget, record.configuration.warm_up) == (20_000, 5_000)
    assert cm.run(GUPS, designs=("none",), options=cm.RunOptions(limit="1_000", protection=False)).record("none")
    with pytest.raises(cm.CasemateError, match="limit: '5X' is not a number of instructions"):
        cm.run(GUPS, designs="none", options=cm.RunOptions(limit="5X"))
    with pytest.raises(cm.CasemateError, match="RunOptions: age is 'old': expected 'new', 'steady'"):
        cm.run(GUPS, options=cm.RunOptions(age="old"))  # type: ignore[arg-type]
    with pytest.raises(cm.CasemateError, match="no design is given"):
        cm.run(GUPS, designs=[])


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda: UNTYPED.RunOptions(detail="some"), "RunOptions: detail is 'some': expected 'all', 'sampled'"),
        (lambda: UNTYPED.RunOptions(protection="no"), "RunOptions: protection is 'no': expected True or False"),
        (lambda: UNTYPED.RunOptions(seed="x"), "RunOptions: seed is 'x': expected a whole number"),
        (lambda: UNTYPED.Program(["ls"], output="show"), "Program: output is 'show': expected 'inherit', 'discard'"),
        (lambda: UNTYPED.Program("ls"), "Program: command is 'ls': expected a list"),
        (lambda: UNTYPED.BuiltIn("gups", "scale=3"), "BuiltIn: settings is 'scale=3': expected a mapping"),
        (lambda: UNTYPED.Read(start="L2"), "Read: start is 'L2': expected 'controller', 'l2'"),
        (lambda: cm.run(GUPS, options=UNTYPED.RunOptions(interval=1.5)), "interval is 1.5: expected a whole number"),
        (lambda: cm.run(GUPS, options=UNTYPED.RunOptions(warm_up=True)), "warm_up is True: expected a whole number"),
        (
            lambda: cm.run(GUPS, options=cm.RunOptions(limit=-1)),
            "limit is -1: expected 1 instruction or more, or 'all'",
        ),
        (lambda: cm.run(GUPS, options=cm.RunOptions(warm_up=-1)), "warm_up is -1: expected 0 instructions or more"),
        (lambda: UNTYPED.run(GUPS, options={"limit": "5M"}), "expected a RunOptions, as in RunOptions(...)"),
        (
            lambda: cm.run(GUPS, options=cm.RunOptions(seed=-1)),
            "RunOptions: seed is -1: expected a whole number from 0",
        ),
        (
            lambda: cm.crash("none", row="power-los"),
            "unknown row 'power-los' (did you mean 'power-loss'?); there are: ",
        ),
        (lambda: cm.crash("none", workload=-1), "workload is -1: expected a whole number from 0 to"),
        (lambda: UNTYPED.crash("none", seed=1.5), "seed is 1.5: expected a whole number from 0 to"),
        (lambda: cm.crash_program("bbb", "log", losses=-3), "losses is -3: expected a whole number from 1 to"),
        (lambda: cm.crash_program("bbb", "log", losses=0), "losses is 0: expected a whole number from 1 to"),
        (lambda: cm.attack("none", row="flip-dta"), "unknown attack 'flip-dta' (did you mean 'flip-data'?)"),
        (lambda: cm.attack("none", trials=0), "trials is 0: expected a whole number from 1 to"),
        (lambda: api.attack_many(["none"], "log", seed=-1), "seed is -1: expected a whole number from 0 to"),
        (lambda: api.attack_many([], "log", trials=1), "no design is given"),
        (lambda: cm.cost_of_battery(entries=[]), "no entries are given: expected a number of them"),
        (lambda: UNTYPED.explain("none", cm.RunOptions()), "expected a Read, a Write or a Store, as in Read(...)"),
    ],
)
def test_an_invalid_python_request_is_refused_with_its_field(ask: Callable[[], object], expected: str) -> None:
    with pytest.raises(cm.CasemateError, match=re.escape(expected)) as refused:
        ask()
    assert "\n" not in str(refused.value)
    assert " at line 1 column " not in str(refused.value)


def test_two_designs_of_one_name_are_refused_before_anything_runs(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text((DESIGNS / "none.toml").read_text())
    with pytest.raises(cm.CasemateError, match=r"mine\.toml and none are both called 'none'"):
        cm.run(GUPS, designs=[str(mine), "none"])


def test_two_machines_of_one_name_are_refused_before_anything_runs(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text((DESIGNS.parent / "machines" / "modern.toml").read_text())
    with pytest.raises(cm.CasemateError, match=r"mine\.toml and modern are both called 'modern'"):
        cm.run(GUPS, machine=[str(mine), "modern"])


def test_python_results_have_a_short_repr() -> None:
    results = cm.run(SMALL, options=cm.RunOptions(limit="20K", protection=False))
    assert repr(results).startswith("<RunResults: gups on modern: none 1.000x, sc64-bmt ")
    assert repr(results).endswith("; passed>")
    progress = [results, results.records[0], cm.explain("none"), cm.attack("none", row="badram", trials=1)]
    progress += [cm.design("none"), *cm.machines()]
    for result in progress:
        assert len(repr(result)) <= 120, repr(result)
        beginning = repr(result).removesuffix(">").removesuffix("...")
        assert f"<{type(result).__name__}: {result}".startswith(beginning)


def test_a_result_cannot_be_changed() -> None:
    explanation = cm.explain("none")
    with pytest.raises(ValidationError, match="frozen"):
        explanation.design = "other"


def test_the_critical_path_accounts_for_all_of_the_latency() -> None:
    for design in cm.designs():
        machine = "simplescalar-2005" if design.parts.cipher.startswith("tdes") else None
        explanation = cm.explain(design.name, machine=machine)
        path = explanation.critical_path()
        assert sum(span.end - span.start for span in path) == explanation.latency_fs, design.name
        assert path[0].start == 0


def test_a_tag_computation_is_on_the_critical_path_if_the_release_of_the_line_waits_for_it() -> None:
    def path(design: str) -> list[str]:
        return [f"{span.verb} {span.what}" for span in cm.explain(design, cm.Read(on_chip="all")).critical_path()]

    assert path("cryptopage") == ["fetch data", "fetch data 0-31", "decrypt by XOR"]
    assert path("cryptopage-basic") == ["fetch data", "mac 1 block", "mac 1 block"]


@pytest.mark.parametrize("value", ["frequent", "rarest", "other"])
def test_speculation_candidates_are_on_the_critical_path_only_if_the_line_waited_for_them(value: str) -> None:
    for design in ("fvs-tdes", "fvs-aes", "fvs-aes-plain", "fvs-aes-loose", "fvs-counter"):
        read = cm.Read(on_chip="all", row="hit", value=value)
        explanation = cm.explain(design, read, machine="simplescalar-2005")
        path = explanation.critical_path()
        assert sum(span.end - span.start for span in path) == explanation.latency_fs, design
        verbs = [span.verb for span in path]
        if value == "frequent":
            assert verbs == ["fetch", "look up"], design
        else:
            assert "speculate" not in verbs, design
        if value == "other":
            assert verbs[-1] == "mac", design
    slow = {
        "machine.engines.tdes.units": 1,
        "machine.engines.tdes.interval_ns": 12,
        "design.parts.speculation.values": 4,
    }
    read = cm.Read(on_chip="all", row="hit", value="rarest")
    late = cm.explain("fvs-tdes", read, machine="simplescalar-2005", changes=slow).critical_path()
    assert [span.title for span in late[-2:]] == ["match 0-7", "look up candidates"]


def test_a_named_line_value_is_taken_from_the_frequent_value_table_of_its_design() -> None:
    fixed = {"design.parts.speculation.tracking": "fixed", "design.parts.speculation.list": "[1, -2, 3]"}
    for changes, frequent, rarest in (
        (fixed, "01" + 7 * "00", "03" + 7 * "00"),
        ({"design.parts.speculation.values": 1}, 8 * "00", 8 * "00"),
        ({}, 8 * "00", 8 * "77"),
    ):
        for value, word in (("frequent", frequent), ("rarest", rarest)):
            read = cm.Read(on_chip="all", row="hit", value=value)
            found = cm.explain("fvs-tdes", read, machine="simplescalar-2005", changes=changes)
            assert (found.scenario.value, found.latency_ns) == (8 * word, 101.0)


def test_an_explained_read_is_no_slower_with_more_metadata_on_the_chip() -> None:
    latencies = [
        cm.explain("sc64-bmt", cm.Read(on_chip=on_chip)).latency_fs for on_chip in ("nothing", "tree", "counter", "all")
    ]
    assert latencies == sorted(latencies, reverse=True)


def test_the_protection_summary_counts_only_applicable_attacks() -> None:
    report: AttackReport = cm.attack("xts", trials=5)
    summary = Protection.of(report)
    assert (summary.stopped, summary.applicable) == claimed("xts")


def test_every_impossible_request_is_a_casemate_error() -> None:
    for wrong in (
        lambda: cm.run([]),
        lambda: cm.run("gups"),
        lambda: cm.run([cm.Program(["true"]), GUPS]),  # type: ignore[arg-type]
        lambda: cm.run([GUPS, cm.Trace("x")]),
        lambda: cm.run(GUPS, designs=["nonesuch"]),
        lambda: cm.explain("nonesuch"),
        lambda: cm.explain("none", changes={"engines.aes": 1}),
        lambda: cm.layout("sc64-bmt", machine="nonesuch"),
        lambda: cm.attack("nonesuch"),
        lambda: cm.trace_info("missing.trace"),
    ):
        with pytest.raises(cm.CasemateError):
            wrong()


def test_an_override_is_in_the_configuration_and_the_results_of_a_run() -> None:
    change = {"machine.engines.aes.latency_ns": 150, "design.parts.caches.ways": 4}
    record = cm.run(GUPS, designs=["sc64-bmt"], changes=change, options=cm.RunOptions(limit=20_000)).record("sc64-bmt")
    configuration = record.configuration.model_dump()
    engines, parts = configuration["machine"]["engines"], configuration["design"]["parts"]
    assert (engines["aes"]["latency_ns"], parts["caches"]["ways"]) == (150.0, 4)
    slower, usual = (cm.explain("sc64-bmt", changes=changes).latency_ns for changes in (change, None))
    assert slower > usual


def test_attacks_on_a_design_with_overrides_are_run_anew() -> None:
    weaker = {"design.parts.tree.kind": "none", "design.parts.mac.tag_bits": 8}
    assert stopped_attacks.protection_of("sc64-bmt", weaker).stopped < stopped_attacks.protection_of("sc64-bmt").stopped


def test_an_error_in_the_callback_ends_the_run() -> None:
    def complain(_: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        cm.run(SMALL, options=cm.RunOptions(limit="all"), progress=complain)


@given(st.integers(min_value=0, max_value=10**15))
def test_an_instruction_count_is_parsed_as_written(number: int) -> None:
    assert amounts.parse_count(str(number)) == number
    assert amounts.parse_count(f"{number:_}") == number
    assert amounts.parse_count(f"{number}K") == number * 1000


@given(st.decimals(min_value=0, max_value=10**6, places=3))
def test_a_fractional_count_of_thousands_is_parsed_exactly(number: object) -> None:
    assert amounts.parse_count(f"{number}K") * 1 == int(number * 1000)  # type: ignore[operator]


@pytest.mark.parametrize("text", ["", "M", "-1", "1.2345K", "5X", "1e6", "0.5", "99999999999G"])
def test_a_text_that_is_not_a_count_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="instructions"):
        amounts.parse_count(text)
