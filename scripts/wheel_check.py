"""Tries a wheel as a user without the source: two empty environments, a folder of their own, and a Dask worker.

Usage: scripts/wheel_check.py WHEEL. Each check prints a line; the first that fails ends the script with exit code 1.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python/casemate"
PROGRAMS = ("_core.abi3.so", "libcasemate_recorder.so", "casemate-keeper")
"""Files of the package that the build compiles."""
SYSTEM = ("gzip", "env", "sh", "uname")
"""Programs of the system that a machine without QEMU has as well."""


class Environment:
    """An empty virtual environment with the wheel, outside of the source tree."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self._folder = folder
        venv.create(folder, with_pip=True)
        self._call(
            folder / "bin/python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            f"{wheel}[studies,report]",
        )

    def casemate(self, *words: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
        """Runs the command; with `path`, as if only its folders contained programs."""
        return self._run(self._folder / "bin/casemate", *words, path=path)

    @contextmanager
    def background(self, program: str, *words: str) -> Iterator[None]:
        """Runs a program of the environment until the block ends."""
        with subprocess.Popen(
            [self._folder / "bin" / program, *words],
            cwd=self._folder,
            env=self._variables(None),
            stderr=subprocess.DEVNULL,
        ) as running:
            try:
                yield
            finally:
                running.terminate()

    def _variables(self, path: str | None) -> dict[str, str]:
        """Variables of a login without Python's, so that no source tree is on the path of modules."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CASEMATE", "VIRTUAL"))
        }
        return kept | ({"PATH": path} if path else {})

    def _run(self, *words: str | Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=self._folder, env=self._variables(path), capture_output=True, text=True, check=False
        )

    def _call(self, *words: str | Path) -> None:
        said = self._run(*words)
        if said.returncode:
            sys.exit(f"{words[0]}: {said.stderr}")


def expect(holds: bool, what: str, said: subprocess.CompletedProcess[str] | str) -> None:
    """Prints a check that holds; ends the script at one that does not."""
    if not holds:
        sys.exit(f"FAILED: {what}\n{said if isinstance(said, str) else said.stdout + said.stderr}")
    print(f"passed: {what}")


def sections(program: Path) -> str:
    """Returns the names of the sections of an ELF file."""
    return subprocess.run(
        ["readelf", "--sections", "--wide", program], capture_output=True, text=True, check=True
    ).stdout


def check_content(wheel: Path, folder: Path) -> None:
    """The wheel has every file of the package, an executable keeper, and programs without debug information."""
    files = [path.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("*") if path.is_file()]
    wanted = {path.as_posix() for path in files if "__pycache__" not in path.parts}
    with zipfile.ZipFile(wheel) as archive:
        missing = sorted(wanted - set(archive.namelist()))
        expect(not missing, "the wheel has every file of the package", ", ".join(missing))
        mode = archive.getinfo("casemate/casemate-keeper").external_attr >> 16
        expect(mode & 0o111 == 0o111, "the keeper is executable", f"its mode is {mode:o}")
        for name in PROGRAMS:
            program = Path(archive.extract(f"casemate/{name}", folder))
            expect(".debug_info" not in sections(program), f"{name} has no debug information", sections(program))


def check_commands(user: Environment) -> None:
    """Runs the commands that a new user types first."""
    for words in (
        ("--version",),
        ("run", "--limit", "200K", "--", "gzip", "-c", "/etc/services"),
        ("attack", "ctr-mac", "--trials", "3"),
        ("run", "--limit", "50K", "--workload", "bfs", "--design", "none", "--report", "run.html"),
    ):
        said = user.casemate(*words)
        expect(said.returncode == 0, " ".join(("casemate", *words)), said)


def check_without_qemu(user: Environment, folder: Path) -> None:
    """Without QEMU, a recording says what to install, and a built-in workload runs."""
    folder.mkdir()
    for program in SYSTEM:
        (folder / program).symlink_to(shutil.which(program) or program)
    said = user.casemate("run", "--limit", "50K", "--", "gzip", "-c", "/etc/services", path=str(folder))
    expect(said.returncode == 2 and "qemu-user" in said.stderr, "without QEMU, a program is refused by a line", said)
    said = user.casemate("run", "--limit", "50K", "--workload", "bfs", path=str(folder))
    expect(said.returncode == 0, "without QEMU, a built-in workload runs", said)


def check_worker(client: Environment, worker: Environment) -> None:
    """A study of one environment runs on a Dask worker of the other."""
    address = "tcp://127.0.0.1:8799"
    with (
        client.background("dask", "scheduler", "--host", "127.0.0.1", "--port", "8799", "--no-dashboard"),
        worker.background("dask", "worker", address, "--nthreads", "1", "--no-dashboard"),
    ):
        said = client.casemate(
            "sweep",
            "--workload",
            "bfs",
            "--design",
            "none",
            "--limit",
            "50K",
            "--scheduler",
            address,
            "--output",
            "study",
        )
    expect(said.returncode == 0, "one point on a Dask worker of another environment", said)


def check_tag(wheel: Path) -> None:
    """auditwheel agrees with the tag in the wheel's name."""
    said = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True, check=False
    )
    tag = wheel.stem.rsplit("-", 1)[1]
    agrees = said.returncode == 0 and f'"{tag}"' in said.stdout.replace("\n", " ")
    expect(agrees, f"auditwheel agrees with {tag}", said)


def main(arguments: Sequence[str]) -> None:
    """Carries out all checks."""
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        sys.exit(f"usage: {sys.argv[0]} WHEEL")
    wheel = Path(arguments[0]).resolve()
    check_tag(wheel)
    with tempfile.TemporaryDirectory() as folder:
        check_content(wheel, Path(folder) / "unpacked")
        user, worker = (Environment(Path(folder) / name, wheel) for name in ("user", "worker"))
        check_commands(user)
        check_without_qemu(user, Path(folder) / "system")
        check_worker(user, worker)


if __name__ == "__main__":
    main(sys.argv[1:])
