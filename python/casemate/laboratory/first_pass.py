"""The first pass of a run: it finds the values that are frequent in the lines to and from memory, so that the run can
begin as if the chip had written all of memory by them.

The first pass is the same run without protection. So its values do not depend on the designs, only on the machine, the
programs and the seed.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from casemate._core import CasemateError
from casemate.laboratory import native
from casemate.laboratory.requests import Program, Repeatable

TABLE = 8
"""Size of the table that watches the first pass. The counts of words do not depend on it."""
INTERRUPTED = {"records": (), "failures": (), "interrupted": True, "passed": False, "protection": ()}
"""Results of a run that Ctrl-C ended in its first pass."""


def start_values(
    request: Mapping[str, Any], programs: Iterable[Program | Repeatable], relay: Callable[[str], object]
) -> list[list[dict[str, Any]]] | None:
    """Returns the most frequent words of a run on each machine of its request, with their counts; an empty list if no
    design has a table of frequent values, and `None` if Ctrl-C ended the first pass. Raises `CasemateError` if the run
    has programs that cannot be repeated.
    """
    if any(isinstance(program, Program) for program in programs):
        raise CasemateError(
            "start_order='frequent' runs the program twice, and a live program runs once: record the program with "
            "`casemate record`, then run its trace"
        )
    planned = json.loads(native.plan(native.to_json(request)))
    if not any((simulation["design"]["parts"].get("speculation") or {"values": 0})["values"] for simulation in planned):
        return []
    first = {
        **request,
        "designs": ["none"],
        "changes": {**request["changes"], "design": []},
        "ledger": False,
        "check_values": False,
        "kept": {"interval": None, "tables": [TABLE], "bus": None, "excerpt": None},
    }
    designs = len(request["designs"])
    answer = json.loads(native.run(native.to_json(first), lambda text: relay(_for_each(text, designs))))
    if answer["interrupted"]:
        return None
    for failure in answer["failures"]:
        raise CasemateError(f"the first pass on {failure['machine']}: {failure['error']}")
    return [record["frequent_words"] for record in answer["records"]]


def _for_each(text: str, designs: int) -> str:
    """Returns the progress of the first pass as the progress of every design on the same machine."""
    progress = json.loads(text)
    for key in ("instructions", "finished"):
        progress[key] = [value for value in progress[key] for _ in range(designs)]
    return json.dumps({**progress, "first_pass": True})
