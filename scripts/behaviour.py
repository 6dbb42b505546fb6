"""Records Casemate's behaviour, and compares it before and after a change that must not change any result.

    scripts/behaviour.py keep before.json          timelines, runs, attacks and losses of power, under all designs
    scripts/behaviour.py compare before.json       the same again: lists the figures that differ now

Timelines: one read of every design, with no metadata on the chip and with its counter. Runs: every design on three
workloads and on aged counters, and EMCC on four cores; each record whole, with its event hash, but without the
properties of the host. Attacks and losses of power: the results of every row of every design. With --values, records
with renamed keys count as the same if they have the same values.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

CASEMATE = Path(sys.executable).with_name("casemate")
# Short runs with a last-level cache that is small enough for write-backs.
SMALL = ("--limit", "400K", "--with", "machine.llc.size=512 KB", "--seed", "1")
RUNS = {
    "btree": ("--workload", "btree", *SMALL),
    "hashjoin": ("--workload", "hashjoin", *SMALL),
    "stream": ("--workload", "stream", *SMALL),
    "gups, steady": ("--workload", "gups", *SMALL, "--age", "steady"),
}
FOUR_CORES = {
    name: ("--machine", "emcc-4core", "--workload", name, "--copies", "4", "--limit", "300K", "--design", "emcc")
    for name in ("bfs", "gups")
}
AT_L2 = ("--machine", "emcc-4core", "--from", "l2")
TIMELINES = {
    "nothing on the chip": (),
    "its counter on the chip": ("--on-chip", "counter"),
}
TIMELINES_OF_EMCC = {
    "from an L2": AT_L2,
    "from an L2 that predicts": (*AT_L2, "--predicted"),
    "from an L2, its counter in the last-level cache": (*AT_L2, "--on-chip", "last-level"),
}
CAMPAIGNS = {
    "attacks": ("attack", "--all", "--trials", "20", "--seed", "1"),
    "losses of power": ("crash", "--all", "--seed", "1"),
}
# Keys that describe the host, or the version.
LEFT_OUT = {"host", "configuration", "configuration_hash", "schema"}


def casemate(*arguments: str) -> Any:
    """Returns the output of a command. A claim that does not hold is a result too, so the exit code is ignored."""
    done = subprocess.run([CASEMATE, *arguments, "--json"], capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(f"casemate {' '.join(arguments)} printed no result:\n{done.stderr}")
    return json.loads(done.stdout)


def machines_of(designs: Sequence[str]) -> dict[str, list[str]]:
    """Designs by the first machine that accepts them, beginning with the default one."""
    machines = [machine["name"] for machine in casemate("list", "machines")["machines"]]
    machines.sort(key=lambda machine: machine != "modern")
    found: dict[str, list[str]] = {}
    for design in designs:
        taken = [
            str(CASEMATE),
            "run",
            "--workload",
            "resident",
            "--limit",
            "1K",
            "--design",
            design,
            "--json",
            "--machine",
        ]
        for machine in machines:
            if subprocess.run([*taken, machine], capture_output=True, check=False).returncode == 0:
                found.setdefault(machine, []).append(design)
                break
        else:
            sys.exit(f"no machine accepts {design}")
    return found


def timelines(designs: Sequence[str], machine: str) -> Iterator[tuple[str, Any]]:
    """Returns the timelines of reads, by name."""
    for design in designs:
        for name, arguments in {**TIMELINES, **(TIMELINES_OF_EMCC if design == "emcc" else {})}.items():
            on = [] if "--machine" in arguments else ["--machine", machine]
            (explanation,) = casemate("explain", design, *on, *arguments)["explanations"]
            yield f"timeline of {design}, {name}", explanation


def runs(designs: Sequence[str], machine: str) -> Iterator[tuple[str, Any]]:
    """Runs on one core, by name."""
    each = [word for design in designs for word in ("--design", design)]
    for name, arguments in RUNS.items():
        for record in casemate("run", "--machine", machine, *arguments, *each)["records"]:
            design = record["configuration"]["design"]["name"]
            yield f"run of {name} on one core, {design}", {k: v for k, v in record.items() if k not in LEFT_OUT}


def measured() -> Iterator[tuple[str, Any]]:
    """Yields all timelines, runs and campaigns, each with its name."""
    designs = [design["name"] for design in casemate("list", "designs")["designs"]]
    for machine, accepted in machines_of(designs).items():
        yield from timelines(accepted, machine)
        yield from runs(accepted, machine)
    for name, four_cores in FOUR_CORES.items():
        (record,) = casemate("run", *four_cores)["records"]
        yield f"run of {name} on four cores, emcc", {k: v for k, v in record.items() if k not in LEFT_OUT}
    for name, arguments in CAMPAIGNS.items():
        for report in casemate(*arguments)["reports"]:
            yield f"{name}, {report['design']}", {k: v for k, v in report.items() if k != "summary"}


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """All values with the paths of their keys."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, str(index)))
    else:
        yield ".".join(path), value


def differences(before: Any, after: Any, values_alone: bool) -> list[str]:
    """Returns the figures of one piece that differ now, in words."""
    if values_alone:
        same = sorted(map(repr, dict(leaves(before)).values())) == sorted(map(repr, dict(leaves(after)).values()))
        return [] if same else ["other values"]
    old, new = dict(leaves(before)), dict(leaves(after))
    return [
        f"{key}: {old.get(key, 'missing')} before, {new.get(key, 'missing')} now"
        for key in sorted({*old, *new})
        if old.get(key, KeyError) != new.get(key, KeyError)
    ]


def compare(before: dict[str, Any], after: Iterator[tuple[str, Any]], values_alone: bool) -> int:
    """Prints for each piece whether it is as before; returns the number of pieces that differ."""
    left, others = dict(before), 0
    for name, content in after:
        found = differences(left.pop(name, {}), content, values_alone)
        others += bool(found)
        print(f"{name}: {'differs: ' + '; '.join(found[:3]) if found else 'the same'}", flush=True)
    for name in left:
        print(f"{name}: missing now")
    return others + len(left)


def main(arguments: Sequence[str] | None = None) -> int:
    """Records the behaviour or compares it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("keep", "compare"))
    parser.add_argument("file", type=Path, help="file with the kept behaviour")
    parser.add_argument("--values", action="store_true", help="compare values without the names of their keys")
    given = parser.parse_args(arguments)
    if given.what == "keep":
        kept = {}
        for name, content in measured():
            kept[name] = content
            print(name, flush=True)
        given.file.parent.mkdir(parents=True, exist_ok=True)
        given.file.write_text(json.dumps(kept) + "\n")
        print(f"{len(kept)} pieces kept in {given.file}")
        return 0
    if not given.file.exists():
        parser.error(
            f"there is no file {given.file}: run `scripts/behaviour.py keep {given.file}` with the old version first"
        )
    before = json.loads(given.file.read_text())
    others = compare(before, measured(), given.values)
    print(f"{len(before)} pieces, {others} changed" if others else f"{len(before)} pieces, all unchanged")
    return int(others > 0)


if __name__ == "__main__":
    sys.exit(main())
