"""Definitions on help pages: names with their sentences, from the Rust types that commands use."""

from collections.abc import Iterable
from textwrap import wrap

from casemate import api

COLUMNS = 98
"""Width of the text on a help page: 100 columns without an indent of two."""


def verdicts() -> str:
    """Returns all verdicts with their meanings."""
    terms = ((verdict.name, verdict.summary) for verdict in api.verdicts())
    return _terms("Verdicts, from the best to the worst for the defender", terms)


def losses() -> str:
    """Returns the kinds of losses of power that `casemate crash` tries, with their sentences."""
    return _terms("Rows", ((loss.name, loss.summary) for loss in api.losses()))


def attacks() -> str:
    """Returns the attacks of `casemate attack`, only as names, since their sentences would fill two screens."""
    names = (f"{attack.name} (*)" if attack.hypothetical else attack.name for attack in api.attacks())
    lines = wrap(", ".join(names), COLUMNS - 2, break_on_hyphens=False)
    title = "Rows; `casemate list attacks` says what each does, (*) assumes a fault that no design has"
    return _block(title, (f"  {line}" for line in lines))


def _terms(title: str, terms: Iterable[tuple[str, str]]) -> str:
    listed = list(terms)
    width = max(len(name) for name, _ in listed) + 4
    lines: list[str] = []
    for name, sentence in listed:
        first, *others = wrap(sentence, COLUMNS - width)
        lines += [f"  {name}".ljust(width) + first, *(" " * width + line for line in others)]
    return _block(title, lines)


def _block(title: str, lines: Iterable[str]) -> str:
    """Lines that stay as they are."""
    return "\n".join(["\b", f"{title}:", *lines, ""])
