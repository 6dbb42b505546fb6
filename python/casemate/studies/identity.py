"""Identity of the code that decides results: two installations with the same identity give the same records."""

import hashlib
from pathlib import Path

from casemate import _core

_DECIDING = (
    "api.py", "laboratory", "studies/points.py", "studies/worker.py", "rows/columns.py", "text/amounts.py",
)  # fmt: skip
"""Files and folders of the package that decide the content of a row, in addition to the compiled code."""


def _digest() -> str:
    package = Path(__file__).parents[1]
    hashed = hashlib.sha256(_core.BUILD.encode())
    for part in _DECIDING:
        path = package / part
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            hashed.update(file.relative_to(package).as_posix().encode() + file.read_bytes())
    return hashed.hexdigest()[:12]


VERSION = _core.__version__
BUILD = _digest()
"""Digest of the source files that decide results, in hexadecimal."""
