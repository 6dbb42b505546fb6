"""`make fast` and its requirements, with fake versions of cargo, maturin and rustup: the tests build no code."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from files import tracked

ROOT = Path(__file__).parent.parent
PACKAGE = "python/casemate/_core.abi3.so"
CARGO = """#!/bin/sh
mkdir -p target/release
touch target/release/libcasemate_recorder.so target/release/casemate-keeper
"""
MATURIN = f"""#!/bin/sh
printf '%s' "$RUSTFLAGS" > flags
case "$*" in *--pgo*) echo LLVM_PROFILE_FILE > {PACKAGE} ;; *) echo released > {PACKAGE} ;; esac
touch begun
"""


def stand_in(path: Path, script: str) -> None:
    """Puts a script into the place of a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with the Makefile, in which everything is set up already."""
    for name in ("Makefile", ".cargo/release.toml", "scripts/setup.sh", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "python/casemate").mkdir(parents=True)
    (tmp_path / ".venv").mkdir()
    for ready in (".ready", ".ready-fast"):
        (tmp_path / ".venv" / ready).touch()
    stand_in(tmp_path / "bin/cargo", CARGO)
    return tmp_path


def make(here: Path, *goals: str) -> subprocess.Popen[str]:
    """Begins to make something, as from a terminal: Ctrl-C goes to all of it."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "CARGO_"))}
    inherited.pop("RUSTFLAGS", None)
    path = f"{here / 'bin'}:{inherited['PATH']}"
    words = ["make", "--no-print-directory", *goals]
    return subprocess.Popen(
        words, cwd=here, env=inherited | {"PATH": path}, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def test_make_fast_builds_with_the_release_flags_and_states_its_duration(here: Path) -> None:
    stand_in(here / ".venv/bin/maturin", MATURIN)
    running = make(here, "fast")
    _, said = running.communicate()
    assert running.returncode == 0, said
    flags = (here / "flags").read_text()
    assert flags.startswith("-C")
    assert f'rustflags = ["{flags}"]' in (ROOT / ".cargo/release.toml").read_text()
    assert "make fast: this takes six minutes more than make build" in said


def test_make_build_passes_no_flags_other_than_the_release_configuration(here: Path) -> None:
    stand_in(here / ".venv/bin/maturin", MATURIN)
    running = make(here, "build")
    _, said = running.communicate()
    assert (running.returncode, (here / "flags").read_text()) == (0, ""), said
    assert "make fast" not in said


@pytest.mark.parametrize("goal", ["build", "fast"])
def test_a_build_states_its_parts_and_duration_before_each_and_shows_the_output_of_cargo(here: Path, goal: str) -> None:
    stand_in(here / "bin/cargo", f"{CARGO}echo cargo builds the recorder >&2\n")
    silent = 'case "$*" in *--quiet*) ;; *) echo cargo builds the package >&2 ;; esac\n'
    stand_in(here / ".venv/bin/maturin", MATURIN + silent)
    running = make(here, goal)
    _, said = running.communicate()
    assert running.returncode == 0, said
    lines = [line for line in said.splitlines() if line.startswith(("make build: ", "cargo builds"))]
    first, recorder, second, package = lines
    assert re.search(r"first the recorder, then .* \(profile release\): about \d+ minutes on two cores", first)
    assert second.startswith("make build: now the Python package")
    assert (recorder, package) == ("cargo builds the recorder", "cargo builds the package")


@pytest.mark.parametrize("ending", ["failure", "ctrl-c"])
def test_make_fast_removes_an_instrumented_package_if_the_build_does_not_complete(here: Path, ending: str) -> None:
    stand_in(here / ".venv/bin/maturin", MATURIN + ("exit 1\n" if ending == "failure" else "exec sleep 30\n"))
    running = make(here, "fast")
    if ending == "ctrl-c":
        until = time.monotonic() + 20
        while not (here / "begun").exists() and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=120)
    assert running.returncode != 0
    assert not (here / PACKAGE).exists()
    assert "taken out again: run make build or make fast" in said


def test_make_fast_keeps_a_released_package_if_its_build_cannot_start(here: Path) -> None:
    (here / PACKAGE).write_text("released")
    stand_in(here / ".venv/bin/maturin", "#!/bin/sh\nexit 1\n")
    running = make(here, "fast")
    _, said = running.communicate()
    assert running.returncode != 0
    assert (here / PACKAGE).read_text() == "released"
    assert "taken out" not in said


def test_the_last_line_of_setup_names_tools_that_rustup_cannot_add(here: Path) -> None:
    stand_in(here / "bin/rustc", f"#!/bin/sh\necho {here}/nowhere\n")
    stand_in(here / "bin/rustup", "#!/bin/sh\necho error: no network >&2\nexit 1\n")
    for program in ("qemu-x86_64", "cc"):
        stand_in(here / f"bin/{program}", "#!/bin/sh\n")
    stand_in(here / ".venv/bin/python", "#!/bin/sh\n")
    words = ["bash", "scripts/setup.sh", ".venv", "fast"]
    path = {"PATH": f"{here / 'bin'}:{os.environ['PATH']}"}
    ended = subprocess.run(words, cwd=here, env=os.environ | path, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith("setup: llvm-profdata is missing next to rustc")
    assert "\033" not in ended.stderr


def test_the_demo_has_no_colours_without_a_terminal(here: Path) -> None:
    shutil.copy(ROOT / "scripts/demo.sh", here / "scripts/demo.sh")
    for name in ("demo-table.sql", "demo.sql"):
        (here / "scripts" / name).touch()
    stand_in(here / "bin/sqlite3", '#!/bin/sh\ntouch "$3"\n')
    stand_in(here / "bin/casemate", "#!/bin/sh\n")
    path = {"PATH": f"{here / 'bin'}:{os.environ['PATH']}", "CASEMATE": "casemate"}
    ended = subprocess.run(["bash", "scripts/demo.sh"], cwd=here, env=os.environ | path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "$ casemate explain sc64-bmt --against ctr-mac-version" in ended.stdout
    assert "\033" not in ended.stdout


def test_rustdoc_runs_for_the_crates_with_an_example_in_their_documentation() -> None:
    line = re.search(r"^WITHOUT_EXAMPLE := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert line
    with_example = set()
    for path in tracked("crates/*/src/**/*.rs"):
        fences = re.findall(r"^ *//[/!] ```(\w*)", path.read_text(), re.MULTILINE)
        # A fence without a language begins an example, or ends any fence.
        if any(language in ("", "should_panic", "no_run") for language in fences[::2]):
            with_example.add(path.relative_to(ROOT).parts[1])
    # Cargo documents no library of these crates, and needs `campaign` for a feature.
    without = (
        {path.name for path in (ROOT / "crates").iterdir()} - {"bench", "py", "recorder", "campaign"} - with_example
    )
    assert {"crypto", "sim", "machine", "protection"} <= with_example
    assert set(line[1].split()) == without
