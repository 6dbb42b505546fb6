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


def test_values_of_threads_on_several_cores_are_no_errors_with_any_limit(casemate: Casemate, program: str) -> None:
    """A limit may stop the thread whose stores explain the loads of the others. The recording decides whether any load
    differs.
    """
    whole = cm.run([program], designs="none", options=cm.RunOptions(limit="all", protection=False)).records[0]
    for share in (1.0, 0.9, 0.7):
        limit = str(int(whole.instructions * share))
        ask = ("run", *FOUR_CORES, "--no-attacks", "--design", "none", "--check-values", "--limit", limit)
        record = casemate(*ask, "--json", "--", program).json()["records"][0]
        values = record["checks"]["load_values"]
        assert values["in_other_order"] == values["different"]
        assert values["verdict"] == ("other-order" if values["different"] else "same")


def test_a_verdict_of_values_in_another_order_is_no_failure() -> None:
    options = cm.RunOptions(limit=2_000, check_values=True, protection=False)
    record = cm.run(cm.BuiltIn("gups"), designs="none", options=options).records[0]
    values = record.checks.load_values
    assert values
    changes = {"different": 3, "in_other_order": 3, "verdict": "other-order"}
    checks = record.checks.model_copy(update={"load_values": values.model_copy(update=changes)})
    assert (record.checks.verdict, checks.verdict) == ("passed", "not in order")
