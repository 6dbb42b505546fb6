"""Structure that a file's length does not show: types with too many members, functions with too many arguments,
circles.

Each exception has a reason. An exception that is not needed any more must be removed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from shape import calls, circles, fields, folders, imports, methods, wide_functions

ROOT = Path(__file__).resolve().parents[1]
CRATES = sorted(path.parent for path in (ROOT / "crates").glob("*/Cargo.toml"))
METHODS_MAX = 25
FIELDS_MAX = 12
ARGUMENTS_MAX = 6

KEYS = "as many keys as a file of a user has there"
COUNTS = "what is counted, as many figures as a record has there"
ONE_CORE = "the tables of one core, gone through for every access; to be taken apart with a measurement of each step"

METHODS = {
    "machine::Caches": ONE_CORE,
    "machine::Controller": "one DRAM channel's state machine; to be taken apart with a measurement of each step",
    "machine::Core": ONE_CORE,
    "machine::Node": "the face of a core: what the chip, coherence, warming and metadata ask of it",
    "chip::Chip": "what all tasks of a chip meet in; to be taken apart into network, last-level cache and observer",
    "campaign::Victim": "the face of what is attacked, one method for each thing that a scene does with it",
    "workload::Listing": "an assembler: a method for each kind of instruction",
}
KERNEL_CODE = "the addresses of one kernel's instructions, a field each"
FIELDS = {
    "catalogue::Machine": KEYS,
    "machine::Caches": ONE_CORE,
    "machine::Controller": "one DRAM channel's state machine; to be taken apart with a measurement of each step",
    "machine::Core": ONE_CORE,
    "machine::DramCounters": COUNTS,
    "machine::NodeConfig": KEYS,
    "machine::NodeCounters": COUNTS,
    "machine::Pcm": KEYS,
    "machine::Timing": KEYS,
    "chip::Chip": METHODS["chip::Chip"],
    "chip::LlcCounters": COUNTS,
    "protection::TimedCounters": COUNTS,
    "chip::Sink": "where a program's events go, borrowed field by field because the feed lends them out one by one",
    "chip::Uncore": "what readers and writers share",
    "runner::ChampsimFigures": COUNTS,
    "runner::Interval": COUNTS,
    "runner::Record": COUNTS,
    "runner::Sampling": COUNTS,
    "runner::Window": COUNTS,
    "wire::Header": "the shared memory's header, laid out for two processes",
    "workload::AnnealCode": KERNEL_CODE,
    "workload::ComponentsCode": KERNEL_CODE,
    "workload::Emitter": "what a kernel has said of the instruction that it is about to end",
}
ARGUMENTS = {
    "chip::build": "what a memory is built of",
    "machine::fill_l1d": ONE_CORE,
    "machine::load": ONE_CORE,
    "recorder::syscall_entered": "QEMU's own signature",
}
PYTHON = {
    "campaigns.logged": "options of a command",
    "api.attack_many": "options of a command; to become request objects",
    "api.crash": "options of a command; to become request objects",
    "api.crash_program": "options of a command; to become request objects",
    "record.command": "options of a command",
    "reproduce.carry_out": "options of a command",
    "bench.crypto": "options of a command",
    "cost.secpb": "options of a command",
    "crash.command": "options of a command",
    "explain.command": "options of a command",
    "run.command": "options of a command",
    "attack.command": "options of a command",
    "sweep.command": "options of a command",
    "study.Study": "keys of a file",
    "requests.RunOptions": "options of a command",
    "sampling.Sampling": COUNTS,
    "window.Window": COUNTS,
    "intervals.Interval": COUNTS,
    "waits.ReadParts": COUNTS,
    "counters.Node": COUNTS,
    "counters.Dram": COUNTS,
    "run.Record": COUNTS,
    "power_loss.PowerLoss": COUNTS,
}


def keeps_to(found: dict[str, int], most: int, exceptions: dict[str, str]) -> None:
    """Fails for a type above the limit that is no exception, and for an exception that is not above it."""
    above = {name: count for name, count in found.items() if count > most}
    new = {name: count for name, count in above.items() if name not in exceptions}
    assert not new, f"more than {most}: {new}"
    stale = sorted(exceptions.keys() - above.keys())
    assert not stale, f"no exceptions any more: {stale}"


def test_no_type_exceeds_the_maximum_number_of_methods() -> None:
    found = {f"{crate.name}::{name}": count for crate in CRATES for name, count in methods(crate).items()}
    keeps_to(found, METHODS_MAX, METHODS)


def test_no_structure_exceeds_the_maximum_number_of_fields() -> None:
    found = {f"{crate.name}::{name}": count for crate in CRATES for name, count in fields(crate).items()}
    keeps_to(found, FIELDS_MAX, FIELDS)


def test_no_function_has_more_than_six_arguments() -> None:
    found = {f"{crate.name}::{name}": count for crate in CRATES for name, count in wide_functions(crate, ARGUMENTS_MAX)}
    keeps_to(found, ARGUMENTS_MAX, ARGUMENTS)


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_no_file_or_folder_of_a_crate_is_in_an_import_cycle(crate: Path) -> None:
    graph = imports(crate)
    assert circles(graph) == []
    assert circles(folders(graph)) == []


def test_no_file_of_the_protection_crate_is_in_a_call_cycle() -> None:
    assert circles(calls(ROOT / "crates" / "protection")) == []


def python_shapes() -> Iterator[tuple[str, int, int]]:
    """Functions with their arguments, classes with their methods or fields, each with its limit."""
    for path in sorted((ROOT / "python" / "casemate").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                yield f"{path.stem}.{node.name}", len(arguments), ARGUMENTS_MAX
            if isinstance(node, ast.ClassDef):
                yield f"{path.stem}.{node.name}", sum(isinstance(part, ast.AnnAssign) for part in node.body), FIELDS_MAX
                functions = sum(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in node.body)
                yield f"{path.stem}.{node.name}", functions, METHODS_MAX


def test_python_code_keeps_the_limits_of_methods_fields_and_arguments() -> None:
    above = {name for name, count, most in python_shapes() if count > most}
    assert above - PYTHON.keys() == set()
    assert PYTHON.keys() - above == set()
