"""Programs of this computer that are simulated while they run, recorded, and simulated from the recording."""

import shutil
import subprocess
from pathlib import Path

import casemate as cm
import jsonschema
import pytest
from casemate.laboratory.requests import recorder_path
from conftest import Casemate

pytestmark = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or not recorder_path().is_file(), reason="recording needs QEMU and the recorder"
)
PROGRAM = ("/bin/sh", "-c", "exit 3")
UNATTACKED = cm.RunOptions(protection=False)


def test_a_live_program_runs_to_its_end(casemate: Casemate) -> None:
    said = casemate("run", "--check-values", "--design", "none", "--", *PROGRAM)
    assert said.code == 0
    assert "the program to its end" in said.out
    assert "exit status 3" in said.out
    assert "load values compared" in said.out


@pytest.mark.parametrize("program", [("/bin/true",), ("ls", "/"), ("/bin/sh", "-c", "echo $(ls /) | wc")], ids=str)
def test_every_load_of_a_live_program_returns_its_recorded_value_under_the_default_designs(
    casemate: Casemate, program: tuple[str, ...]
) -> None:
    said = casemate("run", "--check-values", "--", *program)
    assert said.code == 0, said.out
    assert "none" in said.out
    assert "sc64-bmt" in said.out
    results = cm.run(program, options=cm.RunOptions(check_values=True, protection=False))
    for record in results.records:
        values = record.checks.load_values
        assert values
        assert (values.verdict, values.different) == ("same", 0)
        assert values.compared > 10_000


def test_a_live_program_is_stopped_at_the_limit(casemate: Casemate) -> None:
    said = casemate("run", "--design", "none", "--limit", "20K", "--", *PROGRAM)
    assert "(the program was stopped there)" in said.out


def test_a_live_program_larger_than_the_machine_is_refused(casemate: Casemate, tmp_path: Path) -> None:
    machine = Path(__file__).resolve().parents[2] / "machines" / "modern.toml"
    tiny = machine.read_text().replace('"4 GB"', '"2 MB"').replace('"4 KB"', '"2 MB"')
    (tmp_path / "tiny.toml").write_text(tiny)
    said = casemate("run", "--machine", "tiny.toml", "--design", "none", "--", *PROGRAM)
    assert said.code == 2
    assert "needs more memory than the machine's 2 MB: all pages of 2 MB are in use" in " ".join(said.err.split())


def test_a_recorded_program_gives_the_same_result_every_time(casemate: Casemate) -> None:
    recorded = casemate("record", "-o", "sh.trace", "--limit", "100K", "--json", "--", *PROGRAM)
    assert recorded.code == 0
    jsonschema.validate(recorded.json(), casemate("schema", "record").json())
    hashes = [
        [record["event_hash"] for record in casemate("run", "--trace", "sh.trace", "--json").json()["records"]]
        for _ in range(2)
    ]
    assert hashes[0] == hashes[1]
    info = casemate("trace", "info", "sh.trace", "--json")
    jsonschema.validate(info.json(), casemate("schema", "trace").json())
    assert info.json()["totals"] == recorded.json()["totals"]
    assert "sh.trace" in casemate("list", "traces").out


def test_a_truncated_trace_is_refused_with_its_name(casemate: Casemate, tmp_path: Path) -> None:
    casemate("record", "-o", "sh.trace", "--limit", "100K", "--", *PROGRAM)
    trace = tmp_path / "sh.trace"
    trace.write_bytes(trace.read_bytes()[:-100])
    for command in (("trace", "info", "sh.trace"), ("run", "--trace", "sh.trace")):
        said = casemate(*command)
        assert said.code == 2
        assert "sh.trace" in said.err
        assert "truncated" in said.err


MARKED = """
int main(void) {
    volatile int sum = 0;
    for (int i = 0; i < 100000; i++) sum += i;
    __asm__ volatile("xchg %rbx, %rbx");
    for (int i = 0; i < 1000; i++) sum += i;
    __asm__ volatile("xchg %rbx, %rbx");
    return 0;
}
"""


def test_only_the_marked_region_is_run_on_request(tmp_path: Path) -> None:
    (tmp_path / "marked.c").write_text(MARKED)
    program = tmp_path / "marked"
    subprocess.run(["cc", "-O0", "-o", str(program), str(tmp_path / "marked.c")], check=True)
    whole, region = (
        cm.run(cm.Program([str(program)], region=region), designs=["none"], options=UNATTACKED).records[0].instructions
        for region in (False, True)
    )
    assert 3_000 < region < 20_000 < 300_000 < whole


def test_a_marked_region_is_labelled_and_missing_markers_are_reported(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "marked.c").write_text(MARKED)
    subprocess.run(["cc", "-O0", "-o", str(tmp_path / "marked"), str(tmp_path / "marked.c")], check=True)
    said = casemate("run", "--design", "none", "--region", "--", "./marked")
    assert "the marked region of the program" in said.out
    assert "the whole program" not in said.out
    casemate("record", "-o", "region.trace", "--region", "--", "./marked")
    assert "the marked region of the program" in casemate("trace", "info", "region.trace").out
    missing = casemate("run", "--design", "none", "--region", "--", "/bin/true")
    assert missing.code == 2
    assert "it never executed the marker, the instruction xchg %rbx,%rbx" in missing.err


def test_the_missing_interpreter_of_a_script_is_named(casemate: Casemate, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    said = casemate("run", "--design", "none", "--", "./script")
    assert said.code == 2
    assert "'./script' is a script for '/no/such/interpreter', which does not exist" in said.err


RACING = """
#include <pthread.h>
static volatile long shared[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *unused) {
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&lock);
        shared[i % 64] += i;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return 0;
}
"""


def test_differing_values_of_race_free_threads_are_a_warning_and_no_failure(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "racing.c").write_text(RACING)
    subprocess.run(["cc", "-O1", "-pthread", "-o", "racing", "racing.c"], check=True, cwd=tmp_path)
    command = ("run", "--machine", "emcc-4core", "--design", "none", "--check-values", "--limit", "all")
    options = cm.RunOptions(limit="all", check_values=True, protection=False)
    record, *_ = cm.run([str(tmp_path / "racing")], machine="emcc-4core", designs="none", options=options).records
    values = record.checks.load_values
    assert values
    assert (values.threads, values.processes) == (5, 1)
    assert values.verdict == "other-order"
    said = casemate(*command, "--", "./racing")
    assert said.code == 0, said.out
    assert "(5 threads in 1 process). Each is of a line that another thread" in said.out
    assert "by the instruction at 0x" in said.out
    assert "FAILED" not in said.out


SHARING = """
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    volatile long *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    long sum = shared[0];  // seen before the child is there: what it writes is a change, whichever runs first
    if (fork() == 0) {
        for (int i = 0; i < 64; i++) shared[i] = i + 1;
        _exit(0);
    }
    wait(0);
    for (int i = 0; i < 64; i++) sum += shared[i];
    return sum == 0;
}
"""


def test_processes_that_share_memory_load_the_stores_of_each_other(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "sharing.c").write_text(SHARING)
    subprocess.run(["cc", "-O1", "-o", "sharing", "sharing.c"], check=True, cwd=tmp_path)
    said = casemate("run", "--design", "none", "--check-values", "--limit", "all", "--", "./sharing")
    assert said.code == 0
    assert "another value than recorded" not in said.out
    assert "passed" in said.out


def test_a_missing_recorder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASEMATE_RECORDER", "/nowhere/recorder.so")
    with pytest.raises(cm.CasemateError, match=r"/nowhere/recorder\.so"):
        cm.run(PROGRAM)


def test_json_is_not_mixed_with_the_programs_output(casemate: Casemate) -> None:
    assert casemate("run", "--stdout", "inherit", "--json", "--", "/bin/echo", "hello").code == 2
    assert "hello" in casemate("run", "--design", "none", "--stdout", "inherit", "--", "/bin/echo", "hello").out


def test_a_program_that_sleeps_is_ended_by_ctrl_c(interrupted: Casemate) -> None:
    said = interrupted("run", "--", "/bin/sleep", "1000")
    assert said.code == 130
    assert "Stopped by Ctrl-C" in said.out


def test_a_recording_that_is_interrupted_is_a_usable_trace(interrupted: Casemate, casemate: Casemate) -> None:
    said = interrupted("record", "-o", "endless.trace", "--", "/bin/sh", "-c", "while :; do :; done")
    assert said.code == 130
    assert casemate("run", "--trace", "endless.trace", "--limit", "50K").code == 0


AVX512 = """
int main(void) {
    __asm__ volatile(".byte 0x62, 0xf1, 0x7d, 0x48, 0xef, 0xc0"); /* vpxord %zmm0, %zmm0, %zmm0 */
    return 0;
}
"""


def test_the_output_names_avx_512_as_cause_of_a_sigill(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "wide.c").write_text(AVX512)
    subprocess.run(["cc", "-o", "wide", "wide.c"], check=True, cwd=tmp_path)
    said = casemate("run", "--design", "none", "--", "./wide")
    assert said.code == 0
    assert "the program until signal 4 (SIGILL) ended it" in said.out
    assert "most likely one of AVX-512" in said.out
