"""Real programs with files that survive a loss of power: `casemate run --persistent mapped`."""

import shutil
import subprocess
from pathlib import Path

import casemate as cm
import pytest
from casemate.laboratory.requests import Persistent, recorder_path
from conftest import Casemate

pytestmark = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or not recorder_path().is_file(), reason="recording needs QEMU and the recorder"
)
RUN = ("run", "--machine", "secpb-pcm", "--design", "secpb-cobcm", "--limit", "all", "--check-values")

COUNTING = """
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { BYTES = 1 << 16 };
int main(int argc, char **argv) {
    int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (argc != 2 || file < 0 || ftruncate(file, BYTES)) return 1;
    // What lay where the file is mapped was stored to, and reads as the file does.
    char *at = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(at, 1, BYTES);
    memset(at, 0, BYTES);
    volatile long *counts = mmap(at, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    if (counts == MAP_FAILED) return 1;
    volatile long own[64];
    for (int i = 0; i < 5000; i++) {
        own[i % 64] = i;
        counts[i * 7 % (BYTES / sizeof(long))] += own[i % 64];
        if (i % 1000 == 0 && msync(at, BYTES, MS_SYNC)) return 1;
    }
    return counts[7] != 1;
}
"""


@pytest.fixture
def counting(tmp_path: Path) -> Path:
    """A program that counts in a file, which its argument names."""
    (tmp_path / "counting.c").write_text(COUNTING)
    subprocess.run(["cc", "-O1", "-o", "counting", "counting.c"], check=True, cwd=tmp_path)
    return tmp_path / "counting"


def persisted(program: cm.Program | cm.Trace) -> int:
    """Number of stores that used the persist buffer."""
    options = cm.RunOptions(limit="all", check_values=True, protection=False)
    record, *_ = cm.run(program, machine="secpb-pcm", designs="secpb-cobcm", options=options).records
    assert record.checks.passed
    assert record.feed.mapped_lines >= (1 << 16) / 64
    assert record.persist_buffer
    return record.persist_buffer.stores


def test_only_stores_to_shared_file_mappings_enter_the_persist_buffer(
    counting: Path, casemate: Casemate, tmp_path: Path
) -> None:
    assert casemate("record", "--check-values", "-o", "counting.trace", "--", str(counting), "file").code == 0

    def stored(persistent: Persistent) -> int:
        command = [str(counting), str(tmp_path / "file")]
        live = persisted(cm.Program(command, persistent=persistent))
        assert persisted(cm.Trace(tmp_path / "counting.trace", persistent)) == pytest.approx(live, abs=50)
        return live

    assert stored("mapped") == 5000
    assert stored("all") > 3 * 5000


def test_a_sampled_run_passes_every_store_to_a_shared_file_mapping_to_the_persist_buffer(
    counting: Path, tmp_path: Path
) -> None:
    program = cm.Program([str(counting), str(tmp_path / "file")], persistent="mapped")
    options = cm.RunOptions(limit="all", check_values=True, protection=False, detail="sampled")
    record, *_ = cm.run(program, machine="secpb-pcm", designs="secpb-nogap", options=options).records
    assert record.checks.passed
    assert record.sampling
    assert record.persist_buffer
    assert record.sampling.detailed < record.instructions / 2
    assert record.feed.persistent_stores == 5000 > record.persist_buffer.stores


def test_the_run_record_states_which_memory_is_persistent(counting: Path, casemate: Casemate) -> None:
    for persistent in ("all", "mapped"):
        said = casemate(*RUN, "--persistent", persistent, "--json", "--", str(counting), "file")
        assert said.code == 0
        origin = said.json()["records"][0]["configuration"]["workload"]
        assert origin.get("persistent", "all") == persistent


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((*RUN, "--", "/bin/true"), "'/bin/true' did not store to a file that it maps shared"),
        (
            ("run", "--design", "plp-coalesced", "--", "/bin/true"),
            "leave --persistent at all, or take a design that handles single stores",
        ),
        (("run", "--trace", "x.champsimtrace"), "'x.champsimtrace' is a trace of ChampSim, which does not record"),
        (("run", "--workload", "gups"), "--persistent mapped is for programs and traces"),
    ],
)
def test_a_program_that_cannot_be_persistent_in_part_is_refused(
    casemate: Casemate, tmp_path: Path, given: tuple[str, ...], expected: str
) -> None:
    (tmp_path / "x.champsimtrace").write_bytes((0x400000).to_bytes(64, "little"))
    said = casemate("run", "--persistent", "mapped", *given[1:])
    assert said.code == 2
    assert expected in " ".join(said.err.split())
    assert "IPC" not in said.out
