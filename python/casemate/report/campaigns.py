"""Rows of a page from campaigns: the worst end of each attack, and of each kind of power loss, under each design."""

import json
from collections.abc import Iterable
from typing import Any

from casemate.report.reading import Rows, Source
from casemate.schemas.catalogue import SEVERITY, STOPPED

GROUPS = {
    "stopped": STOPPED,
    "data lost": ("unrecoverable", "garbled"),
    "leaked": ("leaked",),
    "wrong data": ("stale", "forged"),
}
"""Kinds of ends by the colour of their cell, each with its verdicts."""


def attacks(source: Source) -> Rows:
    """Returns a row for each attack on each design, without hypothetical attacks."""
    return _applicable(_worst(_outcomes(source, "attacks", "attack")))


def crashes(source: Source) -> Rows:
    """Returns a row for each kind of power loss under each design."""
    return _applicable(_worst(_outcomes(source, "crashes", "loss")))


def _applicable(rows: Rows) -> Rows:
    """Returns the rows of attacks or losses that apply to any of the designs."""
    applicable = {row["tried"] for row in rows if row["worst"] != "not-applicable"}
    return [row for row in rows if row["tried"] in applicable]


def _outcomes(source: Source, table: str, name: str) -> Iterable[dict[str, Any]]:
    if "record" not in source.columns:
        return
    for row in source.ask(
        f"SELECT design, {source.column('changes')}, record FROM {table} ORDER BY design, changes, seed"
    ):
        label = f"{row['design']} with {row['changes']}" if row["changes"] else row["design"]
        for each in json.loads(row["record"])["rows"]:
            if not each.get("hypothetical"):
                yield {"design": row["design"], "label": label, "tried": each[name], **each}


def _worst(outcomes: Iterable[dict[str, Any]]) -> Rows:
    """Returns the worst end of each attack or loss over all seeds, with the claim of the design."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for each in outcomes:
        key = each["label"], each["tried"]
        known = found.get(key)
        worst = max((each["worst"], known["worst"]) if known else (each["worst"],), key=SEVERITY.index)
        agrees = each["agrees"] and (known is None or known["agrees"])
        verdict = worst.partition(" ")[0]
        found[key] = {
            "design": each["design"], "label": each["label"], "tried": each["tried"], "worst": worst,
            "claim": each["claim"], "agrees": agrees, "shown": _shown(worst, agrees),
            "group": "not applicable" if worst == "not-applicable" else next(
                name for name, verdicts in GROUPS.items() if verdict in verdicts
            ),
        }  # fmt: skip
    return list(found.values())


def _shown(worst: str, agrees: bool) -> str:
    """Returns the text of a cell: the end, with a mark if it contradicts the claim."""
    text = "-" if worst == "not-applicable" else worst.replace(" + leaked", " +leak")
    return text if agrees else f"≠ {text}"


def protection(rows: Rows) -> dict[str, float]:
    """Returns the share of attacks with a target that each design stops, in percent, by the name of the design. A
    design whose claim admits an end that no trial reached does not stop the attack.
    """
    shares: dict[str, list[bool]] = {}
    for row in rows:
        if row["worst"] != "not-applicable":
            stops = row["worst"] in STOPPED and (row["claim"] is None or row["claim"] in STOPPED)
            shares.setdefault(row["design"], []).append(stops)
    return {design: 100 * sum(stopped) / len(stopped) for design, stopped in shares.items()}
