"""The laboratory from Python: what the command line does, with typed results.

Ctrl-C is not an error: what was finished is returned, and says that it was interrupted.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import TypeAdapter

from casemate import _core, asked
from casemate._core import CasemateError
from casemate.asked import Instructions, Several
from casemate.results.attack import AttackReport, Campaign, ExhaustiveReport, Protection
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
from casemate.results.crash import CrashReport
from casemate.results.explain import Explanation, OnChip, Row, Start
from casemate.results.origin import Recording, TraceInfo
from casemate.results.run import Age, RunResults
from casemate.results.validation import Validation
from casemate.results.window import Window

DEFAULT_DESIGNS = ("none", "sc64-bmt")
DEFAULT_MACHINE = "modern"

DEFAULT_LIMIT = 20_000_000
"""Instructions of a program or a built-in workload that are run if nothing is said: seconds, not hours."""

PROTECTION_TRIALS = 20
"""Trials of each attack beside a run: enough for what always happens. `attack` tries more."""

ATTACK_TRIALS = 100
"""Trials of each attack if nothing is said."""

EXPLAINED_LINES = 999
"""Lines whose reads are timed if nothing is said: the median's timeline is shown."""

RECORDER_VARIABLE = "CASEMATE_RECORDER"

Stream = Literal["inherit", "discard"]
"""Whether one of the program's standard streams is ours, or empty."""

Told = Callable[[dict[str, Any]], object]
"""Is told the progress, about ten times a second."""

_campaigns: dict[str, Protection] = {}
"""What each design stops: a campaign's result depends on nothing else, so one a process is enough."""


def _relay(progress: Told | None) -> Callable[[str], object]:
    return lambda text: progress(json.loads(text)) if progress else None


def recorder_path() -> Path:
    """The recorder: what the environment names, or the one that came with this package."""
    given = os.environ.get(RECORDER_VARIABLE)
    return Path(given) if given else Path(__file__).with_name("libcasemate_recorder.so")


def designs() -> tuple[DesignInfo, ...]:
    """All built-in designs."""
    return TypeAdapter(tuple[DesignInfo, ...]).validate_json(_core.designs())


def design(name_or_path: str) -> DesignInfo:
    """The design with this name, or in this file (which must end in `.toml`)."""
    return DesignInfo.model_validate_json(_core.design(name_or_path))


def machines() -> tuple[Machine, ...]:
    """All built-in machines."""
    return TypeAdapter(tuple[Machine, ...]).validate_json(_core.machines())


def workloads() -> tuple[Workload, ...]:
    """All built-in workloads."""
    return TypeAdapter(tuple[Workload, ...]).validate_json(_core.workloads())


def attacks() -> tuple[Attack, ...]:
    """All attacks."""
    return TypeAdapter(tuple[Attack, ...]).validate_json(_core.attacks())


def losses() -> tuple[Loss, ...]:
    """All kinds of losses of power."""
    return TypeAdapter(tuple[Loss, ...]).validate_json(_core.losses())


def verdicts() -> tuple[Meaning, ...]:
    """All verdicts, from what the defender wants to what it fears."""
    return TypeAdapter(tuple[Meaning, ...]).validate_json(_core.verdicts())


def verbs() -> tuple[VerbMeaning, ...]:
    """All verbs of a timeline."""
    return TypeAdapter(tuple[VerbMeaning, ...]).validate_json(_core.verbs())


def layout(design: str, *, machine: str = DEFAULT_MACHINE, memory: str | None = None) -> Layout:
    """Where a design puts data and metadata in a machine's memory, or in one of another size (as in `"64 GB"`)."""
    return Layout.model_validate_json(_core.layout(machine, design, memory))


def _live(
    program: Sequence[str], skip: int, region: bool, load_values: bool, stdin: Stream, output: Stream
) -> dict[str, Any]:
    return {
        "live": {
            "command": [str(word) for word in program],
            "skip": skip,
            "marked_region": region,
            "load_values": load_values,
            "inherit_input": stdin == "inherit",
            "inherit_output": output == "inherit",
            "recorder": str(recorder_path()),
        }
    }


def usual_limit(*, stored: bool = False, sampled: bool = False) -> int | None:
    """The most instructions that are run if nothing is said, `None` for all: a stored execution has an end of its own,
    and a sample is for long programs.
    """
    return None if stored or sampled else DEFAULT_LIMIT


def run(
    program: Sequence[str] | None = None,
    *,
    workload: str | Sequence[str] | None = None,
    settings: Mapping[str, object] | None = None,
    trace: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    copies: int = 1,
    designs: Several = DEFAULT_DESIGNS,
    machine: Several = DEFAULT_MACHINE,
    changes: Mapping[str, object] | None = None,
    limit: Instructions | Literal["all"] | None = None,
    warm_up: Instructions = 0,
    skip: Instructions = 0,
    region: bool = False,
    seed: int = 1,
    age: Age = "new",
    detail: Literal["all", "sampled"] = "all",
    sampling: Mapping[str, float | str] | None = None,
    check_values: bool = False,
    ledger: bool = False,
    protection: bool = True,
    stdin: Stream = "discard",
    output: Stream = "discard",
    progress: Told | None = None,
) -> RunResults:
    """Runs one program under several designs and compares what they cost and what they stop.

    `designs` and `machine` are one name or several; every design is run on every machine.
    Give either `program` (a command and its arguments), or one or several of `workload` (built-in ones, with their
    `settings`) and `trace` (files), each `copies` times; several run at once, each on cores and in memory of its own.
    `changes` gives keys of all machines and designs other values than their files, as in
    `{"machine.engines.aes.latency_ns": 25, "design.parts.caches.counters": "256 KB"}`, or of one alone, as in
    `{"design.sc64-bmt.parts.mac.tag_bits": 64}`.
    Numbers of instructions may be text, as in `"5M"`.
    `limit` is the most instructions of each to run; if nothing is said, `DEFAULT_LIMIT`, and for traces alone all.
    Of these, `warm_up` are simulated before counting begins: caches and metadata are as they leave them, but their time
    and traffic is in no figure.
    `age` says how old the counters of data are when the machine begins: `new`, all zero; or `steady`, each group at a
    moment drawn evenly from a long life in which its lines are written equally often, in random order. It changes
    nothing where there are no counters, or where they are never renewed; and nodes of trees are new either way.
    `skip` lets instructions of a program pass first; `region` counts only what runs between its two markers (the
    instruction `xchg %rbx,%rbx`). `check_values` also compares every value that the program
    loaded with the simulated memory, `ledger` every pad with every other. `protection` adds a short campaign of attacks
    on each design.

    `detail` says whether every instruction is simulated in detail, or a sample of them while the others keep caches,
    predictors and metadata warm; then there is no limit if none is given, and every figure has a 95 % interval.
    `sampling` sets what of `SamplingOptions` should not be as usual, such as `{"aim": "traffic", "error": 0.01}`.

    `stdin` lets the program read what this process would read, unless that is a terminal.

    Raises `CasemateError` if anything asked for is not to be had.
    """
    workloads = [workload] if isinstance(workload, str) else list(workload or ())
    traces = asked.paths(trace)
    warm_up, skip = asked.instructions(warm_up, "warm_up"), asked.instructions(skip, "skip")
    if (program is not None) == bool(workloads or traces):
        raise CasemateError("expected either a program, or built-in workloads and traces")
    if copies < 1 or (program is not None and copies > 1):
        raise CasemateError(f"copies is {copies}: expected 1 or more, of workloads and traces only")
    if program is None and (skip or region):
        raise CasemateError(
            "skip and region are for programs that run now: a trace has its part already, a workload runs all of it"
        )
    if settings and not workloads:
        raise CasemateError("settings are for built-in workloads: give a workload, too")
    if age not in get_args(Age):
        raise CasemateError(f"age is '{age}': expected one of {', '.join(get_args(Age))}")
    if sampling and detail != "sampled":
        raise CasemateError("sampling options are for sampled runs: give detail='sampled', too")
    given = {name: str(value) for name, value in (settings or {}).items()}
    if check_values:
        given["load_values"] = "yes"
    programs: list[dict[str, Any]] = [{"kernel": {"name": name, "settings": given}} for name in workloads]
    programs += [{"trace": {"path": path}} for path in traces]
    if program is not None:
        programs = [_live(program, skip, region, check_values, stdin, output)]
    names, machines = asked.names(designs, "design"), asked.names(machine, "machine")
    spec = {
        "designs": names,
        "machines": machines,
        "changes": asked.changes(changes, machines, names),
        "programs": programs * copies,
        "limit": asked.limit(limit, usual_limit(stored=bool(traces) and not workloads, sampled=detail == "sampled")),
        "warm_up": warm_up,
        "seed": seed,
        "age": age,
        "ledger": ledger,
        "sampling": dict(sampling or {}) if detail == "sampled" else None,
    }
    answer = json.loads(_core.run(json.dumps(spec), _relay(progress)))
    stopped: list[Protection] = []
    try:
        told = {design: asked.changes_of_design(changes, design, names) for design in names}
        stopped.extend(protection_of(design, told[design]) for design in names if protection)
    except KeyboardInterrupt:
        answer["interrupted"] = True
    summaries = [summary.model_dump() for summary in stopped]
    return RunResults.model_validate_json(json.dumps({**answer, "protection": summaries}))


def protection_of(design: str, changes: Mapping[str, object] | None = None) -> Protection:
    """What a design stops, from a short campaign; remembered for built-in designs."""
    changed = bool(asked.changes(changes, designs=[design])["design"])
    if changed or design not in _campaigns:
        found = Protection.of(attack(design, trials=PROTECTION_TRIALS, changes=changes))
        if changed or design.endswith(".toml"):
            return found
        _campaigns[design] = found
    return _campaigns[design]


def record(
    program: Sequence[str],
    path: str | os.PathLike[str],
    *,
    limit: Instructions | None = None,
    skip: Instructions = 0,
    region: bool = False,
    load_values: bool = False,
    stdin: Stream = "discard",
    output: Stream = "discard",
    progress: Told | None = None,
) -> Recording:
    """Stores a program's execution in a file, to be run as often as you like; all of it, if no `limit` is given."""
    skip, limit = asked.instructions(skip, "skip"), asked.limit(limit, None)
    spec = {"program": _live(program, skip, region, load_values, stdin, output), "limit": limit, "output": str(path)}
    answer = json.loads(_core.record(json.dumps(spec), _relay(progress)))
    return Recording.model_validate_json(json.dumps({"path": str(path), **answer}))


def trace_info(path: str | os.PathLike[str], *, progress: Told | None = None) -> TraceInfo:
    """What a trace holds. All of it is read and checked."""
    return TraceInfo.model_validate_json(_core.trace_info(str(path), _relay(progress)))


def explain(
    design: str,
    *,
    on_chip: OnChip = "nothing",
    row: Row = "closed",
    start: Start = "controller",
    predicted: bool = False,
    decoded: bool = False,
    address: int | None = None,
    lines: int = EXPLAINED_LINES,
    seed: int = 1,
    machine: str = DEFAULT_MACHINE,
    changes: Mapping[str, object] | None = None,
) -> Explanation:
    """The timeline of one read under a design: of the median among so many lines, or of the one at `address` in bytes.

    `changes` as for `run`. Raises `CasemateError` for an address outside the memory.
    """
    chosen = {"sample": {"lines": lines, "seed": seed}} if address is None else {"at": address}
    scenario = json.dumps({"on_chip": on_chip, "row": row, "start": start, "predicted": predicted, "decoded": decoded})
    changed = json.dumps(asked.changes(changes, [machine], [design]))
    return Explanation.model_validate_json(_core.explain(machine, design, changed, scenario, json.dumps(chosen)))


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
    spec = json.dumps({"trials": trials, "seed": seed, "row": row, "changes": asked.changes(changes, designs=[design])})
    return AttackReport.model_validate_json(_core.attack(design, spec, _relay(progress)))


def crash(
    design: str,
    *,
    row: str | None = None,
    workload: int | None = None,
    seed: int = 1,
    thorough: bool = False,
    progress: Told | None = None,
) -> CrashReport:
    """Tries losses of power under a design: all kinds, or only `row`; after all short workloads, or only one.

    Workloads of one and two writes are attacked with every strike, longer ones with one of each kind, drawn with the
    seed; if `thorough`, all are attacked with every strike, and with more subsets of what was on its way.
    """
    spec = json.dumps({"row": row, "workload": workload, "seed": seed, "thorough": thorough})
    return CrashReport.model_validate_json(_core.crash(design, spec, _relay(progress)))


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
        "designs": list(designs), "row": row, "seed": seed, "trials": trials, "budget_seconds": budget_seconds,
        "log": str(log),
    }  # fmt: skip
    return Campaign.model_validate_json(_core.campaign_with_log(json.dumps(spec), _relay(progress)))


def settings(kind: Literal["machine", "design"], name: str, changes: Mapping[str, object] | None = None) -> Settings:
    """All values of a machine or a design, built in or in a file, and where each comes from; `changes` as for `run`."""
    told = json.dumps(asked.changes(changes, [name], [name]))
    return Settings(
        name=name, settings=TypeAdapter(tuple[Setting, ...]).validate_json(_core.settings(kind, name, told))
    )


def exhaustive(design: str, *, progress: Told | None = None) -> ExhaustiveReport:
    """Flips every stored bit of a small memory under a design, each by itself."""
    return ExhaustiveReport.model_validate_json(_core.exhaustive(design, _relay(progress)))


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
    return Window.model_validate_json(_core.window(str(machine), str(trace), extent, seed, _relay(progress)))


def validate(*, brief: bool = False, progress: Told | None = None) -> Validation:
    """Measures the machine against public simulators of the same configuration: minutes, or seconds if `brief`."""
    return Validation.model_validate_json(_core.validate(brief, _relay(progress)))
