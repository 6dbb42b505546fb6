"""The laboratory from Python: the functions of the command line, with typed results.

Ctrl-C is not an error: the functions return the results finished so far, marked as interrupted.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import TypeAdapter

from casemate._core import CasemateError
from casemate.crypto.crypto_bench import CryptoOptions
from casemate.laboratory import arguments, first_pass, native, stopped_attacks
from casemate.laboratory.arguments import Instructions, Several
from casemate.laboratory.explaining import usual_machine
from casemate.laboratory.requests import DEFAULT_MACHINE, Program, Runnable, RunOptions, runnables
from casemate.schemas.attack import AttackReport, Campaign, ExhaustiveReport, Protection
from casemate.schemas.bench import CryptoBench
from casemate.schemas.catalogue import (
    Attack,
    DesignInfo,
    Loss,
    Machine,
    Meaning,
    Setting,
    Settings,
    VerbMeaning,
    Workload,
)
from casemate.schemas.cost import BatteryCost, Counting
from casemate.schemas.crash import CrashReport, ProgramReport
from casemate.schemas.layout import Layout
from casemate.schemas.origin import Recording, TraceInfo
from casemate.schemas.run import RunResults
from casemate.schemas.validation import Validation
from casemate.schemas.window import Window
from casemate.text.shown import Listed

DEFAULT_DESIGNS = ("none", "sc64-bmt")
ATTACK_TRIALS = 100
"""Default number of trials of each attack."""

PROGRAM_LOSSES = 1000
"""Default number of losses of power for a program."""

DEFAULT_ENTRIES = 32
"""Default number of entries of a secure persist buffer."""

ProgressCallback = Callable[[dict[str, Any]], object]
"""Function that receives the progress of the work, about ten times a second."""


def _relay(progress: ProgressCallback | None) -> Callable[[str], object]:
    return lambda text: progress(json.loads(text)) if progress else None


def designs() -> Listed[DesignInfo]:
    """Returns all built-in designs."""
    return Listed(TypeAdapter(tuple[DesignInfo, ...]).validate_json(native.designs()))


def design(name_or_path: str) -> DesignInfo:
    """Returns the design with this name, or in this file (which must end in `.toml`)."""
    return DesignInfo.model_validate_json(native.design(name_or_path))


def machines() -> Listed[Machine]:
    """Returns all built-in machines."""
    return Listed(TypeAdapter(tuple[Machine, ...]).validate_json(native.machines()))


def workloads() -> Listed[Workload]:
    """Returns all built-in workloads."""
    return Listed(TypeAdapter(tuple[Workload, ...]).validate_json(native.workloads()))


def attacks() -> Listed[Attack]:
    """Returns all built-in attacks."""
    return Listed(TypeAdapter(tuple[Attack, ...]).validate_json(native.attacks()))


def losses() -> Listed[Loss]:
    """Returns all kinds of losses of power that `crash` tries."""
    return Listed(TypeAdapter(tuple[Loss, ...]).validate_json(native.losses()))


def verdicts() -> Listed[Meaning]:
    """Returns all verdicts, from the defender's best to its worst case."""
    return Listed(TypeAdapter(tuple[Meaning, ...]).validate_json(native.verdicts()))


def verbs() -> Listed[VerbMeaning]:
    """Returns all verbs that name the pieces of work in a timeline."""
    return Listed(TypeAdapter(tuple[VerbMeaning, ...]).validate_json(native.verbs()))


def layout(design: str, *, machine: str | None = None, memory: str | None = None) -> Layout:
    """Returns the placement of a design's data and metadata in the memory of a machine; the default is its
    `usual_machine`. `memory` gives another size, as in `"64 GB"`.
    """
    return Layout.model_validate_json(native.layout(machine or usual_machine([design]), design, memory))


def run(
    what: Runnable,
    *,
    designs: Several = DEFAULT_DESIGNS,
    machine: Several = DEFAULT_MACHINE,
    changes: Mapping[str, object] | None = None,
    options: RunOptions | None = None,
    progress: ProgressCallback | None = None,
) -> RunResults:
    """Runs one program under several designs and compares their cost and the attacks that they stop.

    `what` is a command with its arguments (or a `Program`, which has more options), a `BuiltIn` workload or a `Trace`.
    It may be a list of workloads and traces: they run at the same time, each on separate cores and in separate memory,
    as in `4 * [BuiltIn("gups")]`. `designs` and `machine` are one name or several; every design is run on every
    machine. `changes` gives keys of all machines and designs other values than their files, as in
    `{"machine.engines.aes.latency_ns": 25, "design.parts.caches.counters": "256 KB"}`. A key that contains a name
    changes only that design or machine, as in `{"design.sc64-bmt.parts.mac.tag_bits": 64}`. `options` select the part
    of the program that is simulated, the level of detail, and the checks.

    Raises `CasemateError` if anything requested does not exist.
    """
    options, programs = RunOptions() if options is None else options, runnables(what)
    arguments.be(options, RunOptions, "options")
    names, machines = arguments.names(designs, "design"), arguments.names(machine, "machine")
    spec = options.as_request(programs) | {
        "designs": names,
        "machines": machines,
        "changes": arguments.changes(changes, machines, names),
        "programs": [program.as_request(options.check_values) for program in programs],
    }
    if options.start_order == "frequent":
        values = first_pass.start_values(spec, programs, _relay(progress))
        if values is None:
            return RunResults.model_validate({**first_pass.INTERRUPTED, "changes": arguments.listed(changes)})
        spec["start"]["values"] = values
    answer = json.loads(native.run(native.to_json(spec), _relay(progress)))
    found: list[Protection] = []
    try:
        changed = {design: arguments.changes_of_design(changes, design, names) for design in names}
        if options.protection and answer["records"]:
            found.extend(stopped_attacks.protection_of(design, changed[design], progress) for design in names)
    except KeyboardInterrupt:
        answer["interrupted"] = True
    answer |= {"protection": [summary.model_dump() for summary in found], "changes": arguments.listed(changes)}
    return RunResults.model_validate_json(json.dumps(answer))


def record(
    program: Program | Sequence[str],
    path: str | os.PathLike[str],
    *,
    limit: Instructions | None = None,
    load_values: bool = False,
    progress: ProgressCallback | None = None,
) -> Recording:
    """Stores a program's execution in a file, to be simulated as often as you like; without a `limit`, the whole
    execution. With `load_values` the file also contains the values that the program loads, so that a run can compare
    them with the simulated memory.
    """
    program = program if isinstance(program, Program) else Program(program)
    spec = {
        "program": program.as_request(load_values),
        "limit": arguments.limit(limit, None),
        "output": str(path),
    }
    answer = json.loads(native.record(native.to_json(spec), _relay(progress)))
    return Recording.model_validate_json(json.dumps({"path": str(path), **answer}))


def trace_info(path: str | os.PathLike[str], *, progress: ProgressCallback | None = None) -> TraceInfo:
    """Returns a summary of a trace's content. The function reads the whole file and checks it."""
    return TraceInfo.model_validate_json(native.trace_info(str(path), _relay(progress)))


def _attack(row: str | None) -> str | None:
    """Returns the attack, if the caller names one. Raises `CasemateError` if there is no attack of this name."""
    return arguments.one_of(row, (attack.name for attack in attacks()), "attack")


def attack(
    design: str,
    *,
    row: str | None = None,
    trials: int = ATTACK_TRIALS,
    seed: int = 1,
    changes: Mapping[str, object] | None = None,
    progress: ProgressCallback | None = None,
) -> AttackReport:
    """Carries out attacks against a design: all attacks, or only `row`; `changes` is as for `run`."""
    spec = native.to_json({
        "row": _attack(row), "trials": arguments.whole(trials, "trials", least=1),
        "seed": arguments.whole(seed, "seed"),
        "changes": arguments.changes(changes, designs=[design]),
    })  # fmt: skip
    return AttackReport.model_validate_json(native.attack(design, spec, _relay(progress)))


def crash(
    design: str,
    *,
    row: str | None = None,
    workload: int | None = None,
    seed: int = 1,
    thorough: bool = False,
    changes: Mapping[str, object] | None = None,
    progress: ProgressCallback | None = None,
) -> CrashReport:
    """Tries losses of power under a design: all kinds, or only `row`; with all short workloads, or only one. `changes`
    is as for `run`.

    After workloads of one and two writes the attacker tries every strike on memory, after longer workloads one strike
    of each kind, drawn with the seed. If `thorough`, it tries every strike after all workloads, and more subsets of the
    writes on their way arrive.
    """
    spec = native.to_json({
        "row": arguments.one_of(row, (loss.name for loss in losses()), "row"), "seed": arguments.whole(seed, "seed"),
        "workload": None if workload is None else arguments.whole(workload, "workload"), "thorough": bool(thorough),
        "changes": arguments.changes(changes, designs=[design]),
    })  # fmt: skip
    return CrashReport.model_validate_json(native.crash(design, spec, _relay(progress)))


def crash_program(
    design: str,
    program: str,
    *,
    losses: int = PROGRAM_LOSSES,
    settings: Mapping[str, object] | None = None,
    seed: int = 1,
    changes: Mapping[str, object] | None = None,
    progress: ProgressCallback | None = None,
) -> ProgramReport:
    """Runs a built-in program that contains a recovery routine through losses of power under a design; `changes` is as
    for `run`.

    A campaign has `losses` losses of power. A run of the program continues over its losses until it ends; then the next
    run starts with new memory.
    """
    given = {name: str(value) for name, value in (settings or {}).items()}
    spec = native.to_json({
        "program": program, "settings": given, "losses": arguments.whole(losses, "losses", least=1),
        "seed": arguments.whole(seed, "seed"),
        "changes": arguments.changes(changes, designs=[design]),
    })  # fmt: skip
    return ProgramReport.model_validate_json(native.crash_program(design, spec, _relay(progress)))


def attack_many(
    designs: Sequence[str],
    log: str | os.PathLike[str],
    *,
    row: str | None = None,
    trials: int | None = None,
    budget_seconds: float | None = None,
    seed: int = 1,
    progress: ProgressCallback | None = None,
) -> Campaign:
    """Carries out many trials of attacks, on all processors, until each attack has `trials` trials or the budget of
    time is used up.

    The function appends finished trials to the file `log`, in an existing folder, and does not repeat trials of the
    log. With a budget of zero it only reads the log.
    """
    folder = Path(log).parent
    if not folder.is_dir():
        raise CasemateError(f"the log '{log}' cannot be kept: there is no folder '{folder}'; make it first")
    spec = {
        "designs": arguments.names(designs, "design"), "row": _attack(row), "seed": arguments.whole(seed, "seed"),
        "trials": None if trials is None else arguments.whole(trials, "trials", least=1),
        "budget_seconds": budget_seconds, "log": str(log),
    }  # fmt: skip
    return Campaign.model_validate_json(native.attack_many(native.to_json(spec), _relay(progress)))


def settings(kind: Literal["machine", "design"], name: str, changes: Mapping[str, object] | None = None) -> Settings:
    """Returns all values of a machine or a design, built in or in a file, and the source of each value; `changes` is as
    for `run`.
    """
    changed = native.to_json(arguments.changes(changes, [name], [name]))
    return Settings(
        name=name, settings=TypeAdapter(tuple[Setting, ...]).validate_json(native.settings(kind, name, changed))
    )


def attack_bits(design: str, *, progress: ProgressCallback | None = None) -> ExhaustiveReport:
    """Flips every stored bit of a small memory under a design, one at a time."""
    return ExhaustiveReport.model_validate_json(native.attack_bits(design, _relay(progress)))


def window(
    trace: str | Path,
    *,
    machine: str | Path = "champsim-default",
    warmup: Instructions,
    instructions: Instructions,
    seed: int = 1,
    progress: ProgressCallback | None = None,
) -> Window:
    """Measures a window of a ChampSim trace on an unprotected machine, in ChampSim's terms."""
    extent = (arguments.instructions(warmup, "warmup"), arguments.instructions(instructions, "instructions"))
    return Window.model_validate_json(native.window(str(machine), str(trace), extent, seed, _relay(progress)))


def validate(*, brief: bool = False, progress: ProgressCallback | None = None) -> Validation:
    """Measures the machine against public simulators of the same configuration: minutes, or seconds if `brief`."""
    return Validation.model_validate_json(native.validate(brief, _relay(progress)))


def cost_of_battery(
    systems: Several = (),
    *,
    entries: int | Sequence[int] = DEFAULT_ENTRIES,
    height: int | None = None,
    profile: str | os.PathLike[str] = "secpb",
    counted: Counting = "buffers",
    progress: ProgressCallback | None = None,
) -> BatteryCost:
    """Size of the battery that drains a secure persist buffer, by SecPB's estimate of the worst case.

    `systems` are schemes of SecPB (`"cobcm"` to `"nogap"`) and the systems that the paper compares with them; the
    default is all. `entries` is the number of entries of the buffer, one number or several. `height` is the number of
    levels of the tree, counters and root included; the default is the profile's. `profile` is a name or a file with
    energies, sizes and storages. With `counted="buffers"` the drains of schemes are carried out too, on a memory of
    real bytes: each entry separately from cold caches, and all together. `progress` receives the progress of these
    drains. They take milliseconds for 32 entries; for large buffers the time grows with the square of the number of
    entries. With `"all"` the drain of secure eADR, with caches full of dirty lines, is carried out as well: it takes
    seconds for the profile's 74,752 lines. With `"nothing"` the result contains only the closed forms.

    Energies are in nanojoules, volumes in cubic millimetres. Source: "SecPB: Architectures for Secure Non-Volatile
    Memory with Battery-Backed Persist Buffers", sections V and VI, Tables III, V and VI.

    Raises `CasemateError` for unknown systems, for numbers out of range and for a wrong profile.
    """
    named = [systems] if isinstance(systems, str) else list(systems)
    numbers = [entries] if isinstance(entries, int) else list(entries)
    if not numbers:
        raise CasemateError("no entries are given: expected a number of them, or several, as in [32, 64]")
    for what, number in [*(("entries", number) for number in numbers), ("height", 2 if height is None else height)]:
        if type(number) is not int or abs(number) >= 2**63:
            raise CasemateError(f"{what} is {number!r}: expected a whole number")
    drains = arguments.one_of(counted, get_args(Counting), "choice of counted drains")
    question = native.to_json({"entries": numbers, "levels": height, "systems": named, "counted": drains})
    return BatteryCost.model_validate_json(native.battery(str(profile), question, _relay(progress)))


def bench_crypto(options: CryptoOptions | None = None, *, progress: ProgressCallback | None = None) -> CryptoBench:
    """Measures the speed at which one core of this computer seals and opens with AES-128-GCM.

    Seconds of a call are medians; cycles are of the core's clock, which is measured as well. Watts are from the
    processor's energy counters, or a share of a TDP. OpenSSL, if it is installed, is measured twice, for a second at
    each size and in each direction.

    Raises `CasemateError` for sizes that are not possible for a message, and for other numbers out of range.
    """
    from casemate.crypto import crypto_bench

    return crypto_bench.measure(CryptoOptions() if options is None else options, progress)
