"""Measurements of bench.py, now and before: rows, their file, and their display."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "results" / "bench"
# Largest relative difference that noise of the host may cause: in counts of the host's instructions, and in speeds.
NOISE = {"count": 0.03}
NOISE_OF_SPEEDS = 0.1
# Format of the figures; files of another format are ignored.
FORMAT = 2
# Maximum share of a run's time that real cryptography may take.
CRYPTO_SHARE = 0.1


@dataclass(frozen=True)
class Target:
    """Required speed, if any."""

    per_second: float | None = None

    def verdict(self, per_second: float) -> str:
        """Returns whether a speed meets the target, as text."""
        if self.per_second is None:
            return ""
        wanted = f"{self.per_second / 1e6:g} M"
        return f"ok, >= {wanted}" if per_second >= self.per_second else f"BELOW {wanted}"


@dataclass
class Row:
    """One figure of a measurement."""

    kind: str
    name: str
    unit: str
    # Units in a second, or in whatever else they are counted `per`.
    rate: float
    target: Target = field(default_factory=Target)
    # Speed as a multiple of each public simulator's at the same work.
    times_as_fast_as: dict[str, float] = field(default_factory=dict)
    # The figure of last time, if there is one.
    before: float | None = None
    details: dict[str, Any] = field(default_factory=dict)
    per: str = "s"

    def with_reference(self, reference: list[dict[str, Any]], **work: Any) -> Row:
        """This row with its ratios to the reference's figures for the same work."""
        for figures in reference:
            if all(figures[key] == value for key, value in work.items()):
                speeds = {name: speed for name, speed in figures.items() if name not in work}
                self.times_as_fast_as = {name: self.rate / speed for name, speed in speeds.items()}
        return self

    def shown(self) -> str:
        """One line of the table."""
        ratios = ", ".join(
            f"{ratio:.{0 if ratio >= 10 else 1}f}x {name}" for name, ratio in self.times_as_fast_as.items()
        )
        overhead, nanoseconds = self.details.get("overhead_bytes"), self.details.get("ns_per_line")
        memory = f"+{overhead / 2**20:.0f} MB" if overhead is not None else ""
        if nanoseconds is not None:
            memory = f"{nanoseconds:.1f} ns"
        speed = f"{self.rate / 1e6:10.3f} M {self.unit}/{self.per}"
        return (
            f"  {self.name:<54} {speed:<28} {self.change():<13}"
            f" {self.target.verdict(self.rate):<13}"
            f" {memory:<7} {self.crypto():<10} {ratios}".rstrip()
        ) + self.each()

    def each(self) -> str:
        """Returns a further line with the cost of one counted event, if it is known."""
        amounts = [f"{amount:,.1f} {name}" for name, amount in self.details.get("of_each", {}).items()]
        return f"\n      each {', '.join(amounts)}" if amounts else ""

    def change(self) -> str:
        """Returns the ratio of this figure to that of last time, and whether it exceeds the noise."""
        if not self.before:
            return "-"
        ratio, noise = self.rate / self.before, NOISE.get(self.kind, NOISE_OF_SPEEDS)
        beyond = abs(ratio - 1) > noise
        return f"{ratio:.{2 if noise >= 0.1 else 3}f}x" + (" faster" if ratio > 1 else " SLOWER") * beyond

    def crypto(self) -> str:
        """Returns the share of a run's time that its cryptography takes, if that was priced."""
        share = self.details.get("crypto_share")
        if not share:
            return ""
        return f"crypto {share:.1%}" + (f", ABOVE {CRYPTO_SHARE:.0%}" if share > CRYPTO_SHARE else "")


def host() -> dict[str, Any]:
    """Returns the computer on which the figures are measured."""
    cpu = platform.processor()
    information = Path("/proc/cpuinfo")
    for line in information.read_text().splitlines() if information.exists() else ():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    load = os.getloadavg()[0]
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "compiler": rustc,
        "load_average_at_start": load,
    }


def commit() -> str:
    """Returns the version that is measured."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return described.stdout.strip()


class History:
    """The figures of this measurement, each compared with that of the last measurement."""

    def __init__(self, folder: Path, kept: list[dict[str, Any]]) -> None:
        """New figures for `folder`, to be compared with those that are kept, the oldest first."""
        self.folder = folder
        self.earlier = kept[-1] if kept else None
        # A part may have been left out last time: each row keeps a separate last time.
        self.before = {(row["kind"], row["name"]): row["rate"] for one in kept for row in one["rows"]}
        self.rows: list[Row] = []
        self.begun = time.gmtime()
        self.host = host()

    @staticmethod
    def open(folder: Path = KEPT) -> History:
        """New figures, to be compared with the newest that the folder keeps."""
        kept = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
        return History(folder, [one for one in kept if one.get("format") == FORMAT])

    def heading(self) -> str:
        """Returns text with the computer of this measurement, and the earlier measurement that it is compared with."""
        lines = [f"{self.host['cpu']}, {self.host['cores']} cores, load {self.host['load_average_at_start']:.1f}"]
        if self.earlier is None:
            lines.append("no earlier measurement here")
        else:
            lines.append(f"last time: {self.earlier['taken_at']}, version {self.earlier['version']}")
            if self.earlier["host"]["cpu"] != self.host["cpu"]:
                lines.append(f"that was another machine, so its figures mean little: {self.earlier['host']['cpu']}")
        lines.append(
            "columns: speed, change since last time, target, memory beyond the program's, "
            "share of time for real cryptography, ratios to other programs"
        )
        return "\n".join(lines)

    def add(self, title: str, rows: Iterable[Row]) -> None:
        """Adds rows, and prints each as soon as it is measured."""
        begun = time.monotonic()
        print(f"\n{title}", flush=True)
        for row in rows:
            row.before = self.before.get((row.kind, row.name))
            self.rows.append(row)
            print(row.shown(), flush=True)
        print(f"  ({time.monotonic() - begun:.0f} s)", flush=True)

    def store(self) -> Path:
        """Writes the figures of this measurement to a new file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / time.strftime("%Y-%m-%dT%H-%M-%SZ.json", self.begun)
        content = {
            "format": FORMAT,
            "taken_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", self.begun),
            "version": commit(),
            "host": self.host,
            "compared_with": self.earlier and self.earlier["taken_at"],
            "rows": [asdict(row) for row in self.rows],
        }
        path.write_text(json.dumps(content, indent=2) + "\n")
        return path
