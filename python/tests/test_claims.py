"""Claims of designs and their classes, and the names of rows and verdicts in commands."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

import casemate as cm
import pytest
from casemate import api
from casemate.schemas.catalogue import STOPPED, Attack, Loss, Verdict
from conftest import SMALL, Casemate

DESIGNS = Path(__file__).resolve().parents[2] / "designs"


def test_an_attack_reports_a_design_that_claims_too_much(casemate: Casemate, tmp_path: Path) -> None:
    text = (DESIGNS / "ctr-mac.toml").read_text()
    (tmp_path / "bold.toml").write_text(text + 'replay-data-tag-counter = "detected"\n')
    said = casemate("attack", "bold.toml")
    assert said.code == 1
    assert "stale ≠ detected" in said.out
    assert f"1 of {len(api.attacks())} claims differs" in said.out
    again = "casemate attack bold.toml --row replay-data-tag-counter --replay "
    assert f"see it again: {again}" in said.out
    seed = said.out.partition(again)[2].split()[0]
    said = casemate("attack", "bold.toml", "--row", "replay-data-tag-counter", "--replay", seed)
    assert (said.code, f"trial {seed}: ended stale" in said.out) == (0, True), said.out
    assert "claimed at worst: detected" in said.out


@pytest.mark.parametrize(("name", "rows"), [("attack", api.attacks), ("crash", api.losses)])
def test_the_help_of_attack_and_crash_lists_every_choice_and_every_verdict(
    casemate: Casemate, name: str, rows: Callable[[], Sequence[Attack | Loss]]
) -> None:
    said = casemate(name, "--help").out.partition("Rows")[2]
    named = said.replace(",", " ").split()
    for row in rows():
        assert row.name in named, row.name
    unwrapped = " ".join(said.split())
    for verdict in api.verdicts():
        assert f"{verdict.name} {verdict.summary}" in unwrapped
    assert max(len(line) for line in said.splitlines()) <= 100


def test_the_python_verdict_type_lists_all_verdicts_in_order() -> None:
    verdicts = api.verdicts()
    assert get_args(Verdict) == tuple(verdict.name for verdict in verdicts)
    assert tuple(verdict.name for verdict in verdicts if verdict.stopped) == STOPPED


def test_a_new_design_has_the_claims_of_its_class_and_reports_differences(casemate: Casemate, tmp_path: Path) -> None:
    whole = (DESIGNS / "ctr-mac.toml").read_text()
    mine = tmp_path / "mine.toml"
    mine.write_text(whole.partition("[claims]")[0].replace('name = "ctr-mac"', 'name = "mine"'))
    assert casemate("explain", "mine.toml").code == 0
    assert casemate("run", *SMALL, "--design", "mine.toml").code == 0
    assert "garbled ≠ detected" in casemate("attack", "mine.toml", "--trials", "20").out
    said = casemate("attack", "mine.toml", "--print-claims", "--trials", "20")
    assert said.code == 0
    assert len(said.out.splitlines()) < 10
    with mine.open("a") as file:
        file.write(said.out)
    assert casemate("attack", "mine.toml", "--trials", "20").code == 0
    assert casemate("crash", "mine.toml").code == 0
    assert cm.design("mine.toml").claims == cm.design("ctr-mac").claims
    again = casemate("attack", "mine.toml", "--print-claims", "--trials", "20").out
    assert again == "# Every row ended as the class and the file say (20 trials of each attack, seeds from 1).\n"


def test_an_unknown_class_is_refused_with_the_known_ones(casemate: Casemate, tmp_path: Path) -> None:
    text = (DESIGNS / "ctr-mac.toml").read_text()
    (tmp_path / "mine.toml").write_text(text.replace('design_class = "C3"', 'design_class = "c3"'))
    said = casemate("attack", "mine.toml")
    assert said.code == 2
    assert "mine.toml:3: design_class: unknown class `c3`, expected one of `C0`, `C1`, `C1'`" in said.err
    assert "(did you mean 'C3'?)" in said.err
