"""Designs that permute lines, as users see them: layouts, values, attacks after a run, and refusals."""

import casemate as cm
import pytest
from casemate.schemas.attack import Outcome, Protection

SHORT = cm.RunOptions(limit=2_000, protection=False)


def outcome(worst: str, claim: str | None) -> Outcome:
    """Result of an attack that ended like this in all trials."""
    fields = {"histogram": {worst: 20}, "worst": worst, "claim": claim, "reached": worst == claim, "agrees": True}
    return Outcome.model_validate({"attack": "rowhammer", "hypothetical": False, "examples": (), **fields})


def test_an_attack_counts_as_stopped_only_if_claim_and_outcome_are_stopped() -> None:
    assert not outcome("detected", "garbled").stopped
    assert not outcome("garbled", "detected").stopped
    assert outcome("detected", "detected").stopped
    assert outcome("hidden", None).stopped


def test_a_run_and_a_campaign_count_the_same_attacks_as_stopped() -> None:
    options = cm.RunOptions(limit=2_000)
    (ran,) = cm.run(cm.BuiltIn("stream"), designs="ctr-mac", options=options).protection
    campaign = Protection.of(cm.attack("ctr-mac"))
    assert (ran.stopped, ran.applicable) == (campaign.stopped, campaign.applicable)


def test_a_layout_without_a_machine_uses_one_that_supports_the_design() -> None:
    percent = {region.role: region.percent for region in cm.layout("cryptopage").regions}
    assert percent["tags behind the lines"] == 50.0


def test_an_explained_line_value_must_have_the_line_length_of_the_machine() -> None:
    access = cm.Read(on_chip="all", address=0, value="5a" * 32)
    assert cm.explain("cryptopage", access).line_bytes == 32
    with pytest.raises(cm.CasemateError, match="expected 64 hexadecimal digits"):
        cm.explain("cryptopage", cm.Read(on_chip="all", address=0, value="00" * 32 + "ff" * 32))


def test_a_refused_run_is_not_followed_by_attacks() -> None:
    heard = list[dict[str, object]]()
    options = cm.RunOptions(limit=2_000, detail="sampled")
    results = cm.run(
        cm.BuiltIn("stream"), designs="hide", machine="cryptopage-2006", options=options, progress=heard.append
    )
    assert results.failures
    assert not [event for event in heard if "attacked" in event]


def test_tags_over_several_slots_fetch_as_many_lines_for_each_fill() -> None:
    key = "design.cryptopage.parts.permutation.slots_per_tag"
    for slots in (1, 2, 4):
        (record,) = cm.run(
            cm.BuiltIn("stream"), designs="cryptopage", machine="cryptopage-2006", changes={key: slots}, options=SHORT
        ).records
        assert record.moving is not None
        assert record.moving.fetched == slots * record.moving.fills > 0
