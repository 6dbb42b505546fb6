"""Earlier versions of a file of budgets: budgets may only fall, also over the history."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from files import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def committed(name: str) -> list[dict[str, Any]]:
    """Returns the content of a TOML file in all commits that changed it; empty in a checkout without history."""
    log = ["git", "log", "--full-history", "--format=%H", "--", name]
    revisions = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    show = (["git", "show", f"{revision}:{name}"] for revision in revisions)
    shown = (subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout for command in show)
    return [tomllib.loads(text.decode()) for text in shown]
