"""Host instructions per simulated instruction: a measure of speed that other load and the host's clock cannot change.

Valgrind counts them only in the simulating thread, from the assembly of the machine to the record. The program's
instructions are produced in a separate thread, and cryptography is priced later. Counts of one version differ by less
than a thousandth between runs, so they show changes of the code that measured times cannot show. Counts do not include
the host's cache misses and stalls, which the measured speeds include.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_history import Row

# The function that counts as one simulation, in crates/runner/examples/speed/whole.rs.
SIMULATION = "*speed::whole::simulate*"
DESIGNS = ("none", "sc64-bmt")
# The cost of the prefetchers is the difference between a row with these changes and the one without.
WITHOUT_PREFETCHERS = ("machine.node.l1d.prefetcher=", "machine.node.l2.prefetcher=")


@dataclass(frozen=True)
class Counted:
    """One run to count, over a few million instructions: a count needs no long run."""

    machine: str
    workload: str
    design: str
    millions: float
    changes: tuple[str, ...] = ()

    def name(self) -> str:
        """The run as it is shown."""
        program = Path(self.workload).stem if self.workload.startswith("trace:") else self.workload
        changes = "without prefetchers" if self.changes == WITHOUT_PREFETCHERS else ", ".join(self.changes)
        return f"{program}, {self.design}, {self.machine} {changes}".rstrip()

    def command(self, speed: Path) -> list[str]:
        """Returns the command of the counted run."""
        return [str(speed), "run", self.machine, self.workload, self.design, str(self.millions), *self.changes]


OF_MODERN = (
    ("resident", 3),
    ("champsim/mix", 2),
    ("champsim/hot", 3),
    ("stream", 1),
    ("champsim/stream", 1),
    ("chase", 1),
    ("champsim/chase4", 1),
)
COUNTED = (
    *(
        Counted("modern", workload, design, millions, changes)
        for workload, millions in OF_MODERN
        for design in DESIGNS
        for changes in (WITHOUT_PREFETCHERS, ())
    ),
    *(
        Counted("champsim-default", f"champsim/{trace}", "none", millions)
        for trace, millions in (("mix", 2), ("hot", 3), ("stream", 1), ("chase4", 1), ("chase1", 1))
    ),
    *(Counted("emcc-4core", workload, "emcc", 1) for workload in ("bfs", "hashjoin", "gups")),
)


def collected(valgrind_says: str) -> int:
    """Returns the instructions that callgrind counted, from its output."""
    found = re.search(r"Collected : (\d+)", valgrind_says)
    if not found or found[1] == "0":
        raise RuntimeError(f"callgrind counted no instruction in {SIMULATION}:\n{valgrind_says}")
    return int(found[1])


def under_callgrind(command: list[str], *options: str) -> tuple[dict[str, Any], str, str]:
    """Runs one simulation: returns its result, the output of Valgrind, and the file of its counts."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "counts"
        callgrind = ["valgrind", "--tool=callgrind", f"--toggle-collect={SIMULATION}", *options]
        whole = [*callgrind, f"--callgrind-out-file={file}", *command]
        done = subprocess.run(whole, capture_output=True, check=True, text=True)
        return json.loads(done.stdout), done.stderr, file.read_text()


def count(speed: Path, run: Counted) -> Row:
    """Counts the instructions of one run."""
    result, said, _ = under_callgrind(run.command(speed), "--dump-instr=no")
    host = collected(said)
    result = {
        key: result[key] for key in ("instructions", "events_per_instruction", "ipc", "event_hash", "checks_passed")
    }
    result["host_instructions"] = host
    return Row("count", run.name(), "instructions", result["instructions"] / host * 1e9, per="G", details=result)


def counts(speed: Path) -> Iterator[Row]:
    """All runs, as many in parallel as the host has cores: parallel runs do not change a count."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda run: count(speed, run), COUNTED)
