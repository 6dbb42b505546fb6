"""Attacks that designs stop: short campaigns that follow a run."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from casemate.laboratory import arguments, native, stated
from casemate.schemas.attack import AttackReport, Protection

TRIALS = 20
"""Trials of each attack after a run: enough for ends that occur in every trial. `casemate.attack` carries out more
trials.
"""

_campaigns: dict[str, Protection] = {}
"""Results of campaigns by design: only the design decides the result, so one campaign per process is enough."""


def protection_of(
    design: str,
    changes: Mapping[str, object] | None = None,
    progress: Callable[[dict[str, Any]], object] | None = None,
) -> Protection:
    """Returns the attacks that a design stops, from a short campaign; the process remembers the result for built-in
    designs. `progress` receives the name of the `attacked` design, and the trials that are `done`, `of` their total.
    """
    changed = arguments.changes(changes, designs=[design])
    is_changed = bool(changed["design"])
    if not is_changed and design in _campaigns:
        return _campaigns[design]

    def heard(text: str) -> None:
        if progress:
            progress({"attacked": design, **json.loads(text)})

    spec = native.to_json({"row": None, "trials": TRIALS, "seed": 1, "changes": changed})
    found = Protection.of(AttackReport.model_validate_json(native.attack(design, spec, heard)))
    if not is_changed and not stated.is_file(design):
        _campaigns[design] = found
    return found
