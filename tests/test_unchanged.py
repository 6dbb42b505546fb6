"""`make test` skips a step only if the step passed with the same inputs, and the inputs of a step are complete."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import unchanged
from files import ROOT, tracked

HARDWARE = [name for name in unchanged.STEPS if name.startswith("hw-")]
Step = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one crate and the script."""
    for name in ("unchanged.py", "files.py", "shape.py"):
        (tmp_path / "scripts").mkdir(exist_ok=True)
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    (tmp_path / "crates/a").mkdir(parents=True)
    (tmp_path / "crates/a/lib.rs").write_text("one")
    (tmp_path / ".gitignore").write_text("/target\n/ran\n__pycache__\n")
    for words in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


@pytest.fixture
def step(repository: Path) -> Step:
    """Runs a shell command as the step of the Rust tests."""

    def run(command: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        (repository / "ran").unlink(missing_ok=True)
        words = [sys.executable, "scripts/unchanged.py", *options, "rust-tests", "sh", "-c", f"touch ran; {command}"]
        return subprocess.run(words, cwd=repository, env=os.environ | variables, capture_output=True, text=True)

    return run


def test_a_step_is_skipped_after_it_passed_and_the_message_says_how_to_run_it(repository: Path, step: Step) -> None:
    assert (step("true").returncode, (repository / "ran").exists()) == (0, True)
    skipped = step("true")
    assert (skipped.returncode, (repository / "ran").exists()) == (0, False)
    assert re.search(r"^make test: skips rust-tests: it passed at .* inputs; `make test AGAIN=1`", skipped.stderr)
    step("true", "--again")
    assert (repository / "ran").exists()


@pytest.mark.parametrize("change", ["edited", "new", "deleted", "variable", "command"])
def test_a_step_runs_after_any_input_changed_and_the_message_names_the_input(
    repository: Path, step: Step, change: str
) -> None:
    step("true")
    lib = repository / "crates/a/lib.rs"
    if change == "edited":
        lib.write_text("two")
    elif change == "new":
        (repository / "crates/a/new.rs").touch()
    elif change == "deleted":
        lib.unlink()
    again = step(
        "true;" if change == "command" else "true", **({"CASEMATE_SHARE": "3"} if change == "variable" else {})
    )
    assert (repository / "ran").exists()
    named = {"new": "crates/a/new.rs", "variable": "variable CASEMATE_SHARE", "command": "the command"}
    assert f"changed since it last passed: {named.get(change, 'crates/a/lib.rs')}\n" in again.stderr


def test_a_step_that_failed_runs_again_with_its_exit_code(repository: Path, step: Step) -> None:
    assert [step("exit 3").returncode for _ in range(2)] == [3, 3]
    assert (repository / "ran").exists()


def test_a_step_that_fails_after_it_passed_with_the_same_inputs_is_not_skipped(repository: Path, step: Step) -> None:
    command = "test ! -e target/broken"
    step(command)
    (repository / "target/broken").touch()
    assert step(command, "--again").returncode == 1
    (repository / "target/broken").unlink()
    step(command)
    assert (repository / "ran").exists()


def test_a_step_is_not_skipped_if_an_input_changed_while_it_ran(repository: Path, step: Step) -> None:
    changed = step("echo two > crates/a/lib.rs")
    assert "inputs changed while it ran: crates/a/lib.rs\n" in changed.stderr
    step("echo two > crates/a/lib.rs")
    assert (repository / "ran").exists()


def test_a_file_outside_a_step_leaves_the_step_skipped(repository: Path, step: Step) -> None:
    step("true")
    (repository / "python").mkdir()
    (repository / "python/new.py").touch()
    step("true")
    assert not (repository / "ran").exists()


def inputs(name: str) -> set[str]:
    return {str(path.relative_to(ROOT)) for path in unchanged.files_of(unchanged.STEPS[name])}


def test_every_file_that_rust_code_names_is_an_input_of_the_rust_tests() -> None:
    known = inputs("rust-tests")
    named = set()
    for path in tracked("crates/**/*.rs"):
        for text in re.findall(r'"/?((?:\.\./)+[\w./-]+\.\w+)"', path.read_text()):
            # A path is relative to the file, or to the folder of the crate.
            crate = ROOT.joinpath(*path.relative_to(ROOT).parts[:2])
            named |= {file.resolve() for folder in (path.parent, crate) if (file := folder / text).is_file()}
    assert len(named) > 5
    assert {str(path.relative_to(ROOT)) for path in named} <= known
    # build.rs reads these folders.
    assert {str(path.relative_to(ROOT)) for path in tracked("designs/**", "machines/**", "classes.toml")} <= known


def test_a_change_of_the_package_in_python_runs_no_rust_test_again() -> None:
    for name in ("lint-rust", "rust-tests", "rust-examples"):
        assert not [path for path in inputs(name) if path.startswith(("python/", "tests/", "dv/", "formal/"))]


def test_a_step_of_the_hardware_depends_only_on_the_modules_that_its_scripts_import() -> None:
    flow, sweep = "python/casemate/hardware/flow.py", "python/casemate/studies/sweep.py"
    for name in HARDWARE:
        known = inputs(name)
        assert {"rtl/gcm_lane.sv", "dv/run.py", "crates/crypto/src/lib.rs", "python/casemate/api.py"} <= known
        assert sweep not in known
    assert flow in inputs("hw-synthesis")
    assert flow not in inputs("hw-lint")
    assert "formal/models/" in " ".join(inputs("hw-proofs"))


def test_tests_of_the_package_depend_on_all_files_that_they_may_read() -> None:
    missing = {str(path.relative_to(ROOT)) for path in tracked("**")} - inputs("python-tests")
    folders = {path.split("/")[2 if path.startswith("crates/") else 0] for path in missing}
    assert folders <= {"tests", "dv", "formal", "fuzz", "benches", "examples"}
    assert inputs("house-rules") >= missing


def test_make_test_uses_exactly_the_known_steps_and_ci_skips_no_step() -> None:
    makefile = (ROOT / "Makefile").read_text()
    used = set(re.findall(r"\$\(STEP\) ([a-z][a-z-]*)", makefile))
    used |= set(re.search(r"^HARDWARE := (.*)$", makefile, re.MULTILINE)[1].split())  # type: ignore[index]
    assert used == set(unchanged.STEPS)
    assert "make test AGAIN=1" in (ROOT / ".ci/run").read_text()
