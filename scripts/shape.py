"""Measures the structure of the code: properties that the length of a file does not show.

    scripts/shape.py                 of this work tree
    scripts/shape.py FOLDER          of another, to see before and after

Methods and fields of a type count over all its files. A circle is a set of files, or of folders, that import each other
in a cycle, so that readers must read all of them together. In the source of the scheme, a function that decrypts a
line, or joins it with its tag, counts as a read with a separate order. A function that encrypts a line counts as a
write with a separate order.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Graph = Mapping[str, set[str]]


def code_of(path: Path) -> str:
    """A file's text without comments and without the tests at its end."""
    text = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)
    return text.partition("#[cfg(test)]\nmod tests {")[0]


def files_of(crate: Path) -> list[Path]:
    """All files of a crate that are not tests."""
    return [
        path for path in sorted((crate / "src").rglob("*.rs")) if "tests" not in path.parts and path.stem != "tests"
    ]


def blocks(text: str, opening: str) -> Iterator[tuple[str, str]]:
    """Yields the matches that end a line with a brace, with the text up to the brace at the same depth."""
    for found in re.finditer(rf"^( *)({opening}[^{{;]*)\{{\n(.*?)^\1\}}", text, re.MULTILINE | re.DOTALL):
        yield found[2].strip(), found[3]


def methods(crate: Path) -> Counter[str]:
    """Number of methods that each type has, over all files."""
    found: Counter[str] = Counter()
    for path in files_of(crate):
        for head, body in blocks(code_of(path), r"impl\b"):
            if " for " not in head:
                name = re.sub(r"^impl(<.*?>)?(?= )\s*", "", head).split("<")[0].split()[0]
                found[name] += len(
                    re.findall(r"^    (?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn ", body, re.MULTILINE)
                )
    return found


def fields(crate: Path) -> Counter[str]:
    """Returns the number of fields of each structure; the largest for several with one name."""
    found: Counter[str] = Counter()
    for path in files_of(crate):
        for head, body in blocks(code_of(path), r"(?:pub(?:\([^)]*\))? )?struct\b"):
            name = re.search(r"struct (\w+)", head)
            own = len(re.findall(r"^    (?:pub(?:\([^)]*\))? )?\w+:", body, re.MULTILINE))
            found[name[1] if name else head] = max(found[name[1] if name else head], own)
    return found


def verbs(crate: Path) -> tuple[int, int]:
    """Returns the number of verbs, and the number with a default."""
    total = defaults = 0
    for _, body in blocks(code_of(crate / "src" / "verbs.rs"), r"pub trait (?:\w*Verbs)\b"):
        total += len(re.findall(r"^    fn ", body, re.MULTILINE))
        defaults += len(re.findall(r"^    \}", body, re.MULTILINE)) + len(
            re.findall(r"^    fn .*\{\}$", body, re.MULTILINE)
        )
    return total, defaults


# Calls by which a read joins the fetch of the line with that of the tag.
JOINS_TAG = r"join!\([^;]*?\.(?:stored_tag|beside|tag_and_others)\("


def functions_that(paths: Iterable[Path], does: str) -> int:
    """Returns the number of functions in these files with a body that matches `does`."""
    return sum(
        len(re.findall(does, body)) > 0
        for path in paths
        if path.exists()
        for _, body in blocks(code_of(path), r"(?:pub(?:\([^)]*\))? )?(?:async )?fn\b")
    )


def module_of(crate: Path, path: Path) -> tuple[str, ...]:
    """Path of the Rust module in this file, from the names of its folders and of the file."""
    parts = path.relative_to(crate / "src").with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts


def named_modules(text: str, here: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Returns the paths of the same crate that a file names, in imports and inline."""
    for found in re.finditer(r"\b(?:pub(?:\([^)]*\))? )?use ((?:crate|super|self)\b[^;]*);", text):
        for path in spread(re.sub(r"\s+", " ", found[1])):
            yield absolute(path, here)
    for path in re.findall(r"(?<![\w:])(?:crate|super|self)(?:::\w+)+", text):
        yield absolute(path, here)


def absolute(path: str, here: tuple[str, ...]) -> tuple[str, ...]:
    """A path from the root of the crate, for a path in the module `here`."""
    parts = path.split("::")
    base = [] if parts[0] == "crate" else list(here)
    while parts and parts[0] in {"crate", "self", "super"}:
        base = base[:-1] if parts[0] == "super" else base
        parts = parts[1:]
    return (*base, *parts)


def spread(path: str) -> list[str]:
    """`a::{b, c::{d}}` as `a::b` and `a::c::d`."""
    opening = path.find("{")
    if opening < 0:
        return [path.split(" as ")[0].strip()]
    inner, depth, piece, pieces = path[opening + 1 : path.rindex("}")], 0, "", []
    for character in inner:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            pieces.append(piece)
            piece = ""
        else:
            piece += character
    return [one for piece in (*pieces, piece) if piece.strip() for one in spread(path[:opening] + piece.strip())]


def imports(crate: Path) -> Graph:
    """Returns the imports among the files of a crate. Naming a folder's module is naming its file."""
    modules = {module_of(crate, path): path for path in files_of(crate)}
    graph: dict[str, set[str]] = defaultdict(set)
    for here, path in modules.items():
        own = str(path.relative_to(crate / "src"))
        for named in named_modules(code_of(path), here):
            while named not in modules and named:
                named = named[:-1]
            other = str(modules[named].relative_to(crate / "src"))
            if other != own:
                graph[own].add(other)
    return graph


# Names of methods that types of the standard library have too: a call of one does not identify a function.
STANDARD = {
    "all",
    "bytes",
    "clone",
    "compute",
    "drain",
    "get_mut",
    "index",
    "insert",
    "is_empty",
    "position",
    "share",
    "take",
    "try_from",
    "unused",
}


def calls(crate: Path) -> Graph:
    """Returns the calls among the files of a crate, as far as a function's name identifies its file."""
    texts = {str(path.relative_to(crate / "src")): code_of(path) for path in files_of(crate)}
    texts = {name: text for name, text in texts.items() if not name.startswith("conformance")}
    defined: dict[str, set[str]] = defaultdict(set)
    for name, text in texts.items():
        for function in re.findall(r"\bfn (\w+)", text):
            defined[function].add(name)
    graph: dict[str, set[str]] = defaultdict(set)
    for name, text in texts.items():
        for function in set(re.findall(r"(?:[.]|::|\b)(\w+)\(", text)) - STANDARD:
            if len(defined[function]) == 1:
                graph[name] |= defined[function] - {name}
    return graph


FUNCTION = re.compile(r"\bfn (\w+)(?:<[^(]*>)?\(([^{;]*?)\)\s*(?:->[^{;]*)?[{;]")


def wide_functions(crate: Path) -> Counter[str]:
    """Number of arguments of each function, where each member of a tuple counts; the largest for several functions with
    one name in a file.
    """
    found: Counter[str] = Counter()
    for path in files_of(crate):
        for name, arguments in FUNCTION.findall(code_of(path)):
            key = f"{path.stem}::{name}"
            found[key] = max(found[key], sum(map(members, top_level(arguments))))
    return found


def tuple_arguments(crate: Path) -> int:
    """Number of functions with a tuple among their arguments."""
    return sum(
        any(members(argument) > 1 for argument in top_level(arguments))
        for path in files_of(crate)
        for _, arguments in FUNCTION.findall(code_of(path))
    )


def members(argument: str) -> int:
    """Number of values in an argument: those of a tuple, otherwise one."""
    found = re.search(r":\s*&?(?:mut )?\((.*)\)\s*$", argument, re.DOTALL)
    return sum(members(f": {part.strip()}") for part in top_level(found[1])) if found else 1


def function_lengths(crate: Path) -> Counter[str]:
    """Number of lines of each function; the largest for several functions with one name in a file."""
    found: Counter[str] = Counter()
    begin = re.compile(r"(\s*)(?:pub(?:\([a-z]+\))? )?(?:const |async |unsafe |extern \"C\" )*fn (\w+)")
    for path in sorted((crate / "src").rglob("*.rs")):
        start, key, end = 0, "", ""
        for number, line in enumerate(path.read_text().splitlines(), 1):
            begun = begin.match(line)
            if begun and not start and not line.rstrip().endswith(";"):
                start, key, end = number, f"{path.stem}::{begun[2]}", begun[1] + "}"
            elif start and line == end:
                found[key] = max(found[key], number - start + 1)
                start = 0
    return found


def top_level(arguments: str) -> list[str]:
    """Splits a list at the commas outside all brackets."""
    depth, pieces = 0, [""]
    for character in arguments.replace("->", ""):
        depth += {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return [piece for piece in pieces if piece.strip()]


def python_imports(package: Path) -> Graph:
    """Returns the imports among the modules of a package, also those within functions and those for types."""
    modules: dict[str, Path] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph: dict[str, set[str]] = defaultdict(set)
    for here, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text())):
            for name in imported_names(node):
                while name not in modules and "." in name:
                    name = name.rpartition(".")[0]
                if name in modules and name != here:
                    graph[here].add(name)
    return graph


def imported_names(node: ast.AST) -> list[str]:
    """Returns the full names that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def folders(graph: Graph) -> Graph:
    """Returns the imports between folders. Imports between a folder and a folder within it do not count."""
    found: dict[str, set[str]] = defaultdict(set)
    for one, others in graph.items():
        for other in others:
            a, b = str(Path(one).parent), str(Path(other).parent)
            if a != b and not nested(a, b):
                found[a].add(b)
    return found


def nested(one: str, other: str) -> bool:
    """Returns true if one of two folders contains the other."""
    a, b = Path(one), Path(other)
    return a in b.parents or b in a.parents


def circles(graph: Graph) -> list[list[str]]:
    """The strongly connected parts of more than one node (Tarjan, SIAM J. Computing 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            part = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def main() -> int:
    """Prints the counts of the tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).resolve().parents[1], help="a work tree")
    root = parser.parse_args().folder
    crates = sorted(path for path in (root / "crates").glob("*") if (path / "src").is_dir())
    if not crates:
        parser.error(f"{root} has no crates: expected a work tree of Casemate")
    protection = root / "crates" / "protection"
    total, defaults = verbs(protection)
    print(f"verbs: {total}, {defaults} of them with defaults")
    text = [*sorted((protection / "src" / "scheme").rglob("*.rs")), protection / "src" / "codec.rs"]
    print(f"functions that decrypt a line: {functions_that(text, r'cipher[.]open[(]')}")
    print(f"functions that encrypt a line: {functions_that(text, r'cipher[.]seal')}")
    print(f"functions that join a line with its tag: {functions_that(text, JOINS_TAG)}")
    print(f"lines of protection: {sum(path.read_text().count(chr(10)) for path in (protection / 'src').rglob('*.rs'))}")
    print(f"files of protection that call each other in a circle: {[len(one) for one in circles(calls(protection))]}")
    for crate in crates:
        ((largest, most),) = methods(crate).most_common(1) or [("none", 0)]
        ((widest, most_fields),) = fields(crate).most_common(1) or [("none", 0)]
        graph = imports(crate)
        of_files, of_folders = circles(graph), circles(folders(graph))
        print(
            f"{crate.name}: {largest} has {most} methods, {widest} {most_fields} fields;"
            f" files in circles {[len(one) for one in of_files]}, folders {[len(one) for one in of_folders]}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
