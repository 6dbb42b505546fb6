"""Programs that QEMU executes wrongly, or that need more memory than available: the report names each problem."""

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from casemate.laboratory.requests import recorder_path
from casemate.schemas.origin import Killed, Unbacked
from casemate.terminal import progress
from conftest import Casemate
from rich.console import Console

PYTHON = str(Path(sys.executable).resolve())
"""Interpreter without a script in front of it, which could start a shell first."""

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "concepts" / "qemu.md").read_text()

needs_qemu = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or shutil.which("cc") is None or not recorder_path().is_file(),
    reason="recording needs QEMU, the recorder and a compiler",
)


def is_version_7() -> bool:
    said = subprocess.run(["qemu-x86_64", "--version"], capture_output=True, text=True, check=True)
    return "version 7." in said.stdout


def built(heading: str, folder: Path, *options: str) -> None:
    """Compiles the input of a section of the page as `input`."""
    section = PAGE.split(f"## {heading}\n")[1]
    found = re.search(r"```c\n(.*?)```", section, re.DOTALL)
    assert found is not None
    (folder / "input.c").write_text(found[1])
    subprocess.run(["cc", "-O1", *options, "-o", "input", "input.c"], check=True, cwd=folder)


@needs_qemu
def test_a_masked_load_that_faults_under_qemu_is_named(casemate: Casemate, tmp_path: Path) -> None:
    built("A masked load at the end of a mapping", tmp_path, "-mavx2")
    if not is_version_7():
        pytest.skip("a fault of QEMU 7")
    said = casemate("run", "--design", "none", "--limit", "all", "--", "./input")
    assert "the program until signal 11 (SIGSEGV) ended it" in said.out
    assert "The fault may be QEMU's: the program loads vectors under a mask" in " ".join(said.out.split())
    record = casemate("run", "--design", "none", "--limit", "all", "--json", "--", "./input").json()
    jsonschema.validate(record, casemate("schema", "run").json())
    assert record["records"][0]["configuration"]["workload"]["suspects"] == ["masked-vector"]


@needs_qemu
def test_doubly_mapped_code_is_mentioned_only_if_a_fault_ends_the_program(casemate: Casemate, tmp_path: Path) -> None:
    built("Code that is written at another address", tmp_path)
    well = casemate("run", "--design", "none", "--limit", "all", "--", "./input")
    assert "QEMU" not in well.out
    source = (tmp_path / "input.c").read_text()
    (tmp_path / "input.c").write_text(source.replace('printf("%d\\n", wrong);', "*(volatile int *)0 = 0;"))
    subprocess.run(["cc", "-O1", "-o", "input", "input.c"], check=True, cwd=tmp_path)
    ill = casemate("run", "--design", "none", "--limit", "all", "--", "./input")
    assert "the program maps code twice" in " ".join(ill.out.split())


@needs_qemu
def test_a_handler_that_faults_on_its_misaligned_stack_is_named(casemate: Casemate, tmp_path: Path) -> None:
    if not is_version_7():
        pytest.skip("a fault of QEMU 7")
    built("The stack of signal handlers", tmp_path, "-O2")
    said = casemate("run", "--design", "none", "--limit", "all", "--", "./input")
    assert "The fault may be QEMU's: a signal handler was running" in " ".join(said.out.split())
    source = (tmp_path / "input.c").read_text().replace("snprintf(text", "if (0) snprintf(text")
    (tmp_path / "input.c").write_text(source.replace("return 0;", "*(volatile int *)0 = 0;"))
    subprocess.run(["cc", "-O2", "-w", "-o", "input", "input.c"], check=True, cwd=tmp_path)
    after = casemate("run", "--design", "none", "--limit", "all", "--", "./input")
    assert "signal 11" in after.out
    assert "QEMU's" not in after.out, "the handler had returned"


@needs_qemu
def test_calls_that_qemu_executes_wrongly_are_named_although_the_program_ends_well(
    casemate: Casemate, tmp_path: Path
) -> None:
    if not is_version_7():
        pytest.skip("faults of QEMU 7")
    built("Calls that QEMU executes wrongly", tmp_path)
    said = casemate("run", "--stdout", "inherit", "--design", "none", "--limit", "all", "--", "./input")
    assert said.code == 0
    words = " ".join(said.out.split())
    for reason in ("a child of vfork ended", "memory with MADV_WIPEONFORK", "MADV_REMOVE and MADV_DONTNEED_LOCKED"):
        assert f"QEMU executed a call wrongly: {reason}" in words
    many = (
        "#include <sys/select.h>\n"
        "int main(void) {\n"
        "    static unsigned long bits[64];\n"
        "    struct timeval now = {0, 0};\n"
        "    bits[2000 / 64] |= 1ul << 2000 % 64;\n"
        "    return select(2001, (fd_set *)bits, 0, 0, &now) == 7;\n"
        "}\n"
    )
    (tmp_path / "input.c").write_text(many)
    subprocess.run(["cc", "-o", "input", "input.c"], check=True, cwd=tmp_path)
    record = casemate("run", "--design", "none", "--limit", "all", "--json", "--", "./input").json()
    assert record["records"][0]["configuration"]["workload"]["suspects"] == ["many-descriptors"]


@needs_qemu
@pytest.mark.parametrize(
    "command",
    [
        ("sh", "-c", "/bin/true; /bin/true"),
        (PYTHON, "-I", "-S", "-c", "import subprocess; subprocess.run('true')"),
        ("make", "-f", "makefile"),
    ],
    ids=["shell", "subprocess", "make"],
)
def test_programs_that_execute_others_are_not_suspected(
    casemate: Casemate, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "makefile").write_text("all:\n\t@true; true\n")
    said = casemate("run", "--design", "none", "--limit", "all", "--no-attacks", "--", *command)
    assert said.code == 0
    assert "QEMU" not in said.out


@needs_qemu
def test_a_fault_of_the_program_is_not_attributed_to_qemu(casemate: Casemate) -> None:
    said = casemate("run", "--design", "none", "--", "/bin/sh", "-c", "kill -SEGV $$")
    assert "signal 11" in said.out
    assert "QEMU's" not in said.out


@needs_qemu
def test_an_address_space_reservation_beyond_host_memory_is_refused_and_results_are_kept(
    casemate: Casemate, tmp_path: Path
) -> None:
    if not is_version_7():
        pytest.skip("QEMU 8 keeps no word for each page")
    built("Large reservations", tmp_path)
    # A reservation of 64 TB, for which few computers have the 400 GB.
    source = (tmp_path / "input.c").read_text().replace("1ul << 43", "1ul << 46")
    (tmp_path / "input.c").write_text(source)
    subprocess.run(["cc", "-O1", "-o", "input", "input.c"], check=True, cwd=tmp_path)
    said = casemate("run", "--design", "none", "--limit", "all", "--output", "kept", "--", "./input")
    assert said.code == 2
    assert "the program until it reserved 64.0 TB" in said.out
    assert "reserves 64.0 TB of addresses, for which QEMU would take more memory than this computer has" in " ".join(
        said.err.split()
    )
    assert len(list((tmp_path / "kept").glob("*.json"))) == 1
    recorded = casemate("record", "-o", "x.trace", "--", "./input")
    assert recorded.code == 2
    assert casemate("run", "--design", "none", "--trace", "x.trace").code == 0


def test_progress_names_the_memory_mapping_work_of_qemu_while_no_instruction_arrives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "BETWEEN_LINES_SECONDS", 0.0)
    heard = io.StringIO()
    with progress.Instructions(Console(file=heard, width=200), ["none"], None) as lines:
        lines.report({"instructions": [0], "busy": {"work": "reserve", "bytes": 1 << 40}})
        lines.report({"instructions": [0], "busy": {"work": "protect", "bytes": 3 << 30}})
        lines.report({"instructions": [5], "busy": None})
    assert [line.split("none ")[1] for line in heard.getvalue().splitlines()] == [
        "0; QEMU is setting up a reservation of 1.0 TB",
        "0; QEMU is changing the protection of 3.0 GB",
        "5",
    ]


def test_a_refused_reservation_is_not_reported_as_a_signal() -> None:
    assert "reserves 8.0 TB" in str(Unbacked(unbacked=8 << 40))
    assert Killed(killed=11).likely_cause == ""


@needs_qemu
def test_a_mapping_that_the_kernel_refuses_is_left_to_the_program(casemate: Casemate, tmp_path: Path) -> None:
    if Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "1":
        pytest.skip("this kernel refuses no mapping")
    (tmp_path / "large.c").write_text(
        "#include <stdlib.h>\nint main(void) { return malloc(1ul << 46) || malloc(1ul << 60) ? 1 : 7; }\n"
    )
    subprocess.run(["cc", "-w", "-o", "large", "large.c"], check=True, cwd=tmp_path)
    assert subprocess.run([tmp_path / "large"], check=False).returncode == 7
    said = casemate("run", "--design", "none", "--limit", "all", "--", "./large")
    assert said.code == 0
    assert "exit status 7" in said.out
