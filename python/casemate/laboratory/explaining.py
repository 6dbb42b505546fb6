"""Timelines of one access under one design or several, and the default machines of accesses."""

from collections.abc import Mapping, Sequence

from pydantic import TypeAdapter

from casemate._core import CasemateError
from casemate.laboratory import arguments, native
from casemate.laboratory.requests import DEFAULT_MACHINE, Access, Read, Store
from casemate.schemas.catalogue import DesignInfo
from casemate.schemas.explain import Explanation, Explanations

STORE_MACHINE = "secpb-pcm"
"""Default machine to explain stores: its memory has the write-pending queue that persist buffers need."""

MOVING_MACHINE = "cryptopage-2006"
"""Default machine for designs that permute lines: its line and page sizes are those that page chunks need."""


def usual_machine(designs: Sequence[str], access: Access | None = None) -> str:
    """Returns the default machine on which accesses under these designs are explained: `STORE_MACHINE` for a store,
    since it has the parts that a persist buffer needs. If any of the designs permutes lines, it is `MOVING_MACHINE`,
    with the line and page sizes for that; else `DEFAULT_MACHINE`.
    """
    if isinstance(access, Store):
        return STORE_MACHINE
    return MOVING_MACHINE if any(map(_permutes, designs)) else DEFAULT_MACHINE


def explain(
    design: str,
    access: Access | None = None,
    *,
    machine: str | None = None,
    changes: Mapping[str, object] | None = None,
) -> Explanation:
    """Returns the timeline of one access under a design: of a `Read`, a `Write`, a `Store`, a `Page` or a
    `Permutation`; `changes` is as for `run`. The default machine is the `usual_machine`.

    Raises `CasemateError` for an address outside the memory, and for a value that does not fill a line.
    """
    return explain_together([design], access, machine=machine, changes=changes).explanations[0]


def explain_together(
    designs: Sequence[str],
    access: Access | None = None,
    *,
    machine: str | None = None,
    changes: Mapping[str, object] | None = None,
) -> Explanations:
    """Returns the timelines of the same access under several designs, in the given order, as `explain` does for one.
    All timelines show the same line: its latencies are together nearest to the medians of the designs.

    Raises `CasemateError` as `explain`.
    """
    access = Read() if access is None else access
    if not isinstance(access, Access):
        raise CasemateError(f"access is {access!r}: expected a Read, a Write or a Store, as in Read(...)")
    if not designs:
        raise CasemateError("no design to explain: expected one or more, as in ['sc64-bmt', 'none']")
    machine = machine or usual_machine(designs, access)
    changed = native.to_json(arguments.changes(changes, [machine], designs))
    scenario, chosen = native.to_json(access.scenario()), native.to_json(access.chosen())
    found = native.explain(machine, list(designs), changed, scenario, chosen)
    return Explanations(explanations=TypeAdapter(tuple[Explanation, ...]).validate_json(found))


def _permutes(design: str) -> bool:
    """Returns true if the design with this name, or in this file, permutes lines."""
    return DesignInfo.model_validate_json(native.design(design)).parts.permutation is not None
