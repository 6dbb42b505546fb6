"""Names of designs and machines: of a file, the name that it states, which records, tables and keys have as well."""

import re
from functools import lru_cache
from pathlib import Path

SUFFIX = ".toml"
_STATED = re.compile(r"""^\s*["']?name["']?\s*=\s*(?:"([^"\n]*)"|'([^'\n]*)')""", re.MULTILINE)
_TABLE = re.compile(r"^\s*\[", re.MULTILINE)


def is_file(given: str) -> bool:
    """Returns true for the path of a design or machine file, and false for the name of a built-in one."""
    return given.endswith(SUFFIX)


def name(given: str) -> str:
    """Returns the name of a design or a machine. A file without a name, or that cannot be read, is called like the file
    without folder and suffix: errors about it need a name.
    """
    if not is_file(given):
        return given
    try:
        state = Path(given).stat()
        return _name_of_file(given, state.st_mtime_ns, state.st_size)
    except (OSError, ValueError):
        return Path(given).stem


def name_in(text: str, path: str) -> str:
    """Returns the name that the text of a file states; that of the file without folder and suffix if it states none."""
    table = _TABLE.search(text)
    found = _STATED.search(text[: table.start()] if table else text)
    return (found[1] or found[2] or Path(path).stem) if found else Path(path).stem


@lru_cache(maxsize=256)
def _name_of_file(path: str, _changed_ns: int, _size: int) -> str:
    return name_in(Path(path).read_text(), path)
