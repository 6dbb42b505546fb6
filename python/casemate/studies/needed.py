"""The libraries that studies need, which a small installation of Casemate leaves out."""

import importlib
from typing import Any

from casemate._core import CasemateError

INSTALL = 'pip install "casemate[studies]"'


def library(name: str) -> Any:
    """Returns a module of the extra `studies`. Raises `CasemateError` with the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing = (error.name or name).partition(".")[0]
        raise CasemateError(f"studies need the library '{missing}', which is not installed: {INSTALL}") from None
