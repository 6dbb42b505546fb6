"""A wrong name is answered with the nearest right one. Apart from `names`, which loads what only commands need."""

from collections.abc import Iterable
from difflib import get_close_matches


def hint(name: str, known: Iterable[str], alike: float = 0.5) -> str:
    """What was most likely meant, as the end of a sentence; empty if nothing is as much alike as that, from 0 to 1.
    Among numbers the nearest is the one that differs least.
    """
    listed = list(known)
    try:
        nearest = sorted(listed, key=lambda each: abs(float(each) - float(name)))[:1]
    except ValueError:
        nearest = get_close_matches(name, listed, n=1, cutoff=alike)
    return f" (did you mean '{nearest[0]}'?)" if nearest else ""
