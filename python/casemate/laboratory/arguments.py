"""Converts arguments that users may give in several forms: `"5M"` to a number of instructions, `"none"` to a list of
one name.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import PurePath
from typing import Any, Literal, get_args, get_origin, get_type_hints

from casemate import _core
from casemate._core import CasemateError
from casemate.laboratory import native, stated
from casemate.text.amounts import parse_count, parse_window
from casemate.text.nearest import hint

Instructions = int | str
"""A number of instructions: `5000000`, or as on the command line `"5M"`."""

Several = str | Iterable[str]
"""One name, or several."""

WHOLE_MAX = 2**64 - 1
"""Largest accepted seed, and largest accepted number in any argument."""

PathLike = str | os.PathLike[str]


def instructions(given: Instructions, what: str, least: int = 0, otherwise: str = "") -> int:
    """Returns the number of instructions; the error names the alternative `otherwise`, such as `"all"`. Raises
    `CasemateError` if it is not a number of this kind.
    """
    if type(given) not in (int, str):
        raise CasemateError(f"{what} is {given!r}: expected a whole number of instructions, as in 5000000 or '5M'")
    try:
        number = parse_count(given) if isinstance(given, str) else given
    except ValueError as error:
        raise CasemateError(f"{what}: {error}") from None
    if number < least:
        counted = "1 instruction" if least == 1 else f"{least} instructions"
        raise CasemateError(f"{what} is {number}: expected {counted} or more{otherwise}")
    return number


def limit(given: Instructions | Literal["all"] | None, usual: int | None) -> int | None:
    """Returns the maximum number of instructions to simulate, `None` for all; the default is `usual`."""
    if given is None or given == "all":
        return usual if given is None else None
    return instructions(given, "limit", least=1, otherwise=", or 'all'")


def interval(given: Instructions | None) -> int | None:
    """Returns the number of instructions in an interval; `None` if the user requested no intervals."""
    return None if given is None else instructions(given, "interval")


def window(given: str, what: str) -> dict[str, int]:
    """Returns a window of simulated time, as in `"20us:5us"`. Raises `CasemateError` if it is invalid."""
    try:
        begin, length = parse_window(given)
    except ValueError as error:
        raise CasemateError(f"{what}: {error}") from None
    return {"from_fs": begin, "length_fs": length}


def check(request: object) -> None:
    """Raises `CasemateError` if a field of a request is not of its type; the error names the field and the expected
    type.
    """
    for name, declared in get_type_hints(type(request)).items():
        value, kind, choices = getattr(request, name), get_origin(declared), get_args(declared)
        if kind is Literal and value not in choices:
            expected = ", ".join(repr(choice) for choice in choices) + hint(str(value), choices)
        elif declared is bool and type(value) is not bool:
            expected = "True or False"
        elif declared is int and not (type(value) is int and 0 <= value <= WHOLE_MAX):
            expected = f"a whole number from 0 to {WHOLE_MAX}"
        elif kind in (Mapping, Sequence) and (isinstance(value, str) or not isinstance(value, kind)):
            expected = "a mapping of names to values" if kind is Mapping else "a list"
        else:
            continue
        raise CasemateError(f"{type(request).__name__}: {name} is {value!r}: expected {expected}")


def be(given: object, kind: type, what: str) -> None:
    """Raises `CasemateError` if the value is of another type than the expected one."""
    if not isinstance(given, kind):
        raise CasemateError(f"{what} is {given!r}: expected a {kind.__name__}, as in {kind.__name__}(...)")


def whole(given: int, what: str, least: int = 0) -> int:
    """Returns the number. Raises `CasemateError` if it is not whole, or out of range."""
    if type(given) is not int or not least <= given <= WHOLE_MAX:
        raise CasemateError(f"{what} is {given!r}: expected a whole number from {least} to {WHOLE_MAX}")
    return given


def one_of(given: str | None, known: Iterable[str], what: str) -> str | None:
    """Returns the name, if the caller gave one. Raises `CasemateError` for an unknown one."""
    listed = list(known)
    if given is None or given in listed:
        return given
    raise CasemateError(f"unknown {what} {given!r}{hint(str(given), listed)}; there are: {', '.join(listed)}")


def names(given: Several, what: str) -> list[str]:
    """Returns the names, each once. At least one is required."""
    listed = list(dict.fromkeys([given] if isinstance(given, str) else given))
    if not listed:
        raise CasemateError(f"no {what} is given: expected at least one")
    return listed


def paths(given: PathLike | Sequence[PathLike] | None) -> list[str]:
    """Returns the paths as strings."""
    listed = [given] if isinstance(given, str | os.PathLike) else given or ()
    return [str(path) for path in listed]


def changes(
    given: Mapping[str, object] | None, machines: Iterable[str] = (), designs: Iterable[str] = ()
) -> dict[str, list[dict[str, Any]]]:
    """Returns the values that replace those in the files, separately for machines and designs. A key may contain the
    name of a machine or design, as in `design.sc64-bmt.parts.mac.tag_bits`; then the value is only for that one.

    Raises `CasemateError` for a key that begins with neither `machine.` nor `design.`, and for the name of a machine or
    design that the user did not request.
    """
    known = {"machine": list(machines), "design": list(designs)}
    listed: dict[str, list[dict[str, Any]]] = {"machine": [], "design": []}
    for path, value in (given or {}).items():
        of, _, key = path.partition(".")
        if of not in listed or not key:
            raise CasemateError(
                f"'{path}' is no key: expected machine.KEY or design.KEY, as in machine.engines.aes.latency_ns"
            )
        only = next((name for name in known[of] if key.startswith(f"{stated.name(name)}.")), None)
        if only is None and known[of]:
            _refuse_another(path, of, known[of])
        key = key.removeprefix(f"{stated.name(only)}.") if only is not None else key
        shared = only is None and len(known[of]) > 1
        listed[of].append({"only": only, "key": key, "value": written(value), "shared": shared})
    return listed


def listed(given: Mapping[str, object] | None) -> dict[str, str]:
    """Returns the values that replace those in the files, as text for the result."""
    return {path: written(value) for path, value in (given or {}).items()}


@cache
def _built_in(of: str) -> tuple[str, ...]:
    """Returns the names of all built-in machines or designs."""
    return tuple(found["name"] for found in json.loads(_core.machines() if of == "machine" else _core.designs()))


def _first_words(of: str, name: str) -> set[str]:
    """Returns the first words of all keys of a machine or a design."""
    nothing = native.to_json({"machine": [], "design": []})
    return {each["key"].partition(".")[0] for each in json.loads(native.settings(of, name, nothing))}


def _refuse_another(path: str, of: str, listed: list[str]) -> None:
    """Raises `CasemateError` if a key begins with the name of a machine or a design that was not requested."""
    first = path.split(".")[1]
    for name in listed:
        if stated.is_file(name) and PurePath(name).stem == first and first not in _first_words(of, name):
            own = stated.name(name)
            raise CasemateError(f"'{path}' is for no requested {of}: '{name}' is called '{own}', as in {of}.{own}.KEY")
    built_in = _built_in(of)
    if first in built_in:
        raise CasemateError(
            f"'{path}' is for the {of} '{first}', which is not requested (requested: "
            f"{', '.join(map(stated.name, listed))}): request it as well, or give {of}.KEY for all of them"
        )
    # The key contains almost the name of a built-in machine or design, and these names resemble no key. The check omits
    # design files, since a file may have any name.
    if path.count(".") > 1 and (meant := hint(first, built_in, alike=0.8)):
        raise CasemateError(f"'{path}' is for no requested {of}{meant}")


def changes_of_design(given: Mapping[str, object] | None, design: str, designs: Iterable[str]) -> dict[str, object]:
    """Returns the changes that are for a design: for all designs, or only for this one."""
    others = tuple(f"design.{stated.name(name)}." for name in designs if name != design)
    of_designs = {path: value for path, value in (given or {}).items() if path.startswith("design.")}
    return {path: value for path, value in of_designs.items() if not path.startswith(others)}


def written(value: object) -> str:
    """Returns a value in the notation of a machine or design file."""
    return str(value).lower() if isinstance(value, bool) else str(value)
