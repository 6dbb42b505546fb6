"""The recorder lets one thread execute instructions at a time. So on one core, each load of a recording has the value
of the simulated memory, without exception.
"""

import shutil
import subprocess
from pathlib import Path

import casemate as cm
import pytest
from casemate.laboratory.requests import recorder_path

SOURCE = Path(__file__).parent / "programs" / "turns.c"
ONE_CORE = cm.RunOptions(limit="all", check_values=True, protection=False)

pytestmark = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or not recorder_path().is_file(), reason="recording needs QEMU and the recorder"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("turns") / "turns"
    subprocess.run(["cc", "-O1", "-pthread", "-Wall", "-Werror", "-o", path, SOURCE], check=True)
    return str(path)


@pytest.mark.parametrize("way", ["mutex", "spin", "barrier", "queue", "flag", "stop", "race"])
def test_every_load_of_threads_that_wait_for_each_other_has_its_recorded_value(program: str, way: str) -> None:
    record = cm.run([program, way], designs="none", options=ONE_CORE).records[0]
    values = record.checks.load_values
    assert values
    assert (values.threads, values.processes) == ((2, 2) if way in {"flag", "stop"} else (5, 1))
    assert values.compared > 10_000
    assert values.different == 0, values.first


def test_a_stored_recording_of_threads_has_the_values_and_two_replays_have_one_event_hash(
    program: str, tmp_path: Path
) -> None:
    trace = cm.record([program, "mutex"], tmp_path / "mutex.trace", load_values=True)
    records = [cm.run(cm.Trace(trace.path), designs="sc64-bmt", options=ONE_CORE).records[0] for _ in range(2)]
    assert records[0].event_hash == records[1].event_hash
    assert [record.checks.verdict for record in records] == ["passed", "passed"]


@pytest.mark.parametrize("way", ["mutex", "race"])
def test_a_limit_in_the_midst_of_a_turn_leaves_all_values_right(program: str, way: str) -> None:
    for limit in (150_000, 201_234):
        options = cm.RunOptions(limit=limit, check_values=True, protection=False)
        values = cm.run([program, way], designs="none", options=options).records[0].checks.load_values
        assert values
        assert values.different == 0, (limit, values.first)
