"""Power cut on the whole machine, with real programs and from the command line."""

import json
from pathlib import Path

import pytest
from casemate import BuiltIn, CasemateError, LossOptions, Program, RunOptions, Trace, lose_power
from casemate.laboratory.power_loss import moment
from casemate.text import amounts
from conftest import Casemate

GZIP = Path(__file__).parents[2] / "traces" / "gzip.trace"
PROGRAMS = (Program(["/bin/true"]), Program(["sh", "-c", "echo one; ls / | sort"]), Trace(GZIP))


@pytest.mark.parametrize("program", PROGRAMS, ids=["true", "a shell and what it starts", "gzip"])
def test_memory_of_a_real_program_recovers_the_accepted_stores(program: Program | Trace) -> None:
    options = LossOptions(losses=2, run=RunOptions(limit="150K", ledger=True))
    results = lose_power(program, designs=["plp-sp", "plp-coalesced", "eadr", "secure-eadr"], loss=options)
    assert results.passed, [loss.mismatches for loss in results.losses]
    assert len(results.losses) == 8
    assert all(loss.lines_compared > 10 for loss in results.losses)
    on_battery = [loss for loss in results.losses if loss.battery]
    assert {loss.design for loss in on_battery} == {"eadr", "secure-eadr"}


def test_a_battery_that_is_too_small_loses_stores_and_names_them() -> None:
    loss = LossOptions(at="100K", battery="1uJ", run=RunOptions(limit="200K"))
    results = lose_power(BuiltIn("log"), designs="secpb-cobcm", machine="secpb-pcm", loss=loss)
    assert not results.passed
    (lost,) = results.losses
    assert lost.battery is not None
    assert lost.battery.died_after is not None
    assert lost.at.instructions >= 100_000
    mismatch = lost.mismatches[0]
    assert mismatch.session == 1
    assert None not in (mismatch.line, mismatch.store, mismatch.pc, mismatch.address)


def test_the_command_prints_a_table_or_json_and_fails_if_a_store_is_lost(casemate: Casemate) -> None:
    words = ["run", "--workload", "log", "--limit", "100K", "--power-loss", "20us"]
    said = casemate(*words)
    assert said.code == 0
    assert "exactly the accepted stores" in said.out
    assert "20.000 us" in said.out
    lossy = casemate(*words, "--design", "bbb-gap", "--machine", "secpb-pcm", "--losses", "2", "--json")
    assert lossy.code == 1
    output = json.loads(lossy.out)
    assert not output["passed"]
    assert [loss["seed"] for loss in output["losses"]] == [1, 2]


@pytest.mark.parametrize(
    ("design", "machine", "ends"),
    [
        ("secpb-cobcm", "secpb-pcm", {"detected"}),
        ("plp-sp", "modern", {"detected"}),
        ("secure-eadr", "modern", {"detected"}),
        ("bbb", "secpb-pcm", {"garbled"}),
        ("eadr", "modern", {"garbled"}),
    ],
)
def test_flipped_bits_of_stored_lines_end_as_the_design_claims(design: str, machine: str, ends: set[str]) -> None:
    loss = LossOptions(at="60K", tamper=40, run=RunOptions(limit="100K"))
    results = lose_power(BuiltIn("log"), designs=design, machine=machine, loss=loss)
    assert results.passed
    (lost,) = results.losses
    tamper = lost.tamper
    assert tamper is not None
    assert {tamper.end} == ends
    assert sum(tamper.changed.values()) == 40
    assert tamper.lines_right + tamper.lines_refused + tamper.lines_wrong > 40
    assert (tamper.lines_wrong == 0) == (ends == {"detected"})


def test_the_command_prints_the_end_and_the_claim_of_tampering(casemate: Casemate) -> None:
    words = ["run", "--workload", "log", "--limit", "100K", "--power-loss", "60K", "--tamper", "40"]
    said = casemate(*words, "--design", "plp-sp", "--design", "eadr")
    assert said.code == 0
    assert "Tampering while power was off" in said.out
    assert "Without the attacker, recovered memory contains exactly the accepted stores." in " ".join(said.out.split())
    output = json.loads(casemate(*words, "--design", "eadr", "--json").out)
    assert output["losses"][0]["tamper"]["claim"] == "stale"


def test_a_loss_after_the_end_of_the_program_is_reported(casemate: Casemate) -> None:
    said = casemate("run", "--workload", "log", "--limit", "50K", "--power-loss", "1s")
    assert said.code == 0
    assert "2 losses happened after the programs had ended" in " ".join(said.out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--power-loss", "soon"], "'soon' is no moment: expected a number of instructions as in 1.5M"),
        (["--losses", "3"], "--losses applies to losses of power: add --power-loss AT"),
        (["--battery", "1mJ"], "--battery applies to losses of power: add --power-loss AT"),
        (["--tamper", "3"], "--tamper applies to losses of power: add --power-loss AT"),
        (["--power-loss", "random", "--tamper", "0"], "--tamper: '0' is no number of stored lines: expected a whole"),
        (["--power-loss", "random", "--tamper", "-4"], "expected a whole number of at least 1, as in --tamper 1"),
        (["--power-loss", "random", "--tamper", "few"], "expected a whole number of at least 1, as in --tamper 1"),
        (["--power-loss", "20K", "--tamper", "9M"], "expected a number from 1 to "),
        (
            ["--power-loss", "20K", "--tamper", "3", "--design", "sc64-bmt"],
            "sc64-bmt keeps no data over a loss of power",
        ),
        (["--power-loss", "random", "--battery", "much"], "'much' is not an amount of energy"),
        (["--power-loss", "random", "--design", "sc64-bmt"], "design sc64-bmt keeps no data over a loss of power"),
        (["--power-loss", "random", "--detail", "sampled"], "leave out --detail"),
        (["--power-loss", "random", "--values", "8"], "--values is for runs without a loss of power"),
    ],
)
def test_invalid_power_loss_options_are_a_one_line_error(words: list[str], said: str, casemate: Casemate) -> None:
    refused = casemate("run", "--workload", "log", "--limit", "50K", *words)
    assert refused.code == 2
    assert said in refused.err
    assert "\n" not in refused.err.strip()


def test_power_loss_moments_and_battery_energies_are_parsed_with_units() -> None:
    assert moment("1.5M") == {"instructions": 1_500_000}
    assert moment("20us") == {"time_fs": 20_000_000_000}
    assert moment("random") == "random"
    assert [amounts.parse_energy(text) for text in ("1.7mJ", "200nJ", "3J")] == [1_700 * 10**9, 200 * 10**6, 3 * 10**15]
    with pytest.raises(CasemateError, match="losses is 0"):
        LossOptions(losses=0).as_request()
    with pytest.raises(CasemateError, match="tamper is 0: expected at least 1"):
        LossOptions(tamper=0).as_request()
