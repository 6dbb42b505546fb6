"""Structure that a file's length does not show: types with too many members, functions with too many arguments,
circles, imports upward.

`tests/structure.toml` lists the exceptions. Each has a reason and a number, and the number may only fall.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from budget_history import committed
from shape import (
    calls,
    circles,
    fields,
    folders,
    function_lengths,
    imports,
    methods,
    python_imports,
    tuple_arguments,
    wide_functions,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
CRATES = sorted(path.parent for path in (ROOT / "crates").glob("*/Cargo.toml"))
METHODS_MAX = 25
FIELDS_MAX = 12
ARGUMENTS_MAX = 6
FUNCTION_LINES_MAX = 70
KEPT = "tests/structure.toml"
EXCEPTIONS = tomllib.loads((ROOT / KEPT).read_text())

LAYERS = (
    "starting", "built", "text", "rows", "schemas", "laboratory", "terminal", "crypto", "api", "bus", "excerpt",
    "intervals", "studies", "tables", "plots", "hardware", "imported", "reproduce", "notebook", "report", "cli",
    "__main__",
)  # fmt: skip
"""Modules and packages of `casemate`; each may import only those before it."""


def keeps_to(found: Mapping[str, int], most: int, table: str) -> None:
    """Fails for a count above the limit that is no exception, for one above the number of its exception, and for an
    exception with a higher number than necessary.
    """
    above = {name: count for name, count in found.items() if count > most}
    allowed = {name: exception["most"] for name, exception in EXCEPTIONS[table].items()}
    over = {name: count for name, count in above.items() if count > allowed.get(name, most)}
    assert not over, f"more than {most}, or than the number in [{table}] of {KEPT}: {over}"
    loose = {name: above.get(name) for name, number in allowed.items() if above.get(name) != number}
    assert not loose, f"lower the numbers in [{table}] of {KEPT}, or remove the exceptions (None): {loose}"


def in_crates(found: Mapping[Path, Mapping[str, int]]) -> dict[str, int]:
    """Counts with the crate before each name."""
    return {f"{crate.name}::{name}": count for crate, counts in found.items() for name, count in counts.items()}


def test_no_type_exceeds_the_maximum_number_of_methods() -> None:
    keeps_to(in_crates({crate: methods(crate) for crate in CRATES}), METHODS_MAX, "methods")


def test_no_structure_exceeds_the_maximum_number_of_fields() -> None:
    keeps_to(in_crates({crate: fields(crate) for crate in CRATES}), FIELDS_MAX, "fields")


def test_no_function_has_more_than_six_arguments_with_the_members_of_tuples() -> None:
    keeps_to(in_crates({crate: wide_functions(crate) for crate in CRATES}), ARGUMENTS_MAX, "arguments")


def test_no_crate_hides_more_arguments_in_tuples() -> None:
    keeps_to({crate.name: tuple_arguments(crate) for crate in CRATES}, 0, "tuples")


def test_no_function_exceeds_the_maximum_length() -> None:
    keeps_to(in_crates({crate: function_lengths(crate) for crate in CRATES}), FUNCTION_LINES_MAX, "lines")


@pytest.mark.parametrize("table", EXCEPTIONS)
def test_no_number_of_an_exception_rises_over_the_history(table: str) -> None:
    history = committed(KEPT)
    if not history:
        pytest.skip("this checkout has no history")
    now = {name: exception["most"] for name, exception in EXCEPTIONS[table].items()}
    for before in history:
        then = {name: exception["most"] for name, exception in before.get(table, {}).items()}
        assert not {name: number for name, number in now.items() if number > then.get(name, number)}
        # A type with an exception may get a new name; the number of exceptions may only fall.
        assert not then or len(now) <= len(then)
        assert not then or sum(now.values()) <= sum(then.values())


def test_each_exception_has_a_reason() -> None:
    reasons = [exception["why"] for table in EXCEPTIONS.values() for exception in table.values()]
    assert all(len(reason.split()) >= 2 for reason in reasons)


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_no_file_or_folder_of_a_crate_is_in_an_import_cycle(crate: Path) -> None:
    graph = imports(crate)
    assert circles(graph) == []
    assert circles(folders(graph)) == []


def test_no_file_of_the_protection_crate_is_in_a_call_cycle() -> None:
    assert circles(calls(ROOT / "crates" / "protection")) == []


def test_no_modules_of_the_python_package_import_each_other() -> None:
    graph = python_imports(ROOT / "python" / "casemate")
    # The package itself only offers the definitions of its modules.
    inner = {name: others - {"casemate"} for name, others in graph.items() if name != "casemate"}
    assert circles(inner) == []


def test_no_python_package_imports_one_above_it() -> None:
    upward: Counter[str] = Counter()
    for name, others in python_imports(ROOT / "python" / "casemate").items():
        for other in others - {"casemate"}:
            (one, *_), (below, *_) = name.split(".")[1:] or [""], other.split(".")[1:]
            if one and LAYERS.index(one) < LAYERS.index(below):
                upward[f"{one} -> {below}"] += 1
    keeps_to(upward, 0, "upward")


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
    above: Counter[str] = Counter()
    for name, count, most in python_shapes():
        if count > most:
            above[name] = max(above[name], count)
    keeps_to(above, 0, "python")
