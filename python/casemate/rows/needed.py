"""The libraries that studies need, which a small installation of Casemate leaves out."""

import importlib.util
import sys
from typing import Any

from casemate._core import CasemateError

INSTALL = "run `scripts/setup.sh .venv studies` in the folder of Casemate"

ALL = ("cryptography", "distributed", "duckdb", "pyarrow", "tomli_w")


def check() -> None:
    """Raises `CasemateError` with the command that installs the libraries, if one is missing. Does not load them."""
    for name in ALL:
        loaded = name in sys.modules
        if (sys.modules[name] if loaded else importlib.util.find_spec(name)) is None:
            raise _missing(name)


def _missing(name: str) -> CasemateError:
    return CasemateError(f"studies need the library '{name}', which is not installed: {INSTALL}")


def library(name: str) -> Any:
    """Returns a module of the extra `studies`. Raises `CasemateError` with the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _missing((error.name or name).partition(".")[0]) from None
