"""`casemate crash`: programs that contain a recovery routine, and changed designs."""

import shlex

import pytest
from casemate.schemas import CrashResults
from conftest import Casemate


def test_a_program_survives_losses_and_its_failure_can_be_replayed(casemate: Casemate) -> None:
    said = casemate("crash", "secpb-cobcm", "secpb-nogap", "--program", "log", "--losses", "200", "--json")
    assert said.code == 0
    for report in CrashResults.model_validate_json(said.out).programs:
        assert report.losses == 200
        assert report.crashes > 0
        assert report.histogram == {"harmless": report.losses + report.crashes}
        assert report.lives > 1
        assert report.example is None
    said = casemate(
        "crash", "secpb-cobcm", "--program", "log", "--set", "order=commit-first", "--losses", "200", "--json"
    )
    assert said.code == 1
    example = CrashResults.model_validate_json(said.out).programs[0].example
    assert example is not None
    again = casemate(*example.replay.split()[1:])
    assert again.code == 1
    assert "its recovery reports: record" in again.out
    assert example.replay in again.out


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("--losses", "5"), "expected --program too"),
        (("--program", "log", "--row", "power-loss"), "not with --program"),
        (("--program", "gups"), "kernel gups keeps no data over a loss of power: expected log, or btree with"),
        (("--program", "lag"), "did you mean log?"),
        (("--program", "log", "--set", "footprint=8 MB"), "expected at most 524288, the size of the memory"),
    ],
)
def test_a_wrong_program_or_option_for_losses_is_refused(
    casemate: Casemate, given: tuple[str, ...], expected: str
) -> None:
    said = casemate("crash", "secpb-cobcm", *given)
    assert said.code == 2
    assert expected in " ".join(said.err.split())


def test_replay_commands_of_power_losses_contain_the_design_overrides(casemate: Casemate) -> None:
    short = ("--workload", "5", "--row", "power-loss")
    usual = casemate("crash", "plp-sp", *short)
    assert usual.code == 0
    volatile = ("--with", "design.parts.persistence.order=none")
    said = casemate("crash", "plp-sp", *short, *volatile, "--json")
    assert said.code == 1, "the file claims that memory comes back, and without an order it does not"
    (row,) = said.json()["reports"][0]["rows"]
    assert row["worst"] == "unrecoverable"
    command = shlex.split(row["example"]["replay"])
    assert command[-2:] == [*volatile]
    assert casemate(*command[1:]).code == 1
    program = casemate(
        "crash", "secpb-cm", "--program", "log", "--losses", "20", "--with", "design.parts.mac.tag_bits=32"
    )
    assert program.code == 0
    unfit = casemate("crash", "secpb-cm", "eadr", *short, "--with", 'design.parts.persistence.early=["counter"]')
    assert (unfit.code, unfit.out) == (2, ""), "before work begins"
    assert "designs/eadr.toml with parts.persistence.early = " in unfit.err
    unseen = casemate("crash", "secpb-cm", *short, "--with", "design.parts.persistence.entries=4")
    assert (unseen.code, "buffers of one or two entries" in unseen.err) == (2, True)
    wrong = casemate("crash", "plp-sp", "--with", "machine.cores=2")
    assert (wrong.code, "tried without a machine; expected design.KEY" in wrong.err) == (2, True)
