"""Measures the speed of kernels, of the DRAM model and of whole runs, and compares it with targets, public simulators
and the previous measurement.

For whole runs the script also counts the host's instructions, which is exact on a busy machine too: a row with 3 % more
instructions than last time has lost speed. Speeds of whole runs and DRAM are medians of several processes, by the
processor time of the simulating thread; kernels are criterion's medians. Each time, all figures are written to
results/bench/ as one JSON file, with a description of the machine, and compared with the newest earlier file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench_counts import counts
from bench_history import ROOT, History, Row, Target
from bench_misses import KINDS, all_kinds

DESIGNS = ("none", "sc64-bmt")
# Machine, workload, millions of instructions, designs, and the required speed without protection.
RUNS = (
    ("modern", "resident", 20, DESIGNS, 10e6),
    ("modern", "champsim/mix", 12, DESIGNS, 6e6),
    ("modern", "champsim/hot", 10, DESIGNS, None),
    ("modern", "stream", 6, DESIGNS, 2e6),
    ("modern", "champsim/stream", 3, DESIGNS, 2e6),
    ("modern", "chase", 6, DESIGNS, 2e6),
    ("modern", "champsim/chase4", 5, DESIGNS, 2e6),
    *(
        ("champsim-default", f"champsim/{trace}", millions, ("none",), None)
        for trace, millions in (("mix", 8), ("hot", 8), ("stream", 2), ("chase4", 3), ("chase1", 3))
    ),
    # On four cores, 1 M instructions a second are required, of all cores together.
    *(
        ("emcc-4core", workload, millions, ("emcc",), 2e6)
        for workload, millions in (("bfs", 4), ("hashjoin", 2), ("gups", 1))
    ),
)
# The stream that measures the cost of each design's cryptography: millions of instructions, and a footprint of three
# last-level caches.
CRYPTO_MILLIONS = 10
CRYPTO_FOOTPRINT = "24MB"
# Machines for the designs that `modern` does not support.
OF_DESIGN = {
    "emcc": "emcc-4core",
    **dict.fromkeys(("cryptopage", "cryptopage-basic", "cryptopage-os", "hide"), "cryptopage-2006"),
    **dict.fromkeys(("fvs-tdes", "ocb-tdes"), "simplescalar-2005"),
    **dict.fromkeys(("bbb", "bbb-gap"), "secpb-pcm"),
}
# Share of the unprotected target speed that the simulator must reach under protection.
PROTECTED_SHARE = 0.5
# Designs that speculate on values, each with its counterpart without speculation. The numbers are millions of
# instructions of `stream`, and two required shares of speed: of the speed without speculation, and of the speed with
# the usual eight values.
SPECULATION = (("fvs-aes", "ocb-aes"), ("fvs-tdes", "ocb-tdes"))
SPECULATION_MILLIONS = 1
SPECULATING_SHARE = 0.5
MORE_VALUES = 32
MORE_VALUES_SHARE = 0.7
# Stores at the rates of gamess in SecPB's paper, on its machine. The numbers are millions of instructions, and the
# required share of the speed without security, for the scheme that leaves most steps to a drain.
PERSISTING = ("secpb-pcm", "stores", "rate=474", "per_line=21", "footprint=32KB")
PERSISTING_MILLIONS = 1
PERSISTING_SHARE = 0.7
# Permuted lines, on the machine of the CryptoPage paper: millions of instructions of a kernel and of a recorded
# program.
MOVING_MACHINE = "cryptopage-2006"
MOVING_DESIGNS = ("none", "cryptopage")
MOVING_CHASE_MILLIONS = 1
MOVING_GZIP_MILLIONS = 3
DRAM_REQUESTS = 200_000
DRAM_TARGET = 1.5e6
DRAM_SEQUENTIAL_TARGET = 5e6
# Maximum nanoseconds to process one line by AES-GCM, by the processor's instructions.
GCM_TARGETS = {"casemate, VAES": 8, "casemate, AES-NI": 60, "casemate, AES-NI, line by line": 60}
GCM_OTHERS = ("openssl", "aes-gcm", "ring")
# Crate that measures single parts, and the time for which criterion measures each.
KERNELS = ("--package", "casemate-bench", "--benches")
CRITERION = ("--warm-up-time", "0.3", "--measurement-time", "1", "--sample-size", "20", "--noplot", "--quiet")


def target_directory() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def cargo(*arguments: str, **options: Any) -> None:
    subprocess.run(["cargo", *arguments, "--locked", "--quiet"], check=True, **{"cwd": ROOT, **options})


# The environment in which the Python package is built.
AS_RELEASED = ("--config", ".cargo/release.toml")


def build(parts: tuple[str, ...]) -> Path:
    """Builds the measured programs: the example that measures whole runs and DRAM."""
    if {"runs", "misses", "counts", "crypto", "speculation", "persisting", "moving", "dram"} & set(parts):
        cargo("build", "--release", *AS_RELEASED, "--package", "casemate-runner", "--example", "speed")
    if "kernels" in parts:
        cargo("bench", *AS_RELEASED, *KERNELS, "--no-run", stderr=subprocess.DEVNULL)
    return target_directory() / "release" / "examples" / "speed"


def build_with(profile: str) -> Path:
    """Builds the example with another profile, without the flags of a release."""
    without = os.environ | {"RUSTFLAGS": ""}
    cargo("build", "--profile", profile, "--package", "casemate-runner", "--example", "speed", env=without)
    return target_directory() / profile / "examples" / "speed"


def kernels() -> Iterator[Row]:
    """Every criterion benchmark, by its median."""
    begun = time.time()
    command = ["cargo", "bench", *KERNELS, "--locked", "--quiet", "--", *CRITERION]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for estimates in sorted((target_directory() / "criterion").rglob("new/estimates.json")):
        # Remove the results of an earlier version.
        if estimates.stat().st_mtime < begun:
            continue
        about = json.loads(estimates.with_name("benchmark.json").read_text())
        ((unit, amount),) = about["throughput"].items()
        nanoseconds = json.loads(estimates.read_text())["median"]["point_estimate"]
        yield Row("kernel", about["title"], unit.lower(), amount * 1e9 / nanoseconds)


def output_of(*command: str) -> list[str]:
    """The lines that a program prints."""
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()


def lines_of(command: list[str], runs: int) -> list[list[dict[str, Any]]]:
    """Runs several processes that print one JSON object a line; returns the objects of all processes for each line."""
    printed = [output_of(*command) for _ in range(runs)]
    return [[json.loads(line) for line in same] for same in zip(*printed, strict=True)]


def median(results: list[dict[str, Any]]) -> dict[str, Any]:
    """The run with the median speed."""
    middle = statistics.median_low(result["per_second"] for result in results)
    return next(result for result in results if result["per_second"] == middle)


def dram(speed: Path, runs: int, reference: list[dict[str, Any]]) -> Iterator[Row]:
    """Measures only the DRAM model."""
    for results in lines_of([str(speed), "dram", str(DRAM_REQUESTS)], runs):
        result = median(results)
        name, gap = result["stream"], result["mean_gap_clocks"]
        at_least = DRAM_SEQUENTIAL_TARGET if name.startswith("sequential") else DRAM_TARGET
        row = Row("dram", f"{name}, gap {gap}", "requests", result["per_second"], Target(at_least), details=result)
        yield row.with_reference(reference, stream=name, mean_gap_clocks=gap)


def whole_runs(speed: Path, runs: int, reference: list[dict[str, Any]]) -> Iterator[Row]:
    """Whole runs under every design."""
    for machine, workload, millions, designs, target in RUNS:
        for design in designs:
            command = [str(speed), "run", machine, workload, design, str(millions)]
            result = median(lines_of(command, runs)[0])
            share = 1.0 if design == "none" else PROTECTED_SHARE
            row = Row(
                "run",
                f"{workload}, {design}, {machine}",
                "instructions",
                result["per_second"],
                Target(target and target * share),
                details=result,
            )
            yield row.with_reference(reference, workload=workload, machine=machine) if design == "none" else row


def misses(speed: Path, runs: int) -> Iterator[Row]:
    """Measures each kind of miss. All are timed before any is counted, without any other load."""
    timed = [median(lines_of(run.command(speed), runs)[0]) for run in KINDS.values()]
    for kind, result, each in zip(KINDS, timed, all_kinds(speed), strict=True):
        rate = result["per_second"] / result["instructions"] * result["llc_misses"]
        yield Row("miss", kind, "misses", rate, details=result | {"of_each": {"ns": 1e9 / rate} | each})


def speculation(speed: Path, runs: int) -> Iterator[Row]:
    """Measures the slowdown of the simulator by speculation on values, on the machine of its paper."""
    machine = "simplescalar-2005"
    command = [str(speed), "run", machine, "stream"]
    for design, baseline in SPECULATION:
        target = 0.0
        for name, more in ((baseline, ()), (design, ()), (design, (f"design.parts.speculation.values={MORE_VALUES}",))):
            result = median(lines_of([*command, name, str(SPECULATION_MILLIONS), *more], runs)[0])
            called = f"stream, {name}{f', {MORE_VALUES} values' if more else ''}, {machine}"
            row = Row(
                "speculation", called, "instructions", result["per_second"], Target(target or None), details=result
            )
            yield row
            target = result["per_second"] * (SPECULATING_SHARE if name == baseline else MORE_VALUES_SHARE)


def persisting(speed: Path, runs: int) -> Iterator[Row]:
    """Measures the slowdown of the simulator by draining a persist buffer, next to one without security."""
    machine, workload, *settings = PERSISTING
    target = 0.0
    for name in ("bbb", "secpb-cobcm"):
        command = [str(speed), "run", machine, workload, name, str(PERSISTING_MILLIONS), *settings]
        result = median(lines_of(command, runs)[0])
        called = f"stores as of gamess, {name}, {machine}"
        yield Row("persisting", called, "instructions", result["per_second"], Target(target or None), details=result)
        target = result["per_second"] * PERSISTING_SHARE


def record_gzip(folder: Path) -> Path:
    """Records a program with values: gzip, which compresses the documentation."""
    text, trace = folder / "text", folder / "gzip.trace"
    text.write_bytes(b"".join(page.read_bytes() for page in sorted((ROOT / "docs").glob("*.md"))))
    limit = f"{MOVING_GZIP_MILLIONS}M"
    record = (sys.executable, "-m", "casemate", "record", "--limit", limit, "-o", str(trace))
    subprocess.run([*record, "--", "gzip", "-9", "-c", str(text)], check=True, stderr=subprocess.DEVNULL)
    return trace


def moving(speed: Path, runs: int) -> Iterator[Row]:
    """Measures a design that permutes lines, next to the unprotected machine. The fewer fills a permutation has, the
    more lines the simulator moves for each fill.
    """
    with tempfile.TemporaryDirectory() as folder:
        trace = record_gzip(Path(folder))
        programs = (("chase", "chase", MOVING_CHASE_MILLIONS), ("gzip", f"trace:{trace}", MOVING_GZIP_MILLIONS))
        for name, workload, millions in programs:
            for design in MOVING_DESIGNS:
                command = [str(speed), "run", MOVING_MACHINE, workload, design, str(millions)]
                result = median(lines_of(command, runs)[0])
                fills = result["fills_per_permutation"]
                if fills is not None:
                    result["of_each"] = {"fills a permutation": fills}
                called = f"{name}, {design}, {MOVING_MACHINE}"
                yield Row("moving", called, "instructions", result["per_second"], details=result)


def designs_with_machines() -> list[tuple[str, str]]:
    """Returns every built-in design, each with a machine that supports it."""
    names = sorted(path.stem for path in (ROOT / "designs").glob("*.toml"))
    usual = {name: "secpb-pcm" if name.startswith("secpb-") else "modern" for name in names}
    return [*(usual | OF_DESIGN).items()]


def cryptography(speed: Path) -> Iterator[Row]:
    """Measures every built-in design on a stream, with lines in and out at the maximum rate: the cost of its
    cryptography.
    """
    for design, machine in designs_with_machines():
        stream = ["stream", design, str(CRYPTO_MILLIONS), f"footprint={CRYPTO_FOOTPRINT}"]
        ((result,),) = lines_of([str(speed), "run", machine, *stream], 1)
        yield Row(
            "crypto",
            f"stream {CRYPTO_FOOTPRINT}, {design}, {machine}",
            "instructions",
            result["per_second"],
            details=result,
        )


def gcm() -> Iterator[Row]:
    """Measures AES-GCM over lines, next to other libraries in the same run. Its package is separate, since it needs
    OpenSSL.
    """
    package = ROOT / "comparisons" / "gcm"
    cargo("build", "--release", "--target-dir", str(target_directory() / "comparisons"), cwd=package)
    program = target_directory() / "comparisons" / "release" / "casemate-gcm-comparisons"
    printed = [json.loads(line) for line in output_of(str(program))]
    for operation in ("seal", "open"):
        speeds = {one["engine"]: 1e9 / one["ns_per_line"] for one in printed if one["operation"] == operation}
        others = {name: speeds[name] for name in GCM_OTHERS}
        for engine, per_second in speeds.items():
            at_most = GCM_TARGETS.get(engine)
            target = Target(1e9 / at_most if at_most else None)
            row = Row("gcm", f"{operation}, {engine}", "lines", per_second, target)
            row.details = {"ns_per_line": 1e9 / per_second}
            yield row if engine in others else row.with_reference([others])


def main() -> int:
    """Carries out the requested measurements, and stores the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="processes for each row; the median counts (default: 3)")
    choices = ("kernels", "gcm", "crypto", "speculation", "persisting", "moving", "dram", "runs", "misses", "counts")
    parser.add_argument("--only", choices=choices, action="append", help="leave the other parts out; may be repeated")
    arguments = parser.parse_args()
    parts = tuple(arguments.only or choices)
    reference = json.loads((ROOT / "reference" / "speed.json").read_text())
    history = History.open()
    print(history.heading())
    print("building ...", flush=True)
    speed = build(parts)
    if "counts" in parts:
        history.add("whole runs by the host's instructions, whatever else it does (minutes)", counts(speed))
    if "misses" in parts:
        history.add("cost of a miss on the host, by a model of its caches (minutes)", misses(speed, arguments.runs))
    if "runs" in parts:
        history.add("whole runs", whole_runs(speed, arguments.runs, reference["runs"]))
    if "speculation" in parts:
        history.add("speculation on values, next to the same design without it", speculation(speed, arguments.runs))
    if "persisting" in parts:
        history.add("a persist buffer with security, next to one without", persisting(speed, arguments.runs))
    if "moving" in parts:
        history.add("lines that move, next to lines that do not", moving(speed, arguments.runs))
    if "crypto" in parts:
        history.add("real cryptography in every design, which may take a tenth of the time", cryptography(speed))
    if "dram" in parts:
        history.add("DRAM model alone", dram(speed, arguments.runs, reference["dram"]))
    if "gcm" in parts:
        history.add("AES-128-GCM of 64-byte lines, one key, separate nonces", gcm())
    if "kernels" in parts:
        history.add("kernels (about half a minute before the first)", kernels())
    print(f"\nkept in {history.store().relative_to(ROOT)}")
    failed = [row.name for row in history.rows if row.details.get("checks_passed") is False]
    if failed:
        print(f"the built-in check of these runs failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
