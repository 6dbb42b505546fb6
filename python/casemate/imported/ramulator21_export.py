"""Keys of Ramulator 2.1's export (`python -m ramulator export`), with a name for each entry of its lists.

Source: `python/ramulator/export.py` and `dram/{ddr3,ddr4,ddr5}.py` of Ramulator 2.1. An export contains no presets. The
list `org.count` contains the units of each level, `timing` the constraints in clocks. Each channel has a controller.
"""

from collections.abc import Mapping
from pathlib import Path

from casemate._core import CasemateError
from casemate.imported.keys import ALMOST_THE_SAME, Keys
from casemate.text.nearest import hint

CONTROLLERS = "memory_system.controllers"
CONTROLLER = f"{CONTROLLERS}.0"
COUNTS, TIMING = "dram.org.count", "dram.timing"

FOLDED = ("dram.timing_constraints", "dram.command_cycles")
"""Lists of a controller that become one key each."""

LEVELS = "channel rank bankgroup bank row column"
BEFORE = "rate nBL nCL nRCD nRP nRAS nRC nWR nRTP nCWL"
AFTER = "nFAW nRFC nREFI nCS tCK_ps"

LISTS = {
    "DDR3": {COUNTS: "channel rank bank row column", TIMING: f"{BEFORE} nCCD nRRD nWTR {AFTER}"},
    "DDR4": {COUNTS: LEVELS, TIMING: f"{BEFORE} nCCDS nCCDL nRRDS nRRDL nWTRS nWTRL {AFTER}"},
    "DDR5": {
        COUNTS: LEVELS,
        TIMING: f"{BEFORE} nPPD nCCDS nCCDL nCCDS_WR nCCDL_WR nRRDS nRRDL nWTRS nWTRL {AFTER}",
    },
}
"""Names of the entries of each list, by standard: those standards with constraints that a machine supports."""


def keys(path: Path, values: Mapping[str, str]) -> Keys:
    """Returns the keys of an export. Names of levels and constraints replace the positions in their lists. Each further
    controller becomes one key, since it equals the first one. Raises `CasemateError` for other standards, controllers
    that differ, and lists of another length.
    """
    export = Keys(path, values, "Ramulator 2.1")
    controllers = _controllers(export)
    standard = export.text(f"{CONTROLLER}.dram.impl")
    if standard not in LISTS:
        variants = [each for each in LISTS if standard.upper().startswith(each)]
        nearest = hint(standard, variants, 0) or hint(standard, LISTS, ALMOST_THE_SAME)
        raise CasemateError(
            f"{export.source}: {CONTROLLER}.dram.impl is '{standard}'{nearest}: expected {', '.join(LISTS)}, "
            "the standards that a machine models"
        )
    names: dict[str, str] = {}
    for key in (COUNTS, TIMING):
        names |= _names(export, controllers["0"], standard, key)
    _check_equal(export, controllers, names)
    return Keys(path, _named(values, names), "Ramulator 2.1")


def _controllers(export: Keys) -> dict[str, dict[str, str]]:
    """Returns the keys of each controller, by its position. Raises `CasemateError` if the file has no list of them."""
    found: dict[str, dict[str, str]] = {}
    for key, value in export.values.items():
        if key.startswith(f"{CONTROLLERS}."):
            number, _, rest = key.removeprefix(f"{CONTROLLERS}.").partition(".")
            found.setdefault(number, {})[rest] = value
    if "0" not in found:
        nearest = "" if found else export.nearest(CONTROLLERS)
        raise CasemateError(
            f"{export.source} has no list {CONTROLLERS}{nearest}: expected one controller for each channel, "
            "as `python -m ramulator export` writes them"
        )
    return found


def _check_equal(export: Keys, controllers: Mapping[str, Mapping[str, str]], names: Mapping[str, str]) -> None:
    """Raises `CasemateError` with the first key of a further controller that differs from the first controller."""
    first = controllers["0"]
    for number, other in controllers.items():
        for key in (*first, *other):
            if first.get(key) != other.get(key):
                name = names.get(key, key)
                raise CasemateError(
                    f"{export.source}: {CONTROLLERS}.{number}.{name} is {_shown(other, key)}, but {CONTROLLER}.{name} "
                    f"is {_shown(first, key)}: expected equal controllers, since the channels of a machine are equal"
                )


def _shown(controller: Mapping[str, str], key: str) -> str:
    return f"'{controller[key]}'" if key in controller else "missing"


def _names(export: Keys, controller: Mapping[str, str], standard: str, key: str) -> dict[str, str]:
    """Returns the name of each entry of a list, by the key with its position. Raises `CasemateError` if the list has
    another length.
    """
    names = LISTS[standard][key].split()
    found = [each for each in controller if each == key or each.startswith(f"{key}.")]
    if found == [f"{key}.{number}" for number in range(len(names))]:
        return {position: f"{key}.{name}" for position, name in zip(found, names, strict=True)}
    if not found:
        wrong = f"is missing{export.nearest(f'{CONTROLLER}.{key}')}"
    elif not all(each.removeprefix(f"{key}.").isdecimal() for each in found):
        wrong = "is no list of numbers"
    else:
        same = [each for each, lists in LISTS.items() if len(lists[key].split()) == len(found)]
        wrong = f"has {len(found)} entries" + (f", as that of {' and '.join(same)}" if same else "")
    raise CasemateError(
        f"{export.source}: {CONTROLLER}.{key} {wrong}: expected {len(names)} numbers for {standard}, {', '.join(names)}"
    )


def _named(values: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Returns the values with names for the entries of lists, and with one key for each further controller."""
    named: dict[str, str] = {}
    for key, value in values.items():
        number, _, rest = key.removeprefix(f"{CONTROLLERS}.").partition(".")
        if not key.startswith(f"{CONTROLLERS}."):
            named[key] = value
        elif number != "0":
            named[f"{CONTROLLERS}.{number}"] = "as controllers.0"
        elif folded := next((each for each in FOLDED if rest.startswith(f"{each}.")), None):
            named[f"{CONTROLLER}.{folded}"] = "[...]"
        else:
            named[f"{CONTROLLER}.{names.get(rest, rest)}"] = value
    return named
