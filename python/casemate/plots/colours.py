"""Colour and style of a piece of work in a timeline, by the subject of its verb, from `casemate.api.verbs()`."""

from functools import cache
from typing import NamedTuple

from casemate import api
from casemate.schemas.catalogue import Subject
from casemate.schemas.explain import Span


class Look(NamedTuple):
    """Colour and style of the verbs of one subject."""

    style: str
    """Style on a terminal."""
    colour: str
    """Colour in a picture."""


LOOKS: dict[Subject, Look] = {
    "memory": Look("blue", "#3b6fb6"),
    "cache": Look("white", "#9aa5b1"),
    "encryption": Look("cyan", "#2a9d8f"),
    "authentication": Look("yellow", "#e0a030"),
    "tree": Look("magenta", "#a24fa0"),
    "way": Look("bright_black", "#7d8ea3"),
    "wait": Look("red", "#c8453b"),
    "exit": Look("green", "#2e7d32"),
    "alarm": Look("red", "#c8453b"),
}


@cache
def _subjects() -> dict[str, Subject]:
    return {verb.name: verb.about for verb in api.verbs()}


def look(span: Span) -> Look:
    """Returns the colour and style of a piece of work."""
    return LOOKS[_subjects()[span.verb]]
