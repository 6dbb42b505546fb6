"""Turns a study into its points, each with its values of the swept keys."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from casemate import api
from casemate._core import CasemateError
from casemate.laboratory import arguments, stated
from casemate.laboratory.requests import BuiltIn, Program, RunOptions, Trace, usual_limit
from casemate.rows import columns
from casemate.schemas.run import Record
from casemate.studies import points
from casemate.studies.points import Checker, Kernel, Point, StoredTrace
from casemate.studies.recordings import Command, Input, Recordings
from casemate.studies.study import RATIOS, Study, StudyInput, StudyProgram, Value, values_of
from casemate.text.nearest import hint


@dataclass(frozen=True)
class Cell:
    """A cell of the grid of a study: a point, its program, and its values of the swept keys. Several cells may share a
    point: a key of one design does not change another.
    """

    point: Point
    program: str
    """Name of the program in the study."""
    swept: Mapping[str, Value]

    def coordinate(self, axis: str) -> str:
        """Returns the position on an axis: `program`, `design`, `machine`, `seed` or a swept key."""
        if axis == "program":
            return self.program
        if axis in ("design", "machine"):
            return self.point.design_name if axis == "design" else self.point.machine_name
        return str(self.point.seed if axis == "seed" else self.swept.get(axis, ""))


def expanded(study: Study, recordings: Recordings) -> list[Cell]:
    """Returns all points of a study as cells, after a check of each. It records the study's commands. Raises
    `CasemateError` for the first point that cannot be carried out.
    """
    inputs = {program.title: [recordings.input(each) for each in _inputs(study, program)] for program in study.programs}
    return cells(study, inputs)


def cells(study: Study, inputs: Mapping[str, Sequence[Kernel | StoredTrace]]) -> list[Cell]:
    """Returns all points of a study as cells; `inputs` contains the inputs of each program."""
    _check_keys(study)
    found = [*_runs(study, inputs), *_campaigns(study)]
    by_content: dict[str, Point] = {}
    checker = Checker()
    checked = []
    for cell in found:
        point = checker.with_hash(cell.point)
        checked.append(Cell(by_content.setdefault(point.hash, point), cell.program, cell.swept))
    return checked


def equal_programs(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Returns a sentence for each group of programs that share their points, because they have the same content."""
    groups: dict[str, dict[str, None]] = {}
    for cell in cells:
        groups.setdefault(cell.point.hash, {})[cell.program] = None
    shared = dict.fromkeys(tuple(names) for names in groups.values() if len(names) > 1)
    return tuple(
        f"the programs {', '.join(others)} and {last} are the same: results have one row for all, of {others[0]}"
        for *others, last in shared
    )


def _inputs(study: Study, program: StudyProgram) -> list[Input]:
    return [_input(study, program, each) for each in program.inputs()]


def _input(study: Study, program: StudyProgram, each: StudyInput) -> Input:
    """Returns an input in the form of the laboratory."""
    if each.workload:
        return BuiltIn(each.workload, each.settings)
    if each.trace:
        return Trace(each.trace, each.persistent)
    limit = _limit(study, program)
    recorded = arguments.limit(limit, usual_limit(stored=False, sampled=study.detail == "sampled"))
    live = Program(list(each.command or ()), skip=each.skip, region=each.region, persistent=each.persistent)
    return Command(live, recorded, study.check_values)


def _limit(study: Study, program: StudyProgram) -> Any:
    return study.limit if program.limit is None else program.limit


def _options(study: Study, program: StudyProgram) -> dict[str, Any]:
    """Returns the options of a program's runs that differ from the defaults."""
    given = {
        "limit": _limit(study, program), "untimed": study.untimed if program.untimed is None else program.untimed,
        "warm_up": study.warm_up if program.warm_up is None else program.warm_up,
        "detail": study.detail, "sampling": dict(study.sampling), "age": study.age, "start_order": study.start_order,
        "check_values": study.check_values, "ledger": study.ledger, "values": tuple(study.values),
    }  # fmt: skip
    usual = RunOptions()
    return {name: value for name, value in given.items() if value != getattr(usual, name)}


def _combinations(study: Study) -> Iterator[dict[str, Value]]:
    """Yields the values of the swept keys: crossed, and zipped within each group."""
    groups = [[{key: value} for value in values_of(swept)] for key, swept in study.over.items()]
    for group in study.zipped:
        values = [values_of(swept) for swept in group.values()]
        groups.append([dict(zip(group, row, strict=True)) for row in zip(*values, strict=True)])
    for combination in itertools.product(*groups):
        yield {key: value for part in combination for key, value in part.items()}


def _runs(study: Study, inputs: Mapping[str, Sequence[Kernel | StoredTrace]]) -> Iterator[Cell]:
    for seed, program, swept in itertools.product(study.all_seeds, study.programs, list(_combinations(study))):
        options = _options(study, program)
        for machine, design in itertools.product(study.machines, study.designs):
            changes = _of_one(study.changes | swept, machine, design, study)
            programs = tuple(inputs[program.title])
            point = Point("run", design, machine, changes, program.title, programs, options, seed)
            yield Cell(point, program.title, swept)


def _campaigns(study: Study) -> Iterator[Cell]:
    wanted: list[tuple[points.Kind, Any]] = [("attack", study.attacks), ("crash", study.crashes)]
    for kind, campaign in wanted:
        if campaign is None:
            continue
        options = {name: value for name, value in campaign.model_dump().items() if value is not None}
        for seed, swept, design in itertools.product(study.all_seeds, list(_combinations(study)), study.designs):
            changes = {
                key: value
                for key, value in _of_one(study.changes | swept, "", design, study).items()
                if key.startswith("design.")
            }
            point = Point(kind, design, "", changes, campaign.row or "all", (), options, seed)
            yield Cell(point, point.program, swept)


def _of_one(changes: Mapping[str, Value], machine: str, design: str, study: Study) -> dict[str, Value]:
    """Returns the changes that concern a machine and a design, without the names of these in the keys."""
    found: dict[str, Value] = {}
    for path, value in changes.items():
        of, _, key = path.partition(".")
        own, names = (machine, study.machines) if of == "machine" else (design, study.designs)
        only = next((name for name in names if key.startswith(f"{stated.name(name)}.")), None)
        if only is None:
            found.setdefault(path, value)
        elif only == own:
            found[f"{of}.{key.removeprefix(f'{stated.name(only)}.')}"] = value
    return found


def _check_names(kind: str, given: Sequence[str]) -> None:
    """Raises `CasemateError` for two designs or machines with the same name: rows and figures would mix them."""
    known: dict[str, str] = {}
    for each in given:
        first = known.setdefault(stated.name(each), each)
        if first != each:
            raise CasemateError(
                f"two {kind} are called '{stated.name(each)}', {first} and {each}: give one of them another name"
            )


def _check_keys(study: Study) -> None:
    """Raises `CasemateError` for keys that are not of a machine or a design, and for a figure without its axis."""
    arguments.changes(dict.fromkeys([*study.changes, *study.swept_keys], 0), study.machines, study.designs)
    for kind, names in (("designs", study.designs), ("machines", study.machines)):
        _check_names(kind, list(dict.fromkeys(names)))
    if study.baseline is not None:
        arguments.one_of(study.baseline, map(stated.name, study.designs), "baseline")
    axes = ["program", "design", "machine", "seed", *study.swept_keys]
    known = set(columns.of_type(Record)) | set(RATIOS)
    for figure in study.figures:
        if figure.value not in known:
            expected = "slowdown, traffic or a column of results"
            raise CasemateError(
                f"a figure shows '{figure.value}': expected {expected}{hint(figure.value, known, alike=0.7)}"
            )
        for axis in (figure.x, figure.series):
            arguments.one_of(axis, axes, "axis of a figure")
    if study.attacks:
        arguments.one_of(study.attacks.row, [attack.name for attack in api.attacks()], "attack")
    if study.crashes:
        arguments.one_of(study.crashes.row, [loss.name for loss in api.losses()], "loss of power")
