"""Points of a study: single runs and campaigns, each with a hash of everything that decides its result."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from casemate import _core
from casemate._core import CasemateError
from casemate.laboratory import arguments, native
from casemate.laboratory.requests import BuiltIn, Persistent, Repeatable, RunOptions, Trace

Kind = Literal["run", "attack", "crash"]
Changes = Mapping[str, object]

PROCESS_BYTES = 160 << 20
"""Memory of a worker without a simulation, in bytes."""
BYTES_PER_BYTE = 2.5
"""Host memory for each byte of simulated memory that a program touches: its data, the content of the simulated memory
for its check, and the ciphertext with metadata. Measured: 0.8 to 2.2.
"""
UNKNOWN_BYTES = 1 << 30
"""Simulated memory that a program is assumed to touch if its trace does not say."""


@dataclass(frozen=True)
class StoredTrace:
    """A trace that workers find by the hash of its content."""

    content: str
    """SHA-256 of the file, in hexadecimal."""
    path: str
    """Path on the client."""
    stated: str
    """Name that records state: that of the file, so that a study does not depend on the folder."""
    persistent: Persistent = "all"


@dataclass(frozen=True)
class Kernel:
    """A built-in workload with its settings."""

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Point:
    """One run or campaign of a study."""

    kind: Kind
    design: str
    """Name or file of the design."""
    machine: str
    """Name or file of the machine; empty for a campaign, which has no machine."""
    changes: Changes
    """Keys of the machine and of the design with other values than in the files."""
    program: str
    """Name of the program in the study; for a campaign its scope."""
    programs: tuple[Kernel | StoredTrace, ...]
    """Programs that run at once; empty for a campaign."""
    options: Mapping[str, Any]
    """Options of the run (of `RunOptions`) or of the campaign."""
    seed: int
    hash: str = ""
    """SHA-256 of everything that decides the result, in hexadecimal."""
    memory_bytes: int = PROCESS_BYTES
    """Memory that a worker needs for the point."""

    @property
    def title(self) -> str:
        """The point in a few words."""
        machine = f" on {arguments.short(self.machine)}" if self.machine else ""
        changed = "".join(f", {path.rpartition('.')[2]}={value}" for path, value in self.changes.items())
        return f"{self.program} under {arguments.short(self.design)}{machine}{changed}, seed {self.seed}"

    def runnables(self, paths: Mapping[str, Path]) -> list[Repeatable]:
        """Returns the programs of a run; `paths` contains the files of traces by the hash of their content."""
        return [
            BuiltIn(each.name, each.settings)
            if isinstance(each, Kernel)
            else Trace(paths[each.content], each.persistent, stated=each.stated)
            for each in self.programs
        ]

    def traces(self) -> list[StoredTrace]:
        """Returns the traces that the point needs."""
        return [each for each in self.programs if isinstance(each, StoredTrace)]

    def to_json(self) -> dict[str, Any]:
        """Returns the point in the form in which workers receive it."""
        return asdict(self)

    @staticmethod
    def of_json(form: Mapping[str, Any]) -> "Point":
        """Returns the point of this form."""
        programs = tuple(
            StoredTrace(**each) if "content" in each else Kernel(each["name"], each["settings"])
            for each in form["programs"]
        )
        return Point(**{**form, "programs": programs})


def with_hash(point: Point) -> Point:
    """Returns the point with its hash and its memory, after a check that it can be carried out. Raises `CasemateError`
    with the point and the reason if not.
    """
    try:
        decided, footprint = _decided(point)
    except CasemateError as error:
        raise CasemateError(f"{point.title}: {error}") from None
    identity = {
        "kind": point.kind, "version": _core.__version__, "build": _core.BUILD, "seed": point.seed,
        "programs": [_identity(each) for each in point.programs], **decided,
    }  # fmt: skip
    memory = PROCESS_BYTES + int(BYTES_PER_BYTE * footprint)
    return Point(**{**vars(point), "hash": digest(identity), "memory_bytes": memory})


def digest(decided: object) -> str:
    """Returns the SHA-256 of a value, in hexadecimal; equal values have equal digests on every computer."""
    text = json.dumps(decided, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _identity(program: Kernel | StoredTrace) -> dict[str, Any]:
    """Returns all values that decide the execution of a program. Records of ChampSim traces state the path."""
    if isinstance(program, Kernel):
        return {"kernel": program.name, "settings": dict(program.settings)}
    return {"trace": program.content, "stated": program.stated, "persistent": program.persistent}


def _decided(point: Point) -> tuple[dict[str, Any], int]:
    """Returns the machine, the design and the options with the values of all keys, and the simulated memory in use in
    bytes.
    """
    if point.kind != "run":
        settings = json.loads(_settings(point.design, json.dumps(dict(point.changes), sort_keys=True)))
        return {"design": {each["key"]: each["value"] for each in settings}, "options": dict(point.options)}, 0
    options = RunOptions(**point.options, protection=False)
    programs = point.runnables({each.content: Path(each.path) for each in point.traces()})
    # The seed changes neither the machine nor the design, and no program touches more memory with another seed.
    request = options.as_request(programs)
    requested = request | {
        "designs": [point.design],
        "machines": [point.machine],
        "changes": arguments.changes(point.changes, [point.machine], [point.design]),
        "programs": [program.as_request(options.check_values) for program in programs],
    }
    (simulation,) = json.loads(_planned(native.to_json(requested)))
    known = simulation.pop("footprint_bytes")
    machine_bytes = _bytes(simulation["machine"]["memory"]["size"])
    return simulation | {"options": request}, min(machine_bytes, known if known is not None else UNKNOWN_BYTES)


@cache
def _planned(request: str) -> str:
    return str(native.plan(request))


@cache
def _settings(design: str, changes: str) -> str:
    """Returns all values of a design, after a check that it can be built."""
    changed = native.to_json(arguments.changes(json.loads(changes), [], [design]))
    return str(native.settings("design", design, changed))


_SCALES = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def _bytes(size: str) -> int:
    number, _, scale = size.partition(" ")
    return int(float(number) * _SCALES[scale])
