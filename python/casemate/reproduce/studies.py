"""List of the studies: every folder next to this file is a study, without further registration."""

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from casemate.reproduce.derivation import DerivedStudy
    from casemate.reproduce.study import Study


def names() -> list[str]:
    """Names of all studies, in order."""
    folder = str(Path(__file__).parent)
    return sorted(module.name for module in pkgutil.iter_modules([folder]) if module.ispkg)


def named(name: str) -> "Study | DerivedStudy":
    """Returns the study with this name: one of runs, or one of formulas only."""
    study: Study | DerivedStudy = importlib.import_module(f"casemate.reproduce.{name}").STUDY
    return study
