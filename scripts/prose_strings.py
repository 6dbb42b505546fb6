"""Strings of four words or more in the code: messages, trends, titles and rows of tables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from files import tracked
from names import RUST_TEXT, tree

WORDS_MIN = 4
RUST_TESTS = re.compile(r"#\[cfg\(.*?test.*?\)\]\s*mod \w+ \{.*", re.DOTALL)


def in_sources() -> Iterator[tuple[Path, int, str]]:
    """Yields the strings of the sources, without tests, each with its file and line. A placeholder is an `X`."""
    for path in tracked("python/casemate/**/*.py", "scripts/*.py"):
        yield from ((path, line, text) for line, text in in_python(path) if is_prose(text))
    for path in tracked("crates/*/src/**/*.rs"):
        if "tests" not in path.parts and path.stem != "tests":
            yield from ((path, line, text) for line, text in in_rust(path) if is_prose(text))


def is_prose(text: str) -> bool:
    """Returns true for a text of several words, as opposed to a pattern or a list of names."""
    words = re.findall(r"(?<![\w/.-])[A-Za-z][a-z']*(?![\w/-])", text)
    return len(words) >= WORDS_MIN and not re.search(r"[\\^$]", text)


def in_python(path: Path) -> Iterator[tuple[int, str]]:
    """Strings of a module that are no docstrings."""
    module = tree(path)
    left_out = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            left_out |= {id(part) for part in ast.walk(node) if part is not node}
            parts = (str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield node.lineno, "".join(parts)
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.lineno, node.value


def in_rust(path: Path) -> Iterator[tuple[int, str]]:
    """Strings of a file before its tests."""
    code = RUST_TESTS.sub("", path.read_text())
    for found in RUST_TEXT.finditer(code):
        if found[0].startswith('"'):
            text = re.sub(r"\\\n\s*", "", found[0][1:-1]).replace('\\"', '"').replace("\\n", " ")
            yield code.count("\n", 0, found.start()) + 1, re.sub(r"\{[^{}]*\}", "X", text)
