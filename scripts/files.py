"""Files of the repository, by patterns."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def tracked(*patterns: str) -> list[Path]:
    """Returns the files of the repository that match any of the patterns, in order. `*` matches within one folder, and
    `**/` any number of folders, also none. A pattern that begins with `!` excludes files.
    """
    # Without `glob`, git's `a/**/*.rs` matches no file directly in `a`.
    given = [
        f":(glob,exclude){pattern[1:]}" if pattern.startswith("!") else f":(glob){pattern}" for pattern in patterns
    ]
    listed = subprocess.run(["git", "ls-files", "--", *given], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in sorted(listed.stdout.splitlines()) if (ROOT / name).is_file()]
