"""Whole-run speeds: simulated instructions per second, unprotected and protected, against the previous results.

Each row is the median of several runs of its own process, one thread for the simulation. Results go to
results/bench.json with a description of the machine; the file that was there before is what is compared with.

Memory is the peak of the process in megabytes, and, for programs large enough to tell, what the simulator adds to
each byte of the program's own (a built-in workload's data lives in the same process; that copy is the program's).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results" / "bench.json"
LARGE_BYTES = 64 << 20
DESIGNS = ("none", "sc64-bmt")
# Workload, millions of instructions, parameters: cache-resident, streaming, pointer-chasing.
ROWS = (
    ("resident", 60, ()),
    ("stream", 20, ()),
    ("chase", 20, ()),
    ("chase", 4, ("work=0",)),
)


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    cpu = platform.processor()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    load = os.getloadavg()[0]
    return {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform(), "load_average_at_start": load}


def build() -> Path:
    """Builds the example that does one run and returns its path."""
    command = ["cargo", "build", "--release", "--locked", "--package", "casemate-lab", "--example", "speed"]
    subprocess.run([*command, "--quiet"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / "speed"


def measure(speed: Path, row: tuple[str, int, tuple[str, ...]], design: str, runs: int) -> dict[str, Any]:
    """The run with the median speed."""
    workload, millions, parameters = row
    command = [str(speed), workload, design, str(millions), *parameters]
    results = [json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(runs)]
    middle = statistics.median_low(result["instructions_per_second"] for result in results)
    chosen: dict[str, Any] = next(result for result in results if result["instructions_per_second"] == middle)
    return chosen | {"row": " ".join((workload, *parameters))}


def show(result: dict[str, Any], before: dict[tuple[str, str], float]) -> None:
    """One line of the table."""
    rate = result["instructions_per_second"]
    earlier = before.get((result["row"], result["design"]))
    change = f"{rate / earlier:5.2f}x" if earlier else "    -"
    own = result["program_bytes"]
    peak = result["peak_bytes"] or 0
    added = f"{(peak - own) / own:4.2f}x" if own > LARGE_BYTES else "    -"
    print(
        f"{result['row']:<14} {result['design']:<9} {rate / 1e6:8.2f} M/s"
        f"  {result['events_per_instruction']:8.3f} events/instr"
        f"  crypto {result['crypto_share']:5.1%}  peak {peak / 2**20:6.0f} MB, added {added}  {change}",
        flush=True,
    )


def main() -> int:
    """Measures every row under every design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each row; the median counts")
    arguments = parser.parse_args()
    before = {}
    if RESULTS.exists():
        earlier = json.loads(RESULTS.read_text())["results"]
        before = {(result["row"], result["design"]): result["instructions_per_second"] for result in earlier}
    record: dict[str, Any] = {"machine": machine(), "results": []}
    print(f"{record['machine']['cpu']}, load {record['machine']['load_average_at_start']:.1f}")
    print("last column: speed against the previous results")
    speed = build()
    for row in ROWS:
        for design in DESIGNS:
            result = measure(speed, row, design, arguments.runs)
            record["results"].append(result)
            show(result, before)
            if not result["checks_passed"]:
                print("the built-in check of this run failed", file=sys.stderr)
                return 1
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(record, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
