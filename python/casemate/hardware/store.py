"""Keeps the result of each step of the flow in a file with a digest of the step's inputs as its name, so that no step
is repeated.

The content of every source, the parameters, the library, the versions of the programs, and the text of the step in this
package decide a result. An interrupted sweep continues from the files. Each file contains a digest of its result: a
file that was cut off, edited or hit by a bad disk is computed again, and no figure uses it.
"""

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from casemate.terminal import screen

DIGEST_CHARACTERS = 16


def digest(inputs: Any) -> str:
    """Digest of inputs: a change of any input changes the digest."""
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARACTERS]


def content(path: Path) -> str:
    """Digest of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


_CODE = {path.stem: content(path) for path in Path(__file__).parent.glob("*.py")}
"""Digest of each module's source text, taken when Python loads this module: a user may edit the files while the flow
runs.
"""


def code(*modules: str) -> dict[str, str]:
    """Digests of the source text of modules of this package."""
    return {module: _CODE[module] for module in modules}


class Store:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        screen.make_folder(folder)

    def _path(self, step: str, inputs: Mapping[str, Any], suffix: str = ".json") -> Path:
        return self.folder / f"{step}-{digest(inputs)}{suffix}"

    def keep(self, step: str, inputs: Mapping[str, Any], find: Callable[[], Any]) -> Any:
        """Returns the result of a step as JSON: the stored result, or that of `find`."""
        path = self._path(step, inputs)
        try:
            kept = json.loads(path.read_bytes())
            if kept["digest"] == digest(kept["found"]):
                return kept["found"]
        except (OSError, ValueError, KeyError, TypeError):
            # The file does not exist or is damaged: compute the result again.
            pass
        found = json.loads(json.dumps(find()))
        screen.write_whole(path, json.dumps({"digest": digest(found), "found": found}).encode())
        return found

    def keep_file(self, step: str, inputs: Mapping[str, Any], find: Callable[[], bytes]) -> Path:
        """Returns the result of a step as a compressed file. The digest of its content is kept next to it."""
        path = self._path(step, inputs, ".gz")

        def write() -> str:
            screen.write_whole(path, gzip.compress(find(), mtime=0))
            return content(path)

        if not path.is_file() or self.keep(step, inputs, write) != content(path):
            self._path(step, inputs).unlink(missing_ok=True)
            self.keep(step, inputs, write)
        return path
