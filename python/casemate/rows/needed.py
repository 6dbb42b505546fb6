"""The libraries that a small installation of Casemate leaves out; an extra of the package has those of one purpose."""

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casemate._core import CasemateError

SETUP = Path(__file__).resolve().parents[3] / "scripts/setup.sh"
"""Script of the folder of Casemate; an installed wheel does not have it."""


@dataclass(frozen=True)
class Extra:
    """An extra of the package, with the libraries that a check looks for."""

    name: str
    purpose: str
    """Subject and verb of the message that a library is missing."""
    libraries: tuple[str, ...]

    @property
    def install(self) -> str:
        """Command that installs the extra, in words: of the folder of Casemate, or of pip for an installed wheel."""
        if SETUP.exists():
            return f"run `scripts/setup.sh .venv {self.name}` in the folder of Casemate"
        return f"run `pip install 'casemate[{self.name}]'`"

    def check(self) -> None:
        """Raises `CasemateError` with the command that installs the extra if a library is missing. Loads none."""
        for name in self.libraries:
            loaded = name in sys.modules
            if (sys.modules[name] if loaded else importlib.util.find_spec(name)) is None:
                raise self.missing(name)

    def missing(self, library: str) -> CasemateError:
        """Returns the error that a library is missing."""
        return CasemateError(f"{self.purpose} the library '{library}', which is not installed: {self.install}")


STUDIES = Extra("studies", "studies need", ("cryptography", "distributed", "duckdb", "pyarrow", "tomli_w"))
REPORT = Extra("report", "a report needs", ("altair", "duckdb", "pyarrow", "vl_convert"))


def library(name: str) -> Any:
    """Returns a module of the extra `studies`. Raises `CasemateError` with the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise STUDIES.missing((error.name or name).partition(".")[0]) from None
