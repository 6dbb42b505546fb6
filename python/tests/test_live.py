"""Programs that really run: live, recorded, and replayed."""

import shutil
import subprocess
from pathlib import Path

import casemate as cm
import jsonschema
import pytest
from casemate.api import recorder_path
from conftest import Casemate

pytestmark = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or not recorder_path().is_file(), reason="recording needs QEMU and the recorder"
)
PROGRAM = ("/bin/sh", "-c", "exit 3")


def test_a_live_program_runs_to_its_end(casemate: Casemate) -> None:
    said = casemate("run", "--check-values", "--design", "none", "--", *PROGRAM)
    assert said.code == 0
    assert "the program to its end" in said.out
    assert "exit status 3" in said.out
    assert "load values compared" in said.out


def test_a_live_program_is_stopped_at_the_limit(casemate: Casemate) -> None:
    said = casemate("run", "--design", "none", "--limit", "20K", "--", *PROGRAM)
    assert "(the program was stopped there)" in said.out


def test_a_live_program_that_outgrows_the_machine_is_bad_input(casemate: Casemate, tmp_path: Path) -> None:
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


def test_only_the_marked_region_is_run_if_asked_for(tmp_path: Path) -> None:
    (tmp_path / "marked.c").write_text(MARKED)
    program = tmp_path / "marked"
    subprocess.run(["cc", "-O0", "-o", str(program), str(tmp_path / "marked.c")], check=True)
    whole, region = (
        cm.run([str(program)], designs=["none"], region=region, protection=False).records[0].instructions
        for region in (False, True)
    )
    assert 3_000 < region < 20_000 < 300_000 < whole


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


def test_a_recording_that_is_interrupted_keeps_what_was_recorded(interrupted: Casemate, casemate: Casemate) -> None:
    said = interrupted("record", "-o", "endless.trace", "--", "/bin/sh", "-c", "while :; do :; done")
    assert said.code == 130
    assert casemate("run", "--trace", "endless.trace", "--limit", "50K").code == 0
