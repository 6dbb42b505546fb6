"""Names of the project: identifiers, types, tests and subjects of commits."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from files import ROOT, tracked

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Words that docs/STYLE.md bans, as whole components of identifiers.
BANNED = {
    "told",
    "tell",
    "tells",
    "beside",
    "ahead",
    "place",
    "nobody",
    "somebody",
    "whoever",
    "lies",
    "stands",
    "asked",
    "came",
}

# Files without any of these words are not parsed.
SUSPECT = re.compile("|".join(sorted(BANNED)), re.IGNORECASE)
RUST_TEXT = re.compile(r"//[^\n]*|/\*.*?\*/|r(#*)\".*?\"\1|\"(?:[^\"\\]|\\.)*\"|'(?:\\.|[^'\\\n])'", re.DOTALL)
RUST_TYPES = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union) (\w+)", re.MULTILINE)


@cache
def tree(path: Path) -> ast.Module:
    """Syntax tree of a Python file."""
    return ast.parse(path.read_text())


def suspects(*patterns: str) -> list[Path]:
    """Files that contain a banned word, in a name or elsewhere."""
    return [path for path in tracked(*patterns) if SUSPECT.search(path.read_text())]


def identifiers() -> Iterator[tuple[str, str]]:
    """Names that programs define in files that contain a banned word, with their files."""
    for path in suspects("crates/**/*.rs", "fuzz/**/*.rs", "comparisons/**/*.rs"):
        for name in set(re.findall(r"(?<![.\w])[A-Za-z_]\w*", RUST_TEXT.sub(" ", path.read_text()))):
            yield str(path.relative_to(ROOT)), name
    for path in suspects("python/**/*.py", "scripts/*.py", "tests/*.py", "dv/**/*.py", "formal/*.py"):
        for node in ast.walk(tree(path)):
            name = None
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = node.name
            elif isinstance(node, ast.arg):
                name = node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                name = node.attr
            if name:
                yield str(path.relative_to(ROOT)), name


def components(name: str) -> set[str]:
    """The words of an identifier, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)}


def banned_identifiers() -> list[tuple[str, str]]:
    """Identifiers with a banned component, each once a file, without keys of files that users have."""
    keys = tomllib.loads((ROOT / "tests" / "prose.toml").read_text())["keys"]
    named = {(path, name) for path, name in identifiers() if components(name) & BANNED}
    return sorted((path, name) for path, name in named if name not in keys.get(path, ()))


def types_defined_twice() -> dict[str, list[str]]:
    """Names of types with the crates that define them, where there are several definitions outside tests."""
    defined: dict[str, list[str]] = {}
    for path in (
        path for path in tracked("crates/*/src/**/*.rs") if "tests" not in path.stem and "tests" not in path.parts
    ):
        crate = path.relative_to(ROOT / "crates").parts[0]
        for name in RUST_TYPES.findall(path.read_text()):
            defined.setdefault(name, []).append(crate)
    return {name: sorted(crates) for name, crates in sorted(defined.items()) if len(crates) > 1}


def test_names() -> Iterator[str]:
    """Names of all tests, as sentences."""
    for path in tracked("crates/**/*.rs"):
        yield from re.findall(r"#\[test\]\s+(?:#\[[^\n]*\]\s+)*fn (\w+)", path.read_text())
    for path in tracked("python/tests/*.py", "tests/*.py", "dv/**/*.py"):
        yield from re.findall(r"^def test_(\w+)", path.read_text(), re.M)


def since(file: str, form: str) -> list[str]:
    """Returns the log, in this form, of the commits after the one that added a file; empty without history."""
    log = ["git", "log", "--format=%H", "--diff-filter=A", "--", file]
    begun = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not begun:
        return []
    later = ["git", "log", "--no-merges", f"--format={form}%x00", f"{begun[-1]}..HEAD"]
    shown = subprocess.run(later, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [entry.strip() for entry in shown.split("\0") if entry.strip()]


def subjects() -> list[str]:
    """Returns the subjects of the commits since this measure exists; empty in a checkout without history."""
    return since("tests/prose.toml", "%s")


def bodies() -> list[tuple[str, int]]:
    """Returns subject and number of words in the body of each commit since this rule exists, without commits that touch
    only pages or tests, or only rename.
    """
    found = []
    for entry in since("scripts/budget_history.py", "%H%n%s%n%b"):
        revision, subject, *body = entry.split("\n")
        if not is_excused(revision):
            found.append((subject, len(" ".join(body).split())))
    return found


def is_excused(revision: str) -> bool:
    """Returns true for a commit that touches only pages or tests, or only renames files."""
    show = ["git", "show", "--format=", "--name-status", "--find-renames", revision]
    shown = subprocess.run(show, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    changes = [line.split("\t") for line in shown.splitlines()]
    paths = [path for _, *named in changes for path in named]
    return all(status == "R100" for status, *_ in changes) or all(map(is_page_or_test, paths))


def is_page_or_test(path: str) -> bool:
    """Returns true for the path of a page, or of a file of tests."""
    return path.endswith((".md", ".svg", "tests.rs")) or "tests" in Path(path).parts
