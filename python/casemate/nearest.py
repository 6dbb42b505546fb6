"""A wrong name is answered with the nearest right one. Apart from `names`, which loads what only commands need."""

from collections.abc import Iterable
from difflib import get_close_matches


def hint(name: str, known: Iterable[str], alike: float = 0.5) -> str:
    """What was most likely meant, as the end of a sentence; empty if nothing is as much alike as that, from 0 to 1."""
    nearest = get_close_matches(name, list(known), n=1, cutoff=alike)
    return f" (did you mean '{nearest[0]}'?)" if nearest else ""
