"""Gives a wheel the platform tag that all its programs meet: `make wheel`.

maturin chooses the tag for the Python module alone, and the wheel also contains the recorder and the keeper. Each
program names the versions of glibc's symbols that it needs. The highest version over all programs is the tag, and not
below 2.34: Debian 12 and all distributions since 2022 have it.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

LEAST = (2, 34)
"""Lowest version of glibc that a tag names, whatever the programs need."""


def glibc_versions(program: Path) -> Iterator[tuple[int, int]]:
    """Returns the versions of glibc's symbols that an ELF file needs."""
    said = subprocess.run(["readelf", "--version-info", program], capture_output=True, text=True, check=True).stdout
    for major, minor in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", said):
        yield int(major), int(minor)


def programs(wheel: Path, folder: Path) -> list[Path]:
    """Unpacks a wheel's ELF files into a folder, and returns their paths."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if archive.open(name).read(4) == b"\x7fELF"]
        return [Path(archive.extract(name, folder)) for name in names]


def tag(wheel: Path) -> str:
    """Returns the platform tag that all programs of a wheel meet."""
    with tempfile.TemporaryDirectory() as folder:
        needed = [version for each in programs(wheel, Path(folder)) for version in glibc_versions(each)]
    major, minor = max([LEAST, *needed])
    return f"manylinux_{major}_{minor}_x86_64"


def main() -> None:
    """Replaces each given wheel by one with the right tag, and prints its name."""
    for wheel in map(Path, sys.argv[1:]):
        words = [sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag(wheel), str(wheel)]
        name = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
        size = (wheel.parent / name).stat().st_size / 1e6
        print(f"{wheel.parent / name} ({size:.1f} MB)")


if __name__ == "__main__":
    main()
