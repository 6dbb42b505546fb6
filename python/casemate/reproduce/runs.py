"""The runs of a paper's evaluation: workloads under settings, as points that a study carries out and keeps.

A run is one case (a workload, on all cores) under one setting (a design, and changes of machine and design) with one
seed. The seed decides the placement of pages, the keys, and the data of built-in workloads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from casemate.laboratory.requests import BuiltIn, Persistent
from casemate.schemas.run import Record
from casemate.studies.points import Kernel, Point, StoredTrace
from casemate.studies.recordings import Command, Input

Changes = dict[str, object]


MARGIN = 8
"""A recording has one instruction in so many more than a run. The limit of a recording counts each repetition of a
string instruction, and a run counts all repetitions together as one instruction.
"""


@dataclass(frozen=True)
class Case:
    """One workload, run on each core in separate memory."""

    name: str
    group: str
    """Group of the case: a figure covers the cases of some groups."""
    workload: str | None = None
    """Name of a built-in workload."""
    settings: dict[str, object] = field(default_factory=dict)
    recorded: Command | None = None
    """Recorded program instead of a built-in workload."""
    untimed: int = 0
    """Instructions without time before the warm-up."""
    warm_up: int = 2_000_000
    """Instructions on each core before counting begins."""
    counted: int = 1_000_000
    """Instructions on each core that are counted."""
    persistent: Persistent = "all"
    """Part of a program's memory that must survive a loss of power."""
    proxy_of: str = ""
    """Program of the paper's benchmarks that does the same kind of work; empty without one."""

    @property
    def instructions(self) -> int:
        """All instructions on each core."""
        return self.untimed + self.warm_up + self.counted

    @property
    def input(self) -> Input:
        """The program that each core runs."""
        if self.recorded is None:
            return BuiltIn(self.workload or self.name, self.settings)
        return replace(self.recorded, limit=self.instructions + self.instructions // MARGIN)


@dataclass(frozen=True)
class Setting:
    """A design on the study's machine, with changes of their keys."""

    name: str
    design: str
    changes: Changes = field(default_factory=dict)


Key = tuple[str, str, int]
"""Name of the case, name of the setting, and seed of a run."""

Runs = dict[Key, Record]
"""Records of runs, by the key of the run."""


@dataclass(frozen=True)
class Bench:
    """Machine and options that all runs of an evaluation share."""

    machine: str
    copies: int
    """Number of copies of each workload that run at once."""
    shared: Mapping[str, Any] = field(default_factory=dict)
    """Further options of all runs."""

    def point(self, case: Case, setting: Setting, program: Kernel | StoredTrace, seed: int) -> Point:
        """Returns the run of a case under a setting; `program` is the input of the case."""
        if isinstance(program, StoredTrace):
            program = replace(program, persistent=case.persistent)
        options = {"limit": case.instructions, "warm_up": case.warm_up, **self.shared}
        if case.untimed:
            options["untimed"] = case.untimed
        programs = (program,) * self.copies
        return Point("run", setting.design, self.machine, setting.changes, case.name, programs, options, seed)
