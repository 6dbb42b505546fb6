"""The laboratory from Python: what the command line does, with typed results.

Ctrl-C is not an error: what was finished is returned, and says that it was interrupted.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import TypeAdapter

from casemate import asked, laboratory, stopped
from casemate._core import CasemateError
from casemate.asked import Instructions, Several
from casemate.crypto_bench import CryptoOptions
from casemate.requests import Access, Program, Read, Runnable, RunOptions, Store, runnables
from casemate.results.attack import AttackReport, Campaign, ExhaustiveReport, Protection
from casemate.results.bench import CryptoBench
from casemate.results.catalogue import (
    Attack,
    DesignInfo,
    Layout,
    Loss,
    Machine,
    Meaning,
    Setting,
    Settings,
    VerbMeaning,
    Workload,
)
from casemate.results.cost import BatteryCost, Counting
from casemate.results.crash import CrashReport, ProgramReport
from casemate.results.explain import Explanation
from casemate.results.origin import Recording, TraceInfo
from casemate.results.run import RunResults
from casemate.results.validation import Validation
from casemate.results.window import Window

DEFAULT_DESIGNS = ("none", "sc64-bmt")
DEFAULT_MACHINE = "modern"
STORE_MACHINE = "secpb-pcm"
"""Where a store is explained if no machine is named: its memory has the write-pending queue of persist buffers."""

MOVING_MACHINE = "cryptopage-2006"
"""The same of lines that move: its lines and pages are those that chunks need."""

ATTACK_TRIALS = 100
"""Trials of each attack if nothing is said."""

PROGRAM_LOSSES = 1000
"""Losses of power of a program if nothing is said."""

DEFAULT_ENTRIES = 32
"""Entries of a secure persist buffer if nothing is said."""

Told = Callable[[dict[str, Any]], object]
"""Gets the progress, about ten times a second."""


def _relay(progress: Told | None) -> Callable[[str], object]:
    return lambda text: progress(json.loads(text)) if progress else None


def designs() -> tuple[DesignInfo, ...]:
    """All built-in designs."""
    return TypeAdapter(tuple[DesignInfo, ...]).validate_json(laboratory.designs())


def design(name_or_path: str) -> DesignInfo:
    """The design with this name, or in this file (which must end in `.toml`)."""
    return DesignInfo.model_validate_json(laboratory.design(name_or_path))


def machines() -> tuple[Machine, ...]:
    """All built-in machines."""
    return TypeAdapter(tuple[Machine, ...]).validate_json(laboratory.machines())


def workloads() -> tuple[Workload, ...]:
    """All built-in workloads."""
    return TypeAdapter(tuple[Workload, ...]).validate_json(laboratory.workloads())


def attacks() -> tuple[Attack, ...]:
    """All attacks."""
    return TypeAdapter(tuple[Attack, ...]).validate_json(laboratory.attacks())


def losses() -> tuple[Loss, ...]:
    """All kinds of losses of power."""
    return TypeAdapter(tuple[Loss, ...]).validate_json(laboratory.losses())


def verdicts() -> tuple[Meaning, ...]:
    """All verdicts, from what the defender wants to what it fears."""
    return TypeAdapter(tuple[Meaning, ...]).validate_json(laboratory.verdicts())


def verbs() -> tuple[VerbMeaning, ...]:
    """All verbs of a timeline."""
    return TypeAdapter(tuple[VerbMeaning, ...]).validate_json(laboratory.verbs())


def layout(design: str, *, machine: str | None = None, memory: str | None = None) -> Layout:
    """Where a design puts data and metadata in the memory of a machine, of its `usual_machine` if none is named, or in
    one of another size, as in `"64 GB"`.
    """
    return Layout.model_validate_json(laboratory.layout(machine or usual_machine([design]), design, memory))


def run(
    what: Runnable,
    *,
    designs: Several = DEFAULT_DESIGNS,
    machine: Several = DEFAULT_MACHINE,
    changes: Mapping[str, object] | None = None,
    options: RunOptions | None = None,
    progress: Told | None = None,
) -> RunResults:
    """Runs one program under several designs and compares what they cost and what they stop.

    `what` is a command with its arguments (or a `Program`, which says more of it), a `BuiltIn` workload, a `Trace`, or
    several of the last two: they run at once, each on cores and in memory of its own, as in `4 * [BuiltIn("gups")]`.
    `designs` and `machine` are one name or several; every design is run on every machine.
    `changes` gives keys of all machines and designs other values than their files, as in
    `{"machine.engines.aes.latency_ns": 25, "design.parts.caches.counters": "256 KB"}`, or of one alone, as in
    `{"design.sc64-bmt.parts.mac.tag_bits": 64}`.
    `options` say how much of it is run, how, and what is checked.

    Raises `CasemateError` if anything asked for is not to be had.
    """
    options, programs = RunOptions() if options is None else options, runnables(what)
    asked.be(options, RunOptions, "options")
    names, machines = asked.names(designs, "design"), asked.names(machine, "machine")
    spec = options.asked(programs) | {
        "designs": names,
        "machines": machines,
        "changes": asked.changes(changes, machines, names),
        "programs": [program.asked(options.check_values) for program in programs],
    }
    answer = json.loads(laboratory.run(laboratory.to_json(spec), _relay(progress)))
    found: list[Protection] = []
    try:
        told = {design: asked.changes_of_design(changes, design, names) for design in names}
        if options.protection and answer["records"]:
            found.extend(stopped.protection_of(design, told[design], progress) for design in names)
    except KeyboardInterrupt:
        answer["interrupted"] = True
    answer |= {"protection": [summary.model_dump() for summary in found], "changes": asked.listed(changes)}
    return RunResults.model_validate_json(json.dumps(answer))


def record(
    program: Program | Sequence[str],
    path: str | os.PathLike[str],
    *,
    limit: Instructions | None = None,
    load_values: bool = False,
    progress: Told | None = None,
) -> Recording:
    """Stores a program's execution in a file, to be run as often as you like; all of it, if no `limit` is given. With
    `load_values` also what the program loads, which a run can then compare.
    """
    program = program if isinstance(program, Program) else Program(program)
    spec = {
        "program": program.asked(load_values),
        "limit": asked.limit(limit, None),
        "output": str(path),
    }
    answer = json.loads(laboratory.record(laboratory.to_json(spec), _relay(progress)))
    return Recording.model_validate_json(json.dumps({"path": str(path), **answer}))


def trace_info(path: str | os.PathLike[str], *, progress: Told | None = None) -> TraceInfo:
    """What a trace holds. All of it is read and checked."""
    return TraceInfo.model_validate_json(laboratory.trace_info(str(path), _relay(progress)))


def usual_machine(designs: Sequence[str], access: Access | None = None) -> str:
    """The machine on which accesses under these designs are explained if none is named: `DEFAULT_MACHINE`; of a store
    `STORE_MACHINE`, which has what a persist buffer needs; `MOVING_MACHINE` if lines of any design move, which has
    lines and pages for that.
    """
    if isinstance(access, Store):
        return STORE_MACHINE
    return MOVING_MACHINE if any(design(name).parts.permutation for name in designs) else DEFAULT_MACHINE


def explain(
    design: str,
    access: Access | None = None,
    *,
    machine: str | None = None,
    changes: Mapping[str, object] | None = None,
) -> Explanation:
    """The timeline of one access under a design: of a `Read`, a `Write`, a `Store`, a `Page` or a `Permutation`;
    `changes` as for `run`. If no machine is named it is the `usual_machine`.

    Raises `CasemateError` for an address outside the memory, and for a value that fills no line.
    """
    access = Read() if access is None else access
    if not isinstance(access, Access):
        raise CasemateError(f"access is {access!r}: expected a Read, a Write or a Store, as in Read(...)")
    machine = machine or usual_machine([design], access)
    changed = laboratory.to_json(asked.changes(changes, [machine], [design]))
    scenario, chosen = laboratory.to_json(access.scenario()), laboratory.to_json(access.chosen())
    return Explanation.model_validate_json(laboratory.explain(machine, design, changed, scenario, chosen))


def _attack(row: str | None) -> str | None:
    """The attack, if one is named. Raises `CasemateError` if there is none of this name."""
    return asked.one_of(row, (attack.name for attack in attacks()), "attack")


def attack(
    design: str,
    *,
    row: str | None = None,
    trials: int = ATTACK_TRIALS,
    seed: int = 1,
    changes: Mapping[str, object] | None = None,
    progress: Told | None = None,
) -> AttackReport:
    """Carries attacks out against a design: all of them, or only `row`; `changes` as for `run`."""
    spec = laboratory.to_json({
        "row": _attack(row), "trials": asked.whole(trials, "trials", least=1), "seed": asked.whole(seed, "seed"),
        "changes": asked.changes(changes, designs=[design]),
    })  # fmt: skip
    return AttackReport.model_validate_json(laboratory.attack(design, spec, _relay(progress)))


def crash(
    design: str,
    *,
    row: str | None = None,
    workload: int | None = None,
    seed: int = 1,
    thorough: bool = False,
    changes: Mapping[str, object] | None = None,
    progress: Told | None = None,
) -> CrashReport:
    """Tries losses of power under a design: all kinds, or only `row`; after all short workloads, or only one; `changes`
    as for `run`.

    Workloads of one and two writes are attacked with every strike, longer ones with one of each kind, drawn with the
    seed; if `thorough`, all are attacked with every strike, and with more subsets of what was on its way.
    """
    spec = laboratory.to_json({
        "row": asked.one_of(row, (loss.name for loss in losses()), "row"), "seed": asked.whole(seed, "seed"),
        "workload": None if workload is None else asked.whole(workload, "workload"), "thorough": bool(thorough),
        "changes": asked.changes(changes, designs=[design]),
    })  # fmt: skip
    return CrashReport.model_validate_json(laboratory.crash(design, spec, _relay(progress)))


def survive(
    design: str,
    program: str,
    *,
    losses: int = PROGRAM_LOSSES,
    settings: Mapping[str, object] | None = None,
    seed: int = 1,
    changes: Mapping[str, object] | None = None,
    progress: Told | None = None,
) -> ProgramReport:
    """Lets a built-in program with a recovery of its own live through losses of power under a design; `changes` as for
    `run`.

    Power fails `losses` times, in one life of the program after the other, each over a memory of its own.
    """
    given = {name: str(value) for name, value in (settings or {}).items()}
    spec = laboratory.to_json({
        "program": program, "settings": given, "losses": asked.whole(losses, "losses", least=1),
        "seed": asked.whole(seed, "seed"),
        "changes": asked.changes(changes, designs=[design]),
    })  # fmt: skip
    return ProgramReport.model_validate_json(laboratory.survive(design, spec, _relay(progress)))


def campaign(
    designs: Sequence[str],
    log: str | os.PathLike[str],
    *,
    row: str | None = None,
    trials: int | None = None,
    budget_seconds: float | None = None,
    seed: int = 1,
    progress: Told | None = None,
) -> Campaign:
    """Carries out many trials of attacks, on all processors, until each row has `trials` of them or the time is over.

    What is done is added to `log`, whose folder must be there, and what is there already is not done again. A budget of
    zero only reads the log.
    """
    folder = Path(log).parent
    if not folder.is_dir():
        raise CasemateError(f"the log '{log}' cannot be kept: there is no folder '{folder}'; make it first")
    spec = {
        "designs": asked.names(designs, "design"), "row": _attack(row), "seed": asked.whole(seed, "seed"),
        "trials": None if trials is None else asked.whole(trials, "trials", least=1),
        "budget_seconds": budget_seconds, "log": str(log),
    }  # fmt: skip
    return Campaign.model_validate_json(laboratory.campaign_with_log(laboratory.to_json(spec), _relay(progress)))


def settings(kind: Literal["machine", "design"], name: str, changes: Mapping[str, object] | None = None) -> Settings:
    """All values of a machine or a design, built in or in a file, and where each comes from; `changes` as for `run`."""
    told = laboratory.to_json(asked.changes(changes, [name], [name]))
    return Settings(
        name=name, settings=TypeAdapter(tuple[Setting, ...]).validate_json(laboratory.settings(kind, name, told))
    )


def exhaustive(design: str, *, progress: Told | None = None) -> ExhaustiveReport:
    """Flips every stored bit of a small memory under a design, each by itself."""
    return ExhaustiveReport.model_validate_json(laboratory.exhaustive(design, _relay(progress)))


def window(
    trace: str | Path,
    *,
    machine: str | Path = "champsim-default",
    warmup: Instructions,
    instructions: Instructions,
    seed: int = 1,
    progress: Told | None = None,
) -> Window:
    """Measures a window of a ChampSim trace on an unprotected machine, in ChampSim's terms."""
    extent = (asked.instructions(warmup, "warmup"), asked.instructions(instructions, "instructions"))
    return Window.model_validate_json(laboratory.window(str(machine), str(trace), extent, seed, _relay(progress)))


def validate(*, brief: bool = False, progress: Told | None = None) -> Validation:
    """Measures the machine against public simulators of the same configuration: minutes, or seconds if `brief`."""
    return Validation.model_validate_json(laboratory.validate(brief, _relay(progress)))


def cost_of_battery(
    systems: Several = (),
    *,
    entries: int | Sequence[int] = DEFAULT_ENTRIES,
    height: int | None = None,
    profile: str | os.PathLike[str] = "secpb",
    counted: Counting = "buffers",
    progress: Told | None = None,
) -> BatteryCost:
    """How large a battery must be that drains a secure persist buffer, by SecPB's estimate of the worst case.

    `systems` are schemes of SecPB (`"cobcm"` to `"nogap"`) and what they are compared with, all if none is named;
    `entries` are those of the buffer, one number or several; `height` is the levels of the tree, counters and root
    included, the profile's if nothing is said. `profile` is a name or a file with energies, sizes and storages.
    With `counted="buffers"` the drains of schemes are carried out too, on a memory of real bytes: each entry alone
    from cold caches, and all together; `progress` hears how far that is. It takes milliseconds for 32 entries, and
    grows with the square of large numbers. With `"all"` so is that of secure eADR, whose caches are full of dirty
    lines: seconds for the profile's 74,752. With `"nothing"` there are closed forms alone.

    Energies are in nanojoules, volumes in cubic millimetres. Source: "SecPB: Architectures for Secure Non-Volatile
    Memory with Battery-Backed Persist Buffers", sections V and VI, Tables III, V and VI.

    Raises `CasemateError` for unknown systems, for numbers out of range and for a wrong profile.
    """
    named = [systems] if isinstance(systems, str) else list(systems)
    numbers = [entries] if isinstance(entries, int) else list(entries)
    if not numbers:
        raise CasemateError("no entries are asked for: expected a number of them, or several, as in [32, 64]")
    for what, number in [*(("entries", number) for number in numbers), ("height", 2 if height is None else height)]:
        if type(number) is not int or abs(number) >= 2**63:
            raise CasemateError(f"{what} is {number!r}: expected a whole number")
    drains = asked.one_of(counted, get_args(Counting), "choice of counted drains")
    question = laboratory.to_json({"entries": numbers, "levels": height, "systems": named, "counted": drains})
    return BatteryCost.model_validate_json(laboratory.battery(str(profile), question, _relay(progress)))


def bench_crypto(options: CryptoOptions | None = None, *, progress: Told | None = None) -> CryptoBench:
    """Measures what one core of this computer seals and opens with AES-128-GCM.

    Seconds of a call are medians; cycles are of the core's own clock, which is measured as well. Watts are the
    processor's own counters', or a share of a TDP. OpenSSL, if it is installed, takes a second for each size and
    direction, twice.

    Raises `CasemateError` for sizes that no message has, and for other numbers out of range.
    """
    from casemate import crypto_bench

    return crypto_bench.measure(CryptoOptions() if options is None else options, progress)
