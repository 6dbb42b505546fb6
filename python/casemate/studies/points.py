"""Points of a study: single runs and campaigns, each with a hash of everything that decides its result."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from casemate._core import CasemateError
from casemate.laboratory import arguments, native, stated
from casemate.laboratory.requests import BuiltIn, Persistent, Repeatable, RunOptions, Trace
from casemate.studies import identity
from casemate.text.amounts import parse_size
from casemate.text.nearest import hint_of_file

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
    files: Mapping[str, str] = field(default_factory=dict)
    """Text of the design and machine files, by their path on the client."""

    @property
    def design_name(self) -> str:
        """Name of the design, also if the point is on a computer without its file."""
        return self._name(self.design)

    @property
    def machine_name(self) -> str:
        """Name of the machine likewise; empty for a campaign."""
        return self._name(self.machine)

    def _name(self, given: str) -> str:
        return stated.name_in(self.files[given], given) if given in self.files else stated.name(given)

    @property
    def title(self) -> str:
        """The point in a few words."""
        machine = f" on {self.machine_name}" if self.machine else ""
        changed = "".join(f", {path.rpartition('.')[2]}={value}" for path, value in self.changes.items())
        return f"{self.program} under {self.design_name}{machine}{changed}, seed {self.seed}"

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


class Checker:
    """Checks that points can be carried out, and gives them their hash. It reads each design and machine file once, so
    that a file which changes while a study runs does not change the study.
    """

    def __init__(self) -> None:
        self._decided: dict[str, tuple[str, int]] = {}
        self._files: dict[str, str] = {}

    def with_hash(self, point: Point) -> Point:
        """Returns the point with its hash, its memory and its files. Raises `CasemateError` with the point and the
        reason if it cannot be carried out.
        """
        # The seed changes neither the machine nor the design, and no program touches more memory with another seed.
        programs = [_identity(each) for each in point.programs]
        without_seed = digest(
            [point.kind, point.design, point.machine, dict(point.changes), programs, dict(point.options)]
        )
        try:
            files = {name: self._text(name) for name in (point.design, point.machine) if stated.is_file(name)}
            if without_seed not in self._decided:
                decided, footprint = _decided(point)
                self._check_unchanged(files)
                self._decided[without_seed] = digest(decided), PROCESS_BYTES + int(BYTES_PER_BYTE * footprint)
        except CasemateError as error:
            raise CasemateError(f"{point.title}: {error}") from None
        decided_digest, memory = self._decided[without_seed]
        whole = [point.kind, identity.VERSION, identity.BUILD, point.seed, programs, decided_digest]
        return replace(point, hash=digest(whole), memory_bytes=memory, files=files)

    def _check_unchanged(self, files: Mapping[str, str]) -> None:
        """Raises `CasemateError` if a file has changed since it was read: the plan of a run reads it again."""
        for name, text in files.items():
            if Path(name).read_text() != text:
                raise CasemateError(f"'{name}' changed while the study was checked: expected an unchanged file")

    def _text(self, name: str) -> str:
        if name not in self._files:
            try:
                self._files[name] = Path(name).read_text()
            except (OSError, UnicodeDecodeError) as error:
                raise CasemateError(f"cannot read '{name}': {error}{hint_of_file(Path(name))}") from None
        return self._files[name]


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
        changed = native.to_json(arguments.changes(point.changes, [], [point.design]))
        settings = json.loads(native.settings("design", point.design, changed))
        return {"design": {each["key"]: each["value"] for each in settings}, "options": dict(point.options)}, 0
    options = RunOptions(**point.options, protection=False)
    programs = point.runnables({each.content: Path(each.path) for each in point.traces()})
    request = options.as_request(programs)
    requested = request | {
        "designs": [point.design],
        "machines": [point.machine],
        "changes": arguments.changes(point.changes, [point.machine], [point.design]),
        "programs": [program.as_request(options.check_values) for program in programs],
    }
    (simulation,) = json.loads(native.plan(native.to_json(requested)))
    known = simulation.pop("footprint_bytes")
    machine_bytes = parse_size(simulation["machine"]["memory"]["size"])
    return simulation | {"options": request, "start_order": options.start_order}, min(
        machine_bytes, known if known is not None else UNKNOWN_BYTES
    )
