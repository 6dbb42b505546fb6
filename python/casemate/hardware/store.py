"""Keeps what a step of the flow found in a file named by all that decides it, so that nothing is done twice.

What decides a result is the content of every source, the parameters, the library, the versions of the programs, and the
text of the step itself in this package. A sweep that was interrupted goes on from what is there. What is kept has its
own digest with it: a file that was cut off, edited or hit by a bad disk is found again, and no figure comes from it.
"""

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from casemate import screen

DIGEST_CHARACTERS = 16


def digest(inputs: Any) -> str:
    """A name for inputs: any change of any of them gives another."""
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARACTERS]


def content(path: Path) -> str:
    """A name for what is in a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


_CODE = {path.stem: content(path) for path in Path(__file__).parent.glob("*.py")}
"""The text of this package as it was when it was loaded: it may be edited while it runs."""


def code(*modules: str) -> dict[str, str]:
    """Names for the text of modules of this package."""
    return {module: _CODE[module] for module in modules}


class Store:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        screen.make_folder(folder)

    def _path(self, step: str, inputs: Mapping[str, Any], suffix: str = ".json") -> Path:
        return self.folder / f"{step}-{digest(inputs)}{suffix}"

    def keep(self, step: str, inputs: Mapping[str, Any], find: Callable[[], Any]) -> Any:
        """The result of a step as JSON: what was kept, or what is found now."""
        path = self._path(step, inputs)
        try:
            kept = json.loads(path.read_bytes())
            if kept["digest"] == digest(kept["found"]):
                return kept["found"]
        except (OSError, ValueError, KeyError, TypeError):
            # Not there yet, or damaged by others: what is kept can always be found again.
            pass
        found = json.loads(json.dumps(find()))
        screen.write_whole(path, json.dumps({"digest": digest(found), "found": found}).encode())
        return found

    def keep_file(self, step: str, inputs: Mapping[str, Any], find: Callable[[], bytes]) -> Path:
        """The result of a step as a compressed file. What its content must be is kept next to it."""
        path = self._path(step, inputs, ".gz")

        def write() -> str:
            screen.write_whole(path, gzip.compress(find(), mtime=0))
            return content(path)

        if not path.is_file() or self.keep(step, inputs, write) != content(path):
            self._path(step, inputs).unlink(missing_ok=True)
            self.keep(step, inputs, write)
        return path
