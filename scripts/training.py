"""Runs from which the compiler learns the usual branches of the simulator: `make fast` builds by their profile.

The runs cover all parts of the simulator that take long: programs that fit the caches and programs that do not, and one
core and four. They use an unprotected machine, and one design for each way to read and to write. Each run is short,
since an instrumented package is two to three times slower.
"""

import subprocess
import sys

# Machine, workload, instructions, designs.
RUNS = [
    ("modern", "resident", "4M", ("none", "sc64-bmt")),
    ("modern", "chase", "1M", ("none", "sc64-bmt", "xts")),
    ("modern", "stream", "1M", ("none", "sc64-bmt", "fvs-aes")),
    ("modern", "btree", "2M", ("none", "sc64-bmt", "sgx-mee")),
    ("modern", "gups", "300k", ("none", "sc64-bmt-eager")),
    ("emcc-4core", "hashjoin", "600k", ("emcc", "morphable-llc")),
    ("emcc-4core", "bfs", "2M", ("emcc",)),
    ("secpb-pcm", "stores", "600k", ("bbb", "secpb-cobcm", "secpb-nogap")),
]


def main() -> None:
    """Carries out every run, one after the other."""
    for number, (machine, workload, limit, designs) in enumerate(RUNS, start=1):
        named = [text for design in designs for text in ("--design", design)]
        print(f"training {number} of {len(RUNS)}: {machine}, {workload}", file=sys.stderr)
        command = [
            sys.executable,
            "-m",
            "casemate",
            "run",
            "--machine",
            machine,
            "--workload",
            workload,
            *named,
            "--limit",
            limit,
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
