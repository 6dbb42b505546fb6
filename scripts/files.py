"""Files of the repository, by patterns."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def tracked(*patterns: str) -> list[Path]:
    """Returns the files of the repository that match any of the patterns, in order. `*` matches within one folder, and
    `**/` any number of folders, also none. A pattern that begins with `!` excludes files.
    """
    return _listed("--cached", *patterns)


def present(*patterns: str) -> list[Path]:
    """Like `tracked`, with the new files that git does not ignore."""
    return _listed("--cached --others --exclude-standard", *patterns)


def _listed(options: str, *patterns: str) -> list[Path]:
    # Without `glob`, git's `a/**/*.rs` matches no file directly in `a`.
    given = [
        f":(glob,exclude){pattern[1:]}" if pattern.startswith("!") else f":(glob){pattern}" for pattern in patterns
    ]
    words = ["git", "ls-files", "-z", *options.split(), "--", *given]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in sorted(set(listed.stdout.split("\0"))) if name and (ROOT / name).is_file()]
