"""Runs a step of `make test`, unless the step passed with the same inputs before.

    scripts/unchanged.py [--again] STEP COMMAND...

The inputs of a step are the content of all files that can decide its result, the command, variables of the environment,
and the versions of the compiler, of other programs and of Python packages. After the command has passed, the script
keeps a digest of each input in `target/passed/`. It keeps no digest if a file changed in the meantime.

The script runs before the virtual environment contains packages, so it imports only the standard library.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from files import ROOT, present
from shape import imported_names

PASSED = ROOT / "target" / "passed"

# Patterns of files, as in `files.py`.
MAKE = ("Makefile", "scripts/setup.sh", "scripts/unchanged.py", "scripts/files.py")
RUST = (
    *("*.toml", "Cargo.lock", ".cargo/**", ".config/**", "crates/**", "fuzz/**", "designs/**", "machines/**"),
    *("reference/**", "traces/**", "docs/MEETINGS.md"),
)
OF_RUST_TESTS = ("!crates/*/tests/**", "!crates/*/benches/**", "!crates/*/examples/**", "!fuzz/**")
PACKAGE = (*RUST, *OF_RUST_TESTS)
PYTHON = tuple(f"{folder}/**/*.py*" for folder in ("python", "tests", "scripts", "formal", "dv", "examples"))
HARDWARE = ("rtl/**", "dv/**", "formal/**")

# Folders in which Python looks for the modules that a script of the hardware imports.
IMPORTED_FROM = tuple(ROOT / folder for folder in ("python", "scripts", "dv", "dv/faults", "formal"))

# Variables of the environment that tests and their tools read, by the beginnings of their names.
VARIABLES = ("CASEMATE", "PROPTEST", "CARGO", "RUST", "PYTEST", "PYTHON", "CC", "CXX", "CFLAGS", "CI")
COMPILERS = ("cc", "gzip", "qemu-x86_64")
SIMULATORS = ("ccache", "g++", "make", "perl", "sta")


@dataclass(frozen=True)
class Step:
    """Inputs of a step of `make test`."""

    files: tuple[str, ...]
    """Patterns of the files that the step reads."""
    scripts: tuple[str, ...] = ()
    """Patterns of Python files that the step runs: the files that they import are inputs as well."""
    programs: tuple[str, ...] = COMPILERS
    packages: bool = True
    """True if the step uses packages of the virtual environment."""
    history: bool = False
    """True if the step reads earlier commits."""


def of_hardware(*scripts: str) -> Step:
    """Returns the inputs of a step that runs these scripts with tools of the hardware."""
    return Step((*PACKAGE, *HARDWARE), ("dv/**/*.py", *scripts), programs=COMPILERS + SIMULATORS)


STEPS = {
    "lint-rust": Step(RUST, packages=False),
    "rust-tests": Step(RUST, packages=False),
    "rust-examples": Step(RUST, packages=False),
    "lint-python": Step((*PYTHON, "pyproject.toml")),
    "python-tests": Step(
        ("**", "!tests/**", "!dv/**", "!formal/**", *OF_RUST_TESTS), programs=(*COMPILERS, *SIMULATORS, "chromium")
    ),
    "house-rules": Step(("**",), history=True),
    "hw-lint": of_hardware(),
    "hw-simulation": of_hardware(),
    "hw-faults": of_hardware(),
    "hw-proofs": of_hardware("formal/**/*.py"),
    "hw-synthesis": of_hardware("scripts/hw_synthesis.py"),
}


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """Returns the nodes of a file that Python can execute: imports for type checkers are none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from executed(child)


def modules(name: str) -> Iterator[Path]:
    """Returns the files that Python executes to import a module, if the repository contains them."""
    parts = name.split(".")
    for folder in IMPORTED_FROM:
        for count in range(1, len(parts) + 1):
            path = folder.joinpath(*parts[:count])
            yield from (file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file())


def with_imports(scripts: Iterable[Path]) -> set[Path]:
    """Returns Python files with all files of the repository that they import, directly or not.

    A string that is the full name of a module counts as an import of it.
    """
    found: set[Path] = set()
    left = list(scripts)
    while left:
        path = left.pop()
        if path in found:
            continue
        found.add(path)
        for node in executed(ast.parse(path.read_text())):
            names = imported_names(node)
            if isinstance(node, ast.Constant) and str(node.value).startswith("casemate."):
                names = [str(node.value)]
            left += [file for name in names for file in modules(name)]
    return found


def files_of(step: Step) -> set[Path]:
    """Returns all files that are inputs of a step."""
    scripts = present(*step.scripts) if step.scripts else []
    return {*present(*MAKE), *present(*step.files), *with_imports(scripts)}


def digest(content: bytes) -> str:
    """Digest of a content."""
    return hashlib.sha256(content).hexdigest()[:16]


def printed(*command: str) -> str:
    """Output of a command, or an empty text if the program is missing."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    except OSError:
        return ""


def program(name: str) -> str:
    """Place, size and time of a program, which an update changes."""
    path = os.path.realpath(shutil.which(name) or "")
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}" if os.path.isfile(path) else "missing"


def inputs(name: str, command: Sequence[str]) -> dict[str, str]:
    """Returns a digest or the value of each input of a step, by the name of the input."""
    step = STEPS[name]
    found = {str(path.relative_to(ROOT)): digest(path.read_bytes()) for path in sorted(files_of(step))}
    # A variable can contain a password, so the file contains only a digest.
    variables = {key: value for key, value in os.environ.items() if key.startswith(VARIABLES)}
    found |= {f"variable {key}": digest(value.encode()) for key, value in variables.items()}
    found |= {f"program {key}": program(key) for key in step.programs}
    found["the command"] = " ".join(command)
    found["the compiler"] = printed("rustc", "-vV")
    found["Python"] = f"{sys.version} {platform.platform()}"
    if step.packages:
        packages = (path.name for folder in sys.path for path in Path(folder).glob("*.dist-info"))
        found["the Python packages"] = " ".join(sorted(packages))
    if step.history:
        found["the last commit"] = printed("git", "rev-parse", "HEAD")
    return found


def passed(name: str) -> dict[str, str]:
    """Returns the inputs of the last run of a step that passed; none if no run passed."""
    try:
        kept = json.loads((PASSED / f"{name}.json").read_text())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def keep(name: str, found: dict[str, str]) -> None:
    """Keeps the inputs of a run that passed."""
    PASSED.mkdir(parents=True, exist_ok=True)
    part = PASSED / f"{name}.part"
    part.write_text(json.dumps(found, indent=0))
    part.replace(PASSED / f"{name}.json")


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Names of the inputs that differ."""
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def listed(names: Sequence[str]) -> str:
    """The first names of a list, and the number of the remaining names."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def say(text: str) -> None:
    """Prints a line for the user of make."""
    print(f"make test: {text}", file=sys.stderr, flush=True)


def run(command: Sequence[str]) -> int:
    """Runs a command until it ends, also after Ctrl-C. Returns its exit code as a shell does."""
    process = subprocess.Popen(command)
    # The terminal sends Ctrl-C to the command as well. The command would inherit an ignored signal, but no handler.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    code = process.wait()
    return code if code >= 0 else 128 - code


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--again", action="store_true", help="run the step even if its inputs are the same")
    parser.add_argument("step", choices=sorted(STEPS))
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    name, command = given.step, given.command
    before, known = inputs(name, command), passed(name)
    if before == known and not given.again:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime((PASSED / f"{name}.json").stat().st_mtime))
        say(f"skips {name}: it passed at {at} with the same {len(before)} inputs; `make test AGAIN=1` runs every step")
        return 0
    if known and not given.again:
        say(f"runs {name}: changed since it last passed: {listed(changed(known, before))}")
    code = run(command)
    meanwhile = changed(before, inputs(name, command))
    if code == 0 and not meanwhile:
        keep(name, before)
    elif code == 0:
        say(f"runs {name} again next time, because inputs changed while it ran: {listed(meanwhile)}")
    elif before == known:
        (PASSED / f"{name}.json").unlink(missing_ok=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
