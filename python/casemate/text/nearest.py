"""Suggests the nearest right name for a wrong one. It is separate from `cli.names`, which loads modules that only
commands need.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


def hint(name: str, known: Iterable[str], alike: float = 0.5) -> str:
    """Returns the name that was most likely meant, as the end of a sentence; empty if the similarity of all names is
    below `alike`, a number from 0 to 1. If all names are numbers, returns the number with the least difference.
    """
    listed = list(known)
    try:
        nearest = sorted(listed, key=lambda each: abs(float(each) - float(name)))[:1]
    except ValueError:
        same = [each for each in listed if each.lower() == name.lower()]
        nearest = same[:1] or get_close_matches(name, listed, n=1, cutoff=alike)
    return f" (did you mean '{nearest[0]}'?)" if nearest else ""


def missing(what: str, name: object, known: Iterable[object]) -> str:
    """Returns the sentence that there is no `what` of this name, with the nearest name and all names that exist."""
    names = [str(each) for each in dict.fromkeys(known)]
    return f"there is no {what} '{name}'{hint(str(name), names)}; there are: {', '.join(names)}"


def hint_of_file(path: Path) -> str:
    """Returns the file in the same folder that was most likely meant: one with the same suffix, or one with the same
    name and another suffix.
    """
    if not path.parent.is_dir():
        return ""
    known = [each.name for each in path.parent.iterdir() if each.suffix == path.suffix or each.stem == path.stem]
    return hint(path.name, known)
