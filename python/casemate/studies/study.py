"""A study as data: programs, designs, machines, swept keys, seeds, campaigns, and the figures of its report."""

import itertools
import os
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, ValidationError, model_validator

from casemate._core import CasemateError
from casemate.api import ATTACK_TRIALS, DEFAULT_DESIGNS
from casemate.laboratory import stated
from casemate.laboratory.arguments import WHOLE_MAX
from casemate.laboratory.requests import DEFAULT_MACHINE, BuiltIn, Persistent, Program, Trace
from casemate.schemas.run import Age, StartOrder
from casemate.text import one_line
from casemate.text.nearest import hint

Value = bool | int | float | str
"""A value of a key, in the notation of a machine or design file."""
Instructions = StrictInt | str
"""A number of instructions: `5000000` or `"5M"`."""


def _names(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]

RANGE_VALUES_MAX = 10_000

RATIOS = {"slowdown": "time_fs", "traffic": "dram_bytes"}
"""Figures that compare with the baseline, and the column that they compare."""


class Part(BaseModel):
    """A part of a study. Unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def __repr__(self) -> str:
        """Returns the keys that were given, on one line."""
        given = ((name, value) for name, value in self if name in self.model_fields_set)
        return one_line.between(f"{type(self).__name__}(", one_line.named(given), ")")

    __str__ = __repr__


class Range(Part):
    """Values of a swept key from one to another, with a step or a factor, as in `{from = "2 MB", to = "16 MB",
    factor = 2}`.
    """

    start: int | float | str = Field(alias="from")
    """First value; text has a number and a unit."""
    to: int | float | str
    """Last value, if the steps reach it exactly."""
    step: int | float | None = None
    """Difference between two values."""
    factor: int | float | None = None
    """Quotient of two values."""

    @model_validator(mode="after")
    def _is_finite(self) -> "Range":
        self.values()
        return self

    def values(self) -> list[Value]:
        """Returns the values of the range, computed as decimal numbers. Raises `ValueError` if it is not valid."""
        (number, unit), (last, last_unit) = _number(self.start), _number(self.to)
        if unit != last_unit:
            raise ValueError(f"'{self.start}' and '{self.to}' have two units: expected one, as in \"2 MB\", \"16 MB\"")
        if (self.step is None) == (self.factor is None):
            raise ValueError("expected either a step or a factor")
        step, factor = Decimal(str(self.step or 0)), Decimal(str(self.factor or 1))
        if (self.step is not None and step <= 0) or (self.factor is not None and (factor <= 1 or number <= 0)):
            raise ValueError("expected a step above 0, or a factor above 1 and a start above 0")
        found: list[Value] = []
        while number <= last:
            found.append(_written(number, unit))
            number = number * factor + step
            if len(found) > RANGE_VALUES_MAX:
                raise ValueError(f"expected at most {RANGE_VALUES_MAX:,} values")
        if not found:
            raise ValueError(f"it goes from {self.start} to {self.to}: expected at least one value")
        return found


def _number(text: int | float | str) -> tuple[Decimal, str]:
    """Returns number and unit of a value such as `"2 MB"`."""
    match = re.fullmatch(r"(-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)\s*([A-Za-z]*)", str(text).strip())
    if not match:
        raise ValueError(f"'{text}' is no number with a unit, as in \"2 MB\"")
    return Decimal(match[1]), match[2]


def _written(number: Decimal, unit: str) -> Value:
    """Returns a value of a range as a number, or as text with its unit."""
    if unit:
        digits = f"{number:f}"
        return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits} {unit}"
    return int(number) if number == number.to_integral_value() else float(number)


Swept = tuple[Value, ...] | Range


def values_of(swept: Swept) -> list[Value]:
    """Returns the values of a swept key."""
    return swept.values() if isinstance(swept, Range) else list(swept)


def _paths(given: Any) -> Any:
    """Joins the names of nested tables: TOML reads `machine.llc.size = 1` without quotes as three tables."""
    if not isinstance(given, Mapping):
        return given
    found: dict[str, Any] = {}
    for name, value in given.items():
        is_table = isinstance(value, Mapping) and "from" not in value and "." not in name
        for path, inner in _paths(value).items() if is_table else [("", value)]:
            found[f"{name}.{path}" if path else name] = inner
    return found


Of = TypeVar("Of")
Keys = Annotated[dict[str, Of], BeforeValidator(_paths)]
"""Keys of machines and designs."""


class StudyInput(Part):
    """A program that runs: a built-in workload, a stored trace, or a command that the study records once."""

    workload: str | None = None
    """Name of a built-in workload."""
    settings: dict[str, Value] = {}
    """Parameters of the workload."""
    trace: str | None = None
    """File of a trace."""
    command: tuple[str, ...] | None = None
    """A program of this computer with its arguments."""
    skip: Instructions = 0
    """Instructions of the command before its recorded part."""
    region: bool = False
    """True to record only the instructions between the command's two markers."""
    persistent: Persistent = "all"
    """Part of a trace's or command's memory that must survive a loss of power."""

    @model_validator(mode="after")
    def _is_one(self) -> "StudyInput":
        if self._given() != 1:
            raise ValueError("expected one of workload, trace and command")
        return self

    def _given(self) -> int:
        return sum(given is not None for given in (self.workload, self.trace, self.command))

    @property
    def label(self) -> str:
        """Name of the program, without folder and suffix."""
        if self.workload:
            return self.workload + "".join(f"-{value}".replace(" ", "") for value in self.settings.values())
        return Path(self.trace).stem if self.trace else Path((self.command or ("",))[0]).name


class StudyProgram(StudyInput):
    """A program of a study, or several that run at once."""

    name: str | None = None
    """Name in results and figures."""
    together: tuple[StudyInput, ...] = ()
    """Programs that run at once, each on separate cores, in place of one."""
    copies: int = Field(default=1, ge=1)
    """Number of copies that run at once."""
    limit: Instructions | Literal["all"] | None = None
    """Maximum number of instructions, in place of the study's."""
    untimed: Instructions | None = None
    """Instructions without time before the warm-up, in place of the study's."""
    warm_up: Instructions | None = None
    """Instructions before counting begins, in place of the study's."""

    @model_validator(mode="after")
    def _is_one(self) -> "StudyProgram":
        if self._given() != (0 if self.together else 1):
            raise ValueError("expected one of workload, trace, command and together")
        return self

    @property
    def title(self) -> str:
        """Name of the program in results."""
        if self.name:
            return self.name
        label = "+".join(each.label for each in self.together) or self.label
        return label + (f"-x{self.copies}" if self.copies > 1 else "")

    def inputs(self) -> list[StudyInput]:
        """Returns the programs that run at once."""
        return [*(self.together or (self,))] * self.copies


def _program(given: Any) -> Any:
    """Converts the objects that `casemate.run` takes to the form of a study."""
    if isinstance(given, str):
        return {"workload": given}
    if isinstance(given, BuiltIn):
        return {"workload": given.name, "settings": dict(given.settings)}
    if isinstance(given, Trace):
        return {"trace": str(given.path), "persistent": given.persistent}
    if isinstance(given, Program):
        words = tuple(os.fsdecode(word) for word in given.command)
        return {
            "command": words, "skip": given.skip, "region": given.region, "persistent": given.persistent,
        }  # fmt: skip
    if isinstance(given, list | tuple) and all(isinstance(each, BuiltIn | Trace) for each in given):
        return {"together": [_program(each) for each in given]}
    return given


class AttackPoints(Part):
    """Campaigns of attacks on every design of a study, and on every swept design key."""

    trials: int = Field(default=ATTACK_TRIALS, ge=1)
    """Trials of each attack."""
    row: str | None = None
    """The only attack; all if absent."""


class CrashPoints(Part):
    """Losses of power under every design of a study, and on every swept design key."""

    thorough: bool = False
    """True for every strike of the attacker after all workloads."""
    row: str | None = None
    """The only kind of loss; all if absent."""


class StudyFigure(Part):
    """A figure of the report: a bar or a point for each group of runs, as a mean over programs and seeds."""

    value: str
    """Column of results, or `slowdown` or `traffic`: time and DRAM traffic as multiples of the baseline's."""
    x: str = "program"
    """Quantity of the horizontal axis: `program`, `design`, `machine` or a swept key."""
    series: str = "design"
    """Quantity that separates the series, one of the same."""
    mean: Literal["arithmetic", "geometric"] = "arithmetic"
    """Mean over programs, if the axis does not show them."""
    title: str = ""


def _programs(given: Any) -> list[Any]:
    return [_program(each) for each in (given if isinstance(given, list | tuple) else [given])]


Programs = Annotated[tuple[StudyProgram, ...], BeforeValidator(_programs)]


class StudyStart(Part):
    """Instructions of each program before counting begins."""

    untimed: Instructions = 0
    """Instructions that are executed without time, before the warm-up."""
    warm_up: Instructions = 0
    """Instructions of the warm-up."""


class Study(StudyStart):
    """A study: every program on every machine under every design, with every swept value and every seed."""

    name: str = "study"
    """Name of the study, and by default of its results folder."""
    programs: Programs = ()
    designs: Names = DEFAULT_DESIGNS
    """Names or files of designs."""
    machines: Names = (DEFAULT_MACHINE,)
    """Names or files of machines."""
    changes: Keys[Value] = {}
    """Keys with other values in all runs, as with `casemate run --with`."""
    over: Keys[Swept] = {}
    """Swept keys with their values. The study has a point for every combination of values."""
    zipped: tuple[Keys[Swept], ...] = ()
    """Groups of keys that change together: the first values of all, the second values of all, and so on."""
    seeds: int | tuple[int, ...] = 1
    """Seeds of every run: 1 to this number, or a list."""
    limit: Instructions | Literal["all"] | None = None
    detail: Literal["all", "sampled"] = "all"
    sampling: dict[str, float | str] = {}
    """Sampling options, as `{error = 0.01, aim = "traffic"}`."""
    age: Age = "new"
    start_order: StartOrder = "program"
    check_values: bool = False
    ledger: bool = False
    values: tuple[int, ...] = ()
    baseline: str | None = None
    """Design to which figures compare; `none` if the study has it, otherwise its first design."""
    attacks: AttackPoints | None = None
    crashes: CrashPoints | None = None
    figures: tuple[StudyFigure, ...] = ()

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise CasemateError(explained(error)) from None

    @model_validator(mode="after")
    def _agrees(self) -> "Study":
        if not (self.programs or self.attacks or self.crashes):
            raise ValueError("it has no work: expected programs, attacks or crashes")
        if isinstance(self.seeds, int) and self.seeds < 1:
            raise ValueError(f"seeds is {self.seeds}: expected at least 1")
        _check_some(designs=self.designs, machines=self.machines, seeds=self.all_seeds)
        for seed in self.all_seeds:
            if not 0 <= seed <= WHOLE_MAX:
                raise ValueError(f"seeds has {seed}: expected whole numbers from 0 to {WHOLE_MAX}")
        titles = [program.title for program in self.programs]
        for title in titles:
            if titles.count(title) > 1:
                raise ValueError(f"two programs are called '{title}': give one of them another name")
        for group in (self.over, *self.zipped):
            _check_some(**{key: values_of(swept) for key, swept in group.items()})
        for group in self.zipped:
            lengths = {key: len(values_of(swept)) for key, swept in group.items()}
            if len(set(lengths.values())) > 1:
                listed = ", ".join(f"{key} has {number}" for key, number in lengths.items())
                raise ValueError(f"keys that change together need as many values each: {listed}")
        keys = list(itertools.chain(self.changes, self.over, *self.zipped))
        for key in keys:
            if keys.count(key) > 1:
                raise ValueError(f"'{key}' has values twice: expected it in one of changes, over and zipped")
        return self

    @property
    def swept_keys(self) -> list[str]:
        """Keys that the study sweeps."""
        return list(itertools.chain(self.over, *self.zipped))

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds of every run."""
        return self.seeds if isinstance(self.seeds, tuple) else tuple(range(1, self.seeds + 1))

    @property
    def compared_with(self) -> str:
        """Name of the design to which figures compare."""
        return self.baseline or ("none" if "none" in self.designs else stated.name(self.designs[0]))


def _check_some(**lists: Sequence[Any]) -> None:
    """Raises `ValueError` for a list without a member."""
    for name, members in lists.items():
        if not members:
            raise ValueError(f"{name} is empty: expected at least one")


EXPECTED = {
    "seeds": "a number N for the seeds 1 to N, or a list, as in [1, 2]",
    "programs": 'a table, as in {workload = "bfs"}, {trace = "x.trace"} or {command = ["ls", "-l"]}',
    "over": "a list of values, as in [1, 2], or a range, as in {from = 1, to = 8, factor = 2}",
    "zipped": "a list of values, as in [1, 2], or a range, as in {from = 1, to = 8, factor = 2}",
}
"""Expected values of keys that accept several forms."""


def explained(error: ValidationError) -> str:
    """Returns the first error of a study as a sentence with the key, the expected value, and the nearest right key."""
    found = error.errors()
    first = next((each for each in found if each["type"] == "extra_forbidden"), found[-1])
    path = [str(part) for part in first["loc"] if str(part) not in _FORMS and "[" not in str(part)]
    where = ".".join(path)
    if first["type"] == "extra_forbidden":
        known = _keys_at(path[:-1])
        return f"unknown key '{where}'{hint(path[-1], known)}; there are: {', '.join(known)}"
    if first["type"] in ("tuple_type", "model_type", "dict_type"):
        return f"{where} is {first['input']!r}: expected {EXPECTED.get(path[0], 'a list')}"
    reason = first["msg"].removeprefix("Value error, ")
    reason = reason.replace("Input should be", "expected").replace("Field required", "it is missing")
    given = f" is {first['input']!r}" if not isinstance(first["input"], Mapping | Part) else ""
    return f"{where}{given}: {reason}" if where else reason


_FORMS = {"int", "float", "str", "bool", "Range"}
"""Words in the paths of errors that name a form of a value and no key."""


def _keys_at(path: Sequence[str]) -> list[str]:
    """Returns the keys of the part of a study at this path."""
    kinds: dict[str, type[Part]] = {
        "programs": StudyProgram, "together": StudyInput, "attacks": AttackPoints, "crashes": CrashPoints,
        "figures": StudyFigure, "over": Range, "zipped": Range,
    }  # fmt: skip
    named = [part for part in path if part in kinds]
    kind = kinds[named[-1]] if named else Study
    return [field.alias or name for name, field in kind.model_fields.items()]
