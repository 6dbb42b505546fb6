"""Which studies there are: every folder next to this file is one, and nothing else says so."""

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from casemate.reproduce.derivation import DerivedStudy
    from casemate.reproduce.study import Study


def names() -> list[str]:
    """All, in order."""
    folder = str(Path(__file__).parent)
    return sorted(module.name for module in pkgutil.iter_modules([folder]) if module.ispkg)


def named(name: str) -> "Study | DerivedStudy":
    """The one with this name: of runs, or of formulas alone."""
    study: Study | DerivedStudy = importlib.import_module(f"casemate.reproduce.{name}").STUDY
    return study
