"""A smaller part of the demo's program: protection must slow the program down, or the demo would show no cost."""

import shutil
import subprocess
from pathlib import Path

import casemate as cm
import pytest
from casemate.laboratory.requests import recorder_path

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None or shutil.which("sqlite3") is None or not recorder_path().is_file(),
    reason="the demo needs sqlite3, QEMU and the recorder",
)
def test_the_program_of_the_demo_runs_slower_under_protection(tmp_path: Path) -> None:
    table = tmp_path / "account.db"
    with (SCRIPTS / "demo-table.sql").open() as script:
        subprocess.run(["sqlite3", "-init", "/dev/null", str(table)], stdin=script, capture_output=True, check=True)
    program = ["sqlite3", "-init", str(SCRIPTS / "demo.sql"), str(table), ".quit"]
    designs = ["none", "xts", "sc64-bmt"]
    options = cm.RunOptions(warm_up=4_000_000, limit=6_000_000, protection=False)
    results = cm.run(program, designs=designs, options=options)
    assert results.passed
    assert 1.05 < results.slowdown("xts") < results.slowdown("sc64-bmt")
    assert results.slowdown("sc64-bmt") > 1.1
