"""Prints docs/KEYS.md: every key of a design file and of a machine file, with its accepted values and its default. The
list is not written by hand. Keys are those that the package reads. Accepted values are from the package's answer to a
wrong value, defaults from its answer when the key is left out. The sentences are the doc comments of the fields. Usage:
.venv/bin/python scripts/keys.py > docs/KEYS.md
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from casemate import CasemateError, api

ROOT = Path(__file__).resolve().parents[1]
Kind = Literal["design", "machine"]
KINDS: dict[str, Kind] = {"Design": "design", "Machine": "machine"}
CLAIMS = ("claims", "crash")
"""Tables of rows and ends: `casemate attack --help` and `casemate crash --help` name them."""
WRONG = "?"
PLAIN = {"a boolean": "`true` or `false`", "a floating point number": "a number"}
"""Words on the page for the package's names of types."""
WHOLE = re.compile(r"a whole number(, 0 or more| from 0 to \d+)?")
UNKNOWN = re.compile("unknown field|nexpected keys")
TYPE = re.compile(
    r"derive\([^)]*\bDeserialize\b[^)]*\)\]\n(?:#\[[^\n]*\n)*pub (?:struct|enum) (\w+) \{\n(.*?\n)\}", re.DOTALL
)
FIELD = re.compile(r"((?: +///[^\n]*\n)+)(?: +#\[[^\n]*\n)* +(?:pub )?([a-z]\w*): ([^\n]+),\n")
HEAD = """# Keys of design and machine files

`scripts/keys.py` prints this page. `--with machine.KEY=VALUE` changes a key for one run, and so does
`--with design.KEY=VALUE`. If a run has several designs, `--with design.NAME.KEY=VALUE` changes only the design NAME.
`casemate list designs NAME` and `casemate list machines NAME` show every value of a file and its source.
The keys of `[claims]` and `[crash]` are the rows that `casemate attack --help` and `casemate crash --help` name.

A key of an optional table is "required" only if the file has that table. "-" means that the key then has no value.
"""

Fields = dict[str, tuple[str, str]]
"""Fields of a type, with their types and sentences."""


def types() -> dict[str, Fields]:
    """The fields of all types that files are read into; of an enumeration, those of all its variants."""
    found: dict[str, Fields] = {}
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        for name, body in TYPE.findall(path.read_text()):
            sentences = {
                key: (kind, " ".join(re.findall(r"/// ?(.*)", said))) for said, key, kind in FIELD.findall(body)
            }
            found[name] = found.get(name, {}) | sentences
    return found


def field(known: dict[str, Fields], root: str, key: str) -> tuple[str, str]:
    """Returns the type of a key's field, and its doc comment; the name of a variant has those of the whole."""
    said = ""
    for part in filter(None, key.split(".")):
        kind, said = known.get(root, {}).get(part, (root, said))
        root = re.findall(r"\w+", kind)[-1]
    # Links are for the documentation of the code.
    return root, re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", said)


def answer(kind: Kind, name: str, key: str, value: str) -> str:
    """Returns the package's error for a value; empty if the package accepts it."""
    try:
        api.settings(kind, name, {f"{kind}.{key}": value})
    except CasemateError as error:
        return str(error)
    return ""


def takes(kind: Kind, name: str, key: str) -> str:
    """Returns the values that a key accepts."""
    said = answer(kind, name, key, WRONG).partition("expected ")[2]
    if said.startswith("a list, as in"):
        items = answer(kind, name, key, f'["{WRONG}"]').partition("expected ")[2]
        return f"a list of {'whole numbers' if WHOLE.fullmatch(items) else items.removeprefix('one of ') or 'texts'}"
    if WHOLE.fullmatch(said):
        return "a whole number"
    if said.startswith("a table"):
        return "a table"
    return PLAIN.get(said, said.removeprefix("one of ") or "text")


def default(kind: Kind, name: str, key: str) -> str:
    """Returns the value of a key that a file leaves out: in this file, or if its other keys forbid that, in another."""
    built_in = [it.name for it in (api.designs() if kind == "design" else api.machines())]
    for file in (name, *built_in):
        try:
            found = api.settings(kind, file, {f"{kind}.{key}": ""})
        except CasemateError as error:
            if "missing field" in str(error):
                return "required"
            if "has no value" in str(error) and file == name:
                return "-"
            continue
        value = next((setting.value for setting in found.settings if setting.key == key), None)
        return "-" if value is None else f"`{value}`"
    return "-"


def keys(known: dict[str, Fields], root: str, kind: Kind) -> Iterator[tuple[str, str]]:
    """Every key, and a file that has a value for it if there is one."""
    found: dict[str, str] = {}
    without: dict[str, str] = {}
    for it in api.designs() if kind == "design" else api.machines():
        for setting in api.settings(kind, it.name).settings:
            if not setting.key.startswith(CLAIMS):
                (found if setting.value is not None else without).setdefault(setting.key, it.name)
    found = without | found
    # Keys that no built-in file has are only in the types.
    tables = {key.rpartition(".")[0]: name for key, name in found.items()}
    for table, name in tables.items():
        for part in known.get(field(known, root, table)[0], {}):
            key = f"{table}.{part}".lstrip(".")
            is_found = any(f"{other}.".startswith(f"{key}.") for other in found)
            if not is_found and not key.startswith(CLAIMS) and not UNKNOWN.search(answer(kind, name, key, WRONG)):
                found[key] = name
    yield from sorted(found.items())


def page() -> str:
    """Returns the page in Markdown."""
    known = types()
    lines = [HEAD]
    for root, kind in KINDS.items():
        lines += [f"## {root} files", "", "| key | takes | if left out | meaning |", "|---|---|---|---|"]
        for key, name in keys(known, root, kind):
            row = (f"`{key}`", takes(kind, name, key), default(kind, name, key), field(known, root, key)[1])
            lines.append("| " + " | ".join(row) + " |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
