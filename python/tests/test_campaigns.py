"""Attacks and losses of power over several designs: the common report, and the report after Ctrl-C."""

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import pytest
from casemate import api
from casemate.cli import campaigns
from casemate.schemas.crash import CrashReport
from casemate.terminal.progress import Steps
from conftest import Casemate
from rich.console import Console


@pytest.fixture
def steps() -> Steps:
    """Progress without a display."""
    return Steps(Console(quiet=True), "trying", 1)


def test_an_interrupted_campaign_without_any_report_does_not_pass(
    steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    for work in ("attack", "attack_bits"):
        monkeypatch.setattr(api, work, stopped)
    for results in (
        campaigns.crash(["none"], {}, steps, stopped),
        campaigns.crash_program(["none"], {}, steps, stopped),
        campaigns.attack(["none"], None, 1, 1, {}, steps),
        campaigns.replay(["none"], None, 1, {}, steps),
        campaigns.attack_bits(["none"], steps),
    ):
        assert (results.interrupted, results.agrees) == (True, False)


def test_an_interrupted_campaign_passes_on_its_complete_reports(steps: Steps) -> None:
    report = CrashReport(
        design="none",
        summary="",
        workloads=1,
        points=1,
        memories=1,
        torn=0,
        tampered=0,
        histories=0,
        rows=(),
        agrees=True,
    )

    def tried(design: str, _: Mapping[str, object]) -> CrashReport:
        if design != "none":
            raise KeyboardInterrupt
        return report

    results = campaigns.crash(["none", "bbb"], {}, steps, tried)
    assert (results.reports, results.interrupted, results.agrees) == ((report,), True, True)


def test_different_numbers_of_crash_workloads_are_shown_as_a_range(casemate: Casemate) -> None:
    def said(*designs: str) -> str:
        return " ".join(casemate("crash", *designs, "--row", "power-loss").out.split())

    assert "(124 workloads each, " in said("none")
    assert "(124 to 206 workloads each, " in said("bbb", "none")


def test_an_attack_with_few_trials_that_does_not_reach_its_claim_still_passes(casemate: Casemate) -> None:
    few = casemate("attack", "ctr-mac", "--trials", "1")
    assert few.code == 0
    assert "not reached in 1 trial (~): no trial ended worse" in " ".join(few.out.split())
    [report] = casemate("attack", "ctr-mac", "--trials", "1", "--json").json()["reports"]
    missed = [row for row in report["rows"] if not row["reached"]]
    assert missed
    assert all(row["agrees"] for row in missed)


@pytest.mark.parametrize("claimed", ["forged", "harmless"])
def test_a_claim_that_is_too_strong_or_too_weak_is_reported(casemate: Casemate, tmp_path: Path, claimed: str) -> None:
    text = (Path(__file__).parents[2] / "designs" / "sc64-bmt.toml").read_text()
    design = tmp_path / "false.toml"
    design.write_text(text.replace('name = "sc64-bmt"', 'name = "false"') + f'\n[claims]\nflip-data = "{claimed}"\n')
    found = casemate("attack", str(design), "--row", "flip-data")
    assert found.code == 1
    assert f"flip-data ended detected, claimed {claimed}" in found.out
    # If a claim promises too little, five trials may miss the worst end.
    few = casemate("attack", str(design), "--row", "flip-data", "--trials", "5")
    assert few.code == (0 if claimed == "forged" else 1)
