"""Threads on several cores run in another order than recorded: the run says so, and marks the figures that it
changes.
"""

import shutil
import subprocess
from pathlib import Path

import casemate as cm
import pytest
from casemate.laboratory.requests import recorder_path
from conftest import Casemate

SOURCE = Path(__file__).parent / "programs" / "shared_array.c"
FOUR_CORES = ("--machine", "emcc-4core")

pytestmark = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or not recorder_path().is_file(), reason="recording needs QEMU and the recorder"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("threads") / "shared_array"
    subprocess.run(["cc", "-O1", "-pthread", "-Wall", "-Werror", "-o", path, SOURCE], check=True)
    return str(path)


def test_figures_of_threads_on_several_cores_are_marked_with_the_reason(casemate: Casemate, program: str) -> None:
    said = casemate("run", *FOUR_CORES, "--no-attacks", "--limit", "all", "--", program)
    text = " ".join(said.out.split())
    assert said.code == 0
    assert "5 threads; their waits are not simulated" in text
    assert "lines changed from outside" in text
    marked = [line for line in said.out.splitlines() if line.lstrip().startswith(("slowdown", "DRAM traffic"))]
    assert [line.count("(!)") for line in marked] == [2, 2]
    assert "The simulated cores do not wait for each other as the threads did" in text


def test_figures_of_threads_on_one_core_have_no_mark(casemate: Casemate, program: str) -> None:
    said = casemate("run", "--no-attacks", "--design", "none", "--limit", "all", "--", program)
    assert "5 threads; in the order of the recording" in said.out
    assert "(!)" not in said.out
    assert "changed from outside" not in said.out


@pytest.mark.parametrize("share", [1.0, 0.9, 0.7])
def test_values_of_threads_on_several_cores_are_not_in_order_but_no_error(
    casemate: Casemate, program: str, share: float
) -> None:
    """A limit may stop the thread with the stores that explain the loads of others."""
    whole = cm.run([program], designs="none", options=cm.RunOptions(limit="all", protection=False)).records[0]
    limit = str(int(whole.instructions * share))
    said = casemate(
        "run", *FOUR_CORES, "--no-attacks", "--design", "none", "--check-values", "--limit", limit, "--", program
    )
    assert said.code == 0, said.out
    assert "not in order" in said.out
    assert "FAILED" not in said.out
