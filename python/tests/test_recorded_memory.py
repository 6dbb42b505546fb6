"""Stores and kernel writes that other views, strands or processes see: the loads of real programs return the right
content, and no load is excused.
"""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import casemate as cm
import pytest
from casemate.laboratory.requests import recorder_path
from conftest import Casemate

PROGRAMS = Path(__file__).parent / "programs"
OBJECTS = ("memfd", "file", "grown", "hugetlb", "segment", "zero", "anonymous")
ACCESSES = ("byte", "lines", "update", "clear", "copy", "read")
LACKS = 77
"""Exit code of a program on a host without the kind of object that it needs."""

pytestmark = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or not recorder_path().is_file(), reason="recording needs QEMU and the recorder"
)

Build = Callable[[str], str]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("programs")

    def built(name: str) -> str:
        path = folder / name
        if not path.exists():
            source = PROGRAMS / f"{name}.c"
            # Without lazy binding, in which threads race for the linker's lock.
            command = ["cc", "-O1", "-pthread", "-Wl,-z,now", "-Wall", "-Werror", "-o", str(path), str(source)]
            subprocess.run(command, check=True)
        return str(path)

    return built


def run_right(*command: str) -> None:
    """Runs a program that checks its own loads, natively and recorded: every recorded load is right."""
    native = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
    if native == LACKS:
        pytest.skip("the host lacks this kind of object")
    assert native == 0
    options = cm.RunOptions(check_values=True, limit="all", protection=False)
    [record] = cm.run(list(command), designs="none", options=options).records
    assert str(record.configuration.workload.finish) == "exited=0"
    values = record.checks.load_values
    assert values
    assert (values.verdict, values.different) == ("same", 0)


@pytest.mark.parametrize("access", ACCESSES)
@pytest.mark.parametrize("shared", OBJECTS)
def test_a_first_store_through_one_view_is_not_seen_too_early_in_another(
    build: Build, shared: str, access: str
) -> None:
    run_right(build("first_stores"), shared, access)


def test_stores_that_a_killed_process_had_not_sent_explain_later_loads(build: Build) -> None:
    options = cm.RunOptions(check_values=True, limit="all", protection=False)
    [record] = cm.run([build("killed_writer")], designs="none", options=options).records
    assert str(record.configuration.workload.finish) == "exited=0"
    values = record.checks.load_values
    assert values
    assert values.verdict in {"same", "other-order"}, values


@pytest.mark.parametrize("kind", ["self", "read-only", "moved", "gathered", "child", "parent"])
def test_loads_see_what_the_kernel_wrote_through_the_memory_file_of_a_process(build: Build, kind: str) -> None:
    run_right(build("process_memory"), kind)


@pytest.mark.parametrize("kind", ["mapped", "attached", "replaced", "private", "thread", "messages", "child", "copied"])
def test_loads_see_what_the_kernel_wrote_however_their_page_is_mapped(
    build: Build, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_right(build("kernel_writes"), kind)


def test_a_run_ends_although_its_program_kills_busy_processes(build: Build) -> None:
    options = cm.RunOptions(limit="all", protection=False)
    [record] = cm.run([build("kills")], designs="none", options=options).records
    assert str(record.configuration.workload.finish) == "exited=0"


@pytest.mark.parametrize("kind", ["self", "pid", "thread", "link", "inside", "moved", "child"])
def test_an_entry_of_proc_executes_the_recorded_program_and_not_qemu(
    build: Build, casemate: Casemate, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(build("executes"))
    monkeypatch.chdir(program.parent)
    said = casemate("run", "--design", "none", "--limit", "all", "--json", "--", f"./{program.name}", kind)
    assert said.code == 0, said.err
    [record] = cm.RunResults.model_validate_json(said.out).records
    assert str(record.configuration.workload.finish) == "exited=0"
    assert record.instructions < 2_000_000, "QEMU itself executes millions of instructions"


def test_every_thread_is_recorded_however_many_a_process_starts(build: Build) -> None:
    options = cm.RunOptions(limit="all", protection=False)
    few, many = (
        cm.run([build("thread_chain"), number], designs="none", options=options).records[0].instructions
        for number in ("500", "5000")
    )
    assert 9 < many / few < 11
