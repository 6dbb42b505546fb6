"""Pages that several addresses or processes share: the loads of a real program return the right content."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import casemate as cm
import pytest
from casemate.laboratory.requests import recorder_path
from conftest import Casemate

SOURCE = Path(__file__).parent / "programs" / "mappings.c"
KINDS = (
    "two-views",
    "views-at-offsets",
    "segments",
    "doubled",
    "moved",
    "mapped-over",
    "dropped",
    "private-file",
    "kernel-writes",
    "kernel-reads-into",
    "forked",
    "across",
    "heap",
    "zeros",
    "kernel-writes-private",
    "received",
    "regained",
    "apart",
)
pytestmark = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or not recorder_path().is_file(), reason="recording needs QEMU and the recorder"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("mappings") / "mappings"
    subprocess.run(["cc", "-O1", "-Wall", "-Werror", "-o", path, SOURCE], check=True)
    return str(path)


@pytest.mark.parametrize("kind", KINDS)
def test_every_mapping_of_a_shared_page_has_its_content(program: str, kind: str) -> None:
    assert subprocess.run([program, kind]).returncode == 0
    options = cm.RunOptions(check_values=True, limit="all", protection=False)
    for record in cm.run([program, kind], options=options).records:
        assert str(record.configuration.workload.finish) == "exited=0"
        values = record.checks.load_values
        assert values
        assert (values.verdict, values.different) == ("same", 0)


@pytest.mark.parametrize("kind", ["forked", "moved", "apart"])
@pytest.mark.parametrize(
    "machine", [{"changes": {"machine.memory.page": "2 MB"}}, {"machine": "champsim-default"}], ids=["large", "walked"]
)
def test_loads_from_shared_and_copied_pages_are_right_on_every_kind_of_machine(
    program: str, kind: str, machine: dict[str, Any]
) -> None:
    options = cm.RunOptions(check_values=True, limit="all", protection=False)
    [record] = cm.run([program, kind], designs="none", options=options, **machine).records
    values = record.checks.load_values
    assert values
    assert (values.verdict, values.different) == ("same", 0)


@pytest.mark.parametrize("cores", [3, 4])
def test_a_shell_with_two_child_processes_runs_on_several_cores(casemate: Casemate, cores: int) -> None:
    machine = ("--with", f"machine.cores={cores}", "--limit", "300K")
    said = casemate("run", "--check-values", "--design", "none", *machine, "--", "sh", "-c", "/bin/true; /bin/true")
    assert said.code == 0, said.out


def test_a_recording_has_the_content_of_every_mapping_of_a_page(casemate: Casemate, program: str) -> None:
    for kind in ("private-file", "forked"):
        assert casemate("record", "--check-values", "-o", f"{kind}.trace", "--", program, kind).code == 0
        said = casemate("run", "--trace", f"{kind}.trace", "--design", "sc64-bmt", "--machine", "emcc-4core")
        assert said.code == 0, said.out


def test_freed_memory_is_reused(casemate: Casemate, program: str) -> None:
    """Each of the two writes to 6 MB, and gives them back bit by bit."""
    command = f"{program} heap; {program} heap"
    small = ("--with", "machine.memory.size=4 MB")
    said = casemate("run", "--check-values", "--design", "none", "--limit", "all", *small, "--", "sh", "-c", command)
    assert said.code == 0
    assert "passed" in said.out
