"""Memory boots with the content before the program's first store, as the lines read from memory show."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import casemate as cm
import pytest
from casemate.bus import BusFile
from casemate.laboratory.requests import recorder_path
from conftest import Casemate

pytestmark = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or not recorder_path().is_file(), reason="recording needs QEMU and the recorder"
)
LINE = 64
FILL = """
#include <stdint.h>
#include <sys/mman.h>
int main(void) {
    enum { WORDS = 1 << 18 };
    uint64_t *memory = mmap(0, 8 * WORDS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t x = 0x9e3779b97f4a7c15;
    for (long i = 0; i < WORDS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        memory[i] = x;
    }
    return 0;
}
"""


def test_first_reads_of_fresh_pages_return_zeros(tmp_path: Path) -> None:
    (tmp_path / "fill.c").write_text(FILL)
    subprocess.run(["cc", "-O1", "-o", tmp_path / "fill", tmp_path / "fill.c"], check=True)
    # The warm-up leaves out the loading of the program.
    options = cm.RunOptions(values=(8,), limit="1M", warm_up="200K", protection=False)
    for record in cm.run([str(tmp_path / "fill")], options=options).records:
        [predicted] = record.predicted
        assert predicted.lines > 4096
        assert predicted.words >= 0.99 * 8 * predicted.lines


def files_of(program: str) -> Iterator[bytes]:
    """The content of a program, of its libraries, and of their mapped locale files."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    paths = {Path(word) for word in said.split() if word.startswith("/")} | {Path(program)}
    paths |= {path for path in Path("/usr/lib/locale").rglob("*") if path.is_file()}
    paths |= set(Path("/usr/lib").rglob("gconv-modules.cache"))
    return (path.read_bytes() for path in paths)


@pytest.mark.parametrize("program", ["/bin/ls", "/bin/grep", "/usr/bin/sort"])
def test_lines_reread_before_any_write_contain_zeros_or_bytes_of_a_file(
    casemate: Casemate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """The pins show no bytes at a line's first read, after which it boots, so this looks at the second read.

    Small caches make the program read lines twice. Lines that the kernel or QEMU wrote (arguments, the environment,
    buffers of calls) are of neither kind.
    """
    # A small environment, the same on every computer.
    for name in os.environ.keys() - {"PATH", "HOME", "LANG", "CASEMATE_RECORDER"}:
        monkeypatch.delenv(name)
    known = {content[at : at + LINE] for content in files_of(program) for at in range(0, len(content), LINE)}
    small = ("--with", "machine.llc.size=32 KB", "--with", "machine.node.l2.size=16 KB")
    words = ("run", "--design", "none", *small, "--bus", "pins.bus", "--bus-bytes", "--limit", "all")
    assert casemate(*words, "--", program, "--version").code == 0
    zeros = of_files = others = 0
    written: set[int] = set()
    seen: set[int] = set()
    for crossing in BusFile(tmp_path / "pins.bus"):
        if crossing.kind == "write":
            written.add(crossing.line)
        elif crossing.content and crossing.line not in written | seen:
            seen.add(crossing.line)
            if not any(crossing.content):
                zeros += 1
            elif crossing.content in known:
                of_files += 1
            else:
                others += 1
    assert of_files > 300
    assert zeros > 10
    assert others < 0.05 * (of_files + zeros), (zeros, of_files, others)
