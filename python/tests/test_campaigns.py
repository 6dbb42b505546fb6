"""Attacks and losses of power over several designs: what is said of them together, and of what Ctrl-C left."""

from collections.abc import Mapping
from typing import NoReturn

import pytest
from casemate import api, campaigns
from casemate.progress import Steps
from casemate.results.crash import CrashReport
from conftest import Casemate
from rich.console import Console


@pytest.fixture
def steps() -> Steps:
    """Progress that nothing shows."""
    return Steps(Console(quiet=True), "trying", 1)


def test_nothing_agrees_where_nothing_is_complete(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    for work in ("attack", "exhaustive"):
        monkeypatch.setattr(api, work, stopped)
    for results in (
        campaigns.crash(["none"], {}, steps, stopped),
        campaigns.survive(["none"], {}, steps, stopped),
        campaigns.attack(["none"], None, 1, 1, {}, steps),
        campaigns.replay(["none"], None, 1, {}, steps),
        campaigns.exhaustive(["none"], steps),
    ):
        assert (results.interrupted, results.agrees) == (True, False)


def test_what_is_complete_agrees_although_the_rest_was_stopped(steps: Steps) -> None:
    report = CrashReport(
        design="none", summary="", workloads=1, points=1, memories=1, torn=0, tampered=0, rows=(), agrees=True
    )

    def tried(design: str, _: Mapping[str, object]) -> CrashReport:
        if design != "none":
            raise KeyboardInterrupt
        return report

    results = campaigns.crash(["none", "bbb"], {}, steps, tried)
    assert (results.reports, results.interrupted, results.agrees) == ((report,), True, True)


def test_designs_with_more_workloads_than_others_are_counted_from_the_least_to_the_most(casemate: Casemate) -> None:
    def said(*designs: str) -> str:
        return " ".join(casemate("crash", *designs, "--row", "power-loss").out.split())

    assert "(124 workloads each, " in said("none")
    assert "(124 to 206 workloads each, " in said("bbb", "none")
