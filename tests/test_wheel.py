"""The scripts of `make wheel`: the platform tag, and the checks that refuse a wrong wheel. The tests build no wheel."""

import importlib.util
import os
import subprocess
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import wheel_check

SCRIPTS = Path(__file__).parents[1] / "scripts"
ELF = b"\x7fELF"
NAME = "casemate-0.1.0-cp310-abi3-manylinux_2_34_x86_64.whl"


def wheel_script() -> ModuleType:
    """Returns `scripts/wheel.py`, whose name is also that of a library."""
    spec = importlib.util.spec_from_file_location("wheel_script", SCRIPTS / "wheel.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts a shell script into the place of a program."""

    def put(name: str, script: str) -> None:
        program = tmp_path / "programs" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path / 'programs'}:{os.environ['PATH']}")
    return put


def zipped(path: Path, files: dict[str, bytes], executable: Sequence[str] = ()) -> Path:
    """Writes a wheel with these files."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o755 if name in executable else 0o644) << 16
            archive.writestr(info, content)
    return path


@pytest.mark.parametrize(
    ("versions", "tag"),
    [
        ({"module": ("2.4", "2.17")}, "manylinux_2_34_x86_64"),
        ({"module": ("2.4", "2.34"), "keeper": ("2.2.5", "2.39")}, "manylinux_2_39_x86_64"),
        ({"module": ("2.38",), "keeper": ("2.9", "2.17")}, "manylinux_2_38_x86_64"),
        ({"module": ("2.100",), "keeper": ("2.99",)}, "manylinux_2_100_x86_64"),
    ],
)
def test_the_tag_is_the_highest_version_that_any_program_needs(
    tmp_path: Path, stand_in: Callable[[str, str], None], versions: dict[str, tuple[str, ...]], tag: str
) -> None:
    stand_in("readelf", 'sed -n "s/^needs/Name: GLIBC_/p" "$2"')
    files = {name: ELF + "".join(f"\nneeds{each}" for each in needed).encode() for name, needed in versions.items()}
    files["casemate/text.py"] = b"needs2.200"
    assert wheel_script().tag(zipped(tmp_path / "some.whl", files)) == tag


def whole() -> dict[str, bytes]:
    """Returns the files of a wheel with each file of the package; its programs are empty."""
    files = [path for path in wheel_check.PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    names = {path.relative_to(wheel_check.PACKAGE.parent).as_posix() for path in files}
    return dict.fromkeys(names | {f"casemate/{name}" for name in wheel_check.PROGRAMS}, ELF)


def test_a_wheel_without_a_file_with_debug_information_or_with_a_wrong_mode_is_refused(
    tmp_path: Path, stand_in: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    keeper = ("casemate/casemate-keeper",)
    stand_in("readelf", "echo .text")
    wheel_check.check_content(zipped(tmp_path / NAME, whole(), keeper), tmp_path / "a")
    assert capsys.readouterr().out.count("passed") == 5
    for left_out in ("casemate/report/report.js", "casemate/libcasemate_recorder.so"):
        files = {name: content for name, content in whole().items() if name != left_out}
        with pytest.raises(SystemExit, match=left_out):
            wheel_check.check_content(zipped(tmp_path / NAME, files, keeper), tmp_path / "b")
    with pytest.raises(SystemExit, match="the keeper is executable"):
        wheel_check.check_content(zipped(tmp_path / NAME, whole()), tmp_path / "c")
    stand_in("readelf", 'case "$3" in *recorder.so) echo .debug_info ;; *) echo .text ;; esac')
    with pytest.raises(SystemExit, match=r"libcasemate_recorder\.so has no debug information"):
        wheel_check.check_content(zipped(tmp_path / NAME, whole(), keeper), tmp_path / "d")


@pytest.mark.parametrize(("said", "agrees"), [("manylinux_2_34_x86_64", True), ("manylinux_2_36_x86_64", False)])
def test_a_tag_with_which_auditwheel_does_not_agree_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, agrees: bool
) -> None:
    (tmp_path / "auditwheel").mkdir()
    (tmp_path / "auditwheel/__init__.py").touch()
    (tmp_path / "auditwheel/__main__.py").write_text(f"print('''{NAME} is consistent with the tag:\n\"{said}\"''')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    wheel = zipped(tmp_path / NAME, {})
    if agrees:
        wheel_check.check_tag(wheel)
    else:
        with pytest.raises(SystemExit, match="auditwheel agrees"):
            wheel_check.check_tag(wheel)


def user(code: Callable[[tuple[str, ...], str | None], int], err: str = "") -> Any:
    """Returns an environment whose command ends with these codes."""

    def casemate(*words: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, code(words, path), "", err)

    return SimpleNamespace(casemate=casemate)


@pytest.mark.parametrize("failing", ["--version", "gzip", "attack", "--report"])
def test_a_command_that_fails_in_the_wheel_ends_the_check(failing: str) -> None:
    wheel_check.check_commands(user(lambda words, path: 0))
    with pytest.raises(SystemExit, match=failing):
        wheel_check.check_commands(user(lambda words, path: int(failing in words)))


def test_a_wheel_without_qemu_must_name_it_and_run_its_own_workloads(tmp_path: Path) -> None:
    def refused(words: tuple[str, ...], path: str | None) -> int:
        assert path
        return 2 if "gzip" in words else 0

    wheel_check.check_without_qemu(user(refused, "install qemu-user"), tmp_path / "a")
    for index, (code, err) in enumerate(((refused, "no program"), (lambda words, path: 0, "qemu-user"))):
        with pytest.raises(SystemExit, match="a program is refused by a line"):
            wheel_check.check_without_qemu(user(code, err), tmp_path / f"b{index}")
    with pytest.raises(SystemExit, match="a built-in workload runs"):
        wheel_check.check_without_qemu(user(lambda words, path: 2, "qemu-user"), tmp_path / "c")
