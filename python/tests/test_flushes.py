"""Programs that flush: their flushes have a cost, or the result reports that they did not."""

import json
import shutil
import subprocess
from pathlib import Path

import casemate as cm
import pytest
from casemate.laboratory.requests import recorder_path
from casemate.schemas.run import RunResults
from casemate.tables import run_table
from conftest import SMALL, Casemate
from rich.console import Console

STORES = """
#include <stdint.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    volatile uint64_t *lines = aligned_alloc(64, 64 << 10);
    for (int i = 0; i < 2000; i++) {
        volatile uint64_t *line = lines + 8 * (i % 1024);
        *line = i;
        if (argc > 1)
            __asm__ volatile(".byte 0x66; xsaveopt %0; sfence" : "+m"(*line) :: "memory"); /* clwb */
    }
    return 0;
}
"""


@pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or shutil.which("cc") is None or not recorder_path().is_file(),
    reason="recording needs QEMU, the recorder and a compiler",
)
def test_a_program_that_flushes_each_store_runs_slower_under_a_durable_design(
    tmp_path: Path, casemate: Casemate
) -> None:
    (tmp_path / "stores.c").write_text(STORES)
    subprocess.run(["cc", "-O1", "-o", "stores", "stores.c"], check=True, cwd=tmp_path)
    options = cm.RunOptions(limit="all", protection=False)
    program = str(tmp_path / "stores")
    bare = cm.run([program], designs=["plp-coalesced"], options=options).records[0]
    own = cm.run([program, "flush"], designs=["plp-coalesced"], options=options).records[0]
    assert (bare.feed.flushes, bare.epochs) == (0, None)
    assert own.feed.flushes == 2000
    if own.feed.flushes_not_simulated:
        assert own.feed.flushes_not_simulated == 2000
        pytest.skip("this QEMU does not say what is in registers")
    assert own.epochs is not None
    assert (own.epochs.flushes, own.epochs.fences) == (2000, 2000)
    assert own.cycles > 1.5 * bare.cycles
    said = casemate("run", "--design", "plp-coalesced", "--limit", "all", "--", program, "flush")
    assert "not simulated" not in said.out


COPY = """
#include <emmintrin.h>
#include <stdlib.h>
enum { LINES = 4096 };
int main(int argc, char **argv) {
    __m128i *to = aligned_alloc(4096, 64 * LINES), *from = aligned_alloc(4096, 64 * LINES);
    int parts = argc > 2 ? 2 : 4; /* of a line */
    for (int line = 0; line < LINES; line++)
        for (int part = 0; part < parts; part++)
            if (argc > 1)
                _mm_stream_si128(to + 4 * line + part, from[4 * line + part]);
            else
                to[4 * line + part] = from[4 * line + part];
    _mm_sfence();
    return 0;
}
"""


@pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or shutil.which("cc") is None or not recorder_path().is_file(),
    reason="recording needs QEMU, the recorder and a compiler",
)
def test_lines_fully_covered_by_non_temporal_stores_are_not_read_from_memory(tmp_path: Path) -> None:
    (tmp_path / "copy.c").write_text(COPY)
    subprocess.run(["cc", "-O1", "-o", "copy", "copy.c"], check=True, cwd=tmp_path)
    options = cm.RunOptions(limit="all", check_values=True)

    def reads(*arguments: str) -> tuple[int, int]:
        """Lines that the caches miss, and lines that are stored past them."""
        [record] = cm.run([str(tmp_path / "copy"), *arguments], designs=["ctr-mac"], options=options).records
        assert record.feed.load_values_wrong == 0
        return record.llc.misses, record.llc.past_caches

    through, past, in_part = reads(), reads("past"), reads("past", "half")
    assert (through[1], past[1], in_part[1]) == (0, 4096, 0)
    assert 0.95 * 4096 < through[0] - past[0] < 1.05 * 4096
    assert abs(in_part[0] - through[0]) < 0.05 * 4096, "the rest of each line is read"


def shown(results: RunResults) -> str:
    """The table as text."""
    console = Console(width=300)
    with console.capture() as captured:
        console.print(run_table.run_table(results, check_values=False, verbose=False))
    return captured.get()


def test_flushes_that_were_not_simulated_are_reported_per_durable_design(casemate: Casemate) -> None:
    output = casemate(
        "run", *SMALL, "--design", "none", "--design", "plp-coalesced", "--design", "plp-sp", "--json"
    ).json()
    for record in output["records"]:
        record["feed"] |= {"flushes": 5000, "flushes_not_simulated": 2000}
    text = shown(RunResults.model_validate_json(json.dumps(output)))
    assert "plp-coalesced: 2,000 flushes not simulated, of 5,000 (CLWB," in text
    assert "plp-sp: 2,000 flushes not simulated, of 5,000" in text
    assert "none: 2,000" not in text
    output["records"][1]["feed"]["flushes_not_simulated"] = 0
    assert "plp-coalesced: " not in shown(RunResults.model_validate_json(json.dumps(output)))
