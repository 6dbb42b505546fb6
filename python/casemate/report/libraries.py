"""The libraries that only reports need."""

import importlib.util

from casemate._core import CasemateError

INSTALL = "run `scripts/setup.sh .venv report` in the folder of Casemate"
ALL = ("altair", "duckdb", "pyarrow", "vl_convert")


def check() -> None:
    """Raises `CasemateError` with the command that installs the libraries, if one is missing. Does not load them."""
    for name in ALL:
        if importlib.util.find_spec(name) is None:
            raise CasemateError(f"a report needs the library '{name}', which is not installed: {INSTALL}")
